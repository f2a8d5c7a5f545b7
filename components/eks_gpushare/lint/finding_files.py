"""Where the configuration and the baseline of a folder are, and what a configuration comes to."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from eks_gpushare.documents.reading import read_bytes, reason
from eks_gpushare.lint.declared import Declared

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from eks_gpushare.findings.finding import Severity

NAME: Final = ".gpushare-lint.yaml"
PYPROJECT: Final = "pyproject.toml"
TABLE: Final = ("tool", "gpushare-lint")
BASELINE: Final = ".gpushare-lint-baseline.json"
"""The baseline of a repository that names no other."""
_MOST: Final = 1024 * 1024

Threshold: TypeAlias = Literal["error", "warning", "info", "never"]
"""The least severity of findings that fail a call."""


@dataclass(frozen=True, slots=True)
class LintConfiguration:
    """What a repository or a call says of files: which are read, and what of findings counts."""

    folder: str = "."
    """The folder that patterns begin in."""
    select: frozenset[str] | None = None
    """Codes that are looked for; None for those of the sets that are on."""
    ignore: frozenset[str] = frozenset()
    by_path: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Codes that are not looked for, by patterns of files."""
    sets: frozenset[str] = frozenset()
    exclude: tuple[str, ...] = ()
    severities: Mapping[str, Severity] = field(default_factory=dict)
    fail_on: Threshold = "error"
    baseline: Path | None = None
    scopes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    file: Path | None = None
    """Where it is written; None of what only a call says."""

    @property
    def declared(self) -> Declared:
        """How files belong together."""
        return Declared(paths=self.scopes, folder=self.folder)


class ConfigurationError(Exception):
    """The configuration cannot be used; its text says all that is wrong."""


def found_configuration(folder: Path) -> Path | None:
    """The configuration of a folder: its own, or the nearest above, as far as the repository."""
    for above in (folder, *folder.parents):
        if (above / NAME).is_file():
            return above / NAME
        if (above / PYPROJECT).is_file() and table_of(above / PYPROJECT) is not None:
            return above / PYPROJECT
        if (above / ".git").exists():
            return None
    return None


def found_baseline(folder: Path) -> Path | None:
    """The baseline of a folder: its own, or the nearest above, as far as the repository."""
    for above in (folder, *folder.parents):
        if (above / BASELINE).is_file():
            return above / BASELINE
        if (above / ".git").exists():
            return None
    return None


def table_of(file: Path) -> Any:
    """The table of a project's TOML; None where it has none.

    Raises:
        ConfigurationError: If it cannot be read.
    """
    text = text_of(file)
    if TABLE[-1] not in text:
        return None
    try:
        value: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{file}: not valid TOML: {error}") from None
    for key in TABLE:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_of(file: Path) -> str:
    """The text of a configuration.

    Raises:
        ConfigurationError: If it cannot be read.
    """
    try:
        return read_bytes(file, _MOST).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = reason(error) if isinstance(error, OSError) else "it is no UTF-8"
        raise ConfigurationError(f"{file}: {why}") from None
