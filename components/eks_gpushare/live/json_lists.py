"""Lists of objects in JSON, object by object: a dump of a large cluster has hundreds of MB.

As a whole, text and values of such a file take six times its size. What is of no use in an object
goes before the next is read.
"""

from __future__ import annotations

import codecs
import json
import re
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_LONGEST: Final = 1 << 26
"""Of one object: etcd takes one or two MB, and what does not end by here has an error in it."""
_HEAD: Final = re.compile(
    r'\s*\{(?:\s*"[A-Za-z]+"\s*:\s*(?:"[^"\\]*"|\{[^{}]*\})\s*,)*\s*"items"\s*:\s*\['
)
"""How a list begins, as kubectl and API servers write it: nothing nested is before its items."""
_BETWEEN: Final = re.compile(r"[\s,]*")
_MOST_OF_HEAD: Final = 4096


def read_json(chunks: Iterable[bytes], slim: Callable[[Any], Any]) -> Any:
    """The value of a text of JSON.

    Args:
        chunks: The text, in UTF-8, bit by bit.
        slim: What is kept of each object of a list, where the text begins as one.

    Raises:
        ValueError: If it is no JSON.
    """
    texts = _texts(chunks)
    first = next(texts, "")
    head = _HEAD.match(first[:_MOST_OF_HEAD])
    if head is None:
        return json.loads("".join((first, *texts)))
    rest: list[str] = []
    items = [slim(item) for item in _items(chain((first,), texts), head.end(), rest)]
    about = json.loads(f"{head.group()}{''.join(rest)}")
    return {**about, "items": items}


def _items(chunks: Iterator[str], start: int, rest: list[str]) -> Iterator[Any]:
    """The items of a list; what follows on the last goes to `rest`.

    Args:
        chunks: The text.
        start: Where the first item begins, in characters.
        rest: Takes the end of the list and what is behind it.
    """
    decode = json.JSONDecoder().raw_decode
    text, place = next(chunks), start
    while True:
        found = _BETWEEN.match(text, place)
        place = place if found is None else found.end()
        if text.startswith("]", place):
            rest.extend((text[place:], *chunks))
            return
        try:
            item, end = decode(text, place)
        except ValueError as error:
            item, end, why = None, len(text), error
        else:
            why = ValueError("the list does not end")
        if end < len(text):  # at the very end a number may go on
            yield item
            place = end
            continue
        more = next(chunks, None) if len(text) - place < _LONGEST else None
        if more is None:
            raise why
        text, place = text[place:] + more, 0


def _texts(chunks: Iterable[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    yield from map(decoder.decode, chunks)
    yield decoder.decode(b"", final=True)
