"""The process that is AWS, as the lab holds it."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

import urllib3

from eks_gpushare_lab.cloud.settings import CloudSettings
from eks_gpushare_lab.errors import NO_MOTO, LabError
from eks_gpushare_lab.host import processes
from eks_gpushare_lab.host.folders import write_private

if TYPE_CHECKING:
    import subprocess

    from eks_gpushare_lab.cloud.account import Account
    from eks_gpushare_lab.control_plane.state import Lab

_STOP_SECONDS = 1.0
_REQUEST_SECONDS = 10.0


class Cloud:
    """AWS for as long as the `with` block, or as this process."""

    def __init__(self, lab: Lab, account: Account, settings: CloudSettings | None = None) -> None:
        """Describe it.

        Args:
            lab: the control plane that instances join.
            account: what there is.
            settings: how it behaves. Default: everything at once, and capacity for everybody.
        """
        self._lab, self.account = lab, account
        self.settings = settings or CloudSettings()
        """How it behaves."""
        self.url = ""
        """Where it listens."""
        self.log = lab.logs / "aws.log"
        """Requests as they come in, and faults."""
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: IO[str] | None = None
        self._pool = urllib3.PoolManager(retries=False, timeout=_REQUEST_SECONDS)

    def __enter__(self) -> Self:
        self.begin()
        self.await_ready()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def begin(self) -> None:
        """Start it; it listens some seconds later. Call this from the main thread.

        Raises:
            LabError: If moto is not installed.
        """
        if importlib.util.find_spec("moto") is None:  # to import it takes a second
            raise LabError(NO_MOTO)
        lab = self._lab
        order = {
            "account": self.account.as_json(),
            "settings": self.settings.as_json(),
            "api": {
                "url": lab.url,
                "ca": str(lab.ca),
                "cert": str(lab.client_cert),
                "key": str(lab.client_key),
            },
        }
        file = lab.directory / "aws.json"  # an argument may have 128 KiB; user data has more
        write_private(file, json.dumps(order).encode())
        source = str(Path(__file__).parents[2])
        paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
        log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        answers, output = os.pipe()
        try:
            self._process = processes.spawn(
                [sys.executable, "-P", "-m", "eks_gpushare_lab.cloud.server", str(file)],
                cwd=lab.directory,
                environment={
                    "HOME": str(lab.directory),
                    "TMPDIR": str(lab.directory),
                    "PATH": os.environ.get("PATH", ""),
                    "PYTHONPATH": os.pathsep.join(paths),
                },
                output=output,
                errors=log,
            )
        finally:
            os.close(output)
            os.close(log)
        self._answers = os.fdopen(answers, encoding="utf-8")

    def await_ready(self) -> None:
        """Wait until it listens.

        Raises:
            LabError: If it ends instead.
        """
        if self._answers is None:
            return
        with self._answers as answers:
            line = answers.readline()
        self._answers = None
        if not line:
            self.stop()
            raise LabError(f"the emulation of AWS did not start; see {self.log}")
        self.url = f"http://127.0.0.1:{json.loads(line)['ready']}"

    def stop(self) -> None:
        """Stop it; instances and nodes stay as they are."""
        process, self._process = self._process, None
        if process is not None:
            processes.stop([process], _STOP_SECONDS)
        self._pool.clear()

    @property
    def environment(self) -> dict[str, str]:
        """What a program needs in its environment to take this for AWS."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_REGION": self.account.region,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",  # moto takes any
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def machines(self) -> list[dict[str, Any]]:
        """Every instance that was launched: type, zone, when it joined and ended, what it said."""
        found: list[dict[str, Any]] = self._ask("machines")
        return found

    def change(self, settings: CloudSettings) -> None:
        """Behave otherwise from now on."""
        self.settings = settings
        self._ask("settings", settings.as_json())

    def interrupt(self, instance: str) -> bool:
        """Give notice of a spot interruption of an instance.

        Returns:
            Whether a rule of the account puts the notice into the queue.
        """
        return bool(self._ask("interrupt", {"instance": instance})["told"])

    def _has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def _ask(self, what: str, body: object = None) -> Any:
        content = json.dumps(body) if body is not None else None
        try:
            answer = self._pool.request("POST", f"{self.url}/lab/{what}", body=content)
        except urllib3.exceptions.HTTPError as error:
            said = "has ended" if self._has_ended() else f"gives no answer ({error})"
            raise LabError(f"the emulation of AWS {said}; see {self.log}") from error
        if answer.status != 200:  # noqa: PLR2004  (OK)
            raise LabError(f"the emulation of AWS: {answer.data.decode(errors='replace')[:300]}")
        return json.loads(answer.data)
