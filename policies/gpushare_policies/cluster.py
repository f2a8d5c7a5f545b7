"""Rules on the cluster: who reaches it, what it logs, how it authenticates and ages."""

from __future__ import annotations

from datetime import UTC, date, datetime
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from eks_gpushare.catalog.kubernetes import eks_versions, support
from gpushare_policies.props import each, format_value, given, is_true, read, stack_of
from gpushare_policies.rule import Rule, cis, is_among, security_hub, stacks
from gpushare_policies.shapes import on_clusters, switch
from gpushare_policies.words import Fix, name_of

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


_NOT_OPEN = Fix(
    "Set `cluster.endpoint.publicCidrs` in the stack file to them, or `cluster.endpoint.public: "
    "false`.",
    "Set `publicAccessCidrs` to them, or `endpointPublicAccess: false`.",
    "Set `vpcConfig.publicAccessCidrs` to them, or `vpcConfig.endpointPublicAccess: false`.",
)


def _endpoint_not_open(args: ResourceValidationArgs) -> Iterator[str]:
    if not is_true(switch(args, "vpcConfig", "endpointPublicAccess", default=True)):
        return
    cidrs = [str(cidr) for cidr in each(read(args.props, "vpcConfig", "publicAccessCidrs"))]
    if not cidrs:
        found = "no network is named, which EKS takes for 0.0.0.0/0"
    elif reaches_everybody(cidrs):
        found = f"{format_value(cidrs)} may use it"
    else:
        return
    yield (
        f"The public API endpoint of {name_of(args.urn)} is open to the world: {found}. It must "
        f"name the networks that may use it. {_NOT_OPEN.of(args.urn)}"
    )


PUBLIC_ENDPOINT_NOT_OPEN = Rule(
    "public-endpoint-not-open",
    "The public API endpoint must never be open to the world.",
    checks=on_clusters(_endpoint_not_open),
    severity=Severity.CRITICAL,
    framework=cis("5.4.1", "Access to the control plane endpoint is restricted."),
    also=("aws-security-hub/EKS.1", "prowler/eks_cluster_not_publicly_accessible"),
    fix=_NOT_OPEN,
)

_PRIVATE = Fix(
    "Set `cluster.endpoint.private: true` in the stack file, or leave the key out.",
    "Set `endpointPrivateAccess: true`.",
    "Set `vpcConfig.endpointPrivateAccess: true`.",
)


def _endpoint_private(args: ResourceValidationArgs) -> Iterator[str]:
    private = read(args.props, "vpcConfig", "endpointPrivateAccess")
    if not is_true(private):
        yield (
            f"The private API endpoint of {name_of(args.urn)} is {format_value(private)}. It must "
            f"be on, so that nodes reach the API server within the VPC. {_PRIVATE.of(args.urn)}"
        )


PRIVATE_ENDPOINT_ON = Rule(
    "private-endpoint-on",
    "The private API endpoint must be on.",
    checks=on_clusters(_endpoint_private),
    severity=Severity.HIGH,
    framework=cis("5.4.2", "The private endpoint is enabled."),
    also=("aws-security-hub/EKS.1",),
    fix=_PRIVATE,
)


_SET_LOGS = f"Set `enabledClusterLogTypes: {format_value(LOG_TYPES)}`."
_ALL_LOGS = Fix(
    "A cluster made from a stack file always has them: remove what takes them away, such as a "
    "transform.",
    _SET_LOGS,
    _SET_LOGS,
)


def _logs(args: ResourceValidationArgs) -> Iterator[str]:
    enabled = {str(kind) for kind in each(read(args.props, "enabledClusterLogTypes"))}
    missing = [kind for kind in LOG_TYPES if kind not in enabled]
    if missing:
        yield (
            f"The control plane of {name_of(args.urn)} does not log {', '.join(missing)}. All five "
            f"types must be logged. {_ALL_LOGS.of(args.urn)}"
        )


CONTROL_PLANE_LOGS = Rule(
    "control-plane-logs",
    "The control plane must log all five types.",
    checks=on_clusters(_logs),
    severity=Severity.MEDIUM,
    framework=cis("2.1.1", "Audit logs are enabled."),
    also=("aws-security-hub/EKS.8", "prowler/eks_control_plane_logging_all_types_enabled"),
    fix=_ALL_LOGS,
)


_KEY = Fix(
    "Set `cluster.secretsKeyArn` in the stack file, or leave the key out and the stack makes one.",
    "Set `encryptionConfigKeyArn` to the ARN of a key.",
    "Set `encryptionConfig: {provider: {keyArn: ...}, resources: [secrets]}`.",
)


def _secrets(args: ResourceValidationArgs) -> Iterator[str]:
    name = name_of(args.urn)
    if not given(args.props, "encryptionConfig", "provider", "keyArn"):
        yield (
            f"The secrets of {name} are encrypted with no KMS key of yours. They must be, so that "
            f"you decide who may decrypt. {_KEY.of(args.urn)}"
        )
        return
    kinds = [str(kind) for kind in each(read(args.props, "encryptionConfig", "resources"))]
    if "secrets" not in kinds:
        yield (
            f"The KMS key of {name} encrypts {format_value(kinds)}. It must encrypt secrets. "
            f"{_KEY.of(args.urn)}"
        )


SECRETS_ENCRYPTED = Rule(
    "secrets-encrypted",
    "Kubernetes secrets must be encrypted with a KMS key of your own.",
    checks=on_clusters(_secrets),
    severity=Severity.HIGH,
    framework=cis("5.3.1", "Secrets are encrypted with a customer managed key in AWS KMS."),
    also=("aws-security-hub/EKS.3", "prowler/eks_cluster_kms_cmk_encryption_in_secrets_enabled"),
    fix=_KEY,
)


_API_MODE = Fix(
    "A cluster made from a stack file always has it, and people are listed under "
    "`cluster.admins`: remove what changes the mode, such as a transform.",
    "Set `authenticationMode: API` and list people and roles of nodes under `accessEntries`. From "
    "CONFIG_MAP, EKS goes by way of API_AND_CONFIG_MAP.",
    "Set `accessConfig.authenticationMode: API` and make an access entry for each principal of "
    "aws-auth. From CONFIG_MAP, EKS goes by way of API_AND_CONFIG_MAP.",
)


def _authentication(args: ResourceValidationArgs) -> Iterator[str]:
    mode = read(args.props, "accessConfig", "authenticationMode")
    if mode == "API":
        return
    found = "unset, which EKS takes for CONFIG_MAP" if mode is None else str(mode)
    yield (
        f"The authentication mode of {name_of(args.urn)} is {found}. It must be API: access "
        f"entries are seen and checked in AWS, the aws-auth ConfigMap is not. "
        f"{_API_MODE.of(args.urn)}"
    )


API_AUTHENTICATION = Rule(
    "api-authentication",
    "The cluster must authenticate by access entries only.",
    checks=on_clusters(_authentication),
    severity=Severity.HIGH,
    framework=cis("4.1.7", "Access is managed with the Cluster Access Manager API."),
    fix=_API_MODE,
)


_SET_STANDARD = "Set `upgradePolicy: {supportType: STANDARD}`."
_STANDARD = Fix(
    "Set `cluster.supportType: standard` in the stack file, or leave the key out.",
    _SET_STANDARD,
    _SET_STANDARD,
)


def _support_type(args: ResourceValidationArgs) -> Iterator[str]:
    kind = read(args.props, "upgradePolicy", "supportType")
    if str(kind).upper() != "STANDARD":
        found = "unset, which EKS takes for EXTENDED" if kind is None else str(kind)
        yield (
            f"The upgrade policy of {name_of(args.urn)} is {found}. It must be STANDARD: EKS then "
            f"upgrades the cluster at the end of standard support and charges no more for "
            f"it. {_STANDARD.of(args.urn)}"
        )


STANDARD_UPGRADE_POLICY = Rule(
    "standard-upgrade-policy",
    "The cluster's upgrade policy must be STANDARD.",
    checks=on_clusters(_support_type),
    severity=Severity.LOW,
    framework=security_hub("EKS.2", "Clusters run on a supported Kubernetes version."),
    fix=_STANDARD,
)


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isascii() and part.isdecimal())


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


_SET_VERSION = "Set `version` to one of them, as text. EKS upgrades one minor version at a time."
_SUPPORTED = Fix(
    "Set `cluster.version` in the stack file to one of them, quoted. EKS upgrades one minor "
    "version at a time.",
    _SET_VERSION,
    _SET_VERSION,
)


def _version(args: ResourceValidationArgs) -> Iterator[str]:
    version = read(args.props, "version")
    if version is None:
        found = f"The Kubernetes version of {name_of(args.urn)} is unset, so EKS chooses it"
    elif (reason := _out_of_support(format_value(version))) is not None:
        found = f"Kubernetes {format_value(version)} of {name_of(args.urn)} {reason}"
    else:
        return
    good = [name for name in eks_versions() if support(name, today()) == "standard"]
    yield (
        f"{found}. It must be a version in standard support: {', '.join(good)}. "
        f"{_SUPPORTED.of(args.urn)}"
    )


VERSION_SUPPORTED = Rule(
    "version-in-standard-support",
    "The cluster's Kubernetes version must be pinned and in standard support.",
    checks=on_clusters(_version),
    severity=Severity.MEDIUM,
    framework=security_hub("EKS.2", "Clusters run on a supported Kubernetes version."),
    also=("prowler/eks_cluster_uses_a_supported_version",),
    fix=_SUPPORTED,
)

PROTECTED_STACKS = stacks(
    "Stacks whose cluster must be protected, as patterns of stack names (`*` matches anything)."
)


_SET_PROTECTION = "Set `deletionProtection: true`."
_PROTECTION = Fix(
    "Set `cluster.deletionProtection: true` in the stack file.", _SET_PROTECTION, _SET_PROTECTION
)


def _protected(args: ResourceValidationArgs) -> Iterator[str]:
    if not is_among(PROTECTED_STACKS.of(args), args.urn):
        return
    protection = read(args.props, "deletionProtection")
    if not is_true(protection):
        yield (
            f"Deletion protection of {name_of(args.urn)} is {format_value(protection)}. In the "
            f"stack {stack_of(args.urn)} it must be on, so that nobody deletes the cluster by "
            f"mistake. {_PROTECTION.of(args.urn)}"
        )


DELETION_PROTECTION = Rule(
    "deletion-protection",
    "Clusters of production stacks must be protected from deletion.",
    checks=on_clusters(_protected),
    severity=Severity.HIGH,
    also=("prowler/eks_cluster_deletion_protection_enabled",),
    fix=_PROTECTION,
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
