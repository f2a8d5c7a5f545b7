"""The page of the corpus of lint: what is found of it, by mistake and by rule."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import lint_corpus
import lint_reports

from eks_gpushare.findings.pages import subject_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FOUND_BEFORE = {"development": 38, "held_out": 32}
"""What lint found of them before any rule was written after one, in November 2026."""
BEGIN, END = "<!-- lint corpus: written by tools/docs/make_pages.py -->\n", "<!-- end -->\n"


def page(text: str) -> str:
    """The page with its tables anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    tables = f"{_mistakes()}\n{_rules()}\n{_subjects()}\n{_missed()}{_reports()}"
    return f"{before}{BEGIN}\n{tables}{END}{after}"


def _mistakes() -> str:
    marked: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for verdict in lint_corpus.verdicts():
        marked.update(mark.mistakes[0] for mark in verdict.case.marks)
        found.update(mark.mistakes[0] for mark in verdict.hits)
    rows = [
        (each.means, _codes(each.rules), str(marked[name]), str(found[name]))
        for name, each in lint_corpus.mistakes().items()
        if marked[name]
    ]
    total = ("**all**", "", str(marked.total()), str(found.total()))
    return _table("| mistake | rules | marked | found |\n|---|---|---:|---:|\n", [*rows, total])


def _rules() -> str:
    found: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for verdict in lint_corpus.verdicts():
        found.update(hit.code for hit in verdict.hits.values())
        wrong.update(alarm.code for alarm in verdict.alarms)
    marks = _marks_by_rule()
    rows = [
        (
            _codes((code,)),
            str(found[code]),
            str(wrong[code]),
            _part(found[code], wrong[code]),
            _part(found[code], marks[code]),
        )
        for code in sorted({*found, *wrong})
    ]
    head = "| rule | found | false alarms | precision | recall |\n|---|---:|---:|---:|---:|\n"
    return f"## By rule\n\n{_table(head, rows)}"


def _marks_by_rule() -> Counter[str]:
    """Marks that only this rule is for and that it did not find."""
    left: Counter[str] = Counter()
    for verdict in lint_corpus.verdicts():
        for mark in verdict.misses:
            codes = {code for name in mark.mistakes for code in lint_corpus.mistakes()[name].rules}
            if len(codes) == 1:
                left.update(codes)
    return left


def _part(hits: int, others: int) -> str:
    return f"{hits / (hits + others):.0%}" if hits + others else ""


def _subjects() -> str:
    names = dict.fromkeys(case.subject for case in lint_corpus.cases())
    rows = []
    for name in names:
        those = [each for each in lint_corpus.verdicts() if each.case.subject == name]
        right = sum(each.case.is_right for each in those)
        alarms = sum(len(each.alarms) for each in those)
        rows.append((name.replace("_", " "), str(len(those) - right), str(right), str(alarms)))
    total = ("**all**", *(str(sum(int(row[n]) for row in rows)) for n in (1, 2, 3)))
    head = "| subject | wrong cases | right cases | false alarms |\n|---|---:|---:|---:|\n"
    return f"## By subject\n\n{_table(head, [*rows, total])}"


def _missed() -> str:
    rows = [
        f"* {each.case.about} {each.case.missed}\n"
        for each in lint_corpus.verdicts()
        if each.misses and each.case.missed
    ]
    return f"## What is marked and not found\n\n{''.join(rows)}\n" if rows else ""


def _reports() -> str:
    rows = []
    for half in lint_reports.HALVES:
        outcomes = lint_reports.outcomes(half)
        found = sum(bool(outcome.told) for outcome in outcomes)
        alarms = sum(len(outcome.alarms) for outcome in outcomes)
        before, part = FOUND_BEFORE[half], f"{found / len(outcomes):.0%}"
        rows.append(
            (half.replace("_", " "), str(len(outcomes)), str(before), str(found), part, str(alarms))
        )
    head = (
        "| half | reports | found before | found | recall | alarms in right files |\n"
        "|---|---:|---:|---:|---:|---:|\n"
    )
    return f"## What users reported\n\n{_table(head, rows)}\n"


def _codes(codes: Iterable[str]) -> str:
    return ", ".join(map(_linked, codes)) or "none"


def _table(head: str, rows: Iterable[tuple[str, ...]]) -> str:
    return head + "".join(_lines(rows))


def _lines(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for row in rows:
        yield f"| {' | '.join(row)} |\n"


def _linked(code: str) -> str:
    subject = subject_of(code)
    return f"[{code}](findings/{subject.slug}.md#{code.lower()})" if subject else f"`{code}`"
