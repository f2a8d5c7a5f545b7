"""`verify --watch` and `--push`: verdicts for whoever looks on, in a terminal or in Prometheus."""

from __future__ import annotations

import argparse
import http.client
import http.server
import json
import socket
import sys
import threading
import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, NamedTuple, NoReturn
from urllib.parse import urlsplit

from eks_gpushare.documents.addresses import is_plain_address
from eks_gpushare.live.connection import CannotLookError, ending_in_order, in_short
from eks_gpushare.live.metrics import metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eks_gpushare.live.verdict import ClusterVerdict

_CLEARED = "\x1b[H\x1b[2J"
"""What makes a terminal empty."""
_JOB = "eks-gpushare-verify"
"""Whose metrics they are, to a Pushgateway: each push takes the place of the one before."""
_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = 10.0
"""How long a Pushgateway may take."""
_LATE = 3
"""So many looks that did not begin are the end of the one that looks."""
_LEAST_LATE = 120.0
"""Seconds that a look at a large cluster may take in any case."""


class Listening(NamedTuple):
    """Where metrics are served."""

    host: str
    """Empty for all addresses of the machine."""
    port: int


class WatchOptions(NamedTuple):
    """How a cluster is watched."""

    seconds: float
    """Between two looks."""
    show: Callable[[ClusterVerdict], None]
    """Shows a verdict to people."""
    as_json: bool
    """Whether each verdict is one line of JSON."""
    listening: Listening | None = None


def listening(given: str) -> Listening:
    """Read `HOST:PORT` or `:PORT`.

    Raises:
        argparse.ArgumentTypeError: If it is neither.
    """
    host, colon, port = given.rpartition(":")
    most = 65_535
    if not colon or not port.isascii() or not port.isdecimal() or int(port) > most:
        raise argparse.ArgumentTypeError(
            f"{given!r} is no HOST:PORT such as 127.0.0.1:9464, or :9464 for all addresses"
        )
    return Listening(host.strip("[]"), int(port))


def gateway(given: str) -> str:
    """Read the address of a Pushgateway.

    Raises:
        argparse.ArgumentTypeError: If it is none.
    """
    if not is_plain_address(given):
        raise argparse.ArgumentTypeError(
            f"{given!r} is no address of a Pushgateway such as http://pushgateway.monitoring:9091"
        )
    return given


def push(text: str, address: str, instance: str | None = None) -> str | None:
    """Put metrics in the place of those that were pushed before.

    Args:
        text: The metrics.
        address: Of the Pushgateway.
        instance: Whose they are, where several push there.

    Returns:
        What is wrong; None if it has them.
    """
    parts, group = urlsplit(address), f"/instance/{instance}" if instance else ""
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(str(parts.hostname), parts.port, timeout=_SECONDS)
    try:
        connection.request(
            "PUT",
            f"{parts.path.rstrip('/')}/metrics/job/{_JOB}{group}",
            text.encode(),
            {"Content-Type": _TYPE},
        )
        answer = connection.getresponse()
        said = answer.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        return f"The Pushgateway {address} does not answer: {in_short(str(error) or repr(error))}"
    finally:
        connection.close()
    if answer.status >= http.HTTPStatus.BAD_REQUEST:
        return f"The Pushgateway {address} takes no metrics: {answer.status} {in_short(said)}"
    return None


def watch(look: Callable[[], ClusterVerdict], how: WatchOptions) -> NoReturn:
    """Tell one verdict after the other until somebody interrupts.

    Args:
        look: Looks once.
        how: How often, and for whom.

    Raises:
        CannotLookError: If nothing can be served where it should be.
    """
    page = _Page(max(_LEAST_LATE, _LATE * how.seconds))
    serving = nullcontext() if how.listening is None else _serving(how.listening, page)
    # The first process of a container is ended by no signal that it does not take itself.
    with ending_in_order(), serving:
        while True:
            page.begun = time.monotonic()
            found: ClusterVerdict | str
            try:
                found = look()
            except CannotLookError as error:
                found = str(error)
            _tell(found, how)
            if not isinstance(found, str):
                page.text = metrics(found, found.at, how.seconds)
            time.sleep(how.seconds)


def _tell(found: ClusterVerdict | str, how: WatchOptions) -> None:
    from eks_gpushare.findings.text import printable

    if not how.as_json and sys.stdout.isatty():
        sys.stdout.write(_CLEARED)
    if isinstance(found, str):
        print(f"eks-gpushare: {printable(found)}", file=sys.stderr)
    elif how.as_json:
        sys.stdout.write(json.dumps(found.as_json()) + "\n")
    else:
        sys.stdout.write(f"{found.at:%H:%M:%S} UTC\n")
        how.show(found)
    sys.stdout.flush()


class _Page:
    """What is served: the metrics of the last look that was one."""

    def __init__(self, late: float) -> None:
        self.text: str | None = None
        self.begun = time.monotonic()
        self._late = late

    def answer(self, path: str) -> tuple[http.HTTPStatus, str]:
        if path == "/metrics":
            if self.text is None:
                return http.HTTPStatus.SERVICE_UNAVAILABLE, "The cluster has not been read yet.\n"
            return http.HTTPStatus.OK, self.text
        if path == "/healthz":
            if time.monotonic() - self.begun > self._late:
                return http.HTTPStatus.SERVICE_UNAVAILABLE, "The last look has not ended.\n"
            return http.HTTPStatus.OK, "ok\n"
        return http.HTTPStatus.NOT_FOUND, "There are /metrics and /healthz.\n"


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, where: Listening, page: _Page) -> None:
        self.page = page
        if ":" in where.host or (not where.host and socket.has_dualstack_ipv6()):
            self.address_family = socket.AF_INET6
        super().__init__((where.host, where.port), _Handler)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6 and not self.server_address[0]:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()


class _Handler(http.server.BaseHTTPRequestHandler):
    timeout = _SECONDS  # of one who connects and says nothing
    server: _Server

    def do_GET(self) -> None:
        status, text = self.server.page.answer(self.path.partition("?")[0])
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", _TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base names it)
        """Say nothing: probes and scrapes come every few seconds."""


@contextmanager
def _serving(where: Listening, page: _Page) -> Iterator[None]:
    shown = f"{where.host}:{where.port}"
    try:
        server = _Server(where, page)
    except OSError as error:
        raise CannotLookError(
            f"Nothing can be served at {shown}: {error.strerror or error}. "
            "Give --listen another HOST:PORT."
        ) from None
    with server:
        host, port = server.server_address[:2]
        print(f"metrics at http://{_in_url(str(host))}:{port}/metrics", file=sys.stderr)
        sys.stderr.flush()
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
