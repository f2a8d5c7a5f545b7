"""Random values of what facts are about, and the way of each front to come to its verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fronts import CLUSTER, DEPLOYMENT, GPU, NODE_GROUP, RELEASE, files, policy, stack

from eks_gpushare.facts.fact import Front
from eks_gpushare.facts.index import cluster, karpenter, mps, sharing, workloads
from eks_gpushare_lab.observing.placement import untolerated
from eks_gpushare_lab.simulated_node.mps_server import MpsServer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from random import Random

    from eks_gpushare.facts.fact import Fact


class Question(NamedTuple):
    """One fact, asked of each front that can tell."""

    fact: Fact
    draw: Callable[[Random], Any]
    """Values as people might give them: about as many that keep the fact as break it."""
    fronts: Mapping[Front, Callable[[Any], Collection[str]]]
    """The names that each front says of them."""


TYPES = ("p3.2xlarge", "g4dn.xlarge", "g5.xlarge", "g5.12xlarge", "g6.2xlarge", "p4d.24xlarge")
MOVES = ("", "latest")
RELEASES = ("v20261114", "v20250101", "v20260930", *MOVES)


def _networks(random: Random) -> list[str]:
    """Public ones, of all lengths, next to each other or far from it."""
    lengths = random.choice(((24,), (8, 9, 10), (5, 6, 7, 8, 16), (7, 8, 9, 10, 11), (1, 2, 24)))
    found = []
    for _ in range(random.choice((0, 1, 1, 2, 3, 6, 20))):
        length = random.choice(lengths)
        first = random.choice((8, 12, 16, 20, 24, 40, 52, 64, 80, 96, 128, 200, 208))
        start = (first << 24 | random.getrandbits(24)) >> (32 - length) << (32 - length)
        found.append(".".join(str(start >> shift & 255) for shift in (24, 16, 8, 0)) + f"/{length}")
    return list(dict.fromkeys(found))


def _endpoint_of_terraform(cidrs: list[str]) -> Collection[str]:
    values = {
        "name": "gpu",
        "vpc_config": [
            {
                "endpoint_public_access": True,
                "endpoint_private_access": True,
                "public_access_cidrs": cidrs,
            }
        ],
    }
    resource = {"address": "aws_eks_cluster.gpu", "mode": "managed", "type": "aws_eks_cluster"}
    root = {"resources": [{**resource, "name": "gpu", "values": values}]}
    return files({"format_version": "1.2", "planned_values": {"root_module": root}})


def _endpoint_of_program(cidrs: list[str]) -> Collection[str]:
    given = {"endpointPublicAccess": True, "publicAccessCidrs": cidrs}
    return policy("public-endpoint-not-open", (CLUSTER, {"vpcConfig": given}))


def _endpoint_of_stack(cidrs: list[str]) -> Collection[str]:
    return stack({"cluster": {"endpoint": {"public": True, "publicCidrs": cidrs}}})


class Shared(NamedTuple):
    """Nodes whose GPUs are shared."""

    type: str
    mode: str
    replicas: int


def _mps(random: Random) -> Shared:
    replicas = random.choice((2, 15, 16, 17, 47, 48, 49, random.randint(2, 60)))
    return Shared(random.choice(TYPES), "mps", replicas)


def _config(shared: Shared) -> str:
    return (
        f"version: v1\nsharing:\n  {shared.mode}:\n    resources:\n"
        f"    - name: {GPU}\n      replicas: {shared.replicas}\n"
    )


def _charts(shared: Shared) -> dict[str, Any]:
    """The values of the device plugin's chart."""
    return {"config": {"map": {"any": _config(shared)}}, "gfd": {"enabled": True}}


def _sharing_of_stack(shared: Shared) -> Collection[str]:
    sharing = {"mode": shared.mode, "replicas": shared.replicas}
    return stack({"pools": {"gpu": {"instanceTypes": [shared.type], "sharing": sharing}}})


def eksctl(**group: Any) -> dict[str, Any]:
    """A cluster with a node group."""
    return {
        "apiVersion": "eksctl.io/v1alpha5",
        "kind": "ClusterConfig",
        "metadata": {"name": "lab", "region": "us-east-1", "version": "1.35"},
        "managedNodeGroups": [{"name": "gpu", "amiFamily": "AmazonLinux2023", **group}],
    }


def _sharing_of_files(shared: Shared) -> Collection[str]:
    return files(eksctl(instanceTypes=[shared.type]), _charts(shared))


def program_nodes(**props: Any) -> tuple[str, dict[str, Any]]:
    """A node group of a program."""
    return NODE_GROUP, {"amiType": "AL2023_x86_64_NVIDIA", **props}


def program_chart(values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The device plugin of a program."""
    plugin = {"chart": "nvidia-device-plugin", "version": "0.20.0", "namespace": "gpu"}
    return RELEASE, {**plugin, "values": values}


def _clients_of_program(shared: Shared) -> Collection[str]:
    nodes = program_nodes(instanceTypes=[shared.type])
    return policy("mps-runs", nodes, program_chart(_charts(shared)))


def _users(random: Random) -> list[dict[str, Any]]:
    """The specs of pods, each with one or two containers that ask for a share, or none."""
    users = random.choice(((0, None), (1000, None), (1000,), (0, 1000, None), (7, 8)))
    images = random.choice((("a:1",), ("a:1", "b:1")))

    def context() -> dict[str, Any]:
        found: dict[str, Any] = {}
        if (user := random.choice(users)) is not None:
            found["runAsUser"] = user
        if random.random() < 0.2:
            found["runAsNonRoot"] = True
        return found if random.random() < 0.8 else {}

    def container(number: int) -> dict[str, Any]:
        asks = {"limits": {GPU: 1}} if random.random() < 0.8 else {}
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
    return files(eksctl(instanceTypes=[_BY_MPS.type]), _charts(_BY_MPS), *made)


def _users_of_program(pods: list[dict[str, Any]]) -> Collection[str]:
    nodes = program_nodes(instanceTypes=[_BY_MPS.type])
    made = [(DEPLOYMENT, _deployment(f"w{number}", spec)) for number, spec in enumerate(pods)]
    return policy("mps-one-user", nodes, program_chart(_charts(_BY_MPS)), *made)


def _users_of_lab(pods: list[dict[str, Any]]) -> Collection[str]:
    there = [
        {"metadata": {"name": f"w{number}", "uid": str(number)}, "spec": spec, "status": {}}
        for number, spec in enumerate(pods)
    ]
    return {"GPU953"} if any(turn.waits for turn in MpsServer().turns(there)) else set()


class KarpenterPool(NamedTuple):
    """What somebody gives a pool of Karpenter's."""

    taints: list[dict[str, str]]
    startup: list[dict[str, str]]
    limits: dict[str, Any]
    static: bool = False


def _taints(random: Random) -> KarpenterPool:
    def some(most: int) -> list[dict[str, str]]:
        return [
            {
                "key": random.choice(("a", "b", "example.com/booting")),
                "effect": random.choice(("NoSchedule", "NoExecute")),
            }
            for _ in range(random.randint(0, most))
        ]

    staying = [dict(each) for each in {tuple(sorted(taint.items())) for taint in some(2)}]
    staying.sort(key=str)
    return KarpenterPool(staying, some(2), {"cpu": "64"})


_LIMITS = (
    *("cpu", "memory", "pods", "ephemeral-storage", "nodes", "gpu", "gpus", "GPU", "nvidia"),
    *(GPU, "hugepages-2Mi"),
)


def _limits(random: Random) -> KarpenterPool:
    static = random.random() < 0.2
    known = ("nodes", "nodes", GPU) if static else _LIMITS
    chosen = random.sample(known, random.choice((0, 0, 1, 1, 2)))
    limits = {name: f"{random.randint(200, 999)}Gi" if name == "memory" else 900 for name in chosen}
    return KarpenterPool([], [], limits, static)


def _node_pool(pool: KarpenterPool) -> dict[str, Any]:
    types = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g5.xlarge"]}
    template: dict[str, Any] = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu"},
        "requirements": [types],
    }
    template |= {"taints": pool.taints} if pool.taints else {}
    template |= {"startupTaints": pool.startup} if pool.startup else {}
    spec: dict[str, Any] = {"template": {"spec": template}}
    spec |= {"limits": pool.limits} if pool.limits else {}
    spec |= {"replicas": 2} if pool.static else {}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "gpu"},
        "spec": spec,
    }


def _pool_of_files(pool: KarpenterPool) -> Collection[str]:
    return files(_node_pool(pool))


def _pool_of_program(name: str) -> Callable[[KarpenterPool], Collection[str]]:
    made = "kubernetes:karpenter.sh/v1:NodePool"
    return lambda pool: policy(name, (made, _node_pool(pool)))


def _pool_of_stack(pool: KarpenterPool) -> Collection[str]:
    own: dict[str, Any] = {"startupTaints": pool.startup} if pool.startup else {}
    own |= {"limits": pool.limits} if pool.limits else {}
    own |= {"static": True} if pool.static else {}
    given = {
        "provisioner": "karpenter",
        "taints": pool.taints,
        "karpenter": own,
        "sharing": {"mode": "timeSlicing", "replicas": 4, "rename": False},
        **({"nodes": {"desired": 2}} if pool.static else {}),
    }
    return stack({"pools": {"gpu": given}})


def _term(random: Random) -> dict[str, Any]:
    family = random.choice(("al2023", "al2023", "bottlerocket", "al2", "windows2022"))
    release = random.choice(MOVES if random.random() < 0.4 else ("v20261114", "v1.57.0"))
    if family == "bottlerocket" and release.startswith("v2"):
        release = "v1.57.0"
    if family != "bottlerocket" and release.startswith("v1."):
        release = "v20261114"
    path = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/nvidia"
    return random.choice(
        (
            {"alias": f"{family}@{release}" if release else family},
            {"alias": f"{family}@{release or 'latest'}"},
            {"id": "ami-7c1f29d64e6a8d1b0"},
            {"ssmParameter": f"{path}/{random.choice(('recommended/image_id', 'pinned'))}"},
            {"name": f"gpu-{random.choice(('*', '20260101', '2026?'))}"},
            {"name": "gpu-1", "owner": "self"},
            {"tags": {"team": "ml"}},
            {"tags": {"team": "ml"}, "id": "ami-7c1f29d64e6a8d1b0"},
        )
    )


def _node_class(term: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "gpu"},
        "spec": {"role": "nodes", "amiSelectorTerms": [term]},
    }


def _class_of_program(term: Mapping[str, Any]) -> Collection[str]:
    made = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
    return policy("node-class-ami-pinned", (made, _node_class(term)))


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
    return files(nodes, _charts(_SLICED), _deployment("app", _sharer(meeting)))


def _landing_of_program(meeting: Meeting) -> Collection[str]:
    effects = {"NoSchedule": "NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
    taints = [
        {**taint, "effect": effects.get(taint["effect"], "PREFER_NO_SCHEDULE")}
        for taint in meeting.taints
    ]
    nodes = program_nodes(instanceTypes=[_SLICED.type], taints=taints)
    app = (DEPLOYMENT, _deployment("app", _sharer(meeting)))
    return policy("workloads-can-land", nodes, program_chart(_charts(_SLICED)), app)


def _landing_of_lab(meeting: Meeting) -> Collection[str]:
    # As the API server of EKS keeps it: ExtendedResourceToleration is on.
    spec = _sharer(meeting)
    own = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
    spec["tolerations"] = [*meeting.tolerations, own]
    return {"GPU924"} if untolerated(spec, {"spec": {"taints": meeting.taints}}) else set()


def _sliced(random: Random) -> Shared:
    return Shared(random.choice(TYPES), "timeSlicing", random.randint(2, 14))


def _crowded(random: Random) -> Shared:
    return Shared(random.choice(TYPES), "timeSlicing", random.choice((4, 12, 50, 58, 90, 300)))


def _slices_of_program(shared: Shared) -> Collection[str]:
    return policy("time-slicing-replicas", program_chart(_charts(shared)))


def _crowd_of_program(shared: Shared) -> Collection[str]:
    nodes = program_nodes(instanceTypes=[shared.type])
    return policy("shares-within-reach", nodes, program_chart(_charts(shared)))


QUESTIONS = (
    Question(
        cluster.OPEN_ENDPOINT,
        _networks,
        {
            Front.STACK: _endpoint_of_stack,
            Front.FILES: _endpoint_of_terraform,
            Front.POLICY: _endpoint_of_program,
        },
    ),
    Question(
        mps.CLIENTS,
        _mps,
        {
            Front.STACK: _sharing_of_stack,
            Front.FILES: _sharing_of_files,
            Front.POLICY: _clients_of_program,
        },
    ),
    Question(
        mps.ONE_USER,
        _users,
        {
            Front.FILES: _users_of_files,
            Front.LAB: _users_of_lab,
            Front.POLICY: _users_of_program,
        },
    ),
    Question(
        karpenter.STARTUP_TAINT,
        _taints,
        {
            Front.STACK: _pool_of_stack,
            Front.FILES: _pool_of_files,
            Front.POLICY: _pool_of_program("karpenter-objects-valid"),
        },
    ),
    Question(
        karpenter.IDLE_LIMIT,
        _limits,
        {
            Front.STACK: _pool_of_stack,
            Front.FILES: _pool_of_files,
            Front.POLICY: _pool_of_program("karpenter-objects-valid"),
        },
    ),
    Question(
        karpenter.NO_LIMIT,
        _limits,
        {
            Front.STACK: _pool_of_stack,
            Front.FILES: _pool_of_files,
            Front.POLICY: _pool_of_program("node-pool-limits"),
        },
    ),
    Question(
        karpenter.IMAGE_PINNED,
        _term,
        {Front.FILES: lambda term: files(_node_class(term)), Front.POLICY: _class_of_program},
    ),
    Question(
        workloads.IMAGE_PINNED,
        _image,
        {Front.STACK: _image_of_stack, Front.POLICY: _image_of_program},
    ),
    Question(
        workloads.TOLERATED,
        _meeting,
        {
            Front.FILES: _landing_of_files,
            Front.LAB: _landing_of_lab,
            Front.POLICY: _landing_of_program,
        },
    ),
    Question(
        sharing.FEW_SLICES,
        _sliced,
        {Front.STACK: _sharing_of_stack, Front.POLICY: _slices_of_program},
    ),
    Question(
        sharing.THIN_SHARE,
        _sliced,
        {Front.STACK: _sharing_of_stack, Front.FILES: _sharing_of_files},
    ),
    Question(
        sharing.PODS_FOR_SHARES,
        _crowded,
        {
            Front.STACK: _sharing_of_stack,
            Front.FILES: _sharing_of_files,
            Front.POLICY: _crowd_of_program,
        },
    ),
)
