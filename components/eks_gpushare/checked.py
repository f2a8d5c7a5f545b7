"""From a component's arguments to checked models; one error that names every wrong field."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import pulumi
from pydantic import ValidationError

from eks_gpushare.config import codes
from eks_gpushare.config.base import Model, normalised
from eks_gpushare.config.findings import Finding, dotted, finding, has_errors
from eks_gpushare.config.parse import models
from eks_gpushare.config.shape import shape_findings
from eks_gpushare.rules.building import for_building

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eks_gpushare.config.findings import At

M = TypeVar("M", bound=Model)


def model_of(model: type[M], component: str, args: Mapping[str, Any], wiring: Iterable[str]) -> M:
    """The plain part of a component's arguments as a model.

    Args:
        model: What the plain part must be.
        component: The component, for the error.
        args: The arguments as they were given.
        wiring: Names of arguments that may be outputs, which the model does not have.

    Raises:
        pulumi.InputPropertiesError: Naming every wrong field by path.
    """
    wires = set(wiring)
    given = {key: value for key, value in args.items() if key not in wires}
    outputs = list(_outputs(given))
    try:
        if not outputs:
            return model.model_validate(normalised(given), by_alias=False, by_name=True)
    except ValidationError as error:
        names = {*python_names().values(), *wires}
        refuse(component, shape_findings(error, names))
    refuse(component, outputs)


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


def accept(
    component: str,
    findings: Iterable[Finding],
    resource: pulumi.Resource,
    opts: pulumi.ResourceOptions | None,
) -> None:
    """Refuse errors; put warnings into the engine's log, on the component they are about.

    A component inside one that checks its parts says nothing: it was said already.

    Raises:
        pulumi.InputPropertiesError: If one of the findings is an error.
    """
    found = for_building(findings)
    if has_errors(found):
        refuse(component, found)
    if getattr(opts and opts.parent, "checks_its_parts", False):
        return
    for each in found:
        if each.severity == "warning":
            pulumi.log.warn(str(each), resource=resource)


def props(model: Model, **wiring: Any) -> dict[str, Any]:  # noqa: ANN401
    """A component's inputs as they stand in the state: camelCase, as raw resources have them.

    What is not set is left out, so that a new optional key changes no component that lacks it.
    """
    plain = model.model_dump(by_alias=True, exclude_none=True, mode="json")
    return {**plain, **{key: value for key, value in wiring.items() if value is not None}}


def python_place(at: At) -> At:
    """A place in the stack file as a place in arguments: `instanceTypes` is `instance_types`."""
    names = python_names()
    return tuple(names.get(part, part) if isinstance(part, str) else part for part in at)


@cache
def python_names() -> Mapping[str, str]:
    """Python name of each key of the stack file."""
    fields = (item for model in models() for item in model.model_fields.items())
    return {info.alias or name: name for name, info in fields}


def _outputs(given: Mapping[str, Any], above: At = ()) -> Iterable[Finding]:
    for key, value in given.items():
        at = (*above, key)
        if isinstance(value, pulumi.Output):
            message = "An output decides too late: this value says which resources there are."
            yield finding(codes.WRONG_TYPE, at, message, "Give a plain value.")
        elif isinstance(value, dict):
            yield from _outputs(value, at)

