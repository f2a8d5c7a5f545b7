"""Credentials that stand in a stack file as plain text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from eks_gpushare.findings.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath, Finding

CREDENTIALS = Rule(
    "GPU463",
    "warning",
    "A stack file holds no credentials in plain text.",
    "It is committed, and whoever reads the repository or the state can use them.",
    "https://www.pulumi.com/docs/iac/concepts/secrets/",
)

_ASSIGNED = (
    r"(?i)(?<![A-Za-z0-9_-])[A-Za-z0-9_-]*(?:password|passwd|passphrase|secret[_-]?access[_-]?key|api[_-]?key"
    r"|secret[_-]?key|token)['\"]?\s*(?:=|:\s)\s*['\"]?[^\s'\"$`<{([%,;|&/]{6,200}(?:['\"\s;]|$)"
)
"""A line of a script or a document that gives a value to such a name."""
_FORMS = (
    (
        "a private key",
        ("private key",),
        r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----",
    ),
    (
        "an AWS access key",
        ("akia", "asia", "abia", "acca"),
        r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    ),
    (
        "a token of GitHub",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
    ),
    (
        "a token of GitLab",
        ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-"),
        r"\bgl(?:pat|dt|rt|cbt|ptt)-[A-Za-z0-9_-]{20,}",
    ),
    (
        "a token of Slack",
        ("xox", "hooks.slack.com"),
        r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/T[A-Za-z0-9_]+/B[A-Za-z0-9_]+/",
    ),
    ("a token of Hugging Face", ("hf_",), r"\bhf_[A-Za-z0-9]{20,}"),
    ("a key of NVIDIA NGC", ("nvapi-",), r"\bnvapi-[A-Za-z0-9_-]{20,}"),
    ("an access token of Pulumi", ("pul-",), r"\bpul-[0-9a-f]{40}\b"),
    (
        "a JSON web token",
        (".eyj",),
        r"\beyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,}",
    ),
    (
        "an API key",
        ("sk-", "aiza"),
        r"\b(?:sk-(?:ant-|proj-)?[A-Za-z0-9_-]{20,}|AIza[A-Za-z0-9_-]{35})",
    ),
    (
        "an API key",
        ("k_live_", "sg."),
        r"\b(?:[sr]k_live_[A-Za-z0-9]{16,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})",
    ),
    (
        "a token of a package index",
        ("npm_", "pypi-"),
        r"\b(?:npm_[A-Za-z0-9]{36}|pypi-AgEI[A-Za-z0-9_-]{20,})",
    ),
    ("a token of a registry", ("dckr_",), r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    ("a token of Databricks", ("dapi",), r"\bdapi[0-9a-f]{32}\b"),
    ("a login of a registry", ('"auth"',), r'"auth"\s*:\s*"[A-Za-z0-9+/]{8,}={0,2}"'),
    (
        "a password in an address",
        ("://",),
        r"\b[a-z][a-z0-9+.-]{0,20}://[^/\s:@'\"$<{]*:[^/\s@'\"$<{]+@",
    ),
    (
        "an authorization",
        ("authorization",),
        r"(?i)\bauthorization['\"]?\s*[:=]\s*['\"]?(?:bearer|basic)\s+[A-Za-z0-9_.+/=-]{8,}",
    ),
    ("a password or token", ("passw", "passphrase", "key", "token"), _ASSIGNED),
)
"""What credentials look like wherever they stand in a text, and what of them is quick to look for,
in lower case: to compile every pattern for every file would take longer than to read the file."""
_ENDS = (
    *(("password",), ("passwd",), ("pwd",), ("passphrase",), ("token",), ("credentials",)),
    *(("api", "key"), ("apikey",), ("secret", "key"), ("access", "key"), ("private", "key")),
    *(("client", "secret"), ("secret", "access", "key"), ("auth", "key"), ("account", "key")),
)
"""What the names of keys with credentials end with, by their words."""
_NAMES_ONLY = {"existing", "pull", "name", "ref", "from", "file", "path", "use", "enable", "mount"}
"""Words that make of such a key one for the name or place of a credential."""
_PASSWORDS = ("password", "passwd", "pwd", "passphrase")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ELSEWHERE = re.compile(
    r"(\$|\{\{|<|/|arn:|ref\+|vault:|ssm:|secretsmanager:|file:|\*+$|x{3,}$)", re.IGNORECASE
)
"""How values begin that say where a credential is."""
_LONGEST = 1 << 16
_CHOSEN = ("labels", "taints", "encryptionsalt", "encryptedkey")
"""Blocks whose keys say nothing about their values."""


def credentials(value: Any, at: FieldPath = (), *, environment: bool) -> Iterator[Finding]:
    """A warning for each place with something that looks like a credential, without it.

    Args:
        value: Plain data; what Pulumi has encrypted, `{secure: ...}`, is left aside.
        at: Its place.
        environment: Whether it is in the environment, which takes no encrypted values either.
    """
    seen: set[int] = set()  # an alias of YAML has one value in several places
    waiting: list[tuple[FieldPath, str, Any]] = [(at, str(at[-1]) if at else "", value)]
    while waiting:
        place, key, here = waiting.pop()
        if isinstance(here, dict | list):
            if id(here) in seen or (isinstance(here, dict) and set(here) == {"secure"}):
                continue
            seen.add(id(here))
            waiting += reversed([*_inside(place, key, here)])
        elif (kind := _kind(place, key, here)) is not None:
            yield _finding(place, kind, environment=environment)


def _inside(
    at: FieldPath, key: str, value: dict[Any, Any] | list[Any]
) -> Iterator[tuple[FieldPath, str, Any]]:
    """What is in a block, with the key that says what it is."""
    if isinstance(value, list):
        yield from (((*at, index), key, entry) for index, entry in enumerate(value))
        return
    name = value.get("name")
    for inner, item in value.items():
        # An environment variable: {name: DB_PASSWORD, value: ...}.
        called = name if inner == "value" and isinstance(name, str) else str(inner)
        yield (*at, str(inner)), called, item


def _kind(at: FieldPath, key: str, value: Any) -> str | None:
    """What kind of credential a value looks like; None if it does not."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = str(value)[:_LONGEST]
    if isinstance(value, str):
        folded = text.casefold()
        for kind, hints, pattern in _FORMS:
            if any(hint in folded for hint in hints) and re.search(pattern, text):
                # The address of a chart repository has a finding of its own.
                own = kind == "a password in an address" and at[-1:] == ("repository",)
                return None if own else kind
    if any(part in _CHOSEN for part in at) or not _names_credential(key):
        return None
    if isinstance(value, int) and not key.casefold().endswith(_PASSWORDS):  # maxToken: 4096
        return None
    plain = (
        text.strip() and not _ELSEWHERE.match(text.strip()) and not re.search(r"\s", text.strip())
    )
    return "a password or token" if plain and text.casefold() not in {"true", "false"} else None


def _names_credential(key: str) -> bool:
    words = [word.casefold() for word in _WORD.findall(key.rpartition(":")[2])]
    ends = any(tuple(words[-len(end) :]) == end for end in _ENDS)
    return ends and not _NAMES_ONLY & {*words}


def _finding(at: FieldPath, kind: str, *, environment: bool) -> Finding:
    fix = (
        "Keep it in a Secret of the cluster or in AWS Secrets Manager, and name that here: the "
        "environment takes no encrypted values."
        if environment
        else "Set it with `pulumi config set --secret`, or better let Pulumi take it from the "
        "environment that it runs in."
    )
    return CREDENTIALS.finding(at, f"This looks like {kind}.", f"{fix} Then make a new one.")
