"""Run suites of the night: `make nightly`, or `make nightly SUITES="mutants keda"`.

    python tools/nightly/run_suites.py               all of them, one after another
    python tools/nightly/run_suites.py keda charts   some of them
    python tools/nightly/run_suites.py --list        what there is, and what each needs
    python tools/nightly/run_suites.py --matrix      their names and needs as JSON, for the workflow
    python tools/nightly/run_suites.py --charts DIR  the catalog's charts into a folder, by helm

A suite whose program or file is not here fails, and so does a test of it that skips itself.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from suites import NO_SKIP, SUITES

from eks_gpushare.catalog import versions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from suites import Suite

ROOT = Path(__file__).parents[2]


def main(words: Sequence[str]) -> int:
    """Run them; 1 if one fails or lacks something."""
    names = [suite.name for suite in SUITES]
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(names))
    parser.add_argument("--list", action="store_true", help="what there is, and what each needs")
    parser.add_argument("--matrix", action="store_true", help="the same as JSON")
    parser.add_argument("--charts", type=Path, metavar="DIR", help="fetch the charts by helm")
    options = parser.parse_args(words)
    unknown = sorted({*options.suites} - {*names})
    if unknown:
        parser.error(f"no suite {', '.join(unknown)}; there are {', '.join(names)}")
    chosen = [suite for suite in SUITES if not options.suites or suite.name in options.suites]
    if options.matrix:
        rows = [{"name": suite.name, "needs": [*suite.programs, *suite.places]} for suite in chosen]
        print(json.dumps({"include": rows}))
    elif options.list:
        for suite in chosen:
            needs = ", ".join((*suite.programs, *suite.places)) or "nothing more"
            print(f"{suite.name}: {suite.holds}\n    needs {needs}")
    elif options.charts:
        return fetch_charts(options.charts)
    else:
        return max([run(suite) for suite in chosen])
    return 0


def run(suite: Suite) -> int:
    """Run one; 1 if it lacks something or fails."""
    lacking = list(missing(suite))
    print(f"\n=== {suite.name}: {suite.holds}", flush=True)
    if lacking:
        print(f"=== {suite.name}: FAILED, not run: {'; '.join(lacking)}", file=sys.stderr)
        return 1
    environment = {**os.environ, **dict(each.split("=", 1) for each in suite.switches)}
    options = [NO_SKIP, *(["--may-skip", suite.may_skip] if suite.may_skip else [])]
    pytest = [] if suite.paths[0].startswith("benchmarks/") else ["-m", "pytest", "-q", *options]
    command = [sys.executable, *pytest, *suite.paths]
    failed = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode != 0
    print(f"=== {suite.name}: {'FAILED' if failed else 'passed'}", flush=True)
    return int(failed)


def missing(suite: Suite) -> Iterator[str]:
    """What it needs and is not here."""
    for program in suite.programs:
        if shutil.which(program) is None:
            yield f"no `{program}` on PATH"
    for name in suite.places:
        place = os.environ.get(name)
        if not place:
            yield f"{name} is not set"
        elif not Path(place).exists():
            yield f"{name} names {place}, which is not there"


def fetch_charts(folder: Path) -> int:
    """The charts that tests render, at the versions of the catalog, one below another's name."""
    for chart in vars(versions).values():
        if isinstance(chart, versions.HelmChart):
            at = [chart.repository] if chart.repository.startswith("oci://") else []
            named = at or [chart.name, "--repo", chart.repository]
            command = ["helm", "pull", *named, "--version", chart.version]
            done = subprocess.run([*command, "--untar", "--untardir", str(folder)], check=False)
            if done.returncode:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
