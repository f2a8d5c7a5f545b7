"""Tags of Auto Scaling groups and labels of nodes by which Cluster Autoscaler knows them.

Source: cluster-autoscaler/cloudprovider/aws/README.md of kubernetes/autoscaler; November 2026.
"""

from __future__ import annotations

from typing import Final

AUTOSCALER_TAGS: Final = "k8s.io/cluster-autoscaler/"
"""What all of its tags begin with; behind it stands the name of a cluster, too."""
ENABLED_TAG: Final = f"{AUTOSCALER_TAGS}enabled"
"""Tag that EKS puts on the Auto Scaling group of every managed node group."""
TEMPLATE_TAGS: Final = f"{AUTOSCALER_TAGS}node-template/"
"""What the tags begin with by which it is told of a node that is not there yet."""
LABEL_TAGS: Final = f"{TEMPLATE_TAGS}label/"
"""Those of them that say which labels such a node has."""
RESOURCE_TAGS: Final = f"{TEMPLATE_TAGS}resources/"
"""Those of them that say what such a node has."""
ACCELERATOR_LABEL: Final = "k8s.amazonaws.com/accelerator"
"""Label by which its AWS provider knows a node with GPUs."""
