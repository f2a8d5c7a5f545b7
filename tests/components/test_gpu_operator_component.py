from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml

from eks_gpushare.catalog import versions

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

EXCLUSIVE = {"instance_types": ["g6.2xlarge"], "sharing": {"mode": "exclusive"}}
MIG = {
    "instance_types": ["p4d.24xlarge"],
    "sharing": {"mode": "mig", "layout": "all-1g.5gb", "apply": "migManager"},
}


def shared(replicas: int, **more: Any) -> dict[str, Any]:
    sharing = {"mode": "timeSlicing", "replicas": replicas}
    return {"instance_types": ["g6.2xlarge"], "sharing": sharing, **more}


def test_a_gpu_operator_with_defaults(
    gpu_operator: Callable[..., Run], golden: Callable[[str, str], None]
) -> None:
    golden("components/gpu-operator.json", gpu_operator().text())


def test_a_gpu_operator_with_mig_manager(
    gpu_operator: Callable[..., Run], golden: Callable[[str, str], None]
) -> None:
    made = gpu_operator(pools={"mig": MIG, "gpu": shared(4)})

    golden("components/gpu-operator.mig-manager.txt", "\n".join(made.urns) + "\n")


def test_a_preview_and_an_update_register_the_same(gpu_operator: Callable[..., Run]) -> None:
    assert gpu_operator(preview=False).urns == gpu_operator().urns


def test_the_release_is_an_exact_version_that_is_rolled_back_if_it_fails(
    gpu_operator: Callable[..., Run],
) -> None:
    release = gpu_operator().inputs("Release")

    assert [release[key] for key in ("chart", "version", "atomic", "timeout", "maxHistory")] == [
        "gpu-operator",
        versions.GPU_OPERATOR.version,
        True,
        900,
        5,
    ]


def test_upgrade_hooks_and_custom_resource_definitions_are_not_skipped(
    gpu_operator: Callable[..., Run],
) -> None:
    """Among the hooks of an upgrade is the one that upgrades the definitions."""
    refused = {"disableCRDHooks", "skipCrds", "disableOpenapiValidation"}

    assert refused & set(gpu_operator().inputs("Release")) == set()


def test_undoing_an_installation_that_failed_waits_for_no_hook(
    gpu_operator: Callable[..., Run],
) -> None:
    """The hook before a deletion runs the image that could not be started."""
    release = gpu_operator().one("Release")

    assert release.inputs["disableWebhooks"] is True
    assert release.options["ignoreChanges"] == ["disableWebhooks"]


def test_the_namespace_lets_privileged_pods_in(gpu_operator: Callable[..., Run]) -> None:
    assert gpu_operator().inputs("Namespace")["metadata"] == {
        "name": "gpu-operator",
        "labels": {"pod-security.kubernetes.io/enforce": "privileged"},
    }


def test_the_configuration_lies_in_the_operator_s_own_namespace(
    gpu_operator: Callable[..., Run],
) -> None:
    made = gpu_operator(namespace="gpus")

    config, release = made.inputs("ConfigMap"), made.inputs("Release")
    assert (config["metadata"]["namespace"], release["namespace"]) == ("gpus", "gpus")
    assert config["immutable"] is True


def test_the_documents_are_those_of_the_device_plugin_s_own_chart(
    gpu_operator: Callable[..., Run], device_plugin: Callable[..., Run]
) -> None:
    pools = {"a": shared(4), "b": EXCLUSIVE}

    made, other = gpu_operator(pools=pools), device_plugin(pools=pools)

    assert made.inputs("ConfigMap")["data"] == other.inputs("ConfigMap")["data"]


def test_the_release_names_the_config_map_of_its_content(
    gpu_operator: Callable[..., Run],
) -> None:
    names = []
    for replicas in (4, 10):
        made = gpu_operator(pools={"gpu": shared(replicas)}, preview=False)
        name = made.inputs("ConfigMap")["metadata"]["name"]
        assert made.inputs("Release")["values"]["devicePlugin"]["config"] == {
            "create": False,
            "default": "default",
            "name": name,
        }
        names.append(name)

    assert names[0] != names[1]


def test_replicas_change_the_config_map_and_the_release_alone(
    gpu_operator: Callable[..., Run],
) -> None:
    before = gpu_operator(pools={"gpu": shared(4)}, preview=False)
    after = gpu_operator(pools={"gpu": shared(10)}, preview=False)

    assert after.changed_from(before) == {
        "ConfigMap demo-config",
        "GpuOperator demo",
        "Release demo-release",
    }


def test_a_size_or_a_disk_does_not_show_the_operator_as_changed(
    gpu_operator: Callable[..., Run],
) -> None:
    before = gpu_operator(pools={"gpu": shared(4)})
    after = gpu_operator(pools={"gpu": shared(4, nodes={"max": 9}, root_volume_gib=500)})

    assert after.changed_from(before) == set()


def test_a_layout_that_mig_manager_makes_is_in_a_config_map_of_its_own(
    gpu_operator: Callable[..., Run],
) -> None:
    made = gpu_operator(pools={"mig": MIG})

    config = made.inputs("ConfigMap", "demo-mig-config")
    assert config["immutable"] is True
    assert set(yaml.safe_load(config["data"]["config.yaml"])["mig-configs"]) == {
        "all-1g.5gb",
        "all-disabled",
    }
    assert made.inputs("Release")["values"]["migManager"] == {
        "enabled": True,
        "config": {"create": False, "default": "", "name": config["metadata"]["name"]},
        "env": [{"name": "WITH_REBOOT", "value": "true"}],
    }


def test_somebody_takes_the_startup_taint_away(gpu_operator: Callable[..., Run]) -> None:
    made = gpu_operator(pools={"mig": MIG})

    expected = json.loads(
        made.inputs("ConfigMap", "demo-mig-taint-remover")["data"]["expected.json"]
    )
    assert expected == {
        "mig": {
            "config": "all-1g.5gb",
            "advertises": {"p4d.24xlarge": {"nvidia.com/mig-1g.5gb": 56}},
        }
    }


def test_the_image_of_who_does_so_can_be_named(gpu_operator: Callable[..., Run]) -> None:
    image = "registry.example.com/python:3.13"

    made = gpu_operator(pools={"mig": MIG}, mig_taint_remover_image=image)

    pod = made.inputs("Deployment")["spec"]["template"]["spec"]
    assert [each["image"] for each in pod["containers"]] == [image]


def test_a_layout_that_the_node_s_boot_makes_needs_no_mig_manager(
    gpu_operator: Callable[..., Run],
) -> None:
    at_boot = {**MIG, "sharing": {"mode": "mig", "layout": "all-1g.5gb"}}

    made = gpu_operator(pools={"mig": at_boot})

    assert made.urns == gpu_operator(pools={"mig": EXCLUSIVE}).urns


def test_a_chart_on_disk_has_its_own_version(gpu_operator: Callable[..., Run]) -> None:
    release = gpu_operator(chart={"path": "charts/gpu-operator"}).inputs("Release")

    assert [release.get(key) for key in ("chart", "version", "repositoryOpts")] == [
        "charts/gpu-operator",
        None,
        None,
    ]


def test_the_cluster_s_provider_reaches_every_object(gpu_operator: Callable[..., Run]) -> None:
    made = gpu_operator(pools={"mig": MIG})

    provider = made.one("kubernetes", "cluster").urn
    objects = [each for each in made if each.type.startswith("kubernetes:")]
    assert {each.provider for each in objects} == {provider}


def test_a_replaced_release_is_deleted_first(gpu_operator: Callable[..., Run]) -> None:
    """Its name is fixed, so two cannot stand side by side."""
    assert gpu_operator().one("Release").options["deleteBeforeReplace"] is True


def test_bottlerocket_with_its_own_device_plugin_is_left_alone(
    gpu_operator: Callable[..., Run],
) -> None:
    made = gpu_operator(pools={"gpu": shared(4), "rocket": shared(4, ami_family="bottlerocket")})

    assert made.changed_from(gpu_operator(pools={"gpu": shared(4)})) == set()


OPERATOR = {"manager": "gpuOperator"}


def test_an_environment_has_one_of_the_two_managers(environment: Callable[..., Run]) -> None:
    made = environment(gpu_stack=OPERATOR)

    assert [len(made.all(kind)) for kind in ("GpuOperator", "DevicePlugin")] == [1, 0]
    assert made.one("GpuOperator").name == "demo-gpu-operator"


def test_the_operator_goes_before_its_nodes_do(environment: Callable[..., Run]) -> None:
    made = environment(gpu_stack=OPERATOR)

    assert {"demo-gpu", "demo-system"} <= set(made.depends("GpuOperator"))


ENVIRONMENT_URN = "urn:pulumi:test::demo::eks-gpushare:index:GpuSharingEnvironment"
PLUGIN_ALIAS = {
    "name": "demo-device-plugin-release",
    "parentUrn": f"{ENVIRONMENT_URN}$eks-gpushare:index:DevicePlugin::demo-device-plugin",
}
OPERATOR_ALIAS = {
    "name": "demo-gpu-operator-release",
    "parentUrn": f"{ENVIRONMENT_URN}$eks-gpushare:index:GpuOperator::demo-gpu-operator",
}


def test_the_chart_of_one_manager_is_taken_for_the_other_s(environment: Callable[..., Run]) -> None:
    """So Pulumi removes the one before it installs the other."""
    operator = environment(gpu_stack=OPERATOR).one("Release")
    plugin = environment().one("Release")

    assert [each.options["aliases"] for each in (operator, plugin)] == [
        [PLUGIN_ALIAS],
        [OPERATOR_ALIAS],
    ]


def test_nothing_else_of_one_manager_is_taken_for_the_other_s(
    environment: Callable[..., Run],
) -> None:
    """So it is still there when a switch failed, and waits for no deletion."""
    made = environment(gpu_stack=OPERATOR)

    assert [r.type for r in made.recording.resources if r.options.get("aliases")] == [
        made.one("Release").type
    ]


def test_a_namespace_that_is_given_is_the_same_for_both_managers(
    environment: Callable[..., Run],
) -> None:
    made = environment(gpu_stack={**OPERATOR, "namespace": "gpus"}).one("Namespace")

    assert made.options["aliases"] == [
        {**PLUGIN_ALIAS, "name": "demo-device-plugin-namespace"},
    ]


def test_the_namespace_and_the_chart_of_an_environment_reach_the_operator(
    environment: Callable[..., Run],
) -> None:
    values = {"gfd": {"resources": {"limits": {"cpu": "1"}}}}

    made = environment(
        gpu_stack={**OPERATOR, "namespace": "gpus"}, charts={"gpu_operator": {"values": values}}
    )

    release = made.inputs("Release")
    assert (release["namespace"], release["values"]["gfd"]) == ("gpus", values["gfd"])


def test_mig_manager_on_bottlerocket_is_refused(gpu_operator: Callable[..., Run]) -> None:
    sharing = {"mode": "mig", "layout": "all-1g.5gb", "apply": "migManager", "strategy": "single"}
    pool = {**MIG, "ami_family": "bottlerocket", "sharing": sharing}

    assert "GPU256" in gpu_operator(pools={"b": pool}, fails=True).error


def test_the_operators_plugin_on_bottlerocket_is_refused(gpu_operator: Callable[..., Run]) -> None:
    pool = shared(4, ami_family="bottlerocket", bottlerocket={"device_plugin": "chart"})

    assert "GPU259" in gpu_operator(pools={"b": pool}, fails=True).error
