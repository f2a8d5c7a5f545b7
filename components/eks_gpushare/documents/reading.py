"""Reading a file that somebody names, within bounds.

A name may stand for anything: a pipe that nobody writes to, a device that never ends, a directory.
So what it is is looked at before it is read, and no more is read than anybody could have meant.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from pathlib import Path

STDIN: Final = "-"
"""Stands for standard input where a file is asked for."""

_GUIDES: Final = (".md", ".markdown", ".mdx", ".txt", ".rst", ".adoc")
"""Endings of documentation, which may show a part of something, or one of several."""
EXAMPLES: Final = frozenset(("example", "examples", "sample", "samples", "demo", "demos", "smoke"))
"""Names of folders that hold pods to try a cluster with, and nothing that it is made of."""
_SCRIPTS: Final = (".sh", ".bash")
_MACHINES: Final = re.compile(
    r"(?:^|[/._-])(?:on-?prem(?:ises?)?|bare-?metal|dgx|minikube|kind|k3[sd]|microk8s|kubeadm"
    r"|rke2?|talos|proxmox)(?:[/._-])",
    re.IGNORECASE,
)
"""Words of names of files and folders that are for no nodes of EKS."""
_KINDS: Final = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_DESCRIPTORS: Final = ("/dev/fd/", "/proc/self/fd/")
"""What a shell hands over as `<(command)`, and what stands for open streams."""
_STREAM: Final = "/dev/stdin"
_CHUNK: Final = 64 * 1024


def is_guide(file: str) -> bool:
    """Whether a file is documentation by its name."""
    return file.lower().endswith(_GUIDES)


def is_example(file: str) -> bool:
    """Whether a file lies in a folder of examples, or in one of those below that.

    What is further above may be where somebody keeps repositories.
    """
    return not EXAMPLES.isdisjoint(file.lower().split("/")[-3:-1])


def is_for_machines(file: str) -> bool:
    """Whether a script is called after machines of one's own: `up-onprem.sh`, `k3s/gpu.sh`."""
    return file.lower().endswith(_SCRIPTS) and _MACHINES.search(file) is not None


class NoFileError(OSError):
    """What is named is no file that can be read, or too large; `strerror` says why."""


def read_bytes(path: str | Path, most: int) -> bytes:
    """The content of a file, or of a stream that is open already: `-`, /dev/stdin, `<(command)`.

    Args:
        path: What is to be read.
        most: Most bytes of it.

    Raises:
        OSError: If it cannot be read, is no file, or is larger. `strerror` says so in words.
    """
    name = str(path)
    if name in {STDIN, _STREAM}:
        return _stream(0, most)
    number = name.rpartition("/")[2]
    if name.startswith(_DESCRIPTORS) and number.isascii() and number.isdecimal():
        return _stream(int(number), most)
    try:
        # Without a writer a pipe would keep us waiting before it could be looked at.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:  # a NUL in the name
        raise NoFileError(errno.EINVAL, f"{error}") from None
    except OSError as error:
        if error.errno == errno.ENXIO:
            _refused("a socket")
        raise
    try:
        status = os.fstat(descriptor)
        for is_kind, what in _KINDS:
            if is_kind(status.st_mode):
                _refused(what)
        if status.st_size > most:
            _too_large(f"{status.st_size:,}", most)
        return _up_to(descriptor, most)
    finally:
        os.close(descriptor)


def _stream(descriptor: int, most: int) -> bytes:
    """What a stream holds until its writer closes it."""
    try:
        status = os.fstat(descriptor)
    except (OSError, OverflowError):
        raise NoFileError(errno.EBADF, "nothing is open there") from None
    if stat.S_ISDIR(status.st_mode):
        _refused("a directory")
    if os.isatty(descriptor):
        _refused("a terminal")
    return _up_to(descriptor, most)


def _up_to(descriptor: int, most: int) -> bytes:
    content = bytearray()
    while len(content) <= most:
        try:
            chunk = os.read(descriptor, min(_CHUNK, most + 1 - len(content)))
        except BlockingIOError:  # a stream that somebody made one that does not wait
            os.set_blocking(descriptor, True)
            continue
        if not chunk:
            return bytes(content)
        content += chunk
    return _too_large(f"more than {most:,}", most)


def _refused(what: str) -> NoReturn:
    raise NoFileError(errno.EINVAL, f"it is {what}, not a file")


def _too_large(size: str, most: int) -> NoReturn:
    raise NoFileError(errno.EFBIG, f"it has {size} bytes; {most:,} are the most that are read")


def reason(error: Exception) -> str:
    """Why something could not be read, in a few words."""
    if isinstance(error, OSError) and error.strerror:
        text = error.strerror
        return text if isinstance(error, NoFileError) else f"{text[:1].lower()}{text[1:]}"
    return str(error)
