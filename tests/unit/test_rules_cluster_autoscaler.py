"""Rules about Cluster Autoscaler: what it says only by ending as it starts, what it believes."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import base, checked, findings, stack_file_text

from eks_gpushare.catalog.autoscaler_tags import ACCELERATOR_LABEL, RESOURCE_TAGS
from eks_gpushare.catalog.cluster_autoscaler_flags import flags_since
from eks_gpushare.config.base import TakesOutput
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.findings.defects import CHECK_FAILED

SCALED = {"scaledBy": "autoscaler"}
SLICES = {"mode": "timeSlicing", "replicas": 10}
EXISTING = {
    "cluster": {"existing": {"name": "demo"}, "name": None, "version": None, "admins": None},
    "network": None,
}
BY_KUBECONFIG = {
    "cluster": {
        "existing": {"kubeconfig": "./kubeconfig"},
        "name": None,
        "version": None,
        "admins": None,
    },
    "network": None,
}
OURS = [f"GPU{number}" for number in range(780, 798)]


def stack(block: dict[str, Any] | None = None, **parts: Any) -> dict[str, Any]:
    own = {} if block is None else {"clusterAutoscaler": block}
    return {"pools": {"gpu": SCALED}, **own, **parts}


def of_chart(**chart: Any) -> dict[str, Any]:
    return stack({}, charts={"clusterAutoscaler": chart})


@pytest.mark.parametrize(
    "given",
    [
        stack({}),
        stack({"expander": "least-nodes", "replicas": 1, "utilizationThreshold": 1}),
        stack({"expander": "priority", "priorities": {"gpu": 1}}),
        stack({"namespace": "cluster-autoscaler"}),
        stack({}, pools={"gpu": {**SCALED, "sharing": {**SLICES, "rename": True}}}),
        stack(
            {},
            pools={
                "gpu": SCALED,
                "other": {**SCALED, "instanceTypes": ["g5.xlarge"], "sharing": SLICES},
            },
        ),
        of_chart(
            values={"extraArgs": {"scan-interval": "30s", "v": 2, "startup-taint_own": "a/b"}}
        ),
        of_chart(values={"extraArgs": {"balance-similar-node-groups": True}}),
        of_chart(values={"image": {"repository": "mirror.example.com/cluster-autoscaler"}}),
        of_chart(values={"replicaCount": 2, "priorityClassName": "high", "resources": {}}),
        of_chart(values={"serviceMonitor": {"enabled": True}, "podLabels": {"team": "ml"}}),
        of_chart(version="9.58.0"),
        of_chart(repository="oci://mirror.example.com/charts/cluster-autoscaler"),
        stack({}, tags={f"{RESOURCE_TAGS}nvidia.com/gpu": "1", "team": "ml"}),
        stack({}, tags={f"{RESOURCE_TAGS}ephemeral-storage": "100Gi"}),
        stack({}, tags={f"{RESOURCE_TAGS}example.com/fpga": "1"}),
        stack({}, pools={"gpu": {**SCALED, "labels": {ACCELERATOR_LABEL: "nvidia-a10g"}}}),
        {"pools": {"gpu": {"labels": {ACCELERATOR_LABEL: "nvidia-a10g"}}}},
        {},
    ],
)
def test_what_is_right_has_none_of_them(given: dict[str, Any]) -> None:
    assert {code: found for code in OURS if (found := findings(given, code))} == {}


@pytest.mark.parametrize(
    ("given", "code", "at", "message"),
    [
        (
            stack({"expander": "price"}),
            "GPU780",
            "clusterAutoscaler.expander",
            "price asks the cloud provider for prices, and that of AWS has none.",
        ),
        (
            stack({"expander": "priority"}),
            "GPU781",
            "clusterAutoscaler.priorities",
            "gpu has no priority.",
        ),
        (
            stack({"expander": "priority", "priorities": {"gpu": 1, "gup": 2}}),
            "GPU781",
            "clusterAutoscaler.priorities.gup",
            "gup is no pool with scaledBy: autoscaler.",
        ),
        (
            stack({"priorities": {"gpu": 1}}),
            "GPU781",
            "clusterAutoscaler.priorities",
            "expander is least-waste, which looks at no priorities.",
        ),
        (
            stack({"utilizationThreshold": 0}),
            "GPU788",
            "clusterAutoscaler.utilizationThreshold",
            "No node is less in use than 0, so none is ever taken away, an empty one neither.",
        ),
        (
            {"clusterAutoscaler": {}},
            "GPU783",
            "clusterAutoscaler",
            "No pool has scaledBy: autoscaler.",
        ),
        (
            {
                **BY_KUBECONFIG,
                "pools": {"gpu": {"provisioner": "existing"}},
                "clusterAutoscaler": {},
            },
            "GPU784",
            "clusterAutoscaler",
            "Of this cluster the stack knows a kubeconfig, and makes no node groups and no roles.",
        ),
        (
            stack({}, **EXISTING),
            "GPU794",
            "clusterAutoscaler",
            "The stack installs Cluster Autoscaler into a cluster that was there before.",
        ),
        (
            stack(),
            "GPU787",
            "clusterAutoscaler",
            (
                "The stack installs no Cluster Autoscaler, and leaves the size of gpu to one. Tags "
                "and labels of the node groups are made for it."
            ),
        ),
        (
            {"charts": {"clusterAutoscaler": {"version": "9.59.0"}}},
            "GPU714",
            "charts.clusterAutoscaler",
            "The stack does not ask for Cluster Autoscaler, so this chart is not installed.",
        ),
        (
            of_chart(version="9.46.6"),
            "GPU796",
            "charts.clusterAutoscaler.version",
            (
                "Chart 9.46.6 is too old for the Cluster Autoscaler of Kubernetes 1.35, which "
                "needs 9.54.0 at least."
            ),
        ),
        (
            of_chart(version="9.57.9"),
            "GPU719",
            "charts.clusterAutoscaler.version",
            "There is no cluster-autoscaler 9.57.9.",
        ),
        (
            of_chart(version="9.60.0"),
            "GPU720",
            "charts.clusterAutoscaler.version",
            "This release knows cluster-autoscaler up to 9.59.0, not 9.60.0.",
        ),
        (
            of_chart(version="9.59"),
            "GPU702",
            "charts.clusterAutoscaler.version",
            '"9.59" is not an exact version.',
        ),
        (
            of_chart(values={"image": {"tag": "v1.34.1"}}),
            "GPU786",
            "charts.clusterAutoscaler.values.image.tag",
            "v1.34.1 is for Kubernetes 1.34, and the cluster has 1.35.",
        ),
        (
            of_chart(values={"image": {"repository": "Mirror/CA"}}),
            "GPU728",
            "charts.clusterAutoscaler.values.image.repository",
            None,
        ),
        (
            of_chart(values={"replicas": 3}),
            "GPU711",
            "charts.clusterAutoscaler.values.replicas",
            "replicas is no value of cluster-autoscaler 9.59.0: no template reads it.",
        ),
        (
            of_chart(values={"extraVolumes": {}}),
            "GPU727",
            "charts.clusterAutoscaler.values.extraVolumes",
            None,
        ),
    ],
)
def test_one_thing_wrong(given: dict[str, Any], code: str, at: str, message: str | None) -> None:
    found = findings(given, code)

    assert [place for place, _ in found] == [at]
    assert message is None or found == [(at, message)]


@pytest.mark.parametrize(
    "text", ["10m", "1h30m", "90s", "1.5h", "500ms", "0", "0s", "+5m", "1h0m0s"]
)
def test_durations_that_go_reads(text: str) -> None:
    given = stack({"scaleDownAfter": text, "scaleDownDelayAfterAdd": text})

    assert findings(given, "GPU782") == []


@pytest.mark.parametrize(
    "text",
    [
        "10",
        "10 m",
        "10min",
        "1d",
        "2w",
        "PT10M",
        "-5m",
        "10M",
        "ten minutes",
        "",
        "1h 30m",
        "10m\n",
        "m",
        "1,5h",
        "٣m",
    ],
)
@pytest.mark.parametrize("key", ["scaleDownAfter", "scaleDownDelayAfterAdd"])
def test_durations_that_it_does_not(key: str, text: str) -> None:
    assert [at for at, _ in findings(stack({key: text}), "GPU782")] == [f"clusterAutoscaler.{key}"]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("10", "10m"),
        ("10 min", "10m"),
        ("10 Minutes", "10m"),
        ("PT10M", "10m"),
        ("PT1.5H", "1.5h"),
        ("2 hrs", "2h"),
        ("30 sec", "30s"),
        ("500 ms", "500ms"),
        ("1d", "24h"),
        ("P1D", "24h"),
        ("1.5 days", "36.0h"),
        ("2w", "336h"),
        ("12345d", "296280h"),
        ("12345678d", "10m or 1h30m"),
        ("3 months", "10m or 1h30m"),
        ("ten minutes", "10m or 1h30m"),
    ],
)
def test_a_duration_is_shown_as_go_reads_it(text: str, meant: str) -> None:
    report = checked(stack_file_text(merge_values(base(), stack({"scaleDownAfter": text}))))

    assert [f.fix for f in report.findings if f.code == "GPU782"] == [f"Write it like {meant}."]
    for each in meant.split(" or "):
        assert findings(stack({"scaleDownAfter": each}), "GPU782") == []


@pytest.mark.parametrize(
    ("given", "code", "fix"),
    [
        (
            stack({"expander": "priority", "priorities": {"gpu": 1, "gpus": 2}}),
            "GPU781",
            "Did you mean gpu?",
        ),
        (
            stack({"expander": "priority", "priorities": {"gpu": 1, "quite-other": 2}}),
            "GPU781",
            "Remove it.",
        ),
        (
            of_chart(values={"extraArgs": {"scan-intervall": "1"}}),
            "GPU795",
            "Did you mean scan-interval?",
        ),
        (of_chart(values={"extraArgs": {"qqq": "1"}}), "GPU795", "Remove it."),
    ],
)
def test_what_may_have_been_meant_is_proposed(given: dict[str, Any], code: str, fix: str) -> None:
    report = checked(stack_file_text(merge_values(base(), given)))

    assert [f.fix for f in report.findings if f.code == code] == [fix]


@pytest.mark.parametrize(("version", "old"), [("9.53.0", True), ("9.54.0", False)])
def test_a_chart_is_old_before_the_first_for_the_version(version: str, *, old: bool) -> None:
    assert bool(findings(of_chart(version=version), "GPU796")) is old


@pytest.mark.parametrize("expander", ["priority", "least-waste"])
def test_priorities_are_those_of_the_stack(expander: str) -> None:
    block: dict[str, Any] = {"expander": expander}
    block |= {"priorities": {"gpu": 1}} if expander == "priority" else {}
    values = {"expanderPriorities": {"1": [".*"]}}
    given = stack(block, charts={"clusterAutoscaler": {"values": values}})

    assert [at.rpartition(".values.")[2] for at, _ in findings(given, "GPU793")] == [
        "expanderPriorities.1"
    ]


@pytest.mark.parametrize(
    "given",
    [{}, stack({}, gpuStack={"namespace": "kube-system"}), stack({}, keda=None)],
)
def test_the_namespace_that_every_cluster_has_is_not_made(given: dict[str, Any]) -> None:
    assert {code: findings(given, code) for code in ("GPU797", CHECK_FAILED.id)} == {
        "GPU797": [],
        CHECK_FAILED.id: [],
    }


@pytest.mark.parametrize("parts", [{}, EXISTING])
def test_another_autoscaler_is_told_the_name_of_the_cluster(parts: dict[str, Any]) -> None:
    report = checked(stack_file_text(merge_values(base(), stack(None, **parts))))

    [fix] = [f.fix for f in report.findings if f.code == "GPU787"]
    assert ",k8s.io/cluster-autoscaler/demo and" in fix


def test_a_cluster_by_its_kubeconfig_is_told_nothing_of_aws() -> None:
    given = stack(None, **BY_KUBECONFIG)

    assert findings(given, "GPU787") == []


@pytest.mark.parametrize(
    ("resource", "value", "message"),
    [
        (
            *("nvidia.com/gpu", "1"),
            "The tag says 1 nvidia.com/gpu of a node, and one of the pool gpu has 10.",
        ),
        (
            *("nvidia.com/mig-1g.5gb", "7"),
            (
                "The tag says 7 nvidia.com/mig-1g.5gb of a node, and one of the pool gpu does not "
                "have it."
            ),
        ),
    ],
)
def test_a_tag_that_is_wrong_is_held_against_the_plan(
    resource: str, value: str, message: str
) -> None:
    given = stack({}, pools={"gpu": {**SCALED, "sharing": SLICES}})
    given["tags"] = {f"{RESOURCE_TAGS}{resource}": value}

    assert [each for _, each in findings(given, "GPU790")] == [message]


def test_a_node_group_has_room_for_fifty_tags() -> None:
    def many(count: int) -> dict[str, Any]:
        return stack({}, tags={f"team-{number}": "ml" for number in range(count)})

    [(_, message)] = findings(many(60), "GPU789")
    own = int(message.partition(" would have ")[2].partition(" ")[0]) - 60

    assert findings(many(50 - own), "GPU789") == []
    assert [at for at, _ in findings(many(51 - own), "GPU789")] == ["tags"]


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("scan-intervall", "Cluster Autoscaler has no flag scan-intervall."),
        ("scanInterval", "Cluster Autoscaler has no flag scanInterval."),
        ("scale_down_enabled", "Cluster Autoscaler has no flag scale."),
        ("--v", "The chart writes the dashes itself, so --v becomes ----v."),
        ("-v", "The chart writes the dashes itself, so -v becomes ---v."),
        ("startup-taint-prefix", "startup-taint-prefix came with 1.36, and the cluster has 1.35."),
    ],
)
def test_flags_that_it_does_not_have(flag: str, message: str) -> None:
    found = findings(of_chart(values={"extraArgs": {flag: "1"}}), "GPU795")

    assert [text for _, text in found] == [message]


@pytest.mark.parametrize(
    ("listed", "code"),
    [
        (["--scan-interval=30s", "--v", "2", "--startup-taint=a/b"], None),
        (["--scan-intervall=30s"], "GPU795"),
        (["--expander=random"], "GPU793"),
        (["--expander", "random"], "GPU793"),
        (["--nodes=1:2:a"], "GPU793"),
        ([7], None),
    ],
)
def test_flags_of_a_list_of_ones_own(listed: list[Any], code: str | None) -> None:
    given = of_chart(values={"customArgs": listed})
    found = {each: [at for at, _ in findings(given, each)] for each in ("GPU793", "GPU795")}

    at = ["charts.clusterAutoscaler.values.customArgs[0]"]
    assert found == {each: at if each == code else [] for each in found}


def test_every_flag_is_taken_by_its_own_version() -> None:
    own = {"node-group-auto-discovery", "nodes", "cloud-provider", "namespace"}
    derived = {
        *("expander", "scale-down-unneeded-time", "scale-down-delay-after-add"),
        *("scale-down-gpu-utilization-threshold", "scale-down-utilization-threshold"),
    }
    flags = {flag: "1" for flag, since in flags_since().items() if since <= "1.35"}
    given = of_chart(values={"extraArgs": flags})

    assert findings(given, "GPU795") == []
    undone = {at.rpartition(".")[2] for at, _ in findings(given, "GPU793")}
    assert undone == own | derived


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"autoDiscovery": {"tags": ["a"]}}, "autoDiscovery.tags"),
        ({"autoDiscovery": {"clusterName": "demo"}}, "autoDiscovery.clusterName"),
        ({"autoscalingGroups": []}, "autoscalingGroups"),
        ({"autoscalingGroups": [{"name": "a", "minSize": 1, "maxSize": 2}]}, "autoscalingGroups"),
        ({"cloudProvider": "azure"}, "cloudProvider"),
        ({"rbac": {"serviceAccount": {"create": False}}}, "rbac.serviceAccount.create"),
        ({"rbac": {"serviceAccount": {"name": "ca"}}}, "rbac.serviceAccount.name"),
        ({"replicaCount": 1}, "replicaCount"),
        ({"extraArgs": {"expander": "random"}}, "extraArgs.expander"),
        ({"extraArgs": {"nodes_1": "1:2:a"}}, "extraArgs.nodes_1"),
        ({"extraArgs": None}, "extraArgs"),
    ],
)
def test_values_that_undo_what_is_derived(values: dict[str, Any], place: str) -> None:
    found = {at for at, _ in findings(of_chart(values=values), "GPU793")}

    assert found == {f"charts.clusterAutoscaler.values.{place}"}


@pytest.mark.parametrize(
    "name", ["default", "kube-public", "Scaling", "a_b", "-a", "nvidia-device-plugin", "x" * 64]
)
def test_namespaces_that_cannot_be_made(name: str) -> None:
    assert [at for at, _ in findings(stack({"namespace": name}), "GPU797")] == [
        "clusterAutoscaler.namespace"
    ]


@pytest.mark.parametrize(
    ("sharing", "resource", "value", "wrong"),
    [
        (SLICES, "nvidia.com/gpu", "10", False),
        (SLICES, "nvidia.com/gpu", "10.0", False),
        (SLICES, "nvidia.com/gpu", TakesOutput().checked_as, False),
        (SLICES, "nvidia.com/gpu", "1", True),
        (SLICES, "nvidia.com/gpu", "ten", True),
        (SLICES, "nvidia.com/gpu.shared", "10", True),
        ({**SLICES, "rename": True}, "nvidia.com/gpu.shared", "10", False),
        ({**SLICES, "rename": True}, "nvidia.com/gpu", "0", False),
        ({**SLICES, "rename": True}, "nvidia.com/gpu", "1", True),
    ],
)
def test_a_tag_of_ones_own_says_what_the_plan_does(
    sharing: dict[str, Any], resource: str, value: str, *, wrong: bool
) -> None:
    given = stack({}, pools={"gpu": {**SCALED, "sharing": sharing}})
    given["tags"] = {f"{RESOURCE_TAGS}{resource}": value}

    assert bool(findings(given, "GPU790")) is wrong
    # What no autoscaler reads is nobody's business.
    given["pools"]["gpu"]["scaledBy"] = "stack"
    assert findings({**given, "clusterAutoscaler": None}, "GPU790") == []


def test_types_that_differ_are_one_findings_of_every_node_group() -> None:
    types = {"instanceTypes": ["g5.xlarge", "g5.12xlarge"]}

    assert findings(stack({}, pools={"gpu": {**SCALED, **types}}), "GPU103")


@pytest.mark.parametrize("block", [None, {}])
def test_taints_are_the_users_to_tell_to_another_autoscaler_only(
    block: dict[str, Any] | None,
) -> None:
    sharing = {"mode": "mig", "layout": "all-1g.10gb", "apply": "migManager"}
    pools = {
        "gpu": {**SCALED, "instanceTypes": ["p5.48xlarge"], "sharing": sharing},
        "boot": {
            **SCALED,
            "instanceTypes": ["p5.48xlarge"],
            "sharing": {**sharing, "apply": "boot"},
        },
    }
    given = stack(block, pools=pools, gpuStack={"manager": "gpuOperator"})

    for code in ("GPU281", "GPU282", "GPU787"):
        assert bool(findings(given, code)) is (block is None), code


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        (
            of_chart(values={"image": {"repository": "Mirror/CA"}}),
            (
                "Write it like registry.example.com/autoscaling/cluster-autoscaler, and the tag "
                "as tag."
            ),
        ),
        (of_chart(values={"image": {"tag": "1.35.2 "}}), "Write a tag, such as v1.35.2."),
    ],
)
def test_an_image_is_shown_one_like_it(given: dict[str, Any], fix: str) -> None:
    report = checked(stack_file_text(merge_values(base(), given)))

    assert [each.fix for each in report.findings if each.code == "GPU728"] == [fix]
