"""Responses of the process that is AWS."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_JSON = {"Content-Type": "application/x-amz-json-1.1"}
_SERVER_FAULT = 500


@dataclass(slots=True)
class Answer:
    """A response."""

    status: int
    """HTTP status."""
    headers: Mapping[str, Any] = field(default_factory=dict)
    """Headers, without those about the connection."""
    body: bytes = b""
    """Body."""
    action: str = ""
    """What was asked, for the log; `""` where the path says it."""


def as_json(content: object, status: int = 200) -> Answer:
    """A response of a service that speaks JSON."""
    return Answer(status, _JSON, json.dumps(content).encode())


def refused(status: int, code: str, message: str) -> Answer:
    """An error of a service that speaks JSON."""
    return as_json({"__type": code, "message": message}, status)


def fault(error: Exception) -> Answer:
    """What a caller is told of a fault of the emulation."""
    return refused(_SERVER_FAULT, "InternalFailure", f"the lab's AWS has a fault: {error!r}")
