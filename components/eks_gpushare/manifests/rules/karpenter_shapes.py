"""What the API server refuses of a Karpenter object, or drops from it."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.foreign_keys import (
    karpenter_api_version,
    karpenter_spec_keys,
    refused_texts,
    unknown_keys,
)
from eks_gpushare.documents.reading import is_guide
from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.finding import dotted
from eks_gpushare.inventory.problem import Edit, Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import PartlyKnown, at, has_unknown, text
from eks_gpushare.manifests.plain import EFFECTS, items, kubernetes_effect, mapping, no_strings
from eks_gpushare.validation.shape import similar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath, Severity
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Source


UNKNOWN_KEY = rule_of("GPU1052")
REFUSED_VALUE = rule_of("GPU1053")
OVERLAY_SHAPE = rule_of("GPU1060")

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte")
_NUMBERS = ("Gt", "Lt", "Gte", "Lte")
_POLICIES = ("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced")
_MOVED: Mapping[tuple[str, ...], str] = {
    ("disruption", "expireAfter"): "It belongs to spec.template.spec.expireAfter since v1.",
    ("template", "spec", "kubelet"): "It belongs to spec.kubelet of the EC2NodeClass since v1.",
    ("template", "spec", "nodeClassRef", "apiVersion"): "Since v1 it is group, without a version.",
    ("ttlSecondsAfterEmpty",): "Write disruption: {consolidationPolicy: WhenEmpty, "
    "consolidateAfter: ...} instead.",
    ("ttlSecondsUntilExpired",): "Write expireAfter below spec.template.spec instead.",
    ("consolidation",): "Write disruption: {consolidationPolicy: ...} instead.",
    ("providerRef",): "Write nodeClassRef below spec.template.spec instead.",
    ("provider",): "Write an EC2NodeClass, and nodeClassRef below spec.template.spec.",
    ("requirements",): "It belongs below spec.template.spec.",
    ("taints",): "It belongs below spec.template.spec.",
    ("startupTaints",): "It belongs below spec.template.spec.",
    ("labels",): "It belongs below spec.template.metadata.",
    ("template", "labels"): "It belongs below spec.template.metadata.",
    ("template", "spec", "labels"): "It belongs below spec.template.metadata.",
    ("template", "requirements"): "It belongs below spec.template.spec.",
    ("template", "taints"): "It belongs below spec.template.spec.",
    ("nodeClassRef",): "It belongs below spec.template.spec.",
    ("subnetSelector",): "Since v1beta1 it is subnetSelectorTerms, a list.",
    ("securityGroupSelector",): "Since v1beta1 it is securityGroupSelectorTerms, a list.",
    ("amiSelector",): "Since v1beta1 it is amiSelectorTerms, a list.",
}
"""Where a key of another version, or of another place, belongs."""

_SIZE = re.compile(r"[1-9][0-9]{0,4}(?:Gi|G)|[1-9][0-9]?(?:Ti|T)")
_RESTRICTED = ("cpu", "memory", "ephemeral-storage", "pods")
_NEEDED: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "NodePool": (
        ("template", "spec", "nodeClassRef"),
        ("template", "spec", "nodeClassRef", "group"),
        ("template", "spec", "nodeClassRef", "kind"),
        ("template", "spec", "nodeClassRef", "name"),
        ("template", "spec", "requirements"),
    ),
    "NodeOverlay": (("requirements",),),
    "EC2NodeClass": (
        ("amiSelectorTerms",),
        ("securityGroupSelectorTerms",),
        ("subnetSelectorTerms",),
    ),
}


def shape(value: Mapping[str, Any], source: Source) -> Iterator[Judgement]:
    """What is wrong with keys and values of an object of a version that is served."""
    kind = str(at(value, "kind"))
    keys = karpenter_spec_keys(kind)
    if keys is None or at(value, "apiVersion") != karpenter_api_version(kind):
        return  # which is said of the version
    spec = at(value, "spec")
    moved: set[FieldPath] = set()
    for path, names in unknown_keys(spec, keys):
        moved.add(path)
        yield _unknown(source, kind, path, names, spec)
    for path, pattern in refused_texts(spec, keys):
        yield _refused(source, ("spec", *path), at(spec, *path), pattern)
    yield from _missing(source, kind, spec, moved)
    for path, requirement in _requirements(spec):
        yield from _requirement(source, path, requirement)
    for path, taint in _taints(spec):
        yield from _taint(source, path, taint)
    for path, given in no_strings(
        at(spec, "template", "metadata", "labels"), ("template", "metadata", "labels")
    ):
        yield _not_a_string(source, path, given)
    yield from _disruption(source, spec)
    yield from _weight(source, spec)
    if kind == "NodeOverlay":
        yield from _overlay(source, spec)
    if kind == "EC2NodeClass":
        yield from _volumes(source, spec)
        yield from _alone(source, spec)


def _unknown(
    source: Source, kind: str, path: FieldPath, names: tuple[str, ...], spec: Any
) -> Problem:
    place = tuple(step for step in path if isinstance(step, str))
    key = place[-1]
    edits: tuple[Edit, ...] = ()
    fix = _MOVED.get(place)
    if fix is None and (near := similar(key, names)) is not None:
        fix = f"Write {near}."
        if near not in mapping(at(spec, *path[:-1])):
            edits = (Edit("rename", ("spec", *path), near),)
    message = f"{kind} has no key {dotted(('spec', *path))}."
    allowed = f"Remove it; allowed there: {', '.join(names)}."
    return Problem(UNKNOWN_KEY, source, ("spec", *path), message, fix or allowed, edits=edits)


def _refused(source: Source, place: FieldPath, given: str, pattern: str) -> Problem:
    words = pattern.removeprefix("^(").removesuffix(")$").split("|")
    if all(map(str.isalnum, words)):
        wanted = f"there {'are' if len(words) > 1 else 'is'} {', '.join(words)}"
        fix = f"Write {similar(given, words) or words[0]}."
    else:
        wanted, fix = f"it has to match {pattern}", "Write it so, such as 5m, 10% or a full ID."
    message = f"{dotted(place)} is {given}; {wanted}."
    return Problem(REFUSED_VALUE, source, place, message, fix)


def _missing(source: Source, kind: str, spec: Any, moved: set[FieldPath]) -> Iterator[Judgement]:
    """Keys that an object needs, each but where that above it is missing too."""
    gone: set[tuple[str, ...]] = set()
    for path in _NEEDED.get(kind, ()):
        if path[:-1] in gone:
            continue
        above = at(spec, *path[:-1])
        if not (above is None or isinstance(above, dict)) or path[-1] in mapping(above):
            continue
        if isinstance(above, PartlyKnown):
            continue  # an expression may add it
        gone.add(path)
        if any(each[-1:] == path[-1:] for each in moved):
            continue  # it stands in the wrong place
        fix = f"Add {path[-1]}{_example(path[-1])}."
        place = ("spec", *path)
        message = f"{dotted(place)} is not given."
        severity: Severity | None = "info" if is_part(source) else None
        yield Problem(REFUSED_VALUE, source, place[:-1], message, fix, severity)


def is_part(source: Source) -> bool:
    """Whether it stands in documentation, or in a patch of no kustomization among the files.

    Both have what they are about, and leave out the rest.
    """
    called = re.split(r"[-_.]", posixpath.basename(source.file.lower()))
    return is_guide(source.file) or "patch" in called


def _example(key: str) -> str:
    return {
        "group": ": karpenter.k8s.aws",
        "kind": ": EC2NodeClass",
        "amiSelectorTerms": ', such as [{alias: "al2023@v20261114"}]',
    }.get(key, "")


def _requirements(spec: Any) -> Iterator[tuple[FieldPath, Any]]:
    for path in (("template", "spec", "requirements"), ("requirements",)):
        for index, term in enumerate(items(at(spec, *path))):
            yield (*path, index), term


def _requirement(source: Source, path: FieldPath, given: Any) -> Iterator[Judgement]:
    operator, values = at(given, "operator"), at(given, "values")
    place = ("spec", *path)
    if isinstance(operator, str) and operator not in _OPERATORS:
        near = similar(operator, _OPERATORS)
        message = f"{operator} is no operator; there are {', '.join(_OPERATORS)}."
        edits = (Edit("set", (*place, "operator"), near),) if near else ()
        fix = f"Write {near}." if near else "Write In, with values."
        yield Problem(REFUSED_VALUE, source, (*place, "operator"), message, fix, edits=edits)
    elif operator in ("In", "NotIn") and (values is None or values == []):
        message = f"{operator} of {at(given, 'key')} has no values."
        yield Problem(REFUSED_VALUE, source, place, message, "Give values, a list of strings.")
    elif operator in _NUMBERS and _is_told(values) and not _is_number(values):
        given_values = ", ".join(map(str, items(values))) or "none"
        message = f"{operator} of {at(given, 'key')} takes one whole number, not {given_values}."
        fix = 'Give one value, such as ["4"]; a range is two requirements.'
        yield Problem(REFUSED_VALUE, source, (*place, "values"), message, fix)
    least = at(given, "minValues")
    listed = values if operator == "In" and _is_told(values) else None
    if listed and isinstance(least, int) and least > len(set(map(str, listed))):
        message = f"minValues of {at(given, 'key')} is {least}, and there are fewer values."
        fix = "Give as many values, or a lower minValues."
        yield Problem(REFUSED_VALUE, source, (*place, "minValues"), message, fix)
    if isinstance(values, str):
        fix = f'Write values: ["{values}"].'
        edit = Edit("set", (*place, "values"), [values])
        message = "values is a list of strings."
        yield Problem(REFUSED_VALUE, source, (*place, "values"), message, fix, edits=(edit,))
    for index, value in enumerate(items(values)):
        if isinstance(value, bool | int | float):
            yield _not_a_string(source, (*path, "values", index), value)


def _is_told(values: Any) -> bool:
    """Whether values are a list, or missing, and all known; other shapes are said by themselves."""
    return values is None or (isinstance(values, list) and not has_unknown(values))


def _is_number(values: Any) -> bool:
    """Whether there is one value, and it is a whole number of zero or more."""
    if len(items(values)) != 1:
        return False
    given = str(values[0])
    return given.isascii() and given.isdecimal()


def _taints(spec: Any) -> Iterator[tuple[FieldPath, Any]]:
    for name in ("taints", "startupTaints"):
        for path in (("template", "spec", name), (name,)):
            for index, term in enumerate(items(at(spec, *path))):
                yield (*path, index), term


def _taint(source: Source, path: FieldPath, given: Any) -> Iterator[Judgement]:
    value, effect = at(given, "value"), at(given, "effect")
    if isinstance(value, bool | int | float):
        yield _not_a_string(source, (*path, "value"), value)
    place = ("spec", *path, "effect")
    if isinstance(effect, str) and effect not in EFFECTS:
        meant = kubernetes_effect(effect)
        yield Problem(
            REFUSED_VALUE,
            source,
            place,
            f"{effect} is no effect of a taint; there are {', '.join(EFFECTS)}.",
            f"Write {meant or 'NoSchedule'}.",
            edits=(Edit("set", place, meant),) if meant else (),
        )
    elif effect is None and isinstance(given, dict):
        message = f"The taint {at(given, 'key')} has no effect."
        yield Problem(REFUSED_VALUE, source, place, message, "Add effect: NoSchedule.")


def _not_a_string(source: Source, path: FieldPath, given: Any) -> Problem:
    place = ("spec", *path)
    as_text = str(given).lower() if isinstance(given, bool) else str(given)
    what = "a boolean" if isinstance(given, bool) else "a number"
    return Problem(
        REFUSED_VALUE,
        source,
        place,
        f"{dotted(place)} is {what}, {as_text}; it has to be a string.",
        f'Write "{as_text}", in quotes.',
        edits=(Edit("set", place, as_text),),
    )


def _weight(source: Source, spec: Any) -> Iterator[Judgement]:
    """https://karpenter.sh/docs/concepts/nodepools/#specweight."""
    weight = at(spec, "weight")
    most = 100 if at(source.document.value, "kind") == "NodePool" else 10_000
    if isinstance(weight, int) and not isinstance(weight, bool) and not 1 <= weight <= most:
        message = f"weight is {weight}, and may be from 1 to {most}."
        yield Problem(REFUSED_VALUE, source, ("spec", "weight"), message, f"Write 1 to {most}.")


def _disruption(source: Source, spec: Any) -> Iterator[Judgement]:
    given = at(spec, "disruption")
    policy = at(given, "consolidationPolicy")
    # "schedule" and "duration" come together:
    # https://karpenter.sh/docs/concepts/disruption/#schedule
    for index, budget in enumerate(items(at(given, "budgets"))):
        has = ["duration", "schedule"]
        lacks = [key for key in has if key not in mapping(budget)]
        if len(lacks) == 1 and not isinstance(budget, PartlyKnown):
            has.remove(lacks[0])
            yield Problem(
                REFUSED_VALUE,
                source,
                ("spec", "disruption", "budgets", index, has[0]),
                f"The budget has a {has[0]} and no {lacks[0]}.",
                f"Write a {lacks[0]} beside it, or take both away.",
            )
    place = ("spec", "disruption", "consolidationPolicy")
    if isinstance(policy, str) and policy not in _POLICIES:
        meant = "WhenEmptyOrUnderutilized" if policy == "WhenUnderutilized" else None
        yield Problem(
            REFUSED_VALUE,
            source,
            place,
            f"{policy} is no consolidationPolicy; there are {', '.join(_POLICIES)}.",
            f"Write {meant or 'WhenEmpty'}.",
            edits=(Edit("set", place, meant),) if meant else (),
        )


def _volumes(source: Source, spec: Any) -> Iterator[Judgement]:
    """Sizes, which are text with a unit."""
    for index, disk in enumerate(items(at(spec, "blockDeviceMappings"))):
        given = at(disk, "ebs", "volumeSize")
        if given in (None, UNKNOWN) or _SIZE.fullmatch(str(text(given))):
            continue
        place = ("spec", "blockDeviceMappings", index, "ebs", "volumeSize")
        plain = str(text(given))
        bare = plain.isascii() and plain.isdigit()
        yield Problem(
            REFUSED_VALUE,
            source,
            place,
            f"volumeSize is {text(given)}, without one of the units Gi, G, Ti and T.",
            f"Write {text(given)}Gi." if bare else "Write a whole number of Gi.",
        )


def _alone(source: Source, spec: Any) -> Iterator[Judgement]:
    """Keys of which the API server takes one, and none beside it."""
    given = mapping(spec)
    if "role" in given and "instanceProfile" in given:
        message = "role and instanceProfile stand beside each other."
        fix = "Keep one of the two; of role Karpenter makes the profile."
        yield Problem(REFUSED_VALUE, source, ("spec", "instanceProfile"), message, fix)
    terms = items(at(spec, "amiSelectorTerms"))
    if UNKNOWN in terms:
        return
    for index, term in enumerate(terms):
        if "alias" in mapping(term) and (len(terms) > 1 or len(mapping(term)) > 1):
            message = "An alias stands alone, and this has another term or key beside it."
            fix = "Keep the alias, or name all images by id."
            yield Problem(
                REFUSED_VALUE, source, ("spec", "amiSelectorTerms", index, "alias"), message, fix
            )


def _overlay(source: Source, spec: Any) -> Iterator[Judgement]:
    capacity = at(spec, "capacity")
    for resource in mapping(capacity):
        if resource in _RESTRICTED:
            yield Problem(
                OVERLAY_SHAPE,
                source,
                ("spec", "capacity", resource),
                f"An overlay may not say how much {resource} a node has.",
                "Remove it: Karpenter knows it from EC2.",
            )
    told = [at(spec, key) for key in ("price", "priceAdjustment")]
    if None not in told and UNKNOWN not in told:
        message = "price and priceAdjustment stand beside each other."
        fix = "Keep one of the two."
        yield Problem(OVERLAY_SHAPE, source, ("spec", "price"), message, fix)
    changes = any(at(spec, key) is not None for key in ("capacity", "price", "priceAdjustment"))
    if isinstance(spec, dict) and not changes:
        message = "The overlay changes neither capacity nor price."
        fix = "Add capacity with what a node advertises."
        yield Problem(OVERLAY_SHAPE, source, ("spec",), message, fix)
