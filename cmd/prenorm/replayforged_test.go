package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/train"
)

// resealed is a bundle with other files, under a checksum that is right.
func resealed(t *testing.T, data string, change map[string]func(string) string) string {
	t.Helper()
	in, err := zip.NewReader(strings.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range in.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if c := change[f.Name]; c != nil {
			changed := c(string(text))
			if changed == string(text) {
				t.Fatalf("%s is as it was:\n%s", f.Name, text)
			}
			text = []byte(changed)
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: f.Name, Method: zip.Store})
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	must(z.SetComment("sha256 " + strings.Repeat("0", 64)))
	must(z.Close())
	body := out.Bytes()[:out.Len()-64]
	sum := sha256.Sum256(body)
	path := filepath.Join(t.TempDir(), "forged.zip")
	write(t, path, string(body)+hex.EncodeToString(sum[:]))
	return path
}

// TestReplayForged wants a bundle that somebody else wrote to send the terminal nothing, to be refused by its name, and to take no memory that its
// tensors do not.
func TestReplayForged(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--out", "wild", "--set", "train.optimizer.kind=sgd", "--set", "train.optimizer.lr=10", "--set", "train.clip=0",
		"--set", "train.optimizer.momentum=0.9", "--set", "train.schedule.warmup=0").want(t, exitFailure)
	bundles := filesLike(filepath.Join("wild", train.BundleFolder), "*.zip")
	if len(bundles) != 1 {
		t.Fatal(bundles)
	}
	data, err := os.ReadFile(bundles[0])
	if err != nil {
		t.Fatal(err)
	}
	forged := resealed(t, string(data), map[string]func(string) string{"report.json": func(s string) string {
		s = strings.Replace(s, `"cause": "`, `"cause": "\u001b[2J\n`, 1)
		return strings.Replace(s, `"name": "tiny"`, `"name": "\u009b31m"`, 1)
	}})
	if r := command("replay", forged).want(t, exitOK, `cause     "\x1b[2J\n`, `of "\u009b31m"`, "same, bit for bit"); strings.ContainsAny(r.out, "\x1b\u009b") {
		t.Errorf("%q", r.out)
	}
	forged = resealed(t, string(data), map[string]func(string) string{"batches.txt": func(s string) string {
		return "\x1b]0;mine\x07\u009b2Jé\ufffd\tword\r\x80\n" + s
	}})
	r := command("replay", forged, "--text").want(t, exitOK, `\x1b]0;mine\a\u009b2J`+"é\ufffd\tword"+`\r\x80`+"\n")
	if strings.ContainsAny(r.out, "\x1b\a\r\u009b") {
		t.Errorf("%q", r.out)
	}
	forged = resealed(t, string(data), map[string]func(string) string{"config.yaml": func(s string) string {
		return strings.Replace(s, "ffn: 32", "ffn: 65536", 1)
	}})
	misfit := resealed(t, string(data), map[string]func(string) string{"state.json": func(s string) string {
		return strings.Replace(s, `"tokens": `, `"tokens": -`, 1)
	}})
	command("replay", misfit).want(t, exitFailure, "bundle "+misfit+": state.json: is of step ")
	largest := 0
	withKernels(t, func(name string, o kernels.Options) (kernels.Backend, error) {
		be, err := kernels.Open(name, o)
		return &spy{Backend: be, arena: func(bytes int) { largest = max(largest, bytes) }}, err
	})
	command("replay", forged).want(t, exitFailure, "forged.zip: the weights are of a model with")
	if largest > 1<<20 {
		t.Errorf("takes %d bytes", largest)
	}
}
