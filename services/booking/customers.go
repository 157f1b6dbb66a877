package booking

import (
	"context"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// Customers looks customers up in the customer service.
type Customers interface {
	// Lookup returns the customers that exist, including deleted ones, each once. ids and
	// references must not have more than maxLookup elements together.
	Lookup(ctx context.Context, company id.Company, ids []id.Customer, references []string) ([]model.CustomerRecord, error)
}

// maxLookup is the maximum number of customers in one request.
const maxLookup = 5000

// fetchCustomers fetches customers that are not in the copy and stores them there. It returns the
// customers that exist.
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

// fetchMissingCustomers runs do. If do fails because customers are not in the copy, it fetches them
// and runs do again. The customers who do not exist are the cause of its fault.
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
		return fault.Missing("customer").Because(err)
	}
	return err
}

// customerExists returns NOT_FOUND if a customer does not exist or is deleted.
func (s *Server) customerExists(ctx context.Context, company id.Company, text string) error {
	customer, err := check.ID[id.Customer](text, "customer")
	if err != nil {
		return err
	}
	return s.fetchMissingCustomers(ctx, company, func() error {
		found, err := s.store.Resolve(ctx, company, []id.Customer{customer}, nil)
		if err != nil {
			return err
		}
		known, ok := found.ByID[customer]
		switch {
		case !ok:
			return &model.UnknownCustomers{Ids: []id.Customer{customer}}
		case known == id.Customer{}:
			return fault.Missing("customer")
		}
		return nil
	})
}
