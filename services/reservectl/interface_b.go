package reservectl

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"
)

// interfaceB calls Interface B for the demonstration.
type interfaceB struct {
	restClient
	now time.Time
}

// The fields of Interface B's resources that the demonstration reads.
type (
	bCustomer struct {
		ID        string `json:"id"`
		FirstName string `json:"firstName"`
		LastName  string `json:"lastName"`
	}
	bPass struct {
		ID                 string   `json:"id"`
		Title              string   `json:"title"`
		EligibleEventTypes []string `json:"eligibleEventTypes"` // empty: all
	}
	bEvent struct {
		ID    string `json:"id"`
		Title string `json:"title"`
		Dates []struct {
			ID         string    `json:"id"`
			StartsAt   time.Time `json:"startsAt"`
			Capacity   *int      `json:"capacity"`
			SpotsTaken int       `json:"spotsTaken"`
			Status     string    `json:"status"`
		} `json:"dates"`
		PricingOptions []struct {
			ID      string `json:"id"`
			Credits *int   `json:"credits"`
		} `json:"pricingOptions"`

		date, option string // the ones to book
	}
	bCustomerPass struct {
		ID            string `json:"id"`
		RemainingUses int    `json:"remainingUses"`
	}
	bRegistration struct {
		ID        string  `json:"id"`
		EventDate string  `json:"eventDate"`
		TotalPaid float64 `json:"totalPaid"` // as printed; not calculated with
		Currency  string  `json:"currency"`
	}
)

// openInterfaceB returns a client of Interface B that has signed in with an API key.
func openInterfaceB(ctx context.Context, base, key, secret string) (*interfaceB, error) {
	if base == "" || key == "" {
		return nil, errors.New("credentials.json has no interface_b.api_key: run the platform with its demonstration company (DEMO=on)")
	}
	b := &interfaceB{restClient: newRESTClient(base), now: time.Now()}
	granted, err := b.grant(ctx, restInterfaces()["b"], key, secret)
	if err != nil {
		return nil, err
	}
	b.token = granted.token
	return b, nil
}

func (b *interfaceB) customer(ctx context.Context) (bCustomer, error) {
	var page struct {
		Customers []bCustomer `json:"customers"`
	}
	err := b.get(ctx, "/customers", url.Values{"perPage": {"1"}, "archived": {"false"}}, &page)
	if err != nil || len(page.Customers) == 0 {
		return bCustomer{}, orNone(err, "the company has no customers")
	}
	return page.Customers[0], nil
}

func (b *interfaceB) pass(ctx context.Context) (bPass, error) {
	var page struct {
		Passes []bPass `json:"passes"`
	}
	err := b.get(ctx, "/passes", url.Values{"perPage": {"100"}, "status": {"active"}}, &page)
	for _, p := range page.Passes {
		if len(p.EligibleEventTypes) == 0 || slices.Contains(p.EligibleEventTypes, "class") {
			return p, nil
		}
	}
	return bPass{}, orNone(err, "the company has no active pass type for classes")
}

// event finds an event of a type that has a future date with free spots. With credits, the event
// can be paid with a pass. If there is no such event, it creates one, which the next
// demonstration finds.
func (b *interfaceB) event(ctx context.Context, kind string, credits bool) (bEvent, error) {
	var page struct {
		Events []bEvent `json:"events"`
	}
	soon := b.now.Add(time.Hour)
	if err := b.get(ctx, "/events", url.Values{
		"type": {kind}, "status": {"published"}, "startsFrom": {soon.UTC().Format(time.RFC3339)}, "perPage": {"100"},
	}, &page); err != nil {
		return bEvent{}, err
	}
	for _, e := range page.Events {
		if e.choose(soon, credits) {
			return e, nil
		}
	}
	var made bEvent
	err := b.post(ctx, "/events", map[string]any{
		"title": "Demonstration " + kind, "type": kind, "startsAt": b.now.AddDate(0, 0, 14).UTC().Truncate(time.Hour).Format(time.RFC3339),
		"duration": 90, "capacity": 1000, "pricingOptions": []map[string]any{{"name": "Standard", "price": 35, "credits": 1}},
	}, &made)
	if err == nil && !made.choose(soon, credits) {
		err = fmt.Errorf("the created %s cannot be booked", kind)
	}
	return made, err
}

// choose picks the date and the pricing option to book, and reports whether there are both.
func (e *bEvent) choose(from time.Time, credits bool) bool {
	for _, d := range e.Dates {
		if d.Status == "scheduled" && d.StartsAt.After(from) && (d.Capacity == nil || d.SpotsTaken < *d.Capacity) {
			e.date = d.ID
			break
		}
	}
	for _, o := range e.PricingOptions {
		if !credits || o.Credits != nil && *o.Credits > 0 {
			e.option = o.ID
			break
		}
	}
	return e.date != "" && e.option != ""
}

func orNone(err error, none string) error {
	if err != nil {
		return err
	}
	return errors.New(none)
}

func (b *interfaceB) buyPass(ctx context.Context, c bCustomer, p bPass) (bCustomerPass, error) {
	var bought bCustomerPass
	err := b.post(ctx, "/customer-passes", map[string]any{
		"customerId": c.ID, "passId": p.ID, "startDate": b.now.UTC().Format(time.DateOnly), "payment": map[string]any{"method": "CARD"},
	}, &bought)
	return bought, err
}

func (b *interfaceB) book(ctx context.Context, c bCustomer, e bEvent, payment map[string]any) (bRegistration, error) {
	var booked bRegistration
	err := b.post(ctx, "/events/"+e.ID+"/registrations", map[string]any{
		"customerId": c.ID, "eventDateId": e.date, "pricingOptionId": e.option, "payment": payment,
	}, &booked)
	return booked, err
}
