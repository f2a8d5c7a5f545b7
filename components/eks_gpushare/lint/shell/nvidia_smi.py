"""`nvidia-smi mig -cgi`: MIG instances that somebody makes on a node by hand."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from eks_gpushare.catalog import gpu_instance_types
from eks_gpushare.catalog.mig import mig_model, mig_models
from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.mig_commands import CREATE
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.manifests.mig_devices import PROFILE, wrong_devices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.catalog.mig import MigModel
    from eks_gpushare.manifests.shell.command import Word
    from eks_gpushare.manifests.shell.said import Said


def mig_instances(words: Sequence[Word], said: Said) -> None:
    """Judge the instances that a command makes, where it names them by their profiles.

    Numbers of profiles mean others on each board, and the command may be for any.
    """
    if [word.text for word in words[1:2]] != ["mig"]:
        return
    for flag, word in pairwise(words):
        if flag.text not in CREATE:
            continue
        profiles = [
            profile.partition(":")[0] for profile in word.text.split(",")
        ]  # 1g.5gb:4 has a place
        if not all(named and not named[1] for named in map(PROFILE.fullmatch, profiles)):
            continue
        source = said.source("the command", word.position, {})
        apart = "Give each kind of GPU a command of its own, with -i."
        for found in wrong_devices(word.text, Counter(profiles), _boards(said), apart):
            said.judgements.append(Problem(found.rule, source, (), found.message, found.fix))


def _boards(said: Said) -> Sequence[MigModel]:
    """The boards of the node groups that the text makes, or any if it makes none with MIG."""
    types = {
        name
        for item in said.items
        if isinstance(item, NodeSet) and isinstance(item.instance_types, tuple)
        for name in item.instance_types
    }
    known = (gpu_instance_types().get(name) for name in sorted(types))
    found = [
        mig_model(instance_type.gpu)
        for instance_type in known
        if instance_type is not None and instance_type.gpu is not None
    ]
    return list(dict.fromkeys(model for model in found if model)) or list(mig_models().values())
