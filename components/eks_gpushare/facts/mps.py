"""Whom MPS serves: so many clients of a GPU, and one user at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.catalog.gpus import mps_client_limit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.catalog.instances import Gpu

ROOT: Final = "0"


def most_clients(gpu: Gpu, replicas: int) -> int | None:
    """How many clients a GPU takes, where that is fewer than there are shares; None where not."""
    limit = mps_client_limit(gpu)
    return limit if replicas > limit else None


def user_of(run_as_user: object, image: str, *, non_root: bool) -> str:
    """The user that a container's processes are of.

    Args:
        run_as_user: Its `runAsUser`, or its pod's; None where neither says one.
        image: Its image, which decides then. Images are root's unless they say otherwise
            (https://docs.docker.com/reference/dockerfile/#user), so root is assumed.
        non_root: Whether `runAsNonRoot` rules that out, so that the user is one of the image's.
    """
    if isinstance(run_as_user, float) and run_as_user.is_integer():
        return str(int(run_as_user))
    if run_as_user is not None:
        return str(run_as_user)
    return image if non_root else ROOT


def some_wait(users: Iterable[str]) -> bool:
    """Whether not all clients of a server are of one user: all others wait for the first."""
    return len(set(users)) > 1
