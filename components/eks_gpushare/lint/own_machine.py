"""Scripts that set up the machine which they run on, and so the cluster that this is a node of.

Nodes of EKS start from an image that has all of it: what such a script installs with helm is for
another cluster than that whose node groups lie beside it.
"""

from __future__ import annotations

import re
from typing import Final

MACHINE: Final = " "
"""In place of the name of such a cluster."""
_SETS_UP: Final = re.compile(
    r"^[ \t]*(?:sudo[ \t]+)?(?:"
    r"(?:apt|apt-get|dnf|yum)[ \t][^\n#]*\binstall\b[^\n#]*\bnvidia-(?:container-toolkit|driver)"
    r"|kubeadm[ \t]+(?:init|join)\b)",
    re.MULTILINE,
)


def is_of_machine(text: str) -> bool:
    """Whether a script installs NVIDIA's toolkit or driver, or makes the machine a node."""
    return _SETS_UP.search(text) is not None
