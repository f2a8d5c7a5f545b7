"""`eks-gpushare mig`: what it lists, checks, draws and refuses."""

from __future__ import annotations

import io
import json
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from eks_gpushare.catalog import mig_models
from eks_gpushare.cli.mig_picture import print_picture
from eks_gpushare.cli.mig_svg import picture
from eks_gpushare.sharing.mig.geometry import place

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Run

ROOT = Path(__file__).parents[2]
P4D = "p4d.24xlarge"
LAYOUTS = ["all-balanced", "3g.20gb=2,1g.5gb=1", "all-1g.18gb", "1g.5gb=2,1g.5gb+me=1"]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("words", "name", "code"),
    [
        (["profiles", P4D], "profiles", 0),
        (["profiles", "RTX-PRO-6000-Blackwell-96GB"], "profiles-of-a-gpu", 0),
        (["layouts", "A30-24GB"], "layouts", 0),
        (["layouts", P4D, "--maximal"], "layouts-maximal", 0),
        (["check", P4D, *LAYOUTS], "check", 1),
        (["check", "g7e.48xlarge", "all-balanced", "1g.24gb+me.all=1"], "check-four-slices", 0),
        (["check", "p6-b300.48xlarge", "all-3g.135gb"], "check-preliminary", 0),
        (["check", P4D, "all-disabled"], "check-whole", 0),
        (["check", "g5.xlarge", "all-balanced"], "check-without-mig", 1),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_printed(
    run: Run, golden: Callable[[str, str], None], words: list[str], name: str, code: int
) -> None:
    ran = run("mig", *words)

    assert (ran.code, ran.err) == (code, "")
    golden(f"mig/{name}.txt", ran.out)


def test_json_of_check_has_the_keys_of_the_contract(run: Run) -> None:
    ran = run("mig", "check", "--json", P4D, *LAYOUTS, "1g.20gb=1")

    assert (ran.code, ran.err) == (1, "")
    assert [list(each) for each in ran.json] == [
        ["layout", "fits", "why", "nearest", "advertised"]
    ] * 5
    assert [each["layout"] for each in ran.json] == [*LAYOUTS, "1g.20gb=1"]
    assert [each["fits"] for each in ran.json] == [True, False, False, True, False]
    assert ran.json[0] == {
        "layout": "all-balanced",
        "fits": True,
        "why": None,
        "nearest": [],
        "advertised": {
            "nvidia.com/gpu": 0,
            "nvidia.com/mig-3g.20gb": 8,
            "nvidia.com/mig-2g.10gb": 8,
            "nvidia.com/mig-1g.5gb": 16,
        },
    }
    assert ran.json[1]["nearest"][0] == {"3g.20gb": 2}
    assert ran.json[2]["nearest"] == [{"1g.5gb": 7}]
    assert ran.json[3]["advertised"] == {
        "nvidia.com/gpu": 0,
        "nvidia.com/mig-1g.5gb": 16,
        "nvidia.com/mig-1g.5gb.me": 8,
    }


def test_a_gpu_model_advertises_what_one_gpu_has(run: Run) -> None:
    ran = run("mig", "--json", "check", "a100-40gb", "all-1g.5gb")

    assert ran.code == 0
    assert ran.json[0]["advertised"] == {"nvidia.com/gpu": 0, "nvidia.com/mig-1g.5gb": 7}


def test_whole_gpus_are_advertised_as_such(run: Run) -> None:
    ran = run("mig", "check", "--json", P4D, "all-disabled")

    assert ran.json[0]["advertised"] == {"nvidia.com/gpu": 8}


def test_json_of_profiles_has_every_profile(run: Run) -> None:
    ran = run("mig", "profiles", "p5.48xlarge", "--json")

    assert (ran.json["type"], ran.json["gpus"], ran.json["model"]) == (
        "p5.48xlarge",
        8,
        "H100-80GB",
    )
    assert ran.json["profiles"][1] == {
        "name": "1g.10gb+me",
        "maxCount": 1,
        "computeSlices": 1,
        "memorySlices": 1,
        "memoryGB": 10,
        "placements": [0, 1, 2, 3, 4, 5, 6],
        "resource": "nvidia.com/mig-1g.10gb.me",
    }


@pytest.mark.parametrize(
    ("words", "count"),
    [([], 77), (["--maximal"], 28), (["--all"], 127)],
    ids=str,
)
def test_json_of_layouts_has_every_layout(run: Run, words: list[str], count: int) -> None:
    ran = run("mig", "layouts", P4D, "--json", *words)

    assert len(ran.json["layouts"]) == count
    assert ran.json["named"]["all-balanced"] == {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}
    assert all(each["maximal"] for each in ran.json["layouts"]) == (words == ["--maximal"])


@pytest.mark.parametrize("verb", ["profiles", "layouts"])
def test_a_type_without_mig_is_said_to_have_none(run: Run, verb: str) -> None:
    ran = run("mig", verb, "g5.xlarge")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "eks-gpushare: The A10G in g5.xlarge has no MIG.\n"


@pytest.mark.parametrize(
    ("name", "meant"),
    [("p4d.24xlarg", " Did you mean p4d.24xlarge?"), ("A100-40G", " Did you mean A100-40GB?")],
)
def test_an_unknown_type_is_wrong_usage_with_a_suggestion(run: Run, name: str, meant: str) -> None:
    ran = run("mig", "check", name, "all-balanced")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(
        f"eks-gpushare: {name} is neither an EC2 instance type nor a GPU model.{meant}\nModels: "
    )


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (
            "1g.5gb=x",
            (
                "'1g.5gb=x' in '1g.5gb=x' is not PROFILE=COUNT, such as 1g.5gb=2, with a count of "
                "1 or more."
            ),
        ),
        (
            "1g.5gb=2,=1",
            (
                "'=1' in '1g.5gb=2,=1' is not PROFILE=COUNT, such as 1g.5gb=2, with a count of 1 "
                "or more."
            ),
        ),
        ("1g.5gb=1,1g.5gb=2", "1g.5gb stands twice in '1g.5gb=1,1g.5gb=2'."),
    ],
)
def test_devices_that_cannot_be_read_are_wrong_usage(run: Run, layout: str, message: str) -> None:
    ran = run("mig", "check", P4D, layout)

    assert (ran.code, ran.out, ran.err) == (2, "", f"eks-gpushare: {message}\n")


@pytest.mark.parametrize("words", [[], ["profiles"], ["check", P4D], ["draw", P4D]], ids=str)
def test_a_verb_and_what_it_is_about_are_needed(run: Run, words: list[str]) -> None:
    assert run("mig", *words).code == 2


def test_the_layouts_that_fit_are_drawn(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "layouts.svg"
    ran = run("mig", "check", P4D, "all-balanced", "3g.20gb=3", "--svg", str(file))
    root = ET.fromstring(file.read_text(encoding="utf-8"))  # noqa: S314  (our own picture)
    texts = [element.text for element in root.iter(f"{SVG}text")]

    assert ran.code == 1
    assert root.findtext(f"{SVG}title") == "MIG layouts of the A100-40GB: all-balanced"
    assert [text for text in texts if text and text.endswith("gb")] == [
        "2g.10gb",
        "1g.5gb",
        "1g.5gb",
        "3g.20gb",
    ]
    assert "nothing unused" in texts


def test_the_picture_in_the_documentation_is_what_the_command_draws(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "layouts.svg"
    run("mig", "check", P4D, "all-balanced", "all-3g.20gb", "all-1g.5gb", "--svg", str(file))

    assert file.read_text(encoding="utf-8") == (ROOT / "docs/images/mig-layouts.svg").read_text(
        encoding="utf-8"
    )


class Terminal(io.StringIO):
    """A stream to a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("out", "no_colour", "colours"),
    [
        (Terminal, "", ["33", "32", "32"]),
        (Terminal, "1", []),
        (io.StringIO, "", []),
    ],
)
def test_a_terminal_that_has_colours_gets_each_device_in_that_of_its_size(
    monkeypatch: pytest.MonkeyPatch, out: type[io.StringIO], no_colour: str, colours: list[str]
) -> None:
    monkeypatch.setenv("NO_COLOR", no_colour)
    monkeypatch.setattr("sys.stdout", out())
    model = mig_models()["A100-40GB"]
    print_picture(model, place(model, {"3g.20gb": 1, "2g.10gb": 2}) or ())
    printed = cast("io.StringIO", sys.stdout).getvalue().splitlines()
    (compute,) = (line for line in printed if line.lstrip().startswith("compute"))

    assert sorted(re.findall(r"\x1b\[(3\d)m[^\x1b]+\x1b\[0m", compute)) == sorted(colours)
    assert compute.count("\x1b") == 2 * len(colours)


def test_a_picture_needs_nothing_from_outside() -> None:
    model = mig_models()["A100-40GB"]
    text = picture(model, [("<all>", place(model, {"1g.5gb": 7}) or ())])

    assert text.count("http") == 1  # the namespace
    assert "<script" not in text
    assert "&lt;all&gt;" in text


def test_json_and_a_picture_go_together(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "layouts.svg"
    ran = run("mig", "check", P4D, "all-balanced", "--json", "--svg", str(file))

    assert ran.code == 0
    assert json.loads(ran.out)[0]["fits"]
    assert file.is_file()


def test_nothing_that_fits_is_no_picture(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "layouts.svg"
    ran = run("mig", "check", P4D, "3g.20gb=3", "--svg", str(file))

    assert ran.code == 1
    assert ran.err == f"eks-gpushare: nothing fits, so {file} was not written\n"
    assert not file.exists()


def test_a_picture_that_cannot_be_written_is_wrong_usage(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "no" / "layouts.svg"
    ran = run("mig", "check", P4D, "all-balanced", "--svg", str(file))

    assert ran.code == 2
    assert ran.err == f"eks-gpushare: {file} cannot be written: No such file or directory\n"


@pytest.mark.parametrize("name", mig_models())
def test_every_gpu_has_a_picture_within_its_frame(name: str) -> None:
    model = mig_models()[name]
    small = next(iter(model.profiles.values()))
    devices = {small.name: small.max_count}
    root = ET.fromstring(picture(model, [("small", place(model, devices) or ())]))  # noqa: S314  (our own picture)
    boxes = [box.attrib for box in root.iter(f"{SVG}rect") if "x" in box.attrib]

    assert len(boxes) >= 2 * small.max_count
    for box in boxes:
        assert float(box["x"]) + float(box["width"]) <= float(root.attrib["width"])
