"""The JSON Schema says what the model says, as far as JSON Schema can."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import finding_examples
import pytest
import yaml
from jsonschema import Draft202012Validator

from eks_gpushare.config.models import models
from eks_gpushare.config.project import ENVIRONMENT_KEY
from eks_gpushare.config.schema import environment_schema, field_descriptions, stack_file_schema
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.stack_file.yaml import read

if TYPE_CHECKING:
    from tests.conftest import Run

ROOT = Path(__file__).parents[2]
STACKS = sorted((ROOT / "stacks").glob("Pulumi.*.yaml"))
SCHEMA = Draft202012Validator(stack_file_schema())


def valid(environment: Any) -> bool:
    return bool(SCHEMA.is_valid({"config": {ENVIRONMENT_KEY: environment}}))


def with_changes(**changes: Any) -> dict[str, Any]:
    return merge_values(finding_examples.base(), changes)


def pool(**changes: object) -> dict[str, Any]:
    return with_changes(pools={"gpu": changes})


@pytest.mark.parametrize("schema", [environment_schema(), stack_file_schema()])
def test_it_is_json_schema(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("file", STACKS, ids=lambda file: file.name)
def test_a_stack_of_this_repository_fits(file: Path) -> None:
    errors = SCHEMA.iter_errors(yaml.safe_load(file.read_text(encoding="utf-8")))

    assert [error.message for error in errors] == []


def test_what_the_examples_start_from_fits() -> None:
    assert valid(finding_examples.base())


@pytest.mark.parametrize("code", finding_examples.codes())
def test_the_right_side_of_an_example_fits(code: str) -> None:
    document = read(finding_examples.example(code).right.stack_file, code)

    assert document.readable
    assert SCHEMA.is_valid(document.value)


@pytest.mark.parametrize(
    "environment",
    [
        with_changes(chart={}),
        with_changes(cluster={"nmae": "x"}),
        with_changes(cluster={"version": 1.3}),
        with_changes(cluster={"name": None}),
        with_changes(cluster={"existing": {"name": "x"}}),
        with_changes(network={"vpcId": "vpc-1"}),
        with_changes(network={"zones": "two"}),
        with_changes(pools=[]),
        with_changes(tags={"a": True}),
        pool(replicas=4),
        pool(instanceTypes="g5.xlarge"),
        pool(rootVolumeGiB=10.5),
        pool(rootVolumeGiB="10"),
        pool(rootVolumeGiB=True),
        pool(amiFamily="al2022"),
        pool(taints=[{"key": "a", "effect": "NO_SCHEDULE"}]),
        pool(sharing={"mode": None}),
        pool(sharing={"mode": "exclusiv"}),
        pool(sharing={"mode": "exclusive", "replicas": 2}),
        pool(sharing={"mode": "timeSlicing"}),
        pool(sharing={"mode": "timeSlicing", "replicas": "4"}),
        pool(sharing={"mode": "mig", "layout": [{"gpus": "0"}]}),
    ],
)
def test_what_check_refuses_for_its_shape_does_not_fit(environment: dict[str, Any]) -> None:
    text = finding_examples.stack_file_text(environment)
    shapes = {f.code for f in finding_examples.checked(text).findings if f.code < "GPU100"}

    assert shapes
    assert not valid(environment)


@pytest.mark.parametrize(
    ("file", "fits"),
    [
        ({"config": {}}, False),
        ({}, False),
        ({"confg": {}}, False),
        ({"environment": ["base"]}, True),
        ({"environment": ["base"], "config": {"aws:region": "us-west-2"}}, True),
        ({"config": {"nonamespace": 1}}, False),
    ],
)
def test_the_outside_of_a_stack_file(file: dict[str, Any], fits: bool) -> None:
    assert SCHEMA.is_valid(file) is fits


def test_what_belongs_to_others_fits() -> None:
    config = {ENVIRONMENT_KEY: finding_examples.base(), "aws:profile": "x", "other:key": [1]}

    assert SCHEMA.is_valid({"config": config, "encryptionsalt": "v1:abc"})


@pytest.mark.parametrize("model", models(), ids=lambda model: model.__name__)
def test_every_field_is_described(model: Any) -> None:
    keys = {info.alias or name for name, info in model.model_fields.items()}

    assert set(field_descriptions(model)) == keys


def test_every_block_is_described() -> None:
    definitions = environment_schema()["$defs"].items()

    assert [name for name, block in definitions if not block.get("description")] == []


@pytest.mark.parametrize("words", [[], ["--json"], ["--stack-file"], ["--stack-file", "--json"]])
def test_the_command_prints_it(words: list[str], run: Run) -> None:
    ran = run("schema", *words)
    expected = stack_file_schema() if "--stack-file" in words else environment_schema()

    assert ran.json == expected
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize("file", STACKS, ids=lambda file: file.name)
def test_a_stack_names_the_schema_for_editors(file: Path) -> None:
    first = file.read_text(encoding="utf-8").splitlines()[0]

    assert first == "# yaml-language-server: $schema=../docs/stack-file.schema.json"


def test_the_old_name_of_out_still_writes_and_says_so(run: Run, tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    ran = run("schema", "--output", str(old))
    run("schema", "--out", str(new))

    assert old.read_text(encoding="utf-8") == new.read_text(encoding="utf-8")
    assert ran.code == 0
    assert ran.err == "eks-gpushare: schema --output FILE is deprecated: use --out FILE\n"
