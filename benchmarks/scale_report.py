"""How the figures of the lab at scale are shown."""

from __future__ import annotations

import json
import os
import platform
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from scale_result import ScaleResult

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
_PHASES = {"ready": "start", "usable": "nodes", "running": "pods"}


def machine() -> dict[str, str]:
    """What the figures depend on: no names of machines and no paths."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{memory / 1e9:.0f} GB",
        "platform": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
    }


def as_json(results: Sequence[ScaleResult]) -> str:
    """The results, and what they depend on, as one JSON document."""
    found = [result.as_json() for result in results]
    return json.dumps({"machine": machine(), "runs": found}, indent=2)


def as_text(results: Sequence[ScaleResult]) -> str:
    """The results as tables in plain text."""
    tables = [_rows(results), *map(_cpu_rows, results)]
    return "\n\n".join("\n".join(_aligned(rows)) for rows in tables)


def write_markdown(page: Path, results: Sequence[ScaleResult]) -> None:
    """Put the results between the markers of a page, which has both markers."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n{_markdown(results)}\n{END}{after}", encoding="utf-8")


def _markdown(results: Sequence[ScaleResult]) -> str:
    facts = machine()
    cores, memory = facts.pop("cores"), facts.pop("memory")
    versions = {**facts, **results[0].versions}
    spoken = ", ".join(f"{name} {value}" for name, value in versions.items())
    lines = [f"On {cores} cores and {memory}, begun {results[0].began}: {spoken}.", ""]
    for rows in (_rows(results), *map(_cpu_rows, results)):
        head, *others = rows
        lines.append(f"| {' | '.join(head)} |")
        lines.append("|---|" + "---:|" * (len(head) - 1))
        lines += [f"| {' | '.join(row)} |" for row in others]
        lines.append("")
    return "\n".join(lines)


def _rows(results: Sequence[ScaleResult]) -> list[list[str]]:
    """A table with a column for each run."""
    columns = [list(_cells(result)) for result in results]
    head = ["", *map(_title, results)]
    texts = [text for text, _ in columns[0]]
    rows = zip(*([value for _, value in column] for column in columns), strict=True)
    return [head, *([text, *row] for text, row in zip(texts, rows, strict=True))]


def _cells(result: ScaleResult) -> Iterator[tuple[str, str]]:
    setting, one = result.setting, result.directly
    yield "load average of the machine before the start", f"{result.load[0]:.2f}"
    yield "`lab up` to ready", f"{result.ready.seconds:.1f} s"
    nodes = f"{result.nodes:,} nodes usable, with {result.daemons:,} pods of DaemonSets"
    yield nodes, f"{result.usable.seconds:.1f} s"
    yield f"{result.pods:,} pods have a node", f"{result.scheduled_seconds:.1f} s"
    yield f"{result.pods:,} pods run", f"{result.running.seconds:.1f} s"
    yield "pods per second", f"{result.per_second:.0f}"
    yield "aimed at, on two idle cores", "" if one else f"{setting.pods_per_second:.0f}"
    yield "nodes with pods, and the most on one", f"{result.used_nodes:,}, {result.most_on_a_node}"
    yield "peak memory of the control plane", f"{result.peak:,.0f} MB"
    yield "aimed at", f"{setting.memory_mb:,.0f} MB" if setting.memory_mb and not one else ""
    yield "cores that other work took while pods came", f"{result.running.others:.2f}"


def _cpu_rows(result: ScaleResult) -> list[list[str]]:
    """A table of CPU seconds by process and phase of one run, with the peaks of memory."""
    phases = result.phases
    head = [f"CPU seconds, {_title(result)}", *(_PHASES[name] for name in phases), "a pod", "peak"]
    rows = [head]
    for name in sorted(result.peaks, key=lambda name: -result.running.cpu[name]):
        each = 1000 * result.running.cpu[name] / result.pods
        times = [f"{phase.cpu[name]:.1f}" for phase in phases.values()]
        rows.append([name, *times, f"{each:.1f} ms", f"{result.peaks[name]:,.0f} MB"])
    sums = [sum(phase.cpu.values()) for phase in phases.values()]
    each = 1000 * sums[-1] / result.pods
    return [*rows, ["all", *(f"{total:.1f}" for total in sums), f"{each:.1f} ms", ""]]


def _title(result: ScaleResult) -> str:
    return f"{result.setting.name}{', pods made one by one' if result.directly else ''}"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for first, *others in rows:
        numbers = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        yield "  ".join([first.ljust(widths[0]), *numbers]).rstrip()
