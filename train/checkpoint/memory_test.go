package checkpoint

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// fault says what happens at a chosen operation of a memoryFS.
type fault int

const (
	noFault   fault = iota
	failOnce        // the operation fails without effect (a write writes half), the next ones work
	failLate        // the operation has its effect and reports a failure all the same
	failEver        // this operation and all later ones fail without effect
	failWrite       // operations that write, from this one on, fail without effect: the disk is full or read-only
)

var errFault = errors.New("injected fault")

// memoryFS is a file system in memory that counts operations, fails at a chosen one, and forgets at a power cut what was not made durable.
type memoryFS struct {
	root  *node
	count int // operations so far
	at    int // the operation where the fault begins
	fault fault

	onCreate func(path string) // is told of every new file; nil = nobody
}

// node is a file or a folder, each with its present and its durable state.
type node struct {
	folder         bool
	irregular      bool
	data, durable  []byte
	entries, saved map[string]*node
	pending        []change
}

// change is an operation on a folder's names that is not durable yet. An empty name stands for none.
type change struct {
	from, to string
	node     *node
}

func (c change) apply(m map[string]*node) {
	if c.from != "" {
		if m[c.from] != c.node {
			return
		}
		delete(m, c.from)
	}
	if _, taken := m[c.to]; taken {
		delete(m, c.to) // two of one name, because an earlier operation was lost: a repair of the disk takes both away
	} else if c.to != "" {
		m[c.to] = c.node
	}
}

func newFolder() *node {
	return &node{folder: true, entries: map[string]*node{}, saved: map[string]*node{}}
}

func newMemoryFS() *memoryFS { return &memoryFS{root: newFolder()} }

// step counts an operation. With effect false the caller returns err at once; otherwise it acts and then returns err.
func (m *memoryFS) step(writes bool) (effect bool, err error) {
	m.count++
	here, after := m.count == m.at, m.count >= m.at
	switch {
	case m.fault == failOnce && here, m.fault == failEver && after, m.fault == failWrite && after && writes:
		return false, errFault
	case m.fault == failLate && here:
		return true, errFault
	}
	return true, nil
}

// arm makes the fault begin at operation number at, counted from here.
func (m *memoryFS) arm(f fault, at int) { m.fault, m.count, m.at = f, 0, at }

func (m *memoryFS) find(path string) *node {
	n := m.root
	for _, part := range strings.Split(filepath.ToSlash(path), "/") {
		if n == nil || part == "." {
			continue
		}
		n = n.entries[part]
	}
	return n
}

func missing(op, path string) error { return &fs.PathError{Op: op, Path: path, Err: fs.ErrNotExist} }

// change records and applies an operation on the names of path's folder.
func (m *memoryFS) change(path string, c change) {
	parent := m.find(filepath.Dir(path))
	c.apply(parent.entries)
	parent.pending = append(parent.pending, c)
}

func (m *memoryFS) add(path string, n *node) error {
	effect, err := m.step(true)
	if !effect {
		return err
	}
	if parent := m.find(filepath.Dir(path)); parent == nil || !parent.folder {
		return missing("create", path)
	}
	if m.find(path) != nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	m.change(path, change{to: filepath.Base(path), node: n})
	return err
}

func (m *memoryFS) Mkdir(path string) error { return m.add(path, newFolder()) }

func (m *memoryFS) Create(path string) (File, error) {
	n := &node{}
	if err := m.add(path, n); err != nil {
		return nil, err
	}
	if m.onCreate != nil {
		m.onCreate(path)
	}
	return &memoryWriter{m, n}, nil
}

func (m *memoryFS) Rename(from, to string) error {
	effect, err := m.step(true)
	if !effect {
		return err
	}
	n := m.find(from)
	if n == nil {
		return missing("rename", from)
	}
	if m.find(to) != nil || filepath.Dir(from) != filepath.Dir(to) {
		return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	}
	m.change(from, change{from: filepath.Base(from), to: filepath.Base(to), node: n})
	return err
}

func (m *memoryFS) Remove(path string) error {
	effect, err := m.step(true)
	if !effect {
		return err
	}
	n := m.find(path)
	if n == nil {
		return missing("remove", path)
	}
	if len(n.entries) > 0 {
		return &fs.PathError{Op: "remove", Path: path, Err: fs.ErrExist}
	}
	m.change(path, change{from: filepath.Base(path), node: n})
	return err
}

func (m *memoryFS) SyncDir(path string) error {
	effect, err := m.step(true)
	if !effect {
		return err
	}
	n := m.find(path)
	if n == nil {
		return missing("sync", path)
	}
	for _, c := range n.pending {
		c.apply(n.saved)
	}
	n.pending = nil
	return err
}

func (m *memoryFS) ReadDir(path string) ([]fs.DirEntry, error) {
	if effect, err := m.step(false); !effect {
		return nil, err
	}
	n := m.find(path)
	if n == nil {
		return nil, missing("readdir", path)
	}
	var list []fs.DirEntry
	for name, child := range n.entries {
		list = append(list, fs.FileInfoToDirEntry(info{name, child}))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

func (m *memoryFS) Open(path string) (fs.File, error) {
	if effect, err := m.step(false); !effect {
		return nil, err
	}
	n := m.find(path)
	if n == nil {
		return nil, missing("open", path)
	}
	return &memoryReader{m, info{filepath.Base(path), n}, 0}, nil
}

type memoryWriter struct {
	fs   *memoryFS
	node *node
}

func (w *memoryWriter) Write(p []byte) (int, error) {
	effect, err := w.fs.step(true)
	if !effect {
		w.node.data = append(w.node.data, p[:len(p)/2]...)
		return len(p) / 2, err
	}
	w.node.data = append(w.node.data, p...)
	return len(p), err
}

func (w *memoryWriter) Sync() error {
	effect, err := w.fs.step(true)
	if effect {
		w.node.durable = slices.Clone(w.node.data)
	}
	return err
}

func (w *memoryWriter) Close() error {
	_, err := w.fs.step(true)
	return err
}

type memoryReader struct {
	fs     *memoryFS
	info   info
	offset int
}

func (r *memoryReader) Stat() (fs.FileInfo, error) { return r.info, nil }
func (r *memoryReader) Close() error               { return nil }
func (r *memoryReader) Read(p []byte) (int, error) {
	if effect, err := r.fs.step(false); !effect {
		return 0, err
	}
	if r.offset == len(r.info.node.data) {
		return 0, io.EOF
	}
	n := copy(p, r.info.node.data[r.offset:])
	r.offset += n
	return n, nil
}

type info struct {
	name string
	node *node
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return int64(len(i.node.data)) }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.node.folder }
func (i info) Sys() any           { return nil }
func (i info) Mode() fs.FileMode {
	switch {
	case i.node.folder:
		return fs.ModeDir
	case i.node.irregular:
		return fs.ModeNamedPipe
	}
	return 0
}

// clone copies the file system with what is durable and what is not.
func (m *memoryFS) clone() *memoryFS {
	copies := map[*node]*node{}
	var copyNode func(n *node) *node
	copyNames := func(from map[string]*node) map[string]*node {
		to := make(map[string]*node, len(from))
		for name, n := range from {
			to[name] = copyNode(n)
		}
		return to
	}
	copyNode = func(n *node) *node {
		if c, done := copies[n]; done {
			return c
		}
		c := &node{folder: n.folder, irregular: n.irregular, data: slices.Clone(n.data), durable: slices.Clone(n.durable)}
		copies[n] = c
		if n.folder {
			c.entries, c.saved = copyNames(n.entries), copyNames(n.saved)
			for _, p := range n.pending {
				c.pending = append(c.pending, change{p.from, p.to, copyNode(p.node)})
			}
		}
		return c
	}
	return &memoryFS{root: copyNode(m.root)}
}

// powerCut forgets what was not made durable. Names and contents that were not may have reached the disk all the same: seed 0 loses all of
// them, seed 1 keeps all names and no content, others decide for each by chance, and may leave contents cut off or filled with zeros.
func (m *memoryFS) powerCut(seed uint64) {
	m.arm(noFault, 0)
	m.root.powerCut(seed, rand.New(rand.NewPCG(seed, 7)))
}

func (n *node) powerCut(seed uint64, r *rand.Rand) {
	if !n.folder {
		n.data = n.remains(seed, r)
		n.durable = slices.Clone(n.data)
		return
	}
	for _, c := range n.pending {
		if seed == 1 || seed > 1 && r.IntN(2) == 0 {
			c.apply(n.saved)
		}
	}
	n.pending = nil
	n.entries = map[string]*node{}
	var names []string
	for name, child := range n.saved {
		n.entries[name] = child
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		n.entries[name].powerCut(seed, r)
	}
}

func (n *node) remains(seed uint64, r *rand.Rand) []byte {
	if seed < 2 || slices.Equal(n.data, n.durable) {
		return slices.Clone(n.durable)
	}
	switch r.IntN(4) {
	case 0:
		return slices.Clone(n.durable)
	case 1:
		return slices.Clone(n.data)
	case 2:
		return slices.Clone(n.data[:r.IntN(len(n.data)+1)])
	}
	zeros := slices.Clone(n.data)
	clear(zeros[r.IntN(len(zeros)+1):])
	return zeros
}
