"""The files that somebody names, within bounds.

A folder stands for what lies in it and below. Nothing is followed out of bounds: neither a link to
a folder, nor a pipe, nor a device.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.documents.reading import STDIN, read_bytes, reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_BYTES: Final = 8 * 1024 * 1024
"""Largest file that is read. The definitions of Karpenter and of the GPU Operator have one."""
MAX_FILES: Final = 5_000
"""Most files of one call."""
MAX_TOTAL: Final = 64 * 1024 * 1024
"""Most bytes of one call."""
MAX_FOLDERS: Final = 20_000
"""Most folders that are looked into."""

ENDINGS: Final = (
    *(".yaml", ".yml", ".json", ".toml", ".sh", ".bash", ".md", ".markdown", ".txt", ".tf.json"),
    *(".yaml.tmpl", ".yml.tmpl", ".yaml.gotmpl"),
)
"""What is read of a folder. A file that is named is read whatever it is called."""
_NOT_ENTERED: Final = frozenset(("node_modules", "__pycache__", "venv", "site-packages", "vendor"))


class GivenFile(NamedTuple):
    """A file that is to be read, or why it is not."""

    name: str
    text: str = ""
    problem: str = ""
    """Why it could not be read; empty where it was."""
    note: str = ""
    """Why it is not read, where nothing is wrong with that."""


def given_files(names: Iterable[str]) -> Iterator[GivenFile]:
    """Each file that is named, and each of a folder by its ending, in the order of names."""
    total = count = 0
    seen: set[str] = set()
    for name in names:
        for file in _expanded(name):
            if isinstance(file, GivenFile):
                yield file
                continue
            if file in seen:
                continue
            seen.add(file)
            count += 1
            if count > MAX_FILES or total > MAX_TOTAL:
                most = f"{MAX_FILES:,} files" if count > MAX_FILES else f"{MAX_TOTAL:,} bytes"
                yield GivenFile(file, problem=f"it is beyond the {most} that one call reads")
                return
            read = read_file(file, in_folder=file != name)
            total += len(read.text)
            yield read


def read_file(name: str, *, in_folder: bool = False) -> GivenFile:
    """The text of a file.

    Args:
        name: Where it is; `-` is standard input.
        in_folder: Whether nobody named it, so that what is no text is passed over.
    """
    try:
        content = read_bytes(name, MAX_BYTES)
    except OSError as error:
        return GivenFile(name, problem=reason(error))
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return GivenFile(name, problem="it is UTF-16; save it as UTF-8")
    if b"\0" in content:
        why = "it is no text: it holds a NUL byte"
        return GivenFile(name, note=why) if in_folder else GivenFile(name, problem=why)
    try:
        return GivenFile(name, content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        why = f"line {line}: the byte 0x{content[error.start]:02x} is not UTF-8"
        return GivenFile(name, problem=f"{why}; save it as UTF-8")


def _expanded(name: str) -> Iterator[str | GivenFile]:
    try:
        folder = name != STDIN and Path(name).is_dir()
    except (OSError, ValueError):
        folder = False  # reading it says what is wrong
    if not folder:
        yield name
        return
    found = False
    for file in _below(name):
        found = True
        yield file
    if not found:
        endings = ", ".join(ENDINGS[:5])
        yield GivenFile(name, note=f"nothing below it has an ending such as {endings}")


def _below(top: str) -> Iterator[str]:
    """Files of a folder and of those in it, sorted; links to folders are not followed."""
    for count, (folder, inner, files) in enumerate(os.walk(top)):
        if count >= MAX_FOLDERS:
            return
        inner[:] = sorted(
            folder for folder in inner if not folder.startswith(".") and folder not in _NOT_ENTERED
        )
        for file in sorted(files):
            if file.lower().endswith(ENDINGS):
                yield str(Path(folder) / file)
