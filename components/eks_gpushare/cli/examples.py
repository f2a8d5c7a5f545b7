"""What `--help` ends with: examples to copy, and what the exit codes mean."""

from __future__ import annotations

import argparse
from typing import Final

_FILES: Final = "2 wrong usage, or a file that cannot be read or written"
_EXIT: Final = {
    "": f"0 fine; 1 error findings, or a pod that does not run; {_FILES}; "
    "70 a defect, to be reported; 130 interrupted; 141 whoever read has gone",
    "init": f"0 written; 1 refused, since check would refuse it; {_FILES}",
    "check": f"0 no errors; 1 errors; {_FILES}",
    "lint": f"0 no errors; 1 errors; {_FILES}",
    "preview": f"0 no errors; 1 errors, or a program that stopped; {_FILES}",
    "policy": f"0 no mandatory violation; 1 one, or a stack that cannot be planned; {_FILES}",
    "iam": f"0 the whole policy; 1 a stack that cannot be planned, or actions unknown; {_FILES}",
    "verify": f"0 as declared; 1 errors; {_FILES}, or a cluster that cannot be read",
    "mig": f"0 it fits; 1 it does not, or there is no MIG; {_FILES}",
    "mig profiles": f"0 listed; 1 there is no MIG; {_FILES}",
    "mig layouts": f"0 listed; 1 there is no MIG; {_FILES}",
    "mig check": f"0 all fit; 1 one does not; {_FILES}",
    "shares": f"0 there is room; 1 there is not, or the stack declares more; {_FILES}",
    "tenants": f"0 told; 1 a stack with errors; {_FILES}",
    "cost": f"0 told; 1 a stack with errors; {_FILES}, or of another cluster",
    "rules": f"0 printed or written; 1 a stack with errors; {_FILES}",
    "schema": f"0 printed or written; {_FILES}",
    "findings": f"0 explained; {_FILES}",
    "completion": f"0 printed; {_FILES}",
    "lab": f"0 as expected; 1 not, or the lab failed; {_FILES}",
    "lab up": f"0 it is up; 1 it did not start; {_FILES}",
    "lab run": f"0 all that was applied runs, or what --expect says; 1 it does not; {_FILES}",
    "lab status": f"0 healthy; 1 not up, or not ready; {_FILES}",
    "lab down": f"0 it is down; 1 it could not be stopped; {_FILES}",
    "lab clean": f"0 removed; 1 something could not be; {_FILES}",
}
"""Exit codes by verb, in words; what every verb may end with besides is told of the command."""
EXAMPLES: Final = {
    "": ("check stacks/*.yaml", "preview time-slicing", "VERB --help"),
    "init": ("init my-gpus --mode timeSlicing --replicas 4 --yes",),
    "check": ("check stacks/*.yaml", "check --quiet --output sarif=check.sarif stacks/*.yaml"),
    "lint": ("lint examples/lint/GPU1020/good.yaml",),
    "preview": (
        "preview time-slicing",
        "preview stacks/Pulumi.mps.yaml --before stacks/Pulumi.time-slicing.yaml --quiet",
    ),
    "policy": ("policy time-slicing", "policy --output sarif=policy.sarif time-slicing"),
    "iam": ("iam time-slicing --account 111122223333",),
    "verify": (
        "verify --from examples/verify/cluster.json time-slicing",
        "verify --rbac",
    ),
    "mig": ("mig check p4d.24xlarge all-balanced",),
    "mig profiles": ("mig profiles p5.48xlarge",),
    "mig layouts": ("mig layouts p4d.24xlarge --maximal",),
    "mig check": ("mig check p4d.24xlarge 3g.20gb=1,2g.10gb=2",),
    "shares": (
        "shares g6.12xlarge --gpu-memory 3GiB --cpu 500m",
        "shares time-slicing --gpu-memory 2GiB",
    ),
    "tenants": ("tenants tenants", "tenants tenants research"),
    "cost": (
        "cost tenants",
        "cost tenants --usage examples/cost/usage.json --by namespace",
        "cost tenants --output opencost=prices.csv",
    ),
    "rules": ("rules tenants", "rules tenants --format operator"),
    "schema": ("schema --stack-file --out stack-file.schema.json",),
    "findings": ("findings GPU206",),
    "completion": ("completion bash",),
    "lab": (
        "lab run time-slicing --apply examples/lab/exclusive/cifar10.yaml",
        "lab clean",
    ),
    "lab up": ("lab up",),
    "lab run": (
        (
            "lab run time-slicing --apply examples/lab/exclusive/cifar10.yaml --scale "
            "tensorflow-cifar10-deployment=20"
        ),
    ),
    "lab status": ("lab status",),
    "lab down": ("lab down",),
    "lab clean": ("lab clean --all",),
}
"""What can be run as it stands in a clone, by verb."""


def add_examples(parser: argparse.ArgumentParser, verb: str) -> None:
    """Let the help of a verb, and of the verbs within, end with its examples and exit codes.

    Args:
        parser: Of the verb, with all its arguments.
        verb: Its words after the command's name.
    """
    for action in parser._actions:  # noqa: SLF001  (argparse has no other list of them)
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for name, inner in action.choices.items():
                add_examples(inner, f"{verb} {name}")
    if verb not in EXAMPLES:  # of another distribution
        return
    lines = [f"  eks-gpushare {example}" for example in EXAMPLES[verb]]
    codes = [f"  {meaning}" for meaning in _EXIT[verb].split("; ")]
    own = [parser.epilog.rstrip(), ""] if parser.epilog else []
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n".join([*own, "examples:", *lines, "", "exit codes:", *codes])
