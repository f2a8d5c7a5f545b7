"""Checks of Kubernetes objects, one at a time, in whichever resource they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from eks_gpushare.inventory.source import UNKNOWN
from gpushare_policies.checks import Unjudged
from gpushare_policies.reading.charts import CHART_TOKENS, charts_of
from gpushare_policies.reading.delivered import DELIVERING
from gpushare_policies.reading.objects import (
    Kind,
    KubernetesObject,
    carried_by,
    is_theirs,
    kind_of,
    objects_of,
)
from gpushare_policies.tokens import RELEASE

if TYPE_CHECKING:
    from pulumi_policy import ResourceValidationArgs

    from gpushare_policies.checks import Check


_RELEASE = Kind("helm.sh", "Release")


@dataclass(frozen=True, slots=True)
class Subject:
    """An object, and the resource that it stands in."""

    object: KubernetesObject
    args: ResourceValidationArgs

    @property
    def title(self) -> str:
        """How messages call it: `the Deployment notebooks`."""
        name = self.object.name
        shown = self.args.name if name is UNKNOWN or not name else name
        listed = f" of {self.args.name}" if self.object.path and shown != self.args.name else ""
        return f"the {self.object.kind.kind} {shown}{listed}"

    @property
    def opening(self) -> str:
        """The same at the beginning of a sentence."""
        return f"T{self.title[1:]}"


ObjectCheck: TypeAlias = Callable[[Subject], Iterator[str | Unjudged]]
"""Yields a message for each violation of an object, and what of it is not known."""


class ObjectChecks(Mapping[str, "Check"]):
    """Checks by the types of resources, for every version of a kind, its patches and lists.

    The keys are those of the objects alone, for the documentation.
    """

    def __init__(
        self,
        checks: Mapping[Kind, ObjectCheck],
        others: Mapping[str, Check] | None = None,
        version: str = "v1",
        theirs: ObjectCheck | None = None,
    ) -> None:
        """Take the check of each kind, and those of resources that are no objects.

        `theirs` is for kinds that somebody else brings to a cluster.
        """
        self._theirs = theirs
        self._checks = dict(checks)
        self._others = dict(others or {})
        self._version = version

    def __getitem__(self, token: str) -> Check:
        if token in CHART_TOKENS:
            return self._of_chart
        if token in self._others:
            return self._others[token]
        found = kind_of(token)
        if found is None:
            raise KeyError(token)
        kind, _, _ = found
        # A List is of any kind, and somebody else's kind may carry objects of any.
        carries = is_theirs(kind) and kind not in DELIVERING
        if self._check_of(kind) is None and kind.kind and not carries:
            raise KeyError(token)
        return self._run

    def __iter__(self) -> Iterator[str]:
        yield from self._others
        for kind in self._checks:
            group = f"{kind.group or 'core'}/{self._version}"
            yield f"kubernetes:{group}:{kind.kind}"

    def __len__(self) -> int:
        return len(self._others) + len(self._checks)

    def _check_of(self, kind: Kind) -> ObjectCheck | None:
        own = self._checks.get(kind)
        if own is None and kind in DELIVERING and RELEASE in self._others:
            return None  # the chart that it names is judged as a Release is
        return own or (self._theirs if is_theirs(kind) else None)

    def _of_chart(self, args: ResourceValidationArgs) -> Iterator[str | Unjudged]:
        """What is said of the chart, and of whole objects in its values."""
        own = self._others.get(args.resource_type)
        if own is not None:
            yield from own(args)
        for chart in charts_of(args.props):
            body = {"values": chart.values}
            for carried in carried_by(KubernetesObject(_RELEASE, "v3", body)):
                yield from _said(self._checks.get(carried.kind), Subject(carried, args))

    def _run(self, args: ResourceValidationArgs) -> Iterator[str | Unjudged]:
        for obj in objects_of(args.resource_type, args.props):
            yield from _said(self._check_of(obj.kind), Subject(obj, args))
            for carried in carried_by(obj) if is_theirs(obj.kind) else ():
                yield from _said(self._checks.get(carried.kind), Subject(carried, args))


def _said(check: ObjectCheck | None, subject: Subject) -> Iterator[str | Unjudged]:
    for said in check(subject) if check is not None else ():
        yield Unjudged(f"{said.what} of {subject.title}") if isinstance(said, Unjudged) else said
