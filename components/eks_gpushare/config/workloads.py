"""Programs on shares of GPUs: how many pods of them there are, and how that follows their use."""

from typing import Literal

from pydantic import Field

from eks_gpushare.config.base import Items, Model, TextInput
from eks_gpushare.config.pools import MaxUnavailable
from eks_gpushare.config.windows import ReplicaWindow


class Replicas(Model):
    """How many pods a workload may have."""

    min: int = Field(default=1, ge=0, le=10_000)
    """Fewest pods while it runs; stopped by `autoStop` it has none. With `schedule`, how many there
    are outside of its windows, and only there may that be 0."""
    max: int | None = Field(default=None, ge=1, le=10_000)
    """Most pods. Default: `min`, which is a fixed number."""


class Idle(Model):
    """When a workload has too many pods."""

    threshold: float = Field(default=20, ge=1, le=100)
    """What the pods use of their GPUs or MIG devices in percent, on average over the pods, below
    which they are idle. Of a GPU that pods share it is percent of the whole GPU."""
    minutes: int = Field(default=5, ge=1, le=1440)
    """How long it has to be below all the time before one pod goes. The next goes as much later,
    but not more than 30 minutes."""


class OverUse(Model):
    """When a workload has too few pods."""

    threshold: float = Field(default=80, ge=1, le=100)
    """Use of their GPUs or MIG devices in percent, on average over the pods, above which they are
    over-used. Of a GPU that pods share it is what all of them use together."""
    minutes: int = Field(default=3, ge=1, le=1440)
    """How long it has to be above all the time before one pod comes. The next comes as much later,
    but not more than 30 minutes."""


class Wake(Model):
    """What starts a workload again that stands at no pods; `query` or `queue`."""

    query: str | None = None
    """PromQL for requests that wait, or came in the last minute: an instant vector, whose values
    are added up. More than 0 starts the workload, and keeps it from being stopped."""
    queue: str | None = None
    """Queue of SQS, by its ARN or URL, whose messages start the workload, and keep it from being
    stopped: those that wait and those that somebody works on. KEDA may then read how many there
    are. One of another account has to allow it too, by its own policy."""


class Amounts(Model):
    """CPU and memory, as Kubernetes writes them."""

    cpu: str | None = None
    """CPUs, such as `500m` or `"2"`."""
    memory: str | None = None
    """Memory, such as `4Gi`."""


class PodResources(Model):
    """CPU and memory of one pod, beside its share of a GPU."""

    requests: Amounts = Amounts.model_construct()
    """What a node must have free for it. Default: nothing is set aside."""
    limits: Amounts = Amounts.model_construct()
    """Most that it may take. Default: no limit."""


class SecretKey(Model):
    """One value of a Kubernetes Secret in the namespace of the workload."""

    secret: TextInput
    """Name of the Secret."""
    key: TextInput
    """Its key there."""


class PodBudget(Model):
    """How many pods may be away while nodes are drained; one of the two keys."""

    max_unavailable: MaxUnavailable | None = None
    """So many at most, or so many in a hundred: `"25%"`."""
    min_available: MaxUnavailable | None = None
    """So many at least stay, or so many in a hundred."""


class Workload(Model):
    """A program whose pods each have a share of a GPU, or several."""

    image: TextInput
    """Container image, best by digest."""
    pool: str | None = None
    """Pool that it runs on."""
    pools: Items[str] | None = None
    """Instead of `pool`, several that advertise the same share, the preferred one first: such as
    one of spot instances, and one on demand for when there are none."""
    share: str | None = None
    """Resource that a pod asks for, of those that the pool advertises. Default: the pool's
    `request`, its most numerous kind of share."""
    shares: int = Field(default=1, ge=1, le=128)
    """How many of them. More than one only of whole GPUs and MIG devices: of a GPU that pods take
    turns on, two shares are no more than one."""
    namespace: str = "default"
    """Namespace."""
    create_namespace: bool = True
    """Make the namespace, unless it is `default`; false where it is there already."""
    command: Items[TextInput] | None = None
    """What is run, in place of the image's entry point."""
    args: Items[TextInput] | None = None
    """Its arguments, in place of the image's."""
    env: dict[str, TextInput] = Field(default_factory=dict)
    """Environment variables."""
    secret_env: dict[str, SecretKey] = Field(default_factory=dict)
    """Environment variables whose values are in Secrets."""
    port: int | None = Field(default=None, ge=1, le=65535)
    """Port that it listens on; with it comes a Service of the workload's name and this port."""
    readiness_path: str | None = None
    """Path on `port` that answers once the program is ready. Default: it is ready once it runs."""
    resources: PodResources = PodResources.model_construct()
    """CPU and memory."""
    shared_memory: str | None = None
    """Size of /dev/shm, such as `2Gi`, out of the pod's memory. Default: 64 MiB."""
    replicas: Replicas = Replicas.model_construct()
    """How many pods. Default: one."""
    idle: Idle | None = None
    """When a pod less is enough. Default: below 20 % for 5 minutes."""
    over_use: OverUse | None = None
    """When a pod more is needed. Default: above 80 % for 3 minutes."""
    use_query: str | None = None
    """PromQL for the use in percent, an instant vector of one value for each pod, or one in all.
    Default: what DCGM measures of the pods' shares, where it can tell them apart."""
    auto_stop: bool = False
    """Stop the last pods too, once they have been idle for `idle.minutes` and nothing waits for as
    long again. Where `wake.queue` is given and nothing is said of use (`idle`, `overUse`,
    `useQuery`, a `replicas.max` above `replicas.min`), once the queue has been empty for five
    minutes: that takes no Prometheus."""
    wake: Wake | None = None
    """What starts it again; required with `autoStop`."""
    schedule: Items[ReplicaWindow] | None = None
    """Windows of time with a number of pods of their own. Default: none."""
    do_not_disrupt: bool = False
    """Let no autoscaler move its pods to save money, as notebooks and training want it."""
    spread_zones: bool = False
    """Spread the pods over zones as far as that goes. Default: they fill nodes up."""
    disruption_budget: PodBudget | None = None
    """Pods that may be away while nodes are drained. Default: one, of a workload that can have
    more than one."""
    priority: str | None = None
    """`high`, before whose pods those of other workloads give way; `low`, which gives way to all
    but warm room; or the name of a PriorityClass that is there. Default: neither."""
    run_as_non_root: bool = False
    """Refuse to run the image as root. Default: as the image says."""
    capabilities: Items[str] = ()
    """Linux capabilities that the program needs; it has no others. Default: none."""
    service_account: str | None = None
    """Service account that is there, whose token the pods get. Default: none, and no token."""
    stop_seconds: int | None = Field(default=None, ge=0, le=86_400)
    """Seconds that a pod has to end by itself when it is asked to. Default: 30."""


class Prometheus(Model):
    """Where KEDA asks for the use of GPUs; `url` or `workspaceArn`."""

    url: TextInput | None = None
    """Address of a Prometheus as pods reach it, such as `http://prometheus.monitoring.svc:9090`."""
    workspace_arn: str | None = None
    """Workspace of Amazon Managed Service for Prometheus, which KEDA may then query."""
    authentication: str | None = None
    """ClusterTriggerAuthentication of KEDA's that is there, for an `url` that asks for one."""
    process_metrics: bool = False
    """Whether the DCGM exporter measures the processes of pods that share a GPU; else its numbers
    of such pods are those of the whole GPU, or 0. The exporter of this stack's GPU Operator gets
    hostPID, KUBERNETES_VIRTUAL_GPUS and NVIDIA_RESOURCE_NAMES for it; another has to have them."""
    exporter: Literal["existing"] | None = None
    """`existing` where somebody else runs the DCGM exporter that this server scrapes, as with the
    device plugin, which brings none. Default: the GPU Operator's."""


class Keda(Model):
    """KEDA, which sets the number of pods of workloads."""

    install: bool = True
    """Install it; false where the cluster has it already."""
    namespace: str = "keda"
    """Namespace, made by the stack."""
    replicas: int = Field(default=2, ge=1, le=5)
    """Copies of its operator; one of them works."""
    prometheus: Prometheus | None = None
    """Where it asks for the use of GPUs; required where a workload follows its use."""
