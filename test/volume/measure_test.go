package volume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// maxPage is the most that a page and its assets transfer, in bytes.
	maxPage = 150_000
	// maxStatements and maxBlocks are the most that a request runs and reads. The bookings and the transactions
	// have 50,000 blocks.
	maxStatements = 120
	maxBlocks     = 12_000
	// maxBusiest is the most that a request reads for an object that has thousands of bookings: up to 25 blocks
	// for each of them.
	maxBusiest = 50_000
	// maxWaitlists is the most that a list of the entries of all waitlists reads. Its total looks up the date of
	// each entry, because an entry no longer waits once its date has started: 3 blocks for each of 48,000 entries.
	maxWaitlists = 150_000
	// repeats is the number of measured requests of a page, after one that is not measured.
	repeats = 5
)

// cost is what a request costs.
type cost struct {
	path string
	// plain is the page, sent is what is transferred, and total includes the assets, in bytes.
	plain, sent, total int
	took               time.Duration // median
	// statements, rows and blocks are those of the databases.
	statements, rows, blocks int64
}

const (
	resetSQL = `select pg_stat_statements_reset()`
	// The statements of the measurement are left out.
	costSQL = `select coalesce(sum(calls), 0)::bigint, coalesce(sum(rows), 0)::bigint, coalesce(sum(shared_blks_hit + shared_blks_read), 0)::bigint
		from pg_stat_statements where query not like '%pg_stat_statements%'`
)

// measure requests one thing several times, one after the other.
func measure(ctx context.Context, db *pgx.Conn, path string, request func() (answer, error)) (c cost, last answer, err error) {
	c.path = path
	if _, err = request(); err != nil {
		return c, last, err
	}
	var times []time.Duration
	for range repeats {
		if _, err = db.Exec(ctx, resetSQL); err != nil {
			return c, last, err
		}
		if last, err = request(); err != nil {
			return c, last, err
		}
		var statements, rows, blocks int64
		if err = db.QueryRow(ctx, costSQL).Scan(&statements, &rows, &blocks); err != nil {
			return c, last, err
		}
		// Jobs run at the same time. The cheapest request has the fewest statements of them.
		if len(times) == 0 || blocks < c.blocks {
			c.statements, c.rows, c.blocks = statements, rows, blocks
		}
		times = append(times, last.took)
	}
	slices.Sort(times)
	c.took, c.plain, c.sent, c.total = times[len(times)/2], len(last.body), last.sent, last.sent
	return c, last, nil
}

// check returns what is too much. Most is the largest number of blocks.
func (c cost) check(most int64) error {
	var faults []error
	if c.total > maxPage {
		faults = append(faults, fmt.Errorf("%s transfers %d bytes", c.path, c.total))
	}
	if c.statements > maxStatements || c.blocks > most {
		faults = append(faults, fmt.Errorf("%s reads %d blocks in %d statements", c.path, c.blocks, c.statements))
	}
	return errors.Join(faults...)
}

// write writes costs as a table, the slowest first.
func write(to io.Writer, costs []cost) {
	costs = slices.SortedFunc(slices.Values(costs), func(x, y cost) int { return cmp.Compare(y.took, x.took) })
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "ms\tpage, B\tsent, B\twith assets, B\tstatements\trows\tblocks\t\tpath")
	for _, c := range costs {
		fmt.Fprintf(table, "%.1f\t%d\t%d\t%d\t%d\t%d\t%d\t\t%s\n", float64(c.took)/float64(time.Millisecond), c.plain, c.sent, c.total, c.statements, c.rows, c.blocks, c.path)
	}
	_ = table.Flush()
}
