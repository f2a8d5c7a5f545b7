"""How many MIG layouts a second are checked: python benchmarks/mig_checks.py.

Random sets of instances on random GPU models, made before the clock runs; two in five of them fit.
Prints one JSON object: checks, CPU seconds, checks a second, and how many of the sets fit.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from typing import TYPE_CHECKING

from eks_gpushare.catalog import mig_models
from eks_gpushare.sharing.mig.geometry import fits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.catalog import MigModel

_SEED = 20261121
_MOST_PROFILES = 4


def random_sets(number: int, seed: int = _SEED) -> list[tuple[MigModel, dict[str, int]]]:
    """Sets of up to four profiles with counts from 1 to one more than the GPU allows.

    Args:
        number: How many.
        seed: The same seed gives the same sets.
    """
    chance = random.Random(seed)  # noqa: S311  (no secret)
    models = list(mig_models().values())
    names = {model.name: list(model.profiles) for model in models}
    sets = []
    for _ in range(number):
        model = chance.choice(models)
        kinds = chance.randint(1, min(_MOST_PROFILES, len(names[model.name])))
        chosen = chance.sample(names[model.name], kinds)
        sets.append((model, {n: chance.randint(1, _most(model, n, kinds)) for n in chosen}))
    return sets


def _most(model: MigModel, name: str, kinds: int) -> int:
    """One more than fits of a profile alone, less where there are others, so that some fit."""
    return max(1, (model.profiles[name].max_count + 1) // kinds)


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print.

    Args:
        words: Command-line arguments. Default: those of this process.
    """
    parser = argparse.ArgumentParser(description="Measure checks of MIG layouts.")
    parser.add_argument("--number", type=int, default=1_000_000, help="sets to check")
    options = parser.parse_args(words)
    sets = random_sets(options.number)
    begun = time.process_time()
    fitting = sum(fits(model, devices) for model, devices in sets)
    seconds = time.process_time() - begun
    rate = round(options.number / seconds)
    found = {"checks": options.number, "seconds": seconds, "perSecond": rate, "fitting": fitting}
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
