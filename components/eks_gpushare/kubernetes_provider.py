"""Which cluster a component installs into: that of its Kubernetes provider, never a guessed one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pulumi

from eks_gpushare.validation import shape_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import Finding

_PACKAGE = "kubernetes"
_ANY_OBJECT = "kubernetes:core/v1:Namespace"


def missing_provider(component: str, opts: pulumi.ResourceOptions | None) -> Iterator[Finding]:
    """What is wrong with options from which no Kubernetes provider follows.

    Without one, Pulumi takes the kubeconfig of the person who runs the program, and with it a
    cluster that may be another every time.

    Args:
        component: Class of the component that needs the provider.
        opts: Its options. A provider of its parent will do: children inherit it.
    """
    given = _packages(opts)
    inherited = opts.parent.get_provider(_ANY_OBJECT) if opts and opts.parent else None
    if _PACKAGE in given or inherited is not None:
        return
    others = f"; the options have one for {' and '.join(given)}" if given else ""
    yield shape_rules.MISSING_KEY.finding(
        ("opts", "providers"),
        f"No Kubernetes provider is given, and no parent has one{others}. {component} would be "
        "installed into whatever cluster the kubeconfig at hand names.",
        "Give the cluster's: opts=ResourceOptions(providers=[cluster.provider]).",
    )


def _packages(opts: pulumi.ResourceOptions | None) -> list[str]:
    """Packages of the providers that options name, in `provider` or in `providers`."""
    if opts is None:
        return []
    several = opts.providers or []
    if isinstance(several, Mapping):
        found = list(several)
    elif isinstance(several, pulumi.ProviderResource):  # which the SDK refuses, in its own words
        found = [several.package]
    else:
        found = [each.package for each in several]
    return [*found, *([opts.provider.package] if opts.provider else [])]
