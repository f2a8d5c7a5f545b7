"""Locals of a module of Terraform, as expressions make them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.lint.hcl.folders import Folders, ModuleFiles
from eks_gpushare.lint.hcl.modules import Instance
from eks_gpushare.lint.hcl.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

FILES = {
    "t.tpl": "Hi ${name}\n%{ for x in xs ~}\n- ${x}\n%{ endfor ~}\n"
    "end %{ if b }yes%{ else }no%{ endif }\n$${lit}",
    "f.txt": "line1\nline2\n",
    "only.tpl": "${x}",
    "line.tpl": "a ${x}\n",
    "each.tpl": "%{ for e in x ~}\n- ${e}\n%{ endfor ~}",
    "empty.tpl": "",
    "broken.tpl": "%{ if x }",
    "both.tpl": "${x}${y}",
}
"""Files beside those of the module."""


def locals_of(texts: Mapping[str, str]) -> Any:
    """The locals of a module."""
    module = ModuleFiles("")
    for name, text in texts.items():
        module.add(name, parse(name, text).body)
    folders = Folders(lambda _: None, FILES.get, lambda _: sorted(FILES))
    return Instance(module, folders, "", {}, is_called=True).named("local")
