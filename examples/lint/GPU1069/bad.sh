eksctl create nodegroup --cluster ml --name gpu --node-type p3.8xlarge --nodes 1
