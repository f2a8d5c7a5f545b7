"""Rules about Bottlerocket nodes, which are configured by settings and not by the charts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import bottlerocket as facts
from eks_gpushare.config.sharing import Exclusive, Mig, Mps
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.ami_releases import first_for_cluster
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.bottlerocket import (
    bottlerocket_settings,
    is_bottlerocket,
    needed_setting,
    served_by_chart,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_SETTINGS = "https://bottlerocket.dev/en/os/1.57.x/api/settings/kubelet-device-plugins/"
_ISSUES = "https://github.com/bottlerocket-os/bottlerocket/issues"

_NEITHER_KNOWS = (
    "A pool is not told who manages its GPUs, and a manager says of pools what is wrong only."
)
OLD_RELEASE = Rule(
    "GPU250",
    "error",
    "A Bottlerocket release knows every setting that its pool needs.",
    "A release refuses user data with a setting that it does not know, and the node never joins.",
    "https://github.com/bottlerocket-os/bottlerocket-core-kit/pull/914",
)
SEVERAL_MPS_SHARES = Rule(
    "GPU251",
    "error",
    "MPS on Bottlerocket refuses requests for several shares.",
    "There is no setting for it, so such pods would fail although the stack says otherwise.",
    _SETTINGS,
)
IDLE_BLOCK = Rule(
    "GPU257",
    "error",
    "Only a Bottlerocket pool has Bottlerocket's settings.",
    "On other nodes they would be ignored.",
    _SETTINGS,
)
COUPLED = Rule(
    "GPU258",
    "error",
    "MIG and MPS on Bottlerocket come with its own device plugin.",
    "Switching the plugin off takes MIG manager and MPS daemon with it.",
    "https://github.com/bottlerocket-os/bottlerocket-core-kit/pull/914",
)
NO_OPERATOR = Rule(
    "GPU259",
    "error",
    "The GPU Operator keeps away from Bottlerocket nodes.",
    "NVIDIA does not support it there, and some of its parts write to the host.",
    "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/platform-support.html",
)
OWN_USER_DATA = Rule(
    "GPU260",
    "warning",
    "The settings of Bottlerocket nodes are in their user data.",
    "Nodes that somebody else makes share their GPUs only if their user data says so.",
    _SETTINGS,
)
UNKNOWN_RELEASE = Rule(
    "GPU261",
    "info",
    "A Bottlerocket image of one's own is new enough.",
    "An older one refuses its user data, and the node never joins.",
    "https://github.com/bottlerocket-os/bottlerocket-core-kit/pull/914",
)
NO_DRIVER = Rule(
    "GPU262",
    "error",
    "A Bottlerocket image for GPUs has the driver.",
    "Nothing can install one on it: its root file system is read-only.",
    "https://bottlerocket.dev/en/os/1.57.x/concepts/restricted-filesystem/",
)
EARLY_MPS = Rule(
    "GPU263",
    "warning",
    "MPS works for the pods of any user.",
    "The first releases with MPS kept containers, and then those that do not run as root, from it.",
    f"{_ISSUES}/4673",
)
NO_METRICS = Rule(
    "GPU264",
    "info",
    "The GPU Operator exports metrics of the nodes that it manages.",
    "It is kept off Bottlerocket nodes, where its exporter does not start as it is.",
    "https://github.com/NVIDIA/dcgm-exporter/issues/636",
    not_alone=_NEITHER_KNOWS,
)
CHART_THERE = Rule(
    "GPU265",
    "warning",
    "Bottlerocket nodes keep their own device plugin.",
    "Its makers test the image with it, and advise against another one.",
    f"{_ISSUES}/4673",
    not_alone=_NEITHER_KNOWS,
)

_BUILT_IN = "Remove bottlerocket.devicePlugin"
_AL2023 = "use amiFamily: al2023"


@check(Scope.POOL, IDLE_BLOCK, COUPLED, NO_OPERATOR, CHART_THERE, by_manager=True)
def bottlerocket_block(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.bottlerocket is None:
        return
    at: FieldPath = ("pools", name, "bottlerocket")
    if not is_bottlerocket(pool):
        message = "The nodes of this pool do not run Bottlerocket."
        yield IDLE_BLOCK.finding(at, message, "Remove the block, or set amiFamily: bottlerocket.")
        return
    if not served_by_chart(pool):
        return
    at = (*at, "devicePlugin")
    if isinstance(pool.sharing, Mig | Mps):
        part = "MIG manager" if isinstance(pool.sharing, Mig) else "MPS daemon"
        message = f"With the built-in device plugin its {part} is switched off too."
        yield COUPLED.finding(at, message, f"{_BUILT_IN}, or {_AL2023}.")
    elif ctx.environment.gpu_stack.manager == "gpuOperator":
        message = "The GPU Operator would bring its device plugin and more to these nodes."
        fix = f"{_BUILT_IN}, or set gpuStack: {{manager: devicePlugin}}."
        yield NO_OPERATOR.finding(at, message, fix)
    else:
        message = "Bottlerocket's makers advise to leave its built-in device plugin in place."
        fix = f"{_BUILT_IN} unless the chart's plugin has something that you need."
        yield CHART_THERE.finding(at, message, fix)


@check(Scope.POOL, OLD_RELEASE, UNKNOWN_RELEASE, EARLY_MPS)
def bottlerocket_release(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if not is_bottlerocket(pool):
        return
    setting = needed_setting(pool, _types(ctx, pool), ctx.catalog)
    if setting is None:
        return
    since = facts.format_version(setting.since)
    if pool.ami_family == "custom":
        yield UNKNOWN_RELEASE.finding(
            ("pools", name, "customAmi", "id"),
            f"This pool needs {setting.name}, which Bottlerocket has since {since}.",
            f"Make the image from Bottlerocket {since} or later.",
        )
        return
    release = facts.bottlerocket_release(pool.ami_version or "")
    if release is None:  # the newest, or no release at all, which has a finding of its own
        return
    at = ("pools", name, "amiVersion")
    if release < setting.since:
        yield OLD_RELEASE.finding(
            at,
            f"Bottlerocket {facts.format_version(release)} does not know {setting.name}, which "
            f"came with {since}.",
            f"Take {facts.format_version(first_for_cluster(ctx, setting.since))} or later.",
        )
    elif isinstance(pool.sharing, Mps) and release < facts.MPS_FOR_ALL_USERS:
        shut_out = "containers" if release < facts.MPS_REACHABLE else "pods that do not run as root"
        yield EARLY_MPS.finding(
            at,
            f"Bottlerocket {facts.format_version(release)} keeps {shut_out} from the MPS daemon.",
            f"Take {facts.format_version(facts.MPS_FOR_ALL_USERS)} or later.",
        )


@check(Scope.POOL, SEVERAL_MPS_SHARES)
def bottlerocket_mps(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if served_by_chart(pool):
        return
    sharing = pool.sharing
    if isinstance(sharing, Mps) and not sharing.fail_requests_greater_than_one:
        yield SEVERAL_MPS_SHARES.finding(
            ("pools", name, "sharing", "failRequestsGreaterThanOne"),
            "Bottlerocket has no setting for it: with MPS it refuses requests for several shares.",
            f"Remove the key, use mode: timeSlicing, or {_AL2023}.",
        )


@check(Scope.POOL, NO_DRIVER, NO_METRICS, by_manager=True)
def bottlerocket_driver(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if not is_bottlerocket(pool) or ctx.environment.gpu_stack.manager != "gpuOperator":
        return
    if pool.ami_family == "custom" and pool.custom_ami and not pool.custom_ami.driver_included:
        yield NO_DRIVER.finding(
            ("pools", name, "customAmi", "driverIncluded"),
            "The GPU Operator cannot install the driver on Bottlerocket.",
            "Make the image from one of Bottlerocket's nvidia variants.",
        )
    if not served_by_chart(pool):
        yield NO_METRICS.finding(
            ("pools", name),
            "The GPU Operator is kept off these nodes, and with it its DCGM exporter and the "
            "labels of GPU feature discovery.",
            f"Nothing to change; where metrics per GPU are needed, {_AL2023}.",
        )


@check(Scope.POOL, OWN_USER_DATA)
def bottlerocket_user_data(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.provisioner != "existing" or not is_bottlerocket(pool):
        return
    if isinstance(pool.sharing, Exclusive) and not served_by_chart(pool):
        return
    try:
        settings = bottlerocket_settings(pool, _types(ctx, pool), ctx.catalog)
    except ValueError:  # a layout with findings of its own
        return
    yield OWN_USER_DATA.finding(
        ("pools", name, "provisioner"),
        "This stack does not make these nodes, so it cannot give them the settings of the pool.",
        f"Put {', '.join(_lines(settings))} below settings.kubelet-device-plugins.nvidia in their "
        "user data.",
    )


def _lines(table: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Settings as TOML has them on one line each; strings, numbers and booleans are as in JSON."""
    for key, value in table.items():
        name = above + (f'"{key}"' if "." in key else key)
        if isinstance(value, dict):
            yield from _lines(value, f"{name}.")
        else:
            yield f"{name} = {json.dumps(value)}"


def _types(ctx: Context, pool: Pool) -> list[InstanceType]:
    return [found for found, _ in ctx.gpu_types(pool)]
