package auth

import (
	"context"
	"maps"
	"slices"
	"strings"

	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// ListAuditEntries implements AuditService.
func (s *Server) ListAuditEntries(ctx context.Context, req *authv1.ListAuditEntriesRequest) (*authv1.ListAuditEntriesResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	filter, err := auditFilterOf(req)
	if err != nil {
		return nil, err
	}
	list, next, err := listPage(page.Of(req), newestFirst(),
		func(p page.Page) ([]Entry, error) { return s.store.auditEntries(ctx, company, filter, p) },
		func(e *Entry) page.Cursor { return page.At(e.At, e.ID.UUID()) })
	if err != nil {
		return nil, err
	}
	actors := make([]string, len(list))
	for i, e := range list {
		actors[i] = e.Actor
	}
	names, err := s.names(ctx, company, actors)
	if err != nil {
		return nil, err
	}
	resp := &authv1.ListAuditEntriesResponse{NextPageToken: next}
	for _, e := range list {
		resp.Entries = append(resp.Entries, entryMessage(e, names[e.Actor]))
	}
	return resp, nil
}

// names returns the current names of the company's credentials and administrators, by identifier.
func (s *Server) names(ctx context.Context, company id.Company, subjects []string) (map[string]string, error) {
	bySubject := map[string]id.UUID{}
	for _, subject := range subjects {
		if u, ok := subjectUUID(subject); ok {
			bySubject[subject] = u
		}
	}
	if len(bySubject) == 0 {
		return nil, nil
	}
	byID, err := s.store.actorNames(ctx, company, bySubject)
	if err == nil && company.IsTest() {
		err = s.addAdministratorNames(ctx, company.Live(), bySubject, byID)
	}
	if err != nil {
		return nil, err
	}
	names := make(map[string]string, len(bySubject))
	for subject, u := range bySubject {
		names[subject] = byID[u]
	}
	return names, nil
}

// addAdministratorNames adds the names of administrators, who belong to the company in live mode.
func (s *Server) addAdministratorNames(ctx context.Context, live id.Company, subjects map[string]id.UUID, names map[id.UUID]string) error {
	administrators := map[string]id.UUID{}
	for subject, u := range subjects {
		if _, err := id.Parse[id.Administrator](subject); err == nil {
			administrators[subject] = u
		}
	}
	if len(administrators) == 0 {
		return nil
	}
	found, err := s.store.actorNames(ctx, live, administrators)
	maps.Copy(names, found)
	return err
}

// RecordAuditEntry implements AuditService.
func (s *Server) RecordAuditEntry(ctx context.Context, req *authv1.RecordAuditEntryRequest) (*authv1.RecordAuditEntryResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	var check checks
	action := check.Line("action", req.GetAction(), 1, maxAction)
	thing, _, _ := strings.Cut(action, ".")
	if action != "" && (!actionPattern.MatchString(action) || slices.Contains(reservedThings, thing)) {
		check.Add("action", "format", "must be <thing>.<action>, with a thing that does not belong to the auth service")
	}
	e := Entry{
		Company: company, ID: id.AuditEntry(s.newID()), At: s.instant(), Actor: rpc.Caller(ctx), Action: action,
		Target: check.Line("target", req.GetTarget(), 1, maxTarget), Details: check.details(req.GetDetails()),
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	resp := &authv1.RecordAuditEntryResponse{}
	return idem.Write(ctx, s.store, company, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		if err := withoutErased(ctx, tx, &e); err != nil {
			return err
		}
		resp.Entry = entryMessage(e, "")
		return s.store.insertEntry(ctx, tx, e)
	})
}

// withoutErased removes from an entry what it says of an erased customer, because the entry may be
// recorded after the erasure.
func withoutErased(ctx context.Context, tx *pg.Tx, e *Entry) error {
	for _, customer := range e.customers() {
		erased, err := privacy.Erased(ctx, tx, e.Company, customer)
		if err != nil {
			return err
		}
		if erased {
			e.forget(customer)
		}
	}
	return nil
}
