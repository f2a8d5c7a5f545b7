from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from eks_gpushare.catalog import versions
from eks_gpushare.program.fakes import fakes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

    from eks_gpushare.program.fakes.types import Plan
    from eks_gpushare.program.recording import Resource

EXCLUSIVE = {"instance_types": ["g6.2xlarge"], "sharing": {"mode": "exclusive"}}


def shared(replicas: int, **more: Any) -> dict[str, Any]:
    sharing = {"mode": "timeSlicing", "replicas": replicas}
    return {"instance_types": ["g6.2xlarge"], "sharing": sharing, **more}


def test_a_device_plugin_with_defaults(
    device_plugin: Callable[..., Run], golden: Callable[[str, str], None]
) -> None:
    golden("components/device-plugin.json", device_plugin().text())


def test_a_preview_and_an_update_register_the_same(device_plugin: Callable[..., Run]) -> None:
    assert device_plugin(preview=False).urns == device_plugin().urns


def test_there_is_a_key_per_pool_and_a_safe_default(device_plugin: Callable[..., Run]) -> None:
    made = device_plugin(pools={"b": shared(4), "a": EXCLUSIVE})

    data = made.inputs("ConfigMap")["data"]
    assert {key: yaml.safe_load(text) for key, text in data.items()} == {
        "a": {"version": "v1", "flags": {"migStrategy": "none"}},
        "b": {
            "version": "v1",
            "flags": {"migStrategy": "none"},
            "sharing": {
                "timeSlicing": {
                    "renameByDefault": False,
                    "failRequestsGreaterThanOne": True,
                    "resources": [{"name": "nvidia.com/gpu", "replicas": 4}],
                }
            },
        },
        "default": {"version": "v1", "flags": {"migStrategy": "none"}},
    }


def test_the_release_names_the_config_map_of_its_content(
    device_plugin: Callable[..., Run],
) -> None:
    names = []
    for replicas in (4, 10):
        made = device_plugin(pools={"gpu": shared(replicas)}, preview=False)
        name = made.inputs("ConfigMap")["metadata"]["name"]
        assert made.inputs("Release")["values"]["config"] == {"default": "default", "name": name}
        names.append(name)

    assert names[0] != names[1]


def test_the_config_map_cannot_change_in_place(device_plugin: Callable[..., Run]) -> None:
    assert device_plugin().inputs("ConfigMap")["immutable"] is True


def test_replicas_change_the_config_map_and_the_release_alone(
    device_plugin: Callable[..., Run],
) -> None:
    before = device_plugin(pools={"gpu": shared(4)}, preview=False)
    after = device_plugin(pools={"gpu": shared(10)}, preview=False)

    assert after.changed_from(before) == {
        "ConfigMap demo-config",
        "DevicePlugin demo",
        "Release demo-release",
    }


def test_the_order_of_pools_changes_nothing_on_the_cluster(
    device_plugin: Callable[..., Run],
) -> None:
    before = device_plugin(pools={"a": EXCLUSIVE, "b": shared(4)})
    after = device_plugin(pools={"b": shared(4), "a": EXCLUSIVE})

    assert after.changed_from(before) == set()


def test_a_size_or_a_disk_does_not_show_the_plugin_as_changed(
    device_plugin: Callable[..., Run],
) -> None:
    before = device_plugin(pools={"gpu": shared(4)})
    after = device_plugin(pools={"gpu": shared(4, nodes={"max": 9}, root_volume_gib=500)})

    assert after.changed_from(before) == set()


def release(run: Run, *keys: str) -> list[Any]:
    given = run.inputs("Release")
    return [given.get(key) for key in keys]


def test_a_chart_version_and_a_mirror_can_be_named(device_plugin: Callable[..., Run]) -> None:
    mirror = "https://charts.example.com"

    made = device_plugin(chart={"version": "0.19.1", "repository": mirror})

    assert release(made, "chart", "version", "repositoryOpts") == [
        "nvidia-device-plugin",
        "0.19.1",
        {"repo": mirror},
    ]


def test_a_mirror_in_an_oci_registry_is_the_chart_s_own_address(
    device_plugin: Callable[..., Run],
) -> None:
    """Helm has no repository there: it refuses `--repo oci://...`."""
    address = "oci://registry.example.com/charts/nvidia-device-plugin"

    made = device_plugin(chart={"repository": address})

    version = versions.DEVICE_PLUGIN.version
    assert release(made, "chart", "version", "repositoryOpts") == [address, version, None]


def test_a_chart_on_disk_has_its_own_version(device_plugin: Callable[..., Run]) -> None:
    made = device_plugin(chart={"path": "charts/nvidia-device-plugin"})

    assert release(made, "chart", "version", "repositoryOpts") == [
        "charts/nvidia-device-plugin",
        None,
        None,
    ]


def test_values_are_merged_over_the_derived_ones(device_plugin: Callable[..., Run]) -> None:
    given = {"priorityClassName": "high", "nfd": {"worker": {"priorityClassName": "low"}}}

    made = device_plugin(chart={"values": given})

    before = device_plugin().inputs("Release")["values"]
    worker = {**before["nfd"]["worker"], "priorityClassName": "low"}
    expected = {**before, "priorityClassName": "high", "nfd": {"worker": worker}}
    assert made.inputs("Release")["values"] == expected


def test_the_plugin_reaches_exactly_the_pools_it_serves(device_plugin: Callable[..., Run]) -> None:
    taint = {"key": "workload", "value": "training", "effect": "NoExecute"}
    values = device_plugin(pools={"b": shared(4), "a": shared(2, taints=[taint])}).inputs(
        "Release"
    )["values"]

    tolerations = [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "workload", "operator": "Exists", "effect": "NoExecute"},
    ]
    chosen = {"key": "nvidia.com/device-plugin.config", "operator": "In", "values": ["a", "b"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [chosen]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    assert values["affinity"] == affinity
    assert values["tolerations"] == [
        {"key": "CriticalAddonsOnly", "operator": "Exists"},
        *tolerations,
    ]
    assert values["nfd"]["worker"] == {"affinity": affinity, "tolerations": tolerations}


def test_a_pool_whose_nodes_others_make_is_served_too(device_plugin: Callable[..., Run]) -> None:
    made = device_plugin(pools={"edge": shared(4, provisioner="existing")})

    assert set(made.inputs("ConfigMap")["data"]) == {"default", "edge"}


def test_the_cluster_s_provider_reaches_every_object(device_plugin: Callable[..., Run]) -> None:
    made = device_plugin()

    provider = made.one("kubernetes", "cluster").urn
    objects = [each for each in made if each.type.startswith("kubernetes:")]
    assert [each.provider for each in objects] == [provider] * 3


def test_a_replaced_release_is_deleted_first(device_plugin: Callable[..., Run]) -> None:
    """Its name is fixed, so two cannot stand side by side."""
    assert device_plugin().one("Release").options["deleteBeforeReplace"] is True


def test_mig_devices_of_unlike_types_are_refused(device_plugin: Callable[..., Run]) -> None:
    """Its configuration names profiles, which are those of one GPU."""
    sharing = {"mode": "mig", "layout": "all-balanced", "time_slicing": {"replicas": 2}}
    pool = {"instance_types": ["p4d.24xlarge", "p5.48xlarge"], "sharing": sharing}

    assert "GPU103" in device_plugin(pools={"gpu": pool}, fails=True).error


def test_a_layout_of_mig_manager_is_refused(device_plugin: Callable[..., Run]) -> None:
    sharing = {"mode": "mig", "layout": "all-1g.5gb", "apply": "migManager"}
    pool = {"instance_types": ["p4d.24xlarge"], "sharing": sharing}

    error = device_plugin(pools={"gpu": pool}, fails=True).error

    assert "apply is migManager, but DevicePlugin brings no MIG manager." in error


@pytest.mark.parametrize("state", ["failed", "pending-install", "pending-upgrade"])
def test_a_release_that_is_not_deployed_is_no_success(
    state: str, device_plugin: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the state says after a refresh of what a killed update has left."""
    create = fakes.Fakes.create

    def left(self: fakes.Fakes, plan: Plan, resource: Resource) -> None:
        create(self, plan, resource)
        if resource.name.endswith("-release"):
            resource.outputs["status"] = {"status": state}

    monkeypatch.setattr(fakes.Fakes, "create", left)

    error = device_plugin(preview=False, fails=True).error

    assert error == (
        f"the Helm release nvidia-device-plugin is not deployed but {state}, and nothing about it "
        "changed that would mend it. See what its pods wait for, then install it anew: pulumi up "
        "--replace 'urn:pulumi:test::demo::eks-gpushare:index:DevicePlugin$kubernetes:helm.sh/v3:"
        "Release::demo-release'. docs/recovery.md has this and other ways."
    )
