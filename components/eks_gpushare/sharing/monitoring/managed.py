"""What a stack makes for Amazon Managed Service for Prometheus: what is collected, and rules.

AWS's collector runs outside of the cluster and finds pods by its API. It reads what an agent of
Prometheus does, but for what others do for it: rules, alerts and writing
(https://docs.aws.amazon.com/prometheus/latest/userguide/AMP-collector-how-to.html, read
2026-11-28). What is collected is paid for by the sample, so only what rules ask is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.arns import workspace_of
from eks_gpushare.catalog.managed_prometheus import LEAST_SECONDS, MOST_RULES
from eks_gpushare.config.observability import PROMETHEUS_NAMESPACE
from eks_gpushare.documents.duration import seconds
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.sharing.exporter import PORT
from eks_gpushare.sharing.monitoring.groups import RuleGroup, has_metrics, rules_document
from eks_gpushare.sharing.monitoring.installed import (
    NODE_LABELS,
    away_from_gpus,
    exporter_labels,
    scrape_timeout,
)
from eks_gpushare.sharing.monitoring.promql import SHARES
from eks_gpushare.sharing.verifier import LABELS, is_cron_job
from eks_gpushare.sharing.verifier import PORT as VERIFIER_PORT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare.config.observability import MetricsStore, Observability
    from eks_gpushare.config.verifier import Verifier

_STATE: Final = "kube-state-metrics"
_PORTS: Final[Mapping[str, str]] = {_STATE: "8080", "karpenter": "8080"}
_METRICS: Final = re.compile(r"\b(?:kube|karpenter|gpushare_verify)_[a-z_]+")
_POD: Final = "__meta_kubernetes_pod_"
_UNKNOWN: Final = re.compile(r"[^a-zA-Z0-9_]")


def given_workspace(store: MetricsStore) -> str | None:
    """ID of the workspace that is there; None where the stack makes one, or it is no ARN."""
    found = workspace_of(store.workspace_arn) if store.workspace_arn is not None else None
    return None if found is None else found.id


def state_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the chart kube-prometheus-stack, of which only kube-state-metrics is installed.

    Args:
        given: The user's values, which go over the derived ones.
    """
    off = ("alertmanager", "crds", "grafana", "kubernetesServiceMonitors", "nodeExporter")
    derived: dict[str, Any] = {
        "defaultRules": {"create": False},
        **{part: {"enabled": False} for part in (*off, "prometheus", "prometheusOperator")},
        _STATE: {
            # Rules ask of nothing else, and it may list no more than this.
            "collectors": ["nodes", "pods"],
            "metricLabelsAllowlist": [f"nodes=[{','.join(NODE_LABELS)}]"],
            "prometheus": {"monitor": {"enabled": False}},
            "affinity": away_from_gpus(),
        },
    }
    return merge_values(derived, given, keep_null=True)


def scrape_configuration(
    block: Observability,
    groups: Iterable[RuleGroup],
    manager: str,
    namespace: str,
    verifier: Verifier | None,
) -> dict[str, Any]:
    """What AWS's collector is told.

    Args:
        block: The block of the stack.
        groups: The rules, which say what is needed.
        manager: Who runs the device plugin, and with it the exporter.
        namespace: Where the exporter is.
        verifier: What looks at the cluster.
    """
    asked = _asked(groups)
    known = seconds(block.interval)
    interval = block.interval if known is None or known >= LEAST_SECONDS else f"{LEAST_SECONDS}s"
    state = {name: narrow for name, narrow in asked.items() if name.startswith("kube_")}
    karpenter = {name: False for name in asked if name.startswith("karpenter_")}
    jobs = [
        _job("dcgm-exporter", exporter_labels(manager), PORT, namespace),
        _job(_STATE, _named(_STATE), _PORTS[_STATE], PROMETHEUS_NAMESPACE, state),
    ]
    if karpenter:
        jobs.append(_job("karpenter", _named("karpenter"), _PORTS["karpenter"], None, karpenter))
    if verifier is not None and has_metrics(verifier) and not is_cron_job(verifier):
        jobs.append(
            _job("eks-gpushare-verify", LABELS, str(VERIFIER_PORT), verifier.namespace, None)
        )
    return {
        "global": {"scrape_interval": interval, "scrape_timeout": scrape_timeout(interval)},
        "scrape_configs": jobs,
    }


def _named(name: str) -> dict[str, str]:
    return {"app.kubernetes.io/name": name}


def _asked(groups: Iterable[RuleGroup]) -> dict[str, bool]:
    """Series of others that rules ask, and of which they ask only those of NVIDIA's resources."""
    found: dict[str, bool] = {}
    for group in groups:
        for rule in group.rules:
            text = str(rule["expr"])
            for match in _METRICS.finditer(text):
                narrow = text.startswith(f"{{{SHARES}", match.end())
                found[match[0]] = narrow and found.get(match[0], True)
    return dict(sorted(found.items()))


def _job(
    name: str,
    labels: Mapping[str, str],
    port: str,
    namespace: str | None,
    asked: Mapping[str, bool] | None = None,
) -> dict[str, Any]:
    """Pods with these labels, at this port.

    Args:
        name: Name of the job.
        labels: Labels of its pods.
        port: The one of their ports that is scraped.
        namespace: Their namespace; None is any.
        asked: Series that are kept, and whether of these only those of NVIDIA's resources are.
            None keeps all.
    """
    within = {} if namespace is None else {"namespaces": {"names": [namespace]}}
    job: dict[str, Any] = {
        "job_name": name,
        # `pod` and `namespace` are those of the pods that series are about.
        "honor_labels": True,
        "kubernetes_sd_configs": [{"role": "pod", **within}],
        "relabel_configs": [
            *(_keep(f"{_POD}label_{_UNKNOWN.sub('_', key)}", at) for key, at in labels.items()),
            _keep(f"{_POD}container_port_number", port),
        ],
    }
    if asked is not None:
        job["metric_relabel_configs"] = [
            {
                "source_labels": ["__name__", "resource"],
                "regex": "|".join(_kept(asked)),
                "action": "keep",
            }
        ]
    return job


def _keep(label: str, value: str) -> dict[str, Any]:
    return {"source_labels": [label], "regex": re.escape(value), "action": "keep"}


def _kept(asked: Mapping[str, bool]) -> Iterator[str]:
    """Expressions of a name and a resource with `;` between, as relabelling joins them."""
    for narrow, resource in ((False, ".*"), (True, "nvidia_com_.+")):
        names = [name for name, given in asked.items() if given is narrow]
        if names:
            yield f"(?:{'|'.join(names)});{resource}"


def amp_document(groups: Iterable[RuleGroup]) -> dict[str, Any]:
    """Rules as a workspace takes them: in groups that are no larger than its quota.

    Rules of the groups that this divides do not ask each other.

    Args:
        groups: The groups.
    """
    return rules_document(part for group in groups for part in _parts(group))


def _parts(group: RuleGroup) -> Iterator[RuleGroup]:
    for start in range(0, len(group.rules), MOST_RULES):
        number = start // MOST_RULES + 1
        name = group.name if number == 1 else f"{group.name}-{number}"
        yield RuleGroup(name, group.rules[start : start + MOST_RULES])


def yaml_text(document: Mapping[str, Any]) -> str:
    """A document as the text that AWS takes."""
    import yaml

    text: str = yaml.safe_dump(document, sort_keys=False, width=100, allow_unicode=True)
    return text
