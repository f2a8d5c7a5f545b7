"""The log group of a control plane, made before EKS makes one without retention.

Apart from the cluster, since most stacks keep the group that EKS makes, and nothing else needs the
CloudWatch package.
"""

import pulumi
from pulumi_aws.cloudwatch import LogGroup

from eks_gpushare.config.component_specs import EksClusterSpec


def control_plane_logs(name: str, spec: EksClusterSpec, parent: pulumi.Resource) -> LogGroup:
    """The log group that EKS writes to, under the name that EKS expects.

    A cluster that ran before has the group already: `pulumi import` takes it over, with this
    component as its parent or without one.
    """
    return LogGroup(
        name,
        name=f"/aws/eks/{spec.name}/cluster",
        retention_in_days=spec.log_retention_days,
        kms_key_id=spec.log_key_arn,
        tags=dict(spec.tags) or None,
        opts=pulumi.ResourceOptions(
            parent=parent, aliases=[pulumi.Alias(parent=pulumi.ROOT_STACK_RESOURCE)]
        ),
    )
