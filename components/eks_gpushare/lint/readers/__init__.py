"""The readers, a module for each format. The first that knows a document reads it.

Those of texts that are no documents are in `texts`: the policy pack does without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.lint.readers.cloudformation import CloudFormationReader
from eks_gpushare.lint.readers.compose import ComposeReader
from eks_gpushare.lint.readers.device_plugin import DevicePluginConfigReader
from eks_gpushare.lint.readers.eksctl import EksctlReader
from eks_gpushare.lint.readers.helm_objects import HelmObjectReader
from eks_gpushare.lint.readers.helm_values import HelmValuesReader
from eks_gpushare.lint.readers.karpenter import KarpenterReader
from eks_gpushare.lint.readers.kubernetes import KubernetesReader
from eks_gpushare.lint.readers.lists import ListReader
from eks_gpushare.lint.readers.mig_parted import MigPartedReader
from eks_gpushare.lint.readers.pod_parts import PodPartsReader
from eks_gpushare.lint.readers.stack_files import StackFileReader
from eks_gpushare.lint.readers.terraform import TerraformReader

if TYPE_CHECKING:
    from eks_gpushare.lint.document import DocumentReader

DOCUMENT_READERS: tuple[DocumentReader, ...] = (
    ListReader(),
    HelmObjectReader(),
    KarpenterReader(),
    EksctlReader(),
    ComposeReader(),
    TerraformReader(),
    CloudFormationReader(),
    KubernetesReader(),
    StackFileReader(),
    DevicePluginConfigReader(),
    MigPartedReader(),
    HelmValuesReader(),
    PodPartsReader(),
)
"""Of YAML and JSON, the particular before the general."""
