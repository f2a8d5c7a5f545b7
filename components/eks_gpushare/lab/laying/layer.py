"""Laying a stack's Kubernetes half on the lab: nodes, objects, stand-ins, and what goes again."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from eks_gpushare.config.findings import Finding, finding
from eks_gpushare.lab import codes
from eks_gpushare.lab.client import ApiError, UnknownKindError
from eks_gpushare.lab.laying.charts import ChartError, knows, stand_ins
from eks_gpushare.lab.laying.helm_record import record_of
from eks_gpushare.lab.laying.nodes import POOL, LabNode, UnknownTypeError, nodes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eks_gpushare.config.findings import At, Code
    from eks_gpushare.lab.client import Client, Object
    from eks_gpushare.lab.laying.charts import Release
    from eks_gpushare.lab.laying.half import KubernetesHalf
    from eks_gpushare.lab.laying.manifests import Manifest

_INVENTORY = "/api/v1/namespaces/kube-system/configmaps/eks-gpushare-lab"
_CONFLICT = 409
_WORKERS = 8


class Layer:
    """Applies objects and keeps a list of them in the API server, so that it can take them away."""

    def __init__(self, client: Client) -> None:
        """Use an API server."""
        self._client = client
        self.findings: list[Finding] = []
        """What it refused and warned of."""
        self._applied: list[str] = []

    def lay(self, half: KubernetesHalf) -> list[LabNode]:
        """Make the lab what a stack says, and remove what an earlier stack had there.

        Returns:
            The nodes.
        """
        before = self._inventory()
        self._applied = []
        wanted = list(self._wanted(half))
        with ThreadPoolExecutor(_WORKERS) as workers:
            made = list(workers.map(self._node, wanted))
        nodes = [node for node, there in zip(wanted, made, strict=True) if there]
        for each in half.objects:
            self._apply(each, ("objects", _name(each)))
        for release in half.releases:
            self._release(release)
        for path in reversed(before):
            if path not in self._applied:
                self._client.delete(path)
        self._keep_inventory()
        return nodes

    def apply(self, manifests: Iterable[Manifest]) -> list[Object]:
        """Apply manifests and return the objects that were accepted, as they are now."""
        found = []
        for each in manifests:
            accepted = self._apply(each.object, ("apply", each.where, _name(each.object)))
            if accepted is not None:
                found.append(accepted)
        return found

    def _wanted(self, half: KubernetesHalf) -> Iterator[LabNode]:
        for pool in half.pools:
            try:
                yield from nodes_of(pool)
            except UnknownTypeError as error:
                fix = "Choose a type that the catalog knows."
                self._find(codes.REFUSED, ("pools", pool.name), f"{error}.", fix)

    def _node(self, node: LabNode) -> bool:
        path = f"/api/v1/nodes/{node.name}"
        try:
            self._client.create(node.object)
        except ApiError as error:
            if error.status != _CONFLICT:
                fix = "See which label or taint the message names."
                self._find(codes.REFUSED, ("pools", node.pool), error.message, fix)
                return False
            self._update_node(path, node.object)
        self._applied.append(path)
        return True

    def _update_node(self, path: str, wanted: Object) -> None:
        """A node that is there keeps what runs on it and what it advertises."""
        there = self._client.get(path)
        if there is None:
            return
        if _is_other_machine(there, wanted):
            self._client.delete(path)
            self._client.create(wanted)
            return
        metadata, labels = wanted["metadata"], wanted["metadata"]["labels"]
        gone = {key: None for key in there["metadata"].get("labels", {}) if _ours(key, labels)}
        change: dict[str, Any] = {
            "metadata": {"labels": {**gone, **labels}, "annotations": metadata["annotations"]},
            "spec": {"taints": wanted["spec"]["taints"]},
        }
        self._client.patch(path, change)

    def _release(self, release: Release) -> None:
        at = ("releases", release.name)
        if not knows(release):
            message = f"The lab knows no chart {release.chart}; nothing of {release.name} is there."
            fix = "Nothing, if no pod of the chart matters here; else apply its manifests."
            self._find(codes.UNKNOWN_CHART, at, message, fix)
            return
        try:
            objects = stand_ins(release)
        except ChartError as error:
            fix = "Change the chart's values."
            self._find(codes.REFUSED, at, f"The chart {release.chart} refuses: {error}", fix)
            return
        for each in (record_of(release), *objects):
            self._apply(each, (*at, _name(each)))

    def _apply(self, given: Object, at: At) -> Object | None:
        try:
            answer = self._client.apply(given)
        except (ApiError, UnknownKindError) as error:
            self._find(codes.REFUSED, at, _sentence(str(error)), _fix(error, given))
            return None
        self._applied.append(self._client.path_of(answer.object))
        for warning in answer.warnings:
            self._find(codes.WARNED, at, _sentence(warning), "Follow the warning.")
        return answer.object

    def _find(self, code: Code, at: At, message: str, fix: str) -> None:
        self.findings.append(finding(code, at, message, fix))

    def _inventory(self) -> list[str]:
        there = self._client.get(_INVENTORY)
        return json.loads(there["data"]["paths"]) if there else []

    def _keep_inventory(self) -> None:
        name = _INVENTORY.rpartition("/")[2]
        kept: Object = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "kube-system"},
            "data": {"paths": json.dumps(self._applied)},
        }
        self._client.apply(kept)


def _ours(key: str, wanted: Object) -> bool:
    """Whether a label of a node was the stack's and is not any more.

    Labels of GPU feature discovery stay; they are its own.
    """
    discovered = key.startswith(("nvidia.com/gpu.", "nvidia.com/mig.", "nvidia.com/mps."))
    return key not in wanted and (not discovered or key == "nvidia.com/gpu.present")


def _is_other_machine(there: Object, wanted: Object) -> bool:
    kind = "node.kubernetes.io/instance-type"
    before, after = there["metadata"].get("labels", {}), wanted["metadata"]["labels"]
    return POOL in there["metadata"].get("annotations", {}) and before.get(kind) != after[kind]


def _name(given: Object) -> str:
    metadata = given["metadata"]
    name = metadata.get("name") or metadata.get("generateName")
    namespace = metadata.get("namespace")
    return f"{given['kind']} {namespace}/{name}" if namespace else f"{given['kind']} {name}"


def _sentence(message: str) -> str:
    return message if message.endswith((".", "!", "?")) else f"{message}."


def _fix(error: Exception, given: Object) -> str:
    namespace = given["metadata"].get("namespace")
    if isinstance(error, UnknownKindError):
        return "Check apiVersion and kind; a custom resource needs its definition applied first."
    if namespace and f'namespaces "{namespace}" not found' in str(error):
        return f"Apply a Namespace {namespace} first: put one at the top of the manifest."
    return "Change the field that the message names."
