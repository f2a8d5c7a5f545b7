"""What the fakes for components of plugins, such as ``pulumi_eks``, are written with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from eks_gpushare.program.registration import child_request
from eks_gpushare.program.values import UNKNOWN, OutputValue, ResourceRef, is_unknown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare.program.fakes.types import Plan
    from eks_gpushare.program.recording import Resource


def unwrap(value: Any) -> Any:
    """A value without the dependencies that it was sent with."""
    return value.value if isinstance(value, OutputValue) else value


def is_on(value: Any, *, default: bool = False) -> bool:
    """Whether a value counts as true in JavaScript; of an unknown one the default."""
    value = unwrap(value)
    if value is None or value is UNKNOWN:
        return default
    return isinstance(value, dict | list | ResourceRef) or bool(value)


def known(value: Any, default: Any = None) -> Any:
    """A value without its dependencies, or the default where it is absent."""
    value = unwrap(value)
    return default if value is None else value


def output(resource: Resource, key: str) -> OutputValue:
    """An output of a custom resource as an input that depends on it."""
    value = resource.id if key == "id" else resource.outputs.get(key, UNKNOWN)
    return OutputValue(value, dependencies=(resource.urn,))


def id_of(referred: ResourceRef) -> OutputValue:
    """The ID of a resource that is referred to, as an input that depends on it."""
    return OutputValue(referred.id, dependencies=(referred.urn,))


def latest_version(template: Resource) -> OutputValue:
    """The newest version of a launch template, as node groups take it."""
    version = template.outputs.get("latestVersion", UNKNOWN)
    return OutputValue(
        UNKNOWN if version is UNKNOWN else str(version), dependencies=(template.urn,)
    )


def reference(resource: Resource) -> ResourceRef:
    """A reference to a resource, of whatever version its SDK is."""
    return ResourceRef(resource.urn, resource.id)


def default_vpc(plan: Plan, provider: str) -> Any:
    """The ID of the default VPC, as a plugin asks for it."""
    return plan.ask("aws:ec2/getVpc:getVpc", {"default": True}, provider)["id"]


def subnets_of(plan: Plan, vpc: Any, provider: str) -> Any:
    """The IDs of the subnets of a VPC."""
    filters = [{"name": "vpc-id", "values": [vpc]}]
    return plan.ask("aws:ec2/getSubnets:getSubnets", {"filters": filters}, provider)["ids"]


class Children:
    """Registers children of one component, with the providers that it hands down."""

    def __init__(self, plan: Plan, component: Resource) -> None:
        self.plan = plan
        self.component = component

    @property
    def name(self) -> str:
        """The component's name, with which those of its children begin."""
        return self.component.name

    def add(
        self,
        token: str,
        name: str,
        inputs: Mapping[str, Any],
        *,
        depends_on: Sequence[str] = (),
        ignore_changes: Sequence[str] = (),
        parent: str = "",
        provider: str | None = None,
    ) -> Resource:
        """Register a custom resource.

        `parent` and `provider` are URNs, by default the component and what it hands down.
        """
        request = child_request(
            self.component,
            token,
            name,
            inputs,
            depends_on=depends_on,
            ignore_changes=ignore_changes,
            provider=provider,
        )
        request.parent = parent or request.parent
        return self.plan.register(request)

    def add_component(self, token: str, name: str, inputs: Mapping[str, Any]) -> Children:
        """Register a component and return what registers its children.

        Those of the plugin stand in the state without their arguments.
        """
        request = child_request(self.component, token, name, inputs, custom=False)
        return Children(self.plan, self.plan.register(request))


def json_text(value: Any) -> Any:
    """Configuration as the sorted JSON text that the plugin hands to AWS."""
    value = unwrap(value)
    if value is None or value is UNKNOWN or isinstance(value, str):
        return value
    if is_unknown(value):
        return UNKNOWN
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
