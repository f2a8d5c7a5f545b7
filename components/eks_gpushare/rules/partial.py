"""What may be said of an environment of which only a part could be read.

A value that could not be read is left out, so its default is in force, and a rule that looks at
both it and something else may complain about a combination that nobody wrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.findings.finding import At, Finding

_CLUSTER_KIND: At = ("cluster", "existing")
_ZONES: At = ("network", "zones")
_NETWORK: tuple[At, ...] = (_CLUSTER_KIND, _ZONES)
_PROVISIONER: At = ("pools", "*", "provisioner")
_CAPACITY: At = ("pools", "*", "capacityType")
_AMI: tuple[At, ...] = (("pools", "*", "amiFamily"), ("pools", "*", "customAmi"), _PROVISIONER)
_RELEASE: At = ("pools", "*", "amiVersion")
_TYPES: At = ("pools", "*", "instanceTypes")
_LAYOUT: At = ("pools", "*", "sharing")
_MANAGER: At = ("gpuStack", "manager")

_RESTS_ON: dict[str, tuple[At, ...]] = {
    "GPU101": (("catalog",),),
    "GPU102": (("catalog",),),
    "GPU103": (("catalog",), _PROVISIONER),
    "GPU105": (("catalog",), *_AMI, _RELEASE),
    "GPU106": (_CAPACITY,),
    "GPU202": (("catalog",),),
    "GPU203": (("catalog",),),
    "GPU220": (("catalog",), _TYPES),
    "GPU221": (("catalog",), _TYPES),
    "GPU222": (("catalog",), _TYPES),
    "GPU223": (("catalog",), _TYPES),
    "GPU224": (("catalog",), _TYPES),
    "GPU225": (("catalog",), _TYPES),
    "GPU226": (("catalog",), _TYPES),
    "GPU227": (("catalog",), _TYPES),
    "GPU228": (("catalog",), _TYPES),
    "GPU229": (("catalog",), _PROVISIONER, _LAYOUT),
    "GPU233": (("catalog",), *_AMI, _RELEASE),
    "GPU234": (("catalog",), _TYPES),
    "GPU240": (("catalog",), _TYPES, *_AMI),
    "GPU241": (("catalog",), _PROVISIONER, *_AMI, _LAYOUT),
    "GPU242": (*_AMI, _LAYOUT),
    "GPU243": (*_AMI, _LAYOUT),
    "GPU270": (_MANAGER, *_AMI),
    "GPU401": (_PROVISIONER,),
    "GPU404": (_CAPACITY,),
    "GPU405": (*_NETWORK, _CAPACITY),
    "GPU406": (*_NETWORK, _CAPACITY),
    "GPU407": _NETWORK,
    "GPU410": (("catalog",),),
    "GPU412": (("catalog",),),
    "GPU413": (*_NETWORK, _CAPACITY),
    "GPU414": (*_NETWORK, ("network", "privateSubnetIds"), ("network", "publicSubnetIds")),
    "GPU502": _AMI,
    "GPU503": (("catalog",), *_AMI, _RELEASE),
    "GPU504": (*_AMI, ("cluster", "version")),
    "GPU505": (*_AMI, ("catalog",)),
    "GPU507": (_MANAGER,),
    "GPU603": (("cluster", "supportType"),),
    "GPU608": (("cluster", "endpoint", "public"),),
    "GPU610": (("cluster", "endpoint", "public"), ("cluster", "endpoint", "private")),
    "GPU615": (_CLUSTER_KIND, _PROVISIONER),
    "GPU616": (_CLUSTER_KIND,),
    "GPU618": (_CLUSTER_KIND,),
    "GPU703": (_MANAGER,),
    "GPU710": (_MANAGER,),
    "GPU711": (_MANAGER, ("charts", "*", "version"), ("charts", "*", "path")),
    "GPU716": (_MANAGER, ("pools",)),
}
"""What else a rule looks at besides the place of its finding."""

_ABOUT_ALL = {"GPU618"}
"""Findings about the stack, whose place is only where to begin reading."""


def certain(found: Iterable[Finding], removed: tuple[At, ...], below: At = ()) -> list[Finding]:
    """The errors that hold whatever the values are that could not be read.

    Args:
        found: What the rules say of the environment with its defaults.
        removed: Places whose values could not be read.
        below: Place in an environment of what all the other places are within.
    """
    gone = [(*below, *at) for at in removed]
    return [
        each
        for each in found
        if each.severity == "error"
        and not any(
            _overlap(place, at) for place in _places(each.code, (*below, *each.at)) for at in gone
        )
    ]


def _places(code: str, at: At) -> list[At]:
    name = at[1] if len(at) > 1 else ""
    others = _RESTS_ON.get(code, ())
    own = [] if code in _ABOUT_ALL else [at]
    return [*own, *(tuple(name if part == "*" else part for part in at) for at in others)]


def _overlap(one: At, other: At) -> bool:
    return one[: len(other)] == other or other[: len(one)] == one
