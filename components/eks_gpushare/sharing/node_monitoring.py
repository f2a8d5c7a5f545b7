"""What EKS's node monitoring agent and the host engine of DCGM that comes with it are told.

The agent runs on every node and connects to the engine, `dcgm-server`, at port 5555 of its node.
Where it finds none for a minute it sets the node condition AcceleratedHardwareReady to False with
the reason DCGMError, and never back; node repair then replaces the node after ten minutes. So on
nodes of its own list the engine has to be wherever the agent is, and the agent nowhere that the
engine must not be.

Source: https://github.com/aws/eks-node-monitoring-agent at v1.7.0 (charts, and
monitors/nvidia/dcgm/dcgm_client.go), and its issue 243; read 2026-11-22.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.config.taints import tolerating

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare.catalog import Catalog
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.config.taints import Taint

AGENT = "eks-node-monitoring-agent"
"""Name of the add-on."""
ENGINE_ADDRESS = "localhost:5555"
"""Where the engine is, seen from the network of the node it is on."""
REMOTE_ENGINE = "DCGM_REMOTE_HOSTENGINE_INFO"
"""Variable by which a DCGM exporter uses an engine and starts none of its own."""

ENGINE_ARCH = "amd64"
"""Where the engine is, by the affinity of dcgm-server: the agent expects none elsewhere."""
_ANY_BUT: tuple[dict[str, str], ...] = (
    {"operator": "Exists", "effect": "NoExecute"},
    {"key": "CriticalAddonsOnly", "operator": "Exists"},
)


def node_monitoring_values(
    gpu_taints: Sequence[Taint], startup_taints: Sequence[Taint] = ()
) -> dict[str, Any]:
    """Configuration of the add-on.

    MIG manager needs GPUs that nobody uses, and stops only what selects nodes by its label
    `nvidia.com/gpu.deploy.client`. To give the engine that selector would keep it off other nodes
    until the operator has labelled them, which is too late for the agent. So both stay away until
    the startup taint of nodes with MIG manager is gone, which says that the layout is there. The
    agent by itself tolerates everything, and a toleration cannot name what it is not for: it gets
    those of the nodes that are known.

    Args:
        gpu_taints: Taints that GPU nodes keep.
        startup_taints: Taints that GPU nodes lose once their GPUs are ready.
    """
    own = tolerating(gpu_taints)
    values: dict[str, Any] = {"dcgmAgent": {"tolerations": own}}
    if startup_taints:
        values["nodeAgent"] = {"tolerations": [*_ANY_BUT, *own]}
    return values


def has_agent_engine(pool: Pool, catalog: Catalog) -> bool:
    """Whether the agent's host engine runs on nodes of a pool."""
    found = (catalog.find(name) for name in pool.instance_types)
    return any(
        instance_type is not None and instance_type.arch == ENGINE_ARCH for instance_type in found
    )


def exporter_values(pools: Mapping[str, Pool], catalog: Catalog) -> dict[str, Any]:
    """The part of the GPU Operator's chart values that leaves one host engine on a node.

    NVIDIA does not support two of them ("may lead to deadlocks in the driver",
    https://github.com/NVIDIA/DCGM/issues/108), and only one can read profiling metrics. The agent
    cannot use the operator's, which starts too late for it, so the operator's exporter uses the
    agent's. The operator would put the exporter into the node's network by itself, but looks for
    the variable before it sets it.

    Args:
        pools: The pools that the operator serves.
        catalog: Where instance types are looked up.
    """
    if not any(has_agent_engine(pool, catalog) for pool in pools.values()):
        return {}
    env = [{"name": REMOTE_ENGINE, "value": ENGINE_ADDRESS}]
    return {"dcgmExporter": {"hostNetwork": True, "env": env}}
