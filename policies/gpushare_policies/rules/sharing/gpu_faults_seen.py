"""What finds faults of GPUs for EKS runs on the nodes that have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import EnforcementLevel, Severity, StackValidationArgs

from eks_gpushare.inventory.items import NodeSet, Release
from eks_gpushare.inventory.matching import is_tolerated
from eks_gpushare.inventory.node_agent import engine_tolerations
from eks_gpushare.inventory.nodes import gpu_nodes
from eks_gpushare.inventory.scheduling import keeping_off, lasting
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import has_unknown
from eks_gpushare.sharing.node_monitoring import AGENT, ENGINE_ARCH
from gpushare_policies.checks import Unjudged
from gpushare_policies.reading import kinds
from gpushare_policies.reading.blanks import refuse_blanks
from gpushare_policies.reading.inventory import program_of, urn_of
from gpushare_policies.reading.plain import at_top
from gpushare_policies.rule import StackPolicy
from gpushare_policies.tokens import ADDON
from gpushare_policies.words import Fix, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory

_STACK_FILE = (
    "The add-on of a stack file tolerates the taints of all pools: remove what overrides its "
    "configuration, such as a transform."
)
_RAW = (
    "Set `dcgmAgent.tolerations` in the add-on's `configurationValues`, or in the values of its "
    "chart, to tolerate the taints of the GPU nodes."
)
_TOLERATED = Fix(_STACK_FILE, _RAW, _RAW)


def _seen(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    refuse_blanks(args)
    inventory = program_of(args.resources).inventory
    for agent in inventory.of(Release):
        if agent.chart != AGENT:
            continue
        tolerations = engine_tolerations(agent)
        if has_unknown(tolerations):
            yield Unjudged(f"the configuration of {agent.source.name}")
        else:
            yield from _judged(agent, tolerations, inventory)
    if len({nodes.cluster for nodes in inventory.of(NodeSet)}) > 1:
        # An add-on says by name of which it is, and nodes by provider.
        for resource in args.resources:
            if resource.resource_type == ADDON and at_top(resource.props, "addonName") == AGENT:
                yield Unjudged(f"which of the clusters {name_of(resource.urn)} is of")


def _judged(agent: Release, tolerations: Any, inventory: Inventory) -> Iterator[tuple[str, str]]:
    said: set[int] = set()
    urn = urn_of(agent.source)
    for kind in gpu_nodes(inventory, agent.cluster):
        nodes = kind.nodes
        is_other = kind.type is None or kind.type.arch != ENGINE_ARCH
        taints = lasting(nodes.taints)
        if id(nodes) in said or is_other or taints is UNKNOWN or nodes.provisioner == "autoMode":
            continue
        for taint in keeping_off(taints):
            if is_tolerated(taint, tolerations) is False:
                said.add(id(nodes))
                yield (
                    (
                        f"DCGM of {agent.source.name} does not tolerate the taint "
                        f"{taint} of {nodes.source.name}. It must, or faults of these GPUs are "
                        f"not found and their nodes not replaced. {_TOLERATED.of(urn)}"
                    ),
                    urn,
                )
                break


GPU_FAULTS_SEEN = StackPolicy(
    "gpu-faults-seen",
    "EKS's node monitoring, where it is installed, must run on every GPU node, whatever its "
    "taints.",
    check=_seen,
    applies_to=(ADDON, *kinds.CHARTS, *kinds.NODES),
    level=EnforcementLevel.ADVISORY,
    severity=Severity.MEDIUM,
    fix=_TOLERATED,
)
