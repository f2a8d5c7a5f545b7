"""`.gpushare-lint.yaml`: what a repository says of its own files, once for all calls."""

# pydantic needs the annotations themselves.

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eks_gpushare.findings.finding import FieldPath, Severity, dotted
from eks_gpushare.findings.sets import SETS
from eks_gpushare.lint.codes import ALWAYS, UnknownCodeError, meant
from eks_gpushare.lint.declared import wrong_pattern
from eks_gpushare.lint.finding_files import (
    TABLE,
    ConfigurationError,
    LintConfiguration,
    Threshold,
    table_of,
    text_of,
)
from eks_gpushare.manifests.texts import read_texts
from eks_gpushare.validation.shape import shape_findings, unknown_keys

_NOT_IGNORED: Final = (
    f"{ALWAYS} is not ignored, since of a file that cannot be read nothing is known; leave the "
    "file out by exclude"
)

Say: TypeAlias = Callable[[FieldPath, str], None]
"""Notes what is wrong at a place."""
Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[Text, ...], Field(strict=False)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class WrittenScope(_Model):
    """Files that belong together."""

    name: Text
    paths: Annotated[Texts, Field(min_length=1)]


class Written(_Model):
    """A configuration as it is written."""

    select: Texts | None = None
    """Codes that are looked for. Default: all."""
    ignore: Texts = ()
    """Codes that are not."""
    sets: Annotated[tuple[Literal[SETS], ...], Field(strict=False)] = ()  # type: ignore[valid-type]
    """Sets beside `gpu` that are on."""
    exclude: Texts = ()
    """Files, folders and patterns that are not read."""
    paths: dict[Text, Texts] = {}
    """Codes that are not looked for in some files, by files, folders and patterns."""
    severities: dict[Text, Severity] = {}
    """Severities in place of those that codes have."""
    fail_on: Annotated[Threshold | None, Field(alias="fail-on")] = None
    baseline: Text | None = None
    """The file with findings that are known."""
    scopes: Annotated[tuple[WrittenScope, ...], Field(strict=False)] = ()


def configuration_in(file: Path) -> LintConfiguration:
    """What a file says: YAML, or TOML with a table `[tool.gpushare-lint]`.

    Raises:
        ConfigurationError: If it cannot be read or says what no configuration does.
    """
    if file.suffix == ".toml":
        lines: dict[FieldPath, int] = {}
        value = table_of(file)
        if value is None:
            raise ConfigurationError(f"{file}: it has no table [{'.'.join(TABLE)}]")
    else:
        value, lines = _yaml(file)
    wrong: list[str] = []

    def say(at: FieldPath, text: str) -> None:
        line = next((lines[at[:n]] for n in range(len(at), 0, -1) if at[:n] in lines), 0)
        place = f"{file}:{line}" if line else f"{file}"
        wrong.append(f"{place}: {dotted(at)}{': ' if at else ''}{text}")

    try:
        written = Written.model_validate({} if value is None else value)
    except ValidationError as error:
        _say_shape(error, value, say)
        written = None
    made = _Compiler(file, say).compiled(written) if written is not None else None
    if wrong or made is None:
        raise ConfigurationError("\n".join(wrong))
    return made


def _say_shape(error: ValidationError, value: Any, say: Say) -> None:
    details = error.errors()
    if not isinstance(value, dict):
        say((), f"it is a mapping of {', '.join(_keys())}")
        return
    # Of a union only one branch was meant.
    unique = {(each["loc"], each["type"]): each for each in details}
    unknown = unknown_keys(list(unique.values()), Written, by_alias=True)
    for finding in shape_findings(list(unique.values()), _keys(), unknown=unknown):
        say(finding.at, f"{finding.message} {finding.fix}")


def _keys() -> list[str]:
    return [info.alias or name for name, info in Written.model_fields.items()]


class _Compiler:
    """Makes of a configuration what files are held against."""

    def __init__(self, file: Path, say: Say) -> None:
        self._file, self._say = file, say

    def compiled(self, written: Written) -> LintConfiguration:
        self._scopes(written.scopes)
        self._patterns(("exclude",), enumerate(written.exclude))
        self._patterns(("paths",), ((each, each) for each in written.paths))
        by_path = {path: self._codes(("paths", path), each) for path, each in written.paths.items()}
        return LintConfiguration(
            folder=str(self._file.parent),
            select=None if written.select is None else self._codes(("select",), written.select),
            ignore=self._codes(("ignore",), written.ignore),
            by_path=by_path,
            sets=frozenset(written.sets),
            exclude=written.exclude,
            severities=self._severities(written.severities),
            fail_on=written.fail_on or "error",
            baseline=self._file.parent / written.baseline if written.baseline else None,
            scopes={scope.name: scope.paths for scope in written.scopes},
            file=self._file,
        )

    def _codes(self, at: FieldPath, given: Iterable[str]) -> frozenset[str]:
        found: set[str] = set()
        for number, name in enumerate(given):
            codes = self._meant((*at, number), name)
            if codes == {ALWAYS} and at[0] != "select":
                self._say((*at, number), _NOT_IGNORED)
            found |= codes
        return frozenset(found)

    def _meant(self, at: FieldPath, name: str) -> frozenset[str]:
        try:
            return meant(name)
        except UnknownCodeError as error:
            self._say(at, f"{error}")
            return frozenset()

    def _severities(self, given: Mapping[str, Severity]) -> dict[str, Severity]:
        return {
            code: severity
            for name, severity in given.items()
            for code in self._meant(("severities", name), name)
        }

    def _scopes(self, scopes: Sequence[WrittenScope]) -> None:
        names = [scope.name for scope in scopes]
        for number, scope in enumerate(scopes):
            if scope.name in names[:number]:
                told = f"it is {scope.name} again; a scope has a name of its own"
                self._say(("scopes", number, "name"), told)
            self._patterns(("scopes", number, "paths"), enumerate(scope.paths))

    def _patterns(self, at: FieldPath, given: Iterable[tuple[str | int, str]]) -> None:
        for key, pattern in given:
            if (why := wrong_pattern(pattern)) is not None:
                self._say((*at, key), f"{pattern!r} {why}")


def _yaml(file: Path) -> tuple[Any, dict[FieldPath, int]]:
    text = text_of(file)
    read = read_texts(text, str(file))
    if read.problems:
        first = read.problems[0]
        raise ConfigurationError(f"{file}:{first.line}: {first.message}")
    if not read.documents:
        return {}, {}
    document = read.documents[0]
    places = dict.fromkeys(_places(document.value, ()))
    return document.value, {at: document.position(at).line for at in places}


def _places(value: Any, at: FieldPath) -> Iterator[FieldPath]:
    entries: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        entries = list(value.items())
    elif isinstance(value, list):
        entries = list(enumerate(value))
    for key, inner in entries:
        yield (*at, key)
        yield from _places(inner, (*at, key))
