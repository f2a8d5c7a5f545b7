"""What NVIDIA's programs run with: the device plugin's configuration file.

It is read by `eks_gpushare.documents.device_plugin`, as every check reads it, and what that makes
of a text is held against NVIDIA's own program.
"""

from __future__ import annotations

from dataclasses import dataclass

from eks_gpushare.documents.device_plugin import DocumentError, device_plugin_config


class ConfigFileError(Exception):
    """The plugin stops with this message, and its container restarts."""


@dataclass(frozen=True, slots=True)
class Replicated:
    """One entry of a sharing block."""

    name: str
    """Resource, with its prefix."""
    replicas: int
    """Shares of one device."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the plugin makes of a file."""

    mig_strategy: str = "none"
    """none, single or mixed."""
    strategy: str = "none"
    """none, time-slicing or mps, as the node label says it."""
    resources: tuple[Replicated, ...] = ()
    """What is shared."""
    renamed: bool = False
    """Whether shares are called `<name>.shared`."""
    fail_more_than_one: bool = False
    """Whether a container that asks for two shares is refused."""

    mps_root: str = ""
    """Where the file says that MPS keeps its files."""

    def replicas(self, resource: str) -> int:
        """Shares of one device of a resource; 1 where it is not shared.

        A resource that is listed twice gets the shares of both entries, and as they are numbered
        from 0, that is as many as the larger says.
        """
        return max(
            (replicated.replicas for replicated in self.resources if replicated.name == resource),
            default=1,
        )

    def replicas_in_labels(self, resource: str) -> int:
        """The same as feature discovery has it, which goes by the first entry."""
        return next(
            (replicated.replicas for replicated in self.resources if replicated.name == resource), 1
        )


def read(text: str, mig_strategy: str | None = None) -> Configuration:
    """Read a file.

    Args:
        text: its content; an empty one leaves the defaults.
        mig_strategy: the environment variable MIG_STRATEGY, which goes over the file.

    Raises:
        ConfigFileError: If the original would stop.
    """
    try:
        found = device_plugin_config(text, mig_strategy)
    except DocumentError as error:
        raise ConfigFileError(str(error)) from None
    return Configuration(
        found.mig_strategy,
        _STRATEGIES[found.sharing],
        tuple(Replicated(*entry) for entry in found.listed),
        found.renamed,
        found.refuses_several,
        found.mps_root,
    )


_STRATEGIES = {"none": "none", "timeSlicing": "time-slicing", "mps": "mps"}
