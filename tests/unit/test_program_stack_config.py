from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from eks_gpushare.program.stack_config import StackFileError, read_stack_config

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, text: str) -> Path:
    file = folder / "Pulumi.dev.yaml"
    file.write_text(text)
    return file


def test_an_object_is_handed_over_as_json(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "config:\n  eks-gpushare:environment:\n    pools: {gpu: {replicas: 10, on: yes, f: 4.0}}\n",
    )

    [(key, text)] = read_stack_config(file).values.items()

    assert key == "eks-gpushare:environment"
    assert text == '{"pools":{"gpu":{"f":4,"on":"yes","replicas":10}}}'


def test_a_list_is_handed_over_as_json(tmp_path: Path) -> None:
    file = write(tmp_path, 'config:\n  demo:zones: [a, "1", 2.5, null]\n')

    assert read_stack_config(file).values == {"demo:zones": '["a","1",2.5,null]'}


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("us-west-2", "us-west-2"),
        ("true", "true"),
        ("007", "007"),
        ("1.30", "1.30"),
        ("1e3", "1e3"),
        ('"4"', "4"),
        ('"a\\tb"', "a\tb"),
        ("", ""),
    ],
)
def test_a_scalar_is_handed_over_as_it_is_written(tmp_path: Path, written: str, text: str) -> None:
    assert read_stack_config(write(tmp_path, f"config:\n  aws:x: {written}\n")).values == {
        "aws:x": text
    }


def test_a_key_without_a_namespace_belongs_to_the_project(tmp_path: Path) -> None:
    file = write(tmp_path, "config:\n  size: 4\n")

    assert read_stack_config(file).values == {"eks-gpushare:size": "4"}
    assert read_stack_config(file, project="other").values == {"other:size": "4"}


def test_encrypted_values_are_replaced_and_named(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "config:\n"
        "  demo:token: {secure: v1:abc}\n"
        "  demo:nested: {user: me, keys: [{secure: v1:def}]}\n"
        "  demo:open: x\n",
    )

    config = read_stack_config(file)

    assert config.secret_keys == ("demo:token", "demo:nested")
    assert config.values == {
        "demo:token": "[secret]",
        "demo:nested": json.dumps({"keys": ["[secret]"], "user": "me"}, separators=(",", ":")),
        "demo:open": "x",
    }


@pytest.mark.parametrize("text", ["", "encryptionsalt: v1:x\n", "config:\n"])
def test_a_file_without_configuration_has_none(tmp_path: Path, text: str) -> None:
    assert read_stack_config(write(tmp_path, text)).values == {}


def test_configuration_that_is_no_mapping_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, "config: [a]\n")

    with pytest.raises(StackFileError) as caught:
        read_stack_config(file)

    assert str(caught.value) == f"{file}: `config` must be a mapping of keys to values"


def test_a_file_that_is_no_yaml_is_refused_with_its_line(tmp_path: Path) -> None:
    file = write(tmp_path, "config:\n  a: [\n")

    with pytest.raises(StackFileError) as caught:
        read_stack_config(file)

    assert str(caught.value).startswith(f"{file}:")
