"""What a NodePool says and does not do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog import gpu_instance_types
from eks_gpushare.facts.index import rule_of
from eks_gpushare.facts.karpenter_pools import (
    NODES,
    OF_TYPES,
    Misplaced,
    has_limit,
    is_idle_limit,
    misplaced,
)
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.type_labels import PREFIXES
from eks_gpushare.inventory.values import PartlyKnown, at, has_unknown
from eks_gpushare.manifests.instance_choice import (
    TYPE_KEYS,
    chosen_types,
    label_meant,
    names_families,
)
from eks_gpushare.manifests.plain import items, mapping, text
from eks_gpushare.manifests.rules.gpu_names import meant_resource
from eks_gpushare.sharing.efa import EFA
from eks_gpushare.sharing.labels import CONFIG_LABEL, OWNED_PREFIXES, PRESENT_LABEL
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Source


UNSET_LABEL = rule_of("GPU1054")
LATE_LABEL = rule_of("GPU1055")
IDLE_LIMIT = rule_of("GPU1057")
STARTUP_TAINT = rule_of("GPU1058")
AUTO_MODE = rule_of("GPU1059")

NO_LIMIT = rule_of("GPU1078")
BUSY_CONSOLIDATION = rule_of("GPU1079")

ANY_TYPE = rule_of("GPU1084")
NO_TYPE = rule_of("GPU1085")

OTHER_WORD = rule_of("GPU1264")
_WORDS: Final = {
    "karpenter.sh/capacity-type": ("on-demand", "spot", "reserved"),
    "kubernetes.io/arch": ("amd64", "arm64"),
    "kubernetes.io/os": ("linux", "windows"),
    "karpenter.k8s.aws/instance-gpu-manufacturer": ("nvidia", "amd", "habana"),
}
_GPU_NAME: Final = "karpenter.k8s.aws/instance-gpu-name"
_GPU_MEMORY: Final = "karpenter.k8s.aws/instance-gpu-memory"
_QUANTITY: Final = re.compile(r"([0-9]{1,4})\s?(?:G|Gi|GB|GiB)")
_LEAST_MIB: Final = 1000
"""Below it a number is one of GiB: no GPU has so few MiB."""
AUTO_MODE_GROUP: Final = "eks.amazonaws.com"
_OF_AWS: Final = ("karpenter.k8s.aws", AUTO_MODE_GROUP)
MIG_CONFIG: Final = "nvidia.com/mig.config"
INPUT_LABELS: Final = (
    *(CONFIG_LABEL, PRESENT_LABEL, MIG_CONFIG),
    *("nvidia.com/gpu.deploy.", "nvidia.com/gpu.workload.config", "nvidia.com/vgpu.config"),
    "nvidia.com/mps.capable",
)
"""Labels of NVIDIA's that people set, and charts read; or how they begin."""
_RESOURCE_LIKE = ("nvidia.com/gpu", "nvidia.com/gpu.shared")
_MISPLACED = {
    Misplaced.STAYS: (
        "{key} is a taint of the pool too, which stays.",
        "Remove it from one of the two, or use another key.",
    ),
    Misplaced.AGAIN: ("{key} with {effect} stands twice.", "Remove one of the two."),
    Misplaced.GOES: (
        (
            "{key} goes when its agent runs, and Karpenter takes it for one that stays: it "
            "launches no node for pods that do not tolerate it."
        ),
        "Move it to startupTaints.",
    ),
}
_INSTEAD = (
    "Require karpenter.k8s.aws/instance-gpu-manufacturer In [nvidia], or name types by "
    "node.kubernetes.io/instance-type."
)


def pool_rules(
    source: Source, spec: Any, template: FieldPath, own_labels: Mapping[str, Any]
) -> Iterator[Judgement]:
    """What is wrong with what a NodePool, or an older kind of it, means.

    Args:
        source: The object.
        spec: Its `spec`.
        template: Where requirements and taints stand below `spec`.
        own_labels: Labels that it gives its nodes.
    """
    requirements = at(spec, *template, "requirements")
    group = at(spec, *template, "nodeClassRef", "group")
    for index, requirement in enumerate(items(requirements)):
        place = ("spec", *template, "requirements", index)
        yield from _requirement(source, place, requirement, items(requirements), own_labels)
        yield from _of_class(source, place, at(requirement, "key"), group)
    if group is None or group is UNKNOWN or str(group).endswith(_OF_AWS):  # others choose otherwise
        yield from _types(source, requirements, ("spec", *template, "requirements"), own_labels)
    yield from _limits(source, spec, requirements)
    yield from _startup_taints(source, spec, template)
    if group == AUTO_MODE_GROUP:
        yield from _auto_mode(source, spec)


def _types(
    source: Source, requirements: Any, place: FieldPath, own_labels: Mapping[str, Any]
) -> Iterator[Judgement]:
    known = items(requirements)
    if requirements is UNKNOWN or UNKNOWN in known:
        return
    keys = [at(requirement, "key") for requirement in known]
    marks = [key for key in (PRESENT_LABEL, CONFIG_LABEL, MIG_CONFIG) if key in own_labels]
    listed = [
        name
        for requirement in known
        if _names_types(requirement)
        for name in items(at(requirement, "values"))
    ]
    yield from _words(source, known, place)
    if not listed and chosen_types(requirements) == () and names_families(known):
        yield Problem(
            NO_TYPE,
            source,
            place,
            "No instance type with a GPU fulfils all requirements.",
            "Take out the one that none fulfils, such as a number of CPUs or a size.",
        )
    elif listed and chosen_types(requirements) == ():
        yield Problem(
            NO_TYPE,
            source,
            place,
            f"The requirements name {', '.join(map(str, listed))}, and leave none of them.",
            "Take out the requirement that they do not fulfil, such as kubernetes.io/arch, or name "
            "other types.",
        )
    # Labels that no type has are said by themselves.
    elif marks and not any(
        chooses_gpu_types(requirement)
        or (isinstance(key, str) and resource_name(key))
        or key is UNKNOWN
        for requirement, key in zip(known, keys, strict=True)
    ):
        yield Problem(
            ANY_TYPE,
            source,
            place,
            f"The pool gives its nodes the label {marks[0]}, and no requirement chooses instance "
            "types: Karpenter may launch ones without a GPU.",
            _INSTEAD,
        )


def _words(source: Source, requirements: Sequence[Any], place: FieldPath) -> Iterator[Judgement]:
    names = {
        gpu.model.lower().replace(" ", "-")
        for each in gpu_instance_types().values()
        if (gpu := each.gpu) is not None
    }
    for index, each in enumerate(requirements):
        key, operator, values = (at(each, part) for part in ("key", "operator", "values"))
        for number, value in enumerate(items(values)):
            meant = _meant(key, operator, value, names)
            if meant:
                yield Problem(
                    OTHER_WORD,
                    source,
                    (*place, index, "values", number),
                    f"{key} is never {value}.",
                    f"Write {meant}.",
                )


def _meant(key: Any, operator: Any, value: Any, names: Collection[str]) -> str:
    """What is meant by a value that no node has; no text where it may have it."""
    given = str(value)
    if not isinstance(key, str):
        return ""
    if key in _WORDS and operator == "In" and isinstance(value, str):
        return "" if given in _WORDS[key] else f"one of {', '.join(_WORDS[key])}"
    if key == _GPU_NAME and operator == "In" and isinstance(value, str):
        plain = given.lower().removeprefix("nvidia-").removeprefix("tesla-")
        return plain if plain in names and given != plain else ""
    quantity = _QUANTITY.fullmatch(given)
    if key == _GPU_MEMORY and quantity:
        return f"{int(quantity[1]) * 1024}: the memory of a GPU is told in MiB"
    if (
        key == _GPU_MEMORY
        and (given.isascii() and given.isdecimal())
        and 0 < int(given) < _LEAST_MIB
    ):
        return f"{int(given) * 1024}: the memory of a GPU is told in MiB"
    return ""


def _names_types(requirement: Any) -> bool:
    return at(requirement, "key") in TYPE_KEYS and at(requirement, "operator") == "In"


def _requirement(
    source: Source,
    place: FieldPath,
    given: Any,
    beside: list[Any],
    own_labels: Mapping[str, Any],
) -> Iterator[Judgement]:
    key, operator = at(given, "key"), at(given, "operator")
    if not isinstance(key, str) or operator not in ("Exists", "In", "Gt", "Lt", "Gte", "Lte"):
        return
    if resource_name(key):
        if any(chooses_gpu_types(requirement) for requirement in beside) and operator == "In":
            return  # which labels the nodes, as requirements with a value do
        sets = " The pool's own label of that name is a label of nodes, not of types."
        yield Problem(
            UNSET_LABEL,
            source,
            (*place, "key"),
            f"The requirement {key} {operator} chooses no instance type: no type has such a label."
            f"{sets if key in own_labels else ''}",
            _INSTEAD,
        )
    elif key.startswith(OWNED_PREFIXES) and not key.startswith(INPUT_LABELS):
        yield Problem(
            LATE_LABEL,
            source,
            (*place, "key"),
            f"{key} is set by feature discovery on a node that runs; Karpenter knows no type by "
            "it.",
            f"{_INSTEAD} Of a product, karpenter.k8s.aws/instance-gpu-name In [a10g] says the "
            "same.",
        )
    elif meant := label_meant(key):
        yield Problem(
            UNSET_LABEL,
            source,
            (*place, "key"),
            f"The requirement {key} {operator} chooses no instance type: no type has such a label.",
            f"Write {meant}.",
        )


def _of_class(source: Source, place: FieldPath, key: Any, group: Any) -> Iterator[Judgement]:
    """Labels of types begin with the group of their class.

    https://docs.aws.amazon.com/eks/latest/userguide/create-node-pool.html (2026-11-28)
    """
    own = next((prefix for prefix in PREFIXES if prefix.startswith(f"{group}/")), None)
    given = next((prefix for prefix in PREFIXES if str(key).startswith(prefix)), own)
    if own is not None and given != own:
        yield Problem(
            UNSET_LABEL,
            source,
            (*place, "key"),
            f"The requirement {key} chooses no instance type: types of a node class of {group} "
            f"have labels that begin with {own}.",
            f"Write {own}{str(key).removeprefix(str(given))}, or name a node class of "
            f"{str(given).partition('/')[0]}: EKS Auto Mode has NodeClass, Karpenter EC2NodeClass.",
        )


def resource_name(key: str) -> bool:
    """Whether a label's key is really the name of an extended resource of NVIDIA's plugin."""
    return key in _RESOURCE_LIKE or key.startswith("nvidia.com/mig-")


def chooses_gpu_types(requirement: Any) -> bool:
    """Whether a requirement can keep types without a GPU away."""
    key = at(requirement, "key")
    return isinstance(key, str) and (key.startswith(PREFIXES) or key in TYPE_KEYS)


def _limits(source: Source, spec: Any, requirements: Any) -> Iterator[Judgement]:
    limits = at(spec, "limits")
    inner = at(limits, "resources")
    place: FieldPath = ("spec", "limits")
    if isinstance(inner, dict):
        place = (*place, "resources")
        limits = inner
    static, had = at(spec, "replicas") is not None, _devices(requirements)
    for resource in mapping(limits):
        of_types = None if resource not in OF_TYPES else had
        meant = meant_resource(resource)
        is_idle = meant is not None or is_idle_limit(resource, of_types, static=static)
        if resource == "resources" or not is_idle:
            continue
        if resource == NODES:
            yield Problem(
                IDLE_LIMIT,
                source,
                (*place, resource),
                "nodes is heeded in a pool without replicas between the rounds of Karpenter alone, "
                "and before 1.11 not at all: pods that wait at once may bring more.",
                "Limit what every node has, such as cpu, or the shares that an overlay names.",
            )
        else:
            fix = meant or {"gpu": GPU, "gpus": GPU}.get(resource.lower())
            yield Problem(
                IDLE_LIMIT,
                source,
                (*place, resource),
                f"{resource} is no resource of these nodes, so it limits nothing.",
                f"Write {fix}." if fix else "Limit cpu, memory or nvidia.com/gpu.",
            )


def _devices(requirements: Any) -> Collection[str] | None:
    """What of OF_TYPES the types of a pool have; None where not all of the types are known."""
    names = chosen_types(requirements)
    types = [gpu_instance_types().get(name) for name in names] if isinstance(names, tuple) else []
    if not types or None in types:
        return None
    efa = any(instance_type.efa_interfaces for instance_type in types if instance_type)
    return (GPU, EFA) if efa else (GPU,)


def _startup_taints(source: Source, spec: Any, template: FieldPath) -> Iterator[Judgement]:
    startup, taints = (
        [_pair(taint) for taint in items(at(spec, *template, key))]
        for key in ("startupTaints", "taints")
    )
    for field, index, where in misplaced(startup, taints):
        key, effect = (taints if field == "taints" else startup)[index]
        told = where is not Misplaced.GOES or not has_unknown(at(spec, *template, "startupTaints"))
        if not key or UNKNOWN in (key, effect) or not told:
            continue
        message, fix = _MISPLACED[where]
        place = ("spec", *template, field, index)
        yield Problem(STARTUP_TAINT, source, place, message.format(key=key, effect=effect), fix)


def _pair(taint: Any) -> tuple[Any, Any]:
    return text(at(taint, "key")), text(at(taint, "effect"))


def gpu_pool_rules(source: Source, spec: Any) -> Iterator[Judgement]:
    """What is wrong with a NodePool of types that all have GPUs."""
    limits = at(spec, "limits")
    is_known = limits is not UNKNOWN and not isinstance(limits, PartlyKnown)
    if at(spec, "replicas") is None and is_known and not has_limit(_values(limits)):
        message = "Nothing limits how many GPU nodes Karpenter launches for this pool."
        fix = "Add limits, such as nvidia.com/gpu or cpu."
        yield Problem(NO_LIMIT, source, ("spec",), message, fix)


def _values(limits: Any) -> list[Any]:
    return list(mapping(limits).values())


def _auto_mode(source: Source, spec: Any) -> Iterator[Judgement]:
    given = mapping(at(spec, "template", "metadata", "labels"))
    for key in (CONFIG_LABEL, MIG_CONFIG):
        if key in given and given[key] != "all-disabled":
            yield Problem(
                AUTO_MODE,
                source,
                ("spec", "template", "metadata", "labels", key),
                f"{key} asks for a way of sharing, and the nodes are of EKS Auto Mode, which has "
                "none.",
                "Take a managed node group or Karpenter of your own for shared GPUs.",
            )
