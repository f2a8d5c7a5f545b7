"""Rules about configurations of NVIDIA's mig-parted, which the MIG manager applies.

Source: `api/spec/v1/spec.go` of NVIDIA/mig-parted, at the version in `catalog.versions`.
"""

from __future__ import annotations

from eks_gpushare.facts.index import mig as mig_facts

REFUSED = mig_facts.REFUSED.rule("GPU1030")
NO_PROFILE = mig_facts.PROFILE.rule("GPU1031")
NO_FIT = mig_facts.FITS.rule("GPU1032")
NO_FILTER = mig_facts.NO_FILTER.rule("GPU1033")
