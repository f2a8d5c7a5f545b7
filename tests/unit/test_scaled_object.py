"""What KEDA is told of a workload; its PromQL is read by a parser of PromQL."""

from __future__ import annotations

import re
from typing import Any

import promql_parser
import pytest

from eks_gpushare.catalog import Catalog
from eks_gpushare.config.pools import Pool
from eks_gpushare.config.workloads import Prometheus, Workload
from eks_gpushare.sharing.keda import PrometheusServer, prometheus_server
from eks_gpushare.sharing.plan import plan_pool
from eks_gpushare.sharing.resources import GPU
from eks_gpushare.sharing.scaled_object import formula, scaled_object, tells_pods_apart, use_query
from eks_gpushare.sharing.workloads import deployment, is_scaled, placement

SERVER = PrometheusServer("http://prometheus:9090")
MODES: dict[str, tuple[str, dict[str, Any]]] = {
    "exclusive": ("g5.xlarge", {"mode": "exclusive"}),
    "timeSlicing": ("g5.xlarge", {"mode": "timeSlicing", "replicas": 4}),
    "mps": ("g5.xlarge", {"mode": "mps", "replicas": 4}),
    "mig": ("p4d.24xlarge", {"mode": "mig", "layout": "all-balanced"}),
    "mig-single": ("p4d.24xlarge", {"mode": "mig", "layout": "all-1g.5gb", "strategy": "single"}),
    "mig-slicing": (
        "p4d.24xlarge",
        {"mode": "mig", "layout": "all-1g.5gb", "timeSlicing": {"replicas": 2}},
    ),
}


def pool(mode: str) -> Pool:
    instance_type, sharing = MODES[mode]
    return Pool.model_validate({"instanceTypes": [instance_type], "sharing": sharing})


def workload(**given: Any) -> Workload:
    made = {"pool": "gpu", "image": "model:1", "replicas": {"min": 1, "max": 3}, **given}
    return Workload.model_validate(made)


def scaled(given: Workload, *modes: str) -> dict[str, Any]:
    plans = [plan_pool(mode.lower(), pool(mode), Catalog()) for mode in modes or ["exclusive"]]
    made = scaled_object("model", given, placement(given, plans), SERVER)
    assert made is not None
    spec: dict[str, Any] = made["spec"]
    return spec


def queries(spec: dict[str, Any]) -> dict[str, str]:
    return {
        each["name"]: each["metadata"]["query"]
        for each in spec["triggers"]
        if each["type"] == "prometheus"
    }


@pytest.mark.parametrize("mode", MODES)
def test_every_query_is_promql_for_one_value(mode: str) -> None:
    given = workload(autoStop=True, wake={"query": "rate(requests_total[1m])"})
    found = queries(scaled(given, mode))

    assert set(found) == {"busy", "idle", "wake"}
    for query in found.values():
        assert isinstance(promql_parser.parse(query), promql_parser.BinaryExpr)
    # Of requests that nothing counts none wait; of use that nothing measures KEDA has to know.
    assert [name for name, query in found.items() if query.endswith(" or vector(0)")] == ["wake"]


def test_what_nobody_measures_is_said_and_keeps_the_pods() -> None:
    spec = scaled(workload(replicas={"min": 2, "max": 5}))

    assert spec["fallback"] == {
        "failureThreshold": 0,
        "replicas": 2,
        "behavior": "scalingModifiers",
    }
    assert [each["metadata"]["ignoreNullValues"] for each in spec["triggers"]] == ["false"] * 2


def test_the_parser_refuses_what_is_no_promql() -> None:
    with pytest.raises(ValueError, match="left parenthesis"):
        promql_parser.parse("sum(rate(requests_total[1m])")


@pytest.mark.parametrize(
    ("mode", "metric"),
    [
        ("exclusive", "DCGM_FI_DEV_GPU_UTIL"),
        ("timeSlicing", "DCGM_FI_DEV_GPU_UTIL"),
        ("mps", "DCGM_FI_DEV_GPU_UTIL"),
        ("mig", "100 * avg by (pod) (DCGM_FI_PROF_GR_ENGINE_ACTIVE"),
        ("mig-single", "100 * avg by (pod) (DCGM_FI_PROF_GR_ENGINE_ACTIVE"),
    ],
)
def test_what_is_measured_follows_the_mode(mode: str, metric: str) -> None:
    busy = queries(scaled(workload(), mode))["busy"]

    assert metric in busy
    others = {"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"} - {metric.rpartition("(")[2]}
    assert not any(other in busy for other in others)


def test_pools_of_two_modes_are_measured_each_in_its_way() -> None:
    busy = queries(scaled(workload(pool=None, pools=["a", "b"]), "exclusive", "mig-single"))["busy"]

    assert "DCGM_FI_DEV_GPU_UTIL" in busy
    assert "DCGM_FI_PROF_GR_ENGINE_ACTIVE" in busy
    promql_parser.parse(busy)


def test_a_query_takes_the_exporters_labels_by_either_name() -> None:
    given = workload(namespace="team")
    where = placement(given, [plan_pool("gpu", pool("exclusive"), Catalog())])

    assert use_query("model", given, where) == (
        'avg(avg by (pod) (DCGM_FI_DEV_GPU_UTIL{namespace="team",'
        'pod=~"model-[a-z0-9]+-[a-z0-9]{5}"}) or avg by (exported_pod) '
        '(DCGM_FI_DEV_GPU_UTIL{exported_namespace="team",'
        'exported_pod=~"model-[a-z0-9]+-[a-z0-9]{5}"}))'
    )


def test_a_measure_of_ones_own_takes_the_place_of_dcgms() -> None:
    busy = queries(scaled(workload(useQuery="in_flight / 4 * 100"), "mig-slicing"))["busy"]

    assert "avg(in_flight / 4 * 100)[180s:30s]" in busy
    assert "DCGM" not in busy


def test_a_threshold_holds_for_the_whole_window() -> None:
    """A pod that was measured once is neither idle nor busy."""
    given = workload(
        idle={"threshold": 12.5, "minutes": 2}, overUse={"minutes": 10}, useQuery="use"
    )

    assert queries(scaled(given)) == {
        "busy": "(min_over_time(avg(use)[600s:30s]) > bool 80) * "
        "(count_over_time(avg(use)[600s:30s]) >= bool 19)",
        "idle": "(max_over_time(avg(use)[120s:30s]) < bool 12.5) * "
        "(count_over_time(avg(use)[120s:30s]) >= bool 3)",
    }


def test_pods_come_and_go_one_at_a_time() -> None:
    spec = scaled(workload(idle={"minutes": 2}, overUse={"minutes": 90}))

    behaviour = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    assert behaviour == {
        "scaleUp": {
            "stabilizationWindowSeconds": 0,
            "policies": [{"type": "Pods", "value": 1, "periodSeconds": 1800}],
        },
        "scaleDown": {
            "stabilizationWindowSeconds": 0,
            "policies": [{"type": "Pods", "value": 1, "periodSeconds": 120}],
        },
    }


def value(text: str, **triggers: float | None) -> float:
    """A formula's value: the operators that are used in it mean the same in Python."""
    text = re.sub(r"\((\w+) \?\? (\d)\)", r"(\2 if \1 is None else \1)", text)

    def read(part: str) -> str:
        depth = 0
        for index, letter in enumerate(part):
            depth += {"(": 1, ")": -1}.get(letter, 0)
            if letter == "?" and depth == 0:
                at, nested = index + 1, 0
                for end in range(at, len(part)):
                    nested += {"(": 1, ")": -1}.get(part[end], 0)
                    if part[end] == ":" and nested == 0:
                        then, other = read(part[at:end]), read(part[end + 1 :])
                        return f"(({then}) if ({part[:index]}) else ({other}))"
        stripped = part.strip()
        if stripped.startswith("("):
            return f"({read(stripped[1:-1])})"
        return stripped

    return float(eval(read(text), {}, dict(triggers)))  # noqa: S307  (the formula is our own)


@pytest.mark.parametrize(
    ("pods", "busy", "idle", "wake", "factor"),
    [
        (0, 0, 0, 0, 0),  # stopped
        (0, 0, 0, 3, 1),  # woken
        (1, 0, 0, 0, 1),  # not measured yet
        (1, 0, 1, 0, 0),  # idle, and nothing waits
        (1, 0, 1, 2, 1),  # idle, but asked
        (2, 0, 1, 0, 0.5),
        (2, 1, 0, 0, 2),
        (2, 0, 0, 5, 1),
        # Nobody knows: what there is stays.
        (0, None, None, 0, 0),
        (0, None, None, 3, 1),
        (0, None, None, None, 0),
        (2, None, None, 0, 1),
        (2, None, None, None, 1),
        (2, None, 1, 0, 0.5),
        (1, 0, 1, None, 1),
    ],
)
def test_the_formula_of_a_workload_that_is_stopped(
    pods: int, busy: int | None, idle: int | None, wake: int | None, factor: float
) -> None:
    given = workload(autoStop=True, wake={"query": "x"})

    assert value(formula(given), pods=pods, busy=busy, idle=idle, wake=wake) == factor


@pytest.mark.parametrize(
    ("busy", "idle", "factor"),
    [(1, 0, 2), (0, 1, 0.5), (0, 0, 1), (None, None, 1), (None, 1, 0.5), (1, None, 2)],
)
def test_the_formula_of_one_that_is_not(busy: int | None, idle: int | None, factor: float) -> None:
    assert value(formula(workload()), busy=busy, idle=idle) == factor


@pytest.mark.parametrize(
    ("least", "limits"),
    [
        (1, {"minReplicaCount": 0}),
        (2, {"minReplicaCount": 2, "idleReplicaCount": 0}),
    ],
)
def test_a_stopped_workload_has_none_however_many_it_has_else(
    least: int, limits: dict[str, int]
) -> None:
    replicas = {"min": least, "max": 5}
    spec = scaled(workload(replicas=replicas, autoStop=True, wake={"query": "x"}))

    assert {key: spec[key] for key in spec if key.endswith("inReplicaCount")} | {
        key: spec[key] for key in spec if key == "idleReplicaCount"
    } == limits
    assert f"pods > {least} ? 0.5" in spec["advanced"]["scalingModifiers"]["formula"]


def test_pods_are_counted_only_where_the_last_may_go() -> None:
    names = [each["name"] for each in scaled(workload())["triggers"]]

    assert names == ["busy", "idle"]


DAY = {"start": "0 8 * * 1-5", "end": "0 18 * * 1-5", "timeZone": "Europe/Berlin"}
NIGHT = {"start": "0 20 * * *", "end": "0 6 * * *"}


def at_once(pods: int) -> dict[str, Any]:
    policy = {"type": "Pods", "value": pods, "periodSeconds": 15}
    return {"stabilizationWindowSeconds": 0, "policies": [policy]}


def test_pods_by_the_time_come_and_go_all_at_once() -> None:
    windows = [{**DAY, "replicas": 4}, {**NIGHT, "replicas": 2}]
    spec = scaled(workload(replicas={"min": 0}, schedule=windows))

    # KEDA sets none and the first number itself; between the two a HorizontalPodAutoscaler does.
    assert (spec["idleReplicaCount"], spec["minReplicaCount"], spec["maxReplicaCount"]) == (0, 2, 4)
    assert spec["cooldownPeriod"] == 0
    behavior = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    assert behavior == {"scaleUp": at_once(4), "scaleDown": at_once(4)}
    assert "scalingModifiers" not in spec["advanced"]
    assert [trigger["metadata"] for trigger in spec["triggers"]] == [
        {
            "timezone": "Europe/Berlin",
            "start": "0 8 * * 1-5",
            "end": "0 18 * * 1-5",
            "desiredReplicas": "4",
        },
        {"timezone": "UTC", "start": "0 20 * * *", "end": "0 6 * * *", "desiredReplicas": "2"},
    ]


def test_some_pods_may_stay_outside_of_windows() -> None:
    spec = scaled(workload(replicas={"min": 2}, schedule=[{**DAY, "replicas": 5}]))

    assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (2, 5)
    assert not {"idleReplicaCount", "cooldownPeriod"} & set(spec)


def test_by_use_and_by_the_time_the_greater_number_counts() -> None:
    spec = scaled(workload(replicas={"min": 1, "max": 8}, schedule=[{**DAY, "replicas": 4}]))
    use, cron = spec["triggers"]

    # Of one formula there would be one number, and a factor of pods that wait for a node is none.
    assert "scalingModifiers" not in spec["advanced"]
    assert (use["metricType"], cron["type"]) == ("Value", "cron")
    assert isinstance(promql_parser.parse(use["metadata"]["query"]), promql_parser.BinaryExpr)
    behavior = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    up, down = (behavior[each]["policies"][0] for each in ("scaleUp", "scaleDown"))
    assert (up["value"], up["periodSeconds"]) == (3, 180)
    assert (down["value"], down["periodSeconds"]) == (1, 300)


def test_by_the_time_and_stopped_when_idle_it_stays_while_anything_holds_it() -> None:
    given = workload(
        replicas={"min": 2, "max": 8},
        autoStop=True,
        wake={"query": "waiting"},
        schedule=[{**DAY, "replicas": 4}],
    )
    spec = scaled(given)
    by_name = {trigger.get("name", trigger["type"]): trigger for trigger in spec["triggers"]}

    assert set(by_name) == {"use", "cron", "pods", "wake"}
    # Idle, it is 0.5; and what says whether there are pods does not say how many.
    assert by_name["use"]["metadata"]["activationThreshold"] == "0.75"
    assert by_name["pods"]["metadata"]["activationValue"] == "2"
    assert by_name["pods"]["metadata"]["value"] == "1000000000"
    assert by_name["wake"]["metadata"]["threshold"] == "1000000000"
    assert (spec["minReplicaCount"], spec["idleReplicaCount"]) == (2, 0)


@pytest.mark.parametrize("schedule", [None, [{**DAY, "replicas": 3}]])
def test_a_queue_wakes(schedule: list[dict[str, Any]] | None) -> None:
    wake = {"queue": "arn:aws:sqs:eu-west-1:111122223333:jobs.fifo"}
    spec = scaled(workload(autoStop=True, wake=wake, schedule=schedule))
    (found,) = (trigger for trigger in spec["triggers"] if trigger["type"] == "aws-sqs-queue")

    assert found["metadata"] == {
        "queueURL": "https://sqs.eu-west-1.amazonaws.com/111122223333/jobs.fifo",
        "awsRegion": "eu-west-1",
        "queueLength": "1" if schedule is None else "1000000000",
        "scaleOnInFlight": "true",
    }
    assert found["authenticationRef"] == {
        "name": "eks-gpushare-queues",
        "kind": "ClusterTriggerAuthentication",
    }


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("schedule", [None, [{**DAY, "replicas": 4}]])
def test_a_queue_alone_starts_and_stops_without_a_prometheus(
    schedule: list[dict[str, Any]] | None, replicas: int
) -> None:
    wake = {"queue": "arn:aws:sqs:eu-west-1:111122223333:jobs"}
    given = workload(autoStop=True, wake=wake, schedule=schedule, replicas={"min": replicas})
    where = placement(given, [plan_pool("gpu", pool("timeSlicing"), Catalog())])
    made = scaled_object("model", given, where, None)

    assert made is not None
    spec = made["spec"]
    assert [each["type"] for each in spec["triggers"]] == [
        "aws-sqs-queue",
        *(["cron"] * bool(schedule)),
    ]
    # However long the queue is, it asks for no more than there are at least.
    assert spec["triggers"][0]["metadata"]["queueLength"] == "1000000000"
    assert (spec["minReplicaCount"], spec.get("idleReplicaCount")) == (
        (0, None) if replicas == 1 else (replicas, 0)
    )
    assert spec["maxReplicaCount"] == (4 if schedule else replicas)
    assert spec["cooldownPeriod"] == 300
    assert "replicas" not in deployment("model", given, where)["spec"]


@pytest.mark.parametrize(
    "said",
    [
        {"idle": {"minutes": 5}},
        {"overUse": {}},
        {"useQuery": "up"},
        {"replicas": {"min": 1, "max": 2}},
    ],
)
def test_what_is_said_of_use_is_measured_beside_the_queue(said: dict[str, Any]) -> None:
    wake = {"queue": "arn:aws:sqs:eu-west-1:111122223333:jobs"}

    assert is_scaled(workload(**{"autoStop": True, "wake": wake, "replicas": {"min": 1}, **said}))


def test_a_fixed_number_of_pods_follows_nothing() -> None:
    given = workload(replicas={"min": 2})
    where = placement(given, [plan_pool("gpu", pool("exclusive"), Catalog())])

    assert scaled_object("model", given, where, SERVER) is None


def test_amazons_prometheus_is_asked_by_a_signed_request() -> None:
    arn = "arn:aws:aps:eu-west-1:111122223333:workspace/ws-1"
    server = prometheus_server(Prometheus.model_validate({"workspaceArn": arn}))
    where = placement(workload(), [plan_pool("gpu", pool("exclusive"), Catalog())])
    made = scaled_object("model", workload(), where, server)

    assert made is not None
    trigger = made["spec"]["triggers"][0]
    assert trigger["metadata"]["serverAddress"] == (
        "https://aps-workspaces.eu-west-1.amazonaws.com/workspaces/ws-1"
    )
    assert trigger["metadata"]["awsRegion"] == "eu-west-1"
    assert trigger["authenticationRef"] == {
        "name": "eks-gpushare-prometheus",
        "kind": "ClusterTriggerAuthentication",
    }


@pytest.mark.parametrize(
    ("mode", "by_device", "by_process"),
    [
        ("exclusive", True, True),
        ("timeSlicing", False, True),
        ("mps", False, True),
        ("mig", True, True),
        ("mig-single", True, True),
        ("mig-slicing", False, False),
    ],
)
def test_which_modes_tell_pods_apart(mode: str, *, by_device: bool, by_process: bool) -> None:
    assert tells_pods_apart(pool(mode), process_metrics=False) is by_device
    assert tells_pods_apart(pool(mode), process_metrics=True) is by_process


def test_gpus_that_a_layout_leaves_whole_are_told_apart() -> None:
    mixed, single = pool("mig-slicing"), pool("mig-single")
    sliced = {"mode": "mig", "layout": "all-1g.5gb", "strategy": "single"}
    turns = Pool.model_validate(
        {
            "instanceTypes": list(single.instance_types),
            "sharing": {**sliced, "timeSlicing": {"replicas": 2, "rename": False}},
        }
    )

    assert tells_pods_apart(mixed, GPU, process_metrics=False)
    assert not tells_pods_apart(mixed, "nvidia.com/mig-1g.5gb.shared", process_metrics=False)
    # There a device has the name of a GPU.
    assert not tells_pods_apart(turns, GPU, process_metrics=True)
