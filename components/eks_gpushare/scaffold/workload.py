"""Pods for a first try: what the plan of a pool says they must request, select and tolerate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.sharing.plan import PoolPlan

IMAGE = "nvcr.io/nvidia/cuda:12.5.0-base-ubuntu22.04"
_MOST_PODS = 4
_HEAD = """\
# Pods on the GPUs of stack {stack}: each prints the GPU that it sees, and stays.
# Without a GPU or a cloud account: eks-gpushare lab run {stack} --apply {file}
# On the cluster: kubectl apply -f {file}
"""


def workload(plan: PoolPlan, stack: str, file: str) -> str:
    """A Deployment for each kind of share that one node has.

    Args:
        plan: Of the pool.
        stack: Name of the stack.
        file: Name of the file that this becomes.
    """
    documents = [
        yaml.safe_dump(deployment, sort_keys=False, default_flow_style=False)
        for deployment in _deployments(plan)
    ]
    return _HEAD.format(stack=stack, file=file) + "---\n".join(documents)


def _deployments(plan: PoolPlan) -> Iterator[dict[str, Any]]:
    shares = next(iter(plan.shares.values()))
    for share in shares:
        name = "gpu-test"
        if len(shares) > 1:
            name += "-" + share.resource.rpartition("/")[2].replace(".", "-").lower()
        yield {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name},
            "spec": {
                "replicas": min(share.per_node * max(plan.sizes.desired, 1), _MOST_PODS),
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": _pod(plan, share.resource),
                },
            },
        }


def _pod(plan: PoolPlan, resource: str) -> dict[str, Any]:
    return {
        "nodeSelector": dict(plan.node_selector),
        "tolerations": [dict(toleration) for toleration in plan.tolerations],
        "containers": [
            {
                "name": "cuda",
                "image": IMAGE,
                "command": ["sh", "-c", "nvidia-smi -L && sleep infinity"],
                "resources": {"limits": {resource: 1}},
            }
        ],
    }
