"""Measure the lab with many nodes and pods: python benchmarks/lab_scale.py.

Nothing here is a test. docs/lab-scale.md says what is measured; --markdown writes its figures.
"""

from __future__ import annotations

import argparse
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from scale_report import as_json, as_text, write_markdown
from scale_result import Size
from scale_run import ScaleError, measure, tell
from scale_setting import SETTINGS
from scale_usage import EndedError

from eks_gpushare.program.preview import locate, preview
from eks_gpushare_lab.client import ApiError
from eks_gpushare_lab.errors import LabError
from eks_gpushare_lab.install.desired_cluster import DesiredCluster, desired_cluster

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "lab-scale.md"
SHARES_PER_NODE = 10
FULL = (1000, 10_000)
WRONG_USAGE, INTERRUPTED = 2, 130

_STACK = """\
config:
  aws:region: us-west-2
  eks-gpushare:environment:
    cluster: {{name: scale, version: "1.35"}}
    network: {{zones: [us-west-2a, us-west-2b]}}
    pools:
      gpu:
        instanceTypes: [g6.xlarge]
        nodes: {{min: 0, desired: {nodes}, max: {nodes}}}
        zones: [us-west-2a, us-west-2b]
        sharing: {{mode: timeSlicing, replicas: {shares}}}
"""


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print.

    Args:
        words: Command-line arguments. Default: those of this process.

    Returns:
        1 if a measurement came to no end, 2 for wrong usage, 130 if interrupted, else 0.
    """
    options = _parser().parse_args(words)
    if options.pods > options.nodes * SHARES_PER_NODE:
        tell(f"{options.nodes} nodes have {SHARES_PER_NODE} shares each: too few for the pods")
        return WRONG_USAGE
    if options.markdown and (options.setting or (options.nodes, options.pods) != FULL):
        tell("--markdown wants both settings, with all nodes and pods")
        return WRONG_USAGE
    # A signal that ends this process is to stop the control plane in order; a kill stops it too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    ways = (False, True) if options.directly else (False,)
    sizes = [Size(options.pods, directly, options.seconds) for directly in ways]
    chosen = [SETTINGS[options.setting]] if options.setting else list(SETTINGS.values())
    try:
        desired = _desired(options.nodes)
        results = [measure(setting, desired, size) for setting in chosen for size in sizes]
    except KeyboardInterrupt:
        tell("interrupted")
        return INTERRUPTED
    except (ScaleError, EndedError, LabError, ApiError, OSError) as error:
        tell(f"no result: {error}")
        return 1
    print(as_json(results) if options.json else as_text(results))
    if options.markdown:
        write_markdown(PAGE, results)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Measure the lab with many nodes and pods.")
    parser.add_argument("--nodes", type=_positive, default=FULL[0], metavar="N", help="GPU nodes")
    parser.add_argument(
        "--pods", type=_positive, default=FULL[1], metavar="N", help="one-share pods"
    )
    parser.add_argument("--setting", choices=SETTINGS, help="one of them; default: each in turn")
    parser.add_argument(
        "--directly",
        action="store_true",
        help="measure once more with pods that are created one by one, without Deployments",
    )
    parser.add_argument(
        "--seconds",
        type=_positive,
        default=120,
        metavar="N",
        help="give up after so long without one node or pod more (default: 120)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--markdown", action="store_true", help=f"write {PAGE.name} as well")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _desired(nodes: int) -> DesiredCluster:
    """The cluster of a stack whose one pool has so many nodes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "Pulumi.scale.yaml"
        file.write_text(_STACK.format(nodes=nodes, shares=SHARES_PER_NODE), encoding="utf-8")
        previewed = preview(*locate(str(file), str(ROOT)), known=True)
    if previewed.recording is None or not previewed.ok:
        raise ScaleError("; ".join(map(str, previewed.findings)) or "the program stopped")
    return desired_cluster(previewed.recording)


if __name__ == "__main__":
    raise SystemExit(main())
