import * as gpushare from "@eks-gpushare/eks-gpushare";
import * as kubernetes from "@pulumi/kubernetes";

const version = "1.35";

const network = new gpushare.Network("gpus", { zones: ["us-west-2a", "us-west-2b"] });
const cluster = new gpushare.EksCluster("gpus", {
    name: "gpus",
    version,
    vpcId: network.vpcId,
    privateSubnetIds: network.privateSubnetIds,
    publicSubnetIds: network.publicSubnetIds,
    endpoint: { public: true, publicCidrs: ["203.0.113.0/24"] },
    admins: ["arn:aws:iam::111122223333:role/Platform"],
});
new gpushare.SystemNodes("gpus-system", {
    clusterName: cluster.clusterName,
    subnetIds: network.privateSubnetIds,
    version,
});

const place = {
    clusterName: cluster.clusterName,
    clusterSubnetIds: network.privateSubnetIds,
    version,
};
const notebooks = new gpushare.GpuPool("notebooks", {
    ...place,
    pool: "notebooks",
    instanceTypes: ["g6.2xlarge"],
    nodes: { min: 1, max: 3 },
    // Four pods take turns on each GPU.
    sharing: { mode: gpushare.SharingMode.TimeSlicing, replicas: 4 },
});
const inference = new gpushare.GpuPool("inference", {
    ...place,
    pool: "inference",
    instanceTypes: ["g6.12xlarge"],
    nodes: { min: 0, max: 2 },
    // Two pods run at once on each GPU, with half of its memory each.
    sharing: { mode: gpushare.SharingMode.Mps, replicas: 2 },
});

const provider = new kubernetes.Provider("gpus", {
    kubeconfig: cluster.kubeconfig,
    clusterIdentifier: cluster.clusterArn,
});
new gpushare.DevicePlugin("device-plugin", { served: [notebooks.served, inference.served] }, {
    providers: [provider],
    dependsOn: [notebooks, inference],
});

export const request = notebooks.request;
export const nodeSelector = notebooks.nodeSelector;
export const tolerations = notebooks.tolerations;
