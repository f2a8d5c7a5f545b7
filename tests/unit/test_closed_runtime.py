"""Containers of a pool that tenants share get GPUs on request only."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from finding_examples import base, checked, findings, stack_file_text
from tests.unit.systemd_boot import NEW, Boots, why_not

from eks_gpushare.catalog import Catalog
from eks_gpushare.documents.closed_runtime import closed_runtime_part
from eks_gpushare.documents.device_plugin import device_plugin_config
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.inventory.edges.tenants import leaks
from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.source import Source
from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.sharing.closed_runtime import closed_pools
from eks_gpushare.sharing.device_plugin_config import config_map_data
from eks_gpushare.sharing.gpu_operator import gpu_operator_values
from eks_gpushare.sharing.karpenter import user_data_of
from eks_gpushare.sharing.plan import plan_pool
from eks_gpushare.sharing.user_data import node_user_data
from eks_gpushare.validation.parse import parse

if TYPE_CHECKING:
    from pathlib import Path

    from eks_gpushare.config.environment import Environment

POOL: dict[str, Any] = {
    "instanceTypes": ["g6.2xlarge"],
    "nodes": {"min": 1, "desired": 1, "max": 1},
    "sharing": {"mode": "timeSlicing", "replicas": 4, "rename": True},
}
ROCKET = {"amiFamily": "bottlerocket", "amiVersion": "1.65.0-0be31b34"}
OWN = {"amiFamily": "custom", "customAmi": {"id": "ami-0123456789abcdef0", "family": "al2023"}}
PLAIN_FILE = "accept-nvidia-visible-devices-as-volume-mounts = false\n#debug = 'x'\n"


def tenant(space: str, isolation: str = "none") -> dict[str, Any]:
    pools = {"gpu": {"guaranteed": {"shares": 1}}}
    return {"namespaces": [space], "isolation": isolation, "pools": pools}


TOLD = (
    "Pods of the tenants a, b may be on these nodes, where NVIDIA_VISIBLE_DEVICES gives any "
    "container every GPU"
)
TWO = {"a": tenant("a"), "b": tenant("b")}


def given(tenants: Any = None, **pool: Any) -> dict[str, Any]:
    stack: dict[str, Any] = {"pools": {"gpu": {**POOL, **pool}}}
    return {**stack, "tenants": tenants} if tenants else stack


def environment(tenants: Any = None, **pool: Any) -> Environment:
    found = parse(merge_values(base(), given(tenants, **pool))).environment
    assert found is not None
    return found


def is_closed(tenants: Any = None, **pool: Any) -> bool:
    return bool(closed_pools(environment(tenants, **pool))["gpu"].gpus_on_request_only)


@pytest.mark.parametrize(
    ("tenants", "closed"),
    [
        (None, False),
        ({"a": tenant("a")}, False),
        (TWO, True),
        ({"a": tenant("a", "memory")}, True),
        ({"a": tenant("a", "fault")}, True),
    ],
)
def test_pools_that_tenants_share_are_closed(tenants: Any, closed: bool) -> None:
    assert is_closed(tenants) is closed


def test_the_pool_has_the_last_word() -> None:
    assert not is_closed(TWO, gpusOnRequestOnly=False)
    assert is_closed(None, gpusOnRequestOnly=True)


@pytest.mark.parametrize("pool", [ROCKET, {"provisioner": "existing"}])
def test_what_closes_itself_and_what_others_make_is_left_alone(pool: dict[str, Any]) -> None:
    assert not is_closed(TWO, **pool)


def told(tenants: Any = None, **pool: Any) -> str:
    found = closed_pools(environment(tenants, **pool))["gpu"]
    parts = node_user_data(found, Catalog()).parts
    return "\n".join(content for _, content in parts)


def nodes(user_data: str) -> NodeSet:
    return NodeSet(
        source=Source("the nodes"),
        name="gpu",
        provisioner="managed",
        ami="AL2023_x86_64_NVIDIA",
        user_data=user_data,
    )


def test_the_nodes_of_the_pool_no_longer_leak() -> None:
    """By what `lint` and `policy` read in user data of anybody (GPU1161)."""
    assert leaks(nodes(told(TWO))) is False
    assert leaks(nodes(told(TWO, gpusOnRequestOnly=False))) is True


def test_nodes_of_karpenter_are_told_the_same() -> None:
    pool = {"provisioner": "karpenter", "nodes": {"min": None, "desired": None, "max": 2}}
    found = closed_pools(environment(TWO, **pool))["gpu"]
    text = user_data_of(plan_pool("gpu", found, Catalog()), Catalog())

    assert text is not None
    assert leaks(nodes(text)) is False


def test_what_the_user_says_comes_before() -> None:
    part = {"contentType": "text/x-shellscript", "content": "#!/bin/sh\necho mine\n"}
    text = told(TWO, userData=[part])

    assert text.index("echo mine") < text.index("nvidia-ctk")


def test_the_plugin_names_devices_by_mounts_there_and_nowhere_else() -> None:
    stack = environment(TWO)
    served = {**closed_pools(stack), "other": environment().pools["gpu"]}
    data = config_map_data(served, Catalog())

    assert device_plugin_config(data["gpu"]).device_lists == ("volume-mounts",)
    assert device_plugin_config(data["other"]).device_lists == ()
    assert device_plugin_config(data["default"]).device_lists == ()


def test_nodes_whose_others_have_closed_them_get_the_plugin_alone() -> None:
    pool = {"provisioner": "existing", "gpusOnRequestOnly": True}
    data = config_map_data(closed_pools(environment(TWO, **pool)), Catalog())

    assert told(TWO, **pool) == ""
    assert device_plugin_config(data["gpu"]).device_lists == ("volume-mounts",)


def test_a_toolkit_that_the_operator_installs_is_told_by_its_values() -> None:
    own = {**OWN, "customAmi": {**OWN["customAmi"], "driverIncluded": False}}  # type: ignore[dict-item]
    pools = closed_pools(environment(TWO, **own))
    values = gpu_operator_values(pools, Catalog(), {}, "map", None)

    assert values["toolkit"]["enabled"] is True
    assert values["toolkit"]["env"] == [
        {"name": "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED", "value": "false"},
        {"name": "ACCEPT_NVIDIA_VISIBLE_DEVICES_AS_VOLUME_MOUNTS", "value": "true"},
    ]
    assert told(TWO, **own) == ""


def test_a_toolkit_of_the_image_is_told_at_boot() -> None:
    own = {**OWN, "customAmi": {**OWN["customAmi"], "driverIncluded": True}}  # type: ignore[dict-item]
    values = gpu_operator_values(closed_pools(environment(TWO, **own)), Catalog(), {}, "map", None)

    assert "env" not in values["toolkit"]
    assert "nvidia-ctk" in told(TWO, **own)


def codes(code: str, tenants: Any, **pool: Any) -> list[tuple[str, str]]:
    return findings(given(tenants, **pool), code)


def test_an_open_pool_of_two_tenants_is_told() -> None:
    assert codes("GPU879", TWO, gpusOnRequestOnly=False) == [
        (
            "pools.gpu.gpusOnRequestOnly",
            f"{TOLD}.",
        )
    ]
    assert codes("GPU879", TWO) == []
    assert codes("GPU879", {"a": tenant("a")}, gpusOnRequestOnly=False) == []
    assert codes("GPU879", None, gpusOnRequestOnly=False) == []


def test_nodes_of_others_are_told_until_they_say_that_they_are_closed() -> None:
    alone = {"a": tenant("a", "memory")}
    [(path, message)] = codes("GPU879", alone, provisioner="existing")

    assert path == "pools.gpu.provisioner"
    assert message == (
        "Pods of the tenant a may be on these nodes, where NVIDIA_VISIBLE_DEVICES gives any "
        "container every GPU unless their user data says otherwise."
    )
    assert codes("GPU879", alone, provisioner="existing", gpusOnRequestOnly=True) == []


def test_nodes_of_others_are_not_exchanged_by_removing_a_key() -> None:
    whole = merge_values(base(), given(TWO, provisioner="existing", gpusOnRequestOnly=False))
    text = stack_file_text(whole)
    [found] = [each for each in checked(text).findings if each.code == "GPU879"]

    assert found.path == "pools.gpu.gpusOnRequestOnly"
    assert found.fix.startswith("Have nvidia-ctk config --in-place")


def rocket(text: str) -> dict[str, Any]:
    return {**ROCKET, "userData": [{"contentType": "application/toml", "content": text}]}


OPENS = "[settings.nvidia-container-runtime]\nvisible-devices-envvar-when-unprivileged = {}\n"


def test_a_setting_that_opens_bottlerocket_is_told() -> None:
    assert codes("GPU879", TWO, **rocket(OPENS.format("true"))) == [
        (
            "pools.gpu.userData",
            f"{TOLD} by this setting.",
        )
    ]
    for text in (OPENS.format("false"), "[settings.kubernetes]\nmax-pods = 9\n", "no = toml = "):
        assert codes("GPU879", TWO, **rocket(text)) == []
    assert codes("GPU879", TWO, **ROCKET) == []


def test_the_key_cannot_open_bottlerocket() -> None:
    assert codes("GPU890", None, **ROCKET, gpusOnRequestOnly=False) == [
        (
            "pools.gpu.gpusOnRequestOnly",
            "Bottlerocket takes no variable of unprivileged containers, whatever this key says.",
        )
    ]
    assert codes("GPU890", None, **ROCKET, gpusOnRequestOnly=True) == []
    assert codes("GPU890", None, gpusOnRequestOnly=False) == []


@pytest.mark.parametrize("strategy", ["envvar", "volume-mounts", "cdi-cri"])
def test_a_value_that_wins_over_the_mounts_is_refused(strategy: str) -> None:
    charts = {"devicePlugin": {"values": {"deviceListStrategy": strategy}}}
    found = findings({**given(TWO), "charts": charts}, "GPU731")

    assert found == [
        (
            "charts.devicePlugin.values.deviceListStrategy",
            "It would win over the volume mounts that gpu need.",
        )
    ]
    assert findings({**given(), "charts": charts}, "GPU731") == []


def command() -> list[str]:
    """What kubelet's drop-in runs."""
    [found] = re.findall(r"^ExecStartPre=(.*)$", closed_runtime_part(), re.MULTILINE)
    return shlex.split(found)


@pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
@pytest.mark.parametrize("works", [True, False])
def test_kubelet_starts_after_the_runtime_is_closed_or_not_at_all(
    tmp_path: Path, works: bool
) -> None:
    node = Boots(tmp_path, NEW)
    own = closed_runtime_part().replace("/usr/bin/nvidia-ctk", f"{tmp_path}/tools/nvidia-ctk")
    node.user_data(own)
    # A second try stands for whoever repairs it: else the machine would boot for ever.
    fails = "[[ -e @ROOT@/tried ]] || { touch @ROOT@/tried; echo refused >>@ROOT@/log; exit 1; }"
    node.program("tools/nvidia-ctk", f"{'' if works else fails}\necho closed >>@ROOT@/log")

    def boot() -> list[str]:
        return [each for each in node.boot() if each in {"closed", "refused", "kubelet"}]

    assert boot() == [*([] if works else ["refused"]), "closed", "kubelet"]
    assert boot()[-2:] == ["closed", "kubelet"]


CTK = shutil.which("nvidia-ctk")


@pytest.mark.skipif(
    not CTK,
    reason="no nvidia-ctk: go install github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-ctk",
)
@pytest.mark.parametrize("before", [None, PLAIN_FILE])
def test_nvidia_s_own_program_closes_its_configuration(tmp_path: Path, before: str | None) -> None:
    file = tmp_path / "nvidia-container-runtime" / "config.toml"
    if before is not None:
        file.parent.mkdir()
        file.write_text(before, encoding="utf-8")
    for _ in ("first start", "later start"):
        subprocess.run(
            [str(CTK), *command()[1:]], env={"XDG_CONFIG_HOME": str(tmp_path)}, check=True
        )
        made = tomllib.loads(file.read_text(encoding="utf-8"))

        assert made["accept-nvidia-visible-devices-envvar-when-unprivileged"] is False
        assert made["accept-nvidia-visible-devices-as-volume-mounts"] is True


@pytest.mark.parametrize(
    ("pool", "is_told"),
    [
        ({}, False),
        ({"gpusOnRequestOnly": False}, True),
        ({"provisioner": "existing"}, True),
        ({"provisioner": "existing", "gpusOnRequestOnly": True}, False),
    ],
)
def test_files_against_the_stack_are_told_of_open_nodes_alone(
    tmp_path: Path, pool: dict[str, Any], is_told: bool
) -> None:
    whole = merge_values(base(), given(TWO, **pool))
    file = tmp_path / "Pulumi.open.yaml"
    file.write_text(stack_file_text(whole), encoding="utf-8")
    stack = read_stack(file)
    items = [each for each in stack.items if isinstance(each, NodeSet) and each.name == "gpu"]

    assert [leaks(each) for each in items] == [is_told]
