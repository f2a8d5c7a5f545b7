"""Charts have one exact version."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from gpushare_policies.props import format_value, given, read
from gpushare_policies.rule import ResourcePolicy
from gpushare_policies.tokens import CHART_V4, RELEASE
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

# Semantic Versioning 2.0.0, the leading v that Helm puts up with, and its operator for just that.
_EXACT = re.compile(r"(?:= ?)?v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
_OCI_TAG = re.compile(r"oci://.*/[^/:]+:(?P<tag>[^/:]+)")


def _is_pinned_by_itself(chart: str) -> bool:
    """Whether a chart is a directory, an archive or a digest: what is there is the version."""
    path = chart.partition("?")[0]
    tag = _OCI_TAG.fullmatch(chart)
    return (
        chart.startswith((".", "/"))
        or path.endswith((".tgz", ".tar.gz"))
        or "@sha256:" in chart
        or (tag is not None and _EXACT.fullmatch(tag["tag"]) is not None)
    )


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


CHART_VERSIONS_PINNED = ResourcePolicy(
    "chart-versions-pinned",
    "Helm charts must be pinned to one exact version.",
    checks={RELEASE: _version, CHART_V4: _version},
    severity=Severity.MEDIUM,
    fix=_PINNED,
)
