"""EKS's node monitoring agent, which an add-on installs with the values of its chart."""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare.inventory.node_agent import agents, engine_tolerations
from eks_gpushare.inventory.source import UNKNOWN, Source

ADD_ON = Source("the add-on")
TOLERATIONS = [{"operator": "Exists"}]
TOLERANT = {"dcgmAgent": {"tolerations": TOLERATIONS}}


@pytest.mark.parametrize(
    ("configuration", "values"),
    [
        ('{"dcgmAgent": {"tolerations": [{"operator": "Exists"}]}}', TOLERANT),
        ("dcgmAgent:\n  tolerations:\n    - operator: Exists\n", TOLERANT),
        ("", {}),
        (None, {}),
        ("null", {}),
        ("- a", {}),
        ("a: [", UNKNOWN),
        (UNKNOWN, UNKNOWN),
    ],
    ids=str,
)
def test_its_configuration_is_json_or_yaml(configuration: Any, values: Any) -> None:
    (agent,) = agents(ADD_ON, "eks-node-monitoring-agent", configuration, "demo")

    assert (agent.values, agent.chart, agent.cluster) == (
        values,
        "eks-node-monitoring-agent",
        "demo",
    )


def test_another_add_on_is_not_the_agent() -> None:
    assert list(agents(ADD_ON, "coredns", "{}")) == []


def test_its_engine_tolerates_what_is_given_and_nothing_by_itself() -> None:
    (tolerant,) = agents(ADD_ON, "eks-node-monitoring-agent", str(TOLERANT).replace("'", '"'))
    (bare,) = agents(ADD_ON, "eks-node-monitoring-agent", "{}")

    assert engine_tolerations(tolerant) == TOLERATIONS
    assert engine_tolerations(bare) == []
