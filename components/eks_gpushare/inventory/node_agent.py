"""EKS's node monitoring agent as an add-on, whose configuration is the values of its chart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, text
from eks_gpushare.sharing.node_monitoring import AGENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.source import Source


def agents(source: Source, name: Any, configuration: Any, cluster: str = "") -> Iterator[Release]:
    """The agent, of which an add-on is the chart; nothing of another add-on.

    Args:
        source: The add-on.
        name: Its name.
        configuration: JSON or YAML, as EKS takes both.
        cluster: Where it is.
    """
    if name == AGENT:
        yield Release(
            source=source,
            name=AGENT,
            namespace="",  # it makes nothing there that others name
            chart=AGENT,
            values=_read(text(configuration)),
            cluster=cluster,
        )


def _read(given: Any) -> Any:
    if given in ("", UNKNOWN):
        return UNKNOWN if given else {}
    try:
        found = json.loads(given)
    except ValueError:
        import yaml

        try:
            found = yaml.safe_load(given)
        except yaml.YAMLError:
            return UNKNOWN
    return found if isinstance(found, dict) else {}


def engine_tolerations(agent: Release) -> Any:
    """What the agent's DCGM tolerates, which by itself is nothing."""
    return at(agent.values, "dcgmAgent", "tolerations") or []
