"""Rules about MIG layouts that the GPU Operator's MIG manager makes.

What Bottlerocket cannot do is in bottlerocket.py; labels that MIG manager reads are refused in a
pool with all of NVIDIA's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.chart_images import BAD_IMAGE, FLOATING_IMAGE, image_findings
from eks_gpushare.rules.registry import Runs, Scope, check
from eks_gpushare.sharing.bottlerocket import is_bottlerocket
from eks_gpushare.sharing.labels import MIG_LABEL
from eks_gpushare.sharing.mig_manager import (
    STARTUP_TAINT_KEY,
    applies,
    needs_reboot,
    startup_taint,
    uses_mig_manager,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

_AL2023 = "https://github.com/NVIDIA/gpu-operator/issues/2415"

NO_OPERATOR = Rule(
    "GPU270",
    "error",
    "MIG manager comes with the GPU Operator.",
    "Nobody would make the layout, and the nodes would keep their startup taint.",
    "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html",
)
STOPS_KUBELET = Rule(
    "GPU271",
    "warning",
    "On AL2023 a node makes its MIG layout at boot.",
    "MIG manager stops the kubelet to switch MIG on, after which nodes with AL2023 were seen to "
    "stay NotReady for good; and it drains no pods before it changes a layout.",
    _AL2023,
)
STARTUP_TAINT = Rule(
    "GPU272",
    "error",
    "A pool does not set a taint that this project sets.",
    "The controller would remove the one of nodes that wait for MIG, or leave a second one that "
    "keeps every pod away; the device plugin would tolerate the one of nodes without their layout.",
    "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
)
REBOOT_REPAIRED = Rule(
    "GPU273",
    "warning",
    "EKS does not repair nodes while MIG manager reboots them.",
    "Node repair takes a GPU that is away for ten minutes for broken, and replaces the node.",
    "https://docs.aws.amazon.com/eks/latest/userguide/node-health.html",
)
FOREIGN_NODES = Rule(
    "GPU274",
    "info",
    "Nodes of MIG manager join with the startup taint, and lose it to this project's controller.",
    "Without the taint, pods get whole GPUs that MIG manager is about to cut; without the "
    "controller, they never start.",
    "https://github.com/NVIDIA/gpu-operator/issues/2670",
)
IDLE_IMAGE = Rule(
    "GPU276",
    "warning",
    "The image of the controller is named where the controller runs.",
    "The key has no effect.",
    "https://github.com/NVIDIA/gpu-operator/issues/2670",
)


@check(Scope.POOL, NO_OPERATOR, runs=Runs.IN_STACKS)
def needs_operator(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    manager = ctx.environment.gpu_stack.manager
    if applies(pool) and manager != "gpuOperator" and not is_bottlerocket(pool):
        yield NO_OPERATOR.finding(
            ("pools", name, "sharing", "apply"),
            f"apply is migManager, but gpuStack.manager is {manager}, which brings no MIG manager.",
            "Set gpuStack.manager: gpuOperator, or apply: boot, by which the nodes make the layout "
            "themselves.",
        )


@check(Scope.POOL, NO_OPERATOR, runs=Runs.ALONE, by_manager=True)
def needs_operator_too(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    """For a device plugin that is installed apart from a stack."""
    manager = ctx.environment.gpu_stack.manager
    if applies(pool) and manager != "gpuOperator" and not is_bottlerocket(pool):
        yield NO_OPERATOR.finding(
            ("pools", name, "sharing", "apply"),
            "apply is migManager, but DevicePlugin brings no MIG manager.",
            "Use GpuOperator in its place, or apply: boot, by which the nodes make the layout "
            "themselves.",
        )


@check(Scope.POOL, STOPS_KUBELET)
def stops_kubelet(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if applies(pool) and not is_bottlerocket(pool):
        yield STOPS_KUBELET.finding(
            ("pools", name, "sharing", "apply"),
            "MIG manager stops the kubelet of an AL2023 node to switch MIG on, after which the "
            "node may stay NotReady; when the layout changes, it does not drain running pods.",
            "Set apply: boot, which is done before the kubelet starts. To keep migManager, drain "
            "nodes before a change, and replace those that stay NotReady.",
        )


@check(Scope.POOL, STARTUP_TAINT)
def own_startup_taint(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    for index, taint in enumerate(pool.taints):
        at = ("pools", name, "taints", index)
        if taint.key == STARTUP_TAINT_KEY:
            yield STARTUP_TAINT.finding(
                at,
                f"{STARTUP_TAINT_KEY} is this project's taint for nodes whose MIG layout is not "
                "there yet.",
                "Remove it: pools with apply: migManager have it by themselves. Use another key "
                "for a taint of your own.",
            )
        elif taint.key == MIG_LABEL:
            yield STARTUP_TAINT.finding(
                at,
                f"{MIG_LABEL} is this project's taint for nodes that could not make their MIG "
                "layout; what a pool is tainted with, the device plugin tolerates.",
                "Use another key for a taint of your own.",
            )


@check(Scope.POOL, REBOOT_REPAIRED)
def reboot_repaired(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if not applies(pool) or pool.provisioner == "existing" or not pool.node_repair:
        return
    if pool.provisioner == "karpenter" and "node_repair" not in pool.model_fields_set:
        return  # which repairs only where that is asked for
    rebooting = [(t.name, gpu.model) for t, gpu in ctx.gpu_types(pool) if needs_reboot(gpu)]
    for instance_type, model in rebooting[:1]:
        yield REBOOT_REPAIRED.finding(
            ("pools", name, "nodeRepair"),
            f"MIG manager reboots {instance_type}, for the {model} switches MIG on by a reboot, "
            "and node repair acts on GPUs that are away for 10 minutes.",
            "Set nodeRepair: false for this pool, or apply: boot, which reboots before the node "
            "joins.",
        )


@check(Scope.POOL, FOREIGN_NODES)
def foreign_nodes(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    served = ctx.environment.gpu_stack.manager == "gpuOperator"
    if served and applies(pool) and pool.provisioner == "existing":
        taint = startup_taint()
        yield FOREIGN_NODES.finding(
            ("pools", name, "provisioner"),
            "This stack does not make these nodes, so those who do give them the startup taint.",
            f"Let them join with the taint {taint.key}={taint.value}:{taint.effect} and the labels "
            "that the stack's output pools shows.",
        )


@check(Scope.POOL, FOREIGN_NODES, runs=Runs.ALONE)
def freed_elsewhere(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    """For nodes that are made apart from the operator."""
    if applies(pool) and not ctx.nodes_elsewhere:
        yield FOREIGN_NODES.finding(
            ("pools", name, "sharing", "apply"),
            f"These nodes join with the taint {STARTUP_TAINT_KEY}, which the controller that "
            "GpuOperator installs removes.",
            "Give this pool to the GpuOperator of the cluster as well, with the same sharing.",
        )


@check(Scope.CHARTS, FLOATING_IMAGE, IDLE_IMAGE, BAD_IMAGE)
def remover_image(ctx: Context) -> Iterator[Finding]:
    image = ctx.environment.gpu_stack.mig_taint_remover_image
    if image is None:
        return
    at = ("gpuStack", "migTaintRemoverImage")
    yield from image_findings(at, image, "python:3.13.16-slim")
    if not uses_mig_manager(ctx.environment.pools):
        yield IDLE_IMAGE.finding(
            at,
            "No pool has apply: migManager, so the controller is not installed.",
            "Remove the key.",
        )
