"""What lint said of clusters that people run, and of what they deploy there, in our words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from linted import every, found
from linted import said_of as said

from eks_gpushare.lint.dispatch import read_files
from eks_gpushare.lint.references import all_of
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run

    from eks_gpushare.lint.references import Naming


def in_parts(run: Run, folder: Path, files: dict[str, str]) -> str:
    """What the command says of files in folders, which it reads one after the other."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return run("lint", "--quiet", "--no-config", str(folder)).out


POOL = """\
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {name: gpu}
spec: {}
"""
HELM = """\
export KARPENTER_VERSION={version}
helm template karpenter oci://public.ecr.aws/karpenter/karpenter {flag} > karpenter.yaml
"""
PINNED = "--version ${KARPENTER_VERSION}"


@pytest.mark.parametrize(
    ("version", "flag", "wrong"),
    [
        ("v0.33.0", PINNED, False),
        ("1.0.6", PINNED, False),
        ("1.1.0", PINNED, True),
        ("1.10.2", PINNED, True),
        ("", "", True),
        ("$1", PINNED, False),
    ],
)
def test_a_karpenter_that_is_installed_decides_what_is_served(
    version: str, flag: str, wrong: bool
) -> None:
    script = HELM.format(version=version, flag=flag)

    assert ("GPU1050" in said(pool__yaml=POOL, up__sh=script)) == wrong


def test_each_karpenter_has_to_serve_it() -> None:
    first, second = (HELM.format(version=each, flag=PINNED) for each in ("0.37.0", "1.2.0"))
    files = [("pool.yaml", POOL), ("a/up.sh", first)]

    assert [each.severity for each in every(files) if each.code == "GPU1050"] == ["info"]
    assert "GPU1050" in {each.code for each in found([*files, ("b/up.sh", second)])}


def test_an_earlier_api_is_gone_with_an_earlier_karpenter() -> None:
    pool = POOL.replace("v1beta1", "v1alpha5").replace("NodePool", "Provisioner")

    for version, wrong in (("0.32.1", False), ("0.37.0", True)):
        script = HELM.format(version=version, flag=PINNED)
        assert ("GPU1050" in said(pool__yaml=pool, up__sh=script)) == wrong


@pytest.mark.parametrize(("version", "wrong"), [("0.37.0", False), ("1.5.0", True)])
def test_a_karpenter_may_be_installed_from_another_folder(
    version: str, wrong: bool, tmp_path: Path, run: Run
) -> None:
    script = HELM.format(version=version, flag=PINNED)
    out = in_parts(run, tmp_path, {"pools/gpu.yaml": POOL, "up/karpenter.sh": script})

    assert ("GPU1050" in out) == wrong


NODES = """\
resource "aws_eks_node_group" "gpu" {
  cluster_name   = "ours"
  node_role_arn  = "arn:aws:iam::111122223333:role/nodes"
  subnet_ids     = ["subnet-0a1b2c3d"]
  instance_types = ["g5.xlarge"]
  ami_type       = "AL2023_x86_64_STANDARD"
  scaling_config {
    desired_size = 1
    max_size     = 2
    min_size     = 1
  }
}
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpu-operator, namespace: argocd}
spec:
  source:
    repoURL: https://helm.ngc.nvidia.com/nvidia
    chart: gpu-operator
    targetRevision: v25.3.4
    helm: {valuesObject: {driver: {enabled: ENABLED}}}
  destination: {namespace: gpu-operator}
"""


@pytest.mark.parametrize(("enabled", "wrong"), [("true", False), ("false", True)])
def test_the_operator_brings_a_driver_from_another_folder(
    enabled: str, wrong: bool, tmp_path: Path, run: Run
) -> None:
    application = APPLICATION.replace("ENABLED", enabled)
    files = {"old/main.tf": NODES, "apps/gpu-operator.yaml": application}

    assert ("GPU1181" in in_parts(run, tmp_path, files)) == wrong


def of(**files: str) -> Naming:
    given = [GivenFile(name.replace("__", "."), text) for name, text in files.items()]
    return read_files(given).naming()


def test_parts_are_told_of_a_driver_and_of_karpenter() -> None:
    """Those that have need of it, and have none themselves."""
    nodes, pool = of(main__tf=NODES), of(pool__yaml=POOL)
    brings = of(app__yaml=APPLICATION.replace("ENABLED", "true"))
    none = of(app__yaml=APPLICATION.replace("ENABLED", "false"))
    karpenter = of(up__sh=HELM.format(version="0.37.0", flag=PINNED))

    assert brings.gives_labels_to(nodes)
    assert karpenter.gives_labels_to(pool)
    assert not none.gives_labels_to(nodes)
    assert not karpenter.gives_labels_to(nodes)
    assert not brings.gives_labels_to(pool)
    assert not brings.gives_labels_to(of(main__tf=NODES.replace("STANDARD", "NVIDIA")))
    for part, other in ((nodes, brings), (pool, karpenter)):
        both = all_of((part, other))
        assert not both.gives_labels_to(both)
        assert both.references == {}


UBUNTU = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: ml, region: eu-west-1, version: "1.33"}
managedNodeGroups:
  - {name: gpu, instanceType: g6.xlarge, amiFamily: Ubuntu2404, maxSize: 2}
"""
TASK = """\
- name: the operator
  kubernetes.core.helm:
    {name: gpu-operator, chart_ref: nvidia/gpu-operator, release_namespace: gpu, values: VALUES}
"""


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ("'{{ of_gpus }}'", False),
        ("{mig: {strategy: mixed}}", False),
        ("{driver: {enabled: false}}", True),
    ],
)
def test_an_operator_in_another_folder_brings_ubuntu_the_driver(
    run: Run, tmp_path: Path, values: str, *, wrong: bool
) -> None:
    files = {"eksctl/ml.yaml": UBUNTU, "site/tasks/main.yml": TASK.replace("VALUES", values)}

    assert ("GPU1262" in in_parts(run, tmp_path, files)) is wrong


@pytest.mark.parametrize(("enabled", "wrong"), [("true", False), ("false", True), ("~", False)])
def test_of_files_that_are_read_together_the_same_is_so(enabled: str, wrong: bool) -> None:
    application = APPLICATION.replace("ENABLED", enabled)
    files = [("old/main.tf", NODES), ("apps/gpu-operator.yaml", application)]

    assert ("GPU1181" in {each.code for each in found(files)}) == wrong


def test_without_a_karpenter_the_newest_serves() -> None:
    overlay = POOL.replace("v1beta1", "v1beta2").replace("NodePool", "NodeOverlay")
    script = HELM.format(version="0.37.0", flag=PINNED)

    assert "GPU1050" in said(pool__yaml=POOL)
    assert "GPU1050" in said(overlay__yaml=overlay, up__sh=script)


@pytest.mark.parametrize(
    ("words", "wrong"),
    [("a single-node k3s cluster", False), ("single node cluster", False), ("a single node", True)],
)
def test_nobody_replaces_the_only_node(words: str, wrong: bool) -> None:
    script = f"# Prepares {words}.\nkubectl label node $NODE nvidia.com/gpu.present=true\n"

    assert ("GPU1062" in said(up__sh=script)) == wrong


SCRIPT = """\
CLUSTER_NAME={name}
helm upgrade --install {release} -n monitoring
"""
OPERATOR = "gpu-operator nvidia/gpu-operator --set dcgmExporter.enabled=true"
EXPORTER = "dcgm gpu-helm-charts/dcgm-exporter"


@pytest.mark.parametrize(
    ("one", "other", "wrong"),
    [
        ("${CLUSTER_NAME:-ours}", '${CLUSTER_NAME:-"theirs"}', False),
        ("ours", "theirs", False),
        ("ours", "${CLUSTER_NAME:-ours}", True),
        ("ours", "$1", True),
        ("$1", "$2", True),
    ],
)
def test_scripts_that_call_two_clusters_are_two_ways(one: str, other: str, wrong: bool) -> None:
    files = {
        "a__sh": SCRIPT.format(name=one, release=OPERATOR),
        "b__sh": SCRIPT.format(name=other, release=EXPORTER),
    }

    assert ("GPU1187" in said(**files)) == wrong


def test_what_one_of_two_ways_does_twice_is_told() -> None:
    both = SCRIPT.format(name="ours", release=OPERATOR)
    both += f"helm upgrade --install {EXPORTER} -n monitoring\n"

    assert "GPU1187" in said(a__sh=both, b__sh=SCRIPT.format(name="theirs", release=EXPORTER))


def test_only_scripts_call_a_cluster_by_a_variable() -> None:
    """A guide has sections for its ways."""
    guide = f"```bash\n{SCRIPT.format(name='ours', release=OPERATOR)}```\n"

    assert "GPU1187" in said(up__md=guide, b__sh=SCRIPT.format(name="theirs", release=EXPORTER))


SERVICE = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: llm, namespace: ml}
spec:
  predictor:
    PART
"""
CONTAINER = (
    "{name: kserve-container, image: 'own:1', resources: {limits: {nvidia.com/gpu: 1}}, OWN}"
)


def told(part: str, **changed: str) -> list[tuple[str, str]]:
    text = SERVICE.replace("PART", part)
    for old, new in changed.items():
        text = text.replace(old, new)
    return [
        (each.message, each.fix) for each in found([("a.yaml", text)]) if each.code == "GPU1005"
    ]


@pytest.mark.parametrize(
    ("part", "key", "fix"),
    [
        ("container: {image: 'own:1'}", "container", "Did you mean containers?"),
        ("nodeSelectors: {a: b}", "nodeSelectors", "Did you mean nodeSelector?"),
        ("minReplica: 1", "minReplica", "Did you mean minReplicas?"),
        ("podSpec: {nodeSelector: {}}", "podSpec", "Write a pod's fields here by themselves."),
        (
            "readinessProbe: {}",
            "readinessProbe",
            "Move it into the model or the container that it is for.",
        ),
    ],
)
def test_a_predictor_has_fields_of_pods_and_of_kserve(part: str, key: str, fix: str) -> None:
    assert told(part) == [(f"The predictor of the InferenceService llm has no field {key}.", fix)]


@pytest.mark.parametrize(
    "part", ["minReplicas: 1", "model: {}", "nodeSelector: {a: b}", "timeout: 60", "[]"]
)
def test_fields_that_a_predictor_has_are_its(part: str) -> None:
    assert told(part) == []


def test_containers_of_a_predictor_are_containers() -> None:
    part = f"containers: [{CONTAINER}]"

    assert told(part, OWN="resource: {}") == [
        (
            "The container of the InferenceService llm has no field resource.",
            "Did you mean resources?",
        )
    ]
    assert told(part, OWN="env: []") == []
    assert told(part, OWN="somethingOfTheirs: []") == []


def test_other_versions_and_explainers_have_other_fields() -> None:
    part = "container: {image: 'own:1'}"

    assert told(part, v1beta1="v1alpha2") == []
    assert told(part, predictor="explainer") == []
    assert told(part, predictor="transformer") != []
    assert told(part, **{"serving.kserve.io": "ome.io"}) == []


VALUES = """\
KEY:
  controllers:
    app:
      containers:
        app:
          image: {repository: ghcr.io/a/b, tag: 1.2.3}
          env: {NVIDIA_VISIBLE_DEVICES: all}
"""


@pytest.mark.parametrize("key", ["app-template", "jellyfin"])
def test_app_template_is_read_below_its_name_in_a_chart_of_ones_own(key: str) -> None:
    chart = "apiVersion: v2\nname: own\nversion: 0.1.0\n"
    files = [("own/Chart.yaml", chart), ("own/values.yaml", VALUES.replace("KEY", key))]

    (finding,) = found(files)

    assert finding.code == "GPU1009"
    assert finding.path.startswith(f"{key}.")


def test_an_object_is_no_values() -> None:
    text = VALUES.replace("KEY", "spec")

    assert said(a__yaml=f"apiVersion: own.example.com/v1\nkind: Own\n{text}") == []


ADD = "helm repo add own {address}\nhelm repo update\nhelm upgrade --install x own/{chart} {flag}\n"
OF_PLUGIN = "https://nvidia.github.io/k8s-device-plugin"
OF_EXPORTER = "https://nvidia.github.io/dcgm-exporter"


@pytest.mark.parametrize(
    ("address", "chart", "flag", "wrong"),
    [
        (OF_PLUGIN, "dcgm-exporter", "", True),
        (OF_PLUGIN, "gpu-feature-discovery", "", False),
        (f"{OF_PLUGIN}/stable/", "nvidia-device-plugin", "", False),
        (f"{OF_PLUGIN}/stable", "gpu-operator", "", True),
        (f"{OF_EXPORTER}/helm-charts", "dcgm-exporter", "", False),
        (OF_EXPORTER, "dcgm-exporter", "", True),
        ("https://nvidia.github.io/something-else", "dcgm-exporter", "", False),
        ("https://helm.ngc.nvidia.com/nvidia", "dcgm-exporter", "", False),
        (OF_PLUGIN, "dcgm-exporter", "--repo https://charts.example.com", False),
        ("$ADDRESS", "dcgm-exporter", "", False),
        ("--force-update " + OF_PLUGIN, "dcgm-exporter", "", True),
    ],
)
def test_a_chart_is_of_the_repository_of_its_name(
    address: str, chart: str, flag: str, wrong: bool
) -> None:
    script = ADD.format(address=address, chart=chart, flag=flag)

    assert ("GPU1336" in said(up__sh=script)) == wrong
    assert ("GPU1336" in said(up__md=f"```bash\n{script}```\n")) == wrong


def test_the_message_names_repository_and_chart() -> None:
    at_home = ADD.format(address=OF_PLUGIN, chart="dcgm-exporter", flag="")
    nowhere = ADD.format(address=OF_PLUGIN, chart="plugin", flag="")

    (first,) = (each for each in found([("up.sh", at_home)]) if each.code == "GPU1336")
    (second,) = (each for each in found([("up.sh", nowhere)]) if each.code == "GPU1336")

    assert first.message == (
        f"The release x of dcgm-exporter is taken from {OF_PLUGIN}, which has no dcgm-exporter."
    )
    assert first.fix == "Take it from https://nvidia.github.io/dcgm-exporter/helm-charts."
    assert second.fix == "It has nvidia-device-plugin, gpu-feature-discovery."

    (third,) = found([("up.sh", nowhere.replace(OF_PLUGIN, OF_EXPORTER))])
    assert third.fix == "It has none."


def test_a_name_that_is_given_twice_may_be_either() -> None:
    other = "helm repo add own https://charts.example.com\n"
    script = ADD.format(address=OF_PLUGIN, chart="dcgm-exporter", flag="")

    assert "GPU1336" not in said(up__sh=other + script)
    assert "GPU1336" not in said(up__sh=script.replace("own/", "theirs/"))
