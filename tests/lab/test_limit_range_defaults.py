"""What a LimitRange gives to containers that name nothing, as the real API server fills it in."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from foreign_reading import problems, read_with

from eks_gpushare.manifests.readers.kubernetes import KubernetesReader

pytestmark = pytest.mark.slow

GPU = "nvidia.com/gpu"
PARTS = ("default", "defaultRequest", "max", "min")
PATH = "/api/v1/namespaces/default/limitranges?dryRun=All"


def test_bounds_stand_in_for_defaults_as_in_the_api_server(call: Any) -> None:
    tried = 0
    for amounts in product((None, "0", "1"), repeat=len(PARTS)):
        limit: dict[str, Any] = {"type": "Container"}
        limit |= {part: {GPU: n} for part, n in zip(PARTS, amounts, strict=True) if n is not None}
        given = {
            "apiVersion": "v1",
            "kind": "LimitRange",
            "metadata": {"name": "some"},
            "spec": {"limits": [limit]},
        }
        made = call("POST", PATH, given)
        if made["_code"] != 201:  # a minimum above the maximum, and the like
            continue
        tried += 1
        (kept,) = made["spec"]["limits"]
        gives = any(kept.get(part, {}).get(GPU) == "1" for part in ("default", "defaultRequest"))
        assert bool(problems(read_with(KubernetesReader(), given))) is gives, (limit, kept)
    assert tried > 20
