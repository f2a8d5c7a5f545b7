"""Pods that ask for shares: as whom they run, where they may be, and what fills a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fronts import DEPLOYMENT, GPU, files, policy, stack
from of_sharing import Shared, charts, eksctl, program_chart, program_nodes
from question import Question

from eks_gpushare.facts.fact import Front
from eks_gpushare.facts.index import fact_of
from eks_gpushare.live.placement import untolerated
from eks_gpushare_lab.simulated_node.mps_server import MpsServer

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from random import Random


def _users(random: Random) -> list[dict[str, Any]]:
    """The specs of pods, each with one or two containers that ask for a share, or none."""
    users = random.choice(((0, None), (1000, None), (1000,), (0, 1000, None), (7, 8), (9, 9.0)))
    images = random.choice((("a:1",), ("a:1", "b:1")))

    def context() -> dict[str, Any]:
        found: dict[str, Any] = {}
        if (user := random.choice(users)) is not None:
            found["runAsUser"] = user
        if random.random() < 0.2:
            found["runAsNonRoot"] = True
        return found if random.random() < 0.8 else {}

    def container(number: int) -> dict[str, Any]:
        asks = random.choice(({"limits": {GPU: 1}},) * 4 + ({"limits": {GPU: "0"}}, {}))
        image = random.choice(images)
        own = {"name": f"c{number}", "image": image, "resources": asks}
        return own | ({"securityContext": given} if (given := context()) else {})

    def pod() -> dict[str, Any]:
        count = random.choice((1, 1, 2))
        return {
            "securityContext": context(),
            "containers": [container(number) for number in range(count)],
        }

    return [pod() for _ in range(random.choice((1, 2, 2, 3)))]


def _deployment(name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }


_BY_MPS = Shared("g5.xlarge", "mps", 10)


def _users_of_files(pods: list[dict[str, Any]]) -> Collection[str]:
    made = [_deployment(f"w{number}", spec) for number, spec in enumerate(pods)]
    return files(eksctl(instanceTypes=[_BY_MPS.type]), charts(_BY_MPS), *made)


def _users_of_program(pods: list[dict[str, Any]]) -> Collection[str]:
    nodes = program_nodes(instanceTypes=[_BY_MPS.type])
    made = [(DEPLOYMENT, _deployment(f"w{number}", spec)) for number, spec in enumerate(pods)]
    return policy("mps-one-user", nodes, program_chart(charts(_BY_MPS)), *made)


def _users_of_lab(pods: list[dict[str, Any]]) -> Collection[str]:
    there = [
        {"metadata": {"name": f"w{number}", "uid": str(number)}, "spec": spec, "status": {}}
        for number, spec in enumerate(pods)
    ]
    return {"GPU953"} if any(turn.waits for turn in MpsServer().turns(there)) else set()


def _image(random: Random) -> str:
    registry = random.choice(("", "registry.example/", "registry.example:5000/team/"))
    tags = ("", ":latest", ":1.2.3", ":main", ":edge", ":v1", ":stable", ":Latest", ":20260101")
    digest = f"@sha256:{'0' * 64}" if random.random() < 0.2 else ""
    return f"{registry}app{random.choice(tags)}{digest}"


def _image_of_stack(image: str) -> Collection[str]:
    return stack({"workloads": {"app": {"image": image, "pool": "gpu"}}})


def _image_of_program(image: str) -> Collection[str]:
    spec = {"containers": [{"name": "c", "image": image}]}
    return policy("images-pinned", (DEPLOYMENT, _deployment("app", spec)))


class Budget(NamedTuple):
    """How many pods there are, and what a disruption budget says of them."""

    pods: int
    spec: dict[str, Any]


def _budget(random: Random) -> Budget:
    key = random.choice(("minAvailable", "minAvailable", "maxUnavailable"))
    share = f"{random.choice((0, 1, 10, 33, 50, 51, 67, 99, 100))}%"
    return Budget(random.randint(1, 5), {key: random.choice((random.randint(0, 5), share))})


def _budget_of_stack(budget: Budget) -> Collection[str]:
    own = {"replicas": {"min": budget.pods, "max": 5}, "disruptionBudget": budget.spec}
    return stack({"workloads": {"app": {"image": "app:1", "pool": "gpu", **own}}})


def _budget_objects(budget: Budget) -> tuple[dict[str, Any], dict[str, Any]]:
    made = _deployment("app", _sharer(Meeting([], [])))
    made["spec"]["replicas"] = budget.pods
    return made, {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": made["metadata"],
        "spec": {"selector": {"matchLabels": {"app": "app"}}, **budget.spec},
    }


def _budget_of_program(budget: Budget) -> Collection[str]:
    made, own = _budget_objects(budget)
    kind = "kubernetes:policy/v1:PodDisruptionBudget"
    return policy("budgets-let-nodes-go", (DEPLOYMENT, made), (kind, own))


class Meeting(NamedTuple):
    """Taints of nodes, and the pods that are to be on them."""

    taints: list[dict[str, str]]
    tolerations: list[dict[str, str]]


def _meeting(random: Random) -> Meeting:
    keys, values = (GPU, "team", "example.com/a"), ("", "true", "ml")
    effects = ("NoSchedule", "NoExecute", "PreferNoSchedule")

    def toleration() -> dict[str, str]:
        operator = random.choice(("Exists", "Equal", ""))
        found = {"operator": operator} if operator else {}
        if operator != "Exists" or random.random() < 0.8:
            found["key"] = random.choice(keys)
        if operator != "Exists" and (value := random.choice(values)):
            found["value"] = value
        if random.random() < 0.5:
            found["effect"] = random.choice(effects)
        return found

    taints = {
        random.choice(keys): {"value": random.choice(values), "effect": random.choice(effects)}
        for _ in range(random.choice((0, 1, 1, 2)))
    }
    return Meeting(
        [{"key": key, **rest} for key, rest in taints.items()],
        [toleration() for _ in range(random.choice((0, 1, 2, 3)))],
    )


def _sharer(meeting: Meeting) -> dict[str, Any]:
    container = {"name": "c", "image": "app:1", "resources": {"limits": {GPU: 1}}}
    return {"containers": [container], "tolerations": meeting.tolerations}


_SLICED = Shared("g5.xlarge", "timeSlicing", 4)


def _landing_of_files(meeting: Meeting) -> Collection[str]:
    nodes = eksctl(instanceTypes=[_SLICED.type], taints=meeting.taints)
    return files(nodes, charts(_SLICED), _deployment("app", _sharer(meeting)))


def _landing_of_program(meeting: Meeting) -> Collection[str]:
    effects = {"NoSchedule": "NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
    taints = [
        {**taint, "effect": effects.get(taint["effect"], "PREFER_NO_SCHEDULE")}
        for taint in meeting.taints
    ]
    nodes = program_nodes(instanceTypes=[_SLICED.type], taints=taints)
    app = (DEPLOYMENT, _deployment("app", _sharer(meeting)))
    return policy("workloads-can-land", nodes, program_chart(charts(_SLICED)), app)


def _landing_of_lab(meeting: Meeting) -> Collection[str]:
    # As the API server of EKS keeps it: ExtendedResourceToleration is on.
    spec = _sharer(meeting)
    own = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
    spec["tolerations"] = [*meeting.tolerations, own]
    return {"GPU924"} if untolerated(spec, {"spec": {"taints": meeting.taints}}) else set()


class Crowd(NamedTuple):
    """Equal pods on nodes of one type."""

    shared: Shared
    pods: int
    part: str
    asked: dict[str, str]


def _crowd(random: Random) -> Crowd:
    shared = Shared(random.choice(("g5.xlarge", "g4dn.xlarge", "g6.2xlarge")), "timeSlicing", 8)
    cpu, memory = (f"{random.randint(100, 3900)}m", f"{random.randint(200, 12000)}Mi")
    asked = random.choice(({"cpu": cpu}, {"memory": memory}, {"cpu": cpu, "memory": memory}, {}))
    return Crowd(shared, random.randint(1, 12), random.choice(("requests", "limits")), asked)


def _crowd_spec(crowd: Crowd) -> dict[str, Any]:
    resources: dict[str, dict[str, Any]] = {"limits": {GPU: 1}}
    resources.setdefault(crowd.part, {}).update(crowd.asked)
    return {"containers": [{"name": "c", "image": "app:1", "resources": resources}]}


def _crowd_of_stack(crowd: Crowd) -> Collection[str]:
    given = {
        "image": "registry.example/app:1.2",
        "pool": "gpu",
        "replicas": {"min": crowd.pods},
        "resources": {crowd.part: crowd.asked},
    }
    types, sharing = [crowd.shared.type], {"mode": "timeSlicing", "replicas": crowd.shared.replicas}
    pools = {"gpu": {"instanceTypes": types, "sharing": sharing}}
    return stack({"pools": pools, "workloads": {"app": given}})


def _crowd_deployment(crowd: Crowd) -> dict[str, Any]:
    made = _deployment("app", _crowd_spec(crowd))
    made["spec"]["replicas"] = crowd.pods
    return made


def _crowd_of_files(crowd: Crowd) -> Collection[str]:
    nodes = eksctl(instanceTypes=[crowd.shared.type])
    return files(nodes, charts(crowd.shared), _crowd_deployment(crowd))


def _crowd_of_program(crowd: Crowd) -> Collection[str]:
    nodes = program_nodes(instanceTypes=[crowd.shared.type])
    app = (DEPLOYMENT, _crowd_deployment(crowd))
    return policy("shares-within-reach", nodes, program_chart(charts(crowd.shared)), app)


QUESTIONS = (
    Question(
        fact_of("GPU280"),
        _users,
        {
            Front.FILES: _users_of_files,
            Front.LAB: _users_of_lab,
            Front.POLICY: _users_of_program,
        },
    ),
    Question(
        fact_of("GPU830"),
        _image,
        {Front.STACK: _image_of_stack, Front.POLICY: _image_of_program},
    ),
    Question(
        fact_of("GPU849"),
        _budget,
        {
            Front.STACK: _budget_of_stack,
            Front.FILES: lambda budget: files(*_budget_objects(budget)),
            Front.POLICY: _budget_of_program,
        },
    ),
    Question(
        fact_of("GPU1111"),
        _meeting,
        {
            Front.FILES: _landing_of_files,
            Front.LAB: _landing_of_lab,
            Front.POLICY: _landing_of_program,
        },
    ),
    Question(
        fact_of("GPU837"),
        _crowd,
        {
            Front.STACK: _crowd_of_stack,
            Front.FILES: _crowd_of_files,
            Front.POLICY: _crowd_of_program,
        },
    ),
)
