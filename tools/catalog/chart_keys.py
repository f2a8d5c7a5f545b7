"""Make the table of Helm values that the templates of the charts read.

    python tools/catalog/chart_keys.py --out components/eks_gpushare/catalog/data \
        --gpu-operator v26.7.0=FOLDER --device-plugin 0.20.0=FOLDER \
        --efa-device-plugin v0.5.30=FOLDER --cluster-autoscaler 9.59.0=FOLDER \
        --keda 2.20.2=FOLDER --kueue 0.16.6=FOLDER --prometheus 88.5.3=FOLDER

A FOLDER is a chart as `helm pull --untar` leaves it, or as it stands in its repository, with its
subcharts in `charts`, unpacked or not. The version is given because a repository has none in
Chart.yaml. What no template tells stands in chart-hints.json. A second run writes the same bytes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tarfile
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import yaml
from template_reads import merged, reads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from template_reads import Path as Place

FILE = "chart-keys.json"
NFD = "node-feature-discovery"
CLUSTER_AUTOSCALER = "cluster-autoscaler"
KEDA, KUEUE, PROMETHEUS = "keda", "kueue", "kube-prometheus-stack"
_HINTS = Path(__file__).with_name("chart-hints.json")
SOURCES = {
    "gpu-operator": "https://github.com/NVIDIA/gpu-operator/tree/{}/deployments/gpu-operator",
    "nvidia-device-plugin": (
        "https://github.com/NVIDIA/k8s-device-plugin/tree/v{}/deployments/helm/nvidia-device-plugin"
    ),
    # Its repository on GitHub has no tags for its charts; this is the chart itself.
    "aws-efa-k8s-device-plugin": (
        "https://aws.github.io/eks-charts/aws-efa-k8s-device-plugin-{}.tgz"
    ),
    "dcgm-exporter": "https://github.com/NVIDIA/dcgm-exporter/tree/4.5.3-{}/deployment",
    KEDA: "https://github.com/kedacore/charts/tree/v{}/keda",
    KUEUE: "https://github.com/kubernetes-sigs/kueue/tree/v{}/charts/kueue",
    PROMETHEUS: (
        "https://github.com/prometheus-community/helm-charts/tree/kube-prometheus-stack-{}/"
        "charts/kube-prometheus-stack"
    ),
    CLUSTER_AUTOSCALER: (
        "https://github.com/kubernetes/autoscaler/tree/cluster-autoscaler-chart-{}/"
        "cluster-autoscaler/charts/cluster-autoscaler"
    ),
    NFD: (
        "https://github.com/kubernetes-sigs/node-feature-discovery/tree/v{}/deployment/helm/"
        "node-feature-discovery"
    ),
}
_ABOUT = (
    "Helm values that the templates of a chart read, each with a letter of what becomes of it. "
    "R: one value. W: passed on with whatever is below it. I: stands in values.yaml, and no "
    "template reads it. Then what it is, where its default tells or a template has it as a "
    "condition: b(oolean), l(ist), m(apping), n(umber), t(ext). An empty key is the place itself. "
    "subcharts: key in the values, and chart. hints: what to write instead. "
    "Made by tools/catalog/chart_keys.py."
)
_LETTERS = {"read": "R", "whole": "W", "idle": "I"}


class ChartError(Exception):
    """Why a chart cannot be read, for the person at the keyboard."""


class Chart(NamedTuple):
    """A chart and the charts in it, as text."""

    files: Mapping[str, str]
    """Content by path within the chart."""

    def below(self, folder: str) -> Chart:
        """The chart in a folder of this one."""
        start = f"{folder}/"
        inner = {k.removeprefix(start): v for k, v in self.files.items() if k.startswith(start)}
        return Chart(inner)

    def document(self, name: str) -> dict[str, Any]:
        """A YAML file of the chart."""
        if name not in self.files:
            raise ChartError(f"there is no {name} in it")
        return yaml.safe_load(self.files[name]) or {}

    def dependencies(self) -> list[dict[str, Any]]:
        """The charts that this one brings along, as Chart.yaml has them."""
        return list(self.document("Chart.yaml").get("dependencies", []))


def read_chart(folder: Path) -> Chart:
    """The files of a chart, those of packed subcharts too."""
    files: dict[str, str] = {}
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        if file.suffix == ".tgz":
            with file.open("rb") as opened:
                files |= {f"charts/{inner}": text for inner, text in unpacked(opened)}
        elif file.is_file() and file.suffix in {".yaml", ".yml", ".tpl"}:
            files[name] = file.read_text(encoding="utf-8")
    return Chart(files)


def unpacked(file: IO[bytes]) -> Iterator[tuple[str, str]]:
    """The files of a packed chart, by their paths in the archive."""
    with tarfile.open(fileobj=file) as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content and PurePosixPath(member.name).suffix in {".yaml", ".yml", ".tpl"}:
                yield member.name, content.read().decode()


def table(charts: Mapping[str, tuple[str, Chart]], hints: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of each chart, and of the subcharts they bring along.

    Args:
        charts: Version and files by name.
        hints: What stands in chart-hints.json.
    """
    found: dict[str, Any] = {"_about": _ABOUT}
    subcharts: dict[str, tuple[str, Chart]] = {}
    for name, (version, chart) in charts.items():
        wanted = chart.dependencies()
        inner_names = {alias_of(each): each["name"] for each in wanted}
        found[name] = {**keys(name, version, chart, hints[name]), "subcharts": inner_names}
        for each in wanted:
            inner = (str(each["version"]), chart.below(f"charts/{each['name']}"))
            before = subcharts.setdefault(each["name"], inner)
            if before[0] != inner[0]:
                raise ChartError(f"{each['name']} is there as {before[0]} and as {inner[0]}")
    for name, (version, chart) in subcharts.items():
        found[name] = {**keys(name, version, chart, hints[name]), "subcharts": {}}
    return found


def keys(name: str, version: str, chart: Chart, hints: Mapping[str, Any]) -> dict[str, Any]:
    """What the templates of one chart read."""
    templates = [text for file, text in chart.files.items() if file.startswith("templates/")]
    if not templates:
        raise ChartError(f"{name} has no templates")
    places = merged(read for text in templates for read in reads(text))
    for each in chart.dependencies():
        conditions = each.get("condition", "").split(",")
        places |= {_place(condition): False for condition in conditions if condition}
    # What a block passes on, its defaults show.
    stated = set(_leaves(chart.document("values.yaml")))
    by_parts = {_place(each) for each in hints["byParts"]}
    passed = {place for place, whole in places.items() if whole}
    whole = passed - by_parts
    read = set(places) | {leaf for leaf in stated if _below(leaf, passed)}
    read -= {_place(each) for each in hints["unused"]}
    ends = {
        place for place in read if not any(len(o) > len(place) and _below(o, {place}) for o in read)
    }
    # Keys of subcharts are theirs.
    theirs: set[Place] = {(alias_of(each),) for each in chart.dependencies()}
    idle = {leaf for leaf in stated if not _below(leaf, read) and not _below(leaf, theirs)}
    return {
        "version": version,
        "source": SOURCES.get(name, "").format(version),
        "read": _texts(place for place in ends if not _below(place, whole)),
        "whole": _texts(place for place in whole if not _below(place, whole - {place})),
        "idle": _texts(idle),
        "hints": dict(sorted(hints["hints"].items())),
        "types": types(chart.document("values.yaml"), read, hints.get("booleans", [])),
    }


def types(
    values: Mapping[str, Any], read: set[Place], booleans: Iterable[str]
) -> dict[str, list[str]]:
    """What the values of a chart are, by kind, as far as their defaults tell.

    Args:
        values: The defaults.
        read: The places that templates read.
        booleans: More places that hold true or false, whose default is null.
    """
    found: dict[str, set[Place]] = {"boolean": {_place(each) for each in booleans}}
    for place, kind in _kinds(values):
        # Keys with dots in them are names of labels, which a place in text cannot tell apart.
        if not any("." in part for part in place) and (_below(place, read) or place in read):
            found.setdefault(kind, set()).add(place)
    return {kind: _texts(places) for kind, places in sorted(found.items())}


def _kinds(values: Mapping[str, Any], above: Place = ()) -> Iterator[tuple[Place, str]]:
    for key, value in values.items():
        place = (*above, str(key))
        if isinstance(value, dict):
            yield place, "mapping"
            yield from _kinds(value, place)
        elif isinstance(value, bool):
            yield place, "boolean"
        elif isinstance(value, list):
            yield place, "list"
        elif isinstance(value, int | float):
            yield place, "number"
        elif isinstance(value, str):
            yield place, "text"


def alias_of(dependency: Mapping[str, str]) -> str:
    """The key of a subchart's values."""
    return dependency.get("alias", dependency["name"])


def _leaves(values: Mapping[str, Any], above: Place = ()) -> Iterator[Place]:
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, (*above, str(key)))
        else:
            yield (*above, str(key))


def _below(place: Place, tops: set[Place]) -> bool:
    return any(place[:length] in tops for length in range(1, len(place) + 1))


def _place(dotted: str) -> Place:
    return tuple(dotted.strip().split("."))


def _texts(places: Iterable[Place]) -> list[str]:
    return sorted(".".join(place) for place in places)


def render_keys(found: Mapping[str, Any]) -> str:
    """The table as the text of its file: each place once, with a line for each at the top.

    Every installation has it, and places written out in full are most of their text.
    """
    return by_chart(found, _lines)


def by_chart(found: Mapping[str, Any], lines: Callable[[Any], str]) -> str:
    """A table as the text of its file, with what is said of each chart in lines of its own."""
    charts = (
        f"{json.dumps(name)}: {json.dumps(said) if isinstance(said, str) else lines(said)}"
        for name, said in found.items()
    )
    return "{\n" + ",\n".join(charts) + "\n}\n"


def _lines(said: Any) -> str:
    told = ("version", "source", "subcharts", "hints")
    values = ",\n".join(f"{json.dumps(key)}: {compact(of)}" for key, of in tree(said).items())
    lines = [*(f'"{key}": {compact(said[key])}' for key in told), f'"values": {{\n{values}\n}}']
    return "{\n" + ",\n".join(lines) + "\n}"


def compact(value: Any) -> str:
    """A value without spaces."""
    return json.dumps(value, separators=(",", ":"))


def tree(said: Mapping[str, Any]) -> dict[str, Any]:
    """The letters of each place of a chart under its keys.

    Args:
        said: What the templates of the chart read, as `keys` tells it.
    """
    kinds = {place: letter for kind, letter in _LETTERS.items() for place in said[kind]}
    types = {place: kind[0] for kind, places in said["types"].items() for place in places}
    made: dict[str, Any] = {}
    for place in sorted({*kinds, *types}, key=_place):
        *above, last = _place(place)
        into = made
        for key in above:
            inner = into.setdefault(key, {})
            if isinstance(inner, str):
                inner = into[key] = {"": inner}
            into = inner
        into[last] = kinds.get(place, "") + types.get(place, "")
    return made


def render(found: Mapping[str, Any]) -> str:
    """A table as the text of a data file."""
    return json.dumps(found, indent=1) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the generator; return 0, or 1 after one line that says what is wrong."""
    options = _parser().parse_args(arguments)
    charts = {}
    try:
        # They have no DaemonSet, so the other tool is not given them.
        own = {
            CLUSTER_AUTOSCALER: options.cluster_autoscaler,
            KEDA: options.keda,
            KUEUE: options.kueue,
            PROMETHEUS: options.prometheus,
        }
        for name, text in {**given_charts(options), **own}.items():
            version, folder = chart_folder(text)
            charts[name] = (version, read_chart(folder))
        found = table(charts, json.loads(_HINTS.read_text(encoding="utf-8")))
    except (ChartError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    write_text(options.out / FILE, render_keys(found))
    return 0


def given_charts(options: argparse.Namespace) -> dict[str, str]:
    """What the command line says of each chart, by the chart's name."""
    return {
        "gpu-operator": options.gpu_operator,
        "nvidia-device-plugin": options.device_plugin,
        "aws-efa-k8s-device-plugin": options.efa_device_plugin,
        "dcgm-exporter": options.dcgm_exporter,
    }


def chart_folder(text: str) -> tuple[str, Path]:
    """Version and folder of a chart as the command line names them: VERSION=FOLDER."""
    version, _, folder = text.partition("=")
    return version, Path(folder)


def write_table(file: Path, found: Mapping[str, Any]) -> None:
    """Write a data file as JSON, and say so."""
    write_text(file, render(found))


def write_text(file: Path, text: str) -> None:
    """Write a data file and say so."""
    file.write_text(text, encoding="utf-8", newline="\n")
    sys.stdout.write(f"{file}: {len(text.encode())} bytes\n")


def add_chart_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the charts and where the data file goes."""
    parser.add_argument("--out", type=Path, required=True, help="folder for the data file")
    for name in ("--gpu-operator", "--device-plugin", "--efa-device-plugin", "--dcgm-exporter"):
        parser.add_argument(name, required=True, metavar="VERSION=FOLDER", help="the chart")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Make the table of Helm values that the templates of the charts read."
    )
    add_chart_arguments(parser)
    for name in ("--cluster-autoscaler", "--keda", "--kueue", "--prometheus"):
        parser.add_argument(name, required=True, metavar="VERSION=FOLDER", help="the chart")
    return parser


if __name__ == "__main__":
    sys.exit(main())
