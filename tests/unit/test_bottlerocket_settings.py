"""What Bottlerocket nodes are told, and what they advertise for it."""

from __future__ import annotations

import base64
import re
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eks_gpushare.catalog import Catalog, mps_client_limit
from eks_gpushare.catalog.bottlerocket import bottlerocket_mig_gpu, bottlerocket_release
from eks_gpushare.catalog.mig import mig_models, named_layouts
from eks_gpushare.config.component_specs import GpuPoolSpec
from eks_gpushare.config.sharing import Mig
from eks_gpushare.documents.bottlerocket import (
    bottlerocket_user_data,
    custom_bottlerocket_user_data,
)
from eks_gpushare.rules.component_rules import check_pool
from eks_gpushare.sharing.bottlerocket import (
    NotOnBottlerocketError,
    bottlerocket_mig,
    bottlerocket_settings,
    is_bottlerocket,
    served_by_chart,
)
from eks_gpushare.sharing.closed_runtime import chart_plugin_flags
from eks_gpushare.sharing.labels import node_labels
from eks_gpushare.sharing.resources import GPU, SHARED_SUFFIX, advertised, renames, replicas
from eks_gpushare.validation.parse import parse

if TYPE_CHECKING:
    from eks_gpushare.config.pools import Pool

CATALOG = Catalog()
BOTTLEROCKET_MIG_GPUS = {
    name: gpu for name in sorted(mig_models()) if (gpu := bottlerocket_mig_gpu(name)) is not None
}
CUSTOM = {"id": "ami-0123456789abcdef0", "family": "bottlerocket", "driverIncluded": True}


def pool_of(instance: str = "g5.12xlarge", **keys: Any) -> Pool:
    pool = {"instanceTypes": [instance], "amiFamily": "bottlerocket", **keys}
    parsed = parse({"cluster": {"name": "demo", "version": "1.35"}, "pools": {"gpu": pool}})
    assert parsed.findings == ()
    assert parsed.environment is not None
    return parsed.environment.pools["gpu"]


def settings_of(pool: Pool) -> dict[str, Any]:
    types = [t for name in pool.instance_types if (t := CATALOG.find(name))]
    return bottlerocket_settings(pool, types, CATALOG)


def advertised_by(pool: Pool) -> dict[str, int]:
    """What the built-in plugin advertises; it calls MIG devices `nvidia.com/gpu` too."""
    instance_type = CATALOG.find(pool.instance_types[0])
    assert instance_type is not None
    count = instance_type.gpu_count * replicas(pool)
    if isinstance(pool.sharing, Mig):
        gpu, profile = bottlerocket_mig(pool.sharing, instance_type, CATALOG)
        count *= gpu.instances[profile]
    return {GPU + SHARED_SUFFIX if renames(pool) else GPU: count}


def text_of(user_data: str) -> str:
    return base64.b64decode(user_data).decode()


def mig(layout: object, **keys: object) -> dict[str, object]:
    return {"mode": "mig", "layout": layout, "strategy": "single", **keys}


# --- settings ---------------------------------------------------------------------------------


def test_whole_gpus_need_no_settings() -> None:
    assert settings_of(pool_of(sharing={"mode": "exclusive"})) == {}


def test_time_slicing_says_both_defaults_that_are_the_reverse_of_nvidias() -> None:
    assert settings_of(pool_of(sharing={"mode": "timeSlicing", "replicas": 4})) == {
        "device-sharing-strategy": "time-slicing",
        "time-slicing": {
            "replicas": 4,
            "rename-by-default": False,
            "fail-requests-greater-than-one": True,
        },
    }


def test_mps_says_whether_shares_are_renamed_and_nothing_more() -> None:
    assert settings_of(pool_of(sharing={"mode": "mps", "replicas": 4, "rename": True})) == {
        "device-sharing-strategy": "mps",
        "mps": {"replicas": 4, "rename-by-default": True},
    }


def test_mig_names_the_profile_of_the_gpu_model() -> None:
    assert settings_of(pool_of("p4d.24xlarge", sharing=mig("all-2g.10gb"))) == {
        "device-partitioning-strategy": "mig",
        "mig": {"profile": {"a100.40gb": "2g.10gb"}},
    }


def test_mig_with_time_slicing_says_both() -> None:
    sharing = mig("all-1g.18gb", timeSlicing={"replicas": 3, "rename": True})

    assert settings_of(pool_of("p5en.48xlarge", sharing=sharing)) == {
        "device-partitioning-strategy": "mig",
        "device-sharing-strategy": "time-slicing",
        "time-slicing": {
            "replicas": 3,
            "rename-by-default": True,
            "fail-requests-greater-than-one": True,
        },
        "mig": {"profile": {"h200.141gb": "1g.18gb"}},
    }


def test_for_the_chart_the_built_in_plugin_is_switched_off() -> None:
    pool = pool_of(bottlerocket={"devicePlugin": "chart"}, sharing={"mode": "exclusive"})

    assert settings_of(pool) == {"enabled": False, "device-list-strategy": "volume-mounts"}


@pytest.mark.parametrize(
    ("instance", "layout"),
    [
        ("p4d.24xlarge", "all-balanced"),
        ("p4d.24xlarge", "all-4g.20gb"),
        ("p4d.24xlarge", {"1g.5gb": 4}),
        ("p4d.24xlarge", [{"gpus": [0, 1], "devices": {"1g.5gb": 7}}]),
        ("p6-b200.48xlarge", "all-1g.23gb"),
        ("g7e.2xlarge", "all-1g.24gb"),
    ],
)
def test_a_layout_that_bottlerocket_cannot_make_has_no_settings(
    instance: str, layout: object
) -> None:
    pool = pool_of(instance, sharing=mig(layout))

    with pytest.raises(NotOnBottlerocketError):
        settings_of(pool)


# --- what a node advertises -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instance", "sharing", "resources"),
    [
        ("g5.12xlarge", {"mode": "exclusive"}, {"nvidia.com/gpu": 4}),
        ("g5.12xlarge", {"mode": "mps", "replicas": 4}, {"nvidia.com/gpu": 16}),
        (
            "g5.12xlarge",
            {"mode": "timeSlicing", "replicas": 10, "rename": True},
            {"nvidia.com/gpu.shared": 40},
        ),
        # The two numbers of Bottlerocket's own documentation.
        ("p4d.24xlarge", mig("all-2g.10gb"), {"nvidia.com/gpu": 24}),
        ("p5.48xlarge", mig("all-1g.20gb"), {"nvidia.com/gpu": 32}),
        ("p4d.24xlarge", mig("all-1g.5gb", timeSlicing={"replicas": 4}), {"nvidia.com/gpu": 224}),
    ],
)
def test_a_node_advertises(
    instance: str, sharing: dict[str, Any], resources: dict[str, int]
) -> None:
    assert advertised_by(pool_of(instance, sharing=sharing)) == resources


@pytest.mark.parametrize("name", BOTTLEROCKET_MIG_GPUS)
def test_the_mig_manager_makes_as_many_devices_as_the_layout_of_that_name(name: str) -> None:
    gpu, layouts = BOTTLEROCKET_MIG_GPUS[name], named_layouts(mig_models()[name])

    for profile, count in gpu.instances.items():
        assert layouts[f"all-{profile}"] == {profile: count}


@pytest.mark.parametrize("name", BOTTLEROCKET_MIG_GPUS)
def test_the_key_of_a_gpu_model_is_one_that_every_release_with_mig_accepts(name: str) -> None:
    assert re.fullmatch(r"[a-z]\d+\.\d+gb", BOTTLEROCKET_MIG_GPUS[name].key)


@pytest.mark.parametrize("name", BOTTLEROCKET_MIG_GPUS)
def test_a_profile_is_one_that_the_settings_accept(name: str) -> None:
    for profile in BOTTLEROCKET_MIG_GPUS[name].instances:
        assert re.fullmatch(r"[0-9]g\.\d+gb", profile)


def test_the_last_profile_is_the_whole_gpu() -> None:
    assert {name: gpu.whole for name, gpu in BOTTLEROCKET_MIG_GPUS.items()} == {
        "A30-24GB": "4g.24gb",
        "A100-40GB": "7g.40gb",
        "A100-80GB": "7g.80gb",
        "H100-80GB": "7g.80gb",
        "H200-141GB": "7g.141gb",
    }


def test_a_release_is_read_from_an_ami_version() -> None:
    assert bottlerocket_release("1.65.0-0be31b34") == (1, 65, 0)
    assert bottlerocket_release("1.9.0") == (1, 9, 0)
    assert bottlerocket_release("v1.65.0") is None


# --- documents --------------------------------------------------------------------------------


def test_the_user_data_of_an_image_of_eks_has_the_settings_alone() -> None:
    pool = pool_of("p4d.24xlarge", sharing=mig("all-1g.5gb"))

    assert text_of(bottlerocket_user_data(settings_of(pool))) == (
        "[settings.kubelet-device-plugins.nvidia]\n"
        'device-partitioning-strategy = "mig"\n'
        "\n"
        "[settings.kubelet-device-plugins.nvidia.mig.profile]\n"
        '"a100.40gb" = "1g.5gb"\n'
    )


def test_the_user_data_of_another_image_names_the_cluster_too() -> None:
    user_data = custom_bottlerocket_user_data(
        {"enabled": False}, "demo", "https://x.eks.amazonaws.com", "Q0E=", "172.20.0.0/16"
    )

    assert tomllib.loads(text_of(user_data)) == {
        "settings": {
            "kubernetes": {
                "cluster-name": "demo",
                "api-server": "https://x.eks.amazonaws.com",
                "cluster-certificate": "Q0E=",
                "cluster-dns-ip": "172.20.0.10",
            },
            "kubelet-device-plugins": {"nvidia": {"enabled": False}},
        }
    }


def test_without_settings_another_image_is_told_its_cluster_alone() -> None:
    user_data = custom_bottlerocket_user_data({}, "demo", "https://x", "Q0E=", "fd00:1::/108")

    assert tomllib.loads(text_of(user_data)) == {
        "settings": {
            "kubernetes": {
                "cluster-name": "demo",
                "api-server": "https://x",
                "cluster-certificate": "Q0E=",
                "cluster-dns-ip": "fd00:1::a",
            }
        }
    }


TURNS = st.fixed_dictionaries({"replicas": st.integers(1, 60)}, optional={"rename": st.booleans()})
SHARINGS = st.one_of(
    st.just({"mode": "exclusive"}),
    st.builds(
        lambda mode, turns, several: {"mode": mode, **turns, **several},
        st.sampled_from(["timeSlicing", "mps"]),
        TURNS,
        st.fixed_dictionaries({}, optional={"failRequestsGreaterThanOne": st.booleans()}),
    ),
)
IMAGES = st.sampled_from(
    [
        {"amiFamily": "bottlerocket"},
        {"amiFamily": "bottlerocket", "amiVersion": "1.65.0-0be31b34"},
        {"amiFamily": "bottlerocket", "amiVersion": "1.39.0"},
        {"amiFamily": "bottlerocket", "bottlerocket": {"devicePlugin": "chart"}},
        {"amiFamily": "custom", "customAmi": CUSTOM},
    ]
)
TYPES = st.sampled_from(
    [
        *("g4dn.xlarge", "g5.12xlarge", "p4d.24xlarge", "p4de.24xlarge", "p5.4xlarge"),
        *("p5.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge", "p6-b300.48xlarge", "g7e.24xlarge"),
    ]
)


@st.composite
def declarations(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """An instance type and a way of sharing: MIG, right or wrong, where its GPU has it."""
    instance = draw(TYPES)
    instance_type = CATALOG.find(instance)
    assert instance_type is not None
    assert instance_type.gpu is not None
    model = CATALOG.mig_model(instance_type.gpu)
    if model is None or draw(st.booleans()):
        return instance, draw(SHARINGS)
    profiles = st.sampled_from(sorted(model.profiles))
    devices = st.dictionaries(profiles, st.integers(1, 7), min_size=1, max_size=2)
    turns = draw(st.none() | TURNS)
    return instance, {
        "mode": "mig",
        "layout": draw(st.sampled_from(sorted(named_layouts(model))) | devices),
        "strategy": draw(st.sampled_from(["single", "single", "mixed"])),
        **({"timeSlicing": turns} if turns else {}),
    }


def alone(pool: Pool) -> GpuPoolSpec:
    """The pool as the arguments of a component."""
    given = pool.model_dump(exclude_unset=True, mode="json")
    return GpuPoolSpec.model_validate({**given, "pool": "gpu"}, by_name=True)


@given(declaration=declarations(), image=IMAGES)
def test_an_accepted_pool_is_told_what_was_declared(
    declaration: tuple[str, dict[str, Any]], image: dict[str, Any]
) -> None:
    instance, sharing = declaration
    pool = pool_of(instance, sharing=sharing, **image)
    if any(found.severity == "error" for found in check_pool(alone(pool))):
        return
    text = text_of(bottlerocket_user_data(settings_of(pool)))
    written = tomllib.loads(text).get("settings", {}).get("kubelet-device-plugins", {})
    nvidia = written.get("nvidia", {})

    if image.get("bottlerocket"):
        assert nvidia == {"enabled": False, "device-list-strategy": "volume-mounts"}
        return
    assert told(nvidia) == declared(sharing, instance)
    # What EKS cannot merge: https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html.
    assert not re.search(r'^\[.*".*\]$|\\|\'', text, re.MULTILINE)


@given(declaration=declarations())
def test_an_accepted_pool_advertises_what_its_plan_says(
    declaration: tuple[str, dict[str, Any]],
) -> None:
    instance, sharing = declaration
    pool = pool_of(instance, sharing=sharing)
    instance_type = CATALOG.find(instance)
    assert instance_type is not None
    if any(found.severity == "error" for found in check_pool(alone(pool))):
        return

    assert advertised_by(pool) == advertised(pool, instance_type, CATALOG)


def told(nvidia: dict[str, Any]) -> dict[str, Any]:
    """The sharing that a node's settings amount to."""
    strategy = nvidia.get("device-sharing-strategy")
    shares = nvidia.get(strategy, {}) if strategy else {}
    several = shares.get("fail-requests-greater-than-one", True)
    turns = (
        {"replicas": shares["replicas"], "rename": shares["rename-by-default"]} if shares else {}
    )
    if nvidia.get("device-partitioning-strategy") == "mig":
        return {"mode": "mig", **nvidia["mig"], **turns, "failRequestsGreaterThanOne": several}
    mode = {"time-slicing": "timeSlicing", "mps": "mps", None: "exclusive"}[strategy]
    return {"mode": mode, **turns, "failRequestsGreaterThanOne": several}


def declared(sharing: dict[str, Any], instance: str) -> dict[str, Any]:
    """The sharing that was asked for, defaults filled in."""
    several = sharing.get("failRequestsGreaterThanOne", True)
    shares = sharing.get("timeSlicing", {}) if sharing["mode"] == "mig" else sharing
    turns = {}
    if "replicas" in shares:
        turns = {"replicas": shares["replicas"], "rename": shares.get("rename", False)}
    if sharing["mode"] != "mig":
        return {"mode": sharing["mode"], **turns, "failRequestsGreaterThanOne": several}
    instance_type = CATALOG.find(instance)
    assert instance_type is not None
    assert instance_type.gpu is not None
    model = CATALOG.mig_model(instance_type.gpu)
    assert model is not None
    gpu, layout = bottlerocket_mig_gpu(model.name), sharing["layout"]
    assert gpu is not None
    devices = named_layouts(model)[layout] if isinstance(layout, str) else layout
    (profile,) = devices
    return {
        "mode": "mig",
        "profile": {gpu.key: profile},
        **turns,
        "failRequestsGreaterThanOne": several,
    }


def test_mps_replicas_stay_within_what_the_settings_take() -> None:
    limits = {mps_client_limit(t.gpu) for t in CATALOG.gpu_types().values() if t.gpu}

    assert max(limits) == 48


# --- which plugin, and the labels that follow -------------------------------------------------


@pytest.mark.parametrize(
    ("image", "bottlerocket", "chart"),
    [
        ({"amiFamily": "al2023"}, False, True),
        ({"amiFamily": "bottlerocket"}, True, False),
        ({"amiFamily": "bottlerocket", "bottlerocket": {}}, True, False),
        ({"amiFamily": "bottlerocket", "bottlerocket": {"devicePlugin": "builtIn"}}, True, False),
        ({"amiFamily": "bottlerocket", "bottlerocket": {"devicePlugin": "chart"}}, True, True),
        ({"amiFamily": "custom", "customAmi": CUSTOM}, True, False),
        ({"amiFamily": "custom", "customAmi": {**CUSTOM, "family": "al2023"}}, False, True),
        # A leftover customAmi is refused elsewhere; the nodes are what amiFamily says.
        ({"amiFamily": "al2023", "customAmi": CUSTOM}, False, True),
    ],
)
def test_which_device_plugin_serves_a_pool(
    image: dict[str, Any],
    bottlerocket: bool,
    chart: bool,
) -> None:
    pool = pool_of(sharing={"mode": "exclusive"}, **image)

    assert (is_bottlerocket(pool), served_by_chart(pool)) == (bottlerocket, chart)


def test_no_label_brings_another_device_plugin_to_nodes_that_have_one() -> None:
    pool = pool_of(sharing={"mode": "exclusive"}, labels={"team": "ml"})

    assert node_labels("gpu", pool) == {
        "eks-gpushare/pool": "gpu",
        "nvidia.com/gpu.deploy.operands": "false",
        "team": "ml",
    }


def test_nodes_of_the_chart_have_the_same_labels_whatever_their_image() -> None:
    chart = pool_of(sharing={"mode": "exclusive"}, bottlerocket={"devicePlugin": "chart"})
    other = pool_of(sharing={"mode": "exclusive"}, amiFamily="al2023")

    assert node_labels("gpu", chart) == node_labels("gpu", other)


def test_only_on_bottlerocket_does_the_chart_hand_gpus_over_by_volume_mounts() -> None:
    chart = pool_of(sharing={"mode": "exclusive"}, bottlerocket={"devicePlugin": "chart"})
    other = pool_of(sharing={"mode": "exclusive"}, amiFamily="al2023")

    assert chart_plugin_flags(chart) == {"deviceListStrategy": "volume-mounts"}
    assert chart_plugin_flags(other) == {}
