"""Tenants: their namespaces, what holds them to their contracts, and who is let in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pulumi

from eks_gpushare.program.values import to_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

SHARED = {
    "instance_types": ["g6.4xlarge"],
    "nodes": {"min": 1, "desired": 1, "max": 1},
    "sharing": {"mode": "timeSlicing", "replicas": 8, "rename": True},
}
POLICIES = {
    f"{kind}AdmissionPolicy{rest}"
    for kind in ("Validating", "Mutating")
    for rest in ("", "Binding")
}
ROLE = "arn:aws:iam::111122223333:role/Team"
TEAM = {"namespaces": ["team"], "pools": {"gpu": {"guaranteed": {"shares": 4}}}}


def alone(record: Callable[..., Run], *, fails: bool = False, **given: Any) -> Run:
    def program() -> None:
        import pulumi_kubernetes

        from eks_gpushare import Tenants

        provider = pulumi_kubernetes.Provider("cluster", kubeconfig="{}")
        args: Any = {"tenants": {"team": TEAM}, "pools": {"gpu": SHARED}, **given}
        Tenants("demo", args, pulumi.ResourceOptions(providers=[provider]))

    return record(program, fails=fails)


def test_what_is_registered(record: Callable[..., Run], golden: Callable[[str, str], None]) -> None:
    other = {**TEAM, "namespaces": ["other"], "cost": {"center": "4711"}, "admins": [ROLE]}
    run = alone(
        record,
        cluster_name="cluster",
        region="us-west-2",
        tenants={"team": {**TEAM, "admins": [ROLE]}, "other": other},
    )

    made = [
        {"urn": each.urn.split("::", 2)[2], "inputs": to_json(each.inputs)}
        for each in run.recording.resources
        if "Tenants" in each.urn
    ]
    golden("components/tenants.json", json.dumps(made, indent=2) + "\n")


def test_an_admin_of_two_tenants_has_one_access_entry(record: Callable[..., Run]) -> None:
    two = {name: {**TEAM, "namespaces": [name], "admins": [ROLE]} for name in ("team", "other")}
    run = alone(record, cluster_name="cluster", tenants=two)

    (entry,) = run.all("AccessEntry")
    groups = to_json(entry.inputs)["kubernetesGroups"]
    assert groups == ["eks-gpushare:tenant:team", "eks-gpushare:tenant:other"]


def test_admins_need_the_name_of_a_cluster(record: Callable[..., Run]) -> None:
    run = alone(record, fails=True, tenants={"team": {**TEAM, "admins": [ROLE]}})

    assert "cluster_name: Admins get access entries" in str(run.recording.error)


def test_what_the_pools_do_not_have_is_refused(record: Callable[..., Run]) -> None:
    more = {**TEAM, "pools": {"gpu": {"guaranteed": {"shares": 9}}}}
    run = alone(record, fails=True, tenants={"team": more})

    assert "sure of 9 of nvidia.com/gpu.shared, and the pool has 8 at most" in str(
        run.recording.error
    )


def test_a_workload_of_a_tenant_makes_no_second_namespace(
    environment: Callable[..., Run],
) -> None:
    run = environment(
        preview=False,
        pools={"gpu": SHARED},
        tenants={"team": TEAM},
        workloads={"model": {"pool": "gpu", "image": "model:1", "namespace": "team"}},
    )

    names = [to_json(each.inputs)["metadata"]["name"] for each in run.all("Namespace")]
    assert names.count("team") == 1


def test_with_tenants_the_network_enforces_their_policies(environment: Callable[..., Run]) -> None:
    run = environment(pools={"gpu": SHARED}, tenants={"team": TEAM})
    without = environment(pools={"gpu": SHARED})

    options, plain = (
        to_json(each.recording.of_type("eks:index:Cluster")[0].inputs)["vpcCniOptions"]
        for each in (run, without)
    )
    assert options["configurationValues"] == {"enableNetworkPolicy": "true"}
    assert "configurationValues" not in plain


def test_a_version_without_admission_policies_is_refused(record: Callable[..., Run]) -> None:
    run = alone(record, fails=True, version="1.29")

    assert "version: EKS no longer supports Kubernetes 1.29" in str(run.recording.error)


def test_a_tenant_without_admission_has_no_policies(record: Callable[..., Run]) -> None:
    held = alone(record, version="1.36")
    free = alone(record, version="1.36", tenants={"team": {**TEAM, "admission": False}})

    assert {kind for kind in POLICIES if held.all(kind)} == POLICIES
    assert not [kind for kind in POLICIES if free.all(kind)]


def test_a_tenant_with_a_queue_has_namespaces_each_with_its_guards(
    record: Callable[..., Run],
) -> None:
    two = {**TEAM, "namespaces": ["one", "two"], "queue": True}
    run = alone(record, tenants={"team": two})

    urns = [each.urn for each in run.recording.resources]
    assert len({*urns}) == len(urns)
    names = [to_json(each.inputs)["metadata"]["namespace"] for each in run.all("NetworkPolicy")]
    assert sorted(names) == ["one", "one", "two", "two"]


def test_a_namespace_of_others_is_labelled_and_guarded_and_not_made(
    record: Callable[..., Run],
) -> None:
    """A patch goes with its labels, and leaves the namespace."""
    old = {**TEAM, "namespaces": ["new"], "existing_namespaces": ["old"], "queue": True}
    run = alone(record, tenants={"team": old})

    made, patched = (
        [to_json(each.inputs)["metadata"] for each in run.all(kind)]
        for kind in ("core/v1:Namespace", "core/v1:NamespacePatch")
    )
    names = [each["name"] for each in made]
    assert "new" in names
    assert "old" not in names
    assert [each["name"] for each in patched] == ["old"]
    assert patched[0]["labels"] == next(e for e in made if e["name"] == "new")["labels"]
    guarded = {to_json(each.inputs)["metadata"]["namespace"] for each in run.all("ResourceQuota")}
    assert guarded == {"new", "old"}


def test_a_workload_in_a_namespace_of_others_makes_none(environment: Callable[..., Run]) -> None:
    run = environment(
        preview=False,
        pools={"gpu": SHARED},
        tenants={"team": {"existing_namespaces": ["old"], "pools": TEAM["pools"]}},
        workloads={"model": {"pool": "gpu", "image": "model:1", "namespace": "old"}},
    )

    made = run.all("core/v1:Namespace")
    assert "old" not in [to_json(each.inputs)["metadata"]["name"] for each in made]
