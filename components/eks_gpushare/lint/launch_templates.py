"""Launch templates of EC2, merged with the node groups that use them."""

from __future__ import annotations

import base64
import binascii
import gzip
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.source import UNKNOWN, Unknown
from eks_gpushare.lint.plain import text

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Nodes
    from eks_gpushare.inventory.source import Maybe

_GZIP: Final = b"\x1f\x8b"
_MOST_BYTES: Final = 64 * 1024
"""Of user data once it is unpacked; EC2 takes 16 KB."""


class LaunchTemplate(NamedTuple):
    """What of a launch template has to do with what a node is."""

    image: Maybe[str] = ""
    instance_type: Maybe[str] = ""
    user_data: Maybe[str] = ""
    """Decoded."""


OF_OTHERS: Final = LaunchTemplate(UNKNOWN, UNKNOWN, UNKNOWN)
"""One that is named and is not there."""


def decoded(given: Any) -> Maybe[str]:
    """User data as the node gets it, of what EC2 is given: base64, and packed where it is.

    What is no base64 is taken as it stands.
    """
    if given is UNKNOWN:
        return Unknown.UNKNOWN
    plain = str(text(given))
    try:
        content = base64.b64decode("".join(plain.split()), validate=True)
    except (binascii.Error, ValueError):
        return plain
    if content.startswith(_GZIP):
        try:
            unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
            content = unpacker.decompress(content, _MOST_BYTES)
        except (zlib.error, gzip.BadGzipFile):
            return UNKNOWN
    try:
        return content.decode()
    except UnicodeDecodeError:
        return UNKNOWN


def with_template(nodes: Nodes, template: LaunchTemplate) -> Nodes:
    """Nodes as they are with a launch template: the node group's own values go first.

    Args:
        nodes: What the node group itself says.
        template: Its launch template.
    """
    types = nodes.instance_types
    if not types:
        of_template = template.instance_type
        types = UNKNOWN if of_template is UNKNOWN else (of_template,) if of_template else ()
    ami = nodes.ami
    if ami in ("", "CUSTOM"):
        ami = UNKNOWN if template.image is UNKNOWN else template.image or ami
    return replace(nodes, instance_types=types, ami=ami, user_data=template.user_data)
