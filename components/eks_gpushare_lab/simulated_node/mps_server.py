"""Whom the MPS server of a node serves: the processes of one user at a time.

The plugin's daemon starts `nvidia-cuda-mps-control -d`, one for all GPUs of the node and without
the option by which a server takes every user. The server belongs to the user of its first client.
It serves more of that user; a process of another one hangs at its first CUDA call until all clients
are done, and then gets a server of its own. Kubernetes sees none of it: such a pod has its share
and runs. Here it does not get ready, so that nobody takes it for one that works.

Source: NVIDIA/k8s-device-plugin 0.20.0, cmd/mps-control-daemon/mps/daemon.go;
https://github.com/NVIDIA/k8s-device-plugin/issues/679.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.facts.mps import some_wait, user_of
from eks_gpushare_lab.simulated_node.admission import requests

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from eks_gpushare_lab.client import Object

CLIENT = "lab.eks-gpushare/mps-client"
"""Annotation of a pod that the MPS server of its node serves: the user."""
WAITS = "lab.eks-gpushare/mps-waits"
"""Annotation of a pod that waits for the server: why."""


class Turn(NamedTuple):
    """What the server makes of one pod."""

    pod: Object
    """The pod."""
    user: str
    """Its user."""
    waits: str = ""
    """Why it waits; `""` if it is served."""


class MpsServer:
    """The server of one node, and the servers that come after it."""

    def __init__(self) -> None:
        """Begin without clients."""
        self._clients: dict[str, str] = {}

    def turns(self, pods: Sequence[Object]) -> Iterator[Turn]:
        """Say of each pod that asks for shares whether it is served, those first that are.

        Args:
            pods: all pods on the node.
        """
        asking = [pod for pod in pods if requests(pod)]
        self._take_over(asking)
        # Who comes first is served first; the API server keeps no finer time than that.
        asking.sort(key=lambda pod: (_uid(pod) not in self._clients, *_came(pod)))
        for pod in asking:
            yield self._turn(pod)

    def _take_over(self, asking: Sequence[Object]) -> None:
        """Keep the clients that are there, also those of an earlier process of the lab."""
        alive = {_uid(pod): pod for pod in asking if not has_ended(pod)}
        noted = {uid: note for uid, pod in alive.items() if (note := annotation(pod, CLIENT))}
        self._clients = {**noted, **{u: n for u, n in self._clients.items() if u in alive}}

    def _turn(self, pod: Object) -> Turn:
        users = users_of(pod)
        if some_wait(users):
            names = " and ".join(map(user_text, users))
            why = f"the containers run as {names}, and the MPS server of the node serves one user"
            return Turn(pod, users[0], why)
        (user,) = users
        served = next(iter(self._clients.values()), user)
        if some_wait((user, served)):
            return Turn(
                pod,
                user,
                f"the pod runs as {user_text(user)}, and the MPS server of the node serves "
                f"{user_text(served)} until all pods of that user have ended",
            )
        if not has_ended(pod):
            self._clients[_uid(pod)] = user
        return Turn(pod, user)


def users_of(pod: Object) -> list[str]:
    """The users of the containers that ask for shares, each once.

    A number, or the name of an image that is not root's and says the rest itself. Where nothing is
    set, the image decides, and is taken for one of root's.
    """
    found = (
        _user(pod, container)
        for container in pod["spec"]["containers"]
        if requests({"spec": {"containers": [container]}})
    )
    return list(dict.fromkeys(found))


def sets_no_user(pod: Object) -> bool:
    """Whether it is the image of a container of the pod that decides on its user."""
    return any(
        _setting(pod, container, "runAsUser") is None
        for container in pod["spec"]["containers"]
        if requests({"spec": {"containers": [container]}})
    )


def user_text(user: str) -> str:
    """A user for a sentence."""
    return f"user {user}" if user.isascii() and user.isdigit() else f"the user of {user}"


def has_ended(pod: Object) -> bool:
    """Whether none of the processes of a pod run any more."""
    return pod["status"].get("phase") in {"Succeeded", "Failed"}


def annotation(pod: Object, name: str) -> str:
    """An annotation of a pod, `""` if it has none of that name."""
    return str((pod["metadata"].get("annotations") or {}).get(name, ""))


def _user(pod: Object, container: Object) -> str:
    number, non_root = (_setting(pod, container, key) for key in ("runAsUser", "runAsNonRoot"))
    return user_of(number, str(container.get("image", "")), non_root=bool(non_root))


def _setting(pod: Object, container: Object, key: str) -> Any:
    """Of a security context, what the container says or else the pod."""
    own = (container.get("securityContext") or {}).get(key)
    return (pod["spec"].get("securityContext") or {}).get(key) if own is None else own


def _uid(pod: Object) -> str:
    return str(pod["metadata"]["uid"])


def _came(pod: Object) -> tuple[str, str]:
    metadata = pod["metadata"]
    return str(metadata.get("creationTimestamp", "")), str(metadata["name"])
