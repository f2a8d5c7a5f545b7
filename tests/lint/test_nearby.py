"""What a scope lacks may lie beside it, and folders beside each other may be clusters."""

from __future__ import annotations

import pytest
from linted import every

from eks_gpushare.lint import layouts as of_layouts
from eks_gpushare.lint import nearby
from eks_gpushare.lint.layouts import Layout, Layouts, laid_out, layouts
from eks_gpushare.lint.nearby import Nearby
from eks_gpushare.lint.one_cluster import SPACE
from eks_gpushare.lint.scopes import FileScope
from eks_gpushare.manifests.folders import nearest

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  nodeSelector: {pool: gpu}
  containers: [{name: a, image: b, resources: {limits: {nvidia.com/gpu: 1}}}]
"""
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: NAME}
spec:
  template:
    metadata: {labels: {pool: LABEL}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: NAME}
      requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [g6.xlarge]}]
"""
GROUP = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: CLUSTER, region: us-east-1, version: "1.33"}
managedNodeGroups:
- {name: gpus, instanceType: g6.xlarge, amiFamily: AmazonLinux2023, labels: {pool: LABEL}}
"""


def pod(name: str = "a") -> str:
    return POD.replace("NAME", name)


def pool(label: str, name: str = "a") -> str:
    return POOL.replace("NAME", name).replace("LABEL", label)


def group(label: str, cluster: str = "one") -> str:
    return GROUP.replace("CLUSTER", cluster).replace("LABEL", label)


# A kustomization has pods and a pool that they are not for.
WRONG = {
    "team/k8s/kustomization.yaml": "resources: [pod.yaml, pool.yaml]\n",
    "team/k8s/pod.yaml": pod(),
    "team/k8s/pool.yaml": pool("other"),
}


def severity(more: dict[str, str]) -> str:
    """Of what is said of the label that the pods want."""
    found = [each for each in every({**WRONG, **more}.items()) if each.code == "GPU1112"]
    return found[0].severity if found else ""


@pytest.mark.parametrize(
    ("more", "told"),
    [
        pytest.param({}, "warning", id="nothing else"),
        pytest.param({"team/old.d/x/g.yaml": group("gpu")}, "info", id="beside it"),
        pytest.param({"odd-x1/nodes/g.yaml": group("gpu")}, "info", id="further away"),
        pytest.param({"team/x2/g.yaml": group("more")}, "warning", id="of another label"),
        pytest.param({"team/examples/g.yaml": group("gpu")}, "warning", id="an example"),
        pytest.param({"team/archive/g.yaml": group("gpu")}, "warning", id="the past"),
        pytest.param({"old-x1/p.yaml": pool("gpu", "b")}, "warning", id="has what it has"),
        pytest.param(
            {"team/x1/g.yaml": group("other"), "far-x2/g.yaml": group("gpu", "two")},
            "warning",
            id="makes another cluster",
        ),
    ],
)
def test_what_is_not_so_with_what_lies_nearby_is_a_note(more: dict[str, str], told: str) -> None:
    assert severity(more) == told


def test_what_several_clusters_share_is_near_each() -> None:
    another = {"two/nodes/p.yaml": pool("other", "b"), "two/apps/pod.yaml": pod("b")}

    assert severity(another) == "warning"
    assert severity({**another, "common/nodes/g.yaml": group("gpu")}) == "info"


@pytest.mark.parametrize("common", ["aaa", "zzz"])
def test_all_folders_of_a_scope_decide_what_is_of_another_cluster(common: str) -> None:
    once = clusters("vision/", "speech/")
    own = ("vision/apps/p.yaml", f"{common}/base/p.yaml")
    found = Nearby(once, own, Layouts(layouts(once)), {}).of(own)

    assert "vision/cluster" in found
    assert not any(each.startswith("speech") for each in found)


def test_of_many_folders_none_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearby, "_MOST", 2)
    more = {"x1/g.yaml": group("gpu"), "x2/pod.yaml": pod("b"), "x3/pod.yaml": pod("c")}

    assert severity(more) == "warning"


def test_folders_are_near_that_have_nothing_twice() -> None:
    once = {("nodes", "karpenter"): frozenset(("a/b/p.yaml",))}
    found = Nearby(once, ("a/b/p.yaml", "a/c/x.yaml", "d/y.yaml"), Layouts(()), {})

    assert found.of(("a/c/x.yaml",)) == {"a/b", "d"}
    assert found.of(("a/b/p.yaml",)) == {"a/c", "d"}


def test_a_namespace_and_the_name_of_a_folder_above_are_no_sign(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    once = {(SPACE, "ml"): frozenset(("examples/a/x/p.yaml", "examples/a/y/p.yaml"))}
    found = Nearby(once, (), Layouts(()), {})
    monkeypatch.setattr(nearby, "_MOST", 1)

    assert found.of(("examples/a/x/p.yaml",)) == {"examples/a/y"}


# --- layouts ------------------------------------------------------------------------------------

ONE = {
    ("nodes", "managed"): "cluster/g.yaml",
    ("release", "nvidia-device-plugin"): "helm/v.yaml",
    ("object", "Pod a"): "apps/p.yaml",
}


def clusters(*tops: str) -> dict[tuple[str, str], frozenset[str]]:
    return {key: frozenset(f"{top}{file}" for top in tops) for key, file in ONE.items()}


@pytest.mark.parametrize(
    ("tops", "folders"),
    [
        (("",), [""]),
        (("a/",), [""]),
        (("vision/", "speech/"), ["vision", "speech"]),
        (("c/vision/", "c/speech/"), ["c/vision", "c/speech"]),
        (("aws/a/", "aws/b/", "odd/c/"), ["aws/a", "aws/b", "odd/c"]),
        (("/srv/one/", "/srv/two/"), ["/srv/one", "/srv/two"]),
        (("/srv/one/", "two/"), ["/srv/one", "two"]),
    ],
)
def test_clusters_that_lie_side_by_side(tops: tuple[str, ...], folders: list[str]) -> None:
    assert sorted(each.folder for each in layouts(clusters(*tops))) == sorted(folders)


def test_environments_within_one_of_several() -> None:
    once = clusters("speech/", "vision/envs/dev/", "vision/envs/prod/")
    found = Layouts(layouts(once))
    environments = {each.folder: each.environments for each in found}

    assert environments["speech"] == frozenset()
    assert environments["vision/envs"] == {"vision/envs/dev", "vision/envs/prod"}
    inside, other = "vision/envs/dev/x.yaml", "vision/envs/prod/x.yaml"
    assert found.parts(inside, other)
    assert found.parts(inside, "speech/x.yaml")
    assert not found.parts("speech/x.yaml", "speech/y.yaml")
    assert not found.parts(inside, "vision/envs/of-all/x.yaml")


def test_what_is_of_the_past_in_one_environment_need_not_be_of_it() -> None:
    past = "envs/dev/old/x.yaml"
    once = {
        **clusters("envs/dev/", "envs/prod/", "envs/stage/"),
        ("object", "Pod b"): frozenset((past,)),
    }
    (found,) = layouts(once)

    assert found.apart == {past}


@pytest.mark.parametrize(
    ("deepest", "folders"),
    [
        (1, {"z"}),
        (2, {"z", "a/c"}),
        (3, {"z", "a/c", "a/b/x", "a/b/y"}),
    ],
)
def test_folders_are_taken_apart_so_often(
    deepest: int, folders: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_layouts, "_DEEPEST", deepest)

    assert {each.folder for each in layouts(clusters("z/", "a/c/", "a/b/x/", "a/b/y/"))} == folders


def scope(name: str, *files: str, out: bool = False) -> FileScope:
    return FileScope(name, "it is", frozenset(files), is_put_out=out)


def test_scopes_of_a_layout_are_one_and_others_stay() -> None:
    parts = [scope("x", "a/x/1.yaml"), scope("y", "a/y/2.yaml")]
    others = [
        scope("far", "b/1.yaml"),
        scope("both", "a/x/3.yaml", "b/2.yaml"),
        scope("out", "a/x/4.yaml", out=True),
        scope("past", "a/old/5.yaml"),
        scope("guide", "a/README.md"),
    ]
    layout = Layout("a", frozenset(), frozenset(("a/old/5.yaml",)))
    whole, *left = laid_out([*parts, *others], [layout])

    assert whole.name == "folders of one cluster in a"
    assert whole.files == {"a/x/1.yaml", "a/y/2.yaml"}
    assert left == others
    assert list(laid_out(others[:1], [layout])) == others[:1]


def test_a_scope_of_two_environments_leaves_all_as_it_is() -> None:
    both = [scope("both", "envs/dev/1.yaml", "envs/prod/2.yaml"), scope("one", "envs/dev/3.yaml")]
    layout = Layout("envs", frozenset(("envs/dev", "envs/prod")), frozenset())

    assert list(laid_out(both, [layout])) == both


def test_what_is_of_no_layout_may_be_of_the_cluster_beside_it() -> None:
    once = {**clusters("acme/"), ("nodes", "karpenter"): frozenset(("shared/np/p.yaml",))}
    found = Layouts(layouts(once))

    assert [each.folder for each in found] == ["acme"]
    assert not found.parts("acme/apps/p.yaml", "shared/np/p.yaml")


def test_what_is_called_as_a_part_may_be_of_what_lies_beside_it() -> None:
    once = clusters("infra/", "platform/")

    assert {each.folder for each in layouts(once)} == {"infra", "platform"}
    assert not Layouts(layouts(once)).parts("infra/x.yaml", "platform/x.yaml")
    beside = Layouts(layouts(clusters("infra/", "speech/")))
    assert len(list(beside)) == 2
    assert not beside.parts("infra/x.yaml", "speech/x.yaml")


def test_a_folder_of_examples_is_no_cluster() -> None:
    assert "examples" not in {each.folder for each in layouts(clusters("examples/", "odd/"))}


@pytest.mark.parametrize(
    ("others", "found"),
    [
        (["a/x/1.yaml", "b/2.yaml"], ["a/x/1.yaml"]),
        (["a/x/1.yaml", "a/z/2.yaml"], []),
        (["c/1.yaml"], ["c/1.yaml"]),
        ([], []),
    ],
)
def test_the_nearest_of_several_files(others: list[str], found: list[str]) -> None:
    assert nearest("a/y/pool.yaml", others) == found
