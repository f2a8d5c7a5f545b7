eksctl create nodegroup --cluster ml --name gpu --node-type g6.12xlarge --nodes 1
