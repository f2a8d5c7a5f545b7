"""Print what judging takes as JSON: policy_times.py PROGRAM STACK_FILE RESOURCES ROUNDS.

CPU seconds of the whole pack over that many resources of a stack, after everything is loaded.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median
from time import process_time

from eks_gpushare.program.policies.analyzer import judge
from eks_gpushare.program.policies.pack_files import bundled_pack
from eks_gpushare.program.policies.packs import load_pack
from eks_gpushare.program.preview import record
from eks_gpushare.stack_file.check import check_file
from eks_gpushare.stack_file.project import find_project


def main(program: str, file: str, resources: str, rounds: str) -> None:
    """Judge some rounds."""
    recording = record(find_project(Path(program)), check_file(file), "measured")
    recording.resources = recording.resources[: int(resources)]
    pack = load_pack(bundled_pack())
    times = []
    for _ in range(int(rounds) + 1):
        before = process_time()
        judge(pack.policies, recording, pack=pack.name, level=pack.level)
        times.append(process_time() - before)
    told = {"seconds": median(times[1:]), "rules": len(pack.policies)}
    print(json.dumps({**told, "resources": len(recording.resources)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
