"""The page on what goes with what: the catalog and `check` are asked about each combination."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import finding_examples

from eks_gpushare.catalog import Catalog, ami_release, eks_versions, nvidia_ami, why_no_mig
from eks_gpushare.catalog import versions as pins
from eks_gpushare.catalog.karpenter_releases import SINCE_KUBERNETES
from eks_gpushare.catalog.versions import cluster_autoscaler_tag
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.findings.pages import SITE, page_of
from eks_gpushare.rules import check_environment
from eks_gpushare.validation.parse import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FAMILIES = ("al2023", "bottlerocket")
MANAGERS = ("devicePlugin", "gpuOperator")
WAYS: dict[str, dict[str, Any]] = {
    "exclusive": {"mode": "exclusive"},
    "timeSlicing": {"mode": "timeSlicing", "replicas": 4},
    "mps": {"mode": "mps", "replicas": 4},
    "mig, apply: boot": {"mode": "mig", "layout": "all-1g.10gb"},
    "mig, apply: migManager": {"mode": "mig", "layout": "all-1g.10gb", "apply": "migManager"},
    "mig with timeSlicing": {
        "mode": "mig",
        "layout": "all-1g.10gb",
        "timeSlicing": {"replicas": 2},
    },
}
"""Every mode, and what of it is made differently."""
_MADE_BY: dict[str, dict[str, Any]] = {
    "managedNodeGroup": {},
    "Cluster Autoscaler": {"scaledBy": "autoscaler", "nodes": {"min": 0, "desired": 0, "max": 4}},
    "karpenter": {"provisioner": "karpenter", "nodes": {"max": 4}},
    "existing": {"provisioner": "existing"},
}
_TYPE = "p5.48xlarge"
"""It has every mode."""

_HEAD = """\
# What goes with what

Which Kubernetes versions, images, charts and ways of sharing go together in this release. The
tables are made from the catalog, and the ones with modes by asking `eks-gpushare check` about each
combination, so that they say what it says. For EKS itself AWS is the authority:
`aws eks describe-cluster-versions` and `aws eks describe-addon-versions`.
"""


def page() -> str:
    """The page as text."""
    parts = [_HEAD, *_kubernetes(), *_modes(), *_provisioners(), *_gpus(), *_charts()]
    return "\n".join(parts)


def _kubernetes() -> Iterator[str]:
    yield "## Kubernetes versions\n"
    rows = []
    for version, known in eks_versions().items():
        releases = [ami_release(family, version) for family in FAMILIES]
        rows.append(
            [
                version,
                str(known.standard_until or "unknown"),
                str(known.extended_until or "unknown"),
                *(each or "not known" for each in releases),
                SINCE_KUBERNETES.get(version, "not known"),
                cluster_autoscaler_tag(version) or "not known",
            ]
        )
    heads = (
        *("version", "standard support until", "extended support until"),
        *("AL2023 image", "Bottlerocket image", "Karpenter from", "Cluster Autoscaler"),
    )
    yield _table(heads, rows)
    yield (
        "The image is the newest release that this package knows; a pool without `amiVersion`\n"
        f"gets the one that EKS has. Karpenter is installed as {pins.KARPENTER.version} unless\n"
        "the stack says otherwise.\n"
    )


def _modes() -> Iterator[str]:
    yield "## Modes, images and managers\n"
    yield f"Of a {_TYPE}, which has every mode. A code says why not.\n"
    columns = list(product(FAMILIES, MANAGERS))
    rows = [
        [f"`{way}`", *(verdict({"amiFamily": f, "sharing": s}, manager=m) for f, m in columns)]
        for way, s in WAYS.items()
    ]
    drivers = {f: ami.driver for f in FAMILIES if (ami := nvidia_ami(f, "amd64")) is not None}
    heads = ["mode", *(f"{family}, {manager}" for family, manager in columns)]
    yield _table(heads, rows)
    listed = ", ".join(f"{family} {driver}" for family, driver in drivers.items())
    yield f"Branches of the NVIDIA driver on these images: {listed}.\n"


def _provisioners() -> Iterator[str]:
    yield "## Modes, and who makes the nodes\n"
    rows = []
    for way, sharing in WAYS.items():
        manager = "gpuOperator" if sharing.get("apply") == "migManager" else "devicePlugin"
        rows.append(
            [
                f"`{way}`",
                *(
                    verdict({"sharing": sharing, **made}, manager=manager, scaled=by)
                    for by, made in _MADE_BY.items()
                ),
            ]
        )
    yield _table(
        ["mode", *(f"`{by}`" if by != "Cluster Autoscaler" else by for by in _MADE_BY)], rows
    )
    yield (
        "On AL2023, with the device plugin's chart, and with the GPU Operator where MIG manager\n"
        "applies a layout. "
        "EKS Auto Mode has a device plugin of its own that can share nothing.\n"
    )


def _gpus() -> Iterator[str]:
    yield "## GPUs\n"
    types: dict[str, list[Any]] = {}
    for each in Catalog().gpu_types().values():
        types.setdefault(each.family, []).append(each)
    rows = []
    for family, of_family in types.items():
        first = of_family[0]
        gpu = first.gpu
        major, minor = gpu.compute_capability
        images = [f for f in FAMILIES if _serves(f, first)]
        rows.append(
            [
                f"`{family}`" + (" (retired)" if all(each.retired for each in of_family) else ""),
                gpu.model,
                "unknown" if gpu.memory_mib is None else str(gpu.memory_mib),
                f"{major}.{minor}",
                "yes" if why_no_mig(first) is None else "no",
                first.arch,
                ", ".join(images) or "none",
            ]
        )
    heads = ("family", "GPU", "MiB of one", "compute capability", "MIG", "arch", "images")
    yield _table(heads, rows)


def _serves(family: str, instance: Any) -> bool:
    ami, newest = nvidia_ami(family, instance.arch), list(eks_versions())[-1]
    return ami is not None and ami.why_not(instance, ami_release(family, newest)) is None


def _charts() -> Iterator[str]:
    yield "## Charts\n"
    charts = (
        *(pins.DEVICE_PLUGIN, pins.GPU_OPERATOR, pins.EFA_DEVICE_PLUGIN),
        *(pins.KARPENTER, pins.CLUSTER_AUTOSCALER, pins.KEDA, pins.KUEUE),
    )
    rows = [[f"`{chart.name}`", chart.version, chart.source] for chart in charts]
    yield _table(("chart", "version of this release", "seen in"), rows)
    yield (
        "`charts.<name>.version` takes another one; `check` then says what it knows of it\n"
        "([findings on charts](findings/charts.md)).\n"
    )


def verdict(pool: dict[str, Any], *, manager: str, scaled: str = "") -> str:
    """`yes`, or the codes of the errors of a stack with such a pool.

    Args:
        pool: What the pool has besides its type.
        manager: Who runs the device plugin.
        scaled: Who makes its nodes, where that needs a part of its own.
    """
    given = merge_values(
        finding_examples.base(),
        {
            "gpuStack": {"manager": manager},
            "pools": {"gpu": None, "shared": {"instanceTypes": [_TYPE], **pool}},
        },
    )
    if scaled == "karpenter":
        given["karpenter"] = {}
    if scaled == "Cluster Autoscaler":
        given["clusterAutoscaler"] = {}
    parsed = parse(given)
    found = list(parsed.findings)
    if parsed.environment is not None:
        found += check_environment(
            parsed.environment, region=finding_examples.REGION, today=finding_examples.TODAY
        )
    errors = dict.fromkeys(each.code for each in found if each.severity == "error")
    pages = [page_of(code).removeprefix(f"{SITE}/").replace(".html", ".md") for code in errors]
    links = [f"[{code}]({at})" for code, at in zip(errors, pages, strict=True)]
    return f"no: {', '.join(links)}" if links else "yes"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
