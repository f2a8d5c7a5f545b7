"""Where the DaemonSets of charts go, held against what Helm renders of the real charts.

With `helm` on PATH and EKS_GPUSHARE_TEST_CHARTS naming a folder that has the charts in
`nvidia-device-plugin` and `gpu-operator`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_gpushare.catalog.chart_daemonsets import CHART_DAEMONSETS, chart_of
from eks_gpushare.inventory.daemons import daemons, role_of
from eks_gpushare.inventory.inventory import Inventory
from inventory_of import chart

PLUGIN, OPERATOR = "nvidia-device-plugin", "gpu-operator"
ANY = [{"operator": "Exists"}]
TERMS = [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
REQUIRED = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": TERMS}}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "nothing": (PLUGIN, {}),
    "feature discovery": (PLUGIN, {"gfd": {"enabled": True}}),
    "NFD alone": (PLUGIN, {"nfd": {"enabled": True}}),
    "feature discovery without NFD": (
        PLUGIN,
        {"gfd": {"enabled": True}, "nfd": {"enabled": False}},
    ),
    "tolerations": (PLUGIN, {"gfd": {"enabled": True}, "tolerations": ANY}),
    "no tolerations": (PLUGIN, {"tolerations": []}),
    "null for tolerations": (PLUGIN, {"tolerations": None}),
    "the worker's": (
        PLUGIN,
        {"gfd": {"enabled": True}, "nfd": {"worker": {"tolerations": ANY}}},
    ),
    "selectors": (
        PLUGIN,
        {
            "gfd": {"enabled": True},
            "nodeSelector": {"pool": "gpu"},
            "nfd": {"worker": {"nodeSelector": {"pool": "gpu"}}},
        },
    ),
    "terms": (PLUGIN, {"affinity": {"nodeAffinity": REQUIRED}}),
    "no affinity": (PLUGIN, {"affinity": None}),
    "an empty affinity": (PLUGIN, {"affinity": {}}),
    "null for node affinity": (PLUGIN, {"affinity": {"nodeAffinity": None}}),
    "the plugin is off": (PLUGIN, {"devicePlugin": {"enabled": False}, "gfd": {"enabled": True}}),
    "the operator": (OPERATOR, {}),
    "the operator's NFD is off": (OPERATOR, {"nfd": {"enabled": False}}),
    "the operator's worker": (
        OPERATOR,
        {"node-feature-discovery": {"worker": {"tolerations": ANY, "nodeSelector": {"a": "b"}}}},
    ),
}


@pytest.fixture(scope="module")
def charts() -> Path:
    """The folder of the real charts."""
    folder = os.environ.get("EKS_GPUSHARE_TEST_CHARTS")
    if not folder or shutil.which("helm") is None:
        pytest.skip("no helm, or EKS_GPUSHARE_TEST_CHARTS names no charts; this file says more")
    return Path(folder)


@pytest.mark.parametrize("case", CASES)
def test_daemonsets_are_where_the_rendered_chart_has_them(case: str, charts: Path) -> None:
    name, values = CASES[case]
    command = ["helm", "template", "x", str(charts / name), "--namespace", "gpu", "--values", "-"]
    made = subprocess.run(
        command, input=json.dumps(values), capture_output=True, check=True, text=True
    )
    rendered: dict[str, Any] = {}
    for each in yaml.safe_load_all(made.stdout):
        if each and each["kind"] == "DaemonSet":
            spec = each["spec"]["template"]["spec"]
            rendered[str(role_of(spec))] = _where(spec)
    found = {
        each.role: _where(each.spec)
        for each in daemons(Inventory((chart(name, values),)), "")
        if not each.of_operator  # its DaemonSets are made of its custom resource
    }

    assert found == rendered


def _where(spec: dict[str, Any]) -> tuple[Any, Any, Any]:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return spec.get("tolerations") or [], spec.get("nodeSelector") or {}, required


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("nvidia-device-plugin", PLUGIN),
        ("nvdp/nvidia-device-plugin", PLUGIN),
        ("./charts/gpu-operator-v26.7.0.tgz", OPERATOR),
        ("dcgm-exporter", "dcgm-exporter"),
        ("oci://registry.example/charts/node-feature-discovery", "node-feature-discovery"),
        ("aws-efa-k8s-device-plugin", None),
        ("karpenter", None),
    ],
)
def test_a_chart_is_known_by_its_name(name: str, of: str | None) -> None:
    assert chart_of(name) == of


def test_every_daemonset_can_be_switched_by_a_path_of_its_chart() -> None:
    for values in (each for every in CHART_DAEMONSETS.values() for each in every):
        assert values.tolerations[-1] == "tolerations"
        assert all(path for path in values.switches)
