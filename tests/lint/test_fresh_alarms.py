"""What was said of a second row of public repositories and was not so, in our own words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.lint.test_public_alarms import said

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
oc -n machines patch machineset gpu --type=merge \\
  --patch '{"spec": {"metadata": {"labels": {"KEY": "four"}}}}'
"""


@pytest.mark.parametrize(
    ("key", "wrong"), [("nvidia.com/device-plugin.config", False), ("team", True)]
)
def test_what_nodes_get_that_come_later_stands_beside(key: str, wrong: bool) -> None:
    script = "oc label node -l gpu=yes nvidia.com/device-plugin.config=four\n"

    assert ("GPU1062" in said(up__sh=script + PATCH.replace("KEY", key))) == wrong


@pytest.mark.parametrize(
    ("head", "code"), [('"swagger": "2.0"', 0), ('"apiVersion": "v1", "kind": "List"', 2)]
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
