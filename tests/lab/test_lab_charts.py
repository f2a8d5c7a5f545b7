"""What the lab puts in place of the charts, held against what the real ones render.

`tests/golden/charts/<chart>-<case>.json` is what matters of the objects that `helm template` made
of the values of a case. With `helm` on PATH and EKS_GPUSHARE_TEST_CHARTS naming a folder that has
the charts in `gpu-operator`, `nvidia-device-plugin`, `aws-efa-k8s-device-plugin` and
`dcgm-exporter`, they are rendered again and compared.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from eks_gpushare.catalog import versions
from eks_gpushare_lab import rules
from eks_gpushare_lab.install.charts import operands, render, unknown
from eks_gpushare_lab.install.desired_cluster import DesiredCluster
from eks_gpushare_lab.install.installer import Installer
from eks_gpushare_lab.install.release import (
    DeclaredRelease,
    UnknownChartError,
    chart_at,
    facts_of,
    known_versions,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.findings.finding import Finding

GOLDEN = Path(__file__).parents[1] / "golden" / "charts"
PINNED = {
    chart.name: chart
    for chart in (versions.DEVICE_PLUGIN, versions.GPU_OPERATOR, versions.EFA_DEVICE_PLUGIN)
}
_OF_CHART = ("nvcr.io", "602401143452.dkr.ecr", "mirror/")
"""Images that the value of a chart names."""
TOLERATIONS = [{"key": "team", "operator": "Exists"}]
TERMS = [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
AFFINITY = {
    "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": TERMS}}
}
OWN = {
    "nodeSelector": {"a": "b"},
    "affinity": AFFINITY,
    "tolerations": TOLERATIONS,
    "priorityClassName": "mine",
}
GFD = {"gfd": {"enabled": True}}
CASES: dict[str, dict[str, dict[str, Any]]] = {
    "nvidia-device-plugin": {
        "default": {},
        "gfd": GFD,
        "nfd": {"nfd": {"enabled": True}},
        "gfd-without-nfd": {**GFD, "nfd": {"enabled": False}},
        "no-plugin": {"devicePlugin": {"enabled": False}, **GFD},
        "scheduling": {**OWN, **GFD},
        "nothing-tolerated": {**GFD, "tolerations": [], "affinity": None, "priorityClassName": ""},
        "nfd-scheduling": {**GFD, "nfd": {"worker": OWN, "priorityClassName": "below"}},
        "nfd-priority": {**GFD, "nfd": {"priorityClassName": "below"}},
        "config-name": {**GFD, "config": {"name": "mine", "default": "a"}, "migStrategy": "mixed"},
        "config-map": {"config": {"map": {"a": "version: v1", "default": "version: v1"}}},
        "names": {**GFD, "nameOverride": "other", "namespaceOverride": "elsewhere"},
        "full-name": {**GFD, "fullnameOverride": "full"},
        "image": {"image": {"repository": "nvcr.io/mirror", "tag": "v1"}, "mps": {"root": "/m"}},
    },
    "aws-efa-k8s-device-plugin": {
        "default": {},
        "scheduling": {key: OWN[key] for key in ("nodeSelector", "tolerations")},
        "labels": {"supportedInstanceLabels": {"keys": ["a", "b/c"], "values": ["x", "y"]}},
        "name": {"nameOverride": "other"},
        "full-name": {"fullnameOverride": "full"},
        "image": {"image": {"repository": "mirror/efa", "tag": "v1"}},
    },
    "dcgm-exporter": {
        "default": {},
        "scheduling": OWN,
        "derived": {
            "hostNetwork": True,
            "hostPID": True,
            "extraEnv": [{"name": "KUBERNETES_VIRTUAL_GPUS", "value": "true"}],
            "podAnnotations": {"prometheus.io/scrape": "true"},
            "serviceMonitor": {"enabled": False},
        },
        "names": {"nameOverride": "other", "namespaceOverride": "elsewhere"},
        "full-name": {"fullnameOverride": "full"},
        "image": {"image": {"repository": "mirror/dcgm-exporter", "tag": "v1"}},
    },
    "gpu-operator": {
        "default": {},
        "no-nfd": {"nfd": {"enabled": False}},
        "scheduling": {"operator": {key: OWN[key] for key in OWN if key != "affinity"}},
        "nfd-scheduling": {"node-feature-discovery": {"worker": OWN}},
        "nfd-priority": {"node-feature-discovery": {"priorityClassName": "below"}},
    },
}
EACH = [(chart, case) for chart, cases in CASES.items() for case in cases]
READ = (
    "CONFIG_FILE",
    "CONFIG_FILE_DST",
    "CONFIG_FILE_SRCDIR",
    "DEFAULT_CONFIG",
    "FALLBACK_STRATEGIES",
    "MIG_STRATEGY",
    "MPS_ROOT",
    "NODE_LABEL",
    "ONESHOT",
    "SEND_SIGNAL",
)
"""What of the environment the simulated node reads, or people would look for."""


def release(chart: str, case: str = "default", version: str | None = None) -> DeclaredRelease:
    given = known_versions(chart)[-1] if version is None else version
    return DeclaredRelease("mine", "gpu", chart, given, CASES[chart][case])


def text(content: object) -> str:
    return json.dumps(content, indent=1, sort_keys=True) + "\n"


@pytest.mark.parametrize(("chart", "case"), EACH)
def test_the_chart_still_renders_the_same(
    chart: str, case: str, golden: Callable[[str, str], None], tmp_path: Path
) -> None:
    charts, helm = os.environ.get("EKS_GPUSHARE_TEST_CHARTS"), shutil.which("helm")
    if not charts or helm is None:
        pytest.skip("no helm, or no charts; the top of this file says what is wanted")
    file = tmp_path / "values.json"
    file.write_text(text(CASES[chart][case]), encoding="utf-8")
    command = [helm, "template", "mine", str(Path(charts) / chart), "-n", "gpu", "-f", str(file)]
    output = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    made = [each for each in yaml.safe_load_all(output) if each]

    golden(f"charts/{chart}-{case}.json", text(essentials(made)))


@pytest.mark.parametrize(("chart", "case"), EACH)
def test_the_lab_puts_there_what_the_chart_renders(chart: str, case: str) -> None:
    rendered = json.loads((GOLDEN / f"{chart}-{case}.json").read_text(encoding="utf-8"))
    made_by_operator = {each["metadata"]["name"] for each in operands(release(chart, case))}
    ours = [
        each
        for each in render(release(chart, case))
        if each["metadata"]["name"] not in made_by_operator
    ]

    assert essentials(ours) == rendered


def essentials(objects: list[dict[str, Any]]) -> dict[str, Any]:
    """What matters of the objects of a chart: which pods go where, and how they are configured."""
    return {
        # A template may leave the namespace to helm, which takes the release's.
        f"{each['kind']} {each['metadata'].get('namespace', 'gpu')}/{each['metadata']['name']}": (
            each["data"] if each["kind"] == "ConfigMap" else pods(each)
        )
        for each in objects
        if each["kind"] == "DaemonSet"
        or (each["kind"] == "Deployment" and each["metadata"]["name"] == "gpu-operator")
        or (each["kind"] == "ConfigMap" and each["metadata"]["name"].endswith("-configs"))
    }


def pods(made: dict[str, Any]) -> dict[str, Any]:
    spec = made["spec"]["template"]["spec"]
    fields = ["nodeSelector", "affinity", "tolerations", "priorityClassName"]
    if made["kind"] == "Deployment":
        fields.remove("affinity")  # a preference, which changes nothing on the lab
    return {
        **{field: spec[field] for field in fields if spec.get(field)},
        "containers": [container(each) for each in spec["containers"]],
        "before": [
            container(each)
            for each in spec.get("initContainers") or ()
            if each["command"] == ["config-manager"]
        ],
        "configMaps": sorted(
            name
            for each in spec.get("volumes") or ()
            if (name := each.get("configMap", {}).get("name"))
            # NFD's own, which the lab's node has no use for.
            and "node-feature-discovery" not in name
        ),
    }


def container(made: dict[str, Any]) -> dict[str, Any]:
    environment = {each["name"]: each.get("value", "") for each in made.get("env") or ()}
    image = made["image"]
    return {
        "command": made.get("command", [made["name"]])[0],
        "env": {name: environment[name] or "" for name in READ if name in environment},
        **({"image": image} if image.startswith(_OF_CHART) and "operator" not in image else {}),
    }


@pytest.mark.parametrize("chart", PINNED)
def test_the_table_is_for_the_version_that_is_installed(chart: str) -> None:
    assert known_versions(chart) == (PINNED[chart].version,), (
        "run tools/catalog/daemonsets.py for the chart versions of eks_gpushare.catalog.versions"
    )


@pytest.mark.parametrize("chart", PINNED)
def test_the_table_says_of_what_and_when_it_was_made(chart: str) -> None:
    facts = facts_of(release(chart))

    assert known_versions(chart)[-1] in facts["source"]
    assert len(facts["read"]) == len("2026-11-22")


def test_links_to_mig_parted_go_to_the_release_that_the_operator_brings() -> None:
    operator = facts_of(release("gpu-operator"))

    assert operator["defaults"]["migManager"]["version"] == versions.MIG_PARTED


def test_every_operand_is_there_that_the_values_turn_on() -> None:
    on = {"dcgm": {"enabled": True}, "nodeStatusExporter": {"enabled": True}}
    made = operands(replace(release("gpu-operator"), values=on))

    assert [each["metadata"]["name"] for each in made] == list(
        facts_of(release("gpu-operator"))["operands"]
    )


def test_the_validator_cannot_be_turned_off() -> None:
    off = replace(release("gpu-operator"), values={"validator": {"enabled": False}})

    assert "nvidia-operator-validator" in [each["metadata"]["name"] for each in operands(off)]


@pytest.mark.parametrize("version", ["0.19.3", "0.20", "^0.20.0", "0.20.0-rc.1", ""])
def test_another_version_of_the_chart_renders_nothing(version: str) -> None:
    with pytest.raises(UnknownChartError):
        render(release("nvidia-device-plugin", version=version))


@pytest.mark.parametrize("chart", PINNED)
def test_a_version_is_the_same_with_and_without_its_v(chart: str) -> None:
    version = known_versions(chart)[-1].removeprefix("v")

    assert render(release(chart, version=f"v{version}"))
    assert render(release(chart, version=version))


def test_another_version_of_the_operator_has_no_operands() -> None:
    with pytest.raises(UnknownChartError):
        operands(release("gpu-operator", version="v26.3.0"))


def told(found: Finding) -> tuple[str, str, str, str, str]:
    return found.code, found.severity, found.path, found.message, found.fix


def test_the_finding_says_which_version_is_given_and_which_are_known() -> None:
    (known,) = known_versions("nvidia-device-plugin")
    message = (
        f"The release installs nvidia-device-plugin 0.19.3, and the lab knows the DaemonSets of "
        f"{known} only: nothing of mine is there, and the run proves nothing about its nodes."
    )
    fix = (
        f"Let it install {known}, in a stack file by charts.devicePlugin.version; or let Helm "
        "render the real chart, with --engine."
    )

    found = unknown(release("nvidia-device-plugin", version="0.19.3"))
    assert told(found) == ("GPU904", "error", "releases.mine", message, fix)


def test_a_release_without_a_version_is_told_so() -> None:
    (known,) = known_versions("gpu-operator")
    message = (
        "The release does not say which version of gpu-operator it installs, and the lab knows the "
        f"DaemonSets of {known} only: nothing of mine is there, and the run proves nothing about "
        "its nodes."
    )
    fix = f"Let it install {known}, in a stack file by charts.gpuOperator.version."

    found = unknown(release("gpu-operator", version=""))
    assert told(found) == ("GPU904", "error", "releases.mine", message, fix)


def test_a_chart_that_is_none_of_nvidias_is_a_warning() -> None:
    found = unknown(DeclaredRelease("web", "web", "ingress-nginx", "4.0.0", {}))

    assert told(found) == (
        "GPU904",
        "warning",
        "releases.web",
        "The lab knows no chart ingress-nginx; nothing of web is there.",
        "Nothing, if no pod of the chart matters here; else apply its manifests.",
    )


class Nothing:
    """An API server that takes whatever comes and has nothing."""

    def __init__(self) -> None:
        self.applied: list[dict[str, Any]] = []

    def apply(self, given: dict[str, Any]) -> object:
        self.applied.append(given)
        return type("Answer", (), {"object": given, "warnings": []})

    def list(self, path: str, **_: str) -> tuple[list[dict[str, Any]], str]:
        assert path
        return [], "1"

    def path_of(self, given: dict[str, Any]) -> str:
        return f"/{given['kind']}/{given['metadata']['name']}"

    def get(self, _: str) -> None:
        return None


@pytest.mark.parametrize("by_helm", [False, True])
@pytest.mark.parametrize("chart", PINNED)
def test_nothing_of_another_version_is_installed(chart: str, *, by_helm: bool) -> None:
    client = Nothing()
    installer = Installer(client)  # type: ignore[arg-type]  # as far as it is used here
    desired = DesiredCluster((), (release(chart, version="1.2.3"),), ())
    installer.install(desired, (lambda: True) if by_helm else None)
    kinds = {each["kind"] for each in client.applied}

    assert kinds <= {"ConfigMap", "Namespace"}  # the lab's own list of what it has installed
    # The real charts of device plugins make their DaemonSets themselves.
    wanted = [] if by_helm and chart != "gpu-operator" else [rules.UNKNOWN_CHART.id]
    assert [each.code for each in installer.findings] == wanted


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("name: nvidia-device-plugin\nversion: 0.20.0\n", ("nvidia-device-plugin", "0.20.0")),
        ("name: nvidia-device-plugin\n", None),
        ("[", None),
        (None, None),
    ],
)
def test_a_chart_on_the_disk_says_its_version_itself(
    content: str | None, found: tuple[str, str] | None, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "Chart.yaml").write_text(content, encoding="utf-8")

    assert chart_at(tmp_path) == found
