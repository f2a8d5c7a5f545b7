"""Files of variables of a root module of Terraform: which it takes by itself, and which are named.

Those that somebody names by `-var-file` are of environments, as a rule one of each. What they do
not agree on is not known, and what one of them alone makes of the root module is told with it.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from eks_gpushare.lint.hcl.folders import ModuleFiles

VARIABLES: Final = (".tfvars", ".tfvars.json")
_FIRST: Final = ("terraform.tfvars", "terraform.tfvars.json")
_WRITES: Final = re.compile(r">[ \t]*[\"']?(?:\S*/)?(?:terraform|\S+\.auto)\.tfvars\b")
_SETS: Final = re.compile(r"^[ \t]*([A-Za-z_][A-Za-z0-9_-]*)[ \t]+=[ \t]", re.MULTILINE)
"""A variable in such a file. A shell's own have no blanks before the sign."""
_MOST: Final = 12
"""Files of environments that are looked at one by one."""


@dataclass(slots=True)
class RootVariables:
    """What gives a root module values for its variables."""

    module: ModuleFiles
    automatic: dict[str, Any] = field(default_factory=dict)
    """Values that Terraform takes by itself."""
    named: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Those of files that somebody has to name, by file."""
    asked: frozenset[str] = frozenset()
    """Variables that a script asks for, and writes a file of."""

    def values(self) -> dict[str, Any]:
        """What is known of them, whichever file is named."""
        known = self.automatic | self._agreed()
        return dict.fromkeys(self.asked, UNKNOWN) | known

    def by_file(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """What holds with each of the files of environments, where they do not agree.

        Files that give something each that must be given are not named together: one of what all
        environments have in common leaves that to the others.
        """
        if not 1 < len(self.named) <= _MOST or UNKNOWN not in self._agreed().values():
            return
        if any(given.keys() - self.module.variables.keys() for given in self.named.values()):
            return  # of another root module
        must = [frozenset(filter(self._must_be_given, given)) for given in self.named.values()]
        if len({*must}) == 1 and all(must):
            for name, given in self.named.items():
                yield name, dict.fromkeys(self.asked, UNKNOWN) | self.automatic | given

    def _agreed(self) -> dict[str, Any]:
        """What files that somebody has to name say.

        Where not all say the same, and what holds without them, it is not known what does.
        """
        from eks_gpushare.lint.hcl.blocks import NOTHING
        from eks_gpushare.lint.hcl.evaluating import value_of

        told: dict[str, list[Any]] = {}
        for given in self.named.values():
            for key, value in given.items():
                told.setdefault(key, []).append(value)
        for key, found in told.items():
            default = self._default(key)
            if key in self.automatic:
                found.append(self.automatic[key])
            elif default is not None or len(found) < len(self.named):
                found.append(UNKNOWN if default is None else value_of(default, NOTHING))
            if found.count(found[0]) < len(found):
                found[0] = UNKNOWN
        return {key: found[0] for key, found in told.items()}

    def _default(self, key: str) -> Any:
        block = self.module.variables.get(key)
        return None if block is None else block.body.attributes.get("default")

    def _must_be_given(self, key: str) -> bool:
        return key not in self.automatic and self._default(key) is None


def root_variables(
    module: ModuleFiles,
    own: Sequence[str],
    named: Sequence[str],
    values_in: Callable[[str], dict[str, Any]],
    texts: Mapping[str, str],
) -> RootVariables:
    """What gives a root module values, with the files that it takes by itself among the module's.

    Args:
        module: The root module.
        own: Files of its folder.
        named: Files of variables that somebody has to name.
        values_in: The values in a file of variables.
        texts: Texts of the files that the call gave.
    """
    found = RootVariables(module, named={name: values_in(name) for name in named})
    # Those that are named after Terraform come first, so that all others go over them.
    automatic = sorted(filter(is_automatic, own))
    for name in sorted(automatic, key=lambda each: posixpath.basename(each) not in _FIRST):
        found.automatic |= values_in(name)
        module.files.append(name)
    scripts = (texts.get(name, "") for name in own if name.endswith(".sh"))
    found.asked = frozenset(
        key for text in scripts if _WRITES.search(text) for key in _SETS.findall(text)
    )
    return found


def is_automatic(name: str) -> bool:
    """Whether Terraform takes a file of the folder that it runs in by itself."""
    base = posixpath.basename(name)
    return base in _FIRST or base.endswith((".auto.tfvars", ".auto.tfvars.json"))
