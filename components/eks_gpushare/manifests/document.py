"""What readers are given, and what they give back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.stack_file.composer import find

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eks_gpushare.findings.finding import FieldPath, Position
    from eks_gpushare.inventory.items import Item, Namespaced
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Maybe
    from eks_gpushare.manifests.yaml_text import YamlText


OF_CHARTS: Final = " with "
"""In the name of a build that is what helm makes of a chart with some values."""


class Origin(Protocol):
    """Knows where the values of a document are written that is made of expressions."""

    def where(self, path: FieldPath) -> tuple[str, Position]:
        """The file and the place of what stands at a path, or of its nearest ancestor."""

    def texts(self, path: FieldPath) -> Any:
        """The `Texts` of what stands at a path; None where there is none."""

    def first_line(self, path: FieldPath) -> Position | None:
        """Where the first line of a text is written; None where its lines are not known."""

    def below(self, path: FieldPath) -> Origin:
        """The same of what stands at a path."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file: of YAML with several, of a List's items, or a line of a script."""

    file: str
    """The file's name as it was given."""
    value: Any
    """Its plain value; `UNKNOWN` where a template fills something in."""
    position: Callable[[FieldPath], Position]
    """Where a key or list item stands; of one that is not there, its nearest ancestor."""
    index: int = 0
    """Its number in the file, from 0."""
    editable: bool = True
    """Whether edits can be written back at these positions. Not in a text within a text."""
    text: YamlText | None = field(default=None, compare=False, repr=False)
    """The text that it was read from, where that is one of YAML or JSON. For edits."""
    at: FieldPath = ()
    """Its place in that text's value: an item of a List stands at `("items", 0)`."""
    build: str = ""
    """The kustomization or Terraform root whose result it is; empty of what stands in the file as
    it is."""
    origin: Origin | None = field(default=None, compare=False, repr=False)
    """Where its values are written, if not where `position` says: in several files, or in
    expressions."""
    alone: str = ""
    """The place of a document of which a template decides whether it is there, or what else it has.
    What is wrong within it is so by itself; nothing else follows from it. Empty of any other."""
    is_optional: bool = False
    """Whether it is there on a condition alone that is not known: two such need not be at once."""
    condition: str = ""
    """That condition, where it can be told from others: two on the same one are there at once."""

    def raw(self, path: FieldPath) -> str | None:
        """The text of a value as it is written, whatever a template makes of it."""
        root = self.text.root if self.text is not None else None
        place = (*self.at, *path)
        entry, depth = find(root, place) if root is not None else (None, 0)
        return entry.node.raw if entry is not None and depth == len(place) else None

    def where(self, path: FieldPath) -> tuple[str, Position]:
        """The file and the place in which something of it is written."""
        if self.origin is not None:
            return self.origin.where(path)
        return self.file, self.position(path)

    def always(self, path: FieldPath) -> Callable[[Position], Position]:
        """The place of a text for all that is in it, as its lines have none of their own."""
        where = self.position(path)
        return lambda _: where

    def inside(self, path: FieldPath, value: Any) -> Document:
        """A part of it as a document of its own, such as an item of a List."""
        outer = self.position
        return replace(
            self,
            value=value,
            position=lambda inner: outer((*path, *inner)),
            at=(*self.at, *path),
            origin=None if self.origin is None else self.origin.below(path),
        )


class Read(NamedTuple):
    """What a reader made of a document."""

    items: Sequence[Item] = ()
    """For the inventory; each source's `document` is the `Document`."""
    judgements: Sequence[Judgement] = ()
    """What is wrong within the document itself."""
    inner: Sequence[Document] = ()
    """Documents within it, to be read in turn: a ConfigMap's configurations, a script's values."""


def value_of(item: Item) -> Any:
    """What the document of an item says; None where it stands in none, as what a stack has."""
    document = item.source.document
    return document.value if isinstance(document, Document) else None


def certain_namespace(item: Namespaced) -> Maybe[str]:
    """Its namespace; not known of what helm made, without one, of a chart that nobody installs."""
    build = str(getattr(item.source.document, "build", ""))
    return UNKNOWN if OF_CHARTS in build and item.namespace == "default" else item.namespace


class DocumentReader(Protocol):
    """Reads documents of YAML or JSON."""

    name: str
    """The kind of document, as the command names it: `Karpenter NodePool`."""

    def matches(self, document: Document) -> bool:
        """Whether it is one of these."""

    def read(self, document: Document) -> Read:
        """What it says."""


class TextReader(Protocol):
    """Reads files that are neither YAML nor JSON."""

    name: str
    """The kind of file, as the command names it."""

    def matches(self, file: str, text: str) -> bool:
        """Whether it is one of these."""

    def read(self, file: str, text: str) -> Read:
        """What it says."""
