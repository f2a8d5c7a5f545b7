"""What a program in TypeScript or YAML is told of its mistakes, by compiler, plugin and engine."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.engine.languages import (
    CONFIG,
    EXAMPLES,
    TYPESCRIPT,
    YAML,
    compiled_project,
    copied,
    show,
    skip_without,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.engine.conftest import Engine, Project, Result

pytestmark = [pytest.mark.slow]

POOL = """\
import * as gpushare from "@eks-gpushare/eks-gpushare";

{late}
const right = {{
    pool: "inference",
    clusterName: "shared",
    clusterSubnetIds: ["subnet-1", "subnet-2"],
    instanceTypes: ["g6.xlarge"],
    nodes: {{ min: 0, desired: 1, max: 3 }},
    sharing: {{ mode: "mps", replicas: 4 }},
}};
new gpushare.GpuPool("inference", {{ ...right, {wrong} }} as any);
"""

LATE = 'const late = new gpushare.Network("late", { zones: ["us-west-2a", "us-west-2b"] }).vpcId;'

REFUSALS = {
    "nested": (
        'sharing: { mode: "mps", replicas: 1, repplicas: 4 }, rootVolumeGiB: "100"',
        {
            "sharing.replicas": "1 is less than 2",
            "sharing.repplicas": "repplicas is not a key of this block. Did you mean replicas?",
            "rootVolumeGiB": '"100" is text; a whole number is expected',
        },
    ),
    "lists": (
        'sharing: { mode: "timesharing" }, taints: [{ key: "a", effekt: "NoSchedule" }]',
        {
            "sharing.mode": '"timesharing"',
            "taints[0].effekt": "effekt is not a key of this block. Did you mean effect?",
        },
    ),
    "late number": (
        'sharing: { mode: "mps", replicas: late }',
        {"sharing.replicas": "An output is known too late"},
    ),
    "late block": ("sharing: late", {"sharing": "An output is known too late"}),
    "late item": (
        'instanceTypes: [late, "g6.2xlarge"]',
        {"instanceTypes[0]": "An output is known too late"},
    ),
    "late name": ("pool: late", {"pool": "An output is known too late"}),
    "names of Python": (
        'sharing: { mode: "mps", replicas: 4, replicas_per_gpu: 2 }, taints: [{ kee: "a" }]',
        {
            "sharing.replicas_per_gpu": "replicas_per_gpu is not a key",
            "taints[0].kee": "kee is not a key",
        },
    ),
    "no shape": (
        'instanceTypes: "g6.xlarge", nodes: [], sharing: "mps"',
        {"instanceTypes": "", "nodes": "", "sharing": ""},
    ),
}


@pytest.fixture(scope="module")
def typescript(
    new_engine: Callable[[], Engine], tmp_path_factory: pytest.TempPathFactory
) -> Project:
    skip_without(*TYPESCRIPT.tools)
    directory = tmp_path_factory.mktemp("refused") / "gpus"
    made = compiled_project(TYPESCRIPT, new_engine(), directory)
    made.init("dev", CONFIG)
    return made


def told(result: Result) -> dict[str, str]:
    """Reasons by path, of the one list that the engine printed."""
    said = [each for each in result.errors if "GpuPool: " in each]
    assert len(said) == 1, result.text
    lines = said[0].splitlines()
    assert result.text.count(lines[-1]) == 1, result.text
    for word in ("Traceback", 'File "', "Exception", "Unexpected"):
        assert word not in result.text, result.text
    pairs = (each.strip().partition(": ") for each in lines if each.startswith("  "))
    return {path: reason for path, _, reason in pairs}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_is_one_list_with_the_paths_of_the_program(
    typescript: Project, case: str
) -> None:
    wrong, expected = REFUSALS[case]
    program = POOL.format(wrong=wrong, late=LATE if ": late" in wrong or "[late" in wrong else "")
    (typescript.directory / "index.ts").write_text(program, encoding="utf-8")

    result = typescript.preview("dev", fails=True)
    show(result.text)

    found = told(result)
    assert found.keys() >= expected.keys(), result.text
    for path, reason in expected.items():
        assert reason in found[path]


def test_a_misspelt_key_does_not_compile(typescript: Project) -> None:
    program = POOL.format(wrong="repplicas: 4", late="").replace(" as any", "")
    (typescript.directory / "index.ts").write_text(program, encoding="utf-8")
    done = subprocess.run(
        TYPESCRIPT.compiled, cwd=typescript.directory, capture_output=True, text=True, check=False
    )
    show(done.stdout)

    assert done.returncode != 0
    assert "repplicas" in done.stdout


def test_a_key_that_the_package_leaves_out_is_the_compilers_alone(typescript: Project) -> None:
    """Pulumi's generated class passes on the inputs it knows: a plugin never sees the others."""
    program = POOL.format(wrong="repplicas: 4", late="")
    (typescript.directory / "index.ts").write_text(program, encoding="utf-8")

    assert "repplicas" not in typescript.preview("dev").text


YAML_POOL = """\
name: gpus
runtime: yaml
stackConfigDir: stacks
resources:
  network:
    type: eks-gpushare:Network
    properties:
      zones: [us-west-2a, us-west-2b]
  inference:
    type: eks-gpushare:GpuPool
    properties:
      pool: inference
      clusterName: shared
      clusterSubnetIds: [subnet-1, subnet-2]
      instanceTypes: [g6.xlarge]
      sharing: { mode: mps, replicas: 4 }
      {wrong}
"""

YAML_REFUSALS = {
    "key of the component": ("repplicas: 4", "repplicas"),
    "key of a block": ("nodes: { min: 0, maks: 3 }", "maks"),
    "key of an item": ("taints: [{ key: a, effekt: NoSchedule }]", "effekt"),
    "value": (
        "nodes: { min: 3, max: 1 }",
        "nodes: min 3, desired 3 and max 1 are not in this order",
    ),
    "type": ("rootVolumeGiB: much", "rootVolumeGiB"),
    "late": ("amiVersion: ${network.vpcId}", "amiVersion: An output is known too late"),
}


@pytest.fixture(scope="module")
def yaml_program(
    new_engine: Callable[[], Engine], tmp_path_factory: pytest.TempPathFactory
) -> Project:
    skip_without(*YAML.tools)
    directory = tmp_path_factory.mktemp("yaml") / "gpus"
    made = copied(new_engine(), EXAMPLES / "yaml", directory)
    made.init("dev", CONFIG)
    return made


@pytest.mark.parametrize("case", YAML_REFUSALS)
def test_yaml_is_told_where_it_is_wrong(yaml_program: Project, case: str) -> None:
    wrong, says = YAML_REFUSALS[case]
    program = YAML_POOL.replace("{wrong}", wrong)
    (yaml_program.directory / "Pulumi.yaml").write_text(program, encoding="utf-8")

    result = yaml_program.preview("dev", fails=True)
    show(result.text)

    assert says in result.text
    assert not any(word in result.text for word in ("Traceback", 'File "', "Unexpected <"))
