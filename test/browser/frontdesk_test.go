package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// hostile is a customer's name that runs as a script in a page that does not escape it.
const hostile = `<script>document.title="taken"</script>`

// arabic is an event's title that reads from right to left.
const arabic = "يوغا الصباح"

// addEvent adds an event with two spaces that starts in some days, and leaves the tab on the
// page of its first date.
func (b *tab) addEvent(title string, days int, policy string) {
	b.t.Helper()
	b.open("/events/new")
	b.fill("Title", title)
	start := time.Now().AddDate(0, 0, days).Format("2006-01-02") + "T18:30"
	b.do("start", chromedp.SetValue(field("Start"), start, chromedp.NodeVisible))
	b.fill("Duration in minutes", "60")
	b.fill("Spaces", "2")
	b.fill("Price", "14.50")
	b.fill("Free cancellation until", policy)
	b.follow("Add the event")
	b.followAt("the first date", "//main//table//a[1]")
}

// book books one space by card; the tab is on the page of a date.
func (b *tab) book(customer string) {
	b.t.Helper()
	b.follow("Book")
	b.fill("Who is the booking for?", customer)
	b.follow("Search")
	b.followAt(customer, "(//main//a[contains(@class,'slot')])[1]")
	b.fill("Payment reference", "till 42")
	b.follow("Book")
}

// openBooking opens the first booking of the roster.
func (b *tab) openBooking() {
	b.t.Helper()
	b.followAt("the booking", `(//*[@id="roster"]//a[@class="name"])[1]`)
}

func (w *world) testFrontDesk(t *testing.T) { // invariant 1
	b := w.signedIn(t)
	b.step("shows how full dates are, today and in the week", func(t *testing.T) {
		b.open("/")
		b.says("Today", "Europe/London")
		b.open("/week")
		b.says("booked")
		b.quiet()
	})
	b.step("shows a customer's name that looks like a script as text", func(t *testing.T) {
		b.open("/customers")
		b.follow("Add customer")
		b.fill("First name", hostile)
		b.fill("Last name", "Tables")
		b.fill("E-mail address", "tables@example.org")
		b.follow("Add the customer")
		b.says(hostile)
		b.untaken()
	})
	b.step("finds customers while typing", func(t *testing.T) {
		b.open("/customers")
		b.fill("Name, e-mail address or telephone number", "tables@exa")
		b.do("found", chromedp.WaitVisible(`//*[@id="found"]//*[contains(text(),"1 customer found")]`))
		b.says(hostile)
		b.untaken()
	})
	b.step("adds an event with a title from right to left", func(t *testing.T) {
		b.addEvent(arabic, 3, "24")
		b.says(arabic, "0 of 2 spaces booked", "No bookings yet")
		direction := eval[string](b, `getComputedStyle(document.querySelector("h1")).direction`)
		if direction != "rtl" {
			t.Errorf("its title reads %s", direction)
		}
		b.quiet()
	})
	b.step("confirms a booking and takes the space", func(t *testing.T) {
		b.book("tables")
		b.says("Booked: 1 space for "+hostile, "14.50", "1 of 2 spaces booked")
		b.untaken()
	})
	b.step("checks in and undoes the check-in", func(t *testing.T) {
		b.do("Check in", clickVisible(`//*[@id="roster"]//button[starts-with(normalize-space(),"Check in")]`))
		b.until(`document.getElementById("said").textContent.startsWith("Checked in: ")`)
		b.says("1 of 1 have come")
		b.do("More", clickVisible(`//*[@id="roster"]//summary`))
		b.do("Undo", clickVisible(`//*[@id="roster"]//button[starts-with(normalize-space(),"Undo")]`))
		b.until(`document.getElementById("said").textContent.startsWith("Undone: ")`)
		b.says("0 of 1 have come")
		b.quiet()
	})
	b.step("shows the outcome under the policy before cancelling", func(t *testing.T) {
		b.openBooking()
		b.follow("Cancel…")
		b.says("1 space becomes free", "Refund due: £14.50.")
		b.follow("Cancel the booking")
		b.says("Cancelled")
		b.follow("Record the refund…")
		b.follow("Record the refund")
		b.says("Refunded")
		b.followAt("the date", `//main//p[@class="crumb"]/a`)
		b.says("0 of 2 spaces booked")
		b.quiet()
	})
	b.step("says that a late cancellation is not refunded", func(t *testing.T) {
		b.addEvent("Late evening", 2, "240")
		b.book("tables")
		b.openBooking()
		b.says("money is not refunded and credits are not returned")
		b.follow("Cancel…")
		b.says("Money is not refunded and credits are not returned.")
		b.quiet()
	})
	b.step("offers the waitlist on a full date", func(t *testing.T) {
		b.addEvent("Two at most", 4, "")
		b.book("tables")
		b.book("a")
		b.says("Full: 2 spaces")
		b.follow("Add to the waitlist")
		b.fill("Who is the booking for?", "tables")
		b.follow("Search")
		b.followAt("the customer", "(//main//a[contains(@class,'slot')])[1]")
		b.follow("Add to the waitlist")
		b.says("is on the waitlist", "1 waiting")
		b.quiet()
	})
}

// addDiscount adds a discount code of 10 %.
func (b *tab) addDiscount(code string) {
	b.t.Helper()
	b.open("/discounts/new")
	b.fill("Code", code)
	b.fill("Discount", "10")
	b.follow("Add the code")
	b.says(code, "10% off", "Active")
}

func (w *world) testEditing(t *testing.T) { // invariant 1
	b := w.signedIn(t)
	in := func(days int) string { return time.Now().AddDate(0, 0, days).Format("2006-01-02") + "T19:00" }
	b.step("lists the affected customers before a date moves", func(t *testing.T) {
		b.addEvent("Slow flow", 5, "")
		b.book("a")
		b.follow("Edit this date…")
		b.choose("Start", in(6))
		b.follow("Save")
		b.says("Affected customers", "1 space", "New time")
		b.follow("Move the date")
		b.says("The date was changed", "1 of 2 spaces booked")
		b.quiet()
	})
	b.step("refuses fewer spaces than are booked", func(t *testing.T) {
		b.follow("Edit this date…")
		b.fill("Spaces", "0")
		b.follow("Save")
		b.takeProblems() // a form that is refused is answered 422
		b.says("There must be at least 1 space")
		b.fill("Spaces", "3")
		b.follow("Save")
		b.says("1 of 3 spaces booked")
		b.quiet()
	})
	b.step("edits an event", func(t *testing.T) {
		b.followAt("all dates", `//main//p[@class="crumb"]/a`)
		b.followAt("edit the event", `//main//a[contains(@href,"/edit")]`)
		b.fill("Title", "Slower flow")
		b.follow("Save")
		b.says("Slower flow", "The event was changed.")
		b.quiet()
	})
	b.step("adds a price and ends the other one", func(t *testing.T) {
		b.follow("Add price")
		b.fill("Name of the price", "Member")
		b.fill("Price", "9")
		b.follow("Add the price")
		b.says("Member", "£9.00", "£14.50")
		b.followAt("End", `(//main//*[@id="prices"]//a[contains(@href,"/end")])[1]`)
		b.says("no longer sold")
		b.follow("End the price")
		b.says("The price has ended.")
		if strings.Contains(b.text(), "£14.50") {
			t.Error("the page still shows the ended price")
		}
		b.quiet()
	})
	b.step("adds recurring dates", func(t *testing.T) {
		b.follow("Add dates")
		b.choose("Start", in(7))
		b.choose("Repeats", "FREQ=WEEKLY;INTERVAL=2")
		b.fill("Number of dates", "3")
		b.follow("Add the dates")
		b.says("3 dates were added")
		b.quiet()
	})
	b.step("applies a discount code, and disables it", func(t *testing.T) {
		b.addDiscount("TENTH")
		b.open("/events")
		b.follow("Slower flow")
		b.followAt("the first date", "//main//table//a[1]")
		b.follow("Book")
		b.fill("Who is the booking for?", "a")
		b.follow("Search")
		b.followAt("somebody", "(//main//a[contains(@class,'slot')])[1]")
		b.fill("Discount code", "tenth")
		b.follow("Book")
		b.says("£8.10 with TENTH")
		b.open("/discounts")
		b.follow("TENTH")
		b.follow("Disable")
		b.says("can no longer be used", "Disabled")
		b.quiet()
	})
	b.step("cancels an event and deletes it", func(t *testing.T) {
		b.open("/events")
		b.follow("Slower flow")
		b.follow("Cancel the event…")
		b.says("2 spaces booked")
		b.follow("Cancel the event")
		b.says("The event was cancelled, with 2 bookings.")
		b.follow("Delete…")
		b.follow("Delete permanently")
		b.says("The event was deleted.")
		b.quiet()
	})
}

// untaken fails the test if a customer's name ran as a script.
func (b *tab) untaken() {
	b.t.Helper()
	title := eval[string](b, `document.title`)
	if title == "taken" || strings.Contains(b.text(), "taken</") && !strings.Contains(b.text(), hostile) {
		b.t.Errorf("a customer's name ran as a script")
	}
	b.quiet()
}
