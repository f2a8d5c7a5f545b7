"""One mistake is one error, wherever it is made.

At every place of every stack file, and of every example's right side, a key is misspelt and a
value is made one that cannot be read. What is then said of other places would be about values that
nobody gave.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import finding_examples
import pytest
import yaml
from tests.conftest import sampled

from eks_gpushare.config.base import Model
from eks_gpushare.config.environment import Environment
from eks_gpushare.config.project import ENVIRONMENT_KEY
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.rules import all_rules, check_environment
from eks_gpushare.validation.parse import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eks_gpushare.findings.finding import Finding

    Place = tuple[str | int, ...]

ROOT = Path(__file__).parents[2]
STACKS = {
    path.stem: yaml.load(path.read_bytes(), yaml.CSafeLoader)["config"]
    for path in sorted((ROOT / "stacks").glob("Pulumi.*.yaml"))
}
AT_LENGTH = pytest.mark.at_length
"""What is tried of every example and of most stacks at night alone: places repeat themselves."""
RARE_PARTS = 8
"""Of which a change is tried with one."""
OFTEN = {"Pulumi.karpenter-mig", "Pulumi.serve"}
RARE = yaml.load(Path(__file__).with_name("rare_keys.yaml").read_bytes(), yaml.CSafeLoader)
RULES = [rule.id for rule in all_rules()]
CHOSEN = {
    *("labels", "tags", "values", "devices", "layout", "instanceTypes", "versions"),
    *("migProfiles", "migLayouts", "byName"),
}
"""Blocks whose keys the user chooses, so that another one is no mistake."""


def places(value: Any, above: Place = ()) -> Iterator[Place]:
    items = enumerate(value) if isinstance(value, list) else ()
    for key, inner in value.items() if isinstance(value, dict) else items:
        yield (*above, key)
        yield from places(inner, (*above, key))


def misspellings(key: str) -> set[str]:
    """A letter lost, and two letters swapped."""
    middle = len(key) // 2
    swapped = key[: middle - 1] + key[middle] + key[middle - 1] + key[middle + 1 :]
    return {key[:middle] + key[middle + 1 :], swapped} - {key, ""}


def unreadable(value: Any) -> list[Any]:
    """Values of other types."""
    if isinstance(value, dict | list):
        return [7, None]
    return [["a"], 7.5 if isinstance(value, str) else "seven"]


def mistakes(given: dict[str, Any], at: Place) -> Iterator[dict[str, Any]]:
    """The environment with a mistake at a place, one of each kind."""
    *above, key = at
    owner: Any = given
    for part in above:
        owner = owner[part]
    changes = [{**dict(_items(owner)), key: wrong} for wrong in unreadable(owner[key])]
    if isinstance(key, str) and not CHOSEN & {*above} and above[-1:] != ["pools"]:
        changes += [
            {wrong if k == key else k: v for k, v in owner.items()} for wrong in misspellings(key)
        ]
    for changed in changes:
        made = copy.deepcopy(given)
        inner: Any = made
        for part in above:
            inner = inner[part]
        if isinstance(inner, dict):
            inner.clear()
        for each, value in changed.items():
            inner[each] = value
        yield made


def _items(owner: Any) -> Any:
    return owner.items() if isinstance(owner, dict) else enumerate(owner)


def errors(given: dict[str, Any]) -> tuple[tuple[Finding, ...], list[Finding]]:
    """What is wrong with the shape of an environment, and with what could be read of it."""
    parsed = parse(given)
    if parsed.environment is None:
        return parsed.findings, []
    found = check_environment(
        parsed.environment,
        region=finding_examples.REGION,
        today=finding_examples.TODAY,
        partly_read=bool(parsed.findings),
    )
    return parsed.findings, [each for each in found if each.severity == "error"]


def said_too_much(given: dict[str, Any], wanted: Iterable[Place]) -> list[str]:
    """Errors besides the one about a mistake."""
    before = [*errors(given)[0], *errors(given)[1]]
    wrong = set()
    for at in wanted:
        for made in mistakes(given, at):
            shape, ruled = errors(made)
            here = [each for each in shape if each.at[: len(at) - 1] == at[:-1]]
            if here:
                others = [each for each in (*shape, *ruled) if each not in (*here[:1], *before)]
                wrong |= {f"{at}: {each}" for each in others}
    return sorted(wrong)


def example_given(rule: str) -> dict[str, Any]:
    """The environment of a rule's example that is right."""
    right = finding_examples.example(rule).right
    if right.whole:
        return dict(yaml.load(right.text, yaml.CSafeLoader)["config"][ENVIRONMENT_KEY])
    return merge_values(finding_examples.base(), yaml.load(right.text, yaml.CSafeLoader))


def told(lines: list[str]) -> str:
    return "\n".join(["", *lines])


@pytest.mark.parametrize(
    "name", [name if name in OFTEN else pytest.param(name, marks=AT_LENGTH) for name in STACKS]
)
def test_a_mistake_in_a_stack_file_is_one_error(name: str) -> None:
    given = STACKS[name][ENVIRONMENT_KEY]
    wrong = said_too_much(given, places(given))

    assert not wrong, told(wrong)


@pytest.mark.parametrize(
    "begin", [0, *(pytest.param(begin, marks=AT_LENGTH) for begin in range(1, RARE_PARTS))]
)
def test_a_mistake_in_a_rare_key_is_one_error(begin: int) -> None:
    base = finding_examples.base()
    given, common = merge_values(base, RARE), set(places(base))
    rare = [at for at in places(given) if at not in common]
    wrong = said_too_much(given, rare[begin::RARE_PARTS])

    assert not wrong, told(wrong)


def test_what_workloads_follow_is_one_error_where_the_stack_measures_it() -> None:
    given = dict(STACKS["Pulumi.serve"][ENVIRONMENT_KEY])
    given |= {"keda": {}, "observability": {"prometheus": {"install": True}}}
    wrong = said_too_much(given, [(key,) for key in ("observability", "gpuStack", "keda")])

    assert not wrong, told(wrong)


def keys(value: Any) -> Iterator[tuple[str, str]]:
    """The blocks and keys that are given."""
    if isinstance(value, Model):
        for name in value.model_fields_set:
            field = type(value).model_fields[name]
            yield type(value).__name__, field.alias or name
            yield from keys(getattr(value, name))
    elif isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from keys(inner)


def test_a_mistake_is_made_in_every_key_there_is() -> None:
    every = [example_given(rule) for rule in RULES]
    every += [given[ENVIRONMENT_KEY] for given in STACKS.values()]
    every.append(merge_values(finding_examples.base(), RARE))
    made = {key for given in every for key in keys(parse(given).environment)}
    blocks = {**Environment.model_json_schema()["$defs"]}
    blocks["Environment"] = Environment.model_json_schema()
    there = {(name, key) for name, block in blocks.items() for key in block.get("properties", ())}

    assert len(there) > 200
    assert not there - made


@pytest.mark.parametrize("rule", sampled(RULES, 24))
def test_a_mistake_in_what_a_rule_asks_for_is_one_error(rule: str) -> None:
    base, given = finding_examples.base(), example_given(rule)
    common = set(places(base)) if rule != RULES[0] else set()
    wrong = said_too_much(given, (at for at in places(given) if at not in common))

    assert not wrong, told(wrong)
