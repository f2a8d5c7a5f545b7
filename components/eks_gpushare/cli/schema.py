"""`eks-gpushare schema`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from eks_gpushare.cli import FINE

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `schema`."""
    parser.add_argument(
        "--stack-file",
        action="store_true",
        help="the schema of a whole stack file, as editors want it, instead of the environment's",
    )


def run(options: argparse.Namespace) -> int:
    """Print the schema. It is JSON with and without `--json`."""
    from eks_gpushare.config.schema import environment_schema, stack_file_schema

    schema = stack_file_schema() if options.stack_file else environment_schema()
    json.dump(schema, sys.stdout, indent=2)
    sys.stdout.write("\n")
    return FINE
