package train

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"prenorm/configs/problem"
	"prenorm/data/batch"
	"prenorm/data/regular"
	"prenorm/kernels"
	"prenorm/train/checkpoint"
	"prenorm/train/metrics"
	"prenorm/train/safetensors"
)

// Bundle is a bundle that was read. Tensors are windows of the bytes read.
type Bundle struct {
	Path   string
	Report Report
	State  *checkpoint.Loaded // before the step, with the run file and the tokenizer
	Micros []*batch.Batch
	Text   string // of the batches
	// Before are the micro-batches of the steps before, as Report.Before names them, and BeforeText is their text.
	Before     [][]*batch.Batch
	BeforeText string
}

// ReadBundle reads a bundle and checks its checksum. Its errors name the file and the rule.
func ReadBundle(path string) (*Bundle, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("bundle %s does not exist%s: name one of a run's folder, such as runs/NAME/%s/step-00000100%s", path, problem.MeantPath(path), BundleFolder, bundleSuffix)
	} else if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("bundle %s: is no file: name one of a run's folder, such as runs/NAME/%s/step-00000100%s", path, BundleFolder, bundleSuffix)
	}
	data, err := readSealed(path, info.Size())
	if errors.As(err, new(*fs.PathError)) {
		return nil, err
	}
	var b *Bundle
	if err == nil {
		b, err = parseBundle(data)
	}
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", path, err)
	}
	b.Path = path
	return b, nil
}

var errNoSeal = errors.New("has no checksum at its end: it is cut off, or no bundle")

// readSealed reads a file of a size into memory, once its end is that of a bundle and the memory is there.
func readSealed(path string, size int64) ([]byte, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	end := make([]byte, len(sealLabel)+sealBytes)
	if size < int64(len(end)) {
		return nil, errNoSeal
	}
	if _, err := f.ReadAt(end, size-int64(len(end))); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(end, []byte(sealLabel)) {
		return nil, errNoSeal
	}
	if left, known := kernels.HostLeft(); known && size > left {
		return nil, fmt.Errorf("takes %s of memory and %s are left: read it on a machine that has them", metrics.Bytes(size), metrics.Bytes(left))
	}
	data := make([]byte, size)
	_, err = io.ReadFull(f, data)
	return data, err
}

func parseBundle(data []byte) (*Bundle, error) {
	files, err := unpack(data)
	if err != nil {
		return nil, err
	}
	b := &Bundle{Text: string(files[textFile])}
	if err := json.Unmarshal(files[reportFile], &b.Report); err != nil {
		return nil, fmt.Errorf("%s: %w", reportFile, err)
	}
	if f := b.Report.Format; f != bundleFormat {
		return nil, fmt.Errorf("is of format %d, this program reads format %d: use the version of prenorm that wrote it", f, bundleFormat)
	}
	if b.Report.Step < 1 {
		return nil, fmt.Errorf("%s: step %d: steps count from 1", reportFile, b.Report.Step)
	}
	b.State = &checkpoint.Loaded{Step: b.Report.Step - 1, State: files[StateFile],
		Files: map[string][]byte{ConfigFile: files[ConfigFile], TokenizerFile: files[TokenizerFile]}}
	for name, list := range map[string]*[]safetensors.Tensor{weightsFile: &b.State.Weights, optimizerFile: &b.State.Optimizer} {
		f, err := safetensors.Parse(files[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		*list = f.Tensors
	}
	b.Micros, err = parseBatches(files[batchesFile])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", batchesFile, err)
	}
	return b, b.parseBefore(files)
}

// unpack checks the whole and returns the files, as windows of data.
func unpack(data []byte) (map[string][]byte, error) {
	n := len(data) - sealBytes
	if n < len(sealLabel) || !bytes.HasSuffix(data[:n], []byte(sealLabel)) {
		return nil, errNoSeal
	}
	if sum := sha256.Sum256(data[:n]); hex.EncodeToString(sum[:]) != string(data[n:]) {
		return nil, errors.New("does not have its own checksum: it was damaged or changed")
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, f := range z.File {
		at, err := f.DataOffset()
		size := f.UncompressedSize64
		if err != nil || f.Method != zip.Store || f.CompressedSize64 != size || at > int64(n) || size > uint64(int64(n)-at) || files[f.Name] != nil {
			return nil, fmt.Errorf("%q: is compressed, there twice, or not inside the file (%v)", f.Name, err)
		}
		files[f.Name] = data[at : at+int64(size) : at+int64(size)]
	}
	for _, name := range []string{reportFile, textFile, batchesFile, weightsFile, optimizerFile, StateFile, ConfigFile, TokenizerFile} {
		if files[name] == nil {
			return nil, fmt.Errorf("has no %s", name)
		}
	}
	return files, nil
}

// parseBatches reads the micro-batches.
func parseBatches(data []byte) ([]*batch.Batch, error) {
	f, err := safetensors.Parse(data)
	if err != nil {
		return nil, err
	}
	in, _ := f.Tensor("inputs")
	out, _ := f.Tensor("targets")
	if len(in.Shape) != 3 || !slices.Equal(in.Shape, out.Shape) || in.Len() == 0 {
		return nil, fmt.Errorf("inputs %v and targets %v are not of one shape [micro-batches, sequences, tokens]", in.Shape, out.Shape)
	}
	inputs, err := in.I32()
	if err != nil {
		return nil, err
	}
	targets, err := out.I32()
	if err != nil {
		return nil, err
	}
	var documents []int32
	if d, closed := f.Tensor("documents"); closed {
		if !slices.Equal(in.Shape, d.Shape) {
			return nil, fmt.Errorf("documents %v are not of the shape of inputs %v", d.Shape, in.Shape)
		}
		if documents, err = d.I32(); err != nil {
			return nil, err
		}
	}
	var micros []*batch.Batch
	n := in.Shape[1] * in.Shape[2]
	for i := range in.Shape[0] {
		m := &batch.Batch{B: in.Shape[1], T: in.Shape[2], Inputs: inputs[i*n : (i+1)*n], Targets: targets[i*n : (i+1)*n]}
		if documents != nil {
			m.Docs = documents[i*n : (i+1)*n]
		}
		micros = append(micros, m)
	}
	return micros, nil
}
