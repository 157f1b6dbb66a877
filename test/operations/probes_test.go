package operations

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/test/harness"
)

// restoreProbes are tokens, credentials and a receiver whose state is checked after a restore.
type restoreProbes struct {
	live, dead string             // tokens: a valid one, and one that was revoked before the backup
	late       harness.Credential // its secret was rotated after the backup
	lateToken  string             // issued for that secret
	// slow is a receiver that accepts nothing until the restore is complete.
	slow  *harness.Mailbox
	takes atomic.Bool
}

// newRestoreProbes creates the probes before the backup.
func (w *world) newRestoreProbes(t *testing.T) *restoreProbes {
	t.Helper()
	k := &restoreProbes{}
	a := harness.NewA(t, w.Gateways[0])
	k.live = a.Token(t, w.client)
	revoked := w.company.NewClient(t)
	k.dead = a.Token(t, revoked)
	w.expect(t, k.dead, http.StatusOK)
	w.rotate(t, revoked)
	harness.Eventually(t, answerLimit, func() error {
		answer, err := a.Try(t.Context(), harness.Request{Method: http.MethodGet, Path: "/customers?page=0", Token: k.dead})
		if err == nil && answer.Code != http.StatusUnauthorized {
			err = fmt.Errorf("answered %d", answer.Code)
		}
		return err
	})
	k.late = w.company.NewClient(t)
	k.slow = w.NewMailbox(t, w.company, func(harness.Mail) harness.Reply {
		if k.takes.Load() {
			return harness.Reply{}
		}
		return harness.Reply{Status: http.StatusServiceUnavailable}
	})
	return k
}

func (w *world) rotate(t *testing.T, c harness.Credential) {
	t.Helper()
	_, err := w.Operator(t).Clients.RotateApiClientSecret(w.company.Ctx(t.Context()), &authv1.RotateApiClientSecretRequest{Id: c.ID})
	if err != nil {
		t.Fatal(err)
	}
}

// after makes changes after the backup, which the restore undoes.
func (k *restoreProbes) after(t *testing.T, w *world) {
	t.Helper()
	k.lateToken = harness.NewA(t, w.Gateways[0]).Token(t, k.late)
	w.rotate(t, k.late)
}

// check compares the restored platform with docs/BACKUP.md.
func (k *restoreProbes) check(t *testing.T, w *world) {
	t.Helper()
	w.expect(t, k.live, http.StatusOK)
	w.expect(t, k.dead, http.StatusUnauthorized)
	// A revocation after the backup must be repeated, because the restore undoes it.
	w.expect(t, k.lateToken, http.StatusOK)
	w.rotate(t, k.late)
	harness.Eventually(t, answerLimit, func() error {
		answer, err := harness.NewA(t, w.Gateways[0]).Try(t.Context(), harness.Request{Method: http.MethodGet, Path: "/customers?page=0", Token: k.lateToken})
		if err == nil && answer.Code != http.StatusUnauthorized {
			err = fmt.Errorf("answered %d", answer.Code)
		}
		return err
	})
	desk := harness.NewA(t, w.Dashboards[0])
	desk.Do(t, harness.Request{
		Method: http.MethodGet, Path: "/", Host: harness.DashboardHost, Header: http.Header{"Cookie": {"session=" + w.session}},
	}).Into(t, http.StatusOK, nil)
}

// webhooks returns when the receiver has accepted a notification about every booking, and the
// slow receiver everything that it had refused. They may have accepted further notifications
// about bookings that the restore lost.
func (k *restoreProbes) webhooks(t *testing.T, w *world) {
	t.Helper()
	k.takes.Store(true)
	books := w.books(t)
	taken := 0
	harness.Eventually(t, deliveredLimit, func() error {
		told, err := notifications(w.mailbox)
		if err != nil {
			return err
		}
		refused, err := notifications(k.slow)
		if err != nil {
			return err
		}
		accepted := map[string]bool{}
		for _, m := range k.slow.Mail() {
			accepted[m.ID] = accepted[m.ID] || m.Accepted
		}
		var faults []error
		taken = 0
		for registration := range books {
			if n := len(told[registration]); n != 1 {
				faults = append(faults, fmt.Errorf("%s was notified under %d identifiers", registration, n))
			}
			switch ids := refused[registration]; {
			case len(ids) == 0: // sold before this receiver existed
			case len(ids) > 1 || !accepted[ids[0]]:
				faults = append(faults, fmt.Errorf("the slow receiver got %s as %v, accepted %t", registration, ids, accepted[ids[0]]))
			default:
				taken++
			}
		}
		return errors.Join(faults...)
	})
	if taken == 0 {
		t.Error("nothing was pending for the slow receiver")
	}
	t.Logf("%d bookings, %d pending webhooks", len(books), taken)
}
