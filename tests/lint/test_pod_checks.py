"""What lint says of pods, whatever else is there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import (
    GPU,
    PRESENT,
    chart,
    config_map,
    nodes,
    operator,
    plugin,
    pods,
)

from eks_gpushare.catalog import gpu_instance_types
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import SecretKeys
from eks_gpushare.inventory.problem import Edit, Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.manifests.checks.nodes import room, thin_shares
from eks_gpushare.manifests.checks.workloads import gpu_names
from eks_gpushare.manifests.checks.workloads import pods as checks
from eks_gpushare.manifests.pod_demand import demand_of
from eks_gpushare.sharing.nodes import allocatable

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item, Workload

NVIDIA = "nvidia.com"


def looked(edge: Any, *given: Item) -> list[Problem]:
    found = list(edge.look(Inventory(given, complete=True)))
    assert all(isinstance(each, Problem) for each in found)
    return [each for each in found if isinstance(each, Problem)]


def pod(spec: Any, kind: str = "Deployment") -> Workload:
    return pods(spec=spec, kind=kind)


def container(**more: Any) -> dict[str, Any]:
    return {"containers": [{"name": "main", **more}]}


# Fields of pods.


@pytest.mark.parametrize(
    ("spec", "message", "fix", "edits"),
    [
        (
            {"nodeSelectors": {}},
            "A pod has no field nodeSelectors.",
            "Did you mean nodeSelector?",
            1,
        ),
        (
            {"node_selector": {}, "nodeSelector": {}},
            "A pod has no field node_selector.",
            "Did you mean nodeSelector?",
            0,
        ),
        ({"gpus": 1}, "A pod has no field gpus.", "Remove it.", 0),
        (
            {"env": []},
            "A pod has no field env.",
            "Move it into the container that it is for.",
            0,
        ),
        (
            {"Resources": {}},
            "A pod has no field Resources.",
            "Did you mean resources?",
            1,
        ),
        (
            container(nodeSelector={}),
            "A container has no field nodeSelector.",
            "Move it out of the container, beside containers.",
            0,
        ),
        (
            container(resource={}),
            "A container has no field resource.",
            "Did you mean resources?",
            1,
        ),
        (
            container(resources={GPU: 1}),
            "nvidia.com/gpu stands under resources itself, so nothing is asked for.",
            "Write limits: {nvidia.com/gpu: 1} under resources.",
            0,
        ),
        (
            container(resources={"limit": {}}),
            "resources has no field limit.",
            "Did you mean limits?",
            1,
        ),
        (
            {"tolerations": [{"key": "a", "operators": "Exists"}]},
            "tolerations has no field operators.",
            "Did you mean operator?",
            1,
        ),
        (
            {"initContainers": [{"name": "a"}, {"images": "b"}]},
            "A container has no field images.",
            "Did you mean image?",
            1,
        ),
    ],
)
def test_a_field_that_there_is_not(spec: Any, message: str, fix: str, edits: int) -> None:
    (found,) = looked(checks.fields_are_known, pod(spec))

    assert (found.message, found.fix, len(found.edits)) == (message, fix, edits)


@pytest.mark.parametrize(
    "workload",
    [
        pod({"nodeSelector": {}, **container(resources={"limits": {}, "claims": []})}),
        pod({"gpus": 1}, "RayCluster"),
        pod(UNKNOWN),
        pod({"containers": UNKNOWN, "tolerations": "text"}),
        pod(container(resources=UNKNOWN)),
    ],
)
def test_other_kinds_have_fields_of_their_own(workload: Workload) -> None:
    assert looked(checks.fields_are_known, workload) == []


# Texts.


def expressions(*values: Any) -> dict[str, Any]:
    return {"matchExpressions": [{"key": "a", "operator": "In", "values": list(values)}]}


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    ("spec", "message", "text"),
    [
        ({"nodeSelector": {"gpu": True}}, "nodeSelector.gpu of", "true"),
        ({"nodeSelector": {"gpu": False}}, "nodeSelector.gpu of", "false"),
        ({"nodeSelector": {"gpu": 5}}, "nodeSelector.gpu of", "5"),
        ({"tolerations": [{"key": 5}]}, "tolerations[0].key of", "5"),
        ({"tolerations": [{"value": 0.5}]}, "tolerations[0].value of", "0.5"),
        (container(env=[{"name": "A", "value": 1}]), "containers[0].env[0].value of", "1"),
        (
            {"initContainers": [{"env": [{"name": "A", "value": 1}]}]},
            "initContainers[0].env[0].value of",
            "1",
        ),
        (
            {
                "affinity": {
                    "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [expressions("b", 1)]}}
                }
            },
            f"affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].values[1]",
            "1",
        ),
        (
            {"affinity": {"nodeAffinity": {PREFERRED: [{"preference": expressions(1)}]}}},
            f"affinity.nodeAffinity.{PREFERRED}[0].preference.matchExpressions[0].values[0] of",
            "1",
        ),
    ],
)
def test_what_is_to_be_text_is_put_in_quotes(spec: Any, message: str, text: str) -> None:
    (found,) = looked(checks.values_are_text, pod(spec))

    assert found.message.startswith(message)
    assert found.fix == f'Put it in quotes: "{text}".'
    assert [each.value for each in found.edits] == [text]


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeSelector": {"a": "true", "b": None, "c": UNKNOWN, "d": ["x"], "e": {}}},
        {"nodeSelector": "text", "tolerations": [{"key": "a"}, "text"]},
        {
            "affinity": {
                "nodeAffinity": {PREFERRED: [{"preference": {"matchExpressions": [{"values": 5}]}}]}
            }
        },
        {"affinity": {"podAffinity": {REQUIRED: [expressions(1)]}}},
        container(env=[{"name": "A", "valueFrom": {}}, "text"]),
        UNKNOWN,
    ],
)
def test_what_is_text_or_no_scalar_is_left(spec: Any) -> None:
    assert looked(checks.values_are_text, pod(spec)) == []


# Tolerations.


@pytest.mark.parametrize(
    ("given", "said_so", "fix", "edits"),
    [
        (
            {"key": "a", "operator": "exists"},
            'has the operator "exists".',
            "Write Exists.",
            (("operator", "Exists"),),
        ),
        (
            {"key": "a", "operator": "Near"},
            'has the operator "Near".',
            "Write one of Exists, Equal, Gt, Lt.",
            (),
        ),
        (
            {"key": "a", "effect": "NoSchedul"},
            'has the effect "NoSchedul".',
            "Write NoSchedule.",
            (("effect", "NoSchedule"),),
        ),
        (
            {"key": "a", "effect": "Never"},
            'has the effect "Never".',
            "Write one of NoSchedule, PreferNoSchedule, NoExecute.",
            (),
        ),
        (
            {"key": "a", "operator": "Exists", "value": "b"},
            'has the operator Exists and the value "b".',
            "Remove the value; Exists goes with any.",
            (("value", None),),
        ),
        (
            {"key": "a", "effect": "NoSchedule", "tolerationSeconds": 0},
            'has tolerationSeconds and the effect "NoSchedule".',
            "Remove it, or write effect: NoExecute; other effects end no pod that runs.",
            (("tolerationSeconds", None),),
        ),
        (
            {"key": "a", "tolerationSeconds": 9},
            "has tolerationSeconds and no effect.",
            "Remove it, or write effect: NoExecute; other effects end no pod that runs.",
            (),
        ),
        ({"value": "b"}, "has no key.", "Write its key, or operator: Exists for every taint.", ()),
        (
            {"key": "", "operator": "Equal"},
            "has no key.",
            "Write its key, or operator: Exists for every taint.",
            (),
        ),
        (
            {"operator": "", "key": None},
            "has no key.",
            "Write its key, or operator: Exists for every taint.",
            (),
        ),
    ],
)
def test_a_toleration_that_the_api_server_refuses(
    given: Any, said_so: str, fix: str, edits: tuple[tuple[str, Any], ...]
) -> None:
    (found,) = looked(checks.tolerations_are_valid, pod({"tolerations": [{"key": "x"}, given]}))

    assert found.message == f"A toleration of the Deployment app {said_so}"
    assert found.fix == fix
    assert [(each.path[-1], each.value) for each in found.edits] == list(edits)
    at_key = found.path[-1] in given
    assert at_key or found.path[-1] == 1


@pytest.mark.parametrize(
    "given",
    [
        {"operator": "Exists"},
        {"operator": "Exists", "value": ""},
        {"key": "a", "operator": "Exists", "value": None},
        {"key": "a", "operator": "", "effect": ""},
        {"key": "a", "operator": "Gt", "value": "5"},
        {"key": "a", "effect": "NoExecute", "tolerationSeconds": 9},
        {"key": "a", "effect": "NoSchedule", "tolerationSeconds": None},
        {"key": "a", "operator": "Equal", "value": "b", "effect": "PreferNoSchedule"},
        {"operator": UNKNOWN},
        {"key": UNKNOWN, "operator": "near"},
    ],
)
def test_a_toleration_that_it_takes(given: Any) -> None:
    assert looked(checks.tolerations_are_valid, pod({"tolerations": [given, "text"]})) == []


# Devices by a variable.


def seeing(value: Any, **more: Any) -> dict[str, Any]:
    return container(
        env=[{"name": "A", "value": "all"}, {"name": "NVIDIA_VISIBLE_DEVICES", "value": value}],
        **more,
    )


@pytest.mark.parametrize(
    "spec",
    [
        seeing("all"),
        seeing("0,1"),
        seeing(0),
        seeing("all", securityContext={"privileged": False}),
        seeing("all", image="nvcr.io/team/app:1"),
        seeing("all", image="my-nvidia/cuda:12"),
        # What users build on, and run.
        seeing("all", image="nvcr.io/nvidia/cuda:12"),
        {"initContainers": seeing("all")["containers"]},
    ],
)
def test_devices_by_hand_are_found(spec: Any) -> None:
    (found,) = looked(checks.devices_are_given, pod(spec))

    assert found.message.startswith("The Deployment app sets NVIDIA_VISIBLE_DEVICES to ")
    assert found.path[-3:] == ("env", 1, "value")


@pytest.mark.parametrize(
    "spec",
    [
        seeing("none"),
        seeing("void"),
        seeing(""),
        seeing(None),
        seeing(UNKNOWN),
        seeing("all", securityContext={"privileged": True}),
        seeing("all", image="nvcr.io/nvidia/k8s/dcgm-exporter:4"),
        seeing("all", image="nvidia/dcgm-exporter:4"),
        seeing("all", image="FILLED_BY_THE_OPERATOR"),
        seeing("all", image=UNKNOWN),
        container(env=[{"name": "CUDA_VISIBLE_DEVICES", "value": "0"}]),
    ],
)
def test_programs_that_may_see_all_are_not(spec: Any) -> None:
    assert looked(checks.devices_are_given, pod(spec)) == []


HIDDEN = "The Deployment app takes NVIDIA_VISIBLE_DEVICES out of a Secret."
BY_KEY = {"secretKeyRef": {"name": "hub", "key": "gpus"}}
WITH_ALL = [{"configMapRef": {"name": "a"}}, {"prefix": "NVIDIA_", "secretRef": {"name": "hub"}}]


def secret(keys: Any, name: str = "hub", namespace: str = "gpu") -> SecretKeys:
    return SecretKeys(source=pod({}).source, name=name, namespace=namespace, keys=keys)


def test_devices_out_of_a_secret_are_found() -> None:
    """Its value is not to be read, and a variable that names no device needs no hiding."""
    by_key = container(env=[{"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": BY_KEY}])
    (found,) = looked(checks.devices_are_given, pod(by_key))
    assert (found.message, found.path[-3:]) == (HIDDEN, ("env", 0, "valueFrom"))

    with_all = replace(pod(container(envFrom=WITH_ALL)), namespace="gpu")
    given = secret(frozenset(("TOKEN", "VISIBLE_DEVICES")))
    (found,) = looked(checks.devices_are_given, with_all, given)
    assert (found.message, found.path[-2:]) == (HIDDEN, ("envFrom", 1))


@pytest.mark.parametrize(
    "given",
    [
        secret(frozenset(("TOKEN",))),
        secret(frozenset(("NVIDIA_VISIBLE_DEVICES",))),
        secret(UNKNOWN),
        secret(frozenset(("VISIBLE_DEVICES",)), name="other"),
        secret(frozenset(("VISIBLE_DEVICES",)), namespace="other"),
    ],
)
def test_secrets_of_other_things_are_not(given: SecretKeys) -> None:
    with_all = replace(pod(container(envFrom=WITH_ALL)), namespace="gpu")
    other = container(env=[{"name": "TOKEN", "valueFrom": BY_KEY}])

    assert looked(checks.devices_are_given, with_all, pod(other), given) == []


# Names of GPUs.


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("alpha.kubernetes.io/nvidia-gpu", GPU),
        ("nvidia.com/GPU", GPU),
        ("nvidia/gpu", GPU),
        ("nvidia.com/gpus", GPU),
        ("nvidia.com/gpu-shared", f"{GPU}.shared"),
        ("nvidia.com/gpushare", f"{GPU}.shared"),
        ("Nvidia.com/gpu.shared", f"{GPU}.shared"),
        ("nvidia.com/mig_1g.5gb", "nvidia.com/mig-1g.5gb"),
        ("nvidia.com/1g.5gb", "nvidia.com/mig-1g.5gb"),
        ("nvidia.com/mig-1g5gb", "nvidia.com/mig-1g.5gb"),
        ("nvidia.com/mig-1g.5gb-shared", "nvidia.com/mig-1g.5gb.shared"),
    ],
)
def test_a_resource_that_is_written_nearly_right(name: str, meant: str) -> None:
    for part in ("limits", "requests"):
        spec = container(resources={part: {"cpu": 1, name: 1}})
        (found,) = looked(gpu_names.resources_have_known_names, pod(spec))

        assert found.fix == f"Write {meant}."
        assert found.edits == (Edit("rename", found.path, meant),)
        assert found.path[-2:] == (part, name)


@pytest.mark.parametrize(
    "name",
    [
        GPU,
        f"{GPU}.shared",
        "nvidia.com/mig-1g.5gb",
        "nvidia.com/mig-1g.5gb.shared",
        "nvidia.com/mig-1g.10gb.me",
        "nvidia.com/mig-1c.3g.20gb",
        "nvidia.com/pgpu",
        "nvidia.com/GA102GL_A10",
        "nvidia.com/a100-1g.5gb",
        "amd.com/gpu",
        "gpu",
        "example.com/nvidia/gpus",
    ],
)
def test_names_of_others_are_left(name: str) -> None:
    spec = container(resources={"limits": {name: 1}})

    assert looked(gpu_names.resources_have_known_names, pod(spec)) == []


def required(key: Any, operator: str) -> dict[str, Any]:
    expression = {"key": key, "operator": operator}
    terms = {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In"}, expression]}]
    }
    return {"affinity": {"nodeAffinity": {REQUIRED: terms}}}


BY_HAND = nodes(name="b", provisioner="byHand", instance_types=(), labels={GPU: "1"})


@pytest.mark.parametrize(
    ("items", "count"),
    [
        ((pod({"nodeSelector": {GPU: "1"}}),), 1),
        ((pod({"nodeSelector": {f"{GPU}.shared": "1"}}),), 1),
        ((pod({"nodeSelector": {"nvidia.com/mig-1g.5gb": "1"}}),), 1),
        ((pod(required(GPU, "Exists")),), 1),
        ((pod(required(GPU, "In")),), 1),
        ((pod(required(GPU, "NotIn")),), 0),
        ((pod(required(GPU, "DoesNotExist")),), 0),
        ((pod(required(UNKNOWN, "Exists")),), 0),
        ((pod({"nodeSelector": {"nvidia.com/gpu.present": "true"}}),), 0),
        ((pod({"nodeSelector": {GPU: "1"}}), nodes()), 1),
        (
            (
                pod(
                    container(
                        resources={"limits": {GPU: 1}},
                    )
                    | {"nodeSelector": {GPU: "1"}}
                ),
                nodes(),
            ),
            0,
        ),
        ((pod({"nodeSelector": {GPU: "1"}}), BY_HAND), 0),
        ((pod({"nodeSelector": {f"{GPU}.shared": "1"}}), BY_HAND), 1),
        (
            (
                pod({"nodeSelector": {GPU: "1"}}),
                nodes(name="b", provisioner="byHand", instance_types=(), labels=UNKNOWN),
            ),
            0,
        ),
    ],
)
def test_a_resource_is_no_label(items: tuple[Item, ...], count: int) -> None:
    assert len(looked(gpu_names.resources_are_no_labels, *items)) == count


MIG = pods({"nvidia.com/mig-1g.5gb": 1, "nvidia.com/mig-2g.10gb": 1})


@pytest.mark.parametrize(
    ("items", "strategy"),
    [
        ((plugin(), MIG), "none"),
        ((plugin({"migStrategy": "single"}), MIG), "single"),
        ((operator(), MIG), "single"),
        ((operator({"mig": {"strategy": "none"}}), MIG), "none"),
        ((plugin(), MIG, nodes(provisioner="byHand")), "none"),
        ((plugin({"migStrategy": "mixed"}), MIG), None),
        ((plugin({"migStrategy": UNKNOWN}), MIG), None),
        ((plugin(UNKNOWN), MIG), None),
        ((plugin(), operator(), MIG), None),
        ((plugin({"config": {"map": {"a": {}}}}), MIG), None),
        ((plugin(), pods({GPU: 1})), None),
        ((plugin(), MIG, nodes()), None),
        ((chart("dcgm-exporter"), MIG), None),
    ],
)
def test_names_of_mig_devices_go_with_the_strategy(
    items: tuple[Item, ...], strategy: str | None
) -> None:
    found = looked(gpu_names.names_go_with_the_strategy, *items)

    assert len(found) == (strategy is not None)
    called = {
        "single": "whose MIG devices are called nvidia.com/gpu.",
        "none": "which makes no MIG devices known.",
    }
    for each in found:
        assert f"has the MIG strategy {strategy}, {called[str(strategy)]}" in each.message
        assert each.path[-1] == "nvidia.com/mig-1g.5gb"


# What pods ask for, and what a node has.


def asking(cpu: Any = None, memory: Any = None, **more: Any) -> dict[str, Any]:
    requests = {"cpu": cpu, "memory": memory}
    given = {key: value for key, value in requests.items() if value is not None}
    return {"resources": {"requests": given, "limits": {GPU: 1}}, **more}


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [asking("500m"), asking(1)]}, 1.5),
        ({"containers": [asking(1)], "initContainers": [asking(3)]}, 3),
        ({"containers": [asking(3)], "initContainers": [asking(1)]}, 3),
        ({"containers": [asking(1)], "initContainers": [asking(2, restartPolicy="Always")]}, 3),
        (
            {
                "containers": [asking(1)],
                "initContainers": [asking(2, restartPolicy="Always"), asking(3)],
            },
            5,
        ),
        (
            {
                "containers": [asking(1)],
                "initContainers": [asking(3), asking(2, restartPolicy="Always")],
            },
            3,
        ),
        (
            {
                "containers": [asking(1)],
                "initContainers": [asking(2, restartPolicy="Always")] * 2 + [asking(1)],
            },
            5,
        ),
        ({"containers": [asking(1)], "resources": {"requests": {"cpu": 4}}}, 4),
        ({"containers": [asking(1)], "resources": {"requests": {"cpu": 0}}}, 0),
        ({"containers": [{}], "initContainers": [asking("500m")]}, 0.5),
        ({"containers": [asking(cpu=True), asking(-1), asking("many"), asking(UNKNOWN)]}, 0),
        ({"containers": [{"resources": {"limits": {"cpu": 2}}}]}, 2),
        ({"containers": [{"resources": {"limits": {"cpu": 2}, "requests": {"cpu": 1}}}]}, 1),
    ],
)
def test_what_a_pod_asks_for(spec: Any, cpu: float) -> None:
    assert float(demand_of(spec).amounts.get("cpu", 0)) == cpu


def test_what_a_pod_asks_for_stands_where_most_of_it_does() -> None:
    found = demand_of({"containers": [asking(1), asking(2), asking(2)]})

    assert found.places["cpu"] == ("containers", 1, "resources", "requests", "cpu")
    assert found.of_devices() == {GPU: 3}
    spec = {"containers": [{"resources": {"limits": {GPU: "500m", "ephemeral-storage": 1}}}]}
    assert demand_of(spec).of_devices() == {}
    assert "ephemeral-storage" not in demand_of(spec).amounts
    own = demand_of({"containers": [asking(5)], "resources": {"requests": {"cpu": 4}}})
    assert own.places["cpu"] == ("resources", "requests", "cpu")


def sliced(replicas: int) -> Item:
    block = {"resources": [{"name": GPU, "replicas": replicas}]}
    return plugin({"config": {"map": {"default": {"sharing": {"timeSlicing": block}}}}})


POOL = nodes("g5.2xlarge", labels=PRESENT)
ROOM = allocatable(gpu_instance_types()["g5.2xlarge"])


def filling(replicas: Any, **asked: Any) -> Workload:
    return pods(spec={"containers": [asking(**asked)]}, replicas=replicas)


@pytest.mark.parametrize(
    ("items", "count"),
    [
        ((POOL, sliced(8), filling(8, cpu=2)), 1),
        ((POOL, sliced(8), filling(4, cpu=2)), 1),
        ((POOL, sliced(8), filling(3, cpu=2)), 0),
        ((POOL, sliced(3), filling(8, cpu=2)), 0),
        ((POOL, sliced(4), filling(8, cpu=2)), 1),
        ((POOL, sliced(8), filling(8, cpu="100m")), 0),
        ((POOL, sliced(8), filling(8, cpu=5)), 1),
        ((POOL, sliced(8), filling(8, cpu=9)), 0),  # not one fits, which is said elsewhere
        ((POOL, sliced(8), filling(8, memory="8Gi")), 1),
        ((POOL, sliced(8), filling(8, memory="1Gi")), 0),
        ((POOL, sliced(8), filling(8)), 0),
        ((POOL, sliced(8), filling(None, cpu=2)), 0),
        ((POOL, sliced(8), filling(UNKNOWN, cpu=2)), 0),
        ((POOL, plugin(UNKNOWN), filling(8, cpu=2)), 0),
        ((nodes("g9.xlarge", labels=PRESENT), sliced(8), filling(8, cpu=2)), 0),
        (
            (
                nodes("g5.2xlarge", labels=PRESENT, taints=[("a", "b", "NoSchedule")]),
                sliced(8),
                filling(8, cpu=2),
            ),
            0,
        ),
        # Said once of pods, of the first nodes that they may be on.
        ((POOL, nodes("g5.2xlarge", labels=PRESENT, name="b"), sliced(8), filling(8, cpu=2)), 1),
    ],
)
def test_shares_are_reached_before_cpu_or_memory_runs_out(
    items: tuple[Item, ...], count: int
) -> None:
    assert len(looked(room.shares_are_reached, *items)) == count


def test_what_runs_out_is_named() -> None:
    (cpu,) = looked(room.shares_are_reached, POOL, sliced(8), filling(8, cpu=2))
    (memory,) = looked(room.shares_are_reached, POOL, sliced(8), filling(8, memory="8Gi"))

    assert cpu.message == (
        "The Deployment app has 8 pods; 3 of the 8 that the shares of a g5.2xlarge are for fit on "
        f"it: it has {ROOM.cpu_millis}m of cpu for pods."
    )
    assert f"it has {ROOM.memory_mib} MiB of memory for pods." in memory.message
    assert memory.path[-2:] == ("requests", "memory")


def of_map(*replicas: int) -> Item:
    text = (
        "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: %d}]}}"
    )
    return config_map("a", {str(each): text % each for each in replicas} | {"b": "x: y", "c": 5})


HAS, IF = "has", "has, if the device plugin goes by the configuration here,"


@pytest.mark.parametrize(
    ("items", "known"),
    [
        ((POOL, sliced(7)), None),
        ((POOL, sliced(8)), HAS),
        ((POOL, plugin(UNKNOWN), of_map(8)), IF),
        ((POOL, plugin(UNKNOWN), of_map(7)), None),
        ((POOL, plugin(UNKNOWN), of_map(8, 9)), None),
        ((POOL, plugin(UNKNOWN), config_map("a", UNKNOWN)), None),
        ((POOL, plugin(UNKNOWN)), None),
        ((POOL, plugin(), of_map(8)), None),
        ((nodes("g5.2xlarge", advertised={"g5.2xlarge": {GPU: 8}}), of_map(8)), None),
        ((nodes("g9.xlarge", labels=PRESENT), sliced(8)), None),
        (
            (nodes("p4d.24xlarge", labels=PRESENT, user_data='MIG_LAYOUT="*=19:0"'), sliced(100)),
            None,
        ),
    ],
)
def test_a_share_comes_with_a_cpu(items: tuple[Item, ...], known: str | None) -> None:
    found = looked(thin_shares.shares_have_a_cpu, *items)

    assert len(found) == (known is not None)
    for each in found:
        assert each.message.startswith(f"A g5.2xlarge of the node group gpu {known} 8 shares: of")
        assert f"gets {ROOM.cpu_millis // 8}m and {ROOM.memory_mib // 8} MiB" in each.message


def test_a_configuration_that_is_known_says_little_of_gpus_that_are_not() -> None:
    pool = nodes("p4d.24xlarge", labels=PRESENT, user_data=UNKNOWN)
    text = "version: v1\nsharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 100}]}}"
    release = plugin({"migStrategy": "mixed", "config": {"name": "a"}})
    (found,) = looked(
        thin_shares.shares_have_a_cpu, pool, release, config_map("a", {"default": text})
    )

    assert f"of the node group gpu {IF} 800 shares" in found.message


def test_a_share_comes_with_a_gibibyte() -> None:
    small = gpu_instance_types()["g4dn.xlarge"]
    most = min(allocatable(small).cpu_millis // 1000, allocatable(small).memory_mib // 1024)

    assert looked(thin_shares.shares_have_a_cpu, nodes("g4dn.xlarge"), sliced(most)) == []
    assert looked(thin_shares.shares_have_a_cpu, nodes("g4dn.xlarge"), sliced(most + 1))
