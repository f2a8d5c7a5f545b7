"""Run a policy pack over a recording, in this process, over the engine's analyzer protocol.

The conversions of properties, options, unknowns and results are the pack SDK's own. As with the
engine, resource policies see the inputs of each resource in the order of registration, and stack
policies see the outputs of all at the end. Without providers the outputs of a custom resource are
its inputs and little more. The engine shows policies the inputs as the provider has completed them;
here they are as the program wrote them.
"""

from __future__ import annotations

import contextvars
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pulumi.runtime import Settings, configure
from pulumi.runtime.proto import analyzer_pb2
from pulumi_policy import EnforcementLevel

from eks_gpushare.documents.duration import seconds
from eks_gpushare.program.policies import config as policy_config
from eks_gpushare.program.policies.shared_servicer import servicer_of
from eks_gpushare.program.policies.violations import (
    REMEDIATED,
    TO_REMEDIATE,
    Exempted,
    Judged,
    Violation,
)
from eks_gpushare.program.protobuf import empty_pb2
from eks_gpushare.program.recording import PROVIDER_TYPE_PREFIX, STACK_TYPE
from eks_gpushare.program.values import (
    OutputValue,
    ResourceRef,
    Secret,
    encode_properties,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pulumi_policy import Policy

    from eks_gpushare.program.policies.stack_silences import StackSilence
    from eks_gpushare.program.recording import Recording, Resource

_PACK_VERSION = "0.0.1"
"""What the Python SDK calls every pack; a pack's version is its PulumiPolicy.yaml's business."""

_SEVERITIES: Mapping[int, str] = {
    analyzer_pb2.POLICY_SEVERITY_UNSPECIFIED: "unspecified",
    analyzer_pb2.POLICY_SEVERITY_LOW: "low",
    analyzer_pb2.POLICY_SEVERITY_MEDIUM: "medium",
    analyzer_pb2.POLICY_SEVERITY_HIGH: "high",
    analyzer_pb2.POLICY_SEVERITY_CRITICAL: "critical",
}


def run_pack(
    policies: Sequence[Policy],
    recording: Recording,
    *,
    config: policy_config.PackConfig | None = None,
    initial_config: Mapping[str, Any] | None = None,
    pack: str = "eks-gpushare",
    level: EnforcementLevel = EnforcementLevel.ADVISORY,
    tags: Mapping[str, str] | None = None,
) -> list[Violation]:
    """What `policies` have to say about `recording`, in the order the engine would say it.

    `config` is what ``--policy-pack-config`` would name, as data; `initial_config`, `pack` (its
    name) and `level` are the pack's own; `tags` are the stack's. A policy that meets a value which
    only an update tells is reported as one that cannot run during a preview, at level advisory, as
    the engine does. Raises `policy_config.PolicyConfigError` if a configuration does not fit; an
    error inside a policy passes, with a note that names the resource.
    """
    return judge(
        policies,
        recording,
        config=config,
        initial_config=initial_config,
        pack=pack,
        level=level,
        tags=tags,
    ).violations


def judge(
    policies: Sequence[Policy],
    recording: Recording,
    *,
    config: policy_config.PackConfig | None = None,
    initial_config: Mapping[str, Any] | None = None,
    pack: str = "eks-gpushare",
    level: EnforcementLevel = EnforcementLevel.ADVISORY,
    tags: Mapping[str, str] | None = None,
    silences: Sequence[StackSilence] = (),
) -> Judged:
    """The same as `run_pack`, with what else there is to say; `silences` are a stack file's."""
    if not policies:
        return Judged([])
    servicer = servicer_of(pack, _PACK_VERSION, policies, level, initial_config)
    # A policy may keep a list of what it let be; our pack has one that does.
    ledger = next(filter(None, (getattr(policy, "ledger", None) for policy in policies)), None)

    def analyze() -> Judged:
        # A pack's process has these from its environment.
        configure(Settings(recording.project, recording.stack, dry_run=recording.preview))
        analysis = _Analysis(servicer, policies, recording, config, tags or {}, silences)
        if ledger is not None:
            ledger.clear()
        violations = list(analysis)
        return Judged(violations, tuple(_exempted(ledger, recording)), analysis.levels)

    return contextvars.copy_context().run(analyze)


def _exempted(ledger: Any, recording: Recording) -> Iterator[Exempted]:
    for exempted in ledger.exempted if ledger is not None else ():
        given = exempted.exemption
        yield Exempted(
            given.rule,
            exempted.urn,
            exempted.message,
            given.reason,
            given.until,
            str(exempted),
            recording.source_of(exempted.urn),
            exempted.names,
        )


class _Analysis:
    """One pack over one recording; iterate to run it."""

    def __init__(
        self,
        servicer: Any,  # a _PolicyAnalyzerServicer, whose methods have no types
        pack: Sequence[Policy],
        recording: Recording,
        config: policy_config.PackConfig | None,
        tags: Mapping[str, str],
        silences: Sequence[StackSilence],
    ) -> None:
        self._servicer = servicer
        self._recording = recording
        self._providers: dict[str, analyzer_pb2.AnalyzerProviderResource] = {}
        info = self._servicer.GetAnalyzerInfo(empty_pb2.Empty(), None)
        self._policies = {policy.name: policy for policy in info.policies}
        self._saying_fixes = {
            policy.name for policy in pack if getattr(policy, "messages_say_fixes", False)
        }
        policies = policy_config.merged(info, config, silences)
        self.levels = {
            name: policy_config.LEVEL_NAMES[entry.enforcementLevel]
            for name, entry in policies.items()
            if entry.enforcementLevel != analyzer_pb2.DISABLED
        }
        self._servicer.ConfigureStack(analyzer_pb2.AnalyzerStackConfigureRequest(tags=tags), None)
        self._servicer.Configure(analyzer_pb2.ConfigureAnalyzerRequest(policyConfig=policies), None)

    def __iter__(self) -> Iterator[Violation]:
        for resource in self._recording.resources:
            if not resource.existing:  # the engine analyzes what it manages
                yield from self._of_resource(resource)
        yield from self._of_stack()

    def _of_resource(self, resource: Resource) -> Iterator[Violation]:
        request = analyzer_pb2.AnalyzeRequest(
            type=resource.type,
            urn=resource.urn,
            name=resource.name,
            properties=encode_properties(_analyzed(resource.inputs)),
            options=_options(resource),
            provider=self._provider(resource),
        )
        try:
            for repair in self._servicer.Remediate(request, None).remediations:
                yield self._repaired(repair, resource)
                # Of a state nothing is changed, so what is to be repaired is wrong still.
                if not repair.diagnostic and not self._recording.exported:
                    request.properties.CopyFrom(repair.properties)
            response = self._servicer.Analyze(request, None)
        except Exception as error:
            error.add_note(f"while the policies looked at {resource.urn}")
            raise
        for diagnostic in response.diagnostics:
            yield self._violation(diagnostic, resource.urn)

    def _of_stack(self) -> Iterator[Violation]:
        request = analyzer_pb2.AnalyzeStackRequest(
            resources=[self._stack_resource(resource) for resource in self._recording.resources]
        )
        urns = self._recording.by_urn
        root = next((r.urn for r in self._recording.resources if r.type == STACK_TYPE), "")
        for diagnostic in self._servicer.AnalyzeStack(request, None).diagnostics:
            urn = diagnostic.urn if diagnostic.urn in urns else root
            yield self._violation(diagnostic, urn)

    def _stack_resource(self, resource: Resource) -> analyzer_pb2.AnalyzerResource:
        dependencies = {
            key: analyzer_pb2.AnalyzerPropertyDependencies(urns=urns)
            for key, urns in resource.property_dependencies.items()
        }
        return analyzer_pb2.AnalyzerResource(
            type=resource.type,
            urn=resource.urn,
            name=resource.name,
            properties=encode_properties(_analyzed(_known_of(resource))),
            options=_options(resource),
            provider=self._provider(resource),
            parent=resource.parent,
            dependencies=resource.dependencies,
            propertyDependencies=dependencies,
        )

    def _provider(self, resource: Resource) -> analyzer_pb2.AnalyzerProviderResource | None:
        if self._recording.exported and resource.provider not in self._recording.by_urn:
            return None
        if resource.provider:
            if resource.provider not in self._providers:
                provider = self._recording.by_urn[resource.provider]
                self._providers[resource.provider] = analyzer_pb2.AnalyzerProviderResource(
                    type=provider.type,
                    urn=provider.urn,
                    name=provider.name,
                    properties=encode_properties(_analyzed(provider.inputs)),
                )
            return self._providers[resource.provider]
        if not resource.custom or resource.type.startswith(PROVIDER_TYPE_PREFIX):
            return None
        return self._default_provider(resource)

    def _default_provider(self, resource: Resource) -> analyzer_pb2.AnalyzerProviderResource:
        """The provider that the engine makes for resources that name none."""
        kind = f"{PROVIDER_TYPE_PREFIX}{resource.type.partition(':')[0]}"
        version = resource.options.get("version", "")
        name = "default" + "".join(f"_{part}" for part in version.split(".") if part)
        urn = f"urn:pulumi:{self._recording.stack}::{self._recording.project}::{kind}::{name}"
        if urn not in self._providers:
            package = resource.type.partition(":")[0]
            known = encode_properties(
                self._recording.package_config.get(package, {})
                | ({"version": version} if version else {})
            )
            self._providers[urn] = analyzer_pb2.AnalyzerProviderResource(
                type=kind, urn=urn, name=name, properties=known
            )
        return self._providers[urn]

    def _violation(self, diagnostic: analyzer_pb2.AnalyzeDiagnostic, urn: str) -> Violation:
        policy = self._policies[diagnostic.policyName]
        framework = policy.framework
        message = diagnostic.message.removeprefix(diagnostic.description).removeprefix("\n")
        return Violation(
            policy=diagnostic.policyName,
            pack=diagnostic.policyPackName,
            level=policy_config.LEVEL_NAMES[diagnostic.enforcementLevel],
            severity=_SEVERITIES[diagnostic.severity or policy.severity],
            urn=urn,
            message=message or diagnostic.message,
            description=diagnostic.description,
            framework=" ".join(filter(None, (framework.name, framework.version))),
            reference=framework.reference,
            remediation_steps=policy.remediation_steps,
            url=policy.url,
            message_says_fix=diagnostic.policyName in self._saying_fixes,
            source=self._recording.source_of(urn),
        )

    def _repaired(self, repair: analyzer_pb2.Remediation, resource: Resource) -> Violation:
        return self._violation(
            analyzer_pb2.AnalyzeDiagnostic(
                policyName=repair.policyName,
                policyPackName=repair.policyPackName,
                description=repair.description,
                message=repair.diagnostic
                or (TO_REMEDIATE if self._recording.exported else REMEDIATED),
                enforcementLevel=(
                    analyzer_pb2.ADVISORY if repair.diagnostic else analyzer_pb2.REMEDIATE
                ),
            ),
            resource.urn,
        )


def _known_of(resource: Resource) -> dict[str, Any]:
    """The outputs; of a chart that nobody renders here, its arguments too, which rules go by."""
    own = resource.inputs if resource.type == "kubernetes:helm.sh/v4:Chart" else {}
    return {**own, **resource.outputs}


def _analyzed(value: Any) -> Any:
    """Properties as the engine sends them to a pack.

    References become ids (URNs where there is none), outputs their values, and internal keys, which
    begin with two underscores, are left out.
    """
    if isinstance(value, OutputValue):
        return Secret(_analyzed(value.value)) if value.secret else _analyzed(value.value)
    if isinstance(value, Secret):
        return Secret(_analyzed(value.value))
    if isinstance(value, ResourceRef):
        return value.urn if isinstance(value.id, str) and not value.id else value.id
    if isinstance(value, Mapping):
        return {key: _analyzed(item) for key, item in value.items() if not key.startswith("__")}
    if isinstance(value, list | tuple):
        return [_analyzed(item) for item in value]
    return value


def _options(resource: Resource) -> analyzer_pb2.AnalyzerResourceOptions:
    given = resource.options
    aliases = [alias if isinstance(alias, str) else "" for alias in given.get("aliases", ())]
    options = analyzer_pb2.AnalyzerResourceOptions(
        protect=resource.protect,
        ignoreChanges=given.get("ignoreChanges", ()),
        deleteBeforeReplace=given.get("deleteBeforeReplace", False),
        deleteBeforeReplaceDefined="deleteBeforeReplace" in given,
        additionalSecretOutputs=given.get("additionalSecretOutputs", ()),
        aliases=filter(None, aliases),
        parent=resource.parent,
    )
    for phase, duration in given.get("customTimeouts", {}).items():
        if phase in {"create", "update", "delete"}:
            setattr(options.customTimeouts, phase, float(seconds(duration) or 0))
    return options
