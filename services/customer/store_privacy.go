package customer

import (
	"google.golang.org/grpc"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
)

// exportCustomerSQL leaves out columns that are derived from others, and the mark of an unconfirmed
// deletion.
const exportCustomerSQL = `select id, to_jsonb(c) - array['email_key', 'first_key', 'last_key', 'mobile_digits', 'mobile_key', 'mobile_end',
		'search', 'deletion_unconfirmed']
	from customers c where company_id = $1 and id = $2`

// NewExporter returns the exporter of what is stored about a customer.
func NewExporter(db *pg.DB) *privacy.Exporter {
	s := newStore(db)
	names := map[string]func(id.UUID) string{"id": privacy.Named[id.Customer]}
	noteNames := map[string]func(id.UUID) string{"id": privacy.Named[id.Note], "customer_id": privacy.Named[id.Customer]}
	return &privacy.Exporter{
		Service: "customer", DB: db,
		Exists: func(stream grpc.ServerStream, company id.Company, customer id.Customer) error {
			list, err := s.batch(stream.Context(), company, []id.Customer{customer}, nil, true)
			if err == nil && len(list) == 0 {
				return missing()
			}
			return err
		},
		Collections: []privacy.Collection{
			{Kind: "customer", Names: names, SQL: exportCustomerSQL},
			{Kind: "note", Names: noteNames, SQL: `select id, to_jsonb(n) from notes n
				where company_id = $1 and customer_id = $2 order by created_at, id`},
			{Kind: "erasure", Names: names, SQL: `select customer_id, to_jsonb(e) - array['customer_id', 'reference_digest', 'round', 'last_round']
				from customer_erasures e where company_id = $1 and customer_id = $2`},
		},
	}
}
