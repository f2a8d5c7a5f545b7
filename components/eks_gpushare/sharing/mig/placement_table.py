"""The search for places on one GPU model, with a table of what it found before."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare.catalog.mig import MigModel, Profile

_BOARDS_KEPT = 64
"""Models whose tables are kept: those of the package and of a few stack files."""
_FIELD_BITS = 16
"""Room for one sum in a packed number: no GPU has 32768 of anything counted here."""


class Placement(NamedTuple):
    """One instance on a GPU."""

    profile: str
    """Name of its profile."""
    start: int
    """First memory slice that it takes."""


class _Row(NamedTuple):
    """One profile as the search uses it."""

    most: int
    """Most instances of it."""
    stride: int
    """What one instance adds to the key of a set."""
    uses: int
    """What one instance adds to the sums of a set, packed."""
    runs: tuple[int, ...]
    """The memory slices of each place as a bit mask, in the order of the starts."""


class Board:
    """What fits on one GPU model.

    A set of instances is a number, its key, so that asking again costs a look into a table; sets
    that already fail by a count or a sum never get there, so the table stays small.
    """

    __slots__ = ("_everywhere", "_found", "_guards", "_room", "_rows", "large_first", "model")

    def __init__(self, model: MigModel) -> None:
        self.model = model
        # Of equal size the profiles stay as the model has them, plain ones before `+me`.
        self.large_first = tuple(sorted(model.profiles, key=lambda n: _size(model.profiles[n])))
        limits = _limits(model)
        # A guard bit above each field stays set as long as that sum is within its limit.
        self._guards = sum(1 << (at * _FIELD_BITS + _FIELD_BITS - 1) for at in range(len(limits)))
        self._room = self._guards + _packed(limits.values())
        self._rows: dict[str, _Row] = {}
        stride = 1
        for name in self.large_first:
            profile = model.profiles[name]
            uses = _packed(_uses(profile, limit) for limit in limits)
            self._rows[name] = _Row(profile.max_count, stride, uses, _runs(profile))
            stride *= profile.max_count + 1
        self._everywhere = [run for row in self._rows.values() for run in row.runs]
        self._found: dict[int, tuple[Placement, ...] | None] = {0: ()}

    def placed(self, devices: Mapping[str, int]) -> tuple[Placement, ...] | None:
        """Return the places of the instances, large ones first; None if they do not fit."""
        key = used = 0
        rows = self._rows
        for name, count in devices.items():
            row = rows.get(name)
            if row is None:
                if count:
                    return None
                continue
            if not 0 <= count <= row.most:
                return None
            key += count * row.stride
            used += count * row.uses
        if (self._room - used) & self._guards != self._guards:
            return None
        try:
            return self._found[key]
        except KeyError:
            found = self._found[key] = self._search(devices)
            return found

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

    def _search(self, devices: Mapping[str, int]) -> tuple[Placement, ...] | None:
        wanted = [name for name in self.large_first for _ in range(devices.get(name, 0))]
        starts: list[int] = []
        if not self._rest_placed(wanted, 0, starts, set()):
            return None
        return tuple(sorted(map(Placement, wanted, starts), key=self._order))

    def _rest_placed(
        self, wanted: list[str], taken: int, starts: list[int], dead: set[tuple[int, int]]
    ) -> bool:
        """Place what is wanted from the `len(starts)`th on; `dead` are states that lead nowhere."""
        at = len(starts)
        if at == len(wanted):
            return True
        if (at, taken) in dead:
            return False
        row = self._rows[wanted[at]]
        free = [run for run in row.runs if not run & taken]
        for run in sorted(free, key=lambda run: -self._left(taken | run)):
            starts.append(_start(run))
            if self._rest_placed(wanted, taken | run, starts, dead):
                return True
            starts.pop()
        dead.add((at, taken))
        return False

    def _left(self, taken: int) -> int:
        """Places of all profiles that are still free; the more, the better for what comes."""
        return sum(not run & taken for run in self._everywhere)

    def _order(self, placement: Placement) -> tuple[int, int]:
        return (self.large_first.index(placement.profile), placement.start)


@lru_cache(_BOARDS_KEPT)
def board(model: MigModel) -> Board:
    """Return the tables of a model."""
    return Board(model)


def _size(profile: Profile) -> tuple[int, int]:
    return (-profile.memory_slices, -profile.compute_slices)


def _limits(model: MigModel) -> dict[tuple[str, str], int]:
    """Everything of which instances together may take only so much."""
    groups = {p.exclusive_group for p in model.profiles.values() if p.exclusive_group}
    return {
        ("slices", "compute"): model.compute_slices,
        ("slices", "memory"): model.memory_slices,
        **{("group", group): 1 for group in sorted(groups)},
        **{("engine", name): count for name, count in model.engines.items()},
    }


def _uses(profile: Profile, limit: tuple[str, str]) -> int:
    kind, name = limit
    if kind == "group":
        return int(profile.exclusive_group == name)
    if kind == "engine":
        return profile.engines.get(name, 0)
    return profile.compute_slices if name == "compute" else profile.memory_slices


def _packed(numbers: Iterable[int]) -> int:
    return sum(number << (at * _FIELD_BITS) for at, number in enumerate(numbers))


def _runs(profile: Profile) -> tuple[int, ...]:
    return tuple(((1 << profile.memory_slices) - 1) << start for start in profile.starts)


def _start(run: int) -> int:
    return (run & -run).bit_length() - 1
