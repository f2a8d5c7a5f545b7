"""Installing a stack on the lab: nodes, objects, what charts would make; and what goes again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eks_gpushare_lab import rules
from eks_gpushare_lab.client import ApiError, UnknownKindError
from eks_gpushare_lab.install import inventory
from eks_gpushare_lab.install.charts import operands, render, unknown
from eks_gpushare_lab.install.helm_record import record_of, values_in
from eks_gpushare_lab.install.inventory import InstalledStack
from eks_gpushare_lab.install.nodes import POOL, LabNode, UnknownTypeError, nodes_of
from eks_gpushare_lab.install.release import ChartError, UnknownChartError
from eks_gpushare_lab.simulated_node.boot import CONSOLE
from eks_gpushare_lab.simulated_node.gpus import STATE
from eks_gpushare_lab.simulated_node.user_data import AMI_TYPE, USER_DATA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.findings.rule import Rule
    from eks_gpushare_lab.client import Client, Object
    from eks_gpushare_lab.install.desired_cluster import DesiredCluster
    from eks_gpushare_lab.install.manifests import Manifest
    from eks_gpushare_lab.install.release import DeclaredRelease

_CONFLICT = 409
_FOUND_PREFIXES = (
    "nvidia.com/gpu.",
    "nvidia.com/mig.",
    "nvidia.com/mig-",
    "nvidia.com/mps.",
    "feature.node.kubernetes.io/",
)
_CHOSEN = ("nvidia.com/gpu.present", "nvidia.com/mig.config", "nvidia.com/gpu.deploy.operands")
_WORKERS = 8


class Installer:
    """Applies objects and keeps a list of them in the API server, so that it can take them away."""

    def __init__(self, client: Client) -> None:
        """Use an API server."""
        self._client = client
        self.findings: list[Finding] = []
        """What it refused and warned of."""
        self.nodes: list[LabNode] = []
        """The nodes of the stack that is installed."""
        self.made: list[Object] = []
        """Objects of the stack, and of its charts, as they were accepted."""
        self._applied: list[str] = []

    def install(self, desired: DesiredCluster, up: Callable[[], bool] | None = None) -> None:
        """Make the lab what a stack says, and remove what an earlier stack had there.

        Args:
            desired: what a cluster would have of the stack.
            up: makes its objects and releases by other means, and returns whether that went well.
                Default: its objects are applied, and those that the lab knows of its charts.
        """
        before = inventory.read(self._client)
        inventory.remove_releases(self._client, before.releases)
        self._applied, self.made = [], []
        wanted = list(self._wanted(desired))
        with ThreadPoolExecutor(_WORKERS) as workers:
            made = list(workers.map(self._node, wanted))
        self.nodes = [node for node, there in zip(wanted, made, strict=True) if there]
        if up is None:
            for obj in desired.objects:
                self._make(obj, ("objects", _name(obj)))
            for release in desired.releases:
                self._release(release, _installed)
            self._remove(before.paths)
            inventory.keep(self._client, InstalledStack(self._applied))
        else:
            self._remove(before.paths)
            inventory.await_gone(self._client, before.paths, kept=self._applied)
            self._applied += filter(None, map(self._path, desired.objects))
            # First, so that what a run leaves that is killed meanwhile is found again.
            releases = [(release.namespace, release.name) for release in desired.releases]
            inventory.keep(self._client, InstalledStack(self._applied, releases))
            if up():
                for release in desired.releases:
                    self._release(self._as_installed(release), operands)
                inventory.keep(self._client, InstalledStack(self._applied, releases))

    def _as_installed(self, release: DeclaredRelease) -> DeclaredRelease:
        """A release with the values that Helm was given: names in them are made up in each run."""
        found = values_in(inventory.records(self._client, release.namespace, release.name))
        return release if found is None else replace(release, values=found)

    def _path(self, given: Object) -> str | None:
        """Path of an object; None for a custom resource, which goes with its definition."""
        try:
            return self._client.path_of(given)
        except UnknownKindError:
            return None

    def _remove(self, paths: Iterable[str]) -> None:
        for path in reversed(list(paths)):
            if path not in self._applied:
                self._client.delete(path)

    def apply(self, manifests: Iterable[Manifest]) -> list[Object]:
        """Apply manifests and return the objects that were accepted, as they are now."""
        found = []
        for manifest in manifests:
            accepted = self._apply(
                manifest.object, ("apply", manifest.where, _name(manifest.object))
            )
            if accepted is not None:
                found.append(accepted)
        return found

    def _wanted(self, desired: DesiredCluster) -> Iterator[LabNode]:
        for pool in desired.pools:
            try:
                yield from nodes_of(pool)
            except UnknownTypeError as error:
                fix = "Choose a type that the catalog knows."
                self._find(rules.REFUSED, ("pools", pool.name), f"{error}.", fix)

    def _node(self, node: LabNode) -> bool:
        path = f"/api/v1/nodes/{node.name}"
        if not node.joins:
            self._client.delete(path)  # the machine before it, which is replaced
            return True
        try:
            self._client.create(node.object)
        except ApiError as error:
            if error.status != _CONFLICT:
                fix = "See which label or taint the message names."
                self._find(rules.REFUSED, ("pools", node.pool), error.message, fix)
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
        machine = (STATE, CONSOLE)  # is as it is, whatever its node joined with
        notes = {k: v for k, v in metadata["annotations"].items() if k not in machine}
        change: dict[str, Any] = {
            "metadata": {"labels": {**gone, **labels}, "annotations": notes},
            "spec": {"taints": wanted["spec"]["taints"]},
        }
        self._client.patch(path, change)

    def _release(
        self, release: DeclaredRelease, made_of: Callable[[DeclaredRelease], list[Object]]
    ) -> None:
        """Apply what is made of a release: all of it, or what its programs would make."""
        at = ("releases", release.name)
        try:
            objects = made_of(release)
        except UnknownChartError:
            self.findings.append(unknown(release))
            return
        except ChartError as error:
            fix = "Change the chart's values."
            self._find(rules.REFUSED, at, f"The chart {release.chart} refuses: {error}", fix)
            return
        for obj in objects:
            self._make(obj, (*at, _name(obj)))

    def _make(self, given: Object, at: FieldPath) -> None:
        accepted = self._apply(given, at)
        if accepted is not None:
            self.made.append(accepted)

    def _apply(self, given: Object, at: FieldPath) -> Object | None:
        try:
            answer = self._client.apply(given)
        except (ApiError, UnknownKindError) as error:
            self._find(rules.REFUSED, at, _sentence(str(error)), _fix(error, given))
            return None
        self._applied.append(self._client.path_of(answer.object))
        for warning in answer.warnings:
            self._find(rules.WARNED, at, _sentence(warning), "Follow the warning.")
        return answer.object

    def _find(self, code: Rule, at: FieldPath, message: str, fix: str) -> None:
        self.findings.append(code.finding(at, message, fix))


def _installed(release: DeclaredRelease) -> list[Object]:
    """What Helm would leave of a release, its own record among it."""
    return [record_of(release), *render(release)]


def _ours(key: str, wanted: Object) -> bool:
    """Whether a label of a node was the stack's and is not any more.

    Those of discovery, of the operator and of MIG manager stay; they are their own.
    """
    found = key.startswith(_FOUND_PREFIXES)
    return key not in wanted and (not found or key in _CHOSEN)


def _is_other_machine(there: Object, wanted: Object) -> bool:
    """Whether EC2 would have to launch a new one: another type, image or user data."""
    kind = "node.kubernetes.io/instance-type"
    before, after = there["metadata"].get("labels", {}), wanted["metadata"]["labels"]
    notes, new = there["metadata"].get("annotations", {}), wanted["metadata"]["annotations"]
    launched = any(notes.get(key) != new.get(key) for key in (USER_DATA, AMI_TYPE))
    return POOL in notes and (before.get(kind) != after[kind] or launched)


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
