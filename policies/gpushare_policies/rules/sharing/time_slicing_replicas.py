"""A GPU is not cut into more time slices than it can serve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from eks_gpushare.facts.replicas import ADVISED_SLICES, are_many_slices
from eks_gpushare.inventory.bottlerocket import config_of, settings_in
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.user_data import decoded
from eks_gpushare.inventory.values import at
from gpushare_policies.checks import Unjudged
from gpushare_policies.props import read, whole
from gpushare_policies.reading.objects import Kind
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import item_of
from gpushare_policies.reading.plugin_documents import (
    CONFIG_MAPS,
    PluginDocument,
    of_charts,
    of_config_map,
)
from gpushare_policies.rule import ResourcePolicy, number
from gpushare_policies.tokens import CHART_V4, LAUNCH_TEMPLATE, OUR_POOL, RELEASE
from gpushare_policies.words import Fix, is_of_pulumi_eks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAXIMUM_REPLICAS = number(
    "maximumReplicas",
    ADVISED_SLICES,
    "Most shares of one GPU by time slicing; AWS advises 2 to 8.",
    minimum=2,
)

_FEWER_REPLICAS = (
    "Lower `replicas` in that document, or raise `maximumReplicas` of this policy. MPS and MIG "
    "limit what one pod can take from another."
)
_FEWER = Fix(
    "Lower `pools.<pool>.sharing.replicas` in the stack file, or raise `maximumReplicas` of this "
    "policy. `mode: mps` and `mig` limit what one pod can take from another.",
    _FEWER_REPLICAS,
    _FEWER_REPLICAS,
)


def _are_many(args: ResourceValidationArgs, replicas: int) -> bool:
    return are_many_slices(replicas, MAXIMUM_REPLICAS.of(args))


def _too_many(args: ResourceValidationArgs, where: str, resource: str, replicas: int) -> str:
    most = MAXIMUM_REPLICAS.of(args)
    return (
        f"{where} cuts {resource} into {replicas} time slices. There must be at most {most}: pods "
        f"share memory and wait for each other, and AWS advises 2 to 8. {_FEWER.of(args.urn)}"
    )


def _documents(
    args: ResourceValidationArgs, found: Iterable[PluginDocument], owner: str
) -> Iterator[str | Unjudged]:
    for document in found:
        if document.unknown:
            yield Unjudged(document.called)
        config = document.config
        if config is None or config.sharing != "timeSlicing":
            continue
        for resource, replicas in config.replicas.items():
            if _are_many(args, replicas):
                yield _too_many(args, f"The key {document.key} of {owner}", resource, replicas)


def _config_map(subject: Subject) -> Iterator[str | Unjudged]:
    if is_of_pulumi_eks(subject.args.urn):  # aws-auth, which configures no device plugin
        return
    yield from _documents(subject.args, of_config_map(subject.object), subject.title)


def _chart(args: ResourceValidationArgs) -> Iterator[str | Unjudged]:
    owner = f"the values of {args.name}"
    for said in _documents(args, of_charts(args.props), owner):
        yield Unjudged(f"{said.what} of {owner}") if isinstance(said, Unjudged) else said


def _pool(args: ResourceValidationArgs) -> Iterator[str]:
    # Bottlerocket's own device plugin takes the number from user data, not from a ConfigMap.
    families = (read(args.props, "amiFamily"), read(args.props, "customAmi", "family"))
    if "bottlerocket" not in families:
        return
    sharing = read(args.props, "sharing")
    slices = sharing if read(sharing, "mode") == "timeSlicing" else read(sharing, "timeSlicing")
    replicas = whole(read(slices, "replicas"))
    if replicas is not None and _are_many(args, replicas):
        yield _too_many(args, f"The pool {args.name}", "each GPU or MIG device", replicas)


def _template(args: ResourceValidationArgs) -> Iterator[str]:
    if all(key != "userData" for key in args.props):
        return
    user_data = decoded(item_of(args.props, "userData"))
    if user_data is UNKNOWN:  # most are no settings of Bottlerocket
        return
    yield from _settings(args, user_data, f"The user data of {args.name}")


def _node_class(subject: Subject) -> Iterator[str | Unjudged]:
    user_data = at(subject.object.body, "spec", "userData")
    if user_data is UNKNOWN:
        yield Unjudged("userData")
    elif isinstance(user_data, str):
        yield from _settings(subject.args, user_data, f"The user data of {subject.title}")


def _settings(args: ResourceValidationArgs, text: str, owner: str) -> Iterator[str]:
    """Of Bottlerocket, whose own device plugin goes by its settings.

    Where this project writes them, the pool that they are of is judged.
    """
    settings = settings_in(text)
    if OUR_POOL in args.urn or settings is UNKNOWN:
        return
    config = config_of(settings)
    for replicas in config.replicas.values() if config.sharing == "timeSlicing" else ():
        if _are_many(args, replicas):
            yield _too_many(args, owner, "each GPU or MIG device", replicas)


TIME_SLICING_REPLICAS = ResourcePolicy(
    "time-slicing-replicas",
    "A GPU must not be cut into more time slices than it can serve.",
    checks=ObjectChecks(
        {CONFIG_MAPS: _config_map, Kind("karpenter.k8s.aws", "EC2NodeClass"): _node_class},
        {RELEASE: _chart, CHART_V4: _chart, OUR_POOL: _pool, LAUNCH_TEMPLATE: _template},
    ),
    severity=Severity.LOW,
    fix=_FEWER,
    settings=(MAXIMUM_REPLICAS,),
)
