"""What autoscalers are told of nodes is held against what the nodes will have."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import (
    GPU,
    PRESENT,
    codes,
    nodes,
    operator,
    overlay,
    plugin,
    pods,
    problems,
    said,
)

from eks_gpushare.inventory.edges import promises
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

SHARED = f"{GPU}.shared"
TYPE = "node.kubernetes.io/instance-type"
POOL = "karpenter.sh/nodepool"


def pool(*types: str, **more: Any) -> Item:
    return nodes(*types, provisioner="karpenter", labels=PRESENT, **more)


def sliced(**more: Any) -> Item:
    block = {"resources": [{"name": GPU, "replicas": 4}], **more}
    return plugin({"config": {"map": {"default": {"sharing": {"timeSlicing": block}}}}})


def one(key: str, *values: str, operator: str = "In") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


RENAMED = sliced(renameByDefault=True)
OF_TYPE = one(TYPE, "g5.xlarge")
FOUR = {SHARED: "4", GPU: "0"}

BROKEN: dict[str, tuple[str, tuple[Item, ...]]] = {
    "too many": ("GPU1140", (pool(), RENAMED, overlay({SHARED: "10", GPU: "0"}, OF_TYPE))),
    "too few": ("GPU1140", (pool(), RENAMED, overlay({SHARED: 2, GPU: 0}, OF_TYPE))),
    "one of what there is none of": (
        "GPU1140",
        (pool(), RENAMED, overlay({SHARED: "4", GPU: "1"}, OF_TYPE)),
    ),
    "shares under the name of GPUs": (
        "GPU1140",
        (pool(), sliced(), overlay({GPU: "10"}, OF_TYPE)),
    ),
    "right for one type of two": (
        "GPU1140",
        (
            pool("g5.xlarge", "g5.12xlarge"),
            RENAMED,
            overlay(FOUR, one(TYPE, "g5.xlarge", "g5.12xlarge")),
        ),
    ),
    "the greater weight is the wrong one": (
        "GPU1140",
        (
            pool(),
            RENAMED,
            overlay(FOUR, OF_TYPE, weight=10),
            overlay({SHARED: "5", GPU: "0"}, OF_TYPE, weight=20, name="b"),
        ),
    ),
    "nothing at all": ("GPU1141", (pool(), sliced())),
    "for another pool": (
        "GPU1141",
        (pool(), sliced(), overlay({GPU: "4"}, one(POOL, "other"))),
    ),
    "for another type": (
        "GPU1141",
        (pool(), sliced(), overlay({GPU: "4"}, one(TYPE, "g6.xlarge"))),
    ),
    "MIG devices": (
        "GPU1141",
        (
            pool("p4d.24xlarge", user_data='MIG_LAYOUT="*=19:0"'),
            plugin({"migStrategy": "mixed"}),
            overlay({GPU: "0"}, one(TYPE, "p4d.24xlarge")),
        ),
    ),
    "the GPU is not taken back": ("GPU1142", (pool(), RENAMED, overlay({SHARED: "4"}, OF_TYPE))),
    "the GPU is not taken back by tags": (
        "GPU1142",
        (nodes("g5.xlarge", labels=PRESENT, promised={SHARED: "4"}), RENAMED),
    ),
    "nor beside MIG devices": (
        "GPU1142",
        (
            nodes(
                "p4d.24xlarge",
                labels=PRESENT,
                user_data='cat <<EOF\nMIG_LAYOUT="*=19:0,19:1"\nEOF\n',
                promised={"nvidia.com/mig-1g.5gb": "16"},
            ),
            plugin({"migStrategy": "mixed"}),
        ),
    ),
    "tags of too many": ("GPU1140", (nodes(labels=PRESENT, promised={GPU: "10"}), sliced())),
    "tags without the share": (
        "GPU1141",
        (nodes(labels=PRESENT, promised={GPU: "0"}), RENAMED),
    ),
    "tags that leave the GPU": (
        "GPU1140",
        (nodes(labels=PRESENT, promised={GPU: "1", SHARED: "4"}), RENAMED),
    ),
    "tags of the larger type": (
        "GPU1140",
        (nodes("g5.xlarge", "g5.12xlarge", labels=PRESENT, promised={GPU: "16"}), sliced()),
    ),
}
RIGHT: dict[str, tuple[Item, ...]] = {
    "as many": (pool(), RENAMED, overlay(FOUR, OF_TYPE)),
    "by pool and type": (pool(), RENAMED, overlay(FOUR, OF_TYPE, one(POOL, "gpu"))),
    "under the same name": (pool(), sliced(), overlay({GPU: "4"}, OF_TYPE)),
    "of a GPU that EC2 does not count": (
        pool("g6f.xlarge"),
        plugin(),
        overlay({GPU: "1"}, one(TYPE, "g6f.xlarge")),
    ),
    "one for each type": (
        pool("g5.xlarge", "g5.12xlarge"),
        RENAMED,
        overlay(FOUR, OF_TYPE),
        overlay({SHARED: "16", GPU: "0"}, one(TYPE, "g5.12xlarge"), name="b"),
    ),
    "the greater weight is right": (
        pool(),
        RENAMED,
        overlay(FOUR, OF_TYPE, weight=20),
        overlay({SHARED: "5"}, OF_TYPE, weight=10, name="b"),
    ),
    "whole GPUs": (pool(), plugin()),
    "whole GPUs of the operator": (pool("p4d.24xlarge"), operator()),
    "another resource": (pool(), plugin(), overlay({"example.com/x": "3"}, OF_TYPE)),
    "no tags": (nodes(labels=PRESENT), sliced()),
    "tags as many": (nodes(labels=PRESENT, promised={GPU: "0", SHARED: "4"}), RENAMED),
    "tags of the least": (
        nodes("g5.xlarge", "g5.12xlarge", labels=PRESENT, promised={GPU: "4"}),
        sliced(),
    ),
    "tags of other things": (
        nodes(labels=PRESENT, promised={"ephemeral-storage": "90Gi"}),
        RENAMED,
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_wrong_promise_is_found(case: str) -> None:
    code, items = BROKEN[case]

    assert codes(*items) == [code]


@pytest.mark.parametrize("case", RIGHT)
def test_a_right_one_is_not(case: str) -> None:
    assert codes(*RIGHT[case]) == []


def test_two_of_equal_weight_do_not_agree() -> None:
    same = (pool(), RENAMED, overlay(FOUR, OF_TYPE), overlay(FOUR, OF_TYPE, name="b"))
    differing = overlay({SHARED: "5"}, OF_TYPE, name="b")

    assert codes(*same) == []
    assert "GPU1143" in codes(pool(), RENAMED, overlay(FOUR, OF_TYPE), differing)
    for unknown in (
        overlay({SHARED: UNKNOWN}, OF_TYPE, name="b"),
        replace(differing, weight=UNKNOWN),
    ):
        assert "GPU1143" not in codes(pool(), RENAMED, overlay(FOUR, OF_TYPE), unknown)
    elsewhere = overlay({SHARED: "5"}, one(TYPE, "g6.xlarge"), name="b")
    assert codes(pool(), RENAMED, overlay(FOUR, OF_TYPE), elsewhere) == []


def test_types_of_a_pool_are_told_once() -> None:
    types = ("g5.xlarge", "g5.2xlarge", "g5.12xlarge")
    (found,) = problems(pool(*types), sliced())
    assert found.message.endswith("more nodes than pods need. 2 more of its types are like that.")
    assert found.fix.endswith(
        '`nvidia.com/gpu: "4"`, and one for g5.2xlarge with "4", g5.12xlarge with "16".'
    )

    (found,) = problems(pool(*types[:2]), RENAMED, overlay({GPU: "0"}, one(POOL, "gpu")))
    assert found.message.endswith("that a g5.xlarge has any. 1 more of its types is like that.")
    assert len(problems(pool(*types), pool(*types, name="b"), sliced())) == 2


def test_overlays_that_require_other_things_may_be_for_one_node() -> None:
    differing = overlay({SHARED: "5"}, one(POOL, "gpu"), name="b")

    assert "GPU1143" in codes(pool(), RENAMED, overlay(FOUR, OF_TYPE), differing)


def test_another_type_is_taken_for_one_without_a_whole_gpu() -> None:
    (found,) = problems(pool("g6f.xlarge", "g5.xlarge"), sliced())
    assert "takes a g5.xlarge" in found.message
    assert "more of its types" not in found.message
    (found,) = problems(pool("g6f.xlarge"), sliced())
    assert "takes a g6f.xlarge to have 0" in found.message
    none = overlay({GPU: "0"}, one(POOL, "gpu"))
    assert codes(pool("g5.xlarge", "g5.2xlarge"), sliced(), none) == ["GPU1140"]


def test_a_message_says_what_karpenter_does_of_it() -> None:
    (more,) = problems(pool(), sliced())
    cut = pool("p4d.24xlarge", user_data='MIG_LAYOUT="0=9:0"')
    found = problems(cut, plugin({"migStrategy": "mixed"}))
    (fewer,) = (each for each in found if "to have 8" in each.message)

    assert more.message.endswith("to have 1: it may launch more nodes than pods need.")
    assert fewer.message.endswith("to have 8: it may launch too few nodes for the pods.")


def test_the_message_names_both_numbers() -> None:
    (found,) = problems(pool(), RENAMED, overlay({SHARED: "10", GPU: "0"}, OF_TYPE))

    assert found.message == (
        "The NodeOverlay shares says that a g5.xlarge has 10 of nvidia.com/gpu.shared; nodes of "
        "the node group gpu advertise 4."
    )
    assert found.path == ("spec", "capacity", SHARED)


def test_fewer_than_there_are_cost_and_do_not_stop() -> None:
    (found,) = problems(pool(), sliced())

    assert (found.rule, found.severity) == (promises.NOT_PROMISED, "warning")


def test_what_is_not_known_is_said() -> None:
    assert codes(pool(), RENAMED, overlay(UNKNOWN, OF_TYPE)) == ["?GPU1140"]
    bandwidth = one("karpenter.k8s.aws/instance-network-bandwidth", "2500")
    assert codes(pool(), RENAMED, overlay(FOUR, bandwidth)) == ["?GPU1140"]
    assert (
        codes(pool(), RENAMED, overlay(FOUR, one("karpenter.k8s.aws/instance-family", "g5"))) == []
    )
    assert codes(nodes(labels=PRESENT, promised=UNKNOWN), sliced()) == ["?GPU1140"]


SMALL = "nvidia.com/mig-1g.5gb"


@pytest.mark.parametrize(
    ("items", "complete", "severity"),
    [
        ((pool(), RENAMED), True, None),
        ((pool(), RENAMED), False, "warning"),  # an overlay may stand in another file
        ((pool(), RENAMED, overlay({GPU: "0"}, OF_TYPE)), False, None),
    ],
)
def test_a_share_that_nothing_tells_of(
    items: tuple[Item, ...],
    complete: bool,
    severity: str | None,
) -> None:
    (found,) = problems(*items, complete=complete, of=[promises.NOT_PROMISED])

    assert found.severity == severity
    assert found.fix == (
        'Add a NodeOverlay for g5.xlarge with the capacity `nvidia.com/gpu.shared: "4"`.'
    )


@pytest.mark.parametrize(
    ("lighter", "heavier", "expected"),
    [
        # Karpenter merges them, resource by resource: what the lighter alone says holds.
        ({SMALL: "7"}, FOUR, [("GPU1140", "The NodeOverlay lighter says that a g5.xlarge has 7")]),
        ({SHARED: "9"}, {GPU: "0"}, [("GPU1140", "The NodeOverlay lighter says that a g5")]),
        ({SHARED: "4"}, {GPU: "0"}, []),
        ({SMALL: "7"}, {SMALL: "0", **FOUR}, []),
    ],
)
def test_what_the_lighter_overlay_says_holds_too(
    lighter: Any, heavier: Any, expected: list[tuple[str, str]]
) -> None:
    overlays = (
        overlay(lighter, OF_TYPE, weight=1, name="lighter"),
        overlay(heavier, OF_TYPE, weight=2, name="heavier"),
    )
    found = said(promises.karpenter, pool(), RENAMED, *overlays)

    assert [(code, text[: len(start)]) for (code, text), (_, start) in zip(
        found, expected, strict=True)] == expected  # fmt: skip


def test_a_weight_that_is_none_is_the_least() -> None:
    wrong = overlay({SHARED: "5"}, OF_TYPE, weight=None, name="b")

    assert codes(pool(), RENAMED, overlay(FOUR, OF_TYPE, weight=1), wrong) == []
    assert "GPU1143" in codes(pool(), RENAMED, overlay(FOUR, OF_TYPE, weight=0), wrong)


def test_values_that_are_no_list_are_not_compared() -> None:
    odd = {"key": TYPE, "operator": "In", "values": True}

    assert "GPU1143" not in codes(
        pool(), RENAMED, overlay(FOUR, OF_TYPE), overlay({SHARED: "5"}, odd, name="b")
    )


def test_gpus_that_are_not_taken_back_are_told_with_what_there_is() -> None:
    (found,) = problems(pool(), RENAMED, overlay({SHARED: "4"}, OF_TYPE))
    nothing = (
        nodes("p4d.24xlarge", provisioner="karpenter", labels={"nvidia.com/mig.config":
            "all-balanced"}),
        operator(),
        overlay({"nvidia.com/mig-2g.10gb": "0"}, one(TYPE, "p4d.24xlarge")),
    )  # fmt: skip
    (stopped,) = problems(*nothing, of=[promises.NOT_TAKEN_BACK])

    assert found.message.endswith("and its nodes have 4 of nvidia.com/gpu.shared only.")
    assert stopped.message.endswith("and its nodes have none only.")


@pytest.mark.parametrize(
    "told",
    [
        (pool(), overlay({SHARED: "10", GPU: "0"}, OF_TYPE)),
        (nodes(labels=PRESENT, promised={SHARED: "10", GPU: "0"}),),
    ],
)
def test_what_is_told_wrong_hurts_whoever_asks(told: tuple[Item, ...]) -> None:
    asking = pods({SHARED: 1})
    (found,) = problems(*told, RENAMED, asking, of=[promises.PROMISE_DIFFERS], complete=False)

    assert found.severity is None


def test_whole_gpus_of_a_pool_are_told_once() -> None:
    types = ("g5.xlarge", "g5.2xlarge", "g5.4xlarge")
    (found,) = problems(pool(*types), RENAMED, overlay({SHARED: "4"}, one(TYPE, *types)))

    assert found.message == (
        "Karpenter takes g5.xlarge of the node group gpu to have 1 of nvidia.com/gpu, and its "
        "nodes have 4 of nvidia.com/gpu.shared only. 2 more of its types are like that."
    )


@pytest.mark.parametrize(
    ("asking", "complete", "severity"),
    [
        ((), False, None),
        ((pods({SHARED: 1}),), False, "info"),
        ((pods({SHARED: 1}),), True, None),
        ((pods({SHARED: 1}), pods({GPU: 1}, name="whole")), False, None),
    ],
)
@pytest.mark.parametrize(
    "told",
    [
        (pool(), overlay({SHARED: "4"}, OF_TYPE)),
        (nodes(labels=PRESENT, promised={SHARED: "4"}),),
    ],
)
def test_whole_gpus_that_no_pod_asks_for_hurt_nobody(
    told: tuple[Item, ...], asking: tuple[Item, ...], complete: bool, severity: str | None
) -> None:
    of = [promises.NOT_TAKEN_BACK]
    (found,) = problems(*told, RENAMED, *asking, of=of, complete=complete)

    assert found.severity == severity


@pytest.mark.parametrize(
    "items",
    [
        (pool(), plugin(), overlay({GPU: "many"}, OF_TYPE)),
        (pool(), plugin(), overlay({"example.com/x": "3"}, OF_TYPE)),
        (nodes(labels=PRESENT), RENAMED),
        (pool(advertised={"g5.xlarge": {SHARED: 4}}), RENAMED),
        (nodes(provisioner="karpenter", labels=UNKNOWN), RENAMED),
    ],
)
def test_karpenter_is_told_enough(items: tuple[Item, ...]) -> None:
    assert said(promises.karpenter, *items) == []


def test_what_tags_do_not_take_back_is_named() -> None:
    group = nodes("g9.xlarge", "g5.12xlarge", labels=PRESENT, promised={SHARED: "16"})
    (found,) = problems(
        nodes("g5.12xlarge", labels=PRESENT, promised={SHARED: "16"}),
        RENAMED,
        of=[promises.NOT_TAKEN_BACK],
    )

    assert found.message == (
        "Cluster Autoscaler takes g5.12xlarge of the node group gpu to have 4 of nvidia.com/gpu, "
        "and its nodes have none by that name."
    )
    assert problems(group, plugin(UNKNOWN), of=[promises.NOT_TAKEN_BACK]) == []
    unheard = nodes("g9.xlarge", labels=PRESENT, promised={SHARED: "16"})
    assert problems(unheard, RENAMED, of=[promises.NOT_TAKEN_BACK]) == []
    some = nodes("g5.12xlarge", labels=PRESENT, promised={SHARED: "16"})
    assert problems(some, sliced(), of=[promises.NOT_TAKEN_BACK]) == []
