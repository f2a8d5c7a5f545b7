"""From plain data to a checked environment, with everything that is wrong at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.config.base import fields_by_key, forget, normalised
from eks_gpushare.config.cluster import ClusterByName, NewCluster
from eks_gpushare.config.environment import Environment
from eks_gpushare.config.models import known_keys
from eks_gpushare.config.pools import Pool
from eks_gpushare.validation import shape_rules
from eks_gpushare.validation.limits import oversized
from eks_gpushare.validation.partial import read_block
from eks_gpushare.validation.shape import shape_findings, similar
from eks_gpushare.validation.shapes import SHAPES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.base import Model
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.validation.shape import Spelling


class Parsed(NamedTuple):
    """An environment as far as it can be read, and what is wrong with its shape."""

    environment: Environment | None
    """The environment, whose unreadable parts raise `UnreadError`; None if there is none."""
    findings: tuple[Finding, ...]
    """Errors of shape: unknown keys, missing keys, wrong types."""


def parse(raw: object, spelled: Spelling | None = None) -> Parsed:
    """Validate the plain data of a stack file's environment.

    Args:
        raw: Mappings, lists and scalars as YAML or JSON gives them.
        spelled: How the scalar at a place is written in the file, for messages about numbers that
            are meant as text. Default: unknown.
    """
    if too_large := oversized(raw):
        return Parsed(None, tuple(too_large))
    given = normalised(raw)
    if not isinstance(given, dict):
        wrong = shape_rules.WRONG_TYPE.finding(
            (), "The environment is not a mapping.", "Give cluster and pools."
        )
        return Parsed(None, (wrong,))
    found, unclear = [], set()
    for key, wrong in _unclear_kinds(given):
        found.append(wrong)
        unclear.add(key)
    clear = {key: value for key, value in given.items() if key not in unclear}
    environment, details, unknown = read_block(Environment, clear, by_alias=True)
    # What was left aside is neither missing nor at its default.
    details = [detail for detail in details if detail["loc"][0] not in unclear]
    forget(environment, *unclear)
    found += shape_findings(details, known_keys(), spelled, unknown=unknown)
    return Parsed(environment, tuple(dict.fromkeys(found)))


def _unclear_kinds(given: dict[str, Any]) -> Iterator[tuple[str, Finding]]:
    """Parts of which it is not clear whether they are new or existing, so none of it is read."""
    cluster = given.get("cluster")
    if isinstance(cluster, dict):
        existing = cluster.get("existing")
        if "existing" in cluster and len(cluster) > 1:
            others = ", ".join(sorted(str(key) for key in cluster if key != "existing"))
            yield (
                "cluster",
                shape_rules.BOTH_KINDS.finding(
                    ("cluster", "existing"),
                    f"existing stands beside {others}, as if a cluster were to be made.",
                    "Keep existing alone to use a cluster that is there, or remove it to make one.",
                ),
            )
        elif misspelt := _misspelt(cluster, "existing", NewCluster):
            yield "cluster", _meant(("cluster", misspelt), "existing")
        elif (
            isinstance(existing, dict)
            and "context" not in existing
            and (misspelt := _misspelt(existing, "kubeconfig", ClusterByName))
        ):
            yield "cluster", _meant(("cluster", "existing", misspelt), "kubeconfig")
    yield from _pools_at_other_levels(given)
    network = given.get("network")
    if isinstance(network, dict):
        new = sorted({"cidr", "zones", "natGateways", "flowLogs"} & network.keys())
        old = sorted({"vpcId", "privateSubnetIds", "publicSubnetIds"} & network.keys())
        if new and old:
            yield (
                "network",
                shape_rules.BOTH_KINDS.finding(
                    ("network", new[0]),
                    f"{', '.join(new)} would be for a network to be made, {', '.join(old)} for one "
                    "that is there.",
                    "Keep one or the other.",
                ),
            )


def _pools_at_other_levels(given: dict[str, Any]) -> Iterator[tuple[str, Finding]]:
    """A pool where all of them should be, or without any block around it."""
    pools = given.get("pools")
    if isinstance(pools, dict) and isinstance(pools.get("instanceTypes"), str | list | tuple):
        message = "pools holds pools by their names; these are the keys of a single one."
        fix = f"Give it a name: pools: {SHAPES['pools']}."
        yield "pools", shape_rules.WRONG_TYPE.finding(("pools",), message, fix)
    yield from _keys_among_pools(pools)
    of_pools = fields_by_key(Pool).keys() - fields_by_key(Environment).keys()
    stray = [key for key in given if key in of_pools]
    if "pools" not in given and "instanceTypes" in stray:
        message = f"{', '.join(stray)} {'are keys' if len(stray) > 1 else 'is a key'} of a pool."
        fix = f"Write them under its name: pools: {SHAPES['pools']}."
        found = shape_rules.UNKNOWN_KEY.finding((stray[0],), message, fix)
        yield from ((key, found) for key in ("pools", *stray))


def _keys_among_pools(pools: object) -> Iterator[tuple[str, Finding]]:
    """Keys of a pool that are not indented enough, so that they stand beside it."""
    keys, before = fields_by_key(Pool).keys(), ""
    for name, block in pools.items() if isinstance(pools, dict) else ():
        named = isinstance(block, dict) and keys & block.keys()
        if name in keys and not named and before:
            message = f"{name} is a key of a pool, and stands where the names of pools are."
            fix = f"Indent it by two blanks more, so that it is in {before}."
            yield "pools", shape_rules.UNKNOWN_KEY.finding(("pools", name), message, fix)
        elif name not in keys:
            before = str(name)


def _misspelt(block: dict[str, Any], telling: str, otherwise: type[Model]) -> str | None:
    """The key that was meant to be the one which tells two kinds of a block apart."""
    if telling in block or fields_by_key(otherwise).keys() & block.keys():
        return None
    return next((str(key) for key in block if similar(str(key), [telling])), None)


def _meant(at: FieldPath, meant: str) -> Finding:
    message = f"{at[-1]} is not a key of this block."
    return shape_rules.UNKNOWN_KEY.finding(at, message, f"Did you mean {meant}?")
