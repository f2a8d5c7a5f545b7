"""Two teams on one p4d.24xlarge, whose GPUs are cut into 16 small, 8 middle and 8 large slices.

Research is sure of a quarter and may have 120 GiB while vision leaves them; vision gets its three
quarters back whenever it asks. The namespaces are there already.
"""

import pulumi
import pulumi_kubernetes as kubernetes

from eks_gpushare import Kueue
from eks_gpushare.args import QueuePool

SMALL, MIDDLE, LARGE = (f"nvidia.com/mig-{profile}" for profile in ("1g.5gb", "2g.10gb", "3g.20gb"))
ALL = {SMALL: 16, MIDDLE: 8, LARGE: 8}

provider = kubernetes.Provider("cluster", cluster_identifier="lab")
pool: QueuePool = {
    "node_selector": {"eks-gpushare/pool": "slices"},
    "taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}],
    "advertised": ALL,
    "gib": {SMALL: 5, MIDDLE: 10, LARGE: 20},
}
kueue = Kueue(
    "kueue",
    {
        "pools": {"slices": pool},
        "tenants": {
            "research": {
                "namespaces": ["team-research"],
                "pools": {
                    "slices": {
                        "guaranteed": {SMALL: 4, MIDDLE: 2, LARGE: 2},
                        "maximum": ALL,
                        "maximum_gib": 120,
                    }
                },
            },
            "vision": {
                "namespaces": ["team-vision"],
                "pools": {"slices": {"guaranteed": {SMALL: 12, MIDDLE: 6, LARGE: 6}}},
            },
        },
    },
    pulumi.ResourceOptions(providers=[provider]),
)

pulumi.export("namespace", kueue.namespace)
