"""The DaemonSets of EKS's node monitoring agent, by the configuration of the add-on.

The agent and its host engine of DCGM, `dcgm-server`, select nodes as the add-on's chart lets them.

Source: https://github.com/aws/eks-node-monitoring-agent at v1.7.0, charts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import gpu_instance_types
from eks_gpushare_lab.simulated_node.pods import HOST_ENGINE, MONITOR

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare_lab.client import Object

ADDON = "eks-node-monitoring-agent"
"""Name of the add-on."""

_NAMESPACE = "kube-system"
_PRIORITY = "system-node-critical"
_ANY = [{"operator": "Exists"}]


def daemon_sets(addon: Mapping[str, Any]) -> Iterator[Object]:
    """What the add-on puts into the cluster that matters here.

    Args:
        addon: The add-on as it is registered.
    """
    values: dict[str, Any] = json.loads(addon.get("configurationValues") or "{}")
    # The chart has a list of types of its own; what the lab knows has GPUs too.
    types = {
        "key": "node.kubernetes.io/instance-type",
        "operator": "In",
        "values": list(gpu_instance_types()),
    }
    arch = {"key": "kubernetes.io/arch", "operator": "In"}
    agent, engine = values.get("nodeAgent") or {}, values.get("dcgmAgent") or {}
    where = [{**arch, "values": ["amd64", "arm64"]}]
    yield _daemon_set(ADDON, MONITOR, {"tolerations": _ANY, **agent}, where)
    yield _daemon_set("dcgm-server", HOST_ENGINE, engine, [types, {**arch, "values": ["amd64"]}])


def _daemon_set(
    name: str, command: str, given: Mapping[str, Any], where: list[dict[str, Any]]
) -> Object:
    labels = {"k8s-app": name}
    needs = {"nodeSelectorTerms": [{"matchExpressions": where}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": needs}}
    spec = {
        "affinity": given.get("affinity") or affinity,
        "tolerations": given.get("tolerations") or [],
        "nodeSelector": {"kubernetes.io/os": "linux", **(given.get("nodeSelector") or {})},
        "priorityClassName": given.get("priorityClassName") or _PRIORITY,
        "containers": [{"name": name, "image": f"{ADDON}:lab", "command": [f"/usr/bin/{command}"]}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": _NAMESPACE, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }
