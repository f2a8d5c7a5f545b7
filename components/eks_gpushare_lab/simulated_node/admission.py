"""The kubelet's word on a pod that asks for more shares than the device plugin gives at once.

The scheduler counts and binds; the plugin then refuses the allocation, and the pod ends as
UnexpectedAdmissionError before it has run. Its controller makes another, which ends the same way,
for ever. Here each refusal of the same owner waits longer than the one before. kwok starts such a
pod only when it is told that the pod is admitted, so that none runs which is to be refused.

Source: NVIDIA/k8s-device-plugin, internal/rm/rm.go, ValidateRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.live.amounts import quantity
from eks_gpushare_lab.control_plane.names import ADMITTED
from eks_gpushare_lab.simulated_node.advertising import SHARED

if TYPE_CHECKING:
    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.simulated_node.config_file import Configuration

_AT_ONCE = 3
_FIRST_SECONDS, _LONGEST_SECONDS = 0.2, 60.0


def requests(pod: Object) -> dict[str, int]:
    """The most that a container of the pod asks for, by NVIDIA resource."""
    found: dict[str, int] = {}
    for container in pod["spec"]["containers"]:
        for name, count in ((container.get("resources") or {}).get("limits") or {}).items():
            if name.startswith("nvidia.com/") and (asked := int(quantity(count))):
                found[name] = max(found.get(name, 0), asked)
    return found


def is_undecided(pod: Object) -> bool:
    """Whether a pod that was bound waits for its node to give it several devices of a kind."""
    if pod["status"].get("phase") != "Pending" or "deletionTimestamp" in pod["metadata"]:
        return False
    notes = pod["metadata"].get("annotations") or {}
    return ADMITTED not in notes and max(requests(pod).values(), default=0) > 1


def refusal(pod: Object, configuration: Configuration | None) -> str | None:
    """Why the kubelet refuses a pod that was bound, or None if it does not."""
    if configuration is None or not configuration.fail_more_than_one:
        return None
    for name, count in requests(pod).items():
        shared = configuration.replicas(name.removesuffix(SHARED)) > 1
        if count > 1 and shared:
            return (
                "Allocate failed due to rpc error: code = Unknown desc = invalid allocation "
                f"request for {name!r}: invalid request: maximum request size for shared resources "
                f"is 1; found {count}, which is unexpected"
            )
    return None


def owner_of(pod: Object) -> str:
    """What makes such pods anew: the UID of the owner, or of the pod itself."""
    owners = pod["metadata"].get("ownerReferences") or [pod["metadata"]]
    return str(owners[0]["uid"])


def pause(refused: int) -> float:
    """Seconds until a pod fails whose owner has had so many refused before."""
    if refused < _AT_ONCE:
        return 0.0
    return float(min(_FIRST_SECONDS * 2.0 ** (refused - _AT_ONCE), _LONGEST_SECONDS))
