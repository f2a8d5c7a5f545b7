"""The objects of the controller that frees nodes, as components register them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pulumi
import pytest

from eks_gpushare.catalog import versions
from eks_gpushare.in_cluster.mig_taint_remover import register_mig_taint_remover

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

EXPECTED = {
    "gpu": {"config": "all-1g.5gb", "advertises": {"p4d.24xlarge": {"nvidia.com/mig-1g.5gb": 56}}}
}


@pytest.fixture
def remover(record: Callable[..., Run]) -> Callable[..., Run]:
    def run(image: str | None = None, expected: Any = None) -> Run:
        def program() -> None:
            import pulumi_kubernetes

            cluster = pulumi_kubernetes.Provider("cluster", kubeconfig="{}")
            opts = pulumi.ResourceOptions(provider=cluster)
            register_mig_taint_remover("demo", "gpu-operator", image, expected or EXPECTED, opts)

        return record(program)

    return run


def without_script(run: Run) -> str:
    """The registrations, with the script by its name: it has tests of its own."""
    found = json.loads(run.text())
    for each in found:
        data = each["inputs"].get("data", {})
        if "mig_taint_remover.py" in data:
            data["mig_taint_remover.py"] = "..."
    named = json.dumps(found, indent=2) + "\n"
    name = run.inputs("ConfigMap")["metadata"]["name"]
    return named.replace(name, f"{name.rpartition('-')[0]}-HASH")


def test_the_controller_with_defaults(
    remover: Callable[..., Run], golden: Callable[[str, str], None]
) -> None:
    golden("components/mig-taint-remover.json", without_script(remover()))


def test_it_may_list_watch_and_patch_nodes_and_nothing_else(remover: Callable[..., Run]) -> None:
    assert remover().inputs("ClusterRole")["rules"] == [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "patch", "watch"]}
    ]


def test_its_config_map_is_named_after_its_content_and_the_pod_follows(
    remover: Callable[..., Run],
) -> None:
    before = remover()
    after = remover(expected={"gpu": {**EXPECTED["gpu"], "config": "all-2g.10gb"}})

    assert after.changed_from(before) == {
        "ConfigMap demo-mig-taint-remover",
        "Deployment demo-mig-taint-remover",
    }
    for run in (before, after):
        name = run.inputs("ConfigMap")["metadata"]["name"]
        volumes = run.inputs("Deployment")["spec"]["template"]["spec"]["volumes"]
        assert volumes[0] == {"name": "script", "configMap": {"name": name}}
        assert run.inputs("ConfigMap")["immutable"] is True


def image_of(run: Run) -> str:
    (container,) = run.inputs("Deployment")["spec"]["template"]["spec"]["containers"]
    return str(container["image"])


def test_its_image_is_pinned_by_digest(remover: Callable[..., Run]) -> None:
    assert image_of(remover()) == versions.PYTHON.reference
    assert versions.PYTHON.reference == (
        f"{versions.PYTHON.repository}:{versions.PYTHON.tag}@{versions.PYTHON.digest}"
    )


def test_a_mirror_can_be_named(remover: Callable[..., Run]) -> None:
    mirror = "registry.example.com/python:3.13.16-slim"

    assert image_of(remover(mirror)) == mirror


def test_the_script_is_the_one_of_this_release(remover: Callable[..., Run]) -> None:
    from pathlib import Path

    from eks_gpushare.in_cluster.data import mig_taint_remover

    data = remover().inputs("ConfigMap")["data"]
    assert data["mig_taint_remover.py"] == Path(mig_taint_remover.__file__).read_text("utf-8")
    assert json.loads(data["expected.json"]) == EXPECTED
