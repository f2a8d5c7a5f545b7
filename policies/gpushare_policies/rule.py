"""What a rule is: a Pulumi policy that also knows its resource types, its fix and its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from pulumi_policy import (
    EnforcementLevel,
    PolicyComplianceFramework,
    PolicyConfigSchema,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    Severity,
    StackValidationArgs,
    StackValidationPolicy,
)

from gpushare_policies.props import stack_of

if TYPE_CHECKING:
    from gpushare_policies.words import Fix

T = TypeVar("T")

Check: TypeAlias = Callable[[ResourceValidationArgs], Iterator[str]]
"""Yields a message for each violation of one resource."""

Remediation: TypeAlias = Callable[[ResourceValidationArgs], "Mapping[str, Any] | None"]
"""The properties of one resource as they should be, None where nothing is to change."""

StackCheck: TypeAlias = Callable[[StackValidationArgs], Iterator[tuple[str, str]]]
"""Yields a message and the URN it belongs to for each violation of the stack."""


class Configured(Protocol):
    """Anything that carries a policy's configuration."""

    def get_config(self) -> Mapping[str, Any]:
        """The configuration, possibly without the defaults."""


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """A threshold of a rule that a pack's configuration may change."""

    name: str
    """Key in the configuration, camelCase."""
    default: T
    """Value without configuration, in force even where the engine did not fill it in."""
    description: str
    """What it decides, with the unit."""
    schema: Mapping[str, Any]
    """JSON Schema of the value."""
    parse: Callable[[Any], T]
    """Makes the value out of what the wire carries, which knows no integers."""

    def of(self, args: Configured) -> T:
        """The configured value or the default."""
        value = args.get_config().get(self.name)
        return self.default if value is None else self.parse(value)

    def json_schema(self) -> dict[str, Any]:
        """The schema with its description, as the engine takes it."""
        return {**self.schema, "description": self.description}


def number(name: str, default: int, description: str, *, minimum: int) -> Setting[int]:
    """A setting that is a whole number of at least `minimum`."""
    schema = {"type": "integer", "minimum": minimum, "default": default}
    return Setting(name, default, description, schema, int)


def stacks(description: str) -> Setting[tuple[str, ...]]:
    """The setting `stacks`: patterns of stack names, at first those containing `prod`."""
    default = ("*prod*",)
    schema = {"type": "array", "items": {"type": "string"}, "default": list(default)}
    return Setting("stacks", default, description, schema, lambda value: tuple(map(str, value)))


def is_among(patterns: Sequence[str], urn: str) -> bool:
    """Whether the resource's stack is meant by a pattern; case does not matter."""
    stack = stack_of(urn).lower()
    return any(fnmatchcase(stack, pattern.lower()) for pattern in patterns)


def cis(reference: str, title: str) -> PolicyComplianceFramework:
    """A recommendation of the CIS Amazon EKS Benchmark."""
    return PolicyComplianceFramework("CIS Amazon EKS Benchmark", "1.8.0", reference, title)


def security_hub(reference: str, title: str) -> PolicyComplianceFramework:
    """A control of AWS Security Hub."""
    return PolicyComplianceFramework("AWS Security Hub", None, reference, title)


def _schema(settings: Sequence[Setting[Any]]) -> PolicyConfigSchema | None:
    if not settings:
        return None
    return PolicyConfigSchema({setting.name: setting.json_schema() for setting in settings})


class Rule(ResourceValidationPolicy):
    """A rule on one resource at a time, with one check per resource type."""

    def __init__(
        self,
        name: str,
        description: str,
        *,
        checks: Mapping[str, Check],
        severity: Severity,
        fix: Fix,
        level: EnforcementLevel = EnforcementLevel.MANDATORY,
        framework: PolicyComplianceFramework | None = None,
        also: Sequence[str] = (),
        settings: Sequence[Setting[Any]] = (),
        remediate: Remediation | None = None,
    ) -> None:
        """Take what there is to say about the rule.

        `checks` maps type tokens to checks; `also` names further references, as tags. `remediate`
        runs at the level `remediate` only, which somebody has to configure.
        """
        self.applies_to = tuple(checks)
        """Type tokens of the resources the rule looks at."""
        self.settings = tuple(settings)
        """Thresholds that may be configured."""
        self.messages_say_fixes = True
        """Whether a message ends with how to comply, so that nobody need say it again."""
        self._checks = checks
        super().__init__(
            name=name,
            description=description,
            validate=self._run,
            enforcement_level=level,
            config_schema=_schema(settings),
            severity=severity,
            framework=framework,
            tags=list(also),
            remediation_steps=fix.steps(),
            remediate=remediate,
        )

    def _run(self, args: ResourceValidationArgs, report_violation: ReportViolation) -> None:
        check = self._checks.get(args.resource_type)
        if check is not None:
            for message in check(args):
                report_violation(message, args.urn)


class StackRule(StackValidationPolicy):
    """A rule on all resources of a stack together."""

    def __init__(
        self,
        name: str,
        description: str,
        *,
        check: StackCheck,
        applies_to: Sequence[str],
        severity: Severity,
        fix: Fix,
        level: EnforcementLevel = EnforcementLevel.MANDATORY,
        framework: PolicyComplianceFramework | None = None,
        also: Sequence[str] = (),
        settings: Sequence[Setting[Any]] = (),
    ) -> None:
        """Take what there is to say about the rule; `applies_to` is for the documentation."""
        self.applies_to = tuple(applies_to)
        """Type tokens of the resources the rule looks at."""
        self.settings = tuple(settings)
        """Thresholds that may be configured."""
        self.messages_say_fixes = True
        """Whether a message ends with how to comply, so that nobody need say it again."""
        self._check = check
        super().__init__(
            name=name,
            description=description,
            validate=self._run,
            enforcement_level=level,
            config_schema=_schema(settings),
            severity=severity,
            framework=framework,
            tags=list(also),
            remediation_steps=fix.steps(),
        )

    def _run(self, args: StackValidationArgs, report_violation: ReportViolation) -> None:
        for message, urn in self._check(args):
            report_violation(message, urn)


AnyRule: TypeAlias = Rule | StackRule
"""A rule on a resource or on a stack."""
