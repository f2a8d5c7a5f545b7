"""Karpenter's own controller for AWS, started as its chart's Deployment would start it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import yaml

from eks_gpushare.documents.helm import merge_values
from eks_gpushare_lab.binaries import build, versions
from eks_gpushare_lab.client import ApiError
from eks_gpushare_lab.controllers.processes import ControllerProcess
from eks_gpushare_lab.controllers.shorter_times import faster
from eks_gpushare_lab.controllers.shorter_waits import shorter_batches
from eks_gpushare_lab.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare_lab.client import Client, Object
    from eks_gpushare_lab.cloud.emulation import Cloud
    from eks_gpushare_lab.control_plane.state import Lab
    from eks_gpushare_lab.install.release import DeclaredRelease

CHART = "karpenter"
"""Name of its chart."""

_SERVED_SECONDS = 30.0
_JUDGED = ("/apis/karpenter.sh/v1/nodepools", "/apis/karpenter.sh/v1alpha1/nodeoverlays")
# charts/karpenter/values.yaml of github.com/aws/karpenter-provider-aws v1.14.1
_DEFAULTS: dict[str, Any] = {
    "logLevel": "info",
    "controller": {"env": []},
    "settings": {
        "batchMaxDuration": "10s",
        "batchIdleDuration": "1s",
        "preferencePolicy": "Respect",
        "minValuesPolicy": "Strict",
        "vmMemoryOverheadPercent": 0.075,
        "reservedENIs": "0",
        "ignoreDRARequests": True,
        "amiRefreshInterval": "1m",
        "subnetRefreshInterval": "1m",
        "featureGates": {
            "reservedCapacity": True,
            "spotToSpotConsolidation": False,
            "nodeRepair": False,
            "nodeOverlay": False,
            "staticCapacity": False,
            "capacityBuffer": False,
        },
    },
}
# charts/karpenter/templates/deployment.yaml of the same
_SETTINGS = {
    "batchMaxDuration": "BATCH_MAX_DURATION",
    "batchIdleDuration": "BATCH_IDLE_DURATION",
    "preferencePolicy": "PREFERENCE_POLICY",
    "minValuesPolicy": "MIN_VALUES_POLICY",
    "clusterCABundle": "CLUSTER_CA_BUNDLE",
    "clusterName": "CLUSTER_NAME",
    "clusterEndpoint": "CLUSTER_ENDPOINT",
    "isolatedVPC": "ISOLATED_VPC",
    "eksControlPlane": "EKS_CONTROL_PLANE",
    "vmMemoryOverheadPercent": "VM_MEMORY_OVERHEAD_PERCENT",
    "interruptionQueue": "INTERRUPTION_QUEUE",
    "enableZonalShift": "ENABLE_ZONAL_SHIFT",
    "reservedENIs": "RESERVED_ENIS",
    "ignoreDRARequests": "IGNORE_DRA_REQUESTS",
    "disableClusterStateObservability": "DISABLE_CLUSTER_STATE_OBSERVABILITY",
    "disableDryRun": "DISABLE_DRY_RUN",
    "amiRefreshInterval": "AMI_REFRESH_INTERVAL",
    "subnetRefreshInterval": "SUBNET_REFRESH_INTERVAL",
}


def definitions() -> list[Object]:
    """The definitions of Karpenter's kinds, of the module that the controller is built of."""
    tool = versions.karpenter_crds()
    files = build.programs((tool,)).files[tool.name]
    return [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]


def define(client: Client) -> None:
    """Have the API server know Karpenter's kinds, and judge objects by their rules.

    Raises:
        LabError: If it does not take them.
    """
    wanted = definitions()
    for crd in wanted:
        client.apply(crd)
    deadline = time.monotonic() + _SERVED_SECONDS
    for crd in wanted:
        while not _is_served(client, crd["spec"]):
            if time.monotonic() > deadline:
                raise LabError(f"the API server does not serve {crd['metadata']['name']}")
            time.sleep(0.05)


def environment_of(release: DeclaredRelease) -> dict[str, str]:
    """The environment of the controller's container, as the chart renders it of its values."""
    values = merge_values(_DEFAULTS, release.values)
    settings = values["settings"]
    gates = (f"{name[:1].upper()}{name[1:]}={_text(on)}" for name, on in _gates(settings).items())
    found = {
        "KARPENTER_SERVICE": release.name,
        "LOG_LEVEL": str(values["logLevel"]),
        "SYSTEM_NAMESPACE": release.namespace,
        "FEATURE_GATES": ",".join(gates),
    }
    for key, variable in _SETTINGS.items():
        if settings.get(key):  # `with` leaves out what is empty, false or 0
            found[variable] = _text(settings[key])
    for value in values["controller"].get("env") or ():
        if "value" in value:
            found[str(value["name"])] = str(value["value"])
    return found


class KarpenterProcess(ControllerProcess):
    """The controller, which logs a line of JSON for each thing that it does."""

    def __init__(self, lab: Lab, cloud: Cloud, release: DeclaredRelease) -> None:
        """Describe it, as any."""
        super().__init__(CHART, lab, cloud, release)

    def start(self) -> None:
        """Start it."""
        given = environment_of(self._release)
        environment = {
            **given,
            **shorter_batches(given, faster()),
            **self._cloud.environment,
            "KUBECONFIG": str(self._lab.kubeconfig),
            "DISABLE_LEADER_ELECTION": "true",
            # It cannot be told to listen on one address only, so on a port that nobody knows.
            "METRICS_PORT": "0",
            "HEALTH_PROBE_PORT": "0",
        }
        program = build.programs((versions.karpenter(),)).paths[CHART]
        self._processes.spawn(CHART, program, (), environment, append=True)


def knows_pools(client: Client) -> bool:
    """Whether Karpenter can make nodes for every pool that is there, with what is promised of them.

    A pool that is not ready yet when pods come is looked at again after ten seconds only.
    """
    return all(_is_ready(crd) for path in _JUDGED for crd in client.list(path)[0])


def _is_ready(given: Object) -> bool:
    conditions = given.get("status", {}).get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _gates(settings: dict[str, Any]) -> dict[str, Any]:
    """The feature gates that the template names; others in the values go nowhere."""
    known = _DEFAULTS["settings"]["featureGates"]
    return {name: settings["featureGates"].get(name) for name in known}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_served(client: Client, spec: Mapping[str, Any]) -> bool:
    """Whether objects of a kind can be listed: Established comes before its storage is there."""
    group, plural = spec["group"], spec["names"]["plural"]
    versions_of = [version["name"] for version in spec["versions"] if version["served"]]
    try:
        return all(
            client.get(f"/apis/{group}/{version}/{plural}?limit=1") for version in versions_of
        )
    except ApiError:
        return False
