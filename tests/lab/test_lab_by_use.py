"""What the lab reads of ScaledObjects, and when it needs KEDA."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.live.pods import PodOwner
from eks_gpushare_lab.controllers import keda
from eks_gpushare_lab.controllers.scaled_objects import is_by_gpu, patience, target_of
from eks_gpushare_lab.controllers.shorter_times import VARIABLE, faster
from eks_gpushare_lab.errors import LabError
from eks_gpushare_lab.install.charts import render
from eks_gpushare_lab.install.release import DeclaredRelease
from eks_gpushare_lab.simulated_node.allocation import Device, Holding
from eks_gpushare_lab.simulated_node.dcgm_exporter import Options, unseen

if TYPE_CHECKING:
    from collections.abc import Mapping

KEDA = DeclaredRelease("keda", "keda", "keda", "2.20.2", {})


def scaled(query: str = "vector(1)", **spec: Any) -> dict[str, Any]:
    triggers = [{"type": "prometheus", "metadata": {"query": query}}]
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "web", "namespace": "team"},
        "spec": {"scaleTargetRef": {"name": "web"}, "triggers": triggers, **spec},
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject"}, True),
        ({"apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication"}, True),
        ({"apiVersion": "eventing.keda.sh/v1alpha1", "kind": "CloudEventSource"}, True),
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, False),
        ({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}, False),
        ({"kind": "ScaledObject"}, False),
    ],
)
def test_which_objects_need_keda(given: Mapping[str, Any], *, expected: bool) -> None:
    assert keda.wanted([dict(given)]) is expected


def test_a_release_of_its_chart_needs_it_too() -> None:
    assert keda.wanted([], [KEDA])
    assert not keda.wanted([], [DeclaredRelease("p", "p", "prometheus", "1", {})])


def test_its_chart_has_no_pods_in_the_lab() -> None:
    assert render(KEDA) == []


def test_a_target_is_a_deployment_unless_it_says_otherwise() -> None:
    stateful = scaled(scaleTargetRef={"kind": "StatefulSet", "name": "db"})

    assert target_of(scaled()) == PodOwner("team", "Deployment", "web")
    assert target_of(stateful) == PodOwner("team", "StatefulSet", "db")


def test_what_scales_by_gpus() -> None:
    assert is_by_gpu(scaled("avg(DCGM_FI_DEV_GPU_UTIL)"))
    assert not is_by_gpu(scaled("sum(rate(requests_total[1m]))"))


def test_patience_is_the_longest_that_a_step_takes() -> None:
    policy = {"type": "Pods", "value": 1, "periodSeconds": 30}
    behavior = {"behavior": {"scaleUp": {"policies": [policy]}}}
    spec: dict[str, Any] = {"pollingInterval": 5, "cooldownPeriod": 60}
    by_window = scaled("avg_over_time(x[2m:30s])", **spec)
    by_period = scaled("x[10s]", advanced={"horizontalPodAutoscalerConfig": behavior}, **spec)

    assert patience([]) == 0
    assert patience([by_window]) == 120 + 60 + 2 * 5 + 3
    assert patience([by_period, scaled(**spec)]) == 30 + 60 + 2 * 5 + 3
    # KEDA's own times where nothing says others.
    assert patience([scaled()]) == 300 + 2 * 30 + 3


@pytest.mark.parametrize(("given", "expected"), [("", 30), ("1", 1), ("60", 60), ("2.5", 2.5)])
def test_how_much_faster(monkeypatch: pytest.MonkeyPatch, given: str, expected: float) -> None:
    monkeypatch.setenv(VARIABLE, given)

    assert faster() == expected


@pytest.mark.parametrize("given", ["0", "0.5", "-30", "fast", "inf", "nan"])
def test_slower_than_time_is_refused(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv(VARIABLE, given)

    with pytest.raises(LabError, match=f"{VARIABLE} is {given!r}: it takes a number from 1 on"):
        faster()


GPU, SHARED, SMALL = "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb"
ALL = {"virtual": True, "host_pid": True, "resources": (SHARED,)}


@pytest.mark.parametrize(
    ("resource", "device", "options", "why"),
    [
        (GPU, Device(0), {}, ""),
        (SMALL, Device(0, 3), {}, ""),
        (GPU, Device(0, replica=1), ALL, ""),
        (SHARED, Device(0, replica=1), ALL, ""),
        (SHARED, Device(0, replica=1), {**ALL, "resources": ()}, "does not list nvidia.com/gpu.sh"),
        (GPU, Device(0, replica=1), {**ALL, "virtual": False}, "KUBERNETES_VIRTUAL_GPUS"),
        (GPU, Device(0, replica=1), {**ALL, "host_pid": False}, "has no hostPID: it measures 0"),
        (SMALL, Device(0, 3, 1), ALL, "NVML measures no process"),
    ],
)
def test_why_the_use_of_a_pod_is_not_measured(
    resource: str, device: Device, options: dict[str, Any], why: str
) -> None:
    found = unseen(Holding("uid", "main", resource, device), Options(**options))

    assert why in found
    assert bool(found) == bool(why)


def test_a_run_without_keda_imports_nothing_of_it() -> None:
    heavy = ("scaling_by_use", "web", "prometheus")
    names = [f"eks_gpushare_lab.controllers.{each}" for each in heavy]
    program = (
        "import sys, eks_gpushare_lab.session\n"
        f"print([each for each in {names!r} if each in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ
    )

    assert done.stdout.strip() == "[]"
