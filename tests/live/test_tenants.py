"""What holds tenants to their contracts: missing or changed, it is told once, and by whom."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.live.test_declared import told_of
from tests.live.test_faults import HEALTHY, objects_of
from tests.live.test_faults import STACK as WITHOUT_TENANTS

from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.live.checks.tenants import _declared, tenant_faults, unread_kinds
from eks_gpushare.live.checks.uncreated import not_created_faults
from eks_gpushare.live.faults import causes_of
from eks_gpushare.live.objects import ClusterObjects
from eks_gpushare.live.verdict import verdict_of

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
STACK = read_stack(ROOT / "stacks" / "Pulumi.tenants.yaml")
KINDS = {
    *("Namespace", "ResourceQuota", "NetworkPolicy", "ConfigMap", "ClusterQueue", "LocalQueue"),
    *("ResourceFlavor", "Cohort"),
    *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
}
ISOLATION = "metadata.labels.eks-gpushare.io/isolation"
PARAMETERS = "eks-gpushare-tenants/vision"
RESOURCES = "spec.resourceGroups.0.flavors.0.resources"
NOW = datetime(2026, 11, 27, tzinfo=UTC)

Object = dict[str, Any]


def cluster() -> list[Object]:
    """What the stack makes for its tenants, as an API server gives it back."""
    found = [copy.deepcopy(each.document) for each in _declared(STACK)]
    for each in found:
        each["metadata"]["uid"] = "1"
        each["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = "x"
        if each["kind"] == "ValidatingAdmissionPolicy":
            each["spec"]["matchConstraints"]["matchPolicy"] = "Equivalent"
        if each["kind"] == "ClusterQueue":  # amounts are texts there
            for resource in counted(each):
                resource |= {key: str(resource[key]) for key in ("nominalQuota", "borrowingLimit")}
    return found


def counted(queue: Object) -> list[Object]:
    """What a ClusterQueue has of each resource of each flavor."""
    groups = queue["spec"]["resourceGroups"]
    flavors = [flavor for group in groups for flavor in group["flavors"]]
    return [resource for flavor in flavors for resource in flavor["resources"]]


def listed(every: list[Object], *without: str) -> ClusterObjects:
    kinds = {kind: tuple(e for e in every if e["kind"] == kind) for kind in KINDS - {*without}}
    return ClusterObjects("a cluster", NOW, json.loads(json.dumps(kinds)))


def get(every: list[Object], kind: str, name: str, space: str = "") -> Object:
    return next(
        each
        for each in every
        if (each["kind"], each["metadata"]["name"]) == (kind, name)
        and each["metadata"].get("namespace", "") == space
    )


def told(every: list[Object], *without: str) -> list[tuple[str, str]]:
    found = tenant_faults(listed(every, *without), STACK)
    return [(fault.finding.path, fault.finding.message) for fault in found]


def test_a_stack_without_tenants_has_none() -> None:
    assert list(tenant_faults(listed([]), WITHOUT_TENANTS)) == []
    assert unread_kinds(listed([]), WITHOUT_TENANTS) == {}


def test_what_is_as_declared_is_no_fault(tmp_path: Path) -> None:
    every = cluster()

    assert {each["kind"] for each in every} == KINDS
    assert told(every) == []
    # As what looks from within is told of it, without cost centres and admins.
    assert list(tenant_faults(listed(every), told_of(tmp_path, STACK))) == []


def test_an_amount_may_be_written_in_another_way() -> None:
    every = cluster()
    (first, *_) = counted(get(every, "ClusterQueue", "vision"))
    assert first["nominalQuota"] == "12"

    first["nominalQuota"] = "12000m"
    assert told(every) == []
    first["nominalQuota"] = "12k"
    assert len(told(every)) == 1


def test_what_tenants_get_depends_on_the_version_of_their_cluster(tmp_path: Path) -> None:
    """Since 1.36 pods get their selectors by a policy, whose kind is to be read then."""
    text = (ROOT / "stacks" / "Pulumi.tenants.yaml").read_text(encoding="utf-8")
    file = tmp_path / "Pulumi.stack.yaml"
    file.write_text(text.replace("1.35.8-", "1.36.4-").replace("1.35", "1.36"), encoding="utf-8")
    of_later = read_stack(file)

    assert not of_later.errors
    more = set(unread_kinds(listed([]), of_later)) - set(unread_kinds(listed([]), STACK))
    assert more == {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}


def test_a_value_that_is_long_is_not_told() -> None:
    for length, told_of_it in ((60, True), (61, False)):
        every = cluster()
        labels = get(every, "Namespace", "vision")["metadata"]["labels"]
        labels["eks-gpushare.io/isolation"] = "x" * length

        ((_, message),) = told(every)
        assert ("x" * length in message) is told_of_it
        assert message.startswith(f"Namespace vision: {ISOLATION} is ")


def quota(every: list[Object]) -> None:
    get(every, "ResourceQuota", "gpu-shares", "vision")["spec"]["hard"] |= {
        "requests.nvidia.com/gpu": "8"
    }


def network(every: list[Object]) -> None:
    del get(every, "NetworkPolicy", "tenant", "research")["spec"]["egress"][0]["to"][0]["ipBlock"][
        "except"
    ]


def label(every: list[Object]) -> None:
    get(every, "Namespace", "vision")["metadata"]["labels"]["eks-gpushare.io/isolation"] = "none"


def queue(every: list[Object]) -> None:
    group = get(every, "ClusterQueue", "vision")["spec"]["resourceGroups"][0]
    del group["flavors"][0]["resources"][0]["borrowingLimit"]


def parameters(every: list[Object]) -> None:
    get(every, "ConfigMap", "vision", "eks-gpushare-tenants")["data"]["pools"] += ",notebooks"


def policy(every: list[Object]) -> None:
    each = next(each for each in every if each["kind"] == "ValidatingAdmissionPolicy")
    each["spec"]["validations"][0]["expression"] = "true"


def gone(kind: str, name: str, space: str = "") -> Callable[[list[Object]], None]:
    def go(every: list[Object]) -> None:
        every.remove(get(every, kind, name, space))

    return go


@pytest.mark.parametrize(
    ("change", "tenant", "what"),
    [
        (
            quota,
            "vision",
            "ResourceQuota vision/gpu-shares: spec.hard.requests.nvidia.com/gpu is 8 and not 0, as",
        ),
        (
            network,
            "research",
            "NetworkPolicy research/tenant: spec.egress.0.to.0.ipBlock.except is not as",
        ),
        (
            label,
            "vision",
            f"Namespace vision: {ISOLATION} is none and not isolated, as",
        ),
        (
            queue,
            "vision",
            f"ClusterQueue vision: {RESOURCES}.0.borrowingLimit is missing and not 0, as",
        ),
        (
            parameters,
            "vision",
            f"ConfigMap {PARAMETERS}: data.pools is slices,notebooks and not slices, as",
        ),
        (
            gone("ResourceQuota", "gpu-shares", "research"),
            "research",
            "ResourceQuota research/gpu-shares: missing, which",
        ),
        (
            gone("LocalQueue", "default", "vision"),
            "vision",
            "LocalQueue vision/default: missing, which",
        ),
    ],
)
def test_what_is_other_is_told_with_what_is_declared(
    change: Callable[[list[Object]], None], tenant: str, what: str
) -> None:
    every = cluster()
    change(every)

    message = f"{what} the stack declares for tenants.{tenant}."
    assert told(every) == [(f"tenants.{tenant}", message)]


def test_a_flavor_of_other_nodes_is_told() -> None:
    every = cluster()
    get(every, "ResourceFlavor", "slices")["spec"]["nodeLabels"] = {"eks-gpushare/pool": "other"}

    what = "ResourceFlavor slices: spec.nodeLabels.eks-gpushare/pool is other and not slices"
    assert told(every) == [("tenants", f"{what}, as the stack declares for its tenants.")]


def test_a_policy_that_refuses_nothing_is_told() -> None:
    every = cluster()
    policy(every)

    ((path, message),) = told(every)
    assert path == "tenants"
    assert ": spec.validations.0.expression is true and not size(" in message


def test_of_a_namespace_that_is_gone_nothing_else_is_told() -> None:
    every = [each for each in cluster() if each["metadata"].get("namespace") != "vision"]
    every.remove(get(every, "Namespace", "vision"))

    assert told(every) == [
        (
            "tenants.vision",
            "Namespace vision: missing, which the stack declares for tenants.vision.",
        )
    ]


def test_all_policies_that_are_gone_are_told_once() -> None:
    every = [each for each in cluster() if not each["kind"].startswith("ValidatingAdmission")]

    kind, name = "ValidatingAdmissionPolicy", "eks-gpushare-tenants-pods"
    missing = "missing, which the stack declares for its tenants."
    assert told(every) == [
        ("tenants", f"{kind} {name} and 6 more of its kind: {missing}"),
        ("tenants", f"{kind}Binding {name}-research and 13 more of its kind: {missing}"),
    ]


def test_two_that_are_gone_are_told_by_their_names() -> None:
    every = [
        each
        for each in cluster()
        if (each["kind"], each["metadata"].get("namespace")) != ("NetworkPolicy", "vision")
    ]

    ((_, message),) = told(every)
    assert message.startswith("NetworkPolicy vision/tenant, NetworkPolicy vision/platform: missing")


def test_three_that_are_gone_are_told_by_their_names() -> None:
    kind, start = "ValidatingAdmissionPolicy", "eks-gpushare-tenants-"
    every = cluster()
    for name in ("pods", "variables", "claims"):
        gone(kind, f"{start}{name}")(every)

    listed_names = f"{kind} {start}pods, {kind} {start}variables, {kind} {start}claims"
    message = f"{listed_names}: missing, which the stack declares for its tenants."
    assert told(every) == [("tenants", message)]


def test_what_is_gone_is_told_before_what_may_come_of_something() -> None:
    every = cluster()
    gone("LocalQueue", "default", "vision")(every)
    (missing,) = tenant_faults(listed(every), STACK)
    other = replace(missing, is_cause_only=False, evidence=("something",))

    assert [cause.fault for cause in causes_of([other, missing])] == [missing, other]


def test_of_kinds_that_were_not_read_nothing_is_told() -> None:
    every = cluster()

    assert told([], *KINDS) == []
    assert told(every, "NetworkPolicy") == []
    (what,) = unread_kinds(listed(every, "NetworkPolicy"), STACK).items()
    assert what == (
        "NetworkPolicy",
        "no NetworkPolicy was read, so it is not known whether tenants are held to their contracts",
    )


def test_pods_that_the_changed_quota_refuses_are_told_below_it() -> None:
    every = cluster()
    get(every, "ResourceQuota", "gpu-shares", "vision")["spec"]["hard"]["count/pods"] = "9"
    hard = get(every, "ResourceQuota", "gpu-shares", "vision")["spec"]["hard"]
    hard["requests.nvidia.com/gpu"] = "3"
    said = 'pods "chat-1" is forbidden: exceeded quota: gpu-shares, requested: a'

    def refused(space: str) -> Object:
        container = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
        failed = {"type": "ReplicaFailure", "status": "True", "message": said}
        return {
            "kind": "Deployment",
            "metadata": {"name": "chat", "namespace": space},
            "spec": {"template": {"spec": {"containers": [container]}}},
            "status": {"conditions": [failed]},
        }

    objects = listed(every)
    both = {**objects.by_kind, "Deployment": (refused("vision"), refused("research"))}
    objects = ClusterObjects("a cluster", NOW, both)
    causes = causes_of([*tenant_faults(objects, STACK), *not_created_faults(objects)])

    assert [
        (cause.fault.finding.code, [each.finding.path for each in cause.follows])
        for cause in causes
    ] == [("GPU1370", ['workloads["vision/chat"]']), ("GPU1343", [])]


def test_what_is_promised_by_a_changed_queue_is_told_below_it(tmp_path: Path) -> None:
    """Its pool has 40 shares."""
    given = yaml.safe_load((ROOT / "stacks" / "Pulumi.time-slicing.yaml").read_text("utf-8"))
    contract = {"guaranteed": {"shares": 40}}
    tenant = {"namespaces": ["vision"], "queue": True, "pools": {"gpu": contract}}
    given["config"]["eks-gpushare:environment"]["tenants"] = {"vision": tenant}
    file = tmp_path / "Pulumi.stack.yaml"
    file.write_text(json.dumps(given), encoding="utf-8")
    stack = read_stack(file)
    made = json.loads(json.dumps([each.document for each in _declared(stack)]))
    counted(get(made, "ClusterQueue", "vision"))[0]["nominalQuota"] = "41"

    causes = verdict_of(objects_of([*copy.deepcopy(HEALTHY), *made]), stack).causes
    by_code = {
        each.fault.finding.code: [follows.finding.code for follows in each.follows]
        for each in causes
    }
    assert by_code["GPU1370"] == ["GPU1151"]


def test_who_changed_it_is_evidence() -> None:
    every = cluster()
    quota(every)
    written: Object = {"f:spec": {"f:hard": {"f:requests.nvidia.com/gpu": {}}}}
    get(every, "ResourceQuota", "gpu-shares", "vision")["metadata"]["managedFields"] = [
        {"manager": "kubectl-edit", "time": "2026-11-27T10:00:00Z", "fieldsV1": written}
    ]

    (fault,) = tenant_faults(listed(every), STACK)
    assert fault.evidence == (
        "spec.hard.requests.nvidia.com/gpu set by kubectl-edit at 2026-11-27T10:00:00Z",
    )


@pytest.mark.parametrize(("allowed", "expected"), [("120", []), ("121", ["GPU1151"])])
def test_a_quota_is_held_against_the_nodes_that_a_pool_may_have(
    tmp_path: Path, allowed: str, expected: list[str]
) -> None:
    """One node of three is there, with 40 shares."""
    text = (ROOT / "stacks" / "Pulumi.time-slicing.yaml").read_text(encoding="utf-8")
    file = tmp_path / "Pulumi.stack.yaml"
    file.write_text(text.replace("max: 1", "max: 3"), encoding="utf-8")
    stack = read_stack(file)
    assert stack.plans["gpu"].sizes.max == 3
    given = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "gpus", "namespace": "default"},
        "spec": {"hard": {"requests.nvidia.com/gpu": allowed}},
    }
    objects = objects_of([*copy.deepcopy(HEALTHY), given])

    for told_to in (stack, told_of(tmp_path, stack)):
        found = [c.fault.finding for c in verdict_of(objects, told_to).causes]
        assert [each.code for each in found if each.code == "GPU1151"] == expected
    # Without a stack nobody says how many there may be.
    assert "GPU1151" not in [c.fault.finding.code for c in verdict_of(objects).causes]
