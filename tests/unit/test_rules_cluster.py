"""Rules about the cluster, its network and the stack as a whole."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from finding_examples import TODAY, findings, fixes

from eks_gpushare.catalog import eks_versions

DAY = timedelta(days=1)
SUPPORT = ("GPU602", "GPU603", "GPU604", "GPU614")
V135 = eks_versions()["1.35"]


def support(version: str, today: date, **cluster: str) -> list[str]:
    fragment = {"cluster": {"version": version, **cluster}}
    return [code for code in SUPPORT if findings(fragment, code, today=today)]


def day(when: date | None) -> date:
    assert when is not None
    return when


STANDARD, EXTENDED = day(V135.standard_until), day(V135.extended_until)


@pytest.mark.parametrize(
    ("today", "codes"),
    [
        (STANDARD - 61 * DAY, []),
        (STANDARD - 60 * DAY, ["GPU614"]),
        (STANDARD - DAY, ["GPU614"]),
        (STANDARD, ["GPU603"]),
        (EXTENDED - DAY, ["GPU603"]),
        (EXTENDED, ["GPU602"]),
    ],
)
def test_support_ends_on_a_day(today: date, codes: list[str]) -> None:
    assert support("1.35", today) == codes


def test_extended_support_may_be_asked_for() -> None:
    assert support("1.35", STANDARD, supportType="extended") == []


def test_a_version_older_than_any_that_is_known_is_out_of_support() -> None:
    assert support("1.29", TODAY) == ["GPU602"]


def test_a_version_newer_than_any_that_is_known_is_a_warning() -> None:
    assert support("1.37", TODAY) == ["GPU604"]


@pytest.mark.parametrize("version", ["1", "1.5", "2.35", "v1.35", "1.35.2", "latest", " 1.35"])
def test_a_version_is_a_minor_version(version: str) -> None:
    assert findings({"cluster": {"version": version}}, "GPU601") == [
        ("cluster.version", f'"{version}" is not a minor version of Kubernetes.')
    ]


def public(*cidrs: str) -> list[tuple[str, str]]:
    endpoint = {"public": True, "publicCidrs": list(cidrs)}
    return findings({"cluster": {"endpoint": endpoint}}, "GPU608")


@pytest.mark.parametrize("cidr", ["203.0.113.0/24", "8.0.0.0/8", "8.8.8.8/32", "1.2.3.4/32"])
def test_networks_that_may_use_the_public_endpoint(cidr: str) -> None:
    assert public(cidr) == []


@pytest.mark.parametrize(
    ("cidr", "message"),
    [
        ("0.0.0.0/0", "0.0.0.0/0 is the whole internet."),
        ("::/0", "::/0 is the whole internet."),
        ("128.0.0.0/1", "128.0.0.0/1 is a large part of the internet."),
        ("8.0.0.0/7", "8.0.0.0/7 is a large part of the internet."),
        ("10.0.0.0/8", "10.0.0.0/8 is a private network; the public endpoint never sees it."),
        (
            "192.168.1.0/24",
            "192.168.1.0/24 is a private network; the public endpoint never sees it.",
        ),
        ("8.8.8.8/24", '"8.8.8.8/24" is not a network: 8.8.8.8/24 has host bits set.'),
        (
            "office",
            "\"office\" is not a network: 'office' does not appear to be an IPv4 or IPv6 network.",
        ),
    ],
)
def test_networks_that_may_not(cidr: str, message: str) -> None:
    endpoint = {"public": True, "publicCidrs": [cidr]}
    code = "GPU608" if "internet" in message else "GPU330"

    assert findings({"cluster": {"endpoint": endpoint}}, code) == [
        ("cluster.endpoint.publicCidrs[0]", message)
    ]


def test_networks_without_a_public_endpoint_are_refused() -> None:
    endpoint = {"publicCidrs": ["8.8.8.8/32"]}

    assert findings({"cluster": {"endpoint": endpoint}}, "GPU610") == [
        ("cluster.endpoint.publicCidrs", "publicCidrs are given, but public is false.")
    ]


@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:iam::111122223333:role/Platform",
        "arn:aws:iam::111122223333:role/path/to/Role_1",
        "arn:aws:iam::111122223333:user/alice@example.com",
        "arn:aws-us-gov:iam::111122223333:role/Platform",
    ],
)
def test_arns_of_admins(arn: str) -> None:
    assert findings({"cluster": {"admins": [arn]}}, "GPU612") == []


@pytest.mark.parametrize(
    "arn",
    [
        "Platform",
        "arn:aws:iam::111122223333:root",
        "arn:aws:sts::111122223333:assumed-role/Platform/alice",
        "arn:aws:iam::1111:role/Platform",
        "arn:aws:iam::111122223333:role/Platform\n",
    ],
)
def test_what_is_no_arn_of_an_admin(arn: str) -> None:
    assert findings({"cluster": {"admins": [arn]}}, "GPU612") == [
        ("cluster.admins[0]", f'"{arn}" is not the ARN of an IAM role or user.')
    ]


def cidr(code: str, given: str) -> list[str]:
    return [message for _, message in findings({"network": {"cidr": given}}, code)]


@pytest.mark.parametrize(
    "given", ["10.0.0.0/16", "10.0.0.0/20", "172.16.0.0/16", "192.168.0.0/16", "100.64.0.0/16"]
)
def test_ranges_of_a_vpc(given: str) -> None:
    assert cidr("GPU605", given) == []
    assert cidr("GPU606", given) == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "10.0.0.0/15",
            (
                "10.0.0.0/15 is not between a /16 and a /20 in size; pods take their "
                "addresses from the VPC."
            ),
        ),
        (
            "10.0.0.0/21",
            (
                "10.0.0.0/21 is not between a /16 and a /20 in size; pods take their "
                "addresses from the VPC."
            ),
        ),
        ("8.8.0.0/16", "8.8.0.0/16 is not a private range."),
        ("10.0.0.1/16", '"10.0.0.1/16" is not an IPv4 network: 10.0.0.1/16 has host bits set.'),
    ],
)
def test_what_is_no_range_of_a_vpc(given: str, message: str) -> None:
    assert cidr("GPU605", given) == [message]


def system(code: str, *, theirs: bool = False, **keys: Any) -> list[str]:
    cluster = {"name": None, "version": None, "admins": None, "existing": {"name": "there"}}
    of_others = {"cluster": cluster, "network": None} if theirs else {}
    return [message for _, message in findings({"system": keys, **of_others}, code)]


def test_a_new_cluster_begins_with_a_node() -> None:
    def said(most: int, *, theirs: bool = False) -> list[str]:
        return system("GPU624", theirs=theirs, nodes={"min": 0, "desired": 0, "max": most})

    assert said(1) == ["min 0, desired 0 and max 1 begin without a node."]
    assert said(1, theirs=True) == []
    assert said(0) == []  # which is no size at all


def test_what_is_left_of_system_nodes_is_told() -> None:
    nodes = {"min": 1, "desired": 1, "max": 2}
    (one,) = system("GPU623", instanceTypes=["t3.nano"], nodes=nodes)
    (two,) = system("GPU623", instanceTypes=["t3.nano"], nodes={**nodes, "desired": 2})

    have = "of t3.nano have 0 places for pods of 4 and"
    assert one.startswith(f"1 node {have} 83 MiB of memory of 396 left")
    assert two.startswith(f"2 nodes {have} 166 MiB of memory of 396 left")


def test_what_one_pod_takes_has_to_fit_on_one_node() -> None:
    """Eight nodes have room for two pods of Karpenter together, and none for one."""
    pool = {
        "provisioner": "karpenter",
        "nodes": {"min": None, "desired": None, "max": 1000},
        "instanceTypes": ["g5.xlarge"],
        "sharing": {"mode": "exclusive"},
    }
    nodes = {"min": 8, "desired": 8, "max": 8}
    given = {"system": {"instanceTypes": ["t3.small"], "nodes": nodes}, "pools": {"gpu": pool}}

    ((_, message),), (fix,) = findings(given, "GPU623"), fixes(given, "GPU623")

    assert message == (
        "1 node of t3.small have 1542 MiB of memory of 2560 left that a pod of Karpenter takes, "
        "beside aws-node, kube-proxy, the Pod Identity agent, the node monitoring agent on each."
    )
    assert fix == "Use a larger type, such as t3.large."


def test_the_last_place_of_system_nodes_may_be_taken() -> None:
    nodes = {"min": 1, "desired": 1, "max": 2}

    def said(pods: int) -> list[str]:
        keys: dict[str, Any] = {"nodes": nodes, "kubelet": {"maxPods": pods}}
        return system("GPU623", instanceTypes=["m6i.large"], **keys)

    (message,) = said(7)  # four of which run on each node
    assert message.startswith("1 node of m6i.large have 3 places for pods of 4 left")
    assert said(8) == []


@pytest.mark.parametrize(
    ("given", "meant"),
    [("10.1.0.1/16", "10.1.0.0/16"), ("a large one", "10.0.0.0/16"), ("fd00::/16", "10.0.0.0/16")],
)
def test_a_range_of_a_vpc_is_told_how_it_may_be_meant(given: str, meant: str) -> None:
    assert fixes({"network": {"cidr": given}}, "GPU605") == [f"Write it as {meant}."]


def addresses(network: dict[str, Any] | None = None, **pool: Any) -> list[str]:
    """Of a VPC with 507 private addresses in each of two zones."""
    given = {"network": {"cidr": "10.0.0.0/20", **(network or {})}, "pools": {"gpu": pool}}
    found = findings(given, "GPU332")
    assert [path for path, _ in found] in ([], ["network.cidr"])
    return [message for _, message in found]


def most(count: int, pods: int | None = None) -> dict[str, Any]:
    nodes = {"nodes": {"min": 0, "desired": 1, "max": count}}
    return {**nodes, "kubelet": {"maxPods": pods}} if pods else nodes


@pytest.mark.parametrize(("zones", "where"), [(None, "in us-west-2a"), (2, "in a zone")])
def test_addresses_for_the_pods_of_all_nodes(zones: int | None, where: str) -> None:
    network = {} if zones is None else {"zones": zones}

    (message,) = addresses(network, **most(20))

    assert message == (
        "10.0.0.0/20 has 507 addresses for nodes and pods in each zone; at their most the nodes "
        f"take 1180 in all, and 83 more {where} than there are."
    )


@pytest.mark.parametrize(
    ("cidr", "begins"), [("10.0.0.0/20", "Use a /16, fewer"), ("10.0.0.0/16", "Use fewer nodes")]
)
def test_the_largest_network_is_told_to_nobody_who_has_it(cidr: str, begins: str) -> None:
    given = {"network": {"cidr": cidr}, "pools": {"gpu": most(5000)}}

    (fix,) = fixes(given, "GPU332")
    assert fix.startswith(begins)


def test_the_last_address_of_a_subnet_may_be_taken() -> None:
    assert addresses(**most(35, pods=28)) == []  # 29 of each, 1015 in two zones
    (message,) = addresses(**most(35, pods=29))  # 30 of each

    assert "take 1050 in all, and 18 more" in message


def test_prefixes_of_sixteen_take_more_addresses() -> None:
    prefixes = {"cluster": {"addons": {"prefixDelegation": True}}}
    given = {"network": {"cidr": "10.0.0.0/20"}, "pools": {"gpu": most(8)}}

    assert findings(given, "GPU332") == []
    ((_, message),) = findings({**given, **prefixes}, "GPU332")
    assert "take 1032 in all, and 9 more" in message  # 7 prefixes for 110 pods, and one at hand


def test_nodes_of_a_type_that_nobody_knows_take_no_addresses() -> None:
    assert addresses(instanceTypes=["g5.huge"], **most(5000)) == []


def test_nodes_that_are_there_already_take_none_of_a_new_network() -> None:
    assert addresses(provisioner="existing", nodes={"max": 200}) == []


@pytest.mark.parametrize(
    ("zones", "fits"), [(1, False), (2, True), (6, True), (7, False), (0, False)]
)
def test_the_number_of_zones(zones: int, fits: bool) -> None:
    given = {"network": {"zones": zones}}

    assert (findings(given, "GPU607", region="us-east-1") == []) is fits


def test_a_region_has_so_many_zones() -> None:
    assert findings({"network": {"zones": 4}}, "GPU607") == []
    assert findings({"network": {"zones": 5}}, "GPU607") == [
        ("network.zones", "us-west-2 has 4 zones, and 5 are asked for.")
    ]


def test_a_zone_stands_once() -> None:
    assert findings({"network": {"zones": ["us-west-2a", "us-west-2a"]}}, "GPU607") == [
        ("network.zones[1]", "us-west-2a stands twice.")
    ]


@pytest.mark.parametrize(
    ("network", "idle"),
    [
        ({"zones": 2}, True),
        ({"cidr": "10.1.0.0/16"}, True),
        (None, False),
        (
            {
                "zones": None,
                "vpcId": "vpc-07c1f29d6e4b8a35d",
                "privateSubnetIds": ["subnet-07c1f29d6e4b8a35d", "subnet-04e6a8d1b7c2f903e"],
            },
            False,
        ),
    ],
)
def test_a_named_cluster_has_its_network(network: dict[str, Any] | None, idle: bool) -> None:
    cluster = {"name": None, "version": None, "admins": None, "existing": {"name": "there"}}
    given = {"cluster": cluster, "network": network}

    message = "The cluster exists and has its network."
    assert findings(given, "GPU616") == ([("network", message)] if idle else [])
    assert findings({"network": network or {}}, "GPU616") == []


def kubeconfig(code: str, **more: Any) -> list[str]:
    cluster = {"name": None, "version": None, "admins": None, "existing": {"kubeconfig": "k"}}
    return [path for path, _ in findings({"cluster": cluster, **more}, code)]


def test_a_cluster_by_its_kubeconfig_has_nothing_of_aws() -> None:
    found = kubeconfig("GPU615", system={})

    assert sorted(found) == ["network", "pools.gpu.provisioner", "system"]


def test_its_pools_exist_already() -> None:
    pools = {"gpu": {"provisioner": "existing"}}

    assert kubeconfig("GPU615", network=None, pools=pools) == []


@pytest.mark.parametrize("version", ["0.20.0", "v26.7.0", "1.2.3-rc.1", "1.2.3+build"])
def test_exact_chart_versions(version: str) -> None:
    assert findings({"charts": {"gpuOperator": {"version": version}}}, "GPU702") == []


@pytest.mark.parametrize("version", ["0.20", "^0.20.0", "~1", ">=1.0.0", "latest", "*", ""])
def test_chart_versions_that_are_not(version: str) -> None:
    assert findings({"charts": {"gpuOperator": {"version": version}}}, "GPU702") == [
        ("charts.gpuOperator.version", f'"{version}" is not an exact version.')
    ]


def values(**given: Any) -> list[str]:
    found = findings({"charts": {"devicePlugin": {"values": given}}}, "GPU703")
    return [message for _, message in found]


def test_values_of_ones_own_are_fine() -> None:
    assert (
        values(priorityClassName="x", gfd={"priorityClassName": "x"}, nfd={"enabled": True}) == []
    )


@pytest.mark.parametrize("given", [None, False, "x"])
def test_a_value_above_a_derived_one_undoes_it_too(given: object) -> None:
    assert values(gfd=given) == [
        "gfd.enabled is derived from the pools: it labels the nodes with what they share."
    ]


def test_a_value_below_a_derived_one_undoes_it_too() -> None:
    assert values(config={"map": {"default": "x"}}) == [
        "config is derived from the pools: it names the ConfigMap of the pools."
    ]


def test_demand_is_summed_by_quota() -> None:
    pools = {
        "gpu": {"instanceTypes": ["g5.xlarge"], "nodes": {"max": 4}},
        "big": {
            "instanceTypes": ["g5.48xlarge"],
            "nodes": {"max": 2},
            "sharing": {"mode": "exclusive"},
        },
        "spot": {
            "instanceTypes": ["g5.xlarge"],
            "capacityType": "spot",
            "sharing": {"mode": "exclusive"},
        },
    }

    assert [message for _, message in findings({"pools": pools}, "GPU801")] == [
        (
            'At their largest the pools take 400 vCPUs of the quota "Running On-Demand G and VT '
            'instances" (L-DB2E81BA): gpu 16, big 384.'
        ),
        (
            'At their largest the pools take 4 vCPUs of the quota "All G and VT Spot Instance '
            'Requests" (L-3819A6DF): spot 4.'
        ),
    ]
