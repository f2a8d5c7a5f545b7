"""The search for places on one GPU model, with a table of what it found before."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.catalog.mig import MigModel, Profile

_TABLES_KEPT = 64
"""Models whose tables are kept: those of the package and of a few stack files."""


class Placement(NamedTuple):
    """One instance on a GPU."""

    profile: str
    """Name of its profile."""
    start: int
    """First memory slice that it takes."""


class PlacementTable:
    """What fits on one GPU model; each set of instances is searched for once."""

    __slots__ = ("_found", "_free", "_runs", "large_first", "model")

    def __init__(self, model: MigModel) -> None:
        self.model = model
        # Of equal size the profiles stay as the model has them, plain ones before `+me`.
        self.large_first = tuple(sorted(model.profiles, key=lambda n: _size(model.profiles[n])))
        self._runs = {name: _runs(profile) for name, profile in model.profiles.items()}
        self._free: dict[int, int] = {}
        self._found: dict[tuple[str, ...], tuple[Placement, ...] | None] = {}

    def placed(self, devices: Mapping[str, int]) -> tuple[Placement, ...] | None:
        """The places of the instances, large ones first; None if they do not fit."""
        profiles = self.model.profiles
        for name, count in devices.items():
            if not 0 <= count <= (profiles[name].max_count if name in profiles else 0):
                return None
        wanted = tuple(name for name in self.large_first for _ in range(devices.get(name, 0)))
        if wanted not in self._found:
            found = self._search(wanted, 0, set()) if self._within_limits(wanted) else None
            self._found[wanted] = found and tuple(sorted(found, key=self._order))
        return self._found[wanted]

    def layouts(self, profiles: Iterable[str]) -> Iterator[dict[str, int]]:
        """Every set of instances of the given profiles that fits, large instances first."""
        wanted = set(profiles)
        return self._grown([name for name in self.large_first if name in wanted], {})

    def _grown(self, names: list[str], chosen: dict[str, int]) -> Iterator[dict[str, int]]:
        """The sets that fit and have `chosen` of the profiles before `names`."""
        if not names:
            yield chosen
            return
        name, rest = names[0], names[1:]
        counts = [chosen]
        for count in range(1, self.model.profiles[name].max_count + 1):
            grown = {**chosen, name: count}
            if self.placed(grown) is None:
                break  # and so does no larger number
            counts.append(grown)
        for grown in reversed(counts):
            yield from self._grown(rest, grown)

    def _within_limits(self, wanted: Sequence[str]) -> bool:
        """Whether the GPU has everything for the instances together, places aside."""
        chosen = [self.model.profiles[name] for name in wanted]
        groups = [profile.exclusive_group for profile in chosen if profile.exclusive_group]
        return (
            sum(profile.compute_slices for profile in chosen) <= self.model.compute_slices
            and sum(profile.memory_slices for profile in chosen) <= self.model.memory_slices
            and len(groups) == len(set(groups))
            and all(
                sum(profile.engines.get(engine, 0) for profile in chosen) <= most
                for engine, most in self.model.engines.items()
            )
        )

    def _search(
        self, wanted: Sequence[str], taken: int, vain: set[tuple[int, int]]
    ) -> tuple[Placement, ...] | None:
        """Place the first where it leaves most room, else elsewhere, and the rest beside it.

        `vain` has how many were left, and what was taken, where the rest found no place: there are
        many orders in which the same slices can be taken.
        """
        if not wanted:
            return ()
        if (len(wanted), taken) in vain:
            return None
        free = [(start, run) for start, run in self._runs[wanted[0]] if not run & taken]
        for start, run in sorted(free, key=lambda place: -self._left(taken | place[1])):
            rest = self._search(wanted[1:], taken | run, vain)
            if rest is not None:
                return (Placement(wanted[0], start), *rest)
        vain.add((len(wanted), taken))
        return None

    def _left(self, taken: int) -> int:
        """Places of all profiles that are still free; the more, the better for what comes."""
        if taken not in self._free:
            runs = (run for each in self._runs.values() for _, run in each)
            self._free[taken] = sum(not run & taken for run in runs)
        return self._free[taken]

    def _order(self, placement: Placement) -> tuple[int, int]:
        return (self.large_first.index(placement.profile), placement.start)


@lru_cache(_TABLES_KEPT)
def placement_table(model: MigModel) -> PlacementTable:
    """The table of a model."""
    return PlacementTable(model)


def _size(profile: Profile) -> tuple[int, int]:
    return (-profile.memory_slices, -profile.compute_slices)


def _runs(profile: Profile) -> tuple[tuple[int, int], ...]:
    """The starts of a profile, each with the memory slices of an instance there as a bit mask."""
    return tuple((start, (1 << profile.memory_slices) - 1 << start) for start in profile.starts)
