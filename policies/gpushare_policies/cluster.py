"""Rules on the cluster: who reaches it, what it logs, how it authenticates and ages."""

from __future__ import annotations

from datetime import UTC, date, datetime
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from eks_gpushare.catalog.kubernetes import eks_versions, support
from gpushare_policies.props import each, format_value, given, is_true, read, stack_of
from gpushare_policies.rule import Rule, cis, is_among, security_hub, stacks
from gpushare_policies.shapes import ClusterShape, on_clusters, switch
from gpushare_policies.tokens import AWS_CLUSTER, EKS_CLUSTER, OUR_CLUSTER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")
"""The log types of the EKS control plane."""


def today() -> date:
    """Today's date in UTC, which support dates are compared with."""
    return datetime.now(tz=UTC).date()


def reaches_everybody(cidrs: Sequence[str]) -> bool:
    """Whether networks together cover all addresses of IPv4 or IPv6, also in pieces."""
    four: list[IPv4Network] = []
    six: list[IPv6Network] = []
    for cidr in cidrs:
        try:
            network = ip_network(cidr, strict=False)
        except ValueError:  # not a network; AWS refuses it
            continue
        if isinstance(network, IPv4Network):
            four.append(network)
        else:
            six.append(network)
    return any(network.prefixlen == 0 for network in collapse_addresses(four)) or any(
        network.prefixlen == 0 for network in collapse_addresses(six)
    )


def _endpoint_not_open(args: ResourceValidationArgs, shape: ClusterShape) -> Iterator[str]:
    if not is_true(switch(args, shape.public, default=shape.public_default)):
        return
    cidrs = [str(cidr) for cidr in each(read(args.props, *shape.public_cidrs))]
    name = shape.public_cidrs[-1]
    if not cidrs:
        found = f"{name} is unset, which EKS takes for 0.0.0.0/0"
    elif reaches_everybody(cidrs):
        found = f"{name} is {format_value(cidrs)}"
    else:
        return
    yield (
        f"The public API endpoint of {args.name} is open to the world: {found}. It must name the "
        f"networks that may use it. Set `cluster.endpoint.publicCidrs` in the stack file to them, "
        f"or `cluster.endpoint.public: false`."
    )


PUBLIC_ENDPOINT_NOT_OPEN = Rule(
    "public-endpoint-not-open",
    "The public API endpoint must never be open to the world.",
    checks=on_clusters(_endpoint_not_open, (AWS_CLUSTER, EKS_CLUSTER, OUR_CLUSTER)),
    severity=Severity.CRITICAL,
    framework=cis("5.4.1", "Access to the control plane endpoint is restricted."),
    also=("aws-security-hub/EKS.1", "prowler/eks_cluster_not_publicly_accessible"),
    fix="List your own networks under `cluster.endpoint.publicCidrs` in the stack file, or set "
    "`cluster.endpoint.public: false`. On a raw cluster: `vpcConfig.publicAccessCidrs`.",
)


def _endpoint_private(args: ResourceValidationArgs, shape: ClusterShape) -> Iterator[str]:
    private = read(args.props, *shape.private)
    if not is_true(private):
        yield (
            f"The private API endpoint of {args.name} is {format_value(private)}. It must be on, "
            f"so that nodes reach the API server within the VPC. Set `cluster.endpoint.private: "
            f"true` in the stack file, or leave the key out."
        )


PRIVATE_ENDPOINT_ON = Rule(
    "private-endpoint-on",
    "The private API endpoint must be on.",
    checks=on_clusters(_endpoint_private),
    severity=Severity.HIGH,
    framework=cis("5.4.2", "The private endpoint is enabled."),
    also=("aws-security-hub/EKS.1",),
    fix="Leave `cluster.endpoint.private` out of the stack file, or set it to true. On a raw "
    "cluster: `vpcConfig.endpointPrivateAccess: true`.",
)


def _logs(args: ResourceValidationArgs, shape: ClusterShape) -> Iterator[str]:
    enabled = {str(kind) for kind in each(read(args.props, *shape.log_types))}
    missing = [kind for kind in LOG_TYPES if kind not in enabled]
    if missing:
        yield (
            f"The control plane of {args.name} does not log {', '.join(missing)}. All five "
            f"types must be logged. Set `enabledClusterLogTypes: {format_value(LOG_TYPES)}`; a "
            f"cluster made from a stack file always has them."
        )


CONTROL_PLANE_LOGS = Rule(
    "control-plane-logs",
    "The control plane must log all five types.",
    checks=on_clusters(_logs),
    severity=Severity.MEDIUM,
    framework=cis("2.1.1", "Audit logs are enabled."),
    also=("aws-security-hub/EKS.8", "prowler/eks_control_plane_logging_all_types_enabled"),
    fix=f"Set `enabledClusterLogTypes: {format_value(LOG_TYPES)}`. A cluster made from a stack "
    "file always has them.",
)


def _secrets(args: ResourceValidationArgs, shape: ClusterShape) -> Iterator[str]:
    if not given(args.props, *shape.secrets_key):
        yield (
            f"The secrets of {args.name} are encrypted with no KMS key of yours. They must be, so "
            f"that you decide who may decrypt. Set `cluster.secretsKeyArn` in the stack "
            f"file, or leave the key out and the stack makes one."
        )
    elif shape.encrypted_kinds is not None:
        kinds = [str(kind) for kind in each(read(args.props, *shape.encrypted_kinds))]
        if "secrets" not in kinds:
            yield (
                f"The KMS key of {args.name} encrypts {format_value(kinds)}. It must encrypt "
                f"secrets. Set `encryptionConfig.resources: [secrets]`; a cluster made from a "
                f"stack file always has it."
            )


SECRETS_ENCRYPTED = Rule(
    "secrets-encrypted",
    "Kubernetes secrets must be encrypted with a KMS key of your own.",
    checks=on_clusters(_secrets),
    severity=Severity.HIGH,
    framework=cis("5.3.1", "Secrets are encrypted with a customer managed key in AWS KMS."),
    also=("aws-security-hub/EKS.3", "prowler/eks_cluster_kms_cmk_encryption_in_secrets_enabled"),
    fix="Leave `cluster.secretsKeyArn` out of the stack file (the stack makes a key) or name a "
    "key. On a raw cluster: `encryptionConfig: {provider: {keyArn: ...}, resources: [secrets]}`.",
)


def _authentication(args: ResourceValidationArgs, shape: ClusterShape) -> Iterator[str]:
    mode = read(args.props, *shape.mode)
    if mode == "API":
        return
    found = "unset, which EKS takes for CONFIG_MAP" if mode is None else str(mode)
    yield (
        f"The authentication mode of {args.name} is {found}. It must be API: access entries are "
        f"seen and checked in AWS, the aws-auth ConfigMap is not. Set "
        f"`accessConfig.authenticationMode: API` and list people under `cluster.admins`; a "
        f"cluster made from a stack file always has it."
    )


API_AUTHENTICATION = Rule(
    "api-authentication",
    "The cluster must authenticate by access entries only.",
    checks=on_clusters(_authentication),
    severity=Severity.HIGH,
    framework=cis("4.1.7", "Access is managed with the Cluster Access Manager API."),
    fix="Set the authentication mode to API and move aws-auth entries to access entries "
    "(`cluster.admins` in the stack file). From CONFIG_MAP, EKS goes by way of API_AND_CONFIG_MAP.",
)


def _support_type(args: ResourceValidationArgs, shape: ClusterShape) -> Iterator[str]:
    kind = read(args.props, *shape.support_type)
    if str(kind).upper() != "STANDARD":
        found = "unset, which EKS takes for EXTENDED" if kind is None else str(kind)
        yield (
            f"The upgrade policy of {args.name} is {found}. It must be STANDARD: EKS then "
            f"upgrades the cluster at the end of standard support and charges no more for "
            f"it. Set `cluster.supportType: standard` in the stack file, or leave the key out."
        )


STANDARD_UPGRADE_POLICY = Rule(
    "standard-upgrade-policy",
    "The cluster's upgrade policy must be STANDARD.",
    checks=on_clusters(_support_type),
    severity=Severity.LOW,
    framework=security_hub("EKS.2", "Clusters run on a supported Kubernetes version."),
    fix="Leave `cluster.supportType` out of the stack file. On a raw cluster: "
    "`upgradePolicy: {supportType: STANDARD}`.",
)


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _out_of_support(version: str) -> str | None:
    state = support(version, today())
    known = eks_versions()
    if state == "unknown" and _minor(version) < min(_minor(name) for name in known):
        return "is older than every version EKS runs"
    if state not in ("extended", "ended"):  # a version newer than the table is fine
        return None
    ended = known[version].standard_until
    since = "" if ended is None else f" on {ended.isoformat()}"
    if state == "ended":
        return "is out of all support"
    return f"left standard support{since} and costs more for each hour"


def _version(args: ResourceValidationArgs, shape: ClusterShape) -> Iterator[str]:
    version = read(args.props, *shape.version)
    if version is None:
        found = f"The Kubernetes version of {args.name} is unset, so EKS chooses it"
    elif (reason := _out_of_support(format_value(version))) is not None:
        found = f"Kubernetes {format_value(version)} of {args.name} {reason}"
    else:
        return
    good = [name for name in eks_versions() if support(name, today()) == "standard"]
    yield (
        f"{found}. It must be a version in standard support: {', '.join(good)}. Set "
        f'`cluster.version` in the stack file, quoted, for example `version: "{good[-1]}"`.'
    )


VERSION_SUPPORTED = Rule(
    "version-in-standard-support",
    "The cluster's Kubernetes version must be pinned and in standard support.",
    checks=on_clusters(_version),
    severity=Severity.MEDIUM,
    framework=security_hub("EKS.2", "Clusters run on a supported Kubernetes version."),
    also=("prowler/eks_cluster_uses_a_supported_version",),
    fix="Set `cluster.version` in the stack file to a version in standard support, one minor "
    "version at a time.",
)

PROTECTED_STACKS = stacks(
    "Stacks whose cluster must be protected, as patterns of stack names (`*` matches anything)."
)


def _protected(args: ResourceValidationArgs, shape: ClusterShape) -> Iterator[str]:
    if not is_among(PROTECTED_STACKS.of(args), args.urn):
        return
    protection = read(args.props, *shape.deletion_protection)
    if not is_true(protection):
        yield (
            f"Deletion protection of {args.name} is {format_value(protection)}. In the stack "
            f"{stack_of(args.urn)} it must be on, so that nobody deletes the cluster by mistake. "
            f"Set `cluster.deletionProtection: true` in the stack file."
        )


DELETION_PROTECTION = Rule(
    "deletion-protection",
    "Clusters of production stacks must be protected from deletion.",
    checks=on_clusters(_protected),
    severity=Severity.HIGH,
    also=("prowler/eks_cluster_deletion_protection_enabled",),
    fix="Set `cluster.deletionProtection: true` in the stack file. On a raw cluster: "
    "`deletionProtection: true`.",
    settings=(PROTECTED_STACKS,),
)

CLUSTER_RULES = (
    PUBLIC_ENDPOINT_NOT_OPEN,
    PRIVATE_ENDPOINT_ON,
    CONTROL_PLANE_LOGS,
    SECRETS_ENCRYPTED,
    API_AUTHENTICATION,
    STANDARD_UPGRADE_POLICY,
    VERSION_SUPPORTED,
    DELETION_PROTECTION,
)
"""The rules on the cluster."""
