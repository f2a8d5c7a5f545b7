"""Rules on the whole stack: what one resource names must exist in another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pulumi_policy import PolicyResource, Severity, StackValidationArgs
from pulumi_policy.proxy import UnknownValueError

from gpushare_policies.gpus import node_groups
from gpushare_policies.props import read
from gpushare_policies.rule import StackRule
from gpushare_policies.tokens import CONFIG_MAP, MANAGED_NODE_GROUP, NODE_GROUP, RELEASE
from gpushare_policies.words import Fix, is_of_pulumi_eks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LABEL = "nvidia.com/device-plugin.config"
"""Node label whose value names the key of the device plugin's configuration."""

# Where the charts that run the device plugin take its configuration, and the embedded documents.
_CONFIG_VALUES = {
    "nvidia-device-plugin": (("config",), "map"),
    "gpu-operator": (("devicePlugin", "config"), "data"),
}


@dataclass(frozen=True, slots=True)
class _Plugin:
    """A Release that configures the device plugin."""

    release: PolicyResource
    config: Mapping[str, object]
    documents: str
    path: str

    @property
    def namespace(self) -> str:
        return _namespace(self.release, "namespace")


def _namespace(resource: PolicyResource, *path: str) -> str:
    named = read(resource.props, *path)
    if named is None and resource.provider is not None:
        named = read(resource.provider.props, "namespace")
    return str(named or "default")


def _plugins(resources: Sequence[PolicyResource]) -> Iterator[_Plugin]:
    for resource in resources:
        if resource.resource_type != RELEASE:
            continue
        # A name, a path, an archive or an address: nvidia-device-plugin-0.20.0.tgz
        chart = str(read(resource.props, "chart")).rstrip("/").rpartition("/")[2]
        for name, (path, documents) in _CONFIG_VALUES.items():
            config = read(resource.props, "values", *path) if chart.startswith(name) else None
            if config:
                yield _Plugin(resource, config, documents, ".".join(path))


def _config_map(
    resources: Sequence[PolicyResource], name: str, namespace: str
) -> tuple[PolicyResource | None, list[str]]:
    """Find a ConfigMap, or else the other namespaces that hold one of that name."""
    elsewhere: list[str] = []
    unknown: UnknownValueError | None = None
    for resource in resources:
        if resource.resource_type != CONFIG_MAP:
            continue
        try:
            if read(resource.props, "metadata", "name") != name:
                continue
            found_in = _namespace(resource, "metadata", "namespace")
        except UnknownValueError as error:
            unknown = error
            continue
        if found_in == namespace:
            return resource, []
        elsewhere.append(found_in)
    if unknown is not None and not elsewhere:  # it may be that one
        raise unknown
    return None, elsewhere


def _missing_map(plugin: _Plugin, name: str, elsewhere: Sequence[str]) -> str:
    where = f"only in the namespace {', '.join(sorted(elsewhere))}" if elsewhere else "not at all"
    return (
        f"The Release {plugin.release.name} takes its sharing from the ConfigMap {name} in the "
        f"namespace {plugin.namespace}, which is in this stack {where}. It must exist there, or "
        f"the device plugin does not start. Make the ConfigMap in the namespace "
        f"{plugin.namespace} and refer to its name in `values.{plugin.path}.name`."
    )


def _missing_key(who: str, key: str, keys: Sequence[str]) -> str:
    return (
        f"{who} names the device-plugin configuration {key}, and no Release of this stack has "
        f"it (there are: {', '.join(sorted(keys)) or 'none'}). There must be a key of that name, "
        f"or the device plugin restarts for ever on these nodes. Add the key to the ConfigMap."
    )


def _unserved(resource: PolicyResource, key: str) -> str:
    return (
        f"The node group {resource.name} has the label {LABEL}={key}, and no Release of "
        f"this stack configures a device plugin. There must be one, or the nodes advertise "
        f"whole GPUs or none. Add a Release of nvidia-device-plugin with `values.config.name`."
    )


def _labels(resources: Sequence[PolicyResource]) -> Iterator[tuple[PolicyResource, str]]:
    for resource in node_groups(resources):
        key = read(resource.props, "labels", LABEL)
        if key:
            yield resource, str(key)


def _refuse_blanks(args: StackValidationArgs) -> None:
    """Stop if the preview does not show what runs in the cluster.

    While a provider's settings are not known, as those of a cluster that is yet to be made, the
    engine asks it nothing and shows its resources without any property. Source: pulumi/pulumi,
    `Create` in sdk/go/common/resource/plugin/provider_plugin.go.
    """
    for resource in args.resources:
        if is_of_pulumi_eks(resource.urn):  # aws-auth, which configures no device plugin
            continue
        if resource.resource_type in (RELEASE, CONFIG_MAP) and not list(resource.props):
            args.not_applicable(f"a preview without the cluster does not show {resource.name}")


def _sharing(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    _refuse_blanks(args)
    plugins = list(_plugins(args.resources))
    keys: set[str] = set()
    all_found = True
    for plugin in plugins:
        name = read(plugin.config, "name")
        own = set(read(plugin.config, plugin.documents) or ())
        if name and not own:
            config_map, elsewhere = _config_map(args.resources, str(name), plugin.namespace)
            if config_map is None:
                all_found = False
                yield _missing_map(plugin, str(name), elsewhere), plugin.release.urn
                continue
            own = set(read(config_map.props, "data") or ())
        default = read(plugin.config, "default")
        if default and str(default) not in own:
            who = f"`values.{plugin.path}.default` of the Release {plugin.release.name}"
            yield _missing_key(who, str(default), sorted(own)), plugin.release.urn
        keys |= own
    for resource, key in _labels(args.resources):
        if not plugins:
            yield _unserved(resource, key), resource.urn
        elif key not in keys and all_found:  # a missing map is one mistake, not one per pool
            who = f"The label {LABEL} of the node group {resource.name}"
            yield _missing_key(who, key, sorted(keys)), resource.urn


_MAKE_THE_MAP = (
    "Make the ConfigMap in the Release's namespace, with one key for each value of the label."
)

SHARING_CONFIG_EXISTS = StackRule(
    "sharing-config-exists",
    "The device plugin's configuration must exist and hold every key that a node label names.",
    check=_sharing,
    applies_to=(RELEASE, CONFIG_MAP, NODE_GROUP, MANAGED_NODE_GROUP),
    severity=Severity.HIGH,
    fix=Fix(
        "Declare pools under `pools` in the stack file: the ConfigMap, its keys, the Release and "
        "the node labels then come from one declaration.",
        _MAKE_THE_MAP,
        _MAKE_THE_MAP,
    ),
)


STACK_RULES = (SHARING_CONFIG_EXISTS,)
"""The rules on whole stacks."""
