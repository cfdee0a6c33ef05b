package train

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"prenorm/data/batch"
	"prenorm/data/token"
	"prenorm/train/checkpoint"
	"prenorm/train/metrics"
	"prenorm/train/safetensors"
)

// BundleFolder is the folder of a run's bundles inside its own.
const BundleFolder = "guard"

// bundleFormat is the version of a bundle's layout.
const bundleFormat = 1

// Names of the files in a bundle, beside those that a checkpoint has too.
const (
	reportFile    = "report.json"
	textFile      = "batches.txt"
	batchesFile   = "batches.safetensors"
	weightsFile   = "model.safetensors"
	optimizerFile = "optimizer.safetensors"
)

// sealBytes is the length of a bundle's checksum in hexadecimal, its last bytes; sealLabel comes before it.
const (
	sealBytes = 2 * sha256.Size
	sealLabel = "sha256 "
)

// Report is what a bundle says of a step that was not applied.
type Report struct {
	Format    int           `json:"format"`
	Name      string        `json:"name"` // of the run
	Step      int64         `json:"step"`
	Cause     string        `json:"cause"`
	Device    string        `json:"device"`
	Precision string        `json:"precision"`
	Products  string        `json:"products,omitempty"` // who multiplied matrices, as in [State]
	LR        float64       `json:"lr"`
	Loss      metrics.Float `json:"loss"`
	GradNorm  metrics.Float `json:"grad_norm"`
	Clip      metrics.Float `json:"clip"`   // the factor that the norm alone would have given
	Limits    Limits        `json:"limits"` // above which the step counted as a spike
	Spoiled   []string      `json:"spoiled,omitempty"`
	Before    []Recent      `json:"before,omitempty"` // the last steps before, oldest first
	Diagnosis
	Tensors []TensorSize `json:"tensors"`
}

// zipEpoch is the date of every file in a bundle, the first that an archive can have: the same bundle gives the same bytes whenever it is written.
var zipEpoch = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// bundle is a step that was not applied with all that it was made of. A bundle's file is a zip archive without compression, with a checksum of
// all its bytes at its end: the archive's comment.
type bundle struct {
	report  Report
	state   checkpoint.Snapshot // before the step, with its files
	micros  []*batch.Batch
	before  [][]*batch.Batch // of the report's steps before
	decoder token.Tokenizer
}

// write writes the archive. The same bundle gives the same bytes.
func (b *bundle) write(w io.Writer) (seal string, err error) {
	sealed := &sealWriter{out: w, sum: sha256.New()}
	z := zip.NewWriter(sealed)
	add := func(name string, content func(io.Writer) error) {
		if err != nil {
			return
		}
		var f io.Writer
		if f, err = z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store, Modified: zipEpoch}); err == nil {
			if err = content(f); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	add(reportFile, asJSON(b.report))
	add(textFile, func(w io.Writer) error { return b.texts(w, b.micros) })
	add(batchesFile, func(w io.Writer) error { return safetensors.Write(w, batchTensors(b.micros), nil) })
	add(weightsFile, func(w io.Writer) error { return safetensors.Write(w, b.state.Weights, b.state.Metadata) })
	add(optimizerFile, func(w io.Writer) error { return safetensors.Write(w, b.state.Optimizer, nil) })
	add(StateFile, asJSON(b.state.State))
	for _, name := range []string{ConfigFile, TokenizerFile} {
		add(name, func(w io.Writer) error { _, err := w.Write(b.state.Files[name]); return err })
	}
	b.addBefore(add)
	if err == nil {
		err = z.SetComment(sealLabel + strings.Repeat("0", sealBytes))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return "", err
	}
	return sealed.seal()
}

func asJSON(v any) func(io.Writer) error {
	return func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		return e.Encode(v)
	}
}

// sealWriter keeps the last bytes back, and puts the checksum of all before them in their place.
type sealWriter struct {
	out  io.Writer
	sum  hash.Hash
	last []byte
}

func (s *sealWriter) Write(p []byte) (int, error) {
	s.last = append(s.last, p...)
	n := max(len(s.last)-sealBytes, 0)
	s.sum.Write(s.last[:n])
	if _, err := s.out.Write(s.last[:n]); err != nil {
		return 0, err
	}
	s.last = append(s.last[:0], s.last[n:]...)
	return len(p), nil
}

func (s *sealWriter) seal() (string, error) {
	seal := hex.EncodeToString(s.sum.Sum(nil))
	_, err := io.WriteString(s.out, seal)
	return seal, err
}

// batchTensors are inputs and targets [micro-batches, B, T], and the ids of documents where attention stays inside them.
func batchTensors(micros []*batch.Batch) []safetensors.Tensor {
	var inputs, targets, documents []int32
	for _, m := range micros {
		inputs, targets = append(inputs, m.Inputs...), append(targets, m.Targets...)
		documents = append(documents, m.Docs...)
	}
	shape := []int{len(micros), micros[0].B, micros[0].T}
	list := []safetensors.Tensor{safetensors.New("inputs", shape, inputs), safetensors.New("targets", shape, targets)}
	if documents != nil {
		list = append(list, safetensors.New("documents", shape, documents))
	}
	return list
}

// texts writes the batches for people.
func (b *bundle) texts(w io.Writer, micros []*batch.Batch) error {
	for i, m := range micros {
		for k := range m.B {
			text, err := b.decoder.Decode(nil, m.Inputs[k*m.T:(k+1)*m.T]...)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "micro-batch %d, sequence %d:\n%s\n\n", i, k, strings.ToValidUTF8(string(text), "\uFFFD")); err != nil {
				return err
			}
		}
	}
	return nil
}

// byteCount is the size of what was written.
type byteCount int64

func (c *byteCount) Write(p []byte) (int, error) {
	*c += byteCount(len(p))
	return len(p), nil
}

// errNoRoom says that a folder holds all the bundles that it may.
var errNoRoom = errors.New("no more bundles are wanted")

// save writes the bundle into a folder, beside its place and then renamed, and returns its file's name and size. One of the same bytes that is
// there already is taken for it; no other is ever replaced. say is told the size before anything is written.
func (b *bundle) save(fsys checkpoint.FS, dir string, most int, say func(name string, bytes int64)) (name string, err error) {
	var size byteCount
	seal, err := b.write(&size)
	if err != nil {
		return "", err
	}
	if err := fsys.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	name, there, err := b.place(fsys, dir, seal)
	if err != nil || there {
		return name, err
	}
	if err := dropUnfinished(fsys, dir); err != nil {
		return "", err
	}
	if n, err := countBundles(fsys, dir); err != nil || n >= most {
		return "", errors.Join(err, errNoRoom)
	}
	say(name, int64(size))
	temp := filepath.Join(dir, unfinished+name)
	if err = b.saveAs(fsys, temp); err == nil {
		err = fsys.Rename(temp, filepath.Join(dir, name))
	}
	if err != nil {
		_ = fsys.Remove(temp) // it may have filled the disk
		return "", err
	}
	return name, fsys.SyncDir(dir)
}

func (b *bundle) saveAs(fsys checkpoint.FS, path string) error {
	f, err := fsys.Create(path)
	if err != nil {
		return err
	}
	if _, err = b.write(f); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// A bundle's name begins and ends with these; before the name of one that is being written there is unfinished.
const (
	unfinished   = ".tmp-"
	bundlePrefix = "step-"
	bundleSuffix = ".zip"
)

// place finds the first name for the step that is free, or the bundle with that seal.
func (b *bundle) place(fsys checkpoint.FS, dir, seal string) (name string, there bool, err error) {
	for n := 1; ; n++ {
		name = bundleName(b.report.Step, n)
		f, err := fsys.Open(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return name, false, nil
		}
		if err != nil {
			return "", false, err
		}
		old, err := lastBytes(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return "", false, err
		}
		if old == seal { // of a run that came here before
			return name, true, nil
		}
	}
}

// lastBytes are the bytes at the place of a seal. What is before them is passed over where the file can do so.
func lastBytes(f fs.File) (string, error) {
	if s, ok := f.(io.Seeker); ok {
		if size, err := s.Seek(0, io.SeekEnd); err != nil {
			return "", err
		} else if _, err := s.Seek(max(size-sealBytes, 0), io.SeekStart); err != nil {
			return "", err
		}
	}
	var last []byte
	part := make([]byte, 1<<16)
	for {
		n, err := f.Read(part)
		last = append(last, part[:n]...)
		last = append(last[:0], last[max(len(last)-sealBytes, 0):]...)
		if errors.Is(err, io.EOF) {
			return string(last), nil
		}
		if err != nil {
			return "", err
		}
	}
}
