"""Make the table of which releases of NVIDIA's charts read a value, from the history of each.

    python tools/catalog/chart_ages.py --out components/eks_gpushare/catalog/data \
        --gpu-operator REPOSITORY --device-plugin REPOSITORY

A REPOSITORY is a clone with its tags. Of each place that not all releases read, the first and the
last that do are kept; it is no matter here whether one in between did not. Subcharts count, as far
as a tag has them. A second run writes the same bytes.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from chart_keys import Chart, alias_of, by_chart, compact, keys, unpacked, write_text

from eks_gpushare.catalog.chart_releases import chart_history

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FILE = "chart-ages.json"
_FOLDERS = {
    "gpu-operator": ("deployments/gpu-operator",),
    "nvidia-device-plugin": ("deployments/helm/nvidia-device-plugin",),
}
_ABOUT = (
    "First and last release of a chart that reads a value, where not all of those that have "
    "templates do. Made by tools/catalog/chart_ages.py from the tags of each repository."
)
_NO_HINTS: dict[str, Any] = {"byParts": [], "unused": [], "hints": {}}


def ages(chart: str, repository: Path) -> dict[str, Any]:
    """First and last release that read each place, and the releases that were looked at.

    Args:
        chart: Name of the chart.
        repository: A clone of its repository, with tags.
    """
    history = chart_history(chart)
    found: dict[str, list[str]] = {}
    seen: list[str] = []
    for version in history.releases if history else ():
        files = _at_tag(repository, f"v{version}", _FOLDERS[chart])
        if files is None:
            continue
        seen.append(version)
        for place in read_places(chart, files):
            found.setdefault(place, [version, version])[1] = version
    whole = [seen[0], seen[-1]]
    places: dict[str, list[str]] = {}  # by their ages: many places came, or went, together
    for place, of in sorted(found.items()):
        if of != whole:
            places.setdefault(" ".join(of), []).append(place)
    together = {age: " ".join(of) for age, of in places.items()}
    return {"releases": seen, "places": together}


def read_places(name: str, chart: Chart) -> Iterator[str]:
    """The values that a chart and those in it read, or pass on with what is below."""
    table = keys(name, "", chart, _NO_HINTS)
    yield from (*table["read"], *table["whole"])
    for each in chart.dependencies():
        inner = chart.below(f"charts/{each['name']}")
        if any(file.startswith("templates/") for file in inner.files):
            alias = alias_of(each)
            yield from (f"{alias}.{place}" for place in read_places(each["name"], inner))


def _at_tag(repository: Path, tag: str, folders: Sequence[str]) -> Chart | None:
    """The files of a chart at a tag; None where the tag or the chart is not there."""
    for folder in folders:
        made = subprocess.run(
            ("git", "--git-dir", str(repository), "archive", tag, folder),  # noqa: S607
            capture_output=True,
            check=False,
        )
        if made.returncode == 0:
            return _chart(made.stdout, folder)
    return None


def _chart(archive: bytes, folder: str) -> Chart:
    files: dict[str, str] = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        for member in opened:
            content = opened.extractfile(member) if member.isfile() else None
            if content is None:
                continue
            name = member.name.removeprefix(f"{folder}/")
            if name.endswith(".tgz"):
                files |= {f"charts/{inner}": text for inner, text in unpacked(content)}
            elif PurePosixPath(name).suffix in {".yaml", ".yml", ".tpl"}:
                files[name] = content.read().decode()
    if "Chart.yaml" in files and "requirements.yaml" in files:  # of Helm 2
        files["Chart.yaml"] += "\n" + files["requirements.yaml"]
    # A comment right behind the sign of a block, which Go's reader takes and Python's does not.
    return Chart({name: text.replace("|###", "| ###") for name, text in files.items()})


def as_text(found: Mapping[str, Any]) -> str:
    """The table as the text of its file: a line for each age, as every installation has it."""
    return by_chart(found, _lines)


def _lines(said: Any) -> str:
    releases = compact(said["releases"])
    places = ",\n".join(f"{json.dumps(age)}:{json.dumps(of)}" for age, of in said["places"].items())
    return f'{{\n"releases": {releases},\n"places": {{\n{places}\n}}\n}}'


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the generator; return 0."""
    parser = argparse.ArgumentParser(
        description="Make the table of which releases of NVIDIA's charts read a value."
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the data file")
    for name in ("--gpu-operator", "--device-plugin"):
        parser.add_argument(name, type=Path, required=True, metavar="REPOSITORY")
    options = parser.parse_args(arguments)
    found = {
        "_about": _ABOUT,
        "gpu-operator": ages("gpu-operator", options.gpu_operator),
        "nvidia-device-plugin": ages("nvidia-device-plugin", options.device_plugin),
    }
    write_text(options.out / FILE, as_text(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
