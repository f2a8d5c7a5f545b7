"""From a component's arguments to checked models; one error that names every wrong field."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import pulumi

from eks_gpushare.config import component_specs
from eks_gpushare.config.base import Model, fields_by_key, forget, normalised
from eks_gpushare.config.models import models
from eks_gpushare.findings.finding import Finding, dotted, has_errors
from eks_gpushare.rules.deploying import as_deploy_errors
from eks_gpushare.rules.registry import until_unread
from eks_gpushare.validation import shape_rules
from eks_gpushare.validation.partial import meant_fields, read_block
from eks_gpushare.validation.shape import meant_key, missing_key, shape_findings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from eks_gpushare.findings.finding import FieldPath

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
    component_specs.EfaDevicePluginSpec,
)


def validate_args(
    model: type[M],
    args_type: type,
    args: Mapping[str, Any],
    rules: Callable[[M], Iterable[Finding]],
) -> tuple[M, list[Finding]]:
    """The plain part of a component's arguments as a model, and what is worth knowing about it.

    Arguments that the model does not have wire resources together and may be outputs.

    Args:
        model: What the plain part must be.
        args_type: The typed dictionary of the arguments, `<component>Args`.
        args: The arguments as they were given.
        rules: What must agree with what in such a model.

    Raises:
        pulumi.InputPropertiesError: Naming every wrong field by path.
    """
    keys = args_type.__annotations__
    refs = {key for key in keys if key not in model.model_fields}
    given = {key: args[key] for key in args if key in keys and key not in refs}
    outputs: list[FieldPath] = []
    plain = normalised(_without_outputs(given, (), outputs))
    found = [_output(at) for at in outputs]
    unknown = {str(key): meant_key(str(key), keys) for key in args if key not in keys}
    found += [_unknown_arg(key, meant) for key, meant in unknown.items()]
    required: frozenset[str] = args_type.__required_keys__  # type: ignore[attr-defined]  # a TypedDict
    for ref in sorted((refs & required) - {*unknown.values()}):
        if args.get(ref) is None:
            found.append(missing_key((ref,)))
    spec, details, misspelt = read_block(model, plain, by_alias=False)
    explained = {*outputs, *((meant,) for meant in unknown.values())}
    shape = shape_findings(details, {*python_names().values(), *refs}, unknown=misspelt)
    found += [f for f in shape if not any(f.at[: len(at)] == at for at in explained)]
    forget(spec, *meant_fields(unknown, fields_by_key(model, by_alias=False), given))
    ruled = as_deploy_errors(until_unread(rules, spec))
    found += [f for f in ruled if f.severity == "error"] if found else ruled
    if has_errors(found):
        refuse(args_type.__name__.removesuffix("Args"), found)
    return spec, found


def _output(at: FieldPath) -> Finding:
    message = "An output decides too late: this value says which resources there are."
    return shape_rules.WRONG_TYPE.finding(at, message, "Give a plain value.")


def _unknown_arg(key: str, meant: str | None) -> Finding:
    fix = f"Did you mean {meant}?" if meant else "Remove it."
    return shape_rules.UNKNOWN_KEY.finding((key,), f"{key} is not an argument.", fix)


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
    **wiring: Any,
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


def python_place(at: FieldPath) -> FieldPath:
    """A place in the stack file as a place in arguments: `instanceTypes` is `instance_types`."""
    names = python_names()
    free = next((index for index, part in enumerate(at) if part in _FREE), len(at))
    known = (names.get(part, part) if isinstance(part, str) else part for part in at[:free])
    return (*known, *at[free:])


@cache
def python_names() -> Mapping[str, str]:
    """Python name of each key of the stack file and of the components' own arguments."""
    every = (fields_by_key(model).items() for model in (*models(), *_SPECS))
    return {key: name for fields in every for key, name in fields}


_MAY_BE_OUTPUTS = frozenset({"node_role"})
"""Keys of blocks whose value only wires resources together: rules look at it where it is plain."""
_FREE = frozenset({"kubelet", "values"})
"""Keys of blocks whose own keys are somebody else's, and the same in every language."""


class _Undecided:
    """Stands for an output among plain values: it is of no type that a model takes."""


def _without_outputs(value: Any, at: FieldPath, found: list[FieldPath]) -> Any:
    """The value without outputs, the places of which are noted."""
    if isinstance(value, pulumi.Output):
        if at[-1:] and at[-1] in _MAY_BE_OUTPUTS:
            return None
        found.append(at)
        return _Undecided()
    if isinstance(value, dict):
        return {key: _without_outputs(item, (*at, key), found) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_outputs(item, (*at, index), found) for index, item in enumerate(value)]
    return value
