"""EKS's own machine images: what they are called, ship with, and which instances they serve."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from eks_gpushare.catalog.instances import Arch, InstanceType

AmiFamily = Literal["al2023", "bottlerocket"]

_X86_FAMILIES = (
    *("g4dn", "g5", "g6", "g6e", "g6f", "g7e", "gr6", "gr6f"),
    *("p3", "p3dn", "p4d", "p4de", "p5", "p5e", "p5en", "p6-b200", "p6-b300"),
)

_DRIVER_STACK = ("driver", "container-toolkit", "fabric-manager", "persistenced", "imex", "nvlsm")

_AL2023_SOURCE = (
    "awslabs/amazon-eks-ami v20260714 (commit 81fec2e8) and awsdocs/amazon-eks-user-guide "
    "ml-eks-optimized-ami.adoc (commit 07d09a00)"
)
_BOTTLEROCKET_SOURCE = (
    "bottlerocket-os/bottlerocket-project-website 1.57.x (commit 61020964 of 2026-04-14) and "
    "awsdocs/amazon-eks-user-guide ml-eks-optimized-ami.adoc (commit 07d09a00)"
)
_TYPES_SOURCE = "EKS API, AMITypes, as botocore 1.44.5 has it"
_READ = "2026-11-21"


NODEADM_DROPINS_SINCE = "20251023"
"""Date of the first AL2023 release whose nodeadm reads /etc/eks/nodeadm.d: v20251023 is the first
tag of amazon-eks-ami with pull request 2427 (commit 0d558ec3 of 2025-10-20); read 2026-11-22."""

NO_LDCONFIG = ("20260917", "20260923")
"""Dates of the first and last AL2023 release that do not run ldconfig after they have put the
driver's libraries in place at boot: amazon-eks-ami issue 2834, fixed 2026-09-25."""

BEFORE_EKS = timedelta(days=30)
"""How long before EKS offers a Kubernetes version its first AL2023 image may be: 1.32.0-20241225
was 29 days ahead, that of other versions 9 to 17 (amazon-eks-ami, CHANGELOG.md; read 2026-11-22).
"""

NO_LDCONFIG_SOURCE = "https://github.com/awslabs/amazon-eks-ami/issues/2834"


class SecondDriver(NamedTuple):
    """A further NVIDIA driver on an image, which picks one at a node's first boot.

    Attributes:
        branch: such as 595.
        families: instance families that get it instead of the image's usual driver.
        since: date of the first image release that has it, as in a release version: YYYYMMDD.

    """

    branch: int
    families: tuple[str, ...]
    since: str


class Ami(NamedTuple):
    """One AMI type of EKS managed node groups.

    Attributes:
        family: "al2023" or "bottlerocket".
        arch: "amd64" or "arm64".
        type: the EKS API's `amiType`, such as "AL2023_x86_64_NVIDIA".
        driver: branch of the NVIDIA driver it ships, such as 580; None without one.
        second_drivers: what newer releases ship beside it.
        preinstalled: NVIDIA parts on the image: "driver", "container-toolkit", "device-plugin",
            "mig-manager" and so on. What is listed must not be installed a second time.
        own_disk_gib: size in GiB of the image's volume that holds container images; the disk
            of a node can't be smaller.
        root_device: device name of the root volume.
        data_device: device name of the volume with the container images; None where that is
            the root volume.
        families: instance families with NVIDIA GPUs that AWS says it serves.
        fips: whether its cryptography is a FIPS 140 validated build.
        source: where these facts were read.
        read: the date of reading, YYYY-MM-DD.

    """

    family: AmiFamily
    arch: Arch
    type: str
    driver: int | None
    preinstalled: tuple[str, ...]
    own_disk_gib: int
    root_device: str
    data_device: str | None
    families: tuple[str, ...]
    fips: bool
    source: str
    read: str
    second_drivers: tuple[SecondDriver, ...] = ()

    @property
    def disk_device(self) -> str:
        """The device that must be large enough for container images."""
        return self.data_device or self.root_device

    def driver_for(self, instance: InstanceType, release: str | None = None) -> int | None:
        """The driver branch that a node of `instance` runs, None without a driver.

        `release` is the node group's release version, such as "1.35.8-20260930". Without one,
        only what every release ships counts.
        """
        date = release_date(release)
        for second in self.second_drivers:
            if instance.family in second.families and date and date >= second.since:
                return second.branch
        return self.driver

    def too_old(self, instance: InstanceType, release: str | None = None) -> tuple[int, int] | None:
        """The driver branch that a node of `instance` runs, and the oldest one that knows it.

        None where the driver is new enough, or there is none. `release` is as in `driver_for`.
        """
        driver, oldest = self.driver_for(instance, release), instance.driver_min
        if driver is None or oldest is None or driver >= oldest:
            return None
        return driver, oldest

    def why_not(self, instance: InstanceType, release: str | None = None) -> str | None:
        """Why nodes of `instance` can't use this image, None if they can.

        `release` is as in `driver_for`. A family that no image here lists is judged by
        architecture and driver alone, so that a type which a stack file adds needs no entry in
        this table.
        """
        if instance.arch != self.arch:
            return f"the image is for {self.arch}, {instance.name} is {instance.arch}"
        if instance.gpu is None:
            return None
        driver = self.driver_for(instance, release)
        if driver is None:
            return "the image has no NVIDIA driver"
        return _wrong_driver(driver, instance) or self._not_listed(instance)

    def _not_listed(self, instance: InstanceType) -> str | None:
        served = {*self.families, *(f for more in self.second_drivers for f in more.families)}
        if instance.family in _listed_families() and instance.family not in served:
            return f"AWS does not list {instance.family} for {self.type}"
        return None


def release_date(release: str | None) -> str | None:
    """Date of an AL2023 release version such as "1.35.8-20260930", None if it has none."""
    date = release.rpartition("-")[2] if release else ""
    return date if date.isascii() and date.isdigit() else None


def nvidia_ami(family: str, arch: str, *, fips: bool = False) -> Ami | None:
    """EKS's image with the NVIDIA driver, None if there is none of that kind.

    `fips` asks for the FIPS build; AL2023 has none with the NVIDIA driver.
    """
    return _NVIDIA.get((family, arch, fips))


def standard_ami(family: str, arch: str, *, fips: bool = False) -> Ami:
    """EKS's image without GPU support.

    Raises:
        KeyError: there is no such image; AL2023 has no FIPS type.

    """
    return _STANDARD[family, arch, fips]


def ami_types() -> tuple[Ami, ...]:
    """Every image of the table."""
    return (*_NVIDIA.values(), *_STANDARD.values())


def _wrong_driver(driver: int, instance: InstanceType) -> str | None:
    oldest, newest = instance.driver_min, instance.driver_max
    if oldest is not None and driver < oldest:
        needed = f"{oldest} or newer"
    elif newest is not None and driver > newest:
        needed = f"{newest} or older"
    else:
        return None
    return f"the image ships driver branch {driver}, {instance.name} needs {needed}"


def _al2023(arch: Arch, kind: str, families: tuple[str, ...]) -> Ami:
    nvidia = kind == "NVIDIA"
    return Ami(
        family="al2023",
        arch=arch,
        type=f"AL2023_{_api_arch(arch)}_{kind}",
        driver=580 if nvidia else None,
        preinstalled=(*_DRIVER_STACK, "gdrcopy", "efa") if nvidia else (),
        # awslabs/amazon-eks-ami, templates/al2023/variables-default.json (81fec2e8):
        # launch_block_device_mappings_volume_size.
        own_disk_gib=20,
        root_device="/dev/xvda",
        data_device=None,
        families=families,
        fips=False,
        source=_AL2023_SOURCE if nvidia else _TYPES_SOURCE,
        read=_READ,
        second_drivers=_AL2023_SECOND if nvidia and arch == "amd64" else (),
    )


def _bottlerocket(arch: Arch, kind: str, families: tuple[str, ...]) -> Ami:
    nvidia = "NVIDIA" in kind
    name = f"BOTTLEROCKET_{_api_arch(arch)}"
    return Ami(
        family="bottlerocket",
        arch=arch,
        type=f"{name}_{kind}" if kind else name,
        driver=580 if nvidia else None,
        preinstalled=(*_DRIVER_STACK, "device-plugin", "mig-manager", "efa") if nvidia else (),
        # bottlerocket-os/bottlerocket issue 4000: 2 GiB for the OS and 20 GiB for the data.
        own_disk_gib=20,
        root_device="/dev/xvda",
        data_device="/dev/xvdb",
        families=families,
        fips=kind.endswith("FIPS"),
        source=_BOTTLEROCKET_SOURCE if nvidia else _TYPES_SOURCE,
        read=_READ,
    )


def _api_arch(arch: Arch) -> str:
    return "x86_64" if arch == "amd64" else "ARM_64"


def _by_key(*amis: Ami) -> dict[tuple[str, str, bool], Ami]:
    return {(ami.family, ami.arch, ami.fips): ami for ami in amis}


# AWS on awslabs/amazon-eks-ami issue 2768, 2026-09-21: from v20260917 on the image holds two
# drivers and takes the right one for the instance type. Bottlerocket still has 580 alone.
_AL2023_SECOND = (SecondDriver(branch=595, families=("g7",), since="20260917"),)

_NVIDIA = _by_key(
    _al2023("amd64", "NVIDIA", _X86_FAMILIES),
    _al2023("arm64", "NVIDIA", ("g5g", "p6e-gb200", "p6e-gb300")),
    _bottlerocket("amd64", "NVIDIA", _X86_FAMILIES),
    _bottlerocket("arm64", "NVIDIA", ("g5g",)),
    _bottlerocket("amd64", "NVIDIA_FIPS", _X86_FAMILIES),
    _bottlerocket("arm64", "NVIDIA_FIPS", ("g5g",)),
)

_STANDARD = _by_key(
    _al2023("amd64", "STANDARD", ()),
    _al2023("arm64", "STANDARD", ()),
    _bottlerocket("amd64", "", ()),
    _bottlerocket("arm64", "", ()),
    _bottlerocket("amd64", "FIPS", ()),
    _bottlerocket("arm64", "FIPS", ()),
)


@cache
def _listed_families() -> frozenset[str]:
    return frozenset(family for ami in _NVIDIA.values() for family in ami.families)
