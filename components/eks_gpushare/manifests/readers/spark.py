"""Drivers and executors of Spark, with the GPUs that the operator or Spark itself asks for.

Sources: `api/v1beta2/sparkapplication_types.go` of kubeflow/spark-operator, and
https://spark.apache.org/docs/latest/running-on-kubernetes.html#resource-allocation-and-configuration-overview,
read 2026-11-22.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, pairs
from eks_gpushare.manifests.plain import mapping
from eks_gpushare.manifests.readers.values import whole
from eks_gpushare.manifests.rules.kubernetes import NO_VENDOR

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath, Position
    from eks_gpushare.inventory.items import Workload
    from eks_gpushare.inventory.source import Source
    from eks_gpushare.manifests.document import Document

GROUP: Final = "sparkoperator.k8s.io"
_ROLES: Final = ("driver", "executor")
_RESOURCE: Final = "resource"
_LIMITS: Final = ("containers", 0, "resources", "limits")
_SELECTOR: Final = "spark.kubernetes.node.selector."
_OF_PODS: Final = ("tolerations", "affinity", "runtimeClassName")


def spark_pods(document: Document, source: Source, around: Workload) -> Iterator[Workload]:
    """The pods of each role that ask for GPUs.

    Args:
        document: The application.
        source: Its source.
        around: What it says of all its pods.
    """
    for above, role in _roles(document.value):
        asked = dict(_asked(document.value, above, role))
        if not asked:
            continue
        limits = {name: amount for name, (amount, _) in asked.items()}
        container = {"name": f"spark-kubernetes-{role}", "resources": {"limits": limits}}
        place = (*above, role)
        places = {name: where for name, (_, where) in asked.items()}
        yield replace(
            around,
            source=replace(source, document=_placed(document, place, places)),
            replicas=_replicas(document.value, place) if role == "executor" else 1,
            spec={"containers": [container], **_around(document.value, above, role)},
            spec_path=place,
        )


def judge_spark(document: Document, source: Source) -> Iterator[Problem]:
    """Resources of Spark's own configuration that Kubernetes has no name for."""
    if not is_spark(document.value):
        return
    for above, role in _roles(document.value):
        conf = mapping(at(document.value, *above, "sparkConf"))
        for key, _ in pairs(conf):
            name = _named(key, role)
            if name is not None and _conf_key(role, name, "vendor") not in conf:
                missing = _conf_key(role, name, "vendor")
                yield Problem(
                    NO_VENDOR,
                    source,
                    (*above, "sparkConf", key),
                    f"{source.name[:1].upper()}{source.name[1:]} asks for {name} by {key}, and "
                    f"{missing} is not set.",
                    f'Add `{missing}: "nvidia.com"`.',
                )


def _roles(value: Any) -> Iterator[tuple[FieldPath, str]]:
    """Each role, with what the application's fields stand below."""
    above = ("spec", "template") if at(value, "kind") == "ScheduledSparkApplication" else ("spec",)
    yield from ((above, role) for role in _ROLES)


def _conf_key(role: str, name: str, last: str) -> str:
    return f"spark.{role}.{_RESOURCE}.{name}.{last}"


def _named(key: str, role: str) -> str | None:
    """The resource of which a key of Spark's configuration says how many a role wants."""
    before, after = f"spark.{role}.{_RESOURCE}.", ".amount"
    if not (key.startswith(before) and key.endswith(after)):
        return None
    return key[len(before) : -len(after)] or None


def _asked(value: Any, above: FieldPath, role: str) -> Iterator[tuple[str, tuple[Any, FieldPath]]]:
    """Resources by name, with how many and where that is written."""
    conf = mapping(at(value, *above, "sparkConf"))
    for key, amount in pairs(conf):
        name = _named(key, role)
        vendor = None if name is None else conf.get(_conf_key(role, name, "vendor"))
        if isinstance(vendor, str):
            yield f"{vendor}/{name}", (amount, (*above, "sparkConf", key))
    own = at(value, *above, role, "gpu")
    name = at(own, "name")
    if isinstance(name, str) and name:
        quantity = at(own, "quantity")
        yield name, (quantity, (*above, role, "gpu", "name"))


def _replicas(value: Any, place: FieldPath) -> Any:
    return whole(at(value, *place, "instances"), 1)


def _around(value: Any, above: FieldPath, role: str) -> Mapping[str, Any]:
    """Where the pods go: by the role's own fields, its template, and Spark's configuration."""
    own = mapping(at(value, *above, role))
    template = at(own, "template", "spec")
    found = {
        key: each for key in _OF_PODS if (each := own.get(key) or at(template, key)) is not None
    }
    conf = mapping(at(value, *above, "sparkConf"))
    selector = dict(mapping(at(value, *above, "nodeSelector")))
    selector |= mapping(at(template, "nodeSelector")) | mapping(own.get("nodeSelector"))
    for prefix in (_SELECTOR, f"spark.kubernetes.{role}.node.selector."):
        for key, pair in pairs(conf):
            if key.startswith(prefix):
                selector[key.removeprefix(prefix)] = pair
    if any(key.endswith("podTemplateFile") for key, _ in pairs(conf)) or template is UNKNOWN:
        for key in _OF_PODS:  # and whatever else the file has
            found.setdefault(key, UNKNOWN)
    return {**found, "nodeSelector": selector} if selector else found


def _placed(document: Document, above: FieldPath, places: Mapping[str, FieldPath]) -> Document:
    """The document, where a limit is where the application says so."""
    outer = document.position

    def position(path: FieldPath) -> Position:
        inside = tuple(path[len(above) :])
        if inside[: len(_LIMITS)] == _LIMITS and inside[len(_LIMITS) :]:
            return outer(places.get(str(inside[len(_LIMITS)]), above))
        return outer(path)

    return replace(document, position=position, editable=False)


def is_spark(value: Mapping[str, Any]) -> bool:
    """Whether an object is an application of the Spark operator."""
    group, _, _ = str(value.get("apiVersion")).rpartition("/")
    return group == GROUP
