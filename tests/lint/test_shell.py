"""Shell scripts: words, values of Helm, and what commands say of nodes and charts."""

from __future__ import annotations

from typing import Any

import pytest
from foreign_reading import ids, items, placed, problems, read_text_with

from eks_gpushare.inventory.items import ConfigMap, NodeSet, NodeTaint, Release, Workload
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.readers.shell import ShellReader
from eks_gpushare.lint.shell.helm import chart_name
from eks_gpushare.manifests.placeholders import GAP
from eks_gpushare.manifests.shell.set_values import put, settings
from eks_gpushare.manifests.shell.words import commands

SHELL = ShellReader()


def words(text: str, **variables: str) -> list[list[str]]:
    return [[word.text for word in each.words] for each in commands(text, variables) if each.words]


def said(text: str) -> list[Any]:
    return items(read_text_with(SHELL, text, "setup.sh"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b  c\n", [["a", "b", "c"]]),
        ("a \\\n  b \\\r\n c", [["a", "b", "c"]]),
        ("a 'b c' \"d e\"f", [["a", "b c", "d ef"]]),
        ("a b\\ c d\\.e", [["a", "b c", "d.e"]]),
        ("a 'b\\.c' \"b\\.c\"", [["a", "b\\.c", "b\\.c"]]),
        ("a b # c\n# d\ne", [["a", "b"], ["e"]]),
        ("a#b", [["a#b"]]),
        ("a && b; c | d || e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("X=1; a $X ${X}", [["a", "1", "1"]]),
        ("X=1 a b", [["a", "b"]]),
        ("export X=1 Y='2 3'\na $X \"$Y\"", [["a", "1", "2 3"]]),
        ("a $NOT ${NOT:-1} $(b c) `d`", [["a", GAP, GAP, GAP, GAP]]),
        ("a '$X' <node> <your node>", [["a", "$X", GAP, GAP]]),
        ("a > file 2>&1 >> more", [["a"]]),
        ("a < file b", [["a", "file", "b"]]),
        ("sudo a; if b; then c; fi", [["a"], ["b"], ["c"], ["fi"]]),
        ("$ a b\n", [["a", "b"]]),
        ("a 'never closed", [["a", "never closed"]]),
        ("a $(never closed", [["a", GAP]]),
        ("a cost: 5$", [["a", "cost:", "5$"]]),
    ],
)
def test_words(text: str, expected: list[list[str]]) -> None:
    assert words(text) == expected


def test_words_have_places_and_here_documents_theirs() -> None:
    text = "a b\ncat <<'EOF' > f | tee g\nx: $Y\nEOF\nc"
    first, cat, tee, last = commands(text, {})

    assert [tuple(word.position) for word in first.words] == [(1, 1), (1, 3)]
    assert cat.heredoc is not None
    assert tuple(cat.heredoc) == ("x: $Y\n", 3, True)
    assert cat.writes == "f"
    assert tee.heredoc is None
    assert last.words[0].position == (5, 1)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a=1", {"a": 1}),
        ("a.b=true,a.c=false,d=null", {"a": {"b": True, "c": False}, "d": None}),
        ("a=007,b=1.5,c=-3,d=0", {"a": "007", "b": "1.5", "c": -3, "d": 0}),
        ("a[0].b=x,a[1].b=y", {"a": [{"b": "x"}, {"b": "y"}]}),
        ("a={x,1,true}", {"a": ["x", 1, True]}),
        ("a={}", {"a": []}),
        (r"a.nvidia\.com/gpu=x", {"a": {"nvidia.com/gpu": "x"}}),
        (r"a=b\,c", {"a": "b,c"}),
        ("a=b=c", {"a": "b=c"}),
        (f"a={GAP},b{GAP}=1", {"a": UNKNOWN}),
        ("a[x]=1,=2,b", {}),
        ("a." * 10_000 + "b=1", {}),
    ],
)
def test_values_of_set(text: str, values: dict[str, Any]) -> None:
    made: dict[str, Any] = {}
    for each in settings(text):
        put(made, each.path, each.value)

    assert made == values


def test_set_string_keeps_text() -> None:
    assert [each.value for each in settings("a=true,b=1", strings=True)] == ["true", "1"]


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("nvidia/gpu-operator", "gpu-operator"),
        ("oci://ghcr.io/nvidia/gpu-operator", "gpu-operator"),
        ("./charts/nvidia-device-plugin/", "nvidia-device-plugin"),
        ("https://x.y/nvidia-device-plugin-0.17.0.tgz", "nvidia-device-plugin"),
        ("gpu-operator-v26.3.0.tgz", "gpu-operator"),
    ],
)
def test_names_of_charts(reference: str, name: str) -> None:
    assert chart_name(reference) == name


@pytest.mark.parametrize(
    "command",
    [
        "helm install gpu nvidia/gpu-operator -n ops --version v26.3.0 --set a.b=1 --wait",
        (
            "helm upgrade --install gpu nvidia/gpu-operator --namespace=ops --set a.b=1 "
            "--version=v26.3.0"
        ),
        (
            "helm upgrade -i gpu --create-namespace -n ops nvidia/gpu-operator \\\n"
            "  --version v26.3.0 --set=a.b=1"
        ),
        (
            "VERSION=v26.3.0\nhelm install --wait nvidia/gpu-operator gpu -nops --set a.b=1 "
            "--version $VERSION"
        ),
    ],
)
def test_a_release(command: str) -> None:
    (release,) = said(command)

    assert isinstance(release, Release)
    assert (release.name, release.chart, release.namespace) == ("gpu", "gpu-operator", "ops")
    assert (release.version, release.values) == ("v26.3.0", {"a": {"b": 1}})


def test_a_release_counts_as_it_was_installed_last() -> None:
    first, second = said(
        """
        helm install a nvidia/gpu-operator --set x=1
        helm upgrade a nvidia/gpu-operator --set y=2
        helm upgrade b nvdp/nvidia-device-plugin --set x=1
        helm upgrade b nvdp/nvidia-device-plugin --reuse-values --set y=2
        """
    )

    assert first.values == {"y": 2}
    assert second.values == {"x": 1, "y": 2}


def test_values_that_the_script_writes_are_read() -> None:
    (release,) = said(
        """
        cat > values.yaml <<EOF
        config: {name: shares}
        EOF
        helm install p nvdp/nvidia-device-plugin -f values.yaml --set gfd.enabled=true
        """
    )

    assert release.values == {"config": {"name": "shares"}, "gfd": {"enabled": True}}
    (unread,) = said("helm install p nvdp/nvidia-device-plugin -f elsewhere.yaml")
    assert unread.values is UNKNOWN


def test_places_of_values() -> None:
    (release,) = said("helm install p nvdp/nvidia-device-plugin \\\n  --set a.b=1\n")

    assert release.source.document.position(("a", "b")) == (2, 9)
    assert release.source.document.position(("c",)) == (1, 1)


def test_a_patch_of_the_cluster_policy_adds_to_the_release() -> None:
    install = "helm install o nvidia/gpu-operator -n ops --set mig.strategy=mixed\n"
    patch = (
        "kubectl patch clusterpolicies.nvidia.com/cluster-policy -n ops --type merge "
        '-p \'{"spec": {"devicePlugin": {"config": {"name": "shares"}}}}\'\n'
    )

    (release,) = said(install + patch)
    assert release.values["devicePlugin"] == {"config": {"name": "shares"}}
    assert release.values["mig"] == {"strategy": "mixed"}
    (alone,) = said(patch)
    assert alone.values == {"devicePlugin": {"config": {"name": "shares"}}}
    assert alone.namespace is UNKNOWN  # the object is in none


@pytest.mark.parametrize(
    "command",
    [
        "kubectl label node n1 eks-node=gpu",
        "kubectl label nodes/n1 eks-node=gpu --overwrite",
        "kubectl label --overwrite nodes n1 eks-node=gpu",
        "NODE=n1; kubectl label no $NODE eks-node=gpu",
    ],
)
def test_a_label_by_hand(command: str) -> None:
    reads = read_text_with(SHELL, command, "setup.sh")

    (nodes,) = items(reads)
    assert isinstance(nodes, NodeSet)
    assert (nodes.provisioner, nodes.name) == ("byHand", "n1")
    assert nodes.labels == {"eks-node": "gpu"}
    assert ids(reads) == ["GPU1062"]


def test_a_label_whose_value_is_not_known() -> None:
    assert said("for n in $(kubectl get no -o name); do kubectl label $n a=b; done") == []
    (nodes,) = said('kubectl label node <node> nvidia.com/mig.config="$1"')
    assert nodes.labels == {"nvidia.com/mig.config": UNKNOWN}
    assert nodes.name is UNKNOWN


@pytest.mark.parametrize(
    "command",
    [
        "kubectl label node n1 eks-node-",
        "kubectl label pod p a=b",
        "kubectl get nodes -l eks-node=gpu",
        "kubectl taint nodes n1 nvidia.com/gpu-",
        "kubectl taint nodes n1 nvidia.com/gpu:NoSchedule-",
        "echo kubectl label node n1 a=b",
        "# kubectl label node n1 a=b",
        "helm repo add nvidia https://helm.ngc.nvidia.com/nvidia",
        "eksctl get nodegroup --cluster lab",
        "aws eks update-kubeconfig --name lab",
    ],
)
def test_what_says_nothing_of_nodes(command: str) -> None:
    reads = read_text_with(SHELL, command, "setup.sh")

    assert items(reads) == []
    assert ids(reads) == []


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("helm uninstall gpu-operator -n gpu", ["gpu-operator"]),
        ("helm delete a b", ["a", "b"]),
        ("kubectl delete ds -n kube-system plugin", ["plugin"]),
        ("kubectl delete daemonset a b", ["a", "b"]),
        ("kubectl delete pod a", []),
        ("kubectl delete -f plugin.yaml", []),
    ],
)
def test_what_a_command_takes_away(command: str, names: list[str]) -> None:
    found = items(read_text_with(SHELL, command, "setup.sh"))

    assert [(getattr(each, "kind", ""), each.name) for each in found] == [
        ("Removed", name) for name in names
    ]


def test_a_taint_by_hand() -> None:
    reads = read_text_with(SHELL, "kubectl taint nodes n1 nvidia.com/gpu=true:NoSchedule", "a.sh")

    (nodes,) = items(reads)
    assert isinstance(nodes, NodeSet)
    assert nodes.taints == (NodeTaint("nvidia.com/gpu", "true", "NoSchedule"),)
    assert ids(reads) == ["GPU1062"]


@pytest.mark.parametrize(
    ("command", "fix"),
    [
        ("kubectl taint nodes n1 nvidia.com/gpu=true", "Write nvidia.com/gpu=true:NoSchedule."),
        (
            "kubectl taint nodes n1 nvidia.com/gpu=true:NO_SCHEDULE",
            "Write nvidia.com/gpu=true:NoSchedule.",
        ),
        (
            "eksctl create nodegroup -t g5.xlarge --node-taints nvidia.com/gpu=true:Noschedule",
            "Write nvidia.com/gpu=true:NoSchedule.",
        ),
    ],
)
def test_a_taint_that_no_tool_takes(command: str, fix: str) -> None:
    reads = read_text_with(SHELL, command, "setup.sh")

    assert ids(reads) == ["GPU1063"]
    assert problems(reads)[0].fix == fix


@pytest.mark.parametrize(
    ("command", "least", "most"),
    [
        (
            (
                "eksctl create nodegroup --name gpu --node-type g5.xlarge --nodes-min 1 "
                "--nodes-max 4 --node-labels team=ml --node-taints nvidia.com/gpu=true:NoSchedule"
            ),
            1,
            4,
        ),
        (
            (
                "eksctl create nodegroup -n gpu -t g5.xlarge -m 1 -M 4 --managed "
                "--node-labels=team=ml --node-taints='nvidia.com/gpu=true:NoSchedule'"
            ),
            1,
            4,
        ),
        (
            (
                "aws eks create-nodegroup --cluster-name lab --nodegroup-name gpu --instance-types "
                "g5.xlarge --scaling-config minSize=1,maxSize=4,desiredSize=2 --labels team=ml "
                "--taints key=nvidia.com/gpu,value=true,effect=NO_SCHEDULE"
            ),
            1,
            4,
        ),
    ],
)
def test_node_groups_of_command_lines(command: str, least: int, most: int) -> None:
    (nodes,) = said(command)

    assert isinstance(nodes, NodeSet)
    assert (nodes.name, nodes.provisioner) == ("gpu", "managed")
    assert nodes.instance_types == ("g5.xlarge",)
    assert nodes.labels == {"team": "ml"}
    assert nodes.taints == (NodeTaint("nvidia.com/gpu", "true", "NoSchedule"),)
    assert (nodes.least, nodes.most) == (least, most)


def test_a_node_group_of_eksdemo() -> None:
    (nodes,) = said("eksdemo create nodegroup gpu -i g5.xlarge -N 2 -c lab")

    assert (nodes.name, nodes.instance_types, nodes.most) == ("gpu", ("g5.xlarge",), 2)


def test_config_maps_of_files_and_literals() -> None:
    (found,) = said(
        """
        cat <<EOF >any.yaml
        version: v1
        EOF
        kubectl create configmap -n ops shares --from-file=any=any.yaml --from-literal=a=b \\
          --from-file=./other.yaml
        """
    )

    assert isinstance(found, ConfigMap)
    assert (found.name, found.namespace) == ("shares", "ops")
    assert found.data == {"any": "version: v1\n", "a": "b", "other.yaml": UNKNOWN}


def test_manifests_in_here_documents_are_read_in_their_place() -> None:
    reads = read_text_with(
        SHELL,
        """
        REPLICAS=3
        kubectl apply -f - <<EOF
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: app, namespace: $UNSET}
        spec:
          replicas: $REPLICAS
          template:
            spec: {containers: []}
        ---
        apiVersion: karpenter.sh/v1beta1
        kind: NodePool
        EOF
        """,
        "setup.sh",
    )

    workload = next(each for each in items(reads) if isinstance(each, Workload))
    assert workload.replicas == 3
    assert workload.namespace is UNKNOWN
    (problem,) = problems(reads)
    assert (problem.rule.id, placed(problem)) == ("GPU1050", (11, 1))
