"""The kinds of findings about the shape of a stack file.

The kinds that compare one part with another stand beside their rules in `eks_gpushare.rules`.
"""

from __future__ import annotations

from eks_gpushare.findings.rule import Rule

STACK_FILES = "https://www.pulumi.com/docs/iac/concepts/config/"
GO_YAML = "https://pkg.go.dev/gopkg.in/yaml.v3"

UNREADABLE = Rule(
    "GPU001",
    "error",
    "The file is one YAML document in UTF-8.",
    "The Pulumi engine stops at a stack file that it cannot parse, and speaks of its parser.",
    GO_YAML,
)
DUPLICATE_KEY = Rule(
    "GPU002",
    "error",
    "A key stands once in its mapping.",
    "Most YAML readers silently keep the last of two equal keys; the engine refuses the file.",
    GO_YAML,
)
UNKNOWN_KEY = Rule(
    "GPU003",
    "error",
    "Every key is one that this version knows.",
    "A misspelt key that is ignored leaves the default in force, and nobody is told.",
    "https://github.com/NVIDIA/k8s-device-plugin/issues/1433",
)
MISSING_KEY = Rule(
    "GPU004",
    "error",
    "Keys without a default are given.",
    "There is no value that would be right for everybody.",
    STACK_FILES,
)
WRONG_TYPE = Rule(
    "GPU005",
    "error",
    "A value has the type of its key.",
    "Numbers, booleans and text that merely look alike reach AWS and Kubernetes as something else.",
    GO_YAML,
)
NOT_ALLOWED = Rule(
    "GPU006",
    "error",
    "A value is one of those allowed for its key.",
    "Closed choices are checked here, not by the first API that happens to see them.",
    STACK_FILES,
)
UNQUOTED_VERSION = Rule(
    "GPU007",
    "error",
    "A version is quoted.",
    "YAML reads an unquoted 1.30 as the number 1.3, which is another version.",
    GO_YAML,
)
NO_ENVIRONMENT = Rule(
    "GPU008",
    "error",
    "The file declares an environment.",
    "The program has nothing to build without it.",
    STACK_FILES,
)
STRAY_KEY = Rule(
    "GPU009",
    "error",
    "Keys beside the environment are ones that Pulumi or this project reads.",
    "Pulumi passes a misspelt configuration key on without a word.",
    "https://github.com/pulumi/pulumi/issues/7306",
)
SECRET_INSIDE = Rule(
    "GPU010",
    "error",
    "The environment holds no secrets.",
    "Pulumi decrypts a secret inside an object before the program sees it, so it would stand in "
    "plain text in the state.",
    "https://www.pulumi.com/docs/iac/concepts/secrets/",
)
BOTH_KINDS = Rule(
    "GPU011",
    "error",
    "A part is either made by the stack or there already, not both.",
    "Settings of a new cluster or network mean nothing for one that exists.",
    STACK_FILES,
)
TOO_LARGE = Rule(
    "GPU013",
    "error",
    "Nothing is larger than AWS, Kubernetes and NVIDIA have it.",
    "Checking works on every part of what is given, so a number with zeros too many would cost "
    "minutes or all memory.",
    "https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html",
)
