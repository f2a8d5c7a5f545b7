"""Share the GPUs of nodes that are there already, on any Kubernetes cluster.

The nodes carry the labels `nvidia.com/device-plugin.config: workstation` and
`nvidia.com/gpu.present: "true"`; the provider takes the kubeconfig of the environment.
"""

import pulumi
import pulumi_kubernetes as kubernetes

from eks_gpushare import DevicePlugin

provider = kubernetes.Provider("cluster", cluster_identifier="lab")
plugin = DevicePlugin(
    "device-plugin",
    {
        "pools": {
            "workstation": {
                "provisioner": "existing",
                "instance_types": ["g6.xlarge"],
                "sharing": {"mode": "timeSlicing", "replicas": 4, "rename": True},
                "taints": [],
            }
        }
    },
    pulumi.ResourceOptions(providers=[provider]),
)

pulumi.export("configMap", plugin.config_map_name)
