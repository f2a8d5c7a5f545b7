"""What was said of a second row of public repositories and was not so, in our own words."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

import pytest
import yaml
from linted import said_of as said

from eks_gpushare.lint.file_in_reading import FileInReading
from eks_gpushare.lint.report import Placed
from eks_gpushare.lint.rules.shell import BY_HAND

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run

GUIDE = "# Nodes of EKS\n\n```bash\nkubectl label node <node> {label}\n```\n"


@pytest.mark.parametrize(
    ("label", "wrong"),
    [
        ("agent.nvidia.io/schedule=true", False),
        ("agent.example.com/gpu-model=a10", False),
        ("nvidia.com/device-plugin.config=four", True),
        ("gpu=shared", True),
    ],
)
def test_a_guide_tells_of_the_labels_of_another_program(label: str, wrong: bool) -> None:
    """Who reads them is its agent, and which node gets one is for whoever reads the guide."""
    assert ("GPU1062" in said(guide__md=GUIDE.format(label=label))) == wrong


@pytest.mark.parametrize(("label", "wrong"), [("role=load-test", False), ("role=gpu", True)])
def test_a_script_labels_nodes_for_other_matters_too(label: str, wrong: bool) -> None:
    assert ("GPU1062" in said(up__sh=f"kubectl label node n1 {label}\n")) == wrong


PATCH = """\
oc -n machines \\
  patch machineset gpu --type=merge \\
  --patch '{"spec": {"metadata": {"labels": {"KEY": "four"}}}}'
"""


@pytest.mark.parametrize(
    ("key", "wrong"), [("nvidia.com/device-plugin.config", False), ("team", True)]
)
def test_what_nodes_get_that_come_later_stands_beside(key: str, wrong: bool) -> None:
    script = "oc label node -l gpu=yes nvidia.com/device-plugin.config=four\n"

    assert ("GPU1062" in said(up__sh=script + PATCH.replace("KEY", key))) == wrong


@pytest.mark.parametrize(
    ("head", "code"),
    [
        ('"swagger": "2.0"', 0),
        pytest.param('"apiVersion": "v1", "kind": "List"', 2, marks=pytest.mark.at_length),
    ],
)
def test_a_large_file_of_another_tool_is_a_note(
    head: str, code: int, tmp_path: Path, run: Run
) -> None:
    """The description of an API has `apiVersion` among its properties."""
    properties = ",".join(f'"p{number}": {{"apiVersion": {{}}}}' for number in range(41_000))
    (tmp_path / "api.json").write_text(f'{{{head}, "definitions": {{{properties}}}}}')

    assert run("lint", "--no-config", str(tmp_path)).code == code


@pytest.mark.parametrize(("switch", "wrong"), [("enabled", False), ("gpu", True)])
def test_values_may_switch_a_selector_off(switch: str, wrong: bool) -> None:
    values = f"global:\n  nodeSelector:\n    {switch}: false\n"

    assert ("GPU1004" in said(values__yaml=values)) == wrong


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: server}
spec:
  containers:
    - name: server
      image: vllm/vllm-openai:v0.20.0
      volumeMounts: [{name: models, mountPath: /models}]
"""


def test_a_pod_without_the_volumes_that_it_mounts_is_an_excerpt() -> None:
    whole = POD + "  volumes: [{name: models, emptyDir: {}}]\n"

    assert said(guide__md=f"```yaml\n{POD}```\n") == []
    assert said(guide__md=f"```yaml\n{whole}```\n") == ["GPU1238"]
    assert said(pod__yaml=whole) == ["GPU1238"]


INSTALL = """\
helm install gpu-operator nvidia/gpu-operator --version v25.3.3 --set mig.strategy=single
kubectl patch clusterpolicies.nvidia.com/cluster-policy --type json \\
  -p '[{"op": "OP", "path": "/spec/mig/strategy", "value": "mixed"}]'
"""
MIG_POD = POD.replace("volumeMounts: [{name: models, mountPath: /models}]", "args: [--version]")
MIG_POD = MIG_POD.rstrip() + "\n      resources: {limits: {nvidia.com/mig-3g.47gb: 1}}\n"


@pytest.mark.parametrize(("operation", "wrong"), [("replace", False), ("remove", True)])
def test_a_json_patch_changes_the_strategy_of_an_installed_operator(
    operation: str, wrong: bool
) -> None:
    script = INSTALL.replace("OP", operation)

    assert ("GPU1206" in said(up__sh=script, pod__yaml=MIG_POD)) == wrong


def test_what_is_to_be_filled_in_may_be_a_comment_in_brackets() -> None:
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  key: [VALUE \n"

    assert said(token__yaml=text.replace("VALUE", "#your key]")) == []
    assert said(token__yaml=text.replace("VALUE", "a b: ,,")) == ["GPU1000"]


GPU_POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    spec:
      nodeClassRef: {MOREname: gpu}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}
"""


@pytest.mark.parametrize(
    ("more", "codes"), [("", []), ("group: a, kind: b, ", ["GPU1078", "GPU1079"])]
)
def test_a_guide_shows_a_pool_without_what_the_api_needs(more: str, codes: list[str]) -> None:
    pool = GPU_POOL.replace("MORE", more)
    found = said(guide__md=f"```yaml\n{pool}```\n")

    assert [code for code in found if code in {"GPU1078", "GPU1079"}] == codes


@pytest.mark.parametrize(("selector", "wrong"), [("", False), ("selector: {a: b}", True)])
def test_a_deployment_in_a_guide_without_its_selector_is_an_excerpt(
    selector: str, wrong: bool
) -> None:
    pod = "    spec:\n      containers:\n        - {name: a, image: 'vllm/vllm-openai:v0.20.0'}\n"
    text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n"
    text += f"  {selector}\n  template:\n{pod}"

    assert ("GPU1238" in said(guide__md=f"```yaml\n{text}```\n")) == wrong
    assert "GPU1238" in said(server__yaml=text)


@pytest.mark.parametrize(("value", "wrong"), [("{}", False), ("{a: b}", True)])
def test_a_default_that_nothing_reads_may_be_copied(value: str, wrong: bool) -> None:
    values = "devicePlugin: {enabled: true}\nmig: {strategy: single}\ndriver:\n"
    values += f"  nvidiaDriverCRD: {{nodeSelector: {value}}}\n"

    assert ("GPU1035" in said(gpu_operator_values__yaml=values)) == wrong


LABELLED = GPU_POOL.replace("MORE", "group: karpenter.k8s.aws, kind: EC2NodeClass, ").replace(
    "  template:\n", '  template:\n    metadata: {labels: {KEY: "true"}}\n'
)
SELECTING = """\
template:
  spec:
    nodeSelector: {nvidia.com/gpu.shared: "true"}
    containers: [{name: runner, image: "example.com/runner:1"}]
"""


@pytest.mark.parametrize(("key", "wrong"), [("nvidia.com/gpu.shared", False), ("team", True)])
def test_pools_of_another_folder_may_give_nodes_a_label_with_the_name_of_a_resource(
    key: str, wrong: bool, tmp_path: Path, run: Run
) -> None:
    files = {"nodes/pool__yaml": LABELLED.replace("KEY", key), "runners/t4__yaml": SELECTING}

    assert ("GPU1205" in said(**files)) == wrong
    for name, text in files.items():
        file = tmp_path / name.replace("__", ".")
        file.parent.mkdir()
        file.write_text(text)
    assert ("GPU1205" in run("lint", "--quiet", "--no-config", str(tmp_path)).out) == wrong


def test_one_finding_of_two_severities_is_told_once_and_is_the_worst() -> None:
    """Values that a script installs are looked at by themselves, and as the release's."""
    file = FileInReading("values.yaml")
    for severity in ("warning", "error", "info"):
        found = BY_HAND.finding(("a",), "It is so.", "Let it be.", severity)
        file.found.append(Placed(found, None))
    (placed,) = file.report(date(2026, 11, 28)).found

    assert placed.finding.severity == "error"


SHARES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: shares, namespace: kube-system}
data:
  any: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""
FLUX = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: plugin SPACE}
spec:
  chart: {spec: {chart: nvidia-device-plugin, version: 0.18.0}}
  values: {config: {name: shares}}
"""


@pytest.mark.parametrize(("space", "wrong"), [("", False), (", namespace: default", True)])
def test_a_release_without_a_namespace_goes_where_its_kustomization_says(
    space: str, wrong: bool
) -> None:
    """Flux's `targetNamespace` stands in another file, and is of all that a folder has."""
    release = FLUX.replace(" SPACE", space)

    assert ("GPU1120" in said(release__yaml=release, shares__yaml=SHARES)) == wrong


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (f"{POD}---\n\ufeff{POD}", False),
        (POD.replace("spec:", "\ufeff\nspec:"), False),
        (POD.replace("spec:", "\ufeff# of ours\nspec:"), False),
        (POD.replace("kind:", "\ufeffkind:"), True),
        (f"{POD}\ufeff---\n{POD}", True),
    ],
)
def test_a_byte_order_mark_at_the_start_of_a_line_is_what_libyaml_says(
    text: str, wrong: bool
) -> None:
    """Go's reader is libyaml's; kubectl parts documents before it reads them."""
    parts = re.split(r"^---\n", text, flags=re.MULTILINE)
    try:
        documents = [yaml.load(part, Loader=yaml.CSafeLoader) for part in parts]
        refused = not all(isinstance(each, dict) for each in documents)
    except yaml.YAMLError:
        refused = True

    assert refused == wrong
    assert ("GPU1000" in said(pods__yaml=text)) == wrong


OF_PARTS = """\
# Parts of GPUs

```bash
helm install gpu-operator nvidia/gpu-operator -n gpus
```

```yaml
# both kinds of resources
COMMAND
```

```yaml
apiVersion: v1
kind: Pod
metadata: {name: part}
spec:
  containers:
    - name: cuda
      image: nvcr.io/nvidia/pytorch:25.01-py3
      resources: {limits: {nvidia.com/mig-1g.5gb: 1}}
```
"""


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ("helm upgrade gpu-operator nvidia/gpu-operator -n gpus --set mig.strategy=mixed", False),
        ("$ helm upgrade gpu-operator nvidia/gpu-operator -n gpus --set mig.strategy=mixed", False),
        ("helm: {mig: mixed}", True),
        ("helm values: {mig: mixed}", True),
    ],
)
def test_a_guide_may_call_commands_yaml(command: str, wrong: bool) -> None:
    assert ("GPU1206" in said(guide__md=OF_PARTS.replace("COMMAND", command))) == wrong


OF_SOMEBODY = """\
apiVersion: GROUP
kind: TrainJob
metadata: {name: train}
spec:
  trainer:
    image: example.com/train:1.0.0
    resourcesPerNode: RESOURCES
"""


@pytest.mark.parametrize(
    ("group", "resources", "wrong"),
    [
        ("trainer.kubeflow.org/v1alpha1", "{requests: {nvidia.com/gpu: 2}}", True),
        ("ml.example.com/v1", "{requests: {nvidia.com/gpu: 2}}", False),
        ("ml.example.com/v1", "{requests: {nvidia.com/gpu: 2}, limits: {nvidia.com/gpu: 1}}", True),
        ("ml.example.com/v1", "{limits: {nvidia.com/gpu: 0.5}}", True),
    ],
)
def test_what_a_kind_of_somebodys_makes_of_requests_is_not_known(
    group: str, resources: str, wrong: bool
) -> None:
    text = OF_SOMEBODY.replace("GROUP", group).replace("RESOURCES", resources)

    assert ("GPU1114" in said(job__yaml=text)) == wrong


AGENT = """\
#!/bin/bash
FILLED
while true; do
  kubectl label node "${NODE_NAME}" gpu-health=pass --overwrite
  sleep 60
done
"""


@pytest.mark.parametrize(
    ("filled", "wrong"),
    [
        (': "${NODE_NAME:?from the pod}"', False),
        ("NODE_NAME=${NODE_NAME:-}", False),
        ("NODE_NAME=$1", True),
        ("read -r NODE_NAME", True),
    ],
)
def test_what_each_nodes_own_pod_puts_on_it_others_get_too(filled: str, wrong: bool) -> None:
    assert ("GPU1062" in said(agent__sh=AGENT.replace("FILLED", filled))) == wrong


SWEEP = """\
#!/bin/bash
TAINT="example.com/gpu-sweep=now:NoSchedule"
kubectl taint node "$1" "${TAINT}"
./check.sh "$1"
OFF
"""


@pytest.mark.parametrize(
    ("off", "wrong"),
    [
        ('kubectl taint node "$1" "${TAINT}-"', False),
        ('kubectl taint node "$1" example.com/gpu-sweep-', False),
        ('kubectl taint node "$1" example.com/other-', True),
    ],
)
def test_a_taint_that_a_script_takes_off_again_is_a_state(off: str, wrong: bool) -> None:
    assert ("GPU1062" in said(sweep__sh=SWEEP.replace("OFF", off))) == wrong


ELECTED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: scheduler, namespace: gpus}
spec:
  selector: {matchLabels: {app: scheduler}}
  template:
    metadata: {labels: {app: scheduler}}
    spec: {containers: [{name: main, image: "example.com/scheduler:1.0.0"}]}
---
apiVersion: v1
kind: Service
metadata: {name: scheduler, namespace: gpus}
spec:
  selector: {app: scheduler, LABEL}
  ports: [{port: 80}]
"""


@pytest.mark.parametrize(
    ("label", "wrong"),
    [("example.com/role: leader", False), ("role: Leader", False), ("role: scheduler", True)],
)
def test_a_program_labels_the_pod_that_is_chosen(label: str, wrong: bool) -> None:
    assert ("GPU1192" in said(pods__yaml=ELECTED.replace("LABEL", label))) == wrong


@pytest.mark.parametrize(
    ("where", "wrong"), [("the kind cluster", False), ("this kind of cluster", True)]
)
def test_nodes_of_kind_are_replaced_by_nobody(where: str, wrong: bool) -> None:
    script = f"# Taints of {where}, as EKS has them.\nkubectl taint node $1 gpu=yes:NoSchedule\n"

    assert ("GPU1062" in said(taint__sh=script)) == wrong


WAYS = """\
helm install gpu nvidia/gpu-operator -n gpu --set mig.strategy=mixed,driver.enabled=false
helm VERB gpu nvidia/gpu-operator -n gpu --set mig.strategy=single,driver.enabled=false
"""
SLICE = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - name: a
    image: x:1
    resources: {limits: {nvidia.com/mig-2g.10gb: 1}}
"""


@pytest.mark.parametrize(
    ("verb", "is_guide", "wrong"),
    [
        ("install", True, False),
        ("upgrade --install", True, False),
        ("upgrade", True, True),  # a step after the one before
        ("upgrade --install", False, True),
    ],
)
def test_a_guide_that_installs_a_release_twice_shows_two_ways(
    verb: str, is_guide: bool, wrong: bool
) -> None:
    commands = WAYS.replace("VERB", verb)
    files = (
        {"guide__md": f"# Ways\n\n```bash\n{commands}```\n"} if is_guide else {"up__sh": commands}
    )

    assert ("GPU1206" in said(**files, pod__yaml=SLICE)) == wrong


def test_an_upgrade_that_resets_values_has_none_of_those_before() -> None:
    command = "helm upgrade --install gpu nvidia/gpu-operator -n gpu"
    script = f"{command} --set mig.strategy=mixed\n{command} --reset-values\n"

    assert "GPU1206" in said(up__sh=script, pod__yaml=SLICE)
    assert "GPU1206" not in said(up__sh=script.replace("reset", "reuse"), pod__yaml=SLICE)


@pytest.mark.parametrize(
    ("first", "then", "wrong"),
    [
        ("mig.strategy=single,toolkit.enabled=true", "mig.strategy=single", True),
        (
            "mig.strategy=single,toolkit.enabled=true",
            "mig.strategy=single,toolkit.enabled=no",
            True,
        ),
        ("mig.strategy=single,mig.more=1", "mig.strategy=single,mig.more=2", True),
        ("mig=single", "mig.strategy=single", False),
        ("mig.strategy=mixed", "mig=single", False),
    ],
)
def test_what_both_ways_say_holds(first: str, then: str, wrong: bool) -> None:
    command = "helm install gpu nvidia/gpu-operator -n gpu --set"
    guide = f"# Ways\n\n```bash\n{command} {first}\n{command} {then}\n```\n"

    assert ("GPU1206" in said(guide__md=guide, pod__yaml=SLICE)) == wrong
