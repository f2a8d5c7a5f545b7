"""Stack files that nobody wrote: those that there are with things changed in them, and random ones.

    python tests/unit/fuzzed_stack_files.py [--files 100000] [--seed 1] [--previews 3000]

checks that many, and says which checks failed, which file took longest, and the peak of memory.
Some thousands go to the components as well, as a program would give them to them.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import gc
import json
import random
import resource
import sys
import time
import traceback
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from eks_gpushare.config.environment import Environment
from eks_gpushare.config.project import ENVIRONMENT_KEY, PROJECT
from eks_gpushare.findings.defects import CHECK_FAILED
from eks_gpushare.stack_file.check import StackReport, check_stack_file
from eks_gpushare.stack_file.file import stack_file_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
SLOW = 1.0

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 7, 48, 99, 10**6, 10**12, -(2**63), 2**64, 1e300),
    *(0.5, -0.0, 1.5, float("nan"), float("inf"), "", " ", "0", "1", "-1", "1.35", "1.99", "v1"),
    *("null", "true", "a" * 70, "a" * 5000, "\u202e", "\x1b[2J", "\0", "é", "\U0001f600", "x\ny"),
    *("10.0.0.0/16", "0.0.0.0/0", "::/0", "300.1.1.1/8", "10.0.0.1/255.255.0.0", "/", ":", "::"),
    *("g5.xlarge", "p4d.24xlarge", "p5.48xlarge", "g6f.large", "t3.large", "m5.large", "x.y.z"),
    *("us-west-2a", "eu-central-1b", "us-west-2", "arn:aws:iam::111122223333:role/x", "arn:::::"),
    *("subnet-0", "vpc-0", "ami-0", "cr-0", "all-1g.5gb", "all-balanced", "1g.5gb", "9g.999gb"),
    *("exclusive", "timeSlicing", "mps", "mig", "karpenter", "existing", "bottlerocket", "custom"),
    *("devicePlugin", "gpuOperator", "spot", "reserved", "capacityBlock", "migManager", "single"),
    *("33%", "0%", "999%", "1.35.8-20260930", "https://x", "http://", "registry/x:1", "@sha256:"),
    *([], {}, [[]], [None], [{}], {"": None}, {"a": 1}, ["a", "a"], [0, 0], [-1], {"1g.5gb": 7}),
    *({"1g.5gb": 0}, {"1g.5gb": -3}, {"1g.5gb": 10**9}, [{"gpus": [0], "devices": {"7g.40gb": 1}}]),
    *({"secure": "x"}, {"mode": "mig"}, {"replicas": 0}, {"name": "x"}, {"existing": {}}),
)


@cache
def _texts() -> tuple[str, ...]:
    files = [*(ROOT / "stacks").glob("*.yaml"), *(ROOT / "examples").rglob("Pulumi.*.yaml")]
    return tuple(each.read_text(encoding="utf-8") for each in sorted(files))


@cache
def stack_environments() -> tuple[dict[str, Any], ...]:
    """Environments to change: of stacks, and of both sides of every example of a finding."""
    found = [yaml.load(text, _LOADER) for text in _texts()]  # noqa: S506  (a safe one)
    given = [each["config"].get(ENVIRONMENT_KEY) for each in found if each and "config" in each]
    folder = ROOT / "examples" / "findings"
    base = yaml.load((folder / "base.yaml").read_text(encoding="utf-8"), _LOADER)  # noqa: S506
    for file in sorted(folder.glob("GPU*.yaml")):
        sides = yaml.load(file.read_text(encoding="utf-8"), _LOADER)  # noqa: S506
        given += [_over(base, sides[s]) for s in ("wrong", "right") if isinstance(sides[s], dict)]
    return tuple(each for each in given if isinstance(each, dict))


@cache
def _schema() -> dict[str, Any]:
    return Environment.model_json_schema(by_alias=True)


def _over(base: Any, change: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(change, dict):
        return copy.deepcopy(change)
    merged = {**copy.deepcopy(base), **{k: _over(base.get(k), v) for k, v in change.items()}}
    return {key: value for key, value in merged.items() if value is not None}


class Fuzzer:
    """Makes files; the same ones from the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311  (nothing secret)

    def environment(self) -> Any:
        """An environment with up to six changes in it, or one made up from the schema."""
        pick = self._random
        if pick.random() < 0.15:
            return self._of_schema(_schema(), 0)
        given = copy.deepcopy(pick.choice(stack_environments()))
        if pick.random() < 0.2:
            given = _over(given, copy.deepcopy(pick.choice(stack_environments())))
        for _ in range(pick.choice((1, 1, 1, 2, 2, 3, 6))):
            self._change(given)
        return given

    def text(self) -> str | bytes:
        """A whole file: mostly one that is YAML."""
        pick = self._random
        if pick.random() < 0.12:
            return self._mangled(pick.choice(_texts()))
        region: Any = "us-west-2" if pick.random() < 0.9 else pick.choice(_ODD)
        config: Any = {"aws:region": region, ENVIRONMENT_KEY: self.environment()}
        if pick.random() < 0.03:
            config = pick.choice((None, [], {}, {ENVIRONMENT_KEY: pick.choice(_ODD)}, config))
        text: str = yaml.dump({"config": config}, Dumper=_DUMPER, sort_keys=False)
        return text

    def _change(self, given: Any) -> None:
        pick, places = self._random, list(_places(given))
        if not places:
            return
        container, key = pick.choice(places)
        match pick.randrange(9):
            case 0:
                del container[key]
            case 1 | 2 | 3:
                container[key] = copy.deepcopy(pick.choice(_ODD))
            case 4:
                other, there = pick.choice(list(_places(pick.choice(stack_environments()))))
                container[key] = copy.deepcopy(other[there])
            case 5 if isinstance(container, dict):
                container[self._key()] = copy.deepcopy(pick.choice(_ODD))
            case 6 if isinstance(container[key], list):
                container[key] = container[key] * pick.choice((2, 3, 50))
            case 7 if isinstance(container[key], int):
                container[key] = container[key] * pick.choice((-1, 0, 10, 1000)) + pick.choice(
                    (0, 1)
                )
            case _:
                container[key] = copy.deepcopy(pick.choice(_ODD))

    def _key(self) -> str:
        definitions = _schema()["$defs"].values()
        keys = sorted({key for each in definitions for key in each.get("properties", ())})
        others = ["x", "", "a/b", "a.b", "\u202e", "k" * 400]
        return str(self._random.choice([*keys, *others]))

    def _of_schema(self, schema: Any, depth: int) -> Any:
        pick = self._random
        if pick.random() < 0.04:
            return copy.deepcopy(pick.choice(_ODD))
        if "$ref" in schema:
            return self._of_schema(_schema()["$defs"][schema["$ref"].rpartition("/")[2]], depth)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self._of_schema(pick.choice(schema[key]), depth)
        if "const" in schema or "enum" in schema:
            return pick.choice(schema.get("enum", [schema.get("const")]))
        return self._of_type(schema, depth)

    def _of_type(self, schema: Any, depth: int) -> Any:
        pick = self._random
        match schema.get("type"):
            case "object" if depth < 8:
                known, required = schema.get("properties", {}), schema.get("required", ())
                made = {
                    key: self._of_schema(inner, depth + 1)
                    for key, inner in known.items()
                    if key in required or pick.random() < 0.25
                }
                inner = schema.get("additionalProperties")
                for _ in range(pick.randrange(3) if isinstance(inner, dict) else 0):
                    made[pick.choice(("gpu", "a", "1g.5gb", "g5.xlarge", "x/y"))] = self._of_schema(
                        inner, depth + 1
                    )
                return made
            case "array" if depth < 8:
                inner = schema.get("items", {})
                return [self._of_schema(inner, depth + 1) for _ in range(pick.randrange(4))]
            case "integer":
                return pick.choice((0, 1, 2, 3, 7, 8, 48, 200, -1))
            case "number":
                return pick.choice((0.5, 1.5, -1.0, 30.1))
            case "boolean":
                return pick.random() < 0.5
        return pick.choice([each for each in _ODD if isinstance(each, str)])

    def _mangled(self, text: str) -> str | bytes:
        pick = self._random
        at, width = pick.randrange(len(text)), pick.randrange(1, 40)
        match pick.randrange(6):
            case 0:
                return text[:at]
            case 1:
                return text[:at] + text[at + width :]
            case 2:
                return text[:at] + pick.choice("\t{}[]:,&*!|>'\"%@`\r\0\x85\ufeff") + text[at:]
            case 3:
                return text[:at] + text[at : at + width] * pick.choice((2, 30)) + text[at + width :]
            case 4:
                return text.encode(pick.choice(("utf-16", "utf-8-sig", "utf-32")))
        return text[:at].encode() + bytes([pick.randrange(256)]) + text[at:].encode()


def _places(given: Any) -> Iterator[tuple[Any, Any]]:
    pairs = given.items() if isinstance(given, dict) else enumerate(given)
    for key, inner in pairs:
        yield given, key
        if isinstance(inner, dict | list):
            yield from _places(inner)


def checked(text: str | bytes) -> StackReport:
    """What is found in such a file.

    Raises:
        AssertionError: If a check failed.
    """
    report = check_stack_file(stack_file_of(text, "Pulumi.fuzzed.yaml"))
    defects = [each.message for each in report.findings if each.code == CHECK_FAILED.id]
    assert not defects, defects
    return report


def built(environment: Any) -> str:
    """What a stack with such an environment comes to: nothing, or the error that refuses it.

    Half of them are given to the component as they are, as a program of somebody's own would.

    Raises:
        AssertionError: If it is another error than one that names what is wrong.
    """
    import pulumi

    from eks_gpushare.environment import GpuSharingEnvironment
    from eks_gpushare.program.run import run_program
    from eks_gpushare.stack import load_stack

    text = json.dumps(environment)
    given = in_python_words(environment)

    def program() -> None:
        GpuSharingEnvironment("gpu", load_stack() if len(text) % 2 else given)

    config = {"aws:region": "us-west-2", ENVIRONMENT_KEY: text}
    error = run_program(program, project=PROJECT, stack="s", config=config).error
    if error is None:
        return ""
    known = isinstance(error.exception, pulumi.InputPropertiesError | pulumi.RunError)
    text = "".join(traceback.format_exception(error.exception)) if error.exception else str(error)
    assert known, text
    assert CHECK_FAILED.id not in error.text, error.text
    return error.text


def in_python_words(value: Any) -> Any:
    """An environment as a program gives it."""
    from eks_gpushare.inputs.python_words import python_names

    def words(value: Any) -> Any:
        if isinstance(value, dict):
            names = python_names()
            return {names.get(key, key): words(inner) for key, inner in value.items()}
        return [words(each) for each in value] if isinstance(value, list) else value

    more = {"region": "us-west-2", "availability_zones": ["us-west-2a", "us-west-2b", "us-west-2c"]}
    return {**words(value), **more} if isinstance(value, dict) else value


def main(words: list[str]) -> int:
    """Check many, and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--previews", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(words)
    failed: dict[str, str] = {}
    counts: dict[str, int] = {}
    slowest = (0.0, 0)
    for number in range(options.files):
        text = Fuzzer(options.seed * 1_000_000 + number).text()
        begun = time.process_time()
        try:
            report = checked(text)
            kind = "ok" if report.ok else "refused" if report.readable else "unreadable"
        except Exception as error:  # noqa: BLE001  (what is looked for)
            kind = "failed"
            failed.setdefault(f"{type(error).__name__}: {error}"[:400], f"file {number}")
        slowest = max(slowest, (time.process_time() - begun, number))
        counts[kind] = counts.get(kind, 0) + 1
        if number % 5_000 == 0:
            gc.collect()
            _say(number, counts, slowest, failed, _peak())
    _say("files", counts, "slowest", slowest, "failed", failed, "peak", _peak())
    failed_there, built_counts, slow_there = built_many(options.seed, options.previews)
    _say("previews", built_counts, "slowest", slow_there, "failed", failed_there, "peak", _peak())
    return 1 if failed or failed_there or slowest[0] > SLOW else 0


def built_many(seed: int, count: int) -> tuple[dict[str, str], dict[str, int], tuple[float, int]]:
    """Give so many environments to the components."""
    failed: dict[str, str] = {}
    counts: dict[str, int] = {}
    slowest = (0.0, 0)
    for number in range(count):
        environment = Fuzzer(seed * 1_000_000 + 500_000_000 + number).environment()
        begun = time.process_time()
        try:
            with contextlib.redirect_stderr(None):
                kind = "refused" if built(environment) else "built"
        except Exception as error:  # noqa: BLE001  (what is looked for)
            kind = "failed"
            failed.setdefault(str(error)[-400:], f"environment {number}")
        slowest = max(slowest, (time.process_time() - begun, number))
        counts[kind] = counts.get(kind, 0) + 1
    return failed, counts, slowest


def _say(*words: object) -> None:
    sys.stdout.write(f"{' '.join(map(str, words))}\n")
    sys.stdout.flush()


def _peak() -> str:
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
