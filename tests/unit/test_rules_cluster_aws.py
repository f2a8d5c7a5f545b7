"""Rules about what AWS makes of a cluster: its logs, its add-ons, its roles, its zones."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from finding_examples import base, checked, findings, stack_file_text

from eks_gpushare.catalog import Catalog, gpu_instance_types
from eks_gpushare.config.base import converted, partial_model
from eks_gpushare.config.component_specs import ClusterFacts, EnvironmentSpec
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.rules import lookups
from eks_gpushare.rules.cluster import LOG_DAYS
from eks_gpushare.validation.parse import parse

POLICY = "arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy"
ROLE = "arn:aws:iam::111122223333:role/Agent"
KEY_HERE = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
KEY_CODES = ("GPU324", "GPU436", "GPU612")


def shapes(service: str) -> Any:
    loaders = pytest.importorskip("botocore.loaders", reason="botocore is not installed")
    return loaders.Loader().load_service_model(service, "service-2")["shapes"]


def messages(fragment: dict[str, Any], code: str, **more: Any) -> list[str]:
    return [message for _, message in findings(fragment, code, **more)]


def test_a_public_endpoint_alone_locks_the_nodes_out() -> None:
    endpoint = {"public": True, "publicCidrs": ["203.0.113.0/24"]}

    assert findings({"cluster": {"endpoint": {**endpoint, "private": False}}}, "GPU323") == [
        (
            "cluster.endpoint.private",
            "The nodes would have to reach the API server through NAT and its public address.",
        )
    ]
    assert findings({"cluster": {"endpoint": endpoint}}, "GPU323") == []


def test_days_are_those_of_cloudwatch() -> None:
    """Which are in no enumeration of the API, but in its words."""
    said = shapes("logs")["Days"]["documentation"].partition("</p>")[0].partition("are:")[2]

    assert tuple(map(int, re.findall(r"\d+", said))) == LOG_DAYS


@pytest.mark.parametrize(("days", "near"), [(0, 1), (100, 90), (91, 90), (9999, 3653)])
def test_other_days_are_refused(days: int, near: int) -> None:
    fragment = {"cluster": {"logRetentionDays": days}}
    report = checked(stack_file_text(merge_values(base(), fragment)))
    (found,) = [each for each in report.findings if each.code == "GPU324"]
    known = ", ".join(map(str, LOG_DAYS))

    assert found.message == f"{days} is not a number of days that CloudWatch keeps logs: {known}."
    assert found.fix == f"Use {near}."


def test_a_key_for_a_log_group_that_nobody_makes_is_refused() -> None:
    key = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"

    assert messages({"cluster": {"logKeyArn": key}}, "GPU324") == [
        "The stack makes no log group, which the key would be for."
    ]
    assert messages({"cluster": {"logKeyArn": "key", "logRetentionDays": 90}}, "GPU612") == [
        '"key" is not the ARN of a KMS key.'
    ]


@pytest.mark.parametrize("path", ["/", "/team/", "/a/b-c/", "/" + "x" * 510 + "/"])
def test_paths_that_iam_takes(path: str) -> None:
    assert findings({"iam": {"path": path}}, "GPU320") == []


@pytest.mark.parametrize("path", ["", "team", "/team", "team/", "/a b/", "//" + "x" * 511 + "/"])
def test_paths_that_iam_refuses(path: str) -> None:
    shape = shapes("iam")["pathType"]
    pattern = shape["pattern"].encode().decode("unicode_escape")

    assert not (re.fullmatch(pattern, path) and len(path) <= shape["max"])
    assert [path for path, _ in findings({"iam": {"path": path}}, "GPU320")] == ["iam.path"]


def test_a_boundary_is_a_policy() -> None:
    given = "arn:aws:iam::111122223333:role/Boundary"

    assert messages({"iam": {"permissionsBoundary": given}}, "GPU320") == [
        f'"{given}" is not the ARN of an IAM policy.'
    ]


def addon(name: str, said: dict[str, Any], code: str, **addons: Any) -> list[tuple[str, str]]:
    return findings({"cluster": {"addons": {"byName": {name: said}, **addons}}}, code)


AGENT = "cluster.addons.byName.adot.podIdentity.agent"


@pytest.mark.parametrize(
    ("identity", "at", "message"),
    [
        ({}, AGENT, "No role is given."),
        (
            {"roleArn": ROLE, "policyArns": [POLICY]},
            AGENT,
            "roleArn and policyArns are given.",
        ),
        ({"roleArn": POLICY}, f"{AGENT}.roleArn", f'"{POLICY}" is not the ARN of an IAM role.'),
        (
            {"policyArns": [ROLE]},
            f"{AGENT}.policyArns[0]",
            f'"{ROLE}" is not the ARN of an IAM policy.',
        ),
        ({"policyArns": [POLICY, POLICY]}, f"{AGENT}.policyArns[1]", f"{POLICY} stands twice."),
    ],
)
def test_an_identity_is_one_role(identity: dict[str, Any], at: str, message: str) -> None:
    assert addon("adot", {"podIdentity": {"agent": identity}}, "GPU329") == [(at, message)]


@pytest.mark.parametrize("name", ["vpc-cni", "kube-proxy"])
def test_add_ons_of_the_control_plane_have_no_identity(name: str) -> None:
    found = addon(name, {"podIdentity": {"aws-node": {"roleArn": ROLE}}}, "GPU329")

    assert found == [
        (
            f"cluster.addons.byName.{name}.podIdentity",
            f"{name} comes with the control plane and gets its permissions from the nodes.",
        )
    ]


def test_a_version_stands_in_one_place() -> None:
    version = {"version": "v1.13.2-eksbuild.31"}

    assert addon("coredns", version, "GPU325", versions={"coredns": "v1.12.4-eksbuild.38"}) == [
        (
            "cluster.addons.byName.coredns.version",
            "The version of coredns stands under versions too.",
        )
    ]


@pytest.mark.parametrize("name", ["aws-ebs-csi-driver", "adot"])
def test_a_version_of_an_add_on_that_is_not_made_is_refused(name: str) -> None:
    found = findings({"cluster": {"addons": {"versions": {name: "v1.0.0"}}}}, "GPU325")

    assert found == [
        (f"cluster.addons.versions.{name}", f"The cluster gets no add-on {name}."),
    ]


def test_what_prefix_delegation_sets_is_not_set_again() -> None:
    values = {"values": {"env": {"ENABLE_PREFIX_DELEGATION": "false", "WARM_PREFIX_TARGET": "2"}}}

    assert addon("vpc-cni", values, "GPU325", prefixDelegation=True) == [
        (
            "cluster.addons.byName.vpc-cni.values.env.ENABLE_PREFIX_DELEGATION",
            "prefixDelegation sets ENABLE_PREFIX_DELEGATION too.",
        )
    ]
    assert addon("vpc-cni", values, "GPU325") == []


def test_the_role_of_the_ebs_driver_is_not_given_twice() -> None:
    account = {"ebs-csi-controller-sa": {"roleArn": ROLE}}

    assert addon("aws-ebs-csi-driver", {"podIdentity": account}, "GPU325", ebsCsi=True) == [
        (
            "cluster.addons.byName.aws-ebs-csi-driver.podIdentity.ebs-csi-controller-sa",
            "ebsCsi gives ebs-csi-controller-sa its role.",
        )
    ]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_are_json(value: float) -> None:
    """A number that YAML has and JSON does not."""
    found = addon("adot", {"values": {"replicas": value}}, "GPU326")

    assert [path for path, _ in found] == ["cluster.addons.byName.adot.values"]


THEIRS: dict[str, Any] = {
    "cluster": {"name": None, "version": None, "admins": None, "existing": {"name": "there"}},
    "network": None,
}
KARPENTER = {"provisioner": "karpenter", "nodes": {"min": None, "desired": None, "max": 4}}
SCARCE = {"pools": {"gpu": {"instanceTypes": ["p4d.24xlarge"]}}}


def test_a_pool_is_not_in_more_zones_than_offer_its_type() -> None:
    zones = {"network": {"zones": ["eu-west-1a", "eu-west-1b"]}}
    pinned = {"pools": {"gpu": {"instanceTypes": ["p4d.24xlarge"], "zones": ["eu-west-1b"]}}}

    assert findings({**zones, **SCARCE}, "GPU328", region="eu-west-1") == [
        (
            "pools.gpu.zones",
            "The pool is in 2 zones of eu-west-1; p4d.24xlarge is offered in 1 of them: euw1-az2.",
        )
    ]
    assert findings({**zones, **pinned}, "GPU328", region="eu-west-1") == []


@pytest.mark.parametrize(
    ("region", "wanted", "fix"),
    [
        ("eu-west-1", "p4d.24xlarge", "Set zones to that one: "),
        ("eu-central-1", "g6f.xlarge", "Set zones to those: "),
    ],
)
def test_which_zones_to_set_is_said(region: str, wanted: str, fix: str) -> None:
    given = {"network": {"zones": 3}, "pools": {"gpu": {"instanceTypes": [wanted]}}}
    text = stack_file_text(merge_values(base(), given), region)
    found = [each.fix for each in checked(text).findings if each.code == "GPU328"]

    assert [each[: len(fix)] for each in found] == [fix]


@pytest.mark.parametrize(
    "fragment",
    [
        {"pools": {"gpu": {**SCARCE["pools"]["gpu"], "provisioner": "existing"}}},
        {"pools": {"gpu": {**SCARCE["pools"]["gpu"], **KARPENTER}}},
        {**SCARCE, **THEIRS},
    ],
)
def test_whose_zones_are_chosen_elsewhere_may_be_in_more(fragment: dict[str, Any]) -> None:
    zones = {"network": {"zones": ["eu-west-1a", "eu-west-1b"]}}

    assert findings({**zones, **fragment}, "GPU328", region="eu-west-1") == []


def test_without_a_region_nobody_knows_what_a_zone_offers() -> None:
    given = {**SCARCE, "network": {"zones": 2}, "system": {"instanceTypes": ["m5.large"]}}
    config = {"eks-gpushare:environment": merge_values(base(), given)}
    found = checked(str(yaml.safe_dump({"config": config}))).findings

    assert {"GPU328", "GPU012"} & {each.code for each in found} == set()


def test_system_nodes_are_not_in_more_zones_than_offer_their_type() -> None:
    def said(zones: int, *wanted: str) -> list[tuple[str, str]]:
        system = {"instanceTypes": list(wanted)}
        pools = {"gpu": {"provisioner": "existing"}}
        given = {"network": {"zones": zones}, "system": system, "pools": pools}
        return findings(given, "GPU328", region="us-west-1")

    assert said(2, "m5.large") == []
    assert said(3, "m5.large") == [
        (
            "system.zones",
            (
                "The system nodes are in 3 zones of us-west-1; m5.large is offered in 2 of them: "
                "usw1-az1, usw1-az3."
            ),
        )
    ]


@pytest.mark.parametrize("network", [{"zones": ["use1-az3"]}, {"zones": 2}])
def test_the_zones_of_a_network_that_is_there_are_not_asked_for(network: dict[str, Any]) -> None:
    refused = [] if network == {"zones": 2} else ["use1-az3 has no EKS control planes."]

    assert messages({"network": network}, "GPU327", region="us-east-1") == refused
    theirs = {**THEIRS, "network": network}
    assert messages(theirs, "GPU327", region="us-east-1") == []


def test_a_stack_file_may_know_more_zones() -> None:
    more = {"instanceTypes": {"p4d.24xlarge": {"zoneIds": ["euw1-az1", "euw1-az2"]}}}
    zones = {"zones": ["eu-west-1a", "eu-west-1b"]}
    fragment = {"network": zones, **SCARCE, "catalog": more}

    assert findings(fragment, "GPU328", region="eu-west-1") == []


def test_a_type_of_which_no_zone_is_known_may_be_anywhere() -> None:
    assert Catalog().find("m6i.large") is not None
    assert "p3.8xlarge" in gpu_instance_types()
    fragment = {"pools": {"gpu": {"instanceTypes": ["p3.8xlarge"]}}}

    assert findings(fragment, "GPU328") == []


def looked_up(zones: list[str] | int, pool: dict[str, Any], **ids: str) -> list[tuple[str, str]]:
    """What is found once the account has said which zone is which."""
    return looked_up_for({"network": {"zones": zones}}, pool, **ids)


def looked_up_for(stack: dict[str, Any], pool: dict[str, Any], **ids: str) -> list[tuple[str, str]]:
    environment = parse(
        {
            "cluster": {"name": "demo", "version": "1.35"},
            "pools": {"gpu": {"sharing": {"mode": "exclusive"}, **pool}},
            **stack,
        }
    ).environment
    assert environment is not None
    names = {name.replace("_", "-"): zone_id for name, zone_id in ids.items()}
    spec = converted(
        EnvironmentSpec,
        environment,
        region="us-east-1",
        zone_ids=names,
        availability_zones=tuple(names),
    )
    return [(each.path, each.message) for each in lookups.missing_lookups(spec)]


G5: dict[str, Any] = {"instanceTypes": ["g5.xlarge"]}


def test_a_named_zone_without_control_planes_is_refused() -> None:
    found = looked_up(
        ["us-east-1a", "us-east-1e"], G5, us_east_1a="use1-az1", us_east_1e="use1-az3"
    )

    assert found[:1] == [
        (
            "network.zones[1]",
            "us-east-1e is use1-az3 in this account, which has no EKS control planes.",
        )
    ]


def test_a_zone_that_does_not_offer_the_type_is_refused() -> None:
    ids = {"us_east_1a": "use1-az6", "us_east_1b": "use1-az3"}
    found = looked_up(2, {"instanceTypes": ["p6-b200.48xlarge"]}, **ids)

    assert found == [
        ("pools.gpu.zones", "p6-b200.48xlarge is not offered in us-east-1b (use1-az3).")
    ]


def test_karpenter_launches_where_a_type_is_offered() -> None:
    pool = {"instanceTypes": ["p6-b200.48xlarge"], "provisioner": "karpenter", "nodes": {"max": 1}}
    ids = {"us_east_1a": "use1-az6", "us_east_1b": "use1-az2"}

    assert looked_up(2, pool, **ids) == []
    assert looked_up(["us-east-1a", "us-east-1b"], {**pool, "zones": ["us-east-1b"]}, **ids) == [
        ("pools.gpu.zones", "p6-b200.48xlarge is not offered in us-east-1b (use1-az2).")
    ]


def test_zones_of_system_nodes_are_among_those_that_were_looked_up() -> None:
    def said(*zones: str) -> list[tuple[str, str]]:
        stack = {"network": {"zones": 2}, "system": {"zones": list(zones)}}
        return looked_up_for(stack, G5, us_east_1a="use1-az1", us_east_1b="use1-az2")

    assert said("us-east-1a", "us-east-1b") == []
    assert said("us-east-1a", "us-east-1c") == [
        (
            "system.zones",
            "us-east-1c is not among the network's zones: us-east-1a, us-east-1b.",
        )
    ]


@pytest.mark.parametrize(
    ("existing", "told"),
    [({"name": "there"}, False), ({"name": "there"}, True), ({"kubeconfig": "./k"}, False)],
)
def test_what_aws_says_of_an_existing_cluster_is_to_be_given(
    existing: dict[str, str], told: bool
) -> None:
    facts = partial_model(ClusterFacts, version="1.35")
    environment = parse({"cluster": {"existing": existing}, "pools": {}}).environment
    assert environment is not None
    spec = converted(EnvironmentSpec, environment, cluster_facts=facts if told else None)
    missing = "name" in existing and not told

    assert [(each.path, each.message) for each in lookups.missing_lookups(spec)] == (
        [("cluster_facts", "What AWS says of there is not given.")] if missing else []
    )


def test_the_zones_of_a_vpc_that_is_there_are_not_looked_up() -> None:
    subnets = ["subnet-07c1f29d6e4b8a35d", "subnet-04e6a8d1b7c2f903e"]
    network = {"vpcId": "vpc-07c1f29d6e4b8a35d", "privateSubnetIds": subnets}

    assert looked_up_for({"network": network}, G5, us_east_1e="use1-az3") == []


def test_of_several_types_one_is_enough() -> None:
    ids = {"us_east_1a": "use1-az6", "us_east_1b": "use1-az5"}
    types = ["g6.xlarge", "g6e.xlarge"]
    offers = gpu_instance_types()["g6e.xlarge"].zones["us-east-1"]

    assert "use1-az5" not in offers
    assert looked_up(2, {"instanceTypes": types}, **ids) == []


def test_a_zone_of_unknown_id_may_offer_anything() -> None:
    pinned = {"instanceTypes": ["p6-b200.48xlarge"], "zones": ["us-east-1a"]}

    assert looked_up(["us-east-1a", "us-east-1b"], pinned) == []


@pytest.mark.parametrize(
    ("days", "key", "codes"),
    [
        (90, KEY_HERE, []),
        (90, None, []),
        (None, None, []),
        (None, KEY_HERE, ["GPU324"]),
        (90, "key", ["GPU612"]),
        (None, "key", ["GPU324", "GPU612"]),
        (90, KEY_HERE.replace("us-west-2", "us-east-1"), ["GPU436"]),
    ],
)
def test_a_key_of_logs_is_for_logs_in_the_region(
    days: int | None, key: str | None, codes: list[str]
) -> None:
    given = {"cluster": {"logRetentionDays": days, "logKeyArn": key}}
    found = {code: [path for path, _ in findings(given, code)] for code in KEY_CODES}

    assert {code: paths for code, paths in found.items() if paths} == {
        code: ["cluster.logKeyArn"] for code in codes
    }
