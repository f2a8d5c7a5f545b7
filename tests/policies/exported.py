"""Writing what a program registered as the state that an update of it would leave."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from eks_gpushare.program.values import (
    ARCHIVE_SIGNATURE,
    ASSET_SIGNATURE,
    RESOURCE_SIGNATURE,
    SECRET_SIGNATURE,
    SIGNATURE_KEY,
    UNKNOWN,
    UNKNOWN_SENTINEL,
    Asset,
    OutputValue,
    ResourceRef,
    Secret,
)

if TYPE_CHECKING:
    from eks_gpushare.program.recording import Recording, Resource


def state_of(recording: Recording, *, show_secrets: bool = True) -> dict[str, Any]:
    """A state in the form of `pulumi stack export`, of resources that are all there."""

    def resource(each: Resource) -> dict[str, Any]:
        options = each.options
        written = {
            "urn": each.urn,
            "type": each.type,
            "custom": each.custom,
            "id": each.id if isinstance(each.id, str) else "",
            "inputs": value(each.inputs),
            "outputs": value(each.outputs),
            "parent": each.parent,
            "dependencies": list(each.dependencies),
            "propertyDependencies": {k: list(v) for k, v in each.property_dependencies.items()},
            "provider": f"{each.provider}::id" if each.provider else "",
            "protect": each.protect,
            "external": each.existing,
            "ignoreChanges": options.get("ignoreChanges", []),
        }
        return {key: content for key, content in written.items() if content not in ("", [], {})}

    def value(given: Any) -> Any:  # noqa: PLR0911  (one return for each kind of value)
        if given is UNKNOWN:
            return UNKNOWN_SENTINEL
        if isinstance(given, Secret):
            text = json.dumps(value(given.value))
            kept = {"plaintext": text} if show_secrets else {"ciphertext": "djE6"}
            return {SIGNATURE_KEY: SECRET_SIGNATURE, **kept}
        if isinstance(given, OutputValue):
            return value(Secret(given.value) if given.secret else given.value)
        if isinstance(given, ResourceRef):
            return {SIGNATURE_KEY: RESOURCE_SIGNATURE, "urn": given.urn, "id": value(given.id)}
        if isinstance(given, Asset):
            signature = ASSET_SIGNATURE if given.kind == "asset" else ARCHIVE_SIGNATURE
            return {SIGNATURE_KEY: signature, **given.data}
        if isinstance(given, Mapping):
            return {key: value(item) for key, item in given.items()}
        return [value(item) for item in given] if isinstance(given, list | tuple) else given

    resources = [resource(each) for each in recording.resources]
    return {"version": 3, "deployment": {"manifest": {}, "resources": resources}}
