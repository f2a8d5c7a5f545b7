"""Files of Pulumi, which other commands check."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import Source
from eks_gpushare.lint.rules.files import NOT_READ
from eks_gpushare.manifests.document import Read

if TYPE_CHECKING:
    from eks_gpushare.manifests.document import Document

_FILE: Final = re.compile(r"Pulumi(\.[^/]+)?\.ya?ml")


class StackFileReader:
    """Knows them by their names, and stack files by keys of their configuration."""

    name = "Pulumi"

    def matches(self, document: Document) -> bool:
        """Whether it is one."""
        value = document.value
        if not isinstance(value, dict) or "apiVersion" in value:
            return False
        config = value.get("config")
        keys = config if isinstance(config, dict) else ()
        is_stack = any(re.fullmatch(r"[a-z][A-Za-z0-9_-]*:[A-Za-z0-9_-]+", key) for key in keys)
        return is_stack or _FILE.fullmatch(PurePath(document.file).name) is not None

    def read(self, document: Document) -> Read:
        """What checks it instead."""
        if not isinstance(document.value.get("config"), dict) or "runtime" in document.value:
            return Read()  # of a project, which has what stacks may be given
        source = Source("the stack file", document)
        message = "It is a stack file, of which lint says nothing."
        fix = f"Run eks-gpushare check {document.file}."
        return Read(judgements=(Problem(NOT_READ, source, (), message, fix),))
