"""The bundled pack over registrations that a test writes down, without a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.program.policies.analyzer import run_pack
from eks_gpushare.program.recording import STACK_TYPE, Recording, Resource
from gpushare_policies import POLICIES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.program.policies.violations import Violation


def violations_of(
    stack: str, registrations: Iterable[tuple[str, str, dict[str, Any]]]
) -> list[Violation]:
    """What policies say of a stack.

    Args:
        stack: Its name.
        registrations: Types from the outermost parent on, with `$` between; logical names; inputs.
    """
    called = f"p-{stack}"
    above = f"urn:pulumi:{stack}::p::"
    resources = [Resource(f"{above}{STACK_TYPE}::{called}", STACK_TYPE, called, custom=False)]
    for types, name, props in registrations:
        token = types.rpartition("$")[2]
        resources.append(
            Resource(f"{above}{types}::{name}", token, name, inputs=props, outputs=props)
        )
    return run_pack(POLICIES, Recording("p", stack, resources=resources))
