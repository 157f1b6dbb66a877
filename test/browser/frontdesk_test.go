package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// hostile is a customer's name that would be a script in a page that does not
// write it as text.
const hostile = `<script>document.title="taken"</script>`

// arabic is an event's title that reads from right to left.
const arabic = "يوغا الصباح"

// addEvent adds an event of two places that starts in some days, and leaves the
// tab on the page of its first date.
func (b *tab) addEvent(title string, days int, policy string) {
	b.t.Helper()
	b.open("/events/new")
	b.fill("Title", title)
	start := time.Now().AddDate(0, 0, days).Format("2006-01-02") + "T18:30"
	b.do("start", chromedp.SetValue(field("Start"), start, chromedp.NodeVisible))
	b.fill("Minutes", "60")
	b.fill("Places", "2")
	b.fill("Price", "14.50")
	b.fill("Cancelling is free until", policy)
	b.follow("Add the event")
	b.followAt("the first date", "//main//table//a[1]")
}

// book books one place of the date that the tab is at, by card.
func (b *tab) book(customer string) {
	b.t.Helper()
	b.follow("Book")
	b.fill("Who is it for?", customer)
	b.follow("Search")
	b.followAt(customer, "(//main//a[contains(@class,'slot')])[1]")
	b.fill("Payment reference", "till 42")
	b.follow("Book")
}

func (w *world) testFrontDesk(t *testing.T) { // invariant 1
	b := w.signedIn(t)
	b.step("today and the week show how full dates are", func(t *testing.T) {
		b.open("/")
		b.says("Today", "Europe/London")
		b.open("/week")
		b.says("places taken")
		b.quiet()
	})
	b.step("a customer who is called like a script is a name", func(t *testing.T) {
		b.open("/customers")
		b.follow("Add Customer")
		b.fill("First name", hostile)
		b.fill("Last name", "Tables")
		b.fill("E-mail address", "tables@example.org")
		b.follow("Add the customer")
		b.says(hostile)
		b.untaken()
	})
	b.step("customers are found while one types", func(t *testing.T) {
		b.open("/customers")
		b.fill("Name, e-mail or telephone", "tables@exa")
		b.do("found", chromedp.WaitVisible(`//*[@id="found"]//*[contains(text(),"1 customer found")]`))
		b.says(hostile)
		b.untaken()
	})
	b.step("an event is added, with a title from right to left", func(t *testing.T) {
		b.addEvent(arabic, 3, "24")
		b.says(arabic, "0 of 2 places taken", "Nobody has booked yet")
		direction := eval[string](b, `getComputedStyle(document.querySelector("h1")).direction`)
		if direction != "rtl" {
			t.Errorf("its title reads %s", direction)
		}
		b.quiet()
	})
	b.step("booking says what was booked, and takes the place", func(t *testing.T) {
		b.book("tables")
		b.says("Booked: 1 place for "+hostile, "14.50", "1 of 2 places taken")
		b.untaken()
	})
	b.step("checking in, and taking it back", func(t *testing.T) {
		b.followAt("Check in", `(//main//button[starts-with(normalize-space(),"Check in")])[1]`)
		b.says("Checked in: "+hostile, "1 checked in")
		b.followAt("Take back", `(//main//button[starts-with(normalize-space(),"Take back")])[1]`)
		b.says("Taken back")
		b.quiet()
	})
	b.step("cancelling says first what the policy makes of it", func(t *testing.T) {
		b.followAt("Booking", `(//main//a[starts-with(normalize-space(),"Booking")])[1]`)
		b.follow("Cancel…")
		b.says("1 place becomes free", "14.50", "owed to the customer")
		b.follow("Cancel the booking")
		b.says("Cancelled")
		b.follow("Record the refund…")
		b.follow("Record the refund")
		b.says("Refunded")
		b.followAt("the date", `//main//p[@class="crumb"]/a`)
		b.says("0 of 2 places taken")
		b.quiet()
	})
	b.step("cancelling late says that what was paid is kept", func(t *testing.T) {
		b.addEvent("Late evening", 2, "240")
		b.book("tables")
		b.followAt("Booking", `(//main//a[starts-with(normalize-space(),"Booking")])[1]`)
		b.says("what was paid is kept")
		b.follow("Cancel…")
		b.says("what was paid is kept")
		b.quiet()
	})
	b.step("a full date offers the waitlist", func(t *testing.T) {
		b.addEvent("Two at most", 4, "")
		b.book("tables")
		b.book("a")
		b.says("Full: 2 places")
		b.follow("Add to the waitlist")
		b.fill("Who is it for?", "tables")
		b.follow("Search")
		b.followAt("the customer", "(//main//a[contains(@class,'slot')])[1]")
		b.follow("Add to the waitlist")
		b.says("is on the waitlist", "1 waiting")
		b.quiet()
	})
}

// addDiscount adds a code that takes a tenth off.
func (b *tab) addDiscount(code string) {
	b.t.Helper()
	b.open("/discounts/new")
	b.fill("Code", code)
	b.fill("How much", "10")
	b.follow("Add the code")
	b.says(code, "10 % off", "Active")
}

func (w *world) testEditing(t *testing.T) { // invariant 1
	b := w.signedIn(t)
	in := func(days int) string { return time.Now().AddDate(0, 0, days).Format("2006-01-02") + "T19:00" }
	b.step("before a date moves, those are named who have booked it", func(t *testing.T) {
		b.addEvent("Slow flow", 5, "")
		b.book("a")
		b.follow("Change this date…")
		b.choose("Start", in(6))
		b.follow("Save")
		b.says("Who is affected", "1 place", "From now on")
		b.follow("Change it")
		b.says("The date is changed", "1 of 2 places taken")
		b.quiet()
	})
	b.step("a date has no fewer places than are taken", func(t *testing.T) {
		b.follow("Change this date…")
		b.fill("Places", "0")
		b.follow("Save")
		b.takeProblems() // a form that is refused is answered 422
		b.says("There must be at least 1 place")
		b.fill("Places", "3")
		b.follow("Save")
		b.says("1 of 3 places taken")
		b.quiet()
	})
	b.step("an event says something else", func(t *testing.T) {
		b.followAt("all dates", `//main//p[@class="crumb"]/a`)
		b.followAt("what it says", `//main//a[contains(@href,"/edit")]`)
		b.fill("Title", "Slower flow")
		b.follow("Save")
		b.says("Slower flow", "The event is changed.")
		b.quiet()
	})
	b.step("a price is added, and the other one ends", func(t *testing.T) {
		b.follow("Add a price")
		b.fill("Name of the price", "Member")
		b.fill("Price", "9")
		b.follow("Add the price")
		b.says("Member", "£9.00", "£14.50")
		b.followAt("End", `(//main//*[@id="prices"]//a[contains(@href,"/end")])[1]`)
		b.says("sold no more")
		b.follow("End the price")
		b.says("The price has ended.")
		if strings.Contains(b.text(), "£14.50") {
			t.Error("the price that has ended is still there")
		}
		b.quiet()
	})
	b.step("dates are added by a rule", func(t *testing.T) {
		b.follow("Add dates")
		b.choose("Start", in(7))
		b.choose("It takes place", "FREQ=WEEKLY;INTERVAL=2")
		b.fill("How many dates", "3")
		b.follow("Add the dates")
		b.says("3 dates are added")
		b.quiet()
	})
	b.step("a discount code lowers a price, and once disabled it does not", func(t *testing.T) {
		b.addDiscount("TENTH")
		b.open("/events")
		b.follow("Slower flow")
		b.followAt("the first date", "//main//table//a[1]")
		b.follow("Book")
		b.fill("Who is it for?", "a")
		b.follow("Search")
		b.followAt("somebody", "(//main//a[contains(@class,'slot')])[1]")
		b.fill("Discount code", "tenth")
		b.follow("Book")
		b.says("£8.10 with TENTH")
		b.open("/discounts")
		b.follow("TENTH")
		b.follow("Disable")
		b.says("counts no more", "Disabled")
		b.quiet()
	})
	b.step("an event is cancelled, and then deleted", func(t *testing.T) {
		b.open("/events")
		b.follow("Slower flow")
		b.follow("Cancel the event…")
		b.says("2 places are taken")
		b.follow("Cancel the event")
		b.says("The event is cancelled, with 2 bookings.")
		b.follow("Delete…")
		b.follow("Delete for good")
		b.says("The event is deleted.")
		b.quiet()
	})
}

// untaken fails the test if a customer's name has become a script.
func (b *tab) untaken() {
	b.t.Helper()
	title := eval[string](b, `document.title`)
	if title == "taken" || strings.Contains(b.text(), "taken</") && !strings.Contains(b.text(), hostile) {
		b.t.Errorf("a customer's name ran as a script")
	}
	b.quiet()
}
