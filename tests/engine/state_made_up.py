"""The state of a stack that is up, from what its program registers: nothing need be made for it.

What is there is the same as after an update with the echo providers, whose answers come from the
same fakes. A preview of the same program shows no change, which is how a test knows that it holds.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid5

from eks_gpushare.program.values import plain, to_data

if TYPE_CHECKING:
    from eks_gpushare.program.recording import Recording, Resource

_TIME = "2026-11-28T00:00:00Z"


def deployment_of(run: Recording, stack: str, region: str) -> dict[str, Any]:
    """What `pulumi stack import` takes.

    Args:
        run: What the program registers, with known values.
        stack: The stack that is to have it.
        region: The AWS region of the default provider.
    """
    root = next(each.urn for each in run.resources if each.type == "pulumi:pulumi:Stack")
    begin, here = root.split("::")[0], f"urn:pulumi:{stack}"
    name = f"{root.removesuffix(begin.rpartition(':')[2])}{stack}"
    defaults = {
        package: f"{here}::{root.split('::')[1]}::pulumi:providers:{package}::default_{number}"
        for package in ("aws", "eks")
        for number in [version(f"pulumi-{package}").replace(".", "_")]
    }
    there = [_default(package, urn, region) for package, urn in defaults.items()]
    references = {each["urn"]: f"{each['urn']}::{each['id']}" for each in there}
    found = [*there]
    for resource in run.resources:
        made = _moved(_moved(_entry(resource), root, name), f"{begin}::", f"{here}::")
        if resource.type.startswith("pulumi:providers:"):
            made["id"] = str(uuid5(NAMESPACE_URL, made["urn"]))
            number = {"version": version(f"pulumi-{resource.type.rpartition(':')[2]}")}
            made["inputs"] = {**made.get("inputs", {}), **number, "__internal": {}}
            made["outputs"] = {**made.get("outputs", {}), **number}
            references[made["urn"]] = f"{made['urn']}::{made['id']}"
        elif resource.custom:
            package = resource.type.partition(":")[0]
            given = _moved(resource.provider, f"{begin}::", f"{here}::") or defaults[package]
            made["provider"] = references[given]
        found.append(made)
    return {"version": 3, "deployment": {"manifest": {"time": _TIME}, "resources": found}}


def _default(package: str, urn: str, region: str) -> dict[str, Any]:
    around = {"region": region} if package == "aws" else {}
    given = {"version": version(f"pulumi-{package}"), **around}
    return {
        "urn": urn,
        "custom": True,
        "id": str(uuid5(NAMESPACE_URL, urn)),
        "type": f"pulumi:providers:{package}",
        "inputs": {"__internal": {}, **given},
        "outputs": given,
    }


def _entry(resource: Resource) -> dict[str, Any]:
    made: dict[str, Any] = {
        "urn": resource.urn,
        "custom": resource.custom,
        "type": resource.type,
        "parent": resource.parent,
        "protect": resource.protect,
        "external": resource.existing,
        "inputs": to_data(plain(resource.inputs)),
        "outputs": to_data(plain(resource.outputs)),
        "dependencies": list(resource.dependencies),
        "propertyDependencies": {
            key: list(urns) for key, urns in resource.property_dependencies.items()
        },
        "ignoreChanges": list(resource.options.get("ignoreChanges", ())),
        "replaceWith": list(resource.options.get("replaceWith", ())),
    }
    if resource.custom:
        made["id"] = resource.id
    return {key: value for key, value in made.items() if value not in ("", [], False)} | {
        "custom": resource.custom
    }


def _moved(value: Any, before: str, after: str) -> Any:
    """With URNs of another stack."""
    if isinstance(value, str):
        return value.replace(before, after)
    if isinstance(value, dict):
        return {key: _moved(each, before, after) for key, each in value.items()}
    if isinstance(value, list):
        return [_moved(each, before, after) for each in value]
    return value
