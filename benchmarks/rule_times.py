"""CPU time of the rules of a stack with 20 pools, and of Prometheus' tool over those of all stacks.

    python benchmarks/rule_times.py [--promtool PROGRAM]

What it printed in November 2026 stands in docs/benchmarks.md. It fails where a limit is exceeded.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from measure import run

from eks_gpushare.catalog import Catalog
from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.sharing.monitoring.groups import rule_groups, rules_document
from eks_gpushare.sharing.plan import plan_environment
from eks_gpushare.validation.parse import parse

ROOT = Path(__file__).resolve().parents[1]
POOLS = 20
MOST_OF_POOLS, MOST_OF_STACKS = 0.2, 2.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure what rules take.")
    parser.add_argument("--promtool", type=Path, help="Prometheus' tool")
    options = parser.parse_args()
    own = _of_pools()
    print(f"rules of {POOLS} pools: {own:.3f} s")
    theirs = 0.0
    if options.promtool is not None:
        theirs = _of_stacks(options.promtool)
        print(f"promtool over all stacks: {theirs:.2f} s")
    if own > MOST_OF_POOLS or theirs > MOST_OF_STACKS:
        raise SystemExit(1)


def _of_pools() -> float:
    pool = {
        "instanceTypes": ["g6.xlarge"],
        "nodes": {"min": 0, "desired": 1, "max": 2},
        "sharing": {"mode": "timeSlicing", "replicas": 4},
    }
    pools = {f"pool-{number}": pool for number in range(POOLS)}
    given = {"cluster": {"name": "many", "version": "1.35"}, "pools": pools}
    environment = parse(given).environment
    if environment is None:
        raise SystemExit("the stack of many pools is refused")
    began = time.process_time()
    groups = rule_groups(environment, plan_environment(environment, Catalog(), "us-west-2"))
    json.dumps(rules_document(groups))
    return time.process_time() - began


def _of_stacks(promtool: Path) -> float:
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for file in sorted((ROOT / "stacks").glob("*.yaml")):
            stack = read_stack(file)
            if stack.environment is None:
                continue
            document = rules_document(rule_groups(stack.environment, stack.plans))
            files.append(Path(folder) / f"{file.stem}.json")
            files[-1].write_text(json.dumps(document), encoding="utf-8")
        command = [str(promtool), "check", "rules", *map(str, files)]
        return run(command, cwd=ROOT).cpu


if __name__ == "__main__":
    main()
