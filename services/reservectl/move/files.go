package move

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://
	_ "gocloud.dev/blob/fileblob"  // file://
	_ "gocloud.dev/blob/gcsblob"   // gs://
	_ "gocloud.dev/blob/s3blob"    // s3://

	"reservation.dev/platform/id"
)

// filePrefix returns the start of the names of a company's files, as the media service makes them.
func filePrefix(company id.Company) string { return uuid.UUID(company).String() + "/" }

// openBucket opens the bucket of a cell. The error does not show the URL, which can contain a secret.
func openBucket(ctx context.Context, c *Cell) (*blob.Bucket, error) {
	b, err := blob.OpenBucket(ctx, c.Bucket)
	if err != nil {
		return nil, fmt.Errorf("%s.bucket: the bucket cannot be opened", c.Name)
	}
	return b, nil
}

// copyFiles copies the files that the target does not have. Files do not change, so their names and sizes tell.
// Cells with the same bucket need no copy.
func (m *Mover) copyFiles(ctx context.Context) (err error) {
	if m.From.Bucket == m.To.Bucket {
		return nil
	}
	from, err := openBucket(ctx, m.From)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := openBucket(ctx, m.To)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	copied := 0
	for _, company := range m.companies {
		n, err := copyPrefix(ctx, from, to, filePrefix(company))
		copied += n
		if err != nil {
			return fmt.Errorf("files: %w", err)
		}
	}
	if copied > 0 {
		m.progress("copied %d files", copied)
	}
	return nil
}

func copyPrefix(ctx context.Context, from, to *blob.Bucket, prefix string) (copied int, err error) {
	sizes := map[string]int64{}
	if err := list(ctx, to, prefix, func(o *blob.ListObject) error { sizes[o.Key] = o.Size; return nil }); err != nil {
		return 0, err
	}
	err = list(ctx, from, prefix, func(o *blob.ListObject) error {
		if size, ok := sizes[o.Key]; ok && size == o.Size {
			return nil
		}
		copied++
		return copyFile(ctx, from, to, o.Key)
	})
	return copied, err
}

func list(ctx context.Context, b *blob.Bucket, prefix string, each func(*blob.ListObject) error) error {
	for all := b.List(&blob.ListOptions{Prefix: prefix}); ; {
		o, err := all.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := each(o); err != nil {
			return err
		}
	}
}

func copyFile(ctx context.Context, from, to *blob.Bucket, key string) (err error) {
	r, err := from.NewReader(ctx, key, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	// The writer stores nothing if its context has ended.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := to.NewWriter(ctx, key, &blob.WriterOptions{ContentType: r.ContentType()})
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, r); err != nil {
		cancel()
		_ = w.Close()
		return err
	}
	return w.Close()
}

// removeFiles removes the companies' files from a cell, if the other cell has another bucket.
func (m *Mover) removeFiles(ctx context.Context, c *Cell) (err error) {
	if m.From.Bucket == m.To.Bucket {
		return nil
	}
	b, err := openBucket(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	for _, company := range m.companies {
		var names []string
		err := list(ctx, b, filePrefix(company), func(o *blob.ListObject) error { names = append(names, o.Key); return nil })
		if err != nil {
			return fmt.Errorf("files: %w", err)
		}
		for _, name := range names {
			if err := b.Delete(ctx, name); err != nil {
				return fmt.Errorf("files: %w", err)
			}
		}
	}
	return nil
}
