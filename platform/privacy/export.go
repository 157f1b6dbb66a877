package privacy

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// Collection is one kind of item that a service stores about customers.
type Collection struct {
	// Kind is the kind's name: "transaction".
	Kind string
	// SQL selects the identifier (uuid) and a JSON object of each item of company $1 and customer
	// $2. If Text is set, $2 is the customer's identifier as text.
	SQL  string
	Text bool
	// Names converts the identifiers in the objects. Its keys are the names of members, or
	// "<array>.id" for members of an array. "id" is the object's own identifier.
	Names map[string]func(id.UUID) string
}

// Exporter serves PersonalDataService.
type Exporter struct {
	privacyv1.UnimplementedPersonalDataServiceServer

	Service     string
	DB          *pg.DB
	Collections []Collection
	// Exists returns an error if the customer has never existed; nil: not checked.
	Exists func(stream grpc.ServerStream, company id.Company, customer id.Customer) error
}

// Named formats identifiers of one kind, for Collection.Names.
func Named[T interface {
	~[16]byte
	String() string
}](u id.UUID) string {
	return T(u).String()
}

// ExportPersonalData implements PersonalDataService.
func (x *Exporter) ExportPersonalData(req *privacyv1.ExportPersonalDataRequest, out grpc.ServerStreamingServer[privacyv1.ExportPersonalDataResponse]) error {
	ctx := out.Context()
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return err
	}
	customer, err := id.Parse[id.Customer](req.GetCustomerId())
	if err != nil {
		return fault.Missing("customer")
	}
	if x.Exists != nil {
		if err := x.Exists(out, company, customer); err != nil {
			return err
		}
	}
	for _, c := range x.Collections {
		args := []any{company, customer}
		if c.Text {
			args[1] = customer.String()
		}
		err := x.DB.Stream(ctx, pg.For(company), c.SQL, args, func(rows pgx.Rows) error {
			var own id.UUID
			var data []byte
			if err := rows.Scan(&own, &data); err != nil {
				return err
			}
			text, err := c.write(data)
			if err != nil {
				return err
			}
			name := own.String()
			if f := c.Names["id"]; f != nil {
				name = f(own)
			}
			return out.Send(&privacyv1.ExportPersonalDataResponse{Record: &privacyv1.PersonalRecord{
				Service: x.Service, Kind: c.Kind, Id: name, Json: text,
			}})
		})
		if err != nil {
			return pg.Fault(fmt.Errorf("export of %s: %w", c.Kind, err), nil)
		}
	}
	return nil
}

// write returns an object as JSON. It converts identifiers to the form of the interfaces, and leaves
// out null members and company_id.
func (c *Collection) write(data []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		return "", err
	}
	c.name(object, "")
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(object); err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

func (c *Collection) name(object map[string]any, in string) {
	for member, value := range object {
		switch v := value.(type) {
		case nil:
			delete(object, member)
		case string:
			key := member
			if member == "id" {
				key = in + member
			}
			if f := c.Names[key]; f != nil {
				if u, err := uuid.Parse(v); err == nil {
					object[member] = f(id.UUID(u))
				}
			}
		case map[string]any:
			c.name(v, member+".")
		case []any:
			for _, element := range v {
				if inner, ok := element.(map[string]any); ok {
					c.name(inner, member+".")
				}
			}
		}
	}
	delete(object, "company_id")
}
