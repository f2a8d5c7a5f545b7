"""The arguments about metrics, alerts and boards; `eks_gpushare.args` has them too."""

# As in `args`: no postponed annotations, unions, literals or tuples.

from typing import NotRequired, TypedDict

from pulumi import Input


class MetricsStore(TypedDict):
    """The Prometheus that keeps what is measured; one of `install`, `url` and `workspace_arn`.

    With `metrics` managedPrometheus also both the first and the last.
    """

    install: NotRequired[bool]
    """Install one, with kube-state-metrics and Grafana: the community's chart
    kube-prometheus-stack. With `metrics` managedPrometheus make a workspace instead, AWS's
    collector of the cluster, kube-state-metrics, and rules in the workspace. Default: false."""
    url: NotRequired[Input[str]]
    """Address of one that is there, as pods reach it."""
    workspace_arn: NotRequired[str]
    """Workspace of Amazon Managed Service for Prometheus that is there. With `install` collector
    and rules are made for it, and no other workspace is."""
    kms_key_arn: NotRequired[str]
    """KMS key of a workspace that is made; with another key it is another workspace. Default: a
    key of AWS's own."""
    retention_days: NotRequired[int]
    """Days that an installed one keeps what it has scraped. Default: 15."""
    storage_gib: NotRequired[int]
    """Size of the volume of an installed one in GiB. Default: 50."""
    storage_class: NotRequired[str]
    """StorageClass of that volume, which is there. Default: that of the cluster."""


class AlertSettings(TypedDict):
    """What is changed about alerts."""

    runbook: NotRequired[Input[str]]
    """Address that the name of an alert is added to, in small letters behind a `#`. Default: the
    page of alerts of this documentation."""
    severity: NotRequired[dict[str, str]]
    """Severity by alert: critical, warning or info; none leaves the alert out."""
    labels: NotRequired[dict[str, str]]
    """Labels of every alert, by which an Alertmanager routes them. Default: none."""


class ServiceObjectives(TypedDict):
    """What users of the shares are promised; alerts follow how fast it is used up."""

    scheduling_seconds: NotRequired[int]
    """Seconds in which a pod that asks for a share is on a node. Default: 60."""
    availability: NotRequired[float]
    """Percent of pods for which that holds, and of declared shares that nodes advertise, over 30
    days. Default: 99.5."""


class CostSplit(TypedDict):
    """By what the cost of a GPU is split over who is on it."""

    split: NotRequired[str]
    """share, by the shares that pods ask for; memory or activity, by what is measured of them, in
    pools where the exporter tells pods apart, and by share in others. Default: share."""


class ObservabilityBlock(TypedDict):
    """Metrics of GPUs and shares, rules and alerts on them, boards, and objectives."""

    metrics: NotRequired[str]
    """none, prometheusOperator, managedPrometheus or cloudwatch: who collects them. Default:
    prometheusOperator."""
    prometheus: NotRequired[MetricsStore]
    """The Prometheus that keeps them. Default: one that finds ServiceMonitors by itself."""
    interval: NotRequired[str]
    """Time between two scrapes of the exporter, such as 15s or 1m. Default: 15s."""
    selector_labels: NotRequired[dict[str, str]]
    """Labels by which a Prometheus that is there finds ServiceMonitors and PrometheusRules.
    Default: it takes all."""
    pod_labels: NotRequired[list[str]]
    """Labels of pods that their metrics carry too, as regular expressions. Default: none."""
    namespace: NotRequired[str]
    """Namespace of rules, boards and the exporter beside the device plugin, made by the component.
    Default: gpushare-metrics."""
    dashboards: NotRequired[str]
    """configMaps, files or none: boards for Grafana, as ConfigMaps that its sidecar finds, or as
    files of `eks-gpushare rules` alone, or not at all. Default: configMaps."""
    alerts: NotRequired[AlertSettings]
    """What is changed about alerts."""
    slo: NotRequired[ServiceObjectives]
    """What users of the shares are promised."""
    cost: NotRequired[CostSplit]
    """By what costs are split."""
