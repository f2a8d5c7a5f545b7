"""The real Cluster Autoscaler, started as its chart's Deployment would start it.

What the lab adds are the ways to its own API server and AWS, and shorter delays: nobody waits ten
minutes to see a node go. What no flag shortens stays as it is: it asks AWS once a minute what has
become of its groups, and until the oldest waiting pod with `nvidia.com/gpu` is half a minute old,
it waits for more of them. At its start it asks at once, so `start_anew` saves the minute.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.duration import seconds
from eks_gpushare.documents.helm import merge_values
from eks_gpushare_lab.binaries import build, versions
from eks_gpushare_lab.controllers.processes import ControllerProcess
from eks_gpushare_lab.host.folders import write_private

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare_lab.cloud.emulation import Cloud
    from eks_gpushare_lab.control_plane.state import Lab
    from eks_gpushare_lab.install.release import DeclaredRelease

CHART = "cluster-autoscaler"
"""Name of its chart."""

COMPRESSED = 60
"""A minute of its delays is a second here."""

PACE = {
    "scan-interval": 10.0,
    "scale-down-unneeded-time": 600.0,
    "scale-down-delay-after-add": 600.0,
    "scale-down-delay-after-failure": 180.0,
    "scale-down-unready-time": 1200.0,
    "unremovable-node-recheck-timeout": 300.0,
    "initial-node-group-backoff-duration": 300.0,
    "max-node-group-backoff-duration": 1800.0,
    "node-delete-delay-after-taint": 5.0,
}
"""Flags whose delays are compressed, with their defaults in seconds.

Not among them is max-node-provision-time: with less than the minute between two looks at AWS, it
would give up on nodes that are there.

Source: cluster-autoscaler/config/flags/flags.go of kubernetes/autoscaler, 1.33.0.
"""

HERE = {
    "leader-elect": "false",
    "address": "127.0.0.1:0",
    "kube-client-qps": "200",
    "kube-client-burst": "400",
}
"""Flags that a process needs here and not in a pod."""

_FASTEST_SECONDS = 1.0
_SERVICES = ("autoscaling", "ec2", "eks")
# charts/cluster-autoscaler/values.yaml of kubernetes/autoscaler, chart 9.59.0
_DEFAULTS: dict[str, Any] = {
    "cloudProvider": "aws",
    "autoDiscovery": {
        "clusterName": None,
        "tags": [
            "k8s.io/cluster-autoscaler/enabled",
            "k8s.io/cluster-autoscaler/{{ .Values.autoDiscovery.clusterName }}",
        ],
    },
    "autoscalingGroups": [],
    "extraArgs": {"logtostderr": True, "stderrthreshold": "info", "v": 4},
    "customArgs": [],
}
_CLUSTER_NAME = re.compile(r"\{\{-?\s*\.Values\.autoDiscovery\.clusterName\s*-?\}\}")


def arguments_of(release: DeclaredRelease) -> list[str]:
    """The arguments of the container, as the chart's template renders them of its values."""
    values = merge_values(_DEFAULTS, release.values)
    found = [f"--cloud-provider={values['cloudProvider']}", f"--namespace={release.namespace}"]
    found += [
        f"--nodes={group['minSize']}:{group['maxSize']}:{group['name']}"
        for group in values["autoscalingGroups"] or ()
    ]
    discovery = values["autoDiscovery"]
    name = str(discovery.get("clusterName") or "")
    if name:
        tags = ",".join(map(str, discovery["tags"]))
        tags = _CLUSTER_NAME.sub(lambda _: name, tags)
        found.append(f"--node-group-auto-discovery=asg:tag={tags}")
    for key, value in sorted((values["extraArgs"] or {}).items()):
        flag = str(key).partition("_")[0]
        found.append(f"--{flag}" if value is None else f"--{flag}={_text(value)}")
    return [*found, *map(str, values["customArgs"] or ())]


def compressed(arguments: Sequence[str]) -> Iterator[str]:
    """Flags that shorten delays, those that are given and those that are not."""
    given = dict(
        argument.removeprefix("--").split("=", 1) for argument in arguments if "=" in argument
    )
    for flag, default in PACE.items():
        found = seconds(given.get(flag, ""))
        wanted = (default if found is None else float(found)) / COMPRESSED
        yield f"--{flag}={max(wanted, _FASTEST_SECONDS):g}s"


def cloud_config(url: str, region: str) -> str:
    """The file by which it finds AWS elsewhere: its SDK does not read AWS_ENDPOINT_URL."""
    return "".join(
        f'[ServiceOverride "{service}"]\nService = {service}\nRegion = {region}\n'
        f"URL = {url}\nSigningRegion = {region}\n"
        for service in _SERVICES
    )


class ClusterAutoscalerProcess(ControllerProcess):
    """The controller."""

    def __init__(self, lab: Lab, cloud: Cloud, release: DeclaredRelease) -> None:
        """Describe it, as any."""
        super().__init__(CHART, lab, cloud, release)
        self.started = 0.0
        """When it was last started, by `time.time`."""

    def start_anew(self) -> None:
        """Have it forget what it knows, and look at AWS now. Call this from the main thread."""
        self._processes.stop()
        self.start()

    def start(self) -> None:
        """Start it; what it said before stays in its log."""
        self.started = time.time()
        program = build.programs((versions.cluster_autoscaler(),)).paths[CHART]
        self._processes.spawn(
            CHART, program, self.arguments(), self._cloud.environment, append=True
        )

    def arguments(self) -> list[str]:
        """Its arguments here: of a flag that comes twice the last one counts."""
        file = self._lab.directory / "cloud.conf"
        text = cloud_config(self._cloud.url, self._cloud.account.region)
        write_private(file, text.encode())
        given = arguments_of(self._release)
        return [
            *given,
            *compressed(given),
            f"--kubeconfig={self._lab.kubeconfig}",
            f"--cloud-config={file}",
            *(f"--{flag}={value}" for flag, value in HERE.items()),
        ]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
