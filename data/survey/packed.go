package survey

import (
	"compress/gzip"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Packed is what compression makes of the first [mostPacked] bytes of a text, its documents one after another, in bits a byte.
type Packed struct {
	Bytes int64   `json:"bytes"` // that were packed
	Gzip  float64 `json:"gzip"`  // Go's, level 6, alone
	Zstd  float64 `json:"zstd"`  // klauspost/compress's default level, alone
	// ZstdGiven is zstd's for the validation text behind the last [mostGiven] bytes of the training text, whose own size is not counted.
	ZstdGiven float64 `json:"zstd_given,omitempty"`
}

// How much is packed, and how much of the training text may help with it; tests make both smaller.
var (
	mostPacked = 64 << 20
	mostGiven  = 4 << 20
)

// window is how far zstd looks back: further than mostGiven.
const window = 8 << 20

// counter counts what is written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// packer packs the beginning of a text.
type packer struct {
	size       int
	gzip, zstd counter
	g          *gzip.Writer
	z          *zstd.Encoder
	tail       []byte // the end of the whole text, up to twice mostGiven bytes
}

func newPacker() (*packer, error) {
	p := &packer{}
	var err error
	if p.z, err = newZstd(&p.zstd); err != nil {
		return nil, err
	}
	p.g, err = gzip.NewWriterLevel(&p.gzip, 6)
	return p, err
}

// newZstd packs with one goroutine.
func newZstd(w io.Writer) (*zstd.Encoder, error) {
	return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
}

func (p *packer) add(text []byte) error {
	p.tail = append(p.tail, text[max(0, len(text)-mostGiven):]...)
	if len(p.tail) > 2*mostGiven {
		p.tail = append(p.tail[:0], p.tail[len(p.tail)-mostGiven:]...)
	}
	text = text[:min(len(text), mostPacked-p.size)]
	p.size += len(text)
	if _, err := p.g.Write(text); err != nil {
		return err
	}
	_, err := p.z.Write(text)
	return err
}

// last is the end of the text.
func (p *packer) last() []byte { return p.tail[max(0, len(p.tail)-mostGiven):] }

// finish returns the figures of the text alone.
func (p *packer) finish() (Packed, error) {
	if err := p.g.Close(); err != nil {
		return Packed{}, err
	}
	if err := p.z.Close(); err != nil {
		return Packed{}, err
	}
	return Packed{Bytes: int64(p.size), Gzip: bitsPerByte(p.gzip, p.size), Zstd: bitsPerByte(p.zstd, p.size)}, nil
}

func bitsPerByte(packed counter, size int) float64 {
	return 8 * float64(packed) / float64(max(size, 1))
}

// given packs a text behind another.
type given struct {
	size   int
	packed counter
	before counter // what the other took
	z      *zstd.Encoder
}

func newGiven(text []byte) (*given, error) {
	g := &given{}
	var err error
	if g.z, err = newZstd(&g.packed); err != nil {
		return nil, err
	}
	if _, err = g.z.Write(text); err == nil {
		err = g.z.Flush()
	}
	g.before = g.packed
	return g, err
}

func (g *given) add(text []byte) error {
	text = text[:min(len(text), mostPacked-g.size)]
	g.size += len(text)
	_, err := g.z.Write(text)
	return err
}

func (g *given) finish() (float64, error) {
	err := g.z.Close()
	return bitsPerByte(g.packed-g.before, g.size), err
}
