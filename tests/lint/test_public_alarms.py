"""What was said of public repositories and was not so, each class in our own words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from linted import said_of as said

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


USER_DATA = """\
AWSTemplateFormatVersion: "2010-09-09"
Resources:
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        MetadataOptions: {HttpTokens: required}
        UserData:
          Fn::Base64: |
"""


def user_data(text: str) -> str:
    return USER_DATA + "".join(f"            {line}\n" for line in text.splitlines())


def test_user_data_of_parts_without_a_part_has_none() -> None:
    """Its boundary is of a template, and stands nowhere else."""
    assert (
        said(
            node__yaml=user_data(
                'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="//"\n'
            )
        )
        == []
    )


WRITES = """\
#!/bin/bash
cat > /etc/node.yaml <<'EOF'
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet:
    flags: [--node-labels=team=ml]
EOF
nodeadm init --config-source file:///etc/node.yaml
echo ready: yes: no
"""


def test_a_node_config_that_a_script_writes_ends_where_it_says() -> None:
    assert said(node__yaml=user_data(WRITES)) == []
    assert said(node__yaml=user_data(WRITES.replace("flags: [", "flag: ["))) == ["GPU1086"]


def test_a_node_config_of_hybrid_nodes_is_for_another_nodeadm() -> None:
    hybrid = WRITES.replace("  kubelet:\n", "  hybrid: {ssm: {activationId: a}}\n  kubelet:\n")

    assert said(node__yaml=user_data(hybrid)) == []
    assert said(node__yaml=user_data(hybrid.replace("flags: [", "others: ["))) == []
    # A kubelet has its flags in a list there too.
    flat = hybrid.replace("[--node-labels=team=ml]", "--node-labels=team=ml")
    assert said(node__yaml=user_data(flat)) == ["GPU1086"]


DEPLOYMENT = """\
resource "kubernetes_deployment" "server" {
  metadata { name = "server" }
  spec {
    selector { match_labels = { app = "server" } }
    template {
      metadata { labels = { app = "server" } }
      spec {
        container {
          name  = "server"
          image = "example.com/server:1.4"
          args  = ["--workers", 4]
          env {
            name  = "VERBOSE"
            value = true
          }
        }
      }
    }
  }
}
"""


def test_terraform_makes_text_of_switches_where_its_provider_has_text() -> None:
    assert said(main__tf=DEPLOYMENT) == []


MANIFEST = """\
resource "kubernetes_manifest" "pool" {
  manifest = {
    apiVersion = "v1"
    kind       = "Pod"
    metadata   = { name = "server", namespace = "ml", labels = { canary = true } }
    spec = {
      nodeSelector = { gpu = true }
      containers = [{
        name  = "server"
        image = "example.com/server:1.4"
        env   = [{ name = "WORKERS", value = 4 }]
      }]
    }
  }
}
"""


def test_a_manifest_of_terraform_has_the_types_of_the_schema() -> None:
    assert said(main__tf=MANIFEST) == []
    text = MANIFEST.replace("kubernetes_manifest", "kubectl_manifest")
    text = text.replace("manifest = {", "yaml_body = yamlencode({", 1)
    text = text.replace("  }\n}\n", "  })\n}\n")
    assert set(said(main__tf=text)) == {"GPU1004"}


EXPORTER = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: dcgm-exporter}
spec:
  selector: {matchLabels: {app: dcgm-exporter}}
  template:
    metadata: {labels: {app: dcgm-exporter}}
    spec:
      NODES
      containers:
        - {name: exporter, image: "nvcr.io/nvidia/k8s/dcgm-exporter:4.5.2-4.8.1-distroless"}
"""


def test_two_files_of_one_object_without_a_namespace_are_alternatives() -> None:
    here = EXPORTER.replace("NODES", "nodeSelector: {team: ml}")
    there = EXPORTER.replace("NODES", "nodeSelector: {team: web}")

    assert said(one__yaml=here, other__yaml=there) == []
    assert said(one__yaml=here, other__yaml=here.replace("dcgm-exporter}", "other}")) == ["GPU1187"]


SERVER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: server, namespace: ml}
spec:
  replicas: 2
  selector: {matchLabels: {app: server}}
  template:
    metadata: {labels: {app: server}}
    spec:
      containers:
        - name: server
          image: example.com/server:1.4
          resources: {limits: {nvidia.com/gpu: AMOUNT}}
"""
SCALER = """\
apiVersion: KIND
metadata: {name: by-NAME, namespace: ml}
spec:
  minReplicas: 1
  maxReplicas: 4
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: server}
"""
SCALED = "keda.sh/v1alpha1\nkind: ScaledObject"
HPA = "autoscaling/v2\nkind: HorizontalPodAutoscaler"


def test_of_three_files_with_an_autoscaler_each_one_is_chosen() -> None:
    server = SERVER.replace("AMOUNT", "1")
    files = {
        f"{name}__yaml": SCALER.replace("KIND", HPA).replace("NAME", name)
        for name in ("load", "queue", "memory")
    }
    two = dict(list(files.items())[:2])

    assert said(server__yaml=server, **files) == []
    assert said(server__yaml=server, **two) == ["GPU1239"]


@pytest.mark.parametrize(("options", "wrong"), [("--omni", False), ("", True)])
def test_stages_of_omni_models_have_gpus_of_their_own(options: str, wrong: bool) -> None:
    pod = SERVER.replace("AMOUNT", "2").replace(
        "example.com/server:1.4",
        f"vllm/vllm-openai:v0.20.0\n          command: [vllm, serve, org/model, {options or '-v'}]",
    )

    assert ("GPU1236" in said(server__yaml=pod)) == wrong


@pytest.mark.parametrize(
    ("label", "wrong"),
    [
        ("sagemaker.amazonaws.com/node-health-status=UnschedulablePendingReboot", False),
        ("nvidia.com/gpu-driver-upgrade-state=upgrade-required", False),
        ("nvidia.com/gpu-driver-upgrade.skip=true", False),
        ("node-role.kubernetes.io/gpu=true", False),
        ("nvidia.com/device-plugin.config=four", True),
    ],
)
def test_labels_that_no_node_group_can_have_are_put_by_hand(label: str, wrong: bool) -> None:
    assert ("GPU1062" in said(up__sh=f"kubectl label node gpu-1 {label}\n")) == wrong


def test_a_token_for_a_program_of_ones_own_is_no_amount() -> None:
    assert said(a__yaml=SERVER.replace("AMOUNT", "GPU_COUNT")) == []
    assert said(a__yaml=SERVER.replace("AMOUNT", "half")) == ["GPU1114"]


@pytest.mark.parametrize("joined", ["  env:TOKEN_ENV\n", '  name: "a"LOG_CONFIG\n'])
def test_tokens_joined_to_what_yaml_has_make_a_template(joined: str) -> None:
    assert said(a__yaml=f"apiVersion: v1\nkind: Pod\nmetadata:\n{joined}  labels: {{}}\n") == []


SLICES = """\
sharing:
  timeSlicing:
    failRequestsGreaterThanOne: true
    resources:
      - {name: nvidia.com/gpu, replicas: 4}
"""


def test_an_excerpt_in_documentation_need_not_say_its_version() -> None:
    assert said(slides__md=f"# Shares\n\n```yaml\n{SLICES}```\n") == []
    assert said(config__yaml=SLICES) == ["GPU1024"]


PLUGIN = """\
apiVersion: apps/v1
kind: KIND
metadata: {name: plugin, namespace: kube-system}
spec:
  selector: {matchLabels: {app: plugin}}
  template:
    metadata: {labels: {app: plugin}}
    spec:
      nodeSelector: {nvidia.com/gpu: "true"}
      containers: [{name: plugin, image: "example.com/agent:1.4"}]
"""


def test_who_writes_a_daemonset_owns_the_nodes_that_it_selects() -> None:
    shared = PLUGIN.replace("nvidia.com/gpu:", "nvidia.com/gpu.shared:")

    assert said(a__yaml=shared.replace("KIND", "DaemonSet")) == []
    assert said(a__yaml=shared.replace("KIND", "Deployment")) == ["GPU1205"]


COMMAND = """\
          command: [bash, -c]
          args:
            - |
              vllm serve org/model --tensor-parallel-size 2
              # vllm serve org/model --tensor-parallel-size 4 --pipeline-parallel-size 2
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
      volumes: [{name: shm, emptyDir: {medium: Memory}}]
"""


def test_comments_of_a_script_are_no_options() -> None:
    pod = SERVER.replace("AMOUNT", "2") + COMMAND

    assert said(server__yaml=pod) == []
    assert said(server__yaml=pod.replace("# vllm", "vllm")) == ["GPU1236"]


@pytest.mark.parametrize(("command", "wrong"), [("", True), ("command: [sleep, infinity]", False)])
def test_an_image_whose_command_is_another_is_no_server(command: str, wrong: bool) -> None:
    pod = SERVER.replace("resources: {limits: {nvidia.com/gpu: AMOUNT}}", command).replace(
        "example.com/server:1.4", "vllm/vllm-openai:v0.20.0"
    )

    assert ("GPU1238" in said(server__yaml=pod)) == wrong


@pytest.mark.parametrize("repository", ["file://charts/gpu-operator", "https://charts.example.com"])
def test_values_of_a_chart_around_the_published_one_are_read_within(repository: str) -> None:
    chart = (
        "apiVersion: v2\nname: all\nversion: 1.0.0\ndependencies:\n"
        f"  - {{name: gpu-operator, version: 0.1.0, repository: '{repository}'}}\n"
    )
    values = "gpu-operator:\n  gpu-operator:\n    toolkit: {enabled: false}\n"
    wrong = values.replace("toolkit", "toolkitt")

    assert said(Chart__yaml=chart, regional__yaml=values) == []
    assert said(regional__yaml=values) == []
    assert said(regional__yaml=wrong) == ["GPU1034"]


def test_what_two_parts_of_a_call_read_is_told_once(tmp_path: Path, run: Run) -> None:
    """A file that a Terraform root reads and that lies in a folder of its own."""
    texts = {
        "deploy/main.tf": 'module "eks" {\n  source = "../modules/eks"\n}\n',
        "modules/eks/main.tf": (
            'resource "kubectl_manifest" "pool" {\n'
            '  for_each  = fileset("${path.module}/karpenter", "*.yaml")\n'
            '  yaml_body = file("${path.module}/karpenter/${each.value}")\n}\n'
        ),
        "modules/eks/karpenter/class.yaml": (
            "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: gpu}\n"
            "spec: {amiSelectorTerms: [{alias: al2023@latest}], role: nodes}\n"
        ),
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    document = run("lint", str(tmp_path), "--json", "--no-config").json
    files = [each["file"] for each in document["files"]]

    assert len(files) == len(set(files))


KEYS_BY_EXPRESSION = """\
variable "pools" {}
resource "kubernetes_manifest" "pool" {
  for_each = var.pools
  manifest = {
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = each.key }
    spec = { template = { spec = merge(
      { nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = each.key } },
      CONDITION ? {} : { requirements = each.value.requirements },
    ) } }
  }
}
"""


@pytest.mark.parametrize(
    ("condition", "codes"),
    [("try(length(each.value.requirements), 0) == 0", []), ("true", ["GPU1053"])],
)
def test_a_key_that_an_expression_may_add_is_not_missing(condition: str, codes: list[str]) -> None:
    assert said(main__tf=KEYS_BY_EXPRESSION.replace("CONDITION", condition)) == codes


REQUIREMENTS = """\
```yaml
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: large}
spec:
  template:
    spec:
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [g6.xlarge]}
```
"""


def test_requirements_of_a_pool_in_a_guide_are_no_whole_pool() -> None:
    limited = REQUIREMENTS.replace("  template:", "  limits: {cpu: 64}\n  template:")

    assert said(README__md=REQUIREMENTS) == []
    assert said(README__md=limited) == ["GPU1079"]
    assert "GPU1078" in said(pool__yaml=REQUIREMENTS.replace("```yaml\n", "").replace("```\n", ""))


def test_a_log_of_objects_is_no_broken_file(tmp_path: Path, run: Run) -> None:
    line = '{"message": "asked for nvidia.com/gpu"}\n'
    log, broken = tmp_path / "log.json", tmp_path / "pod.json"
    log.write_text(line * 2)
    broken.write_text('{"apiVersion": "v1", "kind": "Pod"}\n' * 2)

    assert run("lint", str(log), "--no-config").code == 0
    assert run("lint", str(broken), "--no-config").code == 2


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"model": "gpu", "rate": Infinity, "ttft": [NaN, -Infinity]}', 0),
        ('{"model": "gpu", "rate": Infinit}', 2),
        ('{"apiVersion": "v1", "kind": "Pod", "gpu": NaN}', 2),
        ('{"planned_values": {"nvidia.com/gpu": NaN}}', 2),
    ],
)
def test_numbers_that_are_none_are_of_what_was_measured(
    tmp_path: Path, run: Run, text: str, code: int
) -> None:
    results = tmp_path / "results.json"
    results.write_text(text)

    assert run("lint", str(results), "--no-config").code == code


def test_settings_that_are_spelt_as_no_value_are_for_another_program() -> None:
    topology = "mig-strategy: mixed\nhosts: {first: {memory: 40960}}\n"

    assert said(topology__yaml=topology) == []
    assert said(values__yaml="migStrategy: mixed\nhosts: 3\n") == ["GPU1034"]
    assert said(values__yaml="mig-strategy: mixed\ngfd: {enabled: true}\n") == ["GPU1034"]


CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: nodes}
spec:
  role: nodes
  subnetSelectorTerms: [{tags: {cluster: demo}}]
  securityGroupSelectorTerms: [{tags: {cluster: demo}}]
"""


def test_a_patch_that_no_kustomization_names_is_no_whole_object() -> None:
    assert said(patch_class__yaml=CLASS) == []
    assert said(dispatch__yaml=CLASS) == ["GPU1053"]


def test_a_byte_order_mark_within_a_line_is_a_character() -> None:
    """Go's YAML (go.yaml.in/yaml/v3 3.0.4) reads it; one that begins a line it passes over."""
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: board}\ndata: {link: 'to=\ufeff$X'}\n"

    assert said(board__yaml=text) == []
    assert said(board__yaml=text.replace("kind", "\ufeffkind")) == ["GPU1000"]


@pytest.mark.parametrize(
    ("labels", "codes"),
    [
        ("{nvidia.com/gpu.product: NVIDIA-A10G, nvidia.com/gpu.count: '4'}", []),
        ("{nvidia.com/gpu.product: Tesla-T4}", ["GPU1077"]),
        ("{nvidia.com/gpu.product: a10g}", ["GPU1077"]),
        ("{nvidia.com/gpu.count: '1'}", ["GPU1077"]),
    ],
)
def test_labels_that_feature_discovery_will_write_as_they_are(
    labels: str, codes: list[str]
) -> None:
    """An autoscaler learns from them what nodes of an empty group will have."""
    group = "{name: gpu, instanceType: g5.12xlarge, volumeSize: 200, labels: LABELS}"
    text = (
        "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\n"
        "metadata: {name: demo, region: us-west-2, version: '1.35'}\n"
        f"managedNodeGroups: [{group.replace('LABELS', labels)}]\n"
    )

    assert [code for code in said(cluster__yaml=text) if code == "GPU1077"] == codes


def test_a_schema_of_values_is_no_part_of_a_pod(tmp_path: Path, run: Run) -> None:
    """`--fix` made a text of its `true`, with which it is no schema any more."""
    schema = tmp_path / "values.schema.json"
    text = (
        '{"type": "object", "properties": {"nodeSelector": '
        '{"type": "object", "additionalProperties": true}}}\n'
    )
    schema.write_text(text)
    result = run("lint", "--set", "kubernetes", "--fix", "--no-config", str(schema))

    assert result.code == 0
    assert schema.read_text() == text


@pytest.mark.parametrize(("key", "mended"), [("manager", False), ("migManagr", True)])
def test_a_key_with_another_beginning_is_not_renamed(
    key: str, mended: bool, tmp_path: Path, run: Run
) -> None:
    """It may be a key of another block: `driver.manager` is not `ccManager`."""
    values = tmp_path / "values.yaml"
    text = f"driver: {{enabled: false}}\ntoolkit: {{enabled: false}}\n{key}: {{enabled: false}}\n"
    values.write_text(text)
    run("lint", "--fix", "--no-config", str(values))

    assert (values.read_text() != text) == mended


def test_a_key_that_is_a_file_is_read_as_one() -> None:
    """Grafana's chart has `index .Values "grafana.ini"`."""
    release = (
        'resource "helm_release" "monitoring" {\n  name = "monitoring"\n'
        '  repository = "https://prometheus-community.github.io/helm-charts"\n'
        '  chart = "kube-prometheus-stack"\n'
        '  values = [yamlencode({ grafana = { "grafana.KEY" = { server = {} } } })]\n}\n'
    )

    assert said(main__tf=release.replace("KEY", "ini")) == []
    assert said(main__tf=release.replace("KEY", "enabled")) == ["GPU1034"]


@pytest.mark.parametrize(("name", "codes"), [("bastion", []), ("workers", ["GPU1213"])])
def test_the_public_address_of_a_bastion_is_what_it_is_for(name: str, codes: list[str]) -> None:
    template = (
        f'resource "aws_launch_template" "{name}" {{\n  name = "{name}"\n'
        '  instance_type = "m6i.large"\n  metadata_options { http_tokens = "required" }\n'
        "  network_interfaces { associate_public_ip_address = true }\n}\n"
        f'resource "aws_autoscaling_group" "{name}" {{\n  min_size = 1\n  max_size = 1\n'
        f"  launch_template {{ id = aws_launch_template.{name}.id }}\n"
        '  tag {\n    key = "kubernetes.io/cluster/demo"\n    value = "owned"\n'
        "    propagate_at_launch = true\n  }\n}\n"
    )

    assert [code for code in said(main__tf=template) if code == "GPU1213"] == codes


@pytest.mark.parametrize(("amount", "codes"), [("{min: 2, max: 8}", []), ("0.5", ["GPU1114"])])
def test_an_amount_of_a_kind_of_ones_own_that_is_a_mapping_is_no_pods(
    amount: str, codes: list[str]
) -> None:
    profile = (
        "apiVersion: bench.example.org/v1\nkind: Profile\nmetadata: {name: a}\nspec:\n"
        "  template:\n    spec:\n      containers:\n      - name: a\n        image: b:1\n"
        f"        resources: {{limits: {{nvidia.com/gpu: {amount}}}}}\n"
    )

    assert said(profile__yaml=profile) == codes
