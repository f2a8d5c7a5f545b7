"""What pods say to KAI, Volcano and HAMi: what is near a mistake and is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eks_gpushare.findings.defects import CHECK_FAILED
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.lint.dispatch import lint_files, read_files
from eks_gpushare.manifests.checks.scheduling import other_schedulers
from eks_gpushare.manifests.files import GivenFile

JUDGED = ("GPU1253", "GPU1274", "GPU1275", "GPU1276")


def told(*texts: str, end: str = "yaml") -> list[tuple[str, str, str]]:
    reports = lint_files([GivenFile(f"{n}.{end}", text) for n, text in enumerate(texts)])
    found = [each for report in reports for each in report.findings]
    assert CHECK_FAILED.id not in {each.code for each in found}
    found = [each for each in found if each.code in JUDGED]
    return [(each.code, each.severity, each.message) for each in found]


def codes(*texts: str) -> list[str]:
    return [code for code, _, _ in told(*texts)]


def pod(
    annotations: str = "",
    labels: str = "",
    scheduler: str = "kai-scheduler",
    limits: str = "",
    requests: str = "",
) -> str:
    named = f"schedulerName: {scheduler}" if scheduler else "restartPolicy: Never"
    return f"""\
apiVersion: v1
kind: Pod
metadata: {{name: p, namespace: ml, annotations: {{{annotations}}}, labels: {{{labels}}}}}
spec:
  {named}
  containers: [{{name: m, image: a, resources: {{limits: {{{limits}}}, requests: {{{requests}}}}}}}]
"""


def deployment(own: str = "", of_pods: str = "", labels: str = "", kind: str = "Deployment") -> str:
    return f"""\
apiVersion: apps/v1
kind: {kind}
metadata: {{name: d, namespace: ml, annotations: {{{own}}}, labels: {{{labels}}}}}
spec:
  selector: {{matchLabels: {{app: d}}}}
  template:
    metadata: {{labels: {{app: d}}, annotations: {{{of_pods}}}}}
    spec:
      schedulerName: kai-scheduler
      containers: [{{name: m, image: a}}]
"""


def release(values: str = "{}", name: str = "kai", chart: str = "kai-scheduler") -> str:
    return f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: {name}, namespace: system}}
spec: {{chart: {{spec: {{chart: {chart}, version: 0.9.0}}}}, values: {values}}}
"""


HALF, MEMORY = "gpu-fraction: '0.5'", "gpu-memory: '2000'"
GPU = "nvidia.com/gpu: 1"
QUEUE = "kai.scheduler/queue: team"
VGPU = "volcano.sh/vgpu-number: 1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (pod(HALF, scheduler=""), "has gpu-fraction, which KAI's scheduler reads"),
        (pod(MEMORY, scheduler="default-scheduler"), "has gpu-memory, which KAI's scheduler reads"),
        (pod(labels=QUEUE, scheduler=""), "has kai.scheduler/queue, which KAI's scheduler reads"),
        (pod(HALF, scheduler="runai-scheduler"), ""),
        (pod(HALF, scheduler="'{{ .a }}'"), ""),
        (pod(scheduler="", limits=GPU), ""),
        (pod(scheduler="", limits=VGPU), "asks for volcano.sh/vgpu-number, which Volcano's"),
        (pod(scheduler="volcano", limits=VGPU), ""),
        (pod(scheduler="").replace("labels: {}", "labels: '{{ .a }}'"), ""),
        (pod(HALF, scheduler="").replace("kind: Pod", "kind: Other"), ""),
        (pod(HALF), ""),
        (pod(MEMORY), ""),
    ],
)
def test_what_is_asked_of_a_scheduler_is_asked_of_that_one(text: str, said: str) -> None:
    found = told(text)

    assert [(code, severity) for code, severity, _ in found] == [("GPU1274", "warning")] * bool(
        said
    )
    assert all(said in message for _, _, message in found)


def test_a_guide_shows_a_part_of_a_pod() -> None:
    assert told(f"```yaml\n{pod(HALF, scheduler='')}```\n", end="md") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (pod(HALF, limits=GPU), "has gpu-fraction and a limit of nvidia.com/gpu."),
        (pod(HALF, limits="nvidia.com/gpu: 0"), "has gpu-fraction and a limit of nvidia.com/gpu."),
        (pod(MEMORY, limits=GPU), "has gpu-memory and a limit of nvidia.com/gpu."),
        (pod(HALF, limits="cpu: 1"), ""),
        (pod(limits=GPU), ""),
        (pod(f"{HALF}, {MEMORY}"), "has gpu-fraction and gpu-memory."),
        (
            pod("gpu-fraction-num-devices: '2'"),
            "has gpu-fraction-num-devices without gpu-fraction.",
        ),
        (pod(f"{HALF}, gpu-fraction-num-devices: '2'"), ""),
        (pod("gpu-fraction: '1'"), "asks for the fraction 1 of a GPU."),
        (pod("gpu-fraction: '0'"), "asks for the fraction 0 of a GPU."),
        (pod("gpu-fraction: half"), "asks for the fraction half of a GPU."),
        (pod("gpu-fraction: '{{ .a }}'"), ""),
        (pod("gpu-memory: 2Gi"), "asks for 2Gi as gpu-memory."),
        (pod("gpu-memory: '0'"), "asks for 0 as gpu-memory."),
        (pod("gpu-memory: '{{ .a }}'"), ""),
        (
            pod("nvidia.com/gpu.memory: 2Gi"),
            "has the annotation nvidia.com/gpu.memory, which KAI does not read.",
        ),
        (pod("own/gpu-share: '0.5'"), "own/gpu-share, which KAI does not read."),
        (pod("gpu-fraction-container-name: m"), ""),
        (pod(f"{HALF}, nvidia.com/gpu.memory: 2Gi"), ""),
        (pod("own/gpu-memoryless: a"), ""),
        (pod(QUEUE), "KAI reads it as a label: it goes to the queue of all that name none."),
        (pod(QUEUE, QUEUE), ""),
        (deployment(QUEUE), "it goes to the queue of all that name none."),
        (deployment(of_pods=QUEUE), "it goes to the queue of all that name none."),
        (deployment(QUEUE, labels=QUEUE), ""),
        (deployment(QUEUE).replace("{app: d}, ann", f"{{app: d, {QUEUE}}}, ann"), ""),
        (deployment("kai.scheduler/queue: '{{ .a }}'"), ""),
        (deployment(HALF), "has gpu-fraction itself, and its pods have none."),
        (deployment(MEMORY), "has gpu-memory itself, and its pods have none."),
        (deployment(HALF, HALF), ""),
        (deployment(of_pods=HALF), ""),
        (deployment(HALF).replace("schedulerName: kai-scheduler", "restartPolicy: Always"), ""),
    ],
)
def test_kai_takes_what_is_asked_of_it(text: str, said: str) -> None:
    found = told(text)

    assert [(code, severity) for code, severity, _ in found] == [("GPU1274", "error")] * bool(said)
    assert all(message.endswith(said) for _, _, message in found)


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((release(), pod(HALF)), True),
        ((release("{global: {gpuSharing: false}}"), pod(MEMORY)), True),
        ((release("{global: {gpuSharing: true}}"), pod(HALF)), False),
        ((release("{global: '{{ .a }}'}"), pod(HALF)), False),
        ((release(chart="keda"), pod(HALF)), False),
        ((release(name=""), pod(HALF)), False),
        ((release(), pod(limits=GPU)), False),
    ],
)
def test_kai_shares_gpus_where_its_chart_says_so(texts: tuple[str, ...], wrong: bool) -> None:
    expected = (
        "GPU1274",
        "warning",
        (
            "The Pod p has gpu-fraction, and the release kai of kai-scheduler shares no GPUs: KAI "
            "refuses the pod."
        ),
    )
    given = [each.replace("gpu-memory: '2000'", HALF) for each in texts]
    assert told(*given) == [expected] * wrong


def test_what_kai_would_read_is_named() -> None:
    def fix(annotation: str) -> str:
        (report,) = lint_files([GivenFile("a.yaml", pod(annotation))])
        return next(each.fix for each in report.findings if each.code == "GPU1274")

    assert fix("own/gpu-share: '0.5'") == "Write gpu-fraction."
    assert fix("nvidia.com/gpumem: '5'") == "Write gpu-memory."


def test_a_queue_among_annotations_is_told_once() -> None:
    cluster = f"""\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {{name: a, namespace: ml, annotations: {{{QUEUE}}}}}
spec:
  headGroupSpec:
    template: {{spec: {{schedulerName: kai-scheduler, containers: [{{name: a, image: a}}]}}}}
  workerGroupSpecs:
    - template: {{spec: {{schedulerName: kai-scheduler, containers: [{{name: a, image: a}}]}}}}
"""

    assert codes(cluster) == ["GPU1274"]
    assert codes(cluster.replace("kai-scheduler", "other")) == []


MIB = pod(limits="nvidia.com/gpumem: 2000")
NAMED = "nodeName: a\n  containers"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (pod(limits="nvidia.com/gpumem: 2000").replace("containers", NAMED), True),
        (pod(limits="nvidia.com/gpucores: 30").replace("containers", NAMED), True),
        (pod(limits=GPU).replace("containers", NAMED), False),
        (pod(limits="nvidia.com/gpumem: 2000"), False),
        (MIB.replace("containers", "nodeName: $N\n  containers"), False),
        (MIB.replace("containers", "nodeName: ''\n  containers"), False),
    ],
)
def test_the_scheduler_of_hami_chooses_the_node(text: str, wrong: bool) -> None:
    assert codes(text) == ["GPU1276"] * wrong


def queue(name: str = "team", above: str = "", version: str = "scheduling.run.ai/v2") -> str:
    spec = f"{{parentQueue: {above}}}" if above else "{}"
    return f"apiVersion: {version}\nkind: Queue\nmetadata: {{name: {name}}}\nspec: {spec}\n"


def train(name: str = "team", group: str = "batch.volcano.sh") -> str:
    return f"""\
apiVersion: {group}/v1alpha1
kind: Job
metadata: {{name: train, namespace: ml}}
spec:
  queue: {name}
  tasks: [{{name: w, replicas: 1, template: {{spec: {{containers: [{{name: a, image: a}}]}}}}}}]
"""


VOLCANO = queue(version="scheduling.volcano.sh/v1beta1")


@pytest.mark.parametrize(
    ("texts", "severity"),
    [
        ((queue(), pod(labels=QUEUE)), ""),
        ((queue("other"), pod(labels=QUEUE)), "warning"),
        ((pod(labels=QUEUE),), ""),
        ((queue("other"), pod(labels="kai.scheduler/queue: default-queue")), ""),
        ((queue("'{{ .a }}'"), pod(labels=QUEUE)), ""),
        ((queue("other"), pod(labels="kai.scheduler/queue: '{{ .a }}'")), ""),
        ((queue("other"), pod(labels="kai.scheduler/queue: ''")), ""),
        ((queue("other"), pod(labels=QUEUE, scheduler="other")), ""),
        ((queue("other"), deployment(labels=QUEUE)), "warning"),
        (
            (queue("other"), deployment().replace("{app: d}, ann", f"{{app: d, {QUEUE}}}, ann")),
            "warning",
        ),
        ((queue("other"), deployment()), ""),
        ((queue(version="a.b/v1"), pod(labels="kai.scheduler/queue: a")), ""),
        ((queue().replace("Queue", "Other"), pod(labels="kai.scheduler/queue: a")), ""),
        ((queue(), queue("low", "team"), pod(labels=QUEUE)), "error"),
        ((queue(), queue("low", "team"), pod(labels="kai.scheduler/queue: low")), ""),
        ((queue("low", "root"),), "warning"),
        ((queue("low", "default-parent-queue"),), ""),
        ((queue("low", "'{{ .a }}'"),), ""),
        ((VOLCANO, train()), ""),
        ((VOLCANO, train("other")), "warning"),
        ((VOLCANO, train("default")), ""),
        ((VOLCANO, train("other", "batch.other")), ""),
        ((VOLCANO, train("'{{ .a }}'")), ""),
        ((queue(), train("other")), ""),
        ((queue("low", "root", "scheduling.volcano.sh/v1beta1"),), ""),
        ((VOLCANO, queue("low", "team", "scheduling.volcano.sh/v1beta1"), train()), ""),
    ],
)
def test_a_queue_is_there_and_takes_workloads(texts: tuple[str, ...], severity: str) -> None:
    found = [(code, of) for code, of, _ in told(*texts)]

    assert found == [("GPU1275", severity)] * bool(severity)


def test_a_guide_shows_one_of_several_queues() -> None:
    assert told(f"```yaml\n{queue('other')}---\n{pod(labels=QUEUE)}```\n", end="md") == []


def test_what_is_wrong_with_a_queue_is_told() -> None:
    missing = told(queue("other"), pod(labels=QUEUE))
    above = told(queue(), queue("low", "team"), pod(labels=QUEUE))
    orphan = told(queue("low", "root"))

    assert [message for _, _, message in (*missing, *above, *orphan)] == [
        "The Pod p names the queue team of KAI, which is not here.",
        "The Pod p names the queue team of KAI, which has queues below it: the Queue low.",
        (
            "The Queue low is below the queue root, which is not here: KAI leaves it out, and its "
            "jobs with it."
        ),
    ]


GROUP = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: c, region: us-west-2}
managedNodeGroups: [{name: gpu, instanceType: g5.xlarge}]
"""
HAMI = release("{}", "hami", "hami")


@pytest.mark.parametrize(
    ("texts", "severity", "said"),
    [
        ((pod(limits="nvidia.com/gpucores: 101"),), "warning", "percents of a GPU: HAMi takes it"),
        ((pod(limits="nvidia.com/gpucores: 100"),), "", ""),
        ((pod(requests="nvidia.com/gpucores: 101"),), "warning", "HAMi takes it for 100."),
        (
            (pod(limits="nvidia.com/gpumem-percentage: 101"),),
            "error",
            "percents of a GPU: HAMi refuses the pod.",
        ),
        ((pod(limits="nvidia.com/gpumem-percentage: 100"),), "", ""),
        ((pod(limits="nvidia.com/gpumem: 8Gi"),), "error", "asks for 8Gi of nvidia.com/gpumem"),
        ((pod(limits="nvidia.com/gpumem: 2147483647"),), "", ""),
        ((pod(limits="nvidia.com/gpumem: '{{ .a }}'"),), "", ""),
        ((pod(limits="nvidia.com/gpu: 101"),), "", ""),
        ((pod(limits="nvidia.com/gpumem: 0"),), "", ""),
        (
            (HAMI, GROUP, pod(limits="nvidia.com/gpumem: 23029")),
            "error",
            "and a GPU of the nodes has 23028 MiB.",
        ),
        ((HAMI, GROUP, pod(limits="nvidia.com/gpumem: 23028")), "", ""),
        ((GROUP, pod(limits="nvidia.com/gpumem: 40000")), "", ""),  # nobody says what HAMi makes
        ((release("{}", "a", "keda"), GROUP, pod(limits="nvidia.com/gpumem: 40000")), "", ""),
        ((HAMI, pod(limits="nvidia.com/gpumem: 40000")), "", ""),
        (
            (
                HAMI.replace("values: {}", "values: {devicePlugin: {deviceMemoryScaling: 2}}"),
                GROUP,
                pod(limits="nvidia.com/gpumem: 40000"),
            ),
            "",
            "",
        ),
        (
            (
                HAMI,
                GROUP.replace("Type: g5.xlarge", "Types: [g5.xlarge, g9z.xlarge]"),
                pod(limits="nvidia.com/gpumem: 40000"),
            ),
            "",
            "",
        ),
        (
            (
                HAMI,
                GROUP.replace("g5.xlarge", "g9z.xlarge"),
                pod(limits="nvidia.com/gpumem: 40000"),
            ),
            "",
            "",
        ),
    ],
)
def test_parts_of_a_gpu_are_what_a_gpu_has(
    texts: tuple[str, ...], severity: str, said: str
) -> None:
    found = told(*texts)

    assert [(code, of) for code, of, _ in found] == [("GPU1276", severity)] * bool(severity)
    assert all(said in message for _, _, message in found)


ONE = "{name: NAME, image: a, resources: {limits: {nvidia.com/gpu: COUNT, PART: 30}}}"


@pytest.mark.parametrize(
    ("counts", "part", "wrong"),
    [
        ((1, 1), "nvidia.com/gpucores", False),  # of one GPU
        ((2, 1), "nvidia.com/gpucores", True),
        ((1, 2), "nvidia.com/gpumem", True),
        ((1, 1), "example.com/cores", True),
        ((1, "'{{ .a }}'"), "nvidia.com/gpucores", False),
    ],
)
def test_containers_share_gpus_by_parts(counts: tuple[int, int], part: str, wrong: bool) -> None:
    one, other = (
        ONE.replace("NAME", f"c{n}").replace("COUNT", str(count)).replace("PART", part)
        for n, count in enumerate(counts)
    )
    text = pod(scheduler="").partition("  containers")[0] + f"  containers: [{one}, {other}]\n"

    assert codes(GROUP, text) == ["GPU1253"] * wrong


def test_requests_alone_are_parts_too() -> None:
    asked = pod(scheduler="", limits="nvidia.com/gpu: 1", requests="nvidia.com/gpucores: 30")
    other = "{name: other, image: a, resources: {limits: {nvidia.com/gpu: 1}}}"
    text = asked.replace("containers: [", f"containers: [{other}, ")

    assert codes(GROUP, text) == []


def test_where_a_scheduler_is_asked_is_told() -> None:
    texts = (
        pod(HALF, scheduler=""),
        pod(labels=QUEUE, scheduler=""),
        deployment().replace("{app: d}, ann", f"{{app: d, {QUEUE}}}, ann") + f"---\n{queue('a')}",
    )
    found = [lint_files([GivenFile("a.yaml", text)]) for text in texts]
    told_of = [each for (report,) in found for each in report.findings if each.code in JUDGED]

    assert [each.path for each in told_of] == [
        "metadata.annotations.gpu-fraction",
        'metadata.labels["kai.scheduler/queue"]',
        'spec.template.metadata.labels["kai.scheduler/queue"]',
    ]


def test_checks_of_schedulers_go_by_documents() -> None:
    read = read_files([GivenFile("a.yaml", pod(HALF)), GivenFile("b.yaml", queue("other"))])
    apart = Inventory(
        tuple(replace(each, source=replace(each.source, document=None)) for each in read.items)
    )
    for check in (other_schedulers.asked_of_others, other_schedulers.queues_are_there):
        assert list(check.look(apart)) == []
