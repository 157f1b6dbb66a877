package browser

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// testExports exports customers with JavaScript, and imports a file, which stays chosen between the steps.
func (w *world) testExports(t *testing.T) {
	b := w.tab(t)
	b.open("/sign-in")
	b.signIn(w.email, w.password)
	b.step("counts the rows of an export while they arrive", func(t *testing.T) {
		b.open("/exports?what=customers&from=2020-01-01&to=2029-01-01")
		b.says("match")
		b.do("download", clickVisible(`//main//a[@data-found]`))
		b.do("complete", chromedp.WaitVisible(`//main//*[@role="status" and contains(.,"The export is complete. Rows:")]`))
	})
	b.step("every kind of data is a complete file", func(t *testing.T) {
		for _, kind := range []string{"customers", "registrations", "transactions", "passes", "ledger"} {
			b.open("/exports?what=" + kind + "&from=2020-01-01&to=2029-01-01")
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
}
