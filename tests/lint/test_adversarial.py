"""Right files in unusual dress are read right; broken ones are refused with one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from lint_corpus import found_in

from eks_gpushare.inventory.edges import EDGES
from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.registry import Edge
from eks_gpushare.lint.reading import Reading
from eks_gpushare.manifests.checks import CHECKS
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.lint.report import FileReport

PLAIN = """\
apiVersion: v1
kind: Pod
metadata:
  name: p
  namespace: ml
spec:
  containers:
    - name: c
      image: registry.example.com/c:1
      resources:
        limits:
          nvidia.com/gpu: 1
"""
HEAD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ml}\n"
ONE = "{name: c, image: 'r.example.com/c:1', resources: {limits: {nvidia.com/gpu: 1}}}"
LONG = "x" * 5000

DRESSED = {
    "plain": PLAIN,
    "crlf": PLAIN.replace("\n", "\r\n"),
    "byte order mark": f"\ufeff{PLAIN}",
    "no end of line": PLAIN.rstrip("\n"),
    "blanks at ends": PLAIN.replace("\n", "   \n"),
    "comments at ends": PLAIN.replace("\n", " # why\n"),
    "comments between": PLAIN.replace("\n", "\n# between: {[\n"),
    "blank lines": PLAIN.replace("\n", "\n\n\n"),
    "start and end": f"---\n{PLAIN}...\n",
    "start with comment": f"--- # first\n{PLAIN}",
    "directive": f"%YAML 1.2\n---\n{PLAIN}",
    "empty documents around": f"---\n---\n# none\n---\n{PLAIN}---\n",
    "flow": f"{HEAD}spec: {{containers: [{ONE}]}}\n",
    "flow over lines": f"{HEAD}spec: {{\n  containers: [\n    {ONE}\n  ]\n}}\n",
    "flow with commas at ends": f"{HEAD}spec: {{containers: [{ONE},],}}\n",
    "json": '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ml"},'
    '"spec": {"containers": [{"name": "c", "image": "r.example.com/c:1",'
    '"resources": {"limits": {"nvidia.com/gpu": 1}}}]}}',
    "json with tabs": '{\n\t"apiVersion": "v1",\n\t"kind": "Pod",\n\t"metadata": {"name": "p"},\n'
    '\t"spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}\n'
    "}\n",
    "quoted keys": PLAIN.replace("nvidia.com/gpu", '"nvidia.com/gpu"').replace("kind", "'kind'"),
    "quoted number": PLAIN.replace("gpu: 1", 'gpu: "1"'),
    "escaped": PLAIN.replace("gpu: 1", 'gpu: "\\x31"'),
    "plus sign": PLAIN.replace("gpu: 1", 'gpu: "+1"'),
    "key with question mark": PLAIN.replace("nvidia.com/gpu: 1", "? nvidia.com/gpu\n          : 1"),
    "anchored number": PLAIN.replace("gpu: 1", "gpu: &n 1").replace("name: c", "name: c  # &n"),
    "alias": PLAIN.replace(
        "limits:", "requests: &r {nvidia.com/gpu: 1}\n        limits: *r #"
    ).replace("          nvidia.com/gpu: 1\n", ""),
    "merge key": f"{HEAD}spec:\n  containers:\n    - &c {ONE}\n    - {{<<: *c, name: d}}\n",
    "merge of a list": f"{HEAD}x: [&a {{name: c}}, &b {{image: i:1}}]\n"
    "spec: {containers: [{<<: [*a, *b], resources: {limits: {nvidia.com/gpu: 1}}}]}\n",
    "list not indented": PLAIN.replace("    - name: c", "  - name: c").replace(
        "\n      ", "\n    "
    ),
    "deep indentation": f"{HEAD}spec:\n         containers:\n                 -      {ONE}\n",
    "tabs in a text": f"{HEAD}data: |\n  one\n  \ttwo\t\nspec: {{containers: [{ONE}]}}\n",
    "tab before a comment": PLAIN.replace("kind: Pod", "kind: Pod\t# tab"),
    "folded text": PLAIN.replace(
        "  namespace: ml", "  annotations:\n    a: >-\n      b\n      c\n  namespace: ml"
    ),
    "text with a colon": PLAIN.replace(
        "  namespace: ml", "  annotations:\n    a: |+\n      b: c\n      - d\n\n  namespace: ml"
    ),
    "text that looks like a mark": PLAIN.replace(
        "  namespace: ml", "  annotations:\n    a: |\n      ---\n      kind: Pod\n  namespace: ml"
    ),
    "long line": PLAIN.replace("  namespace: ml", f"  annotations: {{a: {LONG}}}\n  namespace: ml"),
    "many annotations": PLAIN.replace(
        "  namespace: ml",
        "  annotations:\n" + "".join(f"    k{n}: v\n" for n in range(500)) + "  namespace: ml",
    ),
    "not ascii": PLAIN.replace(
        "  namespace: ml", "  annotations: {a: 'gr\u00fc\u00df \U0001f600'}\n  namespace: ml"
    ),
    "word no": PLAIN.replace(
        "  namespace: ml", "  annotations: {a: 'no', b: 'on'}\n  namespace: ml"
    ),
    "null values": PLAIN.replace("  namespace: ml", "  annotations:\n  labels: ~\n  namespace: ml"),
    "status too": f"{PLAIN}status: {{phase: Running, conditions: []}}\n",
    "managed fields": PLAIN.replace(
        "  namespace: ml", "  managedFields: [{fieldsV1: {'f:spec': {}}}]\n  namespace: ml"
    ),
    "list of one": "apiVersion: v1\nkind: List\nitems:\n"
    + "".join(f"{'- ' if n == 0 else '  '}{line}\n" for n, line in enumerate(PLAIN.splitlines())),
    "kustomize's header": f"# Source: chart/templates/pod.yaml\n{PLAIN}",
    "windows separator": f"---\r\n{PLAIN.replace(chr(10), chr(13) + chr(10))}---\r\n",
    "explicit string": PLAIN.replace("gpu: 1", "gpu: !!str 1"),
}
"""The same pod, or one that asks for as much."""


def workloads_of(text: str) -> tuple[list[Workload], FileReport]:
    seen: list[Inventory] = []

    def look(inventory: Inventory) -> Iterator[Judgement]:
        seen.append(inventory)
        return iter(())

    reading = Reading()
    reading.add(GivenFile("pod.yaml", text))
    reading.judge((*EDGES, *CHECKS, Edge((), look)))
    found = list(seen[0].of(Workload)) if seen else []  # of nothing nothing is asked
    return found, reading.reports()[0]


@pytest.mark.parametrize("name", DRESSED)
def test_it_is_read_as_it_is(name: str) -> None:
    workloads, report = workloads_of(DRESSED[name])
    (pod,) = workloads
    first = pod.spec["containers"][0]  # type: ignore[index]
    assert str(first["resources"]["limits"]["nvidia.com/gpu"]).lstrip("+") == "1"
    assert [each.finding for each in report.found if each.finding.severity != "info"] == []


@pytest.mark.parametrize("name", DRESSED)
def test_a_mistake_in_it_is_found_all_the_same(name: str) -> None:
    text = DRESSED[name]
    wrong = text.replace("nvidia.com/gpu", "nvidia.com/gpus")
    found = {each.code for each in found_in({"pod.yaml": wrong})}
    assert "GPU1204" in found


BROKEN = {
    "tab as indentation": PLAIN.replace("  name: p", "\tname: p"),
    "open bracket": f"{HEAD}spec: {{containers: [{ONE}\n",
    "open brace": f"{HEAD}spec: {{containers: []\n",
    "closed too often": f"{HEAD}spec: {{containers: []}}}}\n",
    "open quote": PLAIN.replace("name: c", "name: 'c"),
    "open double quote": PLAIN.replace("name: c", 'name: "c'),
    "bad escape": PLAIN.replace("name: c", 'name: "\\q"'),
    "unknown alias": PLAIN.replace("name: c", "name: *nowhere"),
    "two values": PLAIN.replace("kind: Pod", "kind: Pod: Pod"),
    "dedent": PLAIN.replace("  containers:", " containers:").replace("spec:", "spec:\n   a: 1"),
    "list in a mapping": PLAIN.replace("  namespace: ml", "  - namespace: ml"),
    "mapping in a list": PLAIN.replace("      image:", "    image:"),
    "reserved sign": PLAIN.replace("name: c", "name: @c"),
    "backtick": PLAIN.replace("name: c", "name: `c`"),
    "percent": PLAIN.replace("name: c", "name: %c"),
    "lonely star": PLAIN.replace("name: c", "name: *"),
    "lonely ampersand": PLAIN.replace("name: c", "name: &"),
    "key without value in flow": f"{HEAD}spec: {{containers: [{{name: c image: d}}]}}\n",
    "missing comma": f"{HEAD}spec: {{containers: [{ONE} {ONE}]}}\n",
    "text not indented": f"{HEAD}data: |\nnot indented\nspec: {{}}\n",
    "control character": PLAIN.replace("name: c", "name: c\x07"),
    "null character": PLAIN.replace("name: c", "name: \x00"),
    "lone surrogate": PLAIN.replace("name: c", "name: \ud800"),
    "second directive": f"%YAML 1.2\n%YAML 1.2\n---\n{PLAIN}",
    "directive in the middle": f"{PLAIN}%YAML 1.2\n---\n{PLAIN}",
    "conflict marks": PLAIN.replace(
        "  name: p\n", "<<<<<<< HEAD\n  name: p\n=======\n  name: q\n>>>>>>> b\n"
    ),
    "diff": f"--- a/pod.yaml\n+++ b/pod.yaml\n@@ -1 +1 @@\n-{PLAIN}",
    "json cut off": '{"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [',
    "json with a stray comma": '{"apiVersion": "v1",, "kind": "Pod"}',
    "json with single brace": '{"apiVersion": "v1"}}',
    "three values": PLAIN.replace("name: c", "name: c: d: e"),
    "quote in a quote": PLAIN.replace("name: c", "name: 'it's'"),
    "self reference": f"{HEAD}spec: &s {{containers: [*s]}}\n",
    "bomb": "a: &a [x, x, x, x, x, x, x, x, x]\n"
    + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
    ),
    "depth": "[" * 3000,
    "depth of mappings": "{a: " * 3000,
    "depth of blocks": "".join(f"{' ' * n}a:\n" for n in range(1500)),
    "question mark alone": PLAIN.replace("name: c", "? ? ?: {"),
    "complex key": PLAIN.replace("name: c", "{a: b}: c\n      [d]: e\n      name: c: d"),
    "only an anchor and a star": "&a *a\n",
}


@pytest.mark.parametrize("name", BROKEN)
def test_it_is_refused_with_one_sentence(name: str) -> None:
    _, report = workloads_of(BROKEN[name])
    errors = [each.finding for each in report.found if each.finding.severity == "error"]
    assert len(errors) == 1, [each.message for each in errors]
    assert errors[0].code in {"GPU1000", "GPU1002", "GPU1004"}
    assert errors[0].message.endswith(".")
    assert len(errors[0].message) < 300
    assert errors[0].fix
    assert "Traceback" not in errors[0].message


def test_tags_make_nothing() -> None:
    """Such as CloudFormation's; Python's are never obeyed."""
    tagged = PLAIN.replace("name: c", "name: !!python/object/apply:os.system [id]")
    workloads, report = workloads_of(tagged.replace("image: ", "image: !Sub "))
    first = workloads[0].spec["containers"][0]  # type: ignore[index]
    assert first["name"] == ["id"]
    assert report.ok


def test_there_are_forty_of_each() -> None:
    assert len(DRESSED) >= 40
    assert len(BROKEN) >= 40
