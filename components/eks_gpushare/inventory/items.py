"""The items of an inventory, each in the words of Kubernetes, whoever wrote it in what format.

Every field may be `UNKNOWN`. Mappings and pod templates are plain values as YAML gives them, in
which single values may be `UNKNOWN` too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.source import Maybe, Source

Provisioner: TypeAlias = Literal["managed", "selfManaged", "karpenter", "autoMode", "byHand"]
"""Who makes nodes: EKS, an Auto Scaling group of one's own, Karpenter, EKS Auto Mode, a person."""


class NodeTaint(NamedTuple):
    """A taint of nodes, its effect as Kubernetes spells it."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        """As `kubectl taint` has it."""
        return (
            f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """Nodes that one declaration makes or describes: a node group, a NodePool, labelled nodes."""

    source: Source
    name: Maybe[str]
    provisioner: Provisioner
    instance_types: Maybe[tuple[str, ...]] = ()
    """Empty where nothing says which."""
    labels: Maybe[Mapping[str, Any]] = field(default_factory=dict)
    """Labels that the declaration itself sets, not those of feature discovery."""
    taints: Maybe[tuple[NodeTaint, ...]] = ()
    startup_taints: Maybe[tuple[NodeTaint, ...]] = ()
    """Taints that something takes away once the node is ready."""
    promised: Maybe[Mapping[str, Any]] = field(default_factory=dict)
    """Extended resources that the declaration tells an autoscaler of, by tags: name to count."""
    ami: Maybe[str] = ""
    """AMI type, alias or family as written, or the ID of an image; empty where EKS decides."""
    user_data: Maybe[str] = ""
    """As the node gets it, decoded."""
    least: Maybe[int | None] = None
    """Fewest nodes."""
    most: Maybe[int | None] = None
    """Most nodes."""
    limits: Maybe[Mapping[str, Any]] = field(default_factory=dict)
    """What a NodePool limits, by resource."""
    advertised: Mapping[str, Mapping[str, int]] | None = None
    """Extended resources of a node by instance type, where it is known by itself, as of a plan.

    None where it follows from the device plugin's configuration and the labels."""
    cluster: str = ""
    """Items of one cluster have the same. Empty where only one is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """What Karpenter is told that nodes will have: a NodeOverlay."""

    source: Source
    name: Maybe[str]
    requirements: Maybe[tuple[Mapping[str, Any], ...]] = ()
    """As in `spec.requirements`."""
    capacity: Maybe[Mapping[str, Any]] = field(default_factory=dict)
    weight: Maybe[int] = 0
    cluster: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A Helm chart with the values that it is installed with."""

    source: Source
    name: Maybe[str]
    chart: str
    """The chart's own name: `nvidia-device-plugin`, `gpu-operator`, `dcgm-exporter`, ..."""
    version: Maybe[str] = ""
    namespace: Maybe[str] = "default"
    values: Maybe[Mapping[str, Any]] = field(default_factory=dict)
    """All values given, merged as Helm does it; not the chart's defaults."""
    paths: Mapping[tuple[str, ...], FieldPath] = field(default_factory=dict)
    """Where in the document a value stands, if not below `source.path` under its own path."""
    cluster: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigMap:
    """A ConfigMap."""

    source: Source
    name: Maybe[str]
    namespace: Maybe[str] = "default"
    data: Maybe[Mapping[str, Any]] = field(default_factory=dict)
    """Texts by key, `binaryData` decoded among them."""
    cluster: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A pod, or something that makes pods from a template."""

    source: Source
    kind: str
    name: Maybe[str]
    namespace: Maybe[str] = "default"
    replicas: Maybe[int | None] = 1
    """None where nodes or another controller decide, as with a DaemonSet."""
    labels: Maybe[Mapping[str, Any]] = field(default_factory=dict)
    """Of the pods."""
    spec: Maybe[Mapping[str, Any]] = field(default_factory=dict)
    """The pod's spec."""
    spec_path: FieldPath = ()
    """Its place below `source.path`: `("spec", "template", "spec")`."""
    cluster: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A ResourceQuota of a namespace, or the quota of a ClusterQueue."""

    source: Source
    kind: str
    name: Maybe[str]
    namespace: Maybe[str] = "default"
    hard: Maybe[Mapping[str, Any]] = field(default_factory=dict)
    """Resource, without `requests.`, to quantity."""
    cluster: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A namespace with its labels."""

    source: Source
    name: Maybe[str]
    labels: Maybe[Mapping[str, Any]] = field(default_factory=dict)
    cluster: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceClaim:
    """A ResourceClaim, ResourceClaimTemplate or DeviceClass of dynamic resource allocation."""

    source: Source
    kind: str
    name: Maybe[str]
    namespace: Maybe[str] = "default"
    spec: Maybe[Mapping[str, Any]] = field(default_factory=dict)
    cluster: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """What names pods, or the workload that makes them: a scaler, a Service, a budget."""

    source: Source
    kind: str
    """`ScaledObject`, `HorizontalPodAutoscaler`, `Service` or `PodDisruptionBudget`."""
    name: Maybe[str]
    namespace: Maybe[str] = "default"
    spec: Maybe[Mapping[str, Any]] = field(default_factory=dict)
    cluster: str = ""


Item: TypeAlias = (
    Nodes | Overlay | Release | ConfigMap | Workload | Quota | Namespace | DeviceClaim | Pointer
)
"""Any item."""
