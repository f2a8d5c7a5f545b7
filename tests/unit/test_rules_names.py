"""Rules about names, labels, taints and tags, on both sides of each limit."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import findings

from eks_gpushare.rules.names import TAINT_TWICE, key_fault


def label(key: str, value: str, code: str = "GPU302") -> list[str]:
    return [m for _, m in findings({"pools": {"gpu": {"labels": {key: value}}}}, code)]


def test_a_label_value_has_up_to_63_characters() -> None:
    assert label("team", "a" * 63) == []
    assert label("team", "a" * 64) == [
        (
            f'The value "{"a" * 64}" is not up to 63 letters, digits, -, _ and . with a letter or '
            "digit at both ends."
        )
    ]


def test_a_label_name_has_up_to_63_characters() -> None:
    assert label("a" * 63, "x") == []
    assert label("a" * 64, "x") == [
        (
            f'"{"a" * 64}" is not 1 to 63 letters, digits, -, _ and . with a letter or digit at '
            "both ends."
        )
    ]


def of_others(**pool: Any) -> dict[str, Any]:
    return {"pools": {"gpu": {"provisioner": "existing", **pool}}}


def test_a_label_has_a_value_where_eks_makes_the_nodes() -> None:
    assert label("team", "") == ["team has no value, and EKS takes no such label."]
    assert findings(of_others(labels={"team": ""}), "GPU302") == []


def test_eks_counts_what_is_before_the_slash_of_a_label() -> None:
    key = f"example.com/{'a' * 52}"
    message = f"{key} has 64 characters; EKS takes 63, with what is before /."

    assert label(key[:-1], "x") == []
    assert label(key, "x") == [message]
    assert findings(of_others(labels={key: "x"}), "GPU302") == []


def test_eks_counts_what_is_before_the_slash_of_a_taint() -> None:
    key = f"example.com/{'a' * 52}"
    taints = [{"key": key, "effect": "NoSchedule"}]
    message = f"{key} has 64 characters; EKS takes 63, with what is before /."

    assert findings({"pools": {"gpu": {"taints": taints}}}, "GPU304") == [
        ("pools.gpu.taints[0]", message)
    ]
    assert findings(of_others(taints=taints), "GPU304") == []


@pytest.mark.parametrize("value", ["-a", "a-", "a b", "ä", "a/b", "a\n"])
def test_other_label_values_are_refused(value: str) -> None:
    assert len(label("team", value)) == 1


@pytest.mark.parametrize("key", ["", "/a", "Example.com/a", "a/b/c", "example.com/", "a b"])
def test_other_label_keys_are_refused(key: str) -> None:
    assert len(label(key, "x")) == 1


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("eks.amazonaws.com/x", "eks.amazonaws.com is reserved for EKS."),
        (
            "node-role.kubernetes.io/gpu",
            (
                "A kubelet may not set node-role.kubernetes.io/gpu: node-role.kubernetes.io is "
                "reserved for Kubernetes."
            ),
        ),
        ("kubernetes.io/arch", "kubernetes.io/arch is set by the kubelet."),
    ],
)
def test_reserved_labels_are_refused(key: str, message: str) -> None:
    assert label(key, "x") == [message]


@pytest.mark.parametrize(
    "key", ["node.kubernetes.io/x", "a.node.kubernetes.io/x", "mykubernetes.io/x", "notk8s.io/x"]
)
def test_labels_that_look_reserved_and_are_not(key: str) -> None:
    assert label(key, "x") == []


@pytest.mark.parametrize(
    "key",
    [
        "nvidia.com/gpu.product",
        "nvidia.com/gpu.count",
        "nvidia.com/mig.config",
        "nvidia.com/mps.capable",
        "nvidia.com/cuda.driver.major",
        "feature.node.kubernetes.io/pci-10de.present",
    ],
)
def test_labels_of_nvidia_are_refused(key: str) -> None:
    assert label(key, "x", "GPU301") == [
        f"{key} is set by GPU feature discovery, NFD or the GPU Operator."
    ]


@pytest.mark.parametrize(
    "key", ["eks-gpushare/pool", "nvidia.com/device-plugin.config", "nvidia.com/gpu.present"]
)
def test_labels_of_this_project_are_refused(key: str) -> None:
    assert label(key, "x", "GPU301") == [f"{key} is set by this project."]


@pytest.mark.parametrize("effect", ["NoSchedule", "PreferNoSchedule", "NoExecute"])
def test_effects_are_spelt_as_kubernetes_does(effect: str) -> None:
    taint = {"key": "a", "effect": effect}

    assert findings({"pools": {"gpu": {"taints": [taint]}}}, "GPU006") == []


@pytest.mark.parametrize("effect", ["NO_SCHEDULE", "noschedule", "no-schedule", "NoSchedul"])
def test_other_spellings_are_refused_with_the_right_one(effect: str) -> None:
    taints = [{"key": "a", "effect": effect}]

    assert findings({"pools": {"gpu": {"taints": taints}}}, "GPU006") == [
        (
            "pools.gpu.taints[0].effect",
            f'"{effect}" is not one of NoSchedule, PreferNoSchedule, NoExecute.',
        )
    ]


@pytest.mark.parametrize(("count", "fits"), [(50, True), (51, False)])
def test_a_pool_has_up_to_50_taints(count: int, fits: bool) -> None:
    taints = [{"key": f"a{n}", "effect": "NoSchedule"} for n in range(count)]

    assert (findings({"pools": {"gpu": {"taints": taints}}}, "GPU304") == []) is fits


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_taint_of_ones_own_is_enough(effect: str) -> None:
    taints = [{"key": "mine", "effect": effect}]

    assert findings({"pools": {"gpu": {"taints": taints}}}, "GPU306") == []


def test_a_taint_that_only_prefers_is_not() -> None:
    taints = [{"key": "mine", "effect": "PreferNoSchedule"}]

    assert len(findings({"pools": {"gpu": {"taints": taints}}}, "GPU306")) == 1


def test_nodes_of_somebody_else_need_no_taint_here() -> None:
    pool = {"taints": [], "provisioner": "existing"}

    assert findings({"pools": {"gpu": pool}}, "GPU306") == []


POOL = {"instanceTypes": ["g5.xlarge"], "sharing": {"mode": "exclusive"}}


@pytest.mark.parametrize("name", ["a", "a" * 28, "a-1", "1a"])
def test_names_of_pools(name: str) -> None:
    assert findings({"pools": {name: POOL}}, "GPU307") == []


@pytest.mark.parametrize(
    "name", ["a" * 29, "A", "a.b", "a_b", "-a", "a-", "a b", "default", "<new>"]
)
def test_what_is_no_name_of_a_pool(name: str) -> None:
    assert len(findings({"pools": {name: POOL}}, "GPU307")) == 1


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("a" * 100, True),
        ("a" * 101, False),
        ("A_b-1", True),
        ("-a", False),
        ("a.b", False),
        ("", False),
    ],
)
def test_names_of_clusters(name: str, fits: bool) -> None:
    assert (findings({"cluster": {"name": name}}, "GPU308") == []) is fits


def test_the_name_of_an_existing_cluster_is_looked_at_too() -> None:
    cluster = {"name": None, "version": None, "admins": None, "existing": {"name": "a b"}}

    assert [p for p, _ in findings({"cluster": cluster, "network": None}, "GPU308")] == [
        "cluster.existing.name"
    ]


@pytest.mark.parametrize(
    ("key", "value", "fits"),
    [
        ("a" * 128, "", True),
        ("a" * 129, "", False),
        ("a", "v" * 256, True),
        ("a", "v" * 257, False),
        ("Team: ÄÖ+-=._:/@", "x", True),
        ("a#b", "x", False),
        ("aws:x", "x", False),
        ("AWS:x", "x", False),
    ],
)
def test_tags(key: str, value: str, fits: bool) -> None:
    assert (findings({"tags": {key: value}}, "GPU310") == []) is fits


@pytest.mark.parametrize(("count", "fits"), [(45, True), (46, False)])
def test_there_is_room_for_the_tags_of_others(count: int, fits: bool) -> None:
    assert (findings({"tags": {f"t{n}": "" for n in range(count)}}, "GPU310") == []) is fits


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("gpu", True),
        ("a" * 63, True),
        ("a" * 64, False),
        ("GPU", False),
        ("a.b", False),
        ("default", False),
        ("kube-public", False),
        ("kube-system", False),
    ],
)
def test_namespaces(name: str, fits: bool) -> None:
    assert (findings({"gpuStack": {"namespace": name}}, "GPU311") == []) is fits


@pytest.mark.parametrize(
    ("second", "count"),
    [
        ({"key": "a", "effect": "NoSchedule"}, 1),
        ({"key": "a", "value": "x", "effect": "NoSchedule"}, 1),
        ({"key": "a", "effect": "NoExecute"}, 0),
        ({"key": "b", "effect": "NoSchedule"}, 0),
    ],
)
def test_a_taint_stands_once(second: dict[str, str], count: int) -> None:
    taints = [{"key": "a", "effect": "NoSchedule"}, second]
    found = findings({"pools": {"gpu": {"taints": taints}}}, TAINT_TWICE.id)

    assert [path for path, _ in found] == ["pools.gpu.taints[1]"] * count


@pytest.mark.parametrize(
    ("mode", "count", "said"),
    [
        ("mig", 49, []),
        ("mig", 50, ["50 taints and the one of nodes that wait for MIG are more than the 50 EKS"]),
        ("exclusive", 50, []),
        ("exclusive", 51, ["51 taints are more than the 50 EKS takes."]),
    ],
)
def test_the_taint_of_nodes_that_wait_for_mig_counts(
    mode: str, count: int, said: list[str]
) -> None:
    taints = [{"key": f"a{n}", "effect": "NoSchedule"} for n in range(count)]
    of_mig = {"layout": "all-balanced", "apply": "migManager"} if mode == "mig" else {}
    pool = {
        "instanceTypes": ["p4d.24xlarge"],
        "zones": ["us-west-2a"],
        "sharing": {"mode": mode, **of_mig},
        "taints": taints,
    }
    fragment = {"gpuStack": {"manager": "gpuOperator"}, "pools": {"gpu": pool}}
    found = [text for _, text in findings(fragment, "GPU304")]

    assert [text.startswith(each) for text, each in zip(found, said, strict=True)] == [True] * len(
        said
    )


@pytest.mark.parametrize(("length", "right"), [(253, True), (254, False)])
def test_what_is_before_the_slash_has_a_longest_form(length: int, right: bool) -> None:
    prefix = ".".join(["a" * 60] * 5)[:length].rstrip(".").ljust(length, "b")

    assert (key_fault(f"{prefix}/gpu") is None) is right
