"""Faults of nodes, of what they advertise, and of the programs on them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from cluster_breaking import (
    ClusterFault,
    Machine,
    Object,
    bare,
    config_map_of,
    object_at,
    patched,
    replaced,
)
from cluster_machines import (
    BOTTLEROCKET,
    CONFIG_LABEL,
    MIG_SLICED,
    MIXED,
    MPS,
    OPERATED,
    OPERATED_MIG,
    RENAMED,
    SLICED,
    advertising,
    condition,
    fault,
    labelled,
    left_alone,
    of_config,
    of_plugin,
    status,
    tainted,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cluster_breaking import Change

    from eks_gpushare_lab.client import Client

TAINT: Final = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}


def second(given: Object) -> Object:
    metadata = {**given["metadata"], "name": "another-plugin"}
    return {**given, "metadata": metadata}


def of_nodes() -> list[ClusterFault]:
    found = []
    for machine, always in (
        (SLICED, True),
        (MPS, False),
        (MIXED, False),
        (OPERATED, False),
        (OPERATED_MIG, False),
        (BOTTLEROCKET, False),
    ):
        below = "" if machine is BOTTLEROCKET else "GPU1100"
        found.append(
            fault(
                f"a taint beside {machine.resource}",
                machine,
                "GPU1306",
                tainted(machine, TAINT),
                follows=below,
                always=always,
            )
        )
    no_execute = {**TAINT, "effect": "NoExecute"}
    found += [
        fault(
            "a taint that evicts",
            machine,
            "GPU1306",
            tainted(machine, no_execute),
            follows="GPU1100 GPU1310 GPU1320",
        )
        for machine in (SLICED, OPERATED)
    ]
    for machine in (SLICED, MPS, MIXED, OPERATED):
        found += [
            fault(
                "no taint", machine, "GPU1306", patched(machine.path, {"spec": {"taints": None}})
            ),
            fault("no pool", machine, "GPU1305", labelled(machine, **{"eks-gpushare/pool": None})),
            fault(
                "cordoned",
                machine,
                "GPU1303",
                patched(machine.path, {"spec": {"unschedulable": True}}),
            ),
            fault(
                "another type",
                machine,
                "GPU1307",
                labelled(machine, **{"node.kubernetes.io/instance-type": "g5.48xlarge"}),
            ),
            fault(
                "another configuration",
                machine,
                "GPU1305",
                labelled(machine, **{CONFIG_LABEL: "other"}),
                follows="GPU1311" if machine is OPERATED else "GPU1310 GPU1320",
            ),
        ]
    found += [
        *(
            fault(
                "no configuration",
                machine,
                "GPU1305",
                labelled(machine, **{CONFIG_LABEL: None}),
                follows="GPU1310 GPU1320",
            )
            for machine in (SLICED, RENAMED)
        ),
        fault(
            "another pool's configuration",
            RENAMED,
            "GPU1305",
            labelled(RENAMED, **{CONFIG_LABEL: "whole"}),
            follows="GPU1320",
        ),
        fault(
            "another pool's label",
            RENAMED,
            "GPU1305",
            labelled(RENAMED, **{"eks-gpushare/pool": "whole"}),
        ),
        fault(
            "a label of the pool's own", SLICED, "GPU1305", labelled(SLICED, **{"eks-node": "x"})
        ),
        fault(
            "a kubelet that says no",
            SLICED,
            "GPU1301",
            left_alone(SLICED),
            condition(SLICED, "Ready", "False", "KubeletNotReady", "runtime is down"),
            is_of_status=True,
        ),
        fault(
            "a silent kubelet",
            MPS,
            "GPU1301",
            left_alone(MPS),
            condition(MPS, "Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting"),
            is_of_status=True,
        ),
        fault(
            "XID 64",
            SLICED,
            "GPU1302",
            condition(SLICED, "AcceleratedHardwareReady", "False", "NvidiaXID64Error", "row"),
            is_of_status=True,
        ),
        fault(
            "XID 79",
            MIXED,
            "GPU1302",
            condition(MIXED, "AcceleratedHardwareReady", "False", "NvidiaXID79Error", "bus"),
            is_of_status=True,
        ),
        *(
            fault(
                f"a kubelet of {version}",
                machine,
                "GPU1308",
                status(machine, nodeInfo={"kubeletVersion": f"v{version}-eks-1a2b3c4"}),
                is_of_status=True,
                always=machine is SLICED and version == "1.31.14",
            )
            for machine, version in (
                *((SLICED, version) for version in ("1.31.14", "1.36.0", "1.34.9", "1.35.4")),
                *((MPS, "1.31.14"), (MIXED, "1.36.0"), (OPERATED, "1.35.4")),
            )
        ),
        fault(
            "an older Bottlerocket",
            BOTTLEROCKET,
            "GPU1308",
            status(BOTTLEROCKET, nodeInfo={"osImage": "Bottlerocket OS 1.64.0 (aws-k8s-1.35)"}),
            is_of_status=True,
        ),
        fault(
            "the layout's taint stays",
            MIXED,
            "GPU1304",
            tainted(MIXED, {"key": "eks-gpushare/mig-layout", "effect": "NoSchedule"}),
        ),
        fault(
            "the cloud's taint stays",
            SLICED,
            "GPU1304",
            tainted(
                SLICED,
                {
                    "key": "node.cloudprovider.kubernetes.io/uninitialized",
                    "value": "true",
                    "effect": "NoSchedule",
                },
            ),
        ),
        fault(
            "a boot that failed",
            MIXED,
            "GPU1313",
            labelled(MIXED, **{"eks-gpushare/mig": "failed", "eks-gpushare/mig-reason": "x"}),
        ),
        fault(
            "a layout that failed",
            OPERATED_MIG,
            "GPU1313",
            labelled(OPERATED_MIG, **{"nvidia.com/mig.config.state": "failed"}),
        ),
        fault(
            "no node",
            SLICED,
            "GPU1300",
            replaced(object_at(SLICED.path), lambda _: None),
            about="gpu",
        ),
        fault(
            "no node of one pool",
            RENAMED,
            "GPU1300",
            replaced(object_at(RENAMED.path), lambda _: None),
            about="notebooks",
        ),
        fault(
            "no label of the operator",
            OPERATED,
            "GPU1102",
            labelled(OPERATED, **{"nvidia.com/gpu.deploy.device-plugin": "false"}),
        ),
    ]
    return found


def of_shares() -> list[ClusterFault]:
    found = []
    for machine in (SLICED, MPS, MIXED, MIG_SLICED, RENAMED, OPERATED, BOTTLEROCKET):
        less = machine.shares - 1
        found += [
            fault(
                "fewer shares", machine, "GPU1320", advertising(machine, less), is_of_status=True
            ),
            fault(
                "sick devices",
                machine,
                "GPU1322",
                advertising(machine, less, machine.shares),
                is_of_status=True,
            ),
        ]
    found.append(
        fault(
            "3 of 4 GPUs",
            SLICED,
            "GPU1323",
            advertising(SLICED, 30),
            labelled(SLICED, **{"nvidia.com/gpu.count": "3"}),
            follows="GPU1320",
            is_of_status=True,
        )
    )
    return found


def of_programs() -> list[ClusterFault]:
    found = []
    for machine in (SLICED, MIXED, OPERATED):
        found += [
            fault(
                "a plugin without tolerations",
                machine,
                "GPU1100",
                of_plugin(machine, tolerations=None),
                about=machine.plugin,
            ),
            fault(
                "a plugin for other nodes",
                machine,
                "GPU1102",
                of_plugin(machine, nodeSelector={"no": "where"}),
                follows="GPU1310 GPU1320",
                about="",
            ),
            fault("two plugins", machine, "GPU1185", twice(machine), about="another-plugin"),
        ]
    found += [
        fault(
            "no plugin",
            SLICED,
            "GPU1102",
            replaced(object_at(SLICED.daemon_set()), lambda _: None),
            about="",
        ),
        fault(
            "another chart",
            SLICED,
            "GPU1331",
            patched(
                SLICED.daemon_set(),
                {"metadata": {"labels": {"helm.sh/chart": "nvidia-device-plugin-0.17.4"}}},
            ),
            about="nvidia-device-plugin",
        ),
        *(
            fault(
                "another text in the ConfigMap",
                machine,
                "GPU1330",
                of_config(machine, f"replicas: {old}", f"replicas: {new}"),
                about="config",
            )
            for machine, old, new in ((SLICED, 10, 4), (MPS, 4, 2), (OPERATED, 4, 2))
        ),
        fault(
            "a key that nobody reads",
            SLICED,
            "GPU1330",
            of_config(SLICED, "replicas:", "replica:"),
            about="config",
        ),
        fault(
            "no key",
            SLICED,
            "GPU1330",
            replaced(
                config_map_of(SLICED), lambda m: {**m, "data": {"default": m["data"]["default"]}}
            ),
            about="config",
        ),
        *(
            fault(
                "no ConfigMap",
                machine,
                "GPU1127",
                replaced(config_map_of(machine), lambda _: None),
                about="config",
            )
            for machine in (SLICED, OPERATED)
        ),
    ]
    return found


def twice(machine: Machine) -> Change:
    @contextmanager
    def made(client: Client) -> Iterator[None]:
        given = second(bare(object_at(machine.daemon_set())(client)))
        given.pop("status", None)
        client.create(given)
        try:
            yield
        finally:
            client.delete(client.path_of(given))

    return made
