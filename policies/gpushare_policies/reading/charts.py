"""Charts of a program, with the values that Helm gets.

A chart is known by its own name, however it is referred to: by name, by the path of a folder or an
archive, by an address of a repository or of an OCI registry. Where its files are here, they say it.

Source: `decodeRelease` in provider/pkg/provider/helm_release.go and provider/pkg/provider/helm/v4
of pulumi-kubernetes 4.34: files of values in their order, `values` over them, null kept.
"""

from __future__ import annotations

import re
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pulumi import FileAsset, StringAsset

from eks_gpushare.documents.helm import merge_values
from eks_gpushare.documents.reading import read_bytes
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.reading.plain import at_top, items, mappings, text
from gpushare_policies.tokens import CHART_V4, RELEASE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath

CHART_TOKENS = (RELEASE, CHART_V4)
"""Resources that stand for a chart."""

_MOST_BYTES = 1024 * 1024
_MOST_ARCHIVE = 32 * 1024 * 1024
_MOST_ENTRIES = 2000
_ARCHIVE = re.compile(r"(?P<name>.+?)-v?[0-9]+\.[0-9]+.*\.t(ar\.)?gz")


def chart_name(chart: Any) -> Any:
    """The name of a chart out of how it is referred to; `UNKNOWN` as it is."""
    if chart is UNKNOWN:
        return UNKNOWN
    given = str(chart or "").strip()
    own = _own_name(given)
    if own is not None:
        return own
    path = given.partition("?")[0].partition("@")[0]
    last = path.rstrip("/").replace("\\", "/").rpartition("/")[2]
    archive = _ARCHIVE.fullmatch(last)
    if archive:
        return archive["name"]
    name, _, tag = last.partition(":")
    return name if tag else last


def _own_name(given: str) -> str | None:
    """What the chart's own file says, if there is one here."""
    found = at(_own_file(given), "name")
    return found if isinstance(found, str) and found else None


def _own_file(given: str) -> Any:
    """The Chart.yaml of a folder or archive; None where there is none here."""
    if not given:
        return None
    path = Path(given)
    try:
        if (path / "Chart.yaml").is_file():
            content = read_bytes(path / "Chart.yaml", _MOST_BYTES)
        elif path.is_file():
            content = _packed(path)
        else:
            return None
        return loaded(content.decode("utf-8-sig"))
    except (OSError, ValueError, tarfile.TarError, EOFError):
        return None


def _packed(path: Path) -> bytes:
    """The Chart.yaml at the top of an archive."""
    if path.stat().st_size > _MOST_ARCHIVE:
        return b""
    with tarfile.open(path, "r:gz") as archive:
        for number, member in enumerate(archive):
            if number > _MOST_ENTRIES:
                break
            if member.isfile() and re.fullmatch(r"(\./)?[^/]+/Chart\.yaml", member.name):
                found = archive.extractfile(member)
                return b"" if found is None else found.read(_MOST_BYTES)
    return b""


def loaded(given: Any) -> Any:
    """Values, read if they stand in a text as YAML; `UNKNOWN` if it is none."""
    if not isinstance(given, str):
        return given
    try:
        return yaml.load(given, Loader=_LOADER)  # noqa: S506  (the safe loader, in C where there is one)
    except (yaml.YAMLError, RecursionError, ValueError):
        return UNKNOWN


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def chart_values(props: Any) -> Any:
    """All values that a chart gets; `UNKNOWN` where some stand in files that are not here."""
    merged: Mapping[str, Any] = {}
    for values in (*_files(props), at_top(props, "values") or {}):
        if values is UNKNOWN:
            return UNKNOWN
        if isinstance(values, dict):
            merged = merge_values(merged, values, keep_null=True)
    return merged


def _files(props: Any) -> Iterator[Any]:
    given = at_top(props, "valueYamlFiles")
    if given is UNKNOWN:
        yield UNKNOWN
    for item in items(given):
        content = _content(item)
        yield UNKNOWN if content is UNKNOWN else loaded(content)


def _content(asset: Any) -> Any:
    if isinstance(asset, StringAsset):
        return str(asset.text)
    path = asset.path if isinstance(asset, FileAsset) else asset
    if not isinstance(path, str):
        return UNKNOWN
    try:
        return read_bytes(path, _MOST_BYTES).decode("utf-8-sig")
    except (OSError, ValueError):
        return UNKNOWN


def chart_version(props: Any) -> Any:
    """The version that is asked for; empty where none is."""
    return text(at_top(props, "version"))


def chart_reference(props: Any) -> Any:
    """How the chart is referred to; empty where a program does not show it."""
    return text(at_top(props, "chart"))


GPU_CHARTS = (
    "nvidia-device-plugin",
    "gpu-operator",
    "dcgm-exporter",
    "gpu-feature-discovery",
    "nvidia-dra-driver-gpu",
    "dra-driver-nvidia-gpu",
)
"""Charts that only GPU nodes are for."""


EMBEDDED = (
    ("config", "map"),
    ("devicePlugin", "config", "data"),
    ("migManager", "config", "data"),
)
"""Where nvidia-device-plugin and gpu-operator take whole configurations in their values."""


@dataclass(frozen=True, slots=True)
class InstalledChart:
    """A chart that a resource installs, or one that comes with it."""

    name: str
    version: Any
    values: Any
    path: FieldPath
    """Where its values stand in the resource."""

    @property
    def of_gpus(self) -> bool:
        """Whether only GPU nodes need it."""
        return self.name in GPU_CHARTS


def charts_of(props: Any) -> Iterator[InstalledChart]:
    """The chart of a resource, and those that it is made of where its files are here."""
    reference = chart_reference(props)
    if reference in ("", UNKNOWN):
        return
    values = chart_values(props)
    yield InstalledChart(
        _known_name(chart_name(reference)), chart_version(props), values, ("values",)
    )
    for _, part in mappings(at(_own_file(str(reference)), "dependencies")):
        name = part.get("name")
        key = str(part.get("alias") or name)
        switch = part.get("condition")
        if not isinstance(name, str) or _is_off(values, switch):
            continue
        own = values if values is UNKNOWN else at(values, key)
        version = text(part.get("version"))
        yield InstalledChart(
            _known_name(name), version, {} if own is None else own, ("values", key)
        )


def _is_off(values: Any, switch: Any) -> bool:
    """Whether a part is switched off: the first of its switches that is given counts.

    Source: https://helm.sh/docs/topics/charts/#tags-and-condition-fields-in-dependencies
    """
    for path in str(switch or "").split(","):
        found = at(values, *path.strip().split(".")) if path.strip() else None
        if isinstance(found, bool):
            return not found
    return False


def _known_name(name: str) -> str:
    """A chart of NVIDIA under another name that tells it: `acme-nvidia-device-plugin`."""
    if name.startswith("amd-"):
        return name
    return next((chart for chart in GPU_CHARTS if chart in name), name)
