package browser

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"reservation.dev/test/harness"
)

// fileOrigin is the origin of the media service's files in a content security policy.
var fileOrigin = regexp.MustCompile(`media-src ([^;]+);`)

// filesAt returns the origin from which pages of the library load files.
func filesAt(t *testing.T, dashboard string) string {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, dashboard+"/library", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	found := fileOrigin.FindStringSubmatch(res.Header.Get("Content-Security-Policy"))
	if found == nil {
		t.Fatalf("the library has no media-src: %v", res.Header)
	}
	return found[1]
}

// chooseText picks the option of a list whose text begins with a text.
func (b *tab) chooseText(label, text string) {
	b.t.Helper()
	value := eval[string](b, `(() => {
		const list = document.evaluate(`+quote(b.t, field(label))+`, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue;
		const option = [...list.options].find(o => o.text.startsWith(`+quote(b.t, text)+`));
		return option ? option.value : "";
	})()`)
	if value == "" {
		b.t.Fatalf("%s has no choice %q:\n%s", label, text, b.text())
	}
	b.choose(label, value)
}

// starting finds a link or button by the beginning of its text.
func starting(label string) string {
	return `(//main//*[self::a or self::button][starts-with(normalize-space(),` + literal(label) + `)])[1]`
}

// addPlan adds a plan of four credits for £40.00 a month.
func (b *tab) addPlan(title string) {
	b.t.Helper()
	b.open("/plans/new")
	b.fill("Title", title)
	b.fill("Price", "40")
	b.fill("Credits in each period", "4")
	b.fill("Unused credits that move", "2")
	b.follow("Add the plan")
	b.says("The plan was added.", title)
}

// addMember adds a customer, and leaves the tab on the customer's page.
func (b *tab) addMember(first, last string) {
	b.t.Helper()
	b.open("/customers/new")
	b.fill("First name", first)
	b.fill("Last name", last)
	b.fill("E-mail address", strings.ToLower(first+"."+last)+"@example.org")
	b.follow("Add the customer")
}

func (w *world) testSubscriptions(t *testing.T) { // invariant 1
	b := w.signedIn(t)
	var subscribed string // the day
	b.step("says what a plan includes while it is filled in", func(t *testing.T) {
		b.open("/plans/new")
		b.fill("Price", "40")
		b.fill("Credits in each period", "4")
		b.fill("Unused credits that move", "2")
		b.do("sentence", chromedp.WaitVisible(
			`//*[@id="gets"]//p[contains(text(),"£40.00 every month, 4 credits a month, up to 2 move to the next month.")]`))
		b.addPlan("Four a month")
		b.says("£40.00 every month, 4 credits a month, up to 2 move to the next month.")
		b.quiet()
	})
	b.step("subscribes a customer who has not paid yet", func(t *testing.T) {
		b.addMember("Maya", "Member")
		b.follow("Subscribe")
		b.chooseText("Plan", "Four a month")
		subscribed = londonDay(t)
		b.follow("Subscribe")
		b.says("Maya Member is subscribed to Four a month.", "Active", "Due", "becomes due")
		b.quiet()
	})
	b.step("records the payment", func(t *testing.T) {
		b.followAt("Record the payment…", starting("Record the payment…"))
		b.says("£40.00 is recorded as paid", "No money is moved.")
		b.tick("Cash")
		b.follow("Record the payment")
		b.says("The payment is recorded.", "£40.00 (cash)")
		if strings.Contains(b.text(), "Record the payment…") {
			t.Error("the page still offers to record the payment")
		}
		b.quiet()
	})
	b.step("pauses from a later day, and withdraws the pause", func(t *testing.T) {
		b.follow("Pause…")
		b.choose("First day of the pause", time.Now().AddDate(0, 0, 3).Format(time.DateOnly))
		b.follow("Pause")
		b.says("The pause is entered.", "is paused until you resume it")
		b.follow("Withdraw the pause…")
		b.follow("Withdraw the pause")
		b.says("The pause is withdrawn.")
		b.quiet()
	})
	b.step("cancels at the end of the period, and keeps the subscription", func(t *testing.T) {
		b.follow("Cancel…")
		b.says("The last day is", "No refund becomes due.")
		b.follow("Cancel the subscription")
		b.says("The subscription is cancelled.", "Ending")
		b.follow("Keep the subscription…")
		b.follow("Keep it")
		b.says("The cancellation is withdrawn.", "Active")
		b.quiet()
	})
	b.step("cancels now with a refund, and records the refund", func(t *testing.T) {
		b.follow("Cancel…")
		b.tick("Now")
		b.tick("Refund the unused part")
		b.follow("Show what happens")
		b.says(" becomes a refund due.")
		b.follow("Cancel the subscription")
		b.says("Refund due: £", "Ended")
		// After midnight, a day of the period is used.
		if londonDay(t) == subscribed {
			b.says("Refund due: £40.00.")
		}
		b.follow("Record the refund…")
		b.follow("Record the refund")
		b.says("The refund is recorded.", "Refunded")
		b.quiet()
	})
}

// londonDay returns the present day of the company.
func londonDay(t *testing.T) string {
	t.Helper()
	zone, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	return time.Now().In(zone).Format(time.DateOnly)
}

// silence writes a recording of silence of a size, in WAV, and returns its path.
func silence(t *testing.T, size uint32) string {
	t.Helper()
	const rate, header = 8000, 44
	var b bytes.Buffer
	for _, part := range []any{
		[]byte("RIFF"), size - 8, []byte("WAVEfmt "), uint32(16), uint16(1), uint16(1), uint32(rate), uint32(rate), uint16(1), uint16(8), []byte("data"), size - header,
	} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	b.Write(bytes.Repeat([]byte{0x80}, int(size-header)))
	path := filepath.Join(harness.TempDir(t), "silence.wav")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (w *world) testLibrary(t *testing.T) { // invariant 1
	b := w.signedIn(t)
	const title = "Evening sounds"
	b.step("adds an item", func(t *testing.T) {
		b.open("/library/new")
		b.fill("Title", title)
		b.choose("Kind", "audio")
		b.follow("Add the item")
		b.says("The item was added. Upload its file next.", "Upload a file, then publish the item.")
		b.quiet()
	})
	b.step("uploads a file in two parts", func(t *testing.T) {
		b.do("choose the file", chromedp.SetUploadFiles(chromedp.CSS("#file-file"), []string{silence(t, 9<<20)}))
		b.press("Upload")
		b.do("uploaded", chromedp.WaitVisible(`//main//*[contains(@class,"note") and contains(.,"The file silence.wav was uploaded.")]`))
		b.says("audio/wav", "9.4 MB")
		b.quiet()
	})
	b.step("publishes the item", func(t *testing.T) {
		b.follow("Publish")
		b.says("The item is published.", "Published")
		b.quiet()
	})
	b.step("says that a customer is not entitled, and gives the item", func(t *testing.T) {
		item := b.path()
		b.addMember("Lena", "Listener")
		b.open(item + "/play")
		b.fill("Which customer?", "listener")
		b.follow("Search")
		b.followAt("Lena", `(//main//a[contains(@class,'slot')])[1]`)
		b.says("This customer cannot play this item")
		b.follow("Give it to the customer")
		b.follow("Give")
		b.says("The customer can play it now.", title, "Given to the customer", "Not started")
		b.quiet()
	})
	b.step("plays the item as the customer", func(t *testing.T) {
		b.followAt("Play", `(//*[@id="media"]//a[contains(@href,"/play?customer=")])[1]`)
		b.says(title, "Given to the customer")
		seconds := read(b, "the length", chromedp.Evaluate[float64](`new Promise(done => {
			const player = document.querySelector("audio");
			if (player.readyState > 0) return done(player.duration);
			player.addEventListener("loadedmetadata", () => done(player.duration));
			player.addEventListener("error", () => done(-1));
		})`, chromedp.EvalAwaitPromise))
		if seconds < 1000 {
			t.Errorf("the recording is %f seconds long", seconds)
		}
		b.quiet()
	})
	b.step("takes it back, and the customer can no longer play it", func(t *testing.T) {
		play := b.path()
		b.followAt("the item", `//main//p[@class="crumb"]/a`)
		b.followAt("Remove…", starting("Remove…"))
		b.says("Lena Listener can no longer play " + title)
		b.follow("Remove")
		b.says("Nobody yet")
		b.open(play)
		b.says("This customer cannot play this item")
		b.quiet()
	})
}

// membershipPlaces adds a plan, a subscription with a payment due, a collection and an item, and returns the
// pages that show them.
func (w *world) membershipPlaces(b *tab) []place {
	b.t.Helper()
	b.addPlan("Places a month")
	plan := b.href(`//main//table//th//a[normalize-space()="Places a month"]`)
	b.addMember("Mia", "Placeholder")
	customer := b.path()
	b.follow("Subscribe")
	b.chooseText("Plan", "Places a month")
	b.follow("Subscribe")
	sub := b.path()
	b.open("/collections/new")
	b.fill("Title", "Places")
	b.follow("Add the collection")
	collection := b.path()
	b.follow("Add item")
	b.fill("Title", "Place")
	b.follow("Add the item")
	item := b.path()
	access := func(of string) string {
		b.open(of + "/access")
		b.tick("Subscribers of a plan")
		b.chooseText("Plan", "Places a month")
		b.follow("Add")
		return b.href(`(//*[@id="access"]//a[contains(@href,"/remove")])[1]`)
	}
	ofItem, ofCollection := access(item), access(collection)
	places := []place{
		{"plans", "/plans"}, {"new plan", "/plans/new"}, {"plan", plan}, {"payments due", "/settings/payments-due"}, {"subscribe", customer + "/subscribe"},
		{"customer with a subscription", customer}, {"give media", customer + "/give"}, {"subscriptions", "/subscriptions"}, {"subscription", sub},
		{"pause a subscription", sub + "/pause"}, {"resume a subscription", sub + "/resume"}, {"cancel a subscription", sub + "/cancel"},
		{"change a plan", sub + "/plan"}, {"preview a change of plan", sub + "/plan?plan=" + strings.TrimPrefix(plan, "/plans/") + "&when=end"},
		{"keep a subscription", sub + "/keep"}, {"refund a subscription", sub + "/refund"}, {"library", "/library"}, {"new item", "/library/new"}, {"item", item},
		{"change an item", item + "/edit"}, {"delete an item", item + "/delete"}, {"find who plays an item", item + "/play"}, {"find who gets an item", item + "/give"},
		{"play an item", item + "/play?customer=" + strings.TrimPrefix(customer, "/customers/")}, {"who can play an item", item + "/access"}, {"remove who can play", ofItem},
		{"collections", "/collections"}, {"new collection", "/collections/new"}, {"collection", collection}, {"delete a collection", collection + "/delete"},
		{"who can play a collection", collection + "/access"}, {"find who gets a collection", collection + "/give"}, {"remove who can play a collection", ofCollection},
	}
	for _, action := range []string{"pay", "fail", "waive"} {
		places = append(places, place{action + " a period", sub + "/periods/1/" + action})
	}
	return places
}
