"""Mocks for unit tests of programs that use the components.

`pulumi.runtime.set_mocks(Mocks())` makes the resources of a program as AWS and Kubernetes would:
with IDs, ARNs, names and endpoints that look like theirs, are the same in every run and made up.
Look-ups are answered in the same manner. Nothing is asked of anybody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pulumi
from pulumi.runtime import mocks
from pulumi.runtime.settings import SETTINGS
from pulumi.runtime.stack import wait_for_rpcs
from pulumi.runtime.sync_await import _sync_await

from eks_gpushare.program.errors import PlanError
from eks_gpushare.program.fakes.fakes import Fakes, default_fakes
from eks_gpushare.program.recording import PROVIDER_TYPE_PREFIX, Resource
from eks_gpushare.program.registration import resource_of
from eks_gpushare.program.values import (
    RESOURCE_SIGNATURE,
    SECRET_SIGNATURE,
    SIGNATURE_KEY,
    UNKNOWN,
    ResourceRef,
    Secret,
)

if TYPE_CHECKING:
    from pulumi.runtime.proto import resource_pb2

    from eks_gpushare.program.values import Properties

__all__ = ["Mocks", "Registered"]


@dataclass(frozen=True, slots=True)
class Registered:
    """A resource that the program under test registered."""

    type: str
    """Its type, such as `aws:eks/nodeGroup:NodeGroup`."""
    name: str
    """Its logical name."""
    inputs: Mapping[str, Any]
    """What the program gave, in camelCase as a provider gets it."""
    outputs: Mapping[str, Any]
    """What the mocks answered."""
    id: str
    """ID that the mocks made up; empty for a component."""


class Mocks(mocks.Mocks):
    """AWS, EKS and Kubernetes for unit tests.

    What pulumi-eks makes inside of a cluster is registered too. Components of other packages have
    the outputs that `components` gives them, else none.
    """

    resources: list[Registered]
    """What was registered, in this order."""
    assumptions: list[str]
    """What the answers of look-ups took for granted."""

    def __init__(
        self,
        *,
        region: str = "us-west-2",
        functions: Mapping[str, Mapping[str, Any]] | None = None,
        components: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Make mocks for one test, or for several that share what they made.

        Args:
            region: AWS region of the stack.
            functions: Answers of look-ups by token, such as
                `{"aws:ec2/getAmi:getAmi": {"id": "ami-0123456789abcdef0"}}`. They go over the ones
                that are made up; keys are camelCase.
            components: Outputs of components of other packages, by type.
        """
        super().__init__()
        self.resources, self.assumptions = [], []
        self._functions, self._components = dict(functions or {}), dict(components or {})
        self._plan = _Plan(self, default_fakes(), region)

    def wait(self) -> None:
        """Wait until all that the program has asked for is registered.

        Registrations wait for the outputs that they use, so that `resources` lacks some when the
        program has ended. In a plain test, or within one under `@pulumi.runtime.test`.

        Raises:
            Exception: What a registration or an `apply` has raised.
        """
        _sync_await(wait_for_rpcs())

    def of_type(self, kind: str) -> list[Registered]:
        """What was registered of a type; its last part is enough: `NodeGroup`."""
        return [
            registered
            for registered in self.resources
            if registered.type in {kind, _last(kind, registered.type)}
        ]

    def answer(self, token: str) -> dict[str, Any] | None:
        """The answer that was given for a look-up, if one was.

        Args:
            token: Token of the look-up.
        """
        given = self._functions.get(token)
        return None if given is None else dict(given)

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        """Make one resource; Pulumi calls this.

        Args:
            args: What the program registers.
        """
        made = self._plan.made(args, self._components.get(args.typ))
        outputs, identity = _for_sdk(made.outputs), str(made.id)
        self.resources.append(
            Registered(made.type, made.name, dict(args.inputs), outputs, identity)
        )
        return identity, outputs

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]] | None]:
        """Answer one look-up; Pulumi calls this.

        Args:
            args: What the program asks.

        Raises:
            LookupError: If the answer is neither given nor one that can be made up.
        """
        given = self.answer(args.token)
        if given is not None:
            return given, []
        try:
            return _for_sdk(self._plan.fakes.invoke(self._plan, args.token, args.args, "")), []
        except PlanError as error:
            message = (
                f"no answer is known for {args.token}. Give one: "
                f"Mocks(functions={{{args.token!r}: {{...}}}})"
            )
            raise LookupError(message) from error


class _Plan:
    """What fakes ask of a run, answered out of a unit test."""

    preview = False

    def __init__(self, owner: Mocks, fakes: Fakes, region: str) -> None:
        self._owner, self.fakes, self._region = owner, fakes, region
        self._by_urn: dict[str, Resource] = {}

    def region(self, provider: str = "") -> str:
        """The region of the stack: tests do not tell which provider is whose."""
        del provider
        return self._region

    def assume(self, sentence: str) -> None:
        """Note what is taken for granted."""
        if sentence not in self._owner.assumptions:
            self._owner.assumptions.append(sentence)

    def ask(self, token: str, args: Properties, provider: str = "") -> Properties:
        """What a look-up of a component answers, which Pulumi does not ask the mocks."""
        given = self._owner.answer(token)
        return self.fakes.invoke(self, token, args, provider) if given is None else given

    def resource(self, urn: str) -> Resource:
        """A child that a fake registered."""
        if urn not in self._by_urn:
            raise PlanError(f"no resource has the URN {urn!r}")
        return self._by_urn[urn]

    def register(self, request: resource_pb2.RegisterResourceRequest) -> Resource:
        """Register a child of a component of another package, where references find it."""
        child = resource_of(request)
        child.urn = _urn(child.type, child.name, child.parent)
        if child.custom:
            self.fakes.create(self, child)
        self._by_urn[child.urn] = child
        monitor, outputs = SETTINGS.monitor, _for_sdk(child.outputs)
        if isinstance(monitor, mocks.MockMonitor):
            monitor.resources[child.urn] = mocks.MockMonitor.ResourceRegistration(
                child.urn, str(child.id), outputs
            )
        inputs = _for_sdk(child.inputs)
        self._owner.resources.append(
            Registered(child.type, child.name, inputs, outputs, str(child.id))
        )
        return child

    def made(self, args: mocks.MockResourceArgs, component: Mapping[str, Any] | None) -> Resource:
        """What a registration of the program becomes, if nothing else a component of others."""
        kind = args.typ
        made = Resource(
            _urn(kind, args.name), kind, args.name, inputs=_without_resources(args.inputs)
        )
        self._by_urn[made.urn] = made
        if args.resource_id:
            self.fakes.read(self, made)
            made.id = args.resource_id
        elif args.custom or kind.startswith(PROVIDER_TYPE_PREFIX):
            self.fakes.create(self, made)
        elif component is not None:
            made.outputs = dict(component)
        elif kind in self.fakes.components:
            made.outputs = self._constructed(made)
        return made

    def _constructed(self, component: Resource) -> Properties:
        try:
            return self.fakes.construct(self, component)
        except (PlanError, KeyError, AttributeError) as error:
            message = (
                f"{component.type} {component.name!r} cannot be made up: {error}. Give its "
                f"outputs: Mocks(components={{{component.type!r}: {{...}}}})"
            )
            raise LookupError(message) from error


def _last(kind: str, of: str) -> str:
    return of if of.rpartition(":")[2] == kind else kind


def _urn(kind: str, name: str, parent: str = "") -> str:
    monitor = SETTINGS.monitor
    if isinstance(monitor, mocks.MockMonitor):
        return str(monitor.make_urn(parent, kind, name))
    return f"urn:pulumi:{pulumi.get_stack()}::{pulumi.get_project()}::{kind}::{name}"


def _without_resources(value: Any) -> Any:
    """Inputs with references in place of the resources that the SDK has made of them."""
    if isinstance(value, pulumi.Resource):
        return ResourceRef(_urn(value.pulumi_resource_type, value.pulumi_resource_name))
    if isinstance(value, Mapping):
        return {key: _without_resources(item) for key, item in value.items()}
    return [_without_resources(item) for item in value] if isinstance(value, list) else value


def _for_sdk(value: Any) -> Any:
    """Values as the SDK reads them off the wire."""
    if value is UNKNOWN:
        return None
    if isinstance(value, Secret):
        return {SIGNATURE_KEY: SECRET_SIGNATURE, "value": _for_sdk(value.value)}
    if isinstance(value, ResourceRef):
        return {
            SIGNATURE_KEY: RESOURCE_SIGNATURE,
            "urn": value.urn,
            "id": str(value.id),
            "packageVersion": value.version,
        }
    if hasattr(value, "dependencies") and hasattr(value, "value"):
        return _for_sdk(value.value)
    if isinstance(value, Mapping):
        return {key: _for_sdk(item) for key, item in value.items()}
    return [_for_sdk(item) for item in value] if isinstance(value, list) else value
