package browser

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/test/harness"
)

// testReports answers an owner's ten questions about last month. After signing in, the owner only clicks. Each answer
// is compared with the data of the services that own it, in statements that share nothing with the reports.
func (w *world) testReports(t *testing.T) { // invariant 1
	s := w.newReported(t)
	b := &reader{tab: w.tab(t), data: s.ownersData()}
	b.open("/sign-in")
	b.signIn(s.email, s.password)
	b.switchMode()
	b.ask("How much did we take last month, and was it more or less than in the month before?", takenSQL, func() []string {
		b.lastMonth("Takings")
		total := b.table().row("Total")
		return []string{total["Takings"], total["Before"], total["Change"]}
	})
	b.ask("How much was paid by card, and how much in cash?", methodsSQL, func() []string {
		b.lastMonth("Takings")
		b.follow("Payment method")
		methods := b.table()
		return []string{methods.row("Card")["Takings"], methods.row("Cash")["Takings"]}
	})
	b.ask("How much tax did we take at each rate?", taxSQL, func() []string {
		b.lastMonth("Takings")
		b.follow("Tax rate")
		var rates []string
		for _, row := range b.table().Rows {
			rates = append(rates, row["Tax rate"]+": "+row["Tax"])
		}
		return rates
	})
	b.ask("Which class took the most?", bestClassSQL, func() []string {
		b.lastMonth("Takings")
		b.follow("Product")
		products := b.table()
		best := slices.IndexFunc(products.Links, func(link string) bool { return strings.HasPrefix(link, "/events/") })
		if best < 0 {
			return nil
		}
		return []string{products.Rows[best]["Product"], products.Rows[best]["Takings"]}
	})
	b.ask("How much was refunded?", refundedSQL, func() []string {
		b.lastMonth("Takings")
		return []string{b.tile("Refunded"), b.table().row("Total")["Refunded"]}
	})
	b.ask("How many came, and how many did not show up?", attendedSQL, func() []string {
		b.lastMonth("Attendance")
		return []string{b.tile("Attended"), b.tile("No-shows")}
	})
	b.ask("Which class and which weekday was the fullest?", fullestSQL, func() []string {
		b.lastMonth("Attendance")
		b.follow("Event")
		class := b.table().largest("Occupancy")
		b.follow("Weekday")
		weekday := b.table().largest("Occupancy")
		return []string{class["Event"] + " " + class["Occupancy"], weekday["Weekday"] + " " + weekday["Occupancy"]}
	})
	b.ask("How many credits are outstanding, and what are they worth?", creditsSQL, func() []string {
		b.lastMonth("Credits outstanding")
		return []string{b.tile("Credits at the end"), b.tile("Worth at the end")}
	})
	b.ask("How many customers were new, and how many did we lose?", customersSQL, func() []string {
		b.lastMonth("Customers")
		return []string{b.tile("New"), b.tile("Lost")}
	})
	b.ask("Which passes expire in the next 30 days?", expiringSQL, func() []string {
		b.reports()
		b.follow("Passes that expire soon")
		b.follow("Next 30 days")
		var passes []string
		for _, row := range b.table().Rows {
			passes = append(passes, strings.Join([]string{row["Customer"], row["Pass"], row["Credits left"], row["Worth"]}, ", "))
		}
		slices.Sort(passes)
		return passes
	})
	b.step("shows a span that has only refunds, in the overview and as columns below 0", func(t *testing.T) {
		day := s.at(1, 5).Format(time.DateOnly)
		b.reports()
		b.choose("From", day)
		b.choose("To", day)
		b.follow("Show")
		b.says("−£12.00")
		if n := b.count(`//main//section[@aria-labelledby="takings"]//*[name()="rect"][@class="in-span below"]`); n != 1 {
			t.Errorf("%d columns are below 0", n)
		}
	})
	b.step("downloads the passes that expire as a file", func(t *testing.T) {
		b.reports()
		b.follow("Passes that expire soon")
		file := eval[string](b.tab, `(() => {
			const file = new XMLHttpRequest();
			file.open("GET", `+quote(t, b.href(control("Download as CSV")))+`, false);
			file.send();
			return file.responseText;
		})()`)
		if rows := strings.Split(strings.TrimSpace(file), "\n"); len(rows) != 3 || !strings.Contains(file, ",Cleo Studio,") {
			t.Errorf("the file is %q", file)
		}
	})
	b.quiet()
}

// reader is an owner who reads reports.
type reader struct {
	*tab
	data *ownersData
}

// ask finds an answer on the pages and compares it with the rows of a statement. The reports follow changes within
// seconds, so it looks again until they do.
func (b *reader) ask(question, sql string, answer func() []string) {
	b.t.Helper()
	b.step(question, func(t *testing.T) {
		want := b.data.rows(t, sql)
		harness.Eventually(t, stepLimit, func() error {
			if got := answer(); len(want) == 0 || !slices.Equal(got, want) {
				return fmt.Errorf("%s\nthe page says %q, and the data of the owners %q:\n%s", b.path(), got, want, b.text())
			}
			return nil
		})
	})
}

// reports opens the overview from the menu.
func (b *reader) reports() {
	b.t.Helper()
	b.followAt("Reports", `//header[contains(@class,"side")]//nav//a[normalize-space()="Reports"]`)
}

// lastMonth opens a report of last month from the menu.
func (b *reader) lastMonth(report string) {
	b.t.Helper()
	b.reports()
	b.follow("Last month")
	b.follow(report)
}

// tile returns the figure of the whole span with a label.
func (b *reader) tile(label string) string {
	b.t.Helper()
	return b.textAt(`//main//ul[@class="tiles"]/li[span[1][normalize-space()=` + literal(label) + `]]/strong`)
}

// reportTable is the table of a page: its rows by the labels of the columns, and the links of their first cells.
type reportTable struct {
	Rows  []map[string]string
	Links []string
	Total map[string]string
}

// table reads the table of the page; without rows if there is none.
func (b *reader) table() reportTable {
	b.t.Helper()
	text := eval[string](b.tab, `(() => {
		const cells = row => [...row.cells].map(cell => cell.textContent.trim().replace(/\s+/g, " "));
		const table = document.querySelector("main table");
		if (!table) return JSON.stringify({Rows: [], Links: []});
		const names = cells(table.tHead.rows[0]);
		const read = row => Object.fromEntries(cells(row).map((cell, i) => [names[i], cell]));
		const rows = [...table.tBodies[0].rows];
		return JSON.stringify({
			Rows: rows.map(read), Links: rows.map(row => row.cells[0].querySelector("a")?.getAttribute("href") ?? ""),
			Total: table.tFoot ? read(table.tFoot.rows[0]) : null,
		});
	})()`)
	var t reportTable
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		b.t.Fatal(err)
	}
	return t
}

// row returns the row with a label, or the total.
func (t reportTable) row(label string) map[string]string {
	if label == "Total" {
		return t.Total
	}
	for _, row := range t.Rows {
		for _, cell := range row {
			if cell == label {
				return row
			}
		}
	}
	return nil
}

// largest returns the row with the largest percentage in a column.
func (t reportTable) largest(column string) (found map[string]string) {
	most := -1
	for _, row := range t.Rows {
		if n, err := strconv.Atoi(strings.TrimSuffix(row[column], "%")); err == nil && n > most {
			found, most = row, n
		}
	}
	return found
}

// ownersData reads the data of the company in the databases of their owners.
func (s *reported) ownersData() *ownersData {
	s.t.Helper()
	d := &ownersData{s, s.database(s.t, "postgres")}
	last, next := s.at(1, 1), s.at(2, 1)
	if _, err := d.to.Exec(s.t.Context(), tablesSQL); err != nil {
		s.t.Fatal(err)
	}
	if _, err := d.to.Exec(s.t.Context(), `insert into months values ($1::date, $2::date, $3::date)`, s.first, last, next); err != nil {
		s.t.Fatal(err)
	}
	d.copy("booking", "money", bookingMoneySQL)
	d.copy("booking", "money", bookingRefundsSQL)
	d.copy("pass", "money", passMoneySQL)
	d.copy("subscription", "money", periodMoneySQL)
	d.copy("booking", "dates", datesSQL)
	d.copy("booking", "visits", visitsSQL)
	d.copy("customer", "people", peopleSQL)
	d.copy("pass", "passes", passesSQL)
	d.copy("pass", "entries", entriesSQL)
	d.copy("subscription", "plans", plansSQL)
	return d
}

// rows returns the rows of a statement of one text column.
func (d *ownersData) rows(t *testing.T, sql string) []string {
	t.Helper()
	found, err := d.to.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := pgx.CollectRows(found, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
