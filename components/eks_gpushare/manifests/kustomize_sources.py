"""Objects of kustomizations among which their replacements find sources.

All objects of all layers ask for the same few sources, so each is looked for once, and what may be
one is built once for each kustomization that asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.kustomize_patches import Patch, is_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_DEEPEST: Final = 20
"""Most kustomizations whose sources are looked for at once, each for one of the other."""


class BuiltFile(NamedTuple):
    """A file that a kustomization is built of."""

    name: str
    text: str | None
    """What is written in it; None of another kustomization, which generates objects."""
    values: Callable[[], Iterable[Any]]
    """Reads or generates its objects."""
    ways: Sequence[Sequence[str]]
    """How the kustomization comes to them, each the innermost first."""


class Sources:
    """Objects that sources of replacements select.

    Args:
        files: Those that a kustomization is built of.
        along: Builds an object up to the end of a way.
    """

    def __init__(
        self,
        files: Callable[[str], Iterable[BuiltFile]],
        along: Callable[[Any, Sequence[str]], Any],
    ) -> None:
        self._files_of = files
        self._along = along
        self._asked: set[str] = set()
        """Kustomizations whose sources are just being looked for."""
        self._of: dict[str, list[BuiltFile]] = {}
        self._found: dict[tuple[str, int], list[Any]] = {}
        self._values: dict[str, list[Any]] = {}
        self._built: dict[tuple[str, str, int], list[Any]] = {}

    def selected(self, name: str, source: Any) -> list[Any]:
        """Objects that a source selects, as they are in a kustomization.

        What these have of its replacements in turn is not known. Patches are taken not to change
        the kind of an object.

        Args:
            name: The file of the kustomization.
            source: As it is written in it, the same object whenever it is asked for.
        """
        if name in self._asked or len(self._asked) >= _DEEPEST:
            return []
        key = (name, id(source))
        if key not in self._found:
            self._asked.add(name)
            if name not in self._of:
                self._of[name] = list(self._files_of(name))
            made = [one for file in self._of[name] for one in self._made(name, file, source)]
            self._asked.discard(name)
            self._found[key] = [one for one in made if is_for(Patch(None, source, ()), one)]
        return self._found[key]

    def _made(self, name: str, file: BuiltFile, source: Any) -> Iterable[Any]:
        """Those of a file that are of the kind of a source."""
        kind = at(source, "kind")
        is_name = isinstance(kind, str) and kind.isascii() and kind.isalnum()
        if not file.ways or (is_name and file.text is not None and kind not in file.text):
            return
        if file.name not in self._values:
            self._values[file.name] = list(file.values())
        of_kind = Patch(None, {"kind": kind}, ())
        for number, value in enumerate(self._values[file.name]):
            if at(value, "kind") is None or not is_for(of_kind, value):
                continue
            key = (name, file.name, number)
            if key not in self._built:
                made = (self._along(value, way) for way in file.ways)
                self._built[key] = [each for each in made if each is not None]
            yield from self._built[key]
