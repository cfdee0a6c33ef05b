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

// format is the version of the folder's layout.
const format = 1

// maxManifest bounds what is read as a manifest, in bytes.
const maxManifest = 1 << 20

// manifest is the content of manifest.json.
type manifest struct {
	Format int         `json:"format"`
	Step   int64       `json:"step"`
	Files  []fileEntry `json:"files"`
	SHA256 string      `json:"sha256"` // of this JSON with the field empty
}

type fileEntry struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // in hexadecimal
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

// decodeManifest parses a manifest and checks everything that can be checked without the files.
func decodeManifest(data []byte) (manifest, error) {
	var m manifest
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return m, fmt.Errorf("is no manifest: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return m, errors.New("has more after its end")
	}
	if m.Format != format {
		return m, fmt.Errorf("format %d, this program reads format %d", m.Format, format)
	}
	bare := m
	bare.SHA256 = ""
	if again, err := json.Marshal(bare); err != nil || hexSum(again) != m.SHA256 {
		return m, errors.New("does not have its own checksum: it was changed")
	}
	return m, m.check()
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
