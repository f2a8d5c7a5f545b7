"""Checks of a running cluster one by one: what they say to the word, and at their borders."""

from __future__ import annotations

import copy
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.live.test_faults import (
    HEALTHY,
    NOW,
    ROOT,
    STACK,
    deployment,
    objects_of,
    plugin,
    plugin_pod,
    workload,
)

from eks_gpushare.inventory.advertised import Offer
from eks_gpushare.inventory.items import NodeSet, NodeTaint
from eks_gpushare.inventory.mig_states import UNKNOWN_GPUS
from eks_gpushare.inventory.nodes import NodeKind
from eks_gpushare.inventory.source import Source
from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.live import rules
from eks_gpushare.live.aws_side import (
    AwsSide,
    InstalledAddon,
    ManagedNodeGroup,
    Unsound,
    UpgradeInsight,
)
from eks_gpushare.live.checks.aws_health import aws_faults
from eks_gpushare.live.checks.controllers import node_claim_faults, scaled_object_faults
from eks_gpushare.live.checks.machines import machine_faults, taint_evidence
from eks_gpushare.live.checks.programs import program_faults, programs_of, waiting_for
from eks_gpushare.live.checks.shares import share_faults
from eks_gpushare.live.checks.uncreated import not_created_faults
from eks_gpushare.live.checks.vcpu_quotas import quota_demands, quota_faults
from eks_gpushare.live.checks.versions import version_faults
from eks_gpushare.live.faults import Link
from eks_gpushare.live.nodes import LiveNode, gpu_nodes_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.live.test_faults import Cluster

    from eks_gpushare.live.faults import ClusterFault, NodeFault

GPU = "nvidia.com/gpu"
GROUP = "nodegroup"


def ago(seconds: float) -> str:
    return (NOW - timedelta(seconds=seconds)).isoformat()


def node_of(**changes: Any) -> LiveNode:
    (found,) = gpu_nodes_of(objects_of(HEALTHY))
    return replace(found, **changes)


def said(faults: Iterable[NodeFault]) -> list[str]:
    return [each.what for each in faults]


# --- AWS -----------------------------------------------------------------------------------------


def of_aws(**given: Any) -> list[ClusterFault]:
    return list(aws_faults(AwsSide(**given), (), {}, ({}, {})))


@pytest.mark.parametrize(("free", "told"), [(9, 1), (10, 0)])
def test_a_subnet_is_full_below_ten_addresses(free: int, told: int) -> None:
    group = ManagedNodeGroup(GROUP, "ACTIVE", (), ("s",))

    assert len(of_aws(groups=[group], free_addresses={"s": free})) == told


@pytest.mark.parametrize(
    ("resources", "shown"),
    [
        ((), "A, b."),
        (("1", "2", "3"), "A (1, 2, 3), b."),
        (("1", "2", "3", "4"), "A (1, 2, 3), b."),
    ],
)
def test_what_an_issue_is_about_is_named(resources: tuple[str, ...], shown: str) -> None:
    group = ManagedNodeGroup(GROUP, "DEGRADED", (Unsound("A", "b.", resources),), ())
    (found,) = of_aws(groups=[group])

    assert found.finding.message == f"EKS says of the node group nodegroup: {shown}"


def test_what_comes_of_nothing_else_is_a_cause() -> None:
    addon = InstalledAddon("vpc-cni", "DEGRADED", (Unsound("A", "b"),))
    insight = UpgradeInsight("a", "WARNING", "", "", "", ())
    group = ManagedNodeGroup("gpushare-gpu-1", "ACTIVE", (), (), "1.35.0-20260101")
    side = AwsSide(addons=[addon], insights=[insight], groups=[group])
    found = list(aws_faults(side, (), STACK.plans, ({}, {})))

    assert [(each.finding.code, each.is_cause_only) for each in found] == [
        *(("GPU1363", True), ("GPU1308", True), ("GPU1361", True))
    ]


# --- quotas --------------------------------------------------------------------------------------

G_AND_VT = "L-DB2E81BA"


@pytest.mark.parametrize(
    ("types", "sizes", "vcpus"),
    [
        ("g4dn.xlarge", "nodes: {max: 10}", 40),
        ("g4dn.12xlarge, g4dn.16xlarge", "nodes: {max: 10}", 40 * 64),
        ("g4dn.xlarge", "rootVolumeGiB: 100", 4),
    ],
)
def test_pools_of_karpenter_take_what_their_limits_allow(
    types: str, sizes: str, vcpus: int, tmp_path: Path
) -> None:
    """Of GPUs, so that there may be 40 nodes with one where there may be 10 with four.

    One node where the limit is of something that is not counted.
    """
    text = (ROOT / "stacks" / "Pulumi.karpenter-time-slicing.yaml").read_text(encoding="utf-8")
    file = tmp_path / "Pulumi.limited.yaml"
    text = text.replace("nodes: {max: 10}", sizes).replace("[g4dn.xlarge]", f"[{types}]")
    file.write_text(text, encoding="utf-8")
    least, most = quota_demands(read_stack(file))

    assert [demand.vcpus for demand in most.values()] == [vcpus]
    assert {demand.vcpus for demand in least.values()} <= {0}


def test_without_a_stack_or_with_one_that_is_wrong_nothing_is_taken() -> None:
    assert quota_demands(None) == ({}, {})
    assert quota_demands(replace(STACK, environment=None)) == ({}, {})


@pytest.mark.parametrize(
    ("has", "with_least", "severity", "link"),
    [
        (47, True, "error", Link.NODE),
        (0, False, "warning", Link.PODS),
        (0, True, "error", Link.NODE),
    ],
)
def test_a_quota_is_held_against_what_there_always_is(
    has: float, with_least: bool, severity: str, link: Link
) -> None:
    least, most = quota_demands(STACK)
    of_stack = (least if with_least else {}, most)
    spot = node_of(labels={"karpenter.sh/capacity-type": "spot"})
    nodes = [node_of(), node_of(), node_of(type=None), spot]
    (found,) = quota_faults({G_AND_VT: has}, of_stack, nodes)

    assert (found.finding.severity, found.link, found.is_cause_only) == (severity, link, True)
    assert found.finding.message.endswith("of which nodes that are there take 96.")


def test_a_quota_that_covers_all_or_that_nothing_counts_on_is_not_told() -> None:
    least, most = quota_demands(STACK)

    assert list(quota_faults({G_AND_VT: 48, "L-417A185B": 0}, (least, most), ())) == []


def test_a_quota_that_just_covers_what_there_always_is_warns() -> None:
    least, most = quota_demands(STACK)
    more = {code: replace_parts(demand) for code, demand in most.items()}
    (found,) = quota_faults({G_AND_VT: least[G_AND_VT].vcpus}, (least, more), ())

    assert (found.finding.severity, found.link) == ("warning", Link.PODS)


def replace_parts(demand: Any) -> Any:
    return demand._replace(parts=tuple((name, vcpus * 3) for name, vcpus in demand.parts))


# --- workloads that are not made -----------------------------------------------------------------


def test_pods_that_cannot_be_made_are_those_of_a_namespace() -> None:
    objects = objects_of([deployment("a", "exceeded quota: one.")])
    (found,) = not_created_faults(objects)

    assert found.is_cause_only
    assert len(list(not_created_faults(objects, "default"))) == 1
    assert list(not_created_faults(objects, "other")) == []


# --- Karpenter and KEDA --------------------------------------------------------------------------


def claim(name: str = "a", seconds: float = 900, **given: Any) -> Any:
    """Launched, and not registered."""
    conditions = [
        {"type": "Registered", "status": "False", "message": "", "reason": "No node."},
        {"type": "Launched", "status": "True", "message": "of no interest"},
        {"type": "Initialized", "status": "True", "message": "of no interest"},
    ]
    metadata = {"name": name, "labels": {"karpenter.sh/nodepool": "gpu"}}
    metadata["creationTimestamp"] = ago(seconds)
    return {
        "kind": "NodeClaim",
        "metadata": {**metadata, **given.pop("metadata", {})},
        "status": {"conditions": given.pop("conditions", conditions), **given},
    }


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ([claim()], "1 NodeClaim of the NodePool gpu is not Registered: No node."),
        ([claim(), claim("b")], "2 NodeClaims of the NodePool gpu are not Registered: No node."),
        ([claim(conditions=[])], "1 NodeClaim of the NodePool gpu is not Launched."),
        (
            [claim(conditions=[{"type": "Launched", "status": "False", "message": "No room."}])],
            "1 NodeClaim of the NodePool gpu is not Launched: No room.",
        ),
        (
            [claim(conditions=[{"type": "Launched", "status": "Unknown"}])],
            "1 NodeClaim of the NodePool gpu is not Launched.",
        ),
        ([claim(seconds=899)], ""),
        ([claim(metadata={"deletionTimestamp": ago(1)})], ""),
    ],
)
def test_a_node_that_never_comes_is_told_by_its_claim(claims: list[Any], message: str) -> None:
    found = list(node_claim_faults(objects_of(claims)))

    assert [each.finding.message for each in found] == ([message] if message else [])


def test_nodes_of_claims_are_known_once_they_are_there() -> None:
    (found,) = node_claim_faults(objects_of([claim(nodeName="n"), claim("b")]))

    assert found.nodes == {"n", *(mark for mark in found.nodes if "gpu" in mark)}
    assert len(found.nodes) == 2


def scaled(*conditions: tuple[str, str], target: str = "model", space: str = "default") -> Any:
    listed = [{"type": kind, "status": status, "message": "No."} for kind, status in conditions]
    metadata = {"name": "one", "namespace": space}
    spec = {"scaleTargetRef": {"name": target}}
    return {
        "kind": "ScaledObject",
        "metadata": metadata,
        "spec": spec,
        "status": {"conditions": listed},
    }


READY = ("Ready", "False")


def without_spec() -> Any:
    made = workload("model")
    made["spec"] = {}
    return made


@pytest.mark.parametrize(
    ("objects", "told"),
    [
        ((workload("model"), scaled(READY)), 1),
        ((workload("model"), scaled(("Active", "True"), READY)), 1),
        ((workload("model"), scaled(("Ready", "True"))), 0),
        ((workload("model"), scaled(("Active", "False"))), 0),
        ((workload("model"), scaled(READY, target="other")), 0),
        ((workload("model"), scaled(READY, space="other")), 0),
        ((workload("other"), workload("model"), scaled(READY)), 1),
        ((without_spec(), scaled(READY)), 0),
        ((workload("model", kind="StatefulSet"), scaled(READY)), 0),
    ],
)
def test_what_keda_cannot_work_with_is_told_of_workloads_for_gpus(
    objects: tuple[Any, ...], told: int
) -> None:
    found = list(scaled_object_faults(objects_of(list(objects))))

    assert [each.finding.message for each in found] == [
        "KEDA cannot work with the ScaledObject default/one: No."
    ] * told
    assert all(each.is_cause_only for each in found)


def test_a_workload_without_gpus_is_none_of_it() -> None:
    made = workload("model")
    made["spec"]["template"]["spec"]["containers"][0]["resources"] = {}

    assert list(scaled_object_faults(objects_of([made, scaled(READY)]))) == []


# --- machines ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ready", "what", "evidence", "alike"),
    [
        (
            {"status": "False", "reason": "A", "message": "b.", "lastTransitionTime": "t"},
            "its kubelet does not say that it is ready: A b.",
            "status.conditions Ready is False since t",
            "False A",
        ),
        (
            {"status": "Unknown", "message": "b."},
            "its kubelet does not say that it is ready: b.",
            "status.conditions Ready is Unknown",
            "Unknown None",
        ),
        (
            None,
            "its kubelet does not say that it is ready.",
            "status.conditions Ready is missing",
            "missing None",
        ),
    ],
)
def test_what_a_kubelet_says_is_told(ready: Any, what: str, evidence: str, alike: str) -> None:
    node = node_of(conditions={"Ready": ready} if ready else {})
    (found,) = machine_faults([node])

    assert (found.what, found.evidence, found.alike) == (what, evidence, alike)


SOUND = {"Ready": {"status": "True"}}


@pytest.mark.parametrize(
    ("condition", "what"),
    [
        ({"reason": "Xid", "message": "79."}, "its accelerators are not sound: Xid, 79."),
        ({"reason": "Xid"}, "its accelerators are not sound: Xid."),
        ({}, "its accelerators are not sound: ."),
    ],
)
def test_what_eks_says_of_the_hardware_is_told(condition: Any, what: str) -> None:
    broken = {"AcceleratedHardwareReady": {"status": "False", **condition}}

    assert said(machine_faults([node_of(conditions=SOUND | broken)])) == [what]


@pytest.mark.parametrize(
    ("labels", "what"),
    [
        (
            {"nvidia.com/mig.config.state": "failed", "nvidia.com/mig.config": "all-1g.5gb"},
            "MIG manager could not make the layout all-1g.5gb.",
        ),
        (
            {"nvidia.com/mig.config.state": "failed"},
            "MIG manager could not make the layout that its label names.",
        ),
        (
            {"eks-gpushare/mig": "failed", "eks-gpushare/mig-reason": "no-room"},
            "its MIG layout could not be made when it booted: no-room.",
        ),
        ({"eks-gpushare/mig": "failed"}, "its MIG layout could not be made when it booted."),
    ],
)
def test_what_became_of_a_layout_is_told(labels: Any, what: str) -> None:
    assert said(machine_faults([node_of(labels=labels)])) == [what]


def test_a_taint_is_shown_where_it_stands() -> None:
    taints = [{"key": "a"}, {"key": "b"}]
    node = node_of(object={"spec": {"taints": taints}})

    assert taint_evidence(node, NodeTaint("b", "", "NoSchedule")) == "spec.taints[1]"
    assert taint_evidence(node, NodeTaint("gone", "", "NoSchedule")) == "spec.taints[0]"


# --- shares --------------------------------------------------------------------------------------


def offered(count: int | None) -> dict[str, Offer]:
    if count is None:
        return {}
    nodes = NodeSet(source=Source("the node gpu-0"), name="gpu-0", provisioner="byHand")
    return {"gpu-0": Offer(NodeKind(nodes, None), {GPU: count}, UNKNOWN_GPUS)}


CORRECT = "Correct the device plugin's configuration, and restart the plugin."
RESTART = "Restart the device plugin's pod on {node}: it reads its configuration when it starts."


@pytest.mark.parametrize(
    ("declared", "configured", "what", "fix", "evidence"),
    [
        (40, 16, "its pool declares 40", CORRECT, ""),
        (40, 40, "its pool declares 40", RESTART, "; its plugin's configuration gives 40"),
        (40, None, "its pool declares 40", RESTART, ""),
        (None, 40, "its device plugin's configuration gives 40", RESTART, ""),
        (16, 40, "", "", ""),
        (None, 16, "", "", ""),
        (None, None, "", "", ""),
    ],
)
def test_what_a_node_advertises_is_held_against_both(
    declared: int | None, configured: int | None, what: str, fix: str, evidence: str
) -> None:
    node = node_of(advertised={GPU: 16}, capacity={GPU: 16})
    wanted = {} if declared is None else {"gpu-0": {GPU: declared}}
    found = list(share_faults([node], wanted, offered(configured), ()))

    if not what:
        assert found == []
        return
    (fault,) = found
    assert fault.what == f"it advertises 16 nvidia.com/gpu, and {what} nvidia.com/gpu."
    assert fault.fix == fix
    declares = rules.DIFFERS_FROM_DECLARED
    assert fault.rule is (declares if declared is not None else rules.DIFFERS_FROM_CONFIGURED)
    ending = f"{evidence} nvidia.com/gpu" if evidence else ""
    assert fault.evidence == f"status.allocatable is 16 nvidia.com/gpu{ending}"


@pytest.mark.parametrize("count", [1, 4])
def test_devices_that_are_all_unhealthy_are_told(count: int) -> None:
    node = node_of(advertised={}, capacity={GPU: count})
    (found,) = share_faults([node], {}, {}, {"gpu-0"})

    told = f"its device plugin says that {count} of {count} nvidia.com/gpu are unhealthy."
    assert found.what == told


def test_devices_that_are_sound_are_not_told() -> None:
    mig = "nvidia.com/mig-1g.5gb"
    node = node_of(advertised={GPU: 3, mig: 2}, capacity={GPU: 4, mig: 2})
    (found,) = share_faults([node], {}, {}, {"gpu-0"})

    assert found.what == "its device plugin says that 1 of 4 nvidia.com/gpu are unhealthy."


# --- programs ------------------------------------------------------------------------------------

CREATING = {"waiting": {"reason": "ContainerCreating"}}
LOOP = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}


@pytest.mark.parametrize(
    ("statuses", "told"),
    [
        ([], ("", "")),
        ([{"state": {"running": {}}}], ("", "")),
        ([{"state": CREATING}], ("ContainerCreating", "")),
        ([{"state": {"waiting": {}}}], ("waiting", "")),
        ([{"state": {"waiting": {"reason": "A", "message": "b"}}}], ("A", "b")),
        ([{"state": LOOP}], ("CrashLoopBackOff", "back-off 5m0s")),
        (
            [{"state": LOOP, "lastState": {"terminated": {"exitCode": 1}}}],
            ("CrashLoopBackOff", "Error, exit code 1"),
        ),
        (
            [
                {
                    "state": LOOP,
                    "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137}},
                }
            ],
            ("CrashLoopBackOff", "OOMKilled, exit code 137"),
        ),
        (
            [{"state": LOOP, "lastState": {"terminated": {"reason": "Completed", "exitCode": 0}}}],
            ("CrashLoopBackOff", "Completed"),
        ),
        (
            [{"state": LOOP, "lastState": {"terminated": {"reason": "Error", "message": "c"}}}],
            ("CrashLoopBackOff", "Error: c"),
        ),
        (
            [
                {
                    "state": {"waiting": {"reason": "A", "message": "b"}},
                    "lastState": {"terminated": {"exitCode": 1}},
                }
            ],
            ("A", "b"),
        ),
        (
            [{"state": {"terminated": {"exitCode": 0}}}, {"state": CREATING}],
            ("ContainerCreating", ""),
        ),
        ([{"state": {"terminated": {"exitCode": 1}}}], ("Error", "")),
        (
            [{"state": {"terminated": {"exitCode": 1, "reason": "A", "message": "b"}}}],
            ("A", "b"),
        ),
    ],
)
def test_what_a_container_waits_for(statuses: list[Any], told: tuple[str, str]) -> None:
    assert waiting_for({"status": {"containerStatuses": statuses}}) == told
    assert waiting_for({"status": {"initContainerStatuses": statuses}}) == told


def changed(status: Any, made: str | None) -> Cluster:
    """The cluster, its plugin's pod not ready."""
    cluster: Cluster = copy.deepcopy(HEALTHY)
    given = plugin_pod(cluster)
    given["metadata"]["creationTimestamp"] = made
    given["status"] = {"conditions": [{"type": "Ready", "status": "False"}], "phase": "Pending"}
    given["status"]["containerStatuses"] = [{"state": status}]
    return cluster


@pytest.mark.parametrize(
    ("status", "made", "is_told", "settles"),
    [
        (CREATING, ago(299), False, True),
        (CREATING, ago(300), True, False),
        (CREATING, None, False, False),
        (LOOP, ago(10), True, False),
        ({"waiting": {"reason": "CrashLoopBackOff"}}, ago(10), True, False),
        (LOOP, ago(900), True, False),
        ({"running": {}}, ago(299), False, True),
        ({"running": {}}, ago(900), True, False),
    ],
)
def test_a_pod_may_take_five_minutes_to_start(
    status: Any, made: str | None, is_told: bool, settles: bool
) -> None:
    objects = objects_of(changed(status, made))
    programs = programs_of(objects)

    assert len(list(program_faults(objects, [node_of()], programs, {}))) == is_told
    assert programs.settling(objects) == ({"gpu-0"} if settles else set())


def without_plugin_pod(**of_set: Any) -> list[Any]:
    cluster = [each for each in copy.deepcopy(HEALTHY) if each["metadata"]["name"] != PLUGIN_POD]
    found = plugin(cluster)
    for part, given in of_set.items():
        found[part].update(given)
    return cluster


PLUGIN_POD = plugin_pod(HEALTHY)["metadata"]["name"]
HARM = "so nothing advertises its GPUs"


@pytest.mark.parametrize(
    ("seen", "written", "is_told"), [(2, 2, True), (1, 2, False), (3, 2, True), (None, 2, True)]
)
def test_a_plugin_that_its_controller_does_not_make_is_told(
    seen: int | None, written: int, is_told: bool
) -> None:
    cluster = without_plugin_pod(
        status={"observedGeneration": seen}, metadata={"generation": written}
    )
    objects = objects_of(cluster)
    found = list(program_faults(objects, [node_of()], programs_of(objects), {}))

    assert len(found) == is_told
    for each in found:
        assert each.what.endswith(f"is on it, {HARM}: its controller has made no pod for it.")
        assert each.fix.startswith("See kubectl describe daemonset -n ")


def test_why_a_plugin_is_kept_off_is_told() -> None:
    cluster = without_plugin_pod()
    plugin(cluster)["spec"]["template"]["spec"]["nodeSelector"] = {"a": "b"}
    objects = objects_of(cluster)
    (found,) = program_faults(objects, [node_of()], programs_of(objects), {})

    assert "its controller" not in found.what
    assert (
        found.fix == "Let the DaemonSet's tolerations, node selector and affinity match the node."
    )


def test_a_node_without_operands_needs_no_plugin() -> None:
    labels = {"nvidia.com/gpu.deploy.operands": "false"}
    nodes = NodeSet(source=Source("n"), name="gpu-0", provisioner="byHand", labels=labels)
    objects = objects_of(without_plugin_pod())
    programs = programs_of(objects)

    kinds = {"gpu-0": NodeKind(nodes, None)}
    assert list(program_faults(objects, [node_of()], programs, kinds)) == []
    kinds = {"gpu-0": NodeKind(replace(nodes, labels={}), None)}
    assert len(list(program_faults(objects, [node_of()], programs, kinds))) == 1


# --- versions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "fix"),
    [({}, "Update the node group, "), ({"karpenter.sh/nodepool": "gpu"}, "Karpenter replaces ")],
)
def test_how_a_node_gets_another_version(labels: dict[str, str], fix: str) -> None:
    cluster = replace(objects_of(HEALTHY), version="v1.39.0")
    server, kubelet = version_faults(cluster, STACK, [node_of(labels=labels)])

    assert server.is_cause_only
    assert kubelet.is_cause_only
    assert kubelet.finding.fix.startswith(fix)
