// The intent of the time-slicing stack in CDK EKS Blueprints: a cluster, one group of four-GPU
// nodes, and NVIDIA's GPU operator with ten shares per GPU. Synthesised into memory and cdk.out;
// no account is asked, as in our preview.
"use strict";

const { App } = require("aws-cdk-lib");
const ec2 = require("aws-cdk-lib/aws-ec2");
const eks = require("aws-cdk-lib/aws-eks");
const blueprints = require("@aws-quickstart/eks-blueprints");

blueprints.HelmAddOn.validateHelmVersions = false; // this would ask the chart's repository

const sharing = {
    version: "v1",
    sharing: { timeSlicing: { resources: [{ name: "nvidia.com/gpu", replicas: 10 }] } },
};

const gpuNodes = {
    id: "gpu",
    instanceTypes: [new ec2.InstanceType("g6.12xlarge")],
    amiType: eks.NodegroupAmiType.AL2023_X86_64_NVIDIA,
    minSize: 1,
    desiredSize: 1,
    maxSize: 1,
    labels: { "eks-node": "gpu" },
    taints: [{ key: "nvidia.com/gpu", value: "true", effect: eks.TaintEffect.NO_SCHEDULE }],
};

const app = new App({ outdir: process.argv[2], analyticsReporting: false });

blueprints.EksBlueprint.builder()
    .account("111122223333")
    .region("us-west-2")
    .clusterProvider(
        new blueprints.GenericClusterProvider({
            version: eks.KubernetesVersion.V1_35,
            clusterName: "gpusharing-demo",
            managedNodeGroups: [gpuNodes],
        }),
    )
    .addOns(
        new blueprints.addons.GpuOperatorAddon({
            values: {
                driver: { enabled: false },
                toolkit: { enabled: false },
                devicePlugin: {
                    config: {
                        create: true,
                        name: "sharing",
                        default: "gpu",
                        data: { gpu: JSON.stringify(sharing) },
                    },
                },
            },
        }),
    )
    .build(app, "gpusharing-demo");

setImmediate(() => {
    const assembly = app.synth();
    const template = assembly.getStackByName("gpusharing-demo").template;
    console.log(Object.keys(template.Resources).length);
});
