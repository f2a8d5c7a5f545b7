"""What nodes boot with that the EKS module's groups make, told of their inputs.

Source: `modules/_user_data` and `templates` of
https://github.com/terraform-aws-modules/terraform-aws-eks/tree/v21.19.0, against which each kind of
group was held: read from there, its resources are those that are told here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.hcl.values import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


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
ARGUMENTS: Final = "bootstrap_extra_args"
_ENABLED: Final = "enable_bootstrap_user_data"
JOINS: Final = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {}\n"
"""User data that joins a node to its cluster, as far as it tells of labels and taints."""
LOOKED_UP: Final = ("data.aws_ami", "data.aws_ssm_parameter", "data.aws_imagebuilder")
"""What images are looked up by, which then are there."""
_BOOT: Final = (
    *("enable_bootstrap_user_data", "pre_bootstrap_user_data", "post_bootstrap_user_data"),
    *("bootstrap_extra_args", "user_data_template_path", "cloudinit_pre_nodeadm"),
    "cloudinit_post_nodeadm",
)
_UNREAD: Final[Mapping[str, frozenset[str]]] = {
    "AL2023": frozenset(
        (
            *("enable_bootstrap_user_data", "bootstrap_extra_args"),
            *("pre_bootstrap_user_data", "post_bootstrap_user_data"),
        )
    ),
    "BOTTLEROCKET": frozenset(
        (
            *("enable_bootstrap_user_data", "pre_bootstrap_user_data", "post_bootstrap_user_data"),
            *("cloudinit_pre_nodeadm", "cloudinit_post_nodeadm"),
        )
    ),
}
"""What the templates of an image's user data leave out, or what says nothing of labels and taints:
https://github.com/terraform-aws-modules/terraform-aws-eks/tree/v21.19.0/templates"""


def default_ami(major: int | None) -> str | None:
    """The AMI type of groups that name none, by the module's major version."""
    return _STANDARD if major is not None and major >= STANDARD_SINCE else None


def unread_arguments(given: _Given, major: int | None) -> bool:
    """Whether arguments for a bootstrap script are given to an image that has none.

    Args:
        given: Inputs of a group.
        major: The module's major version; None where it is not told.
    """
    extra = given.get(ARGUMENTS)
    return (
        isinstance(extra, str)
        and bool(extra.strip())
        and (major is None or major >= _SCRIPTLESS_SINCE)
        and _family(given, major) == "AL2023"
        and given.get("user_data_template_path") in (None, "")
    )


def managed_boot(given: _Given, major: int | None) -> Any:
    """User data of a managed node group."""
    named = _boots_by(given, major)
    if not named and given.get(_ENABLED) not in (None, False):
        return JOINS  # which joins it and says no more
    return "" if not named else _told(given, named, major)


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
    return named - _UNREAD.get(_family(given, major), frozenset())


def _family(given: _Given, major: int | None) -> str:
    """The first word of the AMI type; empty where it is not known."""
    ami = given.get("ami_type", default_ami(major))
    return ami.partition("_")[0] if isinstance(ami, str) else ""


def _told(given: _Given, named: set[str], major: int | None) -> Any:
    """What the user data of a group says, as far as it has to do with labels and taints."""
    if _family(given, major) == "BOTTLEROCKET":
        settings = given.get("bootstrap_extra_args", "")
        return settings if named <= {"bootstrap_extra_args"} else UNKNOWN
    return _node_config(given.get("cloudinit_pre_nodeadm"), named)


def _node_config(parts: Any, named: set[str]) -> Any:
    """The one NodeConfig that a group is given; not known where there is more."""
    if named != {"cloudinit_pre_nodeadm"} or not isinstance(parts, list) or len(parts) != 1:
        return UNKNOWN
    content, kind = at(parts, 0, "content"), at(parts, 0, "content_type")
    return content if kind == "application/node.eks.aws" else UNKNOWN


def self_managed_boot(given: _Given, major: int | None) -> Any:
    """User data of a self-managed node group, which the module always has join the cluster."""
    named = _boots_by(given, major)
    if _family(given, major) in ("AL2023", "BOTTLEROCKET"):
        return "" if not named else _told(given, named, major)
    extra = given.get("bootstrap_extra_args")
    if named <= {"bootstrap_extra_args"}:
        text = extra if isinstance(extra, str) else ""
        return (
            UNKNOWN
            if extra is UNKNOWN
            else Text(f"#!/bin/bash\n/etc/eks/bootstrap.sh cluster {text}\n")
        )
    return _node_config(given.get("cloudinit_pre_nodeadm"), named)
