"""A simulated machine boots with user data that applies a MIG layout, and joins, or not."""

from __future__ import annotations

import base64
import gzip
import re
from typing import Any

import pytest

from eks_gpushare.documents.driver_gate import driver_gate_part
from eks_gpushare.documents.node_config import user_data as own_user_data
from eks_gpushare_lab.simulated_node import mig_boot, user_data
from eks_gpushare_lab.simulated_node.boot import CONSOLE, boot
from eks_gpushare_lab.simulated_node.gpus import of_node
from eks_gpushare_lab.simulated_node.hardware import hardware_of

P4D = "p4d.24xlarge"
GPU = "nvidia.com/gpu"
BALANCED = {"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 2}
ENVIRONMENT = {
    "MIG_LAYOUT": "*=9:4,14:2,19:0,19:1",
    "MIG_GPUS": "8",
    "MIG_PRODUCT": "A100-SXM4-40GB",
    "MIG_TAINT": "eks-gpushare/mig=failed:NoSchedule",
    "MIG_LABEL": "eks-gpushare/mig",
    "MIG_HASH": "3f2a",
}
# By hand, as a reader of cloud-init's documentation would write it.
USER_DATA = """MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="part"

--part
Content-Type: text/x-shellscript; charset="us-ascii"

#!/bin/bash
cat >/etc/systemd/system/eks-gpushare-mig.service <<'UNIT'
[Unit]
UNIT
cat >/etc/eks-gpushare/mig.env <<'ENV'
{environment}
ENV
systemctl daemon-reload
systemctl enable eks-gpushare-mig.service
systemctl start --no-block eks-gpushare-mig.service
--part--
"""


def environment(**other: str) -> dict[str, str]:
    return {**ENVIRONMENT, **other}


def node(kind: str = P4D, text: str = "", **given: str) -> dict[str, Any]:
    lines = "\n".join(f'{key}="{value}"' for key, value in environment(**given).items())
    content = text or USER_DATA.replace("{environment}", lines)
    return {
        "metadata": {
            "name": "n",
            "labels": {"node.kubernetes.io/instance-type": kind},
            "annotations": {
                user_data.AMI_TYPE: "AL2023_x86_64_NVIDIA",
                user_data.USER_DATA: base64.b64encode(content.encode()).decode(),
            },
        },
        "spec": {"taints": [{"key": GPU, "value": "true", "effect": "NoSchedule"}]},
        "status": {},
    }


def test_a_layout_is_there_when_the_node_joins() -> None:
    joined = boot(node()).node
    assert joined is not None
    metadata = joined["metadata"]

    assert metadata["labels"]["eks-gpushare/mig"] == "3f2a"
    assert [gpu.counts() for gpu in of_node(joined, 8)] == [BALANCED] * 8
    assert metadata["annotations"][CONSOLE] == "layout 3f2a is on all 8 GPUs"
    assert len(joined["spec"]["taints"]) == 1


@pytest.mark.parametrize(
    ("given", "counts"),
    [
        ("0=19:0 3=9:0,9:4", [{"1g.5gb": 1}, {}, {}, {"3g.20gb": 2}, {}, {}, {}, {}]),
        ("*=0:0 7=", [{"7g.40gb": 1}] * 7 + [{}]),
        ("9=19:0", [{}] * 8),
    ],
)
def test_each_gpu_has_its_own_entry(given: str, counts: list[dict[str, int]]) -> None:
    outcome = mig_boot.apply(environment(MIG_LAYOUT=given), hardware_of(P4D))

    assert [gpu.counts() for gpu in outcome.gpus] == counts


@pytest.mark.parametrize(
    ("kind", "given", "reason"),
    [
        ("g5.xlarge", {"MIG_GPUS": "1"}, "wrong-board"),
        ("g5.xlarge", {"MIG_GPUS": "1", "MIG_PRODUCT": "A10G"}, "no-mig"),
        ("t3.large", {}, "gpu-count"),
        (P4D, {"MIG_GPUS": "4"}, "gpu-count"),
        ("p4de.24xlarge", {}, "wrong-board"),
        (P4D, {"MIG_LAYOUT": "*=9:0,9:4,19:6"}, "create"),
        (P4D, {"MIG_LAYOUT": "*=1g.10gb+gfx:0"}, "create"),
        (P4D, {"MIG_LAYOUT": "*=19"}, "create"),
    ],
)
def test_a_node_whose_layout_failed_joins_with_the_taint_and_the_reason(
    kind: str, given: dict[str, str], reason: str
) -> None:
    joined = boot(node(kind, **given)).node
    assert joined is not None
    found = joined["metadata"]["labels"]

    assert (found["eks-gpushare/mig"], found["eks-gpushare/mig-reason"]) == ("failed", reason)
    assert joined["spec"]["taints"] == [
        {"key": GPU, "value": "true", "effect": "NoSchedule"},
        {"key": "eks-gpushare/mig", "value": "failed", "effect": "NoSchedule"},
    ]
    assert not any(gpu.instances for gpu in of_node(joined, 8))


OWN = re.sub(
    "{environment}",
    "\n".join(f'{key}="{value}"' for key, value in ENVIRONMENT.items()),
    USER_DATA.replace(
        "[Unit]\n", "[Unit]\nAfter=cloud-final.service\nAfter={loads} nvidia-persistenced.service\n"
    ),
)


def released(text: str, release: str) -> dict[str, Any]:
    made = node(text=text)
    made["metadata"]["annotations"][user_data.AMI_RELEASE] = release
    return made


@pytest.mark.parametrize(
    ("loads", "release", "reason"),
    [
        ("nvidia-kmod-load.service", "1.35.6-20260714", None),
        ("nvidia-kmod-load.service", "1.35.8-20260930", "no-driver"),
        ("nvidia-kmod-load.service", "", "no-driver"),
        ("nvidia-setup.service", "1.35.8-20260930", None),
        ("nvidia-setup.service", "1.35.6-20260714", "no-driver"),
        ("nvidia-setup.service nvidia-kmod-load.service", "1.35.6-20260714", None),
        ("nvidia-setup.service nvidia-kmod-load.service", "", None),
    ],
)
def test_a_unit_that_does_not_wait_for_the_driver_finds_none(
    loads: str, release: str, reason: str | None
) -> None:
    joined = boot(released(OWN.replace("{loads}", loads), release)).node
    assert joined is not None

    assert joined["metadata"]["labels"].get("eks-gpushare/mig-reason") == reason


def test_an_old_ami_tells_the_cluster_nothing_of_a_failure() -> None:
    failed = node("p4de.24xlarge")
    failed["metadata"]["annotations"][user_data.AMI_RELEASE] = "1.35.0-20251007"
    joined = boot(failed).node
    assert joined is not None

    assert "eks-gpushare/mig" not in joined["metadata"]["labels"]
    assert [taint["key"] for taint in joined["spec"]["taints"]] == [GPU]


@pytest.mark.parametrize(
    ("script", "waits"),
    [
        (driver_gate_part(), True),
        (driver_gate_part().replace("nvidia-smi", "true"), False),
        (driver_gate_part().replace("ExecStartPre", "ExecStartPost"), False),
        ("#!/bin/bash\ntrue\n", False),
    ],
)
def test_a_kubelet_that_waits_for_its_driver_is_known(script: str, waits: bool) -> None:
    text = base64.b64decode(own_user_data(script)).decode()

    assert user_data.waits_for_driver(text) is waits


def test_a_layout_at_boot_waits_for_the_driver_too() -> None:
    text = base64.b64decode(node()["metadata"]["annotations"][user_data.USER_DATA]).decode()

    assert user_data.waits_for_driver(text)


def test_no_gpu_stays_cut_in_part() -> None:
    outcome = mig_boot.apply(environment(MIG_LAYOUT="0=19:0 7=9:0,9:0"), hardware_of(P4D))

    assert outcome.said == (
        "FAILED (create): GPU 7: 9:0,9:0 cannot be made: "
        "Failed to create GPU instances: Insufficient Resources"
    )
    assert [gpu.instances for gpu in outcome.gpus] == [()] * 8


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/bash\necho hello\n",
        "#!/bin/bash\ncat >/etc/eks-gpushare/mig.env <<'EOF'\nMIG_GPUS=8\nEOF\n",
        USER_DATA.replace("text/x-shellscript", "text/plain"),
    ],
)
def test_user_data_that_runs_no_layout_leaves_the_gpus_whole(text: str) -> None:
    given = node(text=text)

    assert boot(given).node == given


def test_packed_user_data_is_read() -> None:
    packed = base64.b64encode(gzip.compress(b"hello")).decode()

    assert user_data.decoded(packed) == "hello"


def test_user_data_that_cannot_be_read_stops_the_boot() -> None:
    given = node()
    given["metadata"]["annotations"][user_data.USER_DATA] = "#!"

    assert boot(given).node is None
