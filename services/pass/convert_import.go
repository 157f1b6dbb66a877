package pass

import (
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// importedPassOf reads and checks one pass of an import.
func importedPassOf(m *passv1.ImportedCustomerPass, now time.Time) importedPass {
	var f check.Fields
	in := importedPass{
		reference: f.Line("reference", m.GetReference(), 1, maxReference), title: f.Line("title", m.GetTitle(), 0, maxTitle),
		total: m.TotalUses, remaining: m.RemainingUses, unlimited: m.GetUnlimitedUses(),
	}
	var err error
	if in.customer, err = id.Parse[id.Customer](m.GetCustomerId()); err != nil {
		f.Add("customer_id", "exists", "does not exist")
	}
	if in.passType, err = id.Parse[id.PassType](m.GetPassTypeId()); err != nil && in.title == "" {
		f.Add("pass_type_id", "exists", "does not exist")
	}
	in.start = importedDay(&f, "start_date", m.GetStartDate(), 8000)
	if m.GetExpiryDate() != "" {
		expiry := importedDay(&f, "expiry_date", m.GetExpiryDate(), 9999)
		if in.expiry = &expiry; f.Len() == 0 && expiry.Before(in.start) {
			f.Add("expiry_date", "min", "must not be before the start date")
		}
	}
	if in.status = enum.Name(m.GetStatus()); in.status == "" || isDerived(in.status) {
		in.status = statusActive
	}
	if m.GetCreatedAt() != nil {
		in.createdAt = m.GetCreatedAt().AsTime().Truncate(time.Microsecond)
		if m.GetCreatedAt().CheckValid() != nil || in.createdAt.After(now) || in.createdAt.Year() < 1900 {
			f.Add("created_at", "range", "must be in the past, and not before 1900")
		}
	}
	if p := m.GetPurchase(); p != nil {
		in.paid = &importedPayment{gross: p.GetGross(), currency: p.GetCurrency(), method: p.GetMethod(), reference: p.GetReference()}
	}
	in.failed = f.Err()
	return in
}

// importedDay reads a day up to the end of a year.
func importedDay(f *check.Fields, field, text string, lastYear int) time.Time {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.Year() < 1900 || day.Year() > lastYear {
		f.Add(field, "format", "must be a date such as 2026-03-29")
	}
	return day
}

// message returns the payment as a request has it.
func (p *importedPayment) message() *passv1.PassPurchase {
	return &passv1.PassPurchase{Gross: &p.gross, Method: p.method, Reference: p.reference}
}

// importResult returns the result of a pass that was created or existed. A pass that was only checked has no identifier.
func importResult(reference string, outcome passv1.ImportOutcome, pass id.CustomerPass) *passv1.ImportCustomerPassResult {
	r := &passv1.ImportCustomerPassResult{Reference: reference, Outcome: outcome}
	if !pass.IsZero() {
		r.Id = pass.String()
	}
	return r
}

// refusedImport returns the result of a refused pass.
func refusedImport(reference string, err error) *passv1.ImportCustomerPassResult {
	r := &passv1.ImportCustomerPassResult{Reference: reference, Outcome: passv1.ImportOutcome_IMPORT_OUTCOME_REFUSED}
	if f := fault.From(err); len(f.Fields) > 0 {
		r.Field, r.Rule, r.Message = f.Fields[0].Field, f.Fields[0].Rule, f.Fields[0].Message
	}
	return r
}
