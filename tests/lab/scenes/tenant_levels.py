"""What holds tenants, a level at a time, each without the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.config.project import ENVIRONMENT_KEY
from eks_gpushare.stack_file.yaml import read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Environment = dict[str, Any]
SURE = {"gpuMemoryGiB": 80}
RESEARCH = {"notebooks": {"guaranteed": {"shares": 8}}, "slices": {"guaranteed": SURE}}


def _without(environment: Environment, key: str) -> None:
    for tenant in environment["tenants"].values():
        tenant[key] = False


def _by_quota(environment: Environment) -> None:
    _without(environment, "queue")
    environment["tenants"]["research"]["pools"] = RESEARCH


def _on_request_only(environment: Environment, *, only: bool) -> None:
    for pool in environment["pools"].values():
        pool["gpusOnRequestOnly"] = only


def _quota(environment: Environment) -> None:
    _by_quota(environment)
    _without(environment, "admission")
    _on_request_only(environment, only=False)


def _admission(environment: Environment) -> None:
    _by_quota(environment)
    _on_request_only(environment, only=False)


def _node(environment: Environment) -> None:
    del environment["tenants"]
    _on_request_only(environment, only=True)


def _queue(environment: Environment) -> None:
    _without(environment, "admission")
    _on_request_only(environment, only=False)


LEVELS: dict[str, Callable[[Environment], None]] = {
    "quota": _quota,
    "admission": _admission,
    "node": _node,
    "queue": _queue,
}
"""What makes of the stack with tenants one that has a level alone; namespaces and quotas are with
each that has tenants."""


def configuration(level: str, stack: Path) -> dict[str, Any]:
    """The configuration of a stack file that has a level alone."""
    document: dict[str, Any] = read(stack.read_bytes()).value  # type: ignore[assignment]  # a mapping
    config: dict[str, Any] = document["config"]
    LEVELS[level](config[ENVIRONMENT_KEY])
    return config
