"""What Karpenter is told of its pools and their images."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from fronts import GPU, files, policy, stack
from question import Question

from eks_gpushare.facts.fact import Front
from eks_gpushare.facts.index import fact_of
from eks_gpushare.facts.karpenter_pools import DEFAULT_POLICY, OF_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from random import Random

MOVES = ("", "latest")


class KarpenterPool(NamedTuple):
    """What somebody gives a pool of Karpenter's."""

    taints: list[dict[str, str]]
    startup: list[dict[str, str]]
    limits: dict[str, Any]
    static: bool = False
    disruption: Mapping[str, Any] = MappingProxyType({})


def _taints(random: Random) -> KarpenterPool:
    def some(most: int) -> list[dict[str, str]]:
        return [
            {
                "key": random.choice(
                    ("a", "b", "example.com/booting", "ebs.csi.aws.com/agent-not-ready")
                ),
                "effect": random.choice(("NoSchedule", "NoExecute")),
            }
            for _ in range(random.randint(0, most))
        ]

    staying = [dict(each) for each in {tuple(sorted(taint.items())) for taint in some(2)}]
    staying.sort(key=str)
    return KarpenterPool(staying, some(2), {"cpu": "64"})


_LIMITS = (
    *("cpu", "memory", "pods", "ephemeral-storage", "nodes", "gpu", "gpus", "GPU", "nvidia"),
    *(GPU, "hugepages-2Mi"),
)


def _limits(random: Random) -> KarpenterPool:
    static = random.random() < 0.2
    known = ("nodes", "nodes", GPU) if static else (*_LIMITS, *OF_TYPES)
    chosen = random.sample(known, random.choice((0, 0, 1, 1, 2)))
    limits = {name: f"{random.randint(200, 999)}Gi" if name == "memory" else 900 for name in chosen}
    return KarpenterPool([], [], limits, static)


def _node_pool(pool: KarpenterPool) -> dict[str, Any]:
    types = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g5.xlarge"]}
    template: dict[str, Any] = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu"},
        "requirements": [types],
    }
    template |= {"taints": pool.taints} if pool.taints else {}
    template |= {"startupTaints": pool.startup} if pool.startup else {}
    spec: dict[str, Any] = {"template": {"spec": template}}
    spec |= {"limits": pool.limits} if pool.limits else {}
    spec |= {"replicas": 2} if pool.static else {}
    spec |= {"disruption": dict(pool.disruption)} if pool.disruption else {}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "gpu"},
        "spec": spec,
    }


def _pool_of_files(pool: KarpenterPool) -> Collection[str]:
    return files(_node_pool(pool))


def _pool_of_program(name: str) -> Callable[[KarpenterPool], Collection[str]]:
    made = "kubernetes:karpenter.sh/v1:NodePool"
    return lambda pool: policy(name, (made, _node_pool(pool)))


def _pool_of_stack(pool: KarpenterPool) -> Collection[str]:
    own: dict[str, Any] = {"startupTaints": pool.startup} if pool.startup else {}
    own |= {"limits": pool.limits} if pool.limits else {}
    own |= {"static": True} if pool.static else {}
    # A stack file without the key asks for WhenEmpty, so what Karpenter takes is written out.
    own |= {"consolidationPolicy": DEFAULT_POLICY, **pool.disruption}
    given = {
        "provisioner": "karpenter",
        "taints": pool.taints,
        "karpenter": own,
        "sharing": {"mode": "timeSlicing", "replicas": 4, "rename": False},
        **({"nodes": {"desired": 2}} if pool.static else {}),
    }
    return stack({"pools": {"gpu": given}})


def _term(random: Random) -> dict[str, Any]:
    family = random.choice(("al2023", "al2023", "bottlerocket", "al2", "windows2022"))
    release = random.choice(MOVES if random.random() < 0.4 else ("v20261114", "v1.57.0"))
    if family == "bottlerocket" and release.startswith("v2"):
        release = "v1.57.0"
    if family != "bottlerocket" and release.startswith("v1."):
        release = "v20261114"
    path = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/nvidia"
    return random.choice(
        (
            {"alias": f"{family}@{release}" if release else family},
            {"alias": f"{family}@{release or 'latest'}"},
            {"id": "ami-7c1f29d64e6a8d1b0"},
            {"ssmParameter": f"{path}/{random.choice(('recommended/image_id', 'pinned'))}"},
            {"name": f"gpu-{random.choice(('*', '20260101', '2026?'))}"},
            {"name": "gpu-1", "owner": "self"},
            {"tags": {"team": "ml"}},
            {"tags": {"team": "ml"}, "id": "ami-7c1f29d64e6a8d1b0"},
        )
    )


def _node_class(term: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "gpu"},
        "spec": {"role": "nodes", "amiSelectorTerms": [term]},
    }


def _class_of_program(term: Mapping[str, Any]) -> Collection[str]:
    made = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
    return policy("node-class-ami-pinned", (made, _node_class(term)))


def _disruption(random: Random) -> KarpenterPool:
    policies = ("WhenEmpty", "WhenEmpty", None, "WhenEmptyOrUnderutilized", "Balanced")
    working_hours = {"schedule": "0 9 * * mon-fri", "duration": "8h"}
    reasons: tuple[dict[str, Any], ...] = (
        {},
        {"reasons": ["Underutilized"]},
        {"reasons": ["Empty"]},
    )
    budgets = [
        {
            "nodes": random.choice(("0", "0%", "1", "10%")),
            **random.choice(reasons),
            **(working_hours if random.random() < 0.3 else {}),
        }
        for _ in range(random.choice((0, 0, 1, 2)))
    ]
    given: dict[str, Any] = {"consolidateAfter": random.choice(("5m", "1h", "Never"))}
    chosen = random.choice(policies)
    given |= {} if chosen is None else {"consolidationPolicy": chosen}
    given |= {"budgets": budgets} if budgets else {}
    if random.random() < 0.1:
        given = {}
    return KarpenterPool([], [], {"cpu": 900}, disruption=given)


QUESTIONS = (
    Question(
        fact_of("GPU752"),
        _taints,
        {
            Front.STACK: _pool_of_stack,
            Front.FILES: _pool_of_files,
            Front.POLICY: _pool_of_program("karpenter-objects-valid"),
        },
    ),
    Question(
        fact_of("GPU744"),
        _limits,
        {
            Front.STACK: _pool_of_stack,
            Front.FILES: _pool_of_files,
            Front.POLICY: _pool_of_program("karpenter-objects-valid"),
        },
    ),
    Question(
        fact_of("GPU746"),
        _limits,
        {
            Front.STACK: _pool_of_stack,
            Front.FILES: _pool_of_files,
            Front.POLICY: _pool_of_program("node-pool-limits"),
        },
    ),
    Question(
        fact_of("GPU751"),
        _disruption,
        {
            Front.STACK: _pool_of_stack,
            Front.FILES: _pool_of_files,
            Front.POLICY: _pool_of_program("gpu-pools-not-consolidated"),
        },
    ),
    Question(
        fact_of("GPU754"),
        _term,
        {Front.FILES: lambda term: files(_node_class(term)), Front.POLICY: _class_of_program},
    ),
)
