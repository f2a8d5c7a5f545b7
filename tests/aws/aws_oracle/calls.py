"""From a registration to calls, with what a look at AWS's model finds wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aws_oracle.lifecycle import LIFECYCLES, Call, Lifecycle
from aws_oracle.shapes import ApiShape, Text, operation
from aws_oracle.translate import NotTakenError, plain, translate
from aws_oracle.validate import faults

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aws_oracle.shapes import Shape
    from eks_gpushare.program.recording import Recording, Resource


@dataclass(frozen=True)
class Made:
    """A call as it is sent, with the ids and ARNs that the in-process run made up."""

    service: str
    call: Call
    parameters: dict[str, Any]

    @property
    def name(self) -> str:
        """Service and operation, `ec2:CreateVpc`."""
        return f"{self.service}:{self.call.operation}"


@dataclass
class Translated:
    """A resource and its calls."""

    resource: Resource
    create: list[Made]
    read: list[Made]
    delete: list[Made]

    @property
    def faults(self) -> list[str]:
        """What AWS's model has against any of them."""
        calls = [*self.create, *self.read, *self.delete]
        return [
            f"{self.resource.name}: {fault}"
            for made in calls
            for fault in faults(made.service, made.call.operation, made.parameters)
        ]


def registered(recording: Recording) -> list[Resource]:
    """What the AWS provider is asked for, in an order in which what is needed comes first."""
    return [each for each in recording.resources if each.custom and each.type.startswith("aws:")]


def translated(resource: Resource) -> Translated:
    """The calls of a resource, checked.

    Raises:
        NotTakenError: If the type is not known, or an input is taken by no call.
    """
    if resource.type not in LIFECYCLES:
        raise NotTakenError(f"{resource.type} has no calls in lifecycle.py")
    life = LIFECYCLES[resource.type]
    inputs = plain(resource.inputs)
    known = {**plain(resource.outputs), **inputs, "id": resource.id}
    if life.named:
        inputs.pop(f"{life.named}Prefix", None)  # of which the provider makes a name
        inputs.setdefault(life.named, known[life.named])
    first, *further = life.create
    create = []
    for call in further:
        own = {key: inputs.pop(key) for key in call.takes if key in inputs}
        if not call.only_with or own.get(call.only_with) or inputs.get(call.only_with):
            create.append(_made(life.service, call, own, known))
    for key, place in life.later.items():
        if key in inputs:
            _check_later(life.service, place, key, inputs.pop(key))
    create.insert(0, _made(life.service, first, inputs, known, life))
    read = [_made(life.service, call, {}, known) for call in life.read]
    delete = [_made(life.service, call, {}, known) for call in life.delete]
    return Translated(resource, create, read, delete)


def _made(
    service: str,
    call: Call,
    inputs: dict[str, Any],
    known: Mapping[str, Any],
    life: Lifecycle | None = None,
) -> Made:
    shape: Shape = ApiShape(operation(service, call.operation).input_shape)
    parameters: dict[str, Any] = {}
    for place, value in call.fixed.items():
        _put(parameters, shape, place.split("."), _filled(value, known))
    tags = inputs.pop("tags", None) if life and life.tagged else None
    if tags:
        pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
        specification = {"ResourceType": life.tagged if life else "", "Tags": pairs}
        parameters["TagSpecifications"] = [specification]
    for key in [key for key in inputs if key in call.takes]:
        way = [name for name in call.takes[key].split(".") if name]
        value = translate(inputs.pop(key), _at(shape, way), key, call.takes)
        if way:
            _put(parameters, shape, way, value)
        else:  # a block whose members are those of the call
            parameters |= value
    inside = life.inside if life else ""
    within = translate(inputs, shape.members[inside] if inside else shape, "", call.takes)
    if inside:
        parameters[inside] = {**within, **parameters.get(inside, {})}
    else:
        parameters |= within
    return Made(service, call, parameters)


def _filled(value: Any, known: Mapping[str, Any]) -> Any:
    """A fixed value with the outputs that it names."""
    if isinstance(value, dict):
        return {key: _filled(item, known) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, known) for item in value]
    return known[value[1:]] if isinstance(value, str) and value.startswith("$") else value


def _at(shape: Shape, place: list[str]) -> Shape:
    for name in place:
        shape = shape.item if shape.kind == "list" else shape
        if shape.kind == "map":
            return Text()
        if name not in shape.members:
            raise NotTakenError(f"there is no member {name} among {', '.join(shape.members)}")
        shape = shape.members[name]
    return shape


def _put(into: dict[str, Any], shape: Shape, place: list[str], value: Any) -> None:
    """Put a value at a path of members; a list on the way has one item."""
    name, *rest = place
    member = _at(shape, [name])
    if not rest:
        into[name] = value
    elif member.kind == "list":
        _put(into.setdefault(name, [{}])[0], member.item, rest, value)
    else:
        _put(into.setdefault(name, {}), member, rest, value)


def _check_later(service: str, place: str, key: str, value: Any) -> None:
    if place != "provider":
        name, member = place.split(".")
        shape = _at(ApiShape(operation(service, name).input_shape), [member])
        translate(value, shape, key, {})
