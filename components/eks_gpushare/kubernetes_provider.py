"""Which cluster a component installs into: that of its Kubernetes provider, never a guessed one.

A cluster has room for one manager of GPU sharing. Two in one program would only be found out when
Helm installs the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import pulumi
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.settings import SETTINGS

from eks_gpushare.validation import shape_rules

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from eks_gpushare.findings.finding import FieldPath, Finding

_PACKAGE = "kubernetes"
_ANY_OBJECT = "kubernetes:core/v1:Namespace"

_MANAGERS: WeakKeyDictionary[pulumi.ProviderResource, str] = WeakKeyDictionary()
"""What manages the cluster of a provider."""
_ENVIRONMENTS: WeakKeyDictionary[object, dict[Hashable, str]] = WeakKeyDictionary()
"""What is declared for a cluster, run by run: a run has a monitor of its own."""


def missing_provider(component: str, opts: pulumi.ResourceOptions | None) -> Iterator[Finding]:
    """What is wrong with options from which no Kubernetes provider follows.

    Without one, Pulumi takes the kubeconfig of the person who runs the program, and with it a
    cluster that may be another every time.

    Args:
        component: Class of the component that needs the provider.
        opts: Its options. A provider of its parent will do: children inherit it.
    """
    if _provider(opts) is not None:
        return
    given = [provider.package for provider in _own_providers(opts)]
    others = f"; the options have one for {' and '.join(given)}" if given else ""
    yield shape_rules.MISSING_KEY.finding(
        ("opts", "providers"),
        f"No Kubernetes provider is given, and no parent has one{others}. {component} would be "
        "installed into whatever cluster the kubeconfig at hand names.",
        "Give the cluster's: opts=ResourceOptions(providers=[cluster.provider]).",
    )


def other_manager(opts: pulumi.ResourceOptions | None) -> Iterator[Finding]:
    """What already manages the cluster that options lead to."""
    provider = _provider(opts)
    other = _MANAGERS.get(provider) if provider else None
    if other:
        yield shape_rules.DUPLICATE_KEY.finding(
            ("opts", "providers"),
            f"{other} serves the cluster of this provider already, and a cluster has room for one.",
            "Give all pools to one of them, or the provider of another cluster.",
        )


def manage(component: pulumi.ComponentResource, opts: pulumi.ResourceOptions | None) -> None:
    """Note that a component manages the cluster that its options lead to."""
    provider = _provider(opts)
    if provider is not None and not _in_unit_test():
        _MANAGERS[provider] = _called(component)


def other_environment(cluster: Hashable, at: FieldPath) -> Iterator[Finding]:
    """What is already declared for a cluster.

    Args:
        cluster: What tells it from others.
        at: The argument that names it.
    """
    other = _ENVIRONMENTS.get(SETTINGS.monitor, {}).get(cluster)
    if other:
        yield shape_rules.DUPLICATE_KEY.finding(
            at,
            f"{other} is for this cluster already, and a cluster has room for one.",
            "Put the pools of both into one of them.",
        )


def declare(component: pulumi.ComponentResource, cluster: Hashable) -> None:
    """Note that a component is the environment of a cluster."""
    if not _in_unit_test() and SETTINGS.monitor is not None:
        _ENVIRONMENTS.setdefault(SETTINGS.monitor, {})[cluster] = _called(component)


def _in_unit_test() -> bool:
    """Whether no program runs: tests may make the same component many times over."""
    return isinstance(SETTINGS.monitor, MockMonitor)


def _called(component: pulumi.ComponentResource) -> str:
    return f'{type(component).__name__} "{component.pulumi_resource_name}"'


def _provider(opts: pulumi.ResourceOptions | None) -> pulumi.ProviderResource | None:
    """The Kubernetes provider of options, or that of their parent."""
    own = next(
        (provider for provider in _own_providers(opts) if provider.package == _PACKAGE), None
    )
    if own is not None or opts is None or opts.parent is None:
        return own
    inherited: pulumi.ProviderResource | None = opts.parent.get_provider(_ANY_OBJECT)
    return inherited


def _own_providers(opts: pulumi.ResourceOptions | None) -> list[pulumi.ProviderResource]:
    """The providers that options name, in `provider` or in `providers`."""
    if opts is None:
        return []
    several = opts.providers or []
    if isinstance(several, Mapping):
        several = list(several.values())
    elif isinstance(several, pulumi.ProviderResource):  # which the SDK refuses, in its own words
        several = [several]
    return [*([opts.provider] if opts.provider else []), *several]
