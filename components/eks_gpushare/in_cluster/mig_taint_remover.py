"""The controller that takes the startup taint off nodes once MIG manager has made their layout.

Nothing ready-made does that. It is one pod that runs data/mig_taint_remover.py, which may list,
watch and patch nodes and nothing else.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pulumi
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.core.v1 import ServiceAccount
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs
from pulumi_kubernetes.rbac.v1 import ClusterRole, ClusterRoleBinding

from eks_gpushare.catalog import versions
from eks_gpushare.in_cluster.chart_parts import immutable_config_map
from eks_gpushare.sharing.labels import POOL_LABEL

if TYPE_CHECKING:
    from pulumi_kubernetes.core.v1 import AffinityArgsDict, PodSpecArgsDict

OBJECT_NAME = "eks-gpushare-mig-taint-remover"
"""Name of its objects in the cluster, which has one GPU Operator and so one of these."""
SCRIPT_KEY = "mig_taint_remover.py"
EXPECTED_KEY = "expected.json"

_SCRIPT = Path(__file__).parent / "data" / SCRIPT_KEY
_FOLDER = "/opt/eks-gpushare"
_HEARTBEAT = "/tmp/heartbeat"  # noqa: S108  (an emptyDir of the pod's own)
_STALE_SECONDS = 600
"""More than twice what the script waits for a silent API server."""
_USER = 65532
"""`nonroot` of images without a shell (https://github.com/GoogleContainerTools/distroless)."""
_LABELS = {"app.kubernetes.io/name": OBJECT_NAME, "app.kubernetes.io/part-of": "eks-gpushare"}


def register_mig_taint_remover(
    name: str,
    namespace: pulumi.Input[str],
    image: str | None,
    expected: Mapping[str, Any],
    opts: pulumi.ResourceOptions,
) -> Deployment:
    """Register the controller.

    Args:
        name: What the names of its resources start with.
        namespace: Namespace of all that has one.
        image: Image with Python 3.11 or later. None is Python's own from the catalog.
        expected: When a node of which pool is ready: `sharing.mig_manager.expected_nodes`.
        opts: Options that name the parent.
    """
    role = f"{name}-mig-taint-remover"
    account = ServiceAccount(
        role,
        metadata=_metadata(namespace),
        automount_service_account_token=False,  # the pod asks for it
        opts=opts,
    )
    _may_patch_nodes(role, account, opts)
    data = {SCRIPT_KEY: _script(), EXPECTED_KEY: json.dumps(expected, indent=2, sort_keys=True)}
    # A change is a new name, which the pod follows.
    script = immutable_config_map(role, OBJECT_NAME, namespace, data, opts, labels=_LABELS)
    pod = _pod(account.metadata.name, script.metadata.name, image or versions.PYTHON.reference)
    return Deployment(
        role,
        metadata=_metadata(namespace),
        spec={
            "replicas": 1,  # two would do no harm: each removal is tested by the API server
            "selector": {"match_labels": {"app.kubernetes.io/name": OBJECT_NAME}},
            "template": {"metadata": {"labels": _LABELS}, "spec": pod},
        },
        opts=opts,
    )


def _metadata(namespace: pulumi.Input[str] | None = None) -> ObjectMetaArgs:
    return ObjectMetaArgs(name=OBJECT_NAME, namespace=namespace, labels=_LABELS)


def _may_patch_nodes(role: str, account: ServiceAccount, opts: pulumi.ResourceOptions) -> None:
    """All that the script does; RBAC has no word for one taint alone."""
    made = ClusterRole(
        role,
        metadata=_metadata(),
        rules=[{"api_groups": [""], "resources": ["nodes"], "verbs": ["list", "patch", "watch"]}],
        opts=opts,
    )
    ClusterRoleBinding(
        role,
        metadata=_metadata(),
        role_ref={
            "api_group": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": made.metadata.name,
        },
        subjects=[
            {
                "kind": "ServiceAccount",
                "name": account.metadata.name,
                "namespace": account.metadata.namespace,
            }
        ],
        opts=opts,
    )


def _pod(
    account: pulumi.Input[str], config_map: pulumi.Input[str], image: str
) -> "PodSpecArgsDict":
    script = f"{_FOLDER}/{SCRIPT_KEY}"
    alive = ["python", "-I", script, "alive", str(_STALE_SECONDS)]
    return {
        "service_account_name": account,
        "automount_service_account_token": True,
        # Without it no new GPU node takes a pod, so it comes before what may wait.
        "priority_class_name": "system-cluster-critical",
        "affinity": _away_from_gpus(),
        "termination_grace_period_seconds": 5,
        "security_context": {
            "run_as_non_root": True,
            "run_as_user": _USER,
            "run_as_group": _USER,
            "seccomp_profile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": "mig-taint-remover",
                "image": image,
                "command": ["python", "-I", "-B", script],
                "env": [{"name": "HEARTBEAT_FILE", "value": _HEARTBEAT}],
                "resources": {
                    "requests": {"cpu": "10m", "memory": "64Mi"},
                    "limits": {"cpu": "200m", "memory": "128Mi"},
                },
                "security_context": {
                    "allow_privilege_escalation": False,
                    "read_only_root_filesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                "liveness_probe": {
                    "exec_": {"command": alive},
                    "initial_delay_seconds": 60,
                    "period_seconds": 120,
                    "timeout_seconds": 20,
                },
                "volume_mounts": [
                    {"name": "script", "mount_path": _FOLDER, "read_only": True},
                    {"name": "tmp", "mount_path": str(Path(_HEARTBEAT).parent)},
                ],
            }
        ],
        "volumes": [
            {"name": "script", "config_map": {"name": config_map}},
            {"name": "tmp", "empty_dir": {"medium": "Memory", "size_limit": "1Mi"}},
        ],
    }


def _away_from_gpus() -> "AffinityArgsDict":
    """A GPU node would have to be freed by a pod that waits for it."""
    return {
        "node_affinity": {
            "required_during_scheduling_ignored_during_execution": {
                "node_selector_terms": [
                    {
                        "match_expressions": [
                            {"key": POOL_LABEL, "operator": "DoesNotExist"},
                            {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
                        ]
                    }
                ]
            }
        }
    }


@cache
def _script() -> str:
    return _SCRIPT.read_text(encoding="utf-8")
