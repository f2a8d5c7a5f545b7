"""The rules of the eks-gpushare policy pack; importing them starts nothing."""

from __future__ import annotations

from gpushare_policies.registry import POLICIES

NAME = "eks-gpushare"
"""Name of the pack."""

DISPLAY_NAME = "GPU sharing on Amazon EKS"
"""Name of the pack where there is room for a sentence."""

DESCRIPTION = "What a GPU-sharing environment on Amazon EKS must look like before it is paid for."
"""What the pack is for; the same as in `PulumiPolicy.yaml`."""

__all__ = ["DESCRIPTION", "DISPLAY_NAME", "NAME", "POLICIES"]
