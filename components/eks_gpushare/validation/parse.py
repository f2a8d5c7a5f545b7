"""From plain data to a checked environment, with everything that is wrong at once.

A wrong part must not hide what is wrong elsewhere, so a value that does not fit is taken out and
the rest is validated again: the rules then still see every part that can be read.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from eks_gpushare.config.base import normalised
from eks_gpushare.config.environment import Environment
from eks_gpushare.config.models import known_keys
from eks_gpushare.findings.finding import At, Finding, finding
from eks_gpushare.validation import shape_rules
from eks_gpushare.validation.shape import Spelling, place, shape_findings

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROUNDS = 20
"""Each round takes out at least one wrong part; nesting is nowhere this deep."""


class Parsed(NamedTuple):
    """An environment as far as it can be read, and what is wrong with its shape."""

    environment: Environment | None
    """The environment; its unreadable parts left out or, where required, replaced by placeholders;
    None if nothing of it can be read."""
    findings: tuple[Finding, ...]
    """Errors of shape: unknown keys, missing keys, wrong types."""
    removed: tuple[At, ...]
    """Places that were taken out; what rules say about them would be about defaults."""


def parse(raw: object, spelled: Spelling | None = None) -> Parsed:
    """Validate the plain data of a stack file's environment.

    Args:
        raw: Mappings, lists and scalars as YAML or JSON gives them.
        spelled: How the scalar at a place is written in the file, for messages about numbers that
            are meant as text. Default: unknown.
    """
    given = normalised(raw)
    if not isinstance(given, dict):
        wrong = finding(
            shape_rules.WRONG_TYPE,
            (),
            "The environment is not a mapping.",
            "Give cluster and pools.",
        )
        return Parsed(None, (wrong,), ())
    return _pruned(given, spelled)


def _pruned(given: dict[str, Any], spelled: Spelling | None) -> Parsed:
    found: list[Finding] = list(_mixed_kinds(given))
    removed: list[At] = []
    for _ in range(_ROUNDS):
        try:
            environment = Environment.model_validate(given, by_alias=True, by_name=False)
        except ValidationError as error:
            faults = shape_findings(error, known_keys(), spelled, Environment)
            found += [f for f in faults if not _explained(f.at, removed)]
            taken: list[At] = []
            for detail in error.errors(include_url=False):
                at = place(detail["loc"])
                if not _explained(at, taken) and (gone := _take_out(given, at)):
                    taken.append(gone)
            if not taken:
                break
            removed += taken
        else:
            return Parsed(environment, _in_order(found), tuple(removed))
    return Parsed(None, _in_order(found), tuple(removed))


def _explained(at: At, removed: list[At]) -> bool:
    """Whether a fault is only there because something was taken out before."""
    return any(at[: len(gone)] == gone for gone in removed)


_STAND_INS: dict[At, Any] = {
    ("cluster",): {"name": "unreadable", "version": ""},
    ("cluster", "name"): "unreadable",
    ("cluster", "version"): "",
    ("pools",): {},
    ("pools", "*", "instanceTypes"): [],
    ("pools", "*", "sharing"): {"mode": "exclusive"},
    ("pools", "*", "sharing", "replicas"): 2,
}
"""What stands in for a required part that cannot be read, so that the others still can."""


def _stand_in(at: At) -> Any:  # noqa: ANN401  (any YAML)
    if len(at) > 1 and at[0] == "pools":
        at = ("pools", "*", *at[2:])
    return copy.deepcopy(_STAND_INS.get(at))


def _take_out(given: dict[str, Any], at: At) -> At | None:
    """Delete the value at a place, or what contains it when it is missing. Where, or None."""
    if at[:2] == ("cluster", "existing"):  # without it, the block would be that of a new cluster
        at = at[:1]
    owners = _owners(given, at)
    for depth in range(min(len(owners), len(at)), 0, -1):
        owner, key, gone = owners[depth - 1], at[depth - 1], at[:depth]
        if isinstance(owner, list):  # keep the indexes of the others: the whole list goes
            continue
        stand_in = _stand_in(gone)
        # Where it stands already it did not help: the key belongs to another kind of block.
        if stand_in is not None and owner.get(key) != stand_in:
            owner[key] = stand_in
            return gone
        if key in owner:
            del owner[key]
            return gone
    return None


def _owners(given: dict[str, Any], at: At) -> list[Any]:
    """The containers on the way to a place, the outermost first, as far as the way goes."""
    owners: list[Any] = [given]
    for part in at[:-1]:
        owner = owners[-1]
        if isinstance(owner, list):
            inner = owner[part] if isinstance(part, int) and part < len(owner) else None
        else:
            inner = owner.get(part)
        if not isinstance(inner, dict | list):
            break
        owners.append(inner)
    return owners


def _mixed_kinds(given: dict[str, Any]) -> Iterator[Finding]:
    """A part that is declared new and existing at once would be reported key by key."""
    cluster = given.get("cluster")
    if isinstance(cluster, dict) and "existing" in cluster and len(cluster) > 1:
        others = ", ".join(sorted(str(key) for key in cluster if key != "existing"))
        yield finding(
            shape_rules.BOTH_KINDS,
            ("cluster", "existing"),
            f"existing stands beside {others}, as if a cluster were to be made.",
            "Keep existing alone to use a cluster that is there, or remove it to make one.",
        )
        for key in [key for key in cluster if key != "existing"]:
            del cluster[key]
    network = given.get("network")
    if isinstance(network, dict):
        new = sorted({"cidr", "zones", "natGateways", "flowLogs"} & network.keys())
        old = sorted({"vpcId", "privateSubnetIds", "publicSubnetIds"} & network.keys())
        if new and old:
            yield finding(
                shape_rules.BOTH_KINDS,
                ("network", new[0]),
                f"{', '.join(new)} would be for a network to be made, {', '.join(old)} for one "
                "that is there.",
                "Keep one or the other.",
            )
            for key in new:
                del network[key]


def _in_order(found: list[Finding]) -> tuple[Finding, ...]:
    return tuple(dict.fromkeys(found))
