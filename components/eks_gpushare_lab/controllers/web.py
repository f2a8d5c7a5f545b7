"""What the lab itself serves to Prometheus and to KEDA, on 127.0.0.1.

Two things: the metrics of the simulated nodes; and the way to the lab's own Prometheus for whoever
asks for that of the stack by its address. KEDA honours HTTP_PROXY, so its operator gets this server
as its proxy, and the objects keep their addresses.
"""

from __future__ import annotations

import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import urllib3

from eks_gpushare_lab.host.folders import make_private

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from eks_gpushare_lab.control_plane.certificates import ServiceAuthority
    from eks_gpushare_lab.simulated_node.exporters import Exporters

Answer = tuple[int, str, bytes]
"""Status, content type and content."""

TEXT, JSON = "text/plain; version=0.0.4; charset=utf-8", "application/json"

_NOT_FOUND, _BAD_GATEWAY, _OK = 404, 502, 200
_API = "/api/v1/"
_SECONDS = 10.0


class Web:
    """A server in threads of this process; it answers GET and POST."""

    def __init__(
        self, answer: Callable[[str, str, bytes], Answer], hosts: Hosts | None = None
    ) -> None:
        """Listen at once.

        Args:
            answer: to a method, what was asked for, and a body.
            hosts: by which it stands in for others that are asked by TLS. Default: it does not.
        """

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            _within = ""

            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length) if length else b""
                status, kind, content = answer(self.command, self._within + self.path, body)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
                self.wfile.flush()

            do_GET = do_POST = _answer  # noqa: N815  (names of the base class)

            def do_CONNECT(self) -> None:
                """Be whoever is asked for, from here on."""
                if hosts is None:
                    self.send_error(_NOT_FOUND)
                    return
                self.send_response(_OK)
                self.end_headers()
                self._within = f"https://{self.path.removesuffix(':443')}"
                context = hosts.context(self.path.rpartition(":")[0])
                self.connection = context.wrap_socket(self.connection, server_side=True)
                self.rfile = self.connection.makefile("rb")
                self.wfile = self.connection.makefile("wb")
                self.close_connection = False

            def finish(self) -> None:
                """Close what TLS was spoken over, too; the server knows only what was before."""
                super().finish()
                self.connection.close()

            def log_message(self, *_: object) -> None:
                """Say nothing on standard error."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    def stop(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()


class Hosts:
    """Certificates of whoever the proxy stands in for."""

    def __init__(self, authority: ServiceAuthority, folder: Path) -> None:
        """Make none yet.

        Args:
            authority: signs them; who asks has to trust it.
            folder: where they are written.
        """
        self._authority = authority
        self._folder = folder
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._lock = threading.Lock()

    def context(self, host: str) -> ssl.SSLContext:
        """What speaks TLS as a host."""
        with self._lock:
            if host not in self._contexts:
                folder = make_private(self._folder / "hosts" / str(len(self._contexts)))
                self._authority.write(folder, (host,))
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
                self._contexts[host] = context
            return self._contexts[host]


class MetricsAnswers:
    """Metrics of all nodes for Prometheus, and of each as its exporter has them."""

    def __init__(self, exporters: Exporters) -> None:
        """Answer for these exporters."""
        self._exporters = exporters

    def __call__(self, _method: str, path: str, _body: bytes) -> Answer:
        """Answer a scrape."""
        if path == "/metrics":
            return _OK, TEXT, self._exporters.page().encode()
        _, _, rest = path.partition("/nodes/")
        found = self._exporters.scrape(rest.removesuffix("/metrics"))
        if found is None:
            return _NOT_FOUND, TEXT, b"no exporter runs there\n"
        return _OK, TEXT, found.encode()


class ProxyAnswers:
    """Stands in for every Prometheus that a ScaledObject names, whatever its address."""

    def __init__(self, prometheus: str) -> None:
        """Ask the lab's own.

        Args:
            prometheus: its address, such as "http://127.0.0.1:9090".
        """
        self._prometheus = prometheus
        self._pool = urllib3.PoolManager(timeout=_SECONDS, retries=False)
        self.asked: set[str] = set()
        """Addresses that were asked for, without query."""

    def __call__(self, method: str, path: str, body: bytes) -> Answer:
        """Answer with what the lab's own Prometheus says."""
        asked = urlsplit(path)
        before, found, call = asked.path.partition(_API)
        if not found or not asked.netloc:
            message = f"the lab answers for addresses of Prometheus only, and not for {path}\n"
            return _BAD_GATEWAY, TEXT, message.encode()
        self.asked.add(f"{asked.scheme}://{asked.netloc}{before}")
        query = f"?{asked.query}" if asked.query else ""
        try:
            answer = self._pool.request(
                method,
                f"{self._prometheus}{_API}{call}{query}",
                body=body or None,
                headers={"Content-Type": "application/x-www-form-urlencoded"} if body else {},
            )
        except urllib3.exceptions.HTTPError as error:
            return _BAD_GATEWAY, TEXT, f"the lab's Prometheus: {error}\n".encode()
        return answer.status, answer.headers.get("Content-Type", JSON), answer.data
