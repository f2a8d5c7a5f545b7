"""The rule on what the role of nodes may do, which every pod with access to it may do too."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pulumi_policy import PolicyResource, Severity, StackValidationArgs

from gpushare_policies.checks import Unjudged
from gpushare_policies.reading.powers import beyond_nodes, owns_most
from gpushare_policies.reading.roles import NAMING_NODES, StackRoles
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import StackPolicy, security_hub
from gpushare_policies.tokens import (
    POLICY_ATTACHMENT,
    ROLE,
    ROLE_ATTACHMENT,
    ROLE_ATTACHMENTS,
    ROLE_POLICY,
)
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_RAW = (
    "Attach AmazonEKSWorkerNodePolicy, AmazonEC2ContainerRegistryPullOnly and what the nodes "
    "themselves need; give pods roles of their own by aws.eks.PodIdentityAssociation."
)
_FIX = Fix(
    "Nodes made from a stack file have four policies that EKS needs: remove the attachment, and "
    "give pods their own roles by EKS Pod Identity.",
    _RAW,
    _RAW,
)
_TOO_MUCH = re.compile(
    r"AdministratorAccess.*|PowerUserAccess|SystemAdministrator|SecretsManagerReadWrite"
    r"|AmazonEC2ContainerRegistryPowerUser|.*FullAccess(_?[vV][0-9]+)?"
)
"""Policies of AWS that let a node do what no node does:
https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html, read 2026-11-22."""
_OTHERS = frozenset(
    (
        *("AIDevOpsAgentActionsPolicy", "AWSBackupServiceRolePolicyForBackup"),
        *("AWSBackupServiceRolePolicyForRestores", "AWSBackupServiceRolePolicyForS3Restore"),
        *("AWSBatchServiceRole", "AWSCodeDeployRole", "AWSCodeStarServiceRole", "AWSConnector"),
        *("AWSDeepRacerCloudFormationAccessPolicy", "AWSDeepRacerServiceRolePolicy"),
        *("AWSElasticBeanstalkCustomPlatformforEC2Role", "AWSElasticBeanstalkRoleRDS"),
        *("AWSElasticBeanstalkService", "AWSFaultInjectionSimulatorEC2Access"),
        *("AWSFaultInjectionSimulatorECSAccess", "AWSFaultInjectionSimulatorEKSAccess"),
        *("AWSFaultInjectionSimulatorSSMAccess", "AWSForWordPressPluginPolicy"),
        *("AWSRoboMakerServiceRolePolicy", "AWSSecretsManagerClientReadOnlyAccess"),
        "AmazonCognitoUnAuthedIdentitiesSessionPolicy",
        "AmazonDataZoneEnvironmentRolePermissionsBoundary",
        "AmazonDataZoneSageMakerEnvironmentRolePermissionsBoundary",
        *("AmazonDynamoDBFullAccesswithDataPipeline", "AmazonEC2RoleforDataPipelineRole"),
        *("AmazonEC2SpotFleetTaggingRole", "AmazonElasticMapReduceRole"),
        *("AmazonElasticMapReduceforEC2Role", "AmazonSSMAutomationRole"),
        *("AmazonSSMMaintenanceWindowRole", "CloudWatchActionsEC2Access"),
        *("CloudWatchEventsBuiltInTargetExecutionAccess", "ConsoleFullAccessFromVercel"),
        *("DataScientist", "DatabaseAdministrator"),
        *("AWSBackupServiceRolePolicyForItemRestores", "AWSIoTRuleActions", "AWSLambdaExecute"),
        *("AmazonEC2RoleforSSM", "AmazonElasticTranscoderRole", "AWSCodeDeployRoleForECS"),
        *("AWSLambdaInvocation-DynamoDB", "AWSLambdaRole"),
        *("EC2InstanceProfileForImageBuilderECRContainerBuilds", "NetworkAdministrator"),
        *("ROSAInstallerPolicy", "SageMakerStudioAdminIAMConsolePolicy"),
        "SageMakerStudioAdminIAMDefaultExecutionPolicy",
        "SageMakerStudioAdminIAMPermissiveExecutionPolicy",
        "SageMakerStudioProjectUserRolePermissionsBoundary",
        *("SageMakerStudioProjectUserRolePolicy", "SageMakerStudioUserIAMDefaultExecutionPolicy"),
        "SageMakerStudioUserIAMPermissiveExecutionPolicy",
    )
)
"""Further ones that allow what `beyond_nodes` asks about, by their documents of 2026-11-25. A test
reads all of AWS's."""


def too_much(arn: str) -> bool:
    """Whether a managed policy of AWS gives a node more than any node needs."""
    _, is_of_aws, path = arn.partition(":aws:policy/")
    name = path.rpartition("/")[2]
    return bool(is_of_aws) and (name in _OTHERS or _TOO_MUCH.fullmatch(name) is not None)


def _judge(role: PolicyResource, stack: StackRoles) -> Iterator[tuple[str, str] | Unjudged]:
    bound = stack.boundary(role)
    if isinstance(bound, Unjudged):
        yield bound
        return
    for arn, resource in stack.policies(role):
        # What AWS's policies allow is not here: a boundary has to forbid all of it.
        if too_much(arn) and (bound is None or beyond_nodes(bound)):
            yield _message(role, arn, resource.urn), resource.urn
    documents, unjudged = stack.documents_of(role)
    yield from unjudged
    for document in documents:
        if owns_most(document.statements, bound):
            what = f"{document.what} allows everything"
        elif action := beyond_nodes(document.statements, bound):
            what = f"{document.what} allows {action} on whatever there is"
        else:
            continue
        yield _message(role, what, document.resource.urn), document.resource.urn


def _message(role: PolicyResource, what: str, urn: str) -> str:
    return (
        f"The role of nodes {role.name} has {what}. It must have no more than nodes need: whoever "
        f"gets at a node's credentials has all of it. {_FIX.of(urn)}"
    )


def _rights(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    stack = StackRoles(args.resources)
    yield from over_each(stack.of_nodes(), lambda role: _judge(role, stack))


NODE_ROLE_RIGHTS = StackPolicy(
    "node-role-rights",
    "The role of nodes must have no rights over whatever there is in the account.",
    check=_rights,
    applies_to=(
        ROLE,
        ROLE_ATTACHMENT,
        ROLE_ATTACHMENTS,
        POLICY_ATTACHMENT,
        ROLE_POLICY,
        *NAMING_NODES,
    ),
    unseen=(
        "roles, policies and permissions boundaries of other stacks; policies of AWS for drivers "
        "of volumes are let be, for their conditions keep them to what the driver made, and so is "
        "reading parameters, which that of Systems Manager allows."
    ),
    severity=Severity.HIGH,
    framework=security_hub("IAM.1", "IAM policies do not allow full administrative privileges."),
    fix=_FIX,
)
