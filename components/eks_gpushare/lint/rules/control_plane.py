"""Rules about the control plane of a cluster, as the policy pack has them for resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

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


def cluster_rules(source: Source, given: Any) -> Iterator[Judgement]:
    """What is wrong with the values of an `aws_eks_cluster`.

    Args:
        source: Where they stand.
        given: The values; what configuration leaves out is left out of them.
    """
    yield from _endpoint(source, given)
    yield from _key(source, given)
    yield from _logs(source, given)


def _endpoint(source: Source, given: Any) -> Iterator[Judgement]:
    place = ("vpc_config", 0)
    block = at(given, *place)
    public, cidrs = (at(block, key) for key in ("endpoint_public_access", "public_access_cidrs"))
    if public is UNKNOWN or (public is not False and has_unknown(cidrs)):
        what = f"who may use the public endpoint of {source.name}"
        yield NotSeen(OPEN_ENDPOINT, source, what)
    elif text(public) != "false" and (found := open_to([str(text(item)) for item in items(cidrs)])):
        yield Problem(
            OPEN_ENDPOINT,
            source,
            (*place, "public_access_cidrs" if cidrs else "endpoint_public_access"),
            f"The public API endpoint of {source.name} is open to the world: {found}.",
            "Set public_access_cidrs to the networks that may use it, or endpoint_public_access "
            "to false.",
        )
    private = at(block, "endpoint_private_access")
    if private is not UNKNOWN and text(private) != "true":
        yield Problem(
            PRIVATE_ENDPOINT,
            source,
            (*place, "endpoint_private_access"),
            f"The private API endpoint of {source.name} is off.",
            "Set endpoint_private_access to true.",
        )


def _key(source: Source, given: Any) -> Iterator[Judgement]:
    blocks = at(given, "encryption_config")
    if blocks is UNKNOWN:
        yield NotSeen(OWN_KEY, source, f"the key of {source.name}")
        return
    for block in items(blocks):
        key, kinds = at(block, "provider", 0, "key_arn"), at(block, "resources")
        if has_unknown(kinds):
            yield NotSeen(OWN_KEY, source, f"what the key of {source.name} is for")
            return
        if key and encrypts_secrets([str(text(kind)) for kind in items(kinds)]):
            return
    yield Problem(
        OWN_KEY,
        source,
        ("encryption_config",),
        f"The secrets of {source.name} are encrypted with no KMS key of yours.",
        'Add encryption_config with provider.key_arn and resources = ["secrets"].',
    )


def _logs(source: Source, given: Any) -> Iterator[Judgement]:
    enabled = at(given, "enabled_cluster_log_types")
    if has_unknown(enabled):
        yield NotSeen(LOGGED, source, f"what the control plane of {source.name} logs")
    elif missing := not_logged([str(text(item)) for item in items(enabled)]):
        listed = ", ".join(f'"{log_type}"' for log_type in LOG_TYPES)
        yield Problem(
            LOGGED,
            source,
            ("enabled_cluster_log_types",),
            f"The control plane of {source.name} does not log {', '.join(missing)}.",
            f"Set enabled_cluster_log_types = [{listed}].",
        )
