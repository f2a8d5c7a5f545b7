"""Data sources that do nothing but put texts together: hashicorp/cloudinit, and template before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.hcl.evaluating import filled_in
from eks_gpushare.lint.hcl.names import OfTemplate
from eks_gpushare.lint.hcl.registry_user_data import mime_of
from eks_gpushare.lint.hcl.values import HclObject, Text, has_gaps

if TYPE_CHECKING:
    from eks_gpushare.lint.hcl.functions import ReadableFiles
    from eks_gpushare.lint.hcl.values import Place

_TEMPLATE: Final = "template_file"
RENDERED: Final = frozenset((_TEMPLATE, "cloudinit_config", "template_cloudinit_config"))
"""Their types."""


def rendered(kind: str, given: HclObject, place: Place, files: ReadableFiles) -> HclObject:
    """Its arguments, with `rendered` as text: of parts as it is before it is packed for EC2.

    Args:
        kind: Its type.
        given: Its arguments.
        place: Where it stands.
        files: The files that its expressions may read.
    """
    made = HclObject(given, given.places)
    made["rendered"] = _of_template(given, place, files) if kind == _TEMPLATE else _of_parts(given)
    return made


def _of_template(given: HclObject, place: Place, files: ReadableFiles) -> Any:
    text = given.get("template", UNKNOWN)
    if not isinstance(text, str) or has_gaps(text):
        return UNKNOWN
    of_files = text.files if isinstance(text, Text) else frozenset()
    where = next(iter(of_files)) if len(of_files) == 1 else place
    names = given.get("vars")
    return filled_in(text, where, OfTemplate(files, names if isinstance(names, dict) else {}))


def _of_parts(given: HclObject) -> Any:
    parts = given.get("part", UNKNOWN)
    return mime_of(parts) if isinstance(parts, list) else UNKNOWN
