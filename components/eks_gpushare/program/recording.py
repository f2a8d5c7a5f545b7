"""What a run of a Pulumi program recorded: the plan of registrations and what was said meanwhile.

It is not what ``pulumi preview`` prints: no provider has checked, completed or compared anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from eks_gpushare.program.values import Properties, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STACK_TYPE = "pulumi:pulumi:Stack"
"""Type of the root resource that every program has, the parent of whatever names no other."""

PROVIDER_TYPE_PREFIX = "pulumi:providers:"
"""What the type of every explicit provider begins with."""


@dataclass(slots=True)
class Resource:
    """One registration, as the engine would have received it.

    Properties carry the wire's camelCase names and may hold the classes of
    `eks_gpushare.program.values` at any depth.
    """

    urn: str
    type: str
    name: str
    parent: str = ""
    """URN of the parent, ``""`` for the stack itself."""
    custom: bool = True
    """Whether a provider manages it; a component is not custom."""
    remote: bool = False
    """Whether it is a component that a plugin in another process builds."""
    inputs: Properties = field(default_factory=dict)
    outputs: Properties = field(default_factory=dict)
    """A custom resource: what the fake answered. A component: what it registered as outputs."""
    id: Any = ""
    """Provider's id: text, `UNKNOWN` in preview, ``""`` where there is none."""
    dependencies: tuple[str, ...] = ()
    """URNs, sorted; components are expanded to the custom resources in them, as the SDK does."""
    property_dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    provider: str = ""
    """URN of the explicit provider; ``""`` means the default one of the package."""
    providers: Mapping[str, str] = field(default_factory=dict)
    """Package to provider URN, as a component hands them to its children."""
    protect: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    """The other options that were given, in camelCase (``ignoreChanges``, ``customTimeouts``, ...).

    ``aliases`` holds URNs and, for an `pulumi.Alias`, what it sets (``{"name": "old"}``)."""
    source: str = ""
    """``file:line`` in the user's program, ``""`` where no line of it is on the stack."""
    existing: bool = False
    """Whether it was read (``Vpc.get(...)``) and not created."""
    assumed: bool = False
    """Whether a fake for a remote component registered it: the real plugin may differ."""

    def as_json(self) -> dict[str, Any]:
        """The public JSON form: secrets masked, unknowns as ``"<computed>"``."""
        return {
            "urn": self.urn,
            "type": self.type,
            "name": self.name,
            "parent": self.parent or None,
            "inputs": to_json(self.inputs),
            "dependencies": list(self.dependencies),
            "provider": self.provider or None,
            "protect": self.protect,
        }


@dataclass(frozen=True, slots=True)
class Message:
    """A line the program logged: severity ``info``, ``warning`` or ``error``; URN or ``""``."""

    severity: str
    text: str
    urn: str = ""

    def as_json(self) -> dict[str, Any]:
        """The message as JSON data."""
        return {"severity": self.severity, "text": self.text, "urn": self.urn or None}


@dataclass(frozen=True, slots=True)
class ProgramError:
    """Why a program stopped."""

    type: str
    """Name of the exception's class, for example ``RunError``."""
    text: str
    """Its message, alone."""
    source: str = ""
    """``file:line`` of the user's program that led to it, ``""`` where unknown."""
    traceback: str = ""
    """The formatted traceback; ``""`` for a `pulumi.RunError`, which speaks for itself."""
    exception: BaseException | None = field(default=None, compare=False, repr=False)
    """The exception itself, for callers that want to raise it again."""

    def __str__(self) -> str:
        where = f"{self.source}: " if self.source else ""
        kind = "" if self.type == "RunError" else f"{self.type}: "
        return f"{where}{kind}{self.text}"

    def as_json(self) -> dict[str, Any]:
        """The error as JSON data, without the traceback."""
        return {"type": self.type, "text": self.text, "source": self.source or None}


@dataclass
class Recording:
    """Everything one run registered, said and returned."""

    project: str
    stack: str
    preview: bool = True
    """Whether values that only an update tells were kept unknown."""
    resources: list[Resource] = field(default_factory=list)
    """In the order of registration; the stack itself comes first."""
    messages: list[Message] = field(default_factory=list)
    outputs: Properties = field(default_factory=dict)
    """The stack's exports."""
    calls: list[tuple[str, Properties]] = field(default_factory=list)
    """Functions that were called, by token, with their arguments, in the order of the calls."""
    assumptions: list[str] = field(default_factory=list)
    """What the fakes made up where AWS would have been asked, one sentence each."""
    error: ProgramError | None = None
    package_config: dict[str, dict[str, str]] = field(default_factory=dict)
    """What the stack's configuration says to packages, such as `aws`, that is no secret: their
    default providers get it."""
    exported: bool = False
    """Whether it was read from a state, where the default providers are resources too."""

    @cached_property
    def by_urn(self) -> Mapping[str, Resource]:
        """URN to resource. Computed on first use, so ask only when the run is over."""
        return {resource.urn: resource for resource in self.resources}

    def of_type(self, token: str) -> list[Resource]:
        """The resources of this type, for example ``aws:eks/nodeGroup:NodeGroup``."""
        return [resource for resource in self.resources if resource.type == token]

    def source_of(self, urn: str) -> str:
        """The line behind a resource, or behind the component that it is part of."""
        while (resource := self.by_urn.get(urn)) is not None:
            if resource.source:
                return resource.source
            urn = resource.parent
        return ""

    def needed_by(self, resource: Resource, key: str, token: str) -> Resource | None:
        """The first resource of a type that a property of another depends on."""
        urns = resource.property_dependencies.get(key, ())
        return next((found for found in self.of_type(token) if found.urn in urns), None)

    def as_json(self) -> dict[str, Any]:
        """The recording as JSON data: secrets masked, unknowns as ``"<computed>"``."""
        return {
            "project": self.project,
            "stack": self.stack,
            "preview": self.preview,
            "resources": [resource.as_json() for resource in self.resources],
            "outputs": to_json(self.outputs),
            "messages": [message.as_json() for message in self.messages],
            "assumptions": list(self.assumptions),
            "error": self.error.as_json() if self.error else None,
        }


def package_config(
    project: str, config: Mapping[str, str], secret_keys: Sequence[str] = ()
) -> dict[str, dict[str, str]]:
    """What the configuration of a stack says to the packages that a program uses.

    Args:
        project: Name of the program, whose own keys are left out.
        config: Full keys and text.
        secret_keys: Keys whose values are secret, and left out too.
    """
    found: dict[str, dict[str, str]] = {}
    for key, value in config.items():
        package, _, name = key.partition(":")
        if name and package != project and key not in secret_keys:
            found.setdefault(package, {})[name] = value
    return found
