"""All readers of YAML and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.lint.readers.agents import AgentReader
from eks_gpushare.lint.readers.ansible import AnsibleReader
from eks_gpushare.lint.readers.app_template import AppTemplateReader, BroughtAppTemplateReader
from eks_gpushare.lint.readers.cloudformation import CloudFormationReader
from eks_gpushare.lint.readers.compose import ComposeReader
from eks_gpushare.lint.readers.eksctl import EksctlReader
from eks_gpushare.lint.readers.jupyterhub import JupyterHubReader
from eks_gpushare.lint.readers.production_stack import ProductionStackReader
from eks_gpushare.lint.readers.pulumi_yaml import PulumiYamlReader
from eks_gpushare.lint.readers.stack_files import StackFileReader
from eks_gpushare.lint.readers.terraform import TerraformReader
from eks_gpushare.manifests.readers.in_clusters import CONFIG_READERS, OBJECT_READERS
from eks_gpushare.manifests.readers.kubernetes import KubernetesReader
from eks_gpushare.manifests.readers.lists import RawValuesReader
from eks_gpushare.manifests.readers.pod_parts import PodPartsReader
from eks_gpushare.manifests.readers.prometheus_rules import PrometheusRulesReader

if TYPE_CHECKING:
    from eks_gpushare.manifests.document import DocumentReader

DOCUMENT_READERS: tuple[DocumentReader, ...] = (
    *OBJECT_READERS,
    EksctlReader(),
    ComposeReader(),
    AnsibleReader(),
    TerraformReader(),
    CloudFormationReader(),
    KubernetesReader(),
    PulumiYamlReader(),
    StackFileReader(),
    JupyterHubReader(),
    ProductionStackReader(),
    AppTemplateReader(),
    BroughtAppTemplateReader(),
    RawValuesReader(),
    PrometheusRulesReader(),
    *CONFIG_READERS,
    AgentReader(),
    PodPartsReader(),
)
"""The particular before the general; the first that knows a document reads it."""
