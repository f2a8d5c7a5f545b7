"""Rules about where a chart comes from: its version, its repository, or its place on disk."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from eks_gpushare.catalog import versions
from eks_gpushare.catalog.chart_releases import parse_version
from eks_gpushare.config.base import known_fields
from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check

if TYPE_CHECKING:
    from collections.abc import Iterator
    from urllib.parse import SplitResult

    from eks_gpushare.config.environment import Chart
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_RELEASE = "https://www.pulumi.com/registry/packages/kubernetes/api-docs/helm/v3/release/"
_REPOSITORIES = "https://helm.sh/docs/topics/chart_repository/"
_REGISTRIES = "https://helm.sh/docs/topics/registries/"

FLOATING_CHART = rule_of("GPU702")
CHART_SOURCE = Rule(
    "GPU704",
    "error",
    "A chart comes from a repository or from disk.",
    "With both, the path wins and the repository is ignored.",
    _RELEASE,
)
BAD_REPOSITORY = Rule(
    "GPU721",
    "error",
    "The repository of a chart is the address of one.",
    "Helm finds no chart when the cluster is there already.",
    _REPOSITORIES,
)
PASSWORD_IN_ADDRESS = Rule(
    "GPU722",
    "error",
    "The address of a chart repository holds no password.",
    "It would stand in plain text in the stack file, in the state and in logs.",
    _REGISTRIES,
)
PLAIN_REPOSITORY = Rule(
    "GPU723",
    "warning",
    "A chart is fetched by an encrypted connection.",
    "Whoever is on the way can give the cluster another chart, whose pods are privileged.",
    _REPOSITORIES,
)
OTHER_CHART = Rule(
    "GPU724",
    "warning",
    "An oci:// address is that of the chart itself.",
    "Helm takes the last part for the chart, and finds none or another one.",
    _REGISTRIES,
)
BAD_PATH = Rule(
    "GPU725",
    "error",
    "The path of a chart on disk is one.",
    "Helm takes it as it stands, and what a shell would make of it is not there.",
    _RELEASE,
)
FAR_PATH = Rule(
    "GPU726",
    "warning",
    "A chart on disk is in the project's folder.",
    "Another machine, and the pipeline, have nothing at that place.",
    _RELEASE,
)

_SPACE = re.compile(r"[\s\x00-\x1f\x7f]")
_HOST_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_OCI_PART = re.compile(r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*")
"""A part of a repository's name: https://github.com/opencontainers/distribution-spec, spec.md."""
_PATH_LIKE = re.compile(r"(/|\.{1,2}(/|$)|~|\\|[A-Za-z]:[\\/]|file:)")
_SOURCES = re.compile(r"(www\.)?(github|gitlab|bitbucket)\.(com|org)")
_SOURCE_PAGE = re.compile(r"/[^/]+/[^/]+/?(/(tree|blob)/.*)?")
_VARIABLE = re.compile(r"\$\{?[A-Za-z_]|%[A-Za-z0-9_]+%")
_EXAMPLE = "https://charts.example.com/nvidia"


class _Fault(NamedTuple):
    rule: Rule
    message: str
    fix: str


@check(
    Scope.CHARTS,
    FLOATING_CHART,
    CHART_SOURCE,
    BAD_REPOSITORY,
    PASSWORD_IN_ADDRESS,
    PLAIN_REPOSITORY,
    OTHER_CHART,
    BAD_PATH,
    FAR_PATH,
)
def charts(ctx: Context) -> Iterator[Finding]:
    """For every chart about which something is said."""
    given = known_fields(ctx.environment.charts)
    for name, key, default in (
        ("device_plugin", "devicePlugin", versions.DEVICE_PLUGIN),
        ("gpu_operator", "gpuOperator", versions.GPU_OPERATOR),
        ("karpenter", "karpenter", versions.KARPENTER),
        ("karpenter_crd", "karpenterCrd", versions.KARPENTER_CRDS),
        ("cluster_autoscaler", "clusterAutoscaler", versions.CLUSTER_AUTOSCALER),
        ("keda", "keda", versions.KEDA),
        ("kueue", "kueue", versions.KUEUE),
        ("prometheus", "prometheus", versions.PROMETHEUS),
        ("efa_device_plugin", "efaDevicePlugin", versions.EFA_DEVICE_PLUGIN),
        ("dcgm_exporter", "dcgmExporter", versions.DCGM_EXPORTER),
    ):
        chart = given.get(name)
        if chart is not None:
            yield from of_source(("charts", key), chart, default)


def of_source(at: FieldPath, chart: Chart, default: versions.HelmChart) -> Iterator[Finding]:
    """Findings about where one chart comes from.

    Args:
        at: Where it stands.
        chart: What is changed about it.
        default: The chart that this release of the package is for.
    """
    if chart.version is not None and parse_version(chart.version) is None:
        yield FLOATING_CHART.finding(
            (*at, "version"),
            f'"{chart.version}" is not an exact version.',
            f"Write all three parts, for example {default.version}.",
        )
    if chart.path is not None and chart.repository is not None:
        message = "Both path and repository are given."
        yield CHART_SOURCE.finding(at, message, "Keep one of the two.")
    elif chart.path is not None and chart.version is not None:
        message = "path is given, so the chart on disk is taken, whichever version it has."
        fix = "Remove version, or path."
        yield CHART_SOURCE.finding((*at, "version"), message, fix, "warning")
    if chart.path is not None:
        yield from _path((*at, "path"), chart.path, default.name)
    elif chart.repository is not None:
        for fault in _repository(chart.repository, default.name):
            yield fault.rule.finding((*at, "repository"), fault.message, fault.fix)


def _path(at: FieldPath, path: str, called: str) -> Iterator[Finding]:
    fault = _path_fault(path)
    if fault is not None:
        yield BAD_PATH.finding(at, *fault)
        return
    parts = re.split(r"[\\/]", path)
    absolute = path.startswith(("/", "\\", "~")) or re.match(r"[A-Za-z]:", path)
    if absolute or ".." in parts:
        why = "is a place on this machine only" if absolute else "leads out of its folder"
        yield FAR_PATH.finding(
            at,
            f"{path} {why}.",
            f"Put the chart into the project's folder, and write path: charts/{called}.",
        )


def _path_fault(path: str) -> tuple[str, str] | None:
    from_project = "Write a path from the project's folder."
    faults = (
        (not path.strip(), "The path is empty.", "Write where the chart is, or remove the key."),
        (
            path != path.strip() or bool(re.search(r"[\x00-\x1f\x7f]", path)),
            "The path begins or ends with a space, or has a line break.",
            "Remove it.",
        ),
        (
            "://" in path or path.startswith("file:"),
            "This is an address.",
            "Give it as repository, and the chart's version beside it.",
        ),
        (bool(_VARIABLE.search(path)), "Variables in a path are not replaced.", from_project),
        (
            path.endswith((".yaml", ".yml")),
            "This is a file of a chart.",
            "Give the chart's folder, or its .tgz file.",
        ),
    )
    return next(((message, fix) for wrong, message, fix in faults if wrong), None)


def _repository(address: str, chart: str) -> Iterator[_Fault]:
    try:
        parts = urlsplit(address)
        port: int | None = parts.port
    except ValueError:
        parts, port = urlsplit("https://"), None
    if parts.username is not None or parts.password is not None:
        yield _Fault(
            PASSWORD_IN_ADDRESS,
            f"The address of {parts.hostname or 'the repository'} has a user or password in it.",
            "Log in with `helm registry login` where Pulumi runs and use an oci:// address, or "
            "give the chart as path.",
        )
        return
    fault = _address_fault(address, parts, port) or (
        _oci_fault(parts) if parts.scheme == "oci" else _page_fault(address, parts)
    )
    if fault is not None:
        yield _Fault(BAD_REPOSITORY, *fault)
        return
    if parts.scheme == "http":
        yield _Fault(
            PLAIN_REPOSITORY,
            f"{parts.hostname} is asked without encryption.",
            "Write https:// instead.",
        )
    last = parts.path.rpartition("/")[2].partition("@")[0]
    if parts.scheme == "oci" and last != chart:
        yield _Fault(
            OTHER_CHART,
            f'The last part of the address is "{last}", and the chart is {chart}.',
            f"Write {address.rstrip('/')}/{chart}, unless the mirror calls it so.",
        )


def _address_fault(address: str, parts: SplitResult, port: int | None) -> tuple[str, str] | None:
    """What is wrong with an address of any kind."""
    scheme = address.partition("://")[0]
    like = f"Write it like {_EXAMPLE}."
    faults = (
        (not address.strip(), "The address is empty.", "Remove the key to take the publisher's."),
        (
            bool(_SPACE.search(address)),
            "The address has a space or a line break in it.",
            "Remove it.",
        ),
        (bool(_PATH_LIKE.match(address)), f"{address} is a place on disk.", "Give it as path."),
        ("://" not in address, f"{address} has no https:// or oci:// before it.", like),
        (
            scheme not in {"https", "http", "oci"},
            f"{scheme}:// is no way to fetch a chart.",
            "Use https:// or oci://.",
        ),
        (
            not _is_host(parts.hostname or "") or (port is None and _has_port(parts)),
            f"{address} names no host.",
            like,
        ),
    )
    return next(((message, fix) for wrong, message, fix in faults if wrong), None)


def _has_port(parts: SplitResult) -> bool:
    return bool(re.search(r":[^\]]*$", parts.netloc))


def _is_host(host: str) -> bool:
    if ":" in host:  # IPv6, whose brackets urlsplit has looked at
        return True
    return bool(host) and all(_HOST_LABEL.fullmatch(label) for label in host.split("."))


def _page_fault(address: str, parts: SplitResult) -> tuple[str, str] | None:
    """What is wrong with an address that begins with http."""
    path = parts.path.rstrip("/")
    if path.endswith((".yaml", ".yml")):
        above = address.partition("?")[0].rstrip("/").rpartition("/")[0]
        return "This is the index of a repository.", f"Write {above}."
    if path.endswith((".tgz", ".tar.gz")):
        return "This is one chart.", "Give the repository that it is in, or the file as path."
    sources = _SOURCES.fullmatch(parts.hostname or "") and _SOURCE_PAGE.fullmatch(parts.path)
    if path.endswith(".git") or sources:
        return "This is a repository of sources, not of charts.", f"Write it like {_EXAMPLE}."
    if parts.fragment:
        return "The address has a # in it, which is never sent.", "Remove what is behind it."
    return None


def _oci_fault(parts: SplitResult) -> tuple[str, str] | None:
    """What is wrong with the address of a chart in a registry."""
    path, _, digest = parts.path.removeprefix("/").partition("@")
    last = path.rpartition("/")[2]
    if ":" in last:
        return "The address has a version in it.", "Give it as version, without the colon here."
    if not path or not all(_OCI_PART.fullmatch(part) for part in path.split("/")):
        message = f'"{path}" is no name in a registry, which is lower-case letters, digits, . _ -'
        fix = "Write it like oci://registry.example.com/charts/nvidia-device-plugin."
        return f"{message}.", fix
    if digest and not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        return "What is behind the @ is no digest.", "Write sha256: and 64 hexadecimal digits."
    if parts.query or parts.fragment:
        return "The address of a registry has no ? or #.", "Remove what is behind it."
    return None
