"""AMIs by the names under which AWS publishes them, and what each of them is.

AWS says in SSM parameters which AMI a release of EKS's or Bottlerocket's images is. An AMI of the
emulation is made when its parameter is asked for, so that every release can be named.

Source: https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html and
https://bottlerocket.dev/en/os/latest/install/quickstart/aws/amis/ (read 2026-11-22).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256

_EKS = re.compile(
    r"/aws/service/eks/optimized-ami/(?P<version>[0-9.]+)/amazon-linux-2023/"
    r"(?P<arch>x86_64|arm64)/(?P<variant>standard|nvidia|neuron)/(?P<name>[^/]+)/image_id"
)
_BOTTLEROCKET = re.compile(
    r"/aws/service/bottlerocket/aws-k8s-(?P<version>[0-9.]+?)(?P<nvidia>-nvidia)?/"
    r"(?P<arch>x86_64|arm64)/(?P<release>[^/]+)/image_id"
)
_DATE = re.compile(r"-v(?P<date>[0-9]{8})$")
_EKS_ARCHES = {"x86_64": "x86_64", "arm64": "ARM_64"}


@dataclass(frozen=True, slots=True)
class MachineImage:
    """An AMI as EKS's."""

    id: str
    """Its id."""
    name: str
    """Its name."""
    architecture: str
    """x86_64 or arm64."""
    ami_type: str
    """AMI type of EKS that it is, such as AL2023_x86_64_NVIDIA."""
    release: str = ""
    """Its release, such as 1.35.8-20260930; `""` for the recommended one."""


def image_at(parameter: str) -> MachineImage | None:
    """The AMI that a parameter of AWS names; None if AWS has no parameter of the kind."""
    found = _EKS.fullmatch(parameter)
    if found is not None:
        return _of_eks(found, parameter)
    found = _BOTTLEROCKET.fullmatch(parameter)
    if found is None:
        return None
    release = "" if found["release"] == "latest" else found["release"]
    variant = "_NVIDIA" if found["nvidia"] else ""
    kind = f"BOTTLEROCKET_{_EKS_ARCHES[found['arch']]}{variant}"
    name = (
        f"bottlerocket-aws-k8s-{found['version']}{found['nvidia'] or ''}-{found['arch']}-{release}"
    )
    return MachineImage(_id(parameter), name, found["arch"], kind, release)


def _of_eks(found: re.Match[str], parameter: str) -> MachineImage:
    variant = found["variant"].upper()
    kind = f"AL2023_{_EKS_ARCHES[found['arch']]}_{variant}"
    date = _DATE.search(found["name"])
    release = f"{found['version']}-{date['date']}" if date else ""
    return MachineImage(_id(parameter), found["name"], found["arch"], kind, release)


def _id(parameter: str) -> str:
    return f"ami-{sha256(parameter.encode()).hexdigest()[:17]}"
