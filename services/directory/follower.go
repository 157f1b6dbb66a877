package directory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

const (
	// overlap is how long a transaction can take to commit what it has made, without being read late.
	overlap = time.Minute
	// livelyEvery is how often a cell is asked while a company moves.
	livelyEvery = 200 * time.Millisecond
	// changesTimeout and everythingTimeout limit one reading of a cell.
	changesTimeout    = 5 * time.Second
	everythingTimeout = 5 * time.Minute
	// fullRetry is when everything is read again after a failure. Until then, changes are read.
	fullRetry = 10 * time.Second
	// maxQuestions is how many companies one request can name.
	maxQuestions = 1000
)

// follower reads one cell.
type follower struct {
	cell      string
	client    authv1.DirectoryServiceClient
	source    *token.Source
	table     *table
	metrics   *metrics
	log       *slog.Logger
	now       func() time.Time
	every     time.Duration // between readings of changes
	everyFull time.Duration // between readings of everything

	newest   time.Time // when the newest identifier of the cell was made
	nextFull time.Time
	failing  bool
}

// run reads the cell until ctx ends. It calls tried after the first reading, even if that failed.
func (f *follower) run(ctx context.Context, tried func()) error {
	for {
		f.note(f.once(ctx))
		tried()
		pause := f.every
		if _, lively := f.table.watched(0); lively {
			pause = min(pause, livelyEvery)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// note logs when the cell stops answering, and when it answers again.
func (f *follower) note(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	switch {
	case err != nil && !f.failing:
		f.log.Error("the cell cannot be read; its companies stay where they are", "cell", f.cell, "error", err)
	case err == nil && f.failing:
		f.log.Info("the cell can be read again", "cell", f.cell)
	}
	f.failing = err != nil
	f.metrics.asked(f.cell, err)
}

// once reads what has changed in the cell, or everything if it is time.
func (f *follower) once(ctx context.Context) error {
	began := f.now()
	if began.Before(f.nextFull) {
		ctx, cancel := context.WithTimeout(ctx, changesTimeout)
		defer cancel()
		return f.read(ctx, f.since(began), 0)
	}
	ctx, cancel := context.WithTimeout(ctx, everythingTimeout)
	defer cancel()
	f.nextFull = began.Add(fullRetry)
	pass := f.table.beginPass()
	if err := f.read(ctx, nil, pass); err != nil {
		return err
	}
	f.table.endPass(f.cell, pass, began)
	f.nextFull = began.Add(f.everyFull)
	return nil
}

// since returns from when on to read changes; nil: all.
func (f *follower) since(now time.Time) *timestamppb.Timestamp {
	if f.newest.IsZero() {
		return nil
	}
	since := f.newest
	if now.Before(since) {
		since = now
	}
	return timestamppb.New(since.Add(-overlap))
}

// read reads the companies and credentials that were made since a time. Companies come first, so that HAProxy
// has them before their credentials.
func (f *follower) read(ctx context.Context, since *timestamppb.Timestamp, pass int) error {
	ctx, cancel := context.WithCancel(rpc.As(ctx, f.source, id.Company{}))
	defer cancel()
	asked := f.now()
	questions, _ := f.table.watched(maxQuestions)
	texts := make([]string, len(questions))
	for i, live := range questions {
		texts[i] = live.String()
	}
	companies, err := f.client.StreamCompanies(ctx, &authv1.StreamCompaniesRequest{CreatedSince: since, CompanyIds: texts})
	if err != nil {
		return err
	}
	states := map[id.Company]state{}
	err = each(companies, func(r *authv1.StreamCompaniesResponse) error { return f.addCompanies(states, r) })
	if err != nil {
		return err
	}
	f.table.answer(f.cell, states, questions, asked, pass)
	credentials, err := f.client.StreamCredentials(ctx, &authv1.StreamCredentialsRequest{CreatedSince: since})
	if err != nil {
		return err
	}
	return each(credentials, func(r *authv1.StreamCredentialsResponse) error { return f.addCredentials(r, pass) })
}

// each calls f with every message of a stream.
func each[M any](stream grpc.ServerStreamingClient[M], f func(*M) error) error {
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(m)
		}
		if err != nil {
			return err
		}
	}
}

func (f *follower) addCompanies(states map[id.Company]state, r *authv1.StreamCompaniesResponse) error {
	for _, c := range r.GetCompanies() {
		live, err := id.Parse[id.Company](c.GetCompanyId())
		if err != nil || live.IsTest() {
			return fmt.Errorf("the cell has the company %.50q", c.GetCompanyId())
		}
		states[live] = stateOf(c.GetState())
		f.made(live.UUID())
	}
	return nil
}

func (f *follower) addCredentials(r *authv1.StreamCredentialsResponse, pass int) error {
	companies := make(map[string]string, len(r.GetCredentials()))
	for _, c := range r.GetCredentials() {
		made, ok := parseCredential(c.GetId())
		company, err := id.Parse[id.Company](c.GetCompanyId())
		if err != nil || !ok {
			return fmt.Errorf("the cell has the credential %.50q of the company %.50q", c.GetId(), c.GetCompanyId())
		}
		companies[c.GetId()] = company.String()
		f.made(made)
	}
	f.table.belong(f.cell, companies, pass)
	return nil
}

// made records when an identifier was made.
func (f *follower) made(u id.UUID) {
	if at := u.Time(); at.After(f.newest) {
		f.newest = at
	}
}

// parseCredential returns the UUID of a credential's identifier.
func parseCredential(text string) (id.UUID, bool) {
	if v, err := id.Parse[id.APIClient](text); err == nil {
		return v.UUID(), true
	}
	if v, err := id.Parse[id.APIKey](text); err == nil {
		return v.UUID(), true
	}
	if v, err := id.Parse[id.ServiceCredential](text); err == nil {
		return v.UUID(), true
	}
	v, err := id.Parse[id.PublishableKey](text)
	return v.UUID(), err == nil
}
