"""The picture of what a stack makes can be read, by everybody and everywhere."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import picture
import pytest

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


@pytest.mark.parametrize("kind", picture.FILLS)
def test_text_stands_out_from_its_box(kind: str) -> None:
    light, dark = luminance(picture.FILLS[kind]), luminance(picture.TEXT)

    assert (light + 0.05) / (dark + 0.05) >= 7  # AAA


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
