// What Kubernetes 1.35 itself makes of quantities, durations and pods, as JSON.
//
// Its answers are in answers.json beside this, for tests to hold our readers against. To ask anew:
//
//	go mod tidy && go run . > answers.json
package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

var dice = rand.New(rand.NewSource(35))

func one[T any](of ...T) T { return of[dice.Intn(len(of))] }

// The parts that numbers are made of, so that most are nearly right.
func number() string {
	sign := one("", "", "", "", "+", "-", "--", " ")
	whole := one("0", "1", "5", "12", "007", "100", "2500", "16777216", "", "1e", "1_0", "٣")
	part := one("", "", "", ".", ".5", ".25", ".001", ".1.2", ".123456789", ",5")
	return sign + whole + part
}

func quantity() string {
	return number() + one("", "", "m", "k", "K", "M", "G", "T", "P", "E", "u", "n", "Ki", "Mi", "Gi",
		"Ti", "Pi", "Ei", "mi", "ki", "e3", "E3", "e-3", "e+2", "E-2", "e", "eE", "B", " ", "g", "GB")
}

func duration() string {
	found := ""
	for range one(1, 1, 1, 2, 3) {
		found += number() + one("h", "m", "s", "ms", "us", "µs", "μs", "ns", "", "d", "H", " s")
	}
	return strings.Replace(found, "1_0s", "0", 1)
}

type placement struct {
	Tolerations []corev1.Toleration       `json:"tolerations"`
	Taints      []corev1.Taint            `json:"taints"`
	Selector    map[string]string         `json:"nodeSelector"`
	Terms       []corev1.NodeSelectorTerm `json:"terms"`
	Labels      map[string]string         `json:"labels"`
	Untolerated []int                     `json:"untolerated"`
	Matches     bool                      `json:"matches"`
}

var keys = []string{"a", "nvidia.com/gpu", "team"}
var values = []string{"", "true", "1", "2", "007", "10", "9223372036854775808", "ml"}
var effects = []corev1.TaintEffect{"NoSchedule", "NoExecute", "PreferNoSchedule"}

func expression() corev1.NodeSelectorRequirement {
	found := corev1.NodeSelectorRequirement{Key: one(keys...)}
	found.Operator = one[corev1.NodeSelectorOperator]("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
	switch found.Operator {
	case "In", "NotIn":
		for range 1 + dice.Intn(3) {
			found.Values = append(found.Values, one(values...))
		}
	case "Gt", "Lt":
		found.Values = []string{one("0", "1", "3", "007", "9", "many", "9223372036854775808")}
	}
	return found
}

func placed() placement {
	found := placement{Labels: map[string]string{}, Selector: map[string]string{}, Untolerated: []int{}}
	for _, key := range keys {
		if dice.Intn(3) > 0 {
			found.Labels[key] = one(values...)
		}
	}
	for range dice.Intn(3) {
		taint := corev1.Taint{Key: one(keys...), Value: one(values...), Effect: one(effects...)}
		found.Taints = append(found.Taints, taint)
	}
	for range dice.Intn(4) {
		found.Tolerations = append(found.Tolerations, corev1.Toleration{
			Key: one("", "a", "nvidia.com/gpu", "team"), Value: one(values...),
			Operator: one[corev1.TolerationOperator]("", "Equal", "Exists"),
			Effect:   one[corev1.TaintEffect]("", "NoSchedule", "NoExecute", "PreferNoSchedule"),
		})
	}
	if dice.Intn(3) == 0 {
		found.Selector[one(keys...)] = one(values...)
	}
	if dice.Intn(3) > 0 {
		for range 1 + dice.Intn(2) {
			term := corev1.NodeSelectorTerm{}
			for range dice.Intn(3) {
				term.MatchExpressions = append(term.MatchExpressions, expression())
			}
			found.Terms = append(found.Terms, term)
		}
	}
	return found
}

func answered(found placement) placement {
	for index, taint := range found.Taints {
		tolerated := false
		for _, each := range found.Tolerations {
			tolerated = tolerated || each.ToleratesTaint(klog.Background(), &taint, false)
		}
		if !tolerated {
			found.Untolerated = append(found.Untolerated, index)
		}
	}
	pod := corev1.Pod{Spec: corev1.PodSpec{NodeSelector: found.Selector}}
	if found.Terms != nil {
		required := corev1.NodeSelector{NodeSelectorTerms: found.Terms}
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &required}}
	}
	node := corev1.Node{}
	node.Name, node.Labels = "n", found.Labels
	found.Matches, _ = nodeaffinity.GetRequiredNodeAffinity(&pod).Match(&node)
	return found
}

func main() {
	quantities := map[string]*string{}
	for len(quantities) < 700 {
		text, said := quantity(), (*string)(nil)
		if read, err := resource.ParseQuantity(text); err == nil {
			decimal := read.AsDec().String()
			said = &decimal
		}
		quantities[text] = said
	}
	durations := map[string]*int64{}
	for len(durations) < 500 {
		text, said := duration(), (*int64)(nil)
		if read, err := time.ParseDuration(text); err == nil {
			nanoseconds := read.Nanoseconds()
			said = &nanoseconds
		}
		durations[text] = said
	}
	lines := []string{}
	for range 500 {
		line, _ := json.Marshal(answered(placed()))
		lines = append(lines, string(line))
	}
	first, _ := json.Marshal(quantities)
	second, _ := json.Marshal(durations)
	fmt.Fprintf(os.Stdout, "{\"quantities\": %s,\n\"durations\": %s,\n\"pods\": [\n%s\n]}\n", first,
		second, strings.Join(lines, ",\n"))
}
