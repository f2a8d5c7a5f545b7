"""What an edit means for those who use the pools: what pods say, shares, and dollars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from eks_gpushare.documents.pod import in_order
from eks_gpushare.inventory.items import NodeTaint
from eks_gpushare.inventory.matching import KEEPS_OFF, is_tolerated
from eks_gpushare.program.edits.compared import same_order

if TYPE_CHECKING:
    from collections.abc import Mapping

Pool: TypeAlias = "Mapping[str, Any]"
"""A pool as `preview --json` shows it."""
Change: TypeAlias = Literal["added", "removed", "changed"]


@dataclass(frozen=True, slots=True)
class PoolChange:
    """A pool that comes, goes, or is another for its users."""

    pool: str
    """Name of the pool."""
    change: Change
    """Whether it is new, goes, or stays and changes."""
    before: Pool | None
    """The pool as it is; None if it is new."""
    after: Pool | None
    """As it is to become; None if it goes."""
    to_do: tuple[str, ...]
    """What has to be changed in manifests that ran there, one sentence each; nothing where those
    keep running."""

    def as_json(self) -> dict[str, Any]:
        """The change as `preview --before --json` prints it."""
        return {
            "pool": self.pool,
            "change": self.change,
            **{
                key: {"before": (self.before or {}).get(key), "after": (self.after or {}).get(key)}
                for key in _COMPARED
            },
            "manifests": list(self.to_do),
        }


_COMPARED = (
    "request",
    "nodeSelector",
    "tolerations",
    "perNode",
    "atDesired",
    "atMax",
    "nodes",
    "usdPerHour",
)
"""What users meet of a pool."""


def pool_changes(before: Mapping[str, Pool], after: Mapping[str, Pool]) -> list[PoolChange]:
    """What is other for users of pools, by pool: those that stay first, then gone and new ones.

    Args:
        before: The pools that are up, by name.
        after: What they are to become.
    """
    found = []
    for name, new in after.items():
        old = before.get(name)
        if old is not None and any(same_order(old[k]) != same_order(new[k]) for k in _COMPARED):
            found.append(PoolChange(name, "changed", old, new, tuple(_to_do(name, old, new))))
    for name, old in before.items():
        if name not in after:
            found.append(PoolChange(name, "removed", old, None, (_moved(old, after),)))
    found += [
        PoolChange(name, "added", None, new, ())
        for name, new in after.items()
        if name not in before
    ]
    return found


def _to_do(name: str, old: Pool, new: Pool) -> list[str]:
    """What keeps a manifest that was written for the pool from running there again."""
    wanted, had = _resources(new), _resources(old)
    gone = [resource for resource in had if resource not in wanted]
    said = []
    for resource in gone:
        instead = " or ".join(f"{key}: 1" for key in wanted)
        said.append(f"the limit {resource}: 1 to {instead}")
    if old["nodeSelector"] != new["nodeSelector"]:
        said.append(f"the nodeSelector to {_mapping(new['nodeSelector'])}")
    lacking = [
        toleration
        for toleration in new["tolerations"]
        if not _tolerated(toleration, old["tolerations"])
    ]
    if lacking:
        said.append(f"tolerations, to which belong now {_tolerations(lacking)}")
    given = [
        toleration
        for toleration in new["tolerations"]
        if toleration["key"] in gone and toleration not in lacking
    ]
    if given and not {toleration["key"] for toleration in given} & {*wanted}:
        said.append(
            f"tolerations, which need {_tolerations(given)} in the manifest itself: "
            f"EKS adds it to pods that ask for {given[0]['key']} alone"
        )
    if not said:
        return []
    return [
        (
            f"Manifests written for pool {name} stay Pending from their next start on: change "
            f"{'; '.join(said)}."
        )
    ]


def _moved(old: Pool, after: Mapping[str, Pool]) -> str:
    selector = _mapping(old["nodeSelector"])
    said = f"Manifests with the nodeSelector {selector} stay Pending: no node has it any more."
    same = [name for name, new in after.items() if set(_resources(old)) & set(_resources(new))]
    if same:
        listed = " or ".join(_mapping(after[name]["nodeSelector"]) for name in same)
        said += f" The same resources are on nodes with {listed}."
    return said


def _resources(pool: Pool) -> list[str]:
    return [share["resource"] for share in pool["shares"]]


def _tolerated(wanted: Mapping[str, str], given: list[Mapping[str, str]]) -> bool:
    """Whether a pod with the given tolerations goes where the wanted one is needed."""
    taint = NodeTaint(wanted["key"], wanted.get("value", ""), wanted.get("effect", ""))
    return taint.effect not in KEEPS_OFF or is_tolerated(taint, given) is True


def _tolerations(given: list[Mapping[str, Any]]) -> str:
    return " and ".join(_mapping(in_order(mapping)) for mapping in given)


def _mapping(value: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{key}: {_scalar(item)}" for key, item in value.items()) + "}"


def _scalar(value: object) -> str:
    plain = str(value)
    return f'"{plain}"' if plain in {"true", "false", "yes", "no", "null", ""} else plain
