"""What NVIDIA's chart of the device plugin makes of its values.

Held against what the chart renders by tests/lab/test_lab_charts.py.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from eks_gpushare_lab.install.chart_template import (
    Pods,
    add_config_manager,
    container,
    daemon_set,
    full_name,
)
from eks_gpushare_lab.install.release import (
    ChartError,
    config_map,
    facts_of,
    scheduling,
    values_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.install.release import DeclaredRelease

_PLUGIN, _DISCOVERY = "nvidia-device-plugin", "gpu-feature-discovery"
_DAEMON, _WORKER = "mps-control-daemon", "nfd-worker"


def render(release: DeclaredRelease) -> Iterator[Object]:
    """The objects that matter here.

    Raises:
        ChartError: If the chart would refuse the values.
    """
    values = values_of(release)
    _validate(release, values)
    made = _Made(release, values)
    maps = values["config"]["map"]
    if maps:
        yield config_map(made.config_map, made.namespace, maps)
    if values["devicePlugin"]["enabled"]:
        yield made.daemon_set(_PLUGIN)
        yield made.daemon_set(_DAEMON)
    if values["gfd"]["enabled"]:
        yield made.daemon_set(_DISCOVERY)
    if values["nfd"].get("enabled", values["gfd"]["enabled"]):
        yield worker(release)


class _Made:
    """Makes the objects of one release."""

    def __init__(self, release: DeclaredRelease, values: Mapping[str, Any]) -> None:
        self._release, self._values = release, values
        self._daemon_sets = facts_of(release)["daemonSets"]
        self._name, self.namespace = full_name(release, values), _namespace(release, values)
        embedded = f"{self._name}-configs" if values["config"]["map"] else ""
        self.config_map: str = values["config"]["name"] or embedded

    def daemon_set(self, program: str) -> Object:
        """One of NVIDIA's own, with the config-manager beside it where there is a ConfigMap."""
        known = self._daemon_sets[program]
        name = self._name + known["name"].removeprefix(f"{{release}}-{self._release.chart}")
        image = self._values["image"]
        tag = image["tag"] or f"v{self._release.version.removeprefix('v')}"
        main = container(program, f"{image['repository']}:{tag}", self._environment(program))
        where = scheduling(known, self._release)
        pods = Pods([main], scheduling=where, annotations=self._annotations())
        if self.config_map:
            config = self._values["config"]
            fallbacks = [str(strategy) for strategy in config["fallbackStrategies"]]
            add_config_manager(pods, program, self.config_map, str(config["default"]), fallbacks)
        return daemon_set(name, self.namespace, program, self._release.name, pods)

    def _annotations(self) -> dict[str, str]:
        given = self._values.get("podAnnotations") or {}
        found = {key: str(value) for key, value in given.items()}
        maps = self._values["config"]["map"]
        if maps:  # so that an edit rolls the pods
            text = json.dumps(maps, sort_keys=True)
            found.setdefault("checksum/config", sha256(text.encode()).hexdigest())
        return found

    def _environment(self, program: str) -> dict[str, str]:
        found = {}
        if program == _PLUGIN:
            found["MPS_ROOT"] = str(self._values["mps"]["root"])
        if isinstance(self._values["migStrategy"], str):
            found["MIG_STRATEGY"] = self._values["migStrategy"]
        if self.config_map:
            found["CONFIG_FILE"] = "/config/config.yaml"
        return found


def worker(release: DeclaredRelease) -> Object:
    """Node feature discovery's worker, which the GPU Operator's chart has too."""
    known = facts_of(release)["daemonSets"][_WORKER]
    main = container(_WORKER, "registry.k8s.io/nfd/node-feature-discovery", {})
    name = known["name"].replace("{release}", release.name)
    pods = Pods([main], scheduling=scheduling(known, release))
    return daemon_set(name, release.namespace, _WORKER, release.name, pods)


def _validate(release: DeclaredRelease, values: Mapping[str, Any]) -> None:
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


def _namespace(release: DeclaredRelease, values: Mapping[str, Any]) -> str:
    return str(values["namespaceOverride"] or release.namespace)
