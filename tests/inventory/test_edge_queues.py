"""Kueue's chain from a workload to nodes; the real Kueue says the same in `tests/lab`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import GPU, PRESENT, codes, nodes, plugin, pods, problems

from eks_gpushare.inventory.edges.queues import NO_CLUSTER_QUEUE, NO_FLAVOR, NO_NODES, NO_QUEUE
from eks_gpushare.inventory.items import Pointer
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.sharing.kueue import QUEUE_LABEL

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

RULES = (NO_QUEUE, NO_CLUSTER_QUEUE, NO_FLAVOR, NO_NODES)
POOL = nodes(name="gpu", labels={**PRESENT, "pool": "gpu"})
THERE = (POOL, plugin())


def job(queue: Any = "users", **more: Any) -> Item:
    return pods({GPU: 1}, kind="Job", name="train", labels={QUEUE_LABEL: queue}, **more)


def made(kind: str, name: Any, spec: Any, namespace: Any = "") -> Pointer:
    source = Source(f"the {kind} {name}")
    return Pointer(source=source, kind=kind, name=name, namespace=namespace, spec=spec)


def local(of: Any = "team", name: Any = "users", namespace: Any = "default") -> Pointer:
    return made("LocalQueue", name, {"clusterQueue": of}, namespace)


def queue(*flavors: Any, amount: Any = 4, resource: Any = GPU, name: Any = "team") -> Pointer:
    quota = {"name": resource, "nominalQuota": amount}
    given = [{"name": each, "resources": [quota]} for each in flavors or ("whole",)]
    spec = {"resourceGroups": [{"coveredResources": [resource], "flavors": given}]}
    return made("ClusterQueue", name, spec)


def flavor(name: Any = "whole", labels: Any = None) -> Pointer:
    return made(
        "ResourceFlavor", name, {"nodeLabels": {"pool": "gpu"} if labels is None else labels}
    )


WHOLE = (job(), local(), queue(), flavor())
ELSEWHERE = {"pool": "other"}
BY_HAND = nodes("m5.large", name="node", provisioner="byHand")
BROKEN: dict[str, tuple[str, tuple[Item, ...]]] = {
    "no LocalQueue": ("GPU1266", (*THERE, job(), queue(), flavor())),
    "a LocalQueue of another name": ("GPU1266", (*THERE, *WHOLE, job("user"))),
    "a LocalQueue in another namespace": (
        "GPU1266",
        (*THERE, job(namespace="team"), local(), queue(), flavor()),
    ),
    "no ClusterQueue, nor any flavor": ("GPU1267", (*THERE, job(), local())),
    "no ClusterQueue": ("GPU1267", (*THERE, job(), local(), flavor())),
    "a ClusterQueue of another name": (
        "GPU1267",
        (*THERE, job(), local("teams"), queue(), flavor()),
    ),
    "no flavor": ("GPU1268", (*THERE, job(), local(), queue())),
    "one of two flavors": ("GPU1268", (*THERE, job(), local(), queue("whole", "spot"), flavor())),
    "labels that no node has": ("GPU1269", (*THERE, *WHOLE[:3], flavor(labels=ELSEWHERE))),
    "labels of nodes without the resource": (
        "GPU1269",
        (
            nodes("m5.large", name="cpu", labels=ELSEWHERE),
            *THERE,
            *WHOLE[:3],
            flavor(labels=ELSEWHERE),
        ),
    ),
    "labels of a node without the resource": (
        "GPU1269",
        (
            *(*THERE, BY_HAND, *WHOLE[:3], flavor(labels=ELSEWHERE)),
            nodes("m5.large", name="cpu", labels=ELSEWHERE, provisioner="byHand"),
        ),
    ),
}
RIGHT: dict[str, tuple[Item, ...]] = {
    "the whole chain": (*THERE, *WHOLE),
    "none of Kueue's objects": (*THERE, job()),
    "no queue named": (*THERE, pods({GPU: 1}), queue(), flavor()),
    "no GPU asked for": (*THERE, pods(labels={QUEUE_LABEL: "other"}), *WHOLE),
    "a namespace that is not known": (*THERE, job(namespace=UNKNOWN), *WHOLE[1:]),
    "a flavor of every node": (*THERE, *WHOLE[:3], flavor(labels={})),
    "nodes that may come": (*THERE, BY_HAND, *WHOLE[:3], flavor(labels=ELSEWHERE)),
    "a quota of 0 where there is none": (
        *(*THERE, job(), local(), flavor(), flavor("spot", ELSEWHERE)),
        made(
            "ClusterQueue",
            "team",
            {
                "resourceGroups": [
                    {
                        "flavors": [
                            {"name": "whole", "resources": [{"name": GPU, "nominalQuota": 4}]},
                            {"name": "spot", "resources": [{"name": GPU, "nominalQuota": 0}]},
                        ]
                    }
                ]
            },
        ),
    ),
    "quotas of what is no GPU": (
        *THERE,
        job(),
        local(),
        queue(resource="cpu"),
        flavor("whole", ELSEWHERE),
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_chain_that_leads_nowhere_is_found(case: str) -> None:
    code, items = BROKEN[case]

    assert codes(*items) == [code]


@pytest.mark.parametrize("case", RIGHT)
def test_a_chain_that_leads_to_nodes_is_not(case: str) -> None:
    assert [each.message for each in problems(*RIGHT[case], of=RULES)] == []


@pytest.mark.parametrize(
    ("items", "said"),
    [
        (
            (*THERE, job("user-quue"), local(name="user-queue"), queue(), flavor()),
            (
                "The Job train names the LocalQueue user-quue, which is not here: Kueue holds it "
                "back. Write user-queue, if that was meant."
            ),
        ),
        (
            BROKEN["no LocalQueue"][1],
            (
                "The Job train names the LocalQueue users, which is not here: Kueue holds it "
                "back. Make it in its namespace."
            ),
        ),
        (
            BROKEN["no flavor"][1],
            (
                "The ClusterQueue team names the ResourceFlavor whole, which is not here: the "
                "whole queue is inactive and admits nothing. Make it."
            ),
        ),
        (
            BROKEN["a LocalQueue in another namespace"][1],
            (
                "The Job train names the LocalQueue users, which is in the namespace default: "
                "Kueue holds it back. Make a LocalQueue users in the namespace of the Job train."
            ),
        ),
        (
            BROKEN["one of two flavors"][1],
            (
                "The ClusterQueue team names the ResourceFlavor spot, which is not here: the "
                "whole queue is inactive and admits nothing. Make it, or name one that is there: "
                "whole."
            ),
        ),
        (
            BROKEN["labels that no node has"][1],
            (
                "The ClusterQueue team gives nvidia.com/gpu of the ResourceFlavor whole, whose "
                "nodes are those with pool=other: none of them has it, the node group gpu has. "
                "Pods are admitted, get that selector and wait for ever. Write into the "
                "ResourceFlavor whole the labels of nodes that have nvidia.com/gpu, "
                "or set its quota to 0."
            ),
        ),
    ],
)
def test_messages_name_both_ends(items: tuple[Item, ...], said: str) -> None:
    (found,) = problems(*items)

    assert f"{found.message} {found.fix}" == said
    assert found.severity is None


@pytest.mark.parametrize(
    ("items", "severities"),
    [
        ((job("other"), *WHOLE), ["info"]),
        ((job("user-quue"), local(name="user-queue"), queue(), flavor()), ["warning"]),
        # Another team's or another GPU's name is none that was meant.
        ((job("team-b"), local(name="team-a"), queue(), flavor()), ["info"]),
        ((job(), local(), queue("a100"), flavor("a10")), ["info"]),
        ((job(namespace="team"), *WHOLE[1:]), ["warning"]),
        ((job(), queue(), flavor()), ["info"]),
        # Excerpts of guides, with objects of one kind.
        ((job(), local()), []),
        ((queue(), queue(name="others")), []),
        ((*THERE, *WHOLE[:3], flavor(labels=ELSEWHERE)), ["warning"]),
    ],
)
def test_of_files_the_rest_may_stand_in_others(items: tuple[Item, ...], severities: Any) -> None:
    found = problems(*items, complete=False, of=RULES)

    assert [each.severity for each in found] == severities


def test_the_label_is_found_where_it_stands() -> None:
    """In the template of a Job whose own labels name no queue."""
    (found,) = problems(*THERE, job("other"), *WHOLE[1:], of=RULES)

    assert found.path == ("spec", "template", "metadata", "labels", QUEUE_LABEL)


def test_what_is_not_known_is_said() -> None:
    assert "?GPU1266" in codes(*THERE, job(UNKNOWN), *WHOLE)
    assert "?GPU1267" in codes(*THERE, *WHOLE, local(UNKNOWN, "more"))
    assert "?GPU1268" in codes(*THERE, *WHOLE, queue(UNKNOWN, name="more"))
    assert "?GPU1269" in codes(*THERE, *WHOLE[:3], flavor(labels={"pool": UNKNOWN}))
    # A name that is not known may be the one.
    assert codes(*THERE, *WHOLE, job("else"), local(name=UNKNOWN)) == []
