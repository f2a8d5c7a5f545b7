"""How the emulated AWS is told to behave, and the environment that Karpenter is started with."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_gpushare_lab.binaries import versions
from eks_gpushare_lab.cloud.settings import CloudSettings, SettingError, Shortage
from eks_gpushare_lab.controllers.karpenter import environment_of
from eks_gpushare_lab.install.release import DeclaredRelease


def test_options_change_settings() -> None:
    given = ["start=30", "plugin=45.5", "insufficient=g5.xlarge:us-west-2a", "insufficient=::spot"]
    found = CloudSettings().with_options([*given, "reserved=3"])
    shortages = (Shortage("g5.xlarge", "us-west-2a"), Shortage("*", "*", "spot"))
    assert found == CloudSettings(start=30, plugin=45.5, insufficient=shortages, reserved=3)
    assert CloudSettings.from_json(found.as_json()) == found


@pytest.mark.parametrize(
    "option",
    [
        *("start", "start=", "start=soon", "start=-1", "start=nan", "start=inf", "Start=1"),
        *("plugin=1m", "notice=2 minutes", "insufficient", "insufficient=", "insufficient= "),
        *("insufficient=g5.xlarge:us-west-2a:spot:1", "insufficient=::onDemand", "delay=3", "=3"),
        *("reserved", "reserved=", "reserved=-1", "reserved=1.5", "reserved=\u0663"),
    ],
)
def test_what_is_no_setting_is_refused(option: str) -> None:
    with pytest.raises(SettingError):
        CloudSettings().with_options([option])


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("*", {"g5.xlarge us-west-2a spot", "g6.xlarge us-west-2b on-demand"}),
        ("g5.xlarge", {"g5.xlarge us-west-2a spot"}),
        (":us-west-2b", {"g6.xlarge us-west-2b on-demand"}),
        ("*:*:spot", {"g5.xlarge us-west-2a spot"}),
        ("g5.xlarge:us-west-2a:on-demand", set()),
    ],
)
def test_a_shortage_covers_what_it_names(text: str, covered: set[str]) -> None:
    launches = ["g5.xlarge us-west-2a spot", "g6.xlarge us-west-2b on-demand"]
    shortage = Shortage.read(text)
    assert {each for each in launches if shortage.covers(*each.split())} == covered


def release(**settings: object) -> DeclaredRelease:
    return DeclaredRelease("karpenter", "karpenter", "karpenter", "1.14.1", {"settings": settings})


def test_the_controller_is_told_what_the_chart_would_tell_it() -> None:
    gates = {"nodeOverlay": True, "staticCapacity": True}
    found = environment_of(
        release(clusterName="demo", interruptionQueue="queue", featureGates=gates)
    )
    assert found["CLUSTER_NAME"] == "demo"
    assert found["INTERRUPTION_QUEUE"] == "queue"
    assert found["SYSTEM_NAMESPACE"] == "karpenter"
    assert set(found["FEATURE_GATES"].split(",")) == {
        "ReservedCapacity=true",
        "SpotToSpotConsolidation=false",
        "NodeRepair=false",
        "NodeOverlay=true",
        "StaticCapacity=true",
        "CapacityBuffer=false",
    }


def test_what_is_empty_or_false_is_not_told() -> None:
    found = environment_of(release(clusterName="demo", isolatedVPC=False, reservedENIs=""))
    assert not {"ISOLATED_VPC", "RESERVED_ENIS", "INTERRUPTION_QUEUE"} & found.keys()
    assert environment_of(release(isolatedVPC=True))["ISOLATED_VPC"] == "true"


def test_the_variables_of_the_values_come_last() -> None:
    extra = [{"name": "BATCH_IDLE_DURATION", "value": "3s"}, {"name": "A", "valueFrom": {}}]
    values = {"controller": {"env": extra}, "logLevel": "debug"}
    found = environment_of(DeclaredRelease("karpenter", "karpenter", "karpenter", "1.14.1", values))
    assert found["BATCH_IDLE_DURATION"] == "3s"
    assert found["LOG_LEVEL"] == "debug"
    assert "A" not in found


@pytest.mark.parametrize(
    "settings",
    [
        {"clusterName": "demo"},
        {
            "clusterName": "demo",
            "interruptionQueue": "queue",
            "featureGates": {"nodeOverlay": True, "staticCapacity": True},
            "batchIdleDuration": "2s",
            "isolatedVPC": True,
            "vmMemoryOverheadPercent": 0.05,
            "reservedENIs": "1",
            "disableDryRun": False,
        },
    ],
)
def test_the_chart_itself_renders_the_same(settings: dict[str, Any], tmp_path: Path) -> None:
    """With helm on PATH, the chart of the module that the controller is built of; else skipped."""
    helm, chart = shutil.which("helm"), chart_of_the_module()
    if helm is None or chart is None:
        pytest.skip("helm is not on PATH, or Go's module cache has no Karpenter")
    values = {"settings": settings, "logLevel": "error"}
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values), encoding="utf-8")
    command = [helm, "template", "karpenter", str(chart), "-f", str(file), "-n", "karpenter"]
    shown = [*command, "--show-only", "templates/deployment.yaml"]
    rendered = subprocess.run(shown, capture_output=True, text=True, check=True).stdout
    (container,) = yaml.safe_load(rendered)["spec"]["template"]["spec"]["containers"]
    told = {each["name"]: each["value"] for each in container["env"] if "value" in each}
    ours = environment_of(DeclaredRelease("karpenter", "karpenter", "karpenter", "1.14.1", values))
    gates = {told.pop("FEATURE_GATES"), ours.pop("FEATURE_GATES")}
    assert len({frozenset(each.split(",")) for each in gates}) == 1
    of_the_pod = {"KUBERNETES_MIN_VERSION", "METRICS_PORT", "HEALTH_PROBE_PORT"}
    of_the_logs = {"LOG_OUTPUT_PATHS", "LOG_ERROR_OUTPUT_PATHS"}
    assert {key: told[key] for key in told.keys() - of_the_pod - of_the_logs} == {
        key: ours[key] for key in ours.keys() - {"SYSTEM_NAMESPACE"}
    }


def chart_of_the_module() -> Path | None:
    go = shutil.which("go")
    if go is None:
        return None
    asked = subprocess.run([go, "env", "GOMODCACHE"], capture_output=True, text=True, check=False)
    module = f"github.com/aws/karpenter-provider-aws@{versions.karpenter().version}"
    chart = Path(asked.stdout.strip() or os.devnull) / module / "charts" / "karpenter"
    return chart if chart.is_dir() else None
