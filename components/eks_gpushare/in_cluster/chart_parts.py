"""What both managers register: a namespace, ConfigMaps that are never written twice, and a chart.

All of it is made so that an update that failed or was stopped is undone by one more update with the
stack file of before (docs/recovery.md).
"""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace
from pulumi_kubernetes.helm.v3 import Release

_KEPT_REVISIONS = 5
_SUFFIX_BYTES = 5
_CAPITAL = re.compile("[A-Z]")
_FAILED = {"failed", "pending-install", "pending-upgrade", "pending-rollback", "uninstalling"}
"""States that Helm leaves a release in when it failed or was killed."""


@dataclass(frozen=True, slots=True)
class Predecessor:
    """Another component that may have stood where one stands now."""

    name: str
    """What the names of its children start with."""
    urn: pulumi.Input[str]
    """The component itself."""


def child_options(
    parent: pulumi.Resource, role: str, before: Predecessor | None
) -> pulumi.ResourceOptions:
    """Options of the child `<name>-<role>`, taken for the predecessor's child of the same role.

    So that one is replaced, and goes first, where else both would be there for a while.
    """
    aliases = [pulumi.Alias(name=f"{before.name}-{role}", parent=before.urn)] if before else None
    return pulumi.ResourceOptions(parent=parent, aliases=aliases)


def privileged_namespace(name: str, called: str, opts: pulumi.ResourceOptions) -> Namespace:
    """A namespace for programs that work on the nodes' drivers, devices and kubelet.

    Args:
        name: Logical name.
        called: Name in the cluster.
        opts: Pulumi's resource options.
    """
    return Namespace(
        name,
        metadata={
            "name": called,
            "labels": {"pod-security.kubernetes.io/enforce": "privileged"},
        },
        # One that waits for its deletion would be in the way of an edit that goes back to it.
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(delete_before_replace=True)),
    )


def immutable_config_map(
    name: str,
    prefix: str,
    namespace: pulumi.Input[str],
    data: Mapping[str, str],
    opts: pulumi.ResourceOptions,
    labels: Mapping[str, str] | None = None,
) -> ConfigMap:
    """An immutable ConfigMap that has another name whenever it is made anew.

    Nothing watches these ConfigMaps, so a change has to be a new name. It is not derived from the
    content: after an update that failed, the map of before still waits for its deletion under its
    name, and the way back to the same content has to be free. An update asks for a name that nobody
    has used, and not to compare it: so a map that is there keeps its own, and a replacement, for
    which Pulumi ignores nothing, gets the new one. A preview does not know it yet, or the plan that
    it saves would hold the update to a name of its own (`pulumi up --plan`). Names that the
    provider chooses (auto-naming) would do the same, but for maps that an earlier release of this
    package has named, and for components whose name no object of Kubernetes may have.

    Args:
        name: Logical name.
        prefix: What its name in the cluster begins with.
        namespace: Where it is.
        data: What is in it.
        opts: Pulumi's resource options.
        labels: Its labels.
    """
    return ConfigMap(
        name,
        metadata={
            "name": _new_name(prefix),
            "namespace": namespace,
            **({"labels": dict(labels)} if labels else {}),
        },
        immutable=True,
        data=dict(data),
        opts=pulumi.ResourceOptions.merge(
            opts,
            pulumi.ResourceOptions(
                ignore_changes=["metadata.name"],
                # The provider takes the names for equal, and would delete what the nodes use first.
                delete_before_replace=False,
            ),
        ),
    )


def _new_name(prefix: str) -> pulumi.Output[str]:
    fresh: Any = f"{prefix}-{secrets.token_hex(_SUFFIX_BYTES)}"
    return pulumi.Output.from_input(pulumi.UNKNOWN if pulumi.runtime.is_dry_run() else fresh)


def chart_release(
    name: str,
    called: str,
    namespace: pulumi.Input[str],
    source: Mapping[str, Any],
    values: Mapping[str, Any],
    timeout_seconds: int,
    opts: pulumi.ResourceOptions,
    *,
    skip_crds: bool | None = None,
) -> Release:
    """A chart that is installed, and waited for.

    Helm undoes what failed. It has to be Helm: an upgrade compares with the revision that was
    deployed last, so what a failed one has added would stay for good. An update that finds a
    release which is not deployed, and has nothing to change about it, fails: `pulumi up --refresh`
    meets one after an update that was killed.

    Args:
        name: Logical name.
        called: Name of the release in the cluster. It is fixed: a cluster has room for one.
        namespace: Where it is installed.
        source: Chart, version and repository.
        values: Its values.
        timeout_seconds: How long Helm waits for what it installed.
        opts: Pulumi's resource options.
        skip_crds: Whether to leave out what is in its folder `crds`, which another chart installs.
    """
    release = Release(
        name,
        name=called,
        namespace=namespace,
        **source,
        values=values,
        atomic=True,
        # Of an installation, that is, and of undoing one that failed: the charts have hooks for
        # upgrades and uninstallations only, and Jobs of what does not come up do not run either.
        disable_webhooks=True,
        skip_crds=skip_crds,
        timeout=timeout_seconds,
        max_history=_KEPT_REVISIONS,
        # Its name is fixed, so a replacement cannot stand beside it.
        opts=pulumi.ResourceOptions.merge(
            opts,
            pulumi.ResourceOptions(
                delete_before_replace=True,
                # Says nothing about a release that is there, whose update it would be.
                ignore_changes=["disableWebhooks"],
            ),
        ),
    )
    pulumi.Output.all(release.status, release.urn).apply(lambda known: _refuse(called, *known))
    return release


def _refuse(called: str, status: Mapping[str, Any] | None, urn: str) -> None:
    state = (status or {}).get("status")
    if state not in _FAILED:
        return
    raise pulumi.RunError(
        f"the Helm release {called} is not deployed but {state}, and nothing about it changed that "
        "would mend it. See what its pods wait for, then install it anew: "
        f"pulumi up --replace '{urn}'. docs/recovery.md has this and other ways."
    )


def manifest_fields(document: Mapping[str, Any]) -> dict[str, Any]:
    """What of a manifest its class takes, by Python's names; what it is, the class knows itself."""
    return {
        _CAPITAL.sub(lambda found: f"_{found[0].lower()}", key): item
        for key, item in document.items()
        if key not in {"apiVersion", "kind"}
    }
