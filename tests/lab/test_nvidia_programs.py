"""NVIDIA's programs in place of the simulated node, with programs of the tests' own for them."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import nvidia_folder
import pytest

from eks_gpushare_lab.nvidia import programs
from eks_gpushare_lab.nvidia import trial as trials
from eks_gpushare_lab.nvidia.mock_gpus import configuration
from eks_gpushare_lab.nvidia.trial import Trial, TrialNode, TrialProgram, trial
from eks_gpushare_lab.simulated_node.gpus import MigInstance, SimulatedGpu, whole
from eks_gpushare_lab.simulated_node.hardware import hardware_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eks_gpushare_lab.simulated_node.hardware import Hardware

KIND = "g4dn.12xlarge"
COMPONENTS = Path(__file__).parents[2] / "components"
PROGRAM = TrialProgram(("--flag",), {"MIG_STRATEGY": "single"}, "version: v1\n")


def machine(kind: str = KIND) -> Hardware:
    found = hardware_of(kind)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nvidia_folder.make(tmp_path_factory.mktemp("nvidia") / "programs")


@pytest.fixture
def place(folder: Path, tmp_path: Path) -> Iterator[Trial]:
    node = TrialNode("gpu-0", KIND, configuration(machine(), whole(4)), mig=False)
    with trial(folder, node, tmp_path / "work") as made:
        yield made


def log(tmp_path: Path) -> str:
    return (tmp_path / "work" / "nvidia-device-plugin.log").read_text(encoding="utf-8")


def test_the_library_is_asked_what_it_shows(place: Trial) -> None:
    assert place.gpus() == [{"name": "Tesla T4", "mig": False, "instances": None}] * 4


def test_healthy_devices_of_each_resource_are_counted(folder: Path, place: Trial) -> None:
    nvidia_folder.tell(folder, plugin={"registers": {"nvidia.com/gpu": 40, "nvidia.com/x": 2}})

    said = place.plugin(PROGRAM, {"nvidia.com/gpu": 40, "nvidia.com/x": 2})

    assert (said.found, said.why) == ({"nvidia.com/gpu": 40, "nvidia.com/x": 2}, "")


def test_a_program_gets_what_its_pod_has(folder: Path, place: Trial, tmp_path: Path) -> None:
    nvidia_folder.tell(folder, plugin={})
    place.plugin(PROGRAM, {})
    said = log(tmp_path)

    assert "configuration 'version: v1\\n'\n" in said
    assert "arguments ['--flag'] strategy single\n" in said


def test_a_program_sees_folders_of_its_own(folder: Path, place: Trial, tmp_path: Path) -> None:
    before = sorted(Path("/var/lib").iterdir()), Path("/proc/self/mounts").read_text("utf-8")
    nvidia_folder.tell(folder, plugin={"registers": {"nvidia.com/gpu": 1}})
    place.plugin(PROGRAM, {})
    after = sorted(Path("/var/lib").iterdir()), Path("/proc/self/mounts").read_text("utf-8")

    assert "/var/lib ['eks-gpushare', 'kubelet']\n/run []\n" in log(tmp_path)
    assert before == after


def test_a_program_ends_with_its_trial(
    folder: Path, place: Trial, tmp_path: Path, runs: Callable[[int], bool]
) -> None:
    nvidia_folder.tell(folder, plugin={"registers": {"nvidia.com/gpu": 1}})
    place.plugin(PROGRAM, {})
    (pid,) = re.findall(r"pid (\d+)", log(tmp_path))

    assert not runs(int(pid))


def test_nothing_is_left_of_a_trial(folder: Path, tmp_path: Path) -> None:
    node = TrialNode("gpu-0", KIND, configuration(machine(), whole(4)), mig=True)
    with pytest.raises(KeyboardInterrupt), trial(folder, node, tmp_path / "work"):
        raise KeyboardInterrupt

    assert list(tmp_path.iterdir()) == []


def test_a_program_dies_with_the_lab(
    folder: Path,
    tmp_path: Path,
    python: Callable[..., subprocess.Popen[str]],
    eventually: Callable[..., bool],
    runs: Callable[[int], bool],
) -> None:
    nvidia_folder.tell(folder, plugin={"silent": True})
    code = f"""
import sys
from pathlib import Path
from eks_gpushare_lab.nvidia.trial import TrialNode, TrialProgram, trial
node = TrialNode("gpu-0", {KIND!r}, {configuration(machine(), whole(4))!r}, False)
with trial(Path({str(folder)!r}), node, Path({str(tmp_path / "work")!r})) as place:
    place.plugin(TrialProgram((), {{}}, None), {{}})
"""
    killed = python("-c", code)
    file = tmp_path / "work" / "nvidia-device-plugin.log"
    assert eventually(lambda: file.exists() and "pid" in file.read_text("utf-8"))
    (pid,) = re.findall(r"pid (\d+)", file.read_text(encoding="utf-8"))
    killed.send_signal(signal.SIGKILL)
    killed.wait()

    assert eventually(lambda: not runs(int(pid)))


def test_the_last_lines_of_a_program_that_ends_are_told(folder: Path, place: Trial) -> None:
    nvidia_folder.tell(folder, plugin={"ends": "error starting plugins: no"})
    said = place.plugin(PROGRAM, {})

    assert said.found is None
    assert said.why.startswith("nvidia-device-plugin ends with exit code 1: ")
    assert said.why.endswith(" / error starting plugins: no")


def test_a_plugin_without_devices_registers_none(folder: Path, place: Trial) -> None:
    nvidia_folder.tell(folder, plugin={})

    assert place.plugin(PROGRAM, {}).found == {}


def test_a_plugin_that_does_not_come_to_it_is_given_up(
    folder: Path, place: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "SECONDS", 0.5)
    nvidia_folder.tell(folder, plugin={"silent": True})
    said = place.plugin(PROGRAM, {})

    assert said.found is None
    assert said.why.startswith("nvidia-device-plugin registers no more within ")


def test_a_list_that_is_too_long_is_refused_as_the_kubelet_does(folder: Path, place: Trial) -> None:
    nvidia_folder.tell(folder, plugin={"registers": {"nvidia.com/gpu": 200_000}})
    said = place.plugin(PROGRAM, {})

    assert said.found == {}
    assert said.why.startswith("the kubelet does not take its list of nvidia.com/gpu: ")
    assert "larger than max" in said.why


def test_another_version_of_the_api_is_refused(folder: Path, place: Trial) -> None:
    nvidia_folder.tell(folder, plugin={"registers": {"nvidia.com/gpu": 1}, "version": "v1"})
    said = place.plugin(PROGRAM, {})

    assert said.found is None
    assert "requested version 'v1' is not supported: v1beta1 is" in said.why


def test_labels_are_those_of_the_file(folder: Path, place: Trial) -> None:
    nvidia_folder.tell(folder, discovery={"labels": {"nvidia.com/gpu.count": 4}})

    assert place.discovery(PROGRAM).found == {
        "nvidia.com/gpu.count": "4",
        "nvidia.com/gpu.machine": KIND,
    }


def test_a_discovery_that_fails_says_why(folder: Path, place: Trial) -> None:
    nvidia_folder.tell(folder, discovery={"ends": "no NVML"})
    said = place.discovery(PROGRAM)

    assert (said.found, said.why) == (None, "gpu-feature-discovery ends with exit code 1: no NVML")


def test_a_mock_is_told_of_each_gpu_and_its_instances() -> None:
    split = SimulatedGpu(mig=True, instances=(MigInstance("3g.20gb", 4),))
    text = configuration(machine("p4d.24xlarge"), (split, SimulatedGpu()))

    assert '"name": "NVIDIA A100-SXM4-40GB"' in text
    assert '"total_bytes": 42949672960' in text
    assert '"mode_current": "enabled"' in text
    assert '"profile": "3g.20gb"' in text
    assert '"placement_start": 4' in text
    assert text.count('"instances": [') == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("missing", "nvidia-device-plugin is not there"),
        ("mode", "gpu-feature-discovery is not executable (chmod +x)"),
        ("text", "libnvidia-ml.so.1 is no program or library of Linux"),
        ("other", "libnvidia-ml.so.1 is for ELF machine 0x16, and this machine is "),
    ],
)
def test_a_folder_is_refused_for_what_is_wrong_in_it(
    tmp_path: Path, change: str, said: str
) -> None:
    here = Path(sys.executable).resolve().read_bytes()[:20]
    for name in programs.FILES:
        (tmp_path / name).write_bytes(here)
        (tmp_path / name).chmod(0o755)
    programs.folder_of(str(tmp_path))
    if change == "missing":
        (tmp_path / programs.FILES[0]).unlink()
    elif change == "mode":
        (tmp_path / programs.FILES[1]).chmod(0o644)
    elif change == "text":
        (tmp_path / programs.LIBRARY).write_text("hello", encoding="ascii")
    else:
        (tmp_path / programs.LIBRARY).write_bytes(here[:18] + b"\x16\x00")
    with pytest.raises(programs.NvidiaFolderError) as refused:
        programs.folder_of(str(tmp_path))

    assert said in str(refused.value)
    assert str(refused.value).endswith(
        "; it has to hold nvidia-device-plugin, gpu-feature-discovery and libnvidia-ml.so.1, as "
        "NVIDIA's images do"
    )


def test_all_that_is_missing_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(programs.NvidiaFolderError) as refused:
        programs.folder_of(str(tmp_path))

    assert str(refused.value).count(" is not there") == 3


def test_no_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(programs.NvidiaFolderError, match="is no folder"):
        programs.folder_of(str(tmp_path / "none"))


@pytest.mark.parametrize("unset", ["", " "])
def test_an_empty_name_is_not_the_folder_that_one_is_in(unset: str) -> None:
    with pytest.raises(programs.NvidiaFolderError, match=r"^no folder is named; it has to hold"):
        programs.folder_of(unset)


AS_ANOTHER = """
import ctypes, os, sys
from pathlib import Path
from eks_gpushare_lab.errors import LabError
from eks_gpushare_lab.nvidia import mounts
user, group = os.geteuid(), os.getegid()
if ctypes.CDLL(None).unshare(0x10000000):  # CLONE_NEWUSER
    sys.exit("no user namespace")
ids = {"uid_map": f"1000 {user} 1", "setgroups": "deny", "gid_map": f"1000 {group} 1"}
for name, text in ids.items():
    Path("/proc/self", name).write_text(text)
if sys.argv[1:]:
    Path("/proc/sys/user/max_mnt_namespaces").write_text(sys.argv[1])
try:
    mounts.check_namespaces()
except LabError as error:
    print(error)
"""
"""As a user who is not root, with a number of mount namespaces that there may be."""


def as_another(*most: str) -> str:
    command = [sys.executable, "-c", AS_ANOTHER, *most]
    answer = subprocess.run(command, cwd=COMPONENTS, capture_output=True, text=True, check=False)
    if answer.returncode:
        pytest.skip(f"this machine has no user namespaces to try it in: {answer.stderr}")
    return answer.stdout


def test_one_who_is_not_root_gets_a_namespace_too() -> None:
    assert as_another() == ""


def test_a_kernel_that_gives_no_namespace_is_told() -> None:
    assert as_another("0") == (
        "--nvidia starts NVIDIA's programs in a mount namespace, and this machine gives none: "
        "no mount namespace: No space left on device; run it as root, or allow user namespaces "
        "(sysctl kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)\n"
    )
