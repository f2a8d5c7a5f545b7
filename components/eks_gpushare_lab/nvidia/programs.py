"""The folder of `--nvidia`: two programs and the library by which they see GPUs."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from eks_gpushare_lab.errors import LabError
from eks_gpushare_lab.simulated_node.pods import DISCOVERY, PLUGIN

LIBRARY = "libnvidia-ml.so.1"
"""Name of NVML, NVIDIA's library that tells of GPUs, or of a mock of it."""
FILES = (PLUGIN, DISCOVERY, LIBRARY)
"""What the folder has to hold."""

_HEAD = 20
_MACHINES = {0x3E: "x86_64", 0xB7: "aarch64"}  # e_machine of ELF


class NvidiaFolderError(LabError):
    """The folder does not hold NVIDIA's programs as this machine could run them."""


def folder_of(text: str) -> Path:
    """A folder as it is named, with all in it, before anything is started.

    Raises:
        NvidiaFolderError: What is wrong, all at once.
    """
    if not text.strip():  # a variable that is not set; it is not the folder that one is in
        raise NvidiaFolderError(f"no folder is named; {_HELP}")
    folder = Path(text)
    if not folder.is_dir():
        raise NvidiaFolderError(f"{folder} is no folder; {_HELP}")
    wrong = [said for name in FILES if (said := _wrong(folder / name, program=name != LIBRARY))]
    if wrong:
        raise NvidiaFolderError(f"{folder}: {'; '.join(wrong)}; {_HELP}")
    return folder


_HELP = f"it has to hold {', '.join(FILES[:-1])} and {LIBRARY}, as NVIDIA's images do"


def _wrong(file: Path, *, program: bool) -> str:
    if not file.is_file():
        return f"{file.name} is not there"
    if program and not os.access(file, os.X_OK):
        return f"{file.name} is not executable (chmod +x)"
    try:
        with file.open("rb") as opened:
            head = opened.read(_HEAD)
    except OSError as error:
        return f"{file.name} cannot be read: {error.strerror}"
    if program and head.startswith(b"#!"):  # a wrapper, which is its owner's affair
        return ""
    return _wrong_head(file.name, head)


def _wrong_head(name: str, head: bytes) -> str:
    if not head.startswith(b"\x7fELF") or len(head) < _HEAD:
        return f"{name} is no program or library of Linux"
    machine = int.from_bytes(head[18:20], "little" if head[5] == 1 else "big")
    built_for = _MACHINES.get(machine, f"ELF machine {machine:#x}")
    if built_for == platform.machine():
        return ""
    return f"{name} is for {built_for}, and this machine is {platform.machine()}"
