// A cluster with two pools that share their GPUs, and the device plugin that serves both.
using System.Collections.Generic;
using Pulumi;
using Pulumi.EksGpushare;
using Pulumi.EksGpushare.Inputs;
using Kubernetes = Pulumi.Kubernetes;

return await Pulumi.Deployment.RunAsync(() =>
{
    const string version = "1.35";

    var network = new Network("gpus", new NetworkArgs
    {
        Zones = new List<string> { "us-west-2a", "us-west-2b" },
    });
    var cluster = new EksCluster("gpus", new EksClusterArgs
    {
        Name = "gpus",
        Version = version,
        VpcId = network.VpcId,
        PrivateSubnetIds = network.PrivateSubnetIds,
        PublicSubnetIds = network.PublicSubnetIds,
        Endpoint = new EndpointArgs { Public = true, PublicCidrs = new List<string> { "203.0.113.0/24" } },
        Admins = new List<string> { "arn:aws:iam::111122223333:role/Platform" },
    });
    new SystemNodes("gpus-system", new SystemNodesArgs
    {
        ClusterName = cluster.ClusterName,
        SubnetIds = network.PrivateSubnetIds,
        Version = version,
    });

    var notebooks = new GpuPool("notebooks", new GpuPoolArgs
    {
        Pool = "notebooks",
        InstanceTypes = new List<string> { "g6.2xlarge" },
        Nodes = new NodesArgs { Min = 1, Max = 3 },
        // Four pods take turns on each GPU.
        Sharing = new SharingArgs { Mode = SharingMode.TimeSlicing, Replicas = 4 },
        ClusterName = cluster.ClusterName,
        ClusterSubnetIds = network.PrivateSubnetIds,
        Version = version,
    });
    var inference = new GpuPool("inference", new GpuPoolArgs
    {
        Pool = "inference",
        InstanceTypes = new List<string> { "g6.12xlarge" },
        Nodes = new NodesArgs { Min = 0, Max = 2 },
        // Two pods run at once on each GPU, with half of its memory each.
        Sharing = new SharingArgs { Mode = SharingMode.Mps, Replicas = 2 },
        ClusterName = cluster.ClusterName,
        ClusterSubnetIds = network.PrivateSubnetIds,
        Version = version,
    });

    var provider = new Kubernetes.Provider("gpus", new Kubernetes.ProviderArgs
    {
        KubeConfig = cluster.Kubeconfig,
        ClusterIdentifier = cluster.ClusterArn,
    });
    new DevicePlugin("device-plugin", new DevicePluginArgs
    {
        Served = { notebooks.Served, inference.Served },
    }, new ComponentResourceOptions
    {
        Providers = { provider },
        DependsOn = { notebooks, inference },
    });

    return new Dictionary<string, object?>
    {
        ["request"] = notebooks.Request,
        ["nodeSelector"] = notebooks.NodeSelector,
        ["tolerations"] = notebooks.Tolerations,
    };
});
