package admin

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"reservation.dev/platform/csvfile"
	"reservation.dev/platform/fault"
)

// exportReadTimeout is how long a browser can take to receive the rows of one call. A slower one is disconnected, so
// that nobody holds an export for ever.
const exportReadTimeout = time.Minute

// csvStream is a file that is sent to the browser while it is read from the services. It holds the rows of one call.
type csvStream struct {
	r       *request
	file    *csvfile.Writer
	control *http.ResponseController
	begun   bool
	header  []string
	// complete says that the last row was sent.
	complete bool
}

// stream returns a file with a header.
func (r *request) stream(header []string) *csvStream {
	return &csvStream{r: r, file: csvfile.NewWriter(r.w, ','), control: http.NewResponseController(r.w), header: header}
}

// write sends rows.
func (s *csvStream) write(rows [][]csvfile.Cell) error {
	if err := s.r.http.Context().Err(); err != nil {
		return err
	}
	if err := s.control.SetWriteDeadline(time.Now().Add(s.r.web.readTimeout)); err != nil {
		return err
	}
	if !s.begun {
		s.begun = true
		// The server stops reading a request after a time, which would end a long response.
		if err := s.control.SetReadDeadline(time.Time{}); err != nil {
			return err
		}
		if err := s.file.Begin(s.header); err != nil {
			return err
		}
	}
	for _, row := range rows {
		if err := s.file.Write(row...); err != nil {
			return err
		}
	}
	if err := s.file.Flush(); err != nil {
		return err
	}
	return s.control.Flush()
}

// end completes the file. The browser can use the connection for other pages, whenever it likes.
func (s *csvStream) end() error {
	s.complete = true
	return s.control.SetWriteDeadline(time.Time{})
}

// cutError is an error after the first byte of a response. The connection is cut, so that the browser does not take
// the response for a complete one.
type cutError struct{ cause error }

func (e *cutError) Error() string { return fmt.Sprintf("response cut: %v", e.cause) }

func (e *cutError) Unwrap() error { return e.cause }

// renewing returns a source that continues when the access token has expired. It ends when the session has ended,
// or when the administrator may no longer export.
func (r *request) renewing(next rowSource) rowSource {
	return func() ([][]csvfile.Cell, bool, error) {
		rows, more, expired := next()
		if !fault.Is(expired, fault.Unauthenticated) {
			return rows, more, expired
		}
		company := r.session.Company.GetId()
		r.session, r.ctx = nil, r.http.Context()
		if err := r.authenticate(); err != nil {
			return nil, false, err
		}
		if r.session == nil || r.session.Company.GetId() != company || !r.session.Role.May(dataAccess) {
			return nil, false, expired
		}
		return next()
	}
}

// slots bound how many files are read at the same time: for each company, so that one does not keep the others
// waiting, and in all.
type slots struct {
	perCompany, all int

	mu   sync.Mutex
	held map[string]int
	sum  int
}

func newSlots(perCompany, all int) *slots {
	return &slots{perCompany: perCompany, all: all, held: map[string]int{}}
}

// take takes a slot of a company, if one is free. The caller releases it once.
func (s *slots) take(company string) (release func(), free bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[company] >= s.perCompany || s.sum >= s.all {
		return nil, false
	}
	s.held[company]++
	s.sum++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sum--
		if s.held[company]--; s.held[company] == 0 {
			delete(s.held, company)
		}
	}, true
}
