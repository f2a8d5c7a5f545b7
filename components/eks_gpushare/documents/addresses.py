"""Addresses of servers, as they stand in arguments and objects that many may read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from urllib.parse import SplitResult


def server_address(given: str) -> SplitResult | None:
    """The parts of a text that is `http` or `https` and a host, with whatever more; else None."""
    try:
        parts = urlsplit(given)
        right = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        return None
    return parts if right and re.search(r"\s", given) is None else None


def store_fault(given: str | None) -> tuple[str, str] | None:
    """What keeps an address from being that of a Prometheus that is asked, and what to write.

    Args:
        given: An address of a server; of anything else nothing is said.
    """
    parts = server_address(given) if given is not None else None
    if parts is None:
        return None
    if parts.query or parts.fragment or "/api/v1" in parts.path:
        message = "KEDA adds /api/v1/query to the address."
        example = "Write it like http://prometheus.monitoring.svc:9090."
        return message, f"Leave that and what is behind it out. {example}"
    if str(parts.hostname).startswith("aps-workspaces."):
        message = "The address is that of a workspace, which answers signed requests only."
        return message, "Give workspaceArn in place of url."
    return None


def is_plain_address(given: str) -> bool:
    """Whether a text is `http` or `https`, a host, perhaps a port and a path, and nothing else.

    A name or password would stand in the open.
    """
    parts = server_address(given)
    return parts is not None and not ("@" in parts.netloc or parts.query or parts.fragment)
