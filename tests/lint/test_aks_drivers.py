"""Pools of Azure's that are to have no driver, beside operators that bring one or do not."""

from __future__ import annotations

import pytest
from linted import found

POOL = """\
variable "pools" {
  default = { big = { size = "SIZE", driver = "DRIVER" } }
}
resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  for_each              = var.pools
  name                  = each.key
  kubernetes_cluster_id = "cluster"
  vm_size               = each.value.size
  gpu_driver            = each.value.driver
}
"""
OPERATOR = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME, namespace: gpu}
spec:
  chart: {spec: {chart: CHART, version: v25.10.1}}
  values: {VALUES}
"""
OFF = "driver: {enabled: false}, toolkit: {enabled: false}"
OWN = """\
apiVersion: nvidia.com/v1alpha1
kind: NVIDIADriver
metadata: {name: own}
spec: {driverType: gpu, repository: nvcr.io/nvidia, image: driver, version: 580.95.05}
"""
INSTALLER = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: NAME, namespace: kube-system}
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: a, image: example.com/a:1}]}
"""
H100 = "Standard_NC40ads_H100_v5"


def pool(driver: str = "None", size: str = H100) -> str:
    return POOL.replace("DRIVER", driver).replace("SIZE", size)


def operator(values: str = OFF, chart: str = "gpu-operator", name: str = "own") -> str:
    text = OPERATOR.replace("VALUES", values).replace("CHART", chart)
    return text.replace("NAME", name)


def told(tf: str, *texts: str) -> list[str]:
    """Messages of each GPU1181."""
    given = [("a.tf", tf), *((f"{number}.yaml", text) for number, text in enumerate(texts))]
    return [each.message for each in found(given) if each.code == "GPU1181"]


def test_a_pool_without_a_driver_needs_an_operator_that_brings_it() -> None:
    assert told(pool(), operator()) == [
        (
            'Nodes of azurerm_kubernetes_cluster_node_pool.gpu["big"] have no NVIDIA driver, by '
            "gpu_driver None, and the release own of gpu-operator is told not to install one."
        )
    ]


@pytest.mark.parametrize(
    ("tf", "values"),
    [
        (pool(), ""),
        (pool(), "driver: {enabled: true}"),
        (pool(), "driver: {enabled: $ON}"),
        (pool("Install"), OFF),
        (pool("${var.driver}"), OFF),
        (pool().replace("each.value.driver", "null"), OFF),
        (pool(size="Standard_D4s_v5"), OFF),
        (pool(size="Standard_ND96isr_MI300X_v5"), OFF),
        (pool(size="Standard_NV4as_v4"), OFF),
        (pool().replace("azurerm_kubernetes_cluster_node_pool", "azurerm_other"), OFF),
    ],
)
def test_others_have_one_or_may_have(tf: str, values: str) -> None:
    assert told(tf, operator(values)) == []


def test_something_else_may_bring_it() -> None:
    assert told(pool(), OWN, operator()) == []
    assert told(pool(), operator(), INSTALLER.replace("NAME", "nvidia-driver-installer")) == []
    assert len(told(pool(), operator(), INSTALLER.replace("NAME", "collector"))) == 1
    assert told(pool(), operator(), operator("", name="second")) == []
    assert told(pool(), operator("", "keda")) == []
    assert told(pool()) == []


def test_of_other_clouds_too_little_is_read_to_tell_layouts_by() -> None:
    files = {
        "platform/operator.yaml": operator(),
        "nodes/aks/main.tf": pool(),
        "apps/a.yaml": INSTALLER.replace("NAME", "a"),
    }

    assert [each.code for each in found(files.items()) if each.code == "GPU1181"] == ["GPU1181"]
