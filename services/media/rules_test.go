package media

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/config"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

func TestDetect(t *testing.T) {
	t.Parallel()
	box := func(brand string) string { return "\x00\x00\x00\x18ftyp" + brand + "\x00\x00\x00\x00isom" }
	ogg := func(codec string) string {
		return "OggS\x00\x02" + strings.Repeat("\x00", 20) + "\x01\x1e" + codec + "        "
	}
	for name, tt := range map[string]struct{ head, want string }{
		"MP4":                    {box("mp42"), typeMP4},
		"MP4 of a phone":         {box("isom"), typeMP4},
		"QuickTime":              {box("qt  "), typeQuickTime},
		"QuickTime, early":       {"\x00\x00\x10\x00moov\x00\x00\x00\x6cmvhd", typeQuickTime},
		"M4A":                    {box("M4A "), typeAudioMP4},
		"an image in HEIF":       {box("heic"), typeUnknown},
		"WebM":                   {"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm", typeWebM},
		"Matroska":               {"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x88matroska", "video/x-matroska"},
		"Matroska, cut off":      {"\x1a\x45\xdf\xa3\x42\x82", typeUnknown},
		"MP3 with a tag":         {"ID3\x04\x00\x00\x00\x00\x00\x00", typeMPEG},
		"MP3":                    {"\xff\xfb\x90\x64\x00\x00", typeMPEG},
		"FLAC":                   {"fLaC\x00\x00\x00\x22", typeFLAC},
		"WAV":                    {"RIFF\x00\x00\x00\x00WAVEfmt ", typeWAV},
		"Vorbis":                 {ogg("\x01vorbis"), typeOgg},
		"Opus":                   {ogg("OpusHead"), typeOgg},
		"Theora":                 {ogg("\x80theora"), "application/ogg"},
		"PDF":                    {"%PDF-1.7\n", typePDF},
		"PNG":                    {"\x89PNG\x0d\x0a\x1a\x0a", "image/png"},
		"JPEG":                   {"\xff\xd8\xff\xe0", "image/jpeg"},
		"WebP":                   {"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"},
		"a page":                 {"<!DOCTYPE html><script>", "text/html"},
		"a page in SVG":          {`<?xml version="1.0"?><svg>`, "text/xml"},
		"a program":              {"MZ\x90\x00", typeUnknown},
		"an archive":             {"PK\x03\x04", "application/zip"},
		"nothing":                {"", "text/plain"},
		"less than a box":        {"\x00\x00\x00\x18ftyp", typeUnknown},
		"a GIF that is a script": {"GIF89a=1;alert(1)", "image/gif"},
	} {
		if got := detect([]byte(tt.head)); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
}

func FuzzDetect(f *testing.F) {
	f.Add([]byte("\x1a\x45\xdf\xa3\x42\x82\xff"))
	f.Add(mp4(64))
	f.Add(pngOf(1, 1))
	f.Fuzz(func(t *testing.T, head []byte) {
		if detect(head) == "" {
			t.Error("no type")
		}
		_ = checkDimensions(strings.NewReader(string(head)))
	})
}

func TestParts(t *testing.T) {
	t.Parallel()
	for size, want := range map[int64][]int64{
		1: {1}, partSize - 1: {partSize - 1}, partSize: {partSize}, partSize + 1: {partSize, 1}, 3 * partSize: {partSize, partSize, partSize},
	} {
		u := Upload{Size: size, PartSize: partSize}
		var got []int64
		for n := int32(1); u.sizeOf(n) > 0; n++ {
			got = append(got, u.sizeOf(n))
		}
		if !slices.Equal(got, want) || int(u.partCount()) != len(want) || u.sizeOf(0) != 0 || u.sizeOf(-1) != 0 {
			t.Errorf("%d bytes: got %v (%d parts)", size, got, u.partCount())
		}
	}
	u := Upload{Size: 5 * partSize, PartSize: partSize, Parts: []int32{2, 5}}
	if got := u.missing(); !slices.Equal(got, []int32{1, 3, 4}) {
		t.Errorf("missing %v", got)
	}
}

func TestDecide(t *testing.T) { // invariant 6
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 3, n, 0, 0, 0, 0, time.UTC) }
	on := func(n int) *time.Time { d := day(n); return &d }
	item, collection, customer := id.New[id.MediaItem](), id.New[id.Collection](), id.New[id.Customer]()
	passType, plan, event := id.New[id.PassType](), id.New[id.Plan](), id.New[id.Event]()
	pass := holding{kind: reasonPass, id: id.NewUUID(), of: passType.UUID(), lastDay: on(20)}
	subscription := holding{kind: reasonSubscription, id: id.NewUUID(), of: plan.UUID(), collections: []id.Collection{collection}}
	booking := holding{kind: reasonBooking, id: id.NewUUID(), of: event.UUID()}
	given := Entitlement{ID: id.New[id.Entitlement](), Item: item, Customer: customer}
	for name, tt := range map[string]struct {
		rules   []Entitlement
		held    []holding
		in      []id.Collection
		want    byte // 0: none
		lastDay *time.Time
	}{
		"nothing":                              {nil, nil, nil, 0, nil},
		"holdings without entitlements":        {nil, []holding{pass, booking}, nil, 0, nil},
		"given":                                {[]Entitlement{given}, nil, nil, reasonGiven, nil},
		"given until today":                    {[]Entitlement{{Item: item, Customer: customer, LastDay: on(10)}}, nil, nil, reasonGiven, on(10)},
		"given until yesterday":                {[]Entitlement{{Item: item, Customer: customer, LastDay: on(9)}}, nil, nil, 0, nil},
		"given to another customer":            {[]Entitlement{{Item: item, Customer: id.New[id.Customer]()}}, nil, nil, 0, nil},
		"another item":                         {[]Entitlement{{Item: id.New[id.MediaItem](), Customer: customer}}, nil, nil, 0, nil},
		"another collection":                   {[]Entitlement{{Collection: collection, Customer: customer}}, nil, []id.Collection{id.New[id.Collection]()}, 0, nil},
		"a pass":                               {[]Entitlement{{Item: item, PassType: passType}}, []holding{pass}, nil, reasonPass, on(20)},
		"a pass, and an earlier last day":      {[]Entitlement{{Item: item, PassType: passType, LastDay: on(15)}}, []holding{pass}, nil, reasonPass, on(15)},
		"a pass that ended yesterday":          {[]Entitlement{{Item: item, PassType: passType}}, []holding{{kind: reasonPass, id: id.NewUUID(), of: passType.UUID(), lastDay: on(9)}}, nil, 0, nil},
		"a plan that ended yesterday":          {nil, []holding{{kind: reasonSubscription, collections: []id.Collection{collection}, lastDay: on(9)}}, []id.Collection{collection}, 0, nil},
		"a pass of another type":               {[]Entitlement{{Item: item, PassType: id.New[id.PassType]()}}, []holding{pass}, nil, 0, nil},
		"a pass whose type has a plan's UUID":  {[]Entitlement{{Item: item, Plan: id.Plan(passType)}}, []holding{pass}, nil, 0, nil},
		"a plan that includes the collection":  {nil, []holding{subscription}, []id.Collection{collection}, reasonSubscription, nil},
		"a plan that includes another one":     {nil, []holding{subscription}, []id.Collection{id.New[id.Collection]()}, 0, nil},
		"a plan by an entitlement":             {[]Entitlement{{Item: item, Plan: plan}}, []holding{subscription}, nil, reasonSubscription, nil},
		"a booking":                            {[]Entitlement{{Collection: collection, Event: event}}, []holding{booking}, []id.Collection{collection}, reasonBooking, nil},
		"the one without end of several":       {[]Entitlement{{Item: item, PassType: passType}, given}, []holding{pass}, nil, reasonGiven, nil},
		"an entitlement without a holder kind": {[]Entitlement{{Item: item}}, []holding{{kind: reasonPass}, {kind: reasonBooking}, {kind: reasonSubscription}}, nil, 0, nil},
	} {
		r := decide(item, tt.in, customer, tt.rules, tt.held, day(10))
		switch {
		case (r == nil) != (tt.want == 0):
			t.Errorf("%s: got %v", name, r)
		case r != nil && (r.Kind != tt.want || dayText(r.LastDay) != dayText(tt.lastDay)):
			t.Errorf("%s: got %c until %s, want %c until %s", name, r.Kind, dayText(r.LastDay), tt.want, dayText(tt.lastDay))
		}
	}
}

func TestLinks(t *testing.T) { // invariant 7
	t.Parallel()
	l, err := newLinks("https://media.example.com", masterKey())
	if err != nil {
		t.Fatal(err)
	}
	want := play{
		company: id.New[id.Company](), customer: id.New[id.Customer](), item: id.New[id.MediaItem](), file: id.NewUUID(),
		reason:  Reason{Kind: reasonPass, ID: id.NewUUID(), Entitlement: id.New[id.Entitlement]()},
		expires: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
	}
	before, token := tokenOf(l.play(want))
	if got, ok := l.readPlay(token); !ok || got != want || before != "https://media.example.com/play/" {
		t.Errorf("got %v from %s", got, before)
	}
	if other := want; l.play(other) != l.play(want) {
		t.Error("the same link has two addresses")
	}
}

func TestCoverExpiry(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, now := range []time.Time{at, at.Add(23*time.Hour + 59*time.Minute)} {
		if got := coverExpiry(now); !got.Equal(at.Add(48 * time.Hour)) {
			t.Errorf("at %s: %s", now, got)
		}
	}
}

func TestObjectNames(t *testing.T) { // invariant 3
	t.Parallel()
	company, item, object := id.New[id.Company](), id.New[id.MediaItem](), id.NewUUID()
	key := objectKey(company, item, object)
	if c, o, ok := parseKey(key); !ok || c != company || o != object {
		t.Errorf("got %v %v %t from %s", c, o, ok, key)
	}
	for _, other := range []string{"", "probe", "a/b/c", key + "/x", strings.TrimSuffix(key, key[len(key)-36:])[:37]} {
		if _, _, ok := parseKey(other); ok {
			t.Errorf("%q is taken for an object of the service", other)
		}
	}
	if _, o, ok := parseKey(key + ".tmp"); !ok || !o.IsZero() {
		t.Error("a file that was being written is not recognised")
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	valid := settingsIn("/var/lib/media", "https://media.example.com")
	if err := valid.Validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Settings){
		"MEDIA_URL":               func(s *Settings) { s.PublicURL = "media.example.com" },
		"MEDIA_BUCKET":            func(s *Settings) { s.Bucket = "/var/lib/media" },
		"MEDIA_MAX_FILE":          func(s *Settings) { s.MaxFile = 0 },
		"MEDIA_MAX_UPLOADS":       func(s *Settings) { s.MaxUploads = 0 },
		"MEDIA_COMPANY_PARTS":     func(s *Settings) { s.CompanyParts = s.Parts + 1 },
		"MEDIA_COMPANY_PLAYBACKS": func(s *Settings) { s.CompanyPlaybacks = 0 },
		"MEDIA_STALLED":           func(s *Settings) { s.Stalled = 0 },
		"MEDIA_REMOVAL_DELAY":     func(s *Settings) { s.RemovalDelay = -1 },
	} {
		s := valid
		change(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
	var defaults Settings
	if err := config.Read(config.Env{}, &defaults); err != nil || defaults.MaxFile != 2<<30 || defaults.RemovalDelay != 168*time.Hour {
		t.Errorf("got %+v, %v", defaults, err)
	}
	for _, address := range []string{"s3://bucket?region=eu-west-1", "gs://bucket", "azblob://container", "file:///var/lib/media"} {
		if err := checkBucket(address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestBuckets checks that the driver of each kind of bucket is compiled in. Opening makes no request.
func TestBuckets(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	t.Setenv("AZURE_STORAGE_ACCOUNT", "account")
	t.Setenv("AZURE_STORAGE_KEY", "eA==")
	for _, address := range []string{"s3://bucket?region=eu-west-1", "gs://bucket?access_id=-", "azblob://container", "file://" + t.TempDir()} {
		b, err := openBucket(t.Context(), address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := openBucket(t.Context(), "ftp://x"); err == nil {
		t.Error("a bucket of an unknown kind was opened")
	}
}

func TestVerifyMedia(t *testing.T) { // invariant 2
	w := start(t)
	w.video(mp4(5000))
	removed, cut := w.video(mp4(6000)), w.video(mp4(7000))
	if n := w.verify(); n < 9 {
		t.Errorf("%d values were checked", n)
	}
	for _, key := range w.objects() {
		path := filepath.Join(w.dir, key)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		switch info.Size() {
		case 6000:
			err = os.Remove(path)
		case 7000:
			err = os.Truncate(path, 10)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w.setTotals(`update media_totals set items = items + 1`)
	_, found := w.differences()
	got := map[string]int64{}
	for _, d := range found {
		got[d.GetWhat()+" "+d.GetId()] = d.GetComputed()
	}
	want := map[string]int64{"file.missing " + removed.GetId(): -1, "file.size " + cut.GetId(): 10, "media_items.total ": 3}
	for what, computed := range want {
		if n, ok := got[what]; !ok || n != computed {
			t.Errorf("%s: got %d, %t", what, n, ok)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
}

func TestFaultsOfHTTP(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		want int
	}{
		"missing":  {fault.Missing("upload"), 404},
		"away":     {fault.Away(errors.New("x")), 503},
		"busy":     {errBusy(), 429},
		"internal": {errors.New("secret"), 500},
		"complete": {errComplete(), 409},
		"expired":  {errExpired(), 410},
	} {
		if got := statusOf(tt.err).status; got != tt.want {
			t.Errorf("%s: got %d", name, got)
		}
	}
}

func TestCheckDimensions(t *testing.T) { // invariant 5
	t.Parallel()
	broken := errors.New("the bucket does not respond")
	for name, tt := range map[string]struct {
		in   io.Reader
		want string
	}{
		"an image":                    {bytes.NewReader(pngOf(100, 100)), ""},
		"an image that is too large":  {bytes.NewReader(pngOf(10_000, 10_000)), ReasonFileTooLarge},
		"an image that is cut off":    {bytes.NewReader(pngOf(100, 100)[:12]), ReasonTypeNotSupported},
		"a bucket that fails at once": {iotest.ErrReader(broken), fault.ReasonInternal},
		"a bucket that fails midway":  {io.MultiReader(bytes.NewReader(pngOf(100, 100)[:12]), iotest.ErrReader(broken)), fault.ReasonInternal},
	} {
		err := checkDimensions(tt.in)
		if got := reason(err); got != tt.want || (tt.want == fault.ReasonInternal) != errors.Is(err, broken) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAppendPass(t *testing.T) { // invariant 6
	t.Parallel()
	today := time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC)
	customer := id.New[id.Customer]()
	exhausted, active := passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_EXHAUSTED, passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE
	for name, tt := range map[string]struct {
		status      passv1.CustomerPassStatus
		first, last string
		want        int
	}{
		"exhausted before its first day": {exhausted, "2026-03-11", "2026-04-11", 0},
		"exhausted on its first day":     {exhausted, "2026-03-10", "2026-04-10", 1},
		"active on its last day":         {active, "2026-02-10", "2026-03-10", 1},
		"exhausted after its last day":   {exhausted, "2026-02-09", "2026-03-09", 0},
	} {
		p := &passv1.CustomerPass{
			Id: id.New[id.CustomerPass]().String(), PassTypeId: id.New[id.PassType]().String(), CustomerId: customer.String(),
			Status: tt.status, StartDate: tt.first, ExpiryDate: tt.last,
		}
		if held := appendPass(nil, p, customer, today); len(held) != tt.want {
			t.Errorf("%s: got %v", name, held)
		}
	}
}

func TestAppendSubscription(t *testing.T) { // invariant 6
	t.Parallel()
	at := moment{now: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC), today: time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC)}
	customer := id.New[id.Customer]()
	for name, tt := range map[string]struct {
		change func(s *subscriptionv1.Subscription)
		want   int
	}{
		"active":                          {func(*subscriptionv1.Subscription) {}, 1},
		"a pause from tomorrow":           {func(s *subscriptionv1.Subscription) { s.Pause = &subscriptionv1.Pause{FirstDay: "2026-03-11"} }, 1},
		"a pause from today, without end": {func(s *subscriptionv1.Subscription) { s.Pause = &subscriptionv1.Pause{FirstDay: "2026-03-10"} }, 0},
		"a pause until today": {func(s *subscriptionv1.Subscription) {
			s.Pause = &subscriptionv1.Pause{FirstDay: "2026-03-01", ResumesOn: "2026-03-11"}
		}, 0},
		"a pause that is over": {func(s *subscriptionv1.Subscription) {
			s.Pause = &subscriptionv1.Pause{FirstDay: "2026-03-01", ResumesOn: "2026-03-10"}
		}, 1},
		"suspended now":            {func(s *subscriptionv1.Subscription) { s.SuspendedFrom = timestamppb.New(at.now) }, 0},
		"suspended a moment later": {func(s *subscriptionv1.Subscription) { s.SuspendedFrom = timestamppb.New(at.now.Add(time.Second)) }, 1},
		"until today":              {func(s *subscriptionv1.Subscription) { s.LastDay = "2026-03-10" }, 1},
		"until yesterday":          {func(s *subscriptionv1.Subscription) { s.LastDay = "2026-03-09" }, 0},
	} {
		s := &subscriptionv1.Subscription{
			Id: id.New[id.Subscription]().String(), PlanId: id.New[id.Plan]().String(), CustomerId: customer.String(),
			Status: subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ACTIVE,
		}
		tt.change(s)
		if held := appendSubscription(nil, s, customer, at); len(held) != tt.want {
			t.Errorf("%s: got %v", name, held)
		}
	}
}

func TestHoldingPages(t *testing.T) {
	t.Parallel()
	for held, want := range map[int]string{0: "", maxHeld: "", maxHeld + 1: ReasonTooManyHoldings} {
		calls := 0
		err := pages(func(string) (int, string, error) {
			if calls++; calls > 100 { // many pages of passes that have ended
				return held, "", nil
			}
			return 0, "next", nil
		})
		if reason(err) != want || calls != 101 {
			t.Errorf("%d current ones: got %v after %d pages", held, err, calls)
		}
	}
}
