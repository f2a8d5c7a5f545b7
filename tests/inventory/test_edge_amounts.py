"""Amounts of GPUs that pods ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import GPU, PRESENT, codes, nodes, plugin, pods, problems, said

from eks_gpushare.inventory.edges import amounts, budgets
from eks_gpushare.inventory.problem import Edit
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

SHARED = f"{GPU}.shared"
MIG = "nvidia.com/mig-1g.5gb"
CONFIG = "nvidia.com/device-plugin.config"
POOL = nodes("g5.12xlarge", labels=PRESENT)


def sliced(**more: Any) -> Item:
    block = {"resources": [{"name": GPU, "replicas": 4}], **more}
    return plugin({"config": {"map": {"default": {"sharing": {"timeSlicing": block}}}}})


def shared_by_mps() -> Item:
    document = {"sharing": {"mps": {"resources": [{"name": "gpu", "replicas": 3}]}}}
    return plugin({"gfd": {"enabled": True}, "config": {"map": {"a": document}}})


def container(kind: str, count: int, **more: Any) -> dict[str, Any]:
    return {"name": kind, "resources": {"limits": {GPU: count}}, **more}


WRONG_AMOUNTS = [
    pods({GPU: 0.5}),
    pods({GPU: "500m"}),
    pods({GPU: "half"}),
    pods({GPU: -1}),
    pods({GPU: True}),
    pods({GPU: 1}, {GPU: 2}),
    pods({GPU: 2}, {GPU: 1}),
    pods({}, {GPU: 1}),
    pods({}, {MIG: "1"}),
    pods({SHARED: "0.25"}),
]
RIGHT_AMOUNTS = [
    pods({GPU: 1}),
    pods({GPU: "1"}),
    pods({GPU: "1"}, {GPU: 1}),
    pods({GPU: 1.0}),
    pods({GPU: "1e0"}),
    pods({GPU: 0}),
    pods({GPU: UNKNOWN}),
    pods({GPU: 1}, {"cpu": "500m"}),
    pods({"cpu": 0.5}),
    pods({"example.com/fpga": 0.5}),
]


@pytest.mark.parametrize("pod", WRONG_AMOUNTS)
def test_amounts_that_the_api_server_refuses_are_found(pod: Item) -> None:
    assert codes(pod, complete=False) == ["GPU1114"]


@pytest.mark.parametrize("pod", RIGHT_AMOUNTS)
def test_amounts_that_it_takes_are_not(pod: Item) -> None:
    assert codes(pod, complete=False) == []


def test_the_limit_that_is_missing_is_written() -> None:
    (found,) = problems(pods({}, {GPU: 2}), complete=False)

    place = ("spec", "template", "spec", "containers", 0, "resources", "limits", GPU)
    assert found.edits == (Edit("set", place, 2),)


@pytest.mark.parametrize(
    ("config", "pod", "severity"),
    [
        (sliced(failRequestsGreaterThanOne=True), pods({GPU: 2}), None),
        (sliced(), pods({GPU: 2}), "info"),
        (sliced(renameByDefault=True), pods({SHARED: 3}), "info"),
        (
            shared_by_mps(),
            pods({GPU: 2}),
            None,
        ),
    ],
)
def test_several_shares_are_found(config: Item, pod: Item, severity: str | None) -> None:
    (found,) = problems(POOL, config, pod)

    assert (found.rule, found.severity) == (amounts.SEVERAL_SHARES, severity)


@pytest.mark.parametrize(
    ("types", "severity"),
    [
        (("g5.xlarge",), "warning"),
        (("g5.xlarge", "g5.2xlarge"), "warning"),
        (("g5.xlarge", "g5.12xlarge"), "info"),
    ],
)
def test_shares_of_nodes_with_several_gpus_may_be_of_as_many(
    types: tuple[str, ...], severity: str
) -> None:
    """The device plugin spreads what a container asks for over the GPUs of its node."""
    pools = [nodes(each, name=each, labels=PRESENT) for each in types]
    (found,) = problems(*pools, sliced(), pods({GPU: 2}), of=[amounts.SEVERAL_SHARES])

    of = "" if severity == "warning" else " of one GPU"
    assert found.severity == severity
    assert found.message.endswith(f"so that 2{of} give no more than one.")


@pytest.mark.parametrize(
    "where",
    [
        {"nodeSelector": {"pool": "a"}},
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {
                                "matchExpressions": [
                                    {"key": "pool", "operator": "NotIn", "values": ["b"]}
                                ]
                            }
                        ]
                    }
                }
            }
        },
    ],
)
def test_shares_are_those_of_the_nodes_that_the_pods_may_be_on(where: dict[str, Any]) -> None:
    """Not of another pool, whose whole GPUs have the same name."""
    shared = nodes(name="a", labels={**PRESENT, "pool": "a"})
    whole = nodes("g5.12xlarge", name="b", labels={**PRESENT, CONFIG: "whole", "pool": "b"})
    block = {"resources": [{"name": GPU, "replicas": 4}], "failRequestsGreaterThanOne": True}
    texts = {"default": {"sharing": {"timeSlicing": block}}, "whole": {"version": "v1"}}
    both = (shared, whole, plugin({"config": {"map": texts, "default": "default"}}))

    (found,) = problems(*both, pods({GPU: 2}, **where), of=[amounts.SEVERAL_SHARES])

    assert found.message.endswith("The device plugin of the node group a refuses that.")
    assert codes(*both, pods({GPU: 2}, nodeSelector={"pool": "b"})) == []
    assert codes(*both, pods({GPU: 2})) == []


def test_the_name_of_a_share_tells_without_any_pool() -> None:
    (found,) = problems(pods({SHARED: 2}), complete=False)

    assert (found.rule, found.severity) == (amounts.SEVERAL_SHARES, "info")


@pytest.mark.parametrize(
    ("resource", "strict", "found", "then"),
    [
        (GPU, False, ["GPU1113"], "Pods take turns on each of "),
        (GPU, True, ["GPU1113"], "The device plugin of "),
        (MIG, False, [], ""),
    ],
)
def test_a_plugin_by_itself_tells_what_is_shared(
    resource: str, strict: bool, found: list[str], then: str
) -> None:
    block = {"resources": [{"name": resource, "replicas": 2}], "failRequestsGreaterThanOne": strict}
    document = {"version": "v1", "sharing": {"timeSlicing": block}}
    config = plugin({"config": {"map": {"default": document}}})
    told = problems(config, pods({GPU: 2}), complete=False)

    assert [each.rule.id for each in told] == found
    assert all(then in each.message for each in told)
    assert [each.severity for each in told] == [None if strict else "info" for _ in found]


def test_several_whole_gpus_are_no_shares() -> None:
    assert codes(POOL, plugin(), pods({GPU: 4})) == []
    assert codes(POOL, sliced(), pods({GPU: 1})) == []
    assert codes(pods({GPU: 4}), complete=False) == []


def test_more_than_a_node_has_is_found() -> None:
    assert codes(POOL, plugin(), pods({GPU: 5})) == ["GPU1115"]
    assert (
        codes(POOL, nodes("p4d.24xlarge", name="b", labels=PRESENT), plugin(), pods({GPU: 5})) == []
    )
    assert codes(nodes(labels=PRESENT), plugin(), pods({GPU: 2})) == ["GPU1115"]


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"containers": [container("a", 2), container("b", 2)]}, []),
        ({"containers": [container("a", 3), container("b", 2)]}, ["GPU1115"]),
        ({"containers": [container("a", 4)], "initContainers": [container("b", 4)]}, []),
        ({"containers": [container("a", 1)], "initContainers": [container("b", 5)]}, ["GPU1115"]),
        (
            {
                "containers": [container("a", 3)],
                "initContainers": [container("b", 2, restartPolicy="Always")],
            },
            ["GPU1115"],
        ),
    ],
)
def test_containers_of_a_pod_count_together(spec: dict[str, Any], found: list[str]) -> None:
    assert codes(POOL, plugin(), pods(spec=spec)) == found


def test_more_shares_than_a_node_has_are_found_in_containers_of_one_each() -> None:
    spec = {"containers": [container(str(number), 1) for number in range(17)]}

    assert codes(POOL, sliced(), pods(spec=spec)) == ["GPU1115"]
    spec["containers"].pop()
    assert codes(POOL, sliced(), pods(spec=spec)) == []


def test_who_refuses_several_shares_is_named() -> None:
    strict = sliced(failRequestsGreaterThanOne=True)
    lenient = nodes(
        name="b", ami="BOTTLEROCKET_x86_64_NVIDIA", user_data=(
            "[settings.kubelet-device-plugins.nvidia]\n"
            'device-sharing-strategy = "time-slicing"\n'
            "[settings.kubelet-device-plugins.nvidia.time-slicing]\n"
            "replicas = 4\nrename-by-default = false\nfail-requests-greater-than-one = false\n"
        )
    )  # fmt: skip
    (one,) = problems(POOL, strict, pods({GPU: 2}), of=[amounts.SEVERAL_SHARES])
    (both,) = problems(POOL, lenient, strict, pods({GPU: 2}), of=[amounts.SEVERAL_SHARES])
    (nobody,) = problems(pods({SHARED: 2}), complete=False)

    asked = "The Deployment app asks for 2 of"
    assert one.message == (
        f"{asked} nvidia.com/gpu in one container. The device plugin of the node group gpu refuses "
        "that."
    )
    assert both.severity == "info"
    assert both.message == (
        f"{asked} nvidia.com/gpu in one container. Pods take turns on each of the node group gpu, "
        "so that 2 of one GPU give no more than one."
    )
    assert nobody.message == (
        f"{asked} nvidia.com/gpu.shared in one container. Pods take turns on each, so that 2 of "
        "one GPU give no more than one."
    )


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        (pods({GPU: 0.5}), "asks for 0.5 of nvidia.com/gpu, no whole number."),
        (pods({GPU: 2}, {GPU: 0.5}), "asks for 0.5 of nvidia.com/gpu, no whole number."),
        (
            pods({}, {GPU: 2}),
            "asks for 2 of nvidia.com/gpu under requests alone; it has to stand under limits.",
        ),
        (
            pods({GPU: 1}, {GPU: 0}),
            "asks for 0 of nvidia.com/gpu and limits it to 1; the two must be the same.",
        ),
        (
            pods({GPU: 1}, {GPU: 2}),
            "asks for 2 of nvidia.com/gpu and limits it to 1; the two must be the same.",
        ),
    ],
)
def test_what_is_wrong_with_an_amount_is_said(pod: Item, message: str) -> None:
    (found,) = problems(pod, complete=False)

    assert found.message == f"The Deployment app {message}"


def test_none_under_requests_alone_asks_for_nothing() -> None:
    assert codes(pods({}, {GPU: 0}), complete=False) == []


def test_what_a_node_has_is_named() -> None:
    larger = nodes("p4d.24xlarge", name="b", labels=PRESENT)
    (found,) = problems(POOL, larger, plugin(), pods({GPU: 9}))
    spec = {"containers": [{"name": "web"}, container("a", 3), container("b", 2)]}
    (of_two,) = problems(POOL, plugin(), pods(spec=spec))

    assert found.message == (
        "The Deployment app asks for 9 of nvidia.com/gpu in a pod, and a node has 8 at most."
    )
    assert found.fix == "Ask for 8 at most, or take nodes with more."
    assert of_two.path[3:5] == ("containers", 1)


@pytest.mark.parametrize(
    "items",
    [
        (POOL, plugin(), pods({GPU: UNKNOWN})),
        (POOL, plugin(), pods({GPU: 4.5})),
        (POOL, plugin(UNKNOWN), pods({GPU: 9})),
        (POOL, nodes("g9.xlarge", name="b", labels=PRESENT), plugin(), pods({GPU: 9})),
        # The nodes that it may be on have as many.
        (POOL, nodes("p4d.24xlarge", name="b", labels={**PRESENT, "pool": "b"}), plugin(),
            pods({GPU: 8}, nodeSelector={"pool": "b"})),
    ],
)  # fmt: skip
def test_what_may_be_enough_is_not_too_much(items: tuple[Item, ...]) -> None:
    assert said(amounts.as_many_as_there_are, *items) == []


def test_no_pod_is_on_the_larger_nodes() -> None:
    larger = nodes("p4d.24xlarge", name="b", labels=PRESENT, taints=[("team", "ml", "NoSchedule")])

    found = said(amounts.as_many_as_there_are, POOL, larger, plugin(), pods({GPU: 8}))
    assert [code for code, _ in found] == ["GPU1115"]


@pytest.mark.parametrize(("replicas", "count"), [(50, 0), (51, 1)])
def test_a_node_has_no_more_shares_than_pods(replicas: int, count: int) -> None:
    """A g5.xlarge runs 58 pods by default, four interfaces of fifteen addresses; 8 are its own."""
    block = {"resources": [{"name": GPU, "replicas": replicas}]}
    chart = plugin({"config": {"map": {"a": {"sharing": {"timeSlicing": block}}}}})
    both = nodes("g5.xlarge", "g5.2xlarge", labels=PRESENT)

    assert len(problems(both, chart, of=[budgets.UNREACHABLE])) == count


def test_of_what_nodes_have_none_of_there_are_not_too_many() -> None:
    planned = nodes(labels=PRESENT, advertised={"g5.xlarge": {SHARED: 50, GPU: 0}})

    assert said(budgets.pods_of_nodes, planned, sliced()) == []


def test_whole_gpus_are_no_shares_of_which_there_may_be_too_many() -> None:
    assert said(budgets.pods_of_nodes, POOL, plugin()) == []
    assert said(budgets.pods_of_nodes, nodes("g9.xlarge"), sliced()) == []
    assert said(budgets.pods_of_nodes, nodes(labels=UNKNOWN), sliced()) == []


@pytest.mark.parametrize(("resource", "found"), [("cpu", []), (GPU, ["GPU1114"])])
def test_a_pod_as_a_whole_asks_for_no_gpu(resource: str, found: list[str]) -> None:
    whole = {"limits": {resource: 1}}

    assert codes(pods({"cpu": 1}, resources=whole), complete=False) == found
