package checkpoint

// readers are the formats that are read, each by a reader of its own, which stays as it is once a later format is written.
var readers = map[int]func(data []byte) (manifest, error){1: readFormat1, 2: readFormat2}

// manifest1 is the manifest of format 1, which has no checksums of tensors.
type manifest1 struct {
	Format int          `json:"format"`
	Step   int64        `json:"step"`
	Files  []fileEntry1 `json:"files"`
	SHA256 string       `json:"sha256"`
}

type fileEntry1 struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

func readFormat1(data []byte) (manifest, error) {
	var old manifest1
	err := decodeSealed(data, &old, func() (any, string) {
		bare := old
		bare.SHA256 = ""
		return bare, old.SHA256
	})
	m := manifest{Format: old.Format, Step: old.Step, SHA256: old.SHA256}
	for _, f := range old.Files {
		m.Files = append(m.Files, fileEntry{Name: f.Name, Size: f.Size, SHA256: f.SHA256})
	}
	return m, err
}

func readFormat2(data []byte) (manifest, error) {
	var m manifest
	err := decodeSealed(data, &m, func() (any, string) {
		bare := m
		bare.SHA256 = ""
		return bare, m.SHA256
	})
	return m, err
}
