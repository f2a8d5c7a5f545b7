"""Labels and taints that a node registers with, by what is in its user data."""

from __future__ import annotations

import base64

import pytest

from eks_gpushare_lab.simulated_node.registration import KubeletError, registration

BOUNDARY = """MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

"""


def encoded(*node_configs: str, script: str = "") -> str:
    parts = [f"Content-Type: application/node.eks.aws\n\n{each}" for each in node_configs]
    if script:
        parts.insert(0, f"Content-Type: text/x-shellscript\n\n{script}")
    text = BOUNDARY + "".join(f"--//\n{part}\n" for part in parts) + "--//--\n"
    return base64.b64encode(text.encode()).decode()


def node_config(kubelet: str) -> str:
    return f"apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {{kubelet: {kubelet}}}\n"


KARPENTER = node_config(
    "{config: {registerWithTaints: [{key: karpenter.sh/unregistered, effect: NoExecute}, "
    "{key: nvidia.com/gpu, value: 'true', effect: NoSchedule}]}, "
    """flags: ['--node-labels="karpenter.sh/nodepool=gpu,team=a"']}"""
)
UNREGISTERED = {"key": "karpenter.sh/unregistered", "effect": "NoExecute"}
GPU = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}


def test_a_node_config_has_labels_as_a_flag_and_taints_as_settings() -> None:
    found = registration(encoded(KARPENTER, script="#!/bin/bash\necho --node-labels=no=no"))
    assert found.labels == {"karpenter.sh/nodepool": "gpu", "team": "a"}
    assert found.taints == (UNREGISTERED, GPU)


def test_flags_of_several_follow_each_other_and_of_settings_the_last_counts() -> None:
    own = node_config(
        "{config: {registerWithTaints: [{key: own, effect: NoSchedule}]}, "
        "flags: [--node-labels=team=b, --v=2, --node-labels=own=yes]}"
    )
    found = registration(encoded(own, KARPENTER))
    assert found.labels == {"karpenter.sh/nodepool": "gpu", "team": "a", "own": "yes"}
    assert found.taints == (UNREGISTERED, GPU)


def test_a_flag_takes_the_taints_of_the_settings_away() -> None:
    own = node_config("{flags: ['--register-with-taints=own=a:NoSchedule,other:NoExecute']}")
    found = registration(encoded(own, KARPENTER))
    assert found.taints == (
        {"key": "own", "value": "a", "effect": "NoSchedule"},
        {"key": "other", "effect": "NoExecute"},
    )


def test_bottlerocket_has_them_as_settings() -> None:
    text = """
[settings.kubernetes.node-labels]
"karpenter.sh/nodepool" = "gpu"
[settings.kubernetes.node-taints]
"karpenter.sh/unregistered" = [":NoExecute"]
"nvidia.com/gpu" = ["true:NoSchedule"]
"""
    found = registration(base64.b64encode(text.encode()).decode())
    assert found.labels == {"karpenter.sh/nodepool": "gpu"}
    assert found.taints == (UNREGISTERED, GPU)


@pytest.mark.parametrize("given", ["", encoded(), encoded(script="#!/bin/sh")])
def test_nothing_is_said(given: str) -> None:
    found = registration(given)
    assert (dict(found.labels), found.taints) == ({}, ())


@pytest.mark.parametrize(
    "label",
    [
        *("kubernetes.io/role", "node-role.kubernetes.io/gpu", "k8s.io/a", "a.k8s.io/b"),
        *("topology.kubernetes.io/rack", "kubernetes.io/hostnames"),
    ],
)
def test_a_kubelet_stops_at_labels_that_it_may_not_set(label: str) -> None:
    with pytest.raises(KubeletError, match="labels specified with --node-labels: " + label):
        registration(encoded(node_config(f"{{flags: [--node-labels={label}=x]}}")))


@pytest.mark.parametrize(
    "label",
    [
        *("team", "example.com/a", "eks-gpushare/pool", "mykubernetes.io/a", "k8s.io.example/a"),
        *("node.kubernetes.io/instance-type", "kubelet.kubernetes.io/x", "a.node.kubernetes.io/b"),
        *("topology.kubernetes.io/zone", "karpenter.k8s.aws/ec2nodeclass", "kubernetes.io/arch"),
    ],
)
def test_a_kubelet_takes_others(label: str) -> None:
    found = registration(encoded(node_config(f"{{flags: [--node-labels={label}=x]}}")))
    assert found.labels == {label: "x"}


def test_what_nodeadm_cannot_read_stops_the_machine() -> None:
    with pytest.raises(KubeletError, match="nodeadm"):
        registration(encoded("spec: [1"))
