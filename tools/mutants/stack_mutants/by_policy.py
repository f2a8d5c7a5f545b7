"""Whether the policy pack notices a broken stack.

Rules are called as the SDK calls them, with its own classes. Those on one resource see the one that
is broken, those on whole stacks all resources, of which the whole ones are made once. A test holds
what comes of it against the analyzer with the whole pack over the whole stack.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from google.protobuf import json_format  # type: ignore[import-untyped]
from pulumi_policy import (
    PolicyCustomTimeouts,
    PolicyProviderResource,
    PolicyResource,
    PolicyResourceOptions,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.deserialize import deserialize_properties
from pulumi_policy.policy import _NotApplicableError
from pulumi_policy.proxy import UnknownValueError, unknown_checking_proxy

from eks_gpushare.program.policies.analyzer import run_pack
from eks_gpushare.program.values import OutputValue, ResourceRef, Secret, encode_properties
from gpushare_policies import POLICIES
from stack_mutants.recordings import recorded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pulumi_policy import Policy

    from eks_gpushare.program.recording import Recording, Resource
    from stack_mutants.mutant import Mutant

_ON_RESOURCES = [each for each in POLICIES if isinstance(each, ResourceValidationPolicy)]
_ON_STACKS = [each for each in POLICIES if isinstance(each, StackValidationPolicy)]


@dataclass(frozen=True, slots=True)
class Said:
    """What a policy says."""

    policy: str
    urn: str
    message: str
    """No text if it could not see enough."""


class Heard(NamedTuple):
    """What policies say of a broken stack that they do not say of the whole one."""

    policies: tuple[str, ...]
    """Those that say something, by name."""
    blind: frozenset[str]
    """Those that could not see enough to say anything."""


def heard(mutant: Mutant, *, preview: bool, among: frozenset[str] | None = None) -> Heard:
    """What the pack says of a mutant.

    Args:
        mutant: The broken stack.
        preview: Whether what only an update tells is unknown.
        among: The policies to ask. Default: all.
    """
    broken = mutant.recording(preview=preview)
    if broken is None or (among is not None and not among):
        return Heard((), frozenset())
    recording, resource = broken
    before = [*of_stack(mutant.stack, preview=preview)]
    after = [*_stack_says(recording, _kept(mutant.stack, preview=preview), among)]
    before += _of_it(mutant.stack, mutant.urn, preview=preview)
    if resource is not None:
        after += _of_resource(recording, mutant.urn, among)
    blind = frozenset(said.policy for said in after if not said.message)
    return Heard(new_policies(before, after), blind)


def new_policies(before: Iterable[Said], after: Iterable[Said]) -> tuple[str, ...]:
    """Policies that say more of a resource than before.

    One that said the same with other numbers before has not noticed what was broken since.
    """
    counts = Counter((said.policy, said.urn) for said in set(after) if said.message)
    counts.subtract((said.policy, said.urn) for said in set(before) if said.message)
    return tuple(sorted({policy for (policy, _), count in counts.items() if count > 0}))


@cache
def of_stack(stack: str, *, preview: bool) -> tuple[Said, ...]:
    """What the rules on whole stacks say of a stack."""
    recording = recorded(stack, preview=preview)
    return tuple(_stack_says(recording, _kept(stack, preview=preview), None))


@cache
def _of_it(stack: str, urn: str, *, preview: bool) -> tuple[Said, ...]:
    return tuple(_of_resource(recorded(stack, preview=preview), urn, None))


def _of_resource(recording: Recording, urn: str, among: frozenset[str] | None) -> Iterator[Said]:
    resource = recording.by_urn[urn]
    provider = recording.by_urn.get(resource.provider)
    props = _shown(resource.inputs)
    options = _options(resource)
    of = _provider(provider, _shown(provider.inputs)) if provider else None
    for policy in _ON_RESOURCES:
        if among is None or policy.name in among:
            args = ResourceValidationArgs(resource.type, props, urn, resource.name, options, of)
            yield from _said(policy, args)


def whole_pack_says(recording: Recording) -> list[Said]:
    """Everything that the whole pack says of a recording, by way of the analyzer."""
    found = run_pack(POLICIES, recording)
    return [Said(v.policy, v.urn, v.message) for v in found if not _is_blind(v.message)]


def _is_blind(message: str) -> bool:
    return message.startswith("can't run policy") or "could not be judged" in message


@cache
def _kept(stack: str, *, preview: bool) -> Mapping[int, Any]:
    """Properties of a stack's resources as policies see them, by what they were made of."""
    return {
        id(each.outputs): _shown(each.outputs)
        for each in recorded(stack, preview=preview).resources
    }


def _shown(properties: dict[str, Any]) -> Any:
    encoded = encode_properties(_analyzed(properties))
    return unknown_checking_proxy(deserialize_properties(json_format.MessageToDict(encoded)))


def _analyzed(value: Any) -> Any:
    if isinstance(value, OutputValue | Secret):
        return _analyzed(value.value)
    if isinstance(value, ResourceRef):
        return value.urn if isinstance(value.id, str) and not value.id else value.id
    if isinstance(value, dict):
        return {key: _analyzed(item) for key, item in value.items() if not key.startswith("__")}
    if isinstance(value, list | tuple):
        return [_analyzed(item) for item in value]
    return value


def _stack_says(
    recording: Recording, kept: Mapping[int, Any], among: frozenset[str] | None
) -> Iterator[Said]:
    resources = _as_policies_see(recording, kept)
    for policy in _ON_STACKS:
        if among is None or policy.name in among:
            yield from _said(policy, StackValidationArgs(list(resources)))


def _said(policy: Policy, args: Any) -> list[Said]:
    said: list[Said] = []

    def report(message: str, urn: str | None = None) -> None:
        said.append(Said(policy.name, urn or "", "" if _is_blind(message) else message))

    try:
        policy.validate(args, report)  # type: ignore[attr-defined]  # of either kind
    except (UnknownValueError, _NotApplicableError):
        said.append(Said(policy.name, "", ""))
    return said


def _options(resource: Resource) -> PolicyResourceOptions:
    return PolicyResourceOptions(
        protect=resource.protect,
        ignore_changes=list(resource.options.get("ignoreChanges", ())),
        delete_before_replace=resource.options.get("deleteBeforeReplace"),
        aliases=[],
        custom_timeouts=PolicyCustomTimeouts(0, 0, 0),
        additional_secret_outputs=list(resource.options.get("additionalSecretOutputs", ())),
    )


def _provider(resource: Resource, props: Any) -> PolicyProviderResource:
    return PolicyProviderResource(resource.type, props, resource.urn, resource.name)


def _as_policies_see(recording: Recording, kept: Mapping[int, Any]) -> list[PolicyResource]:
    made: dict[str, PolicyResource] = {}
    for each in recording.resources:
        shown = kept.get(id(each.outputs))
        props = _shown(each.outputs) if shown is None else shown
        made[each.urn] = PolicyResource(
            each.type, props, each.urn, each.name, _options(each), None, None, [], {}
        )
    for each in recording.resources:
        one = made[each.urn]
        one.parent = made.get(each.parent)
        one.dependencies = [made[urn] for urn in each.dependencies if urn in made]
        one.property_dependencies = {
            key: [made[urn] for urn in urns if urn in made]
            for key, urns in each.property_dependencies.items()
        }
        if provider := recording.by_urn.get(each.provider):
            one.provider = _provider(provider, made[provider.urn].props)
    return list(made.values())
