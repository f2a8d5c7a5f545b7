"""What a device plugin that is written out is told and does not know."""

from __future__ import annotations

import pytest
from linted import found

PLUGIN = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: plugin, namespace: kube-system}
spec:
  selector: {matchLabels: {app: plugin}}
  template:
    metadata: {labels: {app: plugin}}
    spec:
      tolerations: [{operator: Exists}]
      priorityClassName: system-node-critical
      containers:
        - name: plugin
          image: IMAGE
          MORE
          volumeMounts: [{name: sockets, mountPath: /var/lib/kubelet/device-plugins}]
      volumes: [{name: sockets, hostPath: {path: /var/lib/kubelet/device-plugins}}]
"""
NVIDIAS = "nvcr.io/nvidia/k8s-device-plugin:v0.17.4"


def told(more: str, image: str = NVIDIAS) -> list[tuple[str, str]]:
    """Severity and message of each GPU1387 of a DaemonSet."""
    text = PLUGIN.replace("MORE", more).replace("IMAGE", image)
    given = found([("plugin.yaml", text)])
    return [(each.severity, each.message) for each in given if each.code == "GPU1387"]


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ("args: [--mig-strategy=single, --pass-device-specs, --config-file, /config/c.yaml]", None),
        ("args: [--time-slicing-replicas=4]", "--time-slicing-replicas"),
        ("args: ['-replicas', '4']", "--replicas"),
        ("command: [nvidia-device-plugin, --sharing=mps]", "--sharing"),
        ("command: [/usr/bin/nvidia-device-plugin]\n          args: [--replicas=2]", "--replicas"),
        ("command: [sh, -c, 'x --replicas=2', --other]", None),
        ("args: [$REPLICAS]", None),
        ("env: [{name: CONFIG_FILE, value: /c}, {name: MPS_ROOT, value: /m}]", None),
        (
            "env: [{name: NODE_NAME, value: n}, {name: NVIDIA_MIG_MONITOR_DEVICES, value: all}]",
            None,
        ),
        ("env: [{name: SHARED_DEVICES_ALLOCATION_POLICY, value: distributed}]", None),
        ("env: [{name: CUDA_MPS_PIPE_DIRECTORY, value: /m}]", None),
        ("env: [{name: TIME_SLICING_REPLICAS, value: '4'}]", "TIME_SLICING_REPLICAS"),
        ("env: [{name: NVIDIA_TIMESLICING, value: '4'}]", "NVIDIA_TIMESLICING"),
        ("env: [{name: GPU_SHARING_ENABLED, value: 'true'}]", "GPU_SHARING_ENABLED"),
        ("env: [{name: NVIDIA_MPS_ENABLED, value: 'true'}]", "NVIDIA_MPS_ENABLED"),
        ("env: [{name: REPLICAS, value: '4'}]", "REPLICAS"),
    ],
)
def test_flags_and_variables_are_those_that_the_plugin_has(more: str, named: str | None) -> None:
    given = told(more)

    assert len(given) == (named is not None)
    assert all(str(named) in message for _, message in given)
    assert all((each == "error") is ("ends with" in message) for each, message in given)


@pytest.mark.parametrize(
    "image", ["k8s.gcr.io/nvidia-gpu-device-plugin:1", "own/virtual-device-plugin:1"]
)
def test_other_plugins_have_flags_of_their_own(image: str) -> None:
    assert told("args: [--replicas=4]", image) == []
    assert told("args: [--replicas=4]", "mirror.example.com/nvidia/k8s-device-plugin:v0.14.5")


def test_what_is_said_of_the_plugin() -> None:
    assert told("args: [--replicas=4]") == [
        (
            "error",
            (
                "The DaemonSet plugin starts the device plugin with --replicas, which it does not "
                "have: it ends with `flag provided but not defined`."
            ),
        )
    ]
    assert told("env: [{name: TIME_SLICING_REPLICAS, value: '4'}]") == [
        (
            "warning",
            (
                "The DaemonSet plugin sets TIME_SLICING_REPLICAS, which the device plugin does not "
                "read: it shares no GPU by it."
            ),
        )
    ]
