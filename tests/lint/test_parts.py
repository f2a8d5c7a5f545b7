"""Files judged part by part: the same as all at once, in the memory of the largest part."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.lint import streaming
from eks_gpushare.lint.declared import Declared
from eks_gpushare.lint.dispatch import judged_files
from eks_gpushare.lint.parts import Joined, Links
from eks_gpushare.lint.streaming import Files, judged_in_parts
from eks_gpushare.manifests.files import GivenFile, given_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.lint.report import FileReport

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: %s}
      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}
"""
CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: %s}
spec: {role: r, amiSelectorTerms: [{alias: al2023@latest}]}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: main, resources: {limits: {nvidia.com/%s: 1}}}]}
"""
MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: %s}
data:
  any: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: app}
spec: {source: {repoURL: "https://example.com/a.git", path: %s}}
"""
SCRIPT = "#!/bin/sh\nhelm install nvdp nvdp/nvidia-device-plugin -f %s\n"
VALUES = "config: {name: %s, default: any}\n"
KINDS = ("pool", "class", "pod", "map", "app", "sh", "values", "kust", "chart")
FOLDERS = (".", "a", "a/b", "c", "c/overlay")


def repository(chance: random.Random) -> dict[str, str]:
    """A random repository, of what joins files in every way."""
    files: dict[str, str] = {}
    for number in range(chance.randint(3, 14)):
        folder = chance.choice(FOLDERS)
        kind = chance.choice(
            ("pool", "class", "pod", "map", "app", "sh", "values", "kust", "chart")
        )
        name = chance.choice(("one", "two"))
        path = f"{folder}/{kind}-{number}.yaml"
        text = {
            "pool": POOL % name,
            "class": CLASS % name,
            "pod": POD % chance.choice(("gpu", "gpu.shared", "mig-1g.5gb")),
            "map": MAP % name,
            "app": APPLICATION % chance.choice(FOLDERS),
            "values": VALUES % name,
        }.get(kind, "")
        if kind == "sh":
            named = [each for each in files if "values" in each] or ["values.yaml"]
            path, text = f"{folder}/{number}.sh", SCRIPT % chance.choice(named)
        elif kind == "kust":
            path = f"{folder}/kustomization.yaml"
            inside = [each for each in files if each.endswith(".yaml")][:3]
            ups = "../" * (0 if folder == "." else folder.count("/") + 1)
            listed = "".join(f"- {ups}{each.removeprefix('./')}\n" for each in inside)
            text = f"resources:\n{listed}" if listed else "namespace: x\n"
        elif kind == "chart":
            path, text = f"{folder}/Chart.yaml", "name: x\nversion: 1.0.0\n"
        files[path] = text
    return files


def told(reports: tuple[FileReport, ...]) -> dict[str, Any]:
    return {
        report.file: sorted((f"{each.finding}", each.position) for each in report.found)
        for report in reports
    }


@pytest.mark.parametrize("seed", range(12))
def test_parts_say_what_the_whole_says(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(streaming, "_KEPT", 100 if seed % 2 else 10**6)
    for path, text in repository(random.Random(seed)).items():  # noqa: S311  (no secret)
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    files = Files(["."])
    parts = judged_in_parts(
        files, Declared(), lambda some, everywhere: judged_files(some, None, None, everywhere)
    )
    apart: dict[str, Any] = {}
    for part in parts:
        apart |= told(part.made)
    assert apart == told(judged_files(given_files(["."]))[0])


def test_a_name_that_one_other_file_has_joins_two_parts(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "pool.yaml").write_text(POOL % "one")
    (tmp_path / "b" / "class.yaml").write_text(CLASS % "one")
    sizes = []

    def judge(files: list[GivenFile], everywhere: Any) -> Any:
        sizes.append(len(files))
        return judged_files(files, None, None, everywhere)

    parts = judged_in_parts(Files([str(tmp_path)]), Declared(), judge)
    assert [len(part.files) for part in parts] == [2]
    assert sizes == [1, 1, 2]


@pytest.mark.parametrize(
    ("declared", "together", "sizes"),
    [
        (Declared(), False, [1, 1]),
        (Declared(), True, [2]),
        (Declared(together=True), False, [2]),
    ],
)
def test_files_may_be_declared_to_be_one_part(
    declared: Declared, together: bool, sizes: list[int], tmp_path: Path
) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "pod.yaml").write_text(POD % "gpu")

    parts = judged_in_parts(
        Files([str(tmp_path)]),
        declared,
        lambda some, everywhere: judged_files(some, None, None, everywhere),
        together=together,
    )
    assert [len(part.files) for part in parts] == sizes


@pytest.fixture
def piped(tmp_path: Path) -> Iterator[None]:
    """Standard input is a text of four characters, which can be read once."""
    (tmp_path / "piped").write_text("a: 0")
    before, given = os.dup(0), os.open(tmp_path / "piped", os.O_RDONLY)
    os.dup2(given, 0)
    yield
    os.dup2(before, 0)
    for opened in (before, given):
        os.close(opened)


@pytest.mark.usefixtures("piped")
@pytest.mark.parametrize(("most", "is_held"), [(8, True), (7, False)])
def test_texts_are_held_up_to_a_size_and_read_anew_beyond(
    most: int, is_held: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "_KEPT", most)
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text("a: 1")
    files = Files(["-", "x.yaml"])
    Path("x.yaml").write_text("a: 2")

    assert files.bytes == 8
    assert [file.text for file in files.read(["-", "x.yaml"])] == [
        "a: 0",
        "a: 1" if is_held else "a: 2",
    ]


@pytest.mark.parametrize(("most", "times"), [(1_000_000, 0), (10, 2)])
def test_cycles_are_collected_after_so_much_text(
    most: int, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collected: list[None] = []
    monkeypatch.setattr(streaming, "_COLLECTED", most)
    monkeypatch.setattr("gc.collect", lambda: collected.append(None))
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "pod.yaml").write_text(POD % "gpu")

    judged_in_parts(
        Files([str(tmp_path)]),
        Declared(),
        lambda some, everywhere: judged_files(some, None, None, everywhere),
    )
    assert len(collected) == times


def test_what_is_joined_with_joined_is_so_too() -> None:
    joined = Joined("abcdef")
    joined.join("ab")
    joined.join("xcd")
    joined.join("da")

    assert joined.groups() == [["a", "b", "c", "d"], ["e"], ["f"]]


def parts_of(files: dict[str, str]) -> list[list[str]]:
    links = Links()
    for name, text in files.items():
        links.look_at(GivenFile(name, text))
    return links.parts({})


def test_an_application_goes_with_the_kustomization_that_it_names() -> None:
    """Wherever the top of the repository is in which the application means it."""
    built, other = "clone/overlays/gpu/kustomization.yaml", "clone/base/kustomization.yaml"
    files = {"app.yaml": APPLICATION % "overlays/gpu", built: "namespace: x\n", other: ""}

    assert parts_of(files) == [["app.yaml", built], [other]]


WITH_FILES = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpu}
spec:
  sources:
    - {chart: gpu-operator, targetRevision: v25.3.0, helm: {valueFiles: [$values/gpu/prod.yaml]}}
    - {repoURL: here, ref: values}
"""


def test_an_application_goes_with_the_values_that_it_names() -> None:
    files = {"argo/a.yaml": WITH_FILES, "gpu/prod.yaml": "", "gpu/x/test.yaml": ""}

    assert parts_of(files) == [["argo/a.yaml", "gpu/prod.yaml"], ["gpu/x/test.yaml"]]


def test_a_configuration_of_terraform_goes_with_its_modules() -> None:
    call = 'module "eks" {\n  source = "../modules/eks"\n}\n'
    files = {"live/main.tf": call, "modules/eks/main.tf": "", "notes/a.yaml": f"a: |\n  {call}"}

    assert parts_of(files) == [["live/main.tf", "modules/eks/main.tf"], ["notes/a.yaml"]]


MEASURED = """
import sys
import time
from pathlib import Path
from eks_gpushare.cli import main
code = main(["lint", "--quiet", "--no-config", "."])
peak = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
print(code, int(peak) // 1024, file=sys.stderr)
"""


def test_variables_of_environments_go_with_the_configuration_above_them() -> None:
    links = Links()
    for name in ("infra/main.tf", "infra/envs/prod/a.tfvars", "other/main.tf"):
        links.look_at(GivenFile(name, "a = 1\n"))

    assert links.parts({}) == [["infra/main.tf", "infra/envs/prod/a.tfvars"], ["other/main.tf"]]


@pytest.mark.parametrize(
    ("script", "named", "together"),
    [
        ("scripts/up.sh", "addons/values.yaml", True),
        ("scripts/up.sh", "$ROOT/addons/values.yaml", True),
        ("scripts/up.sh", "values.yaml", False),  # which all charts have
        ("scripts/up.sh", "$DIR/values.yaml", False),
        ("docs/up.md", "addons/values.yaml", False),
    ],
)
def test_values_go_with_the_script_that_may_mean_them(
    script: str, named: str, together: bool
) -> None:
    text = SCRIPT % named
    files = {script: f"```sh\n{text}```\n" if script.endswith(".md") else text}

    parts = parts_of({**files, "a/addons/values.yaml": "a: 1\n", "b/addons/values.yaml": "a: 1\n"})

    assert len(parts) == (1 if together else 3)


def test_the_folder_of_a_call_stands_in_no_ones_way() -> None:
    """It is among the files by its own name, for what is said of what it holds."""
    links = Links()
    for name in ("infra/main.tf", "infra/envs/a.tfvars", "infra"):
        links.look_at(GivenFile(name, "a = 1\n" if "." in name else ""))

    assert len(links.parts({})) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_memory_is_that_of_the_largest_part(tmp_path: Path) -> None:
    """Some 25 MB of text, of which a part has one in a hundred."""
    padding = f"# {'x' * 98}\n" * 1200
    for number in range(200):
        folder = tmp_path / f"f{number // 2}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.yaml").write_text(padding + POD % "gpu")
    done = subprocess.run(
        [sys.executable, "-c", MEASURED],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        cwd=tmp_path,
    )

    code, peak = map(int, done.stderr.split())
    assert code == 0
    assert peak < 110, "all texts are held"


def test_a_script_goes_with_the_folders_that_it_names() -> None:
    files = {
        "deploy/Makefile": "a:\n\thelm upgrade -i own charts/own\n\tkubectl apply -f k8s/\n",
        "deploy/charts/own/Chart.yaml": "name: own\n",
        "deploy/charts/own/templates/pod.yaml": "kind: Pod\n",
        "k8s/pod.yaml": "kind: Pod\n",
        "other/pod.yaml": "kind: Pod\n",
        "notes.yaml": "text: see k8s and other\n",
    }
    first, *others = parts_of(files)

    assert sorted(first) == [*sorted(files)[:3], "k8s/pod.yaml"]
    assert others == [["other/pod.yaml"], ["notes.yaml"]]


@pytest.mark.parametrize("name", ["*.yaml", "b%d.yaml"])
def test_patterns_of_many_sets_are_found_by_the_names_of_files(name: str) -> None:
    links = Links()
    for number in range(150):
        last = name.replace("%d", str(number))
        named = "".join(
            f"a{index}: {{valueFiles: ['$own/*-{number}/x{index}/{last}']}}\n"
            for index in range(10)
        )
        links.look_at(GivenFile(f"sets/s{number}/set.yaml", f"kind: ApplicationSet\n{named}"))
        links.look_at(GivenFile(f"of-{number}/x3/b{number}.yaml", "a: b\n"))
    for number in range(1_500):
        links.look_at(GivenFile(f"other/k{number}/c{number}.yaml", "a: b\n"))

    began = time.process_time()
    groups = links.parts({})

    assert time.process_time() - began < 20
    together = {group[0]: group[1:] for group in groups}
    for number in range(150):
        assert f"of-{number}/x3/b{number}.yaml" in together[f"sets/s{number}/set.yaml"]
