"""The script that cuts a node's GPUs at boot, as rendered, run by bash on machines without GPUs.

`nvidia-smi` is fake_nvidia_smi.py. `systemctl` and `sync` do nothing but note it, and `sleep` only
moves the machine's clock on. Of other programs only those that the script may count on are within
its reach.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.conftest import sampled
from tests.unit.fake_nvidia_smi import answering, client

from eks_gpushare.documents.mig_boot import MIG_SCRIPT, MigBoot, mig_boot_part

if TYPE_CHECKING:
    from pathlib import Path

TAINT = "eks-gpushare/mig=failed:NoSchedule"
BALANCED = ((9, 4), (14, 2), (19, 0), (19, 1))
SEVENTHS = tuple((19, start) for start in range(7))
A100 = "A100-SXM4-40GB"
DROPIN = "etc/eks/nodeadm.d/zz-eks-gpushare-mig.yaml"
GUARD = "var/lib/eks-gpushare/mig/reboot-attempted"
SETTLED = "run/eks-gpushare/mig-settled"
TOOLS = ["bash", "cat", "chmod", "cut", "date", "env", "grep", "jq", "mkdir", "mv", "rm", "seq"]
TOOLS += ["sort", "tail", "timeout", "touch"]

Instances = tuple[tuple[int | str, int], ...]


class Machine:
    """A machine with GPUs, and what its boots did."""

    def __init__(self, root: Path, board: str, count: int) -> None:
        self.root = root
        self.tools = root / "tools"
        self.tools.mkdir()
        for name in TOOLS:
            (self.tools / name).symlink_to(shutil.which(name) or name)
        self.program("nvidia-smi", client(root))
        self.program("systemctl", f'echo "$*" >>{root}/systemctl; [ "$1" != is-active ]')
        self.program("sync", "exit 0")
        self.write("proc/uptime", "20.71 12.00\n")
        clock = f"{root}/proc/uptime"
        self.program(
            "sleep", f'read -r up _ <{clock}; echo "$((${{up%.*}} + $1)).71 12.00" >{clock}'
        )
        mode = "[N/A]" if board == "v100" else "Disabled"
        gpu = {"board": board, "current": mode, "pending": mode, "resets": board == "a100"}
        self.gpus: list[dict[str, Any]] = [{**gpu, "instances": []} for _ in range(count)]
        self.faults: dict[str, Any] = {"hangs": [], "sleeps": 0, "refuses": {}, "early": [0, 0]}
        self.call_seconds = "30"
        self.calls: list[str] = []
        self.said = ""

    def program(self, name: str, line: str) -> None:
        file = self.tools / name
        file.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        file.chmod(0o755)

    def launch(self, *layout: Instances, product: str = A100) -> None:
        """cloud-init runs the user data, once per instance."""
        boot = MigBoot(layout, product, TAINT, "eks-gpushare/mig", "a1b2c3d4e5")
        script = re.sub(
            r"(?<=[ >])/(?=etc/|usr/local/|var/lib/)", f"{self.root}/", mig_boot_part(boot)
        )
        assert self.bash("-c", script) == 0, self.said

    def bash(self, *words: str) -> int:
        environment = {
            "PATH": str(self.tools),
            "MIG_TEST_ROOT": str(self.root),
            "MIG_CALL_SECONDS": self.call_seconds,
        }
        state = {"gpus": self.gpus, "log": [], **self.faults}
        with answering(self.root, state):
            done = subprocess.run(
                [str(self.tools / "bash"), *words],
                env=environment,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
        self.gpus, self.calls, self.said = state.pop("gpus"), state.pop("log"), done.stderr
        self.faults = state
        assert done.stdout == ""
        return done.returncode

    def boot(self) -> int:
        """The unit starts, and kubelet if all is settled; the exit code is the script's."""
        shutil.rmtree(self.root / "run", ignore_errors=True)
        code = self.bash(str(self.root) + MIG_SCRIPT)
        assert self.has(SETTLED) == (code == 0)
        if code == 0:
            (self.root / "var/lib/eks-gpushare/mig/registered").touch()
        return code

    def reboot(self) -> int:
        """Of Ampere the mode outlives it, of other GPUs nothing, of none its instances."""
        for gpu in self.gpus:
            gpu["instances"] = []
            if not gpu["resets"] and gpu["current"] != "[N/A]":
                gpu["current"] = gpu["pending"] = "Disabled"
            elif not gpu.get("stuck"):
                gpu["current"] = gpu["pending"]
        return self.boot()

    def cut(self) -> list[list[str]]:
        """Instances of every GPU."""
        return [
            sorted(f"{each['name']}:{each['start']}" for each in gpu["instances"])
            for gpu in self.gpus
        ]

    def modes(self) -> list[str]:
        return [f"{gpu['current']}/{gpu['pending']}" for gpu in self.gpus]

    def flags(self) -> list[str]:
        """Flags that nodeadm would add to kubelet's."""
        document = yaml.safe_load(self.text(DROPIN))
        assert document.pop("apiVersion") == "node.eks.aws/v1alpha1"
        assert document.pop("kind") == "NodeConfig"
        flags: list[str] = document["spec"]["kubelet"]["flags"]
        return flags

    def changes(self) -> list[str]:
        """Calls of nvidia-smi that change something."""
        return [call for call in self.calls if re.search(r" -(mig|cgi|dci|dgi)\b", call)]

    def systemctl(self) -> list[str]:
        return self.text("systemctl").splitlines()

    def text(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def uptime(self) -> int:
        """Seconds since it was started."""
        return int(self.text("proc/uptime").partition(".")[0])

    def has(self, path: str) -> bool:
        return (self.root / path).exists()

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


@pytest.fixture
def ampere(tmp_path: Path) -> Machine:
    """Two A100, as in a virtual machine: MIG mode waits for a reboot."""
    return Machine(tmp_path, "a100", 2)


@pytest.fixture
def hopper(tmp_path: Path) -> Machine:
    """Two H100."""
    return Machine(tmp_path, "h100", 2)


CUT_BALANCED = ["1g.5gb:0", "1g.5gb:1", "2g.10gb:2", "3g.20gb:4"]
LABELLED = ["--node-labels=eks-gpushare/mig=a1b2c3d4e5"]


def test_the_user_data_starts_the_unit_without_waiting_and_makes_kubelet_wait(
    hopper: Machine,
) -> None:
    hopper.launch(BALANCED, BALANCED)

    assert hopper.systemctl() == [
        "daemon-reload",
        "daemon-reload",
        "enable eks-gpushare-mig.service",
        "start --no-block eks-gpushare-mig.service",
    ]


def test_state_of_the_instance_that_an_image_was_made_of_is_forgotten(hopper: Machine) -> None:
    hopper.write("var/lib/eks-gpushare/mig/registered", "")
    hopper.launch(BALANCED, BALANCED)

    assert not hopper.has("var/lib/eks-gpushare/mig/registered")


def test_gpus_without_mig_mode_are_cut(hopper: Machine) -> None:
    hopper.launch(BALANCED, SEVENTHS, product="H100")

    assert hopper.boot() == 0
    assert hopper.modes() == ["Enabled/Enabled"] * 2
    assert hopper.cut() == [
        ["1g.10gb:0", "1g.10gb:1", "2g.20gb:2", "3g.40gb:4"],
        [f"1g.10gb:{start}" for start in range(7)],
    ]
    assert hopper.flags() == LABELLED
    assert hopper.text("var/lib/eks-gpushare/mig/applied") == "a1b2c3d4e5\n"
    assert hopper.said.splitlines()[-1] == ("eks-gpushare-mig: layout a1b2c3d4e5 is on all 2 GPUs")


def test_each_gpu_has_a_compute_instance_per_instance(hopper: Machine) -> None:
    hopper.launch(BALANCED, (), product="H100")
    hopper.boot()

    assert [each["computes"] for each in hopper.gpus[0]["instances"]] == [
        ["3g.40gb"],
        ["2g.20gb"],
        ["1g.10gb"],
        ["1g.10gb"],
    ]


def test_other_users_of_cdi_hear_of_it(hopper: Machine) -> None:
    hopper.launch(BALANCED, BALANCED, product="H100")
    hopper.boot()

    assert hopper.systemctl()[-1] == "restart nvidia-cdi-refresh.service"


def test_profiles_go_by_name_on_other_boards(tmp_path: Path) -> None:
    node = Machine(tmp_path, "rtx", 1)
    node.launch(
        (("1g.24gb+me.all", 0), ("1g.24gb-me", 3), ("1g.24gb-me", 9)), product="RTX PRO 6000"
    )

    assert node.boot() == 0
    assert node.cut() == [["1g.24gb+me.all:0", "1g.24gb-me:3", "1g.24gb-me:9"]]


@pytest.mark.at_length
def test_an_instance_of_a_profile_with_a_longer_name_is_another_one(tmp_path: Path) -> None:
    node = Machine(tmp_path, "rtx", 1)
    node.launch((("1g.24gb", 0),), product="RTX PRO 6000")
    node.boot()
    node.launch((("1g.24gb-me", 0),), product="RTX PRO 6000")

    assert node.boot() == 0
    assert node.cut() == [["1g.24gb-me:0"]]


def test_a_second_start_changes_nothing(hopper: Machine) -> None:
    hopper.launch(BALANCED, BALANCED, product="H100")
    hopper.boot()

    assert hopper.boot() == 0
    assert hopper.changes() == []


@pytest.mark.at_length
def test_instances_are_made_anew_after_every_reboot(hopper: Machine) -> None:
    hopper.launch(BALANCED, BALANCED, product="H100")
    hopper.boot()
    before = hopper.cut()

    assert hopper.reboot() == 0
    assert hopper.cut() == before


def test_another_geometry_gives_way(hopper: Machine) -> None:
    hopper.launch(SEVENTHS, SEVENTHS, product="H100")
    hopper.boot()
    hopper.launch(BALANCED, SEVENTHS, product="H100")

    assert hopper.boot() == 0
    assert hopper.changes() == [
        "mig -i 0 -dci",
        "mig -i 0 -dgi",
        "mig -i 0 -cgi 9:4,14:2,19:0,19:1 -C",
    ]


@pytest.mark.at_length
def test_instances_without_compute_instances_are_made_anew(hopper: Machine) -> None:
    hopper.launch(BALANCED, BALANCED, product="H100")
    hopper.boot()
    hopper.gpus[1]["instances"][2]["computes"] = []

    assert hopper.boot() == 0
    assert [each["computes"] for each in hopper.gpus[1]["instances"]][2] == ["1g.10gb"]
    assert hopper.changes()[-1] == "mig -i 1 -cgi 9:4,14:2,19:0,19:1 -C"


def test_whole_gpus_stay_whole_among_cut_ones(tmp_path: Path) -> None:
    node = Machine(tmp_path, "h100", 4)
    node.launch(BALANCED, (), SEVENTHS, (), product="H100")

    assert node.boot() == 0
    assert node.modes() == ["Enabled/Enabled", "Disabled/Disabled"] * 2
    assert [len(gpu) for gpu in node.cut()] == [4, 0, 7, 0]


def test_a_gpu_that_is_to_be_whole_loses_instances_and_mode(hopper: Machine) -> None:
    hopper.launch(BALANCED, BALANCED, product="H100")
    hopper.boot()
    hopper.launch(BALANCED, (), product="H100")

    assert hopper.boot() == 0
    assert hopper.changes() == ["mig -i 1 -dci", "mig -i 1 -dgi", "-i 1 -mig 0"]
    assert hopper.modes() == ["Enabled/Enabled", "Disabled/Disabled"]


def test_a_mode_that_is_pending_takes_one_reboot(ampere: Machine) -> None:
    ampere.launch(BALANCED, BALANCED)

    assert ampere.boot() == 75
    assert ampere.systemctl()[-1] == "--no-block reboot"
    assert ampere.has(GUARD)
    assert not ampere.has(DROPIN)
    assert ampere.said.splitlines()[-1] == (
        "eks-gpushare-mig: MIG mode is pending on GPU 0 1: rebooting once"
    )
    assert ampere.reboot() == 0
    assert ampere.cut() == [CUT_BALANCED] * 2
    assert ampere.flags() == LABELLED
    assert not ampere.has(GUARD)


@pytest.mark.at_length
def test_later_reboots_need_no_further_one(ampere: Machine) -> None:
    ampere.launch(BALANCED, BALANCED)
    ampere.boot()
    ampere.reboot()

    assert ampere.reboot() == 0
    assert ampere.cut() == [CUT_BALANCED] * 2
    assert [call for call in ampere.changes() if " -mig " in call] == []


@pytest.mark.at_length
def test_a_mode_on_its_way_off_is_called_back(ampere: Machine) -> None:
    ampere.launch(BALANCED, ())
    ampere.gpus[0].update(current="Enabled", pending="Disabled")

    assert ampere.boot() == 0
    assert ampere.modes() == ["Enabled/Enabled", "Disabled/Disabled"]


def test_a_mode_on_its_way_on_is_called_back_from_a_whole_gpu(ampere: Machine) -> None:
    ampere.launch(BALANCED, ())
    ampere.gpus[0].update(current="Enabled", pending="Enabled")
    ampere.gpus[1].update(pending="Enabled")

    assert ampere.boot() == 0
    assert ampere.modes() == ["Enabled/Enabled", "Disabled/Disabled"]


@pytest.mark.at_length
def test_switching_off_takes_one_reboot_as_well(ampere: Machine) -> None:
    ampere.launch((), BALANCED)
    ampere.gpus[0].update(current="Enabled", pending="Enabled")
    ampere.gpus[1].update(current="Enabled", pending="Enabled")

    assert ampere.boot() == 75
    assert ampere.reboot() == 0
    assert ampere.modes() == ["Disabled/Disabled", "Enabled/Enabled"]
    assert ampere.cut() == [[], CUT_BALANCED]


@pytest.mark.at_length
def test_a_passing_client_of_the_gpu_is_waited_for(hopper: Machine) -> None:
    hopper.launch(BALANCED, BALANCED, product="H100")
    hopper.gpus[0]["clients"] = 2

    assert hopper.boot() == 0
    assert hopper.changes()[:3] == ["-i 0 -mig 1"] * 3


def failed(node: Machine, reason: str, message: str, taints: str = TAINT) -> None:
    """The node joins for the first time, tainted, and with nothing left of the layout."""
    assert node.boot() == 0
    assert node.flags() == [
        f"--register-with-taints={taints}",
        f"--node-labels=eks-gpushare/mig=failed,eks-gpushare/mig-reason={reason}",
    ]
    assert f"<3>eks-gpushare-mig: FAILED ({reason}): {message}" in node.said.splitlines()
    assert node.said.splitlines()[-1] == f"eks-gpushare-mig: the node joins with the taint {TAINT}"
    assert node.text("var/lib/eks-gpushare/mig/error") == f"{reason}: {message}\n"


def test_a_mode_still_pending_after_the_reboot_is_a_failure(ampere: Machine) -> None:
    ampere.launch(BALANCED, BALANCED)
    ampere.gpus[1]["stuck"] = True
    ampere.boot()
    shutil.rmtree(ampere.root / "run", ignore_errors=True)
    for gpu in ampere.gpus:
        gpu["current"] = gpu["current"] if gpu.get("stuck") else gpu["pending"]

    failed(ampere, "mode-pending", "MIG mode is still pending after a reboot on GPU 1")
    assert ampere.systemctl().count("--no-block reboot") == 1


def test_a_refused_reboot_is_a_failure(ampere: Machine) -> None:
    ampere.launch(BALANCED, BALANCED)
    ampere.program("systemctl", "exit 1")

    failed(ampere, "reboot", "the reboot was refused")


def test_a_gpu_in_use_is_a_failure(hopper: Machine) -> None:
    hopper.launch(SEVENTHS, SEVENTHS, product="H100")
    hopper.boot()
    hopper.launch(BALANCED, SEVENTHS, product="H100")
    hopper.gpus[0]["busy"] = True

    failed(
        hopper,
        "in-use",
        "GPU 0: instances cannot be removed: "
        "Failed to destroy GPU instances: In use by another client",
    )
    assert hopper.cut()[1] == []


def test_another_board_is_a_failure_and_left_alone(hopper: Machine) -> None:
    hopper.launch(BALANCED, BALANCED)

    failed(hopper, "wrong-board", f"GPU 0 is NVIDIA H100 80GB HBM3, the layout is for {A100}")
    assert hopper.modes() == ["Disabled/Disabled"] * 2


def test_a_gpu_without_mig_is_a_failure(tmp_path: Path) -> None:
    node = Machine(tmp_path, "v100", 1)
    node.launch(((19, 0),), product="V100")

    failed(node, "no-mig", "GPU 0, Tesla V100-SXM2-16GB, has no MIG")


@pytest.mark.parametrize("expected", [1, 3])
def test_another_number_of_gpus_is_a_failure(hopper: Machine, expected: int) -> None:
    hopper.launch(*[BALANCED] * expected, product="H100")

    failed(hopper, "gpu-count", f"expected {expected} GPUs, found 2")


def test_no_gpu_at_all_is_a_failure(tmp_path: Path) -> None:
    node = Machine(tmp_path, "h100", 0)
    node.launch(BALANCED, product="H100")

    failed(node, "gpu-count", "expected 1 GPUs, found 0")


DRIVERLESS = (9, 12, 127)
"""No driver, no library of it, no nvidia-smi."""


@pytest.mark.parametrize("code", sampled(DRIVERLESS, 3))
def test_a_driver_that_comes_late_is_waited_for(hopper: Machine, code: int) -> None:
    hopper.launch(BALANCED, BALANCED, product="H100")
    hopper.faults["early"] = [10, code]

    assert hopper.boot() == 0
    assert hopper.flags() == LABELLED
    assert hopper.uptime() > 60
    assert hopper.said.splitlines()[:1] == [
        f"eks-gpushare-mig: attempt 1: 0 of 2 GPUs, nvidia-smi ended with {code}: "
    ]


@pytest.mark.parametrize("code", sampled(DRIVERLESS, 3))
def test_a_driver_that_never_comes_is_a_failure_at_the_deadline(hopper: Machine, code: int) -> None:
    hopper.launch(BALANCED, BALANCED, product="H100")
    hopper.program("nvidia-smi", f"exit {code}")

    failed(hopper, "no-driver", "the NVIDIA driver has not come within 480 s")
    assert 490 <= hopper.uptime() <= 500


def test_no_nvidia_smi_at_all_is_a_driver_that_never_comes(hopper: Machine) -> None:
    hopper.launch(BALANCED, BALANCED, product="H100")
    (hopper.tools / "nvidia-smi").unlink()

    failed(hopper, "no-driver", "the NVIDIA driver has not come within 480 s")


@pytest.mark.parametrize("code", sampled([2, 6, 15, 18], 4))
def test_what_waiting_does_not_help_is_a_failure_soon(hopper: Machine, code: int) -> None:
    hopper.launch(BALANCED, BALANCED, product="H100")
    hopper.faults["early"] = [9999, code]

    failed(hopper, "gpu-count", "expected 2 GPUs, found 0")
    assert len(hopper.calls) == 6
    assert hopper.uptime() < 60


def test_a_hanging_nvidia_smi_is_a_failure(hopper: Machine) -> None:
    hopper.launch(BALANCED, BALANCED, product="H100")
    hopper.faults["hangs"] = ["--query-gpu"]

    failed(hopper, "timeout", "nvidia-smi does not answer")
    assert len(hopper.calls) == 6


def test_a_call_without_an_end_is_ended_and_tried_again(tmp_path: Path) -> None:
    node = Machine(tmp_path, "h100", 1)
    node.launch(BALANCED, product="H100")
    node.faults["sleeps"], node.call_seconds = 1, "5"

    assert node.boot() == 0
    assert "eks-gpushare-mig: attempt 1: 0 of 1 GPUs, nvidia-smi ended with 124: " in (
        node.said.splitlines()
    )


def test_a_call_that_hangs_in_between_leaves_no_gpu_cut(hopper: Machine) -> None:
    hopper.launch(BALANCED, BALANCED, product="H100")
    hopper.faults["hangs"] = ["-i 1 -cgi"]

    failed(hopper, "create", "GPU 1: 9:4,14:2,19:0,19:1 cannot be made: ")
    assert hopper.cut() == [[], []]


def test_a_refused_mode_is_a_failure(hopper: Machine) -> None:
    hopper.launch(BALANCED, BALANCED, product="H100")
    hopper.faults["hangs"] = ["-i 1 -mig"]

    failed(
        hopper,
        "mode-refused",
        "GPU 1: MIG mode is Disabled/Disabled, wanted 9:4,14:2,19:0,19:1",
    )


@pytest.mark.at_length
def test_a_creation_that_fails_once_is_tried_again(hopper: Machine) -> None:
    hopper.launch(BALANCED, BALANCED, product="H100")
    hopper.faults["refuses"] = {"14": 1}

    assert hopper.boot() == 0
    assert [len(gpu) for gpu in hopper.cut()] == [4, 4]


def test_a_creation_that_fails_leaves_no_gpu_cut_in_part(hopper: Machine) -> None:
    hopper.launch(SEVENTHS, BALANCED, product="H100")
    hopper.faults["refuses"] = {"14": 2}

    failed(
        hopper,
        "create",
        "GPU 1: 9:4,14:2,19:0,19:1 cannot be made: "
        "Failed to create GPU instances: Insufficient Resources",
    )
    assert hopper.cut() == [[], []]


@pytest.mark.at_length
def test_instances_that_overlap_are_refused_by_the_driver(hopper: Machine) -> None:
    hopper.launch(((9, 0), (14, 2)), (), product="H100")

    failed(
        hopper,
        "create",
        "GPU 0: 9:0,14:2 cannot be made: Failed to create GPU instances: Insufficient Resources",
    )


@pytest.mark.at_length
def test_compute_instances_of_a_part_are_a_failure(hopper: Machine) -> None:
    hopper.launch(BALANCED, (), product="H100")
    hopper.faults["halves"] = True

    assert hopper.boot() == 0
    assert hopper.flags()[1].endswith("eks-gpushare/mig-reason=create")
    assert hopper.cut() == [[], []]


def test_a_table_that_cannot_be_read_is_not_taken_for_none(hopper: Machine) -> None:
    hopper.launch(BALANCED, (), product="H100")
    hopper.gpus[0].update(current="Enabled", pending="Enabled")
    hopper.faults["garbled"] = True

    assert hopper.boot() == 0
    assert hopper.flags()[1].endswith("eks-gpushare/mig-reason=in-use")
    assert "eks-gpushare-mig: GPU 0: instances may be left: " in hopper.said


KUBELET = "etc/eks/kubelet/environment"
CONFIG = "etc/kubernetes/kubelet/config.json"
POOL = "nvidia.com/gpu=true:NoSchedule"


def config(*taints: dict[str, str]) -> str:
    return json.dumps({"kind": "KubeletConfiguration", "registerWithTaints": list(taints)})


def gpu_taint(**more: str) -> dict[str, str]:
    return {"key": "nvidia.com/gpu", "effect": "NoSchedule", **more}


def no_gpu(node: Machine) -> None:
    node.launch(BALANCED, product="H100")
    node.gpus.clear()


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("--v=2", ""),
        (f"--v=2 --register-with-taints={POOL} --node-ip=10.0.0.1", f"{POOL},"),
        (f"--register-with-taints=a=b:NoExecute --register-with-taints={POOL},c:NoSchedule", None),
        (f'--register-with-taints="{POOL}"', f"{POOL},"),
        (f"--register-with-taints={POOL},{TAINT} --v=2", f"{POOL},"),
    ],
)
def test_the_taint_joins_those_of_the_kubelets_flags(
    hopper: Machine, given: str, kept: str | None
) -> None:
    no_gpu(hopper)
    hopper.write(KUBELET, f"A=b\nNODEADM_KUBELET_ARGS=--config=x {given}")
    expected = f"{POOL},c:NoSchedule," if kept is None else kept

    failed(hopper, "gpu-count", "expected 1 GPUs, found 0", expected + TAINT)


def test_the_taint_joins_those_of_the_kubelets_configuration(hopper: Machine) -> None:
    no_gpu(hopper)
    hopper.write(KUBELET, "NODEADM_KUBELET_ARGS=--v=2")
    hopper.write(CONFIG, config(gpu_taint(value="true"), {"key": "a/b", "effect": "NoExecute"}))

    failed(hopper, "gpu-count", "expected 1 GPUs, found 0", f"{POOL},a/b:NoExecute,{TAINT}")


def test_the_last_file_of_the_kubelets_configuration_wins_as_a_whole(hopper: Machine) -> None:
    no_gpu(hopper)
    hopper.write(CONFIG, config({"key": "a/b", "effect": "NoExecute"}))
    hopper.write(f"{CONFIG}.d/40-nodeadm.conf", config(gpu_taint(value="true")))
    hopper.write(f"{CONFIG}.d/50-other.conf", '{"kind": "KubeletConfiguration", "maxPods": 9}')

    failed(hopper, "gpu-count", "expected 1 GPUs, found 0", f"{POOL},{TAINT}")


def test_an_empty_list_in_a_later_file_removes_the_taints(hopper: Machine) -> None:
    no_gpu(hopper)
    hopper.write(CONFIG, config(gpu_taint()))
    hopper.write(f"{CONFIG}.d/40-nodeadm.conf", config())

    failed(hopper, "gpu-count", "expected 1 GPUs, found 0", TAINT)


def test_without_jq_the_failure_taint_stands_alone(hopper: Machine) -> None:
    no_gpu(hopper)
    (hopper.tools / "jq").unlink()
    hopper.write(CONFIG, config(gpu_taint()))

    failed(hopper, "gpu-count", "expected 1 GPUs, found 0", TAINT)
    assert "eks-gpushare-mig: jq is missing: taints in kubelet's config file are not known" in (
        hopper.said.splitlines()
    )


def test_a_failure_at_a_later_boot_keeps_kubelet_down(hopper: Machine) -> None:
    hopper.launch(BALANCED, BALANCED, product="H100")
    hopper.boot()
    hopper.faults["refuses"] = {"14": 9}

    assert hopper.reboot() == 1
    assert not hopper.has(DROPIN)
    assert hopper.cut() == [[], []]
    assert hopper.said.splitlines()[-1] == (
        "eks-gpushare-mig: the cluster knows this node already and would not take the taint: "
        "kubelet is not started"
    )


@pytest.mark.at_length
def test_a_later_boot_that_succeeds_again_starts_kubelet(hopper: Machine) -> None:
    hopper.launch(BALANCED, BALANCED, product="H100")
    hopper.boot()
    hopper.faults["refuses"] = {"14": 2}
    hopper.reboot()

    assert hopper.reboot() == 0
    assert hopper.flags() == LABELLED
    assert not hopper.has("var/lib/eks-gpushare/mig/error")


def test_a_taint_that_cannot_be_written_keeps_kubelet_down(hopper: Machine) -> None:
    no_gpu(hopper)
    hopper.write(f"{DROPIN}.new/in-the-way", "")

    assert hopper.boot() == 1


def test_without_its_configuration_the_script_does_nothing(hopper: Machine) -> None:
    hopper.launch(BALANCED, BALANCED, product="H100")
    (hopper.root / "etc/eks-gpushare/mig.env").unlink()

    assert hopper.boot() == 1
    assert hopper.calls == []


@pytest.mark.parametrize(
    ("layout", "code", "message"),
    [
        (SEVENTHS, 0, "kubelet runs and the layout is there"),
        (BALANCED, 1, "kubelet runs and GPU 0 is not as wanted: reboot the node"),
    ],
)
def test_nothing_is_touched_while_kubelet_runs(
    hopper: Machine, layout: Instances, code: int, message: str
) -> None:
    hopper.launch(SEVENTHS, SEVENTHS, product="H100")
    hopper.boot()
    hopper.launch(layout, SEVENTHS, product="H100")
    hopper.program("systemctl", "exit 0")

    assert hopper.bash(str(hopper.root) + MIG_SCRIPT) == code
    assert hopper.said == f"eks-gpushare-mig: {message}\n"
    assert hopper.changes() == []
    assert hopper.has(SETTLED)
    assert hopper.has(DROPIN)
