"""Kueue's queues, as Kueue 0.16 admits workloads: what is near a mistake and is none."""

from __future__ import annotations

import pytest
from linted import said

from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import Pointer
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.checks.scheduling import queues
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.kueue_counting import counting

JUDGED = ("GPU1244", "GPU1250", "GPU1273", "GPU1278")


def told(*texts: str) -> list[tuple[str, str, str]]:
    reports = lint_files([GivenFile(f"{n}.yaml", text) for n, text in enumerate(texts)])
    found = [each for report in reports for each in report.findings if each.code in JUDGED]
    return [(each.code, each.severity, each.message) for each in found]


def codes(*texts: str) -> list[str]:
    return [code for code, _, _ in told(*texts)]


COVERED = "cpu, memory, nvidia.com/gpu"
FLAVOR = """\
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: a}
spec: {nodeLabels: {pool: a, zone: z}, nodeTaints: [{key: team, value: ml, effect: NoSchedule}]}
"""
PLAIN = FLAVOR.replace("{nodeLabels: {pool: a, zone: z}, nodeTaints: [{", "{tolerations: [{")
OTHER = FLAVOR.replace("name: a}", "name: b}")


def queue(covered: str = COVERED, quota: str = "4", more: str = "namespaceSelector: {}") -> str:
    given = ", ".join(
        f"{{name: {name}, nominalQuota: {quota}}}" for name in filter(None, covered.split(", "))
    )
    return f"""\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: all}}
spec:
  {more}
  resourceGroups:
    - coveredResources: [{covered}]
      flavors: [{{name: a, resources: [{given}]}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: team, namespace: ml}}
spec: {{clusterQueue: all}}
"""


def job(
    pod: str = "",
    limits: str = "nvidia.com/gpu: 1",
    spec: str = "",
    kind: str = "Job",
    metadata: str = "",
    requests: str = "",
) -> str:
    return f"""\
apiVersion: {"batch/v1" if kind == "Job" else "apps/v1"}
kind: {kind}
metadata: {{name: train, namespace: ml, labels: {{kueue.x-k8s.io/queue-name: team}}{metadata}}}
spec:
  {spec}
  template:
    spec:
      {pod}
      containers:
        - {{name: m, image: a, resources: {{limits: {{{limits}}}, requests: {{{requests}}}}}}}
"""


def configured(resources: str, key: str = "controller_manager_config.yaml") -> str:
    return f"""\
apiVersion: v1
kind: ConfigMap
metadata: {{name: kueue-manager-config, namespace: kueue-system}}
data:
  {key}: |
    apiVersion: config.kueue.x-k8s.io/v1beta2
    kind: Configuration
    resources: {resources}
"""


def chart(text: str | None = None, name: str = "kueue") -> str:
    given = (
        "{}" if text is None else f"{{managerConfig: {{controllerManagerConfigYaml: '{text}'}}}}"
    )
    return f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: queues, namespace: kueue-system}}
spec: {{chart: {{spec: {{chart: {name}, version: 0.16.0}}}}, values: {given}}}
"""


def nightly(label: str, resource: str) -> str:
    return f"""\
apiVersion: batch/v1
kind: CronJob
metadata: {{name: nightly, namespace: ml}}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    metadata: {{labels: {{{label}: team}}}}
    spec:
      template:
        spec:
          containers: [{{name: m, image: a, resources: {{limits: {{{resource}: 1}}}}}}]
"""


@pytest.mark.parametrize(
    ("label", "resource", "wrong"),
    [
        ("kueue.x-k8s.io/queue-name", "nvidia.com/mig-1g.10gb", True),
        ("kueue.x-k8s.io/queue-name", "nvidia.com/gpu", False),
        ("app", "nvidia.com/mig-1g.10gb", False),
    ],
)
def test_a_cron_job_names_the_queue_of_its_jobs(label: str, resource: str, *, wrong: bool) -> None:
    files = {
        "a.yaml": "---\n".join((queue("cpu, memory, nvidia.com/gpu"), nightly(label, resource)))
    }

    assert ("GPU1250" in said(files)) is wrong


OBJECT = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nresources: {}\n"
EXCLUDED = "{excludeResourcePrefixes: [nvidia.com/]}"
OF_A, OF_B = (EXCLUDED.replace("nvidia", each) for each in "ab")
MADE = "{transformations: [{input: nvidia.com/gpu, strategy: Replace, outputs: {a.com/gib: 80}}]}"
KEPT = MADE.replace("Replace", "Retain")
ONLY_GPUS = "nvidia.com/gpu"


@pytest.mark.parametrize(
    ("texts", "severity"),
    [
        ((queue("cpu, memory"), job()), "warning"),
        ((queue("cpu, memory, pods, ephemeral-storage, hugepages-2Mi"), job()), "warning"),
        ((queue(), job()), ""),
        ((queue("cpu, example.com/gpu"), job()), ""),  # which a configuration may make of GPUs
        ((queue("cpu, nvidia.com/mig-1g.5gb"), job()), "error"),
        ((queue(""), job()), ""),
        ((queue("'{{ .a }}'"), job()), ""),
        ((queue("cpu"), job().replace("queue-name: team", "queue-name: other")), ""),
        ((queue("cpu"), job().replace("namespace: ml", "namespace: other")), ""),
        ((queue("cpu").replace("clusterQueue: all", "clusterQueue: b"), job()), ""),
        (
            (
                queue("cpu").replace("name: team", "name: $QUEUE"),
                job().replace("queue-name: team", "queue-name: $TEAM"),
            ),
            "",
        ),
        (
            (
                queue("cpu").replace("name: all", "name: $A").replace("Queue: all", "Queue: $B"),
                job(),
            ),
            "",
        ),
        ((queue("cpu").replace("kind: ClusterQueue", "kind: Cohort"), job()), ""),
        ((queue("cpu").replace("kind: LocalQueue", "kind: Topology"), job()), ""),
        ((queue("cpu, memory"), job(), configured("{}")), "error"),
        ((queue("cpu, memory"), job(), OBJECT), "error"),
        ((queue("cpu, memory"), job(), OBJECT.replace("config.kueue", "a.b")), "warning"),
        ((queue("cpu, memory"), job(), chart()), "error"),
        ((queue("cpu, memory"), job(), chart(name="keda")), "warning"),
        ((queue("cpu, example.com/gpu"), job(), chart()), "error"),
        ((queue("cpu, memory"), job(), configured(EXCLUDED)), ""),
        ((queue("cpu, memory"), job(), chart(f"resources: {EXCLUDED}")), ""),
        ((queue("cpu, memory"), job(), configured("{quotaCheckStrategy: IgnoreUndeclared}")), ""),
        ((queue("cpu, memory"), job(), configured("{quotaCheckStrategy: Block}")), "error"),
        ((queue("cpu, a.com/gib"), job(), configured(MADE)), ""),
        ((queue("cpu, a.com/gib"), job(), configured(KEPT)), "error"),
        ((queue("nvidia.com/gpu, a.com/gib"), job(), configured(KEPT)), ""),
        ((queue("cpu, memory, nvidia.com/gpu"), job(), configured(MADE)), "error"),
        ((queue(), job(), configured(MADE.replace("{a.com/gib: 80}", "1"))), ""),
        ((queue("cpu"), job(), configured("{a: ")), ""),  # which nobody can read
        ((queue("cpu"), job(), chart("{{ .a }}")), ""),
        (
            (queue("cpu"), job(), configured("{}"), chart("resources: {a: []}")),
            "error",
        ),
        (
            (queue("cpu"), job(), chart(f"resources: {OF_A}"), configured(OF_B)),
            "",
        ),  # one or the other
        ((queue("cpu"), job(), configured("{}", "a"), configured("{}", "b")), "error"),
        ((queue("cpu"), job(), configured("{}").replace("kueue.x", "keda.x")), "warning"),
        (
            (queue(ONLY_GPUS), job(requests="cpu: 1")),
            "",
        ),  # a configuration elsewhere may exclude it
        ((queue(ONLY_GPUS), job(requests="cpu: 1"), chart()), "error"),
        ((queue(ONLY_GPUS), job(requests="cpu: 0"), chart()), ""),
    ],
)
def test_a_queue_covers_what_is_asked_for(texts: tuple[str, ...], severity: str) -> None:
    assert [(code, of) for code, of, _ in told(*texts)] == [("GPU1250", severity)] * bool(severity)


LIMITS = """\
apiVersion: v1
kind: KIND
metadata: {name: some, namespace: SPACE}
spec: {limits: [{TYPEPART: {NAME: 1Gi}}]}
"""


def limits(
    part: str = "defaultRequest",
    name: str = "ephemeral-storage",
    kind: str = "type: Container, ",
    space: str = "ml",
) -> str:
    made = LIMITS.replace("KIND", "LimitRange").replace("SPACE", space).replace("PART", part)
    return made.replace("NAME", name).replace("TYPE", kind)


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((queue(), job(requests="ephemeral-storage: 1Gi")), True),
        ((queue(), job(limits="nvidia.com/gpu: 1, ephemeral-storage: 1Gi")), True),
        ((queue("memory, nvidia.com/gpu"), job(requests="cpu: 1")), True),
        ((queue(), limits(), job()), True),
        ((queue(), limits("default"), job()), True),
        ((queue(), limits(kind=""), job()), True),
        ((queue(), job(requests="ephemeral-storage: 1Gi"), configured("{}")), False),
        ((queue(ONLY_GPUS), job(requests="ephemeral-storage: 1Gi")), False),
        ((queue(), job(requests="example.com/a: 1")), False),
        ((queue(), job(requests="cpu: 1")), False),
        ((queue(), limits("max"), job()), False),
        ((queue(), limits(kind="type: Pod, "), job()), False),
        ((queue(), limits(name="memory"), job()), False),
        ((queue(), limits(space="other"), job()), False),
        ((queue(), limits(space="'{{ .a }}'"), job()), False),
        ((queue(), limits().replace("LimitRange", "Other"), job()), False),
    ],
)
def test_a_queue_covers_what_of_nodes_is_asked_for(texts: tuple[str, ...], wrong: bool) -> None:
    found = [(code, severity) for code, severity, _ in told(*texts)]

    assert found == [("GPU1250", "warning")] * wrong


def test_a_queue_without_gpus_is_told_of_these() -> None:
    asking = job(limits="nvidia.com/gpu: 1, ephemeral-storage: 1Gi")
    ((_, _, message),) = told(queue("cpu, memory"), asking)

    assert "asks for nvidia.com/gpu" in message


def test_whose_default_is_not_covered_is_told() -> None:
    ((_, _, message),) = told(queue(), limits(), job())

    assert message == (
        "The Job train asks for ephemeral-storage by the LimitRange some, and the ClusterQueue "
        "all, to which its queue team leads, covers cpu, memory, nvidia.com/gpu."
    )


def test_what_a_queue_covers_is_told_with_what_kueue_counts() -> None:
    (_, _, first), *_ = told(queue("cpu"), job(), configured(MADE))
    (_, _, other) = told(queue("cpu, memory"), job())[0]

    assert first == (
        "The Job train asks for nvidia.com/gpu, of which Kueue counts a.com/gib, and the "
        "ClusterQueue all, to which its queue team leads, covers cpu."
    )
    assert other == (
        "The Job train asks for nvidia.com/gpu, and the ClusterQueue all, to which its queue team "
        "leads, covers cpu, memory."
    )


def test_a_configuration_that_is_not_known_counts_nothing() -> None:
    source = Source("the Configuration")
    given = Pointer(source=source, name="", kind="Configuration", spec={"resources": UNKNOWN})
    other = Pointer(source=source, name="", kind="ClusterQueue", spec={"resources": UNKNOWN})

    assert counting(Inventory((given,)), "") is None
    found = counting(Inventory((other,)), "")
    assert found is not None
    assert not found.is_here


NO_QUOTA = queue("cpu").replace(
    "coveredResources: [cpu]", "coveredResources: [cpu, nvidia.com/gpu]"
)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (NO_QUOTA, True),
        (NO_QUOTA.replace("nvidia.com/gpu", "memory"), False),
        (NO_QUOTA.replace("4}]", "4}, {name: nvidia.com/gpu, nominalQuota: 4}]"), False),
        (NO_QUOTA.replace("[{name: cpu, nominalQuota: 4}]", "[]"), False),  # not written yet
        (NO_QUOTA.replace("name: a,", "name: '{{ .a }}',"), False),
        (NO_QUOTA.replace("kind: ClusterQueue", "kind: Cohort"), False),
    ],
)
def test_what_is_covered_has_a_quota(text: str, wrong: bool) -> None:
    expected = (
        "The ClusterQueue all covers nvidia.com/gpu, of which its flavor a has no quota: Kueue "
        "refuses it."
    )
    assert told(text) == [("GPU1250", "error", expected)] * wrong


LANDS = "tolerations: [{key: team, operator: Exists}]"
TAINT = "nodeTaints: [{key: team, value: ml, effect: NoSchedule}]"
TWO = queue().replace(
    "flavors: [",
    "flavors: [{name: b, resources: [{name: cpu, nominalQuota: 1}, "
    "{name: memory, nominalQuota: 1}, {name: nvidia.com/gpu, nominalQuota: 1}]}, ",
)


def term(*expressions: str) -> str:
    return f"{{matchExpressions: [{', '.join(expressions)}]}}"


def placed(spec: str) -> str:
    """A Job whose pod has these fields."""
    text = job("REST")
    return text.replace("      REST\n", "".join(f"      {line}\n" for line in spec.split(";")))


ANY = "tolerations: [{operator: Exists}]"
IN_A = "{key: pool, operator: In, values: [a]}"
IN_B = "{key: pool, operator: In, values: [b]}"
ELSE = "{key: other, operator: Exists}"
HIDDEN = "{key: '{{ .a }}', operator: In, values: [b]}"


def wanting(*terms: str) -> str:
    required = f"{{nodeSelectorTerms: [{', '.join(terms)}]}}"
    return (
        f"{ANY};affinity: {{nodeAffinity: "
        f"{{requiredDuringSchedulingIgnoredDuringExecution: {required}}}}}"
    )


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ((queue(), FLAVOR, job()), "does not tolerate the taint team=ml:NoSchedule of"),
        ((queue(), FLAVOR, placed(LANDS)), ""),
        ((queue(), PLAIN, job()), ""),
        ((queue(), FLAVOR.replace("spec: {", f"spec: {{{LANDS}, "), job()), ""),
        ((queue(), FLAVOR.replace("NoSchedule", "PreferNoSchedule"), job()), ""),
        ((queue(), FLAVOR.replace("key: team", "key: '{{ .a }}'"), job()), ""),
        ((queue(), FLAVOR, placed("tolerations: '{{ .a }}'")), ""),
        ((queue(), FLAVOR.replace("ResourceFlavor", "Topology"), job()), ""),
        ((queue(), job()), ""),
        ((queue("cpu, memory, nvidia.com/mig-1g.5gb"), FLAVOR, job()), ""),
        ((TWO, FLAVOR, OTHER, job()), "has none that fits of nvidia.com/gpu."),
        ((TWO, FLAVOR, job()), ""),
        ((TWO, FLAVOR, OTHER.replace(f", {TAINT}", ""), job()), ""),
        ((queue(), FLAVOR, placed(f"{ANY};nodeSelector: {{pool: b}}")), "wants the label pool=b"),
        ((queue(), FLAVOR, placed(f"{ANY};nodeSelector: {{pool: a, other: b}}")), ""),
        ((queue(), FLAVOR, placed(wanting(term(IN_B)))), "wants a node with pool=b"),
        ((queue(), FLAVOR, placed(wanting(term(IN_A)))), ""),
        ((queue(), FLAVOR, placed(wanting(term(IN_B), term(IN_A)))), ""),
        ((queue(), FLAVOR, placed(wanting(term(IN_B, ELSE)))), "wants a node with pool=b"),
        ((queue(), FLAVOR, placed(wanting(term(IN_B), term(ELSE)))), ""),
        ((queue(), FLAVOR, placed(wanting(term(HIDDEN)))), ""),
        (
            (queue(), FLAVOR, placed(f"{wanting(term(ELSE))};nodeSelector: {{pool: b}}")),
            (
                "wants the label pool=b, and the ResourceFlavor a has pool=a, zone=z; the "
                "ClusterQueue all has no other flavor of nvidia.com/gpu."
            ),
        ),
    ],
)
def test_a_flavor_is_for_the_pods(texts: tuple[str, ...], said: str) -> None:
    found = [(code, message) for code, _, message in told(*texts) if code == "GPU1273"]

    assert len(found) == bool(said)
    assert all(said in message for _, message in found)


@pytest.mark.parametrize(("kind", "wrong"), [("Job", True), ("Deployment", False)])
def test_what_eks_adds_to_pods_is_there_where_kueue_sees_pods(kind: str, wrong: bool) -> None:
    taint = FLAVOR.replace("key: team, value: ml", "key: nvidia.com/gpu")
    assert codes(queue(), taint, job(kind=kind)) == ["GPU1273"] * wrong


COHORT = "namespaceSelector: {}\n  cohort: c"
NAMED = "namespaceSelector: {}\n  cohortName: c"
LIMITED = queue("nvidia.com/gpu", "4, borrowingLimit: 2", COHORT)


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((queue(), job(limits="nvidia.com/gpu: 5")), True),
        ((queue(), job(limits="nvidia.com/gpu: 4")), False),
        ((queue(quota="'{{ .a }}'"), job(limits="nvidia.com/gpu: 5")), False),
        ((queue(), job(limits="nvidia.com/gpu: '{{ .a }}'")), False),
        ((queue(), job(spec="parallelism: 5")), True),
        ((queue(), job(spec="{parallelism: 5, completions: 4, REST}")), False),
        ((queue(), job(spec="parallelism: '{{ .a }}'", limits="nvidia.com/gpu: 4")), False),
        ((queue(), job(spec="parallelism: 0", limits="nvidia.com/gpu: 5")), False),
        ((queue(), job(limits="nvidia.com/gpu: 3", spec="replicas: 5", kind="Deployment")), False),
        ((queue(), job(spec="replicas: 0", limits="nvidia.com/gpu: 5", kind="Deployment")), False),
        ((queue(), job(limits="nvidia.com/gpu: 5", kind="DaemonSet")), True),
        ((queue(more=COHORT), job(limits="nvidia.com/gpu: 5")), False),
        ((queue(more=NAMED), job(limits="nvidia.com/gpu: 5")), False),
        ((LIMITED, job(limits="nvidia.com/gpu: 6")), False),
        ((LIMITED, job(limits="nvidia.com/gpu: 7")), True),
        ((queue(), job(limits="nvidia.com/gpu: 5"), configured("{}")), True),
        ((queue(), job(limits="nvidia.com/gpu: 5"), configured(EXCLUDED)), False),
        ((queue(), job(limits="nvidia.com/gpu: 5"), configured("{a: ")), False),
        ((queue("cpu, memory"), job(limits="nvidia.com/gpu: 5"), configured(EXCLUDED)), False),
        ((TWO, job(limits="nvidia.com/gpu: 4")), False),
        ((TWO, job(limits="nvidia.com/gpu: 5")), True),
    ],
)
def test_what_starts_at_once_is_within_a_flavor(texts: tuple[str, ...], wrong: bool) -> None:
    given = tuple(
        text.replace("{parallelism: 5, completions: 4, REST}", "parallelism: 5\n  completions: 4")
        for text in texts
    )
    assert codes(*given) == ["GPU1244"] * wrong


@pytest.mark.parametrize(
    ("metadata", "wrong"),
    [("", True), (", annotations: {kueue.x-k8s.io/job-min-parallelism: '1'}", False)],
)
def test_a_job_may_start_with_fewer_pods(metadata: str, wrong: bool) -> None:
    assert codes(queue(), job(spec="parallelism: 5", metadata=metadata)) == ["GPU1244"] * wrong


def test_completions_that_are_not_known_may_be_fewer() -> None:
    spec = "parallelism: 5\n  completions: '{{ .a }}'"
    assert codes(queue(), job(spec=spec)) == []


def test_more_than_a_flavor_is_told() -> None:
    ((_, severity, message),) = told(queue(), job(spec="parallelism: 5"))

    assert (severity, message) == (
        "error",
        (
            "The Job train needs 5 of nvidia.com/gpu at once, and the ClusterQueue all, to which "
            "its queue team leads, has 4 of one flavor at most."
        ),
    )


SPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ml, labels: {team: a}}\n"
SELECTS = "namespaceSelector: {matchLabels: {team: a}}"
NAME_IN = (
    "namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, "
    "values: [ml]}]}"
)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (
            (queue(more="cohort: c"), job()),
            "that without a namespaceSelector takes workloads of no",
        ),
        ((queue(more="cohort: c"), job(limits="cpu: 1")), ""),
        ((queue(more=SELECTS), SPACE, job()), ""),
        ((queue(more=SELECTS.replace("team: a", "team: b")), SPACE, job()), "select the namespace"),
        ((queue(more=SELECTS.replace("team: a", "team: b")), job()), ""),
        (
            (
                queue(more=SELECTS.replace("team: a", "team: b")),
                SPACE.replace("{team: a}", "'{{ .a }}'"),
                job(),
            ),
            "",
        ),
        ((queue(more=NAME_IN), job()), ""),
        ((queue(more=NAME_IN.replace("[ml]", "[web]")), job()), "does not select the namespace ml"),
        ((queue(more=NAME_IN.replace("[ml]", "['{{ .a }}']")), job()), ""),
        ((queue(more="namespaceSelector: '{{ .a }}'"), job()), ""),
        (
            (
                queue(more=NAME_IN.replace("[ml]", "[web]")),
                job().replace("namespace: ml", "namespace: '{{ .a }}'"),
            ),
            "",
        ),
    ],
)
def test_a_queue_takes_workloads_of_the_namespace(texts: tuple[str, ...], said: str) -> None:
    found = [message for code, _, message in told(*texts) if code == "GPU1278"]

    assert len(found) == bool(said)
    assert all(said in message for message in found)


def test_what_is_wrong_with_a_selector_is_told_there() -> None:
    given = (queue(more="cohort: c"), queue(more=NAME_IN.replace("[ml]", "[web]")))
    found = [lint_files([GivenFile("a.yaml", f"{text}---\n{job()}")]) for text in given]
    told_of = [each for (report,) in found for each in report.findings if each.code == "GPU1278"]

    assert [each.path for each in told_of] == ["spec", "spec.namespaceSelector"]


def test_checks_of_queues_need_no_documents() -> None:
    for look in (queues.covered.look, queues.flavors.look, queues.namespaces.look):
        assert list(look(Inventory())) == []


TAINTED = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: ml, region: us-east-1, version: "1.34"}
managedNodeGroups:
  - {name: gpu, instanceType: g5.xlarge, taints: [{key: team, value: ml, effect: NoSchedule}]}
"""
OF_QUEUE = """\
apiVersion: batch/v1
kind: Job
metadata: {name: a, namespace: ml, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  template:
    spec: {containers: [{name: a, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]}
"""
UNQUEUED = OF_QUEUE.replace("kueue.x-k8s.io/queue-name", "queue")


@pytest.mark.parametrize(
    ("job_of_it", "flavors", "kept_out"),
    [
        (OF_QUEUE, PLAIN, False),
        (UNQUEUED, PLAIN, True),
        (OF_QUEUE, FLAVOR, True),  # taints of nodes, which are no tolerations
        (OF_QUEUE, PLAIN.replace("key: team", "key: other"), True),
        (OF_QUEUE, FLAVOR + PLAIN.replace("name: a}", "name: b}"), False),
        (OF_QUEUE, PLAIN.replace("[{key: team, value: ml, effect: NoSchedule}]", "$ALL"), False),
    ],
)
def test_kueue_gives_pods_the_tolerations_of_a_flavor(
    job_of_it: str, flavors: str, kept_out: bool
) -> None:
    reports = lint_files([GivenFile("all.yaml", f"{TAINTED}---\n{job_of_it}{flavors}")])
    found = [each.code for report in reports for each in report.findings]
    assert ("GPU1111" in found) is kept_out
