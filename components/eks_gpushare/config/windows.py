"""Spans of time that come again, such as working hours."""

from pydantic import Field

from eks_gpushare.config.base import Model


class Window(Model):
    """A span of time that comes again, from when `start` falls to when `end` does."""

    start: str
    """When it begins, as five fields of cron: minute, hour, day of the month, month, day of the
    week (0 to 6 from Sunday, or by name)."""
    end: str
    """When it ends, likewise. Starts and ends take turns."""
    time_zone: str = "UTC"
    """Whose clock that is, by its name in the IANA database, such as `Europe/Berlin`."""


class ReplicaWindow(Window):
    """How many pods a workload has in a span of time."""

    replicas: int = Field(ge=1, le=10_000)
    """How many, all at once; where the number follows the use, so many at least. Where several
    windows are open, the greatest counts."""
