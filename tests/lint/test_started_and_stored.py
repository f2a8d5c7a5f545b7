"""What containers start, are told and store, and which nodes they wait for: public reports."""

from __future__ import annotations

import pytest
from lint_corpus import found_in
from linted import said as said_together
from started_scenes import (
    CHART,
    CLAIM,
    FALCON,
    FARGATE,
    FEATURES,
    MOUNTED,
    NAMED,
    ON_G6,
    PLUGIN,
    RUNTIME,
    SCALER,
    SERVED,
    SHELL,
    group,
    pod,
    said,
)


@pytest.mark.parametrize(
    ("container", "wrong"),
    [
        ('command: ["python train.py --epochs 3"]', True),
        ("command: [\"bash -c 'python train.py'\"]", True),
        ('command: ["python", "train.py", "--epochs", "3"]', False),
        ('command: ["python", "train.py", "--epochs 3"]', True),
        ('command: ["python", "train.py"]\n          args: ["--epochs 3"]', True),
        ('command: ["python", "train.py", "--epochs=3 4"]', False),
        ('command: ["python", "train.py", "--options", "--epochs 3"]', False),  # a value
        ('command: ["ssh", "-o Port 22"]', False),  # in one word with an option of one letter
        ('command: ["/bin/sh", "-c", "vllm", "serve", "m"]', True),
        ('command: ["/bin/bash", "-lc", "vllm"]\n          args: ["serve", "m"]', True),
        ('args: ["sh", "-c", "vllm", "serve"]', True),
        ('command: ["sh", "-c", "vllm"]', False),
        ('command: ["sh", "-c", \'exec "$@"\', "sh", "vllm", "serve"]', False),
        ('command: ["sh", "-c", "vllm serve m"]\n          args: ["--port", "1"]', False),
        ('command: ["sh", "run.sh", "-c", "a", "b"]', False),
        ('command: ["sh"]\n          args: ["-c", "vllm serve m --port 1"]', False),
        ('command: ["$(PROGRAM)", "--epochs=3"]', False),
        ('command: ["{{ .Values.command }}"]', False),
        ('args: ["--model m"]', True),
        ('args: ["--model=m", "--port", "1"]', False),
    ],
)
def test_commands_are_words(container: str, wrong: bool) -> None:
    assert ("GPU1386" in said(a__yaml=pod(container))) == wrong


def test_words_are_taken_apart_by_some_images() -> None:
    words = 'args: ["--model-id m", "--port 1"]'

    assert "GPU1386" not in said(
        a__yaml=pod(words, image="ghcr.io/huggingface/text-generation-inference:3.0.1")
    )
    assert "GPU1386" not in said(a__yaml=pod(words, image="registry.example.com/own:1"))
    assert "GPU1386" not in said(a__yaml=pod('command: ["python a.py"]', gpus=0))


RAY = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray}
spec:
  workerGroupSpecs:
    - groupName: gpu
      replicas: 1
      template:
        spec:
          containers:
            - name: worker
              image: rayproject/ray:2.46.0-gpu
              command: ["echo started"]
              resources: {limits: {nvidia.com/gpu: 1}}
"""


def test_kuberay_joins_words_to_a_line() -> None:
    assert "GPU1386" not in said(a__yaml=RAY)


SERVICE = """\
---
apiVersion: v1
kind: Service
metadata: {name: NAME, namespace: SPACE}
spec: {MORE selector: {app: llm}, ports: [{port: 80}]}
"""


@pytest.mark.parametrize(
    ("name", "space", "more", "pod_spec", "env", "wrong"),
    [
        ("vllm", "ml", "", "", "", True),
        ("vllm-api", "ml", "", "", "", False),
        ("vllm", "other", "", "", "", False),
        ("vllm", "ml", "clusterIP: None,", "", "", False),  # has no address
        ("vllm", "ml", "type: ExternalName, externalName: a.b,", "", "", False),
        ("vllm", "ml", "", "enableServiceLinks: false", "", False),
        ("vllm", "ml", "", "", 'env: [{name: VLLM_PORT, value: "8000"}]', False),
    ],
)
def test_a_service_is_not_called_as_vllms_variable(
    name: str, space: str, more: str, pod_spec: str, env: str, wrong: bool
) -> None:
    service = SERVICE.replace("NAME", name).replace("SPACE", space).replace("MORE", more)
    text = pod(f'args: ["--model=m"]\n          {env}', spec=pod_spec) + service

    assert ("GPU1387" in said(a__yaml=text)) == wrong


def test_a_service_is_one_of_the_same_namespace_as_far_as_is_said() -> None:
    service = SERVICE.replace("NAME", "vllm").replace(", namespace: SPACE", "").replace("MORE", "")
    server = pod('args: ["--model=m"]').replace(", namespace: ml", "")

    assert "GPU1387" in said(a__yaml=server + service)
    assert "GPU1387" not in said(a__yaml=server, b__yaml=service)
    assert "GPU1387" not in said(a__yaml=pod(SHELL, image="own:1") + service)


@pytest.mark.parametrize(
    ("name", "value", "more", "wrong"),
    [
        ("NCCL_SOCKET_IFNAME", "^docker,lo,eth", "", True),
        ("NCCL_SOCKET_IFNAME", "^docker,lo", "", False),
        ("NCCL_SOCKET_IFNAME", "^=eth", "", False),
        ("NCCL_SOCKET_IFNAME", "^=eth0", "", True),
        ("NCCL_SOCKET_IFNAME", "ens5", "", True),
        ("NCCL_SOCKET_IFNAME", "eth,ens", "", False),
        ("NCCL_SOCKET_IFNAME", "eth1", "", False),  # of another network
        ("NCCL_SOCKET_IFNAME", "$(INTERFACE)", "", False),
        ("NCCL_SOCKET_IFNAME", "ens5", "hostNetwork: true", False),
        ("DCGM_EXPORTER_LISTEN", "9400", "", True),
        ("DCGM_EXPORTER_LISTEN", ":9400", "", False),
        ("NVIDIA_DRIVER_CAPABILITIES", "compute,utility", "", True),
        ("NVIDIA_DRIVER_CAPABILITIES", "compute,utility,video", "", False),
        ("NVIDIA_DRIVER_CAPABILITIES", "all", "", False),
    ],
)
def test_variables_are_of_use(name: str, value: str, more: str, wrong: bool) -> None:
    line = f"""args: ["-hwaccel", "cuda", "-c:v", "h264_nvenc"]
          env: [{{name: {name}, value: "{value}"}}]"""

    assert ("GPU1387" in said(a__yaml=pod(line, image="ffmpeg:7", spec=more))) == wrong


def test_capabilities_are_for_what_is_run() -> None:
    env = 'env: [{name: NVIDIA_DRIVER_CAPABILITIES, value: "compute,utility"}]'

    assert said(a__yaml=pod(env)) == []
    networks = pod('env: [{name: NCCL_SOCKET_IFNAME, value: "ens5"}]').replace(
        "labels: {app: llm}}", "labels: {app: llm}, annotations: {k8s.v1.cni.cncf.io/networks: x}}"
    )
    assert "GPU1387" not in said(a__yaml=networks)


CLASSES = """\
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: shared}
provisioner: efs.csi.aws.com
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: ebs.csi.aws.com
"""
ON_G5 = f"nodeSelector: {{node.kubernetes.io/instance-type: g5.48xlarge}}\n      {MOUNTED}"
APART = f"""affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {{topologyKey: kubernetes.io/hostname, labelSelector: {{matchLabels: {{app: llm}}}}}}
      {MOUNTED}"""


@pytest.mark.parametrize(
    ("mode", "storage", "replicas", "spec", "wrong"),
    [
        ("ReadWriteOnce", "storageClassName: gp3,", 3, ON_G6, True),
        ("ReadWriteOncePod", "storageClassName: ebs-gp3,", 2, ON_G6, True),
        ("ReadWriteMany", "storageClassName: gp3,", 3, ON_G6, False),
        ("ReadWriteOnce", "storageClassName: gp3,", 1, ON_G6, False),
        ("ReadWriteOnce", "storageClassName: gp3,", 3, ON_G5, False),  # all on one node
        ("ReadWriteOnce", "storageClassName: gp3,", 3, APART, True),
        ("ReadWriteOnce", "storageClassName: shared,", 3, ON_G6, False),
        ("ReadWriteOnce", "storageClassName: fast,", 3, ON_G6, True),
        ("ReadWriteOnce", "", 3, ON_G6, True),  # by the default class
        ("ReadWriteOnce", "storageClassName: nfs,", 3, ON_G6, False),
        ("ReadWriteOnce", "volumeName: pv, storageClassName: gp3,", 3, ON_G6, False),
        ("ReadWriteOnce", "storageClassName: gp3,", 3, MOUNTED, False),  # on nodes of no known type
    ],
)
def test_a_volume_of_one_node_is_for_one_node(
    mode: str, storage: str, replicas: int, spec: str, wrong: bool
) -> None:
    claim = CLAIM.replace("MODE", mode).replace("CLASS", storage).replace("SIZE", "200Gi")
    text = pod(SHELL, image="own:1", spec=spec, replicas=replicas)

    assert ("GPU1388" in said(a__yaml=text, b__yaml=claim + CLASSES)) == wrong


def test_pods_are_as_many_as_a_scaler_makes_them() -> None:
    claim = CLAIM.replace("MODE", "ReadWriteOnce").replace("CLASS", "storageClassName: gp3,")
    text = pod(SHELL, image="own:1", spec=ON_G6) + claim.replace("SIZE", "1Ti")
    scaler = SCALER.replace("METRIC", "cpu")

    assert "GPU1388" in said(a__yaml=text + scaler.replace("MOST", "4"))
    assert "GPU1388" not in said(a__yaml=text + scaler.replace("MOST", "1"))


def test_pods_have_metrics_of_cpu_and_memory() -> None:
    text, scaler = pod(SHELL, image="own:1"), SCALER.replace("MOST", "3")

    assert said(a__yaml=text + scaler.replace("METRIC", "nvidia.com/gpu")) == ["GPU1391"]
    assert said(a__yaml=text + scaler.replace("METRIC", "memory")) == []


def test_a_plugin_is_run_by_the_runtime_that_pods_name() -> None:
    user = RUNTIME + pod(SHELL, image="own:1", spec=NAMED)
    plugin = PLUGIN.replace("          env: [{name: NVIDIA_DRIVER_ROOT, value: ROOT}]\n", "")

    assert said(a__yaml=user + plugin.replace("SPEC", "priorityClassName: a")) == ["GPU1389"]
    assert said(a__yaml=user + plugin.replace("SPEC", NAMED)) == []
    assert "GPU1389" not in said(a__yaml=user + PLUGIN.replace("SPEC", "priorityClassName: a"))
    # Nobody names the class: it may be the default.
    other = RUNTIME + pod(SHELL, image="own:1")
    assert "GPU1389" not in said(a__yaml=other + plugin.replace("SPEC", "priorityClassName: a"))
    assert "GPU1389" in said(a__yaml=user, b__yaml=CHART.replace("VALUES", "gfd: {enabled: true}"))
    assert "GPU1389" not in said(a__yaml=user, b__yaml=CHART.replace("VALUES", NAMED))


@pytest.mark.parametrize(
    ("name", "text", "is_told"),
    [
        ("setup.sh", "nvidia-ctk runtime configure --runtime=containerd --set-as-default\n", False),
        ("setup.sh", "nvidia-ctk runtime configure --nvidia-set-as-default\n", False),
        ("setup.sh", "nvidia-ctk runtime configure --runtime=containerd\n", True),
        (
            "setup.sh",
            'sed -i \'s/default_runtime_name = "runc"/default_runtime_name = "nvidia"/\'',
            False,
        ),
        ("setup.sh", "grep default_runtime_name /etc/containerd/config.toml\n", True),
        ("setup.sh", "grep -q 'default_runtime_name = \"nvidia\"' config.toml\n", True),
        ("setup.sh", "# nvidia-ctk runtime configure --set-as-default\n", True),
        ("setup.sh", "nvidia-ctk runtime configure --set-as-default=false\n", True),
        ("setup.sh", "nvidia-ctk runtime configure --runtime=docker --set-as-default\n", True),
        (
            "setup.sh",
            'sed \'s/default_runtime_name = "nvidia"/default_runtime_name = "runc"/\'',
            True,
        ),
        ("daemon.json", '{"default-runtime": "nvidia", "runtimes": {}}', False),
        ("config.yaml", "default-runtime: nvidia\n", False),
        ("install.sh", "k3s server --default-runtime nvidia\n", False),
        ("install.sh", "k3s server --default-runtime runc\n", True),
    ],
)
def test_a_runtime_that_some_script_makes_the_default_need_not_be_named(
    name: str, text: str, *, is_told: bool
) -> None:
    user = RUNTIME + pod(SHELL, image="own:1", spec=NAMED)
    plugin = PLUGIN.replace("          env: [{name: NVIDIA_DRIVER_ROOT, value: ROOT}]\n", "")
    pods = user + plugin.replace("SPEC", "priorityClassName: a")
    codes = said_together({"apps/a.yaml": pods, f"nodes/{name}": text})

    assert ("GPU1389" in codes) is is_told


def test_pods_name_the_runtime_that_the_plugin_names() -> None:
    other = pod(SHELL, image="own:1").replace("llm", "other")
    user = RUNTIME + pod(SHELL, image="own:1", spec=NAMED) + "---\n"
    plugin = PLUGIN.replace("SPEC", NAMED)

    assert said(a__yaml=user + other + plugin) == ["GPU1389"]
    assert said(a__yaml=user + other) == []


HUB = """\
HUB
singleuser:
  image: {name: quay.io/jupyter/base-notebook, tag: "2025-07-01"}
  GIVEN
  profileList:
    - display_name: CPU
    - display_name: GPU
      kubespawner_override:
        image: quay.io/jupyter/pytorch-notebook:cuda12
        extra_resource_limits: {nvidia.com/gpu: "1"}
        OVERRIDE
"""
TOLERATED = "[{key: dedicated, operator: Exists, effect: NoSchedule}]"


@pytest.mark.parametrize(
    ("hub", "given", "override", "wrong"),
    [
        ("", "", "node_selector: {pool: gpu}", ["GPU1111"]),
        ("", "", f"tolerations: {TOLERATED}", []),
        ("", f"extraTolerations: {TOLERATED}", "node_selector: {pool: gpu}", []),
        ("", f"extraTolerations: {TOLERATED}", "tolerations: []", ["GPU1111"]),
        ("", f"extraTolerations: {TOLERATED}", "node_selector: {pool: cpu}", ["GPU1112"]),
        ("", "", f"extra_pod_config: {{tolerations: {TOLERATED}}}", []),
        ("hub: {extraConfig: {a: 'c.KubeSpawner.tolerations = []'}}", "", "mem_limit: 1G", []),
        ("hub: {extraConfig: {a: 'c.KubeSpawner.args = []'}}", "", "mem_limit: 1G", ["GPU1111"]),
    ],
)
def test_profiles_are_judged_with_what_goes_over_them(
    hub: str, given: str, override: str, wrong: list[str]
) -> None:
    values = HUB.replace("HUB", hub).replace("GIVEN", given).replace("OVERRIDE", override)

    assert said(cluster__yaml=group("dedicated"), values__yaml=values) == wrong


@pytest.mark.parametrize(
    ("least", "given", "override", "wrong"),
    [
        (0, "startTimeout: 120", "mem_limit: 1G", True),
        (0, "startTimeout: 1", "mem_limit: 1G", True),
        (0, "startTimeout: 600", "mem_limit: 1G", False),
        (0, "startTimeout: 600", "start_timeout: 60", True),
        (1, "startTimeout: 120", "mem_limit: 1G", False),  # a node is there
        (0, "", "mem_limit: 1G", False),
    ],
)
def test_notebooks_wait_for_their_node(least: int, given: str, override: str, wrong: bool) -> None:
    values = HUB.replace("HUB", "").replace("GIVEN", given).replace("OVERRIDE", override)

    found = said(cluster__yaml=group(least=least), values__yaml=values)

    assert ("GPU1385" in found) == wrong


CLAIMED = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one, namespace: ml}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: CLASS}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: ml}
spec:
  nodeSelector: {KEY: gpu}
  tolerations: [{operator: Exists}]
  containers: [{name: c, image: "own:1", resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]
"""
SLURM = """\
compute:
  nodesets:
    - name: gpu
      resources: {limits: {nvidia.com/gpu: "1"}}
      nodeSelector: {KEY: gpu}
"""


@pytest.mark.parametrize(("key", "wrong"), [("pool", False), ("node-pool", True)])
def test_labels_that_nobody_has_are_selected_by_nobody(key: str, wrong: bool) -> None:
    claimed = CLAIMED.replace("KEY", key)

    for text in (claimed.replace("CLASS", "gpu.nvidia.com"), SLURM.replace("KEY", key)):
        assert ("GPU1112" in said(cluster__yaml=group(), values__yaml=text)) == wrong
    other = claimed.replace("CLASS", "nic.example.com")
    assert "GPU1112" not in said(cluster__yaml=group(), values__yaml=other)
    assert "GPU1112" not in said(values__yaml=SLURM.replace("KEY", key))


@pytest.mark.parametrize(
    ("replicas", "gpus", "most", "wrong"),
    [(2, 1, 2, False), (2, 1, 1, True), (1, 1, 1, False), (3, 1, 2, True)],
)
def test_nodes_can_have_gpus_for_all_pods(replicas: int, gpus: int, most: int, wrong: bool) -> None:
    text = pod(SHELL, image="own:1", replicas=replicas, gpus=gpus)

    assert ("GPU1243" in said(cluster__yaml=group(most=most), app__yaml=text)) == wrong


def test_a_scaler_may_make_fewer() -> None:
    text = pod(SHELL, image="own:1", replicas=3)
    scaler = SCALER.replace("METRIC", "cpu").replace("MOST", "3")

    assert "GPU1243" in said(cluster__yaml=group(most=1), app__yaml=text)
    assert "GPU1243" not in said(cluster__yaml=group(most=1), app__yaml=text + scaler)
    of_another = scaler.replace("llm", "another")
    assert "GPU1243" in said(cluster__yaml=group(most=1), app__yaml=text + of_another)


def test_pods_of_one_file_are_there_at_once() -> None:
    one = pod(SHELL, image="own:1")
    two = one.replace("llm", "other")
    found = found_in({"cluster.yaml": group(most=1), "app.yaml": f"{one}---\n{two}"})
    (message,) = (each.message for each in found if each.code == "GPU1243")

    assert message.startswith(
        "The Deployment other asks for 1 of nvidia.com/gpu beside the 1 that those before it hold, "
    )
    assert "GPU1243" not in said(cluster__yaml=group(most=2), app__yaml=f"{one}---\n{two}")
    # Of several files one may be there instead of another.
    assert "GPU1243" not in said(cluster__yaml=group(most=1), a__yaml=one, b__yaml=two)


NODE_CLASS = """\
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  limits: {nvidia.com/gpu: "8"}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: gpu}
spec:
  amiSelectorTerms: [{alias: al2023@v20260714}]
  role: KarpenterNodeRole-ml
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: ml}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: ml}}]
  kubelet: {maxPods: MOST}
  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 200Gi, encrypted: true}}]
"""


@pytest.mark.parametrize(("most", "wrong"), [(1, True), (2, True), (3, False), (30, False)])
def test_a_node_may_run_more_than_what_every_node_runs(most: int, wrong: bool) -> None:
    pool = NODE_CLASS.replace("MOST", str(most))

    assert ("GPU1251" in said(a__yaml=pool)) == wrong
    assert ("GPU1251" in said(a__yaml=group(more=f"maxPodsPerNode: {most}"))) == wrong
    plugin = PLUGIN.replace("SPEC", "tolerations: [{operator: Exists}]")
    assert ("GPU1251" in said(a__yaml=pool + plugin)) == (most < 4)


@pytest.mark.parametrize(
    ("key", "value", "mode", "wrong"),
    [
        ("nodeselector", "enabled", "Serverless", False),
        ("nodeselector", "allowed", "Serverless", False),
        ("nodeselector", "disabled", "Serverless", True),
        ("tolerations", "enabled", "Knative", True),  # off unless it is switched on
        ("nodeselector", "disabled", "RawDeployment", False),
    ],
)
def test_knative_takes_what_is_switched_on(key: str, value: str, mode: str, wrong: bool) -> None:
    features = FEATURES.replace("KEY", key).replace("VALUE", value)

    assert ("GPU1256" in said(a__yaml=features + SERVED.replace("MODE", mode))) == wrong


def test_knative_is_what_kserve_uses_unless_it_is_told_otherwise() -> None:
    features = FEATURES.replace("KEY", "nodeselector").replace("VALUE", "disabled")
    plain = SERVED.replace(", annotations: {serving.kserve.io/deploymentMode: MODE}", "")
    raw = """\
---
apiVersion: v1
kind: ConfigMap
metadata: {name: inferenceservice-config, namespace: kserve}
data: {deploy: '{"defaultDeploymentMode": "RawDeployment"}'}
"""

    assert "GPU1256" in said(a__yaml=features + plain)
    assert "GPU1256" not in said(a__yaml=features + plain + raw)
    service = plain.replace("serving.kserve.io/v1beta1", "serving.knative.dev/v1")
    assert "GPU1256" not in said(a__yaml=features + service)


PROBE = """args: ["--model", "MODEL"]
          livenessProbe: {httpGet: {path: /health, port: 8000}, initialDelaySeconds: 30}"""


@pytest.mark.parametrize(
    ("model", "wrong"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", True),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", True),
        ("Qwen/Qwen2.5-0.5B-Instruct", False),
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", False),
        ("facebook/opt", False),
    ],
)
def test_a_large_model_takes_more_than_a_minute(model: str, wrong: bool) -> None:
    assert ("GPU1385" in said(a__yaml=pod(PROBE.replace("MODEL", model)))) == wrong


@pytest.mark.parametrize(
    ("model", "delay", "volume", "wrong"),
    [
        ("Qwen/Qwen2.5-32B-Instruct", 60, "emptyDir: {}", True),
        ("Qwen/Qwen2.5-32B-Instruct", 120, "emptyDir: {}", False),
        ("Qwen/Qwen2.5-32B-Instruct", 60, "persistentVolumeClaim: {claimName: a}", False),
        ("Qwen/Qwen2.5-32B-Instruct", 60, "hostPath: {path: /models}", False),
        ("Qwen/Qwen2.5-32B-Instruct", 60, "$VOLUME", False),
        ("meta-llama/Llama-3.1-8B-Instruct", 60, "emptyDir: {}", False),
    ],
)
def test_a_model_that_is_fetched_takes_as_long_as_it_is_large(
    model: str, delay: int, volume: str, wrong: bool
) -> None:
    probe = PROBE.replace("MODEL", model).replace("Seconds: 30", f"Seconds: {delay}")
    text = f"{pod(probe)}\n      volumes: [{{name: a, {volume}}}]\n"

    assert ("GPU1385" in said(a__yaml=text)) == wrong


@pytest.mark.parametrize(
    ("volume", "limit", "wrong"),
    [
        ("emptyDir: {}", "5Gi", True),
        ("emptyDir: {}", "40Gi", False),
        ("emptyDir: {sizeLimit: 8Gi}", "40Gi", True),
        ("emptyDir: {medium: Memory, sizeLimit: 40Gi}", "5Gi", False),
        ("hostPath: {path: /mnt}", "5Gi", False),
        ("persistentVolumeClaim: {claimName: models}", "5Gi", True),
        ("persistentVolumeClaim: {claimName: others}", "5Gi", False),
    ],
)
def test_a_model_fits_where_it_is_downloaded_to(volume: str, limit: str, wrong: bool) -> None:
    spec = f"volumes: [{{name: data, {volume}}}]"
    text = pod(FALCON, spec=spec, limits=f", ephemeral-storage: {limit}")
    claim = CLAIM.replace("MODE", "ReadWriteOnce").replace("CLASS", "storageClassName: gp3,")
    claim = claim.replace("SIZE", "10Gi")

    assert ("GPU1249" in said(a__yaml=text + claim)) == wrong


@pytest.mark.parametrize(
    "other",
    [
        ("tiiuae/falcon-7b-instruct", "/models/falcon-7b"),  # is there already
        ("value: /data", "value: relative"),
        ("HF_HOME", "HOME"),
        ("tiiuae/falcon-7b-instruct", "tiiuae/falcon-7b-GPTQ"),
    ],
)
def test_only_what_is_surely_downloaded_needs_room(other: tuple[str, str]) -> None:
    spec = "volumes: [{name: data, emptyDir: {}}]"
    text = pod(FALCON, spec=spec, limits=", ephemeral-storage: 5Gi")

    assert "GPU1249" in said(a__yaml=text)
    assert "GPU1249" not in said(a__yaml=text.replace(*other))


@pytest.mark.parametrize(
    ("space", "wrong"),
    [
        ("ml", True),
        ("m*", True),
        ("web", False),
        ("ml, labels: {app: llm}", True),
        ("ml, labels: {on: fargate}", False),
    ],
)
def test_fargate_has_no_gpus(space: str, wrong: bool) -> None:
    cluster = group() + FARGATE.replace("SPACE", space)

    assert ("GPU1110" in said(a__yaml=cluster, b__yaml=pod(SHELL, image="own:1"))) == wrong


OPERATOR = """\
driver: {enabled: false}
toolkit: {enabled: false}
devicePlugin: {enabled: ON}
dcgmExporter: {enabled: true}
migManager: {enabled: false}
"""
DRIVER = """\
gpuResourcesEnabledOverride: true
resources: {gpus: {enabled: GIVES}}
MORE
"""


@pytest.mark.parametrize(
    ("on", "gives", "more", "wrong"),
    [
        ("true", "true", "", True),
        ("false", "true", "", False),
        ("true", "false", "", False),
        ("true", "true", "kubeletPlugin: {nodeSelector: {dra: 'on'}}", False),
    ],
)
def test_values_of_two_charts_do_not_both_give_out_gpus(
    on: str, gives: str, more: str, wrong: bool
) -> None:
    found = said(
        operator__yaml=OPERATOR.replace("ON", on),
        dra__yaml=DRIVER.replace("GIVES", gives).replace("MORE", more),
    )

    assert ("GPU1186" in found) == wrong


QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: q}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [cpu, RESOURCE]
      flavors:
        - {name: a, resources: [{name: cpu, nominalQuota: 8}, {name: RESOURCE, nominalQuota: 8}]}
        - {name: b, resources: [{name: OTHER, nominalQuota: 8}, {name: RESOURCE, nominalQuota: 8}]}
"""


@pytest.mark.parametrize(
    ("resource", "other", "wrong"),
    [
        ("nvidia.com/gpu", "cpu", False),
        ("nvidia.com/gpu", "memory", True),
        ("memory", "pods", False),  # of no GPUs
    ],
)
def test_each_flavor_has_a_quota_for_what_is_covered(
    resource: str, other: str, wrong: bool
) -> None:
    queue = QUEUE.replace("RESOURCE", resource).replace("OTHER", other)

    assert ("GPU1250" in said(a__yaml=queue)) == wrong


MODULE = """\
module "eks" {
  source       = "terraform-aws-modules/eks/aws"
  version      = "~> 20.24"
  cluster_name = "ml"
  eks_managed_node_groups = {
    gpu = {
      ami_type       = "AL2023_x86_64_NVIDIA"
      instance_types = ["TYPE"]
      MORE
    }
  }
}
"""


@pytest.mark.parametrize(
    ("kind", "more", "wrong"),
    [
        ("g6.2xlarge", "disk_size = 200", True),
        ("g6.2xlarge", "disk_size = 200\n      use_custom_launch_template = false", False),
        ("g6.2xlarge", "disk_size = 200\n      use_custom_launch_template = var.own", False),
        ("g6.2xlarge", "max_size = 3", False),
        (
            "g6.2xlarge",
            "disk_size = 200\n      block_device_mappings = {a = {device_name = var.a}}",
            False,
        ),
        ("m6i.large", "disk_size = 200", False),
    ],
)
def test_a_size_beside_a_launch_template_is_not_read(kind: str, more: str, wrong: bool) -> None:
    text = MODULE.replace("TYPE", kind).replace("MORE", more)

    assert ("GPU1265" in said(main__tf=text)) == wrong


SPACE = """\
apiVersion: v1
kind: Namespace
metadata: {name: ml, labels: {pod-security.kubernetes.io/enforce: LEVEL}}
---
"""


@pytest.mark.parametrize(
    ("level", "path", "wrong"),
    [
        ("baseline", "/dev/dri", True),
        ("privileged", "/dev/dri", False),
        ("baseline", "/mnt", False),  # of no GPU
    ],
)
def test_levels_refuse_devices_of_the_node(level: str, path: str, wrong: bool) -> None:
    spec = f"volumes: [{{name: d, hostPath: {{path: {path}}}}}]"
    text = SPACE.replace("LEVEL", level) + pod(SHELL, image="own:1", spec=spec, gpus=0)

    assert ("GPU1256" in said(a__yaml=text)) == wrong


def test_gpus_that_are_shared_as_nobody_here_says_are_not_counted() -> None:
    text = pod(SHELL, image="own:1", replicas=3)
    plugin = (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
        "metadata: {name: nvdp, namespace: nvidia}\nspec:\n"
        "  chart: {spec: {chart: nvidia-device-plugin, version: 0.17.1}}\n"
        "  values: {VALUES}\n"
    )
    known, elsewhere = (plugin.replace("VALUES", each) for each in ("", "config: {name: shared}"))

    assert "GPU1243" in said(cluster__yaml=group(most=1), app__yaml=text, plugin__yaml=known)
    assert "GPU1243" not in said(
        cluster__yaml=group(most=1), app__yaml=text, plugin__yaml=elsewhere
    )


def test_a_stateful_set_ends_a_pod_before_it_starts_the_next() -> None:
    surging = pod(SHELL, image="own:1").replace("Recreate", "RollingUpdate")
    in_turn = surging.replace("kind: Deployment", "kind: StatefulSet")

    assert "GPU1243" in said(cluster__yaml=group(most=1), app__yaml=surging)
    assert "GPU1243" not in said(cluster__yaml=group(most=1), app__yaml=in_turn)
