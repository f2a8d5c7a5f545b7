"""Putting corrected files in the place of those that are there, each at once."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.documents.reading import STDIN
from eks_gpushare.manifests.files import marked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.lint.fixes import Fixed

_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class _Staged(NamedTuple):
    temporary: Path
    path: Path


def write(fixed: Iterable[Fixed]) -> list[str]:
    """Replace files by what they are once corrected; all of them are tried before one is.

    A link stays, and the file that it leads to is replaced. Mode, owner and extended attributes are
    kept, and so are the encoding, its mark and line ends.

    Returns:
        What there is to say of them: which file stands behind a link.

    Raises:
        OSError: If one cannot be written as it was, or has changed since it was read: it is
            read-only, has several names, or belongs to somebody else. Then none is written.
    """
    told: list[str] = []
    contents: dict[Path, tuple[Fixed, bytes]] = {}
    for file in fixed:
        if file.file == STDIN:
            continue
        path = Path(file.file).resolve()
        content = _checked(file, path)
        other = contents.setdefault(path, (file, content))
        if other[1] != content:
            raise OSError(f"{file.file} and {other[0].file} are one file; give one of them")
        if Path(file.file).is_symlink():
            told.append(f"{file.file} is a link to {path}, which is written")
    staged: list[_Staged] = []
    try:
        for path, (_, content) in contents.items():
            staged.append(_staged(path, content))
        for one in staged:
            one.temporary.replace(one.path)
            _flush(one.path.parent)
    finally:
        for one in staged:
            one.temporary.unlink(missing_ok=True)
    return told


def _checked(each: Fixed, path: Path) -> bytes:
    """The new content of a file that can be replaced."""
    content = path.read_bytes()
    mark, encoding = marked(content)
    if content != mark + each.before.encode(encoding):
        raise OSError(f"{each.file} has changed since it was read")
    status = path.stat()
    if not status.st_mode & _WRITABLE or not os.access(path, os.W_OK):
        raise OSError(f"{each.file} is read-only; make it writable: chmod u+w {each.file}")
    if status.st_nlink > 1:
        names = f"{status.st_nlink} names (hard links)"
        raise OSError(f"{each.file} has {names}, which would no longer be one file")
    return mark + each.after.encode(encoding)


def _staged(path: Path, content: bytes) -> _Staged:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        _as_it_was(path, temporary)
    except BaseException:
        temporary.unlink()
        raise
    return _Staged(temporary, path)


def _as_it_was(path: Path, temporary: Path) -> None:
    status, made = path.stat(), temporary.stat()
    if (status.st_uid, status.st_gid) != (made.st_uid, made.st_gid):
        try:
            os.chown(temporary, status.st_uid, status.st_gid)
        except OSError as error:
            raise OSError(f"{path} belongs to another user or group, which would change") from error
    temporary.chmod(stat.S_IMODE(status.st_mode))
    for name in os.listxattr(path) if hasattr(os, "listxattr") else ():
        if not name.startswith("security."):  # which the system sets by itself
            os.setxattr(temporary, name, os.getxattr(path, name))


def _flush(folder: Path) -> None:
    """Have the folder's new entry on the disk too, where its file system knows that."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
