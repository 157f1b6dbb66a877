package customer

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// maxFound is the largest number of matches that are looked up in an index and then sorted. If
// there are more, a walk in the order of the list finds enough of them quickly.
const maxFound = 1000

const (
	foldSQL = `select coalesce(fold(word), '') from unnest($1::text[]) with ordinality as t(word, n) order by n`

	findSQL = `select find_customers($1, $2, $3)`

	findWithAnySQL = `select find_customers_with_any($1, $2, $3)`

	// Reads only customers_search_short.
	findShortSQL = `select id from customers
		where company_id = $1 and deleted_at is null and search is not null and search like all ($2)
			and (cardinality($3::text[]) = 0 or not search like all ($3)) limit $4`
)

// match is the condition for the customers of a tier.
type match struct {
	tier tier
	// ids are the customers that an index has found; nil: the index was not used, or found too
	// many.
	ids          []id.Customer
	like, unlike []string
}

func (m match) where(s *pg.Statement) {
	if m.ids != nil {
		s.And("id = any (%s)", m.ids)
	}
	if len(m.like) > 0 {
		s.And("search is not null and search like all (%s)", m.like)
	}
	if len(m.unlike) > 0 {
		s.And("not search like all (%s)", m.unlike)
	}
}

// search returns a page of the customers that match a query, and their total number. A query of
// nothing but characters that search texts do not have, such as an apostrophe, matches nobody.
func (s *store) search(ctx context.Context, company id.Company, l list) (listed, error) {
	words, err := s.fold(ctx, company, l.filter.query)
	if err != nil {
		return listed{}, err
	}
	l.filter.query = nil
	if len(words) == 0 {
		return listed{}, nil
	}
	if l.tier == oneTypo {
		return s.searchTypos(ctx, company, l, words)
	}
	all := match{tier: anywhere, like: anywhere.patterns(words)}
	if all.ids, err = s.find(ctx, company, words, all); err != nil {
		return listed{}, err
	}
	l.filter.match = &all
	total, err := s.count(ctx, company, l)
	switch {
	case err != nil:
		return listed{}, err
	case total == 0 && l.tier == noTier:
		return s.searchTypos(ctx, company, l, words)
	}
	out, err := s.searchTiers(ctx, company, l, words, all.ids)
	out.total = total
	return out, err
}

// searchTiers fills a page from one tier after the other. ids are all matching customers if they
// are few, otherwise nil.
func (s *store) searchTiers(ctx context.Context, company id.Company, l list, words []string, ids []id.Customer) (out listed, err error) {
	size := l.Size
	for t := max(l.tier, firstTier(words)); t <= anywhere && out.next == ""; t++ {
		m := match{tier: t, ids: ids, like: t.patterns(words), unlike: t.excluded(words)}
		if ids == nil {
			if m.ids, err = s.find(ctx, company, words, m); err != nil {
				return out, err
			}
		}
		l.filter.match, l.Size = &m, size-len(out.customers)
		page, err := s.rows(ctx, company, l)
		if err != nil {
			return out, err
		}
		out.add(l, page)
		if l.Offset, err = s.offsetBehind(ctx, company, l, len(page)); err != nil {
			return out, err
		}
		l.After = new(l.Order.Start())
	}
	return out, nil
}

// offsetBehind returns the rest of a page's offset after a tier that gave found customers.
func (s *store) offsetBehind(ctx context.Context, company id.Company, l list, found int) (int64, error) {
	if l.Offset == 0 || found > 0 {
		return 0, nil
	}
	l.most = l.Offset
	skipped, err := s.count(ctx, company, l)
	return l.Offset - skipped, err
}

// searchTypos returns a page of the customers who match a query with one typo. If there are too
// many, the matches mean nothing and the list is empty.
func (s *store) searchTypos(ctx context.Context, company id.Company, l list, words []string) (listed, error) {
	ids := []id.Customer{}
	for i, word := range words[:min(len(words), maxTypoWords)] {
		alternatives := typos(word)
		if alternatives == nil {
			continue
		}
		rest := anywhere.patterns(slices.Delete(slices.Clone(words), i, i+1))
		found, err := pg.Rows[id.Customer](ctx, s.DB, pg.For(company), findWithAnySQL, alternatives, rest, maxFound+1)
		if err != nil {
			return listed{}, pg.Fault(err, nil)
		}
		if ids = append(ids, found...); len(ids) > maxFound {
			return listed{}, nil
		}
	}
	l.filter.match = &match{tier: oneTypo, ids: ids}
	return s.page(ctx, company, l)
}

// fold returns the words of a query in the form of search texts. The words that the trigram index
// can find come first.
func (s *store) fold(ctx context.Context, company id.Company, query []string) ([]string, error) {
	folded, err := pg.Rows[string](ctx, s.DB, pg.For(company), foldSQL, query)
	if err != nil {
		return nil, pg.Fault(err, nil)
	}
	return distinct(strings.Fields(strings.Join(folded, " "))), nil
}

// find returns the identifiers of the matching customers; nil: more than maxFound.
func (s *store) find(ctx context.Context, company id.Company, words []string, m match) ([]id.Customer, error) {
	unlike := append([]string{}, m.unlike...)
	sql, args := findSQL, []any{m.like, unlike, maxFound + 1}
	if !slices.ContainsFunc(words, m.tier.isIndexed) {
		sql, args = findShortSQL, []any{company, m.like, unlike, maxFound + 1}
	}
	ids := []id.Customer{}
	err := s.Read(ctx, pg.For(company), planSearch(), pg.Query{SQL: sql, Args: args, Scan: func(rows pgx.Rows) (err error) {
		ids, err = pgx.AppendRows(ids, rows, pgx.RowTo[id.Customer])
		return err
	}})
	if err != nil || len(ids) > maxFound {
		return nil, pg.Fault(err, nil)
	}
	return ids, nil
}
