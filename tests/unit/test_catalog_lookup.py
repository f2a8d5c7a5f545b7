"""A stack's own entries and the package's facts in one catalog."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

from eks_gpushare.catalog import Catalog, Gpu, InstanceType, gpu_instance_types

NEW = InstanceType(
    name="g9.xlarge",
    vcpus=4,
    memory_mib=16384,
    arch="amd64",
    gpu=Gpu("L9", 49152, "rubin", (13, 0), mig_capable=True),
    gpu_count=1,
    api_gpu_count=1,
)


def test_the_package_knows_gpu_types() -> None:
    assert Catalog().find("p3.8xlarge") is gpu_instance_types()["p3.8xlarge"]


def test_the_package_knows_types_without_a_gpu() -> None:
    found = Catalog().find("m5.large")

    assert found is not None
    assert found.gpu is None


def test_an_unknown_type_is_none() -> None:
    assert Catalog().find("g9.xlarge") is None


def test_a_stack_adds_a_type() -> None:
    catalog = Catalog({NEW.name: NEW})

    assert catalog.find("g9.xlarge") is NEW
    assert catalog.gpu_types()["g9.xlarge"] is NEW


def test_a_stack_corrects_a_type() -> None:
    dearer = dataclasses.replace(gpu_instance_types()["g5.xlarge"], prices={"us-east-1": 2.0})
    catalog = Catalog({dearer.name: dearer})

    assert catalog.find("g5.xlarge") is dearer
    assert catalog.gpu_types()["g5.xlarge"] is dearer
    assert len(catalog.gpu_types()) == len(gpu_instance_types())


def test_a_stacks_type_without_a_gpu_is_no_gpu_type() -> None:
    plain = InstanceType(name="m99.large", vcpus=2, memory_mib=8192, arch="amd64")

    assert "m99.large" not in Catalog({plain.name: plain}).gpu_types()


def test_a_type_needs_only_its_size() -> None:
    plain = InstanceType(name="m99.large", vcpus=2, memory_mib=8192, arch="amd64")

    assert (plain.price("us-east-1"), plain.max_pods, plain.gpu_count) == (None, None, 0)


def test_importing_the_catalog_reads_no_data_and_imports_nothing_of_weight() -> None:
    script = (
        "import sys; import eks_gpushare.catalog as c; from eks_gpushare.catalog import _data;"
        "assert _data.load.cache_info().currsize == 0;"
        "print(sorted({'pulumi', 'pydantic', 'yaml', 'rich', 'grpc'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"
