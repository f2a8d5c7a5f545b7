"""Values of any shape where another is meant: no check ends, and none shows what is not known."""

from __future__ import annotations

import copy
import random
from typing import TYPE_CHECKING, Any

import lint_corpus
import yaml

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, "x", "", "9" * 50, "{{ a }}"),
    *([], {}, [None], [1], ["x"], [[]], {"a": None}, {"": 1}),
)
ROUNDS = 300


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*above, key)
            yield from places(each, (*above, key))


def with_an_odd_value(files: Mapping[str, str], chosen: random.Random) -> dict[str, str] | None:
    """The files with one value, or two, of another shape in one of them."""
    names = [name for name in files if name.endswith((".yaml", ".yml"))]
    if not names:
        return None
    name = chosen.choice(names)
    try:
        documents = list(yaml.safe_load_all(files[name]))
    except yaml.YAMLError:
        return None
    for _ in range(chosen.choice((1, 1, 2))):
        document = chosen.choice(documents)
        found = list(places(document))
        if not found:
            return None
        *above, last = chosen.choice(found)
        for step in above:
            document = document[step]
        document[last] = copy.deepcopy(chosen.choice(ODD))
    return {**files, name: yaml.safe_dump_all(documents)}


def test_values_of_any_shape_end_no_check() -> None:
    chosen = random.Random(13)  # noqa: S311
    cases = lint_corpus.cases()
    ended: list[str] = []
    tried = 0
    for _ in range(ROUNDS):
        files = with_an_odd_value(chosen.choice(cases).files, chosen)
        if files is None:
            continue
        tried += 1
        reports = lint_files(GivenFile(name, text) for name, text in files.items())
        ended += [
            f"{report.file}: {each.message}"
            for report in reports
            for each in report.findings
            if each.code == "GPU012" or "Unknown." in each.message + each.fix
        ]

    assert ended == []
    assert tried > ROUNDS / 2
