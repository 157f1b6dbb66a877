package media

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://
	_ "gocloud.dev/blob/fileblob"  // file://
	_ "gocloud.dev/blob/gcsblob"   // gs://
	_ "gocloud.dev/blob/s3blob"    // s3://
	"gocloud.dev/gcerrors"
)

// bucket is the bucket with the files.
type bucket struct{ *blob.Bucket }

// bucketSchemes returns the kinds of buckets.
func bucketSchemes() []string { return []string{"file", "s3", "gs", "azblob"} }

// checkBucket returns an error if address is not the URL of a bucket.
func checkBucket(address string) error {
	u, err := url.Parse(address)
	if err != nil || !slices.Contains(bucketSchemes(), u.Scheme) {
		return errors.New("MEDIA_BUCKET must be a URL that begins with file://, s3://, gs:// or azblob://")
	}
	return nil
}

// openBucket opens the bucket at a URL. Opening a bucket of a provider makes no request.
func openBucket(ctx context.Context, address string) (*bucket, error) {
	b, err := blob.OpenBucket(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("MEDIA_BUCKET: %w", err)
	}
	return &bucket{Bucket: b}, nil
}

// probeKey is the name of the object with which a process checks that it can write. No company has it.
const probeKey = "probe"

// probe checks that objects can be written and read.
func (b *bucket) probe(ctx context.Context) error {
	if err := b.WriteAll(ctx, probeKey, []byte("ok"), nil); err != nil {
		return fmt.Errorf("the bucket cannot be written: %w", err)
	}
	if _, err := b.ReadAll(ctx, probeKey); err != nil {
		return fmt.Errorf("the bucket cannot be read: %w", err)
	}
	return nil
}

// isMissing reports whether an error means that an object does not exist.
func isMissing(err error) bool { return gcerrors.Code(err) == gcerrors.NotFound }

// remove removes an object, if it exists.
func (b *bucket) remove(ctx context.Context, key string) error {
	if err := b.Delete(ctx, key); err != nil && !isMissing(err) {
		return err
	}
	return nil
}

// object is an object that is being written. It is not visible until Close succeeds.
type object struct {
	w      *blob.Writer
	file   *os.File // in a directory; otherwise nil
	cancel context.CancelFunc
	sum    hash.Hash
	size   int64
}

// create begins to write an object. The writer keeps at most a few megabytes in memory.
func (b *bucket) create(ctx context.Context, key, contentType string) (*object, error) {
	ctx, cancel := context.WithCancel(ctx)
	o := &object{cancel: cancel, sum: sha256.New()}
	w, err := b.NewWriter(ctx, key, &blob.WriterOptions{
		ContentType: contentType, MaxConcurrency: 1, BufferSize: 5 << 20, // the smallest parts of S3
		BeforeWrite: func(as func(any) bool) error { as(&o.file); return nil },
	})
	if err != nil {
		cancel()
		return nil, err
	}
	o.w = w
	return o, nil
}

// Write implements io.Writer.
func (o *object) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	o.sum.Write(b[:n])
	o.size += int64(n)
	return n, err
}

// discard ends the writing without an object.
func (o *object) discard() {
	o.cancel() // the writer stores nothing if its context has ended
	_ = o.w.Close()
}

// Close stores the object. A directory loses nothing when the machine stops.
func (o *object) Close() error {
	defer o.cancel()
	if o.file == nil {
		return o.w.Close()
	}
	folder := filepath.Dir(o.file.Name())
	if err := o.file.Sync(); err != nil {
		o.discard()
		return err
	}
	if err := o.w.Close(); err != nil {
		return err
	}
	company := filepath.Dir(folder)
	return errors.Join(syncFolder(folder), syncFolder(company), syncFolder(filepath.Dir(company))) // each of them can be new
}

func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// digest returns the SHA-256 of what was written, in hexadecimal.
func (o *object) digest() string { return hex.EncodeToString(o.sum.Sum(nil)) }

// objectReader reads an object from any position. It implements io.ReadSeeker: each Seek to another
// position begins a new range, which the first Read opens.
type objectReader struct {
	ctx    context.Context
	bucket *bucket
	key    string
	size   int64

	at   int64
	body io.ReadCloser // of the range that is being read; nil: none
}

func (b *bucket) reader(ctx context.Context, key string, size int64) *objectReader {
	return &objectReader{ctx: ctx, bucket: b, key: key, size: size}
}

// Read implements io.Reader.
func (r *objectReader) Read(p []byte) (int, error) {
	if r.at >= r.size {
		return 0, io.EOF
	}
	if r.body == nil {
		body, err := r.bucket.NewRangeReader(r.ctx, r.key, r.at, -1, nil)
		if err != nil {
			return 0, err
		}
		r.body = body
	}
	n, err := r.body.Read(p)
	r.at += int64(n)
	return n, err
}

// Seek implements io.Seeker.
func (r *objectReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return r.at, errors.New("position before the start")
	}
	if offset != r.at {
		_ = r.Close()
		r.at = offset
	}
	return r.at, nil
}

// Close ends the current range.
func (r *objectReader) Close() error {
	if r.body == nil {
		return nil
	}
	err := r.body.Close()
	r.body = nil
	return err
}

// stored is an object in a list of the bucket.
type stored struct {
	key     string
	size    int64
	written time.Time
}

// list calls each with the objects of the bucket whose names begin with a prefix, in several pages.
func (b *bucket) list(ctx context.Context, prefix string, each func([]stored) error) error {
	token := blob.FirstPageToken
	for {
		found, next, err := b.ListPage(ctx, token, listedAtOnce, &blob.ListOptions{Prefix: prefix})
		if err != nil {
			return err
		}
		page := make([]stored, 0, len(found))
		for _, o := range found {
			page = append(page, stored{key: o.Key, size: o.Size, written: o.ModTime})
		}
		if err := each(page); err != nil || len(next) == 0 {
			return err
		}
		token = next
	}
}

// listedAtOnce is the number of objects in a page of the bucket.
const listedAtOnce = 1000
