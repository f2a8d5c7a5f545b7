"""Values of the GPU Operator's chart, and what the real chart made of them.

`gpu-operator/<case>.rendered.json` is what matters of the objects that `helm template` printed for
the values in `<case>.values.json`. With `helm` on PATH and EKS_GPUSHARE_TEST_CHARTS naming a folder
that has the chart in `gpu-operator`, they are rendered again and compared.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from eks_gpushare.catalog import Catalog
from eks_gpushare.config.component_specs import GpuOperatorSpec
from eks_gpushare.sharing.gpu_operator import gpu_operator_values

if TYPE_CHECKING:
    from collections.abc import Callable

GOLDEN = Path(__file__).parents[1] / "golden" / "gpu-operator"
SLICES = {"instanceTypes": ["g6.12xlarge"], "sharing": {"mode": "timeSlicing", "replicas": 4}}
AMI = {"id": "ami-0123456789abcdef0", "family": "al2023", "driverIncluded": False}
USUAL = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}


def mig(**more: str) -> dict[str, Any]:
    sharing = {"mode": "mig", "layout": "all-balanced", **more}
    return {"instanceTypes": ["p4d.24xlarge"], "sharing": sharing}


CASES: dict[str, dict[str, Any]] = {
    "time-slicing": {"slices": SLICES},
    "taints": {
        "slices": {**SLICES, "taints": [USUAL, {"key": "team", "effect": "NoExecute"}]},
        "other": {**SLICES, "taints": []},
    },
    "mig-manager": {"mig": mig(apply="migManager"), "slices": SLICES},
    "mig-at-boot": {"mig": mig(strategy="mixed")},
    "own-driver": {"gpu": {**SLICES, "amiFamily": "custom", "customAmi": AMI}},
}


def values(pools: dict[str, Any], given: dict[str, Any] | None = None) -> dict[str, Any]:
    spec = GpuOperatorSpec.model_validate({"pools": pools})
    names = ("device-plugin-config-0", "mig-parted-config-0")
    return gpu_operator_values(spec.pools, Catalog(), given or {}, *names)


def text(content: object) -> str:
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


def rendered(case: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((GOLDEN / f"{case}.rendered.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize("case", CASES)
def test_the_values_are_the_rendered_ones(case: str, golden: Callable[[str, str], None]) -> None:
    golden(f"gpu-operator/{case}.values.json", text(values(CASES[case])))


@pytest.mark.parametrize("case", CASES)
def test_the_chart_still_makes_the_same_of_them(
    case: str, golden: Callable[[str, str], None], tmp_path: Path
) -> None:
    charts, helm = os.environ.get("EKS_GPUSHARE_TEST_CHARTS"), shutil.which("helm")
    if not charts or helm is None:
        pytest.skip("no helm, or no charts; the top of this file says what is wanted")
    file = tmp_path / "values.json"
    file.write_text(text(values(CASES[case])), encoding="utf-8")
    chart = str(Path(charts) / "gpu-operator")
    command = [helm, "template", "gpu-operator", chart, "-n", "gpu-operator", "-f", str(file)]
    output = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    made = [each for each in yaml.safe_load_all(output) if each]

    golden(f"gpu-operator/{case}.rendered.json", text(essentials(made)))


def essentials(objects: list[dict[str, Any]]) -> dict[str, Any]:
    """What matters of the objects of the chart."""
    policy = next(each["spec"] for each in objects if each["kind"] == "ClusterPolicy")
    worker = next(each for each in objects if each["kind"] == "DaemonSet")  # the only one
    pod = worker["spec"]["template"]["spec"]
    plugin, manager = policy["devicePlugin"], policy["migManager"]
    return {
        "mig": policy["mig"],
        "driver": policy["driver"]["enabled"],
        "toolkit": policy["toolkit"]["enabled"],
        "devicePlugin": {key: plugin.get(key) for key in ("enabled", "config", "version")},
        "gfd": policy["gfd"]["enabled"],
        "cdi": policy["cdi"],
        "migManager": {key: manager.get(key) for key in ("enabled", "config", "env")},
        "serviceMonitor": policy["dcgmExporter"]["serviceMonitor"]["enabled"],
        "tolerations": policy["daemonsets"]["tolerations"],
        "nfdWorker": {key: pod.get(key) for key in ("affinity", "tolerations")},
        "hooks": {
            each["metadata"]["name"]: hook
            for each in objects
            if each["kind"] == "Job"
            and (hook := (each["metadata"].get("annotations") or {}).get("helm.sh/hook"))
        },
    }


@pytest.mark.parametrize("case", CASES)
def test_no_strategy_wins_over_that_of_a_pool(case: str) -> None:
    assert rendered(case)["mig"] is None


@pytest.mark.parametrize("case", CASES)
def test_the_operator_is_told_which_key_is_for_nodes_without_the_label(case: str) -> None:
    assert rendered(case)["devicePlugin"]["config"] == {
        "name": "device-plugin-config-0",
        "default": "default",
    }


@pytest.mark.parametrize(
    ("case", "installs"), [("time-slicing", False), ("mig-manager", False), ("own-driver", True)]
)
def test_driver_and_toolkit_are_installed_where_the_image_has_none(
    case: str,
    installs: bool,
) -> None:
    made = rendered(case)

    assert (made["driver"], made["toolkit"]) == (installs, installs)


def test_mig_manager_runs_where_a_pool_asks_for_it_and_has_no_default() -> None:
    assert rendered("mig-manager")["migManager"] == {
        "enabled": True,
        "config": {"name": "mig-parted-config-0", "default": ""},
        "env": [{"name": "WITH_REBOOT", "value": "true"}],
    }


@pytest.mark.parametrize("case", ["time-slicing", "mig-at-boot", "own-driver"])
def test_mig_manager_and_its_default_are_off_elsewhere(case: str) -> None:
    """The default would become a label of every node that can do MIG, manager or not."""
    assert rendered(case)["migManager"] == {
        "enabled": False,
        "config": {"default": ""},
        "env": None,
    }


def test_every_taint_is_tolerated_and_the_chart_s_own_too() -> None:
    made = rendered("taints")

    taints = [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "team", "operator": "Exists", "effect": "NoExecute"},
    ]
    control_plane = {
        "key": "node-role.kubernetes.io/control-plane",
        "operator": "Equal",
        "value": "",
        "effect": "NoSchedule",
    }
    assert made["tolerations"] == taints
    assert made["nfdWorker"]["tolerations"] == [control_plane, *taints]


def test_the_startup_taint_is_tolerated_where_mig_manager_takes_it_away() -> None:
    made = rendered("mig-manager")

    startup = {"key": "eks-gpushare/mig-layout", "operator": "Exists", "effect": "NoSchedule"}
    assert startup in made["tolerations"]
    assert startup in made["nfdWorker"]["tolerations"]


def test_feature_discovery_goes_to_the_nodes_of_the_pools() -> None:
    chosen = {"key": "nvidia.com/device-plugin.config", "operator": "In"}
    terms = [{"matchExpressions": [{**chosen, "values": ["other", "slices"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}

    assert rendered("taints")["nfdWorker"]["affinity"] == {"nodeAffinity": required}


@pytest.mark.parametrize("case", CASES)
def test_metrics_are_scraped_only_where_asked_for(case: str) -> None:
    assert rendered(case)["serviceMonitor"] is False


def test_values_go_over_the_derived_ones() -> None:
    given = {"dcgmExporter": {"serviceMonitor": {"enabled": True}}, "dcgm": {"enabled": True}}

    made = values(CASES["time-slicing"], given)

    assert made == {**values(CASES["time-slicing"]), **given}


def test_the_hook_that_upgrades_custom_resource_definitions_stays() -> None:
    assert rendered("time-slicing")["hooks"]["gpu-operator-upgrade-crd"] == "pre-upgrade"
