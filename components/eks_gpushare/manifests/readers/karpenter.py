"""Objects of Karpenter, of every version that there was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import NodeSet, Overlay
from eks_gpushare.inventory.launches import launch_of
from eks_gpushare.inventory.nodes import has_gpus
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import at, has_unknown
from eks_gpushare.manifests.document import Read
from eks_gpushare.manifests.instance_choice import chosen_types, leaves_gpus
from eks_gpushare.manifests.plain import items, labels, mapping, taints, text, whole
from eks_gpushare.manifests.readers.user_data import judge_user_data
from eks_gpushare.manifests.retired import retired
from eks_gpushare.manifests.rules.karpenter_images import image_rules
from eks_gpushare.manifests.rules.karpenter_pools import AUTO_MODE_GROUP, gpu_pool_rules, pool_rules
from eks_gpushare.manifests.rules.karpenter_shapes import is_part, shape
from eks_gpushare.manifests.rules.karpenter_together import together
from eks_gpushare.manifests.rules.karpenter_types import types
from eks_gpushare.manifests.rules.karpenter_versions import karpenter_group, removed_versions
from eks_gpushare.manifests.rules.nodes import owned_labels

if TYPE_CHECKING:
    from eks_gpushare.catalog.quotas import Capacity
    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Maybe
    from eks_gpushare.manifests.document import Document

_WAYS: Final[dict[str, Capacity]] = {
    "on-demand": "onDemand",
    "spot": "spot",
    "reserved": "reserved",
}
_USER_DATA: FieldPath = ("spec", "userData")
_TEMPLATE: FieldPath = ("template", "spec")
_OF_NODES = ("NodePool", "NodeClaim", "Provisioner", "Machine", "NodeTemplate")
_NODE_CLASSES = ("EC2NodeClass", "AWSNodeTemplate")


class KarpenterReader:
    """Reads one object of karpenter.sh or karpenter.k8s.aws."""

    name = "Karpenter"

    def matches(self, document: Document) -> bool:
        """Whether its API group is one of Karpenter's."""
        value = document.value
        return isinstance(value, dict) and karpenter_group(value) is not None

    def read(self, document: Document) -> Read:
        """The nodes or the overlay that it is, and what is wrong in it."""
        value = document.value
        kind = str(text(at(value, "kind"), "object"))
        name = text(at(value, "metadata", "name"))
        called = f"the {kind} {name}" if name and name is not UNKNOWN else f"the {kind}"
        source = Source(called, document)
        spec = at(value, "spec")
        judgements: list[Judgement] = [*removed_versions(value, source), *shape(value, source)]
        judgements += (*together(value, source), *types(value, source))
        found: list[Item] = []
        if kind in _OF_NODES:
            template = _TEMPLATE if at(spec, *_TEMPLATE) is not None else ()
            nodes = _nodes(source, name, value, template)
            given = nodes.labels if isinstance(nodes.labels, dict) else {}
            own = {key: value for key, value in given.items() if value is not UNKNOWN}
            judgements += pool_rules(source, spec, template, own)
            found.append(nodes)
            place = _place_of_labels(value)
            judgements += owned_labels(source, at(value, *place), place, nodes.instance_types)
            judgements += retired(nodes, ("spec", *template, "requirements"))
            whole = not is_excerpt(source, value)
            if kind == "NodePool" and nodes.instance_types and has_gpus(nodes) and whole:
                judgements += gpu_pool_rules(source, spec)
        elif kind == "NodeOverlay":
            found.append(_overlay(source, name, spec))
        elif kind in _NODE_CLASSES:
            within = Source(called, document, ("spec",))
            found.append(launch_of(within, name, UNKNOWN if spec is UNKNOWN else spec))
            judgements += image_rules(source, spec)
            judgements += judge_user_data(document, _USER_DATA, at(spec, "userData"))
        return Read(found, judgements)


def is_excerpt(source: Source, value: Any) -> bool:
    """Whether documentation shows some of a pool, and leaves out what every pool has."""
    spec = at(value, "spec")
    served = at(value, "apiVersion") == "karpenter.sh/v1"
    node_class = ("template", "spec", "nodeClassRef", *(("group",) if served else ()))
    shown = (node_class, ("limits",), ("disruption",))
    return is_part(source) and all(at(spec, *place) is None for place in shown)


def _place_of_labels(value: Any) -> FieldPath:
    inner = at(value, "spec", "template", "metadata", "labels") is not None
    return ("spec", "template", "metadata", "labels") if inner else ("spec", "labels")


def _nodes(source: Source, name: Maybe[str], value: Any, template: FieldPath) -> NodeSet:
    spec = at(value, "spec")
    own = at(spec, "template", "metadata", "labels")
    if own is None:
        own = at(spec, "labels") or (
            at(value, "metadata", "labels") if at(value, "kind") == "NodeClaim" else None
        )
    requirements = at(spec, *template, "requirements")
    replicas = whole(at(spec, "replicas"))
    automatic = at(spec, *template, "nodeClassRef", "group") == AUTO_MODE_GROUP
    limits = at(spec, "limits", "resources") or at(spec, "limits")
    instance_types = _types(spec, requirements)
    chooses = at(value, "kind") == "NodePool"  # a Provisioner takes c, m and r unless told
    return NodeSet(
        source=source,
        name=name,
        provisioner="autoMode" if automatic else "karpenter",
        instance_types=instance_types,
        leaves_gpus=chooses and instance_types == () and leaves_gpus(requirements),
        labels=_labels(own, requirements),
        taints=taints(at(spec, *template, "taints")),
        startup_taints=taints(at(spec, *template, "startupTaints")),
        ami="" if automatic else UNKNOWN,
        least=0 if replicas is None else replicas,
        most=replicas,
        limits=UNKNOWN if limits is UNKNOWN else mapping(limits),
        bought_as=_ways(requirements),
    )


def _ways(requirements: Any) -> Maybe[tuple[Capacity, ...]]:
    """What Karpenter asks EC2 for: on demand unless a requirement names others."""
    for item in items(requirements):
        if at(item, "key") == "karpenter.sh/capacity-type" and at(item, "operator") == "In":
            values = at(item, "values")
            if has_unknown(values):
                return UNKNOWN
            named = [_WAYS.get(str(way)) for way in items(values)]
            return tuple(way for way in named if way is not None) or ("onDemand",)
    return UNKNOWN if requirements is UNKNOWN else ("onDemand",)


def _types(spec: Any, requirements: Any) -> Maybe[tuple[str, ...]]:
    listed = at(
        spec, "instanceTypeSelector"
    )  # of a kind that never was, and is written all the same
    if isinstance(listed, list):
        return (
            UNKNOWN
            if UNKNOWN in listed
            else tuple(str(text(instance_type)) for instance_type in listed)
        )
    return chosen_types(requirements)


def _labels(own: Any, requirements: Any) -> Maybe[dict[str, Any]]:
    """Labels that nodes get: those of the template, and what requirements leave to pods.

    Of a key that a requirement has, and that is nobody's own, a node gets the value that the pods
    want it is launched for: https://karpenter.sh/docs/concepts/scheduling/#user-defined-labels.
    """
    found = labels(own)
    if found is UNKNOWN:
        return UNKNOWN
    made = dict(found)
    for item in items(requirements):
        key, values = at(item, "key"), at(item, "values")
        how = at(item, "operator")
        single = how == "In" and isinstance(values, list) and len(values) == 1
        if isinstance(key, str) and how != "DoesNotExist" and not _well_known(key):
            made.setdefault(key, text(values[0]) if single else UNKNOWN)
    return made


def _well_known(key: str) -> bool:
    return key.partition("/")[0].endswith(("karpenter.sh", "karpenter.k8s.aws", "kubernetes.io"))


def _overlay(source: Source, name: Maybe[str], spec: Any) -> Overlay:
    requirements, capacity = at(spec, "requirements"), at(spec, "capacity")
    weight = whole(at(spec, "weight"))
    return Overlay(
        source=source,
        name=name,
        requirements=UNKNOWN
        if requirements is UNKNOWN
        else tuple(item for item in items(requirements) if isinstance(item, dict)),
        capacity=UNKNOWN if capacity is UNKNOWN else mapping(capacity),
        weight=0 if weight is None else weight,
    )
