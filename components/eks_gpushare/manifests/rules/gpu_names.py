"""Rules about names of GPUs in pods: as resources, and where no label is called so."""

from __future__ import annotations

import re
from typing import Final

from eks_gpushare.facts.index import rule_of

NO_SUCH_RESOURCE = rule_of("GPU1204")
RESOURCE_AS_LABEL = rule_of("GPU1205")
OTHER_STRATEGY = rule_of("GPU1206")

RESOURCE_NAMES: Final = re.compile(
    r"nvidia\.com/(?:gpu(?:\.shared)?|mig-[0-9]+g\.[0-9]+gb(?:\.shared)?)(?![A-Za-z0-9_.-])"
)
"""Names of resources, which are no labels unless somebody gives nodes such."""
