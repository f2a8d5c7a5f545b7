"""Language hosts that are missing, old, silent or broken; none of their processes stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eks_gpushare.program.language_host import host as hosts
from eks_gpushare.program.language_host.host import HostError, find_host
from eks_gpushare.program.language_host.processes import ProcessError, ServingProcess
from eks_gpushare.program.language_host.run import run_hosted

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.program.recording import Recording
    from eks_gpushare.stack_file.project import Project

    Host = Callable[[str, str], Path]
    Write = Callable[..., Project]

SERVER = """
import sys, time, grpc
from concurrent.futures import ThreadPoolExecutor
from pulumi.runtime.proto import language_pb2_grpc
class Host(language_pb2_grpc.LanguageRuntimeServicer):
    HOST
server = grpc.server(ThreadPoolExecutor(2))
language_pb2_grpc.add_LanguageRuntimeServicer_to_server(Host(), server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(port, flush=True)
server.wait_for_termination()
"""


def script(body: str) -> str:
    return f"exec '{sys.executable}' -c '{SERVER.replace('HOST', body)}'"


def error_of(project: Project) -> str:
    found: Recording = run_hosted(project, stack="dev", config={})
    assert found.error is not None
    assert not found.resources
    return str(found.error)


def test_a_missing_host_is_named_with_where_it_comes_from(write: Write) -> None:
    said = error_of(write(language="absent"))

    assert "runtime is absent, and pulumi-language-absent, which runs such programs, is not" in said
    assert "https://www.pulumi.com/docs/install/" in said


def test_the_newest_host_among_pulumis_plugins_is_taken(tmp_path: Path) -> None:
    for version in ("1.9.0", "1.10.0", "1.2.0"):
        folder = tmp_path / "plugins" / f"language-rust-v{version}"
        folder.mkdir(parents=True)
        (folder / "pulumi-language-rust").write_text("")
        (folder / "pulumi-language-rust").chmod(0o755)

    found = find_host("rust", {"PATH": "", "PULUMI_HOME": str(tmp_path)})

    assert found.parent.name == "language-rust-v1.10.0"
    with pytest.raises(HostError):
        find_host("rus", {"PATH": "", "PULUMI_HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("echo broken pipes >&2; exit 3", "ended with exit code 3 before it served\nbroken pipes"),
        ("echo hello; sleep 60", "gave no port, but 'hello'"),
        (script("pass"), "it is too old, or of another kind"),
        (
            script('def Run(self, r, c): print("gone", file=sys.stderr); import os; os._exit(1)'),
            "ended while the program ran\ngone",
        ),
        (
            script("def Run(self, r, c): import os; os._exit(1)").removeprefix("exec ")
            + "; sleep 0.5; echo gone at last >&2",
            "ended while the program ran\ngone at last",
        ),
    ],
    ids=["ends", "no port", "old", "dies", "dies slowly"],
)
def test_a_host_that_does_not_serve_is_told(write: Write, host: Host, body: str, said: str) -> None:
    host("odd", body)

    assert said in error_of(write(language="odd"))


def test_a_host_that_never_answers_is_given_up(
    write: Write, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "_ANSWER_SECONDS", 0.5)
    host("mute", script("def Handshake(self, r, c): time.sleep(60)"))

    assert "pulumi-language-mute has not answered in 0.5 s" in error_of(write(language="mute"))


def test_a_process_that_says_nothing_is_given_up(tmp_path: Path) -> None:
    silent = ServingProcess("it", ["sleep", "60"], directory=tmp_path, environment=dict(os.environ))

    with pytest.raises(ProcessError, match=r"it has not said on which port it serves in 0\.1 s"):
        silent.port(0.1)
    silent.end()
    assert silent.ended


FAMILY = "sh -c 'echo $$; sleep 600' & sh -c 'trap \"\" TERM INT; echo $$; sleep 600' & wait"
CALLER = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
from pathlib import Path
from eks_gpushare.program.language_host.processes import ServingProcess
def say(line):  # whole: two threads do
    os.write(1, f"{line}\\n".encode())
process = ServingProcess("it", ["sh", "-c", sys.argv[1]], directory=Path.cwd(),
    environment=dict(os.environ), heard=lambda line, _: say(line))
say(process.port())
sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_what_a_host_started_ends_with_us_however_we_end(number: signal.Signals) -> None:
    caller = subprocess.Popen(
        [sys.executable, "-c", CALLER, FAMILY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert caller.stdout is not None
    children = [int(caller.stdout.readline()) for _ in range(2)]

    caller.send_signal(number)
    try:
        caller.wait(10)
    except subprocess.TimeoutExpired:
        # Python is not woken by an interrupt that comes just before it begins to read.
        caller.send_signal(number)
        caller.wait()

    for child in children:
        wait_until_gone(child)
    assert caller.stdin is not None
    caller.stdin.close()
    caller.stdout.close()


def wait_until_gone(process: int) -> None:
    """Wait for it; a test that waits for ever fails by its time limit."""
    descriptor = os.pidfd_open(process) if Path(f"/proc/{process}").exists() else None
    if descriptor is not None:
        import select

        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        assert poll.poll(20_000), f"{process} is still there"
        os.close(descriptor)
