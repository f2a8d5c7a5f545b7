"""What is one or the other: files that have the same object, sections that show several ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.items import (
    PART_OF_POD,
    ConfigMap,
    Namespace,
    NodeLaunch,
    NodeSet,
    Quota,
    Release,
    SecretKeys,
    Workload,
)
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.lint import alternatives as choosing
from eks_gpushare.lint import sections
from eks_gpushare.lint.alternatives import alternatives
from eks_gpushare.manifests.charts import DEVICE_PLUGIN, OPERATOR
from eks_gpushare.manifests.document import Document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.inventory.items import Item


def source(file: str, line: int = 1, build: str = "") -> Source:
    return Source("it", Document(file, {}, lambda _: Position(line, 1), build=build))


def pods(file: str, line: int = 1, build: str = "", **more: Any) -> Workload:
    given = {"name": "a", "namespace": "ml", "kind": "Deployment", **more}
    return Workload(source=source(file, line, build), **given)


def nodes(file: str, line: int = 1, name: str = "a", provisioner: Any = "karpenter") -> NodeSet:
    return NodeSet(source=source(file, line), name=name, provisioner=provisioner)


def chart(file: str, line: int = 1, name: str = DEVICE_PLUGIN) -> Release:
    return Release(source=source(file, line), name="a", namespace="ml", chart=name)


def chosen(*items: Item, texts: Mapping[str, str] | None = None) -> list[list[int]]:
    """The choices, each as the numbers of its items."""
    number = {id(item): index for index, item in enumerate(items)}
    return [[number[id(item)] for item in group] for group in alternatives(items, texts or {})]


BOTH, EITHER = [[0, 1]], [[0], [1]]


@pytest.mark.parametrize(
    ("one", "other", "choices"),
    [
        (pods("a.yaml"), pods("b.yaml"), EITHER),
        (pods("a.yaml"), pods("a.yaml"), BOTH),
        (pods("a.yaml"), pods("b.yaml", name="b"), BOTH),
        (pods("a.yaml"), pods("b.yaml", namespace="b"), BOTH),
        (pods("a.yaml"), pods("b.yaml", kind="Job"), BOTH),
        (pods("a.yaml", kind=PART_OF_POD), pods("b.yaml", kind=PART_OF_POD), BOTH),
        (pods("a.yaml", name=UNKNOWN), pods("b.yaml", name=UNKNOWN), BOTH),
        (pods("a.yaml", name=""), pods("b.yaml", name=""), BOTH),
        (pods("a.yaml", namespace=UNKNOWN), pods("b.yaml", namespace=UNKNOWN), EITHER),
        (pods("a.yaml", build="one"), pods("b.yaml", build="one"), BOTH),
        (pods("a.yaml"), pods("b.yaml", build="one"), BOTH),
        (nodes("a.yaml"), nodes("b.yaml"), EITHER),
        (nodes("a.yaml"), nodes("b.yaml", name="b"), BOTH),
        (nodes("a.yaml"), nodes("b.yaml", provisioner="managed"), BOTH),
        (nodes("a.yaml", provisioner="byHand"), nodes("b.yaml", provisioner="byHand"), BOTH),
        (chart("a.yaml"), chart("b.yaml"), BOTH),
        (
            ConfigMap(source=source("a.yaml"), name="a", namespace="ml"),
            ConfigMap(source=source("b.yaml"), name="a", namespace="ml"),
            EITHER,
        ),
        (
            ConfigMap(source=source("a.yaml"), name="a", namespace="ml"),
            SecretKeys(source=source("b.yaml"), name="a", namespace="ml"),
            BOTH,
        ),
        (
            SecretKeys(source=source("a.yaml"), name="a", namespace="ml"),
            SecretKeys(source=source("b.yaml"), name="a", namespace="ml"),
            EITHER,
        ),
        (
            Quota(source=source("a.yaml"), name="a", namespace="ml", kind="ResourceQuota"),
            Quota(source=source("b.yaml"), name="a", namespace="ml", kind="ClusterQueue"),
            BOTH,
        ),
        (
            Namespace(source=source("a.yaml"), name="a"),
            Namespace(source=source("b.yaml"), name="a"),
            BOTH,
        ),
        (
            NodeLaunch(source=source("a.yaml"), name="a"),
            NodeLaunch(source=source("b.yaml"), name="a"),
            BOTH,
        ),
    ],
)
def test_an_object_cannot_be_there_twice(one: Item, other: Item, choices: list[list[int]]) -> None:
    assert chosen(one, other) == choices


def test_what_no_other_file_has_is_in_each_choice_in_its_order() -> None:
    files = (pods("a.yaml"), pods("c.yaml", name="c"), pods("b.yaml"), pods("d.yaml", name="d"))

    assert chosen(*files) == [[0, 1, 3], [1, 2, 3]]
    assert chosen() == [[]]


GUIDE = """\
# A guide

## One way

text

## Another way

text

### More of it

text

# The end
"""


@pytest.mark.parametrize(
    ("items", "choices"),
    [
        ((nodes("g.md", 4), nodes("g.md", 8, "b")), EITHER),
        ((nodes("g.md", 2), nodes("g.md", 8, "b")), BOTH),  # what stands before both holds for each
        ((nodes("g.md", 4), nodes("g.md", 12, "b")), EITHER),
        ((nodes("g.md", 8), nodes("g.md", 12, "b")), BOTH),
        ((nodes("g.md", 8), nodes("g.md", 16, "b")), EITHER),
        ((nodes("g.md", 4), nodes("g.md", 5, "b")), BOTH),
        ((nodes("g.md", 6), nodes("g.md", 7, "b")), EITHER),
        ((nodes("g.md", 4), nodes("g.md", 8, "b", "byHand")), BOTH),
        ((nodes("g.md", 4), nodes("g.yaml", 8, "b")), EITHER),
        ((nodes("g.md", 4), nodes("g.yaml", 8, "b", "byHand")), BOTH),
        ((pods("g.md", 4), nodes("g.yaml", 8, "b")), BOTH),
        ((nodes("g.md", 4), pods("g.yaml", 8)), BOTH),
        ((chart("g.md", 4), chart("g.md", 8, OPERATOR)), EITHER),
        ((chart("g.md", 4), chart("g.md", 8, "karpenter")), BOTH),
        ((chart("g.md", 4), nodes("g.md", 8)), BOTH),
        ((chart("g.yaml", 4), chart("g.md", 8, OPERATOR)), BOTH),
        ((pods("g.md", 4), pods("g.md", 8)), EITHER),
        ((pods("g.MD", 4), pods("g.MD", 8)), EITHER),
        ((pods("g.md", 4), nodes("g.md", 8), nodes("g.md", 16, "b")), [[0, 1], [2]]),
    ],
)
def test_a_guide_shows_several_ways(items: tuple[Item, ...], choices: list[list[int]]) -> None:
    assert chosen(*items, texts={"g.md": GUIDE, "g.MD": GUIDE}) == choices


def test_ways_within_a_way_are_told_apart() -> None:
    text = "# A\n\n## B\n\n## C\n\n# D\n"
    given = (
        *(nodes("g.md", 2), nodes("g.md", 4, "b"), nodes("g.md", 6, "c"), nodes("g.md", 8, "d")),
        pods("g.md", 4, name="x"),
    )

    assert chosen(*given, texts={"g.md": text}) == [[0, 1, 4], [0, 2], [3]]


def test_what_all_ways_of_a_file_have_is_had_by_those_of_others() -> None:
    text = "# A\n\n## B\n\n## C\n"
    given = (
        *(pods("g.md", 2, name="x"), nodes("g.md", 4, "b"), nodes("g.md", 6, "c")),
        *(pods("b.yaml"), pods("c.yaml")),
    )

    assert chosen(*given, texts={"g.md": text}) == [[0, 1], [0, 2], [0, 3], [0, 4]]


@pytest.mark.parametrize(("most", "choices"), [(2, [[0, 2], [1, 2]]), (1, [[2], [0], [1]])])
def test_of_very_many_each_is_judged_alone(
    most: int, choices: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "MOST", most)

    assert chosen(pods("a.yaml"), pods("b.yaml"), pods("c.yaml", name="c")) == choices


@pytest.mark.parametrize(
    ("before", "is_heading"),
    [
        ("", True),
        ("```\n# a comment\n```\n", True),
        ("~~~sh\n", False),
        ("```\n~~~\n", False),
        ("```\n~~~\n```\n", True),
        ("````\n```\n", False),
        ("````\n```\n````\n", True),
        ("```\n````\n", True),
        ("> ```\n", False),
        ("  ```\n  ```\n", True),
        ("``\n", True),
    ],
)
def test_a_heading_is_none_within_a_block_of_code(before: str, is_heading: bool) -> None:
    """As CommonMark has it: a fence ends with one that is as long at least, of the same sign."""
    text = f"{before}# A\n\n# B\n"
    lines = before.count("\n")

    found = chosen(pods("g.md", lines + 2), pods("g.md", lines + 4), texts={"g.md": text})
    assert found == (EITHER if is_heading else BOTH)


@pytest.mark.parametrize(
    ("before", "is_heading"),
    [("- a\n\n  ```\n", True), ("- a\n\n\t~~~\n  b\n", True), ("```\n", False), ("> ```\n", False)],
)
def test_a_list_s_open_block_of_code_ends_with_the_list(before: str, *, is_heading: bool) -> None:
    lines = before.count("\n")
    given = pods("g.md", lines + 2), pods("g.md", lines + 4)

    found = chosen(*given, texts={"g.md": f"{before}## A\n\n## B\n"})
    assert found == (EITHER if is_heading else BOTH)
    # A comment of its commands is no heading.
    assert chosen(*given, texts={"g.md": f"{before}# A\n\n# B\n"}) == BOTH


@pytest.mark.parametrize(
    ("heading", "is_one"), [("####### B", False), ("#B", False), ("#\tB", True)]
)
def test_a_heading_has_at_most_six_signs_and_a_blank(heading: str, is_one: bool) -> None:
    text = f"# A\n\n{heading}\n"

    found = chosen(pods("g.md", 2), pods("g.md", 4), texts={"g.md": text})
    assert found == (EITHER if is_one else BOTH)


CLUSTERS = """\
# Where to run it

text

## Cloud

```bash
{}
```

## Add-ons

text

## Own machines

### Begin

```bash
{}
```

### Go on

text

## Clean up

text
"""


@pytest.mark.parametrize(
    ("one", "other", "is_apart"),
    [
        ("eksctl create cluster --name a", "sudo kubeadm init --v=5", True),
        ("eksctl create cluster --name a", "$ eksctl create cluster --name=b", True),
        ("eksctl create cluster --name a", "eksctl create cluster --name a --fargate", False),
        ("eksctl create cluster --name a", 'eksctl create cluster --name "$NAME"', False),
        ("eksctl create cluster \\\n  --name a", "aws eks create-cluster --name b", True),
        ("eksctl create cluster -f a.yaml", "aws eks create-cluster --name b", False),
        ("eksctl create nodegroup --name a", "kubeadm init", False),
        ("terraform apply", "kubeadm init", False),
        ("kubeadm join", "kubeadm init", False),
        ("# eksctl create cluster", "kubeadm init", False),
        ("gcloud container clusters create a", "az aks create -n a", True),
        ("gcloud container clusters create a", "gcloud container clusters create b", True),
        ("gcloud beta container clusters create-auto a", "gcloud container clusters list", False),
        ("curl -sfL https://get.k3s.io | sh -", "curl -sfL https://get.rke2.io | sh -", True),
        ("az aks create -n a", "az aks create --name b", True),
        ("eksctl create cluster --profile a", "eksctl create cluster --profile b -n a", False),
        ("eksctl create cluster --name a", "kind create cluster", False),
        ("eksctl create cluster --name a", "minikube start --gpus all", False),
        ("k3d cluster create a", "kubeadm init", False),
    ],
)
def test_a_chapter_with_a_cluster_of_its_own_is_of_that(
    one: str, other: str, is_apart: bool
) -> None:
    text = CLUSTERS.format(one, other)
    line = {each: number for number, each in enumerate(text.splitlines(), 1)}
    given = (
        pods("g.md", 3, name="everywhere"),
        *(
            pods("g.md", line[each] + 1, name=each[-5:])
            for each in ("## Cloud", "## Add-ons", "### Begin", "### Go on", "## Clean up")
        ),
    )

    found = chosen(*given, texts={"g.md": text})
    whole = [0, 1, 2, 3, 4, 5]
    assert found == ([[0, 1, 2], [0, 3, 4, 5], whole] if is_apart else [whole])


def test_a_cluster_that_is_made_anew_is_the_one_before() -> None:
    text = "\n# A\naz aks create\n# B\nkubeadm init\n# C\naz aks create\n# D\n"
    given = [pods("g.md", n, name=str(n)) for n in (3, 5, 7, 8)]

    assert chosen(*given, texts={"g.md": text}) == [[0, 2, 3], [1], [0, 1, 2, 3]]


def test_clusters_within_one_section_are_none_of_others() -> None:
    text = "# A\n## B\naz aks create\n## C\nkubeadm init\n# D\neksctl create cluster\n"
    given = [pods("g.md", n, name=str(n)) for n in (2, 4, 6)]

    whole = [0, 1, 2]
    assert chosen(*given, texts={"g.md": text}) == [[0], [1], [2], whole]
    both = text.replace("# D\neksctl create cluster\n", "az aks create\n")
    assert chosen(*given[:2], texts={"g.md": both}) == [[0, 1]]
    text = "# A\n# B\naz aks create\nkubeadm init\n# C\n"
    ways = (nodes("g.md", 1), nodes("g.md", 2, "b"), pods("g.md", 5))
    assert chosen(*ways, texts={"g.md": text}) == [[0, 2], [1, 2]]


@pytest.mark.parametrize(("most", "is_apart"), [(3, True), (2, False)])
def test_a_list_of_very_many_clusters_has_no_chapters(
    most: int, monkeypatch: pytest.MonkeyPatch, *, is_apart: bool
) -> None:
    monkeypatch.setattr(sections, "MOST", most)
    text = "# A\naz aks create\n# B\nkubeadm init\n# C\neksctl create cluster\n"
    given = [pods("g.md", n, name=str(n)) for n in (2, 4, 6)]

    whole = [[0, 1, 2]]
    found = chosen(*given, texts={"g.md": text})
    assert found == ([[0], [1], [2], *whole] if is_apart else whole)


def test_an_option_that_names_a_file_is_of_its_cluster() -> None:
    text = (
        "# A\n## Cloud\neksctl create cluster\n### Option 1\none.yaml\n### Option 2\ntwo.yaml\n"
        "## Machines\nkubeadm init\n"
    )
    given = (pods("one.yaml", name="1"), pods("two.yaml", name="2"), pods("g.md", 9, name="3"))

    # The options hold with the chapters together as well.
    assert chosen(*given, texts={"g.md": text}) == [[0], [1], [2], [0, 2], [1, 2]]


WAYS = """\
# Install

```bash
helm install a
# or
kubectl apply -f one.yaml -f more.yaml
```
"""


def test_files_and_commands_with_an_or_between_them_are_alternatives() -> None:
    """Those of one way are there together; what is told has to hold with all as well."""
    text = WAYS + "\nOr:\n\n```bash\nkubectl apply -f two.yaml\n```\n"
    one, more, two, rest = (pods(f"{name}.yaml", name=name) for name in ("one", "more", "two", "x"))
    texts = {"docs/g.md": text, **{f"{name}.yaml": "" for name in ("one", "more", "two")}}

    assert chosen(one, more, rest, texts=texts) == [[0, 1, 2]]
    assert chosen(chart("docs/g.md", 4), one, more, rest, texts=texts) == [
        *([0, 3], [1, 2, 3]),
        [0, 1, 2, 3],
    ]
    # The sentence is of the whole block before it, of which one file is known otherwise already.
    assert chosen(one, two, texts=texts) == [[0, 1]]
    other = {**texts, "docs/g.md": WAYS.replace("helm install a", "oc apply -f two.yaml")}
    assert chosen(one, more, two, rest, texts=other) == [[0, 1, 3], [2, 3], [0, 1, 2, 3]]
    assert chosen(pods("one.yaml", build="a"), two, texts=other) == [[0, 1]]


@pytest.mark.parametrize(
    ("in_one", "in_two", "is_or"),
    [(True, False, False), (False, True, False), (True, True, True), (False, False, True)],
)
def test_ways_of_which_one_makes_nodes_are_none(*, in_one: bool, in_two: bool, is_or: bool) -> None:
    """The pods of one are for the nodes of the other."""
    text = WAYS.replace("helm install a", "oc apply -f two.yaml")
    of_ways = [nodes("one.yaml", name="n")] * in_one + [nodes("two.yaml", name="m")] * in_two
    one, more, two = (pods(f"{name}.yaml", name=name) for name in ("one", "more", "two"))
    files = ("one.yaml", "more.yaml", "two.yaml")
    texts = {"docs/g.md": text, **dict.fromkeys(files, "")}

    built = NodeSet(source=source("one.yaml", build="a"), name="b", provisioner="karpenter")

    for of_none in ((), (built,)):
        found = chosen(one, more, two, *of_ways, *of_none, texts=texts)
        assert (len(found) > 1) == is_or


def test_where_there_are_options_no_or_is_heeded() -> None:
    text = "# A\n## Option A\n## Option B\n## Tests\n\n" + WAYS.replace("# Install\n", "")
    one, more = (pods(f"{name}.yaml", name=name) for name in ("one", "more"))
    texts = {"g.md": text, "one.yaml": "", "more.yaml": ""}
    given = (nodes("g.md", 2), nodes("g.md", 3, "b"), chart("g.md", 8), one, more)

    assert chosen(*given, texts=texts) == [[0, 2, 3, 4], [1, 2, 3, 4]]
    assert chosen(*given[2:], texts=texts) == [[0], [1, 2], [0, 1, 2]]
