"""Mistakes of a first stack file: keys of other tools, units, lists and blocks of the wrong shape.

Each is one error, with what to write. A newcomer's attempts, made before the answers were seen.
"""

from __future__ import annotations

import pytest

from eks_gpushare.stack_file.check import check_stack_file
from eks_gpushare.stack_file.file import stack_file_of

FILE = """\
config:
  aws:region: us-west-2
  eks-gpushare:environment:
    cluster:
      name: demo
      version: "1.35"
      endpoint: {public: true, publicCidrs: [52.94.236.0/24]}
      admins: [arn:aws:iam::123456789012:role/Platform]
    network: {zones: [us-west-2a, us-west-2b]}
    pools:
      gpu:
        instanceTypes: [p4d.24xlarge]
        nodes: {min: 1, desired: 1, max: 2}
        amiVersion: 1.35.8-20260930
        sharing: {mode: timeSlicing, replicas: 4}
"""
SHARING = "sharing: {mode: timeSlicing, replicas: 4}"
AMI = "amiVersion: 1.35.8-20260930"
RESOURCES = "{resources: [{name: nvidia.com/gpu, replicas: 8}]}"
OURS = "In place of the device plugin's own configuration write sharing: {}."
CONFIG = "Write config: above, and indent the rest by two blanks, so that it is below config."
POOL, IN = "pools.gpu", "pools.gpu.sharing"


def found(old: str, new: str) -> list[tuple[str, str]]:
    assert old in FILE
    report = check_stack_file(stack_file_of(FILE.replace(old, new), "Pulumi.demo.yaml"))
    return [(each.path, each.fix) for each in report.findings if each.severity == "error"]


def test_the_file_without_a_mistake_is_fine() -> None:
    assert found(SHARING, SHARING) == []


@pytest.mark.parametrize(
    ("key", "fix"),
    [
        ("minSize: 1", "Write nodes: {min: ...}."),
        ("desiredCapacity: 1", "Write nodes: {desired: ...}."),
        ("volumeSize: 200", "Write rootVolumeGiB."),
        ("spot: true", "Write capacityType: spot."),
        ("ami: ami-0123456789abcdef1", "Write customAmi: {id: ...}, with amiFamily: custom."),
        (
            "disruption: {consolidateAfter: 30s}",
            "Write karpenter: {consolidationPolicy: ..., consolidateAfter: ...}.",
        ),
    ],
)
def test_keys_of_eksctl_eks_and_karpenter_are_known(key: str, fix: str) -> None:
    assert found(AMI, key) == [(f"{POOL}.{key.partition(':')[0]}", fix)]


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        (AMI, "provisioner: autoMode", f"{POOL}.provisioner"),
        (AMI, "provisioner: auto-mode", f"{POOL}.provisioner"),
        ("name: demo", "name: demo\n      autoMode: true", "cluster.autoMode"),
        ("name: demo", "name: demo\n      computeConfig: {}", "cluster.computeConfig"),
    ],
)
def test_auto_mode_is_answered_with_why_not(old: str, new: str, path: str) -> None:
    ((where, fix),) = found(old, new)

    assert where == path
    assert fix == (
        "EKS Auto Mode shares no GPUs: the device plugin of its nodes is EKS's own and has no "
        "settings. Remove it, and use provisioner: managedNodeGroup or karpenter."
    )


TENANT = "{namespaces: [a], pools: {gpu: {guaranteed: {shares: 1}}}}"


@pytest.mark.parametrize(
    ("old", "new", "path", "fix"),
    [
        (
            "{shares: 1}}",
            "{shares: 1}, max: {shares: 2}}",
            "pools.gpu.max",
            "maximum: {shares: ...}",
        ),
        ("{guaranteed: {shares: 1}}", "1", "pools.gpu", "gpu: {guaranteed: {shares: 4}}"),
        ("{shares: 1}", "1", "pools.gpu.guaranteed", "guaranteed: {shares: 4}"),
        (
            "shares: 1",
            "shares: {gpu: 1}",
            "pools.gpu.guaranteed.shares",
            'sharesOf: {"gpu": 1}, which counts shares by kind',
        ),
        (
            "{gpu: {guaranteed: {shares: 1}}}",
            "[gpu]",
            "pools",
            "pools: {gpu: {guaranteed: {shares: 4}}}",
        ),
        ("[a],", "[a], cost: a,", "cost", 'cost: {center: "4711"}'),
        ("[a],", "[a], costCenter: a,", "costCenter", "cost: {center: ...}"),
        ("[a],", "[a], existing: [b],", "existing", "existingNamespaces: [...]"),
        (
            "[a]",
            "{existing: [a]}",
            "namespaces",
            "existingNamespaces: [...] for those that others make",
        ),
    ],
)
def test_keys_of_tenants_as_one_would_guess_them(old: str, new: str, path: str, fix: str) -> None:
    block = f"    tenants:\n      a: {TENANT.replace(old, new)}\n"
    text = FILE.rstrip() + "\n" + block
    report = check_stack_file(stack_file_of(text, "Pulumi.demo.yaml"))
    errors = [(each.path, each.fix) for each in report.findings if each.severity == "error"]

    assert errors == [(f"tenants.a.{path}", f"Write {fix}.")]


@pytest.mark.parametrize(
    ("sharing", "path", "fix"),
    [
        (
            "{mode: timeSlicing, replicas: 4, renameByDefault: true}",
            f"{IN}.renameByDefault",
            "Write rename.",
        ),
        (
            f"{{timeSlicing: {RESOURCES}}}",
            f"{IN}.mode",
            OURS.format("{mode: timeSlicing, replicas: 8}"),
        ),
        (
            f"{{version: v1, flags: {{migStrategy: none}}, sharing: {{mps: {RESOURCES}}}}}",
            f"{IN}.mode",
            OURS.format("{mode: mps, replicas: 8}"),
        ),
        (
            "{timeSlicing: {replicas: 4}}",
            f"{IN}.mode",
            "Add mode: one of exclusive, timeSlicing, mps, mig.",
        ),
        (
            "{mode: mig, layout: [1g.5gb, 2g.10gb]}",
            f"{IN}.layout[0]",
            "Write layout: {1g.5gb: 1}, with how many of each profile a GPU gets.",
        ),
    ],
)
def test_the_device_plugin_s_own_words_are_known(sharing: str, path: str, fix: str) -> None:
    assert found(SHARING, f"sharing: {sharing}") == [(path, fix)]


@pytest.mark.parametrize(
    ("old", "new", "path", "fix"),
    [
        (
            f"  {SHARING}",
            SHARING,
            "pools.sharing",
            "Indent it by two blanks more, so that it is in gpu.",
        ),
        (
            AMI,
            "rootVolumeGiB: 200Gi",
            f"{POOL}.rootVolumeGiB",
            "Write 200, without the unit, which the key has.",
        ),
        (AMI, "rootVolumeGiB: 200Ti", f"{POOL}.rootVolumeGiB", "Give a whole number."),
        (
            "{zones: [us-west-2a, us-west-2b]}",
            '{zones: "us-west-2a, us-west-2b"}',
            "network.zones",
            "Write [us-west-2a, us-west-2b].",
        ),
        ('"1.35"', "\N{LEFT DOUBLE QUOTATION MARK}1.35\N{RIGHT DOUBLE QUOTATION MARK}",
         "cluster.version", 'Write it as "1.35".'),
        (
            "    network:",
            "    observability: true\n    network:",
            "observability",
            "Write observability: {prometheus: {install: true}}.",
        ),
        (
            "iam::123456789012",
            "iam::${ACCOUNT}",
            "line 8, column 30",
            "Write the value itself: a stack file has no variables, and { begins a mapping.",
        ),
        (
            "eks-gpushare:environment",
            "gpushare:environment",
            "config.gpushare:environment",
            "Did you mean eks-gpushare:environment?",
        ),
        ("config:\n", "", "aws:region", CONFIG),
        (
            "[us-west-2a, us-west-2b]",
            "[us-east-1a, us-east-1b]",
            "network.zones",
            "Name zones of us-west-2, or write aws:region: us-east-1.",
        ),
        (
            FILE,
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shares}\n",
            "",
            "Check it by eks-gpushare lint, or give a stack file; stacks/ has examples.",
        ),
    ],
)  # fmt: skip
def test_one_mistake_is_one_error(old: str, new: str, path: str, fix: str) -> None:
    assert found(old, new) == [(path, fix)]


def test_zones_of_no_region_are_corrected_one_by_one() -> None:
    for wrong in ("[us-west2a, us-west2b]", "[us-east-1y, us-east-1z]", "[us-east-1a, us-west-1a]"):
        assert found("[us-west-2a, us-west-2b]", wrong) == [
            (f"network.zones[{index}]", "Correct the zone.") for index in (0, 1)
        ]
    assert found(AMI, "zones: [us-east-1a]") == [(f"{POOL}.zones[0]", "Correct the zone.")]


def test_a_pool_may_be_called_as_one_of_its_keys() -> None:
    assert found("      gpu:\n", "      warm:\n") == []
