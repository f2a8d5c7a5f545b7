"""What runs on nodes without GPUs, and what it takes: whether system nodes are large enough.

GPU nodes are tainted, so all that a stack installs besides DaemonSets of GPUs has its place on the
system nodes. What it requests, read 2026-11-22: of EKS's add-ons the DaemonSet of vpc-cni 25m for
each of its two containers, kube-proxy 100m, CoreDNS 100m and 70 MiB for each of two replicas, the
EBS CSI driver 10m and 40 MiB for each container (their manifests, as `kubectl -n kube-system get`
shows them); eks-node-monitoring-agent 1.7.0; node-feature-discovery 0.19.0, the subchart of
nvidia-device-plugin 0.20.0 and of gpu-operator (values.yaml of each). Read 2026-11-28: CloudWatch's
add-on (see `cloudwatch`) and kube-prometheus-stack 88.5.3, as helm renders them with the values of
a stack, and Alertmanager as its operator makes it. Karpenter's chart requests nothing; what each
copy is given here is in sharing/karpenter/controller.py.
"""

from __future__ import annotations

from functools import reduce
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.config.base import known_fields
from eks_gpushare.config.cluster import NewCluster
from eks_gpushare.config.sharing import Mig
from eks_gpushare.documents.helm import value_at
from eks_gpushare.sharing.cloudwatch import makes_addon
from eks_gpushare.sharing.nodes import allocatable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.config.cluster import Addons
    from eks_gpushare.config.environment import Environment


class SystemLoad(NamedTuple):
    """What pods take."""

    pods: int
    cpu_millis: int
    memory_mib: int
    names: tuple[str, ...] = ()

    def and_(self, other: SystemLoad) -> SystemLoad:
        """Both together."""
        return SystemLoad(
            self.pods + other.pods,
            self.cpu_millis + other.cpu_millis,
            self.memory_mib + other.memory_mib,
            self.names + other.names,
        )


_ON_EACH_NODE = (
    SystemLoad(1, 50, 0, ("aws-node",)),
    SystemLoad(1, 100, 0, ("kube-proxy",)),
    SystemLoad(1, 0, 0, ("the Pod Identity agent",)),
    SystemLoad(1, 10, 30, ("the node monitoring agent",)),
)
_EBS_NODE = SystemLoad(1, 30, 120, ("the EBS CSI driver",))
_COREDNS = SystemLoad(2, 200, 140, ("CoreDNS",))
_EBS_CONTROLLER = SystemLoad(2, 120, 480, ("the EBS CSI controller",))
_NFD = SystemLoad(2, 110, 256, ("node feature discovery",))
_OPERATOR = SystemLoad(1, 200, 100, ("the GPU Operator",))
_TAINT_REMOVER = SystemLoad(1, 10, 64, ("the controller for MIG's taint",))
_KARPENTER_CPU, _KARPENTER_LEAST_MIB = 500, 1024
_MIB_PER_NODE = 2.5
"""What Karpenter holds of each node: 541 MB at 200 and 2,377 MB at 1,000, docs/lab-scale.md."""
_STEP_MIB = 256
_KEDA = SystemLoad(1, 100, 100)
"""Each of the pods of KEDA: its operators, the metrics adapter and the webhooks (values.yaml of
keda 2.20.2)."""
_CLOUDWATCH_NODE = SystemLoad(2, 300, 158, ("CloudWatch's agent and node exporter",))
_CLOUDWATCH_EXPORTER = SystemLoad(1, 250, 128, ("CloudWatch's exporter",))
"""What the add-on puts on nodes with GPUs besides."""
_DCGM_EXPORTER = SystemLoad(1, 100, 128, ("the exporter",))
"""The exporter as its own chart has it (dcgm-exporter 4.8.2)."""
_CLOUDWATCH = SystemLoad(3, 400, 256, ("CloudWatch's add-on",))
_PROMETHEUS = SystemLoad(5, 0, 200, ("Prometheus",))
_STATE_METRICS = SystemLoad(1, 0, 0, ("kube-state-metrics",))
_PREFIX_PODS = 110


def on_each_node(environment: Environment) -> SystemLoad:
    """DaemonSets of a system node."""
    addons = known_addons(environment)
    own = (_EBS_NODE,) if addons is not None and addons.ebs_csi else ()
    watched = (_CLOUDWATCH_NODE,) if has_cloudwatch(environment) else ()
    return _sum((*_ON_EACH_NODE, *own, *watched))


def has_cloudwatch(environment: Environment) -> bool:
    """Whether the stack gives its cluster CloudWatch's add-on for its metrics."""
    return isinstance(environment.cluster, NewCluster) and makes_addon(environment.observability)


def exporter_load(environment: Environment) -> SystemLoad:
    """What measures GPUs, on each node of a pool; the GPU Operator's requests nothing."""
    from eks_gpushare.sharing.exporter import collects

    stack = known_fields(environment).get("gpu_stack")
    if has_cloudwatch(environment):
        return _CLOUDWATCH_EXPORTER
    own = stack is None or stack.manager == "devicePlugin"
    asked = stack is not None and bool(stack.dcgm_exporter)
    there = own and (asked or collects(environment.observability))
    return _DCGM_EXPORTER if there else SystemLoad(0, 0, 0)


def known_addons(environment: Environment) -> Addons | None:
    """What is said of the add-ons of a new cluster, None if there is none or it is not known.

    Args:
        environment: The environment, which may be read in part.
    """
    cluster = environment.cluster
    known = known_fields(cluster) if isinstance(cluster, NewCluster) else {}
    return known.get("addons")


def for_the_cluster(environment: Environment) -> SystemLoad:
    """What a stack puts on its system nodes, wherever among them."""
    if "pools" not in known_fields(environment):  # nodes that stand alone
        return SystemLoad(1, 0, 0, ("the pods of the cluster",))
    cluster = environment.cluster
    loads = [_NFD]
    if isinstance(cluster, NewCluster):
        loads.append(_COREDNS)
        if (addons := known_addons(environment)) is not None and addons.ebs_csi:
            loads.append(_EBS_CONTROLLER)
    if environment.gpu_stack.manager == "gpuOperator":
        loads.append(_OPERATOR)
        if any(
            isinstance(pool.sharing, Mig) and pool.sharing.apply == "migManager"
            for pool in environment.pools.values()
        ):
            loads.append(_TAINT_REMOVER)
    keda = environment.keda
    if keda is not None and keda.install:
        count = keda.replicas + 2
        loads.append(
            SystemLoad(count, count * _KEDA.cpu_millis, count * _KEDA.memory_mib, ("KEDA",))
        )
    return _sum([*loads, *_collecting(environment), *_karpenter(environment)])


def _collecting(environment: Environment) -> list[SystemLoad]:
    """What collects and keeps metrics."""
    from eks_gpushare.sharing.exporter import makes_collector

    block = environment.observability
    if has_cloudwatch(environment):
        return [_CLOUDWATCH]
    if block is None or block.prometheus is None or not block.prometheus.install:
        return []
    return [_STATE_METRICS if makes_collector(block) else _PROMETHEUS]


def _karpenter(environment: Environment) -> list[SystemLoad]:
    """Every copy of Karpenter."""
    block, copy = environment.karpenter, karpenter_copy(environment)
    copies = 2 if block is None else block.replicas
    if copy is None:
        return []
    cpu, mib = copy.cpu_millis * copies, copy.memory_mib * copies
    return [SystemLoad(copies, cpu, mib, copy.names)]


def karpenter_copy(environment: Environment) -> SystemLoad | None:
    """One pod of Karpenter, the largest of all: no node helps another to have room for it.

    Of values of the user's own, what they request is not known here. None where it is not there.
    """
    if "pools" not in known_fields(environment):  # nodes that stand alone
        return None
    block, pools = environment.karpenter, environment.pools.values()
    if block is None and not any(pool.provisioner == "karpenter" for pool in pools):
        return None
    if block is not None and not block.install:
        return None
    given = value_at(environment.charts.karpenter.values, "controller.resources")
    cpu, mib = (_KARPENTER_CPU, karpenter_memory_mib(environment)) if given is None else (0, 0)
    return SystemLoad(1, cpu, mib, ("Karpenter",))


def karpenter_memory_mib(environment: Environment) -> int:
    """Memory of each copy of Karpenter in MiB: what its guide gives it, or more for many nodes.

    Args:
        environment: The environment; pools whose `nodes.max` is not known count nothing.
    """
    pools = environment.pools.values()
    nodes = sum(pool.nodes.max or 0 for pool in pools if pool.provisioner == "karpenter")
    steps = ceil(nodes * _MIB_PER_NODE / _STEP_MIB)
    return max(_KARPENTER_LEAST_MIB, steps * _STEP_MIB)


def room(instance_type: InstanceType, environment: Environment) -> SystemLoad:
    """What a node of a type has for pods besides its DaemonSets; what is not known is plenty."""
    system, addons = environment.system, known_addons(environment)
    own = (system.kubelet or {}).get("maxPods") if system is not None else None
    left = allocatable(instance_type)
    pods = left.pods if left.pods is not None else _PREFIX_PODS
    if addons is not None and addons.prefix_delegation:
        pods = max(pods, _PREFIX_PODS)
    if isinstance(own, int):
        pods = own
    taken = on_each_node(environment)
    return SystemLoad(
        pods - taken.pods,
        left.cpu_millis - taken.cpu_millis,
        left.memory_mib - taken.memory_mib,
    )


def _sum(loads: Iterable[SystemLoad]) -> SystemLoad:
    return reduce(SystemLoad.and_, loads)
