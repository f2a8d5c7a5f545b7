"""What is wrong with workloads, KEDA and warm room, and what looks like it and is right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from finding_examples import base, checked, findings, stack_file_text

from eks_gpushare.documents.helm import merge_values
from eks_gpushare.rules.keda import KEDA_IDLE, KEDA_NAMESPACE

if TYPE_CHECKING:
    from pathlib import Path

URL = "http://prometheus.monitoring.svc:9090"
ARN = "arn:aws:aps:us-west-2:111122223333:workspace/ws-1a2b"
SLICED: dict[str, dict[str, Any]] = {"gpu": {"sharing": {"mode": "timeSlicing", "replicas": 4}}}
MIG: dict[str, dict[str, Any]] = {
    "gpu": {
        "instanceTypes": ["p4d.24xlarge"],
        "zones": ["us-west-2a"],
        "sharing": {"mode": "mig", "layout": "all-balanced"},
    }
}
SINGLE_IN_TURNS: dict[str, dict[str, Any]] = {
    "gpu": {
        "instanceTypes": ["p4d.24xlarge"],
        "zones": ["us-west-2a"],
        "sharing": {
            "mode": "mig",
            "layout": "all-1g.5gb",
            "strategy": "single",
            "timeSlicing": {"replicas": 2, "rename": False},
        },
    }
}
STATIC = {"provisioner": "karpenter", "karpenter": {"static": True}}
BOTH: dict[str, dict[str, Any]] = {
    "gpu": {},
    "spot": {
        "instanceTypes": ["g5.xlarge"],
        "nodes": {"max": 2},
        "capacityType": "spot",
        "sharing": {"mode": "exclusive"},
    },
}
SCALED = {"replicas": {"min": 1, "max": 2}}


def stack(
    pools: dict[str, Any] | None = None, keda: dict[str, Any] | None = None, **workload: Any
) -> dict[str, Any]:
    made = {"image": "registry.example/model:1.2", "pool": "gpu", **workload}
    given = {key: value for key, value in made.items() if value is not None}
    asked = {"keda": {"prometheus": {"url": URL, **(keda or {})}}}
    return {"pools": pools or {}, "workloads": {"model": given}, **asked}


def messages(code: str, given: dict[str, Any]) -> list[tuple[str, str]]:
    return findings(given, code)


@pytest.mark.parametrize("given", [{}, {"pools": []}])
def test_a_workload_without_a_pool(given: dict[str, Any]) -> None:
    workloads = {"model": {"image": "m:1", **given}}

    found = messages("GPU820", {"workloads": workloads})
    assert found == [("workloads.model.pool", "No pool is named.")]


OFFICE = {"start": "0 8 * * 1-5", "end": "0 18 * * 1-5", "replicas": 2}
WOKEN: dict[str, Any] = {"autoStop": True, "replicas": {"max": 2}}
QUEUE = "arn:aws:sqs:us-west-2:111122223333:jobs"


def at(*windows: dict[str, Any], **more: Any) -> dict[str, Any]:
    return stack(schedule=[{**OFFICE, **window} for window in windows], **more)


CASES: list[tuple[str, dict[str, Any], list[tuple[str, str]]]] = [
    # Schedules
    ("GPU854", at({}), []),
    ("GPU854", at(), [("schedule", "The schedule has no windows.")]),
    (
        "GPU854",
        at({"start": "@daily"}),
        [("schedule[0].start", '"@daily" is no schedule: KEDA knows no words such as @daily.')],
    ),
    (
        "GPU854",
        at({}, {"end": "TZ=UTC 0 18 * * 1-5"}),
        [
            (
                "schedule[1].end",
                (
                    '"TZ=UTC 0 18 * * 1-5" is no schedule: the time zone has a key of its own, '
                    "timeZone."
                ),
            )
        ],
    ),
    (
        "GPU854",
        at({"start": "0 8 * *", "end": "0 18 * * 7"}),
        [
            ("schedule[0].start", '"0 8 * *" is no schedule: it has 4 fields, not 5.'),
            (
                "schedule[0].end",
                '"0 18 * * 7" is no schedule: 7 is not from 0 to 6 in the day of the week, 7.',
            ),
        ],
    ),
    (
        "GPU854",
        at({"end": "0 8 * * 1-5"}),
        [("schedule[0]", "start and end are the same, 0 8 * * 1-5.")],
    ),
    (
        "GPU854",
        at({"start": "0 0 30 2 *"}),
        [("schedule[0]", "The window is not as it is written: its start never falls.")],
    ),
    ("GPU855", at({"timeZone": "Asia/Tokyo"}), []),
    ("GPU855", at({"timeZone": "Local"}), [("schedule[0].timeZone", '"Local" is no time zone.')]),
    # A window within the hour that is left out in spring, but on weekdays.
    ("GPU856", at({"timeZone": "Europe/Berlin", "start": "30 2 * * 1-5"}), []),
    (
        "GPU857",
        at({"replicas": 1}),
        [
            ("schedule[0].replicas", "The window has 1 pods, and there are 1 without it."),
        ],
    ),
    ("GPU857", at({"replicas": 1}, replicas={"min": 0}), []),
    ("GPU857", at({"replicas": 1}, **WOKEN, wake={"query": "up"}), []),
    (
        "GPU857",
        at({"replicas": 3}, replicas={"max": 2}),
        [
            ("schedule[0].replicas", "The window has 3 pods, and replicas.max is 2."),
        ],
    ),
    (
        "GPU857",
        stack(replicas={"min": 0}),
        [
            ("replicas.min", "The workload has no pods, and nothing is said of when it has some."),
        ],
    ),
    (
        "GPU857",
        at({}, replicas={"min": 0, "max": 2}),
        [
            (
                "replicas.min",
                "Nothing is measured of no pods, so that their number cannot follow it.",
            ),
        ],
    ),
    (
        "GPU858",
        at({"replicas": 10}, {"replicas": 9}),
        [
            ("schedule", "Between 9 and 10 pods there is a tenth at most."),
        ],
    ),
    ("GPU858", at({"replicas": 9}, {"replicas": 8}), []),
    ("GPU858", at({"replicas": 1}, replicas={"min": 0}), []),
    (
        "GPU824",
        at({"replicas": 3}),
        [
            ("schedule", "3 pods are more than gpu can hold, which is 2."),
        ],
    ),
    # Queues
    ("GPU859", stack(**WOKEN, wake={"queue": QUEUE}), []),
    ("GPU859", stack(**WOKEN, wake={}), [("wake", "Neither query nor queue is given.")]),
    (
        "GPU859",
        stack(**WOKEN, wake={"queue": QUEUE, "query": "up"}),
        [("wake", "Both are given.")],
    ),
    (
        "GPU859",
        stack(**WOKEN, wake={"queue": "arn:aws-cn:sqs:cn-north-1:111122223333:jobs"}),
        [("wake.queue", "The queue is in the partition aws-cn, and the stack in aws.")],
    ),
    (
        "GPU859",
        merge_values(stack(**WOKEN, wake={"queue": QUEUE}), {"keda": {"install": False}}),
        [
            (
                "wake.queue",
                "KEDA is installed by somebody else, and its operator has no role of the stack's.",
            )
        ],
    ),
    # Pools
    ("GPU820", stack(pool="gpus"), [("pool", '"gpus" is no pool of this stack.')]),
    ("GPU820", stack(pool="GPU"), [("pool", '"GPU" is no pool of this stack.')]),
    # Shares
    (
        "GPU821",
        stack(share="nvidia.com/gpu.shared"),
        [("share", "Pool gpu advertises no nvidia.com/gpu.shared.")],
    ),
    (
        "GPU821",
        stack(MIG, share="nvidia.com/gpu"),
        [("share", "Pool gpu advertises no nvidia.com/gpu.")],
    ),
    (
        "GPU821",
        stack(MIG, share="nvidia.com/mig-7g.40gb"),
        [("share", "Pool gpu advertises no nvidia.com/mig-7g.40gb.")],
    ),
    ("GPU821", stack(MIG, share="nvidia.com/mig-3g.20gb"), []),
    ("GPU821", stack(MIG), []),
    (
        "GPU822",
        stack(SLICED, shares=2),
        [("shares", "A pod asks for 2 of nvidia.com/gpu, and pods take turns on each.")],
    ),
    (
        "GPU822",
        stack(shares=2),
        [("shares", "A pod asks for 2 of nvidia.com/gpu, and a node of pool gpu has 1.")],
    ),
    ("GPU822", stack({"gpu": {"instanceTypes": ["g5.12xlarge"]}}, shares=4), []),
    ("GPU822", stack(MIG, shares=2), []),
    (
        "GPU822",
        stack(SINGLE_IN_TURNS, shares=2),
        [("shares", "A pod asks for 2 of nvidia.com/gpu, and pods take turns on each.")],
    ),
    # Numbers
    ("GPU823", stack(replicas={"min": 3, "max": 2}), [("replicas.max", "max is 2 and min is 3.")]),
    ("GPU823", stack(replicas={"min": 2, "max": 2}), []),
    ("GPU823", stack(replicas={"max": 2}), []),
    (
        "GPU824",
        stack(replicas={"max": 3}),
        [("replicas.max", "3 pods are more than gpu can hold, which is 2.")],
    ),
    (
        "GPU824",
        stack(replicas={"min": 3}),
        [("replicas.min", "3 pods are more than gpu can hold, which is 2.")],
    ),
    ("GPU824", stack(SLICED, replicas={"max": 8}), []),
    (
        "GPU824",
        stack(SLICED, replicas={"max": 9}),
        [("replicas.max", "9 pods are more than gpu can hold, which is 8.")],
    ),
    (
        "GPU824",
        stack({"gpu": {"instanceTypes": ["g5.12xlarge"]}}, shares=3, replicas={"max": 3}),
        [("replicas.max", "3 pods of 3 shares are more than gpu can hold, which is 2.")],
    ),
    (
        "GPU824",
        stack(
            {"gpu": {**STATIC, "nodes": {"min": None, "desired": 2, "max": 4}}}, replicas={"max": 3}
        ),
        [("replicas.max", "3 pods are more than gpu can hold, which is 2.")],
    ),
    # Nodes that nobody adds
    (
        "GPU850",
        stack(replicas={"min": 2}),
        [("replicas.min", "The nodes of gpu hold 1 of 2 pods, and nothing adds nodes.")],
    ),
    (
        "GPU850",
        stack(SLICED, replicas={"max": 5}),
        [("replicas.max", "The nodes of gpu hold 4 of 5 pods, and nothing adds nodes.")],
    ),
    ("GPU850", stack(SLICED, replicas={"max": 4}), []),
    ("GPU850", stack({"gpu": {"nodes": {"desired": 2}}}, replicas={"min": 2}), []),
    ("GPU850", stack({"gpu": {"scaledBy": "autoscaler"}}, replicas={"min": 2}), []),
    ("GPU850", stack(replicas={"min": 3}), []),
    ("GPU850", stack(pool="gpus", replicas={"min": 2}), []),
    (
        "GPU850",
        stack({"gpu": {"provisioner": "existing", "nodes": {"max": 2}}}, replicas={"min": 2}),
        [],
    ),
    (
        "GPU850",
        stack(
            {"gpu": {"provisioner": "karpenter", "nodes": {"min": None, "desired": None}}},
            replicas={"min": 2},
        ),
        [],
    ),
    # Waking
    (
        "GPU825",
        stack(autoStop=True),
        [
            (
                "autoStop",
                "The workload is stopped when idle, and nothing is said of what starts it.",
            )
        ],
    ),
    (
        "GPU825",
        stack(wake={"query": "x"}),
        [("wake", "The workload is never stopped, so nothing has to start it.")],
    ),
    ("GPU825", stack(autoStop=True, wake={"query": "x"}), []),
    # Thresholds
    (
        "GPU826",
        stack(idle={"threshold": 80}, **SCALED),
        [("idle.threshold", "Idle is below 80 %, and over-used above 80 %.")],
    ),
    (
        "GPU826",
        stack(overUse={"threshold": 15}, **SCALED),
        [("overUse.threshold", "Idle is below 20 %, and over-used above 15 %.")],
    ),
    ("GPU826", stack(idle={"threshold": 79.5}, **SCALED), []),
    # A fraction is no percentage
    (
        "GPU005",
        stack(overUse={"threshold": 0.8}, **SCALED),
        [
            (
                "overUse.threshold",
                "0.8 is less than 1, the least that is allowed.",
            )
        ],
    ),
    # Ports
    ("GPU827", stack(readinessPath="/ok"), [("readinessPath", "There is no port to ask at.")]),
    (
        "GPU827",
        stack(port=80, readinessPath="healthz"),
        [("readinessPath", '"healthz" is no path of a URL.')],
    ),
    ("GPU827", stack(port=80, readinessPath="/v1/models?ready=1"), []),
    ("GPU827", stack(port=80), []),
    # Names
    (
        "GPU828",
        stack(namespace="kube-system"),
        [("namespace", "kube-system is a namespace of Kubernetes itself.")],
    ),
    (
        "GPU828",
        stack(namespace="Models"),
        [
            (
                "namespace",
                (
                    '"Models" is not 1 to 63 lower-case letters, digits and -, starting and ending '
                    "with a letter or digit."
                ),
            )
        ],
    ),
    (
        "GPU828",
        stack(env={"1ST": "x"}),
        [("env.1ST", '"1ST" is not letters, digits, _ - and . without a digit first.')],
    ),
    (
        "GPU828",
        stack(env={"A": "x"}, secretEnv={"A": {"secret": "s", "key": "k"}}),
        [("secretEnv.A", "A stands in env too.")],
    ),
    (
        "GPU828",
        stack(secretEnv={"A": {"secret": "My_Secret", "key": "k"}}),
        [
            (
                "secretEnv.A.secret",
                '"My_Secret" is not lower-case letters, digits, - and . with none of them last.',
            )
        ],
    ),
    (
        "GPU828",
        stack(priority="High"),
        [("priority", '"High" is not lower-case letters, digits, - and . with none of them last.')],
    ),
    ("GPU828", stack(priority="system-cluster-critical"), []),
    ("GPU828", stack(namespace="team-1", env={"HF_HOME": "/x", "a.b": ""}), []),
    # Images
    (
        "GPU829",
        stack(image="Registry/Model:1"),
        [("image", '"Registry/Model:1" is no image: "Registry/Model" has capital letters.')],
    ),
    ("GPU829", stack(image=""), [("image", '"" is no image: it is empty.')]),
    ("GPU829", stack(image="localhost:5000/model:1"), []),
    ("GPU830", stack(image="model"), [("image", "model has no tag, which is latest.")]),
    (
        "GPU830",
        stack(image="localhost:5000/model"),
        [("image", "localhost:5000/model has no tag, which is latest.")],
    ),
    ("GPU830", stack(image=f"model@sha256:{'0' * 64}"), []),
    ("GPU830", stack(image=f"model:latest@sha256:{'0' * 64}"), []),
    (
        "GPU830",
        stack(image="model:latest-cuda12"),
        [("image", "model:latest-cuda12 is pulled by latest-cuda12.")],
    ),
    ("GPU830", stack(image="model:2.1-cuda12"), []),
    # Use
    (
        "GPU832",
        stack(SLICED, **SCALED),
        [("useQuery", "Pods share each GPU of gpu, and DCGM measures GPUs.")],
    ),
    ("GPU832", stack(SLICED, keda={"processMetrics": True}, **SCALED), []),
    ("GPU832", stack(SLICED, useQuery="in_flight", **SCALED), []),
    ("GPU832", stack(SLICED, replicas={"min": 2}), []),
    ("GPU832", stack(MIG, **SCALED), []),
    (
        "GPU832",
        stack(
            {
                "gpu": {
                    **MIG["gpu"],
                    "sharing": {**MIG["gpu"]["sharing"], "timeSlicing": {"replicas": 2}},
                }
            },
            keda={"processMetrics": True},
            **SCALED,
        ),
        [
            (
                "useQuery",
                "Pods take turns on the MIG devices of gpu, where nobody measures processes.",
            )
        ],
    ),
    # Amounts
    (
        "GPU835",
        stack(resources={"requests": {"cpu": "half"}}),
        [("resources.requests.cpu", '"half" is no amount of cpu.')],
    ),
    (
        "GPU835",
        stack(resources={"limits": {"memory": "500m"}}),
        [
            (
                "resources.limits.memory",
                "500m is less than a byte, or part of one: m stands for a thousandth.",
            )
        ],
    ),
    (
        "GPU835",
        stack(resources={"requests": {"memory": "2Gi"}, "limits": {"memory": "2G"}}),
        [("resources.limits.memory", "2Gi are requested, and the limit is 2G.")],
    ),
    (
        "GPU835",
        stack(resources={"limits": {"memory": "512"}}),
        [
            (
                "resources.limits.memory",
                "512 is less than a MiB: a number without a unit counts bytes.",
            )
        ],
    ),
    (
        "GPU835",
        stack(sharedMemory="0"),
        [("sharedMemory", "0 is not more than 0.")],
    ),
    ("GPU835", stack(resources={"requests": {"cpu": "1.5", "memory": "1e9"}}), []),
    (
        "GPU836",
        stack(resources={"requests": {"memory": "16Gi"}}),
        [
            (
                "resources.requests.memory",
                (
                    "A pod asks for 16Gi of memory, and a node of g5.xlarge in pool gpu has "
                    "15391 MiB for pods."
                ),
            )
        ],
    ),
    ("GPU836", stack(resources={"requests": {"memory": "15000Mi"}}), []),
    (
        "GPU837",
        stack(SLICED, resources={"requests": {"cpu": "1"}}, replicas={"min": 4}),
        [
            (
                "resources.requests.cpu",
                (
                    "At 1 of cpu a pod, 3 of the 4 that the shares of a node of g5.xlarge in pool "
                    "gpu are for fit on it."
                ),
            )
        ],
    ),
    ("GPU837", stack(SLICED, resources={"requests": {"cpu": "900m", "memory": "3Gi"}}), []),
    ("GPU837", stack(SLICED, resources={"requests": {"cpu": "1"}}, replicas={"min": 3}), []),
    ("GPU837", stack(SLICED, resources={"limits": {"memory": "3Gi"}}, replicas={"min": 4}), []),
    (
        "GPU837",
        stack(SLICED, resources={"limits": {"memory": "5Gi"}}, replicas={"min": 1, "max": 4}),
        [
            (
                "resources.limits.memory",
                (
                    "At 5Gi of memory a pod, 3 of the 4 that the shares of a node of g5.xlarge in "
                    "pool gpu are for fit on it."
                ),
            )
        ],
    ),
    # Budgets
    ("GPU838", stack(disruptionBudget={}), [("disruptionBudget", "Neither key is given.")]),
    (
        "GPU838",
        stack(disruptionBudget={"maxUnavailable": "101%"}),
        [("disruptionBudget.maxUnavailable", '"101%" is no number of pods.')],
    ),
    (
        "GPU838",
        stack(disruptionBudget={"minAvailable": -1}),
        [("disruptionBudget.minAvailable", "-1 is no number of pods.")],
    ),
    (
        "GPU849",
        stack(disruptionBudget={"minAvailable": "51%"}, replicas={"min": 2}),
        [
            (
                "disruptionBudget.minAvailable",
                "minAvailable 51% keeps all 2 pods: there are 2.",
            )
        ],
    ),
    (
        "GPU849",
        stack(disruptionBudget={"maxUnavailable": "0%"}),
        [("disruptionBudget.maxUnavailable", "No pod may be away.")],
    ),
    ("GPU849", stack(disruptionBudget={"minAvailable": 1}, replicas={"min": 2}), []),
    # Settings that nothing reads
    (
        "GPU839",
        stack(useQuery="x"),
        [("useQuery", "The workload always has 1 of its pods.")],
    ),
    ("GPU839", stack(autoStop=True, wake={"query": "x"}, useQuery="x"), []),
    # PromQL
    ("GPU843", stack(useQuery=" ", **SCALED), [("useQuery", "The query is empty.")]),
    (
        "GPU843",
        stack(useQuery="sum(x))", **SCALED),
        [("useQuery", "The query has a ) that nothing opens.")],
    ),
    (
        "GPU843",
        stack(autoStop=True, wake={"query": 'x{a="b}'}),
        [("wake.query", "The query has a quotation mark that nothing closes.")],
    ),
    (
        "GPU843",
        stack(autoStop=True, wake={"query": "x # waiting"}),
        [("wake.query", "The query has a comment in it, which would hide what comes after.")],
    ),
    (
        "GPU843",
        stack(useQuery="50", **SCALED),
        [("useQuery", "The query is a number, and not a vector.")],
    ),
    ("GPU843", stack(useQuery='x{a=")#", b=\'"\', c=`[`, d="\\""}[5m:1m]', **SCALED), []),
    # Capabilities
    (
        "GPU847",
        stack(capabilities=["setuid"]),
        [("capabilities[0]", '"setuid" is not the name of a capability without CAP_.')],
    ),
    (
        "GPU847",
        stack(namespace="models", capabilities=["SETUID", "SYS_ADMIN"]),
        [
            (
                "capabilities[1]",
                "SYS_ADMIN is none that the namespace allows which this stack makes.",
            )
        ],
    ),
    ("GPU847", stack(namespace="models", createNamespace=False, capabilities=["IPC_LOCK"]), []),
    ("GPU847", stack(capabilities=["IPC_LOCK"]), []),
]


@pytest.mark.parametrize(("code", "given", "found"), CASES)
def test_of_a_workload(code: str, given: dict[str, Any], found: list[tuple[str, str]]) -> None:
    assert messages(code, given) == [(f"workloads.model.{path}", text) for path, text in found]


@pytest.mark.parametrize(
    ("code", "given", "count"),
    [
        # What fits exactly fits.
        ("GPU837", {"replicas": {"min": 9}, "resources": {"requests": {"cpu": "560m"}}}, 0),
        ("GPU837", {"replicas": {"min": 9}, "resources": {"requests": {"cpu": "561m"}}}, 1),
        ("GPU836", {"resources": {"requests": {"cpu": "3920m"}}}, 0),
        ("GPU836", {"resources": {"requests": {"cpu": "3921m"}}}, 1),
        ("GPU836", {"resources": {"requests": {"memory": "0"}}}, 0),
        ("GPU835", {"resources": {"requests": {"memory": "0"}}}, 1),
        ("GPU835", {"resources": {"requests": {"cpu": "0"}}}, 1),
        ("GPU835", {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1000m"}}}, 0),
        ("GPU828", {"namespace": "n" * 63}, 0),
        ("GPU828", {"namespace": "n" * 64}, 1),
        ("GPU828", {"priority": "n" * 253}, 0),
        ("GPU828", {"priority": "n" * 254}, 1),
        ("GPU838", {"disruptionBudget": {"maxUnavailable": "100%"}}, 0),
        ("GPU838", {"disruptionBudget": {"minAvailable": 0}}, 0),
        ("GPU838", {"disruptionBudget": {"minAvailable": "0%"}}, 0),
        ("GPU849", {"disruptionBudget": {"maxUnavailable": 0}}, 1),
        ("GPU849", {"disruptionBudget": {"maxUnavailable": 1}}, 0),
        ("GPU849", {"disruptionBudget": {"minAvailable": 0}}, 0),
        ("GPU849", {"disruptionBudget": {"minAvailable": 1}}, 1),
    ],
)
def test_on_both_sides_of_a_limit(code: str, given: dict[str, Any], count: int) -> None:
    """Of seven shares of a node that has 3920m of CPU for pods; nothing else goes wrong."""
    sharing = {"mode": "timeSlicing", "replicas": 7}
    pools = {"gpu": {"instanceTypes": ["g4dn.xlarge"], "sharing": sharing}}
    text = stack_file_text(merge_values(base(), stack(pools, **given)))
    found = [each.code for each in checked(text).findings]

    assert found.count(code) == count
    assert not {each for each in found if each.startswith("GPU0")}


@pytest.mark.parametrize("pool", ["other", None])
def test_a_pool_that_is_not_there_is_one_mistake(pool: str | None) -> None:
    text = stack_file_text(merge_values(base(), stack(pool=pool, resources=LARGE)))

    assert [f.code for f in checked(text).findings if f.severity == "error"] == ["GPU820"]


@pytest.mark.parametrize(("key", "example"), [("cpu", "500m or 2"), ("memory", "512Mi or 4Gi")])
def test_an_amount_has_an_example_of_its_kind(key: str, example: str) -> None:
    given = stack(resources={"requests": {key: "some"}})
    text = stack_file_text(merge_values(base(), given))

    assert [f.fix for f in checked(text).findings if f.code == "GPU835"] == [
        f"Write it like {example}."
    ]


LARGE = {"requests": {"memory": "900Gi"}}
SEVERAL_TYPES = {
    "gpu": {
        "provisioner": "karpenter",
        "nodes": {"min": None, "desired": None, "max": 2},
        "instanceTypes": ["p4d.24xlarge", "p5.48xlarge"],
        "sharing": {"mode": "mig", "layout": "all-balanced"},
    }
}
SOME_WHOLE = {
    "gpu": {
        **MIG["gpu"],
        "sharing": {
            "mode": "mig",
            "layout": [{"gpus": [0], "devices": {"3g.20gb": 2}}],
            "timeSlicing": {"replicas": 2},
        },
    }
}
FIXES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("GPU820", stack(pool=None), ["Name one of the stack's: gpu."]),
    ("GPU820", stack(BOTH, pool="x"), ["Name one of them: gpu, spot."]),
    (
        "GPU821",
        stack(MIG, share="nvidia.com/gpu"),
        ["It has nvidia.com/mig-1g.5gb, nvidia.com/mig-2g.10gb, nvidia.com/mig-3g.20gb."],
    ),
    ("GPU821", stack(share="nvidia.com/gpu.shared"), ["It has nvidia.com/gpu."]),
    (
        "GPU821",
        stack(SEVERAL_TYPES, share="nvidia.com/gpu"),
        ["It has nothing on all its types."],
    ),
    (
        "GPU822",
        stack(SOME_WHOLE, share="nvidia.com/mig-3g.20gb", shares=2),
        ["Set shares: 1; for more time, have fewer replicas in the pool's sharing."],
    ),
    ("GPU822", stack(SOME_WHOLE, share="nvidia.com/gpu", shares=7), []),
    ("GPU822", stack(SOME_WHOLE, share="nvidia.com/gpu", shares=8), ["Ask for 7 at most."]),
    (
        "GPU824",
        stack({"gpu": {"instanceTypes": ["g5.12xlarge"]}}, shares=2, replicas={"max": 5}),
        ["Set max to 4 at most, or give the pool more nodes."],
    ),
    (
        "GPU824",
        stack({"gpu": {"nodes": {"min": 0, "desired": 1, "max": 1}}}, replicas={"max": 2}),
        ["Set max to 1 at most, or give the pool more nodes."],
    ),
    ("GPU824", stack(MIG, share="nvidia.com/gpu", replicas={"max": 99}), []),
    ("GPU832", stack(SOME_WHOLE, share="nvidia.com/gpu", **SCALED), []),
    (
        "GPU831",
        {**at({}, replicas={"max": 2}), "keda": {}},
        [
            (
                "Give prometheus, in a stack file as keda: {prometheus: {url: ...}}; or remove "
                "replicas.max, after which its schedule alone decides."
            )
        ],
    ),
    ("GPU831", {**at({}), "keda": {}}, []),
    (
        "GPU857",
        stack(replicas={"min": 0, "max": 2}),
        [
            (
                "Set min to 1 or more. To have none while nothing is asked of it, set autoStop: "
                "true with wake."
            )
        ],
    ),
    ("GPU005", stack(port=0), ["Write 1 or more."]),
]


@pytest.mark.parametrize(("code", "given", "fixes"), FIXES)
def test_how_a_workload_is_put_right(code: str, given: dict[str, Any], fixes: list[str]) -> None:
    text = stack_file_text(merge_values(base(), given))

    assert [each.fix for each in checked(text).findings if each.code == code] == fixes


@pytest.mark.parametrize(
    ("shares", "said"), [(1, "9 pods are"), (2, "9 pods of 2 shares are"), (3, "9 pods of 3 sh")]
)
def test_shares_are_told_where_there_are_several(shares: int, said: str) -> None:
    given = stack({"gpu": {"instanceTypes": ["g5.12xlarge"]}}, shares=shares, replicas={"max": 9})

    assert [text.startswith(said) for _, text in messages("GPU824", given)] == [True]


@pytest.mark.parametrize(("pods", "shared"), [((1, 1), 0), ((1, 2), 1), ((2, 2), 1), ((3, 1), 0)])
def test_workloads_find_room_together(pods: tuple[int, int], shared: int) -> None:
    """Of one that is too large by itself another finding says so."""
    given = stack()
    one = given["workloads"]["model"]
    given["workloads"] = {
        name: {**one, "replicas": {"min": count}}
        for name, count in zip(("first", "second"), pods, strict=True)
    }

    found = messages("GPU848", given)
    assert [path for path, _ in found] == ["pools.gpu.nodes"] * shared
    given["pools"] = {"gpu": {"provisioner": "existing", "nodes": None}}
    assert messages("GPU848", given) == []


@pytest.mark.parametrize(
    ("nodes", "found"),
    [
        (None, []),
        ({"min": None, "desired": None, "max": 3}, []),
        (
            {"min": None, "desired": None, "max": 2},
            [("workloads.model.replicas.max", "3 pods are more than gpu can hold, which is 2.")],
        ),
    ],
)
def test_how_many_nodes_others_make_is_known_where_it_is_said(
    nodes: dict[str, Any] | None, found: list[tuple[str, str]]
) -> None:
    pools = {"gpu": {"provisioner": "existing", "nodes": nodes}}

    assert messages("GPU824", stack(pools, replicas={"max": 3})) == found
    assert messages("GPU848", stack(pools, replicas={"min": 3})) == []


@pytest.mark.parametrize(
    ("workload", "path"),
    [
        ({"autoStop": True, "wake": {"query": "x"}}, "autoStop"),
        (SCALED, "replicas"),
        ({}, ""),
    ],
)
def test_what_needs_keda_is_named(workload: dict[str, Any], path: str) -> None:
    given = stack(**workload)
    del given["keda"]

    found = [each for each, _ in messages("GPU831", given)]
    assert found == ([f"workloads.model.{path}"] if path else [])


@pytest.mark.parametrize(
    ("code", "pools", "found"),
    [
        ("GPU820", ["gpu", "spot"], []),
        ("GPU820", ["gpu", "gpu"], [("pools[1]", "gpu stands twice.")]),
        ("GPU820", ["spot", "none"], [("pools[1]", '"none" is no pool of this stack.')]),
        ("GPU821", ["gpu", "spot"], []),
    ],
)
def test_of_several_pools(code: str, pools: list[str], found: list[tuple[str, str]]) -> None:
    given = stack(BOTH, pool=None)
    given["workloads"]["model"]["pools"] = pools

    assert messages(code, given) == [(f"workloads.model.{path}", text) for path, text in found]


def test_pools_that_advertise_different_shares_are_no_way_out_for_each_other() -> None:
    pools = {
        **BOTH,
        "spot": {**BOTH["spot"], "sharing": {**SLICED["gpu"]["sharing"], "rename": True}},
    }
    given = stack(pools, pool=None)
    given["workloads"]["model"]["pools"] = ["gpu", "spot"]

    assert messages("GPU821", given) == [
        (
            "workloads.model.pools",
            "Pods would ask for nvidia.com/gpu, which pool spot does not advertise.",
        )
    ]


def test_pools_hold_pods_together() -> None:
    given = stack(BOTH, pool=None, replicas={"max": 4})
    given["workloads"]["model"]["pools"] = ["gpu", "spot"]
    assert messages("GPU824", given) == []

    given["workloads"]["model"]["replicas"] = {"max": 5}
    assert messages("GPU824", given) == [
        ("workloads.model.replicas.max", "5 pods are more than gpu and spot can hold, which is 4.")
    ]


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("model", True),
        ("m", True),
        ("model-2", True),
        ("m" * 46, True),
        ("m" * 47, False),
        ("2model", False),
        ("Model", False),
        ("my_model", False),
        ("model-", False),
        ("a.b", False),
    ],
)
def test_names_of_workloads(name: str, *, right: bool) -> None:
    given = {"workloads": {name: {"image": "m:1", "pool": "gpu"}}}

    assert (messages("GPU828", given) == []) is right


@pytest.mark.parametrize(
    ("given", "right"),
    [
        ({"url": URL}, True),
        ({"url": "https://prometheus.example/prefix"}, True),
        ({"url": "http://10.0.0.7:9090/"}, True),
        ({"url": "prometheus:9090"}, False),
        ({"url": "http://"}, False),
        ({"url": "http://prometheus:port"}, False),
        ({"url": "http://me:secret@prometheus:9090"}, False),
        ({"url": "http://me@prometheus:9090"}, False),
        ({"url": "http://:secret@prometheus:9090"}, False),
        ({"url": "http://prometheus:0"}, False),
        ({"url": "http://prometheus:1"}, True),
        ({"url": URL, "authentication": "a" * 253}, True),
        ({"url": URL, "authentication": "a" * 254}, False),
        ({"url": "http://prometheus:9090/api/v1/query"}, False),
        ({"url": "http://prometheus:9090?query=up"}, False),
        ({"url": "https://aps-workspaces.us-west-2.amazonaws.com/workspaces/ws-1"}, False),
        ({"workspaceArn": ARN}, True),
        ({"workspaceArn": ARN.replace("us-west-2", "eu-central-1")}, True),
        ({"workspaceArn": "ws-1a2b"}, False),
        ({"workspaceArn": ARN.replace("arn:aws:", "arn:aws-us-gov:")}, False),
        ({"workspaceArn": ARN.replace("aps", "amp")}, False),
        ({"workspaceArn": ARN, "authentication": "mine"}, False),
        ({"url": URL, "authentication": "mine"}, True),
        ({"url": URL, "authentication": "My Own"}, False),
        ({"url": URL, "workspaceArn": ARN}, False),
        ({}, False),
    ],
)
def test_where_keda_asks(given: dict[str, Any], *, right: bool) -> None:
    assert (messages("GPU833", {"keda": {"prometheus": given}}) == []) is right


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "Neither url nor workspaceArn is given."),
        ({"url": URL, "workspaceArn": ARN}, "Both url and workspaceArn are given."),
    ],
)
def test_there_is_one_place_where_keda_asks(given: dict[str, Any], message: str) -> None:
    found = messages("GPU833", {"keda": {"prometheus": given}})

    assert found == [("keda.prometheus", message)]


@pytest.mark.parametrize(
    ("keda", "paths"),
    [
        ({}, []),
        ({"install": False}, ["keda.prometheus.workspaceArn"]),
        ({"install": False, "prometheus": {"url": URL}}, []),
        ({"prometheus": {"url": URL}}, []),
    ],
)
def test_a_workspace_is_asked_by_a_keda_of_the_stack(
    keda: dict[str, Any], paths: list[str]
) -> None:
    given = {"keda": {"prometheus": {"workspaceArn": ARN}, **keda}}

    assert [path for path, _ in messages("GPU834", given)] == paths


@pytest.mark.parametrize(
    ("keda", "count"),
    [
        ({"namespace": "keda"}, 0),
        ({"namespace": "k" * 63}, 0),
        ({"namespace": "k" * 64}, 1),
        ({"namespace": "Keda"}, 1),
        ({"namespace": "keda-"}, 1),
        ({"namespace": ""}, 1),
        ({"namespace": "default"}, 1),
        ({"namespace": "kube-system", "install": False}, 0),
        ({"namespace": "Keda", "install": False}, 0),
    ],
)
def test_keda_has_a_namespace_of_its_own(keda: dict[str, Any], count: int) -> None:
    given = {"keda": {"prometheus": {"url": URL}, **keda}}

    assert [path for path, _ in messages(KEDA_NAMESPACE.id, given)] == ["keda.namespace"] * count


@pytest.mark.parametrize(
    ("given", "idle", "chart"),
    [
        (stack(**SCALED), 0, 0),
        (stack(replicas={"min": 2}), 1, 0),
        ({"keda": {"prometheus": {"url": URL}}}, 1, 0),
        ({"keda": {"prometheus": {"url": URL}, "install": False}}, 0, 0),
        ({**stack(keda=None, **SCALED), "charts": {"keda": {"version": "2.20.2"}}}, 0, 0),
        (
            {
                "keda": {"prometheus": {"url": URL}, "install": False},
                "charts": {"keda": {"version": "2.20.2"}},
            },
            0,
            1,
        ),
        ({"charts": {"keda": {"version": "2.20.2"}}}, 0, 1),
    ],
)
def test_keda_is_installed_for_something(given: dict[str, Any], idle: int, chart: int) -> None:
    assert len(messages(KEDA_IDLE.id, given)) == idle
    assert len(messages("GPU714", given)) == chart


def test_without_keda_nothing_is_said_of_an_exporter() -> None:
    operator = {"gpuStack": {"manager": "gpuOperator"}}

    assert messages("GPU844", operator) == []
    assert messages("GPU844", {**operator, **stack(SLICED, **SCALED)}) == []


def test_a_workspace_is_not_for_a_cluster_that_may_be_anywhere() -> None:
    cluster = {
        "name": None,
        "version": None,
        "admins": None,
        "existing": {"kubeconfig": "x", "context": "y"},
    }
    pool = {"provisioner": "existing", "nodes": None, "amiVersion": None}
    keda = {"prometheus": {"workspaceArn": ARN}}
    given = {"cluster": cluster, "network": None, "pools": {"gpu": pool}, "keda": keda}

    assert [path for path, _ in messages("GPU834", given)] == ["keda.prometheus.workspaceArn"]


@pytest.mark.parametrize(
    ("pool", "found"),
    [
        ({"warm": {"nodes": 1}}, ["GPU840"]),
        ({"scaledBy": "autoscaler", "warm": {"nodes": 2, "shares": 2}}, []),
        ({"scaledBy": "autoscaler", "warm": {"nodes": 3}}, ["GPU841"]),
        ({"scaledBy": "autoscaler", "warm": {"shares": 3}}, ["GPU841"]),
        ({"scaledBy": "autoscaler", "warm": {"shares": 8}, **SLICED["gpu"]}, []),
        ({"scaledBy": "autoscaler", "warm": {"shares": 9}, **SLICED["gpu"]}, ["GPU841"]),
        ({"scaledBy": "autoscaler", "warm": {}}, ["GPU842"]),
        ({"provisioner": "karpenter", "nodes": {"max": 2}, "warm": {"nodes": 2}}, []),
        ({"provisioner": "karpenter", "nodes": {"max": 2}, "warm": {"nodes": 3}}, ["GPU841"]),
        (
            {"provisioner": "karpenter", "karpenter": {"static": True}, "warm": {"nodes": 1}},
            ["GPU840"],
        ),
    ],
)
def test_of_warm_room(pool: dict[str, Any], found: list[str]) -> None:
    codes = ("GPU840", "GPU841", "GPU842")

    assert [code for code in codes if messages(code, {"pools": {"gpu": pool}})] == found


def test_workloads_have_their_fewest_pods_at_the_same_time() -> None:
    chat = {"image": "m:1", "pool": "gpu", "replicas": {"min": 2}}
    given = {"workloads": {"chat": chat, "search": {"image": "m:1", "pool": "gpu"}}}

    assert messages("GPU848", given) == [
        (
            "pools.gpu.nodes",
            "chat, search want 3 of nvidia.com/gpu at least, and the pool has 2 at most.",
        )
    ]
    # What may be stopped gives its room up.
    stopped = {**chat, "autoStop": True, "wake": {"query": "x"}}
    assert messages("GPU848", {"workloads": {**given["workloads"], "chat": stopped}}) == []


@pytest.mark.parametrize(
    ("chart", "code", "path"),
    [
        ({"version": "2.20"}, "GPU702", "charts.keda.version"),
        (
            {"values": {"operator": {"replicas": 3}}},
            "GPU711",
            "charts.keda.values.operator.replicas",
        ),
        ({"values": {"replicaCount": 3}}, "GPU711", "charts.keda.values.replicaCount"),
        ({"values": {"crds": {"install": "yes"}}}, "GPU727", "charts.keda.values.crds.install"),
    ],
)
def test_of_the_chart_of_keda(chart: dict[str, Any], code: str, path: str) -> None:
    given = {**stack(**SCALED), "charts": {"keda": chart}}

    assert path in [at for at, _ in messages(code, given)]


def test_values_that_the_chart_of_keda_reads() -> None:
    values = {
        "operator": {"replicaCount": 1},
        "resources": {"operator": {"limits": {"memory": "2Gi"}}},
        "image": {"keda": {"registry": "mirror.example"}},
        "nodeSelector": {"role": "system"},
        "tolerations": [{"operator": "Exists"}],
        "prometheus": {"operator": {"enabled": True, "serviceMonitor": {"enabled": True}}},
        "webhooks": {"enabled": False},
    }
    given = {**stack(**SCALED), "charts": {"keda": {"values": values}}}

    for code in ("GPU711", "GPU712", "GPU713", "GPU727"):
        assert messages(code, given) == []


def test_a_chart_that_nothing_installs_is_idle() -> None:
    given = {"charts": {"keda": {"version": "2.20.2"}}}

    assert [path for path, _ in messages("GPU714", given)] == ["charts.keda"]


VIRTUAL = {"name": "KUBERNETES_VIRTUAL_GPUS", "value": "true"}
NOT_BY_PROCESS = 'KUBERNETES_VIRTUAL_GPUS: "true" in env'


@pytest.mark.parametrize(
    ("values", "lacking"),
    [
        ({}, None),
        ({"dcgmExporter": {"hostPID": True, "env": []}}, None),
        ({"dcgmExporter": {"hostPID": False}}, "hostPID: true"),
        ({"dcgmExporter": {"hostPID": "true", "env": [VIRTUAL]}}, "hostPID: true"),
        ({"dcgmExporter": {"env": [{**VIRTUAL, "value": "0"}]}}, NOT_BY_PROCESS),
        (
            {"dcgmExporter": {"env": [{**VIRTUAL, "value": "0"}], "hostPID": False}},
            f"hostPID: true and {NOT_BY_PROCESS}",
        ),
        ({"dcgmExporter": {"env": None}}, f"hostPID: true and {NOT_BY_PROCESS}"),
        ({"dcgmExporter": {"enabled": False}}, None),
    ],
)
def test_what_is_said_of_the_exporter_is_so(values: dict[str, Any], lacking: str | None) -> None:
    given = {
        **stack(SLICED, keda={"processMetrics": True}, **SCALED),
        "gpuStack": {"manager": "gpuOperator"},
        "charts": {"gpuOperator": {"values": values}},
    }

    assert messages("GPU844", given) == (
        []
        if lacking is None
        else [
            (
                "keda.prometheus.processMetrics",
                f"The exporter of the GPU Operator runs without {lacking}.",
            )
        ]
    )


RENAMED: dict[str, dict[str, Any]] = {
    "gpu": {"sharing": {"mode": "timeSlicing", "replicas": 4, "rename": True}}
}
ON_KARPENTER: dict[str, dict[str, Any]] = {
    "gpu": {
        "provisioner": "karpenter",
        "nodes": {"max": 2},
        "sharing": {"mode": "timeSlicing", "replicas": 4},
    }
}
SHARED = "nvidia.com/gpu.shared"


def by_exporter(
    pools: dict[str, Any], *names: dict[str, Any], **workload: Any
) -> list[tuple[str, str]]:
    """What is said of an exporter that measures processes, with more in its environment."""
    values = {"dcgmExporter": {"hostPID": True, "env": [VIRTUAL, *names]}}
    given = {
        **stack(pools, keda={"processMetrics": True}, **workload),
        "gpuStack": {"manager": "gpuOperator"},
        "charts": {"gpuOperator": {"values": values}},
    }
    return messages("GPU844", given)


def listing(value: str) -> dict[str, Any]:
    return {"name": "NVIDIA_RESOURCE_NAMES", "value": value}


@pytest.mark.parametrize("pools", [RENAMED, ON_KARPENTER])
@pytest.mark.parametrize("names", ["", "nvidia.com/gpu", "nvidia.com/gpu.shared2", "shared"])
def test_the_exporter_has_to_know_a_renamed_share(pools: dict[str, Any], names: str) -> None:
    found = by_exporter(pools, listing(names), **SCALED)

    lacking = "nvidia.com/gpu.shared among NVIDIA_RESOURCE_NAMES in env"
    message = f"The exporter of the GPU Operator runs without {lacking}."
    assert found == [("keda.prometheus.processMetrics", message)]


@pytest.mark.parametrize(
    ("pools", "names", "workload"),
    [
        (RENAMED, SHARED, SCALED),
        (RENAMED, f"nvidia.com/gpu, {SHARED} ,nvidia.com/x", SCALED),
        (ON_KARPENTER, SHARED, SCALED),
        # Who knows what a ConfigMap says.
        (RENAMED, None, SCALED),
        # Not renamed, or of a name that it knows.
        (SLICED, "", SCALED),
        (MIG, "", {**SCALED, "share": "nvidia.com/mig-1g.5gb"}),
        # Nothing that it measures decides.
        (RENAMED, "", {}),
        (RENAMED, "", {**SCALED, "useQuery": "in_flight"}),
    ],
)
def test_the_exporter_knows_the_share(
    pools: dict[str, Any], names: str | None, workload: dict[str, Any]
) -> None:
    source = {"valueFrom": {"configMapKeyRef": {"name": "names", "key": "names"}}}
    variable = {**listing(""), **source} if names is None else listing(names)

    assert by_exporter(pools, variable, **workload) == []


@pytest.mark.parametrize("pools", [RENAMED, ON_KARPENTER])
def test_the_exporter_of_the_stack_is_told_the_share(pools: dict[str, Any]) -> None:
    assert by_exporter(pools, **SCALED) == []


def test_of_an_exporter_that_others_run_nothing_is_known() -> None:
    assert messages("GPU844", stack(SLICED, keda={"processMetrics": True}, **SCALED)) == []


FOLLOWING: dict[str, Any] = {"replicas": {"min": 1, "max": 2}}
WHOLE: dict[str, dict[str, Any]] = {"gpu": {"sharing": {"mode": "exclusive"}}}


@pytest.mark.parametrize(
    ("manager", "pools", "keda", "workload", "why"),
    [
        ("devicePlugin", WHOLE, {}, FOLLOWING, "devicePlugin brings none."),
        ("devicePlugin", WHOLE, {"exporter": "existing"}, FOLLOWING, None),
        ("devicePlugin", WHOLE, {"processMetrics": True}, FOLLOWING, None),
        ("devicePlugin", WHOLE, {}, {**FOLLOWING, "useQuery": "in_flight"}, None),
        ("devicePlugin", WHOLE, {}, {"replicas": {"min": 2}}, None),
        # Of these GPU832 says that the exporter has to measure processes.
        ("devicePlugin", SLICED, {}, FOLLOWING, None),
        ("gpuOperator", WHOLE, {}, FOLLOWING, None),
    ],
)
def test_workloads_that_follow_their_use_have_an_exporter(
    manager: str, pools: dict[str, Any], keda: dict[str, Any], workload: dict[str, Any], why: str
) -> None:
    given = {**stack(pools, keda=keda, **workload), "gpuStack": {"manager": manager}}
    found = messages("GPU851", given)

    assert [at for at, _ in found] == ["keda.prometheus.exporter"] * (why is not None)
    assert all(message.endswith(f"measures, and {why}") for _, message in found)


def test_an_operator_may_be_told_to_run_no_exporter() -> None:
    given = {
        **stack(WHOLE, **FOLLOWING),
        "gpuStack": {"manager": "gpuOperator"},
        "charts": {"gpuOperator": {"values": {"dcgmExporter": {"enabled": False}}}},
    }

    [(_, message)] = messages("GPU851", given)
    assert message.endswith("measures, and gpuOperator is told not to run one.")


@pytest.mark.parametrize(
    "windows",
    [None, [{"start": "0 8 * * 1-5", "end": "0 18 * * 1-5", "timeZone": "UTC", "replicas": 2}]],
)
def test_what_a_queue_alone_stops_wants_no_prometheus(windows: list[dict[str, Any]] | None) -> None:
    """Of pods that take turns nobody could say which is idle: nobody has to."""
    given = stack(SLICED, autoStop=True, wake={"queue": QUEUE}, schedule=windows)
    measured = merge_values(given, {"workloads": {"model": {"idle": {"minutes": 9}}}})
    every = ("GPU825", "GPU831", "GPU832", "GPU845", "GPU851", "GPU853", "GPU857")

    def wrong(case: dict[str, Any], keda: dict[str, Any] | None) -> dict[str, set[str]]:
        of = {**case, "keda": keda}
        found = {code: {at for at, _ in messages(code, of)} for code in every}
        return {code: places for code, places in found.items() if places}

    assert wrong(given, {}) == {}
    places = {"workloads.model.wake.queue", *(["workloads.model.schedule"] * bool(windows))}
    assert wrong(given, None) == {"GPU853": places}
    assert set(wrong(measured, {})) == {"GPU831", "GPU832"}


def test_a_queue_starts_some_pods() -> None:
    given = stack(autoStop=True, wake={"queue": QUEUE}, replicas={"min": 0})

    assert messages("GPU857", {**given, "keda": {}}) == [
        (
            "workloads.model.replicas.min",
            "A queue starts as many pods as there are at least, and that is none.",
        )
    ]


@pytest.mark.skipif(find_spec("tzdata") is not None, reason="the package tzdata has the zones")
@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC"])
def test_without_a_database_of_zones_it_is_said(zone: str, tmp_path: Path) -> None:
    """As on Windows, and in images that have no more than Python."""
    window = {"start": "0 8 * * 1-5", "end": "0 18 * * 1-5", "timeZone": zone, "replicas": 2}
    file = tmp_path / "Pulumi.demo.yaml"
    file.write_text(
        stack_file_text(merge_values(base(), stack(schedule=[window]))), encoding="utf-8"
    )
    command = [sys.executable, "-m", "eks_gpushare", "check", "--json", str(file)]
    found = {
        paths: subprocess.run(
            command, env={**os.environ, **paths_of}, capture_output=True, text=True, check=False
        ).stdout
        for paths, paths_of in (("system", {}), ("none", {"PYTHONTZPATH": ""}))
    }
    told = {
        paths: [
            each for each in json.loads(text)["files"][0]["findings"] if each["code"] == "GPU856"
        ]
        for paths, text in found.items()
    }

    assert told["system"] == []
    assert [each["message"] for each in told["none"]] == (
        []
        if zone == "UTC"
        else [
            (
                "Python finds no time zones here: whether there is one called Europe/Berlin, and "
                "when its clocks change, is not checked, and hours are those of UTC."
            )
        ]
    )
