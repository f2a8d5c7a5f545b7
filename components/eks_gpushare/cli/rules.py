"""`eks-gpushare rules STACK`: rules, alerts and boards for Prometheus and Grafana."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eks_gpushare.cli import FINE, WRONG_USAGE
from eks_gpushare.cli.given_stack import stack_or_code
from eks_gpushare.cli.streams import print_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from eks_gpushare.lint.stack_side import Stack

_FORMATS = ("prometheus", "operator", "amp")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `rules`."""
    parser.add_argument("stack", metavar="STACK", help="a stack, or its file")
    parser.add_argument(
        "--format",
        choices=_FORMATS,
        default=_FORMATS[0],
        help="a rule file of Prometheus, a PrometheusRule of its operator, or a namespace of rule "
        "groups of Amazon Managed Service for Prometheus (default: prometheus)",
    )
    parser.add_argument(
        "--output",
        metavar="DIR",
        help="write the rules and the boards into this folder, over files of before",
    )


def run(options: argparse.Namespace) -> int:
    """Print or write them."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if options.output == "":
        print("eks-gpushare: --output '' names no folder: give one", file=sys.stderr)
        return WRONG_USAGE
    stack = stack_or_code(options.stack, as_json=options.json)
    if isinstance(stack, int):
        return stack
    rules, boards = _documents(stack, options.format)
    if options.output is not None and not _write(Path(options.output), rules, boards):
        return WRONG_USAGE
    if options.json:
        print_json({"stack": stack.name, "rules": rules, "boards": boards, **_measured(stack)})
    elif options.output is None:
        sys.stdout.write(_yaml(rules))
    return FINE


def _documents(stack: Stack, form: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    from eks_gpushare.config.observability import Observability
    from eks_gpushare.sharing.monitoring.boards import boards_json
    from eks_gpushare.sharing.monitoring.groups import rule_groups, rules_document, rules_object
    from eks_gpushare.sharing.monitoring.managed import amp_document

    environment = stack.environment
    assert environment is not None  # noqa: S101  (which `run` has seen)
    groups = rule_groups(environment, stack.plans)
    block = environment.observability or Observability()
    boards = {} if block.dashboards == "none" else boards_json(stack.plans)
    if form == "amp":
        return amp_document(groups), boards
    if form == "prometheus":
        return rules_document(groups), boards
    # As the component registers it, but for the namespace, which whoever applies it says.
    return rules_object(groups, None, block.selector_labels), boards


def _measured(stack: Stack) -> dict[str, Any]:
    from eks_gpushare.sharing.metrics import measured_pool

    pools = {
        name: [share.as_json() for share in measured_pool(plan)]
        for name, plan in stack.plans.items()
    }
    return {"measured": pools}


def _write(folder: Path, rules: Mapping[str, Any], boards: Mapping[str, Any]) -> bool:
    from eks_gpushare.cli.writing import write_files
    from eks_gpushare.sharing.monitoring.groups import OBJECT_NAME

    files = {folder / f"{OBJECT_NAME}.rules.yaml": _yaml(rules)}
    for name, board in boards.items():
        files[folder / f"{OBJECT_NAME}-{name}.json"] = json.dumps(board, indent=2) + "\n"
    try:
        written = write_files(files, force=True)
    except OSError as error:
        reason = error.strerror or str(error)
        print(f"eks-gpushare: {folder} cannot be written to: {reason}", file=sys.stderr)
        return False
    print("\n".join(map(str, written)), file=sys.stderr)
    return True


def _yaml(document: Mapping[str, Any]) -> str:
    from eks_gpushare.sharing.monitoring.managed import yaml_text

    return yaml_text(document)
