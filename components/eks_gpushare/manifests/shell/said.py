"""What commands are found to say, over one text: later ones build on earlier ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.reading import STDIN
from eks_gpushare.inventory.items import REMOVED, Pointer
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.snippets import expanded, read_snippet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare.findings.finding import FieldPath, Position
    from eks_gpushare.inventory.items import Item, Release
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Maybe
    from eks_gpushare.manifests.shell.blocks import Arm
    from eks_gpushare.manifests.shell.command import Heredoc


@dataclass(slots=True)
class Said:
    """The state of a text that is being read."""

    file: str
    items: list[Item] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)
    inner: list[Document] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    arms: tuple[Arm, ...] = ()
    """The arms within which the command stands that is being read."""
    context: str = ""
    """The cluster that the text has switched to, by whatever names it."""
    contexts: list[tuple[str, str]] = field(default_factory=list)
    """The clusters that its commands were for, each by its context and the file of that."""
    written: dict[str, Heredoc] = field(default_factory=dict)
    """Files that the text writes, by the name that it gives them."""
    changed: set[str] = field(default_factory=set)
    """Names of the files among them that it writes again, or has a program change."""
    within: dict[str, Sequence[Document]] = field(default_factory=dict)
    """The documents of those files, which are read as they stand unless a chart takes them."""
    values: list[Document] = field(default_factory=list)
    """Those of them that a chart takes as its values."""
    taken: set[str] = field(default_factory=set)
    """Names of the files among them that are values of a chart."""
    releases: dict[tuple[Maybe[str], Maybe[str]], Release] = field(default_factory=dict)
    """The charts it installs, by name and namespace, each as it is installed last."""
    repositories: dict[str, list[str]] = field(default_factory=dict)
    """Addresses of the repositories of charts that it adds, by the names that they get."""
    removed: set[str] = field(default_factory=set)
    """Keys of the taints that it takes off nodes again."""

    def source(self, name: str, at: Position, places: Mapping[FieldPath, Position]) -> Source:
        """The source of something that a command says.

        Args:
            name: What messages call it.
            at: Where the command stands.
            places: Where parts of it stand.
        """
        return Source(name, placed_document(self.file, None, at, places), arms=self.arms)

    def removes(self, at: Position, *names: str) -> None:
        """Note DaemonSets or releases that a command takes away.

        Args:
            at: Where the command stands.
            names: Theirs.
        """
        for name in names:
            source = self.source(f"the command that removes {name}", at, {})
            self.items.append(Pointer(source=source, kind=REMOVED, name=name))

    def pipes(self, documents: Sequence[Document]) -> None:
        """Take what a command hands to the next one, which may read it as the file `-`.

        Args:
            documents: Those of its text.
        """
        if STDIN not in self.taken:
            self.inner += self.within.get(STDIN, ())
        self.taken.discard(STDIN)
        self.within[STDIN] = documents

    def values_written(self, file: str) -> Any:
        """The values in a file that the text writes; UNKNOWN of any other."""
        name = file.removeprefix("./")
        read = self.within.get(name, ())
        if len(read) != 1 or not isinstance(read[0].value, dict):
            return UNKNOWN
        self.values.append(read[0])
        self.taken.add(name)
        return read[0].value

    def text_written(self, file: str) -> Maybe[str]:
        """The text of a file that the text writes; UNKNOWN of any other."""
        name = file.removeprefix("./")
        heredoc = self.written.get(name)
        if heredoc is None or name in self.changed:
            return UNKNOWN
        return heredoc.text if heredoc.literal else expanded(heredoc.text, self.variables)


def placed_document(
    file: str, value: Any, at: Position, places: Mapping[FieldPath, Position]
) -> Document:
    """A document whose parts stand at known places; others stand where their ancestors do."""

    def position(path: FieldPath) -> Position:
        found = places.get((), at)
        for length, _ in enumerate(path, 1):
            found = places.get(tuple(path[:length]), found)
        return found

    return Document(file, value, position, editable=False)


def documents_of(heredoc: Heredoc, file: str, variables: Mapping[str, str]) -> Sequence[Document]:
    """The documents of a here-document, with what the shell would fill in."""
    text = heredoc.text if heredoc.literal else expanded(heredoc.text, variables)
    return read_snippet(text, file, heredoc.line).documents
