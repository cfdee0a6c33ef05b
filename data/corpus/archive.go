package corpus

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"prenorm/data"
)

// archive hands on the documents of the members of a tar archive, in its order. Those whose name tells no format, and those whose name, or
// that of a folder on the way, starts with a dot, are passed over, as in a folder.
func (r *reading) archive(m member, emit func(chunk) error) error {
	whole := &tailReader{in: m.in}
	in, found := tar.NewReader(whole), false
	last, unread := "", ""
	for {
		h, err := in.Next()
		if err == io.EOF && whole.zeros >= tarBlock {
			break
		}
		if err != nil {
			return inArchive(m, last, err)
		}
		last = h.Name
		format, known := data.FormatOf(h.Name)
		if how := data.Unread(h.Name); how != "" && unread == "" {
			unread = fmt.Sprintf("; %s is passed over: %s", h.Name, how)
		}
		if hidden(h.Name) || textless(h.Typeflag) {
			continue
		}
		if h.Typeflag != tar.TypeReg {
			if known && unread == "" {
				unread = fmt.Sprintf("; %s is passed over, a link or sparse file: unpack the archive and name its folder", h.Name)
			}
			if known && r.odd != nil {
				r.odd.Special.add(1, &cleaner{name: m.name + ":" + h.Name}, nil, 0)
			}
			continue
		}
		if !known {
			if r.odd != nil {
				r.odd.Outside.add(1, &cleaner{name: m.name + ":" + h.Name}, nil, 0)
			}
			continue
		}
		if format.Kind == "tar" {
			return fmt.Errorf("%s:%s: an archive inside an archive is not read: unpack the outer one and name its folder", m.name, h.Name)
		}
		found = true
		inner := member{name: m.name + ":" + h.Name, format: format, in: tarReader{in, m, h.Name}, size: h.Size}
		if err := r.unpack(inner, func(m member) error { return r.documents(m, emit) }); err != nil {
			return err
		}
	}
	if m.format.Packing != "" { // the checksum stands behind the archive
		if _, err := io.Copy(io.Discard, m.in); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("%s: the archive holds %s%s: name another text", m.name, data.NoExtension, unread)
	}
	return nil
}

// textless says whether members of a type hold no text, nor lead to any.
func textless(kind byte) bool {
	switch kind {
	case tar.TypeDir, tar.TypeChar, tar.TypeBlock, tar.TypeFifo, tar.TypeXGlobalHeader:
		return true
	}
	return false
}

// tarBlock is the size of a block of zeros, of which an archive has at least one at its end.
const tarBlock = 512

// tailReader counts the zeros at the end of what was read, because package tar takes an archive that is cut off between two members for a
// whole one.
type tailReader struct {
	in    io.Reader
	zeros int
}

func (t *tailReader) Read(b []byte) (int, error) {
	n, err := t.in.Read(b)
	for i := n - 1; i >= 0; i-- {
		if b[i] != 0 {
			t.zeros = n - 1 - i
			return n, err
		}
	}
	t.zeros += n
	return n, err
}

// tarReader says of an error which archive was being read.
type tarReader struct {
	io.Reader
	m      member
	inside string
}

func (t tarReader) Read(b []byte) (int, error) {
	n, err := t.Reader.Read(b)
	if err != nil && err != io.EOF {
		err = inArchive(t.m, t.inside, err)
	}
	return n, err
}

// inArchive explains an error of an archive.
func inArchive(m member, last string, err error) error {
	var stopped *stopError
	if errors.As(err, &stopped) {
		return err
	}
	place := "at its start"
	if last != "" {
		place = "at or after " + last
	}
	return fmt.Errorf("%s: %s: %w: the archive is cut off, damaged or no tar archive; fetch or pack it again", m.name, place, err)
}

// hidden says whether a name on the way to a member starts with a dot.
func hidden(name string) bool {
	for _, part := range strings.Split(path.Clean(name), "/") {
		if strings.HasPrefix(part, ".") && part != "." && part != ".." {
			return true
		}
	}
	return false
}
