"""Objects of what users reported of containers, volumes and nodes, right as they are."""

from __future__ import annotations

from linted import said_of


def said(**files: str) -> list[str]:
    """The errors and warnings of files, whose names have `__` for a dot."""
    return sorted(code for code in said_of(**files) if code not in ("GPU1079", "GPU1078"))


VLLM = "vllm/vllm-openai:v0.9.2"


SHELL = 'command: ["sh", "-c", "vllm serve m --port 1"]'


def pod(
    container: str, image: str = VLLM, kind: str = "Deployment", spec: str = "", **more: object
) -> str:
    """A workload of one container that asks for a GPU, in flow style."""
    replicas, gpus = more.get("replicas", 1), more.get("gpus", 1)
    return f"""\
apiVersion: apps/v1
kind: {kind}
metadata: {{name: llm, namespace: ml}}
spec:
  replicas: {replicas}
  strategy: {{type: Recreate}}
  selector: {{matchLabels: {{app: llm}}}}
  template:
    metadata: {{labels: {{app: llm}}}}
    spec:
      {spec}
      containers:
        - name: server
          image: {image}
          {container}
          resources: {{limits: {{nvidia.com/gpu: {gpus}, memory: 8Gi{more.get("limits", "")}}}}}
"""


CLAIM = """\
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: models, namespace: ml}
spec: {accessModes: [MODE], CLASS resources: {requests: {storage: SIZE}}}
"""


SCALER = """\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: llm, namespace: ml}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: llm}
  minReplicas: 1
  maxReplicas: MOST
  metrics: [{type: Resource, resource: {name: METRIC, target: {type: Utilization}}}]
"""


RUNTIME = """\
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: nvidia}
handler: nvidia
---
"""


PLUGIN = """\
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: plugin, namespace: kube-system}
spec:
  selector: {matchLabels: {name: plugin}}
  template:
    metadata: {labels: {name: plugin}}
    spec:
      SPEC
      containers:
        - name: plugin
          image: nvcr.io/nvidia/k8s-device-plugin:v0.17.1
          env: [{name: NVIDIA_DRIVER_ROOT, value: ROOT}]
"""


CHART = """\
apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata: {name: nvdp, namespace: kube-system}
spec:
  repo: https://nvidia.github.io/k8s-device-plugin
  chart: nvidia-device-plugin
  version: 0.17.1
  targetNamespace: nvidia
  valuesContent: |-
    VALUES
"""


GROUP = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: hub, region: us-west-2, version: "1.33"}
managedNodeGroups:
  - name: gpu
    instanceType: g4dn.xlarge
    amiFamily: AmazonLinux2023
    minSize: LEAST
    maxSize: MOST
    volumeSize: 120
    MORE
    labels: {pool: gpu}
    taints: [{key: KEY, value: gpu, effect: NoSchedule}]
"""


FEATURES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: config-features, namespace: knative-serving}
data: {kubernetes.podspec-affinity: enabled, kubernetes.podspec-KEY: VALUE}
---
"""


SERVED = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: m, namespace: ml, annotations: {serving.kserve.io/deploymentMode: MODE}}
spec:
  predictor:
    nodeSelector: {pool: gpu}
    model:
      modelFormat: {name: onnx}
      storageUri: "s3://a/b"
      resources: {limits: {nvidia.com/gpu: 1}}
"""


FARGATE = """\
fargateProfiles:
  - name: apps
    selectors: [{namespace: SPACE}]
"""


FALCON = """args: ["--model", "tiiuae/falcon-7b-instruct"]
          env: [{name: HF_HOME, value: /data}]
          volumeMounts: [{name: data, mountPath: /data}]"""


MOUNTED = "volumes: [{name: cache, persistentVolumeClaim: {claimName: models}}]"


ON_G6 = f"nodeSelector: {{node.kubernetes.io/instance-type: g6.2xlarge}}\n      {MOUNTED}"


NAMED = "runtimeClassName: nvidia"


def group(
    key: str = "nvidia.com/gpu", least: int = 1, most: int = 5, more: str = "spot: false"
) -> str:
    """A node group of eksctl."""
    found = GROUP.replace("KEY", key).replace("LEAST", str(least)).replace("MOST", str(most))
    return found.replace("MORE", more)
