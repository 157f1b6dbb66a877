package pass

import (
	"fmt"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/id"
	"reservation.dev/platform/money"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// maxPeriods is the highest number of a period.
const maxPeriods = 100_000

// newPlanPassType reads and checks the pass type of a plan. member is its name in the request.
func newPlanPassType(f *check.Fields, member string, in *passv1.PlanPassType) (PassType, error) {
	plan, err := check.ID[id.Plan](in.GetPlanId(), "plan")
	if err != nil {
		return PassType{}, err
	}
	at := func(name string) string { return member + "." + name }
	t := PassType{
		ID: id.PassType(plan.UUID()), PlanVersion: &in.Version, Status: typeActive, TotalUses: in.GetCredits(), UnlimitedUses: in.GetUnlimitedUses(),
		ValidityCount: in.GetIntervalCount(), ValidityUnit: enum.Name(in.GetIntervalUnit()), Price: in.GetPrice(), Currency: in.GetCurrency(), Version: 1,
	}
	if in.GetArchived() {
		t.Status = typeArchived
	}
	t.Title = f.Prose(at("title"), in.GetTitle(), 1, maxTitle)
	t.Description = f.Prose(at("description"), in.GetDescription(), 0, maxDescription)
	f.Range(at("version"), in.GetVersion(), 1, math.MaxInt64)
	if t.UnlimitedUses {
		t.TotalUses = unlimitedUses
		f.Range(at("credits"), int64(in.GetCredits()), 0, 0)
	} else {
		f.Range(at("credits"), int64(t.TotalUses), 1, maxUses)
	}
	f.Range(at("interval_count"), int64(t.ValidityCount), 1, maxValidityCount)
	f.OneOf(at("interval_unit"), t.ValidityUnit, validityUnits())
	f.Range(at("price"), t.Price, 0, maxPrice)
	f.OneOf(at("currency"), t.Currency, money.Currencies())
	t.EligibleEventTypes = eventTypesOf(f, at("eligible_event_types"), in.GetEligibleEventTypes())
	return t, nil
}

// newPassSync reads and checks a request.
func newPassSync(req *passv1.SyncSubscriptionPassRequest) (in passSync, err error) {
	subscription, err := check.ID[id.Subscription](req.GetSubscriptionId(), "subscription")
	if err != nil {
		return in, err
	}
	in.pass, in.quiet = id.CustomerPass(subscription.UUID()), req.GetQuiet()
	if in.customer, err = check.ID[id.Customer](req.GetCustomerId(), "customer"); err != nil {
		return in, err
	}
	var f check.Fields
	if req.GetPassType() != nil {
		t, err := newPlanPassType(&f, "pass_type", req.GetPassType())
		if err != nil {
			return in, err
		}
		in.passType = &t
	}
	in.state = subscriptionStateOf(&f, req)
	in.grants = periodGrantsOf(&f, req.GetGrants())
	return in, f.Err()
}

func subscriptionStateOf(f *check.Fields, req *passv1.SyncSubscriptionPassRequest) subscriptionState {
	s := subscriptionState{version: req.GetVersion(), id: req.GetStateId(), status: enum.Name(req.GetStatus()), last: neverDay()}
	f.Range("version", s.version, 1, math.MaxInt64)
	if stored := []string{statusActive, statusPaused, statusCancelled}; !slices.Contains(stored, s.status) {
		f.OneOf("status", "", stored)
	}
	s.start = requiredDay(f, "start_date", req.GetStartDate())
	if req.GetLastDay() != "" {
		s.last = requiredDay(f, "last_day", req.GetLastDay())
		if s.last.Before(s.start) && s.status != statusCancelled {
			f.Add("last_day", "min", "must not be before the start date")
		}
	}
	if req.GetPeriodLastDay() != "" {
		s.periodLast = new(requiredDay(f, "period_last_day", req.GetPeriodLastDay()))
	}
	s.unusable = optionalInstant(f, "unusable_from", req.GetUnusableFrom())
	s.from = optionalInstant(f, "usable_again_from", req.GetUsableAgainFrom())
	return s
}

func periodGrantsOf(f *check.Fields, in []*passv1.PeriodGrant) []periodGrant {
	grants := make([]periodGrant, len(in))
	for n, g := range in {
		at := func(member string) string { return fmt.Sprintf("grants[%d].%s", n, member) }
		grants[n] = periodGrant{
			period: g.GetPeriod(), credits: g.GetCredits(), maxRollover: g.GetMaxRollover(), unlimited: g.GetUnlimitedUses(),
			firstDay: requiredDay(f, at("first_day"), g.GetFirstDay()),
		}
		f.Range(at("period"), int64(g.GetPeriod()), 1, maxPeriods)
		if n > 0 && g.GetPeriod() <= in[n-1].GetPeriod() {
			f.Add(at("period"), "order", "must be above the period before it")
		}
		most := int64(maxUses)
		if g.GetUnlimitedUses() {
			most = 0
		}
		f.Range(at("credits"), int64(g.GetCredits()), 0, most)
		f.Range(at("max_rollover"), int64(g.GetMaxRollover()), 0, math.MaxInt32)
	}
	return grants
}

// requiredDay reads a day.
func requiredDay(f *check.Fields, field, text string) time.Time {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.Year() < 1900 || day.Year() > 9999 {
		f.Add(field, "format", "must be a date such as 2026-03-29, in the years 1900 to 9999")
	}
	return day
}

// optionalInstant reads a time that may be unset.
func optionalInstant(f *check.Fields, field string, t *timestamppb.Timestamp) *time.Time {
	if t == nil {
		return nil
	}
	at := t.AsTime()
	f.Instant(field, at)
	return &at
}

func grantMessage(pass id.CustomerPass, g grant) *passv1.PassGrant {
	return &passv1.PassGrant{
		CustomerPassId: pass.String(), Period: g.Period, Granted: g.Granted, CarriedOver: g.CarriedOver, Expired: g.Expired,
		FirstDay: g.FirstDay.Format(time.DateOnly),
	}
}
