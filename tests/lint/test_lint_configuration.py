"""`.gpushare-lint.yaml`: where it is found, what it says, and what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.cli import main
from eks_gpushare.facts.index import every_fact, rule_of
from eks_gpushare.lint.all_rules import lint_rules
from eks_gpushare.lint.codes import UnknownCodeError, meant
from eks_gpushare.lint.configuration import configuration_in
from eks_gpushare.lint.declared import is_in_any
from eks_gpushare.lint.finding_files import (
    BASELINE,
    NAME,
    ConfigurationError,
    found_baseline,
    found_configuration,
)
from eks_gpushare.lint.report import FileReport, Placed
from eks_gpushare.lint.settings import Asked, LintSettings, common_folder

if TYPE_CHECKING:
    from collections.abc import Callable

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 0.5}}}]}
"""
"""Has GPU1114, an error."""
ALL = """\
apiVersion: v1
kind: Pod
metadata: {name: b}
spec:
  containers:
    - name: main
      env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]
"""
"""Has GPU1009, a warning."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def linted(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, dict[str, list[str]]]]:
    def run(*words: str) -> tuple[int, dict[str, list[str]]]:
        code = main(["lint", "--json", *words])
        document: Any = json.loads(capsys.readouterr().out)
        return code, {
            file["file"]: [f"{each['code']} {each['severity']}" for each in file["findings"]]
            for file in document["files"]
        }

    return run


def test_the_nearest_counts_as_far_as_the_repository(folder: Path) -> None:
    (folder.parent / NAME).write_text("scopes: []\n")
    assert found_configuration(folder / "a" / "b") is None
    (folder / NAME).write_text("scopes: []\n")
    assert found_configuration(folder / "a" / "b") == folder / NAME
    (folder / "a" / NAME).write_text("scopes: []\n")
    assert found_configuration(folder / "a" / "b") == folder / "a" / NAME
    (folder.parent / NAME).unlink()


def test_a_table_of_a_project_is_one_and_other_projects_are_none(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.gpushare-lint]\nignore = ["GPU1114"]\n')
    (folder / "a" / "pyproject.toml").write_text("[tool.ruff]\n")

    found = found_configuration(folder / "a" / "b")
    assert found == folder / "pyproject.toml"
    assert configuration_in(found).ignore == {"GPU1114"}
    (folder / NAME).write_text("{}\n")
    assert found_configuration(folder / "a" / "b") == folder / NAME


def test_a_baseline_is_found_like_a_configuration(folder: Path) -> None:
    (folder.parent / BASELINE).write_text("{}")
    assert found_baseline(folder / "a") is None
    (folder / BASELINE).write_text("{}")
    assert found_baseline(folder / "a" / "b") == folder / BASELINE
    (folder.parent / BASELINE).unlink()


def test_paths_begin_in_its_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / NAME).write_text("scopes: [{name: prod, paths: [a/b, '*-prod.yaml']}]\n")
    monkeypatch.chdir(folder / "a")
    settings = LintSettings()
    files = ["b/x.yaml", "../n-prod.yaml", "../other.yaml"]
    assert not any(settings.leaves_out(file) for file in files)

    assert settings.declared().scopes(files) == {"prod": frozenset(("b/x.yaml", "../n-prod.yaml"))}


def test_a_scope_is_of_files_that_have_its_configuration(folder: Path) -> None:
    (folder / NAME).write_text("scopes: [{name: rest, paths: [.]}]\n")
    (folder / "a" / NAME).write_text("scopes: [{name: own, paths: [b]}]\n")
    settings = LintSettings()
    files = ["x.yaml", "a/y.yaml", "a/b/z.yaml"]
    assert not any(settings.leaves_out(file) for file in files)

    assert settings.declared().scopes(files) == {
        "rest": frozenset(("x.yaml",)),
        "own": frozenset(("a/b/z.yaml",)),
    }


def test_what_is_missing_is_told_where_it_is_to_stand(folder: Path) -> None:
    (folder / NAME).write_text("scopes:\n- name: a\n  paths: [a]\n- name: b\n")

    with pytest.raises(ConfigurationError, match=rf"{NAME}:4: scopes\[1\]\.paths"):
        configuration_in(folder / NAME)


def test_each_file_has_the_configuration_that_is_nearest(
    folder: Path, linted: Callable[..., tuple[int, dict[str, list[str]]]]
) -> None:
    for name in ("x.yaml", "a/y.yaml", "a/b/z.yaml"):
        (folder / name).write_text(POD)
    (folder / NAME).write_text("ignore: [GPU1114]\n")
    (folder / "a" / "b" / NAME).write_text("severities: {GPU1114: warning}\n")

    told = {"x.yaml": [], "a/y.yaml": [], "a/b/z.yaml": ["GPU1114 warning"]}
    assert linted(".") == (0, told)
    # However it is given.
    assert linted("a/b/z.yaml") == (0, {"a/b/z.yaml": ["GPU1114 warning"]})
    assert linted("--no-config", "a/b/z.yaml") == (1, {"a/b/z.yaml": ["GPU1114 error"]})
    assert linted("--config", NAME, "a/b/z.yaml") == (0, {"a/b/z.yaml": []})


def test_what_is_excluded_is_not_read_even_if_it_is_named(
    folder: Path, linted: Callable[..., tuple[int, dict[str, list[str]]]]
) -> None:
    for name in ("x.yaml", "a/y.yaml"):
        (folder / name).write_text("a: [")
    (folder / NAME).write_text("exclude: ['a/*']\n")

    assert linted("--exclude", "**/x.yaml", "a/y.yaml", ".") == (0, {})


def test_what_is_left_out_is_so_by_the_configuration_or_the_call(folder: Path) -> None:
    (folder / NAME).write_text("exclude: [old]\n")
    settings = LintSettings(Asked(exclude=("made",)))
    files = ["-", "x.yaml", "old/x.yaml", "made/x.yaml", NAME]

    left_out = [file for file in files if settings.leaves_out(file)]
    assert left_out == ["old/x.yaml", "made/x.yaml", NAME]


@pytest.mark.parametrize(
    ("asked", "codes"),
    [
        (Asked(), ["GPU1114", "GPU1210"]),
        (Asked(select=frozenset({"GPU1114"})), ["GPU1114"]),
        (Asked(ignore=frozenset({"GPU1114"})), ["GPU1210"]),
        (Asked(security=False), ["GPU1114"]),
    ],
)
def test_what_the_command_line_looks_for(asked: Asked, codes: list[str]) -> None:
    settings = LintSettings(asked)

    assert [code for code in ("GPU1114", "GPU1210") if settings.looks_for(code)] == codes


def test_the_folder_of_a_call_is_that_of_all_it_names(folder: Path) -> None:
    (folder / "a" / "x.yaml").write_text("")

    assert common_folder(["a/x.yaml", "a/b"]) == str(folder / "a")
    assert common_folder(["-"]) == str(folder)


def test_codes_are_left_out_by_path(
    folder: Path, linted: Callable[..., tuple[int, dict[str, list[str]]]]
) -> None:
    for name in ("x.yaml", "a/y.yaml"):
        (folder / name).write_text(POD)
    (folder / NAME).write_text("paths: {a: [GPU1114]}\n")

    assert linted(".") == (1, {"x.yaml": ["GPU1114 error"], "a/y.yaml": []})


@pytest.mark.parametrize(
    ("words", "told", "code"),
    [
        ([], ["GPU1009 warning"], 0),
        (["--fail-on", "warning"], ["GPU1009 warning"], 1),
        (["--select", "GPU1114"], [], 0),
        (["--select", "gpu100*, GPU1114"], ["GPU1009 warning"], 0),
        (["--ignore", "GPU10*"], [], 0),
    ],
)
def test_the_command_line_chooses_too(
    words: list[str],
    told: list[str],
    code: int,
    folder: Path,
    linted: Callable[..., tuple[int, dict[str, list[str]]]],
) -> None:
    (folder / "x.yaml").write_text(ALL)

    assert linted(*words, "x.yaml") == (code, {"x.yaml": told})


def test_nothing_fails_by_never_but_what_cannot_be_read(
    folder: Path, linted: Callable[..., tuple[int, dict[str, list[str]]]]
) -> None:
    (folder / NAME).write_text("fail-on: never\n")
    (folder / "x.yaml").write_text(POD)
    (folder / "y.yaml").write_text("a: [")

    assert linted("x.yaml")[0] == 0
    assert linted("y.yaml") == (2, {"y.yaml": ["GPU1000 error"]})
    assert linted("--select", "GPU1114", "--ignore", "GPU10*", "y.yaml")[0] == 2


def test_what_is_not_looked_for_is_not_corrected(folder: Path) -> None:
    wrong = (
        "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: '4'}]}}"
    )
    (folder / "x.yaml").write_text(wrong)

    assert main(["lint", "--fix", "--ignore", "GPU102*", "x.yaml"]) == 0
    assert (folder / "x.yaml").read_text() == wrong
    assert main(["lint", "--fix", "x.yaml"]) == 0
    assert (folder / "x.yaml").read_text() == wrong.replace("'4'", "4")


SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, ports: [{name: web, containerPort: 80}]}]}
"""


def test_the_set_for_any_object_is_off_but_for_objects_about_gpus(
    folder: Path, linted: Callable[..., tuple[int, dict[str, list[str]]]]
) -> None:
    (folder / "x.yaml").write_text(SERVICE)
    (folder / "y.yaml").write_text(SERVICE.replace("name: web", "name: gpu-web"))

    assert linted("x.yaml") == (0, {"x.yaml": []})
    assert linted("--set", "kubernetes", "x.yaml") == (0, {"x.yaml": ["GPU1193 warning"]})
    assert linted("--select", "GPU1193", "x.yaml") == (0, {"x.yaml": ["GPU1193 warning"]})
    assert linted("y.yaml") == (0, {"y.yaml": ["GPU1193 warning"]})
    (folder / "z.yaml").write_text(f"{POD.replace('0.5', '1')}---\n{SERVICE}")
    assert linted("z.yaml") == (0, {"z.yaml": []})
    (folder / NAME).write_text("sets: [kubernetes]\n")
    assert linted("x.yaml") == (0, {"x.yaml": ["GPU1193 warning"]})


def test_a_severity_does_not_make_more_of_what_is_not_known(folder: Path) -> None:
    (folder / NAME).write_text("severities: {GPU1110: error, GPU1009: info}\n")
    settings = LintSettings()
    told = rule_of("GPU1110").finding((), "It cannot be decided.", "Give more.", "info")
    report = FileReport("x.yaml", found=(Placed(told, None),))
    assert settings.choose(report).findings == (told,)


def test_a_severity_makes_more_of_what_is_known(folder: Path) -> None:
    (folder / NAME).write_text("severities: {GPU1110: error, GPU1009: error}\n")
    told = [rule_of(code).finding((), "Wrong.", "Mend it.") for code in ("GPU1009", "GPU1110")]
    report = FileReport("x.yaml", found=tuple(Placed(each, None) for each in told))

    found = LintSettings().choose(report).findings
    assert [each.severity for each in found] == ["error", "error"]


def test_every_name_of_a_fact_means_its_codes_of_lint() -> None:
    codes = {rule.id for rule in lint_rules()}
    tried = 0
    for fact in every_fact():
        of_lint = codes.intersection(fact.names)
        for name in fact.names if of_lint else ():
            assert of_lint <= meant(name), name
            assert meant(name.lower()) == meant(name)
            tried += 1
    assert tried > 50


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("gpu1193x", "there is no code or policy 'gpu1193x'; did you mean GPU1193?"),
        ("GPU6543", "there is no code or policy 'GPU6543'; eks-gpushare findings lists all"),
        ("public-endpoint-not-opem", "did you mean public-endpoint-not-open?"),
        ("GPU11", "for all codes that begin so write GPU11*"),
        ("GPU9*", "no code of lint begins with GPU9; eks-gpushare findings lists all"),
        ("GPU201", "GPU201 is a code of check and nothing that lint says; remove it"),
        ("", "there is no code or policy ''; eks-gpushare findings lists all"),
    ],
)
def test_a_name_that_nothing_has(name: str, says: str) -> None:
    with pytest.raises(UnknownCodeError) as error:
        meant(name)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "{file}:1: not valid YAML: while parsing a flow node"),
        ("[]", "{file}: it is a mapping of select, ignore, sets, exclude, paths, severities, "),
        ("scope: []", "{file}:1: scope: scope is not a key of this block. Did you mean scopes?"),
        (
            "failOn: error",
            "{file}:1: failOn: failOn is not a key of this block. Did you mean fail-",
        ),
        ("scopes: {{}}", "{file}:1: scopes: {{}} is a mapping; a list is expected. Give a list."),
        ("scopes: [x]", '{file}:1: scopes[0]: "x" is text; a mapping is expected.'),
        ("scopes: [{{paths: [a]}}]", "{file}:1: scopes[0].name: name is required here. Add name."),
        (
            "scopes: [{{name: a, paths: [a]}}, {{name: a, paths: [b]}}]",
            "{file}:1: scopes[1].name: it is a again; a scope has a name of its own",
        ),
        (
            "scopes:\n- {{name: a, paths: a, x: 1}}",
            '{file}:2: scopes[0].paths: "a" is text; a list is expected. Write [a].\n{file}:2: sco',
        ),
        (
            "ignore:\n- GPU1114\n- GPU1141x",
            "{file}:3: ignore[1]: there is no code or policy",
        ),
        ("ignore: [GPU1000]", "{file}:1: ignore[0]: GPU1000 is not ignored, since of a file that"),
        ("exclude: [/tmp]", "{file}:1: exclude[0]: '/tmp' is absolute; paths begin in the folder"),
        ("exclude: ['a[b']", "{file}:1: exclude[0]: 'a[b' has a bracket without its other half"),
        ("paths: {{../a: [GPU1114]}}", "{file}:1: paths"),
        (
            "paths: {{a: [GPU1]}}",
            "{file}:1: paths.a[0]: there is no code or policy 'GPU1'; for",
        ),
        ("severities: {{GPU1114: fatal}}", '{file}:1: severities.GPU1114: "fatal" is not one of '),
        ("severities: {{GPU11141: info}}", "{file}:1: severities.GPU11141: there is no code"),
        ("sets: [kube]", '{file}:1: sets[0]: "kube" is not one of gpu, kubernetes.'),
        ("fail-on: warn", '{file}:1: fail-on: "warn" is not one of error, warning, info, never.'),
    ],
)
def test_what_is_wrong_is_said_all_at_once(
    text: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(NAME).resolve()
    file.write_text(text.format())
    Path("a/x.yaml").write_text(POD)

    with pytest.raises(ConfigurationError) as error:
        configuration_in(file)
    assert str(error.value).startswith(says.format(file=file))
    assert main(["lint", "a"]) == 2
    assert capsys.readouterr().err.startswith(f"eks-gpushare: {says.format(file=file)}")


def test_a_broken_project_file_is_told(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.gpushare-lint]\nignore = [\n")
    with pytest.raises(ConfigurationError, match="not valid TOML"):
        found_configuration(folder)
    (folder / "pyproject.toml").write_text('[tool.gpushare-lint]\nignore = ["GPU9999"]\n')
    with pytest.raises(ConfigurationError, match=r"pyproject.toml: ignore\[0\]: there is no code"):
        configuration_in(folder / "pyproject.toml")
    (folder / "x.toml").write_text("a = 1\n")
    with pytest.raises(ConfigurationError, match=r"it has no table \[tool.gpushare-lint\]"):
        configuration_in(folder / "x.toml")


def test_a_project_file_that_says_nothing_of_lint_may_be_broken(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.ruff\n")

    assert found_configuration(folder) is None


def test_a_file_that_is_no_text_is_told(folder: Path) -> None:
    (folder / NAME).write_bytes(b"ignore: [\xff]\n")

    with pytest.raises(ConfigurationError, match=r"yaml: it is no UTF-8$"):
        configuration_in(folder / NAME)


def test_what_the_command_line_has_wrong_is_told_together(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "x.yaml").write_text(POD)

    words = ["--select", "GPU1114,GPU7777x", "--exclude", "/a", "--set", "all", "x.yaml"]
    assert main(["lint", *words]) == 2
    told = capsys.readouterr().err
    assert all(each in told for each in ("--select: there is no", "--exclude '/a'", "--set 'all'"))


@pytest.mark.parametrize(
    ("path", "pattern", "is_in"),
    [
        ("a/b/c.yaml", "a", True),
        ("a/b/c.yaml", "a/", True),
        ("a/b/c.yaml", "a/**", True),
        ("a/b/c.yaml", "**/c.yaml", True),
        ("c.yaml", "**/c.yaml", True),
        ("a/c.yaml", "a/**/c.yaml", True),
        ("a/b/c.yaml", "*.yaml", True),
        ("a/b/c.yaml", "b", False),
        ("ab/c.yaml", "a", False),
        ("../c.yaml", "*", True),
    ],
)
def test_which_files_are_in_a_pattern(path: str, pattern: str, is_in: bool) -> None:
    assert is_in_any(path, (pattern,)) is is_in


def test_without_one_nothing_is_declared() -> None:
    settings = LintSettings(Asked())
    assert not settings.leaves_out("a.yaml")
    assert settings.declared().scopes(["a.yaml"]) == {}
