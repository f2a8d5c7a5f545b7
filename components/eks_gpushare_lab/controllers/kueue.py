"""Kueue's real controller and webhooks, outside the cluster.

It is configured by what was applied: the values of its chart's release, and the chart's own
defaults where nothing installs it. It runs as the lab's administrator, so that what Kueue's own
roles allow is not seen here. Its webhooks select the namespaces that the chart would have them
select, and refuse what they refuse on EKS, with Kueue stopped too.
"""

from __future__ import annotations

import base64
import copy
import json
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import urllib3
import yaml

from eks_gpushare.documents.helm import merge_values
from eks_gpushare_lab.client import ApiError
from eks_gpushare_lab.host.folders import make_private, write_private

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from eks_gpushare_lab.client import Client, Object
    from eks_gpushare_lab.install.release import DeclaredRelease

CHART = "kueue"
"""The chart that installs it, and the name of its process."""
GROUP = "kueue.x-k8s.io"
"""API group of its kinds."""
NAMESPACE = "kueue-system"
"""Where it is installed, unless a release says another."""

_CONFIGURATION = "controller_manager_config.yaml"
_CERTIFICATES = "kueue-certificates"
_PAIR = ("ca.crt", "tls.crt", "tls.key")
_WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"
_KINDS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
_MARK = {"eks-gpushare-lab/kueue": "true"}
_OK = 200
_SECONDS = 10.0
_MANAGED = "kueue.x-k8s.io/managed"  # finalizer of pods that it has queued
# Kinds that the patches of config/components/crd/kustomization.yaml convert, of v0.16.2. Without
# one of them the program waits for ever for its certificates.
_CONVERTED = ("localqueues", "clusterqueues", "cohorts", "workloads", "multikueueclusters")
# Kinds of Kubernetes whose webhooks select namespaces even where nothing says which:
# charts/kueue/templates/webhook/manifests.yaml of v0.16.2.
_ALWAYS_SELECTED = ("pod", "deployment", "statefulset")


class KueueSetting(NamedTuple):
    """What a release, or none, makes of Kueue."""

    name: str
    """What names of its objects start with: `kueue.fullname` of the chart."""
    namespace: str
    """Where it is installed."""
    configuration: Mapping[str, Any]
    """Its configuration as it was applied."""
    gates: tuple[str, ...] = ()
    """Feature gates, as "Name=true"."""


def wanted(objects: Iterable[Object], releases: Iterable[DeclaredRelease] = ()) -> bool:
    """Whether anything of a stack or of manifests is its own."""
    return any(map(is_its, objects)) or any(release.chart == CHART for release in releases)


def is_its(given: Mapping[str, Any]) -> bool:
    """Whether an object is of one of its kinds."""
    return str(given.get("apiVersion", "")).partition("/")[0] == GROUP


def setting_of(release: DeclaredRelease | None, defaults: Mapping[str, Any]) -> KueueSetting:
    """How its chart would have it run.

    Args:
        release: of the chart; None for the chart's own defaults.
        defaults: values of the chart.
    """
    values = merge_values(defaults, release.values if release else {})
    text = values["managerConfig"]["controllerManagerConfigYaml"]
    found = yaml.safe_load(text) or {}
    gates = values["controllerManager"].get("featureGates") or ()
    return KueueSetting(
        _full_name(release.name if release else CHART, values),
        release.namespace if release else NAMESPACE,
        found,
        tuple(f"{gate['name']}={str(gate['enabled']).lower()}" for gate in gates),
    )


def _full_name(release: str, values: Mapping[str, Any]) -> str:
    if values.get("fullnameOverride"):
        return str(values["fullnameOverride"])
    chart = str(values.get("nameOverride") or CHART)
    return release if chart in release else f"{release}-{chart}"


def configuration(setting: KueueSetting, ports: Sequence[int], certificates: Path) -> Object:
    """Its configuration here: as applied, with what a process needs that is no pod.

    Args:
        setting: what was applied.
        ports: of its health, its metrics and its webhooks.
        certificates: folder of the webhooks' certificates.
    """
    health, metrics, webhook = ports
    found: Object = copy.deepcopy(dict(setting.configuration))
    found["health"] = {"healthProbeBindAddress": f"127.0.0.1:{health}"}
    found["metrics"] = {**(found.get("metrics") or {}), "bindAddress": f"127.0.0.1:{metrics}"}
    found["webhook"] = {"host": "127.0.0.1", "port": webhook, "certDir": str(certificates)}
    found["leaderElection"] = {"leaderElect": False}
    found["internalCertManagement"] = {
        "enable": True,
        "webhookServiceName": _service(setting),
        "webhookSecretName": _secret(setting),
    }
    found["clientConnection"] = {"qps": 500, "burst": 1000}
    return found


def definitions(documents: Iterable[Object], setting: KueueSetting, port: int) -> Iterator[Object]:
    """What leads the API server to it, and the definitions of its kinds and webhooks.

    A Service of type ExternalName goes to where the name does, and to the port that is asked for.
    The authority of the certificates is written into them by Kueue itself.

    Args:
        documents: its module's definitions of kinds and of webhooks.
        setting: what was applied.
        port: of its webhooks.
    """
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": setting.namespace}}
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": _service(setting), "namespace": setting.namespace},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }
    yield {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": _secret(setting), "namespace": setting.namespace},
    }
    service = {"name": _service(setting), "namespace": setting.namespace, "port": port}
    for document in documents:
        if document["kind"] == "CustomResourceDefinition":
            yield _converted(document, service)
        else:
            yield _selecting(document, setting, service)


def _converted(definition: Object, service: Mapping[str, Any]) -> Object:
    if definition["spec"]["names"]["plural"] not in _CONVERTED:
        return definition
    webhook = {
        "clientConfig": {"service": {**service, "path": "/convert"}},
        "conversionReviewVersions": ["v1"],
    }
    conversion = {"strategy": "Webhook", "webhook": webhook}
    return {**definition, "spec": {**definition["spec"], "conversion": conversion}}


def _selecting(document: Object, setting: KueueSetting, service: Mapping[str, Any]) -> Object:
    """Webhooks for the namespaces that the chart has them select."""
    applied = setting.configuration
    frameworks = (applied.get("integrations") or {}).get("frameworks") or ()
    not_system = ["kube-system", setting.namespace]
    others = [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": not_system}]
    found = copy.deepcopy(document)
    kind = "mutating" if document["kind"].startswith("Mutating") else "validating"
    found["metadata"] = {"name": f"{setting.name}-{kind}-webhook-configuration", "labels": _MARK}
    for webhook in found["webhooks"]:
        webhook["clientConfig"]["service"] |= service
        if GROUP in webhook["rules"][0]["apiGroups"]:
            continue
        framework = webhook["name"].partition(".")[0][1:]
        if "managedJobsNamespaceSelector" in applied:
            webhook["namespaceSelector"] = applied["managedJobsNamespaceSelector"]
        elif framework in _ALWAYS_SELECTED:
            webhook["namespaceSelector"] = {"matchExpressions": others}
        if framework in _ALWAYS_SELECTED and framework not in frameworks:
            webhook["failurePolicy"] = "Ignore"
    return found


def command(
    setting: KueueSetting, kubeconfig: Path, folder: Path, ports: Sequence[int]
) -> tuple[list[str], dict[str, str]]:
    """Its flags and environment, once its configuration is written.

    Args:
        setting: what was applied.
        kubeconfig: of the lab's administrator.
        folder: for its files.
        ports: of its health, its metrics and its webhooks.
    """
    certificates = make_private(folder / _CERTIFICATES)
    file = folder / _CONFIGURATION
    write_private(file, json.dumps(configuration(setting, ports, certificates)).encode())
    # Its API of waiting workloads wants another APIService, and nobody here asks for it.
    gates = ",".join([*setting.gates, "VisibilityOnDemand=false"])
    environment = {"KUBECONFIG": str(kubeconfig), "POD_NAMESPACE": setting.namespace}
    flags = [f"--config={file}", f"--feature-gates={gates}", "--zap-log-level=2"]
    return flags, environment


def take_certificates(client: Client, setting: KueueSetting, folder: Path) -> None:
    """Have its certificates where a kubelet would mount them: it waits for them there.

    Args:
        client: the API server.
        setting: what was applied.
        folder: as `command` was given it.
    """
    path = f"/api/v1/namespaces/{setting.namespace}/secrets/{_secret(setting)}"
    data = (client.get(path) or {}).get("data") or {}
    for name in _PAIR:
        file = folder / _CERTIFICATES / name
        if name in data:
            content = base64.b64decode(data[name])
            if not file.exists() or file.read_bytes() != content:
                write_private(file, content)


def answers(client: Client, url: str) -> bool:
    """Whether it is ready and judges: its webhooks are asked about a flavor that nobody keeps.

    Args:
        client: the API server.
        url: of its readiness.
    """
    try:
        if urllib3.request("GET", url, retries=False, timeout=1).status != _OK:
            return False
        probe = {"apiVersion": f"{GROUP}/v1beta2", "kind": "ResourceFlavor"}
        path = f"/apis/{GROUP}/v1beta2/resourceflavors"
        body = {**probe, "metadata": {"name": "eks-gpushare-lab"}}
        client.request("POST", path, query={"dryRun": "All"}, body=body)
    except (urllib3.exceptions.HTTPError, ApiError):
        return False
    return True


def knows_queues(client: Client) -> bool:
    """Whether it has looked at every queue of a namespace.

    A workload that comes before the queue `default` of its namespace is known is in none, for good.
    """
    queues = client.list(f"/apis/{GROUP}/v1beta2/localqueues")[0]
    return all(queue.get("status", {}).get("conditions") for queue in queues)


def _service(setting: KueueSetting) -> str:
    return f"{setting.name}-webhook-service"


def _secret(setting: KueueSetting) -> str:
    return f"{setting.name}-webhook-server-cert"


def let_go(client: Client) -> None:
    """Leave nothing behind that hangs without Kueue.

    Its webhooks refuse what nobody judges, and its objects and pods wait for its finalizers. Where
    it never was, nothing is done.
    """
    found = False
    for kind in _KINDS:
        for configured in client.list(f"{_WEBHOOKS}/{kind}")[0]:
            metadata = configured["metadata"]
            if _MARK.items() <= (metadata.get("labels") or {}).items():
                client.delete(f"{_WEBHOOKS}/{kind}/{metadata['name']}")
                found = True
    if not found:
        return
    for plural in _CONVERTED:  # nobody converts any more, and every version has these fields
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.{GROUP}"
        client.patch(path, {"spec": {"conversion": {"strategy": "None", "webhook": None}}})
    deadline = time.monotonic() + _SECONDS
    while True:
        try:
            _bare(client)
        except ApiError:  # it takes a moment until they are served so
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def _bare(client: Client) -> None:
    """Take Kueue's finalizers away, from its own objects and from pods."""
    bare = {"metadata": {"finalizers": None}}
    paths = {r.plural: r for r in client.kinds() if r.base.startswith(f"/apis/{GROUP}/")}
    for plural, resource in paths.items():
        for obj in client.list(f"/apis/{GROUP}/v1beta2/{plural}")[0]:
            metadata = obj["metadata"]
            if metadata.get("finalizers"):
                path = resource.path(metadata.get("namespace"), metadata["name"])
                client.patch(path.replace("/v1beta1/", "/v1beta2/"), bare)
    for pod in client.list("/api/v1/pods")[0]:
        metadata = pod["metadata"]
        if _MANAGED in (metadata.get("finalizers") or ()):
            client.patch(
                f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}", bare
            )
