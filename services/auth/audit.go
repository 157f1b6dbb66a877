package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// Entry is a line of the audit log.
type Entry struct {
	Company id.Company    `db:"company_id"`
	ID      id.AuditEntry `db:"id"`
	At      time.Time     `db:"at"`
	Actor   string        `db:"actor"`
	Action  string        `db:"action"`
	Target  string        `db:"target"`
	Details []Detail      `db:"details"`
}

// Detail is one fact of a change. It holds no secret.
type Detail struct {
	Field  string `json:"field"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// differences lists the facts that differ, of two lists with the same fields.
func differences(before, after []Detail) []Detail {
	var out []Detail
	for i, d := range after {
		if before[i].After != d.After {
			out = append(out, Detail{Field: d.Field, Before: before[i].After, After: d.After})
		}
	}
	return out
}

// present leaves out the facts that say nothing.
func present(all []Detail) []Detail {
	return slices.DeleteFunc(all, func(d Detail) bool { return d.After == "" })
}

// facts are what the audit log says of a company.
func (c *Company) facts() []Detail {
	return []Detail{
		{Field: "name", After: c.Name}, {Field: "timezone", After: c.Timezone}, {Field: "currency", After: c.Currency},
		{Field: "unique_customer_emails", After: strconv.FormatBool(c.UniqueEmails)},
	}
}

// facts are what the audit log says of a credential.
func (c *Credential) facts() []Detail {
	scopes, limit, expires := "scopes", "", ""
	if c.Kind == kindKey {
		scopes = "permissions"
	}
	if c.RateLimit != nil {
		limit = strconv.Itoa(int(*c.RateLimit))
	}
	if c.ExpiresAt != nil {
		expires = c.ExpiresAt.UTC().Format(time.RFC3339)
	}
	return []Detail{
		{Field: "name", After: c.Name}, {Field: "description", After: c.Description}, {Field: scopes, After: strings.Join(c.Scopes, " ")},
		{Field: "rate_limit", After: limit}, {Field: "expires_at", After: expires},
	}
}

// named says which credential a change without other facts was about.
func (c *Credential) named() []Detail { return []Detail{{Field: "name", After: c.Name}} }

// facts are what the audit log says of an administrator.
func (a *Administrator) facts() []Detail {
	return []Detail{{Field: "name", After: a.Name}, {Field: "email", After: a.Email}, {Field: "role", After: a.Role}}
}

// auditFilter narrows a list of entries; what is empty or nil does not.
type auditFilter struct {
	actor, action, target string
	since, until          *time.Time
}

// storable reports whether PostgreSQL could have stored a text.
func storable(s string) bool { return !strings.ContainsRune(s, 0) }

// auditCursor is the place after an entry, newest first.
type auditCursor struct {
	at time.Time
	id id.AuditEntry
}

// newestAudit is before all entries.
func newestAudit() auditCursor {
	last := id.AuditEntry{}
	for i := range last {
		last[i] = 0xff
	}
	return auditCursor{at: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), id: last}
}

func (c auditCursor) String() string {
	return strconv.FormatInt(c.at.UnixMicro(), 36) + "." + c.id.UUID().String()
}

func parseAuditCursor(text string) (c auditCursor, err error) {
	if text == "" {
		return newestAudit(), nil
	}
	at, entry, _ := strings.Cut(text, ".")
	micros, err := strconv.ParseInt(at, 36, 64)
	u, idErr := id.ParseUUID(entry)
	if err != nil || idErr != nil || micros < 0 || time.UnixMicro(micros).Year() > 9999 {
		return c, fault.InvalidParameter("page_token", "format", "is not one that a list returned")
	}
	return auditCursor{at: time.UnixMicro(micros).UTC(), id: id.AuditEntry(u)}, nil
}

// ListAuditEntries implements AuditService.
func (s *Server) ListAuditEntries(ctx context.Context, req *authv1.ListAuditEntriesRequest) (*authv1.ListAuditEntriesResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	size, _, err := page(req.GetPageSize(), "")
	if err != nil {
		return nil, err
	}
	after, err := parseAuditCursor(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	filter := auditFilter{actor: req.GetActor(), action: req.GetAction(), target: req.GetTarget()}
	for name, s := range map[string]string{"actor": filter.actor, "action": filter.action, "target": filter.target} {
		if !storable(s) {
			return nil, fault.InvalidParameter(name, "characters", "must not contain control characters")
		}
	}
	if req.Since != nil {
		filter.since = new(req.GetSince().AsTime())
	}
	if req.Until != nil {
		filter.until = new(req.GetUntil().AsTime())
	}
	list, err := s.store.auditEntries(ctx, company, filter, after, size+1)
	if err != nil {
		return nil, err
	}
	resp := &authv1.ListAuditEntriesResponse{}
	if len(list) > size {
		list = list[:size]
		resp.NextPageToken = auditCursor{at: list[size-1].At, id: list[size-1].ID}.String()
	}
	actors := make([]string, len(list))
	for i, e := range list {
		actors[i] = e.Actor
	}
	names, err := s.names(ctx, company, actors)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		resp.Entries = append(resp.Entries, entryMessage(e, names[e.Actor]))
	}
	return resp, nil
}

// names returns the present names of credentials of the company, by their identifiers.
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
	if err != nil {
		return nil, err
	}
	names := make(map[string]string, len(bySubject))
	for subject, u := range bySubject {
		names[subject] = byID[u]
	}
	return names, nil
}

const (
	maxAction      = 64
	maxTarget      = 100
	maxDetailField = 64
	maxDetailText  = 1000
)

var (
	actionForm = regexp.MustCompile(`^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$`)
	// ownThings are what the auth service itself writes about.
	ownThings = []string{"company", "api_client", "api_key", "service_credential", "signing_key", "administrator", "session", "invitation"}
)

// RecordAuditEntry implements AuditService.
func (s *Server) RecordAuditEntry(ctx context.Context, req *authv1.RecordAuditEntryRequest) (*authv1.RecordAuditEntryResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	var check checks
	action := check.text("action", req.GetAction(), 1, maxAction)
	thing, _, _ := strings.Cut(action, ".")
	if action != "" && (!actionForm.MatchString(action) || slices.Contains(ownThings, thing)) {
		check.add("action", "format", "must be <thing>.<what was done>, of a thing that is another service's")
	}
	e := Entry{
		Company: company, ID: id.AuditEntry(s.newID()), At: s.instant(), Actor: rpc.Caller(ctx), Action: action,
		Target: check.text("target", req.GetTarget(), 1, maxTarget), Details: check.details(req.GetDetails()),
	}
	if err := check.err(); err != nil {
		return nil, err
	}
	resp := &authv1.RecordAuditEntryResponse{}
	err = s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		return idem.Do(ctx, tx, req, resp, func() error {
			e, err := withoutForgotten(ctx, tx, e)
			if err != nil {
				return err
			}
			resp.Entry = entryMessage(e, "")
			return s.store.insertEntry(ctx, tx, e)
		})
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func (c *checks) details(in []*authv1.AuditDetail) []Detail {
	out := make([]Detail, len(in))
	for i, d := range in {
		path := fmt.Sprintf("details[%d]", i)
		out[i] = Detail{
			Field:  c.text(path+".field", d.GetField(), 1, maxDetailField),
			Before: c.text(path+".before", d.GetBefore(), 0, maxDetailText), After: c.text(path+".after", d.GetAfter(), 0, maxDetailText),
		}
	}
	return out
}

const (
	insertEntrySQL = `insert into audit_log (company_id, id, at, actor, action, target, details) values ($1, $2, $3, $4, $5, $6, $7)`

	auditEntriesSQL = `select company_id, id, at, actor, action, target, details from audit_log
		where company_id = $1 and (at, id) < ($2, $3)
		and ($5 = '' or action = $5 or (right($5, 1) = '.' and starts_with(action, $5)))
		and ($7::timestamptz is null or at >= $7) and ($8::timestamptz is null or at < $8)`

	// Statements of their own, so that a plan made once for all fits each.
	byActorSQL   = ` and actor = $4`
	anyActorSQL  = ` and $4 = ''`
	byTargetSQL  = ` and target = $6`
	anyTargetSQL = ` and $6 = ''`
	newestSQL    = ` order by at desc, id desc limit $9`

	actorNamesSQL = `select id, name from administrators where company_id = $1 and id = any($2)
		union all select id, name from credentials where company_id = $1 and id = any($2)`
)

// audit writes a line of the audit log, in the transaction of the change.
func (s *store) audit(ctx context.Context, tx *pg.Tx, company id.Company, at time.Time, actor, action, target string, details ...Detail) error {
	return s.insertEntry(ctx, tx, Entry{
		Company: company, ID: id.New[id.AuditEntry](), At: at, Actor: actor, Action: action, Target: target, Details: details,
	})
}

func (s *store) insertEntry(ctx context.Context, tx *pg.Tx, e Entry) error {
	details, err := json.Marshal(e.Details)
	if e.Details == nil {
		details = []byte("[]")
	}
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, insertEntrySQL, zeroable(e.Company), e.ID, e.At, e.Actor, e.Action, e.Target, details)
	return err
}

// auditEntries returns entries of the company from a place on, newest first.
func (s *store) auditEntries(ctx context.Context, company id.Company, f auditFilter, after auditCursor, limit int) ([]Entry, error) {
	actor, target := anyActorSQL, anyTargetSQL
	if f.actor != "" {
		actor = byActorSQL
	}
	if f.target != "" {
		target = byTargetSQL
	}
	list, err := pg.Rows[Entry](ctx, s.db, pg.For(company), auditEntriesSQL+actor+target+newestSQL,
		company, after.at, after.id, f.actor, f.action, f.target, f.since, f.until, limit)
	return list, pg.Fault(err, nil)
}

type actorName struct {
	ID   id.UUID `db:"id"`
	Name string  `db:"name"`
}

func (s *store) actorNames(ctx context.Context, company id.Company, actors map[string]id.UUID) (map[id.UUID]string, error) {
	ids := make([]id.UUID, 0, len(actors))
	for _, u := range actors {
		ids = append(ids, u)
	}
	list, err := pg.Rows[actorName](ctx, s.db, pg.For(company), actorNamesSQL, company, ids)
	if err != nil {
		return nil, pg.Fault(err, nil)
	}
	names := make(map[id.UUID]string, len(list))
	for _, a := range list {
		names[a.ID] = a.Name
	}
	return names, nil
}
