"""What the check of a rule is, and what it may yield."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from pulumi_policy import ResourceValidationArgs, StackValidationArgs


class Unjudged(NamedTuple):
    """Yielded by a check in place of a violation, where what decides is not known yet."""

    what: str
    """The value and why it is not known: `the taints of the node group gpu`."""


class StackViolation(NamedTuple):
    """Yielded by a check on a stack for something that is wrong."""

    message: str
    urn: str
    code: str = ""
    """Of the fact that it breaks, where the rule says several."""


Check: TypeAlias = Callable[[ResourceValidationArgs], Iterator["str | Unjudged"]]
"""Yields a message for each violation of one resource."""

StackCheck: TypeAlias = Callable[
    [StackValidationArgs], Iterator["StackViolation | tuple[str, str] | Unjudged"]
]
"""Yields a message and the URN it belongs to for each violation of the stack."""

Remediation: TypeAlias = Callable[[ResourceValidationArgs], "Mapping[str, Any] | None"]
"""The properties of a resource as they comply; None where they do already."""
