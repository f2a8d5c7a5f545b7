"""The monitor is the same whether the SDK calls it or reaches it over the network."""

from __future__ import annotations

import asyncio
import contextvars
from concurrent.futures import ThreadPoolExecutor

import grpc  # type: ignore[import-untyped]  # no stubs
import pulumi
import pulumi_aws as aws
import pulumi_eks as eks
import pulumi_kubernetes as kubernetes
import pytest
from pulumi.automation._server import LanguageServer
from pulumi.runtime.proto import engine_pb2_grpc, language_pb2, resource_pb2_grpc

from eks_gpushare.program.fakes.fakes import default_fakes
from eks_gpushare.program.recording import Recording
from eks_gpushare.program.run import Program, run_program
from eks_gpushare.program.running.engine import EngineServicer
from eks_gpushare.program.running.monitor import Monitor

pytestmark = pytest.mark.sdk_internals

CONFIG = {"aws:region": "us-west-2"}


class Pool(pulumi.ComponentResource):
    def __init__(self, name: str, cluster: eks.Cluster) -> None:
        options = pulumi.ResourceOptions(transforms=[_protect])
        super().__init__("demo:index:Pool", name, {}, options)
        child = pulumi.ResourceOptions(parent=self)
        role = aws.iam.Role(f"{name}-role", assume_role_policy="{}", opts=child)
        self.group = aws.eks.NodeGroup(
            f"{name}-group",
            cluster_name=cluster.eks_cluster.name,
            node_role_arn=role.arn,
            subnet_ids=["subnet-1"],
            scaling_config={"min_size": 1, "max_size": 2, "desired_size": 1},
            opts=child,
        )
        self.register_outputs({"group": self.group.arn})


def _protect(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult:
    options = pulumi.ResourceOptions.merge(args.opts, pulumi.ResourceOptions(protect=True))
    return pulumi.ResourceTransformResult(props=args.props, opts=options)


def program() -> None:
    cluster = eks.Cluster(
        "gpu", vpc_id="vpc-1", subnet_ids=["subnet-1"], skip_default_node_group=True
    )
    pool = Pool("pool", cluster)
    provider = kubernetes.Provider("k8s", kubeconfig=cluster.kubeconfig_json)
    kubernetes.core.v1.ConfigMap(
        "config",
        data={"endpoint": cluster.eks_cluster.endpoint},
        opts=pulumi.ResourceOptions(provider=provider, depends_on=[pool]),
    )
    pulumi.export("zones", aws.get_availability_zones().names)
    pulumi.export("token", pulumi.Output.secret("hunter2"))


def record_over_grpc(main: Program, *, preview: bool) -> tuple[Recording, str]:
    recording = Recording("demo", "dev", preview=preview)
    server = grpc.server(ThreadPoolExecutor(4))
    monitor = Monitor(recording, default_fakes(), CONFIG)
    resource_pb2_grpc.add_ResourceMonitorServicer_to_server(monitor, server)
    engine_pb2_grpc.add_EngineServicer_to_server(EngineServicer(recording), server)
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    request = language_pb2.RunRequest(
        project="demo",
        stack="dev",
        organization="organization",
        monitor_address=address,
        args=[address],
        dryRun=preview,
        parallel=1,
        config=CONFIG,
    )
    context = contextvars.copy_context()
    try:
        response = context.run(LanguageServer(main).Run, request, None)
    finally:
        server.stop(None).wait()
        asyncio.set_event_loop(None)
    return recording, response.error


def comparable(recording: Recording) -> list[object]:
    # Over the network registrations overtake each other; and the line is the host's affair.
    resources = sorted(recording.resources, key=lambda resource: resource.urn)
    return [
        (
            resource.as_json(),
            resource.outputs,
            resource.property_dependencies,
            resource.providers,
            resource.options,
        )
        for resource in resources
    ]


@pytest.mark.parametrize("preview", [True, False])
def test_the_recording_over_grpc_is_the_one_of_a_run_in_process(preview: bool) -> None:
    local = run_program(program, project="demo", stack="dev", config=CONFIG, preview=preview)

    remote, error = record_over_grpc(program, preview=preview)

    assert (local.error, error) == (None, "")
    assert comparable(remote) == comparable(local)
    assert remote.outputs == local.outputs


def test_an_error_over_grpc_has_the_same_text() -> None:
    def twice() -> None:
        aws.ec2.Vpc("net", cidr_block="10.0.0.0/16")
        aws.ec2.Vpc("net", cidr_block="10.0.0.0/16")

    local = run_program(twice, project="demo", stack="dev", config=CONFIG).error

    _, error = record_over_grpc(twice, preview=True)

    assert local is not None
    # Over a network the two arrive in either order, so which of them was first may differ.
    assert local.text.partition(" (the first is at")[0] in error
