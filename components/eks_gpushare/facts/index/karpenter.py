"""Facts about Karpenter's pools, classes and limits."""

from __future__ import annotations

from eks_gpushare.facts.fact import Differs, Fact

IMAGE_PINNED = Fact(
    "The image of a Karpenter pool is pinned.",
    "Karpenter would have to take the newest image that there is, and exchange every node whenever"
    " AWS publishes another.",
    "https://karpenter.sh/docs/concepts/nodeclasses/#specamiselectorterms",
    "error",
    ("GPU754", "GPU1056", "node-class-ami-pinned"),
)

STARTUP_TAINT = Fact(
    "A startup taint is one that goes, and no taint that stays.",
    "With a startup taint that is an ordinary one too, Karpenter launches no node at all.",
    "https://karpenter.sh/docs/concepts/nodepools/#cilium-startup-taint",
    "error",
    ("GPU752", "GPU1058", "karpenter-objects-valid"),
)

IDLE_LIMIT = Fact(
    "A limit is of something that the nodes of the pool have.",
    "Of what no node has there is never too much: the limit holds nothing back, and the pool grows"
    " as far as pods and quotas let it.",
    "https://karpenter.sh/docs/concepts/nodepools/#speclimits",
    "error",
    ("GPU744", "GPU1057", "karpenter-objects-valid"),
)

NO_LIMIT = Fact(
    "A pool of GPU nodes that Karpenter scales has a limit.",
    "A wrong manifest with many replicas then costs what the quotas of the account allow.",
    "https://karpenter.sh/docs/concepts/nodepools/#speclimits",
    "warning",
    ("GPU746", "GPU1078", "node-pool-limits"),
)

BUSY_CONSOLIDATION = Fact(
    "Pods on GPUs are not moved only to save a node.",
    "Karpenter evicts running pods wherever one node fewer would do: what a notebook or a training"
    " holds in GPU memory is lost, again and again where shares come and go.",
    "https://karpenter.sh/docs/concepts/disruption/#consolidation",
    "warning",
    ("GPU751", "GPU1079", "gpu-pools-not-consolidated"),
)

REMOVED_VERSION = Fact(
    "Karpenter serves the API version of its objects.",
    "v1alpha5 went with release 0.33 and v1beta1 with 1.1: the API server has no such kind, or "
    "nothing acts on it, and no node is launched.",
    "https://karpenter.sh/v1.0/upgrading/v1-migration/",
    "error",
    ("GPU1050", "karpenter-objects-valid"),
)

NO_SUCH_KIND = Fact(
    "A kind in one of Karpenter's API groups is one that Karpenter has.",
    "The API server refuses it: no such kind was ever defined.",
    "https://karpenter.sh/docs/concepts/",
    "error",
    ("GPU1051", "karpenter-objects-valid"),
)

UNKNOWN_KEY = Fact(
    "A Karpenter object has keys that its definition names.",
    "kubectl refuses the object, and a server-side or lenient client drops the key in silence.",
    "https://karpenter.sh/docs/concepts/",
    "error",
    ("GPU1052", "karpenter-objects-valid"),
)

REFUSED_VALUE = Fact(
    "The values of a Karpenter object are ones that its definition takes.",
    "The API server refuses the object, and no node is launched by it.",
    "https://karpenter.sh/docs/concepts/nodepools/",
    "error",
    ("GPU1053", "karpenter-objects-valid"),
)

UNSET_LABEL = Fact(
    "A requirement that is to choose GPU types is one on a label that types have.",
    "nvidia.com/gpu is a resource and by custom a taint, and no label of an instance type. Such a "
    "requirement chooses nothing: Karpenter may launch types without a GPU.",
    "https://karpenter.sh/docs/concepts/scheduling/#well-known-labels",
    "warning",
    ("GPU1054", "karpenter-pools-effective"),
)

LATE_LABEL = Fact(
    "A requirement is not on a label that only a running node gets.",
    "GPU feature discovery and NFD set it once they run on the node. Karpenter knows no instance "
    "type by it: it chooses nothing, or gives every node a value that is then overwritten.",
    "https://karpenter.sh/docs/concepts/scheduling/#well-known-labels",
    "warning",
    ("GPU1055", "karpenter-pools-effective"),
)

AUTO_MODE = Fact(
    "GPUs of EKS Auto Mode are not shared.",
    "Its nodes have a device plugin of their own that reads no configuration, and no chart can "
    "replace it: every pod gets a whole GPU.",
    "https://docs.aws.amazon.com/eks/latest/userguide/auto-accelerated.html",
    "error",
    ("GPU1059", "karpenter-objects-valid", "auto-mode-shares-no-gpu"),
    {
        "auto-mode-shares-no-gpu": Differs(
            "warning", "Of a whole cluster, of which another program may make other nodes."
        ),
    },
)

OVERLAY_SHAPE = Fact(
    "A NodeOverlay says something that an overlay may say.",
    "The API server refuses it, or it is for every type that there is.",
    "https://karpenter.sh/docs/concepts/nodeoverlays/",
    "error",
    ("GPU1060", "karpenter-objects-valid"),
)

REFUSED_ALIAS = Fact(
    "An AMI alias is a family and a release.",
    "Karpenter refuses the EC2NodeClass, or finds no image and launches nothing.",
    "https://karpenter.sh/docs/concepts/nodeclasses/#specamiselectorterms",
    "error",
    ("GPU1061", "karpenter-objects-valid"),
)

ANY_TYPE = Fact(
    "A pool that labels its nodes as ones with GPUs launches only such.",
    "Its pods may start nodes without a GPU, which bear the label all the same: DaemonSets for "
    "GPUs run there in vain, and so do pods that select it.",
    "https://karpenter.sh/docs/concepts/scheduling/#well-known-labels",
    "warning",
    ("GPU1084", "karpenter-pools-effective"),
)

NO_TYPE = Fact(
    "The requirements of a pool leave one of the instance types that they name.",
    "Karpenter finds none that fits all of them, and launches nothing.",
    "https://karpenter.sh/docs/concepts/nodepools/#spectemplatespecrequirements",
    "error",
    ("GPU1085", "karpenter-objects-valid"),
)
