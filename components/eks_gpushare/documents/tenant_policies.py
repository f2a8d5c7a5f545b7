"""The admission policies of tenants, out of `data/tenant-policies.yaml`.

Conditions in capitals stand for expressions that are needed several times, since CEL has no
functions of one's own. Sources: https://kubernetes.io/docs/reference/using-api/cel/; for variables
and mounts `internal/config/image` and `internal/modifier` of NVIDIA/nvidia-container-toolkit; for
annotations `plugins/device-injector` of containerd/nri; for queues `pkg/controller/jobframework` of
kubernetes-sigs/kueue.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).parent / "data" / "tenant-policies.yaml"

_NAMES = (
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_MIG_CONFIG_DEVICES",
    "NVIDIA_MIG_MONITOR_DEVICES",
    "NVIDIA_IMEX_CHANNELS",
    "NVIDIA_NVSWITCH",
    "NVIDIA_MOFED",
)
"""Variables by which the container toolkit gives devices."""
_BEGINNING = "CUDA_MPS_"
"""Of the variables that say which MPS server a program has, and how much of it."""

OF_QUEUES = ("queued-pods", "queued-jobs")
"""Parts of the names of policies for tenants alone whose pods Kueue admits."""
_CLAIMS = {"resourceclaims": "object.spec", "resourceclaimtemplates": "object.spec.spec"}


@cache
def validating_policies() -> dict[str, dict[str, Any]]:
    """The specs of the ValidatingAdmissionPolicies, by the part of the name that tells them apart.

    Their parameters are a ConfigMap with the keys `tenant`, `poolLabel` and, each a list with
    commas, `pools`, `resources`, `taintKeys` and `deviceClasses`.
    """
    # By libyaml: a preview would spend as long here as on all that tenants register.
    from eks_gpushare.documents.go_yaml import first_document

    text = re.sub(
        r"\b(NAME|PREFIX)\(((?:[^()]|\([^()]*\))*)\)", _condition, _FILE.read_text("utf-8")
    )
    data = first_document(text)
    specs = {part: _spec(data[part]) for part in ("pods", "variables", "networks", *OF_QUEUES)}
    for resource, spec in _CLAIMS.items():
        specs[resource.removeprefix("resource")] = _spec(_filled(data["claims"], resource, spec))
    return specs


def _filled(value: Any, resource: str, spec: str) -> Any:
    """A part of the file with what its words in capitals stand for."""
    if isinstance(value, dict):
        return {key: _filled(each, resource, spec) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, resource, spec) for each in value]
    if isinstance(value, str):
        return value.replace("RESOURCE", resource).replace("SPEC", spec)
    return value


def _condition(found: re.Match[str]) -> str:
    given = found[2]
    if found[1] == "NAME":
        return f"({given} in {list(_NAMES)} || {given}.startsWith('{_BEGINNING}'))"
    halves = " || ".join(f"'{name}'.startsWith({given})" for name in (*_NAMES, _BEGINNING))
    return f"({given} != '' && ({halves} || {given}.startsWith('{_BEGINNING}')))"


def _spec(data: dict[str, Any]) -> dict[str, Any]:
    return {
        "failurePolicy": "Fail",
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {"resourceRules": data["rules"]},
        "matchConditions": data["matchConditions"],
        "variables": [
            {"name": name, "expression": expression}
            for name, expression in data["variables"].items()
        ],
        "validations": [
            {"expression": each["expression"], "messageExpression": each["message"]}
            for each in data["validations"]
        ],
    }


@cache
def mutating_policy() -> dict[str, Any]:
    """The spec of the MutatingAdmissionPolicy that lets pods find the pool of what they ask for.

    Of the same ConfigMap it reads `poolOf`, entries `resource=pool` where one pool alone has the
    resource, and `tolerations`, entries `pool=key:effect`.
    """
    from eks_gpushare.documents.go_yaml import first_document

    data = first_document(_FILE.read_text("utf-8"))["placement"]
    made = _spec({**data, "validations": []})
    del made["validations"]
    patches = [
        {"patchType": "JSONPatch", "jsonPatch": {"expression": each}} for each in data["mutations"]
    ]
    return {**made, "reinvocationPolicy": "IfNeeded", "mutations": patches}
