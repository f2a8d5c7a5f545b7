"""What `--before` says of dollars, for every key: what the bills of two previews differ by.

Here of two that money hangs on, at night of all of them (EKS_GPUSHARE_TEST_EVERY_KEY=1).
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.edits.holding import doing
from tests.edits.test_every_key import NOTHING
from tests.edits.trial import ROOT, asked, schema_keys, trials

from eks_gpushare.program.preview import compared, locate, preview

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.edits.trial import Trial

    from eks_gpushare.program.preview import Preview

PAID = {
    "network.natGateways": "NAT gateways",
    "system.nodes.desired": "nodes gpushare-system",
    "pools": "GPU nodes",
    "pools.*.capacityType": "GPU nodes",
    "pools.*.reservation.instances": "instances reserved",
    "pools.*.rootVolumeGiB": "root volumes",
    "pools.*.warm": "GPU nodes",
    "catalog.instanceTypes.*.priceUsdPerHour": "GPU nodes",
    "catalog.instanceTypes.*.spotUsdPerHour": "GPU nodes",
}
"""Keys that money hangs on, and words of a line of the bill that their edit changes."""
HERE = ["network.natGateways", "pools.*.warm"]
EVERY = bool(os.environ.get("EKS_GPUSHARE_TEST_EVERY_KEY"))
KEYS = [key for key in schema_keys() if "none" not in asked(key)] if EVERY else HERE
SIZES = ("atDesired", "atMax")


@dataclass(frozen=True, slots=True)
class Bills:
    """Two stack files by themselves, and the second held against the first."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    told: Mapping[str, Any]
    """`preview AFTER --before BEFORE --json`."""


def bills(trial: Trial, folder: Path) -> Iterator[Bills]:
    """Of an edit, and of its undoing."""
    project, _ = locate(trial.stack, str(ROOT))
    files = [folder / side / f"Pulumi.{trial.stack}.yaml" for side in ("before", "after")]
    for file, config in zip(files, (trial.before, trial.after), strict=True):
        file.parent.mkdir()
        text = yaml.safe_dump({"config": dict(config)}, sort_keys=False)
        file.write_text(text.replace("tests/edits/", f"{ROOT}/tests/edits/"))
    alone = {file: preview(project, file) for file in files}
    for before, after in (files, files[::-1]):
        told = compared(alone[after], before)
        yield Bills(cost(alone[before]), cost(alone[after]), told.as_json())


def cost(previewed: Preview) -> Mapping[str, Any]:
    found: Mapping[str, Any] = previewed.as_json()["cost"]
    return found


def tried(key: str) -> list[Trial]:
    """Edits of a key by which the program registers something else, of each kind; or its first."""
    found = list(itertools.islice(trials(key), 1))
    return list(doing(key)) or found if EVERY else found


def lines(bill: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """The lines of a bill by what they are of, without those that cost nothing."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for item in bill["items"]:
        told = {"usdPerHour": item["usdPerHour"]}
        if None in item["usdPerHour"].values():
            told |= {key: item[key] for key in ("count", "usdPerHourEach", "description")}
        if item["usdPerHour"] != {"atDesired": 0, "atMax": 0}:
            found[item["item"], item["name"]] = told
    return found


@pytest.mark.parametrize("key", KEYS)
def test_what_is_said_of_dollars_is_what_two_previews_differ_by(key: str, tmp_path: Path) -> None:
    pairs = [
        pair
        for index, trial in enumerate(tried(key))
        for pair in bills(trial, _made(tmp_path / str(index)))
    ]

    assert pairs or key in NOTHING
    for pair in pairs:
        before, after, change = pair.before, pair.after, pair.told["costChange"]
        assert pair.told["costBefore"] == before
        assert pair.told["cost"] == after
        was, now = lines(before), lines(after)
        differing = {line for line in {*was, *now} if was.get(line) != now.get(line)}
        assert {(item["item"], item["name"]) for item in change["items"]} == differing
        for size in SIZES:
            totals = [bill["usdPerHour"][size] for bill in (before, after)]
            if None not in totals:
                assert change["usdPerHour"][size] == pytest.approx(totals[1] - totals[0], abs=2e-6)
            elif change["usdPerHour"][size] is not None:
                known = [bill["knownUsdPerHour"][size] for bill in (before, after)]
                assert change["usdPerHour"][size] == pytest.approx(known[1] - known[0], abs=2e-6)
    if words := PAID.get(key):
        said = [item["description"] for pair in pairs for item in pair.told["costChange"]["items"]]
        assert any(words in description for description in said), said


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
