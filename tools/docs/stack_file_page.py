"""The reference of the stack file, from its model."""

from __future__ import annotations

import re
import types
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from pydantic_core import PydanticUndefined

from eks_gpushare.catalog import versions
from eks_gpushare.config.base import Model
from eks_gpushare.config.environment import Environment
from eks_gpushare.config.models import models
from eks_gpushare.config.schema import field_descriptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

EXAMPLE = """\
# yaml-language-server: $schema=../docs/stack-file.schema.json
config:
  aws:region: us-west-2
  eks-gpushare:environment:
    cluster:
      name: gpusharing-demo
      version: "1.35"                                       # quoted: 1.30 would be 1.3
      endpoint: {public: true, publicCidrs: [203.0.113.0/24], private: true}
      admins: [arn:aws:iam::111122223333:role/Platform]     # EKS access entries
      deletionProtection: false
      # instead: existing: {name: my-cluster} or existing: {kubeconfig: path, context: name}
    network:                                                # or vpcId and privateSubnetIds
      cidr: 10.0.0.0/16
      zones: [us-west-2a, us-west-2b]                       # or a number
      natGateways: single
    system: {instanceTypes: [t3.large], nodes: {min: 2, desired: 2, max: 4}}
    gpuStack:
      manager: devicePlugin
    pools:
      gpu:                                                  # a name of your own
        provisioner: managedNodeGroup
        instanceTypes: [g5.12xlarge]
        nodes: {min: 1, desired: 1, max: 2}
        amiFamily: al2023
        amiVersion: 1.35.8-20260930
        zones: [us-west-2a, us-west-2b]
        capacityType: onDemand
        rootVolumeGiB: 200
        labels: {eks-node: gpu}
        taints: [{key: nvidia.com/gpu, value: "true", effect: NoSchedule}]
        sharing:
          mode: timeSlicing
          replicas: 4
    charts:
      devicePlugin: {version: PLUGIN, values: {}}
    tags: {team: ml-platform}
""".replace("PLUGIN", versions.DEVICE_PLUGIN.version)

_INTRODUCTION = """\
# Stack file

One file describes one environment: `stacks/Pulumi.<stack>.yaml`, below the key
`eks-gpushare:environment`. `eks-gpushare check FILE` reads it as the Pulumi engine does and says
everything that is wrong with it at once. Unknown keys are refused everywhere.

The first line names the [JSON Schema](stack-file.schema.json), with which an editor completes and
checks the file. `eks-gpushare schema --stack-file` prints it.

What holds without any key, such as logs, encrypted secrets and volumes, IMDSv2 and sign-in by
access entries, is in [security](security.md#always-on); what an edit of a key does to running nodes
in [upgrades](upgrades.md#what-an-edit-does).
"""

_ABBREVIATIONS = {
    "Gpu": "GPU",
    "gpu": "GPU",
    "Mps": "MPS",
    "Mig": "MIG",
    "mig": "MIG",
    "ami": "AMI",
}
_SCALARS = {str: "text", int: "whole number", float: "number", bool: "`true` or `false`"}


def page() -> str:
    """The page as Markdown."""
    parts = [_INTRODUCTION, f"```yaml\n{EXAMPLE}```\n"]
    parts += [_section(model) for model in models()]
    return "\n".join(parts)


def _section(model: type[BaseModel]) -> str:
    about = " ".join((model.__doc__ or "").split())
    rows = ["| key | type | default | meaning |", "|---|---|---|---|"]
    texts = field_descriptions(model)
    for name, info in model.model_fields.items():
        key = info.alias or name
        meaning, default = _split_default(texts[key])
        default = default or _default(info)
        rows.append(f"| `{key}` | {_type(info.annotation)} | {default} | {meaning} |")
    places = " and ".join(f"`{place}`" for place in _places()[model])
    where = f"{about} At {places}." if places else about
    return f"## {_title(model)}\n\n{where}\n\n" + "\n".join(rows) + "\n"


@cache
def _places() -> dict[type[BaseModel], list[str]]:
    """Where each block stands in an environment."""
    found: dict[type[BaseModel], list[str]] = {Environment: []}
    waiting: list[tuple[type[BaseModel], str]] = [(Environment, "")]
    while waiting:
        model, above = waiting.pop(0)
        for name, info in model.model_fields.items():
            for kind, step in _blocks(info.annotation, ""):
                place = f"{above}.{info.alias or name}{step}".removeprefix(".")
                found.setdefault(kind, []).append(place)
                waiting.append((kind, place))
    return found


def _blocks(annotation: Any, step: str) -> Iterator[tuple[type[Model], str]]:
    """Models within an annotation, and the step from its key to each."""
    if isinstance(annotation, type) and issubclass(annotation, Model):
        yield annotation, step
    more = {dict: ".<name>", tuple: "[n]"}.get(get_origin(annotation), "")
    for inner in get_args(annotation):
        yield from _blocks(inner, step + more)


def _title(model: type[BaseModel]) -> str:
    if model is Environment:
        return "eks-gpushare:environment"
    words = re.findall(r"[A-Z][a-z]*", model.__name__)
    text = " ".join([words[0], *(word.lower() for word in words[1:])])
    for plain, written in _ABBREVIATIONS.items():
        text = re.sub(rf"\b{plain}\b", written, text)
    return text


def _anchor(model: type[BaseModel]) -> str:
    return _title(model).lower().replace(" ", "-")


def _split_default(text: str) -> tuple[str, str]:
    """A description without its sentence on the default, and that sentence."""
    matched = re.search(r" ?Default: (.+?)\.(?= [A-Z]|$)", text)
    if matched is None:
        return _cell(text), ""
    return _cell(text.replace(matched[0], "").strip()), _cell(matched[1])


def _default(info: FieldInfo) -> str:  # noqa: PLR0911  (one line for each kind)
    if info.is_required():
        return "required"
    value = info.get_default(call_default_factory=True, validated_data={})
    if value is None or value is PydanticUndefined:
        return "none"
    if isinstance(value, Model):
        return "the defaults of its keys"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if value in ((), {}):
        return "empty"
    if isinstance(value, tuple):
        return f"`[{', '.join(str(item) for item in value)}]`"
    return f"`{value}`"


def _type(annotation: Any) -> str:  # noqa: PLR0911  (one line for each kind)
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(inner[0])
    if origin in {Union, types.UnionType}:
        kinds = [_type(kind) for kind in inner if kind is not type(None)]
        return " or ".join(dict.fromkeys(kinds))
    if origin is Literal:
        return (
            "one of " + ", ".join(f"`{value}`" for value in inner) if inner[1:] else f"`{inner[0]}`"
        )
    if origin is tuple:
        return f"list of {_type(inner[0])}"
    if origin is dict:
        return f"mapping of names to {_type(inner[1])}"
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return f"[{_title(annotation)}](#{_anchor(annotation)})"
    return _SCALARS.get(annotation, "anything")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
