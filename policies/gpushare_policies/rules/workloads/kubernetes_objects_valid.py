"""Pods, and the objects that make them, are such as Kubernetes takes."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = "Write the workload under `workloads` in the stack file."
_RAW = "Correct the field; `kubectl explain pod.spec` lists those that there are."

KUBERNETES_OBJECTS_VALID = StackPolicy(
    "kubernetes-objects-valid",
    "Pods and quotas must have fields, values and tolerations that Kubernetes takes, in a version "
    "that it serves.",
    check=edge_check("kubernetes-objects-valid", stack_file=_STACK_FILE),
    applies_to=kinds.WORKLOADS,
    severity=Severity.MEDIUM,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
