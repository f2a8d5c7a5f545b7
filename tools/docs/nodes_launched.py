"""How many nodes real autoscalers launched for pods on shares: a table and a picture.

The numbers are those that the tests of the lab hold, in tests/golden/scaling/nodes-launched.json:
what Karpenter and Cluster Autoscaler did for a pool as a stack makes it, and for the same pool
without what the stack tells them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from eks_gpushare.cli.mig_svg import in_dark

ROOT = Path(__file__).parents[2]
NUMBERS = ROOT / "tests" / "golden" / "scaling" / "nodes-launched.json"
FILE = ROOT / "docs" / "images" / "nodes-launched.svg"

NAMES = {"karpenter": "Karpenter", "clusterAutoscaler": "Cluster Autoscaler"}
BEGIN, END = "<!-- nodes launched: written by tools/docs/make_pages.py -->\n", "<!-- end -->\n"
_HEAD = (
    "| by | sharing | type | shares of a node | pods | nodes | told nothing | fewest possible |\n"
    "|---|---|---|---:|---:|---:|---:|---:|\n"
)

WIDTH, _LEFT, _RIGHT, _LINE, _BAR = 860, 250, 250, 26, 15
_TEXT, _OURS, _OTHERS = "#1c2330", "#2f7d4f", "#c0562f"
_DARK = {"#ffffff": "#12161d", _OURS: "#4fae76", _OTHERS: "#e07b52"}
_STYLE = f"""text {{ font-family: system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial,
  sans-serif; fill: {_TEXT}; font-size: 13px; }}
.title {{ font-size: 18px; font-weight: 600; }}
.head {{ font-size: 14px; font-weight: 600; }}
{in_dark(_DARK, "text { fill: #e8ebf1; }")}"""


class Row(NamedTuple):
    """Pods for one pool, and what came of them."""

    by: str
    """Who launched the nodes."""
    sharing: str
    """How the GPUs are shared."""
    instance_type: str
    """Type of the nodes."""
    per_node: int
    """Shares that a node has."""
    pods: int
    """Pods that ask for one share each."""
    nodes: int
    """Nodes launched for the stack's pool."""
    untold: int | None
    """Nodes launched for the same pool by an autoscaler that is told nothing; None: not tried."""

    @property
    def fewest(self) -> int:
        """Nodes that have as many shares as there are pods."""
        return -(-self.pods // self.per_node)


def rows() -> list[Row]:
    """The numbers, in the order of the file."""
    given: dict[str, list[dict[str, Any]]] = json.loads(NUMBERS.read_text(encoding="utf-8"))
    return [
        Row(
            NAMES[by],
            each["sharing"],
            each["instanceType"],
            each["perNode"],
            each["pods"],
            each["nodes"],
            each["nodesUntold"],
        )
        for by, cases in given.items()
        for each in cases
    ]


def page(text: str) -> str:
    """The page with its table as the numbers are.

    Args:
        text: the page as it is.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("the page has no place for the table")
    return before + begin + _HEAD + "".join(map(_line, rows())) + end + after


def _line(row: Row) -> str:
    untold = {None: "", 0: "**0**: the pods wait"}.get(row.untold, f"**{row.untold}**")
    cells = (row.by, row.sharing, row.instance_type, row.per_node, row.pods, row.nodes, untold)
    return f"| {' | '.join(map(str, cells))} | {row.fewest} |\n"


def draw() -> str:
    """The picture as text: those cases of which both sides were tried."""
    compared = [row for row in rows() if row.untold is not None]
    most = max(max(row.nodes, row.untold or 0) for row in compared)
    title = "Nodes launched for pods that ask for one share each"
    height = 74 + len(compared) * (2 * _LINE + 10)
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title">',
        f'<title id="title">{title}</title>',
        f"<style>{_STYLE}</style>",
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
        f'<text x="20" y="32" class="title">{title}</text>',
        '<text x="20" y="52">By the autoscalers themselves, on an emulated EC2.</text>',
    ]
    top = 74
    for row in compared:
        scale = (WIDTH - _LEFT - _RIGHT) / most
        head = f"{row.pods} pods, {row.per_node} shares a node"
        lines.append(f'<text x="20" y="{top + 12}" class="head">{row.by}</text>')
        lines.append(f'<text x="20" y="{top + 30}">{row.sharing}</text>')
        lines.append(f'<text x="20" y="{top + 48}" opacity="0.75">{head}</text>')
        ours = f"{row.nodes}: told by the stack; {row.fewest} is the fewest"
        others = f"{row.untold}: told nothing" if row.untold else "0: told nothing, the pods wait"
        lines += _bar(top, row.nodes * scale, _OURS, ours)
        lines += _bar(top + _LINE, (row.untold or 0) * scale, _OTHERS, others)
        top += 2 * _LINE + 10
    return "\n".join([*lines, "</svg>", ""])


def _bar(top: int, length: float, colour: str, said: str) -> list[str]:
    width = max(length, 2)
    return [
        f'<rect x="{_LEFT}" y="{top}" width="{width:.0f}" height="{_BAR}" fill="{colour}"/>',
        f'<text x="{_LEFT + width + 8:.0f}" y="{top + 12}">{said}</text>',
    ]
