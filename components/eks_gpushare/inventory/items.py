"""The items of an inventory, each in the words of Kubernetes, whoever wrote it in what format.

Every field may be `UNKNOWN`. Mappings and pod templates are plain values as YAML gives them, in
which single values may be `UNKNOWN` too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from eks_gpushare.catalog.quotas import Capacity
    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.source import Maybe, Source

PART_OF_POD = "part of a pod"
"""The `kind` of a workload of which only some fields are shown, so that nothing can be concluded
from those that are not."""

NOTEBOOK = "notebook of JupyterHub"
"""The `kind` of a workload that stands for the pods of a profile, of which all is known that says
where they go."""

Provisioner: TypeAlias = Literal["managed", "selfManaged", "karpenter", "autoMode", "byHand"]
"""Who makes nodes: EKS, an Auto Scaling group of one's own, Karpenter, EKS Auto Mode, a person."""


class NodeTaint(NamedTuple):
    """A taint of nodes, its effect as Kubernetes spells it."""

    key: str
    value: str
    effect: str

    @classmethod
    def parse(cls, written: str) -> NodeTaint:
        """What `kubectl taint` takes for one, with empty texts for what is not written."""
        pair, _, effect = written.rpartition(":")
        key, _, value = pair.partition("=")
        return cls(key, value, effect)

    def __str__(self) -> str:
        """As `kubectl taint` has it."""
        return (
            f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What every item has."""

    source: Source
    name: Maybe[str]
    cluster: str = ""
    """Items of one cluster have the same. Empty where only one is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespaced(Named):
    """What an item within a namespace has."""

    namespace: Maybe[str] = "default"


class NodeVolume(NamedTuple):
    """A volume that machines are started with."""

    device: Maybe[str]
    encrypted: Maybe[bool | None]
    """None where nothing says, which leaves it to the account."""
    gib: Maybe[Fraction | None]
    """None where nothing says, which leaves it to a snapshot or an image."""
    path: FieldPath = ()
    """The place below the source's path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLaunch(Named):
    """What EC2 is told of machines to start: a launch template, a node class, a node group."""

    endpoint: Maybe[str] = ""
    """Of the metadata service: `enabled` or `disabled`; empty where nothing says."""
    tokens: Maybe[str] = ""
    """`required` is IMDSv2 alone, `optional` is not."""
    hops: Maybe[int | None] = None
    """How far answers of the metadata service go: 1 is the node itself, 2 its pods too."""
    metadata_path: FieldPath = ()
    """The place of these below the source's path."""
    volumes: Maybe[tuple[NodeVolume, ...]] = ()
    public_address: Maybe[bool | None] = None
    """Whether machines get one whatever their subnet says; None leaves it to the subnet."""
    address_path: FieldPath = ()
    """Its place below the source's path."""
    efa_only: Maybe[int] = 0
    """Interfaces of the default network card that are for EFA alone, which pods lack."""
    bare_block: str = ""
    """What it names its capacity block by, where it does not say that it is of that market."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSet(Named):
    """Nodes that one declaration makes or describes: a node group, a NodePool, labelled nodes."""

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
    tags: Maybe[frozenset[str]] = frozenset()
    """Keys of the group's tags, by which an autoscaler finds it and knows of its nodes."""
    ami: Maybe[str] = ""
    """AMI type, alias or family as written, or the ID of an image; empty where EKS decides."""
    kubernetes: Maybe[str] = ""
    """The cluster's version, as far as it is told of the nodes."""
    user_data: Maybe[str] = ""
    """As the node gets it, decoded."""
    max_pods: Maybe[int | None] = None
    """Most pods of a node, as its node class says; None where it says nothing."""
    least: Maybe[int | None] = None
    """Fewest nodes."""
    most: Maybe[int | None] = None
    """Most nodes."""
    limits: Maybe[Mapping[str, Any]] = field(default_factory=dict)
    """What a NodePool limits, by resource."""
    launch: Maybe[NodeLaunch | None] = None
    """What they are started from; None where nothing says."""
    leaves_gpus: bool = False
    """Whether types with GPUs are among those that may be launched, of which it names none."""
    bought_as: Maybe[tuple[Capacity, ...]] = ("onDemand",)
    """The ways in which EC2 may be asked for them."""
    only_by_boot: frozenset[str] = frozenset()
    """Labels, and taints as text, that the user data alone gives the nodes, so that who launches
    them is not told."""
    advertised: Mapping[str, Mapping[str, int]] | None = None
    """Extended resources of a node by instance type, where it is known by itself, as of a plan.

    None where it follows from the device plugin's configuration and the labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay(Named):
    """What Karpenter is told that nodes will have: a NodeOverlay."""

    requirements: Maybe[tuple[Mapping[str, Any], ...]] = ()
    """As in `spec.requirements`."""
    capacity: Maybe[Mapping[str, Any]] = field(default_factory=dict)
    weight: Maybe[int] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(Namespaced):
    """A Helm chart with the values that it is installed with."""

    chart: str
    """The chart's own name: `nvidia-device-plugin`, `gpu-operator`, `dcgm-exporter`, ..."""
    version: Maybe[str] = ""
    values: Maybe[Mapping[str, Any]] = field(default_factory=dict)
    """All values given, merged as Helm does it; not the chart's defaults."""
    over: Mapping[str, Any] = field(default_factory=dict)
    """Values that go over those of files, where these are not known: of `--set` beside `-f`."""
    own: Mapping[str, Any] | None = None
    """What of the values stands at the source, where others are of files that are judged for
    themselves; None where all of them do."""
    paths: Mapping[tuple[str, ...], FieldPath] = field(default_factory=dict)
    """Where in the document a value stands, if not below `source.path` under its own path."""
    of_files: Mapping[FieldPath, str] = field(default_factory=dict)
    """Files whose text is a value, by its place, as of `--set-file`; it is not known until read."""
    installer: str = ""
    """The API group of the object that has it installed, where only some clusters have that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigMap(Namespaced):
    """A ConfigMap."""

    data: Maybe[Mapping[str, Any]] = field(default_factory=dict)
    """Texts by key, `binaryData` decoded among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretKeys(Namespaced):
    """A Secret, of which no value is kept."""

    keys: Maybe[frozenset[str]] = frozenset()
    """Of `data` and `stringData`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload(Namespaced):
    """A pod, or something that makes pods from a template."""

    kind: str
    replicas: Maybe[int | None] = 1
    """None where nodes or another controller decide, as with a DaemonSet."""
    labels: Maybe[Mapping[str, Any]] = field(default_factory=dict)
    """Of the pods."""
    spec: Maybe[Mapping[str, Any]] = field(default_factory=dict)
    """The pod's spec."""
    spec_path: FieldPath = ()
    """Its place below `source.path`: `("spec", "template", "spec")`."""
    changed_by: str = ""
    """The policy that writes some of its spec as pods are made; empty if that is as it stands."""


PROMISED = "QueuePromise"
"""Kind of what a queue of Volcano is promised, beside the most that it may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota(Namespaced):
    """A ResourceQuota of a namespace, the quota of a ClusterQueue, or of a queue of Volcano."""

    kind: str
    hard: Maybe[Mapping[str, Any]] = field(default_factory=dict)
    """Resource, without `requests.`, to quantity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace(Named):
    """A namespace with its labels."""

    labels: Maybe[Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceClaim(Namespaced):
    """A ResourceClaim, ResourceClaimTemplate or DeviceClass of dynamic resource allocation."""

    kind: str
    version: Maybe[str] = ""
    """Of `resource.k8s.io`: `v1`, `v1beta2`, `v1beta1`."""
    spec: Maybe[Mapping[str, Any]] = field(default_factory=dict)


SCALERS = ("ScaledObject", "HorizontalPodAutoscaler", "PodAutoscaler")
"""Kinds of pointers by which pods become more or fewer."""
FARGATE = "FargateProfile"
"""The kind of a pointer that stands for a profile of Fargate, with the selectors of its pods."""

SERVICE_QUOTA = "ServiceQuota"
"""The kind of a pointer that stands for a quota of AWS that is asked for, named by its code."""
CLUSTER_VERSION = "ClusterVersion"
"""The kind of a pointer that stands for a control plane, named by its version of Kubernetes."""
NODE_ROLE = "NodeRole"
"""The kind of a pointer that stands for the role of Karpenter's nodes, with a module's inputs."""
RULES = "Rules"
"""The kind of a pointer that stands for a file of rules, as a `PrometheusRule` has them."""
ROLE_TRUST = "RoleTrust"
"""The kind of a pointer that stands for whom a role of AWS lets in by a token: statements, each a
list of operators with subjects, all of which hold."""
ADDRESS = "address"
"""In its spec, what Terraform calls the role."""
POD_IDENTITY = "PodIdentity"
"""The kind of a pointer that stands for an association of EKS Pod Identity, with the name and the
namespace of the account that it is for."""
FEATURE_RULE = "NodeFeatureRule"
"""Kind of objects by which NFD gives nodes labels of one's own."""
APPLIED_FILE = "AppliedFile"
"""The kind of a pointer that stands for a file that a script applies, by its possible paths."""
APPLIED = "AppliedFolder"
"""The kind of a pointer that stands for a folder of manifests that a script applies at once."""
GROUP_TAG = "GroupTag"
"""The kind of a pointer that stands for a tag, named by its key, that Terraform puts on an Auto
Scaling group which the same root does not make, so that it is not known which."""
SUBNET = "Subnet"
RESERVATION = "CapacityReservation"
"""Kinds of pointers that stand for a subnet, and for capacity that is reserved: each with its zone
and its tags, as far as a template says them."""
AKS_POOL = "AksPool"
"""The kind of a pointer that stands for a node pool of Azure's, of which nothing is known but what
Terraform says of it."""
GKE_POOL = "GkePool"
"""The kind of a pointer that stands for a node pool of Google's, likewise."""
OTHER_NODES = "OtherNodes"
"""The kind of a pointer that stands for nodes that a cluster may have besides: those of a group
that is switched off where it stands, and hybrid ones."""
WRITTEN_LABEL = "WrittenLabel"
"""The kind of a pointer that stands for a label with its value as a text has them together, be it
in a command that is not followed: a loop, a function, a patch."""
MADE_BY_GCLOUD = "MadeByGcloud"
"""The kind of a pointer that stands for nodes of Google's that a command makes."""
DEFAULT_TAGS = "DefaultTags"
"""The kind of a pointer that stands for the tags that a provider puts on all that it makes."""
REMOVED = "Removed"
"""The kind of a pointer that stands for what a script takes away: a DaemonSet or a release."""
SERVICE_ACCOUNT = "ServiceAccount"
ROLE_ANNOTATION = "eks.amazonaws.com/role-arn"
"""The annotation by which it names its role of AWS:
https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html."""
ACCOUNT_USER = "system:serviceaccount:"
"""What its user begins with, before its namespace and its name with a colon between them:
https://kubernetes.io/docs/reference/access-authn-authz/authentication/#service-account-tokens."""
RAY_JOB = "RayJob"
SCRAPERS = ("VMAgent", "OpenTelemetryCollector")
"""Kinds of what scrapes by the monitors of Prometheus' operator, beside its own."""
POD_DEFAULT = "PodDefault"
"""The kind by which Kubeflow completes the pods of a namespace that have some labels:
https://github.com/kubeflow/kubeflow/tree/master/components/admission-webhook."""
POD_CHANGE = "PodChange"
"""The kind of a pointer that stands for a policy that changes pods as they are made."""
INFERENCE_SERVICE = "InferenceService"
"""The kind of a pointer that stands for a model of KServe, beside its pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer(Namespaced):
    """What names pods or their workload, or what these name: a scaler, a Service, a queue.

    And what that names in turn, down to a flavor.
    """

    kind: str
    """`ScaledObject`, `HorizontalPodAutoscaler`, AIBrix' `PodAutoscaler`, `Service` or
    `PodDisruptionBudget`; pods name a `RuntimeClass`, a `PriorityClass` and Kueue's `LocalQueue`,
    this a `ClusterQueue`, and that a `ResourceFlavor`; and a `PersistentVolumeClaim`, which names
    a `StorageClass`. A `Prometheus` selects a `ServiceMonitor`, a `PodMonitor` or a
    `PrometheusRule`."""
    spec: Maybe[Mapping[str, Any]] = field(default_factory=dict)
    """Its spec, or the whole object of a kind that has none."""


Item: TypeAlias = (
    NodeSet
    | NodeLaunch
    | Overlay
    | Release
    | ConfigMap
    | SecretKeys
    | Workload
    | Quota
    | Namespace
    | DeviceClaim
    | Pointer
)
"""Any item."""
