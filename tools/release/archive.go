package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"time"
)

// entry is a file or a directory in an archive.
type entry struct {
	name      string // of a directory: ends in /
	mode      int64
	owner     int // user and group
	time      time.Time
	content   []byte
	directory bool
}

// archiveTar writes an uncompressed tar archive. Equal entries produce equal bytes.
func archiveTar(w io.Writer, entries []entry) error {
	archive := tar.NewWriter(w)
	for _, e := range entries {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Uid: e.owner, Gid: e.owner,
			Size: int64(len(e.content)), ModTime: e.time, Format: tar.FormatUSTAR,
		}
		if e.directory {
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(e.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// archiveTarGz returns a compressed tar archive, whose header has neither a name nor a time.
func archiveTarGz(entries []entry) ([]byte, error) {
	var buf bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := archiveTar(compressed, entries); err != nil {
		return nil, err
	}
	err = compressed.Close()
	return buf.Bytes(), err
}

// archiveZip returns a zip archive.
func archiveZip(entries []entry) ([]byte, error) {
	var buf bytes.Buffer
	archive := zip.NewWriter(&buf)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: e.time}
		header.SetMode(fs.FileMode(e.mode))
		w, err := archive.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return buf.Bytes(), err
}
