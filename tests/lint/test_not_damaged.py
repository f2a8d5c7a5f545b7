"""What `--fix` does not write, what it keeps of what it writes, and what it says of both."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from eks_gpushare.cli import main
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.lint.fixes import Fixed, fixed_files
from eks_gpushare.lint.made_by_tools import name_in_project, why_made
from eks_gpushare.lint.replacing import write
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.json_text import comments_of, json_problem, syntax_of
from eks_gpushare.manifests.texts import read_texts

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a"},
    "spec": {"containers": [{"name": "b", "resource": {"limits": {"nvidia.com/gpu": 1}}}]},
}
JSON = json.dumps(POD, indent=2)
WRONG = "version: v1\nsharing:\n  timeSlicing:\n    renamebydefault: true\n"
PLUGIN = f"{WRONG}    resources: [{{name: nvidia.com/gpu, replicas: 4}}]\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_json_stays_json() -> None:
    (fixed,) = fixed_files([GivenFile("pod.json", JSON)]).fixed

    assert fixed.after == JSON.replace('"resource"', '"resources"')


def test_json_with_comments_keeps_them() -> None:
    text = f"// of ours\n{JSON.replace('1', '1, // one')}\n"
    (fixed,) = fixed_files([GivenFile("pod.json", text)]).fixed

    assert fixed.after == text.replace('"resource"', '"resources"')


def test_what_a_file_of_json_gets_is_json() -> None:
    shares = {"resources": [{"name": "nvidia.com/gpu", "replicas": 4}]}
    config = {"sharing": {"timeSlicing": {"renamebydefault": True, **shares}}}
    (fixed,) = fixed_files([GivenFile("plugin.json", json.dumps(config))]).fixed

    assert json.loads(fixed.after) == {
        "version": "v1",
        "sharing": {"timeSlicing": {"renameByDefault": True, **shares}},
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("apiVersion: v1\nkind: Pod\n", "Not valid JSON: expecting value."),
        ('{apiVersion: v1, kind: "Pod"}', "Not valid JSON: expecting property name enclosed"),
        ('{"apiVersion": "v1", "a": NaN}', "Not valid JSON: NaN is no number of JSON."),
        ('{"apiVersion": "v1"}\n{"apiVersion": "v1"}', "Not valid JSON: extra data."),
    ],
)
def test_what_is_named_json_and_is_none_is_told(text: str, says: str) -> None:
    (report,) = lint_files([GivenFile("a.json", text)])

    assert [each.code for each in report.findings] == ["GPU1000"]
    assert report.findings[0].message.startswith(says)
    assert not report.readable
    assert fixed_files([GivenFile("a.json", text)]).fixed == ()


def test_the_comments_of_json() -> None:
    assert comments_of('// a\n{"b": "// no"} /* c */') == ["// a", "/* c */"]


@pytest.mark.parametrize("text", ['\n{"a": NaN}', "[" * 100_000])
def test_what_has_no_place_is_told_of_the_whole_file(text: str) -> None:
    problem = json_problem(text)

    assert problem is not None
    assert (problem.line, problem.column) == (1, 1)


def test_what_is_no_json_and_of_another_tool_is_a_note() -> None:
    (report,) = lint_files([GivenFile("tests/data/a.json", '{"broken": }')])

    assert [(each.code, each.message) for each in report.findings] == [
        (
            "GPU1001",
            "Not valid JSON: expecting value. Nothing in it is of Kubernetes or GPUs.",
        )
    ]
    assert report.readable


@pytest.mark.parametrize(("in_folder", "code"), [(True, "GPU1001"), (False, "GPU1000")])
def test_what_is_no_yaml_and_of_another_tool_is_a_note_of_a_folder(
    in_folder: bool, code: str
) -> None:
    (report,) = lint_files([GivenFile("a.yaml", "- [a", in_folder=in_folder)])

    assert [each.code for each in report.findings] == [code]


def test_a_template_of_json_is_one() -> None:
    (report,) = lint_files([GivenFile("a.json", '{"kind": {{ .Values.kind }}}')])

    assert [each.code for each in report.findings] == ["GPU1003"]


@pytest.mark.parametrize(
    ("name", "text", "syntax"),
    [
        ("a.yaml", "{a: 1", "yaml"),
        ("a.json", '{"a": 1}', "json"),
        ("a.JSON", '{"a": 1,}', "jsonc"),
        ("a.jsonc", '/* x\n */ {"a": [1, /* , ] */ ], "b": "//"}', "jsonc"),
        ("a.json", "[,]", None),
        ("a.json", '{"a": 1,,}', None),
        ("a.json", "{a: 1}", None),
        ("a.json", "", None),
    ],
)
def test_what_a_file_is_written_in(name: str, text: str, syntax: str | None) -> None:
    assert syntax_of(name, text) == syntax


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("charts.lock", "a: 1\n", "is the lock of a tool"),
        ("package-lock.json", "{}", "is the lock of a tool"),
        (".terraform.lock.hcl", "", "is the lock of a tool"),
        ("a/terraform.tfstate", "{}", "is a state or a plan of Terraform"),
        ("prod.tfplan.json", "{}", "is a state or a plan of Terraform"),
        ("zz_generated.crd.yaml", "a: 1\n", "is generated, by its name"),
        ("a.generated.yaml", "a: 1\n", "is generated, by its name"),
        ("a.yaml", "---\n# Code generated by x. DO NOT EDIT.\n", "is generated, as line 2 says"),
        ("a.yaml", "# This file was automatically generated\n", "is generated, as line 1 says"),
        ("a.md", "<!-- DO NOT EDIT -->\n", "is generated, as line 1 says"),
        (
            "a.yaml",
            "---\n# Source: gpu-operator/templates/a.yaml\na: 1\n",
            "is the output of helm template",
        ),
        ("a.json", '{"format_version": "1.2", "terraform_version": "1"}', "is a plan of Terraform"),
        ("a.json", '{"planned_values": {}}', "is a plan of Terraform"),
        ("a.json", '{"lineage": "a", "serial": 1}', "is a state of Terraform"),
        ("a.json", '{"version": 3, "deployment": {}}', "is an export of a stack"),
        ("a.json", '{"//": "Generated by x", "a": 1}', "is generated, as it says"),
        ("build/a.yaml", "a: 1\n", "lies in build, where tools put what they make"),
        ("a/cdk.out/b.json", "{}", "lies in cdk.out, where tools put what they make"),
        ("a.yaml", "a: 1  # do not edit by hand, see b\n", None),
        ("a.yaml", f"{'a: 1' + chr(10)}" * 50 + "# DO NOT EDIT\n", None),
        ("block.yaml", "a: 1\n", None),
        ("builds/a.yaml", "# the source\na: 1\n", None),
        ("a.json", "[1]", None),
        ("a.json", "{", None),
        ("a.json", "[" * 100_000, None),
        ("a.json", '{"lineage": "a", "serial": 1, /* b */ }', "is a state of Terraform"),
    ],
)
def test_what_a_tool_makes_is_known(name: str, text: str, why: str | None) -> None:
    assert why_made(name, text) == why


_READ = {"metadata": {"name": "a", "uid": "b"}}


@pytest.mark.parametrize(
    ("value", "listed"),
    [
        (_READ, True),
        ({"kind": "List", "items": [{}, _READ]}, True),
        ({"kind": "PodList", "items": [_READ]}, True),
        ({"kind": "List", "items": [{"kind": "PodList", "items": [_READ]}]}, True),
        ({"kind": "List", "items": [{"metadata": {"name": "a"}}]}, False),
        ({"kind": "List", "items": 3}, False),
        ({"kind": "List"}, False),
        ({"metadata": {"name": "a"}}, False),
    ],
)
def test_what_was_read_from_a_cluster_is_no_source(value: dict[str, object], listed: bool) -> None:
    documents = read_texts(json.dumps(value), "a.yaml").documents

    assert why_made("a.yaml", "", documents) == ("is a listing of a cluster" if listed else None)


def test_a_listing_of_a_cluster_is_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [{**POD, "metadata": {"uid": "1"}}]}
    Path("a.json").write_text(json.dumps(listed))

    main(["lint", "--fix", "a.json"])
    assert json.loads(Path("a.json").read_text()) == listed
    assert capsys.readouterr().err == (
        "eks-gpushare: a.json: 1 correction not written, since it is a listing of a cluster\n"
    )


def test_what_is_not_written_is_in_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(f"# DO NOT EDIT\n{PLUGIN}")

    assert main(["lint", "--fix", "--json", "a.yaml"]) == 1
    (report,) = json.loads(capsys.readouterr().out)["files"]
    assert report["notFixed"] == "it is generated, as line 1 says"
    assert "fixes" not in report
    assert Path("a.yaml").read_text() == f"# DO NOT EDIT\n{PLUGIN}"


def test_what_git_ignores_is_not_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subprocess.run(["git", "init", "-q"], check=True)  # noqa: S607  (the one of PATH)
    Path(".gitignore").write_text("local*\n")
    Path("deploy").mkdir()
    for name in ("deploy/local.yaml", "deploy/a.yaml"):
        Path(name).write_text(PLUGIN)

    main(["lint", "--fix", "deploy", "deploy/local.yaml"])
    assert Path("deploy/local.yaml").read_text() == PLUGIN
    assert Path("deploy/a.yaml").read_text() == PLUGIN.replace("renameby", "renameBy").replace(
        "Bydefault", "ByDefault"
    )
    assert "deploy/local.yaml: 1 correction not written, since it is ignored by git" in (
        capsys.readouterr().err
    )
    assert name_in_project(str(folder / "deploy" / "a.yaml")) == "deploy/a.yaml"


def test_a_name_elsewhere_counts_alone(tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("build") / "a.yaml"

    assert name_in_project(str(elsewhere)) == "a.yaml"


def fixed(name: str) -> Fixed:
    return Fixed(name, "a: 1\n", "a: 2\n", 1)


def test_a_file_of_several_names_is_refused() -> None:
    Path("a.yaml").write_text("a: 1\n")
    os.link("a.yaml", "b.yaml")

    with pytest.raises(OSError, match=r"^a.yaml has 2 names \(hard links\), which would no longer"):
        write([fixed("a.yaml")])
    assert Path("a.yaml").read_text() == "a: 1\n"


def test_a_read_only_file_is_refused_and_nothing_else_is_written() -> None:
    for name in ("a.yaml", "b.yaml"):
        Path(name).write_text("a: 1\n")
    Path("b.yaml").chmod(0o444)

    with pytest.raises(OSError, match=r"^b.yaml is read-only; make it writable: chmod u\+w b.yaml"):
        write([fixed("a.yaml"), fixed("b.yaml")])
    assert {each.name: each.read_text() for each in Path().iterdir()} == {
        "a.yaml": "a: 1\n",
        "b.yaml": "a: 1\n",
    }


def test_what_a_file_has_beside_its_text_stays() -> None:
    file = Path("a.yaml")
    file.write_text("a: 1\n")
    file.chmod(0o640)
    try:
        os.setxattr(file, "user.origin", b"here")
    except OSError:
        pytest.skip("the file system keeps no attributes of users")
    write([fixed("a.yaml")])

    assert file.read_text() == "a: 2\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert os.getxattr(file, "user.origin") == b"here"


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser gives files away")
def test_the_owner_of_a_file_stays() -> None:
    file = Path("a.yaml")
    file.write_text("a: 1\n")
    os.chown(file, 4711, 4712)
    write([fixed("a.yaml")])

    assert file.read_text() == "a: 2\n"
    assert (file.stat().st_uid, file.stat().st_gid) == (4711, 4712)


def test_the_file_behind_a_link_is_written_and_named() -> None:
    Path("a.yaml").write_text("a: 1\n")
    Path("b.yaml").symlink_to("a.yaml")
    told = write([fixed("a.yaml"), fixed("b.yaml")])

    assert told == [f"b.yaml is a link to {Path('a.yaml').resolve()}, which is written"]
    assert Path("a.yaml").read_text() == "a: 2\n"
    assert Path("b.yaml").is_symlink()


def test_one_file_that_would_become_two_is_refused() -> None:
    Path("a.yaml").write_text("a: 1\n")
    Path("b.yaml").symlink_to("a.yaml")

    with pytest.raises(OSError, match=r"^b.yaml and a.yaml are one file; give one of them"):
        write([fixed("a.yaml"), Fixed("b.yaml", "a: 1\n", "a: 3\n", 1)])
    assert Path("a.yaml").read_text() == "a: 1\n"


def test_the_command_says_why_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(PLUGIN)
    Path("a.yaml").chmod(0o444)

    assert main(["lint", "--fix", "a.yaml"]) == 2
    shown = capsys.readouterr()
    assert shown.out.startswith("--- a.yaml\n+++ a.yaml\n")
    assert shown.err == (
        "eks-gpushare: nothing is written: a.yaml is read-only; "
        "make it writable: chmod u+w a.yaml\n"
    )


@pytest.mark.parametrize(
    "content",
    [
        PLUGIN.encode().removesuffix(b"\n"),
        PLUGIN.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + PLUGIN.encode(),
        PLUGIN.replace("true", "true \t").encode(),
    ],
    ids=["no last line end", "CRLF", "mark", "tab"],
)
def test_all_else_of_a_file_is_kept_to_the_byte(content: bytes) -> None:
    Path("a.yaml").write_bytes(content)
    main(["lint", "--fix", "a.yaml"])

    assert Path("a.yaml").read_bytes() == content.replace(b"renamebydefault", b"renameByDefault")


def test_what_is_no_utf8_is_not_written() -> None:
    content = PLUGIN.replace("v1", "v\xfc").encode("latin-1")
    Path("a.yaml").write_bytes(content)

    assert main(["lint", "--fix", "a.yaml"]) == 2
    assert Path("a.yaml").read_bytes() == content


MISTAKES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: shares, namespace: gpu}
data:
  any: |
    version: v1
    sharing:
      timeSlicing:
        renamebydefault: true
        resources: [{name: nvidia.com/gpu, replicas: "4"}]
"""
IN_HCL = (
    'resource "kubernetes_manifest" "pod" {{\n  manifest = {{\n    apiVersion = "v1"\n'
    '    kind = "Pod"\n    metadata = {{ name = "a" }}\n    spec = {{ containers = '
    '[{{ name = "c", resources = {{ limits = {{ "nvidia.com/GPU" = 1 }} }} }}] }}\n  }}\n}}\n'
    'resource "kubectl_manifest" "shares" {{\n  yaml_body = <<-YAML\n{}  YAML\n}}\n'
).format("".join(f"    {line}\n" for line in MISTAKES.splitlines()))
IN_JSON = json.dumps(
    {"resource": {"kubectl_manifest": {"shares": {"yaml_body": MISTAKES}}}}, indent=2
)


def test_terraform_is_judged_and_never_written() -> None:
    """Text of HCL is what expressions make; what is right in it is for whoever wrote them."""
    files = [
        GivenFile("main.tf", IN_HCL),
        GivenFile("more/main.tf.json", IN_JSON),
        GivenFile("vars/prod.tfvars", 'labels = { "nvidia.com/GPU" = 1 }\n'),
        GivenFile("shares.yaml", MISTAKES),
    ]
    found = {report.file: {each.code for each in report.findings} for report in lint_files(files)}
    fixes = fixed_files(files)

    assert {"GPU1020", "GPU1204"} <= found["main.tf"]
    assert "GPU1020" in found["more/main.tf.json"]
    assert [fixed.file for fixed in fixes.fixed] == ["shares.yaml"]
