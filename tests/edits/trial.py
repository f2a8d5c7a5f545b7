"""An edit of each key of the schema, in the stacks: `keys.yaml` says to which value."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from eks_gpushare.config.project import ENVIRONMENT_KEY
from eks_gpushare.config.schema import environment_schema
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.stack_file.check import StackReport, check_stack_file
from eks_gpushare.stack_file.file import stack_file_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT: Final = Path(__file__).parents[2]
KEYS: Final[Mapping[str, Any]] = yaml.load(
    Path(__file__).with_name("keys.yaml").read_bytes(), yaml.CSafeLoader
)
_FIRST: Final = {"serve", "time-slicing"}
"""Stacks in which most keys do something are tried first."""
_CHART = re.compile(r"charts\.[a-zA-Z]+")


def schema_keys() -> list[str]:
    """Every key of the environment: `*` for a name that the user chooses, `[]` for an item."""
    schema, found = environment_schema(), dict[str, None]()

    def look(node: Mapping[str, Any], at: str, above: tuple[str, ...]) -> None:
        if name := node.get("$ref", "").rpartition("/")[2]:
            if name not in above:
                look(schema["$defs"][name], at, (*above, name))
            return
        for union in ("anyOf", "oneOf", "allOf"):
            for each in node.get(union, ()):
                look(each, at, above)
        for key, each in node.get("properties", {}).items():
            inner = f"{at}.{key}" if at else key
            found[inner] = None
            look(each, inner, above)
        for part, mark in (("additionalProperties", ".*"), ("items", "[]")):
            if isinstance(node.get(part), dict):
                look(node[part], f"{at}{mark}", above)

    look(schema, "", ())
    return list(found)


def asked(key: str) -> Mapping[str, Any]:
    """What `keys.yaml` says of a key; charts have the same keys each."""
    found: Mapping[str, Any] = KEYS.get(key) or KEYS[_CHART.sub("charts.*", key, count=1)]
    return found


@dataclass(frozen=True, slots=True)
class Trial:
    """One key, edited in one place of one stack."""

    key: str
    stack: str
    place: str
    """The path of what is edited."""
    before: Mapping[str, Any]
    """The stack's configuration, which `check` takes, and below the edited one, which it takes."""
    after: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """What the place is one of: pools of one provisioner are edited alike."""
        pools = self.before[ENVIRONMENT_KEY].get("pools", {})
        name = self.place.split(".")[1] if self.place.startswith("pools.") else ""
        return str(pools.get(name, {}).get("provisioner", "managedNodeGroup")) if name else ""


@dataclass(frozen=True, slots=True)
class ByHand:
    """An edit of `by_hand.yaml`."""

    trial: Trial
    predicted: str
    """What somebody expected of it."""
    refused: tuple[str, ...]
    """Findings that stop it; none where it goes through."""


@cache
def by_hand() -> dict[str, ByHand]:
    """The edits that users make, by their names."""
    text = Path(__file__).with_name("by_hand.yaml").read_text(encoding="utf-8")
    found: dict[str, ByHand] = {}
    for given in yaml.load(text, yaml.CSafeLoader):
        config, edits = stacks()[given["stack"]], [given.get("before") or {}, given["after"]]
        configs, environment = [], config[ENVIRONMENT_KEY]
        for edit in edits:
            environment = _without_null(merge_values(environment, edit, keep_null=True))
            configs.append({**config, ENVIRONMENT_KEY: environment})
        trial = Trial("", given["stack"], given["edit"], *configs)
        found[given["edit"]] = ByHand(trial, given["predicted"], tuple(given.get("refused", ())))
    return found


@cache
def stacks() -> dict[str, dict[str, Any]]:
    """The configuration of every stack."""
    found = (ROOT / "stacks").glob("Pulumi.*.yaml")
    files = sorted(found, key=lambda file: (file.name.split(".")[1] not in _FIRST, file.name))
    return {
        file.name.split(".")[1]: yaml.load(file.read_bytes(), yaml.CSafeLoader)["config"]
        for file in files
    }


def report(config: Mapping[str, Any], stack: str) -> StackReport:
    """What `check` says of a configuration."""
    text = yaml.safe_dump({"config": dict(config)}, sort_keys=False)
    return check_stack_file(stack_file_of(text, f"Pulumi.{stack}.yaml"))


def trials(key: str, only: str = "") -> Iterator[Trial]:
    """Valid edits of a key, in each stack or one, and there in each pool or workload with it."""
    chosen = {only: stacks()[only]} if only else stacks()
    for stack, config in chosen.items():
        for name in _names(key, config[ENVIRONMENT_KEY]):
            yield from _trials(key, stack, config, name)


def _names(key: str, environment: Mapping[str, Any]) -> list[str]:
    """The pools or workloads that a key is one of; for other keys nothing stands for itself."""
    above = key.partition(".*")[0]
    if above in {"pools", "workloads"} and ".*" in key:
        return list(environment.get(above) or {})
    return [next(iter(environment.get("pools") or {}), "")]


def _trials(key: str, stack: str, config: Mapping[str, Any], name: str) -> Iterator[Trial]:
    given = asked(key)
    base = _with(given.get("with") or {}, key, config[ENVIRONMENT_KEY], name)
    parts = _place(key, base, name)
    before = {**config, ENVIRONMENT_KEY: base}
    if parts is None or not _valid(before, stack):
        return
    for value in given["to"]:
        edited = _with(given.get("also") or {}, key, _set(base, parts, value), name)
        after = {**config, ENVIRONMENT_KEY: edited}
        if edited != base and _valid(after, stack):
            yield Trial(key, stack, ".".join(map(str, parts)), before, after)


def _valid(config: Mapping[str, Any], stack: str) -> bool:
    found = report(config, stack)
    return found.readable and not any(each.severity == "error" for each in found.findings)


def _with(more: Mapping[str, Any], key: str, environment: Any, name: str) -> dict[str, Any]:
    """The environment with what an edit needs: without what is null, and for the named one."""
    found: dict[str, Any] = copy.deepcopy(environment)
    for part, block in (("stack", None), ("pool", "pools"), ("workload", "workloads")):
        fragment = more.get(part)
        if fragment is None:
            continue
        if key.startswith("charts.") and part == "stack":
            chart = key.split(".")[1]
            beside = KEYS["charts.* beside"].get(chart, {})
            fragment = {**beside, "charts": {chart: fragment["charts"]["*"]}}
        if block == "pools" and name not in (found.get("pools") or {}):
            name = next(iter(found["pools"]))
        fragment = {block: {name: fragment}} if block else fragment
        found = _without_null(merge_values(found, fragment, keep_null=True))
    if key.startswith("cluster.existing") and found.get("pools"):
        for pool in found["pools"].values():
            pool.pop("zones", None)
    return found


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_null(each) for key, each in value.items() if each is not None}
    return value


def _place(key: str, environment: Mapping[str, Any], name: str) -> list[str | int] | None:
    """The path of a key in an environment; None where what holds it is not there."""
    parts: list[str | int] = []
    at: Any = environment
    *above, last = key.replace("[]", ".[]").split(".")
    for part in above:
        known: str | int = 0 if part == "[]" else part
        if part == "*" and isinstance(at, dict) and at:
            known = name if name in at else next(iter(at))
        try:
            at = at[known]
        except (KeyError, IndexError, TypeError):
            return None
        parts.append(known)
    return [*parts, last] if isinstance(at, dict) else None


def _set(environment: Mapping[str, Any], parts: list[str | int], value: Any) -> dict[str, Any]:
    """With another value there; a mapping is merged into one that is there, null takes it away."""
    found: dict[str, Any] = copy.deepcopy(dict(environment))
    at: Any = found
    for part in parts[:-1]:
        at = at[part]
    last = parts[-1]
    if value is None:
        at.pop(last, None)
    elif last in {"pools", "charts"} and isinstance(at.get(last), dict):
        at[last] = merge_values(at[last], value)
    else:
        at[last] = copy.deepcopy(value)
    return found
