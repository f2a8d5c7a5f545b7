"""The plugin as the engine runs it: a process, asked over gRPC, whose resources are recorded."""

from __future__ import annotations

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import grpc  # type: ignore[import-untyped]  # no stubs
import pytest
from plugin_driver import PROJECT, STACK, Deployment, Plugin

import eks_gpushare
from eks_gpushare.program.protobuf import empty_pb2
from eks_gpushare.program.run import run_program
from eks_gpushare.program.values import UNKNOWN, OutputValue, Secret, decode_properties

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pulumi.runtime.proto import provider_pb2

    from eks_gpushare.program.recording import Recording

POOL: dict[str, Any] = {
    "clusterName": "demo",
    "clusterSubnetIds": ["subnet-0a1b2c3d4e5f60718", "subnet-0a1b2c3d4e5f60719"],
    "pool": "gpu",
    "instanceTypes": ["g6.2xlarge"],
    "nodes": {"min": 1, "max": 3},
    "rootVolumeGiB": 150,
    "sharing": {"mode": "timeSlicing", "replicas": 4},
}


@pytest.fixture(scope="module")
def plugin() -> Iterator[Plugin]:
    running = Plugin()
    yield running
    assert running.close() in (0, -signal.SIGTERM)


@pytest.fixture
def deployment() -> Iterator[Deployment]:
    running = Deployment()
    yield running
    running.close()


def registered(recording: Recording) -> list[tuple[str, str, Any]]:
    return sorted((each.type, each.name, each.inputs) for each in recording.resources)


def test_it_says_who_it_is(plugin: Plugin) -> None:
    schema = json.loads(plugin.schema())

    assert plugin.version() == eks_gpushare.__version__
    assert (schema["name"], schema["version"]) == ("eks-gpushare", eks_gpushare.__version__)


def test_it_registers_what_a_python_program_registers(
    plugin: Plugin, deployment: Deployment
) -> None:
    def program() -> None:
        eks_gpushare.GpuPool(
            "gpu",
            {
                "cluster_name": "demo",
                "cluster_subnet_ids": POOL["clusterSubnetIds"],
                "pool": "gpu",
                "instance_types": ["g6.2xlarge"],
                "nodes": {"min": 1, "max": 3},
                "root_volume_gib": 150,
                "sharing": {"mode": "timeSlicing", "replicas": 4},
            },
        )

    config = {"aws:region": "us-west-2"}
    alone = run_program(program, project=PROJECT, stack=STACK, config=config)
    assert alone.error is None

    answer = plugin.construct(deployment, "GpuPool", "gpu", POOL)

    below = [each for each in registered(alone) if each[0] != "pulumi:pulumi:Stack"]
    assert registered(deployment.recording) == below
    pool = next(each for each in alone.resources if each.type == "eks-gpushare:index:GpuPool")
    assert answer.urn == pool.urn
    assert decode_properties(answer.state)["nodeSelector"] == {"eks-gpushare/pool": "gpu"}


def test_names_that_are_known_later_are_taken(plugin: Plugin, deployment: Deployment) -> None:
    late = {**POOL, "clusterName": UNKNOWN, "clusterSubnetIds": UNKNOWN}

    plugin.construct(deployment, "GpuPool", "gpu", late)

    group = next(each for each in deployment.recording.resources if "NodeGroup" in each.type)
    assert group.inputs["clusterName"] in (UNKNOWN, OutputValue(UNKNOWN))


def test_what_decides_is_refused_when_it_is_known_later(
    plugin: Plugin, deployment: Deployment
) -> None:
    refusal = plugin.refused(
        deployment, "GpuPool", {**POOL, "sharing": UNKNOWN, "instanceTypes": [UNKNOWN]}
    )

    assert set(refusal.errors) == {"sharing", "instanceTypes[0]"}
    assert "An output is known too late" in refusal.errors["sharing"]
    assert not deployment.recording.resources


def test_every_wrong_input_is_named_as_the_program_wrote_it(
    plugin: Plugin, deployment: Deployment
) -> None:
    refusal = plugin.refused(
        deployment,
        "GpuPool",
        {
            **POOL,
            "instanceTyps": ["g6.2xlarge"],
            "amiVersion": "latest",
            "sharing": {"mode": "timeSlicing", "replicas": 1, "repplicas": 4},
            "nodes": {"min": 3, "max": 1, "desierd": 2},
            "root_volume_gib": 20,
        },
    )

    assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
    assert set(refusal.errors) == {
        "instanceTyps",
        "amiVersion",
        "sharing.replicas",
        "sharing.repplicas",
        "nodes.desierd",
        "rootVolumeGiB",
    }
    assert refusal.message.startswith(f"GpuPool: {len(refusal.errors)} arguments are wrong:\n")
    told = "\n".join((refusal.message, *refusal.errors.values()))
    assert "_" not in told.replace("root_volume_gib", "")
    assert not {"Traceback", "Exception", "File "} & set(told.split("\n"))
    assert not deployment.recording.resources


def test_a_fix_is_not_said_in_python(plugin: Plugin, deployment: Deployment) -> None:
    pools = {"gpu": {key: POOL[key] for key in ("instanceTypes", "sharing")}}

    unconnected = plugin.refused(deployment, "DevicePlugin", {"pools": pools})
    late = plugin.refused(deployment, "GpuPool", {**POOL, "pool": UNKNOWN})

    assert unconnected.errors["opts.providers"].endswith(
        "Give the cluster's: the resource option providers, with one made from its kubeconfig."
    )
    assert late.errors["pool"].endswith(
        "Give a plain value, such as one of the stack's configuration."
    )


def test_inputs_of_no_shape_are_refused(plugin: Plugin, deployment: Deployment) -> None:
    given = {"pool": 7, "instanceTypes": "g5.xlarge", "nodes": [], "sharing": "timeSlicing"}

    refusal = plugin.refused(deployment, "GpuPool", {**POOL, **given})

    assert set(refusal.errors) == set(given)


def test_a_type_that_is_none_is_refused_with_those_there_are(
    plugin: Plugin, deployment: Deployment
) -> None:
    refusal = plugin.refused(deployment, "GpuPol", {})

    assert "eks-gpushare:index:GpuPool" in refusal.message


def test_secrets_stay_secret(plugin: Plugin, deployment: Deployment) -> None:
    plugin.construct(deployment, "GpuPool", "gpu", {**POOL, "clusterName": Secret("demo")})

    group = next(each for each in deployment.recording.resources if "NodeGroup" in each.type)
    given = group.inputs["clusterName"]
    assert isinstance(given, Secret) or (isinstance(given, OutputValue) and given.secret)


@pytest.mark.parametrize("count", [2, 8])
def test_components_are_made_at_once(plugin: Plugin, deployment: Deployment, count: int) -> None:
    """Each with its own refusals, and one that is wrong stops no other."""

    def make(name: str) -> provider_pb2.ConstructResponse:
        return plugin.construct(deployment, "GpuPool", name, {**POOL, "pool": name})

    def refuse(name: str) -> set[str]:
        return set(
            plugin.refused(deployment, "GpuPool", {**POOL, "pool": name, "replicas": 2}).errors
        )

    with ThreadPoolExecutor(2 * count) as threads:
        made = [threads.submit(make, f"pool-{n}") for n in range(count)]
        refused = [threads.submit(refuse, f"wrong-{n}") for n in range(count)]

    assert len({each.result().urn for each in made}) == count
    assert [each.result() for each in refused] == [{"replicas"}] * count
    pools = [each for each in deployment.recording.resources if each.type.endswith(":GpuPool")]
    assert {each.name for each in pools} == {f"pool-{n}" for n in range(count)}
    groups = [each for each in deployment.recording.resources if "NodeGroup" in each.type]
    assert sorted(each.inputs["labels"]["eks-gpushare/pool"] for each in groups) == sorted(
        f"pool-{n}" for n in range(count)
    )


def test_components_of_two_deployments_are_made_at_once(plugin: Plugin) -> None:
    """As with programs of the Automation API: what is made of each goes to its own engine."""
    deployments = Deployment(), Deployment()

    def make(number: int) -> None:
        at, name = deployments[number % 2], f"pool-{number}"
        plugin.construct(at, "GpuPool", name, {**POOL, "pool": name})

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(make, range(8)))

    for number, each in enumerate(deployments):
        pools = {made.name for made in each.recording.resources if made.type.endswith(":GpuPool")}
        assert pools == {f"pool-{n}" for n in range(number, 8, 2)}
        each.close()


def test_a_plugin_that_is_cancelled_answers_and_ends() -> None:
    running = Plugin()
    running.stub.Cancel(empty_pb2.Empty())

    assert running.close() in (0, -signal.SIGTERM)
    assert running.process.poll() is not None


def test_a_plugin_ends_when_its_engine_is_gone() -> None:
    """One that was killed has told nobody."""
    running = Plugin()
    running.schema()

    assert running.engine_gone() == 0
    running.close()


def test_a_plugin_that_is_interrupted_ends_without_a_word() -> None:
    """How the engine ends it after a refusal; what it says then is shown to the user."""
    running = Plugin()
    running.schema()
    running.process.send_signal(signal.SIGINT)

    assert running.process.wait(60) == 0
    assert running.process.stderr is not None
    assert running.process.stderr.read() == b""
    running.close()


def test_a_plugin_that_reaches_no_engine_serves_all_the_same() -> None:
    """As one that somebody has started to debug it."""
    running = Plugin(engine="127.0.0.1:1")

    assert running.version() == eks_gpushare.__version__
    running.close()


@pytest.mark.parametrize("kind", ["Network", "EksCluster", "SystemNodes"])
def test_what_is_missing_is_said_of_every_component(
    plugin: Plugin, deployment: Deployment, kind: str
) -> None:
    refusal = plugin.refused(deployment, kind, {})

    assert refusal.errors
    assert not any("_" in path for path in refusal.errors)


ONCE = "Declare the pool once: give served, such as [pool.served], in place of pools."


def again(pool: str, **sharing: Any) -> dict[str, Any]:
    """A pool as a program writes it a second time."""
    return {pool: {"instanceTypes": ["g6.2xlarge"], "sharing": {"mode": "timeSlicing", **sharing}}}


@pytest.mark.parametrize("kind", ["DevicePlugin", "GpuOperator"])
def test_a_manager_takes_what_a_pool_hands_over(
    plugin: Plugin, deployment: Deployment, kind: str
) -> None:
    """As the engine hands on what a component has told: as an output of it, known by then."""
    pool = plugin.construct(deployment, "GpuPool", "gpu", POOL)
    served = decode_properties(pool.state)["served"]

    by_value = plugin.construct(deployment, kind, "one", {"served": [served]}, deployment.connected)
    told = OutputValue(served, dependencies=(pool.urn,))
    as_output = plugin.construct(deployment, kind, "two", {"served": [told]}, deployment.connected)
    as_whole = plugin.construct(
        deployment,
        kind,
        "three",
        {"served": OutputValue([served], dependencies=(pool.urn,))},
        deployment.connected,
    )

    assert served == {
        "name": "gpu",
        "instanceTypes": ["g6.2xlarge"],
        "sharing": {"mode": "timeSlicing", "replicas": 4},
    }
    assert len({by_value.urn, as_output.urn, as_whole.urn}) == 3
    maps = [each for each in deployment.recording.resources if each.name.endswith("-config")]
    assert {str(sorted(each.inputs["data"])) for each in maps} == {"['default', 'gpu']"}
    assert all("replicas: 4" in each.inputs["data"]["gpu"] for each in maps)


def test_what_a_pool_hands_over_may_not_be_known_later(
    plugin: Plugin, deployment: Deployment
) -> None:
    refusal = plugin.refused(
        deployment, "DevicePlugin", {"served": [UNKNOWN]}, deployment.connected
    )

    assert "An output is known too late" in refusal.errors["served[0]"]


def test_two_sharings_of_one_pool_are_refused(plugin: Plugin, deployment: Deployment) -> None:
    pool = {**POOL, "sharing": {"mode": "timeSlicing", "replicas": 8}}
    plugin.construct(deployment, "GpuPool", "gpu", pool)

    refusal = plugin.refused(
        deployment, "DevicePlugin", {"pools": again("gpu", replicas=4)}, deployment.connected
    )
    same = plugin.construct(
        deployment,
        "DevicePlugin",
        "same",
        {"pools": again("gpu", replicas=8)},
        deployment.connected,
    )

    assert refusal.errors == {
        "pools.gpu.sharing.replicas": '4 here, and 8 by GpuPool "gpu": what pods are planned by is '
        f"not what sharing.replicas makes nodes advertise. {ONCE}"
    }
    assert same.urn


def test_the_pool_is_refused_where_it_comes_second(plugin: Plugin, deployment: Deployment) -> None:
    """Programs in other languages register at once what does not wait for anything."""
    plugin.construct(
        deployment,
        "DevicePlugin",
        "plugin",
        {"pools": again("gpu", replicas=4)},
        deployment.connected,
    )
    pool = {**POOL, "sharing": {"mode": "mps", "replicas": 4}}

    refusal = plugin.refused(deployment, "GpuPool", pool)

    assert refusal.errors == {
        "sharing.mode": 'mps here, and timeSlicing by DevicePlugin "plugin": what pods are planned '
        f"by is not what sharing.mode makes nodes advertise. {ONCE}"
    }


def test_a_default_of_who_makes_the_nodes_is_compared_too(
    plugin: Plugin, deployment: Deployment
) -> None:
    """Karpenter's shares have another name, which a pool that is written anew does not say."""
    pool = {
        "pool": "gpu",
        "instanceTypes": ["g6.2xlarge"],
        "nodes": {"max": 3},
        "sharing": POOL["sharing"],
        "version": "1.35",
        "nodeRoleName": "gpus-nodes",
        "clusterSubnetIds": POOL["clusterSubnetIds"],
        "securityGroupIds": ["sg-0a1b2c3d4e5f60718"],
    }
    plugin.construct(deployment, "KarpenterPool", "gpu", pool, deployment.connected)

    refusal = plugin.refused(
        deployment, "DevicePlugin", {"pools": again("gpu", replicas=4)}, deployment.connected
    )

    assert refusal.errors["pools.gpu.sharing.rename"].startswith(
        'false here, and true by KarpenterPool "gpu": '
    )


def test_a_pool_that_nobody_serves_is_refused(plugin: Plugin, deployment: Deployment) -> None:
    """By the later of the two: nothing tells a plugin which component is the last."""
    first = decode_properties(plugin.construct(deployment, "GpuPool", "gpu", POOL).state)["served"]
    plugin.construct(deployment, "GpuPool", "spare", {**POOL, "pool": "spare"})

    unserved = plugin.refused(deployment, "DevicePlugin", {"served": [first]}, deployment.connected)
    both = [first, {**first, "name": "spare"}]
    plugin.construct(deployment, "DevicePlugin", "plugin", {"served": both}, deployment.connected)
    late = plugin.refused(deployment, "GpuPool", {**POOL, "pool": "late"})

    without = "its nodes would have no device plugin, and advertise no GPU."
    assert unserved.errors == {
        "served": f'GpuPool "spare" of this program is not among the pools: {without} Add its '
        "served to the list."
    }
    assert late.errors == {
        "pool": f'DevicePlugin "plugin" of this program does not serve the pool: {without} Add the '
        "pool's served to the list there."
    }


def test_a_pool_whose_image_has_a_device_plugin_needs_no_manager(
    plugin: Plugin, deployment: Deployment
) -> None:
    served = decode_properties(plugin.construct(deployment, "GpuPool", "gpu", POOL).state)["served"]
    plugin.construct(
        deployment, "GpuPool", "own", {**POOL, "pool": "own", "amiFamily": "bottlerocket"}
    )

    assert plugin.construct(
        deployment, "DevicePlugin", "p", {"served": [served]}, deployment.connected
    ).urn


def test_pools_of_several_clusters_are_not_compared(plugin: Plugin, deployment: Deployment) -> None:
    """Which cluster a manager is for, it does not know."""
    plugin.construct(deployment, "GpuPool", "gpu", POOL)
    plugin.construct(deployment, "GpuPool", "other", {**POOL, "clusterName": "other"})

    pools = again("gpu", replicas=8)
    assert plugin.construct(
        deployment, "DevicePlugin", "p", {"pools": pools}, deployment.connected
    ).urn


def test_runs_of_one_process_are_not_compared(plugin: Plugin, deployment: Deployment) -> None:
    """A preview and its update, and programs of the Automation API, have one plugin each or all."""
    other = Deployment()
    plugin.construct(deployment, "GpuPool", "gpu", POOL)

    pools = again("gpu", replicas=8)
    assert plugin.construct(other, "DevicePlugin", "p", {"pools": pools}, other.connected).urn
    other.close()


def test_a_run_is_over_when_its_monitor_is_gone(plugin: Plugin) -> None:
    """The port of a run that is over is soon another's; what it has declared is not."""
    first = Deployment()
    plugin.construct(first, "GpuPool", "gpu", POOL)
    first.close()

    second = Deployment(first.port)
    pools = again("gpu", replicas=8)
    assert plugin.construct(second, "DevicePlugin", "p", {"pools": pools}, second.connected).urn
    second.close()


def test_an_output_that_is_known_is_its_value(plugin: Plugin, deployment: Deployment) -> None:
    """As the engine hands it on, where the package has no type that would refuse an output."""

    def late(value: object) -> OutputValue:
        return OutputValue(value)

    def labels(name: str, args: dict[str, Any]) -> Any:
        plugin.construct(deployment, "GpuPool", name, {**pool, **args})
        (group,) = (
            each
            for each in deployment.recording.resources
            if each.type.endswith(":NodeGroup") and each.name == name
        )
        return {key: group.inputs[key] for key in ("labels", "scalingConfig", "instanceTypes")}

    layout = {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}
    sharing = {"mode": "mig", "layout": layout}
    pool = {**POOL, "instanceTypes": ["p4d.24xlarge"], "sharing": sharing}
    given: dict[str, dict[str, Any]] = {
        "layout": {"sharing": {"mode": "mig", "layout": late(layout)}},
        "count": {"sharing": {"mode": "mig", "layout": {**layout, "1g.5gb": late(2)}}},
        "block": {"sharing": late(sharing)},
        "list": {"instanceTypes": late(["p4d.24xlarge"])},
        "item": {"instanceTypes": [late("p4d.24xlarge")]},
        "numbers": {"nodes": {"min": 1, "max": late(3)}, "rootVolumeGiB": late(150)},
    }
    plain = labels("plain", {})

    assert {name: labels(name, args) for name, args in given.items()} == dict.fromkeys(given, plain)
