"""Whatever ends an update, of the plugin nothing is left."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest
from tests.engine.conftest import LIMIT_SECONDS, session
from tests.engine.languages import CONFIG

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.engine.conftest import Engine, Project

PLUGIN = "/plugin "
"""How its command line goes on after its folder: with the engine's address."""
EXECUTOR = "pulumi-language-python-exec"
"""What runs a program."""
PROGRAM = """
import asyncio

import pulumi

inputs = {
    "pool": "gpu",
    "clusterName": "demo",
    "clusterSubnetIds": ["subnet-0a1b2c3d4e5f60718", "subnet-0a1b2c3d4e5f60719"],
    "instanceTypes": ["g6.2xlarge"],
    "sharing": {"mode": "timeSlicing", "replicas": 4},
}
pulumi.ComponentResource("eks-gpushare:index:GpuPool", "gpu", inputs, None, remote=True)
pulumi.export("never", asyncio.sleep(3600))
"""
"""The component by the plugin, as in another language, and an output that never comes."""


@pytest.fixture(scope="module")
def project(new_engine: Callable[[], Engine]) -> Project:
    made = new_engine().project("killed", PROGRAM)
    made.init("dev", CONFIG)
    return made


def of_session(leader: int, containing: str) -> set[int]:
    return {pid for pid, command in session(leader).items() if containing in command}


def wait(what: Callable[[], bool], wanted: str) -> None:
    end = time.monotonic() + LIMIT_SECONDS
    while not what():
        assert time.monotonic() < end, f"{wanted} not after {LIMIT_SECONDS} s"
        time.sleep(0.1)


@pytest.mark.parametrize("killed", ["engine", "program"])
def test_what_is_killed_leaves_no_plugin(project: Project, killed: str) -> None:
    args = ("preview", "--stack", "dev")
    with project.engine.at_work(project.directory, *args) as engine:
        wait(lambda: bool(of_session(engine.pid, PLUGIN)), "the plugin is there")
        wait(lambda: bool(of_session(engine.pid, EXECUTOR)), "the program is there")
        program = of_session(engine.pid, EXECUTOR)
        for pid in {engine.pid} if killed == "engine" else program:
            os.kill(pid, signal.SIGKILL)

        wait(lambda: not of_session(engine.pid, PLUGIN), "the plugin is gone")


def test_an_update_that_is_cancelled_leaves_no_plugin(project: Project) -> None:
    args = ("preview", "--stack", "dev")
    with project.engine.at_work(project.directory, *args) as engine:
        wait(lambda: bool(of_session(engine.pid, PLUGIN)), "the plugin is there")
        engine.send_signal(signal.SIGINT)

        wait(lambda: not of_session(engine.pid, PLUGIN), "the plugin is gone")
