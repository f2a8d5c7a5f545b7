"""Kustomizations that the commands of a guide or a script apply one behind the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from linted import every, found_in_parts

from eks_gpushare.lint.applied_by_commands import folders_applied_by
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from pathlib import Path

QUEUES = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: night}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [cpu, nvidia.com/gpu]
      flavors:
        - name: l4
          resources:
            - {name: cpu, nominalQuota: 40}
            - {name: nvidia.com/gpu, nominalQuota: 4}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: night, namespace: etl}
spec: {clusterQueue: night}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: embed, namespace: etl, labels: {kueue.x-k8s.io/queue-name: night}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: main
          image: registry.example.com/embed:1
          resources: {limits: {nvidia.com/gpu.shared: 1}}
"""
BOTH = "    kubectl apply -k ./admission/\n    kubectl apply -k batch # what runs at night\n"


def built_of(*names: str) -> str:
    """A kustomization of some files."""
    return (
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
        f"resources: [{', '.join(names)}]\n"
    )


def told(guide: str, name: str = "README.md", **further: str) -> list[str]:
    """What is said of the Job's resource, with a guide or a script at the top."""
    files = {
        "admission/kustomization.yaml": built_of("queues.yaml"),
        "admission/queues.yaml": QUEUES,
        "batch/kustomization.yaml": built_of("job.yaml"),
        "batch/job.yaml": JOB,
        "mig/kustomization.yaml": built_of("space.yaml"),
        "mig/space.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n",
        name: guide,
        **further,
    }
    found = every(files.items())
    return [each.severity for each in found if each.code == "GPU1250"]


@pytest.mark.parametrize(
    "guide",
    [
        f"# Set-up\n\n{BOTH}",
        "# Set-up\n\n```\nkubectl apply -k admission\noc create --save-config -k batch\n```\n",
        "1. `kubectl apply --kustomize=admission`\n2. `kubectl apply -k batch`, each morning\n",
    ],
)
def test_what_one_run_of_commands_applies_is_of_one_cluster(guide: str) -> None:
    """Be it a block, or the steps of a list."""
    assert told(guide) == ["error"]


def test_a_script_applies_what_it_runs_always() -> None:
    """What stands behind a condition may be for another cluster."""
    always = "#!/bin/sh\nkubectl apply \\\n  -k admission\nkubectl apply -k batch\n"
    either = "#!/bin/sh\nkubectl apply -k admission\nif $x; then\n  kubectl apply -k batch\nfi\n"

    assert told(always, "up.sh") == ["error"]
    assert not told(either, "up.sh")


@pytest.mark.parametrize(
    "script",
    [
        "[ -n $1 ] && kubectl apply -k admission\nkubectl apply -k batch\n",
        "if $x; then\nkubectl apply -k admission\nelse\nkubectl apply -k batch\nfi\n",
        "case $1 in\na) kubectl apply -k admission;;\nb) kubectl apply -k batch;;\nesac\n",
        "kubectl apply -k admission\nexit 0\nkubectl apply -k batch\n",
        "kubectl apply -k admission\n# only by night\nkubectl apply -k batch\n",
        "echo kubectl apply -k admission\nkubectl apply -k batch\n",
    ],
)
def test_a_script_that_may_apply_one_or_the_other(script: str) -> None:
    assert not told(script, "up.sh")


@pytest.mark.parametrize(
    "guide",
    [
        "```\n$ kubectl apply -k admission && kubectl apply -k batch\n```\n",
        "```\nkubectl apply -k admission\nsleep 9\n\n# the jobs\nkubectl apply -k batch\n```\n",
        "1. `kubectl apply -k admission`\n2. `kubectl apply -k batch`, or others by hand\n",
        f"```\naws eks update-kubeconfig --name a\n```\n{BOTH}",
        f"    make images\n{BOTH}",
        "```\nkubectl apply -k admission\nkubectl apply -k mig\nkubectl apply -k batch\n```\n",
        f"    helm upgrade --install a \\\n      a/b\n{BOTH}",
    ],
)
def test_what_stands_between_and_decides_nothing(guide: str) -> None:
    """Be it a chart that is installed in the same run."""
    assert told(guide) == ["error"]


def test_one_folder_and_what_is_installed_in_the_run() -> None:
    """One alone says nothing."""
    chart = "```\nhelm install dra b/c\nkubectl apply -k batch\n```\n"

    assert folders_applied_by(GivenFile("README.md", chart)) == ["batch"]
    assert not folders_applied_by(GivenFile("README.md", chart.replace("install", "lint")))
    other = chart.replace("kubectl", "minikube profile b\nkubectl")
    assert not folders_applied_by(GivenFile("README.md", other))


@pytest.mark.parametrize(("length", "folders"), [(128 * 1024, 2), (128 * 1024 + 1, 0)])
def test_of_texts_that_nobody_wrote_nothing_is_asked(length: int, folders: int) -> None:
    guide = BOTH.ljust(length, "\n")

    assert len(folders_applied_by(GivenFile("README.md", guide))) == folders


@pytest.mark.parametrize(
    "guide",
    [
        "```\nkubectl --context a apply -k admission\nkubectl --context b apply -k batch\n```\n",
        f"There are two clusters.\n\n{BOTH}",
        f"{BOTH}\nThen take it away: `kubectl delete -k admission`\n",
        "```\nkubectl apply -k admission\n```\nThere:\n```\nkubectl apply -k batch\n```\n",
        "On east `kubectl apply -k admission`\nand on west `kubectl apply -k batch`\n",
        "```\nkubectl apply -k admission\nkubectl apply -k $FOLDER\n```\n",
        "```\nkubectl apply -k admission\nkubectl apply -k missing\nkubectl apply -k batch\n```\n",
        "```\n# kubectl apply -k admission\nkubectl apply -k batch\n```\n",
        "```\neksctl create cluster --name a\neksctl create cluster --name b\n```\n" + BOTH,
        "```\nkubectl apply -k admission   # or:\nkubectl apply -k batch\n```\n",
        "```\n# Option A\nkubectl apply -k admission\n\n# Option B\nkubectl apply -k batch\n```\n",
        "Choose one:\n```\nkubectl apply -k admission\nkubectl apply -k batch\n```\n",
        "1. On the hub: `kubectl apply -k admission`\n2. Beyond: `kubectl apply -k batch`\n",
        "1. `kubectl apply -k admission`, or\n2. `kubectl apply -k batch`\n",
        "1. `kubectl apply -k admission` or `kubectl apply -k batch`\n",
        "`kubectl apply -k admission` and `kubectl apply -k batch`.\n",
        "```\nkubectl apply -k admission || kubectl apply -k batch\n```\n",
        "```\nkubectl apply -k admission\nminikube profile b\nkubectl apply -k batch\n```\n",
        "```\noc login a\noc apply -k admission\noc apply -k batch\n```\n",
        f"## Helm\n\n    helm install nvdp nvdp/nvidia-device-plugin\n\n## Kustomize\n\n{BOTH}",
        f"## Simply\n\n    kubectl apply -f https://a.example/all.yaml\n\n## Or\n\n{BOTH}",
        f"{BOTH}\nAnd once more: `kubectl apply -k batch`\n",
        "```\naws eks update-kubeconfig --name a\naws eks update-kubeconfig --name b\n```\n" + BOTH,
    ],
)
def test_what_may_be_of_several_clusters_is_not_joined(guide: str) -> None:
    """Nor what is applied in several runs: what is said between may be of another way."""
    assert not told(guide)


def test_two_ways_of_one_base_are_not_joined() -> None:
    """Each is built of it, so that both cannot be of one cluster, whatever a guide applies."""
    both = {
        "admission/kustomization.yaml": built_of("queues.yaml", "../common"),
        "batch/kustomization.yaml": built_of("job.yaml", "../common"),
        "common/kustomization.yaml": built_of("space.yaml"),
        "common/space.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: etl}\n",
    }

    assert not told(BOTH, **both)


@pytest.mark.parametrize(
    "folders",
    [("a/dev", "b/prod"), ("overlays/east", "overlays/west"), ("time-slicing", "gpu-mps")],
)
def test_environments_are_not_joined(folders: tuple[str, str]) -> None:
    """Folders that are called as such."""
    one, two = folders
    files = {
        f"{one}/kustomization.yaml": built_of("queues.yaml"),
        f"{one}/queues.yaml": QUEUES,
        f"{two}/kustomization.yaml": built_of("job.yaml"),
        f"{two}/job.yaml": JOB,
        "README.md": f"    kubectl apply -k {one}\n    kubectl apply -k {two}\n",
    }

    assert not [each for each in every(files.items()) if each.code == "GPU1250"]


def test_a_call_that_reads_part_by_part_finds_the_same(tmp_path: Path) -> None:
    """Folders that nothing else joins are read with the guide."""
    files = {
        "README.md": BOTH,
        "admission/kustomization.yaml": built_of("queues.yaml"),
        "admission/queues.yaml": QUEUES,
        "batch/kustomization.yaml": built_of("job.yaml"),
        "batch/job.yaml": JOB,
    }

    assert "GPU1250" in [each.code for each in found_in_parts(tmp_path, files)]


@pytest.mark.parametrize("name", ["notes.yaml", "Makefile"])
def test_of_other_files_commands_say_nothing(name: str) -> None:
    """A Makefile has targets for one cluster and another."""
    assert folders_applied_by(GivenFile(name, BOTH)) == []


def test_paths_are_those_beside_the_guide() -> None:
    """From where a reader of it runs the commands."""
    assert folders_applied_by(GivenFile("deploy/README.md", BOTH)) == [
        "deploy/admission",
        "deploy/batch",
    ]
