package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"prenorm/configs"
	"prenorm/train/metrics"
)

// TestStory goes the way of a user: train, sample, eval, plan, config.
func TestStory(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml").want(t, exitOK, "done: step 20 of 20", "next: prenorm sample "+filepath.Join("runs", "tiny")+" --prompt a")
	run := filepath.Join("runs", "tiny")
	if got, want := read(t, filepath.Join(run, "config.yaml")), command("config", "tiny.yaml").out; got != want {
		t.Errorf("the run's settings are\n%s\nwant\n%s", got, want)
	}
	t.Run("sample", func(t *testing.T) { checkSample(t, run) })
	t.Run("eval", func(t *testing.T) { checkEval(t, run) })
	t.Run("alone", func(t *testing.T) { checkAlone(t, run) })
	command("train", "tiny.yaml").want(t, exitOK, "resumed from step 20 of 20", "done: step 20 of 20")
}

func checkSample(t *testing.T, run string) {
	plain := command("sample", run, "--prompt", "3 times", "--tokens", "30").want(t, exitOK, "30 tokens, ", "tokens/s on cpu")
	if !strings.HasPrefix(plain.out, "3 times") || !strings.HasSuffix(plain.out, "\n") || strings.Contains(plain.out, "\x1b") {
		t.Errorf("wrote %q", plain.out)
	}
	if again := command("sample", run, "--prompt", "3 times", "--tokens", "30", "--workers", "2"); again.out != plain.out {
		t.Errorf("the same request gives %q and %q", plain.out, again.out)
	}
	if other := command("sample", run, "--prompt", "3 times", "--tokens", "30", "--seed", "99"); other.out == plain.out {
		t.Error("another seed gives the same text")
	}
	if same := command("sample", run, "--prompt", "3 times", "--tokens", "30", "--seed", "5"); same.out != plain.out {
		t.Error("the run's seed is not the default")
	}
	for _, in := range [][]string{{}, {"--prompt", "-"}, {"--prompt-file", "-"}} {
		if piped := commandWith(context.Background(), "3 times\n", append([]string{"sample", run, "--tokens", "30"}, in...)...); piped.out != plain.out {
			t.Errorf("the piped prompt %v gives %q, want %q", in, piped.out, plain.out)
		}
	}
	write(t, "prompt.txt", "3 times\n")
	if file := command("sample", run, "--prompt-file", "prompt.txt", "--tokens", "30"); file.out != plain.out {
		t.Errorf("the prompt's file gives %q, want %q", file.out, plain.out)
	}
	records := samples(t, "sample", run, "-p", "3 times", "--tokens", "30", "-n", "2", "--json")
	if len(records) != 2 || records[0].Prompt != "3 times" || records[0].Tokens != 30 || records[0].End != "tokens" || records[0].Step != 20 || records[1].Sample != 1 {
		t.Fatalf("records %+v", records)
	}
	two := command("sample", run, "-p", "3 times", "--tokens", "30", "-n", "2").out
	if !strings.HasPrefix(two, plain.out) || !strings.Contains(two, "\n---\n3 times") {
		t.Errorf("two texts: %q", two)
	}
	stop := firstWord(t, records[0].Text)
	cut := samples(t, "sample", run, "-p", "3 times", "--tokens", "30", "--json", "--stop", stop)[0]
	if before, _, _ := strings.Cut(records[0].Text, stop); cut.Text != before || cut.End != "stop" {
		t.Errorf("stopped at %q: %+v, want %q", stop, cut, before)
	}
	unmet := records[0].Text[len(records[0].Text)-1:] + "\x00never"
	if whole := samples(t, "sample", run, "-p", "3 times", "--tokens", "30", "--json", "--stop", unmet)[0]; whole.Text != records[0].Text || whole.End != "tokens" {
		t.Errorf("the start of a stop text at the end: %+v, want %+v", whole, records[0])
	}
	// A context of 16 tokens: 7 of the prompt, 9 that are read again, and one that follows.
	if full := samples(t, "sample", run, "-p", "3 times", "--tokens", "30", "--json", "--overflow", "stop")[0]; full.End != "context" || full.Tokens != 10 {
		t.Errorf("a full context: %+v", full)
	}
}

// firstWord is a part of two characters from inside the text, of single-byte characters.
func firstWord(t *testing.T, text string) string {
	for i := 3; i+2 < len(text); i++ {
		if word := text[i : i+2]; word[0] > ' ' && word[0] < 0x7f && word[1] > ' ' && word[1] < 0x7f {
			return word
		}
	}
	t.Fatalf("no word in %q", text)
	return ""
}

func samples(t *testing.T, args ...string) []sampleRecord {
	t.Helper()
	var list []sampleRecord
	for line := range strings.Lines(command(args...).want(t, exitOK).out) {
		var r sampleRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		list = append(list, r)
	}
	return list
}

func evaluation(t *testing.T, in string, args ...string) evalRecord {
	t.Helper()
	var r evalRecord
	if err := json.Unmarshal([]byte(commandWith(context.Background(), in, append([]string{"eval", "--json"}, args...)...).want(t, exitOK).out), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// checkEval holds the figures against those that training wrote, and against each other.
func checkEval(t *testing.T, run string) {
	records, err := metrics.Read(filepath.Join(run, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var last metrics.Eval
	for _, r := range records {
		if e, ok := r.(metrics.Eval); ok {
			last = e
		}
	}
	own := evaluation(t, "", run)
	if own.Loss != last.Loss || own.Perplexity != last.Perplexity || own.BitsPerByte != last.BitsPerByte || own.Predicted != last.Tokens || last.Step != 20 {
		t.Errorf("eval says %+v, training said %+v", own, last)
	}
	text := read(t, "text.txt")
	write(t, "a/1.txt", text)
	all := evaluation(t, text, run, "-")
	for _, name := range []string{"text.txt", "a/*.txt", "a"} {
		if again := evaluation(t, "", run, name); !reflect.DeepEqual(again, all) {
			t.Errorf("%s gives %+v, standard input %+v", name, again, all)
		}
	}
	if all.Tokens != int64(len(text)) || all.Predicted != all.Tokens-1 || all.Bytes != all.Tokens {
		t.Errorf("counts of the text: %+v", all)
	}
	if some := evaluation(t, text, run, "-", "--windows", "2"); some.Predicted != 32 {
		t.Errorf("two windows: %+v", some)
	}
	command("eval", run).want(t, exitOK, "loss", "nats a token", "perplexity", "bits a byte", "48 tokens predicted of 202")
}

// checkAlone samples and evaluates from a checkpoint whose run and text are gone.
func checkAlone(t *testing.T, run string) {
	want := command("sample", run, "-p", "7", "--tokens", "9").out
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary) // where the tokens of a moved checkpoint go
	alone := filepath.Join(t.TempDir(), "model")
	if err := os.CopyFS(alone, os.DirFS(filepath.Join(run, "checkpoints", "step-00000020"))); err != nil {
		t.Fatal(err)
	}
	here := t.TempDir()
	t.Chdir(here)
	if got := command("sample", alone, "-p", "7", "--tokens", "9").want(t, exitOK).out; got != want {
		t.Errorf("alone it writes %q, want %q", got, want)
	}
	command("eval", alone).want(t, exitFailure, "the tokens of the run's validation text are not there", "or name a text: prenorm eval")
	evaluation(t, "11 times 2 is 22.\n", alone, "-")
	if left, err := os.ReadDir(here); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left among temporary files: %v %v", left, err)
	}
}

// TestStandardInput trains on a text that is piped in, and goes on with the same.
func TestStandardInput(t *testing.T) {
	inTiny(t)
	text := read(t, "text.txt")
	args := []string{"train", "tiny.yaml", "--set", "data.train=-", "--max-seconds", "1e-9"}
	commandWith(context.Background(), text, args...).want(t, exitOK, "stopped: time limit")
	commandWith(context.Background(), text, args[:4]...).want(t, exitOK, "resumed from step 0 of 20", "done: step 20")
	command("train", "tiny.yaml", "--out", "file").want(t, exitOK)
	file := filepath.Join("checkpoints", "step-00000020", "model.safetensors")
	if read(t, filepath.Join("runs", "tiny", file)) != read(t, filepath.Join("file", file)) {
		t.Error("the same text trains other weights from standard input")
	}
}

// TestDocuments wants a model that has learned where documents end to end a text there.
func TestDocuments(t *testing.T) {
	inTiny(t)
	for i := range 60 {
		write(t, fmt.Sprintf("documents/%d.txt", i), strings.Repeat("ab", 3+i%3))
	}
	command("train", "tiny.yaml", "--set", "data.train=documents", "--set", "data.val={fraction: 0.2, by: end}", "--set", "data.tokenizer={kind: bpe, vocab: 258}").want(t, exitOK)
	r := samples(t, "sample", filepath.Join("runs", "tiny"), "--json", "--temperature", "0.5")[0]
	if r.End != "document" || r.Tokens > 30 || strings.Trim(r.Text, "ab") != "" {
		t.Errorf("%+v", r)
	}
}

// TestInitFrom starts a run from another's weights.
func TestInitFrom(t *testing.T) {
	inTiny(t)
	first := func(run string) metrics.Float {
		records, err := metrics.Read(filepath.Join(run, "metrics.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if r, ok := r.(metrics.Train); ok {
				return r.Loss
			}
		}
		t.Fatal("no step is recorded")
		return 0
	}
	command("train", "tiny.yaml").want(t, exitOK)
	run := filepath.Join("runs", "tiny")
	command("train", "tiny.yaml", "--out", "on", "--set", "init_from="+run).want(t, exitOK, "done: step 20 of 20")
	if fresh, on := first(run), first("on"); !(on < fresh-1) {
		t.Errorf("the first loss is %v from drawn weights and %v from trained ones", fresh, on)
	}
}

func TestProfiles(t *testing.T) {
	inTiny(t)
	command("plan", "tiny.yaml", "--cpuprofile", "cpu.out", "--memprofile", "memory.out").want(t, exitOK)
	if !strings.HasPrefix(read(t, "cpu.out"), "\x1f\x8b") || !strings.HasPrefix(read(t, "memory.out"), "\x1f\x8b") {
		t.Error("the profiles are not what go tool pprof reads")
	}
	command("plan", "tiny.yaml", "--cpuprofile", "no/such/folder").want(t, exitFailure, "--cpuprofile: ")
}

func TestConfigCommand(t *testing.T) {
	inTiny(t)
	printed := command("config", "tiny.yaml", "--set", "model.layers=3").want(t, exitOK, "layers: 3", "head_dim: 8").out
	write(t, "again.yaml", printed)
	if again := command("config", "again.yaml").out; again != printed {
		t.Errorf("printed differently: %s\n%s", printed, again)
	}
	r := command("config", "tiny.yaml", "--diff", "again.yaml").want(t, exitOK)
	if strings.Join(strings.Fields(r.out), " ") != "model.layers: 2 → 3" {
		t.Errorf("differences: %q", r.out)
	}
	if r := command("config", "again.yaml", "--diff", "again.yaml").want(t, exitOK, "no differences"); r.out != "" {
		t.Errorf("differences: %q", r.out)
	}
	keys := command("config", "--keys").want(t, exitOK).out
	for _, d := range configs.Describe() {
		if !strings.Contains(keys, d.Key+": "+d.Default+" ("+d.Type+")\n    "+d.Doc+"\n") {
			t.Errorf("%s is not listed", d.Key)
		}
		if d.Allowed != nil && !strings.Contains(keys, d.Doc+"\n    one of: "+strings.Join(d.Allowed, ", ")+"\n") {
			t.Errorf("the words of %s are not listed", d.Key)
		}
	}
	presets := command("config", "--presets").want(t, exitOK).out
	if got := strings.Count(presets, "\n"); got != len(configs.Presets()) || !strings.Contains(presets, "\nquickstart ") {
		t.Errorf("presets:\n%s", presets)
	}
}

// TestCheckCommand compares the files that package parity keeps.
func TestCheckCommand(t *testing.T) {
	file := filepath.Join("..", "..", "train", "parity", "testdata", "llama-pre-rmsnorm.safetensors")
	command("check", file).want(t, exitOK, "ok    llama-pre-rmsnorm.safetensors", "gradients", "limit", "layers.")
	command("check", file, "--rtol", "1e-9").want(t, exitFailure, "FAIL  llama-pre-rmsnorm.safetensors", "FAIL  gradients")
	var records []checkRecord
	if err := json.Unmarshal([]byte(command("check", file, file, "--device", "ref", "--json").want(t, exitOK).out), &records); err != nil {
		t.Fatal(err)
	}
	if len(records) != 2 || !records[0].OK || len(records[0].Figures) != 5 || records[0].Figures[0].Error > records[0].Figures[0].Limit {
		t.Errorf("records %+v", records)
	}
	command("check", filepath.Join("..", "..", "go.mod")).want(t, exitFailure, "go.mod")
}

// TestHelp wants every command to be described, with examples that name only commands and flags that exist.
func TestHelp(t *testing.T) {
	help := command("--help").want(t, exitOK).out
	root := newRoot(&profiles{})
	addCompletion(root)
	at := 0
	for _, name := range []string{"train", "sample", "eval", "plan", "config", "check", "doctor", "completion"} {
		i := strings.Index(help, "\n  "+name+" ")
		if i < at {
			t.Errorf("%s is not listed in the order of work", name)
		}
		at = max(at, i)
		cmd, _, err := root.Find([]string{name})
		if err != nil || cmd.Short == "" || cmd.Long == "" || cmd.Example == "" {
			t.Errorf("%s is not described: %v", name, err)
			continue
		}
		checkExamples(t, cmd)
		for _, line := range strings.Split(command(name, "--help").want(t, exitOK, "Examples:").out, "\n") {
			if len(line) > 140 {
				t.Errorf("%s --help has a line of %d characters: %s", name, len(line), line)
			}
		}
	}
	command("help").want(t, exitOK, "Commands:")
	command("--version").want(t, exitOK, "prenorm", "go1.")
	command("completion", "bash").want(t, exitOK, "prenorm")
	command("completion").want(t, exitOK, "prenorm completion SHELL\n", "package bash-completion")
	command("completion", "bash", "--help").want(t, exitOK, "bash-completion")
}

// checkExamples looks up every flag of a command's examples.
func checkExamples(t *testing.T, cmd *cobra.Command) {
	t.Helper()
	for line := range strings.Lines(cmd.Example) {
		line, _, _ = strings.Cut(line, " #")
		words := strings.Fields(line)
		if cmd.Name() != "completion" && !slices.Contains(words, cmd.Name()) {
			t.Errorf("%s: example without the command: %s", cmd.Name(), line)
		}
		for _, w := range words {
			if name, ok := strings.CutPrefix(w, "--"); ok && cmd.Flags().Lookup(name) == nil {
				t.Errorf("%s: example with unknown flag --%s", cmd.Name(), name)
			}
		}
	}
}
