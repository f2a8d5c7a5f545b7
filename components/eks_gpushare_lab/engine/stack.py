"""A stack as it would be on a cluster that is there already: what it has in Kubernetes and no more.

Taken from the stack file as data, since that is what the engine hands the program.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from eks_gpushare.config.project import ENVIRONMENT_KEY
from eks_gpushare.documents.local_paths import located
from eks_gpushare.program.stack_config import ENCRYPTED_TEXT
from eks_gpushare.stack_file.file import read_stack_file
from eks_gpushare_lab.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_OF_AWS = ("network", "system", "karpenter", "clusterAutoscaler")
_AUTOSCALERS = ("karpenter", "karpenterCrd", "clusterAutoscaler")
"""Charts of programs that make nodes, of which a cluster that is there has its own."""
_KEPT = ("instanceTypes", "nodes", "labels", "taints", "sharing", "amiFamily", "customAmi")
"""Keys of a pool that say something about what runs on its nodes; the others make the nodes."""
_SECURE = {"secure"}
_WORKSPACE = "http://prometheus.lab"
"""Stands for the address of a workspace, which answers signed requests only: rules refuse it."""


def on_existing_cluster(file: Path, kubeconfig: Path, program: Path) -> str:
    """The text of a stack file that installs the same on the cluster of a kubeconfig.

    Args:
        file: the stack file; one without errors.
        kubeconfig: of the cluster.
        program: directory of the program, which relative paths start from.

    Raises:
        LabError: If the file declares no environment of ours.
    """
    stack = read_stack_file(file)
    environment = stack.environment
    if not isinstance(environment, dict):
        message = f"--engine installs what {ENVIRONMENT_KEY} declares, and {file} has none"
        raise LabError(f"{message}; run it without --engine")
    content: Any = stack.document.value
    config = {key: _without_secrets(value) for key, value in content["config"].items()}
    config[ENVIRONMENT_KEY] = _existing(environment, kubeconfig, program)
    return json.dumps({"config": config}, indent=1)


def _existing(environment: Mapping[str, Any], kubeconfig: Path, program: Path) -> dict[str, Any]:
    left_out = {*_OF_AWS, "charts"}
    kept = {key: value for key, value in environment.items() if key not in left_out}
    pools = {name: _pool(pool) for name, pool in environment["pools"].items()}
    result = {**kept, "cluster": {"existing": {"kubeconfig": str(kubeconfig)}}, "pools": pools}
    charts = {
        name: chart
        for name, chart in (environment.get("charts") or {}).items()
        if name not in _AUTOSCALERS
    }
    if isinstance(kept.get("tenants"), dict):
        result["tenants"] = {name: _tenant(given) for name, given in kept["tenants"].items()}
    if isinstance(kept.get("keda"), dict):
        result["keda"] = _keda(kept["keda"])
    if charts:
        result["charts"] = {name: _chart(chart, program) for name, chart in charts.items()}
    return result


def _tenant(given: Mapping[str, Any]) -> dict[str, Any]:
    """Without admins: their access entries are of EKS."""
    return {key: value for key, value in given.items() if key != "admins"}


def _keda(given: Mapping[str, Any]) -> dict[str, Any]:
    """With an address for a workspace of Amazon's, which takes a role to be asked.

    What is behind an address is the lab's own Prometheus, whatever the address.
    """
    asked = given.get("prometheus")
    if not isinstance(asked, dict) or "workspaceArn" not in asked:
        return dict(given)
    others = {key: value for key, value in asked.items() if key != "workspaceArn"}
    return {**given, "prometheus": {**others, "url": _WORKSPACE}}


def _pool(pool: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: pool[key] for key in _KEPT if key in pool}
    if pool.get("provisioner") == "karpenter":
        # Renamed unless told otherwise, which is so with Karpenter only.
        kept["sharing"] = _renamed(kept["sharing"])
    return {"provisioner": "existing", **kept}


def _renamed(sharing: Mapping[str, Any]) -> dict[str, Any]:
    if sharing.get("mode") in {"timeSlicing", "mps"}:
        return {"rename": True, **sharing}
    if "timeSlicing" in sharing:
        return {**sharing, "timeSlicing": {"rename": True, **sharing["timeSlicing"]}}
    return dict(sharing)


def _chart(chart: Any, program: Path) -> Any:
    """A chart on disk by its full path: the program runs from another directory here."""
    path = chart.get("path") if isinstance(chart, dict) else None
    if not path:
        return chart
    return {**chart, "path": str(located(path, program).absolute())}


def _without_secrets(value: Any) -> Any:
    """Only the stack's own secrets provider could decrypt them."""
    if isinstance(value, dict):
        if value.keys() == _SECURE:
            return ENCRYPTED_TEXT
        return {key: _without_secrets(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_secrets(item) for item in value]
    return value
