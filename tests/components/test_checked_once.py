"""What is declared is validated once and ruled once, however many components come of it."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import contextmanager
from inspect import CO_GENERATOR
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.config.base import Model
from eks_gpushare.inputs import checked, late_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, FrameType

    from tests.components.conftest import Run

PLAIN = {"mode": "timeSlicing", "replicas": 2}
MIG = {"mode": "mig", "layout": "all-1g.5gb", "apply": "migManager"}


def is_rule(code: CodeType) -> bool:
    """Whether a function is one of the rules: a public generator that looks at a context."""
    return (
        "eks_gpushare/rules/" in code.co_filename.replace("\\", "/")
        and not code.co_name.startswith("_")
        and bool(code.co_flags & CO_GENERATOR)
        and code.co_varnames[:1] in {("ctx",), ("_",)}
    )


@contextmanager
def counted_rules() -> Iterator[Counter[str]]:
    """How often each rule is run, by its name."""
    runs: Counter[str] = Counter()
    frames: set[FrameType] = set()

    def watch(frame: FrameType, event: str, _: object) -> None:
        # Every value that a generator yields is followed by another call into the same frame.
        if event == "call" and is_rule(frame.f_code) and frame not in frames:
            frames.add(frame)
            runs[frame.f_code.co_name] += 1

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield runs
    finally:
        sys.setprofile(before)


@pytest.fixture
def validated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the models that are read from plain data, in order."""
    read: list[str] = []
    real = Model.model_validate.__func__  # type: ignore[attr-defined]  # a class method

    def model_validate(cls: type[Model], *args: Any, **options: Any) -> Model:
        read.append(cls.__name__)
        made: Model = real(cls, *args, **options)
        return made

    monkeypatch.setattr(Model, "model_validate", classmethod(model_validate))
    return read


@pytest.fixture
def dumped(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the models that are written out as arguments, in order; not what goes into state."""
    written: list[str] = []

    def dump(model: Model, **options: Any) -> dict[str, Any]:
        written.append(type(model).__name__)
        return late_values.dump(model, **options)

    monkeypatch.setattr(checked, "dump", dump)
    return written


def as_it_is(_: object) -> None:
    """An edit that changes nothing, since a stack that is not edited may have been run before."""


def repeated(runs: Counter[str]) -> dict[str, int]:
    assert "enough_replicas" in runs, "no rule was seen"
    return {name: count for name, count in runs.items() if count > 1}


@pytest.mark.parametrize("manager", ["devicePlugin", "gpuOperator"])
def test_an_environment_runs_each_rule_once(environment: Callable[..., Run], manager: str) -> None:
    with counted_rules() as runs:
        environment(gpu_stack={"manager": manager})

    assert repeated(runs) == {}


def test_an_environment_with_mig_runs_each_rule_once(environment: Callable[..., Run]) -> None:
    pool = {"instance_types": ["p4d.24xlarge"], "sharing": MIG}

    with counted_rules() as runs:
        environment(pools={"gpu": pool}, gpu_stack={"manager": "gpuOperator"})

    assert runs["layout_fits"] == 1
    assert repeated(runs) == {}


def test_a_stack_s_program_runs_each_rule_once(run_stack: Callable[..., Run]) -> None:
    with counted_rules() as runs:
        run_stack("time-slicing", edit=as_it_is)

    assert repeated(runs) == {}


def test_the_parts_of_an_environment_validate_nothing(
    environment: Callable[..., Run], validated: list[str], dumped: list[str]
) -> None:
    environment()

    assert (validated, dumped) == (["EnvironmentSpec"], [])


def test_a_stack_is_validated_once_by_its_program(
    run_stack: Callable[..., Run], validated: list[str], dumped: list[str]
) -> None:
    run_stack("time-slicing", edit=as_it_is)

    assert (validated, dumped) == (["Environment"], ["EnvironmentSpec"])


def test_a_stack_that_its_program_changes_is_checked_again(record: Callable[..., Run]) -> None:
    def program() -> None:
        from eks_gpushare import GpuSharingEnvironment
        from eks_gpushare.stack import load_stack

        args = load_stack()
        args["pools"]["gpu"]["sharing"]["replicas"] = 1
        GpuSharingEnvironment("demo", args)

    made = record(program, fails=True, config=STACK, project="eks-gpushare")

    assert "pools.gpu.sharing.replicas: 1 is less than 2" in made.error


def test_a_stack_that_its_program_changes_rightly_is_what_it_is_changed_to(
    record: Callable[..., Run],
) -> None:
    def program() -> None:
        from eks_gpushare import GpuSharingEnvironment
        from eks_gpushare.stack import load_stack

        GpuSharingEnvironment("demo", {**load_stack(), "tags": {"team": "ml"}})

    made = record(program, config=STACK, project="eks-gpushare")

    assert made.inputs("Vpc")["tags"]["team"] == "ml"


STACK = {
    "aws:region": "us-west-2",
    "eks-gpushare:environment": (
        '{"cluster": {"name": "demo", "version": "1.35"},'
        ' "network": {"zones": ["us-west-2a", "us-west-2b"]},'
        ' "pools": {"gpu": {"instanceTypes": ["g6.2xlarge"],'
        ' "sharing": {"mode": "timeSlicing", "replicas": 2}}}}'
    ),
}


def test_zones_that_cannot_be_counted_out_stop_a_checked_stack(record: Callable[..., Run]) -> None:
    config = {
        **STACK,
        "eks-gpushare:environment": STACK["eks-gpushare:environment"].replace(
            '["us-west-2a", "us-west-2b"]', "4"
        ),
    }

    def program() -> None:
        from eks_gpushare import GpuSharingEnvironment
        from eks_gpushare.stack import load_stack

        GpuSharingEnvironment("demo", load_stack())

    made = record(program, fails=True, config=config, project="eks-gpushare")

    assert "network.zones: 4 zones are asked for and " in made.error


def test_a_cluster_that_is_of_no_use_is_one_clean_error(
    record: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster with IPv6 has no range of IPv4 addresses for services."""
    import pulumi_aws.eks

    network = {"vpc_id": "vpc-1", "subnet_ids": ["subnet-1"], "cluster_security_group_id": "sg-1"}
    answer = SimpleNamespace(
        arn="arn:aws:eks:us-west-2:111122223333:cluster/there",
        endpoint="https://ABCDEF.gr7.us-west-2.eks.amazonaws.com",
        certificate_authorities=[SimpleNamespace(data="Q0E=")],
        version="1.35",
        vpc_config=SimpleNamespace(**network),
        kubernetes_network_configs=[SimpleNamespace(service_ipv4_cidr=None)],
    )
    monkeypatch.setattr(pulumi_aws.eks, "get_cluster", lambda **_: answer)
    config = {
        "aws:region": "us-west-2",
        "eks-gpushare:environment": (
            '{"cluster": {"existing": {"name": "there"}},'
            ' "pools": {"gpu": {"instanceTypes": ["g6.2xlarge"],'
            ' "sharing": {"mode": "exclusive"}}}}'
        ),
    }

    def program() -> None:
        from eks_gpushare.stack import load_stack

        load_stack()

    error = record(program, fails=True, config=config, project="eks-gpushare").error

    assert error == (
        "cluster.existing.name: what AWS says of the EKS cluster there is not enough. "
        "service_cidr: Nothing is given; text is expected. "
        "Name a cluster that has it, or give the kubeconfig of this one and make its nodes "
        "elsewhere."
    )


def test_a_warning_of_a_checked_stack_is_given_once(run_stack: Callable[..., Run]) -> None:
    found = run_stack("time-slicing-v100", edit=as_it_is).warnings

    assert [(name, text.split()[0]) for name, text in found] == [
        ("gpushare", "GPU104"),
    ]
