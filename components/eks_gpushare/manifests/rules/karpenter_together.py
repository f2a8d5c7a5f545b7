"""What the API server refuses of a Karpenter object by its rules over several keys, or on names.

They are the `x-kubernetes-validations` and `required` of `pkg/apis/crds` of
aws/karpenter-provider-aws at v1.15.1, read 2026-11-29.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import PartlyKnown, at, has_unknown
from eks_gpushare.manifests.instance_choice import OF_TYPES, label_meant
from eks_gpushare.manifests.plain import items, mapping
from eks_gpushare.manifests.rules.karpenter_images import FAMILIES
from eks_gpushare.manifests.rules.karpenter_shapes import REFUSED_VALUE, is_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.source import Source

_AWS: Final = "karpenter.k8s.aws"
_CORE: Final = "karpenter.sh"
_NODE_POOL: Final = "karpenter.sh/nodepool"
_OF_NODES: Final = frozenset(
    (
        *(f"instance-{name}" for name in OF_TYPES),
        *("capacity-reservation-id", "capacity-reservation-interruptible"),
        *("capacity-reservation-type", "ec2nodeclass", "nitro-sandbox"),
        *("placement-group-id", "placement-group-partition"),
    )
)
"""What follows the group of Karpenter's provider in labels that people may name."""


class _Terms(NamedTuple):
    """A list of terms that select something of AWS."""

    one_of: tuple[str, ...]
    alone: tuple[str, ...]
    """Keys beside which none of the others stands."""


_TERMS: Final[Mapping[str, _Terms]] = {
    "subnetSelectorTerms": _Terms(("tags", "id"), ("id",)),
    "securityGroupSelectorTerms": _Terms(("tags", "id", "name"), ("id", "name")),
    "amiSelectorTerms": _Terms(("tags", "id", "name", "alias", "ssmParameter"), ("id",)),
    "capacityReservationSelectorTerms": _Terms(("tags", "id", "instanceMatchCriteria"), ("id",)),
}
_RESERVED_TAGS: Final = (
    *("eks:eks-cluster-name", "karpenter.sh/nodepool", "karpenter.sh/nodeclaim"),
    "karpenter.k8s.aws/ec2nodeclass",
)
_MOST_HOPS: Final = 64
_CLUSTER_TAG: Final = "kubernetes.io/cluster"


def together(value: Mapping[str, Any], source: Source) -> Iterator[Problem]:
    """What is wrong with an object of a version that the definition is of."""
    kind, version, spec = at(value, "kind"), at(value, "apiVersion"), at(value, "spec")
    if (kind, version) in (("NodePool", f"{_CORE}/v1"), ("NodeOverlay", f"{_CORE}/v1alpha1")):
        yield from _names(source, str(kind), spec)
    if (kind, version) == ("NodePool", f"{_CORE}/v1"):
        yield from _pool(source, spec)
    if (kind, version) == ("EC2NodeClass", f"{_AWS}/v1"):
        yield from _node_class(source, spec)


def _names(source: Source, kind: str, spec: Any) -> Iterator[Problem]:
    template: FieldPath = () if kind == "NodeOverlay" else ("template", "spec")
    for index, each in enumerate(items(at(spec, *template, "requirements"))):
        key = at(each, "key")
        if _is_whole(each) and "operator" not in each and key is not None:
            place = ("spec", *template, "requirements", index)
            message = f"The requirement {key} has no operator."
            yield Problem(REFUSED_VALUE, source, place, message, "Add operator: In, or Exists.")
        if isinstance(key, str) and _is_kept(key, kind) and not label_meant(key):
            place = ("spec", *template, "requirements", index, "key")
            message = f"A requirement is on {key}, which Karpenter keeps to itself."
            yield Problem(REFUSED_VALUE, source, place, message, _other_label(key))
    below = ("template", "metadata", "labels")
    for key in mapping(at(spec, *below)) if kind == "NodePool" else ():
        if _is_kept(key, kind):
            message = f"The label {key} is one that Karpenter keeps to itself."
            yield Problem(REFUSED_VALUE, source, ("spec", *below, key), message, _other_label(key))


def _is_kept(key: str, kind: str) -> bool:
    """Whether a label is one that the API server lets nobody name."""
    domain, slash, name = key.partition("/")
    if key == "kubernetes.io/hostname":
        return True
    if key == _NODE_POOL:
        return kind == "NodePool"
    if not slash:
        return False
    if domain.endswith(_CORE):
        return key != "karpenter.sh/capacity-type"
    return domain.endswith(_AWS) and not (domain == _AWS and name in _OF_NODES)


def _other_label(key: str) -> str:
    if key.endswith(f"{_AWS}/{key.rpartition('/')[2]}"):
        return "Write a label of its list, such as karpenter.k8s.aws/instance-family."
    return "Remove it, or write a label of a domain of your own."


def _pool(source: Source, spec: Any) -> Iterator[Problem]:
    disruption = at(spec, "disruption")
    for index, budget in enumerate(items(at(disruption, "budgets"))):
        if _is_whole(budget) and "nodes" not in budget:
            place: FieldPath = ("spec", "disruption", "budgets", index)
            message = "A budget says of no nodes."
            yield Problem(REFUSED_VALUE, source, place, message, 'Add nodes, such as "10%".')
    if _is_whole(disruption) and "consolidateAfter" not in disruption and not is_part(source):
        message = (
            "spec.disruption.consolidateAfter is not given: Karpenter before 1.15 refuses that, "
            "and a later one takes it for 0s."
        )
        fix, place = "Add consolidateAfter, such as 5m.", ("spec", "disruption")
        yield Problem(REFUSED_VALUE, source, place, message, fix, "warning")
    if at(spec, "replicas") in (None, UNKNOWN):
        return
    if at(spec, "weight") is not None:
        message = "weight stands beside replicas, and a static pool has none."
        yield Problem(REFUSED_VALUE, source, ("spec", "weight"), message, "Remove one of the two.")


def _node_class(source: Source, spec: Any) -> Iterator[Problem]:
    for name, terms in _TERMS.items():
        yield from _selecting(source, name, at(spec, name), terms)
    hops = at(spec, "metadataOptions", "httpPutResponseHopLimit")
    if isinstance(hops, int) and not isinstance(hops, bool) and not 1 <= hops <= _MOST_HOPS:
        place = ("spec", "metadataOptions", "httpPutResponseHopLimit")
        message = f"httpPutResponseHopLimit is {hops}, and may be from 1 to {_MOST_HOPS}."
        yield Problem(REFUSED_VALUE, source, place, message, "Write 1.")
    for key in mapping(at(spec, "tags")):
        if key in _RESERVED_TAGS or str(key).startswith(_CLUSTER_TAG):
            message = f"The tag {key} is one that Karpenter gives its nodes itself."
            yield Problem(REFUSED_VALUE, source, ("spec", "tags", key), message, "Remove it.")
    yield from _family(source, spec)
    yield from _disks(source, items(at(spec, "blockDeviceMappings")))


def _disks(source: Source, disks: Sequence[Any]) -> Iterator[Problem]:
    place: FieldPath = ("spec", "blockDeviceMappings")
    if sum(at(disk, "rootVolume") is True for disk in disks) > 1:
        message = "Several volumes are rootVolume, and a node has one."
        yield Problem(REFUSED_VALUE, source, place, message, "Keep it for one of them.")
    for index, disk in enumerate(disks):
        ebs = at(disk, "ebs")
        if _is_whole(ebs) and not {"snapshotID", "volumeSize"} & set(ebs):
            message = "A volume has neither volumeSize nor snapshotID."
            fix = "Add volumeSize, such as 200Gi."
            yield Problem(REFUSED_VALUE, source, (*place, index, "ebs"), message, fix)


def _selecting(source: Source, name: str, given: Any, terms: _Terms) -> Iterator[Problem]:
    """Of images one term with too much beside a key is refused, of others where all are such."""
    if given == [] and name in ("subnetSelectorTerms", "securityGroupSelectorTerms"):
        message = f"{name} selects nothing."
        yield Problem(REFUSED_VALUE, source, ("spec", name), message, "Add a term.")
    crowded = []
    for index, term in enumerate(items(given)):
        place = ("spec", name, index)
        yield from _term(source, place, term, terms)
        crowded.append([*_alone(source, place, term, terms)])
    if name == "amiSelectorTerms" or all(crowded):
        yield from (found for each in crowded for found in each)


def _term(source: Source, place: FieldPath, term: Any, terms: _Terms) -> Iterator[Problem]:
    if _is_whole(term) and not any(at(term, key) is not None for key in terms.one_of):
        message = "A term selects by nothing."
        fix = f"Give one of {', '.join(terms.one_of)}."
        yield Problem(REFUSED_VALUE, source, place, message, fix)
    for key, value in mapping(at(term, "tags")).items():
        if "" in (key, value):
            message = f"A term has the tag {key or 'of no name'} of no value; * stands for any."
            fix = 'Write "*", or the value.'
            yield Problem(REFUSED_VALUE, source, (*place, "tags", key), message, fix)


def _alone(source: Source, place: FieldPath, term: Any, terms: _Terms) -> Iterator[Problem]:
    given = [key for key, value in mapping(term).items() if value is not None]
    for key in terms.alone:
        others = [other for other in given if other not in (key, "alias")]
        if key in given and others:
            message = f"A term has {key}, which stands alone, and beside it {', '.join(others)}."
            fix = f"Keep {key}, or write the others as a term of their own."
            yield Problem(REFUSED_VALUE, source, (*place, key), message, fix)
            return


def _family(source: Source, spec: Any) -> Iterator[Problem]:
    terms, family = at(spec, "amiSelectorTerms"), at(spec, "amiFamily")
    if has_unknown(terms) or not items(terms) or not _is_whole(spec):
        return
    alias = next((found for each in items(terms) if (found := at(each, "alias"))), None)
    if alias is None and family is None:
        if not is_part(source):
            message = "amiFamily is not given, and no alias says it."
            fix = "Add amiFamily, such as AL2023."
            yield Problem(REFUSED_VALUE, source, ("spec",), message, fix)
        return
    wanted = FAMILIES.get(str(alias).partition("@")[0])
    is_one = family in FAMILIES.values()  # another is refused by itself
    if is_one and wanted not in (None, family):
        message = f"amiFamily is {family}, and the alias {alias} is of {wanted}."
        yield Problem(REFUSED_VALUE, source, ("spec", "amiFamily"), message, f"Write {wanted}.")


def _is_whole(value: Any) -> bool:
    """Whether every key of a mapping is seen."""
    return isinstance(value, dict) and not isinstance(value, PartlyKnown)
