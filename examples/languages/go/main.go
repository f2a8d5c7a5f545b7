// A cluster with two pools that share their GPUs, and the device plugin that serves both.
package main

import (
	"github.com/eks-gpushare/eks-gpushare/sdk/go/eksgpushare"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const version = "1.35"

func main() {
	pulumi.Run(program)
}

func program(ctx *pulumi.Context) error {
	network, err := eksgpushare.NewNetwork(ctx, "gpus", &eksgpushare.NetworkArgs{
		Zones: []string{"us-west-2a", "us-west-2b"},
	})
	if err != nil {
		return err
	}
	cluster, err := eksgpushare.NewEksCluster(ctx, "gpus", &eksgpushare.EksClusterArgs{
		Name:             "gpus",
		Version:          version,
		VpcId:            network.VpcId,
		PrivateSubnetIds: network.PrivateSubnetIds,
		PublicSubnetIds:  network.PublicSubnetIds,
		Endpoint: &eksgpushare.EndpointArgs{
			Public:      pulumi.BoolRef(true),
			PublicCidrs: []string{"203.0.113.0/24"},
		},
		Admins: []string{"arn:aws:iam::111122223333:role/Platform"},
	})
	if err != nil {
		return err
	}
	_, err = eksgpushare.NewSystemNodes(ctx, "gpus-system", &eksgpushare.SystemNodesArgs{
		ClusterName: cluster.ClusterName,
		SubnetIds:   network.PrivateSubnetIds,
		Version:     pulumi.StringRef(version),
	})
	if err != nil {
		return err
	}

	notebooks, err := eksgpushare.NewGpuPool(ctx, "notebooks", &eksgpushare.GpuPoolArgs{
		Pool:          "notebooks",
		InstanceTypes: []string{"g6.2xlarge"},
		Nodes:         &eksgpushare.NodesArgs{Min: pulumi.IntRef(1), Max: pulumi.IntRef(3)},
		// Four pods take turns on each GPU.
		Sharing: eksgpushare.SharingArgs{
			Mode:     eksgpushare.SharingModeTimeSlicing,
			Replicas: pulumi.IntRef(4),
		},
		ClusterName:      cluster.ClusterName,
		ClusterSubnetIds: network.PrivateSubnetIds,
		Version:          pulumi.StringRef(version),
	})
	if err != nil {
		return err
	}
	inference, err := eksgpushare.NewGpuPool(ctx, "inference", &eksgpushare.GpuPoolArgs{
		Pool:          "inference",
		InstanceTypes: []string{"g6.12xlarge"},
		Nodes:         &eksgpushare.NodesArgs{Min: pulumi.IntRef(0), Max: pulumi.IntRef(2)},
		// Two pods run at once on each GPU, with half of its memory each.
		Sharing: eksgpushare.SharingArgs{
			Mode:     eksgpushare.SharingModeMps,
			Replicas: pulumi.IntRef(2),
		},
		ClusterName:      cluster.ClusterName,
		ClusterSubnetIds: network.PrivateSubnetIds,
		Version:          pulumi.StringRef(version),
	})
	if err != nil {
		return err
	}

	provider, err := kubernetes.NewProvider(ctx, "gpus", &kubernetes.ProviderArgs{
		Kubeconfig:        cluster.Kubeconfig,
		ClusterIdentifier: cluster.ClusterArn,
	})
	if err != nil {
		return err
	}
	_, err = eksgpushare.NewDevicePlugin(ctx, "device-plugin", &eksgpushare.DevicePluginArgs{
		Served: pulumi.Array{notebooks.Served, inference.Served},
	}, pulumi.Providers(provider), pulumi.DependsOn([]pulumi.Resource{notebooks, inference}))
	if err != nil {
		return err
	}

	ctx.Export("request", notebooks.Request)
	ctx.Export("nodeSelector", notebooks.NodeSelector)
	ctx.Export("tolerations", notebooks.Tolerations)
	return nil
}
