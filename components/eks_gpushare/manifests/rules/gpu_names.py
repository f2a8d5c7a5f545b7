"""Rules about names of GPUs in pods: as resources, and where no label is called so."""

from __future__ import annotations

import re
from typing import Final

from eks_gpushare.facts.index import rule_of
from eks_gpushare.sharing.resources import GPU, MIG_PREFIX, SHARED_SUFFIX

NO_SUCH_RESOURCE = rule_of("GPU1204")
RESOURCE_AS_LABEL = rule_of("GPU1205")
OTHER_STRATEGY = rule_of("GPU1206")

RESOURCE_NAMES: Final = re.compile(
    r"nvidia\.com/(?:gpu(?:\.shared)?|mig-[0-9]+g\.[0-9]+gb(?:\.shared)?)(?![A-Za-z0-9_.-])"
)
"""Names of resources, which are no labels unless somebody gives nodes such."""
_OF_NVIDIA: Final = re.compile(r"nvidia(?:\.com)?/", re.IGNORECASE)
_MIG: Final = re.compile(
    r"nvidia\.com/mig-(?:[0-9]+c\.)?[0-9]+g\.[0-9]+gb(?:[.-](?:me|gfx|all))*(?:\.shared)?"
)
_PROFILE: Final = re.compile(r"([0-9]+)g[-_. ]?([0-9]+)gb", re.IGNORECASE)
_ONCE: Final = "alpha.kubernetes.io/nvidia-gpu"
"""What GPUs were called up to Kubernetes 1.10."""
_MEANT: Final = {
    **dict.fromkeys(("gpu", "gpus"), GPU),
    **dict.fromkeys(("gpushared", "gpushare", "sharedgpu"), GPU + SHARED_SUFFIX),
}


def meant_resource(name: str) -> str | None:
    """The resource that is meant by a name that none has; None for all other names."""
    if name == _ONCE:
        return GPU
    matched = _OF_NVIDIA.match(name)
    if matched is None or name in (GPU, GPU + SHARED_SUFFIX) or _MIG.fullmatch(name):
        return None
    rest = name[matched.end() :].lower()
    plain = re.sub(r"[^a-z0-9]", "", rest)
    if plain in _MEANT:
        return _MEANT[plain]
    profile = _PROFILE.search(rest)
    if profile is None or not plain.startswith(("mig", profile[1])):
        return None
    suffix = SHARED_SUFFIX if plain.endswith("shared") else ""
    return f"{MIG_PREFIX}{profile[1]}g.{profile[2]}gb{suffix}"
