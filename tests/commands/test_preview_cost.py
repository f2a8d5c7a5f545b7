"""`eks-gpushare preview`: what a whole stack costs, and what is not known of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.conftest import Run

ROOT = Path(__file__).parents[2]


def items(cost: dict[str, Any]) -> dict[str, tuple[int, int, float | None, float | None]]:
    return {
        (item["name"] or item["item"]): (
            *item["count"].values(),
            *item["usdPerHour"].values(),
        )
        for item in cost["items"]
    }


def test_everything_with_a_list_price_is_counted(run: Run) -> None:
    cost = run("preview", "multi-tenant", "--json").json["cost"]

    assert items(cost) == {
        "gpusharing-multi-tenant": (1, 1, 0.1, 0.1),
        "gpushare-inference": (1, 3, 0.9776, 2.9328),
        "gpushare-notebooks": (1, 3, 1.3232, 3.9696),
        "gpushare-tenants": (1, 1, 21.957642, 21.957642),
        "gpushare-whole": (1, 2, 0.8048, 1.6096),
        "gpushare-system": (2, 4, 0.1664, 0.3328),
        # GiB: 200 a GPU node, 50 a system node, at 0.08 a month.
        "rootVolumes": (900, 2000, round(900 * 0.08 / 730, 6), round(2000 * 0.08 / 730, 6)),
        "natGateway": (1, 1, 0.045, 0.045),
        "publicIpv4": (1, 1, 0.005, 0.005),
        "kmsKey": (1, 1, round(1 / 730, 6), round(1 / 730, 6)),
    }
    hour, month = cost["usdPerHour"], cost["usdPerMonth"]
    total = sum(i["usdPerHour"]["atDesired"] for i in cost["items"])
    assert hour["atDesired"] == pytest.approx(total)
    assert month["atDesired"] == pytest.approx(hour["atDesired"] * 730, abs=0.01)
    assert cost["knownUsdPerHour"] == hour
    assert cost["unknown"] == []
    assert "data through NAT gateways" in cost["notIncluded"]
    assert all(item["source"] for item in cost["items"])


def preview(run: Run, tmp_path: Path, text: str) -> dict[str, Any]:
    file = tmp_path / "Pulumi.edited.yaml"
    file.write_text(text)
    ran = run("preview", str(file), "--program", str(ROOT), "--json")
    assert ran.code == 0, ran.out
    cost: dict[str, Any] = ran.json["cost"]
    return cost


def test_each_zone_with_a_gateway_of_its_own_counts(
    run: Run, tmp_path: Path, time_slicing: str
) -> None:
    cost = preview(
        run, tmp_path, time_slicing.replace("natGateways: single", "natGateways: perZone")
    )

    assert items(cost)["natGateway"] == (2, 2, 0.09, 0.09)
    assert items(cost)["publicIpv4"] == (2, 2, 0.01, 0.01)


def test_extended_support_costs_six_times_as_much(
    run: Run, tmp_path: Path, time_slicing: str
) -> None:
    text = time_slicing.replace('version: "1.35"', 'version: "1.33"\n      supportType: extended')
    cost = preview(run, tmp_path, text.replace("amiVersion: 1.35.8-20260930", ""))

    assert items(cost)["gpusharing-demo"][2] == 0.6


NO_SPOT = (
    "gpu: the price of spot instances changes by the hour; spotUsdPerHour of "
    "catalog.instanceTypes says what you pay."
)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "labels: {eks-node: gpu}",
            "capacityType: spot",
            NO_SPOT,
        ),
        (
            "system: {instanceTypes: [t3.large]",
            "system: {instanceTypes: [c9g.large]",
            "gpushare-system: no price of c9g.large in us-west-2 is known.",
        ),
    ],
)
def test_an_unknown_price_makes_the_sum_unknown_and_never_smaller(
    run: Run, tmp_path: Path, time_slicing: str, old: str, new: str, why: str
) -> None:
    assert old in time_slicing
    cost = preview(run, tmp_path, time_slicing.replace(old, new))

    assert why in cost["unknown"]
    assert cost["usdPerHour"] == {"atDesired": None, "atMax": None}
    assert cost["usdPerMonth"] == {"atDesired": None, "atMax": None}


def test_a_price_of_ones_own_counts(run: Run, tmp_path: Path, time_slicing: str) -> None:
    text = time_slicing.replace("[p3.8xlarge]", "[g6.12xlarge]") + (
        "    catalog: {instanceTypes: {g6.12xlarge: {priceUsdPerHour: 3.5}}}\n"
    )
    cost = preview(run, tmp_path, text)

    assert items(cost)["gpushare-gpu"] == (1, 1, 3.5, 3.5)


def test_what_is_paid_for_spot_is_one_too(run: Run, tmp_path: Path, time_slicing: str) -> None:
    text = time_slicing.replace("labels: {eks-node: gpu}", "capacityType: spot") + (
        "    catalog: {instanceTypes: {p3.8xlarge: {spotUsdPerHour: 4}}}\n"
    )
    cost = preview(run, tmp_path, text)

    assert items(cost)["gpushare-gpu"] == (1, 1, 4, 4)
    assert cost["unknown"] == []


def test_the_text_says_unknown_and_what_is_known(
    run: Run, tmp_path: Path, time_slicing: str
) -> None:
    file = tmp_path / "Pulumi.edited.yaml"
    file.write_text(time_slicing.replace("labels: {eks-node: gpu}", "capacityType: spot"))

    out = run("preview", str(file), "--program", str(ROOT), "--quiet").out

    total = next(line for line in out.splitlines() if line.startswith("total"))
    known = next(line for line in out.splitlines() if line.startswith("of it known"))
    assert total.split() == ["total", *["unknown"] * 4]
    assert "unknown" not in known
    assert NO_SPOT in out


PROGRAM = """import pulumi
import pulumi_aws as aws
from eks_gpushare import GpuPool

role, subnets = "arn:aws:iam::111122223333:role/a", ["subnet-0aaaaaaaaaaaaaaaa"]
cluster = aws.eks.Cluster("mine", name="mine", version="1.35", role_arn=role,
    vpc_config={"subnet_ids": subnets})
aws.eks.NodeGroup("raw", cluster_name=cluster.name, node_role_arn=role, subnet_ids=subnets,
    instance_types=["m5.large", "m5.xlarge"], disk_size=40,
    scaling_config={"min_size": 1, "desired_size": 2, "max_size": 3})
for name, types in {"one": ["g6.xlarge"], "cut": ["p4d.24xlarge"]}.items():
    sharing = {"mode": "mig", "layout": "all-balanced"} if name == "cut" else {"mode": "exclusive"}
    GpuPool(name, {"pool": name, "cluster_name": cluster.name, "instance_types": types,
        "cluster_subnet_ids": subnets, "sharing": sharing})
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A program of one's own, with components and without an environment."""
    (tmp_path / "Pulumi.yaml").write_text("name: mine\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").write_text("config:\n  aws:region: eu-central-1\n")
    (tmp_path / "__main__.py").write_text(PROGRAM)
    return tmp_path


def test_a_program_of_ones_own_has_the_same_tables(run: Run, own: Path) -> None:
    document = run("preview", "dev", "--json", cwd=own).json

    assert {name: pool["request"] for name, pool in document["pools"].items()} == {
        "one": {"nvidia.com/gpu": 1},
        "cut": {"nvidia.com/mig-1g.5gb": 1},
    }
    assert document["pools"]["one"]["usdPerHour"] == {"atDesired": 1.0064, "perShare": 1.0064}
    assert items(document["cost"]) == {
        "mine": (1, 1, 0.1, 0.1),
        "one": (1, 1, 1.0064, 1.0064),
        "cut": (1, 1, 27.43298, 27.43298),
        # Of two types the dearer: EKS may start either.
        "raw": (2, 3, 0.46, 0.69),
        "rootVolumes": (480, 520, round(480 * 0.0952 / 730, 6), round(520 * 0.0952 / 730, 6)),
    }


def test_its_pods_are_printed_too(run: Run, own: Path) -> None:
    out = run("preview", "dev", "--pod", "cut", cwd=own).out

    assert "nvidia.com/mig-1g.5gb: 1" in out
    assert "eks-gpushare/pool: cut" in out


def test_without_a_region_no_price_is_known(run: Run, own: Path) -> None:
    (own / "Pulumi.dev.yaml").write_text("config: {}\n")

    cost = run("preview", "dev", "--json", cwd=own).json["cost"]

    assert {item["usdPerHour"]["atDesired"] for item in cost["items"]} == {None}
    assert "one: the stack names no aws:region." in cost["unknown"]


ODD = """import pulumi
import pulumi_aws as aws

late = aws.ec2.Vpc("v", cidr_block="10.0.0.0/16").id
template = aws.ec2.LaunchTemplate("t", instance_type=late, block_device_mappings=[late],
    opts=pulumi.ResourceOptions(protect=True))
cluster = aws.eks.Cluster("c", name=late, version=late, role_arn=late,
    vpc_config={"subnet_ids": [late]}, encryption_config=None)
for name, more in {
    "late": {"instance_types": [late], "labels": {"a": late}, "capacity_type": late},
    "secret": {"instance_types": pulumi.Output.secret(["m5.large"])},
    "template": {"launch_template": {"id": template.id, "version": late}},
    "nothing": {},
}.items():
    sizes = {"min_size": 1, "desired_size": late.apply(len), "max_size": 2}
    aws.eks.NodeGroup(name, cluster_name=cluster.name, node_role_arn=late, subnet_ids=[late],
        scaling_config=sizes, **more)
"""


def test_what_is_not_known_yet_costs_an_unknown_amount_and_stops_nothing(
    run: Run, own: Path
) -> None:
    (own / "__main__.py").write_text(ODD)

    ran = run("preview", "dev", "--json", cwd=own)
    text = run("preview", "dev", cwd=own)

    assert (ran.code, text.code) == (0, 0), ran.err
    groups = {i["name"]: i["usdPerHour"]["atMax"] for i in ran.json["cost"]["items"]}
    assert groups["late"] is None
    assert groups["secret"] is None
    assert groups["template"] is None
    # EKS takes two t3.medium where nothing is said.
    assert groups["nothing"] == 0.096
    assert ran.json["cost"]["usdPerHour"] == {"atDesired": None, "atMax": None}


def test_of_a_program_that_stopped_there_is_no_cost(run: Run, own: Path) -> None:
    (own / "__main__.py").write_text(f"{PROGRAM}\nraise RuntimeError('no')\n")

    ran = run("preview", "dev", "--json", cwd=own)

    assert (ran.code, ran.json["cost"]) == (1, None)
