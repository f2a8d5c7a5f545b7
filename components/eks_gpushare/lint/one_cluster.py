"""Whether folders that nothing joins are the parts of one cluster, by how people lay these out.

A repository of one cluster has `cluster/eksctl.yaml`, `gpu-operator/values.yaml` and `apps/`, and
nothing in these files names the others. They are taken for parts of one cluster if whatever a
cluster has once is there once, and in a folder that is called after it; environments and steps of a
course are not. Examples are, if they show one way to use the cluster; of several each may be of
another one. That is a guess, as that of a folder is: nothing is corrected by it.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from eks_gpushare.catalog.chart_daemonsets import named_among
from eks_gpushare.documents.reading import EXAMPLES, is_guide
from eks_gpushare.inventory.items import (
    AKS_POOL,
    DEFAULT_TAGS,
    GKE_POOL,
    GROUP_TAG,
    INFERENCE_SERVICE,
    MADE_BY_GCLOUD,
    POD_IDENTITY,
    RESERVATION,
    ROLE_TRUST,
    RULES,
    SCALERS,
    SUBNET,
    WRITTEN_LABEL,
    ConfigMap,
    NodeSet,
    Pointer,
    Quota,
    Release,
    Workload,
)
from eks_gpushare.inventory.requests import requests_of
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.manifests.charts import CHARTS
from eks_gpushare.manifests.document import Document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from eks_gpushare.inventory.items import Item

    # What a cluster has once, with the normal paths of the files that have it.
    Once = Mapping[tuple[str, str], frozenset[str]]

_MOST_FOLDERS: Final = 60
_WORDS: Final = re.compile(r"[-_. ]+")
_PARTS: Final = frozenset(
    (
        *("cluster", "clusters", "eks", "eksctl", "terraform", "tf", "iac", "infra"),
        *("infrastructure", "platform", "base", "bootstrap", "system", "core", "nodes", "node"),
        *("nodegroup", "nodegroups", "nodepool", "nodepools", "group", "groups", "pool", "pools"),
        *("karpenter", "autoscaler", "autoscaling", "provisioner", "provisioners", "gpu", "nvidia"),
        *("device", "plugin", "plugins", "operator", "operators", "addon", "addons", "add", "ons"),
        *("chart", "charts", "helm", "helmfile", "release", "releases", "values", "flux", "argo"),
        *("argocd", "cd", "gitops", "manifest", "manifests", "k8s", "kubernetes", "config"),
        *("configs", "configuration", "monitoring", "observability", "queue", "queues", "kueue"),
        *(
            "driver",
            "drivers",
            "dra",
            "scheduling",
            "daemonset",
            "daemonsets",
            "knative",
            "volcano",
        ),
        *("module", "modules", "cfn", "cloudformation", "metrics", "deploy", "scripts", "live"),
        *("app", "apps", "application", "applications", "dcgm", "nvdp", "nfd", "kustomize"),
        *("stages", "stacks", "init", "network", "vpc", "iam", "security", "storage"),
        *("runtime", "runtimes", "serving", "kserve", "d", "cdk"),
        *("ansible", "playbook", "playbooks", "roles"),
        *("hami", "kai", "scheduler", "schedulers", "keda", "prometheus", "exporter", "gfd"),
    )
)
"""Words of which names of folders are made that hold what a cluster has once."""
ENVIRONMENTS: Final = frozenset(
    (
        *("dev", "develop", "development", "stage", "staging", "stg", "prod", "production", "prd"),
        *("qa", "uat", "sandbox"),
    )
)
HOLD_ENVIRONMENTS: Final = frozenset(
    ("overlay", "overlays", "env", "envs", "environment", "environments")
)
_OTHERWISE: Final = frozenset(
    (
        *("example", "examples", "sample", "samples", "demo", "demos", "doc", "docs", "test"),
        *("tests", "testing", "testdata", "fixtures", "e2e", "hack"),
        *(*ENVIRONMENTS, *HOLD_ENVIRONMENTS),
        *("region", "regions", "lab", "labs", "workshop", "workshops", "tutorial", "tutorials"),
        *("lesson", "lessons", "exercise", "exercises", "course", "blog", "blogs", "step"),
        *("steps", "solution", "solutions", "option", "options", "alternative", "alternatives"),
        *("old", "new", "legacy", "archive", "archived", "deprecated", "backup", "benchmark"),
        *("benchmarks", "experiment", "experiments", "recipe", "recipes", "template"),
        *("templates", "blueprint", "blueprints", "pattern", "patterns", "cookbook", "gcp"),
        *("azure", "oke", "kind", "local", "onprem", "mps", "mig"),
        *("slicing", "timeslicing", "good", "bad", "wrong", "right", "before", "after"),
    )
)
"""Words by which folders stand beside each other as ways, and not as parts."""
_OF_USE: Final = EXAMPLES | {"template", "templates"}
"""Those that may hold pods to try a cluster with, and nothing that it is made of."""
BUILT: Final = "build"
NODES: Final = "nodes"
_NODES: Final = (NODES, BUILT)
"""Kinds of what may make nodes: of a kustomization or a root it is not told which it has."""
OF_THE_PAST: Final = frozenset(("old", "archive", "archived", "deprecated", "legacy", "attic"))
"""Folders beside all others of what is kept and no longer applied. Who applies `apps/` may apply
`apps/legacy/` too."""
ASKED: Final = "asked for by an example"
_OF_EXAMPLES: Final = ("object", ASKED)
SPACE: Final = "namespace of pods"
"""Of which a cluster may have any number, and two environments in it none together."""
_JOINED: Final = (
    *(*SCALERS, "LimitRange", "LocalQueue", "PersistentVolumeClaim", "ServiceMonitor"),
    *("PodMonitor", "PrometheusRule", RULES, "StorageClass", "Prometheus", "NVIDIADriver"),
    INFERENCE_SERVICE,
)
"""Kinds of objects that say something of workloads in other folders."""
_LITTLE: Final = (AKS_POOL, GROUP_TAG, SUBNET, WRITTEN_LABEL, MADE_BY_GCLOUD, DEFAULT_TAGS)
"""Kinds of which too little is read to tell a cluster by."""
_LESSER: Final = "lesser"
"""Kind of what is of the cluster where no file has more of it: roles for its accounts, and what
KServe runs models by."""
_OF_CLUSTERS: Final = {
    "DaemonSet": "node agent",
    "ServingRuntime": _LESSER,
    "ClusterServingRuntime": _LESSER,
}
"""Of kinds of workloads that are not of one application."""
_FLAGS: Final = "config-features"
"""What Knative is told of its features."""
_ELSEWHERE: Final = ("k0s", "k3d", "k3s", "rke", "minikube", "microk8s", "gke", "aks", "kubeadm")
"""How words begin in names of files and folders that are for nodes of no EKS."""
_NUMBERED: Final = re.compile(r"v?[0-9]+|[a-z]+[0-9]+")
_FILES: Final = (".yaml", ".yml", "Kustomization")
_STAGE: Final = re.compile(r"([0-9]{1,3})[-_.](?=[a-z])")
"""How names begin of folders that are applied one after the other, as `02-infra`."""


def once_of(items: Iterable[Item]) -> Iterator[tuple[tuple[str, str], str]]:
    """What a cluster has once, and the file of each."""
    for item in items:
        document = item.source.document
        is_little = getattr(item, "kind", "") in _LITTLE
        if not isinstance(document, Document) or is_guide(document.file) or is_little:
            continue
        file = whole = posixpath.normpath(document.file)
        if document.build:
            # Two that build on one file are two ways of it.
            whole = file_of_build(posixpath.normpath(document.build))
            yield (BUILT, becomes(file)), whole
        # A root has the pools that it makes by a module which others call too.
        of_root = getattr(item, "kind", "") == GKE_POOL
        for key in _keys(item):
            yield key, whole if of_root else file
        if isinstance(item, Workload):
            yield (SPACE, "?" if item.namespace is UNKNOWN else item.namespace or "default"), whole
        if isinstance(item, Workload) and not _OF_USE.isdisjoint(file.lower().split("/")):
            yield from (((ASKED, request.resource), file) for request in requests_of(item))


def file_of_build(build: str) -> str:
    """The path by which what builds is told: of a Terraform root, which is a folder, one in it."""
    return build if build.endswith(_FILES) else posixpath.join(build, "main.tf")


def becomes(file: str) -> str:
    """The name of what a kustomization or a root makes of a file."""
    return f"what {file} becomes"


def _keys(item: Item) -> Iterator[tuple[str, str]]:
    if isinstance(item, NodeSet) and item.provisioner != "byHand":
        # Auto Mode has a Karpenter of its own: another beside it is another cluster's, or way.
        yield NODES, "karpenter" if item.provisioner == "autoMode" else item.provisioner
    elif isinstance(item, NodeSet) and item.name is not UNKNOWN:
        yield "object", f"Node {item.name}"
    elif isinstance(item, Release) and (chart := named_among(CHARTS, item.chart)):
        # Its values are in files of their own, which are read as a release too.
        yield "release" if item.values is not UNKNOWN else "release by files", chart
        if item.own is not None and item.name is not UNKNOWN:
            yield "release by files", chart
    elif isinstance(item, Quota) and item.kind != "ResourceQuota":
        yield "queues", item.kind
    elif isinstance(item, ConfigMap) and item.name == _FLAGS:
        yield "flags", _FLAGS
    elif isinstance(item, Workload | ConfigMap | Quota) and item.name is not UNKNOWN:
        kind = getattr(item, "kind", "ConfigMap")
        yield _OF_CLUSTERS.get(kind, "object"), f"{kind} {item.name}"
    elif isinstance(item, Pointer):
        yield from _keys_of_pointer(item)
    elif isinstance(item, Workload) and any(requests_of(item)):
        # Of values of a chart, which make pods of no name that is known.
        yield "object", f"values {item.source.file}"


def _keys_of_pointer(item: Pointer) -> Iterator[tuple[str, str]]:
    if item.kind in _JOINED and item.name is not UNKNOWN:
        yield "object", f"{item.kind} {item.namespace} {item.name}"
    elif item.kind == ROLE_TRUST and item.name is not UNKNOWN:
        yield _LESSER, f"role {item.name}"
    elif item.kind == POD_IDENTITY:
        yield _LESSER, f"association {item.namespace} {item.name}"
    elif item.kind == GKE_POOL:
        yield NODES, "gke"
    elif item.kind == RESERVATION:
        yield _LESSER, f"reservation {item.name}"


def is_one_cluster(once: Once) -> bool:
    """Whether all that files have is of one cluster, as far as a layout tells.

    Args:
        once: What a cluster has once, with the normal paths of the files that have it.
    """
    once = _without_spaces(once)
    apart = files_apart(once)
    once = kept(once, lambda file: file not in apart)
    files = frozenset[str]().union(*once.values())
    folders = {posixpath.dirname(file) for file in files}
    if not 1 < len(folders) <= _MOST_FOLDERS:
        return False
    whole = whole_of(folders)
    below = {folder: _below(folder, whole) for folder in folders}
    below = _without_numbers(_of_one_environment(below))
    used = {posixpath.dirname(file) for file in _examples(once)}
    ways = (
        word
        for folder, names in below.items()
        for name in _without_templates(names)
        for word in _ways(name)
        if folder not in used or word not in _OF_USE
    )
    if any(ways):
        return False
    if any(_is_of_others(posixpath.relpath(file, whole)) for file in files):
        return False
    shared = [(key, {posixpath.dirname(file) for file in found}) for key, found in once.items()]
    if any(len(found) > 1 for _, found in shared):
        return False
    of_cluster = {min(found) for (kind, _), found in shared if is_of_cluster(kind)}
    of_cluster = of_cluster or {min(found) for (kind, _), found in shared if kind == _LESSER}
    return bool(of_cluster) and all(_is_a_part(below[folder]) for folder in of_cluster)


def is_of_cluster(kind: str) -> bool:
    """Whether what has a kind of key is what a cluster itself is made of."""
    return kind not in (*_OF_EXAMPLES, BUILT, SPACE, _LESSER)


def files_apart(once: Once) -> frozenset[str]:
    """Files that need not be of the cluster whose parts the others are: of examples, of the past.

    Args:
        once: What a cluster has once, with the normal paths of the files that have it.
    """
    past = _of_the_past(once)
    return past | _examples_apart({key: files - past for key, files in once.items()})


def _of_the_past(once: Once) -> frozenset[str]:
    """Files in folders of what is no longer applied, if these make no nodes: such may still run."""
    every = frozenset[str]().union(*once.values())
    whole = whole_of_files(every)
    found = frozenset(
        file
        for file in every
        if not OF_THE_PAST.isdisjoint(_below(posixpath.dirname(file), whole)[:1])
    )
    makes_nodes = any(kind in _NODES and files & found for (kind, _), files in once.items())
    return frozenset() if makes_nodes or found == every else found


def _examples_apart(once: Once) -> frozenset[str]:
    """Files of examples that need not be of the cluster.

    Of examples that ask for several resources, or are there twice, each may be of another cluster.
    """
    once = {key: files for key, files in _without_spaces(once).items() if files}
    found = _examples(once)
    asked = [kind == ASKED for (kind, _), files in once.items() if files & found]
    once_only = (files for (kind, _), files in once.items() if kind != ASKED)
    twice = any(len(files) > 1 and files & found for files in once_only)
    return found if twice or sum(asked) > 1 else frozenset()


def _without_spaces(once: Once) -> Once:
    return {key: files for key, files in once.items() if key[0] != SPACE}


def _examples(once: Once) -> frozenset[str]:
    """Files in folders of examples, if these hold nothing that a cluster is made of."""
    made = {file for (kind, _), files in once.items() if kind not in _OF_EXAMPLES for file in files}
    every = frozenset[str]().union(*once.values())
    whole = whole_of_files(every)
    found = frozenset(
        file for file in every if not _OF_USE.isdisjoint(_below(posixpath.dirname(file), whole))
    )
    return frozenset() if found & made else found


def whole_of(folders: set[str]) -> str:
    """The folder that all lie in; empty where that is the one in which paths begin."""
    is_one = folders and all(folders) and len(set(map(posixpath.isabs, folders))) == 1
    return posixpath.commonpath(folders) if is_one else ""


def whole_of_files(files: Iterable[str]) -> str:
    """The folder that all of some files lie in."""
    return whole_of({posixpath.dirname(file) for file in files})


def kept(once: Once, is_kept: Callable[[str], bool]) -> Once:
    """What some of the files have."""
    found = {key: frozenset(filter(is_kept, files)) for key, files in once.items()}
    return {key: files for key, files in found.items() if files}


def _below(folder: str, whole: str) -> tuple[str, ...]:
    rest = posixpath.relpath(folder or ".", whole)
    return () if rest == "." else tuple(rest.lower().split("/"))


def _of_one_environment(below: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Folders without the name of the environment or overlay, where it is the only one."""
    found = {
        name
        for names in below.values()
        for above, name in zip(("", *names), names, strict=False)
        if name in ENVIRONMENTS or above in HOLD_ENVIRONMENTS
    }
    if len(found) > 1:
        return dict(below)
    return {
        folder: tuple(name for name in names if name not in found | HOLD_ENVIRONMENTS)
        for folder, names in below.items()
    }


def _without_templates(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of a folder but for that which every chart has for what it makes."""
    return names[:-1] if names[1:] and names[-1] == "templates" else names


def _without_numbers(below: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Folders without the numbers of stages, if all have one of their own and are called as parts.

    Of two with one number, or beside folders without any, a number is another way.
    """
    found = {names[0]: _STAGE.match(names[0]) for names in below.values() if names}
    bare = {name: name[match.end() :] for name, match in found.items() if match}
    numbers = {match[1] for match in found.values() if match}
    if len(numbers) != len(found) or not all(_is_a_part((name,)) for name in bare.values()):
        return dict(below)
    return {
        folder: (bare[names[0]], *names[1:]) if names else names for folder, names in below.items()
    }


def _is_a_part(names: tuple[str, ...]) -> bool:
    return all(word in _PARTS for name in names[:1] for word in _WORDS.split(name))


def is_called_as_part(name: str) -> bool:
    """Whether the name of a folder is that of a part of a cluster, such as `gpu-nodes`."""
    return _is_a_part((name.lower(),))


def is_called_as_way(name: str) -> bool:
    """Whether the name of a folder is that of one of several ways, such as `dev` or `mig`."""
    return not _OTHERWISE.isdisjoint(_WORDS.split(name.lower()))


def is_of_use(name: str) -> bool:
    """Whether a folder is called after what tries a cluster, such as `examples`."""
    return name.lower() in _OF_USE


def _is_of_others(path: str) -> bool:
    words = _WORDS.split(path.lower().replace("/", "-"))
    return any(word.startswith(_ELSEWHERE) for word in words)


def _ways(name: str) -> Iterator[str]:
    """The words of a folder's name by which it is a way."""
    for word in _WORDS.split(name):
        if word and (word in _OTHERWISE or _NUMBERED.fullmatch(word)):
            yield word
