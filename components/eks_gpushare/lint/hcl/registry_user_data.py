"""What nodes boot with that the EKS module's groups make, told of their inputs.

Source: `modules/_user_data` and `templates` of
https://github.com/terraform-aws-modules/terraform-aws-eks/tree/v21.19.0, against which each kind of
group was held: read from there, its resources are those that are told here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.user_data import NODE_CONFIG_TYPE
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.hcl.values import Text, files_in, has_gaps

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class _Given(Protocol):
    """Inputs of a group."""

    def get(self, key: str, otherwise: Any = None) -> Any:
        """An input."""


_STANDARD: Final = "AL2023_x86_64_STANDARD"
STANDARD_SINCE: Final = 21
"""The major version whose groups have that image unless they say otherwise.
https://github.com/terraform-aws-modules/terraform-aws-eks/blob/master/docs/UPGRADE-21.0.md"""
_SCRIPTLESS_SINCE: Final = 20
"""The major version that knows images without a bootstrap script.
https://github.com/terraform-aws-modules/terraform-aws-eks/blob/master/docs/UPGRADE-20.0.md"""
OWN_IMAGE: Final = "ami_id"
_ARGUMENTS: Final = "bootstrap_extra_args"
_PRE: Final = "cloudinit_pre_nodeadm"
POST: Final = "cloudinit_post_nodeadm"
_ENABLED: Final = "enable_bootstrap_user_data"
JOINS: Final = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {}\n"
"""User data that joins a node to its cluster, as far as it tells of labels and taints."""
IMAGES: Final = ("data.aws_ami", "data.aws_ssm_parameter")
"""Data sources that tell by a name which image nodes start from."""
POLICY_DOCUMENT: Final = "data.aws_iam_policy_document"
"""The data source that a role's trust policy is written in."""
LOOKED_UP: Final = (*IMAGES, "data.aws_imagebuilder")
"""What images are looked up by, which then are there."""
_SCRIPT: Final = ("pre_bootstrap_user_data", _ARGUMENTS, "post_bootstrap_user_data")
UNREAD_INPUTS: Final = (*_SCRIPT, _PRE, POST)
"""Those that the template of an image may leave out."""
_TEMPLATE: Final = "user_data_template_path"
_BOOT: Final = (_ENABLED, _TEMPLATE, *UNREAD_INPUTS)
_UNREAD: Final[Mapping[str, frozenset[str]]] = {
    "AL2023": frozenset(_SCRIPT),
    "BOTTLEROCKET": frozenset({*UNREAD_INPUTS} - {_ARGUMENTS}),
    "AL2": frozenset((_PRE, POST)),
}
"""What the templates of an image's user data leave out:
https://github.com/terraform-aws-modules/terraform-aws-eks/tree/v21.19.0/templates"""


_HEAD: Final = "MIME-Version: 1.0\nContent-Type: multipart/mixed; "
_MARK: Final = "MIMEBOUNDARY"


def default_ami(major: int | None) -> str | None:
    """The AMI type of groups that name none, by the module's major version."""
    return _STANDARD if major is not None and major >= STANDARD_SINCE else None


def unread_inputs(given: _Given, major: int | None, *, managed: bool) -> list[str]:
    """Inputs of a group that its image's template leaves out, of those that are given something.

    Args:
        given: Inputs of a group.
        major: The module's major version; None where it is not told.
        managed: Whether EKS manages the group. Of others the module always makes all user data.
    """
    if (major or _SCRIPTLESS_SINCE) < _SCRIPTLESS_SINCE or given.get(_TEMPLATE) not in (None, ""):
        return []
    family = _family(given, major)
    names = set(_UNREAD.get(family, ()))
    if managed and family == "AL2023" and given.get(_ENABLED) in (None, False):
        names.add(POST)
    return [name for name in UNREAD_INPUTS if name in names and _is_said(given.get(name))]


def _is_said(value: Any) -> bool:
    return bool(value.strip() if isinstance(value, str) else isinstance(value, list) and value)


def managed_boot(given: _Given, major: int | None) -> Any:
    """User data of a managed node group."""
    named = _boots_by(given, major)
    joins = given.get(_ENABLED) or False
    if not named and joins is not False:
        return JOINS  # which joins it and says no more
    return "" if not named else _told(given, named, major, joins=joins)


def is_of_nobody(given: _Given, major: int | None, references: Iterable[str]) -> bool:
    """Whether a managed node group has an image of one's own, and nothing that joins its nodes.

    Of an image that is looked up it is known that there is one, and not which.

    Args:
        given: Inputs of the group.
        major: The module's major version; None where it is not told.
        references: What the inputs of all groups refer to.
    """
    image = given.get(OWN_IMAGE)
    if image is UNKNOWN:
        named = any(each.startswith(LOOKED_UP) for each in references)
    else:
        named = isinstance(image, str) and image.startswith("ami-")
    return named and managed_boot(given, major) == ""


def image_of(given: _Given) -> str:
    """Which input tells most of a group's own image.

    Of one that is looked up, and is Bottlerocket's for GPUs, the AMI type does.
    """
    ami = given.get("ami_type")
    is_told = isinstance(ami, str) and ami.startswith("BOTTLEROCKET") and ami.endswith("_NVIDIA")
    return "ami_type" if is_told and given.get(OWN_IMAGE) is UNKNOWN else OWN_IMAGE


def _boots_by(given: _Given, major: int | None) -> set[str]:
    """Inputs that say how a node boots, without those that its image's template does not read."""
    asked = {name: given.get(name) for name in _BOOT}
    named = {name for name, value in asked.items() if value not in (None, "", [], False)}
    unread = _UNREAD.get(_family(given, major))
    return named if unread is None else named - unread - {_ENABLED}


def _family(given: _Given, major: int | None) -> str:
    """The first word of the AMI type; empty where it is not known."""
    ami = given.get("ami_type", default_ami(major))
    return ami.partition("_")[0] if isinstance(ami, str) else ""


def _told(given: _Given, named: set[str], major: int | None, *, joins: Any = False) -> Any:
    """What a group's user data says, but of which cluster; `joins` where the module says that."""
    family = _family(given, major)
    if family == "BOTTLEROCKET":
        settings = given.get(_ARGUMENTS, "")
        return settings if named <= {_ARGUMENTS} else UNKNOWN
    if joins is UNKNOWN or _TEMPLATE in named:
        return UNKNOWN
    return _script(given, joins=joins) if family == "AL2" else _parts(given, named, family, joins)


def _parts(given: _Given, named: set[str], family: str, joins: Any) -> Any:
    pre, post = given.get(_PRE) or [], given.get(POST) or [] if joins else []
    if not isinstance(pre, list) or not isinstance(post, list):
        return UNKNOWN
    if len(pre) == 1 and _is_config(pre[0]) and not named - {_PRE, POST} and not post:
        return at(pre[0], "content")  # the module's own says no more
    own = {"content": JOINS, "content_type": NODE_CONFIG_TYPE}
    parts = [*pre, *([own] if joins else []), *post]
    return UNKNOWN if family != "AL2023" else mime_of(parts) if parts else ""


def _is_config(part: Any) -> bool:
    kind = at(part, "content_type")
    return isinstance(kind, str) and kind == NODE_CONFIG_TYPE


def mime_of(parts: Sequence[Any]) -> Any:
    """User data of several parts; not known where one of them is not.

    Args:
        parts: Each with its `content` and `content_type`.
    """
    text = f'{_HEAD}boundary="{_MARK}"\n\n'
    for part in parts:
        content, kind = at(part, "content"), at(part, "content_type")
        if not isinstance(content, str) or kind is UNKNOWN:
            return UNKNOWN
        text += f"--{_MARK}\n" + (f"Content-Type: {kind}\n\n" if kind else "\n")
        text += f"{content.rstrip()}\n"
    contents = [at(part, "content") for part in parts]
    files = frozenset[str]().union(*map(files_in, contents))
    return Text(f"{text}--{_MARK}--\n", gaps=any(map(has_gaps, contents)), files=files)


def _script(given: _Given, *, joins: bool) -> Any:
    """User data of an image whose nodes a script has join."""
    pre, extra, post = (given.get(name) or "" for name in _SCRIPT)
    if any(not isinstance(each, str) for each in ((pre, extra, post) if joins else (pre,))):
        return UNKNOWN
    lines = ["#!/bin/bash", *([pre] if pre else [])]
    if joins:
        lines += [f"/etc/eks/bootstrap.sh cluster {extra}", post]
    gaps = any(has_gaps(each) for each in (pre, extra, post))
    return Text("\n".join(lines), gaps=gaps)


def self_managed_boot(given: _Given, major: int | None) -> Any:
    """User data of a self-managed node group, which the module always has join the cluster."""
    named = _boots_by(given, major)
    if _family(given, major) not in ("AL2023", "BOTTLEROCKET") and named <= {_ARGUMENTS}:
        return _script(given, joins=True)
    return "" if not named else _told(given, named, major, joins=True)
