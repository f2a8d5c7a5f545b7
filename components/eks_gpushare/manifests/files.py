"""The files that somebody names, within bounds.

A folder stands for what lies in it and below. Nothing is followed out of bounds: neither a link to
a folder, nor a pipe, nor a device.
"""

from __future__ import annotations

import codecs
import errno
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.documents.reading import STDIN, read_bytes, reason
from eks_gpushare.manifests.ignored import Ignored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MAX_BYTES: Final = 8 * 1024 * 1024
"""Largest file that is read. The definitions of Karpenter and of the GPU Operator have one."""
MAX_FILES: Final = 200_000
"""Most files of one call, which is a bound for time: a second for some hundred of them."""
MAX_TOTAL: Final = 2 * 1024 * 1024 * 1024
"""Most bytes of one call."""
MAX_FOLDERS: Final = 200_000
"""Most folders that are looked into."""

UNIT: Final = "terragrunt.hcl"
"""The file of a unit of Terragrunt."""
ENDINGS: Final = (
    *(".yaml", ".yml", ".json", ".toml", ".sh", ".bash", ".md", ".markdown", ".txt", ".tf"),
    *(".tofu", ".tfvars", ".yaml.tmpl", ".yml.tmpl", ".yaml.gotmpl", "makefile", ".mk", UNIT),
)
"""What is read of a folder. A file that is named is read whatever it is called."""
_KUSTOMIZATION: Final = "Kustomization"
"""A name that Kustomize looks for too, in capitals and without an ending."""
_MANIFESTS: Final = (".yaml", ".yml", ".json")
_UTF_8: Final = "utf-8"
_ENCODINGS: Final = {
    codecs.BOM_UTF8: _UTF_8,
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
"""Encodings by the mark that a text in them begins with."""
_MOST_KINDS: Final = 5
"""Of what is not read, kinds that are named."""
_NOT_ENTERED: Final = frozenset(("node_modules", "__pycache__", "venv", "site-packages", "vendor"))


class GivenFile(NamedTuple):
    """A file that is to be read, or why it is not."""

    name: str
    text: str = ""
    problem: str = ""
    """Why it could not be read; empty where it was."""
    note: str = ""
    """Why it is not read, where nothing is wrong with that."""
    in_folder: bool = False
    """Whether nobody named it, so that it need not be of a kind that is read."""


def given_files(
    names: Iterable[str],
    leave_out: Callable[[str], bool] | None = None,
    *,
    ignored: bool = False,
) -> Iterator[GivenFile]:
    """Each file that is named, and each of a folder by its ending, in the order of names.

    Args:
        names: Files, folders, and `-` for standard input.
        leave_out: Whether a file is passed over without a word, be it named. Default: none is.
        ignored: Whether what git ignores is read too. What is named is read in any case.
    """
    total = count = 0
    seen: set[str] = set()
    passes = None if ignored else Ignored()
    for name in names:
        for file in _expanded(name, passes):
            if isinstance(file, GivenFile):
                yield file
                continue
            if file in seen or (leave_out is not None and leave_out(file)):
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


_ENCRYPTED: Final = (b"\0GITCRYPT\0", b"CHARTMART-ENCRYPTED", b"age-encryption.org/")
"""How files begin that git-crypt, Plural's client (`pkg/crypto/encrypt.go`) and age have made."""


def marked(content: bytes) -> tuple[bytes, str]:
    """The mark that a text begins with, and its encoding.

    Windows shells write UTF-16, and kubectl reads it: `FileVisitor` of kubernetes/cli-runtime.
    """
    for mark, encoding in _ENCODINGS.items():
        if content.startswith(mark):
            return mark, encoding
    return b"", _UTF_8


def read_file(name: str, *, in_folder: bool = False) -> GivenFile:
    """The text of a file.

    Args:
        name: Where it is; `-` is standard input.
        in_folder: Whether nobody named it, so that what is no text is passed over.
    """
    try:
        content = read_bytes(name, MAX_BYTES)
    except OSError as error:
        if in_folder and error.errno == errno.EFBIG:  # data, or what a tool has made
            return GivenFile(name, note=reason(error))
        is_file = Path(name).is_file() if in_folder else True
        return _unread(name, reason(error), passed=not is_file)
    # Of manifests and values it is said, since whoever wrote them takes them for some.
    if content.startswith(_ENCRYPTED):
        return _unread(name, "it is encrypted", passed=in_folder)
    passed = in_folder and (b"\0" in content or not name.lower().endswith(_MANIFESTS))
    mark, encoding = marked(content)
    try:
        text = content[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        why = "it is no whole UTF-16"
        if encoding == _UTF_8:
            line = content.count(b"\n", 0, error.start) + 1
            why = f"line {line}: the byte 0x{content[error.start]:02x} is not UTF-8"
        return _unread(name, f"{why}; save it as UTF-8", passed=passed)
    if "\0" in text:
        return _unread(name, "it is no text: it holds a NUL byte", passed=in_folder)
    return GivenFile(name, text, in_folder=in_folder)


def _unread(name: str, why: str, *, passed: bool) -> GivenFile:
    if passed:
        return GivenFile(name, note=f"it is not read: {why}")
    return GivenFile(name, problem=why)


def _expanded(name: str, ignored: Ignored | None) -> Iterator[str | GivenFile]:
    try:
        folder = name != STDIN and Path(name).is_dir()
    except (OSError, ValueError):
        folder = False  # reading it says what is wrong
    if not folder:
        yield name
        return
    found = False
    left = _Left()
    for file in _below(name, ignored, left):
        found = True
        yield file
    if not found:
        endings = ", ".join(ENDINGS[:5])
        told = f"; {left}" if str(left) else ""
        yield GivenFile(name, note=f"nothing below it has an ending such as {endings}{told}")
    elif str(left):
        yield GivenFile(name, note=str(left))


@dataclass(slots=True)
class _Left:
    """What of a folder is not read."""

    endings: Counter[str] = field(default_factory=Counter)
    ignored: int = 0

    def __str__(self) -> str:
        """How many of each kind; empty where nothing is left."""
        said = []
        if count := self.endings.total():
            kinds = [f"{number:,} {kind}" for kind, number in self.endings.most_common(_MOST_KINDS)]
            more = len(self.endings) - _MOST_KINDS
            kinds += [f"and {more} kinds more"] if more > 0 else []
            one, several = "file below it is", "files below it are"
            what = f"{count:,} {one if count == 1 else several} of no kind that is read"
            said.append(f"{what}: {', '.join(kinds)}")
        if self.ignored:
            one, several = "file or folder is", "files and folders are"
            said.append(
                f"{self.ignored:,} {one if self.ignored == 1 else several} left out, "
                "since git ignores them"
            )
        return "; ".join(said)


def _below(top: str, ignored: Ignored | None, left: _Left) -> Iterator[str]:
    """Files of a folder and of those in it, sorted; links to folders are not followed."""
    for count, (folder, inner, files) in enumerate(os.walk(top)):
        if count >= MAX_FOLDERS:
            return
        here = Path(folder).absolute()
        inner[:] = sorted(
            folder for folder in inner if not folder.startswith(".") and folder not in _NOT_ENTERED
        )
        if ignored is not None:
            kept = [name for name in inner if not ignored(here / name, folder=True)]
            left.ignored += len(inner) - len(kept)
            inner[:] = kept
        for file in sorted(files):
            if file.startswith(".") and not file.lower().endswith(ENDINGS):
                continue
            is_read = file.lower().endswith(ENDINGS) or file == _KUSTOMIZATION
            if ignored is not None and ignored(here / file):
                left.ignored += is_read
            elif is_read:
                yield str(Path(folder) / file)
            else:
                left.endings[Path(file).suffix.lower() or "without an ending"] += 1
