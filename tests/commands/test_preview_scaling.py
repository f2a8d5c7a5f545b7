"""What `preview` says of pools that an autoscaler scales: nodes, shares, dollars, from and to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.catalog import Catalog
from eks_gpushare.config.component_specs import GpuPoolSpec
from eks_gpushare.program_verbs.pool_table import pool_lines
from eks_gpushare.sharing.plan import plan_pool

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Run

ROOT = Path(__file__).parents[2]
SHARED = "nvidia.com/gpu.shared"
G5 = 1.006
"""USD an hour of one g5.xlarge in us-west-2: https://aws.amazon.com/ec2/pricing/on-demand/."""


def plan_of(**keys: Any) -> dict[str, Any]:
    """A pool of ten shares a node as `preview --json` shows it."""
    given = {
        "pool": "gpu",
        "instanceTypes": ["g5.xlarge"],
        "sharing": {"mode": "timeSlicing", "replicas": 10},
        **keys,
    }
    spec = GpuPoolSpec.model_validate(given)
    return plan_pool("gpu", spec, Catalog(), "us-west-2").as_json()


def karpenter(**keys: Any) -> dict[str, Any]:
    return plan_of(provisioner="karpenter", **keys)


def test_a_pool_of_karpenter_goes_from_nothing_to_its_maximum() -> None:
    scaling = karpenter(nodes={"max": 10})["scaling"]

    assert scaling == {
        "by": "karpenter",
        "static": False,
        "min": {"nodes": 0, "shares": {SHARED: 0}, "usdPerHour": 0.0},
        "max": {"nodes": 10, "shares": {SHARED: 100}, "usdPerHour": round(10 * G5, 4)},
    }


@pytest.mark.parametrize("scaled_by", ["stack", None])
def test_a_pool_that_nobody_scales_has_no_range(scaled_by: str | None) -> None:
    given = {"scaledBy": scaled_by} if scaled_by else {}

    assert "scaling" not in plan_of(nodes={"min": 1, "max": 5}, **given)
    assert "scaling" not in plan_of(provisioner="existing", scaledBy="autoscaler")


def test_a_node_group_goes_from_its_minimum_to_its_maximum() -> None:
    scaling = plan_of(scaledBy="autoscaler", nodes={"min": 1, "desired": 2, "max": 5})["scaling"]

    assert scaling["by"] == "clusterAutoscaler"
    assert (scaling["min"]["nodes"], scaling["max"]["nodes"]) == (1, 5)
    assert scaling["max"]["shares"] == {"nvidia.com/gpu": 50}


def test_the_nodes_of_a_static_pool_stay() -> None:
    scaling = karpenter(karpenter={"static": True}, nodes={"desired": 3, "max": 4})["scaling"]

    assert scaling["static"]
    assert scaling["min"] == scaling["max"]
    assert scaling["max"]["nodes"] == 3


# What the real controller made of such limits with ten shares a node.
@pytest.mark.parametrize(
    ("limits", "nodes"),
    [
        ({SHARED: 25}, 2),
        ({SHARED: "30"}, 3),
        ({SHARED: 5}, 0),
        ({"cpu": 8}, 2),
        ({"cpu": "8000m"}, 2),
        ({"cpu": 8, SHARED: 100}, 2),
        ({"memory": "64Gi"}, 4),
    ],
)
def test_limits_count_what_nodes_advertise(limits: dict[str, Any], nodes: int) -> None:
    scaling = karpenter(karpenter={"limits": limits}, nodes={"max": 7})["scaling"]

    assert scaling["max"]["nodes"] == nodes
    assert scaling["max"]["shares"] == {SHARED: 10 * nodes}


# No node is told to have any of these, and of no limit at all there is none to reach.
@pytest.mark.parametrize(
    "limits", [{"nvidia.com/gpu": 2}, {"example.com/fpga": 1}, {"cpu": "eight"}, None]
)
@pytest.mark.parametrize("width", [40, 80, 120])
def test_what_limits_nothing_is_no_maximum(limits: dict[str, Any] | None, width: int) -> None:
    pool = karpenter(karpenter={"limits": limits} if limits else {})
    text = "\n".join(pool_lines({"gpu": pool}, width))

    assert pool["scaling"]["max"] is None
    assert "0/-/-" in text
    assert "0 nodes and more, without a limit" in " ".join(text.split())


def test_of_several_types_the_one_with_most_nodes_under_the_limit_counts() -> None:
    pool = karpenter(
        instanceTypes=["g5.xlarge", "g5.12xlarge"],
        karpenter={"limits": {SHARED: 80}},
        nodes={"max": 3},
    )

    assert pool["scaling"]["max"]["nodes"] == 8
    assert pool["scaling"]["max"]["shares"] == {SHARED: 80}


@pytest.mark.parametrize(
    ("limits", "by_type", "usd"),
    [
        # A small node costs 1.006, a large one 16.288.
        ({SHARED: 240}, {"g5.xlarge": 24, "g5.48xlarge": 3}, 3 * 16.288),
        ({"cpu": 192}, {"g5.xlarge": 48, "g5.48xlarge": 1}, 48 * 1.006),
        ({"cpu": 100}, {"g5.xlarge": 25, "g5.48xlarge": 0}, 25 * 1.006),
    ],
)
def test_the_most_that_a_pool_of_several_sizes_costs(
    limits: dict[str, Any], by_type: dict[str, int], usd: float
) -> None:
    pool = karpenter(instanceTypes=["g5.xlarge", "g5.48xlarge"], karpenter={"limits": limits})

    most = pool["scaling"]["max"]
    assert most["nodesByType"] == by_type
    assert most["nodes"] == max(by_type.values())
    assert most["usdPerHour"] == round(usd, 4)


def test_a_share_has_the_price_of_its_own_type() -> None:
    pool = karpenter(instanceTypes=["g5.12xlarge", "g5.16xlarge"], nodes={"max": 2})
    text = "\n".join(pool_lines({"gpu": pool}, 120))

    # The dearer node has the cheaper shares: four GPUs for 5.672, one for 4.096.
    (share,) = pool["shares"]
    assert share["usdPerHourByType"] == {"g5.12xlarge": 0.1418, "g5.16xlarge": 0.4096}
    assert pool["usdPerHour"]["perShare"] == share["usdPerHour"] == 0.4096
    for price in ("0.1418", "0.4096"):
        assert text.count(price) == 1
    assert "usdPerHourByType" not in karpenter(nodes={"max": 2})["shares"][0]


@pytest.mark.parametrize(
    ("warm", "nodes"),
    [({"shares": 1}, 1), ({"shares": 10}, 1), ({"shares": 11}, 2), ({"nodes": 3}, 3)],
)
@pytest.mark.parametrize("by", [{"provisioner": "karpenter"}, {"scaledBy": "autoscaler"}])
def test_a_warm_room_is_the_minimum(warm: dict[str, int], nodes: int, by: dict[str, str]) -> None:
    scaling = plan_of(warm=warm, nodes={"max": 10}, **by)["scaling"]

    assert scaling["min"]["nodes"] == nodes


def test_a_price_that_nobody_lists_is_unknown() -> None:
    scaling = karpenter(capacityType="spot", nodes={"max": 10})["scaling"]

    assert scaling["min"]["usdPerHour"] is None
    assert scaling["max"]["usdPerHour"] is None


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_the_range_stands_below_the_pools_at_every_width(width: int) -> None:
    mig = {"mode": "mig", "layout": "all-balanced", "strategy": "mixed"}
    pools = {
        "gpu": karpenter(nodes={"max": 10}),
        "spot": karpenter(capacityType="spot", nodes={"max": 10}),
        "static": karpenter(karpenter={"static": True}, nodes={"desired": 3}),
        "one": karpenter(karpenter={"static": True}, nodes={"desired": 1}),
        "group": plan_of(scaledBy="autoscaler", nodes={"min": 1, "max": 5}),
        "mig": plan_of(
            scaledBy="autoscaler", instanceTypes=["p4d.24xlarge"], sharing=mig, nodes={"max": 2}
        ),
        "plain": plan_of(),
    }

    lines = pool_lines(pools, width)

    told = " ".join(" ".join(lines).split())
    assert "gpu: scaled by Karpenter at 0 to 10 nodes, 0.00 to 10.06 $/hour" in told
    assert f"{SHARED}: 0 to 100" in told
    assert "spot: scaled by Karpenter at 0 to 10 nodes, unknown $/hour" in told
    assert "static: kept by Karpenter at 3 nodes, 3.02 $/hour" in told
    assert "one: kept by Karpenter at 1 node, 1.01 $/hour" in told
    assert "group: scaled by Cluster Autoscaler at 1 to 5 nodes, 1.01 to 5.03 $/hour" in told
    assert "nvidia.com/mig-1g.5gb: 0 to 32" in told
    assert "plain: scaled" not in told
    if width >= 80:
        assert max(map(len, lines)) <= width


@pytest.mark.parametrize("width", [80, 120])
def test_nobody_decides_how_many_nodes_karpenter_begins_with(width: int) -> None:
    text = "\n".join(pool_lines({"gpu": karpenter(karpenter={"limits": {SHARED: 25}})}, width))

    assert "0/-/2" in text
    (row,) = [line for line in text.splitlines() if SHARED in line and ":" not in line]
    assert row.split()[-4:-1] in (["10", "-", "20"], ["-", "20", "-"])


def test_the_command_shows_it(
    run: Run, tmp_path: Path, time_slicing: str, golden: Callable[[str, str], None]
) -> None:
    file = tmp_path / "Pulumi.scaled.yaml"
    text = time_slicing.replace(
        "desired: 1, max: 1}", "desired: 1, max: 4}\n        scaledBy: autoscaler"
    )
    file.write_text(text, encoding="utf-8")

    out = run("preview", str(file), "--program", str(ROOT), "--quiet").out
    document = run("preview", str(file), "--program", str(ROOT), "--json").json

    golden("preview/scaled-by-autoscaler.txt", out.partition("\n\n")[0] + "\n")
    pool = document["pools"]["gpu"]
    assert pool["scaling"]["max"]["shares"] == {"nvidia.com/gpu": 160}
    assert json.loads(json.dumps(pool["scaling"])) == pool["scaling"]
