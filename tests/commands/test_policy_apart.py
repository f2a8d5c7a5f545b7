"""What a program does in its own process changes nothing of what `policy` says of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.conftest import sampled

from eks_gpushare.cli import main

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

POD = """
import pulumi_kubernetes as k8s
k8s.core.v1.Pod("shell", spec={"containers": [
    {"name": "a", "image": "busybox:1.36.1", "securityContext": {"privileged": True}}]})
"""
TRIES = {
    "nothing": "",
    "the pack's rules": "import gpushare_policies.rule as r\n"
    "r.ResourcePolicy._run = r.StackPolicy._run = lambda *_: None",
    "a pack in its place": "import sys, types\n"
    "fake = sys.modules['gpushare_policies'] = types.ModuleType('gpushare_policies')\n"
    "fake.POLICIES = []; fake.NAME = fake.DISPLAY_NAME = fake.DESCRIPTION = 'x'",
    "the analyzer": "import eks_gpushare.program.policies.analyzer as a\n"
    "from eks_gpushare.program.policies.violations import Judged\n"
    "a.judge = lambda *_, **__: Judged([])",
    "the verb": "import eks_gpushare.program_verbs.policy as p\np.FOUND = 0",
    "the SDK": "import pulumi_policy.policy as p\n"
    "p._PolicyAnalyzerServicer.Analyze = lambda *_: None",
    "an exit handler": "import atexit, os\natexit.register(os._exit, 0)",
    "what is printed": "import os, sys\n"
    "os.write(1, b'{\"violations\": []}'); print('{}', file=sys.__stdout__)",
    "the environment": "import os\nos.environ['PYTHONPATH'] = '/nowhere'\nos.chdir('/')",
    "a pack of its own": "",
}


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a program with one stack; it is the working directory."""
    (tmp_path / "Pulumi.yaml").write_text("name: tries\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {aws:region: us-west-2}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("tried", sampled([*TRIES], 2))
def test_a_program_does_not_switch_the_pack_off(
    tried: str, program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (program / "__main__.py").write_text(TRIES[tried] + POD)
    if tried == "a pack of its own":
        for folder in ("policies", "gpushare_policies", "pulumi_policy"):
            (program / folder).mkdir()
            (program / folder / "__init__.py").write_text("POLICIES = []\n")
            (program / folder / "PulumiPolicy.yaml").write_text("runtime: python\n")

    code = main(["policy", "dev", "--json"])
    (found,) = json.loads(capfd.readouterr().out)["violations"]

    assert (code, found["policy"], found["level"]) == (1, "pods-not-privileged", "mandatory")


ENDS = {
    "ends by itself, with exit code 0": "import ctypes; ctypes.CDLL(None)._exit(0)",
    "was ended by SIGKILL": "import ctypes, os; ctypes.CDLL(None).kill(os.getpid(), 9)",
    "its process told something else": "import os; [os.write(n, (2).to_bytes(8) + b'{}') "
    "for n in range(200, 220) if os.path.exists(f'/proc/self/fd/{n}')]",
}


@pytest.mark.parametrize("said", ENDS)
def test_a_program_that_never_tells_what_it_registers_is_refused(
    said: str, program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (program / "__main__.py").write_text(ENDS[said])

    assert main(["policy", "dev"]) == 1
    assert said.replace("ends by", "ended by") in " ".join(capfd.readouterr().err.split())


BUCKET = "import pulumi_aws as aws\naws.s3.Bucket('b')\n"


def test_a_program_that_registers_nothing_is_refused(
    program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (program / "__main__.py").write_text("import pulumi\npulumi.export('a', 1)\n")

    assert main(["policy", "dev"]) == 1
    assert "registers no resource: there is nothing to judge." in capfd.readouterr().err


def test_a_state_without_resources_cannot_be_used(
    program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (program / "state.json").write_text('{"version": 3, "deployment": {"resources": []}}')

    assert main(["policy", "--state", "state.json"]) == 2
    assert capfd.readouterr() == (
        "",
        "eks-gpushare: state.json holds no resources: there is nothing to judge\n",
    )


def test_what_no_rule_knows_is_told(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (program / "__main__.py").write_text(BUCKET)

    assert main(["policy", "dev"]) == 0
    told = "0 resources judged, 1 of types that no rule knows: 1 aws:s3/bucket:Bucket."
    assert told in capfd.readouterr().out
    assert main(["policy", "dev", "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert document["coverage"] == {"judged": 0, "unknown": {"aws:s3/bucket:Bucket": 1}}


@pytest.mark.parametrize("variable", ["AWS_REGION", "AWS_DEFAULT_REGION"])
def test_the_region_of_the_environment_serves_where_a_stack_names_none(
    variable: str, program: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (program / "Pulumi.dev.yaml").unlink()
    asks = "import os\nassert os.environ['AWS_REGION'] == 'eu-west-1'\n"
    (program / "__main__.py").write_text(f"{asks}{BUCKET}aws.get_availability_zones()\n")
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.setenv(variable, "eu-west-1")

    assert main(["policy", str(program)]) == 0
    told = "assumed: The region is eu-west-1, as the environment says, since the stack names none."
    assert told in capfd.readouterr().out


@pytest.mark.parametrize(("preset", "code"), [("baseline", 0), ("recommended", 1), ("strict", 1)])
def test_a_preset_decides_the_levels(
    preset: str, code: int, program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (program / "__main__.py").write_text(POD)

    assert main(["policy", "dev", "--preset", preset, "--json"]) == code
    (found,) = json.loads(capfd.readouterr().out)["violations"]
    assert found["policy"] == "pods-not-privileged"


def test_a_level_of_ones_own_is_over_that_of_a_preset(
    program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (program / "__main__.py").write_text(POD)
    (program / "own.json").write_text('{"pods-not-privileged": "mandatory"}')

    assert main(["policy", "dev", "--preset", "baseline", "--config", "own.json"]) == 1
    assert main(["policy", "dev", "--preset", "baseline", "--pack", str(program)]) == 2
    assert "--preset is of the pack of this package" in capfd.readouterr().err
