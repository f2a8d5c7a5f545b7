"""What a scope lacks may lie beside it, and folders beside each other may be clusters."""

from __future__ import annotations

import pytest
from linted import every

from eks_gpushare.lint import nearby
from eks_gpushare.lint.layouts import Layouts, layouts
from eks_gpushare.lint.nearby import Nearby
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


def test_nothing_further_is_looked_for_than_where_another_cluster_lies() -> None:
    another = {"two-x1/p.yaml": pool("other", "b")}

    assert severity({**another, "two-x1/deep/g.yaml": group("gpu")}) == "info"
    assert severity({f"top/{name}": text for name, text in another.items()}) == "warning"


def test_of_many_folders_none_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearby, "_MOST", 2)
    more = {"x1/g.yaml": group("gpu"), "x2/pod.yaml": pod("b"), "x3/pod.yaml": pod("c")}

    assert severity(more) == "warning"


def test_folders_are_near_that_have_nothing_twice() -> None:
    once = {("nodes", "karpenter"): frozenset(("a/b/p.yaml",))}
    found = Nearby(once, ("a/b/p.yaml", "a/c/x.yaml", "d/y.yaml"), Layouts(()), {})

    assert found.of(("a/c/x.yaml",)) == {"a/b", "d"}
    assert found.of(("a/b/p.yaml",)) == {"a/c", "d"}


# --- layouts ------------------------------------------------------------------------------------

ONE = {
    ("nodes", "managed"): "cluster/g.yaml",
    ("release", "nvidia-device-plugin"): "helm/v.yaml",
    ("object", "Pod a"): "apps/p.yaml",
}


def laid_out(*tops: str) -> dict[tuple[str, str], frozenset[str]]:
    return {key: frozenset(f"{top}{file}" for top in tops) for key, file in ONE.items()}


@pytest.mark.parametrize(
    ("tops", "folders"),
    [
        (("",), [""]),
        (("a/",), [""]),
        (("vision/", "speech/"), ["vision", "speech"]),
        (("c/vision/", "c/speech/"), ["c/vision", "c/speech"]),
        (("aws/a/", "aws/b/", "odd/c/"), ["aws/a", "aws/b", "odd/c"]),
        (("/work/one/", "/work/two/"), ["/work/one", "/work/two"]),
    ],
)
def test_clusters_that_lie_side_by_side(tops: tuple[str, ...], folders: list[str]) -> None:
    assert sorted(each.folder for each in layouts(laid_out(*tops))) == sorted(folders)


def test_environments_within_one_of_several() -> None:
    once = laid_out("speech/", "vision/envs/dev/", "vision/envs/prod/")
    found = Layouts(layouts(once))
    environments = {each.folder: each.environments for each in found}

    assert environments["speech"] == frozenset()
    assert environments["vision/envs"] == {"vision/envs/dev", "vision/envs/prod"}
    inside, other = "vision/envs/dev/x.yaml", "vision/envs/prod/x.yaml"
    assert found.parts(inside, other)
    assert found.parts(inside, "speech/x.yaml")
    assert not found.parts("speech/x.yaml", "speech/y.yaml")


def test_what_is_of_no_layout_may_be_of_the_cluster_beside_it() -> None:
    once = {**laid_out("acme/"), ("nodes", "karpenter"): frozenset(("shared/np/p.yaml",))}
    found = Layouts(layouts(once))

    assert [each.folder for each in found] == ["acme"]
    assert not found.parts("acme/apps/p.yaml", "shared/np/p.yaml")


def test_what_is_called_as_a_part_may_be_of_what_lies_beside_it() -> None:
    once = laid_out("infra/", "platform/")

    assert {each.folder for each in layouts(once)} == {"infra", "platform"}
    assert not Layouts(layouts(once)).parts("infra/x.yaml", "platform/x.yaml")


def test_a_folder_of_examples_is_no_cluster() -> None:
    assert "examples" not in {each.folder for each in layouts(laid_out("examples/", "odd/"))}


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
