"""What pools hand to the manager that serves them, so that they are described and checked once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from eks_gpushare.config.base import converted
from eks_gpushare.config.component_specs import DevicePluginSpec, GpuOperatorSpec, ServedPool
from eks_gpushare.config.environment import CatalogAdditions
from eks_gpushare.config.pools import Pool
from eks_gpushare.findings.finding import dotted, has_errors
from eks_gpushare.inputs.checked import CheckedArgs, known_spec
from eks_gpushare.inputs.component import given_args, validate_args
from eks_gpushare.kubernetes_provider import missing_provider, other_manager
from eks_gpushare.one_declaration import declare_manager, disagreements_of_manager
from eks_gpushare.validation import shape_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    import pulumi

    from eks_gpushare import args as plain
    from eks_gpushare.config.component_specs import GpuPoolSpec, KarpenterPoolSpec
    from eks_gpushare.findings.finding import FieldPath, Finding

S = TypeVar("S", DevicePluginSpec, GpuOperatorSpec)


def served_pool(pool: GpuPoolSpec | KarpenterPoolSpec) -> plain.ServedPool:
    """What a manager has to know of a checked pool."""
    return cast("plain.ServedPool", CheckedArgs(served_spec(pool)))


def served_spec(pool: GpuPoolSpec | KarpenterPoolSpec) -> ServedPool:
    """The same as a model."""
    named = {"name": pool.pool}
    if pool.provisioner != "managedNodeGroup":  # by which shares have another name
        named["provisioner"] = pool.provisioner
    return converted(ServedPool, pool, **named)


def checked_manager(
    name: str,
    model: type[S],
    args_type: type,
    args: Mapping[str, Any],
    opts: pulumi.ResourceOptions | None,
    rules: Callable[[S, Collection[str]], Iterable[Finding]],
) -> tuple[S, list[Finding]]:
    """The arguments of a manager as a model, whose `pools` are those of `served` too.

    Args:
        name: Name of the manager.
        model: What the plain part must be.
        args_type: The typed dictionary of the arguments.
        args: The arguments as they were given.
        opts: The options of the component, which have to name a cluster.
        rules: What must agree with what, given the names of pools that were checked already.

    Raises:
        pulumi.InputPropertiesError: Naming every wrong field.
    """
    args = given_args(args_type, args)
    component = args_type.__name__.removesuffix("Args")
    listed = args.get("served")
    given: dict[str, Any] = {}
    if isinstance(listed, list | tuple):
        # The model takes another model as it is, and reads everything else.
        given["served"] = [known_spec(pool, ServedPool) or pool for pool in listed]
    before = {id(pool) for pool in given.get("served", ()) if isinstance(pool, ServedPool)}

    def ruled(spec: S) -> Iterator[Finding]:
        names = {pool.name for pool in spec.served if id(pool) in before}
        yield from missing_provider(component, opts)
        yield from _unserved(spec)
        yield from _names_twice(spec)
        catalog, clashes = _joined_catalog(spec)
        yield from _disagreements(clashes)
        ruled = [_where_given(rule, spec) for rule in rules(_joined(spec, catalog), names)]
        yield from ruled
        if not has_errors(ruled):  # what is wrong by itself is told once
            yield from disagreements_of_manager(_places(spec))

    spec, found = validate_args(
        model, args_type, {**args, **given}, ruled, lambda _: other_manager(opts)
    )
    joined = _joined(spec, _joined_catalog(spec)[0])
    declare_manager(f'{component} "{name}"', joined.pools)
    return joined, found


def _places(spec: DevicePluginSpec | GpuOperatorSpec) -> dict[str, tuple[FieldPath, Pool]]:
    """Every pool by its name, with the argument that has it."""
    listed = {
        pool.name: (("served", index), converted(Pool, pool))
        for index, pool in enumerate(spec.served)
    }
    return listed | {name: (("pools", name), pool) for name, pool in spec.pools.items()}


def _joined(spec: S, catalog: CatalogAdditions) -> S:
    served = {pool.name: converted(Pool, pool) for pool in spec.served}
    changes = {"pools": {**served, **spec.pools}, "served": (), "catalog": catalog}
    return spec.model_copy(update=changes)


def _unserved(spec: S) -> Iterator[Finding]:
    if not spec.served and not spec.pools:
        message = "No pool is given."
        fix = "Give served, such as [pool.served], or pools for nodes that others make."
        yield shape_rules.MISSING_KEY.finding(("served",), message, fix)


def _names_twice(spec: S) -> Iterator[Finding]:
    """A name is the key of a pool's configuration, and the label of its nodes."""
    seen: dict[str, FieldPath] = {name: ("pools", name) for name in spec.pools}
    for index, pool in enumerate(spec.served):
        at: FieldPath = ("served", index)
        first = seen.setdefault(pool.name, at)
        if first != at:
            yield shape_rules.DUPLICATE_KEY.finding(
                (*at, "name"),
                f'"{pool.name}" is the name of {dotted(first)} already; every pool has its own.',
                "Give each pool once, and another name to one of two.",
            )


def _joined_catalog(
    spec: DevicePluginSpec | GpuOperatorSpec,
) -> tuple[CatalogAdditions, list[FieldPath]]:
    """Everything that the pools and the manager add to the catalog, and where two disagree."""
    joined: dict[str, Any] = {block: {} for block in CatalogAdditions.model_fields}
    clashes: list[FieldPath] = []
    sources: list[tuple[FieldPath, CatalogAdditions]] = [(("catalog",), spec.catalog)]
    sources += [
        (("served", index, "catalog"), pool.catalog) for index, pool in enumerate(spec.served)
    ]
    for source, additions in sources:
        for block, known in joined.items():
            for name, entry in getattr(additions, block).items():
                if known.setdefault(name, entry) != entry:
                    clashes.append((*source, block, name))
    return CatalogAdditions.model_construct(**joined), clashes


def _disagreements(clashes: Iterable[FieldPath]) -> Iterator[Finding]:
    for at in clashes:
        message = f"{at[-1]} is not the same here as in another catalog beside it."
        fix = "Give all pools of a manager, and the manager, the same catalog."
        yield shape_rules.NOT_ALLOWED.finding(at, message, fix)


def _where_given(found: Finding, spec: DevicePluginSpec | GpuOperatorSpec) -> Finding:
    """A finding about what is in `served` at the place that it has there."""
    block, name = (*found.at[:2], "", "")[:2]
    for index, pool in enumerate(spec.served):
        at: FieldPath = ()
        if block == "pools" and name == pool.name:
            at = ("served", index, *found.at[2:])
        elif (
            block == "catalog"
            and _adds(pool.catalog, found.at)
            and not _adds(spec.catalog, found.at)
        ):
            at = ("served", index, *found.at)
        if at:
            return replace(found, at=at, path=dotted(at))
    return found


def _adds(catalog: CatalogAdditions, at: FieldPath) -> bool:
    """Whether the entry that a place below `catalog` is about comes from these additions."""
    return any(
        at[2:3] == (name,)
        for block in CatalogAdditions.model_fields
        for name in getattr(catalog, block)
    )
