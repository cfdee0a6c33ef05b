package corpus

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"prenorm/data"
)

// File is one source of text and what the file system says of it.
type File struct {
	Name     string      // as shown to the user
	Path     string      // absolute; "" for standard input
	Size     int64       // bytes
	Modified time.Time   // zero for standard input
	Format   data.Format // how documents lie in it

	id    string // the path with links resolved: two names of one file have one id
	text  []byte // of standard input, where that is short
	spool *spool // of standard input, where that is long
}

// empty reports whether the file holds no text.
func (f File) empty() (bool, error) {
	if f.Size == 0 || f.Size > int64(len(mark)) {
		return f.Size == 0, nil
	}
	if f.Path == "" {
		return bytes.Equal(f.text, mark), nil
	}
	raw, err := os.ReadFile(f.Path)
	if err != nil {
		return false, fmt.Errorf("reading text: %w", err)
	}
	return bytes.Equal(raw, mark), nil
}

// standardInput reads all of r as a file, which is kept in dir if it is long.
func standardInput(r io.Reader, dir string) (File, error) {
	f := File{Name: "<stdin>", id: "-"}
	text, err := io.ReadAll(io.LimitReader(r, int64(most)))
	if err != nil {
		return f, fmt.Errorf("reading text from standard input: %w", err)
	}
	if len(text) < most {
		f.text, f.Size = text, int64(len(text))
		return f, nil
	}
	if f.spool, err = newSpool(dir, bytes.NewReader(text), r); err != nil {
		return f, spooled("reading text from standard input", dir, err)
	}
	f.Size = f.spool.size
	return f, nil
}
