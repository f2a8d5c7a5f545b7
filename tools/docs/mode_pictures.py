"""How to share a GPU, in three pictures: which mode, what each does, and what a label leads to.

Modes, GPUs with MIG, limits, memory and names are those of the code: of the catalog, of the
planner, and of what the stack `time-slicing` registers.
"""

from __future__ import annotations

import json
import textwrap
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

import picture
import yaml

from eks_gpushare.catalog import Catalog, named_layouts, why_no_mig
from eks_gpushare.catalog.gpus import MPS_CLIENTS, MPS_CLIENTS_BEFORE_TURING
from eks_gpushare.cli.mig_svg import in_dark
from eks_gpushare.program.run import run_program
from eks_gpushare.program.stack_config import read_stack_config
from eks_gpushare.program.values import to_json
from eks_gpushare.sharing.mig.geometry import place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

IMAGES = picture.ROOT / "docs" / "images"
STACK = picture.ROOT / "stacks" / "Pulumi.time-slicing.yaml"
WIDTH = 540
"""Of all three: narrow enough to be read on a telephone."""
LETTER, BOLD = 7.4, 9.6
"""Width of a letter in pixels, at 13 and at 15, as in the widest font that readers have."""
_LINE = 18
_PADDING = 12
_GPU = "A100"
_EXAMPLE = "p4d.24xlarge"
_PODS = ("#bfe3ee", "#c9e8bf", "#fae3a5", "#eccbe9")
_DARK_PODS = ("#12414f", "#20451a", "#4d3a08", "#4c1f49")
_STYLE = f"""{picture.STYLE}
.small {{ font-size: 12px; }}
path {{ stroke: #4a5568; stroke-width: 1.5; fill: none; marker-end: url(#tip); }}
marker path {{ fill: #4a5568; stroke: none; marker-end: none; }}
{
    in_dark(
        dict(zip(_PODS, _DARK_PODS, strict=True)),
        "path { stroke: #a3adbb; }",
        "marker path { fill: #a3adbb; }",
    )
}"""
_TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>'
)


class Box(NamedTuple):
    """A rectangle with a title and lines of text, broken where they are too long for it."""

    x: int
    y: int
    width: int
    title: str
    text: str = ""
    kind: str = "part"

    def lines(self) -> list[tuple[str, bool]]:
        """What stands in it, and whether that is its title."""
        room = self.width - 2 * _PADDING
        titles = textwrap.wrap(self.title, int(room / BOLD), break_on_hyphens=False)
        rest = textwrap.wrap(self.text, int(room / LETTER), break_on_hyphens=False)
        return [*((line, True) for line in titles), *((line, False) for line in rest)]

    @property
    def height(self) -> int:
        """As high as its lines are."""
        return len(self.lines()) * _LINE + 14

    @property
    def bottom(self) -> int:
        """Where the next one may begin."""
        return self.y + self.height

    def drawn(self) -> Iterator[str]:
        """As SVG."""
        yield (
            f'<rect x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}" rx="6" '
            f'fill="{picture.FILLS[self.kind]}"/>'
        )
        for number, (line, bold) in enumerate(self.lines()):
            kind = ' class="head"' if bold else ""
            at = self.y + 20 + number * _LINE
            yield f'<text{kind} x="{self.x + _PADDING}" y="{at}">{escape(line)}</text>'


def pictures() -> dict[Path, str]:
    """The pictures by their files."""
    return {
        IMAGES / "which-mode.svg": which_mode(),
        IMAGES / "three-modes.svg": three_modes(),
        IMAGES / "label-to-scheduler.svg": label_to_scheduler(),
    }


def questions() -> list[tuple[str, str, str, str]]:
    """What decides: a question, more about it, and the mode of a yes with what that means."""
    boards = dict.fromkeys(
        each.gpu.model
        for each in Catalog().gpu_types().values()
        if each.gpu is not None and why_no_mig(each) is None
    )
    return [
        (
            "Does one pod keep a GPU busy, or fill its memory?",
            "Training, large models. Measure it before you say yes.",
            "exclusive",
            "one pod for each GPU",
        ),
        (
            "Must pods be kept from one another's memory and faults?",
            (
                "Tenants that do not trust each other. It takes a GPU that has MIG: "
                f"{', '.join(boards)}; of others give each tenant a whole one."
            ),
            "mig",
            "devices with memory and compute of their own; time slicing on top if you like",
        ),
        (
            "Do small processes have to run at the same time, all as one user?",
            (
                f"Inference with short answers. Up to {MPS_CLIENTS} for each GPU, "
                f"{MPS_CLIENTS_BEFORE_TURING} on a V100; a fatal fault of one ends them all."
            ),
            "mps",
            "at once, with a limit of memory for each process",
        ),
    ]


OTHERWISE = ("timeSlicing", "pods take turns; nothing limits their memory")


def which_mode() -> str:
    """Questions from above to below, and the mode that each leads to."""
    lines: list[str] = []
    y = 56
    for number, (question, about, mode, means) in enumerate(questions()):
        asked = Box(16, y, 300, f"{number + 1}. {question}", about, "vpc")
        answer = Box(378, y + 6, WIDTH - 378 - 16, mode, means, "gpu")
        middle = y + 30
        lines += [*asked.drawn(), *answer.drawn()]
        lines += [_arrow(316, middle, 378, middle), _text(336, middle - 6, "yes")]
        y = max(asked.bottom, answer.bottom) + 34
        lines += [_arrow(166, asked.bottom, 166, y), _text(176, y - 12, "no")]
    last = Box(16, y, 300, *OTHERWISE, "gpu")
    lines += last.drawn()
    return _picture("Which mode shall I take?", lines, last.bottom + 16)


def three_modes() -> str:
    """One GPU with four pods, its memory and its time, shared in each way."""
    instance = Catalog().find(_EXAMPLE)
    if instance is None or instance.gpu is None or instance.gpu.memory_mib is None:
        raise RuntimeError(f"the picture is of {_EXAMPLE}")
    total, model = instance.gpu.memory_mib, Catalog().mig_model(instance.gpu)
    if model is None:
        raise RuntimeError("the picture is of a GPU with MIG")
    layout = named_layouts(model)["all-balanced"]
    placed = sorted(place(model, layout) or (), key=lambda each: each.start)
    profiles = [model.profiles[each.profile] for each in placed]
    devices = [(p.name, p.memory_slices / model.memory_slices) for p in profiles]
    compute = [p.compute_slices / model.compute_slices for p in profiles]
    quarter = total // len(_PODS)
    lines: list[str] = []
    lines += _row(
        60, "timeSlicing", f"No pod is limited: each may take all {total} MiB.", [], "turns"
    )
    lines += _row(
        216,
        "mps",
        f"replicas: {len(_PODS)} limits each process to {quarter} MiB.",
        [(f"{quarter} MiB", 1 / len(_PODS))] * len(_PODS),
        "at once",
    )
    lines += _row(
        374,
        "mig",
        "layout: all-balanced. Each device has memory and compute of its own.",
        devices,
        "at once",
        compute,
    )
    return _picture(f"One {_GPU} of {total} MiB, and four pods", lines, 522)


_BAR_LEFT, _BAR = 84, WIDTH - 84 - 16
_SLOTS = 16


def _row(
    y: int,
    mode: str,
    said: str,
    memory: Sequence[tuple[str, float]],
    how: str,
    compute: Sequence[float] | None = None,
) -> Iterator[str]:
    yield _text(16, y + 14, mode, "head")
    yield _text(16, y + 34, said, "small")
    yield _text(16, y + 68, "memory")
    yield _rect(_BAR_LEFT, y + 48, _BAR, 32, picture.FILLS["part"])
    starts = [0.0, *accumulate(part for _, part in memory)]
    for (name, part), begin, colour in zip(memory, starts, _PODS, strict=False):
        x, width = _BAR_LEFT + begin * _BAR, part * _BAR
        yield _rect(x + 1, y + 49, width - 2, 30, colour)
        if len(name) * LETTER < width - 6:
            yield _text(round(x + 5), y + 69, name)
    if not memory:
        yield _text(_BAR_LEFT + 8, y + 69, "whoever comes first; too much is an error of any pod")
    yield _text(16, y + 114, "time")
    yield _rect(_BAR_LEFT, y + 88, _BAR, 44, picture.FILLS["part"])
    if how == "turns":
        for slot in range(_SLOTS):
            x = _BAR_LEFT + slot * _BAR / _SLOTS
            yield _rect(x + 1, y + 89, _BAR / _SLOTS - 2, 42, _PODS[slot % len(_PODS)])
        return
    top = y + 89.0
    for part, colour in zip(compute or [1 / len(_PODS)] * len(_PODS), _PODS, strict=True):
        yield _rect(_BAR_LEFT + 1, round(top), _BAR - 2, round(42 * part) - 1, colour)
        top += 42 * part


def label_to_scheduler() -> str:
    """What happens from the stack file to the pod, with the names of the stack `time-slicing`."""
    recording = run_program(
        picture.ROOT,
        project="eks-gpushare",
        stack="time-slicing",
        config=read_stack_config(STACK).values,
    )
    if recording.error is not None:
        raise RuntimeError(f"{STACK.name}: {recording.error}")
    (environment,) = recording.of_type("eks-gpushare:index:GpuSharingEnvironment")
    ((name, pool),) = to_json(environment.outputs["pools"]).items()
    ((instance, advertised),) = pool["perNode"].items()
    ((resource, count),) = advertised.items()
    maps = [each for each in recording.resources if each.type.endswith(":ConfigMap")]
    configured = yaml.safe_load(to_json(maps[0].inputs)["data"][name])["sharing"]["timeSlicing"]
    replicas = configured["resources"][0]["replicas"]
    groups = [each for each in recording.resources if each.type.endswith(":NodeGroup")]
    labels = next(
        labels
        for each in groups
        if "nvidia.com/device-plugin.config" in (labels := to_json(each.inputs).get("labels", {}))
    )
    key = labels["nvidia.com/device-plugin.config"]
    gpus = pool["gpusPerNode"][instance]
    selector = json.dumps(pool["nodeSelector"])[1:-1].replace('"', "")
    half = (WIDTH - 16 * 3) // 2
    top = Box(
        16,
        56,
        WIDTH - 32,
        "Stack file",
        f"pool {name}: sharing: {{mode: timeSlicing, replicas: {replicas}}}",
        "vpc",
    )
    y = top.bottom + 30
    more = 30  # for the label's name, which is one word
    left = Box(16, y, half - more, "ConfigMap", f"key {key}: replicas: {replicas}")
    label = f"nvidia.com/device-plugin.config: {key}"
    right = Box(32 + half - more, y, half + more, "Node label", label)
    y = max(left.bottom, right.bottom) + 30
    rest = [
        (
            "config-manager, beside the device plugin",
            (
                "reads the node's label, and gives the plugin what the ConfigMap has under "
                f"{key}. It watches the label only: an edit of the ConfigMap has to restart the "
                "plugin."
            ),
            "inside",
        ),
        (
            "Device plugin",
            f"registers {gpus} GPUs x {replicas} replicas as {count} devices with the kubelet",
            "inside",
        ),
        ("Kubelet", f"reports them: allocatable {resource}: {count}", "system"),
        (
            "Scheduler",
            (
                f"places pods that ask for {resource}: 1, select {selector} and tolerate the "
                "taint. It counts numbers, and knows nothing of GPUs."
            ),
            "cluster",
        ),
        (
            "Kubelet and device plugin, again",
            "give the container the GPU that its device stands for, the least shared one first",
            "system",
        ),
    ]
    lines = [*top.drawn(), *left.drawn(), *right.drawn()]
    lines += [
        _arrow(16 + half // 2, top.bottom, 16 + half // 2, left.y),
        _arrow(32 + half + half // 2, top.bottom, 32 + half + half // 2, right.y),
        _arrow(16 + half // 2, left.bottom, 16 + half // 2, y),
        _arrow(32 + half + half // 2, right.bottom, 32 + half + half // 2, y),
    ]
    last: Box | None = None
    for title, text, kind in rest:
        box = Box(16, y, WIDTH - 32, title, text, kind)
        if last is not None:
            lines.append(_arrow(WIDTH // 2, last.bottom, WIDTH // 2, box.y))
        lines += box.drawn()
        last, y = box, box.bottom + 26
    return _picture("From the label of a node to a running pod", lines, y - 10)


def _picture(title: str, lines: Sequence[str], height: int) -> str:
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    page = picture.FILLS["page"]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title">',
            f'<title id="title">{escape(title)}</title>',
            f"<style>{_STYLE}</style>",
            _TIP,
            f'<rect class="page" width="{WIDTH}" height="{height}" rx="8" fill="{page}"/>',
            _text(16, 34, title, "title"),
            *lines,
            "</svg>",
            "",
        ]
    )


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:g}" y="{y:g}">{escape(text)}</text>'


def _rect(x: float, y: float, width: float, height: float, fill: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:g}" width="{width:.1f}" height="{height:g}" rx="3" '
        f'fill="{fill}"/>'
    )


def _arrow(x: int, y: int, to_x: int, to_y: int) -> str:
    return f'<path d="M{x} {y}L{to_x} {to_y}"/>'
