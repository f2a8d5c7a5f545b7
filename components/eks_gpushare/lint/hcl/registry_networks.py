"""Modules of the registry that make networks, as the subnets that they make and tag.

Source: main.tf of terraform-aws-modules/terraform-aws-vpc at v5.21.0 and v6.5.0, where the tags of
a kind of subnets go over those of all, and those of a zone over both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.hcl.values import HclObject, is_open

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.lint.hcl.blocks import MadeResource

SUBNETS: Final = "aws_subnet"
NETWORK: Final = r"(?:.*github\.com/)?terraform-aws-modules/(?:terraform-aws-vpc|vpc/aws)"
_OTHER_NETWORKS: Final = r"(?!.*endpoint).*(?:vpc|subnet|network).*"
"""Of which it is not known what they make; endpoints lie in subnets of others."""
_NOBODYS: Final = (
    r"(?!.*endpoint)(?!(?:.*github\.com[/:])?(?:terraform-aws-modules|aws-ia)/)"
    r"(?:[./].*|[^/]*[:@.][^/]*/.*)"
)
"""Folders that are not there and repositories, which may make networks whatever they are called."""
_KINDS: Final = ("private", "public", "intra", "database", "redshift", "elasticache", "outpost")
_NAME: Final = "Name"


def subnets(call: MadeResource, _: int | None) -> Iterator[MadeResource]:
    """One for all subnets of a kind, which have the same tags but for their names."""
    for kind in _KINDS:
        if call.values.get(f"{kind}_subnets"):
            given = [call.values.get(name) for name in ("tags", f"{kind}_subnet_tags")]
            of_zones = call.values.get(f"{kind}_subnet_tags_per_az")
            yield _made(call, kind, UNKNOWN if of_zones else _merged(given))


def unseen(call: MadeResource, _: int | None) -> Iterator[MadeResource]:
    """What stands for subnets that a module may make."""
    yield _made(call, "unseen", UNKNOWN)


def _merged(given: list[Any]) -> Any:
    made = HclObject({_NAME: UNKNOWN})
    for tags in given:
        if tags is UNKNOWN or is_open(tags):
            return UNKNOWN
        made |= tags if isinstance(tags, dict) else {}
    return made


def _made(call: MadeResource, kind: str, tags: Any) -> MadeResource:
    address = f"{call.address}.{SUBNETS}.{kind}"
    values = HclObject({"tags": tags})
    return replace(call, address=address, kind=SUBNETS, values=values, references={})


NETWORKS: Final = {NETWORK: subnets, _OTHER_NETWORKS: unseen, _NOBODYS: unseen}
"""By the sources of modules; the first that one is like holds."""
