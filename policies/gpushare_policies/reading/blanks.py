"""What a preview does not show, because the cluster is yet to be made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.reading.of_stack import of_stack
from gpushare_policies.words import is_of_pulumi_eks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pulumi_policy import PolicyResource, StackValidationArgs


def refuse_blanks(args: StackValidationArgs) -> None:
    """Stop if the preview does not show what runs in the cluster.

    While a provider's settings are not known, as those of a cluster that is yet to be made, the
    engine asks it nothing and shows its resources without any property. Source: pulumi/pulumi,
    `Create` in sdk/go/common/resource/plugin/provider_plugin.go.
    """
    blank = _first_blank(args.resources)
    if blank is not None:
        args.not_applicable(f"a preview without the cluster does not show {blank.name}")


@of_stack
def _first_blank(resources: Sequence[PolicyResource]) -> PolicyResource | None:
    for resource in resources:
        if not _is_object(resource.resource_type) or len(resource.props):
            continue
        if not is_of_pulumi_eks(resource.urn):  # aws-auth, which configures no device plugin
            return resource
    return None


_COMPONENTS = (
    "kubernetes:helm.sh/v4:Chart",
    "kubernetes:helm.sh/v3:Chart",
    "kubernetes:yaml",
    "kubernetes:kustomize",
)


def _is_object(token: str) -> bool:
    return token.startswith("kubernetes:") and not token.startswith(_COMPONENTS)
