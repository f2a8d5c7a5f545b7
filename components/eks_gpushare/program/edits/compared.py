"""Two recordings side by side, as the providers compare what they are given with the state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.program.values import to_json

if TYPE_CHECKING:
    from eks_gpushare.program.recording import Recording, Resource

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
CLUSTER = "eks:index:Cluster"
RAW_CLUSTER = "aws:eks/cluster:Cluster"
ADDON = "aws:eks/addon:Addon"
ROLE = "aws:iam/role:Role"
RELEASE = "kubernetes:helm.sh/v3:Release"

_SETS = {NODE_GROUP: frozenset({"subnetIds", "taints"})}
"""Lists whose order says nothing: sets in the provider's schema."""
_COMPUTED = {NODE_GROUP: frozenset({"releaseVersion", "version"})}
"""What the provider takes from AWS where it is not given: taken out of the program, it stays as it
is. hashicorp/terraform-provider-aws, internal/service/eks/node_group.go: Optional and Computed."""


def changed(old: Resource, new: Resource) -> tuple[str, ...]:
    """Names of the inputs in which a provider would see a difference."""
    left, right = inputs(old), inputs(new)
    names = sorted({*left, *right} - dropped(old, new) - {*new.options.get("ignoreChanges", ())})
    return tuple(name for name in names if left.get(name) != right.get(name))


def dropped(old: Resource, new: Resource) -> set[str]:
    """Inputs that are gone, and that stay in AWS as they are."""
    left, right = inputs(old), inputs(new)
    return {name for name in _COMPUTED.get(new.type, ()) if name in left and name not in right}


def inputs(resource: Resource) -> dict[str, Any]:
    """Inputs as plain data, each set in one order."""
    given: dict[str, Any] = to_json(resource.inputs)
    sets = _SETS.get(resource.type, frozenset()) & set(given)
    return given | {name: same_order(given[name]) for name in sets}


def same_order(value: object) -> object:
    """A list in one order, of which it says nothing; anything else as it is."""
    return sorted(value, key=str) if isinstance(value, list) else value


def lost_labels(was: object, now: object) -> str:
    """Labels of nodes that pods may select, and that are gone or others; `""` if none is.

    Those of programs, which the plans derive, nobody is told to select.
    """
    old, new = (each if isinstance(each, dict) else {} for each in (was, now))
    lost = (f"{key}={value}" for key, value in sorted(old.items()) if new.get(key) != value)
    return " and ".join(each for each in lost if not each.startswith(_DERIVED))


_DERIVED = ("eks-gpushare/", "k8s.amazonaws.com/", "nvidia.com/")


def by_urn(recording: Recording, token: str) -> dict[str, Resource]:
    """Resources of a type by their URN."""
    return {bare(resource.urn): resource for resource in recording.of_type(token)}


def bare(urn: str) -> str:
    """A URN without its stack's name: two files of different names may be compared."""
    return urn.split("::", 1)[1]
