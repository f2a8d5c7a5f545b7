"""Packages that Pulumi generates, where no compiler of the language is needed to look at them."""

from __future__ import annotations

import json
import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from tests.engine.languages import CSHARP, EXAMPLES, JAVA, SCHEMA, generate, skip_without

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.engine.conftest import Engine

pytestmark = [pytest.mark.slow]


@pytest.fixture(scope="module")
def logo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An icon, which the package for C# has to have and its generator downloads."""
    folder = tmp_path_factory.mktemp("logo")
    (folder / "logo.png").write_bytes(b"\x89PNG\r\n")
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/logo.png"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def csharp(
    new_engine: Callable[[], Engine], tmp_path_factory: pytest.TempPathFactory, logo: str
) -> Path:
    skip_without("pulumi-language-dotnet")
    directory = tmp_path_factory.mktemp("csharp")
    file = directory / "schema.json"
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**schema, "logoUrl": logo}), encoding="utf-8")
    return generate(CSHARP, new_engine(), directory, file)


def test_the_package_for_csharp_refers_to_the_one_whose_provider_it_gives(csharp: Path) -> None:
    cluster = (csharp / "EksCluster.cs").read_text(encoding="utf-8")
    project = (csharp / "Pulumi.EksGpushare.csproj").read_text(encoding="utf-8")

    assert "Output<Pulumi.Kubernetes.Provider> Provider" in cluster
    assert '<PackageReference Include="Pulumi.Kubernetes"' in project


def members(file: Path, kind: str) -> set[str]:
    """Properties of a class, as its file declares them."""
    text = file.read_text(encoding="utf-8")
    body = text.partition(f"class {kind} ")[2].partition("\n    }\n")[0]
    return set(re.findall(r"^        public [^(=]*?(\w+)(?= \{|$| => )", body, re.MULTILINE))


def initializers(program: str) -> Iterator[tuple[str, set[str]]]:
    """What each `new SomethingArgs { ... }` sets, without what is set within that."""
    for found in re.finditer(r"new (?:Kubernetes\.)?(\w+Args)\s*\{", program):
        depth, own = 1, ""
        for character in program[found.end() :]:
            depth += {"{": 1, "}": -1}.get(character, 0)
            if not depth:
                break
            own += character if depth == 1 else ""
        yield found[1], set(re.findall(r"(?:^|,)\s*(\w+) =", own))


def test_the_program_in_csharp_uses_what_the_package_has(csharp: Path) -> None:
    program = (EXAMPLES / "csharp" / "Program.cs").read_text(encoding="utf-8")
    looked_at = set()
    for kind, names in initializers(program):
        if kind == "ProviderArgs":  # Pulumi.Kubernetes has it
            continue
        places = (csharp / f"{kind.removesuffix('Args')}.cs", csharp / "Inputs" / f"{kind}.cs")
        (file,) = (each for each in places if f"class {kind} " in text(each))
        assert names
        assert names <= members(file, kind), kind
        looked_at.add(kind)

    assert looked_at == {
        *("NetworkArgs", "EksClusterArgs", "SystemNodesArgs", "GpuPoolArgs", "DevicePluginArgs"),
        *("EndpointArgs", "PoolArgs", "NodesArgs", "SharingArgs"),
    }


def text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


def test_the_package_for_java_finds_the_provider_of_the_other_one(
    new_engine: Callable[[], Engine], tmp_path: Path
) -> None:
    skip_without("pulumi-language-java")
    package = generate(JAVA, new_engine(), tmp_path)
    sources = package / "src" / "main" / "java" / "com" / "pulumi" / "eksgpushare"

    cluster = (sources / "EksCluster.java").read_text(encoding="utf-8")
    assert "import com.pulumi.kubernetes.Provider;" in cluster
