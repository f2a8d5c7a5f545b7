"""Measure the shares of GPUs that are there, for a kube-prometheus-stack that is there.

Its release is called monitoring, by which it finds monitors and rules. docs/alerts.md says what
each alert means.
"""

import pulumi
import pulumi_kubernetes as kubernetes

from eks_gpushare import GpuMetrics

provider = kubernetes.Provider("cluster", cluster_identifier="lab")
metrics = GpuMetrics(
    "metrics",
    {
        "pools": {
            "gpu": {
                "provisioner": "existing",
                "instance_types": ["g6.xlarge"],
                "sharing": {"mode": "timeSlicing", "replicas": 4},
            }
        },
        "region": "us-west-2",
        "prometheus": {"url": "http://monitoring-prometheus.monitoring.svc:9090"},
        "selector_labels": {"release": "monitoring"},
        "alerts": {"severity": {"GpuNodeIdle": "none"}},
    },
    pulumi.ResourceOptions(providers=[provider]),
)

pulumi.export("namespace", metrics.namespace)
