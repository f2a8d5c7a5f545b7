"""Random contracts, and pods that come and go in random orders: the real Kueue holds to them.

What no Kueue is needed for, that the planner's numbers fit the pools and that isolation holds, is
asked of a thousand contracts in `tests/unit/test_random_contracts.py`.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml
from tests.lab.walkthroughs.test_walkthrough_tenants import deployment, running

from eks_gpushare.config.project import ENVIRONMENT_KEY
from eks_gpushare.lint.stack_side import read_stack, stack_file_of
from eks_gpushare.sharing.kueue import kueue_objects, pool_shares, unguaranteed
from eks_gpushare.sharing.tenant_queues import queues
from eks_gpushare.sharing.tenants import contracts, memory_gib
from eks_gpushare_lab.client import Client
from eks_gpushare_lab.control_plane.control_plane import ControlPlane
from eks_gpushare_lab.install.manifests import Manifest
from eks_gpushare_lab.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.sharing.tenants import PoolContract
    from eks_gpushare_lab.install.desired_cluster import DesiredCluster

pytestmark = [pytest.mark.slow, pytest.mark.at_length]

Programs = Any
POOL = "slices"
CONTRACTS, STEPS, SECONDS = 24, 3, 60.0
MOST_ASKED = 20
HAS = {"mig-1g.5gb": 16, "mig-2g.10gb": 8, "mig-3g.20gb": 8}
"""What eight GPUs of `all-balanced` are."""
GIB = {"mig-1g.5gb": 5, "mig-2g.10gb": 10, "mig-3g.20gb": 20}


class Held(NamedTuple):
    """Contracts that the control plane has, and the memory of a device of each kind."""

    contracts: Sequence[PoolContract]
    sizes: Mapping[str, int]
    """GiB by resource."""


def test_no_contract_is_broken_by_any_order_of_arrivals(
    programs: Programs,
    lab_home: object,
    desired: Callable[[str], DesiredCluster],
    tmp_path: Path,
) -> None:
    assert programs.paths
    assert lab_home
    draw = random.Random(1)  # noqa: S311  (an order, not a secret)
    drawn = random_stacks(draw, tmp_path)
    borrowed = 0
    with ControlPlane() as up:
        lab = up.lab
        client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)
        with Session(client, lab) as session:
            session.install(desired("tenants"))
            assert session.settle()
            for number in range(CONTRACTS):
                held = contracted(session, next(drawn))
                asked = {(c.tenant, name): 0 for c in held.contracts for name in c.guaranteed}
                for step in range(STEPS):
                    for key in draw.sample(sorted(asked), draw.randint(1, len(asked))):
                        ask(session, key, draw.randint(0, MOST_ASKED), asked)
                    wrong = within(lambda: broken(running(session), held, asked))  # noqa: B023

                    assert wrong == [], (number, step, asked, held.contracts)
                    borrowed += is_borrowed(running(session), held)
                for key in asked:
                    ask(session, key, 0, asked)
                left = within(lambda: [n for n, pods in running(session).items() if pods])
                assert left == [], number
    # Else nothing had to be given back, and no reclaim was tried.
    assert borrowed >= CONTRACTS // 2


def random_stacks(draw: random.Random, folder: Path) -> Iterator[Stack]:
    """The stack with other contracts, those that `check` takes."""
    document = yaml.safe_load(stack_file_of("tenants").read_text(encoding="utf-8"))
    tenants = document["config"][ENVIRONMENT_KEY]["tenants"]
    file = folder / "Pulumi.tenants.yaml"
    while True:
        mine = {kind: draw.randint(0, most) for kind, most in HAS.items()}
        yours = {kind: draw.randint(0, most - mine[kind]) for kind, most in HAS.items()}
        for name, sure in (("research", mine), ("vision", yours)):
            tenants[name]["pools"][POOL] = {"guaranteed": {"sharesOf": positive(sure)}}
        gib = sum(count * GIB[kind] for kind, count in mine.items())
        # Kueue counts memory for as long as one has a ceiling of it, and reads that at its start.
        tenants["research"]["pools"][POOL]["maximum"] = {"gpuMemoryGiB": draw.randint(gib, 320)}
        if draw.random() < 0.5:
            most = {kind: draw.randint(yours[kind], most) for kind, most in HAS.items()}
            tenants["vision"]["pools"][POOL]["maximum"] = {"sharesOf": positive(most)}
        for name in tenants:
            tenants[name]["priority"] = draw.choice(["low", "normal", "high"])
        file.write_text(yaml.safe_dump(document), encoding="utf-8")
        if not (stack := read_stack(file)).errors:
            yield stack


def positive(counts: Mapping[str, int]) -> dict[str, int]:
    return {kind: count for kind, count in counts.items() if count}


def contracted(session: Session, stack: Stack) -> Held:
    """The control plane with the queues of other contracts."""
    assert stack.environment is not None
    tenants = stack.environment.tenants or {}
    every = contracts(tenants, stack.plans)
    queued = queues(tenants, every, stack.plans, stack.environment.charts.kueue)
    assert queued is not None
    shares = pool_shares(queued.pools, queued.tenants)
    documents = kueue_objects(shares, unguaranteed(queued.pools, shares))
    session.apply([Manifest(f"queues {n}", each) for n, each in enumerate(documents)])
    held = [contract for contract in every if contract.pool == POOL]
    sizes = {name: memory_gib(stack.plans[POOL], name) or 0 for name in held[0].maximum}
    return Held(held, sizes)


def ask(
    session: Session, key: tuple[str, str], pods: int, asked: dict[tuple[str, str], int]
) -> None:
    asked[key] = pods
    session.apply([Manifest(f"asked of {key}", deployment(*key, pods))])


def within(wrong: Callable[[], list[str]]) -> list[str]:
    """What is still wrong after some patience; what is above a maximum must never be."""
    deadline = time.monotonic() + SECONDS
    while (found := wrong()) and time.monotonic() < deadline:
        assert not [each for each in found if "more than" in each], found
        time.sleep(0.2)
    return found


def deployed(contract: PoolContract, resource: str) -> str:
    return f"{contract.tenant}/{resource.rpartition('/')[2].replace('.', '-')}"


def broken(found: Mapping[str, int], held: Held, asked: Mapping[tuple[str, str], int]) -> list[str]:
    """What is not as contracts say: above a maximum, or less than is sure and asked for."""
    wrong = []
    for contract in held.contracts:
        runs = {name: found.get(deployed(contract, name), 0) for name in contract.guaranteed}
        gib = sum(count * held.sizes[name] for name, count in runs.items())
        most = contract.maximum_gib
        if most is not None and gib > most:
            wrong.append(f"{contract.tenant} has {gib} GiB, more than {most}")
        for name, sure in contract.guaranteed.items():
            called, wants = deployed(contract, name), asked[contract.tenant, name]
            if runs[name] > contract.maximum[name]:
                wrong.append(f"{called}: {runs[name]} run, more than {contract.maximum[name]}")
            # What a tenant borrows counts for its own ceiling, of any mix: it may fill that itself.
            has_room = most is None or gib + held.sizes[name] <= most
            if runs[name] < min(wants, sure) and has_room:
                wrong.append(f"{called}: {runs[name]} of {wants} run, {sure} are sure")
    return wrong


def is_borrowed(found: Mapping[str, int], held: Held) -> bool:
    """Whether somebody has more than it is sure of."""
    return any(
        found.get(deployed(contract, resource), 0) > sure
        for contract in held.contracts
        for resource, sure in contract.guaranteed.items()
    )
