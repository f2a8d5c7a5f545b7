"""The texts of a first project's files."""

from __future__ import annotations

import re
import shlex
import textwrap
from typing import TYPE_CHECKING, Final

from eks_gpushare.catalog import Catalog
from eks_gpushare.config.project import ENVIRONMENT_KEY, PROJECT
from eks_gpushare.scaffold.choices import kubernetes_version, zones_to_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date

    from eks_gpushare.scaffold.choices import Choices

SCHEMA_FILE = "stack-file.schema.json"
STACKS = "stacks"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./:@-]*(?<!:)")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "inf", "nan"}
_SHARED = {
    "exclusive": "one pod per GPU",
    "timeSlicing": "{replicas} pods on each GPU, which take turns; memory is not divided",
    "mps": "{replicas} pods on each GPU at once, with a memory limit for each",
    "mig": "each GPU is cut into isolated devices",
}

MAIN = '''\
"""The program of every stack: read the stack file, build what it declares, export its outputs."""

import pulumi

from eks_gpushare import GpuSharingEnvironment
from eks_gpushare.stack import load_stack

# The name starts those of all resources and is part of every stack's state.
environment = GpuSharingEnvironment("gpushare", load_stack())

for name, value in environment.exports().items():
    pulumi.export(name, value)
'''

GITIGNORE = """\
.venv/
.pulumi/
__pycache__/
kubeconfig*
manifests/
"""


def project_file(name: str) -> str:
    """`Pulumi.yaml`."""
    declared = """\
config:
  environment:
    type: object
    description: The GPU-sharing environment.
"""
    return f"""\
name: {scalar(name)}
description: GPU sharing on Amazon EKS from one stack file
runtime:
  name: python
  options:
    toolchain: pip
    virtualenv: .venv
stackConfigDir: {STACKS}
{declared if name == PROJECT else ""}"""


def requirements(version: str | None, wheels: str | None = None) -> str:
    """`requirements.txt`, from which `pulumi install` makes the virtual environment.

    Args:
        version: Of the package. Default: any.
        wheels: Folder that has it as wheels, where no index has it.
    """
    pin = f"=={version}" if version else ""
    where = f"--find-links {shlex.quote(wheels)}\n" if wheels else f"# {NOT_RELEASED}\n"
    return f"""\
# What the program runs with, and the SDK of the policy pack. `pulumi install` puts it into .venv.
{where if wheels or not RELEASED else ""}\
eks-gpushare[policy]{pin}
"""


RELEASED: Final = False
"""Whether the changelog has a release, which is on PyPI then."""

NOT_RELEASED: Final = (
    "No release is on PyPI yet: build wheels from a clone, and name their folder: --find-links DIR."
)
"""How to do without a release."""


def stack_file(choices: Choices, today: date) -> str:
    """The stack file.

    Args:
        choices: Complete choices.
        today: For the version of Kubernetes.
    """
    lines = [
        f"# yaml-language-server: $schema=../{SCHEMA_FILE}",
        *_comment(_headline(choices)),
        *_comment("The file named above lets editors complete and explain every key."),
        "config:",
        *([f"  aws:region: {scalar(choices.region)}"] if choices.region else []),
        f"  {ENVIRONMENT_KEY}:",
        *_indented(_environment(choices, today), 4),
    ]
    return "\n".join(lines) + "\n"


def _headline(choices: Choices) -> str:
    found = Catalog().find(choices.instance_type or "")
    gpus = f" ({found.gpu_count} x {found.gpu.model})" if found and found.gpu else ""
    shared = _SHARED[choices.mode].format(replicas=choices.replicas)
    if choices.mode == "mig" and choices.replicas is not None:
        shared += f", each for {choices.replicas} pods that take turns"
    return f"{choices.instance_type}{gpus}: {shared}."


def _environment(choices: Choices, today: date) -> Iterator[str]:
    version, release = kubernetes_version(today)
    zones = zones_to_name(choices) if choices.new else None
    yield "cluster:"
    if choices.new:
        yield from _indented(_new_cluster(choices, version), 2)
        listed = flow(zones[0]) if zones else "2"
        yield f"network: {{zones: {listed}, natGateways: single}}"
        yield "# Nodes for everything that needs no GPU."
        yield "system: {instanceTypes: [t3.large], nodes: {min: 2, desired: 2, max: 4}}"
    else:
        yield from _indented(_existing_cluster(choices), 2)
    yield f"gpuStack: {{manager: {choices.manager}}}"
    yield "pools:"
    yield "  gpu:"
    yield from _indented(_pool(choices, release, zones), 4)


def _new_cluster(choices: Choices, version: str) -> Iterator[str]:
    yield f"name: {scalar(cluster_name(choices))}"
    yield f'version: "{version}"'
    if choices.public_cidrs:
        yield "# Who may reach the Kubernetes API from outside the VPC; `pulumi up` has to."
        yield f"endpoint: {{public: true, publicCidrs: {flow(choices.public_cidrs)}}}"
    else:
        yield "# The Kubernetes API is reached from within the VPC only. `pulumi up` has to reach"
        yield "# it too: run it there, or name the network that you work from:"
        yield "# endpoint: {public: true, publicCidrs: [203.0.113.0/24]}"
    if choices.admins:
        yield f"admins: {flow(choices.admins)}"
    else:
        yield "# IAM roles that get cluster-admin, besides whoever runs the first `pulumi up`:"
        yield "# admins: [arn:aws:iam::111122223333:role/Platform]"
    yield "# EKS and Pulumi refuse to delete the cluster until this is false and deployed."
    yield "deletionProtection: true"


def _existing_cluster(choices: Choices) -> Iterator[str]:
    if choices.cluster is not None:
        yield f"existing: {{name: {scalar(choices.cluster)}}}"
        return
    context = f", context: {scalar(choices.context)}" if choices.context else ""
    yield f"existing: {{kubeconfig: {scalar(choices.kubeconfig or '')}{context}}}"


def _pool(
    choices: Choices, release: str | None, zones: tuple[tuple[str, ...], int] | None
) -> Iterator[str]:
    if choices.kubeconfig is not None:
        yield "# Nodes that are there already. They need the labels that `eks-gpushare preview`"
        yield "# names, and the taint nvidia.com/gpu=true:NoSchedule unless taints says otherwise."
        yield "provisioner: existing"
    yield f"instanceTypes: [{scalar(choices.instance_type or '')}]"
    yield "nodes: {min: 1, desired: 1, max: 2}"
    yield from _release(choices, release)
    if zones and zones[1] < len(zones[0]):
        yield "# EC2 offers the type in some zones of the region only. Which of your account's:"
        yield "# aws ec2 describe-instance-type-offerings --location-type availability-zone \\"
        yield f"#   --filters Name=instance-type,Values={choices.instance_type}"
        yield f"zones: {flow(zones[0][: zones[1]])}"
    if choices.cluster is not None:
        yield "# The subnets of the nodes. Without them: every private one of the cluster."
        example = "# subnetIds: [subnet-0aaaaaaaaaaaaaaaa, subnet-0bbbbbbbbbbbbbbbb]"
        yield f"subnetIds: {flow(choices.subnets)}" if choices.subnets else example
    yield f"sharing: {_sharing(choices)}"


def _release(choices: Choices, release: str | None) -> Iterator[str]:
    """The release of the image, which only somebody who knows the cluster's version can pin."""
    found = Catalog().find(choices.instance_type or "")
    if release is None:
        return
    if choices.new:
        yield "# The image release; pinned, so that nodes change when you say so."
        yield f"amiVersion: {release}"
    elif found is not None and found.driver_min is not None:
        yield f"# {found.name} needs the driver of this image release or a later one. Write it with"
        yield "# the Kubernetes version of your cluster."
        yield f"amiVersion: {release}"


def _sharing(choices: Choices) -> str:
    # Without a boot of their own, nodes get their layout from the MIG manager.
    more = ", apply: migManager" if choices.mode == "mig" and choices.kubeconfig else ""
    of_devices = choices.mode == "mig" and choices.replicas is not None
    if choices.replicas is not None and not of_devices:
        more += f", replicas: {choices.replicas}"
    if isinstance(choices.layout, dict):
        devices = ", ".join(f"{name}: {count}" for name, count in choices.layout.items())
        more += f", layout: {{{devices}}}"
    elif choices.layout is not None:
        more += f", layout: {scalar(choices.layout)}"
    if of_devices:
        more += f", timeSlicing: {{replicas: {choices.replicas}}}"
    return f"{{mode: {choices.mode}{more}}}"


def cluster_name(choices: Choices) -> str:
    """Name of a new cluster. EKS takes letters, digits, hyphens and underscores."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", f"{choices.name}-{choices.stack}")[:100]


def scalar(text: str) -> str:
    """A text as YAML has it, quoted where it could be something else."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def flow(items: Iterable[str]) -> str:
    """A list as YAML has it on one line."""
    return f"[{', '.join(_item(item) for item in items)}]"


def _item(text: str) -> str:
    """A CIDR begins with a digit and is text all the same."""
    return text if re.fullmatch(r"[0-9.]+/[0-9]+", text) else scalar(text)


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text, 96)]


def _indented(lines: Iterable[str], by: int) -> Iterator[str]:
    return (f"{' ' * by}{line}" for line in lines)
