"""As much of a Kubernetes client as it takes to see whether the control plane is ready."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eks_gpushare_lab.control_plane.state import Lab


class Api:
    """Reads from the API server of a lab as its administrator."""

    def __init__(self, lab: Lab, seconds: float = 5) -> None:
        """Load the certificates.

        Args:
            lab: whose API server.
            seconds: how long one answer may take.

        """
        self._port = lab.port
        self._seconds = seconds
        self._context = ssl.create_default_context(cafile=str(lab.ca))
        self._context.load_cert_chain(str(lab.client_cert), str(lab.client_key))

    def get(self, path: str) -> tuple[int, bytes]:
        """Status and body of an answer.

        Raises:
            OSError: Nobody answers.

        """
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._port, timeout=self._seconds, context=self._context
        )
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except http.client.HTTPException as error:
            raise OSError(f"no proper answer: {error!r}") from error
        finally:
            connection.close()

    def has(self, path: str) -> bool:
        """Whether something is there; False too if nobody answers.

        Raises:
            ssl.SSLCertVerificationError: Somebody else answers, and always will.

        """
        try:
            return self.get(path)[0] == http.client.OK
        except ssl.SSLCertVerificationError:
            raise
        except OSError:
            return False

    def object(self, path: str) -> dict[str, Any]:
        """An object as the API server has it.

        Raises:
            OSError: Nobody answers, or with something other than an object.

        """
        status, body = self.get(path)
        if status != http.client.OK:
            raise OSError(f"{path}: status {status}")
        value: dict[str, Any] = json.loads(body)
        return value
