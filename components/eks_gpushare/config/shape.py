"""What pydantic says of a wrong environment, in the words of the person who wrote it."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Any

from eks_gpushare.config import codes
from eks_gpushare.config.findings import At, Finding, finding
from eks_gpushare.config.sharing import MODES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "mapping_type": "a mapping",
}
_VERSION_KEYS = {"version", "amiVersion", "computeCapability", "ami_version", "compute_capability"}


def shape_findings(error: ValidationError, known: Iterable[str]) -> list[Finding]:
    """Every fault of one validation, each at its own place.

    Args:
        error: What pydantic raised.
        known: All keys of the model, to guess what a misspelt one was meant to be.
    """
    names = sorted(known)
    return [_one(detail, names) for detail in error.errors(include_url=False)]


def place(loc: tuple[int | str, ...]) -> At:
    """A pydantic location without the tags of its unions, which no user wrote."""
    return tuple(part for part in loc if not (isinstance(part, str) and part.startswith("<")))


def shown(value: Any) -> str:  # noqa: ANN401  (whatever was given)
    """A given value as it may stand in a message: as JSON, and not for ever."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004  (fits one line)


def similar(word: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant, if there is one."""
    by_fold = {name.casefold().replace("_", ""): name for name in names}
    near = difflib.get_close_matches(word.casefold().replace("_", ""), by_fold, n=1, cutoff=0.75)
    return by_fold[near[0]] if near else None


def _one(detail: ErrorDetails, names: list[str]) -> Finding:
    at, kind, given = place(detail["loc"]), detail["type"], detail["input"]
    if kind == "extra_forbidden":
        return _unknown_key(at, names)
    if kind == "missing":
        return _missing(at)
    if kind == "literal_error":
        return _not_allowed(at, given, _listed(detail))
    if kind in {"union_tag_not_found", "union_tag_invalid"}:
        return _mode(at, given)
    if kind in {"string_type"} and at and at[-1] in _VERSION_KEYS and _is_number(given):
        return _unquoted(at, given)
    wanted = _EXPECTED.get(kind)
    if wanted is None:  # a type of error this model cannot raise today: say it as pydantic does
        return finding(codes.WRONG_TYPE, at, f"{shown(given)}: {detail['msg']}.", "Correct it.")
    return _wrong_type(at, given, wanted)


def _unknown_key(at: At, names: list[str]) -> Finding:
    key = str(at[-1])
    meant = similar(key, names)
    siblings = "see the stack file reference for the keys of this block"
    fix = f"Did you mean {meant}?" if meant and meant != key else f"Remove it; {siblings}."
    return finding(codes.UNKNOWN_KEY, at, f"{key} is not a key of this block.", fix)


def _missing(at: At) -> Finding:
    return finding(codes.MISSING_KEY, at, f"{at[-1]} is required here.", f"Add {at[-1]}.")


def _not_allowed(at: At, given: Any, allowed: list[str]) -> Finding:  # noqa: ANN401
    if isinstance(given, str) and (meant := _same_word(given, allowed)):
        fix = f"Write {meant}."
    else:
        fix = "Use one of them."
    listed = ", ".join(allowed)
    return finding(codes.NOT_ALLOWED, at, f"{shown(given)} is not one of {listed}.", fix)


def _same_word(given: str, allowed: list[str]) -> str | None:
    """`NO_SCHEDULE` for `NoSchedule`, `time-slicing` for `timeSlicing`."""
    bare = given.casefold().replace("_", "").replace("-", "")
    return next((word for word in allowed if word.casefold() == bare), similar(given, allowed))


def _listed(detail: ErrorDetails) -> list[str]:
    expected = str(detail.get("ctx", {}).get("expected", ""))
    return [word.strip(" '") for word in expected.replace(" or ", ",").split(",")]


def _mode(at: At, given: Any) -> Finding:  # noqa: ANN401
    if not isinstance(given, dict):
        return _wrong_type(at, given, "a mapping")
    if "mode" not in given:
        fix = f"Add mode: one of {', '.join(MODES)}."
        return finding(codes.MISSING_KEY, (*at, "mode"), "mode is required here.", fix)
    if not isinstance(given["mode"], str):
        return _wrong_type((*at, "mode"), given["mode"], "text")
    return _not_allowed((*at, "mode"), given["mode"], list(MODES))


def _unquoted(at: At, given: Any) -> Finding:  # noqa: ANN401
    return finding(
        codes.UNQUOTED_VERSION,
        at,
        f"YAML reads this as the number {given}; a version is text.",
        f'Quote the version as you mean it: {at[-1]}: "1.30" is 1.30, 1.30 without quotes is 1.3.',
    )


def _wrong_type(at: At, given: Any, wanted: str) -> Finding:  # noqa: ANN401
    message = f"{shown(given)} is {_kind(given)}; {wanted} is expected."
    if wanted == "text" and (isinstance(given, bool) or _is_number(given)):
        return finding(codes.WRONG_TYPE, at, message, f'Quote it: "{json.dumps(given)}".')
    if wanted == "true or false" and isinstance(given, str):
        return finding(codes.WRONG_TYPE, at, message, "Write true or false, without quotes.")
    if wanted == "a list" and isinstance(given, str):
        return finding(codes.WRONG_TYPE, at, message, f"Write [{given}].")
    if wanted == "a whole number" and isinstance(given, str) and given.strip().isdigit():
        return finding(codes.WRONG_TYPE, at, message, f"Write {given.strip()}, without quotes.")
    return finding(codes.WRONG_TYPE, at, message, f"Give {wanted}.")


def _is_number(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(value: Any) -> str:  # noqa: ANN401
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list | tuple) else "a mapping"
