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
	"gocloud.dev/gcerrors"

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

// withBuckets calls f with the buckets of both cells, unless they are one bucket. Different URLs can name the same
// bucket, so it writes an empty file to the target and looks for it in the source.
func (m *Mover) withBuckets(ctx context.Context, f func(from, to *blob.Bucket) error) (err error) {
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
	probe := "company-move-" + uuid.NewString()
	if err := to.WriteAll(ctx, probe, nil, nil); err != nil {
		return fmt.Errorf("files: cell %s: %w", m.To.Name, err)
	}
	same, err := from.Exists(ctx, probe)
	if err := errors.Join(err, to.Delete(context.WithoutCancel(ctx), probe)); err != nil {
		return fmt.Errorf("files: %w", err)
	}
	if same {
		return nil
	}
	return f(from, to)
}

// copyFiles makes the target's files of the companies those of the source. Files do not change, so their names and
// sizes tell. Cells with the same bucket need no copy.
func (m *Mover) copyFiles(ctx context.Context) error {
	return m.withBuckets(ctx, func(from, to *blob.Bucket) error { return m.copyBetween(ctx, from, to) })
}

func (m *Mover) copyBetween(ctx context.Context, from, to *blob.Bucket) error {
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

// copyPrefix copies the files that are missing in to, and removes those that from no longer has.
func copyPrefix(ctx context.Context, from, to *blob.Bucket, prefix string) (copied int, err error) {
	sizes := map[string]int64{}
	if err := list(ctx, to, prefix, func(o *blob.ListObject) error { sizes[o.Key] = o.Size; return nil }); err != nil {
		return 0, err
	}
	err = list(ctx, from, prefix, func(o *blob.ListObject) error {
		size, found := sizes[o.Key]
		delete(sizes, o.Key)
		if found && size == o.Size {
			return nil
		}
		copied++
		return copyFile(ctx, from, to, o.Key)
	})
	if err != nil {
		return copied, err
	}
	for name := range sizes {
		if err := to.Delete(ctx, name); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
			return copied, err
		}
	}
	return copied, nil
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
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil // it was deleted a moment ago; the next copy removes it at the target
	}
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
func (m *Mover) removeFiles(ctx context.Context, c *Cell) error {
	return m.withBuckets(ctx, func(from, to *blob.Bucket) error {
		if c == m.From {
			return m.removeFrom(ctx, from)
		}
		return m.removeFrom(ctx, to)
	})
}

func (m *Mover) removeFrom(ctx context.Context, b *blob.Bucket) error {
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
