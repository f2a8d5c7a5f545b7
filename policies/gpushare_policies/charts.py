"""Rules on Helm charts and on the GPU sharing they configure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import yaml
from pulumi_policy import EnforcementLevel, ResourceValidationArgs, Severity

from gpushare_policies.props import each, format_value, given, peek, read, whole
from gpushare_policies.rule import Rule, number
from gpushare_policies.tokens import CHART_V4, CONFIG_MAP, OUR_POOL, RELEASE
from gpushare_policies.words import Fix

# Semantic Versioning 2.0.0, and the leading v that Helm puts up with.
_EXACT = re.compile(r"v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")


def _is_pinned_by_itself(chart: str) -> bool:
    """Whether a chart is a directory, an archive or a digest: what is there is the version."""
    return chart.startswith((".", "/")) or chart.endswith(".tgz") or "@sha256:" in chart


_SET_VERSION = "Set `version` to one exact version."
_PINNED = Fix(
    "Set `charts.<chart>.version` in the stack file, or leave the key out for the version this "
    "release was tested with.",
    _SET_VERSION,
    _SET_VERSION,
)


def _version(args: ResourceValidationArgs) -> Iterator[str]:
    # helm.v4.Chart is registered without its arguments under the engine.
    if not given(args.props, "chart") or _is_pinned_by_itself(str(read(args.props, "chart"))):
        return
    version = read(args.props, "version")
    if version is None or not _EXACT.fullmatch(str(version)):
        yield (
            f"The chart {read(args.props, 'chart')} of {args.name} has the version "
            f"{format_value(version)}. It must be one exact version such as 0.20.0, no range, or "
            f"the next run installs another chart. {_PINNED.of(args.urn)}"
        )


CHART_VERSIONS_PINNED = Rule(
    "chart-versions-pinned",
    "Helm charts must be pinned to one exact version.",
    checks={RELEASE: _version, CHART_V4: _version},
    severity=Severity.MEDIUM,
    fix=_PINNED,
)

MAXIMUM_REPLICAS = number(
    "maximumReplicas",
    8,
    "Most shares of one GPU by time slicing; AWS advises 2 to 8.",
    minimum=2,
)


def _time_slicing(text: str) -> Iterator[tuple[str, int]]:
    """Resource and replicas of each time-sliced resource of a device-plugin document."""
    if "timeSlicing" not in text:  # most ConfigMaps are about something else
        return
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError:
        return
    for resource in each(read(document, "sharing", "timeSlicing", "resources")):
        if (replicas := whole(read(resource, "replicas"))) is not None:
            yield format_value(read(resource, "name")), replicas


_FEWER_REPLICAS = (
    "Lower `replicas` in that document, or raise `maximumReplicas` of this policy. MPS and MIG "
    "limit what one pod can take from another."
)
_FEWER = Fix(
    "Lower `pools.<pool>.sharing.replicas` in the stack file, or raise `maximumReplicas` of this "
    "policy. `mode: mps` and `mig` limit what one pod can take from another.",
    _FEWER_REPLICAS,
    _FEWER_REPLICAS,
)


def _too_many(args: ResourceValidationArgs, where: str, resource: str, replicas: int) -> str:
    most = MAXIMUM_REPLICAS.of(args)
    return (
        f"{where} cuts {resource} into {replicas} time slices. There must be at most {most}: pods "
        f"share memory and wait for each other, and AWS advises 2 to 8. {_FEWER.of(args.urn)}"
    )


def _documents(args: ResourceValidationArgs, texts: object, owner: str) -> Iterator[str]:
    if not isinstance(texts, Mapping):
        return
    for key in texts:
        # Documents of other people's ConfigMaps may be unknown; ours are plain text.
        for resource, replicas in _time_slicing(str(peek(texts, key) or "")):
            if replicas > MAXIMUM_REPLICAS.of(args):
                yield _too_many(args, f"The key {key} of {owner}", resource, replicas)


def _config_map(args: ResourceValidationArgs) -> Iterator[str]:
    yield from _documents(args, peek(args.props, "data"), f"the ConfigMap {args.name}")


def _release(args: ResourceValidationArgs) -> Iterator[str]:
    owner = f"the values of {args.name}"
    yield from _documents(args, peek(args.props, "values", "config", "map"), owner)
    operator = peek(args.props, "values", "devicePlugin", "config", "data")
    yield from _documents(args, operator, owner)


def _pool(args: ResourceValidationArgs) -> Iterator[str]:
    # Bottlerocket's own device plugin takes the number from user data, not from a ConfigMap.
    families = (read(args.props, "amiFamily"), read(args.props, "customAmi", "family"))
    if "bottlerocket" not in families:
        return
    sharing = read(args.props, "sharing")
    slices = sharing if read(sharing, "mode") == "timeSlicing" else read(sharing, "timeSlicing")
    replicas = whole(read(slices, "replicas"))
    if replicas is not None and replicas > MAXIMUM_REPLICAS.of(args):
        yield _too_many(args, f"The pool {args.name}", "each GPU or MIG device", replicas)


TIME_SLICING_REPLICAS = Rule(
    "time-slicing-replicas",
    "A GPU must not be cut into more time slices than it can serve.",
    checks={CONFIG_MAP: _config_map, RELEASE: _release, OUR_POOL: _pool},
    level=EnforcementLevel.ADVISORY,
    severity=Severity.LOW,
    fix=_FEWER,
    settings=(MAXIMUM_REPLICAS,),
)

CHART_RULES = (CHART_VERSIONS_PINNED, TIME_SLICING_REPLICAS)
"""The rules on charts."""
