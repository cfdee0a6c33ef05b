package configs

import (
	"strings"
	"testing"
)

// TestTokensPerStep holds runs against the size of step that their learning rate was chosen for.
func TestTokensPerStep(t *testing.T) {
	quickstart, _ := Preset("quickstart")
	own := "model: {layers: 2, width: 64, heads: 2, context: 128}\ntrain:\n  batch: 12\n  optimizer: {lr: 0.003}\n"
	for _, c := range []struct {
		src, sets string
		want      string // "" = no warning
	}{
		{own, "", ""},
		{own, "train.batch=4", ""},
		{own, "train.batch=3", "--set train.batch=3: a step has 384 tokens, and train.optimizer.lr 0.003 was chosen for 1536 by x.yaml (--set train.accumulate=4 keeps the size of a step, or --set train.optimizer.lr=0.0015 follows"},
		{strings.Replace(own, "batch: 12", "batch: 13", 1), "train.batch=3", "was chosen for 1664 by x.yaml (--set train.optimizer.lr=0.0014 follows"},
		{own, "train.batch=3 train.accumulate=4", ""},
		{own, "train.batch=3 train.optimizer.lr=0.001", ""},
		{own, "train.batch=3 train.optimizer.kind=sgd", "lr=0.00075 follows the size in proportion"},
		{own, "train.accumulate=4", "--set train.accumulate=4: a step has 6144 tokens"},
		{own, "model.context=32", "--set model.context=32: a step has 384 tokens"},
		{own, "train={batch: 3, optimizer: {lr: 1e-4}}", ""},
		{own, "train={batch: 3}", "was chosen for 1536 by x.yaml"},
		{string(quickstart), "", ""},
		{strings.Replace(string(quickstart), "\n  batch: ", "\n  batch: 10", 1), "", "was chosen for 2048 by preset quickstart"},
		{strings.Replace(strings.Replace(string(quickstart), "\n  batch: ", "\n  batch: 10", 1), "lr: ", "lr: 1", 1), "", ""},
	} {
		l, err := Parse("x.yaml", []byte(c.src), strings.Fields(c.sets))
		if strings.Contains(c.sets, "{") {
			l, err = Parse("x.yaml", []byte(c.src), []string{c.sets})
		}
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, line := range l.Warnings() {
			if strings.Contains(line, "was chosen for") {
				said += line
			}
		}
		if c.want == "" && said != "" || !strings.Contains(said, c.want) {
			t.Errorf("--set %s: says %q, want %q", c.sets, said, c.want)
		}
	}
}
