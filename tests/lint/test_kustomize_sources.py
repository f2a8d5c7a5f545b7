"""Sources of replacements are looked for once, however many objects and layers ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from eks_gpushare.manifests import kustomize
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.kustomize import Kustomizations
from eks_gpushare.manifests.kustomize_replacements import with_replacements
from eks_gpushare.manifests.kustomize_sources import BuiltFile, Sources
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LAYERS = 9
OBJECTS = [
    *({"kind": "Job", "metadata": {"name": f"job-{number}"}} for number in range(12)),
    {"kind": "ConfigMap", "metadata": {"name": "par"}, "data": {"key": "filled"}},
]


def layers(source: str) -> dict[str, str]:
    """Kustomizations upon one another, each of which labels all Jobs."""
    target = "{select: {kind: Job}, fieldPaths: [metadata.labels.l%d], options: {create: true}}"
    files = {
        f"l{number}/kustomization.yaml": "\n".join(
            [
                "resources: [all.yaml]" if number == 0 else f"resources: [../l{number - 1}]",
                f"replacements: [{{source: {source}, targets: [{target % number}]}}]",
            ]
        )
        for number in range(LAYERS)
    }
    return {**files, "l0/all.yaml": yaml.safe_dump_all(OBJECTS)}


@pytest.mark.parametrize(
    ("source", "label", "others"),
    [
        ("{kind: ConfigMap, name: par, fieldPath: data.key}", "filled", 1),
        ("{kind: Conf.*, name: par, fieldPath: data.key}", "filled", 1),
        ("{kind: Job, name: job-3}", "job-3", 12),
        ("{name: job-3}", "job-3", 13),
    ],
)
def test_the_cost_does_not_grow_with_what_asks(
    source: str, label: str, others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def counted(value: Any, *rest: Any) -> Any:
        asked.append(value)
        return with_replacements(value, *rest)

    monkeypatch.setattr(kustomize, "with_replacements", counted)
    files = layers(source)
    made = Kustomizations([GivenFile(*each) for each in files.items()])
    documents = read_texts(files["l0/all.yaml"], "l0/all.yaml").documents
    values = [made.built(document)[0].value for document in documents]

    assert values[0]["metadata"]["labels"] == {f"l{each}": label for each in range(LAYERS)}
    assert len(asked) == LAYERS * len(OBJECTS) + others * sum(range(LAYERS + 1))


def sources(parts: list[BuiltFile], built: list[Any]) -> Sources:
    def along(value: Any, way: Sequence[str]) -> Any:
        built.append((value["metadata"]["name"], *way))
        return value

    return Sources(lambda _: parts, along)


def test_only_files_that_may_have_a_source_are_read() -> None:
    read: list[str] = []

    def part(file: str, text: str | None, *ways: list[str]) -> BuiltFile:
        def values() -> list[Any]:
            read.append(file)
            return [*OBJECTS, {"kind": None}, "a text"]

        return BuiltFile(file, text, values, ways)

    parts = [
        part("jobs.yaml", "kind: Job", ["a"]),
        part("in-none.yaml", "kind: ConfigMap"),
        part("two-ways.yaml", "kind: ConfigMap", ["a"], ["b", "a"]),
        part("kustomization.yaml", None, ["a"]),
    ]
    built: list[Any] = []
    all_of = sources(parts, built)
    source = {"kind": "ConfigMap"}
    found = [all_of.selected("a", source), all_of.selected("a", source)]

    assert found == [[OBJECTS[-1]] * 3] * 2
    assert read == ["two-ways.yaml", "kustomization.yaml"]
    assert built == [("par", "a"), ("par", "b", "a"), ("par", "a")]


@pytest.mark.parametrize(("depth", "found"), [(19, 1), (20, 0)])
def test_there_is_an_end_to_sources_that_ask_for_sources(depth: int, found: int) -> None:
    source = {"kind": "Job"}
    last: list[int] = []

    def parts(name: str) -> Iterator[BuiltFile]:
        yield BuiltFile(f"{name}.yaml", None, lambda: OBJECTS[:1], [[name]])

    def along(value: Any, way: Sequence[str]) -> Any:
        (name,) = way
        if name != str(depth):
            below = asked.selected(str(int(name) + 1), source)
            last[:] = last or [len(below)]
        return value

    asked = Sources(parts, along)

    assert len(asked.selected("0", source)) == 1
    assert last == [found]
