"""What a stack installs to keep metrics: values of Prometheus' chart, monitors, rules and boards.

Source of the values: https://github.com/prometheus-community/helm-charts,
charts/kube-prometheus-stack/values.yaml at the version in `catalog.versions`; read 2026-11-27.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.helm import merge_values
from eks_gpushare.sharing.labels import MIG_LABEL, POOL_LABEL
from eks_gpushare.sharing.monitoring.boards import SIDECAR_LABEL, boards_json
from eks_gpushare.sharing.monitoring.groups import OBJECT_NAME, rule_groups, rules_object

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.config.environment import Environment
    from eks_gpushare.config.observability import Observability
    from eks_gpushare.sharing.plan import PoolPlan

NODE_LABELS: Final = (
    POOL_LABEL,
    "node.kubernetes.io/instance-type",
    MIG_LABEL,
    "nvidia.com/mig.config.state",
)
"""Labels of nodes that rules join by, which kube-state-metrics tells where it is told to."""
_OWN_CHART: Final = ({"app.kubernetes.io/name": "dcgm-exporter"}, "metrics")
_OPERATOR: Final = ({"app": "nvidia-dcgm-exporter"}, "gpu-metrics")
"""Labels of the exporter's Service, and what its port is called: of its own chart, and as the GPU
Operator makes it (assets/state-dcgm-exporter of NVIDIA/gpu-operator)."""
_TIMEOUT_SECONDS: Final = 10
_NOT_ON_EKS: Final = ("kubeControllerManager", "kubeEtcd", "kubeProxy", "kubeScheduler")
"""What the control plane of EKS does not let anybody scrape."""


def prometheus_values(block: Observability, given: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the chart kube-prometheus-stack.

    Args:
        block: The block of the stack, with a store that is installed.
        given: The user's values, which go over the derived ones.
    """
    store = block.prometheus
    assert store is not None  # noqa: S101  (whoever installs it has one)
    affinity = away_from_gpus()
    volume: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": f"{store.storage_gib}Gi"}},
    }
    if store.storage_class is not None:
        volume["storageClassName"] = store.storage_class
    derived: dict[str, Any] = {
        # Its rules and scrapes are of the whole cluster; here are those of GPUs.
        "defaultRules": {"create": False},
        "nodeExporter": {"enabled": False},
        **{name: {"enabled": False} for name in _NOT_ON_EKS},
        "kube-state-metrics": {
            "metricLabelsAllowlist": [f"nodes=[{','.join(NODE_LABELS)}]"],
            "affinity": affinity,
        },
        # Its certificate comes of a hook, which a release of ours does not wait for.
        "prometheusOperator": {
            "admissionWebhooks": {"enabled": False},
            "tls": {"enabled": False},
            "affinity": affinity,
        },
        "alertmanager": {"alertmanagerSpec": {"affinity": affinity}},
        "grafana": {"enabled": block.dashboards == "configMaps", "affinity": affinity},
        "prometheus": {
            "prometheusSpec": {
                "retention": f"{store.retention_days}d",
                # By itself it takes what is labelled as of its release only.
                "serviceMonitorSelectorNilUsesHelmValues": False,
                "podMonitorSelectorNilUsesHelmValues": False,
                "ruleSelectorNilUsesHelmValues": False,
                "storageSpec": {"volumeClaimTemplate": {"spec": volume}},
                "affinity": affinity,
            }
        },
    }
    return merge_values(derived, given, keep_null=True)


def away_from_gpus() -> dict[str, Any]:
    """An affinity to other nodes.

    One with GPUs goes when its pods do, and costs too much to wait for others.
    """
    elsewhere = {"matchExpressions": [{"key": POOL_LABEL, "operator": "DoesNotExist"}]}
    required = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [elsewhere]}
    }
    return {"nodeAffinity": required}


def exporter_labels(manager: str) -> Mapping[str, str]:
    """Labels of the exporter's pods and of its Service, by who runs the device plugin."""
    return (_OPERATOR if manager == "gpuOperator" else _OWN_CHART)[0]


def service_monitor(block: Observability, manager: str, namespace: str) -> dict[str, Any]:
    """How Prometheus' operator finds the exporter.

    Args:
        block: The block of the stack.
        manager: Who runs the device plugin, and with it the exporter or none.
        namespace: Where the exporter is.
    """
    labels, port = _OPERATOR if manager == "gpuOperator" else _OWN_CHART
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": _metadata(block),
        "spec": {
            "namespaceSelector": {"matchNames": [namespace]},
            "selector": {"matchLabels": dict(labels)},
            "endpoints": [
                {
                    "port": port,
                    "interval": block.interval,
                    "scrapeTimeout": scrape_timeout(block.interval),
                    # `pod` and `namespace` are those of the pods that have the GPU.
                    "honorLabels": True,
                }
            ],
        },
    }


def verifier_monitor(block: Observability, namespace: str) -> dict[str, Any]:
    """How it finds what looks at the cluster.

    Args:
        block: The block of the stack.
        namespace: Where that is.
    """
    from eks_gpushare.sharing.verifier import LABELS

    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {**_metadata(block), "name": f"{OBJECT_NAME}-verify"},
        "spec": {
            "namespaceSelector": {"matchNames": [namespace]},
            "selector": {"matchLabels": dict(LABELS)},
            "endpoints": [{"port": "metrics", "honorLabels": True}],
        },
    }


def rules_in_cluster(
    environment: Environment, block: Observability, plans: Mapping[str, PoolPlan]
) -> dict[str, Any]:
    """The rules as an object of Prometheus' operator.

    Args:
        environment: The stack.
        block: Its block.
        plans: The plans of its pools by name.
    """
    groups = rule_groups(environment, plans)
    return rules_object(groups, block.namespace, block.selector_labels)


def board_maps(block: Observability, plans: Mapping[str, PoolPlan]) -> dict[str, dict[str, Any]]:
    """ConfigMaps with boards, which the sidecar of Grafana's chart finds by their label.

    Args:
        block: The block of the stack.
        plans: The plans of its pools by name.
    """
    if block.dashboards != "configMaps":
        return {}
    return {
        name: {
            "metadata": {
                "name": f"{OBJECT_NAME}-{name}",
                "namespace": block.namespace,
                "labels": dict(SIDECAR_LABEL),
            },
            "data": {f"{OBJECT_NAME}-{name}.json": json.dumps(board, indent=1)},
        }
        for name, board in boards_json(plans).items()
    }


def _metadata(block: Observability) -> dict[str, Any]:
    labels = {"labels": dict(block.selector_labels)} if block.selector_labels else {}
    return {"name": OBJECT_NAME, "namespace": block.namespace, **labels}


def scrape_timeout(interval: str) -> str:
    """Prometheus refuses a time out that is longer than what is between two scrapes."""
    from eks_gpushare.documents.duration import seconds

    known = seconds(interval)
    return interval if known is None or known < _TIMEOUT_SECONDS else f"{_TIMEOUT_SECONDS}s"
