"""Which cluster commands of a text are for: the context that it has switched to, or names.

Sources: `kubectl config use-context`, flags of kubectl and helm, and what writes a context and
switches to it: `aws eks update-kubeconfig`, eksctl, gcloud, az, kind, k3d and minikube; their
references, read December 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.findings.finding import Position
from eks_gpushare.manifests.shell.blocks import Arm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare.manifests.shell.command import Command
    from eks_gpushare.manifests.shell.said import Said

_SWITCHES: Final[Mapping[tuple[str, ...], tuple[str, ...]]] = {
    ("kubectl", "config", "use-context"): (),
    ("oc", "config", "use-context"): (),
    ("kubectx",): (),
    ("oc", "login"): (),
    ("aws", "eks", "update-kubeconfig"): ("--name",),
    ("eksctl", "create", "cluster"): ("--name", "-n", "--config-file", "-f"),
    ("eksctl", "utils", "write-kubeconfig"): ("--cluster", "-c"),
    ("gcloud", "container", "clusters", "get-credentials"): (),
    ("gcloud", "container", "clusters", "create"): (),
    ("az", "aks", "get-credentials"): ("--name", "-n"),
    ("kind", "create", "cluster"): ("--name", "-n"),
    ("k3d", "cluster", "create"): (),
    ("minikube", "start"): ("--profile", "-p"),
}
"""Commands after which others are for another cluster, with the flags that name it; of none it is
the word behind them."""
_CONTEXT: Final = ("--context", "--kube-context")
_FILE: Final = ("--kubeconfig",)
_CHOICE: Final = Position(0, 0)
"""In place of where a choice begins: no command is before the first line."""


def in_its_cluster(command: Command, said: Said) -> tuple[Arm, ...]:
    """The arm that stands for the cluster which a command is for; none within a function.

    Args:
        command: The command, which may switch to another.
        said: What was found so far; it knows of the switches.
    """
    if command.function or not command.words:
        return ()  # it is not told here when that is called
    words = [word.text for word in command.words]
    for begins, flags in _SWITCHES.items():
        if tuple(words[: len(begins)]) == begins:
            behind = words[len(begins) :]
            said.context = _given(behind, flags) if flags else _named(behind)
    context = _given(words, _CONTEXT) or said.context
    named = context, _given(words, _FILE) or command.kubeconfig
    if named not in said.contexts:
        said.contexts.append(named)
    return (Arm(_CHOICE, said.contexts.index(named)),)


def _named(words: Sequence[str]) -> str:
    """The first word that is no flag, nor the value of one; empty where there is none."""
    before = ""
    for word in words:
        if not word.startswith("-") and (not before.startswith("-") or "=" in before):
            return word
        before = word
    return ""


def _given(words: Sequence[str], flags: Sequence[str]) -> str:
    """What the first of some flags is given; empty where none is there."""
    for index, word in enumerate(words):
        name, joined, value = word.partition("=")
        if name in flags:
            return value if joined else next(iter(words[index + 1 :]), "")
    return ""
