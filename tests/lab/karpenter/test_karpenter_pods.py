"""How many pods a node with EFA takes, by the function that Karpenter itself counts with.

EKS_GPUSHARE_TEST_KARPENTER=1 runs this: it builds that function, which takes minutes at first.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import moto
import pytest

from eks_gpushare.catalog import Catalog, InstanceType, gpu_instance_types
from eks_gpushare.config.pools import Pool
from eks_gpushare.facts.shares import most_pods
from eks_gpushare.sharing.efa import taken_interfaces
from eks_gpushare.sharing.karpenter.node_class import network_interfaces
from eks_gpushare_lab.binaries import versions
from eks_gpushare_lab.binaries.go_build import BUILD_FLAGS
from eks_gpushare_lab.binaries.toolchain import find_go, go_environment

VARIABLE = "EKS_GPUSHARE_TEST_KARPENTER"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"{VARIABLE} is not set"),
]

PROGRAM = Path(__file__).with_name("eni_pods") / "main.go"
DESCRIPTIONS = Path(moto.__file__).parent / "ec2/resources/instance_types.json.gz"


def described() -> dict[str, dict[str, Any]]:
    """What EC2 says of the types with EFA that it still offers."""
    found: dict[str, Any] = json.loads(gzip.decompress(DESCRIPTIONS.read_bytes()))
    known = gpu_instance_types()
    return {
        name: found[name]["NetworkInfo"]
        for name in sorted(found.keys() & known.keys())
        if known[name].efa_interfaces
    }


def pool(name: str, *, efa: bool) -> Pool:
    given = {"instanceTypes": [name], "efa": efa, "sharing": {"mode": "exclusive"}}
    return Pool.model_validate({"provisioner": "karpenter", **given})


def counted(instance_type: InstanceType, *, efa: bool) -> int | None:
    taken = taken_interfaces(pool(instance_type.name, efa=efa), instance_type)
    return most_pods(instance_type, by_karpenter=True, taken_interfaces=taken)


def test_every_type_with_efa_takes_the_pods_that_karpenter_counts() -> None:
    types = {name: found for name in described() if (found := Catalog().find(name)) is not None}
    asked = {
        f"{name} {efa}": {
            "Network": described()[name],
            "Interfaces": network_interfaces(each) if efa else [],
        }
        for name, each in types.items()
        for efa in (False, True)
    }
    folder = versions.karpenter().folder
    go = find_go(versions.required_go(folder), print)
    done = subprocess.run(
        [go.path, "run", *BUILD_FLAGS, PROGRAM],
        cwd=folder,
        env=go_environment(),
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
        timeout=1800,
    )

    assert json.loads(done.stdout) == {
        f"{name} {efa}": counted(each, efa=efa)
        for name, each in types.items()
        for efa in (False, True)
    }
    assert len(types) > 30
