package tenancy

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// TestData implements TestDataService for the database of a service.
type TestData struct {
	authv1.UnimplementedTestDataServiceServer
	db   *pg.DB
	keep []string
}

// NewTestData returns a server that deletes the test data in the tenant tables of db, except the copy
// of the companies and the tables in keep.
func NewTestData(db *pg.DB, keep ...string) *TestData {
	return &TestData{db: db, keep: append(keep, "companies")}
}

const (
	// tenantTablesSQL lists the tables that tenant_table confines to one company, each with the
	// tables that it references. Partitions are left out, because the rows of a partition are
	// deleted through its table: a service has no rights on the partitions that it adds later.
	tenantTablesSQL = `select t.relname as name, coalesce(array_agg(r.relname) filter (where r.oid <> t.oid), '{}') as references
		from pg_policy p
		join pg_class t on t.oid = p.polrelid
		left join pg_constraint f on f.conrelid = t.oid and f.contype = 'f'
		left join pg_class r on r.oid = f.confrelid
		where p.polname = 'tenant' and t.relkind in ('r', 'p') and not t.relispartition group by t.relname order by t.relname`

	// deletedAtOnce is the number of rows that one commit deletes.
	deletedAtOnce = 5000

	// foreignKeyViolation is an error code of PostgreSQL.
	foreignKeyViolation = "23503"
)

// tenantTable is a table with rows of companies.
type tenantTable struct {
	Name       string   `db:"name"`
	References []string `db:"references"`
}

// DeleteTestData implements TestDataService.
func (d *TestData) DeleteTestData(ctx context.Context, _ *authv1.DeleteTestDataRequest) (*authv1.DeleteTestDataResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	if !company.IsTest() {
		return nil, fault.LiveMode()
	}
	tables, err := pg.Rows[tenantTable](ctx, d.db, pg.For(company), tenantTablesSQL)
	if err != nil {
		return nil, pg.Fault(err, nil)
	}
	resp := &authv1.DeleteTestDataResponse{}
	for _, table := range inOrder(tables) {
		if slices.Contains(d.keep, table) {
			continue
		}
		n, err := d.empty(ctx, company, table)
		var refused *pgconn.PgError
		if errors.As(err, &refused) && refused.Code == foreignKeyViolation {
			return nil, errBeingAdded.Because(err)
		}
		if err != nil {
			return nil, pg.Fault(err, nil)
		}
		resp.Deleted += n
	}
	return resp, nil
}

// errBeingAdded says that a request has added a row for one that was about to be deleted.
var errBeingAdded = fault.New(fault.Conflict, fault.ReasonIdempotencyInProgress, "test data are being added").After(time.Second)

// empty deletes the rows of a company in a table, in several commits, until it finds none. If others
// delete the same rows, it finds some and deletes none.
func (d *TestData) empty(ctx context.Context, company id.Company, table string) (deleted int64, err error) {
	name := pgx.Identifier{table}.Sanitize()
	sql := "with found as (select array(select ctid from " + name + " where company_id = $1 limit $2) as rows), " +
		"gone as (delete from " + name + " where company_id = $1 and ctid = any ((select rows from found)::tid[]) returning 1) " +
		"select cardinality((select rows from found)), (select count(*) from gone)"
	for {
		var found, gone int64
		err := d.db.InTx(ctx, pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
			return tx.QueryRow(ctx, sql, company, deletedAtOnce).Scan(&found, &gone)
		})
		if deleted += gone; err != nil || found == 0 {
			return deleted, err
		}
	}
}

// inOrder returns the names of tables so that each table comes before those that it references.
func inOrder(tables []tenantTable) (names []string) {
	waiting := map[string]int{} // the number of tables before a table
	references := map[string][]string{}
	for _, t := range tables {
		references[t.Name] = t.References
		for _, r := range t.References {
			waiting[r]++
		}
	}
	for _, t := range tables {
		if waiting[t.Name] == 0 {
			names = append(names, t.Name)
		}
	}
	for i := 0; i < len(names); i++ {
		for _, r := range references[names[i]] {
			if waiting[r]--; waiting[r] == 0 {
				names = append(names, r)
			}
		}
	}
	return names
}
