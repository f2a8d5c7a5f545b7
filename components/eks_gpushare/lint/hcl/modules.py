"""Modules: folders of files, called from others or by themselves, and the values in them."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import has_unknown
from eks_gpushare.lint.hcl.blocks import (
    META_OF_CALLS,
    MOST_COPIES,
    MadeResource,
    literal,
    names_in,
    references,
    values_of,
)
from eks_gpushare.lint.hcl.data_sources import RENDERED, rendered
from eks_gpushare.lint.hcl.evaluating import value_of
from eks_gpushare.lint.hcl.folders import FilesFrom
from eks_gpushare.lint.hcl.names import Within
from eks_gpushare.lint.hcl.registry_roles import ROLE_OF_MODULE, makes_role
from eks_gpushare.lint.hcl.registry_user_data import IMAGES, POLICY_DOCUMENT
from eks_gpushare.lint.hcl.types import converted
from eks_gpushare.lint.hcl.values import HclObject, arn_of_role, number, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from eks_gpushare.lint.hcl.folders import Folders, ModuleFiles
    from eks_gpushare.lint.hcl.names import Names
    from eks_gpushare.lint.hcl.syntax import Body, Expression, HclBlock

_OF_INTEREST: Final = (
    *("aws_eks_", "aws_launch_", "aws_autoscaling_group", "aws_iam_role"),
    *("helm_", "kubernetes_", "kubectl_", "aws_servicequotas_service_quota", "aws_subnet"),
    *("aws_security_group", "aws_vpc_security_group_"),
    "aws_ec2_tag",
    "azurerm_kubernetes_cluster_node_pool",
    *("aws_sagemaker_cluster", "awscc_sagemaker_cluster", "google_container_cluster"),
    "google_container_node_pool",
)
"""What types of resources begin with that have to do with nodes, charts and objects."""
_MOST_DEPTH: Final = 12
"""Most modules within modules."""


class Instance:
    """A module with its variables bound.

    Args:
        files: What its files say.
        folders: Where further modules and files are.
        root: The folder that Terraform runs in.
        given: Values of its variables. Of others the default holds.
        prefix: What its addresses begin with.
        is_called: Whether another module calls it, so that defaults are what it gets.
    """

    def __init__(
        self,
        files: ModuleFiles,
        folders: Folders,
        root: str,
        given: Mapping[str, Any],
        prefix: str = "",
        *,
        is_called: bool = False,
        depth: int = 0,
    ) -> None:
        self.module, self._folders, self._root = files, folders, root
        self._given, self._prefix, self._depth = given, prefix, depth
        self._is_called = is_called
        self.files = FilesFrom(folders, root)
        self._locals: dict[str, Any] = {}
        self._variables: dict[str, Any] = {}
        self._outputs: dict[str, Any] = {}
        self._children: dict[str, list[tuple[Any, Instance]] | None] = {}
        self._resource_values: dict[tuple[str, str], Any] = {}
        self._meant: dict[str, tuple[str, ...]] = {}

    # --- names -------------------------------------------------------------------------------

    def named(self, name: str) -> Any:
        """What the first name of a reference stands for."""
        spaces: dict[str, Callable[[Any], Any]] = {
            "var": self._variable,
            "local": self._local,
            "module": self._call,
            "path": self._path,
        }
        if name in spaces:
            return _Named(spaces[name])
        if name == "data":
            return _Named(lambda kind: _Named(lambda name: self._data(str(kind), str(name))))
        if name in {"each", "count", "self", "terraform", "ephemeral"}:
            return UNKNOWN
        return _Named(lambda key: self._resource(name, str(key)))

    def _variable(self, name: Any) -> Any:
        if name not in self._variables:
            self._variables[name] = UNKNOWN
            self._variables[name] = self._of_variable(str(name))
        return self._variables[name]

    def _of_variable(self, name: str) -> Any:
        block = self.module.variables.get(name)
        if block is None:
            return UNKNOWN
        if name in self._given:
            value = self._given[name]
            if value is not None or literal(block, "nullable") is not False:
                return _with_type(value, block, self)
        default = block.body.attributes.get("default")
        if default is None:
            return UNKNOWN
        value = _with_type(value_of(default, self), block, self)
        # Of a module that others call an empty default is what it gets. Where Terraform runs, it
        # stands for what somebody is to give.
        return UNKNOWN if not self._is_called and value in (None, "", [], {}) else value

    def _local(self, name: Any) -> Any:
        if name not in self._locals:
            self._locals[name] = UNKNOWN  # of one that refers to itself
            found = self.module.locals.get(name)
            self._locals[name] = UNKNOWN if found is None else value_of(found[0], self)
        return self._locals[name]

    def _path(self, name: Any) -> Any:
        if name == "module":
            return _relative(self.module.folder, self._root)
        return "." if name in {"root", "cwd"} else UNKNOWN

    def _resource(self, kind: str, name: str) -> Any:
        """The written arguments of a resource; what AWS tells of it is not known."""
        key = kind, name
        if key not in self._resource_values:
            self._resource_values[key] = UNKNOWN
            block = self.module.resources.get(key)
            if block is not None:
                several = {"count", "for_each"} & block.body.attributes.keys()
                given = values_of(block.body, self)
                if kind == "aws_iam_role":
                    given.put("arn", arn_of_role(f"{self._prefix}{kind}.{name}"), None)
                values = _Written(given)
                self._resource_values[key] = (
                    _Indexed(values, self._written(block)) if several else values
                )
        return self._resource_values[key]

    def _data(self, kind: str, name: str) -> Any:
        """What a data source tells that does nothing but put texts together."""
        block = self.module.data.get((kind, name))
        if block is None or kind not in RENDERED:
            return UNKNOWN
        several = {"count", "for_each"} & block.body.attributes.keys()
        key = f"data.{kind}", name
        if key not in self._resource_values:
            self._resource_values[key] = UNKNOWN  # of one that refers to itself
            made = {
                each: rendered(kind, values_of(block.body, names), block.place, self.files)
                for each, names, _ in self._copies(block)
            }
            first = _Written(next(iter(made.values())))
            self._resource_values[key] = _Indexed(first, made) if several else first
        return self._resource_values[key]

    def _written(self, block: HclBlock) -> dict[Any, HclObject]:
        """The arguments of each copy of a resource, by its key."""
        return {key: values_of(block.body, names) for key, names, _ in self._copies(block)}

    def _call(self, name: Any) -> Any:
        children = self._instances(str(name))
        if not children:
            block = self.module.calls.get(str(name))
            return UNKNOWN if children is not None or block is None else self._role(name, block)
        if children[0][0] is None:
            return _Named(children[0][1].output)
        made = {key: _Named(child.output) for key, child in children}
        return _Named(lambda key: made.get(key, UNKNOWN))

    def _role(self, name: Any, block: HclBlock) -> Any:
        """The outputs of a module of a registry that makes a role, of which one is its ARN."""
        if not makes_role(str(literal(block, "source"))):
            return UNKNOWN
        arn = arn_of_role(f"{self._prefix}module.{name}.{ROLE_OF_MODULE}")
        outputs = _Written(HclObject(dict.fromkeys(("arn", "iam_role_arn"), arn)))
        several = {"count", "for_each"} & block.body.attributes.keys()
        return _Indexed(outputs) if several else outputs

    def output(self, name: Any) -> Any:
        """The value of one of its outputs."""
        if name not in self._outputs:
            self._outputs[name] = UNKNOWN
            block = self.module.outputs.get(name)
            written_as = None if block is None else block.body.attributes.get("value")
            if written_as is not None:
                self._outputs[name] = value_of(written_as, self)
        return self._outputs[name]

    # --- resources ---------------------------------------------------------------------------

    def made(self) -> Iterator[MadeResource]:
        """Its resources and those of the modules that it calls, as far as they are of interest."""
        for (kind, name), block in self.module.resources.items():
            if not kind.startswith(_OF_INTEREST) and all(
                each.type != "provisioner" for each in block.body.blocks
            ):
                continue
            for key, names, present in self._copies(block):
                yield MadeResource(
                    f"{self._prefix}{kind}.{name}{_index(key)}",
                    kind,
                    values_of(block.body, names),
                    block.place,
                    self._references(block),
                    present,
                )
        for (kind, name), block in self.module.data.items():
            if f"data.{kind}" in (*IMAGES, POLICY_DOCUMENT):
                yield MadeResource(
                    f"{self._prefix}data.{kind}.{name}",
                    f"data.{kind}",
                    values_of(block.body, self),
                    block.place,
                    {},
                )
        for name, block in self.module.calls.items():
            children = self._instances(name)
            for key, names, present in self._copies(block) if children is None else ():
                source = literal(block, "source")
                yield MadeResource(
                    f"{self._prefix}module.{name}{_index(key)}",
                    "module",
                    values_of(block.body, names),
                    block.place,
                    self._references(block),
                    present,
                    f"{source}@{literal(block, 'version') or ''}",
                )
            for _, child in children or ():
                yield from child.made()

    def _references(self, block: HclBlock) -> dict[str, Any]:
        """What a block refers to; of copies each refers to what all are made for."""
        over = block.body.attributes.get("for_each")
        for_each = () if over is None else tuple(self._all_meant(over))

        def meant(name: str) -> Iterable[str]:
            return for_each if for_each and name.startswith("each.") else self._comes_to(name)

        return references(block.body, meant)

    def _all_meant(self, expression: Expression) -> Iterator[str]:
        return (each for name in names_in(expression) for each in self._comes_to(name))

    def _comes_to(self, name: str) -> tuple[str, ...]:
        """What a local refers to; anything else itself."""
        space, _, own = name.partition(".")
        found = self.module.locals.get(re.split(r"[.[]", own)[0]) if space == "local" else None
        if found is None:
            return (name,)
        if name not in self._meant:
            self._meant[name] = ()  # of one that refers to itself
            self._meant[name] = tuple(self._all_meant(found[0]))
        return self._meant[name]

    def _instances(self, name: str) -> list[tuple[Any, Instance]] | None:
        """A called module once for each copy; None of one that is not among the files."""
        if name not in self._children:
            self._children[name] = []
            self._children[name] = self._called(name)
        return self._children[name]

    def _called(self, name: str) -> list[tuple[Any, Instance]] | None:
        block = self.module.calls.get(name)
        source = None if block is None else literal(block, "source")
        if block is None or not isinstance(source, str) or not source.startswith((".", "/")):
            return None
        folder = posixpath.normpath(posixpath.join(self.module.folder, source))
        files = self._folders.module(folder)
        if files is None or self._depth >= _MOST_DEPTH:
            return None
        found: list[tuple[Any, Instance]] = []
        for key, names, present in self._copies(block):
            if present is False:
                continue
            found.append(
                (
                    key,
                    Instance(
                        files,
                        self._folders,
                        self._root,
                        _Bound(block.body, names),
                        f"{self._prefix}module.{name}{_index(key)}.",
                        is_called=True,
                        depth=self._depth + 1,
                    ),
                )
            )
        return found

    def _copies(self, block: HclBlock) -> Iterator[tuple[Any, Names, Any]]:
        """The key of each copy, the names within it, and whether it is there."""
        attributes = block.body.attributes
        if "count" in attributes:
            count = value_of(attributes["count"], self)
            many = None if count is UNKNOWN else number(count)
            if many is None or many <= 0:
                present = UNKNOWN if many is None else False
                yield 0, Within(self, {"count": HclObject({"index": 0})}), present
                return
            for index in range(min(int(many), MOST_COPIES)):
                yield index, Within(self, {"count": HclObject({"index": index})}), True
        elif "for_each" in attributes:
            yield from self._each(value_of(attributes["for_each"], self))
        else:
            yield None, self, True

    def _each(self, over: Any) -> Iterator[tuple[Any, Names, Any]]:
        listed: list[tuple[Any, Any]] = []
        if isinstance(over, dict):
            listed = list(over.items())
        elif isinstance(over, list) and not has_unknown(over):
            listed = [(each, each) for each in over]
        if not listed:
            each = HclObject({"key": UNKNOWN, "value": UNKNOWN})
            present = UNKNOWN if has_unknown(over) else False
            yield UNKNOWN, Within(self, {"each": each}), present
        for key, value in listed[:MOST_COPIES]:
            yield key, Within(self, {"each": HclObject({"key": key, "value": value})}), True


class _Named:
    """A space whose names are looked up."""

    def __init__(self, look_up: Callable[[Any], Any]) -> None:
        self.get = look_up


class _Written:
    """What is written of a resource."""

    def __init__(self, values: HclObject) -> None:
        self.values = values

    def get(self, name: Any) -> Any:
        return self.values.get(name, UNKNOWN)


class _Indexed:
    """A resource of which there may be several."""

    def __init__(self, values: _Written, copies: Mapping[Any, HclObject] | None = None) -> None:
        self._values, self._copies = values, copies or {}

    def get(self, key: Any) -> Any:
        copy = self._copies.get(key) if isinstance(key, str | int) else None
        return self._values if copy is None else _Written(HclObject(self._values.values | copy))


class _Bound(dict[str, Any]):
    """The variables of a called module, evaluated when they are asked for."""

    def __init__(self, body: Body, names: Names) -> None:
        own = {k: each for k, each in body.attributes.items() if k not in META_OF_CALLS}
        super().__init__(own)
        self._names = names

    def __getitem__(self, key: str) -> Any:
        return value_of(super().__getitem__(key), self._names)


def _with_type(value: Any, block: HclBlock, names: Names) -> Any:
    """A value as the variable's type makes it."""
    kind = block.body.attributes.get("type")
    return value if kind is None else converted(value, kind, names)


def _index(key: Any) -> str:
    if key is None:
        return ""
    if key is UNKNOWN:
        return "[?]"
    return f"[{key}]" if isinstance(key, int) else f'["{written(key)}"]'


def _relative(folder: str, root: str) -> str:
    return posixpath.relpath(folder or ".", root or ".")
