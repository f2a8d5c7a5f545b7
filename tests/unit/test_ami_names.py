"""AMI types by the parameters and the names that images of theirs are looked up by."""

from __future__ import annotations

import pytest

from eks_gpushare.catalog.ami_names import PARAMETERS, ami_type_of


@pytest.mark.parametrize("kind", PARAMETERS)
@pytest.mark.parametrize("version", ["1.33", "1.3*", "${unknown}"])
def test_a_parameter_names_images_of_one_type(kind: str, version: str) -> None:
    path = f"/aws/service/{PARAMETERS[kind].format(version)}"

    assert ami_type_of(f"{path}/recommended/image_id") == kind
    assert ami_type_of(f"{path}/latest") == kind
    assert ami_type_of(f"resolve:ssm:{path}/recommended/image_id:3") == kind
    assert ami_type_of(path) is None
    assert ami_type_of(f"{path}/recommended/release_version") is None


# Names as they were published: amazon-eks-ami and bottlerocket, releases of 2025 and 2026.
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("amazon-eks-node-1.30-v20250519", "AL2_x86_64"),
        ("amazon-eks-gpu-node-1.30-v20250519", "AL2_x86_64_GPU"),
        ("amazon-eks-arm64-node-1.30-v20250519", "AL2_ARM_64"),
        ("amazon-eks-node-al2023-x86_64-standard-1.33-v20260714", "AL2023_x86_64_STANDARD"),
        ("amazon-eks-node-al2023-x86_64-nvidia-1.33-*", "AL2023_x86_64_NVIDIA"),
        ("amazon-eks-node-al2023-arm64-nvidia-1.33-v20260714", "AL2023_ARM_64_NVIDIA"),
        ("amazon-eks-node-al2023-x86_64-neuron-${unknown}-*", "AL2023_x86_64_NEURON"),
        ("bottlerocket-aws-k8s-1.33-x86_64-v1.46.0-5e9f6d3c", "BOTTLEROCKET_x86_64"),
        ("bottlerocket-aws-k8s-1.33-nvidia-aarch64-v1.46.0-5e9f6d3c", "BOTTLEROCKET_ARM_64_NVIDIA"),
        ("amazon-eks-node-*", None),
        ("ubuntu-eks/k8s_1.33/images/hvm-ssd/ubuntu-jammy", None),
        ("amazon-eks-node-1.30.5-own", None),
        ("my-amazon-eks-node-1.30", None),
        ("", None),
    ],
)
def test_a_name_is_of_one_type(name: str, kind: str | None) -> None:
    assert ami_type_of(name) == kind
