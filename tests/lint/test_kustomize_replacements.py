"""Replacements of kustomizations, as Kustomize fills them in."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.kustomize import Kustomizations
from eks_gpushare.manifests.kustomize_generators import generated_from, with_contents
from eks_gpushare.manifests.kustomize_replacements import steps_of, with_replacements
from eks_gpushare.manifests.texts import read_texts

APP = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "app", "annotations": {"a.b/c": "1"}},
    "spec": {
        "replicas": 1,
        "minReadySeconds": 2,
        "template": {
            "spec": {
                "nodeSelector": {"pool": "x"},
                "containers": [
                    {"name": "one", "image": "r/one:1"},
                    {"name": "two", "image": "r/two:2"},
                ],
            }
        },
    },
}
IMAGES = "spec.template.spec.containers"
POOL = "spec.template.spec.nodeSelector.pool"
NOTE = "metadata.annotations.a\\.b/c"
NEW = "spec.template.spec.nodeSelector.[x.y/z]"
PARAMETERS = [
    "configMapGenerator:",
    "- {name: par, literals: [image=q/z:9, n=3, pool=y, quoted=\"'z'\"]}",
]


RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpu-operator, namespace: gpu-operator}
spec:
  interval: 1h
  chart:
    spec:
      chart: gpu-operator
      version: v26.3.0
      sourceRef: {kind: HelmRepository, name: nvidia}
  values: {driver: {enabled: true}}
"""
SWITCHED = """\
resources: [release.yaml]
configMapGenerator: [{name: site, literals: [driver=false]}]
replacements:
- source: {kind: ConfigMap, name: site, fieldPath: data.driver}
  targets: [{select: {kind: HelmRelease}, fieldPaths: [spec.values.driver.enabled]}]
"""


def built(kustomization: list[str], files: dict[str, str] | None = None) -> Any:
    """What becomes of the Deployment."""
    given = {
        "kustomization.yaml": "\n".join(["resources: [app.yaml]", *kustomization]),
        "app.yaml": yaml.safe_dump(APP),
        **(files or {}),
    }
    made = Kustomizations([GivenFile(*each) for each in given.items()])
    (document,) = read_texts(given["app.yaml"], "app.yaml").documents
    return made.built(document)[0].value


def filled(path: str, source: str, options: str = "{}", select: str = "{kind: Deployment}") -> Any:
    """The Deployment with what a source has at a path of it."""
    target = f"{{select: {select}, fieldPaths: ['{path}'], options: {options}}}"
    return built([*PARAMETERS, "replacements:", f"- source: {source}", f"  targets: [{target}]"])


def of(key: str, more: str = "") -> str:
    return f"{{kind: ConfigMap, name: par, fieldPath: data.{key}{more}}}"


def at_path(value: Any, *path: Any) -> Any:
    for each in path:
        value = value[each]
    return value


CONTAINERS = ("spec", "template", "spec", "containers")
OWN_COUNT = "{kind: Deployment, fieldPath: spec.replicas}"
SELECTOR = ("spec", "template", "spec", "nodeSelector")


@pytest.mark.parametrize(
    ("path", "source", "options", "place", "given"),
    [
        (POOL, of("pool"), "{}", (*SELECTOR, "pool"), "y"),
        (POOL, of("quoted"), "{}", (*SELECTOR, "pool"), "z"),
        (POOL, "{kind: ConfigMap, name: par}", "{}", (*SELECTOR, "pool"), "par"),
        ("spec.replicas", of("n"), "{}", ("spec", "replicas"), 3),
        ("spec.replicas", of("pool"), "{}", ("spec", "replicas"), "y"),
        ("spec.minReadySeconds", OWN_COUNT, "{}", ("spec", "minReadySeconds"), 1),
        (POOL, of("image", ", options: {delimiter: ':'}"), "{}", (*SELECTOR, "pool"), "q/z"),
        (
            f"{IMAGES}.0.image",
            of("pool"),
            "{delimiter: ':', index: 2}",
            (*CONTAINERS, 0, "image"),
            "r/one:1:y",
        ),
        (f"{IMAGES}.[name=two].image", of("image"), "{}", (*CONTAINERS, 1, "image"), "q/z:9"),
        (f"{IMAGES}.[name=two].image", of("image"), "{}", (*CONTAINERS, 0, "image"), "r/one:1"),
        (f"{IMAGES}.*.image", of("image"), "{}", (*CONTAINERS, 0, "image"), "q/z:9"),
        (
            f"{IMAGES}.0.image",
            of("image", ", options: {delimiter: ':', index: 1}"),
            "{delimiter: ':', index: 1}",
            (*CONTAINERS, 0, "image"),
            "r/one:9",
        ),
        (
            f"{IMAGES}.1.image",
            of("image"),
            "{delimiter: ':'}",
            (*CONTAINERS, 1, "image"),
            "q/z:9:2",
        ),
        (
            f"{IMAGES}.0.image",
            of("pool"),
            "{delimiter: ':', index: 7}",
            (*CONTAINERS, 0, "image"),
            "r/one:1:y",
        ),
        (
            f"{IMAGES}.0.image",
            of("pool"),
            "{delimiter: /, index: -1}",
            (*CONTAINERS, 0, "image"),
            "y/r/one:1",
        ),
        (NOTE, of("pool"), "{}", ("metadata", "annotations"), {"a.b/c": "y"}),
        (NEW, of("pool"), "{create: true}", SELECTOR, {"pool": "x", "x.y/z": "y"}),
        (NEW, of("pool"), "{}", SELECTOR, {"pool": "x"}),
        ("spec.more.deep", of("pool"), "{create: true}", ("spec", "more"), {"deep": "y"}),
    ],
)
def test_what_is_filled_in(path: str, source: str, options: str, place: Any, given: Any) -> None:
    assert at_path(filled(path, source, options), *place) == given


@pytest.mark.parametrize(
    "source",
    [
        of("none"),
        "{kind: ConfigMap, name: other}",
        of("image", ", options: {delimiter: ':', index: 2}"),
        of("image", ", options: {delimiter: 1}"),
        of("image", ", options: {delimiter: 0}"),
        of("image", ", options: {delimiter: [':']}"),
        "{kind: ConfigMap, name: par, fieldPath: 1}",
        "none",
        "{kind: Deployment, fieldPath: spec.template.spec.containers.*.name}",
    ],
)
def test_what_a_source_does_not_tell_is_not_known(source: str) -> None:
    assert at_path(filled(POOL, source), *SELECTOR, "pool") is UNKNOWN


@pytest.mark.parametrize(
    "select", ["{kind: StatefulSet}", "{name: other}", "{kind: Deployment, name: app, version: v2}"]
)
def test_others_are_left_as_they_are(select: str) -> None:
    assert filled(POOL, of("pool"), select=select) == APP


@pytest.mark.parametrize("delimiter", ["1", "0", "[':']", "{a: b}", "true"])
def test_what_is_joined_by_no_text_is_not_known(delimiter: str) -> None:
    value = filled(POOL, of("pool"), f"{{delimiter: {delimiter}}}")

    assert at_path(value, *SELECTOR, "pool") is UNKNOWN


def test_an_empty_delimiter_is_none() -> None:
    source = of("pool", ", options: {delimiter: ''}")

    assert at_path(filled(POOL, source, "{delimiter: ''}"), *SELECTOR, "pool") == "y"


DIGITS = "9" * 5_000
TO_ALL = {"select": {"kind": "Deployment"}, "options": {"create": True}}


@pytest.mark.parametrize(
    ("given", "source", "made"),
    [
        (True, "false", False),
        (False, "true", True),
        (True, False, False),
        (True, "no", UNKNOWN),
        (True, 1, UNKNOWN),
        (True, "1", UNKNOWN),
        (1, "-2", -2),
        (1, "0", 0),
        (1, 3, 3),
        (1, True, UNKNOWN),
        (1, "true", "true"),
        (1, "010", UNKNOWN),
        (1, "1.5", UNKNOWN),
        (1, ".5", UNKNOWN),
        (1, "\N{ARABIC-INDIC DIGIT THREE}", "\N{ARABIC-INDIC DIGIT THREE}"),
        (1, "9" * 18, 10**18 - 1),
        pytest.param(1, DIGITS, UNKNOWN, id="long-1"),
        pytest.param(0.5, DIGITS, UNKNOWN, id="long-2"),
        (0.5, "0.25", 0.25),
        (0.5, "2", 2.0),
        (0.5, 2, 2.0),
        (0.5, "half", "half"),
        ("a", True, "true"),
        ("a", 2, "2"),
        pytest.param("a", DIGITS, DIGITS, id="long-text"),
        ("a", {"b": 1}, UNKNOWN),
        (1, ["b"], UNKNOWN),
        (True, UNKNOWN, UNKNOWN),
        ({"b": 1}, "c", "c"),
        ({"b": 1}, {"c": 2}, {"c": 2}),
    ],
)
def test_what_is_filled_in_has_the_type_of_what_was_there(
    given: Any, source: Any, made: Any
) -> None:
    each = {"sourceValue": source, "targets": [{**TO_ALL, "fieldPaths": ["spec.of"]}]}
    value = with_replacements({"kind": "Deployment", "spec": {"of": given}}, [each], lambda _: ())

    assert (type(value["spec"]["of"]), value["spec"]["of"]) == (type(made), made)


@pytest.mark.parametrize(("steps", "made"), [(50, "w"), (51, UNKNOWN), (30_000, UNKNOWN)])
def test_the_levels_that_a_path_makes_have_an_end(steps: int, made: Any) -> None:
    path = ".".join(["a"] * steps)
    each = {"sourceValue": "w", "targets": [{**TO_ALL, "fieldPaths": [path]}]}
    value = with_replacements({"kind": "Deployment"}, [each], lambda _: ())

    assert at_path(value, *["a"] * 50) is made


@pytest.mark.parametrize(("steps", "made"), [(50, "w"), (51, UNKNOWN)])
def test_a_source_too_deep_is_not_known(steps: int, made: Any) -> None:
    source: Any = "w"
    for _ in range(steps):
        source = {"a": source}
    each = {
        "source": {"kind": "Job", "fieldPath": ".".join(["a"] * steps)},
        "targets": [{**TO_ALL, "fieldPaths": ["spec"]}],
    }
    value = with_replacements({"kind": "Deployment"}, [each], lambda _: [source])

    assert value["spec"] is made


def test_a_switch_of_a_release_stays_one() -> None:
    files = {"kustomization.yaml": SWITCHED, "release.yaml": RELEASE}
    reports = lint_files([GivenFile(*each) for each in files.items()])

    assert "GPU1036" not in {each.finding.code for report in reports for each in report.found}


def test_what_is_rejected_is_left_as_it_is() -> None:
    target = f"{{select: {{kind: Deployment}}, reject: [{{name: app}}], fieldPaths: [{POOL}]}}"
    value = built(
        [*PARAMETERS, "replacements:", f"- source: {of('pool')}", f"  targets: [{target}]"]
    )

    assert value == APP


def test_a_target_says_what_it_selects() -> None:
    target = f"{{fieldPaths: [{POOL}]}}"
    value = built(
        [*PARAMETERS, "replacements:", f"- source: {of('pool')}", f"  targets: [{target}]"]
    )

    assert value == APP


@pytest.mark.parametrize(
    ("generator", "space", "pool"),
    [
        ("{name: par, literals: [pool=y]}", "", "y"),
        ("{name: par, namespace: a, literals: [pool=y]}", "", UNKNOWN),
        ("{name: par, namespace: gpu, literals: [pool=y]}", "", "y"),
        ("{name: par, literals: [pool=y]}", "namespace: gpu", "y"),
        ("{name: par, literals: [pool=y]}", "namespace: a", UNKNOWN),
        ("{name: par, files: [missing.txt], literals: [pool=y]}", "", UNKNOWN),
        ("{name: par, files: [pool=there.txt]}", "", "of a file"),
        ("{name: par, envs: [5, {a: b}], literals: [pool=y]}", "", UNKNOWN),
        ("{name: par, env: 7, literals: [pool=y]}", "", UNKNOWN),
        ("{name: par, env: '', literals: [pool=y]}", "", "y"),
    ],
)
def test_what_generators_make_is_a_source(generator: str, space: str, pool: Any) -> None:
    where = ", namespace: gpu" if "amespace" in f"{generator}{space}" else ""
    value = built(
        [
            space,
            f"configMapGenerator: [{generator}]",
            "replacements:",
            f"- source: {{kind: ConfigMap, name: par, fieldPath: data.pool{where}}}",
            f"  {REPLACEMENT[1]}",
        ],
        {"there.txt": "of a file"},
    )

    assert at_path(value, *SELECTOR, "pool") == pool


def test_a_kustomization_with_files_in_it_is_not_edited() -> None:
    text = "configMapGenerator: [{name: a, files: [b.txt]}]\nsecretGenerator: [{envs: [c, 1]}]\n"
    (document,) = read_texts(text, "kustomization.yaml").documents
    made = with_contents(document, {"b.txt": "inner"}.get)

    assert (document.editable, made.editable) == (True, False)
    assert made.value["configMapGenerator"][0]["literals"] == ["b.txt=inner"]
    assert list(generated_from(document.value)) == ["b.txt", "c"]


def test_a_value_may_be_written_in_place_of_a_source() -> None:
    each = {
        "sourceValue": "w",
        "targets": [{"select": {"kind": "Deployment"}, "fieldPaths": [POOL]}],
    }

    assert at_path(with_replacements(APP, [each], lambda _: ()), *SELECTOR, "pool") == "w"


def test_a_source_is_as_patches_of_the_base_have_made_it() -> None:
    files = {
        "kustomization.yaml": "\n".join(
            [
                "resources: [base]",
                "replacements:",
                "- source: {kind: Deployment, name: app, fieldPath: spec.replicas}",
                f"  targets: [{{select: {{kind: Deployment}}, fieldPaths: [{POOL}]}}]",
            ]
        ),
        "base/kustomization.yaml": "resources: [app.yaml]\nreplicas: [{name: app, count: 5}]\n",
        "base/app.yaml": yaml.safe_dump(APP),
    }
    made = Kustomizations([GivenFile(*each) for each in files.items()])
    (document,) = read_texts(files["base/app.yaml"], "base/app.yaml").documents
    (one,) = made.built(document)

    assert at_path(one.value, *SELECTOR, "pool") == "5"


def test_what_is_replaced_in_a_source_itself_is_not_known() -> None:
    name = f"{{select: {{kind: Deployment}}, fieldPaths: [{POOL}]}}"
    count = "{select: {kind: Deployment}, fieldPaths: [spec.replicas]}"
    value = built(
        [
            *PARAMETERS,
            "replacements:",
            f"- {{source: {of('n')}, targets: [{count}]}}",
            f"- {{source: {{kind: Deployment, fieldPath: spec.replicas}}, targets: [{name}]}}",
        ]
    )

    assert at_path(value, "spec", "replicas") == 3
    assert at_path(value, *SELECTOR, "pool") is UNKNOWN


REPLACEMENT = [
    f"source: {of('pool')}",
    f"targets: [{{select: {{kind: Deployment}}, fieldPaths: [{POOL}]}}]",
]


@pytest.mark.parametrize("text", ["\n".join(REPLACEMENT), "- " + "\n  ".join(REPLACEMENT)])
def test_a_file_of_replacements_is_one_or_a_list(text: str) -> None:
    value = built([*PARAMETERS, "replacements: [{path: fill.yaml}]"], {"fill.yaml": text})

    assert at_path(value, *SELECTOR, "pool") == "y"


@pytest.mark.parametrize(
    ("variables", "pool"),
    [
        ({"par.env": "# pool=no\n\npool=of-a-file\nALONE\n"}, "of-a-file"),
        ({"par.env": "pool\n"}, UNKNOWN),
        ({}, UNKNOWN),
    ],
)
def test_variables_of_a_file_are_a_source_where_it_is_given(variables: Any, pool: Any) -> None:
    value = built(
        [
            "configMapGenerator: [{name: par, envs: [par.env]}]",
            "replacements:",
            f"- {REPLACEMENT[0]}",
            f"  {REPLACEMENT[1]}",
        ],
        variables,
    )

    assert at_path(value, *SELECTOR, "pool") == pool


def test_a_file_that_is_not_there_is_told() -> None:
    made = {"kustomization.yaml": "resources: []\nreplacements: [{path: fill.yaml}]\n"}
    (report,) = lint_files([GivenFile(*each) for each in made.items()])

    assert [each.finding.code for each in report.found] == ["GPU1014"]


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("a.b", ["a", "b"]),
        ("a.[b=c.d].e", ["a", "[b=c.d]", "e"]),
        ("a.[b.c/d]", ["a", "b.c/d"]),
        ("a\\.b\\.c.d", ["a.b.c", "d"]),
        ("a.[b", ["a", "b"]),
        ("a\\", ["a\\"]),
        ("[a\\.b].c", ["a.b", "c"]),
        pytest.param(f"[{'a.' * 200_000}", ["a." * 200_000], id="long"),
    ],
)
def test_the_steps_of_a_path(path: str, steps: list[str]) -> None:
    assert steps_of(path) == steps


CONFIG = "spec.devicePlugin.config"
POLICY = """\
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec: {devicePlugin: {config: {name: FILL, default: FILL}}}
"""
SHARES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: shares, namespace: gpu-operator}
data:
  four: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""


def codes(key: str) -> set[str]:
    files = {
        "base/kustomization.yaml": "resources: [policy.yaml, shares.yaml]\n",
        "base/policy.yaml": POLICY,
        "base/shares.yaml": SHARES,
        "site/kustomization.yaml": "\n".join(
            [
                "namePrefix: here-",
                "resources: [../base]",
                f"configMapGenerator: [{{name: site, literals: [key={key}]}}]",
                "replacements:",
                "- source: {kind: ConfigMap, name: shares, fieldPath: metadata.name}",
                f"  targets: [{{select: {{kind: ClusterPolicy}}, fieldPaths: [{CONFIG}.name]}}]",
                "- source: {kind: ConfigMap, name: site, fieldPath: data.key}",
                f"  targets: [{{select: {{kind: ClusterPolicy}}, fieldPaths: [{CONFIG}.default]}}]",
            ]
        ),
    }
    reports = lint_files([GivenFile(*each) for each in files.items()])
    return {placed.finding.code for each in reports for placed in each.found}


def test_names_and_keys_that_are_filled_in_are_held_against_the_config_map() -> None:
    assert codes("four") == set()
    assert codes("five") == {"GPU1122"}
