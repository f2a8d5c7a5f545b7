"""MIG layouts on the slices of a GPU, as one SVG picture without anything from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from eks_gpushare.cli.mig_rows import compute_row, memory_row
from eks_gpushare.sharing.mig.geometry import unused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.catalog import MigModel
    from eks_gpushare.cli.mig_rows import Box
    from eks_gpushare.sharing.mig.geometry import Placement

_LEFT, _TOP, _RIGHT = 92, 56, 24
_SLICES_WIDTH = 704
_MEMORY_HEIGHT, _COMPUTE_HEIGHT = 52, 34
_TITLE_HEIGHT, _GAP, _BETWEEN = 48, 8, 34
_LAYOUT_HEIGHT = _TITLE_HEIGHT + _MEMORY_HEIGHT + _GAP + _COMPUTE_HEIGHT

# Fills light enough for the dark text on them (contrast above 7), told apart by hue and by name.
_FILLS = {1: "#bfe3ee", 2: "#c9e8bf", 3: "#fae3a5", 4: "#eccbe9", 7: "#cfd4f5"}
_OTHER_FILL = "#e2e2e2"
_DARK_FILLS = {
    "#bfe3ee": "#12414f",
    "#c9e8bf": "#20451a",
    "#fae3a5": "#4d3a08",
    "#eccbe9": "#4c1f49",
    "#cfd4f5": "#2b3268",
    "#e2e2e2": "#3a3d44",
    "#ffffff": "#12161d",
}
_STYLE = """text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial,
  sans-serif; fill: #1c2330; }
.title { font-size: 20px; font-weight: 600; }
.layout { font-size: 16px; font-weight: 600; }
.note, .slice, .row { font-size: 13px; fill: #4a5568; }
.name { font-size: 15px; font-weight: 600; }
.size { font-size: 13px; }
.free { font-size: 12px; fill: #5f6b7c; font-style: italic; }
rect.box { stroke: #4a5568; stroke-width: 1; }
rect.none { fill: url(#none); stroke: #9aa5b4; stroke-dasharray: 4 3; }"""
_IN_DARK = (
    "text { fill: #e8ebf1; }",
    ".note, .slice, .row, .free { fill: #b4bcc9; }",
    "rect.box { stroke: #8b95a5; }",
    "rect.none { stroke: #6b7686; }",
    "line { stroke: #2c3440; }",
)
_HATCH = (
    '<pattern id="none" width="8" height="8" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="8" height="8" fill="#ffffff"/>'
    '<line x1="0" y1="0" x2="0" y2="8" stroke="#e3e8ee" stroke-width="3"/></pattern>'
)


def picture(model: MigModel, layouts: Sequence[tuple[str, tuple[Placement, ...]]]) -> str:
    """A picture of layouts, one below the other.

    Args:
        model: The GPU.
        layouts: What each is called, and where its devices lie.
    """
    width = _LEFT + _SLICES_WIDTH + _RIGHT
    height = _TOP + len(layouts) * (_LAYOUT_HEIGHT + _BETWEEN)
    names = ", ".join(name for name, _ in layouts)
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title">',
        f'<title id="title">{escape(f"MIG layouts of the {model.name}: {names}")}</title>',
        f"<style>{_STYLE}\n{in_dark(_DARK_FILLS, *_IN_DARK)}</style>",
        f"<defs>{_HATCH}</defs>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
        _text(24, 34, "title", f"{model.name}", "start"),
        _text(width - _RIGHT, 34, "note", _about(model), "end"),
    ]
    for number, (name, placements) in enumerate(layouts):
        lines += _layout(model, name, placements, _TOP + number * (_LAYOUT_HEIGHT + _BETWEEN))
    return "\n".join([*lines, "</svg>", ""])


def in_dark(fills: Mapping[str, str], *rules: str) -> str:
    """What a picture's style says for readers whose pages are dark.

    Args:
        fills: The colour there of each that an element has as its attribute `fill`.
        rules: What else changes, as CSS.
    """
    painted = [f'[fill="{light}"] {{ fill: {dark}; }}' for light, dark in fills.items()]
    lines = "\n".join(f"  {line}" for line in (*painted, *rules))
    return f"@media (prefers-color-scheme: dark) {{\n{lines}\n}}"


def _about(model: MigModel) -> str:
    return (
        f"{model.compute_slices} compute slices, {model.memory_slices} memory slices, "
        f"{model.memory_gb} GB"
    )


def _layout(
    model: MigModel, name: str, placements: tuple[Placement, ...], top: int
) -> Iterator[str]:
    each = _SLICES_WIDTH / model.memory_slices
    yield _text(24, top + 20, "layout", name, "start")
    yield _text(_LEFT + _SLICES_WIDTH, top + 20, "note", _left_over(model, placements), "end")
    for number in range(model.memory_slices):
        middle = _LEFT + (number + 0.5) * each
        yield _text(middle, top + _TITLE_HEIGHT - 6, "slice", str(number), "middle")
    memory_top = top + _TITLE_HEIGHT
    compute_top = memory_top + _MEMORY_HEIGHT + _GAP
    for title, row, y, height in (
        ("memory", memory_row(model, placements), memory_top, _MEMORY_HEIGHT),
        ("compute", compute_row(model, placements), compute_top, _COMPUTE_HEIGHT),
    ):
        yield _text(24, y + height / 2 + 5, "row", title, "start")
        for box in row:
            yield from _box(box, each, y, height)


def _box(box: Box, each: float, y: int, height: int) -> Iterator[str]:
    x, width = _LEFT + box.first * each, box.size * each
    label = [line for line in box.label if line]
    if box.profile is None:
        paint = 'class="none"'
        classes = ["free"]
    else:
        fill = _FILLS.get(box.profile.compute_slices, _OTHER_FILL)
        paint = f'class="box" fill="{fill}"'
        classes = ["name", "size"] if len(label) > 1 else ["size"]
    yield (f'<rect {paint} x="{x + 1:g}" y="{y}" width="{width - 2:g}" height="{height}" rx="4"/>')
    baseline = y + height / 2 + 5 - (len(label) - 1) * 9
    for number, (line, kind) in enumerate(zip(label, classes, strict=True)):
        yield _text(x + width / 2, baseline + number * 18, kind, line, "middle")


def _left_over(model: MigModel, placements: tuple[Placement, ...]) -> str:
    devices: dict[str, int] = {}
    for placement in placements:
        devices[placement.profile] = devices.get(placement.profile, 0) + 1
    left = unused(model, devices)
    memory = f" ({left.memory_gb} GB)" if left.memory_slices else ""
    return (
        f"unused: {left.compute_slices} compute, {left.memory_slices} memory{memory}"
        if left.compute_slices or left.memory_slices
        else "nothing unused"
    )


def _text(x: float, y: float, kind: str, text: str, anchor: str) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'
