"""The order of a node's boot with our units among those of EKS's AMIs, old and new, by systemd."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.unit.systemd_boot import NEW, OLD, Boots, why_not

from eks_gpushare.documents.driver_gate import driver_gate_part
from eks_gpushare.documents.mig_boot import MIG_SCRIPT, MigBoot, mig_boot_part

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

AMIS = pytest.mark.parametrize("units", [OLD, NEW], ids=["until v20260914", "since v20260917"])
# What our script is to the order of a boot: it is done with the GPUs, or finds none.
CUTS = """\
#!/bin/bash
[[ -e @ROOT@/driver ]] && echo mig >>@ROOT@/log || echo mig-without-driver >>@ROOT@/log
mkdir -p @ROOT@/run/eks-gpushare && touch @ROOT@/run/eks-gpushare/mig-settled
"""


def mig_part() -> str:
    """The user data of a node with MIG, with a script that needs no GPU."""
    boot = MigBoot((((19, 0),),), "A100", "a/b=failed:NoSchedule", "a/b", "a1b2c3d4e5")
    script = re.compile(rf"(cat >{MIG_SCRIPT} <<'EOF'\n).*?(?=^EOF$)", re.MULTILINE | re.DOTALL)
    part, replaced = script.subn(rf"\g<1>{re.escape(CUTS)}", mig_boot_part(boot))
    assert replaced == 1
    return part.replace("\\", "")


@AMIS
def test_mig_waits_for_the_driver_and_kubelet_for_mig(
    tmp_path: Path, units: dict[str, str]
) -> None:
    node = Boots(tmp_path, units)
    node.user_data(mig_part())
    for _ in ("first boot", "later boot"):
        done = node.boot()
        ours = [
            each for each in done if each in {"driver", "nodeadm-run", "kubelet"} or "mig" in each
        ]

        assert ours == ["driver", "mig", "nodeadm-run", "kubelet"]


def test_without_the_name_of_the_new_unit_mig_would_be_first(tmp_path: Path) -> None:
    """What shows that the order above is made by our unit."""
    node = Boots(tmp_path, NEW)
    node.user_data(mig_part().replace("nvidia-setup.service", ""))
    node.boot()

    assert "mig-without-driver" in node.boot()


@AMIS
def test_kubelet_waits_for_a_driver_that_comes_late(tmp_path: Path, units: dict[str, str]) -> None:
    node = Boots(tmp_path, units)
    node.user_data(driver_gate_part())
    for _ in ("first boot", "later boot"):
        done = node.boot()

        assert done.index("driver") < done.index("kubelet")
    assert node.text("dev/kmsg") == ""


@AMIS
def test_without_the_gate_kubelet_would_be_first(tmp_path: Path, units: dict[str, str]) -> None:
    """However long the driver takes: here until kubelet is there."""
    late = "until grep -qx kubelet @ROOT@/log; do /bin/sleep 0.1; done"
    slow = {name: text.replace("/bin/sleep 1;", f"{late};") for name, text in units.items()}
    done = Boots(tmp_path, slow).boot()

    assert slow != units
    assert "driver" not in done[: done.index("kubelet")]


def test_kubelet_starts_without_a_driver_after_the_deadline(tmp_path: Path) -> None:
    node = Boots(tmp_path, {})
    node.user_data(driver_gate_part())
    # Each look takes a hundred seconds of the machine's own.
    node.program(
        "tools/nvidia-smi",
        "read -r up _ <@ROOT@/proc/uptime; echo $((${up%.*} + 100)).71 12.00 >@ROOT@/proc/uptime\n"
        "echo looked >>@ROOT@/log; echo 'NVIDIA-SMI has failed'; exit 9",
    )
    done = node.boot()

    assert done[-4:] == ["looked"] * 3 + ["kubelet"]
    assert node.text("dev/kmsg") == (
        "<3>eks-gpushare-driver: no NVIDIA driver after 300 s, kubelet starts without: "
        "NVIDIA-SMI has failed\n"
    )


def test_a_wait_that_systemd_has_to_end_is_not_begun_anew(tmp_path: Path) -> None:
    node = Boots(tmp_path, {})
    node.user_data(driver_gate_part().replace("TimeoutStartSec=480", "TimeoutStartSec=1"))
    node.program(
        "tools/nvidia-smi",
        "echo 9999.71 12.00 >@ROOT@/proc/uptime; echo hangs >>@ROOT@/log; exec /bin/sleep 600",
    )

    assert node.boot()[-2:] == ["hangs", "kubelet"]
