"""What a text tells of a cluster wherever it stands, be it in no object that is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from linted import every, found_in_parts

from eks_gpushare.lint.told_texts import given_in, named_in

if TYPE_CHECKING:
    from pathlib import Path

POOL = "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: gpu}\nspec: {}\n"
ADDON = """\
apiVersion: infra.k8smgmt.io/v3
kind: Addon
spec:
  artifact:
    artifact:
      chartName: karpenter
      chartVersion: VERSION
"""
VARIABLES = """\
addons = {
  scaler = {
    chart_version = "VERSION"
    repository    = "ours"
    chart_name    = "karpenter",
  }
  other = { chart_version = "9.9.9" }
}
"""
OLD = """\
apiVersion: GROUP
kind: KIND
metadata: {name: nvidia-device-plugin, namespace: kube-system}
spec: {template: {spec: {containers: [{name: a, image: b}]}}}
"""


def is_error(code: str, files: dict[str, str], folder: Path) -> bool:
    """Whether it is said of files as one, read together and in parts; a note is said else."""
    together = {each.severity for each in every([*files.items()]) if each.code == code}
    apart = {each.severity for each in found_in_parts(folder, files) if each.code == code}
    assert together in ({"error"}, {"info"})
    assert apart - {"info"} == together - {"info"}
    return "error" in apart


@pytest.mark.parametrize(("file", "text"), [("addon.yaml", ADDON), ("ours.tfvars", VARIABLES)])
@pytest.mark.parametrize(("version", "wrong"), [("v0.35.4", False), ("1.2.0", True)])
def test_an_addon_of_another_tool_tells_which_karpenter_there_is(
    file: str, text: str, version: str, wrong: bool, tmp_path: Path
) -> None:
    files = {"pools/pool.yaml": POOL, f"addons/{file}": text.replace("VERSION", version)}

    assert is_error("GPU1050", files, tmp_path) is wrong


@pytest.mark.parametrize(
    ("near", "far", "wrong"),
    [
        ("v0.9.1", "1.7.1", False),
        ("1.7.1", "v0.9.1", True),
        ("v0.9.1", "v0.30.0", False),
        ("$VERSION", "1.7.1", False),
        ("1.7.1", "$VERSION", True),
    ],
)
def test_the_karpenter_that_is_installed_nearest_serves_a_pool(
    near: str, far: str, wrong: bool, tmp_path: Path
) -> None:
    """A repository had one module of the first Karpenter, and a stack of the newest."""
    files = {
        "modules/eks/pool.yaml": POOL,
        "modules/eks/up.sh": f"helm install karpenter karpenter/karpenter --version {near}\n",
        "stacks/eks/up.sh": f"helm install karpenter karpenter/karpenter --version {far}\n",
    }
    assert is_error("GPU1050", files, tmp_path) is wrong


@pytest.mark.parametrize(("top", "wrong"), [("1.5.0", True), ("v0.16.0", False)])
def test_one_that_is_installed_in_a_folder_above_is_near_too(
    top: str, wrong: bool, tmp_path: Path
) -> None:
    install = "helm install karpenter karpenter/karpenter --version "
    files = {
        "modules/a/pool.yaml": POOL,
        "modules/b/old.sh": f"{install}v0.16.0\n",
        "up.sh": f"{install}{top}\n",
    }
    assert is_error("GPU1050", files, tmp_path) is wrong


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("chartName: karpenter\nchartVersion: 0.35.4\n", ["0.35.4"]),
        ('"chart_name": "karpenter",\n"chart_version": "v1.0.1"\n', ["v1.0.1"]),
        ("a:\n  chartVersion: '1.2.3'  # x\n  b: c\n  chartName: 'karpenter'\n", ["1.2.3"]),
        ("chartName: karpenter\na: b\nc: d\nchartVersion: 0.35.4\n", []),
        ("chartVersion: 0.35.4\na: b\nc: d\nchartName: karpenter\n", []),
        ("chartName: karpenter-pools\nchartVersion: 0.35.4\n", []),
        ("chartName: other  # no karpenter\nchartVersion: 0.35.4\n", []),
        ("chartName: karpenter\nchartVersion: {{ version }}\n", []),
        ("x\n\nchartName: karpenter\nchartVersion: 0.1.2-rc.1\n", ["0.1.2-rc.1"]),
        ("chartVersion: 0.35.4\nchartName: karpenter\n", ["0.35.4"]),
        ("\nchartName: karpenter\na: b\nchartVersion: 0.35.4\n", ["0.35.4"]),
        ("\nchartVersion: 0.3.4\nb: c\nchartName: karpenter\n\n\nchartVersion: 1.2.3\n", ["0.3.4"]),
    ],
)
def test_a_version_stands_beside_the_name_of_the_chart(text: str, versions: list[str]) -> None:
    told = list(given_in(text))

    assert [version for kind, version in told if kind == "karpenter"] == versions
    assert (("served", "karpenter") in told) == bool(versions)


@pytest.mark.parametrize(
    ("text", "is_old"),
    [
        ('subscription-manager repos --enable="rhel-7-server-ose-3.11-rpms" \\\n', True),
        ("x\nopenshift_release=v3.11\n", True),
        ("openshift_image_tag: 'v3.9.14'\n", True),
        ("openshift_pkg_version=-3.10.1\n", True),
        ("openshift_release=v4.2\n", False),
        ("my_openshift_release=v3.2\n", False),
        ("ansible-playbook openshift-ansible/playbooks/deploy_cluster.yml\n", True),
        ("ansible-playbook /a/openshift-ansible/playbooks/openshift-logging/config.yml\n", True),
        ("ansible-playbook openshift-ansible/playbooks/scaleup.yml\n", False),
        ("openshift 3.11\n", False),
    ],
)
def test_an_installer_tells_that_its_openshift_is_an_old_one(text: str, is_old: bool) -> None:
    assert (("served", "openshift 3") in given_in(text)) == is_old


@pytest.mark.parametrize(
    ("text", "is_old"),
    [
        ("apiVersion: extensions/v1beta1\n", True),
        ('{"apiVersion": "apps/v1beta2"}', True),
        ("apiVersion: apps/v1\n", False),
        ("apiVersion: batch/v1beta1\n", False),
    ],
)
def test_what_was_served_then_needs_it(text: str, is_old: bool) -> None:
    assert (("served", "openshift 3") in named_in(text)) == is_old


@pytest.mark.parametrize(
    ("group", "kind", "script", "wrong"),
    [
        ("extensions/v1beta1", "DaemonSet", "yum install rhel-7-server-ose-3.11-rpms", False),
        ("apps/v1beta1", "Deployment", "yum install rhel-7-server-ose-3.11-rpms", False),
        ("extensions/v1beta1", "DaemonSet", "yum install rhel-8-server-ose-4.1-rpms", True),
        # Kubernetes has it since 1.14, and no OpenShift 3 is of that.
        ("node.k8s.io/v1beta1", "RuntimeClass", "yum install rhel-7-server-ose-3.9-rpms", True),
    ],
)
def test_an_old_openshift_serves_the_first_versions_of_workloads(
    group: str, kind: str, script: str, wrong: bool, tmp_path: Path
) -> None:
    plugin = OLD.replace("GROUP", group).replace("KIND", kind)
    files = {"plugin/plugin.yaml": plugin, "hosts/prepare.sh": f"#!/bin/sh\n{script}\n"}

    assert is_error("GPU1007", files, tmp_path) is wrong
