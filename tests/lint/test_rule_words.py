"""How what is wrong is to be put right, rule by rule, beside what is nearly the same and right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from foreign_objects import CLASS, CONFIG, OVERLAY, PLAN, POOL
from foreign_reading import merged, problems, read_text_with, read_with

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.readers.compose import ComposeReader
from eks_gpushare.lint.readers.eksctl import EksctlReader
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.readers.bottlerocket import BottlerocketReader
from eks_gpushare.manifests.readers.karpenter import KarpenterReader

if TYPE_CHECKING:
    from eks_gpushare.inventory.problem import Problem

BOTTLEROCKET, COMPOSE = BottlerocketReader(), ComposeReader()
EKSCTL, KARPENTER = EksctlReader(), KarpenterReader()
GROUP, OWN = "managedNodeGroups__0__", "nodeGroups__0__"
IN_PLAN = "x-internal-integrations__multiTenantGpu"
IN_SCALING = "services__app__x-omnistrate-capabilities__autoscaling"
REQUIREMENTS, TAINTS = (f"spec__template__spec__{each}" for each in ("requirements", "taints"))

Told = list[tuple[str, int]]
"""The fix of each problem, and how many edits carry it out."""


def told(found: list[Problem]) -> Told:
    return [(each.fix, len(each.edits)) for each in found]


def starts(found: list[Problem], expected: Told) -> bool:
    """Whether fixes begin so; lists of all that is allowed are long."""
    return len(found) == len(expected) and all(
        each.fix.startswith(fix) and len(each.edits) == edits
        for each, (fix, edits) in zip(found, expected, strict=True)
    )


LABEL_IT = "Add propagateASGTags: true."
NEWER = "Write AmazonLinux2023 or Bottlerocket."
AL2 = {f"{GROUP}amiFamily": "AmazonLinux2"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({f"{GROUP}minSise": 0}, [("Write minSize.", 0)]),
        ({f"{GROUP}instancetypes": ["a"]}, [("Write instanceTypes.", 0)]),
        (
            {f"{GROUP}instanceTypes": ..., f"{GROUP}instancetypes": ["a"]},
            [("Write instanceTypes.", 1)],
        ),
        (
            {f"{OWN}instanceTypes": ["a"]},
            [("Of a self-managed group, write instancesDistribution: {instanceTypes: [...]}.", 0)],
        ),
        (
            {f"{OWN}spot": True},
            [("Of a self-managed group, write instancesDistribution: {inst", 0)],
        ),
        ({f"{GROUP}amiType": "AL2023"}, [("Write amiFamily.", 0)]),
        ({f"{OWN}amiType": "AL2023"}, [("Write amiFamily.", 0)]),
        ({f"{GROUP}nothingLike": 1}, [("Remove it; allowed there: additionalVolumes, ami,", 0)]),
        ({"metadata__regin": "a"}, [("Write region.", 0)]),
        ({"metadata__region": ..., "metadata__regin": "a"}, [("Write region.", 1)]),
        (
            {f"{GROUP}taints": [{"key": "b", "efect": "NoSchedule"}]},
            [("Write effect.", 1), ("Add effect: NoSchedule.", 0)],
        ),
        ({f"{OWN}taints": {"a": {"b": 1}}}, []),
        (
            {f"{GROUP}labels": {"a": True, "b": 5, "c": "d"}},
            [('Write "true", in quotes.', 1), ('Write "5", in quotes.', 1)],
        ),
        ({f"{OWN}taints": {"a": "b:noschedule"}}, [('Write "b:NoSchedule".', 0)]),
        ({f"{OWN}taints": {"a": "b:x"}}, [('Write "b:NoSchedule".', 0)]),
        ({f"{OWN}taints": {"a": "b:no_execute", "c": 5}}, [('Write "b:NoExecute".', 0)]),
        (
            {f"{GROUP}taints": [{"key": "a", "effect": "no_execute"}]},
            [("Write NoExecute.", 1)],
        ),
        ({f"{GROUP}taints": [{"key": "a", "effect": "Never"}]}, [("Write NoSchedule.", 0)]),
        ({"metadata__version": "1.32", **AL2}, []),
        ({"metadata__version": "1.30.2", **AL2}, []),
        ({"metadata__version": "1.32.x", **AL2}, []),
        ({"metadata__version": "1.33", **AL2}, [(NEWER, 0)]),
        ({"metadata__version": "1.33.1", **AL2}, [(NEWER, 0)]),
        ({"metadata__version": "1", **AL2}, [(NEWER, 0)]),
        ({"metadata__version": "1.x", **AL2}, [(NEWER, 0)]),
        ({"metadata__version": "x.32", **AL2}, [(NEWER, 0)]),
        ({"metadata__version": "1.\u0663", **AL2}, [(NEWER, 0)]),
        ({"metadata__version": None, **AL2}, [(NEWER, 0)]),
        ({f"{OWN}minSize": 0, f"{OWN}desiredCapacity": 0}, [(LABEL_IT, 0)]),
        (
            {f"{OWN}minSize": 0, f"{OWN}desiredCapacity": 0, f"{OWN}tags": {"a": "b"}},
            [(LABEL_IT, 0)],
        ),
        (
            {f"{OWN}minSize": 0, f"{OWN}tags": {"k8s.io/cluster-autoscaler/node-template/x": ""}},
            [],
        ),
        ({f"{OWN}minSize": 0, f"{OWN}taints": ...}, []),
        ({f"{OWN}minSize": 1}, []),
    ],
)
def test_of_eksctl(changes: dict[str, Any], expected: Told) -> None:
    found = problems(read_with(EKSCTL, merged(CONFIG, **changes)))

    assert starts(found, expected), told(found)


def test_the_place_of_what_eksctl_does_not_read() -> None:
    given = merged(CONFIG, **{f"{GROUP}taints": [{"key": "b"}]})
    (found,) = problems(read_with(EKSCTL, given))

    assert found.path == ("managedNodeGroups", 0, "taints", 0)
    given = merged(CONFIG, **{f"{GROUP}taints": {"key": "b", "efect": "c"}})
    assert {each.rule.id for each in problems(read_with(EKSCTL, given))} == {"GPU1071"}


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((1, 1, 1), []),
        ((0, None, 0), []),
        ((2, 2, 1), ["minSize"]),
        ((1, 2, 1), ["desiredCapacity"]),
        ((2, 1, 3), ["desiredCapacity"]),
        ((2, 1, None), ["desiredCapacity"]),
        ((2, None, 1), ["minSize"]),
    ],
)
def test_sizes_of_a_group(sizes: tuple[Any, ...], expected: list[str]) -> None:
    keys = (f"{GROUP}minSize", f"{GROUP}desiredCapacity", f"{GROUP}maxSize")
    given = merged(CONFIG, **dict(zip(keys, sizes, strict=True)))

    assert [each.path[-1] for each in problems(read_with(EKSCTL, given))] == expected


NVIDIA = "[settings.kubelet-device-plugins.nvidia]\n"


def table(name: str, replicas: Any) -> str:
    return (
        f'{NVIDIA}device-sharing-strategy = "{name}"\n'
        f"[settings.kubelet-device-plugins.nvidia.{name}]\nreplicas = {replicas}\n"
    )


QUOTED = "Write it without quotes."
PODS = "Write how many pods share a GPU, or remove the strategy."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (table("time-slicing", 1), [PODS]),
        (table("time-slicing", 2), []),
        (table("time-slicing", 49), []),
        (table("mps", 1), [PODS]),
        (table("mps", 2), []),
        (table("mps", 48), []),
        (table("mps", 49), [PODS]),
        (table("mps", "true"), [QUOTED]),
        (table("mps", '"4"'), [QUOTED]),
        (f"{NVIDIA}deviceSharingStrategy = 'none'\n", ["Write device-sharing-strategy."]),
        (f"{NVIDIA}device_sharing_strategy = 'none'\n", ["Write device-sharing-strategy."]),
        (f"{NVIDIA}device-sharing-strategi = 'none'\n", ["Write device-sharing-strategy."]),
        (f"{NVIDIA}foo = 1\n", ["Remove it; there are device-sharing-strategy, device-part"]),
        (f"{NVIDIA}device-sharing-strategy = 'timeslicing'\n", ["Write time-slicing."]),
        (f"{NVIDIA}device-sharing-strategy = 'xyz'\n", ["Write none."]),
        (f"{NVIDIA}device-sharing-strategy = 'mps'\n", ["Add a table mps with replicas."]),
    ],
)
def test_of_bottlerocket(text: str, expected: list[str]) -> None:
    found = problems(read_text_with(BOTTLEROCKET, text, "user-data.toml"))

    assert starts(found, [(each, 0) for each in expected]), told(found)


@pytest.mark.parametrize(
    ("first", "said"), [("", "is not set"), ("device-sharing-strategy = 'none'\n", "is none")]
)
def test_a_table_without_its_strategy(first: str, said: str) -> None:
    text = f"{NVIDIA}{first}[settings.kubelet-device-plugins.nvidia.mps]\nreplicas = 2\n"
    (found,) = problems(read_text_with(BOTTLEROCKET, text, "user-data.toml"))

    assert found.message == f"The table mps says how, and device-sharing-strategy {said}."


@pytest.mark.parametrize(
    ("replicas", "message"),
    [
        (1, "replicas of time-slicing is 1; it is a number from 2."),
        (0, "replicas of time-slicing is 0; it is a number from 2."),
    ],
)
def test_the_range_of_replicas(replicas: int, message: str) -> None:
    found = read_text_with(BOTTLEROCKET, table("time-slicing", replicas), "user-data.toml")
    of_mps = read_text_with(BOTTLEROCKET, table("mps", 49), "user-data.toml")

    assert [each.message for each in problems(found)] == [message]
    assert [each.message for each in problems(of_mps)] == [
        "replicas of mps is 49; it is a number from 2 to 48."
    ]


GPUS = "Name a type with NVIDIA GPUs, such as g5.xlarge."


@pytest.mark.parametrize(
    ("gpu", "expected"),
    [
        ({"instanceType": "g5.xlarge", "timeSlicingReplica": 1}, ["Write timeSlicingReplicas."]),
        ({"instanceType": "g5.xlarge", "foo": 1}, ["Remove it; there are instanceType, timeSl"]),
        ({"instanceType": "g5.xlarg"}, ["Write g5."]),
        ({"instanceType": "x1y2.nano"}, [GPUS]),
        ({"instanceType": "m5.large"}, [GPUS]),
        ({"instanceType": "g5.xlarge", "timeSlicingReplicas": 1}, []),
        ({"instanceType": "g5.xlarge", "timeSlicingReplicas": 0}, ["Write a whole number from 2."]),
        ({"instanceType": "g5.xlarge", "timeSlicingReplicas": "x"}, ["Write a whole number fr"]),
    ],
)
def test_of_service_plans(gpu: dict[str, Any], expected: list[str]) -> None:
    found = problems(read_with(COMPOSE, merged(PLAN, **{IN_PLAN: gpu})))

    assert starts(found, [(each, 0) for each in expected]), told(found)


@pytest.mark.parametrize(
    ("least", "most", "idle", "over", "count"),
    [
        (5, 5, 20, 80, 0),
        (6, 5, 20, 80, 1),
        (1, 5, 20, 100, 0),
        (1, 5, 20, 101, 1),
        (1, 5, 20, 20, 1),
        (1, 5, 20, 21, 0),
        (1, None, 20, None, 0),
    ],
)
def test_of_scaling(least: int, most: Any, idle: int, over: Any, count: int) -> None:
    given = {"minReplicas": least, "maxReplicas": most}
    given |= {"idleThreshold": idle, "overUtilizedThreshold": over}

    assert len(problems(read_with(COMPOSE, merged(PLAN, **{IN_SCALING: given})))) == count


CLASSREF = "spec__template__spec__nodeClassRef"
TYPES = "Require karpenter.k8s.aws/instance-gpu-manufacturer In [nvidia], or name types by "
BOOLEAN, NUMBER = 'Write "true", in quotes.', 'Write "5", in quotes.'
AUTO_MODE = {f"{CLASSREF}__group": "eks.amazonaws.com"}
LABELS = "spec__template__metadata__labels"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"spec__limit": {}}, [("Write limits.", 0)]),
        (
            {"spec__limits": ..., "spec__limit": {"cpu": 1}},
            [("Write limits.", 1), ("Add limits, such as", 0)],
        ),
        ({"spec__template__spec__nodeClassref": {}}, [("Write nodeClassRef.", 0)]),
        (
            {
                "spec__template__spec__expireAftr": "1h",
                "spec__template__spec__expireAfter": ...,
            },
            [("Write expireAfter.", 1)],
        ),
        (
            {"spec__providerRef": {}},
            [("Write nodeClassRef below spec.template.spec instead.", 0)],
        ),
        ({"spec__zzz": 1}, [("Remove it; allowed there: disruption, limits,", 0)]),
        ({CLASSREF: ...}, [("Add nodeClassRef.", 0)]),
        ({CLASSREF: {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass"}}, [("Add name.", 0)]),
        (
            {CLASSREF: {"name": "a"}},
            [("Add group: karpenter.k8s.aws.", 0), ("Add kind: EC2NodeClass.", 0)],
        ),
        (
            {CLASSREF: ..., "spec__nodeClassRef": {"a": "b"}},
            [("It belongs below spec.template.spec.", 0)],
        ),
        (
            {CLASSREF: ..., "spec__template__nodeClassRef": {"a": "b"}},
            [("Remove it; allowed there: metadata, spec.", 0)],
        ),
        ({CLASSREF: "text"}, [("Write a mapping.", 0)]),
        (
            {TAINTS: [{"key": "a", "value": True, "effect": "noschedule"}]},
            [(BOOLEAN, 1), ("Write NoSchedule.", 1)],
        ),
        ({TAINTS: [{"key": "a", "effect": "no_execute"}]}, [("Write NoExecute.", 1)]),
        ({TAINTS: [{"key": "a", "effect": "Never"}]}, [("Write NoSchedule.", 0)]),
        (
            {TAINTS: [{"key": "a"}, "text"]},
            [("Add effect: NoSchedule.", 0), ("Write a mapping.", 0)],
        ),
        ({TAINTS: ["text"]}, [("Write a mapping.", 0)]),
        (
            {"spec__disruption__consolidationPolicy": "WhenUnderutilized"},
            [("Write WhenEmptyOrUnderutilized.", 1)],
        ),
        ({"spec__disruption__consolidationPolicy": "Never"}, [("Write WhenEmpty.", 0)]),
        ({"spec__disruption__consolidationPolicy": "WhenEmpty"}, []),
        ({"spec__limits": {"gpu": 1}}, [("Write nvidia.com/gpu.", 0)]),
        ({"spec__limits": {"GPUS": 1}}, [("Write nvidia.com/gpu.", 0)]),
        ({"spec__limits": {"foo": 1}}, [("Limit cpu, memory or nvidia.com/gpu.", 0)]),
        ({"spec__limits": {"hugepages-2Mi": 1}}, []),
        ({"spec__limits": {"resources": UNKNOWN}}, []),
        ({"spec__limits": {"resources": {"foo": 1}}}, [("Limit cpu, memory or nvidia.com", 0)]),
        ({"spec__limits": {"nodes": 1}}, [("Limit what every node has, such as cpu", 0)]),
        ({"spec__limits": {"nodes": 1}, "spec__replicas": 1}, []),
        (AUTO_MODE, [("Take a managed node group or Karpenter of your own", 0)]),
        ({**AUTO_MODE, LABELS: {"a": "b"}}, []),
        ({**AUTO_MODE, LABELS: {"nvidia.com/mig.config": "all-disabled"}}, []),
        (
            {**AUTO_MODE, LABELS: {"nvidia.com/mig.config": "all-1g.5gb"}},
            [("Take a managed node group or Karpenter of your own", 0)],
        ),
        ({REQUIREMENTS: []}, [(TYPES, 0)]),
        ({REQUIREMENTS: [], LABELS: {"team": "a"}}, []),
    ],
)
def test_of_pools_of_karpenter(changes: dict[str, Any], expected: Told) -> None:
    unknown = {key: each for key, each in changes.items() if each == {"resources": UNKNOWN}}
    given = merged(POOL, **{key: each for key, each in changes.items() if key not in unknown})
    if unknown:
        given["spec"]["limits"] = {"resources": UNKNOWN}
    found = problems(read_with(KARPENTER, given))

    assert starts(found, expected), told(found)


IN_ONE = {"key": "nvidia.com/gpu", "operator": "In", "values": ["1"]}
EXISTS = {"key": "nvidia.com/gpu", "operator": "Exists"}


@pytest.mark.parametrize(
    ("requirement", "named", "expected"),
    [
        ({"key": "a", "operator": "in"}, True, [("Write In.", 1)]),
        ({"key": "a", "operator": "Near"}, True, [("Write In, with values.", 0)]),
        ({"key": "a", "operator": "NotIn"}, True, [("Give values, a list of strings.", 0)]),
        (
            {"key": "a", "operator": "In", "values": []},
            True,
            [("Give values, a list of strings.", 0)],
        ),
        ({"key": "a", "operator": "In", "values": "b"}, True, [('Write values: ["b"].', 1)]),
        (
            {"key": "a", "operator": "In", "values": [True, 5, "c"]},
            True,
            [(BOOLEAN, 1), (NUMBER, 1)],
        ),
        (IN_ONE, True, []),
        (IN_ONE, False, [(TYPES, 0)]),
        (EXISTS, True, [(TYPES, 0)]),
        (EXISTS, False, [(TYPES, 0)]),
    ],
)
def test_of_requirements(requirement: Any, named: bool, expected: Told) -> None:
    first = POOL["spec"]["template"]["spec"]["requirements"][:1] if named else []
    given = merged(POOL, **{REQUIREMENTS: [*first, requirement]})
    found = problems(read_with(KARPENTER, given))

    assert starts(found, expected), told(found)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ({"nvidia.com/gpu": "1"}, " The pool's own label of that name is a label of nodes, not"),
        ({"team": "ml"}, ""),
    ],
)
def test_a_label_of_the_pools_own_is_none_of_types(labels: Any, said: str) -> None:
    given = merged(POOL, **{REQUIREMENTS: [EXISTS], LABELS: labels})
    (found,) = problems(read_with(KARPENTER, given))

    start = "The requirement nvidia.com/gpu Exists chooses no instance type: no type has such a "
    assert found.message.startswith(f"{start}label.{said}")
    assert (found.message == f"{start}label.") is not bool(said)


@pytest.mark.parametrize("requirements", [UNKNOWN, [UNKNOWN]])
def test_requirements_that_are_not_known_may_choose(requirements: Any) -> None:
    given = merged(POOL)
    given["spec"]["template"]["spec"]["requirements"] = requirements

    assert problems(read_with(KARPENTER, given)) == []


@pytest.mark.parametrize(
    ("terms", "rule"),
    [
        ([{"ssmParameter": "/aws/recommended/image_id"}], "GPU1056"),
        ([{"ssmParameter": "/aws/v20261114/image_id"}], None),
        ([{"ssmParameter": 5}], "GPU1053"),
        ([{"alias": "al2@v20260101"}], "GPU1072"),
        ([{"alias": "AL2@v20260101"}], "GPU1072"),
        ([{"alias": "al2023@v20261114"}], None),
    ],
)
def test_of_images(terms: Any, rule: str | None) -> None:
    changed = merged(
        CLASS, spec__amiSelectorTerms=terms, spec__amiFamily="Custom", spec__userData="date"
    )
    found = problems(read_with(KARPENTER, changed))

    assert [each.rule.id for each in found] == ([] if rule is None else [rule])


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"spec__capacity": {"cpu": 1}}, ["Remove it: Karpenter knows it from EC2."]),
        ({"spec__price": "1", "spec__priceAdjustment": "+5%"}, ["Keep one of the two."]),
        ({"spec__capacity": ...}, ["Add capacity with what a node advertises."]),
        ({"spec__capacity": ..., "spec__price": "1"}, []),
        ({"spec__requirements": ...}, ["Add requirements."]),
    ],
)
def test_of_overlays(changes: dict[str, Any], expected: list[str]) -> None:
    found = problems(read_with(KARPENTER, merged(OVERLAY, **changes)))

    assert [each.fix for each in found] == expected


@pytest.mark.parametrize(
    ("file", "severity"),
    [("a.yaml", None), ("README.md", "info"), ("A.MARKDOWN", "info"), ("b.txt", "info")],
)
def test_a_guide_shows_what_it_is_about_and_leaves_out_the_rest(
    file: str, severity: str | None
) -> None:
    given = Document(file, merged(POOL, **{CLASSREF: ...}), lambda _: Position(1, 1))
    (found,) = problems([KARPENTER.read(given)])

    assert found.severity == severity
    assert found.path == ("spec", "template", "spec")


POOL_IN_PLACE = "Write a NodePool of karpenter.sh/v1 in its place."
SUBNETS = "Move spec.subnetSelector to spec.subnetSelectorTerms."
CLASS_IN_PLACE = "Write a EC2NodeClass of karpenter.k8s.aws/v1 in its place."
KINDS = "Karpenter's kinds are NodePool, NodeClaim, NodeOverlay, EC2NodeClass."
POLICY = "consolidationPolicy WhenUnderutilized to WhenEmptyOrUnderutilized, with consolidateAfter"
AL2023 = 'Move amiFamily to spec.amiSelectorTerms: [{alias: "al2023@v<release>"}].'


@pytest.mark.parametrize(
    ("version", "kind", "spec", "message", "fix"),
    [
        (
            "karpenter.sh/v1beta1",
            "NodePool",
            {"disruption": {"consolidationPolicy": "WhenUnderutilized", "expireAfter": "1h"}},
            "NodePool of karpenter.sh/v1beta1 is not served since Karpenter 1.1.",
            (
                f"{POOL_IN_PLACE} Move spec.disruption.expireAfter to "
                "spec.template.spec.expireAfter; "
                f"{POLICY}."
            ),
        ),
        (
            "karpenter.sh/v1beta1",
            "NodePool",
            {"disruption": {"consolidationPolicy": "WhenEmpty"}},
            "NodePool of karpenter.sh/v1beta1 is not served since Karpenter 1.1.",
            POOL_IN_PLACE,
        ),
        (
            "karpenter.sh/v1alpha1",
            "NodePool",
            {},
            "NodePool of karpenter.sh/v1alpha1 is not served since Karpenter 0.33.",
            POOL_IN_PLACE,
        ),
        (
            "karpenter.k8s.aws/v1beta1",
            "EC2NodeClass",
            {"amiFamily": "Bottlerocket"},
            "EC2NodeClass of karpenter.k8s.aws/v1beta1 is not served since Karpenter 1.1.",
            f"{CLASS_IN_PLACE} {AL2023.replace('al2023', 'bottlerocket')}",
        ),
        (
            "karpenter.k8s.aws/v1beta1",
            "EC2NodeClass",
            {"amiFamily": "Ubuntu"},
            "EC2NodeClass of karpenter.k8s.aws/v1beta1 is not served since Karpenter 1.1.",
            f"{CLASS_IN_PLACE} {AL2023}",
        ),
        (
            "karpenter.k8s.aws/v1beta1",
            "EC2NodeClass",
            {"amiFamily": "AL2023", "amiSelectorTerms": [{"id": "ami-1"}]},
            "EC2NodeClass of karpenter.k8s.aws/v1beta1 is not served since Karpenter 1.1.",
            CLASS_IN_PLACE,
        ),
        (
            "karpenter.k8s.aws/v1alpha1",
            "AWSNodeTemplate",
            {"amiFamily": "AL2", "subnetSelector": {}},
            "AWSNodeTemplate of karpenter.k8s.aws/v1alpha1 is not served since Karpenter 0.33.",
            f"{CLASS_IN_PLACE} {SUBNETS} Add spec.role and spec.amiSelectorTerms.",
        ),
        (
            "karpenter.k8s.aws/v1alpha1",
            "AWSNodeTemplate",
            {"instanceProfile": "a", "amiSelector": {"a": "b"}},
            "AWSNodeTemplate of karpenter.k8s.aws/v1alpha1 is not served since Karpenter 0.33.",
            f"{CLASS_IN_PLACE} Move spec.amiSelector to spec.amiSelectorTerms.",
        ),
        (
            "karpenter.sh/v1alpha5",
            "Provisioner",
            {
                "ttlSecondsAfterEmpty": 30,
                "disruption": {"expireAfter": "1h"},
                "labels": {},
                "consolidation": {"enabled": True},
            },
            "Provisioner of karpenter.sh/v1alpha5 is not served since Karpenter 0.33.",
            (
                f"{POOL_IN_PLACE} Move spec.labels to spec.template.metadata.labels; "
                "spec.ttlSecondsAfterEmpty to spec.disruption: {consolidationPolicy: WhenEmpty, "
                "consolidateAfter: 30s}."
            ),
        ),
        (
            "karpenter.sh/v1",
            "Provisioner",
            {},
            "Provisioner of karpenter.sh/v1 is not served since Karpenter 0.33.",
            POOL_IN_PLACE,
        ),
        (
            "karpenter.sh/v1",
            "AWSNodeTemplate",
            {"subnetSelector": {}},
            "karpenter.sh has never had a kind AWSNodeTemplate.",
            f"{CLASS_IN_PLACE} {SUBNETS} Add spec.role and spec.amiSelectorTerms.",
        ),
        (
            "karpenter.k8s.aws/v1",
            "NodePool",
            {},
            "NodePool is no kind of karpenter.k8s.aws, but of karpenter.sh/v1.",
            "Write apiVersion: karpenter.sh/v1.",
        ),
        (
            "karpenter.sh/v1",
            "Nodepool",
            {},
            "karpenter.sh has never had a kind Nodepool.",
            KINDS,
        ),
        (
            "karpenter.sh/v1",
            "CapacityBuffer",
            {},
            "karpenter.sh has never had a kind CapacityBuffer.",
            "It is a kind of autoscaling.x-k8s.io.",
        ),
        (
            "karpenter.sh/v1",
            "NodeOverlay",
            {},
            "karpenter.sh/v1 is no version of NodeOverlay; there is karpenter.sh/v1alpha1.",
            "Write a NodeOverlay of karpenter.sh/v1alpha1 in its place.",
        ),
    ],
)
def test_of_versions_of_karpenter(
    version: str, kind: str, spec: dict[str, Any], message: str, fix: str
) -> None:
    given = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": spec}
    (found,) = problems(read_with(KARPENTER, given))

    assert (found.message, found.fix) == (message, fix)


@pytest.mark.parametrize(
    ("value", "what"), [(True, "a boolean, true"), (False, "a boolean, false"), (5, "a number, 5")]
)
def test_what_is_no_string_is_named(value: Any, what: str) -> None:
    given = merged(POOL, **{TAINTS: [{"key": "a", "value": value, "effect": "NoSchedule"}]})
    (found,) = problems(read_with(KARPENTER, given))

    assert found.message == (
        f"spec.template.spec.taints[0].value is {what}; it has to be a string."
    )
