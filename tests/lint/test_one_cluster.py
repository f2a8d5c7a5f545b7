"""Folders that are laid out as the parts of one cluster are judged as such, and others are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from linted import found_in_parts

from eks_gpushare.lint.declared import Declared
from eks_gpushare.lint.dispatch import judged_files, lint_files, read_files
from eks_gpushare.lint.one_cluster import files_apart, is_one_cluster
from eks_gpushare.lint.streaming import Files, judged_in_parts
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from pathlib import Path

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: NAME}
spec:
  template:
    spec:
      taints: [{key: team, value: vision, effect: NoSchedule}]
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}]
  limits: {nvidia.com/gpu: 4}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 5m}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  containers: [{name: a, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]
"""
GROUP = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: prod, region: eu-west-1, version: "1.34"}
managedNodeGroups:
- name: gpu
  instanceType: g5.xlarge
  amiFamily: AmazonLinux2023
  taints: [{key: team, value: vision, effect: NoSchedule}]
"""
PLUGIN = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nvidia-device-plugin, namespace: kube-system}
spec:
  chart: {spec: {chart: nvidia-device-plugin, version: 0.17.1}}
  values: {nfd: {enabled: true}}
"""
HELMFILE = """\
releases:
- name: nvdp
  namespace: kube-system
  chart: nvdp/nvidia-device-plugin
  version: 0.17.1
  values: [helm/values.yaml]
"""
VALUES = "migStrategy: none\nfailOnInitError: true\n"
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
"""


HUB = """\
singleuser:
  startTimeout: 120
  profileList: [{display_name: GPU, kubespawner_override: {extra_resource_limits: {nvidia.com/gpu: "1"}}}]
"""  # noqa: E501  (a line of YAML)
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata: {a: b}\n"


NAMES = [f"{one}{two}" for one in "abcdefgh" for two in "abcdefgh"]


def pool(name: str = "gpu") -> str:
    return POOL.replace("NAME", name)


def pod(name: str = "a") -> str:
    return POD.replace("NAME", name)


def codes(files: dict[str, str], **more: Any) -> set[str]:
    reports = lint_files([GivenFile(*each) for each in files.items()], **more)
    return {one.code for each in reports for one in each.findings if one.severity != "info"}


@pytest.mark.parametrize(
    "files",
    [
        {"karpenter/pool.yaml": pool(), "apps/pod.yaml": pod()},
        {"repo/cluster/karpenter/pool.yaml": pool(), "repo/team-vision/pod.yaml": pod()},
        {"pool.yaml": pool(), "apps/pod.yaml": pod()},
        {"gpu-nodepools/pool.yaml": pool(), "gpu-nodepools/2.yaml": pool("b"), "x/y.yaml": pod()},
        {"karpenter/pool.yaml": pool(), "apps/pod.yaml": pod(), "apps/README.md": "# Our pods\n"},
        {"k8s/nodes/pool.yaml": pool(), "k8s/apps/pod.yaml": pod()},
        {"apps/pool.yaml": pool(), "teams/pod.yaml": pod()},
        {"karpenter/vision/pool.yaml": pool(), "apps/pod.yaml": pod()},
        {"helmfile.d/pool.yaml": pool(), "teams/vision/pod.yaml": pod()},
        {"karpenter/pool.yaml": pool(), "apps/pod.yaml": pod(), "g.md": f"```yaml\n{pod()}```\n"},
        {
            "karpenter/pool.yaml": pool(),
            "apps/pod.yaml": pod(),
            "web/service.yaml": SERVICE,
            "team/service.yaml": SERVICE,
        },
        {"karpenter/pool.yaml": pool(), "charts/values.yaml": HUB},
        {"cdk/cdk.out/pool.yaml": pool(), "k8s/apps/pod.yaml": pod()},
        {
            "karpenter/pool.yaml": pool(),
            "apps/pod.yaml": pod(),
            "monitoring/a.yaml": SETTINGS.replace("NAME", "a"),
            "config/b.yaml": SETTINGS.replace("NAME", "b"),
        },
    ],
)
def test_folders_of_one_cluster_are_judged_together(files: dict[str, str]) -> None:
    assert codes(files) == {"GPU1111"}


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: NAME}
spec: {destination: {WHERE}}
"""


@pytest.mark.parametrize(
    ("one", "other", "wrong"),
    [
        ("name: prod", "name: prod", True),
        ("name: prod", "name: train", False),
        ("name: in-cluster", "name: prod", True),
        ("server: 'https://kubernetes.default.svc'", "server: 'https://a'", True),
        ("server: 'https://b'", "server: 'https://a'", False),
        ("name: prod", "name: $CLUSTER", True),
    ],
)
def test_applications_for_two_clusters_are_those_of_no_one(
    one: str, other: str, wrong: bool
) -> None:
    """A hub has applications for the cluster that it manages, and is none with GPUs itself."""
    both = "---\n".join(APPLICATION.replace("WHERE", each) for each in (one, other))
    files = {"karpenter/pool.yaml": pool(), "apps/pod.yaml": pod(), "argocd/a.yaml": both}

    assert codes(files) == ({"GPU1111"} if wrong else set())


METRICS = """\
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: main}
spec: {serviceMonitorSelector: {matchLabels: {team: platform}}}
"""
OPERATOR = PLUGIN.replace("nvidia-device-plugin", "gpu-operator").replace(
    "{nfd: {enabled: true}}", "{dcgmExporter: {serviceMonitor: {enabled: true}}}"
)


def test_prometheus_is_a_part_of_the_cluster() -> None:
    files = {"monitoring/prometheus.yaml": METRICS, "gpu-operator/release.yaml": OPERATOR}

    assert "GPU1393" in codes(files)


COVERED = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [cpu, memory]
      flavors: [{name: a, resources: [{name: cpu, nominalQuota: 1}, {name: memory, nominalQuota: 1Gi}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team, namespace: ml}
spec: {clusterQueue: all}
"""  # noqa: E501  (a line of YAML)
QUEUED = pod().replace(
    "{name: a}", "{name: a, namespace: ml, labels: {kueue.x-k8s.io/queue-name: team}}", 1
)
FEATURES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: config-features, namespace: knative-serving}
data: {kubernetes.podspec-nodeselector: disabled}
"""
SERVED = """\
apiVersion: serving.knative.dev/v1
kind: Service
metadata: {name: a, namespace: b}
spec:
  template:
    spec:
      nodeSelector: {pool: gpu}
      containers: [{name: a, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]
"""
CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: models, namespace: b}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"kueue/queues.yaml": COVERED, "jobs/job.yaml": QUEUED}, "GPU1250"),
        ({"knative/features.yaml": FEATURES, "models/a.yaml": SERVED}, "GPU1256"),
        ({"own/queues.yaml": COVERED, "jobs/job.yaml": QUEUED}, ""),
        ({"own/features.yaml": FEATURES, "models/a.yaml": SERVED}, ""),
        ({"kueue/a.yaml": COVERED, "queues/b.yaml": COVERED, "jobs/job.yaml": QUEUED}, ""),
        (
            {"knative/a.yaml": FEATURES, "config/b.yaml": FEATURES, "models/a.yaml": SERVED},
            "",
        ),
    ],
)
def test_queues_and_flags_are_of_a_cluster(files: dict[str, str], code: str) -> None:
    assert (code in codes(files)) if code else not codes(files) & {"GPU1250", "GPU1256"}


def test_what_is_of_workloads_in_other_folders_is_a_part_and_is_there_once() -> None:
    files = {"karpenter/pool.yaml": pool(), "apps/pod.yaml": pod()}

    assert "GPU1111" in codes({**files, "storage/claim.yaml": CLAIM})
    assert "GPU1111" in codes({**files, "storage/a.yaml": CLAIM, "web/service.yaml": SERVICE})
    assert codes({**files, "storage/claim.yaml": CLAIM, "disks/claim.yaml": CLAIM}) == set()
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: a, labels: {a: b}}\n"
    assert codes({**files, "storage/a.yaml": node, "disks/a.yaml": node}) == set()


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"a/pool.yaml": pool(), "b/pod.yaml": pod()}, id="a name that says nothing"),
        pytest.param(
            {"karpenter/pool.yaml": pool(), "recipes/pod.yaml": pod()}, id="another way to do it"
        ),
        pytest.param(
            {
                "karpenter/p.yaml": pool(),
                "apps/staging/pod.yaml": pod(),
                "apps/prod/pod.yaml": pod("b"),
            },
            id="two stages",
        ),
        pytest.param({"karpenter/p.yaml": pool(), "lab2/pod.yaml": pod()}, id="a numbered one"),
        pytest.param({"karpenter/p.yaml": pool(), "apps/install-k3s.yaml": pod()}, id="no EKS"),
        pytest.param(
            {"karpenter/p.yaml": pool(), "nodepools/p.yaml": pool(), "apps/pod.yaml": pod()},
            id="pools in two folders",
        ),
        pytest.param(
            {"karpenter/p.yaml": pool(), "apps/pod.yaml": pod(), "web/pod.yaml": pod()},
            id="a pod that is there twice",
        ),
        pytest.param(
            {
                "karpenter/p.yaml": pool(),
                "flux/a.yaml": PLUGIN,
                "argo/a.yaml": PLUGIN,
                "b/c.yaml": pod(),
            },
            id="a plugin that is there twice",
        ),
        pytest.param({"web/pod.yaml": pod(), "apps/pod.yaml": pod("b")}, id="pods alone"),
        pytest.param(
            {"karpenter/p.yaml": pool(), **{f"{x}app/p.yaml": pod(x) for x in NAMES}},
            id="more folders than one looks at",
        ),
        pytest.param(
            {"karpenter/p.yaml": pool(), "guide.md": f"```yaml\n{POD}```\n"}, id="a guide"
        ),
    ],
)
def test_folders_that_may_be_of_others_are_judged_apart(files: dict[str, str]) -> None:
    assert "GPU1111" not in codes(files)


def test_what_is_declared_goes_before_the_layout() -> None:
    files = {"karpenter/pool.yaml": pool(), "apps/pod.yaml": pod()}
    assert codes(files, declared=Declared(paths={"one": ("apps",)})) == set()


def test_a_release_and_the_file_of_its_values_are_one_plugin() -> None:
    files = {"eksctl/cluster.yaml": GROUP, "helmfile.yaml": HELMFILE, "helm/values.yaml": VALUES}
    assert "GPU1100" in codes(files)
    twice = {**files, "addons/helmfile.yaml": HELMFILE}
    assert "GPU1100" not in codes(twice)


def test_a_plugin_that_nodes_keep_off_is_found_across_folders_and_nothing_is_corrected() -> None:
    files = {"eksctl.yaml": GROUP, "flux/plugin.yaml": PLUGIN}
    assert "GPU1100" in codes(files)
    reports = lint_files([GivenFile(*each) for each in files.items()])
    assert not [edit for each in reports for placed in each.found for edit in placed.edits]


@pytest.mark.parametrize(
    ("more", "sizes"),
    [
        ({}, [1, 1, 1, 2]),
        ({"staging/pod.yaml": pod("b"), "prod/pod.yaml": pod("c")}, [1, 1, 1, 1, 1]),
    ],
)
def test_parts_of_a_call_are_joined_as_their_folders_are(
    more: dict[str, str], sizes: list[int], tmp_path: Path
) -> None:
    files = {"karpenter/pool.yaml": pool(), "apps/pod.yaml": pod(), "web/odd.yaml": "a: 1\n"}
    files |= more
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    seen = []

    def judge(given: list[GivenFile], everywhere: Any) -> Any:
        seen.append(len(given))
        return judged_files(given, None, None, everywhere)

    parts = judged_in_parts(Files([str(tmp_path)]), Declared(), judge)
    assert seen == sizes
    found = {one.code for part in parts for each in part.made for one in each.findings}
    assert ("GPU1111" in found) is (not more)


OF_LABELLED = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: gpus}
spec:
  namespaceSelector: {matchLabels: {queued: "true"}}
  resourceGroups:
    - coveredResources: [nvidia.com/gpu]
      flavors: [{name: gpu, resources: [{name: nvidia.com/gpu, nominalQuota: 4}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: gpus, namespace: ml}
spec: {clusterQueue: gpus}
"""
LED = """\
apiVersion: batch/v1
kind: Job
metadata: {name: fit, namespace: ml, labels: {kueue.x-k8s.io/queue-name: gpus}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: fit, image: "fit:1", resources: {limits: {nvidia.com/gpu: 1}}}]
"""


@pytest.mark.parametrize(("label", "wrong"), [("other", True), ("queued", False)])
def test_a_namespace_of_another_folder_tells_its_labels(
    label: str, wrong: bool, tmp_path: Path
) -> None:
    space = (
        f'apiVersion: v1\nkind: Namespace\nmetadata: {{name: ml, labels: {{{label}: "true"}}}}\n'
    )
    files = {"kueue/queues.yaml": OF_LABELLED, "apps/job.yaml": LED, "tenants/spaces.yaml": space}
    found = found_in_parts(tmp_path, files)
    assert ("GPU1278" in {each.code for each in found}) is wrong


def test_the_scope_says_why() -> None:
    files = {
        "karpenter/pool.yaml": pool(),
        "apps/pod.yaml": pod(),
        "apps/a.md": "# A\n",
        "b.md": "#",
    }
    reading = read_files([GivenFile(*each) for each in files.items()])
    named = {scope.name: scope for scope in reading.scopes()}
    assert set(named) == {"folders of one cluster", "the guide b.md"}
    assert named["folders of one cluster"].files == files.keys() - {"b.md"}
    assert not named["folders of one cluster"].is_certain


@pytest.mark.parametrize(
    ("nodes", "agent", "one"),
    [
        ("stages/02-infra/a.tf", "stages/03-init/b.tf", True),
        ("infra/02-infra/a.tf", "infra/03-init/sub/b.tf", True),
        ("2.infra/a.tf", "3_init/b.tf", True),
        ("a.tf", "3-init/b.tf", True),
        ("02-infra/a.tf", "02-init/b.tf", False),
        ("02-infra/a.tf", "init/b.tf", False),
        ("02-blue/a.tf", "03-green/b.tf", False),
        ("02-infra/a.tf", "03-dev/b.tf", False),
        ("02-infra/v1/a.tf", "03-init/b.tf", False),
        ("eks.yaml", "overlays/eks/b.yaml", True),
        ("eks.yaml", "overlay/b.yaml", True),
        ("eks.yaml", "overlays/dev/b.yaml", True),  # an environment that is the only one
        ("envs/prod/eks.yaml", "apps/overlays/prod/b.yaml", True),
        ("prod/eks.yaml", "staging/b.yaml", False),
        ("envs/a/eks.yaml", "apps/overlays/b/b.yaml", False),
        ("gpu-prod/eks.yaml", "apps/b.yaml", False),
        ("overlays/eks/a.yaml", "overlays/gpu/b.yaml", True),  # these are all that there is
        ("gpu/overlays/eks/a.yaml", "apps/b.yaml", True),
        ("eks.yaml", "apps/vllm/templates/b.yaml", True),  # what every chart has
        ("eks/a.yaml", "templates/b.yaml", False),
        ("eks.yaml", "gpu/templates/b.yaml", True),
        ("eks.yaml", "apps/old/templates/b.yaml", False),
        ("kustomize/a.yaml", "storage/b.yaml", True),
    ],
)
def test_numbers_of_stages_and_a_lone_overlay_are_no_ways(
    nodes: str, agent: str, one: bool
) -> None:
    once = {("nodes", "managed"): {nodes}, ("node agent", "DaemonSet a"): {agent}}

    assert is_one_cluster({key: frozenset(files) for key, files in once.items()}) is one


def test_two_overlays_are_two_ways() -> None:
    once = {
        ("nodes", "managed"): frozenset(("eks.yaml",)),
        ("object", "Pod a"): frozenset(("overlays/apps/a.yaml",)),
        ("object", "Pod b"): frozenset(("overlays/gpu/b.yaml",)),
    }

    assert not is_one_cluster(once)
    inside = {
        "overlays/apps/a.yaml": "overlays/eks/a/a.yaml",
        "overlays/gpu/b.yaml": "overlays/eks/b/b.yaml",
    }
    assert is_one_cluster(
        {key: frozenset(inside.get(file, file) for file in files) for key, files in once.items()}
    )


def kustomization(*resources: str) -> str:
    return f"resources: [{', '.join(resources)}]\n"


def test_kustomizations_of_different_things_are_parts() -> None:
    files = {
        "karpenter/kustomization.yaml": kustomization("pool.yaml"),
        "karpenter/pool.yaml": pool(),
        "apps/kustomization.yaml": kustomization("pod.yaml"),
        "apps/pod.yaml": pod(),
    }

    assert codes(files) == {"GPU1111"}


def test_kustomizations_that_build_on_one_file_are_ways_of_it() -> None:
    files = {
        "karpenter/pool.yaml": pool(),
        "base/pod.yaml": pod(),
        "base/kustomization.yaml": kustomization("pod.yaml"),
        "apps/one/kustomization.yaml": kustomization("../../base"),
        "apps/two/kustomization.yaml": kustomization("../../base"),
    }

    assert codes(files) == set()


ROOT = """\
resource "aws_eks_node_group" "gpu" {
  cluster_name   = "prod"
  node_role_arn  = var.role
  subnet_ids     = var.subnets
  ami_type       = "AL2023_x86_64_NVIDIA"
  instance_types = ["g5.xlarge"]
  scaling_config {
    min_size     = 1
    max_size     = 2
    desired_size = 1
  }
  taint {
    key    = "team"
    value  = "vision"
    effect = "NO_SCHEDULE"
  }
}
"""


@pytest.mark.parametrize("top", ["", "gpu-demo/"])
def test_the_folder_of_all_may_have_any_name(top: str) -> None:
    """A root module is known by its folder, which is at the top here."""
    files = {
        f"{top}main.tf": ROOT,
        f"{top}apps/pod.yaml": pod(),
        f"{top}apps/kustomization.yaml": kustomization("pod.yaml"),
    }

    assert codes(files) == {"GPU1111"}


@pytest.mark.parametrize("folder", ["scripts", "live/prod", "stacks/eks"])
def test_folders_of_scripts_and_of_what_is_live_are_parts_of_a_cluster(folder: str) -> None:
    once = {
        ("nodes", "managed"): frozenset((f"a/{folder}/main.tf",)),
        ("object", "CronJob b"): frozenset(("a/k8s/b.yaml",)),
    }

    assert is_one_cluster(once)
    assert not is_one_cluster({**once, ("nodes", "karpenter"): frozenset(("a/other/main.tf",))})


@pytest.mark.parametrize("folder", ["examples", "samples/jobs", "demo", "smoke", "templates"])
def test_an_example_of_one_way_is_judged_with_the_cluster(folder: str) -> None:
    files = {"karpenter/pool.yaml": pool(), f"{folder}/pod.yaml": pod()}

    assert codes(files) == {"GPU1111"}


RENAMED = pod("b").replace("nvidia.com/gpu:", "nvidia.com/gpu.shared:")


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"examples/share.yaml": RENAMED}, id="ask for two resources"),
        pytest.param({"examples/again.yaml": pod()}, id="one name twice"),
        pytest.param({"apps/pod.yaml": pod()}, id="what is in another folder too"),
        pytest.param({"examples/nodes/pool.yaml": pool("own")}, id="nodes of its own"),
        pytest.param(
            {
                "examples/own/main.tf": 'module "a" {\n  source = "../../tf"\n}\n',
                "tf/main.tf": ROOT,
            },
            id="a root module",
        ),
    ],
)
def test_examples_of_several_ways_may_be_of_other_clusters(more: dict[str, str]) -> None:
    files = {"karpenter/pool.yaml": pool(), "examples/pod.yaml": pod(), **more}
    reports = lint_files([GivenFile(*each) for each in files.items()])

    assert not [
        one for each in reports for one in each.findings if each.file.startswith("examples/pod")
    ]


def test_several_examples_of_one_resource_are_of_the_cluster() -> None:
    files = {"karpenter/pool.yaml": pool(), "demo/pod.yaml": pod(), "demo/more.yaml": pod("b")}
    reports = lint_files([GivenFile(*each) for each in files.items()])

    assert {
        each.file for each in reports if any(one.code == "GPU1111" for one in each.findings)
    } == {"demo/pod.yaml", "demo/more.yaml"}


def test_examples_that_are_apart_keep_no_folder_from_being_a_part() -> None:
    files = {
        "karpenter/pool.yaml": pool(),
        "apps/pod.yaml": pod("own"),
        "examples/pod.yaml": pod(),
        "examples/share.yaml": RENAMED,
    }
    reports = lint_files([GivenFile(*each) for each in files.items()])

    assert {
        each.file for each in reports if any(one.code == "GPU1111" for one in each.findings)
    } == {"apps/pod.yaml"}


def test_an_example_is_called_so_below_the_folder_of_all() -> None:
    once = {
        ("nodes", "managed"): frozenset(("examples/own/eks/a.yaml",)),
        ("object", "Pod b"): frozenset(("examples/own/samples/b.yaml",)),
        ("asked for by an example", "nvidia.com/gpu"): frozenset(("examples/own/samples/b.yaml",)),
    }

    assert is_one_cluster(once)
    assert not is_one_cluster({**once, ("nodes", "karpenter"): once["object", "Pod b"]})


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        pytest.param({"old/pod.yaml": pod("b")}, True, id="a pod"),
        pytest.param({"apps/archive/pod.yaml": pod("b")}, False, id="further down"),
        pytest.param({"deprecated/pod.yaml": pod()}, True, id="the same pod"),
        pytest.param({"old/a.yaml": RENAMED, "samples/b.yaml": pod("c")}, True, id="beside one"),
        pytest.param({"legacy/pool.yaml": pool("own")}, False, id="nodes that may still run"),
        pytest.param(
            {"old/main.tf": "locals { a = 1 }\n", "new/pod.yaml": pod("b")}, False, id="new"
        ),
    ],
)
def test_what_is_kept_and_no_longer_applied_is_no_part(more: dict[str, str], wrong: bool) -> None:
    files = {"karpenter/pool.yaml": pool(), "apps/pod.yaml": pod(), **more}
    reports = lint_files([GivenFile(*each) for each in files.items()])
    told = {each.file for each in reports if any(one.code == "GPU1111" for one in each.findings)}

    assert ("apps/pod.yaml" in told) is wrong
    assert not any("old/" in each or "/archive" in each or "deprecated" in each for each in told)


def test_all_that_there_is_may_lie_in_a_folder_of_the_past() -> None:
    once = {
        ("node agent", "DaemonSet a"): frozenset(("old/gpu/a.yaml",)),
        ("object", "Pod b"): frozenset(("old/apps/b.yaml",)),
    }

    assert files_apart(once) == frozenset()
    assert files_apart({**once, ("object", "Pod c"): frozenset(("c/c.yaml",))}) == frozenset(
        ("old/gpu/a.yaml", "old/apps/b.yaml")
    )


QUEUES = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: night, namespace: SPACE}
spec: {clusterQueue: all}
"""


@pytest.mark.parametrize(("space", "wrong"), [("own", False), ("others", True)])
def test_the_queue_of_an_example_is_in_its_namespace(space: str, wrong: bool) -> None:
    job = pod().replace(
        "{name: a}", "{name: a, namespace: own, labels: {kueue.x-k8s.io/queue-name: night}}"
    )
    queue = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: all}
spec: {namespaceSelector: {}}
"""
    files = {
        "queues/all.yaml": queue,
        "queues/local.yaml": QUEUES.replace("SPACE", space),
        "examples/job.yaml": job,
    }

    assert ("GPU1266" in codes(files)) is wrong


CHILD = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: NAME, namespace: argocd}
spec:
  source: {repoURL: "https://example.com/charts", chart: CHART, targetRevision: 0.4.1, helm: HELM}
  destination: {server: "https://kubernetes.default.svc", namespace: NAME}
"""


def child(name: str, chart: str, values: str = "{}") -> str:
    text = CHILD.replace("NAME", name).replace("CHART", chart)
    return text.replace("HELM", f"{{valuesObject: {values}}}")


BY_CLAIMS = "{gpuResourcesEnabledOverride: true}"
UNTAINTED = GROUP.replace("  taints: [{key: team, value: vision, effect: NoSchedule}]\n", "")


@pytest.mark.parametrize(
    ("plugin", "driver", "severity"),
    [
        ("argo/plugin.yaml", "argo/driver.yaml", ["warning"]),
        ("argo/plugin.yaml", "charts/driver.yaml", ["info"]),
    ],
)
def test_two_of_one_folder_are_two_whatever_lies_beside_it(
    plugin: str, driver: str, severity: list[str]
) -> None:
    files = {
        plugin: child("plugin", "nvidia-device-plugin", "{gfd: {enabled: true}}"),
        driver: child("driver", "dra-driver-nvidia-gpu", BY_CLAIMS),
        "eksctl/cluster.yaml": UNTAINTED,
        "apps/pod.yaml": RENAMED,
    }
    reports = lint_files([GivenFile(*each) for each in files.items()])
    every = [one for each in reports for one in each.findings]
    found = [each for each in every if each.code == "GPU1186"]
    assert ("GPU1110", "error") in [(each.code, each.severity) for each in every]

    assert [each.severity for each in found] == severity
    assert all("the GPUs of the node group gpu" in each.message for each in found)


def test_a_plugin_beside_an_operator_may_be_left_of_two_ways() -> None:
    files = {
        "argo/plugin.yaml": child("plugin", "nvidia-device-plugin", "{gfd: {enabled: true}}"),
        "argo/operator.yaml": child("operator", "gpu-operator", "{toolkit: {enabled: false}}"),
        "eksctl/cluster.yaml": UNTAINTED,
    }
    reports = lint_files([GivenFile(*each) for each in files.items()])
    found = [one for each in reports for one in each.findings if one.code == "GPU1185"]

    assert [each.severity for each in found] == ["info"]


BOTTLEROCKET = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: shares}
spec:
  limits: {nvidia.com/gpu: 4}
  template:
    metadata: {labels: {nvidia.com/gpu.present: "true"}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: shares}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [g6.xlarge]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: shares}
spec:
  amiSelectorTerms: [{alias: ALIAS}]
  role: nodes
  userData: "SETTINGS"
  subnetSelectorTerms: [{tags: {cluster: demo}}]
  securityGroupSelectorTerms: [{tags: {cluster: demo}}]
"""
UNSEEN = """\
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: more}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: more}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: ["{{ .type }}"]}
"""
BARE = "gfd: {enabled: true}\n"


def own_plugins(nodes: str, **files: str) -> list[str]:
    """How grave a chart's plugin is beside those of the nodes' own, in other folders."""
    given = {f"{name.replace('__', '/')}.yaml": text for name, text in files.items()}
    reports = lint_files(
        [GivenFile(*each) for each in {"karpenter/pool.yaml": nodes, **given}.items()]
    )
    found = [one for each in reports for one in each.findings if one.code == "GPU1185"]
    return [each.severity for each in found]


def bottlerocket(alias: str = "bottlerocket@v1.57.0", settings: str = "") -> str:
    return BOTTLEROCKET.replace("ALIAS", alias).replace("SETTINGS", settings)


def test_a_plugin_of_a_node_is_there_once_whatever_a_layout_joins() -> None:
    plugin = child("plugin", "nvidia-device-plugin", "{gfd: {enabled: true}}")
    off = "[settings.kubelet-device-plugins.nvidia]\\nenabled = false"

    assert own_plugins(bottlerocket(), argo__plugin=plugin) == ["warning"]
    assert own_plugins(bottlerocket(settings=off), argo__plugin=plugin) == []
    assert own_plugins(bottlerocket("al2023@v20260714"), argo__plugin=plugin) == []
    # Of nodes without one the chart may be for these alone, and so of those that are not known.
    both = f"{bottlerocket()}---\n{bottlerocket('al2023@v20260714').replace('shares', 'others')}"
    assert own_plugins(both, argo__plugin=plugin) == ["info"]
    assert own_plugins(bottlerocket() + UNSEEN, argo__plugin=plugin) == ["info"]
    # Nothing says that values are installed.
    assert own_plugins(bottlerocket(), nvidia__values=BARE) != ["warning"]


@pytest.mark.parametrize(
    ("file", "select", "severity"),
    [
        ("examples/pod.yaml", "nodeSelector: {team: speech}", "info"),
        ("apps/demo/pod.yaml", "nodeSelector: {team: speech}", "info"),
        # Nodes that are there, nodes of any kind, and a place where no examples are.
        ("examples/pod.yaml", "nodeSelector: {team: vision}", "error"),
        ("examples/pod.yaml", "priorityClassName: low", "error"),
        ("apps/pod.yaml", "nodeSelector: {team: speech}", "error"),
        ("examples/k8s/gpu/apps/pod.yaml", "nodeSelector: {team: speech}", "error"),
    ],
)
def test_an_example_for_nodes_that_are_not_there_may_ask_for_what_these_have(
    file: str, select: str, severity: str
) -> None:
    files = {
        "eksctl/cluster.yaml": GROUP.replace("  taints", "  labels: {team: vision}\n  taints"),
        "argo/plugin.yaml": child("plugin", "nvidia-device-plugin", "{gfd: {enabled: true}}"),
        file: RENAMED.replace("spec:\n", f"spec:\n  {select}\n"),
    }
    reports = lint_files(
        [GivenFile(*each) for each in files.items()], declared=Declared(together=True)
    )
    found = [one for each in reports for one in each.findings if one.code == "GPU1110"]

    assert [each.severity for each in found] == [severity]
    if severity == "info":
        assert found[0].fix == (
            "Ask for nvidia.com/gpu, as shares are called without renameByDefault, or let it be, "
            "if it is for other nodes, with the label team=speech."
        )
