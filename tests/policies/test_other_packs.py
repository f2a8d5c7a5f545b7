"""Packs of others run in-process, whatever the shapes of their policies."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.conftest import Run

pytestmark = pytest.mark.sdk_internals

PACK = Path(__file__).with_name("their_pack.py")
PROGRAM = """\
import pulumi_aws as aws
import pulumi_kubernetes as k8s

aws.s3.Bucket("a", acl="public-read", force_destroy=True, tags={"x": "1", "y": "2"})
aws.s3.Bucket("b", bucket_prefix="b")
k8s.core.v1.Service("c", spec={"type": "LoadBalancer"})
"""
SAID = [
    ("owned", "remediate", "a"),
    ("bucket", "advisory", "a"),
    ("bucket", "advisory", "a"),
    ("few-tags", "advisory", "a"),
    ("kept", "advisory", "a"),
    ("owned", "remediate", "b"),
    ("service", "advisory", "c"),
    ("few", "mandatory", "theirs-dev"),
    ("parented", "advisory", "a"),
    ("parented", "advisory", "b"),
]


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A program with their pack beside it."""
    settings = {"name": "theirs", "runtime": {"name": "python"}}
    (tmp_path / "Pulumi.yaml").write_text(json.dumps(settings))
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {aws:region: us-west-2}\n")
    (tmp_path / "__main__.py").write_text(PROGRAM)
    pack = tmp_path / "pack"
    pack.mkdir()
    (pack / "PulumiPolicy.yaml").write_text("runtime: python\n")
    shutil.copy(PACK, pack / "__main__.py")
    return tmp_path


def said(document: Any) -> list[tuple[str, str, str]]:
    return [(v["policy"], v["level"], v["urn"].rpartition("::")[2]) for v in document["violations"]]


def test_each_shape_of_a_policy_is_run(run: Run, theirs: Path) -> None:
    ran = run("policy", "dev", "--pack", "pack", "--json", cwd=theirs)

    assert ran.code == 1
    assert said(ran.json) == SAID


def test_levels_and_settings_are_the_users(run: Run, theirs: Path) -> None:
    levels = {"all": "disabled", "few-tags": {"enforcementLevel": "mandatory", "most": 3}}
    (theirs / "levels.json").write_text(json.dumps(levels))
    words = ("policy", "dev", "--pack", "pack", "--config", "levels.json", "--json")

    assert (run(*words, cwd=theirs).code, said(run(*words, cwd=theirs).json)) == (0, [])

    levels["few-tags"]["most"] = 1  # type: ignore[index]  # it is a dictionary
    (theirs / "levels.json").write_text(json.dumps(levels))
    # The owner's tag came by a repair, which is disabled here.
    assert said(run(*words, cwd=theirs).json) == [("few-tags", "mandatory", "a")]


def test_they_are_in_other_formats_too(run: Run, theirs: Path) -> None:
    ran = run("policy", "dev", "--pack", "pack", "--output", "sarif", cwd=theirs)
    (document,) = json.loads(ran.out)["runs"]

    levels = {each["ruleId"]: each["level"] for each in document["results"]}
    assert levels == {
        "owned": "note",
        "bucket": "warning",
        "few-tags": "warning",
        "kept": "warning",
        "service": "warning",
        "few": "error",
        "parented": "warning",
    }


@pytest.mark.parametrize("main", ["src", "src/__main__.py", "./src/"])
def test_a_pack_may_have_its_program_elsewhere(run: Run, theirs: Path, main: str) -> None:
    pack = theirs / "pack"
    (pack / "src").mkdir()
    (pack / "__main__.py").rename(pack / "src" / "__main__.py")
    (pack / "src" / "helper.py").write_text("")
    (pack / "PulumiPolicy.yaml").write_text(f"runtime: python\nmain: {main}\n")

    assert said(run("policy", "dev", "--pack", "pack", "--json", cwd=theirs).json) == SAID


def test_their_pack_judges_a_state_too(run: Run, theirs: Path) -> None:
    bucket = {
        "urn": "urn:pulumi:dev::theirs::aws:s3/bucket:Bucket::a",
        "type": "aws:s3/bucket:Bucket",
        "custom": True,
        "inputs": {"acl": "public-read", "bucketPrefix": "a"},
        "outputs": {"acl": "public-read"},
    }
    state = {"version": 3, "deployment": {"resources": [bucket]}}
    (theirs / "state.json").write_text(json.dumps(state))

    ran = run("policy", "--state", "state.json", "--pack", "pack", "--json", cwd=theirs)

    assert said(ran.json) == [("owned", "remediate", "a"), ("bucket", "advisory", "a")]
