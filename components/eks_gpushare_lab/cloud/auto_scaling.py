"""Auto Scaling groups on moto, as EKS makes one for each managed node group.

moto keeps groups, launch templates and node groups, and answers for them. What it lacks is here: a
group that launches what capacity there is, of the types and zones in turn, and says of the rest why
not. Imported in the process of the emulation only, since it imports moto.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from moto.autoscaling.models import FakeAutoScalingGroup, InstanceState
from moto.autoscaling.responses import AutoScalingResponse
from moto.backends import get_backend
from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.eks.models import EKSBackend

from eks_gpushare_lab.cloud.account import ACCOUNT_ID
from eks_gpushare_lab.cloud.ec2 import Behaviour
from eks_gpushare_lab.cloud.node_groups import scaling_group_of, scaling_group_tags, taints_of
from eks_gpushare_lab.cloud.settings import ON_DEMAND, RESERVED, SPOT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare_lab.install.desired_cluster import NodePool

_ACTIVITIES = "describe_scaling_activities"
_IMAGE = "ami-0123456789abcdef0"
_CAPACITY_TYPES = {"SPOT": SPOT, "CAPACITY_BLOCK": RESERVED}
# As in the activities of an Auto Scaling group; Cluster Autoscaler looks at the status alone.
# https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-capacity.html (read 2026-11-22)
_NO_CAPACITY = (
    "We currently do not have sufficient {type} capacity in the Availability Zone you requested "
    "({zone}). Launching EC2 instance failed."
)


class ScalingGroup(FakeAutoScalingGroup):
    """The Auto Scaling group of a managed node group."""

    def __init__(self, pool: NodePool, template: str) -> None:
        """Make it, and launch what is desired.

        Args:
            pool: the node group.
            template: id of its launch template.
        """
        self.pool = pool
        self.activities: list[dict[str, Any]] = []
        self._launched = 0
        name = scaling_group_of(pool)
        backend: Any = get_backend("autoscaling")[ACCOUNT_ID][pool.region]
        tags: list[dict[str, Any]] = [
            {"Key": key, "Value": value, "PropagateAtLaunch": True, "ResourceId": name}
            for key, value in scaling_group_tags(pool).items()
        ]
        super().__init__(
            name=name,
            availability_zones=list(_zones(pool)),
            desired_capacity=pool.nodes,
            max_size=pool.maximum,
            min_size=pool.minimum,
            launch_config_name="",
            launch_template={},
            vpc_zone_identifier=None,
            default_cooldown=None,
            health_check_period=None,
            health_check_type=None,
            load_balancers=[],
            target_group_arns=[],
            placement_group=None,
            termination_policies=[],
            autoscaling_backend=backend,
            ec2_backend=backend.ec2_backend,
            tags=tags,
            mixed_instances_policy=_policy(pool, template),
            capacity_rebalance=False,
        )
        backend.autoscaling_groups[name] = self

    def replace_autoscaling_group_instances(
        self, count_needed: int, propagated_tags: dict[str, str]
    ) -> None:
        """Launch instances one by one, each where there is capacity, until there is none."""
        tags = {**propagated_tags, "aws:autoscaling:groupName": self.name}
        for _ in range(count_needed):
            place = self._with_capacity()
            if place is None:
                self._fail()
                return
            self._launch(*place, tags)

    def _with_capacity(self) -> tuple[str, str] | None:
        """The first type and zone that EC2 has; zones take turns."""
        kept = _CAPACITY_TYPES.get(self.pool.capacity_type, ON_DEMAND)
        zones = _zones(self.pool)
        first = self._launched % len(zones)
        lacking = Behaviour.settings.insufficient
        for kind, zone in product(self.pool.instance_types, zones[first:] + zones[:first]):
            if not any(shortage.covers(kind, zone, kept) for shortage in lacking):
                return kind, zone
        return None

    def _launch(self, kind: str, zone: str, tags: dict[str, str]) -> None:
        self._launched += 1
        reservation = self.ec2_backend.run_instances(
            _IMAGE,
            1,
            None,  # the node group has it: EKS adds to it what makes the node join
            [],
            instance_type=kind,
            is_instance_type_default=False,
            placement=zone,
            tags={"instance": dict(tags)},
            lifecycle=SPOT if self.pool.capacity_type == "SPOT" else None,
        )
        launched: list[Any] = reservation.instances
        for instance in launched:
            instance.autoscaling_group = self
            self.instance_states.append(InstanceState(instance))
            self._note(f"Launching a new EC2 instance: {instance.id}", "Successful", "")

    def _fail(self) -> None:
        message = _NO_CAPACITY.format(type=self.pool.instance_types[0], zone=_zones(self.pool)[0])
        self._note("Launching a new EC2 instance.", "Failed", message)

    def _note(self, description: str, status: str, message: str) -> None:
        """Keep an activity; they are described with the newest first."""
        now = utcnow()
        activity = {
            "ActivityId": f"{self.name}-{len(self.activities)}",
            "AutoScalingGroupName": self.name,
            "Description": description,
            "Cause": "The desired capacity was changed.",
            "StartTime": now,
            "EndTime": now,
            "StatusCode": status,
            "StatusMessage": message,
            "Progress": 100,
        }
        self.activities.insert(0, activity)


def _describe_scaling_activities(self: AutoScalingResponse) -> ActionResult:
    """What a group did last: moto keeps none, and Cluster Autoscaler looks for failures."""
    name = self._get_param("AutoScalingGroupName")
    group = self.autoscaling_backend.autoscaling_groups.get(name)
    return ActionResult({"Activities": list(getattr(group, "activities", ()))})


_tag_cluster = EKSBackend.tag_resource


def _tag_resource(self: EKSBackend, resource_arn: str, tags: dict[str, str]) -> None:
    """Tags of a node group, which Cluster Autoscaler reads: moto has those of clusters alone."""
    groups = (
        nodegroup for cluster in self.clusters.values() for nodegroup in cluster.nodegroups.values()
    )
    group = next((nodegroup for nodegroup in groups if nodegroup.arn == resource_arn), None)
    if group is None:
        _tag_cluster(self, resource_arn, tags)
    else:
        group.tags.update(tags)


def fill(pools: Iterable[NodePool]) -> None:
    """Make managed node groups in clusters that are there, with what EKS makes for them.

    Args:
        pools: those of a stack that are managed node groups.
    """
    setattr(AutoScalingResponse, _ACTIVITIES, _describe_scaling_activities)
    EKSBackend.tag_resource = _tag_resource  # type: ignore[method-assign]
    for pool in pools:
        eks: Any = get_backend("eks")[ACCOUNT_ID][pool.region]
        ec2: Any = get_backend("ec2")[ACCOUNT_ID][pool.region]
        sizes = {
            "minSize": pool.minimum,
            "desiredSize": pool.nodes,
            "maxSize": pool.maximum,
        }
        template = ec2.create_launch_template(
            f"eks-{pool.group}", "", {"ImageId": _IMAGE}, tag_spec={}
        )
        eks.create_nodegroup(
            cluster_name=pool.cluster,
            node_role=f"arn:aws:iam::{ACCOUNT_ID}:role/{pool.group}",
            nodegroup_name=pool.group,
            subnets=[],
            scaling_config=sizes,
            disk_size=pool.disk_gib,
            instance_types=list(pool.instance_types),
            ami_type=pool.ami_type,
            labels=dict(pool.labels),
            taints=taints_of(pool),
            tags=dict(pool.tags),
            capacity_type=pool.capacity_type,
            version=pool.version,
        )
        ScalingGroup(pool, template.id)  # type: ignore[abstract]  # as moto's own are


def pool_of(instance: Any) -> NodePool | None:
    """The managed node group that has launched an instance; None if none has."""
    group = getattr(instance, "autoscaling_group", None)
    return group.pool if isinstance(group, ScalingGroup) else None


def _zones(pool: NodePool) -> tuple[str, ...]:
    return pool.zones or (f"{pool.region}a",)


def _policy(pool: NodePool, template: str) -> dict[str, Any]:
    """The mixed instances policy by which EKS hands on the instance types."""
    specification = {"LaunchTemplateId": template, "Version": "1"}
    overrides = [{"InstanceType": instance_type} for instance_type in pool.instance_types]
    return {
        "LaunchTemplate": {"LaunchTemplateSpecification": specification, "Overrides": overrides}
    }
