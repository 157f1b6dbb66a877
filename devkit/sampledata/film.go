package sampledata

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// The pictures of a film, in macroblocks of 16 by 16 pixels.
const (
	filmColumns = 6
	filmRows    = 4
)

// Film returns an MP4 file without sound: a light that grows and shrinks like a breath, with one picture
// a second. Its pictures are H.264 in the baseline profile. They are not compressed, so that no encoder
// is needed.
func Film(seconds int) []byte {
	pictures := make([][]byte, seconds)
	for i := range pictures {
		pictures[i] = picture(i)
	}
	header := fileType()
	moov := movie(pictures, 0)
	// The place of the pictures depends on the size of the boxes before them, which does not change.
	moov = movie(pictures, uint32(len(header)+len(moov)+8))
	return slices.Concat(header, moov, box("mdat", slices.Concat(pictures...)))
}

// bits writes the bits of an H.264 unit.
type bits struct {
	out  []byte
	used int // bits of the last byte
}

func (b *bits) bit(v uint32) {
	if b.used%8 == 0 {
		b.out, b.used = append(b.out, 0), 0
	}
	b.out[len(b.out)-1] |= byte(v&1) << (7 - b.used)
	b.used++
}

func (b *bits) fixed(width int, v uint32) {
	for i := width - 1; i >= 0; i-- {
		b.bit(v >> i)
	}
}

// golomb writes an unsigned Exp-Golomb code.
func (b *bits) golomb(v uint32) {
	width := 0
	for (v+1)>>(width+1) > 0 {
		width++
	}
	b.fixed(width, 0)
	b.fixed(width+1, v+1)
}

// align fills the last byte with zeros.
func (b *bits) align() { b.used = 0 }

// end writes the stop bit of a unit, and returns the unit with its header. It inserts a byte wherever the
// content would look like the start of a unit.
func (b *bits) end(header byte) []byte {
	b.bit(1)
	unit, zeros := []byte{header}, 0
	for _, v := range b.out {
		if zeros == 2 && v <= 3 {
			unit, zeros = append(unit, 3), 0
		}
		if unit = append(unit, v); v == 0 {
			zeros++
		} else {
			zeros = 0
		}
	}
	return unit
}

// The profile, its constraints and its level.
const (
	filmProfile     = 66
	filmConstraints = 0xc0
	filmLevel       = 20
)

func sequenceParameters() []byte {
	var b bits
	b.fixed(8, filmProfile)
	b.fixed(8, filmConstraints)
	b.fixed(8, filmLevel)
	b.golomb(0) // identifier
	b.golomb(0) // numbers of pictures have 4 bits
	b.golomb(2) // pictures are shown in the order of the file
	b.golomb(1) // reference pictures
	b.bit(0)    // no gaps in the numbers of pictures
	b.golomb(filmColumns - 1)
	b.golomb(filmRows - 1)
	b.bit(1) // pictures are not interlaced
	b.bit(1) // direct inference
	b.bit(0) // no cropping
	b.bit(0) // no further parameters
	return b.end(0x67)
}

func pictureParameters() []byte {
	var b bits
	b.golomb(0) // identifier
	b.golomb(0) // identifier of the sequence parameters
	b.bit(0)    // CAVLC
	b.bit(0)    // no order of fields
	b.golomb(0) // one slice group
	b.golomb(0) // reference indexes
	b.golomb(0)
	b.bit(0) // no weighted prediction
	b.fixed(2, 0)
	b.golomb(0) // quantisation
	b.golomb(0)
	b.golomb(0)
	b.bit(0) // no control of deblocking
	b.bit(0) // no constraint on prediction
	b.bit(0) // no redundant pictures
	return b.end(0x68)
}

// picture returns the n-th picture, with its length before it.
func picture(n int) []byte {
	var b bits
	b.golomb(0)             // first macroblock
	b.golomb(7)             // all macroblocks are intra-coded
	b.golomb(0)             // picture parameters
	b.fixed(4, 0)           // number of the picture
	b.golomb(uint32(n % 2)) // differs from the picture before
	b.bit(0)                // show the pictures before
	b.bit(0)                // no long-term reference
	b.golomb(0)             // quantisation
	for row := range filmRows {
		for column := range filmColumns {
			b.golomb(25) // a macroblock of plain samples
			b.align()
			b.out = append(b.out, macroblock(column, row, n)...)
		}
	}
	unit := b.end(0x65)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(unit))), unit...)
}

// macroblock returns the samples of a macroblock: its brightness, then its two colours in half the
// resolution.
func macroblock(column, row, n int) []byte {
	radius := []int{12, 18, 24, 18}[n%4]
	samples := make([]byte, 0, 384)
	for y := range 16 {
		for x := range 16 {
			dx, dy := column*16+x-filmColumns*8, row*16+y-filmRows*8
			v := 60 + (row*16 + y) // a dark wall that is lighter below
			if dx*dx+dy*dy < radius*radius {
				v = 200
			}
			samples = append(samples, byte(v))
		}
	}
	return append(append(samples, slices.Repeat([]byte{110}, 64)...), slices.Repeat([]byte{150}, 64)...)
}

// box returns a box of an MP4 file.
func box(kind string, parts ...[]byte) []byte {
	content := slices.Concat(parts...)
	b := binary.BigEndian.AppendUint32(nil, uint32(8+len(content)))
	return append(append(b, kind...), content...)
}

// words returns numbers of 32 bits.
func words(numbers ...uint32) []byte {
	var b []byte
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return b
}

// halves returns numbers of 16 bits.
func halves(numbers ...uint16) []byte {
	var b []byte
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint16(b, n)
	}
	return b
}

func fileType() []byte {
	return box("ftyp", []byte("isom"), words(512), []byte("isomiso2avc1mp41"))
}

// movie returns the description of the pictures, of which the first one is at the given place of the file.
func movie(pictures [][]byte, place uint32) []byte {
	const perSecond = 1000
	length, width, height := uint32(len(pictures)*perSecond), uint32(filmColumns*16), uint32(filmRows*16)
	matrix := words(1<<16, 0, 0, 0, 1<<16, 0, 0, 0, 1<<30)
	sizes := words(0, 0, uint32(len(pictures)))
	for _, p := range pictures {
		sizes = append(sizes, words(uint32(len(p)))...)
	}
	samples := box("stbl",
		box("stsd", words(0, 1), box("avc1", words(0), halves(0, 1), make([]byte, 16), halves(uint16(width), uint16(height)),
			words(72<<16, 72<<16, 0), halves(1), make([]byte, 32), halves(24, 0xffff), decoder())),
		box("stts", words(0, 1, uint32(len(pictures)), perSecond)),
		box("stsc", words(0, 1, 1, uint32(len(pictures)), 1)),
		box("stsz", sizes),
		box("stco", words(0, 1, place)),
	)
	return box("moov",
		box("mvhd", words(0, 0, 0, perSecond, length, 1<<16), halves(0x100, 0), words(0, 0), matrix, make([]byte, 24), words(2)),
		box("trak",
			box("tkhd", words(3, 0, 0, 1, 0, length, 0, 0), halves(0, 0, 0, 0), matrix, words(width<<16, height<<16)),
			box("mdia",
				box("mdhd", words(0, 0, 0, perSecond, length), halves(0x55c4, 0)), // no language
				box("hdlr", words(0, 0), []byte("vide"), words(0, 0, 0), []byte("video\x00")),
				box("minf", box("vmhd", words(1, 0, 0)), box("dinf", box("dref", words(0, 1), box("url ", words(1)))), samples),
			),
		),
	)
}

// decoder returns the parameters of the decoder.
func decoder() []byte {
	sequence, parameters := sequenceParameters(), pictureParameters()
	return box("avcC", bytes.Join([][]byte{
		{1, filmProfile, filmConstraints, filmLevel, 0xff, 0xe1}, halves(uint16(len(sequence))), sequence,
		{1}, halves(uint16(len(parameters))), parameters,
	}, nil))
}
