"""Pools of Karpenter's where a value is just right, or just wrong."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import base, checked, findings, fixes, stack_file_text

from eks_gpushare.documents.helm import merge_values

GPU = "pools.gpu"
NONE = {"min": None, "desired": None, "max": None}
RESERVATION = {"id": "cr-7c1f29d64e6a8d1b0"}
CUSTOM = {"id": "ami-7c1f29d64e6a8d1b0", "family": "al2023", "driverIncluded": True}
THEIRS: dict[str, Any] = {
    "cluster": {"name": None, "version": None, "admins": None, "existing": {"name": "there"}},
    "network": None,
}
TAINT = {"key": "example.com/agent", "effect": "NoSchedule"}
BUDGET = {"nodes": 1}
SCHEDULED = {"schedule": "@daily", "duration": "8h"}


def karpenter(nodes: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    """A fragment with a pool of Karpenter's, of at most four nodes."""
    sizes = {**NONE, **({"max": 4} if nodes is None else nodes)}
    return {"pools": {"gpu": {"provisioner": "karpenter", "nodes": sizes, **keys}}}


def own(**keys: Any) -> dict[str, Any]:
    return karpenter(karpenter=keys)


def static(nodes: dict[str, Any]) -> dict[str, Any]:
    return karpenter(nodes, karpenter={"static": True})


def kubelet(**given: Any) -> dict[str, Any]:
    return karpenter(kubelet=given)


def labels(count: int) -> dict[str, Any]:
    return karpenter(labels={f"example.com/{n}": "x" for n in range(count)})


def stack(*fragments: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in fragments:
        found = merge_values(found, each, keep_null=True)
    return found


def managed(**keys: Any) -> dict[str, Any]:
    """A managed node group that says nothing of its AMI."""
    return {"pools": {"gpu": {"amiVersion": None, **keys}}}


WRONG: list[tuple[str, str, dict[str, Any], str]] = [
    (
        "GPU748",
        "karpenter.expireAfter",
        own(expireAfter="2562047h47m17s"),
        "2562047h47m17s is longer than the 2562047h that Karpenter can count.",
    ),
    (
        "GPU749",
        "karpenter.budgets",
        own(budgets=[BUDGET] * 51),
        "51 budgets are more than the 50 of a NodePool.",
    ),
    (
        "GPU749",
        "karpenter.budgets[0].nodes",
        own(budgets=[{"nodes": 100_001}]),
        "100001 nodes are more than any cluster has.",
    ),
    (
        "GPU749",
        "karpenter.budgets[0].reasons",
        own(budgets=[{"nodes": 1, "reasons": ["Drifted", "Empty", "Empty"]}]),
        "Empty stands twice.",
    ),
    (
        "GPU759",
        "nodes.max",
        static({"max": 1}),
        "max 1 is as many nodes as the pool has, so none can be exchanged.",
    ),
    (
        "GPU759",
        "nodes.max",
        static({"desired": 1, "max": 1}),
        "max 1 is as many nodes as the pool has, so none can be exchanged.",
    ),
    (
        "GPU401",
        "nodes",
        static({"desired": 2, "max": 1}),
        "desired 2 and max 1 are not in this order.",
    ),
    (
        "GPU304",
        "karpenter.startupTaints[0]",
        own(startupTaints=[{**TAINT, "value": "a b"}]),
        (
            'The value "a b" is not up to 63 letters, digits, -, _ and . with a letter or digit at '
            "both ends."
        ),
    ),
    (
        "GPU272",
        "karpenter.startupTaints[0]",
        own(startupTaints=[{**TAINT, "key": "eks-gpushare/of-mine"}]),
        "eks-gpushare/of-mine is this project's own.",
    ),
    (
        "GPU753",
        "labels",
        labels(97),
        "97 labels, and those of the plan, are more than the 100 that a NodePool takes.",
    ),
    (
        "GPU754",
        "amiVersion",
        stack({"cluster": {"version": "1.37"}}, karpenter(amiVersion=None)),
        "No al2023 release for Kubernetes 1.37 is known here.",
    ),
    (
        "GPU760",
        "kubelet.maxPods",
        kubelet(maxPods=-1),
        "-1 is not from 0 to 2147483647.",
    ),
    (
        "GPU760",
        "kubelet.imageGCHighThresholdPercent",
        kubelet(imageGCHighThresholdPercent=101),
        "101 is not from 0 to 100.",
    ),
    (
        "GPU760",
        "kubelet.imageGCHighThresholdPercent",
        kubelet(imageGCHighThresholdPercent=70, imageGCLowThresholdPercent=70),
        "imageGCHighThresholdPercent 70 is not more than imageGCLowThresholdPercent 70.",
    ),
    (
        "GPU760",
        "kubelet.evictionHard",
        kubelet(evictionHard={"memory.available": "5m%"}),
        'memory.available: "5m%" is no quantity and no percentage.',
    ),
    (
        "GPU760",
        "kubelet.kubeReserved",
        kubelet(kubeReserved={"cpu": "-1"}),
        'cpu: "-1" is no quantity.',
    ),
    (
        "GPU760",
        "kubelet.kubeReserved",
        kubelet(kubeReserved={"cpu": "much"}),
        'cpu: "much" is no quantity.',
    ),
    (
        "GPU798",
        "karpenter.budgets[0]",
        karpenter({}, karpenter={"budgets": [{"nodes": "100%"}, {"nodes": 1500}]}),
        "budgets[1] holds whenever this one does and allows no more.",
    ),
    (
        "GPU798",
        "karpenter.budgets[1]",
        own(budgets=[{"nodes": 1}, {"nodes": 1}]),
        "budgets[0] holds whenever this one does and allows no more.",
    ),
]


@pytest.mark.parametrize(("code", "path", "given", "message"), WRONG)
def test_just_wrong(code: str, path: str, given: dict[str, Any], message: str) -> None:
    assert findings(given, code) == [(f"{GPU}.{path}", message)]


RIGHT: list[tuple[str, dict[str, Any]]] = [
    ("GPU714", {"charts": {"karpenter": {}}}),
    ("GPU714", {}),
    ("GPU714", {"karpenter": {}, "charts": {"karpenter": {"version": "1.14.1"}}}),
    ("GPU714", stack(karpenter(), {"charts": {"karpenter": {"version": "1.14.1"}}})),
    *(("GPU748", own(**{k: "Never"})) for k in ("consolidateAfter", "expireAfter")),
    ("GPU748", own(expireAfter="2562047h47m16s", consolidateAfter="9223372036s")),
    ("GPU749", own(budgets=[{"nodes": n} for n in range(50)])),
    ("GPU749", own(budgets=[{"nodes": 100_000}])),
    ("GPU749", own(budgets=[{"nodes": "100%", "reasons": ["Empty", "Drifted"]}])),
    ("GPU759", static({"max": 2})),
    ("GPU759", static({"desired": 0, "max": 0})),
    ("GPU401", static({"desired": 2, "max": 2})),
    ("GPU401", static({"max": 1})),
    ("GPU752", own(startupTaints=[{**TAINT, "value": "yes"}, {**TAINT, "effect": "NoExecute"}])),
    ("GPU753", labels(96)),
    ("GPU754", karpenter(amiVersion=None)),
    ("GPU754", stack(THEIRS, managed())),
    ("GPU754", stack(THEIRS, karpenter(amiFamily="custom", customAmi=CUSTOM, amiVersion=None))),
    ("GPU754", stack(THEIRS, karpenter())),
    ("GPU758", {"pools": {"gpu": {"instanceTypes": ["p5e.48xlarge"]}}}),
    (
        "GPU758",
        karpenter(instanceTypes=["p5e.48xlarge"], capacityType="reserved", reservation=RESERVATION),
    ),
    ("GPU760", kubelet(maxPods=0, podsPerCore=0, evictionMaxPodGracePeriod=-1)),
    ("GPU760", kubelet(maxPods=True)),  # which is of no kind that the kubelet knows
    ("GPU760", kubelet(kubeReserved={"cpu": "0", "pid": 0})),
    ("GPU760", kubelet(evictionHard={"memory.available": "0%", "nodefs.available": "100%"})),
    ("GPU760", kubelet(evictionSoft="5%", evictionSoftGracePeriod={"memory.available": "2m"})),
    ("GPU760", kubelet(evictionSoft={"memory.available": "5%"}, evictionSoftGracePeriod="2m")),
    ("GPU769", karpenter(amiFamily="custom", customAmi=CUSTOM, amiVersion=None)),
    ("GPU798", own(budgets=[{"nodes": 2}, {"nodes": 1, **SCHEDULED, "reasons": ["Empty"]}])),
]


@pytest.mark.parametrize(("code", "given"), RIGHT)
def test_just_right(code: str, given: dict[str, Any]) -> None:
    assert findings(given, code) == []
    report = checked(stack_file_text(merge_values(base(), given)))
    assert [str(each) for each in report.findings if each.code < "GPU010"] == []  # all was read


NEVER_AGAIN = "; without the key there is no end."


@pytest.mark.parametrize(
    ("code", "given", "fix"),
    [
        (
            "GPU748",
            own(expireAfter="a day"),
            "Write it like 300s, 5m, 24h or 1h30m, or Never.",
        ),
        (
            "GPU748",
            own(terminationGracePeriod="a day"),
            f"Write it like 300s, 5m, 24h or 1h30m{NEVER_AGAIN}",
        ),
        (
            "GPU759",
            static({"desired": 2, "max": 2}),
            "Set max to 3 or more, or remove it.",
        ),
        (
            "GPU764",
            {**karpenter(), "cluster": {"addons": {"prefixDelegation": True}}},
            "Set kubelet: {maxPods: 110}, or as many as a node takes.",
        ),
    ],
)
def test_what_is_to_be_done(code: str, given: dict[str, Any], fix: str) -> None:
    assert fixes(given, code) == [fix]


def test_a_type_of_ones_own_has_a_price_or_karpenter_never_takes_it() -> None:
    gpu = {"model": "L4", "count": 1, "memoryMiB": 22888, "computeCapability": "8.9"}
    new = {"vcpus": 4, "memoryMiB": 16384, "arch": "amd64", "maxPods": 58, "gpu": gpu}

    def given(**more: Any) -> dict[str, Any]:
        catalog = {"instanceTypes": {"g9.xlarge": {**new, **more}}}
        return {**karpenter(instanceTypes=["g9.xlarge"]), "catalog": catalog}

    message = "AWS published no price of g9.xlarge when the catalog was made."
    assert findings(given(), "GPU758") == [(f"{GPU}.instanceTypes", message)]
    assert findings(given(priceUsdPerHour=1.5), "GPU758") == []


@pytest.mark.parametrize(("limit", "said"), [(2, ["Set 4 or more"]), (3, []), (4, [])])
def test_a_static_pool_may_have_as_many_nodes_as_it_keeps(limit: int, said: list[str]) -> None:
    keeps = {"static": True, "limits": {"nodes": limit}}
    found = fixes(karpenter({"desired": 3}, karpenter=keeps), "GPU745")

    assert [each.partition(",")[0] for each in found] == said
