"""Rules about metrics, alerts and boards: that each has somebody who collects or reads it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.arns import partition_of_arn, workspace_of
from eks_gpushare.catalog.partitions import partition_of
from eks_gpushare.config.cluster import NewCluster
from eks_gpushare.documents.addresses import is_plain_address, store_fault
from eks_gpushare.documents.duration import seconds
from eks_gpushare.documents.go_expression import go_expression_fault
from eks_gpushare.documents.helm import value_at
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.charts import IDLE_CHART
from eks_gpushare.rules.names import key_fault, own_namespace_fault, subdomain_fault, value_fault
from eks_gpushare.rules.planned import planned
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.addons import EBS_CSI
from eks_gpushare.sharing.exporter import makes_collector
from eks_gpushare.sharing.metrics import (
    cost_split,
    measured_pool,
    split_quantity,
    unmeasured,
)
from eks_gpushare.sharing.monitoring.alerts import ALERT_NAMES
from eks_gpushare.sharing.monitoring.volumes import DEFAULT_CLASS, claims_default
from eks_gpushare.validation.shape import similar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.config.cluster import Addons
    from eks_gpushare.config.observability import MetricsStore, Observability
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_BLOCK: Final = "observability"
_OPERATOR: Final = "https://prometheus-operator.dev/docs/getting-started/introduction/"
_EXPORTER: Final = "https://docs.nvidia.com/datacenter/dcgm/latest/gpu-telemetry/dcgm-exporter.html"

STORE = Rule(
    "GPU880",
    "error",
    "Metrics are kept in one store, which whoever collects them can write to.",
    "What is collected for another store is nowhere: no rule has anything to say, and no alert "
    "fires.",
    _OPERATOR,
)
NO_KINDS = Rule(
    "GPU881",
    "warning",
    "The kinds of Prometheus' operator are there before the objects of a stack.",
    "The API server of a new cluster knows no ServiceMonitor and no PrometheusRule: the first "
    "update ends there.",
    _OPERATOR,
    not_alone="A component does not know whether its cluster is new.",
)
INTERVAL = Rule(
    "GPU882",
    "error",
    "Scrapes are 5 seconds to 2 minutes apart.",
    "NVML samples no faster than that without slowing GPUs down, and a series that is older than "
    "five minutes is none: two scrapes have to be in that, if one fails.",
    "https://prometheus.io/docs/prometheus/latest/querying/basics/#staleness",
)
POD_LABELS = Rule(
    "GPU883",
    "error",
    "Labels of pods are chosen one by one.",
    "Each value is a series more of every metric: labels that differ from pod to pod, such as a "
    "hash of the template, make as many as there ever were pods.",
    "https://prometheus.io/docs/practices/naming/#labels",
)
ALERTS = Rule(
    "GPU884",
    "error",
    "What is changed about alerts is about alerts that there are.",
    "A severity of a name that no alert has changes nothing, and nobody is woken otherwise.",
    "https://prometheus.io/docs/prometheus/latest/configuration/alerting_rules/",
)
STORAGE = Rule(
    "GPU885",
    "error",
    "An installed Prometheus gets the volume that it asks for.",
    "EKS has no driver for volumes by itself: the pod of Prometheus stays Pending, and the update "
    "ends when the chart's time is over.",
    "https://docs.aws.amazon.com/eks/latest/userguide/ebs-csi.html",
    not_alone="A component does not know what add-ons its cluster has.",
)
UNATTRIBUTED = Rule(
    "GPU886",
    "warning",
    "Of whom something is measured, as the stack asks for it.",
    "Where the exporter cannot tell pods apart, what is asked of it has no answer: costs are split "
    "by shares there, and no number says what a tenant's pods do.",
    "https://github.com/NVIDIA/dcgm-exporter/issues/587",
)
NAMESPACE = Rule(
    "GPU887",
    "error",
    "The namespace of metrics is its own and a valid name.",
    "The stack makes it, lets the exporter see all processes of its nodes there, and takes it away "
    "again.",
    _EXPORTER,
)
OBJECTS = Rule(
    "GPU893",
    "error",
    "What objects of metrics have of the stack file is valid to Kubernetes.",
    "The API server refuses an object with such a label, and no claim is ever bound to a class of "
    "such a name: the update ends in the middle.",
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/",
)
SHADOWED = Rule(
    "GPU894",
    "error",
    "Rules that a stack is given have other names than its own.",
    "Two rules of one name write one series: each sum over it counts twice, and an alert that has "
    "its namesake's labels hides it.",
    "https://prometheus.io/docs/practices/rules/",
)
_COLLECTORS: Final[Mapping[str, tuple[str, ...]]] = {
    "install": ("prometheusOperator", "managedPrometheus"),
    "url": (),
    "workspaceArn": ("managedPrometheus",),
}
"""Who collects for a store; nobody is whoever it is."""
_LEAST_SECONDS, _MOST_SECONDS = 5, 120
_TIME = re.compile(r"([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?")
"""A time as Prometheus takes it, whose API server's pattern is that of the kind ServiceMonitor."""
_RECORDS = "gpushare:"
_RULES_OF_CHART = ("additionalPrometheusRules", "additionalPrometheusRulesMap")
"""Values of kube-prometheus-stack that are rules."""
_OWN_LABELS = ("alertname", "severity")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_PROBES = ("app", "pod-template-hash", "x")
"""Labels of which no pattern for some alone takes all."""


def _block(ctx: Context) -> Observability | None:
    return ctx.environment.observability


@check(Scope.METRICS, STORE)
def store(ctx: Context) -> Iterator[Finding]:
    block = _block(ctx)
    if block is None or block.prometheus is None:
        return
    given, at = block.prometheus, (_BLOCK, "prometheus")
    keys = _named(block)
    if len(keys) != 1:
        said = f"{' and '.join(keys)} are" if keys else "None of install, url and workspaceArn is"
        fix = "Give one: install: true, an address, or the ARN of a workspace."
        yield STORE.finding(at, f"{said} given, and metrics have one store.", fix)
        return
    wanted = _COLLECTORS[keys[0]]
    if wanted and block.metrics not in wanted:
        message = f"metrics is {block.metrics}, and {keys[0]} is a store of {' or '.join(wanted)}."
        fix = f"Set metrics: {wanted[0]}, or remove the key."
        yield STORE.finding((*at, keys[0]), message, fix)
    yield from _place(ctx, at, given)


def _named(block: Observability) -> list[str]:
    """Which stores are named, of which one is meant."""
    given = block.prometheus
    if given is None:
        return []
    # For a workspace that is there the collector alone is made.
    for_given = makes_collector(block) and bool(given.workspace_arn)
    named = {
        "install": given.install and not for_given,
        "url": given.url,
        "workspaceArn": given.workspace_arn,
    }
    return [key for key, value in named.items() if value]


def _is_contradictory(block: Observability) -> bool:
    """Whether it is not known which store is meant: then nothing more is said of it."""
    if block.prometheus is None:
        return False
    keys = _named(block)
    wanted = _COLLECTORS[keys[0]] if len(keys) == 1 else ()
    return len(keys) != 1 or bool(wanted and block.metrics not in wanted)


def _place(ctx: Context, at: FieldPath, given: MetricsStore) -> Iterator[Finding]:
    """What is wrong with an address or an ARN."""
    if given.url is not None and not is_plain_address(given.url):
        # A password in it is not repeated, since what is said here is kept by others.
        said = "What is given" if "@" in given.url else f'"{given.url}"'
        message = f"{said} is not the address of a Prometheus, without a password in it."
        fix = "Write it like http://prometheus.monitoring.svc:9090."
        yield STORE.finding((*at, "url"), message, fix)
    elif (fault := store_fault(given.url)) is not None:
        yield STORE.finding((*at, "url"), *fault)
    arn = given.workspace_arn
    if arn is None:
        return
    if workspace_of(arn) is None:
        message = f'"{arn}" is not the ARN of a workspace.'
        fix = "Write it like arn:aws:aps:us-west-2:111122223333:workspace/ws-..."
        yield STORE.finding((*at, "workspaceArn"), message, fix)
    elif ctx.region is not None and partition_of(ctx.region).id != partition_of_arn(arn):
        message = (
            f"The workspace is in {partition_of_arn(arn)}, and the stack in another partition."
        )
        yield STORE.finding((*at, "workspaceArn"), message, "Name one in the stack's partition.")


@check(Scope.ENVIRONMENT, NO_KINDS, STORAGE, IDLE_CHART)
def in_new_cluster(ctx: Context) -> Iterator[Finding]:
    block, cluster = _block(ctx), ctx.environment.cluster
    installs = block is not None and block.prometheus is not None and block.prometheus.install
    if ctx.environment.charts.prometheus is not None and not installs:
        fix = "Remove the block, or set observability: {prometheus: {install: true}}."
        yield IDLE_CHART.finding(
            ("charts", "prometheus"), "This stack installs no Prometheus.", fix
        )
    if block is None or not isinstance(cluster, NewCluster) or _is_contradictory(block):
        return
    if block.metrics == "prometheusOperator" and not installs:
        yield NO_KINDS.finding(
            (_BLOCK, "metrics"),
            "The stack makes the cluster, and nothing of it installs Prometheus' operator.",
            "Set prometheus: {install: true}; or add the block once the operator is there.",
        )
    if claims_default(block):
        yield from _default_class(cluster.addons)


def _given_values(addons: Addons) -> dict[str, Any]:
    driver = addons.by_name.get(EBS_CSI)
    return driver.values if driver is not None else {}


def _default_class(addons: Addons) -> Iterator[Finding]:
    """What keeps a new cluster from a default class of volumes."""
    if not addons.ebs_csi:
        yield STORAGE.finding(
            (_BLOCK, "prometheus"),
            "Prometheus asks for a volume, and the cluster has no driver for one.",
            "Set cluster: {addons: {ebsCsi: true}}, or storageClass to one that is there.",
        )
    elif value_at(_given_values(addons), DEFAULT_CLASS) is False:
        yield STORAGE.finding(
            ("cluster", "addons", "byName", EBS_CSI, "values", *DEFAULT_CLASS.split(".")),
            "Prometheus asks for a volume of the default class, and a new cluster has none.",
            "Remove the value; or set observability.prometheus.storageClass to a class.",
        )


@check(Scope.CHARTS, SHADOWED)
def shadowing(ctx: Context) -> Iterator[Finding]:
    chart, block = ctx.environment.charts.prometheus, _block(ctx)
    if chart is None or block is None:
        return
    at: FieldPath = ("charts", "prometheus", "values")
    for place, rule in _given_rules(at, chart.values):
        for kind in ("record", "alert"):
            name = rule.get(kind)
            if isinstance(name, str) and (name.startswith(_RECORDS) or name in ALERT_NAMES):
                message = f"{name} is a rule that the stack makes too."
                yield SHADOWED.finding((*place, kind), message, "Give it a name of your own.")


def _given_rules(at: FieldPath, values: Any) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
    """Rules in values of the chart, as far as they have the form of some."""
    if isinstance(values, dict) and {"record", "alert"} & values.keys():
        yield at, values
    elif isinstance(values, dict):
        for key, inner in values.items():
            if at[-1] != "values" or key in _RULES_OF_CHART:
                yield from _given_rules((*at, key), inner)
    elif isinstance(values, list):
        for index, inner in enumerate(values):
            yield from _given_rules((*at, index), inner)


@check(Scope.METRICS, OBJECTS)
def objects(ctx: Context) -> Iterator[Finding]:
    block = _block(ctx)
    if block is None:
        return
    for key, value in block.selector_labels.items():
        if fault := key_fault(key) or value_fault(value):
            at = (_BLOCK, "selectorLabels", key)
            yield OBJECTS.finding(at, fault, "Write it as Prometheus' selector has it.")
    given = block.prometheus.storage_class if block.prometheus is not None else None
    if given is not None and (said := subdomain_fault(given)):
        fix = "Name one that `kubectl get storageclass` lists."
        yield OBJECTS.finding((_BLOCK, "prometheus", "storageClass"), said, fix)


@check(Scope.METRICS, INTERVAL)
def interval(ctx: Context) -> Iterator[Finding]:
    block = _block(ctx)
    if block is None:
        return
    found = seconds(block.interval)
    if found is None or found != int(found) or not _TIME.fullmatch(block.interval):
        message = f'"{block.interval}" is no time in whole seconds.'
        yield INTERVAL.finding((_BLOCK, "interval"), message, "Write it like 15s or 1m.")
    elif not _LEAST_SECONDS <= found <= _MOST_SECONDS:
        message = f"{block.interval} is not between 5 seconds and 2 minutes."
        yield INTERVAL.finding((_BLOCK, "interval"), message, "Use 15s, or 1m for fewer samples.")


@check(Scope.METRICS, POD_LABELS)
def pod_labels(ctx: Context) -> Iterator[Finding]:
    block = _block(ctx)
    for index, text in enumerate(block.pod_labels if block is not None else ()):
        at: FieldPath = (_BLOCK, "podLabels", index)
        if fault := go_expression_fault(text):
            fix = "Write it as Go knows it." if "Go" in fault else "Correct it."
            yield POD_LABELS.finding(at, f'"{text}" {fault}', fix)
        elif "," in text:
            message = f'"{text}" has a comma in it, at which the exporter parts expressions.'
            yield POD_LABELS.finding(at, message, "Write an entry for each.")
        elif all(re.search(text, label) for label in _PROBES):
            message = f'"{text}" takes every label of every pod.'
            yield POD_LABELS.finding(at, message, 'Name those that you ask for, such as "^app$".')


@check(Scope.METRICS, ALERTS)
def alerts(ctx: Context) -> Iterator[Finding]:
    block = _block(ctx)
    if block is None:
        return
    settings, at = block.alerts, (_BLOCK, "alerts")
    for name in settings.severity:
        if name not in ALERT_NAMES:
            meant = similar(name, ALERT_NAMES)
            fix = f"Did you mean {meant}?" if meant else f"Use one of {', '.join(ALERT_NAMES)}."
            yield ALERTS.finding((*at, "severity", name), f"There is no alert {name}.", fix)
    for label, value in settings.labels.items():
        place: FieldPath = (*at, "labels", label)
        if "{{" in value:
            message = f'"{value}" is a template to Prometheus, and no label.'
            yield ALERTS.finding(place, message, "Write plain text.")
        if label in _OWN_LABELS:
            message = f"{label} is a label that each alert has already."
            yield ALERTS.finding(place, message, "Use another name; severity has a key of its own.")
        elif not _LABEL.fullmatch(label):
            message = f'"{label}" is not the name of a label of Prometheus.'
            yield ALERTS.finding(place, message, "Write letters, digits and _.")
    if settings.runbook is not None and not is_plain_address(settings.runbook):
        message = f'"{settings.runbook}" is not the address of a page.'
        fix = "Write it like https://wiki.example.com/gpu-alerts; the name of the alert is added."
        yield ALERTS.finding((*at, "runbook"), message, fix)


@check(Scope.METRICS, UNATTRIBUTED)
def attributed(ctx: Context) -> Iterator[Finding]:
    block = _block(ctx)
    if block is None:
        return
    split = cost_split(block)
    if split != block.cost.split:
        message = f"The exporter of CloudWatch's add-on tells no {block.cost.split} of pods: it is "
        message += "not this stack that says what it measures."
        fix = "Costs are split by shares; set split: share to say so, or metrics otherwise."
        yield UNATTRIBUTED.finding((_BLOCK, "cost", "split"), message, fix)
    for name, pool in ctx.environment.pools.items():
        plan = planned(ctx, name, pool)
        if plan is None:
            continue
        shares = measured_pool(plan)
        if lacking := unmeasured(plan, split):
            quantity = split_quantity(split)
            message = f"Of pods of {name} no {quantity} is measured: {lacking[0].why}."
            fix = "Costs of this pool are split by shares; set split: share to say so."
            yield UNATTRIBUTED.finding((_BLOCK, "cost", "split"), message, fix)
        for tenant, given in (ctx.environment.tenants or {}).items():
            blind = [s for s in shares if s.compute != "pod" or s.memory != "pod"]
            if given.isolation == "fault" and name in given.pools and blind:
                message = f"No number tells what pods of {tenant} do on {name}: {blind[0].why}."
                fix = "Give it a pool where each pod is measured."
                yield UNATTRIBUTED.finding(("tenants", tenant, "pools", name), message, fix)


@check(Scope.METRICS, NAMESPACE)
def namespace(ctx: Context) -> Iterator[Finding]:
    block = _block(ctx)
    if block is None:
        return
    fault = own_namespace_fault(block.namespace, "metrics", "gpushare-metrics")
    if fault is not None:
        yield NAMESPACE.finding((_BLOCK, "namespace"), *fault)
