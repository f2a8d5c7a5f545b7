"""Components run as Pulumi runs them: the real SDK classes, recorded registrations, no mocks."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pulumi
import pytest

from eks_gpushare import rules
from eks_gpushare.program.run import run_program
from eks_gpushare.program.stack_config import read_stack_config
from eks_gpushare.program.values import to_json
from eks_gpushare.rules import component_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eks_gpushare.program.recording import Recording, Resource
    from eks_gpushare.program.run import Program

ROOT = Path(__file__).parents[2]
STACKS = sorted(path.name.split(".")[1] for path in (ROOT / "stacks").glob("Pulumi.*.yaml"))


@dataclass
class Run:
    """What a program registered, as tests ask for it. A type is named by its last part."""

    recording: Recording

    @property
    def urns(self) -> list[str]:
        """All URNs without stack and project: types from the outermost in, and the name."""
        return sorted(each.urn.split("::", 2)[2] for each in self.recording.resources)

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """Name of the resource that each warning is about, and its text."""
        return [
            (message.urn.rsplit("::", 1)[-1], message.text)
            for message in self.recording.messages
            if message.severity == "warning"
        ]

    @property
    def error(self) -> str:
        """What the program ended with; no text if it did not fail."""
        return self.recording.error.text if self.recording.error else ""

    def all(self, kind: str) -> list[Resource]:
        """Every resource of a type."""
        return [each for each in self.recording.resources if each.type.endswith(f":{kind}")]

    def one(self, kind: str, name: str = "") -> Resource:
        """The one resource of a type, or the one of that name."""
        found = [each for each in self.all(kind) if name in {"", each.name}]
        assert len(found) == 1, [each.name for each in self.all(kind)]
        return found[0]

    def inputs(self, kind: str, name: str = "") -> dict[str, Any]:
        """Inputs of the one resource of a type, as plain data, unknowns and secrets marked."""
        found: dict[str, Any] = to_json(self.one(kind, name).inputs)
        return found

    def depends(self, kind: str, name: str = "") -> list[str]:
        """Names of what a resource depends on."""
        return sorted({urn.rsplit("::", 1)[-1] for urn in self.one(kind, name).dependencies})

    def text(self) -> str:
        """Every registration by URN, as the text of a golden file."""
        found = sorted(self.recording.resources, key=lambda each: each.urn)
        return json.dumps([registration(each) for each in found], indent=2) + "\n"

    def changed_from(self, before: Run) -> set[str]:
        """Types and names of what is registered differently, or by one of the two only."""
        old, new = ({each.urn: registration(each) for each in run} for run in (before, self))
        differing = {urn for urn in old.keys() | new.keys() if old.get(urn) != new.get(urn)}
        return {" ".join(urn.split("::", 2)[2].split(":")[-3::2]) for urn in differing}

    def __iter__(self) -> Any:
        return iter(self.recording.resources)


def registration(resource: Resource) -> dict[str, Any]:
    """All of a registration that a user's state, account or cluster would see."""
    options = to_json(resource.options)  # the version is that of the SDK that is installed
    found = {
        "urn": resource.urn,
        "inputs": to_json(resource.inputs),
        "dependencies": list(resource.dependencies),
        "options": {key: value for key, value in options.items() if key != "version"},
        "provider": resource.provider,
        "protect": resource.protect,
    }
    if not resource.custom:
        found["outputs"] = to_json(resource.outputs)
    return {key: value for key, value in found.items() if value or key == "inputs"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder: each of them runs a program on the SDK."""
    for item in items:
        if item.nodeid.startswith("tests/components/"):
            item.add_marker(pytest.mark.sdk_internals)


class Today(date):
    """A day on which the stacks' Kubernetes version is supported, and will be for a while."""

    @classmethod
    def today(cls) -> Today:
        """The day that these tests were written."""
        return cls(2026, 11, 21)


@pytest.fixture(autouse=True)
def a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions run out of support: what is tested here must not change by that."""
    for module in (rules, component_rules):
        monkeypatch.setattr(module, "date", Today)


@pytest.fixture(scope="session")
def record() -> Callable[..., Run]:
    """`record(program)` runs a function or directory; it fails the test unless `fails=True`."""

    def run(
        program: Program | Path,
        *,
        preview: bool = True,
        fails: bool = False,
        config: Mapping[str, str] | None = None,
        stack: str = "test",
        project: str = "demo",
    ) -> Run:
        recording = run_program(
            program,
            project=project,
            stack=stack,
            config=config or {"aws:region": "us-west-2"},
            preview=preview,
        )
        error = recording.error
        assert (error is not None) is fails, error.traceback or error.text if error else "no error"
        return Run(recording)

    return run


@pytest.fixture(scope="session")
def run_stack(record: Callable[..., Run]) -> Callable[..., Run]:
    """`run_stack(name)` runs the repository's own program as one of its stacks.

    `edit` changes the environment of the stack file first. What is not edited is run once.
    """

    @cache
    def as_it_is(name: str, *, preview: bool) -> Run:
        return run(name, preview=preview, edit=None)

    def run(name: str, *, preview: bool, edit: Callable[[dict[str, Any]], object] | None) -> Run:
        config = dict(read_stack_config(ROOT / "stacks" / f"Pulumi.{name}.yaml").values)
        environment = json.loads(config["eks-gpushare:environment"])
        if edit is not None:
            edit(environment)
        config["eks-gpushare:environment"] = json.dumps(environment)
        return record(ROOT, project="eks-gpushare", stack=name, config=config, preview=preview)

    def either(
        name: str, *, preview: bool = True, edit: Callable[[dict[str, Any]], object] | None = None
    ) -> Run:
        if edit is None:
            return as_it_is(name, preview=preview)
        return run(name, preview=preview, edit=edit)

    return either


@pytest.fixture(params=STACKS)
def stack(request: pytest.FixtureRequest) -> str:
    """The name of each stack in turn."""
    return str(request.param)


@pytest.fixture
def cluster(record: Callable[..., Run]) -> Callable[..., Run]:
    """`cluster(key=value)` runs EksCluster alone, with the least it takes and the given keys."""
    return _alone(
        record,
        "EksCluster",
        {
            "name": "demo",
            "version": "1.35",
            "vpc_id": "vpc-0a1b2c3d",
            "private_subnet_ids": ["subnet-0a", "subnet-0b"],
        },
    )


@pytest.fixture
def gpu_pool(record: Callable[..., Run]) -> Callable[..., Run]:
    """`gpu_pool(key=value)` runs GpuPool alone; None removes a key."""
    return _alone(
        record,
        "GpuPool",
        {
            "pool": "gpu",
            "cluster_name": "demo",
            "cluster_subnet_ids": ["subnet-0a", "subnet-0b"],
            "instance_types": ["g6.2xlarge"],
            "sharing": {"mode": "timeSlicing", "replicas": 2},
        },
    )


@pytest.fixture
def network(record: Callable[..., Run]) -> Callable[..., Run]:
    """`network(key=value)` runs Network alone."""
    return _alone(record, "Network", {"zones": ["us-west-2a", "us-west-2b"]})


@pytest.fixture
def system_nodes(record: Callable[..., Run]) -> Callable[..., Run]:
    """`system_nodes(key=value)` runs SystemNodes alone."""
    return _alone(
        record, "SystemNodes", {"cluster_name": "demo", "subnet_ids": ["subnet-0a", "subnet-0b"]}
    )


@pytest.fixture
def device_plugin(record: Callable[..., Run]) -> Callable[..., Run]:
    """`device_plugin(key=value)` runs DevicePlugin alone, with a provider for an own cluster."""
    pool = {"instance_types": ["g6.2xlarge"], "sharing": {"mode": "timeSlicing", "replicas": 4}}
    return _alone(record, "DevicePlugin", {"pools": {"gpu": pool}}, provider=True)


@pytest.fixture
def cluster_autoscaler(record: Callable[..., Run]) -> Callable[..., Run]:
    """`cluster_autoscaler(key=value)` runs ClusterAutoscaler alone, as above."""
    least = {
        "cluster_name": "demo",
        "version": "1.35",
        "pools": ["gpu"],
        "node_group_names": ["gpu-1a2b3c4"],
        "scaling_group_names": ["eks-gpu-1a2b3c4-11111111"],
        "nodes": [{"min": 0, "max": 5}],
        "region": "us-west-2",
    }
    return _alone(record, "ClusterAutoscaler", least, provider=True)


@pytest.fixture
def efa_device_plugin(record: Callable[..., Run]) -> Callable[..., Run]:
    """`efa_device_plugin(key=value)` runs EfaDevicePlugin alone, as above."""
    return _alone(record, "EfaDevicePlugin", {"pools": ["train"]}, provider=True)


@pytest.fixture
def share_verifier(record: Callable[..., Run]) -> Callable[..., Run]:
    """`share_verifier(key=value)` runs ShareVerifier alone, as above."""
    least = {"image": "registry.example.com/eks-gpushare-verify:0.1.0"}
    return _alone(record, "ShareVerifier", least, provider=True)


@pytest.fixture
def gpu_metrics(record: Callable[..., Run]) -> Callable[..., Run]:
    """`gpu_metrics(key=value)` runs GpuMetrics alone, as above."""
    pool = {"instance_types": ["g6.2xlarge"], "sharing": {"mode": "timeSlicing", "replicas": 4}}
    return _alone(record, "GpuMetrics", {"pools": {"gpu": pool}}, provider=True)


@pytest.fixture
def karpenter(record: Callable[..., Run]) -> Callable[..., Run]:
    """`karpenter(key=value)` runs Karpenter alone, with a provider for an own cluster."""
    arn = "arn:aws:eks:us-west-2:111122223333:cluster/demo"
    least = {"cluster_name": "demo", "cluster_arn": arn}
    return _alone(record, "Karpenter", least, provider=True)


@pytest.fixture
def karpenter_pool(record: Callable[..., Run]) -> Callable[..., Run]:
    """`karpenter_pool(key=value)` runs KarpenterPool alone, as above."""
    return _alone(
        record,
        "KarpenterPool",
        {
            "pool": "gpu",
            "node_role_name": "gpu-nodes",
            "cluster_subnet_ids": ["subnet-0a", "subnet-0b"],
            "security_group_ids": ["sg-cluster"],
            "version": "1.35",
            "instance_types": ["g6.2xlarge"],
            "sharing": {"mode": "timeSlicing", "replicas": 2},
        },
        provider=True,
    )


@pytest.fixture
def gpu_operator(record: Callable[..., Run]) -> Callable[..., Run]:
    """`gpu_operator(key=value)` runs GpuOperator alone, with a provider for an own cluster."""
    pool = {"instance_types": ["g6.2xlarge"], "sharing": {"mode": "timeSlicing", "replicas": 4}}
    return _alone(record, "GpuOperator", {"pools": {"gpu": pool}}, provider=True)


@pytest.fixture
def keda(record: Callable[..., Run]) -> Callable[..., Run]:
    """`keda(key=value)` runs Keda alone, as above."""
    prometheus = {"url": "http://prometheus:9090"}
    return _alone(record, "Keda", {"prometheus": prometheus}, provider=True)


@pytest.fixture
def kueue(record: Callable[..., Run]) -> Callable[..., Run]:
    """`kueue(key=value)` runs Kueue alone, as above."""
    slices = "nvidia.com/mig-1g.5gb"
    quota = {"guaranteed": {slices: 4}, "maximum": {slices: 8}}
    least = {
        "pools": {"gpu": {"node_selector": {"eks-gpushare/pool": "gpu"}}},
        "tenants": {"research": {"namespaces": ["team-research"], "pools": {"gpu": quota}}},
    }
    return _alone(record, "Kueue", least, provider=True)


@pytest.fixture
def shared_workload(record: Callable[..., Run]) -> Callable[..., Run]:
    """`shared_workload(key=value)` runs SharedWorkload alone, as above."""
    pool = {"name": "gpu", "instance_types": ["g6.2xlarge"], "sharing": {"mode": "exclusive"}}
    least = {"name": "model", "image": "model:1", "served": [pool]}
    return _alone(record, "SharedWorkload", least, provider=True)


@pytest.fixture
def environment(record: Callable[..., Run]) -> Callable[..., Run]:
    """`environment(key=value)` runs GpuSharingEnvironment alone, on a cluster of its own."""
    return _alone(
        record,
        "GpuSharingEnvironment",
        {
            "cluster": {"name": "demo", "version": "1.35"},
            "network": {"zones": ["us-west-2a", "us-west-2b"]},
            "pools": {
                "gpu": {
                    "instance_types": ["g6.2xlarge"],
                    "sharing": {"mode": "timeSlicing", "replicas": 2},
                }
            },
            "region": "us-west-2",
        },
    )


def _alone(
    record: Callable[..., Run], component: str, least: dict[str, Any], *, provider: bool = False
) -> Callable[..., Run]:
    def run(
        *,
        preview: bool = True,
        fails: bool = False,
        opts: pulumi.ResourceOptions | None = None,
        **changes: Any,
    ) -> Run:
        args = {key: value for key, value in {**least, **changes}.items() if value is not None}

        def program() -> None:
            import pulumi_kubernetes

            import eks_gpushare

            given = opts
            if provider:
                kubernetes = pulumi_kubernetes.Provider("cluster", kubeconfig="{}")
                given = pulumi.ResourceOptions.merge(
                    opts, pulumi.ResourceOptions(providers=[kubernetes])
                )
            getattr(eks_gpushare, component)("demo", args, given)

        return record(program, preview=preview, fails=fails)

    return run


@pytest.fixture(scope="session")
def decoded() -> Callable[[object], str]:
    """User data of a launch template as the node reads it."""
    return lambda text: base64.b64decode(str(text)).decode()
