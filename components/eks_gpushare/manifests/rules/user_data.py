"""What is wrong in a NodeConfig, which nodeadm of AL2023 reads in the user data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.findings.rule import Rule
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.user_data import REGISTER
from eks_gpushare.inventory.values import at, items
from eks_gpushare.manifests.plain import EFFECTS, kubernetes_effect, mapping
from eks_gpushare.validation.shape import similar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Source

BAD_NODE_CONFIG: Final = Rule(
    "GPU1086",
    "error",
    "A NodeConfig is one that nodeadm takes.",
    "nodeadm passes over a field that it does not know in silence, so what it says is not done; "
    "where it or the kubelet stops at a value, the node never joins the cluster.",
    "https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/api/",
)

_GROUP: Final = "node.eks.aws/"
_VERSION: Final = f"{_GROUP}v1alpha1"
"""The only one: `nodeadm/api` of awslabs/amazon-eks-ami (November 2026)."""
_KEYS: Final[Mapping[FieldPath, tuple[str, ...]]] = {
    (): ("apiVersion", "kind", "metadata", "spec"),
    ("spec",): ("cluster", "containerd", "instance", "kubelet", "featureGates"),
    ("spec", "kubelet"): ("config", "flags", "maxPodsExpression"),
}
"""Of v1alpha1: `nodeadm/api/v1alpha1/nodeconfig_types.go` of awslabs/amazon-eks-ami, which
`bridge/decode.go` there reads without strictness (November 2026)."""

_HYBRID: Final = "hybrid"
"""The field by which a NodeConfig is for another nodeadm, that of machines outside of AWS, whose
fields are not those: https://docs.aws.amazon.com/eks/latest/userguide/hybrid-nodes-nodeadm.html
(November 2026)."""


def config_problems(value: Any, source: Source) -> Iterator[Judgement]:
    """What is wrong with it.

    Args:
        value: The NodeConfig.
        source: Where it was read.
    """
    version = at(value, "apiVersion")
    if isinstance(version, str) and version.startswith(_GROUP) and version != _VERSION:
        message = f"nodeadm has no {version}: it stops at this NodeConfig."
        yield Problem(BAD_NODE_CONFIG, source, ("apiVersion",), message, f"Write {_VERSION}.")
        return
    is_hybrid = _HYBRID in mapping(at(value, "spec"))
    for place, known in () if is_hybrid else _KEYS.items():
        for key in mapping(at(value, *place)):
            if key in known:
                continue
            meant = similar(key, known)
            where = ".".join(map(str, place)) or "a NodeConfig"
            fix = f"Did you mean {meant}?" if meant else f"Its fields are {', '.join(known)}."
            message = f"{where} has no field {key}, so nodeadm passes it over."
            yield Problem(BAD_NODE_CONFIG, source, (*place, key), message, fix, "warning")
    flags = at(value, "spec", "kubelet", "flags")
    if isinstance(flags, dict | str):
        message = "spec.kubelet.flags is a list of flags, each as on a command line."
        fix = "Write - --node-labels=key=value."
        yield Problem(BAD_NODE_CONFIG, source, ("spec", "kubelet", "flags"), message, fix)
    for number, taint in enumerate(items(at(value, *REGISTER))):
        effect = at(taint, "effect")
        if isinstance(effect, str) and effect not in EFFECTS:
            meant = kubernetes_effect(effect)
            fix = f"Write {meant}." if meant else f"Write one of {', '.join(EFFECTS)}."
            path = (*REGISTER, number, "effect")
            yield Problem(BAD_NODE_CONFIG, source, path, f"{effect} is no effect of a taint.", fix)
