"""User data of a simulated machine: what cloud-init and Bottlerocket would make of it."""

from __future__ import annotations

import base64
import binascii
import email
import gzip
import re
import shlex
import tomllib
import zlib
from typing import Any

import yaml

USER_DATA = "lab.eks-gpushare/user-data"
"""Annotation of a node: user data of its launch template, base64 as EC2 has it."""
AMI_TYPE = "lab.eks-gpushare/ami-type"
"""Annotation of a node: AMI type of its node group, such as AL2023_x86_64_NVIDIA or CUSTOM."""
AMI_RELEASE = "lab.eks-gpushare/ami-release"
"""Annotation of a node: release of its AMI, such as 1.35.8-20260930; none for the newest."""
PLUGIN_AFTER = "lab.eks-gpushare/plugin-after"
"""Annotation of a node: when its device plugin may start, in seconds since the epoch; none if at
once."""

SHELL = "text/x-shellscript"
"""Type of the parts that cloud-init runs."""
_NODE_CONFIG = "application/node.eks.aws"

MIG_ENVIRONMENT = "/etc/eks-gpushare/mig.env"
"""The file that tells a node's boot which MIG layout to apply."""
_UNIT = "eks-gpushare-mig.service"
_HEREDOC = re.compile(
    r"^[^\n#]*?cat\b(?P<line>[^\n]*<<-?\s*['\"]?(?P<end>[A-Za-z0-9_]+)['\"]?[^\n]*)\n(?P<text>.*?)^\s*(?P=end)$",
    re.MULTILINE | re.DOTALL,
)
_GZIP = b"\x1f\x8b"


class UserDataError(Exception):
    """User data that nothing on the machine could read."""


def decoded(given: str) -> str:
    """The text of user data, unpacked if it is packed.

    Raises:
        UserDataError: If it is no base64, or no text.
    """
    try:
        content = base64.b64decode(given, validate=True)
        if content.startswith(_GZIP):
            content = gzip.decompress(content)
        return content.decode()
    except (binascii.Error, UnicodeDecodeError, OSError, EOFError, zlib.error) as error:
        raise UserDataError(f"the user data cannot be read: {error}") from None


def parts(text: str) -> list[tuple[str, str]]:
    """Type and text of each part of user data for cloud-init, one part if it is no MIME."""
    if text.startswith("#!"):
        return [(SHELL, text)]
    message = email.message_from_string(text)
    return [
        (each.get_content_type(), _text(each.get_payload(decode=True)))
        for each in message.walk()
        if not each.is_multipart()
    ]


def _text(payload: Any) -> str:
    return payload.decode(errors="replace") if isinstance(payload, bytes) else ""


def mig_environment(text: str) -> dict[str, str] | None:
    """What the shell parts write into mig.env, or None if they write none or start no unit."""
    scripts = [script for kind, script in parts(text) if kind == SHELL]
    if not any("systemctl" in script and _UNIT in script for script in scripts):
        return None
    for script in scripts:
        for found in _HEREDOC.finditer(script):
            if MIG_ENVIRONMENT in found["line"]:
                return _assignments(found["text"])
    return None


def max_pods(given: str) -> int | None:
    """How many pods the kubelet is told to take; None if it is left to decide, or nothing is read.

    Args:
        given: User data as EC2 has it.
    """
    try:
        text = decoded(given)
    except UserDataError:
        return None
    settings = toml(text)
    if settings is not None:
        found: Any = settings.get("settings", {}).get("kubernetes", {}).get("max-pods")
        return found if isinstance(found, int) else None
    told = None
    for kind, part in parts(text):
        read = _yaml(part) if kind == _NODE_CONFIG else None
        for key in ("spec", "kubelet", "config", "maxPods"):
            read = read.get(key) if isinstance(read, dict) else None
        told = read if isinstance(read, int) else told  # nodeadm merges the later over the former
    return told


def _yaml(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return None


def unit(text: str) -> str:
    """The systemd unit that shell parts write for MIG, `""` if they write none."""
    return _written(text, f"/{_UNIT}")


def waits_for_driver(text: str) -> bool:
    """Whether kubelet is made to wait for nvidia-smi, or for a layout that is made with it."""
    if mig_environment(text) is not None:
        return True
    dropins = _files(text, "/kubelet.service.d/")
    commands = re.findall(r"^ExecStartPre=[-+!@:]*(/\S+)", "\n".join(dropins), re.MULTILINE)
    return any("nvidia-smi" in _written(text, command) for command in commands)


def _written(text: str, path: str) -> str:
    return next(iter(_files(text, path)), "")


def _files(text: str, path: str) -> list[str]:
    """Texts of files that shell parts write, by a part of their path."""
    scripts = [script for kind, script in parts(text) if kind == SHELL]
    found = (match for script in scripts for match in _HEREDOC.finditer(script))
    return [match["text"] for match in found if path in match["line"]]


def toml(text: str) -> dict[str, Any] | None:
    """User data as Bottlerocket takes it, or None if it is something else."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _assignments(text: str) -> dict[str, str]:
    """KEY="VALUE" lines as a shell that sources them has them."""
    found = {}
    for word in shlex.split(text, comments=True):
        key, equals, value = word.partition("=")
        if equals:
            found[key] = value
    return found
