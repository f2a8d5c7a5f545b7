"""The engine with this package's plugin."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.engine.conftest import Engine

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def plugin_on_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin as an executable, which the engine finds on PATH."""
    path = tmp_path_factory.mktemp("plugin") / "pulumi-resource-eks-gpushare"
    parts = (f"PYTHONPATH={ROOT / 'components'}", sys.executable, str(ROOT / "plugin"))
    quoted = " ".join(f"'{each}'" for each in parts)
    path.write_text(f'#!/bin/sh\nexec env {quoted} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture(scope="session")
def new_engine(engine_with: Callable[..., Engine], plugin_on_path: Path) -> Callable[[], Engine]:
    """Makes an engine that has the plugin, with a state of its own."""
    built = {"eks-gpushare": str(plugin_on_path)}
    return lambda: engine_with("aws", "eks", "kubernetes", **built)
