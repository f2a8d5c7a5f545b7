"""What hosts and programs say when they stop, as pulumi-language-nodejs and -go 3.260 print it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eks_gpushare.program.fakes.fakes import Fakes
from eks_gpushare.program.language_host.failures import error_of
from eks_gpushare.program.language_host.host import Outcome
from eks_gpushare.program.language_host.monitor import Failure, HostedMonitor
from eks_gpushare.program.recording import Message, Recording
from eks_gpushare.stack_file.project import Project

if TYPE_CHECKING:
    from pathlib import Path

    from eks_gpushare.program.recording import ProgramError

HEAD = "Running program 'DIR' failed with an unhandled exception:\n"
THROWN = f"""{HEAD}TypeError: boom went it
    at deep (\x1b[90mDIR/\x1b[39mindex.js:3:11)
    at Object.<anonymous> (DIR/index.js:5:1)
    at Module._compile (node:internal/modules/cjs/loader:1529:14)
"""
IN_A_PACKAGE = f"""{HEAD}<ref *1> Error: no such thing
    at Acme.make (DIR/node_modules/acme/index.js:33:5)
    at async main (file://DIR/src/index.ts:12:7) {{
  promise: Promise {{ <rejected> [Circular *1] }}
}}
"""
TYPES = f"""{HEAD}TSError: \u2a2f Unable to compile TypeScript:
index.ts(2,29): error TS2561: Object literal may only specify known properties.
"""
SYNTAX = f"""{HEAD}DIR/index.js:1
const pulumi = require("@pulumi/pulumi";
                       ^^^^^^^^^^^^^^^^

SyntaxError: missing ) after argument list
"""
NO_MODULE = f"""{HEAD}Error: Cannot find module '@pulumi/aws'
Require stack:
- DIR/index.js
    at Module._resolveFilename (node:internal/modules/cjs/loader:1212:15)
    at Object.<anonymous> (DIR/index.js:1:11) {{
  code: 'MODULE_NOT_FOUND'
}}
"""
NO_SDK = "It looks like the Pulumi SDK has not been installed. Have you run pulumi install?"
CONFIG = (
    "Missing required configuration variable 'demo:wanted'\n"
    "\tplease set a value using the command `pulumi config set demo:wanted <value>`"
)
OF_GO = "an unhandled error occurred: program failed: \n1 error occurred:\n\t* it does not go\n\n"
GO_COMPILE = (
    "error in compiling Go: unable to run `go build`: exit status 1\n"
    "# gpus\n./main.go:5:3: declared and not used: x"
)
GO_MODULE = (
    "error in compiling Go: unable to run `go build`: exit status 1\n"
    "main.go:4:2: no required module provides package github.com/pulumi/pulumi/sdk/v3/go/pulumi; "
    "to add it:\n\tgo get github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)
INSTALL = "Packages of the program are not there. In DIR: pulumi install"


def stopped(
    folder: Path,
    *,
    logged: str = "",
    outcome: str = "",
    printed: tuple[str, ...] = (),
    failures: tuple[Failure, ...] = (),
) -> tuple[ProgramError | None, Recording]:
    recording = Recording("demo", "dev")
    recording.messages.append(Message("warning", "take care"))
    if logged:
        recording.messages.append(Message("error", logged.replace("DIR", str(folder))))
    monitor = HostedMonitor(
        recording, Fakes(), {}, program=folder, components=lambda: pytest.fail("none is made")
    )
    monitor.failures.extend(failures)
    project = Project(folder, "demo", folder, folder, "nodejs", options={"binary": "program"})
    ended = Outcome(outcome.replace("DIR", str(folder)), bail=bool(logged))
    return error_of(ended, monitor, project, printed), recording


@pytest.mark.parametrize(
    ("logged", "told"),
    [
        (THROWN, "DIR/index.js:3: TypeError: boom went it"),
        (IN_A_PACKAGE, "DIR/src/index.ts:12: Error: no such thing"),
        (SYNTAX, "DIR/index.js:1: const pulumi = "),
        (NO_MODULE, f"DIR/index.js:1: Error: Cannot find module '@pulumi/aws'\n{INSTALL}"),
        (CONFIG, CONFIG),
        (OF_GO, "1 error occurred:\n\t* it does not go"),
    ],
)
def test_what_a_program_logs_is_told_with_its_line(tmp_path: Path, logged: str, told: str) -> None:
    error, recording = stopped(tmp_path, logged=logged)

    assert str(error).startswith(told.replace("DIR", str(tmp_path)))
    assert not any(word in str(error) for word in ("Running program", "    at ", "\x1b", "<ref"))
    assert [each.text for each in recording.messages] == ["take care"]


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (NO_SDK, INSTALL),
        (GO_COMPILE, "DIR/main.go:5: ./main.go:5:3: declared and not used: x"),
        (GO_MODULE, INSTALL),
        ("could not find node on the $PATH: not found", "Install Node.js, or add the folder"),
        ("unable to find 'go' executable: not found", "Install Go, or add the folder"),
        ("unable to find 'program' executable: not found", "names program as the program's binary"),
        ("Program exited with non-zero exit code: -1", "A signal ended it"),
        ("Program exited with non-zero exit code: 3", "so long\nProgram exited with non-zero"),
    ],
)
def test_what_a_host_says_is_told_with_what_mends_it(
    tmp_path: Path, outcome: str, told: str
) -> None:
    (tmp_path / "main.go").write_text("package main\n")
    printed = ("so long",) if "exited" in outcome else ()

    error, _ = stopped(tmp_path, outcome=outcome, printed=printed)

    assert told.replace("DIR", str(tmp_path)) in str(error)


def test_types_that_do_not_fit_are_told_as_the_compiler_does(tmp_path: Path) -> None:
    (tmp_path / "index.ts").write_text("")

    error, _ = stopped(tmp_path, logged=TYPES)

    assert error is not None
    assert error.source == f"{tmp_path / 'index.ts'}:2"
    assert "error TS2561: Object literal may only specify known properties." in error.text


def test_a_refusal_goes_before_what_the_program_says_of_it(tmp_path: Path) -> None:
    refused = tuple(
        Failure(
            f"urn::pool{line}",
            "InputPropertiesError",
            f"GpuPool {line} is wrong",
            f"index.ts:{line}",
        )
        for line in (10, 9)
    )

    error, recording = stopped(
        tmp_path, logged=THROWN, outcome="exit 1", printed=("noise",), failures=refused
    )

    assert str(error) == (
        "index.ts:9: InputPropertiesError: pool9: GpuPool 9 is wrong\n"
        "index.ts:10: pool10: GpuPool 10 is wrong"
    )
    assert [each.text for each in recording.messages] == ["take care"]


def test_a_program_that_ended_well_has_no_error(tmp_path: Path) -> None:
    error, recording = stopped(tmp_path, printed=("a line on standard error",))

    assert error is None
    assert len(recording.messages) == 1
