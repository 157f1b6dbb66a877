package media

import (
	"bytes"
	"context"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// given returns a published video, a customer to whom it was given, and a link.
func (w *world) given(content []byte) (item, customer, url string) {
	w.t.Helper()
	i := w.video(content)
	customer = w.others.customer()
	w.entitle(&mediav1.CreateEntitlementRequest{ItemId: i.GetId(), CustomerId: customer})
	return i.GetId(), customer, must[*mediav1.CreatePlaybackLinkResponse](w.t)(w.link(i.GetId(), customer)).GetUrl()
}

func TestPlay(t *testing.T) {
	w := start(t)
	content := mp4(300_000)
	_, _, url := w.given(content)
	size := "300000"
	t.Run("sends the whole file, with headers that protect it", func(t *testing.T) {
		code, h, body := w.fetch(url)
		if code != http.StatusOK || !bytes.Equal(body, content) {
			t.Fatalf("got %d, %d bytes", code, len(body))
		}
		for name, want := range map[string]string{
			"Content-Type": "video/mp4", "Content-Length": size, "Accept-Ranges": "bytes", "Etag": `"` + digest(content) + `"`,
			"Cache-Control": "private, no-store", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'",
			"Access-Control-Allow-Origin": "*", "Content-Disposition": "inline; filename=morning-flow.mp4",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
	})
	for name, tt := range map[string]struct {
		value string
		code  int
		want  []byte
		is    string // Content-Range
	}{
		"the start":       {"bytes=0-99", http.StatusPartialContent, content[:100], "bytes 0-99/" + size},
		"the middle":      {"bytes=150000-199999", http.StatusPartialContent, content[150000:200000], "bytes 150000-199999/" + size},
		"the rest":        {"bytes=299000-", http.StatusPartialContent, content[299000:], "bytes 299000-299999/" + size},
		"a suffix":        {"bytes=-10", http.StatusPartialContent, content[299990:], "bytes 299990-299999/" + size},
		"a long suffix":   {"bytes=-999999", http.StatusPartialContent, content, "bytes 0-299999/" + size},
		"beyond the end":  {"bytes=300000-", http.StatusRequestedRangeNotSatisfiable, nil, "bytes */" + size},
		"nonsense":        {"bytes=x", http.StatusRequestedRangeNotSatisfiable, nil, ""},
		"too many ranges": {"bytes=" + strings.Repeat("0-0,", 20) + "0-0", http.StatusRequestedRangeNotSatisfiable, nil, ""},
	} {
		t.Run("answers a range: "+name, func(t *testing.T) {
			code, h, body := w.fetch(url, "Range", tt.value)
			if code != tt.code || tt.want != nil && !bytes.Equal(body, tt.want) || h.Get("Content-Range") != tt.is {
				t.Errorf("got %d, %d bytes, %q", code, len(body), h.Get("Content-Range"))
			}
		})
	}
	t.Run("answers several ranges", func(t *testing.T) {
		code, h, body := w.fetch(url, "Range", "bytes=0-9,100-109")
		_, params, err := mime.ParseMediaType(h.Get("Content-Type"))
		if code != http.StatusPartialContent || err != nil {
			t.Fatal(code, err)
		}
		parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
		for _, want := range [][]byte{content[:10], content[100:110]} {
			p, err := parts.NextPart()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(p); err != nil || !bytes.Equal(got, want) {
				t.Errorf("got %q, %v", got, err)
			}
		}
	})
	t.Run("compares the checksum, and answers HEAD without the file", func(t *testing.T) {
		if code, _, body := w.fetch(url, "If-None-Match", `"`+digest(content)+`"`); code != http.StatusNotModified || len(body) > 0 {
			t.Errorf("got %d", code)
		}
		if code, _, _ := w.fetch(url, "If-Range", `"another"`, "Range", "bytes=0-9"); code != http.StatusOK {
			t.Errorf("got %d", code)
		}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodHead, url, nil)
		res, err := w.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK || res.ContentLength != int64(len(content)) {
			t.Errorf("got %s, %d bytes", res.Status, res.ContentLength)
		}
	})
	t.Run("permits pages of every origin, and no other method", func(t *testing.T) {
		for method, want := range map[string]int{http.MethodOptions: http.StatusNoContent, http.MethodPost: http.StatusMethodNotAllowed, http.MethodDelete: http.StatusMethodNotAllowed} {
			req, _ := http.NewRequestWithContext(t.Context(), method, url, nil)
			if code, text := w.do(req); code != want {
				t.Errorf("%s: got %d %s", method, code, text)
			}
		}
	})
	t.Run("refuses a link in which any character was changed", func(t *testing.T) { // invariant 7
		before, token := tokenOf(url)
		for at := range token {
			if code := w.status(before + changed(token, at)); code != http.StatusNotFound {
				t.Fatalf("character %d was changed: %d", at, code)
			}
		}
		for _, other := range []string{token + "A", token[1:], token + "=", "", strings.ToUpper(token)} {
			if code := w.status(before + other); code != http.StatusNotFound {
				t.Errorf("%q: %d", other, code)
			}
		}
		for _, path := range []string{coverPath, uploadPath} {
			if code := w.status(w.settings.PublicURL + path + token); code != http.StatusNotFound {
				t.Errorf("%s: %d", path, code)
			}
		}
	})
}

// reasons make a customer entitled to an item in each possible way. They return the reason as it is shown,
// and a function that ends it.
var reasons = map[string]func(w *world, item, collection, customer string) (shown func(*mediav1.MediaReason) bool, end func()){
	"an item that was given": func(w *world, item, _, customer string) (func(*mediav1.MediaReason) bool, func()) {
		e := w.entitle(&mediav1.CreateEntitlementRequest{ItemId: item, CustomerId: customer})
		return func(r *mediav1.MediaReason) bool { return r.GetGiven() && r.GetEntitlementId() == e.GetId() }, func() {
			must[*mediav1.DeleteEntitlementResponse](w.t)(w.client.DeleteEntitlement(w.ctx(), &mediav1.DeleteEntitlementRequest{Id: e.GetId()}))
		}
	},
	"a pass of a type": func(w *world, item, _, customer string) (func(*mediav1.MediaReason) bool, func()) {
		p := w.others.pass(customer, id.New[id.PassType]().String())
		w.entitle(&mediav1.CreateEntitlementRequest{ItemId: item, PassTypeId: p.GetPassTypeId()})
		return func(r *mediav1.MediaReason) bool {
				return r.GetCustomerPassId() == p.GetId() && r.GetLastDay() == "2099-12-31"
			}, func() {
				w.others.set(func() { p.Status = passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED })
			}
	},
	"an exhausted pass, and a collection": func(w *world, _, collection, customer string) (func(*mediav1.MediaReason) bool, func()) {
		w.others.pass(customer, id.New[id.PassType]().String())
		p := w.others.pass(customer, id.New[id.PassType]().String())
		w.others.set(func() { p.Status = passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_EXHAUSTED })
		w.entitle(&mediav1.CreateEntitlementRequest{CollectionId: collection, PassTypeId: p.GetPassTypeId()})
		return func(r *mediav1.MediaReason) bool { return r.GetCustomerPassId() == p.GetId() }, func() {
			w.others.set(func() { p.Status = passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_EXPIRED })
		}
	},
	"a plan that includes the collection": func(w *world, _, collection, customer string) (func(*mediav1.MediaReason) bool, func()) {
		s := w.others.subscription(customer, id.New[id.Plan]().String(), collection)
		return func(r *mediav1.MediaReason) bool {
				return r.GetSubscriptionId() == s.GetId() && r.GetEntitlementId() == ""
			}, func() {
				w.others.set(func() { s.Status = subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ENDED })
			}
	},
	"a plan that an entitlement names, past due": func(w *world, item, _, customer string) (func(*mediav1.MediaReason) bool, func()) {
		s := w.others.subscription(customer, id.New[id.Plan]().String())
		w.others.set(func() {
			s.Status, s.SuspendedFrom = subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_PAST_DUE, timestamppb.New(time.Now().Add(time.Hour))
		})
		w.entitle(&mediav1.CreateEntitlementRequest{ItemId: item, PlanId: s.GetPlanId()})
		return func(r *mediav1.MediaReason) bool {
				return r.GetSubscriptionId() == s.GetId() && r.GetEntitlementId() != ""
			}, func() {
				w.others.set(func() { s.SuspendedFrom = timestamppb.New(time.Now()) })
			}
	},
	"a booked event": func(w *world, _, collection, customer string) (func(*mediav1.MediaReason) bool, func()) {
		r := w.others.booking(customer, id.New[id.Event]().String())
		w.entitle(&mediav1.CreateEntitlementRequest{CollectionId: collection, EventId: r.GetBooking().GetEventId(), LastDay: "2090-01-01"})
		return func(m *mediav1.MediaReason) bool {
				return m.GetBookingId() == r.GetBooking().GetId() && m.GetLastDay() == "2090-01-01"
			}, func() {
				w.others.set(func() { r.Booking.IsCancelled = true })
			}
	},
}

func TestReasons(t *testing.T) { // invariants 6 and 7
	w := start(t)
	content := mp4(2000)
	for name, make := range reasons {
		c := w.collection()
		i := w.video(content, c.GetId())
		customer, stranger := w.others.customer(), w.others.customer()
		_, err := w.link(i.GetId(), customer)
		wantReason(t, err, ReasonNotEntitled)
		shown, end := make(w, i.GetId(), c.GetId(), customer)
		link := must[*mediav1.CreatePlaybackLinkResponse](t)(w.link(i.GetId(), customer))
		if !shown(link.GetReason()) || link.GetContentType() != "video/mp4" {
			t.Errorf("%s: the link has %v", name, link)
		}
		list := func(customer string) []*mediav1.CustomerMedia {
			res := must[*mediav1.ListCustomerMediaResponse](t)(w.client.ListCustomerMedia(w.ctx(), &mediav1.ListCustomerMediaRequest{CustomerId: customer}))
			if int(res.GetTotal()) != len(res.GetMedia()) {
				t.Errorf("%s: total %d of %d", name, res.GetTotal(), len(res.GetMedia()))
			}
			return res.GetMedia()
		}
		get := func(customer string) *mediav1.MediaReason {
			return must[*mediav1.GetCustomerMediaResponse](t)(w.client.GetCustomerMedia(w.ctx(), &mediav1.GetCustomerMediaRequest{CustomerId: customer, ItemId: i.GetId()})).GetMedia().GetReason()
		}
		if got := list(customer); len(got) != 1 || got[0].GetItem().GetId() != i.GetId() || !shown(got[0].GetReason()) || !shown(get(customer)) {
			t.Errorf("%s: listed %v", name, got)
		}
		if code := w.status(link.GetUrl()); code != http.StatusOK {
			t.Errorf("%s: got %d", name, code)
		}
		_, err = w.link(i.GetId(), stranger)
		wantReason(t, err, ReasonNotEntitled)
		if got := list(stranger); len(got) != 0 || get(stranger) != nil {
			t.Errorf("%s: another customer has %v", name, got)
		}
		end()
		if code := w.status(link.GetUrl()); code != http.StatusForbidden {
			t.Errorf("%s has ended: got %d", name, code)
		}
		_, err = w.link(i.GetId(), customer)
		wantReason(t, err, ReasonNotEntitled)
		if got := list(customer); len(got) != 0 || get(customer) != nil {
			t.Errorf("%s has ended: listed %v", name, got)
		}
	}
	w.verify()
}

func TestReasonsOfOthers(t *testing.T) { // invariant 6
	w := start(t)
	i := w.video(mp4(2000))
	customer, other := w.others.customer(), w.others.customer()
	p := w.others.pass(other, id.New[id.PassType]().String())
	w.entitle(&mediav1.CreateEntitlementRequest{ItemId: i.GetId(), PassTypeId: p.GetPassTypeId()})
	r := w.others.booking(other, id.New[id.Event]().String())
	w.others.set(func() { r.Purchaser = &bookingv1.CustomerReference{Id: customer} })
	w.entitle(&mediav1.CreateEntitlementRequest{ItemId: i.GetId(), EventId: r.GetBooking().GetEventId()})
	t.Run("does not entitle the purchaser of a booking for another customer", func(t *testing.T) {
		_, err := w.link(i.GetId(), customer)
		wantReason(t, err, ReasonNotEntitled)
	})
	t.Run("ends when the pass is transferred", func(t *testing.T) {
		link := must[*mediav1.CreatePlaybackLinkResponse](t)(w.link(i.GetId(), other)).GetUrl()
		w.others.set(func() { p.CustomerId = customer })
		if code := w.status(link); code != http.StatusForbidden {
			t.Errorf("got %d", code)
		}
	})
	t.Run("is not decided while another service is away", func(t *testing.T) {
		link := must[*mediav1.CreatePlaybackLinkResponse](t)(w.link(i.GetId(), customer)).GetUrl()
		w.others.set(func() { w.others.down = true })
		defer w.others.set(func() { w.others.down = false })
		code, h, _ := w.fetch(link)
		if code != http.StatusServiceUnavailable || h.Get("Retry-After") == "" {
			t.Errorf("got %d", code)
		}
		_, err := w.link(i.GetId(), customer)
		wantReason(t, err, fault.ReasonServiceUnavailable)
	})
	t.Run("asks no other service about an item that was given", func(t *testing.T) {
		w.entitle(&mediav1.CreateEntitlementRequest{ItemId: i.GetId(), CustomerId: customer})
		before := w.others.total()
		must[*mediav1.CreatePlaybackLinkResponse](t)(w.link(i.GetId(), customer))
		if n := w.others.total() - before; n != 1 { // whether the customer exists
			t.Errorf("%d calls", n)
		}
	})
}

func TestLinkEnds(t *testing.T) { // invariants 7, 10 and 12
	content := mp4(2000)
	for name, tt := range map[string]struct {
		end  func(w *world, item, customer string)
		want int
	}{
		"the item becomes a draft": {func(w *world, item, _ string) { w.setStatus(item, mediav1.MediaStatus_MEDIA_STATUS_DRAFT) }, http.StatusNotFound},
		"the item is deleted": {func(w *world, item, _ string) {
			must[*mediav1.DeleteMediaItemResponse](w.t)(w.client.DeleteMediaItem(w.ctx(), &mediav1.DeleteMediaItemRequest{Id: item}))
		}, http.StatusNotFound},
		"the file is replaced": {func(w *world, item, _ string) {
			next := mp4(3000)
			u := w.newUpload(item, next)
			w.putAll(u, next)
			w.eventuallyComplete(u)
		}, http.StatusNotFound},
		"the customer is deleted": {func(w *world, _, customer string) {
			w.others.set(func() { w.others.customers[customer] = true })
			must[*customerv1.ConfirmCustomerDeletionResponse](w.t)(w.deletions.ConfirmCustomerDeletion(w.with("customers:write"), &customerv1.ConfirmCustomerDeletionRequest{CustomerId: customer}))
		}, http.StatusForbidden},
		"its time is over": {func(w *world, _, _ string) { w.clock.move(linkMinutes * time.Minute) }, http.StatusGone},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			item, customer, url := w.given(content)
			if code := w.status(url); code != http.StatusOK {
				t.Fatalf("got %d", code)
			}
			tt.end(w, item, customer)
			if code := w.status(url); code != tt.want {
				t.Errorf("got %d, want %d", code, tt.want)
			}
		})
	}
}

func TestLinkOfTestMode(t *testing.T) { // invariant 12
	live := start(t)
	w := live.of(live.company.Test())
	w.setClock(0)
	content := mp4(2000)
	_, _, url := w.given(content)
	i := w.video(content)
	customer := w.others.customer()
	zone, _ := time.LoadLocation("America/New_York")
	w.entitle(&mediav1.CreateEntitlementRequest{ItemId: i.GetId(), CustomerId: customer, LastDay: time.Now().In(zone).AddDate(0, 0, 1).Format(time.DateOnly)})
	_, _, liveURL := live.given(content)
	w.setClock(3 * time.Hour)
	if code := w.status(url); code != http.StatusOK {
		t.Errorf("before its time: %d", code)
	}
	w.setClock(49 * time.Hour)
	if code := w.status(url); code != http.StatusGone {
		t.Errorf("after its time: %d", code)
	}
	_, err := w.link(i.GetId(), customer)
	wantReason(t, err, ReasonNotEntitled)
	if code := live.status(liveURL); code != http.StatusOK {
		t.Errorf("in live mode: %d", code)
	}
}

func TestLinkRequests(t *testing.T) {
	w := start(t)
	i, customer := w.item(video), w.others.customer()
	w.entitle(&mediav1.CreateEntitlementRequest{ItemId: i.GetId(), CustomerId: customer})
	_, err := w.link(i.GetId(), customer)
	wantReason(t, err, ReasonNotReady)
	for _, minutes := range []int32{-1, maxLinkMinutes + 1} {
		_, err := w.client.CreatePlaybackLink(w.ctx(), &mediav1.CreatePlaybackLinkRequest{ItemId: i.GetId(), CustomerId: customer, Minutes: minutes})
		wantReason(t, err, fault.ReasonValidation)
	}
	_, err = w.link(i.GetId(), id.New[id.Customer]().String())
	wantMissing(t, err)
	_, err = w.client.GetCustomerMedia(w.ctx(), &mediav1.GetCustomerMediaRequest{CustomerId: customer, ItemId: i.GetId()})
	wantMissing(t, err) // a draft
	_, err = w.client.ListCustomerMedia(w.ctx(), &mediav1.ListCustomerMediaRequest{CustomerId: id.New[id.Customer]().String()})
	wantMissing(t, err)
}

func TestCustomerMediaPages(t *testing.T) {
	w := start(t)
	c, customer := w.collection(), w.others.customer()
	content := mp4(1000)
	want := map[string]bool{}
	for range 5 {
		want[w.video(content, c.GetId()).GetId()] = true
	}
	w.item(video, c.GetId()) // a draft
	w.video(content)         // not in the collection
	w.others.subscription(customer, id.New[id.Plan]().String(), c.GetId())
	req := &mediav1.ListCustomerMediaRequest{CustomerId: customer, PageSize: 2}
	before := w.others.total()
	pages := 0
	for ; ; pages++ {
		res := must[*mediav1.ListCustomerMediaResponse](t)(w.client.ListCustomerMedia(w.ctx(), req))
		if res.GetTotal() != 5 {
			t.Errorf("total %d", res.GetTotal())
		}
		for _, m := range res.GetMedia() {
			if !want[m.GetItem().GetId()] || m.GetReason().GetSubscriptionId() == "" {
				t.Errorf("got %v", m)
			}
			delete(want, m.GetItem().GetId())
		}
		if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
			break
		}
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
	if n := w.others.total() - before; n != 2*(pages+1) { // the customer and the subscriptions
		t.Errorf("%d calls for %d pages", n, pages+1)
	}
}

// TestLongResponse ends the reason of a link while its file is being sent.
func TestLongResponse(t *testing.T) { // invariant 7
	w := start(t)
	const size = 48 << 20
	i := w.item(video)
	u := must[*mediav1.CreateUploadResponse](t)(w.client.CreateUpload(w.ctx(), &mediav1.CreateUploadRequest{
		ItemId: i.GetId(), FileName: "long.mp4", ContentType: "video/mp4", Size: size,
	})).GetUpload()
	w.putAll(u, mp4(size))
	w.eventuallyComplete(u)
	w.setStatus(i.GetId(), mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED)
	customer := w.others.customer()
	e := w.entitle(&mediav1.CreateEntitlementRequest{ItemId: i.GetId(), CustomerId: customer})
	url := must[*mediav1.CreatePlaybackLinkResponse](t)(w.link(i.GetId(), customer)).GetUrl()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	res, err := w.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.CopyN(io.Discard, res.Body, 1<<20); err != nil {
		t.Fatal(err)
	}
	must[*mediav1.DeleteEntitlementResponse](t)(w.client.DeleteEntitlement(w.ctx(), &mediav1.DeleteEntitlementRequest{Id: e.GetId()}))
	n, err := io.Copy(io.Discard, res.Body)
	if err == nil || n > recheckBytes+8<<20 {
		t.Errorf("%d more bytes were sent (%v)", n, err)
	}
}

func TestPlaybackLimit(t *testing.T) { // invariant 13
	w := start(t, func(s *Settings) { s.CompanyPlaybacks, s.Playbacks = 1, 2 })
	content := mp4(2000)
	_, _, url := w.given(content)
	other := w.of(id.New[id.Company]())
	_, _, otherURL := other.given(content)
	release := w.server.playbacks.take(w.company)
	code, h, _ := w.fetch(url)
	if code != http.StatusTooManyRequests || h.Get("Retry-After") == "" {
		t.Errorf("got %d", code)
	}
	if code := other.status(otherURL); code != http.StatusOK {
		t.Errorf("another company got %d", code)
	}
	release()
	if code := w.status(url); code != http.StatusOK {
		t.Errorf("afterwards %d", code)
	}
}
