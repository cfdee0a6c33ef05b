package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// TestPackedWeights: eval measures what packing costs, sample writes with it, and both refuse what is no packing.
func TestPackedWeights(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--set", "model.width=64").want(t, exitOK)
	losses := map[string]float64{}
	for _, weights := range []string{"fp32", "bf16", "int8"} {
		var r evalRecord
		if err := json.Unmarshal([]byte(command("eval", "runs/tiny", "--json", "--weights", weights).want(t, exitOK).out), &r); err != nil {
			t.Fatal(err)
		}
		losses[weights] = float64(r.Loss)
		command("sample", "runs/tiny", "--prompt", "a", "--tokens", "5", "--weights", weights).want(t, exitOK)
	}
	for _, weights := range []string{"bf16", "int8"} {
		if d := math.Abs(losses[weights] - losses["fp32"]); d == 0 || d > 0.01 {
			t.Errorf("the loss is %v with %s weights and %v with fp32", losses[weights], weights, losses["fp32"])
		}
	}
	for _, args := range []string{"eval runs/tiny --weights int4", "sample runs/tiny --prompt a --weights int4"} {
		command(strings.Fields(args)...).want(t, exitUsage, `--weights "int4": wants fp32, bf16, int8`)
	}
}
