"""What Cluster Autoscaler is told of nodes and how it is started, against the real one's words.

`cluster-autoscaler/<case>.rendered.yaml` is the Deployment and what is beside it, as
`helm template` printed them for the values in `<case>.values.json`. With `helm` on PATH and
EKS_GPUSHARE_TEST_CHARTS naming a folder that has the chart in `cluster-autoscaler`, they are
rendered again and compared. With a `cluster-autoscaler` on PATH, its flags are asked for.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from eks_gpushare.aws.policy_documents import scales_node_groups
from eks_gpushare.catalog import Catalog, gpu_instance_types, versions
from eks_gpushare.catalog.autoscaler_tags import ACCELERATOR_LABEL, RESOURCE_TAGS
from eks_gpushare.catalog.cluster_autoscaler_flags import flags_since
from eks_gpushare.catalog.kubernetes import eks_versions
from eks_gpushare.config.autoscaling import ClusterAutoscaler
from eks_gpushare.config.pools import NodeCounts, Pool
from eks_gpushare.config.taints import Taint
from eks_gpushare.sharing import cluster_autoscaler as planned
from eks_gpushare.sharing.autoscaling import promised
from eks_gpushare.sharing.plan import PoolPlan, plan_pool

if TYPE_CHECKING:
    from collections.abc import Callable

GOLDEN = Path(__file__).parents[1] / "golden" / "cluster-autoscaler"
CATALOG = Catalog()
GPU = "nvidia.com/gpu"
SLICES = {"mode": "timeSlicing", "replicas": 10}
RENAMED = {**SLICES, "rename": True}
MIXED = {"mode": "mig", "layout": "all-balanced"}
P4D = ["p4d.24xlarge"]
UUID = "11111111-2222-3333-4444-555555555555"
"""What EKS puts behind the name of an Auto Scaling group."""


def plan(sharing: dict[str, Any], types: list[str] | None = None, **more: Any) -> PoolPlan:
    given = {"instanceTypes": types or ["g5.xlarge"], "sharing": sharing, **more}
    pool = Pool.model_validate({"scaledBy": "autoscaler", **given})
    return plan_pool("gpu", pool, CATALOG)


def told(*args: Any, **more: Any) -> dict[str, str]:
    """The template's resources by name."""
    tags = planned.template_tags(plan(*args, **more), CATALOG)
    assert all(key.startswith(RESOURCE_TAGS) for key in tags)
    return {key.removeprefix(RESOURCE_TAGS): value for key, value in tags.items()}


@pytest.mark.parametrize(
    ("sharing", "types", "resources"),
    [
        ({"mode": "exclusive"}, None, {GPU: "1"}),
        (SLICES, None, {GPU: "10"}),
        (RENAMED, None, {GPU: "0", f"{GPU}.shared": "10"}),
        (SLICES, ["g5.12xlarge"], {GPU: "40"}),
        ({"mode": "mps", "replicas": 4}, None, {GPU: "4"}),
        (
            MIXED,
            P4D,
            {
                GPU: "0",
                "nvidia.com/mig-1g.5gb": "16",
                "nvidia.com/mig-2g.10gb": "8",
                "nvidia.com/mig-3g.20gb": "8",
            },
        ),
        ({"mode": "mig", "layout": "all-1g.5gb", "strategy": "single"}, P4D, {GPU: "56"}),
        (
            {
                "mode": "mig",
                "layout": "all-1g.5gb",
                "strategy": "single",
                "timeSlicing": {"replicas": 4, "rename": True},
            },
            P4D,
            {GPU: "0", f"{GPU}.shared": "224"},
        ),
        (
            {"mode": "mig", "layout": [{"gpus": [0, 1], "devices": {"3g.20gb": 2}}]},
            P4D,
            {GPU: "6", "nvidia.com/mig-3g.20gb": "4"},
        ),
        # EC2 counts no GPU on them.
        (SLICES, ["g6f.xlarge"], {GPU: "10"}),
    ],
)
def test_a_node_group_says_what_a_node_will_advertise(
    sharing: dict[str, Any], types: list[str] | None, resources: dict[str, str]
) -> None:
    found = told(sharing, types)

    assert {
        key: value for key, value in found.items() if key.startswith("nvidia.com/")
    } == resources


def test_the_tags_are_what_is_promised_on_every_type() -> None:
    for name in gpu_instance_types():
        for sharing in ({"mode": "exclusive"}, SLICES, RENAMED, {"mode": "mps", "replicas": 2}):
            made = plan(sharing, [name])
            tags = planned.template_tags(made, CATALOG)
            resources = {f"{RESOURCE_TAGS}{k}": str(v) for k, v in promised(made, name).items()}

            assert tags.items() >= resources.items(), name
            # Nothing but what AWS takes in a tag.
            for key, value in tags.items():
                assert re.fullmatch(r"[A-Za-z0-9 _.:/=+@-]{1,128}", key)
                assert re.fullmatch(r"[A-Za-z0-9 _.:/=+@-]{1,256}", value)


def test_interfaces_pods_and_storage_are_told_too() -> None:
    efa = told({"mode": "exclusive"}, P4D, efa=True, zones=["us-west-2a"])

    assert (efa["vpc.amazonaws.com/efa"], efa["pods"]) == ("4", "250")
    assert "pods" not in told(SLICES)  # a g5.xlarge has fewer addresses than the template has pods
    assert told(SLICES, kubelet={"maxPods": 40})["pods"] == "40"
    assert told(SLICES)["ephemeral-storage"] == "175Gi"
    assert told(SLICES, rootVolumeGiB=100)["ephemeral-storage"] == "87Gi"
    # 8 TB of NVMe.
    assert told(MIXED, P4D, localStorage="raid0")["ephemeral-storage"] == "6555Gi"


@pytest.mark.parametrize(
    "pool", [{"scaledBy": "stack"}, {"provisioner": "existing"}, {"provisioner": "karpenter"}]
)
def test_nothing_is_told_of_pools_that_no_autoscaler_scales(pool: dict[str, Any]) -> None:
    made = plan(SLICES, **pool)

    assert planned.template_tags(made, CATALOG) == {}
    assert planned.group_labels(made, CATALOG) == dict(made.labels)


@pytest.mark.parametrize(
    ("sharing", "types", "label"),
    [
        ({"mode": "exclusive"}, ["g5.xlarge"], "nvidia-a10g"),
        (SLICES, ["g6e.xlarge", "g6e.2xlarge"], "nvidia-l40s"),
        (SLICES, ["g4dn.xlarge"], "nvidia-tesla-t4"),
        ({"mode": "mig", "layout": "all-1g.5gb", "strategy": "single"}, P4D, "nvidia-tesla-a100"),
        ({"mode": "exclusive"}, ["g7e.2xlarge"], "nvidia-rtx-pro-server-6000"),
        (
            {"mode": "mig", "layout": [{"gpus": [0], "devices": {"7g.40gb": 1}}]},
            P4D,
            "nvidia-tesla-a100",
        ),
        # Nodes that never have nvidia.com/gpu would never be ready to it.
        (RENAMED, ["g5.xlarge"], None),
        (MIXED, P4D, None),
        ({"mode": "mig", "layout": "all-1g.5gb", "timeSlicing": {"replicas": 2}}, P4D, None),
    ],
)
def test_nodes_whose_gpus_it_can_wait_for_have_the_label(
    sharing: dict[str, Any], types: list[str], label: str | None
) -> None:
    found = planned.group_labels(plan(sharing, types), CATALOG)

    assert found.get(ACCELERATOR_LABEL) == label
    assert label is None or re.fullmatch(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?", label)


def test_every_gpu_has_a_name_that_a_label_can_have() -> None:
    for name in gpu_instance_types():
        value = planned.accelerator(plan({"mode": "exclusive"}, [name]).pool, CATALOG)

        assert re.fullmatch(r"nvidia-[a-z0-9-]{1,50}", value), value


def test_the_order_of_types_changes_nothing() -> None:
    one, other = (
        plan(SLICES, ["g6.xlarge", "g6.2xlarge"]),
        plan(SLICES, ["g6.2xlarge", "g6.xlarge"]),
    )

    assert planned.group_labels(one, CATALOG) == planned.group_labels(other, CATALOG)
    assert planned.template_tags(one, CATALOG) == planned.template_tags(other, CATALOG)


def test_a_label_of_the_users_own_stays() -> None:
    made = plan(SLICES, labels={ACCELERATOR_LABEL: "a10g"})

    assert planned.group_labels(made, CATALOG)[ACCELERATOR_LABEL] == "a10g"


def test_the_taints_that_go_are_named_once() -> None:
    boot, manager = plan(MIXED, P4D).pool, plan({**MIXED, "apply": "migManager"}, P4D).pool
    slices = plan(SLICES).pool
    pools = [boot, manager, manager, slices]

    assert planned.startup_taint_keys(pools) == ("eks-gpushare/mig-layout",)
    assert planned.status_taint_keys(pools) == ("eks-gpushare/mig",)
    assert planned.startup_taint_keys([slices]) == planned.status_taint_keys([slices]) == ()
    # At 0 nodes those of the group count, the pool's own among them.
    agents = ("ebs.csi.aws.com/agent-not-ready", "node.cilium.io/agent-not-ready")
    own = [Taint(key=key, effect="NoExecute") for key in (*agents, "team")]
    waiting = manager.model_copy(update={"taints": tuple(own)})
    assert planned.startup_taint_keys([waiting]) == (
        agents[0],
        "eks-gpushare/mig-layout",
        agents[1],
    )


def test_every_supported_version_has_a_release_of_its_own_minor_version() -> None:
    known = [each for each in eks_versions() if each >= "1.33"]

    for version in known:
        tag = versions.cluster_autoscaler_tag(version)
        assert str(tag).startswith(f"v{version}."), version
    assert versions.cluster_autoscaler_tag("1.99") is None


CASES: dict[str, dict[str, Any]] = {
    "least-waste": {"groups": ["gpu-1a2b3c4"]},
    "several": {
        "block": {"replicas": 1, "expander": "least-nodes", "scaleDownAfter": "1h30m"},
        "groups": ["a-1a2b3c4", "b-1a2b3c4", "c-1a2b3c4"],
        "startup_taints": ["eks-gpushare/mig-layout"],
        "status_taints": ["eks-gpushare/mig"],
    },
    "priority": {
        "block": {"expander": "priority", "priorities": {"spot": 20, "gpu": 10}},
        "groups": ["gpu-1a2b3c4", "spot-1a2b3c4"],
        "patterns": {20: ["spot-1a2b3c4"], 10: ["gpu-1a2b3c4"]},
    },
    "own-values": {
        "groups": ["gpu-1a2b3c4"],
        "given": {
            "extraArgs": {"scan-interval": "30s", "v": 2, "startup-taint_own": "example.com/wait"},
            "serviceMonitor": {"enabled": True},
        },
    },
}


def values(case: dict[str, Any]) -> dict[str, Any]:
    block = ClusterAutoscaler.model_validate(case.get("block", {}))
    return planned.controller_values(
        block,
        image=versions.CLUSTER_AUTOSCALER_IMAGE,
        tag=versions.cluster_autoscaler_tag("1.35"),
        region="us-west-2",
        groups=[
            planned.scaling_group(f"eks-{each}-{UUID}", NodeCounts(max=number))
            for number, each in enumerate(case["groups"], start=1)
        ],
        patterns={
            number: [planned.group_pattern(each) for each in groups]
            for number, groups in case.get("patterns", {}).items()
        },
        startup_taints=case.get("startup_taints", ()),
        status_taints=case.get("status_taints", ()),
        given=case.get("given", {}),
    )


def text(content: object) -> str:
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


def rendered(case: str) -> list[dict[str, Any]]:
    made = (GOLDEN / f"{case}.rendered.yaml").read_text(encoding="utf-8")
    return [each for each in yaml.safe_load_all(made) if each]


def flags_of(case: str) -> list[str]:
    """What the chart starts the real one with."""
    deployment = next(each for each in rendered(case) if each["kind"] == "Deployment")
    command: list[str] = deployment["spec"]["template"]["spec"]["containers"][0]["command"]
    return command[1:]


@pytest.mark.parametrize("case", CASES)
def test_the_values_are_the_rendered_ones(case: str, golden: Callable[[str, str], None]) -> None:
    golden(f"cluster-autoscaler/{case}.values.json", text(values(CASES[case])))


@pytest.mark.parametrize("case", CASES)
def test_the_chart_still_makes_the_same_of_them(
    case: str, golden: Callable[[str, str], None], tmp_path: Path
) -> None:
    charts, helm = os.environ.get("EKS_GPUSHARE_TEST_CHARTS"), shutil.which("helm")
    if not charts or helm is None:
        pytest.skip("no helm, or no charts; the top of this file says what is wanted")
    file = tmp_path / "values.json"
    file.write_text(text(values(CASES[case])), encoding="utf-8")
    command = [helm, "template", planned.NAME, str(Path(charts) / planned.NAME)]
    command += ["-n", "kube-system", "--kube-version", "1.35.0", "-f", str(file)]
    output = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    kinds = {"Deployment", "ConfigMap", "PodDisruptionBudget", "ServiceAccount"}
    made = [each for each in yaml.safe_load_all(output) if each and each["kind"] in kinds]

    golden(f"cluster-autoscaler/{case}.rendered.yaml", yaml.safe_dump_all(made))


@pytest.mark.parametrize("case", CASES)
def test_the_chart_starts_it_with_flags_that_it_has(case: str) -> None:
    given = flags_of(case)
    names = [flag.removeprefix("--").partition("=")[0] for flag in given]

    assert len(given) > 10
    assert all(flag.startswith("--") for flag in given)
    assert [name for name in names if name not in flags_since()] == []
    assert {flags_since()[name] for name in names} == {"1.33"}  # so every release takes them


def test_a_flag_for_each_group_and_taint() -> None:
    given = flags_of("several")

    assert [flag for flag in given if "nodes=" in flag or "auto-discovery" in flag] == [
        f"--nodes=0:1:eks-a-1a2b3c4-{UUID}",
        f"--nodes=0:2:eks-b-1a2b3c4-{UUID}",
        f"--nodes=0:3:eks-c-1a2b3c4-{UUID}",
    ]
    assert "--startup-taint=eks-gpushare/mig-layout" in given
    assert "--status-taint=eks-gpushare/mig" in given
    assert "--scale-down-unneeded-time=1h30m" in given
    assert "--balance-similar-node-groups=false" in given
    own = flags_of("own-values")
    assert {"--startup-taint=example.com/wait", "--scan-interval=30s", "--v=2"} <= {*own}


def test_the_priorities_are_read_from_the_chart_as_it_reads_them() -> None:
    config = next(each for each in rendered("priority") if each["kind"] == "ConfigMap")
    read = yaml.safe_load(config["data"]["priorities"])
    groups = {
        "gpu": f"eks-gpu-1a2b3c4-{UUID}",
        "spot": f"eks-spot-1a2b3c4-{UUID}",
        "other": f"eks-my-gpu-1a2b3c4d-{UUID}",
    }

    assert config["metadata"]["name"] == "cluster-autoscaler-priority-expander"
    assert [each["kind"] for each in rendered("least-waste") if each["kind"] == "ConfigMap"] == []
    found = {
        number: [
            name for name, group in groups.items() if any(re.search(p, group) for p in patterns)
        ]
        for number, patterns in read.items()
    }
    assert found == {20: ["spot"], 10: ["gpu"]}


def test_a_released_autoscaler_has_every_flag_of_its_version() -> None:
    program = shutil.which("cluster-autoscaler")
    if program is None:
        pytest.skip("no cluster-autoscaler on PATH")
    run = subprocess.run(
        [program, "--help"], capture_output=True, text=True, check=False, timeout=60
    )
    printed = re.findall(r"^\s+(?:-\w, )?--([a-z0-9-]+)", run.stdout + run.stderr, re.MULTILINE)
    names = {flag.removeprefix("--").partition("=")[0] for case in CASES for flag in flags_of(case)}

    assert len(printed) > 100
    assert names - {*printed} == set()


def test_its_role_reaches_the_groups_of_its_pools_alone() -> None:
    policy = json.loads(scales_node_groups("aws", "demo", ["b", "a"]))
    writes = [
        each
        for each in policy["Statement"]
        if any("Set" in action or "Terminate" in action for action in each["Action"])
    ]

    assert [each["Condition"] for each in writes] == [
        {
            "StringEquals": {
                "aws:ResourceTag/k8s.io/cluster-autoscaler/demo": "owned",
                "aws:ResourceTag/eks:nodegroup-name": ["a", "b"],
            }
        }
    ]
    assert len(json.dumps(policy)) < 2048
