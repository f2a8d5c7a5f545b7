"""Variables that Kustomizations of Flux put into the objects of the folders that they apply."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from linted import found_in_parts, said

from eks_gpushare.lint.flux_variables import FluxVariables
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from pathlib import Path

APPLIES = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: NAME, namespace: flux-system}
spec:
  path: ./FOLDER
  postBuild: {MORE}
"""
FROM = "substituteFrom: [{kind: ConfigMap, name: of-cluster}]"
MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: of-cluster, namespace: flux-system}
data: {types: '["g6e.4xlarge", "g6e.8xlarge"]', size: g6e.8xlarge, other: p4d.24xlarge}
"""
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    metadata: {labels: {fleet: gpu}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - key: node.kubernetes.io/instance-type
        operator: In
        values: TYPES
  limits: {nvidia.com/gpu: 4}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 5m}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  nodeSelector: {fleet: gpu}
  containers: [{name: a, image: a:1, resources: {limits: {nvidia.com/gpu: 2}}}]
"""
TOO_MANY = "GPU1253"


def tree(types: str = '["${size}"]', more: str = FROM) -> dict[str, str]:
    """A cluster whose pool has one GPU a node, by variables, and a pod that asks for two."""
    applies = APPLIES.replace("NAME", "gpu").replace("FOLDER", "gpu").replace("MORE", more)
    return {
        "clusters/a/gpu.yaml": applies,
        "clusters/a/map.yaml": MAP,
        "gpu/pool.yaml": POOL.replace("TYPES", types),
        "gpu/pod.yaml": POD,
    }


@pytest.mark.parametrize(
    ("types", "more"),
    [
        ('["${size}"]', FROM),
        ("${types}", FROM),
        ("['${size}', g6e.4xlarge]", FROM),
        ('["${family}.8xlarge"]', "substitute: {family: g6e}"),
        ('["${size}"]', f"{FROM}, substitute: {{size: g6.8xlarge}}"),
        ('["${none:=g6.8xlarge}"]', FROM),
    ],
)
def test_what_variables_are_is_put_in(types: str, more: str) -> None:
    assert TOO_MANY in said(tree(types, more))


@pytest.mark.parametrize(
    ("types", "more"),
    [
        ('["${size}"]', "wait: true"),
        ('["${none}"]', FROM),
        ('["${other}"]', FROM),
        ('"${types}"', FROM),
        ('["$${size}"]', FROM),
        ('["${size}"]', f"{FROM}, substitute: {{size: p4d.24xlarge}}"),
        ('["${size}"]', f"{FROM}, substitute: {{size: $SIZE}}"),
        ('["${size}"]', FROM.replace("]", ", {kind: Secret, name: keys}]")),
        ('["${size}"]', FROM.replace("of-cluster", "of-others")),
    ],
)
def test_what_is_not_known_is_not(types: str, more: str) -> None:
    assert TOO_MANY not in said(tree(types, more))


def test_a_folder_of_several_clusters_has_no_one_value() -> None:
    files = tree()
    files["clusters/b/gpu.yaml"] = files["clusters/a/gpu.yaml"]
    files["clusters/b/map.yaml"] = MAP.replace("g6e.8xlarge", "p4d.24xlarge")

    assert TOO_MANY not in said(files)
    del files["clusters/b/gpu.yaml"]
    assert TOO_MANY in said(files)


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("clusters/a/map.yaml", "space: flux-system", "space: default"),
        ("clusters/a/gpu.yaml", "./gpu", "./others"),
        ("clusters/a/gpu.yaml", "kustomize.toolkit.fluxcd.io/v1", "kustomize.config.k8s.io/v1"),
        (
            "gpu/pool.yaml",
            "{name: gpu}",
            "{name: gpu, labels: {kustomize.toolkit.fluxcd.io/substitute: disabled}}",
        ),
    ],
)
def test_what_is_of_others_or_left_out_stays(file: str, before: str, after: str) -> None:
    files = tree()
    files[file] = files[file].replace(before, after)

    assert TOO_MANY not in said(files)


def test_a_map_elsewhere_may_be_another_clusters() -> None:
    files = tree()
    files["clusters/b/map.yaml"] = files.pop("clusters/a/map.yaml")

    assert TOO_MANY not in said(files)


NAMES_ALL = "resources: [pool.yaml, pod.yaml]\n"


@pytest.mark.parametrize(
    ("more", "is_known"),
    [
        ({"gpu/kustomization.yaml": NAMES_ALL}, True),
        # What another folder builds of it has variables of its own.
        ({"b/kustomization.yaml": "resources: [../gpu/pool.yaml, ../gpu/pod.yaml]\n"}, False),
        ({"gpu/kustomization.yaml": NAMES_ALL, "b/kustomization.yaml": "bases: [../gpu]\n"}, False),
        # What the kustomization of the folder does not name is not applied with it.
        ({"gpu/kustomization.yaml": "resources: [pod.yaml]\n"}, False),
        ({"kustomization.yaml": "resources: [clusters/a]\n"}, True),
    ],
)
def test_what_is_built_has_the_variables_of_what_applies_it(
    more: dict[str, str], *, is_known: bool
) -> None:
    assert (TOO_MANY in said(tree() | more)) is is_known


def test_an_overlay_puts_variables_into_its_base() -> None:
    base = {name.replace("gpu/", "base/"): text for name, text in tree().items()}
    files = {
        **base,
        "clusters/a/gpu.yaml": tree()["clusters/a/gpu.yaml"],
        "base/kustomization.yaml": NAMES_ALL,
        "gpu/kustomization.yaml": "resources: [../base]\n",
    }

    assert TOO_MANY in said(files)
    files["other/kustomization.yaml"] = "resources: [../base]\n"
    assert TOO_MANY not in said(files)
    files["clusters/a/other.yaml"] = files["clusters/a/gpu.yaml"].replace("gpu", "other")
    assert TOO_MANY in said(files)
    files["clusters/a/other.yaml"] = files["clusters/a/other.yaml"].replace(
        FROM, "substitute: {size: p4d.24xlarge}"
    )
    assert TOO_MANY not in said(files)


def test_a_folder_between_that_builds_less_is_all_that_is_applied() -> None:
    files = tree()
    files |= {f"gpu/in/{name}": files.pop(f"gpu/{name}") for name in ("pool.yaml", "pod.yaml")}

    assert TOO_MANY in said(files)
    files["gpu/in/kustomization.yaml"] = "resources: [pod.yaml]\n"
    assert TOO_MANY not in said(files)


SOURCE = "  sourceRef: {kind: GitRepository, name: NAME}\n  path"


@pytest.mark.parametrize(
    ("own", "other", "is_known"),
    [
        ("flux-system", "flux-system", True),
        ("fleet", "fleet", True),
        ("flux-system", "elsewhere", True),
        ("elsewhere", "flux-system", False),
        ("elsewhere", "fleet", False),
    ],
)
def test_a_folder_of_another_source_is_another_one(own: str, other: str, *, is_known: bool) -> None:
    files = tree()
    text = files["clusters/a/gpu.yaml"]
    files["clusters/a/gpu.yaml"] = text.replace("  path", SOURCE.replace("NAME", own))
    more = text.replace("./gpu", "./more").replace("  path", SOURCE.replace("NAME", other))
    files["clusters/a/more.yaml"] = more

    assert (TOO_MANY in said(files)) is is_known


def test_a_kustomization_that_is_patched_puts_in_what_it_then_has() -> None:
    applies = {"base/gpu.yaml": tree()["clusters/a/gpu.yaml"]}
    files = {**tree(), **applies, "base/kustomization.yaml": "resources: [gpu.yaml]\n"}
    del files["clusters/a/gpu.yaml"]
    overlay = "resources: [../../base, map.yaml]\n"

    assert TOO_MANY not in said(files)
    assert TOO_MANY in said({**files, "clusters/a/kustomization.yaml": overlay})
    patch = (
        "patches:\n- target: {kind: Kustomization}\n"
        "  patch: '[{op: add, path: /spec/postBuild/substitute, value: {size: p4d.24xlarge}}]'\n"
    )
    assert TOO_MANY not in said({**files, "clusters/a/kustomization.yaml": overlay + patch})
    second = {f"clusters/b/{name}": text for name, text in {"map.yaml": MAP}.items()}
    second["clusters/b/kustomization.yaml"] = overlay
    second["clusters/b/map.yaml"] = MAP.replace("g6e.8xlarge", "p4d.24xlarge")
    assert TOO_MANY not in said({**files, **second, "clusters/a/kustomization.yaml": overlay})


def test_maps_in_folders_below_are_of_the_same_part(tmp_path: Path) -> None:
    files = tree()
    files["clusters/a/in/map.yaml"] = files.pop("clusters/a/map.yaml")
    files["clusters/b/map.yaml"] = MAP.replace("g6e.8xlarge", "p4d.24xlarge")
    files["clusters/c/texts.yaml"] = f"# {'a' * 300_000}\n"

    assert TOO_MANY in [each.code for each in found_in_parts(tmp_path, files)]
    files["clusters/a/in/more.yaml"] = MAP
    assert TOO_MANY not in [each.code for each in found_in_parts(tmp_path / "b", files)]


def test_of_no_path_all_may_be_applied() -> None:
    files = tree()
    files["clusters/a/more.yaml"] = files["clusters/a/gpu.yaml"].replace("./gpu", "./$FOLDER")

    assert TOO_MANY not in said(files)


@pytest.mark.parametrize(
    ("types", "more", "is_known"),
    [
        ('["g6e.${of}xlarge"]', "substitute: {of: '8'}", True),
        ('["g6e.${of}xlarge${none}"]', "substitute: {of: '8'}", False),
        ("\n        - ${of}", "substitute: {of: g6e.8xlarge}", True),
        ("\n        - ${of}", 'substitute: {of: "g6e.8xlarge\\n"}', False),
        ("\n        - ${of}", f'substitute: {{of: "g6e.8xlarge{" " * 4096}"}}', False),
        ("\n        - ${of}", "substitute: {of: 8}", False),
        ("\n        - ${of}\n        - ${none}", "substitute: {of: g6e.8xlarge}", False),
        ("\n        - ${of:=p4d.24xlarge}", "substitute: {of: g6e.8xlarge}", True),
        ("\n        - ${of/p4d/g6e}", "substitute: {of: g6e.8xlarge}", False),
    ],
)
def test_a_text_is_what_it_becomes(types: str, more: str, *, is_known: bool) -> None:
    assert (TOO_MANY in said(tree(types, more))) is is_known


def test_a_number_between_quotes_is_a_text() -> None:
    text = (
        "kind: A\na: ${count}\nb: '${count}'\nc: \"${count}\"\nd: ${count}-${count}\ne: ${count}\n"
        "f: '${count}'\ng: ${list}\nh: a ${count}\n"
    )
    files = tree(more="substitute: {count: '8', list: '[8]'}") | {"gpu/a.yaml": text}
    flux = FluxVariables([GivenFile(name, each) for name, each in files.items()])
    (document,) = read_texts(text, "gpu/a.yaml").documents

    assert flux.given(document).value == {
        "kind": "A",
        "a": 8,
        "b": "8",
        "c": "8",
        "d": "8-8",
        "e": 8,
        "f": "8",
        "g": [8],
        "h": "a 8",
    }


def test_guides_and_kustomizations_of_kustomize_apply_nothing() -> None:
    own = (
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
        "commonAnnotations: {kustomize.toolkit.fluxcd.io/prune: disabled}\n"
    )
    other = tree(more="substitute: {size: p4d.24xlarge}")["clusters/a/gpu.yaml"]

    assert TOO_MANY in said(tree() | {"gpu/kustomization.yaml": own + NAMES_ALL})
    assert TOO_MANY in said(tree() | {"README.md": other})
    assert TOO_MANY not in said(tree() | {"more.yaml": other})


def test_what_is_filled_is_not_edited_and_what_is_no_object_stays() -> None:
    given = [GivenFile(name, text) for name, text in tree().items()]
    flux = FluxVariables([*given, GivenFile("gpu/values.yaml", "a: ${size}\n")])
    (pool,), (values,) = (
        read_texts(text, name).documents
        for name, text in {
            "gpu/pool.yaml": tree()["gpu/pool.yaml"],
            "gpu/values.yaml": "a: ${size}\n",
        }.items()
    )

    assert pool.editable
    assert not flux.given(pool).editable
    assert flux.given(values) is values


def test_a_map_of_an_unknown_name_may_be_any() -> None:
    files = tree()
    files["clusters/a/map.yaml"] = MAP.replace("of-cluster", "$A")
    assert TOO_MANY not in said(files)
    files["clusters/a/gpu.yaml"] = files["clusters/a/gpu.yaml"].replace("of-cluster", "$A")
    assert TOO_MANY not in said(files)


def test_a_secret_of_the_name_is_no_map() -> None:
    files = tree()
    files["clusters/a/map.yaml"] = MAP.replace("kind: ConfigMap", "kind: Secret")

    assert TOO_MANY not in said(files)
