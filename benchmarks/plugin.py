"""What the plugin costs: its start, and a hundred pools through it beside the same in Python.

    python benchmarks/plugin.py

In Python that is a program as the engine runs it, which registers by gRPC as the plugin does, and
`eks-gpushare preview`, which runs the program in its own process and asks nobody.
Processor time of the processes, not the time on the clock: other work on the machine says nothing.
Ends with 1 if a limit is passed.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "plugin" / "driver"))

START_SECONDS = 1.5
TIMES_PYTHON = 1.5
POOLS = 100
_POOL: dict[str, Any] = {
    "clusterName": "demo",
    "clusterSubnetIds": ["subnet-0a1b2c3d4e5f60718", "subnet-0a1b2c3d4e5f60719"],
    "instanceTypes": ["g6.2xlarge"],
    "nodes": {"min": 1, "max": 3},
    "sharing": {"mode": "timeSlicing", "replicas": 4},
}


def children() -> float:
    """Processor seconds of processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def plugin_seconds(pools: int) -> float:
    """Processor seconds of a plugin that answers for its schema and makes so many pools."""
    from plugin_driver import Deployment, Plugin

    before = children()
    deployment, plugin = Deployment(), Plugin()
    plugin.schema()
    for number in range(pools):
        name = f"pool-{number}"
        plugin.construct(deployment, "GpuPool", name, {**_POOL, "pool": name})
    plugin.close()
    deployment.close()
    return children() - before


_PROGRAM = """\
import asyncio
import json
import sys

import pulumi
from pulumi.runtime.stack import run_in_stack

import eks_gpushare

address, pools, pool = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
settings = pulumi.runtime.Settings(
    "program", "test", parallel=1, dry_run=True, monitor=address, engine=address
)
pulumi.runtime.configure(settings)
pulumi.runtime.set_all_config({"aws:region": "us-west-2"})


def program():
    for number in range(pools):
        name = f"pool-{number}"
        eks_gpushare.GpuPool(name, {**pool, "pool": name})


asyncio.run(run_in_stack(program))
"""


def python_seconds(pools: int) -> float:
    """Processor seconds of a Python program with so many pools, a process as the plugin is one."""
    from plugin_driver import Deployment

    from eks_gpushare.plugin.names import python_name

    before = children()
    deployment = Deployment()
    pool = json.dumps({python_name(key): value for key, value in _POOL.items()})
    command = [sys.executable, "-c", _PROGRAM, deployment.address, str(pools), pool]
    subprocess.run(command, check=True)
    made = [each for each in deployment.recording.resources if each.type.endswith(":GpuPool")]
    deployment.close()
    if len(made) != pools:
        raise RuntimeError(f"{len(made)} pools of {pools}")
    return children() - before


_PREVIEWED = """\
import gc
import json
import sys

from eks_gpushare.program.run import run_program

gc.disable()  # as the command does
pools, pool = int(sys.argv[1]), json.loads(sys.argv[2])


def program():
    import eks_gpushare

    for number in range(pools):
        name = f"pool-{number}"
        eks_gpushare.GpuPool(name, {**pool, "pool": name})


done = run_program(program, project="program", stack="test", config={"aws:region": "us-west-2"})
made = [each for each in done.resources if each.type.endswith(":GpuPool")]
sys.exit(done.error is not None or len(made) != pools)
"""


def preview_seconds(pools: int) -> float:
    """Processor seconds of a process that runs such a program within itself."""
    from eks_gpushare.plugin.names import python_name

    before = children()
    pool = json.dumps({python_name(key): value for key, value in _POOL.items()})
    subprocess.run([sys.executable, "-c", _PREVIEWED, str(pools), pool], check=True)
    return children() - before


def main() -> int:
    """Print the figures.

    Returns:
        Exit code: 1 if a limit is passed.
    """
    start = plugin_seconds(0)
    through = plugin_seconds(POOLS) - plugin_seconds(1)
    beside = {
        # One pool has loaded the SDKs.
        "a program of the engine's": python_seconds(POOLS) - python_seconds(1),
        "preview": preview_seconds(POOLS) - preview_seconds(1),
    }
    print(f"start to schema: {start:.2f} s CPU, limit {START_SECONDS} s")
    print(f"{POOLS} pools, less one: plugin {through:.2f} s")
    for name, alone in beside.items():
        print(f"  in Python, {name}: {alone:.2f} s, the plugin {through / alone:.2f} times")
    passed = any(through > TIMES_PYTHON * alone for alone in beside.values())
    return 1 if passed or start > START_SECONDS else 0


if __name__ == "__main__":
    sys.exit(main())
