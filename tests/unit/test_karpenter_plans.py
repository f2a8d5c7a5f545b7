"""What Karpenter is told of a pool is what the nodes of the pool will be."""

from __future__ import annotations

import email
import json
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from eks_gpushare.catalog import Catalog, gpu_instance_types
from eks_gpushare.catalog.versions import ami_release
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.documents.cron import cron_fault
from eks_gpushare.documents.quantity import quantity
from eks_gpushare.sharing import karpenter, scaling
from eks_gpushare.sharing.efa import EFA, efa_cards
from eks_gpushare.sharing.karpenter.images import UnknownReleaseError, ami_terms
from eks_gpushare.sharing.karpenter.node_pool import node_pool
from eks_gpushare.sharing.plan import plan_pool
from eks_gpushare.sharing.resources import GPU
from eks_gpushare.sharing.system_load import for_the_cluster
from eks_gpushare.validation.parse import parse

if TYPE_CHECKING:
    from eks_gpushare.config.environment import Environment
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.sharing.plan import PoolPlan

REGION = "us-west-2"
SHARED = f"{GPU}.shared"
TIME_SLICING = {"mode": "timeSlicing", "replicas": 10}


def environment_of(pools: dict[str, Any], **more: Any) -> Environment:
    ours = {name: {"provisioner": "karpenter", **pool} for name, pool in pools.items()}
    parsed = parse({"cluster": {"name": "demo", "version": "1.35"}, "pools": ours, **more})
    assert parsed.environment is not None, parsed.findings
    return parsed.environment


def pool_of(*types: str, **keys: Any) -> Pool:
    pool = {"instanceTypes": types or ["g5.xlarge"], "sharing": TIME_SLICING, **keys}
    return environment_of({"gpu": pool}).pools["gpu"]


def plan_of(*types: str, **keys: Any) -> PoolPlan:
    return plan_pool("gpu", pool_of(*types, **keys), Catalog(), REGION)


def class_of(plan: PoolPlan) -> dict[str, Any]:
    made = karpenter.node_class(
        plan, Catalog(), role="r", subnet_terms=[], security_group_terms=[], version="1.35"
    )
    spec: dict[str, Any] = made["spec"]
    return spec


def parts_of(user_data: str | None) -> list[str]:
    """The parts of MIME user data, as a mail reader and so cloud-init takes them apart."""
    assert user_data is not None
    whole = email.message_from_string(user_data)
    return [str(part.get_payload()) for part in whole.walk() if not part.is_multipart()]


def believed(plan: PoolPlan, name: str) -> dict[str, int]:
    """What Karpenter believes a node to have: EC2's count, and in its place what an overlay says.

    ApplyCapacityOverlay in pkg/cloudprovider/types.go of sigs.k8s.io/karpenter, v1.14.1.
    """
    found = gpu_instance_types()[name]
    node = {GPU: found.api_gpu_count or 0}
    for overlay in karpenter.node_overlays(plan, Catalog()):
        wanted = {each["key"]: each["values"] for each in overlay["spec"]["requirements"]}
        assert wanted["karpenter.sh/nodepool"] == [plan.name]
        if wanted["node.kubernetes.io/instance-type"] == [name]:
            node |= {key: int(count) for key, count in overlay["spec"]["capacity"].items()}
    return {key: count for key, count in node.items() if count}


TURNS = st.one_of(
    st.just({"mode": "exclusive"}),
    st.fixed_dictionaries(
        {"mode": st.sampled_from(["timeSlicing", "mps"]), "replicas": st.integers(2, 16)},
        optional={"rename": st.booleans()},
    ),
)
LAYOUTS = ["all-1g.5gb", "all-balanced", {"3g.20gb": 1}, [{"gpus": [1], "devices": {"1g.5gb": 7}}]]
MIG = st.builds(
    lambda layout, strategy, turns: {"mode": "mig", "layout": layout, **strategy, **turns},
    st.sampled_from(LAYOUTS),
    st.sampled_from([{}, {"strategy": "mixed"}, {"strategy": "single"}]),
    st.sampled_from(
        [{}, {"timeSlicing": {"replicas": 4}}, {"timeSlicing": {"replicas": 4, "rename": False}}]
    ),
)
TYPES = st.lists(
    st.sampled_from([each for each in sorted(gpu_instance_types()) if not each.startswith("p6e")]),
    min_size=1,
    max_size=4,
    unique=True,
)


@given(
    pool=st.one_of(
        st.fixed_dictionaries({"instanceTypes": TYPES, "sharing": TURNS}),
        st.fixed_dictionaries({"instanceTypes": st.just(["p4d.24xlarge"]), "sharing": MIG}),
    )
)
@settings(max_examples=200)
def test_karpenter_believes_of_a_node_what_it_advertises(pool: dict[str, Any]) -> None:
    environment = environment_of({"gpu": pool})
    try:
        plan = plan_pool("gpu", environment.pools["gpu"], Catalog(), REGION)
    except ValueError:  # single with GPUs of several kinds
        reject()

    overlays = karpenter.node_overlays(plan, Catalog())

    for name, advertised in plan.per_node.items():
        truth = {key: count for key, count in advertised.items() if count and key != EFA}
        assert believed(plan, name) == truth
    selected = [json.dumps(each["spec"]["requirements"]) for each in overlays]
    assert len({*selected}) == len(selected)  # no two say something of one type
    assert len({each["metadata"]["name"] for each in overlays}) == len(overlays)
    assert karpenter.feature_gates(environment)["nodeOverlay"] is bool(overlays)


@pytest.mark.parametrize(
    ("instance", "sharing", "capacity"),
    [
        ("g5.xlarge", {"mode": "exclusive"}, None),
        ("g5.48xlarge", {"mode": "exclusive"}, None),
        ("g6f.xlarge", {"mode": "exclusive"}, {GPU: "1"}),
        ("g5.xlarge", TIME_SLICING, {GPU: "0", SHARED: "10"}),
        ("g5.xlarge", {**TIME_SLICING, "rename": False}, {GPU: "10"}),
        ("g6f.xlarge", {**TIME_SLICING, "rename": False}, {GPU: "10"}),
        ("g5.12xlarge", {"mode": "mps", "replicas": 4}, {GPU: "0", SHARED: "16"}),
        (
            "p4d.24xlarge",
            {"mode": "mig", "layout": "all-1g.5gb", "strategy": "single"},
            {GPU: "56"},
        ),
        (
            "p4d.24xlarge",
            {"mode": "mig", "layout": "all-balanced"},
            {
                GPU: "0",
                "nvidia.com/mig-1g.5gb": "16",
                "nvidia.com/mig-2g.10gb": "8",
                "nvidia.com/mig-3g.20gb": "8",
            },
        ),
        (
            "p4d.24xlarge",
            {"mode": "mig", "layout": "all-1g.5gb", "timeSlicing": {"replicas": 4}},
            {GPU: "0", "nvidia.com/mig-1g.5gb.shared": "224"},
        ),
    ],
)
def test_an_overlay_says_what_ec2_does_not(
    instance: str, sharing: dict[str, Any], capacity: dict[str, str] | None
) -> None:
    made = karpenter.node_overlays(plan_of(instance, sharing=sharing), Catalog())

    assert [each["spec"]["capacity"] for each in made] == ([capacity] if capacity else [])


@pytest.mark.parametrize(
    ("limits", "nodes"),
    [  # as a real Karpenter allowed them, with ten shares on a node
        ({SHARED: 25}, 2),
        ({SHARED: 30}, 3),
        ({SHARED: "1e2"}, 10),
        ({GPU: 2}, None),
        ({"nodes": 2}, None),
        ({"cpu": 8}, None),
    ],
)
def test_a_limit_allows_nodes_by_what_they_advertise(
    limits: dict[str, Any], nodes: int | None
) -> None:
    plan = plan_of(karpenter={"limits": limits})

    assert scaling.node_range(plan.pool, plan.per_node) == (0, nodes)


@pytest.mark.parametrize(
    ("keys", "limits", "sizes"),
    [
        ({}, {}, (0, 0, 1)),
        ({"nodes": {"max": 3}}, {SHARED: "30"}, (0, 0, 3)),
        ({"karpenter": {"limits": {SHARED: 45}}}, {SHARED: "45"}, (0, 0, 4)),
        (
            {"nodes": {"max": 3}, "karpenter": {"limits": {"cpu": 64}}},
            {SHARED: "30", "cpu": "64"},
            (0, 0, 3),
        ),
        ({"nodes": {"desired": 2}, "karpenter": {"static": True}}, {}, (2, 2, 2)),
        ({"karpenter": {"static": True}}, {}, (1, 1, 1)),
        (
            {"nodes": {"desired": 2, "max": 4}, "karpenter": {"static": True}},
            {"nodes": "4"},
            (2, 2, 4),
        ),
        ({"nodes": {"desired": 0}, "karpenter": {"static": True}}, {}, (0, 0, 1)),
    ],
)
def test_limits_and_sizes(
    keys: dict[str, Any], limits: dict[str, str], sizes: tuple[int, int, int]
) -> None:
    plan = plan_of(**keys)

    assert karpenter.limits_of(plan) == limits
    assert tuple(plan.sizes) == sizes


def test_of_the_smaller_type_there_may_be_more_nodes() -> None:
    plan = plan_of("g5.xlarge", "g5.12xlarge", nodes={"max": 4})

    assert karpenter.limits_of(plan) == {SHARED: "160"}
    assert scaling.most_by_type(plan.pool, plan.per_node) == {"g5.xlarge": 16, "g5.12xlarge": 4}


def test_mig_devices_of_every_kind_are_limited() -> None:
    sharing = {"mode": "mig", "layout": "all-balanced"}
    plan = plan_of("p4d.24xlarge", sharing=sharing, nodes={"max": 2})

    assert karpenter.limits_of(plan) == {
        "nvidia.com/mig-1g.5gb": "32",
        "nvidia.com/mig-2g.10gb": "16",
        "nvidia.com/mig-3g.20gb": "16",
    }


CUSTOM = {"id": "ami-0123456789abcdef0", "family": "bottlerocket", "driverIncluded": True}


@pytest.mark.parametrize(
    ("keys", "terms"),
    [
        ({"amiVersion": "1.35.8-20260930"}, [{"alias": "al2023@v20260930"}]),
        ({"amiVersion": "1.33.13-20251023"}, [{"alias": "al2023@v20251023"}]),
        ({}, [{"alias": "al2023@v20260930"}]),
        ({"amiFamily": "bottlerocket"}, [{"alias": "bottlerocket@v1.65.0"}]),
        (
            {"amiFamily": "bottlerocket", "amiVersion": "1.54.0-0be31b34"},
            [{"alias": "bottlerocket@v1.54.0"}],
        ),
        ({"amiFamily": "custom", "customAmi": CUSTOM}, [{"id": "ami-0123456789abcdef0"}]),
    ],
)
def test_the_image_is_pinned(keys: dict[str, Any], terms: list[dict[str, str]]) -> None:
    assert ami_terms(pool_of(**keys), "1.35") == terms


@pytest.mark.parametrize("version", ["1.29", None])
def test_an_image_that_nobody_knows_is_never_the_latest(version: str | None) -> None:
    assert ami_release("al2023", version or "") is None
    with pytest.raises(UnknownReleaseError):
        ami_terms(pool_of(), version)


def test_a_custom_image_has_the_volumes_of_its_family() -> None:
    spec = class_of(plan_of(amiFamily="custom", customAmi=CUSTOM))

    assert spec["amiFamily"] == "Bottlerocket"
    assert [each["deviceName"] for each in spec["blockDeviceMappings"]] == [
        "/dev/xvda",
        "/dev/xvdb",
    ]
    assert [each["ebs"]["encrypted"] for each in spec["blockDeviceMappings"]] == [True, True]


KUBELET = {"maxPods": 50, "kubeReserved": {"cpu": "1"}, "seccompDefault": True}


def test_user_data_leaves_to_karpenter_what_it_has_to_know() -> None:
    part = {"contentType": "text/x-shellscript", "content": "#!/bin/sh\nexit 0\n"}
    plan = plan_of(kubelet=KUBELET, localStorage="raid0", userData=[part])

    config, script = parts_of(karpenter.user_data_of(plan, Catalog()))

    assert json.loads(config)["spec"] == {"kubelet": {"config": {"seccompDefault": True}}}
    assert script.startswith("#!/bin/sh\nexit 0")
    spec = class_of(plan)
    assert spec["kubelet"] == {"kubeReserved": {"cpu": "1"}, "maxPods": 50}
    assert spec["instanceStorePolicy"] == "RAID0"


def test_settings_of_bottlerocket_leave_it_too() -> None:
    plan = plan_of(amiFamily="bottlerocket", kubelet=KUBELET, localStorage="raid0")

    assert tomllib.loads(karpenter.user_data_of(plan, Catalog()) or "")["settings"] == {
        "kubernetes": {"seccomp-default": True},
        "kubelet-device-plugins": {
            "nvidia": {
                "device-sharing-strategy": "time-slicing",
                "time-slicing": {
                    "fail-requests-greater-than-one": True,
                    "rename-by-default": True,
                    "replicas": 10,
                },
            }
        },
    }


@pytest.mark.parametrize(
    ("manager", "keys", "waits"),
    [
        ("devicePlugin", {}, False),
        ("gpuOperator", {}, True),
        ("gpuOperator", {"waitForDriver": False}, False),
        ("devicePlugin", {"waitForDriver": True}, True),
        ("gpuOperator", {"amiFamily": "bottlerocket", "sharing": {"mode": "exclusive"}}, False),
    ],
)
def test_nodes_wait_for_their_driver_as_those_of_node_groups_do(
    manager: str, keys: dict[str, Any], waits: bool
) -> None:
    told = karpenter.user_data_of(plan_of(**keys), Catalog(), manager=manager)

    assert ("eks-gpushare-driver" in (told or "")) is waits
    assert (told is None) is not waits


def test_the_boot_script_is_that_of_a_node_group() -> None:
    sharing = {"mode": "mig", "layout": "all-1g.5gb"}
    told = karpenter.user_data_of(plan_of("p4d.24xlarge", sharing=sharing), Catalog())

    (script,) = parts_of(told)
    assert "eks-gpushare-mig.service" in script


def test_nodes_with_efa_have_every_interface_of_their_type() -> None:
    for name, found in gpu_instance_types().items():
        if not found.efa_interfaces:
            continue
        cards = efa_cards(found)

        assert len(cards) == found.efa_interfaces, name
        assert len({card for card, _ in cards}) == len(cards), name  # one for each card
        assert (0, 0) not in cards, name  # which is for IP traffic
        spec = class_of(plan_of(name, sharing={"mode": "exclusive"}, efa=True))
        kinds = [each["interfaceType"] for each in spec["networkInterfaces"]]
        assert kinds == ["interface", *["efa-only"] * found.efa_interfaces], name


def test_startup_taints_are_apart_from_those_that_stay() -> None:
    ready = {"key": "example.com/ready", "effect": "NoSchedule"}
    plan = plan_of(
        "p4d.24xlarge",
        sharing={"mode": "mig", "layout": "all-1g.5gb", "apply": "migManager"},
        karpenter={"startupTaints": [ready]},
    )

    spec = node_pool(plan, Catalog())["spec"]["template"]["spec"]

    assert [each["key"] for each in spec["taints"]] == [GPU]
    assert [each["key"] for each in spec["startupTaints"]] == [
        "eks-gpushare/mig-layout",
        "example.com/ready",
    ]


@pytest.mark.parametrize(
    ("keys", "ways"),
    [
        ({}, ["on-demand"]),
        ({"capacityType": "spot"}, ["spot"]),
        ({"capacityType": "capacityBlock"}, ["reserved"]),
        ({"karpenter": {"capacityTypes": ["spot", "onDemand"]}}, ["on-demand", "spot"]),
    ],
)
def test_ways_to_buy_are_a_requirement(keys: dict[str, Any], ways: list[str]) -> None:
    spec = node_pool(plan_of(**keys), Catalog())["spec"]["template"]["spec"]

    wanted = {each["key"]: each["values"] for each in spec["requirements"]}
    assert wanted["karpenter.sh/capacity-type"] == ways


@pytest.mark.parametrize(
    ("pool", "on"),
    [
        ({"sharing": {"mode": "exclusive"}}, set()),
        ({}, {"nodeOverlay"}),
        ({"sharing": {"mode": "exclusive"}, "karpenter": {"static": True}}, {"staticCapacity"}),
        ({"sharing": {"mode": "exclusive"}, "nodeRepair": True}, {"nodeRepair"}),
        ({"sharing": {"mode": "exclusive"}, "nodeRepair": False}, set()),
    ],
)
def test_gates_are_those_that_a_pool_uses(pool: dict[str, Any], on: set[str]) -> None:
    base = {"instanceTypes": ["g5.xlarge"], "sharing": TIME_SLICING}
    gates = karpenter.feature_gates(environment_of({"gpu": {**base, **pool}}))

    assert {gate for gate, used in gates.items() if used} == on
    assert set(gates) == {"nodeOverlay", "staticCapacity", "nodeRepair"}


def test_values_of_the_user_go_over_those_of_the_plan() -> None:
    given = {"settings": {"batchMaxDuration": "20s", "featureGates": {"capacityBuffer": True}}}
    environment = environment_of(
        {"gpu": {"instanceTypes": ["g5.xlarge"], "sharing": TIME_SLICING}},
        charts={"karpenter": {"values": given}},
        karpenter={"replicas": 1},
    )

    values = karpenter.controller_values(environment, cluster_name="demo", queue_name="queue")

    assert values["replicas"] == 1
    assert values["settings"] == {
        "clusterName": "demo",
        "interruptionQueue": "queue",
        "batchMaxDuration": "20s",
        "featureGates": {
            "nodeOverlay": True,
            "staticCapacity": False,
            "nodeRepair": False,
            "capacityBuffer": True,
        },
    }


@pytest.mark.parametrize(
    ("nodes", "memory", "mib"),
    [
        ([None], "1Gi", 1024),
        ([409], "1Gi", 1024),
        ([410], "1280Mi", 1280),
        ([1000], "2560Mi", 2560),
        ([600, 628], "3Gi", 3072),
    ],
)
def test_karpenter_has_memory_for_its_nodes(nodes: list[int | None], memory: str, mib: int) -> None:
    environment = environment_of(
        {
            f"gpu-{number}": {
                "instanceTypes": ["g5.xlarge"],
                "sharing": TIME_SLICING,
                "nodes": {"max": most},
            }
            for number, most in enumerate(nodes)
        },
        karpenter={"replicas": 2},
    )
    values = karpenter.controller_values(environment, cluster_name="demo")
    copies = for_the_cluster(environment)

    assert values["controller"]["resources"]["limits"]["memory"] == memory
    assert values["controller"]["resources"]["requests"]["memory"] == memory
    assert 2 * mib <= copies.memory_mib < 2 * mib + 512


def test_a_price_that_aws_has_not_is_told_once_for_all_pools() -> None:
    type_ = {"instanceTypes": ["p5e.48xlarge", "g5.xlarge"], "sharing": {"mode": "exclusive"}}
    environment = environment_of(
        {"a": type_, "b": type_},
        catalog={
            "instanceTypes": {
                "p5e.48xlarge": {"priceUsdPerHour": 1.9},
                "g5.xlarge": {"priceUsdPerHour": 0.9},
            }
        },
    )
    catalog, _ = catalog_of(environment.catalog, REGION)
    plans = [plan_pool(name, pool, catalog, REGION) for name, pool in environment.pools.items()]

    (made,) = karpenter.price_overlays(plans, catalog, REGION)

    # Karpenter takes such a price from an overlay that is for the type and nothing else.
    wanted = {
        "key": "node.kubernetes.io/instance-type",
        "operator": "In",
        "values": ["p5e.48xlarge"],
    }
    assert made["spec"]["requirements"] == [wanted]
    assert float(made["spec"]["price"]) == 1.9
    assert karpenter.price_overlays(plans, catalog, None) == []


@pytest.mark.parametrize("mode", ["exclusive", "timeSlicing"])
def test_a_pool_called_price_has_its_overlay_beside_that_with_the_price(mode: str) -> None:
    sharing = {"mode": mode, **({"replicas": 2} if mode == "timeSlicing" else {})}
    environment = environment_of(
        {"price": {"instanceTypes": ["p5e.48xlarge"], "sharing": sharing}},
        catalog={"instanceTypes": {"p5e.48xlarge": {"priceUsdPerHour": 1.9}}},
    )
    catalog, _ = catalog_of(environment.catalog, REGION)
    plan = plan_pool("price", environment.pools["price"], catalog, REGION)
    made = [
        *karpenter.node_overlays(plan, catalog),
        *karpenter.price_overlays(iter([plan]), catalog, REGION),
    ]

    names = [each["metadata"]["name"] for each in made]
    shared = ["price-p5e-48xlarge", "price.p5e-48xlarge"]
    assert names == (shared if mode == "timeSlicing" else ["price-p5e-48xlarge"])


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("8", 8),
        ("+8", 8),
        ("-1", -1),
        ("500m", 0.5),
        (".5k", 500),
        ("2.", 2),
        ("64Gi", 64 * 2**30),
        ("2Ki", 2048),
        ("1e3", 1000),
        ("1E-3", 0.001),
        ("2E", 2e18),
        *((each, None) for each in ("", "8 cores", "1 0", "Gi", "1gi", "1.2.3", "1e", "0x10", "٣")),
        *((each, None) for each in ("4GB", "1,5", "1KI", "4gi", "--1", "1e100")),
    ],
)
def test_quantities(text: str, number: float | None) -> None:
    found = quantity(text)

    assert (None if found is None else float(found)) == number


@pytest.mark.parametrize(
    "text",
    [
        *("0 9 * * *", "*/15 9-17 * * mon-fri", "0 0 1 jan,JUL ?", "5/15 0 * * 0", "@daily"),
        *("0  9\t* * 1-5/2", "59 23 31 12 6", "? ? ? ? ?"),
    ],
)
def test_schedules(text: str) -> None:
    assert cron_fault(text) is None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("0 9 * *", "it has 4 fields, not 5"),
        ("0 0 9 * * *", "it has 6 fields, not 5"),
        ("", "it has 0 fields, not 5"),
        ("60 9 * * *", "60 is not from 0 to 59 in the minute, 60"),
        ("0 24 * * *", "24 is not from 0 to 23 in the hour, 24"),
        ("0 9 0 * *", "0 is not from 1 to 31 in the day of the month, 0"),
        ("0 9 * 13 *", "13 is not from 1 to 12 in the month, 13"),
        ("0 9 * * 7", "7 is not from 0 to 6 in the day of the week, 7"),
        ("0 9 * * fri-mon", "fri-mon runs backwards in the day of the week, fri-mon"),
        ("*/0 9 * * *", '"0" is no step in the minute, */0'),
        ("0 9 * * monday", '"monday" is no value in the day of the week, monday'),
        ("0 9 L * *", '"L" is no value in the day of the month, L'),
        ("TZ=Europe/Berlin 0 9 * * *", "it is always in UTC"),
        (
            "@every 1h",
            "there are @annually, @yearly, @monthly, @weekly, @daily, @midnight, @hourly",
        ),
    ],
)
def test_what_is_no_schedule(text: str, fault: str) -> None:
    assert cron_fault(text) == fault
