package sampledata

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image/png"
	"net/http"
	"regexp"
	"strconv"
	"testing"
)

// most is the largest size of a file, so that the demonstration stays quick.
const most = 50_000

func TestFilesHaveTheirTypes(t *testing.T) {
	t.Parallel()
	for want, file := range map[string][]byte{
		"video/mp4": Film(4), "audio/wave": Bell(3), "application/pdf": Sheet("Title", "line"), "image/png": Cover(1),
	} {
		if got := http.DetectContentType(file); got != want || len(file) > most {
			t.Errorf("%d bytes of %s, want %s", len(file), got, want)
		}
	}
}

func TestBell(t *testing.T) {
	t.Parallel()
	b := Bell(2)
	if size := binary.LittleEndian.Uint32(b[4:]); int(size) != len(b)-8 {
		t.Errorf("the header has the size %d of %d bytes", size, len(b))
	}
	if size := binary.LittleEndian.Uint32(b[40:]); size != 16000 || len(b) != 44+16000 {
		t.Errorf("%d samples in %d bytes", size, len(b))
	}
	loudest := func(samples []byte) (v int) {
		for _, s := range samples {
			v = max(v, int(s)-128)
		}
		return v
	}
	if first, last := loudest(b[44:1044]), loudest(b[len(b)-1000:]); first < 50 || first > 127 || last > 10 {
		t.Errorf("the bell has the loudness %d at first, and %d at last", first, last)
	}
}

func TestCover(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for n := range 6 {
		b := Cover(n)
		picture, err := png.Decode(bytes.NewReader(b))
		if err != nil || picture.Bounds().Dx() != 320 || picture.Bounds().Dy() != 180 {
			t.Errorf("cover %d: %v", n, err)
		}
		seen[string(b)] = true
	}
	if len(seen) != 6 {
		t.Errorf("%d different covers", len(seen))
	}
}

func TestSheet(t *testing.T) {
	t.Parallel()
	b := Sheet(`A (title) with \`, "one", "two")
	table, err := strconv.Atoi(string(regexp.MustCompile(`startxref\n(\d+)\n%%EOF\n$`).FindSubmatch(b)[1]))
	if err != nil || !bytes.HasPrefix(b[table:], []byte("xref\n0 6\n")) {
		t.Fatalf("the table is not at %d: %v", table, err)
	}
	for i, entry := range regexp.MustCompile(`(?m)^(\d{10}) 00000 n $`).FindAllSubmatch(b[table:], -1) {
		offset, _ := strconv.Atoi(string(entry[1]))
		if !bytes.HasPrefix(b[offset:], fmt.Appendf(nil, "%d 0 obj\n", i+1)) {
			t.Errorf("object %d is not at %d", i+1, offset)
		}
	}
	stream := regexp.MustCompile(`(?s)/Length (\d+) >>\nstream\n(.*?)\nendstream`).FindSubmatch(b)
	if length, _ := strconv.Atoi(string(stream[1])); length != len(stream[2]) || !bytes.Contains(stream[2], []byte(`(A \(title\) with \\) Tj`)) {
		t.Errorf("the page has %d bytes, not %s: %s", len(stream[2]), stream[1], stream[2])
	}
}

// boxes returns the content of the boxes of an MP4 file with a path such as "moov/trak".
func boxes(t *testing.T, b []byte) map[string][]byte {
	t.Helper()
	// The size of what a box has before its own boxes.
	nested := map[string]int{"moov": 0, "trak": 0, "mdia": 0, "minf": 0, "dinf": 0, "stbl": 0, "dref": 8, "stsd": 8, "avc1": 78}
	found := map[string][]byte{}
	var walk func(prefix string, b []byte)
	walk = func(prefix string, b []byte) {
		for len(b) > 0 {
			if len(b) < 8 || int(binary.BigEndian.Uint32(b)) > len(b) || binary.BigEndian.Uint32(b) < 8 {
				t.Fatalf("a broken box in %s", prefix)
			}
			size, kind := binary.BigEndian.Uint32(b), string(b[4:8])
			found[prefix+kind] = b[8:size]
			if skip, ok := nested[kind]; ok {
				walk(prefix+kind+"/", b[8+skip:size])
			}
			b = b[size:]
		}
	}
	walk("", b)
	return found
}

// reader reads the bits of an H.264 unit.
type reader struct {
	t  *testing.T
	b  []byte
	at int
}

func newReader(t *testing.T, unit []byte) *reader {
	t.Helper()
	for _, start := range [][]byte{{0, 0, 0}, {0, 0, 1}, {0, 0, 2}} {
		if bytes.Contains(unit, start) {
			t.Errorf("the unit contains % x", start)
		}
	}
	return &reader{t: t, b: bytes.ReplaceAll(unit[1:], []byte{0, 0, 3}, []byte{0, 0})}
}

func (r *reader) bit() int {
	v := r.b[r.at/8] >> (7 - r.at%8) & 1
	r.at++
	return int(v)
}

func (r *reader) golomb() int {
	width := 0
	for r.bit() == 0 {
		width++
	}
	v := 1
	for range width {
		v = v<<1 | r.bit()
	}
	return v - 1
}

func (r *reader) expect(what string, got, want int) {
	r.t.Helper()
	if got != want {
		r.t.Errorf("%s is %d, want %d", what, got, want)
	}
}

// TestFilm reads a film as a player does. ffmpeg decodes the same film without a warning.
func TestFilm(t *testing.T) {
	t.Parallel()
	b := Film(4)
	found := boxes(t, b)
	const table = "moov/trak/mdia/minf/stbl/"
	place := binary.BigEndian.Uint32(found[table+"stco"][8:])
	if !bytes.HasPrefix(b[place:], found["mdat"]) {
		t.Fatalf("the pictures are not at %d", place)
	}
	sizes := found[table+"stsz"]
	if n := binary.BigEndian.Uint32(sizes[8:]); n != 4 {
		t.Fatalf("%d pictures", n)
	}
	var centres []byte
	for i := range 4 {
		size := binary.BigEndian.Uint32(sizes[12+4*i:])
		unit := b[place+4 : place+size]
		if binary.BigEndian.Uint32(b[place:]) != size-4 || unit[0] != 0x65 {
			t.Fatalf("picture %d has no unit of %d bytes", i, size)
		}
		place += size
		centres = append(centres, readPicture(t, unit, i))
	}
	// The circle reaches the point only when it is large.
	if want := []byte{92, 92, 200, 92}; !bytes.Equal(centres, want) {
		t.Errorf("the brightness is %d, want %d", centres, want)
	}
	if int(place) != len(b) {
		t.Errorf("%d bytes are left", len(b)-int(place))
	}
	checkParameters(t, found[table+"stsd/avc1/avcC"])
}

// readPicture returns the brightness of a point 20 pixels to the right of the centre.
func readPicture(t *testing.T, unit []byte, n int) byte {
	t.Helper()
	r := newReader(t, unit)
	r.expect("the first macroblock", r.golomb(), 0)
	r.expect("the kind of slice", r.golomb(), 7)
	r.expect("the parameters", r.golomb(), 0)
	for range 4 {
		r.expect("the number", r.bit(), 0)
	}
	r.expect("the identifier", r.golomb(), n%2)
	r.bit()
	r.bit()
	r.expect("the quantisation", r.golomb(), 0)
	var point byte
	for block := range filmColumns * filmRows {
		r.expect("the kind of macroblock", r.golomb(), 25)
		r.at = (r.at + 7) / 8 * 8
		samples := r.b[r.at/8:][:384]
		if block == 2*filmColumns+4 { // the block from (64, 32); the centre is (48, 32)
			point = samples[4]
		}
		r.at += 8 * 384
	}
	r.expect("the stop bit", r.bit(), 1)
	r.expect("the length", (r.at+7)/8, len(r.b))
	return point
}

func checkParameters(t *testing.T, config []byte) {
	t.Helper()
	size := int(binary.BigEndian.Uint16(config[6:]))
	r := newReader(t, config[8:8+size])
	if !bytes.Equal(config[1:4], r.b[:3]) || config[5] != 0xe1 {
		t.Errorf("the configuration is % x", config)
	}
	r.at = 24
	for _, want := range []int{0, 0, 2, 1} {
		r.expect("a sequence parameter", r.golomb(), want)
	}
	r.bit()
	r.expect("the width", r.golomb(), filmColumns-1)
	r.expect("the height", r.golomb(), filmRows-1)
}
