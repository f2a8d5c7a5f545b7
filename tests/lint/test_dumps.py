"""What controllers made is judged in their controller, if that is there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run

POD = {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "0.5"}}}]}


def made(kind: str, uid: str, owner: str = "", **reference: Any) -> dict[str, Any]:
    spec = POD if kind == "Pod" else {"template": {"spec": POD}}
    metadata: dict[str, Any] = {"name": uid, "uid": uid}
    if owner:
        metadata["ownerReferences"] = [{"uid": owner, "controller": True, **reference}]
    version = "v1" if kind == "Pod" else "apps/v1"
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


DEPLOYMENT = made("Deployment", "a")
REPLICA_SET = made("ReplicaSet", "b", "a")


@pytest.mark.parametrize(
    ("items", "said_of"),
    [
        ([DEPLOYMENT, REPLICA_SET, made("Pod", "c", "b"), made("Pod", "d", "b")], ["Deployment a"]),
        ([REPLICA_SET, made("Pod", "c", "b")], ["ReplicaSet b"]),
        ([made("Pod", "c", "b")], ["Pod c"]),
        ([DEPLOYMENT, made("Pod", "c", "a", controller=False)], ["Deployment a", "Pod c"]),
        ([made("Pod", "c", "x"), made("Pod", "d")], ["Pod c", "Pod d"]),
    ],
)
def test_what_is_wrong_is_said_of_the_controller(
    run: Run, tmp_path: Path, items: list[dict[str, Any]], said_of: list[str]
) -> None:
    file = tmp_path / "dump.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    found = run("lint", "--json", str(file)).json["files"][0]["findings"]

    assert [each["message"].split(" asks")[0] for each in found] == [
        f"The {who}" for who in said_of
    ]
    assert {each["code"] for each in found} == {"GPU1114"}
