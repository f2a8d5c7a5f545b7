#!/bin/bash
# eks-gpushare: ignore GPU1062 until 2025-06-30 because the node goes soon
eksctl create nodegroup --cluster ml --name gpu --node-type g6.xlarge --node-labels team=vision
