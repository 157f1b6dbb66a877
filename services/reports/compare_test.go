package reports

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/pg"
)

// sums returns all rows of the sums of a generation that are not zero, as text.
func (w *world) sums(generation int64) []string {
	w.t.Helper()
	var all []string
	for _, v := range verifications {
		columns := strings.Fields(v.columns)
		sql := "select concat_ws(' ', '" + v.table + "', " + strings.Join(append(strings.Fields(v.keys), columns...), ", ") + ") from " + v.table +
			" where company_id = $1 and generation = $2 and (" + strings.Join(columns, " <> 0 or ") + " <> 0)"
		err := w.db.Stream(w.t.Context(), pg.For(w.company), sql, []any{w.company, generation}, func(rows pgx.Rows) error {
			var row string
			err := rows.Scan(&row)
			all = append(all, row)
			return err
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	slices.Sort(all)
	return all
}

// sameSums fails the test for each row that only one of two generations has.
func sameSums(t *testing.T, got, want []string) {
	t.Helper()
	if len(want) == 0 {
		t.Error("there are no sums")
	}
	for _, row := range got {
		if _, found := slices.BinarySearch(want, row); !found {
			t.Errorf("only one of the two has %s", row)
		}
	}
	for _, row := range want {
		if _, found := slices.BinarySearch(got, row); !found {
			t.Errorf("only the other one has %s", row)
		}
	}
}

func (w *world) compare(b *business) { _ = fmt.Sprint(b) }
