"""A pack's servicer that reads each request once for all of its policies.

That of the SDK reads it anew for each policy, which takes most of the time of a pack with many. It
has to, since a policy may write to the properties it is given; so this is for policies that say
that they do not (`reads_only`), and which types they look at. The SDK's own code still does the
reading, as if for one policy that keeps what it gets.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from pulumi.runtime.proto import analyzer_pb2
from pulumi_policy import (
    EnforcementLevel,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.policy import _NotApplicableError, _PolicyAnalyzerServicer
from pulumi_policy.proxy import UnknownValueError

from eks_gpushare.program.protobuf import empty_pb2

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pulumi_policy import Policy, ReportViolation


def servicer_of(
    name: str,
    version: str,
    policies: Sequence[Policy],
    level: EnforcementLevel,
    initial_config: Mapping[str, Any] | None,
) -> Any:
    """The servicer of a pack: the SDK's, or where all policies only read, one that is faster."""
    shared = all(getattr(policy, "reads_only", False) for policy in policies)
    made = _SharedServicer if shared else _PolicyAnalyzerServicer
    return made(name, version, list(policies), level, dict(initial_config or {}) or None)


@lru_cache(maxsize=4)
def _described(name: str, version: str, policies: tuple[Policy, ...], level: Any) -> Any:
    """What a pack says of itself, once for all that it is to judge in one process."""
    servicer: Any = _PolicyAnalyzerServicer(name, version, list(policies), level, None)
    return servicer.GetAnalyzerInfo(empty_pb2.Empty(), None)


class _SharedServicer(_PolicyAnalyzerServicer):
    """The SDK's, but for reading."""

    def __init__(
        self, name: str, version: str, policies: list[Policy], level: Any, initial_config: Any
    ) -> None:
        super().__init__(name, version, policies, level, initial_config)
        self._pack = f"{name}@v{version}"
        self._names = name, version
        self._policies = policies
        self._described_by = None if initial_config else (tuple(policies), level)
        self._read: Any = None
        self._repairs = True  # until it is configured
        self._on_resources = [
            policy
            for policy in policies
            if isinstance(policy, ResourceValidationPolicy) and policy.has_validation()
        ]
        self._on_type: dict[str, list[ResourceValidationPolicy]] = {}
        self._reader: Any = _PolicyAnalyzerServicer(
            "reader",
            version,
            [
                ResourceValidationPolicy("resource", "Keeps what it gets.", self._keep),
                StackValidationPolicy("stack", "Keeps what it gets.", self._keep),
            ],
            EnforcementLevel.ADVISORY,
        )

    def _keep(self, args: Any, _report: ReportViolation) -> None:
        self._read = args

    def ConfigureStack(self, request: Any, _context: Any) -> Any:
        self._reader.ConfigureStack(request, None)
        return super().ConfigureStack(request, None)

    def Analyze(self, request: Any, _context: Any) -> Any:
        """What the policies on single resources say of one."""
        response, policies = analyzer_pb2.AnalyzeResponse(), self._for_type(request.type)
        if not policies:
            return response
        self._reader.Analyze(request, None)
        read = self._read
        for policy in policies:
            args = ResourceValidationArgs(
                read.resource_type,
                read.props,
                read.urn,
                read.name,
                read.opts,
                read.provider,
                self._get_policy_config(policy.name),
                read.stack_tags,
            )
            self._ask(policy, args, response)
        return response

    def _for_type(self, token: str) -> list[ResourceValidationPolicy]:
        """The policies that a resource concerns; all of them for the first, to know of each other.

        A policy writes down its exemptions when it is asked, whatever it is asked about.
        """
        if not self._on_type:
            self._on_type[token] = self._on_resources
        if token not in self._on_type:
            self._on_type[token] = [
                policy
                for policy in self._on_resources
                if policy.looks_at(token)  # type: ignore[attr-defined]  # such policies have it
            ]
        return self._on_type[token]

    def AnalyzeStack(self, request: Any, _context: Any) -> Any:
        """What the policies on whole stacks say of one."""
        self._reader.AnalyzeStack(request, None)
        response, read = analyzer_pb2.AnalyzeResponse(), self._read
        for policy in self._policies:
            if isinstance(policy, StackValidationPolicy):
                config = self._get_policy_config(policy.name)
                args = StackValidationArgs(list(read.resources), config, read.stack_tags)
                self._ask(policy, args, response)
        return response

    def GetAnalyzerInfo(self, request: Any, _context: Any) -> Any:
        """What the pack says of itself; whoever asks only reads it."""
        if self._described_by is None:
            return super().GetAnalyzerInfo(request, None)  # type: ignore[no-untyped-call]
        return _described(*self._names, *self._described_by)

    def Configure(self, request: Any, _context: Any) -> Any:
        answer = super().Configure(request, None)  # type: ignore[no-untyped-call]
        levels = map(self._get_enforcement_level, self._policies)
        self._repairs = EnforcementLevel.REMEDIATE in levels
        return answer

    def Remediate(self, request: Any, _context: Any) -> Any:
        """What the policies that repair would repair."""
        if not self._repairs:
            return analyzer_pb2.RemediateResponse()
        return super().Remediate(request, None)  # type: ignore[no-untyped-call]

    def _ask(self, policy: Any, args: Any, response: analyzer_pb2.AnalyzeResponse) -> None:
        level = self._get_enforcement_level(policy)
        if level == EnforcementLevel.DISABLED:
            return
        if level == EnforcementLevel.REMEDIATE:
            level = EnforcementLevel.MANDATORY  # what is still wrong was not repaired
        report = self._create_report_violation(
            response, policy.name, policy.description, level, policy.severity
        )
        try:
            _finished(policy.validate(args, report))
        except UnknownValueError as error:
            name, version = self._names
            response.diagnostics.append(
                analyzer_pb2.AnalyzeDiagnostic(
                    policyName=policy.name,
                    policyPackName=name,
                    policyPackVersion=version,
                    message=(
                        f"can't run policy '{policy.name}' from policy pack '{self._pack}' during "
                        f"preview: {error.message}"
                    ),
                    description=policy.description,
                    enforcementLevel=analyzer_pb2.ADVISORY,
                )
            )
        except _NotApplicableError as error:
            response.not_applicable.append(
                analyzer_pb2.PolicyNotApplicable(policy_name=policy.name, reason=error.reason or "")
            )


def _finished(result: Any) -> None:
    if isawaitable(result):
        loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(asyncio.Task(result, loop=loop))  # type: ignore[arg-type]
        finally:
            loop.close()
