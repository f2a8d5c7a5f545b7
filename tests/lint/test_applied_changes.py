"""What applications of Argo CD and Flux have over the folders that they name is applied too."""

from __future__ import annotations

import pytest
from linted import every, said

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.applied_changes import ANYTHING, in_common, of_argo, of_flux

NODES = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: ml, region: eu-west-1, version: "1.33"}
managedNodeGroups:
  - name: gpu
    instanceType: g5.12xlarge
    amiFamily: AmazonLinux2023
    volumeSize: 200
    taints: [{key: dedicated, value: gpu, effect: NoSchedule}]
"""
APP = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  strategy: {type: Recreate}
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      containers:
        - {name: c, image: "r.example.com/chat:1", resources: {limits: {nvidia.com/gpu: 1}}}
"""
OPERATIONS = (
    '[{"op": "add", "path": "/spec/template/spec/tolerations", '
    '"value": [{"key": "dedicated", "operator": "Exists"}]}]'
)
PATCHES = f"patches: [{{target: {{kind: Deployment}}, patch: '{OPERATIONS}'}}]"
COMPONENT = f"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n{PATCHES}\n"


def flux(more: str, path: str = "./apps", name: str = "chat") -> str:
    return f"""\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: flux-system}}
spec:
  interval: 10m
  path: {path}
  prune: true
  sourceRef: {{kind: GitRepository, name: flux-system}}
  {more}
"""


def argo(source: str, path: str = "apps") -> str:
    return f"""\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: chat, namespace: argocd}}
spec:
  project: ml
  source: {{repoURL: "https://example.com/ml", path: {path}, targetRevision: main, {source}}}
  destination: {{server: "https://kubernetes.default.svc", namespace: ml}}
"""


def files(application: str, **more: str) -> dict[str, str]:
    named = {name.replace("__", "/").replace("_", "."): text for name, text in more.items()}
    return {"nodes.yaml": NODES, "app.yaml": application, "apps/d.yaml": APP} | named


LISTED = {"apps__kustomization_yaml": "resources: [d.yaml]\n"}


@pytest.mark.parametrize("more", [LISTED, {}])
def test_a_patch_of_flux_adds_what_pods_need(more: dict[str, str]) -> None:
    assert said(files(flux("force: false"), **more)) == ["GPU1111"]
    assert said(files(flux(PATCHES), **more)) == []
    other = PATCHES.replace("Deployment", "StatefulSet")
    assert said(files(flux(other), **more)) == ["GPU1111"]


def test_one_of_argo_cd_too() -> None:
    assert said(files(argo("kustomize: {nameSuffix: -a}"), **LISTED)) == ["GPU1111"]
    assert said(files(argo(f"kustomize: {{{PATCHES}}}"), **LISTED)) == []


def test_components_are_applied() -> None:
    more = {**LISTED, "gpu__kustomization_yaml": COMPONENT}

    assert said(files(flux("components: [../gpu]"), **more)) == []
    assert said(files(argo("kustomize: {components: [../gpu]}"), **more)) == []
    assert said(files(flux("components: [../none]"), **more)) == ["GPU1111"]


def test_images_and_replicas_are_taken() -> None:
    image = {"apps__d_yaml": APP.replace("r.example.com/chat:1", "tensorflow/tensorflow:2.16.1")}
    pinned = "images: [{name: tensorflow/tensorflow, newTag: 2.16.1-gpu}]"
    bare = {"nodes_yaml": "", **LISTED, **image}

    assert said(files(flux("force: false"), **bare)) == ["GPU1380"]
    assert said(files(flux(pinned), **bare)) == []
    of_argo = 'kustomize: {images: ["tensorflow/tensorflow:2.16.1-gpu"]}'
    assert said(files(argo(of_argo), **bare)) == []


def test_of_several_applications_only_what_they_have_in_common_is_known() -> None:
    both = {**LISTED, "prod_yaml": flux(PATCHES, name="prod")}

    assert said(files(flux("force: false"), **both)) == []
    same = {**LISTED, "prod_yaml": flux("wait: true", name="prod")}
    assert said(files(flux("force: false"), **same)) == ["GPU1111"]


def test_what_all_delete_is_nowhere() -> None:
    gone = (
        'patches: [{target: {kind: Deployment}, patch: "$patch: delete\\nkind: Any\\n'
        'metadata: {name: any}"}]'
    )

    assert said(files(flux(gone), **LISTED)) == []
    both = {**LISTED, "prod_yaml": flux("wait: true", name="prod")}
    assert said(files(flux(gone), **both)) == ["GPU1111"]


def test_of_what_a_plugin_or_a_parameter_makes_nothing_is_known() -> None:
    found = every(files(argo("plugin: {name: ours}")).items())

    assert [each.severity for each in found if each.code == "GPU1111"] == ["info"]
    assert of_argo({"plugin": {}}) is ANYTHING
    assert of_argo({"kustomize": {"patches": [{"patch": "{{key}}"}]}}) is ANYTHING
    assert of_flux({"patches": [{"patch": UNKNOWN}]}) is ANYTHING
    assert of_flux({"path": "./a", "patches": []}) == {}
    assert of_argo({"path": "a"}) == {}


def test_a_patch_that_does_not_go_with_an_object_is_told_of_no_file() -> None:
    wrong = PATCHES.replace("/spec/template", "/spec/none")

    assert said(files(flux(wrong), **LISTED)) == ["GPU1111"]


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ({"a": 1}, {"a": 1}, {"a": 1}),
        ({"a": 1}, {"a": 2}, {"a": UNKNOWN}),
        ({"a": 1, "b": 2}, {"a": 1}, {"a": 1, "b": UNKNOWN}),
        ([1, {"a": 2}], [1, {"a": 3}], [1, {"a": UNKNOWN}]),
        ([1], [1, 2], UNKNOWN),
        ({"a": 1}, [1], UNKNOWN),
    ],
)
def test_what_two_have_in_common(one: object, other: object, both: object) -> None:
    assert in_common(one, other) == both


PLUGIN = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nvdp, namespace: kube-system}
spec:
  interval: 1h
  chart: {spec: {chart: nvidia-device-plugin, version: 0.17.1}}
  values: {gfd: {enabled: true}, tolerations: [{key: nvidia.com/gpu, operator: Exists}]}
  MORE
"""
KUSTOMIZED = """\
namespace: kube-system
resources: [nodes.yaml]
helmCharts:
  - name: nvidia-device-plugin
    repo: https://nvidia.github.io/k8s-device-plugin
    version: 0.17.1
    releaseName: nvdp
    valuesInline: {tolerations: [{key: nvidia.com/gpu, operator: Exists}]}
MORE
"""


@pytest.mark.parametrize(
    ("patch", "told"),
    [
        ("", True),
        ("{target: {kind: DaemonSet}, patch: tolerations}", False),
        ("{target: {kind: DaemonSet}, patch: labels}", True),
        ("{target: {kind: DaemonSet}, path: any.yaml}", False),
        ("{target: {kind: Deployment}, patch: tolerations}", True),
    ],
)
def test_what_is_patched_of_a_chart_is_not_what_its_values_say(patch: str, told: bool) -> None:
    renderers = f"postRenderers: [{{kustomize: {{patches: [{patch}]}}}}]"
    release = PLUGIN.replace("MORE", renderers)
    inflated = KUSTOMIZED.replace("MORE", f"patches: [{patch}]")

    assert ("GPU1100" in said({"nodes.yaml": NODES, "nvdp.yaml": release})) is told
    files = {"a/kustomization.yaml": inflated, "a/nodes.yaml": NODES}
    assert ("GPU1100" in said(files)) is told
