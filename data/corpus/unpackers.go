package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// errLarger is the error of a page that unpacks to more than it may.
var errLarger = errors.New("larger than said")

// unpackers unpack the pages of a Parquet file, one after another.
type unpackers struct {
	gzip   *gzip.Reader
	zstd   *zstd.Decoder
	brotli *brotli.Reader
}

// close gives back what unpacking holds.
func (u *unpackers) close() {
	if u.zstd != nil {
		u.zstd.Close()
	}
}

// unpack appends what src unpacks to, which is at most limit bytes and else errLarger. The memory that it takes is bounded by that, and by the
// window of a codec, whatever src says.
func (u *unpackers) unpack(codec format.CompressionCodec, dst, src []byte, limit int) ([]byte, error) {
	if codec == format.Snappy {
		return unsnap(dst, src, limit)
	}
	in, err := u.reader(codec, bytes.NewReader(src))
	if err != nil {
		return nil, err
	}
	most := len(dst) + limit
	for dst = slices.Grow(dst, limit+1); ; {
		n, err := in.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case len(dst) > most:
			return nil, errLarger
		case err == io.EOF:
			return dst, nil
		case err != nil:
			return nil, err
		}
	}
}

// unsnap unpacks snappy, which says its size in front.
func unsnap(dst, src []byte, limit int) ([]byte, error) {
	size, err := snappy.DecodedLen(src)
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, errLarger
	}
	from := len(dst)
	dst = slices.Grow(dst, size)[:from+size]
	_, err = snappy.Decode(dst[from:], src)
	return dst, err
}

// reader unpacks a stream.
func (u *unpackers) reader(codec format.CompressionCodec, src *bytes.Reader) (in io.Reader, err error) {
	switch codec {
	case format.Gzip:
		if u.gzip == nil {
			u.gzip = new(gzip.Reader)
		}
		return u.gzip, u.gzip.Reset(src)
	case format.Zstd:
		if u.zstd == nil {
			if u.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxPage)); err != nil {
				return nil, err
			}
		}
		return u.zstd, u.zstd.Reset(src)
	case format.Brotli:
		if u.brotli == nil {
			u.brotli = brotli.NewReader(src)
		}
		return u.brotli, u.brotli.Reset(src)
	}
	return nil, fmt.Errorf("compression %v is not known", codec)
}
