"""From a registration request of the engine's protocol to a recorded resource, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pulumi.runtime.proto import alias_pb2, resource_pb2

from eks_gpushare.program.protobuf import Message, struct_pb2
from eks_gpushare.program.recording import Resource
from eks_gpushare.program.sources import line_of_registration
from eks_gpushare.program.values import (
    decode,
    decode_properties,
    dependencies,
    encode_properties,
)

# Field of RegisterResourceRequest to the option's name in the recording.
_OPTIONS = {
    "aliases": "aliases",
    "aliasURNs": "aliases",
    "ignoreChanges": "ignoreChanges",
    "replaceOnChanges": "replaceOnChanges",
    "additionalSecretOutputs": "additionalSecretOutputs",
    "hideDiffs": "hideDiffs",
    "customTimeouts": "customTimeouts",
    "retainOnDelete": "retainOnDelete",
    "deletedWith": "deletedWith",
    "replace_with": "replaceWith",
    "replacement_trigger": "replacementTrigger",
    "importId": "import",
    "version": "version",
    "pluginDownloadURL": "pluginDownloadURL",
    "hooks": "hooks",
    "envVarMappings": "envVarMappings",
}


def provider_urn(reference: str) -> str:
    """The URN in a provider reference ``<urn>::<id>``; ``""`` for an empty one."""
    return reference.rpartition("::")[0]


def resource_of(request: resource_pb2.RegisterResourceRequest) -> Resource:
    """The resource that `request` registers. Its URN is not set yet."""
    return Resource(
        urn="",
        type=request.type,
        name=request.name,
        parent=request.parent,
        custom=request.custom,
        remote=request.remote,
        inputs=decode_properties(request.object),
        dependencies=tuple(sorted(request.dependencies)),
        property_dependencies={
            key: tuple(sorted(dependencies.urns))
            for key, dependencies in sorted(request.propertyDependencies.items())
            if dependencies.urns
        },
        provider=provider_urn(request.provider),
        providers={
            package: provider_urn(reference)
            for package, reference in sorted(request.providers.items())
        },
        protect=request.protect,
        options=_options(request),
        source=line_of_registration(request.stackTrace.frames),
    )


def _options(request: resource_pb2.RegisterResourceRequest) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for field, value in request.ListFields():
        name = _OPTIONS.get(field.name)
        if name is not None:
            option = _option(value)
            if option not in (None, "", [], {}):
                options[name] = option
    if request.deleteBeforeReplaceDefined:
        options["deleteBeforeReplace"] = request.deleteBeforeReplace
    return options


def _option(value: Any) -> Any:
    if isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, struct_pb2.Value):
        return decode(value)
    if isinstance(value, alias_pb2.Alias):
        return value.urn or _given(value.spec)
    if isinstance(value, Message):
        return _given(value)
    if isinstance(value, Mapping):
        return dict(value)
    return [_option(item) for item in value]


def _given(message: Message) -> dict[str, Any]:
    """The fields of `message` that say something."""
    fields = {field.name: _option(value) for field, value in message.ListFields()}
    return {name: value for name, value in fields.items() if value not in ("", [], {})}


def child_request(
    parent: Resource,
    type_token: str,
    name: str,
    inputs: Mapping[str, Any],
    *,
    custom: bool = True,
    depends_on: Sequence[str] = (),
    ignore_changes: Sequence[str] = (),
    provider: str | None = None,
) -> resource_pb2.RegisterResourceRequest:
    """The registration of a child of `parent`, as a plugin would send it.

    Inputs that are None are left out. An `OutputValue` in the inputs becomes a dependency of its
    property. The provider is the one that `parent` hands down for the type's package, if `provider`
    is not another's URN.
    `depends_on` are URNs, `ignore_changes` property paths.
    """
    given = {key: value for key, value in inputs.items() if value is not None}
    found = {key: sorted(dependencies(value)) for key, value in given.items()}
    if provider is None:
        provider = parent.providers.get(type_token.partition(":")[0], "") if custom else ""
    request = resource_pb2.RegisterResourceRequest(
        type=type_token,
        name=name,
        parent=parent.urn,
        custom=custom,
        object=encode_properties(given),
        dependencies=sorted({*depends_on, *(u for urns in found.values() for u in urns)}),
        provider=f"{provider}::id" if provider else "",
        providers={} if custom else {key: f"{urn}::id" for key, urn in parent.providers.items()},
        ignoreChanges=ignore_changes,
    )
    for key, urns in found.items():
        request.propertyDependencies[key].urns.extend(urns)
    return request
