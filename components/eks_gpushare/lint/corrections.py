"""A file's text with edits made, held against what the edits mean before anybody gets it.

Whatever the text was, what is read of the new one is what was read of the old one with the edits
made to its values, or there is no new one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.lint.edits import Planned, applied, planned
from eks_gpushare.manifests.json_text import comments_of, strict_json, syntax_of, without_comments
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.problem import Edit
    from eks_gpushare.manifests.json_text import Syntax
    from eks_gpushare.manifests.yaml_text import YamlText

_MOST_TRIED: Final = 20
"""Most edits that are tried one by one, where all at once leave doubt."""


def corrected(
    text: str, name: str, wanted: Iterable[tuple[YamlText, Sequence[Edit]]]
) -> tuple[str, int]:
    """A file's text with edits made as far as they are certain, and at how many places.

    Args:
        text: The text.
        name: The file's name.
        wanted: Documents of the file, and of texts within it, each with its edits.
    """
    syntax = syntax_of(name, text)
    if syntax is None:
        return text, 0
    edits = [edit for document, own in wanted for edit in planned(document, own)]
    after, made = applied(text, edits)
    if _holds(text, after, name, syntax, made):
        return after, len(made)
    kept: list[Planned] = []
    best = text
    for edit in edits[:_MOST_TRIED]:
        after, made = applied(text, (*kept, edit))
        if _holds(text, after, name, syntax, made):
            kept, best = made, after
    return best, len(kept)


def edited(value: Any, edit: Edit) -> Any:
    """A plain value with an edit made; the value itself stays as it is.

    Raises:
        LookupError: If there is no such place.
        TypeError: If something else stands there.
    """
    return _edited(value, edit.path, edit)


def _edited(value: Any, path: FieldPath, edit: Edit) -> Any:
    step, below = path[0], path[1:]
    if isinstance(value, list) and isinstance(step, int):
        made = list(value)
        made[step] = _edited(made[step], below, edit) if below else edit.value
        return made
    kept = dict(value)
    if below:
        empty: Any = {}
        kept[step] = _edited(kept.get(step, empty), below, edit)
    elif edit.kind == "rename":
        kept[edit.value] = kept.pop(step)
    elif edit.kind == "remove":
        del kept[step]
    elif edit.kind == "append":
        kept[step] = [*kept.get(step, ()), edit.value]
    else:
        kept[step] = edit.value
    return kept


def _holds(before: str, after: str, name: str, syntax: Syntax, made: Sequence[Planned]) -> bool:
    try:
        return _is_meant(before, after, name, made) and (
            syntax == "yaml" or _is_meant_as_json(before, after, syntax, made)
        )
    except (LookupError, TypeError, ValueError):
        return False


def _is_meant(before: str, after: str, name: str, made: Sequence[Planned]) -> bool:
    """Whether each document has its own edits and no others, texts within it included."""
    was, now = read_texts(before, name), read_texts(after, name)
    if now.problems:
        return False
    tops: dict[int, list[Planned]] = {}
    for planned_edit in made:
        tops.setdefault(_top(planned_edit.text).start, []).append(planned_edit)
    return all(
        old.text is not None
        and new.text is not None
        and _same(old.text, new.value, tops.get(old.text.start, ()))
        for old, new in zip(was.documents, now.documents, strict=True)
    )


def _same(old: YamlText, new: Any, made: Sequence[Planned]) -> bool:
    """Whether a document has become what edits of it and of texts within it mean."""
    own = [planned_edit.edit for planned_edit in made if planned_edit.text.block is None]
    expected = old.value
    for edit in own:
        expected = edited(expected, edit)
    inner: dict[FieldPath, list[Planned]] = {}
    for planned_edit in made:
        if planned_edit.text.block is not None:
            inner.setdefault(_outermost(planned_edit.text), []).append(planned_edit)
    for path, edits in inner.items():
        held, holds = _text_at(old.value, path), _text_at(new, path)
        within = [_seen_within(edit) for edit in edits]
        if not _is_meant(held, holds, "", within):
            return False
        setting = replace(edits[0].edit, kind="set", path=path, value=holds)
        expected = edited(expected, setting)
    return bool(expected == new)


def _top(text: YamlText) -> YamlText:
    while text.block is not None:
        text = text.block.outer
    return text


def _outermost(text: YamlText) -> FieldPath:
    """The place in the file's own document of the text in which another stands."""
    block = text.block
    while block is not None and block.outer.block is not None:
        block = block.outer.block
    return block.path if block is not None else ()


def _seen_within(each: Planned) -> Planned:
    """The same edit, seen from the text within the file's own document."""
    return each._replace(text=_without_top(each.text))


def _without_top(text: YamlText) -> YamlText:
    if text.block is None or text.block.outer.block is None:
        return replace(text, block=None)
    return replace(text, block=text.block._replace(outer=_without_top(text.block.outer)))


def _text_at(value: Any, path: FieldPath) -> str:
    for step in path:
        value = value[step]
    if not isinstance(value, str):
        raise TypeError(path)
    return value


def _is_meant_as_json(before: str, after: str, syntax: Syntax, made: Sequence[Planned]) -> bool:
    """The same by a strict parser; comments stay besides."""
    texts = (before, after)
    if syntax == "jsonc":
        texts = (without_comments(before), without_comments(after))
        if comments_of(before) != comments_of(after):
            return False
    expected = strict_json(texts[0])
    for planned_edit in made:
        expected = edited(expected, planned_edit.edit)
    return bool(expected == strict_json(texts[1]))
