"""User data is taken apart as cloud-init does it, and what it makes of nodes is known."""

from __future__ import annotations

import base64
import email
import gzip
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from typing import Any

import pytest
from inventory_of import nodes

from eks_gpushare.inventory.booted import booted
from eks_gpushare.inventory.items import NodeSet, NodeTaint
from eks_gpushare.inventory.mig_commands import devices_made
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.user_data import MOST_CHARACTERS, decoded, parts, registered, scripts
from eks_gpushare.inventory.values import PartlyKnown

CONFIG = """\
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet:
    config:
      registerWithTaints: [{key: team, value: ml, effect: NoSchedule}]
    flags:
      - --node-labels=tier=gold,zone=$ZONE
      - --register-with-taints=gpu=yes:NoExecute,bad=x:Never
"""
SCRIPT = "#!/bin/bash\n# nvidia-smi mig -cgi 0\nnvidia-smi mig -cgi 19,19 -C\n"
SETTINGS = """\
# of Bottlerocket
[settings.kubernetes.node-labels]
"example.com/tier" = "gold"
[settings.kubernetes.node-taints]
gpu = ["yes:NoSchedule"]
"""


def message(boundary: str, *, encoded: bool = False) -> str:
    """User data as Python's own library writes it."""
    made = MIMEMultipart(boundary=boundary)
    for kind, subtype, text in (
        ("application", "node.eks.aws", CONFIG),
        ("text", "x-shellscript", SCRIPT),
    ):
        part = MIMEText(text, subtype, "utf-8" if encoded else "us-ascii")
        part.set_type(f"{kind}/{subtype}")
        made.attach(part)
    return made.as_string()


@pytest.mark.parametrize("encoded", [False, True], ids=["plain", "base64"])
@pytest.mark.parametrize("boundary", ["//", "==BOUNDARY==", "a b"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_parts_are_those_that_the_library_reads(boundary: str, end: str, encoded: bool) -> None:
    text = message(boundary, encoded=encoded)
    wanted = [
        each.get_payload(decode=True)
        for each in email.message_from_string(text).walk()
        if not each.is_multipart()
    ]

    found = list(parts(text.replace("\n", end)))

    assert [each.kind for each in found] == ["nodeConfig", "shell"]
    assert [each.text.strip() for each in found] == [
        each.decode().strip() for each in wanted if isinstance(each, bytes)
    ]
    lines = text.split("\n")
    for each in found:
        assert each.plain is not encoded
        assert encoded or lines[each.line] == each.text.splitlines()[0]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (SCRIPT, ["shell"]),
        (CONFIG, ["nodeConfig"]),
        (f"---\n{CONFIG}", ["nodeConfig"]),
        ('{"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig"}', ["nodeConfig"]),
        (f"echo one\n{CONFIG}", ["shell", "nodeConfig"]),
        (SETTINGS, ["bottlerocket"]),
        ("settings.kubernetes.cluster-name = 'a'\n", ["bottlerocket"]),
        ("#cloud-config\nruncmd:\n  - [nvidia-smi, -pm, '1']\n", ["cloudConfig"]),
        ("yum install -y x\n", ["other"]),
        ("", []),
        (" \n", []),
        ("Content-Type: text/x-shellscript\n\necho\n", ["shell"]),
        ("MIME-Version: 1.0\n", []),
        ("x" * MOST_CHARACTERS, ["other"]),
        ("x" * (MOST_CHARACTERS + 1), []),
    ],
)  # fmt: skip
def test_what_is_no_multipart_is_known_by_how_it_begins(text: str, kinds: list[str]) -> None:
    assert [each.kind for each in parts(text)] == kinds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SCRIPT, [("shell", SCRIPT, 0)]),
        (f"echo\n{CONFIG}", [("shell", "echo\n", 0), ("nodeConfig", CONFIG, 1)]),
        ("Content-Type: text/x-shellscript\n\necho\n", [("shell", "echo\n", 2)]),
        ("Content-Type: text/x-shellscript\necho\n", [("shell", "echo\n", 1)]),
        ("\nContent-Type: text/x-shellscript\n\necho\n", [("shell", "echo\n", 3)]),
        ("\n\n \nContent-Type: text/x-shellscript\n\necho\n", [("shell", "echo\n", 5)]),
        (
            "Content-Type: multipart/mixed; boundary=b\n\n--b\n\n#!/bin/sh\n--b--\n",
            [("shell", "#!/bin/sh\n", 4)],
        ),
        (
            "Content-Type: multipart/mixed; boundary=b; charset=x\n\n--b\nX: y\n\n\n#!/bin/sh\n",
            [("shell", "\n#!/bin/sh\n", 5)],
        ),
    ],
)  # fmt: skip
def test_a_part_begins_behind_its_header(text: str, expected: list[tuple[str, str, int]]) -> None:
    assert [(each.kind, each.text, each.line) for each in parts(text)] == expected


@pytest.mark.parametrize(
    "content", ["bHMK", "bHMgLWwK", " bHMg\nLWwK", "bHMg!LWwK", "bHMgLWE", "bHMgLWEK\n\n"]
)
def test_base64_of_a_part_is_read_as_the_library_reads_it(content: str) -> None:
    head = "Content-Type: text/x-shellscript\nContent-Transfer-Encoding: base64\n\n"
    wanted = email.message_from_string(head + content).get_payload(decode=True)

    (found,) = parts(head + content)

    assert isinstance(wanted, bytes)
    assert found.text == wanted.decode()
    assert list(parts(f"{head}b")) == []


def test_what_a_kubelet_registers_its_node_with() -> None:
    found = registered(CONFIG)

    assert found.labels == {"tier": "gold", "zone": UNKNOWN}  # a variable fills it in
    assert found.taints == (
        NodeTaint("gpu", "yes", "NoExecute"),
        NodeTaint("team", "ml", "NoSchedule"),
    )
    of_settings = registered(SETTINGS)
    assert of_settings.labels == {"example.com/tier": "gold"}
    assert of_settings.taints == (NodeTaint("gpu", "yes", "NoSchedule"),)
    of_al2 = registered(
        "#!/bin/bash\n# --node-labels=old=1\n"
        "/etc/eks/bootstrap.sh ml --kubelet-extra-args '--node-labels=a=b,c=d "
        "--register-with-taints=gpu=:NoSchedule'\n"
    )
    assert of_al2.labels == {"a": "b", "c": "d"}
    assert of_al2.taints == (NodeTaint("gpu", "", "NoSchedule"),)
    of_cloud_config = registered(
        "#cloud-config\nruncmd:\n  - [start, --node-labels, a=b]\n"
        "final_message: as --node-labels=c=d says\n"
    )
    assert of_cloud_config.labels == {"a": "b"}
    assert registered(UNKNOWN).labels == {}
    assert registered("[settings\n").taints == ()


@pytest.mark.parametrize(
    "taint", ["{key: a, effect: Never}", "{key: a}", "{effect: NoSchedule}", "a:NoSchedule"]
)
def test_a_taint_that_kubelet_refuses_is_none(taint: str) -> None:
    of = CONFIG.replace("registerWithTaints: [", f"registerWithTaints: [{taint}, ")

    assert registered(of) == registered(CONFIG)


def test_commands_of_cloud_config_are_run_too() -> None:
    text = (
        "#cloud-config\nbootcmd:\n  - nvidia-smi -mig 1\n"
        "runcmd:\n  - [nvidia-smi, mig, -cgi, '0', -C]\n"
    )

    assert scripts(text) == "nvidia-smi -mig 1\nnvidia-smi mig -cgi 0 -C"
    assert "cgi 0" not in scripts(SCRIPT)


def of(provisioner: str = "karpenter", **fields: Any) -> NodeSet:
    """Nodes as they are once they have booted."""
    (made,) = booted([nodes(provisioner=provisioner, **fields)])
    assert isinstance(made, NodeSet)
    return made


@pytest.mark.parametrize(
    ("given", "labels", "may_be_more"),
    [
        ("--node-labels=env=$ENV,a=b", {"env": UNKNOWN, "a": "b"}, False),
        ("--node-labels=env=${Env},a=b", {"env": UNKNOWN, "a": "b"}, False),
        ("--node-labels=$LABELS --max-pods=5", {}, True),
        ('--node-labels=\'"$LABELS" --max-pods=5', {}, True),
        ("--node-labels=a=b,$LABELS", {"a": "b"}, True),
        ("--node-labels=a=$(curl -s http://x/y),c=d", {}, True),
        ("--node-labels=a=`tell it`,c=d", {}, True),
        ("--node-labels=alone,a=b", {"a": "b"}, False),
        ("--node-labels=$KEY=1,a=b", {"a": "b"}, False),
        ("if a; then\n  x --node-labels=a=b\nfi\ny --node-labels=c=d", {"c": "d"}, True),
        ("case $x in\na) x --node-labels=a=b ;;\nesac\n", {}, True),
        ("[settings.kubernetes.node-labels]\na = '${a}'\nb = 'c'", {"a": UNKNOWN, "b": "c"}, False),
        ("[settings.kubernetes.node-labels]\n${labels}\n", {}, True),
        ("#!/bin/bash\naws s3 cp s3://b/join.sh /j.sh\nbash /j.sh gpu\n", {}, True),
        ("#!/bin/bash\nsudo sh ./join.sh\n", {}, True),
        ("#!/bin/bash\n. /etc/profile.d/x.sh; start\n", {}, False),  # which sets variables
        ("#!/bin/bash\ncurl -s http://x/y | sudo bash -s\n", {}, True),
        ("#!/bin/bash\nbash -c 'echo a'\n. /etc/eks/bootstrap.sh ml\n", {}, False),
        ("#!/bin/bash\nsed -i s/a/b/ /etc/eks/bootstrap.sh\n", {}, True),
        ("#!/bin/bash\nsed -i s/a/b/ /etc/motd\n", {}, False),
        (
            "#cloud-config\nwrite_files:\n  - {path: /a, content: '--node-labels=a=b'}\n",
            {"a": "b"},
            False,
        ),
        ("[settings.kubernetes.node-labels]\nno toml\n", {}, False),
    ],
)
def test_of_labels_that_are_filled_in_it_is_known_that_they_may_be_there(
    given: str, labels: dict[str, Any], may_be_more: bool
) -> None:
    found = registered(given)

    assert found.labels == labels
    assert isinstance(found.labels, PartlyKnown) is may_be_more
    of_nodes = of(user_data=given, labels={"own": "1"}).labels
    assert of_nodes == {**labels, "own": "1"}
    assert isinstance(of_nodes, PartlyKnown) is may_be_more


def test_nodes_have_what_their_user_data_gives_them_and_keep_their_own() -> None:
    found = of(
        user_data=CONFIG, labels={"tier": "silver"}, taints=(NodeTaint("team", "x", "NoSchedule"),)
    )

    assert found.labels == {"tier": "silver", "zone": UNKNOWN}
    assert found.taints == (
        NodeTaint("team", "x", "NoSchedule"),
        NodeTaint("gpu", "yes", "NoExecute"),
    )
    assert found.only_by_boot == {"zone", "gpu=yes:NoExecute"}


def test_a_startup_taint_is_known_to_who_launches() -> None:
    found = of(user_data=CONFIG, startup_taints=(NodeTaint("gpu", "yes", "NoExecute"),))

    assert found.only_by_boot == {"tier", "zone", "team=ml:NoSchedule"}


def test_what_is_not_known_stays_so() -> None:
    found = of(user_data=CONFIG, labels=UNKNOWN, taints=UNKNOWN)

    assert (found.labels, found.taints, found.only_by_boot) == (UNKNOWN, UNKNOWN, frozenset())
    assert of(user_data=UNKNOWN).taints == ()


NUMBERS = {"19": "1g.5gb", "9": "3g.20gb", "0": "7g.40gb"}


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("nvidia-smi mig -cgi 19,9 -C", [{"1g.5gb": 1, "3g.20gb": 1}] * 2),
        ("sudo /usr/bin/nvidia-smi mig -i 1 -cgi 3g.20gb:0,3g.20gb:4 -C", [{}, {"3g.20gb": 2}]),
        ("nvidia-smi -mig 1&& nvidia-smi mig --id=0 --create-gpu-instance=0", [{"7g.40gb": 1}, {}]),
        ("nvidia-smi mig \\\n  -cgi 19 \\\n  -C", [{"1g.5gb": 1}] * 2),
        ("nvidia-smi mig -i 0,1 -cgi 19; nvidia-smi mig -cgi 19", [{"1g.5gb": 2}] * 2),
        ("nvidia-smi -pl $WATTS\nnvidia-smi mig -cgi 19", [{"1g.5gb": 1}] * 2),
        ("nvidia-smi \nnvidia-smi mig -cgi 19", [{"1g.5gb": 1}] * 2),
        # What hangs on the machine, or is called in ways that cannot be followed.
        ("nvidia-smi -mig 1", None),
        ("nvidia-smi mig -lgip", None),
        ("for gpu in 0 1; do nvidia-smi mig -i $gpu -cgi 19; done", None),
        ("if true; then nvidia-smi mig -cgi 19; fi", None),
        ("nvidia-smi mig -cgi $PROFILES -C", None),
        ("nvidia-smi mig -dgi\nnvidia-smi mig -cgi 19", None),
        ("nvidia-smi mig -i GPU-1f2 -cgi 19", None),
        ("nvidia-smi mig -i 2 -cgi 19", None),
        ("nvidia-smi mig -cgi 'x", None),
        ("nvidia-mig-parted apply -f /etc/mig.yaml", None),
    ],
)  # fmt: skip
def test_devices_of_commands(script: str, expected: list[dict[str, int]] | None) -> None:
    assert devices_made(script, 2, NUMBERS) == expected


def test_packed_user_data_is_read() -> None:
    packed = base64.b64encode(gzip.compress(SCRIPT.encode())).decode()
    assert decoded(packed) == SCRIPT
    assert decoded(base64.b64encode(SCRIPT.encode()).decode()) == SCRIPT
    for more in ("", "a", "aa", "aaa"):  # of one, the letters would be base64
        assert decoded(SCRIPT + more) == SCRIPT + more
    twice = gzip.compress(b"#!/bin/sh\n") + gzip.compress(b"ls\n")
    assert decoded(base64.b64encode(twice).decode()) == "#!/bin/sh\nls\n"
    assert decoded(base64.b64encode(twice[:-4]).decode()) is UNKNOWN
    assert decoded(base64.b64encode(b"\x1f\x8b\x08\x00" + b"\xff" * 9).decode()) is UNKNOWN
    assert decoded(base64.b64encode(b"\x1f\x8bno").decode()) is UNKNOWN
    assert decoded(base64.b64encode(b"\xff\xfe").decode()) is UNKNOWN
