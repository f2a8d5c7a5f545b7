"""What to answer where nobody knows: the YAML that belongs into the file of ``--answers``.

Which outputs there are says the class of the SDK that asks; it is loaded, for it was called.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import yaml

from eks_gpushare.program.values import UNKNOWN, OutputValue, ResourceRef, Secret

if TYPE_CHECKING:
    from eks_gpushare.program.values import Properties

_SECRET_OR_UNKNOWN = object()
_HINT = "..."
"""Stands where the user has to write something."""


def example(block: str, token: str, args: Properties | None = None) -> str:
    """An answer to `token`, to be filled in: YAML of one block of the file."""
    outputs = _outputs(block, token) or {"id": _HINT}
    answer: Any = outputs
    if args is not None:
        asked = _plain({key: value for key, value in args.items() if key != "__self__"})
        answer = [{"args": asked, "result": outputs}] if asked else outputs
    text = yaml.dump({block: {token: answer}}, sort_keys=False, width=1000, allow_unicode=True)
    return str(text)


def _plain(value: Any) -> Any:
    """A value as YAML has it; what is secret or unknown is left out of mappings."""
    if isinstance(value, OutputValue):
        return _SECRET_OR_UNKNOWN if value.secret else _plain(value.value)
    if value is UNKNOWN or isinstance(value, Secret | ResourceRef):
        return _SECRET_OR_UNKNOWN
    if isinstance(value, Mapping):
        plain = {str(key): _plain(item) for key, item in value.items()}
        return {key: item for key, item in plain.items() if item is not _SECRET_OR_UNKNOWN}
    if isinstance(value, list):
        return [item for item in map(_plain, value) if item is not _SECRET_OR_UNKNOWN]
    return value if isinstance(value, str | bool | int | float | None) else _SECRET_OR_UNKNOWN


def _outputs(block: str, token: str) -> dict[str, Any]:
    """The outputs, as Pulumi has them, by the class of the SDK; none if it has no such."""
    package, _, rest = token.partition(":")
    module, _, name = rest.partition(":")
    folder = module.partition("/")[0]
    parts = [f"pulumi_{package.replace('-', '_')}", *([] if folder == "index" else [folder])]
    file = sys.modules.get(".".join([*parts, _snake(name)]))
    wanted = name if block == "components" else f"{name[:1].upper()}{name[1:]}Result"
    found = vars(file).get(wanted) if file is not None else None
    if found is None:
        return {}
    outputs: dict[str, Any] = {}
    for member in vars(found).values():
        getter = getattr(member, "fget", None)
        output = getattr(getter, "_pulumi_name", None)
        if getter is not None and isinstance(output, str):
            outputs[output] = _empty(str(getter.__annotations__.get("return")))
    return outputs


def _empty(annotation: str) -> Any:
    """A value of the type that the SDK insists on."""
    kinds = {"Sequence": [], "Mapping": {}, "outputs.": {}, "bool": False, "int": 0, "float": 0}
    return next((value for kind, value in kinds.items() if kind in annotation), _HINT)


def _snake(name: str) -> str:
    """A name in camelCase as a module of the SDK has it."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", spaced).lower()
