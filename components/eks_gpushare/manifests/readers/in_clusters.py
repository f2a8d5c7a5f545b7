"""The readers of what stands in a cluster: objects, releases of charts and configurations.

The policy pack needs no others, and starts sooner without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.manifests.readers.device_plugin import DevicePluginConfigReader
from eks_gpushare.manifests.readers.helm_objects import HelmObjectReader
from eks_gpushare.manifests.readers.helm_values import HelmValuesReader
from eks_gpushare.manifests.readers.karpenter import KarpenterReader
from eks_gpushare.manifests.readers.kubernetes import KubernetesReader
from eks_gpushare.manifests.readers.lists import ListReader
from eks_gpushare.manifests.readers.mig_parted import MigPartedReader

if TYPE_CHECKING:
    from eks_gpushare.manifests.document import DocumentReader

OBJECT_READERS: tuple[DocumentReader, ...] = (
    ListReader(),
    HelmObjectReader(),
    KarpenterReader(),
)
"""Of objects of one kind, or of a few."""
CONFIG_READERS: tuple[DocumentReader, ...] = (
    DevicePluginConfigReader(),
    MigPartedReader(),
    HelmValuesReader(),
)
"""Of what a ConfigMap or a release holds."""
CLUSTER_READERS: tuple[DocumentReader, ...] = (
    *OBJECT_READERS,
    KubernetesReader(),
    *CONFIG_READERS,
)
"""The particular before the general."""
