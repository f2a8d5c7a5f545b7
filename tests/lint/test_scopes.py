"""Which files belong together, and that nothing else has a part in it."""

from __future__ import annotations

import posixpath
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from eks_gpushare.lint.declared import Declared
from eks_gpushare.lint.dispatch import lint_files, read_files
from eks_gpushare.lint.named_folders import applied_by
from eks_gpushare.lint.scopes import FileScope, Member, scopes_of
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.kustomize import tops_of

FOLDERS = ("", "a", "a/b", "a/b/c", "d", "d/base", "d/prod")
NAMES = ("x.yaml", "y.yaml", "kustomization.yaml", "README.md", "GUIDE.md", "up.sh", "Chart.yaml")


def found(files: dict[str, Any], **more: Any) -> dict[str, list[str]]:
    """The files of each scope by its name."""
    members = [Member(name, *says) for name, says in files.items()]
    return {each.name: sorted(each.files) for each in scopes_of(members, {}, **more)}


def of_texts(files: dict[str, str], **more: Any) -> dict[str, list[str]]:
    reading = read_files([GivenFile(*each) for each in files.items()], **more)
    return {each.name: sorted(each.files) for each in reading.scopes()}


def test_a_folder_is_one_and_its_guide_is_of_it() -> None:
    files: dict[str, Any] = dict.fromkeys(("a/x.yaml", "a/up.sh", "a/README.md", "b/x.yaml"), ())

    assert found(files) == {
        "the folder a": ["a/README.md", "a/up.sh", "a/x.yaml"],
        "the folder b": ["b/x.yaml"],
    }


def test_several_guides_of_a_folder_are_on_their_own() -> None:
    files: dict[str, Any] = dict.fromkeys(("docs/a.md", "docs/b.md", "docs/x.yaml"), ())

    assert found(files) == {
        "the guide docs/a.md": ["docs/a.md"],
        "the guide docs/b.md": ["docs/b.md"],
        "the folder docs": ["docs/x.yaml"],
    }


def test_all_below_a_chart_is_its_own() -> None:
    files: dict[str, Any] = dict.fromkeys(
        ("c/Chart.yaml", "c/values.yaml", "c/ci/a.yaml", "x.yaml"), ()
    )

    assert found(files) == {
        "the chart c": ["c/Chart.yaml", "c/ci/a.yaml", "c/values.yaml"],
        "the folder .": ["x.yaml"],
    }


def test_values_belong_to_who_installs_with_them() -> None:
    files = {"up.sh": ((), ("values/a.yaml",)), "values/a.yaml": (), "values/b.yaml": ()}

    assert found(files) == {
        "the folder .": ["up.sh", "values/a.yaml"],
        "the folder values": ["values/b.yaml"],
    }


def test_what_one_other_file_has_is_there_for_who_names_it_and_at_home() -> None:
    files = {"a/x.yaml": ((), (), ("b/map.yaml",)), "b/map.yaml": (), "b/y.yaml": ()}

    assert found(files) == {
        "the folder a": ["a/x.yaml", "b/map.yaml"],
        "the folder b": ["b/map.yaml", "b/y.yaml"],
    }


FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %s, namespace: flux-system}
spec: {path: %s}
"""
ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: a}
spec: {sources: [{path: apps/a}, {chart: other}], source: {path: ./}}
"""
OBJECT = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"


def test_applications_of_a_cluster_take_in_what_they_name() -> None:
    files = {
        "fleet/clusters/prod/apps.yaml": FLUX % ("apps", "./apps/prod"),
        "fleet/clusters/prod/infra.yaml": FLUX % ("infra", "infra"),
        "fleet/clusters/test/apps.yaml": FLUX % ("apps", "./apps/base"),
        "fleet/apps/base/kustomization.yaml": "resources: [a.yaml]\n",
        "fleet/apps/base/a.yaml": OBJECT,
        "fleet/apps/prod/kustomization.yaml": "resources: [../base]\n",
        "fleet/infra/gpu/x.yaml": OBJECT,
        "fleet/unrelated/x.yaml": OBJECT,
    }
    base = ["fleet/apps/base/a.yaml", "fleet/apps/base/kustomization.yaml"]

    assert of_texts(files) == {
        "the folder fleet/clusters/prod": sorted(
            [
                *base,
                "fleet/apps/prod/kustomization.yaml",
                "fleet/clusters/prod/apps.yaml",
                "fleet/clusters/prod/infra.yaml",
                "fleet/infra/gpu/x.yaml",
            ]
        ),
        "the folder fleet/clusters/test": [*base, "fleet/clusters/test/apps.yaml"],
        "the folder fleet/unrelated": ["fleet/unrelated/x.yaml"],
    }


def test_what_a_kustomization_further_down_leaves_out_is_not_applied() -> None:
    """One of comments brings nothing, and what a kustomization names may name more."""
    files = {
        "flux/apps.yaml": FLUX % ("apps", "./apps"),
        "apps/plain.yaml": OBJECT,
        "apps/one/kustomization.yaml": "resources: [used.yaml]\n# - off/ks.yaml\n",
        "apps/one/used.yaml": FLUX % ("used", "./apps/one/used"),
        "apps/one/used/x.yaml": FLUX % ("more", "./more/base"),
        "apps/one/off/ks.yaml": FLUX % ("off", "./apps/one/off/app"),
        "apps/one/off/app/x.yaml": OBJECT,
        "apps/two/kustomization.yaml": "# resources: [x.yaml]\n",
        "apps/two/inner/x.yaml": OBJECT,
        "more/base/kustomization.yaml": "resources: [a.yaml]\n",
        "more/base/a.yaml": FLUX % ("last", "./last"),
        "more/top/kustomization.yaml": "resources: [../base]\n",
        "last/x.yaml": OBJECT,
    }
    off = ["apps/one/off/app/x.yaml", "apps/one/off/ks.yaml"]
    two = ["apps/two/inner/x.yaml", "apps/two/kustomization.yaml"]
    scopes = of_texts(files)

    top = ["more/top/kustomization.yaml"]
    assert scopes["the folder flux"] == sorted(files.keys() - {*off, *two, *top})
    assert scopes["the folder apps/one/off"] == off


def test_a_file_that_a_comment_puts_out_is_on_its_own() -> None:
    kustomization = "resources: [a.yaml]\n# - b.yaml\n"
    files = {"x/kustomization.yaml": kustomization, "x/a.yaml": OBJECT, "x/b.yaml": OBJECT}
    scopes = read_files([GivenFile(*each) for each in files.items()]).scopes()

    assert [({*each.files}, each.is_put_out) for each in scopes] == [
        ({"x/kustomization.yaml", "x/a.yaml"}, False),
        ({"x/b.yaml"}, True),
    ]


MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: %s}
data:
  any: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""


@pytest.mark.parametrize(
    ("chart", "key"),
    [
        ("nvdp/nvidia-device-plugin", "config.name"),
        ("nvidia/gpu-operator", "devicePlugin.config.name"),
    ],
)
def test_a_release_takes_in_the_configmap_that_it_names(chart: str, key: str) -> None:
    files = {
        "a/up.sh": f"#!/bin/sh\nhelm install p {chart} --set {key}=shared\n",
        "b/map.yaml": MAP % "shared",
        "c/map.yaml": MAP % "another",
        "d/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: shared}\nspec: {}\n",
        "e/map.yaml": MAP % "{a: b}",
    }
    alone = ("b/map.yaml", "c/map.yaml", "d/pod.yaml", "e/map.yaml")

    assert of_texts(files) == {
        "the folder a": ["a/up.sh", "b/map.yaml"],
        **{f"the folder {posixpath.dirname(name)}": [name] for name in alone},
    }


def test_a_release_of_unknown_values_takes_nothing_in() -> None:
    script = "helm install p nvdp/nvidia-device-plugin --set config.name=$NAME"
    files = {"a/up.sh": f"#!/bin/sh\n{script}\n", "b/map.yaml": MAP % "$NAME"}

    assert of_texts(files)["the folder a"] == ["a/up.sh"]


@pytest.mark.parametrize(
    "application",
    [
        FLUX % ("a", "./apps/base"),
        (
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\n"
            "spec: {source: {path: apps/base}}\n"
        ),
    ],
)
def test_a_base_that_an_application_names_is_built_by_itself_too(application: str) -> None:
    """What an overlay mends is wrong where the base runs without it."""
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: c\n"
    asks = "    resources: {limits: {nvidia.com/gpu: %s}}\n"
    files = {
        "apps/base/kustomization.yaml": "resources: [a.yaml]\n",
        "apps/base/a.yaml": f"{pod}    image: a:1\n{asks % '0.5'}",
        "apps/prod/kustomization.yaml": "resources: [../base]\npatches: [{path: p.yaml}]\n",
        "apps/prod/p.yaml": pod + asks % "1",
    }

    def wrong(more: dict[str, str]) -> list[str]:
        reports = lint_files([GivenFile(*each) for each in {**files, **more}.items()])
        return [report.file for report in reports if not report.ok]

    assert wrong({}) == []
    assert wrong({"clusters/prod/a.yaml": application}) == ["apps/base/a.yaml"]


def test_the_folders_of_applications() -> None:
    reading = read_files([GivenFile("a.yaml", ARGO)])

    assert reading.folders == {"a.yaml": ["apps/a"]}
    assert applied_by(GivenFile("a.yaml", "[]\n---\nkind: Application")) == []


def test_each_overlay_is_one_with_its_base_and_what_lies_beside_it() -> None:
    files = {
        "base/kustomization.yaml": "resources: [a.yaml]\n",
        "base/a.yaml": OBJECT,
        "base/unused.yaml": OBJECT,
        "prod/kustomization.yaml": "resources: [../base]\npatches: [{path: p.yaml}]\n",
        "prod/p.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {}\n",
        "prod/beside.yaml": OBJECT,
        "test/kustomization.yaml": "resources: [../base]\n",
    }
    base = ["base/a.yaml", "base/kustomization.yaml"]

    assert of_texts(files) == {
        "the kustomization prod/kustomization.yaml": [
            *base,
            "prod/beside.yaml",
            "prod/kustomization.yaml",
            "prod/p.yaml",
        ],
        "the kustomization test/kustomization.yaml": [*base, "test/kustomization.yaml"],
        "the folder base": ["base/unused.yaml"],
    }


def test_declared_ones_go_first_and_alone() -> None:
    declared = Declared(paths={"prod": ("apps", "nodes/*prod*"), "none": ("zzz",)})
    files = dict.fromkeys(("apps/a/x.yaml", "nodes/a-prod.yaml", "nodes/test.yaml"), OBJECT)

    assert of_texts(files, declared=declared) == {
        "scope prod": ["apps/a/x.yaml", "nodes/a-prod.yaml"],
        "the folder nodes": ["nodes/test.yaml"],
    }
    (whole,) = read_files(
        [GivenFile(*each) for each in files.items()], Declared(together=True)
    ).scopes()
    assert whole.all


def test_what_a_declared_kustomization_or_root_is_built_of_is_of_its_scope_too() -> None:
    members = [
        Member(f) for f in ("base/a.yaml", "prod/kustomization.yaml", "tf/main.tf", "tf2/main.tf")
    ]
    built = {
        f"{name}/kustomization.yaml": frozenset((f"{name}/kustomization.yaml", "base/a.yaml"))
        for name in ("prod", "test")
    }
    roots = {each: frozenset((f"{each}/main.tf", "module/m.tf")) for each in ("tf", "tf2")}
    declared = {"prod": frozenset(("prod/kustomization.yaml", "tf/main.tf"))}
    scopes = {each.name: each for each in scopes_of(members, built, declared, roots)}
    prod = scopes["scope prod"]

    assert prod.files == {
        *("prod/kustomization.yaml", "base/a.yaml", "tf/main.tf", "module/m.tf"),
    }
    assert prod.builds == {"prod/kustomization.yaml", "tf/main.tf", "tf"}
    others = [each for each in scopes.values() if each is not prod]
    assert [each.files for each in others if "base/a.yaml" in each.files] == [
        built["test/kustomization.yaml"]
    ]
    assert [each.files for each in others if "tf2" in each.builds] == [roots["tf2"]]


def test_what_is_declared_or_built_together_is_no_guess_and_what_lies_beside_it_is() -> None:
    built = {
        "k/kustomization.yaml": "resources: [a.yaml]\n",
        "k/a.yaml": OBJECT,
        "b/kustomization.yaml": "resources: [a.yaml]\n",
        "b/a.yaml": OBJECT,
        "b/beside.yaml": OBJECT,
        "c/Chart.yaml": "name: c\n",
        "c/ci/a.yaml": OBJECT,
        "flux/apps.yaml": FLUX % ("apps", "k"),
        "one/a.yaml": OBJECT,
    }
    declared = Declared(paths={"one": ("one",)})
    scopes = read_files([GivenFile(*each) for each in built.items()], declared).scopes()

    assert {each.name: (each.declared, each.why) for each in scopes} == {
        "scope one": (True, "the configuration declares it"),
        "the kustomization b/kustomization.yaml": (
            False,
            "it is built of them, or they lie beside it",
        ),
        "the chart c": (False, "they are one chart"),
        "the folder flux": (
            False,
            "they lie in one folder, and it names the kustomization k/kustomization.yaml",
        ),
    }
    (alone,) = read_files([GivenFile(*each) for each in list(built.items())[:2]]).scopes()
    assert alone.declared


def test_other_kinds_of_the_same_groups_name_no_folders() -> None:
    flux = {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Other", "spec": {"path": "a"}}
    argo = {"apiVersion": "argoproj.io/v1", "kind": "Workflow", "spec": {"source": {"path": "a"}}}
    named = [{**flux, "apiVersion": "v1", "kind": "Kustomization"}, {**argo, "apiVersion": "v1"}]

    def folders(documents: list[Any]) -> list[str]:
        found = applied_by(GivenFile("a.yaml", yaml.safe_dump_all(documents)))
        return [each.folder for each in found]

    assert folders([flux, argo, *named]) == []
    right = [{**flux, "kind": "Kustomization"}, {**argo, "kind": "Application"}]
    assert folders(right) == ["a", "a"]


def test_what_lies_beside_a_root_of_terraform_is_of_it_and_no_longer_certain() -> None:
    members = [Member(f) for f in ("main.tf", "x.yaml", "a/main.tf", "a/y.yaml", "b/main.tf")]
    roots = {
        ".": frozenset(("main.tf",)),
        "a": frozenset(("a/main.tf",)),
        "b": frozenset(("b/main.tf", "b/more.tf")),
    }
    scopes = scopes_of(members, {}, roots=roots)

    assert {each.name: (each.files, each.declared) for each in scopes} == {
        "the Terraform root .": ({"main.tf", "x.yaml"}, False),
        "the Terraform root a": ({"a/main.tf", "a/y.yaml"}, False),
        "the Terraform root b": (roots["b"], True),
    }


def test_what_helm_renders_is_of_one_cluster() -> None:
    files = frozenset(("c/Chart.yaml", "c/values.yaml"))
    *_, chart = scopes_of([], {}, charts={"c": files})

    assert (chart.files, chart.is_certain) == (files, True)


def test_values_that_are_nowhere_are_in_no_scope() -> None:
    assert found({"up.sh": ((), ("values.yaml",))}) == {"the folder .": ["up.sh"]}


def test_what_is_certain() -> None:
    assert FileScope("", "", frozenset("a")).is_certain
    assert FileScope("", "", frozenset("ab"), declared=True).is_certain
    assert not FileScope("", "", frozenset("ab")).is_certain


@st.composite
def repositories(draw: st.DrawFn) -> tuple[list[Member], dict[str, frozenset[str]]]:
    paths = [posixpath.join(folder, name) for folder in FOLDERS for name in NAMES]
    names = draw(st.lists(st.sampled_from(paths), unique=True, max_size=12))
    some = st.lists(st.sampled_from(paths), max_size=2).map(tuple)
    folders = st.lists(st.sampled_from(FOLDERS[1:]), max_size=2).map(tuple)
    members = [Member(name, draw(folders), draw(some), draw(some)) for name in names]
    built = [name for name in names if name.endswith("kustomization.yaml")]
    inner = {name: {name, *draw(st.lists(st.sampled_from(names), max_size=4))} for name in built}
    for name in built:  # what a part is built of, the whole is built of too
        for each in [*inner[name]] * 2:
            inner[name] |= inner.get(each, set())
    return members, {name: frozenset(files) for name, files in inner.items()}


@given(repositories())
def test_each_file_is_in_one_scope_at_least(
    made: tuple[list[Member], dict[str, frozenset[str]]],
) -> None:
    members, kustomizations = made
    scopes = scopes_of(members, kustomizations)

    assert frozenset().union(*(each.files for each in scopes)) >= {each.file for each in members}
    assert len({each.name for each in scopes}) == len(scopes)
    built = frozenset().union(*(each.builds for each in scopes))
    assert built >= set(tops_of(kustomizations))


@given(repositories())
def test_a_further_folder_changes_no_other_scope(
    made: tuple[list[Member], dict[str, frozenset[str]]],
) -> None:
    members, kustomizations = made
    members = [each for each in members if each.file != "Chart.yaml"]  # of which all would be
    before = set(scopes_of(members, kustomizations))
    more = [*members, Member("zz/x.yaml"), Member("zz/README.md"), Member("zz/y/z.yaml")]

    assert before <= set(scopes_of(more, kustomizations))


POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    spec:
      taints: [{key: team, value: vision, effect: NoSchedule}]
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}]
  limits: {nvidia.com/gpu: 4}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 5m}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers: [{name: a, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]
"""


def codes(files: dict[str, str], **more: Any) -> dict[str, list[str]]:
    reports = lint_files([GivenFile(*each) for each in files.items()], **more)
    return {
        each.file: [one.code for one in each.findings if one.severity != "info"]
        for each in reports
        if each.findings
    }


def test_what_is_wrong_between_files_of_a_scope_is_found_and_of_others_is_not() -> None:
    assert codes({"a/pool.yaml": POOL, "a/pod.yaml": POD})["a/pod.yaml"] == ["GPU1111"]
    apart = {"a/pool.yaml": POOL, "b/pod.yaml": POD}
    assert codes(apart).get("b/pod.yaml", []) == []
    assert codes(apart, declared=Declared(together=True))["b/pod.yaml"] == ["GPU1111"]
    declared = Declared(paths={"one": ("a", "b")})
    assert codes(apart, declared=declared)["b/pod.yaml"] == ["GPU1111"]


@pytest.mark.parametrize("where", ["zz/x.yaml", "zz/README.md", "a/below/x.yaml"])
def test_an_unrelated_folder_changes_no_finding_of_another(where: str) -> None:
    files = {"a/pool.yaml": POOL, "a/pod.yaml": POD, "b/pod.yaml": POD}
    more = POOL.replace("name: gpu", "name: other").replace("vision", "other")
    more = f"```yaml\n{more}```\n" if where.endswith(".md") else more
    before = lint_files([GivenFile(*each) for each in files.items()])
    after = lint_files([GivenFile(*each) for each in {**files, where: more}.items()])

    assert {each.file: each.findings for each in after if each.file != where} == {
        each.file: each.findings for each in before
    }


INSTALL = "```sh\nhelm upgrade -i %s %s -n gpu --set nodeSelector.a=b\n```\n"


def guide(*sections: str) -> str:
    return "".join(f"# Way {number}\n{each}\n" for number, each in enumerate(sections))


def fenced(text: str) -> str:
    return f"```yaml\n{text}```\n"


def test_sections_of_a_guide_that_make_nodes_are_ways_and_what_stands_before_is_for_each() -> None:
    other = POOL.replace("name: gpu", "name: other").replace("vision", "other")
    both = fenced(POD) + guide(fenced(POOL), fenced(other))

    # Either way the pod is kept out, though by another taint.
    assert codes({"README.md": both}).get("README.md", []) == []
    same = fenced(POD) + guide(fenced(POOL), fenced(POOL.replace("limits", "weight: 1\n  limits")))
    assert codes({"README.md": same})["README.md"] == ["GPU1111"]
    one = fenced(POD) + guide(fenced(POOL), "Nothing.")
    assert codes({"README.md": one})["README.md"] == ["GPU1111"]


def test_a_release_of_one_name_is_there_once() -> None:
    install = "helm upgrade -i gpu-operator nvidia/gpu-operator -n gpu-operator\n"
    two = {"a/up.sh": install, "a/again.sh": f"{install}", "a/pool.yaml": POOL}

    assert "GPU1187" not in [each for found in codes(two).values() for each in found]
    other = {**two, "a/again.sh": install.replace("-i gpu-operator", "-i other")}
    assert "GPU1187" in [each for found in codes(other).values() for each in found]


def test_what_is_not_of_the_scope_for_certain_is_said_and_not_corrected() -> None:
    from eks_gpushare.lint.fixes import fixed_files

    given = [GivenFile("pool.yaml", POOL), GivenFile("pod.yaml", POD)]
    guessed = fixed_files(given)
    declared = fixed_files(given, declared=Declared(together=True))

    assert guessed.fixed == ()
    assert any(each.code == "GPU1111" for report in guessed.after for each in report.findings)
    assert [each.file for each in declared.fixed] == ["pod.yaml"]
    assert "tolerations:" in declared.fixed[0].after
