"""What Cluster Autoscaler is told: of nodes that are not there yet, and how to work.

Of a managed node group at 0 nodes it reads labels, taints and tags by `eks:DescribeNodegroup`. Tags
below `k8s.io/cluster-autoscaler/node-template/resources/` go over what it knows of the first of the
group's instance types, and so over `nvidia.com/gpu` too: `buildNodeFromTemplate` in
cloudprovider/aws/aws_manager.go of kubernetes/autoscaler, the same from 1.33 to 1.36, read
2026-11-22. Its other labels and taints need no tags.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.autoscaler_tags import ACCELERATOR_LABEL, AUTOSCALER_TAGS, RESOURCE_TAGS
from eks_gpushare.config.sharing import Mig
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.facts.karpenter_pools import AGENT_TAINTS
from eks_gpushare.sharing.autoscaling import promised
from eks_gpushare.sharing.efa import EFA
from eks_gpushare.sharing.labels import MIG_LABEL, POOL_LABEL
from eks_gpushare.sharing.nodes import allocatable, sizes
from eks_gpushare.sharing.plan import startup_taints
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eks_gpushare.catalog import Catalog
    from eks_gpushare.config.autoscaling import ClusterAutoscaler
    from eks_gpushare.config.pools import NodeCounts, Pool
    from eks_gpushare.sharing.plan import PoolPlan


NAME = "cluster-autoscaler"
"""Of its release, Deployment and ServiceAccount: a cluster has one."""
TEMPLATES = "eks-gpushare/node-templates"
"""Annotation of its pods: another one, and Helm starts them anew."""
_DIGITS = 12
_TEMPLATE_PODS = 110
"""Pods that the template of a node can run, whatever its type."""
_TESLAS = frozenset({"K80", "P100", "V100", "T4", "A100"})
"""GPUs that are called Tesla in `availableGPUTypes` of cloudprovider/aws/aws_cloud_provider.go. The
value of the label is for metrics only."""
_OF_VOLUME = 0.88
"""Part of a volume that is left for pods: the file system takes 2 in a hundred, and below 10 free
kubelet evicts (https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/)."""
_RESERVED_GIB = 1
"""What nodeadm reserves of it (kubeReserved in internal/kubelet of awslabs/amazon-eks-ami)."""
_GIB_PER_GB = 10**9 / 2**30


def owned_tag(cluster: str) -> str:
    """Tag that EKS puts on the Auto Scaling groups of a cluster, with the value `owned`."""
    return f"{AUTOSCALER_TAGS}{cluster}"


def scaled_by_it(pool: Pool) -> bool:
    """Whether a Cluster Autoscaler decides the size of the pool, the stack's or another."""
    return pool.scaled_by == "autoscaler" and pool.provisioner == "managedNodeGroup"


def template_tags(plan: PoolPlan, catalog: Catalog) -> dict[str, str]:
    """Tags of the node group that say what one of its nodes will have.

    Where types differ, which the rules refuse of what they advertise, the least of each.

    Args:
        plan: Plan of a pool that an autoscaler scales; of others there are none.
        catalog: Where the instance types are looked up.
    """
    pool = plan.pool
    if not scaled_by_it(pool):
        return {}
    nodes = [{**promised(plan, name), **_interfaces(plan, name)} for name in pool.instance_types]
    resources = dict.fromkeys(resource for node in nodes for resource in node)
    told = {resource: str(min(node.get(resource, 0) for node in nodes)) for resource in resources}
    pods, gib = _pods(pool, catalog), _storage_gib(pool, catalog)
    if pods is not None:
        told["pods"] = str(pods)
    if gib is not None:
        told["ephemeral-storage"] = f"{gib}Gi"
    return {f"{RESOURCE_TAGS}{resource}": value for resource, value in told.items()}


def node_template(plan: PoolPlan, catalog: Catalog) -> str:
    """A digest of what Cluster Autoscaler believes of a node of the pool before there is one.

    Labels that a program knows later are no part of it.
    """
    labels: Mapping[str, Any] = group_labels(plan, catalog)
    told = [
        list(plan.pool.instance_types),
        template_tags(plan, catalog),
        {key: value for key, value in labels.items() if isinstance(value, str)},
        [taint.for_eks() for taint in plan.taints],
    ]
    return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:_DIGITS]


def _interfaces(plan: PoolPlan, instance_type: str) -> dict[str, int]:
    count = plan.per_node[instance_type].get(EFA)
    return {} if count is None else {EFA: count}


def _pods(pool: Pool, catalog: Catalog) -> int | None:
    """Where a node runs more pods than its template, or is told how many.

    Of smaller types the addresses decide, which a pool does not know of its cluster; there the
    first node corrects the template.
    """
    given = (pool.kubelet or {}).get("maxPods")
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    types = [found for name in pool.instance_types if (found := catalog.find(name)) is not None]
    pods = [allocatable(instance_type).pods for instance_type in types]
    least = min((pod for pod in pods if pod is not None), default=0)
    return least if None not in pods and least > _TEMPLATE_PODS else None


def _storage_gib(pool: Pool, catalog: Catalog) -> int | None:
    """Without it, pods that ask for ephemeral storage get no first node."""
    size: float = pool.root_volume_gib
    if pool.local_storage is not None:
        types = [catalog.find(name) for name in pool.instance_types]
        size = (
            min(
                (instance_type.nvme_gb or 0 if instance_type else 0 for instance_type in types),
                default=0,
            )
            * _GIB_PER_GB
        )
    left = int(size * _OF_VOLUME) - _RESERVED_GIB
    return left if left > 0 else None


def group_labels(plan: PoolPlan, catalog: Catalog) -> dict[str, str]:
    """All labels of a node group: those of its nodes, and by which an autoscaler waits for GPUs.

    With the label, a node whose device plugin is not there yet counts as one that is starting;
    without, pods find no room on it, and another node is launched. But it counts so for as long as
    it has no `nvidia.com/gpu`, other resources do not count (`FilterOutNodesWithUnreadyResources`
    in processors/customresources/gpu_processor.go, 1.33 to 1.36). So nodes whose shares have
    another name go without: they would never be ready. Seen with 1.33: of two waves of pods the
    second gets no node, for the first one's nodes count as still to come, and empty.
    """
    labels = dict(plan.labels)
    if ACCELERATOR_LABEL not in labels and shows_gpus(plan):
        labels[ACCELERATOR_LABEL] = accelerator(plan.pool, catalog)
    return labels


def shows_gpus(plan: PoolPlan) -> bool:
    """Whether it is a pool that an autoscaler scales, all nodes of which have `nvidia.com/gpu`."""
    types = plan.pool.instance_types
    return scaled_by_it(plan.pool) and all(promised(plan, name)[GPU] > 0 for name in types)


def accelerator(pool: Pool, catalog: Catalog) -> str:
    """The GPU of a pool as Cluster Autoscaler calls it, such as `nvidia-a10g`."""
    found = catalog.find(min(pool.instance_types))
    model = found.gpu.model if found is not None and found.gpu is not None else "gpu"
    kind = "tesla-" if model in _TESLAS else ""
    return f"nvidia-{kind}{model.lower().replace(' ', '-')}"


def startup_taint_keys(pools: Iterable[Pool]) -> tuple[str, ...]:
    """Keys of the taints that nodes join with and lose again."""
    return tuple(sorted({key for pool in pools for key in _taints_that_go(pool)}))


def agent_taint_keys(pool: Pool) -> tuple[str, ...]:
    """Keys of those of a pool's own taints that go once an agent runs on the node."""
    return tuple(taint.key for taint in pool.taints if taint.key in AGENT_TAINTS)


def _taints_that_go(pool: Pool) -> tuple[str, ...]:
    return (*(taint.key for taint in startup_taints(pool)), *agent_taint_keys(pool))


def status_taint_keys(pools: Iterable[Pool]) -> tuple[str, ...]:
    """Keys of the taints by which single nodes say that something is wrong with them."""
    return (MIG_LABEL,) if any(_boots(pool) for pool in pools) else ()


def _boots(pool: Pool) -> bool:
    if not isinstance(pool.sharing, Mig):
        return False
    from eks_gpushare.sharing.mig_boot import boots

    return boots(pool)


def flags(
    spec: ClusterAutoscaler, startup_taints: Iterable[str] = (), status_taints: Iterable[str] = ()
) -> dict[str, Any]:
    """The controller's flags, as the chart's `extraArgs` has them, but for which groups it scales.

    A key is the flag up to its first `_`; what follows only tells repeated ones apart.

    Args:
        spec: What the stack says of it.
        startup_taints: Keys of taints that nodes lose when they are ready.
        status_taints: Keys of taints of nodes with something wrong.
    """
    return {
        "expander": spec.expander,
        "balance-similar-node-groups": False,
        "ignore-daemonsets-utilization": True,
        "scale-down-delay-after-add": spec.scale_down_delay_after_add,
        "scale-down-unneeded-time": spec.scale_down_after,
        # The first counts shares of nvidia.com/gpu; the second CPU and memory, where nodes have
        # shares of another name.
        "scale-down-gpu-utilization-threshold": spec.utilization_threshold,
        "scale-down-utilization-threshold": spec.utilization_threshold,
        # Pods with an emptyDir, as most with GPUs have for /dev/shm, are not moved.
        "skip-nodes-with-local-storage": True,
        "skip-nodes-with-system-pods": False,
        **_numbered("startup-taint", startup_taints),
        **_numbered("status-taint", status_taints),
    }


def _numbered(flag: str, values: Iterable[Any]) -> dict[str, Any]:
    """A flag that may be repeated."""
    return {f"{flag}_{number}": value for number, value in enumerate(values, start=1)}


def scaling_group(name: Any, nodes: NodeCounts) -> dict[str, Any]:
    """An Auto Scaling group as the chart has it, which makes `--nodes=MIN:MAX:NAME` of it.

    Groups are named, not discovered by their tags: EKS puts the same on those of all node groups,
    and the stack would set the size of the others back at every update. To tell them apart by
    `eks:nodegroup-name` takes a flag for each, and Cluster Autoscaler makes one filter of the tags
    of all such flags, so that it finds only the group of the last (`buildAsgTags` in
    cloudprovider/aws/auto_scaling_groups.go, 1.33 to 1.36, read 2026-11-22). Of a named group the
    sizes in the flag count, not those that AWS has.

    Args:
        name: Its name; may be known later.
        nodes: How many nodes the pool may have.
    """
    size = sizes(nodes)
    return {"name": name, "minSize": size.min, "maxSize": size.max}


def group_pattern(group: str) -> str:
    """What the name of the Auto Scaling group of a node group matches: `eks-<group>-<UUID>`."""
    return f"(^|-){group}(-|$)"


def controller_values(
    spec: ClusterAutoscaler,
    *,
    tag: str | None,
    image: str,
    region: Any,
    groups: Sequence[Mapping[str, Any]],
    patterns: Mapping[int, Sequence[Any]],
    startup_taints: Iterable[str],
    status_taints: Iterable[str],
    templates: Sequence[str] = (),
    given: Mapping[str, Any],
) -> dict[str, Any]:
    """Values of the chart. Those of type Any may be known later; they are only put in place.

    Args:
        spec: What the stack says of it.
        tag: Tag of its image; None if `given` has one.
        image: Repository of its image.
        region: AWS region: pods do not reach what would tell it.
        groups: Those that it scales: `scaling_group`.
        patterns: What names of groups match, by priority; only for the priority expander.
        startup_taints: Keys of taints that nodes lose when they are ready.
        status_taints: Keys of taints of nodes with something wrong.
        templates: What is believed of a node of each pool: `node_template`.
        given: The user's values, which go over the derived ones.
    """
    derived: dict[str, Any] = {
        "fullnameOverride": NAME,
        "cloudProvider": "aws",
        "awsRegion": region,
        "autoscalingGroups": [dict(group) for group in groups],
        "extraArgs": flags(spec, startup_taints, status_taints),
        "image": {"repository": image, **({"tag": tag} if tag is not None else {})},
        "replicaCount": spec.replicas,
        "rbac": {"serviceAccount": {"name": NAME}},
        "podDisruptionBudget": {"maxUnavailable": 1},
        "priorityClassName": "system-cluster-critical",
        "affinity": _AWAY_FROM_GPUS,
        "topologySpreadConstraints": [_SPREAD],
        # As examples/cluster-autoscaler-autodiscover.yaml of its AWS provider asks for.
        "resources": {
            "requests": {"cpu": "100m", "memory": "600Mi"},
            "limits": {"memory": "1Gi"},
        },
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65534,
            "runAsGroup": 65534,
            "fsGroup": 65534,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containerSecurityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    if templates:
        # It remembers a node that it has seen for ten years (`--node-info-cache-expire-time`), and
        # goes by it where a group is empty, whatever the group's tags say since. Another pod has
        # seen none: https://github.com/kubernetes/autoscaler/issues/6452
        derived["podAnnotations"] = {TEMPLATES: " ".join(templates)}
    if patterns:
        derived["expanderPriorities"] = {str(n): list(names) for n, names in patterns.items()}
    return merge_values(derived, given, keep_null=True)


_AWAY_FROM_GPUS = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": POOL_LABEL, "operator": "DoesNotExist"},
                        {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
                    ]
                }
            ]
        }
    }
}
"""On a GPU node it would keep the node from going, or go with it."""
_SPREAD = {
    "maxSkew": 1,
    "topologyKey": "kubernetes.io/hostname",
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": {"matchLabels": {"app.kubernetes.io/instance": NAME}},
}
