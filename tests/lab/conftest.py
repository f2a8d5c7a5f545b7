"""One real control plane for all tests of the lab, and what it takes to look at it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import urllib3
from tests.conftest import together

from eks_gpushare_lab.binaries import build
from eks_gpushare_lab.control_plane.control_plane import ControlPlane
from eks_gpushare_lab.errors import NoGoError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from eks_gpushare_lab.binaries.build import Programs
    from eks_gpushare_lab.control_plane.state import Lab

COMPONENTS = Path(__file__).parents[2] / "components"


@pytest.fixture(scope="session")
def programs() -> Programs:
    """The programs of the lab, built on first use: some minutes, once per machine."""
    try:
        return build.programs()
    except NoGoError as error:
        pytest.skip(f"the lab's programs are neither here nor can they be built: {error}")


@pytest.fixture(scope="session")
def lab_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Labs of these tests live apart from the user's own."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder))
        yield folder


class Shared:
    """A control plane that tests share, from the first that asks for it to the last.

    It ends before the session does: it works while nobody asks it.
    """

    def __init__(self) -> None:
        self.up: ControlPlane | None = None

    def started(self) -> ControlPlane:
        """It, which is begun now if it is not there."""
        if self.up is None:
            up = ControlPlane()
            up.start()
            self.up = up
        return self.up

    def end(self) -> None:
        """End it. Who asks for it afterwards gets a new one."""
        up, self.up = self.up, None
        if up is not None:
            up.stop()


SHARED = {"control_plane": Shared(), "empty_lab": Shared()}
"""By the fixture that hands it out."""


@cache
def _last(session: pytest.Session, fixture: str, group: str | None) -> pytest.Item | None:
    """The test after which nobody asks for a fixture, of those that one process has in a row.

    It is the last of its file: what is made once for a file may clean up in the control plane.
    """
    asking = (
        item.path
        for item in reversed(session.items)
        if together(item.nodeid) == group and fixture in getattr(item, "fixturenames", ())
    )
    file = next(asking, None)
    return next((item for item in reversed(session.items) if item.path == file), None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """End what no further test asks for. No scope of fixtures does: these folders are no packages.

    It would go on working until all else is tried.
    """
    yield
    for fixture, shared in SHARED.items():
        if shared.up and item is _last(item.session, fixture, together(item.nodeid)):
            shared.end()


@pytest.fixture(scope="session")
def shared(programs: Programs, lab_home: Path) -> Iterator[Mapping[str, Shared]]:
    """The control planes that tests share, none of which outlives the session."""
    assert programs.paths
    assert lab_home.is_dir()
    yield SHARED
    for each in SHARED.values():
        each.end()


@pytest.fixture(scope="module")
def control_plane(shared: Mapping[str, Shared], request: pytest.FixtureRequest) -> ControlPlane:
    """The control plane that tests share. Each makes a namespace of its own in it."""
    is_new = shared["control_plane"].up is None
    up = shared["control_plane"].started()
    # Told and not asserted: times on shared machines say nothing about the code.
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    if is_new and reporter is not None:
        reporter.write_line(f"control plane ready after {up.lab.ready_seconds:.1f} s")
    return up


class Client:
    """Talks to the API server as its administrator: `call("GET", "/api/v1/nodes")`.

    Args:
        lab: What it talks to.
        user: As whom else, by impersonation.
        group: That this one is of.
    """

    def __init__(self, lab: Lab, user: str | None = None, group: str | None = None) -> None:
        named = {"Impersonate-User": user, "Impersonate-Group": group}
        self._as = {header: name for header, name in named.items() if name is not None}
        self._server = urllib3.HTTPSConnectionPool(
            "127.0.0.1",
            lab.port,
            timeout=20,
            retries=False,
            ca_certs=str(lab.ca),
            cert_file=str(lab.client_cert),
            key_file=str(lab.client_key),
        )

    def __call__(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """The answer, with its status code as `_code`."""
        kind = "merge-patch+json" if method == "PATCH" else "json"
        content = None if body is None else json.dumps(body)
        headers = {"Content-Type": f"application/{kind}", **self._as}
        answer = self._server.request(method, path, body=content, headers=headers)
        document: dict[str, Any] = json.loads(answer.data)
        return {**document, "_code": answer.status}


@pytest.fixture(scope="module")
def call(control_plane: ControlPlane) -> Client:
    return Client(control_plane.lab)


@pytest.fixture
def namespace(call: Client, request: pytest.FixtureRequest) -> str:
    """A namespace of the test's own, in which pods can be made."""
    name: str = request.node.name.removeprefix("test_").replace("_", "-")[:60].strip("-")
    call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    assert wait_until(lambda: call("GET", account)["_code"] == 200)
    return name


def wait_until(holds: Callable[[], bool], seconds: float = 20) -> bool:
    """Whether something comes true in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def is_running(pid: int) -> bool:
    """Whether a process is there and not only waiting to be reaped."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


@pytest.fixture
def components() -> str:
    """What PYTHONPATH has to be for a process to see the library."""
    return os.pathsep.join([str(COMPONENTS), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.fixture(scope="session")
def eventually() -> Callable[..., bool]:
    return wait_until


@pytest.fixture
def runs() -> Callable[[int], bool]:
    return is_running


@pytest.fixture
def python(components: str) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """`python("-c", ...)` starts a process that sees the library; it does not outlive the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            env={**os.environ, "PYTHONPATH": components, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
