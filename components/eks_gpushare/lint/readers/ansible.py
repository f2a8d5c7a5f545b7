"""Tasks of Ansible that install charts and make objects.

Sources, November 2026: `kubernetes.core.helm` and `kubernetes.core.k8s`,
https://docs.ansible.com/ansible/latest/collections/kubernetes/core/; the names that they had before
are in https://github.com/ansible-collections/kubernetes.core/blob/main/meta/runtime.yml. Loops:
https://docs.ansible.com/ansible/latest/playbook_guide/playbooks_loops.html.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, pairs, text
from eks_gpushare.lint.readers.ansible_loops import LOOPS, for_item, items_of
from eks_gpushare.lint.readers.installed import installed
from eks_gpushare.manifests.charts import documents_at
from eks_gpushare.manifests.document import Read
from eks_gpushare.manifests.readers.values import mappings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.manifests.document import Document

_CHARTS: Final = ("kubernetes.core.helm", "community.kubernetes.helm", "helm")
_OBJECTS: Final = (
    *("kubernetes.core.k8s", "community.kubernetes.k8s", "community.okd.k8s"),
    *("redhat.openshift.k8s", "k8s"),
)
WITHIN: Final = ("tasks", "pre_tasks", "post_tasks", "handlers", "block", "rescue", "always")
MAY_BE: Final = ("when", "loop", "with_items", "with_dict", "with_fileglob", "until")
"""By which it is not told whether a task is done, or how often."""
_VALUES: Final = ("values", "release_values")
_DEFINITIONS: Final = ("definition", "resource_definition", "inline")
OF_A_CLUSTER: Final = ("context", "kubeconfig", "host")
"""Arguments that say which cluster a task is for, by a template perhaps another each time."""
_MOST: Final = 2_000
_DEEPEST: Final = 6


class _Task(NamedTuple):
    """A task that says something of a cluster."""

    module: str
    place: FieldPath
    """Of its arguments."""
    given: Mapping[str, Any]
    is_sure: bool
    """Whether it is done once, whatever is so."""
    loop: FieldPath = ()
    """Where it says for what it is done, if that alone tells how often."""
    variables: Mapping[str, Any] = MappingProxyType({})
    """Those of the play."""
    is_whole: bool = False
    """Whether it is done once, or else not at all: by a condition of its own alone."""


class AnsibleReader:
    """Reads tasks and plays; what templates and variables make is not known."""

    name = "Ansible tasks"

    def matches(self, document: Document) -> bool:
        """Whether some task installs a chart or makes objects."""
        return isinstance(document.value, list) and any(_tasks(document.value, ()))

    def read(self, document: Document) -> Read:
        """The charts and objects; of a task that may not be done nothing else follows."""
        found: list[Item] = []
        inner: list[Document] = []
        for task in _each_time(document, _tasks(document.value, ())):
            if at(task.given, "state") == "absent" or at(task.given, "release_state") == "absent":
                continue
            whence = document
            if task.is_whole and _is_by_files(task):
                # Nothing follows but where the files' values go, if they go anywhere.
                whence = replace(document, is_optional=True)
            elif not task.is_sure:
                whence = replace(document, alone=f"{document.file}:{task.place}")
            if task.module in _CHARTS:
                read = _release(task, whence)
                found, inner = [*found, *read.items], [*inner, *read.inner]
            else:
                inner += _objects(task, whence)
        return Read(found, inner=inner)


def _tasks(
    value: Any,
    above: FieldPath,
    *,
    sure: bool = True,
    variables: Mapping[str, Any] = MappingProxyType({}),
) -> Iterator[_Task]:
    """Those of a list of tasks, of plays, or of blocks, each with its place."""
    if len(above) > 2 * _DEEPEST:
        return
    for index, each in list(mappings(value))[:_MOST]:
        place = (*above, index)
        known = {**variables, **dict(pairs(each.get("vars")))}
        unsure = [key for key in MAY_BE if key in each]
        loop = (*place, unsure[0]) if len(unsure) == 1 and unsure[0] in LOOPS and sure else ()
        for module in (*_CHARTS, *_OBJECTS):
            if isinstance(given := each.get(module), dict):
                whole = sure and unsure == ["when"]
                once = sure and not unsure
                yield _Task(module, (*place, module), given, once, loop, known, whole)
        for key in WITHIN:
            is_main = key not in ("rescue", "handlers")
            once = sure and not unsure and is_main
            yield from _tasks(each.get(key), (*place, key), sure=once, variables=known)


def _each_time(document: Document, tasks: Iterable[_Task]) -> Iterator[_Task]:
    """Tasks that make objects, once for each thing that a loop is known to be over."""
    for task in tasks:
        found = items_of(document, task.loop, task.variables) if task.loop else None
        in_several = any(task.given.get(key) is UNKNOWN for key in OF_A_CLUSTER)
        if found is None or task.module not in _OBJECTS or in_several:
            yield task
            continue
        for item in found:
            given = for_item(document, task.place, task.given, item)
            yield task._replace(given=given, is_sure=True)


def _is_by_files(task: _Task) -> bool:
    """Whether it installs a chart all of whose values are those of files."""
    given = task.given
    own = any(given.get(key) for key in (*_VALUES, "set_values"))
    return task.module in _CHARTS and bool(given.get("values_files")) and not own


def _release(task: _Task, document: Document) -> Read:
    """A chart that a task installs."""
    given = task.given
    key = next((each for each in _VALUES if each in given), "values")
    spaces = (given.get(each) for each in ("release_namespace", "namespace"))
    return installed(
        document,
        (*task.place, key),
        text(given.get("chart_ref")),
        UNKNOWN if given.get("set_values") else given.get(key),  # which go over all others
        name=given.get("name", given.get("release_name", UNKNOWN)),
        namespace=next((each for each in spaces if each is not None), UNKNOWN),
        version=given.get("chart_version", ""),
        elsewhere=bool(given.get("values_files")),
    )


def _objects(task: _Task, document: Document) -> Iterator[Document]:
    """The objects that a task makes of what stands in it."""
    for key in _DEFINITIONS:
        told, place = task.given.get(key), (*task.place, key)
        if isinstance(told, str):
            yield from documents_at(document, place, told)
        for path, each in [(place, told), *(((*place, n), one) for n, one in mappings(told))]:
            if isinstance(each, dict):
                whole = _named(each, task.given)
                yield document.inside(path, _in_space(whole, task.given.get("namespace")))


def _named(value: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """An object that is a part of one, with the kind and the name that the task gives it."""
    kind, name = given.get("kind"), given.get("name")
    metadata = value.get("metadata", {})
    if not isinstance(kind, str) or "kind" in value or not isinstance(metadata, dict):
        return value
    version = given.get("api_version", "v1")
    named = metadata if name is None or "name" in metadata else {**metadata, "name": name}
    return {"apiVersion": version, "kind": kind, **value, "metadata": named}


def _in_space(value: dict[str, Any], space: Any) -> dict[str, Any]:
    """An object that has no namespace in the one that the task names."""
    metadata = at(value, "metadata")
    if space is None or not isinstance(metadata, dict) or metadata.get("namespace") is not None:
        return value
    return {**value, "metadata": {**metadata, "namespace": text(space)}}
