package model

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var rushSeed = flag.Uint64("model.seed", 0, "seed of the requests of a rush; 0: a new one")

// TestRush lets callers compete for the spots, credits and discounts of a few dates. Afterwards the
// sums agree, for any order of the requests.
func TestRush(t *testing.T) { runRush(t, 8, 40) }

// TestSlowRush is TestRush with more callers and requests.
func TestSlowRush(t *testing.T) { runRush(t, 24, 150) }

func runRush(t *testing.T, callers, requests int) {
	seed := *rushSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("to send the same requests again: -model.seed=%d", seed)
	r := newRush(t)
	var wg sync.WaitGroup
	for n := range callers {
		wg.Go(func() {
			c := &caller{T: t, rush: r, rand: rand.New(rand.NewPCG(seed, uint64(n)))}
			for range requests {
				c.step()
			}
		})
	}
	wg.Wait()
	t.Logf("answers: %v", r.answers)
	if !t.Failed() {
		r.checkSums(t)
	}
}

// rush is a company whose few spots many callers want.
type rush struct {
	*machine
	people, passes []string
	sales          []saleEvent
	code           string

	mu                      sync.Mutex
	bookings, held, waiters []string
	answers                 map[string]int // by operation and code
}

type saleEvent struct {
	id            string
	dates, prices []string
}

// caller is one of several concurrent callers.
type caller struct {
	*testing.T
	*rush
	rand *rand.Rand
}

// Fatalf ends the caller, not the test.
func (c *caller) Fatalf(format string, args ...any) {
	c.Errorf(format, args...)
	runtime.Goexit()
}

// Fatal is Fatalf for values.
func (c *caller) Fatal(args ...any) {
	c.Error(args...)
	runtime.Goexit()
}

// newRush creates events with one booking per customer, without limits, and for a whole course.
func newRush(t *testing.T) *rush {
	r := &rush{machine: newPlatform(t).newCompany(t), answers: map[string]int{}}
	r.hurried = true
	pass := r.create(t, "/passes", object{"title": "Six", "totalUses": 6, "validityCount": 100, "validityUnit": "year"})["id"]
	for range 4 {
		person := r.create(t, "/customers", object{"firstName": "Ada", "lastName": "Byron", "email": "ada@example.com"})["id"].(string)
		held := r.create(t, "/customer-passes", object{"customerId": person, "passId": pass, "startDate": "2026-01-01"})
		r.people, r.passes = append(r.people, person), append(r.passes, held["id"].(string))
	}
	r.code = r.create(t, "/discount-codes", object{"code": "FEW", "percent": 15, "maxUses": 3})["id"].(string)
	single := object{"name": "Drop in", "price": 12.5, "credits": 1}
	r.addSale(t, "class", 2, 3, object{"oncePerCustomer": true}, single)
	r.addSale(t, "workshop", 1, 2, object{}, single)
	r.addSale(t, "course", 2, 3, object{}, single, object{"name": "Term", "price": 20.01, "credits": 3, "wholeCourse": true})
	return r
}

func (r *rush) create(t failer, path string, body object) object {
	a := r.call(t, http.MethodPost, path, body)
	a.expect(t, http.StatusCreated, fine)
	return a.body
}

func (r *rush) addSale(t failer, kind string, dates, capacity int, rules object, options ...object) {
	body := object{"title": "Rush", "type": kind, "capacity": capacity, "duration": 60, "bookingRules": rules, "pricingOptions": options}
	var days []object
	for i := range dates {
		days = append(days, object{"startsAt": instant(eventDay(i).Add(12 * time.Hour))})
	}
	body["dates"] = days
	made := r.create(t, "/events", body)
	e := saleEvent{id: made["id"].(string)}
	for _, d := range made["dates"].([]any) {
		e.dates = append(e.dates, d.(object)["id"].(string))
	}
	for _, o := range made["pricingOptions"].([]any) {
		e.prices = append(e.prices, o.(object)["id"].(string))
	}
	r.sales = append(r.sales, e)
}

func pick[T any](c *caller, from ...T) T { return from[c.rand.IntN(len(from))] }

// send makes a request, which can be refused. An answer of 409, or of 503 to a payment by pass that
// another caller made at the same time, asks to repeat it later.
func (c *caller) send(method, path string, body object) (answer, bool) {
	a := c.call(c, method, path, body)
	c.count(method, path, a)
	if a.code >= 400 && !slices.Contains([]int{http.StatusBadRequest, http.StatusConflict, http.StatusServiceUnavailable}, a.code) {
		c.Fatalf("%s", a.what)
	}
	return a, a.code < 300
}

func (c *caller) count(method, path string, a answer) {
	code := any(a.code)
	if e, ok := a.body["error"].(object); ok {
		code = e["code"]
	}
	parts := strings.Split(path, "/")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[fmt.Sprint(method, " ", parts[1], " ", strings.Join(parts[min(3, len(parts)):], ""), " ", code)]++
}

// step makes one request.
func (c *caller) step() {
	switch c.rand.IntN(15) {
	case 0, 1:
		c.order("/transactions", object{"payment": c.payment()})
	case 2, 3:
		c.order("/holds", object{})
	case 4:
		c.settle("/holds/", &c.held, "/confirm")
	case 5:
		c.end("/holds/", &c.held)
	case 6, 7:
		c.joinAny()
	case 8:
		c.settle("/waitlist-entries/", &c.waiters, "/accept")
	case 9:
		c.end("/waitlist-entries/", &c.waiters)
	case 10:
		c.changeBooking()
	case 11, 12:
		c.moveAny()
	case 13:
		c.exchange()
	default:
		e := pick(c, c.sales...)
		c.send(http.MethodPatch, "/event-dates/"+pick(c, e.dates...), object{"capacity": pick(c, 1, 2, 3, 4)})
	}
}

func (c *caller) payment() object {
	return object{"method": pick(c, "CARD", "CASH", "ONLINE", "FREE", "PASS", "PASS", "PASS")}
}

// order books or holds one or two lines.
func (c *caller) order(path string, body object) {
	var lines []object
	for range pick(c, 1, 2) {
		e := pick(c, c.sales...)
		i := c.rand.IntN(len(e.prices))
		line := object{"pricingOptionId": e.prices[i], "spots": pick(c, 1, 1, 2), "customerId": pick(c, c.people...)}
		if i == 0 {
			line["eventDateId"] = pick(c, e.dates...)
		} else {
			line["eventId"] = e.id
		}
		lines = append(lines, line)
	}
	body["purchasedById"], body["lines"] = pick(c, c.people...), lines
	if c.rand.IntN(4) == 0 {
		body["discountCode"] = "few"
	}
	a, ok := c.send(http.MethodPost, path, body)
	if !ok {
		return
	}
	if path == "/holds" {
		c.know(&c.held, a.body["id"])
	}
	c.knowBookings(a)
}

func (c *caller) knowBookings(a answer) {
	regs, _ := a.body["registrations"].([]any)
	for _, r := range regs {
		c.know(&c.bookings, r.(object)["id"])
	}
}

// know adds an identifier to those that all callers use.
func (c *caller) know(list *[]string, id any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if text, ok := id.(string); ok && !slices.Contains(*list, text) {
		*list = append(*list, text)
	}
}

// known draws an identifier, mostly a late one; "" if there is none.
func (c *caller) known(list *[]string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(*list) == 0 {
		return ""
	}
	return pick(c, (*list)[max(0, len(*list)-8):]...)
}

// settle pays a hold or an offer.
func (c *caller) settle(path string, list *[]string, verb string) {
	if id := c.known(list); id != "" {
		if a, ok := c.send(http.MethodPost, path+id+verb, object{"payment": c.payment()}); ok {
			c.knowBookings(a)
		}
	}
}

// end releases a hold, or leaves a waitlist.
func (c *caller) end(path string, list *[]string) {
	if id := c.known(list); id != "" {
		c.send(http.MethodDelete, path+id, nil)
	}
}

func (c *caller) joinAny() {
	e := pick(c, c.sales...)
	body := object{"customerId": pick(c, c.people...), "spots": pick(c, 1, 1, 2), "pricingOptionId": e.prices[0]}
	if c.rand.IntN(2) == 0 {
		body["autoBook"], body["payment"] = true, c.payment()
	}
	if a, ok := c.send(http.MethodPost, "/event-dates/"+pick(c, e.dates...)+"/waitlist", body); ok {
		c.know(&c.waiters, a.body["id"])
	}
}

// changeBooking cancels or refunds a booking.
func (c *caller) changeBooking() {
	id := c.known(&c.bookings)
	switch {
	case id == "":
	case c.rand.IntN(3) == 0:
		c.send(http.MethodPost, "/registrations/"+id+"/cancel", object{})
	default:
		c.send(http.MethodPost, "/registrations/"+id+"/refund", object{"amount": pick(c, 0.01, 3.5, 12.5)})
	}
}

// moveAny moves a booking to another date, or changes its spots.
func (c *caller) moveAny() {
	id := c.known(&c.bookings)
	if id == "" {
		return
	}
	e, body := pick(c, c.sales...), object{}
	if c.rand.IntN(4) > 0 {
		body["eventDateId"], body["pricingOptionId"] = pick(c, e.dates...), e.prices[0]
	}
	if c.rand.IntN(2) == 0 {
		body["spots"] = pick(c, 1, 1, 2, 3)
	}
	if c.rand.IntN(4) == 0 {
		body["keepPrice"] = true
	}
	c.send(http.MethodPost, "/registrations/"+id+"/move", body)
}

// exchange swaps two bookings, or transfers one.
func (c *caller) exchange() {
	id, other := c.known(&c.bookings), c.known(&c.bookings)
	switch {
	case id == "":
	case c.rand.IntN(3) == 0:
		c.send(http.MethodPost, "/registrations/"+id+"/transfer", object{"customerId": pick(c, c.people...), "buyerKeepsControl": c.rand.IntN(2) == 0})
	default:
		c.send(http.MethodPost, "/registrations/"+id+"/swap", object{"registrationId": other})
	}
}
