"""Of repositories that serve and schedule on GPUs: what was said and was not so, and was not said.

Each class in our own words.
"""

from __future__ import annotations

import json
from textwrap import indent

import pytest
from linted import every, found, said


def told(code: str, **files: str) -> list[str]:
    """The messages of one code, of files whose names have `__` for a dot and `_` for a slash."""
    named = [(name.replace("__", ".").replace("_", "/"), text) for name, text in files.items()]
    return [each.message for each in found(named) if each.code == code]


TERRAFORM = """\
resource "helm_release" "operator" {
  name       = "gpu-operator"
  repository = "https://helm.ngc.nvidia.com/nvidia"
  chart      = "gpu-operator"
  namespace  = "gpu-operator"
  values     = [templatefile("${path.module}/values.yaml", {})]
}
"""
OPERATOR = """\
driver: {enabled: false}
toolkit: {enabled: false}
migManager: {enabled: false}
"""
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %s}
spec:
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 5m}
  limits: {cpu: 500}
  template:
    spec:
      nodeClassRef: {group: %s, kind: %s, name: gpu}
      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
      requirements:
        - {key: %s/instance-family, operator: In, values: [g5, g6]}
"""
AUTO = POOL % ("auto", "eks.amazonaws.com", "NodeClass", "eks.amazonaws.com")
OWN = POOL % ("own", "karpenter.k8s.aws", "EC2NodeClass", "karpenter.k8s.aws")


def test_auto_mode_and_a_karpenter_of_ones_own_in_two_folders_are_two_ways() -> None:
    files = {
        "infra/terraform/main.tf": TERRAFORM,
        "infra/terraform/values.yaml": OPERATOR,
        "manifests/infra/pool.yaml": AUTO,
    }

    assert "GPU1185" in {each.code for each in every(files.items())}
    more = files | {"infra/terraform/karpenter/pool.yaml": OWN}
    assert "GPU1185" not in {each.code for each in every(more.items())}


QUEUES = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  CHECKS
  resourceGroups:
    - coveredResources: [cpu, memory, nvidia.com/gpu]
      flavors:
        - name: any
          resources:
            - {name: cpu, nominalQuota: 99}
            - {name: memory, nominalQuota: 999Gi}
            - {name: nvidia.com/gpu, nominalQuota: 9}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team, namespace: ml}
spec: {clusterQueue: all}
"""
CHECK = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: far}
spec: {controllerName: kueue.x-k8s.io/%s}
"""
GUARDS = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: small, namespace: ml}
spec: {hard: {requests.memory: 8Gi}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: small, namespace: ml}
spec: {limits: [{type: Container, max: {memory: 8Gi}}]}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: ml, labels: {LABELS}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: a
          image: x:1
          resources:
            requests: {cpu: 1, memory: 16Gi, nvidia.com/gpu: 1}
            limits: {cpu: 1, memory: 16Gi, nvidia.com/gpu: 1}
"""
STRATEGY = "admissionChecksStrategy: {admissionChecks: [{name: far}]}"


@pytest.mark.parametrize(
    ("checks", "controller", "times"),
    [
        (STRATEGY, "multikueue", 0),
        ("admissionChecks: [far]", "multikueue", 0),
        (STRATEGY, "provisioning-request", 2),
        ("stopPolicy: None", "multikueue", 2),
        (STRATEGY, "", 0),
    ],
)
def test_quotas_are_of_the_cluster_that_makes_the_pods(
    checks: str, controller: str, times: int
) -> None:
    """MultiKueue sends the Job on; of a check that is not among the files it is not known."""
    files = {
        "queues__yaml": QUEUES.replace("CHECKS", checks),
        "checks__yaml": CHECK % controller if controller else GUARDS,
        "guards__yaml": GUARDS,
        "job__yaml": JOB.replace("LABELS", "kueue.x-k8s.io/queue-name: team"),
    }
    if not controller:
        del files["checks__yaml"]

    assert len(told("GPU1277", **files)) == times


@pytest.mark.parametrize(
    ("name", "space", "times"), [("far", "ml", 2), ("team", "other", 2), ("team", "ml", 0)]
)
def test_only_the_queue_of_a_job_sends_it_on(name: str, space: str, times: int) -> None:
    plain = QUEUES.replace("CHECKS", "stopPolicy: None")
    local = plain.rpartition("---\n")[2] if space == "ml" and name == "team" else ""
    plain = plain.replace(local, "") if local else plain
    far = QUEUES.replace("CHECKS", STRATEGY).replace("name: all", "name: sent")
    far = far.replace("clusterQueue: all", "clusterQueue: sent").replace("name: any}", "name: b}")
    far = far.replace("name: team, namespace: ml", f"name: {name}, namespace: {space}")
    files = {
        "queues__yaml": plain,
        "far__yaml": far,
        "checks__yaml": CHECK % "multikueue",
        "guards__yaml": GUARDS,
        "job__yaml": JOB.replace("LABELS", "kueue.x-k8s.io/queue-name: team"),
    }

    assert len(told("GPU1277", **files)) == times


def test_a_job_of_no_queue_is_made_here() -> None:
    files = {"guards__yaml": GUARDS, "job__yaml": JOB.replace("LABELS", "a: b")}

    assert len(told("GPU1277", **files)) == len(("quota", "limit"))


def test_json_may_have_keys_that_are_too_long_for_yaml() -> None:
    """A simple key of YAML 1.1 has 1,024 characters at most; JSON has no such bound."""
    pool = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "annotations": {"a" * 2000: "b"}},
        "spec": {
            "containers": [
                {"name": "a", "image": "x:1", "resources": {"limits": {"nvidia.com/gpu": "0.5"}}}
            ]
        },
    }

    assert said({"cache.json": json.dumps({"x" * 2000: {"b": 1}})}) == []
    assert said({"pod.json": json.dumps(pool)}) == ["GPU1114"]
    assert said({"pod.yaml": json.dumps(pool)}) == ["GPU1000"]


MPS = """\
config:
  map:
    default: |-
      version: v1
      sharing:
        mps:
          resources:
            - {name: nvidia.com/gpu, replicas: 4}
  default: default
"""
GUIDE = """\
# Sharing

```sh
helm repo add nvdp https://nvidia.github.io/k8s-device-plugin
helm upgrade -i plugin nvdp/CHART -n nvidia --version 0.17.4 --set gfd.enabled=GFD -f mps.yaml
```

The file `mps.yaml` has:

```yaml
VALUES
```
"""


def guide(chart: str = "nvidia-device-plugin", gfd: str = "true") -> str:
    return GUIDE.replace("CHART", chart).replace("GFD", gfd).replace("VALUES\n", MPS)


@pytest.mark.parametrize("beside", [True, False])
def test_values_that_a_guide_shows_go_with_what_its_command_sets(*, beside: bool) -> None:
    """Whether the file is among those that are given or not."""
    files = {"mps.yaml": MPS} if beside else {}

    assert said({"README.md": guide(), **files}) == []
    assert set(said({"README.md": guide(gfd="false"), **files})) == {"GPU1171"}


@pytest.mark.parametrize("chart", ["k8s-device-plugin", "nvidia.github.io/k8s-device-plugin"])
def test_a_chart_that_the_repository_has_not_is_told(chart: str) -> None:
    """It is called after the project, and what is meant is judged with it."""
    message = told("GPU1336", README__md=guide(chart), mps__yaml=MPS)

    assert [each.rpartition(", which ")[2] for each in message] == [f"has no {chart}."]
    assert said({"README.md": guide(chart), "mps.yaml": MPS}) == ["GPU1336"]


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ("helm install --repo https://nvidia.github.io/dcgm-exporter/helm-charts a dcgm", True),
        ("helm install --repo https://nvidia.github.io/k8s-device-plugin/ a nvdp", True),
        (
            (
                "helm install --repo https://nvidia.github.io/dcgm-exporter/helm-charts a "
                "dcgm-exporter"
            ),
            False,
        ),
        ("helm install --repo https://charts.example.com a dcgm", False),
        ("helm install a nvdp/k8s-device-plugin", False),
        (
            (
                "helm repo add nvdp https://nvidia.github.io/k8s-device-plugin\n"
                'helm install a "nvdp/$CHART"'
            ),
            False,
        ),
        ("helm repo add nvdp\nhelm repo update nvdp\nhelm install a nvdp/x", False),
        (
            (
                "helm show add nvdp https://nvidia.github.io/k8s-device-plugin\n"
                "helm repo index nvdp https://nvidia.github.io/k8s-device-plugin\n"
                "helm install a nvdp/x"
            ),
            False,
        ),
        (
            "helm repo add nvdp https://mirror.example.com/nvdp\nhelm install a nvdp/plugin",
            False,
        ),
    ],
)
def test_repositories_of_which_the_charts_are_known(command: str, *, wrong: bool) -> None:
    made = found([("install.sh", f"#!/bin/bash\n{command}\n")])

    assert [each.code for each in made] == ["GPU1336"] * wrong


OF_OPERATOR = """\
VALUE
driver: {enabled: false}
migManager: {enabled: false}
sandboxWorkloads: {enabled: false}
"""


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("toolkit:", True),
        ("operator: null", True),
        ("toolkit: {}", False),
        ("toolkit: # as in staging", False),
        ("toolkit: {{ .toolkit }}", False),
        ("gds:", False),
    ],
)
def test_a_block_that_is_null_takes_the_defaults_of_a_chart_away(
    value: str, *, wrong: bool
) -> None:
    message = told("GPU1036", operator__yaml=OF_OPERATOR.replace("VALUE", value))

    assert [each.partition(" is ")[0] for each in message] == (
        [value.partition(":")[0]] if wrong else []
    )


def test_a_block_that_is_null_below_a_chart_around_it_is_not_judged() -> None:
    text = OF_OPERATOR.replace("VALUE", "toolkit:")
    around = "gpu-operator:\n" + indent(text, "  ")

    assert told("GPU1036", values__yaml=around) == []


AROUND = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: platform, namespace: gpu}
spec:
  chart: {spec: {chart: platform, sourceRef: {kind: GitRepository, name: ours}}}
  values:
    gpu-operator:
"""


def test_it_is_not_judged_in_an_object_for_a_chart_around_it_either() -> None:
    text = OF_OPERATOR.replace("VALUE", "toolkit:")

    assert told("GPU1036", release__yaml=AROUND + indent(text, " " * 6)) == []


TRAINING = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  completionMode: Indexed
  completions: PODS
  parallelism: PODS
  template:
    spec:
      restartPolicy: Never
      MORE
      containers:
        - name: a
          image: x:1
          command: [COMMAND]
          env: [{name: MASTER_ADDR, value: "ADDRESS"}]
          resources: {limits: {nvidia.com/gpu: 1}}
"""


def training(
    address: str = "train-0",
    pods: int = 2,
    more: str = "priority: 0",
    command: str = "python, train.py",
) -> str:
    text = TRAINING.replace("ADDRESS", address).replace("PODS", str(pods))
    return text.replace("MORE", more).replace("COMMAND", command)


SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: train-0}
spec: {selector: {batch.kubernetes.io/job-completion-index: "0"}, ports: [{port: 29500}]}
"""


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (training(), True),
        (training(more="subdomain: group"), True),
        (training("train-0.group"), False),
        (training("other-0"), False),
        (training(pods=1), False),
        (training(more="hostAliases: [{ip: 10.0.0.1, hostnames: [train-0]}]"), False),
        (training(more="dnsConfig: {searches: [group.ml.svc.cluster.local]}"), False),
        (training("", command="torchrun, --master_addr=train-0, train.py"), True),
        (training("", command="torchrun, --rdzv-endpoint, 'train-0:29500', train.py"), True),
        (training("$(ADDRESS)"), False),
    ],
)
def test_processes_do_not_meet_at_the_name_of_a_pod(text: str, *, wrong: bool) -> None:
    assert bool(told("GPU1339", job__yaml=text)) == wrong
    assert told("GPU1339", job__yaml=text, service__yaml=SERVICE) == []


@pytest.mark.parametrize(
    ("more", "fix"),
    [
        ("subdomain: group", "Write train-0.group."),
        ('subdomain: ""', "Make a Service with"),
        ("subdomain: $SERVICE", "Make a Service with"),
    ],
)
def test_what_is_written_for_a_meeting_point_stands_below_its_service(more: str, fix: str) -> None:
    (only,) = [each for each in found([("a.yaml", training(more=more))]) if each.code == "GPU1339"]

    assert only.severity == "warning"
    assert only.fix.startswith(fix)


def test_jobs_that_a_cron_job_makes_have_names_of_their_own() -> None:
    text = training().replace("kind: Job", "kind: CronJob")
    head, spec = text.split("spec:\n", 1)
    text = f"{head}spec:\n  schedule: '@daily'\n  jobTemplate:\n    spec:\n{indent(spec, '    ')}"

    assert told("GPU1339", cron__yaml=text) == []


PODS = """\
apiVersion: v1
kind: Pod
metadata: {name: worker-NUMBER}
spec:
  containers:
    - name: a
      image: x:1
      command: [torchrun, --nnodes=2, --node_rank=NUMBER, --master_addr=worker-0, train.py]
      resources: {limits: {nvidia.com/gpu: 1}}
"""
SET = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: server}
spec:
  serviceName: servers
  replicas: 2
  selector: {matchLabels: {app: server}}
  template:
    metadata: {labels: {app: server}}
    spec:
      containers:
        - name: a
          image: x:1
          command: [python3, -m, sglang.launch_server, --dist-init-addr, "ADDRESS:5000"]
          resources: {limits: {nvidia.com/gpu: 1}}
"""


@pytest.mark.parametrize("name", ['""', "y", "null"])
def test_pods_without_a_name_are_met_by_nobody(name: str) -> None:
    pod = PODS.replace("--master_addr=worker-0, ", "")
    nameless = pod.replace("worker-NUMBER", name)

    assert told("GPU1339", a__yaml=nameless, b__yaml=pod) == []


def test_pods_and_sets_of_them_have_no_other_names() -> None:
    both = "---\n".join(PODS.replace("NUMBER", number) for number in "01")

    (message,) = told("GPU1339", pods__yaml=both)

    assert message.startswith("The processes of the Pod worker-1 meet at worker-0, which is")
    assert told("GPU1339", pod__yaml=PODS.replace("NUMBER", "1")) == []
    assert len(told("GPU1339", set__yaml=SET.replace("ADDRESS", "server-0"))) == 1
    assert told("GPU1339", set__yaml=SET.replace("ADDRESS", "server-0.servers")) == []


BASE = {
    "base/kustomization.yaml": "resources: [model.yaml]\n",
    "base/model.yaml": """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: llm}
spec:
  predictor:
    model:
      modelFormat: {name: vllm}
      resources: {limits: {nvidia.com/gpu: 1}}
""",
}
OVERLAY = """\
resources: [../base]
patches:
  - target: {kind: InferenceService}
    patch: '[{op: OPERATION, path: PATH/nvidia.com~1gpu, value: 2}]'
MORE
"""


@pytest.mark.parametrize(
    ("operation", "path", "more", "wrong"),
    [
        ("replace", "/spec/predictor/containers/0/resources/limits", "", True),
        ("add", "/spec/predictor/containers/0/resources/limits", "", True),
        ("remove", "/spec/predictor/model/resources/requests", "", True),
        ("replace", "/spec/predictor/model/resources/limits", "", False),
        ("add", "/spec/predictor/containers/0/resources", "components: [../other]", False),
        ("add", "/spec/predictor/containers/0/resources", "transformers: [more.yaml]", False),
    ],
)
def test_an_operation_on_what_is_not_there_ends_kustomize(
    operation: str, path: str, more: str, *, wrong: bool
) -> None:
    """It is a note where what is not read may have made the place."""
    text = OVERLAY.replace("OPERATION", operation).replace("PATH", path).replace("MORE", more)
    if operation == "remove":
        text = text.replace(", value: 2", "")

    assert said(BASE | {"prod/kustomization.yaml": text}) == ["GPU1014"] * wrong


@pytest.mark.parametrize("unknown", ["{name: vllm}", "{name: vllm}, storageUri: $WHERE"])
def test_an_operation_on_what_is_not_known_may_go(unknown: str) -> None:
    text = OVERLAY.replace("OPERATION", "replace").replace("PATH", "/spec/a/b").replace("MORE", "")
    model = BASE["base/model.yaml"].replace("      modelFormat: {name: vllm}", "      FORMAT")
    model = model.replace("FORMAT", unknown.replace("{name", "modelFormat: {name", 1))
    model = model.replace(", storageUri", "\n      storageUri")
    files = BASE | {"base/model.yaml": model, "prod/kustomization.yaml": text}

    assert said(files) == ["GPU1014"] * ("$" not in unknown)


def test_a_copy_of_nothing_is_null() -> None:
    text = OVERLAY.replace("op: OPERATION, path: PATH/nvidia.com~1gpu, value: 2", "op: copy, OF")
    text = text.replace("OF", "from: /spec/a, path: /spec/predictor/b").replace("MORE", "")

    assert said(BASE | {"prod/kustomization.yaml": text}) == []


def test_an_operation_is_told_once_and_only_of_what_has_gpus() -> None:
    twice = OVERLAY.replace("OPERATION", "replace").replace("PATH", "/spec/a").replace("MORE", "")
    twice += twice.partition("patches:\n")[2]

    assert said(BASE | {"prod/kustomization.yaml": twice}) == ["GPU1014"]
    plain = {name: text.replace("nvidia.com/gpu", "cpu") for name, text in BASE.items()}
    assert said(plain | {"prod/kustomization.yaml": twice.replace("nvidia.com~1", "")}) == []
