package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"prenorm/train"
)

// TestReplay lets a run diverge for real and wants its bundle to give the step again, and a damaged one, or anything else, to be refused.
func TestReplay(t *testing.T) {
	inTiny(t)
	diverge := []string{"train", "tiny.yaml", "--out", "wild", "--set", "train.optimizer.kind=sgd", "--set", "train.optimizer.lr=10", "--set", "train.clip=0",
		"--set", "train.optimizer.momentum=0.9", "--set", "train.schedule.warmup=0", "--workers", "1"}
	failed := command(diverge...)
	bundles, _ := filepath.Glob(filepath.Join("wild", train.BundleFolder, "*.zip"))
	if len(bundles) != 1 {
		t.Fatalf("%d bundles after\n%s%s", len(bundles), failed.out, failed.errOut)
	}
	failed.want(t, exitFailure, "the update was not applied and the state before it is saved", "\nto see the step again: prenorm replay "+bundles[0]+"\n",
		"the weights are spoiled already: at step ", "\nto start anew at a lower rate (the old run is kept): prenorm train tiny.yaml --out wild ", "--fresh --set train.optimizer.lr=1\n")
	replayed := command("replay", bundles[0], "--workers", "2").want(t, exitOK, "same, bit for bit", "recorded on cpu in fp32")
	lines := strings.Split(replayed.out, "\n")
	var first []string
	for _, line := range lines {
		if strings.HasPrefix(line, "first ") {
			first = append(first, line)
		}
	}
	if len(first) != 2 || first[0] != first[1] || !strings.Contains(failed.errOut, strings.Fields(first[0])[1]) {
		t.Errorf("named %q, training said\n%s", first, failed.errOut)
	}
	texts := command("replay", bundles[0], "--text").want(t, exitOK, "micro-batch 0, sequence 0:").out
	inspected := command("inspect", bundles[0]).want(t, exitOK, "cause ", first[0], "text      prenorm replay "+bundles[0]+" --text")
	failedAt := strings.Fields(lines[0])[1]
	step, err := strconv.Atoi(failedAt)
	if err != nil || step < 3 {
		t.Fatalf("step %q: too early for the test to show anything", failedAt)
	}
	for n := max(step-train.RecentSteps, 1); n < step; n++ {
		line := fmt.Sprintf("before    step %d  loss ", n)
		if !strings.Contains(replayed.out, line) || !strings.Contains(inspected.out, line) || !strings.Contains(texts, fmt.Sprintf("step %d  loss ", n)) {
			t.Errorf("no %q in\n%s\n%s\n%s", line, replayed.out, inspected.out, texts)
		}
	}
	if n := strings.Count(replayed.out, "\nbefore "); n != min(step-1, train.RecentSteps) {
		t.Errorf("%d steps before step %d are listed", n, step)
	}
	if i := strings.Index(texts, fmt.Sprintf("step %d  held back: ", step)); i < 0 || strings.Contains(texts[i:], "  loss ") || strings.Count(texts[i:], "sequence 0:") != 3 {
		t.Errorf("the text of the step itself does not come last:\n%s", texts)
	}
	for _, flag := range []string{"--step=1", "--matrices", "--plot=x.png", "--loss=x.png"} {
		command("inspect", bundles[0], flag).want(t, exitUsage, strings.Split(flag, "=")[0]+" is for a run's folder, and "+bundles[0]+" is a file")
	}
	command("inspect", "tiny.yaml").want(t, exitFailure, "bundle tiny.yaml: has no checksum at its end: it is cut off, or no bundle")
	command("replay", "tiny.yaml").want(t, exitFailure, "bundle tiny.yaml: has no checksum at its end: it is cut off, or no bundle")
	command("replay", "wild").want(t, exitFailure, "bundle wild: is no file")
	command("replay", bundles[0], "--device", "gpu").want(t, exitUsage, "--device")
	data := read(t, bundles[0])
	bad := filepath.Join("wild", "bad.zip")
	if err := os.WriteFile(bad, []byte(data[:100]+"x"+data[101:]), 0o666); err != nil {
		t.Fatal(err)
	}
	command("replay", bad).want(t, exitFailure, "does not have its own checksum: it was damaged or changed")

	again := command(diverge...) // fails at the same step, whose bundle is there
	again.want(t, exitFailure, bundles[0])
	if now, _ := filepath.Glob(filepath.Join("wild", train.BundleFolder, "*")); len(now) != 1 || read(t, bundles[0]) != data {
		t.Errorf("after the second failure there is %v", now)
	}
	p := planJSON(t, append([]string{"tiny.yaml"}, diverge[4:len(diverge)-2]...)...)
	if got := int64(len(data)); p.Memory.Bundle > got || p.Memory.Bundle < got-40_000 || p.Memory.Rewind != 0 {
		t.Errorf("plan says %d bytes for a bundle of %d, and %d for going back", p.Memory.Bundle, got, p.Memory.Rewind)
	}
	if p.Memory.Recent != train.RecentSteps*8*p.Tokens.Step {
		t.Errorf("plan says %d bytes for the last batches, of %d tokens a step", p.Memory.Recent, p.Tokens.Step)
	}
	if none := planJSON(t, "tiny.yaml", "--set", "train.guard.bundles=0"); none.Memory.Recent != 0 || none.Memory.Bundle != 0 {
		t.Errorf("plan says %d and %d bytes for no bundle", none.Memory.Recent, none.Memory.Bundle)
	}
	closed := planJSON(t, append([]string{"tiny.yaml", "--set", "data.cross_documents=false", "--set", "model.dropout=0"}, diverge[4:len(diverge)-2]...)...)
	if more := closed.Memory.Bundle - p.Memory.Bundle; more != (1+train.RecentSteps)*4*p.Tokens.Step || closed.Memory.Recent != train.RecentSteps*12*p.Tokens.Step {
		t.Errorf("plan says %d bytes more for the documents of %d tokens", more, p.Tokens.Step)
	}
	p = planJSON(t, "tiny.yaml", "--set", "train.guard.policy=rewind")
	if p.Memory.Rewind != 4*3*p.Parameters.Total {
		t.Errorf("plan says %d bytes to go back to", p.Memory.Rewind)
	}
	command("train", "tiny.yaml", "--out", "wild", "--fresh").want(t, exitOK)
	if _, err := os.Stat(filepath.Join("wild", "old-1", train.BundleFolder)); err != nil {
		t.Error(err)
	}
}
