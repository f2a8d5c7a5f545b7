"""Rules about pools of Karpenter's: what their keys say, and what a NodePool takes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.config.autoscaling import KarpenterPool
from eks_gpushare.facts.index import rule_of
from eks_gpushare.facts.karpenter_pools import Misplaced, misplaced
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.mig_manager import STARTUP_TAINT as OWN_TAINT
from eks_gpushare.rules.names import BAD_TAINT, key_fault, value_fault
from eks_gpushare.rules.planned import planned
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.rules.taken_taints import TAKEN_TAINT, taken_by
from eks_gpushare.sharing.labels import OWN_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

NODE_POOLS = "https://karpenter.sh/docs/concepts/nodepools/"
_NODE_CLASSES = "https://karpenter.sh/docs/concepts/nodeclasses/"
_STATIC = f"{NODE_POOLS}#specreplicas"

OTHER_SCALER = Rule(
    "GPU740",
    "error",
    "A pool says of scaling what is read by who makes its nodes.",
    "Nothing reads it: no limit holds, no node goes, and an autoscaler has no node group to scale.",
    NODE_POOLS,
)
STATIC_KEY = Rule(
    "GPU742",
    "error",
    "A static pool says how many nodes, and nothing about pods.",
    "Karpenter refuses a static NodePool with a weight or with any limit but that of nodes.",
    _STATIC,
)
IDLE_ON_STATIC = Rule(
    "GPU743",
    "warning",
    "A static pool has no consolidation.",
    "Its nodes stay whether pods run on them or not; Karpenter ignores the key.",
    _STATIC,
)
STARTUP_TAINT = rule_of("GPU752")
LABEL_OF_KARPENTER = Rule(
    "GPU753",
    "error",
    "A label of a Karpenter pool is none of Karpenter's own.",
    "The NodePool is refused, or is never ready.",
    "https://karpenter.sh/docs/concepts/scheduling/#well-known-labels",
)
WAYS_TO_BUY = Rule(
    "GPU755",
    "error",
    "Ways to buy an instance stand once each, and agree with capacityType.",
    "One of the two would be ignored, and what is launched is not what the file says.",
    f"{NODE_POOLS}#capacity-type",
)
DEARER_SIZE = Rule(
    "GPU443",
    "info",
    "Larger sizes of a Karpenter pool have shares at the price of the smaller ones.",
    "Karpenter puts as many waiting pods on a node as the largest size takes, and buys what has "
    "room for them for least: fewer nodes, at a higher bill. For 25 pods on g6.xlarge and "
    "g6.12xlarge with 4 shares a GPU it was seen to take two g6.12xlarge for 9.20 USD an hour; "
    "seven g6.xlarge are 5.63.",
    "https://karpenter.sh/docs/faq/#how-does-karpenter-dynamically-select-instance-types",
    not_alone="A pool is not told its region.",
)
NODE_REPAIR = Rule(
    "GPU765",
    "error",
    "All Karpenter pools say the same of node repair.",
    "It is a feature gate of Karpenter, for all of its nodes at once.",
    "https://karpenter.sh/docs/concepts/disruption/#node-auto-repair",
    not_alone="A pool is not told of other pools.",
)
ALPHA_REPAIR = Rule(
    "GPU766",
    "warning",
    "Node repair by Karpenter is asked for with care.",
    "Its feature gate is alpha: it deletes nodes by force, past budgets and do-not-disrupt.",
    "https://karpenter.sh/docs/concepts/disruption/#node-auto-repair",
)
STARTS_BY_AMI = Rule(
    "GPU769",
    "error",
    "All types of a Karpenter pool can start from its AMI.",
    "Of a type with the other architecture the launch fails, again and again.",
    f"{_NODE_CLASSES}#specamiselectorterms",
)

_DOMAINS = ("karpenter.sh", "karpenter.k8s.aws")
_MOST_LABELS = 100
"""`maxProperties` of labels in a NodePool's definition
(https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/apis/crds/karpenter.sh_nodepools.yaml)."""
_OURS = 4
"""Labels that the plan adds at most."""
_MANAGED = "Remove it, or set provisioner: karpenter."
_CONSOLIDATION = {
    "consolidation_policy": "consolidationPolicy",
    "consolidate_after": "consolidateAfter",
}
_DEARER = 1.1
"""What a share may cost more on a larger size before it is said."""


@check(Scope.POOL, OTHER_SCALER)
def whose_pool(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.provisioner != "karpenter":
        if pool.karpenter is not None:
            message = f"The provisioner is {pool.provisioner}, so nothing reads this block."
            yield OTHER_SCALER.finding(("pools", name, "karpenter"), message, _MANAGED)
    elif pool.scaled_by == "autoscaler":
        message = "Karpenter decides how many nodes this pool has, and no autoscaler beside it."
        fix = "Remove scaledBy."
        yield OTHER_SCALER.finding(("pools", name, "scaledBy"), message, fix)


@check(Scope.POOL, STATIC_KEY, IDLE_ON_STATIC)
def static_pools(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    own = pool.karpenter if pool.is_static else None
    if own is None:
        return
    at = ("pools", name, "karpenter")
    if own.weight is not None:
        message = "A static pool is not chosen for pods, so it has no weight."
        yield STATIC_KEY.finding((*at, "weight"), message, "Remove weight.")
    for resource in own.limits or {}:
        if resource != "nodes":
            yield STATIC_KEY.finding(
                (*at, "limits", resource),
                f"A static pool is limited in nodes, not in {resource}.",
                "Remove it, and set nodes: {max: ...}.",
            )
    if pool.warm is not None:
        message = "A static pool keeps its nodes; nothing would make room by another one."
        fix = "Remove warm, and raise nodes.desired."
        yield STATIC_KEY.finding(("pools", name, "warm"), message, fix)
    for field, key in _CONSOLIDATION.items():
        if getattr(own, field) != KarpenterPool.model_fields[field].default:
            message = f"Karpenter reads no {key} of a static pool, whose nodes stay."
            yield IDLE_ON_STATIC.finding((*at, key), message, "Remove it.")


_MISPLACED = {
    Misplaced.STAYS: (
        "{key} is a taint of the pool too, which stays: pods would wait for ever.",
        "Remove it from one of the two, or use another key.",
    ),
    Misplaced.AGAIN: ("{key} with {effect} stands twice.", "Remove one of the two."),
    Misplaced.GOES: (
        (
            "{key} goes when its agent runs, and Karpenter takes it for one that stays: it "
            "launches no node for pods that do not tolerate it."
        ),
        "Move it to karpenter: {{startupTaints: [...]}} of the pool.",
    ),
}


@check(Scope.POOL, STARTUP_TAINT)
def startup_taints(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.provisioner != "karpenter":
        return
    startup, taints = (
        [(taint.key, taint.effect) for taint in given]
        for given in (pool.karpenter.startup_taints if pool.karpenter else (), pool.taints)
    )
    for key, index, why in misplaced(startup, taints):
        at = ("pools", name, *(() if key == "taints" else ("karpenter",)), key, index)
        taint, effect = (taints if key == "taints" else startup)[index]
        message, fix = (text.format(key=taint, effect=effect) for text in _MISPLACED[why])
        yield STARTUP_TAINT.finding(at, message, fix)


@check(Scope.POOL, BAD_TAINT, OWN_TAINT, TAKEN_TAINT)
def startup_taints_of_others(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    own = pool.karpenter if pool.provisioner == "karpenter" else None
    for index, taint in enumerate(own.startup_taints if own else ()):
        at = ("pools", name, "karpenter", "startupTaints", index)
        if fault := key_fault(taint.key) or value_fault(taint.value):
            yield BAD_TAINT.finding(at, fault, "Correct the taint.")
        elif taint.key.startswith(OWN_PREFIX):
            message = f"{taint.key} is this project's own."
            fix = "Remove it: where a pool needs it, the stack sets it and takes it away."
            yield OWN_TAINT.finding(at, message, fix)
        elif (owner := taken_by(taint.key)) is not None:
            message = f"{taint.key} is set by {owner}."
            yield TAKEN_TAINT.finding(at, message, "Use a key of your own.")


@check(Scope.POOL, LABEL_OF_KARPENTER)
def labels(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.provisioner != "karpenter":
        return
    for key in pool.labels:
        domain = key.rpartition("/")[0]
        owner = next((d for d in _DOMAINS if domain == d or domain.endswith(f".{d}")), None)
        if owner is not None:
            message = f"{owner} is Karpenter's: it sets such labels itself, or refuses them."
            fix = "Use a key of your own."
            yield LABEL_OF_KARPENTER.finding(("pools", name, "labels", key), message, fix)
    if len(pool.labels) > _MOST_LABELS - _OURS:
        yield LABEL_OF_KARPENTER.finding(
            ("pools", name, "labels"),
            f"{len(pool.labels)} labels, and those of the plan, are more than the {_MOST_LABELS} "
            "that a NodePool takes.",
            "Remove some.",
        )


@check(Scope.POOL, DEARER_SIZE)
def dearer_sizes(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    plan = planned(ctx, name, pool) if pool.provisioner == "karpenter" else None
    if plan is None or plan.cost is None or pool.is_static:
        return
    asked = next(iter(plan.request))
    prices = plan.cost.by_share[asked]
    cheapest = min(prices, key=lambda type_: prices[type_])
    has = {type_: plan.per_node[type_][asked] for type_ in prices}
    for type_, price in prices.items():
        if has[type_] > has[cheapest] and price > prices[cheapest] * _DEARER:
            yield DEARER_SIZE.finding(
                ("pools", name, "instanceTypes", pool.instance_types.index(type_)),
                f"A share is {price:.4f} USD an hour on {type_} and {prices[cheapest]:.4f} on "
                f"{cheapest}, and many pods at once get the larger.",
                f"Give {type_} a pool of its own for pods that need it, or remove it.",
            )


@check(Scope.POOL, WAYS_TO_BUY)
def ways_to_buy(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    own = pool.karpenter if pool.provisioner == "karpenter" else None
    ways = own.capacity_types if own else None
    if ways is None:
        return
    at = ("pools", name, "karpenter", "capacityTypes")
    if not ways:
        yield WAYS_TO_BUY.finding(at, "The list is empty.", "Name a way, or remove the key.")
    for index, way in enumerate(ways):
        if way in ways[:index]:
            yield WAYS_TO_BUY.finding((*at, index), f"{way} stands twice.", "Remove one.")
    if {"reserved", "capacityBlock"} <= {*ways}:
        yield WAYS_TO_BUY.finding(
            at,
            "A pool has one reservation, which is a capacity reservation or a capacity block.",
            "Keep the one that it is.",
        )
    if ways and "capacity_type" in pool.model_fields_set and pool.capacity_type not in ways:
        yield WAYS_TO_BUY.finding(
            ("pools", name, "capacityType"),
            f"capacityType is {pool.capacity_type}, and karpenter.capacityTypes has "
            f"{', '.join(ways)}.",
            "Remove capacityType, or add it to the list.",
        )


@check(Scope.ENVIRONMENT, NODE_REPAIR)
def one_repair(ctx: Context) -> Iterator[Finding]:
    """For a switch that is one for all pools."""
    said = {
        name: pool.node_repair
        for name, pool in ctx.environment.pools.items()
        if pool.provisioner == "karpenter" and "node_repair" in pool.model_fields_set
    }
    wanted = [name for name, repair in said.items() if repair]
    for name, repair in said.items():
        if wanted and not repair:
            yield NODE_REPAIR.finding(
                ("pools", name, "nodeRepair"),
                f"Karpenter repairs the nodes of all its pools or of none, and {wanted[0]} wants "
                "it.",
                "Set the same in both.",
            )


@check(Scope.POOL, ALPHA_REPAIR)
def alpha_repair(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    asked = "node_repair" in pool.model_fields_set and pool.node_repair
    if pool.provisioner == "karpenter" and asked:
        yield ALPHA_REPAIR.finding(
            ("pools", name, "nodeRepair"),
            "The stack turns on Karpenter's feature gate NodeRepair for it, which is alpha and "
            "deletes nodes by force.",
            "Remove the key, unless this is meant: by default Karpenter replaces no broken node.",
        )


@check(Scope.POOL, STARTS_BY_AMI)
def one_architecture(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.provisioner != "karpenter" or pool.custom_ami is None:
        return
    kinds: dict[str, list[str]] = {}
    for found, _ in ctx.gpu_types(pool):
        kinds.setdefault(found.arch, []).append(found.name)
    if len(kinds) > 1:
        listed = "; ".join(f"{', '.join(names)}: {arch}" for arch, names in kinds.items())
        yield STARTS_BY_AMI.finding(
            ("pools", name, "instanceTypes"),
            f"An AMI is for one architecture, and the types have two: {listed}.",
            "Make a pool of each architecture.",
        )
