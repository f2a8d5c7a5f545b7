"""Claims of devices, by dynamic resource allocation: classes, their settings, and who uses them.

Sources: https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/ and
`api/nvidia.com/resource/v1beta1` of https://github.com/NVIDIA/k8s-dra-driver-gpu (November 2026).
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.catalog.claim_driver_gates import FIRST, came_before
from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.claim_drivers import DRIVER_CHARTS, gives_gpus
from eks_gpushare.inventory.daemons import may_be_more
from eks_gpushare.inventory.device_configs import GATES, GATES_OF_KINDS, config_problems
from eks_gpushare.inventory.device_selectors import selector_problems
from eks_gpushare.inventory.edges.daemonsets import given_by_claims
from eks_gpushare.inventory.items import PART_OF_POD, DeviceClaim, Release, Workload
from eks_gpushare.inventory.nodes import gpu_nodes
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, may_be_same, pairs
from eks_gpushare.inventory.wording import at_start, if_missing, slip_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_DRA: Final = "https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/"
NO_CLASS: Final = rule_of("GPU1146")
BAD_CONFIG: Final = rule_of("GPU1147")
NO_CLAIM: Final = rule_of("GPU1148")
CLAIM_SHAPE: Final = rule_of("GPU1149")

OF_GPUS: Final = ("gpu.nvidia.com", "mig.nvidia.com")
"""Classes of GPUs, and of parts of one, that containers use."""
OF_NVIDIA: Final = (
    *(*OF_GPUS, "vfio.gpu.nvidia.com", "vgpu.gpu.nvidia.com"),
    *("compute-domain-daemon.nvidia.com", "compute-domain-default-channel.nvidia.com"),
)
"""Classes that the chart makes."""
_DOMAIN: Final = ".nvidia.com"
CLAIM_KEYS: Final = {
    "ResourceClaim": "resourceClaimName",
    "ResourceClaimTemplate": "resourceClaimTemplateName",
}
"""How a pod names a claim of a kind."""
_CLOSE: Final = 0.7


class _Asked(NamedTuple):
    """A request for devices, or one of its alternatives."""

    place: FieldPath
    """Of the name of its class."""
    device_class: Any


@edge(NO_CLASS, CLAIM_SHAPE, BAD_CONFIG)
def claims_are_served(inventory: Inventory) -> Iterator[Judgement]:
    """What claims and classes say, each by itself and with the driver's chart."""
    for cluster in inventory.clusters():
        every = inventory.of(DeviceClaim, cluster)
        charts = [
            release for release in inventory.of(Release, cluster) if release.chart in DRIVER_CHARTS
        ]
        classes = [claim.name for claim in every if claim.kind == "DeviceClass"]
        for claim in every:
            above: FieldPath = (
                ("spec",) if claim.kind != "ResourceClaimTemplate" else ("spec", "spec")
            )
            spec = claim.spec if len(above) == 1 else at(claim.spec, "spec")
            if has_unknown(spec):
                what = f"all of what {claim.source.name} says"
                yield from (NotSeen(rule, claim.source, what) for rule in (NO_CLASS, CLAIM_SHAPE))
            if claim.kind == "DeviceClass":
                yield from _configs(claim, ("spec", "config"), at(spec, "config"), charts)
                continue
            place = (*above, "devices")
            devices = at(spec, "devices")
            yield from _depth(claim)
            for found in selector_problems(devices):
                title, where = at_start(claim.source.name), (*place, *found.place)
                message = f"{title} {found.message}"
                yield Problem(CLAIM_SHAPE, claim.source, where, message, found.fix)
            yield from _shape(claim, place, devices)
            for asked in _asked(place, devices):
                yield from _class(inventory, claim, asked, classes)
                if asked.device_class in OF_GPUS and charts:
                    yield from _gives_none(claim, asked, charts)
                elif asked.device_class in OF_GPUS:
                    yield from _without_driver(inventory, claim, asked, cluster)
            yield from _configs(claim, (*place, "config"), at(devices, "config"), charts)


def _asked(place: FieldPath, devices: Any) -> Iterator[_Asked]:
    for number, request in enumerate(items(at(devices, "requests"))):
        where = (*place, "requests", number)
        for key in ((), ("exactly",)):
            if (found := at(request, *key, "deviceClassName")) is not None:
                yield _Asked((*where, *key, "deviceClassName"), found)
        for index, one in enumerate(items(at(request, "firstAvailable"))):
            if (found := at(one, "deviceClassName")) is not None:
                yield _Asked((*where, "firstAvailable", index, "deviceClassName"), found)


def _class(
    inventory: Inventory, claim: DeviceClaim, asked: _Asked, classes: Sequence[Any]
) -> Iterator[Problem]:
    name = asked.device_class
    if name is UNKNOWN or UNKNOWN in classes or name in classes or name in OF_NVIDIA:
        return
    if not isinstance(name, str):
        return
    of_others = "." in name and not get_close_matches(
        name.partition(".")[2], [_DOMAIN.removeprefix(".")], cutoff=_CLOSE
    )
    meant = classes if of_others else [*OF_NVIDIA, *classes]
    near = get_close_matches(name, meant, cutoff=_CLOSE)
    of_nvidia, slip = name.endswith(_DOMAIN), slip_for(name, classes)
    listed = ", ".join(sorted(classes)) or "none"
    yield Problem(
        NO_CLASS,
        claim.source,
        asked.place,
        f"{at_start(claim.source.name)} asks for the device class {name}, which NVIDIA's driver "
        "does not make."
        if of_nvidia
        else f"{at_start(claim.source.name)} asks for the device class {name}; of one's own there "
        f"are {listed}.",
        f"Write {slip or near[0]}, if that was meant."
        if slip or near
        else "Install the driver that makes it."
        if of_others
        else f"Make it, or use one of {', '.join(OF_GPUS)}.",
        None if of_nvidia else if_missing(inventory) and ("warning" if slip else "info"),
    )


def _gives_none(claim: DeviceClaim, asked: _Asked, charts: Sequence[Release]) -> Iterator[Problem]:
    """A claim of GPUs where every driver here is for compute domains alone."""
    if any(release.values is UNKNOWN or gives_gpus(release) for release in charts):
        return
    told = at(charts[0].values, "gpuResourcesEnabledOverride")
    gpus = at(charts[0].values, "resources", "gpus", "enabled")
    if UNKNOWN in (told, gpus):
        return
    yield Problem(
        NO_CLASS,
        claim.source,
        asked.place,
        f"{at_start(claim.source.name)} asks for the device class {asked.device_class}, and "
        f"{charts[0].source.name} gives out no GPUs.",
        "Set `resources.gpus.enabled` and `gpuResourcesEnabledOverride` of the driver to true.",
        "warning",
    )


def _without_driver(
    inventory: Inventory, claim: DeviceClaim, asked: _Asked, cluster: str
) -> Iterator[Problem]:
    """A claim of GPUs without a driver, beside nodes that are declared; others may have one."""
    if not inventory.complete or all(
        kind.nodes.provisioner == "byHand" for kind in gpu_nodes(inventory, cluster)
    ):
        return
    if given_by_claims(inventory, cluster) or may_be_more(inventory, cluster):
        return
    yield Problem(
        NO_CLASS,
        claim.source,
        asked.place,
        f"{at_start(claim.source.name)} asks for the device class {asked.device_class}, and "
        "nothing installs NVIDIA's driver for such claims.",
        f"Install the chart {DRIVER_CHARTS[1]}, or ask for nvidia.com/gpu under resources.limits.",
    )


def _depth(claim: DeviceClaim) -> Iterator[Problem]:
    """What is a level too high or too low: a template has a spec in its spec, a claim has none."""
    of_template = claim.kind == "ResourceClaimTemplate"
    if not pairs(at(claim.spec, *(("devices",) if of_template else ("spec", "devices")))):
        return
    yield Problem(
        CLAIM_SHAPE,
        claim.source,
        ("spec",),
        f"{at_start(claim.source.name)} has its devices in "
        f"{'spec; of a template they are in spec.spec' if of_template else 'spec.spec'}.",
        f"Write them below {'spec.spec' if of_template else 'spec'}.devices.",
    )


def _shape(claim: DeviceClaim, place: FieldPath, devices: Any) -> Iterator[Problem]:
    """What the API server refuses of requests, by the version of the claim."""
    title = at_start(claim.source.name)
    old = claim.version == "v1beta1"
    if has_unknown(at(devices, "requests")):
        return
    for number, request in enumerate(items(at(devices, "requests"))):
        if not isinstance(request, dict):
            continue
        where = (*place, "requests", number)
        if claim.version in {"v1", "v1beta2"} and "deviceClassName" in request:
            yield Problem(
                CLAIM_SHAPE,
                claim.source,
                (*where, "deviceClassName"),
                f"{title} has deviceClassName in a request itself, as v1beta1 had it.",
                f"Write it below exactly: of resource.k8s.io/{claim.version}.",
            )
        elif old and "exactly" in request:
            yield Problem(
                CLAIM_SHAPE,
                claim.source,
                (*where, "exactly"),
                f"{title} is of v1beta1, which has no exactly.",
                "Write apiVersion: resource.k8s.io/v1, or what is below exactly beside name.",
            )
    names = list(_names(devices))
    for part in ("config", "constraints"):
        for number, each in enumerate(items(at(devices, part))):
            for index, name in enumerate(items(at(each, "requests"))):
                if isinstance(name, str) and name not in names:
                    yield Problem(
                        CLAIM_SHAPE,
                        claim.source,
                        (*place, part, number, "requests", index),
                        f"{title} has {part} for the request {name}, which it does not make.",
                        f"Name one of {', '.join(names) or 'its requests'}.",
                    )


def _names(devices: Any) -> Iterator[str]:
    """What parts of a claim may call its requests."""
    for item in items(at(devices, "requests")):
        if isinstance(name := at(item, "name"), str):
            yield name
            below = (at(one, "name") for one in items(at(item, "firstAvailable")))
            yield from (f"{name}/{one}" for one in below if isinstance(one, str))


def _configs(
    claim: DeviceClaim, place: FieldPath, configs: Any, charts: Sequence[Release]
) -> Iterator[Judgement]:
    title = at_start(claim.source.name)
    if has_unknown(configs):
        what = f"the settings of {claim.source.name}"
        yield NotSeen(BAD_CONFIG, claim.source, what)
    for number, config in enumerate(items(configs)):
        opaque = at(config, "opaque")
        where = (*place, number, "opaque")
        for found in config_problems(at(opaque, "driver"), at(opaque, "parameters")):
            path = (*where, *found.place)
            yield Problem(BAD_CONFIG, claim.source, path, f"{title}: {found.message}", found.fix)
        for gate, what, path in _gated(at(opaque, "parameters")):
            yield from _without_gate(claim, charts, gate, what, (*where, "parameters", *path))


def _gated(parameters: Any) -> Iterator[tuple[str, str, FieldPath]]:
    """Gates of the driver that settings need, with what needs them and where it stands."""
    kind, strategy = at(parameters, "kind"), at(parameters, "sharing", "strategy")
    if isinstance(strategy, str) and strategy in GATES:
        yield GATES[strategy], f"the strategy {strategy}", ("sharing", "strategy")
    if isinstance(kind, str) and kind in GATES_OF_KINDS:
        yield GATES_OF_KINDS[kind], f"a {kind}", ("kind",)


def _without_gate(
    claim: DeviceClaim, charts: Sequence[Release], gate: str, what: str, place: FieldPath
) -> Iterator[Judgement]:
    for chart in charts:
        on = _is_on(chart, gate)
        if on is None:
            unseen = f"the feature gates of {chart.source.name}"
            yield NotSeen(BAD_CONFIG, chart.source, unseen)
        elif not on:
            yield Problem(
                BAD_CONFIG,
                claim.source,
                place,
                f"{at_start(claim.source.name)} has {what}, and {chart.source.name} does not "
                f"switch on {gate}, which is off by default.",
                f"Set `featureGates.{gate}: true` of the chart.",
            )


def _is_on(chart: Release, gate: str) -> bool | None:
    if came_before(chart.version, FIRST):
        return True
    if chart.version is UNKNOWN:
        return None
    given = [at(chart.values, "featureGates", each) for each in (gate, "AllAlpha")]
    return None if UNKNOWN in given else any(value is True or value == "true" for value in given)


@edge(NO_CLAIM, CLAIM_SHAPE)
def pods_have_their_claims(inventory: Inventory) -> Iterator[Judgement]:
    """Those that they list, and those that their containers use."""
    for cluster in inventory.clusters():
        every = [
            claim for claim in inventory.of(DeviceClaim, cluster) if claim.kind != "DeviceClass"
        ]
        for workload in inventory.of(Workload, cluster):
            listed = at(workload.spec, "resourceClaims")
            if listed is not None and workload.kind != PART_OF_POD and has_unknown(workload.spec):
                what = f"the claims of {workload.source.name}"
                yield NotSeen(NO_CLAIM, workload.source, what)
            yield from _of_containers(workload, listed)
            for number, claim in enumerate(items(listed)):
                where = (*workload.spec_path, "resourceClaims", number)
                if at(claim, "source") not in (None, UNKNOWN):
                    yield _under_source(workload, (*where, "source"))
                for kind, key in CLAIM_KEYS.items():
                    place = (*where, key)
                    yield from _named(inventory, workload, every, at(claim, key), kind, place)


def _under_source(workload: Workload, place: FieldPath) -> Problem:
    # https://github.com/kubernetes/kubernetes/pull/125116, read 2026-11-28
    return Problem(
        CLAIM_SHAPE,
        workload.source,
        place,
        f"{at_start(workload.source.name)} names its claim under `source`, which Kubernetes has "
        "no more since 1.31: the pod is refused, for it names none.",
        "Write resourceClaimName or resourceClaimTemplateName beside the name.",
    )


def _named(
    inventory: Inventory,
    workload: Workload,
    every: Sequence[DeviceClaim],
    name: Any,
    kind: str,
    place: FieldPath,
) -> Iterator[Problem]:
    if not isinstance(name, str):
        return
    within = [claim for claim in every if _may_share(claim, workload)]
    if any(claim.kind == kind and claim.name in (name, UNKNOWN) for claim in within):
        return
    title = at_start(workload.source.name)
    severity = if_missing(inventory)
    but, fix = "is not there", f"Make it, in the namespace of {workload.source.name}."
    of_kind = [claim for claim in every if claim.kind == kind]
    if spaces := dict.fromkeys(str(claim.namespace) for claim in of_kind if claim.name == name):
        but = f"is in the namespace {', '.join(spaces)}"
        fix, severity = "Put both into one namespace.", None
    elif any(claim.name == name for claim in within):  # of the other kind
        other = next(key for key in CLAIM_KEYS if key != kind)
        but, fix, severity = f"is a {other}", f"Write {CLAIM_KEYS[other]}.", None
    else:
        known = [claim.name for claim in of_kind if isinstance(claim.name, str)]
        if near := get_close_matches(name, known, cutoff=_CLOSE):
            fix = f"Write {near[0]}, if that was meant."
    message = f"{title} uses the {kind} {name}, which {but}."
    yield Problem(NO_CLAIM, workload.source, place, message, fix, severity)


def _may_share(claim: DeviceClaim, workload: Workload) -> bool:
    """Whether they may be in one namespace."""
    return may_be_same(claim.namespace, workload.namespace)


def _of_containers(workload: Workload, listed: Any) -> Iterator[Problem]:
    names = [at(item, "name") for item in items(listed)]
    if listed is UNKNOWN or UNKNOWN in names or workload.kind == PART_OF_POD:
        return
    for where, container in containers(workload.spec):
        for number, claim in enumerate(items(at(container, "resources", "claims"))):
            name = at(claim, "name")
            if isinstance(name, str) and name not in names:
                have = ", ".join(map(str, names)) or "none"
                yield Problem(
                    NO_CLAIM,
                    workload.source,
                    (*workload.spec_path, *where, "resources", "claims", number, "name"),
                    f"A container of {workload.source.name} uses the claim {name}; its pod lists "
                    f"{have}.",
                    "List it under resourceClaims of the pod, by this name.",
                )
