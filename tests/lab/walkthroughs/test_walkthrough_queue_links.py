"""What the rules on Kueue's chain and on priorities say, by the real Kueue and the real scheduler.

Their examples are laid as they are, wrong and right: EKS_GPUSHARE_TEST_AT_LENGTH=1 pytest
tests/lab/walkthroughs/<this file>.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from queue_scene import RESEARCH, SECONDS, node, release

from eks_gpushare.sharing.kueue import manager_configuration
from eks_gpushare_lab.client import ApiError, Client
from eks_gpushare_lab.control_plane.control_plane import ControlPlane
from eks_gpushare_lab.controllers.queueing import Queueing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.slow, pytest.mark.at_length]

Programs = Any
EXAMPLES = Path(__file__).parents[3] / "examples" / "lint"
GROUP = "/apis/kueue.x-k8s.io/v1beta2"
GPU = "nvidia.com/gpu"
LABELS = {"pool": "whole", "nvidia.com/gpu.present": "true"}
SIDES = ("bad", "good")
WORDS = {
    "GPU1266": "LocalQueue bad-gpu1266 doesn't exist",
    "GPU1267": "ClusterQueue bad-gpu1267 doesn't exist",
    "GPU1268": "ClusterQueue bad-gpu1268-total is inactive",
    "GPU1269": "The workload is admitted",
}
"""What Kueue says of the Workload of each wrong one."""


def objects(code: str, side: str) -> list[dict[str, Any]]:
    """An example with names and a namespace of its own, without nodes and what runs on them."""
    text = (EXAMPLES / code / f"{side}.yaml").read_text(encoding="utf-8")
    own = text.replace("research", space(code, side)).replace(
        "whole-gpus", f"{side}-{code.lower()}"
    )
    return [each for each in yaml.safe_load_all(own) if each["kind"] not in {"Node", "DaemonSet"}]


def space(code: str, side: str) -> str:
    return f"{side}-{code.lower()}"


@contextmanager
def control_plane(lab_home: object, programs: Programs) -> Iterator[tuple[Client, Any]]:
    assert programs.paths
    assert lab_home
    with ControlPlane() as up:
        client = Client(up.lab.url, up.lab.ca, up.lab.client_cert, up.lab.client_key)
        yield client, up.lab
        client.close()


def eventually(is_so: Callable[[], bool], told: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < deadline, told()
        time.sleep(0.1)


def test_kueue_holds_back_what_the_wrong_examples_ask_for(
    programs: Programs, lab_home: object
) -> None:
    places = [(code, side) for code in WORDS for side in SIDES]
    every = tuple(space(*place) for place in places)
    with control_plane(lab_home, programs) as (client, lab):
        queueing = Queueing(client, lab)
        for name in every:
            client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        client.create(node("gpu", {GPU: 8}, LABELS))
        share = RESEARCH._replace(namespaces=every, maximum_gib=None)
        queueing.start_for([], [release(manager_configuration([share]))])
        client.kinds()
        for place in places:
            for each in objects(*place):
                client.apply(each)

        def said() -> dict[str, set[str]]:
            """What Kueue says, by namespace."""
            found: dict[str, set[str]] = {name: set() for name in every}
            for each in client.list(f"{GROUP}/workloads")[0]:
                conditions = each.get("status", {}).get("conditions") or ()
                found[each["metadata"]["namespace"]] |= {c.get("message") for c in conditions}
            return found

        wanted = {space(code, "bad"): words for code, words in WORDS.items()}
        wanted |= {space(code, "good"): "The workload is admitted" for code in WORDS}
        eventually(lambda: all(words in said()[name] for name, words in wanted.items()), said)
        held = {name for name in every if "The workload is admitted" not in said()[name]}
        assert held == {space(code, "bad") for code in WORDS if code != "GPU1269"}
        (queue,) = (
            each
            for each in client.list(f"{GROUP}/clusterqueues")[0]
            if each["metadata"]["name"] == "bad-gpu1268-total"
        )
        (active,) = queue["status"]["conditions"]
        assert "references missing ResourceFlavor(s): whole" in active["message"]
        # Admitted, and no node is as the flavor says.
        path = "/api/v1/namespaces/bad-gpu1269/pods"
        (pod,) = client.list(path)[0]
        assert pod["spec"]["nodeSelector"] == {"pool": "gpu"}
        eventually(lambda: "Unschedulable" in str(client.list(path)[0]), lambda: client.list(path))
        queueing.stop()


@pytest.mark.parametrize("side", SIDES)
def test_a_priority_ends_the_device_plugin_that_has_none(
    side: str, programs: Programs, lab_home: object
) -> None:
    path = EXAMPLES / "GPU1271" / f"{side}.yaml"
    given = {each["kind"]: each for each in yaml.safe_load_all(path.read_text(encoding="utf-8"))}
    plugin, pod = given["DaemonSet"], given["Pod"]
    for spec in (plugin["spec"]["template"]["spec"], pod["spec"]):
        resources = spec["containers"][0].setdefault("resources", {})
        resources["requests"] = {"cpu": "1500m"}
    pod["metadata"]["namespace"] = "default"
    of_two = node("gpu", {GPU: 8}, LABELS)
    for part in ("capacity", "allocatable"):
        of_two["status"][part]["cpu"] = "2"
    with control_plane(lab_home, programs) as (client, _):
        client.create(of_two)
        client.apply(plugin)

        def phases(namespace: str) -> list[str]:
            pods = client.list(f"/api/v1/namespaces/{namespace}/pods")[0]
            return [each["status"].get("phase", "") for each in pods]

        eventually(lambda: phases("kube-system") == ["Running"], lambda: phases("kube-system"))
        client.apply(given["PriorityClass"])
        client.apply(pod)
        ended = (["Running"], ["Pending"])
        wanted = ended if side == "bad" else ended[::-1]
        both = ("default", "kube-system")
        eventually(lambda: tuple(map(phases, both)) == wanted, lambda: [*map(phases, both)])


def test_the_api_server_refuses_the_class(programs: Programs, lab_home: object) -> None:
    with control_plane(lab_home, programs) as (client, _):
        for side in SIDES:
            text = (EXAMPLES / "GPU1270" / f"{side}.yaml").read_text(encoding="utf-8")
            if side == "good":
                client.apply(yaml.safe_load(text))
            else:
                with pytest.raises(ApiError, match="maximum allowed value"):
                    client.apply(yaml.safe_load(text))
