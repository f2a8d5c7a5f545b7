"""The files that a stack file names: whether they are there, and hold what they should.

Everything else of a stack file is checked from its text alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.config.base import UnreadError
from eks_gpushare.config.cluster import ClusterByKubeconfig, ExistingCluster
from eks_gpushare.documents.local_paths import located
from eks_gpushare.rules.local_files import CHART_ON_DISK, CONTEXT, KUBECONFIG
from eks_gpushare.stack_file.project import ProjectError, find_project
from eks_gpushare.stack_file.yaml import MAX_BYTES, read
from eks_gpushare.validation.shape import similar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eks_gpushare.config.environment import Environment
    from eks_gpushare.findings.finding import FieldPath, Finding

_KUBECONFIG_AT: FieldPath = ("cluster", "existing", "kubeconfig")
_CONTEXT_AT: FieldPath = ("cluster", "existing", "context")
_CHARTS = (
    *("device_plugin", "gpu_operator", "karpenter", "karpenter_crd", "cluster_autoscaler", "keda"),
    *("kueue", "prometheus"),
    *("efa_device_plugin", "dcgm_exporter"),
)
_MOST_NAMES = 6


def program_folder(stack_file: Path) -> Path:
    """The folder from which paths of a stack file start: that of its program.

    Of a file that belongs to no program it is the file's own.
    """
    try:
        return find_project(stack_file).program
    except (ProjectError, OSError):
        return stack_file.parent


def check_local_files(environment: Environment, folder: Path) -> Iterator[Finding]:
    """What is wrong with the files that an environment names.

    Args:
        environment: As far as it could be read.
        folder: Of the program.
    """
    try:
        cluster = environment.cluster
        existing = cluster.existing if isinstance(cluster, ExistingCluster) else None
        if isinstance(existing, ClusterByKubeconfig) and existing.kubeconfig.strip():
            yield from _kubeconfig(existing, folder)
    except UnreadError:
        pass
    try:
        charts = environment.charts
        for name in _CHARTS:
            chart = getattr(charts, name)
            if chart is not None and chart.path:
                alias = type(charts).model_fields[name].alias or name
                yield from _chart(("charts", alias, "path"), chart.path, folder)
    except UnreadError:
        return


def names_files(environment: Environment) -> bool:
    """Whether an environment names a file at all; few do."""
    try:
        cluster, charts = environment.cluster, environment.charts
        existing = isinstance(cluster, ExistingCluster) and isinstance(
            cluster.existing, ClusterByKubeconfig
        )
        return existing or bool(charts.model_fields_set)
    except UnreadError:
        return True


def _kubeconfig(existing: ClusterByKubeconfig, folder: Path) -> Iterator[Finding]:
    given = existing.kubeconfig
    path = located(given, folder)
    why = _why_no_file(path)
    if why is not None:
        yield KUBECONFIG.finding(_KUBECONFIG_AT, f"{_shown(given, path)} {why}", _fix(given))
        return
    try:
        content = path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        message = f"{_shown(given, path)} cannot be read: {reason}."
        yield KUBECONFIG.finding(_KUBECONFIG_AT, message, "Let whoever runs Pulumi read it.")
        return
    if len(content) > MAX_BYTES:  # of hundreds of clusters; the provider will read it
        return
    document = read(content, given)
    if not document.readable or not isinstance(document.value, dict):
        why = "it is empty"
        if document.problems:
            first = document.problems[0]
            why = f"line {first.line}: {first.message}"
        elif document.value is not None:
            why = "it holds no mapping"
        message = f"{_shown(given, path)} is no kubeconfig: {why}."
        yield KUBECONFIG.finding(_KUBECONFIG_AT, message, _fix(given))
        return
    yield from _context(existing, document.value)


def _context(existing: ClusterByKubeconfig, config: dict[str, Any]) -> Iterator[Finding]:
    given, contexts = existing.kubeconfig, _named(config, "contexts", "context")
    name = existing.context or config.get("current-context")
    at = _CONTEXT_AT if existing.context else _KUBECONFIG_AT
    if not contexts:
        message = f"{given} has no contexts."
        yield KUBECONFIG.finding(_KUBECONFIG_AT, message, _fix(given))
        return
    if not isinstance(name, str) or not name:
        message = f"{given} has no current context."
        yield CONTEXT.finding(at, message, f"Give context: {_listed(contexts)}.")
        return
    if name not in contexts:
        what = "context" if existing.context else "current context"
        meant = similar(name, list(contexts))
        fix = f"Did you mean {meant}?" if meant else f"Give context: {_listed(contexts)}."
        yield CONTEXT.finding(at, f"The {what} {name} is not in {given}.", fix)
        return
    for key, kind in (("cluster", "clusters"), ("user", "users")):
        wanted = contexts[name].get(key)
        known = _named(config, kind, key)
        if (wanted or key == "cluster") and wanted not in known:
            there = (
                f"names the {key} {wanted}, which {given} does not have"
                if wanted
                else (f"of {given} names no {key}")
            )
            fix = f"Give another context, or add the {key} to the file."
            yield CONTEXT.finding(at, f"The context {name} {there}.", fix)


def _named(config: dict[str, Any], kind: str, key: str) -> dict[str, dict[str, Any]]:
    """Entries of a list of a kubeconfig, by name."""
    entries = config.get(kind)
    found = {}
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            inner = entry.get(key)
            found[entry["name"]] = inner if isinstance(inner, dict) else {}
    return found


def _chart(at: FieldPath, given: str, folder: Path) -> Iterator[Finding]:
    path = located(given, folder)
    fix = "Give the path of a chart's folder, or of its .tgz, from the folder of the program on."
    try:
        if path.is_dir():
            if not (path / "Chart.yaml").is_file():
                message = f"{_shown(given, path)} is no chart: there is no Chart.yaml in it."
                yield CHART_ON_DISK.finding(at, message, fix)
        elif not path.is_file():
            yield CHART_ON_DISK.finding(at, f"{_shown(given, path)} is not there.", fix)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        message = f"{_shown(given, path)} cannot be looked at: {(reason or str(error)).lower()}."
        yield CHART_ON_DISK.finding(at, message, fix)


def _why_no_file(path: Path) -> str | None:
    """Why no file can be read there; None if one may be. A pipe would make a reader wait."""
    try:
        if path.is_file():
            return None
        return "is not a file." if path.exists() else "is not there."
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        return f"cannot be looked at: {(reason or str(error)).lower()}."


def _fix(given: str) -> str:
    if "$" in given:
        return "Variables are not expanded: write ~ for the home directory, or the whole path."
    if "/" in given.partition(":")[2]:
        return "Name one file, not a list of them."
    return "Give the path of a kubeconfig file, from the folder of the program on."


def _shown(given: str, path: Path) -> str:
    """A path as it is given, and where it leads if that is not plain to see."""
    return given if str(path) == given or given.startswith("/") else f"{given} ({path})"


def _listed(names: dict[str, Any]) -> str:
    first = ", ".join(list(names)[:_MOST_NAMES])
    return first if len(names) <= _MOST_NAMES else f"{first} or {len(names) - _MOST_NAMES} more"
