"""Ways to break a whole resource: it is not there, there twice, or uses another one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from stack_mutants.edge import Whole

if TYPE_CHECKING:
    from eks_gpushare.program.recording import Resource


def _without(resource: Resource, all_resources: list[Resource]) -> list[Resource]:
    gone = {resource.urn}
    for each in all_resources:  # what is below it goes with it
        if each.parent in gone:
            gone.add(each.urn)
    return [
        replace(
            each,
            dependencies=tuple(urn for urn in each.dependencies if urn not in gone),
            property_dependencies={
                key: tuple(urn for urn in urns if urn not in gone)
                for key, urns in each.property_dependencies.items()
            },
        )
        if gone.intersection(each.dependencies)
        else each
        for each in all_resources
        if each.urn not in gone
    ]


def _twice(resource: Resource, all_resources: list[Resource]) -> list[Resource]:
    name = f"{resource.name}-second"
    urn = f"{resource.urn.rpartition('::')[0]}::{name}"
    inputs = {**resource.inputs, "name": name}
    outputs = {**resource.outputs, "name": name}
    second = replace(resource, urn=urn, name=name, inputs=inputs, outputs=outputs)
    return [*all_resources, second]


WITHOUT = Whole("drop", _without)
TWICE = Whole("twice", _twice)


def using(key: str, kind: str, part: str) -> Whole:
    """Let a property come from other resources of a type: those with a part of a name."""

    def change(resource: Resource, all_resources: list[Resource]) -> list[Resource] | None:
        others = [
            each for each in all_resources if each.type.endswith(f":{kind}") and part in each.name
        ]
        before = resource.property_dependencies.get(key, ())
        urns = tuple(each.urn for each in others)
        if not others or set(urns) == set(before):
            return None
        new = replace(
            resource,
            inputs={**resource.inputs, key: _taken(resource.inputs[key], others)},
            outputs={**resource.outputs, key: _taken(resource.inputs[key], others)},
            dependencies=tuple(sorted({*resource.dependencies, *urns} - set(before))),
            property_dependencies={**resource.property_dependencies, key: urns},
        )
        return [new if each is resource else each for each in all_resources]

    return Whole(f"of {part}", change)


def _taken(value: object, others: list[Resource]) -> object:
    """The same shape, with what the others are called; unknown where that is."""
    if isinstance(value, list):
        return [each.id for each in others]
    if isinstance(value, dict) and "id" in value:
        return {**value, "id": others[0].id}
    return value
