"""`eks-gpushare lab run --engine`: a stack's Kubernetes half on the lab by the real engine.

Wanted: `pulumi-resource-kubernetes` on PATH, the lab's programs (`eks-gpushare lab up` builds
them), and NVIDIA's chart on disk, named by the environment variable EKS_GPUSHARE_TEST_CHART. With
EKS_GPUSHARE_TEST_CHARTS, a folder of charts, also the GPU Operator's, and with
EKS_GPUSHARE_TEST_SCALING besides a workload that KEDA scales.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.catalog import versions
from eks_gpushare.stack_file.yaml import read
from eks_gpushare_lab.binaries import build

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.engine.conftest import Edit, StackFile

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CHART = "EKS_GPUSHARE_TEST_CHART"
SCALING = "EKS_GPUSHARE_TEST_SCALING"
CIFAR10 = ROOT / "examples" / "lab" / "exclusive" / "cifar10.yaml"
APP = "gpu-demo/tensorflow-cifar10-deployment"
CODE = "import sys; from eks_gpushare.cli import main; sys.exit(main())"
LIMIT_SECONDS = 240
BUCKET = """
import pulumi_aws
pulumi_aws.s3.Bucket("beside")
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment of the command, with a home for labs that is empty."""
    if shutil.which("pulumi-resource-kubernetes") is None:
        pytest.skip(
            "no pulumi-resource-kubernetes on PATH; "
            "how to get it: https://github.com/pulumi/pulumi-kubernetes/releases"
        )
    if absent := build.missing():
        pytest.skip(f"the lab has no {', '.join(absent)} yet; `eks-gpushare lab up` builds it")
    home = tmp_path_factory.mktemp("home")
    paths = [str(ROOT / "components"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "XDG_STATE_HOME": str(home / "state"),
        "PULUMI_HOME": str(home / "pulumi"),
    }


@pytest.fixture(scope="module")
def chart() -> str:
    """The device plugin's chart on disk."""
    given = os.environ.get(CHART)
    if not given:
        pytest.skip(f"{CHART} is not set; the top of this file says what it has to name")
    return given


def stack(folder: Path, config: StackFile, chart: str) -> Path:
    """A stack file with the chart from the disk."""
    content = json.loads(json.dumps(config))
    content["eks-gpushare:environment"]["charts"] = {"devicePlugin": {"path": chart}}
    file = folder / "Pulumi.mine.yaml"
    file.write_text(json.dumps({"config": content}), encoding="utf-8")
    return file


def command(file: Path, *more: str, program: Path = ROOT) -> list[str]:
    words = ["lab", "run", str(file), "--program", str(program), "--engine", "--json", *more]
    return [sys.executable, "-P", "-c", CODE, *words]


def lab_run(environment: dict[str, str], words: list[str]) -> tuple[int, dict[str, Any], str]:
    """Exit code, report, and what was told meanwhile."""
    done = subprocess.run(
        words,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_SECONDS,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def labs(environment: dict[str, str]) -> list[Path]:
    return list(Path(environment["XDG_STATE_HOME"]).glob("eks-gpushare/lab/[a-z]*"))


def of_this_run(environment: dict[str, str]) -> list[str]:
    """Command lines of processes that work in a folder of these tests' labs."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str((process / "cwd").readlink()).startswith(environment["XDG_STATE_HOME"]):
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def laid(
    environment: dict[str, str],
    chart: str,
    time_slicing: StackFile,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[int, dict[str, Any], str]:
    """The stack `time-slicing` with twenty pods of the first walkthrough."""
    name = APP.partition("/")[2]
    more = ("--apply", str(CIFAR10), "--scale", f"{name}=20", "--expect", f"{APP}=20")
    file = stack(tmp_path_factory.mktemp("stack"), time_slicing, chart)
    return lab_run(environment, command(file, *more))


Laid = tuple[int, dict[str, Any], str]


def test_a_stack_laid_by_the_engine_runs_its_pods(laid: Laid) -> None:
    code, report, _ = laid

    assert report["findings"] == []
    assert code == 0
    assert report["pools"]["gpu"]["advertised"] == {"nvidia.com/gpu": 40}
    assert report["workloads"][APP]["running"] == 20


def test_the_engine_makes_namespace_config_map_and_release(laid: Laid) -> None:
    engine = laid[1]["engine"]

    assert engine["changes"] == {"create": 3}
    assert engine["resources"] == {
        "Namespace gpushare-device-plugin-namespace": "create",
        "ConfigMap gpushare-device-plugin-config": "create",
        "Release gpushare-device-plugin-release": "create",
    }


def test_it_is_told_what_the_engine_does(laid: Laid) -> None:
    assert "lab: pulumi up: create Release gpushare-device-plugin-release: done\n" in laid[2]


def test_helm_installs_what_the_chart_has(laid: Laid) -> None:
    reached = {name: each["desired"] for name, each in laid[1]["daemonsets"].items()}

    assert reached == {
        "nvidia-device-plugin/nvidia-device-plugin": 1,
        "nvidia-device-plugin/nvidia-device-plugin-gpu-feature-discovery": 1,
        "nvidia-device-plugin/nvidia-device-plugin-mps-control-daemon": 0,
        "nvidia-device-plugin/nvidia-device-plugin-node-feature-discovery-worker": 1,
    }


def test_a_run_leaves_no_lab_no_process_and_no_login(
    laid: Laid, environment: dict[str, str]
) -> None:
    assert laid[0] == 0
    assert labs(environment) == []
    assert of_this_run(environment) == []
    assert not Path(environment["PULUMI_HOME"], "credentials.json").exists()


def errors_of(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (finding["code"], finding["message"])
        for finding in report["findings"]
        if finding["severity"] == "error"
    ]


def test_a_chart_that_is_not_there_is_told_before_the_engine_runs(
    environment: dict[str, str], time_slicing: StackFile, tmp_path: Path
) -> None:
    file = stack(tmp_path, time_slicing, str(tmp_path / "no-chart"))
    code, report, told = lab_run(environment, command(file))

    assert code == 1
    assert errors_of(report) == [("GPU472", f"{tmp_path}/no-chart is not there.")]
    assert "pulumi up" not in told


def test_a_program_that_makes_something_in_aws_is_not_run_by_the_engine(
    environment: dict[str, str], time_slicing: StackFile, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    program.mkdir()
    shutil.copy(ROOT / "Pulumi.yaml", program)
    text = (ROOT / "__main__.py").read_text(encoding="utf-8")
    (program / "__main__.py").write_text(text + BUCKET, encoding="utf-8")
    chart = tmp_path / "chart"
    chart.mkdir()
    (chart / "Chart.yaml").write_text(
        "apiVersion: v2\nname: nvidia-device-plugin\nversion: 0.20.0\n", encoding="utf-8"
    )
    file = stack(tmp_path, time_slicing, str(chart))
    code, report, told = lab_run(environment, command(file, program=program))

    assert code == 1
    assert errors_of(report) == [
        (
            "GPU952",
            "The program makes aws:s3/bucket:Bucket too, which is nothing in Kubernetes.",
        )
    ]
    assert "pulumi up" not in told


def charts_on_disk(folder: Path, *names: str) -> dict[str, str]:
    """Paths of charts, the GPU Operator's with the version that it is published with."""
    given = os.environ.get("EKS_GPUSHARE_TEST_CHARTS")
    lacking = [each for each in names if not given or not Path(given, each).is_dir()]
    if lacking or not given:
        pytest.skip(f"EKS_GPUSHARE_TEST_CHARTS names no folder that has {', '.join(lacking)}")
    found = {each: shutil.copytree(Path(given, each), folder / each) for each in names}
    if "gpu-operator" in found:
        text = (found["gpu-operator"] / "Chart.yaml").read_text(encoding="utf-8")
        # In its repository the chart says that it is a development one.
        text = re.sub(r"(?m)^version:.*$", f"version: {versions.GPU_OPERATOR.version}", text)
        (found["gpu-operator"] / "Chart.yaml").write_text(text, encoding="utf-8")
    return {name: str(path) for name, path in found.items()}


def test_a_stack_of_the_gpu_operator_is_laid_by_its_real_chart(
    environment: dict[str, str], tmp_path: Path
) -> None:
    content: Any = read((ROOT / "stacks" / "Pulumi.gpu-operator.yaml").read_bytes()).value
    path = charts_on_disk(tmp_path, "gpu-operator")["gpu-operator"]
    content["config"]["eks-gpushare:environment"]["charts"] = {"gpuOperator": {"path": path}}
    file = tmp_path / "Pulumi.mine.yaml"
    file.write_text(json.dumps(content), encoding="utf-8")
    code, report, _ = lab_run(environment, command(file))

    assert report["findings"] == []
    assert code == 0
    assert report["pools"]["mig"]["advertised"]["nvidia.com/mig-1g.5gb"] == 56
    assert report["pools"]["slices"]["advertised"] == {"nvidia.com/gpu": 16}


@pytest.mark.skipif(not os.environ.get(SCALING), reason=f"{SCALING} is not set")
def test_a_workload_that_the_engine_has_laid_is_stopped_when_it_is_idle(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """KEDA's chart is the real one; its programs run beside the control plane."""
    stack_file = ROOT / "examples" / "lab" / "use" / "Pulumi.use.yaml"
    content: Any = read(stack_file.read_bytes()).value
    declared = content["config"]["eks-gpushare:environment"]
    for each in ("pools", "workloads"):  # MIG at boot is not for nodes that others make
        del declared[each]["instances"]
    paths = charts_on_disk(tmp_path, "gpu-operator", "keda")
    declared["charts"]["gpuOperator"]["path"] = paths["gpu-operator"]
    declared["charts"]["keda"] = {"path": paths["keda"]}
    declared["keda"]["prometheus"] = {
        "workspaceArn": "arn:aws:aps:us-east-1:111122223333:workspace/ws-1a2b",
        "processMetrics": True,
    }
    file = tmp_path / "Pulumi.mine.yaml"
    file.write_text(json.dumps(content), encoding="utf-8")
    code, report, _ = lab_run(environment, command(file, "--expect=slices=0"))

    assert [each["code"] for each in report["findings"]] == ["GPU980"]
    assert code == 0
    assert report["engine"]["changes"] == {"create": 9}
    assert report["pools"]["slices"]["advertised"] == {"nvidia.com/gpu": 4}
    scaled = report["workloads"]["default/slices"]["scaled"]
    assert [each["replicas"] for each in scaled] == [1, 0]


@pytest.fixture
def running(
    environment: dict[str, str], chart: str, time_slicing: StackFile, tmp_path: Path
) -> Iterator[subprocess.Popen[str]]:
    """A run whose engine has its plugins."""
    process = subprocess.Popen(
        command(stack(tmp_path, time_slicing, chart)),
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "pulumi up: create" in line:
            break
    assert any("pulumi-resource-kubernetes" in each for each in of_this_run(environment))
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_no_process(
    running: subprocess.Popen[str], environment: dict[str, str], number: signal.Signals
) -> None:
    running.send_signal(number)
    running.wait(30)
    end = time.monotonic() + 10
    while of_this_run(environment) and time.monotonic() < end:
        time.sleep(0.1)

    assert of_this_run(environment) == []


@pytest.fixture
def lab_up(environment: dict[str, str]) -> Iterator[None]:
    """A lab that stays up from run to run."""
    lab = [sys.executable, "-P", "-c", CODE, "lab"]
    subprocess.run([*lab, "up"], env=environment, check=True, capture_output=True, timeout=60)
    yield
    subprocess.run([*lab, "down"], env=environment, check=True, capture_output=True, timeout=60)


@pytest.mark.usefixtures("lab_up")
def test_runs_with_and_without_the_engine_follow_each_other_on_one_lab(
    environment: dict[str, str],
    chart: str,
    time_slicing: StackFile,
    edited: Edit,
    tmp_path: Path,
) -> None:
    fewer = edited(time_slicing, "pools.gpu.sharing.replicas", 4)
    found = []
    for config, engine in ((time_slicing, True), (fewer, True), (fewer, False), (fewer, True)):
        words = command(stack(tmp_path, config, chart))
        chosen = words if engine else [word for word in words if word != "--engine"]
        code, report, _ = lab_run(environment, chosen)
        shares = report["pools"]["gpu"]["advertised"]
        found.append((code, shares, "engine" in report, len(report["daemonsets"])))

    assert found == [
        (0, {"nvidia.com/gpu": 40}, True, 4),
        (0, {"nvidia.com/gpu": 16}, True, 4),
        (0, {"nvidia.com/gpu": 16}, False, 4),
        (0, {"nvidia.com/gpu": 16}, True, 4),
    ]
