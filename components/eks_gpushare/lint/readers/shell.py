"""Shell scripts, and the recipes of Makefiles, which are such."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.lint.shell.makefiles import is_makefile, script_of
from eks_gpushare.lint.shell.reading import read_commands, read_of, too_large
from eks_gpushare.manifests.charts import within_values
from eks_gpushare.manifests.shell.said import Said

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.manifests.document import Read

_ENDINGS: Final = (".sh", ".bash", ".zsh", ".ksh")
_SHEBANG: Final = re.compile(r"#!\s*\S*/(env\s+)?(ba|da|z|k)?sh\b")
_WRITES: Final = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*+cat[ \t]+<<-?[ \t]*['\"]?[A-Za-z]")
"""A here-document makes a script of any file but a guide, whose titles are as comments are."""


class ShellReader:
    """Reads what a script's commands install, label and apply."""

    name = "shell script"

    def matches(self, file: str, text: str) -> bool:
        """Whether it is named or begins like one."""
        named = file.lower().endswith(_ENDINGS) or is_makefile(file)
        writes = _WRITES.match(text) is not None and not is_guide(file)
        return named or writes or _SHEBANG.match(text) is not None

    def script(self, file: str, text: str) -> str:
        """The commands of a file that is one, each in its line."""
        return script_of(text) if is_makefile(file) else text

    def read(self, file: str, text: str) -> Read:
        """What it says."""
        if (large := too_large(file, text)) is not None:
            return large
        said, text = Said(file), self.script(file, text)
        read_commands(text, said)
        said.inner += [document for values in said.values for document in within_values(values)]
        read = read_of(said, text)
        return read._replace(items=[*map(_of_target, read.items)]) if is_makefile(file) else read


def _of_target(item: Item) -> Item:
    """What a target of a Makefile makes, which somebody calls or does not."""
    return replace(item, source=item.source.optional())
