from __future__ import annotations

import asyncio
import os
import sys
import threading
from importlib.metadata import version
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_aws as aws
import pytest

from eks_gpushare.program.run import run_program
from eks_gpushare.program.values import Secret

if TYPE_CHECKING:
    from eks_gpushare.program.recording import Recording
    from eks_gpushare.program.run import Program

pytestmark = pytest.mark.sdk_internals


def record(program: Program | Path, stack: str = "dev", **options: object) -> Recording:
    config = {"aws:region": "us-west-2", "demo:size": "4", "demo:token": "hunter2"}
    return run_program(program, project="demo", stack=stack, config=config, **options)  # type: ignore[arg-type]  # options of run_program


def write(directory: Path, **files: str) -> Path:
    """Write a program's files; ``main`` is its ``__main__.py``."""
    directory.mkdir(exist_ok=True)
    for name, text in files.items():
        file = "__main__.py" if name == "main" else f"{name}.py"
        (directory / file).write_text(dedent(text))
    return directory


def test_a_directory_is_run_by_its_main_file(tmp_path: Path) -> None:
    program = write(tmp_path / "a", main='import pulumi; pulumi.export("name", __name__)')

    recording = record(program)

    assert (recording.error, recording.outputs) == (None, {"name": "__main__"})


def test_a_program_stands_in_its_directory(tmp_path: Path) -> None:
    program = write(
        tmp_path / "a",
        main="""
            import os, sys, pulumi
            pulumi.export("here", [os.getcwd(), sys.path[0], sys.argv[0]])
        """,
    )
    before = (Path.cwd(), list(sys.path), list(sys.argv))

    recording = record(program)

    assert recording.outputs == {"here": [str(program)] * 3}
    assert (Path.cwd(), sys.path, sys.argv) == before


def test_a_directory_without_a_program_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        record(tmp_path)

    assert str(caught.value) == (
        f"{tmp_path} holds no Pulumi program: there is no __main__.py in it"
    )


def test_an_async_program_is_awaited() -> None:
    async def program() -> None:
        await asyncio.sleep(0)
        pulumi.export("done", value=True)

    assert record(program).outputs == {"done": True}


def test_a_program_can_hand_its_entry_point_to_pulumi_run() -> None:
    async def entry() -> pulumi.Inputs:
        vpc = aws.ec2.Vpc("net", cidr_block="10.0.0.0/16")
        return {"cidr": vpc.cidr_block}

    recording = record(lambda: pulumi.run(entry))

    assert (recording.error, recording.outputs) == (None, {"cidr": "10.0.0.0/16"})


def test_a_program_sees_its_stack_and_configuration() -> None:
    def program() -> None:
        config = pulumi.Config("demo")
        names = [pulumi.get_organization(), pulumi.get_project(), pulumi.get_stack()]
        pulumi.export("names", names)
        pulumi.export("size", config.require_int("size"))
        pulumi.export("token", config.require_secret("token"))
        pulumi.export("preview", pulumi.runtime.is_dry_run())

    recording = record(program, secret_keys=["demo:token"])

    assert recording.outputs == {
        "names": ["organization", "demo", "dev"],
        "preview": True,
        "size": 4,
        "token": Secret("hunter2"),
    }


@pytest.mark.parametrize(
    "name", ["AWS_REGION", "AWS_PROFILE", "KUBECONFIG", "PULUMI_CONFIG_DEMO_X"]
)
def test_a_variable_that_would_change_the_plan_is_hidden(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "mine")

    recording = record(lambda: pulumi.export("seen", os.environ.get(name, "hidden")))

    assert recording.outputs == {"seen": "hidden"}
    assert os.environ[name] == "mine"


def test_what_a_program_does_to_the_environment_is_undone() -> None:
    def program() -> None:
        os.environ["DEMO_VARIABLE"] = "x"

    record(program)

    assert "DEMO_VARIABLE" not in os.environ


def test_two_programs_can_have_modules_of_the_same_name(tmp_path: Path) -> None:
    main = "import pulumi, helper; pulumi.export('value', helper.VALUE)"
    programs = [
        write(tmp_path / name, main=main, helper=f"VALUE = {name!r}") for name in ("one", "two")
    ]

    assert [record(program).outputs["value"] for program in programs] == ["one", "two"]
    assert "helper" not in sys.modules


def test_a_loaded_module_of_the_same_name_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = type(sys)("helper")
    monkeypatch.setitem(sys.modules, "helper", theirs)
    main = "import pulumi, helper; pulumi.export('value', helper.VALUE)"

    recording = record(write(tmp_path / "one", main=main, helper="VALUE = 1"))

    assert recording.outputs == {"value": 1}
    assert sys.modules["helper"] is theirs


def test_forty_runs_do_not_see_each_other() -> None:
    def program() -> None:
        seen = pulumi.Config("demo").get("number")
        vpc = aws.ec2.Vpc(f"net-{pulumi.get_stack()}", cidr_block="10.0.0.0/16")
        pulumi.export("seen", seen)
        pulumi.export("cidr", vpc.cidr_block)

    threads = threading.active_count()
    recordings = [
        run_program(
            program,
            project="demo",
            stack=f"s{number}",
            config={"demo:number": str(number)} if number % 2 else {},
        )
        for number in range(40)
    ]

    assert [recording.error for recording in recordings] == [None] * 40
    assert [[resource.name for resource in recording.resources] for recording in recordings] == [
        [f"demo-s{number}", f"net-s{number}"] for number in range(40)
    ]
    assert [recording.outputs.get("seen") for recording in recordings] == [
        str(number) if number % 2 else None for number in range(40)
    ]
    assert threading.active_count() == threads


def test_two_runs_record_the_same_in_the_same_order() -> None:
    def program() -> None:
        vpcs = [aws.ec2.Vpc(f"net{number}", cidr_block="10.0.0.0/16") for number in range(9)]
        for number, vpc in enumerate(vpcs):
            aws.ec2.Subnet(f"sub{number}", vpc_id=vpc.id)

    one, two = record(program), record(program)

    assert one == two


def test_sets_of_resources_have_the_order_in_which_they_were_first_met() -> None:
    """The SDK awaits them one by one, and so whoever needs them is sent sooner or later."""
    met: list[bool] = []

    def program() -> None:
        keys = [pulumi.ComponentResource("demo:index:Thing", f"thing-{n}") for n in range(200)]
        met.append(list(set(keys)) == keys)

    before = pulumi.Resource.__hash__
    recording = record(program)

    assert (recording.error, met) == (None, [True])
    assert pulumi.Resource.__hash__ is before


def test_a_run_works_under_a_running_event_loop() -> None:
    async def caller() -> Recording:
        return record(lambda: pulumi.export("done", value=True))

    assert asyncio.run(caller()).outputs == {"done": True}


def test_runs_from_several_threads_wait_for_each_other() -> None:
    stacks = [f"s{number}" for number in range(6)]
    recordings: dict[str, Recording] = {}

    def run(stack: str) -> None:
        recordings[stack] = record(lambda: pulumi.export("stack", pulumi.get_stack()), stack=stack)

    threads = [threading.Thread(target=run, args=(stack,)) for stack in stacks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {stack: recordings[stack].outputs["stack"] for stack in stacks} == dict(
        zip(stacks, stacks, strict=True)
    )


def test_a_run_within_a_run_is_refused() -> None:
    error = record(lambda: record(lambda: None)).error

    assert error is not None
    assert error.text == "a program that is being run cannot run another one"


def test_a_run_error_is_its_text_without_a_traceback() -> None:
    def program() -> None:
        message = "two findings"
        raise pulumi.RunError(message)

    error = record(program).error

    assert error is not None
    assert (error.type, error.text, error.traceback) == ("RunError", "two findings", "")


def test_missing_configuration_is_a_run_error() -> None:
    error = record(lambda: pulumi.Config("demo").require("absent")).error

    assert error is not None
    assert error.type == "RunError"
    assert error.text == (
        "Missing required configuration variable 'demo:absent'\n"
        "\tplease set a value using the command `pulumi config set demo:absent <value>`\n"
        "Without Pulumi, write it under `config` of Pulumi.dev.yaml."
    )


@pytest.mark.parametrize("listed", [True, False])
def test_where_a_package_is_missed_is_said(tmp_path: Path, listed: bool) -> None:
    program = write(tmp_path / "a", main="import no_such_package")
    if listed:
        (program / "requirements.txt").write_text("no-such-package")

    error = record(program).error

    needs = (
        f"python -m pip install -r {program}/requirements.txt"
        if listed
        else "install what the program needs"
    )
    assert error is not None
    assert error.text == (
        "No module named 'no_such_package'. It is looked for in the environment of this command, "
        f"{sys.prefix}: {needs} there."
    )


@pytest.mark.parametrize(
    "line", ["aws.ec2.get_subnet_ids(vpc_id='v')", "aws.ec2.Eip('address', vpc=True)"]
)
def test_the_release_of_an_sdk_is_said_that_lacks_what_is_asked(tmp_path: Path, line: str) -> None:
    error = record(write(tmp_path / "a", main=f"import pulumi_aws as aws\n{line}\n")).error

    installed = f"pulumi_aws {version('pulumi_aws')} is installed here"
    assert error is not None
    assert error.text.endswith(f"{installed}; the program may be for an earlier release of it.")


def test_an_argument_that_is_wrong_in_the_program_itself_is_its_own(tmp_path: Path) -> None:
    error = record(write(tmp_path / "a", main="dict_of = lambda: None\ndict_of(a=1)\n")).error

    assert error is not None
    assert "installed here" not in error.text


def test_a_look_up_of_what_only_an_update_tells_is_explained() -> None:
    def program() -> None:
        other = pulumi.StackReference("net", stack_name="org/net/dev")
        name: Any = other.get_output("cluster")
        _ = aws.eks.get_cluster(name=name).vpc_config

    error = record(program).error

    assert error is not None
    assert "such as an output of another stack. Call the function that takes outputs" in error.text


def test_an_error_points_at_the_users_line(tmp_path: Path) -> None:
    program = write(
        tmp_path / "a",
        main="""
            import helper
            helper.build()
        """,
        helper="""
            import pulumi_aws as aws

            def build():
                aws.ec2.Subnet("sub")
        """,
    )

    error = record(program).error

    assert error is not None
    assert str(error) == (f"{program}/helper.py:5: TypeError: Missing required property 'vpc_id'")
    assert "Traceback" in error.traceback


def test_an_error_in_apply_points_at_the_users_line(tmp_path: Path) -> None:
    program = write(
        tmp_path / "a",
        main="""
            import pulumi
            pulumi.Output.from_input("x").apply(
                lambda text: text.nothing
            )
        """,
    )

    error = record(program).error

    assert error is not None
    assert error.source == f"{program}/__main__.py:4"


def test_a_refused_registration_points_at_the_users_line(tmp_path: Path) -> None:
    program = write(
        tmp_path / "a",
        main="""
            import pulumi_aws as aws
            aws.ec2.Vpc("net", cidr_block="10.0.0.0/16")
            aws.ec2.Vpc("net", cidr_block="10.0.0.0/16")
        """,
    )

    error = record(program).error

    assert error is not None
    assert (error.type, error.source) == ("PlanError", f"{program}/__main__.py:4")


def test_a_syntax_error_points_at_its_line(tmp_path: Path) -> None:
    program = write(tmp_path / "a", main="import pulumi\nx = = 1\n")

    error = record(program).error

    assert error is not None
    assert (error.type, error.source) == ("SyntaxError", f"{program}/__main__.py:2")


def test_a_resource_knows_the_users_line(tmp_path: Path) -> None:
    program = write(
        tmp_path / "a",
        main="""
            import pulumi_aws as aws
            import helper
            aws.Provider("west", region="us-west-1")
            helper.build()
        """,
        helper="""
            import pulumi_aws as aws

            def build():
                aws.ec2.Vpc("net", cidr_block="10.0.0.0/16")
        """,
    )

    sources = {resource.name: resource.source for resource in record(program).resources}

    assert sources == {
        "demo-dev": "",
        "west": f"{program}/__main__.py:4",
        "net": f"{program}/helper.py:5",
    }


def test_what_was_registered_before_an_error_is_kept() -> None:
    def program() -> None:
        aws.ec2.Vpc("net", cidr_block="10.0.0.0/16")
        message = "stop"
        raise pulumi.RunError(message)

    assert [resource.name for resource in record(program).resources] == ["demo-dev", "net"]


def test_leaving_with_a_status_is_an_error() -> None:
    error = record(lambda: sys.exit(3)).error

    assert error is not None
    assert (error.type, error.text) == ("SystemExit", "the program called sys.exit(3)")


def test_leaving_without_a_status_is_fine() -> None:
    assert record(lambda: sys.exit(0)).error is None


def test_a_keyboard_interrupt_passes() -> None:
    def program() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        record(program)

    assert record(lambda: None).error is None


def test_a_deprecated_part_of_the_sdk_is_no_error(tmp_path: Path) -> None:
    program = write(tmp_path / "a", main="import pulumi_aws.ec2 as ec2; ec2.Vpc('net')")

    assert record(program).error is None
