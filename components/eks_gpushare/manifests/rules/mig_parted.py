"""Rules about configurations of NVIDIA's mig-parted, which the MIG manager applies.

Source: `api/spec/v1/spec.go` of NVIDIA/mig-parted, at the version in `catalog.versions`.
"""

from __future__ import annotations

from eks_gpushare.facts.index import rule_of

REFUSED = rule_of("GPU1030")
NO_PROFILE = rule_of("GPU1031")
NO_FIT = rule_of("GPU1032")
NO_FILTER = rule_of("GPU1033")
