"""Objects of the lint corpus in a cluster: whatever they are, no check of `verify` breaks on them.

The corpus has no Nodes, so each case's objects join those of a cluster that is sound.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import lint_corpus
import pytest
import yaml
from tests.conftest import sampled
from tests.live.test_faults import HEALTHY, verdict, worse

from eks_gpushare.findings.defects import CHECK_FAILED
from eks_gpushare.live.dumps import read_dumps
from eks_gpushare.live.verdict import verdict_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def objects_of(case: lint_corpus.Case) -> Iterator[dict[str, Any]]:
    """What of a case `kubectl apply` would take."""
    for name, text in case.files.items():
        if name.endswith((".yaml", ".yml")):
            try:
                read = yaml.load_all(text, yaml.CSafeLoader)
                found = [given for given in read if isinstance(given, dict)]
            except yaml.YAMLError:  # of a chart's template, or of what is wrong on purpose
                continue
            yield from (given for given in found if given.get("kind") and given.get("metadata"))


CASES = {case.name: found for case in lint_corpus.cases() if (found := [*objects_of(case)])}


@pytest.mark.parametrize("name", sampled([*CASES], 4))
def test_no_check_breaks_on_it(tmp_path: Path, name: str) -> None:
    items = [*copy.deepcopy(HEALTHY), *CASES[name]]
    file = tmp_path / "dump.json"
    file.write_text(json.dumps({"kind": "List", "items": items}, default=str))
    found = verdict_of(read_dumps([str(file)]))

    told = [*worse(found), *((f.finding.code, "") for c in found.causes for f in c.follows)]
    assert CHECK_FAILED.id not in {code for code, _ in told}


def test_there_are_many_and_the_cluster_is_sound_without_them() -> None:
    assert len(CASES) > 150
    assert worse(verdict(HEALTHY, with_stack=False)) == []
