package browser

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	"reservation.dev/test/harness"
)

// pictures is the directory for the documentation's pictures; "" if they are not written.
var pictures = flag.String("pictures", "", "directory to put pictures of the main pages into")

// maxPicture is the largest size of a picture, in bytes.
const maxPicture = 150_000

// picture is a picture of the documentation.
type picture struct {
	name   string
	page   string // the name of a place
	phone  bool
	scheme string
	anchor string // CSS selector of the element at the top; "" for the top of the page
}

// TestSlowPictures takes the pictures of docs/DASHBOARD.md. They show the demonstration company on a
// day with webhook deliveries.
func TestSlowPictures(t *testing.T) {
	fonts := liberation()
	if *pictures != "" { // the documentation shows names in letters that the set does not have
		fonts = fontSet{}
	}
	w := newWorld(t, fonts)
	b := w.signedIn(t)
	w.busy(t, b)
	b.addDiscount("WELCOME10")
	pages := map[string]string{"sign-in": "/sign-in", "library": "/library"}
	for _, p := range w.places(t, b) {
		pages[p.name] = p.path
	}
	w.tab(t).take(picture{name: "sign-in", scheme: "light"}, "/sign-in")
	b.open("/week")
	pages["next week"] = b.href(`//main//a[@rel="next"]`)
	b.open("/subscriptions?status=active")
	pages["subscription"] = b.href(`(//main//table//tr[contains(., "Eight Classes")]//a[contains(@href,"/subscriptions/sub_")])[1]`)
	for _, p := range []picture{
		{"calendar", "next week", false, "light", ""},
		{"event", "date", false, "light", ""},
		{"event-phone", "date", true, "dark", ""},
		{"book", "book for a customer", false, "light", ""},
		{"cancel", "cancel a booking", false, "light", ""},
		{"customer", "customer", false, "light", ""},
		{"pass", "pass", false, "light", ""},
		{"subscription", "subscription", false, "light", ""},
		{"library", "library", false, "light", ""},
		{"api-clients", "API clients", false, "light", ""},
		{"add-client", "new API client", false, "light", ""},
		{"webhook", "webhook", false, "light", ""},
		{"webhook-chart", "webhook", false, "light", "#charts"},
		{"deliveries", "deliveries", false, "light", ""},
		{"deliveries-phone", "deliveries", true, "light", ""},
	} {
		if pages[p.page] == "" {
			t.Fatalf("the picture %s has no page", p.name)
		}
		b.take(p, pages[p.page])
	}
	b.scheme("light")
	b.testPlaces()
	b.open("/test-mode")
	b.follow("1 week")
	b.take(picture{name: "test-mode", scheme: "light"}, "/test-mode")
}

// take takes a picture of a page in a window.
func (b *tab) take(p picture, path string) {
	b.t.Helper()
	window := windows[0]
	if p.phone {
		window = windows[1]
	}
	b.size(window.width, window.height)
	b.scheme(p.scheme)
	b.open(path)
	if p.anchor != "" {
		eval[bool](b, fmt.Sprintf(`(document.querySelector(%q).scrollIntoView(), true)`, p.anchor))
	}
	shot, err := png.Decode(bytes.NewReader(read(b, "picture", chromedp.CaptureScreenshot())))
	if err != nil {
		b.t.Fatal(err)
	}
	var small bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, flat(shot)); err != nil {
		b.t.Fatal(err)
	}
	if size := shot.Bounds().Size(); int64(size.X) != window.width || int64(size.Y) != window.height {
		b.t.Errorf("the picture %s is of %v", p.name, size)
	}
	if small.Len() > maxPicture {
		b.t.Errorf("the picture %s has %d bytes", p.name, small.Len())
	}
	if *pictures == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(*pictures, p.name+".png"), small.Bytes(), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// flat reduces a picture to its 256 most frequent colours. Pages have few colours except at the
// edges of letters.
func flat(shot image.Image) image.Image {
	counts := map[color.RGBA]int{}
	bounds := shot.Bounds()
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(shot.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[at(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int { return cmp.Compare(counts[b], counts[a]) })
	var palette color.Palette
	for _, c := range colours[:min(256, len(colours))] {
		palette = append(palette, c)
	}
	index := map[color.RGBA]uint8{}
	for _, c := range colours {
		index[c] = uint8(palette.Index(c))
	}
	out := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			out.SetColorIndex(x, y, index[at(x, y)])
		}
	}
	return out
}

// busy makes a day of deliveries about bookings, to a receiver that fails now and then, and spreads
// them over the hours afterwards.
func (w *world) busy(t *testing.T, b *tab) {
	t.Helper()
	b.addEndpoint(w.receiver.url+"/flaky", "The till at the front desk")
	b.addEndpoint(w.receiver.url+"/newsletter", "The newsletter")
	ctx := w.company.Ctx(t.Context())
	customers, err := w.op.Customers.ListCustomers(ctx, &customerv1.ListCustomersRequest{PageSize: 60})
	if err != nil {
		t.Fatal(err)
	}
	free := w.free(t)
	count := min(len(free), len(customers.GetCustomers()))
	for i, line := range free[:count] {
		_, err := w.op.Bookings.CreateTransaction(ctx, &bookingv1.CreateTransactionRequest{
			PurchaserId: customers.GetCustomers()[i].GetId(), PaymentMethod: bookingv1.PaymentMethod_PAYMENT_METHOD_CARD,
			Lines: []*bookingv1.TransactionLine{line},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	address, err := url.Parse(w.postgres.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	address.Path = "/reservation_webhook"
	conn, err := pgx.Connect(t.Context(), address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	harness.Eventually(t, stepLimit, func() error {
		var n int
		err := conn.QueryRow(t.Context(), `select count(*) from attempts`).Scan(&n)
		if err == nil && n < 2*count {
			err = fmt.Errorf("%d attempts", n)
		}
		return err
	})
	// The order of sending decides the hour: more deliveries at noon and in the evening.
	if _, err := conn.Exec(t.Context(), `
		update attempts set at = at - (h || ' hours')::interval, duration_us = duration_us + 20000 + 6000 * h
		from (select delivery_id as id, (array[0, 1, 1, 2, 3, 3, 3, 4, 5, 6, 7, 9, 10, 12, 13, 14, 14, 15, 16, 17, 17, 18, 20, 22])[1 + (row_number() over (order by delivery_id)) % 24] as h
			from (select distinct delivery_id from attempts) as sent) as hours
		where hours.id = attempts.delivery_id`); err != nil {
		t.Fatal(err)
	}
}

// free returns bookable spaces of the next days, as purchase lines of one space. It leaves some
// spaces free.
func (w *world) free(t *testing.T) []*bookingv1.TransactionLine {
	t.Helper()
	ctx := w.company.Ctx(t.Context())
	dates, err := w.op.Events.ListEventDates(ctx, &bookingv1.ListEventDatesRequest{
		StartsFrom: timestamppb.Now(), StartsBefore: timestamppb.New(time.Now().AddDate(0, 0, 9)), PageSize: 200,
	})
	if err != nil {
		t.Fatal(err)
	}
	var lines []*bookingv1.TransactionLine
	for i, d := range dates.GetDates() {
		event, err := w.op.Events.GetEvent(ctx, &bookingv1.GetEventRequest{Id: d.GetEventId()})
		if err != nil {
			t.Fatal(err)
		}
		for range (d.GetDate().GetCapacity() - d.GetDate().GetBooked()) * int32(1+i%3) / 4 {
			lines = append(lines, &bookingv1.TransactionLine{
				EventId: d.GetEventId(), EventDateId: d.GetDate().GetId(), PricingOptionId: event.GetEvent().GetPricingOptions()[0].GetId(), Spaces: 1,
			})
		}
	}
	return lines
}
