"""What the sentences of documentation claim of GPUs, as far as it can be told for certain.

A sentence is taken at its word only where it says a thing outright: numbers that belong together,
and no word that takes it back.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eks_gpushare.catalog import gpu_instance_types
from eks_gpushare.catalog.mig import mig_model, mig_models
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import Source
from eks_gpushare.lint.document import Position
from eks_gpushare.lint.retired import retired_words
from eks_gpushare.lint.rules.claims import (
    COUNT_CLAIM,
    PROFILE_CLAIM,
    RETIRED_TYPE,
    SHARE_CLAIM,
    STRATEGY_NAME,
)
from eks_gpushare.lint.sentences import Sentence, sentences
from eks_gpushare.lint.shell.said import placed_document

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.catalog.instances import InstanceType
    from eks_gpushare.catalog.mig import MigModel
    from eks_gpushare.findings.rule import Rule
    from eks_gpushare.inventory.problem import Judgement

_TIME_SLICING: Final = re.compile(
    r"time[- ]?slic|\breplicas?\b|virtual GPU|\bvGPUs?\b|oversubscri|timeSlicing", re.IGNORECASE
)
_OTHER_WAYS: Final = re.compile(
    r"\bMIG\b|\bMPS\b|multi-instance|multi-process|[0-9]+g\.[0-9]+gb", re.IGNORECASE
)
_TAKEN_BACK: Final = re.compile(
    r"\b(?:not?|none|nor|never|neither|without|cannot|can't|doesn't|don't|isn't|won't|aren't|instead|"
    r"unlike|whereas|rather|myth|wrong|false|no longer|nothing|lacks?|only if)\b",
    re.IGNORECASE,
)
_OF_MEASURE: Final = re.compile(
    r"\b(?:utili[sz]ation|utili[sz]ed|busy|cost|costs|saving|savings|save|cheaper|faster|slower|"
    r"throughput|latency|overhead|discount|threshold|alert|reduc[a-z0-9]+|increas[a-z0-9]+|improv[a-z0-9]+)\b",
    re.IGNORECASE,
)
_PERCENT: Final = re.compile(r"(?<![0-9.])([0-9]{1,2}(?:\.[0-9]+)?)[ ]?(?:%|percent\b|per cent\b)")
_NUMBER: Final = re.compile(
    r"(?<![0-9.%-])([0-9]{1,3})(?![0-9%]|\.[0-9]|[ ]?(?:%|percent|per cent|GB|Gi|MB))"
)
_WORDS: Final = {"two": 2, "three": 3, "four": 4, "five": 5, "eight": 8, "ten": 10, "twenty": 20}
_FRACTION: Final = re.compile(
    r"(?:\b(?:a|one)[ -](?:half|third|quarter|fourth|fifth|eighth|tenth)|\bhalf|"
    r"(?<![0-9/.])1/[0-9]{1,2})"
    r"(?: of)? (?:the |a |its |one |that )?(?:physical |whole |total |single )?"
    r"(?:GPU|compute|memory|VRAM|card|device|SMs?\b)",
    re.IGNORECASE,
)
_MEMORY_EACH: Final = re.compile(
    r"\b(?:each|every|per|a) (?:[a-z0-9]+[ -]){0,2}"
    r"(?:pod|replica|workload|container|user|tenant|slice|virtual GPU|vGPU|share|notebook)s?\b"
    r".{0,30}?\b(?:gets?|has|have|receives?|is guaranteed|"
    r"is allocated|is limited to|is given|owns)\b.{0,20}?\b[0-9]+(?:\.[0-9]+)? ?(?:GB|GiB|G)\b"
    r".{0,20}?(?:memory|VRAM|GPU)",
    re.IGNORECASE,
)
_OUTRIGHT: Final = re.compile(
    r"\b((?:each|every|one|a|per) (?:[a-z0-9]+[ -]){0,2}?"
    r"(?:pod|replica|workload|container|user|tenant|virtual GPU|vGPU|share|notebook|job|"
    r"client))\b(?:(?![.;,]).){0,40}?\b(?:gets?|has|have|owns?|"
    r"is|equals?|receives?|is worth|is given|gives)\b(?:(?![.;,]).){0,25}?"
    r"(?<![0-9.])([0-9]{1,2}(?:\.[0-9]+)? ?(?:%|percent\b|per cent\b)) of (?:the|a|its|one|each) "
    r"(?:[a-z0-9]+ ){0,2}?(?:GPU|card|compute)",
    re.IGNORECASE,
)
"""A sentence that gives somebody a percentage of a GPU, whatever the number of replicas."""
_ALL: Final = re.compile(r"\b(?:up to|all of|entire|full|whole|at most)\b", re.IGNORECASE)
_ISOLATION: Final = re.compile(
    r"time[- ]?slic[a-z0-9]+ (?:[a-z0-9]+ ){0,3}?"
    r"(?:provides?|guarantees?|ensures?|gives?|offers?|enforces?|"
    r"isolates?)\b.{0,40}?(?:memory|fault|isolation|dedicated|guaranteed)",
    re.IGNORECASE,
)
_SCHEDULED: Final = re.compile(r"dedicated (?:GPU )?time", re.IGNORECASE)
_HAS: Final = re.compile(
    r"\b(?:gets?|owns?|has|have|receives?|gives?|equals?|equat[a-z0-9]+|equivalent|guarantee[a-z0-9]*|shares?|"
    r"allocat[a-z0-9]+|means?|worth|each)\b[^.;]*$|=\s*$",
    re.IGNORECASE,
)
_PART_OF: Final = re.compile(
    r"\s*(?:of (?:the |a |an |its |one |each |that )?(?:[a-z0-9]+ ){0,2}?"
    r"(?:GPU|card|compute|resource|"
    r"memory|it\b|device)|allocat|share|slice|for each|each|per\b|GPU)",
    re.IGNORECASE,
)
_NO_MORE: Final = re.compile(
    r",? (?:and |but )?(?:never|no|not|nothing) (?:any )?(?:more|less)\b", re.IGNORECASE
)
_REPLICAS: Final = re.compile(
    r"(?:\b[0-9]{1,3}|\b(?:two|three|four|five|eight|ten|twenty)) (?:[a-z0-9-]+ ){0,2}?"
    r"(?:replicas|virtual GPUs|vGPUs|slices|shares)"
    r"|replicas[`\"']?[:=]? (?:to |is |of )?[0-9]{1,3}",
    re.IGNORECASE,
)
_NEAR: Final = 60
_TOLERANCE: Final = 0.6
_LEAST_REPLICAS: Final = 2


def claims(file: str, text: str, prose: Sequence[tuple[str, int]]) -> Iterator[Judgement]:
    """What is wrong with what documentation says.

    Args:
        file: Name of the file.
        text: All of its text.
        prose: What of it is prose, each part with its first line.
    """
    types = named_types(text)
    boards = _boards(types)
    board = next(iter(boards)) if len(boards) == 1 else None
    retired: set[str] = set()
    for sentence in sentences(prose):
        if (share := share_claim(sentence)) is not None:
            yield _said(file, sentence, SHARE_CLAIM, *share)
        yield from _profiles(file, sentence, board)
        yield from _counts(file, sentence, board, types)
        yield from _retired(file, sentence, retired)
    yield from _strategies(file, text)


def _said(file: str, sentence: Sentence, rule: Rule, message: str, fix: str) -> Problem:
    document = placed_document(file, None, Position(sentence.line, sentence.column), {})
    return Problem(rule, Source("the text", document), (), message, fix)


def share_claim(sentence: Sentence) -> tuple[str, str] | None:  # noqa: PLR0911  (one a claim)
    """What to say of a sentence that takes a replica for a part of a GPU."""
    text = _NO_MORE.sub("", sentence.text)
    if _TAKEN_BACK.search(text) or _OTHER_WAYS.search(text):
        return None
    here = bool(_TIME_SLICING.search(text))
    if not here and not _TIME_SLICING.search(sentence.before):
        return None
    fix = "Say that pods take turns, and that each can use all of the memory and slow the others."
    about_gpus = re.search(
        r"GPU|time[- ]?slic|\bcard\b|NVIDIA|CUDA", f"{text} {sentence.before}", re.IGNORECASE
    )
    if about_gpus and not _OF_MEASURE.search(text):
        counts = [*_numbers(text), *_replicas(sentence.before)]
        for found in _PERCENT.finditer(text):
            part = float(found[1])
            fits = [n for n in counts if abs(100 / n - part) < _TOLERANCE]
            if fits and _is_a_part(text, found.start(), found.end()):
                message = (
                    f"It says that one of {fits[0]} replicas is {found[0]} of a GPU; time slicing "
                    "gives no part of it."
                )
                return message, fix
        if (outright := _OUTRIGHT.search(text)) is not None:
            message = (
                f"It says that {outright[1].lower()} has {outright[2]} of a GPU; time slicing "
                "gives no part of it."
            )
            return message, fix
    if here and (part_of := _FRACTION.search(text)) is not None:
        return f"It says that a replica is {part_of[0]}; time slicing gives no part of it.", fix
    if here and not _ALL.search(text) and _MEMORY_EACH.search(text):
        return "It says how much memory a replica has; time slicing divides no memory.", fix
    if _ISOLATION.search(text) and not _SCHEDULED.search(text):
        return "It says that time slicing isolates or guarantees; it does neither.", fix
    return None


def _is_a_part(text: str, start: int, end: int) -> bool:
    """Whether a percentage is told as what somebody has of a GPU."""
    if text.lstrip().startswith("|"):
        return True  # a table's row says no more than the numbers
    before, behind = text[max(0, start - _NEAR) : start], text[end : end + _NEAR]
    return bool(_HAS.search(before) or _PART_OF.match(behind))


def _replicas(text: str) -> list[int]:
    """Counts of replicas, by whatever name, that stand in what came before."""
    return [n for found in _REPLICAS.finditer(text) for n in _numbers(found[0])]


def _numbers(text: str) -> list[int]:
    """Counts that a sentence names, in digits or words, of two and more."""
    digits = [int(found) for found in _NUMBER.findall(text)]
    words = [n for word, n in _WORDS.items() if re.search(rf"\b{word}\b", text, re.IGNORECASE)]
    return [n for n in (*digits, *words) if n >= _LEAST_REPLICAS]


_TYPE: Final = re.compile(
    r"\b([a-z]{1,3}[0-9][a-z0-9-]{0,8})\.([0-9]{0,3}xl(?:arge)?|metal)\b", re.IGNORECASE
)
_PROFILE: Final = re.compile(
    r"(?<![A-Za-z0-9_.-])([0-9])g\.([0-9]{1,3})gb(?:\+(me(?:\.all)?|gfx))?(?![A-Za-z0-9_+])",
    re.IGNORECASE,
)
_MODELS: Final = re.compile(r"\b(A100|A30|H100|H200|B200|B300|GB200|A10G?|T4|V100|L4|L40S?)\b(?!-)")
_PODS_OF: Final = re.compile(
    r"(?<![0-9.-])([0-9]{1,3}) (?:[a-z0-9]+ ){0,2}?(?:with|of|at|x) (?:a )?([0-9]{1,3}) ?GB\b",
    re.IGNORECASE,
)
_COUNT_OF_PROFILE: Final = re.compile(
    r"(?<![0-9.*/-])([0-9]{1,3})(?:[ ]?[x\u00d7])? +(?:`|\")?"
    r"([0-9])g\.([0-9]{1,3})gb(?![A-Za-z0-9_+])",
    re.IGNORECASE,
)


def named_types(text: str) -> list[InstanceType]:
    """The GPU types that a text names, `p4d.24XL` among them, each once."""
    found: dict[str, InstanceType] = {}
    known = gpu_instance_types()
    for family, size in _TYPE.findall(text):
        full = size.lower() if size.lower().endswith(("large", "metal")) else f"{size.lower()}arge"
        name = f"{family.lower()}.{full}"
        if name in known:
            found[name] = known[name]
    return list(found.values())


def _boards(types: Sequence[InstanceType]) -> dict[MigModel, None]:
    found = (mig_model(each.gpu) for each in types if each.gpu is not None)
    return {each: None for each in found if each is not None}


def _profiles(file: str, sentence: Sentence, board: MigModel | None) -> Iterator[Judgement]:
    text = sentence.text
    if _TAKEN_BACK.search(text):
        return
    named = list(dict.fromkeys(found[0].lower() for found in _PROFILE.finditer(text)))
    if not named:
        return
    gpus = list(dict.fromkeys(_MODELS.findall(text)))
    here = _boards(named_types(text))
    if gpus and not here:
        yield from _of_named_gpus(file, sentence, named, gpus)
        return
    board = next(iter(here)) if len(here) == 1 else board
    if board is None:
        return
    missing = [each for each in named if each not in board.profiles]
    if missing:
        have = ", ".join(board.profiles)
        yield _said(
            file,
            sentence,
            PROFILE_CLAIM,
            f"{', '.join(missing)}: no profile of the {board.name}, which the text is about.",
            f"Name one that it has: {have}.",
        )


def _of_named_gpus(
    file: str, sentence: Sentence, named: Sequence[str], gpus: Sequence[str]
) -> Iterator[Judgement]:
    """Of one profile and the GPUs that it is said to be for."""
    if len(named) != 1:
        return
    (profile,) = named
    for gpu in gpus:
        models = [each for each in mig_models().values() if gpu in each.gpus]
        if any(profile in each.profiles for each in models):
            continue
        have = ", ".join(dict.fromkeys(name for each in models for name in each.profiles))
        yield _said(
            file,
            sentence,
            PROFILE_CLAIM,
            f"{gpu} has no profile {profile}."
            if models
            else f"{gpu} has no MIG, so no profile {profile}.",
            f"Of {gpu}, name one of {have}." if models else f"Leave {gpu} out.",
        )


def _counts(
    file: str, sentence: Sentence, board: MigModel | None, types: Sequence[InstanceType]
) -> Iterator[Judgement]:
    text = sentence.text
    if _TAKEN_BACK.search(text):
        return
    sizes: dict[str, set[int]] = {}
    for count, memory in _PODS_OF.findall(text):
        sizes.setdefault(memory, set()).add(int(count))
    for memory, counts in sizes.items():
        if len(counts) > 1 and re.search(r"slice|MIG|instance|partition", text, re.IGNORECASE):
            listed = " and ".join(str(each) for each in sorted(counts))
            yield _said(
                file,
                sentence,
                COUNT_CLAIM,
                f"It says that there are {listed} of {memory} GB, of the same GPUs.",
                "Name the profile of each number, such as 3g.20gb.",
            )
    here = [each for each in named_types(text) if each.gpu is not None]
    of = [each for each in (here or types) if each.gpu and mig_model(each.gpu) is not None]
    per_node = {each.gpu_count for each in of}
    if board is None or len(per_node) != 1:
        return
    (gpus,) = per_node
    yield from _too_many_pods(file, sentence, board, gpus)
    for count, compute, memory in _COUNT_OF_PROFILE.findall(text):
        found = board.profiles.get(f"{compute}g.{memory}gb")
        if found is None or int(count) <= found.max_count * gpus:
            continue
        if re.search(r"replica|nodes|times|pods? (?:on|across)", text, re.IGNORECASE):
            continue
        yield _said(
            file,
            sentence,
            COUNT_CLAIM,
            f"It says {count} of {found.name}; {gpus} GPUs of {board.name} have "
            f"{found.max_count * gpus} at most.",
            f"Write {found.max_count * gpus}: {found.max_count} on each GPU.",
        )


def _too_many_pods(
    file: str, sentence: Sentence, board: MigModel, gpus: int
) -> Iterator[Judgement]:
    """More pods of a size than the GPUs have MIG devices of it."""
    text = sentence.text
    of_mig = re.search(
        r"\bMIG\b|slice|partition|instance", f"{text} {sentence.before}", re.IGNORECASE
    )
    if not of_mig or _TIME_SLICING.search(text) or re.search(r"nodes|times", text, re.IGNORECASE):
        return
    for count, memory in _PODS_OF.findall(text):
        sized = [each for each in board.profiles.values() if each.memory_gb == int(memory)]
        most = gpus * max(each.max_count for each in sized) if sized else None
        if most is not None and int(count) > most:
            yield _said(
                file,
                sentence,
                COUNT_CLAIM,
                f"It says {count} with {memory} GB; {gpus} GPUs of {board.name} have {most} MIG "
                "devices of that size at most.",
                f"Write {most}: {most // gpus} on each GPU.",
            )


def _retired(file: str, sentence: Sentence, told: set[str]) -> Iterator[Judgement]:
    for each in named_types(sentence.text):
        if each.retired and each.name not in told:
            told.add(each.name)
            yield _said(file, sentence, RETIRED_TYPE, *retired_words(each))


_SINGLE: Final = re.compile(
    r"\bsingle[\s*_`\"']+(?:MIG[\s]+)?strategy|strategy[\s=:`\"']+single\b", re.IGNORECASE
)
_MIXED: Final = re.compile(r"\bmixed\b", re.IGNORECASE)
_MIG_RESOURCE: Final = re.compile(r"nvidia\.com/mig-([0-9]+g\.[0-9]+gb)")
_HEADING: Final = re.compile(r"(#{1,6})[ \t]+(.*)")


def _strategies(file: str, text: str) -> Iterator[Judgement]:
    """Sections headed by the single strategy that show resources of the mixed one."""
    lines = text.splitlines()
    heading: tuple[int, int] | None = None
    in_code = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith(("```", "~~~")):
            in_code = not in_code
        found = _HEADING.match(line)
        if found is not None and not in_code:  # in which # begins a comment
            depth = len(found[1])
            if _SINGLE.search(found[2]) and not _MIXED.search(found[2]):
                heading = (depth, number)
            elif heading is not None and depth <= heading[0]:
                heading = None
            continue
        named = _MIG_RESOURCE.search(line)
        if named is None:
            continue
        inline = _SINGLE.search(line) and not _MIXED.search(line) and not _TAKEN_BACK.search(line)
        if (heading is None or _TAKEN_BACK.search(line)) and not inline:
            continue
        column = named.start() + 1
        sentence = Sentence(line, number, column, "")
        yield _said(
            file,
            sentence,
            STRATEGY_NAME,
            f"{named[0]} stands under the single strategy, with which nodes advertise "
            "nvidia.com/gpu.",
            "Say mixed, or request nvidia.com/gpu.",
        )
        heading = None
