"""Rules about the control plane of a cluster, as the policy pack has them for resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.control_plane import LOG_TYPES, encrypts_secrets, not_logged, open_to
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown
from eks_gpushare.manifests.plain import items, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Source


OPEN_ENDPOINT: Final = rule_of("GPU1087")
OWN_KEY: Final = rule_of("GPU1088")
LOGGED: Final = rule_of("GPU1089")
PRIVATE_ENDPOINT: Final = rule_of("GPU1090")


class _Words(NamedTuple):
    """Where a cluster's values stand, and how a fix names them."""

    network: tuple[str | int, ...]
    public: str
    cidrs: str
    private: str
    keys: str
    key: tuple[str | int, ...]
    """Within one of the keys."""
    kinds: str
    logs: tuple[str, ...]
    add_key: str
    log_all: str


_TERRAFORM: Final = _Words(
    ("vpc_config", 0),
    *("endpoint_public_access", "public_access_cidrs", "endpoint_private_access"),
    "encryption_config",
    ("provider", 0, "key_arn"),
    "resources",
    ("enabled_cluster_log_types",),
    'Add encryption_config with provider.key_arn and resources = ["secrets"].',
    "Set enabled_cluster_log_types = [{}].".format(", ".join(f'"{kind}"' for kind in LOG_TYPES)),
)
_CLOUDFORMATION: Final = _Words(
    ("ResourcesVpcConfig",),
    *("EndpointPublicAccess", "PublicAccessCidrs", "EndpointPrivateAccess"),
    "EncryptionConfig",
    ("Provider", "KeyArn"),
    "Resources",
    ("Logging", "ClusterLogging", "EnabledTypes"),
    "Add EncryptionConfig with Provider.KeyArn and Resources: [secrets].",
    "List them under Logging.ClusterLogging.EnabledTypes, each as its Type.",
)


def cluster_rules(source: Source, given: Any) -> Iterator[Judgement]:
    """What is wrong with the values of an `aws_eks_cluster`.

    Args:
        source: Where they stand.
        given: The values; what configuration leaves out is left out of them.
    """
    yield from _rules(source, given, _TERRAFORM)


def template_cluster_rules(source: Source, given: Any) -> Iterator[Judgement]:
    """What is wrong with the properties of an `AWS::EKS::Cluster`.

    Args:
        source: Where they stand.
        given: The properties, without functions.
    """
    yield from _rules(source, given, _CLOUDFORMATION)


def _rules(source: Source, given: Any, words: _Words) -> Iterator[Judgement]:
    yield from _endpoint(source, at(given, *words.network), words)
    yield from _key(source, given, words)
    yield from _logs(source, given, words)


def _endpoint(source: Source, block: Any, words: _Words) -> Iterator[Judgement]:
    public, cidrs = (at(block, key) for key in (words.public, words.cidrs))
    found: str | None = None
    if UNKNOWN in (block, public) or (public is not False and has_unknown(cidrs)):
        what = f"who may use the public endpoint of {source.name}"
        yield NotSeen(OPEN_ENDPOINT, source, what)
    elif text(public) != "false" and (found := open_to([str(text(item)) for item in items(cidrs)])):
        yield Problem(
            OPEN_ENDPOINT,
            source,
            (*words.network, words.cidrs if cidrs else words.public),
            f"The public API endpoint of {source.name} is open to the world: {found}.",
            f"Set {words.cidrs} to the networks that may use it, or {words.public} to false.",
        )
    private = UNKNOWN if block is UNKNOWN else at(block, words.private)
    if private is not UNKNOWN and text(private) != "true":
        yield Problem(
            PRIVATE_ENDPOINT,
            source,
            (*words.network, words.private),
            f"The private API endpoint of {source.name} is off.",
            f"Set {words.private} to true.",
            # Nodes join through an endpoint that is open to all, whatever address they come from.
            "info" if found else None,
        )


def _key(source: Source, given: Any, words: _Words) -> Iterator[Judgement]:
    blocks = at(given, words.keys)
    if has_unknown(blocks) and not items(blocks):
        yield NotSeen(OWN_KEY, source, f"the key of {source.name}")
        return
    for block in items(blocks):
        key, kinds = at(block, *words.key), at(block, words.kinds)
        if block is UNKNOWN or has_unknown(kinds):
            yield NotSeen(OWN_KEY, source, f"what the key of {source.name} is for")
            return
        if key and encrypts_secrets([str(text(kind)) for kind in items(kinds)]):
            return
    yield Problem(
        OWN_KEY,
        source,
        (words.keys,),
        f"The secrets of {source.name} are encrypted with no KMS key of yours.",
        words.add_key,
    )


def _logs(source: Source, given: Any, words: _Words) -> Iterator[Judgement]:
    enabled = at(given, *words.logs)
    if has_unknown(enabled) or UNKNOWN in (at(given, *words.logs[:n]) for n in range(1, 3)):
        yield NotSeen(LOGGED, source, f"what the control plane of {source.name} logs")
        return
    named = [at(item, "Type") if isinstance(item, dict) else item for item in items(enabled)]
    if missing := not_logged([str(text(item)) for item in named]):
        yield Problem(
            LOGGED,
            source,
            words.logs,
            f"The control plane of {source.name} does not log {', '.join(missing)}.",
            words.log_all,
            # Who has that has chosen: https://docs.aws.amazon.com/securityhub/latest/userguide/eks-controls.html#eks-8.
            # So has who writes that none is to be logged.
            "info" if "audit" in named or enabled == [] else None,
        )
