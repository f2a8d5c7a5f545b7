"""What is said of claims in documentation, and claims that are nearly the same and right."""

from __future__ import annotations

import pytest
from foreign_reading import placed, problems, read_text_with

from eks_gpushare.lint.readers.markdown import MarkdownReader
from eks_gpushare.lint.sentences import Sentence, sentences

DOCUMENTATION = MarkdownReader()
NO_PART = "time slicing gives no part of it."
OF_MIG = "A p4d.24xlarge has MIG slices"
SINGLE = "nvidia.com/mig-1g.5gb stands under the single strategy, with which nodes advertise "


def told(text: str) -> list[str]:
    return [each.message for each in problems(read_text_with(DOCUMENTATION, text))]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "Time slicing with `replicas: 3` gives each pod 33% of the GPU.",
            f"It says that one of 3 replicas is 33% of a GPU; {NO_PART}",
        ),
        (
            "Time slicing with `replicas: 3` gives each pod 33.9% of the GPU.",
            f"It says that one of 3 replicas is 33.9% of a GPU; {NO_PART}",
        ),
        (
            "10% of it is what each pod gets with 10 replicas of time slicing on a GPU.",
            f"It says that one of 10 replicas is 10% of a GPU; {NO_PART}",
        ),
        (
            "With time slicing two pods run, and 50% of a GPU is for each.",
            f"It says that one of 2 replicas is 50% of a GPU; {NO_PART}",
        ),
        (
            "Has 10% with 10 replicas of time slicing on GPUs.",
            f"It says that one of 10 replicas is 10% of a GPU; {NO_PART}",
        ),
        (
            "With time slicing and 100 replicas each pod gets 0.4% of the GPU.",
            f"It says that each pod has 0.4% of a GPU; {NO_PART}",
        ),
        (
            "We run p4d.24xlarge and p5.48xlarge.\n\nOn a p4d.24xlarge you get 9g.20gb.",
            "9g.20gb: no profile of the A100-40GB, which the text is about.",
        ),
        (
            "With time slicing every pod gets 30% of the GPU.",
            f"It says that every pod has 30% of a GPU; {NO_PART}",
        ),
        (
            "On a p4d.24xlarge you get 4g.40gb slices.",
            "4g.40gb: no profile of the A100-40GB, which the text is about.",
        ),
        ("On an H100, pick 3g.20gb.", "H100 has no profile 3g.20gb."),
        ("The T4 is cut by 1g.5gb.", "T4 has no MIG, so no profile 1g.5gb."),
        (
            "A p4d.24xlarge can be cut into 57 1g.5gb devices.",
            "It says 57 of 1g.5gb; 8 GPUs of A100-40GB have 56 at most.",
        ),
        (
            f"{OF_MIG}: 57 pods with 5GB.",
            "It says 57 with 5 GB; 8 GPUs of A100-40GB have 56 MIG devices of that size at most.",
        ),
        (
            "Nodes are p4d.24xlarge.\n\nWith MIG slices: 57 pods with 5GB.",
            "It says 57 with 5 GB; 8 GPUs of A100-40GB have 56 MIG devices of that size at most.",
        ),
        (
            "We run p4d.24xlarge and g5.xlarge.\n\nWith MIG slices: 57 pods with 5GB.",
            "It says 57 with 5 GB; 8 GPUs of A100-40GB have 56 MIG devices of that size at most.",
        ),
    ],
)
def test_a_claim_is_told_in_its_numbers(text: str, message: str) -> None:
    assert told(text) == [message]


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("On an H100, pick 3g.20gb.", "Of H100, name one of 1g.10gb, "),
        ("The T4 is cut by 1g.5gb.", "Leave T4 out."),
    ],
)
def test_what_to_write_in_its_place(text: str, fix: str) -> None:
    (found,) = problems(read_text_with(DOCUMENTATION, text))

    assert found.fix.startswith(fix)


@pytest.mark.parametrize(
    "text",
    [
        "Time slicing with `replicas: 3` gives each pod 34% of the GPU.",
        "Time slicing with `replicas: 4` gives each pod 26% of the GPU.",
        "Time slicing: 10% of the pods wait with 10 replicas of the GPU in the whole of the fleet.",
        "Time slicing makes nodes 25% busy; 4 replicas of a web server are 25% of its load.",
        "Time slicing with 4 replicas gives each pod 25% of the throughput of the GPU.",
        "A p4d.24xlarge can be cut into 56 1g.5gb devices.",
        f"{OF_MIG}: 56 pods with 5GB.",
        f"{OF_MIG}: 57 pods with 6GB.",
        f"{OF_MIG} and time slicing: 57 pods with 5GB.",
        "Two p4d.24xlarge nodes have MIG slices: 57 pods with 5GB.",
        "A p4d.24xlarge runs 57 pods with 5GB.",
        "On p4d.24xlarge and p5.48xlarge pick 9g.20gb.",
        "We run p4d.24xlarge and p4de.24xlarge.\n\n64 1g.5gb devices.",
        "We run p4d.24xlarge.\n\nA g5.xlarge has MIG slices: 57 pods with 5GB.",
        "Set the profiles 1g.5gb and 9g.5gb for H100 GPUs.",
        "24 pods with 10GB and 24 pods with 10GB of slices.",
        "24 pods with 10GB and 16 pods with 10GB.",
    ],
)
def test_what_may_be_meant_otherwise_passes(text: str) -> None:
    assert told(text) == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("## The single strategy\n\n`nvidia.com/mig-1g.5gb: 56`\n", (3, 2)),
        (
            (
                "x\n\n## Single strategy\n\n```\n# mixed\n  nvidia.com/mig-1g.5gb: 56\n```\n"
                "nvidia.com/mig-1g.5gb\n"
            ),
            (7, 3),
        ),
        ("## Single strategy\n\n### Sub\n\nnvidia.com/mig-1g.5gb\n", (5, 1)),
        ("With the single strategy: nvidia.com/mig-1g.5gb\n", (1, 27)),
    ],
)
def test_a_name_of_the_mixed_strategy_under_the_single(text: str, place: tuple[int, int]) -> None:
    (found,) = problems(read_text_with(DOCUMENTATION, text))

    assert placed(found) == place
    assert found.message == f"{SINGLE}nvidia.com/gpu."


@pytest.mark.parametrize(
    "text",
    [
        "### Single strategy\n\n## Other\n\nnvidia.com/mig-1g.5gb\n",
        "## Single strategy\n\n## Other\n\nnvidia.com/mig-1g.5gb\n",
        "## The single strategy, not mixed\n\nnvidia.com/mig-1g.5gb\n",
        "```\n# single strategy\n```\nnvidia.com/mig-1g.5gb\n",
        "With the single strategy or mixed: nvidia.com/mig-1g.5gb\n",
        "## Single strategy\n\nThere is no nvidia.com/mig-1g.5gb\n",
    ],
)
def test_a_name_that_does_not_stand_under_it(text: str) -> None:
    assert told(text) == []


def test_a_retired_type_is_told_of_once() -> None:
    found = told("Use p3.2xlarge or p3.8xlarge.\n\nOr p3.2xlarge again.")

    assert found == [
        "EC2 offers p3.2xlarge in no region any more.",
        "EC2 offers p3.8xlarge in no region any more.",
    ]


def test_sentences_have_their_places() -> None:
    text = (
        "# Head\nOne goes. Two\ngoes on!  (Three.)\n\n- item\n  more of it\n- next\n"
        "| a | b |\nlast. 4 stands alone\n"
    )
    found = list(sentences([(text, 3)]))

    assert [each[:3] for each in found] == [
        ("# Head", 3, 1),
        ("One goes.", 4, 1),
        ("Two goes on!", 4, 11),
        ("(Three.)", 5, 11),
        ("- item more of it", 7, 1),
        ("- next", 9, 1),
        ("| a | b |", 10, 1),
        ("last.", 11, 1),
        ("4 stands alone", 11, 7),
    ]
    assert found[0].before == ""
    assert found[2].before == "# Head One goes."
    assert found[5].before == "One goes. Two goes on! (Three.) - item more of it"
    assert isinstance(found[0], Sentence)


def test_what_is_longer_than_any_sentence_is_none() -> None:
    assert [len(each.text) for each in sentences([("a" * 2000, 1)])] == [2000]
    assert list(sentences([("a" * 2001, 1)])) == []
