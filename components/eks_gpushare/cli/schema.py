"""`eks-gpushare schema`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from eks_gpushare.cli import FINE, WRONG_USAGE
from eks_gpushare.cli.streams import print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `schema`."""
    parser.add_argument(
        "--stack-file",
        action="store_true",
        help="the schema of a whole stack file, as editors want it, instead of the environment's",
    )
    parser.add_argument(
        "-o",
        "--out",
        metavar="FILE",
        help="write it to FILE, for a line `# yaml-language-server: $schema=FILE`",
    )
    # Deprecated: with all other verbs it is a format.
    parser.add_argument("--output", dest="deprecated", metavar="FILE", help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    """Print the schema, which is JSON with and without `--json`, or write it to a file."""
    from eks_gpushare.config.schema import environment_schema, stack_file_schema

    if options.deprecated is not None:
        print("eks-gpushare: schema --output FILE is deprecated: use --out FILE", file=sys.stderr)
        options.out = options.out or options.deprecated
    schema = stack_file_schema() if options.stack_file else environment_schema()
    if options.out is None:
        print_json(schema)
        return FINE
    from eks_gpushare.cli.writing import write_files

    try:
        text = json.dumps(schema, indent=2) + "\n"
        write_files({Path(options.out): text}, force=True)
    except OSError as error:
        message = f"{options.out} cannot be written to: {error.strerror}"
        print(f"eks-gpushare: {message}", file=sys.stderr)
        return WRONG_USAGE
    if options.json:
        print_json({"files": [options.out]})
    else:
        print(f"{options.out} written")
    return FINE
