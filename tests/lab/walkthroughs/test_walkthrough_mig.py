"""MIG, the GPU Operator and Bottlerocket on the control plane, by objects written by hand."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest

from eks_gpushare.documents.driver_gate import driver_gate_part
from eks_gpushare.documents.node_config import user_data
from eks_gpushare_lab.install.desired_cluster import DesiredCluster, NodePool
from eks_gpushare_lab.install.node_monitoring import ADDON, daemon_sets
from eks_gpushare_lab.install.release import DeclaredRelease, known_versions
from eks_gpushare_lab.observing.watches import Watch

pytestmark = pytest.mark.slow

# What conftest.py offers.
Walk = Any
Shortly = Any
Messages = Any
Codes = Any
Values = Any

GPU = "nvidia.com/gpu"
P4D = "p4d.24xlarge"
TAINT = {"key": GPU, "value": "true", "effect": "NoSchedule"}
PENDING = {"key": "eks-gpushare/mig-layout", "value": "pending", "effect": "NoSchedule"}
OFF = {"enabled": False}
SYSTEM = NodePool("system", ("t3.large",), 1, {}, ())


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def pool(counts: dict[str, int], kind: str = P4D, **given: Values) -> NodePool:
    fields: dict[str, Any] = {"labels": {}, "taints": (TAINT,), **given}
    return NodePool("gpu", (kind,), 1, declared={kind: counts}, **fields)


def workload(name: str, resource: str, replicas: int) -> str:
    container = {
        "name": "main",
        "image": "cuda",
        "resources": {"limits": {resource: replicas and 1}},
    }
    labels = {"app": name}
    tolerations = [{"key": GPU, "operator": "Exists"}]
    pod = {"containers": [container], "tolerations": tolerations}
    document = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "demo"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    return json.dumps(document)


# The layout at boot, with NVIDIA's chart of the device plugin.


def booted(layout: str, **given: str) -> str:
    """User data of a node that applies a layout itself."""
    environment = {
        "MIG_LAYOUT": layout,
        "MIG_GPUS": "8",
        "MIG_PRODUCT": "A100-SXM4-40GB",
        "MIG_TAINT": "eks-gpushare/mig=failed:NoSchedule",
        "MIG_LABEL": "eks-gpushare/mig",
        "MIG_HASH": "3f2a",
        **given,
    }
    lines = [f'{key}="{value}"' for key, value in environment.items()]
    script = ["#!/bin/bash", "cat >/etc/eks-gpushare/mig.env <<'ENV'", *lines, "ENV"]
    start = ["systemctl start --no-block eks-gpushare-mig.service", ""]
    return encoded("\n".join([*script, *start]))


def with_plugin(nodes: NodePool, strategy: str, sharing: Values = None) -> DesiredCluster:
    shared = {"sharing": sharing} if sharing else {}
    config = {"version": "v1", "flags": {"migStrategy": strategy}, **shared}
    values = {"config": {"map": {"gpu": json.dumps(config)}}, "gfd": {"enabled": True}}
    labelled = {"nvidia.com/gpu.present": "true", "nvidia.com/device-plugin.config": "gpu"}
    machine = NodePool(
        **{
            **{name: getattr(nodes, name) for name in nodes.__slots__},
            "labels": {**nodes.labels, **labelled},
        }
    )
    (version,) = known_versions("nvidia-device-plugin")
    release = DeclaredRelease("nvdp", "plugin", "nvidia-device-plugin", version, values)
    return DesiredCluster((namespace("plugin"), namespace("demo")), (release,), (SYSTEM, machine))


SEVENTHS = ",".join(f"19:{start}" for start in range(7))


@pytest.mark.at_length
def test_56_of_100_pods_run_on_sevenths_of_eight_gpus(walk: Walk) -> None:
    nodes = pool({"nvidia.com/mig-1g.5gb": 56}, user_data=booted(f"*={SEVENTHS}"))
    walk.install(with_plugin(nodes, "mixed"))
    walk.apply(text=workload("small", "nvidia.com/mig-1g.5gb", 100))

    report = walk.see(small=56)
    assert report["pools"]["gpu"]["advertised"] == {"nvidia.com/mig-1g.5gb": 56}
    assert report["workloads"]["demo/small"]["running"] == 56
    assert [each for each in report["findings"] if each["severity"] == "error"] == []


def test_devices_can_be_shared_by_time_slicing(walk: Walk) -> None:
    nodes = pool({GPU: 224}, user_data=booted(f"*={SEVENTHS}"))
    sharing = {"timeSlicing": {"resources": [{"name": GPU, "replicas": 4}]}}
    walk.install(with_plugin(nodes, "single", sharing))

    assert walk.see()["pools"]["gpu"]["advertised"] == {GPU: 224}


@pytest.mark.at_length
def test_a_layout_for_another_board_keeps_the_plugin_off(walk: Walk, messages_of: Messages) -> None:
    user_data = booted("*=19:0", MIG_PRODUCT="H100 80GB HBM3")
    walk.install(with_plugin(pool({"nvidia.com/mig-1g.5gb": 8}, user_data=user_data), "mixed"))

    report = walk.see()
    said = "FAILED (wrong-board): GPU 0 is NVIDIA A100-SXM4-40GB, the layout is for H100 80GB HBM3"
    node = walk.session.watches.nodes.get("gpu-0")
    assert node["metadata"]["labels"]["eks-gpushare/mig-reason"] == "wrong-board"
    assert report["pools"]["gpu"]["advertised"] == {}
    assert messages_of(report, "GPU934") == [
        (
            f"Its boot says {said}. It joined with no instances and the taints "
            "nvidia.com/gpu=true:NoSchedule, eks-gpushare/mig=failed:NoSchedule."
        )
    ]
    assert messages_of(report, "GPU913") == [
        (
            "nvidia.com/mig-1g.5gb: 8 declared, nothing advertised: its boot could not apply the "
            f"MIG layout and says {said}."
        )
    ]


def test_the_single_strategy_with_two_profiles_crash_loops(
    walk: Walk, messages_of: Messages
) -> None:
    walk.install(with_plugin(pool({GPU: 24}, user_data=booted("*=9:4,14:2,19:0")), "single"))

    (message,) = messages_of(walk.see(), "GPU913")
    assert message.endswith("more than one MIG device type present on node.")


@pytest.mark.at_length
def test_a_new_layout_is_a_new_machine(walk: Walk) -> None:
    before = pool({"nvidia.com/mig-1g.5gb": 56}, user_data=booted(f"*={SEVENTHS}"))
    after = pool({"nvidia.com/mig-3g.20gb": 16}, user_data=booted("*=9:0,9:4"))
    walk.install(with_plugin(before, "mixed"))
    walk.install(with_plugin(after, "mixed"))

    assert walk.see()["pools"]["gpu"]["advertised"] == {"nvidia.com/mig-3g.20gb": 16}


# The GPU Operator and its MIG manager.


def operated(nodes: NodePool, *objects: Values, **values: Values) -> DesiredCluster:
    given = {"driver": OFF, "toolkit": OFF, "mig": {"strategy": "mixed"}, **values}
    (version,) = known_versions("gpu-operator")
    release = DeclaredRelease("gpu-operator", "gpu-operator", "gpu-operator", version, given)
    spaces = (namespace("gpu-operator"), namespace("demo"))
    return DesiredCluster((*spaces, *objects), (release,), (SYSTEM, nodes))


REBOOT = {"migManager": {"env": [{"name": "WITH_REBOOT", "value": "true"}]}}
BALANCED = {"nvidia.com/mig-1g.5gb": 16, "nvidia.com/mig-2g.10gb": 8, "nvidia.com/mig-3g.20gb": 8}


def test_a_label_makes_balanced_gpus(walk: Walk, codes_of: Codes) -> None:
    walk.install(
        operated(pool(BALANCED, labels={"nvidia.com/mig.config": "all-balanced"}), **REBOOT)
    )
    names = {"small": "1g.5gb", "middle": "2g.10gb", "large": "3g.20gb"}
    for name, profile in names.items():
        walk.apply(text=workload(name, f"nvidia.com/mig-{profile}", 20))

    report = walk.see(small=16, middle=8, large=8)
    # The plugin was there before the MIG manager, and the kubelet does not forget a resource.
    assert report["pools"]["gpu"]["advertised"] == {GPU: 0, **BALANCED}
    assert codes_of(report) == []


@pytest.mark.at_length
def test_a_whole_pool_is_served_by_the_operator(walk: Walk, codes_of: Codes) -> None:
    walk.install(operated(pool({GPU: 4}, "g5.12xlarge")))

    report = walk.see()
    assert report["pools"]["gpu"]["advertised"] == {GPU: 4}
    assert codes_of(report) == []


def test_ampere_without_a_reboot_fails(walk: Walk, messages_of: Messages) -> None:
    walk.install(operated(pool(BALANCED, labels={"nvidia.com/mig.config": "all-balanced"})))

    report = walk.see()
    assert report["pools"]["gpu"]["advertised"] == {GPU: 8}
    assert messages_of(report, "GPU935") == [
        (
            "MIG manager could not make it all-balanced: all-balanced: error resetting all GPUs: "
            "the change of MIG mode stays pending until the node reboots, and WITH_REBOOT is not "
            "true."
        )
    ]


@pytest.mark.at_length
def test_another_label_cuts_the_gpus_anew(walk: Walk) -> None:
    config = "nvidia.com/mig.config"
    walk.install(operated(pool(BALANCED, labels={config: "all-balanced"}), **REBOOT))
    thirds = {"nvidia.com/mig-3g.20gb": 16}
    walk.install(operated(pool(thirds, labels={config: "all-3g.20gb"}), **REBOOT))

    advertised = walk.see()["pools"]["gpu"]["advertised"]
    assert {name: count for name, count in advertised.items() if count} == thirds


@pytest.mark.at_length
def test_a_label_that_nobody_reads_is_named(walk: Walk, messages_of: Messages) -> None:
    nodes = pool(BALANCED, labels={"nvidia.com/mig.config": "all-balanced"})
    walk.install(operated(nodes, migManager=OFF))

    assert messages_of(walk.see(), "GPU937") == [
        (
            "Its label nvidia.com/mig.config says all-balanced, and no MIG manager runs there to "
            "read it."
        )
    ]


@pytest.mark.at_length
def test_without_discovery_the_operator_serves_nothing(walk: Walk, codes_of: Codes) -> None:
    nodes = pool({GPU: 8}, labels={"nvidia.com/gpu.present": "true"})
    walk.install(operated(nodes, nfd=OFF))

    report = walk.see()
    node = walk.session.watches.nodes.get("gpu-0")
    assert node["metadata"]["labels"]["nvidia.com/gpu.present"] == "false"
    assert codes_of(report) == ["GPU911", "GPU913"]


# EKS's node monitoring agent, whose host engine of DCGM uses the GPUs.


def monitored(nodes: NodePool, values: Values, **operator: Values) -> DesiredCluster:
    addon = {"addonName": ADDON, "configurationValues": json.dumps(values)}
    return operated(nodes, *daemon_sets(addon), **operator)


EVERYWHERE: dict[str, Any] = {"dcgmAgent": {"tolerations": [{"operator": "Exists"}]}}
REMOTE = {
    "dcgmExporter": {"env": [{"name": "DCGM_REMOTE_HOSTENGINE_INFO", "value": "localhost:5555"}]}
}
H100 = "p5.48xlarge"
LARGE = {"nvidia.com/mig-3g.40gb": 16}
LABEL = {"nvidia.com/mig.config": "all-3g.40gb"}


def test_a_host_engine_keeps_mig_manager_from_its_gpus(walk: Walk, messages_of: Messages) -> None:
    walk.install(monitored(pool(LARGE, H100, labels=LABEL), EVERYWHERE, **REMOTE))

    [message] = messages_of(walk.see(), "GPU935")
    assert "In use by another client (dcgm-server-" in message


@pytest.mark.at_length
def test_one_that_selects_the_label_of_clients_makes_way(walk: Walk, codes_of: Codes) -> None:
    selector = {"nvidia.com/gpu.deploy.client": "true"}
    engine = {"dcgmAgent": {**EVERYWHERE["dcgmAgent"], "nodeSelector": selector}}
    walk.install(monitored(pool(LARGE, H100, labels=LABEL), engine, **REMOTE))

    report = walk.see()
    assert codes_of(report) == []
    assert report["pools"]["gpu"]["advertised"] == {GPU: 0, **LARGE}


@pytest.mark.at_length
def test_a_reboot_ends_the_hold_of_a_host_engine(walk: Walk, codes_of: Codes) -> None:
    nodes = pool(BALANCED, labels={"nvidia.com/mig.config": "all-balanced"})
    walk.install(monitored(nodes, EVERYWHERE, **REBOOT, **REMOTE))

    assert codes_of(walk.see()) == []


@pytest.mark.at_length
def test_mig_manager_is_waited_for_though_its_pods_go_unseen(
    walk: Walk, codes_of: Codes, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As on a busy machine, where the watch of pods is behind that of DaemonSets.
    pods = walk.session.watches.pods
    take = pods._take  # noqa: SLF001

    behind = iter([1.0])

    def late(kind: str, pod: dict[str, Any]) -> None:
        if "deletionTimestamp" in pod["metadata"]:
            time.sleep(next(behind, 0))
        take(kind, pod)

    monkeypatch.setattr(pods, "_take", late)
    nodes = pool(BALANCED, labels={"nvidia.com/mig.config": "all-balanced"})
    walk.install(operated(nodes, **REBOOT))

    assert codes_of(walk.see()) == []


@pytest.mark.at_length
def test_two_host_engines_on_a_node_are_named(walk: Walk, messages_of: Messages) -> None:
    walk.install(monitored(pool({GPU: 4}, "g5.12xlarge"), EVERYWHERE))

    [message] = messages_of(walk.see(), "GPU942")
    assert message.startswith("2 host engines of DCGM run there, in the pods dcgm-server-")


@pytest.mark.at_length
def test_an_agent_without_its_host_engine_is_named(walk: Walk, messages_of: Messages) -> None:
    walk.install(monitored(pool({GPU: 4}, "g5.12xlarge"), {}, **REMOTE))

    assert messages_of(walk.see(), "GPU943") == [
        "The node monitoring agent runs there without its host engine of DCGM."
    ]


@pytest.mark.at_length
def test_a_kubelet_that_may_be_too_quick_is_named(walk: Walk, messages_of: Messages) -> None:
    walk.install(operated(pool({GPU: 4}, "g5.12xlarge", ami_type="AL2023_x86_64_NVIDIA")))

    [message] = messages_of(walk.see(), "GPU940")
    assert message.startswith("Kubelet starts whether the NVIDIA driver is there or not")
    waiting = user_data(driver_gate_part())
    nodes = pool({GPU: 4}, "g5.12xlarge", ami_type="AL2023_x86_64_NVIDIA", user_data=waiting)
    walk.install(operated(nodes))
    assert messages_of(walk.see(), "GPU940") == []


@pytest.mark.at_length
def test_an_ami_that_hides_failures_is_named(walk: Walk, messages_of: Messages) -> None:
    layout = booted(f"*={SEVENTHS}")
    nodes = pool({"nvidia.com/mig-1g.5gb": 56}, user_data=layout, release="1.35.0-20251007")
    walk.install(with_plugin(nodes, "mixed"))

    assert messages_of(walk.see(), "GPU941") == [
        "Its boot makes a MIG layout, and its AMI, 1.35.0-20251007, does not read what that says."
    ]


# The startup taint.

TOLERATED = [
    {"key": GPU, "operator": "Exists", "effect": "NoSchedule"},
    {"key": "eks-gpushare/mig-layout", "operator": "Exists", "effect": "NoSchedule"},
]
EXPECTED = {"gpu": {"config": "all-balanced", "advertises": {P4D: BALANCED}}}


def remover() -> tuple[dict[str, Any], dict[str, Any]]:
    """The controller that removes the taint, as far as it matters to the API server."""
    labels = {"app": "remover"}
    where = {"name": "remover", "namespace": "gpu-operator"}
    files = {"mig_taint_remover.py": "", "expected.json": json.dumps(EXPECTED)}
    container = {
        "name": "remover",
        "image": "python",
        "command": ["python", "/opt/eks-gpushare/mig_taint_remover.py"],
        "volumeMounts": [{"name": "script", "mountPath": "/opt/eks-gpushare"}],
    }
    volumes = [{"name": "script", "configMap": {"name": "remover"}}]
    spec = {"containers": [container], "volumes": volumes}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return (
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": where, "data": files},
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": where,
            "spec": {"selector": {"matchLabels": labels}, "template": template},
        },
    )


def tainted(*objects: Values) -> DesiredCluster:
    labels = {"nvidia.com/mig.config": "all-balanced", "eks-gpushare/pool": "gpu"}
    nodes = pool(BALANCED, labels=labels, taints=(TAINT, PENDING))
    worker = {"worker": {"tolerations": TOLERATED}}
    daemons = {"daemonsets": {"tolerations": TOLERATED}, "node-feature-discovery": worker}
    return operated(nodes, *objects, **daemons, **REBOOT)


def test_the_startup_taint_goes_when_the_layout_is_there(walk: Walk, codes_of: Codes) -> None:
    walk.install(tainted(*remover()))
    node = walk.session.watches.nodes.get("gpu-0")

    assert node["spec"]["taints"] == [TAINT]
    assert codes_of(walk.see()) == []


@pytest.mark.at_length
def test_no_label_is_lost_where_nodes_are_told_of_late(
    walk: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = Watch._take  # noqa: SLF001

    def late(watch: Watch, kind: str, given: dict[str, Any]) -> None:
        if given["kind"] == "Node":
            time.sleep(0.3)
        take(watch, kind, given)

    monkeypatch.setattr(Watch, "_take", late)
    walk.install(tainted(*remover()))
    node = walk.session.watches.nodes.get("gpu-0")

    assert "paused-for-mig-change" not in node["metadata"]["labels"].values()
    assert node["spec"]["taints"] == [TAINT]


@pytest.mark.at_length
def test_without_its_controller_the_startup_taint_stays(walk: Walk, messages_of: Messages) -> None:
    walk.install(tainted())

    assert messages_of(walk.see(), "GPU938") == [
        (
            "The startup taint eks-gpushare/mig-layout is still there; "
            "nvidia.com/mig.config.state is success."
        )
    ]


# Bottlerocket.

NVIDIA = "[settings.kubelet-device-plugins.nvidia]\n"
MIG = (
    NVIDIA
    + 'device-partitioning-strategy = "mig"\n'
    + "[settings.kubelet-device-plugins.nvidia.mig.profile]\n"
    + '"a100.40gb" = "{}"\n'
)


def bottlerocket(counts: dict[str, int], text: str, release: str = "1.57.0-ab") -> DesiredCluster:
    given = {"ami_type": "BOTTLEROCKET_x86_64_NVIDIA", "release": release}
    nodes = pool(counts, user_data=encoded(text), **given)
    return DesiredCluster((namespace("demo"),), (), (SYSTEM, nodes))


@pytest.mark.at_length
def test_the_built_in_plugin_serves_instances_as_gpus(walk: Walk, codes_of: Codes) -> None:
    walk.install(bottlerocket({GPU: 56}, MIG.format("1g.5gb")))
    walk.apply(text=workload("small", GPU, 60))

    report = walk.see(small=56)
    assert report["pools"]["gpu"]["advertised"] == {GPU: 56}
    assert codes_of(report) == []


@pytest.mark.at_length
def test_a_profile_that_it_does_not_know_is_the_largest(walk: Walk, messages_of: Messages) -> None:
    walk.install(bottlerocket({GPU: 8 * 2}, MIG.format("4g.20gb")))

    assert messages_of(walk.see(), "GPU913") == [
        (
            "nvidia.com/gpu: 16 declared, nvidia.com/gpu: 8 advertised: the device plugin of its "
            "OS runs; 7g.40gb x 1 on each GPU, since 4g.20gb is none of its profiles."
        )
    ]


@pytest.mark.at_length
def test_settings_that_the_os_refuses_make_no_node(
    walk: Walk, messages_of: Messages, shortly: Shortly
) -> None:
    walk.install(bottlerocket({GPU: 8}, f"{NVIDIA}enabled = false\n"))

    report = walk.see()
    assert shortly(report["pools"]["gpu"]) == {"nodes": 1, "declared": {GPU: 8}, "advertised": {}}
    assert messages_of(report, "GPU933") == [
        (
            "It never joins: unknown field settings.kubelet-device-plugins.nvidia.enabled: it "
            "came with 1.63 and the OS is 1.57."
        )
    ]


@pytest.mark.at_length
def test_a_chart_beside_the_built_in_plugin_is_named(walk: Walk, messages_of: Messages) -> None:
    desired = bottlerocket({GPU: 8}, "")
    (system, nodes) = desired.pools
    plugin = with_plugin(nodes, "none")
    walk.install(DesiredCluster(plugin.objects, plugin.releases, (system, plugin.pools[1])))

    assert messages_of(walk.see(), "GPU939") == [
        "Its OS brings a device plugin, and a chart's runs there too: the later one wins."
    ]
