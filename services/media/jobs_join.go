package media

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/service"
)

const (
	joinLease       = 30 * time.Second
	joinEvery       = 5 * time.Second
	joinsAtOnce     = 4 // of a process
	companyJoins    = 2
	joinReleaseTime = 2 * time.Second
)

// joins joins the parts of uploads in the background. An interrupted join begins again, in this process or
// another one, when its lease ends.
type joins struct {
	s     *Server
	slots *slots[id.Company]
	woken chan struct{}

	claiming sync.Mutex
	mu       sync.Mutex
	watchers map[id.Upload][]chan struct{}
}

func newJoins(s *Server) *joins {
	return &joins{s: s, slots: newSlots[id.Company](companyJoins, joinsAtOnce), woken: make(chan struct{}, 1), watchers: map[id.Upload][]chan struct{}{}}
}

// wake has the joins look for uploads.
func (j *joins) wake() {
	select {
	case j.woken <- struct{}{}:
	default:
	}
}

// watch returns a channel that is closed when a join of the upload ends in this process.
func (j *joins) watch(upload id.Upload) (ended <-chan struct{}, forget func()) {
	c := make(chan struct{})
	j.mu.Lock()
	defer j.mu.Unlock()
	j.watchers[upload] = append(j.watchers[upload], c)
	return c, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		for n, w := range j.watchers[upload] {
			if w == c {
				j.watchers[upload] = append(j.watchers[upload][:n], j.watchers[upload][n+1:]...)
			}
		}
		if len(j.watchers[upload]) == 0 {
			delete(j.watchers, upload)
		}
	}
}

// ended closes the channels of those who wait for an upload.
func (j *joins) ended(upload id.Upload) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range j.watchers[upload] {
		close(c)
	}
	delete(j.watchers, upload)
}

// Run joins the parts of uploads until ctx ends.
func (j *joins) Run(ctx context.Context, jobs *service.Jobs) error {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-j.woken: // the job reports what fails again
				_ = j.claim(ctx, &all)
			}
		}
	})
	return jobs.Every(ctx, "join_uploads", joinEvery, func(ctx context.Context) error { return j.claim(ctx, &all) })
}

// claim starts the joins that are due, as far as there are free slots.
func (j *joins) claim(ctx context.Context, all *sync.WaitGroup) error {
	j.claiming.Lock()
	defer j.claiming.Unlock()
	for j.slots.inUse() < joinsAtOnce && ctx.Err() == nil {
		now := j.s.now()
		c, found, err := j.s.store.claimJoin(ctx, join{lease: j.s.newID(), object: j.s.newID()}, now, now.Add(joinLease), j.slots.busy())
		if err != nil || !found {
			return err
		}
		release := j.slots.take(c.company)
		all.Go(func() {
			j.run(ctx, c)
			release()
			j.ended(c.upload)
			j.wake()
		})
	}
	return nil
}

// run does one join and keeps its lease. If the process ends, the next one can begin at once.
func (j *joins) run(ctx context.Context, c join) {
	leased, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	var renewing sync.WaitGroup
	defer renewing.Wait()
	renewing.Go(func() { j.renew(leased, c, lose) })
	err := j.s.joinParts(leased, c)
	lose(nil)
	if err == nil || errors.Is(err, errLeaseLost) || errors.Is(context.Cause(leased), errLeaseLost) {
		return
	}
	if ctx.Err() != nil {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), joinReleaseTime)
		defer cancel()
		err = errors.Join(err, j.s.store.releaseJoin(last, c, j.s.now()))
	}
	j.s.log.Warn("the parts of an upload could not be joined; another attempt follows",
		"company", c.company.String(), "upload", c.upload.String(), "error", err.Error())
}

// renew keeps the lease of a join until ctx ends. It calls lose if another process has the upload.
func (j *joins) renew(ctx context.Context, c join, lose context.CancelCauseFunc) {
	ticker := time.NewTicker(joinLease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := j.s.store.renewJoin(ctx, c, j.s.now().Add(joinLease)); errors.Is(err, errLeaseLost) {
				lose(errLeaseLost)
			}
		}
	}
}

// joined is what was found out while parts were joined.
type joined struct {
	head    []byte
	damaged []int32
}

// joinParts joins the parts of an upload into one object, checks it, and makes it the file of the item.
func (s *Server) joinParts(ctx context.Context, c join) error {
	u, err := s.store.uploadOf(ctx, c.company, c.upload)
	if err != nil {
		return lost(err)
	}
	parts, err := s.store.parts(ctx, c.company, c.upload)
	if err != nil {
		return err
	}
	o, err := s.bucket.create(ctx, objectKey(c.company, u.Item, c.object), u.Type)
	if err != nil {
		return err
	}
	found, err := s.copyParts(ctx, c.company, u, parts, o)
	if err != nil || len(found.damaged) > 0 {
		o.discard()
		if err == nil {
			err = s.reopen(ctx, c, found.damaged)
		}
		return err
	}
	contentType := detect(found.head)
	refused := checkContent(u, o.digest(), contentType)
	if refused != nil {
		o.discard()
		return s.failJoin(ctx, c, refused)
	}
	if err := o.Close(); err != nil {
		return err
	}
	if isImage(contentType) {
		r := s.bucket.reader(ctx, objectKey(c.company, u.Item, c.object), u.Size)
		defer func() { _ = r.Close() }()
		err := checkDimensions(r)
		if errors.As(err, &refused) {
			return s.failJoin(ctx, c, refused)
		}
		if err != nil {
			return err // another attempt follows
		}
	}
	return s.finishJoin(ctx, c, u, File{ID: c.object, Name: u.FileName, Type: contentType, Size: u.Size, SHA256: o.digest()})
}

// checkContent refuses a file with another checksum or type than declared. // invariant 5
func checkContent(u Upload, digest, contentType string) *fault.Error {
	if u.SHA256 != "" && u.SHA256 != digest {
		return fault.Refuse(ReasonChecksumMismatch, "the file has the SHA-256 "+digest)
	}
	return fault.From(u.requireType(contentType))
}

// copyParts writes parts to o. It reports the parts that are not as they were stored.
func (s *Server) copyParts(ctx context.Context, company id.Company, u Upload, parts []storedPart, o *object) (joined, error) {
	var head bytes.Buffer
	var found joined
	for _, p := range parts {
		ok, err := s.copyPart(ctx, objectKey(company, u.Item, p.Object), p, io.MultiWriter(o, &firstBytes{&head}))
		if err != nil {
			return found, err
		}
		if !ok {
			found.damaged = append(found.damaged, p.Number)
		}
	}
	found.head = head.Bytes()
	return found, nil
}

// copyPart writes one part to w and reports whether it is as it was stored.
func (s *Server) copyPart(ctx context.Context, key string, p storedPart, w io.Writer) (bool, error) {
	r, err := s.bucket.NewReader(ctx, key, nil)
	if isMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("part %d: %w", p.Number, err)
	}
	defer func() { _ = r.Close() }()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, sum), io.LimitReader(r, p.Size+1))
	if err != nil {
		return false, fmt.Errorf("part %d: %w", p.Number, err)
	}
	return n == p.Size && hex.EncodeToString(sum.Sum(nil)) == p.SHA256, nil
}

// firstBytes keeps the bytes that decide the type of a file.
type firstBytes struct{ *bytes.Buffer }

// Write implements io.Writer.
func (f *firstBytes) Write(b []byte) (int, error) {
	if room := sniffed - f.Len(); room > 0 {
		f.Buffer.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

// finishJoin makes a stored object the file or cover of its item. // invariants 2 and 11
func (s *Server) finishJoin(ctx context.Context, c join, u Upload, f File) error {
	err := s.store.Write(ctx, c.company, func(ctx context.Context, tx *pg.Tx) error {
		before, err := s.store.lockItem(ctx, tx, c.company, u.Item)
		if err != nil {
			return lost(err)
		}
		if _, err := s.store.lockJoin(ctx, tx, c); err != nil {
			return err
		}
		company, err := s.companies.ClockedInTx(ctx, tx, c.company)
		if err != nil {
			return err
		}
		now, i, old := s.now(), before, before.FileID
		f.UploadedAt = pg.Instant(company.Now(now))
		if u.Purpose == purposeCover {
			old = before.CoverID
			i.setCover(f)
		} else {
			i.setFile(f)
		}
		i.Version, i.UpdatedAt = before.Version+1, f.UploadedAt
		replaceFile(tx, c.company, i, f, old, now.Add(s.settings.RemovalDelay))
		endJoin(tx, c.company, u, now)
		return s.outbox.Append(ctx, tx, itemUpdated(c.company, i, before))
	})
	if errors.Is(err, errLeaseLost) { // no row names the object of this attempt, and none will
		return errors.Join(err, s.bucket.remove(ctx, objectKey(c.company, u.Item, c.object)))
	}
	return err
}

// failJoin ends an upload whose content is refused.
func (s *Server) failJoin(ctx context.Context, c join, refused *fault.Error) error {
	return s.store.Write(ctx, c.company, func(ctx context.Context, tx *pg.Tx) error {
		u, err := s.store.lockJoin(ctx, tx, c)
		if err != nil {
			return err
		}
		failUpload(tx, c.company, u, refused.Reason, refused.Message, s.now())
		return nil
	})
}

// reopen opens an upload again whose damaged parts must be sent again.
func (s *Server) reopen(ctx context.Context, c join, damaged []int32) error {
	return s.store.Write(ctx, c.company, func(ctx context.Context, tx *pg.Tx) error {
		u, err := s.store.lockJoin(ctx, tx, c)
		if err != nil {
			return err
		}
		u.Status = uploadOpen
		tx.Queue(removeParts(c.company, u.ID, damaged, s.now()))
		setUpload(tx, c.company, u, s.now())
		return nil
	})
}
