"""What was taken over from foreign files, and what was not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.findings.finding import Position
from eks_gpushare.manifests.document import Document

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.source import Source


class Left(NamedTuple):
    """Something that a stack file has no counterpart for, or that has to be decided."""

    file: str
    position: Position
    what: str
    """What it is, by the place in its file: `managedNodeGroups[0].ssh`."""
    why: str
    """Why it was not taken over, and what to do where something is to be done."""
    path: FieldPath = ()
    """Its place in its document; of a file without one, nothing."""

    def as_json(self) -> dict[str, Any]:
        """As `lint --to-stack --json` prints it."""
        return {
            "file": self.file,
            "line": self.position.line,
            "column": self.position.column,
            "what": self.what,
            "why": self.why,
        }


@dataclass(slots=True)
class Moved:
    """A stack file in the making."""

    region: str = ""
    environment: dict[str, Any] = field(default_factory=dict)
    """What goes below `eks-gpushare:environment`, less pools and workloads."""
    pools: dict[str, dict[str, Any]] = field(default_factory=dict)
    workloads: dict[str, dict[str, Any]] = field(default_factory=dict)
    comments: dict[tuple[str, ...], list[str]] = field(default_factory=dict)
    """What stands above a key: where it comes from."""
    left: list[Left] = field(default_factory=list)
    sources: dict[str, Source] = field(default_factory=dict)
    """What pools come from, by their names."""
    cluster: Source | None = None
    """What declares the cluster."""
    origins: dict[tuple[str, ...], list[tuple[Source, FieldPath]]] = field(default_factory=dict)
    """Where a key of the environment, `("network",)` or `("pools", name, "zones")`, comes from."""
    known: dict[int, set[FieldPath]] = field(default_factory=dict)
    """Places of documents that were taken over or listed, by the documents' values."""

    def take(self, source: Source, *paths: FieldPath) -> None:
        """Note that places of a document are taken over."""
        document = source.document
        if isinstance(document, Document):
            places = {(*source.path, *path) for path in paths}
            self.known.setdefault(id(document.value), set()).update(places)

    def bring(self, key: tuple[str, ...], source: Source, *paths: FieldPath) -> None:
        """Note that places of a document are taken over as a key, of which more is yet decided."""
        self.take(source, *paths)
        self.origins.setdefault(key, []).extend((source, path) for path in paths)

    def leave_again(self, key: tuple[str, ...], source: Source, what: str, why: str) -> None:
        """Say of a key that it goes after all, at each place that it comes from.

        Args:
            key: The key of the environment.
            source: What it is of, where nobody noted a place.
            what: What it is.
            why: Why it goes.
        """
        for origin, path in self.origins.get(key) or [(source, ())]:
            self.leave(origin, path, what, why)

    def knows(self, source: Source, key: str) -> bool:
        """Whether a key, or something within it, was taken over or listed already."""
        known = self.known.get(id(getattr(source.document, "value", None)), set())
        place = (*source.path, key)
        return any(each[: len(place)] == place for each in known)

    def leave(self, source: Source, path: FieldPath, what: str, why: str) -> None:
        """Say of something that it was not taken over."""
        document = source.document
        if isinstance(document, Document):
            self.take(source, path)
            at = document.position((*source.path, *path))
            self.left.append(Left(document.file, at, what, why, (*source.path, *path)))
        else:
            self.left.append(Left("", Position(1, 1), what, why))

    def comment(self, place: tuple[str, ...], source: Source) -> None:
        """Say above a key where it comes from."""
        document = source.document
        if isinstance(document, Document):
            line = document.position(source.path).line
            name = document.file.rpartition("/")[2]
            self.comments.setdefault(place, []).append(f"From {name}, line {line}: {source.name}.")
