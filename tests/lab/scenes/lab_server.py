"""The lab's API server, asked as `verify` asks any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.live.connection import ApiResponse
from eks_gpushare_lab.client import ApiError, Client

if TYPE_CHECKING:
    from collections.abc import Mapping


class LabServer:
    """A server of `live` behind a lab's client."""

    whence = "the lab"

    def __init__(self, client: Client) -> None:
        self._client = client

    def get(
        self, path: str, query: Mapping[str, str] | None = None, accept: str = "application/json"
    ) -> ApiResponse:
        try:
            answer = self._client.request("GET", path, query=query, accept=accept)
        except ApiError as error:
            return ApiResponse(error.status, error.message)
        return ApiResponse(200, answer.object)
