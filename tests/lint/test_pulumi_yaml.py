"""Programs of Pulumi in YAML: what stands in them is read as what they make."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pulumi_aws
import pulumi_kubernetes
import pytest
from pulumi_kubernetes.helm.v3 import ReleaseArgs

from eks_gpushare.inventory.items import CLUSTER_VERSION, NodeSet, NodeTaint, Pointer, Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.lint.readers.pulumi_yaml import (
    PulumiYamlReader,
    is_program,
    manifests_named,
    releases_named,
    spelled,
    type_of,
)
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.manifests.document import Read

PROGRAM = """\
name: video
runtime: yaml
config:
  clusterName: {type: string}
variables:
  space: media
resources:
  k8s:
    type: pulumi:providers:kubernetes
    properties: {context: "${clusterName}", namespace: "${space}"}
  template:
    type: aws:ec2/launchTemplate:LaunchTemplate
    properties:
      imageId: ami-0123456789abcdef0
      userData:
        fn::toBase64: |
          #!/bin/bash
          USER_DATA
  gpu:
    type: aws:eks:NodeGroup
    properties:
      clusterName: ${clusterName}
      nodeRoleArn: ${role.arn}
      subnetIds: ${subnets}
      amiType: AMI
      instanceTypes: [g5.xlarge]
      scalingConfig: {minSize: 0, desiredSize: 1, maxSize: 4}
      labels: {nvidia.com/gpu.present: "true", nvidia.com/device-plugin.config: LABEL}
      taints: [{key: nvidia.com/gpu, value: "true", effect: EFFECT}]
      TEMPLATE
  sharing:
    type: kubernetes:core/v1:ConfigMap
    properties:
      metadata: {name: sharing, namespace: kube-system}
      data:
        shared: |
          version: v1
          sharing:
            timeSlicing:
              resources:
                - name: nvidia.com/gpu
                  replicas: 4
    options: {provider: "${k8s}"}
  plugin:
    type: kubernetes:helm.sh/v3:Release
    properties:
      name: plugin
      namespace: kube-system
      chart: nvidia-device-plugin
      version: 0.18.0
      repositoryOpts: {repo: "https://nvidia.github.io/k8s-device-plugin"}
      values: {config: {name: "MAP"}, VALUES}
    options: {provider: "${k8s}"}
  encode:
    type: kubernetes:apps/v1:Deployment
    properties:
      metadata: {name: encode}
      spec:
        selector: {matchLabels: {app: encode}}
        template:
          metadata: {labels: {app: encode}}
          spec:
            TOLERATIONS
            containers:
              - name: encode
                image: example.com/encode:1.2.0
                resources: {limits: {nvidia.com/gpu: 1}}
    options: {provider: "${PROVIDER}"}
"""
RIGHT = {
    "USER_DATA": "echo",
    "AMI": "AL2023_x86_64_NVIDIA",
    "LABEL": "shared",
    "EFFECT": "NO_SCHEDULE",
    "TEMPLATE": "diskSize: 200",
    "MAP": "${sharing.metadata.name}",
    "VALUES": "nfd: {enabled: false}",
    "TOLERATIONS": "tolerations: [{key: nvidia.com/gpu, operator: Exists}]",
    "PROVIDER": "k8s",
}


def program(**given: str) -> str:
    text = PROGRAM
    for name, value in {**RIGHT, **given}.items():
        text = text.replace(name, value)
    return text


def told(text: str, *more: tuple[str, str], file: str = "Pulumi.yaml") -> list[str]:
    files = [GivenFile(name, each) for name, each in ((file, text), *more)]
    found = [each for report in lint_files(files) for each in report.findings]
    return [each.code for each in found if each.severity != "info"]


def test_of_a_right_program_nothing_is_said() -> None:
    assert told(program()) == []


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"LABEL": "shared4"}, "GPU1122"),
        ({"TOLERATIONS": "nodeSelector: {a: b}"}, "GPU1112"),
        ({"AMI": "AL2_x86_64_GPU"}, "GPU1072"),
        ({"EFFECT": "NoSchedule"}, "GPU1081"),
    ],
)
def test_a_mistake_between_its_resources(given: dict[str, str], code: str) -> None:
    assert told(program(**given)) == [code]


def test_a_finding_is_told_where_it_stands() -> None:
    (file,) = lint_files([GivenFile("Pulumi.yaml", program(LABEL="shared4"))])
    (placed,) = [each for each in file.found if each.finding.code == "GPU1122"]
    found, position = placed.finding, placed.position

    where = 'resources.gpu.properties.labels["nvidia.com/device-plugin.config"]'
    assert found.path == where
    assert position is not None
    assert program(LABEL="shared4").splitlines()[position.line - 1].strip().startswith("labels:")


def test_what_a_reference_stands_for() -> None:
    """A name that another resource has, a constant, a namespace of the provider."""
    named = "${sharing.metadata.name}"

    assert told(program(MAP=named.replace("name}", "namespace}"))) == ["GPU1121"]
    assert told(program(MAP='${sharing.metadata["name"]}'.replace('"', '\\"'))) == []
    assert told(program(MAP="${sharing.id}")) == []
    assert told(program(MAP="${unknown.metadata.name}", LABEL="other")) == []


def test_a_launch_template_of_the_program() -> None:
    named = "launchTemplate: {id: '${template.id}', version: '1'}"
    text = program(AMI="CUSTOM", TEMPLATE=named)
    without = text.replace("userData:", "metadataOptions:")

    assert told(text) == []
    assert told(without) == ["GPU1392"]
    assert told(without.replace("template.id", "other.id")) == []


def test_what_goes_to_two_clusters_is_judged_apart() -> None:
    other = program(PROVIDER="other", TOLERATIONS="nodeSelector: {a: b}")

    assert told(program(MAP="sharings")) == ["GPU1121", "GPU1120"]
    assert told(program(TOLERATIONS="nodeSelector: {a: b}")) == ["GPU1112"]
    assert told(other) == []


def test_what_components_make_is_read() -> None:
    lines = program(LABEL="shared4").split("resources:\n", 1)[1]
    text = "components:\n  gpus:\n    resources:\n"
    text += "".join(f"    {line}\n" if line else "\n" for line in lines.splitlines())

    assert told(f"runtime: yaml\n{text}") == ["GPU1122"]


MANIFESTS = """\
name: video
runtime: yaml
resources:
  plugin:
    type: kubernetes:helm.sh/v3:Release
    properties:
      chart: nvidia-device-plugin
      version: 0.18.0
      name: plugin
      namespace: gpu
      valueYamlFiles:
        - fn::fileAsset: ./values/plugin.yaml
      values: {config: {default: DEFAULT}}
  map:
    type: kubernetes:yaml/v2:ConfigFile
    properties: {file: ./FILE}
"""
MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: sharing, namespace: gpu}
data:
  shared: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
  none: "version: v1"
"""


@pytest.mark.parametrize("named", ["manifests/map.yaml", "manifests/*.yaml"])
@pytest.mark.parametrize(("default", "codes"), [("shared", []), ("shares", ["GPU1122"])])
def test_files_that_it_names_are_of_its_cluster(named: str, default: str, codes: list[str]) -> None:
    text = MANIFESTS.replace("DEFAULT", default).replace("FILE", named)
    values = ("iac/values/plugin.yaml", "config: {name: sharing}\nnfd: {enabled: false}\n")

    assert told(text, ("iac/manifests/map.yaml", MAP), values, file="iac/Pulumi.yaml") == codes


def test_objects_of_a_group() -> None:
    group = """\
runtime: yaml
resources:
  objects:
    type: kubernetes:yaml:ConfigGroup
    properties:
      objs:
        - apiVersion: v1
          kind: Pod
          metadata: {name: a}
          spec: {containers: [{name: a, image: "a:1", resources: {requests: {nvidia.com/gpu: 1}}}]}
      yaml:
        - |
          apiVersion: v1
          kind: Pod
          metadata: {name: b}
          spec: {containers: [{name: b, image: "b:1", resources: {requests: {nvidia.com/gpu: 1}}}]}
  custom:
    type: kubernetes:apiextensions.k8s.io:CustomResource
    properties:
      apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {name: gpu}
      spec:
        template:
          spec:
            nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
            requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [Spot]}]
"""

    assert told(group) == ["GPU1114", "GPU1114", "GPU1264"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("aws:eks/nodeGroup:NodeGroup", "aws:eks:NodeGroup"),
        ("aws:eks:NodeGroup", "aws:eks:NodeGroup"),
        ("eks:index:ManagedNodeGroup", "eks:ManagedNodeGroup"),
        ("eks:ManagedNodeGroup", "eks:ManagedNodeGroup"),
        ("kubernetes:apps/v1:Deployment", "kubernetes:apps/v1:Deployment"),
        ("pulumi:providers:kubernetes", ""),
        ("AWS::EKS::Nodegroup", ""),
        ("Deployment", ""),
    ],
)
def test_types_without_the_files_that_they_are_in(written: str, meant: str) -> None:
    assert type_of({"type": written}) == meant
    assert is_program({"resources": {"a": {"type": written}}}) is bool(meant)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            pulumi_aws.eks.NodeGroupArgs,
            "NodegroupName CapacityType InstanceTypes Labels Taints Tags AmiType DiskSize",
        ),
        (pulumi_aws.eks.NodeGroupArgs, "ScalingConfig LaunchTemplate"),
        (pulumi_aws.eks.NodeGroupScalingConfigArgs, "MinSize DesiredSize MaxSize"),
        (
            pulumi_aws.ec2.LaunchTemplateArgs,
            "ImageId InstanceType UserData LaunchTemplateName",
        ),
        (pulumi_aws.eks.AddonArgs, "AddonName ConfigurationValues"),
        (ReleaseArgs, "Chart Name Namespace Version Values ValueYamlFiles"),
        (pulumi_kubernetes.yaml.v2.ConfigGroupArgs, "Files Objs Yaml"),
    ],
)
def test_its_words_are_those_of_the_sdks(arguments: Callable[..., object], words: str) -> None:
    known = inspect.signature(arguments).parameters

    for word in words.split():
        snake = "".join(f"_{each.lower()}" if each.isupper() else each for each in spelled(word))
        assert snake in known


# --- what is made of each resource ---------------------------------------------------------------


def read(text: str) -> Read:
    (document,) = read_texts(text, "Pulumi.yaml").documents
    return PulumiYamlReader().read(document)


def one(kind: str, given: str, more: str = "") -> str:
    return f"runtime: yaml\n{more}\nresources:\n  a:\n    type: {kind}\n    properties: {given}\n"


def test_a_group_that_is_an_auto_scaling_group_of_its_own() -> None:
    given = (
        "{instanceType: g5.xlarge, labels: {a: b}, minSize: 0, maxSize: 3, "
        "taints: {nvidia.com/gpu: {value: 'true', effect: NoSchedule}}}"
    )
    (nodes,) = read(one("eks:NodeGroupV2", given)).items

    assert isinstance(nodes, NodeSet)
    assert (nodes.name, nodes.provisioner, nodes.ami) == ("a", "selfManaged", UNKNOWN)
    assert (nodes.instance_types, nodes.labels) == (("g5.xlarge",), {"a": "b"})
    assert nodes.taints == (NodeTaint("nvidia.com/gpu", "true", "NoSchedule"),)
    assert (nodes.least, nodes.most) == (0, 3)


def test_what_of_such_a_group_is_not_known() -> None:
    text = one("eks:NodeGroup", "{instanceType: '${type}', taints: '${taints}'}")
    (nodes,) = read(text).items

    assert isinstance(nodes, NodeSet)
    assert (nodes.instance_types, nodes.taints) == (UNKNOWN, UNKNOWN)


@pytest.mark.parametrize(
    ("kind", "given", "ami"),
    [
        ("aws:eks:NodeGroup", "{}", ""),
        ("aws:eks:NodeGroup", "{amiType: CUSTOM}", "CUSTOM"),
        ("eks:ManagedNodeGroup", "{gpu: true}", UNKNOWN),
        ("eks:ManagedNodeGroup", "{amiType: CUSTOM}", "CUSTOM"),
    ],
)
def test_the_image_of_a_managed_group(kind: str, given: str, ami: str) -> None:
    (nodes,) = read(one(kind, given)).items

    assert isinstance(nodes, NodeSet)
    assert nodes.ami == ami


@pytest.mark.parametrize("kind", ["aws:eks/cluster:Cluster", "eks:Cluster"])
def test_the_version_of_a_control_plane(kind: str) -> None:
    (cluster,) = read(one(kind, "{version: '1.34'}")).items

    assert isinstance(cluster, Pointer)
    assert (cluster.kind, cluster.name) == (CLUSTER_VERSION, "1.34")


def test_the_node_monitoring_agent() -> None:
    told = "{addonName: eks-node-monitoring-agent, configurationValues: '{\"a\": 1}'}"
    (agent,) = read(one("aws:eks:Addon", told)).items

    assert isinstance(agent, Release)
    assert agent.values == {"a": 1}
    assert not read(one("aws:eks:Addon", "{addonName: vpc-cni}")).items


POD = "{metadata: {name: p}, spec: {containers: []}}"
CLUSTER = "{metadata: {name: p}, rules: []}"


@pytest.mark.parametrize(
    ("provider", "namespace"),
    [
        ("{}", "default"),
        ("{namespace: media}", "media"),
        ("{namespace: '${space}'}", "video"),
        ("{namespace: '${deep}'}", "video"),
        ("{namespace: '${deeper}'}", UNKNOWN),
        ("{namespace: '${circle}'}", UNKNOWN),
        ("{namespace: '${config}'}", UNKNOWN),
    ],
)
def test_the_namespace_of_an_object(provider: str, namespace: str) -> None:
    variables = (
        "variables: {space: video, circle: '${circle}', deeper: '${deep}', deep: '${a1}', "
        "a1: '${a2}', a2: '${a3}', a3: '${space}'}"
    )
    text = one("kubernetes:core/v1:Pod", POD, variables)
    text += "    options: {provider: '${k}'}\n"
    text += f"  k:\n    type: pulumi:providers:kubernetes\n    properties: {provider}\n"
    text += "  l:\n    type: pulumi:providers:kubernetes\n    properties: {namespace: no}\n"
    (pod,) = read(text).inner

    assert pod.value == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": namespace},
        "spec": {"containers": []},
    }
    assert not pod.editable


@pytest.mark.parametrize(
    ("provider", "namespace"), [("'${eks.provider}'", UNKNOWN), ("'${other}'", UNKNOWN)]
)
def test_the_namespace_by_a_provider_that_is_not_seen(provider: str, namespace: str) -> None:
    text = one("kubernetes:core/v1:Pod", POD) + f"    options: {{provider: {provider}}}\n"
    (pod,) = read(text).inner

    assert pod.value["metadata"]["namespace"] == namespace


def test_constants_of_a_component() -> None:
    text = one("kubernetes:core/v1:Pod", "{metadata: {name: '${name}'}}", "variables: {name: b}")
    inner = "".join(f"    {line}\n" for line in text.splitlines()[1:] if line)
    (pod,) = read(f"runtime: yaml\ncomponents:\n  c:\n{inner}").inner

    assert pod.value["metadata"]["name"] == "b"


def test_what_is_no_object_of_a_namespace() -> None:
    (role,) = read(one("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole", CLUSTER)).inner
    (unnamed,) = read(one("kubernetes:core/v1:Pod", "{spec: {}}")).inner

    assert role.value["metadata"] == {"name": "p"}
    assert unnamed.value["metadata"] == {"name": UNKNOWN, "namespace": "default"}
    for kind in ("core/v1:NodePatch", "yaml:ConfigFile", "kustomize:Directory"):
        assert not read(one(f"kubernetes:{kind}", POD)).inner
    assert not read(one("kubernetes:core/v1:Pod", "'${pod}'")).inner


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("{fn::secret: b}", "b"),
        ("{Fn::ToBase64: b}", "b"),
        ("{fn::toJSON: {a: b}}", UNKNOWN),
        ("'${a.data.b}'", UNKNOWN),  # itself
        ("'${a.metadata.labels[\"c/d\"]}'", "e"),
        ("'${a.metadata.finalizers[0]}'", "f"),
        ("'${a}'", UNKNOWN),
    ],
)
def test_functions_and_references(written: str, value: str) -> None:
    given = f"{{metadata: {{labels: {{c/d: e}}, finalizers: [f]}}, data: {{b: {written}}}}}"
    (made,) = read(one("kubernetes:core/v1:ConfigMap", given)).inner

    assert made.value["data"] == {"b": value}


RAW = "{resources: [{apiVersion: v1, kind: Pod}]}"


@pytest.mark.parametrize(
    ("given", "count"),
    [
        (f"{{chart: raw, values: {RAW}}}", 1),
        (f"{{chart: ./gpu-operator, values: {RAW}}}", 1),
        (f"{{chart: raw, values: {RAW}, valueYamlFiles: [{{fn::fileAsset: a.yaml}}]}}", 0),
        ("{chart: raw, values: {replicas: 1}}", 0),
        ("{chart: raw, values: '${values}'}", 0),
        ("{chart: raw}", 0),
    ],
)
def test_values_of_charts_of_others(given: str, count: int) -> None:
    made = read(one("kubernetes:helm.sh/v3:Release", given))

    assert (list(made.items), len(made.inner)) == ([], count)


@pytest.mark.parametrize(
    ("kind", "given", "name", "namespace"),
    [
        ("helm.sh/v3:Release", "", UNKNOWN, "default"),
        ("helm.sh/v3:Release", ", name: b, namespace: c", "b", "c"),
        ("helm.sh/v3:Chart", "", "a", "default"),
        ("helm.sh/v4:Chart", ", name: b", "b", "default"),
    ],
)
def test_the_name_of_a_release(kind: str, given: str, name: str, namespace: str) -> None:
    (made,) = read(one(f"kubernetes:{kind}", f"{{chart: gpu-operator{given}}}")).items

    assert isinstance(made, Release)
    assert (made.chart, made.name, made.namespace) == ("gpu-operator", name, namespace)


def test_what_a_program_names() -> None:
    files = "[a.yaml, 'b/*.yaml', 'https://example.com/c.yaml']"
    assets = "[{fn::fileAsset: a.yaml}, {fn::remoteAsset: 'https://example.com/a.yaml'}]"
    values = f"{{chart: gpu-operator, valueYamlFiles: {assets}}}"

    def value(text: str) -> Any:
        return read_texts(text, "Pulumi.yaml").documents[0].value

    named = value(one("kubernetes:yaml:ConfigGroup", f"{{files: {files}}}"))
    assert list(manifests_named(named)) == ["a.yaml", "b/*.yaml"]
    assert not list(manifests_named(value(one("docker:Image", f"{{files: {files}}}"))))
    ((_, paths, is_all),) = releases_named(value(one("kubernetes:helm.sh/v3:Release", values)))
    assert (paths, is_all) == (("a.yaml",), False)
    assert not list(releases_named(value(one("docker:Image", values))))
