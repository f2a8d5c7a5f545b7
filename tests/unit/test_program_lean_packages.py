"""Each test asks a fresh interpreter: what is loaded is the fact under test."""

from __future__ import annotations

import builtins
import importlib.util
import json
import subprocess
import sys
from textwrap import dedent
from types import ModuleType
from typing import TYPE_CHECKING

import pulumi
import pytest
from tests.conftest import sampled

from eks_gpushare.program.running.lean_classes import ClassesLoader

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.sdk_internals


def ask(code: str, *, lean: bool = True) -> object:
    """Run `code` with lean packages on, or without; return what it assigns to `answer`."""
    lines = [
        "import contextlib, json, sys",
        "from eks_gpushare.program.running.lean_packages import lean_packages",
        f"with {'lean_packages' if lean else 'contextlib.nullcontext'}():",
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
    [
        *("pulumi_aws.eks", "pulumi_aws.iam"),
        pytest.param("pulumi_aws.ec2", marks=pytest.mark.at_length),
        pytest.param("pulumi_kubernetes.core.v1", marks=pytest.mark.at_length),
    ],
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


def test_a_class_builds_those_that_it_mentions_only() -> None:
    built = ask("""
        from pulumi_kubernetes.core.v1 import Namespace
        package = "pulumi_kubernetes.core.v1"
        answer = [
            sorted(
                name for name, each in vars(sys.modules[module]).items()
                if getattr(each, "__module__", "") == module
            )
            for module in (f"{package}._inputs", f"{package}.outputs")
        ]
    """)

    assert built == [["NamespaceSpecArgs", "NamespaceSpecArgsDict"], []]


@pytest.mark.parametrize(
    "package",
    [
        "pulumi_aws.eks",
        pytest.param("pulumi_eks", marks=pytest.mark.at_length),
        pytest.param("pulumi_kubernetes.core.v1", marks=pytest.mark.at_length),
    ],
)
def test_every_class_is_the_one_that_is_built_without(package: str) -> None:
    described = f"""
        import contextlib, importlib, pathlib, re, typing
        import pulumi
        known = {{"Output": pulumi.Output, "T": type(None)}}
        def hints(of):
            try:
                return str(typing.get_type_hints(of, localns=known))
            except NameError as error:
                return str(error)
        package, answer = importlib.import_module("{package}"), {{}}
        files = sorted(pathlib.Path(package.__file__).parent.glob("*.py"))
        for file in (each for each in files if each.stem != "__init__"):
            module = importlib.import_module(f"{package}.{{file.stem}}")
            for name in re.findall(r"^class (\\w+)", file.read_text(), re.MULTILINE):
                found = getattr(module, name)
                getters = [each.fget for each in vars(found).values() if isinstance(each, property)]
                answer[f"{{file.stem}}.{{name}}"] = [
                    found.__module__, found.__qualname__, found.__doc__, str(found.__bases__),
                    sorted(vars(found)), hints(found), hints(found.__init__), *map(hints, getters),
                ]
    """

    assert ask(described) == ask(described, lean=False)


@pytest.mark.parametrize(
    "ask_for",
    sampled(
        [
            "from pulumi_kubernetes.core.v1 import ContainerArgsDict as found",
            "from pulumi_kubernetes.core.v1._inputs import ContainerArgsDict as found",
            "from pulumi_kubernetes.core.v1.Pod import ContainerArgsDict as found",
            "import pulumi_kubernetes as k8s; found = k8s.core.v1.ContainerArgsDict",
            "dir(v1); found = v1.ContainerArgsDict",
            "from pulumi_kubernetes.core.v1 import *; found = ContainerArgsDict",
        ],
        3,
    ),
)
def test_a_nested_type_is_the_same_wherever_it_is_asked_for(ask_for: str) -> None:
    answer = ask(f"""
        from typing import is_typeddict
        from pulumi_kubernetes.core import v1
        v1.Pod, v1.ContainerArgs
        {ask_for}
        answer = [
            is_typeddict(found), sorted(found.__required_keys__), "image" in found.__annotations__,
            found is v1.ContainerArgsDict, v1.ContainerArgs is v1._inputs.ContainerArgs,
        ]
    """)

    assert answer == [True, ["name"], True, True, True]


_MODULE = """
import pulumi
__all__ = ["First", "Second"]
@pulumi.type_token("a:b:First")
class First:
    second: "Second"
    class Inner:
        pass
class Second(str):
    pass
"""


def made(tmp_path: Path, text: str) -> tuple[ModuleType, list[str]]:
    """A module of this text, and what its namespace holds of it at first."""
    (tmp_path / "some.py").write_text(text, encoding="utf-8")
    loader = ClassesLoader("some", str(tmp_path / "some.py"))
    spec = importlib.util.spec_from_loader("some", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module, [name for name in vars(module) if not name.startswith("__")]


def test_classes_are_built_when_they_are_asked_for(tmp_path: Path) -> None:
    module, at_first = made(tmp_path, _MODULE)

    assert at_first == ["pulumi"]
    assert module.First.Inner.__qualname__ == "First.Inner"
    assert vars(module)["Second"].__mro__[1] is str  # which the hint of First names
    assert pulumi.get_type_token(module.First) == "a:b:First"
    assert module.pulumi is pulumi
    assert {"First", "Second", "__all__"} <= set(dir(module))
    assert module.__all__ == ("First", "Second")
    assert vars(module)["__builtins__"] is vars(builtins)


@pytest.mark.parametrize(
    "more",
    [
        pytest.param("def function() -> None: ...", id="a function"),
        pytest.param("one = First()", id="an object of a class"),
        pytest.param("First.other = 1", id="an attribute of a class"),
        pytest.param("class Third(Second): ...", id="a class of a class"),
        pytest.param("del __all__", id="no list of names"),
    ],
)
def test_a_module_that_does_more_than_hold_classes_is_run_as_ever(
    tmp_path: Path, more: str
) -> None:
    module, at_first = made(tmp_path, f"{_MODULE}{more}\n")

    assert {"First", "Second"} <= set(at_first)
    assert type(module) is ModuleType


def test_what_is_wrong_with_a_module_is_told_as_ever(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        made(tmp_path, f"{_MODULE}1 / 0\n")


def test_what_only_an_engine_needs_is_loaded_when_it_is_used() -> None:
    loaded = ask("""
        import pulumi
        costly = {"dill", "urllib.request", "grpc.aio._channel"}
        answer = [
            sorted(costly & sys.modules.keys()),
            pulumi.automation.LocalWorkspace.__name__,
            pulumi.dynamic.Resource.__name__,
        ]
        import grpc
        answer += [grpc.aio.Channel.__name__, "dill" in sys.modules]
    """)

    assert loaded == [[], "LocalWorkspace", "Resource", "Channel", True]


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
