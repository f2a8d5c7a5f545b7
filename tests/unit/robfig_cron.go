// What github.com/robfig/cron, by which KEDA reads schedules, makes of windows: whether it takes
// their start and end, and whether a window is open at given times, as KEDA asks it in
// pkg/scalers/cron_scaler.go: while its end falls next. What never falls has the zero time. Reads a
// JSON list of windows, writes one of answers.
package main

import (
	"encoding/json"
	"os"
	"time"

	"github.com/robfig/cron/v3"
)

type window struct {
	Start, End, Zone string
	At               []int64
}

type answer struct {
	Start string `json:"start"`
	End   string `json:"end"`
	Open  string `json:"open"`
}

func main() {
	var windows []window
	if err := json.NewDecoder(os.Stdin).Decode(&windows); err != nil {
		panic(err)
	}
	parser := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	answers := []answer{}
	for _, given := range windows {
		found := answer{}
		start, err := parser.Parse(given.Start)
		if err != nil {
			found.Start = err.Error()
		}
		end, err := parser.Parse(given.End)
		if err != nil {
			found.End = err.Error()
		}
		if found.Start == "" && found.End == "" {
			zone, err := time.LoadLocation(given.Zone)
			if err != nil {
				panic(err)
			}
			for _, second := range given.At {
				now := time.Unix(second, 0).In(zone)
				opens, closes := start.Next(now), end.Next(now)
				open := now.After(opens) || now.Before(closes)
				if opens.Before(closes) {
					open = now.After(opens) && now.Before(closes)
				}
				bit := "0"
				if open {
					bit = "1"
				}
				found.Open += bit
			}
		}
		answers = append(answers, found)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		panic(err)
	}
}
