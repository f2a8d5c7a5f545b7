"""An emulation of AWS that is silent or gone: one sentence, and no traceback of a library."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
import urllib3

from eks_gpushare_lab.cloud.emulation import Cloud
from eks_gpushare_lab.errors import LabError

if TYPE_CHECKING:
    from pathlib import Path


def cloud(folder: Path, url: str) -> Cloud:
    made = Cloud(cast("Any", SimpleNamespace(logs=folder)), cast("Any", None))
    made.url = url
    return made


def test_one_that_never_answers_is_said_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        asked = cloud(tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}")
        asked._pool = urllib3.PoolManager(retries=False, timeout=0.1)  # noqa: SLF001  (else 10 s)
        asked._process = cast("Any", SimpleNamespace(poll=lambda: None))  # noqa: SLF001  (it runs)

        with pytest.raises(LabError, match=r"^the emulation of AWS gives no answer \(.*\); see "):
            asked.machines()


def test_one_that_is_gone_is_said_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    with pytest.raises(LabError) as raised:
        cloud(tmp_path, f"http://127.0.0.1:{port}").machines()
    assert str(raised.value) == f"the emulation of AWS has ended; see {tmp_path / 'aws.log'}"
