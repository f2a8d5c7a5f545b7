"""Programs, scalers, exporters and admission: what is near a mistake and is none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lint_corpus import found_in

from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.lint.dispatch import lint_files, read_files
from eks_gpushare.manifests.checks.workloads.spare_gpus import roll_outs
from eks_gpushare.manifests.files import GivenFile

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: demo}
spec:
  containers:
    - name: main
      image: IMAGE
      args: [ARGS]
      env: [ENV]
      resources: {limits: {LIMITS}}
"""
VLLM = "vllm/vllm-openai:v0.11.0"
SGLANG = "lmsysorg/sglang:v0.5.3"
GPU = "nvidia.com/gpu: 1"
TWO = "nvidia.com/gpu: 2"


def codes(*texts: str) -> set[str]:
    found = found_in({f"{number}.yaml": text for number, text in enumerate(texts)})
    return {each.code for each in found}


def pod(image: str = "app:1", args: str = "", env: str = "", limits: str = GPU) -> str:
    made = POD.replace("IMAGE", image).replace("ARGS", args)
    return made.replace("ENV", env).replace("LIMITS", limits)


def cuda(value: str) -> str:
    return f'{{name: CUDA_VISIBLE_DEVICES, value: "{value}"}}'


@pytest.mark.parametrize(
    ("value", "limits", "wrong"),
    [
        ("0", GPU, False),
        ("1", GPU, True),
        ("0,1", TWO, False),
        ("0, 2", TWO, True),
        ("-1", GPU, False),
        ("", GPU, False),
        ("GPU-8a1e", GPU, False),
        ("1", "cpu: 1", False),
        ("1", "nvidia.com/mig-1g.5gb: 1", True),
        ("3", "nvidia.com/gpu.shared: 1", True),
    ],
)
def test_cuda_counts_from_what_the_container_gets(value: str, limits: str, wrong: bool) -> None:
    assert ("GPU1235" in codes(pod(env=cuda(value), limits=limits))) == wrong


@pytest.mark.parametrize(
    ("image", "args", "limits", "wrong"),
    [
        (VLLM, "--model, m", GPU, set()),
        (VLLM, "--model, m", TWO, {"GPU1236"}),
        (VLLM, "--tensor-parallel-size=2", GPU, {"GPU1236", "GPU1237"}),
        (VLLM, "--tensor-parallel-size, '2'", TWO, {"GPU1237"}),
        (VLLM, "-tp, '2', -pp, '2'", "nvidia.com/gpu: 4", {"GPU1237"}),
        (VLLM, "--tensor-parallel-size=2", "nvidia.com/mig-3g.20gb: 2", {"GPU1236", "GPU1237"}),
        (VLLM, "--tensor-parallel-size=1", "nvidia.com/mig-3g.20gb: 1", set()),
        (VLLM, "--tensor-parallel-size, $(TP)", TWO, set()),
        (VLLM, "--tensor-parallel-size, all", TWO, set()),
        (VLLM, "", TWO, set()),
        (VLLM, "--distributed-executor-backend, ray", TWO, set()),
        (VLLM, "--data-parallel-size, '2'", TWO, {"GPU1237"}),
        (VLLM, "--config, /etc/vllm.yaml", TWO, set()),
        (VLLM, "--model, m", "memory: 8Gi", {"GPU1238"}),
        (VLLM, "--device, cpu", "memory: 8Gi", set()),
        (VLLM, "--model, m", "amd.com/gpu: 1", set()),
        ("vllm/vllm-openai-cpu:v0.11.0", "--model, m", "memory: 8Gi", set()),
        ("lmsysorg/sglang:v0.5-rocm", "--tp, '2'", "memory: 8Gi", set()),
        (SGLANG, "--tp, '2', --dp, '2'", TWO, {"GPU1236", "GPU1237"}),
        (SGLANG, "--tp=2, --dp=2, --enable-dp-attention", TWO, {"GPU1237"}),
        (SGLANG, "--tp-size, '2', --enable-dp-attention, --dp-size, '2'", GPU, None),
        ("ghcr.io/huggingface/text-generation-inference:3.3", "--num-shard, '2'", GPU, None),
        ("ghcr.io/huggingface/text-generation-inference:3.3", "--model-id, m", TWO, set()),
        ("registry.example.com/own:1", "--model, m", TWO, set()),
    ],
)
def test_a_server_is_split_over_what_it_gets(
    image: str, args: str, limits: str, wrong: set[str] | None
) -> None:
    expected = {"GPU1236", "GPU1237"} if wrong is None else wrong
    assert codes(pod(image, args, limits=limits)) == expected


def beside(text: str, more: str) -> str:
    """A pod with something more of its container."""
    return text.replace("      resources", f"      {more}\n      resources")


MEMORY = "memory: 8Gi"
DISABLED = '{name: NCCL_SHM_DISABLE, value: "1"}'


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (pod(env=cuda("1")), {"GPU1235"}),
        (beside(pod(env=cuda("1")), "securityContext: {privileged: true}"), set()),
        (pod(env='{name: OMP_NUM_THREADS, value: "8"}'), set()),
        (pod("own/cuda:1", "vllm, serve, m", limits=TWO), {"GPU1236"}),
        (pod("own/rocm:1", "vllm, serve, m", limits=TWO), set()),
        (pod("own/cuda:1", "vllm, serve, m", limits=MEMORY), set()),
        (pod(VLLM, "--tensor-parallel-size=2", limits="nvidia.com/gpu: 1.5"), {"GPU1114"}),
        (pod(VLLM, "--model, m", env="{name: A, value: b}", limits=MEMORY), {"GPU1238"}),
        (beside(pod(VLLM, "m", limits=MEMORY), "securityContext: {privileged: true}"), set()),
        (pod(VLLM, "m", limits=MEMORY) + "  volumes: [{name: d, hostPath: {path: /dev}}]\n", set()),
        (pod(VLLM, "m", limits=MEMORY).replace("{limits: {memory: 8Gi}}", "{{ .a }}"), set()),
        (beside(pod(VLLM, "--model, m", limits=TWO), "command: [/serve.sh]"), set()),
        (pod(VLLM, "-tp, '2'", env=DISABLED, limits=TWO), set()),
    ],
)
def test_what_else_a_container_has_counts(text: str, wrong: set[str]) -> None:
    assert codes(text) == wrong


def test_an_environment_that_names_devices_asks_for_some() -> None:
    named = pod(VLLM, "m", env='{name: NVIDIA_VISIBLE_DEVICES, value: "all"}', limits=MEMORY)

    assert "GPU1238" not in codes(named)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (pod(env=cuda("1")), "in a container that gets 1, which is device 0."),
        (pod(env=cuda("2"), limits=TWO), "in a container that gets 2, which is device 0 to 1."),
        (pod(VLLM, "--model, m", limits=TWO), "gives vLLM 2 GPUs, and it uses one."),
        (pod(VLLM, "-tp, '2'"), "gives vLLM 1 GPU, and it is split over 2."),
    ],
)
def test_how_many_a_container_gets_is_said(text: str, said: str) -> None:
    assert any(each.message.endswith(said) for each in found_in({"a.yaml": text}))


TRAINED = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: demo}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          containers:
            - {name: pytorch, image: "IMAGE", args: [--model, m], resources: {limits: {LIMITS}}}
"""


def test_a_controller_may_tell_its_programs_more() -> None:
    assert codes(TRAINED.replace("IMAGE", VLLM).replace("LIMITS", TWO)) == {"GPU1237"}


@pytest.mark.parametrize(
    "more",
    [
        "  hostIPC: true\n",
        "  volumes: [{name: shm, emptyDir: {medium: Memory}}]\n",
    ],
)
def test_shared_memory_may_come_by_several_ways(more: str) -> None:
    text = pod(VLLM, "-tp, '2'", limits=TWO) + more
    if "volumes" in more:
        text = text.replace("env: []", "volumeMounts: [{name: shm, mountPath: /dev/shm}]")

    assert codes(text) == set()


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: ml}
spec:
  replicas: REPLICAS
  strategy: {STRATEGY}
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      containers:
        - {name: main, image: "app:1", resources: {limits: {RESOURCE: 1}}}
"""
SCALED = """\
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: NAME, namespace: ml, annotations: {ANNOTATIONS}}
spec:
  scaleTargetRef: {name: app}
  minReplicaCount: LEAST
  triggers: [{type: TYPE, metadata: {serverAddress: "http://p:9090", query: 'QUERY'}}]
"""
HPA = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: app, namespace: SPACE}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: app}
  maxReplicas: 2
"""
QUEUED = 'sum(queue_length{namespace="ml"})'


def deployment(resource: str = "nvidia.com/gpu", replicas: int = 1, strategy: str = "") -> str:
    made = DEPLOYMENT.replace("REPLICAS", str(replicas)).replace("RESOURCE", resource)
    return made.replace("STRATEGY", strategy)


def scaled(
    query: str = QUEUED,
    least: int = 1,
    kind: str = "prometheus",
    name: str = "app",
    annotations: str = "",
) -> str:
    made = SCALED.replace("QUERY", query).replace("LEAST", str(least)).replace("TYPE", kind)
    return made.replace("NAME", name).replace("ANNOTATIONS", annotations)


def hpa(space: str = "ml") -> str:
    return HPA.replace("SPACE", space)


TAKES_OVER = 'scaledobject.keda.sh/transfer-hpa-ownership: "true"'


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((deployment(), scaled()), False),
        ((deployment(), scaled(), hpa()), True),
        ((deployment(), scaled(), scaled(name="other")), True),
        ((deployment(), scaled(), hpa().replace("Deployment", "StatefulSet")), False),
        ((deployment(), scaled(), scaled()), False),  # two versions of one
        ((deployment(), scaled(), scaled(name="$(NAME)")), False),
        ((deployment(), scaled(), hpa().replace("app}\nspec", "$(NAME)}\nspec")), True),
        ((deployment(), scaled(annotations=TAKES_OVER), hpa()), False),
        ((deployment("cpu"), scaled(), hpa()), False),
        ((deployment(), scaled(), hpa().replace("name: app}", "name: other}")), False),
    ],
)
def test_one_autoscaler_scales_a_workload(texts: tuple[str, ...], wrong: bool) -> None:
    assert ("GPU1239" in codes("---\n".join(texts))) == wrong


def test_both_autoscalers_are_named() -> None:
    found = found_in({"a.yaml": "---\n".join((deployment(), scaled(name="main"), hpa()))})

    (message,) = (each.message for each in found if each.code == "GPU1239")
    said = "The ScaledObject main and the HorizontalPodAutoscaler app both scale the Deployment app"
    assert message.startswith(said)


@pytest.mark.parametrize(
    ("scaler", "wrong"),
    [
        (scaled('sum(vllm:num_requests_waiting{a="b"})', least=0), True),
        (scaled('sum(vllm:num_requests_waiting{a="b"})', least=1), False),
        (scaled('sum(vllm:num_requests_waiting{a="b"}) or vector(1)', least=0), False),
        (scaled('sum(vllm:num_requests_waiting{a="b"}) + sum(gateway{a="b"})', least=0), False),
        (scaled(QUEUED, least=0), False),
        (
            scaled("sum by (model_name) (rate(vllm:prompt_tokens_total[5m] offset 1m)) * 0.5e1", 0),
            True,
        ),
        (
            scaled(
                "sum(vllm:num_requests_waiting) by (pod) and on (pod) nv_inference_count > bool 1",
                0,
            ),
            True,
        ),
        (scaled("sum(vllm:num_requests_waiting) + sum(rabbitmq_queue_messages)", least=0), False),
        (scaled("sum(my_container_queue)", least=0), False),
        (scaled("sum(rate(vllm:num_incoming_requests_total[1m]) > bool 0)", least=0), False),
        (scaled("1", least=0), False),
        (scaled("", least=0, kind="cpu"), True),
        (scaled("", least=0, kind="kafka"), False),
        (scaled("vllm:num_requests_waiting", least=0, kind="datadog"), False),
    ],
)
def test_something_wakes_what_is_at_zero(scaler: str, wrong: bool) -> None:
    assert ("GPU1240" in codes(deployment(), scaler)) == wrong


ADAPTER = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: adapter}
spec:
  chart: {spec: {chart: prometheus-adapter, version: 5.1.0}}
  values:
    rules:
      default: false
      custom:
        - seriesQuery: 'DCGM_FI_DEV_GPU_UTIL{pod!="DCGM_FI_PROF"}'
          name: {as: busy}
          metricsQuery: ASKED
        - seriesQuery: '{__name__=~"^DCGM_.*"}'
          name: {matches: "^(.*)$", as: "${1}_of"}
      external:
        - {seriesQuery: "DCGM_FI_PROF_GR_ENGINE_ACTIVE", name: {as: twice}}
        - {seriesQuery: "DCGM_FI_DEV_GPU_UTIL", name: {as: twice}}
"""
BY_SERIES = "avg(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)"


def hpa_by(name: str, kind: str = "pods") -> str:
    metric = f"{kind}: {{metric: {{name: {name}}}, target: {{type: AverageValue}}}}"
    return f"{hpa().rstrip()}\n  metrics: [{{type: {kind.title()}, {metric}}}]\n"


@pytest.mark.parametrize(
    ("scaler", "asked", "wrong"),
    [
        (hpa_by("busy"), BY_SERIES, True),
        (hpa_by("busy"), f"({BY_SERIES}) or avg(DCGM_FI_PROF_GR_ENGINE_ACTIVE)", False),
        (hpa_by("DCGM_FI_DEV_GPU_UTIL", "external"), BY_SERIES, True),
        (hpa_by("twice", "external"), BY_SERIES, False),
        (hpa_by("DCGM_FI_PROF_GR_ENGINE_ACTIVE"), BY_SERIES, False),
        (hpa_by("GPU_UTIL_of"), BY_SERIES, False),
    ],
)
def test_metrics_of_an_adapter_are_ones_that_mig_devices_have(
    scaler: str, asked: str, wrong: bool
) -> None:
    adapter = ADAPTER.replace("ASKED", asked)

    assert ("GPU1241" in codes(deployment("nvidia.com/mig-1g.5gb"), adapter, scaler)) == wrong
    assert "GPU1241" not in codes(deployment(), adapter, scaler)


def test_metrics_are_ones_that_are_there() -> None:
    of_gpu = scaled('avg(DCGM_FI_DEV_GPU_UTIL{a="b"})')
    assert "GPU1241" in codes(deployment("nvidia.com/mig-1g.5gb"), of_gpu)
    assert "GPU1241" not in codes(deployment(), of_gpu)
    found = found_in({"a.yaml": f"{deployment()}---\n{scaled('sum(vllm_num_requests_running)')}"})
    (message,) = (each.message for each in found if each.code == "GPU1242")
    assert message == (
        "The query of trigger 0 of the ScaledObject app is for vllm_num_requests_running, and "
        "vLLM's metric is vllm:num_requests_running."
    )
    assert "GPU1242" not in codes(deployment(), scaled("vllm_num_requests_running", kind="datadog"))
    for other in (
        'my_vllm_queue{a="b"}',
        "job:vllm_num_requests_running",
        "vllm_num_requests_running:sum",
    ):
        assert "GPU1242" not in codes(deployment(), scaled(f"sum({other})"))


OVERLAY = """\
resources: [../../base]
patches:
  - target: {kind: KIND, name: app}
    patch: |-
      - {op: OP, path: PLACE, from: FROM, value: VALUE}
"""
_LIMITS = "/spec/template/spec/containers/0/resources/limits"


def of_overlays(one: str, *others: str, query: str = "avg(DCGM_FI_DEV_GPU_UTIL)") -> list[str]:
    """Of a Deployment and what scales it, by overlays of both."""
    files = {
        "base/kustomization.yaml": "resources: [app.yaml, scaled.yaml]\n",
        "base/app.yaml": deployment(),
        "base/scaled.yaml": scaled(query),
    }
    for number, text in enumerate((one, *others)):
        files[f"overlays/{number}/kustomization.yaml"] = text
    reports = lint_files([GivenFile(name, text) for name, text in files.items()])
    found = (each for report in reports for each in report.findings)
    return [each.message for each in found if each.code == "GPU1241"]


def overlay(kind: str, path: str, *, value: str, moved: str = "") -> str:
    op = "op: move" if moved else "op: replace"
    made = OVERLAY.replace("op: OP", op).replace("KIND", kind).replace("PLACE", path)
    return made.replace("from: FROM, ", f"from: {moved}, " if moved else "").replace("VALUE", value)


def test_an_overlay_with_mig_devices_wants_another_metric_than_its_base() -> None:
    plain = "resources: [../../base]\n"
    cut = overlay(
        "Deployment",
        f"{_LIMITS}/nvidia.com~1mig-3g.40gb",
        value="1",
        moved=f"{_LIMITS}/nvidia.com~1gpu",
    )
    said = (
        "The query of trigger 0 of the ScaledObject app is for DCGM_FI_DEV_GPU_UTIL, and the pods "
        "have MIG devices."
    )

    assert of_overlays(cut, plain) == [f"{said} So it is in overlays/0/kustomization.yaml."]
    assert of_overlays(cut) == [said]
    assert of_overlays(plain, overlay("Deployment", "/spec/replicas", value="2")) == []
    active = "avg(DCGM_FI_PROF_GR_ENGINE_ACTIVE)"
    assert of_overlays(cut, plain, query=active) == []
    other = overlay("ScaledObject", "/spec/triggers/0/metadata/query", value=active)
    other = other.partition("patches:\n")[2]
    assert of_overlays(cut + other, plain) == []


NODES = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: demo, region: us-west-2}
managedNodeGroups:
  - {name: gpu, instanceType: TYPE, maxSize: MOST, volumeSize: 200}
"""


def nodes(most: int, instance_type: str = "g5.xlarge") -> str:
    return NODES.replace("MOST", str(most)).replace("TYPE", instance_type)


@pytest.mark.parametrize(
    ("most", "replicas", "strategy", "wrong"),
    [
        (1, 1, "", True),
        (2, 1, "", False),
        (1, 1, "type: Recreate", False),
        (1, 1, "rollingUpdate: {maxSurge: 0, maxUnavailable: 1}", False),
        (4, 4, "", False),  # a quarter of four may be away
        (4, 4, "rollingUpdate: {maxUnavailable: 0}", True),
        (3, 3, "rollingUpdate: {maxSurge: 100%, maxUnavailable: 0}", True),
        (1, 2, "", True),  # which never fits
        (1, 1, "rollingUpdate: {maxUnavailable: some}", False),  # which the API refuses
    ],
)
def test_a_roll_out_has_a_gpu_to_begin_with(
    most: int,
    replicas: int,
    strategy: str,
    wrong: bool,
) -> None:
    found = codes(nodes(most), deployment(replicas=replicas, strategy=strategy))

    assert ("GPU1243" in found) == wrong


def test_how_a_deployment_rolls_out_is_not_known_without_its_document() -> None:
    texts = nodes(1), deployment()
    read = read_files([GivenFile(f"{n}.yaml", text) for n, text in enumerate(texts)])
    whole = tuple(read.items)
    apart = tuple(replace(each, source=replace(each.source, document=None)) for each in whole)

    assert [len(list(roll_outs.look(Inventory(items)))) for items in (whole, apart)] == [1, 0]


def test_nodes_of_an_unknown_type_may_have_room() -> None:
    assert "GPU1243" not in codes(nodes(1, "g99.xlarge"), deployment())


QUEUES = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec:
  resourceGroups:
    - coveredResources: [COVERED]
      flavors: [{name: gpu, resources: [{name: COVERED, nominalQuota: 4}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team, namespace: ml}
spec: {clusterQueue: all}
"""


@pytest.mark.parametrize(
    ("covered", "queue", "wrong"),
    [
        ("nvidia.com/gpu", "team", False),
        ("nvidia.com/gpu.shared", "team", True),
        ("gpu-memory", "team", False),
        ("nvidia.com/gpu.shared", "other", False),
    ],
)
def test_a_queue_covers_what_is_asked_for(covered: str, queue: str, wrong: bool) -> None:
    labelled = deployment().replace(
        "namespace: ml}", f"namespace: ml, labels: {{kueue.x-k8s.io/queue-name: {queue}}}}}"
    )

    assert ("GPU1250" in codes(QUEUES.replace("COVERED", covered), labelled)) == wrong


HUB = """\
singleuser:
  KEY: {limits: {nvidia.com/gpu: 1}}
  profileList:
    - display_name: GPU
      kubespawner_override:
        OPTION: [{key: nvidia.com/gpu, operator: Exists}]
"""


@pytest.mark.parametrize(
    ("key", "option", "wrong"),
    [
        ("extraResource", "tolerations", False),
        ("resources", "tolerations", True),
        ("extraResource", "extra_tolerations", True),
    ],
)
def test_jupyterhub_reads_what_it_is_told(key: str, option: str, wrong: bool) -> None:
    text = HUB.replace("KEY", key).replace("OPTION", option)

    assert ("GPU1261" in codes(text)) == wrong


@pytest.mark.parametrize(
    ("written", "renamed"),
    [
        ("node_selector: {workload: gpu}", ["nodeSelector"]),
        ("node_selector: {workload: gpu}, nodeSelector: {}", []),
        ("resources: {limits: {nvidia.com/gpu: 1}}", []),
    ],
)
def test_what_has_the_same_shape_under_its_name_is_renamed(
    written: str, renamed: list[str]
) -> None:
    (report,) = lint_files([GivenFile("values.yaml", f"singleuser: {{{written}}}\n")])
    (found,) = (each for each in report.found if each.finding.code == "GPU1261")

    assert [edit.value for edit in found.edits] == renamed


def test_names_of_notebooks_resources_are_known() -> None:
    text = HUB.replace("KEY", "extraResource").replace("OPTION", "tolerations")
    old = text.replace("nvidia.com/gpu: 1", "alpha.kubernetes.io/nvidia-gpu: 1")
    (report,) = lint_files([GivenFile("values.yaml", old)])

    (found,) = (each for each in report.found if each.finding.code == "GPU1204")
    assert found.position is not None
    assert found.position.line == 2


EXPORTER = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: dcgm-exporter, namespace: monitoring}
spec:
  selector: {matchLabels: {app: dcgm}}
  template:
    metadata: {labels: {app: dcgm}}
    spec:
      nodeSelector: {workload: gpu}
      containers:
        - name: main
          image: nvcr.io/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-distroless
          env: [{name: DCGM_EXPORTER_KUBERNETES, value: "true"}, ENV]
          resources: {limits: {memory: MEMORY}}
          volumeMounts: [{name: pods, mountPath: MOUNT}]
      volumes: [{name: pods, hostPath: {path: /var/lib/kubelet/pod-resources}}]
"""
SHARED = """\
# Values of nvidia-device-plugin
gfd: {enabled: true}
config:
  map:
    default: |-
      version: v1
      sharing:
        timeSlicing:
          {renameByDefault: RENAMED, resources: [{name: nvidia.com/gpu, replicas: 4}]}
"""
SOCKETS = "/var/lib/kubelet/pod-resources"
VIRTUAL = '{name: KUBERNETES_VIRTUAL_GPUS, value: "true"}'
NAMES = "{name: NVIDIA_RESOURCE_NAMES, value: nvidia.com/gpu.shared}"


KNOWN_BY = "{name: DCGM_EXPORTER_KUBERNETES_GPU_ID_TYPE, value: %s}"
CONFIGURED = ("          env:", "          envFrom: [{configMapRef: {name: a}}]\n          env:")
SHARING_OPERATOR = """\
# Values of gpu-operator
devicePlugin:
  config:
    create: true
    name: shared
    default: any
    data:
      any: |-
        version: v1
        sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""
PARTLY = SHARED.replace("RENAMED", "false") + "    whole: |-\n      version: v1\n"
OPERATOR = "# Values of gpu-operator\ndevicePlugin: {enabled: true}\ndcgmExporter: %s\n"
ITS_CHART = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: dcgm, namespace: monitoring}
spec: {chart: {spec: {chart: dcgm-exporter, version: 4.8.2}}, values: {extraEnv: %s}}
"""


def exporter(env: str = VIRTUAL, memory: str = "1Gi", mount: str = SOCKETS) -> str:
    return EXPORTER.replace("ENV", env).replace("MEMORY", memory).replace("MOUNT", mount)


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((exporter(),), set()),
        ((exporter(memory="256Mi"),), {"GPU1247"}),
        ((exporter(memory="512Mi"),), set()),
        ((exporter(mount="/other"),), {"GPU1246"}),
        ((exporter(mount="/var/lib/kubelet"),), set()),
        ((exporter(env=""), SHARED.replace("RENAMED", "false")), {"GPU1245"}),
        ((exporter(), SHARED.replace("RENAMED", "false")), set()),
        ((exporter(), SHARED.replace("RENAMED", "true")), {"GPU1245"}),
        ((exporter(f"{VIRTUAL}, {NAMES}"), SHARED.replace("RENAMED", "true")), set()),
        ((exporter(env=""),), set()),
        ((exporter(env=""), PARTLY), set()),
        ((exporter(env="").replace(*CONFIGURED), SHARED.replace("RENAMED", "false")), set()),
        ((SHARING_OPERATOR,), set()),
        ((SHARING_OPERATOR + "dcgmExporter: {enabled: true}\n",), {"GPU1245"}),
        ((exporter(env=KNOWN_BY % "uid"),), set()),
        ((exporter(env=KNOWN_BY % "index"),), {"GPU1246"}),
        ((exporter(mount="/other").replace("DCGM_EXPORTER_KUBERNETES", "OTHER"),), set()),
        ((OPERATOR % "{}",), set()),
        ((OPERATOR % "{{ .a }}",), set()),
        ((OPERATOR % "{resources: {limits: {memory: 256Mi}}}",), {"GPU1247"}),
        ((OPERATOR % f"{{env: [{KNOWN_BY % 'index'}]}}",), {"GPU1246"}),
        ((ITS_CHART % f"[{KNOWN_BY % 'index'}]",), {"GPU1246"}),
        ((ITS_CHART % '[{name: DCGM_EXPORTER_KUBERNETES, value: "true"}]',), set()),
    ],
)
def test_an_exporter_knows_shares_and_pods(texts: tuple[str, ...], wrong: set[str]) -> None:
    assert codes(*texts) & {"GPU1245", "GPU1246", "GPU1247"} == wrong


LIMIT = "resources: {limits: {memory: %s}}"


@pytest.mark.parametrize(
    ("release", "limit", "wrong"),
    [
        ("image: nvidia/dcgm-exporter:3.2.5-3.1.7-ubuntu22.04", "256Mi", False),
        ("image: nvidia/dcgm-exporter:3.3.7-3.5.0", "256Mi", False),
        ("image: nvidia/dcgm-exporter:3.3.7-3.5.0", "255Mi", True),
        ("image: nvidia/dcgm-exporter:3.3.8-3.6.0-ubi9", "256Mi", True),
        ("image: nvidia/dcgm-exporter:3.3.8-3.6.0-ubi9", "512Mi", False),
        ("image: nvidia/dcgm-exporter:latest", "256Mi", True),
    ],
)
def test_an_exporter_uses_more_since_a_release(release: str, limit: str, wrong: bool) -> None:
    image = next(line.strip() for line in EXPORTER.splitlines() if "image:" in line)
    text = exporter(memory=limit).replace(image, release)

    assert ("GPU1247" in codes(text)) is wrong


@pytest.mark.parametrize(
    ("chart", "version", "more", "wrong"),
    [
        ("gpu-operator", "v24.6.2", "", False),
        ("gpu-operator", "v24.9.0", "", True),
        ("gpu-operator", "v24.6.2", "version: 3.3.9-3.6.1-ubuntu22.04, ", True),
        ("gpu-operator", "v24.9.0", "version: 3.3.7-3.5.0-ubuntu22.04, ", False),
        ("gpu-operator", "", "", True),
        ("dcgm-exporter", "3.5.0", "", False),
        ("dcgm-exporter", "3.6.0", "", True),
        ("dcgm-exporter", "24.1.0", "", True),
    ],
)
def test_what_a_chart_installs_is_one_of_its_release(
    chart: str, version: str, more: str, wrong: bool
) -> None:
    values = f"{{{more}{LIMIT % '256Mi'}}}"
    told = values if chart == "dcgm-exporter" else f"{{dcgmExporter: {values}}}"
    text = ITS_CHART.replace("dcgm-exporter, version: 4.8.2", f"{chart}, version: '{version}'")
    text = text.replace("{extraEnv: %s}", told)

    assert ("GPU1247" in codes(text)) is wrong


OLD = "driver: {enabled: true}\ndcgmExporter: {version: %s}\n"


@pytest.mark.parametrize(
    ("files", "old"),
    [
        ({"a.yaml": exporter(env="")}, False),
        ({"a.yaml": exporter(env="").replace("4.5.3-4.8.2", "3.3.9-3.6.1")}, True),
        ({"a.yaml": ITS_CHART % "[]"}, False),
        ({"a.yaml": (ITS_CHART % "[]").replace("4.8.2", "3.6.1")}, True),
        ({"a.yaml": (ITS_CHART % "[], image: {tag: 4.0.0-4.0.2-ubuntu22.04}")}, True),
        ({"a.yaml": SHARING_OPERATOR + OLD % "4.1.1-4.0.3-ubuntu22.04"}, False),
        ({"a.yaml": SHARING_OPERATOR + OLD % "3.3.9-3.6.1-ubuntu22.04"}, True),
    ],
)
def test_an_exporter_that_cannot_know_of_shares_has_to_be_a_later_one(
    files: dict[str, str], old: bool
) -> None:
    given = {**files, "shared.yaml": SHARED.replace("RENAMED", "false")}
    reports = lint_files([GivenFile(*each) for each in given.items()])
    (fix,) = {each.fix for one in reports for each in one.findings if each.code == "GPU1245"}

    assert ("an exporter of 4.0.3 or later" in fix) == old


def test_what_is_wrong_with_an_exporter_is_told_where_it_stands() -> None:
    lines = EXPORTER.splitlines()
    mounts = next(n for n, line in enumerate(lines, 1) if "volumeMounts" in line)
    (found,) = found_in({"a.yaml": exporter(mount="/other")})
    assert (found.code, found.line) == ("GPU1246", mounts)

    env = next(n for n, line in enumerate(lines, 1) if "env" in line)
    apart = exporter(env=f"\n            {KNOWN_BY % 'index'}")
    (found,) = found_in({"a.yaml": apart})
    assert (found.code, found.line) == ("GPU1246", env + 1)


def shares(renamed: str = "false", refuses: str = "false") -> str:
    more = f"failRequestsGreaterThanOne: {refuses}, renameByDefault: {renamed}"
    return SHARED.replace("renameByDefault: RENAMED", more)


@pytest.mark.parametrize(
    ("values", "limits", "wrong"),
    [
        (shares(), GPU, set()),
        (shares(), TWO, set()),
        (shares(refuses="true"), TWO, {"GPU1113"}),
        (shares("true"), GPU, {"GPU1204"}),
        (shares("true"), "nvidia.com/gpu.shared: 1", set()),
        (shares(), "nvidia.com/gpu.shared: 1", {"GPU1204"}),
    ],
)
def test_a_configuration_alone_says_what_pods_get(
    values: str, limits: str, wrong: set[str]
) -> None:
    """No nodes are among the files; what there are of them, the one configuration is for."""
    assert codes(values, pod(limits=limits)) == wrong


REFUSES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: shared, namespace: gpu}
data:
  any: |
    version: v1
    sharing:
      timeSlicing:
        failRequestsGreaterThanOne: true
        resources: [{name: nvidia.com/gpu, replicas: 2}]
"""
ITS_OPERATOR = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpu-operator, namespace: gpu}
spec:
  chart: {spec: {chart: gpu-operator, version: v26.7.0}}
  values: {%s devicePlugin: {config: {name: shared, default: any}}}
"""


@pytest.mark.parametrize("strategy", ["", "mig: {strategy: mixed},"])
def test_the_operators_strategy_for_mig_is_of_no_document(strategy: str) -> None:
    assert "GPU1113" in codes(REFUSES, ITS_OPERATOR % strategy, pod(limits=TWO))


def test_a_key_that_is_null_is_no_configuration() -> None:
    assert "GPU1204" in codes(shares() + "    other:\n", pod(limits="nvidia.com/gpu.shared: 1"))


def test_several_configurations_leave_it_to_the_labels_of_nodes() -> None:
    two = shares() + "    other: |-\n      version: v1\n"

    assert codes(two, pod(limits=TWO)) & {"GPU1113", "GPU1204"} == set()


def test_the_metrics_server_measures_cpu_and_memory_alone() -> None:
    def autoscaler(metric: str) -> str:
        return (
            "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: app}\n"
            "spec:\n  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: app}\n"
            f"  maxReplicas: 4\n  metrics: [{metric}]\n"
        )

    target = "target: {type: Utilization, averageUtilization: 80}"
    wrong = f"{{type: Resource, resource: {{name: nvidia.com/gpu, {target}}}}}"
    found = found_in({"a.yaml": f"{deployment()}---\n{autoscaler(wrong)}"})
    (message,) = (each.message for each in found if each.code == "GPU1391")

    assert message == (
        "The HorizontalPodAutoscaler app goes by how much of nvidia.com/gpu its pods use, which "
        "nothing measures."
    )
    container = wrong.replace("resource:", "containerResource:").replace("Resource,", "X,")
    assert "GPU1391" in codes(deployment(), autoscaler(container))
    for name in ("cpu", "memory", '"{{ .metric }}"'):
        right = wrong.replace("nvidia.com/gpu", name)
        assert "GPU1391" not in codes(deployment(), autoscaler(right))
