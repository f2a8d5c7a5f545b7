"""Rules about names of GPUs in pods: as resources, and where no label is called so."""

from __future__ import annotations

from eks_gpushare.facts.index import workloads as workloads_facts

NO_SUCH_RESOURCE = workloads_facts.NO_SUCH_RESOURCE.rule("GPU1204")
RESOURCE_AS_LABEL = workloads_facts.RESOURCE_AS_LABEL.rule("GPU1205")
OTHER_STRATEGY = workloads_facts.OTHER_STRATEGY.rule("GPU1206")
