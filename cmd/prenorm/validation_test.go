package main

import (
	"strings"
	"testing"
)

// TestValidationIsWarnedOf wants a run, dry or not, to be warned of validations that read more than training, and not where train.eval.windows is given, were
// it as all windows.
func TestValidationIsWarnedOf(t *testing.T) {
	inTiny(t)
	write(t, "long.yaml", strings.NewReplacer(", windows: 3", "").Replace(tiny))
	args := []string{"train", "long.yaml", "--set", "train.eval.every=1", "--set", "data.val.fraction=0.5"}
	const warning = "warning: validation reads more than training"
	command(append(args, "--dry-run")...).want(t, exitOK, warning, "--set train.eval.windows=")
	if r := command(append(args, "--dry-run", "--set", "train.eval.windows=0")...).want(t, exitOK); strings.Contains(r.out+r.errOut, warning) {
		t.Errorf("the number is given:\n%s", r.out)
	}
	command(append(args, "--max-step", "1")...).want(t, exitOK, warning)
}
