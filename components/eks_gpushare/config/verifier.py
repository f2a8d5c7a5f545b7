"""Whatever looks at the running cluster every few minutes."""

from __future__ import annotations

from pydantic import Field

from eks_gpushare.config.base import Model, TextInput


class Verifier(Model):
    """`eks-gpushare verify` in the cluster, every few minutes."""

    image: TextInput
    """Image with the command `eks-gpushare`, by tag or digest; docs/verify.md says how to build
    one."""
    interval_seconds: int = Field(default=300, ge=15, le=3600)
    """Seconds between two looks, 15 to 3600. From 300 on a CronJob looks, and it has to be a part
    of an hour in whole minutes; below, a Deployment does, and serves metrics."""
    name: str | None = None
    """Name of it among others that look at the same cluster, or push to the same Pushgateway: its
    namespace, its ClusterRole and its group there end with it. Default: none, for the only one."""
    namespace: str = "gpushare-verify"
    """Namespace, made by the stack. Default: `gpushare-verify`, and the name where there is one."""
    pushgateway: TextInput | None = None
    """Address of a Pushgateway that the CronJob puts metrics into. Default: they are not kept."""
    events: bool = False
    """Whether what is wrong is told as Events too, on the objects that it is about. It may then
    create and change Events, all of them, and nothing else. Default: false, it only reads."""
    memory: str | None = None
    """Most memory of the pod, such as `1Gi`. Default: `512Mi`, enough for 1,000 nodes, or
    more where the pools may have more."""
