package sampledata

import (
	"bytes"
	"encoding/binary"
	"math"
)

// Bell returns a WAV file of a bell: 8-bit mono sound of 8 kHz that fades out over the given seconds.
func Bell(seconds int) []byte {
	const rate = 8000
	samples := make([]byte, rate*seconds)
	for i := range samples {
		t := float64(i) / rate
		tone := 0.0
		for partial, loudness := range []float64{0.6, 0.25, 0.15} {
			tone += loudness * math.Sin(2*math.Pi*220*float64(partial*2+1)*t)
		}
		samples[i] = byte(128 + 100*tone*math.Exp(-2*t))
	}
	var b bytes.Buffer
	b.WriteString("RIFF")
	little(&b, uint32(36+len(samples)))
	b.WriteString("WAVEfmt ")
	little(&b, uint32(16))   // size of the format
	little(&b, uint16(1))    // PCM
	little(&b, uint16(1))    // channels
	little(&b, uint32(rate)) // samples a second
	little(&b, uint32(rate)) // bytes a second
	little(&b, uint16(1))    // bytes a sample
	little(&b, uint16(8))    // bits a sample
	b.WriteString("data")
	little(&b, uint32(len(samples)))
	b.Write(samples)
	return b.Bytes()
}

func little[T uint16 | uint32](b *bytes.Buffer, v T) {
	_ = binary.Write(b, binary.LittleEndian, v) // a buffer takes everything
}
