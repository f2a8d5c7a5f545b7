"""What `verify` tells whoever looks on: served metrics, a line of JSON a look, a Pushgateway."""

from __future__ import annotations

import copy
import json
import socket
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from tests.live.test_faults import HEALTHY, ROOT, STACK, objects_of, shares

from eks_gpushare.cli import main, verify_watch
from eks_gpushare.cli.verify_watch import Listening, WatchOptions, push, watch
from eks_gpushare.live.connection import CannotLookError
from eks_gpushare.live.verdict import ClusterVerdict, verdict_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DATA = str(ROOT / "examples" / "verify" / "cluster.json")


def verdict(count: int = 40) -> ClusterVerdict:
    cluster = copy.deepcopy(HEALTHY)
    shares(cluster, count)
    return verdict_of(objects_of(cluster), STACK)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def asked(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def watched(how: WatchOptions, *looks: Callable[[], ClusterVerdict]) -> None:
    """Look once for each, and be interrupted."""
    ahead = iter(looks)

    def look() -> ClusterVerdict:
        following = next(ahead, None)
        if following is None:
            raise KeyboardInterrupt
        return following()

    with pytest.raises(KeyboardInterrupt):
        watch(look, how)


def refused() -> ClusterVerdict:
    raise CannotLookError("nobody answers")


@pytest.mark.parametrize("host", ["127.0.0.1", ""])
def test_what_was_seen_last_is_served(
    host: str, promtool: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    port, seen = free_port(), []

    def looked(count: int) -> Callable[[], ClusterVerdict]:
        def look() -> ClusterVerdict:
            seen.append({path: asked(port, path) for path in ("/metrics", "/healthz?x", "/")})
            return verdict(count)

        return look

    how = WatchOptions(0, lambda _: None, as_json=True, listening=Listening(host, port))
    watched(how, looked(40), refused, looked(30), looked(30))

    first, second, third = seen
    assert first["/metrics"] == (503, "The cluster has not been read yet.\n")
    assert first["/healthz?x"] == (200, "ok\n")
    assert first["/"][0] == 404
    # A look that failed leaves what was seen, with the time when it was.
    labels = '{pool="gpu",resource="nvidia.com/gpu"}'
    assert f"gpushare_advertised{labels} 40\n" in second["/metrics"][1]
    assert f"gpushare_advertised{labels} 30\n" in third["/metrics"][1]
    assert promtool.refusal_of_metrics(third["/metrics"][1]) == ""
    out, err = capsys.readouterr()
    assert [json.loads(line)["ok"] for line in out.splitlines()] == [True, False, False]
    assert f":{port}/metrics\n" in err
    assert "eks-gpushare: nobody answers\n" in err


def test_a_look_that_does_not_end_is_told_by_its_health(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify_watch, "_LEAST_LATE", -1.0)
    port, seen = free_port(), []

    def look() -> ClusterVerdict:
        seen.append(asked(port, "/healthz"))
        return verdict()

    how = WatchOptions(0, lambda _: None, as_json=True, listening=Listening("127.0.0.1", port))
    watched(how, look)

    assert seen == [(503, "The last look has not ended.\n")]


def test_a_busy_port_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        where = "{}:{}".format(*one.getsockname())
        code = main(["verify", "--watch", "--listen", where, "--kubeconfig", "nowhere"])

    assert code == 2
    assert capsys.readouterr().err == (
        f"eks-gpushare: Nothing can be served at {where}: Address already in use. Give --listen "
        "another HOST:PORT.\n"
    )


class Gateway(HTTPServer):
    """Takes what is pushed, and answers as it is told to."""

    status = 200

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taking)
        self.taken: list[tuple[str, str, str]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/below"


class Taking(BaseHTTPRequestHandler):
    server: Gateway

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.taken.append((self.path, self.headers["Content-Type"], body))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(b"no such\n thing")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def pushgateway() -> Iterator[Gateway]:
    with Gateway() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_metrics_are_pushed_beside_what_is_shown(
    pushgateway: Gateway, promtool: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """As https://github.com/prometheus/pushgateway describes a PUT: all of a job at once."""
    code = main(["verify", "--quiet", "--from", DATA, "--push", f"{pushgateway.address}/"])

    ((path, kind, body),) = pushgateway.taken
    assert code == 0
    assert "nothing is wrong" in capsys.readouterr().out
    assert (path, kind.partition(";")[0]) == (
        "/below/metrics/job/eks-gpushare-verify",
        "text/plain",
    )
    assert promtool.refusal_of_metrics(body) == ""


def test_metrics_of_several_are_pushed_beside_each_other(pushgateway: Gateway) -> None:
    given = ["--from", DATA, "--push", pushgateway.address, "--push-as", "prod"]

    assert main(["verify", "--quiet", *given, "--interval", "600"]) == 0
    ((path, _, body),) = pushgateway.taken
    assert path == "/below/metrics/job/eks-gpushare-verify/instance/prod"
    assert body.endswith("gpushare_verify_interval_seconds 600\n")


def test_a_pushgateway_that_takes_nothing_is_said(pushgateway: Gateway) -> None:
    pushgateway.status = 400
    address = pushgateway.address

    assert push("", address) == f"The Pushgateway {address} takes no metrics: 400 no such thing"
    nobody = f"http://127.0.0.1:{free_port()}"
    assert push("", nobody) == (
        f"The Pushgateway {nobody} does not answer: [Errno 111] Connection refused"
    )


def test_what_cannot_be_pushed_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"

    assert main(["verify", "--from", DATA, "--push", nobody]) == 2
    assert nobody in capsys.readouterr().err
