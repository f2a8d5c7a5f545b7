"""Rules about EKS add-ons."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from eks_gpushare.catalog.addon_names import ADDON_NAMES
from eks_gpushare.catalog.arns import policy_fault, role_fault
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.addon_versions import is_name
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.addons import (
    EBS_ACCOUNT,
    EBS_CSI,
    IN_CONTROL_PLANE,
    OWN_ADDONS,
    PREFIX_ENVIRONMENT,
    VPC_CNI,
)
from eks_gpushare.sharing.cloudwatch import ADDON as CLOUDWATCH
from eks_gpushare.sharing.cloudwatch import makes_addon
from eks_gpushare.validation.shape import similar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.cluster import Addon, Addons
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_ADDONS = "https://docs.aws.amazon.com/eks/latest/userguide/eks-add-ons.html"
_IDENTITY = "https://docs.aws.amazon.com/eks/latest/userguide/add-ons-iam.html"

ADDON_TWICE = Rule(
    "GPU325",
    "error",
    "Each thing about an add-on is said once, of an add-on that the cluster gets.",
    "One of the two would win in silence, or EKS refuses an add-on that is there already.",
    _ADDONS,
)
BAD_ADDON = Rule(
    "GPU326",
    "error",
    "An add-on has a name of EKS and configuration values that are JSON.",
    "EKS refuses it when the cluster is there.",
    _ADDONS,
)
BAD_IDENTITY = Rule(
    "GPU329",
    "error",
    "A service account of an add-on has one role by Pod Identity: given, or made with policies.",
    "The add-on would run without permissions, or with others than are meant.",
    _IDENTITY,
)


@check(Scope.CLUSTER, ADDON_TWICE, BAD_ADDON, BAD_IDENTITY)
def addons(ctx: Context) -> Iterator[Finding]:
    cluster = ctx.new_cluster
    if cluster is None:
        return
    at: FieldPath = ("cluster", "addons")
    given = cluster.addons
    for name, addon in given.by_name.items():
        yield from _addon((*at, "byName", name), name, addon, given)
    made = {*OWN_ADDONS, *given.by_name} - (set() if given.ebs_csi else {EBS_CSI})
    if makes_addon(ctx.environment.observability):
        made.add(CLOUDWATCH)
    for name in given.versions:
        if name not in made:
            switch = name == EBS_CSI
            near = None if name in ADDON_NAMES else similar(name, made)
            add = f"Did you mean {near}?" if near else "Add it under byName."
            yield ADDON_TWICE.finding(
                (*at, "versions", name),
                f"The cluster gets no add-on {name}.",
                "Set ebsCsi: true, or remove the version." if switch else add,
            )


def _addon(at: FieldPath, name: str, addon: Addon, given: Addons) -> Iterator[Finding]:
    if not is_name(name):
        message = f'"{name}" is not the name of an EKS add-on.'
        fix = "Take it from `aws eks describe-addon-versions`."
        yield BAD_ADDON.finding(at, message, fix)
    if addon.version is not None and name in given.versions:
        message = f"The version of {name} stands under versions too."
        yield ADDON_TWICE.finding((*at, "version"), message, "Remove one of the two.")
    if name == EBS_CSI and not given.ebs_csi:
        message = "ebsCsi makes this add-on, with the role that it needs."
        yield ADDON_TWICE.finding(at, message, "Set ebsCsi: true; what is said here stays.")
    try:
        json.dumps(addon.values, allow_nan=False)
    except (TypeError, ValueError) as error:
        message = f"The values are not JSON: {error}."
        fix = "Use text, numbers, true, false, null, lists and mappings."
        yield BAD_ADDON.finding((*at, "values"), message, fix)
    environment = addon.values.get("env")
    if name == VPC_CNI and given.prefix_delegation and isinstance(environment, dict):
        for key in environment.keys() & {*PREFIX_ENVIRONMENT} - {"WARM_PREFIX_TARGET"}:
            message = f"prefixDelegation sets {key} too."
            yield ADDON_TWICE.finding(
                (*at, "values", "env", key), message, "Remove one of the two."
            )
    yield from _identities(at, name, addon)


def _identities(at: FieldPath, name: str, addon: Addon) -> Iterator[Finding]:
    if addon.pod_identity and name in IN_CONTROL_PLANE:
        message = f"{name} comes with the control plane and gets its permissions from the nodes."
        yield BAD_IDENTITY.finding((*at, "podIdentity"), message, "Remove podIdentity.")
        return
    for account, identity in addon.pod_identity.items():
        place = (*at, "podIdentity", account)
        if (name, account) == (EBS_CSI, EBS_ACCOUNT):
            message = f"ebsCsi gives {account} its role."
            yield ADDON_TWICE.finding(place, message, "Remove it here.")
        if (identity.role_arn is None) == (not identity.policy_arns):
            both = identity.role_arn is not None
            message = "roleArn and policyArns are given." if both else "No role is given."
            fix = (
                "Give roleArn of a role that is there, or policyArns for one that the stack makes."
            )
            yield BAD_IDENTITY.finding(place, message, fix)
        if identity.role_arn is not None and (fault := role_fault(identity.role_arn)):
            message = f'"{identity.role_arn}" {fault}.'
            fix = "Write arn:aws:iam::111122223333:role/Name."
            yield BAD_IDENTITY.finding((*place, "roleArn"), message, fix)
        for index, policy in enumerate(identity.policy_arns):
            if fault := policy_fault(policy):
                message = f'"{policy}" {fault}.'
                fix = "Write arn:aws:iam::aws:policy/Name."
                yield BAD_IDENTITY.finding((*place, "policyArns", index), message, fix)
            elif policy in identity.policy_arns[:index]:
                message = f"{policy} stands twice."
                fix = "Remove one of the two."
                yield BAD_IDENTITY.finding((*place, "policyArns", index), message, fix)
