"""The Pulumi project, by whose name its configuration is found."""

from __future__ import annotations

PROJECT = "eks-gpushare"
"""Name of the Pulumi project, and so the namespace of its configuration."""
ENVIRONMENT_KEY = f"{PROJECT}:environment"
"""The one key this project reads."""
