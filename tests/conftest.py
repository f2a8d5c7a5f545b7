"""What every test may use: golden files, the command in this process, hypothesis profiles."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from _pytest.mark import ParameterSet
from _pytest.runner import runtestprotocol
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from hypothesis.internal.entropy import deterministic_PRNG
from xdist.scheduler import LoadFileScheduling

from eks_gpushare.cli import main
from eks_gpushare_lab.binaries import build, versions
from eks_gpushare_lab.errors import NoGoError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from xdist.remote import Producer
    from xdist.workermanage import WorkerController

ROOT = Path(__file__).parents[1]
GOLDEN = Path(__file__).parent / "golden"

# What runs the tests on several processors tells each part the width of its terminal; the commands
# under test would take it for their own.
os.environ.pop("COLUMNS", None)

# A shell that starts tests in the background has them ignore interrupts, and with them all that
# they start: what is tried with Ctrl-C would never end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: times on shared machines say nothing about the code. In CI the examples are the same
# in every run, so that a change is never blamed for what another one brought in.
EXAMPLES = int(os.environ.get("EKS_GPUSHARE_TEST_EXAMPLES", "40"))
settings.register_profile("dev", deadline=None, max_examples=EXAMPLES)
settings.register_profile(
    "ci", settings.get_profile("dev"), derandomize=True, database=None, print_blob=True
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
if os.environ.get("CI") and "EKS_GPUSHARE_TEST_EXAMPLES" not in os.environ:
    # It draws from the constants of all modules that are loaded so far, so that examples would
    # depend on which tests ran before; and to parse them takes each process seconds.
    setattr(providers, "_get_local_constants", Constants)  # noqa: B010  (a private name)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files anew instead of comparing with them; review the diff",
    )
    parser.addoption(
        "--none-skipped",
        action="store_true",
        help="a test that skips itself fails: here is all that it needs",
    )
    parser.addoption("--may-skip", metavar="REGEX", help="but for reasons that no machine can mend")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage: of all that is made, nearly everything stays.

    And look at all of it less often than is usual while tests run: that was a tenth of their time.
    """
    with deterministic_PRNG():  # the first one looks for garbage, of which there is none yet
        gc.disable()
    try:
        return (yield)
    finally:
        gc.set_threshold(20_000, 20, 50)
        gc.enable()


AT_LENGTH = "EKS_GPUSHARE_TEST_AT_LENGTH"
"""Lets those tests run that take seconds of a processor for what seldom changes."""


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    """End without a look for garbage: to free what tests have left takes each process seconds.

    At night it is looked for, and so is what it holds open.
    """
    if not os.environ.get(AT_LENGTH):
        gc.freeze()


def sampled(values: Sequence[object], every: int) -> list[Any]:
    """Values as parameters of a test, of which a change is tried with one of so many.

    The others are tried at night; for a change they are no tests at all, since to collect one that
    is left out costs each process as much as one that is run. A row in CONTRIBUTING.md says so of
    each file that does this.
    """
    if not os.environ.get(AT_LENGTH):
        return list(values[::every])
    return [each if number % every == 0 else _later(each) for number, each in enumerate(values)]


def _later(value: object) -> ParameterSet:
    later = pytest.mark.at_length
    if isinstance(value, ParameterSet):
        return value._replace(marks=(*value.marks, later))
    # Values of several parameters are a plain tuple; one with names is a value of its own.
    return pytest.param(*(value if type(value) is tuple else (value,)), marks=later)


PAGES = (
    *("tests/lint/test_corpus.", "tests/lint/test_lint_examples.", "tests/lint/test_public_rep"),
    *("tests/unit/test_generated_docs.", "tests/unit/test_links."),
    "tests/unit/test_finding_examples.",
)
"""What looks at the same pages, and at what is found of the same examples."""
MUTANTS = ("tests/mutants/test_stack_mutants.", "tests/policies/test_policy_ways.")
STACKS = ("tests/components/test_stack_goldens.", "tests/components/test_stack_registrations.")
TOGETHER = {
    "tests/lab/walkthroughs/test_walkthrough_mig": "changes of nodes",
    "tests/lab/walkthroughs/test_walkthrough_live_changes": "changes of nodes",
    "tests/lab/walkthroughs/": "walkthroughs",
    "tests/lab/": "lab",
    "tests/aws/": "account",
    **dict.fromkeys(PAGES, "pages"),
    **dict.fromkeys(MUTANTS, "broken stacks"),
    **dict.fromkeys(STACKS, "registrations"),
    **dict.fromkeys(("tests/unit/test_house_rules.", "tests/unit/test_import_graph."), "sources"),
}
"""Whose tests share a control plane, an account or what took seconds to make: one process has all
of them."""
BEGUN_WITH = ("changes of nodes", "walkthroughs")
"""What waits more than it works. In two parts, so that no process is left with it when the others
have ended; all else of the lab comes in its turn, so that some process always has work."""


def together(nodeid: str) -> str | None:
    """What a test is run with, in one process; None of what goes with its file alone."""
    return next((name for start, name in TOGETHER.items() if nodeid.startswith(start)), None)


def pytest_report_header() -> str:
    return "" if os.environ.get(AT_LENGTH) else f"left out: what {AT_LENGTH}=1 tries"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is tried at night: to skip a test costs as much as running a small one."""
    items.sort(key=lambda item: together(item.nodeid) not in BEGUN_WITH)
    if not os.environ.get(AT_LENGTH):
        later = {item for item in items if item.get_closest_marker("at_length")}
        items[:] = [item for item in items if item not in later]
        config.hook.pytest_deselected(items=list(later))


class _Scheduling(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Whole files, or whole folders, go to one process."""

    def _split_scope(self, nodeid: str) -> str:
        return together(nodeid) or str(super()._split_scope(nodeid))

    # What xdist does in these two grows with the square of the tests: it looks for each of them in
    # the list of all, and counts all that a process was given whenever one has ended.
    def _assign_work_unit(self, node: WorkerController) -> None:
        scope, unit = self.workqueue.popitem(last=False)
        self.assigned_work.setdefault(node, {})[scope] = unit
        node.send_runtest_some(
            [self._places[nodeid] for nodeid, ended in unit.items() if not ended]
        )

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        for scope in [scope for scope, unit in workload.items() if all(unit.values())]:
            del workload[scope]
        return int(super()._pending_of(workload))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {nodeid: place for place, nodeid in enumerate(self.collection)}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> _Scheduling | None:
    """The one that is meant by `--dist loadfile`."""
    config.option.loadscopereorder = False
    return _Scheduling(config, log) if config.option.dist == "loadfile" else None


@pytest.hookimpl
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Have another process told what a test came to, and not that nothing happened around it.

    Each word costs as much as running a small test.
    """
    if not hasattr(item.config, "workerinput"):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            if report.passed:
                report.keywords = {}  # asked by nobody, and half of what is told
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail what skips itself where nothing may: a suite that ran nothing proves nothing."""
    report = yield
    if not report.skipped or hasattr(report, "wasxfail"):
        return report
    if item.config.getoption("--none-skipped"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        allowed = item.config.getoption("--may-skip")
        if not (allowed and re.search(allowed, reason)):
            report.outcome = "failed"
            report.longrepr = f"skipped, and --none-skipped was given: {reason}"
    return report


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(path, text)` compares a text with tests/golden/<path>, or writes it on request."""

    def compare(path: str, text: str) -> None:
        file = GOLDEN / path
        if request.config.getoption("--update-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
            return
        assert file.is_file(), f"tests/golden/{path} is missing: run `make golden` and review it"
        expected = file.read_text(encoding="utf-8")

        assert text == expected, f"differs from tests/golden/{path}; wanted? run `make golden`"

    return compare


@dataclass(frozen=True)
class Ran:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, all of it, as one JSON document."""
        return json.loads(self.out)


@pytest.fixture(scope="session")
def written_pages() -> dict[Path, str]:
    """The pages of the documentation that come from the code, by their paths."""
    import make_pages

    return make_pages.generated()


class Promtool:
    """Prometheus' own tool, which reads queries and rules, and tries them on series."""

    def __init__(self, program: Path, folder: Path) -> None:
        self._program, self._folder = program, folder

    def refusal(self, *queries: str) -> str:
        """What it says of queries that are no PromQL; `""` if all of them are."""
        rules = [{"record": f"query_{n}", "expr": each} for n, each in enumerate(queries)]
        return self.refusal_of_rules({"groups": [{"name": "queries", "rules": rules}]})

    def refusal_of_rules(self, groups: dict[str, Any]) -> str:
        """What it says of groups of rules, alerts too; `""` if it has nothing against them."""
        return self._run("check", "rules", "--lint-fatal", document=groups)

    def refusal_of_configuration(self, document: dict[str, Any]) -> str:
        """What it says of what is scraped; `""` if it has nothing against it."""
        return self._run("check", "config", document=document)

    def refusal_of_metrics(self, text: str) -> str:
        """What it says of metrics as an exporter writes them; `""` if it has nothing against."""
        command = [str(self._program), "check", "metrics"]
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, check=False, timeout=60
        )
        return done.stdout + done.stderr

    def failure(self, *tests: dict[str, Any]) -> str:
        """What is otherwise than unit tests of series and queries expect; `""` if nothing is."""
        return self._run("test", "rules", document={"tests": list(tests)})

    def failure_of_alerts(
        self, groups: dict[str, Any], *tests: dict[str, Any], step: int = 1
    ) -> str:
        """The same of alerts, looked at every so many minutes."""
        file = self._folder / "alerts.yaml"
        file.write_text(json.dumps(groups), encoding="utf-8")
        document = {
            "rule_files": [str(file)],
            "evaluation_interval": f"{step}m",
            # It has them in any order where none is given.
            "group_eval_order": [group["name"] for group in groups["groups"]],
            "tests": list(tests),
        }
        return self._run("test", "rules", document=document)

    def _run(self, *words: str, document: dict[str, Any]) -> str:
        file = self._folder / "given.yaml"
        file.write_text(json.dumps(document), encoding="utf-8")  # JSON is YAML
        command = [str(self._program), *words, str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        return done.stdout + done.stderr if done.returncode else ""


@pytest.fixture(scope="session")
def promtool(tmp_path_factory: pytest.TempPathFactory) -> Promtool:
    """Prometheus' tool, built on first use: some minutes, once per machine."""
    try:
        built = build.programs((versions.promtool(),))
    except NoGoError as error:
        pytest.skip(f"promtool is neither here nor can it be built: {error}")
    return Promtool(built.paths["promtool"], tmp_path_factory.mktemp("promtool"))


class Run(Protocol):
    """Run `eks-gpushare` with the given words."""

    def __call__(self, *words: str, cwd: Path = ROOT) -> Ran: ...


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in this process, in the repository unless told otherwise."""

    def call(*words: str, cwd: Path = ROOT) -> Ran:
        with monkeypatch.context() as patch:
            patch.chdir(cwd)
            patch.setenv("NO_COLOR", "1")
            capsys.readouterr()
            code = main(words)
        return Ran(code, *capsys.readouterr())

    return call
