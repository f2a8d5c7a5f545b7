"""Pods that another object completes: runtimes, templates, defaults, classes."""

from __future__ import annotations

import pytest
from linted import said

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
RUNTIME = """\
apiVersion: serving.kserve.io/v1alpha1
kind: ClusterServingRuntime
metadata: {name: triton}
spec:
  tolerations: [{key: dedicated, operator: Exists}]
  supportedModelFormats: [{name: triton, version: "2", autoSelect: true}]
  containers: [{name: kserve-container, image: "nvcr.io/nvidia/tritonserver:24.10-py3"}]
"""
MODEL = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: m, namespace: models}
spec:
  predictor:
    minReplicas: 1
    model:
      modelFormat: {name: triton}
      runtime: triton
      storageUri: "s3://b/m"
      resources: {limits: {nvidia.com/gpu: 1}}
"""
NO_RUNTIME = MODEL.replace("      runtime: triton\n", "")
OWN = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: m, namespace: models}
spec:
  predictor:
    containers: [{name: c, image: "r.example.com/c:1", resources: {limits: {nvidia.com/gpu: 1}}}]
"""
UNTOLD = RUNTIME.replace("  tolerations: [{key: dedicated, operator: Exists}]\n", "")
IN_SPACE = RUNTIME.replace("ClusterServing", "Serving").replace(
    "{name: triton}", "{name: triton, namespace: SPACE}", 1
)


@pytest.mark.parametrize(
    ("model", "runtimes", "told"),
    [
        (MODEL, RUNTIME, False),
        (MODEL, UNTOLD, True),
        (NO_RUNTIME, RUNTIME, False),
        (NO_RUNTIME, UNTOLD, True),
        (NO_RUNTIME, "", True),
        # Of a runtime that is not here it is not known, but of KServe's own.
        (MODEL, "", False),
        (MODEL.replace("runtime: triton", "runtime: kserve-tritonserver"), RUNTIME, True),
        (MODEL, IN_SPACE.replace("SPACE", "models"), False),
        (MODEL.replace("runtime: triton", "runtime: kserve-a"),
         IN_SPACE.replace("SPACE", "models").replace("name: triton,", "name: kserve-a,"), False),
        (MODEL.replace("runtime: triton", "runtime: kserve-a"),
         IN_SPACE.replace("SPACE", "other").replace("name: triton,", "name: kserve-a,"), True),
        # One of two, which are not alike: no one knows which.
        (NO_RUNTIME, f"{RUNTIME}---\n{UNTOLD.replace('name: triton}', 'name: b}', 1)}", False),
        (OWN, RUNTIME, True),
    ],
)  # fmt: skip
def test_a_model_has_what_its_runtime_says(model: str, runtimes: str, told: bool) -> None:
    found = said({"nodes.yaml": NODES, "model.yaml": model, "runtimes.yaml": runtimes})

    assert ("GPU1111" in found) is told


def test_selectors_of_both_hold_and_the_models_own_go_first() -> None:
    nodes = NODES.replace("    taints:", "    labels: {pool: gpu, zone: a}\n    taints:")
    runtime = RUNTIME.replace("spec:\n", "spec:\n  nodeSelector: {pool: gpu, zone: b}\n")
    selecting = MODEL.replace("  predictor:\n", "  predictor:\n    nodeSelector: {zone: ZONE}\n")

    def codes(zone: str) -> list[str]:
        model = selecting.replace("ZONE", zone)
        return said({"nodes.yaml": nodes, "model.yaml": model, "runtime.yaml": runtime})

    assert "GPU1112" not in codes("a")
    assert "GPU1112" in codes("c")
    wanting = MODEL.replace("  predictor:\n", "  predictor:\n    nodeSelector: {zone: a}\n")
    files = {"nodes.yaml": nodes, "model.yaml": wanting}
    assert "GPU1112" not in said({**files, "runtime.yaml": RUNTIME})
    other = RUNTIME.replace("spec:\n", "spec:\n  nodeSelector: {pool: cpu}\n")
    assert "GPU1112" in said({**files, "runtime.yaml": other})
    unknown = wanting.replace("{zone: a}", "<selector>")
    assert "GPU1112" not in said({**files, "model.yaml": unknown, "runtime.yaml": other})


WITH_GPU = "{name: node, image: x, resources: {limits: {nvidia.com/gpu: 1}}}"
TRAINING = f"""\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {{name: torch}}
spec:
  template:
    spec:
      replicatedJobs:
        - name: node
          template: {{spec: {{template: {{spec: {{containers: [{WITH_GPU}]}}}}}}}}
"""


def test_a_runtime_makes_no_pods_by_itself() -> None:
    gpu = "resources: {limits: {nvidia.com/gpu: 1}}, image"
    runtime = UNTOLD.replace("image", gpu)

    assert said({"nodes.yaml": NODES, "runtime.yaml": runtime}) == []
    assert "GPU1111" not in said({"nodes.yaml": NODES, "training.yaml": TRAINING})
    selecting = TRAINING.replace("{containers", "{nodeSelector: {a: b}, containers")
    assert "GPU1112" in said({"nodes.yaml": NODES, "training.yaml": selecting})


def workflow(kind: str, spec: str, more: str = "") -> str:
    of_cron = kind == "CronWorkflow"
    inner = f"{{entrypoint: a, {more}templates: [{{name: a, {spec}container: {WITH_GPU}}}]}}"
    return f"""\
apiVersion: argoproj.io/v1alpha1
kind: {kind}
metadata: {{name: w, namespace: ml}}
spec: {f'{{schedule: "@daily", workflowSpec: {inner}}}' if of_cron else inner}
"""


TOLERATES = "tolerations: [{key: dedicated, operator: Exists}], "


@pytest.mark.parametrize("kind", ["Workflow", "CronWorkflow"])
@pytest.mark.parametrize(
    ("spec", "more", "told"),
    [
        ("", "", True),
        (TOLERATES, "", False),
        ("", f"templateDefaults: {{{TOLERATES}}}, ", False),
        ("tolerations: [{key: b}], ", f"templateDefaults: {{{TOLERATES}}}, ", True),
        ("", "podSpecPatch: 'tolerations: [{operator: Exists}]', ", False),
        ("podSpecPatch: 'priority: 1', ", "", False),
        ("", "podMetadata: {labels: {a: b}}, ", True),
    ],
)
def test_a_workflow_has_defaults_and_patches(kind: str, spec: str, more: str, told: bool) -> None:
    found = said({"nodes.yaml": NODES, "w.yaml": workflow(kind, spec, more)})

    assert ("GPU1111" in found) is told


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ("name: workflow-controller-configmap}\ndata: {workflowDefaults: 'spec: {}'}\n", False),
        ("name: workflow-controller-configmap}\ndata: {parallelism: '1'}\n", True),
        ("name: other}\ndata: {workflowDefaults: 'spec: {}'}\n", True),
    ],
)
def test_the_controller_may_give_every_workflow_more(config: str, told: bool) -> None:
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{namespace: argo, {config}"
    found = said({"nodes.yaml": NODES, "w.yaml": workflow("Workflow", ""), "config.yaml": text})

    assert ("GPU1111" in found) is told


def test_who_calls_a_template_may_say_where_its_pods_go() -> None:
    template = workflow("WorkflowTemplate", "")

    assert "GPU1111" not in said({"nodes.yaml": NODES, "w.yaml": template})


CLASS = """\
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: lane}
handler: nvidia
scheduling: {tolerations: [{key: dedicated, operator: Exists}], nodeSelector: {pool: gpu}}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: ml}
spec: {SPEC containers: [{name: a, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]}
"""


@pytest.mark.parametrize(
    ("spec", "codes"),
    [
        ("runtimeClassName: lane,", []),
        ("runtimeClassName: lane, tolerations: [{key: b, operator: Exists}],", []),
        ("runtimeClassName: nvidia,", ["GPU1111"]),
        ("", ["GPU1111"]),
    ],
)
def test_a_runtime_class_adds_what_it_says(spec: str, codes: list[str]) -> None:
    nodes = NODES.replace("    taints:", "    labels: {pool: gpu}\n    taints:")
    found = said({"n.yaml": nodes, "c.yaml": CLASS, "p.yaml": POD.replace("SPEC", spec)})

    assert [code for code in found if code in ("GPU1111", "GPU1112")] == codes
    other = CLASS.replace("pool: gpu", "pool: cpu")
    found = said({"n.yaml": nodes, "c.yaml": other, "p.yaml": POD.replace("SPEC", spec)})
    assert ("GPU1112" in found) is (not codes)


def test_a_pods_own_tolerations_hold_beside_those_of_its_class() -> None:
    other = CLASS.replace("key: dedicated", "key: other").replace("nodeSelector: {pool: gpu}", "")
    own = "runtimeClassName: lane, tolerations: [{key: dedicated, operator: Exists}],"
    files = {"n.yaml": NODES, "c.yaml": other, "p.yaml": POD.replace("SPEC", own)}

    assert "GPU1111" not in said(files)
    bare = POD.replace("SPEC", "runtimeClassName: lane,")
    assert "GPU1111" in said({**files, "p.yaml": bare})


FLAVOR = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: gpu}
spec: {tolerations: [{key: dedicated, operator: Exists}]}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: lq, namespace: ml}
spec: {clusterQueue: cq}
"""
QUEUED = "podMetadata: {labels: {kueue.x-k8s.io/queue-name: lq}}, "


def test_pods_of_a_workflow_may_have_a_queue() -> None:
    files = {"n.yaml": NODES, "q.yaml": FLAVOR}

    assert "GPU1111" not in said({**files, "w.yaml": workflow("Workflow", "", QUEUED)})
    assert "GPU1111" in said({**files, "w.yaml": workflow("Workflow", "")})


def test_what_is_to_be_filled_in_stays_unknown_beside_a_class() -> None:
    pod = POD.replace("SPEC", "runtimeClassName: lane, tolerations: <tolerations>,")
    files = {"n.yaml": NODES, "c.yaml": CLASS, "p.yaml": pod}

    assert "GPU1111" not in said(files)
    assert "GPU1112" not in said(files)


DEFAULT = """\
apiVersion: kubeflow.org/v1alpha1
kind: PodDefault
metadata: {name: gpu, namespace: ml}
spec:
  selector: {matchLabels: {gpu: "true"}}
  tolerations: [{key: dedicated, operator: Exists}]
"""


@pytest.mark.parametrize(
    ("labels", "default", "told"),
    [
        ('{gpu: "true"}', DEFAULT, False),
        ("{}", DEFAULT, True),
        ('{gpu: "true"}', DEFAULT.replace("namespace: ml", "namespace: other"), True),
    ],
)
def test_kubeflow_completes_pods_with_a_label(labels: str, default: str, told: bool) -> None:
    pod = POD.replace("SPEC", "").replace("namespace: ml", f"namespace: ml, labels: {labels}")
    found = said({"n.yaml": NODES, "d.yaml": default, "p.yaml": pod})

    assert ("GPU1111" in found) is told
