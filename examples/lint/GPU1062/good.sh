#!/bin/sh
eksctl create nodegroup --cluster lab --name gpu --node-type g5.xlarge --node-labels eks-node=gpu
