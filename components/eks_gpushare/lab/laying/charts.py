"""DaemonSets that stand in for those of a Helm chart, as its values make them.

The lab runs no charts: there are no containers to run. What decides which nodes NVIDIA's programs
reach, and how they are configured, is in the chart's templates; here the same is made of the same
values. Names, defaults and their source are in data/daemonsets.json.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.lab.client import Object

DEVICE_PLUGIN = "nvidia-device-plugin"
"""The chart that the lab knows."""
ROLE = "lab.eks-gpushare/role"
"""Annotation of a stand-in: which of the chart's DaemonSets it is."""

_DATA = Path(__file__).parent / "data" / "daemonsets.json"
_CONFIG_LABEL = "nvidia.com/device-plugin.config"
_NAME_LENGTH = 63
_CONFIGS = "/available-configs"


@dataclass(frozen=True, slots=True)
class Release:
    """A Helm release as a stack declares it."""

    name: str
    """Name of the release."""
    namespace: str
    """Where it is installed."""
    chart: str
    """Name of the chart."""
    version: str
    """Version of the chart."""
    values: Mapping[str, Any]
    """The values given."""


class ChartError(Exception):
    """The chart refuses its values, in its own words."""


def knows(release: Release) -> bool:
    """Whether the lab can stand in for a release."""
    return release.chart in _charts()


def stand_ins(release: Release) -> list[Object]:
    """The objects that matter here of those that a release would install.

    Raises:
        ChartError: If the chart would refuse the values.
    """
    values = merged(_charts()[release.chart]["defaults"], release.values)
    _validate(release, values)
    name = _full_name(release, values)
    maps = values["config"]["map"]
    config_map = values["config"]["name"] or (f"{name}-configs" if maps else "")
    found: list[Object] = []
    if maps:
        found.append(_config_map(config_map, _namespace(release, values), maps))
    pods = _Pods(release, values, config_map)
    if values["devicePlugin"]["enabled"]:
        found.append(pods.daemon_set(name, "nvidia-device-plugin", values))
        capable = {"nvidia.com/mps.capable": "true", **values["nodeSelector"]}
        daemon = {**values, "nodeSelector": capable}
        found.append(pods.daemon_set(f"{name}-mps-control-daemon", "mps-control-daemon", daemon))
    if values["gfd"]["enabled"]:
        found.append(
            pods.daemon_set(f"{name}-gpu-feature-discovery", "gpu-feature-discovery", values)
        )
    if values["nfd"].get("enabled", values["gfd"]["enabled"]):
        worker = {"priorityClassName": "", "podAnnotations": {}, **values["nfd"]["worker"]}
        found.append(pods.worker(f"{release.name}-node-feature-discovery-worker", worker))
    return found


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Two sets of values as Helm merges them: maps by key, null removes, anything else whole."""
    result = copy.deepcopy(dict(below))
    for key, value in above.items():
        base = result.get(key)
        if value is None:
            result[key] = type(base)() if isinstance(base, dict | list | str) else None
        elif isinstance(base, dict) and isinstance(value, dict):
            result[key] = merged(base, value)
        else:
            result[key] = copy.deepcopy(value)
    return result


class _Pods:
    """Makes the DaemonSets of one release."""

    def __init__(self, release: Release, values: Mapping[str, Any], config_map: str) -> None:
        self._release, self._values, self._config_map = release, values, config_map

    def daemon_set(self, name: str, program: str, values: Mapping[str, Any]) -> Object:
        """One of NVIDIA's own, with the config-manager beside it where there is a ConfigMap."""
        repository = self._values["image"]["repository"]
        tag = self._values["image"]["tag"] or f"v{self._release.version}"
        image = f"{repository}:{tag}"
        main: Object = {
            "name": f"{program}-ctr",
            "image": image,
            "command": [program],
            "env": list(self._environment(program)),
        }
        containers, volumes, before = [main], [], []
        if self._config_map:
            volumes = [
                {"name": "available-configs", "configMap": {"name": self._config_map}},
                {"name": "config", "emptyDir": {}},
            ]
            before = [self._manager(f"{program}-init", image, oneshot=True)]
            containers.insert(0, self._manager(f"{program}-sidecar", image, oneshot=False))
        return self._made(name, program, values, containers, before, volumes)

    def worker(self, name: str, values: Mapping[str, Any]) -> Object:
        """Node feature discovery's worker."""
        image = "registry.k8s.io/nfd/node-feature-discovery"
        containers: list[Object] = [
            {"name": "worker", "image": image, "command": ["nfd-worker"]},
        ]
        return self._made(name, "nfd-worker", values, containers, [], [])

    def _made(  # noqa: PLR0913, PLR0917
        self,
        name: str,
        program: str,
        values: Mapping[str, Any],
        containers: list[Object],
        before: list[Object],
        volumes: list[Object],
    ) -> Object:
        labels = {
            "app.kubernetes.io/name": program,
            "app.kubernetes.io/instance": self._release.name,
        }
        spec: Object = {"containers": containers}
        optional = {
            "initContainers": before,
            "volumes": volumes,
            "priorityClassName": values.get("priorityClassName"),
            "nodeSelector": values.get("nodeSelector"),
            "affinity": values.get("affinity"),
            "tolerations": values.get("tolerations"),
        }
        spec |= {key: value for key, value in optional.items() if value}
        return {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {
                "name": name[:_NAME_LENGTH].rstrip("-"),
                "namespace": _namespace(self._release, self._values),
                "labels": labels,
                "annotations": {ROLE: program},
            },
            "spec": {
                "selector": {"matchLabels": labels},
                # One at a time takes the simulated pods as long as a real node; all at once do not.
                "updateStrategy": {"rollingUpdate": {"maxUnavailable": "100%"}},
                "template": {
                    "metadata": {"labels": labels, "annotations": self._annotations(values)},
                    "spec": spec,
                },
            },
        }

    def _annotations(self, values: Mapping[str, Any]) -> dict[str, str]:
        given = {key: str(value) for key, value in (values.get("podAnnotations") or {}).items()}
        maps = self._values["config"]["map"]
        if maps:  # so that an edit rolls the pods
            text = json.dumps(maps, sort_keys=True)
            given.setdefault("checksum/config", sha256(text.encode()).hexdigest())
        return given

    def _environment(self, program: str) -> Iterator[dict[str, str]]:
        if program == "nvidia-device-plugin":
            yield {"name": "MPS_ROOT", "value": str(self._values["mps"]["root"])}
        if program != "mps-control-daemon" and isinstance(self._values["migStrategy"], str):
            yield {"name": "MIG_STRATEGY", "value": self._values["migStrategy"]}
        if self._config_map:
            yield {"name": "CONFIG_FILE", "value": "/config/config.yaml"}

    def _manager(self, name: str, image: str, *, oneshot: bool) -> Object:
        config = self._values["config"]
        environment = {
            "ONESHOT": str(oneshot).lower(),
            "NODE_LABEL": _CONFIG_LABEL,
            "CONFIG_FILE_SRCDIR": _CONFIGS,
            "CONFIG_FILE_DST": "/config/config.yaml",
            "DEFAULT_CONFIG": str(config["default"]),
            "FALLBACK_STRATEGIES": ",".join(map(str, config["fallbackStrategies"])),
            "SEND_SIGNAL": str(not oneshot).lower(),
        }
        return {
            "name": name,
            "image": image,
            "command": ["config-manager"],
            "env": [{"name": key, "value": value} for key, value in environment.items()],
            "volumeMounts": [
                {"name": "available-configs", "mountPath": _CONFIGS},
                {"name": "config", "mountPath": "/config"},
            ],
        }


@cache
def _charts() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_DATA.read_text(encoding="utf-8"))
    return found


def _validate(release: Release, values: Mapping[str, Any]) -> None:
    """What the chart's own validation refuses."""
    config = values["config"]
    if _namespace(release, values) == "default" and not values.get("allowDefaultNamespace"):
        message = "Running in the 'default' namespace is not recommended."
        raise ChartError(f"{message} Set 'allowDefaultNamespace=true' to bypass this error.")
    if config["name"] and config["map"]:
        raise ChartError("Cannot set both 'config.name' and 'config.map': choose one of them.")
    several = len(config["map"]) > 1 and "default" not in config["map"]
    if several and not config["default"] and "empty" not in config["fallbackStrategies"]:
        raise ChartError("Provide a default: set 'config.default', or name a key 'default'.")


def _namespace(release: Release, values: Mapping[str, Any]) -> str:
    return str(values["namespaceOverride"] or release.namespace)


def _full_name(release: Release, values: Mapping[str, Any]) -> str:
    if values["fullnameOverride"]:
        return str(values["fullnameOverride"])[:_NAME_LENGTH].rstrip("-")
    name = str(values["nameOverride"] or release.chart)
    full = release.name if name in release.name else f"{release.name}-{name}"
    return full[:_NAME_LENGTH].rstrip("-")


def _config_map(name: str, namespace: str, data: Mapping[str, str]) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": dict(data),
    }
