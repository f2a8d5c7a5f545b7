from __future__ import annotations

import copy
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc  # type: ignore[import-untyped]  # no stubs
import pytest
import yaml
from google.protobuf import empty_pb2, struct_pb2  # type: ignore[import-untyped]  # no stubs
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, UnknownValueError

import eks_gpushare
from gpushare_policies import DESCRIPTION, NAME, POLICIES
from gpushare_policies.rule import ResourcePolicy
from gpushare_policies.tokens import AWS_CLUSTER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
PACK = ROOT / "policies"
RESOURCE_RULES = [rule for rule in POLICIES if isinstance(rule, ResourcePolicy)]
TOKENS = sorted({token for rule in RESOURCE_RULES for token in rule.applies_to})
SECONDS = 60


def _rules_on(token: str) -> list[ResourcePolicy]:
    return [rule for rule in RESOURCE_RULES if token in rule.applies_to]


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    if isinstance(value, dict | list):
        for key, inner in entries:
            yield from (
                _places(inner, (*path, key)) if isinstance(inner, dict | list) else [(*path, key)]
            )


def _with(props: dict[str, Any], path: tuple[Any, ...], value: object) -> dict[str, Any]:
    changed = copy.deepcopy(props)
    target: Any = changed
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return changed


@pytest.mark.parametrize("token", TOKENS)
def test_a_valid_resource_passes_every_rule(
    token: str, valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    found = [
        message for rule in RESOURCE_RULES for message in violations(rule, token, valid(token))
    ]

    assert found == []


@pytest.mark.parametrize("token", TOKENS)
def test_a_value_that_is_unknown_stops_a_rule_and_crashes_none(
    token: str, valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    for path in _places(valid(token)):
        props = _with(valid(token), path, UNKNOWN_STRING_VALUE)
        for rule in _rules_on(token):
            try:
                found = violations(rule, token, props)
            except UnknownValueError:
                continue

            assert found == [], f"{rule.name} judges {path}, which is unknown"


@pytest.mark.parametrize("token", TOKENS)
def test_a_value_that_is_null_counts_as_absent(
    token: str, valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    for path in _places(valid(token)):
        without = _with(valid(token), path, None)
        if isinstance(path[-1], str):
            absent = copy.deepcopy(without)
            target: Any = absent
            for key in path[:-1]:
                target = target[key]
            del target[path[-1]]
        else:
            absent = without
        for rule in _rules_on(token):
            assert violations(rule, token, without) == violations(rule, token, absent)


def test_a_resource_of_another_type_concerns_no_rule(violations: Callable[..., list[str]]) -> None:
    found = [
        message
        for rule in RESOURCE_RULES
        for message in violations(rule, "aws:s3/bucket:Bucket", {"encrypted": False})
    ]

    assert found == []


def test_names_are_unique_and_in_kebab_case() -> None:
    names = [rule.name for rule in POLICIES]

    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)] == []


def test_each_rule_says_all_there_is_to_say() -> None:
    silent = [
        rule.name
        for rule in POLICIES
        if not (
            rule.description.endswith(".")
            and " must " in rule.description
            and rule.remediation_steps
            and rule.severity
            and rule.enforcement_level
            and rule.applies_to
        )
    ]

    assert silent == []


def test_each_setting_is_in_the_schema_with_the_default_in_force() -> None:
    for rule in POLICIES:
        schema = rule.config_schema.properties if rule.config_schema else {}

        assert list(schema) == [*(setting.name for setting in rule.settings), "exemptions"]
        for setting in rule.settings:
            default = setting.default
            wire = list(default) if isinstance(default, tuple) else default
            assert schema[setting.name]["default"] == wire


def test_the_pack_runs_in_the_environment_of_the_program() -> None:
    assert yaml.safe_load((PACK / "PulumiPolicy.yaml").read_text(encoding="utf-8")) == {
        "runtime": {"name": "python", "options": {"toolchain": "pip", "virtualenv": "../.venv"}},
        "version": "0.1.0",
        "description": DESCRIPTION,
        "author": "eks-gpushare",
        "license": "Apache-2.0",
    }


@pytest.fixture(params=["-u policies/__main__.py", "-u -m pulumi.policy"])
def pack(request: pytest.FixtureRequest) -> Iterator[analyzer_pb2_grpc.AnalyzerStub]:
    """A client of the pack's own process, started by hand and as Pulumi starts it."""
    arguments = (
        ["-u", str(PACK / "__main__.py")]
        if request.param.endswith(".py")
        else ["-u", "-m", "pulumi.policy", "127.0.0.1:1", str(PACK)]
    )
    paths = (str(Path(eks_gpushare.__file__).parents[1]), os.environ.get("PYTHONPATH", ""))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, env=environment
    ) as process:
        limit = threading.Timer(SECONDS, process.kill)
        limit.start()
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                yield analyzer_pb2_grpc.AnalyzerStub(channel)
        finally:
            limit.cancel()
            process.kill()


def _struct(value: dict[str, Any]) -> struct_pb2.Struct:
    struct = struct_pb2.Struct()
    struct.update(value)
    return struct


def test_the_pack_starts_and_serves_every_rule(pack: analyzer_pb2_grpc.AnalyzerStub) -> None:
    info = pack.GetAnalyzerInfo(empty_pb2.Empty(), timeout=SECONDS)

    assert info.name == NAME
    assert [policy.name for policy in info.policies] == [rule.name for rule in POLICIES]


def test_the_pack_judges_a_resource(
    pack: analyzer_pb2_grpc.AnalyzerStub, valid: Callable[[str], dict[str, Any]]
) -> None:
    props = valid(AWS_CLUSTER)
    props["vpcConfig"]["endpointPrivateAccess"] = False
    props["upgradePolicy"]["supportType"] = UNKNOWN_STRING_VALUE
    request = analyzer_pb2.AnalyzeRequest(
        type=AWS_CLUSTER,
        urn=f"urn:pulumi:dev::eks-gpushare::{AWS_CLUSTER}::main",
        name="main",
        properties=_struct(props),
    )

    answer = pack.Analyze(request, timeout=SECONDS)

    assert [
        (found.policyName, found.enforcementLevel, found.message) for found in answer.diagnostics
    ] == [
        (
            "private-endpoint-on",
            analyzer_pb2.MANDATORY,
            (
                "The private API endpoint must be on.\nThe private API endpoint of main is false. "
                "It must be on, so that nodes reach the API server within the VPC. Set "
                "`vpcConfig.endpointPrivateAccess: true`."
            ),
        ),
        (
            "standard-upgrade-policy",
            analyzer_pb2.ADVISORY,
            (
                "can't run policy 'standard-upgrade-policy' from policy pack 'eks-gpushare@v0.0.1' "
                "during preview: string value at .upgradePolicy.supportType can't be known during "
                "preview"
            ),
        ),
    ]
