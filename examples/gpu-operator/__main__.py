"""Let the GPU Operator share the GPUs of nodes that are there already, on any Kubernetes cluster.

The nodes carry the label `nvidia.com/device-plugin.config: workstation`; the provider takes the
kubeconfig of the environment. Whether the operator installs the driver is said in the values: of
nodes that others make, nobody else knows.
"""

import pulumi
import pulumi_kubernetes as kubernetes

from eks_gpushare import GpuOperator

provider = kubernetes.Provider("cluster", cluster_identifier="lab")
operator = GpuOperator(
    "gpu-operator",
    {
        "pools": {
            "workstation": {
                "provisioner": "existing",
                "instance_types": ["g6.xlarge"],
                "sharing": {"mode": "timeSlicing", "replicas": 4, "rename": True},
                "taints": [],
            }
        },
        "chart": {
            "values": {
                "driver": {"enabled": True},
                "toolkit": {"enabled": True},
                "dcgmExporter": {"serviceMonitor": {"enabled": True}},
            }
        },
    },
    pulumi.ResourceOptions(providers=[provider]),
)

pulumi.export("configMap", operator.config_map_name)
