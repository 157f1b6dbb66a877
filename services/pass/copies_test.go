package pass

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/testkit"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

func companyEvent(t *testing.T, subject string, company id.Company, zone string, version int64) bus.Message {
	t.Helper()
	snapshot := &authv1.CompanySnapshot{Id: company.String(), Timezone: zone, Currency: "EUR", Version: version}
	var event proto.Message = &authv1.CompanyUpdated{Company: snapshot}
	if subject == subjectCompanyCreated {
		event = &authv1.CompanyCreated{Company: snapshot}
	}
	payload, err := proto.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	return bus.Message{ID: id.NewUUID(), Company: company, Subject: subject, Payload: payload, OccurredAt: time.Now()}
}

func TestCopies(t *testing.T) {
	t.Run("the newest word on a company stays, in whatever order it comes", func(t *testing.T) {
		d := open(t)
		copies := NewCopies(d.db)
		created := companyEvent(t, subjectCompanyCreated, d.company, "Europe/London", 1)
		for _, batch := range [][]bus.Message{
			{companyEvent(t, subjectCompanyUpdated, d.company, "Europe/Berlin", 3), companyEvent(t, subjectCompanyUpdated, d.company, "Europe/Paris", 2)},
			{created},
			{created, companyEvent(t, subjectCompanyCreated, id.New[id.Company](), "Asia/Tokyo", 1)},
		} {
			if err := copies.handle(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
		}
		got, err := d.server.store.company(t.Context(), d.company)
		if err != nil || got.Timezone != "Europe/Berlin" || got.Currency != "EUR" || got.Version != 3 {
			t.Errorf("the copy is %v, %v", got, err)
		}
	})
	t.Run("what cannot be read is not taken for read", func(t *testing.T) {
		d := open(t)
		bad := companyEvent(t, subjectCompanyUpdated, d.company, "Europe/Berlin", 3)
		bad.Payload = []byte{0xff}
		good := companyEvent(t, subjectCompanyCreated, d.company, "Europe/London", 1)
		if err := NewCopies(d.db).handle(t.Context(), []bus.Message{good, bad}); err == nil {
			t.Error("it was taken")
		}
		if _, err := d.server.store.company(t.Context(), d.company); err == nil {
			t.Error("half of the batch was kept")
		}
	})
	t.Run("events reach the copy over the bus", func(t *testing.T) {
		d := open(t)
		b := testkit.Bus(t)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- NewCopies(d.db).Run(ctx, b) }()
		if _, err := b.Publish(t.Context(), []bus.Message{companyEvent(t, subjectCompanyCreated, d.company, "Asia/Tokyo", 1)}); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, 20*time.Second, func() error {
			got, err := d.server.store.company(t.Context(), d.company)
			if err == nil && got.Timezone != "Asia/Tokyo" {
				err = fmt.Errorf("the copy is %v", got)
			}
			return err
		})
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestPlatformCredentials(t *testing.T) {
	d := open(t)
	passType := d.passType().GetId()
	// A platform credential speaks for a company that it names beside its token.
	source := token.NewSource(func(context.Context) (string, time.Time, error) {
		return d.issuer.Admin(), time.Now().Add(time.Hour), nil
	})
	assign := func() (*passv1.CustomerPass, error) {
		res, err := d.client.AssignCustomerPass(rpc.As(t.Context(), source, d.company), &passv1.AssignCustomerPassRequest{
			CustomerId: d.customer(), PassTypeId: passType,
		})
		return res.GetCustomerPass(), err
	}
	d.others.down = errors.New("auth is away")
	if _, err := assign(); !fault.Is(err, fault.Unavailable) {
		t.Fatalf("while auth is away, a company that is new here gives %v", err)
	}
	d.others.down = nil
	if _, err := assign(); err != nil {
		t.Fatal(err)
	}
	d.others.down = errors.New("auth is away")
	if _, err := assign(); err != nil {
		t.Errorf("while auth is away, a company that is known gives %v", err)
	}
}
