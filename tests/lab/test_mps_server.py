"""Whom the MPS server of a simulated node serves."""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare_lab.simulated_node import patches
from eks_gpushare_lab.simulated_node.mps_server import CLIENT, WAITS, MpsServer, users_of

SHARE = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}


def pod(name: str, *containers: dict[str, Any], phase: str = "Running", **spec: Any) -> Any:
    made = [{"image": "app", **SHARE, **each} for each in containers or ({},)]
    return {
        "metadata": {"name": name, "uid": name, "namespace": "default"},
        "spec": {"containers": made, **spec},
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def user(number: int) -> dict[str, Any]:
    return {"securityContext": {"runAsUser": number}}


def waiting(server: MpsServer, *pods: Any) -> dict[str, str]:
    return {turn.pod["metadata"]["name"]: turn.waits for turn in server.turns(pods) if turn.waits}


@pytest.mark.parametrize(
    ("given", "users"),
    [
        (pod("p"), ["0"]),
        (pod("p", **user(1000)), ["1000"]),
        (pod("p", user(7), **user(1000)), ["7"]),
        (pod("p", user(0), **user(1000)), ["0"]),
        (pod("p", user(7), {}, **user(1000)), ["7", "1000"]),
        (pod("p", user(7), {**user(8), "resources": {}}), ["7"]),
        (pod("p", securityContext={"runAsNonRoot": True}), ["app"]),
        (pod("p", {"securityContext": {"runAsNonRoot": False}}), ["0"]),
    ],
)
def test_users_are_those_of_the_containers_with_shares(given: Any, users: list[str]) -> None:
    assert users_of(given) == users


def test_the_first_user_is_served_and_the_second_waits() -> None:
    found = waiting(MpsServer(), pod("a"), pod("b", **user(1000)), pod("c", **user(0)))

    assert found == {
        "b": (
            "the pod runs as user 1000, and the MPS server of the node serves user 0 until all "
            "pods of that user have ended"
        )
    }


def test_the_next_user_is_served_when_the_last_client_has_gone() -> None:
    server = MpsServer()
    a, b, c = pod("a"), pod("b", **user(1000)), pod("c", **user(2000))

    assert list(waiting(server, a, b, c)) == ["b", "c"]
    assert list(waiting(server, b, c)) == ["c"]
    b["status"]["phase"] = "Succeeded"
    assert list(waiting(server, b, c)) == []


def test_a_client_of_an_earlier_process_keeps_the_server() -> None:
    early = pod("z", **user(1000))
    early["metadata"]["annotations"] = {CLIENT: "1000"}

    assert list(waiting(MpsServer(), pod("a"), early)) == ["a"]


def test_a_pod_of_two_users_is_never_served() -> None:
    server = MpsServer()
    both = pod("both", user(0), user(1000))

    assert waiting(server, both) == {
        "both": (
            "the containers run as user 0 and user 1000, and the MPS server of the node serves "
            "one user"
        )
    }
    assert waiting(server, pod("c", **user(1000))) == {}


def test_a_pod_without_shares_is_no_client() -> None:
    assert list(MpsServer().turns([pod("p", {"resources": {}})])) == []


def test_who_waits_is_not_ready_until_it_is_served() -> None:
    server, other = MpsServer(), pod("b", **user(1000))
    list(server.turns([pod("a")]))
    (turn,) = (each for each in server.turns([pod("a"), other]) if each.waits)
    notes, status = patches.mps_turn(turn)
    assert notes is not None
    assert status is not None
    other["metadata"]["annotations"] = notes["metadata"]["annotations"]
    other["status"] |= status["status"]

    assert other["metadata"]["annotations"] == {WAITS: turn.waits}
    assert {(c["type"], c["status"]) for c in other["status"]["conditions"]} == {
        ("Ready", "False"),
        ("ContainersReady", "False"),
    }
    (free,) = server.turns([other])
    notes, status = patches.mps_turn(free)
    assert notes is not None
    assert status is not None
    assert notes["metadata"]["annotations"] == {CLIENT: "1000", WAITS: None}
    assert status["status"]["conditions"][0] == {"type": "Ready", "status": "True"}
