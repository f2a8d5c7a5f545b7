"""What the words of the command may be, for shells: stacks, types, layouts, files.

A completer is chosen by what an argument is called in `--help`, so that verbs of other packages
have it too.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Completer = Callable[..., Iterable[str]]


def words_so_far() -> list[str]:
    """The words of the line that is being completed, without the command."""
    from argcomplete.lexers import split_line

    line = os.environ.get("COMP_LINE", "")
    *_, words, _ = split_line(line, int(os.environ.get("COMP_POINT", len(line))))
    return list(words[1:])


def complete(parser: argparse.ArgumentParser) -> None:
    """Print what may come next, and end the process."""
    from argcomplete import autocomplete

    for action in _actions(parser):
        known = _BY_METAVAR.get(str(action.metavar))
        if known is not None and action.choices is None:
            action.completer = known  # type: ignore[attr-defined]  # where argcomplete looks for it
    autocomplete(parser, always_complete_options=False)


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:  # noqa: SLF001  (argparse has no other list of them)
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for inner in action.choices.values():
                yield from _actions(inner)


def _stacks(prefix: str, **_: Any) -> list[str]:
    """Names of the project's stacks, or else files."""
    from eks_gpushare.stack_file.project import ProjectError, find_project, stack_name

    try:
        folder = find_project(Path.cwd()).stacks
        names = [stack_name(file) for file in folder.glob("Pulumi.*.yaml")]
    except (ProjectError, OSError):
        names = []
    fitting = sorted(name for name in names if name.startswith(prefix))
    return fitting or _files(prefix)


def _files(prefix: str) -> list[str]:
    from argcomplete.completers import FilesCompleter

    return list(FilesCompleter(["yaml", "yml"])(prefix))


def _folders(prefix: str, **_: Any) -> list[str]:
    from argcomplete.completers import DirectoriesCompleter

    return list(DirectoriesCompleter()(prefix))


def _types(parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """Instance types with a GPU; of `mig` those with MIG, and GPU models."""
    from eks_gpushare.catalog import Catalog, mig_models, why_no_mig

    types = Catalog().gpu_types().values()
    if parsed_args.verb != "mig":
        return [instance_type.name for instance_type in types if not instance_type.retired]
    return [
        *(instance_type.name for instance_type in types if why_no_mig(instance_type) is None),
        *mig_models(),
    ]


def _layouts(parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    from eks_gpushare.catalog import mig_models, named_layouts
    from eks_gpushare.scaffold.choices import layouts_of

    name = getattr(parsed_args, "type", None) or ""
    model = mig_models().get(name)
    return list(named_layouts(model)) if model is not None else layouts_of(name)


def _regions(**_: Any) -> list[str]:
    from eks_gpushare.scaffold.choices import regions

    return regions()


def _codes(**_: Any) -> list[str]:
    from eks_gpushare.cli.known_names import known_names

    return list(known_names())


def _one_of(words: Sequence[str]) -> Completer:
    return lambda **_: list(words)


_BY_METAVAR: dict[str, Completer] = {
    "CODE|POLICY": _codes,
    "DIR": _folders,
    "LAYOUT": _layouts,
    "MANAGER": _one_of(("devicePlugin", "gpuOperator")),
    "MODE": _one_of(("exclusive", "timeSlicing", "mps", "mig")),
    "REGION": _regions,
    "STACK": _stacks,
    "TYPE": _types,
}
