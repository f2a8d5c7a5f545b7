"""ConfigMaps that DaemonSets for GPUs mount, and the keys that they read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import codes, config_map, nodes, operator, plugin, pods, problems, said

from eks_gpushare.inventory.edges import mounts
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item, Release

PLUGIN = "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"
EXPORTER = "nvcr.io/nvidia/k8s/dcgm-exporter:4.4.1"
SLICES = (
    "version: v1\nsharing:\n  timeSlicing:\n    resources: [{name: nvidia.com/gpu, replicas: 4}]\n"
)
MOUNT = {"name": "config", "mountPath": "/config"}


def daemon(source: Any, image: Any = PLUGIN, **container: Any) -> Item:
    container.setdefault("volumeMounts", [MOUNT])
    spec = {
        "containers": [{"name": "main", "image": image, **container}],
        "volumes": [{"name": "config", **source}],
    }
    return pods(kind="DaemonSet", name="gpus", namespace="gpu", replicas=None, spec=spec)


def of_map(name: Any, **more: Any) -> dict[str, Any]:
    return {"configMap": {"name": name, **more}}


def shares(name: Any = "shares", namespace: Any = "gpu", **data: Any) -> Item:
    return config_map(name, data or {"any": SLICES}, namespace)


def projected(name: str, **more: Any) -> dict[str, Any]:
    return {"projected": {"sources": [{"secret": {"name": "x"}}, of_map(name, **more)]}}


def metrics(name: Any, **more: Any) -> Item:
    return operator({"dcgmExporter": {"config": {"name": name}, **more}}, namespace="gpu")


FILE = {"command": ["nvidia-device-plugin", "--config-file=/config/any"]}
BROKEN: dict[str, tuple[str, tuple[Item, ...]]] = {
    "none is there": ("GPU1127", (daemon(of_map("shares")),)),
    "another name": ("GPU1127", (daemon(of_map("shares")), shares("sharing", any="x"))),
    "another namespace": ("GPU1127", (daemon(of_map("shares")), shares("shares", "default"))),
    "projected": ("GPU1127", (daemon(projected("shares")),)),
    "a file of it too": ("GPU1127", (daemon(of_map("shares"), **FILE),)),
    "a key of it alone": (
        "GPU1128",
        (
            daemon(
                of_map("x"),
                EXPORTER,
                volumeMounts=[{"name": "config", "mountPath": "/a.csv", "subPath": "a.csv"}],
            ),
            shares("x", **{"b.csv": ""}),
        ),
    ),
    "of the exporter": (
        "GPU1127",
        (daemon(of_map("x"), "nvcr.io/nvidia/k8s/dcgm-exporter:4.4.1"),),
    ),
    "of MIG manager": ("GPU1127", (daemon(of_map("x"), "nvcr.io/nvidia/k8s-mig-manager:v0.12.0"),)),
    "as environment": (
        "GPU1127",
        (daemon({"emptyDir": {}}, envFrom=[{"configMapRef": {"name": "x"}}]),),
    ),
    "as a variable": (
        "GPU1127",
        (
            daemon(
                {"emptyDir": {}},
                env=[
                    {
                        "name": "MIG_STRATEGY",
                        "valueFrom": {"configMapKeyRef": {"name": "x", "key": "y"}},
                    }
                ],
            ),
        ),
    ),
    "metrics of the operator": ("GPU1127", (metrics("metrics"),)),
    "a key as a file": (
        "GPU1128",
        (daemon(of_map("shares", items=[{"key": "all", "path": "any"}])), shares()),
    ),
    "a key of a projection": (
        "GPU1128",
        (daemon(projected("shares", items=[{"key": "all", "path": "any"}])), shares()),
    ),
    "a variable of no key": (
        "GPU1128",
        (
            daemon(
                {"emptyDir": {}},
                env=[
                    {
                        "name": "MIG_STRATEGY",
                        "valueFrom": {"configMapKeyRef": {"name": "shares", "key": "y"}},
                    }
                ],
            ),
            shares(x="single"),
        ),
    ),
    "a file that it lacks": ("GPU1128", (daemon(of_map("shares"), **FILE), shares(other=SLICES))),
    "a file as a flag of its own": (
        "GPU1128",
        (daemon(of_map("shares"), args=["--config-file", "/config/config.yaml"]), shares()),
    ),
    "a file by the environment": (
        "GPU1128",
        (
            daemon(of_map("shares"), env=[{"name": "CONFIG_FILE", "value": "/config/x.yaml"}]),
            shares(),
        ),
    ),
}
RIGHT: dict[str, tuple[Item, ...]] = {
    "there": (daemon(of_map("shares")), shares()),
    "its file": (daemon(of_map("shares"), **FILE), shares()),
    "its file by another name": (
        daemon(of_map("shares", items=[{"key": "all", "path": "any"}]), **FILE),
        shares(all=SLICES),
    ),
    "its file by a path of its own": (
        daemon(
            of_map("shares"),
            args=["--config-file=/etc/plugin.yaml"],
            volumeMounts=[{"name": "config", "mountPath": "/etc/plugin.yaml", "subPath": "any"}],
        ),
        shares(),
    ),
    "a file of the host": (
        daemon({"hostPath": {"path": "/etc"}}, args=["--config-file=/config/plugin.yaml"]),
    ),
    "a key that an overlay adds": (daemon(of_map("shares"), **FILE), shares(x=""), shares(any="")),
    "may be missing": (daemon(of_map("shares", optional=True)),),
    "its items may be missing": (
        daemon(of_map("shares", optional=True, items=[{"key": "b", "path": "b"}])),
        shares(),
    ),
    "that no container mounts": (daemon(of_map("shares"), volumeMounts=[]),),
    "of every namespace": (daemon(of_map("kube-root-ca.crt")),),
    "none": (daemon({"emptyDir": {}}),),
    "of no name": (daemon(of_map("")),),
    "of a name that is none": (daemon(of_map(5)),),
    "of another DaemonSet": (daemon(of_map("cni"), "quay.io/cilium/cilium:v1.19.0"),),
    "metrics of the operator": (metrics("metrics"), shares("metrics", **{"dcgm-metrics.csv": ""})),
    "metrics that its chart makes": (
        operator({"dcgmExporter": {"config": {"name": "x", "create": True, "data": "y"}}}),
    ),
    "metrics of no exporter": (metrics("x", enabled=False),),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_missing_is_found(case: str) -> None:
    code, items = BROKEN[case]

    assert [each.rule.id for each in problems(*items)] == [code]


@pytest.mark.parametrize("case", RIGHT)
def test_what_is_there_is_not(case: str) -> None:
    assert codes(*RIGHT[case]) == []


def test_of_files_it_may_stand_in_another() -> None:
    (found,) = problems(daemon(of_map("shares")), complete=False)

    assert found.severity == "info"


def test_where_nobody_knows_the_namespace_it_may_be_any() -> None:
    assert codes(daemon(of_map("shares")), shares(namespace=UNKNOWN)) == []

    (found,) = problems(_of_somewhere(), shares("x"), of=[mounts.MOUNT_MISSING])
    assert found.message == "The DaemonSet gpus mounts the ConfigMap shares, which is not here."
    assert found.fix == "Make it in its namespace, or correct the name."


def _of_somewhere() -> Item:
    spec = {
        "containers": [{"name": "main", "image": PLUGIN, "volumeMounts": [MOUNT]}],
        "volumes": [{"name": "config", **of_map("shares")}],
    }
    return pods(kind="DaemonSet", name="gpus", namespace=UNKNOWN, replicas=None, spec=spec)


def test_of_files_another_namespace_is_certain() -> None:
    (found,) = problems(daemon(of_map("shares")), shares("shares", "x"), complete=False)

    assert (found.severity, found.message) == (
        None,
        "The DaemonSet gpus mounts the ConfigMap shares, which is in the namespace x.",
    )


@pytest.mark.parametrize(
    ("chart", "name", "severity"),
    [
        ("app", "shares", "info"),
        ("nvidia-device-plugin", "shares", None),
        ("nvidia-device-plugin", "nvidia-device-plugin-configs", "info"),
        ("gpu-operator", "default-mig-parted-config", "info"),
    ],
)
def test_a_chart_of_the_namespace_may_make_it(chart: str, name: str, severity: str | None) -> None:
    """NVIDIA's make what is called after them, or as a value says."""
    other = replace(plugin({"config": {"map": {"any": SLICES}}}, namespace="gpu"), chart=chart)
    found = problems(daemon(of_map(name)), other, of=[mounts.MOUNT_MISSING])

    assert [each.severity for each in found] == [severity]


@pytest.mark.parametrize(
    "items",
    [
        (daemon(of_map("shares")), plugin({"config": {"map": {"any": SLICES}}}, namespace="x")),
        (metrics("metrics"),),
    ],
)
def test_no_other_chart_of_the_namespace_makes_it(items: tuple[Item, ...]) -> None:
    (found,) = problems(*items, of=[mounts.MOUNT_MISSING])

    assert found.severity is None
    assert found.message.endswith(", which is not here.")
    assert found.fix == "Make it in the namespace gpu, or correct the name."


@pytest.mark.parametrize(
    ("variables", "is_vague"),
    [
        (UNKNOWN, True),
        ([{"name": UNKNOWN, "value": "x"}], True),
        ([{"name": "CONFIG_FILE", "value": UNKNOWN}], True),
        ([{"name": "MIG_STRATEGY", "value": UNKNOWN}], False),
        ([{"name": "MIG_STRATEGY", "valueFrom": UNKNOWN}], True),
    ],
)
def test_a_variable_that_is_not_known_may_name_one(variables: Any, is_vague: bool) -> None:
    found = said(mounts.mounted, nodes("m5.large"), daemon({"emptyDir": {}}, env=variables))

    assert found == ([("?GPU1127", "what the DaemonSet gpus mounts")] if is_vague else [])


def test_the_key_of_a_variable_has_its_place() -> None:
    of_key = {"configMapKeyRef": {"name": "shares", "key": "y"}}
    variables = [{"name": "MIG_STRATEGY", "valueFrom": of_key}]
    (found,) = problems(daemon({"emptyDir": {}}, env=variables), shares(x="single"))

    assert found.path[-5:] == ("env", 0, "valueFrom", "configMapKeyRef", "key")


def test_the_message_says_what_there_is() -> None:
    (found,) = problems(daemon(of_map("shares"), **FILE), shares(b="", c=""))

    assert found.path == ("spec", "template", "spec", "containers", 0)
    assert found.message == (
        "The DaemonSet gpus reads any of the ConfigMap shares, whose keys are b, c."
    )
    assert found.fix == "Name one of those, or add the key to the ConfigMap."


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ((daemon({"configMap": UNKNOWN}),), ("?GPU1127", "what the DaemonSet gpus mounts")),
        ((daemon(of_map("x"), UNKNOWN),), ("?GPU1127", "what the DaemonSet gpus runs")),
        ((metrics(UNKNOWN),), ("?GPU1127", "a ConfigMap of the Release gpu-operator")),
        (
            (daemon(of_map("shares")), shares(UNKNOWN)),
            ("?GPU1127", "whether there is the ConfigMap shares"),
        ),
        (
            (daemon(of_map("shares"), **FILE), shares(x=""), shares(UNKNOWN, any="")),
            ("?GPU1128", "whether another has any"),
        ),
        (
            (daemon(of_map("shares"), **FILE), config_map("shares", UNKNOWN, "gpu")),
            ("?GPU1128", "the keys of the ConfigMap shares"),
        ),
    ],
)
def test_what_is_not_known_is_said(items: tuple[Item, ...], expected: tuple[str, str]) -> None:
    assert said(mounts.mounted, nodes("m5.large"), *items) == [expected]


def exporter(name: Any, **more: Any) -> Release:
    volumes = [{"name": "m", "configMap": {"name": name, **more}}]
    chart = operator({"extraConfigMapVolumes": volumes}, namespace="gpu")
    return replace(chart, chart="dcgm-exporter")


def operand(enabled: Any, name: Any = "licence", **more: Any) -> Release:
    driver = {"enabled": enabled, "licensingConfig": {"configMapName": name}, **more}
    return operator({"driver": driver}, namespace="gpu")


@pytest.mark.parametrize(
    ("release", "there", "found"),
    [
        (exporter("metrics"), "metrics", []),
        (exporter("metrics"), "other", [mounts.MOUNT_MISSING]),
        (exporter("metrics", optional=True), "other", []),
        (operand(True), "licence", []),  # noqa: FBT003
        (operand(True), "other", [mounts.MOUNT_MISSING]),  # noqa: FBT003
        (operand(None), "other", [mounts.MOUNT_MISSING]),
        (operand(False), "other", []),  # noqa: FBT003
        (operand("yes"), "other", []),
        (operand(True, ""), "other", []),  # noqa: FBT003
        (operand(True, 7), "other", []),  # noqa: FBT003
        (replace(operand(True), chart="nvidia-device-plugin"), "other", []),  # noqa: FBT003
        (replace(exporter("metrics"), chart="app"), "other", []),
    ],
)
def test_charts_name_maps_that_they_do_not_make(
    release: Item, there: str, found: list[Any]
) -> None:
    of = [mounts.MOUNT_MISSING]
    config_map_there = config_map(there, namespace="gpu", data={"a": "b"})

    assert [each.rule for each in problems(release, config_map_there, of=of)] == found
