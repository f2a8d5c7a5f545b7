"""A way to a cluster's API server on which nothing but GET is sent, and one for Events.

The kubeconfig is kubectl's business: `kubectl proxy` knows every kind of login, renews tokens, and
says in its own words what fails (docs/decisions/0037-verify.md). It listens on a socket in a folder
that only this user can enter, and refuses every method that writes; one for Events takes nothing
but these. Within a cluster the service account's token is used as it is.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, Protocol
from urllib.parse import urlencode

from eks_gpushare.live import die_with_parent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_SECONDS: Final = 30.0
_START_SECONDS: Final = 15.0
_ONLY_READS: Final = ("--reject-methods=^(POST|PUT|PATCH|DELETE)$",)
_ONLY_EVENTS: Final = (
    "--accept-paths=^/api/v1/namespaces/[a-z0-9-]+/events(/[a-z0-9.-]+)?$",
    "--reject-methods=^(GET|HEAD|OPTIONS|TRACE|CONNECT|PUT|DELETE)$",
)
_MOST_WORDS: Final = 600
_ENDS: Final = (signal.SIGTERM, signal.SIGHUP)


class CannotLookError(Exception):
    """The cluster cannot be read; the text says why and what to do."""


class ApiResponse(NamedTuple):
    """What an API server answered."""

    status: int
    body: Any
    """JSON data, or the text of what is none."""
    retry_after: float | None = None
    """Seconds after which it wants to be asked again."""


class Server(Protocol):
    """Something that answers GET requests as an API server does."""

    whence: str
    """Its address, as messages name it."""

    def get(
        self, path: str, query: Mapping[str, str] | None = None, accept: str = "application/json"
    ) -> ApiResponse:
        """Ask for something.

        Raises:
            OSError: If nobody answers.
        """


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a socket of this machine."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(self._path)
        except (ConnectionRefusedError, FileNotFoundError):
            raise OSError("kubectl proxy, by which it is read, has ended") from None


class HttpServer:
    """An API server behind a connection of Python's own client.

    Attributes:
        whence: Its address, as messages name it.
    """

    def __init__(
        self, whence: str, connection: http.client.HTTPConnection, token: Path | None = None
    ) -> None:
        self.whence = whence
        self._connection, self._token = connection, token

    def get(
        self, path: str, query: Mapping[str, str] | None = None, accept: str = "application/json"
    ) -> ApiResponse:
        """Ask for something."""
        return self._sent("GET", f"{path}?{urlencode(query)}" if query else path, accept)

    def write(self, method: str, path: str, body: Mapping[str, Any]) -> ApiResponse:
        """Create by POST, or change by PATCH."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return self._sent(method, path, "application/json", {"Content-Type": kind}, body)

    def _sent(
        self,
        method: str,
        path: str,
        accept: str,
        more: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> ApiResponse:
        headers = {"Accept": accept, **(more or {})}
        if self._token is not None:  # read each time: the kubelet renews it
            headers["Authorization"] = f"Bearer {self._token.read_text(encoding='utf-8').strip()}"
        sent = None if body is None else json.dumps(body).encode()
        try:
            self._connection.request(method, path, sent, headers)
            response = self._connection.getresponse()
            data = response.read()
        except http.client.HTTPException as error:
            self._connection.close()
            raise ConnectionError(f"the answer to {path} broke off: {error!r}") from None
        except OSError:
            self._connection.close()
            raise
        return ApiResponse(
            response.status, _parsed(data), _seconds(response.getheader("Retry-After"))
        )


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode("utf-8", "replace")


def _seconds(given: str | None) -> float | None:
    return float(given) if given is not None and given.isascii() and given.isdecimal() else None


@contextmanager
def api_server(kubeconfig: str | None = None, context: str | None = None) -> Iterator[HttpServer]:
    """A way to the API server that a kubeconfig names, for as long as it is needed.

    Args:
        kubeconfig: A file. Default: as kubectl looks for it, or within a pod its service account.
        context: One of its contexts. Default: the current one.

    Raises:
        CannotLookError: If there is none.
    """
    with _server(kubeconfig, context, _ONLY_READS) as server:
        yield server


@contextmanager
def event_server(kubeconfig: str | None, context: str | None) -> Iterator[HttpServer]:
    """The same to write Events, and for nothing else.

    Within a pod its service account's rights say so; elsewhere the proxy does.
    """
    with _server(kubeconfig, context, _ONLY_EVENTS) as server:
        yield server


@contextmanager
def _server(
    kubeconfig: str | None, context: str | None, lets_through: tuple[str, ...]
) -> Iterator[HttpServer]:
    host = os.environ.get("KUBERNETES_SERVICE_HOST")
    if kubeconfig is None and context is None and host and not _has_kubeconfig():
        yield from _of_pod(host)
        return
    if kubeconfig is not None and not Path(kubeconfig).is_file():
        raise CannotLookError(f"There is no kubeconfig {kubeconfig}. Give --kubeconfig FILE.")
    if kubeconfig is None and not _has_kubeconfig():
        raise CannotLookError(
            "There is no kubeconfig: neither --kubeconfig nor KUBECONFIG names one, and there is "
            "no ~/.kube/config. Run aws eks update-kubeconfig --name CLUSTER, or read a dump with "
            "--from FILE."
        )
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        raise CannotLookError(
            "kubectl is not installed, by which clusters are read. Install it, or read a dump with "
            "--from FILE."
        )
    chosen = [f"--kubeconfig={kubeconfig}"] if kubeconfig else []
    chosen += [f"--context={context}"] if context else []
    with (
        ending_in_order(),
        tempfile.TemporaryDirectory(prefix="gpushare-") as folder,  # of mode 0700
    ):
        path = str(Path(folder) / "api")
        command = [
            *(*_tied(), kubectl, *chosen, "proxy", f"--unix-socket={path}"),
            *lets_through,
        ]
        said = Path(folder) / "said"
        with (
            said.open("wb") as log,
            subprocess.Popen(  # noqa: S603  (kubectl, with options of our own)
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log
            ) as proxy,
        ):
            try:
                _wait_for(path, proxy, said)
                with closing(_UnixConnection(path)) as connection:
                    yield HttpServer(_address(kubectl, chosen), connection)
            finally:
                proxy.terminate()


def _tied() -> list[str]:
    """What runs a program so that the kernel ends it with us, also where nothing else can.

    What is killed ends nothing that it has begun. Only Linux has this.
    """
    if sys.platform != "linux":
        return []
    return [sys.executable, "-I", "-S", die_with_parent.__file__, str(os.getpid())]


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Let what ends this process from outside end what it has begun, such as kubectl.

    Its socket is a way to a cluster.
    """

    def end(number: int, _frame: object) -> NoReturn:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield  # others take the signals, and end this thread
        return
    # What is ignored, such as by nohup, stays so.
    ends = [each for each in _ENDS if signal.getsignal(each) is signal.SIG_DFL]
    for number in ends:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in ends:
            signal.signal(number, signal.SIG_DFL)


def _has_kubeconfig() -> bool:
    named = os.environ.get("KUBECONFIG", "")
    files = [Path(part) for part in named.split(os.pathsep) if part]
    return any(file.is_file() for file in files or [Path.home() / ".kube" / "config"])


def _of_pod(host: str) -> Iterator[HttpServer]:
    token, authority = _ACCOUNT / "token", _ACCOUNT / "ca.crt"
    if not token.is_file():
        raise CannotLookError(
            f"This pod has no token of a service account at {token}. Let its service account "
            "mount one: automountServiceAccountToken: true."
        )
    port = int(os.environ.get("KUBERNETES_SERVICE_PORT", "443"))
    trusted = ssl.create_default_context(cafile=str(authority))
    made = http.client.HTTPSConnection(host, port, timeout=_SECONDS, context=trusted)
    with closing(made) as connection:
        yield HttpServer(f"https://{host}:{port}", connection, token)


def _wait_for(path: str, proxy: subprocess.Popen[bytes], said: Path) -> None:
    """Return when the proxy listens.

    Raises:
        CannotLookError: If it ends, or takes too long.
    """
    until = time.monotonic() + _START_SECONDS
    while not Path(path).exists():
        if proxy.poll() is not None:
            told = said.read_text(encoding="utf-8", errors="replace")
            raise CannotLookError(f"kubectl says: {in_short(told) or 'nothing, and ends'}")
        if time.monotonic() > until:
            raise CannotLookError(f"kubectl proxy does not start within {_START_SECONDS:.0f} s.")
        time.sleep(0.01)


def in_short(told: str) -> str:
    """What a program said, in one line."""
    return " ".join(told.split())[:_MOST_WORDS]


def _address(kubectl: str, chosen: list[str]) -> str:
    shown = "jsonpath={.clusters[0].cluster.server}"
    command = [kubectl, *chosen, "config", "view", "--minify", "--output", shown]
    found = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return found.stdout.strip() or "the cluster"
