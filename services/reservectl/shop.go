package reservectl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// shop is what the demonstration does at Interface B.
type shop struct {
	base, token string
	client      *http.Client
	now         time.Time
}

// What is read of Interface B's resources.
type (
	shopCustomer struct {
		ID        string `json:"id"`
		FirstName string `json:"firstName"`
		LastName  string `json:"lastName"`
	}
	shopPass struct {
		ID                 string   `json:"id"`
		Title              string   `json:"title"`
		EligibleEventTypes []string `json:"eligibleEventTypes"` // empty: all
	}
	shopEvent struct {
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
	shopCustomerPass struct {
		ID            string `json:"id"`
		RemainingUses int    `json:"remainingUses"`
	}
	shopRegistration struct {
		ID        string  `json:"id"`
		EventDate string  `json:"eventDate"`
		TotalPaid float64 `json:"totalPaid"` // as printed; not calculated with
		Currency  string  `json:"currency"`
	}
)

// openShop gets a token of Interface B.
func openShop(ctx context.Context, base, key, secret string) (*shop, error) {
	if base == "" || key == "" {
		return nil, errors.New("the credentials.json has no interface_b.api_key: the demonstration needs the demonstration company (DEMO=on)")
	}
	s := &shop{base: base, client: &http.Client{Timeout: 15 * time.Second}, now: time.Now()}
	var token struct {
		Token string `json:"token"`
	}
	if err := s.post(ctx, "/auth/token", map[string]any{"apiKey": key, "apiSecret": secret}, &token); err != nil {
		return nil, err
	}
	s.token = token.Token
	return s, nil
}

func (s *shop) get(ctx context.Context, path string, query url.Values, answer any) error {
	return s.do(ctx, http.MethodGet, path+"?"+query.Encode(), nil, answer)
}

func (s *shop) post(ctx context.Context, path string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	return s.do(ctx, http.MethodPost, path, body, answer)
}

func (s *shop) do(ctx context.Context, method, path string, body []byte, answer any) error {
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err != nil {
		return err
	}
	if res.StatusCode/100 != 2 {
		var refused struct {
			Error struct{ Code, Message string } `json:"error"`
		}
		_ = json.Unmarshal(text, &refused) // without it the status says what there is to say
		return fmt.Errorf("%s %s: %s: %s %s", method, path, res.Status, refused.Error.Code, refused.Error.Message)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

func (s *shop) customer(ctx context.Context) (shopCustomer, error) {
	var page struct {
		Customers []shopCustomer `json:"customers"`
	}
	err := s.get(ctx, "/customers", url.Values{"perPage": {"1"}, "archived": {"false"}}, &page)
	if err != nil || len(page.Customers) == 0 {
		return shopCustomer{}, orNone(err, "there is no customer")
	}
	return page.Customers[0], nil
}

func (s *shop) pass(ctx context.Context) (shopPass, error) {
	var page struct {
		Passes []shopPass `json:"passes"`
	}
	err := s.get(ctx, "/passes", url.Values{"perPage": {"100"}, "status": {"active"}}, &page)
	for _, p := range page.Passes {
		if len(p.EligibleEventTypes) == 0 || slices.Contains(p.EligibleEventTypes, "class") {
			return p, nil
		}
	}
	return shopPass{}, orNone(err, "there is no pass for classes to buy")
}

// event finds an event of a type with a date to come that has room; with credits:
// one that can be paid with a pass. Where there is none it makes one, which the
// next demonstration finds.
func (s *shop) event(ctx context.Context, kind string, credits bool) (shopEvent, error) {
	var page struct {
		Events []shopEvent `json:"events"`
	}
	soon := s.now.Add(time.Hour)
	if err := s.get(ctx, "/events", url.Values{
		"type": {kind}, "status": {"published"}, "startsFrom": {soon.UTC().Format(time.RFC3339)}, "perPage": {"100"},
	}, &page); err != nil {
		return shopEvent{}, err
	}
	for _, e := range page.Events {
		if e.choose(soon, credits) {
			return e, nil
		}
	}
	var made shopEvent
	err := s.post(ctx, "/events", map[string]any{
		"title": "Demonstration " + kind, "type": kind, "startsAt": s.now.AddDate(0, 0, 14).UTC().Truncate(time.Hour).Format(time.RFC3339),
		"duration": 90, "capacity": 1000, "pricingOptions": []map[string]any{{"name": "Standard", "price": 35, "credits": 1}},
	}, &made)
	if err == nil && !made.choose(soon, credits) {
		err = fmt.Errorf("the %s that was made cannot be booked", kind)
	}
	return made, err
}

// choose picks the date and the pricing option to book.
func (e *shopEvent) choose(from time.Time, credits bool) bool {
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

func (s *shop) buyPass(ctx context.Context, c shopCustomer, p shopPass) (shopCustomerPass, error) {
	var bought shopCustomerPass
	err := s.post(ctx, "/customer-passes", map[string]any{
		"customerId": c.ID, "passId": p.ID, "startDate": s.now.UTC().Format(time.DateOnly), "payment": map[string]any{"method": "CARD"},
	}, &bought)
	return bought, err
}

func (s *shop) book(ctx context.Context, c shopCustomer, e shopEvent, payment map[string]any) (shopRegistration, error) {
	var booked shopRegistration
	err := s.post(ctx, "/events/"+e.ID+"/registrations", map[string]any{
		"customerId": c.ID, "eventDateId": e.date, "pricingOptionId": e.option, "payment": payment,
	}, &booked)
	return booked, err
}
