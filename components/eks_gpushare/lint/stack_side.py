"""A stack as the other side of files: what its pools will be, as items of an inventory.

All of it comes from the plan, so that it is what `preview` shows; nothing is guessed, and neither
Pulumi nor a network is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.catalog import Catalog, nvidia_ami, versions
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.cluster import ClusterByName, NewCluster
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.findings.finding import Position
from eks_gpushare.findings.silenced import comments
from eks_gpushare.inventory.items import ConfigMap, NodeSet, NodeTaint, Overlay, Pointer, Release
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.manifests.document import Document
from eks_gpushare.sharing.bottlerocket import pools_of_chart
from eks_gpushare.sharing.closed_runtime import closed_pools
from eks_gpushare.sharing.device_plugin_config import config_map_data
from eks_gpushare.sharing.mig.layout import LayoutError
from eks_gpushare.sharing.plan import plan_environment
from eks_gpushare.stack_file.check import check_file
from eks_gpushare.stack_file.project import ProjectError, find_project

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.config.environment import Chart, Environment
    from eks_gpushare.config.taints import Taint
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.findings.silenced import Silence
    from eks_gpushare.inventory.items import Item, Provisioner
    from eks_gpushare.inventory.source import Maybe
    from eks_gpushare.sharing.plan import PoolPlan
    from eks_gpushare.stack_file.check import StackReport
    from eks_gpushare.stack_file.file import StackFile

_PROVISIONERS: dict[str, Provisioner] = {
    "managedNodeGroup": "managed",
    "karpenter": "karpenter",
    "existing": "selfManaged",
}
_PLUGIN_NAMESPACE = "nvidia-device-plugin"
_OPERATOR_NAMESPACE = "gpu-operator"
_PLUGIN_MAP = "the stack's device plugin configuration"
_MIG_MAP = "the stack's MIG layouts"


class StackUnusableError(Exception):
    """There is no such stack, or its file cannot be opened; the text is the whole message."""


class PoolSilence(NamedTuple):
    """A comment of a stack's file that lets findings be."""

    pool: str | None
    """In whose block it stands; None of one elsewhere."""
    silence: Silence


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack that files are held against."""

    document: Document
    """Its file, for findings that are about the stack."""
    report: StackReport
    """What was found in its file."""
    plans: Mapping[str, PoolPlan]
    """Its pools, by name."""
    environment: Environment | None
    """None where nothing could be planned."""
    items: tuple[Item, ...]
    """Its pools, charts and ConfigMaps."""
    region: str | None = None
    """Its AWS region, where the file names one."""
    silences: tuple[PoolSilence, ...] = ()
    """Comments of its file that let findings be."""
    catalog: Catalog = field(default_factory=Catalog)
    """Where its instance types are looked up, with what it adds."""

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What is wrong with the stack file itself; with any of it there are no plans."""
        return tuple(each for each in self.report.findings if each.severity == "error")

    @property
    def name(self) -> str:
        """How messages call it."""
        return self.document.file

    @property
    def cluster(self) -> str | None:
        """The name of its cluster in EKS, where the file says it."""
        given = self.environment.cluster if self.environment is not None else None
        if isinstance(given, NewCluster):
            return given.name
        by_name = getattr(given, "existing", None)
        return by_name.name if isinstance(by_name, ClusterByName) else None


def stack_file_of(given: str, start: Path | None = None) -> Path:
    """The file of a stack: a file, or the name of a stack of the project around.

    Args:
        given: What the user wrote.
        start: Where the project is looked for. Default: the working directory.

    Raises:
        StackUnusableError: If there is none.
    """
    path = Path(given)
    if path.is_file():
        return path
    if path.suffix in {".yaml", ".yml"} or path.name != given:
        raise StackUnusableError(f"There is no stack file {given}.")
    try:
        found = find_project(start or Path()).stack_file(given)
    except ProjectError as error:
        raise StackUnusableError(str(error)) from None
    # As the user would write it, where the project is below.
    here = Path.cwd()
    return found.relative_to(here) if found.is_relative_to(here) else found


def read_stack(path: Path) -> Stack:
    """What the stack of a file will be.

    Args:
        path: The file.

    Raises:
        StackUnusableError: If it cannot be opened.
    """
    # What it will be does not depend on the files that it names, which a cluster does not have.
    report = check_file(path, local_files=False)
    if report.stack_file is None:
        raise StackUnusableError(report.findings[0].message)
    document = _document(report)
    environment = report.environment
    if not report.ok or environment is None:
        return Stack(document, report, {}, None, ())
    region = report.stack_file.region
    catalog, _ = catalog_of(environment.catalog, region)
    try:
        plans = plan_environment(environment, catalog, region)
    except (KeyError, LayoutError) as error:  # the rules have seen to it that this cannot be
        raise StackUnusableError(f"{path} cannot be planned: {error}.") from None
    items = (
        *_nodes(environment, plans, catalog, document),
        *_overlays(plans, catalog, document),
        *_charts(environment, catalog, document),
        *_queues(environment, plans, document),
    )
    silences = tuple(_silences(report.stack_file))
    return Stack(document, report, plans, environment, items, region, silences, catalog)


def _silences(file: StackFile) -> Iterator[PoolSilence]:
    from eks_gpushare.config.project import ENVIRONMENT_KEY

    for silence in comments(file.text).silences:
        match file.document.path_at(silence.line):
            case ("config", key, "pools", str(pool), *_) if key == ENVIRONMENT_KEY:
                yield PoolSilence(pool, silence)
            case _:
                yield PoolSilence(None, silence)


def place_of(name: str, *path: str | int) -> FieldPath:
    """The place of a pool, or of a part of it, in the stack's document."""
    return ("pools", name, *path)


def _document(report: StackReport) -> Document:
    stack_file = report.stack_file
    assert stack_file is not None  # noqa: S101  (of a file that could be opened)
    by_path = {finding.at: finding for finding in report.findings}

    def position(path: FieldPath) -> Position:
        from eks_gpushare.config.project import ENVIRONMENT_KEY

        found = by_path.get(tuple(path))
        line = stack_file.line_of(found) if found is not None else None
        if line is None:
            line = stack_file.document.line_of(("config", ENVIRONMENT_KEY, *path))
        return Position(line or 1, 1)

    return Document(stack_file.name, stack_file.environment, position, editable=False)


def _nodes(
    environment: Environment,
    plans: Mapping[str, PoolPlan],
    catalog: Catalog,
    document: Document,
) -> Iterator[NodeSet]:
    from eks_gpushare.sharing.capacity import most_nodes

    # Of nodes that others make it is said so by whoever knows.
    closed = {n for n, pool in closed_pools(environment).items() if pool.gpus_on_request_only}
    for name, plan in plans.items():
        pool = plan.pool
        startup = {*map(_taint, _startup(plan))}
        yield NodeSet(
            source=Source(f"pools.{name} of {document.file}", document, place_of(name)),
            name=name,
            provisioner=_PROVISIONERS[pool.provisioner],
            instance_types=tuple(pool.instance_types),
            labels=dict(plan.labels),
            taints=tuple(taint for taint in map(_taint, plan.taints) if taint not in startup),
            startup_taints=tuple(sorted(startup)),
            promised=_promised(plan),
            ami=_ami(plan, catalog),
            least=plan.scaling.least if plan.scaling else plan.sizes.min,
            most=most_nodes(plan),
            user_data=_closing() if name in closed else "",
            advertised={kind: dict(node) for kind, node in plan.per_node.items()},
        )


def _closing() -> str:
    from eks_gpushare.documents.closed_runtime import closed_runtime_part

    return closed_runtime_part()


def _startup(plan: PoolPlan) -> tuple[Taint, ...]:
    from eks_gpushare.sharing.plan import startup_taints

    return startup_taints(plan.pool)


def _taint(given: Taint) -> NodeTaint:
    return NodeTaint(given.key, given.value, given.effect)


def _promised(plan: PoolPlan) -> dict[str, int]:
    """What Cluster Autoscaler is told of the group, which is one type's figures."""
    from eks_gpushare.sharing.autoscaling import promised
    from eks_gpushare.sharing.scaling_range import scaled_by

    if scaled_by(plan.pool) != "clusterAutoscaler":
        return {}
    return dict(promised(plan, plan.pool.instance_types[0]))


def _ami(plan: PoolPlan, catalog: Catalog) -> str:
    pool = plan.pool
    if pool.custom_ami is not None:
        return pool.custom_ami.id
    first = catalog.find(pool.instance_types[0])
    found = nvidia_ami(pool.ami_family, first.arch if first else "amd64")
    return found.type if found else pool.ami_family


def _overlays(
    plans: Mapping[str, PoolPlan], catalog: Catalog, document: Document
) -> Iterator[Overlay]:
    from eks_gpushare.sharing.karpenter.node_overlay import node_overlays

    for name, plan in plans.items():
        if plan.pool.provisioner != "karpenter":
            continue
        for overlay in node_overlays(plan, catalog):
            called, spec = overlay["metadata"]["name"], overlay["spec"]
            yield Overlay(
                source=Source(f"the NodeOverlay {called}", document, place_of(name)),
                name=called,
                requirements=tuple(spec["requirements"]),
                capacity=spec.get("capacity", {}),
                weight=spec["weight"],
            )


def _charts(environment: Environment, catalog: Catalog, document: Document) -> Iterator[Item]:
    served = pools_of_chart(closed_pools(environment))
    if not served:
        return
    made = _operator if environment.gpu_stack.manager == "gpuOperator" else _plugin
    yield from made(environment, served, catalog, document)


def _plugin(
    environment: Environment, served: Mapping[str, Any], catalog: Catalog, document: Document
) -> Iterator[Item]:
    from eks_gpushare.sharing.charts import device_plugin_values

    namespace = environment.gpu_stack.namespace or _PLUGIN_NAMESPACE
    chart = environment.charts.device_plugin
    yield _map(_PLUGIN_MAP, namespace, config_map_data(served, catalog), document)
    values = merge_values(
        device_plugin_values(served, chart.values), {"config": {"name": _PLUGIN_MAP}}
    )
    yield Release(
        source=Source("the stack's device plugin", document, ("charts", "devicePlugin")),
        name="nvidia-device-plugin",
        chart=versions.DEVICE_PLUGIN.name,
        version=_version(chart, versions.DEVICE_PLUGIN.version),
        namespace=namespace,
        values=values,
        paths={(): ("charts", "devicePlugin", "values")},
    )


def _operator(
    environment: Environment, served: Mapping[str, Any], catalog: Catalog, document: Document
) -> Iterator[Item]:
    from eks_gpushare.sharing.exporter import with_process_metrics
    from eks_gpushare.sharing.gpu_operator import gpu_operator_values
    from eks_gpushare.sharing.mig_manager import mig_parted_data, uses_mig_manager

    namespace = environment.gpu_stack.namespace or _OPERATOR_NAMESPACE
    chart = environment.charts.gpu_operator
    manages = uses_mig_manager(served)
    given = with_process_metrics(environment, served, catalog)
    yield _map(_PLUGIN_MAP, namespace, config_map_data(served, catalog), document)
    if manages:
        yield _map(_MIG_MAP, namespace, mig_parted_data(served, catalog), document)
    yield Release(
        source=Source("the stack's GPU Operator", document, ("charts", "gpuOperator")),
        name="gpu-operator",
        chart=versions.GPU_OPERATOR.name,
        version=_version(chart, versions.GPU_OPERATOR.version),
        namespace=namespace,
        values=gpu_operator_values(
            served, catalog, given, _PLUGIN_MAP, _MIG_MAP if manages else None
        ),
        paths={(): ("charts", "gpuOperator", "values")},
    )


def _queues(
    environment: Environment, plans: Mapping[str, PoolPlan], document: Document
) -> Iterator[Pointer]:
    """The queues of its tenants, which workloads in files may name."""
    if not (tenants := environment.tenants):
        return
    from eks_gpushare.sharing.kueue import kueue_objects, pool_shares
    from eks_gpushare.sharing.tenant_queues import queues
    from eks_gpushare.sharing.tenants import contracts

    queued = queues(tenants, contracts(tenants, plans), plans)
    for made in kueue_objects(pool_shares(queued.pools, queued.tenants)) if queued else ():
        kind, named = made["kind"], made["metadata"]
        yield Pointer(
            source=Source(f"the stack's {kind} {named['name']}", document, ("tenants",)),
            kind=kind,
            name=named["name"],
            namespace=named.get("namespace", ""),
            spec=made["spec"],
        )


def _version(chart: Chart, ours: str) -> Maybe[str]:
    """The version of a chart: one on disk says its own, which a stack file does not."""
    return UNKNOWN if chart.path is not None else chart.version or ours


def _map(name: str, namespace: str, data: Mapping[str, str], document: Document) -> ConfigMap:
    source = Source(name, document, ("pools",))
    return ConfigMap(source=source, name=name, namespace=namespace, data=data)
