"""What a change of the package's schema breaks for whom.

    python tools/docs/schema_changes.py BEFORE.json AFTER.json

Ends with 1 if a program that compiled and ran before would not any more. What is added breaks
nobody; what is renamed is a key that is gone and one that is new.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Schema = dict[str, Any]

EVERY = "every language"
TYPED = "TypeScript, Go, C#, Java"
POINTERS = "Go"
"""A value that may be left out is a pointer there, and one that may be an output another type."""


@dataclass(frozen=True)
class Change:
    """One thing that programs may have used as it was."""

    at: str
    """Component or type, and the key."""
    what: str
    breaks: str
    """Languages whose programs do not compile or run any more."""

    def __str__(self) -> str:
        return f"{self.at}: {self.what} Breaks {self.breaks}."


def breaking_changes(before: Schema, after: Schema) -> list[Change]:
    """Everything that breaks a program written for the schema before."""
    return [
        *_package(before, after),
        *_kinds(before["resources"], after["resources"], "component"),
        *_kinds(before["types"], after["types"], "type"),
    ]


def allows_breaking(before: str, after: str) -> bool:
    """Whether the step from one version to the other says that programs have to be changed.

    Semantic versioning: the major number, and below 1.0 the minor one.
    """
    old, new = (tuple(map(int, each.split(".")[:2])) for each in (before, after))
    return new[0] > old[0] or (old[0] == new[0] == 0 and new[1] > old[1])


def _package(before: Schema, after: Schema) -> Iterator[Change]:
    for key, breaks in (("name", EVERY), ("namespace", TYPED), ("repository", "Go")):
        if before.get(key) != after.get(key):
            what = f"{before.get(key)} became {after.get(key)}, which imports name."
            yield Change(key, what, breaks)


def _kinds(before: Mapping[str, Any], after: Mapping[str, Any], word: str) -> Iterator[Change]:
    for token, old in before.items():
        name = token.rpartition(":")[2]
        if token not in after:
            yield Change(name, f"The {word} is gone.", EVERY if word == "component" else TYPED)
        elif "enum" in old or "enum" in after[token]:
            yield from _enum(name, old, after[token])
        else:
            yield from _properties(name, old, after[token], word)


def _enum(name: str, old: Schema, new: Schema) -> Iterator[Change]:
    if ("enum" in old) is not ("enum" in new):
        yield Change(name, "A type with properties and one with values are not the same.", EVERY)
        return
    left = {each["value"]: each.get("name") for each in new["enum"]}
    for each in old["enum"]:
        if each["value"] not in left:
            yield Change(name, f'The value "{each["value"]}" is gone.', EVERY)
        elif left[each["value"]] != each.get("name"):
            what = f'The name of "{each["value"]}" was {each.get("name")}.'
            yield Change(name, what, TYPED)


def _properties(name: str, old: Schema, new: Schema, word: str) -> Iterator[Change]:
    if word == "component":
        inputs = ("inputProperties", "requiredInputs")
        yield from _given(name, *(_block(each, *inputs) for each in (old, new)))
        yield from _read(name, *(_block(each, "properties", "required") for each in (old, new)))
    else:
        yield from _given(name, *(_block(each, "properties", "required") for each in (old, new)))


_Block = tuple[dict[str, Schema], frozenset[str]]


def _block(kind: Schema, properties: str, required: str) -> _Block:
    return kind.get(properties, {}), frozenset(kind.get(required, ()))


def _given(name: str, before: _Block, after: _Block) -> Iterator[Change]:
    """What programs write."""
    (old, old_required), (new, new_required) = before, after
    for key, prop in old.items():
        at = f"{name}.{key}"
        if key not in new:
            yield Change(at, f"The input is gone.{_renamed(prop, old, new)}", EVERY)
            continue
        yield from _retyped(at, prop, new[key])
        if key in old_required - new_required and prop.get("plain"):
            yield Change(at, "It was required, and may be left out now.", POINTERS)
    for key in sorted(new_required - old_required):
        yield Change(f"{name}.{key}", "It is required now.", EVERY)


def _read(name: str, before: _Block, after: _Block) -> Iterator[Change]:
    """What programs read of a component."""
    (old, old_required), (new, new_required) = before, after
    for key, prop in old.items():
        at = f"{name}.{key} (output)"
        if key not in new:
            yield Change(at, f"The output is gone.{_renamed(prop, old, new)}", EVERY)
            continue
        if _type(prop) != _type(new[key]):
            yield Change(at, f"It was {_type(prop)}, and is {_type(new[key])}.", EVERY)
        if (key in old_required) is not (key in new_required):
            always = "always there" if key in old_required else "there at times"
            yield Change(at, f"It was {always}.", TYPED)


def _retyped(at: str, old: Schema, new: Schema) -> Iterator[Change]:
    was, now = _type(old), _type(new)
    if was != now:
        wider = set(_alternatives(old)) < set(_alternatives(new))
        yield Change(at, f"It was {was}, and is {now}.", TYPED if wider else EVERY)
        return
    for place, before, after in zip(("", "[]"), _plain(old), _plain(new), strict=True):
        if before and not after:
            what = "It was plain, and may be an output now."
            yield Change(f"{at}{place}", what, POINTERS)
        elif after and not before:
            what = "It might be an output, and has to be plain now."
            yield Change(f"{at}{place}", what, EVERY)


def _plain(prop: Schema) -> tuple[bool, bool]:
    inner = prop.get("items") or prop.get("additionalProperties") or {}
    return bool(prop.get("plain")), bool(inner.get("plain"))


def _alternatives(prop: Schema) -> tuple[str, ...]:
    return tuple(_type(each) for each in prop["oneOf"]) if "oneOf" in prop else (_type(prop),)


def _type(prop: Schema) -> str:
    """A type as people write it; without what is plain in it, which is told apart."""
    if "oneOf" in prop:
        return " or ".join(sorted(_type(each) for each in prop["oneOf"]))
    if "$ref" in prop:
        return str(prop["$ref"]).rpartition(":")[2].rpartition("/")[2]
    if prop.get("type") == "array":
        return f"list of {_type(prop.get('items', {}))}"
    if prop.get("type") == "object":
        return f"map of {_type(prop.get('additionalProperties', {}))}"
    return str(prop.get("type", "anything"))


def _renamed(prop: Schema, old: Mapping[str, Schema], new: Mapping[str, Schema]) -> str:
    """A new key with the same words in its description is the same thing under another name."""
    text = prop.get("description")
    alike = [key for key, each in new.items() if key not in old and each.get("description") == text]
    return f" Renamed to {alike[0]}?" if text and len(alike) == 1 else ""


def main(before: str, after: str) -> int:
    """Print what breaks.

    Returns:
        Exit code: 1 if something does.
    """
    old, new = (json.loads(Path(each).read_text(encoding="utf-8")) for each in (before, after))
    changes = breaking_changes(old, new)
    for each in changes:
        print(each)
    return 1 if changes and not allows_breaking(old["version"], new["version"]) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
