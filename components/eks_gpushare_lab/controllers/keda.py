"""KEDA's real operator and metrics adapter, outside the cluster.

The operator asks Prometheus and wakes and stops workloads; the adapter hands what it measured to
the controller of HorizontalPodAutoscalers, by way of the API server. Both run as the lab's
administrator, so that what KEDA's own roles allow is not seen here. Its admission webhooks are left
out; the definitions of its kinds are its own, and refuse what they refuse on EKS.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from eks_gpushare_lab.host.folders import make_private, write_private

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from eks_gpushare_lab.client import Client, Object
    from eks_gpushare_lab.control_plane.certificates import ServiceAuthority
    from eks_gpushare_lab.controllers.processes import Processes
    from eks_gpushare_lab.install.release import DeclaredRelease

CHART = "keda"
"""The chart that installs it."""
GROUP = "keda.sh"
"""API group of its kinds."""
NAMESPACE = "keda"
"""Where it is installed, unless a release says another."""

_OPERATOR, _ADAPTER = "keda-operator", "keda-adapter"
_SERVICE = "keda-operator-metrics-apiserver"
_API = "v1beta1.external.metrics.k8s.io"
_CERTIFICATES = "keda-certificates"
_RATE = ("--kube-api-qps=500", "--kube-api-burst=1000")


def definitions(files: Sequence[Path]) -> Iterator[Object]:
    """The definitions of its kinds."""
    for file in files:
        yield yaml.safe_load(file.read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class KedaSetting:
    """What its programs are started with."""

    programs: Mapping[str, Path]
    """Paths by name."""
    kubeconfig: Path
    """Of the lab's administrator."""
    proxy: str
    """Host and port of what stands in for the Prometheus servers that ScaledObjects name."""
    authority: ServiceAuthority
    """Vouches for its programs, and for what the proxy stands in for."""
    namespace: str = NAMESPACE
    """Where its release is installed."""
    watched: str = ""
    """The only namespace that it looks at; all where `""`."""


def start(processes: Processes, setting: KedaSetting, ports: Sequence[int]) -> None:
    """Start both.

    Args:
        processes: starts them.
        setting: with what.
        ports: three: of the operator for the adapter, of the adapter for the API server, and of the
            operator's health.
    """
    for_adapter, for_api, health = ports
    names = (f"{_SERVICE}.{setting.namespace}", f"{_SERVICE}.{setting.namespace}.svc")
    folder = make_private(processes.folder / _CERTIFICATES)
    setting.authority.write(folder, names)
    trusted = make_private(folder / "trusted")
    write_private(trusted / "ca.crt", setting.authority.certificate)
    common = {
        "KUBECONFIG": str(setting.kubeconfig),
        "POD_NAMESPACE": setting.namespace,
        "KEDA_CLUSTER_OBJECT_NAMESPACE": setting.namespace,
        "WATCH_NAMESPACE": setting.watched,
    }
    # What the operator asks on this machine, the API server and the adapter, it asks directly: Go
    # takes no proxy for 127.0.0.1.
    proxy = f"http://{setting.proxy}"
    outside = {
        "HTTP_PROXY": proxy,
        "HTTPS_PROXY": proxy,
        # What it asks of Amazon's Prometheus it signs, with whatever it has.
        "AWS_ACCESS_KEY_ID": "lab",
        "AWS_SECRET_ACCESS_KEY": "lab",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    operator = (
        f"--cert-dir={folder}",
        f"--ca-dir={trusted}",
        f"--metrics-service-bind-address=127.0.0.1:{for_adapter}",
        f"--health-probe-bind-address=127.0.0.1:{health}",
        "--metrics-bind-address=0",
        "--enable-webhook-patching=false",
        "--enable-apiservice-patching=false",
        "--zap-log-level=info",
        *_RATE,
    )
    kubeconfigs = ("lister", "authentication", "authorization")
    adapter = (
        f"--cert-dir={folder}",
        f"--tls-cert-file={folder / 'tls.crt'}",
        f"--tls-private-key-file={folder / 'tls.key'}",
        f"--metrics-service-address=127.0.0.1:{for_adapter}",
        "--bind-address=127.0.0.1",
        f"--secure-port={for_api}",
        "--port=0",
        *(f"--{flag}-kubeconfig={setting.kubeconfig}" for flag in kubeconfigs),
        *_RATE,
    )
    processes.spawn(_OPERATOR, setting.programs[_OPERATOR], operator, {**common, **outside})
    processes.spawn(_ADAPTER, setting.programs[_ADAPTER], adapter, common)


def services(namespace: str, port: int, authority: bytes) -> Iterator[Object]:
    """What leads the API server to the adapter, which is no pod.

    A Service of type ExternalName goes to where the name does, and to the APIService's own port.
    """
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": _SERVICE, "namespace": namespace},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }
    service = {"name": _SERVICE, "namespace": namespace, "port": port}
    yield {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": _API},
        "spec": {
            "group": _API.partition(".")[2],
            "version": _API.partition(".")[0],
            "service": service,
            "caBundle": base64.b64encode(authority).decode(),
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
        },
    }


def is_available(client: Client) -> bool:
    """Whether the API server reaches the adapter."""
    found = client.get(f"/apis/apiregistration.k8s.io/v1/apiservices/{_API}") or {}
    conditions = found.get("status", {}).get("conditions") or ()
    return any(
        condition["type"] == "Available" and condition["status"] == "True"
        for condition in conditions
    )


def wanted(objects: Iterable[Object], releases: Iterable[DeclaredRelease] = ()) -> bool:
    """Whether anything of a stack or of manifests is its own."""
    return any(map(is_its, objects)) or any(release.chart == CHART for release in releases)


def is_its(given: Mapping[str, Any]) -> bool:
    """Whether an object is of one of its kinds."""
    return str(given.get("apiVersion", "")).partition("/")[0].endswith(GROUP)


def trouble(client: Client, namespace: str, name: str) -> str:
    """Why KEDA does not scale by a ScaledObject, in its own words; `""` if it does."""
    path = f"/apis/{GROUP}/v1alpha1/namespaces/{namespace}/scaledobjects/{name}"
    conditions = (client.get(path) or {}).get("status", {}).get("conditions") or ()
    for condition in conditions:
        if condition["type"] in {"Ready", "HPAActive"} and condition["status"] == "False":
            return f"{condition.get('reason', '')}: {condition.get('message', '')}"
    return ""


def let_go(client: Client) -> None:
    """Leave nothing behind that hangs without KEDA.

    An API that nobody serves keeps namespaces from going, and a ScaledObject waits for its
    finalizer.
    """
    client.delete(f"/apis/apiregistration.k8s.io/v1/apiservices/{_API}")
    for kind in ("scaledobjects", "scaledjobs"):
        for obj in client.list(f"/apis/{GROUP}/v1alpha1/{kind}")[0]:
            metadata = obj["metadata"]
            path = f"/apis/{GROUP}/v1alpha1/namespaces/{metadata['namespace']}/{kind}"
            client.patch(f"{path}/{metadata['name']}", {"metadata": {"finalizers": None}})
