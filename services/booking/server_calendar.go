package booking

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// secretStart is how many characters of a calendar's secret are stored in clear.
const secretStart = 8

// newCalendarSecret returns a new secret.
func newCalendarSecret() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	return base64.RawURLEncoding.EncodeToString(raw)
}

// hashCalendarSecret returns what is stored of a secret.
func hashCalendarSecret(secret string) []byte {
	hash := sha256.Sum256([]byte(secret))
	return hash[:]
}

// CreateCalendar implements CalendarService.
func (s *Server) CreateCalendar(ctx context.Context, req *bookingv1.CreateCalendarRequest) (*bookingv1.CreateCalendarResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	c, err := convert.NewCalendar(req)
	if err != nil {
		return nil, err
	}
	secret := newCalendarSecret()
	c.ID, c.CreatedAt, c.SecretStart = id.Calendar(s.newIDs(company)()), pg.Instant(s.clock(company)), secret[:secretStart]
	resp := &bookingv1.CreateCalendarResponse{}
	err = s.fetchMissingCustomers(ctx, company.ID, func() error {
		_, err := idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
			if err := s.checkCalendarSubject(ctx, tx, company.ID, c); err != nil {
				return err
			}
			tx.AfterCommit(func() { resp.Secret = secret }) // not in the stored response
			resp.Calendar = convert.Calendar(c)
			if err := s.store.InsertCalendar(ctx, tx, company.ID, c, hashCalendarSecret(secret)); err != nil {
				return err
			}
			return s.outbox.AppendChange(ctx, tx, company.ID, c.ID)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// checkCalendarSubject returns fault.NotFound if the subject of a new calendar does not exist.
func (s *Server) checkCalendarSubject(ctx context.Context, tx *pg.Tx, company id.Company, c *model.Calendar) error {
	switch c.Kind {
	case model.StaffCalendar:
		return s.store.CheckStaffExists(ctx, tx, company, id.StaffMember(c.Subject))
	case model.CustomerCalendar:
		return s.store.LockCustomer(ctx, tx, company, id.Customer(c.Subject))
	case model.CompanyCalendar:
	}
	return nil
}

// ListCalendars implements CalendarService.
func (s *Server) ListCalendars(ctx context.Context, req *bookingv1.ListCalendarsRequest) (*bookingv1.ListCalendarsResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	q := &store.CalendarListQuery{}
	if q.Subject, err = convert.CalendarSubject(req.GetSubjectId()); err != nil {
		return nil, err
	}
	if q.Page, err = page.Read(page.Of(req), store.CalendarsByCreation(), pageSizes()); err != nil {
		return nil, err
	}
	calendars, total, err := s.store.Calendars(ctx, company.ID, q)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListCalendarsResponse{Total: total}
	calendars, resp.NextPageToken = page.Cut(q.Page, calendars, q.Next)
	for i := range calendars {
		resp.Calendars = append(resp.Calendars, convert.Calendar(&calendars[i]))
	}
	return resp, nil
}

// GetCalendar implements CalendarService.
func (s *Server) GetCalendar(ctx context.Context, req *bookingv1.GetCalendarRequest) (*bookingv1.GetCalendarResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.Calendar](req.GetId(), "calendar")
	if err != nil {
		return nil, err
	}
	c, err := s.store.CalendarByID(ctx, company.ID, which)
	if err != nil {
		return nil, err
	}
	return &bookingv1.GetCalendarResponse{Calendar: convert.Calendar(c)}, nil
}

// RevokeCalendar implements CalendarService.
func (s *Server) RevokeCalendar(ctx context.Context, req *bookingv1.RevokeCalendarRequest) (*bookingv1.RevokeCalendarResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.Calendar](req.GetId(), "calendar")
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.store, company.ID, req, &bookingv1.RevokeCalendarResponse{}, func(ctx context.Context, tx *pg.Tx) error {
		if err := s.store.DeleteCalendar(ctx, tx, company.ID, which); err != nil {
			return err
		}
		return s.outbox.AppendChange(ctx, tx, company.ID, which)
	})
}

// ReadCalendar implements CalendarService.
func (s *Server) ReadCalendar(ctx context.Context, req *bookingv1.ReadCalendarRequest) (*bookingv1.ReadCalendarResponse, error) {
	// The hash is compared, so the time of the comparison reveals nothing about a stored secret.
	owner, c, err := s.store.CalendarBySecret(ctx, hashCalendarSecret(req.GetSecret()))
	if err != nil {
		return nil, err
	}
	company, err := s.companies.Kept(ctx, owner)
	if err != nil {
		return nil, err
	}
	now := pg.Instant(s.clock(company))
	content, err := s.store.CalendarContent(ctx, owner, c, model.CalendarWindowAt(now))
	if err != nil {
		return nil, err
	}
	if c.Kind == model.CompanyCalendar {
		if content.Name, err = s.companyName(ctx, company); err != nil {
			return nil, err
		}
	}
	resp := &bookingv1.ReadCalendarResponse{Name: content.Name, Timezone: company.Timezone}
	for _, e := range content.Entries {
		resp.Entries = append(resp.Entries, convert.CalendarEntry(e))
	}
	if c.NeedsReadTime(now) {
		_ = s.store.SaveCalendarRead(ctx, owner, c.ID, now) // the next read stores it
	}
	return resp, nil
}

// companyName returns the name of a company. It fetches the name if the copy is of a release that did not have it.
func (s *Server) companyName(ctx context.Context, company tenancy.Company) (string, error) {
	if company.Name != "" {
		return company.Name, nil
	}
	fetched, err := s.companies.Fetch(ctx, company.ID)
	return fetched.Name, err
}
