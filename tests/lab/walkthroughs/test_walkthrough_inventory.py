"""What one run leaves on a lab, the next takes away, whatever installed it."""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare_lab.errors import LabError
from eks_gpushare_lab.install import inventory
from eks_gpushare_lab.install.inventory import InstalledStack
from eks_gpushare_lab.simulated_node.node import SimulatedNode

pytestmark = pytest.mark.slow

# What conftest.py offers.
Walk = Any
Client = Any
Desired = Any

SPACE = "nvidia-device-plugin"
OBJECTS = (
    "/apis/apps/v1/daemonsets",
    f"/api/v1/namespaces/{SPACE}/secrets",
    f"/api/v1/namespaces/{SPACE}/configmaps",
)


def there(client: Client) -> set[str]:
    """Names of what a stack has on the lab."""
    listed = [each["metadata"]["name"] for path in OBJECTS for each in client.list(path)[0]]
    return set(listed) - {"kube-root-ca.crt"}


def test_a_stack_installed_by_other_means_finds_nothing_of_the_one_before(
    walk: Walk, client: Client, desired: Desired
) -> None:
    walk.install("time-slicing")
    before = there(client)
    found: list[Any] = []

    def install() -> bool:
        found.append(there(client))
        found.append(client.get(f"/api/v1/namespaces/{SPACE}"))
        found.append(sorted(node.name for node in walk.session.nodes))
        return True

    walk.session.install(desired("exclusive"), install)

    assert len(before) == 8  # two are EKS's: the node monitoring agent and its host engine
    assert found == [set(), None, ["gpu-0", "system-0", "system-1"]]


def installed(client: Client, name: str, release: str | None) -> str:
    """A cluster role as Helm would make it for a release, or one of somebody else's."""
    annotations = {
        "meta.helm.sh/release-name": release,
        "meta.helm.sh/release-namespace": SPACE,
    }
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, "annotations": annotations if release else {}},
        "rules": [],
    }
    client.apply(role)
    return f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}"


def test_what_helm_installed_goes_with_the_next_stack(walk: Walk, client: Client) -> None:
    walk.install("exclusive")
    ours = installed(client, "ours", "plugin")
    others = [installed(client, "other-release", "other"), installed(client, "nobodys", None)]
    inventory.keep(client, InstalledStack((), [(SPACE, "plugin")]))
    walk.install("exclusive")
    left = [client.get(path) is not None for path in (ours, *others)]
    for path in others:
        client.delete(path)

    assert left == [False, True, True]


@pytest.mark.at_length
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_fault_of_the_node_agent_ends_the_wait(
    walk: Walk, desired: Desired, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise TypeError("a fault")

    monkeypatch.setattr(SimulatedNode, "update", broken)
    walk.session.install(desired("exclusive"))
    with pytest.raises(LabError) as caught:
        walk.session.settle()

    assert str(caught.value) == (
        "the simulated nodes have stopped by a fault of the lab; see above"
    )
