"""What pydantic says of a wrong environment, in the words of the person who wrote it."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from eks_gpushare.config.sharing import MODES
from eks_gpushare.findings.finding import FieldPath, Finding
from eks_gpushare.validation import shape_rules
from eks_gpushare.validation.blocks import keys_of_block, place_of
from eks_gpushare.validation.limits import too_large
from eks_gpushare.validation.other_words import in_our_words, in_place_of_mapping, of_device_plugin
from eks_gpushare.validation.shapes import TIMES, shape_at
from eks_gpushare.validation.sharing_keys import of_another_mode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

Loc: TypeAlias = tuple[int | str, ...]
"""A location as pydantic gives it, with the tags of unions."""
Spelling: TypeAlias = Callable[[FieldPath], "str | None"]
"""Gives the text of the scalar at a place as it stands in the file, where that is known."""

TAGS = frozenset(
    {
        *("<new>", "<existing>", "<name>", "<kubeconfig>", "<count>", "<names>"),
        *("<percent>", "<number>", "<text>"),
        *("<devices>", "<groups>", *(f"<{mode}>" for mode in MODES)),
    }
)
"""Tags of the model's unions, which pydantic puts into its locations."""

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
_BLOCKS = frozenset(kind for kind, what in _EXPECTED.items() if what == "a mapping")
_UNITS = {"GiB": r"gi?b?", "Days": r"d(ays?)?", "Seconds": r"s(ec(onds?)?)?"}
"""How the unit of a key is written behind a number, by the end of the key."""
_VERSION_KEYS = {"version", "amiVersion", "computeCapability", "ami_version", "compute_capability"}


class UnknownKey(NamedTuple):
    """A key that its block does not have."""

    block: tuple[str, ...]
    """The keys that the block has."""
    meant: str | None
    """The one of them that it was meant to be, if that can be told."""
    place: tuple[str | int, ...] | None = None
    """Where it belongs, if another block has it."""


def unknown_keys(
    details: Sequence[ErrorDetails], model: type[BaseModel], *, by_alias: bool
) -> dict[Loc, UnknownKey]:
    """The unknown keys of one validation, by their locations.

    Args:
        details: What pydantic said.
        model: What was validated.
        by_alias: Whether keys are those of the stack file. Otherwise they are Python names.
    """
    unknown = [detail["loc"] for detail in details if detail["type"] == "extra_forbidden"]
    in_block = Counter(loc[:-1] for loc in unknown)
    missing: dict[Loc, list[str]] = defaultdict(list)
    for detail in details:
        if detail["type"] == "missing":
            missing[detail["loc"][:-1]].append(str(detail["loc"][-1]))
    found = {}
    for *above, key in unknown:
        block = keys_of_block(model, above, by_alias=by_alias)
        at = tuple(above)
        # One that is the only unknown one, where only one is missing, is that one.
        left = missing[at] if in_block[at] == len(missing[at]) == 1 else [None]
        meant = meant_key(str(key), block, left[0])
        place = None if meant else place_of(model, (*at, key), by_alias=by_alias)
        where = None if place is None else field_path(place)
        # Not in the block itself, which has the key in another mode.
        found[*at, key] = UnknownKey(block, meant, None if where == field_path(at) else where)
    return found


def shape_findings(
    details: Sequence[ErrorDetails],
    known: Iterable[str],
    spelled: Spelling | None = None,
    *,
    unknown: Mapping[Loc, UnknownKey] | None = None,
) -> list[Finding]:
    """Every fault of one validation, each at its own place.

    Args:
        details: What pydantic said.
        known: All keys of the model, to guess what a misspelt one was meant to be.
        spelled: How the scalar at a place is written in the file. Default: unknown.
        unknown: Its unknown keys, from `unknown_keys`. Default: nothing is known of their blocks.
    """
    names, found = sorted(known), []
    of_blocks = unknown or {}
    misspelt = {(*field_path(loc[:-1]), item.meant) for loc, item in of_blocks.items()}
    misspelt |= {
        (*item.place, loc[-1]) for loc, item in of_blocks.items() if item.place is not None
    }
    first: set[Loc] = set()
    for detail in details:
        loc = detail["loc"]
        if isinstance(loc[-1], int) and isinstance(detail["input"], str):
            # Who writes the entries of a list as text writes all of them so.
            if detail["type"] in _BLOCKS and loc[:-1] in first:
                continue
            first.add(loc[:-1])
        if detail["type"] == "extra_forbidden":
            each = of_blocks.get(loc, UnknownKey((), None))
            foreign = of_another_mode(loc, each.block)
            found.append(foreign or _unknown_key(field_path(loc), each, names))
        # What is missing may be there under a misspelt key.
        elif detail["type"] != "missing" or field_path(loc) not in misspelt:
            found.append(_one(detail, spelled))
    return found


def meant_key(key: str, block: Iterable[str], left: str | None = None) -> str | None:
    """The key of a block that an unknown one was meant to be, if it can be told.

    Args:
        key: The unknown key.
        block: The keys of the block.
        left: The one that it must be if it is near to none.
    """
    meant = similar(key, block)
    return None if meant == key else meant or left


def field_path(loc: tuple[int | str, ...]) -> FieldPath:
    """A pydantic location without the tags of its unions, which no user wrote."""
    return tuple(part for part in loc if part not in TAGS)


def format_value(value: Any) -> str:
    """A given value as it may stand in a message: as JSON, and not for ever."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004  (fits one line)


def similar(word: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant, if there is one."""
    return next(iter(_near(word, names, most=1, cutoff=0.75)), None)


def possible(word: str, names: Iterable[str]) -> list[str]:
    """Names that may have been meant, too far off to suggest one of them."""
    return _near(word, names, most=20, cutoff=0.4)


def _near(word: str, names: Iterable[str], *, most: int, cutoff: float) -> list[str]:
    import difflib

    by_fold = {name.casefold().replace("_", ""): name for name in names}
    folded = word.casefold().replace("_", "")
    return [by_fold[near] for near in difflib.get_close_matches(folded, by_fold, most, cutoff)]


def _one(detail: ErrorDetails, spelled: Spelling | None) -> Finding:  # noqa: PLR0911  (one a kind)
    at, kind, given = field_path(detail["loc"]), detail["type"], detail["input"]
    written = spelled(at) if spelled else None
    if kind == "missing":
        return missing_key(at)
    if kind == "literal_error":
        return _not_allowed(at, given, _listed(detail))
    if kind in {"union_tag_not_found", "union_tag_invalid"}:
        return _mode(at, given)
    if kind == "string_type" and _of_version(at) and _is_number(given):
        return _unquoted(at, given, written)
    if kind in {"less_than_equal", "too_long"}:
        return _beyond(at, detail)
    if kind == "greater_than_equal":
        return _below(at, given, detail["ctx"]["ge"])
    wanted = _EXPECTED.get(kind)
    if wanted is None:  # a type of error this model cannot raise today: say it as pydantic does
        return shape_rules.WRONG_TYPE.finding(
            at, f"{format_value(given)}: {detail['msg']}.", "Correct it."
        )
    return wrong_type(at, given, wanted, written)


def _beyond(at: FieldPath, detail: ErrorDetails) -> Finding:
    given, limits = detail["input"], detail["ctx"]
    if detail["type"] == "too_long":
        return too_large(at, f"A mapping of {len(given):,} entries", limits["max_length"])
    limit = limits["le"]
    most = f"{int(limit):,}" if limit == int(limit) else f"{limit:g}"
    message = f"{format_value(given)} is more than {most}, the most that is allowed."
    return shape_rules.TOO_LARGE.finding(at, message, f"Write {most} or less.")


def _below(at: FieldPath, given: Any, least: float) -> Finding:
    message = f"{format_value(given)} is less than {least:g}, the least that is allowed."
    return shape_rules.WRONG_TYPE.finding(at, message, f"Write {least:g} or more.")


def _of_version(at: FieldPath) -> bool:
    return bool(at) and (at[-1] in _VERSION_KEYS or at[-2:-1] == ("versions",))


def _unknown_key(at: FieldPath, unknown: UnknownKey, names: list[str]) -> Finding:
    """A key near to one of the block was meant to be that one; else it may belong elsewhere."""
    key, block = str(at[-1]), unknown.block
    if ours := in_our_words(key, block):
        fix = ours
    elif meant := unknown.meant or similar(key, block or names):
        if is_in_camel_case(key, meant):
            return in_camel_case(at, meant)
        fix = f"Did you mean {meant}?" if meant != key else "Remove it; it belongs elsewhere."
    elif unknown.place is not None:
        fix = moved(key, at, unknown.place)
    elif block:
        fix = f"Remove it; the keys here are {', '.join(block)}."
    else:
        fix = "Remove it; the stack file reference has the keys of this block."
    return shape_rules.UNKNOWN_KEY.finding(at, f"{key} is not a key of this block.", fix)


def is_in_camel_case(key: str, meant: str) -> bool:
    """Whether a key is the meant one as a stack file has it, and Python has not."""
    return "_" in meant and key.replace("_", "").casefold() == meant.replace("_", "").casefold()


def in_camel_case(at: FieldPath, meant: str) -> Finding:
    """What is said of such a key, not repeating it: in Python's words it is the right one."""
    message = "In Python the keys of arguments are in snake_case."
    return shape_rules.UNKNOWN_KEY.finding(at, message, f"Write {meant}.")


def moved(key: str, at: FieldPath, place: FieldPath) -> str:
    """What to write where, for a key that another block has."""
    if not place:
        return f"Write {key} at the top of the environment, beside cluster."
    inner = str(place[-1])
    where = f"under {inner}" if place[:-1] == at[:-1] else f"in {'.'.join(map(str, place))}"
    return f"It stands {where}: write {inner}: {{{key}: ...}}."


def missing_key(at: FieldPath) -> Finding:
    """What is said of a required key that is not there."""
    return shape_rules.MISSING_KEY.finding(at, f"{at[-1]} is required here.", f"Add {at[-1]}.")


def _not_allowed(at: FieldPath, given: Any, allowed: list[str]) -> Finding:
    if isinstance(given, str) and (meant := _same_word(given, allowed)):
        fix = f"Write {meant}."
    else:
        fix = in_our_words(str(given), ()) or "Use one of them."
    listed = ", ".join(allowed)
    return shape_rules.NOT_ALLOWED.finding(
        at, f"{format_value(given)} is not one of {listed}.", fix
    )


def _same_word(given: str, allowed: list[str]) -> str | None:
    """`NO_SCHEDULE` for `NoSchedule`, `time-slicing` for `timeSlicing`."""
    bare = given.casefold().replace("_", "").replace("-", "")
    return next((word for word in allowed if word.casefold() == bare), similar(given, allowed))


def _listed(detail: ErrorDetails) -> list[str]:
    expected = str(detail.get("ctx", {}).get("expected", ""))
    return [word.strip(" '") for word in expected.replace(" or ", ",").split(",")]


def _mode(at: FieldPath, given: Any) -> Finding:
    if not isinstance(given, dict):
        return wrong_type(at, given, "a mapping")
    if "mode" not in given:
        fix = f"Add mode: one of {', '.join(MODES)}."
        if ours := of_device_plugin(given):
            fix = f"In place of the device plugin's own configuration write sharing: {ours}."
        return shape_rules.MISSING_KEY.finding((*at, "mode"), "mode is required here.", fix)
    if not isinstance(given["mode"], str):
        return wrong_type((*at, "mode"), given["mode"], "text")
    return _not_allowed((*at, "mode"), given["mode"], list(MODES))


def _unquoted(at: FieldPath, given: Any, written: str | None) -> Finding:
    if written is None:
        message = f"This is the number {given}; a version is text."
        fix = f"Put quotes around the version as you mean it: without them, {at[-1]}: 1.30 is 1.3."
    else:
        read = "a number" if written == str(given) else f"the number {given}"
        message = f"YAML reads {written} without quotes as {read}; a version is text."
        fix = f'Write {at[-1]}: "{written}".'
    return shape_rules.UNQUOTED_VERSION.finding(at, message, fix)


def wrong_type(at: FieldPath, given: Any, wanted: str, written: str | None = None) -> Finding:
    """What is said of a value of another type.

    Args:
        at: Where it is.
        given: The value.
        wanted: The type in words: text, a list.
        written: How it is written in the file. Default: unknown.
    """
    message = f"{format_value(given)} is {_kind(given)}; {wanted} is expected."
    fix = f"Give {wanted}."
    if given is None:
        message = f"Nothing is given; {wanted} is expected."
        shape = shape_at(at)
        fix = f"Give {wanted}, or remove the key."
        if shape is not None:
            fix = f"Give {wanted}, such as {shape}, or remove the key."
    elif wanted == "text" and (isinstance(given, bool) or _is_number(given)):
        fix = f'Quote it: "{written or json.dumps(given)}".'
        if at[-1] in TIMES:
            fix = "Write it with its unit, such as 15s or 5m."
    elif wanted == "true or false" and isinstance(given, str):
        fix = _boolean_fix(given)
    elif wanted == "a list" and isinstance(given, str):
        is_quoted = given.lstrip().startswith("[")
        fix = f"Write {given.strip()}, without quotes." if is_quoted else f"Write [{given}]."
    elif at[-1:] == ("zones",) and isinstance(given, str):
        message = f"{format_value(given)} is text; a number of zones or a list is expected."
        fix = f"Write [{given}]."
    else:
        fix = _fix_of_type(at, given, wanted) or fix
    return shape_rules.WRONG_TYPE.finding(at, message, fix)


def _fix_of_type(at: FieldPath, given: Any, wanted: str) -> str | None:
    """What to write for a value of another type, where that can be told."""
    if wanted == "a whole number" and isinstance(given, str):
        if _is_integer(given):
            return f"Write {given.strip()}, without quotes."
        number = _without_unit(at, given)
        return number and f"Write {number}, without the unit, which the key has."
    if at[-2:-1] == ("layout",) and isinstance(given, str):
        return f"Write layout: {{{given}: 1}}, with how many of each profile a GPU gets."
    if isinstance(given, dict) and at and (fix := in_place_of_mapping(str(at[-1]), given)):
        return fix
    shape = shape_at(at)
    named = "an entry" if isinstance(at[-1], int) else at[-1]
    return None if shape is None else f"Write {named}: {shape}."


def _boolean_fix(given: str) -> str:
    """Not every text had quotes: YAML 1.1 read `yes` and `on` as true, 1.2 does not."""
    if given.strip().lower() in {"true", "false"}:
        return "Write true or false, without quotes."
    if given.lower() in {"yes", "no", "on", "off", "y", "n"}:
        return f"Write true or false; {given} is text here."
    return "Write true or false."


def _without_unit(at: FieldPath, given: str) -> str | None:
    """`200` of `200Gi`, where the key says GiB."""
    for end, unit in _UNITS.items():
        if str(at[-1]).endswith(end):
            found = re.fullmatch(rf"([0-9]+) *{unit}", given.strip(), re.IGNORECASE)
            return found[1] if found else None
    return None


def _is_integer(text: str) -> bool:
    return text.isascii() and text.strip().removeprefix("-").isdecimal()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list | tuple) else "a mapping"
