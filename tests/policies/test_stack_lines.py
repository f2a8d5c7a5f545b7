"""Where in a stack file a resource comes from."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from eks_gpushare.program.policies import stack_lines as rooms
from eks_gpushare.program.policies.stack_lines import stack_lines
from eks_gpushare.program.preview import locate, preview

if TYPE_CHECKING:
    from tests.conftest import Run

    from eks_gpushare.program.preview import Preview

pytestmark = pytest.mark.sdk_internals

ROOT = Path(__file__).parents[2]
ENVIRONMENT = "eks-gpushare:index:GpuSharingEnvironment"


@cache
def previewed(stack: str) -> Preview:
    file = ROOT / "stacks" / f"Pulumi.{stack}.yaml"
    return preview(*locate(str(file), str(ROOT)))


def line_of(stack: str, *path: str) -> int:
    """The line of a key, as PyYAML has it."""
    text = (ROOT / "stacks" / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8")
    node: Any = yaml.compose(text)
    line = 0
    for step in ("config", "eks-gpushare:environment", *path):
        for key, value in node.value:
            if key.value == step:
                node, line = value, key.start_mark.line + 1
    return line


@pytest.mark.parametrize(
    ("stack", "name", "path"),
    [
        ("multi-tenant", "gpushare-notebooks", ("pools", "notebooks")),
        ("multi-tenant", "gpushare-inference", ("pools", "inference")),
        ("multi-tenant", "gpushare-cluster", ("cluster",)),
        ("multi-tenant", "gpushare-device-plugin-config", ("gpuStack",)),
        ("multi-tenant", "gpushare", ()),
        ("serve", "gpushare-slices", ("pools", "slices")),
        ("serve", "gpushare-workload-gpu-mig", ("workloads", "gpu-mig")),
        ("serve", "gpushare-keda", ("keda",)),
    ],
)
def test_a_resource_is_at_the_key_that_declares_it(
    stack: str, name: str, path: tuple[str, ...]
) -> None:
    shown = previewed(stack)
    assert shown.recording is not None
    lines = stack_lines(shown.recording, shown.report)
    found = [lines[each.urn] for each in shown.recording.resources if each.name == name]

    assert set(found) == {line_of(stack, *path)}


def test_every_part_of_an_environment_has_its_place() -> None:
    for stack in ("multi-tenant", "serve", "cluster-autoscaler"):
        recording = previewed(stack).recording
        assert recording is not None
        (environment,) = recording.of_type(ENVIRONMENT)
        parts = {
            each.type.rpartition(":")[2]
            for each in recording.resources
            if each.parent == environment.urn and each.type.startswith("eks-gpushare:")
        }

        known = {*rooms._BLOCKS, *rooms._NAMED}  # noqa: SLF001  (what is held complete)
        assert parts - known <= {"DeletionProtection"}


def test_what_is_below_a_part_is_at_its_line() -> None:
    shown = previewed("multi-tenant")
    assert shown.recording is not None
    lines = stack_lines(shown.recording, shown.report)
    wanted = line_of("multi-tenant", "pools", "tenants")

    below = [u for u in lines if "GpuPool$" in u and "::gpushare-tenants" in u]

    assert len(below) > 2
    assert {lines[urn] for urn in below} == {wanted}


def test_a_program_with_an_environment_in_python_has_lines_of_its_own(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "Pulumi.yaml").write_text("{name: mine, runtime: {name: python}}\n")
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {aws:region: us-west-2}\n")
    (tmp_path / "__main__.py").write_text(
        "import eks_gpushare\n"
        "\n"
        "eks_gpushare.GpuSharingEnvironment(\n"
        '    "mine",\n'
        '    {"region": "us-west-2", "cluster": {"name": "mine", "version": "1.35"},\n'
        '     "availability_zones": ["us-west-2a", "us-west-2b", "us-west-2c"],\n'
        '     "pools": {"gpu": {"instance_types": ["g5.xlarge"],\n'
        '        "sharing": {"mode": "timeSlicing", "replicas": 10}}}},\n'
        ")\n"
    )

    ran = run("policy", "dev", "--output", "github", cwd=tmp_path)

    assert "::warning file=__main__.py,line=3,title=time-slicing-replicas::" in ran.out


def test_the_command_marks_the_line_of_the_stack_file(run: Run) -> None:
    ran = run("policy", "time-slicing", "--output", "github")

    line = line_of("time-slicing", "gpuStack")
    assert ran.out.startswith(
        f"::warning file=stacks/Pulumi.time-slicing.yaml,line={line},title=time-slicing-replicas::"
    )
