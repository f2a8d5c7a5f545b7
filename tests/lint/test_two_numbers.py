"""Two declarations that leave no room for each other: each wrong pair, and what is near it."""

from __future__ import annotations

import pytest
from lint_corpus import found_in

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.checks.nodes.volume_speeds import _told
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.placeholders import is_placeholder

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: pool}
spec:
  limits: {nvidia.com/gpu: "40"}
  template:
    metadata: {labels: {pool: a}}
    spec:
      terminationGracePeriod: 10m
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: class}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1a, eu-west-1b]}
        - {key: node.kubernetes.io/instance-type, operator: In, values: [g5.12xlarge]}
"""
CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: class}
spec:
  amiSelectorTerms: [{alias: al2023@v20250904}]
  role: node-role
  blockDeviceMappings:
    - deviceName: /dev/xvda
      ebs: {volumeSize: 200Gi, volumeType: gp3, iops: 3500, throughput: 1000}
"""
PODS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: own}
spec:
  replicas: 4
  strategy: {type: Recreate}
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      terminationGracePeriodSeconds: 3600
      priorityClassName: low
      nodeSelector: {pool: a}
      topologySpreadConstraints:
        - maxSkew: 1
          minDomains: 3
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: app}}
      containers:
        - name: main
          image: example.com/app:1
          resources: {limits: {nvidia.com/gpu: 1, vpc.amazonaws.com/efa: 4}}
"""
APART = """\
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector: {matchLabels: {app: app}}
"""
SPREAD = PODS[PODS.index("      topologySpread") : PODS.index("      containers")]
GROUPS = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: own, region: eu-west-1, version: "1.33"}
managedNodeGroups:
  - name: gpu
    amiFamily: AmazonLinux2023
    instanceType: g5.12xlarge
    availabilityZones: [eu-west-1a]
    minSize: 1
    maxSize: 3
    volumeSize: 200
    volumeType: gp3
    volumeIOPS: 3000
    volumeThroughput: 800
    labels: {pool: a, k8s.amazonaws.com/accelerator: a10g}
    iam:
      attachPolicyARNs: ["arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"]
"""
PRIORITY = """\
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: low}
value: -11
"""
AUTOSCALER = """\
autoDiscovery: {clusterName: own}
extraArgs: {v: 4}
"""
EXPANDER = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: cluster-autoscaler-priority-expander, namespace: kube-system}
data:
  priorities: |-
    10: [g5.12xlarge]
    20: [".*-gpu-.*"]
"""
STORAGE = """\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: ebs.csi.aws.com
parameters: {type: gp3, iops: "3000", throughput: "1000"}
"""
ADAPTER = """\
rules:
  default: false
  custom:
    - seriesQuery: 'DCGM_FI_DEV_GPU_UTIL{pod!=""}'
      name: {as: gpu_used}
      metricsQuery: avg(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)
    - seriesQuery: queue_length
      metricsQuery: avg(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)
  external:
    - seriesQuery: waiting
      metricsQuery: sum(<<.Series>>)
"""
SCALER = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: app, namespace: own}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: app}
  minReplicas: 1
  maxReplicas: 4
  metrics:
    - type: Pods
      pods: {metric: {name: gpu_util}, target: {type: AverageValue, averageValue: "60"}}
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: own, namespace: argocd}
spec:
  project: default
  destination: {server: https://kubernetes.default.svc, namespace: own}
  source: {repoURL: https://git.example.org/own.git, path: apps/own, targetRevision: main}
  syncPolicy: {automated: {selfHeal: true}}
"""
MODEL = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata:
  name: model
  annotations: {serving.kserve.io/deploymentMode: RawDeployment}
spec:
  predictor:
    minReplicas: 0
    model:
      modelFormat: {name: huggingface}
      resources: {limits: {nvidia.com/gpu: 1}}
"""
TRITON = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: triton, namespace: own}
spec:
  selector: {matchLabels: {app: triton}}
  template:
    metadata: {labels: {app: triton}}
    spec:
      containers:
        - name: triton
          image: nvcr.io/nvidia/tritonserver:25.05-py3
          resources: {limits: {nvidia.com/gpu: 1}}
      volumes: [{name: models, configMap: {name: models}}]
"""
MODELS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: models, namespace: own}
data:
  config.pbtxt: |
    instance_group [ { kind: KIND_GPU gpus: [ 0, 1 ] } ]
"""
TOGETHER = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: group}
spec:
  leaderWorkerTemplate:
    size: 2
    leaderTemplate:
      spec:
        containers:
          - name: leader
            image: vllm/vllm-openai:v0.10.1
            command: [sh, -c, "start $(SIZE); vllm serve own/model --tensor-parallel-size 8 -pp 4"]
            resources: {limits: {nvidia.com/gpu: 8}}
            volumeMounts: [{name: shm, mountPath: /dev/shm}]
        volumes: [{name: shm, emptyDir: {medium: Memory}}]
    workerTemplate:
      spec:
        containers:
          - {name: worker, image: own, resources: {limits: {nvidia.com/gpu: 8}}}
"""
CLUSTER = {"pool.yaml": POOL, "class.yaml": CLASS, "pods.yaml": PODS}
SCALED = {
    "groups.yaml": GROUPS,
    "autoscaler.values.yaml": AUTOSCALER,
    "pods.yaml": PODS,
    "priority.yaml": PRIORITY,
    "expander.yaml": EXPANDER,
}
HEALED = {"app.yaml": APPLICATION, "apps/own/pods.yaml": PODS, "apps/own/scaler.yaml": SCALER}
WRONG = {
    "GPU1290": (
        CLUSTER,
        (
            "The Deployment app needs 3 zones to keep its 4 pods apart, and the NodePool "
            "pool can have 2."
        ),
    ),
    "GPU1291": (
        CLUSTER,
        (
            "The Deployment app may take 3600 s to end, and the NodePool pool ends its nodes 600 s "
            "after it begins to drain them."
        ),
    ),
    "GPU1253": (
        CLUSTER,
        (
            "The Deployment app asks for 4 of vpc.amazonaws.com/efa in a pod, and the types of the "
            "NodePool pool have 1."
        ),
    ),
    "GPU1294": (
        {**CLUSTER},
        (
            "The EC2NodeClass class has a gp3 volume of 1000 MiB/s, which needs 4000 "
            "IOPS, and it has 3500."
        ),
    ),
    "GPU1298": (
        {"groups.yaml": GROUPS},
        (
            "The node group gpu has AmazonSSMManagedInstanceCore and no AmazonEKSWorkerNodePolicy: "
            "eksctl attaches these in place of its own, and no node joins."
        ),
    ),
    "GPU1295": (
        {"adapter.yaml": ADAPTER, "scaler.yaml": SCALER},
        (
            "The HorizontalPodAutoscaler app goes by gpu_util, and the release of "
            "prometheus-adapter makes gpu_used, queue_length."
        ),
    ),
    "GPU1296": (
        HEALED,
        (
            "The Deployment app has 4 replicas written, which the Application own heals "
            "to, and the HorizontalPodAutoscaler app scales it."
        ),
    ),
    "GPU1297": (
        {"model.yaml": MODEL},
        (
            "The InferenceService model has minReplicas 0 with serving.kserve.io/deploymentMode: "
            "RawDeployment, and KServe keeps one pod."
        ),
    ),
    "GPU1235": (
        {"models.yaml": MODELS, "triton.yaml": TRITON},
        (
            "config.pbtxt of the ConfigMap models puts a model on device 1, and the "
            "Deployment triton gives Triton 1, counted from 0."
        ),
    ),
    "GPU1236": (
        {"group.yaml": TOGETHER},
        "The LeaderWorkerSet group splits a model over 32 GPUs, and its 2 pods have 16 together.",
    ),
}
AUTOSCALED = (
    (
        "The Deployment app has the class low with the priority -11, and Cluster "
        "Autoscaler adds no node for pods below -10."
    ),
    (
        "The pattern g5.12xlarge of the priority 10 is in the name of no node group that "
        "is here, such as eksctl-own-nodegroup-gpu-NodeGroup."
    ),
)
QUIET = [
    ("GPU1290", "replicas: 4", "replicas: 2"),
    ("GPU1290", "minDomains: 3", "minDomains: 2"),
    ("GPU1290", "maxSkew: 1", "maxSkew: 2"),
    ("GPU1290", "minDomains: 3", "minDomains: many"),
    ("GPU1290", "maxSkew: 1", "maxSkew: some"),
    ("GPU1290", "DoNotSchedule", "ScheduleAnyway"),
    ("GPU1290", "topologyKey: topology.kubernetes.io/zone", "topologyKey: rack"),
    (
        "GPU1290",
        "labelSelector: {matchLabels: {app: app}}",
        "labelSelector: {matchLabels: {app: b}}",
    ),
    ("GPU1290", "labelSelector: {matchLabels: {app: app}}", "labelSelector: {matchLabels: {}}"),
    ("GPU1290", "labelSelector: {matchLabels: {app: app}}", "labelSelector: {matchLabels: ${OF}}"),
    (
        "GPU1290",
        "labelSelector: {matchLabels: {app: app}}",
        "labelSelector: {matchLabels: {app: app}, matchExpressions: [{key: a, operator: Exists}]}",
    ),
    ("GPU1290", "replicas: 4", "replicas: ${MANY}"),
    ("GPU1290", "values: [eu-west-1a, eu-west-1b]", "values: [eu-west-1a, '${ZONE}']"),
    ("GPU1290", "topology.kubernetes.io/zone, operator: In", "a.b/zone, operator: In"),
    (
        "GPU1290",
        "topology.kubernetes.io/zone, operator: In, values: [eu-west-1a, eu-west-1b]",
        "topology.kubernetes.io/zone, operator: NotIn, values: [eu-west-1a]",
    ),
    ("GPU1291", "terminationGracePeriodSeconds: 3600", "terminationGracePeriodSeconds: 600"),
    ("GPU1291", "terminationGracePeriodSeconds: 3600", "dnsPolicy: Default"),
    ("GPU1291", "terminationGracePeriod: 10m", "terminationGracePeriod: 1h"),
    ("GPU1291", "terminationGracePeriod: 10m", "terminationGracePeriod: 1h0m1s"),
    ("GPU1291", "terminationGracePeriod: 10m", "terminationGracePeriod: Never"),
    ("GPU1291", "terminationGracePeriod: 10m", "terminationGracePeriod: ''"),
    ("GPU1291", "terminationGracePeriod: 10m", "expireAfter: 10m"),
    ("GPU1253", "efa: 4", "efa: 1"),
    ("GPU1253", "      containers:", "      initContainers:"),
    ("GPU1253", "[g5.12xlarge]", "[g5.12xlarge, p4d.24xlarge]"),
    ("GPU1253", "[g5.12xlarge]", "[g5.12xlarge, g9.12xlarge]"),
    ("GPU1294", "iops: 3500", "iops: 4000"),
    ("GPU1294", "iops: 3500", "iops: ${IOPS}"),
    ("GPU1294", "volumeType: gp3", "volumeType: io2"),
    ("GPU1294", "throughput: 1000", "throughput: 875"),
    ("GPU1294", "throughput: 1000", "throughput: ${MUCH}"),
    ("GPU1294", ", throughput: 1000", ""),
    ("GPU1298", "AmazonSSMManagedInstanceCore", "AmazonEKSWorkerNodePolicy"),
    ("GPU1298", "AmazonSSMManagedInstanceCore", "AdministratorAccess"),
    ("GPU1298", "iam::aws:policy/AmazonSSM", "iam::111122223333:policy/Amazon"),
    ("GPU1298", '["arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"]', "[]"),
    ("GPU1298", "AmazonSSMManagedInstanceCore", "${POLICY}"),
    ("GPU1298", "g5.12xlarge", "m5.large"),
    ("GPU1295", "default: false", "default: true"),
    ("GPU1295", "  default: false\n", ""),
    ("GPU1295", "default: false", "default: false\n  existing: other"),
    ("GPU1295", "{as: gpu_used}", "{as: gpu_util}"),
    ("GPU1295", "{as: gpu_used}", "{matches: DCGM, as: 'x_${1}'}"),
    ("GPU1295", "{as: gpu_used}", "{matches: '^DCGM_(.*)'}"),
    ("GPU1295", "seriesQuery: queue_length", "seriesQuery: '{__name__=~\"a.*\"}'"),
    ("GPU1295", "name: gpu_util", "name: queue_length"),
    ("GPU1295", "name: gpu_util", "name: 5"),
    ("GPU1295", "type: Pods", "type: Resource"),
    ("GPU1295", "kind: HorizontalPodAutoscaler", "kind: ScaledObject"),
    ("GPU1296", "selfHeal: true", "selfHeal: false"),
    ("GPU1296", "path: apps/own", "path: apps/other"),
    ("GPU1296", "path: apps/own", "path: ."),
    ("GPU1296", "path: apps/own", "chart: own"),
    ("GPU1296", "project: default", "project: ${PROJECT}"),
    (
        "GPU1296",
        "project: default",
        "ignoreDifferences: [{kind: Deployment, jsonPointers: [/spec/replicas]}]",
    ),
    ("GPU1296", "  replicas: 4\n", ""),
    ("GPU1296", "kind: Deployment, name: app", "kind: Deployment, name: other"),
    ("GPU1296", "kind: Deployment, name: app", "kind: StatefulSet, name: app"),
    (
        "GPU1296",
        "{name: app, namespace: own}\nspec:\n  scaleT",
        "{name: app, namespace: b}\nspec:\n  scaleT",
    ),
    ("GPU1297", "minReplicas: 0", "minReplicas: 1"),
    ("GPU1297", "minReplicas: 0", "minReplicas: ${LEAST}"),
    ("GPU1297", "RawDeployment", "Serverless"),
    ("GPU1297", "RawDeployment}", "RawDeployment, serving.kserve.io/autoscalerClass: keda}"),
    ("GPU1297", "nvidia.com/gpu: 1", "cpu: 1"),
    ("GPU1235", "0, 1", "0"),
    ("GPU1235", "gpus:", "no_gpus:"),
    ("GPU1235", "gpus: [ 0, 1 ]", "gpus: [ 0, ]"),
    ("GPU1235", "config.pbtxt", "notes.txt"),
    ("GPU1235", "configMap: {name: models}", "configMap: {name: others}"),
    ("GPU1235", "nvidia/tritonserver", "nvidia/other"),
    ("GPU1235", "{name: models, namespace: own}", "{name: models, namespace: b}"),
    ("GPU1235", "nvidia.com/gpu: 1", "cpu: 1"),
    ("GPU1236", "-pp 4", "-pp 2"),
    ("GPU1236", "-pp 4", "-pp $STAGES"),
    ("GPU1236", "size: 2", "size: 4"),
    ("GPU1236", "size: 2", "size: ${SIZE}"),
    ("GPU1236", "vllm serve", "serve"),
    (
        "GPU1236",
        "image: own, resources: {limits: {nvidia.com/gpu: 8}}",
        "image: own, resources: {limits: {nvidia.com/gpu: '${N}'}}",
    ),
    (
        "GPU1236",
        "image: own, resources: {limits: {nvidia.com/gpu: 8}}",
        "image: own, resources: {limits: {composite.dra/gpu-nic-pair: '8'}}",
    ),
    (
        "GPU1236",
        "image: own, resources: {limits: {nvidia.com/gpu: 8}}",
        "image: own, resources: {claims: [{name: gpus}]}",
    ),
]
STILL = [
    ("GPU1290", "eu-west-1a, eu-west-1b", "eu-west-1a", "and the NodePool pool can have 1."),
    ("GPU1291", "10m", "59m59s", "3599 s"),
    ("GPU1294", "iops: 3500, ", "", "and it has 3000."),
    ("GPU1294", "iops: 3500", "iops: 100", "and it has 100."),
    ("GPU1295", "{as: gpu_used}", "{as: ''}", "makes DCGM_FI_DEV_GPU_UTIL, queue_length."),
    ("GPU1297", "RawDeployment", "Standard", "Standard"),
    (
        "GPU1297",
        "RawDeployment}",
        "RawDeployment, serving.kserve.io/autoscalerClass: hpa}",
        "keeps",
    ),
    ("GPU1235", "0, 1", "0, 3, 1", "device 3"),
    ("GPU1236", "size: 2", "size: 3", "3 pods have 24"),
    (
        "GPU1236",
        "image: own, resources: {limits: {nvidia.com/gpu: 8}}",
        "image: own, resources: {limits: {cpu: 8, vpc.amazonaws.com/efa: 4}}",
        "2 pods have 8",
    ),
    ("GPU1236", "nvidia.com/gpu: 8", "cpu: 8", "2 pods have 0"),
]


def told(code: str, files: dict[str, str]) -> list[str]:
    if any(name.endswith(".tf") for name in files):
        given = [GivenFile(f"nowhere/{name}", text) for name, text in files.items()]
        every = [each for report in lint_files(given) for each in report.findings]
        return [each.message for each in every if each.code == code]
    return [each.message for each in found_in(files) if each.code == code]


@pytest.mark.parametrize("code", WRONG)
def test_a_pair_that_is_wrong(code: str) -> None:
    files, message = WRONG[code]

    assert told(code, files) == [message]


@pytest.mark.parametrize(("code", "wrong", "right"), QUIET)
def test_what_is_near_it_is_right(code: str, wrong: str, right: str) -> None:
    files, _ = WRONG[code]
    assert any(wrong in text for text in files.values())
    changed = {name: text.replace(wrong, right) for name, text in files.items()}

    assert told(code, changed) == []


@pytest.mark.parametrize(("code", "before", "after", "part"), STILL)
def test_what_is_written_otherwise_is_as_wrong(
    code: str, before: str, after: str, part: str
) -> None:
    files, _ = WRONG[code]
    changed = {name: text.replace(before, after) for name, text in files.items()}

    (message,) = told(code, changed)
    assert part in message


def autoscaled(wrong: str = "", right: str = "", **more: str) -> list[str]:
    files = {name: text.replace(wrong, right) if wrong else text for name, text in SCALED.items()}
    return told("GPU1292", files | more)


def test_what_an_autoscaler_does_not_look_at() -> None:
    assert autoscaled() == [*AUTOSCALED]


@pytest.mark.parametrize(
    ("wrong", "right", "left"),
    [
        ("value: -11", "value: -10", 1),
        ("value: -11", "value: ${LOW}", 1),
        ("{v: 4}", "{expendable-pods-priority-cutoff: -20}", 1),
        ("{v: 4}", "{expendable-pods-priority-cutoff: '${CUT}'}", 1),
        ("{v: 4}", "{expendable-pods-priority-cutoff: -5}", 0),
        ("priorityClassName: low", "priorityClassName: other", 1),
        ("priorityClassName: low", "priorityClassName: ${CLASS}", 1),
        ("kind: Deployment", "kind: StatefulSet", 1),
        ("nvidia.com/gpu: 1, vpc.amazonaws.com/efa: 4", "cpu: 1", 1),
        ("clusterName: own", "other: own", 0),
        ("[g5.12xlarge]", "[eks-gpu-]", 0),
        ("[g5.12xlarge]", "['eksctl-own-nodegroup-g']", 0),
        ("[g5.12xlarge]", "['(']", 0),
        ("[g5.12xlarge]", "[5]", 0),
        ("    10: [g5.12xlarge]", "    10: {{ a }}", 0),
        ("    10: [g5.12xlarge]", "    10: [g5", 0),
        ("expander, namespace", "expanders, namespace", 0),
        ("name: own, region", "name: '${NAME}', region", 0),
        ("  - name: gpu", "  - name: ${NAME}", 0),
    ],
)
def test_what_it_looks_at(wrong: str, right: str, left: int) -> None:
    found = autoscaled(wrong, right)
    by_class = [each for each in found if "has the class" in each]
    by_name = [each for each in found if "pattern" in each]
    is_first = wrong in ("value: -11", "{v: 4}", "kind: Deployment") or "priorityClass" in wrong
    is_first = is_first or "efa" in wrong

    assert len(by_class if not is_first else by_name) == (1 if "clusterName" not in wrong else left)
    if "-5" in right:
        assert "pods below -5" in by_class[0]
    elif "clusterName" not in wrong:
        assert (by_class if is_first else by_name) == []


def test_karpenter_has_no_cutoff() -> None:
    more = {"pool.yaml": POOL.replace("pool: a", "pool: b"), "class.yaml": CLASS}

    assert not [each for each in autoscaled(**more) if "has the class" in each]


def test_groups_that_are_not_of_one_file_have_names_that_are_not_known() -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: a, labels: {a: b}}\n"

    assert not [each for each in autoscaled(**{"node.yaml": node}) if "pattern" in each]


def test_a_guide_shows_one_of_several() -> None:
    guide = "# Guide\n\n```yaml\n" + EXPANDER + "```\n"
    files = {"groups.yaml": GROUPS, "README.md": guide}

    assert told("GPU1292", files) == []


def spread(pods: str, **files: str) -> list[str]:
    return told("GPU1290", {"pods.yaml": pods, **(files or {"groups.yaml": GROUPS})})


def test_racks_are_not_counted() -> None:
    racks = PODS.replace("topology.kubernetes.io/zone", "rack")

    assert spread(racks.replace("minDomains: 3", "minDomains: 4")) == []


def test_pods_that_must_be_on_nodes_of_their_own() -> None:
    pods = PODS.replace(SPREAD, APART)

    assert spread(pods) == [
        (
            "The Deployment app needs 4 nodes to keep its 4 pods apart, and the node group gpu can "
            "have 3."
        )
    ]
    assert spread(pods.replace("replicas: 4", "replicas: 3")) == []
    assert spread(pods.replace("kubernetes.io/hostname", "rack")) == []
    assert (
        spread(
            pods.replace("matchLabels: {app: app}}\n      cont", "matchLabels: {b: c}}\n      cont")
        )
        == []
    )
    assert (
        spread(pods.replace("- topologyKey", "- namespaces: [b]\n              topologyKey")) == []
    )
    assert spread(pods, **{"pool.yaml": POOL, "class.yaml": CLASS}) == []
    zones = pods.replace("kubernetes.io/hostname", "topology.kubernetes.io/zone")
    assert "needs 4 zones" in spread(zones)[0]
    assert (
        spread(
            zones, **{"groups.yaml": GROUPS.replace("    availabilityZones: [eu-west-1a]\n", "")}
        )
        == []
    )
    several = GROUPS + GROUPS[GROUPS.index("  - name") :].replace("name: gpu", "name: two")
    assert spread(pods, **{"groups.yaml": several}) == []
    assert spread(pods, **{"groups.yaml": several.replace("maxSize: 3", "maxSize: 1")}) != []
    assert (
        spread(pods, **{"groups.yaml": several.replace("maxSize: 3", "maxSize: ${MOST}", 1)}) == []
    )
    assert spread(pods.replace("a}\n", "b}\n", 1)) == []


def test_a_guide_of_pods_shows_none_that_run() -> None:
    guide = "# Guide\n\n```yaml\n" + PODS + "```\n"

    assert told("GPU1290", {"pool.yaml": POOL, "class.yaml": CLASS, "README.md": guide}) == []


def test_volumes_of_groups_and_of_storage() -> None:
    (group,) = told("GPU1294", {"groups.yaml": GROUPS})
    assert group == (
        "The node group gpu has a gp3 volume of 800 MiB/s, which needs 3200 IOPS, and it has 3000."
    )
    (storage,) = told("GPU1294", {"storage.yaml": STORAGE})
    assert storage.startswith("The StorageClass fast has a gp3 volume of 1000 MiB/s")
    other = STORAGE.replace("ebs.csi.aws.com", "efs.csi.aws.com")
    assert told("GPU1294", {"storage.yaml": other}) == []
    claim = STORAGE.replace("kind: StorageClass", "kind: PriorityClass")
    assert told("GPU1294", {"storage.yaml": claim}) == []
    assert _told(None, "iops") == ""


def test_a_class_of_two_pools_is_said_once() -> None:
    two = POOL + "---\n" + POOL.replace("{name: pool}", "{name: two}")

    assert len(told("GPU1294", {**CLUSTER, "pool.yaml": two})) == 1


TEMPLATE = """\
resource "aws_launch_template" "gpu" {
  name          = "gpu"
  instance_type = "g5.xlarge"
  instance_market_options {
    market_type = "spot"
  }
}
resource "aws_eks_node_group" "gpu" {
  cluster_name    = "own"
  node_group_name = "gpu"
  node_role_arn   = "arn:aws:iam::111122223333:role/node"
  subnet_ids      = ["subnet-1"]
  ami_type        = "AL2023_x86_64_NVIDIA"
  launch_template {
    id      = aws_launch_template.gpu.id
    version = 1
  }
  scaling_config {
    min_size     = 0
    desired_size = 0
    max_size     = 20
  }
}
resource "aws_servicequotas_service_quota" "gpu" {
  service_code = "ec2"
  quota_code   = "L-DB2E81BA"
  value        = 64
}
"""
STACK = """\
Resources:
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        InstanceType: g5.xlarge
        InstanceMarketOptions: {MarketType: spot}
  Group:
    Type: AWS::EKS::Nodegroup
    Properties:
      ClusterName: own
      NodeRole: role
      Subnets: [subnet-1]
      LaunchTemplate: {Id: !Ref Template}
"""
ROLE = """\
module "karpenter" {
  source             = "terraform-aws-modules/eks/aws//modules/karpenter"
  version            = "20.37.1"
  cluster_name       = module.eks.cluster_name
  node_iam_role_name = "node-role"
}
"""


def test_a_market_is_said_by_the_group() -> None:
    (of_terraform,) = told("GPU1299", {"main.tf": TEMPLATE})
    assert of_terraform == (
        "The launch template of aws_eks_node_group.gpu asks for spot instances, and EKS takes no "
        "market from that of a managed node group."
    )
    assert len(told("GPU1299", {"stack.yaml": STACK})) == 1
    assert told("GPU1299", {"main.tf": TEMPLATE.replace('"spot"', '"capacity-block"')}) == []
    assert told("GPU1299", {"main.tf": TEMPLATE.replace("g5.xlarge", "m5.large")}) == []
    assert told("GPU1299", {"stack.yaml": STACK.replace("{MarketType: spot}", "{}")}) == []
    own = STACK.replace("EKS::Nodegroup", "AutoScaling::AutoScalingGroup").replace(
        "      ClusterName: own\n",
        "      Tags: [{Key: kubernetes.io/cluster/own, Value: owned, PropagateAtLaunch: true}]\n",
    )
    assert told("GPU1299", {"stack.yaml": own}) == []


_SPOT = '  instance_market_options {\n    market_type = "spot"\n  }\n'
TARGET = """\
  capacity_reservation_specification {
    capacity_reservation_target {
      capacity_reservation_id = NAMED
    }
  }
"""
OF_BLOCK = "aws_ec2_capacity_block_reservation.own.id"


@pytest.mark.parametrize(
    ("named", "more", "wrong"),
    [
        (OF_BLOCK, "", True),
        ("var.own_capacity_block_id", "", True),
        (OF_BLOCK, _SPOT.replace("spot", "capacity-block"), False),
        (OF_BLOCK, _SPOT.replace('"spot"', "var.market"), False),
        ("aws_ec2_capacity_reservation.own.id", "", False),
        ("var.use_capacity_block ? var.block : var.odcr", "", False),
        ('"cr-0123456789abcdef0"', "", False),
        ("null", "", False),
    ],
)
def test_a_capacity_block_is_targeted_as_of_its_market(named: str, more: str, wrong: bool) -> None:
    template = TEMPLATE.replace(_SPOT, TARGET.replace("NAMED", named) + more)
    found = told("GPU1299", {"main.tf": template})

    assert bool(found) is wrong
    assert all("targets" in each and "without the market type" in each for each in found)
    assert told("GPU1299", {"main.tf": template.replace("g5.xlarge", "m5.large")}) == []


OF_MODULE = """\
module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "21.3.0"
  name    = "own"
  KIND_node_groups = {
    gpu = {
      ami_type = "AL2023_x86_64_NVIDIA"
      TYPE
      capacity_reservation_specification = {
        capacity_reservation_target = { capacity_reservation_id = NAMED }
      }
      # more
    }
    # group
  }
}
"""
_SECOND = (
    'b = {\n      instance_type = "m5.large"\n      capacity_reservation_specification = {}\n    }'
)


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("", "", True),
        ("# more", 'instance_market_options = { market_type = "capacity-block" }', False),
        ("# more", "instance_market_options = var.market", False),
        ("NAMED", "var.capacity_reservation_id", False),
        ("NAMED", "local.given", False),
        ("NAMED", '"cr-0123456789abcdef0"', False),
        ("# group", _SECOND, False),  # which of them has the block is not told
        ('name    = "own"', 'name    = "own-${aws_ec2_capacity_reservation.a.id}"', False),
    ],
)
@pytest.mark.parametrize(
    ("kind", "types"),
    [
        ("self_managed", 'instance_type = "p5.48xlarge"'),
        ("eks_managed", 'instance_types = ["p5.48xlarge"]'),
    ],
)
def test_groups_of_the_module_target_a_block_so_too(
    kind: str, types: str, old: str, new: str, wrong: bool
) -> None:
    text = OF_MODULE.replace(old, new, 1) if old else OF_MODULE
    text = text.replace("KIND", kind).replace("TYPE", types).replace("NAMED", OF_BLOCK)

    assert bool(told("GPU1299", {"main.tf": text})) is wrong


@pytest.mark.parametrize(
    ("named", "switch", "wrong"),
    [
        ('"cr-0123456789abcdef0"', "var.use_capacity_block", False),
        ("var.reserved", "var.use_capacity_block", False),
        ("var.capacity_block_id", "var.other", True),
        ("data.aws_ec2_capacity_block_reservation.a.id", "var.other", True),
    ],
)
def test_a_switch_for_a_block_is_none(named: str, switch: str, wrong: bool) -> None:
    other = f'b = {{\n      create = {switch}\n      instance_type = "m5.large"\n    }}'
    text = OF_MODULE.replace("KIND", "self_managed").replace("# group", other)
    text = text.replace("TYPE", 'instance_type = "p5.48xlarge"').replace("NAMED", named)

    assert bool(told("GPU1299", {"main.tf": text})) is wrong


def test_a_quota_is_enough_for_all_nodes() -> None:
    assert told("GPU1293", {"main.tf": TEMPLATE}) == [
        (
            "The quota of Running On-Demand G and VT instances is to be 64 vCPUs, and "
            "aws_eks_node_group.gpu may take 80."
        )
    ]
    assert told("GPU1293", {"main.tf": TEMPLATE.replace("= 64", "= 80")}) == []
    assert told("GPU1293", {"main.tf": TEMPLATE.replace("L-DB2E81BA", "L-417A185B")}) == []
    assert told("GPU1293", {"main.tf": TEMPLATE.replace("= 64", "= var.much")}) == []
    pool = POOL.replace('"40"', '"4000"')
    quota = TEMPLATE[TEMPLATE.index('resource "aws_servicequotas') :]
    assert told("GPU1293", {"main.tf": quota, "pool.yaml": pool, "class.yaml": CLASS}) == []


def test_a_role_by_its_whole_name() -> None:
    files = {"main.tf": ROLE, "class.yaml": CLASS, "pool.yaml": POOL}
    assert told("GPU1298", files) == [
        (
            "The EC2NodeClass class has the role node-role, and that of "
            "module.karpenter.aws_iam_role.node[0] begins with it: a suffix follows, "
            "which is random."
        )
    ]
    for more in ("node_iam_role_use_name_prefix = false", "create_node_iam_role = false"):
        right = ROLE.replace("  version ", f"  {more}\n  version ")
        assert told("GPU1298", {**files, "main.tf": right}) == []
    true = ROLE.replace("  version ", "  node_iam_role_use_name_prefix = true\n  version ")
    assert len(told("GPU1298", {**files, "main.tf": true})) == 1
    assert told("GPU1298", {**files, "main.tf": ROLE.replace("node-role", "other")}) == []
    unknown = {"main.tf": ROLE.replace("node-role", "${var.role}")}
    unknown["class.yaml"] = CLASS.replace("node-role", "${ROLE}")
    assert told("GPU1298", {**files, **unknown}) == []
    assert told("GPU1298", {**files, "main.tf": ROLE.replace("node_iam_role_name", "a")}) == []


def test_a_leader_of_its_own_is_not_needed() -> None:
    start, end = TOGETHER.index("    leaderTemplate"), TOGETHER.index("    workerTemplate")
    alone = TOGETHER[:start] + TOGETHER[start:end].replace("leaderTemplate", "workerTemplate")

    assert len(told("GPU1236", {"group.yaml": alone})) == 1
    assert told("GPU1236", {"group.yaml": TOGETHER[:end]}) == []
    unknown = TOGETHER.replace(
        "limits: {nvidia.com/gpu: 8}}\n            vol",
        "limits: {nvidia.com/gpu: '${N}'}}\n            vol",
    )
    assert told("GPU1236", {"group.yaml": unknown}) == []


def test_pods_whose_nodes_are_not_all_seen() -> None:
    unknown = {**CLUSTER, "pool.yaml": POOL.replace("labels: {pool: a}", "labels: {a: '${X}'}")}
    several = {**CLUSTER, "more.yaml": POOL.replace("{pool: a}", "'${X}'").replace("pool}", "b}")}
    for code in ("GPU1290", "GPU1253", "GPU1291"):
        assert told(code, {"pods.yaml": PODS}) == []
        assert told(code, unknown) == []
        assert told(code, several) == []


def test_times_to_end() -> None:
    soon = {**CLUSTER, "pool.yaml": POOL.replace("10m", "10s")}
    usual = PODS.replace("Seconds: 3600", "Seconds: 30")
    assert told("GPU1291", {**soon, "pods.yaml": usual}) == []
    assert len(told("GPU1291", {**soon, "pods.yaml": usual.replace("30", "31", 1)})) == 1
    (message,) = told(
        "GPU1291",
        {
            **CLUSTER,
            "pool.yaml": POOL.replace("10m", "1h"),
            "pods.yaml": PODS.replace("3600", "3601"),
        },
    )
    assert "3600 s after" in message


def test_volumes_that_are_not_seen_hide_no_others() -> None:
    start = CLASS.index("  blockDevice")
    files = {"class.yaml": CLASS[:start] + "  blockDeviceMappings: ['${X}']\n"}

    assert len(told("GPU1294", {**files, "storage.yaml": STORAGE})) == 1
    assert len(told("GPU1294", {"pool.yaml": POOL, "storage.yaml": STORAGE})) == 1


def test_a_transformer_is_no_predictor() -> None:
    gpu = "      resources: {limits: {nvidia.com/gpu: 1}}\n"
    more = "  transformer:\n    containers:\n    - name: a\n      image: own\n" + gpu

    assert told("GPU1297", {"model.yaml": MODEL.replace(gpu, "") + more}) == []


def test_several_fractions_of_a_group_are_not_known() -> None:
    two = TOGETHER.replace("{limits: {nvidia.com/gpu: 8}}}", "{limits: {nvidia.com/gpu: 16}}}")

    assert "have 24 together" in told("GPU1236", {"group.yaml": two})[0]


KAI = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: kai, namespace: argocd}
spec:
  source:
    repoURL: ghcr.io/nvidia/kai-scheduler
    chart: kai-scheduler
    targetRevision: v0.9.1
    helm: {valuesObject: {global: {gpuSharing: true}}}
"""
QUEUED = """\
apiVersion: v1
kind: Pod
metadata: {name: app, labels: {runai/queue: team}, annotations: {gpu-fraction: "0.5"}}
spec:
  schedulerName: kai-scheduler
  containers: [{name: main, image: example.com/app:1}]
"""


@pytest.mark.parametrize(
    ("version", "label", "count"),
    [
        ("v0.9.1", "runai/queue", 1),
        ("0.6.0", "runai/queue", 1),
        ("v1.0.0", "runai/queue", 1),
        ("v0.5.9", "runai/queue", 0),
        ("v0.5.9", "kai.scheduler/queue", 1),
        ("v0.6.0", "kai.scheduler/queue", 0),
        ("main", "runai/queue", 0),
        ("v0.9.1", "own/queue", 0),
        ("v0.9.1", "kai.scheduler/queue: team, runai/queue", 0),
        ("v0.9.1", "'${LABEL}': team, runai/queue", 0),
    ],
)
def test_the_label_of_a_queue_that_a_release_of_kai_reads(
    version: str, label: str, count: int
) -> None:
    files = {
        "kai.yaml": KAI.replace("v0.9.1", version),
        "pod.yaml": QUEUED.replace("runai/queue", label),
    }

    assert len(told("GPU1274", files)) == count


def test_other_charts_read_no_queue() -> None:
    other = KAI.replace("chart: kai-scheduler", "chart: kueue")
    unknown = QUEUED.replace("{runai/queue: team}", "'${LABELS}'")

    assert told("GPU1274", {"kai.yaml": other, "pod.yaml": QUEUED}) == []
    assert told("GPU1274", {"kai.yaml": KAI, "pod.yaml": unknown}) == []


VOLCANO = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: volcano-scheduler-configmap, namespace: volcano-system}
data:
  volcano-scheduler.conf: |
    tiers:
    - plugins:
      - name: gang
"""
PARTS = """\
apiVersion: v1
kind: Pod
metadata: {name: app}
spec:
  schedulerName: volcano
  containers:
    - {name: main, image: own, resources: {limits: {volcano.sh/vgpu-number: 1}}}
"""


def test_a_plugin_of_volcano_that_is_not_there() -> None:
    assert len(told("GPU1274", {"map.yaml": VOLCANO, "pod.yaml": PARTS})) == 1
    for conf in ("    tiers: []\n", "    tiers: [{plugins: ['${MORE}']}]\n", "    a: [\n"):
        start = VOLCANO.index("    tiers")
        assert told("GPU1274", {"map.yaml": VOLCANO[:start] + conf, "pod.yaml": PARTS}) == []


SHARDED = """\
apiVersion: v1
kind: Pod
metadata: {name: app}
spec:
  containers:
    - name: main
      image: ghcr.io/huggingface/text-generation-inference:3.3
      args: [--model-id, own/model]
      env: [{name: NUM_SHARD, value: "4"}]
      resources: {limits: {nvidia.com/gpu: 1}}
"""


@pytest.mark.parametrize(
    ("wrong", "right", "count"),
    [
        ("", "", 1),
        ("NUM_SHARD", "OTHER", 0),
        ('"4"', '"1"', 0),
        ('"4"', '"${N}"', 0),
        ('"4"', '"many"', 0),
        ("own/model]", "own/model, --num-shard, '1']", 0),
        ("text-generation-inference:3.3", "other:1", 0),
    ],
)
def test_shards_by_the_environment(wrong: str, right: str, count: int) -> None:
    pod = SHARDED.replace(wrong, right) if wrong else SHARDED

    assert len(told("GPU1236", {"pod.yaml": pod})) == count


EMPTY = """\
Resources:
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        InstanceType: g5.xlarge
        UserData:
          Fn::Base64: |
            ---
            apiVersion: node.eks.aws/v1alpha1
            kind: NodeConfig
            spec: {kubelet: {flags: ["--node-labels=pool=gpu,kind=a"]}}
  Group:
    Type: AWS::AutoScaling::AutoScalingGroup
    Properties:
      MinSize: "0"
      MaxSize: "4"
      LaunchTemplate: {LaunchTemplateId: !Ref Template, Version: "1"}
      Tags:
        - {Key: kubernetes.io/cluster/own, Value: owned, PropagateAtLaunch: true}
        - {Key: k8s.io/cluster-autoscaler/enabled, Value: "true", PropagateAtLaunch: true}
        - {Key: k8s.io/cluster-autoscaler/node-template/label/pool, Value: cpu}
        - {Key: k8s.io/cluster-autoscaler/node-template/label/kind, Value: a}
"""


def test_what_tags_tell_of_nodes_that_are_not_there() -> None:
    tag = "k8s.io/cluster-autoscaler/node-template/label/"
    assert told("GPU1073", {"stack.yaml": EMPTY}) == [
        (
            f"the AutoScalingGroup Group may be empty, and the tag {tag}pool tells an autoscaler "
            "of cpu, where its user data gives the nodes gpu."
        )
    ]
    for right in ("Value: gpu", "Value: !Ref Pool"):
        assert told("GPU1073", {"stack.yaml": EMPTY.replace("Value: cpu", right)}) == []
    assert told("GPU1073", {"stack.yaml": EMPTY.replace('"0"', '"1"')}) == []
    missing = EMPTY.replace("label/kind", "label/other").replace("Value: cpu", "Value: gpu")
    assert "nothing tells an autoscaler of kind." in told("GPU1073", {"stack.yaml": missing})[0]
    found = told("GPU1073", {"stack.yaml": EMPTY.replace("/enabled", "/own")})
    assert found == []
    none = EMPTY[
        : EMPTY.index("        - {Key: k8s.io/cluster-autoscaler/node-template/label/pool")
    ]
    assert "the labels that its user data" in told("GPU1073", {"stack.yaml": none})[0]


@pytest.mark.parametrize("name", ["gpu-placeholder", "user-placeholder", "capacity-placeholder"])
def test_pods_that_hold_room_are_called_so(name: str) -> None:
    assert not is_placeholder(name)


@pytest.mark.parametrize(
    "name", ["sg-placeholder", "placeholder-1", "PLACEHOLDER", "a.placeholder"]
)
def test_what_is_to_be_filled_in_is_called_so(name: str) -> None:
    assert is_placeholder(name)


RUNTIME = """\
apiVersion: serving.kserve.io/v1alpha1
kind: ServingRuntime
metadata: {name: own}
spec:
  containers: [{name: kserve-container, image: "kserve/huggingfaceserver:v0.15.2"}]
"""
BY_RUNTIME = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: model}
spec:
  predictor:
    model:
      modelFormat: {name: huggingface}
      runtime: own
      resources: {limits: {nvidia.com/gpu: 1}}
"""


def test_the_image_of_a_models_runtime() -> None:
    files = {"model.yaml": BY_RUNTIME, "runtime.yaml": RUNTIME}

    assert told("GPU1380", files) == [
        (
            "The InferenceService model asks for a GPU, and the image kserve/huggingfaceserver:"
            "v0.15.2 of its runtime own has no CUDA."
        )
    ]
    for wrong, right in (
        ("v0.15.2", "v0.15.2-gpu"),
        ("runtime: own", "runtime: other"),
        ("runtime: own", "runtime: own\n      image: own:1"),
        ("runtime: own", "runtime: own\n      runtimeVersion: v0.15.2-gpu"),
        ("nvidia.com/gpu: 1", "cpu: 1"),
        ("kind: ServingRuntime", "kind: Pod"),
    ):
        changed = {name: text.replace(wrong, right) for name, text in files.items()}
        assert told("GPU1380", changed) == []
