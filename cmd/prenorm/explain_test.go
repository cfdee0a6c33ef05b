package main

import (
	"strings"
	"testing"

	"prenorm/model/block"
)

// TestExplain wants every placement's page to hold what the registry says of it.
func TestExplain(t *testing.T) {
	list := command("explain", "placements").want(t, exitOK).out
	for _, name := range block.Names() {
		p, _ := block.Lookup(name)
		if !strings.Contains(list, p.Equation) {
			t.Errorf("the list lacks %s", name)
		}
		out := command("explain", "placement", name).want(t, exitOK, p.Equation, p.Paper, "\nOptimizer\n", "\nForward\n", "placement: "+name).out
		for _, text := range []string{p.About, p.Diagram.Forward, p.Diagram.Backward, p.Backward} {
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(line, "Optimizer: "), "Traps: "), "\n")
				if !strings.Contains(out, line) {
					t.Errorf("the page of %s lacks %q", name, line)
				}
			}
		}
		for n, line := range strings.Split(out, "\n") {
			if len([]rune(line)) > 155 || strings.TrimRight(line, " ") != line {
				t.Errorf("%s: line %d is long or ends in spaces: %q", name, n+1, line)
			}
		}
		way := command("explain", "backward", name).want(t, exitOK, "logsumexp", "embedding", p.Backward[:20]).out
		if strings.Contains(way, "y = Norm(x_N)") != (p.FinalNorm && name != "residual") {
			t.Errorf("%s: the way back has the wrong end of the stack:\n%s", name, way)
		}
	}
	if command("explain", "backward").want(t, exitOK).out != command("explain", "backward", "pre").out {
		t.Error("pre is not the default of the way back")
	}
}

// TestExplainFigures checks one page's figures by hand: (8·12)^(-1/4) = 0.319.
func TestExplainFigures(t *testing.T) {
	command("explain", "placement", "deepnorm").want(t, exitOK, "factor   ×(8N)^(-1/4)", "factor   0.380  0.319  0.269  0.226", "alpha on the skip and 1/alpha on the branch are the same function")
	command("explain", "placement", "pre").want(t, exitOK, "writers  ×1/sqrt(2N)", "writers  0.289  0.204  0.144  0.102")
	command("explain", "placement", "layerscale").want(t, exitOK, "0.1 (N < 19), 1e-05 (N < 25), 1e-06 (N >= 25)")
}

func TestExplainRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"explain", "placement", "prenorm"}, `there is no placement "prenorm"`},
		{[]string{"explain", "placement"}, "takes one placement"},
		{[]string{"explain", "backward", "pre", "post"}, "takes at most one placement"},
		{[]string{"explain", "norms"}, `there is no command "norms"`},
	} {
		if r := command(c.args...); r.code != exitUsage || !strings.Contains(r.errOut, c.want) {
			t.Errorf("%v: exit code %d, %s, want %q", c.args, r.code, r.errOut, c.want)
		}
	}
}
