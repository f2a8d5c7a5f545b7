"""`kubectl`: what is put on nodes by hand, ConfigMaps of files and literals, and patches."""

from __future__ import annotations

import json
import posixpath
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.helm import merge_values
from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.items import (
    APPLIED,
    APPLIED_FILE,
    ConfigMap,
    NodeSet,
    NodeTaint,
    Pointer,
    Release,
    Workload,
)
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.rules.shell import BAD_TAINT, BY_HAND, NO_RESOURCES
from eks_gpushare.lint.shell.flags import sorted_words
from eks_gpushare.manifests.placeholders import GAP
from eks_gpushare.manifests.plain import EFFECTS, kubernetes_effect
from eks_gpushare.manifests.shell.command import known
from eks_gpushare.manifests.shell.said import placed_document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.findings.finding import FieldPath, Position
    from eks_gpushare.inventory.source import Maybe
    from eks_gpushare.lint.shell.flags import Line
    from eks_gpushare.manifests.shell.command import Word
    from eks_gpushare.manifests.shell.said import Said

_SWITCHES: Final = frozenset(
    ("overwrite", "all", "list", "dry-run", "server-side", "force-conflicts", "recursive", "force",
     "A", "all-namespaces", "wait", "rm", "i", "t", "stdin", "tty", "attach", "quiet", "q",
     "command", "privileged")
)  # fmt: skip
_SHORT: Final = {
    "n": "namespace", "f": "filename", "l": "selector", "p": "patch", "o": "output",
    "R": "recursive", "k": "kustomize",
}  # fmt: skip
_NODES: Final = ("node", "nodes", "no")
_STATIC: Final = re.compile(
    r"^https://raw\.githubusercontent\.com/NVIDIA/k8s-device-plugin/\S+/nvidia-device-plugin\.yml$"
)
_PLUGIN: Final = "nvidia-device-plugin-daemonset"
"""The DaemonSet in it."""
_FILES: Final = (".yaml", ".yml", ".json")
_FOLDER: Final = re.compile(r"(?:\./)?[A-Za-z0-9_][A-Za-z0-9_/-]*")
"""What is no file, no address and nothing that a shell fills in."""
_CONFIG_MAPS: Final = ("configmap", "configmaps", "cm")


def kubectl(words: Sequence[Word], said: Said) -> None:
    """Take what a `kubectl` command changes."""
    line = sorted_words(words[1:], _SWITCHES, _SHORT)
    at = words[0].position
    plain = [word.text for word in line.plain]
    match plain:
        case ["label", kind, *_] if kind.partition("/")[0] in _NODES:
            _label(line, at, said)
        case ["taint", kind, *_] if kind.partition("/")[0] in _NODES:
            _taint(line, at, said)
        case ["create", kind, _, *_] if kind in _CONFIG_MAPS:
            _config_map(line, at, said)
        case ["patch", kind, *_] if kind.lower().startswith("clusterpolic"):
            _patch(line, at, said)
        case ["edit", kind, *_] if kind.lower().startswith("clusterpolic"):
            _configure(at, said, {"devicePlugin": {"config": UNKNOWN}})
        case ["run", _, *_]:
            _resources(words, said)
            _run(line, at, said)
        case ["apply" | "create" | "replace", *_]:
            _manifests(line, at, said)
        case ["delete", "ds" | "daemonset" | "daemonsets", *names]:
            said.removes(at, *names)
        case ["delete"]:
            files = line.every("filename")
            said.removes(at, *(_PLUGIN for _, word in files if _STATIC.search(word.text)))
        case _:
            pass


def _given(line: Line) -> tuple[Maybe[str], list[Word]]:
    """The node that is named, and what is said of it."""
    words = list(line.plain[1:])
    kind = words.pop(0)
    name: Maybe[str] = UNKNOWN
    if "/" in kind.text:
        name = known(kind.text.partition("/")[2])
    said = [word for word in words if "=" in word.text or _removes(word.text)]
    named = [word for word in words if word not in said]
    if named and "/" not in kind.text:
        name = named[0].value
    return name, said


def _removes(text: str) -> bool:
    return text.endswith("-") and not text.startswith("-")


_OF_OPERATOR: Final = "nvidia.com/gpu.deploy."
"""Labels by which the GPU Operator's parts are called off a node, and back again."""
_STATES: Final = (
    "nvidia.com/mig.config.state",
    "nvidia.com/gpu-driver-upgrade-state",
    "nvidia.com/gpu-driver-upgrade.skip",
    "sagemaker.amazonaws.com/node-health-status",
)
"""By which somebody tells a controller of a node's state."""
_ROLE: Final = "node-role.kubernetes.io/"
"""Labels that a kubelet may not give its node, so that no node group can have them."""


def _label(line: Line, at: Position, said: Said) -> None:
    name, words = _given(line)
    labels: dict[str, Any] = {}
    places: dict[FieldPath, Position] = {}
    for word in words:
        key, joined, value = word.text.partition("=")
        if joined and GAP not in key:
            labels[key] = known(value)
            places["labels", key] = word.position
    if not labels:
        return
    source = said.source(_called(name), at, places)
    for key, value in labels.items():
        if key.startswith((_OF_OPERATOR, _ROLE)) or key in _STATES:
            continue
        shown = "" if value is UNKNOWN else f"={value}"
        said.judgements.append(
            Problem(
                BY_HAND,
                source,
                ("labels", key),
                f"The label {key}{shown} is put on a node by hand; a node that takes its place has "
                "none.",
                "Give it to the node group or the NodePool, as one of its labels.",
            )
        )
    said.items.append(NodeSet(source=source, name=name, provisioner="byHand", labels=labels))


def _taint(line: Line, at: Position, said: Said) -> None:
    name, words = _given(line)
    taints: list[NodeTaint] = []
    places: dict[FieldPath, Position] = {}
    bad: list[tuple[FieldPath, str]] = []
    plain = [word for word in line.plain[2:] if ":" in word.text and word not in words]
    for word in (*words, *plain):
        if _removes(word.text):
            said.removed.add(re.split("[=:]", word.text.removesuffix("-"))[0])
            continue
        if GAP in word.text:
            continue
        path = ("taints", len(places))
        places[path] = word.position
        taint = NodeTaint.parse(word.text)
        if ":" not in word.text or taint.effect not in EFFECTS:
            bad.append((path, word.text))
            continue
        taints.append(taint)
    source = said.source(_called(name), at, places)
    said.judgements += [bad_taint(source, path, given) for path, given in bad]
    for index, taint in enumerate(taints):
        said.judgements.append(
            Problem(
                BY_HAND,
                source,
                ("taints", index),
                f"The taint {taint} is put on a node by hand; a node that takes its place has "
                "none.",
                "Give it to the node group or the NodePool, as one of its taints.",
            )
        )
    if taints:
        said.items.append(
            NodeSet(source=source, name=name, provisioner="byHand", taints=tuple(taints))
        )


def bad_taint(source: Any, path: FieldPath, given: str) -> Problem:
    """What to say of a taint that no tool takes."""
    pair, parted, effect = given.rpartition(":")
    meant = kubernetes_effect(effect) if parted else None
    fix = f"Write {pair}:{meant}." if meant else f"Write {given}:NoSchedule."
    if parted and not meant:
        fix = f"Write {pair}:NoSchedule; the effects are {', '.join(EFFECTS)}."
    return Problem(BAD_TAINT, source, path, f"{given} is no taint.", fix)


def _called(name: Maybe[str]) -> str:
    return "a node labelled by hand" if name is UNKNOWN or not name else f"the node {name}"


def _config_map(line: Line, at: Position, said: Said) -> None:
    name = line.plain[2].value
    given = line.last("namespace")
    data: dict[str, Any] = {}
    places: dict[FieldPath, Position] = {}
    for _, word in line.every("from-literal"):
        key, joined, value = word.text.partition("=")
        if joined:
            data[key] = known(value)
            places["data", key] = word.position
    for _, word in line.every("from-file", "from-env-file"):
        key, joined, file = word.text.partition("=")
        if not joined:
            key, file = word.text.rpartition("/")[2], word.text
        if GAP in key:
            continue
        heredoc = said.written.get(file.removeprefix("./"))
        data[key] = UNKNOWN if heredoc is None else heredoc.text
        places["data", key] = word.position
    called = "" if name is UNKNOWN else f" {name}"
    source = said.source(f"the ConfigMap{called}", at, places)
    namespace = "default" if given is None else given.value
    said.items.append(ConfigMap(source=source, name=name, namespace=namespace, data=data))


def _manifests(line: Line, at: Position, said: Said) -> None:
    """NVIDIA's static manifest of the device plugin, which reads no configuration, and folders."""
    for _, word in line.every("filename"):
        is_file = word.text.endswith(_FILES) and GAP not in word.text and "://" not in word.text
        if (is_file or _FOLDER.fullmatch(word.text)) and not is_guide(said.file):
            ways = (posixpath.join(posixpath.dirname(said.file), word.text), word.text)
            source = said.source(f"the {'file' if is_file else 'folder'} {word.text}", at, {})
            spec = {"files" if is_file else "folders": [*map(posixpath.normpath, ways)]}
            kind = APPLIED_FILE if is_file else APPLIED
            said.items.append(Pointer(source=source, kind=kind, name=word.text, spec=spec))
        if _STATIC.search(word.text):
            container = {
                "name": "nvidia-device-plugin-ctr",
                "image": "nvcr.io/nvidia/k8s-device-plugin",
                "env": [{"name": "FAIL_ON_INIT_ERROR", "value": "false"}],
            }
            taint = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
            said.items.append(
                Workload(
                    source=said.source("the static manifest of the device plugin", at, {}),
                    kind="DaemonSet",
                    name=_PLUGIN,
                    namespace="kube-system",
                    replicas=None,
                    labels={"name": "nvidia-device-plugin-ds"},
                    spec={"tolerations": [taint], "containers": [container]},
                )
            )


def _resources(words: Sequence[Word], said: Said) -> None:
    """GPUs that a command is to ask for by a flag; what is behind -- is for the container."""
    for index, word in enumerate(words):
        name, joined, value = word.text.partition("=")
        if word.text == "--":
            return
        after = value if joined else words[index + 1].text if index + 1 < len(words) else ""
        if name in {"--limits", "--requests"} and "nvidia.com/" in after:
            source = said.source("the command", word.position, {})
            message = f"{name} is no flag of kubectl run since Kubernetes 1.24."
            fix = f"Write a Pod with {after} under resources.limits, or give it by --overrides."
            said.judgements.append(Problem(NO_RESOURCES, source, (), message, fix))
            return


def _run(line: Line, at: Position, said: Said) -> None:
    """A pod that a command runs, where it says more of it than its image."""
    overrides = line.last("overrides")
    if overrides is None or GAP in overrides.text:
        return
    try:
        given = json.loads(overrides.text)
    except ValueError:
        return
    spec = given.get("spec") if isinstance(given, dict) else None
    if not isinstance(spec, dict):
        return
    name, image, namespace = line.plain[1], line.last("image"), line.last("namespace")
    own = {"name": name.value, "image": UNKNOWN if image is None else image.value}
    metadata = {"name": name.value} | ({} if namespace is None else {"namespace": namespace.value})
    whole = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [own], **spec},
    }
    said.inner.append(placed_document(said.file, whole, at, {("spec",): overrides.position}))


def _merged(operations: Sequence[Any]) -> dict[str, Any]:
    """What the operations of a JSON patch add and replace, as one to merge."""
    made: dict[str, Any] = {}
    for each in operations:
        if isinstance(each, dict) and each.get("op") in {"add", "replace"}:
            value = each.get("value")
            for step in reversed(str(each.get("path")).split("/")[1:]):
                value = {step.replace("~1", "/").replace("~0", "~"): value}
            made = merge_values(made, value) if isinstance(value, dict) else made
    return made


def _patch(line: Line, at: Position, said: Said) -> None:
    """A patch of the GPU Operator's ClusterPolicy, whose spec has the chart's keys."""
    patch = line.last("patch")
    if patch is None or GAP in patch.text:
        return
    try:
        given = json.loads(patch.text)
    except ValueError:
        return
    whole = _merged(given) if isinstance(given, list) else given
    values = whole.get("spec") if isinstance(whole, dict) else None
    if isinstance(values, dict):
        _configure(at, said, values)


def _configure(at: Position, said: Said, values: dict[str, Any]) -> None:
    """What the ClusterPolicy is told besides the values of its chart."""
    for key, release in said.releases.items():
        if release.chart == "gpu-operator" and isinstance(release.values, dict):
            said.releases[key] = replace(release, values=merge_values(release.values, values))
            return
    source = said.source("the patch of the ClusterPolicy", at, {})
    said.releases[UNKNOWN, UNKNOWN] = Release(
        source=source,
        name=UNKNOWN,
        chart="gpu-operator",
        version=UNKNOWN,
        namespace=UNKNOWN,  # the object is in none, whatever the command says
        values=values,
    )
