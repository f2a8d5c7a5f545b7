"""When the lab needs Kueue, and how what was applied configures it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from eks_gpushare.catalog import versions
from eks_gpushare_lab.controllers import kueue
from eks_gpushare_lab.install.charts import render
from eks_gpushare_lab.install.release import DeclaredRelease

if TYPE_CHECKING:
    from pathlib import Path

DEFAULTS = {
    "managerConfig": {"controllerManagerConfigYaml": "integrations: {frameworks: [pod]}\n"},
    "controllerManager": {"featureGates": []},
}
SELECTOR = {"matchLabels": {"team": "a"}}
POD = {"apiGroups": [""], "resources": ["pods"]}
SERVICE = {"name": "webhook-service", "namespace": "system", "path": "/x"}


def release(name: str = "kueue", **values: Any) -> DeclaredRelease:
    return DeclaredRelease(name, "queues", "kueue", versions.KUEUE.version, values)


def configured(name: str = "kueue", **configuration: Any) -> kueue.KueueSetting:
    text = yaml.safe_dump(configuration)
    values = {"managerConfig": {"controllerManagerConfigYaml": text}}
    return kueue.setting_of(release(name, **values), DEFAULTS)


def webhooks(setting: kueue.KueueSetting, *names: str) -> list[dict[str, Any]]:
    """Webhooks by name; of Kueue's own kinds where the name says so."""
    own = {"apiGroups": [kueue.GROUP], "resources": ["clusterqueues"]}
    given = [
        {
            "name": name,
            "failurePolicy": "Fail",
            "clientConfig": {"service": dict(SERVICE)},
            "rules": [own if "queue" in name else POD],
        }
        for name in names
    ]
    document = {"kind": "MutatingWebhookConfiguration", "webhooks": given}
    *_, found = kueue.definitions([document], setting, 4711)
    return list(found["webhooks"])


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("kueue.x-k8s.io/v1beta2", True),
        ("kueue.x-k8s.io/v1beta1", True),
        ("config.kueue.x-k8s.io/v1beta2", False),
        ("apps/v1", False),
        ("v1", False),
    ],
)
def test_which_objects_need_kueue(version: str, *, expected: bool) -> None:
    assert kueue.wanted([{"apiVersion": version, "kind": "X"}]) is expected


def test_a_release_of_its_chart_needs_it_too() -> None:
    assert kueue.wanted([], [release()])
    assert not kueue.wanted([], [DeclaredRelease("p", "p", "prometheus", "1", {})])
    assert render(release()) == []


@pytest.mark.parametrize(
    ("called", "values", "expected"),
    [
        ("kueue", {}, "kueue"),
        ("my-kueue", {}, "my-kueue"),
        ("queues", {}, "queues-kueue"),
        ("queues", {"nameOverride": "q"}, "queues"),
        ("queues", {"fullnameOverride": "x"}, "x"),
    ],
)
def test_names_are_the_charts(called: str, values: dict[str, Any], expected: str) -> None:
    assert kueue.setting_of(release(called, **values), DEFAULTS).name == expected


def test_nothing_installs_it_and_it_runs_as_the_chart_would() -> None:
    setting = kueue.setting_of(None, DEFAULTS)

    assert (setting.name, setting.namespace) == ("kueue", "kueue-system")
    assert setting.configuration == {"integrations": {"frameworks": ["pod"]}}


def test_what_was_applied_stays_but_for_what_a_process_needs(tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "resources": {"excludeResourcePrefixes": ["cpu"]},
        "metrics": {"bindAddress": ":8443", "enableClusterQueueResources": True},
        "leaderElection": {"leaderElect": True},
        "manageJobsWithoutQueueName": True,
    }
    setting: Any = configured(**given)
    found = kueue.configuration(setting, (1, 2, 3), tmp_path)

    assert found["resources"] == given["resources"]
    assert found["manageJobsWithoutQueueName"] is True
    assert found["metrics"] == {"bindAddress": "127.0.0.1:2", "enableClusterQueueResources": True}
    assert found["leaderElection"] == {"leaderElect": False}
    assert found["webhook"] == {"host": "127.0.0.1", "port": 3, "certDir": str(tmp_path)}


def test_webhooks_select_what_the_chart_has_them_select() -> None:
    integrations = {"frameworks": ["pod"]}
    setting = configured(managedJobsNamespaceSelector=SELECTOR, integrations=integrations)
    pod, deployment, job, queue = webhooks(
        setting, "mpod.kb.io", "mdeployment.kb.io", "mjob.kb.io", "mclusterqueue.kb.io"
    )

    assert [each.get("namespaceSelector") for each in (pod, deployment, job)] == [SELECTOR] * 3
    assert "namespaceSelector" not in queue
    assert [each["failurePolicy"] for each in (pod, deployment, job)] == ["Fail", "Ignore", "Fail"]
    service = pod["clientConfig"]["service"]
    assert (service["name"], service["namespace"], service["port"], service["path"]) == (
        "kueue-webhook-service",
        "queues",
        4711,
        "/x",
    )


def test_without_a_selector_they_leave_out_the_systems_namespaces_only() -> None:
    pod, job = webhooks(configured(), "mpod.kb.io", "mjob.kb.io")

    (chosen,) = pod["namespaceSelector"]["matchExpressions"]
    assert (chosen["operator"], chosen["values"]) == ("NotIn", ["kube-system", "queues"])
    assert "namespaceSelector" not in job


def test_kinds_of_two_versions_are_converted_by_it() -> None:
    names = ("workloads", "resourceflavors")
    given = [
        {"kind": "CustomResourceDefinition", "spec": {"names": {"plural": name}}} for name in names
    ]
    *_, workloads, flavors = kueue.definitions(given, configured(), 4711)

    webhook = workloads["spec"]["conversion"]["webhook"]["clientConfig"]["service"]
    assert (webhook["path"], webhook["port"]) == ("/convert", 4711)
    assert "conversion" not in flavors["spec"]
