"""Write `requirements-hashes.txt`: the pins of requirements.txt with the hash of every wheel.

`python tools/packaging/hashes.py` lets pip download the wheels for each platform and Python that
the project is for, and takes their SHA-256. The file names no index: pip takes the packages from
where it takes them always, and refuses what is not the same, byte for byte.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PINS = ROOT / "requirements.txt"
HASHES = ROOT / "requirements-hashes.txt"
PYTHONS = ("3.11", "3.12", "3.13")
# With the older names of the same platforms, since a wheel may have any of them. For macOS on Intel
# cryptography has no wheels any more.
_LINUX = tuple(f"manylinux_2_{minor}" for minor in (5, 12, 17, 26, 27, 28, 31, 34))
PLATFORMS = {
    "Linux x86_64": (
        *(f"{name}_x86_64" for name in _LINUX),
        *(f"manylinux{name}_x86_64" for name in ("1", "2010", "2014")),
    ),
    "Linux aarch64": (*(f"{name}_aarch64" for name in _LINUX), "manylinux2014_aarch64"),
    "macOS arm64": tuple(
        f"macosx_{major}_{minor}_{arch}"
        for major, minors in ((10, range(9, 17)), (11, (0,)), (12, (0,)), (13, (0,)), (14, (0,)))
        for minor in minors
        for arch in ("arm64", "universal2")
    ),
}
_HEAD = f"""\
# requirements.txt with the hash of every wheel, for Python {", ".join(PYTHONS)} on
# {", ".join(PLATFORMS)}.
# pip install --require-hashes --only-binary :all: -r requirements-hashes.txt
# Written by tools/packaging/hashes.py; a test holds it against the pins.
"""


def pins() -> list[str]:
    """The pinned packages, as requirements.txt has them."""
    lines = PINS.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if re.match(r"[A-Za-z0-9]", line)]


def hashes(folder: Path) -> dict[str, set[str]]:
    """The SHA-256 of every wheel of the pinned packages, by normalised name.

    Args:
        folder: Where pip puts the wheels.
    """
    (folder / "pins.txt").write_text("\n".join(pins()) + "\n", encoding="utf-8")
    for platforms in PLATFORMS.values():
        for python in PYTHONS:
            _download(folder, platforms, python)
    found: dict[str, set[str]] = {}
    for wheel in folder.glob("*.whl"):
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        found.setdefault(_normalised(wheel.name.partition("-")[0]), set()).add(digest)
    return found


def _download(folder: Path, platforms: tuple[str, ...], python: str) -> None:
    named = [word for name in platforms for word in ("--platform", name)]
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet")
    options = ("--no-deps", "--only-binary", ":all:", "--python-version", python)
    files = ("--dest", str(folder), "--requirement", str(folder / "pins.txt"))
    subprocess.run([*pip, *options, *named, *files], check=True)


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    """Write the file anew."""
    with tempfile.TemporaryDirectory() as folder:
        found = hashes(Path(folder))
    blocks = []
    for pin in pins():
        digests = sorted(found[_normalised(pin.partition("==")[0])])
        blocks.append(" \\\n".join([pin, *(f"    --hash=sha256:{each}" for each in digests)]))
    HASHES.write_text(_HEAD + "\n".join(blocks) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
