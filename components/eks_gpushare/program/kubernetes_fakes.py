"""Fakes for what installs many Kubernetes objects at once: files, charts, kustomizations.

The plugin renders them, so which objects there are is known to it alone: the plan says so. Those of
YAML text that the SDK reads itself are known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from eks_gpushare.program.errors import PlanError
from eks_gpushare.program.fake_types import Component
from eks_gpushare.program.values import UNKNOWN, Properties

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.program.fake_types import Function, Plan
    from eks_gpushare.program.recording import Resource


def _rendered(plan: Plan, component: Resource) -> Properties:
    kind = component.type.removeprefix("kubernetes:")
    plan.assume(f"The objects of {component.name} ({kind}) are not known here: policies miss them.")
    return {"resources": UNKNOWN if plan.preview else []}


def _decoded(_plan: Plan, args: Properties, _provider: str) -> Properties:
    """Objects of a YAML text, as version 1 of ConfigFile and ConfigGroup ask for them."""
    try:
        documents = [each for each in yaml.safe_load_all(str(args.get("text", ""))) if each]
    except yaml.YAMLError as error:
        raise PlanError(
            f"the YAML of a ConfigFile or ConfigGroup cannot be read: {error}"
        ) from None
    flat: list[Properties] = []
    for each in documents:
        is_list = str(each.get("kind", "")).endswith("List") and isinstance(each.get("items"), list)
        flat += each["items"] if is_list else [each]
    return {"result": flat}


def _not_rendered(plan: Plan, args: Properties, _provider: str) -> Properties:
    options = args.get("jsonOpts") or args.get("directory") or "?"
    plan.assume(f"What is rendered from {str(options)[:80]} is not known here: policies miss it.")
    return {"result": []}


COMPONENTS: Mapping[str, Component] = {
    kind: Component(_rendered)
    for kind in (
        "kubernetes:helm.sh/v4:Chart",
        "kubernetes:kustomize/v2:Directory",
        "kubernetes:yaml/v2:ConfigFile",
        "kubernetes:yaml/v2:ConfigGroup",
    )
}
"""Type token to fake."""

FUNCTIONS: Mapping[str, Function] = {
    "kubernetes:helm:template": _not_rendered,
    "kubernetes:kustomize:directory": _not_rendered,
    "kubernetes:yaml:decode": _decoded,
}
"""Token to fake."""
