"""Measure what tenants cost: python benchmarks/tenants.py [plan] [preview] [admission] [reclaim].

`plan` is the processor's time from contracts to documents, of a hundred tenants on twenty pools;
`preview` that of a whole preview with tenants by that of the same stack without; `admission` what
the policies add to a pod on the lab's own API server, of a thousand; `reclaim` how long 24 shares
that others have borrowed take to come back and run, by the real Kueue. Nothing here is a test.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from eks_gpushare.catalog import Catalog
from eks_gpushare.config.pools import Pool
from eks_gpushare.config.project import ENVIRONMENT_KEY
from eks_gpushare.config.tenants import Tenant
from eks_gpushare.sharing.kueue import (
    kueue_objects,
    manager_configuration,
    pool_shares,
    unguaranteed,
)
from eks_gpushare.sharing.plan import plan_pool
from eks_gpushare.sharing.tenant_objects import admission, guards
from eks_gpushare.sharing.tenant_queues import queues
from eks_gpushare.sharing.tenants import contracts, tenants_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).resolve().parents[1]
LIMITS = {"plan": 0.1, "preview": 1.3, "admission": 10.0, "reclaim": 10.0}
"""Seconds, a ratio, milliseconds for a pod, and seconds, which issue and documentation promise."""
_TENANTS, _POOLS, _PODS, _AGAIN = 100, 20, 1000, 5
_RECLAIMED = 3
_CREATED = 201


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print; 1 where a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", nargs="*", default=[*_WAYS], help="default: all")
    wanted = parser.parse_args(words).what
    if unknown := {*wanted} - {*_WAYS}:
        parser.error(f"there is no {', '.join(unknown)}; there is {', '.join(_WAYS)}")
    found = {what: round(_WAYS[what](), 4) for what in wanted}
    print(json.dumps({what: {"is": is_, "most": LIMITS[what]} for what, is_ in found.items()}))
    return int(any(is_ > LIMITS[what] for what, is_ in found.items()))


def plan() -> float:
    """Seconds of a processor, the least of some runs."""
    sharing = {"mode": "mig", "layout": "all-balanced"}
    kinds = {"instanceTypes": ["p4d.24xlarge"], "nodes": {"max": 8}, "sharing": sharing}
    plans = {
        f"p{n}": plan_pool(f"p{n}", Pool.model_validate(kinds), Catalog(), "us-east-1")
        for n in range(_POOLS)
    }
    given = {"guaranteed": {"sharesOf": {"mig-1g.5gb": 1}}, "maximum": {"gpuMemoryGiB": 20}}
    tenants = {
        f"t{n}": Tenant.model_validate(
            # Each on two of the pools, so that ten meet on each.
            {
                "namespaces": [f"team-{n}"],
                "queue": True,
                "pools": {f"p{n % _POOLS}": given, f"p{(n + 7) % _POOLS}": given},
            }
        )
        for n in range(_TENANTS)
    }

    def planned() -> None:
        every = contracts(tenants, plans)
        tenants_json(tenants, every, plans)
        for name, tenant in tenants.items():
            guards(tenant.namespaces[0], name, tenant, every, plans)
        admission(tenants, every, plans, "1.36")
        spec = queues(tenants, every, plans)
        if spec is not None:
            shares = pool_shares(spec.pools, spec.tenants)
            list(kueue_objects(shares, unguaranteed(spec.pools, shares)))

    return min(_seconds(planned) for _ in range(_AGAIN))


def _seconds(work: Callable[[], None]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def preview() -> float:
    """The processor's time with tenants by that without."""
    file = ROOT / "stacks" / "Pulumi.tenants.yaml"
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    with_tenants = _of_preview(document)
    del document["config"][ENVIRONMENT_KEY]["tenants"]
    return with_tenants / _of_preview(document)


def _of_preview(document: dict[str, Any]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "Pulumi.measured.yaml"
        file.write_text(yaml.safe_dump(document), encoding="utf-8")
        command = [sys.executable, "-m", "eks_gpushare", "preview", str(file), "--json"]
        return min(_of_process([*command, "--program", str(ROOT)]) for _ in range(_AGAIN))


def _of_process(command: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def admission_of_pods() -> float:
    """Milliseconds that the policies add to a pod, on a control plane of its own.

    By turns with and without, since what else goes on there and on the machine changes meanwhile.
    """
    _with_scenes()
    from tenant_scene import make, objects, pod, tenant_namespace
    from tests.lab.conftest import Client

    from eks_gpushare_lab.control_plane.control_plane import ControlPlane

    with ControlPlane() as up:
        call = Client(up.lab)
        make(call, objects((1, 35)))
        spaces = [tenant_namespace(call, "held", "a"), tenant_namespace(call, "free", None)]
        stranger = pod(gpu="nvidia.com/gpu")
        while call("POST", f"{spaces[0]}/pods?dryRun=All", stranger)["_code"] == _CREATED:
            time.sleep(0.1)  # until the policies are known
        took: dict[str, list[float]] = {space: [] for space in spaces}
        for space in spaces * _PODS:
            begun = time.monotonic()
            answer = call("POST", f"{space}/pods", pod())
            if answer["_code"] != _CREATED:
                raise SystemExit(str(answer))
            took[space].append(time.monotonic() - begun)
    held, free = (statistics.median(of) for of in took.values())
    return (held - free) * 1000


def reclaim_of_shares() -> float:
    """Seconds, the middle one of some runs: Kueue evicts, the scheduler binds, pods start."""
    _with_scenes()
    from queue_scene import RESEARCH, VISION, borrow, reclaim, scenes

    shares = [RESEARCH, VISION]
    took = []
    for _ in range(_RECLAIMED):
        with scenes() as make:
            here = make(kueue_objects(shares), manager_configuration(shares))
            borrow(here)
            took.append(reclaim(here))
    return statistics.median(took)


def _with_scenes() -> None:
    sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "lab" / "scenes")]


_WAYS = {
    "plan": plan,
    "preview": preview,
    "admission": admission_of_pods,
    "reclaim": reclaim_of_shares,
}

if __name__ == "__main__":
    sys.exit(main())
