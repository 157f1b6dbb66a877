package sampledata

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
)

// Cover returns a PNG of a sun over hills. Each number gives another picture.
func Cover(n int) []byte {
	const width, height = 320, 180
	hues := []color.NRGBA{{231, 111, 81, 255}, {42, 157, 143, 255}, {233, 196, 106, 255}, {38, 70, 83, 255}, {124, 99, 173, 255}}
	sky, hill := hues[n%len(hues)], hues[(n+2)%len(hues)]
	sunX, sunY := 60+(n*83)%200, 60
	picture := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			c := mix(sky, color.NRGBA{255, 255, 255, 255}, y, height)
			if dx, dy := x-sunX, y-sunY; dx*dx+dy*dy < 30*30 {
				c = color.NRGBA{255, 244, 214, 255}
			}
			// The hill is a parabola.
			if dx := x - width/2; y > 110+dx*dx/600 {
				c = hill
			}
			picture.SetNRGBA(x, y, c)
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, picture) // a buffer takes everything
	return b.Bytes()
}

// mix returns the colour that is at part of all between two colours.
func mix(from, to color.NRGBA, part, all int) color.NRGBA {
	between := func(a, b uint8) uint8 { return uint8(int(a) + (int(b)-int(a))*part/all) }
	return color.NRGBA{between(from.R, to.R), between(from.G, to.G), between(from.B, to.B), 255}
}

// Sheet returns a PDF of one page with a title and lines of text, all in ASCII.
func Sheet(title string, lines ...string) []byte {
	quote := strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`)
	var page strings.Builder
	fmt.Fprintf(&page, "BT /F1 24 Tf 72 760 Td (%s) Tj /F1 12 Tf 0 -36 Td 18 TL", quote.Replace(title))
	for _, line := range lines {
		fmt.Fprintf(&page, " (%s) Tj T*", quote.Replace(line))
	}
	page.WriteString(" ET")
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", page.Len(), page.String()),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
	}
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	offsets := make([]int, len(objects))
	for i, object := range objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, table)
	return b.Bytes()
}
