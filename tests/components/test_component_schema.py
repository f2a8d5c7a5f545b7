"""Arguments of components: the same in the typed dictionaries, the models and other languages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import component_schema
import pulumi
import pytest
from component_models import BLOCKS, COMPONENTS, ELSEWHERE, SPECS
from tests.conftest import sampled

import eks_gpushare
from eks_gpushare import args
from eks_gpushare.plugin.provider import ComponentsProvider

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

    from eks_gpushare.config.base import Model

ROOT = Path(__file__).parents[2]


def required(model: type[Model]) -> set[str]:
    """Fields that have to be given; a mode always, for it tells which model is meant."""
    return {
        name for name, field in model.model_fields.items() if field.is_required() or name == "mode"
    }


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block[0].__name__)
def test_a_block_has_the_keys_of_its_model(block: tuple[type, tuple[type[Model], ...]]) -> None:
    typed, models = block

    assert set(typed.__annotations__) == {name for m in models for name in m.model_fields}


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block[0].__name__)
def test_a_block_requires_what_its_models_all_require(
    block: tuple[type, tuple[type[Model], ...]],
) -> None:
    typed, models = block

    assert typed.__required_keys__ == set.intersection(*(required(m) for m in models))  # type: ignore[attr-defined]  # a TypedDict


def test_every_block_is_compared_with_its_model() -> None:
    typed = {each for each in vars(args).values() if hasattr(each, "__required_keys__")}

    assert typed == {each for each, _ in BLOCKS}


def arguments(component: str) -> Any:
    return getattr(eks_gpushare, f"{component}Args")


def is_wire(annotation: object) -> bool:
    """Whether an argument may be an output."""
    return "Output" in str(annotation)


@pytest.mark.parametrize("component", COMPONENTS)
def test_arguments_are_those_of_the_model_and_wires(component: str) -> None:
    annotations = arguments(component).__annotations__

    known = SPECS[component].model_fields.keys() - ELSEWHERE.get(component, set())
    plain = {name for name, annotation in annotations.items() if not is_wire(annotation)}
    assert plain <= known <= annotations.keys()


LATE = [
    (typed, name, field.annotation, field.metadata)
    for typed, kinds in [*BLOCKS, *((arguments(each), (SPECS[each],)) for each in COMPONENTS)]
    for kind in kinds
    for name, field in kind.model_fields.items()
    if name in typed.__annotations__
]


def test_what_takes_outputs_says_so_in_its_type() -> None:
    """Chart values take them anywhere inside, and are of any type."""
    for typed, name, annotation, metadata in LATE:
        takes = "TakesOutput" in f"{annotation}{metadata}" and name != "values"

        assert is_wire(typed.__annotations__[name]) is takes, (typed.__name__, name)


@pytest.mark.parametrize("component", COMPONENTS)
def test_plain_arguments_are_required_where_the_model_requires_them(component: str) -> None:
    typed, spec = arguments(component), SPECS[component]

    plain = typed.__required_keys__ & spec.model_fields.keys()
    assert plain == {name for name, field in spec.model_fields.items() if field.is_required()}


@pytest.mark.parametrize("component", sampled(COMPONENTS, 2))
def test_registered_outputs_are_the_described_ones(
    component: str, environment: Callable[..., Run], kueue: Callable[..., Run]
) -> None:
    kind = getattr(eks_gpushare, component)
    described = {camel(name) for name in kind.__annotations__ if name != "provider"}

    manager = "gpuOperator" if component == "GpuOperator" else "devicePlugin"
    pool = {
        "instance_types": ["p4d.24xlarge"],
        "sharing": {"mode": "exclusive"},
        "efa": component == "EfaDevicePlugin",
    }
    if component.startswith("Karpenter"):
        pool |= {"provisioner": "karpenter", "nodes": {"max": 2}}
    more: dict[str, Any] = {}
    if component == "ClusterAutoscaler":
        pool["scaled_by"], more["cluster_autoscaler"] = "autoscaler", {}
    if component in {"Keda", "SharedWorkload"}:
        more = {
            "keda": {"prometheus": {"url": "http://prometheus:9090"}},
            "workloads": {"model": {"pool": "gpu", "image": "model:1", "port": 80}},
        }
    if component in {"Tenants", "GpuSharingEnvironment"}:
        contract = {"namespaces": ["team"], "pools": {"gpu": {"guaranteed": {"shares": 1}}}}
        more["tenants"] = {"team": contract}
    if component == "GpuMetrics":
        more["observability"] = {"prometheus": {"url": "http://prometheus:9090"}}
    if component == "ShareVerifier":
        more["verifier"] = {"image": "registry.example.com/verify:1.0"}
    given: dict[str, Any] = {"gpu_stack": {"manager": manager}, "pools": {"gpu": pool}, **more}
    alone = component == "Kueue"  # no part of an environment
    made = kueue(preview=False) if alone else environment(preview=False, **given)
    found = made.all(component)
    assert {frozenset(each.outputs) for each in found} == {frozenset(described)}


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@pytest.fixture(scope="module")
def host() -> ComponentsProvider:
    """The provider that offers the components to other languages."""
    return ComponentsProvider()


def test_the_schema_for_other_languages_is_current(golden: Callable[[str, str], None]) -> None:
    """It is public: what a diff of it takes away, programs in other languages lose."""
    golden("../../components/eks_gpushare/plugin/schema.json", component_schema.text())


def test_descriptions_are_not_in_python() -> None:
    text = component_schema.text()

    assert "ResourceOptions" not in text
    assert re.findall(r"`[a-z0-9]+_[a-z0-9_]+`", text) == []


def test_the_schema_holds_every_component(host: ComponentsProvider) -> None:
    schema = json.loads(host.schema or "")

    assert set(schema["resources"]) == {f"eks-gpushare:index:{name}" for name in COMPONENTS}


def construct(
    record: Callable[..., Run],
    host: ComponentsProvider,
    component: str,
    inputs: dict[str, Any],
    **wires: Any,
) -> Run:
    """Make a component as the host does for a program in another language."""

    def program() -> None:
        import pulumi_kubernetes

        provider = pulumi_kubernetes.Provider("cluster", kubeconfig="{}")
        options = pulumi.ResourceOptions(providers=[provider])
        outputs = {name: pulumi.Output.from_input(value) for name, value in wires.items()}
        token = f"eks-gpushare:index:{component}"
        made = host.construct("demo", token, {**inputs, **outputs}, options)
        for name, value in made.state.items():
            pulumi.export(name, value)

    return record(program, preview=False)


def test_a_pool_is_made_for_another_language(
    record: Callable[..., Run], host: ComponentsProvider
) -> None:
    """Keys are camelCase and numbers are floating there."""
    run = construct(
        record,
        host,
        "GpuPool",
        {
            "pool": "gpu",
            "instanceTypes": ["g6.2xlarge"],
            "rootVolumeGiB": 150.0,
            "nodes": {"min": 1.0, "max": 3.0},
            "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}],
            "sharing": {
                "mode": "timeSlicing",
                "replicas": 2.0,
                "rename": True,
                "failRequestsGreaterThanOne": False,
            },
        },
        clusterName="demo",
        clusterSubnetIds=["subnet-0a"],
    )

    group = run.inputs("NodeGroup")
    assert (group["clusterName"], group["subnetIds"]) == ("demo", ["subnet-0a"])
    assert group["scalingConfig"] == {"minSize": 1, "desiredSize": 1, "maxSize": 3}
    assert run.inputs("LaunchTemplate")["blockDeviceMappings"][0]["ebs"]["volumeSize"] == 150
    assert run.recording.outputs == {
        "nodeGroupName": run.one("NodeGroup").outputs["nodeGroupName"],
        "nodeSelector": {"eks-gpushare/pool": "gpu"},
        "request": {"nvidia.com/gpu.shared": 1},
        "served": {
            "name": "gpu",
            "instanceTypes": ["g6.2xlarge"],
            "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}],
            "sharing": {
                "mode": "timeSlicing",
                "replicas": 2,
                "rename": True,
                "failRequestsGreaterThanOne": False,
            },
        },
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    }


def test_a_device_plugin_is_made_for_another_language(
    record: Callable[..., Run], host: ComponentsProvider, device_plugin: Callable[..., Run]
) -> None:
    """Blocks within a mapping by name, and values whose keys are nobody's to translate."""
    values = {"priorityClassName": "high"}
    pool = {"instanceTypes": ["g6.2xlarge"], "sharing": {"mode": "timeSlicing", "replicas": 4.0}}

    run = construct(
        record, host, "DevicePlugin", {"pools": {"gpu": pool}, "chart": {"values": values}}
    )

    alone = device_plugin(preview=False, chart={"values": values})
    assert run.inputs("Release") == alone.inputs("Release")
    assert run.inputs("ConfigMap") == alone.inputs("ConfigMap")


def test_served_pools_are_taken_from_another_language(
    record: Callable[..., Run], host: ComponentsProvider, device_plugin: Callable[..., Run]
) -> None:
    """There they are written by hand: a pool's own are for programs in Python."""
    pool = {"instanceTypes": ["g6.2xlarge"], "sharing": {"mode": "timeSlicing", "replicas": 4.0}}

    run = construct(record, host, "DevicePlugin", {"served": [{"name": "gpu", **pool}]})

    alone = device_plugin(preview=False)
    assert run.inputs("DevicePlugin") == alone.inputs("DevicePlugin")
    assert run.inputs("ConfigMap") == alone.inputs("ConfigMap")


def test_what_is_wrong_is_said_to_another_language_too(
    record: Callable[..., Run], host: ComponentsProvider
) -> None:
    def program() -> None:
        inputs = {"clusterName": "demo", "subnetIds": ["subnet-0a"], "nodes": {"min": 5, "max": 1}}
        host.construct("demo", "eks-gpushare:index:SystemNodes", inputs)

    assert "SystemNodes: 1 argument is wrong:\n  nodes: min 5, desired 5 and max 1" in (
        record(program, fails=True).error
    )
