"""Make the catalog's instance tables anew from public packages.

    python tools/catalog/generate.py --out components/eks_gpushare/catalog/data

It downloads what it is not given (about 12 MB with pip, 35 MB as Go modules), writes all files
or none, and prints one line for each. A second run writes the same bytes. To move to newer
packages, change the versions in packages.py (moto's is pinned in requirements.txt) and the
reference texts in handmade.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import packages
import readers
import tables
from packages import GenerateError

if TYPE_CHECKING:
    from collections.abc import Sequence

_HANDMADE = Path(__file__).with_name("handmade.json")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the generator; return 0, or 1 after one line that says what is wrong."""
    options = _parser().parse_args(arguments)
    try:
        texts = generate(options)
        _write(options.out, texts)
    except GenerateError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    for name, text in texts.items():
        sys.stdout.write(f"{options.out / name}: {len(text.encode())} bytes\n")
    return 0


def generate(options: argparse.Namespace) -> dict[str, str]:
    """The text of each data file by its name."""
    handmade = _handmade(options.handmade)
    moto = options.moto or packages.moto_wheel(packages.MOTO, options.cache)
    former = options.moto_retired or packages.moto_wheel(packages.MOTO_RETIRED, options.cache)
    karpenter = options.karpenter or packages.go_module(packages.KARPENTER, "--karpenter FOLDER")
    vantage = options.vantage or packages.go_module(packages.EC2_INSTANCES_INFO, "--vantage FOLDER")
    public = tables.Public(
        current=readers.read_moto(moto),
        former=readers.read_moto(former),
        prices=readers.read_karpenter_prices(karpenter),
        bandwidth=readers.read_karpenter_bandwidth(karpenter),
        older_prices=readers.read_vantage_prices(vantage),
        later_prices=handmade["regionalPrices"],
    )
    with_gpus, others = tables.gpu_table(handmade, public), tables.other_table(public.current)
    everywhere = tables.zones([*others, *with_gpus["types"]], public.current)
    return {
        "instances.json": tables.render_gpu(with_gpus),
        "other-types.json": tables.render_other(others),
        "other-prices.json": tables.render_prices(tables.other_prices(public)),
        "zones.json": tables.render_zones(everywhere),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Make the catalog's instance tables anew from public packages."
    )
    cache = Path(tempfile.gettempdir()) / "eks-gpushare-catalog"
    parser.add_argument("--out", type=Path, required=True, help="folder for the data files")
    parser.add_argument("--cache", type=Path, default=cache, help="folder for downloaded wheels")
    parser.add_argument("--moto", type=Path, help=f"wheel of moto {packages.MOTO}")
    parser.add_argument(
        "--moto-retired",
        type=Path,
        help=f"wheel of moto {packages.MOTO_RETIRED}, for retired types",
    )
    parser.add_argument(
        "--karpenter", type=Path, help="folder of the karpenter-provider-aws module"
    )
    parser.add_argument("--vantage", type=Path, help="folder of the ec2-instances-info module")
    parser.add_argument("--handmade", type=Path, default=_HANDMADE, help=argparse.SUPPRESS)
    return parser


def _handmade(file: Path) -> dict[str, Any]:
    try:
        facts: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = f"cannot read the hand-made facts in {file} ({error})"
        raise GenerateError(message) from None
    return facts


def _write(folder: Path, texts: dict[str, str]) -> None:
    """Write every file beside its place first, so that a failure leaves the old ones whole."""
    written: list[tuple[Path, Path]] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            draft = folder / f".{name}.{os.getpid()}"
            written.append((draft, folder / name))
            draft.write_text(text, encoding="utf-8", newline="\n")
        for draft, final in written:
            draft.replace(final)
    except OSError as error:
        message = f"cannot write to {folder} ({error})"
        raise GenerateError(message) from None
    finally:
        for draft, _ in written:
            draft.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
