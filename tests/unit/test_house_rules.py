"""Rules of this repository that no linter knows.

Each rule is a function from source text to complaints. It is held against a bad sample once, so
that it can fail, and against every file that it is meant for.
"""

from __future__ import annotations

import ast
import gc
import re
import subprocess
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "components" / "eks_gpushare"
LAB = ROOT / "components" / "eks_gpushare_lab"
LIBRARY = [file for top in (PACKAGE, LAB, ROOT / "policies") for file in top.rglob("*.py")]
TESTS = list((ROOT / "tests").rglob("*.py"))
TOOLS = [path for top in ("tools", "benchmarks", "examples") for path in (ROOT / top).rglob("*.py")]
EVERYTHING = [*LIBRARY, *TESTS, *TOOLS, *ROOT.glob("*.py")]

COMPONENTS = (
    *("network", "cluster", "system_nodes", "gpu_pool"),
    *("device_plugin", "efa_device_plugin", "gpu_operator", "gpu_manager"),
    *("karpenter", "karpenter_pool", "karpenter_parts"),
    *("cluster_autoscaler", "environment_autoscaler"),
    *("keda", "kueue", "shared_workload", "workload_parts"),
    *("share_verifier", "environment_verifier"),
    *("gpu_metrics", "environment_metrics"),
    *("tenants", "environment_tenants"),
    *("deletion_protection", "environment_parts", "environment"),
)
COMPONENT_FILES = [file for name in COMPONENTS if (file := PACKAGE / f"{name}.py").exists()]

LAYERS = (
    ("catalog", "documents"),
    ("findings", "reports"),
    ("facts",),
    ("config",),
    ("validation",),
    ("sharing",),
    ("inventory",),
    ("rules",),
    ("stack_file",),
    ("manifests",),
    ("lint", "scaffold"),
    ("live",),
    ("cli",),
    ("args", "kubernetes_provider"),
    ("inputs",),
    ("one_declaration",),
    ("served",),
    ("aws", "in_cluster"),
    COMPONENTS,
    ("aws_lookups", "plugin"),
    ("program",),
    ("engine_config", "testing"),
    ("stack",),
    ("program_verbs",),
)
"""Each layer may import itself and those before it."""

LAB_LAYERS = (
    ("rules", "errors", "client"),
    ("host",),
    ("binaries",),
    ("control_plane",),
    ("observing",),
    ("simulated_node",),
    ("install",),
    ("cloud",),
    ("controllers",),
    ("session",),
    ("nvidia",),
    ("engine", "reporting"),
    ("run",),
    ("command",),
)
"""The same of the lab, which may import all of the library; the library imports nothing of it."""

PURE = tuple(room for layer in LAYERS[: 1 + LAYERS.index(("cli",))] for room in layer)
"""What is the distribution of the checks, and so starts without what the components need."""
HEAVY = re.compile(r"(pulumi(_\w+)?|grpc|rich|google)(\.|$)")

LINES = 400


def complaints(rule: Callable[[str], list[str]], files: list[Path]) -> list[str]:
    assert files, "the rule is held against no file at all"
    return [
        f"{file.relative_to(ROOT)}:{complaint}"
        for file in files
        for complaint in rule(file.read_text(encoding="utf-8"))
    ]


def assert_none(found: list[str]) -> None:
    assert not found, "\n".join(["", *found])


@pytest.fixture(scope="module", autouse=True)
def _thawed() -> Iterator[None]:
    """Leave nothing frozen: programs that are run later freeze for themselves what is there."""
    yield
    gc.unfreeze()


@cache
def parsed(source: str) -> ast.Module:
    """The tree of a file, which several rules look at: nothing of it is garbage, now or later."""
    gc.disable()
    try:
        return ast.parse(source)
    finally:
        gc.freeze()
        gc.enable()


BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


@cache
def statements(source: str) -> tuple[ast.AST, ...]:
    """All statements of a file; its expressions, which take long to walk, have none."""
    found: list[ast.AST] = [parsed(source)]
    for scope in found:
        for field in BODIES:
            found += getattr(scope, field, None) or ()
    return tuple(found)


def imports(source: str) -> Iterator[tuple[int, str]]:
    """Line and full name of each absolute import, wherever in the file it stands."""
    for node in statements(source):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def is_text(node: ast.stmt) -> TypeGuard[ast.Expr]:
    return isinstance(node, ast.Expr) and (
        isinstance(node.value, ast.JoinedStr)
        or (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str))
    )


def is_sentence(node: ast.expr | None) -> bool:
    """Whether a value is a text of several words, as messages are and names are not."""
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
    )


def describes(previous: ast.stmt | None, text: ast.Expr, scope: ast.AST) -> bool:
    """Whether a bare string is the docstring of its scope or of the attribute assigned above it."""
    if isinstance(text.value, ast.JoinedStr):
        return False
    if previous is None:
        return isinstance(scope, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    if not isinstance(previous, ast.Assign | ast.AnnAssign):
        return False
    if isinstance(scope, ast.FunctionDef):
        target = previous.target if isinstance(previous, ast.AnnAssign) else previous.targets[0]
        if scope.name != "__init__" or not ast.unparse(target).startswith("self."):
            return False
    elif not isinstance(scope, ast.Module | ast.ClassDef):
        return False
    # After a sentence, what goes on in lower case is more likely its lost second half.
    begins = ast.literal_eval(text.value)[:1]
    return not (is_sentence(previous.value) and (begins.islower() or begins.isspace()))


def lost_strings(source: str) -> list[str]:
    """Strings that stand alone: the half of a message that a missing parenthesis or comma lost."""
    found = []
    for scope in statements(source):
        for field in BODIES:
            body = getattr(scope, field, None) or ()
            for previous, node in zip([None, *body], body, strict=False):
                if is_text(node) and (field != "body" or not describes(previous, node, scope)):
                    found.append(f"{node.lineno}: a string that nothing uses")
    return sorted(found)


@pytest.mark.parametrize(
    "sample",
    [
        'def f():\n    """Doc."""\n    raise ValueError("half"\n    )\n    " and half"',
        'def f():\n    x = "half"\n    "other half"',
        'if x:\n    pass\nelse:\n    "alone"',
        'x = 1\nf"{x}"',
        'MESSAGE = "a half"\n" and half"',
        'class C:\n    def f(self):\n        self.x = 1\n        "no constructor"',
        'with x:\n    "first in a block"',
    ],
)
def test_a_lost_string_is_seen(sample: str) -> None:
    assert len(lost_strings(sample)) == 1


def test_a_docstring_is_no_lost_string() -> None:
    sample = (
        '"""M."""\nX = "a"\n"""What X is."""\nclass C:\n    """C."""\n    a: int\n    """A."""\n'
    )

    assert lost_strings(sample) == []


def test_no_string_is_lost() -> None:
    assert_none(complaints(lost_strings, EVERYTHING))


Layers = tuple[tuple[str, ...], ...]


def layer_of(top: str, layers: Layers = LAYERS) -> int | None:
    return next((number for number, layer in enumerate(layers) if top in layer), None)


def upward_imports(top: str, source: str) -> list[str]:
    """Imports against the direction of LAYERS, and SDKs in modules that have to start without."""
    own = layer_of(top)
    if own is None:
        return [f"1: {top} has no place in LAYERS"]
    found = []
    for line, name in imports(source):
        parts = name.split(".")
        theirs = layer_of(parts[1]) if parts[0] == "eks_gpushare" and len(parts) > 1 else None
        if theirs is not None and theirs > own:
            found.append(f"{line}: {top} imports {name}, which is built on it")
        lazily = parts[0] == "eks_gpushare" and len(parts) > 1 and theirs is None
        if lazily and name != "eks_gpushare.__version__":
            found.append(f"{line}: import {name} from its module")
        if parts[0] == LAB.name:
            found.append(f"{line}: {top} imports {name}, which is built on the library")
        if top in PURE and HEAVY.match(name):
            found.append(f"{line}: {top} imports {name}, but has to start without it")
    return found


@pytest.mark.parametrize(
    ("top", "sample"),
    [
        ("catalog", "from eks_gpushare.config import yaml"),
        ("rules", "def f():\n    import eks_gpushare.cli"),
        ("cli", "from eks_gpushare.program_verbs import preview"),
        ("cli", "def f():\n    from rich.table import Table"),
        ("network", "from eks_gpushare.program import run"),
        ("network", "from eks_gpushare import GpuPool"),
        ("sharing", "import pulumi"),
        ("config", "from pulumi_aws.eks import NodeGroup"),
        ("rules", "from rich.table import Table"),
        ("novel", "import json"),
        ("cli", "from eks_gpushare_lab import command"),
    ],
)
def test_an_import_against_the_layers_is_seen(top: str, sample: str) -> None:
    assert len(upward_imports(top, sample)) == 1


def test_imports_follow_the_layers() -> None:
    found = []
    for file in PACKAGE.rglob("*.py"):
        top = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if top not in {"__init__", "__main__"}:
            source = file.read_text(encoding="utf-8")
            found += [f"{file.name}:{complaint}" for complaint in upward_imports(top, source)]

    assert_none(found)


def test_policies_read_programs_without_lint() -> None:
    """Lint is for files that others wrote; what both read with is below it."""
    found = [
        f"{file.relative_to(ROOT)}:{line}: {name}"
        for file in (ROOT / "policies").rglob("*.py")
        for line, name in imports(file.read_text(encoding="utf-8"))
        if name.startswith(f"{PACKAGE.name}.lint")
    ]

    assert_none(found)


def test_the_checks_are_a_distribution_and_the_rest_is_another() -> None:
    checks, rest = (
        tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
            "hatch"
        ]["build"]
        for folder in (".", "components")
    )
    files = {"__init__.py", "__main__.py", "py.typed"}

    assert set(checks["only-include"]) == {
        f"components/{PACKAGE.name}/{name}" for name in {*PURE, *files}
    }
    assert [f"components{name}" for name in rest["exclude"]] == checks["only-include"]


def upward_imports_in_the_lab(top: str, source: str) -> list[str]:
    """Imports against the direction of LAB_LAYERS."""
    own = layer_of(top, LAB_LAYERS)
    if own is None:
        return [f"1: {top} has no place in LAB_LAYERS"]
    found = []
    for line, name in imports(source):
        package, room = [*name.split("."), ""][:2]
        theirs = layer_of(room, LAB_LAYERS) if package == LAB.name else None
        if theirs is not None and theirs > own:
            found.append(f"{line}: {top} imports {name}, which is built on it")
    return found


@pytest.mark.parametrize(
    ("top", "sample"),
    [
        ("host", "from eks_gpushare_lab.errors import LabError\nfrom eks_gpushare_lab import run"),
        ("binaries", "def f():\n    from eks_gpushare_lab.control_plane import state"),
        ("simulated_node", "if TYPE_CHECKING:\n    from eks_gpushare_lab.session import Session"),
        ("novel", "import json"),
    ],
)
def test_an_import_against_the_layers_of_the_lab_is_seen(top: str, sample: str) -> None:
    assert len(upward_imports_in_the_lab(top, sample)) == 1


def test_imports_follow_the_layers_of_the_lab() -> None:
    found = []
    for file in LAB.rglob("*.py"):
        top = file.relative_to(LAB).parts[0].removesuffix(".py")
        if top != "__init__":
            source = file.read_text(encoding="utf-8")
            found += [f"{file.name}:{line}" for line in upward_imports_in_the_lab(top, source)]

    assert_none(found)


def imports_of_the_source_root(source: str) -> list[str]:
    return [
        f"{line}: components/ is a source root, import eks_gpushare"
        for line, name in imports(source)
        if name.split(".")[0] == "components"
    ]


def test_an_import_of_the_source_root_is_seen() -> None:
    assert len(imports_of_the_source_root("from components.eks_gpushare import GpuPool")) == 1


def test_nothing_imports_the_source_root() -> None:
    assert_none(complaints(imports_of_the_source_root, EVERYTHING))


def classes(source: str) -> Iterator[tuple[ast.ClassDef, list[str]]]:
    """The classes of a module with the last names of their bases."""
    for node in parsed(source).body:
        if isinstance(node, ast.ClassDef):
            yield node, [ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases]


def unhostable(source: str) -> list[str]:
    """What Pulumi's component analyzer cannot read, so that other languages lose the component.

    It refuses postponed and quoted annotations, Literal, tuple, unions other than `X | None`, bare
    `list` and `dict`, Annotated and ClassVar.
    """
    found = [
        f"{line}: postponed annotations cannot be hosted"
        for line, name in imports(source)
        if name == "__future__.annotations"
    ]
    for node, bases in classes(source):
        if "TypedDict" not in bases and not node.name.endswith("Args"):
            continue
        for field in (item for item in node.body if isinstance(item, ast.AnnAssign)):
            where = f"{field.lineno}: {node.name}.{ast.unparse(field.target)}"
            found += [f"{where}: {why}" for why in refused(field.annotation)]
    return found


def refused(annotation: ast.expr) -> list[str]:
    found = []
    generics = {id(node.value) for node in ast.walk(annotation) if isinstance(node, ast.Subscript)}
    for node in ast.walk(annotation):
        name = (
            ast.unparse(node).split(".")[-1] if isinstance(node, ast.Name | ast.Attribute) else ""
        )
        if name in {"Literal", "Union", "tuple", "Tuple", "Annotated", "ClassVar"}:
            found.append(f"{name} cannot be hosted")
        if name in {"list", "dict", "List", "Dict"} and id(node) not in generics:
            found.append(f"{name} needs its item type")
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append("a quoted annotation cannot be hosted")
        if isinstance(node, ast.BinOp) and "None" not in {
            ast.unparse(node.left),
            ast.unparse(node.right),
        }:
            found.append("a union cannot be hosted")
    return found


@pytest.mark.parametrize(
    "sample",
    [
        "from __future__ import annotations",
        "class XArgs(TypedDict):\n    a: NotRequired[Literal[1]]",
        "class Nested(TypedDict, total=False):\n    a: int | str",
        "class XArgs(TypedDict):\n    a: tuple[str, ...]",
        "class XArgs(TypedDict):\n    a: 'list[str]'",
        "class XArgs(TypedDict):\n    a: typing.Union[int, str]",
        "class XArgs(TypedDict):\n    a: dict",
    ],
)
def test_args_that_cannot_be_hosted_are_seen(sample: str) -> None:
    assert len(unhostable(sample)) == 1


def test_a_field_that_may_be_none_can_be_hosted() -> None:
    sample = "class XArgs(TypedDict):\n    a: NotRequired[pulumi.Input[list[str]] | None]"

    assert unhostable(sample) == []


def test_component_args_can_be_hosted() -> None:
    assert_none(complaints(unhostable, COMPONENT_FILES))


def undescribed(source: str) -> list[str]:
    """Public classes, args fields and component attributes without a docstring."""
    found = []
    for node, _ in classes(source):
        if node.name.startswith("_"):
            continue
        if ast.get_docstring(node) is None:
            found.append(f"{node.lineno}: {node.name} has no docstring")
        for item, below in zip(node.body, [*node.body[1:], None], strict=True):
            if not isinstance(item, ast.AnnAssign | ast.Assign):
                continue
            target = item.target if isinstance(item, ast.AnnAssign) else item.targets[0]
            name = ast.unparse(target)
            if not name.startswith("_") and (below is None or not is_text(below)):
                found.append(f"{item.lineno}: {node.name}.{name} has no docstring")
    return found


@pytest.mark.parametrize(
    "sample",
    [
        'class XArgs(TypedDict):\n    """X."""\n    a: int\n    b: int\n    """B."""',
        'class X(pulumi.ComponentResource):\n    """X."""\n    a: pulumi.Output[str]',
        "class X:\n    pass",
    ],
)
def test_an_undescribed_attribute_is_seen(sample: str) -> None:
    assert len(undescribed(sample)) == 1


def test_args_and_outputs_of_components_are_described() -> None:
    assert_none(complaints(undescribed, COMPONENT_FILES))


def holds_tests(source: str) -> bool:
    tree = parsed(source)
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        for body in (tree.body, *(top.body for top in tree.body if isinstance(top, ast.ClassDef)))
        for node in body
    )


def test_a_file_with_tests_is_seen() -> None:
    assert holds_tests("class TestX:\n    def test_y(self):\n        pass")


def test_every_file_with_tests_is_collected() -> None:
    lost = [
        str(file.relative_to(ROOT))
        for file in TESTS
        if not file.name.startswith("test_") and holds_tests(file.read_text(encoding="utf-8"))
    ]

    assert_none(lost)


def test_names_of_test_files_are_unique() -> None:
    names = [file.name for file in TESTS if file.name != "conftest.py"]

    assert sorted(set(names)) == sorted(names)


_OF_A_BLOCK = "the component, and the block of a stack file that asks for it"
TWO_CLASSES = {
    **dict.fromkeys(("ClusterAutoscaler", "Karpenter", "KarpenterPool", "Keda"), _OF_A_BLOCK),
    "SystemNodes": _OF_A_BLOCK,
    "Workload": "the block of a stack file, and what Kubernetes calls so",
}
"""Names of two public classes, and why."""
_OF_THEIR_OWN = (
    # Types of arguments have the names of their tokens, which never change.
    PACKAGE / "args",
    # Programs that run in clusters without any of this.
    PACKAGE / "in_cluster" / "data",
)


def twins(sources: Iterable[str]) -> list[str]:
    """Names of public classes that stand in several sources."""
    named = Counter(
        node.name
        for source in sources
        for node in statements(source)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return sorted(name for name, count in named.items() if count > 1)


def test_two_classes_of_one_name_are_seen() -> None:
    assert twins(["class A: ...\nclass _B: ...", "class A: ...\nclass _B: ..."]) == ["A"]
    assert twins(["class A: ...", "class B: ..."]) == []


def test_different_things_have_different_names() -> None:
    files = [file for file in LIBRARY if not any(map(file.is_relative_to, _OF_THEIR_OWN))]

    assert twins(file.read_text(encoding="utf-8") for file in files) == sorted(TWO_CLASSES)


def too_long(source: str) -> list[str]:
    lines = source.count("\n")
    return [f"{lines}: split it, {LINES} lines are the limit"] if lines > LINES else []


def test_a_module_too_long_is_seen() -> None:
    assert len(too_long("\n" * (LINES + 1))) == 1


def test_no_module_is_too_long() -> None:
    assert_none(complaints(too_long, LIBRARY))


# Put together here, so that this file does not name what it forbids.
FOLDERS = "work|root|home|Users"
HOSTS = (
    *(f"{name}.org" for name in ("pypi", "proxy.golang", "registry.npmjs")),
    "files." + "pythonhosted",
    "crates" + ".io",
    "index" + "-url",
)


def names_a_machine(source: str) -> list[str]:
    """Paths of somebody's machine, and hosts of package registries: both differ elsewhere."""
    path = re.compile(rf"(?<![\w.-])/({FOLDERS})/[\w.]")
    if not path.search(source) and not any(host in source for host in HOSTS):
        return []
    return [
        f"{number}: {line.strip()[:80]}"
        for number, line in enumerate(source.splitlines(), 1)
        if path.search(line) or any(host in line for host in HOSTS)
    ]


@pytest.mark.parametrize(
    "sample", ["see /home" + "/me/x", *(f"https://{host}/x" for host in HOSTS)]
)
def test_a_machine_is_seen(sample: str) -> None:
    assert len(names_a_machine(sample)) == 1


def test_the_path_of_an_address_is_no_machine() -> None:
    assert names_a_machine("https://console.aws.amazon.com/servicequotas/home/services") == []


def test_no_file_names_a_machine() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607  (any git)
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("no git work tree here: which files belong to the project is unknown")
    files = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    texts = [file for file in files if file.is_file() and b"\0" not in file.read_bytes()]

    assert_none(complaints(names_a_machine, texts))
