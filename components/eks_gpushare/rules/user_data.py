"""Rules about further parts of the nodes' user data."""

from __future__ import annotations

import base64
import re
import tomllib
from typing import TYPE_CHECKING, Any, TypeAlias

from eks_gpushare.documents import bottlerocket
from eks_gpushare.documents.node_config import (
    NODE_CONFIG,
    USER_DATA_LIMIT,
    ends_a_part,
    user_data_bytes,
)
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.node_settings import kubelet_faults
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.bottlerocket import is_bottlerocket
from eks_gpushare.sharing.closed_runtime import closed_pools
from eks_gpushare.sharing.labels import node_labels
from eks_gpushare.sharing.node_settings import own_bottlerocket_settings
from eks_gpushare.sharing.user_data import node_user_data, system_user_data
from eks_gpushare.validation.shape import similar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.config.environment import SystemNodes
    from eks_gpushare.config.pools import Pool, UserDataPart
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

    Nodes: TypeAlias = Pool | SystemNodes

BAD_PART = Rule(
    "GPU423",
    "error",
    "A part of the user data is one that the nodes can read.",
    "What cloud-init, nodeadm or Bottlerocket cannot read has no effect, or keeps the node away.",
    "https://docs.cloud-init.io/en/latest/explanation/format.html",
)
TAKEN_SETTING = Rule(
    "GPU424",
    "error",
    "A part of the user data sets nothing that comes from the stack or from EKS.",
    "Two say it, one of them wins, and the nodes are not what the stack says.",
    "https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html",
)
LONG_USER_DATA = Rule(
    "GPU425",
    "error",
    "The user data of nodes fits into a launch template.",
    "EC2 takes 16 KB of user data, in which EKS adds a part of its own.",
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-add-user-data.html",
)

TOML = "application/toml"
"""Content type of settings for Bottlerocket; it is a name for this project alone, since its user
data has no parts."""
_SHELL = "text/x-shellscript"
_CLOUD_CONFIG = "text/cloud-config"
_CLOUD_INIT = (
    *(_CLOUD_CONFIG, "text/cloud-boothook", "text/cloud-config-archive", "text/jinja2"),
    *("text/part-handler", "text/x-include-once-url", "text/x-include-url", _SHELL),
    *(f"{_SHELL}-per-boot", f"{_SHELL}-per-instance", f"{_SHELL}-per-once"),
)
"""INCLUSION_TYPES_MAP and what handlers take in cloud-init's sources: cloudinit/handlers."""
_SPEC_KEYS = ("cluster", "containerd", "featureGates", "instance", "kubelet")
"""awslabs/amazon-eks-ami, nodeadm/api/v1alpha1/nodeconfig_types.go (81fec2e8)."""
_EC2_LIMIT = 16 * 1024
_TAINTS_FLAG = "--register-with-taints"
_JOINING = ("cluster-name", "api-server", "cluster-certificate", "node-labels", "node-taints")
_QUOTED_HEADER = re.compile(r'^\[.*".*\]$|\\"', re.MULTILINE)
# As long as EKS makes them: 100 letters for a name, and about 1.5 KB for the authority.
_LONGEST_CLUSTER = ("c" * 100, f"https://{'e' * 80}", "a" * 1600, "192.168.128.0/20")


@check(Scope.POOL, BAD_PART, TAKEN_SETTING)
def pool_parts(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    for index, part in enumerate(pool.user_data or ()):
        at = ("pools", name, "userData", index)
        if is_bottlerocket(pool):
            yield from _settings_faults(at, part, pool)
        else:
            yield from _part_faults(at, part)


@check(Scope.SYSTEM_NODES, BAD_PART, TAKEN_SETTING)
def system_parts(ctx: Context) -> Iterator[Finding]:
    """For the system nodes."""
    system = ctx.environment.system
    for index, part in enumerate(system.user_data or () if system else ()):
        yield from _part_faults(("system", "userData", index), part)


def _part_faults(at: FieldPath, part: UserDataPart) -> Iterator[Finding]:
    kind = part.content_type.partition(";")[0].strip().lower()
    if kind not in {*_CLOUD_INIT, NODE_CONFIG} or "\n" in part.content_type:
        meant = similar(kind, (*_CLOUD_INIT, NODE_CONFIG))
        yield BAD_PART.finding(
            (*at, "contentType"),
            f'"{part.content_type}" is nothing that cloud-init or nodeadm reads.',
            f"Did you mean {meant}?"
            if meant
            else f"Use {_SHELL}, {_CLOUD_CONFIG} or {NODE_CONFIG}.",
        )
        return
    at = (*at, "content")
    if ends_a_part(part.content):
        message = "A line begins like what stands between the parts of the user data."
        yield BAD_PART.finding(at, message, "Let no line begin with --eks-gpushare.")
    elif kind.startswith(_SHELL) and not part.content.startswith("#!"):
        message = "A script has to say what runs it."
        yield BAD_PART.finding(at, message, "Begin it with a line such as #!/bin/bash.")
    elif kind in {_CLOUD_CONFIG, NODE_CONFIG}:
        read = _mapping(part.content)
        if read is None:
            message = f"The content is no YAML mapping, as {kind} has to be."
            yield BAD_PART.finding(at, message, "Correct it.")
        elif kind == NODE_CONFIG:
            yield from _node_config_faults(at, read)
    elif not part.content.strip():
        yield BAD_PART.finding(at, "The part is empty.", "Remove it.")


def _mapping(text: str) -> dict[str, Any] | None:
    import yaml

    try:
        read = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return None
    return read if isinstance(read, dict) else None


def _node_config_faults(at: FieldPath, read: Mapping[str, Any]) -> Iterator[Finding]:
    spec = read.get("spec", {})
    head = (str(read.get("apiVersion")), str(read.get("kind")))
    if head != ("node.eks.aws/v1alpha1", "NodeConfig") or not isinstance(spec, dict):
        message = "nodeadm reads a NodeConfig of node.eks.aws/v1alpha1 with a spec."
        fix = "Begin it with apiVersion: node.eks.aws/v1alpha1 and kind: NodeConfig."
        yield BAD_PART.finding(at, message, fix)
        return
    for key in spec:
        if key not in _SPEC_KEYS:
            meant = similar(str(key), _SPEC_KEYS)
            fix = f"Did you mean {meant}?" if meant else f"There are {', '.join(_SPEC_KEYS)}."
            yield BAD_PART.finding(at, f"spec.{key} is nothing that nodeadm reads.", fix)
    if "cluster" in spec:
        message = "spec.cluster is told by this project, or by EKS where the image is its own."
        yield TAKEN_SETTING.finding(at, message, "Remove it.")
    kubelet = spec.get("kubelet")
    kubelet = kubelet if isinstance(kubelet, dict) else {}
    for flag in _items(kubelet.get("flags")):
        if str(flag).startswith(_TAINTS_FLAG):
            message = f"The last {_TAINTS_FLAG} is the whole list: the pool's taints would be gone."
            yield TAKEN_SETTING.finding(at, message, "Remove it, and use taints.")
    config = kubelet.get("config")
    for fault in kubelet_faults((), config if isinstance(config, dict) else {}, None):
        yield BAD_PART.finding(at, f"spec.kubelet.config: {fault.message}", fault.fix)


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _settings_faults(at: FieldPath, part: UserDataPart, pool: Pool) -> Iterator[Finding]:
    if part.content_type.strip().lower() != TOML:
        yield BAD_PART.finding(
            (*at, "contentType"),
            f'Bottlerocket has no cloud-init and no nodeadm for "{part.content_type}".',
            f"Use {TOML} with settings in TOML.",
        )
        return
    at = (*at, "content")
    try:
        read = tomllib.loads(part.content)
    except tomllib.TOMLDecodeError as error:
        yield BAD_PART.finding(at, f"The content is no TOML: {error}.", "Correct it.")
        return
    if set(read) != {"settings"} or not isinstance(read["settings"], dict):
        message = "User data of Bottlerocket has settings, and nothing else."
        yield BAD_PART.finding(at, message, "Begin each table with settings, as [settings.kernel].")
        return
    for place in _set_by_both(_ours(pool), read["settings"]):
        message = f"settings.{place} is set by this project, or by EKS."
        fix = "Remove it, and use the pool's keys instead: labels, taints, sharing, kubelet."
        yield TAKEN_SETTING.finding(at, message, fix)
    merged_by_eks = pool.custom_ami is None and pool.provisioner != "karpenter"
    if merged_by_eks and _QUOTED_HEADER.search(
        bottlerocket.bottlerocket_document({}, read["settings"])
    ):
        message = "EKS cannot merge quoted keys in headers, nor quotes within values."
        yield BAD_PART.finding(at, message, "Write it without, or use an image of your own.")


def _ours(pool: Pool) -> dict[str, Any]:
    """Places below `settings` that are not for a part to set."""
    own = own_bottlerocket_settings(pool)
    own["kubernetes"] = {**own.get("kubernetes", {}), **dict.fromkeys(_JOINING)}
    return {**own, "kubelet-device-plugins": {"nvidia": None}}


def _set_by_both(ours: Mapping[str, Any], theirs: Mapping[str, Any], above: str = "") -> list[str]:
    found = []
    for key in ours.keys() & theirs.keys():
        mine, given = ours[key], theirs[key]
        if isinstance(mine, dict) and isinstance(given, dict):
            found += _set_by_both(mine, given, f"{above}{key}.")
        else:
            found.append(above + key)
    return sorted(found)


@check(Scope.POOL, LONG_USER_DATA)
def pool_size(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    pool = closed_pools(ctx.environment)[name]
    if not pool.user_data and not pool.kubelet and pool.custom_ami is None:
        return  # a MIG layout alone has a rule of its own
    if pool.provisioner == "karpenter":
        yield from _too_long(("pools", name), pool, _of_karpenter(ctx, name, pool))
        return
    labels = node_labels(name, pool)
    try:
        given = node_user_data(pool, ctx.catalog, labels, pool.taints)
        own = pool.custom_ami is not None
        text = given.for_own_image(*_LONGEST_CLUSTER) if own else given.for_eks_image()
    except (KeyError, ValueError):  # which has findings of its own
        return
    yield from _too_long(("pools", name), pool, text)


def _of_karpenter(ctx: Context, name: str, pool: Pool) -> str | None:
    """User data that Karpenter adds its own part to, whoever made the image; base64."""
    from eks_gpushare.rules.planned import planned
    from eks_gpushare.sharing.karpenter.node_class import user_data_of

    plan = planned(ctx, name, pool)
    try:
        text = plan and user_data_of(plan, ctx.catalog)
    except (KeyError, ValueError):  # which has findings of its own
        return None
    return base64.b64encode(text.encode()).decode() if text else None


@check(Scope.SYSTEM_NODES, LONG_USER_DATA)
def system_size(ctx: Context) -> Iterator[Finding]:
    """For the system nodes."""
    system = ctx.environment.system
    if system is not None:
        try:
            text = system_user_data(system)
        except ValueError:
            return
        yield from _too_long(("system",), system, text)


def _too_long(at: FieldPath, nodes: Nodes, text: str | None) -> Iterator[Finding]:
    if not text:
        return
    size = user_data_bytes(text)
    if not nodes.user_data and not nodes.kubelet:  # of an own image, to which EKS adds nothing
        if size > _EC2_LIMIT:
            yield LONG_USER_DATA.finding(
                (*at, "labels"),
                f"The user data has {size} bytes, with the labels; EC2 takes {_EC2_LIMIT}.",
                "Set fewer or shorter labels.",
            )
    elif size > USER_DATA_LIMIT:
        yield LONG_USER_DATA.finding(
            (*at, "userData" if nodes.user_data else "kubelet"),
            f"The user data has {size} bytes; at most {USER_DATA_LIMIT} leave EKS room for its "
            "own.",
            "Fetch long scripts from a bucket, or put them into an image of your own.",
        )
