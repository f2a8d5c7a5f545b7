"""Folders of several environments: each is judged with what all of them have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from linted import every, found_in_parts

from eks_gpushare.lint.dispatch import read_files
from eks_gpushare.lint.environments import environments, names_of
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from pathlib import Path

ROOT = """\
resource "aws_eks_node_group" "gpu" {
  cluster_name   = "CLUSTER"
  node_role_arn  = var.role
  subnet_ids     = var.subnets
  ami_type       = "AL2023_x86_64_NVIDIA"
  instance_types = ["g5.xlarge"]
  labels         = { pool = "CLUSTER" }
  scaling_config {
    min_size     = 1
    max_size     = 2
    desired_size = 1
  }
  taint {
    key    = "team"
    value  = "CLUSTER"
    effect = "NO_SCHEDULE"
  }
}
"""
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    metadata: {labels: {pool: gpu}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}]
  limits: {nvidia.com/gpu: 4}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 5m}
"""
POD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  replicas: 1
  strategy: {type: Recreate}
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      nodeSelector: {pool: gpu}
      tolerations: [{key: team, operator: Equal, value: one, effect: NoSchedule}]
      containers: [{name: a, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]
"""
BASE = {"base/kustomization.yaml": "resources: [pod.yaml]\n", "base/pod.yaml": POD}
OURS = ("GPU1111", "GPU1112")


def overlay(space: str = "", pool: str = "") -> str:
    patch = f"[{{op: replace, path: /spec/template/spec/nodeSelector/pool, value: {pool}}}]"
    patches = f"patches:\n  - target: {{kind: Deployment}}\n    patch: '{patch}'\n" if pool else ""
    told = f"namespace: {space}\n" if space else ""
    return f"{told}resources: [../../base]\n{patches}"


def overlays(one: str, two: str, above: str = "overlays") -> dict[str, str]:
    return {
        f"{above}/one/kustomization.yaml": one,
        f"{above}/two/kustomization.yaml": two,
    }


def said(files: dict[str, str]) -> list[tuple[str, str]]:
    return [(one.code, one.severity) for one in every(files.items()) if one.code in OURS]


def roots(above: str = "terraform", *names: str) -> dict[str, str]:
    return {
        f"{above}/{name}/main.tf": ROOT.replace("CLUSTER", name) for name in names or ("one", "two")
    }


# --- one cluster with namespaces of each --------------------------------------------------------

SHARED = {"karpenter/pool.yaml": POOL, **BASE}


def test_an_overlay_selects_no_pool_of_the_cluster_of_all() -> None:
    wrong = overlays(overlay("one"), overlay("two", "cpu"))

    assert said({**SHARED, **wrong}) == [("GPU1112", "warning")]
    assert said({**SHARED, **overlays(overlay("one"), overlay("two"))}) == []
    both = overlays(overlay("one", "cpu"), overlay("two", "cpu"))
    assert said({**SHARED, **both}) == [("GPU1112", "warning")]


@pytest.mark.parametrize(
    "files",
    [
        # Each may be of a cluster of its own, with pools that are elsewhere.
        overlays(overlay(), overlay("", "cpu")),
        overlays(overlay("ml"), overlay("ml", "cpu")),
        overlays(overlay("ml"), overlay("$SPACE", "cpu")),
        # One alone is in no environment with another.
        {
            **overlays(overlay("one"), overlay("two", "cpu")),
            "overlays/three/kustomization.yaml": "resources: [../../base]\n",
            "overlays/three/x/kustomization.yaml": "resources: [../../../base]\nnamespace: two\n",
        },
        {**overlays(overlay("one"), overlay("two", "cpu")), "overlays/three/a.yaml": POOL},
        # Of what is no part of a cluster by its name nothing follows.
        {**overlays(overlay("one"), overlay("two", "cpu")), "old/pool.yaml": POOL},
        overlays(overlay("one"), overlay("two", "cpu"), above="recipes"),
    ],
)
def test_overlays_that_may_be_of_clusters_of_their_own(files: dict[str, str]) -> None:
    assert said({**SHARED, **files}) == []


# --- clusters with a root of Terraform each ------------------------------------------------------

ROOTED = POD.replace("      nodeSelector: {pool: gpu}\n", "")
OF_ROOTS = {"base/kustomization.yaml": "resources: [pod.yaml]\n", "base/pod.yaml": ROOTED}


def test_an_overlay_is_for_the_root_of_its_name() -> None:
    files = {**OF_ROOTS, **overlays(overlay(), overlay(), "deploy"), **roots("live")}

    assert said(files) == [("GPU1111", "error")]
    right = files["base/pod.yaml"].replace("Equal, value: one", "Exists")
    assert said({**files, "base/pod.yaml": right}) == []


MODULE = 'variable "cluster" { type = string }\n' + ROOT.replace('"CLUSTER"', "var.cluster")


def of_module(above: str, *names: str) -> dict[str, str]:
    call = 'module "nodes" {\n  source  = "../../modules/nodes"\n  cluster = "%s"\n}\n'
    return {f"{above}/{name}/main.tf": call % name for name in names} | {
        "modules/nodes/main.tf": MODULE
    }


def test_roots_of_one_module_have_a_cluster_each() -> None:
    files = {**OF_ROOTS, **overlays(overlay(), overlay()), **of_module("live", "one", "two")}

    assert said(files) == [("GPU1111", "error")]
    assert said({**files, "live/two/main.tf": "locals {}\n"}) == []
    assert said({**files, "live/old/main.tf": files["live/one/main.tf"]}) == []


LABELLED = MODULE.replace("pool =", '"nvidia.com/device-plugin.config" =')
CONFIGURATIONS = """\
config:
  default: one
  map:
    one: "version: v1"
    three: "version: v1"
"""
RELEASE = """\
plugin:
\thelm --kube-context ml-$(ENV) upgrade --install plugin nvidia-device-plugin --version 0.18.0 \\
\t  --repo https://nvidia.github.io/k8s-device-plugin -f helm/plugin/values.yaml
"""


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ({}, ["two"]),
        ({"Makefile": RELEASE}, ["two"]),
        ({"helm/plugin/values.yaml": CONFIGURATIONS.replace("three", "two")}, []),
        ({"environments/two/plugin/values.yaml": CONFIGURATIONS.replace("three", "two")}, []),
    ],
)
def test_what_is_of_no_environment_is_of_each_root_of_a_module(
    more: dict[str, str], wrong: list[str]
) -> None:
    files = {
        "helm/plugin/values.yaml": CONFIGURATIONS,
        **of_module("environments", "one", "two"),
        "modules/nodes/main.tf": LABELLED,
        **more,
    }

    found = [one.message for one in every(files.items()) if one.code == "GPU1122"]
    assert [each.rpartition(" ")[2].rstrip(".") for each in found if "environment" in each] == wrong


@pytest.mark.parametrize(
    "files",
    [
        # An overlay of which there is no root, and roots of which there is no overlay.
        {**overlays(overlay(), overlay(), "deploy"), **roots("live", "one", "three")},
        {**overlays(overlay(), overlay(), "deploy"), **roots("live", "one")},
        {"deploy/two/kustomization.yaml": overlay(), **roots("live", "one", "two")},
        {**overlays(overlay("a"), overlay("b"), "deploy"), **roots("live", "one", "three")},
        {
            "deploy/one/kustomization.yaml": overlay(),
            "apps/two/kustomization.yaml": overlay(),
            **roots("live", "one"),
            **roots("infra", "two"),
        },
        # The name of one is that of another's folder too.
        {
            **overlays(overlay(), overlay(), "deploy"),
            **roots("live/one", "two", "three"),
            **roots("live"),
        },
    ],
)
def test_names_that_are_not_in_common_are_none_of_environments(files: dict[str, str]) -> None:
    assert said({**OF_ROOTS, **files}) == []


def test_a_root_that_has_no_overlay_is_for_all() -> None:
    files = {**OF_ROOTS, **overlays(overlay(), overlay(), "deploy"), **roots("live")}
    more = 'resource "kubernetes_config_map_v1" "a" {\n  metadata {\n    name = "a"\n  }\n}\n'

    assert said({**files, "live/settings/main.tf": more}) == [("GPU1111", "error")]


def test_the_name_of_an_environment_says_no_more() -> None:
    """Such as `lab`, which is a way elsewhere."""
    files = {**OF_ROOTS, **roots("live", "gpu-lab", "gpu-demo")}
    for name in ("gpu-lab", "gpu-demo"):
        files[f"deploy/{name}/kustomization.yaml"] = overlay()
    files["base/pod.yaml"] = ROOTED.replace("value: one", "value: gpu-lab")

    assert said(files) == [("GPU1111", "error")]


@pytest.mark.parametrize(
    ("names", "wrong"),
    [(("dev", "prod"), True), (("staging", "production"), True), (("blue", "green"), False)],
)
def test_environments_are_known_by_their_names(names: tuple[str, str], wrong: bool) -> None:
    files = {f"terraform/{name}/main.tf": ROOT.replace("CLUSTER", name) for name in names}
    for name in names:
        files[f"apps/{name}/pod.yaml"] = ROOTED.replace("value: one", f"value: {names[0]}")

    assert said(files) == ([("GPU1111", "error")] if wrong else [])


@pytest.mark.parametrize("above", ["environments", "Envs"])
def test_so_they_are_by_the_folder_that_holds_them(above: str) -> None:
    files = roots(f"infra/{above}") | {
        f"infra/{above}/{name}/apps/pod.yaml": ROOTED for name in ("one", "two")
    }

    assert said(files) == [("GPU1111", "error")]


def test_what_only_one_environment_makes_wrong_of_a_common_file_is_not_certain() -> None:
    """It may be for the other."""
    files = {"apps/pod.yaml": ROOTED, **roots("terraform/envs")}

    assert said(files) == []
    wrong = files["apps/pod.yaml"].replace("value: one", "value: three")
    assert {code for code, _ in said({**files, "apps/pod.yaml": wrong})} == {"GPU1111"}


def test_what_one_environment_alone_builds_wrong_is_told_with_its_name() -> None:
    files = {**OF_ROOTS, **overlays(overlay(), overlay(), "deploy"), **roots("live")}

    (message,) = messages(files)
    assert message == (
        "The Deployment a asks for nvidia.com/gpu and does not tolerate the taint "
        "team=two:NoSchedule of aws_eks_node_group.gpu, which has it. So it is in the environment "
        "two."
    )
    files["base/pod.yaml"] = ROOTED.replace("value: one", "value: three")
    assert len(messages(files)) == len(("one", "two"))
    assert not any("environment" in each for each in messages(files))
    patch = "[{op: replace, path: /spec/template/spec/tolerations/0/value, value: no}]"
    patched = f"{overlay()}patches:\n  - target: {{kind: Deployment}}\n    patch: '{patch}'\n"
    files["deploy/one/kustomization.yaml"] = patched.replace("value: no", 'value: "no"')
    assert len(messages(files)) == len(("one", "two"))


def test_what_lies_in_the_folder_of_one_is_told_as_it_is() -> None:
    files = roots("infra/environments") | {
        f"infra/environments/{name}/apps/pod.yaml": ROOTED for name in ("one", "two")
    }

    assert not any("environment" in each for each in messages(files))


def messages(files: dict[str, str]) -> list[str]:
    return [one.message for one in every(files.items()) if one.code in OURS]


def test_the_scopes_say_what_they_are_of() -> None:
    files = {**SHARED, **overlays(overlay("one"), overlay("two")), "a.md": "# A\n"}
    files["overlays/two/README.md"] = "# Two\n"
    reading = read_files([GivenFile(*each) for each in files.items()])
    named = {scope.name: scope for scope in reading.scopes()}

    common = {"karpenter/pool.yaml", "base/pod.yaml", "base/kustomization.yaml"}
    guides = {"the guide a.md", "the guide overlays/two/README.md"}
    assert set(named) == {"the environment one", "the environment two", *guides}
    assert named["the environment one"].files == {*common, "overlays/one/kustomization.yaml"}
    assert named["the environment one"].builds == {"overlays/one/kustomization.yaml"}
    assert named["the environment one"].is_environment
    assert not named["the environment one"].is_certain
    assert named["the environment two"].files == {
        *common,
        "overlays/two/kustomization.yaml",
    }


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: NAME, namespace: argocd}
spec:
  destination: {WHERE, namespace: a}
  source: {repoURL: https://git.example/a.git, path: PATH}
"""


def application(name: str, where: str, path: str = "none") -> str:
    text = APPLICATION.replace("NAME", name).replace("WHERE", where)
    return text.replace("PATH", path)


def test_applications_go_before_the_layout() -> None:
    files = {**SHARED, **overlays(overlay("one"), overlay("two", "cpu"))}
    both = "---\n".join(application(name, f"name: {name}") for name in ("one", "two"))
    named = "---\n".join(
        application(name, "name: in-cluster", f"overlays/{name}") for name in ("one", "two")
    )

    assert said({**files, "argocd/a.yaml": application("one", "name: one")}) != []
    assert said({**files, "argocd/a.yaml": both}) == []
    assert said({**files, "argocd/a.yaml": named}) == []
    reading = read_files([GivenFile(*each) for each in {**files, "argocd/a.yaml": named}.items()])
    assert not any(scope.is_environment for scope in reading.scopes())


def test_parts_of_a_call_are_joined_as_their_environments_are(tmp_path: Path) -> None:
    files = {**SHARED, **overlays(overlay("one"), overlay("two", "cpu"))}
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)

    found = found_in_parts(tmp_path, files)
    assert [each.code for each in found if each.code in OURS] == ["GPU1112"]


# --- by themselves --------------------------------------------------------------------------------


def once(*files: str, **more: str) -> dict[tuple[str, str], frozenset[str]]:
    found = {("nodes", "karpenter"): frozenset(("karpenter/a.yaml",))}
    found |= {("object", f"Pod {file}"): frozenset((file,)) for file in files}
    spaces = {("namespace of pods", space): frozenset((file,)) for space, file in more.items()}
    return found | spaces


def test_a_root_makes_nodes_by_a_module_and_a_kustomization_by_a_base() -> None:
    module = "modules/nodes/main.tf"
    found = {("nodes", "managed"): frozenset((module,))}
    for name, is_told in (("main.tf", True), ("kustomization.yaml", False)):
        builds = frozenset(f"envs/{each}/{name}" for each in ("one", "two"))
        for key, others in (
            (("build", f"what {module} becomes"), is_told),
            (("build", "a"), False),
        ):
            expected = {"envs/one", "envs/two"} if others else set()
            assert environments(found | {key: builds}) == expected


def test_environments_are_apart_by_their_namespaces() -> None:
    one, two = "overlays/one/a.yaml", "overlays/two/a.yaml"
    folders = {"overlays/one", "overlays/two"}

    assert environments(once(one, two, a=one, b=two)) == folders
    assert environments(once(one, two, a=one)) == set()
    assert environments(once(one, a=one)) == set()
    inner = environments(once("overlays/one/x/a.yaml", two, a="overlays/one/x/a.yaml", b=two))
    assert inner == folders
    several = "prod/overlays/one/a.yaml"
    assert environments(once(several, two, a=several, b=two)) == set()
    more = once(one, two, several, "prod/a.yaml", a=one, b=two, c="prod/a.yaml")
    assert environments(more) == set()
    role = {key: files for key, files in once(one, two, a=one, b=two).items() if key[0] != "nodes"}
    assert environments(role | {("lesser", "role a"): frozenset(("iam/main.tf",))}) == set()
    shared = {("namespace of pods", "c"): frozenset((one, two))}
    assert environments(once(one, two, a=one, b=two) | shared) == set()
    assert environments(once(one, two, **{"a": one, "?": two})) == set()


def test_a_file_is_of_the_environments_whose_folders_it_lies_in() -> None:
    folders = frozenset(("a/one", "b/one", "a/two"))

    assert names_of("b/one/c/x.yaml", folders) == {"one"}
    assert names_of("a/two/x.yaml", folders) == {"two"}
    assert names_of("a/twofold/x.yaml", folders) == set()


def test_where_all_of_it_lies_is_no_environment() -> None:
    """Whatever somebody calls the folder of his checkouts."""
    found = once("overlays/one/a.yaml", "overlays/two/a.yaml")
    found[("namespace of pods", "a")] = frozenset(("overlays/one/a.yaml",))
    found[("namespace of pods", "b")] = frozenset(("overlays/two/a.yaml",))
    for top in ("/srv/dev/prod/", "envs/mine/"):
        within = {key: frozenset(top + file for file in files) for key, files in found.items()}

        assert environments(within) == {f"{top}overlays/one", f"{top}overlays/two"}
