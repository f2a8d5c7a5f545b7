"""What refuses or holds pods with GPUs: what is near a mistake and is none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from eks_gpushare.findings.defects import CHECK_FAILED
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.lint.dispatch import lint_files, read_files
from eks_gpushare.manifests.checks.scheduling import admission, gangs, queues
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import Finding

JUDGED = {"GPU1244", "GPU1250", *(f"GPU{n}" for n in (1255, 1256, 1257, 1258, 1260))}
GPU = "nvidia.com/gpu: 1"


def judged(*texts: str) -> list[Finding]:
    """Without what could not be decided."""
    reports = lint_files([GivenFile(f"{n}.yaml", text) for n, text in enumerate(texts)])
    found = [each for report in reports for each in report.findings if each.severity != "info"]
    assert CHECK_FAILED.id not in {each.code for each in found}
    return [each for each in found if each.code in JUDGED]


def codes(*texts: str) -> list[str]:
    return [each.code for each in judged(*texts)]


def pod(
    more: str = "", limits: str = GPU, metadata: str = "namespace: ml", container: str = ""
) -> str:
    return f"""\
apiVersion: v1
kind: Pod
metadata: {{name: demo, {metadata}}}
spec:
  {more}
  containers: [{{name: main, image: app, resources: {{limits: {{{limits}}}}}{container}}}]
"""


def deployment(name: str = "demo", labels: str = "app: a", own: str = "", of_pod: str = "") -> str:
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: ml{own}}}
spec:
  selector: {{matchLabels: {{{labels}}}}}
  template:
    metadata: {{labels: {{app: a{of_pod}}}}}
    spec:
      containers: [{{name: main, image: app, resources: {{limits: {{{GPU}}}}}}}]
"""


# --- queues --------------------------------------------------------------------------------------

QUEUE = """\
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
metadata: {name: team, namespace: SPACE}
spec: {clusterQueue: all}
"""
SHARED, NAME = "nvidia.com/gpu.shared", "kueue.x-k8s.io/queue-name"


def queue(covered: str = SHARED, space: str = "ml") -> str:
    return QUEUE.replace("COVERED", covered).replace("SPACE", space)


def labelled(key: str = "own", name: str = "team") -> str:
    label = f"{NAME}: {name}"
    return deployment(**{key: f", labels: {{{label}}}" if key == "own" else f", {label}"})


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((queue(), labelled()), True),
        ((queue(), labelled("of_pod")), True),
        ((queue(), labelled("own", "team").replace("app: a}", f"app: a, {NAME}: b}}")), True),
        ((queue(), labelled("own", "b").replace("app: a}", f"app: a, {NAME}: team}}")), False),
        ((queue(), labelled("own", "1")), False),
        ((queue(), deployment()), False),
        ((queue("nvidia.com/gpu"), labelled()), False),
        ((queue(space="other"), labelled()), False),
        ((queue("gpu-memory"), labelled()), False),
        ((queue("{{ .covered }}"), labelled()), False),
        ((queue().replace("clusterQueue: all", "clusterQueue: none"), labelled()), False),
        ((queue().replace("kind: ClusterQueue", "kind: Cohort"), labelled()), False),
        ((queue().replace("kind: LocalQueue", "kind: Topology"), labelled()), False),
    ],
)
def test_a_queue_covers_what_its_workloads_ask_for(texts: tuple[str, ...], wrong: bool) -> None:
    assert codes(*texts) == ["GPU1250"] * wrong


def test_a_queue_is_told_with_what_it_covers() -> None:
    (found,) = judged(queue(), labelled())

    assert found.message == (
        "The Deployment demo asks for nvidia.com/gpu, and the ClusterQueue all, to which its queue "
        "team leads, covers nvidia.com/gpu.shared."
    )


VOLCANO = """\
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: team}
spec: {capability: {CAPABILITY}}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train, namespace: ml}
spec:
  minAvailable: LEAST
  queue: QUEUE
  tasks: [TASKS]
"""
TASK = (
    "{replicas: 4, name: worker, template: {spec: {containers: [{name: a, image: a, "
    "resources: {limits: {nvidia.com/gpu: 2}}}]}}}"
)


OTHER_QUOTA = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: b, namespace: ml}
spec: {hard: {requests.nvidia.com/gpu: 7}}
"""


def job(
    least: str = "4", capability: str = "nvidia.com/gpu: 7", name: str = "team", tasks: str = TASK
) -> str:
    made = VOLCANO.replace("CAPABILITY", capability).replace("LEAST", least)
    return made.replace("QUEUE", name).replace("TASKS", tasks)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (job(), True),
        (job(capability="nvidia.com/gpu: 8"), False),
        (job(capability="cpu: 7"), False),
        (job(capability="'{{ .a }}': 1"), False),
        (job("3"), False),
        (job("four"), False),
        (job(name="other"), False),
        (job(tasks=f"{TASK}, {TASK.replace('worker', 'other')}"), True),
        (job(tasks=f"{TASK}, {TASK.replace('gpu: 2', 'gpu: 1')}"), False),  # the least four
        (job("8", tasks=f"{TASK}, {TASK.replace('gpu: 2', 'gpu: 1')}"), True),
        (job("null", tasks=f"{TASK}, {TASK.replace('gpu: 2', 'gpu: 1')}"), True),  # all of them
        (job("7", tasks=f"{TASK}, {TASK.replace('nvidia.com/gpu: 2', 'cpu: 1')}"), False),
        (job("8", tasks=f"{TASK}, {TASK.replace('nvidia.com/gpu: 2', 'cpu: 1')}"), True),
        (job("8", tasks=f"{TASK}, {TASK.replace('replicas: 4', 'replicas: $N')}"), False),
        (job("8", tasks=f"{TASK}, {{replicas: 4, name: b}}"), False),
        (job(tasks=TASK.replace("gpu: 2", "gpu: '{{ .a }}'")), False),
        (job(tasks=TASK.replace("gpu: 2", "gpu: 0")), False),
        (job().replace("kind: Queue", "kind: PodGroup"), False),
        (f"{job(name='b')}---\n{OTHER_QUOTA}", False),
        (job(capability="{ .a }"), False),
    ],
)
def test_all_tasks_that_start_at_once_are_within_the_queue(text: str, wrong: bool) -> None:
    assert codes(text) == ["GPU1244"] * wrong


def test_where_nobody_says_how_many_start_it_is_told_of_the_tasks() -> None:
    assert [each.path for each in judged(job("null"))] == ["spec.tasks"]
    assert [each.path for each in judged(job("4"))] == ["spec.minAvailable"]


def test_what_a_queue_may_have_is_told() -> None:
    (found,) = judged(job())

    assert found.message == (
        "The Job train needs 8 of nvidia.com/gpu at once, and the Queue team may have 7."
    )


# --- runtime classes, Pod Security ---------------------------------------------------------------

GROUP = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: demo, region: us-west-2}
managedNodeGroups: [{name: GROUP, instanceType: TYPE, desiredCapacity: 1}]
"""


def group(instance_type: str = "g5.xlarge") -> str:
    return GROUP.replace("TYPE", instance_type)


def chart(name: str = "nvidia-device-plugin", space: str = "gpu", values: str = "{}") -> str:
    return f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: it, namespace: {space}}}
spec: {{chart: {{spec: {{chart: {name}, version: 0.17.1}}}}, values: {values}}}
"""


BY_HAND = "apiVersion: v1\nkind: Node\nmetadata: {name: n, labels: {team: a}}\n"
CLASS = (
    "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: nvidia}\nhandler: nvidia\n"
)
RUNS = pod("runtimeClassName: nvidia")


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((group(), chart(), RUNS), True),
        ((group(), chart(), pod()), False),
        ((group(), chart(), pod('runtimeClassName: ""')), False),
        ((group(), chart(), pod("runtimeClassName: '{{ .a }}'")), False),
        ((group(), chart(), RUNS, CLASS), False),
        ((group(), chart(), RUNS, CLASS.replace("{name: nvidia}", "{name: other}")), True),
        ((group(), chart(), RUNS, CLASS.replace("{name: nvidia}", "{name: '{{ .a }}'}")), False),
        ((group(), chart("gpu-operator"), RUNS), False),
        ((group(), chart(), chart("gpu-operator").replace("name: it", "name: b"), RUNS), False),
        ((group(), chart("dcgm-exporter"), RUNS), False),
        ((group(), RUNS), False),
        ((BY_HAND, chart(), RUNS), False),
        ((chart(), RUNS), False),
    ],
)
def test_a_runtime_class_is_one_that_is_made(texts: tuple[str, ...], wrong: bool) -> None:
    """NVIDIA's device plugin makes none, and its operator does."""
    assert codes(*texts) == ["GPU1255"] * wrong


SPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: NAME, labels: {KEY: LEVEL}}\n"
HOSTS = "volumes: [{name: d, hostPath: {path: /dev}}]"
PRIVILEGED = ", securityContext: {privileged: true}"


def space(level: str = "restricted", name: str = "ml", kind: str = "enforce") -> str:
    made = SPACE.replace("KEY", f"pod-security.kubernetes.io/{kind}")
    return made.replace("NAME", name).replace("LEVEL", level)


def plugin(more: str = "", env: str = "", image: str = "k8s-device-plugin:v0.17.1") -> str:
    return f"""\
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: plugin, namespace: ml}}
spec:
  selector: {{matchLabels: {{app: plugin}}}}
  template:
    metadata: {{labels: {{app: plugin}}}}
    spec:
      {more}
      containers:
        - {{name: first, image: other}}
        - {{name: main, image: "nvcr.io/nvidia/{image}", env: [{env}]}}
"""


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ((space(), pod(HOSTS)), "the Pod demo has host paths."),
        ((space("baseline"), pod(HOSTS)), "the Pod demo has host paths."),
        ((space("privileged"), pod(HOSTS)), ""),
        ((space(kind="warn"), pod(HOSTS)), ""),
        ((space(name="other"), pod(HOSTS)), ""),
        ((space(name="'{{ .a }}'"), pod(HOSTS)), ""),
        ((space(name='""'), pod(HOSTS, metadata="")), ""),
        ((space(), pod()), ""),
        ((space(), pod(HOSTS, limits="cpu: 1")), ""),
        ((space(), pod("volumes: [{name: d, emptyDir: {}}]")), ""),
        ((space(), pod("hostPID: true")), "the Pod demo has hostPID."),
        ((space(), pod("hostPID: false")), ""),
        ((space(), pod(container=PRIVILEGED)), "the Pod demo has a privileged container."),
        ((space(), pod(container=PRIVILEGED.replace("true", "false"))), ""),
        (
            (space(), chart(space="ml")),
            "of the release it of nvidia-device-plugin have host paths.",
        ),
        ((space(), chart(space="gpu")), ""),
        ((space(), chart("redis", space="ml")), ""),
        ((space(), plugin(HOSTS)), "the DaemonSet plugin has host paths."),
        (
            (space(), pod(HOSTS), chart(space="ml")),
            "of the release it of nvidia-device-plugin have host paths.",
        ),
        ((space(), "spec: '{{ .a }}'".join(pod(HOSTS).split("spec:")[:1])), ""),
    ],
)
def test_pods_are_such_as_their_namespace_admits(texts: tuple[str, ...], said: str) -> None:
    """https://kubernetes.io/docs/concepts/security/pod-security-standards/."""
    found = judged(*texts)

    assert [each.code for each in found] == (["GPU1256"] if said else [])
    assert all(each.message.endswith(said) for each in found)


# --- selectors -----------------------------------------------------------------------------------


def both(one: str, other: str) -> str:
    return f"{one}---\n{other}"


def in_space(text: str, name: str) -> str:
    return text.replace("namespace: ml", f"namespace: {name}")


OTHER_PLUGIN = plugin().replace("name: plugin,", "name: other,")


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((both(deployment(), deployment("b")),), True),
        ((both(deployment(), deployment("b", "app: b")),), False),
        ((both(deployment(), in_space(deployment("b"), "other")),), False),
        ((both(deployment(), deployment("b", "'{{ .a }}': b")),), False),
        ((both(deployment(labels=""), deployment("b", "")),), False),
        ((deployment(), deployment("b")), False),
        ((both(plugin(), OTHER_PLUGIN),), False),
        ((both(deployment(), deployment("b").replace(GPU, "cpu: 1")),), False),
    ],
)
def test_each_has_pods_of_its_own(texts: tuple[str, ...], wrong: bool) -> None:
    assert codes(*texts) == ["GPU1257"] * wrong


def test_selectors_are_those_of_documents() -> None:
    read = read_files([GivenFile("a.yaml", both(deployment(), deployment("b")))])
    whole = tuple(read.items)
    apart = tuple(replace(each, source=replace(each.source, document=None)) for each in whole)

    counts = [len(list(admission.selectors.look(Inventory(items)))) for items in (whole, apart)]
    assert counts == [1, 0]
    for look in (queues.queues.look, gangs.gangs.look):
        assert list(look(Inventory(apart))) == []


# --- plugins on other nodes, products ------------------------------------------------------------

CPU = group("m5.large")
TAINTED = CPU.replace("desiredCapacity: 1", "taints: [{key: a, effect: NoSchedule}]")
ELSEWHERE = '{name: FAIL_ON_INIT_ERROR, value: "false"}'
SELECTS = "nodeSelector: {team: a}"
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: cpu}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}
      requirements: [{key: karpenter.k8s.aws/instance-KEY, operator: OPERATOR, values: [VALUES]}]
"""


def category(values: str, key: str = "category", operator: str = "In") -> str:
    made = POOL.replace("KEY", key).replace("OPERATOR", operator)
    return made.replace("VALUES", values)


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((CPU, plugin()), True),
        ((CPU.replace("instanceType: m5.large, ", ""), plugin()), False),
        ((group(), plugin()), False),
        ((CPU.replace("m5.large", "x99.large"), plugin()), False),
        ((TAINTED, plugin()), False),
        ((CPU, plugin(SELECTS)), False),
        ((CPU, plugin(env=ELSEWHERE)), False),
        ((CPU, plugin(env=ELSEWHERE.replace("false", "true"))), True),
        ((CPU, plugin(env=ELSEWHERE.replace('"false"', "'{{ .a }}'"))), False),
        ((CPU, plugin(env='{name: CONFIG_FILE, value: "/a"}')), False),
        ((CPU, plugin(env='{name: CONFIG_FILE, value: ""}')), True),
        ((CPU, plugin(image="dcgm-exporter:4.5.3")), False),
        ((CPU, chart()), False),
        ((CPU, CPU.replace("GROUP", "b"), plugin()), True),
        ((category("c, m"), plugin()), True),
        ((category("c, m, r, t, a, i, z"), plugin()), True),
        ((category("c, g"), plugin()), False),
        ((category(""), plugin()), False),
        ((category("c", operator="NotIn"), plugin()), False),
        ((category("c", "size"), plugin()), False),
        ((category("'{{ .a }}'"), plugin()), False),
    ],
)
def test_a_plugin_that_fails_without_a_gpu_is_kept_to_gpu_nodes(
    texts: tuple[str, ...], wrong: bool
) -> None:
    assert codes(*texts) == ["GPU1258"] * wrong


VALUES = """\
# Values of nvidia-device-plugin
config:
  map:
    default: |-
      version: v1
      sharing:
        timeSlicing: {MORE resources: [{name: nvidia.com/gpu, replicas: REPLICAS}]}
"""


def values(replicas: int = 4, more: str = "renameByDefault: false,") -> str:
    return VALUES.replace("MORE", more).replace("REPLICAS", str(replicas))


PRODUCT = "nvidia.com/gpu.product"
MIG = "nvidia.com/mig-1g.5gb"


def selecting(product: str = "NVIDIA-A10G", key: str = PRODUCT) -> str:
    return f"nodeSelector: {{{key}: {product}}}"


def by_affinity(
    more: str = "[NVIDIA-A10G]", key: str = PRODUCT, operator: str = "In", before: str = ""
) -> str:
    term = f"{{matchExpressions: [{{key: {key}, operator: {operator}, values: {more}}}]}}"
    return f"""affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{before}{term}]}}"""


@pytest.mark.parametrize(
    ("texts", "path"),
    [
        ((values(), pod(selecting())), 'nodeSelector["nvidia.com/gpu.product"]'),
        ((values(2), pod(selecting())), 'nodeSelector["nvidia.com/gpu.product"]'),
        ((values().replace("nvidia.com/gpu,", f"{MIG},"), pod(selecting())), ""),
        ((values(more="renameByDefault: true,"), pod(selecting())), ""),
        ((values(), pod(selecting("NVIDIA-A10G-SHARED"))), ""),
        ((values(), pod(selecting(key="team"))), ""),
        ((values(), pod(selecting("{{ .a }}"))), ""),
        ((values(more="renameByDefault: true,"), pod(selecting(), f"{SHARED}: 1")), ""),
        ((pod(selecting()),), ""),
        ((group(), values(), pod(selecting())), 'nodeSelector["nvidia.com/gpu.product"]'),
        ((values(), pod(selecting(), f"{MIG}: 1")), ""),
        ((values(), pod(selecting(), f"{GPU}, {MIG}: 1")), ""),
        (
            (values(), pod(by_affinity())),
            (
                "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
                ".nodeSelectorTerms[0].matchExpressions[0].values[0]"
            ),
        ),
        ((values(), pod(by_affinity("[NVIDIA-A10G, NVIDIA-L4]"))), ""),
        ((values(), pod(by_affinity("[]"))), ""),
        ((values(), pod(by_affinity("['{{ .a }}']"))), ""),
        ((values(), pod(by_affinity(key="team"))), ""),
        ((values(), pod(by_affinity(operator="NotIn"))), ""),
    ],
)
def test_a_product_is_named_as_it_is_labelled(texts: tuple[str, ...], path: str) -> None:
    """GPU feature discovery: https://github.com/NVIDIA/k8s-device-plugin/tree/v0.17.1/docs."""
    found = judged(*texts)

    assert [(each.code, each.path) for each in found] == (
        [("GPU1260", f"spec.{path}")] if path else []
    )


def flavor(product: str = "NVIDIA-A10G", key: str = PRODUCT, name: str = "a10g") -> str:
    return f"""\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {{name: {name}}}
spec: {{nodeLabels: {{{key}: {product}}}}}
"""


def giving(resource: str = GPU.partition(":")[0], name: str = "a10g") -> str:
    return f"""\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {{name: all}}
spec:
  resourceGroups:
  - coveredResources: [{resource}]
    flavors: [{{name: {name}, resources: [{{name: {resource}, nominalQuota: 4}}]}}]
"""


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((values(), flavor(), giving()), True),
        ((values(), flavor("NVIDIA-A10G-SHARED"), giving()), False),
        ((values(more="renameByDefault: true,"), flavor(), giving()), False),
        ((values(1), flavor(), giving()), False),
        ((values(), flavor(key="team"), giving()), False),
        ((values(), flavor("{{ .a }}"), giving()), False),
        ((values(), flavor(), giving("cpu")), False),
        ((values(), flavor(), giving(name="t4")), False),
        ((values(), flavor()), False),
        ((flavor(), giving()), False),
    ],
)
def test_a_flavor_names_a_product_as_it_is_labelled(texts: tuple[str, ...], wrong: bool) -> None:
    found = [each.path for each in judged(*texts) if each.code == "GPU1260"]

    assert found == ([f'spec.nodeLabels["{PRODUCT}"]'] if wrong else [])
