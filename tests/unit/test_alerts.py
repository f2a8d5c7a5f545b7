"""Each alert fires at its fault, and not where all is well or where the fault comes and goes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import sampled
from tests.unit.monitoring_scenes import (
    GPU,
    MIG_NODE,
    SHARED,
    SMALL,
    Scene,
    SceneNode,
    ScenePod,
    stack,
    timeline,
)

from eks_gpushare.config.observability import AlertSettings, ServiceObjectives
from eks_gpushare.sharing.monitoring.alerts import ALERT_NAMES, PAGE, alerts
from eks_gpushare.sharing.monitoring.groups import rule_groups, rules_document
from eks_gpushare_lab.simulated_node.dcgm_exporter import Options
from eks_gpushare_lab.simulated_node.gpus import MigInstance, SimulatedGpu

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# What conftest.py offers.
Promtool = Any

OWN = ScenePod("a")
TWO = (OWN, ScenePod("b", load=5))
FOUR = (*TWO, ScenePod("c", namespace="other"), ScenePod("d", namespace="other"))
WAITING = ScenePod("late", phase="Pending", started=None)
HEALTHY = Scene(pods=TWO)
FULL = Scene(pods=(*FOUR, WAITING))
MIG = Scene((MIG_NODE,), (ScenePod("m", SMALL, "mig-0", "team"),))
SIX = SimulatedGpu(mig=True, instances=tuple(MigInstance("1g.5gb", n) for n in range(6)))
OLD = Options(virtual=True, resources=(SHARED,), host_pid=True, hostname="Hostname")
POOL = {"pool": "slices"}
NODE = {"node": "slices-0", **POOL}
MACHINE = {"instance_type": "g6.xlarge"}
LAST = "gpushare_verify_last_success_timestamp_seconds"
USAGE = 'karpenter_nodepools_usage{nodepool="elastic",resource_type="cpu",instance="k"}'
LIMIT = 'karpenter_nodepools_limit{nodepool="elastic",resource_type="cpu",instance="k"}'
ELASTIC = SceneNode("elastic-0", "elastic", "g5.xlarge", {SHARED: 2, GPU: 0})


UNUSED = Scene(pods=(replace(OWN, memory=400),)).node(exporter=replace(OLD, host_pid=False))
"""What a driver takes for itself, of a GPU that nobody uses."""
FIFTY = (*(ScenePod(f"p{n}") for n in range(49)), WAITING)
ALL = alerts(ServiceObjectives(), 1800)


def copied(name: str, labels: str, value: float, scene: Scene = HEALTHY) -> Scene:
    return scene.node(copied=((name, labels, value),))


def limited(usage: str) -> Scene:
    pods = (ScenePod("x", node="elastic-0"), ScenePod("y", node="elastic-0"), WAITING)
    return Scene((ELASTIC,), pods, ((USAGE, usage), (LIMIT, "8")))


@dataclass(frozen=True)
class AlertCase:
    """When an alert is to fire."""

    name: str
    wrong: Scene
    right: Scene
    labels: Mapping[str, str]
    """Those of the alert, beside its severity."""
    summary: str
    after: int
    """Minutes of the fault until it fires."""
    flap: int = 0
    """Minutes of a fault that is too short to tell; 0 of one that is told at once."""
    severity: str = "warning"
    lead: int = 5
    """Minutes in which all is well, before."""
    early: int = 0
    """Minutes of the fault at which it is not told yet, where `flap` says none."""
    step: int = 1
    """Minutes between two evaluations."""
    near: tuple[Scene, ...] = ()
    """What is nearly wrong, and no alert."""
    also: tuple[Mapping[str, str], ...] = ()
    """Alerts of the name that fire with it: their labels, severity too, and `summary` if it is
    another."""

    @property
    def id(self) -> str:
        """For the names of tests."""
        told = {key: text for key, text in self.labels.items() if key in {"class", "limit", "xid"}}
        return "-".join((self.name, *told.values()))

    def expected(self) -> list[dict[str, Any]]:
        """The alerts, as promtool compares them, whole."""
        page = f"{PAGE}#{self.name.lower()}"
        found = []
        for each in ({**self.labels, "severity": self.severity}, *self.also):
            labels = dict(each)
            told = {"summary": labels.pop("summary", self.summary), "runbook_url": page}
            found.append({"exp_labels": labels, "exp_annotations": told})
        return found

    def tests(self) -> list[dict[str, Any]]:
        """Firing, silent and flapping."""
        end = self.lead + self.after
        firing = [{"alertname": self.name, "eval_time": f"{end}m", "exp_alerts": self.expected()}]
        if self.flap or self.early:
            firing.append(self.silence(self.lead + (self.flap or self.early)))
        phases = ((self.lead, self.right),) if self.lead else ()
        flaps, times = self.flapping()
        return [
            test("fires", [*phases, (self.after + 5, self.wrong)], firing, self.step),
            *(
                test("silent", [(end + 5, scene)], [self.silence(end)], self.step)
                for scene in (self.right, *self.near)
            ),
            test("flaps", flaps, [self.silence(time) for time in times], self.step),
        ]

    def rules(self, whole: dict[str, Any]) -> dict[str, Any]:
        """The rules of this alert, and those that record what they ask: others take time."""
        every = [rule for group in whole["groups"] for rule in group["rules"]]
        wanted = [rule for rule in every if rule.get("alert") == self.name]
        texts = [rule["expr"] for rule in wanted]
        names: set[str] = set()
        while texts:
            found = set(re.findall(r"gpushare:\w+", texts.pop())) - names
            names |= found
            texts += [rule["expr"] for rule in every if rule.get("record") in found]
        groups = [
            {
                **group,
                "interval": f"{self.step}m",
                "rules": [r for r in group["rules"] if r in wanted or r.get("record") in names],
            }
            for group in whole["groups"]
        ]
        return {"groups": [group for group in groups if group["rules"]]}

    def flapping(self) -> tuple[list[tuple[int, Scene]], list[int]]:
        """A fault that comes and goes, and when it is not told; if told at once, it is over."""
        if not self.flap:
            # Windows of the exporter and of increases are over by then.
            return [(self.lead + 2, self.right), (3, self.wrong), (60, self.right)], [50]
        rounds, gap = 3, 60 if self.name in BURNING else 3 * self.step
        length = self.flap + gap
        phases = [(gap, self.right), (self.flap, self.wrong)] * rounds
        return phases, [length * n - self.step for n in range(1, rounds + 1)]

    def silence(self, minutes: int) -> dict[str, Any]:
        """That it does not fire then."""
        return {"alertname": self.name, "eval_time": f"{minutes}m", "exp_alerts": []}


def test(
    name: str, phases: list[tuple[int, Scene]], expected: list[Any], step: int
) -> dict[str, Any]:
    return {
        "name": name,
        "interval": f"{step}m",
        "input_series": timeline(*((minutes // step, scene) for minutes, scene in phases)),
        "alert_rule_test": expected,
    }


test.__test__ = False  # type: ignore[attr-defined]  # it makes one
BURNING = ("GpuPodsSlow", "GpuSharesMissing")


def xid(number: int, kind: str, about: str, severity: str, label: str = "xid") -> AlertCase:
    return AlertCase(
        "GpuXid",
        copied("DCGM_EXP_XID_ERRORS_COUNT", f',{label}="{number}",window_size_in_ms="300000"', 1),
        copied("DCGM_EXP_XID_ERRORS_COUNT", f',{label}="{number}",window_size_in_ms="300000"', 0),
        {**NODE, "gpu": "0", "class": kind, "xid": str(number)},
        f"XID {number} on GPU 0 of slices-0 in slices: {about}",
        after=1,
        severity=severity,
    )


CASES = (
    AlertCase(
        "GpuNodesUnknown",
        Scene((), (), (('up{job="kube-state-metrics"}', "0"),)),
        HEALTHY,
        {},
        "kube-state-metrics is not scraped or tells no labels of nodes: no other rule has anything "
        "to say",
        after=17,
        flap=12,
        severity="critical",
        # All pools at zero: of other nodes it tells them all the same.
        near=(Scene((SceneNode("system-0", "", "t3.large", {}, exporter=None),)),),
    ),
    AlertCase(
        "GpuSharesExhausted",
        FULL,
        Scene(pods=FOUR),
        {**POOL, "resource": "nvidia_com_gpu_shared"},
        "All nvidia_com_gpu_shared of slices are taken, and pods wait for one",
        after=12,
        flap=8,
        near=(Scene(pods=(*TWO, WAITING)),),
    ),
    AlertCase(
        "GpuSharesDiffer",
        HEALTHY.node(allocatable={SHARED: 3, GPU: 0}),
        HEALTHY,
        {**POOL, "resource": "nvidia_com_gpu_shared"},
        "slices advertises 3 nvidia_com_gpu_shared and declares another number",
        after=17,
        flap=12,
        severity="critical",
    ),
    AlertCase(
        "GpuSharesDiffer",
        HEALTHY.node(allocatable={GPU: 4}),
        HEALTHY,
        {**POOL, "resource": "nvidia_com_gpu"},
        "slices advertises 4 nvidia_com_gpu and declares another number",
        after=17,
        flap=12,
        severity="critical",
        # Of a node that advertises nothing another alert tells.
        near=(HEALTHY.node(allocatable={}),),
        also=(
            {
                **POOL,
                "resource": "nvidia_com_gpu_shared",
                "severity": "critical",
                "summary": "slices advertises 0 nvidia_com_gpu_shared and declares another number",
            },
        ),
    ),
    AlertCase(
        "GpuSharesMissing",
        HEALTHY.node(allocatable={GPU: 4}),
        HEALTHY,
        {**POOL, "window": "1h"},
        "slices lacks 54.55% of its declared shares",
        after=5,
        flap=1,
        severity="critical",
    ),
    AlertCase(
        "GpuResourceGone",
        HEALTHY.node(allocatable={SHARED: 0, GPU: 0}),
        HEALTHY,
        {**NODE, **MACHINE},
        "slices-0 of slices advertises no share of a GPU",
        after=17,
        flap=12,
        severity="critical",
    ),
    AlertCase(
        "GpuNodeIdle",
        Scene(pods=(replace(OWN, phase="Succeeded"),)),
        HEALTHY,
        {**NODE, **MACHINE},
        "No pod on slices-0 of slices has asked for a share for an hour",
        after=70,
        flap=50,
        severity="info",
        step=5,
    ),
    AlertCase(
        "GpuPoolAtLimit",
        Scene(
            (SceneNode(), SceneNode("slices-1")),
            (
                *FOUR,
                *(replace(pod, name=f"{pod.name}1", node="slices-1") for pod in FOUR),
                WAITING,
            ),
        ),
        FULL,
        POOL,
        "slices has all 2 nodes that it may have, and pods wait",
        after=12,
        flap=8,
        near=(Scene((SceneNode(), SceneNode("slices-1")), (*TWO, WAITING)),),
    ),
    AlertCase(
        "GpuPoolAtLimit",
        limited("8"),
        limited("4"),
        {"pool": "elastic", "resource_type": "cpu", "limit": "karpenter"},
        "The NodePool elastic is at its limit of cpu, and pods wait",
        after=12,
        flap=8,
        near=(replace(limited("8"), pods=(ScenePod("x", node="elastic-0"), WAITING)),),
    ),
    AlertCase(
        "GpuMigLayoutDrifted",
        MIG.node(gpus=(SIX,) * 8),
        MIG,
        {"node": "mig-0", "pool": "mig", "instance_type": "p4d.24xlarge"},
        "mig-0 of mig has another MIG layout than declared",
        after=12,
        flap=8,
        severity="critical",
    ),
    AlertCase(
        "GpuMigLayoutDrifted",
        MIG.node(labels={"eks-gpushare/mig": "failed"}),
        MIG.node(labels={"eks-gpushare/mig": "0123456789"}),
        {"node": "mig-0", "pool": "mig"},
        "mig-0 of mig has another MIG layout than declared",
        after=12,
        flap=8,
        severity="critical",
    ),
    AlertCase(
        "GpuMigLayoutDrifted",
        MIG.node(labels={"nvidia.com/mig.config.state": "failed"}),
        MIG.node(labels={"nvidia.com/mig.config.state": "success"}),
        {"node": "mig-0", "pool": "mig"},
        "mig-0 of mig has another MIG layout than declared",
        after=12,
        flap=8,
        severity="critical",
    ),
    AlertCase(
        "GpuUncorrectableErrors",
        copied("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "", 1),
        copied("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "", 0),
        {**NODE, "gpu": "0"},
        "Memory of GPU 0 of slices-0 in slices had errors that ECC could not correct",
        after=2,
        severity="critical",
    ),
    AlertCase(
        "GpuUncorrectableErrors",
        copied("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "", 3),
        copied("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "", 2),
        {**NODE, "gpu": "0"},
        "Memory of GPU 0 of slices-0 in slices had errors that ECC could not correct",
        after=2,
        severity="critical",
    ),
    AlertCase(
        "GpuRowRemapFailed",
        copied("DCGM_FI_DEV_ROW_REMAP_FAILURE", "", 1),
        copied("DCGM_FI_DEV_ROW_REMAP_FAILURE", "", 0),
        {**NODE, "gpu": "0"},
        "GPU 0 of slices-0 in slices has no spare rows left for its memory: it is to be replaced",
        after=1,
        severity="critical",
    ),
    AlertCase(
        "GpuThrottled",
        copied("DCGM_EXP_CLOCK_EVENTS_COUNT", ',clock_event="hw_thermal"', 5),
        HEALTHY.node(
            copied=(
                ("DCGM_EXP_CLOCK_EVENTS_COUNT", ',clock_event="power_cap"', 5),
                ("DCGM_EXP_CLOCK_EVENTS_COUNT", ',clock_event="hw_thermal"', 0),
            )
        ),
        {**NODE, "gpu": "0", "clock_event": "hw_thermal"},
        "GPU 0 of slices-0 in slices is slowed down: hw_thermal",
        after=12,
        flap=8,
    ),
    AlertCase(
        "GpuMemoryNearlyFull",
        Scene(pods=tuple(replace(pod, memory=11_000) for pod in TWO)),
        Scene(pods=tuple(replace(pod, memory=10_500) for pod in TWO)),
        {**NODE, **MACHINE, "gpu": "0"},
        "Memory of GPU 0 of slices-0 in slices, which pods share, is used by 95.51%",
        after=12,
        flap=8,
        near=(Scene((MIG_NODE,), (ScenePod("m", SMALL, "mig-0", "team", memory=5000),)),),
    ),
    AlertCase(
        "GpuPodsUnmapped",
        HEALTHY.node(exporter=replace(OLD, host_pid=False)),
        HEALTHY.node(exporter=OLD),
        NODE,
        "slices-0 uses 4000 MiB of GPU memory, and the exporter says 0 of every pod",
        after=17,
        flap=12,
        near=(UNUSED, Scene().node(exporter=OLD)),
    ),
    AlertCase(
        "GpuPodsUnmapped",
        HEALTHY.node(exporter=replace(OLD, resources=())),
        HEALTHY.node(exporter=OLD),
        NODE,
        "slices-0 uses 4000 MiB of GPU memory, and the exporter says 0 of every pod",
        after=17,
        flap=12,
        near=(UNUSED, Scene().node(exporter=OLD)),
    ),
    AlertCase(
        "GpuExporterMissing",
        HEALTHY.node(exporter=None),
        HEALTHY.node(exporter=OLD),
        {**NODE, **MACHINE},
        "Nothing measures the GPUs of slices-0 in slices",
        after=17,
        flap=6,
    ),
    AlertCase(
        "GpuShareUnused",
        Scene(pods=(OWN, ScenePod("b", load=0))),
        HEALTHY,
        {**NODE, "namespace": "vision", "pod": "b"},
        "vision/b has a share of slices and has computed nothing for two hours",
        after=130,
        flap=100,
        severity="info",
        step=5,
    ),
    AlertCase(
        "GpuShareUnused",
        Scene((MIG_NODE,), (ScenePod("m", SMALL, "mig-0", "team", load=0.5),)),
        MIG,
        {"node": "mig-0", "pool": "mig", "namespace": "team", "pod": "m"},
        "team/m has a share of mig and has computed nothing for two hours",
        after=130,
        flap=100,
        severity="info",
        step=5,
    ),
    xid(31, "application", "a program did what it may not", "info"),
    xid(63, "memory", "its memory failed", "critical"),
    xid(74, "nvlink", "a link between GPUs failed", "critical"),
    xid(79, "bus", "it has fallen off the bus", "critical"),
    xid(119, "gsp", "its system processor does not answer", "critical", "err_code"),
    AlertCase(
        "GpuTenantAtMaximum",
        Scene(pods=(*TWO, ScenePod("c"))),
        HEALTHY,
        {**POOL, "tenant": "vision", "resource": "nvidia_com_gpu_shared"},
        "vision has all 3 nvidia_com_gpu_shared of slices that it may have",
        after=40,
        flap=25,
        severity="info",
        step=5,
    ),
    AlertCase(
        "GpuGuaranteeNotMet",
        Scene(pods=(OWN, WAITING)),
        Scene(pods=(OWN,)),
        {**POOL, "tenant": "vision", "resource": "nvidia_com_gpu_shared"},
        "vision has 1 nvidia_com_gpu_shared of slices, is sure of more, and its pods wait",
        after=17,
        flap=12,
        severity="critical",
    ),
    AlertCase(
        "GpuPodsSlow",
        Scene(pods=(*TWO, WAITING)),
        HEALTHY,
        {"window": "1h"},
        "26.09% of pods with shares wait longer than 60 s for a node",
        after=17,
        flap=2,
        severity="critical",
        near=(Scene(pods=FIFTY),),
        also=({"severity": "warning", "window": "6h"},),
    ),
    AlertCase(
        "GpuPodsSlow",
        Scene(pods=(*TWO, WAITING)),
        HEALTHY,
        {"window": "1h"},
        "16.67% of pods with shares wait longer than 60 s for a node",
        after=4,
        flap=2,
        severity="critical",
    ),
    AlertCase(
        "GpuSharesMissing",
        HEALTHY.node(allocatable={SHARED: 3, GPU: 0}),
        HEALTHY,
        {**POOL, "window": "1h"},
        "slices lacks 13.64% of its declared shares",
        after=5,
        flap=3,
        severity="critical",
    ),
    AlertCase(
        "GpuSharesMissing",
        HEALTHY.node(allocatable={SHARED: 3, GPU: 0}),
        HEALTHY,
        {**POOL, "window": "1h"},
        "slices lacks 19.57% of its declared shares",
        after=17,
        flap=3,
        severity="critical",
        near=(MIG.node(allocatable={SMALL: 55, GPU: 0}),),
        also=({**POOL, "severity": "warning", "window": "6h"},),
    ),
    AlertCase(
        "GpuVerifySilent",
        replace(HEALTHY, more=((LAST, "0x80"),)),
        replace(HEALTHY, more=((LAST, "0+60x80"),)),
        {},
        "Nobody has looked whether the cluster is as declared since 2220 s",
        after=37,
        early=33,
        lead=0,
        near=(replace(HEALTHY, more=((LAST, "-600+60x80"),)),),
    ),
    AlertCase(
        "GpuVerifySilent",
        HEALTHY,
        replace(HEALTHY, more=((LAST, "0+60x80"),)),
        {},
        "Nobody has looked whether the cluster is as declared since 1 s",
        after=7,
        lead=0,
    ),
)


@pytest.fixture(scope="module")
def rules() -> dict[str, Any]:
    return rules_document(rule_groups(*stack()))


def _of_each_alert() -> list[Any]:
    """The first case of each alert, and one of six of all its cases."""
    by_name = {name: [case for case in CASES if case.name == name] for name in ALERT_NAMES}
    return [each for cases in by_name.values() for each in sampled(cases, 6)]


@pytest.mark.parametrize("case", _of_each_alert(), ids=lambda case: case.id)
def test_it_fires_is_silent_and_does_not_flap(
    case: AlertCase, rules: dict[str, Any], promtool: Promtool
) -> None:
    assert promtool.failure_of_alerts(case.rules(rules), *case.tests(), step=case.step) == ""


def test_each_alert_has_a_case() -> None:
    settings = AlertSettings()
    known = {rule["alert"] for rule in (each.as_json(settings) for each in ALL)}

    assert {case.name for case in CASES} == known == {*ALERT_NAMES}


@pytest.mark.parametrize("scene", sampled([HEALTHY, MIG, HEALTHY.node(exporter=OLD)], 2))
def test_where_all_is_well_no_alert_fires(
    scene: Scene, rules: dict[str, Any], promtool: Promtool
) -> None:
    well = replace(scene, more=((LAST, "0+600x40"),))
    silent: list[dict[str, Any]] = [
        {"alertname": name, "eval_time": f"{minutes}m", "exp_alerts": []}
        for name in ALERT_NAMES
        for minutes in (30, 390)
    ]

    tests = [test("well", [(400, well)], silent, 10)]

    assert promtool.failure_of_alerts(rules, *tests, step=10) == ""


@pytest.mark.parametrize(
    ("nodes", "held"),
    [((), []), ((MIG_NODE,), [0])],
    ids=["no node is known", "the pool has none"],
)
def test_what_nobody_knows_of_a_tenant_is_no_zero(
    nodes: tuple[SceneNode, ...], held: list[int], rules: dict[str, Any], promtool: Promtool
) -> None:
    """Without kube-state-metrics nobody says what tenants hold; without nodes they hold none."""
    name = "gpushare:tenant_shares_requested"
    labels = 'pool="slices",resource="nvidia_com_gpu_shared",tenant="vision"'
    samples = [{"labels": f"{name}{{{labels}}}", "value": value} for value in held]
    given = test("held", [(10, Scene(nodes, (), (('up{job="x"}', "1"),)))], [], 1)
    given["promql_expr_test"] = [{"expr": name, "eval_time": "9m", "exp_samples": samples}]

    assert promtool.failure_of_alerts(rules, given) == ""


_NUMBER = re.compile(r"(?<=[<>=] )([0-9]+(?:\.[0-9]+)?)")
_COMPARED = {" > ": " < ", " < ": " > ", " >= ": " < ", " != ": " == "}


def mutants(rule: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rule with one thing wrong: a threshold, a comparison, how long it lasts, a label."""
    text = rule["expr"]
    # A threshold of two windows is one: where the one holds and the other does not, nothing fires.
    for given in dict.fromkeys(_NUMBER.findall(text)):
        number = float(given)
        for large in (number * 10, number / 10) if number else (1e6,):
            wrong = re.sub(rf"(?<=[<>=] ){re.escape(given)}(?![0-9.])", f"{large:.10g}", text)
            yield f"{given} is {large:g}", {**rule, "expr": wrong}
    for right, other in _COMPARED.items():
        if right in text:
            yield f"{right} is {other}", {**rule, "expr": text.replace(right, other)}
    if " unless " in text:
        yield "unless is and", {**rule, "expr": text.replace(" unless ", " and ")}
    if rule["for"] != "0s":
        amount, unit = int(rule["for"][:-1]), rule["for"][-1]
        yield "for is longer", {**rule, "for": f"{2 * amount}{unit}"}
        yield "for is 0", {**rule, "for": "0s"}
    for label in rule["labels"]:
        labels = {**rule["labels"], label: "other"}
        yield f"{label} is other", {**rule, "labels": labels}
    notes = {**rule["annotations"], "summary": ""}
    yield "no summary", {**rule, "annotations": notes}


@pytest.mark.at_length
@pytest.mark.parametrize("name", ALERT_NAMES)
def test_whatever_is_changed_about_an_alert_is_noticed(
    name: str, rules: dict[str, Any], promtool: Promtool
) -> None:
    """By one of its cases; a rule that no case notices to be wrong is not held by any."""
    cases = [case for case in CASES if case.name == name]
    unnoticed = []
    own = [rule for group in rules["groups"] for rule in group["rules"] if "alert" in rule]
    for rule in (rule for rule in own if rule["alert"] == name):
        for what, wrong in mutants(rule):
            groups = [
                {**group, "rules": [wrong if each is rule else each for each in group["rules"]]}
                for group in rules["groups"]
            ]
            held = any(
                promtool.failure_of_alerts(
                    case.rules({"groups": groups}), *case.tests(), step=case.step
                )
                for case in cases
            )
            if not held:
                unnoticed.append(f"{rule['labels']}: {what}")

    assert unnoticed == []
