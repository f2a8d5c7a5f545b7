"""Volumes of an installed Prometheus: which class they are of, and how large they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.config.base import converted
from eks_gpushare.config.cluster import Addon, Addons
from eks_gpushare.documents.helm import merge_values, value_at
from eks_gpushare.sharing.addons import EBS_CSI
from eks_gpushare.sharing.exporter import makes_collector

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.config.observability import Observability

DEFAULT_CLASS: Final = "defaultStorageClass.enabled"
"""Value of the EBS CSI driver's add-on, from v1.31.0 on, which makes a StorageClass of gp3 that is
the default. A cluster that is made since Kubernetes 1.30 has none
(https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions-extended.html#kubernetes-1-30)."""


class Claim(NamedTuple):
    """Volumes that a chart's pods claim."""

    size: Any
    """Size of each, as Kubernetes writes it."""
    copies: int
    """How many."""
    storage_class: str | None
    """Their StorageClass; None for the cluster's default."""


def claims_default(block: Observability | None) -> bool:
    """Whether a stack installs a Prometheus whose volume is of the cluster's default class."""
    store = block.prometheus if block is not None else None
    if store is None or not store.install or makes_collector(block):
        return False
    return store.storage_class is None


def with_default_class(addons: Addons, block: Observability | None) -> Addons:
    """The add-ons of a new cluster, of which one makes the default class that is claimed.

    What is said of the add-on under `byName` goes over what it gets here.

    Args:
        addons: What the stack says of them.
        block: Its block about metrics.
    """
    if not addons.ebs_csi or not claims_default(block):
        return addons
    given = addons.by_name.get(EBS_CSI, Addon.model_construct())
    values = merge_values({"defaultStorageClass": {"enabled": True}}, given.values)
    addon = converted(Addon, given, values=values)
    return converted(Addons, addons, by_name={**addons.by_name, EBS_CSI: addon})


def claims_of(values: Mapping[str, Any]) -> Iterator[Claim]:
    """The volumes that pods of kube-prometheus-stack claim.

    Args:
        values: Values of the chart.
    """
    for kind, storage in (
        ("prometheus.prometheusSpec", "storageSpec"),
        ("alertmanager.alertmanagerSpec", "storage"),
    ):
        pods = value_at(values, kind, {})
        spec = value_at(pods, f"{storage}.volumeClaimTemplate.spec", {})
        size = value_at(spec, "resources.requests.storage")
        if size is not None:
            count = value_at(pods, "replicas", 1)
            yield Claim(size, count if isinstance(count, int) else 1, spec.get("storageClassName"))
    grafana = value_at(values, "grafana.persistence", {})
    if value_at(grafana, "enabled") is True:
        yield Claim(value_at(grafana, "size", "10Gi"), 1, value_at(grafana, "storageClassName"))
