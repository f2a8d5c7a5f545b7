"""Products of GPUs that pods and flavors select, against configurations that are called after them.

Where no nodes are declared, a key such as `a10-shared` that somebody gives to nodes tells what
becomes of the GPUs of that model. Others of it may be whole: who has both selects both.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.documents.device_plugin import (
    DocumentError,
    device_plugin_config,
    plugin_config_of,
)
from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.advertised import offers
from eks_gpushare.inventory.daemons import daemons
from eks_gpushare.inventory.items import NodeSet, Pointer, Release
from eks_gpushare.inventory.plugin_configs import configs_of
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.scheduling.admission import SHARED, selected_products
from eks_gpushare.manifests.rules.admission import SHARED_PRODUCT
from eks_gpushare.sharing.labels import CONFIG_LABEL, PRODUCT_LABEL
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.plugin_configs import Configs
    from eks_gpushare.inventory.problem import Judgement

_WORDS: Final = re.compile(r"[a-z0-9]+")
_MODEL: Final = re.compile(r"[a-z]{1,2}[0-9]{1,4}[a-z]?")
"""A model of a GPU as one word: t4, a10g, h100, l40s; NVIDIA's names have one each."""


class _Selected(NamedTuple):
    """A product that something selects."""

    item: Item
    place: FieldPath
    product: str


@edge(SHARED_PRODUCT)
def named_profiles(inventory: Inventory) -> Iterator[Judgement]:
    """Of one plugin, all of whose configurations and nodes' labels are known."""
    for cluster in inventory.clusters():
        found = list(_selected(inventory, cluster))
        configs = _configs(inventory, cluster) if found else None
        if configs is None or offers(inventory, cluster).every:
            continue  # of nodes that are declared it is told by what they have
        given = _given(inventory, cluster)
        products = {each.product for each in found}
        models = {_model_of(each) for each in products if not each.endswith(SHARED)} - {""}
        for each in found:
            if each.product.endswith(SHARED) or f"{each.product}{SHARED}" in products:
                continue
            model = _model_of(each.product)
            with_default = _with_default(given, configs, model, models - {model})
            if model and (key := _shared_by(configs, with_default, model)):
                yield _problem(each, key, configs)


def _selected(inventory: Inventory, cluster: str) -> Iterator[_Selected]:
    for workload, requests in gpu_workloads(inventory, cluster):
        if {each.resource for each in requests} == {GPU}:
            for place, product in selected_products(workload.spec):
                yield _Selected(workload, (*workload.spec_path, *place), product)
    for flavor in inventory.of(Pointer, cluster):
        product = at(flavor.spec, "nodeLabels", PRODUCT_LABEL)
        if flavor.kind == "ResourceFlavor" and isinstance(product, str):
            yield _Selected(flavor, ("spec", "nodeLabels", PRODUCT_LABEL), product)


def _configs(inventory: Inventory, cluster: str) -> Configs | None:
    plugins = [each for each in daemons(inventory, cluster) if each.role == "plugin"]
    if len(plugins) != 1 or not isinstance(plugins[0].item, Release):
        return None
    found = configs_of(inventory, plugins[0].item)
    if found is None or not found.is_there or has_unknown(found.documents):
        return None
    return found


def _given(inventory: Inventory, cluster: str) -> frozenset[str]:
    """Keys that nodes get by a label; none where not all are known, or a guide shows how."""
    nodes = inventory.of(NodeSet, cluster)
    keys = [at(each.labels, CONFIG_LABEL) for each in nodes]
    shown = any(
        is_guide(each.source.file) for each, key in zip(nodes, keys, strict=True) if key is not None
    )
    return frozenset() if shown or UNKNOWN in keys else frozenset(str(text(key)) for key in keys)


def _with_default(
    given: frozenset[str], configs: Configs, model: str, others: Collection[str]
) -> frozenset[str]:
    """With the key of nodes without a label, where those with one are not of the model.

    By their key they are of another, or where it names none, something selects such GPUs.
    """
    documents: Any = configs.documents
    keys = [_models(key) for key in given if key in documents]
    are_others = all(model not in each and (each or others) for each in keys)
    is_told = isinstance(configs.default, str) and keys and are_others
    return given | {str(configs.default)} if is_told else given


def _shared_by(configs: Configs, given: frozenset[str], model: str) -> str:
    """A key by which GPUs of a model are shared under their own name; empty if some are not."""
    documents: Any = configs.documents
    keys = [key for key in documents if model in _words(key)]
    if not all(_shares(documents[key]) for key in keys):
        return ""
    return next((key for key in keys if key in given), "")


def _model_of(product: str) -> str:
    """The one word of a product that is a model; empty where there is none, or several."""
    found = _models(product)
    return found[0] if len(found) == 1 else ""


def _models(name: str) -> list[str]:
    return [word for word in _words(name) if _MODEL.fullmatch(word)]


def _words(key: str) -> list[str]:
    return _WORDS.findall(key.lower())


def _shares(document: Any) -> bool:
    try:
        config = (
            device_plugin_config(document)
            if isinstance(document, str)
            else plugin_config_of(document)
        )
    except DocumentError:
        return False
    return not config.renamed and config.replicas.get(GPU, 1) > 1


def _problem(selected: _Selected, key: str, configs: Configs) -> Problem:
    return Problem(
        SHARED_PRODUCT,
        selected.item.source,
        selected.place,
        f"{at_start(selected.item.source.name)} is for nodes with {PRODUCT_LABEL} "
        f"{selected.product}, and the configuration {key} of {configs.release.source.name}, "
        "which nodes are given, shares GPUs under their own name.",
        f"Write {selected.product}{SHARED}, if these are the nodes that are meant.",
        "warning",
    )
