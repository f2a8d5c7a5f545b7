"""Rules, boards and what is measured, of every stack: as Prometheus' own tool takes them."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.unit.monitoring_scenes import stack

from eks_gpushare.config.pools import Pool
from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.sharing.metrics import QUANTITIES, measured, measured_share
from eks_gpushare.sharing.monitoring import recording
from eks_gpushare.sharing.monitoring.boards import EXPECTED_METRICS, boards, boards_json
from eks_gpushare.sharing.monitoring.groups import rule_groups, rules_document, rules_object
from eks_gpushare.sharing.scaled_object import tells_pods_apart

if TYPE_CHECKING:
    from collections.abc import Callable

# What conftest.py offers.
Promtool = Any
Run = Any

ROOT = Path(__file__).parents[2]
STACKS = sorted((ROOT / "stacks").glob("Pulumi.*.yaml"))
TENANTS = ROOT / "stacks" / "Pulumi.tenants.yaml"
METRIC = re.compile(r"\b(gpushare:\w+|DCGM_\w+|kube_\w+|karpenter_\w+|gpushare_\w+|ALERTS)\b")
MEASURED = {
    "exclusive": ("pod", "pod", "pod", "pod"),
    "timeSlicing": ("pod", "pod", "device", "device"),
    "mps": ("pod", "pod", "device", "device"),
    "mig": ("pod", "pod", "pod", "device"),
    "mig, turns": ("instance", "pod", "instance", "device"),
}
SHARINGS: dict[str, dict[str, Any]] = {
    "exclusive": {"mode": "exclusive"},
    "timeSlicing": {"mode": "timeSlicing", "replicas": 4},
    "mps": {"mode": "mps", "replicas": 4},
    "mig": {"mode": "mig", "layout": "all-1g.5gb"},
    "mig, turns": {"mode": "mig", "layout": "all-1g.5gb", "timeSlicing": {"replicas": 2}},
}


def document(file: Path) -> dict[str, Any]:
    read = read_stack(file)
    assert read.environment is not None, read.errors
    return rules_document(rule_groups(read.environment, read.plans))


@pytest.mark.parametrize("file", STACKS, ids=lambda file: file.name.split(".")[1])
def test_prometheus_takes_the_rules_of_every_stack(file: Path, promtool: Promtool) -> None:
    assert promtool.refusal_of_rules(document(file)) == ""


def test_rules_and_boards_of_tenants(golden: Callable[[str, str], None]) -> None:
    golden("monitoring/tenants.rules.yaml", yaml.safe_dump(document(TENANTS), sort_keys=False))
    for name, board in boards_json(read_stack(TENANTS).plans).items():
        golden(f"monitoring/{name}.json", f"{json.dumps(board, indent=2)}\n")


def test_the_command_prints_what_prometheus_and_its_operator_read(run: Run, tmp_path: Path) -> None:
    plain = run("rules", str(TENANTS))
    operator = run("rules", str(TENANTS), "--format", "operator")
    written = run("rules", str(TENANTS), "--output", str(tmp_path / "new"))
    told = run("rules", str(TENANTS), "--json").json

    assert yaml.safe_load(plain.out) == document(TENANTS) == told["rules"]
    assert yaml.safe_load(operator.out)["spec"] == document(TENANTS)
    assert yaml.safe_load(operator.out)["kind"] == "PrometheusRule"
    assert written.out == ""
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == [
        *(f"eks-gpushare-{name}.json" for name in ("fleet", "gpu", "pool", "tenant")),
        "eks-gpushare.rules.yaml",
    ]
    assert {*told["boards"]} == {"fleet", "gpu", "pool", "tenant"}
    assert [row["memory"] for row in told["measured"]["notebooks"]] == ["pod"]


def test_a_stack_with_errors_has_no_rules(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.bad.yaml"
    file.write_text(TENANTS.read_text(encoding="utf-8").replace("replicas: 8", "replicas: 1"))

    assert run("rules", str(file)).code == 1
    assert run("rules", str(tmp_path / "Pulumi.none.yaml")).code == 2
    assert run("rules", str(TENANTS), "--output", str(file)).code == 2


def test_every_metric_of_a_board_is_recorded_or_expected() -> None:
    environment, plans = stack()
    recorded = {
        rule["record"]
        for group in rule_groups(environment, plans)
        for rule in group.rules
        if "record" in rule
    }

    asked = {
        name for board in boards() for query in board.queries for name in METRIC.findall(query)
    }
    assert asked - recorded == {*EXPECTED_METRICS}


def test_rules_ask_what_is_recorded_before_them() -> None:
    """A group is evaluated from top to bottom: what stands below is of the time before."""
    environment, plans = stack()
    known: set[str] = set()
    for group in rule_groups(environment, plans):
        for rule in group.rules:
            late = {name for name in METRIC.findall(rule["expr"]) if name.startswith("gpushare:")}
            assert late <= known, rule
            known |= {rule["record"]} if "record" in rule else set()


@pytest.mark.parametrize("mode", SHARINGS)
def test_of_whom_the_numbers_are(mode: str) -> None:
    pool = Pool.model_validate({"instanceTypes": ["p4d.24xlarge"], "sharing": SHARINGS[mode]})
    resource = "nvidia.com/mig-1g.5gb" if "mig" in mode else "nvidia.com/gpu"
    share = measured_share("gpu", pool, resource)

    assert tuple(share.level(quantity) for quantity in QUANTITIES) == MEASURED[mode]
    # KEDA follows the use of pods where it is measured of pods, and nowhere else.
    assert (share.compute == "pod") is tells_pods_apart(pool, resource, process_metrics=True)


def test_the_boards_of_a_stack_say_what_its_rules_record_of_pods() -> None:
    environment, plans = stack()
    constants = {
        (rule["labels"]["pool"], rule["labels"]["quantity"])
        for group in rule_groups(environment, plans)
        for rule in group.rules
        if rule.get("record") == "gpushare:measured" and rule["labels"]["by"] == "pod"
    }
    told = {
        (share.pool, quantity)
        for share in measured(plans)
        for quantity in ("compute", "memory")
        if share.level(quantity) == "pod"
    }

    assert constants == told
    (text,) = (p for p in boards_json(plans)["pool"]["panels"] if p["type"] == "text")
    assert all(f"| {share.pool} |" in text["options"]["content"] for share in measured(plans))


def test_an_alert_that_is_left_out_is_in_no_rule() -> None:
    settings = {"severity": {"GpuXid": "none", "GpuThrottled": "critical"}, "labels": {"team": "a"}}
    environment, plans = stack(observability={"alerts": {**settings, "runbook": "https://wiki"}})
    rules = {
        rule["alert"]: rule
        for group in rule_groups(environment, plans)
        for rule in group.rules
        if "alert" in rule
    }

    assert "GpuXid" not in rules
    assert rules["GpuThrottled"]["labels"] == {"team": "a", "severity": "critical"}
    assert rules["GpuThrottled"]["annotations"]["runbook_url"] == "https://wiki#gputhrottled"


def test_an_object_of_the_operator_has_the_labels_by_which_it_is_found() -> None:
    found = rules_object(rule_groups(*stack()), "metrics", {"release": "prometheus"})

    assert found["metadata"] == {
        "name": "eks-gpushare",
        "namespace": "metrics",
        "labels": {"release": "prometheus"},
    }


def test_the_command_prints_the_object_with_them(run: Run, tmp_path: Path) -> None:
    text = TENANTS.read_text(encoding="utf-8").replace(
        "    tenants:\n", "    observability: {selectorLabels: {release: kps}}\n    tenants:\n", 1
    )
    file = tmp_path / "Pulumi.tenants.yaml"
    file.write_text(text, encoding="utf-8")
    printed = yaml.safe_load(run("rules", str(file), "--format", "operator").out)

    assert printed["metadata"] == {"name": "eks-gpushare", "labels": {"release": "kps"}}
    assert run("rules", str(file), "--output", "").code == 2


def test_two_hundred_pools_are_so_many_times_one_and_fit_into_an_object() -> None:
    """Constants are of pools; what is recorded and told is as much for one as for all."""

    def built(count: int) -> tuple[dict[str, int], int]:
        given = {"instanceTypes": ["g6.xlarge"], "sharing": {"mode": "timeSlicing", "replicas": 4}}
        pools = {f"pool-{number}": {**given, "nodes": {"max": 2}} for number in range(count)}
        groups = rule_groups(*stack(pools=pools, tenants=None))
        counts = {group.name: len(group.rules) for group in groups}
        return counts, len(json.dumps(rules_object(groups, "metrics", {})))

    one, _ = built(1)
    many, length = built(200)
    assert many == {**one, "gpushare-declared": 200 * one["gpushare-declared"]}
    assert length < 1_000_000  # etcd takes requests of 1.5 MiB


@pytest.mark.parametrize("split", ["share", "memory", "activity"])
def test_rules_of_twenty_pools_take_no_time_and_few_series(split: str) -> None:
    pools = {
        f"pool-{number}": {
            "instanceTypes": ["g6.xlarge"],
            "nodes": {"min": 0, "desired": 1, "max": 2},
            "sharing": {"mode": "timeSlicing", "replicas": 4},
        }
        for number in range(20)
    }
    environment, plans = stack(pools=pools, tenants=None, observability={"cost": {"split": split}})
    began = time.process_time()
    groups = rule_groups(environment, plans)
    took = time.process_time() - began

    assert took < 0.2
    constants = next(group for group in groups if group.name == "gpushare-declared")
    others = (
        *recording.NODES,
        *recording.OF_SHARES,
        *recording.OF_GPUS,
        *recording.of_costs(split),
    )
    # Of one kind of share: its constants, and each other series once for it, its pool or its GPU.
    assert len(constants.rules) / len(pools) + len(others) <= 60
