// What Karpenter says of an edit of a NodePool or an EC2NodeClass, asked of its own functions.
//
// It reads a JSON list of pairs, {"old": object, "new": object}, and writes a list of answers.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	aws "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/samber/lo"
	clock "k8s.io/utils/clock/testing"
	core "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

type pair struct {
	Old json.RawMessage `json:"old"`
	New json.RawMessage `json:"new"`
}

type answer struct {
	// The hash that nodes are annotated with is another one.
	Hash bool `json:"hash"`
	// A node that the old requirements allow does not meet the new ones.
	Requirements bool `json:"requirements"`
	// Nodes of ten that may be taken away at a time to save money while pods are on them, at the
	// best hour of a week: before and after.
	Moved [2]int `json:"moved"`
}

func main() {
	var pairs []pair
	must(json.NewDecoder(os.Stdin).Decode(&pairs))
	answers := []answer{}
	for _, each := range pairs {
		var kind struct{ Kind string }
		must(json.Unmarshal(each.Old, &kind))
		switch kind.Kind {
		case "NodePool":
			answers = append(answers, ofPool(each))
		case "EC2NodeClass":
			answers = append(answers, ofClass(each))
		default:
			panic("no kind of Karpenter's: " + kind.Kind)
		}
	}
	must(json.NewEncoder(os.Stdout).Encode(answers))
}

func ofClass(given pair) answer {
	was, now := read[aws.EC2NodeClass](given.Old), read[aws.EC2NodeClass](given.New)
	return answer{Hash: was.Hash(nil) != now.Hash(nil)}
}

func ofPool(given pair) answer {
	was, now := read[core.NodePool](given.Old), read[core.NodePool](given.New)
	return answer{
		Hash:         was.Hash() != now.Hash(),
		Requirements: drifts(was, now),
		Moved:        [2]int{moved(was), moved(now)},
	}
}

// As areRequirementsDrifted of pkg/controllers/nodeclaim/disruption/drift.go, for each node that
// the old requirements allow.
func drifts(was, now *core.NodePool) bool {
	wanted := scheduling.NewNodeSelectorRequirementsWithMinValues(now.Spec.Template.Spec.Requirements...)
	labels := lo.Assign(was.Spec.Template.Labels)
	for _, each := range was.Spec.Template.Spec.Requirements {
		labels[each.Key] = lo.FirstOrEmpty(each.Values)
	}
	for _, each := range was.Spec.Template.Spec.Requirements {
		for _, value := range each.Values {
			node := lo.Assign(labels, map[string]string{each.Key: value})
			if scheduling.NewLabelRequirements(node).Compatible(wanted) != nil {
				return true
			}
		}
	}
	return false
}

func moved(pool *core.NodePool) int {
	disruption := pool.Spec.Disruption
	never := disruption.ConsolidateAfter.Duration == nil
	if never || pool.Spec.Replicas != nil || disruption.ConsolidationPolicy == core.ConsolidationPolicyWhenEmpty {
		return 0
	}
	monday, most := time.Date(2026, 11, 23, 0, 30, 0, 0, time.UTC), 0
	for hour := range 7 * 24 {
		at := clock.NewFakeClock(monday.Add(time.Duration(hour) * time.Hour))
		most = max(most, min(10, pool.MustGetAllowedDisruptions(at, 10, core.DisruptionReasonUnderutilized)))
	}
	return most
}

func read[T any](text json.RawMessage) *T {
	var found T
	must(json.Unmarshal(text, &found))
	return &found
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
