"""The questions of `init` on a terminal: what was not given is asked for, with a default."""

from __future__ import annotations

import argparse
import sys
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from eks_gpushare.catalog import Catalog, why_no_mig
from eks_gpushare.cli import init_words as words_of
from eks_gpushare.scaffold import choices as known
from eks_gpushare.scaffold.choices import (
    default_layout,
    layouts_of,
    suitable_types,
)
from eks_gpushare.validation.shape import similar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from eks_gpushare.scaffold.choices import Choices, Manager, Mode

_MODE_WORDS = {
    "exclusive": "one pod per GPU",
    "timeSlicing": "pods take turns; memory and faults are shared",
    "mps": "pods at once, a memory limit each; faults are shared",
    "mig": "the GPU is cut into isolated devices; some GPUs only",
}
_MANAGER_WORDS = {
    "devicePlugin": "NVIDIA's device plugin chart",
    "gpuOperator": "NVIDIA's GPU Operator",
}
_MOST_TYPES = 8


class InputEndedError(Exception):
    """Standard input ended where an answer was expected."""


def ask(start: Choices, given: frozenset[str]) -> Choices:
    """Ask for what was not given.

    Args:
        start: What was given, and defaults.
        given: Names of the options that were given.

    Raises:
        InputEndedError: If the input ends.
    """
    _say("Enter takes what is in brackets; Ctrl-C leaves without writing anything.\n")
    for name, question in _QUESTIONS:
        if name not in given:
            start = question(start)
    return start


def _ask_name(now: Choices) -> Choices:
    return replace(now, name=_ask("Name of the project", now.name, words_of.name))


def _ask_stack(now: Choices) -> Choices:
    return replace(now, stack=_ask("Name of the stack", now.stack, words_of.name))


def _ask_cluster(now: Choices) -> Choices:
    kind = _choose(
        "Cluster",
        {
            "new": "a new EKS cluster with a network of its own",
            "eks": "an EKS cluster that is there already",
            "kubeconfig": "any cluster, by its kubeconfig; nothing in AWS is touched",
        },
        "new",
    )
    if kind == "eks":
        return replace(now, cluster=_ask("  Name of the EKS cluster", None))
    if kind == "kubeconfig":
        path = _ask("  Path of the kubeconfig", "~/.kube/config")
        context = _ask("  Context in it (empty: its current one)", "")
        return replace(now, kubeconfig=path, context=context or None, region=None)
    return now


def _ask_region(now: Choices) -> Choices:
    if now.kubeconfig is not None:
        return now
    return replace(now, region=_ask("AWS region", now.region or known.DEFAULT_REGION, _region))


def _region(text: str) -> str:
    regions = known.regions()
    if text in regions:
        return text
    meant = similar(text, regions)
    hint = f"did you mean {meant}?" if meant else f"such as {', '.join(regions[:4])}"
    raise argparse.ArgumentTypeError(f"no GPU type is known to be offered in {text!r}; {hint}")


def _ask_mode(now: Choices) -> Choices:
    return replace(now, mode=cast("Mode", _choose("Sharing", _MODE_WORDS, now.mode)))


def _ask_type(now: Choices) -> Choices:
    types = suitable_types(now.mode, now.region)
    if not types:
        return replace(now, instance_type=_ask("Instance type", None))
    _say(f"Instance type; of {len(types)} that suit, the first:\n")
    for instance_type in types[:_MOST_TYPES]:
        price = instance_type.price(now.region or "")
        cost = f"${price:.2f} an hour" if price is not None else ""
        gpu = instance_type.gpu.model if instance_type.gpu else ""
        _say(
            f"  {instance_type.name:16} {instance_type.gpu_count} x {gpu:22} {cost}".rstrip() + "\n"
        )
    names = [instance_type.name for instance_type in types]

    def suits(text: str) -> str:
        if text in names:
            return text
        raise argparse.ArgumentTypeError(_why_not(text, names, now))

    return replace(now, instance_type=_ask("Type", names[0], suits))


def _why_not(text: str, names: Sequence[str], now: Choices) -> str:
    """Why a type cannot be taken."""
    found = Catalog().find(text)
    if found is None or found.gpu is None:
        meant = similar(text, names)
        hint = f"did you mean {meant}?" if meant else "see the list"
        return f"{text!r} is no type with an NVIDIA GPU; {hint}"
    if now.mode == "mig" and (why := why_no_mig(found)):
        return why
    return f"{text} was not offered in {now.region} when the catalog was made"


def _ask_share(now: Choices) -> Choices:
    if now.mode in {"timeSlicing", "mps"} and now.replicas is None:
        return replace(
            now, replicas=int(_ask("Pods on one GPU", str(known.DEFAULT_REPLICAS), _count))
        )
    if now.mode == "mig" and now.layout is None and now.instance_type is not None:
        layouts = layouts_of(now.instance_type)
        _say(_wrapped("MIG layouts: ", layouts))

        def layout(text: str) -> str:
            if "=" not in text and text not in layouts:
                raise argparse.ArgumentTypeError(f"{text!r} is none of them")
            words_of.layout(text)
            return text

        default = default_layout(now.instance_type)
        return replace(
            now, layout=words_of.layout(_ask("Layout, or 1g.10gb=2,...", default, layout))
        )
    return now


def _count(text: str) -> str:
    if not (text.isascii() and text.isdigit() and int(text) > 1):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 2 or more")
    return text


def _ask_manager(now: Choices) -> Choices:
    default = now.manager or known.default_manager(now)
    return replace(now, manager=cast("Manager", _choose("Device plugin", _MANAGER_WORDS, default)))


def _ask_public_cidr(now: Choices) -> Choices:
    if not now.new:
        return now
    _say("pulumi up installs into the cluster, so it has to reach the Kubernetes API.\n")
    text = _ask(
        "Network you work from, as 203.0.113.0/24 (empty: only the VPC)",
        "",
        lambda given: words_of.cidr(given) if given else "",
    )
    return replace(now, public_cidrs=(text,)) if text else now


_QUESTIONS: tuple[tuple[str, Callable[[Choices], Choices]], ...] = (
    ("name", _ask_name),
    ("stack", _ask_stack),
    ("cluster", _ask_cluster),
    ("region", _ask_region),
    ("mode", _ask_mode),
    ("type", _ask_type),
    ("share", _ask_share),
    ("manager", _ask_manager),
    ("public_cidr", _ask_public_cidr),
)


def _choose(title: str, words: Mapping[str, str], default: str) -> str:
    _say(f"{title}\n")
    for number, (word, meaning) in enumerate(words.items(), 1):
        _say(f"  {number} {word:12} {meaning}\n")
    names = list(words)

    def one_of(text: str) -> str:
        if text.isascii() and text.isdigit() and 0 < int(text) <= len(names):
            return names[int(text) - 1]
        return words_of.word_of(tuple(names))(text)

    return _ask("Number or word", default, one_of)


def _ask(question: str, default: str | None, read: Callable[[str], str] = str) -> str:
    """Ask until there is an answer that can be read."""
    while True:
        shown = f" [{default}]" if default else ""
        _say(f"{question}{shown}: ")
        line = sys.stdin.readline()
        if not line:
            _say("\n")
            raise InputEndedError
        text = line.strip() or default
        if text is None:
            _say("  An answer is needed.\n")
            continue
        try:
            return read(text)
        except argparse.ArgumentTypeError as error:
            _say(_wrapped("  ", [str(error)]))


def _wrapped(head: str, words: Sequence[str]) -> str:
    text = head + ", ".join(words)
    return textwrap.fill(text, 78, subsequent_indent="  ", break_on_hyphens=False) + "\n"


def _say(text: str) -> None:
    """To standard error: standard output is for what is written."""
    sys.stderr.write(text)
    sys.stderr.flush()
