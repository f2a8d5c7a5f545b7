"""Replacements of kustomizations: values that are copied from one object into others.

They come after the patches of their kustomization. Where it is not known what a source says, what
it fills in is not known either.

Sources: https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/replacements/, and of
paths `SmarterPathSplitter` in kyaml/utils/pathsplitter.go of kubernetes-sigs/kustomize; November
2026.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, text
from eks_gpushare.manifests.kustomize_patches import Patch, is_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    # Of what a source selects, all objects as they are where it is replaced.
    Objects = Callable[[Any], Sequence[Any]]

_DEFAULT: Final = "metadata.name"
"""What a source gives that does not say."""
_MOST_STEPS: Final = 50
"""Most steps of a path, of which each that is made is a level of the object."""
_SWITCHES: Final = {"true": True, "false": False}
_WHOLE: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_NUMBER: Final = re.compile(rf"{_WHOLE.pattern}(?:\.[0-9]{{1,18}})?")
_LIKE_NUMBER: Final = re.compile(r"[-+.]*[0-9]")


def with_replacements(value: Any, given: Sequence[Any], objects: Objects) -> Any:
    """An object with what the replacements of a kustomization make of it.

    Args:
        value: The object.
        given: The replacements.
        objects: All objects by what a source selects.
    """
    for each in given:
        for target in items(at(each, "targets")):
            if not _is_target(target, value):
                continue
            filled = _source(each, objects)
            for path in items(at(target, "fieldPaths")) or [_DEFAULT]:
                if isinstance(path, str):
                    steps, options = steps_of(path), at(target, "options")
                    known = filled if len(steps) <= _MOST_STEPS else UNKNOWN
                    value = _filled(value, steps[:_MOST_STEPS], known, options)
    return value


def _is_target(target: Any, value: Any) -> bool:
    if not isinstance(at(target, "select"), dict):
        return False
    rejected = any(is_for(Patch(None, one, ()), value) for one in items(at(target, "reject")))
    return is_for(Patch(None, at(target, "select"), ()), value) and not rejected


def _source(replacement: Any, objects: Objects) -> Any:
    """What is copied; not known of an object that is not there once, or is not known there."""
    if (written := at(replacement, "sourceValue")) is not None:
        return written
    source = at(replacement, "source")
    path = at(source, "fieldPath") or _DEFAULT
    found = objects(source) if isinstance(source, dict) and isinstance(path, str) else ()
    if len(found) != 1:
        return UNKNOWN
    steps = steps_of(path)
    given = list(_at_all(found[0], steps)) if len(steps) <= _MOST_STEPS else []
    if len(given) != 1 or given[0] is None:
        return UNKNOWN
    return _part(given[0], at(source, "options"))


def _part(given: Any, options: Any) -> Any:
    """Of a text between delimiters, that part which is asked for."""
    delimiter = at(options, "delimiter")
    if delimiter in (None, ""):
        return given
    is_text = isinstance(given, str) and isinstance(delimiter, str)
    parts = given.split(delimiter) if is_text else []
    index = at(options, "index") or 0
    return parts[index] if isinstance(index, int) and 0 <= index < len(parts) else UNKNOWN


def steps_of(path: str) -> list[str]:
    r"""The steps of a path such as `spec.containers.[name=a].image` and `a\.b.[c.d/e]`."""
    steps: list[str] = []
    parts = iter(path.split("."))
    for part in parts:
        joined = [part]
        while joined[-1].endswith("\\") or (part.startswith("[") and not joined[-1].endswith("]")):
            following = next(parts, None)
            if following is None:
                break
            joined[-1] = joined[-1].removesuffix("\\")
            joined.append(following)
        whole = ".".join(joined)
        is_key = whole.startswith("[") and "=" not in whole
        steps.append(whole.strip("[]") if is_key else whole)
    return steps


def _below(value: Any, step: str) -> Iterator[str | int]:
    """The keys or numbers that a step means of what is there."""
    if isinstance(value, dict):
        yield from (key for key in value if step in ("*", key))
        return
    name, is_pair, wanted = step.strip("[]").partition("=")
    for number, each in enumerate(items(value)):
        is_meant = str(text(at(each, name))) == wanted if is_pair else step in ("*", str(number))
        if is_meant:
            yield number


def _at_all(value: Any, steps: Sequence[str]) -> Iterator[Any]:
    if not steps:
        yield value
        return
    for key in _below(value, steps[0]):
        yield from _at_all(value[key], steps[1:])


def _filled(value: Any, steps: Sequence[str], filled: Any, options: Any) -> Any:
    """A value with what is copied into it; of what is not there, it is made if one says so."""
    if not steps:
        return _joined(value, filled, options)
    step, rest = steps[0], steps[1:]
    keys = list(_below(value, step))
    if not keys and at(options, "create") is True and (value is None or isinstance(value, dict)):
        value, keys = {**(value or {}), step: None}, [step]
    if not isinstance(value, dict | list):
        return value
    made: Any = value.copy()
    for key in keys:
        made[key] = _filled(made[key], rest, filled, options)
    return made


def _joined(given: Any, filled: Any, options: Any) -> Any:
    """Of a text between delimiters one part is replaced, or one is put before or behind all."""
    delimiter = at(options, "delimiter")
    if delimiter in (None, ""):
        return _of_its_type(given, filled)
    index = at(options, "index") or 0
    texts = (given, filled, delimiter)
    if not (all(isinstance(one, str) for one in texts) and isinstance(index, int)):
        return UNKNOWN
    parts = given.split(delimiter)
    if index < 0:
        parts.insert(0, filled)
    elif index >= len(parts):
        parts.append(filled)
    else:
        parts[index] = filled
    return delimiter.join(parts)


def _of_its_type(given: Any, filled: Any) -> Any:
    """What is copied into a scalar: its text, with the type of what was there.

    Kustomize writes a text that is none of that type with the type all the same, by which what
    reads it ends: such a number or switch is not known, and a word in place of a number is told.
    """
    if filled is UNKNOWN or not isinstance(given, str | int | float):
        return filled
    if isinstance(filled, dict | list):
        return UNKNOWN
    written = text(filled)
    return written if isinstance(given, str) else _read_as(given, written, filled)


def _read_as(given: Any, written: str, filled: Any) -> Any:
    if isinstance(given, bool):
        return _SWITCHES.get(written, UNKNOWN)
    if _WHOLE.fullmatch(written):
        return type(given)(written)
    if isinstance(given, float) and _NUMBER.fullmatch(written):
        return float(written)
    return UNKNOWN if _LIKE_NUMBER.match(written) or isinstance(filled, bool) else filled
