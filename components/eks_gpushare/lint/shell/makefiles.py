"""The commands of a Makefile as a shell script of as many lines.

Source: the manual of GNU make 4.4, https://www.gnu.org/software/make/manual/make.html, chapters
"Writing Recipes in Rules" and "How to Use Variables".
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMES: Final = ("makefile", "gnumakefile")
_ENDING: Final = ".mk"
_SET: Final = re.compile(
    r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)\s*(?:::?:?|\?)?=\s*(?P<value>.*)"
)
_VARIABLE: Final = re.compile(
    r"\$(?:\((?P<round>[A-Za-z0-9_]+)\)|\{(?P<curly>[A-Za-z0-9_]+)\}|(?P<dollar>\$))"
)
_SAID_FIRST: Final = "@-+ \t"
"""What make takes off a line before a shell gets it."""


def is_makefile(file: str) -> bool:
    """Whether a file is named like one."""
    name = posixpath.basename(file).lower()
    return name in _NAMES or name.endswith(_ENDING)


def script_of(text: str) -> str:
    """What the recipes of a Makefile run, each command in the line in which it stands.

    A variable that may be given from outside has its value of the file: it is what runs by default.
    Of others, and of what a function gives, the words stay and are those of a shell's variable,
    which nobody knows either.
    """
    values: dict[str, str] = {}
    lines: list[str] = []
    goes_on = in_define = False
    for line in text.split("\n"):
        word = line.partition(" ")[0]
        in_define = word == "define" or (in_define and word != "endef")
        told = ""
        if goes_on or line.startswith("\t"):
            bare = line.lstrip() if goes_on else line.lstrip(_SAID_FIRST)
            told = bare.rjust(len(line))  # so that columns stay
            goes_on = line.endswith("\\")
        elif (found := _SET.fullmatch(line)) and not in_define:
            if line.endswith("\\"):
                values.pop(found["name"], None)
            else:
                values[found["name"]] = found["value"].split(" #")[0].strip()
        lines.append(told)
    return "\n".join(_given(line, values) for line in lines)


def _given(text: str, values: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        if found["dollar"]:
            return "$"
        name = found["round"] or found["curly"]
        if name not in values:
            return f"${{{name}}}"
        # One that is made of itself ends there, as with make.
        return _given(values[name], {key: values[key] for key in values if key != name})

    return _VARIABLE.sub(value, text)
