"""What was installed last, for the next checkout: linked in a second, and installed in a minute.

kept_environment.py take .venv FOLDER requirements-dev.txt    fill a new environment
kept_environment.py keep .venv FOLDER requirements-dev.txt    let the folder hold it

An environment is taken where the requirements, the Python and the platform are those that it was
kept with; otherwise the exit code is 1. The project itself is not in it. pip, which runs in either
case, installs that, and whatever else it misses.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

_OWN = ("_eks_gpushare", "eks_gpushare", "eks-gpushare")
"""How files begin that say where the project is."""


def key(requirements: Path) -> str:
    """What an environment is made of: two with one key hold the same packages."""
    text = requirements.read_bytes() + requirements.with_name("requirements.txt").read_bytes()
    return " ".join(
        (hashlib.sha256(text).hexdigest(), sys.version, sys.base_prefix, platform.platform())
    )


def take(venv: Path, kept: Path, wanted: str) -> bool:
    """Fill a new environment; whether there was one to take.

    Files are links to those that are kept, as uv has it: pip and Python write none in place, but
    put another there.
    """
    if not _is_of(kept, wanted):
        return False
    shutil.copytree(
        kept / "lib", venv / "lib", symlinks=True, copy_function=_link, dirs_exist_ok=True
    )
    here, there = (kept / "origin").read_bytes(), os.fsencode(venv.resolve() / "bin")
    for program in (kept / "bin").iterdir():
        copy = venv / "bin" / program.name
        if not copy.exists():
            content = program.read_bytes()
            first, _, rest = content.partition(b"\n")
            if first.startswith(b"#!"):  # the Python that it was installed for
                content = first.replace(here, there) + b"\n" + rest
            copy.write_bytes(content)
            shutil.copymode(program, copy)
    return True


def keep(venv: Path, kept: Path, made_of: str) -> None:
    """Let the folder hold what is in an environment; others find the old or the new one whole."""
    if _is_of(kept, made_of):
        return
    kept.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f"{kept.name}.", dir=kept.parent))
    try:
        # With the times of files, by which Python knows what it has compiled.
        shutil.copytree(venv / "lib", new / "lib", symlinks=True)
        for own in (new / "lib").glob("*/site-packages/*"):
            if own.name.startswith(_OWN):
                shutil.rmtree(own) if own.is_dir() else own.unlink()
        (new / "bin").mkdir()
        for program in (venv / "bin").iterdir():
            if not program.is_symlink() and not program.name.startswith(_OWN):
                shutil.copy2(program, new / "bin")
        (new / "origin").write_bytes(os.fsencode(venv.resolve() / "bin"))
        (new / "key").write_text(made_of, encoding="utf-8")
        shutil.rmtree(kept, ignore_errors=True)
        with suppress(OSError):  # another has put its own there meanwhile
            new.rename(kept)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # on another file system, or there are no links
        shutil.copy2(source, target, follow_symlinks=False)


def _is_of(kept: Path, wanted: str) -> bool:
    file = kept / "key"
    return file.is_file() and file.read_text(encoding="utf-8") == wanted


def main(words: list[str]) -> int:
    """Do what the first word says."""
    verb, venv, kept, requirements = words[0], *map(Path, words[1:])
    if verb == "take":
        return 0 if take(venv, kept, key(requirements)) else 1
    keep(venv, kept, key(requirements))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
