package browser

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	"reservation.dev/test/harness"
)

// crowd is the number of people who have booked the busy class.
const crowd = 60

// namesOnPhone is the least number of names that a phone shows without scrolling.
const namesOnPhone = 12

// firstNames and lastNames make the names of the people. Sorting by bytes gives another order than people expect.
var (
	firstNames = []string{"Zoë", "ann", "Łukasz", "Priya", "Émile", "Chidi", "Maeve", "Oskar", "Ines", "Ravi"}
	lastNames  = []string{"Ångström", "de Souza", "Óskarsdóttir", "Adams", "Zhang", "ødegaard"}
)

// door is the front desk at the door of a class.
type door struct {
	*tab
	w    *world
	date *bookingv1.EventDate
	path string // of its page
	// bookings are those of the class, in the order in which they were made.
	bookings []*bookingv1.Booking
}

// testDoor checks people in on a phone.
func (w *world) testDoor(t *testing.T) { // invariant 1
	d := w.door(t, w.signedIn(t))
	d.testRoster()
	d.testNoShow()
	d.testScanning()
	d.testCalendars()
}

// door adds a class that starts in two hours, with its bookings.
func (w *world) door(t *testing.T, b *tab) door {
	t.Helper()
	ctx := w.company.Ctx(t.Context())
	capacity := int32(crowd)
	event := from(w.op.Events.CreateEvent(ctx, &bookingv1.CreateEventRequest{
		Title: "Sunrise Yoga", Location: "Main studio",
		Dates:          []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(time.Now().Add(2 * time.Hour).Truncate(time.Minute)), DurationMinutes: 60, Capacity: &capacity}},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1250}},
	})).must(t).GetEvent()
	d := door{tab: b, w: w, date: event.GetDates()[0]}
	d.path = "/events/" + event.GetId() + "/dates/" + d.date.GetId()
	for i := range crowd {
		customer := from(w.op.Customers.CreateCustomer(ctx, &customerv1.CreateCustomerRequest{
			FirstName: firstNames[i%10], LastName: lastNames[i/10], Email: fmt.Sprintf("door%d@example.com", i),
		})).must(t).GetCustomer()
		bought := from(w.op.Bookings.CreateTransaction(ctx, &bookingv1.CreateTransactionRequest{
			PurchaserId: customer.GetId(), Lines: []*bookingv1.TransactionLine{{EventDateId: d.date.GetId(), Spaces: 1}},
		})).must(t).GetTransaction()
		d.bookings = append(d.bookings, bought.GetBookings()[0])
	}
	return d
}

// names returns the names of the roster that are shown, in order.
func (d door) names() []string {
	d.t.Helper()
	return eval[[]string](d.tab, `[...document.querySelectorAll("#roster li:not([hidden]) .name")].map(e => e.innerText.replace(/\s+/g, " "))`)
}

// checkIn taps the button of a name, and waits until the bar says how many have come.
func (d door) checkIn(name, come string) {
	d.t.Helper()
	d.actions++
	d.do("check in "+name, clickVisible(`//*[@id="roster"]//button[normalize-space()=`+literal("Check in "+name)+`]`))
	d.until(`document.getElementById("come").innerText.includes(` + quote(d.t, come) + `)`)
}

// more opens what else can be done for a name.
func (d door) more(name string) {
	d.t.Helper()
	d.actions++
	d.do("more of "+name, clickVisible(`//*[@id="roster"]//summary[normalize-space()=`+literal("More "+name)+`]`))
}

func (d door) testRoster() {
	d.step("shows twelve names on a phone, sorted by last name", func(t *testing.T) {
		d.size(390, 844)
		d.open(d.path)
		d.says("0 of 60 have come")
		visible := eval[int](d.tab, `[...document.querySelectorAll("#roster .name")].filter(e => e.getBoundingClientRect().bottom <= innerHeight).length`)
		if visible < namesOnPhone {
			t.Errorf("%d names are visible", visible)
		}
		names := d.names()
		if len(names) != crowd || names[0] != "ann Adams" || names[10] != "ann Ångström" || names[crowd-1] != "Zoë Zhang" {
			t.Errorf("the order is %q", names)
		}
		small := eval[[]string](d.tab, `[...document.querySelectorAll("#roster .in, #roster summary")].filter(e => {
			const box = e.getBoundingClientRect();
			return box.height < 44 || box.width < 44;
		}).map(e => e.outerHTML)`)
		if len(small) > 0 {
			t.Errorf("%d targets are too small, such as %s", len(small), small[0])
		}
	})
	d.step("checks in by one tap, without loading the page", func(t *testing.T) {
		eval[bool](d.tab, `window.kept = true`)
		before := d.actions
		d.checkIn("ann Adams", "1 of 60 have come")
		if n := d.actions - before; n != 1 {
			t.Errorf("%d taps", n)
		}
		d.checkIn("Chidi Adams", "2 of 60 have come")
		if said := eval[string](d.tab, `document.getElementById("said").textContent`); !strings.Contains(said, "Checked in: Chidi Adams. 2 of 60 have come.") {
			t.Errorf("a screen reader hears %q", said)
		}
		if !eval[bool](d.tab, `window.kept === true && document.activeElement.closest("li").innerText.includes("Adams")`) {
			t.Error("the page was loaded, or the focus is lost")
		}
	})
	d.step("undoes a check-in, and checks in again", func(*testing.T) {
		d.more("Chidi Adams")
		d.press("Undo Chidi Adams")
		d.until(`document.getElementById("come").innerText.includes("1 of 60")`)
		d.checkIn("Chidi Adams", "2 of 60 have come")
		d.open(d.path)
		d.says("2 of 60 have come")
		d.quiet()
	})
	d.step("finds names while typing, without accents", func(t *testing.T) {
		d.fill("Find a name", "oskar angs")
		d.until(`document.querySelectorAll("#roster li:not([hidden])").length === 1`)
		if names := d.names(); names[0] != "Oskar Ångström" {
			t.Errorf("it finds %q", names)
		}
		d.do("Enter", chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Enter))
		d.until(`document.getElementById("come").innerText.includes("3 of 60")`)
		d.fill("Find a name", "nobody")
		d.says("No name matches.")
		d.quiet()
	})
	d.step("finds and checks in without JavaScript", func(t *testing.T) {
		d.withoutScript()
		defer d.withScript()
		d.open(d.path)
		d.fill("Find a name", "lukasz zhang")
		d.follow("Search")
		if names := d.names(); len(names) != 1 {
			t.Errorf("it finds %q", names)
		}
		d.follow("Check in Łukasz Zhang")
		d.says("Checked in: Łukasz Zhang.")
		d.open(d.path)
		d.says("4 of 60 have come")
		d.quiet()
	})
}

func (d door) testNoShow() {
	d.step("asks before it marks a no-show for a class that has not started", func(*testing.T) {
		d.more("Ines Adams")
		d.follow("No-show… Ines Adams")
		d.says("The date has not started yet.")
		d.follow("Mark as a no-show")
		d.says("Marked as a no-show: Ines Adams.", "4 of 60 have come")
		d.checkIn("Ines Adams", "5 of 60 have come")
		d.quiet()
	})
}

func (d door) testScanning() {
	ticket := func(i int) string { return strings.Replace(d.bookings[i].GetId(), "booking_", "reg_", 1) }
	d.step("shows a ticket to print", func(*testing.T) {
		d.open("/bookings/" + d.bookings[0].GetId() + "/ticket")
		d.says("Sunrise Yoga", "Zoë Ångström", ticket(0), "Main studio")
		d.quiet()
	})
	d.step("checks in by the number of a ticket", func(t *testing.T) {
		d.open(d.path)
		d.follow("Scan")
		d.until(`document.getElementById("camera-state").innerText.includes("Type the number") || document.getElementById("camera-state").innerText.includes("type the number")`)
		d.typeCode(ticket(0), "Checked in")
		d.says("Zoë Ångström", "6 of 60 have come")
		d.typeCode(" "+strings.ToUpper(ticket(0)), "Already checked in")
		d.typeCode("reg_00000000000000000000000000", "Unknown ticket")
		d.typeCode(ticket(1), "Checked in")
		if field := eval[string](d.tab, `document.getElementById("code").value`); field != "" {
			t.Errorf("the field still has %q", field)
		}
		d.quiet()
	})
	d.step("checks in by number without JavaScript", func(*testing.T) {
		d.withoutScript()
		defer d.withScript()
		d.open(d.path + "/scan")
		d.fill("Ticket number", ticket(2))
		d.follow("Check in")
		d.says("Checked in", "Łukasz Ångström", "8 of 60 have come")
		d.quiet()
	})
	d.step("checks in the ticket that the camera sees", func(*testing.T) {
		d.open("/bookings/" + d.bookings[3].GetId() + "/ticket")
		code := eval[string](d.tab, `document.querySelector(".qr path").getAttribute("d")`)
		camera := command(d.tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: showing(d.t, code)})
		d.open(d.path + "/scan")
		d.until(`document.getElementById("result").innerText.includes("Checked in")`)
		d.says("Priya Ångström", "9 of 60 have come", "Hold the QR code")
		d.quiet()
		command(d.tab, page.RemoveScriptToEvaluateOnNewDocument, page.RemoveScriptToEvaluateOnNewDocumentParams(camera))
	})
	d.step("sends a ticket that the camera sees during a request after it", func(t *testing.T) {
		defer d.onEveryPage(slowScans)()
		d.open(d.path + "/scan")
		d.shows(ticket(10))
		d.until(`held.length === 1`)
		d.shows(ticket(11))
		d.until(`looks > 3`)
		eval[bool](d.tab, `release()`)
		d.until(`document.getElementById("result").innerText.includes("ann de Souza") === false && held.length === 1`)
		d.says("Zoë de Souza", "10 of 60 have come")
		eval[bool](d.tab, `release()`)
		d.until(`document.getElementById("result").innerText.includes("ann de Souza")`)
		d.says("11 of 60 have come")
		d.quiet()
	})
	d.step("keeps the code that somebody types while a ticket is sent", func(t *testing.T) {
		defer d.onEveryPage(slowScans)()
		d.open(d.path + "/scan")
		d.shows(ticket(12))
		d.until(`held.length === 1`)
		d.shows("")
		d.fill("Ticket number", "reg_typed")
		eval[bool](d.tab, `release()`)
		d.until(`document.getElementById("result").innerText.includes("Łukasz de Souza")`)
		if field := eval[string](d.tab, `document.getElementById("code").value`); field != "reg_typed" {
			t.Errorf("the field has %q", field)
		}
		d.quiet()
	})
	d.step("says that the script that reads QR codes did not load", func(t *testing.T) {
		defer d.onEveryPage(slowScans + withoutReader)()
		d.open(d.path + "/scan")
		d.until(`document.getElementById("camera-state").innerText.includes("did not load")`)
		for _, problem := range d.takeProblems() {
			if strings.HasPrefix(problem, "script:") {
				t.Error(problem)
			}
		}
	})
	d.step("refuses the ticket of another date, and a cancelled one", func(t *testing.T) {
		ctx := d.w.company.Ctx(t.Context())
		d.wait(ctx, "Wanda")
		from(d.w.op.Bookings.CancelBooking(ctx, &bookingv1.CancelBookingRequest{BookingId: d.bookings[9].GetId()})).must(t)
		d.open(d.path + "/scan")
		d.typeCode(ticket(9), "This booking is cancelled")
		other := d.w.door(t, d.tab)
		d.open(d.path + "/scan")
		d.typeCode(strings.Replace(other.bookings[0].GetId(), "booking_", "reg_", 1), "Booked for another date")
		d.quiet()
	})
}

// showing returns a script that replaces the camera by one that sees a QR code, given as the path of its picture.
func showing(t *testing.T, code string) string {
	return fmt.Sprintf(`navigator.mediaDevices.getUserMedia = async () => {
		const canvas = Object.assign(document.createElement("canvas"), {width: 640, height: 480}), pen = canvas.getContext("2d");
		setInterval(() => {
			pen.resetTransform();
			pen.fillStyle = "#ddd";
			pen.fillRect(0, 0, 640, 480);
			pen.setTransform(10, 0, 0, 10, 150, 80);
			pen.fillStyle = "#111";
			pen.fill(new Path2D(%s));
		}, 50);
		return canvas.captureStream(10);
	};`, quote(t, code))
}

// slowScans replaces the camera by one that sees the code in window.seen, and holds requests until release is called.
// looks is the number of times that the camera was read since the code changed.
const slowScans = `
	window.seen = "";
	window.looks = 0;
	window.held = [];
	window.BarcodeDetector = class {
		static async getSupportedFormats() { return ["qr_code"]; }
		async detect() { looks++; return seen ? [{rawValue: seen}] : []; }
	};
	navigator.mediaDevices.getUserMedia = async () => {
		const canvas = Object.assign(document.createElement("canvas"), {width: 64, height: 48}), pen = canvas.getContext("2d");
		setInterval(() => pen.fillRect(0, 0, 64, 48), 50);
		return canvas.captureStream(10);
	};
	const send = XMLHttpRequest.prototype.send;
	XMLHttpRequest.prototype.send = function (body) { held.push(() => send.call(this, body)); };
	window.release = () => { held.shift()(); return true; };
`

// withoutReader removes the browser's reader of QR codes, and the address of the script that replaces it.
const withoutReader = `
	delete window.BarcodeDetector;
	document.addEventListener("DOMContentLoaded", () => { document.getElementById("camera").dataset.reader = "/assets/none.js"; });
`

// onEveryPage runs a script before those of each page, until stop is called.
func (d door) onEveryPage(script string) (stop func()) {
	d.t.Helper()
	added := command(d.tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	return func() {
		command(d.tab, page.RemoveScriptToEvaluateOnNewDocument, page.RemoveScriptToEvaluateOnNewDocumentParams(added))
	}
}

// shows holds a code in front of the camera of slowScans.
func (d door) shows(code string) {
	d.t.Helper()
	eval[bool](d.tab, `(seen = `+quote(d.t, code)+`, looks = 0, true)`)
}

// wait adds a new customer to the waitlist of the class.
func (d door) wait(ctx context.Context, name string) {
	d.t.Helper()
	customer := from(d.w.op.Customers.CreateCustomer(ctx, &customerv1.CreateCustomerRequest{
		FirstName: name, LastName: "Waits", Email: name + "@example.com",
	})).must(d.t).GetCustomer()
	from(d.w.op.Waitlist.JoinWaitlist(ctx, &bookingv1.JoinWaitlistRequest{
		EventDateId: d.date.GetId(), CustomerId: customer.GetId(), Spaces: 1, OfferMinutes: 60,
	})).must(d.t)
}

// typeCode types the number of a ticket and waits for the result.
func (d door) typeCode(code, result string) {
	d.t.Helper()
	d.fill("Ticket number", code)
	d.press("Check in")
	d.until(`document.getElementById("result").innerText.includes(` + quote(d.t, result) + `)`)
}

func (d door) testCalendars() {
	d.step("shows the waitlist offers of the day, and marks the present", func(t *testing.T) {
		d.open(d.path)
		d.reloadUntil("Offered")
		d.open("/?day=" + d.day())
		d.says("Waitlist offers", "Wanda Waits", "until ")
		d.followAt("Wanda Waits", `//section[@aria-labelledby="offers"]//a`)
		if !strings.Contains(d.tab.path(), "/offers/wait_") {
			t.Errorf("it leads to %s", d.tab.path())
		}
		d.open("/")
		d.says("Now, ")
		d.seesNow()
		d.open("/week")
		d.seesNow()
		d.size(1280, 900)
		d.open("/week")
		d.seesNow()
		d.quiet()
	})
	d.step("shows the week with an axis of hours, and no broken words", func(t *testing.T) {
		d.size(1280, 900)
		d.open("/week?from=" + d.day())
		broken := eval[[]string](d.tab, `(() => {
			const broken = [];
			for (const strong of document.querySelectorAll(".timed .slot strong")) {
				const text = strong.firstChild;
				for (const word of text.data.matchAll(/\S+/g)) {
					const range = document.createRange();
					range.setStart(text, word.index);
					range.setEnd(text, word.index + word[0].length);
					if (new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1) broken.push(word[0]);
				}
			}
			return broken;
		})()`)
		if len(broken) > 0 {
			t.Errorf("these words are broken: %q", broken)
		}
		overlapping := eval[int](d.tab, `(() => {
			const boxes = [...document.querySelectorAll(".timed .day")].map(day => [...day.querySelectorAll("li > .slot")].map(e => e.getBoundingClientRect()));
			return boxes.flatMap(day => day.flatMap((a, i) => day.slice(i + 1).filter(b =>
				a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1))).length;
		})()`)
		if overlapping > 0 {
			t.Errorf("%d dates cover each other", overlapping)
		}
		if eval[int](d.tab, `document.querySelectorAll(".timed .axis span").length`) < 10 {
			t.Error("there is no axis of hours")
		}
		d.quiet()
	})
	d.step("quietens dates of the week that are over, and keeps them readable", func(t *testing.T) {
		looks := eval[[][]string](d.tab, `(() => {
			const slot = document.querySelector(".timed .slot"), kinds = slot.className;
			slot.style.transition = "none";
			const looks = ["slot", "slot over"].map(kind => {
				slot.className = kind;
				const style = getComputedStyle(slot);
				return [style.backgroundColor, style.color];
			});
			slot.className = kinds;
			slot.style.transition = "";
			return looks;
		})()`)
		coming, over := looks[0], looks[1]
		if over[0] == coming[0] || over[1] == coming[1] {
			t.Errorf("dates that are over look like those to come: %v", looks)
		}
		if strings.HasSuffix(over[0], ", 0)") {
			t.Errorf("the lines of the hours shine through dates that are over: %s", over[0])
		}
	})
}

// seesNow fails the test unless the mark of the present is in the window.
func (d door) seesNow() {
	d.t.Helper()
	d.until(`(() => {
		const box = [...document.querySelectorAll("[data-now]")].find(e => e.checkVisibility()).getBoundingClientRect();
		return box.top >= 0 && box.bottom <= innerHeight;
	})()`)
}

// reloadUntil loads the page again until it says a text.
func (d door) reloadUntil(text string) {
	d.t.Helper()
	harness.Eventually(d.t, stepLimit, func() error {
		d.open(d.path)
		if !strings.Contains(d.text(), text) {
			return fmt.Errorf("the page does not say %q", text)
		}
		return nil
	})
}

// day returns the day of the class in London.
func (d door) day() string {
	zone, err := time.LoadLocation("Europe/London")
	if err != nil {
		d.t.Fatal(err)
	}
	return d.date.GetStartsAt().AsTime().In(zone).Format(time.DateOnly)
}
