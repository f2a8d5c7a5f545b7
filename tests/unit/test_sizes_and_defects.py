"""What is far too large is refused by its size, and a check that fails costs one finding."""

from __future__ import annotations

import gc
import json
import time
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from eks_gpushare.catalog.mig import MigModel, Profile
from eks_gpushare.cli import main
from eks_gpushare.config.component_specs import GpuPoolSpec
from eks_gpushare.config.project import ENVIRONMENT_KEY
from eks_gpushare.rules import component_rules, sharing, sizes
from eks_gpushare.sharing.mig.geometry import nearest, place
from eks_gpushare.stack_file import check as checking
from eks_gpushare.stack_file.check import check_stack_file
from eks_gpushare.stack_file.file import stack_file_of
from eks_gpushare.validation.limits import MOST_ENTRIES, oversized
from eks_gpushare.validation.partial import read_block

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eks_gpushare.findings.finding import Finding

POOL = {"instanceTypes": ["g5.xlarge"], "sharing": {"mode": "timeSlicing", "replicas": 4}}


def environment(**more: Any) -> dict[str, Any]:
    return {"cluster": {"name": "demo", "version": "1.35"}, "pools": {"gpu": POOL}, **more}


def found(given: dict[str, Any]) -> list[Finding]:
    config = {"aws:region": "us-west-2", ENVIRONMENT_KEY: given}
    text = yaml.safe_dump({"config": config}, sort_keys=False)
    return list(check_stack_file(stack_file_of(text, "Pulumi.dev.yaml")).findings)


def gpu(**changed: Any) -> dict[str, Any]:
    return environment(pools={"gpu": {**POOL, **changed}})


def added_gpu(**changed: Any) -> dict[str, Any]:
    kind = {"model": "A", "count": 1, "memoryMiB": 1024, "computeCapability": "8.0", **changed}
    entry = {"vcpus": 4, "memoryMiB": 1024, "arch": "amd64", "gpu": kind}
    return environment(catalog={"instanceTypes": {"x9.large": entry}})


def profiles(count: int = 1, **changed: Any) -> dict[str, Any]:
    entry = {"computeSlices": 1, "memorySlices": 1, "maxCount": 1, "placements": [0], **changed}
    named = {f"1g.{n}gb": {**entry, "memoryGB": n} for n in range(1, count + 1)}
    return environment(catalog={"migProfiles": {"NEW": named}})


BEYOND = {
    "replicas": gpu(sharing={"mode": "timeSlicing", "replicas": 10**7}),
    "mps replicas": gpu(sharing={"mode": "mps", "replicas": 10**18}),
    "nodes": gpu(nodes={"max": 10**9}),
    "negative number": gpu(nodes={"min": -(10**30)}),
    "double": gpu(rootVolumeGiB=1e300),
    "number in values": environment(charts={"devicePlugin": {"values": {"a": {"b": 1e300}}}}),
    "taints": gpu(taints=[{"key": f"a/{n}", "effect": "NoSchedule"} for n in range(1001)]),
    "types": gpu(instanceTypes=["g5.xlarge"] * 5000),
    "labels": gpu(labels={f"l{n}": "" for n in range(1001)}),
    "text": gpu(labels={"a": "x" * 70_000}),
    "key": gpu(labels={"x" * 1001: "a"}),
    "pools": environment(pools={f"p{n}": POOL for n in range(1001)}),
    "unknown keys": environment(**{f"k{n}": n for n in range(20_000)}),
    "tags": environment(tags={f"t{n}": "" for n in range(2000)}),
    "admins": environment(cluster={"name": "a", "version": "1.35", "admins": ["x"] * 2000}),
    "zones": environment(network={"zones": ["us-west-2a"] * 2000}),
    "gpu count": added_gpu(count=10_000_000),
    "gpu memory": added_gpu(memoryMiB=10**15),
    "placements": profiles(placements=list(range(2000)), maxCount=2000),
    "far placement": profiles(placements=[16]),
    "memory slices": profiles(memorySlices=17),
    "compute slices": profiles(computeSlices=1000),
    "most instances": profiles(maxCount=17),
    "profiles": profiles(33),
}


@pytest.fixture
def only_its_own() -> Iterator[None]:
    """Count no search for garbage among all that earlier tests left in this process."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("only_its_own")
@pytest.mark.parametrize("given", BEYOND.values(), ids=BEYOND.keys())
def test_what_is_beyond_any_size_is_refused_by_it(given: dict[str, Any]) -> None:
    begun = time.process_time()
    errors = [each for each in found(given) if each.severity == "error"]

    assert {each.code for each in errors} == {"GPU013"}
    assert all(len(str(each)) < 2000 for each in errors)
    assert time.process_time() - begun < 5  # it took minutes, or all memory


WITHIN = {
    "a large share": gpu(sharing={"mode": "timeSlicing", "replicas": 48}),
    "many nodes": gpu(nodes={"max": 450}),
    "many pools": environment(pools={f"p{n}": POOL for n in range(20)}),
    "sixteen GPUs": added_gpu(count=16),
    "a wide GPU": profiles(12, placements=[0, 3, 6, 9, 15], maxCount=5),
    "values": environment(charts={"devicePlugin": {"values": {"resources": {"limits": {}}}}}),
}


@pytest.mark.parametrize("given", WITHIN.values(), ids=WITHIN.keys())
def test_what_somebody_may_well_have_is_not(given: dict[str, Any]) -> None:
    assert "GPU013" not in {each.code for each in found(given)}


def test_a_value_inside_itself_ends() -> None:
    """As a program can make one."""
    itself: dict[str, Any] = {}
    itself["more"] = itself

    assert [each.code for each in oversized(itself)] == ["GPU013"]
    assert oversized({"a": [1] * MOST_ENTRIES}) == []


def test_a_number_of_thousands_of_digits_can_be_told() -> None:
    (each,) = oversized({"replicas": 10**5000})

    assert each.message.startswith("A number of about 4,98")


def board(*kinds: Profile) -> MigModel:
    return MigModel("NEW", 16, 16, 16, {each.name: each for each in kinds})


@pytest.mark.usefixtures("only_its_own")
def test_the_nearest_of_many_layouts_are_found_without_comparing_all() -> None:
    """Eight profiles of one slice have 735,470 layouts on sixteen places."""
    kinds = [Profile(f"1g.{n}gb", 1, 1, n, 16, tuple(range(16))) for n in range(1, 9)]
    devices = {each.name: 3 for each in kinds}
    begun = time.process_time()

    assert place(board(*kinds), devices) is None
    first, *_ = nearest(board(*kinds), devices)
    assert sum(first.values()) == 16
    assert all(place(board(*kinds), each) for each in nearest(board(*kinds), devices))
    assert time.process_time() - begun < 5  # it took 37 s


@pytest.mark.usefixtures("only_its_own")
def test_instances_that_do_not_fit_are_not_tried_in_every_order() -> None:
    """Eight of two slices leave no place for a ninth; of one slice each could begin anywhere."""
    pair = Profile("1g.2gb", 1, 2, 2, 15, tuple(range(15)))
    odd = Profile("1g.1gb", 1, 1, 1, 1, (15,))
    begun = time.process_time()

    assert place(board(pair, odd), {"1g.2gb": 8, "1g.1gb": 1}) is None
    assert place(board(pair, odd), {"1g.2gb": 7, "1g.1gb": 1}) is not None
    assert time.process_time() - begun < 5


class UntellableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def raises(error: BaseException) -> Any:
    def look(*_: object) -> Iterator[Finding]:
        yield from ()
        raise error

    return look


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ZeroDivisionError("float division by zero"), "ZeroDivisionError: float division by zero"),
        (KeyError("a\nb"), "KeyError: 'a\\nb'"),
        (RecursionError(), "RecursionError"),
        (MemoryError(), "MemoryError"),
        (UntellableError(), "UntellableError"),
        (ValueError("x" * 900), f"ValueError: {'x' * 197}..."),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_check_that_raises_is_one_finding(
    error: Exception, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [str(each) for each in found(environment())]
    monkeypatch.setattr(sizes.pool_sizes, "look", raises(error))
    after = found(environment())

    (defect,) = [each for each in after if each.code == "GPU012"]
    where = " (eks_gpushare/rules/registry.py, line "
    assert defect.message.startswith(f"The check of GPU401 and GPU402 stopped: {told}{where}")
    assert (defect.severity, defect.path) == ("error", "pools.gpu")
    assert "report it" in defect.fix
    assert [str(each) for each in after if each is not defect] == before


def test_other_files_of_the_call_are_checked_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {"aws:region": "us-west-2", ENVIRONMENT_KEY: environment()}
    files = [tmp_path / name for name in ("Pulumi.a.yaml", "Pulumi.b.yaml")]
    for file in files:
        file.write_text(yaml.safe_dump({"config": config}))
    for name, broken in (("parse", checking), ("check_environment", checking)):
        with monkeypatch.context() as patched:
            patched.setattr(broken, name, raises(ZeroDivisionError("x")))
            assert main(["check", "--json", *map(str, files)]) == 1
        reports = json.loads(capsys.readouterr().out)["files"]
        assert [each["file"] for each in reports] == list(map(str, files))
        assert all("GPU012" in {f["code"] for f in each["findings"]} for each in reports)


def test_a_component_says_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    block = read_block(GpuPoolSpec, {"pool": "gpu", **POOL}, by_alias=True).block
    before = [each.code for each in component_rules.check_pool(block)]
    monkeypatch.setattr(sharing.enough_replicas, "look", raises(ZeroDivisionError("x")))

    codes = [each.code for each in component_rules.check_pool(block)]
    assert sorted(codes) == sorted([*before, "GPU012"])


@pytest.mark.parametrize("replicas", [0, -1, -(10**6)])
@pytest.mark.parametrize(
    ("kind", "sharing_of"),
    [
        ("g5.xlarge", {"mode": "timeSlicing"}),
        ("g5.xlarge", {"mode": "mps"}),
        ("p4d.24xlarge", {"mode": "mig", "layout": "all-1g.5gb"}),
        ("p4d.24xlarge", {"mode": "mig", "layout": [{"gpus": [0], "devices": {"1g.5gb": 7}}]}),
    ],
    ids=["timeSlicing", "mps", "mig", "mig groups"],
)
def test_no_shares_at_all_are_refused_once(
    kind: str, sharing_of: dict[str, Any], replicas: int
) -> None:
    turns = {"replicas": replicas}
    more = {"timeSlicing": turns} if sharing_of["mode"] == "mig" else turns
    codes = [each.code for each in found(gpu(instanceTypes=[kind], sharing={**sharing_of, **more}))]

    assert codes.count("GPU201") == 1
    assert "GPU012" not in codes


def test_system_nodes_without_a_type_are_refused() -> None:
    errors = [str(e) for e in found(environment(system={"instanceTypes": []})) if "error" in str(e)]

    told = "The list is empty. Name at least one instance type."
    assert errors == [f"error GPU110 system.instanceTypes: {told}"]


def test_a_pool_without_a_type_is_refused_for_that_alone() -> None:
    """Also where its user data would be made from its type."""
    mig = {"mode": "mig", "layout": "all-1g.5gb"}
    parts = [{"contentType": "text/x-shellscript", "content": "#!/bin/sh"}]
    errors = found(gpu(instanceTypes=[], sharing=mig, userData=parts))

    assert {each.code for each in errors if each.severity == "error"} == {"GPU110"}
