"""References to container images, as container runtimes read them.

The grammar is that of https://github.com/distribution/reference, reference.go and regexp.go.
"""

from __future__ import annotations

import re

_DOMAIN = re.compile(
    r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
    r"(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*(?::[0-9]+)?"
    r"|\[[a-fA-F0-9:]+\](?::[0-9]+)?"
)
_PART = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_LONGEST = 255
"""`RepositoryNameTotalLengthMax` (https://github.com/distribution/reference/blob/main/reference.go)."""


def repository_fault(repository: str) -> str | None:
    """Why a text is not the name of a repository, with its registry or without; None if it is."""
    domain, slash, rest = repository.partition("/")
    # As the runtimes tell a registry from the first part of a name on Docker Hub.
    has_domain = bool(slash) and ("." in domain or ":" in domain or domain == "localhost")
    path = rest if has_domain else repository
    capital = re.search(r"[A-Z]", path)
    faults = (
        (not repository.strip(), "it is empty"),
        (re.search(r"\s", repository), "it has a space in it"),
        ("://" in repository, "it is an address, and images are named without https://"),
        ("@" in repository, "it has a digest in it"),
        (":" in path, "it has a tag in it"),
        (has_domain and not _DOMAIN.fullmatch(domain), f'"{domain}" is no registry'),
        (len(repository) > _LONGEST, f"it has more than {_LONGEST} characters"),
        (capital, f'"{path}" has capital letters'),
        (
            not path or not all(_PART.fullmatch(part) for part in path.split("/")),
            f'"{path}" is not letters, digits and . _ - between them',
        ),
    )
    return next((fault for wrong, fault in faults if wrong), None)


def image_name(image: str) -> str:
    """What an image is called in its repository: without registry, folders, tag and digest."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]


def tag_fault(tag: str) -> str | None:
    """Why a text is not a tag; None if it is."""
    if not tag.strip():
        return "it is empty"
    if _TAG.fullmatch(tag):
        return None
    return "a tag is up to 128 letters, digits and _ . -, and does not begin with . or -"


def digest_fault(digest: str) -> str | None:
    """Why a text is not a digest; None if it is."""
    return None if _DIGEST.fullmatch(digest) else "a digest is sha256: and 64 hexadecimal digits"


def reference_fault(image: str) -> str | None:
    """Why a text is not an image by tag, digest or both; None if it is."""
    name, at, digest = image.partition("@")
    if at and (fault := digest_fault(digest)):
        return fault
    head, colon, tag = name.rpartition(":")
    tagged = bool(colon) and "/" not in tag
    if tagged and (fault := tag_fault(tag)):
        return fault
    return repository_fault(head if tagged else name)
