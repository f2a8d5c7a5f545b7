"""Node groups that command lines of eksctl, eksdemo and the AWS CLI make."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import OTHER_NODES, NodeSet, NodeTaint, Pointer
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.launch_templates import OF_OTHERS, with_template
from eks_gpushare.lint.shell.flags import sorted_words
from eks_gpushare.lint.shell.kubectl import bad_taint
from eks_gpushare.manifests.placeholders import GAP
from eks_gpushare.manifests.plain import EFFECTS, taints, whole
from eks_gpushare.manifests.retired import retired
from eks_gpushare.manifests.rules.eksctl import DEFAULT_FAMILY
from eks_gpushare.manifests.shell.command import Word, known

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eks_gpushare.findings.finding import FieldPath, Position
    from eks_gpushare.inventory.source import Maybe
    from eks_gpushare.lint.shell.flags import Line
    from eks_gpushare.manifests.shell.said import Said

_SWITCHES: Final = frozenset(
    (
        *("managed", "spot", "node-private-networking", "ssh-access", "asg-access", "dry-run"),
        *("without-nodegroup", "fargate", "full-ecr-access", "with-oidc", "efa-enabled"),
        "auto-kubeconfig",
        *("external-dns-access", "alb-ingress-access", "enable-auto-mode", "install-nvidia-plugin"),
    )
)  # fmt: skip
_SHORT: Final = {
    "t": "node-type", "N": "nodes", "m": "nodes-min", "M": "nodes-max", "n": "name",
    "r": "region", "f": "config-file", "P": "node-private-networking",
}  # fmt: skip
_REMOVES: Final = "removeTaints="
_KEY: Final = re.compile(r"key=([^,}\]]+)")
_VERB: Final = re.compile(r"^addOrUpdateLabels=|,?removeLabels=.*$")
_SHORT_EKSDEMO: Final = {"i": "instance", "N": "nodes", "c": "cluster", "r": "region"}


def node_group(words: Sequence[Word], said: Said) -> None:
    """Take the node group that a command makes."""
    tool = words[0].text.rpartition("/")[2]
    if tool == "eksctl":
        _eksctl(sorted_words(words[1:], _SWITCHES, _SHORT), words[0].position, said)
    elif tool == "eksdemo":
        _eksdemo(sorted_words(words[1:], frozenset(), _SHORT_EKSDEMO), words[0].position, said)
    else:
        _aws(words, said)


def _eksctl(line: Line, at: Position, said: Said) -> None:
    plain = [word.text for word in line.plain]
    if plain[:2] == ["set", "labels"]:
        given = line.last("labels")
        _label(line.last("nodegroup"), [] if given is None else [given], at, said)
    if plain[:2] not in (["create", "nodegroup"], ["create", "cluster"], ["create", "ng"]):
        return
    types = line.last("instance-types") or line.last("node-type")
    if line.has("config-file") or (plain[1] == "cluster" and types is None):
        return
    name = line.last("nodegroup-name") or (line.last("name") if plain[1] != "cluster" else None)
    places: dict[FieldPath, Position] = {}
    if types is not None:
        places["instanceTypes",] = types.position
    given = line.last("node-taints")
    if given is not None:
        places["taints",] = given.position
    called: Maybe[str] = UNKNOWN if name is None else name.value
    source = said.source(_called(called), at, places)
    managed = line.last("managed")
    family = line.last("node-ami-family")
    _take(
        NodeSet(
            source=source,
            name=called,
            provisioner="selfManaged"
            if managed is not None and managed.text == "false"
            else "managed",
            instance_types=_types(types),
            labels=_labels(line.last("node-labels")),
            taints=_short_taints(given, source, said),
            ami=DEFAULT_FAMILY if family is None else family.value,
            least=_number(line.last("nodes-min") or line.last("nodes")),
            most=_number(line.last("nodes-max") or line.last("nodes")),
        ),
        said,
    )


def _eksdemo(line: Line, at: Position, said: Said) -> None:
    plain = list(line.plain)
    if [word.text for word in plain[:2]] not in (["create", "nodegroup"], ["create", "cluster"]):
        return
    types = line.last("instance")
    cluster = plain[1].text == "cluster"
    if cluster and types is None:
        return
    name: Maybe[str] = plain[2].value if len(plain) > 2 and not cluster else UNKNOWN  # noqa: PLR2004
    places: dict[FieldPath, Position] = {}
    if types is not None:
        places["instanceTypes",] = types.position
    _take(
        NodeSet(
            source=said.source(_called(name), at, places),
            name=name,
            provisioner="managed",
            instance_types=_types(types),
            ami=UNKNOWN,  # eksdemo chooses
            least=_number(line.last("nodes")),
            most=_number(line.last("nodes")),
        ),
        said,
    )


def _aws(words: Sequence[Word], said: Said) -> None:
    """`aws eks create-nodegroup`, whose lists are words that follow their flag."""
    at = words[0].position
    asked = [word.text for word in words[1:3]]
    if asked not in (["eks", "create-nodegroup"], ["eks", "update-nodegroup-config"]):
        return
    flags: dict[str, list[Word]] = {}
    current: list[Word] = []
    for word in words[3:]:
        if word.text.startswith("--"):
            flag, joined, value = word.text.lstrip("-").partition("=")
            current = flags.setdefault(flag, [])
            current += [Word(value, word.position)] if joined else []
        else:
            current.append(word)
    named = flags.get("nodegroup-name", ())
    if asked[1] != "create-nodegroup":
        _label(next(iter(named), None), flags.get("labels", ()), at, said)
        for word in flags.get("taints", ()):
            said.removed.update(_KEY.findall(word.text.partition(_REMOVES)[2]))
        return
    name: Maybe[str] = next((flag.value for flag in named), UNKNOWN)
    if name is UNKNOWN and any(flag.startswith("cli-input-") for flag in flags):
        # A file says the rest.
        told = said.source(_called(name), at, {})
        said.items.append(Pointer(source=told, kind=OTHER_NODES, name=""))
        return
    types = flags.get("instance-types", [])
    places: dict[FieldPath, Position] = {}
    if types:
        places["instanceTypes",] = types[0].position
    sizes = _pairs(flags.get("scaling-config", ()))
    given = [_pairs([taint]) for taint in flags.get("taints", ())]
    listed = tuple(instance_type for word in types for instance_type in word.text.split(","))
    unknown = any(GAP in instance_type for instance_type in listed)
    ami = flags.get("ami-type", ())
    nodes = NodeSet(
        source=said.source(_called(name), at, places),
        name=name,
        provisioner="managed",
        instance_types=UNKNOWN if unknown else listed,
        labels=_pairs(flags.get("labels", ())),
        taints=taints(given),
        ami=ami[0].value if ami else "",
        least=whole(sizes.get("minSize")),
        most=whole(sizes.get("maxSize")),
    )
    if "launch-template" in flags:  # which is in the account
        nodes = with_template(nodes, OF_OTHERS)
    _take(nodes, said)


def _label(name: Word | None, given: Iterable[Word], at: Position, said: Said) -> None:
    """Labels that a node group gets later: by eksctl as they are, by the AWS CLI with a verb."""
    words = [Word(_VERB.sub("", word.text).strip("{}"), word.position) for word in given]
    called: Maybe[str] = UNKNOWN if name is None else name.value
    source = said.source(_called(called), at, {})
    labels = _pairs(words)
    if labels:
        said.items.append(NodeSet(source=source, name=called, provisioner="byHand", labels=labels))


def _take(nodes: NodeSet, said: Said) -> None:
    said.items.append(nodes)
    said.judgements += retired(nodes, ("instanceTypes",))


def _pairs(words: Sequence[Word]) -> dict[str, Any]:
    pairs = (label.partition("=") for word in words for label in word.text.split(","))
    return {key: known(value) for key, joined, value in pairs if joined and GAP not in key}


def _types(word: Word | None) -> Maybe[tuple[str, ...]]:
    if word is None:
        return ()
    return UNKNOWN if GAP in word.text else tuple(word.text.split(","))


def _labels(word: Word | None) -> Maybe[dict[str, Any]]:
    if word is None:
        return {}
    return UNKNOWN if word.text.strip(GAP) == "" else _pairs([word])


def _short_taints(word: Word | None, source: Any, said: Said) -> Maybe[tuple[NodeTaint, ...]]:
    """Taints of eksctl's `--node-taints`: KEY=VALUE:EFFECT, parted by commas."""
    if word is None:
        return ()
    if GAP in word.text:
        return UNKNOWN
    found = []
    for each in word.text.split(","):
        taint = NodeTaint.parse(each)
        if not taint.key or taint.effect not in EFFECTS:
            said.judgements.append(bad_taint(source, ("taints",), each))
            continue
        found.append(taint)
    return tuple(found)


def _number(word: Word | None) -> Maybe[int | None]:
    return None if word is None else whole(word.value)


def _called(name: Maybe[str]) -> str:
    return "the node group" if name is UNKNOWN else f"the node group {name}"
