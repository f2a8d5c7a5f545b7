"""What the stack tells Karpenter is what Karpenter's own definitions take, CEL and all.

The definitions come out of the module that the lab's Karpenter is built of. A real API server
judges the documents, by dry runs; what our rules accept it has to take, and what they refuse for
its sake it has to refuse.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.conftest import EXAMPLES

from eks_gpushare.catalog import Catalog
from eks_gpushare.rules import check_environment
from eks_gpushare.sharing import karpenter
from eks_gpushare.sharing.karpenter.node_pool import node_pool
from eks_gpushare.sharing.plan import plan_pool
from eks_gpushare.validation.parse import parse
from eks_gpushare_lab.binaries import build, versions
from eks_gpushare_lab.errors import NoGoError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from eks_gpushare.config.environment import Environment

    Judge = Callable[[Mapping[str, Any]], str | None]

REGION, TODAY = "us-west-2", date(2026, 11, 21)
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
KINDS = {
    "NodePool": "/apis/karpenter.sh/v1/nodepools",
    "EC2NodeClass": "/apis/karpenter.k8s.aws/v1/ec2nodeclasses",
    "NodeOverlay": "/apis/karpenter.sh/v1alpha1/nodeoverlays",
}


@pytest.fixture(scope="module")
def judged(call: Callable[..., dict[str, Any]], eventually: Callable[..., bool]) -> Judge:
    """Why the API server refuses a document, None if it takes it."""
    try:
        tools = build.programs([versions.karpenter_crds()])
    except NoGoError as error:
        pytest.skip(f"Karpenter's definitions cannot be had: {error}")
    (files,) = tools.files.values()
    for file in files:
        definition = yaml.safe_load(file.read_text(encoding="utf-8"))
        if definition["kind"] == "CustomResourceDefinition":
            assert call("POST", CRDS, definition)["_code"] in {201, 409}

    def served(path: str) -> bool:
        try:
            return bool(call("GET", path)["_code"] == 200)
        except ValueError:  # a kind that is not there yet is told in plain text
            return False

    assert eventually(lambda: all(map(served, KINDS.values())))

    def judge(document: Mapping[str, Any]) -> str | None:
        path = f"{KINDS[document['kind']]}?dryRun=All&fieldValidation=Strict"
        answer = call("POST", path, document)
        return None if answer["_code"] == 201 else str(answer["message"])

    return judge


def environment_of(pool: Mapping[str, Any], **more: Any) -> Environment:
    parsed = parse(
        {
            "cluster": {"name": "demo", "version": "1.35"},
            "network": {"zones": ["us-west-2a", "us-west-2b"]},
            "pools": {"gpu": {"provisioner": "karpenter", **pool}},
            **more,
        }
    )
    assert parsed.environment is not None, parsed.findings
    return parsed.environment


def errors(environment: Environment) -> set[str]:
    found = check_environment(environment, region=REGION, today=TODAY)
    return {each.code for each in found if each.severity == "error"}


def documents(environment: Environment) -> Iterator[dict[str, Any]]:
    catalog, pool = Catalog(), environment.pools["gpu"]
    plan = plan_pool("gpu", pool, catalog, REGION)
    yield node_pool(plan, catalog)
    yield karpenter.node_class(
        plan,
        catalog,
        role="gpu-nodes",
        subnet_terms=[{"id": "subnet-0123456789abcdef0"}],
        security_group_terms=[{"id": "sg-0123456789abcdef0"}],
        user_data=karpenter.user_data_of(plan, catalog),
        version="1.35",
        tags=environment.tags,
        placement_group="gpu-placement" if pool.placement_group else None,
    )
    yield from karpenter.node_overlays(plan, catalog)
    yield from karpenter.price_overlays([plan], catalog, REGION)


EXCLUSIVE = {"mode": "exclusive"}
TIME_SLICING = {"mode": "timeSlicing", "replicas": 4}
SHARED = st.sampled_from(
    [
        EXCLUSIVE,
        TIME_SLICING,
        {**TIME_SLICING, "rename": False},
        {"mode": "mps", "replicas": 3},
        {"mode": "mps", "replicas": 3, "rename": False},
    ]
)
LAYOUTS = ["all-1g.5gb", "all-balanced", {"3g.20gb": 2}, [{"gpus": [0], "devices": {"1g.5gb": 7}}]]
MIG = st.builds(
    lambda layout, more: {"mode": "mig", "layout": layout, **more},
    st.sampled_from(LAYOUTS),
    st.sampled_from([{}, {"strategy": "single"}, {"timeSlicing": {"replicas": 4}}]),
)
LIKE_DURATIONS = st.one_of(
    st.sampled_from(["300s", "5m", "1h30m", "0s", "Never", "720h", "14d", "", "5", "1.5h"]),
    st.text("0159smhd", max_size=5),
)
BUDGETS = st.fixed_dictionaries(
    {"nodes": st.one_of(st.integers(-1, 120), st.text("0159%.", max_size=4))},
    optional={
        "reasons": st.lists(st.sampled_from(["Empty", "Drifted", "Underutilized"]), max_size=3),
        "schedule": st.sampled_from(["@daily", "0 9 * * mon-fri", "*/5 * * * *", "0 9", "@never"]),
        "duration": st.one_of(st.sampled_from(["8h", "90m", "1h30m", "30s"]), LIKE_DURATIONS),
    },
)
TAINTS = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(["a.example.com/b", "c", "nvidia.com/gpu", "-d", "E/f"]),
            "effect": st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
        },
        optional={"value": st.sampled_from(["", "true", "x_y", "-z"])},
    ),
    max_size=2,
)
KARPENTER = st.fixed_dictionaries(
    {},
    optional={
        "static": st.booleans(),
        "weight": st.integers(1, 100),
        "limits": st.dictionaries(
            st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "nvidia.com/gpu.shared", "nodes"]),
            st.one_of(st.integers(1, 400), st.sampled_from(["1Ti", "2e3", ".5k", "1 0", "8x"])),
            max_size=2,
        ),
        "consolidationPolicy": st.sampled_from(["WhenEmpty", "Balanced"]),
        "consolidateAfter": LIKE_DURATIONS,
        "expireAfter": LIKE_DURATIONS,
        "terminationGracePeriod": LIKE_DURATIONS,
        "budgets": st.lists(BUDGETS, max_size=2),
        "startupTaints": TAINTS,
    },
)
KUBELET = st.fixed_dictionaries(
    {},
    optional={
        "maxPods": st.integers(-1, 250),
        "podPidsLimit": st.integers(100, 200),
        "kubeReserved": st.dictionaries(
            st.sampled_from(["cpu", "memory", "hugepages-2Mi"]),
            st.sampled_from(["100m", "1Gi", "-1", "1 Gi"]),
            max_size=2,
        ),
        "evictionHard": st.dictionaries(
            st.sampled_from(["memory.available", "nodefs.available", "allocatable"]),
            st.sampled_from(["5%", "100Mi", "5 %", "120%", "0.5%", "1Gi%"]),
            max_size=2,
        ),
        "imageGCHighThresholdPercent": st.integers(60, 101),
        "imageGCLowThresholdPercent": st.integers(50, 80),
    },
)
COMMON = {
    "nodes": st.fixed_dictionaries({}, optional={"max": st.integers(1, 9)}),
    "karpenter": KARPENTER,
    "kubelet": KUBELET,
    "labels": st.dictionaries(
        st.sampled_from(["team", "a.example.com/b", "karpenter.sh/x", "x.karpenter.k8s.aws/y"]),
        st.sampled_from(["", "ml", "A_b.c"]),
        max_size=2,
    ),
    "taints": TAINTS,
    "rootVolumeGiB": st.sampled_from([100, 200, 59_000, 59_001]),
    "zones": st.sampled_from([["us-west-2a"], ["us-west-2b", "us-west-2a"]]),
    "tagInstances": st.booleans(),
    "waitForDriver": st.booleans(),
}
OF_GPUS = st.fixed_dictionaries(
    {
        "instanceTypes": st.lists(
            st.sampled_from(["g5.xlarge", "g5.48xlarge", "g6.xlarge", "g6f.xlarge", "g5g.xlarge"]),
            min_size=1,
            max_size=3,
            unique=True,
        ),
        "sharing": SHARED,
    },
    optional={
        **COMMON,
        "capacityType": st.sampled_from(["onDemand", "spot"]),
        "amiFamily": st.sampled_from(["al2023", "bottlerocket"]),
        "localStorage": st.just("raid0"),
    },
)
OF_A100 = st.fixed_dictionaries(
    {"instanceTypes": st.just(["p4d.24xlarge"]), "sharing": st.one_of(MIG, SHARED)},
    optional={
        **COMMON,
        "efa": st.booleans(),
        "placementGroup": st.booleans(),
        "capacityType": st.just("reserved"),
        "reservation": st.just({"id": "cr-0123456789abcdef0"}),
    },
)


@given(pool=st.one_of(OF_GPUS, OF_A100))
@settings(max_examples=EXAMPLES // 4, suppress_health_check=list(HealthCheck))
def test_what_the_rules_accept_karpenters_definitions_take(
    judged: Judge, pool: dict[str, Any]
) -> None:
    environment = environment_of(pool, tags={"team": "ml"})
    assume(not errors(environment))

    for document in documents(environment):
        assert judged(document) is None, document


A100 = {"instanceTypes": ["p4d.24xlarge"]}
BY_MODE: dict[str, dict[str, Any]] = {
    "exclusive": {"instanceTypes": ["g5.xlarge"], "sharing": EXCLUSIVE},
    "fraction": {"instanceTypes": ["g6f.xlarge"], "sharing": EXCLUSIVE},
    "time-slicing": {"instanceTypes": ["g5.xlarge", "g5.12xlarge"], "sharing": TIME_SLICING},
    "mps": {"instanceTypes": ["g6.xlarge"], "sharing": {"mode": "mps", "replicas": 3}},
    "mig-mixed": {**A100, "sharing": {"mode": "mig", "layout": "all-balanced"}},
    "mig-single": {
        **A100,
        "sharing": {"mode": "mig", "layout": "all-1g.5gb", "strategy": "single"},
    },
    "mig-manager": {
        **A100,
        "sharing": {"mode": "mig", "layout": "all-1g.5gb", "apply": "migManager"},
    },
    "bottlerocket": {
        "amiFamily": "bottlerocket",
        "instanceTypes": ["g6.xlarge"],
        "sharing": TIME_SLICING,
        "kubelet": {"maxPods": 40, "seccompDefault": True},
        "localStorage": "raid0",
    },
    "custom": {
        "amiFamily": "custom",
        "customAmi": {"id": "ami-0123456789abcdef0", "family": "al2023", "driverIncluded": True},
        "instanceTypes": ["g5.xlarge"],
        "sharing": TIME_SLICING,
    },
    "static": {
        "instanceTypes": ["g5.xlarge"],
        "sharing": TIME_SLICING,
        "nodes": {"desired": 2, "max": 3},
        "karpenter": {"static": True},
    },
    "reserved": {
        **A100,
        "sharing": EXCLUSIVE,
        "efa": True,
        "zones": ["us-west-2a"],
        "capacityType": "capacityBlock",
        "reservation": {"id": "cr-0123456789abcdef0"},
    },
    "everything": {
        "instanceTypes": ["g5.xlarge"],
        "sharing": TIME_SLICING,
        "nodes": {"max": 4},
        "zones": ["us-west-2b", "us-west-2a"],
        "labels": {"team": "ml"},
        "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}],
        "tagInstances": True,
        "metadataHopLimit": 2,
        "placementGroup": False,
        "kubelet": {
            "evictionSoft": {"memory.available": "1Gi"},
            "evictionSoftGracePeriod": {"memory.available": "2m"},
            "kubeReserved": {"cpu": "200m", "memory": "2Gi"},
            "podPidsLimit": 1000,
        },
        "userData": [{"contentType": "text/x-shellscript", "content": "#!/bin/sh\nexit 0\n"}],
        "karpenter": {
            "weight": 10,
            "limits": {"cpu": 64},
            "capacityTypes": ["spot", "onDemand"],
            "consolidateAfter": "300s",
            "expireAfter": "Never",
            "terminationGracePeriod": "24h",
            "startupTaints": [{"key": "example.com/model", "effect": "NoSchedule"}],
            "budgets": [
                {"nodes": "10%"},
                {"nodes": 0, "reasons": ["Drifted"], "schedule": "0 9 * * *", "duration": "8h"},
            ],
        },
    },
}


@pytest.mark.parametrize("mode", BY_MODE)
def test_the_documents_of_each_mode(
    judged: Judge, golden: Callable[[str, str], None], mode: str
) -> None:
    pool: dict[str, Any] = {"nodes": {"max": 4}, **BY_MODE[mode]}
    manager = {"gpuStack": {"manager": "gpuOperator"}} if mode == "mig-manager" else {}
    environment = environment_of(pool, tags={"team": "ml"}, **manager)

    made = list(documents(environment))

    assert errors(environment) == set()
    assert [judged(each) for each in made] == [None] * len(made)
    for each in made:
        if len(each["spec"].get("userData", "")) > 2000:  # which has golden files of its own
            each["spec"]["userData"] = f"{each['spec']['userData'][:200]}..."
    golden(f"karpenter/{mode}.yaml", yaml.safe_dump_all(made, sort_keys=False, width=100))


def own(**keys: Any) -> dict[str, Any]:
    return {"karpenter": keys}


STATIC = {"nodes": {"desired": 2}}
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("GPU748", own(consolidateAfter="5d")),
    ("GPU748", own(consolidateAfter="")),
    ("GPU748", own(consolidateAfter="1.5h")),
    ("GPU748", own(expireAfter="never")),
    ("GPU748", own(expireAfter="30 days")),
    ("GPU748", own(terminationGracePeriod="Never")),
    ("GPU748", own(terminationGracePeriod="-1h")),
    ("GPU749", own(budgets=[{"nodes": "101%"}])),
    ("GPU749", own(budgets=[{"nodes": "33.3%"}])),
    ("GPU749", own(budgets=[{"nodes": "10 %"}])),
    ("GPU749", own(budgets=[{"nodes": -1}])),
    ("GPU749", own(budgets=[{"nodes": 1, "schedule": "0 9 * * *"}])),
    ("GPU749", own(budgets=[{"nodes": 1, "duration": "8h"}])),
    ("GPU749", own(budgets=[{"nodes": 1, "schedule": "0 9 * *", "duration": "8h"}])),
    ("GPU749", own(budgets=[{"nodes": 1, "schedule": "@every 1h", "duration": "8h"}])),
    ("GPU749", own(budgets=[{"nodes": 1, "schedule": "@daily", "duration": "30s"}])),
    ("GPU749", own(budgets=[{"nodes": 1, "schedule": "@daily", "duration": "1d"}])),
    ("GPU749", own(budgets=[{"nodes": 1, "reasons": ["Empty", "Empty"]}])),
    ("GPU749", own(budgets=[{"nodes": n} for n in range(51)])),
    ("GPU747", own(limits={"cpu": "8 cores"})),
    ("GPU747", own(limits={"memory": "64GiB"})),
    ("GPU742", {**STATIC, **own(static=True, weight=10)}),
    ("GPU742", {**STATIC, **own(static=True, limits={"cpu": 64})}),
    ("GPU304", own(startupTaints=[{"key": "-x", "effect": "NoSchedule"}])),
    ("GPU304", own(startupTaints=[{"key": "x", "value": "-y", "effect": "NoSchedule"}])),
    ("GPU753", {"labels": {"karpenter.sh/team": "ml"}}),
    ("GPU753", {"labels": {"team.karpenter.sh/name": "ml"}}),
    ("GPU753", {"labels": {"karpenter.k8s.aws/team": "ml"}}),
    ("GPU753", {"labels": {f"label-{n}": "x" for n in range(101)}}),
    ("GPU760", {"kubelet": {"evictionSoft": {"memory.available": "1Gi"}}}),
    ("GPU760", {"kubelet": {"evictionSoftGracePeriod": {"memory.available": "2m"}}}),
    ("GPU760", {"kubelet": {"evictionHard": {"allocatable": "5%"}}}),
    ("GPU760", {"kubelet": {"evictionHard": {"memory.available": "120%"}}}),
    ("GPU760", {"kubelet": {"kubeReserved": {"hugepages-2Mi": "1Gi"}}}),
    ("GPU760", {"kubelet": {"systemReserved": {"memory": "-1Gi"}}}),
    ("GPU760", {"kubelet": {"imageGCHighThresholdPercent": 101}}),
    (
        "GPU760",
        {"kubelet": {"imageGCHighThresholdPercent": 70, "imageGCLowThresholdPercent": 70}},
    ),
    ("GPU760", {"kubelet": {"maxPods": -1}}),
    ("GPU762", {"rootVolumeGiB": 59_001}),
    ("GPU763", {"tagInstances": True}),
]


@pytest.mark.parametrize(("code", "pool"), REFUSED)
def test_what_the_rules_refuse_karpenters_definitions_refuse(
    judged: Judge, code: str, pool: dict[str, Any]
) -> None:
    base = {"instanceTypes": ["g5.xlarge"], "sharing": TIME_SLICING}
    tags = {"karpenter.sh/nodepool": "gpu"} if code == "GPU763" else {}
    environment = environment_of({**base, **pool}, tags=tags)

    assert code in errors(environment)
    assert any(judged(each) for each in documents(environment))
