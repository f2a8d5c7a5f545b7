"""What fronts once decided each in its own way, with the source of others that decides it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from fronts import GPU
from of_clusters import Endpoint
from of_engines import REMOTE
from of_karpenter import KarpenterPool
from of_pods import Crowd, Meeting
from of_sharing import Shared
from questions import QUESTIONS

from eks_gpushare.facts.index import fact_of

if TYPE_CHECKING:
    from eks_gpushare.facts.fact import Fact

pytestmark = pytest.mark.sdk_internals

BY_FACT = {question.fact.title: question for question in QUESTIONS}
_KARPENTER = "https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/apis/v1"
IANA = "https://www.iana.org/assignments/ipv4-address-space/"
DEVICE = (
    "https://github.com/NVIDIA/k8s-device-plugin/blob/v0.20.0/cmd/mps-control-daemon/mps/device.go"
)
MPS_MANUAL = "https://manpages.ubuntu.com/manpages/jammy/man1/nvidia-cuda-mps-control.1.html"
USER = "https://docs.docker.com/reference/dockerfile/#user"
DCGM = "https://github.com/NVIDIA/DCGM/issues/108"
TAINTS = f"{_KARPENTER}/nodeclaim_validation.go"
CONSOLIDATION = f"{_KARPENTER}/nodepool.go"
IMAGES = "https://github.com/aws/karpenter-provider-aws/blob/main/pkg/apis/v1/ec2nodeclass.go"
LIMITS = "https://karpenter.sh/docs/concepts/nodepools/#speclimits"
TOLERATION = "https://github.com/kubernetes/api/blob/master/core/v1/toleration.go"
RESERVED = "https://github.com/awslabs/amazon-eks-ami/tree/main/nodeadm/internal/kubelet"
DEFAULTING = "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"


class Case(NamedTuple):
    """Values, and what follows from the source."""

    fact: Fact
    given: Any
    is_broken: bool
    source: str


def as_user(*users: int | None) -> list[dict[str, Any]]:
    """Pods that each ask for a share, as the users that they name."""
    resources = {"limits": {GPU: 1}}
    pods: list[dict[str, Any]] = [
        {"containers": [{"name": "c", "image": "app:1", "resources": resources}]} for _ in users
    ]
    for pod, user in zip(pods, users, strict=True):
        pod["securityContext"] = {} if user is None else {"runAsUser": user}
    return pods


def endpoint(*cidrs: str) -> Endpoint:
    return Endpoint(public=True, private=True, cidrs=list(cidrs))


def startup(*pairs: tuple[str, str], taints: tuple[tuple[str, str], ...] = ()) -> KarpenterPool:
    staying, going = (
        [{"key": key, "effect": effect} for key, effect in given] for given in (taints, pairs)
    )
    return KarpenterPool(staying, going, {"cpu": 64})


def limits(*resources: str, static: bool = False) -> KarpenterPool:
    return KarpenterPool([], [], dict.fromkeys(resources, 4), static)


def consolidates(**given: Any) -> KarpenterPool:
    return KarpenterPool([], [], {"cpu": 64}, disruption={"consolidateAfter": "5m", **given})


def exporter(*env: dict[str, str], dcgm: bool = False) -> dict[str, Any]:
    values: dict[str, Any] = {"dcgmExporter": {"hostNetwork": True, "env": list(env)}}
    return {**values, "dcgm": {"enabled": dcgm}}


def meeting(effect: str, /, **toleration: str) -> Meeting:
    return Meeting([{"key": "team", "value": "ml", "effect": effect}], [toleration])


BROKEN, KEPT = True, False
A, B = ("a", "NoSchedule"), ("a", "NoExecute")
OLD, NEW = "p3.2xlarge", "g4dn.xlarge"
"""With a V100 of compute capability 7.0, and with a T4 of 7.5."""

CASES = {
    "half of what IANA gave out": Case(fact_of("GPU608"), endpoint("8.0.0.0/7"), BROKEN, IANA),
    "as much in two parts": Case(
        fact_of("GPU608"), endpoint("8.0.0.0/8", "9.0.0.0/8"), BROKEN, IANA
    ),
    "as much as IANA gave out": Case(fact_of("GPU608"), endpoint("8.0.0.0/8"), KEPT, IANA),
    "17 on a V100": Case(fact_of("GPU202"), Shared(OLD, "mps", 17), BROKEN, DEVICE),
    "16 on a V100": Case(fact_of("GPU202"), Shared(OLD, "mps", 16), KEPT, DEVICE),
    "49 on a T4": Case(fact_of("GPU202"), Shared(NEW, "mps", 49), BROKEN, DEVICE),
    "48 on a T4": Case(fact_of("GPU202"), Shared(NEW, "mps", 48), KEPT, DEVICE),
    "no user beside one": Case(fact_of("GPU280"), as_user(1000, None), BROKEN, USER),
    "no user beside root": Case(fact_of("GPU280"), as_user(0, None), KEPT, USER),
    "two users": Case(fact_of("GPU280"), as_user(1000, 1001), BROKEN, MPS_MANUAL),
    "an exporter beside the agent": Case(fact_of("GPU644"), exporter(), BROKEN, DCGM),
    "an exporter that uses the agent's": Case(fact_of("GPU644"), exporter(REMOTE), KEPT, DCGM),
    "an engine of the operator's": Case(
        fact_of("GPU644"), exporter(REMOTE, dcgm=True), BROKEN, DCGM
    ),
    "a startup taint that stays": Case(fact_of("GPU752"), startup(A, taints=(A,)), BROKEN, TAINTS),
    "its key with another effect": Case(fact_of("GPU752"), startup(A, taints=(B,)), KEPT, TAINTS),
    "a startup taint twice": Case(fact_of("GPU752"), startup(A, A), BROKEN, TAINTS),
    "the newest image": Case(fact_of("GPU754"), {"alias": "al2023@latest"}, BROKEN, IMAGES),
    "an alias that is refused": Case(fact_of("GPU754"), {"alias": "al2023"}, KEPT, IMAGES),
    "an alias that has no other end": Case(
        fact_of("GPU754"), {"alias": "windows2022@latest"}, KEPT, IMAGES
    ),
    "a limit of no resource": Case(fact_of("GPU744"), limits("gpu"), BROKEN, LIMITS),
    "a limit of one": Case(fact_of("GPU744"), limits(GPU), KEPT, LIMITS),
    "a limit of nodes": Case(fact_of("GPU744"), limits("nodes"), BROKEN, LIMITS),
    "a limit of nodes that are static": Case(
        fact_of("GPU744"), limits("nodes", static=True), KEPT, LIMITS
    ),
    "no limit": Case(fact_of("GPU746"), limits(), BROKEN, LIMITS),
    "no policy": Case(fact_of("GPU751"), consolidates(), BROKEN, CONSOLIDATION),
    "no policy, and nodes that stay": Case(
        fact_of("GPU751"), consolidates(consolidateAfter="Never"), KEPT, CONSOLIDATION
    ),
    "budgets that let nodes go": Case(
        fact_of("GPU751"),
        consolidates(consolidationPolicy="WhenEmptyOrUnderutilized", budgets=[{"nodes": "1"}]),
        BROKEN,
        CONSOLIDATION,
    ),
    "a budget that lets none go": Case(
        fact_of("GPU751"),
        consolidates(consolidationPolicy="WhenEmptyOrUnderutilized", budgets=[{"nodes": "0"}]),
        KEPT,
        CONSOLIDATION,
    ),
    "another value": Case(
        fact_of("GPU1111"), meeting("NoSchedule", key="team", value="it"), BROKEN, TOLERATION
    ),
    "any key": Case(fact_of("GPU1111"), meeting("NoExecute", operator="Exists"), KEPT, TOLERATION),
    "another effect": Case(
        fact_of("GPU1111"),
        meeting("NoExecute", key="team", operator="Exists", effect="NoSchedule"),
        BROKEN,
        TOLERATION,
    ),
    "a taint that only prefers": Case(
        fact_of("GPU1111"), meeting("PreferNoSchedule", key="other"), KEPT, TOLERATION
    ),
    "less than a CPU": Case(
        fact_of("GPU210"), Shared("g5.xlarge", "timeSlicing", 4), BROKEN, RESERVED
    ),
    "more than a CPU": Case(
        fact_of("GPU210"), Shared("g5.xlarge", "timeSlicing", 3), KEPT, RESERVED
    ),
    "a limit is the request": Case(
        fact_of("GPU837"),
        Crowd(Shared("g5.xlarge", "timeSlicing", 8), 8, "limits", {"cpu": "1"}),
        BROKEN,
        DEFAULTING,
    ),
    "fewer pods than fit": Case(
        fact_of("GPU837"),
        Crowd(Shared("g5.xlarge", "timeSlicing", 8), 3, "requests", {"cpu": "1"}),
        KEPT,
        DEFAULTING,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_all_fronts_decide_as_the_source_says(case: str) -> None:
    fact, given, is_broken, source = CASES[case]
    question = BY_FACT[fact.title]
    verdicts = {
        front: not {*fact.names_of(front)}.isdisjoint(ask(given))
        for front, ask in question.fronts.items()
    }

    assert verdicts == dict.fromkeys(question.fronts, is_broken), source
