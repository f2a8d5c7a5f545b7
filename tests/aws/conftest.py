"""Stacks and variants, run by the program and carried out in an account in memory."""

from __future__ import annotations

import json
from datetime import date
from functools import cache, partial
from typing import TYPE_CHECKING

import botocore.loaders
import pytest
from aws_oracle.account import Account, Deployed, aws, send
from aws_oracle.calls import registered, translated
from aws_oracle.given import given
from aws_oracle.variants import ROOT, VARIANTS

from eks_gpushare import rules
from eks_gpushare.catalog.partitions import partition_of
from eks_gpushare.program.fakes.types import ACCOUNT
from eks_gpushare.program.run import run_program
from eks_gpushare.program.stack_config import read_stack_config
from eks_gpushare.rules import component_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aws_oracle.calls import Translated

    from eks_gpushare.program.recording import Recording


class Today(date):
    """A day on which the stacks' Kubernetes version is supported."""

    @classmethod
    def today(cls) -> Today:
        """The day that these tests were written."""
        return cls(2026, 11, 22)


def boundary_in(region: str) -> str:
    """The policy that is to bound every role, in the partition of a region."""
    return f"arn:{partition_of(region).id}:iam::{ACCOUNT}:policy/Boundary"


@pytest.fixture(scope="session", autouse=True)
def endpoints() -> Iterator[None]:
    """The table of endpoints, read once: moto makes a session for many a call, which reads it."""
    every = botocore.loaders.JSONFileLoader.load_file
    once = cache(partial(every, botocore.loaders.JSONFileLoader()))

    def load(self: object, path: str) -> object:
        return once(path) if path.endswith("endpoints") else every(self, path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore.loaders.JSONFileLoader, "load_file", load)
        yield


@pytest.fixture(scope="session")
def record() -> Callable[..., Recording]:
    """`record(name)` runs the program as a stack or variant, once.

    With `preview=True` what only an update tells is unknown; otherwise the fakes make it up. With
    `bounded=True` every role is to have the permissions boundary `boundary_in(region)`.
    """

    @cache
    def run(name: str, *, preview: bool = False, bounded: bool = False) -> Recording:
        if name in VARIANTS:
            variant = VARIANTS[name]
            environment = json.dumps(variant.environment())
            config = {"aws:region": variant.region, "eks-gpushare:environment": environment}
        else:
            config = dict(read_stack_config(ROOT / "stacks" / f"Pulumi.{name}.yaml").values)
        if bounded:
            told = json.loads(config["eks-gpushare:environment"])
            own = {"permissionsBoundary": boundary_in(config["aws:region"])}
            told["iam"] = {**told.get("iam", {}), **own}
            config["eks-gpushare:environment"] = json.dumps(told)
        with pytest.MonkeyPatch.context() as patch:
            for module in (rules, component_rules):
                patch.setattr(module, "date", Today)
            stack = name.replace(" ", "-").replace(",", "")
            found = run_program(
                ROOT, project="eks-gpushare", stack=stack, config=config, preview=preview
            )
        assert found.error is None, found.error.text
        return found

    return run


@pytest.fixture(scope="session")
def calls(record: Callable[[str], Recording]) -> Callable[[str], list[Translated]]:
    """`calls(name)` translates all that a stack or variant registers, once."""

    @cache
    def all_of(name: str) -> list[Translated]:
        return [translated(each) for each in registered(record(name))]

    return all_of


@pytest.fixture(scope="session")
def region_of(record: Callable[[str], Recording]) -> Callable[[str], str]:
    """`region_of(name)` is the AWS region of a stack or variant."""

    def region(name: str) -> str:
        (environment,) = record(name).of_type("eks-gpushare:index:GpuSharingEnvironment")
        return str(environment.inputs["region"])

    return region


@pytest.fixture(scope="session")
def in_memory() -> Iterator[Callable[[], None]]:
    """AWS in memory, for as long as the tests run; `in_memory()` empties it."""
    with aws() as reset:
        yield reset


@pytest.fixture(scope="session")
def offers() -> Callable[[str], set[str]]:
    """`offers(region)` are the instance types that AWS in memory offers there."""

    @cache
    def of(region: str) -> set[str]:
        found = send("ec2:DescribeInstanceTypeOfferings", {"LocationType": "region"}, region)
        return {each["InstanceType"] for each in found["InstanceTypeOfferings"]}

    return of


@pytest.fixture(scope="session")
def deploy(
    calls: Callable[[str], list[Translated]],
    region_of: Callable[[str], str],
    in_memory: Callable[[], None],
) -> Callable[[str], Deployed]:
    """`deploy(name)` creates, reads and deletes a stack or variant in an account, once."""
    empty: dict[str, dict[str, list[str]]] = {}

    @cache
    def deployed(name: str) -> Deployed:
        resources = calls(name)
        region = region_of(name)
        account = Account(region)
        found = Deployed(account, {}, 0)
        before = given(account, resources)
        there = account.holds() if before or region not in empty else empty[region]
        if not before:
            empty[region] = there
        try:
            account.deploy(resources, read_all=name == "prod")
            found.created = sum(each.created for each in account.sent)
            account.destroy(resources)
            now = account.holds()
            found.left = {kind: sorted(set(now[kind]) - set(there[kind])) for kind in now}
        except Exception as error:  # noqa: BLE001  (told by the test that asked for it)
            found.error = error
        if before or found.error:
            in_memory()
            empty.clear()
        return found

    return deployed
