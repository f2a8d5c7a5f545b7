"""What the GPU Operator and its chart make of its values: the operator, and its DaemonSets.

The operator makes the DaemonSets itself, by its ClusterPolicy. They select nodes by labels that it
sets too, so that it makes no difference here that the lab applies them at once.

Source: `deployments/gpu-operator`, `assets` and `controllers/object_controls.go` of
NVIDIA/gpu-operator, at the version in `catalog.versions`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.helm import value_at
from eks_gpushare_lab.install.chart_template import (
    ROLE,
    Pods,
    add_config_manager,
    container,
    daemon_set,
)
from eks_gpushare_lab.install.device_plugin_chart import worker
from eks_gpushare_lab.install.release import ChartError, config_map, facts_of, values_of
from eks_gpushare_lab.simulated_node.operator import POLICY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.install.release import DeclaredRelease

_PLUGIN, _DISCOVERY = "nvidia-device-plugin", "gpu-feature-discovery"
_MANAGER, _OPERATOR, _VALIDATOR = "nvidia-mig-manager", "gpu-operator", "validator"
_CONFIGURED = (_PLUGIN, _DISCOVERY, "mps-control-daemon")
_STRATEGIES = ("none", "single", "mixed")
_DEFAULTS = ("all-disabled", "")
_OF_ALL = ("tolerations", "priorityClassName")
_MIG_FOLDER = "/mig-parted-config"


def render(release: DeclaredRelease) -> Iterator[Object]:
    """The objects that matter here.

    Raises:
        ChartError: If the chart would refuse the values, or the API server its ClusterPolicy.
    """
    values = values_of(release)
    _validate(values)
    for config in (values["devicePlugin"]["config"], values["migManager"]["config"]):
        if config["create"] and config["data"]:
            yield config_map(config["name"], release.namespace, config["data"])
    yield _operator(release, values)
    yield from operands(release)
    if values["nfd"]["enabled"]:
        yield worker(release)


def operands(release: DeclaredRelease) -> Iterator[Object]:
    """The DaemonSets that the operator makes."""
    values = values_of(release)
    for name, operand in facts_of(release)["operands"].items():
        if operand["enabledBy"] is None or value_at(values, operand["enabledBy"]):
            yield _operand(release, values, name, operand)


def _operator(release: DeclaredRelease, values: Mapping[str, Any]) -> Object:
    labels = {"app": _OPERATOR, "app.kubernetes.io/component": _OPERATOR}
    manager = values["migManager"]
    policy = {
        "migManager": {
            "enabled": bool(manager["enabled"]),
            "config": {"default": manager["config"]["default"]},
        }
    }
    image = f"nvcr.io/nvidia/gpu-operator:{release.version}"
    spec: Object = {
        "containers": [container(_OPERATOR, image, {POLICY: json.dumps(policy)})],
        "priorityClassName": values["operator"]["priorityClassName"],
        "nodeSelector": values["operator"]["nodeSelector"],
        "tolerations": values["operator"]["tolerations"],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": _OPERATOR,
            "namespace": release.namespace,
            "labels": labels,
            "annotations": {ROLE: _OPERATOR},
        },
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def _operand(
    release: DeclaredRelease, values: Mapping[str, Any], name: str, operand: Mapping[str, Any]
) -> Object:
    program = operand["program"]
    given = values[(operand["enabledBy"] or _VALIDATOR).partition(".")[0]]
    own = _environment(program, values)
    wanted = {variable["name"]: str(variable["value"]) for variable in given.get("env") or ()}
    # For discovery the operator writes its own last, for the others those of the values.
    environment = {**wanted, **own} if program == _DISCOVERY else {**own, **wanted}
    main = container(program, f"nvcr.io/nvidia/{program}:{given.get('version', '')}", environment)
    scheduling = {
        **operand,  # controllers/object_controls.go, applyCommonDaemonsetConfig: what is not empty
        **{key: each for key in _OF_ALL if (each := values["daemonsets"][key])},
    }
    pods = Pods([main], scheduling=scheduling, host_pid=bool(given.get("hostPID")))
    if operand["gated"]:
        wait = ["sh", "-c", "until [ -f /run/nvidia/validations/toolkit-ready ]; do sleep 5; done"]
        pods.before.append({"name": "toolkit-validation", "image": main["image"], "command": wait})
    config = values["devicePlugin"]["config"]
    if program in _CONFIGURED and config["name"]:
        # The operator leaves a lone key, and one called default, alone.
        add_config_manager(pods, program, config["name"], str(config["default"]), ["empty"])
    if program == _MANAGER:
        _add_mig_config(pods, values["migManager"]["config"]["name"])
    return daemon_set(name, release.namespace, program, release.name, pods)


def _environment(program: str, values: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    if program == _PLUGIN:
        found["MPS_ROOT"] = "/run/nvidia/mps"
    if program in _CONFIGURED and values["mig"]["strategy"]:
        found["MIG_STRATEGY"] = values["mig"]["strategy"]
    if program in _CONFIGURED and values["devicePlugin"]["config"]["name"]:
        found["CONFIG_FILE"] = "/config/config.yaml"
    if program == _MANAGER and values["migManager"]["config"]["name"]:
        found["CONFIG_FILE"] = f"{_MIG_FOLDER}/config.yaml"
    return found


def _add_mig_config(pods: Pods, name: str) -> None:
    """The user's ConfigMap; without one the program writes its configurations by the hardware."""
    if name:
        pods.volumes.append({"name": "mig-parted-config", "configMap": {"name": name}})
        mount = {"name": "mig-parted-config", "mountPath": _MIG_FOLDER}
        pods.containers[-1]["volumeMounts"] = [mount]


def _validate(values: Mapping[str, Any]) -> None:
    """What the chart's own validation refuses, and the definition of ClusterPolicy."""
    if values["clusterPolicy"]["deployCR"] and values["gpuCluster"]["deployCR"]:
        message = "clusterPolicy.deployCR and gpuCluster.deployCR cannot both be true"
        raise ChartError(f"{message}; only one CR can exist")
    config = values["devicePlugin"]["config"]
    for key in ("data", "name"):
        if config["create"] and not config[key]:
            message = f"devicePlugin.config.{key} cannot be empty when devicePlugin.config.create"
            raise ChartError(f"{message} is set to true")
    strategy, default = values["mig"]["strategy"], values["migManager"]["config"]["default"]
    if strategy and strategy not in _STRATEGIES:
        raise ChartError(_unsupported("spec.mig.strategy", strategy, _STRATEGIES))
    if default not in _DEFAULTS:
        raise ChartError(_unsupported("spec.migManager.config.default", default, _DEFAULTS))


def _unsupported(path: str, value: object, allowed: tuple[str, ...]) -> str:
    values = ", ".join(f'"{profile}"' for profile in allowed)
    policy = 'ClusterPolicy.nvidia.com "cluster-policy" is invalid'
    return f'{policy}: {path}: Unsupported value: "{value}": supported values: {values}'
