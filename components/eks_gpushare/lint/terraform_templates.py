"""Launch templates of a Terraform plan, and which of them a node group uses."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.ami_names import ami_type_of
from eks_gpushare.inventory.launches import launch_of
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.user_data import decoded
from eks_gpushare.inventory.values import PartlyKnown, at, has_unknown
from eks_gpushare.lint.hcl.registry_user_data import LOOKED_UP
from eks_gpushare.lint.launch_templates import OF_OTHERS, LaunchTemplate
from eks_gpushare.lint.terraform_configuration import INDEX, local_address, module_of
from eks_gpushare.manifests.plain import items, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.source import Source
    from eks_gpushare.lint.terraform_configuration import TerraformConfiguration

KIND: Final = "aws_launch_template"
OLDER: Final = "aws_launch_configuration"

_PLACES: Final = (
    ("launch_template",),
    ("mixed_instances_policy", "launch_template", "launch_template_specification"),
)
"""Where node groups and Auto Scaling groups name theirs."""
_KEYS: Final = (
    ("id", "id"),
    ("name", "name"),
    ("launch_template_id", "id"),
    ("launch_template_name", "name"),
)
"""Arguments that name one, with that of the template."""

_RESERVATION: Final = (
    "capacity_reservation_specification",
    "capacity_reservation_target",
    "capacity_reservation_id",
)
_BLOCK: Final = re.compile("capacity_?block", re.IGNORECASE)
"""What a capacity block is called by: by its resource, or a variable for it."""


class Templates:
    """The launch templates of a plan.

    Args:
        configuration: What refers to what.
    """

    def __init__(self, configuration: TerraformConfiguration) -> None:
        self._by_address: dict[str, tuple[Any, LaunchTemplate]] = {}
        self._older: dict[str, tuple[Any, LaunchTemplate]] = {}
        self._configuration = configuration
        self._images: dict[str, str] = {}

    def add_image(self, address: str, given: Any) -> None:
        """Take a data source of `IMAGES`, of whose image the AMI type may be told by its name."""
        named = [at(given, "name")]
        for each in items(at(given, "filter")):
            if at(each, "name") == "name":
                named += items(at(each, "values"))
        found = {ami_type_of(each) for each in named if isinstance(each, str)}
        kind = found.pop() if len(found) == 1 else None
        if kind is not None:
            self._images[address] = kind

    def add(self, source: Source, given: Any) -> LaunchTemplate:
        """Take one.

        Args:
            source: Where its values stand, by its address.
            given: The values.
        """
        referred = self._configuration.references(source.name, "image_id")
        above = module_of(source.name)
        meant = {f"{above}{'.'.join(INDEX.sub('', each).split('.')[:3])}" for each in referred}
        launch = launch_of(source, text(at(given, "name")), given)
        found = LaunchTemplate(
            text(at(given, "image_id")),
            text(at(given, "instance_type")),
            decoded(at(given, "user_data")),
            replace(launch, bare_block=self._bare_block(source.name, given)),
            any(each.startswith(LOOKED_UP) for each in referred),
            self._images.get(meant.pop(), "") if len(meant) == 1 else "",
        )
        self._by_address[source.name] = (given, found)
        return found

    def _bare_block(self, address: str, given: Any) -> str:
        """The capacity block that a template targets as if it were another reservation."""
        target = at(given, _RESERVATION[0], 0, _RESERVATION[1], 0, _RESERVATION[2])
        markets = at(given, "instance_market_options")
        of_market = at(markets, 0, "market_type")
        if target in (None, "") or isinstance(given, PartlyKnown) or has_unknown(markets):
            return ""
        told = self._configuration.references(address, *_RESERVATION)
        are_blocks = bool(told) and all(map(_BLOCK.search, told))
        return told[0] if are_blocks and of_market != "capacity-block" else ""

    def add_older(self, address: str, given: Any) -> None:
        """Take a launch configuration, which Auto Scaling had before there were templates."""
        user_data = at(given, "user_data_base64") or at(given, "user_data")
        found = LaunchTemplate(
            text(at(given, "image_id")), text(at(given, "instance_type")), decoded(user_data)
        )
        self._older[address] = (given, found)

    def older_of(self, address: str, name: Any) -> LaunchTemplate | None:
        """The launch configuration of an Auto Scaling group; None where it has none.

        Args:
            address: The group's address.
            name: Its `launch_configuration`.
        """
        if not name:
            return None
        for given, found in self._older.values():
            if name is not UNKNOWN and at(given, "name") == name:
                return found
        references = self._configuration.references(address, "launch_configuration")
        meant = {".".join(INDEX.sub("", reference).split(".")[:2]) for reference in references}
        near = [
            found
            for item, (_, found) in self._older.items()
            if module_of(item) == module_of(address) and INDEX.sub("", local_address(item)) in meant
        ]
        return near[0] if len(near) == 1 else OF_OTHERS

    def used_by(self, address: str, blocks: Any) -> LaunchTemplate | None:
        """The one that a node group uses; None where it uses none.

        Args:
            address: The node group's address.
            blocks: Its `launch_template`.
        """
        if blocks is UNKNOWN:
            return OF_OTHERS
        block = at(blocks, 0) if isinstance(blocks, list) else blocks
        if not block:
            return None
        for key, of_template in _KEYS:
            named = at(block, key)
            if isinstance(named, str) and named:
                for given, found in self._by_address.values():
                    if at(given, of_template) == named:
                        return found
        return self._referred(address) or OF_OTHERS

    def _referred(self, address: str) -> LaunchTemplate | None:
        """By the expression of the block, or the only one of the same module."""
        module = module_of(address)
        near = {
            item: found
            for item, (_, found) in self._by_address.items()
            if module_of(item) == module
        }
        for reference in self._references(address):
            kind, dot, name = reference.partition(".")
            if kind == KIND and dot:
                wanted = f"{KIND}.{INDEX.sub('', name).partition('.')[0]}"
                meant = [
                    found
                    for item, found in near.items()
                    if INDEX.sub("", local_address(item)) == wanted
                ]
                if len(meant) == 1:
                    return meant[0]
        return next(iter(near.values())) if len(near) == 1 else None

    def _references(self, address: str) -> Iterator[str]:
        for place in _PLACES:
            for key in ("id", "name", "launch_template_id", "launch_template_name"):
                yield from self._configuration.references(address, *place, key)
