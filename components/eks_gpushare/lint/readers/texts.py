"""The readers of texts that are neither YAML nor JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.lint.readers.markdown import MarkdownReader
from eks_gpushare.lint.readers.shell import ShellReader
from eks_gpushare.manifests.readers.bottlerocket import BottlerocketReader

if TYPE_CHECKING:
    from eks_gpushare.manifests.document import TextReader

TEXT_READERS: tuple[TextReader, ...] = (
    BottlerocketReader(),
    ShellReader(),
    MarkdownReader(),
)
"""The first that knows a text reads it."""
