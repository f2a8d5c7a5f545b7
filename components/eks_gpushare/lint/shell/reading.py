"""From shell text to what it says."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import Source
from eks_gpushare.lint.own_machine import is_of_machine
from eks_gpushare.lint.rules.files import NOT_READ
from eks_gpushare.lint.rules.shell import BY_HAND
from eks_gpushare.lint.shell.contexts import in_its_cluster
from eks_gpushare.lint.shell.helm import helm_release
from eks_gpushare.lint.shell.kubectl import kubectl
from eks_gpushare.lint.shell.node_groups import node_group
from eks_gpushare.lint.shell.nvidia_smi import mig_instances
from eks_gpushare.manifests.document import Read
from eks_gpushare.manifests.shell.said import documents_of, placed_document
from eks_gpushare.manifests.shell.words import commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.manifests.document import Document
    from eks_gpushare.manifests.shell.command import Command
    from eks_gpushare.manifests.shell.said import Said

TOOLS: Final = ("helm", "kubectl", "eksctl", "eksdemo", "aws", "oc", "k", "microk8s", "nvidia-smi")
"""Commands that say something of a cluster or its nodes."""
MAX_CHARACTERS: Final = 128 * 1024
"""Longest script or documentation that is read."""
_LOCAL: Final = re.compile(
    r"\b(?:minikube|k3d|get\.k3s\.io|nvkind|kwok|kubeadm|microk8s|kubespray|rke2|proxmox)\b"
    r"|\b(?:bare[-_ ]?metal|on[-_ ]?prem(?:ises)?|dgx(?:-?[0-9]+)?)\b"
    r"|\b(?:kind (?:create|get|load)|kind/.*\.sh|kind[- ](?:cluster|lab|nodes|workers?))\b"
    r"|\bsingle[- ]node (?:k3s|rke2|k8s|kubernetes|cluster)\b"
    r"|\bpatch node[^\n#]*--subresource[= ]status|/status/capacity/|/nodes/[^\s/]+/status\b"
)
"""Clusters whose nodes nobody replaces, and nodes that somebody gives GPUs that are none."""
_OF_GPUS: Final = re.compile(r"nvidia(?!\.com/ais-)|gpu|mig|mps|accelerator|cuda", re.IGNORECASE)
"""AIStore's labels are of NVIDIA's domain, and of no GPU, https://github.com/NVIDIA/ais-k8s."""
_REPLACED: Final = re.compile(r"\b(?:eks|eksctl|nodegroup|karpenter)\b|node group", re.IGNORECASE)
"""Words of guides for nodes that come and go by themselves."""
_PATCH: Final = re.compile(
    r"\b(?:kubectl|oc|k)\b(?:[^\n#\\]|\\.|\\\n)*?\bpatch\b(?:[^\n\\]|\\.|\\\n)*"
)
"""Commands that change what stands in an object."""
_LABELS: Final = re.compile(
    r"\b(?:kubectl|oc|k)\s+label\s+nodes?\s+(\S+)\s+(?:--\S+\s+)*([A-Za-z0-9./-]+)=([^\s\"]+)"
)
"""A node, and a label that it is given."""
_OWN_NODE: Final = re.compile(r"\b(?:label|taint)\s+nodes?\s+\"?\$\{?NODE_NAME\b")
_NAMED: Final = re.compile(r"\b(?:NODE_NAME=(?!\"?\$\{?NODE_NAME\b)|(?:for|read)\b.*\bNODE_NAME\b)")
"""A node by the variable that pods are told their own with, and where a script fills it itself."""
_APPLYING: Final = ("kubectl", "oc", "k", "helm")
_CONTROL: Final = re.compile(r"\{%|%\{|\{\{-? *(?:if|range|with|else|end)\b")
"""What begins a line of control in templates of Jinja, Terraform and Go."""
_FEEDING: Final = ("cat", "tee", "kubectl", "oc", "k", "helm", "eksctl", "echo")
_READING: Final = (*_FEEDING, "rm", "test", "[")
"""Commands that leave a file as it is, or take it away."""


def too_large(file: str, text: str) -> Read | None:
    """What to say of a text that is larger than anybody writes one; None of others."""
    if len(text) <= MAX_CHARACTERS:
        return None
    source = Source("the text", placed_document(file, None, Position(1, 1), {}))
    message = f"It is not read: it has more than {MAX_CHARACTERS:,} characters."
    return Read(judgements=[Problem(NOT_READ, source, (), message, "Give parts of it.")])


def read_commands(text: str, said: Said, line: int = 1, column: int = 1) -> None:
    """Take what the commands of a text say.

    Args:
        text: Shell text.
        said: What was found so far; this adds to it.
        line: Line of the file at which it begins.
        column: Column of the file at which its first line begins.
    """
    piped: Command | None = None
    for command in _run(commands(text, said.variables, line, column), text):
        _take_heredoc(command, said)
        name = command.words[0].text.rpartition("/")[2] if command.words else ""
        _note_changes(name, command, said)
        said.arms = (*command.arms, *in_its_cluster(command, said))
        if piped is not None and not command.is_piped:
            helm_release(piped, said, to_file=_ends_in_file(name, command))
            piped = None
        if name == "helm" and command.is_piped:
            piped = command
        elif name == "helm":
            helm_release(command, said, to_file=bool(command.writes))
        elif name in {"kubectl", "oc", "k"}:
            kubectl(command.words, said)
        elif name in {"eksctl", "eksdemo", "aws"}:
            node_group(command.words, said)
        elif name == "nvidia-smi":
            mig_instances(command.words, said)
        if not command.is_piped:
            said.pipes(())
    if piped is not None:
        helm_release(piped, said)


def _run(found: Iterable[Command], text: str) -> Iterator[Command]:
    """Those before the end of a script.

    What ends in notes or a guide is the shell of a pod or a node, and lines of a template decide
    what of a script there is.
    """
    is_script = text.startswith("#!") and _CONTROL.search(text) is None
    return takewhile(lambda each: not (is_script and each.ends), found)


def _note_changes(name: str, command: Command, said: Said) -> None:
    """Note files that the text has written and that a program may change."""
    if name not in _READING:  # of most texts nothing is written, and no word is looked at
        words = (word.text.removeprefix("./") for word in command.words if said.written)
        said.changed |= said.written.keys() & words


def _ends_in_file(name: str, command: Command) -> bool:
    """Whether the last command of a pipe writes what it was given, and hands it to no cluster."""
    return name == "tee" or (bool(command.writes) and name not in _APPLYING)


def _take_heredoc(command: Command, said: Said) -> None:
    heredoc = command.heredoc
    if heredoc is None:
        return
    name = command.words[0].text if command.words else "cat"
    written = command.writes
    if name == "tee":
        written = next((word.text for word in command.words[1:] if word.text[:1] != "-"), "")
    documents: Sequence[Document] = ()
    if name in _FEEDING and not command.goes_on:
        documents = documents_of(heredoc, said.file, said.variables)
    if written:
        file = written.removeprefix("./")
        said.changed |= {file} & said.written.keys()
        said.written[file] = heredoc
        said.within[file] = documents
    elif command.is_piped:
        said.pipes(documents)
    else:
        said.inner += documents


def _operated(text: str) -> frozenset[str]:
    """Labels that one node is given with several values, by which somebody works a controller."""
    found: dict[tuple[str, str], set[str]] = {}
    for node, key, value in _LABELS.findall(text):
        found.setdefault((node, key), set()).add(value)
    return frozenset(key for (_, key), values in found.items() if len(values) > 1)


def _as_note(
    judgement: Judgement, *, guide: bool, patches: str | None, operated: frozenset[str]
) -> Judgement:
    """What is put on nodes by hand as a note, where it does not matter or is declared too.

    Args:
        judgement: What was found.
        guide: Whether it stands in a guide, which tells of labels of other programs as well.
        patches: What the text patches, such as a machine set; None where nobody replaces nodes.
        operated: Labels that are changed again, and taints that are taken off again.
    """
    if not isinstance(judgement, Problem) or judgement.rule is not BY_HAND:
        return judgement
    part, key = judgement.path
    if part == "taints":
        key = re.split("[=:]", judgement.message.split()[2])[0]
    domain = str(key).rpartition("/")[0] if part == "labels" else ""
    of_another = guide and domain not in {"", "nvidia.com"}
    if (
        patches is None
        or of_another
        or str(key) in operated
        or (part == "labels" and str(key) in patches)
        or not _OF_GPUS.search(judgement.message)
    ):
        return replace(judgement, severity="info")
    return judgement


def _by_hand(said: Said, text: str) -> list[Judgement]:
    """The judgements, those of what is put on nodes by hand as notes where it does not matter."""
    found = said.judgements
    if not any(isinstance(each, Problem) and each.rule is BY_HAND for each in found):
        return found  # as of most texts, which are then not looked through
    guide = is_guide(said.file)
    fixed = _LOCAL.search(f"{text}\n{said.file}") or is_of_machine(text)
    local = fixed or (guide and not _REPLACED.search(text))
    of_each = not guide and _OWN_NODE.search(text) and not _NAMED.search(text)
    patches = None if local or of_each else "\n".join(_PATCH.findall(text))
    operated = frozenset() if guide else _operated(text) | said.removed
    return [_as_note(each, guide=guide, patches=patches, operated=operated) for each in found]


def read_of(said: Said, text: str) -> Read:
    """What was found, with each release as it was installed last.

    Args:
        said: What was found.
        text: The whole text.
    """
    said.judgements = _by_hand(said, text)
    items = [*said.items, *said.releases.values()]
    files = (item for name, item in said.within.items() if name not in said.taken)
    inner = [*said.inner, *(document for documents in files for document in documents)]
    return Read(items, said.judgements, inner)
