"""Mutants of recordings: each is a stack with one thing broken."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Any

from stack_mutants.edge import Edge, Stakes, Whole
from stack_mutants.operators import NOTHING, Operator
from stack_mutants.paths import Path, changed, found, written
from stack_mutants.recordings import recorded, with_resources

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eks_gpushare.program.recording import Recording, Resource


@dataclass(frozen=True, slots=True)
class Mutant:
    """One stack with one thing broken."""

    stack: str
    edge: Edge
    urn: str
    path: Path
    way: Operator | Whole

    @property
    def name(self) -> str:
        """`<stack>/<type>:<name>/<path>/<operator>`."""
        kind, _, resource = self.urn.rpartition("::")
        kind = kind.rpartition(":")[2]
        return "/".join(
            filter(None, (self.stack, f"{kind}:{resource}", written(self.path), self.way.name))
        )

    @property
    def stakes(self) -> Stakes:
        """What is at stake."""
        return self.edge.stakes

    def recording(self, *, preview: bool) -> tuple[Recording, Resource | None] | None:
        """The broken stack, with the resource that changed; None if it cannot be broken so."""
        whole = recorded(self.stack, preview=preview)
        resource = next((each for each in whole.resources if each.urn == self.urn), None)
        if resource is None:
            return None
        if isinstance(self.way, Whole):
            resources = self.way.change(resource, whole.resources)
            if resources is None:
                return None
            new = next((each for each in resources if each.urn == self.urn), None)
            return with_resources(whole, resources), new
        broken = _broken(resource, self.path, self.way)
        if broken is None:
            return None
        resources = [broken if each is resource else each for each in whole.resources]
        return with_resources(whole, resources), broken


def _broken(resource: Resource, path: Path, way: Operator) -> Resource | None:
    try:
        inputs = _changed(resource.inputs, path, way)
    except (LookupError, ValueError, TypeError):
        return None
    if inputs is NOTHING or inputs == resource.inputs:
        return None
    try:
        outputs = _changed(resource.outputs, path, way)
    except (LookupError, ValueError, TypeError):  # what the provider answers lacks it
        outputs = resource.outputs
    return replace(resource, inputs=inputs, outputs=outputs)


class _NotHereError(LookupError):
    pass


def _changed(properties: dict[str, Any], path: Path, way: Operator) -> Any:
    def change(holder: Any, key: str | int) -> Any:
        new = way.change(holder, key)
        if new is NOTHING:
            raise _NotHereError
        return new

    return changed({"all": properties}, ("all", *path), change)["all"]


def mutants(stack: str, edges: Iterable[Edge]) -> Iterator[Mutant]:
    """Every mutant of a stack; some cannot be made, such as of a value that is not known."""
    recording = recorded(stack, preview=True)
    by_kind = defaultdict(list)
    for resource in recording.resources:
        by_kind[resource.type.rpartition(":")[2]].append(resource)
    for edge in edges:
        for resource in by_kind[edge.kind]:
            if resource.existing or not resource.custom or not edge.only(resource):
                continue
            for path, _ in found(resource.inputs, edge.path):
                for way in edge.ways:
                    yield Mutant(stack, edge, resource.urn, path, way)


def spread(all_mutants: Iterable[Mutant], most: int) -> list[Mutant]:
    """At most so many for each way of breaking each edge, from stacks as different as can be.

    The choice hangs on names alone, so that a new stack or edge leaves the others as they are.
    """
    by_way: dict[tuple[Any, ...], list[Mutant]] = defaultdict(list)
    for mutant in all_mutants:
        edge = mutant.edge
        by_way[edge.kind, edge.path, mutant.way.name].append(mutant)
    chosen: list[Mutant] = []
    for key, alike in by_way.items():
        ranked = sorted(alike, key=lambda each: rank(f"{key}{each.name}"))
        stacks_taken: set[str] = set()
        taken: list[Mutant] = []
        for mutant in ranked:
            if len(taken) == most:
                break
            if mutant.stack not in stacks_taken and mutant.recording(preview=True) is not None:
                stacks_taken.add(mutant.stack)
                taken.append(mutant)
        chosen += taken
    return sorted(chosen, key=lambda each: each.name)


def of_all_stacks(some: Iterable[Mutant], most: int) -> list[Mutant]:
    """So many of them at most, from every stack about as many, chosen by names alone."""
    by_stack: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in sorted(some, key=lambda each: rank(each.name)):
        by_stack[mutant.stack].append(mutant)
    in_turn = chain.from_iterable(zip_longest(*(by_stack[name] for name in sorted(by_stack))))
    chosen = islice((each for each in in_turn if each is not None), most)
    return sorted(chosen, key=lambda each: each.name)


def broken_at_once(some: Iterable[Mutant], *, preview: bool) -> Recording:
    """One recording with all those mutants of a stack that do not break the same resource.

    Raises:
        ValueError: If there is none, or they are of several stacks.
    """
    chosen = sorted(some, key=lambda each: rank(each.name))
    (stack,) = {each.stack for each in chosen}
    whole = recorded(stack, preview=preview)
    new: dict[str, Resource] = {}
    for mutant in chosen:
        if mutant.urn in new or isinstance(mutant.way, Whole):
            continue
        broken = mutant.recording(preview=preview)
        if broken is not None and broken[1] is not None:
            new[mutant.urn] = broken[1]
    return with_resources(whole, [new.get(each.urn, each) for each in whole.resources])


def rank(text: str) -> str:
    """A place among others that hangs on nothing but the text."""
    return hashlib.sha256(text.encode()).hexdigest()
