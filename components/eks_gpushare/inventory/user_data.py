"""User data of nodes: its parts, and what they make of the node.

Taken apart as cloud-init does, whose formats are in
https://cloudinit.readthedocs.io/en/latest/explanation/format.html (read in November 2026); nodeadm
of AL2023 takes the parts of type application/node.eks.aws, or a NodeConfig that stands alone
(https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/examples/).
"""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import re
import tomllib
import zlib
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from eks_gpushare.inventory.items import NodeTaint
from eks_gpushare.inventory.source import UNKNOWN, Unknown
from eks_gpushare.inventory.values import PartlyKnown, at, items, pairs, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.source import Maybe

Kind: TypeAlias = Literal[
    "shell", "nodeConfig", "bottlerocket", "cloudConfig", "other", "passedOver"
]

MOST_CHARACTERS: Final = 128 * 1024
"""Longest user data that is looked at; EC2 takes 16 KB."""
_GZIP: Final = b"\x1f\x8b"
_MOST_BYTES: Final = 64 * 1024
"""Of user data once it is unpacked; EC2 takes 16 KB."""
NODE_CONFIG_TYPE: Final = "application/node.eks.aws"

_MIME: Final = re.compile(
    r"\s*(?:MIME-Version|Content-Type|Content-Transfer-Encoding):", re.IGNORECASE
)
_BOUNDARY: Final = re.compile(r"boundary\s*=\s*(?:\"([^\"\n]+)\"|([^\s;]+))", re.IGNORECASE)
_TYPE: Final = re.compile(r"content-type:\s*([^\s;]+)", re.IGNORECASE)
_BASE64: Final = re.compile(r"content-transfer-encoding:\s*base64", re.IGNORECASE)
_SETTINGS: Final = re.compile(r"(?:\[settings\b|settings\.)")
_NODE_CONFIG: Final = re.compile(
    r"^[\"'{ ]*apiVersion[\"']?:\s*[\"']?node\.eks\.aws/", re.MULTILINE
)
_HEREDOC: Final = re.compile(
    r"<<-?[ \t]*[\"']?([A-Za-z_][A-Za-z0-9_]*)[\"']?[^\n]*\n\s*(?:---\s*)?\Z"
)
"""The line of a script whose text goes on below."""
_HEADER: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]*:|[ \t]+\S")
_TYPES: Final[dict[str, Kind]] = {
    NODE_CONFIG_TYPE: "nodeConfig",
    "text/x-shellscript": "shell",
    "text/x-shellscript-per-boot": "shell",
    "text/x-shellscript-per-instance": "shell",
    "text/x-shellscript-per-once": "shell",
    "text/cloud-boothook": "shell",
    "text/cloud-config": "cloudConfig",
    "text/cloud-config-jsonp": "cloudConfig",
}
_OF_NOBODY: Final = re.compile(
    r"application/(?!.*(?:zip|bz|compress|octet|mime))[a-z0-9.+-]+", re.IGNORECASE
)
"""Media types that cloud-init does not know, nor therefore unpack, and nodeadm passes over:
https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/configprovider/mime.go."""
_LABELS: Final = re.compile(r"--node-labels(?:=|[ \t]+)[\"'\\]*([^\s\"'\\]+)")
_TAINTS: Final = re.compile(r"--register-with-taints(?:=|[ \t]+)[\"'\\]*([^\s\"'\\]+)")
_COMMENT: Final = re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE)
_CHOOSES: Final = re.compile(r"(?:^|;)[ \t]*(?:if|case)\b", re.MULTILINE)
_CHOSEN: Final = re.compile(r"(?:^|;)[ \t]*(?:fi|esac)\b", re.MULTILINE)
_CUT: Final = re.compile(r"\$\(|`")
"""What a command within a value begins with, in which a space is not the value's end."""
_JOINS: Final = re.compile(r"/etc/eks/bootstrap\.sh((?:[ \t]|\\\n|[^\s;&|])*)")
"""A call of the script that joins nodes of Amazon Linux 2, with its arguments."""
_WORDS: Final = re.compile(r"(?:\"[^\"]*\"|'[^']*'|\$\{[^{}]*\}|[^\s\"'\\$]|\$)+")
_KUBELET_FLAGS: Final = "--kubelet-extra-args"
_BARE: Final = re.compile(r"(?:^|(?<=[\s\"']))(?:[\"']?)(?:\$|\{\{|`)[^\s]*")
"""Words that are filled in as a whole, which may be any flags."""
_BY_ANOTHER: Final = re.compile(
    r"(?:^|[;&|(])[ \t]*(?:sudo[ \t]+)?(?:bash|sh)[ \t]+(?!-c\b)(?!/etc/eks/)[^\s;&|]"
    r"|\|[ \t]*(?:sudo[ \t]+)?(?:bash|sh)\b|\bcfn-init\b|\bansible-pull\b"
    r"|\bsed[ \t][^\n]*(?:bootstrap\.sh|kubelet)",
    re.MULTILINE,
)
"""Where another script runs, which may join the node, or the one that does is changed."""
_MORE: Final = ""
"""The key, which no label has, of labels that are not seen."""
_FILLED_IN: Final = re.compile(r"\$|\{\{|`|<[A-Za-z]")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OF_BOTTLEROCKET: Final = ("settings", "kubernetes")


class UserDataContent(NamedTuple):
    """One part of user data."""

    kind: Kind
    text: str
    line: int
    """Lines of the user data before it."""
    plain: bool = True
    """Whether its lines stand there as they are, and not in base64."""
    type: str = ""
    """Its media type, of a part that neither cloud-init nor nodeadm reads."""


@dataclass(frozen=True, slots=True)
class KubeletRegistration:
    """What a kubelet registers its node with, as its user data says."""

    labels: Maybe[dict[str, Maybe[str]]] = field(default_factory=dict)
    """Those that are seen; `PartlyKnown` where there may be more."""
    taints: Maybe[tuple[NodeTaint, ...]] = ()


def decoded(given: Any) -> Maybe[str]:
    """User data as the node gets it, of what EC2 is given: base64, and packed where it is.

    What is no base64 is taken as it stands.
    """
    if given is UNKNOWN:
        return Unknown.UNKNOWN
    plain = str(text(given))
    try:
        content = base64.b64decode("".join(plain.split()), validate=True)
    except (binascii.Error, ValueError):
        return plain
    if content.startswith(_GZIP):
        try:
            with gzip.open(io.BytesIO(content)) as packed:
                content = packed.read(_MOST_BYTES)
        except (zlib.error, EOFError, gzip.BadGzipFile):
            return UNKNOWN
    try:
        return content.decode()
    except UnicodeDecodeError:
        return UNKNOWN


def parts(given: str) -> Iterator[UserDataContent]:
    """The parts of user data, that of none as one.

    Args:
        given: User data as the node gets it, decoded.
    """
    if len(given) > MOST_CHARACTERS:
        return
    if _MIME.match(given):
        yield from _of_mime(given)
    else:
        yield from _by_content(given, 0)


def _of_mime(given: str) -> Iterator[UserDataContent]:
    lines = given.splitlines()
    top = next(at for at, line in enumerate(lines) if line.strip())  # as a template leaves it
    head, begin = _head(lines, top)
    found = _BOUNDARY.search(head)
    if found is None:
        yield from _part(head, lines[begin:], begin)
        return
    mark = f"--{found[1] or found[2]}"
    starts = [at for at, line in enumerate(lines) if at >= begin and line.rstrip() == mark]
    last = next((at for at, line in enumerate(lines) if line.rstrip() == f"{mark}--"), len(lines))
    for start, end in pairwise([*starts, last]):
        inner, first = _head(lines, start + 1)
        yield from _part(inner, lines[first:end], first)


def _head(lines: list[str], start: int) -> tuple[str, int]:
    """The header lines from one on, and the line at which the content begins."""
    end = start
    while end < len(lines) and lines[end].strip() and _HEADER.match(lines[end]):
        end += 1
    blank = end < len(lines) and not lines[end].strip()
    return "\n".join(lines[start:end]), end + blank


def _part(head: str, lines: list[str], line: int) -> Iterator[UserDataContent]:
    content = "\n".join([*lines, ""])
    plain = _BASE64.search(head) is None
    if not plain:
        try:
            content = base64.b64decode(f"{content}==").decode()  # as leniently as the library
        except ValueError:
            return
    stated = _TYPE.search(head)
    kind = _TYPES.get(stated[1].lower()) if stated else None
    if kind is not None:
        yield UserDataContent(kind, content, line, plain)
    elif stated and _OF_NOBODY.fullmatch(stated[1]):
        yield UserDataContent("passedOver", content, line, plain, stated[1])
    else:
        yield from (part._replace(plain=plain) for part in _by_content(content, line))


def _by_content(given: str, line: int) -> Iterator[UserDataContent]:
    """Of a text without a type, by how it begins; a NodeConfig may follow on commands."""
    first = next(
        (
            written
            for written in given.splitlines()
            if written.strip() and not written.startswith("#")
        ),
        "",
    )
    if given.lstrip().startswith("#cloud-config"):
        yield UserDataContent("cloudConfig", given, line)
    elif _SETTINGS.match(first.lstrip()):
        yield UserDataContent("bottlerocket", given, line)
    elif (found := _NODE_CONFIG.search(given)) is not None:
        before = given[: found.start()]
        if before.strip(" \t\r\n-"):
            yield UserDataContent("shell", before, line)
        config, below = _until_end(before, given[found.start() :])
        yield UserDataContent("nodeConfig", config, line + before.count("\n"))
        if below.strip():
            lines = before.count("\n") + config.count("\n")
            yield UserDataContent("shell", below, line + lines)
    elif given.strip():
        yield UserDataContent("shell" if given.lstrip().startswith("#!") else "other", given, line)


def _until_end(before: str, rest: str) -> tuple[str, str]:
    """A NodeConfig that a script writes to a file, and the commands after it.

    Args:
        before: The script up to it.
        rest: It, with all that follows.
    """
    opened = _HEREDOC.search(before)
    if opened is None:
        return rest, ""
    end = re.search(rf"^\t*{opened[1]}[ \t]*$", rest, re.MULTILINE)
    return (rest, "") if end is None else (rest[: end.start()], rest[end.end() :])


def scripts(given: str) -> str:
    """What of user data is run by a shell, without lines that are comments."""
    found = []
    for part in parts(given):
        if part.kind in ("shell", "other"):
            found.append(part.text)
        elif part.kind == "cloudConfig":
            read = _yaml(part.text)
            for key in ("bootcmd", "runcmd"):
                for item in items(at(read, key)):
                    words = items(item)
                    found.append(" ".join(map(str, words)) if words else str(text(item)))
    return _COMMENT.sub("", "\n".join(found))


def registered(given: Maybe[str]) -> KubeletRegistration:
    """The labels and taints that user data gives a node beside those that its pool has."""
    if given is UNKNOWN:
        return KubeletRegistration()
    labels: dict[str, Maybe[str]] = {}
    taints: dict[NodeTaint, None] = {}
    for part in parts(given):
        if part.kind == "nodeConfig":
            config = _yaml(part.text)
            flags = "\n".join(str(text(flag)) for _, flag in kubelet_flags(config))
            _of_flags(flags, labels, taints)
            for item in items(at(config, *REGISTER)):
                key, value, effect = (str(text(at(item, name))) for name in NodeTaint._fields)
                if key and effect in _EFFECTS:
                    taints[NodeTaint(key, value, effect)] = None
        elif part.kind == "bottlerocket":
            _of_settings(part.text, labels, taints)
        elif part.kind != "passedOver":
            of_cloud = part.kind == "cloudConfig"
            said = _of_cloud_config(part.text) if of_cloud else _COMMENT.sub("", part.text)
            _of_flags(said, labels, taints)
            if _BY_ANOTHER.search(said) or any(map(_takes_more, _JOINS.findall(said))):
                labels[_MORE] = UNKNOWN
    more = labels.pop(_MORE, None)
    return KubeletRegistration(PartlyKnown(labels) if more else labels, tuple(taints))


def _of_cloud_config(given: str) -> str:
    """The commands of it, and the files that it writes."""
    files = (str(text(at(each, "content"))) for each in items(at(_yaml(given), "write_files")))
    return "\n".join((scripts(given), *files))


REGISTER: Final = ("spec", "kubelet", "config", "registerWithTaints")
"""Where a NodeConfig has taints by themselves."""
FLAGS: Final = ("spec", "kubelet", "flags")


def kubelet_flags(config: Any) -> list[tuple[FieldPath, Any]]:
    """The flags of a NodeConfig, each with its place."""
    return [((*FLAGS, number), flag) for number, flag in enumerate(items(at(config, *FLAGS)))]


def joins(given: Maybe[str]) -> bool:
    """Whether nodes with some user data join a cluster, as far as it tells."""
    return given is not UNKNOWN and any(
        part.kind in ("nodeConfig", "bottlerocket") or _JOINS.search(_COMMENT.sub("", part.text))
        for part in parts(given)
    )


def _takes_more(words: str) -> bool:
    """Whether arguments of bootstrap.sh are, or hold, some that are filled in.

    Beside the cluster's name, and values of flags but the kubelet's.
    """
    flag, named = "", False
    for word in _WORDS.findall(words):
        if word.startswith("--"):
            flag = word.partition("=")[0]
            bare = word.partition("=")[2]
        else:
            bare = word
        of_kubelet = flag == _KUBELET_FLAGS and _BARE.search(bare)
        if of_kubelet or (not flag and named and _BARE.fullmatch(bare)):
            return True
        named = named or not flag
        flag = flag if word.startswith("--") and "=" not in word else ""
    return False


def flag_labels(flag: str) -> dict[str, Maybe[str]]:
    """The labels that a kubelet's flag or command line has."""
    found: dict[str, Maybe[str]] = {}
    _of_flags(flag, found, {})
    found.pop(_MORE, None)
    return found


def _of_flags(given: str, labels: dict[str, Maybe[str]], taints: dict[NodeTaint, None]) -> None:
    for found in _LABELS.finditer(given):
        for pair in found[1].split(","):
            key, joined, value = pair.partition("=")
            if joined and _FILLED_IN.search(key):
                continue  # of one label it is not known which it is
            if _FILLED_IN.search(key) or _CUT.search(value) or _is_in_arm(given, found.start()):
                labels[_MORE] = UNKNOWN
            elif joined:
                labels[key] = UNKNOWN if _FILLED_IN.search(value) else value
    for found in _TAINTS.finditer(given):
        for each in found[1].split(","):
            taint = NodeTaint.parse(each)
            is_certain = not _FILLED_IN.search(each) and not _is_in_arm(given, found.start())
            if taint.key and taint.effect in _EFFECTS and is_certain:
                taints[taint] = None


def _is_in_arm(given: str, place: int) -> bool:
    """Whether a place of a script is within a choice, so that it may not be come to."""
    before = given[:place]
    return len(_CHOOSES.findall(before)) > len(_CHOSEN.findall(before))


def _of_settings(given: str, labels: dict[str, Maybe[str]], taints: dict[NodeTaint, None]) -> None:
    try:
        found = at(tomllib.loads(given), *_OF_BOTTLEROCKET)
    except (tomllib.TOMLDecodeError, RecursionError):
        if _FILLED_IN.search(given):
            labels[_MORE] = UNKNOWN
        return
    for key, pair in pairs(at(found, "node-labels")):
        value = str(text(pair))
        labels[key] = UNKNOWN if _FILLED_IN.search(value) else value
    for key, pair in pairs(at(found, "node-taints")):
        for short in items(pair) or [pair]:
            value, _, effect = str(text(short)).rpartition(":")
            if effect in _EFFECTS:
                taints[NodeTaint(key, value, effect)] = None


def _yaml(given: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(given)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
