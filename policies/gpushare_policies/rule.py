"""What a rule is: a Pulumi policy that also knows its resource types, its fix and its settings."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

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
from pulumi_policy.proxy import UnknownValueError, unknown_checking_proxy

from eks_gpushare.facts.index import facts_of, is_worth_refusing
from gpushare_policies import exemptions
from gpushare_policies.checks import Check, Remediation, StackCheck, StackViolation, Unjudged
from gpushare_policies.props import stack_of
from gpushare_policies.reading.cloudformation import JUDGED_TOKENS
from gpushare_policies.reading.held_resources import holds_resources, resources_elsewhere
from gpushare_policies.reading.plain import with_sentinels
from gpushare_policies.tokens import RELEASE
from gpushare_policies.words import is_of_pulumi_eks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gpushare_policies.words import Fix

T = TypeVar("T")


class NotJudgedError(UnknownValueError):
    """What a rule could not judge; the SDK reports it as advisory, whatever the rule's level is."""

    def __init__(self, unjudged: Sequence[str]) -> None:
        """All of it at once, each thing once, whatever the order of registrations."""
        Exception.__init__(self)
        self.message = f"could not be judged: {'; '.join(sorted({*unjudged}))}"


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

    def of(self, args: exemptions.Configured) -> T:
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


def level_of(name: str) -> EnforcementLevel:
    """The level of a policy: of one whose facts are no errors it is advisory, else mandatory."""
    if facts_of(name) and not is_worth_refusing(name):
        return EnforcementLevel.ADVISORY
    return EnforcementLevel.MANDATORY


def _schema(settings: Sequence[Setting[Any]]) -> PolicyConfigSchema:
    own = {setting.name: setting.json_schema() for setting in settings}
    return PolicyConfigSchema({**own, exemptions.KEY: dict(exemptions.SCHEMA)})


def _report(
    rule: str,
    found: Iterator[StackViolation | tuple[str, str] | Unjudged],
    report: Callable[[str, str, str], None],
) -> None:
    """Report violations of a rule, and in the end all that could not be judged.

    Raises:
        UnknownValueError: If there was such.
    """
    unjudged: list[str] = []
    try:
        for violation in found:
            if isinstance(violation, Unjudged):
                unjudged.append(violation.what)
            else:
                report(*StackViolation(*violation))
    except UnknownValueError as error:
        exemptions.LEDGER.unjudged.add(rule)
        if not unjudged:
            raise
        unjudged.append(error.message)
    if unjudged:
        exemptions.LEDGER.unjudged.add(rule)
        raise NotJudgedError(unjudged)


class ResourcePolicy(ResourceValidationPolicy):
    """A rule on one resource at a time, with one check per resource type."""

    def __init__(
        self,
        name: str,
        description: str,
        *,
        checks: Mapping[str, Check],
        severity: Severity,
        fix: Fix,
        level: EnforcementLevel | None = None,
        framework: PolicyComplianceFramework | None = None,
        also: Sequence[str] = (),
        settings: Sequence[Setting[Any]] = (),
        unseen: str = "",
        remediate: Mapping[str, Remediation] | None = None,
    ) -> None:
        """Take what there is to say about the rule.

        `checks` maps type tokens to checks; `also` names further references, as tags; `remediate`
        maps type tokens to what repairs a resource where the level `remediate` is configured.
        """
        self.applies_to = tuple(checks)
        """Type tokens of the resources the rule looks at."""
        self.settings = tuple(settings)
        """Thresholds that may be configured."""
        self.unseen = unseen
        """What the rule is about and cannot see, for the documentation."""
        self.messages_say_fixes = True
        """Whether a message ends with how to comply, so that nobody need say it again."""
        self.reads_only = True
        """Whether it leaves what it is given as it is, so that others may look at it too."""
        self._checks = checks
        self._remediations = remediate or {}
        self.repairs = tuple(self._remediations)
        """Type tokens of the resources it repairs at the level `remediate`."""
        super().__init__(
            name=name,
            description=description,
            validate=self._run,
            remediate=self._repair if remediate else None,  # type: ignore[arg-type]  # no awaitable
            enforcement_level=level or level_of(name),
            config_schema=_schema(settings),
            severity=severity,
            framework=framework,
            tags=list(also),
            remediation_steps=fix.steps(),
        )

    def looks_at(self, resource_type: str) -> bool:
        """Whether the rule has anything to say of resources of a type."""
        if resource_type in self._checks:
            return True
        return holds_resources(resource_type) and any(
            token in self._checks for token in (*JUDGED_TOKENS, RELEASE)
        )

    def _run(self, args: ResourceValidationArgs, report_violation: ReportViolation) -> None:
        report = exemptions.exempting(self.name, args, report_violation)
        check = self._checks.get(args.resource_type)
        if check is not None:
            found = (
                each if isinstance(each, Unjudged) else (each, args.urn) for each in check(args)
            )
            _report(self.name, found, report)
        elif holds_resources(args.resource_type) and not is_of_pulumi_eks(args.urn):
            _report(self.name, self._within(args), report)

    def _within(self, args: ResourceValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
        """What is wrong with resources that stand in the properties of one."""
        for made in resources_elsewhere(args.resource_type, args.name, args.props):
            check = self._checks.get(made.token)
            if check is None:
                continue
            props = unknown_checking_proxy(with_sentinels(made.props))
            of_pulumi = ResourceValidationArgs(
                *(made.token, props, args.urn, made.name, args.opts, args.provider),
                args.get_config(),
                args.stack_tags,
            )
            for each in check(of_pulumi):
                yield each if isinstance(each, Unjudged) else (each, args.urn)

    def _repair(self, args: ResourceValidationArgs) -> Mapping[str, Any] | None:
        repair = self._remediations.get(args.resource_type)
        if repair is None or exemptions.is_let_be(self.name, args, args.urn):
            return None
        return repair(args)


class StackPolicy(StackValidationPolicy):
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
        level: EnforcementLevel | None = None,
        framework: PolicyComplianceFramework | None = None,
        also: Sequence[str] = (),
        settings: Sequence[Setting[Any]] = (),
        unseen: str = "",
    ) -> None:
        """Take what there is to say about the rule; `applies_to` is for the documentation."""
        self.applies_to = tuple(applies_to)
        """Type tokens of the resources the rule looks at."""
        self.settings = tuple(settings)
        """Thresholds that may be configured."""
        self.unseen = unseen
        """What the rule is about and cannot see, for the documentation."""
        self.messages_say_fixes = True
        """Whether a message ends with how to comply, so that nobody need say it again."""
        self.reads_only = True
        """Whether it leaves what it is given as it is, so that others may look at it too."""
        self.ledger: exemptions.Ledger | None = None
        """Where what was exempted is written down, of the one rule that tells of it."""
        self._check = check
        super().__init__(
            name=name,
            description=description,
            validate=self._run,
            enforcement_level=level or level_of(name),
            config_schema=_schema(settings),
            severity=severity,
            framework=framework,
            tags=list(also),
            remediation_steps=fix.steps(),
        )

    def _run(self, args: StackValidationArgs, report_violation: ReportViolation) -> None:
        report = exemptions.exempting(self.name, args, report_violation)
        _report(self.name, self._check(args), report)


AnyRule: TypeAlias = ResourcePolicy | StackPolicy
"""A rule on a resource or on a stack."""
