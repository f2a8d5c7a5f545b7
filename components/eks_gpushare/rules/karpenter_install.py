"""Rules about Karpenter itself: whether it is installed, where it runs, and in which version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog import karpenter_releases as since
from eks_gpushare.catalog import versions
from eks_gpushare.catalog.arns import role_fault
from eks_gpushare.catalog.chart_releases import parse_version
from eks_gpushare.config.base import known_fields
from eks_gpushare.config.cluster import NewCluster
from eks_gpushare.config.environment import SystemNodes
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.charts import IDLE_CHART
from eks_gpushare.rules.names import namespace_name_fault
from eks_gpushare.rules.partitions import OTHER_PARTITION, partition_fault
from eks_gpushare.rules.registry import Runs, Scope, check
from eks_gpushare.sharing.nodes import sizes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.environment import Chart
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_STARTED = "https://karpenter.sh/docs/getting-started/getting-started-with-karpenter/"

COPIES_WAIT = Rule(
    "GPU770",
    "warning",
    "There are as many system nodes as copies of Karpenter.",
    "Its chart puts no two of them onto one node, and none onto a node that Karpenter made: the "
    "others stay Pending, and there is nobody to take over.",
    _STARTED,
    not_alone="Where it runs is not known to the component.",
)
FOREIGN_ROLE = Rule(
    "GPU771",
    "error",
    "With a Karpenter that is there already, the role of its nodes is given.",
    "Every EC2NodeClass names it, and only that Karpenter knows which one it may hand to nodes.",
    "https://karpenter.sh/docs/concepts/nodeclasses/#specrole",
    not_alone="The component is what installs it.",
)
IDLE_KARPENTER_KEY = Rule(
    "GPU772",
    "error",
    "Nothing is said of how Karpenter is installed where it is not.",
    "The Karpenter that is there is somebody else's: the key would be ignored.",
    _STARTED,
    not_alone="The component is what installs it.",
)
BAD_NODE_ROLE = Rule(
    "GPU773",
    "error",
    "The role of Karpenter's nodes is given by the ARN of an IAM role.",
    "Its policy would name no role, and no instance could be launched.",
    "https://karpenter.sh/docs/concepts/nodeclasses/#specrole",
)
BAD_KARPENTER_NAMESPACE = Rule(
    "GPU774",
    "error",
    "The namespace of Karpenter is a name that Kubernetes accepts, and no namespace of others.",
    "Kubernetes refuses the release, after queue and roles are there.",
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/",
)
OLD_KARPENTER = Rule(
    "GPU776",
    "error",
    "The version of Karpenter is one for the cluster and for what the pools ask of it.",
    "An older one ignores NodeOverlays and launches a node for each pod, or none; on a newer "
    "Kubernetes it does not start.",
    "https://karpenter.sh/docs/upgrading/compatibility/",
)
OTHER_DEFINITIONS = Rule(
    "GPU777",
    "warning",
    "Karpenter and its custom resource definitions are of one version.",
    "What one of the two does not know is pruned from the objects, or refused.",
    "https://karpenter.sh/docs/upgrading/upgrade-guide/#crd-upgrades",
)
POD_IDENTITY = Rule(
    "GPU778",
    "info",
    "The cluster has the EKS Pod Identity agent.",
    "Karpenter gets its role from it: without one it may do nothing in AWS and does not start.",
    "https://docs.aws.amazon.com/eks/latest/userguide/pod-id-agent-setup.html",
    not_alone="The component is told nothing of the cluster's add-ons.",
)

_OTHERS = ("kube-node-lease", "kube-public")
"""https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names"""
_INSTALLING = {
    "namespace": "namespace",
    "replicas": "replicas",
    "interruption_queue": "interruptionQueue",
    "access_entry": "accessEntry",
}


def _installs(ctx: Context) -> bool:
    """Whether the stack installs Karpenter."""
    block = ctx.environment.karpenter
    if block is not None:
        return block.install
    return any(pool.provisioner == "karpenter" for pool in ctx.environment.pools.values())


SPOT_ROLE = Rule(
    "GPU474",
    "info",
    "An account has the role that spot instances take before Karpenter asks for the first.",
    "EC2 makes it for whoever may have it made, and Karpenter may not: in an account that has "
    "never had a spot instance, it launches none.",
    "https://karpenter.sh/docs/troubleshooting/#missing-service-linked-role",
    not_alone="It is said once for all pools of a stack.",
)


@check(Scope.ENVIRONMENT, COPIES_WAIT)
def karpenter_copies(ctx: Context) -> Iterator[Finding]:
    """For a new cluster: of an existing one nobody here knows all nodes."""
    if ctx.new_cluster is None or not _installs(ctx):
        return
    block, system = ctx.environment.karpenter, ctx.environment.system or SystemNodes()
    wanted, nodes = block.replicas if block else 2, sizes(system.nodes).desired
    if 0 < nodes < wanted:
        have = "1 system node" if nodes == 1 else f"{nodes} system nodes"
        yield COPIES_WAIT.finding(
            ("karpenter", "replicas"),
            f"{wanted} copies of Karpenter want {wanted} nodes, and the stack begins with {have}.",
            f"Set system.nodes.desired to {wanted}, or karpenter.replicas to {nodes}.",
        )


@check(Scope.ENVIRONMENT, FOREIGN_ROLE, IDLE_KARPENTER_KEY)
def karpenter_elsewhere(ctx: Context) -> Iterator[Finding]:
    block = ctx.environment.karpenter
    if block is None or block.install:
        return
    if block.node_role is None:
        yield FOREIGN_ROLE.finding(
            ("karpenter", "nodeRole"),
            "Karpenter is not installed by this stack, and nodeRole is not given.",
            "Give the ARN of the role that the nodes of that Karpenter have, or set install: true.",
        )
    for field, key in _INSTALLING.items():
        if field in block.model_fields_set:
            yield _idle(("karpenter", key))
    for field, key in (("karpenter", "karpenter"), ("karpenter_crd", "karpenterCrd")):
        if field in ctx.environment.charts.model_fields_set:
            yield _idle(("charts", key))
    if ctx.new_cluster is not None:
        yield IDLE_KARPENTER_KEY.finding(
            ("karpenter", "install"),
            "The cluster is new, so there is no Karpenter in it yet, and its pools would get no "
            "node.",
            "Remove install.",
        )


@check(Scope.ENVIRONMENT, IDLE_CHART)
def idle_definitions(ctx: Context) -> Iterator[Finding]:
    """Where no pool wants Karpenter, and no block says of it that it is elsewhere."""
    installed = ctx.environment.karpenter is not None or _installs(ctx)
    if ctx.environment.charts.karpenter_crd is not None and not installed:
        message = "The stack has no Karpenter, so nothing reads this."
        yield IDLE_CHART.finding(("charts", "karpenterCrd"), message, "Remove it.")


def _idle(at: FieldPath) -> Finding:
    message = f"{at[-1]} is about how Karpenter is installed, and this stack does not install it."
    return IDLE_KARPENTER_KEY.finding(at, message, f"Remove {at[-1]}, or set install: true.")


@check(Scope.KARPENTER, BAD_NODE_ROLE, OTHER_PARTITION)
def karpenter_node_role(ctx: Context) -> Iterator[Finding]:
    block = ctx.environment.karpenter
    role = block.node_role if block is not None else None
    if role is None:
        return
    at = ("karpenter", "nodeRole")
    if fault := role_fault(role):
        yield BAD_NODE_ROLE.finding(
            at,
            f'"{role}" {fault}.',
            "Write it like arn:aws:iam::111122223333:role/gpu-nodes.",
        )
    else:
        yield from partition_fault(at, role, ctx)


@check(Scope.KARPENTER, BAD_KARPENTER_NAMESPACE)
def karpenter_namespace(ctx: Context) -> Iterator[Finding]:
    block = ctx.environment.karpenter
    if block is None:
        return
    given, at = block.namespace, ("karpenter", "namespace")
    if given in _OTHERS:
        yield BAD_KARPENTER_NAMESPACE.finding(
            at,
            f"{given} is Kubernetes's own, and nothing runs in it.",
            "Remove the key to get kube-system, or use one of its own, such as karpenter.",
        )
    elif (fault := namespace_name_fault(given)) is not None:
        yield BAD_KARPENTER_NAMESPACE.finding(at, *fault)


@check(Scope.KARPENTER, OLD_KARPENTER, OTHER_DEFINITIONS)
def karpenter_version(ctx: Context) -> Iterator[Finding]:
    """For a version that the stack file names: the default is one that this release is for."""
    charts = known_fields(ctx.environment.charts)
    chart, definitions = charts.get("karpenter"), charts.get("karpenter_crd")
    version = _version(chart)
    if version is not None and (given := parse_version(version)) is not None:
        for needed, why in needs(ctx):
            least = parse_version(needed)
            if least is not None and given < least:
                yield OLD_KARPENTER.finding(
                    ("charts", "karpenter", "version"),
                    f"Karpenter {version} is too old for {why}, which needs {needed} at least.",
                    f"Remove the key to get {versions.KARPENTER.version}, or name one from "
                    f"{needed} on.",
                )
                break
    of_definitions = _version(definitions)
    wanted = version or versions.KARPENTER.version
    if of_definitions is not None and of_definitions.removeprefix("v") != wanted.removeprefix("v"):
        yield OTHER_DEFINITIONS.finding(
            ("charts", "karpenterCrd", "version"),
            f"The definitions are of {of_definitions}, and Karpenter is {wanted}.",
            f"Remove the key, or set it to {wanted}.",
        )


def _version(chart: Chart | None) -> str | None:
    return None if chart is None or chart.path is not None else chart.version


def needs(ctx: Context) -> Iterator[tuple[str, str]]:
    """What the stack needs of a release: since when it is there, and what; the newest first."""
    found = [(since.SINCE_V1, "pools of API version v1")]
    known = known_fields(ctx.environment)
    cluster = known.get("cluster")
    made = known_fields(cluster) if isinstance(cluster, NewCluster) else {}
    kubernetes = str(made.get("version", ""))
    if kubernetes in since.SINCE_KUBERNETES:
        found.append((since.SINCE_KUBERNETES[kubernetes], f"Kubernetes {kubernetes}"))
    for name, pool in known.get("pools", {}).items():
        if pool.provisioner != "karpenter":
            continue
        who = f"the pool {name}"
        kinds = {pool.capacity_type, *((pool.karpenter and pool.karpenter.capacity_types) or ())}
        if pool.sharing.mode != "exclusive":
            found.append((since.SINCE_OVERLAYS, f"{who}, whose shares NodeOverlays tell it of"))
        if pool.karpenter is not None and pool.karpenter.static:
            found.append((since.SINCE_STATIC, f"{who}, which is static"))
        if "capacityBlock" in kinds:
            found.append((since.SINCE_BLOCKS, f"{who}, which has a capacity block"))
        if "reserved" in kinds:
            found.append((since.SINCE_RESERVED, f"{who}, which has a reservation"))
    yield from sorted(found, key=lambda need: parse_version(need[0]) or (), reverse=True)


@check(Scope.ENVIRONMENT, POD_IDENTITY, runs=Runs.IN_STACKS)
def pod_identity(ctx: Context) -> Iterator[Finding]:
    if ctx.named_cluster is None or not _installs(ctx):
        return
    name = ctx.named_cluster.name
    yield POD_IDENTITY.finding(
        ("karpenter",),
        f"Karpenter gets its role by EKS Pod Identity, and nobody here knows whether {name} has "
        "the agent.",
        f"See: aws eks describe-addon --cluster-name {name} --addon-name eks-pod-identity-agent.",
    )


@check(Scope.ENVIRONMENT, SPOT_ROLE)
def role_of_spot(ctx: Context) -> Iterator[Finding]:
    pools = ctx.environment.pools.items()
    spot = [n for n, p in pools if p.provisioner == "karpenter" and "spot" in p.bought_as]
    if spot:
        yield SPOT_ROLE.finding(
            ("pools", spot[0]),
            f"Karpenter takes spot instances for {', '.join(spot)}, and EC2's role for them is "
            "made once in an account, by somebody who may.",
            "Where there has been no spot instance: `aws iam create-service-linked-role "
            "--aws-service-name spot.amazonaws.com`, which `eks-gpushare iam` allows.",
        )
