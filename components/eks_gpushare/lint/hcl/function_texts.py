"""Functions on texts, those that encode and decode among them."""

from __future__ import annotations

import base64
import binascii
import json
import re
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import yaml  # type: ignore[import-untyped,unused-ignore]  # its stubs are a separate package

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import has_unknown
from eks_gpushare.lint.hcl.values import (
    GAP,
    HclList,
    HclObject,
    Text,
    files_in,
    has_gaps,
    is_open,
    number,
    truth,
    written,
)
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.lint.hcl.values import Place
    from eks_gpushare.manifests.document import Document


def _to_json(value: Any) -> Any:
    if value is UNKNOWN:
        return GAP
    if isinstance(value, dict):
        return {str(key): _to_json(each) for key, each in sorted(value.items())}
    if isinstance(value, list):
        return [_to_json(each) for each in value]
    return str(value) if isinstance(value, str) else value


def encode(given: Any) -> Any:
    """`jsonencode`."""
    return _encoded(given, _json)


def encode_yaml(given: Any) -> Any:
    """`yamlencode`."""
    return _encoded(given, _yaml)


def _encoded(given: Any, written_as: Callable[[Any], str]) -> Any:
    if given is UNKNOWN or is_open(given):
        return UNKNOWN
    text = written_as(_to_json(given))
    return Text(text, None, gaps=has_unknown(given), encoded=given)


def _json(given: Any) -> str:
    text = json.dumps(given, separators=(",", ":"), ensure_ascii=False)
    for plain, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(plain, escaped)
    return text


def _yaml(given: Any) -> str:
    """As Terraform writes it, whose library is of the same origin as PyYAML's."""
    text = yaml.dump(given, Dumper=_dumper(), allow_unicode=True, default_flow_style=False)
    text = str(text).removesuffix("...\n")  # which one libyaml writes and another does not
    return text if isinstance(given, dict | list | str) else f"{text}...\n"


@cache
def _dumper() -> Any:
    """Every text in quotes, one of several lines as a block."""

    def text(dumper: yaml.SafeDumper, given: str) -> yaml.ScalarNode:
        style = "|" if "\n" in given else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", given, style)

    made: Any = type("_Dumper", (getattr(yaml, "CSafeDumper", yaml.SafeDumper),), {})
    made.add_representer(str, text)
    made.ignore_aliases = lambda *_: True
    return made


def decode(given: Any) -> Any:
    """`jsondecode`."""
    if given is UNKNOWN:
        return UNKNOWN
    if isinstance(given, Text) and given.encoded is not None:
        return given.encoded
    texts = read_texts(given, "")
    if texts.problems or len(texts.documents) != 1:
        return UNKNOWN
    (document,) = texts.documents

    return _placed(document, document.value, (), given)


def _placed(document: Document, value: Any, path: FieldPath, given: str) -> Any:
    """A value of a text of YAML, with the places where the text is written."""

    def place(step: str | int) -> Place | None:
        if not isinstance(given, Text) or given.at is None:
            return None
        return given.at(*document.position((*path, step)))

    if isinstance(value, dict):
        made = HclObject()
        for key, each in value.items():
            made.put(key, _placed(document, each, (*path, key), given), place(key))
        return made
    if isinstance(value, list):
        listed = HclList()
        for index, each in enumerate(value):
            listed.put(_placed(document, each, (*path, index), given), place(index))
        return listed
    return value


def base64_of(given: Any) -> Any:
    """Readers of user data take what is no base64 as it stands, so that its lines are known."""
    if given is UNKNOWN or has_gaps(given):
        return given
    return Text(
        base64.b64encode(given.encode()).decode(), getattr(given, "at", None), encoded=given
    )


def indent(spaces: Any, given: Any) -> Any:
    """`indent`."""
    return like(given, given.replace("\n", "\n" + " " * spaces))


def like(given: Any, text: str) -> Text:
    """Another text with the origin of one."""
    return given.like(text) if isinstance(given, Text) else Text(text)


def trimmed(given: Any) -> Any:
    """`trimspace`."""
    return UNKNOWN if given is UNKNOWN else like(given, given.strip())


def joined_by(by: Any, *lists: Any) -> Any:
    """`join`."""
    listed = list(chain.from_iterable(lists))
    texts = [written(item) for item in listed]
    gaps = UNKNOWN in texts or any(map(has_gaps, listed))
    first = next((item.at for item in listed if isinstance(item, Text) and item.at), None)
    whole = by.join(GAP if text is UNKNOWN else text for text in texts)
    return Text(whole, first, gaps=gaps, files=files_in(HclList(listed)))


def replaced(given: Any, old: str, new: str) -> Any:
    """`replace`."""
    if UNKNOWN in (given, old, new):
        return UNKNOWN
    if len(old) > 1 and old.startswith("/") and old.endswith("/"):
        return like(
            given, re.sub(old[1:-1], re.sub(r"\$\{?([A-Za-z0-9_]+)\}?", r"\\g<\1>", new), given)
        )
    return like(given, given.replace(old, new))


def string_of(given: Any) -> Any:
    """`tostring`."""
    return given if given is None or isinstance(given, str) else written(given)


_VERB: Final = re.compile(r"%(?:\[([0-9]+)\])?([-+# 0]*)([0-9]+)?(?:\.([0-9]+))?([a-zA-Z%])")


def formatted(pattern: str, *given: Any) -> Any:
    """`format`."""
    left = list(given)

    def one(found: re.Match[str]) -> str:
        index, flags, width, precision, verb = found.groups()
        if verb == "%":
            return "%"
        value = given[int(index) - 1] if index else left.pop(0)
        text = _by_verb(verb, value, "+" if "+" in flags else "", precision or "6")
        if width and "-" in flags:
            return text.ljust(int(width))
        if width and "0" in flags:
            return text.zfill(int(width))
        return text.rjust(int(width or 0))

    return _VERB.sub(one, pattern)


def _by_verb(verb: str, value: Any, sign: str, precision: str) -> str:
    """A value by one of the verbs that Terraform shares with C."""
    if verb in "vs" and isinstance(value, bool | int | float | str):
        return str(written(value))
    if verb in "vq":
        return str(encode(value))
    if verb in "dxXob":
        return format(int(number(value)), f"{sign}{verb}")
    if verb in "fFeEgG":
        return str(f"%{sign}.{precision}{verb}" % number(value))
    if verb == "t":
        return str(written(truth(value)))
    raise ValueError(verb)


def format_list(pattern: str, *given: Any) -> Any:
    """`formatlist`."""
    count = max((len(each) for each in given if isinstance(each, list)), default=1)
    return HclList(
        formatted(pattern, *(each[i] if isinstance(each, list) else each for each in given))
        for i in range(count)
    )


def part_of(given: str, start: int, length: int) -> str:
    """`substr`."""
    start = start if start >= 0 else len(given) + start
    return given[start:] if length < 0 else given[start : start + length]


def first_match(pattern: str, given: str) -> Any:
    """`regex`."""
    found = re.search(pattern, given)
    if found is None:
        raise ValueError(pattern)
    if found.re.groupindex:
        return HclObject(found.groupdict())
    return HclList(found.groups()) if found.groups() else found[0]


def decoded64(given: str) -> str:
    """`base64decode`."""
    try:
        return base64.b64decode(given).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ValueError(given) from error
