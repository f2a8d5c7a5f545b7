"""Where values are written that expressions have made: a file of HCL, or one that it reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.hcl.values import Place, Text, place_in, plain
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.texts import Texts, read_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.findings.finding import FieldPath


@dataclass(frozen=True, slots=True)
class HclOrigin:
    """Knows it of the values of a resource.

    Args:
        value: The values.
        place: Where the resource stands.
        build: The root module that makes it.
    """

    value: Any
    place: Place
    build: str

    def where(self, path: FieldPath) -> tuple[str, Position]:
        """The file and the place of what stands at a path, or of its nearest ancestor."""
        place, _, _ = self._walked(path)
        return place.file, Position(place.line, place.column)

    def position(self, path: FieldPath) -> Position:
        """The place alone."""
        return self.where(path)[1]

    def texts(self, path: FieldPath) -> Texts | None:
        """The documents of a text that stands at a path; None where there is none."""
        place, value, rest = self._walked(path)
        if rest or not isinstance(value, str):
            return None
        if (
            isinstance(value, Text)
            and value.encoded is not None
            and not isinstance(value.encoded, str)
        ):
            document = hcl_document("", value.encoded, place, self.build)
            return Texts((document,), ())
        file, position = self.within(path)
        read = read_texts(str(value), file, place=position)
        documents = tuple(replace(document, build=self.build) for document in read.documents)
        return read._replace(documents=documents)

    def within(self, path: FieldPath) -> tuple[str, Callable[[Position], Position]]:
        """The file that a text is written in, and what gives the place of a place in it."""
        place, value, _ = self._walked(path)
        at = value.at if isinstance(value, Text) else None

        def position(inner: Position) -> Position:
            found = place if at is None else at(inner.line, inner.column)
            return Position(found.line, found.column)

        return place.file if at is None else at(1, 1).file, position

    def first_line(self, path: FieldPath) -> Position | None:
        """Where the first line of a text is written; None where its lines are not known."""
        _, value, rest = self._walked(path)
        if rest or not isinstance(value, Text) or value.at is None:
            return None
        found = value.at(1, 1)
        return Position(found.line, found.column) if found.file == self.place.file else None

    def below(self, path: FieldPath) -> HclOrigin:
        """The same of what stands at a path."""
        place, value, _ = self._walked(path)
        return HclOrigin(value, place, self.build)

    def _walked(self, path: FieldPath) -> tuple[Place, Any, FieldPath]:
        """The place and the value at a path, and what is left of it."""
        place, value = self.place, self.value
        for number, key in enumerate(path):
            if isinstance(value, Text):
                return _in_text(place, value, path[number:]), value, path[number:]
            inner = _got(value, key)
            if inner is _ABSENT:
                return place, None, path[number:]
            place, value = place_in(value, key) or place, inner
        return place, value, ()


_ABSENT = object()


def _got(value: Any, key: Any) -> Any:
    if isinstance(value, dict) and key in value:
        return value[key]
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return value[key]
    return _ABSENT


def _in_text(place: Place, value: Text, path: FieldPath) -> Place:
    """The place of something in a text of YAML."""
    if value.encoded is not None and not isinstance(value.encoded, str):
        return HclOrigin(value.encoded, place, "")._walked(path)[0]  # noqa: SLF001  (its own)
    if value.at is None:
        return place
    documents = read_texts(str(value), "").documents
    return value.at(*documents[0].position(path)) if documents else place


def hcl_document(address: str, value: Any, place: Place, build: str) -> Document:
    """A resource as a document.

    Args:
        address: Its address, by which findings name it.
        value: Its values, as expressions have made them.
        place: Where it stands.
        build: The root module that makes it.
    """
    origin = HclOrigin(UNKNOWN if value is None else value, place, build)
    return Document(
        place.file,
        plain(value),
        origin.position,
        index=place.line,
        editable=False,
        at=(address,) if address else (),
        build=build,
        origin=origin,
    )
