"""What is yet to be filled in is unknown: it is never judged as a value.

The property: a placeholder of any kind, put for any scalar of a right file, brings no error and no
warning. `EKS_GPUSHARE_TEST_PLACEHOLDERS` is how many places of the corpus are tried; of all it is
tried at night.
"""

from __future__ import annotations

import os
import random
import re
from typing import TYPE_CHECKING, Any, Final

import lint_corpus
import pytest

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.placeholders import (
    GAP,
    has_signs,
    is_placeholder,
    is_template,
    with_gaps,
    without_placeholders,
)
from eks_gpushare.manifests.shell.words import commands
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.stack_file.composer import Node

SIGNS: Final = (
    *(
        "$GPUS",
        "${GPUS}",
        "${GPUS:-1}",
        "$(GPUS)",
        "{{ .Values.gpus }}",
        "{{gpus}}",
        "'{{ gpus }}'",
    ),
    *(
        '"{{ .Values.gpus | quote }}"',
        "<gpus>",
        "<number of GPUs>",
        "PLACEHOLDER_GPUS",
        "GPUS_HERE",
    ),
    *("REPLACE_ME", "CHANGEME", "your-value", "YOUR_VALUE", "insert-your-value", "TODO", "..."),
    *("A | B", "one|two", "@@GPUS@@", "@GPUS@", "%GPUS%", "%{gpus}", "<%= gpus %>", "%s", "{gpus}"),
    *("GPUS|-1-|", "MORE_GPUS|-value-1-|"),
    *("__GPUS__", "xxx", "# insert the number", "x-${GPUS}-y", "x-{{ gpus }}-y", "ami-0123..."),
)
MOST: Final = int(os.environ.get("EKS_GPUSHARE_TEST_PLACEHOLDERS", "80"))
_YAML: Final = (".yaml", ".yml")
_WHAT_IT_IS: Final = ("apiVersion", "kind")


@pytest.mark.parametrize("sign", [each for each in SIGNS if each[0] not in "#'\""])
def test_a_sign_of_any_tool_is_one(sign: str) -> None:
    assert is_placeholder(sign)


@pytest.mark.parametrize(
    "text",
    [
        *("", "nvidia.com/gpu", "nvidia/cuda:12.4.1-base", "4", "true", "g5.xlarge", "my-cluster"),
        *(
            "NO_SCHEDULE",
            "AL2023_x86_64_NVIDIA",
            "ON_DEMAND",
            "NVIDIA_VISIBLE_DEVICES",
            "SYS_ADMIN",
        ),
        *("all-1g.5gb", "1g.10gb+me", "a\nb ${C}\nd", "5$", "a < b", "a|", "there", "somewhere"),
        *(
            "device.attributes['gpu.nvidia.com'].type == 'mig'",
            "echo $HOME and more",
            "_",
            "x86_64",
        ),
        *(
            "*amazon-eks-node-al2023*",
            "max-pods",
            "10.0.0.0/16",
            "--flag",
            "{ a: b }",
            "https://a/b",
        ),
        *("inserted", "placed", "TODOS", "Hereford", "*", "?a", "x" * 5000 + "${A}", "replacement"),
    ],
)
def test_a_value_is_none(text: str) -> None:
    assert not is_placeholder(text)


def value_of(text: str) -> Any:
    (document,) = read_texts(text, "a.yaml").documents
    return document.value


@pytest.mark.parametrize("sign", SIGNS)
def test_a_sign_is_unknown_where_a_value_stands(sign: str) -> None:
    read = value_of(f"a: {sign}\nb: 1\nc: [x]\n")

    assert read == {"a": UNKNOWN, "b": 1, "c": ["x"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: # your price\nb: 1\n", {"a": UNKNOWN, "b": 1}),
        ("a:\n  # your price, in dollars\nb: 1\n", {"a": UNKNOWN, "b": 1}),
        ("a:\n  # - key: nvidia.com/gpu\nb: 1\n", {"a": None, "b": 1}),  # for later
        ("a:\n# another matter\nb: 1\n", {"a": None, "b": 1}),
        ("x:\n  a:\n  # another matter\n  b: 1\n", {"x": {"a": None, "b": 1}}),
        ("a:\nb: 1\n", {"a": None, "b": 1}),
        ("a: null  # none\nb: 1\n", {"a": None, "b": 1}),
        ("a:\n- # yours\nb: 1\n", {"a": [UNKNOWN], "b": 1}),
        ("a:\n  {{- toYaml .Values.a | nindent 2 }}\nb: 1\n", {"a": UNKNOWN, "b": 1}),
        ("a: {user}/image:v1 # x\nb: 1\n", {"a": UNKNOWN, "b": 1}),
    ],
)
def test_what_stands_for_a_value(text: str, expected: Any) -> None:
    assert value_of(text) == expected


@pytest.mark.parametrize(
    ("text", "gapped"),
    [
        ("a: 1\n${more}\nb: 2\n", f"a: 1\n{GAP * 6}:\nb: 2\n"),
        ("\n${more}\nb: 2\n", f"\n{GAP * 6}:\nb: 2\n"),
        ("a: 1\n${more}x\nb: 2\n", f"a: 1\n{GAP * 8}\nb: 2\n"),
        ("a: ${more}\nb: 2\n", f"a: {GAP * 7}\nb: 2\n"),
        ("a: 1\nB|-c: d-| # e\nb: 2\n", f"a: 1\n{GAP * 8}: # e\nb: 2\n"),
        ("a: 1\n  b: B|-c-|\n", f"a: 1\n  b: {GAP * 6}\n"),
        ("a:\n  B_C\n  b: 2\n", f"a:\n  {GAP * 2}:\n  b: 2\n"),
        ("a: |\n  B_C\n  b: 2\n", f"a: |\n  {GAP * 3}\n  b: 2\n"),
        ("a: B|-c-|\n  B_C\nb: 2\n", f"a: {GAP * 6}\n  {GAP * 2}:\nb: 2\n"),
        ("a: 1\n  {name}\nb: 2\n", f"a: 1\n  {GAP * 6}\nb: 2\n"),
        ("a:\n  B_C\n  b: D_E\n", f"a:\n  {GAP * 2}:\n  b: D_E\n"),
        ("a:\n  B_C\n  b: [D_E]\n- F_G\n", f"a:\n  {GAP * 2}:\n  b: [D_E]\n- {GAP * 3}\n"),
    ],
)
def test_each_sign_keeps_its_place(text: str, gapped: str) -> None:
    """One that stands for lines is a key, so that those beside it stay what they are."""
    assert with_gaps(text) == gapped


def test_what_a_template_decides_is_not_known() -> None:
    text = "a:\n{{- if .Values.b }}\n  b: 1\n{{- else }}\n  b: 2\n{{- end }}\n"

    assert with_gaps(text) is None
    assert is_template(text, 2)


LONG: Final = "x" * 256 * 1024


@pytest.mark.parametrize(
    ("lines", "line", "template"),
    [
        (["a: 1", "b: <name>: c"], 2, True),
        (["a: 1", "b: <name>: c"], 1, False),
        (["b: <name>", "a: 1: 2"], 2, False),
        (["b: <name>", "a: 1"], 3, False),
        (["{NAME}: x", "a: ["], 2, True),
        (["{NAME}: x", *["a: 1"] * 2, "b: ["], 4, True),
        (["{NAME}: x", *["a: 1"] * 3, "b: ["], 5, False),
        ([f"b: <name>: {LONG}"], 1, False),
        ([f"{{NAME}}: {LONG}", "a: ["], 2, False),
        (["a: [", "{# a note #}"], 1, True),
    ],
)
def test_a_text_is_a_template_by_its_signs_nearby(
    lines: list[str], line: int, template: bool
) -> None:
    assert is_template("\n".join(lines), line) is template


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("a = {{ b }}", True),
        ("{# a note #}", True),
        ("a = 1\n# b", False),
        (f"a = {{{{ b }}}} # {LONG}", False),
    ],
)
def test_a_text_has_signs_that_its_syntax_has_not(text: str, signs: bool) -> None:
    assert has_signs(text) is signs


def test_a_plain_value_without_what_is_yet_to_be_filled_in() -> None:
    value = {"a": ["${X}", 1, {"b": "<name>"}], "c": "d", "e": None}

    assert without_placeholders(value) == {
        "a": [UNKNOWN, 1, {"b": UNKNOWN}],
        "c": "d",
        "e": None,
    }


def test_a_document_that_cannot_be_read_keeps_none_of_the_others_from_being_judged() -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata: {{\n---\n"
        "apiVersion: v1\nkind: Pod\nmetadata: {name: b}\nspec:\n  containers:\n"
        "    - {name: c, image: 'd:1', resources: {limits: {nvidia.com/gpu: 0.5}}}\n"
    )
    (report,) = lint_files([GivenFile("a.yaml", text)])

    assert [each.code for each in report.findings] == ["GPU1003", "GPU1114"]


def test_what_cannot_be_read_may_be_what_is_named() -> None:
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: shares\ndata: {{ x\n  y\n"
    install = "helm install p nvdp/nvidia-device-plugin -n gpu --set config.name=shares\n"
    assert alarms({"a.yaml": config, "i.sh": install}) == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("helm install {{ release }} x/y", ["helm", "install", GAP, "x/y"]),
        ("a --set x=PLACEHOLDER_X,y=2", ["a", "--set", f"x={GAP},y=2"]),
        ("a --set 'x={b}'", ["a", "--set", "x={b}"]),
        ("a @@NAME@@ your-cluster", ["a", GAP, GAP]),
        ("a <%= name %> b", ["a", GAP, "b"]),
        ("a '$X' $Y", ["a", "$X", GAP]),
    ],
)
def test_words_of_commands(line: str, words: list[str]) -> None:
    (command,) = commands(line, {})

    assert [word.text for word in command.words] == words


def scalars(node: Node, path: tuple[str | int, ...] = ()) -> Iterator[tuple[Any, Node]]:
    for key, entry in node.children.items():
        if isinstance(entry.node.value, dict | list):
            yield from scalars(entry.node, (*path, key))
        elif not entry.merged and entry.node.style not in ("|", ">"):
            yield (*path, key), entry.node


def places() -> list[tuple[str, str, tuple[str | int, ...], int, int]]:
    """Case, file, path and characters of each scalar of right cases, but what an object is."""
    found = []
    for case in lint_corpus.cases():
        if not case.is_right:
            continue
        for name, text in case.files.items():
            if not name.endswith(_YAML):
                continue
            for document in read_texts(text, name).documents:
                if document.text is None or document.text.root is None:
                    continue
                for path, node in scalars(document.text.root):
                    if path[-1] not in _WHAT_IT_IS:
                        start = document.text.start
                        span = node.span
                        found.append((case.name, name, path, start + span.start, start + span.end))
    return found


def alarms(files: Mapping[str, str]) -> list[tuple[str, str, str]]:
    reports = lint_files(GivenFile(name, text) for name, text in files.items())
    return [
        (report.file, each.code, each.message)
        for report in reports
        for each in report.findings
        if each.severity != "info"
    ]


def test_a_sign_for_any_scalar_of_a_right_file_brings_no_finding() -> None:
    by_name = {case.name: case for case in lint_corpus.cases()}
    chosen = [(place, sign) for place in places() for sign in SIGNS]
    if len(chosen) > MOST:
        chosen = random.Random(20261125).sample(chosen, MOST)  # noqa: S311
    wrong = []
    for (case, name, path, start, end), sign in chosen:
        text = by_name[case].files[name]
        kept = f" {text[start:end]}" if sign.startswith("#") else ""
        if kept:
            continue  # a comment in the middle of a line takes the rest of it away
        changed = {**by_name[case].files, name: text[:start] + sign + text[end:]}
        if found := alarms(changed):
            wrong.append((case, name, path, sign, found))

    assert wrong == []


SIGNS_OF_LINES = (
    *("${what_is_to_come}", "{{ .Values.more }}", "{{- toYaml .more | nindent N }}"),
    *("OTHER-LINES|-value: 'a'-|", "OTHER-LINES_TO_COME"),
)


def lines_among_keys() -> list[tuple[str, str, int, str]]:
    """Case, file, number of a line with a key of right cases, and its indentation."""
    return [
        (case.name, name, number, found[1])
        for case in lint_corpus.cases()
        if case.is_right
        for name, text in case.files.items()
        if name.endswith(_YAML)
        for number, line in enumerate(text.split("\n"))
        if (found := re.match(r"( +)[A-Za-z][\w./-]*:(?:\s|$)", line))
    ]


def test_lines_to_come_among_the_keys_of_a_right_file_bring_no_finding() -> None:
    """What stands beside them is judged, and nothing is missing that they may bring."""
    by_name = {case.name: case for case in lint_corpus.cases()}
    chosen = lines_among_keys()
    if len(chosen) > MOST:
        chosen = random.Random(20261128).sample(chosen, MOST // 2)  # noqa: S311
    wrong = []
    for case, name, number, indent in chosen:
        lines = by_name[case].files[name].split("\n")
        sign = SIGNS_OF_LINES[number % len(SIGNS_OF_LINES)]
        lines.insert(number, indent + sign.replace("N", str(len(indent))))
        if found := alarms({**by_name[case].files, name: "\n".join(lines)}):
            wrong.append((case, name, number, found))

    assert wrong == []


@pytest.mark.parametrize(
    "line",
    [
        *("${volumes}", "${volumes}\n  ${more}", "{{ .volumes }}", "{{- toYaml .x | nindent 2 }}"),
        *("VOLUMES|-volumes: []-|", "VOLUMES|-a: b-|  # as always", "MORE-VOLUMES_1 \r"),
        *("A|-volumes: []-|\n  MORE_VOLUMES", "MORE_VOLUMES\n  A|-volumes: []-|"),
    ],
)
def test_what_stands_beside_lines_to_come_is_judged(line: str) -> None:
    text = (
        "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: gpu}\nspec:\n"
        f"  role: nodes\n  {line}\n  amiSelectorTerms: [{{alias: bottlerocket@latest}}]\n"
    )

    (found,) = alarms({"class.yaml": text})

    assert found[2].startswith("bottlerocket@latest is another image")


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("a: 'b'\nA|-c: 1-|\n  d: [\n", True),  # far from where it is noticed
        ("a: 'b'\na|-c: 1-|\n  d: [\n", False),
        ("a: 'b'\nA|- c: 1-|\n  d: [\n", False),
        ("a: 1\nMORE-LINES_1\nb: 2\n", True),
        ("a: 1\nMORE-LINES\nb: 2\n", False),  # says nothing of being a name
    ],
)
def test_names_that_a_script_puts_lines_for_make_a_template(text: str, signs: bool) -> None:
    assert is_template(text, 3) is signs


def test_a_name_with_a_default_is_no_key_of_an_object() -> None:
    """A script puts the whole line there, so that the other keys are what they are."""
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n"
        "    OWN_IMAGE|-image: b:1-|\n    resources: {limits: {nvidia.com/gpu: GPUS}}\n"
    )

    assert alarms({"pod.yaml": pod.replace("GPUS", "1")}) == []
    (found,) = alarms({"pod.yaml": pod.replace("GPUS", "0.5")})
    assert found[1] == "GPU1114"


def test_a_name_alone_is_one_only_where_yaml_does_not_take_it() -> None:
    assert value_of("a: b\n  MORE_LINES\nc: |\n  MORE_LINES\n") == {
        "a": "b MORE_LINES",
        "c": "MORE_LINES\n",
    }


def test_lines_that_helm_indents_further_than_they_stand_leave_the_document_unread() -> None:
    """They are keys of another mapping, of which it is not known that it may have more."""
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  {{- toYaml .x | nindent 6 }}\nspec:\n"
        "  containers:\n  - {name: a, image: b, resources: {limits: {nvidia.com/gpu: 0.5}}}\n"
    )

    assert alarms({"pod.yaml": text}) == []


CONDITIONS = (
    ("{{- if .Values.more }}", "{{- end }}"),
    ("{{ range .Values.all }}", "{{ else }}\n{{ end }}"),
    ("{% if more %}", "{% endif %}"),
    ("%{ for each in all ~}", "%{ endfor ~}"),
    ("{{#if MORE}}", "{{/if}}"),
    ("<% if more %>", "<% end %>"),
)


def enclosed(lines: list[str], number: int) -> int:
    """The line after the last one that belongs to the key or item of a line."""
    least = len(lines[number]) - len(lines[number].lstrip(" "))
    for later in range(number + 1, len(lines)):
        indent = len(lines[later]) - len(lines[later].lstrip(" "))
        if lines[later].strip() and indent <= least:
            return later
    return len(lines)


def test_conditions_around_any_key_of_a_right_file_bring_no_finding() -> None:
    """What they enclose may be there, may be missing, and may be there several times."""
    by_name = {case.name: case for case in lint_corpus.cases()}
    chosen = lines_among_keys()
    if len(chosen) > MOST // 2:
        chosen = random.Random(20261129).sample(chosen, MOST // 2)  # noqa: S311
    wrong = []
    for case, name, number, indent in chosen:
        lines = by_name[case].files[name].split("\n")
        before, after = CONDITIONS[number % len(CONDITIONS)]
        lines.insert(enclosed(lines, number), indent + after)
        lines.insert(number, before)
        if found := alarms({**by_name[case].files, name: "\n".join(lines)}):
            wrong.append((case, name, number, found))

    assert wrong == []


@pytest.mark.parametrize(("before", "after"), CONDITIONS)
def test_what_stands_beside_conditions_is_judged_and_what_they_enclose_is_not(
    before: str, after: str
) -> None:
    text = (
        "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: gpu}\nspec:\n"
        f"  role: nodes\n{before}\n  kubelet: {{maxPodz: 1}}\n  {after}\n{before}\n  userDatum: a\n"
        f"{after}\n  amiSelectorTerms: [{{alias: bottlerocket@latest}}]\n"
    )

    (found,) = alarms({"class.yaml": text})

    assert found[2].startswith("bottlerocket@latest is another image")


@pytest.mark.parametrize(("before", "after"), CONDITIONS)
def test_a_document_that_may_not_be_there_is_judged_by_itself(before: str, after: str) -> None:
    """Of what others need it is not known whether it gives that; nor does it need others."""
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n"
        "    image: b\n    resources: {limits: {nvidia.com/gpu: GPUS}}\n"
    )
    pool = (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: gpu}\nspec:\n  limits: "
        "{nvidia.com/gpu: 4}\n  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 1m}"
        "\n  template:\n    spec:\n      nodeClassRef: {group: karpenter.k8s.aws, kind: "
        "EC2NodeClass, name: gpu}\n      requirements: [{key: node.kubernetes.io/instance-type, "
        "operator: In, values: [g5.xlarge]}]\n"
    )

    assert alarms({"pod.yaml": f"{before}\n---\n{pod.replace('GPUS', '2')}{after}\n"}) == []
    both = {"pod.yaml": f"{before}\n{pod.replace('GPUS', '2')}{after}\n", "pool.yaml": pool}
    assert alarms(both) == []
    (found,) = alarms({"pod.yaml": f"{before}\n{pod.replace('GPUS', '0.5')}{after}\n"})
    assert found[0] == "pod.yaml"


@pytest.mark.parametrize(
    "lines",
    [
        "  a: 1\n{{- end }}\n",  # closes what was not opened
        "{{- if .x }}\n  a: 1\n",  # is not closed
        "{{- if .x }}\n    a: 1\n  b: 2\n{{- end }}\n",  # of two mappings
        "{{- if .x }}\n  a: 1\n  - b\n{{- end }}\n",  # a key and an item
        "{{- else }}\n  a: 1\n",
        "  a: {{ if .x }}\n",
    ],
)
def test_conditions_that_enclose_no_whole_keys_leave_the_document_unread(lines: str) -> None:
    text = (
        f"apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nspec:\n{lines}"
        "  amiSelectorTerms: [{alias: bottlerocket@latest}]\n"
    )

    assert alarms({"class.yaml": text}) == []


@pytest.mark.parametrize("line", ["{{- if .x }}\n  a: 1\n  {{- end }}", "${more}"])
def test_nothing_is_written_into_a_template(line: str) -> None:
    text = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:\n  {line}\n  b: 2\n"

    for document in read_texts(text, "pod.yaml", outlines=True).documents:
        assert not document.editable


MANIFEST = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f'kubectl create ns a\necho "\n{MANIFEST}" | kubectl apply -f -\ncurl -k https://a\n', 1),
        (f'echo "\n{MANIFEST}" |kubectl apply -f -\nhelm list\nx\n', 1),
        (f"{MANIFEST}---\ncurl -k a: b: c\n---\nkubectl get: x: y\n", 1),
        (f"kubectl apply -f a.yaml\n{MANIFEST}", 0),  # which may be a mistake
        (f"{MANIFEST}  kubectl a: b\n  helm c: d\n", 0),
    ],
)
def test_commands_in_a_file_that_is_called_yaml_are_no_yaml(text: str, code: int) -> None:
    (report,) = lint_files([GivenFile("a.yaml", text)])

    assert {each.code for each in report.findings} == {f"GPU100{code}"}
