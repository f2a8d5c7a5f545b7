"""How a function becomes the check of a rule, and with that part of every check of a stack."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Generic, ParamSpec

from eks_gpushare.config.base import UnreadError
from eks_gpushare.findings.defects import defect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import ModuleType

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.findings.rule import Rule

P = ParamSpec("P")


class Scope(Enum):
    """What a check looks at, and so which component runs it where it stands alone."""

    ENVIRONMENT = auto()
    """Several parts of an environment together; no component has them all."""
    CLUSTER = auto()
    """A cluster: `EksCluster`."""
    NETWORK = auto()
    """A network to be made: `Network`."""
    SYSTEM_NODES = auto()
    """Nodes without GPUs: `SystemNodes`."""
    POOL = auto()
    """One pool: `GpuPool`, and what `DevicePlugin` and `GpuOperator` know of it."""
    CHARTS = auto()
    """The charts and their namespace: `DevicePlugin` and `GpuOperator`."""
    KARPENTER = auto()
    """Karpenter itself: `Karpenter`."""
    WORKLOADS = auto()
    """Workloads: `SharedWorkload`."""
    KEDA = auto()
    """KEDA: `Keda`."""
    TENANTS = auto()
    """Tenants and their contracts: `Tenants`."""
    METRICS = auto()
    """Metrics, alerts and boards: `GpuMetrics`."""
    VERIFIER = auto()
    """What looks at the cluster: `ShareVerifier`."""
    TAGS = auto()
    """AWS tags and IAM roles: every component that makes something in AWS."""


class Runs(Enum):
    """Where a check runs."""

    EVERYWHERE = auto()
    """For a stack and for a component that stands alone, as far as that knows what it reads."""
    IN_STACKS = auto()
    """For a stack only; a component has a check of the same rule in words of its own."""
    ALONE = auto()
    """For a component that stands alone only."""


def until_unread(
    look: Callable[P, Iterable[Finding]], *args: P.args, **kwargs: P.kwargs
) -> Iterator[Finding]:
    """What a function finds before it comes to a value that is not known."""
    try:
        yield from look(*args, **kwargs)
    except UnreadError:
        return


class Check(Generic[P]):
    """A function that looks for findings of the rules it names."""

    __slots__ = ("by_manager", "look", "rules", "runs", "scope")

    def __init__(
        self,
        look: Callable[P, Iterator[Finding]],
        scope: Scope,
        rules: tuple[Rule, ...],
        runs: Runs,
        *,
        by_manager: bool,
    ) -> None:
        self.look = look
        """The function."""
        self.scope = scope
        """What it looks at."""
        self.rules = rules
        """The rules whose findings it can have."""
        self.runs = runs
        """Where it runs."""
        self.by_manager = by_manager
        """Whether what it finds of a pool depends on who manages the pool's GPUs."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Iterator[Finding]:
        """What it finds before it comes to a value that is not known.

        A finding rests on what was read up to it. So after a misspelt key, or in a component that
        knows a part of an environment only, a check says what holds whatever the rest is.

        One that raises anything else has a defect. That is a finding too: what other checks found,
        and the other files of a call, have nothing to do with it.
        """
        try:
            yield from until_unread(self.look, *args, **kwargs)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is a finding)
            pool = [name for name in args if isinstance(name, str)]
            yield defect(error, self.rules, ("pools", *pool) if pool else ())


def check(
    scope: Scope, *rules: Rule, runs: Runs = Runs.EVERYWHERE, by_manager: bool = False
) -> Callable[[Callable[P, Iterator[Finding]]], Check[P]]:
    """Make a function the check of rules.

    Args:
        scope: What it looks at. Checks of `Scope.POOL` take the context, the pool's name and the
            pool; all others the context alone.
        rules: The rules whose findings it can have.
        runs: Where it runs. Default: everywhere.
        by_manager: Whether what it finds of a pool depends on who manages the pool's GPUs, so that
            it runs again where a manager takes a pool that was checked by itself.
    """

    def of(look: Callable[P, Iterator[Finding]]) -> Check[P]:
        return Check(look, scope, rules, runs, by_manager=by_manager)

    return of


def checks_in(*modules: ModuleType) -> tuple[Check[...], ...]:
    """The checks that modules define, each module's in the order of its lines."""
    named = ((module, value) for module in modules for value in vars(module).values())
    return tuple(
        check
        for module, check in named
        if isinstance(check, Check) and check.look.__module__ == module.__name__
    )
