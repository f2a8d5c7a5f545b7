"""A cluster has room for one manager of GPU sharing, and for one environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pulumi
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

POOLS: Any = {
    "gpu": {"instance_types": ["g6.2xlarge"], "sharing": {"mode": "timeSlicing", "replicas": 2}}
}
MANAGERS = ("DevicePlugin", "GpuOperator")
NEW: Any = {
    "cluster": {"name": "demo", "version": "1.35"},
    "network": {"zones": ["us-west-2a", "us-west-2b"]},
    "pools": POOLS,
    "region": "us-west-2",
}


def kubernetes(name: str = "cluster") -> Any:
    from pulumi_kubernetes import Provider

    return Provider(name, kubeconfig="{}")


def manager(kind: str, name: str, opts: pulumi.ResourceOptions) -> Any:
    import eks_gpushare

    return getattr(eks_gpushare, kind)(name, {"pools": POOLS}, opts)


@pytest.mark.parametrize("second", MANAGERS)
@pytest.mark.parametrize("first", MANAGERS)
def test_a_second_manager_of_a_cluster_is_refused(
    record: Callable[..., Run], first: str, second: str
) -> None:
    def program() -> None:
        provider = kubernetes()
        manager(first, "one", pulumi.ResourceOptions(providers=[provider]))
        manager(second, "two", pulumi.ResourceOptions(providers={"kubernetes": provider}))

    made = record(program, fails=True)

    assert made.error == (
        f"{second}: 1 argument is wrong:\n"
        f'  opts.providers: {first} "one" serves the cluster of this provider already, and a '
        "cluster has room for one. Give all pools to one of them, or the provider of another "
        "cluster. [GPU002]"
    )
    assert not [each.name for each in made if each.name.startswith("two")]


def test_a_manager_beside_an_environment_is_refused(record: Callable[..., Run]) -> None:
    def program() -> None:
        from eks_gpushare import GpuSharingEnvironment

        environment = GpuSharingEnvironment("demo", NEW)
        manager("DevicePlugin", "two", pulumi.ResourceOptions(providers=[environment.provider]))

    error = record(program, fails=True).error

    assert 'DevicePlugin "demo-device-plugin" serves the cluster of this provider' in error


def test_a_provider_of_the_parent_counts(record: Callable[..., Run]) -> None:
    def program() -> None:
        options = pulumi.ResourceOptions(providers=[kubernetes()])
        parent = pulumi.ComponentResource("my:own:Thing", "parent", None, options)
        manager("DevicePlugin", "one", pulumi.ResourceOptions(parent=parent))
        manager("DevicePlugin", "two", pulumi.ResourceOptions(parent=parent))

    assert "has room for one" in record(program, fails=True).error


def test_each_cluster_may_have_its_manager(record: Callable[..., Run]) -> None:
    def program() -> None:
        for name in ("one", "two"):
            manager("DevicePlugin", name, pulumi.ResourceOptions(providers=[kubernetes(name)]))

    assert len(record(program).all("DevicePlugin")) == len(("one", "two"))


@pytest.mark.parametrize(
    ("declared", "place"),
    [
        (NEW, "cluster.name"),
        (
            {
                "cluster": {"existing": {"kubeconfig": "config.yaml", "context": "lab"}},
                "kubeconfig": "{}",
                "pools": {"gpu": {**POOLS["gpu"], "provisioner": "existing"}},
            },
            "cluster.existing",
        ),
    ],
)
def test_a_second_environment_of_a_cluster_is_refused(
    record: Callable[..., Run], declared: Any, place: str
) -> None:
    def program() -> None:
        from eks_gpushare import GpuSharingEnvironment

        GpuSharingEnvironment("one", declared)
        GpuSharingEnvironment("two", declared)

    made = record(program, fails=True)

    assert made.error == (
        "GpuSharingEnvironment: 1 argument is wrong:\n"
        f'  {place}: GpuSharingEnvironment "one" is for this cluster already, and a cluster has '
        "room for one. Put the pools of both into one of them. [GPU002]"
    )
    assert not [each.name for each in made if each.name.startswith("two")]


def test_environments_of_other_clusters_regions_and_accounts_are_others(
    record: Callable[..., Run],
) -> None:
    def program() -> None:
        import pulumi_aws

        from eks_gpushare import GpuSharingEnvironment

        account = pulumi_aws.Provider("other", region="us-west-2")
        other: Any = {**NEW, "cluster": {**NEW["cluster"], "name": "other"}}
        away: Any = {
            **NEW,
            "region": "eu-west-1",
            "network": {"zones": ["eu-west-1a", "eu-west-1b"]},
        }
        GpuSharingEnvironment("one", NEW)
        GpuSharingEnvironment("two", other)
        GpuSharingEnvironment("three", away)
        GpuSharingEnvironment("four", NEW, pulumi.ResourceOptions(providers=[account]))

    assert [each.name for each in record(program).all("GpuSharingEnvironment")] == [
        *("one", "two", "three", "four")
    ]


def test_runs_do_not_see_each_other(record: Callable[..., Run]) -> None:
    def program() -> None:
        from eks_gpushare import GpuSharingEnvironment

        GpuSharingEnvironment("one", NEW)

    record(program)
    record(program)
