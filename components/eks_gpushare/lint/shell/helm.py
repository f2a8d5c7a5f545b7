"""`helm install` and `helm upgrade`: which chart, by which values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.documents.helm import merge_values
from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import holds, partly_known
from eks_gpushare.lint.shell.flags import sorted_words
from eks_gpushare.lint.shell.repositories import added, last_of, not_there
from eks_gpushare.manifests.charts import DEVICE_PLUGIN, archived, version_of
from eks_gpushare.manifests.placeholders import GAP
from eks_gpushare.manifests.shell.said import placed_document
from eks_gpushare.manifests.shell.set_values import (
    file_settings,
    json_setting,
    literal_setting,
    put,
    settings,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare.findings.finding import FieldPath, Position
    from eks_gpushare.inventory.source import Maybe
    from eks_gpushare.lint.shell.flags import Line
    from eks_gpushare.manifests.shell.command import Command, Word
    from eks_gpushare.manifests.shell.said import Said

_SWITCHES: Final = frozenset(
    (
        *("install", "create-namespace", "wait", "atomic", "devel", "debug", "force", "no-hooks"),
        *("reuse-values", "reset-values", "reset-then-reuse-values", "generate-name", "skip-crds"),
        *(
            "dependency-update",
            "verify",
            "wait-for-jobs",
            "dry-run",
            "cleanup-on-fail",
            "hide-notes",
        ),
        *("render-subchart-notes", "include-crds", "replace", "take-ownership", "enable-dns"),
        *(
            "insecure-skip-tls-verify",
            "pass-credentials",
            "plain-http",
            "disable-openapi-validation",
        ),
        *(
            "skip-schema-validation",
            "rollback-on-failure",
            "force-update",
            "server-side",
            "force-conflicts",
        ),
    )
)
_SHORT: Final = {
    "i": "install",
    "n": "namespace",
    "f": "values",
    "g": "generate-name",
    "o": "output",
}
_VERBS: Final = ("install", "upgrade", "template")
_TAKES_AWAY: Final = ("uninstall", "delete", "del", "un")
_CONFIGS: Final[Mapping[tuple[str, ...], dict[str, Any]]] = {
    ("config",): {"config": UNKNOWN},
    ("devicePlugin", "config"): {"devicePlugin": {"config": UNKNOWN}},
}
"""Where charts are told the plugin's configurations, and values that do not tell."""
_ITS_REPOSITORY: Final = re.compile(r"nvdp/(?:\S*/)?k8s-device-plugin")
"""What is written for NVIDIA's plugin by those who take the repository's name for the chart's."""
_CLOSED: Final = ("stable", "incubator")
"""Repositories that Helm itself had until November 2020, whose charts others have led on since:
https://helm.sh/blog/charts-repo-deprecation."""
_SET: Final = ("set", "set-string", "set-json", "set-file", "set-literal")


def helm_release(command: Command, said: Said, *, to_file: bool = False) -> None:
    """Take what a `helm` command installs.

    Args:
        command: The command.
        said: What was found so far; this adds to it.
        to_file: Whether its output is written to a file, which may be read here too.
    """
    at = command.words[0].position
    line = sorted_words(command.words[1:], _SWITCHES, _SHORT)
    verb = line.plain[0].text if line.plain else ""
    if verb not in _VERBS:
        added(line.plain, said)
        if verb in _TAKES_AWAY:
            said.removes(at, *(word.text for word in line.plain[1:]))
        return
    plain = line.plain[1:]
    name, chart = _name_and_chart(plain, line)
    if chart is None:
        return
    namespace: Maybe[str] = "default"
    if (given := line.last("namespace")) is not None:
        namespace = given.value
    version = line.last("version")
    values, places, seen, files = _values(line, said)
    # Beside the name and the chart a word that is not known may be any flags.
    beside = len(plain) > 2 - line.has("generate-name")
    seen = seen and not (beside and any(word.text == GAP for word in plain))
    before = said.releases.get((name, namespace))
    if verb == "upgrade" and _reuses(line, values, seen=seen):
        if before is not None and isinstance(before.values, dict):
            values = merge_values(before.values, values)
            files = {**before.of_files, **files}
        elif before is not None or not line.has("install"):
            values = partly_known(values)  # those that it was installed with are not to be seen
    if before is not None and is_guide(said.file):
        values = _in_one_way(before.values, values)
        if verb == "install" or line.has("install"):
            values = _where_both_say_so(before.values, values)
    called = "" if name is UNKNOWN or not name else f" {name}"
    document = placed_document(said.file, values, at, places)
    arms = tuple(each for each in said.arms if before is None or each in before.source.arms)
    source = Source(f"the release{called} of {chart_name(chart)}", document, arms=arms)
    source = source.optional() if _is_written(line, verb, to_file=to_file) else source
    said.judgements += not_there(chart, source, said, line.last("repo"))
    release = Release(
        source=source,
        name=name,
        chart=chart_name(chart),
        version=_version(chart, version) or last_of(_addresses(chart, line, said)),
        namespace=namespace,
        values=values if seen else UNKNOWN,
        over={} if seen else values,
        of_files=files,
    )
    said.releases[name, namespace] = release


def _is_written(line: Line, verb: str, *, to_file: bool) -> bool:
    """Whether a chart is rendered, to a file or to be looked at, and not installed by this."""
    return line.has("dry-run") or (verb == "template" and (to_file or line.has("output-dir")))


def _in_one_way(before: Maybe[Mapping[str, Any]], values: dict[str, Any]) -> dict[str, Any]:
    """Values of a guide that has installed the chart in another way before.

    Which way is gone is not known, nor therefore the configurations that this one leaves out.
    """
    for path, unknown in _CONFIGS.items():
        if holds(before, *path) and not holds(values, *path):
            values = merge_values(values, unknown)
    return values


def _where_both_say_so(before: Any, values: Any) -> Any:
    """Values of a guide that shows how to install a release once more: one way or the other."""
    if isinstance(before, dict) and isinstance(values, dict):
        return {
            key: _where_both_say_so(before[key], value) if key in before else value
            for key, value in values.items()
        }
    return values if before in (values, UNKNOWN) else UNKNOWN


def _version(chart: str, given: Word | None) -> Maybe[str]:
    """Which version of a chart is installed; empty for the newest."""
    if _is_folder(chart) or chart.partition("/")[0] in _CLOSED:
        return UNKNOWN
    found: Maybe[str] = version_of(chart, "" if given is None else given.value)
    return found


def _addresses(chart: str, line: Line, said: Said) -> list[str]:
    """The addresses of the repository that a chart is taken from."""
    given = line.last("repo")
    known = said.repositories.get(chart.partition("/")[0], [])
    return known if given is None else [given.text]


def _is_folder(chart: str) -> bool:
    """Whether a reference is of a folder, where a chart of any version may lie."""
    is_path = chart.startswith((".", "/")) or chart.endswith("/") or chart.count("/") > 1
    return is_path and "://" not in chart and not chart.endswith(".tgz")


def _reuses(line: Line, values: dict[str, Any], *, seen: bool) -> bool:
    """Whether an upgrade keeps the values that there are, as it does too where it is given none."""
    if line.has("reset-values"):
        return False
    return line.has("reuse-values", "reset-then-reuse-values") or (seen and not values)


class Installed(NamedTuple):
    """What a command installs by files of values."""

    chart: str | None
    name: str
    """The release's; empty where it is not known."""
    files: tuple[str, ...]
    """Their names, with a gap for what is not known of one; the later go over the earlier."""
    is_all: bool
    """Whether the command names no others."""


def chart_and_files(words: Sequence[Word]) -> Installed:
    """The chart that a command installs, and the files of values that it names.

    Args:
        words: The command.
    """
    line = sorted_words(words[1:], _SWITCHES, _SHORT)
    if not line.plain or line.plain[0].text not in _VERBS:
        return Installed(None, "", (), is_all=True)
    name, chart = _name_and_chart(line.plain[1:], line)
    files = [name for _, word in line.every("values") for name in word.text.split(",")]
    whole = not line.has("reuse-values", "reset-then-reuse-values")
    called = name if isinstance(name, str) else ""
    made_of = None if chart is None else chart_name(chart)
    return Installed(made_of, called, tuple(files), is_all=whole)


def chart_name(reference: str) -> str:
    """The chart's own name in a reference: of a repository, a registry, a folder or an archive."""
    if _ITS_REPOSITORY.fullmatch(reference):
        return DEVICE_PLUGIN
    found = archived(reference)
    return reference.rstrip("/").rpartition("/")[2] if found is None else found[0]


def _name_and_chart(plain: Sequence[Word], line: Line) -> tuple[Maybe[str], str | None]:
    """Name and reference of the chart; `helm upgrade NAME CHART` may have them on either side."""
    if line.has("generate-name"):
        return UNKNOWN, str(plain[0].text) if plain else None
    # A variable of more than there may be is of words of its own, or of none.
    match [word for word in plain if word.text != GAP] if plain[2:] else plain:
        case [name, chart, *_]:
            reference = _archive(chart.text) or chart.value
            if reference is UNKNOWN:
                return name.value, None
            # Charts come from `repository/chart`; a name has no slash.
            if "/" in name.text and "/" not in chart.text:
                return chart.value, name.text
            return name.value, str(reference)
        case _:
            return UNKNOWN, None


def _archive(reference: str) -> str:
    """The file of an archive in a folder that is not known, which is called like its chart."""
    folder, _, file = reference.rpartition("/")
    return file if GAP in folder and GAP not in file and file.endswith(".tgz") else ""


class _Values(NamedTuple):
    """Values that a command gives, merged as Helm does."""

    values: dict[str, Any]
    places: dict[FieldPath, Position]
    """Where each stands."""
    seen: bool
    """Whether all of them could be read."""
    files: dict[FieldPath, str]
    """Files whose text is a value, which this text does not write, by its place."""


def _values(line: Line, said: Said) -> _Values:
    values: dict[str, Any] = {}
    places: dict[FieldPath, Position] = {}
    files: dict[FieldPath, str] = {}
    seen = True
    for _, word in line.every("values"):
        for file in word.text.split(","):
            found = said.values_written(file)
            if isinstance(found, dict):
                values = merge_values(values, found)
            else:
                seen = False
    for flag, word in line.every(*_SET):
        if flag == "set-json":
            given = json_setting(word.text)
        elif flag == "set-literal":
            given = literal_setting(word.text)
        elif flag == "set-file":
            named = file_settings(word.text)
            given = [each._replace(value=said.text_written(each.value)) for each in named]
            read = {each.path for each in given if each.value is not UNKNOWN}
            files |= {each.path: each.value for each in named if each.path not in read}
        else:
            given = settings(word.text, strings=flag == "set-string")
        for setting in given:
            put(values, setting.path, setting.value)
            for length in range(1, len(setting.path)):
                places.setdefault(setting.path[:length], word.position)
            places[setting.path] = word.position
    return _Values(values, places, seen, files)
