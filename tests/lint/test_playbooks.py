"""What files of Ansible say of each other's tasks: values of variables, roles on conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from linted import found

from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.ansible_variables import has_tasks, is_of_ansible, names_in
from eks_gpushare.lint.dispatch import read_files
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from tests.conftest import Run

TASKS = """\
- name: the plugin
  kubernetes.core.helm:
    name: plugin
    chart_ref: nvdp/nvidia-device-plugin
    chart_version: "{{ of_plugin.version }}"
    release_namespace: gpu
    kubeconfig: "{{ kubeconfig }}"
    values: "{{ plugin_values }}"
"""
VALUES = """\
kubeconfig: of-ours
of_plugin:
  version: v0.18.0
  replicas: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
plugin_values:
  nfd: {enabled: false}
  config:
    default: "{{ of_plugin.default }}"
    map: {none: "version: v1"}
"""
PLAY = "- hosts: localhost\n  vars:\n" + "".join(f"    {line}\n" for line in VALUES.splitlines())
DEFAULTS = "roles/gpu/defaults/main.yml"


def plugin(files: dict[str, str], tasks: str = TASKS) -> Any:
    given = {"roles/gpu/tasks/main.yml": tasks, **files}
    reading = read_files(GivenFile(*each) for each in given.items())
    (release,) = (each for each in reading.items if isinstance(each, Release))
    return release


@pytest.mark.parametrize(
    "files",
    [
        {DEFAULTS: VALUES},
        {"roles/gpu/vars/main.yaml": VALUES},
        {"inventory/group_vars/all/gpu.yml": VALUES},
        {"host_vars/localhost.yml": VALUES},
        {"site.yml": PLAY + "  roles: [gpu]\n"},
        {DEFAULTS: VALUES, "site.yml": "- hosts: all\n  roles: [gpu]\n"},
        {DEFAULTS: f"# plugin_values: none\n{VALUES}", "README.md": "    plugin_values: {}\n"},
        {DEFAULTS: VALUES, "apps/values.yaml": "a:\n  plugin_values: {}\n"},
        {DEFAULTS: VALUES, "apps/up.sh": "plugin_values: {}\n"},
        {DEFAULTS: VALUES, "up.sh": "# ansible-playbook -e @a.yml\nansible-playbook site.yml\n"},
        {DEFAULTS: VALUES, "apps/up.sh": "docker run -e @a b\n"},
    ],
)
def test_what_one_file_alone_gives_is_so(files: dict[str, str]) -> None:
    release = plugin(files)

    assert release.version == "v0.18.0"
    assert release.values["nfd"] == {"enabled": False}
    assert release.values["config"] == {"default": UNKNOWN, "map": {"none": "version: v1"}}


@pytest.mark.parametrize(
    "more",
    [
        {"group_vars/gpu.yml": "plugin_values: {}\n"},
        {"site.yml": "- hosts: all\n  vars: {plugin_values: {}}\n  roles: [gpu]\n"},
        {"site.yml": "- hosts: all\n  roles: [{role: gpu, plugin_values: {nfd: {}}}]\n"},
        {"roles/gpu/tasks/facts.yml": "- set_fact:\n    plugin_values: {}\n"},
        {"roles/gpu/tasks/facts.yml": "- command: get\n  register: plugin_values\n"},
        {"roles/gpu/tasks/facts.yml": "- include_vars: {file: a.yml, name: plugin_values}\n"},
        {"up.sh": "ansible-playbook site.yml -e plugin_values=$VALUES\n"},
        {"up.sh": "ansible-playbook site.yml -e @envs/$1.yml\n"},
        {"up.sh": 'ansible-playbook site.yml -e "$MORE"\n'},
        {"Makefile": "up:\n\tansible-playbook site.yml --extra-vars '@envs/ours.yml'\n"},
        {"README.md": "    ansible-playbook site.yml --extra-vars=@envs/ours.yml\n"},
        {"site.yml": "- hosts: all  # ansible\n  vars_files: [ours.yml]\n"},
        {"roles/gpu/tasks/facts.yml": "- ansible.builtin.include_vars: {dir: ours}\n"},
        {"envs/ours.yml": "plugin_values: {}\n"},
        {"envs/ours.yaml": "a: 1\n'plugin_values': {nfd: {}\n"},
        {DEFAULTS: VALUES.replace("plugin_values", "plugin_value")},
        {DEFAULTS: VALUES.replace("plugin_values:", "of:\n  plugin_values:")},
        {DEFAULTS: "plugin_values:\n"},
        {DEFAULTS: "plugin_values: '{{ plugin_values }}'\n"},
        {DEFAULTS: "plugin_values: '{{ others | default({}) }}'\n"},
        {DEFAULTS: "", "values/gpu.yml": VALUES},
        {DEFAULTS: "", "playbooks/gpu.yml": VALUES},
        {DEFAULTS: "", "roles/gpu/tasks/more.yml": PLAY.replace("hosts: localhost", "block: []")},
    ],
)
def test_what_several_give_or_none_is_not_known(more: dict[str, str]) -> None:
    assert plugin({DEFAULTS: VALUES, **more}).values is UNKNOWN


@pytest.mark.parametrize(
    ("written", "known"),
    [
        ("{{ plugin_values }}", True),
        ("{{- plugin_values -}}", True),
        ("{{ of_plugin.none }}", False),
        ("{{ of_plugin.version.none }}", False),
        ("{{ plugin_values | combine(more) }}", False),
        ("{{ plugin_values }}{{ more }}", False),
    ],
)
def test_a_name_is_known_that_is_all_of_a_value(written: str, *, known: bool) -> None:
    values = plugin({DEFAULTS: VALUES}, TASKS.replace("{{ plugin_values }}", written)).values

    assert (values is not UNKNOWN) is known


def test_names_within_values_are_known_too() -> None:
    tasks = TASKS.replace('"{{ plugin_values }}"', "{nfd: '{{ all }}', gfd: '{{ gfd }}'}")
    values = plugin({DEFAULTS: "all: '{{ of_nfd }}'\nof_nfd: {enabled: true}\n"}, tasks).values

    assert values == {"nfd": {"enabled": True}, "gfd": UNKNOWN}
    alone = plugin({DEFAULTS: "all: a\n"}, TASKS.replace("{{ plugin_values }}", "{{ all }}"))
    assert not alone.source.document.editable

    tasks = "- helm: {chart_ref: nvdp/nvidia-device-plugin, values: {nfd: '{{ all }}'}}\n"
    assert plugin({DEFAULTS: "all: {a: b}\n"}, tasks).values == {"nfd": {"a": "b"}}


def of_names(given: str) -> Any:
    return plugin({DEFAULTS: given}, TASKS.replace("plugin_values", "a0")).values


@pytest.mark.parametrize(
    "given",
    [
        "a0: '{{ a1 }}'\na1: '{{ a0 }}'\n",
        "a0: {b: '{{ a0 }}', c: d}\n",
        "a0: {b: '{{ a1 }}', c: d}\na1: [e, '{{ a2 }}']\na2: ['{{ a0 }}', '{{ a3 }}']\na3: f\n",
    ],
)
def test_a_name_that_is_made_of_itself_is_not_known(given: str) -> None:
    assert of_names(given) is UNKNOWN


def test_one_made_of_such_is_known_but_for_it() -> None:
    assert of_names("a0: {b: '{{ a1 }}', c: d}\na1: {e: '{{ a1 }}'}\n") == {"b": UNKNOWN, "c": "d"}


def test_names_of_many_names_are_known() -> None:
    given = "".join(f"a{n}: '{{{{ a{n + 1} }}}}'\n" for n in range(2000))

    assert of_names(f"{given}a2000: {{b: c}}\n") == {"b": "c"}


def levels(count: int) -> str:
    return "{b: " * count + "c" + "}" * count


@pytest.mark.parametrize(("more", "known"), [(0, True), (1, False)])
def test_names_are_known_to_sixty_levels(more: int, *, known: bool) -> None:
    """Three are those of the task, and one is what is innermost."""
    values = of_names(f"a0: {levels(28)[:-29]}'{{{{ a1 }}}}'{'}' * 28}\na1: {levels(28 + more)}\n")

    assert (values is UNKNOWN) is not known


@pytest.mark.parametrize(("things", "known"), [(4_997, True), (4_998, False)])
def test_names_are_known_that_stand_for_some_thousands(things: int, *, known: bool) -> None:
    values = of_names(f"a0: {{c: '{{{{ a1 }}}}'}}\na1: [{'b, ' * things}]\n")

    assert (values is not UNKNOWN) is known


def test_many_names_of_many_are_soon_known() -> None:
    """Twelve of each, seven times over, would be 36 million."""
    many = [", ".join(f"b{k}: '{{{{ a{n + 1} }}}}'" for k in range(12)) for n in range(7)]
    given = "".join(f"a{n}: {{{each}}}\n" for n, each in enumerate(many))
    values = of_names(f"{given}a7: 1\n")

    assert len(str(values)) < 200_000
    assert len(values) == 12


@pytest.mark.parametrize("loop", ["loop: [b]", "loop: [b]\n  loop_control: {loop_var: one}"])
def test_what_a_loop_is_over_is_no_variable(loop: str) -> None:
    name = "one" if "one" in loop else "item"
    tasks = TASKS.replace("plugin_values", name) + f"  {loop}\n"

    assert plugin({DEFAULTS: f"{name}: {{a: b}}\n"}, tasks).values is UNKNOWN


TASK = "- helm:\n    name: a\n"


@pytest.mark.parametrize(
    ("name", "text", "has_some"),
    [
        ("tasks/main.yml", TASK, True),
        ("any.YAML", TASK.replace("helm", "kubernetes.core.k8s"), True),
        ("any.yml", TASK.replace("helm", "apt"), False),
        ("any.yml", TASK.replace("- ", "  "), False),
        ("any.sh", TASK, False),
        ("README.md", TASK, False),
    ],
)
def test_a_file_has_tasks_of_clusters(name: str, text: str, *, has_some: bool) -> None:
    assert has_tasks(GivenFile(name, text)) is has_some


@pytest.mark.parametrize(
    ("name", "text", "is_one"),
    [
        ("tasks/main.yml", "", True),
        ("group_vars/all/any.YAML", "", True),
        ("any.yml", "- hosts: all\n", True),
        ("any.yml", "- name: a\n  hosts: all\n", True),
        ("any.yml", "ingress:\n  hosts: []\n", False),
        ("any.yml", "- name: a\n", False),
        ("tasks/any.sh", "- hosts: all\n", False),
        ("any.sh", "ansible-playbook any.yml\n", True),
        ("README.md", "ansible-playbook any.yml\n", False),
    ],
)
def test_a_file_of_ansible_may_give_values(name: str, text: str, *, is_one: bool) -> None:
    assert is_of_ansible(GivenFile(name, text)) is is_one


@pytest.mark.parametrize(
    ("name", "text", "names"),
    [
        ("any.yml", TASKS, ["kubeconfig", "plugin_values"]),
        ("vars/any.yml", "a: '{{ b }}'\n", ["b"]),
        ("any.yml", "a: '{{ b }}'\n", []),
        ("any.sh", "ansible-playbook '{{ b }}'\n", []),
    ],
)
def test_names_are_those_of_tasks_and_variables(name: str, text: str, names: list[str]) -> None:
    assert [each for each in names_in(GivenFile(name, text)) if each != "of_plugin"] == names


def test_variables_of_another_folder_are_read_with_the_tasks(run: Run, tmp_path: Path) -> None:
    wrong = VALUES.replace('"{{ of_plugin.default }}"', "shared")
    for name, text in {
        "roles/gpu/tasks/main.yml": TASKS,
        DEFAULTS: wrong,
        "a/b.yml": "a: 1",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    said = run("lint", "--no-config", str(tmp_path)).out

    assert "error GPU1122 at line 8" in said  # the task
    assert "defaults/main.yml" not in said


@pytest.mark.parametrize(
    ("name", "text", "is_told"),
    [
        ("envs/ours/gpu.yml", "a: 1\nb: 1\n", True),
        ("envs/ours/gpu.yml", "plugin_values: {}\n", False),
        ("envs/ours/gpu.yml", "of_map: {}\n", False),
        ("docs/README.md", "ansible-playbook -e @ours.yml\n", False),
    ],
)
def test_what_may_give_variables_is_held_against_tasks_from_wherever(
    run: Run, tmp_path: Path, name: str, text: str, *, is_told: bool
) -> None:
    wrong = VALUES.replace('"{{ of_plugin.default }}"', "shared")
    wrong = wrong.replace('{none: "version: v1"}', '"{{ of_map }}"') + "of_map: {none: a}\n"
    for each, told in {"roles/gpu/tasks/main.yml": TASKS, DEFAULTS: wrong, name: text}.items():
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / each).write_text(told)

    assert ("error GPU1122" in run("lint", "--no-config", str(tmp_path)).out) is is_told


MAPS = """\
- name: the configurations
  kubernetes.core.k8s:
    definition:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: sharing, namespace: gpu}
      data: {none: "version: v1"}
"""
NAMING_IT = """\
- name: the plugin
  kubernetes.core.helm:
    name: plugin
    chart_ref: nvdp/nvidia-device-plugin
    chart_version: 0.18.0
    release_namespace: gpu
    values: {nfd: {enabled: false}, config: {name: sharing, default: shared}}
"""


@pytest.mark.parametrize(
    ("site", "wrong"),
    [
        ("- hosts: all\n  roles: [gpu]\n", True),
        ("- hosts: all\n  roles: [{role: gpu, tags: x}]\n", True),
        ("- hosts: all\n  roles: [{role: gpu, when: has_gpus}]\n", False),
        ("- hosts: all\n  roles: [{name: of.gpu, when: has_gpus}]\n", False),
        ("- hosts: all\n  roles: [{role: other, when: has_gpus}]\n", True),
        ("- hosts: all\n  roles: [{role: tasks, when: has_gpus}]\n", True),
        ("- hosts: all\n  roles: [{role: gpu, when: a}]\n- hosts: b\n  roles: [gpu]\n", True),
        ("- hosts: all\n  tasks:\n  - include_role: {name: gpu}\n", True),
        ("- hosts: all\n  tasks:\n  - include_role: {name: gpu}\n    when: has_gpus\n", False),
        (
            "- hosts: a\n  tasks: [{when: b, block: [{ansible.builtin.import_role: {name: gpu}}]}]",
            False,
        ),
        ("- hosts: all\n  tasks:\n  - include_tasks: gpu/tasks/plugin.yml\n    when: a\n", False),
        ("- hosts: all\n  tasks:\n  - include_tasks: x/plugin.yml\n    when: a\n", True),
        ("- hosts: all\n  tasks:\n  - include_tasks: gpu\n    when: a\n", True),
        ("- hosts: all\n  tasks:\n  - include_role: {name: plugin.yml}\n    when: a\n", True),
        ("- hosts: all\n  roles: [{when: a}, {role: {a: b}, when: a}]\n", True),
        ("- hosts: all\n  tasks:\n  - import_tasks: {file: plugin.yml}\n    loop: [a]\n", False),
        ("- hosts: all\n  tasks:\n  - import_tasks: '{{ any }}'\n    when: a\n", True),
        ("- hosts: all\n  roles: {a: b}\n  tasks: [[], {include_role: []}]\n", True),
    ],
)
def test_of_a_role_on_a_condition_nothing_else_follows(site: str, *, wrong: bool) -> None:
    tasks = "roles/gpu/tasks"
    files = [(f"{tasks}/maps.yml", MAPS), (f"{tasks}/plugin.yml", NAMING_IT), ("site.yml", site)]

    assert ("GPU1122" in {each.code for each in found(files) if each.severity != "info"}) is wrong


@pytest.mark.parametrize(
    ("role", "taken", "wrong"),
    [
        ("gpu", "plugin.yml", False),
        ("gpu", "./plugin.yml", False),
        ("gpu", "../tasks/plugin.yml", False),
        ("gpu", "/tasks/plugin.yml", False),
        ("gpu", "more/plugin.yml", True),
        ("common", "plugin.yml", True),
        ("gpu-more", "plugin.yml", True),
    ],
)
def test_tasks_take_files_of_their_own_role(role: str, taken: str, *, wrong: bool) -> None:
    files = [
        ("roles/gpu/tasks/maps.yml", MAPS),
        ("roles/gpu/tasks/plugin.yml", NAMING_IT),
        (f"roles/{role}/tasks/main.yml", f"- include_tasks: {taken}\n  when: has_gpus\n"),
    ]

    assert ("GPU1122" in {each.code for each in found(files) if each.severity != "info"}) is wrong


@pytest.mark.parametrize("sure", [True, False])
def test_a_file_that_another_takes_in_anyhow_is_done(*, sure: bool) -> None:
    files = [
        ("roles/gpu/tasks/maps.yml", MAPS),
        ("roles/gpu/tasks/plugin.yml", NAMING_IT),
        ("roles/gpu/tasks/main.yml", "- include_tasks: plugin.yml\n  when: has_gpus\n"),
        (
            "site.yml",
            f"- hosts: a\n  tasks: [import_tasks: {'tasks' if sure else 'a'}/plugin.yml]\n",
        ),
    ]

    assert ("GPU1122" in {each.code for each in found(files) if each.severity != "info"}) is sure


@pytest.mark.parametrize(
    ("name", "blocks", "wrong"),
    [("site.yml", 10, False), ("site.yml", 11, True), ("site.yml.j2", 10, True)],
)
def test_roles_are_taken_in_by_blocks_of_tasks(name: str, blocks: int, *, wrong: bool) -> None:
    block = "{include_role: {name: gpu}, when: a}"
    for _ in range(blocks):
        block = f"{{block: [{block}]}}"
    play = f"- hosts: all\n  tasks: [{block}]\n"
    tasks = "roles/gpu/tasks"
    files = [(f"{tasks}/maps.yml", MAPS), (f"{tasks}/plugin.yml", NAMING_IT), (name, play)]
    beside = ("other.yml", "- hosts: all\n  roles: []\n")

    assert ("GPU1122" in {each.code for each in found([*files, beside])}) is wrong


CLUSTER = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: ml, region: eu-west-1, version: "1.33"}
managedNodeGroups:
  - {name: gpu, instanceType: g6.xlarge, maxSize: 2}
"""


def test_ansible_s_folder_is_one_of_a_cluster_s_parts() -> None:
    files = [
        ("eksctl/ml.yaml", CLUSTER),
        ("ansible/roles/gpu/tasks/main.yml", TASKS),
        ("ansible/roles/gpu/defaults/main.yml", VALUES),
    ]

    assert "GPU1101" in {each.code for each in found(files)}
