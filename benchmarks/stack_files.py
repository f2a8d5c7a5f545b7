"""Stack files of any number of pools."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_HEAD = """\
config:
  aws:region: us-west-2
  eks-gpushare:environment:
    cluster: {name: many-pools, version: "1.35"}
    network: {zones: [us-west-2a, us-west-2b]}
    pools:
"""
_POOL = """\
      pool-{number}:
        instanceTypes: [{instance_type}]
        nodes: {{min: 0, desired: 1, max: 3}}
        zones: [us-west-2a]
        labels: {{team: team-{number}}}
        sharing: {{mode: {mode}, replicas: {replicas}}}
"""
_INSTANCE_TYPES = ("g4dn.xlarge", "g5.xlarge", "g6.xlarge", "g6.12xlarge", "g4dn.12xlarge")


def write_stack_file(directory: Path, pools: int) -> Path:
    """Write a valid stack file, whose pools differ in GPU, labels and sharing.

    Args:
        directory: Where to.
        pools: How many pools it has.
    """
    file = directory / f"Pulumi.pools-{pools}.yaml"
    parts = [_pool(number) for number in range(pools)]
    file.write_text(_HEAD + "".join(parts), encoding="utf-8")
    return file


def _pool(number: int) -> str:
    return _POOL.format(
        number=number,
        instance_type=_INSTANCE_TYPES[number % len(_INSTANCE_TYPES)],
        mode="mps" if number % 3 == 0 else "timeSlicing",
        replicas=2 + number % 9,
    )
