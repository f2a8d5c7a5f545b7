"""Queues, quotas and schedulers that stand between a workload and its nodes."""
