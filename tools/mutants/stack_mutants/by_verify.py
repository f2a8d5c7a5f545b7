"""Whether `verify` notices a broken stack in a cluster that has what came of it.

For what holds tenants to their contracts: of it no file but the stack's says what it should be.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.live.checks.tenants import tenant_faults
from eks_gpushare.live.objects import ClusterObjects
from eks_gpushare.program.values import to_json
from stack_mutants.recordings import recorded, stack_file

if TYPE_CHECKING:
    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.program.recording import Recording
    from stack_mutants.mutant import Mutant

_AT = datetime(2026, 11, 27, tzinfo=UTC)


def caught_by(mutant: Mutant) -> tuple[str, ...]:
    """What is told of it and not of the stack: codes, each with the place of the finding.

    Args:
        mutant: The broken stack.
    """
    broken = mutant.recording(preview=False)
    if broken is None or "kubernetes:" not in mutant.urn:
        return ()
    stack = _stack(mutant.stack)
    before = _told(recorded(mutant.stack, preview=False), stack)
    return tuple(each for each in _told(broken[0], stack) if each not in before)


@cache
def _stack(name: str) -> Stack:
    return read_stack(stack_file(name))


def _told(recording: Recording, stack: Stack) -> list[str]:
    by_kind: dict[str, list[Any]] = defaultdict(list)
    for resource in recording.resources:
        if resource.type.startswith("kubernetes:") and resource.custom and not resource.existing:
            by_kind[resource.type.rpartition(":")[2]].append(to_json(resource.inputs))
    objects = ClusterObjects("a cluster", _AT, {kind: tuple(o) for kind, o in by_kind.items()})
    found = (fault.finding for fault in tenant_faults(objects, stack))
    return [f"{each.code} {each.path}" for each in found]
