"""Which GPU types the requirements of a NodePool, or an eksctl selector, leave to choose from."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import gpu_instance_types
from eks_gpushare.inventory.matching import meets_expression
from eks_gpushare.inventory.source import UNKNOWN, Unknown
from eks_gpushare.inventory.type_labels import PREFIXES, facts_of
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.plain import items, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.inventory.source import Maybe

TYPE_KEYS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
"""Labels whose value is the name of an instance type."""
GPU_KEYS = ("gpu-name", "gpu-manufacturer", "gpu-count", "gpu-memory")
"""What follows a prefix of labels that types with GPUs have."""
OF_TYPES = (
    *("category", "family", "generation", "size", "hypervisor", "tenancy", "local-nvme"),
    *("cpu", "cpu-manufacturer", "cpu-sustained-clock-speed-mhz", "memory", "capability-flex"),
    *("ebs-bandwidth", "network-bandwidth", "encryption-in-transit-supported"),
    *GPU_KEYS,
    *("accelerator-name", "accelerator-manufacturer", "accelerator-count"),
)
"""What follows the prefix of labels by which types are chosen: `WellKnownLabels` of
`pkg/apis/v1/labels.go` of aws/karpenter-provider-aws. Later releases may add to them, so that only
what is close to one of these is misspelt."""
_GPU_CATEGORIES = frozenset({"g", "gr", "p"})
_COMPARING = ("Gt", "Gte", "Lt", "Lte")


def chosen_types(requirements: Any) -> Maybe[tuple[str, ...]]:
    """The types that requirements are about; empty where they do not ask for GPUs.

    Types that requirements name by `In` are taken whatever they are. Where they speak of families,
    categories or GPUs, it is the GPU types of the catalog that they leave.
    """
    if requirements is UNKNOWN:
        return Unknown.UNKNOWN
    known = items(requirements)
    if UNKNOWN in known:
        return Unknown.UNKNOWN
    named = [requirement for requirement in known if at(requirement, "key") in TYPE_KEYS]
    for requirement in named:
        if at(requirement, "operator") == "In":
            values = at(requirement, "values")
            if values is UNKNOWN or UNKNOWN in items(values):
                return Unknown.UNKNOWN
            given = tuple(str(text(value)) for value in items(values))
            return tuple(name for name in given if _allowed(name, known))
    return tuple(_left(known)) if any(map(_asks_for_gpus, known)) else ()


def leaves_gpus(requirements: Any) -> bool:
    """Whether requirements that do not ask for GPUs leave types with them all the same."""
    return requirements is not UNKNOWN and any(_left(items(requirements)))


def _left(requirements: Sequence[Any]) -> Iterator[str]:
    """The GPU types of the catalog that requirements leave."""
    for name, found in gpu_instance_types().items():
        if not found.retired and _allowed(name, requirements):
            yield name


def _asks_for_gpus(requirement: Any) -> bool:
    """Whether a requirement leaves none, or hardly any, but GPU types."""
    key, how = at(requirement, "key"), at(requirement, "operator")
    if not isinstance(key, str) or not key.startswith(PREFIXES):
        return False
    word = key.partition("instance-")[2]
    if word in GPU_KEYS:
        return how in ("In", "Exists", "Gt", "Gte")
    values = {str(value) for value in items(at(requirement, "values")) if value is not UNKNOWN}
    if how != "In" or not values:
        return False
    if word == "category":
        return values <= _GPU_CATEGORIES
    families = {name.partition(".")[0] for name in gpu_instance_types()}
    return word == "family" and values <= families


_AHEAD = re.compile(r"[gp][0-9]{2}")
"""How a family begins that is generations ahead of all that there are: a 6 typed twice."""
_WITHOUT = re.compile(r"(?:[acdhimrtuxz]|hpc|i[ms])[0-9]")
"""How families begin of which none has a GPU."""


def names_families(requirements: Sequence[Any]) -> bool:
    """Whether they ask for GPUs and name families of which all is known: no type of any is new."""
    families = {
        str(name)
        for each in requirements
        if at(each, "key") in [f"{prefix}family" for prefix in PREFIXES]
        and at(each, "operator") == "In"
        for name in items(at(each, "values"))
    }
    known = {name.partition(".")[0] for name in gpu_instance_types()}
    beside = any(map(_asks_for_gpus, requirements))
    return bool(families) and all(
        name in known or _AHEAD.match(name) or (beside and _WITHOUT.match(name))
        for name in families
    )


def _allowed(name: str, requirements: Iterable[Any]) -> bool:
    found = gpu_instance_types().get(name)
    if found is None:  # nothing is known of it
        return True
    facts = facts_of(found)
    facts["gpu-count"] = facts.get("gpu-count") or str(found.gpu_count)  # as EC2 will count them
    labels = {f"{prefix}{k}": of for prefix in PREFIXES for k, of in facts.items()}
    labels["kubernetes.io/arch"] = found.arch

    def label(key: str) -> Maybe[str]:
        return labels.get(key, Unknown.UNKNOWN)

    return all(
        meets_expression(requirement, label) is not False
        or _compares_no_number(requirement, labels)
        for requirement in requirements
    )


def _compares_no_number(requirement: Any, labels: Mapping[str, str]) -> bool:
    """Karpenter refuses such a requirement, and what is meant by it nobody knows."""
    key, how, values = (at(requirement, part) for part in ("key", "operator", "values"))
    both = [labels.get(str(key), ""), *map(str, items(values))]
    return how in _COMPARING and (len(both) != 2 or not all(map(str.isdecimal, both)))  # noqa: PLR2004


def label_meant(key: str) -> str:
    """The label of types that a misspelt one stands for; empty for labels that are not known."""
    for prefix in PREFIXES:
        name = key.removeprefix(prefix)
        if key.startswith(prefix) and name not in OF_TYPES:
            close = difflib.get_close_matches(name, OF_TYPES, n=1, cutoff=0.85)
            if not close and name.startswith("gpu-"):
                return " or ".join(f"{prefix}{word}" for word in GPU_KEYS)
            return f"{prefix}{close[0]}" if close else ""
    return ""
