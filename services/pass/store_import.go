package pass

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/customers"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
)

const (
	// Only one import of passes of a company runs at a time, so that two with the same references cannot both find
	// them missing.
	lockImportsSQL = `select pg_advisory_xact_lock(hashtextextended('import passes ' || $1::uuid::text, 0))`

	// A reference can also be the identifier of a pass, as in an exported file.
	importedPassesSQL = `select reference, id from customer_passes where company_id = $1 and reference = any($2)`

	passesByIDSQL = `select id from customer_passes where company_id = $1 and id` + pg.AmongIDs

	importTypesSQL = `select ` + passTypeColumns + ` from pass_types where company_id = $1 and id` + pg.AmongIDs

	// Pass types by title, each with the place of the title that names it. Those of plans are not sold on their own.
	importTitlesSQL = `select n.nth, ` + passTypeColumns + ` from unnest($2::text[]) with ordinality n(named, nth)
		join pass_types on company_id = $1 and plan_version is null and lower(title) = lower(n.named)`

	insertImportedSQL = `insert into customer_passes (company_id, id, reference, customer_id, pass_type_id, total_uses, remaining_uses, unlimited_uses,
			start_date, expiry_date, status, paused_on, paused_at, version, created_at, updated_at, created_on,
			paid_gross, paid_currency, paid_method, paid_reference)
		select $1, n.* from unnest($2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::integer[], $7::integer[], $8::boolean[],
			$9::date[], $10::date[], $11::text[], $12::date[], $13::timestamptz[], $14::bigint[], $15::timestamptz[], $16::timestamptz[], $17::date[],
			$18::bigint[], $19::text[], $20::text[], $21::text[]) n`

	insertImportedLedgerSQL = `insert into ledger_entries (company_id, customer_pass_id, sequence, kind, credits, balance, actor, created_at, day, reason)
		select $1, n.* from unnest($2::uuid[], $3::bigint[], $4::text[], $5::integer[], $6::integer[], $7::text[], $8::timestamptz[], $9::date[], $10::text[]) n`

	countImportedSQL = `insert into pass_totals as t (company_id, customer_passes) values ($1, $2)
		on conflict (company_id) do update set customer_passes = t.customer_passes + excluded.customer_passes`
)

// importReferenceKey is the constraint that an import violates if another transaction has stored a reference since
// this one looked for it.
const importReferenceKey = "customer_passes_reference"

// importFound is what an import finds of what its lines refer to.
type importFound struct {
	// existing are the passes by reference; the identifier of one that a dry run would have created is zero.
	existing map[string]id.CustomerPass
	types    passTypes
	// missing are the customers who do not exist, or are deleted or erased.
	missing map[id.Customer]bool
}

// decide returns the pass that a line creates, and its type.
func (f importFound) decide(line importedPass, at moment, zone *time.Location) (p CustomerPass, t PassType, err error) {
	if f.missing[line.customer] {
		return p, t, refuseImport("customer_id", "exists", "does not exist")
	}
	if t, err = f.types.of(line); err == nil {
		p, err = line.pass(t, at, zone)
	}
	return p, t, err
}

// openImport reads what the lines of a batch refer to. Unless the batch is a dry run, it locks the customers, so that
// their deletion is confirmed only after the commit.
func (s *store) openImport(ctx context.Context, tx *pg.Tx, b *passBatch, missing map[id.Customer]bool) (f importFound, err error) {
	f = importFound{
		existing: map[string]id.CustomerPass{}, missing: map[id.Customer]bool{},
		types: passTypes{byID: map[id.PassType]PassType{}, byTitle: map[string][]PassType{}},
	}
	var references, titles []string
	var types []id.PassType
	for _, line := range b.lines {
		if line.failed != nil {
			continue
		}
		references = append(references, line.reference)
		if b.earlier[line.reference] && b.dryRun {
			f.existing[line.reference] = id.CustomerPass{}
		}
		if !line.passType.IsZero() {
			types = append(types, line.passType)
		}
		if line.title != "" {
			titles = append(titles, line.title)
		}
	}
	slices.Sort(titles)
	titles = slices.Compact(titles)
	erased, deleted := map[id.Customer]bool{}, map[id.Customer]bool{}
	for customer := range missing {
		f.missing[customer] = true
	}
	present := slices.DeleteFunc(slices.Clone(b.customers), func(c id.Customer) bool { return missing[c] })
	slices.SortFunc(present, func(x, y id.Customer) int { return bytes.Compare(x[:], y[:]) })
	var queries []pg.Query
	if !b.dryRun {
		queries = append(queries, pg.Query{SQL: lockImportsSQL, Args: []any{b.company.ID}}, customers.Add(b.company.ID, present),
			customers.Lock(b.company.ID, present, deleted))
	}
	queries = append(queries, privacy.ErasedAmong(b.company.ID, present, erased))
	queries = append(queries, passesByReference(b.company.ID, references, f.existing)...)
	err = tx.Pipeline(ctx, append(queries,
		pg.Query{SQL: importTypesSQL, Args: []any{b.company.ID, types}, Scan: pg.Each(func(rows pgx.Rows) error {
			t, err := pgx.RowToStructByName[PassType](rows)
			f.types.byID[t.ID] = t
			return err
		})},
		pg.Query{SQL: importTitlesSQL, Args: []any{b.company.ID, titles}, Scan: pg.Each(func(rows pgx.Rows) error {
			t, err := pgx.RowToStructByName[titledType](rows)
			if err == nil {
				title := titles[t.Nth-1]
				f.types.byTitle[title] = append(f.types.byTitle[title], t.PassType)
			}
			return err
		})})...)
	for customer := range erased {
		f.missing[customer] = true
	}
	if !b.dryRun {
		for _, customer := range present {
			if gone, known := deleted[customer]; gone || !known {
				f.missing[customer] = true
			}
		}
	}
	return f, err
}

// titledType is a pass type with the place of the title that names it.
type titledType struct {
	Nth int64 `db:"nth"`
	PassType
}

// passesByReference returns the queries that store in found the passes of references. A reference that is the
// identifier of a pass means that pass.
func passesByReference(company id.Company, references []string, found map[string]id.CustomerPass) []pg.Query {
	var ids []id.CustomerPass
	for _, reference := range references {
		if pass, err := id.Parse[id.CustomerPass](reference); err == nil {
			ids = append(ids, pass)
		}
	}
	return []pg.Query{
		{SQL: importedPassesSQL, Args: []any{company, references}, Scan: pg.Each(func(rows pgx.Rows) error {
			var reference string
			var pass id.CustomerPass
			err := rows.Scan(&reference, &pass)
			found[reference] = pass
			return err
		})},
		{SQL: passesByIDSQL, Args: []any{company, ids}, Scan: pg.Each(func(rows pgx.Rows) error {
			var pass id.CustomerPass
			err := rows.Scan(&pass)
			found[pass.String()] = pass
			return err
		})},
	}
}

// importedPasses returns passes by the references under which they were imported, or by their identifiers.
func (s *store) importedPasses(ctx context.Context, company id.Company, references []string) (map[string]id.CustomerPass, error) {
	references = slices.DeleteFunc(slices.Clone(references), func(r string) bool { return !utf8.ValidString(r) || strings.ContainsRune(r, 0) })
	found := map[string]id.CustomerPass{}
	err := s.ReadOf(ctx, company, passesByReference(company, references, found)...)
	return found, err
}

// importRows are the rows that an import adds, by column.
type importRows struct {
	references []string
	passes     []CustomerPass
	entries    []LedgerEntry
	of         []id.CustomerPass // of each entry
}

func (r *importRows) add(p CustomerPass, reference string, ledger []LedgerEntry) {
	r.references, r.passes = append(r.references, reference), append(r.passes, p)
	for _, e := range ledger {
		r.entries, r.of = append(r.entries, e), append(r.of, p.ID)
	}
}

// column returns a value of each element.
func column[T, V any](all []T, value func(*T) V) []V {
	values := make([]V, len(all))
	for i := range all {
		values[i] = value(&all[i])
	}
	return values
}

// insert returns the statements that insert the rows.
func (r *importRows) insert(company id.Company) []pg.Query {
	p, e := r.passes, r.entries
	return []pg.Query{
		{SQL: insertImportedSQL, Args: []any{
			company, column(p, func(p *CustomerPass) id.CustomerPass { return p.ID }), r.references,
			column(p, func(p *CustomerPass) id.Customer { return p.CustomerID }), column(p, func(p *CustomerPass) id.PassType { return p.PassTypeID }),
			column(p, func(p *CustomerPass) int32 { return p.TotalUses }), column(p, func(p *CustomerPass) int32 { return p.RemainingUses }),
			column(p, func(p *CustomerPass) bool { return p.UnlimitedUses }), column(p, func(p *CustomerPass) time.Time { return p.StartDate }),
			column(p, func(p *CustomerPass) time.Time { return p.ExpiryDate }), column(p, func(p *CustomerPass) string { return p.Status }),
			column(p, func(p *CustomerPass) *time.Time { return p.PausedOn }), column(p, func(p *CustomerPass) *time.Time { return p.PausedAt }),
			column(p, func(p *CustomerPass) int64 { return p.Version }), column(p, func(p *CustomerPass) time.Time { return p.CreatedAt }),
			column(p, func(p *CustomerPass) time.Time { return p.UpdatedAt }), column(p, func(p *CustomerPass) *time.Time { return p.CreatedOn }),
			column(p, func(p *CustomerPass) *int64 { return p.PaidGross }), column(p, func(p *CustomerPass) *string { return p.PaidCurrency }),
			column(p, func(p *CustomerPass) *string { return p.PaidMethod }), column(p, func(p *CustomerPass) *string { return p.PaidReference }),
		}},
		{SQL: insertImportedLedgerSQL, Args: []any{
			company, r.of, column(e, func(e *LedgerEntry) int64 { return e.Sequence }), column(e, func(e *LedgerEntry) string { return e.Kind }),
			column(e, func(e *LedgerEntry) int32 { return e.Credits }), column(e, func(e *LedgerEntry) int32 { return e.Balance }),
			column(e, func(e *LedgerEntry) string { return e.Actor }), column(e, func(e *LedgerEntry) time.Time { return e.CreatedAt }),
			column(e, func(e *LedgerEntry) *time.Time { return e.Day }), column(e, func(e *LedgerEntry) *string {
				if e.Reason == "" {
					return nil
				}
				return &e.Reason
			}),
		}},
		{SQL: countImportedSQL, Args: []any{company, len(p)}},
	}
}
