"""GPUs that pods share: how many times, and what else of a node a share needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fronts import GPU, NODE_GROUP, RELEASE, files, policy, stack
from question import Question

from eks_gpushare.facts.fact import Front
from eks_gpushare.facts.index import fact_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from random import Random

TYPES = ("p3.2xlarge", "g4dn.xlarge", "g5.xlarge", "g5.12xlarge", "g6.2xlarge", "p4d.24xlarge")


class Shared(NamedTuple):
    """Nodes whose GPUs are shared."""

    type: str
    mode: str
    replicas: int
    refuses_several: bool = True


def _mps(random: Random) -> Shared:
    replicas = random.choice((2, 15, 16, 17, 47, 48, 49, random.randint(2, 60)))
    return Shared(random.choice(TYPES), "mps", replicas)


def _config(shared: Shared) -> str:
    return (
        f"version: v1\nsharing:\n  {shared.mode}:\n"
        f"    failRequestsGreaterThanOne: {str(shared.refuses_several).lower()}\n    resources:\n"
        f"    - name: {GPU}\n      replicas: {shared.replicas}\n"
    )


def charts(shared: Shared) -> dict[str, Any]:
    """The values of the device plugin's chart."""
    return {"config": {"map": {"any": _config(shared)}}, "gfd": {"enabled": True}}


def _of_stack(shared: Shared) -> Collection[str]:
    sharing: dict[str, Any] = {"mode": shared.mode, "replicas": shared.replicas}
    if not shared.refuses_several:
        sharing["failRequestsGreaterThanOne"] = False
    return stack({"pools": {"gpu": {"instanceTypes": [shared.type], "sharing": sharing}}})


def eksctl(**group: Any) -> dict[str, Any]:
    """A cluster with a node group."""
    return {
        "apiVersion": "eksctl.io/v1alpha5",
        "kind": "ClusterConfig",
        "metadata": {"name": "lab", "region": "us-east-1", "version": "1.35"},
        "managedNodeGroups": [{"name": "gpu", "amiFamily": "AmazonLinux2023", **group}],
    }


def _of_files(shared: Shared) -> Collection[str]:
    return files(eksctl(instanceTypes=[shared.type]), charts(shared))


def program_nodes(**props: Any) -> tuple[str, dict[str, Any]]:
    """A node group of a program."""
    return NODE_GROUP, {"amiType": "AL2023_x86_64_NVIDIA", **props}


def program_chart(values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The device plugin of a program."""
    plugin = {"chart": "nvidia-device-plugin", "version": "0.20.0", "namespace": "gpu"}
    return RELEASE, {**plugin, "values": values}


def _clients_of_program(shared: Shared) -> Collection[str]:
    nodes = program_nodes(instanceTypes=[shared.type])
    return policy("mps-runs", nodes, program_chart(charts(shared)))


def _sliced(random: Random) -> Shared:
    return Shared(random.choice(TYPES), "timeSlicing", random.randint(2, 14))


def _crowded(random: Random) -> Shared:
    return Shared(random.choice(TYPES), "timeSlicing", random.choice((4, 12, 50, 58, 90, 300)))


def _slices_of_program(shared: Shared) -> Collection[str]:
    return policy("time-slicing-replicas", program_chart(charts(shared)))


def _crowd_of_program(shared: Shared) -> Collection[str]:
    nodes = program_nodes(instanceTypes=[shared.type])
    return policy("shares-within-reach", nodes, program_chart(charts(shared)))


def _refusing(random: Random) -> Shared:
    mode = random.choice(("timeSlicing", "mps"))
    return Shared("g5.xlarge", mode, 4, refuses_several=random.random() < 0.5)


def _refusal_of_program(shared: Shared) -> Collection[str]:
    return policy("several-shares-refused", program_chart(charts(shared)))


QUESTIONS = (
    Question(
        fact_of("GPU202"),
        _mps,
        {
            Front.STACK: _of_stack,
            Front.FILES: _of_files,
            Front.POLICY: _clients_of_program,
        },
    ),
    Question(
        fact_of("GPU208"),
        _sliced,
        {Front.STACK: _of_stack, Front.POLICY: _slices_of_program},
    ),
    Question(
        fact_of("GPU205"),
        _refusing,
        {Front.STACK: _of_stack, Front.POLICY: _refusal_of_program},
    ),
    Question(
        fact_of("GPU210"),
        _sliced,
        {Front.STACK: _of_stack, Front.FILES: _of_files},
    ),
    Question(
        fact_of("GPU209"),
        _crowded,
        {Front.STACK: _of_stack, Front.FILES: _of_files, Front.POLICY: _crowd_of_program},
    ),
)
