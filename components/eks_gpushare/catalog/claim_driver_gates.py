"""Feature gates of NVIDIA's driver for claims, and what goes with them.

Source: `pkg/featuregates/featuregates.go` of kubernetes-sigs/dra-driver-nvidia-gpu at v25.8.0,
v25.12.0, v0.4.1 and its state of August 2026 for 0.5, and `docs/reference/feature-gates.md` of its
site; read 2026-11-30. The driver ends at a gate that it does not know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.catalog.chart_releases import is_before, parse_version

if TYPE_CHECKING:
    from collections.abc import Mapping

SINCE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("TimeSlicingSettings", "MPSSupport", "IMEXDaemonsWithDNSNames"), "25.8.0"),
    **dict.fromkeys(("PassthroughSupport", "NVMLDeviceHealthCheck", "DynamicMIG"), "25.12.0"),
    **dict.fromkeys(("ComputeDomainCliques", "CrashOnNVLinkFabricErrors"), "25.12.0"),
    "DeviceMetadata": "0.4.0",
    **dict.fromkeys(("FabricManagerPartitioning", "HostManagedIMEXDaemon"), "0.5.0"),
    **dict.fromkeys(("DRAListTypeAttributes", "ConsumableShares"), "0.5.0"),
}
"""The release that first has each; those before 0.4.0 are called by year and month."""
ON: Final = frozenset(
    ("IMEXDaemonsWithDNSNames", "ComputeDomainCliques", "CrashOnNVLinkFabricErrors")
)
"""Those that are on by default."""
EXCLUDES: Final = (
    ("DynamicMIG", "PassthroughSupport", "25.12.0"),
    ("DynamicMIG", "NVMLDeviceHealthCheck", "25.12.0"),
    ("DynamicMIG", "MPSSupport", "25.12.0"),
    ("PassthroughSupport", "NVMLDeviceHealthCheck", "0.4.0"),
)
"""Pairs of which one at most is on, each with the release since which it is so."""
FIRST: Final = "25.8.0"
"""The first release whose chart has gates."""
_BY_YEAR: Final = 25
"""The major version of releases that are called by year and month, after which came 0.4.0."""
NEEDS: Final = (
    ("DeviceMetadata", "PassthroughSupport"),
    ("ComputeDomainCliques", "IMEXDaemonsWithDNSNames"),
)
"""Gates, each with one without which it is not to be on."""


class OfKubernetes(NamedTuple):
    """What a gate of the driver needs of Kubernetes."""

    gate: str
    since: int
    """The minor version of Kubernetes 1 in which it is on by default; EKS switches on no other."""
    without: str
    """What happens where it is off."""


OF_KUBERNETES: Final[Mapping[str, OfKubernetes]] = {
    "DynamicMIG": OfKubernetes(
        "DRAPartitionableDevices",
        36,
        "the API server drops what the parts of a GPU have in common, and the scheduler gives out "
        "parts that overlap",
    ),
    "ConsumableShares": OfKubernetes(
        "DRAConsumableCapacity",
        36,
        "the API server drops the shares, and a GPU is given to one claim",
    ),
}
"""Measured for the first on Kubernetes 1.35.4 with the gate off: 16 parts of 3g.20gb and 56 of
1g.5gb at once on eight A100 of 40 GB."""


def came_before(version: object, since: str) -> bool:
    """Whether a release of the driver is sure to be older than another, by the order they came in.

    One before a release, such as `0.4.0-rc.1`, has its gates already.

    Args:
        version: That of its chart; of one that is none, such as a range, nothing is sure.
        since: The other's.
    """
    whole = str(version).partition("-")[0]
    exact = parse_version(whole)
    if exact is None:
        return False
    old, late = exact[0] >= _BY_YEAR, int(since.partition(".")[0]) >= _BY_YEAR
    return is_before(whole, since) if old == late else old
