"""How the nodes of foreign files share their GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import ConfigMap, NodeSet, Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.plain import items, mapping, whole
from eks_gpushare.manifests.rules.karpenter_pools import MIG_CONFIG
from eks_gpushare.manifests.texts import read_texts
from eks_gpushare.sharing.labels import CONFIG_LABEL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.lint.migration.moved import Moved

DEVICE_PLUGIN: Final = "nvidia-device-plugin"
GPU_OPERATOR: Final = "gpu-operator"
_LEAST: Final = 2


class Shares:
    """What the charts and ConfigMaps of an inventory make of nodes' GPUs."""

    def __init__(self, inventory: Inventory, moved: Moved) -> None:
        self._moved = moved
        self._maps = inventory.of(ConfigMap)
        self.release = next(
            (
                release
                for release in reversed(inventory.of(Release))
                if release.chart in {DEVICE_PLUGIN, GPU_OPERATOR}
            ),
            None,
        )
        """The chart that runs the device plugin; the last that is installed."""
        by_hand = [nodes for nodes in inventory.of(NodeSet) if nodes.provisioner == "byHand"]
        self._by_hand = [nodes for nodes in by_hand if MIG_CONFIG in _known(nodes.labels)]
        self._data, self._default = self._config()

    @property
    def manager(self) -> str | None:
        """Who runs the device plugin, as a stack file calls it."""
        if self.release is None:
            return None
        return "gpuOperator" if self.release.chart == GPU_OPERATOR else "devicePlugin"

    def of(self, nodes: NodeSet) -> dict[str, Any]:
        """The `sharing` of a pool."""
        labels = _known(nodes.labels)
        config = self._document(labels.get(CONFIG_LABEL))
        shared = _shared(config)
        layout = labels.get(MIG_CONFIG)
        if layout is None and self._by_hand and not labels.get(CONFIG_LABEL):
            hand = self._by_hand[-1]
            layout = _known(hand.labels)[MIG_CONFIG]
            why = "Taken over as the layout of the pools; the stack gives it to every node."
            self._moved.leave(hand.source, ("labels", MIG_CONFIG), f"the label {MIG_CONFIG}", why)
        if isinstance(layout, str) and layout != "all-disabled":
            made: dict[str, Any] = {"mode": "mig", "layout": layout}
            if (strategy := self._strategy(config)) is not None:
                made["strategy"] = strategy
            if shared and shared["mode"] == "timeSlicing":
                own = {key: shared[key] for key in ("replicas", "rename") if key in shared}
                made["timeSlicing"] = own
            return made
        return shared or {"mode": "exclusive"}

    def _config(self) -> tuple[Mapping[str, Any], str | None]:
        """The configurations by key, and which counts where no label says."""
        if self.release is not None:
            values = self.release.values
            block = at(values, "config")
            if self.release.chart == GPU_OPERATOR:
                block = at(values, "devicePlugin", "config")
            name, default = at(block, "name"), at(block, "default")
            inline = mapping(at(block, "map") or at(block, "data"))
            data: Mapping[str, Any] = inline
            if isinstance(name, str) and not inline:
                found = next(
                    (config_map for config_map in self._maps if config_map.name == name), None
                )
                data = mapping(found.data) if found is not None else {}
            if data or block is not None:
                return data, default if isinstance(default, str) and default else None
        told = [config_map for config_map in self._maps if _is_config(config_map)]
        if len(told) == 1:
            why = "No chart among the files names it; taken for the configuration of all pools."
            self._moved.leave(told[0].source, (), told[0].source.name, why)
            return mapping(told[0].data), None
        return {}, None

    def _document(self, key: Any) -> Any:
        """The configuration of a key, or the one that counts without."""
        if not isinstance(key, str):
            key = self._default
        if key is None and len(self._data) == 1:
            (key,) = self._data
        text = self._data.get(key) if key is not None else None
        return _parsed(text)

    def _strategy(self, config: Any) -> str | None:
        values = self.release.values if self.release is not None else {}
        told = (
            at(values, "mig", "strategy"),
            at(values, "migStrategy"),
            at(config, "flags", "migStrategy"),
        )
        return next((strategy for strategy in told if strategy in {"mixed", "single"}), None)


def _known(value: Any) -> dict[str, Any]:
    return mapping(value)


def _parsed(text: Any) -> Any:
    if isinstance(text, dict):
        return text
    if not isinstance(text, str):
        return None
    documents = read_texts(text, "").documents
    return documents[0].value if documents else None


def _is_config(found: ConfigMap) -> bool:
    return any(at(_parsed(text), "sharing") is not None for text in mapping(found.data).values())


def _shared(config: Any) -> dict[str, Any] | None:
    """The `sharing` that a configuration of the device plugin means."""
    for key in ("mps", "timeSlicing"):  # of both, MPS wins
        block = at(config, "sharing", key)
        for resource in items(at(block, "resources")):
            replicas = whole(at(resource, "replicas"))
            if not isinstance(replicas, int) or replicas < _LEAST:
                continue
            made: dict[str, Any] = {"mode": key, "replicas": replicas}
            made["rename"] = at(block, "renameByDefault") is True
            refuse = at(block, "failRequestsGreaterThanOne")
            made["failRequestsGreaterThanOne"] = refuse is True
            return made
    return None


def unknown_sharing(shares: Shares) -> bool:
    """Whether a chart is installed by values that are not among the files."""
    return shares.release is not None and shares.release.values is UNKNOWN
