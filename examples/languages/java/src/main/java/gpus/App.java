package gpus;

import com.pulumi.Context;
import com.pulumi.Pulumi;
import com.pulumi.core.Output;
import com.pulumi.eksgpushare.DevicePlugin;
import com.pulumi.eksgpushare.DevicePluginArgs;
import com.pulumi.eksgpushare.EksCluster;
import com.pulumi.eksgpushare.EksClusterArgs;
import com.pulumi.eksgpushare.GpuPool;
import com.pulumi.eksgpushare.GpuPoolArgs;
import com.pulumi.eksgpushare.Network;
import com.pulumi.eksgpushare.NetworkArgs;
import com.pulumi.eksgpushare.SystemNodes;
import com.pulumi.eksgpushare.SystemNodesArgs;
import com.pulumi.eksgpushare.enums.SharingMode;
import com.pulumi.eksgpushare.inputs.EndpointArgs;
import com.pulumi.eksgpushare.inputs.NodesArgs;
import com.pulumi.eksgpushare.inputs.SharingArgs;
import com.pulumi.kubernetes.Provider;
import com.pulumi.kubernetes.ProviderArgs;
import com.pulumi.resources.ComponentResourceOptions;

/** A cluster with two pools that share their GPUs, and the device plugin that serves both. */
public class App {
    private static final String VERSION = "1.35";

    public static void main(String[] args) {
        Pulumi.run(App::stack);
    }

    private static void stack(Context context) {
        var network = new Network("gpus", NetworkArgs.builder()
            .zones("us-west-2a", "us-west-2b")
            .build());
        var cluster = new EksCluster("gpus", EksClusterArgs.builder()
            .name("gpus")
            .version(VERSION)
            .vpcId(network.vpcId())
            .privateSubnetIds(network.privateSubnetIds())
            .publicSubnetIds(network.publicSubnetIds())
            .endpoint(EndpointArgs.builder().public_(true).publicCidrs("203.0.113.0/24").build())
            .admins("arn:aws:iam::111122223333:role/Platform")
            .build());
        new SystemNodes("gpus-system", SystemNodesArgs.builder()
            .clusterName(cluster.clusterName())
            .subnetIds(network.privateSubnetIds())
            .version(VERSION)
            .build());

        var notebooks = new GpuPool("notebooks", GpuPoolArgs.builder()
            .pool("notebooks")
            .instanceTypes("g6.2xlarge")
            .nodes(NodesArgs.builder().min(1).max(3).build())
            // Four pods take turns on each GPU.
            .sharing(SharingArgs.builder().mode(SharingMode.TimeSlicing).replicas(4).build())
            .clusterName(cluster.clusterName())
            .clusterSubnetIds(network.privateSubnetIds())
            .version(VERSION)
            .build());
        var inference = new GpuPool("inference", GpuPoolArgs.builder()
            .pool("inference")
            .instanceTypes("g6.12xlarge")
            .nodes(NodesArgs.builder().min(0).max(2).build())
            // Two pods run at once on each GPU, with half of its memory each.
            .sharing(SharingArgs.builder().mode(SharingMode.Mps).replicas(2).build())
            .clusterName(cluster.clusterName())
            .clusterSubnetIds(network.privateSubnetIds())
            .version(VERSION)
            .build());

        // A later package than 4.0.0 takes .clusterIdentifier(cluster.clusterArn()) too: with it, the
        // provider is not replaced when the kubeconfig is written anew.
        var provider = new Provider("gpus", ProviderArgs.builder()
            .kubeconfig(cluster.kubeconfig())
            .build());
        new DevicePlugin("device-plugin", DevicePluginArgs.builder()
            .served(Output.all(notebooks.served(), inference.served()))
            .build(), ComponentResourceOptions.builder()
            .providers(provider)
            .dependsOn(notebooks, inference)
            .build());

        context.export("request", notebooks.request());
        context.export("nodeSelector", notebooks.nodeSelector());
        context.export("tolerations", notebooks.tolerations());
    }
}
