"""`eks-gpushare --version`."""

from __future__ import annotations

import argparse
from typing import Any


class VersionAction(argparse.Action):
    """Looks the version up only when it is asked for: reading package metadata takes a while."""

    def __init__(self, option_strings: list[str], dest: str, **_: Any) -> None:
        """An option without a value."""
        super().__init__(option_strings, dest, nargs=0, help="print the version and stop")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the version and stop."""
        print(f"eks-gpushare {installed_version() or '(not installed)'}")
        parser.exit(0)


def installed_version() -> str | None:
    """The version of this package; None if it is run from its sources."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("eks-gpushare-checks")
    except PackageNotFoundError:
        return None
