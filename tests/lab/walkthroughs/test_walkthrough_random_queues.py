"""Random contracts over random layouts, pods in random orders: the real Kueue holds to them.

Many contracts side by side in one control plane, each with nodes, namespaces and a cohort of its
own: what one contract takes is nearly all waiting. `EKS_GPUSHARE_TEST_CONTRACTS` is how many, and
`EKS_GPUSHARE_TEST_SEED` chooses others. What no Kueue is needed for is asked of a thousand in
`tests/unit/test_random_contracts.py`.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from queue_scene import deployment, node, release
from tests.unit.test_random_contracts import Accepted, is_wrong, parsed, tenant

from eks_gpushare.facts.isolation import keeps_apart
from eks_gpushare.live.pods import RUNNING, state_of
from eks_gpushare.sharing.kueue import (
    COHORT,
    kueue_objects,
    manager_configuration,
    pool_shares,
    unguaranteed,
)
from eks_gpushare.sharing.tenants import memory_gib
from eks_gpushare.sharing.turns import turns_of
from eks_gpushare_lab.client import Client
from eks_gpushare_lab.control_plane.control_plane import ControlPlane
from eks_gpushare_lab.controllers.queueing import Queueing
from eks_gpushare_lab.observing.watches import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eks_gpushare.sharing.kueue import PoolShare
    from eks_gpushare.sharing.tenants import PoolContract
    from eks_gpushare_lab.client import Object

pytestmark = [pytest.mark.slow, pytest.mark.at_length]

Programs = Any
Seen = Counter[tuple[str, str]]
"""Pods that run, by namespace and resource."""
CONTRACTS = int(os.environ.get("EKS_GPUSHARE_TEST_CONTRACTS", "24"))
SEED = int(os.environ.get("EKS_GPUSHARE_TEST_SEED", "1"))
CONFIGURATIONS = 4
"""Of Kueue, with memory counted and not, with weights and without; each has its part of them."""
MOST = -(-CONTRACTS // CONFIGURATIONS)
AT_ONCE, STEPS, SECONDS = 16, 4, 240.0
GROUP = "/apis/kueue.x-k8s.io/v1beta2"
LAYOUTS: list[Any] = [
    "all-balanced",
    [{"gpus": [0], "devices": {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}}],
    [{"gpus": [0, 1, 2], "devices": {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}}],
    [{"gpus": [0], "devices": {"1g.5gb": 7}}, {"gpus": [1, 2], "devices": {"3g.20gb": 2}}],
    [{"gpus": [0, 1], "devices": {"2g.10gb": 3}}, {"gpus": [2], "devices": {"3g.20gb": 2}}],
]
"""Of few devices for most; GPUs that a layout leaves out stay whole."""


@pytest.mark.parametrize("seed", range(SEED, SEED + CONFIGURATIONS))
def test_no_contract_is_broken_by_any_order_of_arrivals(
    seed: int,
    programs: Programs,
    lab_home: object,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert programs.paths
    assert lab_home
    # Kueue reads at its start whether memory is counted and tenants have weights.
    has_ceilings, has_weights = seed % 2 == 0, seed // 2 % 2 == 0
    drawn = random_contracts(seed, has_ceilings=has_ceilings, has_weights=has_weights)
    with laid(drawn) as (client, watches):
        lanes = [Lane(client, watches, drawn[n::AT_ONCE], seed) for n in range(AT_ONCE)]
        going = [(lane, lane.life()) for lane in lanes]
        while going:
            seen = running(watches)
            for lane, _ in going:
                assert lane.above(seen) == [], lane.told()
            going = [(lane, life) for lane, life in going if next(life, None) is not None]
            time.sleep(0.1)
        ended = len(client.list("/api/v1/events", fieldSelector="reason=Preempted")[0])
    held, asked, borrowed = (sum(of) for of in zip(*(lane.counted for lane in lanes), strict=True))
    told = (
        f"seed {seed}: {held} contracts, {asked} orders, {borrowed} with loans, {ended} preempted"
    )
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        with capsys.disabled():
            reporter.write_line(f"\n{told}")
    assert held == MOST, told
    # Else nothing had to be given back, and no reclaim was tried.
    assert borrowed >= MOST // 4, told
    assert ended >= MOST // 4, told


def small_pool(draw: random.Random) -> dict[str, Any]:
    """A pool of few shares, so that they are scarce for few pods."""
    more = {"replicas": draw.randint(2, 8), "rename": draw.random() < 0.7}
    mig = {"mode": "mig", "layout": draw.choice(LAYOUTS)}
    sharing, kind = draw.choice(
        [
            ({"mode": "timeSlicing", **more}, "g6.xlarge"),
            ({"mode": "mps", **more}, "g6.xlarge"),
            ({"mode": "exclusive"}, "g6.12xlarge"),
            (mig, "p4d.24xlarge"),
            (mig, "p4d.24xlarge"),
            ({**mig, "timeSlicing": {**more, "replicas": 2}}, "p4d.24xlarge"),
        ]
    )
    nodes = {"min": 1, "desired": 1, "max": 1 if mig is sharing else draw.randint(1, 3)}
    return {"instanceTypes": [kind], "nodes": nodes, "sharing": sharing}


class Contract(NamedTuple):
    """What one environment promises, and what is laid of it."""

    number: int
    accepted: Accepted
    shares: Sequence[PoolShare]


def random_contracts(seed: int, *, has_ceilings: bool, has_weights: bool) -> list[Contract]:
    """Environments that `check` takes, of one configuration of Kueue."""
    found: list[Contract] = []
    draw = random.Random(seed)  # noqa: S311  (an example, not a secret)
    gib: dict[str, int | None] = {}
    while len(found) < MOST:
        number = len(found)
        pools = {f"p{n}-{number}": small_pool(draw) for n in range(draw.randint(1, 2))}
        tenants = {}
        for n in range(draw.randint(2, 4)):
            tenants[f"t{n}-{number}"] = tenant(draw, f"{n}-{number % AT_ONCE}", pools, 1.0, 0.8)
            if not has_weights:
                tenants[f"t{n}-{number}"]["priority"] = "normal"
        given = parsed(pools, tenants)
        if is_wrong(given):
            continue
        accepted = Accepted(given)
        assert accepted.queued is not None
        shares = pool_shares(accepted.queued.pools, accepted.queued.tenants)
        # One table of memory is for all, also for a name that turns divide no memory of.
        own = {name: share.gib.get(name) for share in shares for name in share.resources}
        is_of_it = any(share.maximum_gib is not None for share in shares) == has_ceilings
        if is_of_it and all(gib.get(name, size) == size for name, size in own.items()):
            gib |= own
            found.append(Contract(number, accepted, shares))
    return found


class Watches(NamedTuple):
    """Copies of what the API server has."""

    pods: Watch
    queues: Watch
    locals: Watch


@contextmanager
def laid(drawn: Sequence[Contract]) -> Iterator[tuple[Client, Watches]]:
    """A control plane with Kueue as it is configured for all of them, and their namespaces."""
    shares = [share for contract in drawn for share in contract.shares]
    # Many pods have many events: within the limit of other labs it does little but collect garbage.
    with ControlPlane(environment={"kube-apiserver": {"GOMEMLIMIT": "4GiB"}}) as up:
        lab = up.lab
        client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)
        queueing = Queueing(client, lab)
        for name in {name for share in shares for name in share.namespaces}:
            client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        queueing.start_for([], [release(manager_configuration(shares))])
        client.kinds()
        watches = Watches(
            Watch(client, "/api/v1/pods"),
            Watch(client, f"{GROUP}/clusterqueues"),
            Watch(client, f"{GROUP}/localqueues"),
        )
        for watch in watches:
            watch.start()
        yield client, watches
        for watch in watches:
            watch.stop()
        queueing.stop()
        client.close()


def running(watches: Watches) -> Seen:
    """Pods that run and do not end, at one moment.

    One that Kueue ends before it has started gives back its quota at once, and may start yet.
    """
    return Counter(
        (pod["metadata"]["namespace"], name)
        for pod in watches.pods.all()
        if state_of(pod) == RUNNING and "deletionTimestamp" not in pod["metadata"]
        for name in pod["spec"]["containers"][0]["resources"]["limits"]
    )


class Lane:
    """Contracts one after the other, beside those of other lanes."""

    def __init__(
        self, client: Client, watches: Watches, contracts: Sequence[Contract], seed: int
    ) -> None:
        self.client, self.watches, self.contracts, self.seed = client, watches, contracts, seed
        self.now: Contract | None = None
        self.asked: dict[tuple[str, str], int] = {}
        """Pods by namespace and resource."""
        self.counted = [0, 0, 0]
        """Contracts, orders of pods, and of these with something borrowed."""

    def life(self) -> Iterator[bool]:
        """Every contract, a piece at a time; what does not come about fails."""
        for contract in self.contracts:
            draw = random.Random(f"{self.seed}-{contract.number}")  # noqa: S311  (an order, no secret)
            made = self.lay(contract)
            yield from self.until(lambda: self.is_not_ready(contract))  # noqa: B023
            self.now = contract
            self.asked = {
                (self.space(each), name): 0
                for each in contract.accepted.every
                for name, most in each.maximum.items()
                if most
            }
            for _ in range(STEPS):
                for key in draw.sample(sorted(self.asked), draw.randint(1, len(self.asked))):
                    most = sum(self.most(key))
                    self.ask(key, draw.choice([0, draw.randint(0, most), most + 2, most + 2]))
                yield from self.until(self.wrong)
                self.counted[1] += 1
                self.counted[2] += self.is_lent()
            yield from self.clear(made)
            self.counted[0] += 1

    def until(self, wrong: Callable[[], list[str]]) -> Iterator[bool]:
        """Wait as long as something changes: where much else goes on, all of it takes minutes."""
        before, deadline = None, 0.0
        while found := wrong():
            if found != before:
                before, deadline = found, time.monotonic() + SECONDS
            assert time.monotonic() < deadline, (found, self.told())
            yield True

    def told(self) -> str:
        """Where it is, for a test that fails, with pods that end."""
        number = None if self.now is None else self.now.number
        spaces = {space for space, _ in self.asked}
        pods = [p for p in self.watches.pods.all() if p["metadata"]["namespace"] in spaces]
        ending = [p["metadata"]["name"] for p in pods if "deletionTimestamp" in p["metadata"]]
        return f"contract {number} of seed {self.seed}, asked {self.asked}, ending {ending}"

    def lay(self, contract: Contract) -> list[Object]:
        """Make nodes and queues."""
        made = [
            node(f"{pool}-{n}", plan.at(1), plan.node_selector)
            for pool, plan in contract.accepted.plans.items()
            for n in range(plan.pool.nodes.max or 0)
        ]
        for each in made:
            self.client.create(each)
        queued = contract.accepted.queued
        assert queued is not None
        documents = kueue_objects(contract.shares, unguaranteed(queued.pools, contract.shares))
        for each in documents:
            if each["kind"] == "Cohort":
                each["metadata"]["name"] += f"-{contract.number}"
            elif each["kind"] == "ClusterQueue":
                each["spec"]["cohortName"] = f"{COHORT}-{contract.number}"
            self.client.apply(each)
        return [*documents, *made]

    def is_not_ready(self, contract: Contract) -> list[str]:
        names = {share.tenant for share in contract.shares}
        spaces = {name for share in contract.shares for name in share.namespaces}
        active = {
            (queue["metadata"].get("namespace") or queue["metadata"]["name"])
            for queue in (*self.watches.queues.all(), *self.watches.locals.all())
            if any(c["status"] == "True" for c in queue.get("status", {}).get("conditions") or ())
        }
        return sorted((names | spaces) - active)

    def space(self, contract: PoolContract) -> str:
        assert self.now is not None
        (found,) = self.now.accepted.tenants[contract.tenant].namespaces
        return found

    def most(self, key: tuple[str, str]) -> list[int]:
        """What a tenant may have of a resource, of the one pool that has it for the tenant."""
        assert self.now is not None
        every = self.now.accepted.every
        return [c.maximum.get(key[1], 0) for c in every if self.space(c) == key[0]]

    def ask(self, key: tuple[str, str], pods: int) -> None:
        space, resource = key
        name = resource.rpartition("/")[2].replace(".", "-")
        self.asked[key] = pods
        self.client.apply(deployment(space, name, resource, pods))

    def above(self, seen: Seen) -> list[str]:
        """What nobody may have at any moment, nor whom a tenant meets."""
        if self.now is None:
            return []
        found = []
        there: dict[tuple[str, str], set[str]] = {}
        for contract in self.now.accepted.every:
            space, plan = self.space(contract), self.now.accepted.plans[contract.pool]
            own = {name: seen[space, name] for name in may_have(contract)}
            gib = sum(count * (memory_gib(plan, name) or 0) for name, count in own.items())
            if contract.maximum_gib is not None and gib > contract.maximum_gib:
                found.append(f"{space} has {gib} GiB, more than {contract.maximum_gib}")
            for name, count in own.items():
                if count > contract.maximum[name]:
                    found.append(f"{space}/{name}: {count} run, more than {contract.maximum[name]}")
                if count:
                    there.setdefault((contract.pool, name), set()).add(contract.tenant)
        for (pool, name), met in there.items():
            turns = turns_of(self.now.accepted.plans[pool].pool, name)
            found += [
                f"{one} meets {met} by {turns}"
                for one in met
                if len(met) > 1 and not keeps_apart(self.now.accepted.tenants[one].isolation, turns)
            ]
        return found

    def wrong(self) -> list[str]:
        """What is not yet as contracts say: less than is sure, or left idle though asked for."""
        assert self.now is not None
        accepted, seen = self.now.accepted, running(self.watches)
        found = []
        for contract in accepted.every:
            space, plan = self.space(contract), accepted.plans[contract.pool]
            sizes = {name: memory_gib(plan, name) or 0 for name in may_have(contract)}
            gib = sum(seen[space, name] * size for name, size in sizes.items())
            most_gib = contract.maximum_gib
            for name, most in may_have(contract).items():
                has, wants = seen[space, name], self.asked.get((space, name), 0)
                # What it borrows counts for its own ceiling, of any mix: it may fill that itself.
                has_room = most_gib is None or gib + sizes[name] <= most_gib
                if has > wants:
                    found.append(f"{space}/{name}: {has} run, {wants} are asked for")
                if has < min(wants, contract.guaranteed.get(name, 0)) and has_room:
                    found.append(f"{space}/{name}: {has} of {wants} run, less than is sure")
                total = plan.at(plan.pool.nodes.max or 0)[name]
                others = {self.space(c) for c in accepted.every if c.pool == contract.pool}
                idle = total - sum(seen[other, name] for other in others)
                if has < min(wants, most) and has_room and idle > 0:
                    found.append(f"{space}/{name}: {has} of {wants} run, {idle} are idle")
        return found

    def is_lent(self) -> bool:
        """Whether somebody has more than it is sure of."""
        assert self.now is not None
        seen = running(self.watches)
        return any(
            seen[self.space(contract), name] > contract.guaranteed.get(name, 0)
            for contract in self.now.accepted.every
            for name in may_have(contract)
        )

    def clear(self, made: Sequence[Object]) -> Iterator[bool]:
        """Take all away, pods first."""
        spaces = {space for space, _ in self.asked}
        self.now = None
        for space in spaces:
            self.client.request(
                "DELETE",
                f"/apis/apps/v1/namespaces/{space}/deployments",
                query={"propagationPolicy": "Background"},
            )
        yield from self.until(lambda: of(spaces, self.watches.pods))
        for each in reversed(made):
            self.client.delete(self.client.path_of(each))
        yield from self.until(lambda: of(spaces, self.watches.locals))


def may_have(contract: PoolContract) -> dict[str, int]:
    """What a tenant may have of a pool: of a name that it has elsewhere it may have none here."""
    return {name: most for name, most in contract.maximum.items() if most}


def of(spaces: set[str], watch: Watch) -> list[str]:
    """Objects that are still there."""
    metadata = (each["metadata"] for each in watch.all())
    return [each["name"] for each in metadata if each["namespace"] in spaces]
