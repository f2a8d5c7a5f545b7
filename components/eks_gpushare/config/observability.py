"""What is measured of GPUs and their shares, where it is kept, and who is told what of it."""

from typing import Literal, TypeAlias

from pydantic import Field

from eks_gpushare.config.base import Items, Model, TextInput

PROMETHEUS_NAMESPACE = "gpushare-monitoring"
"""Namespace of a Prometheus that a stack installs."""
AlertSeverity: TypeAlias = Literal["critical", "warning", "info", "none"]


class MetricsStore(Model):
    """The Prometheus that keeps what is measured; one of the keys."""

    install: bool = False
    """Install one, with kube-state-metrics and Grafana: the community's chart
    kube-prometheus-stack. Never beside one that is there. With `metrics: managedPrometheus` make a
    workspace instead, AWS's collector of the cluster, kube-state-metrics, and rules in the
    workspace."""
    url: TextInput | None = None
    """Address of one that is there, as pods reach it."""
    workspace_arn: str | None = None
    """Workspace of Amazon Managed Service for Prometheus that is there. With `install` collector
    and rules are made for it, and no other workspace is."""
    kms_key_arn: str | None = None
    """KMS key of a workspace that is made; with another key it is another workspace. Default: a
    key of AWS's own."""
    retention_days: int = Field(default=15, ge=1, le=400)
    """Days that an installed one keeps what it has scraped."""
    storage_gib: int = Field(default=50, alias="storageGiB", ge=1, le=16_384)
    """Size of the volume of an installed one in GiB."""
    storage_class: str | None = None
    """StorageClass of that volume, which is there. Default: that of the cluster."""


class AlertSettings(Model):
    """What a stack changes about alerts."""

    runbook: TextInput | None = None
    """Address that the name of an alert is added to, in small letters behind a `#`. Default: the
    page of alerts of this documentation."""
    severity: dict[str, AlertSeverity] = Field(default_factory=dict)
    """Severity by alert; `none` leaves the alert out. Default: as the page of alerts says."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Labels of every alert, by which an Alertmanager routes them. Default: none."""


class ServiceObjectives(Model):
    """What users of the shares are promised; alerts follow how fast it is used up."""

    scheduling_seconds: int = Field(default=60, ge=5, le=86_400)
    """Seconds in which a pod that asks for a share is on a node."""
    availability: float = Field(default=99.5, ge=50, le=99.999)
    """Percent of pods for which that holds, and of declared shares that nodes advertise, over 30
    days."""


class CostSplit(Model):
    """By what the cost of a GPU is split over who is on it."""

    split: Literal["share", "memory", "activity"] = "share"
    """`share`, by the shares that pods ask for; `memory` or `activity`, by what is measured of
    them, in pools where the exporter tells pods apart, and by share in others. Of rules, and of
    `cost --usage`."""


class Observability(Model):
    """Metrics of GPUs and shares, rules and alerts on them, boards, and objectives."""

    metrics: Literal["none", "prometheusOperator", "managedPrometheus", "cloudwatch"] = (
        "prometheusOperator"
    )
    """Who collects them. With `prometheusOperator` the stack applies ServiceMonitors and
    PrometheusRules; with `managedPrometheus` a collector of your own scrapes the exporter by its
    annotations, or AWS's where `prometheus` has `install`; with `cloudwatch` a new cluster gets the
    add-on of CloudWatch, which has an exporter of its own, so that no other is installed; and with
    `none` nothing is. Rules and boards as files `eks-gpushare rules` prints in any case."""
    prometheus: MetricsStore | None = None
    """The Prometheus that keeps them. Default: one that finds ServiceMonitors by itself."""
    interval: str = "15s"
    """Time between two scrapes of the exporter, such as `15s` or `1m`."""
    selector_labels: dict[str, str] = Field(default_factory=dict)
    """Labels by which a Prometheus that is there finds ServiceMonitors and PrometheusRules, such as
    `{release: kube-prometheus-stack}`. Default: it takes all."""
    pod_labels: Items[str] = ()
    """Labels of pods that their metrics carry too, as regular expressions. Default: none."""
    namespace: str = "gpushare-metrics"
    """Namespace of rules, boards and the exporter beside the device plugin, made by the stack; for
    the exporter it has the level `privileged` of Pod Security."""
    dashboards: Literal["configMaps", "files", "none"] = "configMaps"
    """Boards for Grafana: as ConfigMaps that its sidecar finds, or as files of `eks-gpushare rules`
    alone, or not at all."""
    alerts: AlertSettings = AlertSettings.model_construct()
    """What is changed about alerts."""
    slo: ServiceObjectives = ServiceObjectives.model_construct()
    """What users of the shares are promised."""
    cost: CostSplit = CostSplit.model_construct()
    """By what costs are split."""
