"""`eks-gpushare preview --before`: what an edit does to nodes and pods, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
import yaml
from tests.conftest import sampled

from eks_gpushare.documents.helm import merge_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Ran, Run

    Ask: TypeAlias = Callable[[dict[str, Any], dict[str, Any]], Ran]

ROOT = Path(__file__).parents[2]
Announced: TypeAlias = "list[tuple[str, str, str]]"

GROUP, CLUSTER, RELEASE = "gpushare-gpu", "gpushare-cluster-eks", "gpushare-device-plugin-release"
BASE: dict[str, Any] = {
    "cluster": {"name": "demo", "version": "1.35"},
    "network": {"zones": ["us-west-2a", "us-west-2b"]},
    "pools": {
        "gpu": {
            "instanceTypes": ["g5.xlarge"],
            "nodes": {"min": 1, "desired": 4, "max": 5},
            "amiVersion": "1.35.8-20260930",
            "sharing": {"mode": "timeSlicing", "replicas": 4},
        }
    },
}


@pytest.fixture
def ask(run: Run, tmp_path: Path) -> Ask:
    """`ask(before, after)`: the preview of one change of the base, against another."""

    def asked(before: dict[str, Any], after: dict[str, Any]) -> Ran:
        files = []
        for name, fragment in (("before", before), ("after", after)):
            config = {
                "aws:region": "us-west-2",
                "eks-gpushare:environment": merge_values(BASE, fragment),
            }
            file = tmp_path / f"Pulumi.{name}.yaml"
            file.write_text(yaml.safe_dump({"config": config}))
            files.append(str(file))
        return run("preview", files[1], "--program", str(ROOT), "--before", files[0], "--json")

    return asked


def announced(ran: Ran) -> Announced:
    return [(edit["name"], edit["effect"], edit["message"]) for edit in ran.json["edits"]]


def errors(ran: Ran) -> list[tuple[str, str]]:
    return [(f["code"], f["path"]) for f in ran.json["findings"] if f["severity"] == "error"]


def gpu(**keys: object) -> dict[str, Any]:
    return {"pools": {"gpu": keys}}


def nodes(low: int, desired: int, high: int, **keys: object) -> dict[str, Any]:
    return gpu(nodes={"min": low, "desired": desired, "max": high}, **keys)


AUTOSCALER: dict[str, Any] = {"scaledBy": "autoscaler"}


SIZES: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    (
        {},
        nodes(1, 1, 5),
        "terminate",
        "EKS scales in from 4 to 1: 3 nodes are terminated, with the pods on them",
    ),
    (
        {},
        nodes(1, 3, 5),
        "terminate",
        "EKS scales in from 4 to 3: one node is terminated, with the pods on it",
    ),
    (
        {},
        nodes(0, 0, 1),
        "terminate",
        "EKS scales in from 4 to 0: all its nodes are terminated, with the pods on them",
    ),
    (
        {},
        nodes(1, 5, 5),
        "update",
        "EKS starts new nodes, 5 in place of 4; none that runs is touched",
    ),
    (
        nodes(1, 2, 5),
        nodes(1, 2, 2),
        "update",
        (
            "its limits change in place; no node is touched, unless something but the stack "
            "has made them more than 2"
        ),
    ),
    (
        gpu(**AUTOSCALER),
        {},
        "terminate",
        (
            "the stack decides its size again: 4, whatever the autoscaler has made of it, as "
            "soon as an update finds it different, so run `pulumi up --refresh`; nodes above "
            "that are terminated"
        ),
    ),
    (
        gpu(**AUTOSCALER),
        nodes(1, 4, 9, **AUTOSCALER),
        "terminate",
        (
            "EKS is sent the new limits with the desired size in the state, 4 by the earlier "
            "file: nodes above that, which the autoscaler has added since, are terminated, "
            "unless `pulumi up --refresh` reads first how many there are"
        ),
    ),
    (
        {},
        nodes(5, 5, 5, **AUTOSCALER),
        "refused",
        (
            "EKS refuses it: updates leave the desired size as it is in the state, 4 by the "
            "earlier file, and the new limits are 5 to 5"
        ),
    ),
]


@pytest.mark.parametrize(("before", "after", "effect", "says"), sampled(SIZES, 4))
def test_sizes(
    ask: Ask, before: dict[str, Any], after: dict[str, Any], effect: str, says: str
) -> None:
    (name, found, message), *others = announced(ask(before, after))

    assert (name, found) == (GROUP, effect)
    # What an autoscaler is told of nodes goes with it.
    assert all("no node is touched (labels, tags)" in text for *_, text in others)
    assert message.removeprefix(f"{GROUP}: ").rpartition(" (")[0] == says


def test_a_desired_size_that_updates_leave_alone_changes_nothing(ask: Ask) -> None:
    assert announced(ask(gpu(**AUTOSCALER), nodes(1, 2, 5, **AUTOSCALER))) == []


@pytest.mark.parametrize(("limits", "path"), sampled([((5, 5, 9), "min"), ((1, 1, 3), "max")], 2))
@pytest.mark.parametrize("earlier", [{}, AUTOSCALER])
def test_limits_that_exclude_the_size_in_the_state_are_an_error(
    ask: Ask, earlier: dict[str, str], limits: tuple[int, int, int], path: str
) -> None:
    low, desired, high = limits
    ran = ask(gpu(**earlier), nodes(low, desired, high, **AUTOSCALER))

    assert (ran.code, errors(ran)) == (1, [("GPU814", f"pools.gpu.nodes.{path}")])


def taint(key: str, effect: str = "NoSchedule") -> dict[str, str]:
    return {"key": key, "value": "true", "effect": effect}


def test_a_taint_that_evicts_is_told(ask: Ask) -> None:
    taints = [taint("nvidia.com/gpu", "NoExecute")]
    found = announced(ask({}, gpu(taints=taints)))

    assert [(name, effect) for name, effect, _ in found] == [
        (GROUP, "evict"),
        (RELEASE, "restart"),
        ("gpushare-cluster-node-monitoring-agent", "restart"),
        (GROUP, "request"),
    ]
    assert "evicts every pod on them that does not tolerate it" in found[0][2]
    assert "nvidia.com/gpu=true:NoSchedule before and nvidia.com/gpu=true:NoExecute" in found[3][2]


def test_a_taint_that_evicts_nobody_changes_running_nodes_at_once(ask: Ask) -> None:
    found = announced(ask({}, gpu(taints=[taint("nvidia.com/gpu"), taint("team")])))

    assert found[0][:2] == (GROUP, "update")
    assert "the taints of its running nodes change at once; running pods stay" in found[0][2]


def test_reordered_taints_change_no_node(ask: Ask) -> None:
    """They are a set for EKS, and the chart's tolerations are in an order of their own."""
    taints = [taint("nvidia.com/gpu"), taint("team")]

    assert announced(ask(gpu(taints=taints), gpu(taints=taints[::-1]))) == []


def test_a_release_that_is_no_longer_pinned_rolls_nothing(ask: Ask) -> None:
    ((name, effect, message),) = announced(ask({}, gpu(amiVersion=None)))

    assert (name, effect) == (GROUP, "update")
    assert "stay at the release they have" in message


def test_renaming_says_what_pods_ask_for_before_and_after(ask: Ask) -> None:
    sharing = {"mode": "timeSlicing", "replicas": 10, "rename": True}
    found = announced(ask({}, gpu(sharing=sharing)))

    assert [(name, effect) for name, effect, _ in found] == [
        (RELEASE, "restart"),
        (GROUP, "request"),
    ]
    assert found[1][2] == (
        "gpushare-gpu: pods that are started later ask for nvidia.com/gpu: 1 before and "
        "nvidia.com/gpu.shared: 1 after; a g5.xlarge advertises nvidia.com/gpu: 4 before and "
        "nvidia.com/gpu.shared: 10 after; running pods stay (request)."
    )


def test_fewer_replicas_leave_what_pods_ask_for(ask: Ask) -> None:
    sharing = {"mode": "timeSlicing", "replicas": 2}
    found = announced(ask({}, gpu(sharing=sharing)))

    assert [(name, effect) for name, effect, _ in found] == [(RELEASE, "restart")]


BOTTLEROCKET = {
    "instanceTypes": ["g6.xlarge"],
    "nodes": {"max": 1},
    "amiFamily": "bottlerocket",
    "sharing": {"mode": "exclusive"},
}


def test_another_way_to_choose_among_pools_restarts_no_device_plugin(ask: Ask) -> None:
    before = {**gpu(**AUTOSCALER), "clusterAutoscaler": {}}

    assert announced(ask(before, {**before, "clusterAutoscaler": {"expander": "random"}})) == [
        (
            "gpushare-cluster-autoscaler-release",
            "restart",
            (
                "gpushare-cluster-autoscaler-release: Cluster Autoscaler restarts; nodes and pods "
                "stay, and no group changes its size meanwhile (values)."
            ),
        )
    ]


KEDA_RELEASE = "gpushare-keda-release"


def with_keda(**more: Any) -> dict[str, Any]:
    return {"keda": {"prometheus": {"url": "http://prometheus.monitoring.svc:9090"}, **more}}


def test_other_numbers_of_keda_restart_no_device_plugin(ask: Ask) -> None:
    assert announced(ask(with_keda(), with_keda(replicas=1))) == [
        (
            KEDA_RELEASE,
            "restart",
            (
                "gpushare-keda-release: KEDA restarts; nodes and pods stay, and no workload "
                "changes its number of pods meanwhile (values)."
            ),
        )
    ]


def test_keda_in_another_namespace_takes_what_it_scales_by_with_it(ask: Ask) -> None:
    (name, effect, message), space = announced(ask(with_keda(), with_keda(namespace="scaling")))

    assert (name, effect) == (KEDA_RELEASE, "replace")
    assert space[:2] == ("gpushare-keda-namespace", "replace")
    assert "the namespace keda goes, with everything in it" in space[2]
    assert "device plugin" not in message
    assert "with it the ScaledObjects of the stack; those of others go with" in message


def test_a_release_of_the_program_itself_is_no_device_plugin(run: Run, tmp_path: Path) -> None:
    text = (ROOT / "__main__.py").read_text(encoding="utf-8")
    own = """
import pulumi_kubernetes.helm.v3 as helm
helm.Release("mine", chart="mine", values={"size": pulumi.Config("mine").require_int("size")})
"""
    (tmp_path / "Pulumi.yaml").write_text((ROOT / "Pulumi.yaml").read_text())
    (tmp_path / "__main__.py").write_text(f"{text}\nimport pulumi\n{own}", encoding="utf-8")
    files = [str(tmp_path / f"Pulumi.{name}.yaml") for name in ("before", "after")]
    for size, file in enumerate(files):
        config = {
            "aws:region": "us-west-2",
            "eks-gpushare:environment": BASE,
            "mine:size": size,
        }
        Path(file).write_text(yaml.safe_dump({"config": config}))
    ran = run("preview", files[1], "--program", str(tmp_path), "--before", files[0], "--json")

    assert announced(ran) == [
        (
            "mine",
            "restart",
            "mine: what the chart changes restarts; no node is touched (values).",
        )
    ]


def test_an_autoscaler_for_a_pool_touches_none_of_its_nodes(ask: Ask) -> None:
    assert announced(ask({}, {**gpu(**AUTOSCALER), "clusterAutoscaler": {}})) == [
        (GROUP, "update", f"{GROUP}: it changes in place; no node is touched (labels, tags).")
    ]


def test_the_last_pool_that_the_chart_serves_takes_it_away(ask: Ask) -> None:
    """Bottlerocket's nodes bring a device plugin: a stack of nothing else installs no chart."""
    both = {"pools": {"own": BOTTLEROCKET}}
    found = announced(ask(both, {"pools": {"gpu": None, "own": BOTTLEROCKET}}))
    back = announced(ask({"pools": {"gpu": None, "own": BOTTLEROCKET}}, both))

    assert [(name, effect) for name, effect, _ in found] == [
        (GROUP, "delete"),
        ("gpushare-device-plugin", "delete"),
    ]
    assert "is removed, since no pool that is left needs it" in found[1][2]
    assert [(name, effect) for name, effect, _ in back] == [
        (GROUP, "create"),
        ("gpushare-device-plugin", "create"),
    ]


@pytest.mark.parametrize(
    ("after", "says"),
    [(False, "no longer refuse to delete it"), (True, "from now on EKS refuses to delete it")],
)
def test_protection_is_told(ask: Ask, after: bool, says: str) -> None:
    before = {"cluster": {"deletionProtection": not after}}
    ran = ask(before, {"cluster": {"deletionProtection": after}})
    ((name, effect, message),) = announced(ran)

    assert (ran.code, name, effect) == (0, CLUSTER, "update")
    assert says in message


def test_another_first_zone_moves_the_one_way_out(ask: Ask) -> None:
    ran = ask({}, {"network": {"zones": ["us-west-2b", "us-west-2a"]}})

    assert ran.code == 0
    assert announced(ran) == [
        (
            "gpushare-network",
            "update",
            (
                "gpushare-network: nodes behind gpushare-network-nat-us-west-2a leave by "
                "gpushare-network-nat-us-west-2b from then on, which has another public address: "
                "let that in, wherever the old one is let in (natGatewayId)."
            ),
        )
    ]


UNPROTECTED = {"cluster": {"deletionProtection": False}}
OTHER_KEY = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
MINE = {
    "zones": None,
    "vpcId": "vpc-0123456789abcdef0",
    "privateSubnetIds": ["subnet-0aaaaaaaaaaaaaaaa", "subnet-0bbbbbbbbbbbbbbbb"],
}


@pytest.mark.parametrize(
    ("before", "after", "found"),
    sampled(
        [
            ({}, {"network": {"zones": ["us-west-2a", "us-west-2c"]}}, ("GPU810", "network.zones")),
            ({"network": {"zones": 2}}, {"network": {"zones": 3}}, ("GPU810", "network.zones")),
            ({}, {"network": {"zones": 3}}, ("GPU810", "network.zones")),
            (UNPROTECTED, {"network": {"cidr": "10.1.0.0/16"}}, ("GPU810", "network.cidr")),
            ({}, {"network": MINE}, ("GPU810", "network")),
            (
                {"network": MINE},
                {"network": {**MINE, "vpcId": "vpc-0fedcba9876543210"}},
                ("GPU810", "network.vpcId"),
            ),
            ({}, {"cluster": {"name": "other"}}, ("GPU811", "cluster.name")),
            (
                {},
                {"cluster": {"name": "other", "deletionProtection": False}},
                ("GPU811", "cluster.name"),
            ),
            (
                UNPROTECTED,
                {"cluster": {"deletionProtection": False, "secretsKeyArn": OTHER_KEY}},
                ("GPU812", "cluster.secretsKeyArn"),
            ),
        ],
        3,
    ),
)
def test_what_is_refused_of_a_cluster_that_is_up_is_an_error_and_nothing_else_happens(
    ask: Ask, before: dict[str, Any], after: dict[str, Any], found: tuple[str, str]
) -> None:
    ran = ask(before, after)

    assert (ran.code, errors(ran)) == (1, [found])
    assert [(name, effect) for name, effect, _ in announced(ran)] == [(CLUSTER, "refused")]


def unpinned(version: str) -> dict[str, Any]:
    return {"cluster": {"version": version}, **gpu(amiVersion=None)}


@pytest.mark.parametrize(("old", "new"), [("1.34", "1.36"), ("1.36", "1.34"), ("1.35", "1.34")])
def test_versions_go_up_one_by_one(ask: Ask, old: str, new: str) -> None:
    ran = ask(unpinned(old), unpinned(new))

    assert (ran.code, errors(ran)) == (1, [("GPU813", "cluster.version")])


def test_one_version_up_is_no_error(ask: Ask) -> None:
    ran = ask(unpinned("1.35"), unpinned("1.36"))

    assert (ran.code, errors(ran)) == (0, [])


def test_a_protected_cluster_is_not_given_up(ask: Ask) -> None:
    existing = {
        "cluster": {"name": None, "version": None, "existing": {"name": "demo"}},
        "network": MINE,
        **gpu(amiVersion=None),
    }
    ran = ask({}, existing)

    assert (ran.code, errors(ran)) == (1, [("GPU811", "cluster.existing")])


def test_an_unprotected_cluster_may_be_replaced(ask: Ask) -> None:
    ran = ask(UNPROTECTED, {"cluster": {"name": "other", "deletionProtection": False}})

    assert (ran.code, errors(ran)) == (0, [])
    assert {effect for _, effect, _ in announced(ran)} == {"replace"}


def test_an_error_is_printed_with_its_line_and_what_happens(
    run: Run, tmp_path: Path, time_slicing: str
) -> None:
    before, after = tmp_path / "Pulumi.before.yaml", tmp_path / "Pulumi.after.yaml"
    before.write_text(time_slicing)
    after.write_text(time_slicing.replace("cidr: 10.0.0.0/16", "cidr: 10.1.0.0/16"))

    ran = run("preview", str(after), "--program", str(ROOT), "--before", str(before))

    assert ran.code == 1
    assert "error GPU810 at line 13, network.cidr" in ran.out
    assert "What the edit does to nodes\n  refused  gpushare-cluster-eks: EKS refuses it" in ran.out
    assert "Go on with" not in ran.out


def test_another_region_makes_everything_anew(run: Run, tmp_path: Path) -> None:
    """Zones are given as a number, so that the region is all that changes."""
    files = {}
    for region in ("us-west-2", "eu-west-1"):
        for protected in (True, False):
            environment = merge_values(
                BASE,
                {"network": {"zones": 2}, "cluster": {"deletionProtection": protected}},
            )
            config = {"aws:region": region, "eks-gpushare:environment": environment}
            files[region, protected] = tmp_path / f"Pulumi.{region}-{protected}.yaml"
            files[region, protected].write_text(yaml.safe_dump({"config": config}))

    def to_ireland(*, protected: bool) -> Ran:
        after, before = (str(files[each, protected]) for each in ("eu-west-1", "us-west-2"))
        return run("preview", after, "--program", str(ROOT), "--before", before, "--json")

    kept, free = to_ireland(protected=True), to_ireland(protected=False)

    assert (kept.code, errors(kept)) == (1, [("GPU815", "cluster.name")])
    assert [(name, effect) for name, effect, _ in announced(kept)] == [(CLUSTER, "refused")]
    assert (free.code, errors(free)) == (0, [])
    assert [effect for _, effect, _ in announced(free)] == ["replace"]


def test_skipped_versions_are_refused_as_an_edit_too(ask: Ask) -> None:
    ran = ask(unpinned("1.34"), unpinned("1.36"))

    ((name, effect, message),) = announced(ran)
    assert (name, effect) == (CLUSTER, "refused")
    assert "from 1.34 to 1.36 the control plane would skip 1.35" in message


WORKLOAD = {
    "pool": "gpu",
    "image": "registry.example.com/team/app:1.4.2",
    "resources": {"requests": {"cpu": "100m", "memory": "50Mi"}, "limits": {"memory": "100Mi"}},
}
OPEN = {"cluster": {"endpoint": {"public": True, "publicCidrs": ["203.0.113.0/24"]}}}
SCALED = {**gpu(scaledBy="autoscaler"), "clusterAutoscaler": {}}
TEAM = "gpushare-tenants-team-namespace"


def tenant(key: str) -> dict[str, Any]:
    sure = {"guaranteed": {"shares": 2}}
    return {"tenants": {"team": {key: ["team"], "pools": {"gpu": sure}}}}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    sampled(
        [
            (
                {"workloads": {"app": WORKLOAD}},
                {},
                ("gpushare-workload-app", "delete", "its pods end, and what leads to them goes"),
            ),
            (
                with_keda(),
                {},
                (
                    "gpushare-keda",
                    "delete",
                    "every ScaledObject in the cluster, those of others too",
                ),
            ),
            (
                SCALED,
                gpu(scaledBy="autoscaler"),
                ("gpushare-cluster-autoscaler", "delete", "groups keep the nodes that they have"),
            ),
            (
                {**SCALED, **gpu(scaledBy="autoscaler", warm={"nodes": 2})},
                {**SCALED, **gpu(scaledBy="autoscaler", warm={"nodes": 1})},
                ("gpushare-warm-room-gpu-nodes", "terminate", "1 in place of 2 placeholders"),
            ),
            (
                {**SCALED, **gpu(scaledBy="autoscaler", warm={"nodes": 1})},
                {**SCALED, **gpu(scaledBy="autoscaler", warm={"nodes": 2})},
                (
                    "gpushare-warm-room-gpu-nodes",
                    "update",
                    "2 in place of 1 placeholders; nodes start",
                ),
            ),
            (
                OPEN,
                {},
                (CLUSTER, "update", "loses it in this very update (endpointPublicAccess)"),
            ),
            ({}, OPEN, (CLUSTER, "update", "answers from the internet too, to 203.0.113.0/24")),
            # The role of the control plane keeps its path; without one it gets another.
            ({}, {"iam": {"path": "/team/"}}, (GROUP, "replace", "(nodeRoleArn)")),
            (
                {"iam": {"path": "/team/"}},
                {},
                (CLUSTER, "refused", "EKS changes no role of a control plane"),
            ),
        ],
        3,
    ),
)
def test_what_goes_or_shuts_is_told(
    ask: Ask, before: dict[str, Any], after: dict[str, Any], expected: tuple[str, str, str]
) -> None:
    found = announced(ask(before, after))

    name, effect, words = expected
    assert (name, effect) in [(n, e) for n, e, said in found if words in said], found


def test_warm_room_that_goes_is_told_once(ask: Ask) -> None:
    before = {**SCALED, **gpu(scaledBy="autoscaler", warm={"nodes": 1})}
    found = announced(ask(before, {**SCALED, **gpu(scaledBy="autoscaler")}))

    assert [each[:2] for each in found if "warm-room" in each[0]] == [
        ("gpushare-warm-room-gpu-nodes", "terminate"),
        ("gpushare-warm-room", "delete"),
    ]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            "namespaces",
            "existingNamespaces",
            "is no longer the stack's: it outlives its tenant",
        ),
        ("workload", "namespaces", "goes with its tenant from now on, and everything"),
        *(
            pytest.param(*handed, marks=pytest.mark.at_length)
            for handed in (
                (
                    "existingNamespaces",
                    "namespaces",
                    "is the stack's from now on: it goes with its tenant,",
                ),
                (
                    "workload",
                    "existingNamespaces",
                    "is no longer the stack's: it outlives its tenant",
                ),
                ("namespaces", "workload", "goes with its workloads from now on, and everything"),
                (
                    "existingNamespaces",
                    "workload",
                    "is the stack's from now on: it goes with its workloads",
                ),
            )
        ),
    ],
)
def test_a_namespace_that_is_handed_over_loses_nothing(
    ask: Ask, before: str, after: str, words: str
) -> None:
    there = {"workloads": {"w": {**WORKLOAD, "namespace": "team", "createNamespace": True}}}

    def declared(key: str) -> dict[str, Any]:
        own = {**there, "keda": {}} if "workload" in {before, after} else {}
        return own if key == "workload" else {**own, **tenant(key)}

    told = announced(ask(declared(before), declared(after)))
    ((name, effect, message),) = (each for each in told if "namespace" in each[0])

    assert name in {TEAM, "gpushare-namespace-team"}
    assert effect == "update"
    assert f"the namespace stays, with everything in it, and {words}" in message
    assert not [text for _, _, text in told if "namespaces go" in text]
