"""What nodes take of EC2's quotas of vCPUs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from fronts import policy, told
from of_sharing import program_nodes
from question import Question

from eks_gpushare.facts.fact import Front
from eks_gpushare.facts.index import fact_of

if TYPE_CHECKING:
    from collections.abc import Collection
    from random import Random


class Groups(NamedTuple):
    """Groups of nodes of G types, all bought alike, and what the account has for them."""

    types: list[list[str]]
    most: list[int]
    is_spot: bool
    quota: int

    @property
    def code(self) -> str:
        """Of the quota."""
        return "L-3819A6DF" if self.is_spot else "L-DB2E81BA"


def _groups(random: Random) -> Groups:
    known = ("g4dn.xlarge", "g5.xlarge", "g5.12xlarge", "g6.2xlarge", "g6.48xlarge")
    count = random.choice((1, 1, 2, 3))
    types = [random.sample(known, random.choice((1, 1, 2))) for _ in range(count)]
    most = [random.randint(1, 8) for _ in types]
    return Groups(types, most, random.random() < 0.5, random.choice((4, 32, 64, 96, 200, 400, 900)))


def _of_stack(groups: Groups) -> Collection[str]:
    way = "spot" if groups.is_spot else "onDemand"
    pools: dict[str, Any] = {
        f"p{index}": {
            "instanceTypes": types,
            "nodes": {"max": most},
            "capacityType": way,
            "sharing": {"mode": "exclusive"},
        }
        for index, (types, most) in enumerate(zip(groups.types, groups.most, strict=True))
    }
    said = told({"pools": {"gpu": None, **pools}}).get("GPU801", "")
    found = re.search(rf"take (\d+) vCPUs of the quota .* \({groups.code}\)", said)
    assert found, said
    return {"GPU801"} if int(found[1]) > groups.quota else set()


def _of_program(groups: Groups) -> Collection[str]:
    made = [
        program_nodes(
            instanceTypes=types,
            capacityType="SPOT" if groups.is_spot else "ON_DEMAND",
            scalingConfig={"maxSize": float(most)},
        )
        for types, most in zip(groups.types, groups.most, strict=True)
    ]
    quota = {"quotas": {groups.code: float(groups.quota)}}
    return policy("vcpus-within-quota", *made, config=quota)


QUESTIONS = (
    Question(fact_of("GPU801"), _groups, {Front.STACK: _of_stack, Front.POLICY: _of_program}),
)
