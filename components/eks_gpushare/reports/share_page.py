"""A map of shares as one HTML page, without scripts and with nothing from elsewhere.

Elements are put together by the standard library's ElementTree, which escapes what stands in them:
names are those of a cluster's users.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from xml.etree.ElementTree import Element, SubElement, tostring

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eks_gpushare.reports.share_map import MapCause, MapNode, MapPool, MapShares, ShareMap

MOST_NODES: Final = 40
"""Nodes of a pool that are drawn, those that are broken first: of a thousand nobody looks at more,
and the page has to stay small."""
MOST_CAUSES: Final = 100
_MOST_FOLLOWING = 8
_LEGEND = (
    "A square is a share: coloured ones are held by pods, empty ones free, hatched ones missing."
)
_COLUMNS = 20
_CELL, _STEP = 14, 17
_HUES = 8
_STYLE = """
:root { color-scheme: light dark; --back: #ffffff; --front: #1c2330; --soft: #4a5568;
  --line: #c3cad5; --panel: #f5f7fa; --bad: #b3261e; --warn: #8a5300; --link: #0b57d0;
  --h0: #0072b2; --h1: #c25400; --h2: #00795a; --h3: #a8447f; --h4: #5b6c00; --h5: #6a4fb3;
  --h6: #007d91; --h7: #7a5230; }
@media (prefers-color-scheme: dark) { :root { --back: #12161d; --front: #e8ebf1; --soft: #b4bcc9;
  --line: #3a4352; --panel: #1a2029; --bad: #ff8a80; --warn: #f5b95a; --link: #8ab4f8;
  --h0: #56b4e9; --h1: #f0904f; --h2: #3fcfa4; --h3: #e79ac6; --h4: #c3d24a; --h5: #b6a4f2;
  --h6: #5fd0e0; --h7: #d3a77e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--back);
  color: var(--front); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  overflow-wrap: anywhere; }
h1 { font-size: 1.35rem; margin: 0; } h2 { font-size: 1.1rem; margin: 1.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; }
p { margin: .25rem 0; } .soft { color: var(--soft); font-size: .9rem; }
th .soft { font-weight: 400; }
.summary { font-weight: 600; }
.parts { display: grid; gap: 0 2rem; }
@media (min-width: 60rem) { .parts.two { grid-template-columns: 3fr 2fr; } }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem .3rem 0; vertical-align: top;
  border-bottom: 1px solid var(--line);  overflow-wrap: normal; }
td.number, th.number { text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
@media (max-width: 30rem) { table { font-size: .8rem; } th, td { padding-right: .35rem; } }
.nodes { display: grid; gap: .75rem; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); }
.node { background: var(--panel); border: 1px solid var(--line); border-radius: .4rem;
  padding: .6rem .75rem; min-width: 0; }
.node.broken { border-color: var(--bad); border-width: 2px; }
.state, .error { color: var(--bad); font-weight: 600; }
.warning { color: var(--warn); font-weight: 600; } .info { color: var(--soft); font-weight: 600; }
svg { display: block; width: 100%; max-width: 21rem; height: auto; margin: .4rem 0; }
rect.free { fill: none; stroke: var(--soft); }
rect.lost { fill: url(#lost); stroke: var(--bad); }
ul { margin: .25rem 0; padding-left: 1.1rem; } .holders { list-style: none; padding: 0;
  font-size: .9rem; }
.swatch { display: inline-block; width: .8em; height: .8em; margin-right: .4em;
  border-radius: .15em; }
details { border-bottom: 1px solid var(--line); padding: .5rem 0; } summary { cursor: pointer; }
summary:focus-visible, a:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
a { color: var(--link); } code { font-size: .9em; white-space: pre-wrap; }
dt { font-weight: 600; margin-top: .35rem; } dd { margin: 0; }
""" + "".join(
    f"rect.h{hue} {{ fill: var(--h{hue}); }} .swatch.h{hue} {{ background: var(--h{hue}); }}\n"
    for hue in range(_HUES)
)


def share_page(share_map: ShareMap) -> str:
    """The page.

    Args:
        share_map: What it shows.
    """
    page = Element("html", lang="en")
    head = SubElement(page, "head")
    SubElement(head, "meta", charset="utf-8")
    SubElement(head, "meta", name="viewport", content="width=device-width, initial-scale=1")
    _text(head, "title", f"{share_map.title}: {share_map.subject}")
    _text(head, "style", _STYLE)
    body = SubElement(page, "body")
    _definitions(body)
    header = SubElement(body, "header")
    _text(header, "h1", f"{share_map.title}: {share_map.subject}")
    _text(header, "p", share_map.summary, "summary")
    if share_map.moment:
        _text(header, "p", share_map.moment, "soft")
    main = SubElement(body, "main")
    _table(main, share_map.pools)
    parts = SubElement(main, "div", {"class": "parts two" if share_map.causes else "parts"})
    nodes = SubElement(parts, "div")
    _text(nodes, "p", _LEGEND, "soft")
    hues: dict[str, int] = {}
    for pool in share_map.pools:
        _pool(nodes, pool, hues)
    if share_map.causes:
        _causes(parts, share_map.causes)
    _list(main, "Not known", share_map.notes)
    return f"<!DOCTYPE html>\n{tostring(page, encoding='unicode', method='html')}\n"


def _text(
    parent: Element, tag: str, text: str, kind: str | None = None, **attributes: str
) -> Element:
    made = SubElement(parent, tag, {**({"class": kind} if kind else {}), **attributes})
    made.text = text
    return made


def _definitions(body: Element) -> None:
    """The hatching of shares that are missing, in a picture that shows nothing."""
    attributes = {"aria-hidden": "true", "style": "position:absolute;width:0;height:0"}
    definitions = SubElement(SubElement(body, "svg", attributes), "defs")
    pattern = SubElement(
        definitions,
        "pattern",
        id="lost",
        width="5",
        height="5",
        patternUnits="userSpaceOnUse",
        patternTransform="rotate(45)",
    )
    line = {"x1": "0", "y1": "0", "x2": "0", "y2": "5"}
    SubElement(pattern, "line", line, style="stroke:var(--bad);stroke-width:2")


def _table(main: Element, pools: Sequence[MapPool]) -> None:
    table = SubElement(SubElement(main, "div", {"class": "scroll"}), "table")
    row = SubElement(SubElement(table, "thead"), "tr")
    _text(row, "th", "pool", scope="col")
    for name in ("nodes", "used", "declared", "USD/hour"):
        _text(row, "th", name, "number", scope="col")
    rows = SubElement(table, "tbody")
    for pool in pools:
        for number, shares in enumerate(pool.shares() or (None,)):
            first = number == 0
            row = SubElement(rows, "tr")
            head = _text(row, "th", pool.name if first else "", scope="row")
            _text(head, "div", "no GPU" if shares is None else shares.resource, "soft")
            cells = [str(pool.count) if first else "", *_counts(shares)]
            for cell in (*cells, _usd(pool.usd_per_hour) if first else ""):
                _text(row, "td", cell, "number")


def _counts(shares: MapShares | None) -> tuple[str, str]:
    if shares is None:
        return "", ""
    declared = "-" if shares.declared is None else str(shares.declared)
    return f"{shares.used} of {shares.advertised}", declared


def _usd(price: float | None) -> str:
    return "unknown" if price is None else f"{price:,.2f}"


def _pool(parent: Element, pool: MapPool, hues: dict[str, int]) -> None:
    section = SubElement(parent, "section")
    _text(section, "h2", f"Pool {pool.name}")
    ordered = sorted(pool.nodes, key=lambda node: not node.is_broken)
    nodes = SubElement(section, "div", {"class": "nodes"})
    for node in ordered[:MOST_NODES]:
        _node(nodes, node, hues)
    if not pool.nodes:
        _text(section, "p", "It has no node.", "soft")
    if left := ordered[MOST_NODES:]:
        count = sum(len(node.names) for node in left)
        broken = sum(len(node.names) for node in left if node.is_broken)
        told = f"and {count} more nodes, {broken} of them broken" if broken else f"and {count} more"
        _text(section, "p", told, "soft")


def _node(parent: Element, node: MapNode, hues: dict[str, int]) -> None:
    kind = "node broken" if node.is_broken else "node"
    article = SubElement(parent, "article", {"class": kind})
    more = len(node.names) - 1
    _text(article, "h3", node.names[0] + (f" and {more} alike" if more else ""))
    gpus = "" if node.gpus is None else f", {node.gpus} GPU{'' if node.gpus == 1 else 's'}"
    each = " each" if more else ""
    price = "" if node.usd_per_hour is None else f", {_usd(node.usd_per_hour)} USD an hour{each}"
    _text(article, "p", f"{node.type_name or 'type unknown'}{gpus}{price}", "soft")
    if node.state:
        _text(article, "p", node.state, "state")
    if not node.shares:
        _text(article, "p", "It advertises no GPU.", "soft")
    for shares in node.shares:
        _shares(article, shares, hues)


def _shares(article: Element, shares: MapShares, hues: dict[str, int]) -> None:
    missing = f", {shares.lost} missing" if shares.lost else ""
    told = f"{shares.used} of {shares.advertised} {shares.resource} used{missing}"
    _text(article, "p", told)
    cells: list[tuple[str, str]] = []
    owners: dict[str, int] = {}
    for held in shares.held:
        hue = hues.setdefault(held.owner, len(hues) % _HUES)
        owners[held.owner] = owners.get(held.owner, 0) + held.shares
        cells += [(f"h{hue}", held.pod or held.owner)] * held.shares
    cells += [("free", "free")] * shares.free + [("lost", "missing")] * shares.lost
    rows = -(-len(cells) // _COLUMNS)
    size = f"0 0 {_COLUMNS * _STEP} {rows * _STEP}"
    picture = SubElement(article, "svg", {"viewBox": size, "role": "img", "aria-label": told})
    for number, (kind, title) in enumerate(cells):
        row, column = divmod(number, _COLUMNS)
        place = {"x": str(column * _STEP + 1), "y": str(row * _STEP + 1)}
        square = {"width": str(_CELL), "height": str(_CELL), "rx": "2", "class": kind}
        _text(SubElement(picture, "rect", {**place, **square}), "title", title)
    holders = SubElement(article, "ul", {"class": "holders"})
    for owner, count in owners.items():
        item = SubElement(holders, "li")
        swatch = SubElement(item, "span", {"class": f"swatch h{hues[owner]}"})
        swatch.tail = f"{owner} {count}"


def _causes(parent: Element, causes: Sequence[MapCause]) -> None:
    section = SubElement(parent, "section")
    is_wrong = any(cause.severity != "info" for cause in causes)
    _text(section, "h2", "What is wrong" if is_wrong else "Worth knowing")
    for number, cause in enumerate(causes[:MOST_CAUSES]):
        attributes = {"open": "open"} if number == 0 else {}
        details = SubElement(section, "details", attributes)
        summary = SubElement(details, "summary")
        _text(summary, "span", cause.severity, cause.severity).tail = f" {cause.message}"
        told = SubElement(details, "dl")
        _term(told, "place", [cause.place])
        _term(told, "evidence", cause.evidence)
        follows = cause.follows[:_MOST_FOLLOWING]
        if (more := len(cause.follows) - len(follows)) > 0:
            follows = (*follows, f"and {more} more")
        _term(told, "follows", follows)
        _text(told, "dt", "fix")
        _text(SubElement(told, "dd"), "code", cause.fix)
        _text(told, "dt", "explained")
        _text(SubElement(told, "dd"), "a", cause.code, href=cause.address)
    if (more := len(causes) - MOST_CAUSES) > 0:
        _text(section, "p", f"and {more} more, which --json has", "soft")


def _term(parent: Element, name: str, said: Iterable[str]) -> None:
    lines = list(said)
    if lines:
        _text(parent, "dt", name)
        for line in lines:
            _text(parent, "dd", line)


def _list(main: Element, title: str, lines: Sequence[str]) -> None:
    if lines:
        _text(main, "h2", title)
        listed = SubElement(main, "ul")
        for line in lines:
            _text(listed, "li", line)
