"""EKS add-ons of a cluster, with the roles that their service accounts have by Pod Identity."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pulumi
from pulumi_aws.eks import Addon
from pulumi_aws.iam import RolePolicyAttachment

from eks_gpushare.aws.policy_documents import trusted_by
from eks_gpushare.aws.roles import Roles
from eks_gpushare.config.cluster import PodIdentity
from eks_gpushare.sharing.addons import (
    EBS_ACCOUNT,
    EBS_CSI,
    EBS_POLICY,
    IN_CONTROL_PLANE,
    AddonPlan,
)


def register_addons(
    name: str,
    plans: Iterable[AddonPlan],
    cluster_name: pulumi.Input[str],
    roles: Roles,
    tags: Mapping[str, str],
    child: pulumi.ResourceOptions,
) -> list[pulumi.Resource]:
    """Register add-ons, but those that come with the control plane.

    Args:
        name: What their logical names start with.
        plans: The add-ons.
        cluster_name: EKS cluster.
        roles: What their roles have in common with all others of the stack.
        tags: Tags of everything.
        child: Options that name the parent.

    Returns:
        What was registered.
    """
    parts = _Children(name, roles, dict(tags) or None, child)
    for plan in plans:
        if plan.name not in IN_CONTROL_PLANE:
            parts.addon(plan, cluster_name)
    return parts.made


class _Children:
    """Add-ons and their roles. Names of children are state: see docs/upgrades.md."""

    def __init__(
        self, name: str, roles: Roles, tags: dict[str, str] | None, child: pulumi.ResourceOptions
    ) -> None:
        self._name, self._roles, self._tags, self._child = name, roles, tags, child
        self.made: list[pulumi.Resource] = []

    def addon(self, plan: AddonPlan, cluster_name: pulumi.Input[str]) -> None:
        """One add-on, after its roles may do something."""
        identities: list[dict[str, Any]] = []
        after: list[pulumi.Resource] = []
        if plan.name == EBS_CSI:
            policy = self._roles.partition.policy(EBS_POLICY)
            self._identity(plan.role, EBS_ACCOUNT, {"": policy}, identities, after)
        for account, given in plan.pod_identity.items():
            self._given(plan, account, given, identities, after)
        more: dict[str, Any] = {"pod_identity_associations": identities} if identities else {}
        if plan.values:
            more["configuration_values"] = json.dumps(plan.values)
        addon = Addon(
            f"{self._name}-{plan.role}",
            cluster_name=cluster_name,
            addon_name=plan.name,
            addon_version=plan.version,
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="OVERWRITE",
            tags=self._tags,
            opts=pulumi.ResourceOptions(parent=self._child.parent, depends_on=after),
            **more,
        )
        self.made += [*after, addon]

    def _given(
        self,
        plan: AddonPlan,
        account: str,
        given: PodIdentity,
        identities: list[dict[str, Any]],
        after: list[pulumi.Resource],
    ) -> None:
        if given.role_arn is not None:
            identities.append({"service_account": account, "role_arn": given.role_arn})
            return
        # By the name of the policy, so that a further one changes none of the others.
        policies = {f"-{arn.partition(':policy/')[2]}": arn for arn in given.policy_arns}
        self._identity(f"{plan.role}-{account}", account, policies, identities, after)

    def _identity(
        self,
        role_name: str,
        account: str,
        policies: Mapping[str, str],
        identities: list[dict[str, Any]],
        after: list[pulumi.Resource],
    ) -> None:
        """A role for a service account, with policies by the last part of their logical name."""
        name = f"{self._name}-{role_name}"
        trust = trusted_by("pods.eks.amazonaws.com", "sts:AssumeRole", "sts:TagSession")
        role = self._roles.role(name, trust, self._tags, self._child)
        self.made.append(role)
        after += [
            RolePolicyAttachment(
                f"{name}{last}", role=role.name, policy_arn=policy, opts=self._child
            )
            for last, policy in policies.items()
        ]
        identities.append({"service_account": account, "role_arn": role.arn})
