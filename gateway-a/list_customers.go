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

// chunkTimeout is how long a client can take to read one chunk.
const chunkTimeout = 30 * time.Second

// customerList serves GET /customers: the whole list as one streamed document, or one page if page
// or pageSize is given.
type customerList struct {
	edge   *edge.Edge
	client customerv1.CustomerServiceClient
}

func (c *customerList) serve(w http.ResponseWriter, r *http.Request, _ map[string]string) {
	write := c.stream
	if r.Form.Has("page") || r.Form.Has("pageSize") {
		write = c.page
	}
	if err := write(w, r); err != nil {
		c.edge.Fail(w, r, fault.From(err))
	}
}

// stream writes the chunks that the customer service rendered. A failure before the first chunk is
// returned; a later one cuts the connection.
func (c *customerList) stream(w http.ResponseWriter, r *http.Request) error {
	var q edge.Query
	since := q.Instant("updated_since", queryParameter(r, "updated_since"))
	if err := q.Err(); err != nil {
		return err
	}
	export, err := c.client.ExportCustomers(r.Context(), &customerv1.ExportCustomersRequest{
		Members: exportedMembers(), UpdatedSince: since,
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
		panic(http.ErrAbortHandler) // the edge recovers and logs it
	}
	out.write([]byte(`]}`))
	return nil
}

// document writes a streamed document. If a write fails, it aborts the request.
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

func (c *customerList) page(w http.ResponseWriter, r *http.Request) error {
	var q edge.Query
	since := q.Instant("updated_since", queryParameter(r, "updated_since"))
	p := newPage(&q, queryParameter(r, "page"), queryParameter(r, "pageSize"))
	if err := q.Err(); err != nil {
		return err
	}
	res, err := c.client.ListCustomers(r.Context(), &customerv1.ListCustomersRequest{
		UpdatedSince: since, PageSize: p.size, Offset: p.offset(),
	})
	if err != nil {
		return err
	}
	c.edge.Write(w, http.StatusOK, &edgeav1.CustomerPage{
		Data: edge.Convert(res.GetCustomers(), listedCustomer), Total: res.GetTotal(), Page: p.number, PageSize: p.size,
	})
	return nil
}

// queryParameter returns a query parameter, or nil if it is not given.
func queryParameter(r *http.Request, name string) *string {
	if !r.Form.Has(name) {
		return nil
	}
	value := r.Form.Get(name)
	return &value
}
