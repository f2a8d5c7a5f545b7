"""Values of expressions, each with the place where it was written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import PartlyKnown
from eks_gpushare.lint.terraform_configuration import INDEX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

GAP: Final = "${unknown}"
"""What stands in a text for what is not known; readers of YAML take it for that."""


_OF_CLUSTER: Final = ("kubernetes.io/cluster/", "k8s.io/cluster/")


ROLE_ARN: Final = "arn:aws:iam::000000000000:role/terraform/"
"""What the ARN of a role begins with that Terraform is to make, before its address."""


class Place(NamedTuple):
    """Where something is written, lines and columns from 1."""

    file: str
    line: int
    column: int


class HclObject(dict[str, Any]):
    """An object or a map. Its `places` say where each of its values is written."""

    def __init__(self, given: Any = (), places: dict[str, Place] | None = None) -> None:
        super().__init__(given)
        self.places: dict[str, Place] = places or {}

    def put(self, key: str, value: Any, place: Place | None) -> None:
        """Set a key, with its place where it has one."""
        self[key] = value
        if place is not None:
            self.places[key] = place
        else:
            self.places.pop(key, None)


class OpenObject(HclObject, PartlyKnown):
    """An object that may have more keys than are seen."""


class HclList(list[Any]):
    """A list, a set or a tuple, with the places of what is in it."""

    def __init__(self, given: Iterable[Any] = (), places: Iterable[Place | None] = ()) -> None:
        super().__init__(given)
        self.places: list[Place | None] = list(places)

    def put(self, value: Any, place: Place | None) -> None:
        """Add an item."""
        self.places += [None] * (len(self) - len(self.places))
        self.append(value)
        self.places.append(place)


class Text(str):
    """A text that knows where its lines are written, and what it was made of."""

    __slots__ = ("at", "encoded", "files", "gaps")

    at: Callable[[int, int], Place] | None
    """The place of a line and a column of it."""
    gaps: bool
    """Whether parts of it are not known, and stand there as `GAP`."""
    encoded: Any
    """The value that it is the YAML or JSON of; None where it was not made so."""
    files: frozenset[str]
    """The files that parts of it are from."""

    def __new__(
        cls,
        text: str,
        at: Callable[[int, int], Place] | None = None,
        *,
        gaps: bool = False,
        encoded: Any = None,
        files: frozenset[str] = frozenset(),
    ) -> Self:
        """Make one."""
        made = super().__new__(cls, text)
        made.at, made.gaps, made.encoded, made.files = at, gaps, encoded, files
        return made

    def like(self, text: str) -> Text:
        """Another text with the same origin."""
        return Text(text, self.at, gaps=self.gaps, files=files_in(self))


def arn_of_role(address: str) -> Text:
    """The ARN of a role, of which nothing is known but which of Terraform's it is."""
    return Text(f"{ROLE_ARN}{INDEX.sub('', address)}", gaps=True)


def has_gaps(value: Any) -> bool:
    """Whether parts of a text are not known."""
    return isinstance(value, Text) and value.gaps


def is_open(value: Any) -> bool:
    """Whether an object may have more keys than are seen."""
    return isinstance(value, PartlyKnown)


def files_in(value: Any) -> frozenset[str]:
    """The files that a value is written in, as far as it tells."""
    found: set[str] = set()
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Text):
            found |= each.files
            waiting.append(each.encoded)
        elif isinstance(each, HclObject):
            found |= {place.file for place in each.places.values()}
            waiting += each.values()
        elif isinstance(each, HclList):
            found |= {place.file for place in each.places if place is not None}
            waiting += each
    return frozenset(found)


def place_in(value: Any, key: Any) -> Place | None:
    """Where an item of an object or a list is written."""
    if isinstance(value, HclObject):
        return value.places.get(key)
    if isinstance(value, HclList) and isinstance(key, int) and key < len(value.places):
        return value.places[key]
    return None


def settled(value: Any, *, texts: bool = False) -> Any:
    """A value as readers take it: a text with gaps is not known, unless it is read as one.

    Args:
        value: The value.
        texts: Whether texts of one line are read as YAML or as a script too. Those of several
            lines always are.
    """
    if isinstance(value, HclObject):
        made = type(value)({key: settled(each, texts=texts) for key, each in value.items()})
        made.places = value.places
        return made
    if isinstance(value, list):
        of = HclList(settled(each, texts=texts) for each in value)
        of.places = getattr(value, "places", [])
        return of
    if has_gaps(value) and not texts and "\n" not in value.rstrip() and value.encoded is None:
        # Of the tag by which an instance belongs to a cluster, whose name is often not known; and a
        # role, of which it is known which one it is.
        return value if value.startswith((*_OF_CLUSTER, ROLE_ARN)) else UNKNOWN
    return value


def plain(value: Any) -> Any:
    """A value with texts that are nothing but texts, which parsers in C insist on."""
    if isinstance(value, HclObject):
        made = type(value)({str(key): plain(each) for key, each in value.items()})
        made.places = value.places
        return made
    if isinstance(value, HclList):
        return HclList((plain(each) for each in value), value.places)
    return str(value) if isinstance(value, Text) else value


def written(value: Any) -> Any:
    """A scalar within a text; `UNKNOWN` of what has no text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str | int | float):
        return str(value)
    return UNKNOWN


_OF_GROUPS: Final = frozenset(("instance_types", "instance_type", "ami_type"))


def are_groups(value: Any) -> bool:
    """Whether it is groups of nodes by their names, as far as there are any."""
    return isinstance(value, HclObject) and all(
        isinstance(each, dict) and _OF_GROUPS & each.keys() for each in value.values()
    )


def either(one: HclObject, other: HclObject) -> HclObject:
    """All that two objects have of which it is not known which one holds."""
    kind = OpenObject if is_open(one) or is_open(other) else HclObject
    made = kind({**one, **other}, {**one.places, **other.places})
    for key in one.keys() & other.keys():
        made[key] = one[key] if one[key] == other[key] else UNKNOWN
    return made


_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def number(value: Any) -> Any:
    """A number, be it written as a text; None of what is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        made = float(value)
        return int(made) if made.is_integer() else made
    return None


def truth(value: Any) -> Any:
    """A truth value, be it written as a text; None of what is none."""
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value) if isinstance(value, str) else None
