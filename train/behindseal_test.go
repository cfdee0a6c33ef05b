package train

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model/exec"
	"prenorm/train/checkpoint"
)

// reseal gives bytes of a bundle the checksum that they have.
func reseal(data []byte) []byte {
	body := data[:len(data)-sealBytes]
	sum := sha256.Sum256(body)
	return append(slices.Clone(body), hex.EncodeToString(sum[:])...)
}

// archive is a sealed archive of files, each of its name.
func archive(t *testing.T, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range names {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = w.Write([]byte(name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.SetComment(sealLabel+strings.Repeat("0", sealBytes)), z.Close()); err != nil {
		t.Fatal(err)
	}
	return reseal(out.Bytes())
}

// TestBehindTheSeal changes bundles and gives them the checksum that they have then: what is written there is refused all the same, and never
// believed.
func TestBehindTheSeal(t *testing.T) {
	all := []string{reportFile, textFile, batchesFile, weightsFile, optimizerFile, StateFile, ConfigFile, TokenizerFile}
	if _, err := unpack(archive(t, all...)); err != nil {
		t.Fatal(err)
	}
	for i, name := range all {
		if _, err := unpack(archive(t, append(slices.Clone(all[:i]), all[i+1:]...)...)); err == nil || err.Error() != "has no "+name {
			t.Errorf("without %s: %v", name, err)
		}
		if _, err := unpack(archive(t, append(slices.Clone(all), name)...)); err == nil || !strings.Contains(err.Error(), "there twice") {
			t.Errorf("%s twice: %v", name, err)
		}
	}
	whole := archive(t, all...)
	last := bytes.LastIndex(whole, []byte("PK\x01\x02")) // the directory's entry of the last file
	for what, change := range map[string]func(entry []byte){
		"compressed": func(e []byte) { binary.LittleEndian.PutUint16(e[10:], zip.Deflate) },
		"beyond the file": func(e []byte) {
			binary.LittleEndian.PutUint32(e[20:], 1<<30)
			binary.LittleEndian.PutUint32(e[24:], 1<<30)
		},
		"into the checksum": func(e []byte) {
			size := uint32(len(whole) - bytes.LastIndex(whole[:last], []byte(TokenizerFile)))
			binary.LittleEndian.PutUint32(e[20:], size)
			binary.LittleEndian.PutUint32(e[24:], size)
		},
		"two sizes":       func(e []byte) { binary.LittleEndian.PutUint32(e[20:], 1) },
		"another's place": func(e []byte) { binary.LittleEndian.PutUint32(e[42:], uint32(len(whole)-10)) },
	} {
		data := slices.Clone(whole)
		change(data[last:])
		if _, err := unpack(reseal(data)); err == nil {
			t.Errorf("%s: is taken", what)
		}
	}
	for what, b := range map[string]*bundle{"is of format 2": tinyBundle(3), "steps count from 1": tinyBundle(0)} {
		if b.report.Step > 0 {
			b.report.Format = 2
		}
		var data bytes.Buffer
		if _, err := b.write(&data); err != nil {
			t.Fatal(err)
		}
		if _, err := parseBundle(data.Bytes()); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestGuardClone wants what a save at work holds to stay while steps go on in the same memory.
func TestGuardClone(t *testing.T) {
	c := Guard{Window: 2, Limit: 2}
	g := feed(c, 1, 2)
	g.hold(3, c)
	g.hold(4, c)
	kept := g.clone()
	g.add(Result{Loss: 8, GradNorm: 9}, c.Window)
	g.Held[0] = 7
	if !slices.Equal(kept.Losses, []float32{1, 2}) || !slices.Equal(kept.GradNorms, []float32{0.5, 1}) || !slices.Equal(kept.Held, []int64{3, 4}) {
		t.Errorf("the copy has become %+v", kept)
	}
}

// TestRestoreChecksGuard wants a checkpoint with a guard's state that no run writes to be refused.
func TestRestoreChecksGuard(t *testing.T) {
	s := stepper(t, ref.New(), small(), options(2, 1))
	_, err := restore(context.Background(), s.weights, s, &checkpoint.Loaded{Dir: "x", Step: 3, State: []byte(`{"step": 3, "guard": {"scale": 1, "unapplied": 4}}`)}, "checkpoint x")
	if err == nil || !strings.Contains(err.Error(), "checkpoint x: state.json: guard: 4 steps unapplied") {
		t.Error(err)
	}
}

// TestStatisticsAreLookedAt wants a launch to be named whose output is finite and whose saved statistics are not.
func TestStatisticsAreLookedAt(t *testing.T) {
	s := stepper(t, ref.New(), small(), options(2, 1))
	if _, err := s.Step(context.Background(), 1, 0, split(testBatches(2, func(int) bool { return false }), 1)); err != nil {
		t.Fatal(err)
	}
	out, aux := s.weights.Slab.View(0), s.grads.View(1)
	aux.F32()[2] = float32(math.Inf(-1))
	l := &looker{measurer: measurer{be: s.weights.Backend()}}
	err := l.look(exec.StepInfo{Path: "norm", Kernel: "rmsnorm", Args: kernels.Args{Out: []kernels.View{out}, Aux: []kernels.View{aux}}}, func() error { return nil })
	if !errors.Is(err, errFound) || l.First == nil || l.First.Path != "norm" || l.First.Index != 2 || l.First.Of != aux.Len() {
		t.Errorf("%v, %+v", err, l.First)
	}
}
