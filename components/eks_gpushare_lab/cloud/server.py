"""The process that is AWS for one lab: `python -m eks_gpushare_lab.cloud.server FILE`.

The file has its order in JSON. It prints one line of JSON, {"ready": port}, when it listens on that
port of 127.0.0.1. Under /lab/ it takes what the lab asks of it: the machines, other settings, a
spot interruption.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eks_gpushare_lab.cloud.answers import Answer, fault

if TYPE_CHECKING:
    from eks_gpushare_lab.cloud.control import Control
    from eks_gpushare_lab.cloud.dispatch import Aws


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, aws: Aws, control: Control, *given: Any) -> None:
        self._aws, self._control = aws, control
        super().__init__(*given)

    def _respond(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            if self.path.startswith("/lab/"):
                answer = self._control.answer(self.path, body)
            else:
                answer = self._aws.answer(self.command, self.path, dict(self.headers), body)
        except Exception as error:  # noqa: BLE001  (whatever it is in moto: its caller is told)
            traceback.print_exc()
            answer = fault(error)
        self._send(answer)

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for key, value in answer.headers.items():
            if key.lower() not in {"content-length", "date", "server", "connection"}:
                self.send_header(key, str(value))
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)
        self._note(answer)

    def _note(self, answer: Answer) -> None:
        """One line on standard error, which is the log: what was asked, of EC2 by its action."""
        action = answer.action or f"{self.command} {self.path}"
        sys.stderr.write(f"{self.log_date_time_string()} {action} {answer.status}\n")

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _respond  # noqa: N815  (names of http.server)

    def log_request(self, code: object = "", size: object = "") -> None:
        """Nothing: `_note` does."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main() -> int:
    """Be AWS until somebody ends this process."""
    os.environ.setdefault("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")
    order = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    from eks_gpushare_lab.client import Client
    from eks_gpushare_lab.cloud import auto_scaling
    from eks_gpushare_lab.cloud.account import Account, fill
    from eks_gpushare_lab.cloud.control import Control
    from eks_gpushare_lab.cloud.dispatch import Aws
    from eks_gpushare_lab.cloud.ec2 import Behaviour
    from eks_gpushare_lab.cloud.machines import Machines
    from eks_gpushare_lab.cloud.settings import CloudSettings

    account = Account.from_json(order["account"])
    Behaviour.settings = CloudSettings.from_json(order["settings"])
    Behaviour.reservations = account.reservations
    fill(account)
    auto_scaling.fill(account.node_groups)
    api = order["api"]
    client = Client(api["url"], Path(api["ca"]), Path(api["cert"]), Path(api["key"]))
    images: dict[str, Any] = {}
    machines = Machines(client, account, images)
    machines.start()
    handler = partial(_Handler, Aws(images), Control(account, machines))
    with _Server(("127.0.0.1", 0), handler) as server:
        sys.stdout.write(json.dumps({"ready": server.server_address[1]}) + "\n")
        sys.stdout.flush()
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
