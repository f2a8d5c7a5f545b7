"""Findings about pools of Karpenter's, and about Karpenter itself."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import TODAY, base, checked, findings, fixes, stack_file_text

from eks_gpushare.documents.helm import merge_values
from eks_gpushare.rules import all_rules

OURS = {f"GPU{number}" for number in range(740, 770)}
"""Ids of the findings about pools of Karpenter's."""
NONE = {"min": None, "desired": None, "max": None}
TIME_SLICING = {"mode": "timeSlicing", "replicas": 10}
STATIC = {"static": True}
TYPES = ["g5.xlarge", "g5.12xlarge"]
RESERVATION = {"id": "cr-7c1f29d64e6a8d1b0"}
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}
EBS = {"key": "ebs.csi.aws.com/agent-not-ready", "effect": "NoSchedule"}
CUSTOM = {"id": "ami-7c1f29d64e6a8d1b0", "family": "al2023", "driverIncluded": True}


def karpenter(nodes: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    """A fragment with a pool of Karpenter's, of at most four nodes."""
    sizes = {**NONE, **({"max": 4} if nodes is None else nodes)}
    return {"pools": {"gpu": {"provisioner": "karpenter", "nodes": sizes, **keys}}}


def own(**keys: Any) -> dict[str, Any]:
    return karpenter(karpenter=keys)


def shared(**keys: Any) -> dict[str, Any]:
    return karpenter(sharing=TIME_SLICING, karpenter=keys)


def static(nodes: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    return karpenter(nodes or {"desired": 2}, karpenter={**STATIC, **keys})


def values(given: dict[str, Any], **pool: Any) -> dict[str, Any]:
    charts = {"karpenter": {"values": given}}
    return {**karpenter(**{"sharing": TIME_SLICING, **pool}), "charts": charts}


def gates(**given: Any) -> dict[str, Any]:
    return {"settings": {"featureGates": given}}


def toml(text: str) -> dict[str, Any]:
    part = {"contentType": "application/toml", "content": f"[settings.kubernetes]\n{text}\n"}
    return karpenter(amiFamily="bottlerocket", amiVersion="1.65.0-0be31b34", userData=[part])


def node_config(config: str) -> dict[str, Any]:
    text = f"apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {{kubelet: {config}}}"
    return karpenter(userData=[{"contentType": "application/node.eks.aws", "content": text}])


GPU = "pools.gpu"
NO_OVERLAY = (
    "The pool gpu needs the feature gate nodeOverlay: without it no NodeOverlay says what a node "
    "of it advertises."
)
WRONG: list[tuple[dict[str, Any], str, str, str]] = [
    (
        {"pools": {"gpu": {"karpenter": {}}}},
        "GPU740",
        f"{GPU}.karpenter",
        "The provisioner is managedNodeGroup, so nothing reads this block.",
    ),
    (
        karpenter(scaledBy="autoscaler"),
        "GPU740",
        f"{GPU}.scaledBy",
        "Karpenter decides how many nodes this pool has, and no autoscaler beside it.",
    ),
    (
        static(weight=10),
        "GPU742",
        f"{GPU}.karpenter.weight",
        "A static pool is not chosen for pods, so it has no weight.",
    ),
    (
        static(limits={"nvidia.com/gpu": 4}),
        "GPU742",
        f'{GPU}.karpenter.limits["nvidia.com/gpu"]',
        "A static pool is limited in nodes, not in nvidia.com/gpu.",
    ),
    (
        karpenter({"desired": 2}, karpenter=STATIC, warm={"nodes": 1}),
        "GPU742",
        f"{GPU}.warm",
        "A static pool keeps its nodes; nothing would make room by another one.",
    ),
    (
        static(consolidationPolicy="Balanced"),
        "GPU743",
        f"{GPU}.karpenter.consolidationPolicy",
        "Karpenter reads no consolidationPolicy of a static pool, whose nodes stay.",
    ),
    (
        own(limits={"nodes": 4}),
        "GPU744",
        f"{GPU}.karpenter.limits.nodes",
        "Of a pool that is not static Karpenter counts nodes between its rounds alone.",
    ),
    (
        shared(limits={"nvidia.com/gpu": 4}),
        "GPU744",
        f'{GPU}.karpenter.limits["nvidia.com/gpu"]',
        "No node of this pool has nvidia.com/gpu: they advertise nvidia.com/gpu.shared.",
    ),
    (
        own(limits={"nvidia.com/gpus": 4}),
        "GPU744",
        f'{GPU}.karpenter.limits["nvidia.com/gpus"]',
        "No node of this pool has nvidia.com/gpus: they advertise nvidia.com/gpu.",
    ),
    (
        own(limits={"nvidia.com/gpu.shared": 4}),
        "GPU744",
        f'{GPU}.karpenter.limits["nvidia.com/gpu.shared"]',
        "No node of this pool has nvidia.com/gpu.shared: they advertise nvidia.com/gpu.",
    ),
    (
        own(limits={"vpc.amazonaws.com/efa": 4}),
        "GPU744",
        f'{GPU}.karpenter.limits["vpc.amazonaws.com/efa"]',
        "No node of this pool has vpc.amazonaws.com/efa: they advertise nvidia.com/gpu.",
    ),
    (
        shared(limits={"nvidia.com/gpu.shared": 9}),
        "GPU745",
        f'{GPU}.karpenter.limits["nvidia.com/gpu.shared"]',
        "One node has 10 of nvidia.com/gpu.shared at least, more than the limit of 9.",
    ),
    (
        own(limits={"cpu": "3900m"}),
        "GPU745",
        f"{GPU}.karpenter.limits.cpu",
        "One node has 4 of cpu at least, more than the limit of 3900m.",
    ),
    (
        karpenter({}),
        "GPU746",
        f"{GPU}.nodes",
        "Nothing limits how many nodes Karpenter launches for this pool.",
    ),
    (
        own(limits={"cpu": "64 cores"}),
        "GPU747",
        f"{GPU}.karpenter.limits.cpu",
        'cpu: "64 cores" is no quantity.',
    ),
    (
        own(limits={"nvidia.com/gpu": 0}),
        "GPU747",
        f'{GPU}.karpenter.limits["nvidia.com/gpu"]',
        "nvidia.com/gpu: 0 lets the pool have no node.",
    ),
    (
        own(limits={"nvidia.com/gpu": "2500m"}),
        "GPU747",
        f'{GPU}.karpenter.limits["nvidia.com/gpu"]',
        "nvidia.com/gpu: 2500m is not a whole number.",
    ),
    (own(limits={}), "GPU747", f"{GPU}.karpenter.limits", "There is no limit in it."),
    (
        own(consolidateAfter="30 d"),
        "GPU748",
        f"{GPU}.karpenter.consolidateAfter",
        '"30 d" is no duration. 30 days are 720h.',
    ),
    (
        own(terminationGracePeriod="Never"),
        "GPU748",
        f"{GPU}.karpenter.terminationGracePeriod",
        '"Never" is no duration.',
    ),
    (
        own(expireAfter="0s"),
        "GPU748",
        f"{GPU}.karpenter.expireAfter",
        "After 0s every node would be replaced as soon as it is there.",
    ),
    (
        own(expireAfter="9999999h"),
        "GPU748",
        f"{GPU}.karpenter.expireAfter",
        "9999999h is longer than the 2562047h that Karpenter can count.",
    ),
    (
        own(budgets=[{"nodes": "0%", "schedule": "@daily", "duration": "8h"}]),
        "GPU768",
        f"{GPU}.karpenter.expireAfter",
        "After 720h a node is drained, whatever budgets and consolidationPolicy say.",
    ),
    (
        own(budgets=[]),
        "GPU749",
        f"{GPU}.karpenter.budgets",
        "Without any budget all nodes may go at once.",
    ),
    (
        own(budgets=[{"nodes": "110%"}]),
        "GPU749",
        f"{GPU}.karpenter.budgets[0].nodes",
        '"110%" is neither a number of nodes nor a percentage from 0% to 100%.',
    ),
    (
        own(budgets=[{"nodes": 1, "duration": "8h"}]),
        "GPU749",
        f"{GPU}.karpenter.budgets[0].duration",
        "duration is given without schedule: the one says when, the other how long.",
    ),
    (
        own(budgets=[{"nodes": 1, "schedule": "@daily", "duration": "90s"}]),
        "GPU749",
        f"{GPU}.karpenter.budgets[0].duration",
        '"90s" is not in hours and minutes.',
    ),
    (
        own(budgets=[{"nodes": 1, "schedule": "0 9 * * 7", "duration": "8h"}]),
        "GPU749",
        f"{GPU}.karpenter.budgets[0].schedule",
        '"0 9 * * 7" is no schedule: 7 is not from 0 to 6 in the day of the week, 7.',
    ),
    (
        own(budgets=[{"nodes": 1, "reasons": []}]),
        "GPU749",
        f"{GPU}.karpenter.budgets[0].reasons",
        "The list is empty: the budget would hold for no reason.",
    ),
    (
        own(consolidateAfter="Never"),
        "GPU750",
        f"{GPU}.karpenter.consolidateAfter",
        "Karpenter never removes a node of this pool, whatever runs on it.",
    ),
    (
        own(budgets=[{"nodes": "0%", "reasons": ["Empty"]}]),
        "GPU750",
        f"{GPU}.karpenter.budgets[0]",
        "This budget holds always and lets no empty node go.",
    ),
    (
        own(consolidationPolicy="Balanced"),
        "GPU751",
        f"{GPU}.karpenter.consolidationPolicy",
        "Balanced evicts pods to put them on fewer or cheaper nodes.",
    ),
    (
        own(startupTaints=[{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]),
        "GPU752",
        f"{GPU}.karpenter.startupTaints[0]",
        "nvidia.com/gpu is a taint of the pool too, which stays: pods would wait for ever.",
    ),
    (
        karpenter(taints=[GPU_TAINT, {**EBS, "effect": "NoExecute"}]),
        "GPU752",
        f"{GPU}.taints[1]",
        (
            "ebs.csi.aws.com/agent-not-ready goes when its agent runs, and Karpenter takes it for "
            "one that stays: it launches no node for pods that do not tolerate it."
        ),
    ),
    (
        # Of a taint in both lists one finding is enough.
        karpenter(taints=[GPU_TAINT, EBS], karpenter={"startupTaints": [EBS]}),
        "GPU752",
        f"{GPU}.karpenter.startupTaints[0]",
        (
            "ebs.csi.aws.com/agent-not-ready is a taint of the pool too, which stays: pods would "
            "wait for ever."
        ),
    ),
    (
        own(startupTaints=[{"key": "eks-gpushare/mig-layout", "effect": "NoSchedule"}]),
        "GPU272",
        f"{GPU}.karpenter.startupTaints[0]",
        "eks-gpushare/mig-layout is this project's own.",
    ),
    (
        own(startupTaints=[{"key": "karpenter.sh/unregistered", "effect": "NoExecute"}]),
        "GPU655",
        f"{GPU}.karpenter.startupTaints[0]",
        "karpenter.sh/unregistered is set by Karpenter.",
    ),
    (
        karpenter(labels={"karpenter.k8s.aws/instance-family": "g5"}),
        "GPU753",
        f'{GPU}.labels["karpenter.k8s.aws/instance-family"]',
        "karpenter.k8s.aws is Karpenter's: it sets such labels itself, or refuses them.",
    ),
    (
        {
            **karpenter(amiVersion=None),
            "cluster": {
                **dict.fromkeys(("name", "version", "admins")),
                "existing": {"name": "there"},
            },
            "network": None,
        },
        "GPU754",
        f"{GPU}.amiVersion",
        "Which image fits a cluster that is there already is not known here.",
    ),
    (
        karpenter(capacityType="spot", karpenter={"capacityTypes": ["onDemand"]}),
        "GPU755",
        f"{GPU}.capacityType",
        "capacityType is spot, and karpenter.capacityTypes has onDemand.",
    ),
    (
        own(capacityTypes=["spot", "spot"]),
        "GPU755",
        f"{GPU}.karpenter.capacityTypes[1]",
        "spot stands twice.",
    ),
    (
        karpenter(
            reservation=RESERVATION,
            karpenter={"capacityTypes": ["reserved", "capacityBlock"]},
        ),
        "GPU755",
        f"{GPU}.karpenter.capacityTypes",
        "A pool has one reservation, which is a capacity reservation or a capacity block.",
    ),
    (
        karpenter(instanceTypes=TYPES, sharing=TIME_SLICING),
        "GPU756",
        f"{GPU}.nodes.max",
        "max 4 is counted in shares of the largest type: of g5.xlarge there may be 16 nodes.",
    ),
    (
        values(gates(nodeOverlay=False)),
        "GPU757",
        "charts.karpenter.values.settings.featureGates.nodeOverlay",
        NO_OVERLAY,
    ),
    (
        values({"settings": {"featureGates": None}}),
        "GPU757",
        "charts.karpenter.values.settings.featureGates.nodeOverlay",
        NO_OVERLAY,
    ),
    (
        values(
            gates(staticCapacity="false"),
            nodes={"desired": 2},
            karpenter=STATIC,
        ),
        "GPU757",
        "charts.karpenter.values.settings.featureGates.staticCapacity",
        "The pool gpu needs the feature gate staticCapacity: it is static.",
    ),
    (
        values(gates(reservedCapacity=False), capacityType="reserved", reservation=RESERVATION),
        "GPU757",
        "charts.karpenter.values.settings.featureGates.reservedCapacity",
        "The pool gpu needs the feature gate reservedCapacity: it draws on a reservation.",
    ),
    (
        values({"settings": {"ignoreDRARequests": False}}),
        "GPU757",
        "charts.karpenter.values.settings.ignoreDRARequests",
        "Karpenter on AWS launches nothing for pods that ask for GPUs by ResourceClaims.",
    ),
    (
        values({"controller": {"env": [{"name": "FEATURE_GATES", "value": "NodeOverlay=true"}]}}),
        "GPU757",
        "charts.karpenter.values.controller.env[0]",
        "FEATURE_GATES would win over all gates that the stack turns on.",
    ),
    (
        karpenter(instanceTypes=["p5e.48xlarge"]),
        "GPU758",
        f"{GPU}.instanceTypes",
        "AWS published no price of p5e.48xlarge when the catalog was made.",
    ),
    (
        static({"desired": 2, "max": 2}),
        "GPU759",
        f"{GPU}.nodes.max",
        "max 2 is as many nodes as the pool has, so none can be exchanged.",
    ),
    (
        karpenter(kubelet={"kubeReserved": {"hugepages-2Mi": "1Gi"}}),
        "GPU760",
        f"{GPU}.kubelet.kubeReserved",
        "hugepages-2Mi is none of cpu, memory, ephemeral-storage, pid.",
    ),
    (
        karpenter(kubelet={"evictionHard": {"memory.available": "120%"}}),
        "GPU760",
        f"{GPU}.kubelet.evictionHard",
        'memory.available: "120%" is no quantity and no percentage.',
    ),
    (
        karpenter(kubelet={"imageGCHighThresholdPercent": 60, "imageGCLowThresholdPercent": 70}),
        "GPU760",
        f"{GPU}.kubelet.imageGCHighThresholdPercent",
        "imageGCHighThresholdPercent 60 is not more than imageGCLowThresholdPercent 70.",
    ),
    (
        karpenter(
            amiFamily="bottlerocket",
            amiVersion="1.65.0-0be31b34",
            kubelet={"reservedSystemCPUs": "0"},
        ),
        "GPU760",
        f"{GPU}.kubelet.reservedSystemCPUs",
        "Karpenter drops settings.kubernetes.reserved-cpus from user data.",
    ),
    (
        node_config("{config: {maxPods: 20}}"),
        "GPU761",
        f"{GPU}.userData[0].content",
        "spec.kubelet.config.maxPods is Karpenter's to know.",
    ),
    (
        toml("max-pods = 20"),
        "GPU761",
        f"{GPU}.userData[0].content",
        "settings.kubernetes.max-pods is Karpenter's to know.",
    ),
    (
        toml("standalone-mode = true"),
        "GPU761",
        f"{GPU}.userData[0].content",
        "Karpenter drops settings.kubernetes.standalone-mode from user data.",
    ),
    (
        karpenter(rootVolumeGiB=59_001),
        "GPU762",
        f"{GPU}.rootVolumeGiB",
        "59001 GiB are more than the 59000 of an EC2NodeClass.",
    ),
    (
        {**karpenter(tagInstances=True), "tags": {"eks:eks-cluster-name": "demo"}},
        "GPU763",
        "tags.eks:eks-cluster-name",
        "eks:eks-cluster-name would stand on the instances of gpu, where Karpenter has its own.",
    ),
    (
        {**karpenter(), "cluster": {"addons": {"prefixDelegation": True}}},
        "GPU764",
        f"{GPU}.kubelet",
        "The cluster gives nodes prefixes of addresses, and Karpenter does not know of it.",
    ),
    (
        karpenter(nodeRepair=True),
        "GPU766",
        f"{GPU}.nodeRepair",
        (
            "The stack turns on Karpenter's feature gate NodeRepair for it, which is alpha and "
            "deletes nodes by force."
        ),
    ),
    (
        karpenter(
            instanceTypes=TYPES,
            sharing=TIME_SLICING,
            karpenter={"limits": {"nvidia.com/gpu.shared": 39}},
        ),
        "GPU767",
        f'{GPU}.karpenter.limits["nvidia.com/gpu.shared"]',
        "A g5.12xlarge has 40 of nvidia.com/gpu.shared, more than the limit.",
    ),
    (
        karpenter(
            amiFamily="custom",
            amiVersion=None,
            customAmi=CUSTOM,
            instanceTypes=["g5.xlarge", "g5g.xlarge"],
        ),
        "GPU769",
        f"{GPU}.instanceTypes",
        (
            "An AMI is for one architecture, and the types have two: g5.xlarge: amd64; "
            "g5g.xlarge: arm64."
        ),
    ),
    (
        static({"desired": 3}, limits={"nodes": 2}),
        "GPU745",
        f"{GPU}.karpenter.limits.nodes",
        "The pool keeps 3 nodes, more than the limit of 2.",
    ),
    (
        static({"desired": 3}, limits={"nodes": "3"}),
        "GPU759",
        f"{GPU}.karpenter.limits.nodes",
        "The limit of 3 is as many nodes as the pool has, so none can be exchanged.",
    ),
    (
        own(budgets=[{"nodes": 1}, {"nodes": 0, "schedule": "@daily", "duration": "0h"}]),
        "GPU749",
        f"{GPU}.karpenter.budgets[1].duration",
        "After 0h the budget would be over before it holds.",
    ),
    *(
        (
            values(given),
            "GPU741",
            f"charts.karpenter.values.{path}",
            f"{path} is derived from the stack: it {role}.",
        )
        for given, path, role in (
            (
                {"settings": {"clusterName": "other"}},
                "settings.clusterName",
                "is the cluster whose nodes it makes",
            ),
            (
                {"settings": {"interruptionQueue": ""}},
                "settings.interruptionQueue",
                "is the queue that is told of interruptions",
            ),
            (
                {"serviceAccount": {"create": False}},
                "serviceAccount.create",
                "makes the account that has the role",
            ),
            (
                {"serviceAccount": {"name": "scaler"}},
                "serviceAccount.name",
                "is the account that has the role",
            ),
            (
                {"fullnameOverride": "scaler"},
                "fullnameOverride",
                "is the name of the account that has the role",
            ),
            ({"replicas": 1}, "replicas", "is karpenter.replicas"),
        )
    ),
    (
        karpenter(maxUnavailable=2),
        "GPU422",
        f"{GPU}.maxUnavailable",
        "Karpenter exchanges nodes by its budgets, so maxUnavailable would be ignored.",
    ),
    (
        karpenter(nodeRole="arn:aws:iam::111122223333:role/gpu-nodes"),
        "GPU422",
        f"{GPU}.nodeRole",
        (
            "Karpenter hands one role to the nodes of all its pools, so that of a single pool "
            "would be ignored."
        ),
    ),
    (
        karpenter({"min": 1, "max": 2}),
        "GPU402",
        f"{GPU}.nodes.min",
        "min means nothing to Karpenter, which starts nodes when pods need them.",
    ),
    (
        static({"min": 2, "desired": 2}),
        "GPU402",
        f"{GPU}.nodes.min",
        "min means nothing to a static pool, which has as many nodes as desired says.",
    ),
    (
        static({"desired": 3, "max": 2}),
        "GPU401",
        f"{GPU}.nodes",
        "desired 3 and max 2 are not in this order.",
    ),
    (
        static({"desired": -1}),
        "GPU401",
        f"{GPU}.nodes.desired",
        "desired -1 is less than 0.",
    ),
    (
        own(capacityTypes=["reserved", "onDemand"]),
        "GPU403",
        f"{GPU}.reservation",
        "capacityType: reserved needs the reservation it draws on.",
    ),
    (
        karpenter(
            instanceTypes=["p5.48xlarge", "g5.xlarge"],
            capacityType="reserved",
            reservation=RESERVATION,
        ),
        "GPU628",
        f"{GPU}.instanceTypes",
        "A reservation is of one instance type; 2 are given.",
    ),
    (
        {"charts": {"karpenter": {"version": "1.14.1"}}},
        "GPU714",
        "charts.karpenter",
        "No pool has provisioner: karpenter, so the chart is not installed.",
    ),
]


@pytest.mark.parametrize(("fragment", "code", "path", "message"), WRONG)
def test_one_thing_is_wrong(fragment: dict[str, Any], code: str, path: str, message: str) -> None:
    assert findings(fragment, code) == [(path, message)]


def test_every_rule_is_tried() -> None:
    ids = {rule.id for rule in all_rules()} & OURS

    assert {code for _, code, _, _ in WRONG} & OURS == ids - {"GPU765"}  # which is tried below


def test_one_switch_repairs_the_nodes_of_all_pools() -> None:
    pool = karpenter()["pools"]["gpu"]
    other = {**base()["pools"]["gpu"], "provisioner": "karpenter", "nodes": {"max": 1}}

    def said(*wanted: bool | None) -> list[tuple[str, str]]:
        pools = {"gpu": dict(pool), "big": dict(other)}
        for given, repair in zip(pools.values(), wanted, strict=True):
            if repair is not None:
                given["nodeRepair"] = repair
        return findings({"pools": pools}, "GPU765")

    message = "Karpenter repairs the nodes of all its pools or of none, and gpu wants it."
    assert said(*[True, False]) == [("pools.big.nodeRepair", message)]
    for wanted in ((True, True), (False, False), (True, None), (None, False)):
        assert said(*wanted) == []


def test_a_limit_that_holds_nothing_back_is_told_what_would() -> None:
    def said(limit: str, **pool: Any) -> list[str]:
        return fixes(karpenter(karpenter={"limits": {limit: 4}}, **pool), "GPU744")

    ends = ", in which pods and Karpenter count here."
    assert said("nvidia.com/gpus") == [f"Write nvidia.com/gpu{ends}"]
    assert said("memori") == [f"Write memory{ends}"]
    assert said("example.com/licence", sharing=TIME_SLICING) == [
        f"Write nvidia.com/gpu.shared{ends}"
    ]


RIGHT: list[dict[str, Any]] = [
    karpenter(),
    own(limits={"nvidia.com/gpu": 1}),
    karpenter({"max": 1}, instanceTypes=TYPES, karpenter={"limits": {"nvidia.com/gpu": 4}}),
    shared(limits={"nvidia.com/gpu.shared": 10}),
    shared(limits={"nvidia.com/gpu.shared": "1e2", "cpu": "64", "memory": "256Gi", "pods": 100}),
    karpenter(
        sharing={**TIME_SLICING, "rename": False},
        karpenter={"limits": {"nvidia.com/gpu": 40}},
    ),
    karpenter({}, sharing=TIME_SLICING, karpenter={"limits": {"nvidia.com/gpu.shared": 40}}),
    own(consolidateAfter="0s", expireAfter="Never", terminationGracePeriod="1h30m10s"),
    own(
        budgets=[
            {"nodes": "10%"},
            {"nodes": 0, "schedule": "0 9 * * mon-fri", "duration": "8h"},
            {"nodes": "0", "reasons": ["Drifted", "Underutilized"]},
            {"nodes": "100%", "schedule": "@weekly", "duration": "1h30m0s"},
        ],
        expireAfter="Never",
    ),
    own(budgets=[{"nodes": 1}], expireAfter="24h"),
    own(
        weight=100, startupTaints=[{"key": "node.cilium.io/agent-not-ready", "effect": "NoExecute"}]
    ),
    static(),
    static({"desired": 2, "max": 3}),
    static({"desired": 0}),
    static(limits={"nodes": 3}, expireAfter="168h"),
    own(capacityTypes=["onDemand", "spot"]),
    karpenter(capacityType="spot", karpenter={"capacityTypes": ["onDemand", "spot"]}),
    karpenter(
        instanceTypes=["g5.xlarge", "g5.2xlarge"],
        reservation=RESERVATION,
        karpenter={"capacityTypes": ["reserved", "onDemand"]},
    ),
    karpenter(capacityType="reserved", reservation=RESERVATION),
    karpenter(instanceTypes=["g5.xlarge", "g5g.xlarge"]),
    karpenter(instanceTypes=["g6f.xlarge"]),
    karpenter(nodeRepair=False, labels={"example.com/team": "ml", "karpenter": "yes"}),
    karpenter(
        kubelet={
            "maxPods": 110,
            "kubeReserved": {"cpu": "200m", "memory": "2Gi"},
            "evictionHard": {"memory.available": "5%", "nodefs.available": "0.5%"},
            "evictionSoft": {"memory.available": "1Gi"},
            "evictionSoftGracePeriod": {"memory.available": "2m"},
            "imageGCHighThresholdPercent": 80,
            "imageGCLowThresholdPercent": 70,
            "podPidsLimit": 1000,
        }
    ),
    node_config("{config: {podPidsLimit: 1000}, flags: [--v=4]}"),
    toml("seccomp-default = true\npod-pids-limit = 1000"),
    karpenter(rootVolumeGiB=59_000),
    {**karpenter(tagInstances=True), "tags": {"karpenter.sh/team": "ml"}},
    {**karpenter(), "tags": {"karpenter.sh/nodepool": "gpu"}},
    {**karpenter(kubelet={"maxPods": 110}), "cluster": {"addons": {"prefixDelegation": True}}},
    values({"settings": {"batchMaxDuration": "20s"}, "controller": {"env": [{"name": "A"}]}}),
    values(gates(nodeOverlay=True, staticCapacity=False, capacityBuffer=True)),
    values(gates(nodeOverlay="true")),
    values({"replicas": 2, "serviceAccount": {"create": True, "annotations": {"a": "b"}}}),
    values({"nameOverride": "", "settings": {"clusterEndpoint": "https://x", "isolatedVPC": True}}),
    {
        **values({"settings": {"interruptionQueue": "theirs"}}),
        "karpenter": {"interruptionQueue": False},
    },
    static({"desired": 2}, limits={"nodes": 3}),
    values(gates(nodeOverlay=False), sharing={"mode": "exclusive"}),
    karpenter(sharing={"mode": "mps", "replicas": 3}),
    karpenter(
        {"max": 2},
        instanceTypes=["p4d.24xlarge"],
        sharing={"mode": "mig", "layout": "all-balanced"},
        karpenter={"limits": {"nvidia.com/mig-1g.5gb": 32, "nvidia.com/mig-3g.20gb": 8}},
    ),
    karpenter(
        {"max": 2},
        instanceTypes=["p4d.24xlarge"],
        zones=["us-west-2a"],
        efa=True,
        karpenter={"limits": {"vpc.amazonaws.com/efa": 8}},
    ),
    {"karpenter": {}, "charts": {"karpenter": {"version": "1.14.1"}}},
]


@pytest.mark.parametrize("fragment", RIGHT)
def test_what_is_right_has_nothing_to_change(fragment: dict[str, Any]) -> None:
    report = checked(stack_file_text(merge_values(base(), fragment)), TODAY)

    found = [
        (each.code, each.path, each.message)
        for each in report.findings
        if each.severity == "error" or each.code in OURS
    ]
    assert found == []


@pytest.mark.parametrize("nodes", [{"max": 4}, {}], ids=["most", "no most"])
def test_of_types_that_nobody_knows_limits_say_nothing(nodes: dict[str, Any]) -> None:
    limited = {"limits": {"nvidia.com/gpu": 4, "cpu": 0}}
    fragment = karpenter(nodes, instanceTypes=["g5.huge"], karpenter=limited)

    assert findings(fragment, "GPU747") == [
        (f"{GPU}.karpenter.limits.cpu", "cpu: 0 lets the pool have no node.")
    ]
    for code in ("GPU744", "GPU745", "GPU756", "GPU767"):
        assert findings(fragment, code) == []


def test_a_kubelet_setting_that_bottlerocket_lacks_stops_no_other_check() -> None:
    """It did, for nodes with user data: a defect was said to be found, and the rest was not."""
    fragment = {
        "pools": {
            "gpu": {
                "amiFamily": "bottlerocket",
                "amiVersion": "1.65.0-0be31b34",
                "kubelet": {"podsPerCore": 3},
                "userData": [{"contentType": "application/toml", "content": "[settings]\n"}],
            }
        }
    }

    assert findings(fragment, "GPU012") == []
    assert findings(fragment, "GPU428") == [
        (
            "pools.gpu.kubelet.podsPerCore",
            "Bottlerocket has no setting for podsPerCore in all its releases.",
        )
    ]


SPOT = {"capacityTypes": ["spot"]}


@pytest.mark.parametrize(
    ("given", "dearer"),
    [
        # 0.8048 and 4.6016 USD an hour, for 4 and 16 shares.
        ({"instanceTypes": ["g6.xlarge", "g6.12xlarge"]}, [1]),
        ({"instanceTypes": ["g6.12xlarge", "g6.xlarge"]}, [0]),
        ({"instanceTypes": ["g6.12xlarge", "g6.24xlarge", "g6.xlarge"]}, [0, 1]),
        # As many shares: the cheapest of them is bought.
        ({"instanceTypes": ["g6.xlarge", "g6.16xlarge"]}, []),
        ({"instanceTypes": ["g6.12xlarge"]}, []),
        ({"instanceTypes": ["g6.xlarge", "g6.12xlarge"], "karpenter": SPOT}, []),
        ({"instanceTypes": ["g6.xlarge", "g6.12xlarge"], "karpenter": STATIC}, []),
    ],
)
def test_a_size_that_makes_the_bill_bigger_is_named(
    given: dict[str, Any], dearer: list[int]
) -> None:
    found = findings(karpenter(sharing={"mode": "timeSlicing", "replicas": 4}, **given), "GPU443")

    assert [at for at, _ in found] == [f"pools.gpu.instanceTypes[{index}]" for index in dearer]


@pytest.mark.parametrize(("price", "dearer"), [(17.6, 0), (17.7, 1)])
def test_a_tenth_more_is_not_worth_a_word(price: float, dearer: int) -> None:
    sharing = {"mode": "timeSlicing", "replicas": 4}
    prices = {"g6.xlarge": {"priceUsdPerHour": 4.0}, "g6.12xlarge": {"priceUsdPerHour": price}}
    given = karpenter(sharing=sharing, instanceTypes=["g6.xlarge", "g6.12xlarge"])

    found = findings({**given, "catalog": {"instanceTypes": prices}}, "GPU443")
    assert len(found) == dearer


def test_sizes_of_managed_groups_are_not_chosen_by_karpenter() -> None:
    pool = {"instanceTypes": ["g6.xlarge", "g6.12xlarge"], "sharing": TIME_SLICING}

    assert findings({"pools": {"gpu": pool}}, "GPU443") == []
