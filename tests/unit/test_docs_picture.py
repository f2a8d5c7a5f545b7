"""The picture of what a stack makes can be read, by everybody and everywhere."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import mode_pictures
import picture
import pytest

from eks_gpushare.cli import mig_svg
from eks_gpushare.config.sharing import MODES

SVG = "{http://www.w3.org/2000/svg}"
WIDTH, BOLD = 0.55, 0.62
"""Width of a character in DejaVu Sans, the widest font that readers have, in parts of its size: as
such texts came out in a rendered picture, where none was above."""


def luminance(colour: str) -> float:
    """As WCAG 2.2 defines it: https://www.w3.org/TR/WCAG22/#dfn-relative-luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("kind", picture.FILLS)
def test_text_stands_out_from_its_box(kind: str) -> None:
    assert contrast(picture.FILLS[kind], picture.TEXT) >= 7  # AAA
    assert contrast(picture.DARK_FILLS[kind], picture.DARK_TEXT) >= 7


@pytest.mark.parametrize("dark", [*mig_svg._DARK_FILLS.values(), *mode_pictures._DARK_PODS])  # noqa: SLF001
def test_text_stands_out_from_devices_and_pods_where_pages_are_dark(dark: str) -> None:
    assert contrast(dark, picture.DARK_TEXT) >= 7


PICTURES = {
    file.name: file.read_text(encoding="utf-8") for file in mode_pictures.IMAGES.glob("*.svg")
}


@pytest.mark.parametrize("name", PICTURES)
def test_every_colour_has_one_for_dark_pages(name: str) -> None:
    shown, _, dark = PICTURES[name].partition("@media (prefers-color-scheme: dark)")
    painted = set(re.findall(r'fill="(#\w+)"', dark))

    assert painted
    assert {each for each in painted if f'[fill="{each}"] {{ fill:' not in PICTURES[name]} == set()
    assert "text {" in shown


def test_every_mode_is_the_answer_to_a_question() -> None:
    answers = [mode for _, _, mode, _ in mode_pictures.questions()]

    assert sorted([*answers, mode_pictures.OTHERWISE[0]]) == sorted(MODES)


@pytest.mark.parametrize("name", ["which-mode.svg", "three-modes.svg", "label-to-scheduler.svg"])
def test_a_text_of_the_modes_ends_in_its_picture_and_box(name: str) -> None:
    root = ET.fromstring(PICTURES[name])  # noqa: S314  (our own picture)
    boxes = [
        {key: float(box.attrib[key]) for key in ("x", "y", "width", "height")}
        for box in root.iter(f"{SVG}rect")
        if "x" in box.attrib
    ]
    for text in root.iter(f"{SVG}text"):
        x, y = float(text.attrib["x"]), float(text.attrib["y"])
        kind = text.get("class")
        each = {"title": 20 * BOLD, "head": 15 * BOLD, "small": 12 * WIDTH}.get(
            kind or "", 13 * WIDTH
        )
        around = [
            box["x"] + box["width"]
            for box in boxes
            if box["x"] <= x < box["x"] + box["width"] and box["y"] < y < box["y"] + box["height"]
        ]

        assert x + len(text.text or "") * each <= min(around, default=mode_pictures.WIDTH - 8)


def test_a_text_stays_in_its_box() -> None:
    for box in picture.boxes():
        for number, line in enumerate(box.lines):
            titled = number == 0 and box.titled
            width = len(line) * (15 * BOLD if titled else 13 * WIDTH)

            assert width <= box.width - 12, line
        assert len(box.lines) * picture.LINE + 8 <= box.height, box.lines


def test_boxes_lie_in_the_picture_and_beside_each_other_or_within() -> None:
    for one in picture.boxes():
        assert one.x >= 20
        assert one.x + one.width <= picture.WIDTH - 20
    parts = [box for box in picture.boxes() if box.kind in ("part", "gpu", "system")]
    for number, one in enumerate(parts):
        for other in parts[number + 1 :]:
            beside = one.x + one.width <= other.x or other.x + other.width <= one.x
            above = one.y + one.height <= other.y or other.y + other.height <= one.y

            assert beside or above, (one.lines, other.lines)


def test_it_says_what_it_shows_and_needs_nothing_from_outside() -> None:
    text = picture.draw()
    root = ET.fromstring(text)  # noqa: S314  (our own picture)

    assert root.get("role") == "img"
    assert "stack prod" in (root.findtext(f"{SVG}title") or "")
    assert re.findall(r"https?://\S+?(?=[\"'])", text) == ["http://www.w3.org/2000/svg"]
    assert "<script" not in text
