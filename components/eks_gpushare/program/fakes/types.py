"""What a fake is: the answer to a function, a method or a remote component, and what it may ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from eks_gpushare.program.values import Properties

if TYPE_CHECKING:
    from pulumi.runtime.proto import resource_pb2

    from eks_gpushare.program.recording import Resource

ACCOUNT = "111122223333"
"""The account number that AWS' own documentation uses; stands in for the caller's."""


class Plan(Protocol):
    """What a fake may ask of the run and do to it."""

    @property
    def preview(self) -> bool:
        """Whether what an update would compute has to stay unknown."""

    def resource(self, urn: str) -> Resource:
        """A registered resource."""

    def region(self, provider: str = "") -> str:
        """The AWS region of a provider (its URN), else the stack's; ``""`` if unknown."""

    def assume(self, sentence: str) -> None:
        """Note in the recording something that was made up."""

    def ask(self, token: str, args: Properties, provider: str = "") -> Properties:
        """What a function answers, as a component asks it; `provider` is a URN."""

    def register(self, request: resource_pb2.RegisterResourceRequest) -> Resource:
        """Register a child as the plugin of a remote component would."""


Function: TypeAlias = Callable[[Plan, Properties, str], Properties]
"""Answers a function call: the plan, the arguments, the provider's URN or ``""``."""

Method: TypeAlias = Callable[[Plan, Properties], Properties]
"""Answers a method call: the plan and the arguments, ``__self__`` among them."""


@dataclass(frozen=True, slots=True)
class Component:
    """A fake for a remote component, which a plugin in another process would build."""

    construct: Callable[[Plan, Resource], Properties]
    """Registers the children and returns the component's outputs."""
    parent: Callable[[Resource], str] | None = None
    """Returns the parent's URN where the plugin does not keep the one that was asked for."""
