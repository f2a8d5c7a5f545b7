from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import pytest

import eks_gpushare


def loaded_by(statement: str) -> set[str]:
    """Top-level names of the modules that a statement loads in a new interpreter."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in run.stdout.split()}


def test_the_package_loads_no_sdk() -> None:
    heavy = {name for name in loaded_by("import eks_gpushare") if name.startswith("pulumi")}

    assert heavy == set()


@pytest.mark.parametrize("name", [name for name in eks_gpushare.__all__ if name != "__version__"])
def test_an_export_is_what_its_module_defines(name: str) -> None:
    exported = getattr(eks_gpushare, name)

    assert exported.__name__ == name
    assert exported.__module__.startswith("eks_gpushare.")


def test_the_version_is_the_distributions() -> None:
    assert eks_gpushare.__version__ == importlib.metadata.version("eks-gpushare")


def test_every_export_is_listed() -> None:
    assert set(eks_gpushare.__all__) <= set(dir(eks_gpushare))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError) as refusal:
        getattr(eks_gpushare, "GpuPond")  # noqa: B009 (a type checker would refuse the plain form)

    assert str(refusal.value) == "module 'eks_gpushare' has no attribute 'GpuPond'"
