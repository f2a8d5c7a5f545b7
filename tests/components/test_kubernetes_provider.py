"""A manager goes into the cluster that it is told, and into no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pulumi
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

MANAGERS = ["DevicePlugin", "GpuOperator"]
POOLS = {
    "gpu": {"instance_types": ["g6.2xlarge"], "sharing": {"mode": "timeSlicing", "replicas": 2}}
}
FIX = "Give the cluster's: opts=ResourceOptions(providers=[cluster.provider]). [GPU004]"


def kubernetes(name: str = "cluster") -> pulumi.ProviderResource:
    from pulumi_kubernetes import Provider

    return Provider(name, kubeconfig="{}")


def aws() -> pulumi.ProviderResource:
    from pulumi_aws import Provider

    return Provider("oregon", region="us-west-2")


def parent(**options: Any) -> pulumi.ComponentResource:
    return pulumi.ComponentResource("demo:index:Platform", "platform", {}, _options(**options))


def _options(**options: Any) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions(**options)


GIVEN: dict[str, Callable[[], pulumi.ResourceOptions]] = {
    "provider": lambda: _options(provider=kubernetes()),
    "providers": lambda: _options(providers=[kubernetes()]),
    "providers-by-name": lambda: _options(providers={"kubernetes": kubernetes()}),
    "beside-another": lambda: _options(provider=aws(), providers=[kubernetes()]),
    "inherited": lambda: _options(parent=parent(providers=[kubernetes()])),
    "inherited-beside-another": lambda: _options(
        parent=parent(providers=[kubernetes()]), provider=aws()
    ),
    "inherited-from-further-up": lambda: _options(
        parent=pulumi.ComponentResource(
            "demo:index:Team", "team", {}, _options(parent=parent(provider=kubernetes()))
        )
    ),
}
MISSING: dict[str, tuple[Callable[[], pulumi.ResourceOptions | None], str]] = {
    "no-options": (lambda: None, ""),
    "empty-options": (_options, ""),
    "none-in-the-list": (lambda: _options(providers=[]), ""),
    "another-provider": (
        lambda: _options(provider=aws()),
        "; the options have one for aws",
    ),
    "other-providers": (
        lambda: _options(providers=[aws()]),
        "; the options have one for aws",
    ),
    "a-parent-without": (lambda: _options(parent=parent()), ""),
    "a-parent-with-another": (lambda: _options(parent=parent(providers=[aws()])), ""),
}


def install(
    record: Callable[..., Run],
    manager: str,
    options: Callable[[], pulumi.ResourceOptions | None],
    *,
    fails: bool = False,
    args: dict[str, Any] | None = None,
) -> Run:
    def program() -> None:
        import eks_gpushare

        getattr(eks_gpushare, manager)("demo", args or {"pools": POOLS}, options())

    return record(program, fails=fails)


@pytest.mark.parametrize("way", GIVEN)
@pytest.mark.parametrize("manager", MANAGERS)
def test_a_provider_that_is_given_or_inherited_reaches_every_object(
    record: Callable[..., Run], manager: str, way: str
) -> None:
    made = install(record, manager, GIVEN[way])

    objects = {each.provider for each in made if each.type.startswith("kubernetes:")}
    assert objects == {made.one("kubernetes", "cluster").urn}


@pytest.mark.parametrize("way", MISSING)
@pytest.mark.parametrize("manager", MANAGERS)
def test_a_manager_without_a_provider_is_refused(
    record: Callable[..., Run], manager: str, way: str
) -> None:
    options, others = MISSING[way]

    made = install(record, manager, options, fails=True)

    assert made.error == (
        f"{manager}: 1 argument is wrong:\n"
        f"  opts.providers: No Kubernetes provider is given, and no parent has one{others}. "
        f"{manager} would be installed into whatever cluster the kubeconfig at hand names. {FIX}"
    )
    assert made.all(manager) == []


def test_a_missing_provider_does_not_hide_what_else_is_wrong(record: Callable[..., Run]) -> None:
    args = {"pools": POOLS, "namespace": "Plugin"}

    made = install(record, "DevicePlugin", lambda: None, fails=True, args=args)

    assert [line.partition(": ")[0].strip() for line in made.error.splitlines()] == [
        "DevicePlugin",
        "opts.providers",
        "namespace",
    ]


def test_the_provider_of_the_component_comes_before_that_of_its_parent(
    record: Callable[..., Run],
) -> None:
    made = install(
        record,
        "DevicePlugin",
        lambda: _options(parent=parent(providers=[kubernetes()]), provider=kubernetes("other")),
    )

    objects = {each.provider for each in made if each.type.startswith("kubernetes:")}
    assert objects == {made.one("kubernetes", "other").urn}


def test_a_provider_where_a_list_is_wanted_is_left_to_the_sdk(record: Callable[..., Run]) -> None:
    provider: Any = kubernetes

    made = install(record, "DevicePlugin", lambda: _options(providers=provider()), fails=True)

    assert "No Kubernetes provider" not in made.error
