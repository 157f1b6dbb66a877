package browser

import (
	"strings"
	"testing"
)

func (w *world) testWithoutScript(t *testing.T) { // invariant 2
	b := w.tab(t)
	b.withoutScript()
	b.step("signs in", func(t *testing.T) {
		b.open("/sign-in")
		b.signIn(w.email, w.password)
		b.says("Today")
		scripted := eval[bool](b, `[...document.querySelectorAll("[data-script]")].some(e => !e.hidden)`)
		if scripted {
			t.Error("parts that need JavaScript are shown")
		}
	})
	b.step("adds a client", func(t *testing.T) {
		b.open("/settings/api-clients/new")
		b.fill("Name", "Without JavaScript")
		b.tick("bookings:read")
		b.follow("Create the client")
		client := b.credential()
		if token := w.A(t).Token(t, client); token == "" {
			t.Error("there is no token")
		}
		if strings.Contains(b.text(), "Copy\n") {
			t.Error("a button that needs JavaScript is shown")
		}
	})
	b.step("changes the spaces of a booking after showing the effect", func(t *testing.T) {
		b.addEvent("By choice", 6, "12")
		b.book("a")
		b.openBooking()
		b.follow("Move or change spaces…")
		b.says("The page shows the effect before you move the booking.")
		b.fill("Spaces", "2")
		b.follow("Show the effect")
		b.says("Spaces: 1 before, 2 afterwards.", "The customer pays £14.50 now.")
		b.tick("Cash")
		b.follow("Move the booking")
		b.says("The booking was changed: 2 spaces", "Paid: £14.50.")
	})
	b.step("books and checks in", func(t *testing.T) {
		b.addEvent("By hand", 5, "12")
		b.book("a")
		b.says("1 of 2 spaces booked")
		b.followAt("Check in", `(//main//button[starts-with(normalize-space(),"Check in")])[1]`)
		b.says("Checked in: ", "1 of 1 have come")
	})
	b.step("opens the menu on a phone", func(t *testing.T) {
		b.size(390, 844)
		b.open("/")
		b.do("menu", clickVisible(`//details[contains(@class,"menu")]/summary`))
		b.followAt("Customers", `//details[contains(@class,"menu")]//a[normalize-space()="Customers"]`)
		b.says("customers, newest first")
	})
}
