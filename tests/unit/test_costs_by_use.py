"""Costs that are split by what pods use: Prometheus' rules and `cost` say the same, and it adds up.

What is expected is reckoned here from the pods of a scene, and from what AWS lists for a node.
"""

from __future__ import annotations

import json
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.conftest import sampled
from tests.unit.monitoring_scenes import (
    GPU,
    MIXED,
    SHARED,
    SMALL,
    STACK,
    Scene,
    SceneNode,
    ScenePod,
    stack,
    timeline,
)

from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.live.usage_answer import UsageAnswerError, read_answer
from eks_gpushare.live.usage_shares import usage_shares
from eks_gpushare.sharing.monitoring.declared import mig_profile
from eks_gpushare.sharing.monitoring.groups import rule_groups, rules_document
from eks_gpushare.sharing.stack_cost import stack_cost
from eks_gpushare_lab.simulated_node.dcgm_exporter import Options
from eks_gpushare_lab.simulated_node.gpus import MigInstance, SimulatedGpu

if TYPE_CHECKING:
    from collections.abc import Sequence

# What conftest.py offers.
Promtool = Any

LARGE = "nvidia.com/mig-3g.20gb"
UNEVEN = SimulatedGpu(
    mig=True,
    instances=(MigInstance("3g.20gb", 0), *(MigInstance("1g.5gb", n) for n in range(4))),
)
NODES = (
    SceneNode(),
    SceneNode("slices-1"),
    SceneNode(
        "uneven-0", "uneven", "p4d.24xlarge", {LARGE: 8, SMALL: 32, GPU: 0}, (UNEVEN,) * 8, MIXED
    ),
)
POOLS = {
    **STACK["pools"],
    "uneven": {
        "instanceTypes": ["p4d.24xlarge"],
        "nodes": {"min": 1, "desired": 1, "max": 2},
        "sharing": {"mode": "mig", "layout": {"3g.20gb": 1, "1g.5gb": 4}},
    },
}
LISTED = json.loads(
    (Path(__file__).parents[2] / "components/eks_gpushare/catalog/data/instances.json").read_text(
        encoding="utf-8"
    )
)["types"]
REGION = "us-west-2"
PARTS = {SHARED: Fraction(1, 4), LARGE: Fraction(3, 7 * 8), SMALL: Fraction(1, 7 * 8)}
"""Of a node, one share of each kind."""
DEVICES = {**PARTS, SHARED: Fraction(1)}
"""Of a node, the device that a pod with such a share computes on."""
SPACES = ("vision", "research", "ci")
SEEDS = sampled(range(30), 30)
TIME = 1_795_802_400


def price(machine: str) -> Fraction:
    return Fraction(str(LISTED[machine]["prices"][REGION]))


def random_pods(random: Random) -> tuple[ScenePod, ...]:
    """Pods that leave shares free, some of which do nothing, some on a node where none does."""
    found: list[ScenePod] = []
    for node in NODES:
        asleep = random.random() < 0.25
        for resource, count in node.allocatable.items():
            for _ in range(random.randint(0, count)):
                load, memory = (0, 0) if asleep else random.choice(((0, 0), (5, 300), (25, 4000)))
                found.append(
                    ScenePod(
                        f"p{len(found):03}",
                        resource,
                        node.name,
                        random.choice(SPACES),
                        load=load,
                        memory=memory,
                    )
                )
    return tuple(found)


def expected(pods: Sequence[ScenePod], split: str) -> dict[tuple[str, str], Fraction]:
    """USD an hour by pool and namespace."""
    found: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for node in NODES:
        own = [pod for pod in pods if pod.node == node.name]
        parts = [price(node.machine) * PARTS[pod.resource] for pod in own]
        weights = parts
        if split == "memory":
            weights = [Fraction(int(pod.memory)) for pod in own]
        elif split == "activity":
            weights = [int(pod.load) * DEVICES[pod.resource] for pod in own]
        weights = weights if any(weights) else parts
        for pod, weight in zip(own, weights, strict=True):
            found[node.pool, pod.namespace] += sum(parts) * weight / sum(weights)
    return dict(found)


def expressions(pods: Sequence[ScenePod], split: str) -> list[dict[str, Any]]:
    """What Prometheus is to say: each series and no other, and that pools cost what they cost."""
    rows = expected(pods, split)
    series = "gpushare:namespace_usd_per_hour"
    found = [(f"count({series}) or vector(0)", "{}", len(rows))]
    for (pool, namespace), usd in rows.items():
        labels = f'namespace="{namespace}",pool="{pool}"'
        asked = f"abs({series}{{{labels}}} - {float(usd):.12g}) < bool 0.000001"
        found.append((asked, f"{{{labels}}}", 1))
    for pool in {node.pool for node in NODES}:
        paid = sum(price(node.machine) for node in NODES if node.pool == pool)
        told = f'sum({series}{{pool="{pool}"}}) or vector(0)'
        idle = f'sum(gpushare:idle_usd_per_hour{{pool="{pool}"}})'
        found.append((f"abs({idle} + ({told}) - {float(paid)}) < bool 0.000001", "{}", 1))
    return [
        {"expr": expr, "eval_time": "10m", "exp_samples": [{"labels": labels, "value": value}]}
        for expr, labels, value in found
    ]


@pytest.mark.parametrize("split", ["share", "memory", "activity"])
@pytest.mark.parametrize("seed", SEEDS)
def test_rules_split_what_pods_hold_by_what_they_use(
    seed: int, split: str, promtool: Promtool
) -> None:
    random = Random(f"{seed}")  # noqa: S311  (no secret)
    rules = rules_document(rule_groups(*stack(pools=POOLS, observability=block(split))))
    groups = [group for group in rules["groups"] if group["name"] not in UNASKED]
    tests = []
    for _ in range(2):
        pods = random_pods(random)
        tests.append(
            {
                "interval": "1m",
                "input_series": timeline((11, Scene(NODES, pods))),
                "promql_expr_test": expressions(pods, split),
            }
        )

    assert promtool.failure_of_alerts({"groups": groups}, *tests) == ""


UNASKED = ("gpushare-alerts", "gpushare-objectives", "gpushare-tenants")


def block(split: str) -> dict[str, Any]:
    return {
        "metrics": "none",
        "cost": {"split": split},
    }


def test_with_an_exporter_of_cloudwatch_rules_split_by_shares() -> None:
    other = {"metrics": "cloudwatch", "cost": {"split": "memory"}}
    rules = rule_groups(*stack(observability=other))

    assert "gpushare:namespace_use" not in {x.get("record") for own in rules for x in own.rules}


def test_without_processes_nothing_is_measured_and_shares_divide(promtool: Promtool) -> None:
    """An exporter that sees none tells zeros of every pod."""
    blind = Options(virtual=True, resources=(SHARED,), host_pid=False)
    scene = Scene(pods=(ScenePod("a"), ScenePod("b", namespace="ci"))).node(exporter=blind)
    rules = rules_document(rule_groups(*stack(observability=block("memory"))))
    asked = {
        "expr": "round(gpushare:namespace_usd_per_hour, 0.0001)",
        "eval_time": "10m",
        "exp_samples": [
            {"labels": f'{{namespace="{name}",pool="slices"}}', "value": 0.2012}
            for name in ("vision", "ci")
        ],
    }
    given = {
        "interval": "1m",
        "input_series": timeline((11, scene)),
        "promql_expr_test": [asked],
    }

    assert promtool.failure_of_alerts(rules, given) == ""


def answer(pods: Sequence[ScenePod], split: str) -> dict[str, Any]:
    """What Prometheus answers to the query of docs/cost.md, of a scene."""
    series: list[tuple[dict[str, str], Fraction | int]] = []
    held: dict[tuple[str, str, str, str], int] = defaultdict(int)
    use: dict[tuple[str, str, str], Fraction] = defaultdict(Fraction)
    for node in NODES:
        for resource, count in node.allocatable.items():
            told = {"pool": node.pool, "node": node.name, "instance_type": node.machine}
            series.append(({**told, "resource": resource.translate(MANGLED)}, count))
        for pod in (pod for pod in pods if pod.node == node.name):
            key = (node.pool, node.name, pod.namespace)
            held[*key, pod.resource.translate(MANGLED)] += 1
            used = int(pod.memory) if split == "memory" else pod.load * DEVICES[pod.resource]
            use[key] += Fraction(used)
    for (pool, name, namespace, resource), count in held.items():
        told = {"pool": pool, "node": name, "namespace": namespace}
        series.append(({**told, "resource": resource}, count))
    for (pool, name, namespace), amount in use.items() if split != "share" else ():
        told = {"pool": pool, "node": name, "namespace": namespace, "by": split}
        series.append((told, amount))
    result = [
        {"metric": labels, "value": [TIME, f"{float(amount)!r}"]} for labels, amount in series
    ]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


MANGLED = str.maketrans("./-", "___")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("split")


def cost_of(given: dict[str, Any], split: str, folder: Path) -> Any:
    """The table of `cost --usage` of the stack of scenes."""
    file = folder / f"Pulumi.{split}.yaml"
    environment = {
        **STACK,
        "cluster": {**STACK["cluster"], "admins": ["arn:aws:iam::111122223333:role/Admin"]},
        "observability": block(split),
        "pools": {
            name: {"amiVersion": "1.35.8-20260930", **pool}
            for name, pool in POOLS.items()
            if name != "elastic"
        },
    }
    keys = {"aws:region": REGION, "eks-gpushare:environment": environment}
    file.write_text(yaml.safe_dump({"config": keys}), encoding="utf-8")
    found = read_stack(file)
    assert found.errors == ()
    assert found.environment is not None
    usage = folder / "usage.json"
    usage.write_text(json.dumps(given), encoding="utf-8")
    held = usage_shares(read_answer(str(usage)), found)
    return stack_cost(found.environment, found.plans, found.catalog, REGION, held=held)


@pytest.mark.parametrize("split", ["share", "memory", "activity"])
@pytest.mark.parametrize("seed", SEEDS)
def test_cost_says_what_the_rules_say(seed: int, split: str, folder: Path) -> None:
    pods = random_pods(Random(f"{seed}"))  # noqa: S311  (no secret)
    table = cost_of(answer(pods, split), split, folder)

    told: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for line, _ in table.lines:
        if line.use == "used" and line.usd:
            told[line.pool, line.namespace] += line.usd
    wanted = {key: usd for key, usd in expected(pods, split).items() if usd}
    assert told.keys() == wanted.keys()
    for key, usd in wanted.items():
        assert abs(told[key] - usd) < Fraction(1, 1_000_000)
    paid = sum(price(node.machine) for node in NODES)
    assert table.total().month == round(paid * 730 * 100)
    assert sum((line.usd for line, _ in table.lines), Fraction(0)) == paid


def one(split: str, folder: Path, *dropped: str) -> Any:
    pods = (
        ScenePod("a", memory=3000, load=10),
        ScenePod("b", memory=1000, load=30, namespace="ci"),
    )
    given = answer(pods, split)
    given["data"]["result"] = [
        each
        for each in given["data"]["result"]
        if not ("by" in each["metric"] and each["metric"]["pool"] in dropped)
    ]
    return cost_of(given, split, folder)


def test_it_says_by_what_it_divides(folder: Path) -> None:
    said = "What pods of slices hold of a node is divided by their memory there; where none is "
    assert f"{said}measured, by shares." in one("memory", folder).notes
    assert not any("is measured; divided by shares" in note for note in one("memory", folder).notes)
    assert one("share", folder).notes == (
        "Of no tenant, and so the platform's, is what pods of ci hold.",
    )


def test_a_file_without_what_is_measured_is_divided_by_shares_and_says_so(folder: Path) -> None:
    table = one("memory", folder, "slices")

    assert table.notes[0].endswith(
        "has no gpushare:namespace_use of slices, so that these are divided by shares, and not by "
        "memory."
    )
    used = [float(line.usd) for line, _ in table.lines if line.use == "used"]
    assert used == [0.2012, 0.2012]


def test_who_does_nothing_keeps_its_guarantee_and_others_pay_for_what_it_holds(
    folder: Path,
) -> None:
    """What a tenant holds of its guarantee is none that it leaves, whoever pays for it."""
    pods = (ScenePod("a", memory=0), ScenePod("b", memory=0), ScenePod("c", namespace="ci"))
    table = cost_of(answer(pods, "memory"), "memory", folder)

    lines = [(x.tenant, x.namespace, x.use, float(x.shares)) for x, _ in table.lines if x.usd]
    assert [line for line in lines if line[3] and line[2] != "idle"] == [(None, "ci", "used", 3)]


def test_series_that_are_there_twice_are_refused(folder: Path) -> None:
    given = answer((ScenePod("a"),), "memory")
    held = next(each for each in given["data"]["result"] if "namespace" in each["metric"])
    given["data"]["result"].append({**held, "metric": {**held["metric"], "prometheus": "b"}})

    with pytest.raises(UsageAnswerError, match="is there twice, so that what it says would count"):
        cost_of(given, "memory", folder)


@pytest.mark.parametrize(
    ("resource", "profile"),
    [
        ("nvidia.com/mig-1g.5gb", "1g.5gb"),
        ("nvidia.com/mig-1g.10gb.me", "1g.10gb+me"),
        ("nvidia.com/mig-1g.24gb.gfx", "1g.24gb+gfx"),
        ("nvidia.com/mig-1g.24gb.me.all", "1g.24gb+me.all"),
        ("nvidia.com/mig-1c.3g.40gb", "1c.3g.40gb"),
    ],
)
def test_profiles_are_as_nvml_writes_them(resource: str, profile: str) -> None:
    assert mig_profile(resource) == profile
