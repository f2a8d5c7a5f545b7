"""`.gpushare-lint.yaml`: what a repository says of its own files, once for all calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.reading import read_bytes, reason
from eks_gpushare.lint.declared import Declared
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME: Final = ".gpushare-lint.yaml"
_MOST: Final = 1024 * 1024
_KEYS: Final = ("scopes",)
_OF_SCOPE: Final = ("name", "paths")


class ConfigurationError(Exception):
    """The configuration cannot be used; its text says all that is wrong."""


def found_configuration(folder: Path) -> Path | None:
    """The configuration of a folder: its own, or the nearest above, as far as the repository."""
    for path in (folder, *folder.parents):
        if (path / NAME).is_file():
            return path / NAME
        if (path / ".git").exists():
            return None
    return None


def declared_in(file: Path | None) -> Declared:
    """How files belong together by a configuration; nothing is said where there is none.

    Raises:
        ConfigurationError: If it cannot be read or says what no configuration does.
    """
    if file is None:
        return Declared()
    try:
        text = read_bytes(file, _MOST).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = reason(error) if isinstance(error, OSError) else "it is no UTF-8"
        raise ConfigurationError(f"{file}: {why}") from None
    read = read_texts(text, str(file))
    if read.problems:
        first = read.problems[0]
        raise ConfigurationError(f"{file}:{first.line}: {first.message}")
    value = read.documents[0].value if read.documents else {}
    wrong = list(_wrong(value))
    if wrong:
        raise ConfigurationError("\n".join(f"{file}: {text}" for text in wrong))
    scopes = {scope["name"]: tuple(scope["paths"]) for scope in value.get("scopes") or ()}
    return Declared(paths=scopes, folder=str(file.parent))


def _wrong(value: Any) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"it is a mapping of {', '.join(_KEYS)}"
        return
    yield from (f"{key} is no key of it; it has {', '.join(_KEYS)}" for key in value.keys() - _KEYS)
    scopes = value.get("scopes")
    if scopes is not None and not isinstance(scopes, list):
        yield "scopes is a list of items with name and paths"
        return
    names: list[str] = []
    for number, scope in enumerate(scopes or ()):
        at = f"scopes[{number}]"
        if not isinstance(scope, dict):
            yield f"{at} has name and paths"
            continue
        for key in scope.keys() - _OF_SCOPE:
            yield f"{at}.{key} is no key of it; it has {' and '.join(_OF_SCOPE)}"
        name, paths = scope.get("name"), scope.get("paths")
        if not isinstance(name, str) or not name:
            yield f"{at}.name is a text"
        elif name in names:
            yield f"{at}.name is {name} again; a scope has a name of its own"
        else:
            names.append(name)
        is_list = isinstance(paths, list) and bool(paths)
        if not is_list or not all(isinstance(path, str) and path for path in paths or ()):
            yield f"{at}.paths is a list of files, folders or patterns such as clusters/prod/**"
