"""What a stack file takes over of each part of foreign files, and what it leaves to be decided."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from foreign_reading import items, merged, read_text_with, read_with
from inventory_of import config_map, nodes, operator, plugin, pods

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import PART_OF_POD, NodeSet, Release
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.lint.migration.clusters import cluster_of, groups_of
from eks_gpushare.lint.migration.migrate import Migration, migrate
from eks_gpushare.lint.migration.moved import Moved
from eks_gpushare.lint.migration.pools import free_name, pool_of, sizes
from eks_gpushare.lint.migration.rest import leave_rest
from eks_gpushare.lint.migration.shares import Shares
from eks_gpushare.lint.readers.compose import ComposeReader
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.readers.karpenter import KarpenterReader

EXAMPLES = Path(__file__).parents[2] / "examples" / "migration"
PLAN: dict[str, Any] = yaml.safe_load((EXAMPLES / "compose.yaml").read_text(encoding="utf-8"))
TODAY = date(2026, 11, 22)
GPU = "nvidia.com/gpu"


def source(value: Any, name: str = "it") -> Source:
    return Source(name, Document("a.yaml", value, lambda _: Position(3, 1)))


def cluster(**value: Any) -> tuple[Moved, list[str]]:
    moved = Moved()
    cluster_of(value, source(value), moved)
    return moved, [each.what for each in moved.left]


@pytest.mark.parametrize(
    ("version", "taken"),
    [("1.33", {"version": "1.33"}), ("latest", {}), (UNKNOWN, {}), (None, {}), ("", {})],
)
def test_the_version_of_a_cluster(version: Any, taken: dict[str, str]) -> None:
    moved, _ = cluster(metadata={"version": version})

    assert moved.environment["cluster"] == taken


def test_tags_and_zones_that_are_texts() -> None:
    moved, _ = cluster(
        metadata={"tags": {"a": "b", "c": 5, "d": UNKNOWN}}, availabilityZones=["x", UNKNOWN]
    )

    assert moved.environment["tags"] == {"a": "b"}
    assert moved.environment["network"] == {"zones": ["x"]}


def test_what_nothing_has_dealt_with_is_listed_where_it_stands() -> None:
    groups: list[Any] = [{"name": "a", "efaEnabled": True, "labels": {}}, {"name": "b"}]
    value = {"apiVersion": "eksctl.io/v1alpha5", "managedNodeGroups": groups, "iam": {"a": 1}}
    document = Document("a.yaml", value, lambda _: Position(1, 1))
    moved = Moved()
    moved.known[id(value)] = {("managedNodeGroups", 0, "name")}
    leave_rest(document, moved)

    assert [each.what for each in moved.left] == [
        "managedNodeGroups[0].efaEnabled",
        "managedNodeGroups[1]",
        "iam",
    ]


OWN = "The stack makes a network of its own; network: {existing: ...} takes one."
OPEN = "It is open to the world there. Name networks: cluster.endpoint.publicCidrs."


@pytest.mark.parametrize(
    ("vpc", "network", "left"),
    [
        ({"cidr": "10.0.0.0/16"}, {"cidr": "10.0.0.0/16"}, {}),
        ({"cidr": UNKNOWN}, {}, {"vpc.cidr": OWN}),
        ({"id": "vpc-1"}, {}, {"vpc.id": OWN}),
        ({"nat": {"gateway": "Single"}}, {"natGateways": "single"}, {}),
        ({"nat": {"gateway": "HighlyAvailable"}}, {"natGateways": "perZone"}, {}),
        ({"nat": {"gateway": "Disable"}}, {}, {"vpc.nat": OWN}),
        ({"gateway": {"gateway": "Single"}}, {}, {"vpc.gateway": OWN}),
        (
            {"clusterEndpoints": {"publicAccess": True}},
            {},
            {"vpc.clusterEndpoints.publicAccess": OPEN},
        ),
        ({"clusterEndpoints": {"publicAccess": False}}, {}, {}),
        ({"clusterEndpoints": {"publicAccess": True}, "publicAccessCIDRs": []}, {}, {}),
    ],
)
def test_the_network_of_a_cluster(
    vpc: dict[str, Any], network: dict[str, str], left: dict[str, str]
) -> None:
    moved, _ = cluster(vpc=vpc)

    assert moved.environment["network"] == network
    assert {each.what: each.why for each in moved.left} == left


ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


@pytest.mark.parametrize(
    ("principal", "policy", "taken"),
    [
        ("arn:a", ADMIN, True),
        (UNKNOWN, ADMIN, False),
        ("arn:a", "arn:b/AmazonEKSViewPolicy", False),
    ],
)
def test_who_administers_a_cluster(principal: Any, policy: str, taken: bool) -> None:
    entry = {"principalARN": principal, "accessPolicies": [{"policyARN": policy}]}
    moved, left = cluster(accessConfig={"accessEntries": [entry]})

    assert moved.environment["cluster"].get("admins", []) == (["arn:a"] if taken else [])
    assert left == ([] if taken else [f"the access entry of {principal}"])


def test_one_group_without_gpus_is_the_systems() -> None:
    moved = Moved()
    groups = [
        NodeSet(
            source=source({}, f"the node group {kind}"),
            name=kind,
            instance_types=(kind,),
            provisioner="managed",
        )
        for kind in ("g5.xlarge", "m5.large", "c5.large")
    ]
    groups_of(groups, moved)

    assert moved.environment["system"]["instanceTypes"] == ["m5.large"]
    assert [each.what for each in moved.left] == ["the node group c5.large"]


def test_what_stands_in_no_file_is_at_the_beginning() -> None:
    moved = Moved()
    moved.leave(Source("it"), (), "what", "why")

    assert moved.left[0].as_json() == {
        "file": "", "line": 1, "column": 1, "what": "what", "why": "why",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("GPU Pool!", "gpu-pool"),
        ("a", "a"),
        ("z9", "z9"),
        ("9a", "gpu-9a"),
        ("{x", "x"),
        ("", "gpu"),
        (UNKNOWN, "gpu"),
        ("a" * 41, "a" * 40),
        (f"{'a' * 39}-b", "a" * 39),
        ("9" * 37, f"gpu-{'9' * 36}"),
        (f"{'9' * 35}-b", f"gpu-{'9' * 35}"),
    ],
)
def test_names_of_pools(given: Any, name: str) -> None:
    moved = Moved()
    assert free_name(given, moved) == name
    moved.pools[name] = {}
    assert free_name(given, moved) == f"{name}-2"
    moved.pools[f"{name}-2"] = {}
    assert free_name(given, moved) == f"{name}-3"


@pytest.mark.parametrize(
    ("least", "most", "expected"),
    [
        (None, None, (0, 0, 1)),
        (2, None, (2, 2, 2)),
        (UNKNOWN, 0, (0, 0, 1)),
        (1, 1, (1, 1, 1)),
        (1, 4, (1, 1, 4)),
    ],
)
def test_sizes_of_a_group(least: Any, most: Any, expected: tuple[int, int, int]) -> None:
    found = sizes(nodes(least=least, most=most))

    assert tuple(found.values()) == expected


def pool(given: NodeSet, *charts: Any) -> tuple[dict[str, Any], list[str]]:
    moved = Moved()
    pool_of(given, Shares(Inventory(charts), moved), moved)
    (made,) = moved.pools.values()
    return made, [each.what for each in moved.left]


@pytest.mark.parametrize(
    ("most", "limits", "expected"),
    [
        (3, {}, 3),
        (0, {}, 1),
        (None, {}, 1),
        (None, {"cpu": 3}, 1),
        (None, {"cpu": 8}, 2),
        (None, {"cpu": 100, GPU: 5}, 5),
        (None, {GPU: UNKNOWN}, 1),
    ],
)
def test_sizes_of_a_pool_of_karpenter(most: Any, limits: dict[str, Any], expected: int) -> None:
    made, _ = pool(nodes("g5.xlarge", provisioner="karpenter", most=most, limits=limits))

    assert made["nodes"] == {"max": expected}


@pytest.mark.parametrize(
    ("ways", "expected", "left"),
    [
        (["spot"], {"capacityType": "spot"}, []),
        (["on-demand"], {}, []),
        (["spot", "on-demand"], {"karpenter": {"capacityTypes": ["spot", "onDemand"]}}, []),
        (["spot", "reserved"], {"capacityType": "spot"}, ["capacity type reserved"]),
        (["spot", "odd"], {"capacityType": "spot"}, []),
        (["odd"], {}, []),
    ],
)
def test_how_instances_are_bought(
    ways: list[str], expected: dict[str, Any], left: list[str]
) -> None:
    requirement = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ways}
    value = {"spec": {"template": {"spec": {"requirements": [requirement]}}}}
    given = NodeSet(
        source=source(value), name="gpu", instance_types=("g5.xlarge",), provisioner="karpenter"
    )
    made, told = pool(given)

    kept = {key: made[key] for key in ("capacityType", "karpenter") if key in made}
    assert (kept, told) == (expected, left)


def test_what_eksctl_says_of_a_group_alone() -> None:
    value = {"volumeSize": 99, "spot": True, "efaEnabled": True}
    other = dict.fromkeys(value, False) | {"volumeSize": UNKNOWN}

    def of(value: dict[str, Any]) -> dict[str, Any]:
        given = NodeSet(
            source=source(value), name="gpu", instance_types=("g5.xlarge",), provisioner="managed"
        )
        made, _ = pool(given)
        return {key: made[key] for key in ("rootVolumeGiB", "capacityType", "efa") if key in made}

    assert of(value) == {"rootVolumeGiB": 99, "capacityType": "spot", "efa": True}
    assert of(other) == {}


@pytest.mark.parametrize(
    ("ami", "family", "left"),
    [
        ("BOTTLEROCKET_x86_64_NVIDIA", "bottlerocket", []),
        ("AL2023_x86_64_NVIDIA", None, []),
        ("AmazonLinux2023", None, []),
        ("ami-1", None, ["the image ami-1"]),
        (UNKNOWN, None, []),
        ("", None, []),
    ],
)
def test_the_image_of_a_pool(ami: Any, family: str | None, left: list[str]) -> None:
    made, told = pool(nodes(ami=ami))

    assert (made.get("amiFamily"), told) == (family, left)


def shared(mode: str = "timeSlicing", replicas: Any = 4, **more: Any) -> str:
    resources = [{"name": GPU, "replicas": replicas}]
    return yaml.safe_dump({"sharing": {mode: {"resources": resources, **more}}})


TIMES = {
    "mode": "timeSlicing", "replicas": 4, "rename": False, "failRequestsGreaterThanOne": False,
}  # fmt: skip
EXCLUSIVE = {"mode": "exclusive"}
MAP = config_map("shares", {"any": shared()})


@pytest.mark.parametrize(
    ("charts", "sharing", "left"),
    [
        ([plugin({"config": {"map": {"a": shared()}}})], TIMES, []),
        ([plugin({"config": {"data": {"a": shared()}}})], TIMES, []),
        ([plugin({"config": {"map": {"a": shared(replicas=1)}}})], EXCLUSIVE, []),
        ([plugin({"config": {"map": {"a": shared(replicas=2)}}})], TIMES | {"replicas": 2}, []),
        ([plugin({"config": {"map": {"a": shared(replicas=UNKNOWN.value)}}})], EXCLUSIVE, []),
        ([plugin({"config": {"map": {"a": shared(renameByDefault=True)}}})],
         TIMES | {"rename": True}, []),
        ([plugin({"config": {"map": {"a": shared(failRequestsGreaterThanOne=True)}}})],
         TIMES | {"failRequestsGreaterThanOne": True}, []),
        ([plugin({"config": {"name": "shares"}}), MAP], TIMES, []),
        ([operator({"devicePlugin": {"config": {"name": "shares"}}}), MAP], TIMES, []),
        ([plugin({"config": {"name": "others"}}), MAP], EXCLUSIVE, []),
        # The chart's own map goes over one that is named.
        ([plugin({"config": {"name": "shares", "map": {"a": shared(replicas=9)}}}), MAP],
         TIMES | {"replicas": 9}, []),
        # Of several keys it is the default, where one is named.
        ([plugin({"config": {"map": {"a": shared(), "b": shared(replicas=9)}, "default": "b"}})],
         TIMES | {"replicas": 9}, []),
        ([plugin({"config": {"map": {"a": shared(), "b": shared(replicas=9)}, "default": ""}})],
         EXCLUSIVE, []),
        ([plugin({"config": {"map": {"a": shared(), "b": shared(replicas=9)}, "default": 5}})],
         EXCLUSIVE, []),
        ([plugin({"config": {"map": {"a": shared()}, "default": ""}})], TIMES, []),
        ([plugin({"config": {"map": {"a": shared()}, "default": 5}})], TIMES, []),
        # No chart names it: the only configuration is taken.
        ([MAP], TIMES, ["the ConfigMap shares"]),
        ([plugin(), MAP], TIMES, ["the ConfigMap shares"]),
        ([MAP, config_map("other", {"a": "x: y"})], TIMES, ["the ConfigMap shares"]),
        ([MAP, config_map("other", {"a": shared()})], EXCLUSIVE, []),
        ([config_map("other", {"a": "x: y"})], EXCLUSIVE, []),
        ([], EXCLUSIVE, []),
    ],
)  # fmt: skip
def test_how_a_pool_shares(charts: list[Any], sharing: dict[str, Any], left: list[str]) -> None:
    made, told = pool(nodes(), *charts)

    assert (made["sharing"], told) == (sharing, left)


def test_slices_of_mig_devices() -> None:
    labels = {"nvidia.com/mig.config": "all-1g.5gb"}

    def of(config: str) -> Any:
        given = nodes("p4d.24xlarge", labels=labels)
        return pool(given, plugin({"config": {"map": {"a": config}}}))[0]["sharing"]

    mig = {"mode": "mig", "layout": "all-1g.5gb"}
    assert of(shared()) == {**mig, "timeSlicing": {"replicas": 4, "rename": False}}
    assert of(shared("mps")) == of("x: y") == mig


NODE_POOL: dict[str, Any] = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "gpu"},
    "spec": {
        "template": {
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "g"},
                "requirements": [
                    {
                        "key": "node.kubernetes.io/instance-type",
                        "operator": "In",
                        "values": ["g5.xlarge"],
                    }
                ],
            }
        }
    },
}


def made_of(*more: Any) -> Migration:
    return migrate([*items(read_with(KarpenterReader(), NODE_POOL)), *more], new=True, today=TODAY)


def test_what_no_file_says_is_filled_in() -> None:
    text = made_of().text

    assert "    network:\n      zones: 2\n" in text
    assert "    pools:\n      # From file.yaml, line 1: the NodePool gpu.\n      gpu:\n" in text
    assert "        amiVersion: 1.3" in text
    found = yaml.safe_load(text)["config"]["eks-gpushare:environment"]
    assert next(iter(found["pools"]["gpu"])) == "provisioner"
    assert all(not line or line.isascii() for line in text.splitlines())


def test_a_type_that_no_zone_is_known_to_have_bounds_nothing() -> None:
    made = made_of(nodes("g5.xlarge", name="b"))

    assert "zones:" not in made.text.replace("      zones: 2\n", "")


def test_words_of_tags_stay_readable() -> None:
    value = {
        "apiVersion": "eksctl.io/v1alpha5",
        "kind": "ClusterConfig",
        "metadata": {"name": "a", "region": "eu-west-1", "tags": {"team": "K\u00fcche"}},
    }
    group = NodeSet(
        source=source(value), name="gpu", instance_types=("g5.xlarge",), provisioner="managed"
    )

    assert "team: K\u00fcche\n" in migrate([group], new=True, today=TODAY).text


@pytest.mark.parametrize("family", [None, "bottlerocket"])
def test_only_images_of_eks_get_its_release(family: str | None) -> None:
    ami = "" if family is None else "BOTTLEROCKET_x86_64_NVIDIA"
    made = migrate([nodes(ami=ami)], new=True, today=TODAY)

    assert ("amiVersion" in made.text) is (family is None)


def test_a_version_whose_images_are_not_known_gets_no_release() -> None:
    value = {"apiVersion": "eksctl.io/v1alpha5", "metadata": {"version": "1.99"}}
    group = NodeSet(
        source=source(value), name="gpu", instance_types=("g5.xlarge",), provisioner="managed"
    )

    assert "amiVersion" not in migrate([group], new=True, today=TODAY).text


@pytest.mark.parametrize(
    ("given", "left"),
    [
        (pods({GPU: 1}), ["the Deployment app"]),
        (pods({"cpu": 1}), []),
        (pods({GPU: 1}, kind=PART_OF_POD), []),
        (plugin(UNKNOWN), ["the Release nvidia-device-plugin"]),
        (plugin({}), []),
    ],
)
def test_what_stays_beside_the_stack(given: Any, left: list[str]) -> None:
    assert [each.what for each in made_of(given).left] == left


def test_a_plan_that_leaves_out_what_it_may() -> None:
    def made(plan: dict[str, Any]) -> dict[str, Any]:
        text = migrate(items(read_with(ComposeReader(), plan)), new=True, today=TODAY).text
        found: dict[str, Any] = yaml.safe_load(text)["config"]["eks-gpushare:environment"]
        return found

    place = "x-internal-integrations__multiTenantGpu"
    both = {"instanceType": "p4d.24xlarge", "migProfile": "1g.5gb", "timeSlicingReplicas": 4}
    found = made(merged(PLAN, **{place: both}))
    assert found["workloads"]["app"]["replicas"] == {"min": 1, "max": 1}
    assert "keda" not in found
    less = "services__app__x-omnistrate-capabilities__autoscaling__minReplicas"
    found = made(merged(PLAN, **{place: both, less: ...}))
    assert found["workloads"]["app"]["replicas"] == {"max": 1}
    found = made(merged(PLAN, **{place: {"instanceType": "g99.xlarge"}}))
    assert found["network"] == {"zones": 2}


def test_what_is_not_known_of_a_plan_is_left_out() -> None:
    own = "services__app__x-omnistrate-capabilities__serverlessConfiguration"
    plan = merged(PLAN, **{own: ...})
    plan["services"]["app"]["ports"] = [UNKNOWN, "5001:5001"]
    plan["services"]["other"] = {**plan["services"]["app"], "image": UNKNOWN}
    made = migrate(items(read_with(ComposeReader(), plan)), new=True, today=TODAY)

    assert "the service other" in [each.what for each in made.left]
    found = yaml.safe_load(made.text)["config"]["eks-gpushare:environment"]
    assert list(found["workloads"]) == ["app"]
    assert found["workloads"]["app"]["port"] == 5001


def test_a_chart_of_which_nothing_is_known_shares_nothing_that_is_known() -> None:
    (release,) = items(read_text_with_script("helm install p nvdp/nvidia-device-plugin -f x.yaml"))

    assert isinstance(release, Release)
    assert pool(nodes(), release)[0]["sharing"] == EXCLUSIVE


def read_text_with_script(text: str) -> Any:
    from eks_gpushare.lint.readers.shell import ShellReader

    return read_text_with(ShellReader(), text, "a.sh")
