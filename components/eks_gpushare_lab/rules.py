"""The kinds of findings of the lab: what a stack shows only when it runs."""

from __future__ import annotations

from eks_gpushare.catalog.versions import (
    device_plugin_source,
    mig_parted_source,
)
from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.rule import Rule

_APPLY = "https://kubernetes.io/docs/reference/using-api/api-concepts/#setting-the-field-validation-level"
_CHART = device_plugin_source("deployments/helm")
_CONFIG = device_plugin_source("cmd/config-manager/main.go")
_PLUGIN = device_plugin_source("README.md")
_MIG_MANAGER = mig_parted_source("pkg/mig/reconfigure/reconfigure.go")
_SCHEDULER = "https://kubernetes.io/docs/concepts/scheduling-eviction/"

PROGRAM_STOPPED = Rule(
    "GPU900",
    "error",
    "The stack can be installed: its file has no errors and its program runs to its end.",
    "There is nothing to try out otherwise.",
    "https://www.pulumi.com/docs/iac/concepts/",
)
REFUSED = Rule(
    "GPU901",
    "error",
    "The API server accepts what is applied.",
    "It would refuse the same on EKS, after the cluster has been paid for.",
    _APPLY,
)
UNREADABLE_MANIFEST = Rule(
    "GPU902",
    "error",
    "A manifest is YAML documents with apiVersion, kind and a name.",
    "Nothing of the file would be applied.",
    _APPLY,
)
WARNED = Rule(
    "GPU903",
    "warning",
    "The API server warns of nothing that is applied.",
    "It accepts the object and expects trouble with it; kubectl shows such warnings once.",
    "https://kubernetes.io/blog/2020/09/03/warnings/",
)
UNKNOWN_CHART = Rule(
    "GPU904",
    "warning",
    "The lab knows the DaemonSets of every chart that a release installs, in its version.",
    "It runs no charts, so what the others would install is missing from the lab. For another "
    "version of NVIDIA's charts it is an error: their DaemonSets may be others.",
    _CHART,
)
NOT_REACHED = rule_of("GPU911")
NOT_RUNNING = rule_of("GPU912")
DIFFERS = rule_of("GPU913")
NOT_REFERRED_TO = Rule(
    "GPU914",
    "warning",
    "A ConfigMap with a device plugin's configuration is one that the device plugin reads.",
    "Nothing looks for it by its content: only the name in the release's values counts.",
    "https://github.com/NVIDIA/k8s-device-plugin/issues/1433",
)
NOT_CREATED = rule_of("GPU921")
NOT_ADMITTED = rule_of("GPU922")
MPS_OTHER_USER = rule_of("GPU953")
NOT_ADVERTISED = rule_of("GPU923")
NOT_TOLERATED = rule_of("GPU924")
NOT_AS_EXPECTED = Rule(
    "GPU931",
    "error",
    "As many pods of a workload run as --expect says.",
    "That is what the run was made to find out.",
    _SCHEDULER,
)
NOT_WHOLE = Rule(
    "GPU944",
    "error",
    "Every workload that is applied runs whole, or as --expect says.",
    "Its pods would wait on EKS as they do here, for a share that is not there or for something "
    "that they name; nothing else fails because of it.",
    _SCHEDULER,
)
REACHES_NO_NODE = Rule(
    "GPU945",
    "warning",
    "A DaemonSet that is applied runs on some node.",
    "One that matches no node wants zero pods, and that is no error to anybody.",
    "https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/",
)
NOT_STEADY = Rule(
    "GPU932",
    "warning",
    "The lab comes to rest.",
    "The numbers are those of a moment.",
    _SCHEDULER,
)
NOT_JOINED = Rule(
    "GPU933",
    "error",
    "The machine of every node boots and joins.",
    "Bottlerocket stops at a setting that it does not know, and EC2 bills a node that never comes.",
    "https://bottlerocket.dev/en/os/latest/api/settings/kubelet-device-plugins/",
)
MIG_BOOT_FAILED = Rule(
    "GPU934",
    "error",
    "The MIG layout of a pool can be made when its nodes boot.",
    "A node without its layout joins with a taint that no device plugin tolerates.",
    "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html",
)
MIG_MANAGER_FAILED = rule_of("GPU935")
MIG_MANAGER_WAITS = Rule(
    "GPU936",
    "error",
    "MIG manager comes to its end and lets the device plugin run again.",
    "What it has paused stays paused, and the node advertises nothing.",
    "https://github.com/NVIDIA/gpu-operator/issues/2833",
)
MIG_NOT_MANAGED = rule_of("GPU937")
TAINT_STAYS = Rule(
    "GPU938",
    "error",
    "The startup taint is gone once the MIG layout is there.",
    "Until then no pod lands on the node.",
    "https://github.com/NVIDIA/gpu-operator/issues/2670",
)
TWO_PLUGINS = rule_of("GPU939")
NO_DRIVER_GATE = rule_of("GPU940")
SILENT_FAILURE = rule_of("GPU941")
TWO_ENGINES = rule_of("GPU942")
NO_ENGINE = Rule(
    "GPU943",
    "error",
    "The node monitoring agent has its host engine of DCGM on GPU nodes.",
    "It reports every GPU as broken otherwise, and node repair replaces the node.",
    "https://github.com/aws/containers-roadmap/issues/2555",
)
NOT_KNOWN = Rule(
    "GPU954",
    "info",
    "What the lab installs is known before an update.",
    "A value that AWS makes up is not; the lab leaves it out, and what needs it may be refused.",
    "https://www.pulumi.com/docs/iac/concepts/inputs-outputs/",
)
ENGINE_FAILED = Rule(
    "GPU951",
    "error",
    "With --engine, `pulumi up` installs the stack's Kubernetes objects on the lab.",
    "It would fail on EKS in the same way, or waits for pods that do not get ready.",
    "https://www.pulumi.com/docs/iac/cli/commands/pulumi_up/",
)
NOT_KUBERNETES = Rule(
    "GPU952",
    "error",
    "With --engine, a program on an existing cluster makes Kubernetes objects only.",
    "The real engine would make the rest for real, in somebody's account.",
    "https://www.pulumi.com/docs/iac/concepts/providers/",
)
_INITIALIZED = "https://karpenter.sh/docs/concepts/nodeclaims/"
_OVERLAY = "https://karpenter.sh/docs/concepts/nodeoverlays/"
_LIMITS = "https://karpenter.sh/docs/concepts/nodepools/#speclimits"
_AUTOSCALER = "https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md"
NODES_NOT_AS_EXPECTED = Rule(
    "GPU960",
    "error",
    "A pool has as many nodes as --expect-nodes says.",
    "That is what the run was made to find out.",
    _AUTOSCALER,
)
NEVER_INITIALISED = rule_of("GPU961")
RUNAWAY = Rule(
    "GPU962",
    "error",
    "An autoscaler adds no more nodes than the pods need.",
    "One that takes a node for one share launches one for each pod, up to the limit of the pool.",
    _OVERLAY,
)
LAUNCHES_AND_REMOVES = Rule(
    "GPU963",
    "error",
    "A node is not removed again before a pod has run on it.",
    "Its shares come after the autoscaler has given it up: it launches and removes nodes for ever, "
    "and the pods never run.",
    f"{_AUTOSCALER}#how-does-scale-down-work",
)
BELIEVES_THERE_IS_ROOM = Rule(
    "GPU964",
    "error",
    "Cluster Autoscaler adds a node for pods that wait for shares.",
    "Nodes that it takes for such as are yet to start count as room. With the label of GPUs they "
    "do so for a quarter of an hour unless they have nvidia.com/gpu, and pods wait. More than "
    "three of them, once they count as broken, stop all scaling.",
    "https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.36.1/cluster-autoscaler/"
    "processors/customresources/gpu_processor.go",
)
PROMISE_DIFFERS = rule_of("GPU965")
HALF_EMPTY = Rule(
    "GPU966",
    "warning",
    "The nodes of a pool are no more than its pods need.",
    "They are paid for and half empty, and an autoscaler does not correct that by itself.",
    _OVERLAY,
)
LIMIT_REACHED = rule_of("GPU967")
NOT_LAUNCHED = rule_of("GPU968")
NOT_IDLE = Rule(
    "GPU969",
    "error",
    "With --until-idle, a pool is back at its fewest nodes when its pods have gone.",
    "Nodes that nothing runs on are paid for.",
    "https://karpenter.sh/docs/concepts/disruption/",
)
EMPTY_SOONER = Rule(
    "GPU970",
    "info",
    "An autoscaler sees its nodes, and takes empty ones away, sooner than it would on EKS.",
    "Nobody waits minutes to see that they go; which nodes go and how many at a time is the same.",
    "https://karpenter.sh/docs/concepts/disruption/#consolidation",
)
FASTER_TIMES = Rule(
    "GPU980",
    "info",
    "Times of ScaledObjects pass faster in the lab.",
    "Nobody waits minutes for a pod more; the order of things is the same.",
    "https://keda.sh/docs/2.20/reference/scaledobject-spec/",
)
NOT_SCALED = rule_of("GPU981")
USE_NOT_MEASURED = Rule(
    "GPU982",
    "error",
    "What a workload scales by is measured of its pods.",
    "A query about nothing has no result, which KEDA takes for 0: pods that work seem idle and go.",
    "https://github.com/NVIDIA/dcgm-exporter/blob/main/README.md",
)
UNREADABLE_LOAD = Rule(
    "GPU983",
    "warning",
    "An annotation of a load is percent, or percent over time.",
    "The pods that it is about seem idle.",
    "https://github.com/NVIDIA/dcgm-exporter/blob/main/README.md",
)
NVIDIA_DIFFERS = Rule(
    "GPU985",
    "error",
    "With --nvidia, the simulated node registers and labels what NVIDIA's own programs do.",
    "What the lab says of shares holds on EKS as far as its nodes do what NVIDIA's programs do.",
    _PLUGIN,
)
NVIDIA_NOT_COMPARED = Rule(
    "GPU986",
    "info",
    "With --nvidia, NVIDIA's own programs run for a node of every GPU pool.",
    "What is not compared is the simulated node's word alone.",
    _PLUGIN,
)
OTHER_KUEUE = Rule(
    "GPU987",
    "warning",
    "The lab runs the Kueue that a stack installs.",
    "Another version may count otherwise, or not know a field.",
    "https://github.com/kubernetes-sigs/kueue/tree/main/CHANGELOG",
)
OTHER_KEDA = Rule(
    "GPU984",
    "warning",
    "The lab runs the KEDA that a stack installs.",
    "Another version may scale otherwise, or not know a field.",
    "https://github.com/kedacore/keda/blob/main/CHANGELOG.md",
)
