"""A pod that asks for two shares is told that it gets no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from gpushare_policies.checks import Unjudged
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plugin_documents import (
    CONFIG_MAPS,
    PluginDocument,
    of_charts,
    of_config_map,
)
from gpushare_policies.rule import ResourcePolicy
from gpushare_policies.tokens import CHART_V4, RELEASE
from gpushare_policies.words import Fix, is_of_pulumi_eks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SET = "Set `failRequestsGreaterThanOne: true` beside `resources` in that document."
_REFUSED = Fix(
    "Set `pools.<pool>.sharing.failRequestsGreaterThanOne: true` in the stack file, or leave the "
    "key out.",
    _SET,
    _SET,
)


def _documents(
    args: ResourceValidationArgs, found: Iterable[PluginDocument], owner: str
) -> Iterator[str | Unjudged]:
    for document in found:
        if document.unknown:
            yield Unjudged(document.called)
        config = document.config
        if config is not None and config.sharing != "none" and not config.refuses_several:
            yield (
                f"The key {document.key} of {owner} lets containers ask for several shares. It "
                f"must refuse that: two shares give no more time or memory than one, and whoever "
                f"asks believes otherwise. {_REFUSED.of(args.urn)}"
            )


def _config_map(subject: Subject) -> Iterator[str | Unjudged]:
    if not is_of_pulumi_eks(subject.args.urn):  # aws-auth, which configures no device plugin
        yield from _documents(subject.args, of_config_map(subject.object), subject.title)


def _chart(args: ResourceValidationArgs) -> Iterator[str | Unjudged]:
    owner = f"the values of {args.name}"
    for said in _documents(args, of_charts(args.props), owner):
        yield Unjudged(f"{said.what} of {owner}") if isinstance(said, Unjudged) else said


SEVERAL_SHARES_REFUSED = ResourcePolicy(
    "several-shares-refused",
    "Where GPUs are shared, containers that ask for several shares must be refused.",
    checks=ObjectChecks({CONFIG_MAPS: _config_map}, {RELEASE: _chart, CHART_V4: _chart}),
    severity=Severity.LOW,
    fix=_REFUSED,
)
