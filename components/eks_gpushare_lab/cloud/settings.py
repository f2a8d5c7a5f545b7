"""What the emulated AWS does otherwise than at once and always: delays, and capacity that lacks."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ANY = "*"
"""In a shortage, every instance type, zone or capacity type."""
ON_DEMAND, SPOT, RESERVED = "on-demand", "spot", "reserved"
"""Capacity types, as Karpenter calls them."""

_CAPACITY_TYPES = (ON_DEMAND, SPOT, RESERVED)
_SHORTAGE_PARTS = 3
_MOST_DIGITS = 6


class SettingError(ValueError):
    """A setting that cannot be read; the text says what it may be."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """Capacity that EC2 does not have."""

    instance_type: str = ANY
    """Instance type, or `*`."""
    zone: str = ANY
    """Zone, such as us-west-2a, or `*`."""
    capacity_type: str = ANY
    """on-demand, spot or reserved, or `*`."""

    def covers(self, instance_type: str, zone: str, capacity_type: str) -> bool:
        """Whether a launch fails for it."""
        wanted = (instance_type, zone, capacity_type)
        given = (self.instance_type, self.zone, self.capacity_type)
        return all(mine in (ANY, its) for mine, its in zip(given, wanted, strict=True))

    def __str__(self) -> str:
        return f"{self.instance_type}:{self.zone}:{self.capacity_type}"

    @classmethod
    def read(cls, text: str) -> Shortage:
        """TYPE, TYPE:ZONE or TYPE:ZONE:CAPACITY, each of them `*` or empty for every one.

        Raises:
            SettingError: If it is none.
        """
        parts = [part.strip() or ANY for part in text.split(":")]
        if not text.strip() or len(parts) > _SHORTAGE_PARTS:
            raise SettingError(
                f"insufficient={text} is not TYPE[:ZONE[:CAPACITY]], such as "
                "g5.xlarge:us-west-2a:spot or *:*:spot"
            )
        parts += [ANY] * (_SHORTAGE_PARTS - len(parts))
        found = cls(*parts)
        if found.capacity_type not in (ANY, *_CAPACITY_TYPES):
            raise SettingError(
                f"insufficient={text}: {found.capacity_type} is no capacity type: "
                f"{', '.join(_CAPACITY_TYPES)} or *"
            )
        return found


@dataclass(frozen=True, slots=True)
class CloudSettings:
    """How the emulated AWS behaves."""

    start: float = 1.0
    """Seconds from a launch to the node in the cluster. On EC2 it is one to three minutes."""
    plugin: float = 0.0
    """Seconds from the node in the cluster until its device plugin may start: the time that a real
    node spends on images and drivers, with capacity that is not there yet."""
    notice: float = 120.0
    """Seconds from the notice of a spot interruption to the end of the instance, as on EC2."""
    insufficient: tuple[Shortage, ...] = ()
    """What EC2 has no capacity for."""
    reserved: int | None = None
    """Instances of each capacity reservation that the stack names and does not make; None for
    plenty."""

    def as_json(self) -> dict[str, Any]:
        """As the process of the emulation gets it."""
        return {**asdict(self), "insufficient": [str(shortage) for shortage in self.insufficient]}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> CloudSettings:
        """The reverse of `as_json`; what is left out has its default."""
        shortages = tuple(Shortage.read(shortage) for shortage in given.get("insufficient", ()))
        return cls(**{**given, "insufficient": shortages})

    def with_options(self, options: Iterable[str]) -> CloudSettings:
        """These settings changed by `KEY=VALUE` texts; `insufficient` may come several times.

        Raises:
            SettingError: If a key or a value is none.
        """
        changed = self
        for option in options:
            key, equals, value = option.partition("=")
            if not equals or key not in _KEYS:
                known = ", ".join(f"{each_key}=..." for each_key in _KEYS)
                raise SettingError(f"{option!r} is none of {known}")
            if key == "insufficient":
                shortages = (*changed.insufficient, Shortage.read(value))
                changed = replace(changed, insufficient=shortages)
            elif key == "reserved":
                changed = replace(changed, reserved=_count(key, value))
            else:
                given: dict[str, Any] = {key: _seconds(key, value)}
                changed = replace(changed, **given)
        return changed


def _seconds(key: str, text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1
    if not 0 <= found < float("inf"):
        raise SettingError(f"{key}={text} is not a number of seconds, such as {key}=30")
    return found


def _count(key: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > _MOST_DIGITS:
        raise SettingError(f"{key}={text} is not a number of instances, such as {key}=2")
    return int(text)


_KEYS = tuple(field.name for field in fields(CloudSettings))
