package booking

import (
	"context"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
)

// maxImportedAppointments is the maximum number of appointments in a request.
const maxImportedAppointments = 100

// ImportAppointments implements AppointmentService. It decides on all lines under the locks of their
// staff and rooms, and stores those that it accepts in one commit.
func (s *Server) ImportAppointments(ctx context.Context, req *bookingv1.ImportAppointmentsRequest) (*bookingv1.ImportAppointmentsResponse, error) {
	company, err := s.companies.Of(ctx)
	if err != nil {
		return nil, err
	}
	var faults check.Fields
	if !faults.Count("appointments", len(req.GetAppointments()), 1, maxImportedAppointments) {
		return nil, faults.Err()
	}
	b := newAppointmentBatch(company, req.GetAppointments())
	if err := s.resolveCustomers(ctx, company.ID, model.CustomerNamesIn(b.customerNames()), b.customers); err != nil {
		return nil, err
	}
	select {
	case s.importing <- struct{}{}:
		defer func() { <-s.importing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	resp := &bookingv1.ImportAppointmentsResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) (err error) {
		resp.Results, err = s.storeAppointments(ctx, tx, b)
		return err
	})
}

// appointmentBatch is the lines of a request. A line that is refused has a reason.
type appointmentBatch struct {
	company   tenancy.Company
	lines     []model.ImportedAppointment
	refused   []*model.ImportRefusal
	customers map[string]id.Customer
}

// newAppointmentBatch reads lines and refuses invalid ones.
func newAppointmentBatch(company tenancy.Company, in []*bookingv1.ImportedAppointment) *appointmentBatch {
	b := &appointmentBatch{company: company, customers: map[string]id.Customer{}}
	for _, line := range in {
		a := convert.ImportedAppointment(line, company.Currency)
		b.refused = append(b.refused, a.Check())
		b.lines = append(b.lines, a)
	}
	return b
}

// valid returns the lines that are not refused.
func (b *appointmentBatch) valid() []*model.ImportedAppointment {
	var lines []*model.ImportedAppointment
	for i := range b.lines {
		if b.refused[i] == nil {
			lines = append(lines, &b.lines[i])
		}
	}
	return lines
}

func (b *appointmentBatch) customerNames() []string {
	var names []string
	for _, a := range b.valid() {
		names = append(names, a.Customer)
		if a.BoughtFor != "" {
			names = append(names, a.BoughtFor)
		}
	}
	return names
}

// storeAppointments stores the lines of b that are not refused, and returns the result of every line.
func (s *Server) storeAppointments(ctx context.Context, tx *pg.Tx, b *appointmentBatch) ([]*bookingv1.ImportAppointmentResult, error) {
	l := model.NewAppointmentImport(b.company.ID, b.company.Timezone, pg.Instant(s.clock(b.company)), s.newIDs(b.company))
	for name, c := range b.customers {
		l.Customers[name] = c
	}
	if lines := b.valid(); len(lines) > 0 {
		if err := s.store.OpenAppointmentImport(ctx, tx, l, lines); err != nil {
			return nil, err
		}
	}
	results := make([]*bookingv1.ImportAppointmentResult, len(b.lines))
	for i := range b.lines {
		results[i] = importAppointment(l, &b.lines[i], b.refused[i])
	}
	if err := s.store.CloseAppointmentImport(ctx, tx, l); err != nil {
		return nil, err
	}
	events, err := s.importedAppointments(ctx, tx, l)
	if err != nil {
		return nil, err
	}
	return results, s.append(ctx, tx, b.company, l.Now, events...)
}

// importAppointment plans one line, unless it is refused already, and returns its result.
func importAppointment(l *model.AppointmentImport, a *model.ImportedAppointment, why *model.ImportRefusal) *bookingv1.ImportAppointmentResult {
	if why != nil {
		return convert.RefusedAppointment(a.Reference, why)
	}
	existing, ok := l.Existing[a.Reference]
	switch {
	case ok && existing.IsZero():
		return convert.RefusedAppointment(a.Reference, model.ImportReferenceTaken())
	case ok:
		return convert.ImportAppointmentResult(a.Reference, bookingv1.ImportOutcome_IMPORT_OUTCOME_EXISTED, existing)
	}
	which, why := l.Record(a)
	if why != nil {
		return convert.RefusedAppointment(a.Reference, why)
	}
	return convert.ImportAppointmentResult(a.Reference, bookingv1.ImportOutcome_IMPORT_OUTCOME_CREATED, which)
}
