package booking

import (
	"context"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// Customers looks customers up in the customer service.
type Customers interface {
	// Lookup returns those of the customers that exist, deleted ones included,
	// each once. Together the ids and references are at most maxLookup.
	Lookup(ctx context.Context, company id.Company, ids []id.Customer, references []string) ([]model.CustomerRecord, error)
}

// maxLookup is how many customers one request may ask for.
const maxLookup = 5000

// fetchCustomers fetches customers that the copy does not have and stores them in it.
// It returns those that exist.
func (s *Server) fetchCustomers(ctx context.Context, company id.Company, ids []id.Customer, references []string) ([]model.CustomerRecord, error) {
	var fetched []model.CustomerRecord
	for len(ids)+len(references) > 0 {
		n := min(len(ids), maxLookup)
		m := min(len(references), maxLookup-n)
		some, err := s.customers.Lookup(ctx, company, ids[:n], references[:m])
		if err != nil {
			return nil, err
		}
		fetched = append(fetched, some...)
		ids, references = ids[n:], references[m:]
	}
	if len(fetched) == 0 {
		return nil, nil
	}
	for i := range fetched {
		fetched[i].Company = company
	}
	return fetched, s.store.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		return s.store.KeepCustomers(ctx, tx, fetched)
	})
}

// fetchMissingCustomers runs do. If do names customers that the copy does not have, it
// fetches them and runs do again.
func (s *Server) fetchMissingCustomers(ctx context.Context, company id.Company, do func() error) error {
	err := do()
	unknown, ok := model.AsUnknownCustomers(err)
	if !ok {
		return err
	}
	if _, err := s.fetchCustomers(ctx, company, unknown.Ids, nil); err != nil {
		return err
	}
	err = do()
	if _, ok := model.AsUnknownCustomers(err); ok {
		return fault.Missing("customer")
	}
	return err
}
