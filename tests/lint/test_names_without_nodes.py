"""By which name a chart of the device plugin gives out GPUs, where no nodes are declared."""

from __future__ import annotations

import pytest

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

SHARED = "nvidia.com/gpu.shared"


def told(config: str, asked: str) -> list[tuple[str, str]]:
    release = f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: plugin, namespace: gpu}}
spec: {{chart: {{spec: {{chart: nvidia-device-plugin}}}}, values: {config}}}
"""
    pod = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: p}}
spec: {{containers: [{{name: m, image: a, resources: {{limits: {{{asked}: 1}}}}}}]}}
"""
    reports = lint_files([GivenFile("a.yaml", release), GivenFile("b.yaml", pod)])
    found = [each for report in reports for each in report.findings if each.code == "GPU1204"]
    return [(each.message, each.fix) for each in found]


def shares(*, renamed: bool) -> str:
    resources = "resources: [{name: nvidia.com/gpu, replicas: 2}]"
    sliced = f"{{renameByDefault: {str(renamed).lower()}, {resources}}}"
    return f"{{config: {{map: {{a: {{version: v1, sharing: {{timeSlicing: {sliced}}}}}}}}}}}"


@pytest.mark.parametrize(
    ("config", "asked", "said"),
    [
        ("{}", "nvidia.com/gpu", ""),
        ("{}", SHARED, "whole GPUs as nvidia.com/gpu."),
        (shares(renamed=True), SHARED, ""),
        (shares(renamed=True), "nvidia.com/gpu", f"shares as {SHARED}."),
        (shares(renamed=False), SHARED, "shares as nvidia.com/gpu."),
    ],
)
def test_pods_ask_by_the_name_that_is_given(config: str, asked: str, said: str) -> None:
    found = told(config, asked)

    assert len(found) == bool(said)
    assert all(message.endswith(f"gives out {said}") for message, _ in found)


def test_how_the_name_would_be_another_is_told() -> None:
    found = [*told("{}", SHARED), *told(shares(renamed=False), SHARED)]

    assert [fix for _, fix in found] == [
        "Ask for nvidia.com/gpu, or change what the plugin shares.",
        "Ask for nvidia.com/gpu, or change renameByDefault.",
    ]
