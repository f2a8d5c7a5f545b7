"""From shell text to what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import Source
from eks_gpushare.lint.rules.files import NOT_READ
from eks_gpushare.lint.shell.helm import helm_release
from eks_gpushare.lint.shell.kubectl import kubectl
from eks_gpushare.lint.shell.node_groups import node_group
from eks_gpushare.lint.shell.nvidia_smi import mig_instances
from eks_gpushare.manifests.document import Read
from eks_gpushare.manifests.shell.said import documents_of, placed_document
from eks_gpushare.manifests.shell.words import commands
from eks_gpushare.manifests.snippets import without_placeholders

if TYPE_CHECKING:
    from eks_gpushare.manifests.shell.said import Said
    from eks_gpushare.manifests.shell.words import Command

TOOLS: Final = ("helm", "kubectl", "eksctl", "eksdemo", "aws", "oc", "k", "microk8s", "nvidia-smi")
"""Commands that say something of a cluster or its nodes."""
MAX_CHARACTERS: Final = 128 * 1024
"""Longest script or documentation that is read."""
_FEEDING: Final = ("cat", "tee", "kubectl", "oc", "k", "helm", "eksctl", "echo")


def too_large(file: str, text: str) -> Read | None:
    """What to say of a text that is larger than anybody writes one; None of others."""
    if len(text) <= MAX_CHARACTERS:
        return None
    source = Source("the text", placed_document(file, None, Position(1, 1), {}))
    message = f"It is not read: it has more than {MAX_CHARACTERS:,} characters."
    return Read(judgements=[Problem(NOT_READ, source, (), message, "Give parts of it.")])


def read_commands(text: str, said: Said, line: int = 1, column: int = 1) -> None:
    """Take what the commands of a text say.

    Args:
        text: Shell text.
        said: What was found so far; this adds to it.
        line: Line of the file at which it begins.
        column: Column of the file at which its first line begins.
    """
    for command in commands(text, said.variables, line, column):
        _take_heredoc(command, said)
        name = command.words[0].text.rpartition("/")[2] if command.words else ""
        if name == "helm":
            helm_release(command.words, said)
        elif name in {"kubectl", "oc", "k"}:
            kubectl(command.words, said)
        elif name in {"eksctl", "eksdemo", "aws"}:
            node_group(command.words, said)
        elif name == "nvidia-smi":
            mig_instances(command.words, said)


def _take_heredoc(command: Command, said: Said) -> None:
    heredoc = command.heredoc
    if heredoc is None:
        return
    name = command.words[0].text if command.words else "cat"
    written = command.writes
    if name == "tee":
        written = next((word.text for word in command.words[1:] if word.text[:1] != "-"), "")
    documents = [
        without_placeholders(document)
        for document in documents_of(heredoc, said.file, said.variables)
        if name in _FEEDING
    ]
    if written:
        said.written[written.removeprefix("./")] = heredoc
        said.within[written.removeprefix("./")] = documents
    else:
        said.inner += documents


def read_of(said: Said) -> Read:
    """What was found, with each release as it was installed last."""
    items = [*said.items, *said.releases.values()]
    files = (item for name, item in said.within.items() if name not in said.taken)
    inner = [*said.inner, *(document for documents in files for document in documents)]
    return Read(items, said.judgements, inner)
