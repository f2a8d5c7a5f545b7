"""What starts a host engine of DCGM on a node of the GPU Operator, beside EKS's agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fronts import files, policy, stack
from of_sharing import eksctl, program_nodes
from question import Question

from eks_gpushare.facts.fact import Front
from eks_gpushare.facts.index import fact_of
from eks_gpushare_lab.reporting.machines import engine_findings
from eks_gpushare_lab.simulated_node.pods import EXPORTER, HOST_ENGINE

if TYPE_CHECKING:
    from collections.abc import Collection
    from random import Random

AGENT = "eks-node-monitoring-agent"
REMOTE = {"name": "DCGM_REMOTE_HOSTENGINE_INFO", "value": "localhost:5555"}


def _values(random: Random) -> dict[str, Any]:
    """What of the operator's values decides."""
    exporter: dict[str, Any] = {"hostNetwork": random.random() < 0.8}
    exporter |= random.choice(({}, {"enabled": True}, {"enabled": False}))
    exporter["env"] = random.choice(
        ([REMOTE], [REMOTE], [{"name": "A", "value": "1"}, REMOTE], [], [{"name": "A"}])
    )
    dcgm = random.choice((None, None, {"enabled": True}, {"enabled": False}))
    return {"dcgmExporter": exporter, **({} if dcgm is None else {"dcgm": dcgm})}


def _of_stack(values: dict[str, Any]) -> Collection[str]:
    return stack(
        {"gpuStack": {"manager": "gpuOperator"}, "charts": {"gpuOperator": {"values": values}}}
    )


def _chart(values: dict[str, Any]) -> dict[str, Any]:
    on_the_ami = {"driver": {"enabled": False}, "toolkit": {"enabled": False}}
    return {**on_the_ami, "operator": {"defaultRuntime": "containerd"}, **values}


def _of_files(values: dict[str, Any]) -> Collection[str]:
    cluster = eksctl(instanceTypes=["g5.xlarge"]) | {"addons": [{"name": AGENT}]}
    return files(cluster, _chart(values))


def _of_program(values: dict[str, Any]) -> Collection[str]:
    agent = ("aws:eks/addon:Addon", {"addonName": AGENT, "clusterName": "one"})
    operator = {"chart": "gpu-operator", "namespace": "gpu", "values": _chart(values)}
    nodes = program_nodes(instanceTypes=["g5.xlarge"])
    return policy("one-dcgm-engine", nodes, agent, ("kubernetes:helm.sh/v3:Release", operator))


def _of_lab(values: dict[str, Any]) -> Collection[str]:
    """The pods that the operator makes of its values: of DCGM, and its exporter told of that."""

    def pod(program: str, env: list[dict[str, str]]) -> dict[str, Any]:
        container = {"name": program, "command": [program], "env": env}
        return {"metadata": {"name": program}, "spec": {"containers": [container]}}

    engines, own = [pod(HOST_ENGINE, [])], values.get("dcgm", {}).get("enabled")
    exporter = values["dcgmExporter"]
    if own:
        engines.append(pod(HOST_ENGINE, []))
    exporters = [pod(EXPORTER, [*exporter["env"], *([REMOTE] if own else [])])]
    by_role = {HOST_ENGINE: engines, EXPORTER: exporters if exporter.get("enabled", True) else []}
    return {each.code for each in engine_findings(("nodes", "n"), by_role)}


QUESTIONS = (
    Question(
        fact_of("GPU644"),
        _values,
        {
            Front.STACK: _of_stack,
            Front.FILES: _of_files,
            Front.LAB: _of_lab,
            Front.POLICY: _of_program,
        },
    ),
)
