"""Takes the startup taint off GPU nodes whose MIG layout is there, and does nothing else.

It runs in the cluster, from a ConfigMap, on Python's standard library alone. A node may lose the
taint when all of this holds:

* `nvidia.com/mig.config` names the configuration of the node's pool;
* `nvidia.com/mig.config.state` is `success`;
* the node advertises exactly what the pool declares.

The last is needed because MIG manager says `success` right after it lets the device plugin start
again: for some seconds the node still shows what it had before, whole GPUs on a new one.

The taint is removed by a JSON patch that tests the taint and both labels, so a change in between
is never overwritten, and the patch fails where the reason for it is gone.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import ssl
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

POOL = "eks-gpushare/pool"
CONFIG = "nvidia.com/mig.config"
STATE = "nvidia.com/mig.config.state"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
TAINT = {"key": "eks-gpushare/mig-layout", "value": "pending", "effect": "NoSchedule"}
GPU_RESOURCES = ("nvidia.com/gpu", "nvidia.com/gpu.shared")
MIG_RESOURCE = "nvidia.com/mig-"

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
NODES = "/api/v1/nodes"
PAGE = 100
FIRST_DELAY, LONGEST_DELAY = 1.0, 30.0
PAUSE_SECONDS = 1.0
ANSWER_SECONDS = 30
LARGE = {"k": 1_000, "M": 1_000_000}

GONE = 410
REFUSED = 400
CHANGED = {404, 409, 422}
"""The node went, or a test of the patch failed: whatever changed it comes as an event."""


class ApiError(Exception):
    """The API server refused a request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status} {message}")
        self.status = status


class Api:
    """The API server, as the pod's service account sees it."""

    def __init__(self) -> None:
        self.host = os.environ["KUBERNETES_SERVICE_HOST"]
        self.port = int(os.environ["KUBERNETES_SERVICE_PORT"])
        self.account = Path(os.environ.get("SERVICE_ACCOUNT_DIR", ACCOUNT))
        self.context = ssl.create_default_context(cafile=str(self.account / "ca.crt"))
        # Python 3.13 wants key identifiers that the certificates of old EKS clusters lack
        # (https://github.com/kubernetes-client/python/issues/2394). Chain and host stay checked.
        self.context.verify_flags &= ~ssl.VERIFY_X509_STRICT

    def open(  # noqa: PLR0913, PLR0917 - what a request has
        self,
        method: str,
        path: str,
        query: dict[str, str],
        body: object = None,
        kind: str = "application/json",
        seconds: float = ANSWER_SECONDS,
    ) -> http.client.HTTPResponse:
        """Send a request; the answer has yet to be read."""
        # Read anew each time: the kubelet puts a new token there every hour.
        token = (self.account / "token").read_text(encoding="utf-8").strip()
        connection = http.client.HTTPSConnection(
            self.host, self.port, timeout=seconds, context=self.context
        )
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": kind,
            "Connection": "close",  # so that the socket goes with the answer
        }
        content = None if body is None else json.dumps(body)
        connection.request(method, f"{path}?{urlencode(query)}", content, headers)
        answer = connection.getresponse()
        if answer.status >= REFUSED:
            text = answer.read(2000).decode(errors="replace")
            connection.close()
            raise ApiError(answer.status, message_of(text))
        return answer

    def call(self, *request: Any, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - as open
        """Send a request and return the object that comes back."""
        with self.open(*request, **more) as answer:
            found: dict[str, Any] = json.loads(answer.read())
            return found


class Remover:
    """Follows the nodes of the pools."""

    def __init__(self, api: Api, pools: dict[str, Any], heartbeat: Path | None) -> None:
        self.api, self.pools, self.heartbeat = api, pools, heartbeat
        self.watch_seconds = int(os.environ.get("WATCH_SECONDS", "240"))
        self.selector = {"labelSelector": f"{POOL},{CONFIG}"}
        self.said: dict[str, str] = {}

    def run(self) -> None:
        """List and watch until a signal ends it, whatever happens to the connection."""
        delay = FIRST_DELAY
        while True:
            began = time.monotonic()
            try:
                self.follow(self.sweep())
                delay = FIRST_DELAY
            except (ApiError, OSError, http.client.HTTPException, ValueError) as error:
                if isinstance(error, ApiError) and error.status == GONE:
                    log("info", "the watch is too old: listing anew")
                else:
                    if time.monotonic() - began > LONGEST_DELAY:  # it had worked until then
                        delay = FIRST_DELAY
                    why = str(error) or type(error).__name__
                    log("error", f"trying again in {delay:.0f} s: {why}")
                    time.sleep(delay * random.uniform(0.8, 1.2))  # noqa: S311 - no secret
                    delay = min(2 * delay, LONGEST_DELAY)
            time.sleep(PAUSE_SECONDS)

    def sweep(self) -> str:
        """Look at every node, and return the version to watch from."""
        query = {**self.selector, "limit": str(PAGE)}
        names = set()
        while True:
            page = self.api.call("GET", NODES, query)
            for node in page["items"]:
                names.add(node["metadata"]["name"])
                self.look_at(node)
            self.beat()
            rest = page["metadata"].get("continue")
            if not rest:
                break
            query["continue"] = rest
        self.said = {name: why for name, why in self.said.items() if name in names}
        return str(page["metadata"]["resourceVersion"])

    def follow(self, version: str) -> None:
        """Look at every node that changes, until the API server ends the watch."""
        for event in self.watch(version):
            self.beat()
            if event["type"] == "ERROR":
                status = event["object"]
                raise ApiError(int(status.get("code") or 0), str(status.get("message")))
            if event["type"] in {"ADDED", "MODIFIED"}:
                self.look_at(event["object"])

    def watch(self, version: str) -> Iterator[dict[str, Any]]:
        """The changes from a version on."""
        query = {
            **self.selector,
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(self.watch_seconds),
        }
        # The server ends it in time; longer silence is a connection that nobody has told us of.
        seconds = self.watch_seconds + ANSWER_SECONDS
        with self.api.open("GET", NODES, query, seconds=seconds) as answer:
            for line in answer:
                yield json.loads(line)

    def look_at(self, node: dict[str, Any]) -> None:
        """Remove the taint if the node has it and may lose it."""
        name = node["metadata"]["name"]
        if place_of(node) is None:
            self.said.pop(name, None)
            return
        why = reason_to_wait(node, self.pools)
        if why is not None:
            if self.said.get(name) != why:
                log("info", "the taint stays", node=name, why=why)
                self.said[name] = why
            return
        query = {"fieldManager": "eks-gpushare-mig-taint-remover"}
        path, kind = f"{NODES}/{quote(name)}", "application/json-patch+json"
        try:
            self.api.call("PATCH", path, query, patch(node), kind)
        except ApiError as error:
            if error.status not in CHANGED:
                raise
            log("info", "the node changed meanwhile", node=name, why=str(error))
            return
        self.said.pop(name, None)
        log("info", "the taint is removed", node=name, config=node["metadata"]["labels"][CONFIG])

    def beat(self) -> None:
        """Show the liveness probe that there is progress."""
        if self.heartbeat is not None:
            self.heartbeat.touch()


def reason_to_wait(node: dict[str, Any], pools: dict[str, Any]) -> str | None:
    """Why the node has to keep the taint, or None.

    Args:
        node: The node.
        pools: Per pool the name of its MIG configuration, and what its instance types advertise.
    """
    labels = node["metadata"].get("labels") or {}
    pool = pools.get(labels.get(POOL, ""))
    if pool is None:
        return f"the pool {labels.get(POOL)} is not one of these"
    if labels.get(CONFIG) != pool["config"]:
        return f"{CONFIG} is {labels.get(CONFIG)} and not {pool['config']}"
    if labels.get(STATE) != "success":
        return f"{STATE} is {labels.get(STATE, 'not there')}"
    wanted = pool["advertises"].get(labels.get(INSTANCE_TYPE, ""))
    if wanted is None:
        return f"the instance type {labels.get(INSTANCE_TYPE)} is not one of the pool's"
    found = advertised(node.get("status") or {})
    if found != wanted:
        return f"it advertises {shown(found)} and not {shown(wanted)}"
    return None


def advertised(status: dict[str, Any]) -> dict[str, int]:
    """GPU resources that pods can have now, with all of each, broken ones too.

    A resource whose plugin has gone keeps its capacity for minutes, with nothing allocatable.
    """
    capacity, allocatable = status.get("capacity") or {}, status.get("allocatable") or {}
    return {
        name: number(capacity.get(name, count))
        for name, count in allocatable.items()
        if (name in GPU_RESOURCES or name.startswith(MIG_RESOURCE)) and number(count) > 0
    }


def number(quantity: object) -> int:
    """A whole quantity; Kubernetes writes 2000 as 2k."""
    text = str(quantity)
    return int(text[:-1]) * LARGE[text[-1]] if text[-1:] in LARGE else int(text)


def shown(resources: dict[str, int]) -> str:
    """Resources in a message."""
    return ", ".join(f"{name}: {count}" for name, count in sorted(resources.items())) or "nothing"


def place_of(node: dict[str, Any]) -> int | None:
    """Index of the startup taint, None if the node has it no more."""
    for index, taint in enumerate(node.get("spec", {}).get("taints") or ()):
        if {key: taint.get(key, "") for key in TAINT} == TAINT:
            return index
    return None


def patch(node: dict[str, Any]) -> list[dict[str, Any]]:
    """The removal, and tests that fail if what led to it has changed."""
    index, labels = place_of(node), node["metadata"]["labels"]
    taint = f"/spec/taints/{index}"
    held = [
        {"op": "test", "path": label_path(key), "value": labels[key]} for key in (CONFIG, STATE)
    ]
    tested = {"op": "test", "path": taint, "value": node["spec"]["taints"][index]}
    return [*held, tested, {"op": "remove", "path": taint}]


def label_path(key: str) -> str:
    """A label in a JSON patch, where / stands between the parts of a path."""
    return "/metadata/labels/" + key.replace("~", "~0").replace("/", "~1")


def message_of(text: str) -> str:
    """The message of a refusal; the API server sends it as an object."""
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return text.strip()


def log(level: str, message: str, **more: str) -> None:
    """One line of JSON per message."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = json.dumps({"time": now, "level": level, "message": message, **more})
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def is_alive(heartbeat: Path | None, seconds: float) -> bool:
    """Whether there was progress lately; for the liveness probe, a process of its own."""
    return heartbeat is not None and time.time() - heartbeat.stat().st_mtime < seconds


def stop(number_of: int, _: FrameType | None) -> None:
    """End at once: nothing is half-done between two requests."""
    log("info", f"stopped by {signal.Signals(number_of).name}")
    raise SystemExit(0)


def main(arguments: list[str]) -> None:
    """Run until a signal comes; with `alive SECONDS`, answer the probe."""
    file = os.environ.get("HEARTBEAT_FILE")
    heartbeat = Path(file) if file else None
    if arguments[:1] == ["alive"]:
        raise SystemExit(not is_alive(heartbeat, float(arguments[1])))
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, stop)
    expected = os.environ.get("EXPECTED_FILE") or Path(__file__).with_name("expected.json")
    pools = json.loads(Path(expected).read_text(encoding="utf-8"))
    log("info", "started", pools=", ".join(sorted(pools)))
    Remover(Api(), pools, heartbeat).run()


if __name__ == "__main__":
    main(sys.argv[1:])
