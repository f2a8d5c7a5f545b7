"""Outputs among the arguments: taken where they decide nothing, refused where they do."""

from __future__ import annotations

import asyncio
import itertools
import json
from datetime import date
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pulumi
import pytest

import eks_gpushare
from eks_gpushare.config.environment import Chart
from eks_gpushare.config.sharing import Mig
from eks_gpushare.inputs.late_values import dump
from eks_gpushare.sharing.resources import mig_strategy
from eks_gpushare.stack_file.check import check_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.components.conftest import Run

SHARING = {"mode": "timeSlicing", "replicas": 2}
POOL: dict[str, Any] = {"instance_types": ["g6.2xlarge"], "sharing": SHARING}
ALONE: dict[str, Any] = {
    **POOL,
    "pool": "gpu",
    "cluster_name": "demo",
    "cluster_subnet_ids": ["subnet-0a1b2c3d"],
}
CLUSTER: dict[str, Any] = {
    "name": "demo",
    "version": "1.35",
    "vpc_id": "vpc-0a1b2c3d",
    "private_subnet_ids": ["subnet-0a1b2c3d", "subnet-1a1b2c3d"],
}
KARPENTER: dict[str, Any] = {**POOL, "pool": "gpu", "version": "1.35", "nodes": {"max": 2}}
KEY = "arn:aws:kms:us-west-2:111122223333:key/0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f"
ROLE = "arn:aws:iam::111122223333:role/Platform"
NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def event_loop_of_outputs() -> Iterator[None]:
    """Outputs that are made outside a program want a loop; a test before may have taken it away."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


def late(value: object, *, known: bool = True) -> pulumi.Output[Any]:
    """An output as of another resource: in a preview it may be unknown."""
    if known:
        return pulumi.Output.from_input(value)
    from pulumi_aws.ssm import Parameter

    # A number of its own: the id of an object is another's as soon as it is gone.
    made = Parameter(f"late-{next(NUMBERS)}", type="String", value="x")
    output: pulumi.Output[Any] = made.arn.apply(lambda _: value)
    return output


@pytest.fixture
def make(record: Callable[..., Run]) -> Callable[..., Run]:
    """`make(component, args)` runs one component; args are a function where they hold outputs."""

    def run(
        component: str, args: Callable[[], dict[str, Any]], *, preview: bool, fails: bool = False
    ) -> Run:
        def program() -> None:
            import pulumi_kubernetes

            provider = pulumi_kubernetes.Provider("cluster", kubeconfig="{}")
            options = pulumi.ResourceOptions(providers=[provider])
            getattr(eks_gpushare, component)("demo", args(), options)

        return record(program, preview=preview, fails=fails)

    return run


TAKEN: list[tuple[str, dict[str, Any], Callable[[Callable[[object], Any]], dict[str, Any]]]] = [
    (
        "GpuPool",
        ALONE,
        lambda out: {"tags": {"owner": out("ml"), "team": "ml"}, "labels": {"cost": out("c1")}},
    ),
    (
        "GpuPool",
        ALONE,
        lambda out: {
            "ami_family": "custom",
            "custom_ami": {
                "id": out("ami-0a1b2c3d4e5f60718"),
                "family": "al2023",
                "driver_included": True,
            },
            "version": "1.35",
            "cluster_endpoint": out("https://ABC"),
            "cluster_certificate_authority": "Q0E=",
            "cluster_service_cidr": "172.20.0.0/16",
        },
    ),
    (
        "GpuPool",
        ALONE,
        lambda out: {
            "capacity_type": "reserved",
            "reservation": {"id": out("cr-0a1b2c3d4e5f60718")},
        },
    ),
    (
        "EksCluster",
        CLUSTER,
        lambda out: {
            "secrets_key_arn": out(KEY),
            "named_admins": {"platform": out(ROLE)},
            "tags": {"owner": out("ml")},
        },
    ),
    ("Network", {"zones": ["us-west-2a", "us-west-2b"]}, lambda out: {"tags": {"o": out("ml")}}),
    (
        "SystemNodes",
        {"cluster_name": "demo", "subnet_ids": ["subnet-0a1b2c3d"]},
        lambda out: {"tags": {"o": out("ml")}},
    ),
    (
        "DevicePlugin",
        {"pools": {"gpu": POOL}},
        lambda out: {"chart": {"values": {"image": {"repository": out("registry.example/p")}}}},
    ),
    (
        "GpuOperator",
        {
            "pools": {
                "gpu": {
                    "instance_types": ["p4d.24xlarge"],
                    "sharing": {"mode": "mig", "layout": "all-1g.5gb", "apply": "migManager"},
                }
            }
        },
        lambda out: {"mig_taint_remover_image": out("registry.example/python:3.13.1")},
    ),
    (
        "GpuSharingEnvironment",
        {"cluster": {"name": "demo", "version": "1.35"}, "region": "us-west-2"},
        lambda out: {
            "network": {
                "vpc_id": out("vpc-0a1b2c3d"),
                "private_subnet_ids": out(["subnet-0a1b2c3d", "subnet-1a1b2c3d"]),
                "public_subnet_ids": [out("subnet-2a1b2c3d"), "subnet-3a1b2c3d"],
            },
            "pools": {"gpu": {**POOL, "subnet_ids": [out("subnet-0a1b2c3d")]}},
            "tags": {"o": out("ml")},
        },
    ),
    (
        "GpuSharingEnvironment",
        {
            "cluster": {"existing": {"name": "demo"}},
            "region": "us-west-2",
            "pools": {"gpu": POOL},
        },
        lambda out: {
            "cluster_facts": {
                "arn": out("arn:aws:eks:us-west-2:111122223333:cluster/demo"),
                "endpoint": out("https://ABC.gr7.us-west-2.eks.amazonaws.com"),
                "certificate_authority": out("Q0E="),
                "version": "1.35",
                "vpc_id": out("vpc-0a1b2c3d"),
                "subnet_ids": out(["subnet-0a1b2c3d", "subnet-1a1b2c3d"]),
                "security_group_id": out("sg-0a1b2c3d"),
                "service_cidr": out("172.20.0.0/16"),
            }
        },
    ),
    (
        "Karpenter",
        {},
        lambda out: {
            "cluster_name": out("demo"),
            "cluster_arn": out("arn:aws:eks:us-west-2:111122223333:cluster/demo"),
            "node_role": out("arn:aws:iam::111122223333:role/teams/gpu-nodes"),
            "chart": {"values": {"controller": {"env": [{"name": "A", "value": out("b")}]}}},
            "tags": {"o": out("ml")},
        },
    ),
    (
        "KarpenterPool",
        KARPENTER,
        lambda out: {
            "node_role_name": out("gpu-nodes"),
            "cluster_subnet_ids": out(["subnet-0a1b2c3d", "subnet-1a1b2c3d"]),
            "security_group_ids": [out("sg-0a1b2c3d")],
            "vpc_id": out("vpc-0a1b2c3d"),
            "ami_family": "custom",
            "custom_ami": {
                "id": out("ami-0a1b2c3d4e5f60718"),
                "family": "al2023",
                "driver_included": True,
            },
            "capacity_type": "reserved",
            "reservation": {"id": out("cr-0a1b2c3d4e5f60718")},
            "labels": {"cost": out("c1")},
            "tags": {"o": out("ml")},
            "tag_instances": True,
        },
    ),
    (
        "ClusterAutoscaler",
        {
            "version": "1.35",
            "pools": ["a", "b"],
            "nodes": [{"min": 0, "max": 5}, {"min": 1, "max": 2}],
            "expander": "priority",
            "priorities": {"a": 10, "b": 20},
        },
        lambda out: {
            "cluster_name": out("demo"),
            "node_group_names": out(["a-1", "b-1"]),
            "scaling_group_names": [out("eks-a-1-x"), out("eks-b-1-y")],
            "tags": {"o": out("ml")},
        },
    ),
    (
        "Keda",
        {},
        lambda out: {
            "cluster_name": out("demo"),
            "prometheus": {"workspace_arn": "arn:aws:aps:us-west-2:111122223333:workspace/ws-1a2b"},
            "tags": {"o": out("ml")},
        },
    ),
    (
        "SharedWorkload",
        {
            "name": "model",
            "served": [{"name": "gpu", **POOL, "sharing": {"mode": "exclusive"}}],
            "replicas": {"min": 1, "max": 3},
        },
        lambda out: {
            "image": out("registry.example/model:1.2"),
            "args": [out("--x")],
            "env": {"A": out("b")},
            "secret_env": {"B": {"secret": out("model"), "key": "token"}},
            "prometheus": {"url": out("http://prometheus.monitoring.svc:9090")},
        },
    ),
]


@pytest.mark.parametrize("preview", [True, False], ids=["preview", "update"])
@pytest.mark.parametrize("case", TAKEN, ids=lambda case: f"{case[0]}")
def test_an_output_registers_what_its_value_does(
    make: Callable[..., Run], case: tuple[str, dict[str, Any], Any], *, preview: bool
) -> None:
    component, least, more = case
    plain = make(component, lambda: {**least, **more(lambda value: value)}, preview=preview)
    given = make(component, lambda: {**least, **more(late)}, preview=preview)

    assert inputs(given) == inputs(plain)


def inputs(run: Run) -> dict[str, Any]:
    """Inputs of all resources by URN."""
    return {each.urn: _unwrapped(each.inputs) for each in run.recording.resources}


def _unwrapped(value: Any) -> Any:
    from eks_gpushare.program.values import OutputValue, to_json

    if isinstance(value, OutputValue):
        return _unwrapped(value.value)
    if isinstance(value, dict):
        return {key: _unwrapped(inner) for key, inner in value.items()}
    return [_unwrapped(each) for each in value] if isinstance(value, list) else to_json(value)


@pytest.mark.parametrize("case", TAKEN, ids=lambda case: f"{case[0]}")
def test_an_unknown_output_stays_unknown(
    make: Callable[..., Run], case: tuple[str, dict[str, Any], Any]
) -> None:
    component, least, more = case
    made = make(
        component,
        lambda: {**least, **more(lambda value: late(value, known=False))},
        preview=True,
    )

    assert made.warnings == make(component, lambda: {**least, **more(late)}, preview=True).warnings
    assert "<computed>" in made.text()


WRONG = [
    (
        "GpuPool",
        ALONE,
        lambda out: {"labels": {"cost": out("not a label!")}},
        "labels.cost: The value ",
    ),
    ("GpuPool", ALONE, lambda out: {"tags": {"o": out("a[b]")}}, "tags.o: The value is not "),
    ("EksCluster", CLUSTER, lambda out: {"secrets_key_arn": out("nope")}, 'secrets_key_arn: "nope'),
    (
        "EksCluster",
        CLUSTER,
        lambda out: {"named_admins": {"p": out(7)}},
        "named_admins.p: 7 is a n",
    ),
    (
        "GpuSharingEnvironment",
        {"cluster": {"name": "demo", "version": "1.35"}, "pools": {"gpu": POOL}, "region": "x"},
        lambda out: {
            "network": {"vpc_id": "vpc-0a1b2c3d", "private_subnet_ids": out(["subnet-0a1b2c3d"])}
        },
        "network.private_subnet_ids",
    ),
]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: f"{case[3]}")
def test_a_value_is_checked_once_it_is_known(
    make: Callable[..., Run], case: tuple[str, dict[str, Any], Any, str]
) -> None:
    component, least, more, message = case
    made = make(component, lambda: {**least, **more(late)}, preview=True, fails=True)

    assert message in made.error
    assert made.error.startswith(f"{component}: 1 argument is wrong:")


def test_what_is_unknown_hides_no_other_mistake(make: Callable[..., Run]) -> None:
    args = {
        **ALONE,
        "labels": {"nvidia.com/gpu.product": late("x"), "team": "ML platform"},
        "sharing": {"mode": "timeSlicing", "replicas": 1},
    }
    error = make("GpuPool", lambda: args, preview=True, fails=True).error

    assert [line.split(":")[0].strip() for line in error.splitlines()[1:]] == [
        "sharing.replicas",
        'labels["nvidia.com/gpu.product"]',
        "labels.team",
    ]


@pytest.mark.parametrize(
    ("component", "args", "line"),
    [
        (
            "GpuPool",
            {**ALONE, "instance_types": [late("g6.2xlarge")]},
            (
                "instance_types[0]: An output is known too late: this value decides what is made, "
                "and how. Give a plain value, such as one of pulumi.Config(). [GPU005]"
            ),
        ),
        (
            "GpuPool",
            {**ALONE, "tags": late({"a": "b"})},
            (
                "tags: An output is known too late: the keys of this mapping have to be known. "
                "Give the mapping itself; its values may be outputs. [GPU005]"
            ),
        ),
        (
            "EksCluster",
            {**CLUSTER, "admins": [late(ROLE)]},
            (
                "admins[0]: An output is known too late: this value decides what is made, and how. "
                "Give it in named_admins, by a name of yours: the access entry in the state is "
                "named after the ARN here. [GPU005]"
            ),
        ),
        (
            "EksCluster",
            {**CLUSTER, "endpoint": {"public": True, "public_cidrs": [late("203.0.113.7/32")]}},
            (
                "endpoint.public_cidrs[0]: An output is known too late: this value decides what is "
                "made, and how. Give plain ranges: who may reach the API server is checked "
                "beforehand. [GPU005]"
            ),
        ),
    ],
)
def test_where_it_decides_an_output_is_refused(
    make: Callable[..., Run], component: str, args: dict[str, Any], line: str
) -> None:
    error = make(component, lambda: args, preview=True, fails=True).error

    assert error.splitlines()[1:] == [f"  {line}"]


def test_a_secret_stays_one(make: Callable[..., Run]) -> None:
    made = make(
        "GpuPool",
        lambda: {**ALONE, "labels": {"cost": pulumi.Output.secret("c1")}},
        preview=True,
    )

    assert made.inputs("NodeGroup")["labels"]["cost"] == "[secret]"


def test_a_pool_with_outputs_is_served(record: Callable[..., Run]) -> None:
    ami = {"id": late("ami-0a1b2c3d4e5f60718"), "family": "bottlerocket", "driver_included": True}

    def program() -> None:
        import pulumi_kubernetes

        from eks_gpushare import DevicePlugin, GpuPool

        args: Any = {
            **ALONE,
            "ami_family": "custom",
            "custom_ami": ami,
            "bottlerocket": {"device_plugin": "chart"},
            "cluster_endpoint": "https://ABC",
            "cluster_certificate_authority": "Q0E=",
            "cluster_service_cidr": "172.20.0.0/16",
        }
        pool = GpuPool("pool", args)
        provider = pulumi_kubernetes.Provider("cluster", kubeconfig="{}")
        options = pulumi.ResourceOptions(providers=[provider])
        DevicePlugin("plugin", {"served": [pool.served]}, options)

    made = record(program, preview=False)

    assert made.inputs("DevicePlugin")["pools"]["gpu"]["customAmi"]["id"] == "ami-0a1b2c3d4e5f60718"


@pytest.mark.parametrize(
    ("component", "args", "lines"),
    [
        ("GpuPool", None, 5),
        ("EksCluster", None, 4),
        ("Network", None, 1),
        ("SystemNodes", None, 2),
        ("DevicePlugin", None, 1),
        ("GpuOperator", None, 1),
        ("GpuSharingEnvironment", None, 2),
    ],
)
def test_no_arguments_at_all_are_missing_ones(
    make: Callable[..., Run], component: str, args: None, lines: int
) -> None:
    error: str = make(component, lambda: args, preview=True, fails=True).error

    assert len(error.splitlines()[1:]) == lines
    assert error.count("[GPU004]") == lines


@pytest.mark.parametrize("component", ["GpuPool", "DevicePlugin", "GpuSharingEnvironment"])
def test_options_in_place_of_arguments_are_refused(
    make: Callable[..., Run], component: str
) -> None:
    given: Any = pulumi.ResourceOptions()
    error = make(component, lambda: given, preview=True, fails=True).error

    assert error == (
        f"{component}: 1 argument is wrong:\n"
        "  args: ResourceOptions is no mapping of arguments. "
        f"Give {component}Args as a dictionary, and resource options after it. [GPU005]"
    )


@pytest.mark.parametrize(
    ("wires", "line"),
    [
        (
            {"cluster_subnet_ids": "subnet-1"},
            (
                'cluster_subnet_ids: "subnet-1" is text; a list is expected. Write ["subnet-1"]. '
                "[GPU005]"
            ),
        ),
        (
            {"cluster_subnet_ids": ["subnet-1", None]},
            (
                "cluster_subnet_ids[1]: Nothing is given; text is expected. Give text, or remove "
                "the key. [GPU005]"
            ),
        ),
        (
            {"cluster_subnet_ids": []},
            "cluster_subnet_ids: The list is empty. Name at least one. [GPU005]",
        ),
        (
            {"cluster_name": ["demo"]},
            'cluster_name: ["demo"] is a list; text is expected. Give text. [GPU005]',
        ),
    ],
)
def test_wires_have_their_types(make: Callable[..., Run], wires: dict[str, Any], line: str) -> None:
    error = make("GpuPool", lambda: {**ALONE, **wires}, preview=True, fails=True).error

    assert error.splitlines()[1:] == [f"  {line}"]


def test_a_key_of_the_same_program_is_one_that_is_taken(record: Callable[..., Run]) -> None:
    """Also in a run that makes up what only an update tells."""

    def program() -> None:
        from pulumi_aws.kms import Key

        args: Any = {**CLUSTER, "secrets_key_arn": Key("secrets").arn}
        eks_gpushare.EksCluster("demo", args)

    assert not record(program, preview=False).error


@pytest.mark.parametrize("file", sorted(Path("stacks").glob("Pulumi.*.yaml")), ids=str)
@pytest.mark.parametrize(
    "options",
    [
        {"by_alias": True, "exclude_none": True, "exclude": {"cluster", "pools"}},
        {"by_alias": True, "include": {"pools", "gpu_stack"}},
        {"exclude_unset": True},
        {},
    ],
    ids=["without blocks", "blocks alone", "what is set", "all"],
)
def test_what_is_dumped_is_what_pydantic_dumps(file: Path, options: dict[str, Any]) -> None:
    environment = check_file(file).environment
    assert environment is not None
    by_pydantic = environment.model_dump(mode="json", **options)
    for name, pool in by_pydantic.get("pools", {}).items():  # which stands in the state
        given = environment.pools[name]
        if isinstance(given.sharing, Mig):
            pool["sharing"]["strategy"] = mig_strategy(given.sharing, given)

    assert json.dumps(dump(environment, **options)) == json.dumps(by_pydantic)


def test_values_of_any_kind_are_dumped_as_pydantic_dumps_them() -> None:
    class Kind(Enum):
        ONE = "one"

    values = {
        "date": date(2026, 11, 24),
        "kinds": (Kind.ONE, {Kind.ONE}),
        "none": None,
        "keys": {1: {True: 1.5}},
        "model": Chart.model_construct(path="p"),
    }
    chart = Chart.model_construct(values=values)

    assert dump(chart, by_alias=True) == chart.model_dump(mode="json", by_alias=True)
