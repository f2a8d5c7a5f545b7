"""What a script installs behind `&&` and `||`, by what a variable is, and in several clusters."""

from __future__ import annotations

import pytest
from linted import said

from eks_gpushare.findings.finding import Position
from eks_gpushare.manifests.shell.blocks import Blocks
from eks_gpushare.manifests.shell.chains import Chains

GCLOUD = "gcloud container clusters get-credentials"
OPERATOR = "helm install gpu-operator nvidia/gpu-operator -n gpu --set driver.enabled=false"
PLUGIN = "helm install nvdp nvdp/nvidia-device-plugin -n gpu"
WRITTEN = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: nvidia-device-plugin-daemonset, namespace: kube-system}
spec:
  selector: {matchLabels: {app: plugin}}
  template:
    metadata: {labels: {app: plugin}}
    spec:
      containers: [{name: plugin, image: "nvcr.io/nvidia/k8s-device-plugin:v0.17.4"}]
"""


def is_told(text: str, **more: str) -> bool:
    """Whether two plugins are said to be there at once, of OP and PL in a script."""
    script = text.replace("OP", OPERATOR).replace("PL", PLUGIN)
    return "GPU1185" in said({"up.sh": f"{script}\n", **more})


@pytest.mark.parametrize(
    "text",
    [
        "a && OP || PL",
        "a && b && OP || PL",
        "a && OP \\\n  || PL",
        "a &&\n  OP ||\n  PL",
        "a && { OP; } || PL",
        "a && { b; OP\n} || { PL; c; }",
        "a && { OP; exit 0; }\nPL",
        "a && { OP; exit 0; }; PL",
        "a && {\n  OP\n  return\n}\nPL",
        "a && OP && exit\nPL",
        "f() {\n  a && { OP; return; }\n  PL\n}\nf",
        "if b; then\n  a && { OP; exit; }\n  PL\nfi",
        "a && OP | tee log || PL",
        "a || { OP; exit; }\nPL",
        "a || { OP; exit; }\nb || PL",
        "command -v x &>/dev/null && OP || PL",
        "if a; then\n  kubectl logs &\n  OP\n  exit 0\nfi\nPL",
        "if a; then [ $MODE = op ] && OP; fi\nif b; then [ $MODE = pl ] && PL; fi",
        "while true; do\n  read x\n  case $x in a) OP; break ;; b) PL; break ;; esac\ndone",
        "install() {\n  OP\n}\nplugin() {\n  PL\n}\ncase $1 in a) install ;; b) plugin ;; esac",
        "op() {\n  OP\n}\npl() {\n  PL\n}\nif [ $1 = op ]; then op; else pl; fi",
        "case $1 in a) if b; then OP; else OP; fi ;; c) PL ;; esac",
        "KUBECONFIG=one OP\nKUBECONFIG=two PL",
        "export KUBECONFIG=one; OP; export KUBECONFIG=two; PL",
        f"{GCLOUD} --region a one\nOP\n{GCLOUD} --region a two\nPL",
    ],
)
def test_of_what_is_joined_one_runs(text: str) -> None:
    assert not is_told(text)
    assert not is_told(text.replace("OP", "X").replace("PL", "OP").replace("X", "PL"))


@pytest.mark.parametrize(
    "text",
    [
        "OP && PL",
        "OP || PL",
        "a && OP\nPL",
        "a && OP; PL",
        "a && OP & PL",
        "a && { OP; }\nPL",
        "a && { OP; exit; } && PL",
        "a || OP && PL",
        "a || OP || PL",
        "a || OP\nb || PL",
        "a && OP || true && PL",
        "case $x in a) OP ;;& *) PL ;; esac",
        "echo $(x | awk -F')' '{print $2}')\nOP\nPL",
        "((x = 1 << 2))\nOP\nPL",
        "x=$'don\\'t'\nOP\nPL",
        "helm uninstall nvdp\nOP\nPL",
        "if [ $x = down ]; then helm uninstall nvdp; exit 0; fi\nOP\nPL",
        "a && OP\nb || PL",
        "a && OP && PL",
        "a || exit\nOP\nPL",
        "a && exit\nOP\nPL",
        "{ a && { OP; exit; }; }\nPL",
        "(a && { OP; exit; })\nPL",
        "f() {\n  a && { OP; return; }\n}\nf\nPL",
        "a && { if b; then OP; exit; fi; }\nPL",
        "a && { OP; b && exit; }\nPL",
        "a && { b; }\nOP\nPL",
        "}\nOP && PL",
        "a && {\nb && OP\n}\nPL",
    ],
)
def test_what_may_run_both(text: str) -> None:
    assert is_told(text)


IS = 'if [ "$MODE" = {} ]; then\n  {}\nfi\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (IS.format("op", "OP") + IS.format("pl", "PL"), False),
        (IS.format("op", "OP") + IS.format("op", "PL"), True),
        (IS.format("op", "OP") + IS.replace("MODE", "KIND").format("pl", "PL"), True),
        (IS.format("op", "OP") + 'if test "${MODE:-pl}" == pl; then PL; fi', False),
        (IS.format("op", "OP") + "if [[ ${MODE} == 'pl' ]]\nthen\n  PL\nfi", False),
        (IS.format("op", "OP") + 'if [ "$MODE" = pl ] || [ "$MODE" = all ]; then PL; fi', True),
        (IS.format("op", "OP") + 'if [ "$MODE" = pl -o "$ALL" = 1 ]; then PL; fi', True),
        (IS.format("op", "OP") + 'if [ "$MODE" = pl ] && [ -f a ]; then PL; fi', False),
        (IS.format("op", "OP") + 'if [ "$MODE" != pl ]; then PL; fi', True),
        (IS.format("op", "OP") + 'if ! [ "$MODE" = pl ]; then PL; fi', True),
        (IS.format("op", "OP") + 'if [ "$MODE" = "pl$X" ]; then PL; fi', True),
        (IS.format("op", "OP") + 'if [ "$MODE" = pl ]; then b; else PL; fi', True),
        (IS.format("op", "OP") + 'if b; then c; elif [ "$MODE" = pl ]; then PL; fi', False),
        (IS.format("op", "OP") + 'if [ "$MODE" = pl ]; then b; elif c; then PL; fi', True),
        (IS.format("op", "OP") + '[ "$MODE" = pl ] && PL', False),
        (IS.format("op", "OP") + '[ "$MODE" = pl ] || PL', True),
        (IS.format("op", "OP") + '[[ "$MODE" == pl ]] && [ -f a ] && {\n  b\n  PL\n}', False),
        (IS.format("op", "OP") + '[[ "$MODE" == pl ]] && b\nPL', True),
        (IS.format("op", "OP") + 'b || [ "$MODE" = pl ] && PL', True),
        ('[ "$1" = op ] && OP\n[ "$1" = pl ] && PL', False),
        ('[ "$1" = op ] && OP\n[ "$2" = pl ] && PL', True),
        (IS.format("op", "OP") + 'while [ "$MODE" = pl ]; do PL; done', True),
        ("for x in y; do\n" + IS.format("op", "OP") + IS.format("pl", "PL") + "done", True),
        ("select x in y z; do\n" + IS.format("op", "OP") + IS.format("pl", "PL") + "done", False),
        ("select x in y z; do\n  case $x in\n  y) OP;;\n  z) PL;;\n  esac\ndone", False),
    ],
)
def test_a_variable_is_one_thing_at_a_time(text: str, told: bool) -> None:
    assert is_told(text) is told


@pytest.mark.parametrize(
    ("between", "told"),
    [
        ("kubectl config use-context b", False),
        ("kubectl --v 1 config use-context b", True),
        ("kubectx b", False),
        ("oc login https://b", False),
        ("aws eks update-kubeconfig --region x --name b", False),
        ("aws eks update-kubeconfig --name=b", False),
        ("aws eks list-clusters --name b", True),
        ("eksctl create cluster -f b.yaml", False),
        ("eksctl utils write-kubeconfig --cluster b", False),
        ("gcloud container clusters get-credentials b --zone z", False),
        ("az aks get-credentials -g x -n b", False),
        ("kind create cluster --name b", False),
        ("k3d cluster create b", False),
        ("minikube start -p b", False),
        ("export KUBECONFIG=b.yaml", False),
        ("KUBECONFIG=b.yaml", False),
        ("kubectl get nodes --context b", True),
        ("f() { kubectx b; }", True),
        ("kubectx", True),
    ],
)
def test_what_is_switched_to_is_another_cluster(between: str, told: bool) -> None:
    assert is_told(f"OP\n{between}\nPL") is told
    assert is_told(f"{between}\nOP\nPL")


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("--kube-context a", "--kube-context b", False),
        ("--kube-context=a", "--kube-context=b", False),
        ("--kube-context a", "--kube-context a", True),
        ("--kubeconfig a", "--kubeconfig b", False),
        ("--kubeconfig", "--kubeconfig", True),
        ("--kube-context a", "", False),
    ],
)
def test_a_command_may_name_its_cluster(one: str, other: str, told: bool) -> None:
    assert is_told(f"OP {one}\nPL {other}") is told
    assert is_told(f"KUBECONFIG=a.yaml OP {one}\nKUBECONFIG=a.yaml PL {other}") is told


ELSE = "if a; then\n  OP\nelse\n  kubectl apply -f plugin.yaml\nfi"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (ELSE, False),
        ("op() { OP; }\npl() { kubectl apply -f plugin.yaml; }\n$1", False),
        ("OP\nkubectl apply -f plugin.yaml", True),
        (f"{ELSE}\nkubectl apply -f plugin.yaml", True),
        (ELSE.replace("plugin.yaml", "other.yaml"), True),
        (ELSE.replace("plugin.yaml", "https://x.y/plugin.yaml"), True),
        (ELSE.replace("plugin.yaml", "$D/plugin.yaml"), True),
    ],
)
def test_a_file_is_there_where_a_script_applies_it(text: str, told: bool) -> None:
    assert is_told(text, **{"plugin.yaml": WRITTEN}) is told


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (' [ "$A" = b ]; ', True),
        ("[[ $A == b ]]", True),
        ("test $A = b", True),
        ("[ $A = b", True),
        ("[ -n $A ]", False),
        ("[ b = $A ]", False),
        ("[ $A = ]", False),
        ("grep $A = b", False),
    ],
)
def test_what_a_test_asks_of_a_variable(written: str, found: bool) -> None:
    chains = Chains(Blocks({}))

    assert (chains.asked(written) is not None) is found
    assert chains.asked("[ $Z = b ]") != chains.asked("[ $Z = c ]")


def test_values_of_one_variable_are_one_choice() -> None:
    chains = Chains(Blocks({}))
    found = [chains.asked(f"[ ${each} ]") for each in ("A = b", "A = c", "D = b", "A = b")]
    choices = [each.choice for each in found if each is not None]

    assert choices == [Position(-1, 0), Position(-1, 0), Position(-2, 0), Position(-1, 0)]
    assert [each.number for each in found if each is not None] == [0, 1, 0, 0]
