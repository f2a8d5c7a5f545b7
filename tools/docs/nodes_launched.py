"""How many nodes real autoscalers launched for pods on shares, and for what: tables and a picture.

The numbers are those that the tests of the lab hold, in tests/golden/scaling/nodes-launched.json:
what Karpenter and Cluster Autoscaler did for a pool as a stack makes it, and for the same pool
without what the stack tells them. Dollars are list prices of the catalog.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.catalog import Catalog
from eks_gpushare.cli.mig_svg import in_dark
from eks_gpushare.sharing.karpenter.purchase import Purchase, cheapest

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
NUMBERS = ROOT / "tests" / "golden" / "scaling" / "nodes-launched.json"
FILE = ROOT / "docs" / "images" / "nodes-launched.svg"

NAMES = {"karpenter": "Karpenter", "clusterAutoscaler": "Cluster Autoscaler"}
BEGIN, END = "<!-- nodes launched: written by tools/docs/make_pages.py -->\n", "<!-- end -->\n"
BEGIN_OF_TYPES = "<!-- nodes of several types: written by tools/docs/make_pages.py -->\n"
REGION = "us-west-2"
_HEAD = (
    "| by | sharing | type | shares of a node | pods | nodes, $/hour | told nothing "
    "| fewest possible |\n"
    "|---|---|---|---:|---:|---:|---:|---:|\n"
)
_HEAD_OF_TYPES = (
    "| shares of a node | pods | Karpenter launches | $/hour | the cheapest | $/hour |\n"
    "|---|---:|---|---:|---|---:|\n"
)

_SUBTITLE = f"By the autoscalers themselves, on an emulated EC2; list prices of {REGION}."
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

    def dollars(self, nodes: int) -> str:
        """What so many of them cost per hour."""
        return f"{nodes * price(self.instance_type):,.2f}"


class Chosen(NamedTuple):
    """Pods for one pool of several types, and which of them Karpenter launched."""

    per_node: dict[str, int]
    """Shares that a node has, by type."""
    pods: int
    """Pods that ask for one share each."""
    launched: dict[str, int]
    """Nodes by type."""

    @property
    def cheapest(self) -> Purchase:
        """What would have room for the pods for least."""
        return cheapest(self.per_node, self._prices, self.pods)

    @property
    def paid(self) -> float:
        """USD per hour of what was launched."""
        return sum(count * self._prices[name] for name, count in self.launched.items())

    @property
    def _prices(self) -> dict[str, float]:
        return {name: price(name) for name in self.per_node}


def price(instance_type: str) -> float:
    """USD per hour of an instance on demand."""
    found = Catalog().find(instance_type)
    dollars = found and found.price(REGION)
    if not dollars:
        raise ValueError(f"no price of {instance_type} in {REGION} is known")
    return dollars


def _numbers(*sections: str) -> list[tuple[str, dict[str, Any]]]:
    given: dict[str, list[dict[str, Any]]] = json.loads(NUMBERS.read_text(encoding="utf-8"))
    return [(section, case) for section in sections for case in given[section]]


def chosen() -> list[Chosen]:
    """The numbers of pools of several types."""
    return [
        Chosen(case["perNode"], case["pods"], case["nodes"]) for _, case in _numbers("severalTypes")
    ]


def rows() -> list[Row]:
    """The numbers of pools of one type, in the order of the file."""
    return [
        Row(
            NAMES[by],
            case["sharing"],
            case["instanceType"],
            case["perNode"],
            case["pods"],
            case["nodes"],
            case["nodesUntold"],
        )
        for by, case in _numbers(*NAMES)
    ]


def page(text: str) -> str:
    """The page with its tables as the numbers are.

    Args:
        text: the page as it is.
    """
    text = _with(text, BEGIN, [_HEAD, *map(_line, rows())])
    return _with(text, BEGIN_OF_TYPES, [_HEAD_OF_TYPES, *map(_line_of_types, chosen())])


def _with(text: str, begin: str, lines: list[str]) -> str:
    before, found, rest = text.partition(begin)
    _, end, after = rest.partition(END)
    if not found or not end:
        raise ValueError(f"the page has no place for the table: {begin.strip()}")
    return before + begin + "".join(lines) + end + after


def _line(row: Row) -> str:
    untold = f"**{row.untold}**, {row.dollars(row.untold)}" if row.untold else ""
    cells = (
        *(row.by, row.sharing, row.instance_type, row.per_node, row.pods),
        f"{row.nodes}, {row.dollars(row.nodes)}",
        "**0**: the pods wait" if row.untold == 0 else untold,
        f"{row.fewest}, {row.dollars(row.fewest)}",
    )
    return f"| {' | '.join(map(str, cells))} |\n"


def _line_of_types(case: Chosen) -> str:
    best = case.cheapest
    cells = (
        ", ".join(f"{name} {shares}" for name, shares in case.per_node.items()),
        case.pods,
        *(_nodes(case.launched), f"{case.paid:.2f}"),
        *(_nodes(best.nodes), f"{best.usd_per_hour:.2f}"),
    )
    return f"| {' | '.join(map(str, cells))} |\n"


def _nodes(by_type: Mapping[str, int]) -> str:
    return ", ".join(f"{count} x {name}" for name, count in sorted(by_type.items()))


def draw() -> str:
    """The picture as text: those cases of which both sides were tried."""
    compared = [row for row in rows() if row.untold is not None]
    most = max(max(row.nodes, row.untold or 0) for row in compared)
    title = "Nodes launched for pods that ask for one share each, and what they cost"
    height = 74 + len(compared) * (2 * _LINE + 10)
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title">',
        f'<title id="title">{title}</title>',
        f"<style>{_STYLE}</style>",
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
        f'<text x="20" y="32" class="title">{title}</text>',
        f'<text x="20" y="52">{_SUBTITLE}</text>',
    ]
    top = 74
    for row in compared:
        scale = (WIDTH - _LEFT - _RIGHT) / most
        head = f"{row.pods} pods, {row.per_node} shares a node"
        lines.append(f'<text x="20" y="{top + 12}" class="head">{row.by}</text>')
        lines.append(f'<text x="20" y="{top + 30}">{row.sharing}</text>')
        lines.append(f'<text x="20" y="{top + 48}" opacity="0.75">{head}</text>')
        paid, for_nothing = row.dollars(row.nodes), row.dollars(row.untold or 0)
        ours = f"{row.nodes}, {paid} $/hour: told by the stack; {row.fewest} is the fewest"
        others = f"{row.untold}, {for_nothing} $/hour: told nothing"
        others = others if row.untold else "0: told nothing, the pods wait"
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
