#!/bin/bash
# eks-gpushare: ignore GPU1062 until 9000-01-01 because the node goes soon
kubectl label node ip-10-0-1-2.ec2.internal team=vision
