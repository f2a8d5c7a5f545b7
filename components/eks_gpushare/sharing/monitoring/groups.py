"""Groups of rules for one stack, in the forms in which programs take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.config.observability import Observability
from eks_gpushare.config.sharing import Mig
from eks_gpushare.sharing.capacity import most_nodes
from eks_gpushare.sharing.metrics import cost_split, measured
from eks_gpushare.sharing.monitoring import recording
from eks_gpushare.sharing.monitoring.alerts import alerts
from eks_gpushare.sharing.monitoring.declared import declared_rules
from eks_gpushare.sharing.resources import replicas
from eks_gpushare.sharing.tenants import contracts
from eks_gpushare.sharing.verifier import is_cron_job

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eks_gpushare.config.environment import Environment
    from eks_gpushare.config.verifier import Verifier
    from eks_gpushare.sharing.monitoring.promql import RecordingRule
    from eks_gpushare.sharing.plan import PoolPlan

PREFIX: Final = "gpushare-"
"""What the names of all groups begin with."""
FORMATS: Final = ("prometheus", "operator", "amp")
"""For a file that Prometheus reads; an object of its operator; a namespace of rule groups of
Amazon Managed Service for Prometheus."""
OBJECT_NAME: Final = "eks-gpushare"
"""Name of the object and of the file."""
_LEAST_SILENCE: Final = 1800
_LOOKS: Final = 3
"""So many looks of the verifier may fail before it is silence."""


class RuleGroup(NamedTuple):
    """Rules that are evaluated one after the other."""

    name: str
    rules: tuple[dict[str, Any], ...]

    def as_json(self) -> dict[str, Any]:
        """The group as Prometheus reads it."""
        return {"name": self.name, "rules": list(self.rules)}


def rule_groups(environment: Environment, plans: Mapping[str, PoolPlan]) -> tuple[RuleGroup, ...]:
    """All groups of rules of a stack: what is declared, what is recorded, and alerts.

    Args:
        environment: The stack. Without a block `observability`, its defaults.
        plans: The plans of its pools by name.
    """
    block = environment.observability or Observability()
    tenants = environment.tenants or {}
    split = cost_split(block)
    declared = declared_rules(plans, tenants, contracts(tenants, plans), split)
    recorded: list[tuple[str, Iterable[RecordingRule]]] = [
        ("declared", declared),
        ("shares", (*recording.NODES, *recording.OF_SHARES)),
        ("gpus", recording.OF_GPUS),
        ("costs", recording.of_costs(split)),
        ("tenants", recording.OF_TENANTS if tenants else ()),
        ("objectives", recording.of_objectives(block.slo.scheduling_seconds)),
    ]
    needs = _needs(environment, plans)
    settings = block.alerts
    rules = [
        alert.as_json(settings)
        for alert in alerts(block.slo, _silence(environment.verifier))
        if alert.needs in needs and settings.severity.get(alert.name) != "none"
    ]
    groups = [
        RuleGroup(f"{PREFIX}{name}", tuple(rule.as_json() for rule in own))
        for name, own in recorded
    ]
    return tuple(
        group for group in (*groups, RuleGroup(f"{PREFIX}alerts", tuple(rules))) if group.rules
    )


def _needs(environment: Environment, plans: Mapping[str, PoolPlan]) -> set[str]:
    """What there is in a stack that alerts can be about."""
    told = {share.pool for share in measured(plans) if share.memory != "nothing"}
    pools = [plan.pool for name, plan in plans.items() if name in told]
    has = {
        "shares": bool(plans),
        "gpus": bool(pools),
        "mig": any(isinstance(pool.sharing, Mig) for pool in pools),
        "shared": any(replicas(pool) > 1 for pool in pools),
        "most": any(most_nodes(plan) is not None for plan in plans.values()),
        "limits": any(
            plan.pool.provisioner == "karpenter" and most_nodes(plan) is None
            for plan in plans.values()
        ),
        "tenants": bool(environment.tenants),
        "verifier": has_metrics(environment.verifier),
    }
    return {name for name, there in has.items() if there}


def has_metrics(verifier: Verifier | None) -> bool:
    """Whether what looks at the cluster says so in metrics: a CronJob only to a Pushgateway."""
    return verifier is not None and (verifier.pushgateway is not None or not is_cron_job(verifier))


def _silence(verifier: Verifier | None) -> int:
    seconds = 0 if verifier is None else _LOOKS * verifier.interval_seconds
    return max(_LEAST_SILENCE, seconds)


def rules_document(groups: Iterable[RuleGroup]) -> dict[str, Any]:
    """A file as Prometheus and Amazon's service read it."""
    return {"groups": [group.as_json() for group in groups]}


def rules_object(
    groups: Iterable[RuleGroup], namespace: str | None, labels: Mapping[str, str]
) -> dict[str, Any]:
    """An object of Prometheus' operator.

    Args:
        groups: The groups.
        namespace: Its namespace. Default: whoever applies it says.
        labels: Labels by which a Prometheus finds it.
    """
    metadata: dict[str, Any] = {"name": OBJECT_NAME}
    if namespace is not None:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = dict(labels)
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": metadata,
        "spec": rules_document(groups),
    }
