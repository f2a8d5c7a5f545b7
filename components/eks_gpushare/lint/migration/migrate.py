"""From what was read of foreign files to the text of a stack file, and what `check` says of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import yaml  # type: ignore[import-untyped,unused-ignore]  # its stubs are a separate package

from eks_gpushare.catalog import ami_release, gpu_instance_types
from eks_gpushare.config.project import ENVIRONMENT_KEY
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import PART_OF_POD, NodeSet, Overlay, Workload
from eks_gpushare.inventory.source import Source
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.migration.clusters import cluster_of, groups_of
from eks_gpushare.lint.migration.moved import Left, Moved
from eks_gpushare.lint.migration.plans import plan_of
from eks_gpushare.lint.migration.pools import pool_of
from eks_gpushare.lint.migration.rest import leave_rest
from eks_gpushare.lint.migration.shares import Shares, unknown_sharing
from eks_gpushare.lint.rules.compose import INTEGRATIONS
from eks_gpushare.manifests.document import Document
from eks_gpushare.scaffold.choices import kubernetes_version
from eks_gpushare.stack_file.check import check_stack_file
from eks_gpushare.stack_file.file import stack_file_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date

    from eks_gpushare.inventory.items import Item
    from eks_gpushare.stack_file.check import StackReport

_REGION: Final = "us-west-2"
_NAME: Final = "migrated"
_ORDER: Final = ("cluster", "network", "system", "gpuStack", "pools", "keda", "workloads", "tags")
_WIDTH: Final = 96


@dataclass(frozen=True, slots=True)
class Migration:
    """A stack file made of foreign files."""

    text: str
    """Empty where nothing was found to make a pool of."""
    report: StackReport | None
    """What `check` says of it."""
    left: tuple[Left, ...]
    """What was not taken over, in the order of files and lines."""


def migrate(
    items: Iterable[Item],
    *,
    classes: Iterable[Document] = (),
    new: bool = False,
    today: date | None = None,
) -> Migration:
    """Make a stack file of what was read, for the cluster that is there.

    Args:
        items: The items of all files.
        classes: Documents that are Karpenter's node classes.
        new: Declare the cluster too, so that the stack makes one of the same kind.
        today: For the version of Kubernetes where none is given. Default: today.
    """
    today = today or datetime.now(UTC).date()
    inventory = Inventory(tuple(items))
    moved = Moved()
    shares = Shares(inventory, moved)
    _take(inventory, shares, moved)
    if not moved.pools:
        return Migration("", None, _sorted(moved))
    for document in (*_documents(inventory), *classes):
        leave_rest(document, moved)
    _complete(moved, shares, today, new=new)
    if unknown_sharing(shares) and shares.release is not None:
        why = "Its values are not among the files. Give them too, or set the sharing of each pool."
        moved.leave(shares.release.source, (), shares.release.source.name, why)
    text = _text(moved)
    report = check_stack_file(stack_file_of(text, "the stack file"), today=today)
    return Migration(text, report, _sorted(moved))


def _take(inventory: Inventory, shares: Shares, moved: Moved) -> None:
    """Pools and workloads of every item."""
    files: dict[int, Any] = {}
    groups: list[NodeSet] = []
    for nodes in inventory.of(NodeSet):
        document = nodes.source.document
        value = document.value if isinstance(document, Document) else None
        if str(at(value, "apiVersion")).startswith("eksctl.io/"):
            if id(value) not in files:
                files[id(value)] = document
                cluster_of(document.value, Source("the ClusterConfig", document), moved)
            groups.append(nodes)
        if at(value, INTEGRATIONS) is not None:
            plan_of(document.value, Source("the service plan", document), moved)
        elif nodes.provisioner != "byHand":
            pool_of(nodes, shares, moved)
    groups_of(groups, moved)
    for overlay in inventory.of(Overlay):
        why = "The stack makes overlays of its own, from the pools' sharing."
        moved.leave(overlay.source, (), overlay.source.name, why)
    for workload in inventory.of(Workload):
        if workload.kind != PART_OF_POD and "nvidia.com/" in str(workload.spec):
            why = (
                "Keep it as a manifest: lint --against STACK FILE tells whether it runs on the "
                "pools."
            )
            moved.leave(workload.source, (), workload.source.name, why)


def _documents(inventory: Inventory) -> Iterator[Document]:
    """The documents that declare nodes, each once."""
    seen: set[tuple[str, int]] = set()
    for nodes in inventory.of(NodeSet):
        document = nodes.source.document
        if isinstance(document, Document) and (document.file, document.index) not in seen:
            seen.add((document.file, document.index))
            yield document


def _complete(moved: Moved, shares: Shares, today: date, *, new: bool) -> None:
    """What every stack file says, where no file did."""
    if shares.manager is not None:
        moved.environment["gpuStack"] = {"manager": shares.manager}
    if not moved.region:
        moved.region = _REGION
        moved.comments.setdefault(("aws:region",), []).append("No file names a region: set yours.")
    if not new:
        _existing(moved, today)
        return
    version, _ = kubernetes_version(today)
    cluster = {"name": _NAME, "version": version, **moved.environment.get("cluster", {})}
    moved.environment["cluster"] = cluster
    if not moved.environment.get("network"):
        moved.environment["network"] = {"zones": 2}
    _zones(moved)
    for name, pool in moved.pools.items():
        if pool.pop("subnetIds", None) is not None:
            why = "The stack makes a network of its own."
            moved.leave_again(("pools", "subnetIds"), moved.sources[name], "subnets", why)
        if pool.get("amiFamily", "al2023") == "al2023":
            release = ami_release("al2023", cluster["version"])
            if release is not None:
                pool["amiVersion"] = release


def _existing(moved: Moved, today: date) -> None:
    """Put the pools on the cluster that is there, and list what is that cluster's own."""
    cluster = moved.environment.get("cluster", {})
    if "name" not in cluster:
        comment = "No file names the cluster: set yours."
        moved.comments.setdefault(("cluster",), []).append(comment)
    moved.environment["cluster"] = {"existing": {"name": cluster.get("name", _NAME)}}
    version = str(cluster.get("version") or kubernetes_version(today)[0])
    for name, pool in moved.pools.items():
        if (zones := pool.pop("zones", None)) is not None:
            why = "The zones of an existing network are not known: name subnets in subnetIds."
            what = f"zones of the pool {name}: {', '.join(map(str, zones))}"
            moved.leave_again(("pools", name, "zones"), moved.sources[name], what, why)
        release = ami_release("al2023", version)
        of_karpenter = pool.get("provisioner") == "karpenter"
        if of_karpenter and release is not None and pool.get("amiFamily", "al2023") == "al2023":
            pool["amiVersion"] = release
            comment = f"amiVersion is of Kubernetes {version}: set that of your cluster."
            moved.comments.setdefault(("pools", name), []).append(comment)
    own = {f"cluster.{key}": item for key, item in cluster.items() if key != "name"}
    for key in ("network", "system"):
        if given := moved.environment.pop(key, None):
            own[key] = given
    source = moved.cluster or Source("the cluster", None)
    for key in own:
        why = "It is the existing cluster's own; --new declares a cluster with it."
        moved.leave_again(tuple(key.split(".")), source, key, why)


def _zones(moved: Moved) -> None:
    """Keep pools to as many zones as their types are offered in.

    Which they are the account alone can tell: names mean other zones in each.
    """
    network = moved.environment["network"]
    named = network.get("zones")
    zones = named if isinstance(named, list) else [f"{moved.region}{letter}" for letter in "ab"]
    for name, pool in moved.pools.items():
        found = (gpu_instance_types().get(instance_type) for instance_type in pool["instanceTypes"])
        offered = min(
            (
                len(instance_type.zones.get(moved.region, ()))
                for instance_type in found
                if instance_type
            ),
            default=0,
        )
        if 0 < offered < len(zones):
            network["zones"] = zones
            pool["zones"] = zones[:offered]
            comment = "EC2 offers a type in some zones of the region only; name those of yours."
            moved.comments.setdefault(("pools", name), []).append(comment)


def _text(moved: Moved) -> str:
    lines = [
        "# Made by eks-gpushare lint --to-stack, which lists what it did not take over.",
        "config:",
        *(f"  # {comment}" for comment in moved.comments.get(("aws:region",), ())),
        f"  aws:region: {moved.region}",
        f"  {ENVIRONMENT_KEY}:",
    ]
    whole = {**moved.environment, "pools": moved.pools, "workloads": moved.workloads}
    for key in (*_ORDER, *(key for key in whole if key not in _ORDER)):
        if whole.get(key):
            lines += _block(moved, key, whole[key])
    return "\n".join([*lines, ""])


def _block(moved: Moved, key: str, value: Any) -> Iterator[str]:
    yield from (f"    # {comment}" for comment in moved.comments.get((key,), ()))
    if key not in {"pools", "workloads"}:
        yield from _dumped({key: value}, 4)
        return
    yield f"    {key}:"
    for name, inner in value.items():
        yield from (f"      # {comment}" for comment in moved.comments.get((key, name), ()))
        yield from _dumped({name: inner}, 6)


def _dumped(value: Any, indent: int) -> Iterator[str]:
    text = yaml.safe_dump(value, sort_keys=False, width=_WIDTH - indent, allow_unicode=True)
    yield from (f"{' ' * indent}{line}" for line in text.splitlines())


def _sorted(moved: Moved) -> tuple[Left, ...]:
    return tuple(sorted(dict.fromkeys(moved.left), key=lambda rest: (rest.file, rest.position)))
