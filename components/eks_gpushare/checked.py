"""From a component's arguments to checked models; one error that names every wrong field."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import pulumi
from pydantic import ValidationError

from eks_gpushare.config import component_specs
from eks_gpushare.config.base import Model, normalised
from eks_gpushare.config.models import models
from eks_gpushare.findings.finding import Finding, dotted, finding, has_errors
from eks_gpushare.rules.deploying import for_building
from eks_gpushare.rules.partial import certain
from eks_gpushare.validation import shape_rules
from eks_gpushare.validation.shape import shape_findings, similar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from eks_gpushare.findings.finding import At

M = TypeVar("M", bound=Model)

_SPECS: tuple[type[Model], ...] = (
    component_specs.NetworkSpec,
    component_specs.EksClusterSpec,
    component_specs.SystemNodesSpec,
    component_specs.GpuPoolSpec,
    component_specs.ClusterFacts,
    component_specs.EnvironmentSpec,
    component_specs.DevicePluginSpec,
    component_specs.GpuOperatorSpec,
)
_GONE = object()
_ROUNDS = 20
"""Each round takes out at least one wrong value; nesting is nowhere this deep."""


def checked(
    model: type[M],
    args_type: type,
    args: Mapping[str, Any],
    rules: Callable[[M], Iterable[Finding]],
    below: At = (),
) -> tuple[M, list[Finding]]:
    """The plain part of a component's arguments as a model, and what is worth knowing about it.

    Arguments that the model does not have wire resources together and may be outputs.

    Args:
        model: What the plain part must be.
        args_type: The typed dictionary of the arguments, `<component>Args`.
        args: The arguments as they were given.
        rules: What must agree with what in such a model.
        below: Place in an environment of the block that the arguments are.

    Raises:
        pulumi.InputPropertiesError: Naming every wrong field by path.
    """
    found: list[Finding] = []
    keys = args_type.__annotations__
    wires = {key for key in keys if key not in model.model_fields}
    given = {key: args[key] for key in args if key in keys and key not in wires}
    plain = normalised(_without_outputs(given, (), found))
    removed = [each.at for each in found]
    found += _strangers(args, keys)
    required: frozenset[str] = args_type.__required_keys__  # type: ignore[attr-defined]  # a TypedDict
    for wire in sorted(wires & required):
        if args.get(wire) is None:
            message = f"{wire} is required here."
            found.append(finding(shape_rules.MISSING_KEY, (wire,), message, f"Add {wire}."))
    spec = _readable(model, plain, wires, found, removed)
    if spec is not None:
        ruled = for_building(rules(spec))
        gone = tuple(_file_place(at) for at in removed)
        found += certain(ruled, gone, below) if gone else ruled
    if spec is None or has_errors(found):
        refuse(args_type.__name__.removesuffix("Args"), found)
    return spec, found


def _readable(
    model: type[M], plain: dict[str, Any], wires: set[str], found: list[Finding], removed: list[At]
) -> M | None:
    """The model without what is wrong, so that rules still see the rest; None if too much is."""
    for _ in range(_ROUNDS):
        try:
            return model.model_validate(plain, by_alias=False, by_name=True)
        except ValidationError as error:
            shape = shape_findings(error, {*python_names().values(), *wires})
            known = {*removed, *(f.at for f in found)}
            found += [f for f in shape if not any(f.at[: len(at)] == at for at in known)]
            wrong = [at for f in shape if (at := _take_out(plain, f.at))]
            if not wrong:
                return None
            removed += wrong
    return None


def _take_out(plain: dict[str, Any], at: At) -> At | None:
    """Delete the value at a place, or the list it is in; None if there is nothing to delete."""
    node: Any = plain
    for depth, part in enumerate(at):
        inner = node.get(part, _GONE) if isinstance(node, dict) else _GONE
        last = depth == len(at) - 1
        if inner is _GONE:
            return None
        if last or not isinstance(inner, dict):
            del node[part]
            return at[: depth + 1]
        node = inner
    return None


def _strangers(args: Mapping[str, Any], keys: Mapping[str, Any]) -> Iterator[Finding]:
    for key in args:
        if key not in keys:
            meant = similar(str(key), keys)
            fix = f"Did you mean {meant}?" if meant else "Remove it."
            yield finding(shape_rules.UNKNOWN_KEY, (key,), f"{key} is not an argument.", fix)


def refuse(component: str, findings: Iterable[Finding]) -> NoReturn:
    """Raise one error that names every wrong field.

    Raises:
        pulumi.InputPropertiesError: Always.
    """
    wrong = [f for f in findings if f.severity == "error"]
    places = [dotted(python_place(f.at)) for f in wrong]
    lines = [
        f"  {place or 'args'}: {f.message} {f.fix} [{f.code}]"
        for place, f in zip(places, wrong, strict=True)
    ]
    count = "1 argument is" if len(wrong) == 1 else f"{len(wrong)} arguments are"
    raise pulumi.InputPropertiesError(
        "\n".join([f"{component}: {count} wrong:", *lines]),
        [
            {"property_path": place, "reason": f"{f.message} {f.fix}"}
            for place, f in zip(places, wrong, strict=True)
        ],
    )


def warn(found: Iterable[Finding], resource: pulumi.Resource) -> None:
    """Put warnings into the engine's log, on the component they are about."""
    for each in found:
        if each.severity == "warning":
            pulumi.log.warn(str(each), resource=resource)


def props(
    model: Model,
    *without: str,
    only: set[str] | None = None,
    **wiring: Any,  # noqa: ANN401
) -> dict[str, Any]:
    """A component's inputs as they stand in the state: camelCase, as raw resources have them.

    What is not set is left out, so that a new optional key changes no component that lacks it.

    Args:
        model: The plain arguments.
        without: Fields that would show the component as changed for no reason.
        only: Fields to keep. Default: all but `without`.
        wiring: Arguments beside the model, under the names of raw resources.
    """
    plain = model.model_dump(
        by_alias=True, exclude_none=True, include=only, exclude=set(without), mode="json"
    )
    if "catalog" in plain:
        plain["catalog"] = {key: value for key, value in plain["catalog"].items() if value}
    for key in ("tags", "catalog"):
        if not plain.get(key):
            plain.pop(key, None)
    return {**plain, **{key: value for key, value in wiring.items() if value is not None}}


def python_place(at: At) -> At:
    """A place in the stack file as a place in arguments: `instanceTypes` is `instance_types`."""
    names = python_names()
    return tuple(names.get(part, part) if isinstance(part, str) else part for part in at)


def _file_place(at: At) -> At:
    """The reverse: a place in arguments as rules name it."""
    names = {name: key for key, name in python_names().items()}
    return tuple(names.get(part, part) if isinstance(part, str) else part for part in at)


@cache
def python_names() -> Mapping[str, str]:
    """Python name of each key of the stack file and of the components' own arguments."""
    fields = (item for model in (*models(), *_SPECS) for item in model.model_fields.items())
    return {info.alias or name: name for name, info in fields}


def _without_outputs(value: Any, at: At, found: list[Finding]) -> Any:  # noqa: ANN401
    """The value without outputs, each of which is a finding: they would decide too late."""
    if isinstance(value, pulumi.Output):
        message = "An output decides too late: this value says which resources there are."
        found.append(finding(shape_rules.WRONG_TYPE, at, message, "Give a plain value."))
        return _GONE
    if isinstance(value, dict):
        kept = {key: _without_outputs(item, (*at, key), found) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item is not _GONE}
    if isinstance(value, list | tuple):
        items = [_without_outputs(item, (*at, index), found) for index, item in enumerate(value)]
        return [item for item in items if item is not _GONE]
    return value
