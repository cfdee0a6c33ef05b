package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// format is the version of the folder's layout that is written; see [readers] for those that are read.
const format = 2

// maxManifest bounds what is read as a manifest, in bytes.
const maxManifest = 16 << 20

// manifest is the content of manifest.json.
type manifest struct {
	Format int         `json:"format"`
	Step   int64       `json:"step"`
	Files  []fileEntry `json:"files"`
	SHA256 string      `json:"sha256"` // of this JSON with the field empty
}

type fileEntry struct {
	Name    string        `json:"name"`
	Size    int64         `json:"size"`
	SHA256  string        `json:"sha256"`            // in hexadecimal
	Tensors []tensorEntry `json:"tensors,omitempty"` // of a file of tensors, in the order of their data, which ends the file
}

// tensorEntry is one tensor's data.
type tensorEntry struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	CRC32C string `json:"crc32c"` // in hexadecimal
}

// encode returns the manifest as JSON, sealed with its own checksum.
func (m manifest) encode() ([]byte, error) {
	m.SHA256 = ""
	bare, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	m.SHA256 = hexSum(bare)
	sealed, err := json.MarshalIndent(m, "", "  ")
	return append(sealed, '\n'), err
}

// decodeManifest parses a manifest of any format that is read and checks everything that can be checked without the files.
func decodeManifest(data []byte) (manifest, error) {
	found, err := formatOf(data)
	if err != nil {
		return manifest{}, fmt.Errorf("is no manifest: %w", err)
	}
	read, known := readers[found]
	if !known {
		return manifest{}, unknownFormat(found)
	}
	m, err := read(data)
	if err != nil {
		return m, err
	}
	return m, m.check()
}

// formatOf reads the format, which is a manifest's first value in every version.
func formatOf(data []byte) (int, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	for _, want := range []json.Token{json.Delim('{'), "format"} {
		if t, err := d.Token(); err != nil {
			return 0, err
		} else if t != want {
			return 0, fmt.Errorf("begins with %v where %v belongs", t, want)
		}
	}
	var n int
	err := d.Decode(&n)
	return n, err
}

// ErrNewer is the error of a checkpoint whose format is newer than those that are read: it need not be damaged.
var ErrNewer = errors.New("use the version of prenorm that wrote it, or a later one")

// unknownFormat says what to do about a format that is not read.
func unknownFormat(found int) error {
	if found > format {
		return fmt.Errorf("format %d is newer than this program, which reads formats 1 to %d: %w", found, format, ErrNewer)
	}
	return fmt.Errorf("format %d, this program reads formats 1 to %d: the manifest is not one that prenorm wrote", found, format)
}

// decodeSealed parses JSON strictly into a manifest of its format. bare returns the JSON that the seal was made of, and the seal.
func decodeSealed(data []byte, into any, bare func() (sealed any, sum string)) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("is no manifest: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("has more after its end")
	}
	m, sum := bare()
	if again, err := json.Marshal(m); err != nil || hexSum(again) != sum {
		return errors.New("does not have its own checksum: it was changed")
	}
	return nil
}

func (m manifest) check() error {
	seen := map[string]bool{}
	for _, f := range m.Files {
		if err := checkFileName(f.Name); err != nil {
			return err
		}
		if key := strings.ToLower(f.Name); seen[key] {
			return fmt.Errorf("names %s twice", f.Name)
		} else {
			seen[key] = true
		}
		if f.Size < 0 {
			return fmt.Errorf("gives %s %d bytes", f.Name, f.Size)
		}
		left := f.Size
		for _, t := range f.Tensors {
			if t.Size < 0 || t.Size > left {
				return fmt.Errorf("gives %s of %s %d bytes, of %d that are left in the file", t.Name, f.Name, t.Size, left)
			}
			left -= t.Size
		}
	}
	for _, name := range []string{modelFile, optimizerFile, stateFile} {
		if !seen[name] {
			return fmt.Errorf("does not name %s", name)
		}
	}
	if m.Step < 0 {
		return fmt.Errorf("step is %d", m.Step)
	}
	return nil
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func join(dir, name string) string { return filepath.Join(dir, name) }
