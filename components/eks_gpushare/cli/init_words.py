"""What the answers of `init` may be, on the command line and on a terminal."""

from __future__ import annotations

import argparse
import ipaddress
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,79}")
REGION = re.compile(r"[a-z]{2,4}(-[a-z]+)+-[0-9]{1,2}")


def name(text: str) -> str:
    """A name of a project or stack."""
    if not _NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no name: a letter, then letters, digits, hyphens, underscores and dots"
        )
    return text


def region(text: str) -> str:
    """What looks like an AWS region."""
    if not REGION.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no region: write it as us-west-2")
    return text


def word_of(words: tuple[str, ...]) -> Callable[[str], str]:
    """A word in any spelling: `time-slicing`, `TimeSlicing`."""
    by_letters = {word.lower(): word for word in words}

    def of(text: str) -> str:
        found = by_letters.get(re.sub(r"[-_ ]", "", text).lower())
        if found is None:
            raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(words)}")
        return found

    return of


def cidr(text: str) -> str:
    """A network; an address stands for itself alone."""
    try:
        network = (
            ipaddress.IPv4Network(text) if "/" in text else ipaddress.IPv4Network(f"{text}/32")
        )
    except ValueError as error:
        message = f"{text!r} is no IPv4 network such as 203.0.113.0/24"
        raise argparse.ArgumentTypeError(message) from error
    return str(network)


def layout(text: str) -> str | dict[str, int]:
    """A MIG layout: devices per GPU, or what may be a name."""
    from eks_gpushare.cli.mig_target import UsageError, devices_of

    try:
        return devices_of(text) or text
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
