"""The configuration in a Terraform plan: which arguments are written, and what refers to what."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.plain import items, mapping

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

INDEX: Final = re.compile(r"\[[^\[\]]*\]")
_MOST_MODULES: Final = 30


class TerraformConfiguration:
    """The expressions of a plan's resources, by their address without indexes."""

    def __init__(self, plan: Any) -> None:
        self._expressions = dict(_expressions(at(plan, "configuration", "root_module"), ""))

    def of(self, address: str) -> Mapping[str, Any] | None:
        """The arguments of a resource as they are written; None where that is not told."""
        return self._expressions.get(INDEX.sub("", address))

    def references(self, address: str, *path: str) -> tuple[str, ...]:
        """What an argument, be it of a block in a block, refers to."""
        return tuple(_references(self.of(address), path))

    def without_computed(self, address: str, given: Any, block: str, argument: str) -> Any:
        """Values without an argument of a block that AWS fills in, as nobody has written it.

        Args:
            address: The resource's address.
            given: Its values, what the plan does not know as `UNKNOWN`.
            block: The name of the block, of which there is one.
            argument: The argument's name.
        """
        written = at(self.of(address), block, 0)
        values = at(given, block, 0)
        if not isinstance(written, dict) or not isinstance(values, dict):
            return given
        if argument in written or values.get(argument) is not UNKNOWN:
            return given
        kept = {key: item for key, item in values.items() if key != argument}
        return {**given, block: [kept]}


def _expressions(
    module: Any, above: str, depth: int = 0
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for resource in items(at(module, "resources")):
        yield f"{above}{at(resource, 'address')}", mapping(at(resource, "expressions"))
    if depth < _MOST_MODULES:
        for name, call in mapping(at(module, "module_calls")).items():
            yield from _expressions(at(call, "module"), f"{above}module.{name}.", depth + 1)


def _references(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    if not path:
        yield from (str(reference) for reference in items(at(value, "references")))
        return
    for item in items(value) or [value]:
        yield from _references(at(item, path[0]), path[1:])


def module_of(address: str) -> str:
    """The path of the module that a resource is in, indexes among it."""
    return address[: len(address) - len(local_address(address))]


def local_address(address: str) -> str:
    """The resource's address in its own module: type, name and index."""
    bare = INDEX.sub(lambda found: "_" * len(found[0]), address)
    parts = bare.split(".")
    start = 0
    while parts[:1] == ["module"]:
        start += len(".".join(parts[:2])) + 1
        parts = parts[2:]
    return address[start:]
