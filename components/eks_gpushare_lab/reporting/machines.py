"""Nodes whose machine is not what it was to be: a boot that failed, MIG that is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.live.placement import taints_of
from eks_gpushare.sharing.node_monitoring import REMOTE_ENGINE
from eks_gpushare_lab import rules
from eks_gpushare_lab.simulated_node.boot import CONSOLE, built_in, is_bottlerocket
from eks_gpushare_lab.simulated_node.gpus import annotation
from eks_gpushare_lab.simulated_node.mig_boot import tells_kubelet
from eks_gpushare_lab.simulated_node.mig_manager import FAILED, PAUSED, STATE, SUCCESS
from eks_gpushare_lab.simulated_node.node import BUILT_IN
from eks_gpushare_lab.simulated_node.operator import DEPLOY, MIG_CONFIG
from eks_gpushare_lab.simulated_node.patches import LOG
from eks_gpushare_lab.simulated_node.pods import (
    EXPORTER,
    HOST_ENGINE,
    MIG_MANAGER,
    MONITOR,
    PLUGIN,
    VALIDATOR,
    environment_of,
    is_alive,
    role_of,
)
from eks_gpushare_lab.simulated_node.taint_remover import TAINT
from eks_gpushare_lab.simulated_node.user_data import (
    AMI_RELEASE,
    AMI_TYPE,
    USER_DATA,
    UserDataError,
    decoded,
    waits_for_driver,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.install.nodes import LabNode
    from eks_gpushare_lab.session import Session

_BOOT_FAILED = "FAILED"
_DISABLED = "all-disabled"


def machine_findings(session: Session) -> Iterator[Finding]:
    """Findings about the machines of the stack's nodes."""
    for node in session.nodes:
        there = session.watches.nodes.get(node.name)
        if not node.joins:
            fix = "Fix the setting that the message names; the OS is strict about all of them."
            yield rules.NOT_JOINED.finding(_at(node), f"It never joins: {node.said}.", fix)
        if there is not None:
            yield from _boot_findings(node, there)
            yield from _release_findings(node, there)
            yield from _program_findings(session, node, there)
            yield from _manager_findings(session, node, there)


def serves_itself(node: Object) -> bool:
    """Whether a node's OS brings the device plugin, so that no chart's has to reach it."""
    settings = built_in(node)
    return settings is not None and settings.plugin is not None


def broken_machine(session: Session, there: Object) -> tuple[str, str] | None:
    """What of the machine keeps a node from advertising what it should, and the fix."""
    said = annotation(there, CONSOLE)
    if said.startswith(_BOOT_FAILED):
        edge = f"its boot could not apply the MIG layout and says {said}."
        return edge, "Let the layout fit the instance type of the pool."
    labels = there["metadata"].get("labels") or {}
    if labels.get(STATE, SUCCESS) != SUCCESS:
        log = _log(_manager_on(session, there["metadata"]["name"]))
        edge = f"its MIG manager is at {labels[STATE]}: {log}."
        return edge, "Fix what the MIG manager says; it tries again when the label changes."
    pods = _pods_on(session, there["metadata"]["name"])
    if serves_itself(there) and not any(role_of(pod["spec"]) == PLUGIN for pod in pods):
        plugin = annotation(there, BUILT_IN)
        edge = f"the device plugin of its OS {plugin or 'has said nothing yet'}"
        edge += f"; {said}." if said else "."
        return edge, "Let the settings in the pool's user data say what the pool declares."
    return None


def _boot_findings(node: LabNode, there: Object) -> Iterator[Finding]:
    said = annotation(there, CONSOLE)
    if said.startswith(_BOOT_FAILED):
        taints = ", ".join(map(str, taints_of(there)))
        message = f"Its boot says {said}. It joined with no instances and the taints {taints}."
        fix = "Let the layout fit the instance type of the pool; `eks-gpushare mig check` tells."
        yield rules.MIG_BOOT_FAILED.finding(_at(node), message, fix)


def _release_findings(node: LabNode, there: Object) -> Iterator[Finding]:
    release = annotation(there, AMI_RELEASE)
    if annotation(there, CONSOLE) and not tells_kubelet(release):
        message = (
            f"Its boot makes a MIG layout, and its AMI, {release}, does not read what that says."
        )
        fix = "Take an AMI release from 2025-10-23 on."
        yield rules.SILENT_FAILURE.finding(_at(node), message, fix)


def _program_findings(session: Session, node: LabNode, there: Object) -> Iterator[Finding]:
    """What programs on the node do to each other, and miss."""
    by_role: dict[str, list[Object]] = {}
    for pod in _pods_on(session, node.name):
        by_role.setdefault(role_of(pod["spec"]), []).append(pod)
    if VALIDATOR in by_role and _may_be_too_quick(there):
        message = "Kubelet starts whether the NVIDIA driver is there or not, and the operator's "
        fix = "Let the pool wait for its driver: waitForDriver in a stack file."
        yield rules.NO_DRIVER_GATE.finding(
            _at(node), f"{message}validator looks for it on the host once.", fix
        )
    yield from engine_findings(_at(node), by_role)
    needs = there["metadata"]["labels"].get("kubernetes.io/arch") == "amd64" and node.declared
    if MONITOR in by_role and HOST_ENGINE not in by_role and needs:
        message = "The node monitoring agent runs there without its host engine of DCGM."
        fix = "Let both tolerate the same taints of GPU nodes."
        yield rules.NO_ENGINE.finding(_at(node), message, fix)


def engine_findings(at: FieldPath, by_role: Mapping[str, Sequence[Object]]) -> Iterator[Finding]:
    """What is wrong with the host engines of a node, by the pods that do what there."""
    engines = [
        *by_role.get(HOST_ENGINE, ()),
        *(
            pod
            for pod in by_role.get(EXPORTER, ())
            if REMOTE_ENGINE not in environment_of(pod, EXPORTER)
        ),
    ]
    if len(engines) > 1:
        names = ", ".join(sorted(pod["metadata"]["name"] for pod in engines))
        message = f"{len(engines)} host engines of DCGM run there, in the pods {names}."
        fix = f"Give the exporter {REMOTE_ENGINE}, so that it uses the other one."
        yield rules.TWO_ENGINES.finding(at, message, fix)


def _may_be_too_quick(there: Object) -> bool:
    """Whether kubelet of a machine that the stack launches starts without its driver."""
    launched = annotation(there, AMI_TYPE)
    try:
        text = decoded(annotation(there, USER_DATA))
    except UserDataError:
        return False
    if not launched or is_bottlerocket(there, text):
        return False
    return not waits_for_driver(text)


def _manager_findings(session: Session, node: LabNode, there: Object) -> Iterator[Finding]:
    labels: Mapping[str, str] = there["metadata"].get("labels") or {}
    pods = _pods_on(session, node.name)
    manager = next((pod for pod in pods if role_of(pod["spec"]) == MIG_MANAGER), None)
    state, wanted = labels.get(STATE), labels.get(MIG_CONFIG, "")
    if state == FAILED:
        message = f"MIG manager could not make it {wanted}: {_log(manager)}."
        fix = "Fix what it says; it tries again when the label changes."
        yield rules.MIG_MANAGER_FAILED.finding(_at(node), message, fix)
    paused = [key.removeprefix(DEPLOY) for key, value in labels.items() if value == PAUSED]
    if state not in {None, SUCCESS, FAILED} or paused:
        held = f", and has {', '.join(sorted(paused))} paused" if paused else ""
        message = f"MIG manager is still at {state or 'nothing'}{held}: {_log(manager)}."
        fix = "See which pods do not go; it never gives the paused programs back by itself."
        yield rules.MIG_MANAGER_WAITS.finding(_at(node), message, fix)
    if manager is None and wanted not in {"", _DISABLED}:
        message = f"Its label {MIG_CONFIG} says {wanted}, and no MIG manager runs there to read it."
        fix = "Let the GPU Operator deploy its MIG manager there, or apply the layout at boot."
        yield rules.MIG_NOT_MANAGED.finding(_at(node), message, fix)
    if any(taint["key"] == TAINT for taint in there["spec"].get("taints") or ()):
        message = f"The startup taint {TAINT} is still there; {STATE} is {state or 'not set'}."
        fix = "See why the layout is not there; the controller that removes the taint waits for it."
        yield rules.TAINT_STAYS.finding(_at(node), message, fix)
    if serves_itself(there) and any(role_of(pod["spec"]) == PLUGIN for pod in pods):
        message = "Its OS brings a device plugin, and a chart's runs there too: the later one wins."
        fix = "Keep the chart off the pool, or switch the built-in plugin off."
        yield rules.TWO_PLUGINS.finding(_at(node), message, fix)


def _at(node: LabNode) -> tuple[str, ...]:
    return ("pools", node.pool, "nodes", node.name)


def _manager_on(session: Session, node: str) -> Object | None:
    pods = _pods_on(session, node)
    return next((pod for pod in pods if role_of(pod["spec"]) == MIG_MANAGER), None)


def _pods_on(session: Session, node: str) -> list[Object]:
    pods = session.watches.pods.all()
    return [pod for pod in pods if pod["spec"].get("nodeName") == node and is_alive(pod)]


def _log(manager: Object | None) -> str:
    return (annotation(manager, LOG) if manager else "") or "it has said nothing"
