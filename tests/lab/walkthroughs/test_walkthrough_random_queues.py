"""Pods of two tenants come and go in random orders, and the real Kueue keeps their contracts."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.lab.walkthroughs.test_walkthrough_tenants import deployment, running

from eks_gpushare.lint.stack_side import read_stack, stack_file_of
from eks_gpushare.sharing.tenants import contracts, memory_gib
from eks_gpushare_lab.client import Client
from eks_gpushare_lab.control_plane.control_plane import ControlPlane
from eks_gpushare_lab.install.manifests import Manifest
from eks_gpushare_lab.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eks_gpushare.sharing.tenants import PoolContract
    from eks_gpushare_lab.install.desired_cluster import DesiredCluster

pytestmark = [pytest.mark.slow, pytest.mark.at_length]

Programs = Any
STEPS, SECONDS = 24, 30.0
MOST_ASKED = 20


def test_no_order_of_arrivals_breaks_a_contract(
    programs: Programs, lab_home: object, desired: Callable[[str], DesiredCluster]
) -> None:
    assert programs.paths
    assert lab_home
    draw = random.Random(1)  # noqa: S311  (an order, not a secret)
    stack = read_stack(stack_file_of("tenants"))
    assert stack.environment is not None
    every = contracts(stack.environment.tenants or {}, stack.plans)
    held = [contract for contract in every if contract.pool == "slices"]
    sizes = {name: memory_gib(stack.plans["slices"], name) or 0 for name in held[0].maximum}
    asked: dict[tuple[str, str], int] = {}
    with ControlPlane() as up:
        lab = up.lab
        client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)
        with Session(client, lab) as session:
            session.install(desired("tenants"))
            assert session.settle()
            for step in range(STEPS):
                contract = draw.choice(held)
                resource = draw.choice(sorted(contract.guaranteed))
                asked[contract.tenant, resource] = draw.randint(0, MOST_ASKED)
                wanted = deployment(contract.tenant, resource, asked[contract.tenant, resource])
                session.apply([Manifest(f"step {step}", wanted)])
                deadline = time.monotonic() + SECONDS
                while (wrong := broken(running(session), held, asked, sizes)) and (
                    time.monotonic() < deadline
                ):
                    time.sleep(0.2)

                assert wrong == [], (step, asked)


def broken(
    found: Mapping[str, int],
    held: list[PoolContract],
    asked: Mapping[tuple[str, str], int],
    sizes: Mapping[str, int],
) -> list[str]:
    """What is not as contracts say: above a maximum, or less than is sure and asked for."""
    wrong = []
    for contract in held:
        gib = 0
        for resource, sure in contract.guaranteed.items():
            name = f"{contract.tenant}/{resource.rpartition('/')[2].replace('.', '-')}"
            runs, wants = found.get(name, 0), asked.get((contract.tenant, resource), 0)
            gib += runs * sizes[resource]
            if runs > contract.maximum[resource] or runs < min(wants, sure):
                wrong.append(f"{name}: {runs} of {wants} run, {sure} are sure")
        if contract.maximum_gib is not None and gib > contract.maximum_gib:
            wrong.append(f"{contract.tenant} has {gib} of {contract.maximum_gib} GiB")
    return wrong
