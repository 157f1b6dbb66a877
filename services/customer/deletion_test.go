package customer

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// fakeConfirmer is a fake of the services that confirm deletions.
type fakeConfirmer struct {
	mu    sync.Mutex
	asked []string
	err   error
	// then is called before each confirmation.
	then func(customer string)
}

func (f *fakeConfirmer) ConfirmDeletion(_ context.Context, customer id.Customer) error {
	f.mu.Lock()
	f.asked = append(f.asked, customer.String())
	err, then := f.err, f.then
	f.mu.Unlock()
	if then != nil {
		then(customer.String())
	}
	return err
}

// fails makes confirmations fail with err; nil: they succeed.
func (f *fakeConfirmer) fails(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fakeConfirmer) calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

var errServicesAway = errors.New("pass is unavailable")

func (w *world) delete(ctx context.Context, customer string, version *int64) error {
	_, err := w.client.DeleteCustomer(ctx, &customerv1.DeleteCustomerRequest{Id: customer, ExpectedVersion: version})
	return err
}

// unconfirmed returns the number of customers whose deletion is not confirmed.
func (w *world) unconfirmed() int64 {
	w.t.Helper()
	n, err := pg.One[int64](w.t.Context(), w.db, pg.AllCompanies(), `select count(*) from customers where deletion_unconfirmed`)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func wantFault(t *testing.T, err error, kind fault.Kind) *fault.Error {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Fatalf("got %v, want %v", err, kind)
	}
	return fault.From(err)
}

func TestDeletionIsConfirmed(t *testing.T) { // invariant 14
	t.Run("is confirmed after the commit and before the response", func(t *testing.T) {
		w := open(t)
		made := w.create("Ann")
		w.confirmer.then = func(customer string) {
			if _, err := w.client.GetCustomer(w.ctx(), &customerv1.GetCustomerRequest{Id: customer}); !fault.Is(err, fault.NotFound) {
				t.Errorf("during the confirmation a reader gets %v", err)
			}
			if w.unconfirmed() != 1 {
				t.Error("the mark was not committed")
			}
		}
		if err := w.delete(w.ctx(), made.GetId(), nil); err != nil || w.confirmer.calls() != 1 || w.unconfirmed() != 0 {
			t.Errorf("got %v, %d confirmations, %d marks", err, w.confirmer.calls(), w.unconfirmed())
		}
		wantFault(t, w.delete(w.ctx(), made.GetId(), nil), fault.NotFound)
		if w.confirmer.calls() != 1 {
			t.Errorf("%d confirmations", w.confirmer.calls())
		}
	})
	t.Run("a retry confirms it if a service was unavailable, regardless of the expected version", func(t *testing.T) {
		w := open(t)
		made := w.create("Ann")
		w.confirmer.fails(errServicesAway)
		for range 2 {
			f := wantFault(t, w.delete(w.ctx(), made.GetId(), ptr(int64(1))), fault.Unavailable)
			if f.RetryAfter == 0 || !strings.Contains(f.Message, "repeat the request") {
				t.Errorf("got %q, after %v", f.Message, f.RetryAfter)
			}
			for name, call := range w.calls(w.ctx(), made.GetId()) {
				if err := call(); name != "DeleteCustomer" && !fault.Is(err, fault.NotFound) {
					t.Errorf("%s: got %v", name, err)
				}
			}
		}
		w.confirmer.fails(nil)
		if err := w.delete(w.ctx(), made.GetId(), ptr(int64(1))); err != nil {
			t.Fatal(err)
		}
		wantFault(t, w.delete(w.ctx(), made.GetId(), ptr(int64(1))), fault.NotFound)
		if w.total() != 0 || w.events(subjectDeleted) != 1 {
			t.Errorf("total %d, events %d", w.total(), w.events(subjectDeleted))
		}
	})
	t.Run("a retry completes it if the process dies after the confirmation", func(t *testing.T) {
		w := open(t)
		made := w.create("Ann")
		ctx, cancel := context.WithCancel(w.ctx())
		w.confirmer.then = func(string) { cancel() }
		_, err := w.server.DeleteCustomer(ctx, &customerv1.DeleteCustomerRequest{Id: made.GetId()})
		if err == nil || w.unconfirmed() != 1 {
			t.Fatalf("got %v, %d marks", err, w.unconfirmed())
		}
		w.confirmer.then = nil
		if err := w.delete(w.ctx(), made.GetId(), nil); err != nil || w.unconfirmed() != 0 {
			t.Errorf("got %v, %d marks", err, w.unconfirmed())
		}
	})
	t.Run("is confirmed before a stored response is replayed", func(t *testing.T) {
		w := open(t)
		made := w.create("Ann")
		ctx := idem.WithKey(w.ctx(), "k", "caller", "customers")
		remove := func() error {
			_, err := w.server.DeleteCustomer(ctx, &customerv1.DeleteCustomerRequest{Id: made.GetId()})
			return err
		}
		w.confirmer.fails(errServicesAway)
		for range 2 {
			wantFault(t, remove(), fault.Unavailable)
		}
		w.confirmer.fails(nil)
		for range 2 {
			if err := remove(); err != nil {
				t.Error(err)
			}
		}
		if w.confirmer.calls() != 3 {
			t.Errorf("%d confirmations", w.confirmer.calls())
		}
		wantFault(t, w.delete(w.ctx(), made.GetId(), nil), fault.NotFound)
	})
	t.Run("only one of several requests is answered OK", func(t *testing.T) {
		w := open(t)
		made := w.create("Ann")
		var deleted, missing atomic.Int64
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() {
				switch err := w.delete(w.ctx(), made.GetId(), nil); {
				case err == nil:
					deleted.Add(1)
				case fault.Is(err, fault.NotFound):
					missing.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if deleted.Load() != 1 || missing.Load() != 39 || w.events(subjectDeleted) != 1 || w.total() != 0 {
			t.Errorf("%d deletions succeeded, %d found no customer; %d events", deleted.Load(), missing.Load(), w.events(subjectDeleted))
		}
	})
}

func TestErasureIsConfirmed(t *testing.T) { // invariant 14
	e := openErasing(t)
	erase := func(customer string) (*privacyv1.EraseCustomerResponse, error) {
		return e.erasures.EraseCustomer(e.ctx(), &privacyv1.EraseCustomerRequest{CustomerId: customer})
	}
	t.Run("begins even if a service is unavailable, and a retry confirms it", func(t *testing.T) {
		made := e.create("Ann")
		e.confirmer.fails(errServicesAway)
		_, err := erase(made.GetId())
		wantFault(t, err, fault.Unavailable)
		if e.events(subjectErased) != 1 {
			t.Errorf("%d events", e.events(subjectErased))
		}
		e.confirmer.fails(nil)
		asked := e.confirmer.calls()
		for range 2 {
			if _, err := erase(made.GetId()); err != nil {
				t.Error(err)
			}
		}
		if e.confirmer.calls() != asked+1 || e.events(subjectErased) != 1 {
			t.Errorf("%d confirmations, %d events", e.confirmer.calls()-asked, e.events(subjectErased))
		}
		wantFault(t, e.delete(e.ctx(), made.GetId(), nil), fault.NotFound)
	})
	t.Run("is confirmed again after a restore, but not for a customer who is only deleted", func(t *testing.T) {
		made := e.create("Ben")
		if err := e.delete(e.ctx(), made.GetId(), nil); err != nil {
			t.Fatal(err)
		}
		asked := e.confirmer.calls()
		e.erase(made.GetId(), false)
		if e.confirmer.calls() != asked {
			t.Error("a confirmed deletion is confirmed again")
		}
		e.erase(made.GetId(), true)
		if e.confirmer.calls() != asked+1 {
			t.Error("the retry is not confirmed")
		}
	})
}

// fakeService is a fake service that confirms deletions.
type fakeService struct{ err error }

func (f fakeService) ConfirmCustomerDeletion(context.Context, *customerv1.ConfirmCustomerDeletionRequest, ...grpc.CallOption) (*customerv1.ConfirmCustomerDeletionResponse, error) {
	return &customerv1.ConfirmCustomerDeletionResponse{}, f.err
}

func TestConfirmationClient(t *testing.T) {
	if err := (ConfirmationClient{fakeService{}, fakeService{}}).ConfirmDeletion(t.Context(), id.New[id.Customer]()); err != nil {
		t.Error(err)
	}
	// A service of the previous release responds in this way.
	unknown := status.Error(codes.Unimplemented, "unknown service")
	if err := (ConfirmationClient{fakeService{}, fakeService{unknown}}).ConfirmDeletion(t.Context(), id.New[id.Customer]()); err == nil {
		t.Error("it is confirmed without one service")
	}
}
