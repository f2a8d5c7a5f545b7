"""Folders that sets of applications name: each belongs to what the set stands in."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from eks_gpushare.inventory.items import ConfigMap, NodeSet
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.dispatch import lint_files, read_files
from eks_gpushare.lint.named_folders import applied_by
from eks_gpushare.lint.parts import Links
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.folders import Paths, is_pattern, those_meant

HERE = {"server": "https://kubernetes.default.svc"}
FOLDERS = {"git": {"directories": [{"path": "apps/*"}, {"path": "apps/old", "exclude": True}]}}
ELEMENTS = {"list": {"elements": [{"name": "a", "path": "x/a"}, {"values": {"path": "x/b"}}]}}
POD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"


def application_set(*generators: Any, path: str, to: dict[str, str] = HERE) -> dict[str, Any]:
    template = {"spec": {"source": {"path": path}, "destination": to}}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": "all"},
        "spec": {"generators": list(generators), "template": template},
    }


def several(number: int) -> dict[str, Any]:
    """A matrix of one application and so many."""
    many = {"list": {"elements": [{"name": str(each)} for each in range(number)]}}
    return {"matrix": {"generators": [{"list": {"elements": [{"env": "prod"}]}}, many]}}


@pytest.mark.parametrize(
    ("made", "named"),
    [
        (application_set(FOLDERS, path="{{path}}"), ["apps/*", "!apps/old"]),
        (application_set(FOLDERS, path="{{ .path.path }}"), ["apps/*", "!apps/old"]),
        (
            application_set(FOLDERS, path="{{path}}/prod"),
            ["apps/*/prod", "!apps/old/prod"],
        ),
        (application_set(FOLDERS, path="more/{{path.basename}}"), ["more/*", "!more/old"]),
        (application_set(ELEMENTS, path="{{path}}"), ["x/a"]),
        (application_set(ELEMENTS, path="{{values.path}}"), ["x/b"]),
        (application_set(ELEMENTS, path="all/{{name}}", to={"name": "prod"}), ["all/a"]),
        (application_set({"clusters": {}}, path="all"), []),
        (application_set(FOLDERS, path="{{path}}", to={"name": "{{path.basename}}"}), []),
        (
            application_set(
                FOLDERS, path="{{path}}", to={**HERE, "namespace": "{{path.basename}}"}
            ),
            ["apps/*", "!apps/old"],
        ),
        (
            application_set(FOLDERS, path="{{path}}", to={**HERE, "namespace": "gpu"}),
            ["apps/*", "!apps/old"],
        ),
        (
            application_set(ELEMENTS, path="x/{{name}}", to={**HERE, "namespace": "{{name}}"}),
            ["x/a"],
        ),
        (application_set(FOLDERS, path="{{metadata.labels.path}}"), []),
        (application_set({"git": {"directories": [{"path": "*"}]}}, path="{{path}}"), []),
        (
            application_set(
                {"matrix": {"generators": [FOLDERS, {"list": {"elements": [{"env": "prod"}]}}]}},
                path="{{path}}/{{env}}",
            ),
            ["apps/*/prod", "!apps/old/prod"],
        ),
        (
            application_set(
                {"matrix": {"generators": [FOLDERS, {"clusters": {}}]}}, path="{{path}}"
            ),
            [],
        ),
        (
            application_set(
                {"list": {"elements": [{"env": "test"}, {"env": "prod"}]}},
                path="envs/{{env}}",
                to={"name": "{{env}}"},
            ),
            [],
        ),
        (application_set({"git": {"directories": [{"path": 1}]}}, path="{{path}}"), []),
        ({**application_set(ELEMENTS, path="all"), "apiVersion": "other.argoproj.io/v1"}, []),
        (application_set({"matrix": {"generators": [FOLDERS, FOLDERS]}}, path="a"), ["a", "a"]),
        (application_set(several(1_000), path="all"), ["all"] * 1_000),
        (application_set(several(1_001), path="all"), []),
    ],
)
def test_the_folders_of_a_set(made: dict[str, Any], named: list[str]) -> None:
    found = applied_by(GivenFile("a.yaml", yaml.safe_dump(made)))

    assert [each.folder for each in found] == named


FILES = {
    "argo/all.yaml": yaml.safe_dump(application_set(FOLDERS, path="{{path}}")),
    "apps/a/x.yaml": POD % "a",
    "apps/b/kustomization.yaml": "resources: [x.yaml]\n",
    "apps/b/x.yaml": POD % "b",
    "apps/old/x.yaml": POD % "old",
    "apps/.hidden/x.yaml": POD % "hidden",
    "more/apps/x.yaml": POD % "more",
}


@pytest.mark.parametrize("top", ["", "/srv/repository/", "deep/"])
def test_a_set_is_one_with_the_folders_that_its_pattern_means(top: str) -> None:
    given = [GivenFile(f"{top}{name}", text) for name, text in FILES.items()]
    scopes = {each.name: each.files for each in read_files(given).scopes()}
    joined = ("argo/all.yaml", "apps/a/x.yaml", "apps/b/kustomization.yaml", "apps/b/x.yaml")

    assert scopes[f"the folder {top}argo"] == {f"{top}{name}" for name in joined}
    assert {f"the folder {top}{name}" for name in ("apps/old", "apps/.hidden", "more/apps")} <= {
        *scopes
    }


def test_what_a_set_means_is_held_together_however_much_there_is() -> None:
    links = Links()
    for name, text in FILES.items():
        links.look_at(GivenFile(name, text))

    (part,) = (part for part in links.parts({}) if "argo/all.yaml" in part)
    assert {*part} >= {"apps/a/x.yaml", "apps/b/x.yaml", "apps/b/kustomization.yaml"}


APPLICATION = """
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: a}
spec: {source: {path: apps}}
"""


def test_the_top_of_a_repository_is_the_outermost_folder_that_has_what_is_named() -> None:
    files = {
        "deep/argo/a.yaml": APPLICATION,
        "apps/x.yaml": POD % "a",
        "deep/apps/x.yaml": POD % "a",
    }
    scopes = read_files([GivenFile(*each) for each in files.items()]).scopes()

    assert {each.name: {*each.files} for each in scopes} == {
        "the folder deep/argo": {"deep/argo/a.yaml", "apps/x.yaml"},
        "the folder deep/apps": {"deep/apps/x.yaml"},
    }


def test_a_pattern_means_folders_that_are_not_hidden() -> None:
    is_meant = those_meant(("apps/?", "!apps/c"))

    assert [
        each for each in ("apps/a", "x/apps/b", "apps/c", "apps/aa", "apps/.") if is_meant(each)
    ] == [
        "apps/a",
        "x/apps/b",
    ]
    assert (is_pattern("apps/?"), is_pattern("apps/*"), is_pattern("apps")) == (True, True, False)


NAMED = {**HERE, "namespace": "team-{{path.basename}}"}
PODS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: own, namespace: own}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: left}
"""


def spaces(**files: str) -> dict[str, list[Any]]:
    given = [GivenFile(name.replace("__", "/") + ".yaml", text) for name, text in files.items()]
    found: dict[str, list[Any]] = {}
    for item in read_files(given).items:
        if isinstance(item, ConfigMap):
            found.setdefault(item.source.file, []).append(item.namespace)
    return found


def application(path: str, space: str, more: str = "") -> str:
    named = f"destination: {{{space and f'namespace: {space}'}}}"
    return APPLICATION.replace("{path: apps}", f"{{path: {path}{more}}}, {named}")


def kustomization(path: str, space: str) -> str:
    return f"""
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: a}}
spec: {{path: ./{path}, targetNamespace: {space}}}
"""


@pytest.mark.parametrize(
    ("named", "space", "below"),
    [
        (application("apps/a", "gpu"), ["own", "gpu"], ["own", UNKNOWN]),
        (application("apps/a", "gpu", ", directory: {recurse: true}"), ["own", "gpu"], None),
        (application("apps/a", "$SPACE"), ["own", UNKNOWN], None),
        (application("apps/a", ""), ["own", UNKNOWN], None),
        (application("apps/b", "gpu"), ["own", UNKNOWN], None),
        (
            f"{application('apps/a', 'gpu')}---{application('apps/a', 'other')}",
            ["own", UNKNOWN],
            None,
        ),
        (f"{application('apps/a', 'gpu')}---{application('apps/a', '')}", ["own", UNKNOWN], None),
        (
            yaml.safe_dump(application_set(FOLDERS, path="{{path}}", to=NAMED)),
            ["own", "team-a"],
            ["own", UNKNOWN],
        ),
        (kustomization("apps/a", "gpu"), ["gpu", "gpu"], None),
        (
            f"{kustomization('apps/a', 'gpu')}---{application('apps/a', 'gpu')}",
            ["own", "gpu"],
            ["gpu", "gpu"],
        ),
    ],
)
def test_objects_get_the_namespace_that_applications_of_their_folder_say(
    named: str, space: list[Any], below: list[Any] | None
) -> None:
    """Argo CD gives it to those without one, and Flux to all."""
    found = spaces(argo=named, apps__a__x=PODS, apps__a__in__y=PODS)

    assert found["apps/a/x.yaml"] == space
    assert found["apps/a/in/y.yaml"] == (below or space)


def test_a_kustomization_is_given_the_namespace_of_its_own_folder() -> None:
    files = {
        "apps__prod__kustomization": "resources: [../base]\n",
        "apps__dev__kustomization": "resources: [../base]\nnamespace: dev\n",
        "apps__base__kustomization": "resources: [x.yaml]\n",
        "apps__base__x": POD % "a",
    }
    named = f"{application('apps/prod', 'gpu')}---{application('apps/dev', 'gpu')}"

    assert spaces(argo=named, **files) == {"apps/base/x.yaml": ["gpu", "dev"]}
    assert spaces(**files) == {"apps/base/x.yaml": [UNKNOWN, "dev"]}


def test_what_is_in_no_namespace_gets_none() -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n"
    files = {"argo.yaml": application("apps", "gpu"), "apps/x.yaml": node}
    (item,) = (
        each
        for each in read_files([GivenFile(*one) for one in files.items()]).items
        if isinstance(each, NodeSet)
    )

    assert value_of(item)["metadata"] == {"name": "a"}


def test_a_folder_that_is_left_out_and_one_of_a_guide_get_none() -> None:
    named = yaml.safe_dump(application_set(FOLDERS, path="{{path}}", to=NAMED))

    assert spaces(argo=named, apps__old__x=POD % "a", apps__a__x=POD % "a") == {
        "apps/old/x.yaml": [UNKNOWN],
        "apps/a/x.yaml": ["team-a"],
    }
    assert applied_by(GivenFile("a.md", named)) == []


SHARED = """
apiVersion: v1
kind: ConfigMap
metadata: {name: shares}
data:
  any: |
    version: v1
    sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""
PLUGIN = """
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: plugin}
spec:
  chart: {spec: {chart: nvidia-device-plugin, version: 0.18.0}}
  values: {config: {name: shares, default: any}}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: a, image: a, resources: {limits: {nvidia.com/gpu: 2}}}]
"""


@pytest.mark.parametrize(
    ("wanted", "to", "shares", "found"),
    [
        (2, NAMED, "apps/plugin/shares.yaml", {"GPU1113"}),
        (1, NAMED, "apps/plugin/shares.yaml", set()),
        (1, NAMED, "apps/b/shares.yaml", {"GPU1120"}),
    ],
)
def test_folders_of_namespaces_of_their_name_are_of_one_cluster(
    wanted: int, to: dict[str, str], shares: str, found: set[str]
) -> None:
    made = application_set({"git": {"directories": [{"path": "apps/*"}]}}, path="{{path}}", to=to)
    files = {
        "argo.yaml": yaml.safe_dump(made),
        "apps/plugin/plugin.yaml": PLUGIN,
        shares: SHARED,
        "apps/train/job.yaml": JOB.replace("gpu: 2", f"gpu: {wanted}"),
    }
    reports = lint_files([GivenFile(*each) for each in files.items()])
    said = {each.code for report in reports for each in report.findings if each.severity != "info"}

    assert said & {"GPU1120", "GPU1113"} == found


def test_paths_are_found_by_what_they_end_in() -> None:
    paths = Paths(["a/b/c.yaml", "b/c.yaml", "ab/c.yaml", "c.yaml", "a/b/d.yaml", "a/b/c.yaml"])

    assert paths.ending_with("b/c.yaml") == ["a/b/c.yaml", "b/c.yaml"]
    assert paths.ending_with("c.yaml") == ["a/b/c.yaml", "b/c.yaml", "ab/c.yaml", "c.yaml"]
    assert paths.ending_with("other.yaml") == []
    assert list(paths.meant_by(["*/d.yaml", "a?/*.yaml", "*/c.y"])) == ["a/b/d.yaml", "ab/c.yaml"]
    assert list(paths.meant_by([])) == []
