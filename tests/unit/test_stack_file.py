"""`check` on files: what is wrong with them as files, what it prints, and how it exits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from eks_gpushare.stack_file.check import StackReport, check_file, check_stack_file
from eks_gpushare.stack_file.file import stack_file_of

if TYPE_CHECKING:
    from pathlib import Path

VALID = """\
config:
  aws:region: us-west-2
  eks-gpushare:environment:
    cluster:
      name: demo
      version: "1.35"
      admins: [arn:aws:iam::111122223333:role/Platform]
    pools:
      gpu:
        instanceTypes: [g5.xlarge]
        sharing: {mode: exclusive}
"""


def checked(text: str | bytes) -> StackReport:
    return check_stack_file(stack_file_of(text, "Pulumi.dev.yaml"))


def errors(text: str | bytes) -> list[str]:
    return [str(f) for f in checked(text).findings if f.severity == "error"]


def lines(text: str) -> list[tuple[str, int | None]]:
    report = checked(text)
    return [(f.code, report.line_of(f)) for f in report.findings if f.severity == "error"]


def run(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "eks_gpushare", "check", *words],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=60,
        check=False,
    )


@pytest.fixture
def good(tmp_path: Path) -> Path:
    file = tmp_path / "Pulumi.good.yaml"
    file.write_text(VALID, encoding="utf-8")
    return file


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    file = tmp_path / "Pulumi.bad.yaml"
    file.write_text(VALID.replace("mode: exclusive", "mode: exclusiv"), encoding="utf-8")
    return file


def test_a_right_file_has_no_errors() -> None:
    assert errors(VALID) == []


def test_an_empty_file_says_what_belongs_into_it() -> None:
    assert errors("") == [
        (
            "error GPU008 The file is empty. Add config: with eks-gpushare:environment: below it; "
            "stacks/ has examples."
        )
    ]


def test_a_file_of_comments_is_empty() -> None:
    assert errors("# nothing\n") == errors("")


def test_a_list_is_no_stack_file() -> None:
    assert errors("- a\n") == [
        (
            'error GPU008 The file holds ["a"], not a mapping. Add config: with '
            "eks-gpushare:environment: below it; stacks/ has examples."
        )
    ]


def test_an_empty_environment_is_refused() -> None:
    assert errors("config:\n  eks-gpushare:environment:\n") == [
        (
            "error GPU008 config.eks-gpushare:environment: eks-gpushare:environment is empty. Give "
            "it cluster and pools; stacks/ has examples."
        )
    ]


def test_an_environment_that_is_text_is_refused() -> None:
    assert errors("config:\n  eks-gpushare:environment: prod\n") == [
        "error GPU005 The environment is not a mapping. Give cluster and pools."
    ]


def test_config_that_is_a_list_is_refused() -> None:
    assert errors("config: [a]\nenvironment: [base]\n") == [
        (
            'error GPU005 config: ["a"] is not a mapping of configuration keys. Write '
            "eks-gpushare:environment: and aws:region: below config."
        )
    ]


def test_a_duplicate_key_names_both_lines() -> None:
    text = VALID.replace("      name: demo\n", "      name: demo\n      name: other\n")

    assert errors(text) == [
        (
            "error GPU002 line 6, column 7: The key 'name' is already set on line 5. Keep one of "
            "the two."
        )
    ]


def test_a_tab_is_found_at_its_place() -> None:
    assert errors(VALID.replace("      name", "\tname"))[0] == (
        "error GPU001 line 5, column 1: A tab stands where YAML allows only blanks. Indent with "
        "blanks."
    )


def test_a_second_document_is_refused() -> None:
    assert errors(VALID + "---\nconfig: {}\n") == [
        (
            "error GPU001 line 12, column 1: A second document starts here; the Pulumi engine "
            "reads only the first. Keep one document per file."
        )
    ]


def test_a_megabyte_of_garbage_is_refused_at_once() -> None:
    report = checked(bytes(range(256)) * 4096)

    assert [f.code for f in report.findings] == ["GPU001"]
    assert not report.readable


def test_more_than_a_megabyte_is_not_read() -> None:
    assert errors("a" * (1024 * 1024 + 1)) == [
        (
            "error GPU001 line 1, column 1: The text has 1,048,577 bytes, more than the 1,048,576 "
            "that are read. Correct the line."
        )
    ]


def test_a_thousand_brackets_are_no_crash() -> None:
    assert errors("[" * 10_000)[0].startswith("error GPU001 line 1, column 101: More than 100")


@pytest.mark.parametrize("written", ["1.30", "1.3", "1.300"])
def test_an_unquoted_version_is_to_be_quoted_as_it_is_written(written: str) -> None:
    text = VALID.replace('"1.35"', written)
    read = "a number" if written == "1.3" else "the number 1.3"

    assert errors(text) == [
        (
            f"error GPU007 cluster.version: YAML reads {written} without quotes as {read}; a "
            f'version is text. Write version: "{written}".'
        )
    ]


def test_a_tag_keeps_the_spelling_it_has_in_the_file() -> None:
    assert errors(VALID + "    tags: {build: 1.10}\n") == [
        'error GPU005 tags.build: 1.1 is a number; text is expected. Quote it: "1.10".'
    ]


def test_a_secret_is_refused_once() -> None:
    text = VALID.replace("name: demo", "name: {secure: AAABAKmRt3Zs}")

    assert errors(text) == [
        (
            "error GPU010 config.eks-gpushare:environment.cluster.name: A secret inside the "
            "environment would be in plain text in the state. Keep secrets out of it; nothing in "
            "an environment needs one."
        )
    ]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (
            "eks-gpushare:enviroment",
            (
                "eks-gpushare reads eks-gpushare:environment only. Did you mean "
                "eks-gpushare:environment?"
            ),
        ),
        (
            "environment",
            (
                "environment has no namespace, so the engine cannot tell whose it is. Write "
                "eks-gpushare:environment."
            ),
        ),
        (
            "pools",
            (
                "pools has no namespace, so the engine cannot tell whose it is. It stands one "
                "level in: write eks-gpushare:environment: {pools: ...}."
            ),
        ),
        (
            "eks-gpushare:pools",
            (
                "eks-gpushare reads eks-gpushare:environment only. It stands one level in: write "
                "eks-gpushare:environment: {pools: ...}."
            ),
        ),
        (
            "eks-gpu-share:environment",
            "eks-gpu-share is not the name of this project. Did you mean eks-gpushare:environment?",
        ),
        (
            "aws:regoin",
            "aws:regoin is not a setting of the AWS provider. Did you mean aws:region?",
        ),
    ],
)
def test_a_misspelt_sibling_is_refused(key: str, message: str) -> None:
    text = VALID.replace("  aws:region", f"  {key}: x\n  aws:region")

    assert errors(text) == [f"error GPU009 config.{key}: {message}"]


@pytest.mark.parametrize(
    "key", ["other:setting", "kubernetes:namespace", "aws:skipRegionValidation"]
)
def test_other_namespaces_are_left_alone(key: str) -> None:
    assert errors(VALID.replace("  aws:region", f"  {key}: x\n  aws:region")) == []


def test_a_key_beside_config_is_refused() -> None:
    assert errors(f"{VALID}confg: 1\n") == [
        "error GPU009 confg: confg is not a key of a stack file. Did you mean config?"
    ]


@pytest.mark.parametrize("key", ["encryptionsalt", "encryptedkey", "secretsprovider"])
def test_what_pulumi_writes_into_the_file_is_fine(key: str) -> None:
    assert errors(f"{VALID}{key}: v1:abc\n") == []


def test_an_environment_from_pulumi_esc_is_said_to_be_unchecked() -> None:
    report = checked("environment: [base]\nconfig: {aws:region: us-west-2}\n")

    assert [str(f) for f in report.findings] == [
        (
            "info GPU008 environment: If eks-gpushare:environment comes from Pulumi ESC, it is not "
            "checked here. Nothing to change; pulumi preview checks it."
        )
    ]


def test_a_file_of_pulumi_esc_alone_is_fine() -> None:
    assert checked("environment: [base]\n").ok


@pytest.mark.parametrize("region", ["us-west", "US-WEST-2", "''", "2", "[us-west-2]"])
def test_a_region_looks_like_one(region: str) -> None:
    found = errors(VALID.replace("us-west-2", region))

    assert len(found) == 1
    assert found[0].startswith("error GPU006 config.aws:region: ")
    assert found[0].endswith(" is not the name of a region. Write it as us-west-2.")


def test_anchors_and_merges_are_read() -> None:
    text = VALID.replace("      gpu:\n", "      gpu: &gpu\n") + (
        "      more:\n        <<: *gpu\n        sharing: {mode: timeSlicing, replicas: 1}\n"
    )

    assert errors(text) == [
        (
            "error GPU201 pools.more.sharing.replicas: 1 is less than 2; a GPU is shared by at "
            "least two pods. Set 2 or more, or mode: exclusive for a pod per GPU."
        )
    ]


def test_a_file_says_everything_at_once() -> None:
    text = """\
config:
  aws:regoin: us-west-2
  eks-gpushare:environment:
    cluster: {name: demo, version: 1.30, admin: []}
    network: {cidr: 8.8.0.0/16, natGateways: double}
    pools:
      a: {instanceTypes: g5.xlarge, sharing: {mode: timeSlicing, replicas: 1}}
      b: {instanceTypes: [g5.xlrge], sharing: {mode: mps, replicas: four}}
"""

    assert lines(text) == [
        ("GPU009", 2),
        ("GPU007", 4),
        ("GPU003", 4),
        ("GPU006", 5),
        ("GPU605", 5),
        ("GPU005", 7),
        ("GPU201", 7),
        ("GPU005", 8),
        ("GPU101", 8),
    ]


def test_findings_stand_in_the_order_of_lines() -> None:
    found = [line for _, line in lines(VALID.replace("demo", "a b").replace("exclusive", "x"))]

    assert found == [5, 11]


def test_a_missing_file_is_unreadable(tmp_path: Path) -> None:
    file = tmp_path / "none.yaml"
    report = check_file(file)

    assert [str(f) for f in report.findings] == [
        (
            f"error GPU001 {file} cannot be read: no such file or directory. Give the path of a "
            "stack file."
        )
    ]


def test_a_directory_is_unreadable(tmp_path: Path) -> None:
    assert check_file(tmp_path).findings[0].message == (
        f"{tmp_path} cannot be read: it is a directory, not a file."
    )


def test_who_gives_the_name_or_the_folder_of_a_stack_is_told_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "Pulumi.prod.yaml").touch()
    monkeypatch.chdir(tmp_path)

    for name in ("prod", ".", "stacks"):
        assert check_file(name).findings[0].fix == "Give stacks/Pulumi.prod.yaml."
    assert check_file("dev").findings[0].fix == "Give the path of a stack file."


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_without_permission_is_unreadable(good: Path) -> None:
    good.chmod(0)

    assert check_file(good).findings[0].message == f"{good} cannot be read: permission denied."


def test_a_right_file_exits_with_0(good: Path) -> None:
    done = run(good)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == f"{good}: ok, 3 notes"


def test_errors_exit_with_1_and_are_grouped_by_file(good: Path, bad: Path) -> None:
    done = run(good, bad, "--quiet", COLUMNS="100")

    assert done.returncode == 1
    assert done.stdout == (
        f"{good}: ok, 3 notes\n"
        f"{bad}: refused, 1 error\n"
        "  error GPU006 at line 11, pools.gpu.sharing.mode\n"
        '    "exclusiv" is not one of exclusive, timeSlicing, mps, mig.\n'
        "    -> Write exclusive.\n"
    )


def test_an_unreadable_file_exits_with_2_and_the_others_are_checked(
    good: Path, bad: Path, tmp_path: Path
) -> None:
    done = run(good, bad, tmp_path / "none.yaml")

    assert done.returncode == 2
    assert f"{bad}: refused, 1 error\n" in done.stdout


def test_no_file_at_all_is_wrong_usage() -> None:
    done = run()

    assert (done.returncode, done.stdout) == (2, "")


def test_json_is_one_document_and_nothing_else(good: Path, bad: Path) -> None:
    done = run("--json", bad, good)
    result = json.loads(done.stdout)

    assert (done.returncode, done.stderr) == (1, "")
    assert [(each["file"], each["ok"]) for each in result["files"]] == [
        (str(bad), False),
        (str(good), True),
    ]
    assert result["files"][0]["findings"] == [
        {
            "code": "GPU006",
            "severity": "error",
            "path": "pools.gpu.sharing.mode",
            "message": '"exclusiv" is not one of exclusive, timeSlicing, mps, mig.',
            "fix": "Write exclusive.",
            "source": "https://www.pulumi.com/docs/iac/concepts/config/",
        }
    ]


def test_json_of_an_unreadable_file_is_json(tmp_path: Path) -> None:
    done = run("--json", tmp_path)
    [file] = json.loads(done.stdout)["files"]

    assert (done.returncode, done.stderr, file["ok"]) == (2, "", False)


def test_what_a_terminal_would_act_upon_is_shown_as_escapes(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.odd.yaml"
    file.write_text(VALID + '    "\\e[31mred\\nkey": 1\n', encoding="utf-8")
    done = run(file)

    assert done.returncode == 1
    assert "\\x1b[31mred\\nkey is not a key of this block." in done.stdout
    assert "\x1b" not in done.stdout


def test_letters_that_the_output_cannot_hold_are_escaped(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.odd.yaml"
    file.write_text(VALID.replace("name: demo", "name: dömo"), encoding="utf-8")
    done = run(file, PYTHONIOENCODING="ascii")

    assert done.returncode == 1
    assert '"d\\xf6mo" is not 1 to 100 letters' in done.stdout


def test_colours_are_for_terminals_only(bad: Path) -> None:
    assert "\x1b" not in run(bad).stdout


@given(st.one_of(st.text(), st.binary()))
def test_no_text_makes_check_raise(text: str | bytes) -> None:
    for found in checked(text).findings:
        assert found.message


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from(["", "true", "1.30", "<new>", "g5.xlarge", "mps", "us-west-2a", "10.0.0.0/8"]),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abñ<>.1", max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
FULL = {
    "cluster": {
        "name": "demo",
        "version": "1.35",
        "supportType": "standard",
        "endpoint": {"public": True, "publicCidrs": ["203.0.113.0/24"], "private": True},
        "admins": ["arn:aws:iam::111122223333:role/Platform"],
        "secretsKeyArn": "arn:aws:kms:us-west-2:111122223333:key/abc",
        "addons": {"ebsCsi": True, "versions": {"coredns": "v1.12.1"}},
    },
    "network": {"cidr": "10.0.0.0/16", "zones": ["us-west-2a", "us-west-2b"]},
    "system": {"instanceTypes": ["t3.large"], "nodes": {"min": 2, "desired": 2, "max": 4}},
    "gpuStack": {"manager": "devicePlugin", "namespace": "gpu"},
    "pools": {
        "a": {
            "provisioner": "managedNodeGroup",
            "instanceTypes": ["g4dn.xlarge"],
            "nodes": {"min": 0, "desired": 1, "max": 2},
            "amiVersion": "1.35.8-20260930",
            "zones": ["us-west-2a"],
            "capacityType": "reserved",
            "reservation": {"id": "cr-0123"},
            "labels": {"team": "ml"},
            "taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}],
            "sharing": {"mode": "mps", "replicas": 4, "rename": True},
        },
        "b": {
            "instanceTypes": ["p4d.24xlarge"],
            "amiFamily": "custom",
            "customAmi": {"id": "ami-01234567", "family": "al2023", "driverIncluded": True},
            "efa": True,
            "placementGroup": True,
            "sharing": {
                "mode": "mig",
                "layout": [{"gpus": [0, 1], "devices": {"1g.5gb": 7}}],
                "timeSlicing": {"replicas": 2},
            },
        },
        "c": {"instanceTypes": ["g5.xlarge"], "sharing": {"mode": "timeSlicing", "replicas": 3}},
    },
    "charts": {"devicePlugin": {"version": "0.20.0", "values": {"gfd": {"x": 1}}}},
    "catalog": {
        "instanceTypes": {
            "g5.xlarge": {
                "priceUsdPerHour": 1.5,
                "gpu": {"count": 1, "computeCapability": "8.6", "mig": False},
            }
        }
    },
    "tags": {"team": "ml"},
}


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [at] if at else []
    if isinstance(value, dict):
        found += [each for key, inner in value.items() for each in places(inner, (*at, key))]
    elif isinstance(value, list):
        found += [each for index, inner in enumerate(value) for each in places(inner, (*at, index))]
    return found


PLACES = places(FULL)


def changed(value: Any, at: tuple[Any, ...], how: str, new: Any) -> Any:
    """A value with one place of it deleted, renamed or replaced; as it is if the place is gone."""
    head, rest = at[0], at[1:]
    if isinstance(value, dict) and head in value:
        pairs = list(value.items())
    elif isinstance(value, list) and isinstance(head, int) and head < len(value):
        pairs = list(enumerate(value))
    else:
        return value
    result = []
    for key, inner in pairs:
        if key != head:
            result.append((key, inner))
        elif rest:
            result.append((key, changed(inner, rest, how, new)))
        elif how == "rename":
            result.append((f"{key}x" if isinstance(key, str) else key, inner))
        elif how == "replace":
            result.append((key, new))
    return dict(result) if isinstance(value, dict) else [inner for _, inner in result]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(PLACES), st.sampled_from(["delete", "rename", "replace"]), VALUES
        ),
        min_size=1,
        max_size=4,
    )
)
def test_no_change_of_a_right_environment_makes_check_raise(
    changes: list[tuple[tuple[Any, ...], str, Any]],
) -> None:
    environment: Any = FULL
    for at, how, new in changes:
        environment = changed(environment, at, how, new)
    config = {"aws:region": "us-west-2", "eks-gpushare:environment": environment}
    report = checked(yaml.safe_dump({"config": config}, allow_unicode=True))

    for found in report.findings:
        assert found.message
        assert report.line_of(found) is None or report.line_of(found)
    json.dumps(report.as_json())
