"""Commands that leave something out or name it otherwise: helm, kubectl, eksctl, eksdemo, aws."""

from __future__ import annotations

from typing import Any

import pytest
from foreign_reading import ids, items, placed, problems, read_text_with

from eks_gpushare.inventory.items import NodeSet, NodeTaint, Release, Workload
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.readers.shell import ShellReader
from eks_gpushare.lint.shell.helm import chart_and_files, chart_name
from eks_gpushare.lint.shell.reading import MAX_CHARACTERS
from eks_gpushare.manifests.shell.words import commands

SHELL = ShellReader()
INSTALL = "helm install gpu nvidia/gpu-operator"


def said(text: str) -> list[Any]:
    return items(read_text_with(SHELL, text, "setup.sh"))


@pytest.mark.parametrize(
    ("command", "called", "name"),
    [
        (INSTALL, "the release gpu of gpu-operator", "gpu"),
        (
            "helm install $NAME nvidia/gpu-operator",
            "the release of gpu-operator",
            UNKNOWN,
        ),
        ('helm install "" nvidia/gpu-operator', "the release of gpu-operator", ""),
        ("helm install -g nvidia/gpu-operator", "the release of gpu-operator", UNKNOWN),
        (
            "helm install gpu gpu-operator --repo https://helm.ngc.nvidia.com/nvidia",
            "the release gpu of gpu-operator",
            "gpu",
        ),
        ("helm install a/b nvidia/gpu-operator", "the release a/b of gpu-operator", "a/b"),
    ],
)
def test_what_a_release_is_called(command: str, called: str, name: Any) -> None:
    (release,) = said(command)

    assert (release.source.name, release.name) == (called, name)
    assert release.chart == "gpu-operator"


@pytest.mark.parametrize(
    "command",
    ["helm install --generate-name", "helm install gpu", "helm install gpu $CHART", "helm"],
)
def test_what_names_no_chart_is_no_release(command: str) -> None:
    assert said(command) == []
    (found,) = commands(command, {})
    assert chart_and_files(found.words)[::2] == (None, ())


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("gpu-operator-9.1.0.tgz", "gpu-operator"),
        ("my-chart.tgz", "my-chart"),
        ("1a.tgz", "1a"),
        ("a/my-1-0.2.tar.gz", "my-1"),
        ("https://x.y/a-b-v1.2.3-rc.1.tgz?raw=true", "a-b"),
        ("a-9.tgz", "a-9"),
        ("gpu-operator-9", "gpu-operator-9"),
    ],
)
def test_names_of_archives(reference: str, name: str) -> None:
    assert chart_name(reference) == name


@pytest.mark.parametrize(
    ("flags", "values"),
    [
        ("--set-string a=true", {"a": "true"}),
        ("--set-literal a=true,b=1", {"a": "true,b=1"}),
        ("--set-file a=b.txt", {"a": UNKNOWN}),
        ("""--set-json 'a={"b": 1}'""", {"a": {"b": 1}}),
        ("--set a=1 --set a=2", {"a": 2}),
    ],
)
def test_values_by_every_flag(flags: str, values: dict[str, Any]) -> None:
    (release,) = said(f"{INSTALL} {flags}")

    assert (release.values, release.over) == (values, {})


def test_values_beside_a_file_that_is_not_there_go_over_it() -> None:
    (release,) = said(f"{INSTALL} -f elsewhere.yaml --set a=1")

    assert release.values is UNKNOWN
    assert release.over == {"a": 1}


def test_what_is_not_placed_stands_where_what_holds_it_does() -> None:
    (release,) = said(f"{INSTALL} \\\n --set a.b=1 \\\n --set a.c=2")
    document = release.source.document

    assert document.position(("a",)) == document.position(("a", "x", "y")) == (2, 8)
    assert document.position(("a", "c")) == document.position(("a", "c", "d")) == (3, 8)
    assert not document.editable


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("kubectl label node/n1 node/n2 a=b", "n1"),
        ("kubectl label nodes --all a=b", UNKNOWN),
        ("kubectl label node $NODE a=b", UNKNOWN),
        ('kubectl label node "" a=b', ""),
    ],
)
def test_whose_labels_they_are(command: str, name: Any) -> None:
    (nodes,) = said(command)

    assert nodes.name == name
    called = f"the node {name}" if name and name is not UNKNOWN else "a node labelled by hand"
    assert nodes.source.name == called
    assert nodes.source.document.position(()) == (1, 1)


@pytest.mark.parametrize(
    ("label", "told"),
    [
        ("a=b", ["The label a=b is put on a node by hand; a node that takes its place has none."]),
        ("a=$1", ["The label a is put on a node by hand; a node that takes its place has none."]),
        ("nvidia.com/gpu.deploy.operands=false", []),
        ("nvidia.com/mig.config.state=failed", []),
    ],
)
def test_labels_that_stay_with_a_node(label: str, told: list[str]) -> None:
    reads = read_text_with(SHELL, f"kubectl label node n1 {label}", "setup.sh")

    assert [each.message for each in problems(reads)] == told
    assert len(items(reads)) == 1


@pytest.mark.parametrize(
    "command",
    [
        "kubectl taint nodes n1 nvidia.com/gpu:NoSchedule",
        "kubectl taint nodes/n1 nvidia.com/gpu:NoSchedule",
        "kubectl taint --overwrite node n1 nvidia.com/gpu=:NoSchedule",
    ],
)
def test_a_taint_without_a_value(command: str) -> None:
    (nodes,) = said(command)

    assert nodes.taints == (NodeTaint("nvidia.com/gpu", "", "NoSchedule"),)
    assert nodes.name == "n1"


def test_a_config_map_without_a_known_name() -> None:
    known, unknown = said("kubectl create cm a --from-literal=b=c\nkubectl create cm $A x")

    assert (known.source.name, unknown.source.name) == ("the ConfigMap a", "the ConfigMap")


PATCH = """kubectl patch clusterpolicy/cluster-policy --type merge -p '{"spec": {"a": 1}}'"""


@pytest.mark.parametrize(
    "command",
    [
        "kubectl patch clusterpolicy x --type merge",
        """kubectl patch clusterpolicy x -p '{"spec": {"a": "'$B'"}}'""",
        """kubectl patch clusterpolicy x -p '{"spec": 5}'""",
        """kubectl patch clusterpolicy x -p '[{"op": "add"}]'""",
    ],
)
def test_a_patch_that_says_nothing(command: str) -> None:
    assert said(command) == []


def test_a_patch_is_for_the_operator_alone() -> None:
    plugin = "helm install p nvdp/nvidia-device-plugin\n"

    found = said(f"{plugin}{INSTALL}\n{PATCH}")
    assert [each.values for each in found] == [{}, {"a": 1}]
    unread = f"{INSTALL} -f elsewhere.yaml\n"
    found = said(f"{plugin}{unread}{PATCH} -n ops")
    assert [each.values for each in found] == [{}, UNKNOWN, {"a": 1}]
    assert [each.namespace for each in found] == ["default", "default", UNKNOWN]
    (alone,) = said(PATCH)
    assert alone.namespace is UNKNOWN


@pytest.mark.parametrize(
    ("command", "name", "types"),
    [
        ("eksctl create cluster lab -t g5.xlarge", UNKNOWN, ("g5.xlarge",)),
        ("eksctl create cluster --name lab -t g5.xlarge", UNKNOWN, ("g5.xlarge",)),
        (
            "eksctl create cluster --name lab --nodegroup-name gpu -t g5.xlarge",
            "gpu",
            ("g5.xlarge",),
        ),
        ("eksctl create ng --name gpu", "gpu", ()),
        ("eksctl create nodegroup --name=gpu --instance-types=g5.xlarge,g6.xlarge", "gpu",
         ("g5.xlarge", "g6.xlarge")),
        ("eksdemo create cluster lab -i g5.xlarge", UNKNOWN, ("g5.xlarge",)),
        ("eksdemo create nodegroup -c lab", UNKNOWN, ()),
        ("eksdemo create nodegroup -c lab -i g5.xlarge", UNKNOWN, ("g5.xlarge",)),
        ("eksdemo create nodegroup gpu -c lab -i g5.xlarge", "gpu", ("g5.xlarge",)),
        ("aws eks create-nodegroup --nodegroup-name gpu --instance-types g5.xlarge g6.xlarge",
         "gpu", ("g5.xlarge", "g6.xlarge")),
        ("aws eks create-nodegroup --instance-types=g5.xlarge --nodegroup-name=gpu", "gpu",
         ("g5.xlarge",)),
        ("aws eks create-nodegroup --nodegroup-name gpu --instance-types $TYPE", "gpu", UNKNOWN),
        ("aws eks create-nodegroup --nodegroup-name gpu", "gpu", ()),
        ("aws eks create-nodegroup --nodegroup-name gpu --instance-types $TYPE --launch-template x",
         "gpu", UNKNOWN),
    ],
)  # fmt: skip
def test_node_groups_by_name_and_types(command: str, name: Any, types: Any) -> None:
    (nodes,) = said(command)

    assert isinstance(nodes, NodeSet)
    assert (nodes.name, nodes.instance_types) == (name, types)
    called = "the node group" if name is UNKNOWN else f"the node group {name}"
    assert nodes.source.name == called
    document = nodes.source.document
    assert document.position(()) == (1, 1)
    assert (document.position(("instanceTypes",)) != (1, 1)) is (types != ())


@pytest.mark.parametrize(
    "command",
    [
        "eksctl create nodegroup -f cluster.yaml",
        "eksctl create nodegroup --config-file=cluster.yaml -t g5.xlarge",
        "eksctl create cluster --name lab",
        "eksdemo create cluster lab",
        "eksdemo create nodes lab -i g5.xlarge",
        "aws eks describe-nodegroup --nodegroup-name gpu",
    ],
)
def test_what_makes_no_node_group_that_is_known(command: str) -> None:
    assert said(command) == []


def test_what_the_launch_template_says_of_an_account_is_open() -> None:
    (nodes,) = said("aws eks create-nodegroup --nodegroup-name gpu --launch-template id=lt-1")

    assert nodes.instance_types is nodes.ami is nodes.user_data is UNKNOWN


def test_labels_of_the_aws_cli_with_a_name_that_is_not_known() -> None:
    (nodes,) = said(
        "aws eks create-nodegroup --labels team=ml,$KEY=x,odd --ami-type AL2023_x86_64_NVIDIA "
        "--nodegroup-name gpu"
    )

    assert nodes.labels == {"team": "ml"}
    assert nodes.ami == "AL2023_x86_64_NVIDIA"


def test_a_taint_that_eksctl_does_not_take_stands_at_its_flag() -> None:
    reads = read_text_with(
        SHELL, "eksctl create ng -t g5.xlarge \\\n --node-taints a=b:Never", "setup.sh"
    )

    assert [placed(each) for each in problems(reads)] == [(2, 16)]


@pytest.mark.parametrize(("more", "told"), [(0, []), (1, ["GPU1001"])])
def test_a_script_that_nobody_writes_is_not_read(more: int, told: list[str]) -> None:
    reads = read_text_with(SHELL, "#" * (MAX_CHARACTERS + more), "setup.sh")

    assert ids(reads) == told
    assert [placed(each) for each in problems(reads)] == [(1, 1)] * len(told)


POD = "kind: Pod\napiVersion: v1\nmetadata: {name: p}\nspec: {containers: []}\nEOF\n"


@pytest.mark.parametrize("command", ["", "cat ", "kubectl apply -f - "])
def test_a_here_document_is_read_whoever_gets_it(command: str) -> None:
    (pod,) = said(f"{command}<<EOF\n{POD}")

    assert isinstance(pod, Workload)


@pytest.mark.parametrize(
    "command", ["tee values.yaml", "tee -a ./values.yaml", "sudo tee values.yaml"]
)
def test_a_file_that_tee_writes(command: str) -> None:
    (release,) = said(f"{command} <<EOF\na: 1\nEOF\n{INSTALL} -f values.yaml")

    assert isinstance(release, Release)
    assert release.values == {"a": 1}
