"""What both managers register beside their chart: a namespace, and ConfigMaps named by content."""

from collections.abc import Mapping

import pulumi
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace

from eks_gpushare.sharing.device_plugin_config import content_hash


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
        opts=opts,
    )


def content_config_map(
    name: str,
    prefix: str,
    namespace: Namespace,
    data: Mapping[str, str],
    opts: pulumi.ResourceOptions,
) -> ConfigMap:
    """An immutable ConfigMap whose name ends with a hash of what is in it.

    Nothing watches these ConfigMaps, so a change has to be a new name.

    Args:
        name: Logical name.
        prefix: What its name in the cluster begins with.
        namespace: Where it is.
        data: What is in it.
        opts: Pulumi's resource options.
    """
    return ConfigMap(
        name,
        metadata={
            "name": f"{prefix}-{content_hash(data)}",
            "namespace": namespace.metadata.name,
        },
        immutable=True,
        data=dict(data),
        opts=opts,
    )
