"""Objects of Karpenter: what goes into the inventory, and what is wrong in them."""

from __future__ import annotations

from typing import Any

import pytest
from foreign_objects import CLASS, OVERLAY, POOL
from foreign_reading import ids, merged, problems, read_with
from lint_corpus import found_in

from eks_gpushare.inventory.items import NodeSet, NodeTaint, Overlay
from eks_gpushare.inventory.problem import Edit, NotSeen
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.manifests.readers.karpenter import KarpenterReader

KARPENTER = KarpenterReader()
REQUIREMENTS = "spec__template__spec__requirements"
TAINTS = "spec__template__spec__taints"


def required(*more: dict[str, Any], named: bool = True) -> dict[str, Any]:
    first = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g5.xlarge"]}
    return merged(POOL, **{REQUIREMENTS: [*([first] if named else []), *more]})


def test_a_pool_becomes_nodes() -> None:
    (read,) = read_with(KARPENTER, POOL)

    (nodes,) = read.items
    assert isinstance(nodes, NodeSet)
    assert nodes.source.name == "the NodePool gpu"
    assert nodes.provisioner == "karpenter"
    assert nodes.instance_types == ("g5.xlarge",)
    assert nodes.labels == {"team": "research", "nvidia.com/device-plugin.config": "any"}
    assert nodes.taints == (NodeTaint("nvidia.com/gpu", "true", "NoSchedule"),)
    assert nodes.startup_taints == (NodeTaint("example.com/booting", "", "NoExecute"),)
    assert nodes.limits == {"cpu": "64", "nvidia.com/gpu": 40}
    assert not read.judgements


def test_an_overlay_becomes_one() -> None:
    (read,) = read_with(KARPENTER, OVERLAY)

    (overlay,) = read.items
    assert isinstance(overlay, Overlay)
    assert (overlay.weight, overlay.capacity) == (10, {"nvidia.com/gpu.shared": "10"})
    assert not read.judgements


@pytest.mark.parametrize(
    ("requirements", "types"),
    [
        ([], ()),
        ([("karpenter.k8s.aws/instance-family", "In", ["m7i"])], ()),
        ([("karpenter.k8s.aws/instance-category", "In", ["c", "g"])], ()),
        (
            [("karpenter.k8s.aws/instance-gpu-name", "In", ["a100"])],
            ("p4d.24xlarge", "p4de.24xlarge"),
        ),
        (
            [
                ("karpenter.k8s.aws/instance-family", "In", ["p4d", "p3"]),
                ("karpenter.k8s.aws/instance-gpu-count", "Gt", ["4"]),
            ],
            ("p4d.24xlarge",),
        ),
        (
            [
                ("node.kubernetes.io/instance-type", "In", ["g4dn.xlarge", "g5.xlarge"]),
                ("karpenter.k8s.aws/instance-family", "NotIn", ["g4dn"]),
            ],
            ("g5.xlarge",),
        ),
        ([("node.kubernetes.io/instance-type", "In", ["t3.large"])], ("t3.large",)),
    ],
)  # fmt: skip
def test_types_that_requirements_leave(
    requirements: list[tuple[str, str, list[str]]], types: tuple[str, ...]
) -> None:
    given = [{"key": k, "operator": o, "values": v} for k, o, v in requirements]
    (read,) = read_with(KARPENTER, merged(POOL, **{REQUIREMENTS: given}))

    (nodes,) = read.items
    assert isinstance(nodes, NodeSet)
    assert isinstance(nodes.instance_types, tuple)
    assert sorted(nodes.instance_types) == sorted(types)


CATEGORY = "karpenter.k8s.aws/instance-category"


@pytest.mark.parametrize(
    ("requirements", "leaves"),
    [
        ([("karpenter.sh/capacity-type", "In", ["spot"])], True),
        ([(CATEGORY, "In", ["c", "g"])], True),
        ([(CATEGORY, "NotIn", ["t"])], True),
        ([(CATEGORY, "In", ["c", "m", "r"])], False),
        ([("karpenter.k8s.aws/instance-gpu-count", "DoesNotExist", [])], False),
        ([("node.kubernetes.io/instance-type", "In", ["g5.xlarge"])], False),
        ([("node.kubernetes.io/instance-type", "In", ["m5.large"])], False),
    ],
)
def test_a_pool_that_asks_for_no_gpus_may_launch_some(
    requirements: list[tuple[str, str, list[str]]], leaves: bool
) -> None:
    given = [{"key": k, "operator": o, "values": v} for k, o, v in requirements]
    (read,) = read_with(KARPENTER, merged(POOL, **{REQUIREMENTS: given}))

    (nodes,) = read.items
    assert isinstance(nodes, NodeSet)
    assert nodes.leaves_gpus is leaves


def test_a_provisioner_takes_no_gpus_unless_it_is_told_to() -> None:
    pool = merged(POOL, kind="Provisioner", **{REQUIREMENTS: []})
    (read,) = read_with(KARPENTER, {**pool, "apiVersion": "karpenter.sh/v1alpha5"})

    (nodes,) = read.items
    assert isinstance(nodes, NodeSet)
    assert not nodes.leaves_gpus


def test_what_a_template_fills_in_is_not_known() -> None:
    given = [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": UNKNOWN}]
    pool = {**POOL, "spec": {"template": {**POOL["spec"]["template"]}}}
    pool["spec"]["template"]["spec"] = {**pool["spec"]["template"]["spec"], "requirements": given}
    (read,) = read_with(KARPENTER, pool)

    (nodes,) = read.items
    assert isinstance(nodes, NodeSet)
    assert nodes.instance_types is UNKNOWN
    alias = {**CLASS, "spec": {**CLASS["spec"], "amiSelectorTerms": [{"alias": UNKNOWN}]}}
    (unseen,) = read_with(KARPENTER, alias)[0].judgements
    assert isinstance(unseen, NotSeen)


RIGHT: list[dict[str, Any]] = [
    POOL,
    CLASS,
    OVERLAY,
    merged(POOL, spec__replicas=2, spec__limits={"nodes": 4}),
    merged(POOL, spec__limits={"nvidia.com/gpu.shared": "40", "example.com/camera": 4}),
    merged(POOL, spec__limits={"vpc.amazonaws.com/efa": 4}, **{REQUIREMENTS: [
        {"key": "node.kubernetes.io/instance-type", "operator": "In",
         "values": ["g5.xlarge", "p4d.24xlarge"]},
    ]}),
    merged(POOL, spec__template__spec__startupTaints=[
        {"key": "ebs.csi.aws.com/agent-not-ready", "effect": "NoExecute"}
    ]),
    merged(POOL, spec__disruption={
        "consolidationPolicy": "Balanced", "consolidateAfter": "1m",
        "budgets": [{"nodes": "0", "reasons": ["Underutilized"]}],
    }),
    merged(POOL, spec__limits=..., spec__replicas=2),
    # Of a pool that is for anything, and does not say that it is for GPUs.
    merged(POOL, spec__limits=..., spec__template__metadata__labels={"team": "research"},
           **{REQUIREMENTS: []}),
    merged(POOL, spec__disruption={"budgets": [{"nodes": "10%"}], "consolidateAfter": "Never"}),
    merged(POOL, spec__template__metadata__labels={"nvidia.com/mig.config": "all-1g.5gb"}),
    merged(POOL, **{TAINTS: [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]}),
    required({"key": "nvidia.com/gpu.present", "operator": "In", "values": ["true"]}),
    required({"key": "nvidia.com/gpu.product", "operator": "DoesNotExist"}),
    required({"key": "nvidia.com/gpu", "operator": "In", "values": ["true"]}),
    required({"key": "nvidia.com/mig.config", "operator": "In", "values": ["all-balanced"]}),
    required({"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "Gt", "values": ["0"]}),
    required({"key": "team", "operator": "Exists"}),
    merged(CLASS, spec__amiSelectorTerms=[{"alias": "bottlerocket@v1.57.0"}]),
    merged(CLASS, spec__amiSelectorTerms=[{"id": "ami-0123456789"}], spec__amiFamily="AL2023"),
    merged(POOL, spec__template__spec__startupTaints=[
        {"key": "nvidia.com/gpu", "effect": "NoExecute"}
    ]),
    merged(CLASS, spec__amiSelectorTerms=[{"alias": "windows2022@latest"}]),
    merged(CLASS, spec__kubelet={"maxPods": 110}, spec__userData="#!/bin/sh\n"),
    merged(OVERLAY, spec__capacity=..., spec__price="1.5"),
]  # fmt: skip


@pytest.mark.parametrize("value", RIGHT)
def test_right_objects_pass(value: dict[str, Any]) -> None:
    assert ids(read_with(KARPENTER, value)) == []


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("GPU1050", merged(POOL, apiVersion="karpenter.sh/v1beta1")),
    ("GPU1050", merged(CLASS, apiVersion="karpenter.k8s.aws/v1beta1")),
    ("GPU1050", {"apiVersion": "karpenter.sh/v1alpha5", "kind": "Provisioner", "spec": {}}),
    ("GPU1050", {"apiVersion": "karpenter.sh/v1alpha5", "kind": "Machine", "spec": {}}),
    ("GPU1050", {"apiVersion": "karpenter.k8s.aws/v1alpha1", "kind": "AWSNodeTemplate"}),
    ("GPU1051", {"apiVersion": "karpenter.sh/v1alpha5", "kind": "NodeTemplate", "spec": {}}),
    ("GPU1051", {"apiVersion": "karpenter.sh/v1", "kind": "NodeGroup", "spec": {}}),
    ("GPU1051", {"apiVersion": "karpenter.k8s.aws/v1", "kind": "NodePool", "spec": {}}),
    ("GPU1051", merged(CLASS, apiVersion="karpenter.sh/v1")),
    ("GPU1052", merged(POOL, spec__ttlSecondsAfterEmpty=300)),
    ("GPU1052", merged(POOL, spec__disruption__expireAfter="720h")),
    ("GPU1052", merged(POOL, spec__template__spec__kubelet={"maxPods": 20})),
    ("GPU1052", merged(POOL, spec__template__spec__taint=[])),
    ("GPU1052", merged(CLASS, spec__securityGroupSelector={"a": "b"})),
    ("GPU1052", merged(CLASS, spec__instanceTypes=["g5.xlarge"])),
    ("GPU1052", merged(OVERLAY, spec__requirement=[])),
    ("GPU1053", merged(POOL, spec__disruption__consolidationPolicy="WhenUnderutilized")),
    ("GPU1053", merged(POOL, **{TAINTS: [{"key": "a", "value": True, "effect": "NoSchedule"}]})),
    ("GPU1053", merged(POOL, **{TAINTS: [{"key": "a", "effect": "NO_SCHEDULE"}]})),
    ("GPU1053", merged(POOL, **{TAINTS: [{"key": "a", "value": "b"}]})),
    ("GPU1053", merged(POOL, spec__template__metadata__labels={"nvidia.com/gpu": True})),
    ("GPU1053", merged(POOL, spec__template__spec__nodeClassRef={"name": "gpu", "kind": "N"})),
    ("GPU1053", merged(POOL, spec__template__spec__nodeClassRef=...)),
    ("GPU1053", merged(CLASS, spec__amiSelectorTerms=..., spec__amiFamily="AL2023")),
    ("GPU1053", merged(CLASS, spec__amiFamily="AmazonLinux2023")),
    ("GPU1053", merged(POOL, spec__disruption__consolidateAfter="5")),
    ("GPU1053", merged(POOL, spec__disruption__budgets=[{"nodes": "10%"}, {"nodes": "ten"}])),
    ("GPU1053", merged(POOL, spec__disruption__budgets=[{"nodes": "1", "reasons": ["Spot"]}])),
    ("GPU1053", required({"key": "team", "operator": "in", "values": ["a"]})),
    ("GPU1053", required({"key": "team", "operator": "In"})),
    ("GPU1053", required({"key": "team", "operator": "In", "values": "a"})),
    ("GPU1053", required({"key": "team", "operator": "Gt", "values": [3]})),
    ("GPU1054", required({"key": "nvidia.com/gpu", "operator": "Exists"})),
    ("GPU1054", required(
        {"key": "nvidia.com/gpu", "operator": "In", "values": ["true"]}, named=False
    )),
    ("GPU1054", required({"key": "nvidia.com/gpu", "operator": "Gt", "values": ["0"]})),
    ("GPU1054", required({"key": "nvidia.com/mig-1g.5gb", "operator": "Exists"})),
    ("GPU1055", required({"key": "nvidia.com/gpu.product", "operator": "In", "values": ["L4"]})),
    ("GPU1055", required({"key": "nvidia.com/gpu.memory", "operator": "Gt", "values": ["20000"]})),
    ("GPU1055", required({"key": "nvidia.com/mig.capable", "operator": "Exists"})),
    ("GPU1055", required(
        {"key": "feature.node.kubernetes.io/pci-10de.present", "operator": "In", "values": ["true"]}
    )),
    ("GPU1069", merged(POOL, **{REQUIREMENTS: [
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g5.3xlarge"]}
    ]})),
    ("GPU1072", merged(CLASS, spec__amiSelectorTerms=[{"alias": "al2@v20250610"}])),
    ("GPU1077", merged(POOL, spec__template__metadata__labels={"nvidia.com/gpu.product": "A10G"})),
    ("GPU1078", merged(POOL, spec__limits=...)),
    ("GPU1056", merged(CLASS, spec__amiSelectorTerms=[{"alias": "al2023@latest"}])),
    ("GPU1056", merged(CLASS, spec__amiSelectorTerms=[{"alias": "bottlerocket@latest"}])),
    ("GPU1056", merged(
        CLASS,
        spec__amiSelectorTerms=[{"name": "amazon-eks-node-al2023-*"}],
        spec__amiFamily="AL2023",
    )),
    ("GPU1056", merged(CLASS, spec__amiSelectorTerms=[
        {"ssmParameter": "/aws/service/bottlerocket/aws-k8s-1.35-nvidia/x86_64/latest/image_id"}
    ], spec__amiFamily="Bottlerocket")),
    ("GPU1056", merged(
        CLASS, spec__amiSelectorTerms=[{"tags": {"release": "7"}}], spec__amiFamily="AL2023"
    )),
    ("GPU1057", merged(POOL, spec__limits={"nodes": 2})),
    ("GPU1057", merged(POOL, spec__limits={"gpu": 2})),
    ("GPU1057", merged(POOL, spec__limits={"amd.com/gpu": 2})),
    ("GPU1057", merged(POOL, spec__limits={"vpc.amazonaws.com/efa": 2})),
    ("GPU1058", merged(POOL, spec__template__spec__startupTaints=[
        {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    ])),
    ("GPU1058", merged(POOL, **{TAINTS: [
        {"key": "nvidia.com/gpu", "effect": "NoSchedule"},
        {"key": "ebs.csi.aws.com/agent-not-ready", "effect": "NoExecute"},
    ]})),
    ("GPU1059", merged(POOL, spec__template__spec__nodeClassRef={
        "group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"
    })),
    ("GPU1060", merged(OVERLAY, spec__capacity={"cpu": "8"})),
    ("GPU1060", merged(OVERLAY, spec__capacity=...)),
    ("GPU1060", merged(OVERLAY, spec__price="1", spec__priceAdjustment="-5%")),
    ("GPU1061", merged(CLASS, spec__amiSelectorTerms=[{"alias": "al2023"}])),
    ("GPU1061", merged(CLASS, spec__amiSelectorTerms=[{"alias": "ubuntu@v20261114"}])),
    ("GPU1061", merged(CLASS, spec__amiSelectorTerms=[{"alias": "al2023@20261114"}])),
]  # fmt: skip


@pytest.mark.parametrize(("code", "value"), WRONG)
def test_one_thing_is_wrong(code: str, value: dict[str, Any]) -> None:
    assert ids(read_with(KARPENTER, value)) == [code]


def test_a_provisioner_is_told_key_by_key_what_it_becomes() -> None:
    (problem,) = problems(
        read_with(
            KARPENTER,
            """
            apiVersion: karpenter.sh/v1alpha5
            kind: Provisioner
            metadata: {name: gpu}
            spec:
              providerRef: {name: gpu}
              requirements: [{key: team, operator: In, values: [a]}]
              limits: {resources: {cpu: 100}}
              ttlSecondsAfterEmpty: 30
            """,
        )
    )

    assert problem.message == (
        "Provisioner of karpenter.sh/v1alpha5 is not served since Karpenter 0.33."
    )
    assert problem.fix == (
        "Write a NodePool of karpenter.sh/v1 in its place. Move spec.requirements to "
        "spec.template.spec.requirements; spec.limits.resources to spec.limits; spec.providerRef "
        "to spec.template.spec.nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: "
        "gpu}; spec.ttlSecondsAfterEmpty to spec.disruption: {consolidationPolicy: WhenEmpty, "
        "consolidateAfter: 30s}."
    )


def test_what_is_certain_has_an_edit() -> None:
    wrong = merged(POOL, **{TAINTS: [{"key": "a", "value": True, "effect": "NO_SCHEDULE"}]})
    found = problems(read_with(KARPENTER, wrong))

    place = ("spec", "template", "spec", "taints", 0)
    assert [edit for each in found for edit in each.edits] == [
        Edit("set", (*place, "value"), "true"),
        Edit("set", (*place, "effect"), "NoSchedule"),
    ]


MARKS = ("nvidia.com/gpu.present", "nvidia.com/device-plugin.config", "nvidia.com/mig.config")
ARCH = {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}
CAPACITY = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}
FAMILY = {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["g6"]}


@pytest.mark.parametrize(
    ("requirements", "expected"),
    [
        ([], ["GPU1084"]),
        ([CAPACITY, ARCH], ["GPU1084"]),
        ([FAMILY], []),
        ([{"key": "node.kubernetes.io/instance-type", "operator": "Exists"}], []),
        ([{"key": UNKNOWN, "operator": "In", "values": ["g5.xlarge"]}], []),
        ([UNKNOWN], []),
    ],
)
def test_a_pool_for_gpus_launches_nodes_with_gpus(requirements: Any, expected: list[str]) -> None:
    for mark in MARKS:
        pool = merged(
            POOL, spec__template__metadata__labels={mark: "x"}, **{REQUIREMENTS: requirements}
        )

        assert [each for each in ids(read_with(KARPENTER, pool)) if each in _TYPES] == expected


_TYPES = ("GPU1084", "GPU1085")


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (ARCH, ["GPU1085"]),
        (FAMILY, ["GPU1085"]),
        ({**ARCH, "values": ["arm64", "amd64"]}, []),
        ({**ARCH, "operator": "NotIn"}, []),
        ({**ARCH, "values": UNKNOWN}, []),
        ({**ARCH, "values": [UNKNOWN]}, []),
    ],
)
def test_requirements_leave_a_type_that_they_name(more: Any, expected: list[str]) -> None:
    found = ids(read_with(KARPENTER, required(more)))

    assert [each for each in found if each in _TYPES] == expected


def test_of_images_that_are_not_known_nothing_is_said_of_their_family() -> None:
    text = (
        "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: a}\nspec:\n"
        "  role: r\n  amiSelectorTerms: TERMS\n  subnetSelectorTerms: [{id: subnet-1}]\n"
        "  securityGroupSelectorTerms: [{id: sg-1}]\n"
    )

    def said(terms: str) -> bool:
        found = found_in({"a.yaml": text.replace("TERMS", terms)})
        return any("amiFamily is not given" in each.message for each in found)

    assert said("[{id: ami-1}]")
    assert not any(map(said, ("$TERMS", "[{alias: $ALIAS}]", "[]")))
