"""Serve a model on shares of GPUs that are there already, with as many pods as its use asks for.

The nodes carry the labels `nvidia.com/device-plugin.config: inference`,
`eks-gpushare/pool: inference` and `nvidia.com/gpu.present: "true"`. A Prometheus in the cluster
scrapes a DCGM exporter that runs with hostPID and KUBERNETES_VIRTUAL_GPUS=true.
"""

import pulumi
import pulumi_kubernetes as kubernetes

from eks_gpushare import DevicePlugin, Keda, SharedWorkload
from eks_gpushare.args import Prometheus, ServedPool

provider = kubernetes.Provider("cluster", cluster_identifier="lab")
opts = pulumi.ResourceOptions(providers=[provider])
pool: ServedPool = {
    "name": "inference",
    "provisioner": "existing",
    "instance_types": ["g6.xlarge"],
    "sharing": {"mode": "timeSlicing", "replicas": 4, "rename": True},
}
prometheus: Prometheus = {
    "url": "http://prometheus.monitoring.svc:9090",
    "process_metrics": True,
}
plugin = DevicePlugin("device-plugin", {"served": [pool]}, opts)
keda = Keda("keda", {"prometheus": prometheus}, opts)
chat = SharedWorkload(
    "chat",
    {
        "name": "chat",
        "image": "registry.example/chat:1.4",
        "served": [pool],
        "prometheus": prometheus,
        "port": 8000,
        "resources": {"requests": {"cpu": "500m", "memory": "2Gi"}},
        "replicas": {"min": 1, "max": 4},
        "idle": {"threshold": 20, "minutes": 10},
    },
    pulumi.ResourceOptions(providers=[provider], depends_on=[plugin, keda]),
)

pulumi.export("address", chat.address)
