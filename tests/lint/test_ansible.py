"""Tasks of Ansible that install charts and make objects."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.lint.readers.ansible import AnsibleReader
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from eks_gpushare.manifests.document import Read

TASKS = """\
- name: the configurations
  kubernetes.core.k8s:
    state: present
    definition:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: sharing, namespace: gpu}
      data:
        shared: |
          version: v1
          sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
        none: "version: v1"
- name: the plugin
  kubernetes.core.helm:
    name: plugin
    chart_ref: nvdp/nvidia-device-plugin
    chart_version: 0.18.0
    release_namespace: gpu
    values:
      config: {name: sharing, default: DEFAULT}
      nfd: {enabled: false}
"""
PLAY = "- hosts: localhost\n  tasks:\n"


def within(tasks: str, before: str = PLAY) -> str:
    return before + "".join(f"    {line}\n" for line in tasks.splitlines())


def codes(text: str) -> list[str]:
    (file,) = lint_files([GivenFile("tasks/main.yml", text)])
    return [each.code for each in file.findings if each.severity != "info"]


@pytest.mark.parametrize("text", [TASKS, within(TASKS), within(TASKS, "- block:\n")])
def test_a_chart_and_the_configurations_that_it_names(text: str) -> None:
    assert codes(text.replace("DEFAULT", "shared")) == []
    assert codes(text.replace("DEFAULT", "shares")) == ["GPU1122"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- name: the plugin", "- name: the plugin\n  when: gpus | bool"),
        ("- name: the configurations", "- name: the configurations\n  loop: '{{ names }}'"),
        ("    name: plugin", "    name: plugin\n    release_state: absent"),
        ("state: present", "state: absent"),
        ("kubernetes.core.helm:", "kubernetes.core.helm_info:"),
        ("    chart_version", "    set_values: [{value: config.default=none}]\n    chart_version"),
        ("nvdp/nvidia-device-plugin", "./charts/nvidia-device-plugin"),
    ],
)
def test_what_may_not_be_done_so_says_nothing_of_the_rest(before: str, after: str) -> None:
    text = TASKS.replace("DEFAULT", "shares").replace(before, after, 1)

    assert "GPU1122" not in codes(text)


OF_FILES = """\
- kubernetes.core.helm:
    name: plugin
    chart_ref: nvdp/nvidia-device-plugin
    release_namespace: gpu
    values_files: ["{{ role_path }}/files/nvidia-device-plugin.yaml"]
"""
ASKING = """\
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: a}
spec: {containers: [{name: a, image: a:1, resources: {limits: {nvidia.com/gpu: 1}}}]}
"""
IN_OTHER = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sharing, namespace: SPACE}\ndata: {a: b}"
)


@pytest.mark.parametrize(
    ("condition", "space", "wrong"),
    [
        ("", "kube-system", True),
        ("  when: gpus | bool\n", "kube-system", True),
        ("  when: gpus | bool\n", "gpu", False),
        ("  when: gpus | bool\n  loop: [a, b]\n", "kube-system", False),
        ("    values: {gfd: {enabled: true}}\n  when: gpus | bool\n", "kube-system", False),
    ],
)
def test_files_of_values_go_where_a_chart_goes_if_it_does(
    condition: str, space: str, *, wrong: bool
) -> None:
    files = {
        "roles/gpu/tasks/main.yml": OF_FILES + condition,
        "roles/gpu/files/nvidia-device-plugin.yaml": "config: {name: sharing, default: a}\n",
        "roles/gpu/files/map.yaml": IN_OTHER.replace("SPACE", space),
        "apps/pod.yaml": ASKING,
    }
    reports = lint_files([GivenFile(name, text) for name, text in files.items()])
    told = [each.code for report in reports for each in report.findings if each.severity != "info"]

    assert ("GPU1120" in told) is wrong


def test_its_own_values_go_over_those_of_files() -> None:
    files = TASKS.replace("    chart_version", "    values_files: [own.yaml]\n    chart_version")

    assert codes(files.replace("DEFAULT", "shares")) == ["GPU1122"]
    assert codes(files.replace("DEFAULT", "shared")) == []


def test_a_place_is_told() -> None:
    (file,) = lint_files([GivenFile("tasks/main.yml", TASKS.replace("DEFAULT", "shares"))])
    (placed,) = [each for each in file.found if each.finding.code == "GPU1122"]

    assert placed.finding.path == '[1]["kubernetes.core.helm"].values.config.default'
    assert placed.position is not None
    assert TASKS.splitlines()[placed.position.line - 1].strip().startswith("config:")


def read(text: str) -> Read:
    (document,) = read_texts(text, "main.yml").documents
    assert AnsibleReader().matches(document)
    return AnsibleReader().read(document)


@pytest.mark.parametrize(
    ("given", "name", "namespace", "values"),
    [
        ("{name: a, namespace: b, values: {c: d}}", "a", "b", {"c": "d"}),
        ("{release_name: a, release_namespace: b, release_values: {c: d}}", "a", "b", {"c": "d"}),
        ("{name: '{{ a }}', values: '{{ b }}'}", UNKNOWN, UNKNOWN, UNKNOWN),
        ("{name: a}", "a", UNKNOWN, {}),
        ("{name: a, set_values: [{value: a=b}]}", "a", UNKNOWN, UNKNOWN),
    ],
)
def test_what_a_release_is(given: str, name: Any, namespace: Any, values: Any) -> None:
    text = f"- helm: {{chart_ref: nvidia/gpu-operator, chart_version: v25.3.4, {given[1:]}\n"
    (item,) = read(text).items

    assert isinstance(item, Release)
    assert (item.name, item.namespace, item.values) == (name, namespace, values)
    assert (item.chart, item.version) == ("gpu-operator", "v25.3.4")


POD = "{apiVersion: v1, kind: Pod, metadata: {name: a}}"


@pytest.mark.parametrize(
    ("task", "spaces"),
    [
        (f"k8s: {{definition: {POD}}}", [None]),
        (f"k8s: {{definition: {POD}, namespace: b}}", ["b"]),
        (f"k8s: {{definition: {POD}, namespace: '{{{{ b }}}}'}}", [UNKNOWN]),
        (f"k8s: {{definition: [{POD}, {POD}]}}", [None, None]),
        (f"community.okd.k8s: {{resource_definition: {POD}}}", [None]),
        (f"k8s: {{definition: {POD.replace('a}', 'a, namespace: c}')}, namespace: b}}", ["c"]),
        (f'k8s: {{definition: "{POD}"}}', [None]),
        ("k8s: {definition: \"{{ lookup('template', 'a.yaml') }}\"}", []),
        ("k8s: {src: a.yaml}", []),
        (f"k8s: {{definition: {POD}, state: absent}}", []),
    ],
)  # fmt: skip
def test_the_objects_of_a_task(task: str, spaces: list[Any]) -> None:
    made = read(f"- {task}\n").inner

    assert [each.value["metadata"].get("namespace") for each in made] == spaces


RAW = "{resources: [{apiVersion: v1, kind: Pod}]}"


@pytest.mark.parametrize(
    ("given", "count"),
    [
        (f"{{chart_ref: raw, values: {RAW}}}", 1),
        (f"{{chart_ref: raw, values: {RAW}, values_files: [a]}}", 0),
        ("{chart_ref: raw, values: {a: b}}", 0),
        ("{chart_ref: raw}", 0),
    ],
)
def test_values_of_charts_of_others(given: str, count: int) -> None:
    made = read(f"- helm: {given}\n")

    assert (list(made.items), len(made.inner)) == ([], count)


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        (f"- k8s: {{definition: {POD}}}\n", True),
        (f"- k8s: {{definition: {POD}}}\n  when: a\n", False),
        (f"- when: a\n  block:\n    - k8s: {{definition: {POD}}}\n", False),
        (f"- rescue:\n    - k8s: {{definition: {POD}}}\n", False),
        (f"- hosts: a\n  handlers:\n    - k8s: {{definition: {POD}}}\n", False),
        (f"- hosts: a\n  post_tasks:\n    - block:\n        - k8s: {{definition: {POD}}}\n", True),
    ],
)
def test_whether_a_task_is_surely_done(text: str, *, sure: bool) -> None:
    (made,) = read(text).inner

    assert bool(made.alone) is not sure


@pytest.mark.parametrize(
    "text", ["a: b\n", "- a\n", "- {name: a, apt: {name: b}}\n", "- {helm: install}\n", "[]\n"]
)
def test_what_is_no_task_of_a_cluster(text: str) -> None:
    (document,) = read_texts(text, "main.yml").documents

    assert not AnsibleReader().matches(document)


def test_blocks_have_an_end() -> None:
    task: Any = {"k8s": {"definition": {"apiVersion": "v1", "kind": "Pod", "metadata": {}}}}
    for depth in range(9):
        task = {"block": [task]}
        (document,) = read_texts("[]", "main.yml").documents
        found = AnsibleReader().read(replace(document, value=[task])).inner
        assert len(found) == (depth < 6)


LOOPED = """\
- hosts: localhost
  vars:
    layouts: {ada: one, bea: two}
    names: [ada, bea]
    nested: [{name: ada, labels: {pool: one}}]
    partly: [ada, "{{ other }}"]
  tasks:
    - kubernetes.core.k8s:
        state: patched
        kind: Node
        name: "{{ NAME }}"
        definition:
          metadata:
            labels: {pool: "VALUE", kinds: ["{{ NAME }}"]}
      LOOP
"""


def nodes_of(loop: str, name: str, value: str) -> list[tuple[Any, Any]]:
    """Names and labels of nodes that a task is known to label."""
    text = LOOPED.replace("LOOP", loop).replace("NAME", name).replace("VALUE", value)
    (document,) = read_texts(text, "play.yml").documents
    found = AnsibleReader().read(document).inner
    values = [each.value for each in found if not each.alone]
    assert all((each["apiVersion"], each["kind"]) == ("v1", "Node") for each in values)
    return [(each["metadata"]["name"], each["metadata"]["labels"]["pool"]) for each in values]


BOTH = [("ada", "one"), ("bea", "two")]


@pytest.mark.parametrize(
    ("loop", "name", "value", "nodes"),
    [
        ('loop: "{{ layouts | dict2items }}"', "item.key", "{{ item.value }}", BOTH),
        ('with_dict: "{{ layouts }}"', "item.key", "{{ item.value }}", BOTH),
        ("with_dict: {ada: one, bea: two}", "item.key", "{{item.value}}", BOTH),
        ('loop: "{{names}}"', "item", "of {{ item }}", [("ada", "of ada"), ("bea", "of bea")]),
        ("with_items: [ada, bea]", "item", "all", [("ada", "all"), ("bea", "all")]),
        ('loop: "{{ nested }}"', "item.name", "{{ item.labels.pool }}", [("ada", "one")]),
        ('loop: "{{ nested }}"', "item.name", "{{ item.labels }}", [("ada", UNKNOWN)]),
        ('loop: "{{ nested }}"', "item.other", "{{ other }}", [(UNKNOWN, UNKNOWN)]),
        ('loop: "{{ names | sort }}"', "item", "all", []),
        ('loop: "{{ layouts }}"', "item", "all", []),
        ('loop: "{{ partly }}"', "item", "all", []),
        ('loop: "{{ unknown }}"', "item", "all", []),
        ("loop: []", "item", "all", []),
        ("with_fileglob: [a]", "item", "all", []),
        ("loop: [ada]\n      when: chosen", "item", "all", []),
        ("loop: [ada]\n      until: done", "item", "all", []),
        ("", "unknown", "all", [(UNKNOWN, "all")]),
    ],
)
def test_a_loop_over_what_the_play_says_is_done_for_each(
    loop: str, name: str, value: str, nodes: list[tuple[Any, Any]]
) -> None:
    assert nodes_of(loop, name, value) == nodes


@pytest.mark.parametrize("key", ["context", "kubeconfig", "host"])
def test_a_loop_over_clusters_is_not_followed(key: str) -> None:
    loop = "loop: [ada, bea]"
    each = f'kind: Node\n        {key}: "{{{{ item }}}}"'
    text = LOOPED.replace("LOOP", loop).replace("kind: Node", each)
    (document,) = read_texts(text, "play.yml").documents

    assert all(found.alone for found in AnsibleReader().read(document).inner)


def test_of_too_many_things_and_of_charts_a_loop_is_not_followed() -> None:
    many = ", ".join(map(str, range(101)))
    chart = "- {helm: {chart_ref: nvdp/nvidia-device-plugin, values: {}}, loop: [a, b]}\n"
    (document,) = read_texts(chart, "tasks.yml").documents

    assert len(nodes_of(f"loop: [{many[:-5]}]", "item", "all")) == 100
    assert nodes_of(f"loop: [{many}]", "item", "all") == []
    assert [bool(each.source.document.alone) for each in AnsibleReader().read(document).items] == [
        True
    ]


@pytest.mark.parametrize(
    ("more", "made"),
    [
        ("kind: Node, name: a", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}),
        ("kind: Node", {"apiVersion": "v1", "kind": "Node", "metadata": {}}),
        (
            "kind: Job, api_version: batch/v1, namespace: b, name: a",
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "namespace": "b"}},
        ),
        ("name: a", {}),
    ],
)
def test_a_part_of_an_object_has_what_the_task_says_of_it(more: str, made: Any) -> None:
    text = f"- k8s: {{{more}, definition: {{}}}}\n"
    (document,) = read_texts(text, "tasks.yml").documents

    assert [each.value for each in AnsibleReader().read(document).inner] == [made]


def test_an_objects_own_kind_and_name_are_its_own() -> None:
    own = "{apiVersion: v2, kind: Own, metadata: {name: own}}"
    text = f"- k8s: {{kind: Node, name: a, definition: {own}}}\n"
    parts = "- k8s: {kind: Node, name: a, definition: {metadata: {name: own}}}\n"
    values = [
        each.value
        for given in (text, parts)
        for document in read_texts(given, "tasks.yml").documents
        for each in AnsibleReader().read(document).inner
    ]

    assert [(each["kind"], each["metadata"]["name"]) for each in values] == [
        ("Own", "own"),
        ("Node", "own"),
    ]


@pytest.mark.parametrize("condition", ["", "  when: gpus | bool\n"])
def test_a_chart_of_files_may_not_be_there_where_its_task_has_a_condition(condition: str) -> None:
    (document,) = read_texts(OF_FILES + condition, "roles/gpu/tasks/main.yml").documents
    (item,) = AnsibleReader().read(document).items

    assert item.source.is_optional is bool(condition)
