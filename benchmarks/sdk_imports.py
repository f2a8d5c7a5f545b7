"""The ordinary imports of the SDK classes that a stack registers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_INSIDE_REMOTE = "eks:index:Cluster$"
_TOKEN = re.compile(r"(?P<package>[\w-]+):(?P<module>[\w./]+):(?P<name>\w+)")


def import_statements(resources: Iterable[Mapping[str, Any]]) -> str:
    """A program that imports the class of each resource and does nothing with it.

    Resources inside a remote component are its provider's: no program imports their classes.

    Args:
        resources: Resources as `preview --json` has them.
    """
    types = {each["type"] for each in resources if _INSIDE_REMOTE not in each["urn"]}
    imports = sorted(filter(None, map(_import, types)))
    return "\n".join(imports)


def _import(token: str) -> str | None:
    provider = token.removeprefix("pulumi:providers:")
    if provider != token:
        return f"from pulumi_{provider} import Provider"
    found = _TOKEN.fullmatch(token)
    if found is None or found["package"] not in {"aws", "eks", "kubernetes"}:
        return None
    module = _module(found["package"], found["module"])
    return f"from {module} import {found['name']}"


def _module(package: str, module: str) -> str:
    """`aws:ec2/vpc:Vpc` is in pulumi_aws.ec2; `kubernetes:helm.sh/v3:Release` in ...helm.v3."""
    if package == "kubernetes":
        group, _, version = module.partition("/")
        return f"pulumi_kubernetes.{group.removesuffix('.sh').partition('.')[0]}.{version}"
    service = module.partition("/")[0]
    return f"pulumi_{package}" + ("" if service == "index" else f".{service}")
