"""Addresses of servers, as they stand in arguments and objects that many may read."""

from __future__ import annotations

import re
from urllib.parse import urlsplit


def is_plain_address(given: str) -> bool:
    """Whether a text is `http` or `https`, a host, perhaps a port and a path, and nothing else.

    A name or password would stand in the open.
    """
    try:
        parts = urlsplit(given)
        named = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        return False
    more = "@" in parts.netloc or parts.query or parts.fragment
    return bool(named) and not more and re.search(r"\s", given) is None
