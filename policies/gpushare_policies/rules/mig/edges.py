"""Policies on MIG that edges of the inventory judge."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_policy

EDGES = (
    edge_policy(
        "mig-config-valid",
        "Configurations of MIG must be ones that mig-parted takes, with layouts that fit on a GPU.",
        applies_to=(*kinds.CHARTS, "kubernetes:core/v1:ConfigMap"),
        severity=Severity.HIGH,
        stack_file=(
            "Set `pools.<pool>.sharing.layout` in the stack file; `eks-gpushare mig layouts TYPE` "
            "lists what fits."
        ),
        fix=(
            "Correct the configuration in the ConfigMap or in the values of the chart; "
            "`eks-gpushare mig layouts TYPE` lists what fits."
        ),
    ),
    edge_policy(
        "mig-layouts-fit",
        "MIG layouts that nodes are to have must be there, fit on their GPUs, be applied, and be "
        "left alone.",
        applies_to=(*kinds.NODES, *kinds.CHARTS, "kubernetes:core/v1:ConfigMap"),
        severity=Severity.HIGH,
        stack_file=(
            "Set `pools.<pool>.sharing.layout` in the stack file; `eks-gpushare mig layouts TYPE` "
            "lists what fits."
        ),
        fix=(
            "Name a layout that the GPUs of the nodes can have, and run the MIG manager of "
            "gpu-operator."
        ),
    ),
    edge_policy(
        "mig-strategy-fits",
        "The MIG strategy of the device plugin must fit the layout of the nodes.",
        applies_to=(*kinds.NODES, *kinds.CHARTS, "kubernetes:core/v1:ConfigMap"),
        severity=Severity.HIGH,
        stack_file=(
            "Set `pools.<pool>.sharing.strategy` in the stack file: `mixed` for several profiles, "
            "`single` for one."
        ),
        fix=(
            "Set `flags.migStrategy` of the configuration, or `mig.strategy` of gpu-operator: "
            "`mixed` for several profiles, `single` for one."
        ),
    ),
)
