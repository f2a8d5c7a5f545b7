"""What the pods of a chart wait for, said while Pulumi waits for the chart.

Helm tells only that a deadline has passed, and removes the pods that could tell more. So kubectl is
asked for them meanwhile, where it is installed.
"""

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import pulumi

_FIRST_LOOK_SECONDS = 20
_NEXT_LOOK_SECONDS = 10
_KUBECTL_SECONDS = 30


def waiting(pods: list[dict[str, Any]]) -> dict[str, str]:
    """Which pods are not ready, and why: a sentence by pod, and by container where it is one's.

    Args:
        pods: Pods as the API server has them.
    """
    return {where: why for pod in pods for where, why in _of_pod(pod)}


def _of_pod(pod: dict[str, Any]) -> Iterator[tuple[str, str]]:
    name, status = pod["metadata"]["name"], pod.get("status", {})
    for condition in status.get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            yield name, _sentence(condition)
    for kind in ("initContainerStatuses", "containerStatuses"):
        for container in status.get(kind, ()):
            state = container.get("state", {})
            where = f"{name}/{container['name']}"
            found = state.get("waiting")
            if found is not None and found.get("reason") not in _ON_ITS_WAY:
                ended = container.get("lastState", {}).get("terminated")
                more = f"; it ended before: {_sentence(ended)}" if ended else ""
                yield where, _sentence(found) + more
            elif (failed := state.get("terminated")) and failed.get("exitCode"):
                yield where, _sentence(failed)


_ON_ITS_WAY = {"ContainerCreating", "PodInitializing"}


def _sentence(state: dict[str, Any]) -> str:
    """Reason, exit code and message of a condition or state."""
    code = f"exit code {state['exitCode']}" if "exitCode" in state else ""
    parts = [str(part) for part in (state.get("reason"), code, state.get("message")) if part]
    return ": ".join(parts) or "no reason is given"


def tell_what_pods_wait_for(
    component: pulumi.Resource,
    release: pulumi.Resource,
    namespace: pulumi.Output[str],
    kubeconfig: pulumi.Output[str],
    context: str | None,
) -> None:
    """Warn of pods that do not get ready, each reason once, for as long as a release is worked on.

    Args:
        component: What the release is a part of, and what the warnings are about: of a release that
            is not made yet the engine does not know the URN, and waits for it.
        release: The release.
        namespace: Where its pods are.
        kubeconfig: Content of a kubeconfig for its cluster.
        context: Context in it. None is its current one.
    """
    if not pulumi.runtime.is_dry_run():
        _running.add(
            task := asyncio.ensure_future(
                _watch(component, release, namespace, kubeconfig, context)
            )
        )
        task.add_done_callback(_running.discard)


_running: set[asyncio.Future[None]] = set()
"""The event loop itself does not keep them."""


async def _watch(
    component: pulumi.Resource,
    release: pulumi.Resource,
    namespace: pulumi.Output[str],
    kubeconfig: pulumi.Output[str],
    context: str | None,
) -> None:
    made = asyncio.ensure_future(release.urn.future())
    told: set[tuple[str, str]] = set()
    before: dict[str, str] = {}
    pause = _FIRST_LOOK_SECONDS
    while not (await asyncio.wait({made}, timeout=pause))[0]:
        pause = _NEXT_LOOK_SECONDS
        where_pods_are = await namespace.future()
        pods = await _pods(where_pods_are, await kubeconfig.future(), context)
        if pods is None:
            return
        found = waiting(pods)
        for where, why in found.items():
            if where in before and (where, why) not in told:  # twice: it is not just passing by
                told.add((where, why))
                pulumi.log.warn(f"{where} is not ready: {why}", component)
        before = found


async def _pods(
    namespace: str | None, kubeconfig: str | None, context: str | None
) -> list[dict[str, Any]] | None:
    """The pods; None where there is no kubectl, or it cannot reach the cluster."""
    kubectl = shutil.which("kubectl")
    if kubectl is None or namespace is None or kubeconfig is None:
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".kubeconfig", encoding="utf-8") as file:
        file.write(kubeconfig)
        file.flush()
        process = await asyncio.create_subprocess_exec(
            kubectl,
            *("--namespace", namespace, "get", "pods", "--output", "json"),
            *(("--context", context) if context else ()),
            env={**os.environ, "KUBECONFIG": file.name},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            text, _ = await asyncio.wait_for(process.communicate(), _KUBECTL_SECONDS)
        except TimeoutError:
            process.kill()
            return None
    if process.returncode:
        return None
    pods: list[dict[str, Any]] = json.loads(text)["items"]
    return pods
