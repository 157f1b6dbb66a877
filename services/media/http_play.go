package media

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/tenancy"
)

const (
	// maxRanges is the largest number of ranges in a request.
	maxRanges = 16
	// A response is checked again after this many bytes, or this time.
	recheckBytes = 16 << 20
	recheckAfter = 30 * time.Second
	// maxUnchecked is the number of checks in a row that can fail because another service is away.
	maxUnchecked = 3
	// maxPlays is the largest number of requests of a customer that a process sends a file for at the same
	// time. A player has a few.
	maxPlays = 8
)

// player is a customer who plays something.
type player struct {
	company  id.Company
	customer id.Customer
}

// servePlay sends the file of an item to a player.
func (s *Server) servePlay(w http.ResponseWriter, r *http.Request) error {
	link, ok := s.links.readPlay(r.PathValue("token"))
	if !ok {
		return errBadLink()
	}
	release, err := slot(s.playbacks, link.company)
	if err != nil {
		return err
	}
	defer release()
	own, err := slot(s.players, player{link.company, link.customer})
	if err != nil {
		return err
	}
	defer own()
	f, err := s.mayPlay(r.Context(), link)
	if err != nil {
		return err
	}
	return s.send(w, r, link.company, link.item, f, func(ctx context.Context) error {
		_, err := s.mayPlay(ctx, link)
		return err
	})
}

// mayPlay returns the file of a link if the link works now. // invariants 7, 9, 10 and 12
func (s *Server) mayPlay(ctx context.Context, link play) (*File, error) {
	var kept tenancy.Company
	// A test clock is never behind, so no entitlement of today is left out.
	p, err := s.store.playableByLink(ctx, link, dayOf(s.now().AddDate(0, 0, -2), time.UTC), s.companies.Query(link.company, &kept))
	if err != nil {
		return nil, err
	}
	company, err := s.tenantOf(ctx, link.company, kept)
	if err != nil {
		return nil, err
	}
	switch {
	case !s.clock(company).Before(link.expires):
		return nil, errLinkExpired()
	case p.item.requirePlayable() != nil || p.item.FileID != link.file:
		return nil, errBadLink()
	case p.absent:
		return nil, errNotEntitled()
	}
	held, err := s.stillHeld(ctx, company, link)
	if err != nil {
		return nil, err
	}
	r := decide(link.item, p.item.Collections, link.customer, p.rules, held, s.today(company))
	if r == nil || r.Kind != link.reason.Kind {
		return nil, errNotEntitled()
	}
	return p.item.file(), nil
}

// tenantOf returns a company outside of an RPC. kept is its copy.
func (s *Server) tenantOf(ctx context.Context, company id.Company, kept tenancy.Company) (tenant, error) {
	kept.ID = company
	if kept.Timezone == "" {
		var err error
		if kept, err = s.companies.Fetch(ctx, company); err != nil {
			return tenant{}, err
		}
	}
	zone, err := kept.Location()
	return tenant{Company: kept, zone: zone}, err
}

// stillHeld looks up the one thing on which a link relies.
func (s *Server) stillHeld(ctx context.Context, company tenant, link play) ([]holding, error) {
	switch link.reason.Kind {
	case reasonPass:
		return s.clients.heldPass(ctx, link.company, link.customer, link.reason.ID, s.today(company))
	case reasonSubscription:
		return s.clients.heldSubscription(ctx, link.company, link.customer, link.reason.ID, s.moment(company))
	case reasonBooking:
		return s.clients.heldBooking(ctx, link.company, link.customer, link.reason.ID)
	}
	return nil, nil
}

// serveCover sends the cover of an item.
func (s *Server) serveCover(w http.ResponseWriter, r *http.Request) error {
	link, ok := s.links.readCover(r.PathValue("token"))
	if !ok {
		return errBadLink()
	}
	release, err := slot(s.covers, link.company)
	if err != nil {
		return err
	}
	defer release()
	var kept tenancy.Company
	f, err := s.store.cover(r.Context(), link.company, link.item, link.file, s.companies.Query(link.company, &kept))
	if err != nil {
		return err
	}
	company, err := s.tenantOf(r.Context(), link.company, kept)
	if err != nil {
		return err
	}
	if !s.clock(company).Before(link.expires) {
		return errLinkExpired()
	}
	w.Header().Set("Cache-Control", "private, max-age=3600")
	return s.send(w, r, link.company, link.item, &f, func(context.Context) error { return nil })
}

// policyOfPDF is the policy of documents. It has no directive sandbox, with which a browser's viewer may refuse
// to open. It forbids scripts, and nosniff keeps browsers from reading the file as another type.
const policyOfPDF = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'"

// send responds with a file, or with the ranges of it that the request asks for.
func (s *Server) send(w http.ResponseWriter, r *http.Request, company id.Company, item id.MediaItem, f *File, check func(context.Context) error) error {
	if strings.Count(r.Header.Get("Range"), ",") >= maxRanges {
		return failed{http.StatusRequestedRangeNotSatisfiable, fault.InvalidParameter("Range", "max_items", "has too many ranges")}
	}
	in := &checkedReader{
		objectReader: s.bucket.reader(r.Context(), objectKey(company, item, f.ID), f.Size), check: check,
		control: http.NewResponseController(w), stalled: s.settings.Stalled, now: s.now, checked: s.now(),
	}
	defer func() { _ = in.Close() }()
	h := w.Header()
	h.Set("ETag", `"`+f.SHA256+`"`)
	h.Set("Content-Type", f.Type)
	h.Set("Content-Disposition", disposition(f.Name))
	if f.Type == typePDF {
		h.Set("Content-Security-Policy", policyOfPDF)
	}
	begins := &lateHeader{ResponseWriter: w}
	http.ServeContent(begins, r, "", time.Time{}, in)
	if in.failed == nil {
		begins.begin()
		return nil
	}
	if r.Context().Err() != nil {
		return nil
	}
	return s.unreadable(r.Context(), in.objectReader.key, in.failed)
}

// unreadable logs and converts the error of a file that could not be read.
func (s *Server) unreadable(ctx context.Context, key string, err error) error {
	var known *fault.Error
	if errors.As(err, &known) { // of a check
		return err
	}
	s.log.LogAttrs(ctx, slog.LevelError, "a file could not be read", slog.String("object", key), slog.String("error", err.Error()))
	if isMissing(err) {
		return failed{http.StatusNotFound, fault.New(fault.NotFound, fault.ReasonNotFound, "the file is missing").Because(err)}
	}
	return fault.Away(err)
}

// lateHeader sends the status of a response with its first byte. If the bucket fails before, the response
// is an error.
type lateHeader struct {
	http.ResponseWriter
	code  int
	begun bool
}

// WriteHeader implements http.ResponseWriter.
func (l *lateHeader) WriteHeader(code int) {
	if l.code == 0 {
		l.code = code
	}
}

// Write implements http.ResponseWriter.
func (l *lateHeader) Write(b []byte) (int, error) {
	l.begin()
	return l.ResponseWriter.Write(b)
}

// begin sends the status.
func (l *lateHeader) begin() {
	if l.begun {
		return
	}
	l.begun = true
	if l.code != 0 {
		l.ResponseWriter.WriteHeader(l.code)
	}
}

// disposition returns the header that names a file.
func disposition(name string) string {
	if plain := mime.FormatMediaType("inline", map[string]string{"filename": name}); plain != "" {
		return plain
	}
	return "inline; filename*=UTF-8''" + url.PathEscape(name)
}

// checkedReader reads a file for a response. From time to time it checks that the reason of the link still
// holds, and otherwise fails, which ends the response early. // invariant 7
type checkedReader struct {
	*objectReader
	check   func(context.Context) error
	control *http.ResponseController
	stalled time.Duration
	now     func() time.Time

	since     int64 // bytes since the last check
	checked   time.Time
	unchecked int // checks in a row for which another service was away
	failed    error
}

// Read implements io.Reader.
func (c *checkedReader) Read(p []byte) (int, error) {
	if c.since >= recheckBytes || c.now().Sub(c.checked) >= recheckAfter {
		if err := c.recheck(); err != nil {
			c.failed = err
			return 0, err
		}
	}
	// A player that stops reading is cut off, and asks for the rest when it continues.
	if err := c.control.SetWriteDeadline(time.Now().Add(c.stalled)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	n, err := c.objectReader.Read(p)
	c.since += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.failed = err
	}
	return n, err
}

func (c *checkedReader) recheck() error {
	err := c.check(c.ctx)
	if fault.Is(err, fault.Unavailable) && c.unchecked < maxUnchecked-1 {
		c.unchecked++
		err = nil
	} else if err == nil {
		c.unchecked = 0
	}
	c.since, c.checked = 0, c.now()
	return err
}
