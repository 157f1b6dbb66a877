package browser

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// testExports exports customers with JavaScript, and imports a file, which stays chosen between the steps.
func (w *world) testExports(t *testing.T) {
	b := w.tab(t)
	b.open("/sign-in")
	b.signIn(w.email, w.password)
	b.step("counts the rows of an export while they arrive", func(t *testing.T) {
		b.open("/exports?what=customers&" + exportSpan())
		b.says("match")
		b.do("download", clickVisible(`//main//a[@data-found]`))
		b.do("complete", chromedp.WaitVisible(`//main//*[@role="status" and contains(.,"The export is complete. Rows:")]`))
	})
	b.step("every kind of data is a complete file", func(t *testing.T) {
		for _, kind := range []string{"customers", "registrations", "transactions", "passes", "ledger"} {
			b.open("/exports?what=" + kind + "&" + exportSpan())
			path := b.href(`//main//a[@data-found]`)
			got := eval[string](b, `(() => {
				const file = new XMLHttpRequest();
				file.open("GET", `+quote(t, path)+`, false);
				file.send();
				return file.status + " " + (file.responseText.split("\n").length > 2) + " " + file.getResponseHeader("Content-Type");
			})()`)
			if got != "200 true text/csv; charset=utf-8" {
				t.Errorf("%s: %s", kind, got)
			}
		}
	})
	b.step("imports a file after it was checked", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "customers.csv")
		text := "reference,firstname,lastname,email\nBR-1,Nora,Nile,nora.nile@example.com\nBR-2,Otto,Oder,nobody\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b.open("/exports")
		b.do("choose the file", chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{file}))
		b.do("check", clickVisible(`//main//button[normalize-space()="Check the file"]`))
		b.do("checked", chromedp.WaitVisible(`//main//li[contains(.,"1 customer would be imported.")]`))
		b.says("1 row would be refused.", "email")
		b.do("import", clickVisible(`//main//button[normalize-space()="Import 1 customer"]`))
		b.do("imported", chromedp.WaitVisible(`//main//li[contains(.,"1 customer was imported.")]`))
	})
	w.testImportsOfThings(t, b)
}

// exportSpan is the query for days around the present.
func exportSpan() string {
	now := time.Now()
	return "from=" + now.AddDate(-5, 0, 0).Format(time.DateOnly) + "&to=" + now.AddDate(1, 0, 0).Format(time.DateOnly)
}

// testImportsOfThings imports passes and bookings, and the files of exports again.
func (w *world) testImportsOfThings(t *testing.T, b *tab) {
	ctx := w.company.Ctx(t.Context())
	start := time.Now().Truncate(time.Hour).Add(-7 * 24 * time.Hour).UTC()
	bought := start.AddDate(0, 0, -30).Format(time.DateOnly) // the pass is valid for a year
	from(w.op.Passes.CreatePassType(ctx, &passv1.CreatePassTypeRequest{
		Title: "Former card", TotalUses: 10, ValidityCount: 1, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_YEAR, Price: 9000,
	})).must(t)
	from(w.op.Events.CreateEvent(ctx, &bookingv1.CreateEventRequest{
		Title: "Former class", Type: bookingv1.EventType_EVENT_TYPE_CLASS, PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1200}},
		Dates: []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(start), DurationMinutes: 60}},
	})).must(t)
	upload := func(kind, text, checked, button, done string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), kind+".csv")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b.open("/exports?import=" + kind)
		b.do("choose the file", chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{file}))
		b.do("check", clickVisible(`//main//button[normalize-space()="Check the file"]`))
		b.do("checked", chromedp.WaitVisible(`//main//li[contains(.,"`+checked+`")]`))
		if button != "" {
			b.do("import", clickVisible(`//main//button[normalize-space()="`+button+`"]`))
			b.do("imported", chromedp.WaitVisible(`//main//li[contains(.,"`+done+`")]`))
		}
	}
	b.step("imports passes of the customers who were imported", func(*testing.T) {
		upload("passes", "reference,email,title,start_date,remaining_uses\nBP-1,nora.nile@example.com,Former card,"+bought+",4\n"+
			"BP-2,nobody@example.com,Former card,"+bought+",4\n", "1 pass would be imported.", "Import 1 pass", "1 pass was imported.")
		b.says("1 row was refused.", "no customer with the e-mail address “nobody@example.com”")
	})
	b.step("imports bookings, also those by imported passes", func(*testing.T) {
		at := start.Format(time.RFC3339)
		upload("bookings", "reference,email,purchased_at,event,starts_at,method,currency,gross,credits_used,customer_pass_id\n"+
			"BB-1,nora.nile@example.com,"+bought+",Former class,"+at+",CASH,GBP,12.00,,\nBB-2,nora.nile@example.com,"+bought+",former CLASS,"+at+",PASS,,,1,BP-1\n"+
			"BB-3,nora.nile@example.com,"+bought+",Another class,"+at+",CASH,GBP,12.00,,\n", "2 bookings would be imported.", "Import 2 bookings", "2 bookings were imported.")
		b.says("1 row was refused.", "no event with the title", "Another class")
	})
	for what, kind := range map[string]string{"passes": "passes", "transactions": "bookings"} {
		b.step("finds everything of an export of "+what+" again", func(*testing.T) {
			exported := eval[string](b, `(() => {
				const file = new XMLHttpRequest();
				file.open("GET", "/exports/file?what=`+what+`&`+exportSpan()+`", false);
				file.send();
				return file.responseText;
			})()`)
			upload(kind, exported, "0 "+kind+" would be imported.", "", "")
		})
	}
}
