"""Rules on stacks that checks of inventories judge: each finds its mistake in a program.

What the checks make of all kinds of mistakes is tried in tests/inventory.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
from pulumi_policy import EnforcementLevel
from pulumi_policy.policy import _NotApplicableError
from pulumi_policy.proxy import UNKNOWN_OBJECT_VALUE, UNKNOWN_STRING_VALUE, UnknownValueError

from eks_gpushare.facts.index import names_of
from eks_gpushare.findings.rule import rules_in
from eks_gpushare.inventory.edges import EDGES
from eks_gpushare.manifests.rules import kubernetes
from gpushare_policies import POLICIES
from gpushare_policies.reading.edges import judging_edges
from gpushare_policies.rule import StackPolicy
from gpushare_policies.tokens import AWS_CLUSTER, NODE_GROUP

if TYPE_CHECKING:
    from collections.abc import Callable

    from pulumi_policy import PolicyResource

RULES = {rule.name: rule for rule in POLICIES if isinstance(rule, StackPolicy)}
RELEASE = "kubernetes:helm.sh/v3:Release"
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
NAMESPACE = "kubernetes:core/v1:Namespace"
QUOTA = "kubernetes:core/v1:ResourceQuota"
DEPLOYMENT, DAEMON_SET = "kubernetes:apps/v1:Deployment", "kubernetes:apps/v1:DaemonSet"
NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
OVERLAY = "kubernetes:karpenter.sh/v1alpha1:NodeOverlay"
LABEL = "nvidia.com/device-plugin.config"
GPU = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
PROMISE = "k8s.io/cluster-autoscaler/node-template/resources/"

Program = dict[str, tuple[str, dict[str, Any]]]
"""Name to type and properties."""


def _document(mode: str = "timeSlicing", replicas: int = 4, **block: Any) -> str:
    shared = "".join(f"    {key}: {str(value).lower()}\n" for key, value in block.items())
    return (
        f"version: v1\nflags:\n  migStrategy: none\nsharing:\n  {mode}:\n{shared}    resources:\n"
        f"    - name: nvidia.com/gpu\n      replicas: {replicas}\n"
    )


def _pod(**changes: Any) -> dict[str, Any]:
    container = {
        "name": "app",
        "image": "app:1.0",
        "resources": {"limits": {"nvidia.com/gpu": 1.0}},
    }
    return {"containers": [container], "tolerations": GPU, **changes}


def _workload(name: str, namespace: str = "team", **changes: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"template": {"spec": _pod(**changes)}},
    }


def program() -> Program:
    """Time slicing, an autoscaler that is told of it, two tenants and what they run."""
    return {
        "cluster": (AWS_CLUSTER, {"name": "one"}),
        "nodes": (
            NODE_GROUP,
            {
                "amiType": "AL2023_x86_64_NVIDIA",
                "instanceTypes": ["g6.xlarge"],
                "labels": {LABEL: "shared", "nvidia.com/gpu.present": "true"},
                "taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}],
                "scalingConfig": {"minSize": 0.0, "maxSize": 4.0},
                "tags": {f"{PROMISE}nvidia.com/gpu": "4"},
            },
        ),
        "map": (
            CONFIG_MAP,
            {
                "metadata": {"name": "sharing", "namespace": "gpu"},
                "data": {"shared": _document(failRequestsGreaterThanOne=True)},
            },
        ),
        "plugin": (
            RELEASE,
            {
                "chart": "nvidia-device-plugin",
                "version": "0.20.0",
                "namespace": "gpu",
                "values": {
                    "config": {"name": "sharing", "default": "shared"},
                    "gfd": {"enabled": True},
                    "tolerations": GPU,
                    "nfd": {"worker": {"tolerations": GPU}},
                },
            },
        ),
        "team": (
            NAMESPACE,
            {"metadata": {"name": "team", "labels": {"eks-gpushare.io/tenant": "team"}}},
        ),
        "app": (DEPLOYMENT, _workload("app")),
        "quota": (
            QUOTA,
            {
                "metadata": {"name": "gpus", "namespace": "team"},
                "spec": {"hard": {"requests.nvidia.com/gpu": "8"}},
            },
        ),
        "traffic": (
            "kubernetes:networking.k8s.io/v1:NetworkPolicy",
            {
                "metadata": {"name": "none", "namespace": "team"},
                "spec": {"podSelector": {}, "policyTypes": ["Ingress"]},
            },
        ),
    }


def _nodes(made: Program) -> dict[str, Any]:
    return made["nodes"][1]


def _values(made: Program) -> dict[str, Any]:
    return made["plugin"][1]["values"]  # type: ignore[no-any-return]


def _limits(made: Program) -> dict[str, Any]:
    pod = made["app"][1]["spec"]["template"]["spec"]
    return pod["containers"][0]["resources"]  # type: ignore[no-any-return]


def _share(made: Program, text: str) -> None:
    made["map"][1]["data"]["shared"] = text


def no_tolerations(made: Program) -> None:
    _values(made)["tolerations"] = []


def no_plugin(made: Program) -> None:
    for name in ("plugin", "map", "app", "quota"):
        del made[name]
    del _nodes(made)["labels"][LABEL]


def strange_exporter(made: Program) -> None:
    spec = {"containers": [{"name": "e", "image": "nvcr.io/nvidia/k8s/dcgm-exporter:4.4.1"}]}
    made["exporter"] = (DAEMON_SET, {"spec": {"template": {"spec": spec}}})


def nobody_reads(made: Program) -> None:
    del _values(made)["config"]


def missing_map(made: Program) -> None:
    made["map"][1]["metadata"]["name"] = "other"


def misplaced_key(made: Program) -> None:
    _share(made, _document().replace("migStrategy: none", "renameByDefault: true"))


def mig_of_another_gpu(made: Program) -> None:
    layout = "{devices: all, mig-enabled: true, mig-devices: {9g.9gb: 1}}"
    text = f"version: v1\nmig-configs:\n  a:\n  - {layout}\n"
    metadata = {"name": "mig", "namespace": "gpu"}
    made["mig"] = (CONFIG_MAP, {"metadata": metadata, "data": {"config.yaml": text}})


def mig_on_ada(made: Program) -> None:
    _nodes(made)["labels"]["nvidia.com/mig.config"] = "all-1g.5gb"


def mig_not_advertised(made: Program) -> None:
    _nodes(made)["instanceTypes"] = ["p4d.24xlarge"]
    _nodes(made)["labels"]["nvidia.com/mig.config"] = "all-balanced"
    values = {
        "driver": {"enabled": False},
        "toolkit": {"enabled": False},
        "mig": {"strategy": "single"},
        "daemonsets": {"tolerations": GPU},
        "node-feature-discovery": {"worker": {"tolerations": GPU}},
    }
    made["plugin"] = (
        RELEASE,
        {"chart": "gpu-operator", "version": "v26.7.0", "namespace": "gpu", "values": values},
    )


def old_node_pool(made: Program) -> None:
    spec: dict[str, Any] = {"template": {"spec": {"requirements": []}}}
    made["pool"] = (NODE_POOL.replace("/v1", "/v1beta1"), {"metadata": {"name": "a"}, "spec": spec})


def idle_requirement(made: Program) -> None:
    requirement = {"key": "nvidia.com/gpu", "operator": "Exists"}
    spec = {"template": {"spec": {"requirements": [requirement]}}}
    made["pool"] = (NODE_POOL, {"metadata": {"name": "a"}, "spec": spec})


def promised_whole(made: Program) -> None:
    _nodes(made)["tags"][f"{PROMISE}nvidia.com/gpu"] = "1"


def unknown_resource(made: Program) -> None:
    _limits(made)["limits"] = {"nvidia.com/mig-1g.5gb": 1.0}


def half(made: Program) -> None:
    _limits(made)["limits"] = {"nvidia.com/gpu": "500m"}


def two_shares(made: Program) -> None:
    _limits(made)["limits"] = {"nvidia.com/gpu": 2.0}


def isolated_beside_others(made: Program) -> None:
    labels = {
        "eks-gpushare.io/tenant": "vision",
        "eks-gpushare.io/isolation": "isolated",
    }
    made["vision"] = (NAMESPACE, {"metadata": {"name": "vision", "labels": labels}})
    made["seer"] = (DEPLOYMENT, _workload("seer", "vision"))


def two_tenants(made: Program) -> None:
    labels = {"eks-gpushare.io/tenant": "vision"}
    made["vision"] = (NAMESPACE, {"metadata": {"name": "vision", "labels": labels}})
    made["seer"] = (DEPLOYMENT, _workload("seer", "vision"))


def quota_of_nothing(made: Program) -> None:
    made["quota"][1]["spec"]["hard"] = {"requests.nvidia.com/gpu.shared": "8"}


def no_quota(made: Program) -> None:
    made["quota"][1]["spec"]["hard"] = {"nvidia.com/gpu": "8"}


def open_to_all(made: Program) -> None:
    made["traffic"][1]["spec"]["ingress"] = [{}]


def mps_beyond(made: Program) -> None:
    _share(made, _document("mps", 64))
    _nodes(made)["tags"] = {f"{PROMISE}nvidia.com/gpu": "64"}


def mps_of_two_users(made: Program) -> None:
    _share(made, _document("mps", 4))
    made["app"] = (DEPLOYMENT, _workload("app", securityContext={"runAsUser": 1000.0}))
    made["other"] = (DEPLOYMENT, _workload("other", securityContext={"runAsUser": 2000.0}))


def second_driver(made: Program) -> None:
    mig_not_advertised(made)
    made["plugin"][1]["values"]["driver"] = {"enabled": True}
    del _nodes(made)["labels"]["nvidia.com/mig.config"]


def second_plugin(made: Program) -> None:
    values = {
        "driver": {"enabled": False},
        "toolkit": {"enabled": False},
        "nfd": {"enabled": False},
        "daemonsets": {"tolerations": GPU},
    }
    made["operator"] = (
        RELEASE,
        {"chart": "gpu-operator", "version": "v26.7.0", "namespace": "op", "values": values},
    )


def two_engines(made: Program) -> None:
    values = {"tolerations": GPU}
    for name in ("exporter", "second"):
        made[name] = (
            RELEASE,
            {"chart": "dcgm-exporter", "version": "4.8.0", "namespace": name, "values": values},
        )


def more_shares_than_pods(made: Program) -> None:
    _share(made, _document(replicas=500))
    _nodes(made)["tags"] = {f"{PROMISE}nvidia.com/gpu": "500"}


_TARGET = {"scaleTargetRef": {"kind": "Deployment", "name": "app"}}
HPA = "kubernetes:autoscaling/v2:HorizontalPodAutoscaler"
SCALED = "kubernetes:keda.sh/v1alpha1:ScaledObject"


def two_autoscalers(made: Program) -> None:
    metadata = {"name": "app", "namespace": "team"}
    made["scaled"] = (SCALED, {"metadata": metadata, "spec": {"scaleTargetRef": {"name": "app"}}})
    made["scaler"] = (HPA, {"metadata": metadata, "spec": _TARGET})


def no_budget(made: Program) -> None:
    made["app"][1]["spec"]["replicas"] = 3.0


def misspelt_value(made: Program) -> None:
    _values(made)["toleration"] = GPU


def no_ami_type(made: Program) -> None:
    del _nodes(made)["amiType"]


def types_of_two_kinds(made: Program) -> None:
    _nodes(made)["instanceTypes"] = ["g6.xlarge", "m6i.xlarge"]


def strange_toleration(made: Program) -> None:
    _pod_of(made)["tolerations"] = [*GPU, {"key": "team", "operator": "exists"}]


def number_for_text(made: Program) -> None:
    _pod_of(made)["containers"][0]["env"] = [{"name": "WORKERS", "value": 4.0}]


def field_of_another(made: Program) -> None:
    _pod_of(made)["containers"][0]["nodeSelector"] = {"team": "ml"}


def old_version(made: Program) -> None:
    made["app"] = ("kubernetes:extensions/v1beta1:Deployment", made["app"][1])


def spark_without_vendor(made: Program) -> None:
    conf = {"spark.executor.resource.gpu.amount": "1"}
    spec = {"sparkConf": conf, "executor": {"instances": 1.0}}
    made["etl"] = (
        "kubernetes:sparkoperator.k8s.io/v1beta2:SparkApplication",
        {"metadata": {"name": "etl", "namespace": "team"}, "spec": spec},
    )


def gpu_for_all(made: Program) -> None:
    limits = [{"type": "Container", "default": {"nvidia.com/gpu": "1"}}]
    metadata = {"name": "limits", "namespace": "team"}
    made["limits"] = (
        "kubernetes:core/v1:LimitRange",
        {"metadata": metadata, "spec": {"limits": limits}},
    )


BROKEN: dict[str, tuple[Callable[[Program], None], str]] = {
    "gpu-stack-tolerates-taints": (no_tolerations, "plugin"),
    "gpu-nodes-have-device-plugin": (no_plugin, "nodes"),
    "gpu-monitoring-reaches-nodes": (strange_exporter, "exporter"),
    "sharing-config-takes-effect": (nobody_reads, "map"),
    "sharing-config-exists": (missing_map, "plugin"),
    "device-plugin-config-valid": (misplaced_key, "map"),
    "mig-config-valid": (mig_of_another_gpu, "mig"),
    "mig-layouts-fit": (mig_on_ada, "nodes"),
    "mig-strategy-fits": (mig_not_advertised, "nodes"),
    "karpenter-objects-valid": (old_node_pool, "pool"),
    "karpenter-pools-effective": (idle_requirement, "pool"),
    "autoscalers-know-shares": (promised_whole, "nodes"),
    "workloads-can-land": (unknown_resource, "app"),
    "gpu-requests-whole": (half, "app"),
    "one-share-per-container": (two_shares, "app"),
    "tenants-share-no-gpu": (isolated_beside_others, "seer"),
    "visible-devices-leak-closed": (two_tenants, "nodes"),
    "quotas-within-capacity": (quota_of_nothing, "quota"),
    "tenant-namespaces-with-quota": (no_quota, "team"),
    "tenant-namespaces-deny-traffic": (open_to_all, "team"),
    "mps-runs": (mps_beyond, "nodes"),
    "mps-one-user": (mps_of_two_users, "other"),
    "driver-not-twice": (second_driver, "plugin"),
    "one-device-plugin": (second_plugin, "operator"),
    "one-dcgm-engine": (two_engines, "second"),
    "one-autoscaler-per-workload": (two_autoscalers, "scaler"),
    "gpu-workloads-keep-pods": (no_budget, "app"),
    "chart-values-known": (misspelt_value, "plugin"),
    "shares-within-reach": (more_shares_than_pods, "nodes"),
    "gpu-ami-type-named": (no_ami_type, "nodes"),
    "gpu-node-types-alike": (types_of_two_kinds, "nodes"),
    "kubernetes-objects-valid": (strange_toleration, "app"),
    "limit-ranges-give-no-gpu": (gpu_for_all, "limits"),
}


@pytest.fixture
def judged(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> Callable[[str, Program], list[tuple[str, str]]]:
    """`judged(rule, program)` are the names of resources with what is said of them."""

    def run(name: str, made: Program) -> list[tuple[str, str]]:
        resources = [resource(token, each, props) for each, (token, props) in made.items()]
        return stack_violations(RULES[name], resources)

    return run


@pytest.mark.parametrize("rule", BROKEN)
def test_a_mistake_is_said_of_the_resource_that_makes_it(
    rule: str, judged: Callable[..., list[tuple[str, str]]]
) -> None:
    breaking, name = BROKEN[rule]
    made = copy.deepcopy(program())
    breaking(made)

    assert judged(rule, program()) == []
    found = judged(rule, made)
    assert name in [each for each, _ in found], found
    assert all(message.endswith((".", "?")) for _, message in found)


@pytest.mark.parametrize(("value", "found"), [("other", ["exporter"]), (None, [])])
def test_an_exporter_goes_by_labels_that_nodes_have(
    value: str | None, found: list[str], judged: Callable[..., list[tuple[str, str]]]
) -> None:
    made = copy.deepcopy(program())
    strange_exporter(made)
    spec = made["exporter"][1]["spec"]["template"]["spec"]
    spec["tolerations"] = [{"operator": "Exists"}]
    own, label = next(iter(_nodes(made)["labels"].items()))
    spec["nodeSelector"] = {own: label if value is None else value}

    assert [name for name, _ in judged("gpu-monitoring-reaches-nodes", made)] == found


def _pod_of(made: Program) -> dict[str, Any]:
    spec: dict[str, Any] = made["app"][1]["spec"]["template"]["spec"]
    return spec


def misnamed(made: Program) -> None:
    _pod_of(made)["containers"][0]["resources"] = {"limits": {"NVIDIA.com/GPU": 1.0}}


def selected_by_resource(made: Program) -> None:
    pod = _pod_of(made)
    del pod["containers"][0]["resources"]
    pod["nodeSelector"] = {"nvidia.com/gpu": "true"}


def other_strategy(made: Program) -> None:
    """In a cluster whose nodes are no part of the program."""
    del made["nodes"], made["map"], made["quota"], made["cluster"]
    _values(made)["migStrategy"] = "single"
    del _values(made)["config"]
    _pod_of(made)["containers"][0]["resources"] = {"limits": {"nvidia.com/mig-1g.10gb": 1.0}}


def more_cpu_than_there_is(made: Program) -> None:
    made["app"][1]["spec"]["replicas"] = 4.0
    _pod_of(made)["containers"][0]["resources"]["requests"] = {"cpu": "1500m"}


def select_without_toleration(made: Program) -> None:
    made["cache"] = (DEPLOYMENT, _workload("cache", nodeSelector={LABEL: "shared"}))
    pod = made["cache"][1]["spec"]["template"]["spec"]
    del pod["tolerations"], pod["containers"][0]["resources"]


def gpus_not_taken_back(made: Program) -> None:
    """MIG devices by Karpenter, which takes the GPUs of the type for whole ones beside them."""
    for name in ("app", "quota"):
        del made[name]
    spec = {
        "amiSelectorTerms": [{"alias": "al2023@v20260930"}],
        "userData": 'cat <<EOF\nMIG_LAYOUT="*=19:0,19:1"\nEOF\n',
    }
    metadata = {"name": "gpu"}
    made["class"] = (
        "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass",
        {"metadata": metadata, "spec": spec},
    )
    _share(made, "version: v1\nflags:\n  migStrategy: mixed\n")
    _nodes(made)["tags"] = {}
    required = {
        "key": "node.kubernetes.io/instance-type",
        "operator": "In",
        "values": ["p4d.24xlarge"],
    }
    template = {
        "metadata": {"labels": {"nvidia.com/gpu.present": "true"}},
        "spec": {
            "nodeClassRef": {
                "group": "karpenter.k8s.aws",
                "kind": "EC2NodeClass",
                "name": "gpu",
            },
            "requirements": [required],
        },
    }
    made["pool"] = (NODE_POOL, {"metadata": metadata, "spec": {"template": template}})
    capacity = {"nvidia.com/mig-1g.5gb": "16"}
    overlay = {"requirements": [required], "capacity": capacity}
    made["overlay"] = (OVERLAY, {"metadata": metadata, "spec": overlay})


def untold_taint(made: Program) -> None:
    metadata = {"name": "gpu"}
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu"}
    config = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    flags:\n"
    flag = "    - --register-with-taints=team=ml:NoSchedule\n"
    made["class"] = (
        "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass",
        {
            "metadata": metadata,
            "spec": {
                "amiSelectorTerms": [{"alias": "al2023@v20260930"}],
                "userData": f"{config}{flag}",
            },
        },
    )
    requirements = [
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g6.xlarge"]}
    ]
    spec = {"nodeClassRef": reference, "requirements": requirements}
    made["pool"] = (NODE_POOL, {"metadata": metadata, "spec": {"template": {"spec": spec}}})


def promised_by_a_raw_group(made: Program) -> None:
    """An Auto Scaling group, whose tags stand in a list."""
    own = _nodes(made)
    _values(made)["config"] = {"name": "sharing", "default": "shared"}
    tags = [
        {"key": "kubernetes.io/cluster/one", "value": "owned", "propagateAtLaunch": True},
        {"key": f"{PROMISE}nvidia.com/gpu", "value": "8", "propagateAtLaunch": True},
    ]
    made["nodes"] = (
        "aws:autoscaling/group:Group",
        {
            "minSize": 0.0,
            "maxSize": 4.0,
            "tags": tags,
            "mixedInstancesPolicy": {
                "launchTemplate": {"overrides": [{"instanceType": own["instanceTypes"][0]}]}
            },
        },
    )


def mig_of_no_type(made: Program) -> None:
    """In a cluster whose plugin is no part of the program."""
    for name in ("cluster", "nodes", "map", "plugin", "quota"):
        del made[name]
    requirement = {
        "key": "karpenter.k8s.aws/instance-family",
        "operator": "In",
        "values": ["g5", "g6"],
    }
    template = {"spec": {"requirements": [requirement]}}
    made["pool"] = (NODE_POOL, {"metadata": {"name": "gpu"}, "spec": {"template": template}})
    _pod_of(made)["containers"][0]["resources"] = {"limits": {"nvidia.com/mig-1g.10gb": 1.0}}


def mounted(made: Program) -> None:
    """A device plugin that is written out, with the ConfigMap of another namespace."""
    container = {
        "name": "plugin",
        "image": "nvcr.io/nvidia/k8s-device-plugin:v0.20.0",
        "args": ["--config-file=/config/shared"],
        "volumeMounts": [{"name": "config", "mountPath": "/config"}],
    }
    volumes = [{"name": "config", "configMap": {"name": "sharing"}}]
    spec = {"containers": [container], "volumes": volumes, "tolerations": GPU}
    metadata = {"name": "plugin", "namespace": "kube-system"}
    made["plugin"] = (DAEMON_SET, {"metadata": metadata, "spec": {"template": {"spec": spec}}})


def mounted_file(made: Program) -> None:
    mounted(made)
    made["plugin"][1]["metadata"]["namespace"] = "gpu"
    container = made["plugin"][1]["spec"]["template"]["spec"]["containers"][0]
    container["args"] = ["--config-file=/config/config.yaml"]


def no_map_of_mig_manager(made: Program) -> None:
    mig_not_advertised(made)
    made["plugin"][1]["values"]["mig"] = {"strategy": "mixed"}
    made["plugin"][1]["values"]["migManager"] = {"config": {"name": "layouts"}}


@pytest.mark.parametrize(
    ("rule", "breaking", "name", "said"),
    [
        ("autoscalers-know-shares", promised_by_a_raw_group, "nodes", "of 8 of nvidia.com/gpu"),
        ("kubernetes-objects-valid", number_for_text, "app", "is 4, not text"),
        ("kubernetes-objects-valid", field_of_another, "app", "has no field nodeSelector"),
        ("kubernetes-objects-valid", old_version, "app", "has had no Deployment since"),
        ("kubernetes-objects-valid", spark_without_vendor, "etl", "gpu.vendor is not set"),
        ("workloads-can-land", mig_of_no_type, "app", "can be cut into such a device"),
        ("sharing-config-exists", mounted, "plugin", "is in the namespace gpu"),
        ("sharing-config-exists", mounted_file, "plugin", "reads config.yaml of the ConfigMap"),
        ("sharing-config-exists", no_map_of_mig_manager, "plugin", "layouts for MIG manager"),
        ("workloads-can-land", misnamed, "app", "which no device plugin gives out"),
        ("workloads-can-land", selected_by_resource, "app", "which is the name of a resource"),
        ("workloads-can-land", other_strategy, "app", "has the MIG strategy single"),
        ("shares-within-reach", more_cpu_than_there_is, "app", "of cpu for pods"),
        ("karpenter-objects-valid", untold_taint, "pool", "team=ml:NoSchedule"),
        ("workloads-can-land", select_without_toleration, "cache", "does not tolerate the taint"),
        ("autoscalers-know-shares", gpus_not_taken_back, "pool", "to have 8 of nvidia.com/gpu"),
    ],
)
def test_other_mistakes_that_a_rule_is_for(
    rule: str,
    breaking: Callable[[Program], None],
    name: str,
    said: str,
    judged: Callable[..., list[tuple[str, str]]],
) -> None:
    made = copy.deepcopy(program())
    breaking(made)

    found = judged(rule, made)

    assert [each for each, message in found if said in message] == [name], found


def test_each_check_of_the_inventory_is_some_rule_s() -> None:
    unjudged = {rule.id for edge in EDGES for rule in edge.rules} - judging_edges()

    # These look at resources, and at what a provider or EKS does where nothing is said.
    assert unjudged == {f"GPU{number}" for number in range(1210, 1217)}
    assert all(names_of(code) & {each.name for each in POLICIES} for code in unjudged)


def test_a_configuration_that_is_mounted_is_one_of_the_program(
    judged: Callable[..., list[tuple[str, str]]],
) -> None:
    made = copy.deepcopy(program())
    mounted(made)
    made["plugin"][1]["metadata"]["namespace"] = "gpu"
    del _nodes(made)["labels"][LABEL]

    assert judged("sharing-config-exists", made) == []


@pytest.mark.parametrize("rule", [rule for rule in BROKEN if rule != "sharing-config-exists"])
def test_a_preview_without_the_cluster_is_not_judged(
    rule: str, resource: Callable[..., PolicyResource], stack_violations: Callable[..., Any]
) -> None:
    with pytest.raises(_NotApplicableError):
        stack_violations(RULES[rule], [resource(RELEASE, "plugin", {})])


def test_what_is_not_known_is_said(judged: Callable[..., list[tuple[str, str]]]) -> None:
    made = program()
    made["plugin"][1]["values"] = UNKNOWN_OBJECT_VALUE
    for rule in ("gpu-stack-tolerates-taints", "sharing-config-exists"):
        with pytest.raises(UnknownValueError) as said:
            judged(rule, made)
        assert said.value.message.startswith("could not be judged: ")


def test_a_mandatory_rule_rests_on_what_is_sure() -> None:
    assert RULES["workloads-can-land"].enforcement_level is EnforcementLevel.MANDATORY
    assert RULES["mps-one-user"].enforcement_level is EnforcementLevel.ADVISORY


def _cut_by_manager(made: Program, namespace: str, **config: Any) -> None:
    mig_not_advertised(made)
    values = made["plugin"][1]["values"]
    values["mig"] = {"strategy": "mixed"}
    values["migManager"] = {"config": {"name": "layouts", **config}}
    text = "version: v1\nmig-configs:\n  all-balanced: []\n"
    metadata = {"name": "layouts", "namespace": namespace}
    made["layouts"] = (CONFIG_MAP, {"metadata": metadata, "data": {"config.yaml": text}})


@pytest.mark.parametrize(
    ("namespace", "config", "where"),
    [
        ("gpu", {}, ""),
        ("default", {}, "of MIG manager in default"),
        ("default", {"name": "lay-outs"}, "which is not here"),
        ("default", {"name": "default-mig-parted-config"}, ""),  # which the operator makes
        ("default", {"data": {"config.yaml": "version: v1\nmig-configs: {}\n"}}, ""),
    ],
)
def test_the_layouts_of_mig_manager_are_looked_for_where_it_finds_them(
    namespace: str,
    config: dict[str, Any],
    where: str,
    judged: Callable[..., list[tuple[str, str]]],
) -> None:
    made = program()
    _cut_by_manager(made, namespace, **config)
    del _nodes(made)["labels"][LABEL]

    found = judged("sharing-config-exists", made)

    assert [name for name, _ in found] == ["plugin"] * bool(where)
    assert all(where in message for _, message in found)
    made["plugin"][1]["values"]["migManager"]["enabled"] = False
    assert judged("sharing-config-exists", made) == []


def test_a_configuration_of_mig_manager_that_is_not_known_is_said(
    judged: Callable[..., list[tuple[str, str]]],
) -> None:
    made = program()
    _cut_by_manager(made, "gpu", name=UNKNOWN_STRING_VALUE)
    del _nodes(made)["labels"][LABEL]

    with pytest.raises(UnknownValueError) as said:
        judged("sharing-config-exists", made)
    assert "MIG manager's ConfigMap of the Release plugin" in said.value.message


def test_autoscalers_of_different_workloads_are_no_twins(
    judged: Callable[..., list[tuple[str, str]]],
) -> None:
    for spec, namespace in (
        ({"scaleTargetRef": {"kind": "StatefulSet", "name": "app"}}, "team"),
        ({"scaleTargetRef": {"kind": "Deployment", "name": "other"}}, "team"),
        (_TARGET, "elsewhere"),
    ):
        made = program()
        two_autoscalers(made)
        made["scaler"] = (HPA, {"metadata": {"name": "x", "namespace": namespace}, "spec": spec})
        assert judged("one-autoscaler-per-workload", made) == []


SELECTORS: list[tuple[dict[str, Any] | None, str, bool]] = [
    ({"matchLabels": {"app": "app"}}, "team", True),
    ({}, "team", True),
    (
        {"matchExpressions": [{"key": "app", "operator": "In", "values": ["app", "b"]}]},
        "team",
        True,
    ),
    ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, "team", True),
    ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["b"]}]}, "team", True),
    ({"matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["app"]}]}, "team", True),
    ({"matchExpressions": [{"key": "b", "operator": "DoesNotExist"}]}, "team", True),
    ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["b"]}]}, "team", False),
    ({"matchExpressions": [{"key": "b", "operator": "In", "values": ["None"]}]}, "team", False),
    ({"matchExpressions": [{"key": "b", "operator": "Exists"}]}, "team", False),
    ({"matchLabels": {"b": "None"}}, "team", False),
    ({"matchLabels": {"app": "other"}}, "team", False),
    ({"matchLabels": {"app": "app", "tier": "x"}}, "team", False),
    ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["app"]}]}, "team", False),
    ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, "team", False),
    ({"matchLabels": {"app": "app"}}, "elsewhere", False),
    (None, "team", False),
]


@pytest.mark.parametrize(("selector", "namespace", "keeps"), SELECTORS)
def test_a_disruption_budget_is_for_the_pods_that_it_selects(
    selector: dict[str, Any] | None,
    namespace: str,
    keeps: bool,
    judged: Callable[..., list[tuple[str, str]]],
) -> None:
    made = program()
    no_budget(made)
    made["app"][1]["spec"]["template"]["metadata"] = {"labels": {"app": "app"}}
    metadata = {"name": "app", "namespace": namespace}
    made["budget"] = (
        "kubernetes:policy/v1:PodDisruptionBudget",
        {"metadata": metadata, "spec": {"maxUnavailable": 1.0, "selector": selector}},
    )

    assert bool(judged("gpu-workloads-keep-pods", made)) is not keeps


@pytest.mark.parametrize(
    ("replicas", "provider", "wrong"),
    [(1.0, None, False), (2.0, None, True), (None, None, False), (3.0, "another", True)],
)
def test_several_pods_need_a_budget_in_their_cluster(
    replicas: Any,
    provider: Any,
    wrong: bool,
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    server = _workload("app")
    server["spec"]["replicas"] = replicas
    selecting = {"metadata": {"name": "app", "namespace": "team"}, "spec": {"selector": {}}}
    resources = [resource(DEPLOYMENT, "app", server, provider={"context": "one"})]
    if provider:
        elsewhere = {"context": provider}
        budget = "kubernetes:policy/v1:PodDisruptionBudget"
        resources.append(resource(budget, "budget", selecting, provider=elsewhere))

    found = stack_violations(RULES["gpu-workloads-keep-pods"], resources)
    assert [name for name, _ in found] == (["app"] if wrong else [])


def test_a_patch_makes_no_pods(judged: Callable[..., list[tuple[str, str]]]) -> None:
    made = program()
    no_budget(made)
    made["app"] = (f"{DEPLOYMENT}Patch", made["app"][1])

    assert judged("gpu-workloads-keep-pods", made) == []


def test_pods_without_gpus_need_no_budget(judged: Callable[..., list[tuple[str, str]]]) -> None:
    made = program()
    no_budget(made)
    _limits(made)["limits"] = {"cpu": 1.0, "amd.com/gpu": 1.0}

    assert judged("gpu-workloads-keep-pods", made) == []


@pytest.mark.parametrize(
    ("hard", "says"),
    [
        ({"nvidia.com/gpu": "8"}, " (its quota names nvidia.com/gpu, which Kubernetes does not"),
        (
            {"nvidia.com/gpu.shared": "8", "limits.nvidia.com/gpu": "8", "cpu": "4"},
            " (its quota names limits.nvidia.com/gpu, nvidia.com/gpu.shared, which",
        ),
        ({"requests.cpu": "8"}, " and has no quota of GPUs. It must"),
        (None, " and has no quota of GPUs. It must"),
    ],
)
def test_a_quota_that_counts_nothing_is_named(
    hard: Any, says: str, judged: Callable[..., list[tuple[str, str]]]
) -> None:
    made = program()
    made["quota"][1]["spec"]["hard"] = hard
    ((_, message),) = judged("tenant-namespaces-with-quota", made)

    assert says in message


def test_a_quota_in_another_cluster_is_none_here(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    made = program()
    for quota_of, wrong in (("one", False), ("other", True)):
        resources = [
            resource(made[name][0], name, made[name][1], provider={"context": context})
            for name, context in (("team", "one"), ("quota", quota_of), ("map", "other"))
        ]
        found = stack_violations(RULES["tenant-namespaces-with-quota"], resources)
        assert bool(found) is wrong


@pytest.mark.parametrize("resource_name", ["gpu", "gpu.shared", "mig-1g.5gb"])
def test_a_quota_of_any_gpu_resource_is_enough(
    resource_name: str, judged: Callable[..., list[tuple[str, str]]]
) -> None:
    made = program()
    made["quota"][1]["spec"]["hard"] = {f"requests.nvidia.com/{resource_name}": "8"}

    assert judged("tenant-namespaces-with-quota", made) == []


def test_autoscalers_are_called_by_their_names(
    judged: Callable[..., list[tuple[str, str]]],
) -> None:
    made = program()
    two_autoscalers(made)
    ((_, message),) = judged("one-autoscaler-per-workload", made)
    assert message.startswith(
        "The HorizontalPodAutoscaler app scales the Deployment app, as the ScaledObject app does."
    )

    made["scaler"][1]["metadata"] = {"name": UNKNOWN_STRING_VALUE, "namespace": "team"}
    ((_, message),) = judged("one-autoscaler-per-workload", made)
    assert message.startswith("The HorizontalPodAutoscaler that is yet to be named scales the ")


def test_a_patch_of_an_autoscaler_is_no_second_one(
    judged: Callable[..., list[tuple[str, str]]],
) -> None:
    made = program()
    two_autoscalers(made)
    made["scaler"] = (f"{HPA}Patch", made["scaler"][1])

    assert judged("one-autoscaler-per-workload", made) == []


@pytest.mark.parametrize("missing", ["kind", "name"])
def test_what_an_autoscaler_scales_may_be_unknown(
    missing: str, judged: Callable[..., list[tuple[str, str]]]
) -> None:
    made = program()
    two_autoscalers(made)
    made["scaler"][1]["spec"] = {
        "scaleTargetRef": {**_TARGET["scaleTargetRef"], missing: UNKNOWN_STRING_VALUE}
    }

    with pytest.raises(UnknownValueError) as said:
        judged("one-autoscaler-per-workload", made)
    assert said.value.message.endswith("what the HorizontalPodAutoscaler app scales")


INGRESS: list[tuple[Any, bool]] = [
    (None, True),
    ([], True),
    ([{"from": [{"podSelector": {}}]}], True),
    ([{"from": [{"namespaceSelector": {"matchLabels": {"team": "a"}}}]}], True),
    ([{"from": [{"ipBlock": {"cidr": "10.0.0.0/16"}}]}], True),
    ([{}], False),
    ([{"from": []}], False),
    ([{"ports": [{"port": 80.0}]}], False),
    ([{"from": [{"namespaceSelector": {}}]}], False),
    ([{"from": [{"namespaceSelector": {"matchLabels": {}}}]}], False),
    ([{"from": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]}], False),
    ([{"from": [{"ipBlock": {"cidr": "::/0"}}]}], False),
    (
        [{"from": [{"ipBlock": {"cidr": "0.0.0.0/1"}}, {"ipBlock": {"cidr": "128.0.0.0/1"}}]}],
        False,
    ),
    ([{"from": [{"podSelector": {}}]}, {"from": [{"namespaceSelector": {}}]}], False),
]


@pytest.mark.parametrize(("ingress", "denies"), INGRESS)
def test_a_policy_denies_what_it_does_not_allow(
    ingress: Any, denies: bool, judged: Callable[..., list[tuple[str, str]]]
) -> None:
    made = program()
    made["traffic"][1]["spec"]["ingress"] = ingress

    assert bool(judged("tenant-namespaces-deny-traffic", made)) is not denies


@pytest.mark.parametrize(
    "spec",
    [
        {"podSelector": {"matchLabels": {"app": "a"}}, "policyTypes": ["Ingress"]},
        {"podSelector": {}, "policyTypes": ["Egress"]},
        {"podSelector": {}, "policyTypes": []},
        {"podSelector": {"matchLabels": {"app": "a"}}},
    ],
)
def test_a_policy_for_some_pods_or_for_what_goes_out_is_not_enough(
    spec: dict[str, Any], judged: Callable[..., list[tuple[str, str]]]
) -> None:
    made = program()
    made["traffic"][1]["spec"] = spec

    assert [name for name, _ in judged("tenant-namespaces-deny-traffic", made)] == ["team"]


@pytest.mark.parametrize("spec", [{"podSelector": {}}, {"podSelector": {"matchLabels": {}}}])
def test_a_policy_that_names_no_types_is_for_what_comes_in(
    spec: dict[str, Any], judged: Callable[..., list[tuple[str, str]]]
) -> None:
    made = program()
    made["traffic"][1]["spec"] = spec

    assert judged("tenant-namespaces-deny-traffic", made) == []


def test_a_queue_of_kueue_is_a_quota_too(judged: Callable[..., list[tuple[str, str]]]) -> None:
    made = program()
    no_quota(made)
    made["queue"] = (
        "kubernetes:kueue.x-k8s.io/v1beta2:LocalQueue",
        {"metadata": {"name": "default", "namespace": "team"}, "spec": {"clusterQueue": "team"}},
    )

    assert judged("tenant-namespaces-with-quota", made) == []


@pytest.mark.parametrize(
    "tags",
    [
        [("kubernetes.io/cluster/one", "owned"), (f"{PROMISE}nvidia.com/gpu", "4")],
        [("Name", "web"), ("team", "ml")],
    ],
)
def test_a_raw_group_that_promises_right_or_is_of_no_cluster(
    tags: list[tuple[str, str]], judged: Callable[..., list[tuple[str, str]]]
) -> None:
    made = copy.deepcopy(program())
    promised_by_a_raw_group(made)
    made["nodes"][1]["tags"] = [{"key": key, "value": value} for key, value in tags]

    assert judged("autoscalers-know-shares", made) == []


def test_a_limit_range_of_other_resources_or_at_most_gives_no_gpu(
    judged: Callable[..., list[tuple[str, str]]],
) -> None:
    made = copy.deepcopy(program())
    gpu_for_all(made)
    made["limits"][1]["spec"]["limits"] = [
        {
            "type": "Container",
            "default": {"cpu": "1", "nvidia.com/gpu": "0"},
            "max": {"nvidia.com/gpu": "1"},
        }
    ]

    assert judged("limit-ranges-give-no-gpu", made) == []


def test_each_finding_of_objects_is_some_rule_s() -> None:
    """But those on files alone: what cannot be read, and comments."""
    own = {rule.id for rule in rules_in(kubernetes)}

    assert own - judging_edges() == set()


PATCH = "kubernetes:networking.k8s.io/v1:NetworkPolicyPatch"


@pytest.mark.parametrize(
    "spec",
    [
        {"policyTypes": ["Ingress"]},
        {"podSelector": {}},
        {"podSelector": {}, "policyTypes": ["Ingress"]},
        {},
    ],
)
def test_a_patch_of_a_policy_says_only_a_part_of_it(
    spec: dict[str, Any], judged: Callable[..., list[tuple[str, str]]]
) -> None:
    made = copy.deepcopy(program())
    made["traffic"] = (PATCH, {**made["traffic"][1], "spec": spec})

    with pytest.raises(UnknownValueError) as said:
        judged("tenant-namespaces-deny-traffic", made)
    assert "the network policies of the namespace team" in said.value.message


@pytest.mark.parametrize(
    "spec",
    [{"podSelector": {"matchLabels": {"app": "web"}}}, {"policyTypes": ["Egress"]}],
)
def test_a_patch_of_a_policy_that_is_none_for_all_pods(
    spec: dict[str, Any], judged: Callable[..., list[tuple[str, str]]]
) -> None:
    made = copy.deepcopy(program())
    made["traffic"] = (PATCH, {**made["traffic"][1], "spec": spec})
    whole = copy.deepcopy(program())

    assert [name for name, _ in judged("tenant-namespaces-deny-traffic", made)] == ["team"]
    whole["part"] = made["traffic"]
    assert judged("tenant-namespaces-deny-traffic", whole) == []


def test_a_patch_of_a_quota_says_only_a_part_of_it(
    judged: Callable[..., list[tuple[str, str]]],
) -> None:
    made = copy.deepcopy(program())
    token, props = made["quota"]
    made["quota"] = (f"{token}Patch", {**props, "spec": {"hard": {"pods": "10"}}})

    with pytest.raises(UnknownValueError) as said:
        judged("tenant-namespaces-with-quota", made)
    assert "the quotas of the namespace team" in said.value.message
    made["quota"] = (f"{token}Patch", props)
    assert judged("tenant-namespaces-with-quota", made) == []
