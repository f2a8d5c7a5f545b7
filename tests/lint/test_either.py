"""Commands with an `or` between them: what they apply need not be there together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eks_gpushare.lint import either
from eks_gpushare.lint.declared import Declared
from eks_gpushare.lint.dispatch import judged_files
from eks_gpushare.lint.either import NearFiles, Ways, ways_in
from eks_gpushare.lint.parts import Links
from eks_gpushare.lint.streaming import Files, judged_in_parts
from eks_gpushare.manifests.files import GivenFile, given_files

if TYPE_CHECKING:
    from collections.abc import Iterable

A, B, C = (f"kubectl apply -f {name}.yaml" for name in "abc")


def told(file: str, lines: Iterable[str]) -> list[tuple[int, int, int, str]]:
    """Each way as the first line of those beside it, its own lines and what it names."""
    ways = ways_in(file, "\n".join([*lines, ""]))
    begins: dict[int, int] = {}
    for way in ways:
        begins.setdefault(way.either, way.first)
    return [(begins[way.either], way.first, way.last, " ".join(sorted(way.names))) for way in ways]


BOTH = [(2, 2, 2, "a.yaml"), (2, 4, 4, "b.yaml")]


@pytest.mark.parametrize(
    ("comment", "is_or"),
    [
        ("# or", True),
        ("#OR:", True),
        ("# Or with KEDA:", True),
        ("## Alternatively, with helm/x.yaml", True),
        ("# or  using `helm` charts :", True),
        ("# Or by hand", True),
        ("# or else:", False),
        ("# Or rather: only then,", False),
        ("# Or watch it", False),
        ("# or later", False),
        ("# or when asked", False),
        ("# or without the notebook:", False),
        ("# Or with all of KEDA:", False),
        ("# Alternative dashboards are there", False),
        (f"# or: {A}", False),
        ("# Alternative:", True),
        ("# or-tools", False),
        ("# Orders", False),
        ("# Then, or later", False),
        ("or true", False),
    ],
)
def test_a_comment_that_begins_so_is_between_two_ways(comment: str, *, is_or: bool) -> None:
    assert told("a.md", ["```bash", A, comment, B, "```"]) == (BOTH if is_or else [])


@pytest.mark.parametrize(
    ("lines", "ways"),
    [
        ((C, "", A, "", "# or", B, "", C), [(3, 3, 3, "a.yaml"), (3, 6, 6, "b.yaml")]),
        ((C, "# this", A, "# or", B, "# then", C), [(3, 3, 3, "a.yaml"), (3, 5, 5, "b.yaml")]),
        ((C, A, "# or", B, C), [(1, 1, 2, "a.yaml c.yaml"), (1, 4, 5, "b.yaml c.yaml")]),
        ((A, "# or", "# the other", B), []),
        (
            (A, "# or", B, "# or", C),
            [(1, 1, 1, "a.yaml"), (1, 3, 3, "b.yaml"), (1, 5, 5, "c.yaml")],
        ),
        (
            (A, "# or", B, "", A, "# or", C),
            [
                *((1, 1, 1, "a.yaml"), (1, 3, 3, "b.yaml")),
                *((5, 5, 5, "a.yaml"), (5, 7, 7, "c.yaml")),
            ],
        ),
        ((A, "# or", f"# {B}", C), [(1, 1, 1, "a.yaml"), (1, 3, 3, "b.yaml")]),
        ((A, "# or", f"# {B}", f"# {C}"), [(1, 1, 1, "a.yaml"), (1, 3, 4, "b.yaml c.yaml")]),
        ((A, f"# or {B}", f"# {C}"), []),
        ((C, f"# {A}", "# or", B), [(2, 2, 2, "a.yaml"), (2, 4, 4, "b.yaml")]),
        (("# or", B), []),
        ((A, "# or"), []),
        ((A, "# or", "", B), []),
        ((A, "# Take this", "# or that", B), []),
    ],
)
def test_ways_go_up_to_a_blank_line_or_another_comment(
    lines: tuple[str, ...], ways: list[tuple[int, int, int, str]]
) -> None:
    moved = [(either + 1, first + 1, last + 1, names) for either, first, last, names in ways]

    assert told("a.md", ["```bash", *lines, "```"]) == moved


@pytest.mark.parametrize(
    ("prose", "is_or"),
    [
        (["", "Or with KEDA:", ""], True),
        (["**Alternatively**, with KEDA:"], True),
        (["Then.", " ", "1. or", ""], True),
        (["Or, with KEDA:", "", "And the pods:"], False),
        (["Alternatively, see the guide of NVIDIA."], False),
        (["Alternatively you can wait for it. Then:"], False),
        (["Or:", "those"], False),
        (["Then.", "", "> - Alternative KEDA:"], True),
        (["Use the autoscaler", "or KEDA:"], False),
        (["Or with KEDA:", "", "## KEDA", ""], False),
        (["And KEDA:"], False),
        (["Or with KEDA:", "```python", "a = 1", "```", "And the pods:"], False),
        (["```yaml", "alternative: KEDA", "```"], False),
    ],
)
def test_a_sentence_is_between_two_blocks(prose: list[str], *, is_or: bool) -> None:
    lines = ["```", A, "```", *prose, "```yaml", "kind: Pod", "a: b", "```"]
    behind = len(prose) + 5

    ways = [(2, 2, 2, "a.yaml"), (2, behind, behind + 1, "")]
    assert told("a.md", lines) == (ways if is_or else [])


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("kubectl apply -f x/a.yaml -f=b.yaml", "b.yaml x/a.yaml"),
        ("oc create --filename=a.yaml,b.yaml", "a.yaml b.yaml"),
        ("helm upgrade -i a repo/a \\\n  --values 'a.yaml'", "a.yaml"),
        ("kubectl apply -k ./overlay/", "overlay"),
        ("kubectl apply -f $HERE/a.yaml -f ${TOP}/b.yaml", "a.yaml b.yaml"),
        ("kubectl apply -f https://example.com/a.yaml -f -", ""),
        ("kubectl apply -f $(pwd)/a.yaml", ""),
        ("kubectl delete -f a.yaml", ""),
        ("kubectl logs -f a", ""),
    ],
)
def test_a_way_has_the_files_that_its_commands_apply(command: str, names: str) -> None:
    assert told("a.md", ["```sh", B, "# or", command, "```"])[1][3] == names


def test_of_a_script_one_way_is_put_out() -> None:
    assert told("a.sh", [C, A, "# or", B]) == []
    for name in ("a.sh", "a.bash"):
        out = told(name, [A, "# or", f"# {B}", C])
        assert out == [(1, 1, 1, "a.yaml"), (1, 3, 3, "b.yaml")]
    assert told("a.sh", [f"#{A}", "# or", B]) == [(1, 1, 1, "a.yaml"), (1, 3, 3, "b.yaml")]
    assert told("a.py", [A, "# or", f"# {B}"]) == []
    assert told("a.md", ["```", A, "# or", B, "```", "x" * 200_000]) == []


def test_of_very_many_the_first_are_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(either, "MOST", 1)

    assert told("a.md", ["```sh", A, "# or", B, "# or", C, "```"]) == BOTH


def test_a_name_means_what_lies_nearest_or_alone() -> None:
    known = NearFiles(("a/docs/x.yaml", "a/x.yaml", "a/m/y.yaml", "b/m/z.yaml", "c/d/z.yaml", "m"))

    assert known.meant("a/docs/g.md", "x.yaml") == "a/docs/x.yaml"
    assert known.meant("a/docs/g.md", "../x.yaml") == "a/x.yaml"
    assert known.meant("a/docs/g.md", "m") == "a/m"
    assert known.files_of("a/m") == ["a/m/y.yaml"]
    assert known.files_of("a/x.yaml") == ["a/x.yaml"]
    assert known.meant("g.md", "m/z.yaml") == "b/m/z.yaml"
    assert known.meant("g.md", "../../y.yaml") == "a/m/y.yaml"
    assert known.meant("g.md", "z.yaml") is None
    for name in ("z.yaml", "../z.yaml"):
        assert sorted(known.called(name)) == ["b/m/z.yaml", "c/d/z.yaml"]
    assert known.called("m/z.yaml") == ["b/m/z.yaml"]
    assert NearFiles(("z.yaml",)).called("z.yaml") == ["z.yaml"]
    assert known.meant("a/g.md", ".") is None
    assert known.meant("a/g.md", "no.yaml") is None


def test_names_of_one_folder_are_one_and_very_many_are_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(either, "MOST_NAMES", 2)
    apply = "kubectl apply -f ./m -f x/../m/ -f m -f {}.yaml"

    lines = ["```sh", apply.format("a"), "# or", "kubectl apply -f m", "```"]
    assert told("a.md", lines) == [(2, 2, 2, "a.yaml m"), (2, 4, 4, "m")]
    assert told("a.md", [*lines[:3], apply.format("b"), "```"]) == []


def test_a_folder_is_of_what_names_it_first() -> None:
    """So that many guides of many files cost no more than both."""
    first = f"```\n{A} -f m\n# or\nkubectl apply -f m\n```\n"
    other = "```\nkubectl apply -f m\n# or\nkubectl apply -f n\n```\n"
    ways = Ways({"a.md": first, "b.md": other, "m/x.yaml": "", "n/y.yaml": ""})

    assert ways.of_file("m/x.yaml") is None
    assert [of and of[0] for of in map(ways.of_file, ("n/y.yaml",))] == ["b.md"]


def test_many_guides_of_one_folder_join_it_once() -> None:
    links = Links()
    said = GUIDE.format("kubectl apply -f m\n# or\nkubectl apply -k ./m -f x.yaml")
    names = [f"{n}/g.md" for n in "abc"]
    for name in (*names, "m/1.yaml", "m/2/3.yaml", "p/x.yaml", "q/x.yaml", "r/y.yaml"):
        links.look_at(GivenFile(name, said if name in names else ""))

    joined = [*names, "m/1.yaml", "m/2/3.yaml", "p/x.yaml", "q/x.yaml"]
    assert links.parts({}) == [joined, ["r/y.yaml"]]


def test_a_file_of_several_ways_is_of_none() -> None:
    text = f"```\n{A} -f b.yaml\n# or\n{B} -f c.yaml\n\n{C}\n# or\n{B}\n```\n"
    ways = Ways({"g.md": text, "a.yaml": "", "b.yaml": "", "c.yaml": ""})

    found = {name: ways.of_file(f"{name}.yaml") for name in "abcd"}
    lines = {name: of[1].first for name, of in found.items() if of is not None}
    assert lines == {"a": 2, "b": 8, "c": 4}
    of_lines = [way.either if (way := ways.of_line("g.md", line)) else 0 for line in range(1, 10)]
    assert of_lines == [0, 4, 0, 4, 0, 8, 0, 8, 0]
    assert ways.of_line("a.yaml", 2) is None


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: model, namespace: ml}
spec:
  selector: {matchLabels: {app: model}}
  template:
    metadata: {labels: {app: model}}
    spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]}
"""
AUTOSCALER = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: by-load, namespace: ml}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: model}
  minReplicas: 1
  maxReplicas: 3
  metrics:
    - type: Resource
      resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}
"""
SCALED = """\
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: by-queue, namespace: ml}
spec:
  scaleTargetRef: {name: model}
  triggers:
    - type: cron
      metadata: {timezone: UTC, start: 0 8 * * *, end: 0 20 * * *, desiredReplicas: "2"}
"""
GUIDE = "# Scale\n\n```bash\n{}\n```\n"


@pytest.mark.parametrize("guide", ["how-to/scale.md", "k8s/README.md", "scale.sh"])
@pytest.mark.parametrize("is_or", [True, False])
def test_autoscalers_with_an_or_between_them_are_not_two(
    guide: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_or: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    hint = "# Or KEDA:" if is_or else "# And KEDA:"
    put_out = "# " if guide.endswith(".sh") else ""
    said = f"kubectl apply -f k8s/hpa.yaml\n{hint}\n{put_out}kubectl apply -f k8s/keda.yaml"
    for name, text in {
        "k8s/pods.yaml": DEPLOYMENT,
        "k8s/hpa.yaml": AUTOSCALER,
        "k8s/keda.yaml": SCALED,
        guide: said if put_out else GUIDE.format(said),
    }.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)

    parts = judged_in_parts(
        Files(["."]), Declared(), lambda some, every: judged_files(some, None, None, every)
    )
    whole = judged_files(given_files(["."]))[0]
    for reports in ([report for part in parts for report in part.made], whole):
        codes = {placed.finding.code for report in reports for placed in report.found}
        assert ("GPU1239" in codes) == (not is_or)


def test_a_guide_goes_with_what_is_one_or_the_other() -> None:
    links = Links()
    said = GUIDE.format("kubectl apply -f k8s/hpa.yaml\n# or\nkubectl apply -f keda.yaml")
    for name, text in {"how-to/scale.md": said, "k8s/hpa.yaml": "", "a/keda.yaml": ""}.items():
        links.look_at(GivenFile(name, text))
    links.look_at(GivenFile("b/other.yaml", ""))

    joined = ["how-to/scale.md", "k8s/hpa.yaml", "a/keda.yaml"]
    assert links.parts({}) == [joined, ["b/other.yaml"]]
