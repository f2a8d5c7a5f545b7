"""Configurations of the device plugin and of mig-parted: one broken field at a time."""

from __future__ import annotations

import pytest

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.lint.fixes import fixed_files
from eks_gpushare.manifests.files import GivenFile


def found(text: str, name: str = "a.yaml") -> list[str]:
    (report,) = lint_files([GivenFile(name, text)])
    return [each.code for each in report.findings]


PLUGIN = """\
version: v1
flags:
  migStrategy: none
  failOnInitError: true
  plugin:
    passDeviceSpecs: false
    deviceListStrategy: envvar
sharing:
  timeSlicing:
    renameByDefault: false
    failRequestsGreaterThanOne: true
    resources:
      - name: nvidia.com/gpu
        replicas: 4
"""

RIGHT = [
    PLUGIN,
    PLUGIN.replace("timeSlicing", "mps"),
    PLUGIN.replace("nvidia.com/gpu", "gpu"),
    PLUGIN.replace("nvidia.com/gpu", '"nvidia.com/gpu"'),
    PLUGIN.replace("migStrategy: none", "migStrategy: mixed").replace("com/gpu", "com/mig-1g.5gb"),
    PLUGIN.replace("migStrategy: none", "migStrategy: single"),
    PLUGIN.replace("envvar", "[envvar, cdi-cri]"),
    PLUGIN.replace("envvar", "volume-mounts,cdi-annotations"),
    PLUGIN.replace("timeSlicing", "timeslicing"),  # Go takes this key in any case
    PLUGIN.replace("sharing:", "Sharing:"),
    PLUGIN.replace("replicas: 4", "devices: all\n        replicas: 4"),
    PLUGIN.replace("true\n    resources", "yes\n    resources"),
    PLUGIN.replace("replicas: 4", "replicas: ${REPLICAS}"),
    PLUGIN.replace("replicas: 4", "replicas: 4.0"),
    PLUGIN.replace("replicas: 4", "replicas: &n 4"),
    PLUGIN.replace("\n", "\r\n"),
    f"# above\n\n---\n{PLUGIN}",
    '{"sharing": {"mps": {"resources":\n\t[{"name": "gpu", "replicas": 2}]}}, "version": "v1"}',
    "version: v1\nflags: {migStrategy: none}\n",
    "version: v1\nsharing: {}\nflags: {migStrategy: mixed}\n",
]


@pytest.mark.parametrize("text", RIGHT)
def test_a_right_configuration_of_the_plugin(text: str) -> None:
    assert found(text) == []


WRONG = [
    ("version: v1\n", "", ["GPU1024"]),
    ("version: v1", "version: v2", ["GPU1021"]),
    ("version: v1", "version: 1", ["GPU1021"]),
    ("sharing:", "sharng:\n  x: 1\nsharing:", ["GPU1020"]),
    ("sharing:", "shareing:", ["GPU1020"]),
    ("timeSlicing", "time-slicing", ["GPU1020"]),
    ("timeSlicing", "time_slicing", ["GPU1020"]),
    ("renameByDefault", "renamebydefault", ["GPU1020"]),
    ("renameByDefault", "rename", ["GPU1020"]),
    ("failRequestsGreaterThanOne", "failRequestGreaterThanOne", ["GPU1020"]),
    ("  migStrategy", "  failRequestsGreaterThanOne: true\n  migStrategy", ["GPU1020"]),
    ("  migStrategy", "  replicas: 4\n  migStrategy", ["GPU1020"]),
    ("    passDeviceSpecs", "    migStrategy: none\n    passDeviceSpecs", ["GPU1020"]),
    ("        replicas", "        renameByDefault: true\n        replicas", ["GPU1020"]),
    ("        replicas", "        count: 2\n        replicas", ["GPU1020"]),
    ("replicas: 4", "replica: 4", ["GPU1020"]),
    ("- name", "- resource", ["GPU1020", "GPU1021"]),
    ("replicas: 4", "replicas: 0", ["GPU1021"]),
    ("replicas: 4", "replicas: 1", ["GPU1021"]),
    ("replicas: 4", "replicas: -1", ["GPU1021"]),
    ("replicas: 4", 'replicas: "4"', ["GPU1021"]),
    ("replicas: 4", "replicas: four", ["GPU1021"]),
    ("replicas: 4", "replicas: 2.5", ["GPU1021"]),
    ("replicas: 4", "replicas: true", ["GPU1021"]),
    ("replicas: 4", "", ["GPU1021"]),
    ("name: nvidia.com/gpu", "name:", ["GPU1021"]),
    ("name: nvidia.com/gpu", "name: nvidia.com/gpu.shared", ["GPU1021"]),
    ("name: nvidia.com/gpu", "name: amd.com/gpu", ["GPU1021"]),
    ("name: nvidia.com/gpu", "name: nvidia.com/gpus", ["GPU1020"]),
    ("name: nvidia.com/gpu", "name: nvidia.com/vgpu", ["GPU1020"]),
    ("name: nvidia.com/gpu", "name: nvidia.com/mig-1g.5gb", ["GPU1020"]),
    ("migStrategy: none", "migStrategy: mix", ["GPU1021"]),
    ("migStrategy: none", "migStrategy: Mixed", ["GPU1021"]),
    ("failOnInitError: true", 'failOnInitError: "true"', ["GPU1021"]),
    ("renameByDefault: false", 'renameByDefault: "false"', ["GPU1021"]),
    ("envvar", "env", ["GPU1021"]),
    ("envvar", "[envvar, cdi]", ["GPU1021"]),
    ("replicas: 4", "replicas: 4\n        rename: nvidia.com/slice", ["GPU1022"]),
    ("replicas: 4", "replicas: 4\n        devices: [0, 1]", ["GPU1022"]),
    ("replicas: 4", "replicas: 4\n        devices: 2", ["GPU1022"]),
    ("replicas: 4\n", "replicas: 4\n      - {name: gpu, replicas: 2}\n", ["GPU1021"]),
    (
        "sharing:\n",
        "sharing:\n  mps: {resources: [{name: nvidia.com/gpu, replicas: 4}]}\n",
        ["GPU1023"],
    ),
    ("resources:\n      - name: nvidia.com/gpu\n        replicas: 4\n", "", ["GPU1021"]),
    ("resources:\n      - name: nvidia.com/gpu\n        replicas: 4", "resources: []", ["GPU1021"]),
    ("  timeSlicing:", "  timeSlicing: true\n  x:", ["GPU1021", "GPU1020"]),
]


@pytest.mark.parametrize(("old", "new", "codes"), WRONG)
def test_a_broken_configuration_of_the_plugin(old: str, new: str, codes: list[str]) -> None:
    text = PLUGIN.replace(old, new, 1)
    assert text != PLUGIN

    assert sorted(set(found(text))) == sorted(codes)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("1g.5bg", "No MIG device is called nvidia.com/mig-1g.5bg"),
        ("1g5gb", "No MIG device is called"),
        ("1g.5GB", "No MIG device is called"),
        ("1g.5gb.mee", "No MIG device is called"),
        ("all", "No MIG device is called"),
        ("1g.55gb", "No GPU that is known has a MIG device called nvidia.com/mig-1g.55gb"),
        ("5g.20gb", "No GPU that is known"),
        ("1g.5gb", ""),
        ("1g.10gb.me", ""),
        ("7g.80gb", ""),
        ("1g.24gb.me.all", ""),
        ("1c.2g.10gb", ""),
    ],
)
def test_a_mig_device_that_is_shared_is_one_of_some_gpu(name: str, said: str) -> None:
    text = PLUGIN.replace("Strategy: none", "Strategy: mixed").replace("com/gpu", f"com/mig-{name}")
    (report,) = lint_files([GivenFile("a.yaml", text)])

    assert [each.finding.code for each in report.found] == ["GPU1020"] * bool(said)
    for each in report.found:
        assert each.finding.message.startswith(said)
        assert each.finding.severity == ("warning" if "known" in said else "error")


@pytest.mark.parametrize(
    ("strategy", "fix"),
    [
        ("none", "Set flags.migStrategy: mixed."),
        ("single", "Set flags.migStrategy: mixed, or share nvidia.com/gpu."),
    ],
)
def test_a_mig_device_has_its_name_by_the_mixed_strategy(strategy: str, fix: str) -> None:
    text = PLUGIN.replace("Strategy: none", f"Strategy: {strategy}")
    (report,) = lint_files([GivenFile("a.yaml", text.replace("com/gpu", "com/mig-1g.5gb"))])

    assert [each.finding.fix for each in report.found] == [fix]


MPS = [
    (PLUGIN.replace("timeSlicing", "mps").replace("replicas: 4", "replicas: 49"), ["GPU1025"]),
    (PLUGIN.replace("timeSlicing", "mps").replace("com/gpu", "com/mig-1g.5gb"), ["GPU1025"]),
    (
        PLUGIN.replace("timeSlicing", "mps").replace("Strategy: none", "Strategy: mixed"),
        ["GPU1025"],
    ),
]


@pytest.mark.parametrize(("text", "codes"), MPS)
def test_what_mps_does_not_go_with(text: str, codes: list[str]) -> None:
    assert found(text) == codes


def wrapped(text: str, style: str = "|") -> str:
    inner = "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata:\n  any: {style}\n{inner}"


@pytest.mark.parametrize("style", ["|", "|-", "|+", "|2"])
def test_a_configuration_within_a_config_map(style: str) -> None:
    assert found(wrapped(PLUGIN, style)) == []
    broken = wrapped(PLUGIN.replace("renameByDefault", "renamebydefault"), style)
    (report,) = lint_files([GivenFile("a.yaml", broken)])
    (placed,) = report.found
    assert placed.finding.code == "GPU1020"
    assert placed.position == (15, 9)


def test_a_configuration_in_quotes_is_at_its_key() -> None:
    text = PLUGIN.replace("replicas: 4", "replicas: 1").replace("\n", "\\n")
    whole = f'apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata:\n  any: "{text}"\n'
    (report,) = lint_files([GivenFile("a.yaml", whole)])
    (placed,) = report.found
    assert (placed.finding.code, placed.position) == ("GPU1021", (5, 3))


MIG = """\
version: v1
mig-configs:
  all-disabled:
    - devices: all
      mig-enabled: false
  mixed:
    - device-filter: ["0x20B010DE", "0x20B110DE"]
      devices: [0, 1]
      mig-enabled: true
      mig-devices:
        "1g.5gb": 2
        "2g.10gb": 1
        "3g.20gb": 1
    - devices: [2]
      mig-enabled: true
      mig-devices: {}
  hopper:
    - devices: all
      mig-enabled: true
      mig-devices: {"1g.10gb+me": 1, "1g.10gb": 6}
"""


def test_a_right_configuration_of_mig_parted() -> None:
    assert found(MIG) == []
    assert found(wrapped(MIG)) == []


MIG_WRONG = [
    ("version: v1", "", "GPU1030"),
    ("version: v1", "version: v2", "GPU1030"),
    ("version: v1", "version: v1\ncomment: x", "GPU1030"),
    ("mig-configs", "migConfigs", "GPU1030"),
    ("mig-configs", "mig_configs", "GPU1030"),
    ("    - devices: all\n      mig-enabled: false\n", "    []\n", "GPU1030"),
    ("devices: all", "devices: every", "GPU1030"),
    ("devices: all", 'devices: ["0"]', "GPU1030"),
    ("    - devices: all\n      mig-", "    - mig-", "GPU1030"),
    ("mig-enabled: false", 'mig-enabled: "false"', "GPU1030"),
    ("mig-enabled: false", "migEnabled: false", "GPU1030"),
    ("mig-enabled: false", "mig-enabled: true", "GPU1030"),
    ("mig-enabled: true", "mig-enabled: false", "GPU1030"),
    ("mig-devices:\n", "mig_devices:\n", "GPU1030"),
    ('"1g.5gb": 2', '"1g.5gb": two', "GPU1030"),
    ('"1g.5gb": 2', '"1g.5gb": -1', "GPU1030"),
    ('"1g.5gb": 2', '"1g5gb": 2', "GPU1030"),
    ("mig-devices: {}", "mig-devices:", "GPU1030"),
    ("mig-devices: {}", 'mig-devices: {"1g.5gb": 0}', "GPU1030"),
    ('"1g.5gb": 2', '"1g.5": 2', "GPU1030"),
    ('["0x20B010DE", "0x20B110DE"]', "0x20B010DE", "GPU1030"),
    ('"1g.5gb": 2', '"1g.10gb+me": 2', "GPU1031"),
    ('"2g.10gb": 1', '"2g.20gb": 1', "GPU1031"),
    ('"1g.10gb": 6', '"1g.7gb": 6', "GPU1031"),
    ('"1g.10gb": 6', '"1g.5gb": 6', "GPU1031"),
    ('"1g.5gb": 2', '"1g.5gb": 3', "GPU1032"),
    ('"1g.10gb": 6', '"1g.10gb": 7', "GPU1032"),
    ('"3g.20gb": 1', '"3g.20gb": 2', "GPU1032"),
    ('"0x20B010DE"', '"A100"', "GPU1033"),
    ('"0x20B010DE"', '"0x10DE20B0"', "GPU1033"),
    ('"0x20B010DE"', '"20B010DE"', "GPU1033"),
]


@pytest.mark.parametrize(("old", "new", "code"), MIG_WRONG)
def test_a_broken_configuration_of_mig_parted(old: str, new: str, code: str) -> None:
    text = MIG.replace(old, new, 1)
    assert text != MIG

    assert set(found(text)) == {code}


FIXED = [
    (PLUGIN, "renameByDefault", "renamebydefault"),
    (PLUGIN, "timeSlicing", "time-slicing"),
    (PLUGIN, "replicas: 4", 'replicas: "4"'),
    (PLUGIN, "replicas: 4", "replica: 4"),
    (PLUGIN, "renameByDefault: false", 'renameByDefault: "false"'),
    (PLUGIN, "version: v1\n", ""),
    (PLUGIN, "version: v1\n", "version: 1\n"),
    (PLUGIN, "failOnInitError: true", 'failOnInitError: "true"'),
    (PLUGIN, "name: nvidia.com/gpu", "name: nvidia.com/gpus"),
    (MIG, "mig-enabled: false", "mig_enabled: false"),
    (MIG, "mig-enabled: false", 'mig-enabled: "false"'),
    (MIG, "mig-enabled: true", 'mig-enabled: "True"'),
    (MIG, '"1g.5gb": 2', '"1g5gb": 2'),
    (MIG, "version: v1\n", "version: 1\n"),
    (MIG, "version: v1\n", ""),
]


@pytest.mark.parametrize(("right", "old", "new"), FIXED)
@pytest.mark.parametrize("within", [False, True])
def test_what_is_certain_is_corrected(right: str, old: str, new: str, within: bool) -> None:
    text, wanted = right.replace(old, new, 1), right
    if within:
        text, wanted = wrapped(text), wrapped(wanted)
    fixed, before, after, _ = fixed_files([GivenFile("a.yaml", text)])

    assert [each.after for each in fixed] == [wanted]
    assert before[0].findings
    assert after[0].findings == ()


@pytest.mark.parametrize(
    ("right", "old", "new"),
    [
        (PLUGIN, "replicas: 4", "replicas: 1"),
        (PLUGIN, "  migStrategy", "  renameByDefault: true\n  migStrategy"),
        (PLUGIN, "renameByDefault: false", "renamebydefault: true\n    renameByDefault: false"),
        (MIG, '"1g.5gb": 2', '"1g.5gb": 3'),
        (PLUGIN, "version: v1\n", "sharing: [\n"),
        (PLUGIN, "version: v1\n", "flags: {}\n"),
    ],
)
def test_what_is_not_certain_is_not(right: str, old: str, new: str) -> None:
    fixed, before, *_ = fixed_files([GivenFile("a.yaml", right.replace(old, new, 1))])

    assert fixed == ()
    assert before[0].findings
