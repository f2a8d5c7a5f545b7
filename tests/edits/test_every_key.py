"""Every key of the schema, edited: what `--before` says against what providers and Karpenter do.

Here some keys, from what the program registers, with what AWS's schemas say of replacements and
Karpenter has said of drift; at night all of them (EKS_GPUSHARE_TEST_EVERY_KEY=1) in every stack
(EKS_GPUSHARE_TEST_AT_LENGTH=1), Karpenter's functions asked anew (EKS_GPUSHARE_TEST_KARPENTER=1),
and by the engine (tests/engine/test_engine_every_key.py).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.edits import truth
from tests.edits.holding import TABLE, held_of, hold, table
from tests.edits.trial import KEYS, asked, schema_keys, stacks, trials

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.edits.karpenter import Karpenter

EDITED = [key for key in schema_keys() if "none" not in asked(key)]
EVERY = bool(os.environ.get("EKS_GPUSHARE_TEST_EVERY_KEY"))
"""Whether all are tried, which takes minutes; else some of them."""
_OF_GPU = ("model", "memoryMiB", "computeCapability", "mig")
_CHECKED = "what is checked and planned with it, of which nothing is registered"
_NOT_THERE = "no stack that is tried has it installed"
NOTHING = {
    "network.vpcId": "names of a network that is there are told to EKS through its subnets",
    "pools.*.reservation.instances": "it is money alone (tests/components/test_costs_add_up.py)",
    "workloads.*.share": "a pool of the stacks has one share to ask for",
    "charts.gpuOperator.values": "the value that is tried is another chart's",
    "charts.kueue.values": "the value that is tried is another chart's",
    "charts.clusterAutoscaler.version": _NOT_THERE,
    "charts.clusterAutoscaler.values": _NOT_THERE,
    **{
        f"charts.efaDevicePlugin{key}": _NOT_THERE
        for key in ("", ".version", ".repository", ".path", ".values", ".timeoutSeconds")
    },
    **{
        f"catalog{key}": _CHECKED
        for key in (
            *("", ".instanceTypes.*.vcpus", ".instanceTypes.*.memoryMiB"),
            *(".instanceTypes.*.maxPods", ".instanceTypes.*.zoneIds"),
            ".instanceTypes.*.spotUsdPerHour",
            *(f".instanceTypes.*.gpu.{each}" for each in _OF_GPU),
        )
    },
}
"""Keys whose edit by itself registers nothing else, and why."""


def test_every_key_has_an_edit_or_a_reason() -> None:
    there = set(schema_keys())
    unknown = {key for key in KEYS if key not in there and not key.startswith("charts.*")}

    assert len(there) > 250
    assert not unknown
    assert [key for key in there if not asked(key).get("to") and not asked(key).get("none")] == []


def test_every_key_stands_in_the_table() -> None:
    """The engine is asked of what stands there."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()[1:-1]
    there = list(dict.fromkeys(line.partition(" | ")[0] for line in lines))

    assert there == [key for key in schema_keys() if key not in NOTHING]


@pytest.mark.parametrize("key", EDITED if EVERY else EDITED[::120])
def test_nothing_that_goes_is_silent_and_nothing_that_stays_is_told_to_go(
    key: str, karpenter: Karpenter
) -> None:
    held = [each for _, each in held_of(key, karpenter)]

    assert bool(held) is (key not in NOTHING)
    assert [each.silent for each in held if each.silent] == []
    assert [each.false for each in held if each.false] == []


@pytest.mark.parametrize("key", ["name", "kubeconfig", "context"])
def test_another_cluster_of_others_takes_everything_along(key: str, karpenter: Karpenter) -> None:
    """The engine replaces whatever a provider of Kubernetes manages that is replaced itself."""
    for _, held in held_of(f"cluster.existing.{key}", karpenter):
        assert ("gpushare", "replace") in held.said
        assert any(" gpushare-" in fact and ": replace" in fact for fact in held.facts)


@pytest.mark.at_length
@pytest.mark.parametrize("stack", stacks())
def test_it_holds_for_every_edit_of_every_stack(stack: str, karpenter: Karpenter) -> None:
    wrong = {
        f"{trial.place}{' back' if back else ''}": (held.silent, held.false)
        for key in EDITED
        for trial in trials(key, stack)
        for back in (False, True)
        if (held := hold(trial, karpenter, back=back)).silent or held.false
    }

    assert wrong == {}


@pytest.mark.at_length
def test_the_engine_s_provider_replaces_what_aws_replaces() -> None:
    """What the echo provider of tests/engine does is what AWS says, for each type of the stacks."""
    from tests.engine.echo_provider import REPLACING

    differing = {
        token: sorted(theirs)
        for token, ours in REPLACING.items()
        if token.startswith("aws:")
        if (
            theirs := truth.create_only(token) & truth.registered(token)
            ^ {*ours} & truth.registered(token)
        )
    }

    assert differing == {}


@pytest.mark.skipif(not EVERY, reason="EKS_GPUSHARE_TEST_EVERY_KEY=1 tries every key")
def test_the_table_of_every_key(karpenter: Karpenter, golden: Callable[[str, str], None]) -> None:
    golden("edits_of_every_key.txt", table(karpenter))
