"""`eks-gpushare shares STACK|TYPE`: how many pods may share a GPU."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eks_gpushare.cli import FINE, FOUND, WRONG_USAGE, init_words
from eks_gpushare.cli.given_stack import StackRefusedError, refuse
from eks_gpushare.cli.streams import print_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.catalog import Catalog
    from eks_gpushare.config.environment import Environment
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.sharing.sizing import Need, Sizing

_MIB = 2**20
_MILLIS = 1000
_WHOLE = 100
_HEADROOM = 10
_NAMES = {
    "gpuMemory": "GPU memory",
    "gpuTime": "GPU time",
    "mpsClients": "MPS clients",
    "cpu": "CPU",
    "memory": "memory",
    "pods": "pods (addresses)",
}
_FEWEST = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `shares`."""
    parser.add_argument(
        "target",
        metavar="STACK|TYPE",
        help="a stack or its file, for its pools; or an EC2 instance type, for each mode it has",
    )
    parser.add_argument("--pool", metavar="POOL", help="this pool of the stack only")
    region = "of an instance type: say what a pod costs there"
    parser.add_argument("--region", type=init_words.region, metavar="REGION", help=region)
    need = parser.add_argument_group("what one pod takes, as measured")
    need.add_argument(
        "--gpu-memory",
        type=_mib,
        metavar="AMOUNT",
        help="GPU memory at its peak, such as 3GiB: what nvidia-smi says of its processes",
    )
    need.add_argument(
        "--gpu-use",
        type=_percent,
        metavar="PERCENT",
        help="how busy it keeps a GPU, or a device of the layout, that it has for itself",
    )
    need.add_argument(
        "--cpu", type=_millis, metavar="AMOUNT", help="CPU that it requests, such as 500m"
    )
    need.add_argument(
        "--memory", type=_mib, metavar="AMOUNT", help="main memory that it requests, such as 2GiB"
    )
    parser.add_argument(
        "--headroom",
        type=_percent_or_none,
        metavar="PERCENT",
        default=Fraction(_HEADROOM, _WHOLE),
        help=f"GPU memory that is left free (default: {_HEADROOM})",
    )


def run(options: argparse.Namespace) -> int:
    """Say what each pool is enough for."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from eks_gpushare.sharing.sizing import Need

    need = Need(options.gpu_memory, options.gpu_use, options.cpu, options.memory, options.headroom)
    if need[:4] == (None,) * 4:
        print("eks-gpushare: say what a pod takes, such as --gpu-memory 3GiB", file=sys.stderr)
        return WRONG_USAGE
    try:
        sized = list(_sized(options, need))
    except _UsageError as error:
        print(f"eks-gpushare: {error}", file=sys.stderr)
        return WRONG_USAGE
    except StackRefusedError as error:
        return refuse(error.report, as_json=options.json)
    if options.json:
        print_json({"pools": [one.as_json() for one in sized]})
    else:
        print("\n\n".join(one.text(need) for one in sized))
    return FINE if all(one.enough for one in sized) else FOUND


class _UsageError(Exception):
    """Words of the command line that mean nothing."""


@dataclass(frozen=True, slots=True)
class _Sized:
    """What came out for a pool."""

    name: str
    """The pool, or the mode of a type."""
    pool: Pool
    sizings: tuple[Sizing, ...]
    """One for each of its types."""
    declared: int | None
    """Replicas that the stack says; None where it says none."""
    price: float | None
    """What a node costs an hour, of several types the dearest; None if it is not known."""
    region: str | None
    """Where; None if none is named."""

    @property
    def replicas(self) -> int:
        """Pods on each device: so many have room on nodes of every type."""
        return min(sizing.replicas for sizing in self.sizings)

    @property
    def enough(self) -> bool:
        """Whether a pod has room, and as many as are declared."""
        return self.replicas >= (self.declared or 1)

    @property
    def pods(self) -> int:
        """Pods of a node with that many on each device."""
        return min(sizing.devices * self.replicas for sizing in self.sizings)

    @property
    def per_pod(self) -> float | None:
        """What each of them costs an hour."""
        return self.price / self.pods if self.price is not None and self.pods else None

    def as_json(self) -> dict[str, Any]:
        """The pool as `--json` shows it."""
        return {
            "pool": self.name,
            "mode": self.pool.sharing.mode,
            "declaredReplicas": self.declared,
            "replicas": self.replicas,
            "podsPerNode": self.pods,
            "usdPerPodHour": self.per_pod,
            "instanceTypes": [
                {
                    "type": sizing.instance_type.name,
                    "devices": sizing.devices,
                    "replicas": sizing.replicas,
                    "boundBy": [bound.name for bound in sizing.least],
                    "bounds": [
                        {
                            "name": bound.name,
                            "has": bound.has,
                            "takes": bound.takes,
                            "podsPerNode": bound.pods,
                            "replicas": bound.replicas,
                            "source": bound.source,
                        }
                        for bound in sizing.bounds
                    ],
                }
                for sizing in self.sizings
            ],
        }

    def text(self, need: Need) -> str:
        """The same for people."""
        lines = [line for sizing in self.sizings for line in self._table(sizing)]
        lines += ["", *self._verdict(need)]
        return "\n".join(lines)

    def _table(self, sizing: Sizing) -> Iterator[str]:
        kind, mode = sizing.instance_type, self.pool.sharing.mode
        board = kind.gpu.model if kind.gpu else "GPU"
        what = "" if self.name == mode else f", {mode}"
        yield f"{self.name}: {kind.name}, {kind.gpu_count} x {board}{what}{self._layout()}"
        rows = [("", "a node has", "a pod takes", "pods of a node", "replicas")]
        rows += [
            (_NAMES[b.name], b.has, b.takes, str(b.pods), str(b.replicas)) for b in sizing.bounds
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = [
                cell.rjust(width) if number > 2 else cell.ljust(width)  # noqa: PLR2004  (the counts)
                for number, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            yield f"  {'  '.join(cells)}".rstrip()

    def _layout(self) -> str:
        layout = getattr(self.pool.sharing, "layout", "")
        return f", layout {layout}" if layout and isinstance(layout, str) else ""

    def _verdict(self, need: Need) -> Iterator[str]:
        least = dict.fromkeys(
            _NAMES[bound.name]
            for sizing in self.sizings
            for bound in sizing.least
            if sizing.replicas == self.replicas
        )
        by = " and ".join(least)
        device = "MIG device" if self.pool.sharing.mode == "mig" else "GPU"
        if not self.replicas:
            yield f"  No pod for each {device} fits: {by} is not enough."
            return
        many = f"{self.replicas} pods" if self.replicas > 1 else "1 pod"
        cost = "" if self.per_pod is None else f", {self.per_pod:.4f} USD an hour each"
        yield f"  {many} on a {device}, {self.pods} on a node{cost}. What runs out first: {by}."
        if self.price is None and self.region is not None:
            yield f"  What a node costs in {self.region} is not known."
        yield f"  {self._declaration()}"
        if need.gpu_memory_mib is None and self.pool.sharing.mode != "exclusive":
            yield "  GPU memory was not given, and mostly is what runs out first: --gpu-memory."

    def _declaration(self) -> str:
        mode = self.pool.sharing.mode
        if self.declared is not None and self.declared > self.replicas:
            return f"The stack declares {self.declared}: too many."
        if self.declared is not None:
            return f"The stack declares {self.declared}, which have room."
        if mode == "mig":
            turns = f", timeSlicing: {{replicas: {self.replicas}}}"
            layout = getattr(self.pool.sharing, "layout", "")
            more = turns if self.replicas >= _FEWEST else ""
            return f"sharing: {{mode: mig, layout: {layout}{more}}}"
        if self.replicas < _FEWEST:
            return "sharing: {mode: exclusive}"
        return f"sharing: {{mode: {mode}, replicas: {self.replicas}}}"


def _sized(options: argparse.Namespace, need: Need) -> Iterator[_Sized]:
    from eks_gpushare.catalog import Catalog

    catalog = Catalog()
    found = catalog.find(options.target)
    if found is None:
        yield from _of_stack(options, need)
        return
    if options.pool:
        raise _UsageError("--pool is one of a stack, and an instance type was given")
    if found.gpu is None:
        raise _UsageError(f"{found.name} has no NVIDIA GPU")
    for mode, environment in _modes(options.target, need, catalog):
        pool = environment.pools["gpu"]
        region = options.region
        yield _size_pool(mode, pool, environment, catalog, need, region=region, declared=None)


def _modes(name: str, need: Need, catalog: Catalog) -> Iterator[tuple[str, Environment]]:
    """An environment with a pool of this type for each way to share its GPUs."""
    from eks_gpushare.catalog import eks_versions
    from eks_gpushare.validation.parse import parse

    ways: dict[str, Mapping[str, Any]] = {
        "timeSlicing": {"mode": "timeSlicing", "replicas": _FEWEST},
        "mps": {"mode": "mps", "replicas": _FEWEST},
    }
    if (layout := _smallest(name, need, catalog)) is not None:
        ways["mig"] = {"mode": "mig", "layout": layout}
    for mode, sharing in ways.items():
        given = {
            "cluster": {"name": "sizing", "version": list(eks_versions())[-1]},
            "pools": {"gpu": {"instanceTypes": [name], "sharing": dict(sharing)}},
        }
        environment = parse(given).environment
        if environment is not None:
            yield mode, environment


def _smallest(name: str, need: Need, catalog: Catalog) -> str | None:
    """The layout of the smallest MIG devices that hold a pod; None where none does."""
    from eks_gpushare.catalog import named_layouts, why_no_mig

    found = catalog.find(name)
    model = catalog.mig_model(found.gpu) if found and found.gpu else None
    if found is None or model is None or why_no_mig(found) is not None:
        return None
    asked = (need.gpu_memory_mib or 0) / (1 - need.gpu_memory_kept)
    holding = [
        profile
        for profile in model.profiles.values()
        if not profile.attributes
        and f"all-{profile.name}" in named_layouts(model)
        and (profile.memory_mib or profile.memory_gb * 1024) >= asked
    ]
    holding.sort(key=lambda profile: (-profile.max_count, profile.memory_gb))
    return f"all-{holding[0].name}" if holding else None


def _of_stack(options: argparse.Namespace, need: Need) -> Iterator[_Sized]:
    from eks_gpushare.config.additions import catalog_of
    from eks_gpushare.sharing.resources import replicas
    from eks_gpushare.stack_file.check import check_file

    if options.region:
        raise _UsageError("--region is for an instance type: a stack has its own")

    file = _file(options.target)
    report = check_file(file, local_files=False)
    environment = report.environment
    stack_file = report.stack_file
    if environment is None or stack_file is None or not report.ok:
        raise StackRefusedError(report)
    region = stack_file.region
    catalog, _ = catalog_of(environment.catalog, region)
    pools = environment.pools
    if options.pool is not None and options.pool not in pools:
        listed = ", ".join(pools) or "none"
        raise _UsageError(f"{file} has no pool {options.pool}; its pools: {listed}")
    for name, pool in pools.items():
        if options.pool in {None, name}:
            declared = replicas(pool)
            yield _size_pool(
                name, pool, environment, catalog, need, region=region, declared=declared
            )


def _size_pool(
    name: str,
    pool: Pool,
    environment: Environment,
    catalog: Catalog,
    need: Need,
    *,
    region: str | None,
    declared: int | None,
) -> _Sized:
    from eks_gpushare.sharing.sizing import size

    types = [found for each in pool.instance_types if (found := catalog.find(each)) is not None]
    ways = pool.bought_as
    prices = [instance_type.price(region, ways) if region else None for instance_type in types]
    known = [price for price in prices if price is not None]
    return _Sized(
        name,
        pool,
        tuple(size(need, pool, instance_type, environment, catalog) for instance_type in types),
        declared,
        max(known) if len(known) == len(prices) else None,
        region,
    )


def _file(target: str) -> Path:
    from eks_gpushare.catalog import Catalog
    from eks_gpushare.stack_file.project import ProjectError, find_project
    from eks_gpushare.validation.shape import similar

    path = Path(target)
    if path.is_file() or path.suffix in {".yaml", ".yml"}:
        return path
    try:
        return find_project(Path.cwd()).stack_file(target)
    except ProjectError as error:
        if path.is_dir():
            text = f"{target} is a folder: name a stack, its file or an instance type"
            raise _UsageError(text) from None
        meant = similar(target, [*Catalog().gpu_types()])
        guess = f" Did you mean {meant}?" if meant else ""
        raise _UsageError(f"{target} is no instance type with a GPU.{guess} {error}") from None


def _amount(text: str, like: str) -> Fraction:
    from eks_gpushare.documents.quantity import quantity

    found = quantity(text.removesuffix("B").removesuffix("b") if text[-1:] in "Bb" else text)
    if found is None or found <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no amount above 0, such as {like}")
    return found


def _mib(text: str) -> Fraction:
    if (found := _amount(text, "3GiB") / _MIB) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is less than a MiB; give a unit, as in 3GiB")
    return found


def _millis(text: str) -> Fraction:
    return _amount(text, "500m") * _MILLIS


def _percent(text: str) -> Fraction:
    found = _amount(text.removesuffix("%"), "15") / _WHOLE
    if found > 1:
        raise argparse.ArgumentTypeError(f"{text!r} is more than 100 percent")
    return found


def _percent_or_none(text: str) -> Fraction:
    if text.removesuffix("%") == "0":
        return Fraction(0)
    found = _percent(text)
    if found == 1:
        raise argparse.ArgumentTypeError("100 percent would leave nothing for pods")
    return found
