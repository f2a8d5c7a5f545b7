"""Rules about the machine image and the disk it is on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eks_gpushare.catalog import ami_release, eks_versions, nvidia_ami, standard_ami, support
from eks_gpushare.catalog.amis import NO_LDCONFIG, NO_LDCONFIG_SOURCE, release_date
from eks_gpushare.catalog.bottlerocket import bottlerocket_release
from eks_gpushare.catalog.resource_ids import is_id
from eks_gpushare.facts.index import rule_of
from eks_gpushare.facts.launches import ROOMY_GIB
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_AMI = "https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami.html"
_TEMPLATES = "https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html"

NO_AMI_ID = Rule(
    "GPU501",
    "error",
    "A custom AMI is named.",
    "Without an ID, EKS would take its own AMI, with another driver than the one meant.",
    _TEMPLATES,
)
IDLE_AMI_ID = Rule(
    "GPU502",
    "error",
    "A custom AMI is used.",
    "With another amiFamily the AMI given would be ignored.",
    _TEMPLATES,
)
AMI_SERVES = Rule(
    "GPU503",
    "error",
    "EKS has an NVIDIA AMI of the family for the instance type.",
    "The node group is refused, or its nodes come up without a GPU.",
    _AMI,
)
AMI_VERSION = Rule(
    "GPU504",
    "error",
    "An AMI version is a release of the cluster's Kubernetes version.",
    "EKS refuses the node group.",
    "https://docs.aws.amazon.com/eks/latest/userguide/eks-linux-ami-versions.html",
)
SMALL_DISK = Rule(
    "GPU505",
    "error",
    "The root volume holds the AMI.",
    "EC2 refuses a volume smaller than the AMI's snapshot.",
    _AMI,
)
CRAMPED_DISK = rule_of("GPU506")
NO_DRIVER = rule_of("GPU507")
LOST_LIBRARIES = Rule(
    "GPU641",
    "warning",
    "The AMI finds the libraries of its NVIDIA driver.",
    "Of some releases, what loads NVML fails on a new node until ldconfig has run.",
    NO_LDCONFIG_SOURCE,
)
FLOATING_AMI = rule_of("GPU508")

_LARGEST_GIB = 65536
"""Largest gp3 volume, as botocore 1.44.5 has it (EC2, EbsBlockDevice.VolumeSize; 16384 until
September 2025); read 2026-11-22."""
_RELEASE = re.compile(r"([0-9]+\.[0-9]+)\.[0-9]+-[0-9]{8}")
_BOTTLEROCKET, _AL2023 = "1.65.0-0be31b34", "1.35.8-20260930"
"""What releases look like, for messages."""


@check(Scope.POOL, NO_AMI_ID, IDLE_AMI_ID, NO_DRIVER, by_manager=True)
def custom_ami(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    at = ("pools", name, "customAmi")
    ami = pool.custom_ami
    if pool.ami_family != "custom":
        if ami is not None:
            message = f"amiFamily is {pool.ami_family}, so this AMI would not be used."
            yield IDLE_AMI_ID.finding(at, message, "Set amiFamily: custom, or remove customAmi.")
        return
    if ami is None:
        message = "amiFamily: custom needs the AMI."
        fix = "Add customAmi: {id: ami-..., family: al2023, driverIncluded: true}."
        yield NO_AMI_ID.finding(at, message, fix)
        return
    if not is_id("ami", ami.id):
        message = f'"{ami.id}" is not the ID of an AMI, ami- and 8 or 17 hexadecimal digits.'
        yield NO_AMI_ID.finding((*at, "id"), message, "Copy it from EC2, AMIs.")
    if not ami.driver_included and ctx.environment.gpu_stack.manager == "devicePlugin":
        yield NO_DRIVER.finding(
            (*at, "driverIncluded"),
            "The AMI has no NVIDIA driver, and the device plugin installs none.",
            "Use an AMI with the driver, or gpuStack: {manager: gpuOperator}.",
        )


@check(Scope.POOL, AMI_SERVES)
def ami_serves(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.ami_family == "custom" or pool.provisioner == "existing":
        return
    for index, wanted in enumerate(pool.instance_types):
        found = ctx.catalog.find(wanted)
        if found is None or found.gpu is None or found.retired:
            continue
        ami = nvidia_ami(pool.ami_family, found.arch)
        if ami is not None and ami.too_old(found, pool.ami_version):
            continue  # has a rule of its own
        why = "there is none" if ami is None else ami.why_not(found, pool.ami_version)
        if why is not None:
            yield AMI_SERVES.finding(
                ("pools", name, "instanceTypes", index),
                f"EKS has no {pool.ami_family} NVIDIA AMI for {wanted}: {why}.",
                "Use another amiFamily, or a custom AMI.",
            )


@check(Scope.POOL, LOST_LIBRARIES)
def lost_libraries(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    date = release_date(pool.ami_version)
    if date is None or pool.ami_family != "al2023" or pool.provisioner == "existing":
        return
    first, last = NO_LDCONFIG
    if first <= date <= last:
        yield LOST_LIBRARIES.finding(
            ("pools", name, "amiVersion"),
            f"Release {pool.ami_version} does not run ldconfig after it has put the driver's "
            f"libraries in place, as all from {spelt(first)} to {spelt(last)}.",
            f"Take a later release{newer_release(pool)}.",
        )


def spelt(date: str) -> str:
    """The date of a release as people write it."""
    return f"{date[:4]}-{date[4:6]}-{date[6:]}"


def newer_release(pool: Pool) -> str:
    """An example of a newer release of the same Kubernetes version, at the end of a sentence."""
    return _example("al2023", ".".join((pool.ami_version or "").split(".")[:2]))


@check(Scope.POOL, AMI_VERSION, FLOATING_AMI)
def ami_version(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    at = ("pools", name, "amiVersion")
    if pool.provisioner == "existing":
        return
    if pool.ami_version is None:
        if pool.ami_family != "custom":
            message = "No amiVersion is given, so the newest AMI at the time of creation is taken."
            version = ctx.new_cluster.version if ctx.new_cluster else "1.35"
            if pool.provisioner == "karpenter":
                message = (
                    "No amiVersion is given, so the image is the one that this release of "
                    "eks-gpushare knows as the newest; a later one exchanges the nodes."
                )
            fix = f"Pin amiVersion in production{_example(pool.ami_family, version)}."
            yield FLOATING_AMI.finding(at, message, fix)
        return
    if pool.ami_family == "custom":
        message = "A custom AMI has no release version of EKS."
        yield AMI_VERSION.finding(at, message, "Remove amiVersion.")
    elif pool.ami_family == "bottlerocket":
        if bottlerocket_release(pool.ami_version) is None:
            message = f'"{pool.ami_version}" is not a Bottlerocket release such as {_BOTTLEROCKET}.'
            fix = "Take one from the Bottlerocket releases."
            yield AMI_VERSION.finding(at, message, fix)
    else:
        yield from release_fits(ctx, at, pool.ami_version)


def _is_to_be_had(version: str, ctx: Context) -> bool:
    """Whether images are to follow a cluster's version, and not that be corrected first."""
    minor = re.fullmatch(r"1\.[0-9]{2}", version) is not None
    return minor and version >= min(eks_versions()) and support(version, ctx.today) != "ended"


def release_fits(ctx: Context, at: tuple[str, ...], release: str) -> Iterator[Finding]:
    """Findings on an AL2023 release version that the cluster cannot use."""
    matched = _RELEASE.fullmatch(release)
    if matched is None:
        message = f'"{release}" is not a release version such as {_AL2023}.'
        yield AMI_VERSION.finding(at, message, "Take one from the EKS AMI release list.")
        return
    version = ctx.new_cluster.version if ctx.new_cluster else None
    if version and matched[1] != version and _is_to_be_had(version, ctx):
        yield AMI_VERSION.finding(
            at,
            f"{release} is for Kubernetes {matched[1]}; the cluster has {version}.",
            f"Take a release of {version}{_example('al2023', version)}.",
        )


def _example(family: str, version: str) -> str:
    example = ami_release(family, version)
    return f", for example {example}" if example else ""


@check(Scope.SYSTEM_NODES, AMI_VERSION)
def system_ami(ctx: Context) -> Iterator[Finding]:
    """For the system nodes."""
    system = ctx.environment.system
    if system is not None and system.ami_version is not None:
        yield from release_fits(ctx, ("system", "amiVersion"), system.ami_version)


@check(Scope.POOL, SMALL_DISK, CRAMPED_DISK)
def disk(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    at, given = ("pools", name, "rootVolumeGiB"), pool.root_volume_gib
    if pool.provisioner == "existing":
        return
    family = pool.custom_ami.family if pool.custom_ami else pool.ami_family
    arch = next((t.arch for t, _ in ctx.gpu_types(pool)), "amd64")
    ami = nvidia_ami(family, arch)
    least = ami.own_disk_gib if ami else 1
    if not least <= given <= _LARGEST_GIB:
        yield _bad_size(at, given, least, ROOMY_GIB)
    elif given < ROOMY_GIB and pool.local_storage is None:  # else images are not on it
        yield CRAMPED_DISK.finding(
            at,
            f"{given} GiB are soon full of CUDA images, which take 5 to 20 GiB each.",
            f"Set {ROOMY_GIB} or more.",
        )


@check(Scope.SYSTEM_NODES, SMALL_DISK)
def system_disk(ctx: Context) -> Iterator[Finding]:
    """For the system nodes."""
    system = ctx.environment.system
    if system is None:
        return
    least = standard_ami("al2023", "amd64").own_disk_gib  # that of arm64 is as large
    if not least <= system.root_volume_gib <= _LARGEST_GIB:
        yield _bad_size(("system", "rootVolumeGiB"), system.root_volume_gib, least, least)


def _bad_size(at: FieldPath, given: int, least: int, good: int) -> Finding:
    return SMALL_DISK.finding(
        at,
        f"{given} GiB is not between the {least} GiB of the AMI and {_LARGEST_GIB} GiB.",
        f"Set {good} to {_LARGEST_GIB}.",
    )
