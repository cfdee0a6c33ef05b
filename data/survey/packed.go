package survey

import (
	"compress/gzip"
	"errors"
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

// packer packs the beginning of a text, each way in a goroutine of its own. It has to be ended.
type packer struct {
	size       int
	gzip, zstd counter
	ways       []*beside
	tail       []byte // the end of the whole text, up to twice mostGiven bytes
}

func newPacker() (*packer, error) {
	p := &packer{}
	z, err := newZstd(&p.zstd)
	if err != nil {
		return nil, err
	}
	g, err := gzip.NewWriterLevel(&p.gzip, 6)
	if err != nil {
		return nil, err
	}
	p.ways = []*beside{newBeside(g), newBeside(z)}
	return p, nil
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
	for _, way := range p.ways {
		way.add(text)
	}
	return nil
}

// last is the end of the text.
func (p *packer) last() []byte { return p.tail[max(0, len(p.tail)-mostGiven):] }

// end ends the goroutines.
func (p *packer) end() error {
	var errs []error
	for _, way := range p.ways {
		errs = append(errs, way.end())
	}
	p.ways = nil
	return errors.Join(errs...)
}

// finish ends packing and returns the figures of the text alone.
func (p *packer) finish() (Packed, error) {
	err := p.end()
	return Packed{Bytes: int64(p.size), Gzip: bitsPerByte(p.gzip, p.size), Zstd: bitsPerByte(p.zstd, p.size)}, err
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
