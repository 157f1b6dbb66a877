package edge

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	codingGzip = "gzip"
	codingZstd = "zstd"
)

// codings returns the content codings that the edge offers, the preferred one first.
func codings() []string { return []string{codingZstd, codingGzip} }

// zstdWindow limits the memory of a zstd encoder and of the client's decoder, in bytes.
const zstdWindow = 128 << 10

// compressor compresses bodies. Creating one allocates about half a megabyte, so they are reused.
type compressor struct {
	encoder
	pool *sync.Pool
}

type encoder interface {
	io.WriteCloser
	Flush() error
	Reset(w io.Writer)
}

var gzips = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	return w
}}

var zstds = sync.Pool{New: func() any {
	w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), // the options are valid
		zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	return w
}}

// compressorOf returns a compressor of one of codings that writes to w.
func compressorOf(coding string, w io.Writer) *compressor {
	pool := &gzips
	if coding == codingZstd {
		pool = &zstds
	}
	c := &compressor{encoder: pool.Get().(encoder), pool: pool}
	c.Reset(w)
	return c
}

// recycle makes the compressor's memory reusable. It drops data that is not written yet.
func (c *compressor) recycle() {
	c.Reset(nil)
	c.pool.Put(c.encoder)
}

// compress returns body in a coding. It uses the memory of scratch.
func compress(scratch *[]byte, coding string, body []byte) []byte {
	out := bytes.NewBuffer((*scratch)[:0])
	c := compressorOf(coding, out)
	_, _ = c.Write(body) // writing to a buffer cannot fail
	_ = c.Close()
	c.recycle()
	*scratch = out.Bytes()
	return *scratch
}
