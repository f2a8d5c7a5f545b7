"""What is wrong with tenants' queues, and with values of Kueue's chart that undo them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import yaml

from eks_gpushare.catalog import versions
from eks_gpushare.config.base import known_fields
from eks_gpushare.documents.helm import value_at
from eks_gpushare.rules.chart_effects import HARMFUL_VALUE
from eks_gpushare.rules.chart_sources import of_source
from eks_gpushare.rules.chart_values import of_values
from eks_gpushare.rules.names import own_namespace_fault
from eks_gpushare.rules.tenant_guards import other_version
from eks_gpushare.sharing.kueue import (
    CONFIGURATION,
    FRAMEWORKS,
    NOT_COUNTED,
    given_configuration,
    manager_configuration,
    pool_shares,
    unequal_memory,
)
from eks_gpushare.validation import shape_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.config.queues import KueueSpec, QueuedTenant, QueuePool, TenantQuota
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.sharing.kueue import PoolShare

_wrong = shape_rules.NOT_ALLOWED.finding
_KEEP = "Leave the key out: what tenants are sure of is derived."


def check_kueue(spec: KueueSpec) -> Iterator[Finding]:
    """Findings about Kueue and the queues of tenants."""
    known = known_fields(spec)
    if "namespace" in known:
        fault = own_namespace_fault(known["namespace"], "Kueue", "kueue-system")
        if fault is not None:
            yield _wrong(("namespace",), *fault)
    shares: list[PoolShare] = []
    pools, tenants = known.get("pools"), known.get("tenants")
    if pools is not None and tenants is not None:
        found = list(_contract(pools, tenants))
        yield from found
        if not found:
            shares = pool_shares(pools, tenants)
    chart = known.get("chart")
    if chart is not None:
        yield from of_source(("chart",), chart, versions.KUEUE)
        yield from of_values(("chart",), chart, versions.KUEUE)
        yield from other_version(("chart", "version"), chart)
        yield from undone(("chart", "values"), chart.values, shares)


def _contract(
    pools: Mapping[str, QueuePool], tenants: Mapping[str, QueuedTenant]
) -> Iterator[Finding]:
    owners: dict[str, str] = {}
    for name, tenant in tenants.items():
        at: FieldPath = ("tenants", name)
        yield from _namespaces(at, name, tenant, owners)
        for pool, quota in tenant.pools.items():
            place: FieldPath = (*at, "pools", pool)
            if pool in pools:
                yield from _quota(place, pools[pool], quota)
            else:
                message = f"There is no pool {pool}; there are {', '.join(pools) or 'none'}."
                yield _wrong(place, message, "Name one of them.")
    shares = _known_shares(pools, tenants)
    yield from _beyond(pools, shares)
    if any(share.maximum_gib for share in shares):
        yield from _unequal(shares)


def _namespaces(
    at: FieldPath, name: str, tenant: QueuedTenant, owners: dict[str, str]
) -> Iterator[Finding]:
    if not tenant.pools or not tenant.namespaces:
        what = "pool" if tenant.namespaces else "namespace"
        yield _wrong((*at, f"{what}s"), f"{name} has no {what}.", f"Name one {what} at least.")
    for index, namespace in enumerate(tenant.namespaces):
        before = owners.setdefault(namespace, name)
        if before != name or namespace in tenant.namespaces[:index]:
            message = f"The namespace {namespace} is of {before} already."
            fix = "Give each tenant namespaces of its own."
            yield _wrong((*at, "namespaces", index), message, fix)


def _quota(at: FieldPath, pool: QueuePool, quota: TenantQuota) -> Iterator[Finding]:
    for resource, count in quota.guaranteed.items():
        most = quota.maximum.get(resource, count)
        if count < 0 or most < count:
            message = f"{most} of {resource} at most are fewer than {count} guaranteed."
            fix = f"Write {max(count, 0)} or more."
            yield _wrong((*at, "maximum", resource), message, fix)
    if quota.maximum_gib is not None:
        yield from _ceiling(at, pool, quota.guaranteed, quota.maximum_gib)


def _beyond(pools: Mapping[str, QueuePool], shares: Iterable[PoolShare]) -> Iterator[Finding]:
    sure: Counter[tuple[str, str]] = Counter()
    for share in shares:
        for resource, quota in share.resources.items():
            sure[share.pool, resource] += quota.guaranteed
    for (pool, resource), count in sure.items():
        advertised = pools[pool].advertised
        there = advertised.get(resource, 0)
        if advertised and count > there:
            message = f"Tenants are guaranteed {count} of {resource}, and the pool has {there}."
            fix = "Guarantee less, or have more nodes."
            yield _wrong(("pools", pool, "advertised", resource), message, fix)


def _unequal(shares: Iterable[PoolShare]) -> Iterator[Finding]:
    for resource, by_pool in unequal_memory(shares).items():
        said = " and ".join(f"{gib} in {pool}" for pool, gib in by_pool.items())
        message = f"{resource} is not the same number of GiB everywhere: {said}."
        fix = "Leave maximum_gib out and count devices; Kueue has one number for a resource."
        yield _wrong(("pools", next(iter(by_pool)), "gib", resource), message, fix)


def _known_shares(
    pools: Mapping[str, QueuePool], tenants: Mapping[str, QueuedTenant]
) -> list[PoolShare]:
    known = {
        name: tenant.model_copy(
            update={"pools": {pool: q for pool, q in tenant.pools.items() if pool in pools}}
        )
        for name, tenant in tenants.items()
    }
    return pool_shares(pools, known)


def _ceiling(
    at: FieldPath, pool: QueuePool, guaranteed: Mapping[str, int], most: int
) -> Iterator[Finding]:
    unknown = sorted(name for name in guaranteed if name not in pool.gib)
    if unknown:
        message = f"How many GiB {', '.join(unknown)} has is not said, so they count as none."
        fix = "Write it in gib of the pool."
        yield _wrong((*at, "maximum_gib"), message, fix)
        return
    sure = sum(count * pool.gib[name] for name, count in guaranteed.items())
    if most < sure:
        message = f"{most} GiB at most are fewer than the {sure} GiB that are guaranteed."
        yield _wrong((*at, "maximum_gib"), message, f"Write {sure} or more.")


def undone(
    at: FieldPath, values: Mapping[str, Any], shares: Sequence[PoolShare]
) -> Iterator[Finding]:
    """Findings about values that undo what is derived for tenants.

    Args:
        at: Where the values stand.
        values: Those of the user.
        shares: What is derived from. Default: what holds for all.
    """
    place: FieldPath = (*at, "managerConfig", CONFIGURATION)
    kind = value_at(values, "metricsService.type")
    if kind not in {None, "ClusterIP"}:
        message = f"metricsService.type is {kind}: the metrics are reached from outside."
        where: FieldPath = (*at, "metricsService", "type")
        yield HARMFUL_VALUE.finding(where, message, "Leave it ClusterIP.")
    text = value_at(values, f"managerConfig.{CONFIGURATION}")
    if text is None:
        return
    if not _is_readable(text):
        message = "It is no YAML mapping in a text, so Kueue does not start."
        yield HARMFUL_VALUE.finding(place, message, "Write the keys that are to differ, as a text.")
        return
    for key, message, fix in _harm(given_configuration(values), shares):
        yield HARMFUL_VALUE.finding((*place, *key), message, fix)


def _is_readable(text: object) -> bool:
    try:
        return isinstance(text, str) and isinstance(yaml.safe_load(text), dict)
    except yaml.YAMLError:
        return False


def _harm(
    given: Mapping[str, Any], shares: Sequence[PoolShare]
) -> Iterator[tuple[tuple[str, ...], str, str]]:
    derived = manager_configuration(shares)
    if given.get("manageJobsWithoutQueueName", True) is not True:
        message = "Pods that name no queue then run beside what their tenant is sure of."
        yield ("manageJobsWithoutQueueName",), message, _KEEP
    selector = "managedJobsNamespaceSelector"
    if selector in given and given[selector] != derived[selector]:
        message = (
            "Kueue then queues what is no tenant's, and while it is down all of that is refused; "
            "or a tenant passes its queue by."
        )
        yield (selector,), message, _KEEP
    frameworks = value_at(given, "integrations.frameworks")
    if frameworks is not None:
        missing = [name for name in FRAMEWORKS if name not in frameworks]
        if missing:
            message = f"Without {', '.join(missing)} a tenant's pods pass its queue by."
            yield ("integrations", "frameworks"), message, "Keep them in the list."
    prefixes = value_at(given, "resources.excludeResourcePrefixes")
    if prefixes is not None:
        yield from _prefixes(list(prefixes), {name for s in shares for name in s.resources})
    transformations = value_at(given, "resources.transformations")
    if transformations is not None:
        yield from _transformations(list(transformations), derived)


def _prefixes(
    given: Sequence[Any], counted: set[str]
) -> Iterator[tuple[tuple[str, ...], str, str]]:
    at = ("resources", "excludeResourcePrefixes")
    missing = [name for name in NOT_COUNTED if name not in given]
    if missing:
        message = f"Pods that ask for {', '.join(missing)} then wait for ever: no queue has it."
        yield at, message, "Keep them in the list."
    hidden = sorted(name for name in counted if name.startswith(tuple(map(str, given))))
    if hidden:
        message = f"{', '.join(hidden)} is then not counted, and nobody is sure of it."
        yield at, message, "Take the prefix out of the list."


def _transformations(
    given: Sequence[Any], derived: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, ...], str, str]]:
    at = ("resources", "transformations")
    blocks = [each for each in given if isinstance(each, dict)]
    replaced = [str(each.get("input")) for each in blocks if each.get("strategy") == "Replace"]
    if replaced:
        message = (
            f"Replace takes {', '.join(replaced)} out of what is asked for: it admits pods to "
            "pools that cannot run them, where they wait for ever."
        )
        # What is derived has all of them, with Retain: the list as a whole is one mistake.
        yield at, message, _KEEP
        return
    missing = [
        each["input"]
        for each in derived["resources"].get("transformations", ())
        if each not in blocks
    ]
    if missing:
        message = f"Ceilings in GiB then count no {', '.join(missing)}."
        yield at, message, _KEEP
