"""All questions: random values of what facts are about, and each front's way to its verdict."""

from __future__ import annotations

import of_clusters
import of_engines
import of_karpenter
import of_pods
import of_quotas
import of_sharing

QUESTIONS = tuple(
    question
    for module in (of_clusters, of_sharing, of_pods, of_karpenter, of_engines, of_quotas)
    for question in module.QUESTIONS
)
