"""Judging a program of many resources: nothing is looked at once for each pair of them."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eks_gpushare.program.policies.analyzer import judge
from eks_gpushare.program.policies.pack_files import bundled_pack
from eks_gpushare.program.policies.packs import load_pack
from eks_gpushare.program.run import run_program

if TYPE_CHECKING:
    from types import CodeType, FrameType

    import pytest

ROOT = Path(__file__).parents[2]
FEW, TIMES = 100, 3
MOST = 1.25
"""How much oftener than the number of resources a function may be called: the first of a kind
finds what is kept for the others."""
SELDOM = 200


def calls(resources: int, program: Any) -> Counter[CodeType]:
    """How often each function of ours is called to judge a program of so many resources."""
    recording = run_program(lambda: program(resources), project="p", stack="s", config={})
    assert recording.error is None
    pack = load_pack(bundled_pack())
    found: Counter[CodeType] = Counter()

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            found[frame.f_code] += 1

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        judge(pack.policies, recording, pack=pack.name, level=pack.level)
    finally:
        sys.setprofile(before)
    return Counter({code: n for code, n in found.items() if "gpushare" in code.co_filename})


def test_no_function_is_called_for_each_pair_of_resources(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    from pack_growth import program

    few, many = calls(FEW, program), calls(FEW * TIMES, program)
    grown = {
        f"{Path(code.co_filename).name}:{code.co_firstlineno} {code.co_qualname}": (few[code], n)
        for code, n in many.items()
        if n > SELDOM and n > MOST * TIMES * few[code]
    }

    assert len(many) > 100
    assert grown == {}
