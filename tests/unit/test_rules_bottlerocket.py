"""Rules about Bottlerocket nodes, on both sides of each limit."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import base, checked, findings, stack_file_text

from eks_gpushare.catalog import Catalog
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.sharing.resources import advertised

RELEASE = "1.65.0-0be31b34"


def of(code: str, instance: str = "g5.12xlarge", **keys: Any) -> list[tuple[str, str]]:
    pool = {
        "instanceTypes": [instance],
        "amiFamily": "bottlerocket",
        "amiVersion": RELEASE,
        "sharing": {"mode": "exclusive"},
        **keys,
    }
    return findings({"pools": {"gpu": pool}}, code)


def mig(layout: object, **keys: object) -> dict[str, object]:
    return {"mode": "mig", "layout": layout, "strategy": "single", **keys}


SLICES = {"mode": "timeSlicing", "replicas": 4}
MPS = {"mode": "mps", "replicas": 4}
CHART = {"devicePlugin": "chart"}


# --- releases ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "since", "instance", "keys"),
    [
        ("1.24.1", "1.25.0", "g5.12xlarge", {"sharing": SLICES}),
        ("1.33.0", "1.34.0", "p5.48xlarge", {"sharing": mig("all-1g.10gb")}),
        ("1.39.1", "1.40.0", "p4d.24xlarge", {"sharing": mig("all-1g.10gb")}),
        ("1.39.1", "1.40.0", "p4de.24xlarge", {"sharing": mig("all-1g.20gb")}),
        ("1.53.0", "1.54.0", "g5.12xlarge", {"sharing": MPS}),
        ("1.62.0", "1.63.0", "g5.12xlarge", {"bottlerocket": CHART}),
    ],
)
def test_a_setting_needs_its_release(
    before: str, since: str, instance: str, keys: dict[str, Any]
) -> None:
    assert of("GPU250", instance, amiVersion=f"{since}-0be31b34", **keys) == []
    assert len(of("GPU250", instance, amiVersion=f"{before}-0be31b34", **keys)) == 1


def test_the_message_names_setting_and_release() -> None:
    assert of("GPU250", amiVersion="1.53.0-0be31b34", sharing=MPS) == [
        (
            "pools.gpu.amiVersion",
            (
                'Bottlerocket 1.53.0 does not know device-sharing-strategy = "mps", which came '
                "with 1.54.0."
            ),
        )
    ]


@pytest.mark.parametrize("version", [None, "latest"])
def test_what_is_no_release_is_not_compared(version: str | None) -> None:
    assert of("GPU250", amiVersion=version, sharing=MPS) == []


def test_whole_gpus_run_on_any_release() -> None:
    assert of("GPU250", amiVersion="1.10.0") == []


@pytest.mark.parametrize(
    ("release", "message"),
    [
        ("1.54.0", "Bottlerocket 1.54.0 keeps containers from the MPS daemon."),
        (
            "1.55.0",
            "Bottlerocket 1.55.0 keeps pods that do not run as root from the MPS daemon.",
        ),
    ],
)
def test_the_first_releases_with_mps_kept_pods_from_it(release: str, message: str) -> None:
    assert of("GPU263", amiVersion=release, sharing=MPS) == [("pools.gpu.amiVersion", message)]
    assert of("GPU263", amiVersion="1.61.0", sharing=MPS) == []
    assert of("GPU263", amiVersion=release, sharing=SLICES) == []


def test_an_image_of_ones_own_is_told_the_release_it_needs() -> None:
    ami = {"id": "ami-0123456789abcdef0", "family": "bottlerocket", "driverIncluded": True}
    found = of("GPU261", amiFamily="custom", amiVersion=None, customAmi=ami, sharing=MPS)

    assert found == [
        (
            "pools.gpu.customAmi.id",
            'This pool needs device-sharing-strategy = "mps", which Bottlerocket has since 1.54.0.',
        )
    ]


# --- sharing ----------------------------------------------------------------------------------


def test_several_mps_shares_cannot_be_allowed() -> None:
    assert of("GPU251", sharing={**MPS, "failRequestsGreaterThanOne": False}) == [
        (
            "pools.gpu.sharing.failRequestsGreaterThanOne",
            "Bottlerocket has no setting for it: with MPS it refuses requests for several shares.",
        )
    ]


def test_several_mps_shares_with_the_chart_are_refused_for_the_chart() -> None:
    sharing = {**MPS, "failRequestsGreaterThanOne": False}

    assert of("GPU251", bottlerocket=CHART, sharing=sharing) == []


def test_several_time_sliced_shares_can_be_allowed() -> None:
    assert of("GPU251", sharing={**SLICES, "failRequestsGreaterThanOne": False}) == []


@pytest.mark.parametrize(
    ("instance", "layout", "gpu"),
    [
        ("p6-b200.48xlarge", "all-1g.23gb", "B200 (B200-180GB)"),
        ("p6-b300.48xlarge", "all-1g.34gb", "B300 (B300-269GB)"),
        (
            "g7e.2xlarge",
            "all-1g.24gb",
            "RTX PRO Server 6000 (RTX-PRO-6000-Blackwell-96GB)",
        ),
    ],
)
def test_mig_is_for_the_documented_gpus(instance: str, layout: str, gpu: str) -> None:
    assert of("GPU252", instance, sharing=mig(layout)) == [
        (
            "pools.gpu.sharing.mode",
            f"Bottlerocket documents MIG for A30, A100, H100 and H200; {instance} has {gpu}.",
        )
    ]


@pytest.mark.parametrize(
    ("instance", "layout"),
    [
        ("p4d.24xlarge", "all-3g.20gb"),
        ("p4de.24xlarge", "all-3g.40gb"),
        ("p5.4xlarge", "all-7g.80gb"),
        ("p5e.48xlarge", "all-1g.35gb"),
    ],
)
@pytest.mark.parametrize("code", ["GPU252", "GPU253", "GPU254", "GPU255", "GPU256"])
def test_one_profile_on_every_documented_gpu_is_fine(code: str, instance: str, layout: str) -> None:
    assert of(code, instance, sharing=mig(layout)) == []


def test_single_is_the_default_and_means_what_it_says() -> None:
    pool = {"instanceTypes": ["p4d.24xlarge"], "amiFamily": "bottlerocket", "amiVersion": RELEASE}
    by_default = {"mode": "mig", "layout": "all-1g.5gb"}
    found = Catalog().find("p4d.24xlarge")
    assert found is not None
    for sharing in (by_default, {**by_default, "strategy": "single"}):
        fragment = {"pools": {"gpu": {**pool, "sharing": sharing}}}
        report = checked(stack_file_text(merge_values(base(), fragment)))

        assert report.ok, report.findings
        assert report.environment is not None
        assert advertised(report.environment.pools["gpu"], found, Catalog()) == {
            "nvidia.com/gpu": 56
        }


def test_mixed_is_refused() -> None:
    sharing = {"mode": "mig", "layout": "all-1g.5gb", "strategy": "mixed"}

    assert of("GPU253", "p4d.24xlarge", sharing=sharing) == [
        (
            "pools.gpu.sharing.strategy",
            ("The strategy is mixed; Bottlerocket calls every MIG device nvidia.com/gpu."),
        )
    ]


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (
            "all-balanced",
            (
                "This makes 3g.20gb and 2g.10gb and 1g.5gb; Bottlerocket makes one profile on "
                "every GPU of a node."
            ),
        ),
        (
            [{"gpus": [0, 1, 2, 3, 4, 5], "devices": {"1g.5gb": 7}}],
            (
                "This makes 1g.5gb and 2 whole GPUs; Bottlerocket makes one profile on every GPU "
                "of a node."
            ),
        ),
        (
            [{"gpus": [0, 1, 2, 3, 4, 5, 6], "devices": {"1g.5gb": 7}}],
            (
                "This makes 1g.5gb and 1 whole GPU; Bottlerocket makes one profile on every GPU "
                "of a node."
            ),
        ),
        (
            [
                {"gpus": [0, 1, 2, 3], "devices": {"1g.5gb": 7}},
                {"gpus": [4, 5, 6, 7], "devices": {"3g.20gb": 2}},
            ],
            "This makes 3g.20gb and 1g.5gb; Bottlerocket makes one profile on every GPU of a node.",
        ),
        (
            {"1g.5gb": 4},
            "This makes 4 of 1g.5gb on a GPU; Bottlerocket always makes 7.",
        ),
        (
            [
                {"gpus": [0, 1, 2, 3], "devices": {"2g.10gb": 3}},
                {"gpus": [4, 5, 6, 7], "devices": {"2g.10gb": 2}},
            ],
            "This makes 2 of 2g.10gb on a GPU; Bottlerocket always makes 3.",
        ),
    ],
)
def test_every_gpu_is_cut_alike_and_to_the_full(layout: object, message: str) -> None:
    assert of("GPU254", "p4d.24xlarge", sharing=mig(layout)) == [
        ("pools.gpu.sharing.layout", message)
    ]


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (
            "all-4g.20gb",
            (
                "Bottlerocket's MIG manager does not know 4g.20gb: it would make 7g.40gb of it, "
                "the whole GPU, without a word."
            ),
        ),
        (
            {"1g.5gb+me": 1},
            (
                "Bottlerocket's MIG manager does not know 1g.5gb+me: its settings take no "
                "profile with an attribute."
            ),
        ),
    ],
)
def test_a_profile_that_the_mig_manager_does_not_know(layout: object, message: str) -> None:
    assert of("GPU255", "p4d.24xlarge", sharing=mig(layout)) == [
        ("pools.gpu.sharing.layout", message)
    ]


@pytest.mark.parametrize("code", ["GPU254", "GPU255"])
def test_a_layout_that_fits_no_gpu_is_left_to_the_rules_on_geometry(code: str) -> None:
    assert of(code, "p4d.24xlarge", sharing=mig({"3g.20gb": 2, "1g.5gb": 1})) == []


def test_the_gpu_operators_mig_manager_is_not_for_bottlerocket() -> None:
    assert of("GPU256", "p4d.24xlarge", sharing=mig("all-1g.5gb", apply="migManager")) == [
        (
            "pools.gpu.sharing.apply",
            "The GPU Operator's MIG manager cannot run on Bottlerocket.",
        )
    ]


@pytest.mark.parametrize("code", ["GPU251", "GPU253", "GPU254", "GPU256"])
def test_other_images_can_do_all_that(code: str) -> None:
    sharing = {"mode": "mig", "layout": "all-balanced", "apply": "migManager"}
    several = {**MPS, "failRequestsGreaterThanOne": False}
    al2023: dict[str, Any] = {"amiFamily": "al2023", "amiVersion": None}

    assert of(code, "p4d.24xlarge", sharing=sharing, **al2023) == []
    assert of(code, sharing=several, **al2023) == []


# --- which device plugin ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instance", "sharing", "part"),
    [
        ("g5.12xlarge", MPS, "MPS daemon"),
        ("p4d.24xlarge", mig("all-1g.5gb"), "MIG manager"),
    ],
)
def test_mig_and_mps_go_with_the_built_in_plugin(
    instance: str, sharing: dict[str, Any], part: str
) -> None:
    assert of("GPU258", instance, bottlerocket=CHART, sharing=sharing) == [
        (
            "pools.gpu.bottlerocket.devicePlugin",
            f"With the built-in device plugin its {part} is switched off too.",
        )
    ]


def test_time_slicing_with_the_chart_is_possible() -> None:
    assert of("GPU258", bottlerocket=CHART, sharing=SLICES) == []
    assert len(of("GPU265", bottlerocket=CHART, sharing=SLICES)) == 1


def test_other_nodes_have_no_bottlerocket_block() -> None:
    assert of("GPU257", amiFamily="al2023", amiVersion=None, bottlerocket={}) == [
        ("pools.gpu.bottlerocket", "The nodes of this pool do not run Bottlerocket.")
    ]


def test_a_custom_image_of_bottlerocket_may_have_the_block() -> None:
    ami = {"id": "ami-0123456789abcdef0", "family": "bottlerocket", "driverIncluded": True}

    assert of("GPU257", amiFamily="custom", amiVersion=None, customAmi=ami, bottlerocket={}) == []


@pytest.mark.parametrize("code", ["GPU252", "GPU253", "GPU254", "GPU255", "GPU256"])
def test_mig_with_the_chart_is_refused_for_the_chart(code: str) -> None:
    sharing = mig("all-balanced", strategy="mixed", apply="migManager")

    assert of(code, "p4d.24xlarge", bottlerocket=CHART, sharing=sharing) == []


# --- the GPU Operator -------------------------------------------------------------------------


def with_manager(code: str, manager: str, family: str) -> list[str]:
    """Paths, of a pool whose image has no driver."""
    ami = {"id": "ami-0123456789abcdef0", "family": family, "driverIncluded": False}
    pool = {"amiFamily": "custom", "amiVersion": None, "customAmi": ami}
    fragment = {"gpuStack": {"manager": manager}, "pools": {"gpu": pool}}
    return [path for path, _ in findings(fragment, code)]


@pytest.mark.parametrize(
    ("code", "path"), [("GPU262", "pools.gpu.customAmi.driverIncluded"), ("GPU264", "pools.gpu")]
)
def test_the_gpu_operator_keeps_off_bottlerocket_alone(code: str, path: str) -> None:
    assert with_manager(code, "gpuOperator", "bottlerocket") == [path]
    assert with_manager(code, "devicePlugin", "bottlerocket") == []
    assert with_manager(code, "gpuOperator", "al2023") == []


# --- nodes of somebody else -------------------------------------------------------------------


def fixes(**keys: Any) -> list[str]:

    pool = {"provisioner": "existing", "amiFamily": "bottlerocket", "amiVersion": None, **keys}
    report = checked(stack_file_text(merge_values(base(), {"pools": {"gpu": pool}})))
    return [found.fix for found in report.findings if found.code == "GPU260"]


def test_who_makes_the_nodes_is_told_their_settings() -> None:
    assert fixes(sharing=SLICES) == [
        (
            'Put device-sharing-strategy = "time-slicing", time-slicing.replicas = 4, '
            "time-slicing.rename-by-default = false, "
            "time-slicing.fail-requests-greater-than-one = true below "
            "settings.kubelet-device-plugins.nvidia in their user data."
        )
    ]


def test_keys_with_dots_are_quoted() -> None:
    assert fixes(instanceTypes=["p4d.24xlarge"], sharing=mig("all-1g.5gb")) == [
        (
            'Put device-partitioning-strategy = "mig", mig.profile."a100.40gb" = "1g.5gb" below '
            "settings.kubelet-device-plugins.nvidia in their user data."
        )
    ]


def test_whole_gpus_of_somebody_else_need_nothing() -> None:
    assert fixes(sharing={"mode": "exclusive"}) == []


def test_a_wrong_layout_of_somebody_elses_nodes_has_its_own_finding() -> None:
    assert fixes(instanceTypes=["p4d.24xlarge"], sharing=mig("all-balanced")) == []
