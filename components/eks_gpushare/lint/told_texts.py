"""What a text tells of a cluster wherever it stands, be it in no object that is read.

Such are the version of a chart that a catalog of another tool has, and the inventory of an
installer: what serves the objects of other files.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eks_gpushare.lint.told_names import KARPENTER, SERVED

if TYPE_CHECKING:
    from collections.abc import Iterator

OLD_OPENSHIFT: Final = ("served", "openshift 3")
"""What workloads of the first versions of Kubernetes' API need: up to 3.11 it is 1.11 or less.

Source: https://docs.openshift.com/container-platform/3.11/release_notes/ocp_3_11_release_notes.html
"""
OLD_WORKLOADS: Final = ("extensions/v1beta1", "apps/v1beta1", "apps/v1beta2")
_OLD: Final = re.compile(rf"\bapiVersion[\"']?:[ \t]*[\"']?(?:{'|'.join(OLD_WORKLOADS)})\b")
_OPENSHIFT: Final = re.compile(
    r"\brhel-7-server-ose-3\.[0-9]+-rpms\b"
    r"|^[ \t]*openshift_(?:release|image_tag|pkg_version)[ \t]*[=:][ \t]*[\"']?[-v]?3\."
    # Of 4 there are playbooks for workers alone, called scaleup and upgrade.
    r"|\bopenshift-ansible/playbooks/(?:deploy_cluster|prerequisites|openshift-|adhoc/|byo/)",
    re.MULTILINE,
)
"""The repository of its packages, and the variables and playbooks of openshift-ansible."""
_CHART: Final = re.compile(
    r"^[ \t]*[\"']?chart_?name[\"']?[ \t]*[:=][ \t]*[\"']?karpenter[\"']?[ \t]*,?[ \t\r]*$",
    re.MULTILINE | re.IGNORECASE,
)
_VERSION: Final = re.compile(
    r"^[ \t]*[\"']?chart_?version[\"']?[ \t]*[:=][ \t]*[\"']?(v?[0-9]+\.[0-9]+[^\s\"',]*)",
    re.MULTILINE | re.IGNORECASE,
)
"""As an addon of Rafay's has both, in YAML and in variables of Terraform."""
RUNTIME: Final = ("runtime", "nvidia")
"""What a container that sees GPUs by a variable alone needs: that NVIDIA's runtime runs all pods.

Where some pods name its class, they would not have to if it did.
"""
BY_DEFAULT: Final = ("runtime by default", "nvidia")
"""That a script or a configuration of nodes makes NVIDIA's runtime that of all pods."""
_BY_DEFAULT: Final = re.compile(
    r"\bdefault_runtime_name\b[^\n]*\bnvidia\b|--(?:nvidia-)?set-as-default\b(?!=false)"
    r"|\bdefault-runtime\b[\"']?[ \t]*[:= ][ \t]*[\"']?nvidia\b"
)
"""Of containerd, of nvidia-ctk, and of Docker and k3s."""
_MAKES_NONE: Final = re.compile(
    r"^[ \t]*#|\bgrep\b|--runtime[= ]docker\b"
    r"|\bnvidia\b[^\n]*\bdefault_runtime_name\b[^\n]*\brunc\b"
)
"""Lines that look for it, are for Docker alone, or make another runtime the default."""
_CLASS: Final = re.compile(
    r"^[ \t]*(?:-[ \t]+)?[\"']?runtimeClassName[\"']?[ \t]*:[ \t]*[\"']?nvidia", re.MULTILINE
)
_ASKS: Final = re.compile(r"^[^#\n]*\bnvidia\.com/", re.MULTILINE)
_NEAR: Final = 2
"""Lines between the two."""


def named_in(text: str) -> Iterator[tuple[str, str]]:
    """Kinds and names of what a text needs of others."""
    if "v1beta" in text and _OLD.search(text):
        yield OLD_OPENSHIFT
    if "NVIDIA_VISIBLE_DEVICES" in text and not (_CLASS.search(text) or _ASKS.search(text)):
        yield RUNTIME


def given_in(text: str) -> Iterator[tuple[str, str]]:
    """Kinds and names of what a text gives others."""
    # Most texts have none of it, which a search for plain words tells in a tenth of the time.
    if ("openshift" in text or "ose-3." in text) and _OPENSHIFT.search(text):
        yield OLD_OPENSHIFT
    if "runtimeClassName" in text and _CLASS.search(text):
        yield RUNTIME
    if "default" in text and any(_makes_default(at) for at in text.splitlines() if "default" in at):
        yield BY_DEFAULT
    for version in _karpenters(text):
        yield KARPENTER, version
        yield SERVED


def _makes_default(line: str) -> bool:
    return _BY_DEFAULT.search(line) is not None and _MAKES_NONE.search(line) is None


def _karpenters(text: str) -> Iterator[str]:
    """Versions of Karpenter's chart that stand beside its name."""
    if "karpenter" not in text:
        return
    lines = text.splitlines()
    for found in _CHART.finditer(text):
        number = text.count("\n", 0, found.start())
        near = "\n".join(lines[max(0, number - _NEAR) : number + _NEAR + 1])
        yield from _VERSION.findall(near)
