"""What Bottlerocket's NVIDIA settings can say, since which release, and what MIG makes of them.

Bottlerocket brings its own device plugin and MIG manager, both configured by
`settings.kubelet-device-plugins.nvidia`. A key that a release does not know makes it refuse the
user data, and the node does not join (bottlerocket-os/bottlerocket-core-kit pull request 914 shows
the refusal).
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_SETTINGS = "https://bottlerocket.dev/en/os/1.57.x/api/settings/kubelet-device-plugins/"
_REPOSITORIES = "https://github.com/bottlerocket-os"

Release = tuple[int, int, int]
"""A release of the operating system, such as (1, 65, 0)."""


class BottlerocketSetting(NamedTuple):
    """A setting, or a value of one, that not every release has.

    Attributes:
        name: as a message names it.
        since: first release that has it.
        source: where that was read.

    """

    name: str
    since: Release
    source: str


class MigGpu(NamedTuple):
    """A GPU that Bottlerocket's MIG manager knows.

    Attributes:
        key: what the settings call it, such as "a100.40gb".
        instances: the profiles that the manager knows for it, and how many of them it makes on
            each GPU. It takes any other profile for the last one, the whole GPU, in silence.
        later: profiles that only later releases know.

    """

    key: str
    instances: Mapping[str, int]
    later: Mapping[str, BottlerocketSetting]

    @property
    def whole(self) -> str:
        """The profile of the whole GPU."""
        return list(self.instances)[-1]


TIME_SLICING = BottlerocketSetting(
    'device-sharing-strategy = "time-slicing"',
    (1, 25, 0),
    f"{_REPOSITORIES}/bottlerocket/blob/develop/CHANGELOG.md#v1250-2024-10-15",
)
MIG = BottlerocketSetting('device-partitioning-strategy = "mig"', (1, 34, 0), _SETTINGS)
MPS = BottlerocketSetting('device-sharing-strategy = "mps"', (1, 54, 0), _SETTINGS)
SWITCH = BottlerocketSetting(
    "enabled",
    (1, 63, 0),
    "https://docs.aws.amazon.com/eks/latest/userguide/device-management-nvidia-time-slicing.html",
)
"""Switches the built-in device plugin off, and with it the MIG manager and the MPS daemon
(bottlerocket-core-kit, packages/nvidia-k8s-device-plugin, templates of 2026)."""

BOOTSTRAP_WITHOUT_SOURCE = BottlerocketSetting(
    "a bootstrap container without source",
    (1, 31, 0),
    f"{_REPOSITORIES}/bottlerocket/pull/4349",
)
"""One after it may have been the first to have an image for these: before, there was none."""

EFA: Release = (1, 28, 0)
"""First release with EFA: https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html (pull
request 939 of awsdocs/amazon-eks-user-guide, April 2025)."""
KUBERNETES_SINCE: Mapping[str, Release] = MappingProxyType(
    {
        "1.30": (1, 20, 0),
        "1.31": (1, 22, 0),
        "1.32": (1, 30, 0),
        "1.33": (1, 39, 0),
        "1.34": (1, 47, 0),
        "1.35": (1, 53, 0),
        "1.36": (1, 61, 0),
        "1.37": (1, 66, 0),
    }
)
"""First release with an nvidia image for a Kubernetes version: CHANGELOG.md and release notes of
bottlerocket-os/bottlerocket; read 2026-11-22."""
KUBERNETES_UNTIL: Mapping[str, Release] = MappingProxyType({"1.30": (1, 64, 0)})
"""First release without one any more: pull request 4880 for 1.30."""
KUBERNETES_SOURCE = f"{_REPOSITORIES}/bottlerocket/releases"
MPS_REACHABLE: Release = (1, 55, 0)
"""Before, SELinux kept containers from the MPS daemon (core kit 13.0.0, pull request 831)."""
MPS_FOR_ALL_USERS: Release = (1, 61, 0)
"""First release known to let pods that do not run as root use MPS (kernel kit 5.4.1, pull request
415); 1.60 may have it too."""

# Kernel kit 2.5.0 (pull request 136), "Add MIG profiles for NVIDIA A100 and B200 GPUs".
# Bottlerocket 1.39 has kernel kit 2.3, 1.40 has 2.5.1. Which of the two boards lacked it is not
# told, so both are held to it.
_FOUR_ON_A100 = BottlerocketSetting(
    "the A100 profile with four instances",
    (1, 40, 0),
    f"{_REPOSITORIES}/bottlerocket-kernel-kit/pull/136",
)


def _known(key: str, *profiles: str, later: str | None = None) -> MigGpu:
    """The manager's table for a board of seven compute slices."""
    instances = MappingProxyType(dict(zip(profiles, (7, 4, 3, 2, 1), strict=True)))
    return MigGpu(key, instances, {later: _FOUR_ON_A100} if later else {})


# bottlerocket-kernel-kit, sources/nvidia-migmanager/src/mig_profile.rs (2025 and 2026). The manager
# has no table for the A30: of the key and the profile it computes the same numbers.
_MIG_GPUS = {
    "A30-24GB": MigGpu("a30.24gb", MappingProxyType({"1g.6gb": 4, "2g.12gb": 2, "4g.24gb": 1}), {}),
    "A100-40GB": _known(
        *("a100.40gb", "1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "7g.40gb"), later="1g.10gb"
    ),
    "A100-80GB": _known(
        *("a100.80gb", "1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "7g.80gb"), later="1g.20gb"
    ),
    "H100-80GB": _known("h100.80gb", "1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "7g.80gb"),
    "H200-141GB": _known("h200.141gb", "1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "7g.141gb"),
}
_RELEASE = re.compile(r"([0-9]+)\.([0-9]+)\.([0-9]+)(-[0-9a-f]{8})?")
_DATE = re.compile(r"-20[2-9][0-9](0[1-9]|1[0-2])[0-3][0-9]$")


def bottlerocket_mig_gpu(model: str) -> MigGpu | None:
    """What the MIG manager does with a model of `catalog.mig`.

    None for a GPU that is not among those of its documentation: A30, A100, H100 and H200.
    """
    return _MIG_GPUS.get(model)


def bottlerocket_release(version: str) -> Release | None:
    """The release of an AMI version such as "1.65.0-0be31b34", None if it is none.

    A date in place of the commit is AL2023's: no commit of Bottlerocket's has looked like one.
    """
    matched = None if _DATE.search(version) else _RELEASE.fullmatch(version)
    return (int(matched[1]), int(matched[2]), int(matched[3])) if matched else None


def format_version(release: Release) -> str:
    """A release as its makers write it."""
    return ".".join(str(part) for part in release)
