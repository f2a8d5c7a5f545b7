"""`eks-gpushare verify` in the cluster: whether it is what was declared, every few minutes."""

from collections.abc import Iterator, Mapping
from typing import Any, NotRequired

import pulumi
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.settings import SETTINGS
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.batch.v1 import CronJob
from pulumi_kubernetes.core.v1 import Namespace, Service, ServiceAccount
from pulumi_kubernetes.rbac.v1 import ClusterRole, ClusterRoleBinding

from eks_gpushare import args as plain
from eks_gpushare.config.component_specs import ShareVerifierSpec
from eks_gpushare.findings.finding import Finding
from eks_gpushare.in_cluster.chart_parts import immutable_config_map
from eks_gpushare.inputs.component import (
    FromSpec,
    given_args,
    props,
    refuse,
    validate_args,
    warn,
)
from eks_gpushare.kubernetes_provider import missing_provider
from eks_gpushare.live.declared import undeclared
from eks_gpushare.live.kinds import cluster_role
from eks_gpushare.rules.component_rules import check_share_verifier
from eks_gpushare.sharing import verifier as planned


class ShareVerifierArgs(plain.VerifierBlock):
    """How often it looks, and what the cluster should be."""

    stack: NotRequired[pulumi.Input[str]]
    """Text of the stack file that declares the cluster. Default: it says what is wrong with the
    cluster whatever it should be."""


class ShareVerifier(pulumi.ComponentResource):
    """`eks-gpushare verify` every few minutes, with the rights to read and no others.

    From five minutes on it is a CronJob: a Job that fails is a cluster that is not as declared, and
    its log has the causes as JSON. Below, a Deployment looks, writes a line of JSON each time, and
    serves metrics at port 9464 of its pod and of a headless Service. It writes nothing to the
    cluster but, with `events`, Events. Several of them each have a `name`.
    Needs a Kubernetes provider: `opts=ResourceOptions(providers=[cluster.provider])`.
    """

    namespace: pulumi.Output[str]
    """Namespace of it."""

    def __init__(
        self, name: str, args: ShareVerifierArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Install it.

        Args:
            name: Name of the component, which its children's names start with.
            args: How often it looks, and what the cluster should be.
            opts: Pulumi's resource options, with a Kubernetes provider among `providers`.

        Raises:
            pulumi.InputPropertiesError: If the arguments are wrong, naming every field.
        """

        def ruled(spec: ShareVerifierSpec) -> Iterator[Finding]:
            yield from missing_provider("ShareVerifier", opts)
            yield from check_share_verifier(spec)
            if isinstance(stack, str):
                yield from undeclared(stack)

        stack = given_args(ShareVerifierArgs, args).get("stack")
        spec, found = validate_args(ShareVerifierSpec, ShareVerifierArgs, args, ruled)
        self._register(name, spec, stack if isinstance(stack, str) else _declaring(stack), opts)
        warn(found, self)

    def _register(
        self,
        name: str,
        spec: ShareVerifierSpec,
        stack: pulumi.Input[str] | None,
        opts: pulumi.ResourceOptions | None,
    ) -> None:
        super().__init__("eks-gpushare:index:ShareVerifier", name, props(spec), opts)
        child = pulumi.ResourceOptions(parent=self)
        metadata: Any = {
            "name": planned.verifier_namespace(spec),
            "labels": dict(planned.NAMESPACE_LABELS),
        }
        namespace = Namespace(f"{name}-namespace", metadata=metadata, opts=child)
        self.namespace = namespace.metadata.name
        account = _account(name, spec, self.namespace, child)
        config_map = None
        if stack is not None:
            made = immutable_config_map(
                f"{name}-stack",
                planned.OBJECT_NAME,
                self.namespace,
                {planned.STACK_KEY: stack},  # type: ignore[dict-item]  # it may be an output
                child,
                labels=planned.LABELS,
            )
            config_map = made.metadata.name
        around = _metadata(self.namespace)
        if planned.is_cron_job(spec):
            looks: Any = planned.cron_job(spec, account, config_map)
            CronJob(f"{name}-verify", metadata=around, spec=looks, opts=child)
        else:
            looks = planned.deployment(spec, account, config_map)
            Deployment(f"{name}-verify", metadata=around, spec=looks, opts=child)
            metrics: Any = planned.service()
            Service(f"{name}-metrics", metadata=around, spec=metrics, opts=child)
        self.register_outputs({"namespace": self.namespace})

    _from_spec = FromSpec(_register)


def _declaring(stack: pulumi.Input[str] | None) -> pulumi.Output[str] | None:
    """A text that is known later, refused then if it declares nothing."""
    if stack is None:
        return None

    def checked(text: str) -> str:
        found = [] if isinstance(SETTINGS.monitor, MockMonitor) else list(undeclared(text))
        if found:  # of made-up values of mocks nothing is said
            refuse("ShareVerifier", found)
        return text

    return pulumi.Output.from_input(stack).apply(checked)


def _metadata(namespace: pulumi.Input[str] | None = None) -> Any:
    around: Mapping[str, Any] = {"name": planned.OBJECT_NAME, "labels": dict(planned.LABELS)}
    return {**around, **({"namespace": namespace} if namespace is not None else {})}


def _account(
    name: str,
    spec: ShareVerifierSpec,
    namespace: pulumi.Input[str],
    opts: pulumi.ResourceOptions,
) -> pulumi.Output[str]:
    """A service account with the role that `verify --rbac` prints; its name once it has it."""
    of_cluster: Any = {**_metadata(), "name": planned.cluster_wide_name(spec)}
    account = ServiceAccount(
        f"{name}-account",
        metadata=_metadata(namespace),
        automount_service_account_token=False,  # the pod asks for it
        opts=opts,
    )
    rules: Any = cluster_role(planned.OBJECT_NAME, events=spec.events)["rules"]
    role = ClusterRole(f"{name}-role", metadata=of_cluster, rules=rules, opts=opts)
    bound = ClusterRoleBinding(
        f"{name}-role",
        metadata=of_cluster,
        role_ref={
            "api_group": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": role.metadata.name,
        },
        subjects=[{"kind": "ServiceAccount", "name": planned.OBJECT_NAME, "namespace": namespace}],
        opts=opts,
    )
    return pulumi.Output.all(account.metadata.name, bound.id).apply(lambda known: str(known[0]))
