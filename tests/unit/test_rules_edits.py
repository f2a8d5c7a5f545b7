"""What EKS or Pulumi would refuse of an edit: the words."""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare.documents.helm import merge_values
from eks_gpushare.program.edits.refused import check_edit
from eks_gpushare.validation.parse import parse

BASE: dict[str, Any] = {
    "cluster": {"name": "demo", "version": "1.35"},
    "network": {"zones": ["us-west-2a", "us-west-2b"]},
    "pools": {
        "gpu": {
            "instanceTypes": ["g5.xlarge"],
            "nodes": {"min": 1, "desired": 3, "max": 5},
            "sharing": {"mode": "exclusive"},
        }
    },
}
MINE = {
    "zones": None,
    "vpcId": "vpc-0123456789abcdef0",
    "privateSubnetIds": ["subnet-0aaaaaaaaaaaaaaaa", "subnet-0bbbbbbbbbbbbbbbb"],
}
KEY = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
BACK = "Put back what was there, or make the other cluster in a stack of its own."
FIRST_UNPROTECT = (
    "Set deletionProtection: false and run pulumi up with nothing else changed; then make this "
    "edit."
)
Fragment = dict[str, Any]


def found(before: Fragment, after: Fragment) -> list[tuple[str, str, str, str]]:
    old, new = (parse(merge_values(BASE, each)).environment for each in (before, after))
    assert old is not None
    assert new is not None
    return [(f.code, f.path, f.message, f.fix) for f in check_edit(old, new)]


def network(**keys: object) -> Fragment:
    return {"network": keys}


def cluster(**keys: object) -> Fragment:
    return {"cluster": keys}


def gpu(low: int, desired: int, high: int, scaled_by: str = "autoscaler") -> Fragment:
    nodes = {"min": low, "desired": desired, "max": high}
    return {"pools": {"gpu": {"nodes": nodes, "scaledBy": scaled_by}}}


EVERYTHING_ELSE: Fragment = {
    "cluster": {
        "supportType": "extended",
        "endpoint": {"public": True, "publicCidrs": ["203.0.113.0/24"]},
        "admins": ["arn:aws:iam::111122223333:role/Platform"],
        "deletionProtection": False,
        "addons": {"ebsCsi": True},
        "version": "1.36",
    },
    "network": {
        "zones": ["us-west-2b", "us-west-2a"],
        "natGateways": "perZone",
        "flowLogs": True,
    },
    "system": {"instanceTypes": ["m6i.large"]},
    "pools": {
        "gpu": {"instanceTypes": ["g6.xlarge"], "nodes": {"min": 0, "desired": 0, "max": 1}},
        "further": BASE["pools"]["gpu"],
    },
    "tags": {"team": "research"},
}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {}),
        ({}, EVERYTHING_ELSE),
        (network(zones=2), network(zones=["us-west-2a", "us-west-2b"])),
        (
            network(**MINE),
            network(**{**MINE, "privateSubnetIds": ["subnet-0aaaaaaaaaaaaaaaa", "subnet-0c"]}),
        ),
        (cluster(deletionProtection=False), cluster(name="other")),
        (gpu(1, 3, 5), gpu(3, 9, 9)),
        (gpu(1, 3, 5), gpu(1, 2, 3)),
        (gpu(1, 3, 5), gpu(4, 4, 5, "stack")),
    ],
)
def test_what_passes(before: Fragment, after: Fragment) -> None:
    assert found(before, after) == []


@pytest.mark.parametrize(
    ("before", "after", "path", "message"),
    [
        (
            {},
            network(zones=["us-west-2a", "us-west-2c"]),
            "network.zones",
            (
                "The control plane was made in us-west-2a, us-west-2b, and the file now says "
                "us-west-2a, us-west-2c."
            ),
        ),
        (
            network(zones=2),
            network(zones=3),
            "network.zones",
            "The control plane was made in 2 zones, and the file now says 3 zones.",
        ),
        (
            {},
            network(cidr="10.1.0.0/16"),
            "network.cidr",
            "The cluster is in a VPC with 10.0.0.0/16; one with 10.1.0.0/16 is another VPC.",
        ),
        (
            network(**MINE),
            network(**{**MINE, "vpcId": "vpc-0fedcba9876543210"}),
            "network.vpcId",
            (
                "The cluster is in vpc-0123456789abcdef0, and the file now names "
                "vpc-0fedcba9876543210."
            ),
        ),
        (
            {},
            network(**MINE),
            "network",
            ("The cluster is in a VPC that this stack made, and would have to leave it."),
        ),
        (
            network(**MINE),
            {},
            "network",
            ("The cluster is in a VPC that this stack did not make, and would have to leave it."),
        ),
    ],
)
def test_a_network_is_kept(before: Fragment, after: Fragment, path: str, message: str) -> None:
    assert found(before, after) == [("GPU810", path, message, BACK)]


def test_a_protected_cluster_is_kept() -> None:
    says = "The cluster demo would be replaced by other, and it is protected."
    late = " EKS still protects it in the update that turns that off."
    off = cluster(name="other", deletionProtection=False)

    assert found({}, cluster(name="other")) == [("GPU811", "cluster.name", says, FIRST_UNPROTECT)]
    assert found({}, off) == [("GPU811", "cluster.name", says + late, FIRST_UNPROTECT)]


def test_a_protected_cluster_is_not_given_up() -> None:
    existing = {
        **cluster(name=None, version=None, existing={"name": "demo"}),
        **network(**MINE),
    }
    says = "The cluster demo would be deleted, and it is protected."

    assert found({}, existing) == [("GPU811", "cluster.existing", says, FIRST_UNPROTECT)]
    assert found(cluster(deletionProtection=False), existing) == []


def test_a_key_is_kept() -> None:
    fix = "Put back what was there; another key takes another cluster."
    own = f"The cluster was made with a key of the stack's own, and the file now asks for {KEY}."
    given = f"The cluster was made with {KEY}, and the file now asks for a key of the stack's own."

    with_key = cluster(secretsKeyArn=KEY)
    assert found({}, with_key) == [("GPU812", "cluster.secretsKeyArn", own, fix)]
    assert found(with_key, {}) == [("GPU812", "cluster.secretsKeyArn", given, fix)]


def test_no_version_is_skipped() -> None:
    assert found(cluster(version="1.33"), cluster(version="1.36")) == [
        (
            "GPU813",
            "cluster.version",
            "From 1.33 to 1.36 the cluster would skip 1.34, 1.35.",
            'Set "1.34" first, with every amiVersion, and run pulumi up.',
        )
    ]


def test_no_version_comes_back() -> None:
    assert found({}, cluster(version="1.34")) == [
        (
            "GPU813",
            "cluster.version",
            "The cluster is at 1.35, and 1.34 is earlier.",
            (
                'Put back "1.35". To go back within seven days of an upgrade, roll back the node '
                "groups and then the cluster with the AWS CLI, and run pulumi up --refresh with "
                "this file."
            ),
        )
    ]


@pytest.mark.parametrize("earlier", ["stack", "autoscaler"])
@pytest.mark.parametrize(
    ("limits", "key", "says"),
    [
        ((4, 4, 5), "min", "min would be 4, more than the desired size of 3"),
        ((1, 2, 2), "max", "max would be 2, less than the desired size of 3"),
    ],
)
def test_limits_hold_the_size_in_the_state(
    limits: tuple[int, int, int], key: str, says: str, earlier: str
) -> None:
    limit = max(limits[0], 2)

    assert found(gpu(1, 3, 5, earlier), gpu(*limits)) == [
        (
            "GPU814",
            f"pools.gpu.nodes.{key}",
            f"{says} that the stack was last told and that updates leave alone.",
            (
                "Where the autoscaler has made it another since, run pulumi up --refresh. "
                f"Otherwise set scaledBy: stack with desired: {limit} for one update, and then "
                "autoscaler again."
            ),
        )
    ]


OWN_IMAGE: dict[str, Any] = {
    "amiFamily": "custom",
    "customAmi": {"id": "ami-0123456789abcdef0", "family": "al2023", "driverIncluded": True},
}
OTHER_IMAGE = {
    **OWN_IMAGE,
    "customAmi": {**OWN_IMAGE["customAmi"], "id": "ami-0fedcba9876543210"},
}


def at(version: str, image: Fragment) -> Fragment:
    return {"cluster": {"version": version}, "pools": {"gpu": image}}


def test_an_image_of_ones_own_is_reminded_of() -> None:
    [(code, path, message, _)] = found(at("1.34", OWN_IMAGE), at("1.35", OWN_IMAGE))

    assert (code, path) == ("GPU816", "pools.gpu.customAmi.id")
    assert message == (
        "The control plane goes to 1.35, and the pool keeps ami-0123456789abcdef0 with the kubelet "
        "that is in it."
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (at("1.34", OWN_IMAGE), at("1.35", OTHER_IMAGE)),
        (at("1.35", OWN_IMAGE), at("1.35", OWN_IMAGE)),
        (at("1.34", {}), at("1.35", {})),
        (at("1.34", {}), at("1.35", OWN_IMAGE)),
    ],
)
def test_an_image_that_goes_along_is_not(before: Fragment, after: Fragment) -> None:
    assert found(before, after) == []


@pytest.mark.parametrize(
    ("protected", "regions", "codes"),
    [
        (True, ("us-west-2", "eu-west-1"), ["GPU815"]),
        (False, ("us-west-2", "eu-west-1"), []),
        (True, ("us-west-2", "us-west-2"), []),
        (True, (None, "us-west-2"), []),
        (True, ("us-west-2", None), []),
    ],
)
def test_a_region_is_kept_where_it_is_known(
    protected: bool, regions: tuple[str | None, str | None], codes: list[str]
) -> None:
    environment = parse(merge_values(BASE, cluster(deletionProtection=protected))).environment
    assert environment is not None

    found = check_edit(environment, environment, regions)
    assert [f.code for f in found] == codes
    assert all("is up in us-west-2, and it is protected; in eu-west-1" in f.message for f in found)
    assert all(f.fix.startswith("Put back aws:region: us-west-2 and make") for f in found)


def on_karpenter(*, static: bool) -> Fragment:
    nodes = {"min": None, "desired": None, "max": 3}
    karpenter = {"static": True, "replicas": 1} if static else {}
    gpu = {"provisioner": "karpenter", "nodes": nodes, "karpenter": karpenter}
    return {"pools": {"gpu": gpu}}


@pytest.mark.parametrize(
    ("was", "now", "message"),
    [
        (True, False, "The pool gpu is static, and would become dynamic."),
        (False, True, "The pool gpu is dynamic, and would become static."),
    ],
)
def test_a_pool_of_karpenters_stays_of_its_kind(was: bool, now: bool, message: str) -> None:
    edit = found(on_karpenter(static=was), on_karpenter(static=now))

    assert [(code, said) for code, _, said, _ in edit] == [("GPU779", message)]
    assert found(on_karpenter(static=was), on_karpenter(static=was)) == []


PLATFORM, TEAM = (f"arn:aws:iam::111122223333:role/{name}" for name in ("Platform", "Team"))
TENANT: Fragment = {
    "tenants": {
        "team": {
            "namespaces": ["t"],
            "admins": [TEAM],
            "pools": {"gpu": {"guaranteed": {"gpus": 1}}},
        }
    }
}
_TWICE = "{} has an access entry by {}, and would get another one by {}."
_OUT_FIRST = (
    "Put it back into {}. Or take it out, run pulumi up, and put it here then: in between it has "
    "no access, so somebody else has to run that."
)


@pytest.mark.parametrize(
    ("before", "after", "path", "entries"),
    [
        (
            cluster(admins=[PLATFORM]),
            cluster(namedAdmins={"ops": PLATFORM}),
            "cluster.namedAdmins.ops",
            (PLATFORM, "cluster.admins", "cluster.namedAdmins.ops"),
        ),
        (
            cluster(namedAdmins={"ops": PLATFORM}),
            cluster(admins=[TEAM, PLATFORM]),
            "cluster.admins[1]",
            (PLATFORM, "cluster.namedAdmins.ops", "cluster.admins"),
        ),
        (
            cluster(namedAdmins={"ops": PLATFORM}),
            cluster(namedAdmins={"platform": PLATFORM}),
            "cluster.namedAdmins.platform",
            (PLATFORM, "cluster.namedAdmins.ops", "cluster.namedAdmins.platform"),
        ),
        (
            cluster(admins=[TEAM]),
            TENANT,
            "tenants.team.admins[0]",
            (TEAM, "cluster.admins", "tenants"),
        ),
    ],
)
def test_a_principal_keeps_its_access_entry(
    before: Fragment, after: Fragment, path: str, entries: tuple[str, str, str]
) -> None:
    assert found(before, after) == [
        ("GPU993", path, _TWICE.format(*entries), _OUT_FIRST.format(entries[1]))
    ]


def test_principals_that_come_go_and_change_places_in_a_list_are_fine() -> None:
    assert found(cluster(admins=[PLATFORM, TEAM]), cluster(admins=[TEAM, PLATFORM])) == []
    assert found(cluster(admins=[PLATFORM]), cluster(namedAdmins={"team": TEAM})) == []
    free = cluster(deletionProtection=False, admins=[PLATFORM])
    other = cluster(name="other", deletionProtection=False, namedAdmins={"ops": PLATFORM})
    assert found(free, other) == []
