"""`init`: what it writes can be checked, planned and run, and nothing is written by halves."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from eks_gpushare.cli import writing
from eks_gpushare.scaffold import texts
from eks_gpushare.scaffold.choices import (
    MODES,
    Choices,
    complete,
    kubernetes_version,
    project_name,
    regions,
    suitable_types,
)
from eks_gpushare.scaffold.project import first_project
from eks_gpushare.stack_file.check import check_stack_file
from eks_gpushare.stack_file.file import stack_file_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Run

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.scaffold.choices import Mode

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 22)
FILES = [
    ".gitignore",
    "Pulumi.yaml",
    "__main__.py",
    "requirements.txt",
    "stack-file.schema.json",
    "stacks/Pulumi.dev.yaml",
    "workload.yaml",
]
KUBECONFIG = {
    "clusters": [{"name": "c", "cluster": {"server": "https://c.example.com"}}],
    "users": [{"name": "u", "user": {"token": "t"}}],
    "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u"}}],
    "current-context": "one",
}


@pytest.fixture(autouse=True)
def no_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)


def written(folder: Path) -> list[str]:
    return sorted(f.relative_to(folder).as_posix() for f in folder.rglob("*") if f.is_file())


def stack(folder: Path, name: str = "dev") -> dict[str, Any]:
    text = (folder / f"stacks/Pulumi.{name}.yaml").read_text(encoding="utf-8")
    environment: dict[str, Any] = yaml.safe_load(text)["config"]["eks-gpushare:environment"]
    return environment


# --- what comes out -----------------------------------------------------------------------------


def worth_knowing(choices: Choices) -> list[Finding]:
    text = texts.stack_file(complete(choices), TODAY)
    report = check_stack_file(stack_file_of(text, "Pulumi.dev.yaml"), today=TODAY)
    return [each for each in report.findings if each.severity != "info"]


def kinds() -> Iterator[Choices]:
    start = Choices("mine", region="us-west-2")
    yield start
    yield replace(start, cluster="theirs")
    yield replace(start, kubeconfig="k", region=None)


@pytest.mark.parametrize("mode", MODES)
def test_every_type_that_suits_makes_a_stack_without_errors(mode: Mode) -> None:
    wrong = [
        (each.name, kind, str(found))
        for kind in kinds()
        for each in suitable_types(mode, "us-west-2")
        for found in worth_knowing(replace(kind, mode=mode, instance_type=each.name))
        if found.severity == "error"
    ]

    assert wrong == []


@pytest.mark.parametrize("region", regions())
def test_every_region_has_a_type_for_every_mode_or_says_that_it_has_none(region: str) -> None:
    for mode in MODES:
        types = suitable_types(mode, region)
        some = {
            each.name: each
            for each in (*types[:1], *(t for t in types if len(t.zones[region]) < 2))
        }
        for name in some:
            choices = Choices("mine", region=region, mode=mode, instance_type=name)

            assert [str(f) for f in worth_knowing(choices) if f.severity == "error"] == []


def test_the_default_stack_has_nothing_to_know_but_that_nobody_else_is_admin() -> None:
    assert [each.code for each in worth_knowing(Choices("mine"))] == ["GPU613"]
    admin = ("arn:aws:iam::111122223333:role/Platform",)
    assert worth_knowing(Choices("mine", admins=admin, public_cidrs=("203.0.113.0/24",))) == []


def test_the_version_of_kubernetes_is_supported_and_not_the_newest() -> None:
    assert kubernetes_version(TODAY) == ("1.35", "1.35.8-20260930")
    assert kubernetes_version(date(2040, 1, 1))[0] == "1.35"


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("my-gpus", "my-gpus"),
        ("Team GPUs (new)", "Team-GPUs-new"),
        ("2026", "gpu-2026"),
        ("é", "gpu-sharing"),
        ("", "gpu-sharing"),
        ("...", "gpu-sharing"),
    ],
)
def test_a_project_is_called_after_its_folder(folder: str, name: str) -> None:
    assert project_name(folder) == name


# --- the files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_what_is_written_is_checked_planned_and_judged(mode: str, tmp_path: Path, run: Run) -> None:
    made = run("init", "--mode", mode, "--name", "mine", cwd=tmp_path)

    assert made.code == 0
    assert written(tmp_path) == FILES
    assert run("check", "stacks/Pulumi.dev.yaml", cwd=tmp_path).code == 0
    assert run("preview", "dev", cwd=tmp_path).code == 0
    assert run("policy", "dev", cwd=tmp_path).code == 0


@pytest.mark.parametrize(
    ("words", "cluster"),
    [
        (("--cluster", "theirs"), {"existing": {"name": "theirs"}}),
        (("--kubeconfig", "k"), {"existing": {"kubeconfig": "../k"}}),
        (
            ("--kubeconfig", "k", "--context", "one"),
            {"existing": {"kubeconfig": "../k", "context": "one"}},
        ),
    ],
)
def test_a_cluster_that_is_there_is_named(
    words: tuple[str, ...], cluster: dict[str, Any], tmp_path: Path, run: Run
) -> None:
    (tmp_path / "k").write_text(yaml.safe_dump(KUBECONFIG), encoding="utf-8")
    made = run("init", "mine", *words, cwd=tmp_path)

    assert made.code == 0, made.err
    assert stack(tmp_path / "mine")["cluster"] == cluster
    assert run("preview", "dev", cwd=tmp_path / "mine").code == 0


def test_the_workload_asks_for_what_the_pool_has(tmp_path: Path, run: Run) -> None:
    layout = "1g.5gb=2,2g.10gb=1,3g.20gb=1"
    run("init", "--type", "p4d.24xlarge", "--layout", layout, cwd=tmp_path)
    pool = run("preview", "dev", "--json", cwd=tmp_path).json["pools"]["gpu"]
    documents = yaml.safe_load_all((tmp_path / "workload.yaml").read_text(encoding="utf-8"))
    pods = [each["spec"]["template"]["spec"] for each in documents]
    asked = {r for pod in pods for r in pod["containers"][0]["resources"]["limits"]}

    assert asked == {name for name, count in pool["atDesired"].items() if count}
    assert all(pod["nodeSelector"] == pool["nodeSelector"] for pod in pods)
    assert all(pod["tolerations"] == pool["tolerations"] for pod in pods)


def test_json_lists_the_files(tmp_path: Path, run: Run) -> None:
    made = run("init", "--json", cwd=tmp_path)

    assert sorted(made.json["files"]) == FILES
    assert {each["severity"] for each in made.json["findings"]} == {"warning", "info"}


def test_the_next_commands_fit_a_terminal(tmp_path: Path, run: Run) -> None:
    made = run("init", "my-project", cwd=tmp_path)

    assert max(map(len, made.out.splitlines())) <= 99
    after = made.out.partition("Go on with")[2]
    assert max(map(len, after.splitlines())) <= 79
    assert "  eks-gpushare lab run dev --apply workload.yaml" in after


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--mode", "mig", "--type", "g6.xlarge"), "GPU203"),
        (("--type", "p3.8xlarge"), "GPU104"),
        (("--type", "p3dn.24xlarge", "--region", "eu-north-1"), "GPU107"),
        (("--type", "g6.xlrge"), "GPU101"),
        (("--type", "t3.large"), "GPU102"),
        (("--replicas", "1"), "GPU201"),
        (("--replicas", "0"), "GPU201"),
        (("--type", "p4d.24xlarge", "--layout", "all-9g.5gb"), "GPU220"),
        (("--public-cidr", "0.0.0.0/0"), "GPU608"),
        (("--admin", "me"), "GPU612"),
        (("--kubeconfig", "lost"), "GPU470"),
    ],
)
def test_what_does_not_work_is_refused_before_anything_is_written(
    words: tuple[str, ...], code: str, tmp_path: Path, run: Run
) -> None:
    made = run("init", *words, "--json", cwd=tmp_path)

    assert made.code == 1
    assert made.json["files"] == []
    assert code in {each["code"] for each in made.json["findings"]}
    assert code in made.err
    assert written(tmp_path) == []


@pytest.mark.parametrize(
    "words",
    [
        ("--cluster", "a", "--kubeconfig", "b"),
        ("--context", "a"),
        ("--mode", "exclusive", "--replicas", "4"),
        ("--mode", "mps", "--layout", "all-1g.5gb"),
        ("--cluster", "a", "--public-cidr", "203.0.113.0/24"),
        ("--cluster", "a", "--zone", "us-west-2a"),
        ("--subnet", "subnet-0aaaaaaaaaaaaaaaa"),
        ("--mode", "slicing"),
        ("--region", "us_west_2"),
        ("--public-cidr", "203.0.113.7/24"),
        ("--public-cidr", "home"),
        ("--stack", "a/b"),
        ("--name", "my project"),
        ("--layout", "1g.5gb=x"),
        ("--mode", "mig", "--region", "af-south-1"),
    ],
)
def test_words_that_contradict_or_mean_nothing_are_wrong_usage(
    words: tuple[str, ...], tmp_path: Path, run: Run
) -> None:
    made = run("init", *words, cwd=tmp_path)

    assert (made.code, made.out) == (2, "")
    assert made.err.startswith(("eks-gpushare: ", "usage: "))
    assert written(tmp_path) == []


@pytest.mark.parametrize("spelled", ["time-slicing", "TimeSlicing", "timeslicing", "time_slicing"])
def test_a_mode_may_be_spelled_as_elsewhere(spelled: str, tmp_path: Path, run: Run) -> None:
    run("init", "--mode", spelled, cwd=tmp_path)

    assert stack(tmp_path)["pools"]["gpu"]["sharing"] == {"mode": "timeSlicing", "replicas": 4}


@pytest.mark.parametrize(
    ("given", "cidr"), [("54.240.197.7", "54.240.197.7/32"), ("203.0.113.0/24", "203.0.113.0/24")]
)
def test_a_network_opens_the_public_endpoint_to_itself(
    given: str, cidr: str, tmp_path: Path, run: Run
) -> None:
    made = run("init", "--public-cidr", given, cwd=tmp_path)

    assert stack(tmp_path)["cluster"]["endpoint"] == {"public": True, "publicCidrs": [cidr]}
    assert "private" not in made.out


def test_without_a_network_the_api_is_private_and_that_is_said(tmp_path: Path, run: Run) -> None:
    made = run("init", cwd=tmp_path)

    assert "endpoint" not in stack(tmp_path)["cluster"]
    assert "the Kubernetes API is private" in made.out


def test_the_region_is_that_of_the_environment(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    run("init", cwd=tmp_path)

    assert "aws:region: eu-central-1" in (tmp_path / "stacks/Pulumi.dev.yaml").read_text()


def test_a_cluster_and_project_of_odd_names_are_text(tmp_path: Path, run: Run) -> None:
    run("init", "--name", "no.dots", "--stack", "yes", cwd=tmp_path)

    assert stack(tmp_path, "yes")["cluster"]["name"] == "no-dots-yes"
    assert run("preview", "yes", cwd=tmp_path).code == 0
    run("init", "x", "--cluster", "null", cwd=tmp_path)
    assert stack(tmp_path / "x")["cluster"] == {"existing": {"name": "null"}}


# --- writing ------------------------------------------------------------------------------------


def test_a_file_that_is_there_stops_everything(tmp_path: Path, run: Run) -> None:
    (tmp_path / "requirements.txt").write_text("mine\n", encoding="utf-8")
    refused = run("init", cwd=tmp_path)

    assert refused.code == 2
    assert "  requirements.txt\n--force writes over them.\n" in refused.err
    assert written(tmp_path) == ["requirements.txt"]
    assert run("init", "--force", cwd=tmp_path).code == 0
    assert written(tmp_path) == FILES
    assert "eks-gpushare" in (tmp_path / "requirements.txt").read_text(encoding="utf-8")


def test_what_git_leaves_out_is_never_written_over(tmp_path: Path, run: Run) -> None:
    (tmp_path / ".gitignore").write_text("mine\n", encoding="utf-8")

    assert run("init", "--force", cwd=tmp_path).code == 0
    assert (tmp_path / ".gitignore").read_text(encoding="utf-8") == "mine\n"


def test_the_same_again_writes_nothing(tmp_path: Path, run: Run) -> None:
    run("init", cwd=tmp_path)
    again = run("init", "--json", cwd=tmp_path)

    assert (again.code, again.json["files"]) == (0, [])


def test_a_second_stack_is_added_to_the_project(tmp_path: Path, run: Run) -> None:
    run("init", "--name", "first", cwd=tmp_path)
    added = run("init", "--stack", "prod", "--mode", "mps", "--json", cwd=tmp_path)

    assert added.json["files"] == ["stacks/Pulumi.prod.yaml", "workload-prod.yaml"]
    assert stack(tmp_path, "prod")["cluster"]["name"] == "first-prod"
    assert run("preview", "prod", cwd=tmp_path).code == 0


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_in_the_middle_leaves_nothing(
    error: BaseException, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[Path] = []

    def third_fails(self: Path, target: Path) -> Path:
        if len(moved) == 2:
            raise error
        moved.append(target)
        os.replace(self, target)  # noqa: PTH105  (the original is what is replaced)
        return target

    (tmp_path / "p").mkdir()
    (tmp_path / "p/Pulumi.yaml").write_text("name: mine\nruntime: nodejs\n", encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", third_fails)
        made = run("init", "p", "--force", cwd=tmp_path)

    assert made.code == (130 if isinstance(error, KeyboardInterrupt) else 2)
    assert written(tmp_path) == ["p/Pulumi.yaml"]
    assert not (tmp_path / "p/stacks").exists()
    assert (tmp_path / "p/Pulumi.yaml").read_text() == "name: mine\nruntime: nodejs\n"


def test_a_folder_where_a_file_should_be_is_said(tmp_path: Path, run: Run) -> None:
    (tmp_path / "Pulumi.yaml").mkdir()
    made = run("init", "--force", cwd=tmp_path)

    assert made.code == 2
    assert made.err.endswith("Pulumi.yaml: Is a directory\n")
    assert written(tmp_path) == []


def test_a_file_keeps_its_folder_writable_by_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        writing.write_files({tmp_path / "a/b": "text"})
    finally:
        os.umask(before)

    assert (tmp_path / "a/b").stat().st_mode & 0o777 == 0o640


# --- questions ----------------------------------------------------------------------------------


def answer(folder: Path, answers: list[str], *words: str) -> tuple[int, str, str]:
    """Run the command on a terminal of its own, and type an answer at each prompt."""
    keyboard, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "eks_gpushare", "init", *words],
        cwd=folder,
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
        start_new_session=True,
        preexec_fn=_own_terminal,  # noqa: PLW1509  (there are no threads here)
    )
    os.close(terminal)
    shown, rest = b"", list(answers)
    while read := _read(keyboard):
        shown += read
        if shown.endswith(b": ") and rest:
            typed = rest.pop(0)
            os.write(
                keyboard, typed.encode() if typed in {"\x03", "\x04"} else f"{typed}\n".encode()
            )
    out, _ = process.communicate(timeout=60)
    os.close(keyboard)
    return process.returncode, out, shown.decode().replace("\r\n", "\n")


def _read(keyboard: int) -> bytes:
    try:
        return os.read(keyboard, 4096)
    except OSError:  # the terminal is gone with its last user
        return b""


def _own_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_on_a_terminal_enter_takes_every_default(tmp_path: Path) -> None:
    code, out, shown = answer(tmp_path, [""] * 9)

    assert code == 0, shown
    assert written(tmp_path) == FILES
    assert out.startswith("7 files written\n")
    assert "Cluster\n  1 new " in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_on_a_terminal_wrong_answers_are_asked_again(tmp_path: Path) -> None:
    typed = [
        *("my project", "mine", ""),
        *("9", "1", "us-wset-2", "us-west-2"),
        *("mig", "g6.xlarge", "p4d.24xlrge", "p4d.24xlarge"),
        *("all-9g", "1g.5gb=x", "all-balanced"),
        *("2", "home", "54.240.197.7"),
    ]
    code, _, shown = answer(tmp_path, typed)

    assert code == 0, shown
    assert "did you mean us-west-2?" in shown
    assert "The L4 in g6.xlarge has no MIG." in shown
    assert "did you mean p4d.24xlarge?" in shown
    environment = stack(tmp_path)
    assert environment["pools"]["gpu"]["sharing"] == {"mode": "mig", "layout": "all-balanced"}
    assert environment["gpuStack"] == {"manager": "gpuOperator"}
    assert environment["cluster"]["endpoint"]["publicCidrs"] == ["54.240.197.7/32"]
    assert max(map(len, shown.splitlines())) <= 80


def test_what_is_given_is_not_asked_for(tmp_path: Path) -> None:
    given = ("--name", "a", "--stack", "b", "--cluster", "c", "--region", "us-east-1")
    code, _, shown = answer(tmp_path, [""] * 4, *given)

    assert code == 0, shown
    assert "Name of" not in shown
    assert "Cluster" not in shown
    assert "region" not in shown


@pytest.mark.parametrize(
    ("typed", "code", "said"),
    [
        (["", "", "\x03"], 130, "interrupted"),
        (["", "", "\x04"], 2, "the input ended before the last answer: nothing was written"),
    ],
)
def test_leaving_in_the_middle_writes_nothing(
    typed: list[str], code: int, said: str, tmp_path: Path
) -> None:
    ended, out, shown = answer(tmp_path, typed)

    assert (ended, out) == (code, "")
    assert said in shown
    assert written(tmp_path) == []


def test_nothing_is_asked_when_told_so(tmp_path: Path) -> None:
    code, _, shown = answer(tmp_path, [], "--no-input")

    assert (code, shown) == (0, "")
    assert written(tmp_path) == FILES


def test_the_program_and_the_schema_are_those_of_this_repository() -> None:
    project = first_project(complete(Choices("eks-gpushare")), today=TODAY)

    assert project.files["__main__.py"] == (ROOT / "__main__.py").read_text(encoding="utf-8")
    assert project.files["stack-file.schema.json"] == (
        (ROOT / "docs/stack-file.schema.json").read_text(encoding="utf-8")
    )
    ours = yaml.safe_load((ROOT / "Pulumi.yaml").read_text(encoding="utf-8"))
    made = yaml.safe_load(project.files["Pulumi.yaml"])
    assert {key: made[key] for key in ("name", "runtime", "stackConfigDir")} == {
        key: ours[key] for key in ("name", "runtime", "stackConfigDir")
    }
    assert made["config"]["environment"]["type"] == ours["config"]["environment"]["type"]


def test_time_slicing_goes_on_top_of_mig(run: Run, tmp_path: Path) -> None:
    words = ("--layout", "all-1g.10gb", "--type", "p5.4xlarge", "--replicas", "2")
    ran = run(
        "init", str(tmp_path), *words, "--zone", "us-west-2a", "--zone", "us-west-2b", "--yes"
    )

    assert (ran.code, ran.err) == (0, "")
    assert stack(tmp_path)["pools"]["gpu"]["sharing"] == {
        "mode": "mig",
        "layout": "all-1g.10gb",
        "timeSlicing": {"replicas": 2},
    }
    assert "advertises nvidia.com/mig-1g.10gb: 14" in ran.out
    text = (tmp_path / "stacks/Pulumi.dev.yaml").read_text(encoding="utf-8")
    assert "isolated devices, each for 2 pods that take turns." in text


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (("--find-links", "dist"), "--find-links {}\n"),
        ((), "# No release is on PyPI yet: build wheels from a clone, and name their folder: --"),
    ],
)
def test_requirements_say_where_the_package_is(
    run: Run, tmp_path: Path, given: tuple[str, ...], written: str
) -> None:
    folder = tmp_path / "project"
    made = run("init", str(folder), *given, "--yes", cwd=tmp_path)
    text = (folder / "requirements.txt").read_text(encoding="utf-8")

    assert ("no release is on PyPI yet" in made.out) is (not given)
    assert written.format("../dist") in text
    assert text.splitlines()[-1].startswith("eks-gpushare[policy]==")
