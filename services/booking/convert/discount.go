package convert

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// NewDiscountCode reads and checks a new code. currency is the default for an amount.
func NewDiscountCode(req *bookingv1.CreateDiscountCodeRequest, currency string) (*model.DiscountCode, error) {
	c := &model.DiscountCode{
		Code: strings.TrimSpace(req.GetCode()), MaxUses: req.MaxUses, Version: 1,
		ValidFrom: optionalInstant(req.GetValidFrom()), ValidUntil: optionalInstant(req.GetValidUntil()),
	}
	switch r := req.GetReduction().(type) {
	case *bookingv1.CreateDiscountCodeRequest_BasisPoints:
		c.BasisPoints = &r.BasisPoints
	case *bookingv1.CreateDiscountCodeRequest_Amount:
		c.Amount = &r.Amount
		if c.Currency = req.GetCurrency(); c.Currency == "" {
			c.Currency = currency
		}
	}
	var faults check.Fields
	c.Events = eventIDsOf(&faults, "event_ids", req.GetEventIds())
	c.Check(&faults)
	return c, faults.Err()
}

// ChangeDiscountCode applies the changes of a request to a code.
func ChangeDiscountCode(c *model.DiscountCode, req *bookingv1.UpdateDiscountCodeRequest) error {
	if req.GetValidFrom() != nil {
		c.ValidFrom = optionalInstant(req.GetValidFrom())
	}
	if req.GetValidUntil() != nil {
		c.ValidUntil = optionalInstant(req.GetValidUntil())
	}
	if req.GetNoValidFrom() {
		c.ValidFrom = nil
	}
	if req.GetNoValidUntil() {
		c.ValidUntil = nil
	}
	if req.MaxUses != nil {
		if c.MaxUses = req.MaxUses; *req.MaxUses == 0 {
			c.MaxUses = nil
		}
	}
	if req.Disabled != nil {
		c.Disabled = *req.Disabled
	}
	var faults check.Fields
	if req.GetEventIds() != nil {
		c.Events = eventIDsOf(&faults, "event_ids", req.GetEventIds().GetIds())
	}
	c.CheckUse(&faults)
	return faults.Err()
}

// eventIDsOf reads a list of event identifiers.
func eventIDsOf(f *check.Fields, field string, list []string) []id.Event {
	out := make([]id.Event, len(list))
	seen := make(map[id.Event]bool, len(list))
	for i, text := range list {
		event, err := id.Parse[id.Event](text)
		switch {
		case err != nil:
			f.Add(fmt.Sprintf("%s[%d]", field, i), "exists", "does not exist")
		case seen[event]:
			f.Add(fmt.Sprintf("%s[%d]", field, i), "unique", "is in the list twice")
		}
		out[i], seen[event] = event, true
	}
	return out
}

// optionalInstant reads an instant that can be unset.
func optionalInstant(t *timestamppb.Timestamp) *time.Time {
	if t == nil {
		return nil
	}
	at := Instant(t)
	return &at
}

// DiscountCode converts a discount code.
func DiscountCode(c *model.DiscountCode) *bookingv1.DiscountCode {
	out := &bookingv1.DiscountCode{
		Id: c.ID.String(), Code: c.Code, Currency: c.Currency, MaxUses: c.MaxUses, Uses: c.Uses, Disabled: c.Disabled, Version: c.Version,
		CreatedAt: timestamppb.New(c.CreatedAt), UpdatedAt: timestamppb.New(c.UpdatedAt),
	}
	if c.BasisPoints != nil {
		out.Reduction = &bookingv1.DiscountCode_BasisPoints{BasisPoints: *c.BasisPoints}
	} else if c.Amount != nil {
		out.Reduction = &bookingv1.DiscountCode_Amount{Amount: *c.Amount}
	}
	if c.ValidFrom != nil {
		out.ValidFrom = timestamppb.New(*c.ValidFrom)
	}
	if c.ValidUntil != nil {
		out.ValidUntil = timestamppb.New(*c.ValidUntil)
	}
	for _, event := range c.Events {
		out.EventIds = append(out.EventIds, event.String())
	}
	return out
}
