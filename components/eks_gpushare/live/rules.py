"""The kinds of findings that only a running cluster has."""

from __future__ import annotations

from eks_gpushare.catalog.versions import device_plugin_source
from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.rule import Rule

_NODES = "https://kubernetes.io/docs/reference/node/node-status/"
_MONITORING = "https://docs.aws.amazon.com/eks/latest/userguide/node-health.html"
_TAINTS = "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/"
_LABELS = "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/"
_SCHEDULER = "https://kubernetes.io/docs/concepts/scheduling-eviction/"
_ALLOCATABLE = (
    "https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/"
)
_CONFIGURATION = device_plugin_source("README.md#shared-access-to-gpus")

NODES_MISSING = Rule(
    "GPU1300",
    "error",
    "A pool has at least the nodes that it declares.",
    "What its pods need is not there, be it for capacity, quota or a launch template that fails.",
    "https://docs.aws.amazon.com/eks/latest/userguide/troubleshooting.html",
)
NODE_NOT_READY = Rule(
    "GPU1301",
    "error",
    "A node with GPUs is ready.",
    "No pod comes to it, those on it are evicted, and it is paid for.",
    _NODES,
)
HARDWARE_BROKEN = Rule(
    "GPU1302",
    "error",
    "The node monitoring agent finds a node's accelerators sound.",
    "Pods on a GPU with an error fail, also those of neighbours that share it.",
    _MONITORING,
)
CORDONED = Rule(
    "GPU1303",
    "warning",
    "A node with GPUs takes pods.",
    "It is paid for and takes none as long as it is cordoned; nobody is told.",
    "https://kubernetes.io/docs/concepts/architecture/nodes/#manual-node-administration",
)
STARTUP_TAINT_STAYS = Rule(
    "GPU1304",
    "error",
    "The taints that a node starts with go once it is ready.",
    "What should take them away has failed, and until then no pod lands.",
    "https://karpenter.sh/docs/concepts/nodepools/#cilium-startup-taint",
)
LABELS_DIFFER = Rule(
    "GPU1305",
    "error",
    "A node has the labels of its pool.",
    "Pods select on them, and the device plugin takes its configuration by one.",
    _LABELS,
)
TAINTS_DIFFER = Rule(
    "GPU1306",
    "error",
    "A node has the taints of its pool and no others.",
    "One too many keeps pods and DaemonSets off; one too few lets everybody's pods come.",
    _TAINTS,
)
OTHER_TYPE = Rule(
    "GPU1307",
    "error",
    "A node is of one of its pool's instance types.",
    "It has other GPUs and another price than the stack says.",
    "https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html",
)
VERSION_DIFFERS = Rule(
    "GPU1308",
    "error",
    "A node's kubelet goes with the API server, and its image is that of its pool.",
    "No kubelet newer than the API server or more than three minor versions older is supported, "
    "and EKS upgrades no control plane away from its nodes; one that is behind lacks fixes.",
    "https://kubernetes.io/releases/version-skew-policy/#kubelet",
)
NOT_REACHED = rule_of("GPU1310")
NOT_RUNNING = rule_of("GPU1311")
MIG_FAILED = rule_of("GPU1313")
DIFFERS_FROM_DECLARED = rule_of("GPU1320")
DIFFERS_FROM_CONFIGURED = Rule(
    "GPU1321",
    "error",
    "A node advertises what its device plugin's configuration gives.",
    "The plugin has read something else, such as the ConfigMap before it was changed: it looks "
    "once, when it starts.",
    _CONFIGURATION,
)
UNHEALTHY_DEVICES = Rule(
    "GPU1322",
    "error",
    "All devices of a node are healthy.",
    "The device plugin takes a device with an error back, and with it all its shares; pods that "
    "have one keep it and fail.",
    _ALLOCATABLE,
)
GPUS_MISSING = Rule(
    "GPU1323",
    "error",
    "A node has all GPUs of its instance type.",
    "One that fell off the bus is paid for, and so much fewer pods fit.",
    "https://github.com/NVIDIA/aicr/issues/1858",
)
CONFIG_MAP_DIFFERS = Rule(
    "GPU1330",
    "error",
    "The device plugin reads the configuration that the stack declares.",
    "Nodes will advertise what somebody else wrote, at the latest when the plugin starts again.",
    _CONFIGURATION,
)
CHART_DIFFERS = Rule(
    "GPU1331",
    "warning",
    "The device plugin is of the chart's version that the stack declares.",
    "Other versions have other settings and other faults than those that were checked.",
    "https://helm.sh/docs/topics/charts/",
)
NEVER_LANDS = Rule(
    "GPU1340",
    "error",
    "A pod that waits for a GPU can land on some node.",
    "It waits for ever, whatever becomes free.",
    _SCHEDULER,
)
SHARES_TAKEN = Rule(
    "GPU1341",
    "warning",
    "There is a share for every pod that asks for one.",
    "Pods wait until others end; that may be meant, and then it takes time, not a repair.",
    _SCHEDULER,
)
REFUSED_BY_KUBELET = Rule(
    "GPU1342",
    "warning",
    "No kubelet refuses a pod that was placed on its node.",
    "The scheduler had counted what is no longer there. Such pods stay as they are, and their "
    "controllers make new ones that are refused too.",
    _ALLOCATABLE,
)
NOT_CREATED = rule_of("GPU1343")
GATED = Rule(
    "GPU1344",
    "warning",
    "A pod that asks for a GPU is let to the scheduler.",
    "Whoever put the gate there, such as Kueue, has not opened it.",
    "https://kubernetes.io/docs/concepts/scheduling-eviction/pod-scheduling-readiness/",
)
HELD_BY_NOTHING = Rule(
    "GPU1346",
    "warning",
    "A pod that has a share of a GPU runs.",
    "Its containers do not start, or stop again and again, and nobody else gets the share.",
    "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-states",
)
IDLE = Rule(
    "GPU1345",
    "info",
    "A node with GPUs has pods that use them.",
    "It is paid for as if it had.",
    "https://aws.amazon.com/ec2/pricing/on-demand/",
)
LIMIT_REACHED = rule_of("GPU1350")
NOT_LAUNCHED = rule_of("GPU1351")
NEVER_INITIALISED = rule_of("GPU1352")
NOT_SCALED = rule_of("GPU1353")
NODE_GROUP_UNSOUND = Rule(
    "GPU1360",
    "error",
    "EKS finds every node group sound.",
    "It starts no node, or the nodes that it starts do not join; AWS says why, and the cluster "
    "does not.",
    "https://docs.aws.amazon.com/eks/latest/APIReference/API_Issue.html",
)
ADDON_UNSOUND = Rule(
    "GPU1361",
    "warning",
    "EKS finds every add-on sound.",
    "It is not installed as it was asked for.",
    "https://docs.aws.amazon.com/eks/latest/APIReference/API_AddonIssue.html",
)
UPGRADE_HELD_UP = Rule(
    "GPU1363",
    "warning",
    "Nothing that EKS has found stands in the way of an upgrade.",
    "EKS refuses the upgrade, or something stops working after it; and a version that is not left "
    "in time costs six times as much.",
    "https://docs.aws.amazon.com/eks/latest/userguide/cluster-insights.html",
)
FEW_ADDRESSES = Rule(
    "GPU1362",
    "warning",
    "A node group has a subnet with free addresses.",
    "The next node gets no address, or its pods get none.",
    "https://docs.aws.amazon.com/eks/latest/best-practices/subnets.html",
)
SYSTEM_UNSOUND = Rule(
    "GPU1371",
    "error",
    "A node with GPUs has room on its disk, memory and a network, and its system is sound.",
    "Kubelet takes no new pods and evicts those that are there, or the node is about to fail.",
    _MONITORING,
)
WAITS_FOR_OTHER = Rule(
    "GPU1372",
    "info",
    "A pod that asks for a GPU waits for nothing else.",
    "A volume, its neighbours or a scheduler that is not there keep it waiting, and its share "
    "stays unused.",
    _SCHEDULER,
)
KARPENTER_UNREADY = Rule(
    "GPU1373",
    "error",
    "Karpenter can work with its NodePools, EC2NodeClasses and NodeOverlays.",
    "It launches no node of a pool, or one with other shares, and says why only in their status.",
    "https://karpenter.sh/docs/troubleshooting/",
)
NODE_POOL_DIFFERS = Rule(
    "GPU1374",
    "error",
    "A NodePool of Karpenter is there and launches what its pool declares.",
    "Nodes that are there stay as they are; the next ones are of another kind, or do not come.",
    "https://karpenter.sh/docs/concepts/nodepools/",
)
CONTROLLER_DOWN = Rule(
    "GPU1375",
    "error",
    "What launches and labels nodes, scales workloads and makes device plugins runs.",
    "All looks well until something has to change: then no node comes and nothing is scaled.",
    "https://karpenter.sh/docs/troubleshooting/",
)
LABELS_NOT_RENEWED = Rule(
    "GPU1377",
    "warning",
    "What has labelled nodes by their GPUs still runs there.",
    "Labels stay when NFD or GPU feature discovery goes: they are those of another driver or "
    "sharing one day, and a new node gets none, so that no pod that selects on them lands there.",
    device_plugin_source("docs/gpu-feature-discovery/README.md"),
)
NOT_SCALED_BY_TRIGGERS = Rule(
    "GPU1378",
    "warning",
    "KEDA scales a workload by all its triggers.",
    "It is paused, or falls back because a trigger cannot be read: it has the pods that somebody "
    "has written down, whatever waits, and its shares are held for as long.",
    "https://keda.sh/docs/2.20/concepts/scaling-deployments/",
)
CONTRACT_DIFFERS = Rule(
    "GPU1370",
    "error",
    "What holds a tenant to its contract is as the stack declares it.",
    "Another quota, policy or queue gives a tenant what is sure to another, or keeps from it what "
    "it is sure of, and pulumi up sees neither without --refresh.",
    "https://kubernetes.io/docs/concepts/policy/resource-quotas/",
)
