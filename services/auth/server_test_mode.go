package auth

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// EnableTestMode implements TestModeService.
func (s *Server) EnableTestMode(ctx context.Context, _ *authv1.EnableTestModeRequest) (*authv1.EnableTestModeResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	live, err := s.store.company(ctx, company.Live())
	if err != nil {
		return nil, err
	}
	c, err := s.testCompany(ctx, live, rpc.Caller(ctx))
	if err != nil {
		return nil, err
	}
	return &authv1.EnableTestModeResponse{Company: companyMessage(c)}, nil
}

// testCompany returns the company in test mode of a company in live mode. It creates it if it does
// not exist. If it has older settings than live, because the process that changed them ended too
// early, it follows. actor is the caller.
func (s *Server) testCompany(ctx context.Context, live Company, actor string) (Company, error) {
	c, err := s.store.company(ctx, live.ID.Test())
	switch {
	case fault.Is(err, fault.NotFound):
		err = s.createTestCompany(ctx, newTestCompany(live, s.instant()), actor)
	case err != nil || c.LiveVersion >= live.Version:
		return c, err
	}
	// An update of the company in live mode since live was read did not find the new company.
	if err == nil {
		err = s.updateTestCompany(ctx, live.ID, actor)
	}
	if err != nil {
		return c, err
	}
	return s.store.company(ctx, live.ID.Test())
}

// followed returns a company in test mode with the settings of the one in live mode.
func (s *Server) followed(ctx context.Context, c Company, actor string) (Company, error) {
	live, err := s.store.company(ctx, c.ID.Live())
	if err != nil {
		return c, err
	}
	return s.testCompany(ctx, live, actor)
}

// createTestCompany adds a company in test mode, unless it exists.
func (s *Server) createTestCompany(ctx context.Context, c Company, actor string) error {
	return s.store.Write(ctx, c.ID, func(ctx context.Context, tx *pg.Tx) error {
		created, err := s.store.insertTestCompany(ctx, tx, c)
		if err != nil || !created {
			return err
		}
		return errors.Join(
			s.store.audit(ctx, tx, c.ID, c.CreatedAt, actor, "company.create", c.ID.String(), c.facts()...),
			s.outbox.Append(ctx, tx, companyCreated(c)))
	})
}

// updateTestCompany gives a company in test mode the settings of the one in live mode. It does
// nothing if the company has no test mode. The other services follow the event, because a token for
// the company in live mode cannot make calls for the other one.
func (s *Server) updateTestCompany(ctx context.Context, company id.Company, actor string) error {
	live, err := s.store.company(ctx, company)
	if err != nil {
		return err
	}
	err = s.store.Write(ctx, company.Test(), func(ctx context.Context, tx *pg.Tx) error {
		_, err := s.changeTestCompany(ctx, tx, company.Test(), actor, "company.update", func(c *Company) (bool, error) {
			return c.follow(live, s.instant()), nil
		})
		return err
	})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// changeTestCompany applies change to a company in test mode. change reports whether it changed
// anything.
func (s *Server) changeTestCompany(
	ctx context.Context, tx *pg.Tx, company id.Company, actor, action string, change func(c *Company) (bool, error),
) (Company, error) {
	c, err := s.store.lockCompany(ctx, tx, company)
	if err != nil {
		return c, err
	}
	before := c
	changed, err := change(&c)
	if err != nil || !changed {
		return c, err
	}
	return c, errors.Join(
		s.store.updateCompany(ctx, tx, c),
		s.store.audit(ctx, tx, company, c.UpdatedAt, actor, action, company.String(), differences(before.facts(), c.facts())...),
		s.outbox.Append(ctx, tx, companyUpdated(c)))
}

// testTenant returns the company of a call in test mode.
func testTenant(ctx context.Context) (id.Company, error) {
	company, err := rpc.Tenant(ctx)
	if err == nil && !company.IsTest() {
		return company, fault.LiveMode()
	}
	return company, err
}

// GetTestClock implements TestModeService.
func (s *Server) GetTestClock(ctx context.Context, _ *authv1.GetTestClockRequest) (*authv1.GetTestClockResponse, error) {
	company, err := testTenant(ctx)
	if err != nil {
		return nil, err
	}
	c, err := s.store.company(ctx, company)
	if err != nil {
		return nil, err
	}
	return &authv1.GetTestClockResponse{Clock: s.clockMessage(c)}, nil
}

func (s *Server) clockMessage(c Company) *authv1.TestClock {
	return &authv1.TestClock{Now: timestamppb.New(c.clock(s.instant())), OffsetSeconds: c.ClockOffset}
}

// AdvanceTestClock implements TestModeService. A repeated request refreshes the copies again,
// because the first attempt may have failed there.
func (s *Server) AdvanceTestClock(ctx context.Context, req *authv1.AdvanceTestClockRequest) (*authv1.AdvanceTestClockResponse, error) {
	company, err := testTenant(ctx)
	if err != nil {
		return nil, err
	}
	var to time.Time
	if req.GetTo() != nil {
		to = req.GetTo().AsTime()
	}
	var check checks
	if check.Instant("to", to); check.Err() != nil {
		return nil, check.Err()
	}
	resp := &authv1.AdvanceTestClockResponse{}
	_, err = idem.Write(ctx, s.store, company, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		c, err := s.changeTestCompany(ctx, tx, company, rpc.Caller(ctx), "test_clock.advance", func(c *Company) (bool, error) {
			return true, c.advance(to, s.instant())
		})
		resp.Clock = s.clockMessage(c)
		return err
	})
	if err == nil {
		err = s.companyCopies.refresh(ctx, company)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// ResetTestData implements TestModeService. The response is stored with the last step, so a request
// that failed before it is repeated from the start.
func (s *Server) ResetTestData(ctx context.Context, req *authv1.ResetTestDataRequest) (*authv1.ResetTestDataResponse, error) {
	company, err := testTenant(ctx)
	if err != nil {
		return nil, err
	}
	resp := &authv1.ResetTestDataResponse{}
	answered, err := s.answered(ctx, company, req, resp)
	if err != nil || answered {
		return resp, err
	}
	deleted, err := s.deleteTestData(ctx, company)
	if err != nil {
		return nil, err
	}
	_, err = idem.Write(ctx, s.store, company, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		c, err := s.changeTestCompany(ctx, tx, company, rpc.Caller(ctx), "test_data.reset", func(c *Company) (bool, error) {
			c.setClock(0, s.instant())
			return true, nil
		})
		resp.Clock, resp.Deleted = s.clockMessage(c), deleted
		return err
	})
	if err == nil {
		err = s.companyCopies.refresh(ctx, company)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

const (
	// mostPasses is how often all services delete the test data of a company while data are added.
	mostPasses = 5
	// handledWithin is how long a reset waits for the events that were published before it.
	handledWithin = 2 * time.Second
)

// deleteTestData deletes the test data of a company until nothing is left, and returns the number of
// rows. A service can copy what another one has already deleted from an event that it handles late, so
// another pass follows when all events are handled. A request can add rows at the same time.
func (s *Server) deleteTestData(ctx context.Context, company id.Company) (deleted int64, err error) {
	for pass := range mostPasses {
		n, err := s.testData.delete(ctx, company)
		isEmpty := err == nil && n == 0
		if err != nil && !fault.Is(err, fault.Conflict) || isEmpty && pass > 0 {
			return deleted, err
		}
		deleted += n
		s.awaitEvents(ctx)
	}
	return deleted, errTestDataAdded
}

var errTestDataAdded = fault.New(fault.Conflict, fault.ReasonIdempotencyInProgress,
	"requests add test data at the same time; try again when they have ended").After(time.Second)

// awaitEvents waits until all services have handled the events of now. It does not wait for one that
// is late, because then a company would wait for the load of others.
func (s *Server) awaitEvents(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, handledWithin)
	defer cancel()
	if err := s.events.AwaitHandled(ctx); err != nil {
		s.log.Warn("test data can remain, because events are handled late", "error", err.Error())
	}
}

// answered reports whether the request was completed before, and if so fills resp with the stored
// response.
func (s *Server) answered(ctx context.Context, company id.Company, req, resp proto.Message) (answered bool, err error) {
	err = s.store.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) (err error) {
		answered, err = idem.Seen(ctx, tx, req, resp)
		return err
	})
	return answered, err
}
