package gatewaya

import (
	"errors"
	"io"
	"net/http"
	"time"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
)

const (
	defaultPageSize = 30
	maxPageSize     = 100
	// chunkTimeout is how long a client may take to read one chunk.
	chunkTimeout = 30 * time.Second
)

// customers answers GET /customers: the whole list as one streamed document, or
// a page of it where page or pageSize is given.
type customers struct {
	edge   *edge.Edge
	client customerv1.CustomerServiceClient
}

// exported is the shape of an item of the list.
func exported() []*customerv1.ExportMember {
	field := func(name string, f customerv1.CustomerField) *customerv1.ExportMember {
		return &customerv1.ExportMember{Name: name, Value: &customerv1.ExportMember_Field{Field: f}}
	}
	return []*customerv1.ExportMember{
		field("id", customerv1.CustomerField_CUSTOMER_FIELD_ID),
		{Name: "type", Value: &customerv1.ExportMember_Constant{Constant: typeCustomer}},
		field("firstname", customerv1.CustomerField_CUSTOMER_FIELD_FIRST_NAME),
		field("lastname", customerv1.CustomerField_CUSTOMER_FIELD_LAST_NAME),
		field("email", customerv1.CustomerField_CUSTOMER_FIELD_EMAIL),
		field("mobile", customerv1.CustomerField_CUSTOMER_FIELD_MOBILE),
		field("archived", customerv1.CustomerField_CUSTOMER_FIELD_ARCHIVED),
	}
}

func (c *customers) serve(w http.ResponseWriter, r *http.Request, _ map[string]string) {
	since, err := edge.QueryInstant("updated_since", given(r, "updated_since"))
	if err == nil {
		if r.Form.Has("page") || r.Form.Has("pageSize") {
			err = c.page(w, r, since)
		} else {
			err = c.stream(w, r, since)
		}
	}
	if err != nil {
		c.edge.Fail(w, r, fault.From(err))
	}
}

// stream copies the chunks that the service rendered. Before the first one a
// failure is an answer; after it, the connection is cut.
func (c *customers) stream(w http.ResponseWriter, r *http.Request, since *time.Time) error {
	export, err := c.client.ExportCustomers(r.Context(), &customerv1.ExportCustomersRequest{
		Members: exported(), UpdatedSince: instant(since),
	})
	if err != nil {
		return err
	}
	chunk, err := export.Recv()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	w.Header().Set("Content-Type", jsonType)
	out := document{w: w, rc: http.NewResponseController(w)}
	out.write([]byte(`{"data":[`))
	for ; err == nil; chunk, err = export.Recv() {
		out.write(chunk.GetJson())
	}
	if !errors.Is(err, io.EOF) {
		panic(http.ErrAbortHandler) // recovered and logged by the edge
	}
	out.write([]byte(`]}`))
	return nil
}

// document writes a streamed document; what cannot be written ends the request.
type document struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func (d document) write(b []byte) {
	_ = d.rc.SetWriteDeadline(time.Now().Add(chunkTimeout))
	if _, err := d.w.Write(b); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func (c *customers) page(w http.ResponseWriter, r *http.Request, since *time.Time) error {
	page, err := edge.QueryInt("page", given(r, "page"))
	if err != nil {
		return err
	}
	size, err := edge.QueryPageSize("pageSize", given(r, "pageSize"))
	if err != nil {
		return err
	}
	out := &edgeav1.CustomerPage{PageSize: defaultPageSize}
	if page != nil {
		out.Page = *page
	}
	if size != nil {
		out.PageSize = min(*size, maxPageSize)
	}
	if out.Page < 0 {
		return fault.InvalidParameter("page", "range", "must be 0 or more")
	}
	if out.PageSize < 1 {
		return fault.InvalidParameter("pageSize", "range", "must be 1 or more")
	}
	res, err := c.client.ListCustomers(r.Context(), &customerv1.ListCustomersRequest{
		PageSize: out.PageSize, Offset: int64(out.Page) * int64(out.PageSize), UpdatedSince: instant(since),
	})
	if err != nil {
		return err
	}
	out.Total = res.GetTotal()
	for _, customer := range res.GetCustomers() {
		out.Data = append(out.Data, listedCustomer(customer))
	}
	c.edge.Write(w, http.StatusOK, out)
	return nil
}

// given returns a query parameter, nil where it is not given.
func given(r *http.Request, name string) *string {
	if !r.Form.Has(name) {
		return nil
	}
	value := r.Form.Get(name)
	return &value
}
