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


def is_plain_address(given: str) -> bool:
    """Whether a text is `http` or `https`, a host, perhaps a port and a path, and nothing else.

    A name or password would stand in the open.
    """
    parts = server_address(given)
    return parts is not None and not ("@" in parts.netloc or parts.query or parts.fragment)
