"""The arguments of workloads, and of KEDA that sets the number of their pods."""

# No postponed annotations, unions, literals or tuples here: the component host reads these types.

from typing import Any, NotRequired, TypedDict

from pulumi import Input


class Replicas(TypedDict):
    """How many pods a workload may have."""

    min: NotRequired[int]
    """Fewest pods while it runs; outside of the windows of a schedule, where it may be 0.
    Default: 1."""
    max: NotRequired[int]
    """Most pods. Default: `min`."""


class Idle(TypedDict):
    """When a workload has too many pods."""

    threshold: NotRequired[float]
    """What they use of their GPUs or MIG devices in percent, below which they are idle.
    Default: 20."""
    minutes: NotRequired[int]
    """How long, before one pod goes. Default: 5."""


class OverUse(TypedDict):
    """When a workload has too few pods."""

    threshold: NotRequired[float]
    """Use of their GPUs or MIG devices in percent, by all that share one, above which they are
    over-used. Default: 80."""
    minutes: NotRequired[int]
    """How long, before one pod comes. Default: 3."""


class Wake(TypedDict):
    """What starts a workload again that stands at no pods; `query` or `queue`."""

    query: NotRequired[str]
    """PromQL for requests that wait, an instant vector; more than 0 starts it."""
    queue: NotRequired[str]
    """Queue of SQS, by its ARN or URL, whose messages start it."""


class ReplicaWindow(TypedDict):
    """How many pods a workload has in a span of time that comes again."""

    start: str
    """When it begins, as five fields of cron."""
    end: str
    """When it ends, likewise."""
    time_zone: NotRequired[str]
    """Whose clock that is, such as `Europe/Berlin`. Default: UTC."""
    replicas: int
    """How many pods; at least, where their number follows the use."""


class Amounts(TypedDict):
    """CPU and memory, as Kubernetes writes them."""

    cpu: NotRequired[str]
    """CPUs, such as `500m` or `"2"`."""
    memory: NotRequired[str]
    """Memory, such as `4Gi`."""


class PodResources(TypedDict):
    """CPU and memory of one pod, beside its share of a GPU."""

    requests: NotRequired[Amounts]
    """What a node must have free for it. Default: nothing is set aside."""
    limits: NotRequired[Amounts]
    """Most that it may take. Default: no limit."""


class SecretKey(TypedDict):
    """One value of a Kubernetes Secret in the namespace of the workload."""

    secret: Input[str]
    """Name of the Secret."""
    key: Input[str]
    """Its key there."""


class PodBudget(TypedDict):
    """How many pods may be away while nodes are drained; one of the two keys."""

    max_unavailable: NotRequired[Any]
    """So many at most, or so many in a hundred: `"25%"`."""
    min_available: NotRequired[Any]
    """So many at least stay, or so many in a hundred."""


class WorkloadPods(TypedDict):
    """What runs in the pods of a workload, and how many of them there are."""

    image: Input[str]
    """Container image, best by digest."""
    share: NotRequired[str]
    """Resource that a pod asks for. Default: the pool's most numerous kind of share."""
    shares: NotRequired[int]
    """How many of them. Default: 1."""
    command: NotRequired[list[Input[str]]]
    """What is run, in place of the image's entry point."""
    args: NotRequired[list[Input[str]]]
    """Its arguments, in place of the image's."""
    env: NotRequired[dict[str, Input[str]]]
    """Environment variables."""
    secret_env: NotRequired[dict[str, SecretKey]]
    """Environment variables whose values are in Secrets."""
    port: NotRequired[int]
    """Port that it listens on; with it comes a Service. Default: none."""
    readiness_path: NotRequired[str]
    """Path on `port` that answers once the program is ready. Default: none."""
    resources: NotRequired[PodResources]
    """CPU and memory."""
    shared_memory: NotRequired[str]
    """Size of /dev/shm, such as `2Gi`. Default: 64 MiB."""
    replicas: NotRequired[Replicas]
    """How many pods. Default: one."""
    idle: NotRequired[Idle]
    """When a pod less is enough. Default: below 20 % for 5 minutes."""
    over_use: NotRequired[OverUse]
    """When a pod more is needed. Default: above 80 % for 3 minutes."""
    use_query: NotRequired[str]
    """PromQL for the use in percent. Default: what DCGM measures of the pods' shares."""
    auto_stop: NotRequired[bool]
    """Stop the last pods too, once they are idle and nothing waits. Default: false."""
    wake: NotRequired[Wake]
    """What starts it again; required with `auto_stop`."""
    schedule: NotRequired[list[ReplicaWindow]]
    """Windows of time with a number of pods of their own. Default: none."""
    do_not_disrupt: NotRequired[bool]
    """Let no autoscaler move its pods to save money. Default: false."""
    spread_zones: NotRequired[bool]
    """Spread the pods over zones as far as that goes. Default: false."""
    disruption_budget: NotRequired[PodBudget]
    """Pods that may be away while nodes are drained. Default: one, if there can be more."""
    run_as_non_root: NotRequired[bool]
    """Refuse to run the image as root. Default: false."""
    capabilities: NotRequired[list[str]]
    """Linux capabilities that the program needs. Default: none."""
    service_account: NotRequired[str]
    """Service account that is there, whose token the pods get. Default: none."""
    stop_seconds: NotRequired[int]
    """Seconds that a pod has to end by itself. Default: 30."""


class Workload(WorkloadPods):
    """A program whose pods each have a share of a GPU, or several; defaults as in a stack file."""

    pool: NotRequired[str]
    """Pool that it runs on."""
    pools: NotRequired[list[str]]
    """Instead of `pool`, several that advertise the same share, the preferred one first."""
    namespace: NotRequired[str]
    """Namespace. Default: default."""
    create_namespace: NotRequired[bool]
    """Make the namespace, unless it is `default`. Default: true."""
    priority: NotRequired[str]
    """`high`, `low`, or the name of a PriorityClass that is there. Default: neither."""


class Prometheus(TypedDict):
    """Where KEDA asks for the use of GPUs; `url` or `workspace_arn`."""

    url: NotRequired[Input[str]]
    """Address of a Prometheus as pods reach it."""
    workspace_arn: NotRequired[str]
    """Workspace of Amazon Managed Service for Prometheus, which KEDA may then query."""
    authentication: NotRequired[str]
    """ClusterTriggerAuthentication of KEDA's that is there. Default: none."""
    process_metrics: NotRequired[bool]
    """Whether the DCGM exporter measures the processes of pods that share a GPU. Default: false."""
    exporter: NotRequired[str]
    """`existing` where somebody else runs the DCGM exporter. Default: the GPU Operator's."""


class VerifierBlock(TypedDict):
    """`eks-gpushare verify` in the cluster, every few minutes."""

    image: Input[str]
    """Image with the command `eks-gpushare`, by tag or digest; docs/verify.md says how to build
    one."""
    interval_seconds: NotRequired[int]
    """Seconds between two looks, 15 to 3600. From 300 on a CronJob looks, and it has to be a part
    of an hour in whole minutes; below, a Deployment does, and serves metrics. Default: 300."""
    namespace: NotRequired[str]
    """Namespace, made by the component. Default: gpushare-verify, and the name where there is
    one."""
    name: NotRequired[str]
    """Name of it among others that look at the same cluster, or push to the same Pushgateway: its
    namespace, its ClusterRole and its group there end with it. Default: none, for the only one."""
    pushgateway: NotRequired[Input[str]]
    """Address of a Pushgateway that the CronJob puts metrics into. Default: they are not kept."""
    events: NotRequired[bool]
    """Whether what is wrong is told as Events too, on the objects that it is about. It may then
    create and change Events, all of them, and nothing else. Default: false, it only reads."""
    memory: NotRequired[str]
    """Most memory of the pod, such as 1Gi. Default: 512Mi, enough for 1,000 nodes, or more where
    the pools may have more."""


class KedaBlock(TypedDict):
    """KEDA, which sets the number of pods of workloads."""

    install: NotRequired[bool]
    """Install it; false where the cluster has it already. Default: true."""
    namespace: NotRequired[str]
    """Namespace, made by the stack. Default: keda."""
    replicas: NotRequired[int]
    """Copies of its operator. Default: 2."""
    prometheus: NotRequired[Prometheus]
    """Where it asks for the use of GPUs; required where a workload follows its use."""
