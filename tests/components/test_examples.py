"""The example programs run, and register what they say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/__main__.py"))


@pytest.fixture(params=EXAMPLES, ids=lambda path: path.name)
def example(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def run(record: Callable[..., Run], example: Path, *, preview: bool = True) -> Run:
    project = yaml.safe_load((example / "Pulumi.yaml").read_text(encoding="utf-8"))
    config = project.get("config") or {"demo:none": ""}
    return record(example, project=project["name"], config=config, preview=preview)


@pytest.mark.parametrize("preview", [True, False], ids=["preview", "update"])
def test_an_example_runs_without_a_warning(
    record: Callable[..., Run],
    example: Path,
    preview: bool,
) -> None:
    assert run(record, example, preview=preview).warnings == []


def test_an_example_registers_what_its_golden_file_says(
    record: Callable[..., Run], example: Path, golden: Callable[[str, str], None]
) -> None:
    made = run(record, example)

    golden(f"examples/{example.name}.txt", "\n".join(made.urns) + "\n")


def test_an_example_is_a_project_of_its_own(example: Path) -> None:
    project = yaml.safe_load((example / "Pulumi.yaml").read_text(encoding="utf-8"))

    assert project["name"] == example.name
    assert project["runtime"] == {
        "name": "python",
        "options": {"toolchain": "pip", "virtualenv": "../../.venv"},
    }


def test_every_example_is_in_the_list() -> None:
    readme = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")

    assert [each.name for each in EXAMPLES if f"]({each.name}/__main__.py)" not in readme] == []


def test_every_component_has_an_example() -> None:
    import eks_gpushare

    components = {name.removesuffix("Args") for name in eks_gpushare.__all__ if "Args" in name}
    text = "".join((each / "__main__.py").read_text(encoding="utf-8") for each in EXAMPLES)

    assert {name for name in components if f"{name}(" not in text} == set()
