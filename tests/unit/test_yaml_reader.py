"""The YAML reader against recorded answers of the engine, against garbage, and in its messages."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml  # type: ignore[import-untyped,unused-ignore]  # its stubs are a separate package
from hypothesis import given
from hypothesis import strategies as st

from eks_gpushare.stack_file.scalars import as_program_number
from eks_gpushare.stack_file.yaml import MAX_BYTES, StackDocument, YamlProblem, read

if TYPE_CHECKING:
    from collections.abc import Callable

ORACLE = Path(__file__).parents[1] / "golden" / "go-yaml"

STRICTER = {
    "alias": "no case is known; the rule for excessive aliases is go-yaml's own",
    "character": "a byte order mark inside a text is what is left of two files put together",
    "depth": "more than 100 levels are no stack file",
    "documents": "the engine ignores what follows the first document",
    "duplicate": "go-yaml does not see that an alias and a literal are the same key",
    "encoding": "go-yaml also reads UTF-16, which no other tool for stack files does",
    "key": "the engine renames a key that is no string: 010 to 8, ~ to <nil>",
    "merge": "the engine takes a quoted << for a merge key, by accident of how it loads a file",
    "syntax": "libyaml wants a blank after a colon within brackets, and nothing after '...'",
    "tag": "the engine ignores tags it does not know",
    "timestamp": "the engine rewrites 2024-01-01 as 2024-01-01 00:00:00 +0000 UTC",
}
"""Where the reader refuses what the engine takes, by kind of problem, and why."""

SHAPE_ONLY = {
    "scalar document": "the model wants a mapping",
    "list document": "the model wants a mapping",
    "number document": "the model wants a mapping",
    "config is a list": "the model wants a mapping under config",
    "config is a string": "the model wants a mapping under config",
    "key with three colons": "the model knows the keys it accepts",
}
"""Documents that are sound YAML and no stack file: refused by the engine, and here one step on."""


DIFFERENT = {
    (
        "top level scalars",
        "p:j",
    ): "beyond int64 a number keeps its digits at the top of config only",
}
"""Values that differ, by document and key. Nothing of this project's is a number up there."""


def _cases(name: str) -> list[Any]:
    return [
        pytest.param(case, id=case.get("name", case.get("text")))
        for case in json.loads((ORACLE / name).read_text(encoding="utf-8"))["cases"]
    ]


def _kinds(document: StackDocument) -> set[str]:
    return {problem.kind for problem in document.problems}


def _program_value(value: Any) -> Any:
    """What the recording shows for a value: its one secret decrypter marks what it opened."""
    if isinstance(value, dict):
        if value.keys() == {"secure"} and isinstance(value["secure"], str):
            return f"decrypted:{value['secure']}"
        return {key: _program_value(item) for key, item in value.items()}
    return [_program_value(item) for item in value] if isinstance(value, list) else value


def _top_level(value: Any) -> str:
    """The text for a key of `config`: JSON for everything but strings, and nothing for null."""
    value = _program_value(value)
    if isinstance(value, str) or value is None:
        return value or ""
    return json.dumps(value, sort_keys=True)


def _normalized(text: str) -> str:
    """JSON with sorted keys; whatever is no JSON object or list as it stands."""
    return json.dumps(json.loads(text), sort_keys=True) if text[:1] in ("{", "[") else text


@pytest.mark.parametrize("case", _cases("scalars.json"))
def test_a_scalar_reaches_the_program_as_with_the_engine(case: dict[str, Any]) -> None:
    document = read(f"config:\n  p:o:\n    v: {case['text']}\n")

    if "engineError" in case:
        assert document.problems
    elif _kinds(document) - {"timestamp"}:
        assert _kinds(document) <= STRICTER.keys()
    else:
        assert _program_config(document) == {"p:o": _normalized(case["program"])}


@pytest.mark.parametrize("case", _cases("documents.json"))
def test_a_document_reaches_the_program_as_with_the_engine(case: dict[str, Any]) -> None:
    document = read(base64.b64decode(case["base64"]) if "base64" in case else case["text"])

    if "engineError" in case:
        assert document.problems or case["name"] in SHAPE_ONLY
    elif _kinds(document) - {"timestamp"}:
        assert _kinds(document) <= STRICTER.keys()
    else:
        config = _program_config(document)
        assert {
            key: text for key, text in config.items() if (case["name"], key) not in DIFFERENT
        } == {
            key: _normalized(text)
            for key, text in case["program"].items()
            if (case["name"], key) not in DIFFERENT
        }


def _program_config(document: StackDocument) -> dict[str, str]:
    """The configuration of project `p` as texts by key, as a program receives it."""
    top = document.value
    config = top.get("config") if isinstance(top, dict) else None
    if not isinstance(config, dict):
        return {}
    texts = {}
    for key, value in config.items():
        full = key if ":" in key else f"p:{key}"
        texts[full.replace(":config:", ":")] = _top_level(value)
    return texts


def test_the_recorded_answers_name_their_source() -> None:
    for name in ("scalars.json", "documents.json"):
        about = json.loads((ORACLE / name).read_text(encoding="utf-8"))["about"]

        assert about["reader"] == "gopkg.in/yaml.v3 v3.0.1"


def test_each_reason_for_being_stricter_is_in_use() -> None:
    kinds = set()
    for name, wrap in (("scalars.json", "config:\n  p:o:\n    v: {}\n"), ("documents.json", "{}")):
        for case in json.loads((ORACLE / name).read_text(encoding="utf-8"))["cases"]:
            if "engineError" not in case:
                text = case.get("text")
                data = base64.b64decode(case["base64"]) if text is None else text.encode()
                kinds |= _kinds(read(wrap.encode().replace(b"{}", data)))

    assert kinds == STRICTER.keys() - {"alias"}


STACK = """\
config:
  eks-gpushare:environment:
    cluster:
      version: 1.30
      name: "demo"
    base: &base
      replicas: 0x10
    pools:
      - gpu
      - sharing:
          <<: *base
          mode: mps
      - *base
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ((), 1),
        (("cluster",), 3),
        (("cluster", "version"), 4),
        (("cluster", "version", "minor"), 4),
        (("cluster", "nmae"), 3),
        (("pools", 0), 9),
        (("pools", 1, "sharing", "mode"), 12),
        (("pools", 1, "sharing", "replicas"), 7),
        (("pools", 2), 13),
        (("pools", 2, "replicas"), 7),
        (("pools", 9), 8),
        (("pools", "gpu"), 8),
    ],
)
def test_a_path_leads_to_its_line_or_that_of_its_nearest_ancestor(
    path: tuple[str | int, ...], line: int
) -> None:
    below = ("config", "eks-gpushare:environment", *path) if path else ()

    assert read(STACK).line_of(below) == line


def test_nothing_read_has_no_line() -> None:
    assert read("").line_of(("config",)) is None
    assert read("a: [").line_of(("a",)) is None


def test_a_scalar_is_kept_as_it_was_written() -> None:
    document = read(STACK)
    at = ("config", "eks-gpushare:environment")

    assert document.raw_scalar((*at, "cluster", "version")) == "1.30"
    assert document.raw_scalar((*at, "pools", 2, "replicas")) == "0x10"
    assert document.raw_scalar((*at, "cluster", "name")) == "demo"
    assert document.raw_scalar((*at, "cluster")) is None
    assert document.raw_scalar((*at, "nowhere")) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(
            "a: 1\n\tb: 2\n",
            YamlProblem(
                "a tab stands where YAML allows only blanks", 2, 1, "tab", (), "indent with blanks"
            ),
            id="tab",
        ),
        pytest.param(
            "a: 1\nb: c: d\n",
            YamlProblem(
                "not valid YAML: mapping values are not allowed in this context",
                2,
                5,
                fix="indent with care, and quote a value that contains ': '",
            ),
            id="colon",
        ),
        pytest.param(
            "a: [1\n",
            YamlProblem(
                "not valid YAML: while parsing a flow sequence, did not find expected ',' or ']'",
                2,
                1,
                fix="close the bracket and put commas between its members",
            ),
            id="open bracket",
        ),
        pytest.param(
            "a: 1\n---\nb: 2\n",
            YamlProblem(
                "a second document starts here; the Pulumi engine reads only the first",
                2,
                1,
                "documents",
                (),
                "keep one document per file",
            ),
            id="two documents",
        ),
        pytest.param(
            "a: *x\n",
            YamlProblem("the alias *x is not defined above", 1, 4, "alias", ("a",)),
            id="undefined alias",
        ),
        pytest.param(
            "a: &a [*a]\n",
            YamlProblem("the alias *a stands for a value it is part of", 1, 8, "alias", ("a", 0)),
            id="alias within itself",
        ),
        pytest.param(
            "a:\n  b: 1\n  b: 2\n",
            YamlProblem(
                "the key 'b' is already set on line 2",
                3,
                3,
                "duplicate",
                ("a", "b"),
                "keep one of the two",
            ),
            id="duplicate",
        ),
        pytest.param(
            "a:\n  010: x\n",
            YamlProblem(
                "the key 010 is read as a number, not as a string",
                2,
                3,
                "key",
                ("a",),
                "put it in quotes",
            ),
            id="number as key",
        ),
        pytest.param(
            "[a]: x\n",
            YamlProblem(
                "a key must be a string, and this one is a list",
                1,
                1,
                "key",
                (),
                "quote text that starts with { or [",
            ),
            id="list as key",
        ),
        pytest.param(
            "a: {<<: 5}\n",
            YamlProblem(
                "the merge key << takes a mapping or a list of mappings",
                1,
                9,
                "merge",
                ("a", "<<"),
                "name an anchored mapping: '<<: *anchor'",
            ),
            id="merge of a number",
        ),
        pytest.param(
            "a: !!python/name:os.system x\n",
            YamlProblem(
                "the tag !!python/name:os.system is not supported: "
                "only !!str, !!int, !!float, !!bool and !!null are read",
                1,
                4,
                "tag",
                ("a",),
                "remove the tag",
            ),
            id="python tag",
        ),
        pytest.param(
            "a: !!int five\n",
            YamlProblem(
                "'five' cannot be read as !!int",
                1,
                4,
                "scalar",
                ("a",),
                "remove the tag or correct the value",
            ),
            id="tag and value at odds",
        ),
        pytest.param(
            "a: 2026-01-31\n",
            YamlProblem(
                "2026-01-31 is read as a date, "
                "and the program receives '2026-01-31 00:00:00 +0000 UTC'",
                1,
                4,
                "timestamp",
                ("a",),
                "put it in quotes",
            ),
            id="date",
        ),
        pytest.param(
            "a: .inf\n",
            YamlProblem(
                ".inf is read as a number that the Pulumi engine cannot pass on",
                1,
                4,
                "infinite",
                ("a",),
                "put it in quotes if text is meant",
            ),
            id="infinity",
        ),
        pytest.param(
            "%YAML 1.2\n---\na: 1\n",
            YamlProblem(
                "the Pulumi engine reads no YAML that calls itself anything but 1.1",
                1,
                1,
                "directive",
                (),
                "remove the %YAML line",
            ),
            id="version directive",
        ),
        pytest.param(
            "a: [http://x/?q=1]\n",
            YamlProblem(
                "a question mark within brackets needs quotes for the Pulumi engine",
                1,
                5,
                "syntax",
                ("a", 0),
                "put it in quotes",
            ),
            id="question mark",
        ),
        pytest.param(
            "a: 1\nb: x\0y\n",
            YamlProblem(
                "character U+0000 is not allowed in YAML",
                2,
                5,
                "character",
                (),
                "remove it, or write it as an escape in double quotes",
            ),
            id="NUL",
        ),
        pytest.param(
            "a: 1\r\nb: ä".encode("latin-1"),
            YamlProblem(
                "byte 0xe4 is not UTF-8", 2, 4, "encoding", (), "save the file as UTF-8 text"
            ),
            id="latin-1",
        ),
        pytest.param(
            "a" * (MAX_BYTES + 1),
            YamlProblem(
                "the text has 1,048,577 bytes, more than the 1,048,576 that are read", 1, 1, "size"
            ),
            id="too large",
        ),
        pytest.param(
            "ä" * (MAX_BYTES // 2 + 1),
            YamlProblem(
                "the text has 1,048,578 bytes, more than the 1,048,576 that are read", 1, 1, "size"
            ),
            id="too large in bytes",
        ),
        pytest.param(
            "a: " + "[" * 200,
            YamlProblem("more than 100 levels of nesting", 1, 103, "depth"),
            id="too deep",
        ),
    ],
)
def test_a_problem_says_what_where_and_what_to_do(text: str | bytes, problem: YamlProblem) -> None:
    assert read(text).problems == (problem,)


def test_all_problems_are_listed_in_the_order_of_lines() -> None:
    text = "a: 2026-01-31\nb: {x: 1, x: 2}\n1: c\na: !foo d\n"

    kinds = [(problem.line, problem.kind) for problem in read(text).problems]

    assert kinds == [(1, "timestamp"), (2, "duplicate"), (3, "key"), (4, "duplicate"), (4, "tag")]


def test_problems_found_before_a_syntax_error_are_kept() -> None:
    document = read("a: 1\na: 2\nb: [\n")

    assert [problem.kind for problem in document.problems] == ["duplicate", "syntax"]
    assert not document.readable
    assert document.value is None


def test_the_first_of_two_equal_keys_counts() -> None:
    assert read("a: 1\na: 2\n").value == {"a": 1}


def test_an_empty_text_is_readable_and_has_no_value() -> None:
    assert read("", "stacks/Pulumi.dev.yaml") == StackDocument("stacks/Pulumi.dev.yaml", None)
    assert read("# only a comment\n") == StackDocument("<text>", None)


def test_a_text_of_a_thousand_pools_is_read() -> None:
    pool = (
        "  p{}: {{instanceTypes: [g5.xlarge], nodes: {{min: 0, desired: 1, max: 9}}, zones: [a]}}\n"
    )
    document = read("pools:\n" + "".join(pool.format(number) for number in range(1000)))

    assert document.problems == ()
    assert document.line_of(("pools", "p999", "nodes", "max")) == 1001


def _laughs(levels: int) -> str:
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    for level in range(1, levels):
        aliases = ", ".join([f"*a{level - 1}"] * 10)
        lines.append(f"a{level}: &a{level} [{aliases}]")
    return "\n".join(lines)


def _chance() -> random.Random:
    return random.Random(1)  # noqa: S311  (garbage, and the same in every run)


# Made by whoever tries it: each process of the tests reads this file, and one tries them.
GARBAGE: dict[str, Callable[[], str | bytes]] = {
    "random bytes": lambda: _chance().randbytes(MAX_BYTES),
    "random printable text": lambda: bytes(_chance().choices(range(32, 127), k=MAX_BYTES)),
    "random indicators": lambda: "".join(_chance().choices("[]{}:,-?&*!|>'\"%@` \n", k=MAX_BYTES)),
    "opening brackets": lambda: "[" * MAX_BYTES,
    "opening braces": lambda: "{" * MAX_BYTES,
    "nested mappings": lambda: "{a: " * (MAX_BYTES // 4),
    "nested dashes": lambda: "- " * (MAX_BYTES // 2),
    "nested question marks": lambda: "? " * (MAX_BYTES // 2),
    "billion laughs": lambda: _laughs(10),
    "ten thousand aliases": lambda: "a: &a [" + "x, " * 100 + "]\nb: [" + "*a, " * 10_000 + "]",
    "duplicate keys": lambda: "a: 1\n" * (MAX_BYTES // 5),
    "tabs": lambda: "\t" * MAX_BYTES,
    "anchors": lambda: "&a " * (MAX_BYTES // 3),
    "exclamation marks": lambda: "!" * MAX_BYTES,
    "dates": lambda: "- 2026-01-31\n" * (MAX_BYTES // 13),
    "items": lambda: "[" + "1," * (MAX_BYTES // 2 - 1) + "]",
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_is_a_problem(name: str) -> None:
    # Plain text is a YAML document too, if one that no stack file can be.
    document = read(GARBAGE[name]())

    assert document.problems or isinstance(document.value, str)


def test_a_number_of_a_million_digits_is_text_at_once() -> None:
    digits = "9" * (MAX_BYTES - 8)

    assert read(f"a: 0x{digits}").value == {"a": f"0x{digits}"}
    assert read(f"a: {digits}").value == {"a": digits}


@given(st.text() | st.binary())
def test_any_input_gives_a_document(text: str | bytes) -> None:
    document = read(text)

    assert document.readable or document.problems


@given(st.text(alphabet="ab1 .:-,[]{}\"'#\n\t|>&*!%?<~\\/_e", max_size=40))
def test_any_punctuation_gives_a_document(text: str) -> None:
    document = read(text)

    assert document.readable or document.problems


JSON_CHARACTERS = st.characters(
    min_codepoint=32, max_codepoint=0xD7FF, exclude_characters="\x7f\ufeff"
)
JSON_TEXT = st.text(JSON_CHARACTERS)
# YAML ends a key after 1024 characters, of which an escape takes six.
JSON_KEYS = st.text(JSON_CHARACTERS, max_size=100).filter(lambda key: key != "<<")
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(-1e15, 1e15)
    | JSON_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(JSON_KEYS, inner),
)


@given(JSON_VALUES)
def test_json_comes_back_with_whole_numbers_as_integers(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=True)

    document = read(text)

    assert document.problems == ()
    assert document.value == json.loads(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_keeps_its_value(number: float) -> None:
    received = as_program_number(number)

    assert float(received) == number
    assert isinstance(received, int) == (number.is_integer() and abs(number) < 1e21)


def test_without_libyaml_the_answers_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    with_libyaml = read(STACK)
    monkeypatch.delattr(yaml, "CSafeLoader")

    assert read(STACK) == with_libyaml
    assert read("a: [").problems[0].kind == "syntax"
    assert read('a: "\\U00FFFFFF"').problems[0].kind == "syntax"
