"""What a kubelet registers its node with, by the user data of its machine.

On Amazon Linux 2023 nodeadm hands it NodeConfig documents, on Bottlerocket the OS its settings.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from eks_gpushare_lab.simulated_node import user_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_NODE_CONFIG = "application/node.eks.aws"
_LABELS, _TAINTS = "--node-labels", "--register-with-taints"
# kubernetes/kubernetes v1.35.0, staging/src/k8s.io/kubelet/pkg/apis/well_known_labels.go
_OWN_DOMAINS = ("kubernetes.io", "k8s.io")
_ALLOWED_NAMES = (
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
)
_ALLOWED_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")


class KubeletError(Exception):
    """A kubelet that does not start; the text is what it says."""


@dataclass(frozen=True, slots=True)
class Registration:
    """How a node registers."""

    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels."""
    taints: tuple[Mapping[str, str], ...] = ()
    """Taints as Kubernetes has them."""


def registration(given: str) -> Registration:
    """The labels and taints that user data has its kubelet register.

    Args:
        given: user data as EC2 has it, base64.

    Raises:
        KubeletError: If the kubelet would stop at a label.
        UserDataError: If nothing on the machine could read it.
    """
    text = user_data.decoded(given)
    settings = user_data.toml(text)
    found = _of_bottlerocket(settings) if settings else _of_nodeadm(text)
    unknown = sorted(filter(_is_refused, found.labels))
    if unknown:
        raise KubeletError(
            "unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: "
            + ", ".join(unknown)
        )
    return found


def _of_bottlerocket(settings: Mapping[str, Any]) -> Registration:
    kubernetes = settings.get("settings", {}).get("kubernetes", {})
    labels = {str(key): str(value) for key, value in kubernetes.get("node-labels", {}).items()}
    taints = [
        _taint(key, *str(value).rpartition(":")[::2])
        for key, values in kubernetes.get("node-taints", {}).items()
        for value in ([values] if isinstance(values, str) else values)
    ]
    return Registration(labels, tuple(taints))


def _of_nodeadm(text: str) -> Registration:
    """As nodeadm merges NodeConfigs: flags follow each other, of settings the last one counts."""
    flags: list[str] = []
    taints: list[dict[str, str]] = []
    for document in _node_configs(text):
        kubelet = ((document.get("spec") or {}).get("kubelet")) or {}
        flags += [str(flag) for flag in kubelet.get("flags") or ()]
        configured = (kubelet.get("config") or {}).get("registerWithTaints")
        if configured is not None:
            taints = [
                _taint(str(taint["key"]), str(taint.get("value") or ""), str(taint["effect"]))
                for taint in configured
            ]
    labels: dict[str, str] = {}
    for value in _values(flags, _LABELS):
        pairs = (pair.partition("=") for pair in value.split(",") if pair)
        labels |= {key.strip(): text.strip() for key, _, text in pairs}
    for value in _values(flags, _TAINTS):  # a flag wins over the file, the last one alone
        taints = [_of_flag(taint) for taint in value.split(",") if taint]
    return Registration(labels, tuple(taints))


def _node_configs(text: str) -> Iterator[dict[str, Any]]:
    for kind, part in user_data.parts(text):
        if kind != _NODE_CONFIG:
            continue
        try:
            document = yaml.safe_load(part)
        except yaml.YAMLError as error:
            raise KubeletError(f"nodeadm cannot read its configuration: {error}") from None
        if isinstance(document, dict):
            yield document


def _values(flags: Iterable[str], name: str) -> Iterator[str]:
    """Values of a flag, in quotes or not, as a shell of systemd has them."""
    for flag in flags:
        key, equals, value = flag.partition("=")
        if key == name and equals:
            yield "".join(shlex.split(value))


def _of_flag(text: str) -> dict[str, str]:
    rest, _, effect = text.rpartition(":")
    key, _, value = rest.partition("=")
    return _taint(key, value, effect)


def _taint(key: str, value: str, effect: str) -> dict[str, str]:
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


def _is_refused(label: str) -> bool:
    domain = label.rpartition("/")[0]
    if not any(domain == each or domain.endswith(f".{each}") for each in _OWN_DOMAINS):
        return False
    if label in _ALLOWED_NAMES:
        return False
    return not any(domain == each or domain.endswith(f".{each}") for each in _ALLOWED_DOMAINS)
