import * as gpushare from "@eks-gpushare/eks-gpushare";
import * as kubernetes from "@pulumi/kubernetes";

const pool = new gpushare.GpuPool("inference", {
    pool: "inference",
    instanceTypes: ["g6.xlarge"],
    sharing: { mode: gpushare.SharingMode.TimeSlicing, replicas: 3 },
    clusterName: "my-cluster",
    clusterSubnetIds: ["subnet-0aaaaaaaaaaaaaaaa", "subnet-0bbbbbbbbbbbbbbbb"],
});
const provider = new kubernetes.Provider("my-cluster", { context: "my-cluster" });
new gpushare.DevicePlugin("sharing", { served: [pool.served] }, {
    providers: [provider],
    dependsOn: [pool],
});
export const request = pool.request;
