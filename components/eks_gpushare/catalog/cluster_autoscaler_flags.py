"""The flags of Cluster Autoscaler. With one that it does not know it ends as soon as it starts.

Those of 1.33 are what `cluster-autoscaler --help` of 1.33.0 prints, but for those of its tests, and
config/flags/flags.go of 1.33.6; later ones are from that file at 1.34.5, 1.35.2 and 1.36.1 of
kubernetes/autoscaler, none of which took a flag away. Read 2026-11-22.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@cache
def flags_since() -> Mapping[str, str]:
    """The first Kubernetes minor version whose autoscaler has a flag, by flag."""
    since = {flag: version for version, text in _NEW.items() for flag in text.split()}
    return MappingProxyType(since)


_NEW = {
    "1.33": (
        "add-dir-header address alsologtostderr async-node-groups aws-use-static-instance-list "
        "balance-similar-node-groups balancing-ignore-label balancing-label "
        "blocking-system-pod-distruption-timeout bulk-mig-instances-listing-enabled "
        "bypassed-scheduler-names check-capacity-batch-processing "
        "check-capacity-processor-instance check-capacity-provisioning-request-batch-timebox "
        "check-capacity-provisioning-request-max-batch-size cloud-config cloud-provider "
        "cluster-name cluster-snapshot-parallelism clusterapi-cloud-config-authoritative "
        "cordon-node-before-terminating cores-total daemonset-eviction-for-empty-nodes "
        "daemonset-eviction-for-occupied-nodes debugging-snapshot-enabled drain-priority-config "
        "dynamic-node-delete-delay-after-taint-enabled emit-per-nodegroup-metrics "
        "enable-dynamic-resource-allocation enable-proactive-scaleup enable-provisioning-requests "
        "enforce-node-group-min-size estimator expander expendable-pods-priority-cutoff "
        "feature-gates force-delete-failed-nodes force-delete-unregistered-nodes force-ds "
        "frequent-loops-enabled gce-concurrent-refreshes gce-mig-instances-min-refresh-wait-time "
        "gpu-total grpc-expander-cert grpc-expander-url ignore-daemonsets-utilization "
        "ignore-mirror-pods-utilization ignore-taint initial-node-group-backoff-duration "
        "kube-api-content-type kube-client-burst kube-client-qps kubeconfig kubernetes "
        "leader-elect leader-elect-lease-duration leader-elect-renew-deadline "
        "leader-elect-resource-lock leader-elect-resource-name leader-elect-resource-namespace "
        "leader-elect-retry-period log-backtrace-at log-dir log-file log-file-max-size "
        "log-flush-frequency log-json-info-buffer-size log-json-split-stream "
        "log-text-info-buffer-size log-text-split-stream logging-format logtostderr "
        "max-allocatable-difference-ratio max-binpacking-time max-bulk-soft-taint-count "
        "max-bulk-soft-taint-time max-drain-parallelism max-failing-time "
        "max-free-difference-ratio max-graceful-termination-sec max-inactivity "
        "max-node-group-backoff-duration max-node-provision-time "
        "max-nodegroup-binpacking-duration max-nodes-per-scaleup max-nodes-total "
        "max-pod-eviction-time max-scale-down-parallelism max-total-unready-percentage "
        "memory-difference-ratio memory-total min-replica-count namespace new-pod-scale-up-delay "
        "node-delete-delay-after-taint node-deletion-batcher-interval node-deletion-delay-timeout "
        "node-group-auto-discovery node-group-backoff-reset-timeout node-info-cache-expire-time "
        "nodes ok-total-unready-count one-output parallel-scale-up pod-injection-limit profiling "
        "provisioning-request-initial-backoff-time provisioning-request-max-backoff-cache-size "
        "provisioning-request-max-backoff-time record-duplicated-events regional "
        "scale-down-candidates-pool-min-count scale-down-candidates-pool-ratio "
        "scale-down-delay-after-add scale-down-delay-after-delete scale-down-delay-after-failure "
        "scale-down-delay-type-local scale-down-enabled scale-down-gpu-utilization-threshold "
        "scale-down-non-empty-candidates-count scale-down-simulation-timeout "
        "scale-down-unneeded-time scale-down-unready-enabled scale-down-unready-time "
        "scale-down-utilization-threshold scale-up-from-zero scan-interval scheduler-config-file "
        "skip-headers skip-log-headers skip-nodes-with-custom-controller-pods "
        "skip-nodes-with-local-storage skip-nodes-with-system-pods startup-taint "
        "status-config-map-name status-taint stderrthreshold unremovable-node-recheck-timeout "
        "user-agent v vmodule write-status-configmap"
    ),
    "1.34": (
        "capacity-buffer-controller-enabled capacity-buffer-pod-injection-enabled "
        "node-deletion-candidate-ttl"
    ),
    "1.35": (
        "allowed-scheduler-names enable-csi-node-aware-scheduling "
        "max-node-skip-eval-time-tracker-enabled max-node-startup-time "
        "node-removal-latency-tracking-enabled predicate-parallelism scale-from-unschedulable"
    ),
    "1.36": (
        "capacity-buffer-pod-dry-run-enabled capacity-quotas-enabled fastpath-binpacking-enabled "
        "max-startup-time salvo-scale-up salvo-scale-up-budget "
        "scaleup-simulation-for-skipped-node-groups-enabled startup-taint-prefix"
    ),
}
