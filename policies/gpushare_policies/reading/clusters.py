"""Which of a program's resources are about one and the same cluster.

Objects reach a cluster by a provider, node groups name theirs. A provider's cluster is the one
that its kubeconfig is made of, or that its kubeconfig names. Where a program has but one cluster on
either side, the two are the same, however it is reached.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.source import UNKNOWN
from gpushare_policies.props import peek
from gpushare_policies.reading.node_groups import CLUSTER_TAG, key_of
from gpushare_policies.reading.of_stack import of_stack
from gpushare_policies.reading.plain import item_of, items
from gpushare_policies.tokens import (
    AWS_CLUSTER,
    NODE_GROUP,
    OUR_POOL,
    SCALING_GROUP,
    SCALING_GROUPS,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pulumi_policy import PolicyResource

_ANY = ""
"""A cluster of which nothing is known: it may be the only one that there is."""
ELSEWHERE = ("name:", "provider:")
"""How clusters are called that the program does not make."""
_SERVER = re.compile(r"""["']?server["']?\s*:\s*["']?(https?://[^\s"',}]+)""")
_DEFAULT = re.compile(r"(?<=::)default_[0-9_]+[A-Za-z0-9_+-]*$")
"""The name of a provider that nobody registered."""
_FARTHEST = 6
"""How many resources may lie between a provider and its cluster."""


def clusters_of(
    resources: Sequence[PolicyResource], telling: Sequence[str] = ()
) -> Mapping[str, str]:
    """The cluster of each resource that has one: URN to a name that only this run knows.

    Args:
        resources: All resources of a program.
        telling: URNs of what GPU nodes need, such as device plugins.
    """
    nodes, objects = _named(resources)
    return _matched(nodes, objects, telling)


@of_stack
def _named(resources: Sequence[PolicyResource]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    return _Clusters(resources).named()


@dataclass
class _Clusters:
    resources: Sequence[PolicyResource]
    by_urn: dict[str, PolicyResource] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    """Name in AWS to the URN of the cluster."""

    def __post_init__(self) -> None:
        for resource in self.resources:
            self.by_urn[resource.urn] = resource
            if resource.resource_type == AWS_CLUSTER:
                self.names |= {str(name): resource.urn for name in _names(resource)}

    def named(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        nodes: dict[str, str] = {}
        objects: dict[str, str] = {}
        providers: dict[str, str] = {}
        for resource in self.resources:
            token = resource.resource_type
            if token in (NODE_GROUP, OUR_POOL, *SCALING_GROUPS):
                nodes[resource.urn] = self._of_nodes(resource)
            elif token == SCALING_GROUP:
                if (cluster := self._of_group(resource)) is not None:
                    nodes[resource.urn] = cluster
            elif token.startswith("kubernetes:"):
                urn = "" if resource.provider is None else resource.provider.urn
                if urn not in providers:
                    providers[urn] = self._of_provider(resource, set(nodes.values()))
                objects[resource.urn] = providers[urn]
        return nodes, objects

    def _of_nodes(self, resource: PolicyResource) -> str:
        for key in ("clusterName", "cluster"):
            if used := _used(resource, key):
                return used
            name = peek(resource.props, key)
            if isinstance(name, str):
                return self.names.get(name, f"name:{name}")
        found = self._reached([*resource.dependencies, *_above(resource)])
        return found or self._only()

    def _of_group(self, resource: PolicyResource) -> str | None:
        """By the tag that instances of a cluster have; None of a group without it."""
        tagged = any(key == "tags" for key in resource.props)
        for tag in items(item_of(resource.props, "tags") if tagged else None):
            key = key_of(tag)
            if key == CLUSTER_TAG:
                return _used(resource, "tags") or self._only()
            if isinstance(key, str) and key.startswith(CLUSTER_TAG):
                name = key.removeprefix(CLUSTER_TAG)
                return self.names.get(name, f"name:{name}")
        return None

    def _only(self) -> str:
        made = set(self.names.values())
        return next(iter(made)) if len(made) == 1 else ""

    def _of_provider(self, resource: PolicyResource, of_nodes: Iterable[str]) -> str:
        provider = resource.provider
        if provider is None:
            return _ANY
        known = self.by_urn.get(provider.urn)
        found = self._reached([] if known is None else [*known.dependencies, *_above(known)])
        if found:
            return found
        told = [
            str(value)
            for key in ("kubeconfig", "context", "clusterIdentifier", "cluster")
            if isinstance(value := peek(provider.props, key), str)
        ]
        names = {**self.names, **{name.removeprefix("name:"): name for name in of_nodes}}
        for name, cluster in names.items():
            if any(_says(text, name) for text in told):
                return cluster
        if told:  # two providers with the same server in their kubeconfig reach the same cluster
            server = _SERVER.search(told[0])
            return f"provider:{server[1] if server else told[0]}"
        if any(key == "kubeconfig" for key in provider.props):
            return _ANY
        # Of every version of the package the engine makes another one, and all have one kubeconfig.
        return _DEFAULT.sub("default", provider.urn)

    def _reached(self, start: Sequence[PolicyResource]) -> str:
        """The one cluster among what resources depend on, nearest first; nothing for several."""
        layer, seen = list(start), set[str]()
        for _ in range(_FARTHEST):
            found = {resource.urn for resource in layer if resource.resource_type == AWS_CLUSTER}
            if found:
                return found.pop() if len(found) == 1 else ""
            seen |= {resource.urn for resource in layer}
            layer = [
                used for resource in layer for used in resource.dependencies if used.urn not in seen
            ]
        return ""


def makes_cluster(resource: PolicyResource) -> bool:
    """Whether a resource is a cluster of EKS that the program makes.

    Of one that it only reads, as by `Cluster.get`, there is what AWS tells, and not its role.
    """
    keys = list(resource.props) if resource.resource_type == AWS_CLUSTER else ["arn"]
    return "arn" not in keys or "roleArn" in keys


def _used(resource: PolicyResource, key: str) -> str:
    """The cluster of this program that a property is made of."""
    used = resource.property_dependencies.get(key, ())
    return next((found.urn for found in used if found.resource_type == AWS_CLUSTER), "")


def _names(cluster: PolicyResource) -> list[Any]:
    found = [peek(cluster.props, key) for key in ("name", "arn", "id")]
    return [name for name in found if name]


def _above(resource: PolicyResource) -> list[PolicyResource]:
    """The component that a resource is part of, and what that depends on."""
    found: list[PolicyResource] = []
    parent = resource.parent
    while parent is not None:
        found.append(parent)
        parent = parent.parent
    return [used for below in found for used in below.dependencies]


def _says(text: str, name: str) -> bool:
    """Whether a kubeconfig, context or identifier is about a cluster of a name."""
    return bool(name) and (
        text in (name, f"arn:{name}")
        or text.endswith((f":cluster/{name}", f"/{name}", f"@{name}"))
        or any(f"{mark}{name}{end}" in text for mark in ('"', "/", " ") for end in ('"', "\n", ","))
    )


def _matched(
    nodes: Mapping[str, str], objects: Mapping[str, str], telling: Sequence[str]
) -> Mapping[str, str]:
    """One name where either side has a single cluster that the other does not know.

    `telling` are objects that GPU nodes need: their cluster is the one that has such nodes.
    """
    of_nodes, of_objects = (
        dict.fromkeys(filter(None, names.values())) for names in (nodes, objects)
    )
    strange_nodes = [name for name in of_nodes if name not in of_objects]
    strange_objects = [name for name in of_objects if name not in of_nodes]
    of_telling = [obj for obj in strange_objects if obj in {objects.get(urn) for urn in telling}]
    same: dict[str, str] = {}
    for strange in (strange_objects, of_telling):
        if len(strange) == 1 and (len(strange_nodes) == 1 or (not same and len(of_objects) == 1)):
            same |= dict.fromkeys(strange_nodes, strange[0])
            break
    left = {same.get(name, name) for name in (*of_nodes, *of_objects)}
    if len(left) == 1:
        same[_ANY] = next(iter(left))
    return {urn: same.get(name, name) for urn, name in {**nodes, **objects}.items()}


def kubernetes_namespace(resource: PolicyResource) -> Any:
    """Where objects go that name no namespace: the provider's, or `default`."""
    if resource.provider is None or all(key != "namespace" for key in resource.provider.props):
        return "default"
    value = item_of(resource.provider.props, "namespace")
    return value if value is UNKNOWN else str(value or "default")
