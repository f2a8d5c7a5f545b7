"""Rules about what keeps controllers from making the pods of a workload."""

from __future__ import annotations

from eks_gpushare.facts.index import rule_of

NOT_CREATED = rule_of("GPU1277")
