"""Git repositories and files over HTTPS, by this machine and for it alone.

The engine clones plugins by HTTPS and nothing else. Its git needs the smart protocol, which git's
own CGI program speaks (https://git-scm.com/docs/git-http-backend).
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
import ssl
import subprocess
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from pathlib import Path

NAME = "127.0.0.1"
PORT = 443
"""Of HTTPS: the engine names the plugin's folder after the address, and venv takes no colon."""


class HttpsServer:
    """Serves a folder: repositories in it, `NAME.git`, by git's protocol, and files as they are."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        key, certificate = scratch / "key.pem", scratch / "certificate.pem"
        private, public = _certificate()
        key.write_bytes(private)
        certificate.write_bytes(public)
        self.trusted = scratch / "trusted.pem"
        """The certificate beside those that are trusted anyway."""
        self.trusted.write_bytes(_trusted_anyway() + public)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)

        class Handler(_Handler):
            served = folder

            def __init__(self, *args: Any) -> None:
                super().__init__(*args, directory=str(folder))

        self._server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(SimpleHTTPRequestHandler):
    served: Path

    def do_GET(self) -> None:
        if ".git/" in self.path:
            self._git(b"")
        else:
            super().do_GET()

    def do_POST(self) -> None:
        self._git(self.rfile.read(int(self.headers["Content-Length"])))

    def log_message(self, *args: Any) -> None:
        """Nothing: the engine's own words are what a test shows."""

    def _git(self, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        done = subprocess.run(
            ("git", "http-backend"),  # noqa: S607  (wherever it is)
            input=body,
            capture_output=True,
            check=True,
            env={
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(self.served),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "REQUEST_METHOD": self.command,
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "REMOTE_ADDR": "127.0.0.1",
            },
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _certificate() -> tuple[bytes, bytes]:
    """A key and its certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    today = dt.datetime.now(dt.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(NAME))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - dt.timedelta(days=1))
        .not_valid_after(today + dt.timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return private, made.public_bytes(serialization.Encoding.PEM)


def _trusted_anyway() -> bytes:
    given = os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
    if not given or not os.path.exists(given):  # noqa: PTH110  (a path from outside)
        return b""
    with open(given, "rb") as file:  # noqa: PTH123  (the same)
        return file.read() + b"\n"
