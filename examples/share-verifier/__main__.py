"""Look every minute whether a cluster that is there is what a stack file declares.

The metrics are at port 9464 of the Service eks-gpushare-verify; docs/verify.md has alerts on them,
and says how the image is built.
"""

from pathlib import Path

import pulumi
import pulumi_kubernetes as kubernetes

from eks_gpushare import ShareVerifier

STACK = Path(__file__).parents[2] / "stacks" / "Pulumi.time-slicing.yaml"

provider = kubernetes.Provider("cluster", cluster_identifier="lab")
verifier = ShareVerifier(
    "verifier",
    {
        "image": "registry.example.com/eks-gpushare-verify:0.1.0",
        "interval_seconds": 60,
        "stack": STACK.read_text(encoding="utf-8"),
    },
    pulumi.ResourceOptions(providers=[provider]),
)

pulumi.export("namespace", verifier.namespace)
