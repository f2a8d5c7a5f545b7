"""Facts about AWS and NVIDIA as typed tables, each with its source.

Nothing here imports Pulumi or asks the network; data files are read when first used.
"""

from __future__ import annotations

from eks_gpushare.catalog.amis import Ami, ami_types, nvidia_ami, standard_ami
from eks_gpushare.catalog.gpus import memory_text, mps_client_limit
from eks_gpushare.catalog.instances import (
    Gpu,
    InstanceType,
    alternatives,
    eks_max_pods,
    gpu_instance_types,
    other_instance_type,
)
from eks_gpushare.catalog.kubernetes import eks_versions, support
from eks_gpushare.catalog.lookup import Catalog
from eks_gpushare.catalog.mig import (
    MigModel,
    Profile,
    mig_model,
    mig_models,
    named_layouts,
    why_no_mig,
)
from eks_gpushare.catalog.quotas import bucket
from eks_gpushare.catalog.versions import addon_versions, ami_release

__all__ = [
    "Ami",
    "Catalog",
    "Gpu",
    "InstanceType",
    "MigModel",
    "Profile",
    "addon_versions",
    "alternatives",
    "ami_release",
    "ami_types",
    "bucket",
    "eks_max_pods",
    "eks_versions",
    "gpu_instance_types",
    "memory_text",
    "mig_model",
    "mig_models",
    "mps_client_limit",
    "named_layouts",
    "nvidia_ami",
    "other_instance_type",
    "standard_ami",
    "support",
    "why_no_mig",
]
