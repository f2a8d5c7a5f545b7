"""`eks-gpushare tenants STACK [NAME]`: what a platform team hands to a team."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from eks_gpushare.cli import FINE, WRONG_USAGE
from eks_gpushare.cli.given_stack import stack_or_code
from eks_gpushare.cli.streams import print_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.sharing.plan import PoolPlan

_WIDTH = 80
_REFUSED = """What is refused in its namespace
{more}  any other resource of a GPU, and claims on NVIDIA's device classes
  pods of the priorities of the system
  privileged pods, host paths and host networks (Pod Security, baseline)
{admission}{waits}Where to look
  kubectl describe {where} --namespace {namespace}
  kubectl get events --namespace {namespace} --field-selector reason=FailedCreate"""
_MORE = "  more shares than it is sure of, counted with pods that wait\n"
_WAITS = """What waits, and is not refused
  more shares than it may have at most, or than others leave; Kueue starts it in its turn
"""

_ADMISSION = """  pods that select no pool of its own, or tolerate GPU nodes without a request
  NVIDIA_VISIBLE_DEVICES, CUDA_MPS_* and devices of CDI, in env, annotations and mounts
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tenants`."""
    parser.add_argument("stack", metavar="STACK", help="a stack, or its file")
    parser.add_argument(
        "tenant",
        metavar="NAME",
        nargs="?",
        help="one tenant: the page for its team, with pods to paste (default: all, in short)",
    )


def run(options: argparse.Namespace) -> int:
    """Say what tenants have."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from eks_gpushare.sharing.tenants import contracts, tenants_json

    stack = stack_or_code(options.stack, as_json=options.json)
    if isinstance(stack, int):
        return stack
    assert stack.environment is not None  # noqa: S101  (which would have been told)
    given = stack.environment.tenants or {}
    if wrong := _no_such(options.tenant, stack.name, given):
        print(f"eks-gpushare: {wrong}", file=sys.stderr)
        return WRONG_USAGE
    known = tenants_json(given, contracts(given, stack.plans), stack.plans)
    if options.tenant is not None:
        known = {options.tenant: known[options.tenant]}
    if options.json:
        print_json({"stack": stack.name, "tenants": known})
    else:
        print("\n".join(_page(known, stack, alone=options.tenant is not None)))
    return FINE


def _no_such(name: str | None, stack: str, given: Mapping[str, Any]) -> str:
    """What is said of a name that no tenant has, or of a stack without any."""
    if not given:
        return f"{stack} has no tenants: add the block, as docs/tenants.md says"
    if name is not None and name not in given:
        return f"{stack} has no tenant {name}; it has {', '.join(given)}"
    return ""


def _page(known: Mapping[str, Any], stack: Stack, *, alone: bool) -> Iterator[str]:
    from eks_gpushare.cli.tenant_lines import matrix_lines, tenant_lines

    yield from tenant_lines(known, _WIDTH)
    if not alone:
        if len(known) > 1:
            yield ""
            yield from matrix_lines(known, _WIDTH)
        return
    ((_, tenant),) = known.items()
    yield ""
    yield "What its pods say"
    for pool, contract in tenant["pools"].items():
        for resource in [name for name, count in contract["maximum"].items() if count]:
            yield from _pod(stack.plans[pool], resource, tenant["namespaces"][0])
    queue = tenant["queue"]
    yield _REFUSED.format(
        namespace=tenant["namespaces"][0],
        more="" if queue else _MORE,
        admission=_ADMISSION if tenant["admission"] else "",
        waits=_WAITS if queue else "",
        where="localqueue default" if queue else "quota gpu-shares",
    )


def _pod(plan: PoolPlan, resource: str, namespace: str) -> Iterator[str]:
    from eks_gpushare.documents.pod import as_yaml, pod_manifest

    called = f"{plan.name}-{resource.rpartition('/')[2].replace('.', '-')}"
    pod = pod_manifest(called, resource, plan.node_selector, plan.tolerations)
    yield "---"
    yield as_yaml({**pod, "metadata": {**pod["metadata"], "namespace": namespace}}).rstrip("\n")
