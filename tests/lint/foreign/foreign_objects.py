"""Right objects of other programs, for tests that break one thing in them."""

from __future__ import annotations

from typing import Any

import yaml

CLUSTER = """
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: lab, region: us-east-1, version: "1.35"}
managedNodeGroups:
  - name: gpu
    instanceTypes: [g5.xlarge, g5.2xlarge]
    minSize: 0
    desiredCapacity: 1
    maxSize: 4
    volumeSize: 200
    labels: {nvidia.com/device-plugin.config: any}
    taints: [{key: nvidia.com/gpu, value: "true", effect: NoSchedule}]
    tags: {k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu: "10"}
nodeGroups:
  - name: own
    instanceType: p4d.24xlarge
    desiredCapacity: 2
    taints: {nvidia.com/gpu: "true:NoSchedule"}
"""
CONFIG: dict[str, Any] = yaml.safe_load(CLUSTER)
PLAN: dict[str, Any] = yaml.safe_load(
    """
    version: "3.9"
    x-omnistrate-service-plan: {name: shared, tenancyType: OMNISTRATE_MULTI_TENANCY}
    x-internal-integrations:
      multiTenantGpu: {instanceType: p4d.24xlarge, migProfile: 1g.5gb, timeSlicingReplicas: 4}
    services:
      app:
        image: ghcr.io/acme/app:1.0
        x-omnistrate-capabilities:
          autoscaling:
            {minReplicas: 1, maxReplicas: 5, idleThreshold: 20, overUtilizedThreshold: 80}
    """
)
POOL: dict[str, Any] = yaml.safe_load(
    """
    apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: gpu}
    spec:
      template:
        metadata:
          labels: {team: research, nvidia.com/device-plugin.config: any}
        spec:
          nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
          requirements:
            - {key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}
            - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
          taints: [{key: nvidia.com/gpu, value: "true", effect: NoSchedule}]
          startupTaints: [{key: example.com/booting, effect: NoExecute}]
          expireAfter: 720h
      disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 10m}
      limits: {cpu: "64", nvidia.com/gpu: 40}
    """
)
CLASS: dict[str, Any] = yaml.safe_load(
    """
    apiVersion: karpenter.k8s.aws/v1
    kind: EC2NodeClass
    metadata: {name: gpu}
    spec:
      role: nodes
      amiSelectorTerms: [{alias: al2023@v20261114}]
      subnetSelectorTerms: [{tags: {karpenter.sh/discovery: lab}}]
      securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: lab}}]
    """
)
OVERLAY: dict[str, Any] = yaml.safe_load(
    """
    apiVersion: karpenter.sh/v1alpha1
    kind: NodeOverlay
    metadata: {name: gpu}
    spec:
      weight: 10
      requirements: [{key: karpenter.sh/nodepool, operator: In, values: [gpu]}]
      capacity: {nvidia.com/gpu.shared: "10"}
    """
)
