"""Make the table of DaemonSets that the lab puts in place of a chart's, from rendered charts.

    python tools/catalog/daemonsets.py --out components/eks_gpushare_lab/install/data \
        --device-plugin 0.20.0=FOLDER --gpu-operator v26.7.0=FOLDER --operator-assets FOLDER \
        --efa-device-plugin v0.5.30=FOLDER --dcgm-exporter 4.8.2=FOLDER

A FOLDER is a chart as chart_keys.py wants it; `helm` renders it, of PATH or of --helm. The GPU
Operator makes most of its DaemonSets itself, of the manifests in `assets` of its repository at the
same tag: --operator-assets. What neither tells stands in lab-charts.json. A second run with
the same --read writes the same bytes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from chart_keys import (
    SOURCES,
    ChartError,
    add_chart_arguments,
    alias_of,
    chart_folder,
    given_charts,
    read_chart,
    write_table,
)

from eks_gpushare.documents.helm import merge_values, value_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from chart_keys import Chart

FILE = "daemonsets.json"
RELEASE = "release-name"
SCHEDULING = ("nodeSelector", "affinity", "tolerations", "priorityClassName")
"""Where the pods of a DaemonSet go, by the fields of their spec."""

_KEPT = Path(__file__).with_name("lab-charts.json")
_GATE = "toolkit-validation"
_BESIDE = ("aws-efa-k8s-device-plugin", "dcgm-exporter")
_ABOUT = (
    "DaemonSets of each chart by version. defaults: values of values.yaml that the lab reads. "
    "daemonSets: those that the chart has with `settings` and its defaults otherwise, by program, "
    "as `helm template` renders them; valuesOf: the values that a field is taken from, of which "
    "the first that is not empty wins. operands: those that the GPU Operator makes of its assets; "
    "enabledBy: the value that turns one on, gated: whether it waits for the operator's "
    "validator. read: when it was made of the source by tools/catalog/daemonsets.py."
)


class Wanted(NamedTuple):
    """What the lab has to know of a chart."""

    settings: Mapping[str, Any]
    """Values with which all of its DaemonSets are there."""
    programs: Sequence[str]
    """Commands of the DaemonSets that the lab puts in place of the chart's."""
    values: Sequence[str]
    """Values whose defaults the lab reads, beside those that say where pods go."""


class Helm(NamedTuple):
    """The command `helm` and a chart to render with it."""

    command: str
    """Name or path of the command."""
    folder: Path
    """The chart."""

    def render(self, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The objects that the chart makes of values."""
        command = [self.command, "template", RELEASE, str(self.folder), "--namespace", "gpu"]
        made = subprocess.run(
            [*command, "--values", "-"],
            input=json.dumps(values),
            capture_output=True,
            check=False,
            timeout=120,
            text=True,
        )
        if made.returncode:
            raise ChartError(f"helm does not render {self.folder}: {made.stderr.strip()}")
        return [each for each in yaml.safe_load_all(made.stdout) if each]


def entry(wanted: Wanted, chart: Chart, helm: Helm) -> dict[str, Any]:
    """What the lab has to know of one version of a chart."""
    defaults = default_values(chart)
    there = _by_program(helm.render(wanted.settings))
    missing = [program for program in wanted.programs if program not in there]
    if missing:
        raise ChartError(f"{helm.folder} has no DaemonSet of {', '.join(missing)}")
    sources = values_of(wanted, defaults, helm)
    made = {each: {**daemon_set(there[each]), "valuesOf": sources[each]} for each in sources}
    taken = {path for each in sources.values() for paths in each.values() for path in paths}
    stated = {path: value_at(defaults, path, ABSENT) for path in sorted({*wanted.values, *taken})}
    return {
        "defaults": _nested({path: value for path, value in stated.items() if value is not ABSENT}),
        "settings": dict(wanted.settings),
        "daemonSets": made,
    }


def daemon_set(rendered: Mapping[str, Any]) -> dict[str, Any]:
    """Name and scheduling of a rendered DaemonSet."""
    pod = rendered["spec"]["template"]["spec"]
    name = rendered["metadata"]["name"].replace(RELEASE, "{release}")
    return {"name": name, **{field: pod[field] for field in SCHEDULING if pod.get(field)}}


def values_of(
    wanted: Wanted, defaults: Mapping[str, Any], helm: Helm
) -> dict[str, dict[str, list[str]]]:
    """For each program the values that its fields of scheduling are taken from, the winner first.

    Every value that is named like such a field gets a mark of its own, and the chart is rendered.
    What shows up is taken out, to see what it went over, until no mark shows up any more.
    """
    found: dict[str, dict[str, list[str]]] = {program: {} for program in wanted.programs}
    probes = dict(_probes(defaults))
    while True:
        objects = _by_program(helm.render(merge_values(wanted.settings, _nested(probes))))
        marks = [
            (program, field, mark)
            for program in wanted.programs
            for field in SCHEDULING
            if (mark := _mark(field, objects[program]["spec"]["template"]["spec"].get(field)))
            in probes
        ]
        if not marks:
            return found
        for program, field, mark in marks:
            found[program].setdefault(field, []).append(mark)
            probes.pop(mark, None)


def default_values(chart: Chart) -> dict[str, Any]:
    """The values of a chart, with those of its subcharts below them as Helm has it."""
    found = chart.document("values.yaml")
    for each in chart.dependencies():
        inner = chart.below(f"charts/{each['name']}").document("values.yaml")
        alias = alias_of(each)
        found[alias] = merge_values(inner, found.get(alias) or {})
    return found


def operands(assets: Path, kept: Mapping[str, Any]) -> dict[str, Any]:
    """The DaemonSets that the GPU Operator makes, by name.

    Args:
        assets: The folder of that name in the operator's repository.
        kept: What stands in lab-charts.json of the operator.
    """
    states, found = kept["states"], dict[str, Any]()
    for file in sorted(assets.glob("*/*.y*ml")):
        manifest = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
        state = file.parent.name
        if manifest.get("kind") != "DaemonSet" or state in kept["notDeployed"]:
            continue
        if state not in states:
            raise ChartError(f"{_KEPT.name} has nothing of {state}: add what turns it on")
        pod = manifest["spec"]["template"]["spec"]
        before = [each["name"] for each in pod.get("initContainers") or ()]
        found[state] = {
            "name": manifest["metadata"]["name"],
            **states[state],
            "gated": before[:1] == [_GATE],
            **{field: pod[field] for field in SCHEDULING if pod.get(field)},
        }
    missing = sorted(states.keys() - found)
    if missing:
        raise ChartError(f"{assets} has no DaemonSet of {', '.join(missing)}")
    return {made.pop("name"): made for made in (found[state] for state in states)}


ABSENT = object()
"""Stands for a value that a chart does not have."""


def _probes(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """For each value that is named like a field of scheduling a mark that tells its path."""
    for key, value in values.items():
        path = f"{above}{key}"
        if key == "nodeSelector":
            yield path, {"probe": path}
        elif key == "affinity":
            yield path, {"podAffinity": {"probe": path}}
        elif key == "tolerations":
            yield path, [{"key": path}]
        elif key == "priorityClassName":
            yield path, path
        elif isinstance(value, dict):
            yield from _probes(value, f"{path}.")


def _mark(field: str, value: Any) -> str:
    """The mark in a field, or what else is there as a text."""
    if field == "nodeSelector":
        return str((value or {}).get("probe"))
    if field == "affinity":
        return str((value or {}).get("podAffinity", {}).get("probe"))
    return str(value[0]["key"] if value and field == "tolerations" else value)


def _by_program(objects: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """DaemonSets by the program of their last container, which is the chart's own.

    One without a command runs what its image is made for, and is called after that.
    """
    made = [each for each in objects if each["kind"] == "DaemonSet"]
    mains = [each["spec"]["template"]["spec"]["containers"][-1] for each in made]
    return {_program(main): each for main, each in zip(mains, made, strict=True)}


def _program(container: Mapping[str, Any]) -> str:
    command = container.get("command")
    return str(command[0] if command else container["name"])


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by their paths as one mapping."""
    found: dict[str, Any] = {}
    for path, value in values.items():
        *above, last = path.split(".")
        inner = found
        for key in above:
            inner = inner.setdefault(key, {})
        inner[last] = value
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the generator; return 0, or 1 after one line that says what is wrong."""
    options = _parser().parse_args(arguments)
    folders = given_charts(options)
    given = {name: folders[name] for name in ("nvidia-device-plugin", "gpu-operator", *_BESIDE)}
    kept = json.loads(_KEPT.read_text(encoding="utf-8"))
    found: dict[str, Any] = {"_about": _ABOUT}
    try:
        for name, text in given.items():
            version, folder = chart_folder(text)
            chart, helm = read_chart(folder), Helm(options.helm, folder)
            made = entry(Wanted(**kept["charts"][name]), chart, helm)
            if name == "gpu-operator":
                made["operands"] = operands(options.operator_assets, kept["operator"])
            source = {"source": SOURCES[name].format(version), "read": options.read}
            found[name] = {version: {**source, **made}}
    except (ChartError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    write_table(options.out / FILE, found)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Make the table of DaemonSets that the lab puts in place of a chart's."
    )
    add_chart_arguments(parser)
    parser.add_argument(
        "--operator-assets", type=Path, required=True, help="assets of the operator's repository"
    )
    parser.add_argument("--helm", default="helm", help="command that renders the charts")
    today = datetime.now(tz=UTC).date().isoformat()
    parser.add_argument("--read", default=today, help="date to write down, today if not given")
    return parser


if __name__ == "__main__":
    sys.exit(main())
