package browser

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// callerActions is the number of clicks and fields that book an appointment for a known customer from the
// agenda of the day: the free time, the appointment type, the name, the customer and the button.
const callerActions = 5

// salon is a salon on the day after tomorrow, which the receptionist looks after.
type salon struct {
	*tab
	zone *time.Location
	day  string // YYYY-MM-DD
}

// testAppointments is the morning of a receptionist, after an owner has entered the salon.
func (w *world) testAppointments(t *testing.T) { // invariant 1
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	b := salon{w.signedIn(t), london, time.Now().In(london).AddDate(0, 0, 2).Format(time.DateOnly)}
	b.testSettingUp()
	known := &customerv1.CreateCustomerRequest{FirstName: "Rosa", LastName: "Regular", Email: "rosa.regular@example.org", Mobile: "+447700900123"}
	if _, err := w.op.Customers.CreateCustomer(w.company.Ctx(t.Context()), known); err != nil {
		t.Fatal(err)
	}
	b.testCallers()
	b.testMoves()
	b.testSickLeave()
	b.testSubstitute()
	b.testSubscribedCalendar()
}

// testSettingUp enters two people with their hours, a room and two appointment types.
func (b salon) testSettingUp() {
	b.step("adds two people with their working hours", func(*testing.T) {
		b.addPerson("Nadia Early", "09:00", "13:00")
		b.addPerson("Omar Late", "10:00", "18:00")
		b.open("/staff")
		b.says("Nadia Early", "Omar Late")
		b.quiet()
	})
	b.step("adds a room", func(*testing.T) {
		b.open("/rooms/new")
		b.fill("Name", "Garden room")
		b.fill("Units", "2")
		b.follow("Add it")
		b.says("Garden room was added.")
		b.quiet()
	})
	b.step("adds appointment types", func(*testing.T) {
		b.addType("Back massage", "60", "50")
		b.addType("Consultation", "30", "")
		b.open("/appointment-types")
		b.says("Back massage", "£50.00", "Consultation", "free")
		b.quiet()
	})
}

// addPerson adds a staff member who works from a time until another on every day.
func (b salon) addPerson(name, from, to string) {
	b.t.Helper()
	b.open("/staff/new")
	b.fill("Name", name)
	b.follow("Add the staff member")
	b.says(name + " was added. Now enter the working hours.")
	b.follow("Add a shift Monday")
	b.choose("Monday, shift 1: from", from)
	b.choose("Monday, shift 1: until", to)
	for _, day := range []string{"Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"} {
		b.tick(day)
	}
	b.follow("Copy the shifts")
	b.followAt("Save", `//main//button[@value="save"][not(@aria-hidden)]`)
	b.says("The working hours are saved.", "Monday: "+from+"–"+to, "Sunday: "+from+"–"+to)
}

// addType adds an appointment type that both people give in the room.
func (b salon) addType(title, minutes, price string) {
	b.t.Helper()
	b.open("/appointment-types/new")
	b.fill("Title", title)
	b.fill("Lengths in minutes", minutes)
	b.fill("Price", price)
	b.chooseText("Garden room", "Needed: 1")
	b.follow("Add the appointment type")
	b.says(title + " was added.")
}

// agenda opens the agenda of the day.
func (b salon) agenda() { b.open("/appointments?day=" + b.day) }

// lane finds the column of a person in the agenda.
func lane(name string) string { return `//main//section[@aria-label=` + literal(name) + `]` }

// free clicks the free time of a person in the agenda that begins at a time of day.
func (b salon) free(name, at string) {
	b.t.Helper()
	b.followAt("free at "+at, lane(name)+`//a[contains(@class,"free")][contains(.,`+literal(at)+`)]`)
}

// block finds the appointment of a customer in the column of a person.
func block(name, customer string) string {
	return lane(name) + `//a[contains(@class,"block")][contains(.,` + literal(customer) + `)]`
}

// has fails the test unless the agenda shows an appointment of a customer with a person at a time.
func (b salon) has(name, customer, time string) {
	b.t.Helper()
	if text := b.textAt(block(name, customer)); !strings.Contains(text, time) {
		b.t.Errorf("the appointment of %s with %s is %q", customer, name, text)
	}
}

// textAt returns the text of the element that an XPath finds.
func (b *tab) textAt(xpath string) string {
	b.t.Helper()
	return read(b, "read "+xpath, chromedp.Text(xpath, chromedp.NodeVisible))
}

// testCallers books for a new customer, and for one who is known.
func (b salon) testCallers() {
	b.step("shows the day with its free times", func(*testing.T) {
		b.agenda()
		b.says("Nadia Early", "Omar Late", "Free: book at")
		b.quiet()
	})
	b.step("books for a new caller", func(*testing.T) {
		b.free("Omar Late", "11:00")
		b.followAt("Back massage", starting("Back massage"))
		b.says("11:00–12:00", "Omar Late", "£50.00")
		b.fill("Who is the appointment for?", "Newcombe")
		b.do("not found", chromedp.WaitVisible(`//*[@id="found"]//*[contains(text(),"No customers found")]`))
		b.follow("New customer")
		b.fill("First name", "Nell")
		b.fill("Last name", "Newcombe")
		b.fill("E-mail address", "nell.newcombe@example.org")
		b.follow("Book the appointment")
		b.says("Back massage is booked for Nell Newcombe", "with Omar Late, £50.00")
		b.has("Omar Late", "Nell Newcombe", "11:00–12:00")
		b.quiet()
	})
	b.step("books for a known caller in a few clicks", func(t *testing.T) {
		b.agenda()
		before, began := b.actions, time.Now()
		b.free("Nadia Early", "10:00")
		b.followAt("Back massage", starting("Back massage"))
		b.fill("Who is the appointment for?", "regular")
		b.do("found", chromedp.WaitVisible(`//*[@id="found"]//strong[contains(text(),"Rosa Regular")]`))
		b.followAt("Rosa Regular", starting("Rosa Regular"))
		b.follow("Book the appointment")
		b.says("Back massage is booked for Rosa Regular", "10:00–11:00 with Nadia Early")
		t.Logf("%d actions, %v", b.actions-before, time.Since(began).Round(time.Millisecond))
		if n := b.actions - before; n != callerActions {
			t.Errorf("booking took %d actions", n)
		}
		b.has("Nadia Early", "Rosa Regular", "10:00–11:00")
		b.quiet()
	})
	b.step("does not offer a time that is booked", func(*testing.T) {
		b.agenda()
		if n := b.count(lane("Nadia Early") + `//a[contains(@class,"free")][contains(.,"10:00")]`); n != 0 {
			b.t.Errorf("10:00 is free %d times", n)
		}
	})
}

// count returns the number of elements that an XPath finds.
func (b *tab) count(xpath string) int {
	b.t.Helper()
	return eval[int](b, `document.evaluate(`+quote(b.t, "count("+xpath+")")+`, document, null, XPathResult.NUMBER_TYPE).numberValue`)
}

// testMoves moves appointments by buttons and by dragging.
func (b salon) testMoves() {
	b.step("moves an appointment with buttons", func(*testing.T) {
		b.agenda()
		b.followAt("Nell Newcombe", block("Omar Late", "Nell Newcombe"))
		b.follow("Move…")
		b.followAt("14:00", `(//main//button[@name="start"][contains(.,"14:00")])[1]`)
		b.says("The appointment was moved:", "14:00–15:00 with Omar Late")
		b.agenda()
		b.has("Omar Late", "Nell Newcombe", "14:00–15:00")
		b.quiet()
	})
	b.step("moves an appointment by dragging it to another time and person", func(*testing.T) {
		b.agenda()
		b.drag(block("Omar Late", "Nell Newcombe"), lane("Nadia Early")+`//a[contains(@class,"free")][contains(.,"11:00")]`)
		b.says("The appointment was moved:", "11:00–12:00 with Nadia Early")
		b.has("Nadia Early", "Nell Newcombe", "11:00–12:00")
		b.quiet()
	})
	b.step("explains why an appointment cannot be dropped on another", func(*testing.T) {
		b.agenda()
		b.drag(block("Nadia Early", "Nell Newcombe"), block("Nadia Early", "Rosa Regular"))
		b.takeProblems() // a form that is refused is answered 422
		b.says("Move the appointment", "This time was just taken.")
		b.agenda()
		b.has("Nadia Early", "Nell Newcombe", "11:00–12:00")
		b.quiet()
	})
}

// load does something that loads another page, and waits for the page.
func (b *tab) load(what string, do func()) {
	b.t.Helper()
	ctx, cancel := b.limited()
	defer cancel()
	_, err := chromedp.RunResponse(ctx, chromedp.Func(func(context.Context, *chromedp.Target) error {
		do()
		return nil
	}))
	if err != nil {
		b.t.Fatalf("%s: %v\nat %s:\n%s", what, err, b.path(), b.text())
	}
}

// point is a place in the window, in pixels.
type point struct{ X, Y float64 }

// pointAt returns the top left corner of the element that an XPath finds, after scrolling it into view.
func (b *tab) pointAt(xpath string) point {
	b.t.Helper()
	b.do("wait for "+xpath, chromedp.WaitVisible(xpath))
	return eval[point](b, `(() => {
		const e = document.evaluate(`+quote(b.t, xpath)+`, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue;
		const at = e.getBoundingClientRect();
		return {X: at.left + 12, Y: at.top + 3};
	})()`)
}

// drag drags an element onto another one, and waits for the next page.
func (b *tab) drag(from, to string) {
	b.t.Helper()
	b.size(1280, 2000) // both are visible
	defer b.size(1280, 900)
	drags := make(chan *input.DragData, 1)
	ctx, stop := b.limited()
	defer stop()
	err := chromedp.Listen(ctx, func(event any) {
		if e, ok := event.(*input.EventDragIntercepted); ok {
			drags <- e.Data
		}
	})
	if err != nil {
		b.t.Fatal(err)
	}
	command(b, input.SetInterceptDrags, input.SetInterceptDragsParams{Enabled: true})
	defer command(b, input.SetInterceptDrags, input.SetInterceptDragsParams{})
	start, end := b.pointAt(from), b.pointAt(to)
	b.mouse(input.DispatchMouseEventTypeMousePressed, start)
	b.mouse(input.DispatchMouseEventTypeMouseMoved, point{start.X + 4, start.Y + 4})
	b.mouse(input.DispatchMouseEventTypeMouseMoved, point{start.X + 16, start.Y + 16})
	var data *input.DragData
	select {
	case data = <-drags:
	case <-ctx.Done():
		b.t.Fatalf("%s cannot be dragged", from)
	}
	for _, kind := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver} {
		command(b, input.DispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: end.X, Y: end.Y, Data: data})
	}
	b.load("drop", func() {
		command(b, input.DispatchDragEvent, input.DispatchDragEventParams{Type: input.DispatchDragEventTypeDrop, X: end.X, Y: end.Y, Data: data})
	})
	b.mouse(input.DispatchMouseEventTypeMouseReleased, end)
}

// mouse sends an event of the mouse with its left button.
func (b *tab) mouse(kind input.DispatchMouseEventType, at point) {
	b.t.Helper()
	command(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{
		Type: kind, X: at.X, Y: at.Y, Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1,
	})
}

// testSickLeave enters time off during appointments, and moves and cancels them.
func (b salon) testSickLeave() {
	b.step("refuses sick leave during appointments, and names them", func(*testing.T) {
		b.open("/staff")
		b.follow("Nadia Early")
		b.follow("Add time off")
		b.choose("From", b.day+"T09:00")
		b.choose("Until", b.day+"T13:00")
		b.fill("Reason", "Flu")
		b.follow("Add the time off")
		b.takeProblems() // a form that is refused is answered 422
		b.says("These appointments and classes are at this time", "Rosa Regular", "Nell Newcombe")
	})
	b.step("accepts sick leave that keeps the bookings", func(*testing.T) {
		b.tick("Accept with bookings")
		b.follow("Add the time off")
		b.says("The time off was added.", "Flu")
		b.quiet()
	})
	b.step("moves an appointment to a colleague", func(*testing.T) {
		b.agenda()
		b.says("Flu")
		b.followAt("Rosa Regular", block("Nadia Early", "Rosa Regular"))
		b.follow("Move…")
		b.load("Omar Late", func() { b.chooseText("Staff member", "Omar Late") })
		b.followAt("15:00", `(//main//button[@name="start"][contains(.,"15:00")])[1]`)
		b.says("15:00–16:00 with Omar Late")
		b.quiet()
	})
	b.step("cancels the other appointment", func(*testing.T) {
		b.agenda()
		b.followAt("Nell Newcombe", block("Nadia Early", "Nell Newcombe"))
		b.follow("Cancel…")
		b.says("Refund due: £50.00.")
		b.follow("Cancel the booking")
		b.says("Cancelled")
		b.agenda()
		b.has("Omar Late", "Rosa Regular", "15:00–16:00")
		if n := b.count(block("Nadia Early", "Nell Newcombe")); n != 0 {
			b.t.Error("the agenda shows the cancelled appointment")
		}
		b.quiet()
	})
	b.step("lists the appointments on the page of the customer", func(*testing.T) {
		b.open("/customers?q=rosa.regular")
		b.follow("Rosa Regular")
		b.says("Next appointments", "Back massage", "15:00–16:00", "Omar Late")
		b.quiet()
	})
}

// testSubstitute has a colleague teach a date of a class.
func (b salon) testSubstitute() {
	b.step("substitutes the teacher of a class", func(*testing.T) {
		b.addEvent("Stretching", 9, "")
		b.followAt("the event", `//main//p[@class="crumb"]/a`)
		b.follow("Choose staff and rooms")
		b.tick("Nadia Early")
		b.follow("Save")
		b.says("The staff and rooms are saved.", "Nadia Early")
		b.followAt("the first date", "//main//table//a[1]")
		b.says("Staff: Nadia Early")
		b.follow("Staff and rooms")
		b.says("Usually: Nadia Early.")
		b.tick("Nadia Early")
		b.tick("Omar Late")
		b.follow("Save")
		b.says("The staff and rooms of this date are saved.", "Omar Late instead of Nadia Early")
		b.quiet()
	})
}

// testSubscribedCalendar reads the calendar of a person at its secret address.
func (b salon) testSubscribedCalendar() {
	var address string
	b.step("creates the calendar address of a person", func(*testing.T) {
		b.open("/calendars")
		b.chooseText("Whose calendar", "Omar Late")
		b.follow("Create the address")
		address = b.textOf("#address")
		b.follow("I have copied it")
		b.says("Omar Late")
		b.quiet()
	})
	b.step("serves the calendar at the address", func(t *testing.T) {
		calendar := get(t, address)
		start, err := time.ParseInLocation("2006-01-02 15:04", b.day+" 15:00", b.zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"BEGIN:VCALENDAR", "SUMMARY:Back massage: Rosa Regular", start.UTC().Format("DTSTART:20060102T150405Z")} {
			if !strings.Contains(calendar, part) {
				t.Errorf("the calendar does not have %s:\n%s", part, calendar)
			}
		}
	})
}

// get returns the body of a page that needs no session.
func get(t *testing.T, address string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s is answered %d: %s", address, res.StatusCode, body)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
