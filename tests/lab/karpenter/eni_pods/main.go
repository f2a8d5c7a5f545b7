// Says how many pods Karpenter counts on nodes: ENILimitedPods of its provider for AWS.
//
// Standard input is a JSON object by name: what EC2 describes of an instance type, and the network
// interfaces of an EC2NodeClass. Standard output is a JSON object of pods by the same names.
package main

import (
	"context"
	"encoding/json"
	"os"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/aws/karpenter-provider-aws/pkg/providers/instancetype"
)

type question struct {
	Network    ec2types.NetworkInfo
	Interfaces []*v1.NetworkInterface
}

func main() {
	var asked map[string]question
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		panic(err)
	}
	answers := map[string]int64{}
	for name, each := range asked {
		info := ec2types.InstanceTypeInfo{NetworkInfo: &each.Network}
		answers[name] = instancetype.ENILimitedPods(context.Background(), info, 0, each.Interfaces).Value()
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		panic(err)
	}
}
