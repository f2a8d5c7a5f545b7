"""What the distribution `eks-gpushare` has of the folder above its own: README and policy pack.

Its sdist carries both beside its `pyproject.toml`, so that a wheel is made of either.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_OF_OTHER_FOLDERS = tuple(
    f"eks_gpushare/{file}"
    for file in (
        "catalog/data/other-prices.json",
        "cli/measured_lines.py",
        "documents/kubeconfig.py",
        "live/declared.py",
        "rules/component_rules.py",
        "rules/lookups.py",
        "rules/metrics_alone.py",
        "sharing/karpenter/node_pool.py",
        "sharing/karpenter/purchase.py",
    )
)
"""What only programs use, in folders that are the other distribution's."""


def _above(root: str) -> Path:
    """The repository, or the sdist itself."""
    here = Path(root)
    return here if (here / "policies").is_dir() else here.parent


class Readme(MetadataHookInterface):
    """The repository's README as the project's."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add what `dynamic` promises."""
        text = (_above(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


class PolicyPack(BuildHookInterface[Any]):
    """The policy pack as data: its folder is no package, so nothing imports it by mistake."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the pack to a wheel, and to an sdist all that a wheel is made of."""
        above = _above(self.root)
        if self.target_name == "sdist":
            names = ("policies", "README.md", "CHANGELOG.md")
            added = {str(above / name): name for name in names}
        elif version == "editable":
            added = {}
        else:
            added = {str(above / "policies"): "eks_gpushare/policy_pack"}
        if version != "editable":
            added |= {str(Path(self.root) / file): file for file in _OF_OTHER_FOLDERS}
        build_data["force_include"] |= added
