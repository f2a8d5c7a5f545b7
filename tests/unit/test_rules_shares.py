"""Rules about replicas and what a share gets of its node, on both sides of each limit."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import base, checked, findings, fixes, stack_file_text

from eks_gpushare.rules import sharing as sharing_rules
from eks_gpushare.sharing.nodes import Allocatable
from eks_gpushare_lab.simulated_node import advertising
from eks_gpushare_lab.simulated_node.config_file import Configuration, Replicated
from eks_gpushare_lab.simulated_node.gpus import whole


def shares(code: str, instance: str, **sharing: Any) -> list[tuple[str, str]]:
    return findings({"pools": {"gpu": {"instanceTypes": [instance], "sharing": sharing}}}, code)


@pytest.mark.parametrize("mode", ["timeSlicing", "mps"])
@pytest.mark.parametrize("replicas", [1, 0, -3])
def test_less_than_two_replicas_are_refused(mode: str, replicas: int) -> None:
    assert shares("GPU201", "g5.xlarge", mode=mode, replicas=replicas) == [
        (
            "pools.gpu.sharing.replicas",
            f"{replicas} is less than 2; a GPU is shared by at least two pods.",
        )
    ]


@pytest.mark.parametrize("mode", ["timeSlicing", "mps"])
def test_two_replicas_are_fine(mode: str) -> None:
    assert shares("GPU201", "g5.xlarge", mode=mode, replicas=2) == []


def test_one_replica_of_a_mig_device_is_refused() -> None:
    found = shares(
        "GPU201", "p4d.24xlarge", mode="mig", layout="all-1g.5gb", timeSlicing={"replicas": 1}
    )

    assert [path for path, _ in found] == ["pools.gpu.sharing.timeSlicing.replicas"]


@pytest.mark.parametrize(
    ("instance", "limit", "gpu"),
    [
        ("p3.2xlarge", 16, "V100 in p3.2xlarge (compute capability 7.0)"),
        ("g4dn.metal", 48, "T4 in g4dn.metal (compute capability 7.5)"),
        ("p5.48xlarge", 48, "H100 in p5.48xlarge (compute capability 9.0)"),
    ],
)
def test_mps_has_a_limit_of_clients(instance: str, limit: int, gpu: str) -> None:
    assert shares("GPU202", instance, mode="mps", replicas=limit) == []
    assert shares("GPU202", instance, mode="mps", replicas=limit + 1) == [
        (
            "pools.gpu.sharing.replicas",
            f"{limit + 1} is more than the {limit} MPS clients of the {gpu}.",
        )
    ]


@pytest.mark.parametrize(
    ("instance", "board", "share"),
    [
        ("g4dn.xlarge", "T4 of 15360 MiB", "3840 MiB"),
        ("p5.4xlarge", "H100 of 81559 MiB", "20389 MiB"),
        ("g7.2xlarge", "RTX PRO 4500 of about 32768 MiB", "about 8192 MiB"),
    ],
)
def test_mps_divides_what_the_driver_reports(instance: str, board: str, share: str) -> None:
    assert shares("GPU207", instance, mode="mps", replicas=4) == [
        (
            "pools.gpu.sharing",
            (
                f"{instance}: 4 pods on one {board}, so MPS limits each process to {share}; a "
                "fatal fault of one ends them all."
            ),
        )
    ]


def test_time_slicing_has_no_limit_of_clients() -> None:
    assert shares("GPU202", "p3.2xlarge", mode="timeSlicing", replicas=49) == []


@pytest.mark.parametrize(
    "instance", ["g4dn.xlarge", "g5.xlarge", "g6.xlarge", "g6e.xlarge", "p3.2xlarge"]
)
def test_gpus_without_mig_refuse_it(instance: str) -> None:
    [(path, message)] = shares("GPU203", instance, mode="mig", layout="all-1g.5gb")

    assert path == "pools.gpu.sharing.mode"
    assert message.endswith(f"in {instance} has no MIG.")


@pytest.mark.parametrize("instance", ["p4d.24xlarge", "p5.48xlarge", "p6-b200.48xlarge"])
def test_gpus_with_mig_take_it(instance: str) -> None:
    assert shares("GPU203", instance, mode="mig", layout="all-1g.5gb") == []


@pytest.mark.parametrize(("replicas", "advised"), [(8, True), (9, False)])
def test_aws_advises_up_to_eight_replicas(replicas: int, advised: bool) -> None:
    found = shares("GPU208", "g5.xlarge", mode="timeSlicing", replicas=replicas)

    assert (found == []) is advised


def test_pods_are_counted_with_those_of_the_node() -> None:
    assert shares("GPU209", "g4dn.xlarge", mode="timeSlicing", replicas=21) == []
    assert shares("GPU209", "g4dn.xlarge", mode="timeSlicing", replicas=22) == [
        (
            "pools.gpu.sharing.replicas",
            "g4dn.xlarge advertises 22 shares but takes 29 pods, about 8 of them the node's own.",
        )
    ]


@pytest.mark.parametrize("provisioner", ["karpenter", "managedNodeGroup"])
def test_with_efa_fewer_pods_have_an_address(provisioner: str) -> None:
    """Karpenter counts so, and on managed nodes the pods come and get no address."""
    pool = {
        "provisioner": provisioner,
        "instanceTypes": ["p5.48xlarge"],
        "nodes": {"max": 2},
        "efa": True,
        "sharing": {"mode": "timeSlicing", "replicas": 6},
    }

    assert findings({"pools": {"gpu": {**pool, "efa": False}}}, "GPU209") == []
    assert findings({"pools": {"gpu": pool}}, "GPU209") == [
        (
            "pools.gpu.sharing.replicas",
            (
                "p5.48xlarge advertises 48 shares but takes 51 pods with EFA, about 8 of them the "
                "node's own."
            ),
        )
    ]


@pytest.mark.parametrize(
    ("instance", "replicas", "message"),
    [
        ("g4dn.xlarge", 3, None),
        (
            "g4dn.xlarge",
            4,
            (
                "g4dn.xlarge advertises 4 shares; of the node's 3920m CPU and 15710 MiB each gets "
                "980m and 3927 MiB, less than a CPU."
            ),
        ),
        (
            "g4dn.xlarge",
            16,
            (
                "g4dn.xlarge advertises 16 shares; of the node's 3920m CPU and 15710 MiB each gets "
                "245m and 981 MiB, less than a CPU and 1 GiB of memory."
            ),
        ),
    ],
)
def test_a_share_gets_a_cpu_and_memory(instance: str, replicas: int, message: str | None) -> None:
    found = shares("GPU210", instance, mode="timeSlicing", replicas=replicas)

    assert found == ([("pools.gpu.sharing.replicas", message)] if message else [])


def test_replicas_beyond_reason_are_no_crash() -> None:
    found = shares("GPU206", "g5.xlarge", mode="timeSlicing", replicas=10_000)

    assert "so 2 MiB each" in found[0][1]


@pytest.mark.parametrize("mode", ["timeSlicing", "mps"])
def test_several_shares_at_once_are_advised_against(mode: str) -> None:
    keys: dict[str, Any] = {"mode": mode, "replicas": 2}

    assert shares("GPU205", "g5.xlarge", **keys, failRequestsGreaterThanOne=True) == []
    assert len(shares("GPU205", "g5.xlarge", **keys, failRequestsGreaterThanOne=False)) == 1


def renamed(**pool: Any) -> list[str]:
    sharing = {"mode": "timeSlicing", "replicas": 2, "rename": True}
    fragment = {"pools": {"gpu": {"sharing": sharing, **pool}}}
    return [message for _, message in findings(fragment, "GPU211")]


def test_renamed_shares_on_a_tainted_pool_need_a_toleration() -> None:
    assert renamed() == [
        (
            "Pods ask for nvidia.com/gpu.shared here, for which EKS adds no toleration of the "
            "taint nvidia.com/gpu."
        )
    ]


@pytest.mark.parametrize(
    "taints", [[], [{"key": "nvidia.com/gpu", "value": "true", "effect": "PreferNoSchedule"}]]
)
def test_without_the_taint_they_do_not(taints: list[dict[str, str]]) -> None:
    assert renamed(taints=taints) == []


def test_karpenter_pools_are_renamed_without_asking() -> None:
    nodes = {"min": None, "desired": None, "max": 2}
    sharing = {"mode": "timeSlicing", "replicas": 2}
    pool = {"provisioner": "karpenter", "nodes": nodes, "sharing": sharing}

    assert len(findings({"pools": {"gpu": pool}}, "GPU211")) == 1


def test_shares_of_whole_gpus_say_nothing_about_memory() -> None:
    for code in ("GPU205", "GPU206", "GPU207", "GPU208", "GPU209", "GPU210", "GPU211"):
        assert shares(code, "g5.xlarge", mode="exclusive") == []


def test_pods_that_take_turns_on_a_mig_device_share_its_memory() -> None:
    found = shares(
        "GPU206", "p4d.24xlarge", mode="mig", layout="all-1g.5gb", timeSlicing={"replicas": 4}
    )

    assert found == [
        (
            "pools.gpu.sharing.timeSlicing",
            (
                "p4d.24xlarge: 4 pods on one MIG device, so 1216 MiB each of nvidia.com/mig-1g.5gb "
                "if all keep to it; nothing enforces that, and a fault on a device reaches all of "
                "its pods."
            ),
        )
    ]


def test_a_mig_device_of_one_pod_shares_nothing() -> None:
    assert shares("GPU206", "p4d.24xlarge", mode="mig", layout="all-1g.5gb") == []


def test_turns_on_mig_devices_stay_within_the_pods_of_a_node() -> None:
    [(path, message)] = shares(
        "GPU209", "p4d.24xlarge", mode="mig", layout="all-1g.5gb", timeSlicing={"replicas": 5}
    )

    assert path == "pools.gpu.sharing.timeSlicing.replicas"
    assert message.startswith("p4d.24xlarge advertises 280 shares but takes 250 pods")


def test_a_layout_that_does_not_fit_is_no_share_to_compare() -> None:
    assert shares("GPU210", "p4d.24xlarge", mode="mig", layout={"3g.20gb": 3}) == []


def test_mps_serves_one_user() -> None:
    message = (
        "The MPS server of a node serves one user id at a time; pods of a second one wait for the "
        "GPUs, without an error, until all pods of the first have ended."
    )

    assert shares("GPU280", "g5.xlarge", mode="mps", replicas=4) == [
        ("pools.gpu.sharing.mode", message)
    ]
    assert shares("GPU280", "g5.xlarge", mode="timeSlicing", replicas=4) == []


@pytest.mark.parametrize(("mode", "code"), [("timeSlicing", "GPU206"), ("mps", "GPU207")])
def test_two_pods_share_memory_already(mode: str, code: str) -> None:
    assert len(shares(code, "g5.xlarge", mode=mode, replicas=2)) == 1
    assert shares(code, "g5.xlarge", mode=mode, replicas=1) == []


@pytest.mark.parametrize(
    ("layout", "replicas", "resources"),
    [
        ("all-1g.5gb", 2, ["nvidia.com/mig-1g.5gb"]),
        ("all-1g.5gb", 1, []),
        ([{"gpus": [0], "devices": {"3g.20gb": 2}}], 2, ["nvidia.com/mig-3g.20gb"]),
    ],
)
def test_pods_take_turns_on_mig_devices_alone(
    layout: Any, replicas: int, resources: list[str]
) -> None:
    """GPUs that the layout leaves whole are shared by nobody."""
    given = {"mode": "mig", "layout": layout, "timeSlicing": {"replicas": replicas}}
    found = shares("GPU206", "p4d.24xlarge", **given)

    assert [resource for _, message in found for resource in resources if resource in message] == (
        resources
    )
    assert len(found) == len(resources)


@pytest.mark.parametrize(("replicas", "few"), [(1, False), (2, True)])
def test_room_is_asked_for_from_two_shares_on(replicas: int, few: bool) -> None:
    pool = {
        "instanceTypes": ["g5.xlarge"],
        "sharing": {"mode": "timeSlicing", "replicas": replicas},
        "kubelet": {"maxPods": 8},
    }
    found = findings({"pools": {"gpu": pool}}, "GPU209")

    assert bool(found) is few


def test_devices_of_mig_need_room_without_taking_turns() -> None:
    sharing = {"mode": "mig", "layout": "all-1g.5gb"}
    pool = {"instanceTypes": ["p4d.24xlarge"], "sharing": sharing, "kubelet": {"maxPods": 60}}

    assert [path for path, _ in findings({"pools": {"gpu": pool}}, "GPU209")] == [
        "pools.gpu.sharing.layout"
    ]


@pytest.mark.parametrize(
    ("pods", "fix"),
    [
        (9, "Take a larger instance type."),
        (10, "Set 2 or fewer, or take a larger instance type."),
        (11, "Set 3 or fewer, or take a larger instance type."),
    ],
)
def test_fewer_shares_are_still_two(pods: int, fix: str) -> None:
    pool = {
        "instanceTypes": ["g5.xlarge"],
        "sharing": {"mode": "timeSlicing", "replicas": 4},
        "kubelet": {"maxPods": pods},
    }
    text = stack_file_text({**base(), "pools": {"gpu": {**base()["pools"]["gpu"], **pool}}})

    assert [f.fix for f in checked(text).findings if f.code == "GPU209"] == [fix]


@pytest.mark.parametrize(
    ("cpu", "memory", "says"),
    [
        (1000, 1024, ""),
        (999, 1024, "less than a CPU."),
        (1000, 1023, "less than 1 GiB of memory."),
        (999, 1023, "less than a CPU and 1 GiB of memory."),
    ],
)
def test_what_a_share_needs_is_a_whole_cpu_and_gibibyte(
    cpu: int, memory: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    just = Allocatable(2 * cpu, 2 * memory, 110)
    monkeypatch.setattr(sharing_rules, "allocatable", lambda _: just)
    found = shares("GPU210", "g5.xlarge", mode="timeSlicing", replicas=2)

    assert [says in message for _, message in found] == ([True] if says else [])


@pytest.mark.parametrize(("replicas", "managed", "karpenter"), [(110, 1, 0), (227, 1, 1)])
def test_karpenter_keeps_to_the_addresses_of_a_node(
    replicas: int, managed: int, karpenter: int
) -> None:
    """It knows no cap of pods, and 234 have room on the interfaces; EKS lets 110 onto a node."""
    sharing = {"mode": "timeSlicing", "replicas": replicas}
    given = {"instanceTypes": ["g5.4xlarge"], "sharing": sharing}
    of_karpenter = {"provisioner": "karpenter", "nodes": {"min": None, "desired": None, "max": 2}}

    assert len(findings({"pools": {"gpu": given}}, "GPU209")) == managed
    assert len(findings({"pools": {"gpu": {**given, **of_karpenter}}}, "GPU209")) == karpenter


MANAGED: dict[str, Any] = {"instanceTypes": ["g4dn.xlarge"]}
KARPENTER = {
    **MANAGED,
    "provisioner": "karpenter",
    "nodes": {"min": None, "desired": None, "max": 2},
    "amiVersion": "1.35.8-20260930",
}
BY_PREFIXES = " Or give it prefixes of addresses by cluster.addons.prefixDelegation: true"


@pytest.mark.parametrize(
    ("given", "prefixes", "replicas", "ends"),
    [
        (MANAGED, False, 22, f"{BY_PREFIXES}."),
        (MANAGED, False, 103, "larger instance type."),
        (MANAGED, True, 102, None),
        (MANAGED, True, 103, "Set 102 or fewer, or take a larger instance type."),
        (KARPENTER, False, 102, f"{BY_PREFIXES}, and kubelet: {{maxPods: 110}} here."),
        (
            KARPENTER,
            True,
            102,
            " Or give it kubelet: {maxPods: 110} here, since Karpenter knows of no prefixes.",
        ),
        ({**KARPENTER, "kubelet": {"maxPods": 110}}, True, 102, None),
        ({**MANAGED, "kubelet": {"maxPods": 29}}, True, 30, "larger instance type."),
        ({**MANAGED, "instanceTypes": ["g4dn.12xlarge"]}, True, 60, None),
        ({**MANAGED, "instanceTypes": ["g4dn.12xlarge"]}, True, 61, "larger instance type."),
    ],
)
def test_prefixes_of_addresses_give_a_node_room_for_pods(
    given: dict[str, Any], prefixes: bool, replicas: int, ends: str | None
) -> None:
    sharing = {"mode": "timeSlicing", "replicas": replicas}
    whole = base()
    whole["cluster"]["addons"] = {"prefixDelegation": prefixes}
    whole["pools"]["gpu"] = {**whole["pools"]["gpu"], **given, "sharing": sharing}
    found = [f.fix for f in checked(stack_file_text(whole)).findings if f.code == "GPU209"]

    assert [fix[-len(ends or "") :] for fix in found] == ([] if ends is None else [ends])


SLICED = {"mode": "timeSlicing", "replicas": 4}
P4D = ["p4d.24xlarge"]


@pytest.mark.parametrize(
    ("types", "first", "second", "said"),
    [
        (None, SLICED, SLICED, ""),
        (None, SLICED, {**SLICED, "replicas": 10}, "nvidia.com/gpu a GPU or device has 10 here, 4"),
        (None, SLICED, {**SLICED, "replicas": 10, "rename": True}, ""),
        (None, SLICED, {"mode": "mps", "replicas": 4}, ""),
        (None, {"mode": "exclusive"}, SLICED, "nvidia.com/gpu a GPU or device has 4 here, 1"),
        (P4D, {"mode": "mig", "layout": "all-1g.5gb"}, SLICED, ""),
        (
            P4D,
            {"mode": "mig", "layout": "all-1g.5gb"},
            {
                "mode": "mig",
                "layout": "all-1g.5gb",
                "timeSlicing": {"replicas": 2, "rename": False},
            },
            "nvidia.com/mig-1g.5gb a GPU or device has 2 here, 1",
        ),
        # GPUs that a layout leaves whole are those of other pools.
        (
            P4D,
            {"mode": "exclusive"},
            {
                "mode": "mig",
                "layout": [{"gpus": [0, 1, 2, 3], "devices": {"1g.5gb": 7}}],
                "timeSlicing": {"replicas": 2},
            },
            "",
        ),
        (["g5.unknown"], SLICED, {**SLICED, "replicas": 10}, ""),
    ],
)
def test_a_share_of_one_name_is_the_same_everywhere(
    types: list[str] | None, first: dict[str, Any], second: dict[str, Any], said: str
) -> None:
    pool: dict[str, Any] = {
        "instanceTypes": types or ["g5.xlarge"],
        "nodes": {"min": 0, "desired": 1, "max": 2},
        "amiVersion": "1.35.8-20260930",
    }
    pools = {"gpu": {**pool, "sharing": first}, "more": {**pool, "sharing": second}}
    found = findings({"pools": pools}, "GPU212")

    short = [message.replace(" and ", " ") for _, message in found]
    assert short == [f"Of {said} in gpu."] * bool(said)
    assert [at for at, _ in found] == ["pools.more.sharing"] * bool(said)


def test_a_list_of_shares_is_short_enough_for_the_kubelet() -> None:
    """On both sides of the number that it names, as long as the lab's plugin makes it."""
    fragment = {
        "pools": {
            "gpu": {
                "instanceTypes": ["g5.48xlarge"],
                "sharing": {"mode": "timeSlicing", "replicas": 10_000},
            }
        }
    }
    ((path, message),), (fix,) = findings(fragment, "GPU445"), fixes(fragment, "GPU445")
    most = int(fix.split()[1])

    assert path == "pools.gpu.sharing.replicas"
    assert message == (
        "g5.48xlarge advertises 80000 nvidia.com/gpu, of which the list is "
        f"{in_the_lab(8, 10_000)} bytes long; a kubelet takes 4194304."
    )
    assert shares("GPU445", "g5.48xlarge", mode="timeSlicing", replicas=most) == []
    assert shares("GPU445", "g5.48xlarge", mode="timeSlicing", replicas=most + 1) != []
    assert in_the_lab(8, most) == 0 < in_the_lab(8, most + 1)


def test_each_resource_has_a_list_of_its_own() -> None:
    def found(layout: str, replicas: int) -> list[str]:
        sharing = {"mode": "mig", "layout": layout, "timeSlicing": {"replicas": replicas}}
        return [path for path, _ in shares("GPU445", "p4d.24xlarge", **sharing)]

    assert found("all-1g.5gb", 1_200) == []
    assert found("all-1g.5gb", 1_400) == ["pools.gpu.sharing.timeSlicing.replicas"]
    assert found("all-balanced", 1_400) == []


def in_the_lab(gpus: int, replicas: int) -> int:
    """Bytes of a list that the lab's kubelet does not take; 0 where it does."""
    shared = Configuration(resources=(Replicated("nvidia.com/gpu", replicas),))
    return advertising.unlisted(whole(gpus), shared).get("nvidia.com/gpu", 0)
