"""`eks-gpushare cost STACK`: what its nodes cost, and whose it is."""

from __future__ import annotations

import csv
import io
import os
import sys
from typing import TYPE_CHECKING, Any

from eks_gpushare.cli import FINE, WRONG_USAGE
from eks_gpushare.cli.given_stack import stack_or_code
from eks_gpushare.cli.outputs import (
    Output,
    OutputUsageError,
    add_table_output_argument,
    outputs_of,
    write_outputs,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.sharing.cost_table import CostSource, CostTable
    from eks_gpushare.sharing.paid_nodes import UseMoment

_CSV, _OPENCOST = "csv", "opencost"
_COLUMNS = (
    *("tenant", "cost_center", "namespace", "pool", "resource", "use", "shares"),
    *("usd_per_hour", "usd_per_month"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `cost`."""
    parser.add_argument("stack", metavar="STACK", help="a stack, or its file")
    parser.add_argument(
        "--usage",
        metavar="FILE",
        help="who holds what: the answer of Prometheus to the query of docs/cost.md, as JSON; - is "
        "standard input",
    )
    parser.add_argument(
        "--kubeconfig", metavar="FILE", help="as kubectl takes it: who holds what at this moment"
    )
    parser.add_argument(
        "--context", metavar="NAME", help="context of the kubeconfig: the same of this cluster"
    )
    parser.add_argument(
        "--from",
        dest="dumps",
        metavar="FILE",
        action="append",
        help="read what `kubectl get nodes,pods,configmaps --output yaml` printed, or JSON of it, "
        "in place of a cluster; may be given several times, and - is standard input",
    )
    parser.add_argument(
        "--by",
        choices=("tenant", "pool", "namespace"),
        default="tenant",
        help="what costs are added up by (default: tenant)",
    )
    parser.add_argument(
        "--split",
        choices=("share", "memory"),
        default="share",
        help="by what the price of a node is divided: its shares, of MIG devices by their compute "
        "slices, or their GPU memory (default: share)",
    )
    parser.add_argument("--csv", action="store_true", help="the same as --output csv")
    add_table_output_argument(
        parser,
        **{_CSV: "CSV (every line, whatever --by)", _OPENCOST: "OpenCost (its CSV of node prices)"},
    )


def run(options: argparse.Namespace) -> int:
    """Say what nodes cost, and whose it is."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if options.csv:
        options.output = [*(options.output or ()), Output(_CSV)]
    try:
        outputs = outputs_of(options)
        _refuse_what_contradicts(options)
    except OutputUsageError as error:
        return _cannot(str(error))
    stack = stack_or_code(options.stack, as_json=options.json)
    if isinstance(stack, int):
        return stack
    if stack.region is None and any(output.format == _OPENCOST for output in outputs):
        return _cannot(f"{stack.name} names no aws:region, by which OpenCost finds a price")
    from eks_gpushare.live.connection import CannotLookError
    from eks_gpushare.live.usage_answer import UsageAnswerError
    from eks_gpushare.sharing.paid_nodes import SplitError

    try:
        held, source = _held(options, stack)
        table = _table(options, stack, held)
    except (CannotLookError, UsageAnswerError, SplitError) as error:
        return _cannot(str(error))
    return _write(options, outputs, stack, source, table)


def _write(
    options: argparse.Namespace,
    outputs: Sequence[Output],
    stack: Stack,
    source: CostSource,
    table: CostTable,
) -> int:
    from eks_gpushare.cli.cost_text import print_cost
    from eks_gpushare.sharing.opencost import node_prices_csv
    from eks_gpushare.sharing.paid_nodes import Prices

    prices = Prices(stack.plans, stack.catalog, stack.region)
    priced = any(output.format == _OPENCOST for output in outputs)
    possible, unpriced = prices.possible() if priced else ([], [])
    about = {"stack": stack.name, "region": stack.region, "use": source.as_json()}
    written = write_outputs(
        outputs,
        text=lambda: print_cost(table, stack.name, stack.region, source, options.by),
        document=lambda: {**about, **table.as_json(options.by)},
        own={
            _CSV: lambda: _csv(table),
            _OPENCOST: lambda: node_prices_csv((*possible, *table.nodes), stack.region or ""),
        },
    )
    if not any(output.format in {"text", "json"} for output in outputs):
        for said in dict.fromkeys([*table.unknown, *unpriced, *table.notes]):
            _cannot(said)
    return FINE if written else WRONG_USAGE


def _refuse_what_contradicts(options: argparse.Namespace) -> None:
    """Refuse files and a cluster at once, or standard input twice.

    Raises:
        OutputUsageError: If they are given.
    """
    if options.dumps and (options.kubeconfig or options.context):
        raise OutputUsageError("--from reads files: --kubeconfig and --context are for a cluster")
    if options.usage == "-" and "-" in (options.dumps or ()):
        raise OutputUsageError("--usage and --from cannot both be standard input")


def _cannot(message: str) -> int:
    from eks_gpushare.findings.text import printable

    print(f"eks-gpushare: {printable(message)}", file=sys.stderr)
    return WRONG_USAGE


def _held(options: argparse.Namespace, stack: Stack) -> tuple[list[UseMoment], CostSource]:
    """Who holds what, as far as it was asked for."""
    from eks_gpushare.sharing.cost_table import CostSource

    objects = _objects(options)
    if options.usage is not None:
        from eks_gpushare.live.held_shares import nodes_of
        from eks_gpushare.live.usage_answer import read_answer
        from eks_gpushare.live.usage_shares import usage_shares

        answer = read_answer(options.usage)
        nodes = None if objects is None else nodes_of(objects, stack)
        found = usage_shares(answer, stack, nodes)
        times = (time.isoformat(timespec="seconds") for time in (answer.start, answer.end))
        return found, CostSource("usage", answer.file, *times)
    if objects is None:
        return [], CostSource("declared", "", "", "")
    from eks_gpushare.live.held_shares import held_shares
    from eks_gpushare.live.measured_use import declared_split

    at = objects.at.isoformat(timespec="seconds")
    moment = held_shares(objects, stack)
    if (split := declared_split(stack)) != "share":
        said = f"What pods hold is divided by shares: their {split} is known to Prometheus, and "
        moment = moment._replace(notes=(*moment.notes, f"{said}--usage takes its answer."))
    return [moment], CostSource("cluster", objects.whence, at, at)


def _objects(options: argparse.Namespace) -> ClusterObjects | None:
    """The cluster, where one was named."""
    if options.dumps:
        from eks_gpushare.live.dumps import read_dumps

        return read_dumps(options.dumps)
    if options.kubeconfig is None and options.context is None:
        return None
    from eks_gpushare.live.connection import api_server
    from eks_gpushare.live.held_shares import KINDS
    from eks_gpushare.live.listing import read_cluster

    with api_server(options.kubeconfig, options.context) as server:
        return read_cluster(server, kinds=KINDS)


def _table(options: argparse.Namespace, stack: Stack, held: Sequence[UseMoment]) -> CostTable:
    from eks_gpushare.sharing.stack_cost import stack_cost

    environment = stack.environment
    assert environment is not None  # noqa: S101  (a stack without one was refused)
    return stack_cost(
        environment, stack.plans, stack.catalog, stack.region, split=options.split, held=held
    )


def _csv(table: CostTable) -> str:
    """Every line, as spreadsheets and FinOps' pipelines read it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for line, usd in table.lines:
        center = table.centers.get(line.tenant or "")
        words: list[Any] = [line.tenant, center, line.namespace, line.pool, line.resource, line.use]
        amounts = [text.replace(",", "") for text in usd.as_text()] if usd.is_known else ["", ""]
        writer.writerow([*(word or "" for word in words), f"{float(line.shares):g}", *amounts])
    return out.getvalue()
