"""The schemas that programs in YAML are held against."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import grpc  # type: ignore[import-untyped]  # no stubs
import pytest
from pulumi.runtime.proto.codegen import loader_pb2

from eks_gpushare.program.fakes.fakes import Fakes
from eks_gpushare.program.language_host.schemas import Schemas, told
from eks_gpushare.program.language_host.serving import served
from eks_gpushare.program.recording import Recording
from eks_gpushare.program.running.engine import EngineServicer
from eks_gpushare.program.running.monitor import Monitor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Ask = Callable[[str, str], bytes]


ROOT = Path(__file__).parents[2]


@pytest.fixture
def schemas(tmp_path: Path) -> Schemas:
    environment = {"PATH": os.environ["PATH"], "PULUMI_HOME": str(tmp_path)}
    return Schemas(environment, tmp_path)


@pytest.fixture
def ask(schemas: Schemas) -> Iterator[Ask]:
    recording = Recording("demo", "dev")
    monitor, engine = Monitor(recording, Fakes()), EngineServicer(recording)
    with served(monitor, engine, schemas.add_to) as address, grpc.insecure_channel(address) as to:
        method = to.unary_unary(
            "/codegen.Loader/GetSchema",
            request_serializer=loader_pb2.GetSchemaRequest.SerializeToString,
            response_deserializer=loader_pb2.GetSchemaResponse.FromString,
        )

        def asked(package: str, version: str) -> bytes:
            request = loader_pb2.GetSchemaRequest(package=package, version=version)
            return bytes(method(request).schema)

        yield asked


def test_that_of_this_package_is_at_hand(ask: Ask) -> None:
    schema = json.loads(ask("eks-gpushare", ""))

    assert "eks-gpushare:index:GpuPool" in schema["resources"]


def test_what_is_not_there_is_told_with_the_command_that_brings_it(
    ask: Ask, schemas: Schemas
) -> None:
    for version in ("", "4.34.2"):
        with pytest.raises(grpc.RpcError, match="no plugin of kubernets"):
            ask("kubernets", version)

    assert told(schemas.missing) == (
        "The program needs the schemas of kubernets, from their plugins:\n"
        "  pulumi plugin install resource kubernets 4.34.2"
    )


@pytest.mark.parametrize("serves", [True, False])
def test_others_are_asked_of_their_plugins(ask: Ask, tmp_path: Path, *, serves: bool) -> None:
    folder = tmp_path / "plugins" / "resource-acme-v1.0.0"
    folder.mkdir(parents=True)
    plugin = folder / "pulumi-resource-acme"
    parts = ("PYTHONPATH=" + str(ROOT / "components"), sys.executable, str(ROOT / "plugin"))
    run = " ".join(f"'{each}'" for each in parts)
    plugin.write_text(f'#!/bin/sh\nexec env {run} "$@"\n' if serves else "#!/bin/sh\nexit 1\n")
    plugin.chmod(0o755)

    if serves:
        assert json.loads(ask("acme", ""))["name"] == "eks-gpushare"
    else:
        with pytest.raises(grpc.RpcError, match="no plugin of acme"):
            ask("acme", "")
