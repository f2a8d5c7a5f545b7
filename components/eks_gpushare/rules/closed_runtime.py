"""Rules about GPUs that containers get without asking for them, on pools that tenants share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.bottlerocket import is_bottlerocket
from eks_gpushare.sharing.closed_runtime import needs_closing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

OPEN = rule_of("GPU879", not_alone="A pool is not told which tenants share it.")
NOT_OPENED = Rule(
    "GPU890",
    "error",
    "Nodes are asked to hand out GPUs without a request where their image does so.",
    "The key would have no effect: Bottlerocket has a setting of its own.",
    "https://bottlerocket.dev/en/os/1.57.x/api/settings/nvidia-container-runtime/",
)
_VARIABLE = "visible-devices-envvar-when-unprivileged"


@check(Scope.POOL, OPEN, NOT_OPENED)
def closed(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    asked = pool.gpus_on_request_only
    if asked is False and is_bottlerocket(pool):
        yield NOT_OPENED.finding(
            ("pools", name, "gpusOnRequestOnly"),
            "Bottlerocket takes no variable of unprivileged containers, whatever this key says.",
            "Remove it.",
        )
        return
    here = needs_closing(name, ctx.environment.tenants or {})
    if not here:
        return
    whose = f"{'tenants' if len(here) > 1 else 'tenant'} {', '.join(here)}"
    said = "where NVIDIA_VISIBLE_DEVICES gives any container every GPU"
    if is_bottlerocket(pool):
        if _opened(pool):
            message = f"Pods of the {whose} may be on these nodes, {said} by this setting."
            yield OPEN.finding(("pools", name, "userData"), message, f"Remove {_VARIABLE}.")
    elif pool.provisioner != "existing" and asked is False:
        message = f"Pods of the {whose} may be on these nodes, {said}."
        yield OPEN.finding(
            ("pools", name, "gpusOnRequestOnly"),
            message,
            "Remove the key; the nodes are exchanged for ones that need a request.",
        )
    elif pool.provisioner == "existing" and not asked:
        # This stack exchanges none of these nodes, whatever the key says.
        message = f"Pods of the {whose} may be on these nodes, {said} unless their user data says"
        yield OPEN.finding(
            ("pools", name, "provisioner" if asked is None else "gpusOnRequestOnly"),
            f"{message} otherwise.",
            "Have nvidia-ctk config --in-place --set "
            "accept-nvidia-visible-devices-envvar-when-unprivileged=false --set "
            "accept-nvidia-visible-devices-as-volume-mounts=true run before kubelet there, and set "
            "gpusOnRequestOnly: true, by which the device plugin hands out GPUs by mounts.",
        )


def _opened(pool: Pool) -> bool:
    """Whether a setting of the user's own has Bottlerocket follow the variable."""
    from eks_gpushare.sharing.node_settings import bottlerocket_settings_of_nodes

    try:
        settings = bottlerocket_settings_of_nodes(pool)
    except ValueError:  # no TOML, which another rule says
        return False
    runtime = settings.get("nvidia-container-runtime")
    return isinstance(runtime, dict) and runtime.get(_VARIABLE) is True
