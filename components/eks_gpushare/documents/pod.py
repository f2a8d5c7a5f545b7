"""The pod that asks for one share of a pool, as a document."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_IMAGE = "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0"
"""NVIDIA's sample that adds two vectors on the GPU it gets, and ends."""
_ORDER = ("key", "operator", "value", "effect", "tolerationSeconds")
"""As people write a toleration."""
_LONGEST_NAME = 63
"""https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names"""
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


def pod_manifest(
    name: str,
    resource: str,
    node_selector: Mapping[str, str],
    tolerations: Sequence[Mapping[str, str]],
) -> dict[str, Any]:
    """A whole pod that Kubernetes takes, with one container and one share.

    Args:
        name: What to call it, made into a name that Kubernetes takes.
        resource: What it asks for. It stands under the limits, which are the requests of a
            resource that no node has by itself.
        node_selector: Labels of the pool's nodes.
        tolerations: What it has to tolerate there.
    """
    spec: dict[str, Any] = {"nodeSelector": dict(node_selector)}
    if tolerations:
        spec["tolerations"] = [in_order(toleration) for toleration in tolerations]
    limits = {"limits": {resource: 1}}
    spec["containers"] = [{"name": "main", "image": _IMAGE, "resources": limits}]
    spec["restartPolicy"] = "OnFailure"
    named = _NOT_IN_NAMES.sub("-", name.lower()).strip("-")[:_LONGEST_NAME].strip("-")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": named or "gpu"},
        "spec": spec,
    }


def in_order(toleration: Mapping[str, Any]) -> dict[str, Any]:
    """A toleration with its keys in the order in which people write them."""
    return {key: toleration[key] for key in _ORDER if key in toleration}


def as_yaml(document: Mapping[str, Any]) -> str:
    """A document as YAML, in the order in which it was made."""
    return str(yaml.safe_dump(document, sort_keys=False, width=1000, allow_unicode=True))
