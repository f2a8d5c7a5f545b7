"""`eks-gpushare completion SHELL`: what a shell needs to complete the command's words."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from eks_gpushare.cli import FINE, WRONG_USAGE
from eks_gpushare.cli.streams import print_json

if TYPE_CHECKING:
    import argparse

COMMAND = "eks-gpushare"
_SHELLS = ("bash", "zsh", "fish")
_USE = """\
where to put it:
  bash  eks-gpushare completion bash >> ~/.bash_completion
  zsh   eks-gpushare completion zsh > DIR/_eks-gpushare   DIR is one of $fpath
  fish  eks-gpushare completion fish > ~/.config/fish/completions/eks-gpushare.fish
"""
_NOT_INSTALLED = (
    "eks-gpushare: what shells ask is not installed: pip install 'eks-gpushare-checks[completion]'"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `completion`."""
    import argparse

    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _USE
    parser.add_argument("shell", choices=_SHELLS, metavar="SHELL", help=", ".join(_SHELLS))


def run(options: argparse.Namespace) -> int:
    """Print the script. On each TAB it asks the command itself, in the environment of then."""
    if find_spec("argcomplete") is None:
        print(_NOT_INSTALLED, file=sys.stderr)
        return WRONG_USAGE
    from argcomplete.shell_integration import shellcode

    script = shellcode([COMMAND], shell=options.shell).strip()
    if options.json:
        print_json({"shell": options.shell, "script": script})
    else:
        print(script)
    return FINE
