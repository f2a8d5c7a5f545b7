"""`eks-gpushare schema`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare.cli import FINE, WRONG_USAGE
from eks_gpushare.cli.streams import print_json

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `schema`."""
    parser.add_argument(
        "--stack-file",
        action="store_true",
        help="the schema of a whole stack file, as editors want it, instead of the environment's",
    )
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="write it to FILE, for a line `# yaml-language-server: $schema=FILE`",
    )


def run(options: argparse.Namespace) -> int:
    """Print the schema, which is JSON with and without `--json`, or write it to a file."""
    from eks_gpushare.config.schema import environment_schema, stack_file_schema

    schema = stack_file_schema() if options.stack_file else environment_schema()
    if options.output is None:
        print_json(schema)
        return FINE
    from eks_gpushare.cli.writing import write_files

    try:
        text = json.dumps(schema, indent=2) + "\n"
        write_files({Path(options.output): text}, force=True)
    except OSError as error:
        message = f"{options.output} cannot be written to: {error.strerror}"
        print(f"eks-gpushare: {message}", file=sys.stderr)
        return WRONG_USAGE
    if options.json:
        print_json({"files": [options.output]})
    else:
        print(f"{options.output} written")
    return FINE
