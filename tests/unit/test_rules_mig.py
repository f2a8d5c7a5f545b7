"""Rules about MIG layouts, each on both sides."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from finding_examples import base, checked, findings, stack_file_text

from eks_gpushare.catalog import Catalog
from eks_gpushare.documents.helm import merge_values

if TYPE_CHECKING:
    from eks_gpushare.catalog import Gpu, InstanceType
    from eks_gpushare.catalog.mig import MigModel
    from eks_gpushare.findings.finding import Finding

P4D, P5 = "p4d.24xlarge", "p5.48xlarge"


def pool(*types: str, layout: Any, **sharing: Any) -> dict[str, Any]:
    block = {"mode": "mig", "layout": layout, **sharing}
    return {"pools": {"gpu": {"instanceTypes": list(types), "sharing": block}}}


def mig_findings(fragment: dict[str, Any]) -> list[Finding]:
    report = checked(stack_file_text(merge_values(base(), fragment)))
    return [found for found in report.findings if "GPU220" <= found.code <= "GPU239"]


def codes(fragment: dict[str, Any]) -> set[str]:
    return {found.code for found in mig_findings(fragment)}


def test_a_full_layout_with_strategy_single_has_nothing_to_say() -> None:
    assert codes(pool(P4D, layout={"7g.40gb": 1}, strategy="single")) == set()


@pytest.mark.parametrize(
    ("layout", "code", "path"),
    [
        ("all-1g.18gb", "GPU220", ""),
        ({"1g.10gb+me": 1}, "GPU221", '["1g.10gb+me"]'),
        ({"3g.20gb": 2, "1g.5gb": 1}, "GPU222", ""),
        ({"1g.5gb": 8}, "GPU222", ""),
        ({"1g.5gb+me": 2}, "GPU223", ""),
        ([{"gpus": [8], "devices": {"1g.5gb": 7}}], "GPU224", "[0].gpus[0]"),
        ([{"gpus": [0, 0], "devices": {"1g.5gb": 7}}], "GPU225", "[0].gpus[1]"),
        ("all-disabled", "GPU226", ""),
        ({}, "GPU226", ""),
        ([{"gpus": [], "devices": {"1g.5gb": 7}}], "GPU226", "[0].gpus"),
        ({"1g.5gb": -1}, "GPU227", '["1g.5gb"]'),
    ],
    ids=str,
)
def test_a_wrong_layout_is_refused_at_its_place(
    layout: Any,
    code: str,
    path: str,
) -> None:
    found = mig_findings(pool(P4D, layout=layout))

    assert [(f.code, f.path, f.severity) for f in found] == [
        (code, f"pools.gpu.sharing.layout{path}", "error")
    ]


def test_types_with_the_same_gpus_are_told_once() -> None:
    fragment = pool("p5e.48xlarge", "p5en.48xlarge", layout={"1g.18gb": 8})

    assert [found.code for found in mig_findings(fragment)] == ["GPU222"]


def test_a_gpu_without_mig_is_told_by_another_rule() -> None:
    assert codes(pool("g5.xlarge", layout="all-balanced")) == set()
    assert len(findings(pool("g5.xlarge", layout="all-balanced"), "GPU203")) == 1


def test_an_ultraserver_is_told_by_another_rule() -> None:
    assert codes(pool("p6e-gb200.36xlarge", layout="all-balanced")) == set()
    assert any(
        path == "pools.gpu.sharing.mode"
        for path, _ in findings(pool("p6e-gb200.36xlarge", layout="all-balanced"), "GPU106")
    )


def test_single_knows_one_profile() -> None:
    assert findings(pool(P4D, layout="all-balanced", strategy="single"), "GPU228") == [
        (
            "pools.gpu.sharing.strategy",
            "The layout makes 3g.20gb, 2g.10gb and 1g.5gb on p4d.24xlarge; single knows one.",
        )
    ]


def test_single_knows_one_profile_and_not_two() -> None:
    layout = {"2g.10gb": 3, "1g.5gb": 1}
    (found,) = findings(pool(P4D, layout=layout, strategy="single"), "GPU228")

    assert found[1] == "The layout makes 2g.10gb and 1g.5gb on p4d.24xlarge; single knows one."
    assert findings(pool(P4D, layout={"2g.10gb": 3}, strategy="single"), "GPU228") == []


def test_single_leaves_no_gpu_whole() -> None:
    some = [{"gpus": [0, 1, 2, 3, 4, 5, 6], "devices": {"1g.5gb": 7}}]

    assert findings(pool(P4D, layout=some, strategy="single"), "GPU228") == [
        (
            "pools.gpu.sharing.strategy",
            "On p4d.24xlarge GPU 7 stays whole beside 1g.5gb; single needs all cut.",
        )
    ]
    assert findings(pool(P4D, layout=some), "GPU228") == []


def test_types_of_unlike_gpus_make_a_layout_ambiguous() -> None:
    fragment = pool(P4D, "p4de.24xlarge", layout="all-balanced")
    fragment["pools"]["gpu"]["provisioner"] = "existing"

    assert findings(fragment, "GPU229") == [
        (
            "pools.gpu.instanceTypes",
            (
                "The layout means something else on each kind of GPU: p4d.24xlarge: A100-40GB; "
                "p4de.24xlarge: A100-80GB."
            ),
        )
    ]


def test_a_list_of_gpus_means_something_else_where_there_are_more() -> None:
    listed = [{"gpus": [0], "devices": {"1g.10gb": 7}}]
    fragment = pool("p5.4xlarge", P5, layout=listed)
    fragment["pools"]["gpu"]["provisioner"] = "existing"
    [(_, message)] = findings(fragment, "GPU229")

    assert message.endswith("p5.4xlarge: H100-80GB x 1; p5.48xlarge: H100-80GB x 8.")


def test_devices_on_every_gpu_mean_the_same_on_one_gpu_and_on_eight() -> None:
    fragment = pool("p5.4xlarge", P5, layout="all-1g.10gb")
    fragment["pools"]["gpu"]["provisioner"] = "existing"

    assert findings(fragment, "GPU229") == []


def test_unlike_gpus_of_a_node_group_are_told_by_another_rule() -> None:
    fragment = pool(P4D, "p4de.24xlarge", layout="all-balanced")

    assert findings(fragment, "GPU229") == []
    assert len(findings(fragment, "GPU103")) == 1


def test_pods_of_mixed_devices_write_their_toleration() -> None:
    assert findings(pool(P4D, layout="all-balanced"), "GPU230") == [
        (
            "pools.gpu.sharing.strategy",
            (
                "Pods ask for nvidia.com/mig-1g.5gb, nvidia.com/mig-2g.10gb and "
                "nvidia.com/mig-3g.20gb here, for which EKS adds no toleration of the taint "
                "nvidia.com/gpu."
            ),
        )
    ]


def test_renamed_shares_of_single_devices_need_the_toleration_too() -> None:
    turns = {"replicas": 2, "rename": True}
    fragment = pool(P4D, layout="all-1g.5gb", strategy="single", timeSlicing=turns)
    [(_, message)] = findings(fragment, "GPU230")

    assert message.startswith("Pods ask for nvidia.com/gpu.shared here")


@pytest.mark.parametrize("taints", [[], [{"key": "team", "value": "a", "effect": "NoSchedule"}]])
def test_without_the_taint_no_toleration_is_needed(taints: list[dict[str, str]]) -> None:
    fragment = pool(P4D, layout="all-balanced")
    fragment["pools"]["gpu"]["taints"] = taints

    assert findings(fragment, "GPU230") == []


@pytest.mark.parametrize(
    ("layout", "left"),
    [
        ({"1g.5gb": 7}, "{1g.5gb: 7} leaves 1 of 8 memory slices (5 GB)"),
        ({"3g.20gb": 2}, "{3g.20gb: 2} leaves 1 of 7 compute slices"),
        (
            {"1g.5gb": 3},
            "{1g.5gb: 3} leaves 4 of 7 compute slices and 5 of 8 memory slices (25 GB)",
        ),
    ],
    ids=str,
)
def test_slices_that_nobody_has_are_counted(layout: dict[str, int], left: str) -> None:
    assert findings(pool(P4D, layout=layout), "GPU231") == [
        ("pools.gpu.sharing.layout", f"{left} of the A100-40GB unused.")
    ]


def test_what_could_be_added_is_named() -> None:
    [found] = [f for f in mig_findings(pool(P4D, layout={"4g.20gb": 1})) if f.code == "GPU231"]

    assert found.fix == (
        "Add 1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb or 3g.20gb, unless this is meant."
    )


def test_a_geometry_that_is_not_published_is_a_warning() -> None:
    [(path, message)] = findings(pool("p6-b300.48xlarge", layout="all-1g.34gb"), "GPU232")

    assert path == "pools.gpu.sharing.layout"
    assert message.startswith("The MIG geometry of the B300-269GB in p6-b300.48xlarge is prelim")


@pytest.mark.parametrize("instance", [P4D, P5, "p6-b200.48xlarge", "g7e.2xlarge"])
def test_a_published_geometry_is_none(instance: str) -> None:
    assert findings(pool(instance, layout="all-balanced"), "GPU232") == []


def gb300(family: str) -> dict[str, Any]:
    gpu = {
        "model": "GB300",
        "count": 4,
        "memoryMiB": 284672,
        "computeCapability": "10.3",
        "mig": True,
    }
    new = {"vcpus": 144, "memoryMiB": 983040, "arch": "arm64", "maxPods": 100, "gpu": gpu}
    fragment = pool("p9.36xlarge", layout="all-balanced")
    fragment["pools"]["gpu"]["amiFamily"] = family
    return {**fragment, "catalog": {"instanceTypes": {"p9.36xlarge": new}}}


def test_a_gpu_whose_mig_is_newer_than_the_driver_is_refused() -> None:
    assert findings(gb300("al2023"), "GPU233") == [
        (
            "pools.gpu.instanceTypes[0]",
            (
                "MIG on the GB300-278GB of p9.36xlarge needs driver 595 or later; the al2023 AMI "
                "of EKS has 580."
            ),
        )
    ]


@pytest.mark.parametrize(("needed", "refused"), [(579, 0), (580, 0), (581, 1)])
def test_the_driver_that_mig_needs_is_enough(
    needed: int, refused: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Catalog.mig_model

    def model(self: Catalog, gpu: Gpu) -> MigModel | None:
        of_gpu = found(self, gpu)
        return of_gpu and replace(of_gpu, driver_min=needed)

    monkeypatch.setattr(Catalog, "mig_model", model)

    assert len(findings(gb300("al2023"), "GPU233")) == refused


@pytest.mark.parametrize(("known_from", "refused"), [(580, 1), (581, 0)])
def test_a_driver_that_knows_the_gpu_may_not_know_its_mig(
    known_from: int, refused: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Catalog.find

    def find(self: Catalog, name: str) -> InstanceType | None:
        of_name = found(self, name)
        return of_name and replace(of_name, driver_min=known_from)

    monkeypatch.setattr(Catalog, "find", find)

    assert len(findings(gb300("al2023"), "GPU233")) == refused


@pytest.mark.parametrize("wanted", ["p4d.huge", "m5.large", "g5.xlarge", "p6e-gb200.36xlarge"])
def test_of_types_without_mig_no_driver_is_asked(wanted: str) -> None:
    assert findings(pool(wanted, layout="all-balanced"), "GPU233") == []


def test_the_driver_of_nodes_of_others_is_theirs() -> None:
    fragment = gb300("al2023")
    fragment["pools"]["gpu"] |= {"provisioner": "existing", "nodes": None}

    assert findings(fragment, "GPU233") == []


def test_the_driver_of_a_custom_ami_is_its_owners_business() -> None:
    assert findings(gb300("custom"), "GPU233") == []


def test_a_gpu_that_the_driver_does_not_know_at_all_is_told_by_another_rule() -> None:
    fragment = pool("g7.2xlarge", layout="all-1g.16gb")
    fragment["pools"]["gpu"]["amiVersion"] = None

    assert findings(fragment, "GPU233") == []
    assert len(findings(fragment, "GPU105")) == 1
