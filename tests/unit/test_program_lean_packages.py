"""Each test asks a fresh interpreter: what is loaded is the fact under test."""

from __future__ import annotations

import json
import subprocess
import sys
from textwrap import dedent

import pytest

pytestmark = pytest.mark.sdk_internals


def ask(code: str) -> object:
    """Run `code` with lean packages on; return what it assigns to `answer`."""
    lines = [
        "import json, sys",
        "from eks_gpushare.program.running.lean_packages import lean_packages",
        "with lean_packages():",
        *(f"    {line}" for line in dedent(code).strip().splitlines()),
        "print(json.dumps(answer))",
    ]
    command = [sys.executable, "-W", "ignore", "-c", "\n".join(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    answer: object = json.loads(done.stdout)
    return answer


def test_a_class_loads_its_own_module_only() -> None:
    loaded = ask("""
        from pulumi_aws.ec2 import Vpc
        answer = sorted(name for name in sys.modules if name.startswith("pulumi_aws.ec2."))
    """)

    assert loaded == ["pulumi_aws.ec2.vpc"]


def test_a_class_with_nested_types_loads_them_too() -> None:
    loaded = ask("""
        from pulumi_aws.ec2 import LaunchTemplate
        answer = sorted(name for name in sys.modules if name.startswith("pulumi_aws.ec2."))
    """)

    assert loaded == [
        "pulumi_aws.ec2._enums",
        "pulumi_aws.ec2._inputs",
        "pulumi_aws.ec2.launch_template",
        "pulumi_aws.ec2.outputs",
    ]


@pytest.mark.parametrize(
    "package",
    ["pulumi_aws.ec2", "pulumi_aws.eks", "pulumi_aws.iam", "pulumi_kubernetes.core.v1"],
)
def test_every_name_of_a_package_is_the_same_object_as_when_loaded_whole(package: str) -> None:
    different = ask(f"""
        import ast, importlib, pathlib
        module = importlib.import_module("{package}")
        files = pathlib.Path(module.__file__).parent.glob("*.py")
        names = []
        for file in files:
            for node in ast.parse(file.read_text()).body:
                if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
                    names += ast.literal_eval(node.value)
        names = [name for name in names if name != "outputs"]
        lean = {{}}
        for name in names:
            if len(lean) % 10 == 0 or name.endswith(("Args", "Result", "output")):
                lean[name] = getattr(module, name, None)
        dir(module)
        answer = [name for name in lean if lean[name] is not getattr(module, name, None)]
        answer += [name for name in ("outputs", names[0]) if not hasattr(module, name)]
    """)

    assert different == []


def test_a_class_named_like_its_module_is_the_class() -> None:
    kinds = ask("""
        from pulumi_kubernetes.core.v1.ConfigMap import ConfigMap as direct
        from pulumi_kubernetes.core import v1
        answer = [v1.ConfigMap is direct, type(v1.Namespace).__name__]
    """)

    assert kinds == [True, "type"]


def test_a_function_and_its_output_form_are_found() -> None:
    loaded = ask("""
        from pulumi_aws.eks import get_cluster, get_cluster_output, GetClusterResult
        answer = sorted(name for name in sys.modules if name.startswith("pulumi_aws.eks."))
    """)

    assert loaded == ["pulumi_aws.eks.get_cluster", "pulumi_aws.eks.outputs"]


def test_a_nested_type_is_found() -> None:
    assert (
        ask("""
        import pulumi_aws as aws
        answer = aws.eks.NodeGroupScalingConfigArgs.__module__
    """)
        == "pulumi_aws.eks._inputs"
    )


@pytest.mark.parametrize(
    "ask_for",
    [
        "from pulumi_kubernetes.core.v1 import ContainerArgsDict as found",
        "import pulumi_kubernetes as k8s; found = k8s.core.v1.ContainerArgsDict",
        "dir(v1); found = v1.ContainerArgsDict",
        "from pulumi_kubernetes.core.v1 import *; found = ContainerArgsDict",
    ],
)
def test_dictionaries_of_nested_types_have_their_keys_once_they_are_asked_for(ask_for: str) -> None:
    answer = ask(f"""
        from typing import is_typeddict
        from pulumi_kubernetes.core import v1
        v1.Pod, v1.ContainerArgs
        before = sys.modules["pulumi_kubernetes.core.v1._inputs"].ContainerArgsDict
        {ask_for}
        answer = [
            is_typeddict(before), sorted(before.__annotations__),
            is_typeddict(found), sorted(found.__required_keys__), "image" in found.__annotations__,
            found is v1.ContainerArgsDict, v1.ContainerArgs is v1._inputs.ContainerArgs,
        ]
    """)

    assert answer == [True, [], True, ["name"], True, True, True]


def test_a_star_import_gives_everything() -> None:
    assert ask("""
        scope = {}
        exec("from pulumi_aws.kms import *", scope)
        answer = ["Key" in scope, "get_key" in scope, "CustomKeyStore" in scope]
    """) == [True, True, True]


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    assert (
        ask("""
        import pulumi_aws as aws
        try:
            aws.kms.Nothing
        except AttributeError as error:
            answer = str(error)
    """)
        == "module 'pulumi_aws.kms' has no attribute 'Nothing'"
    )


def test_packages_that_do_more_are_left_alone() -> None:
    assert ask("""
        import pulumi
        from pulumi_aws import config
        from pulumi_kubernetes import core, helm, yaml
        pulumi.runtime.set_all_config({"aws:region": "eu-west-1"})
        names = [helm.v3.Release.__name__, core.v1.ConfigMap.__name__, yaml.ConfigFile.__name__]
        answer = [config.region, *names]
    """) == ["eu-west-1", "Release", "ConfigMap", "ConfigFile"]


def test_afterwards_imports_are_as_ever() -> None:
    assert ask("""
        finders = list(sys.meta_path)
        with lean_packages():
            inside = len(sys.meta_path) - len(finders)
        answer = [inside, sys.meta_path == finders]
    """) == [1, True]
