package directory

import (
	"log/slog"
	"sync"
	"time"

	"reservation.dev/platform/id"
)

const (
	// missingFor is how long a company must be in no cell before it is removed from the maps.
	missingFor = time.Minute
	// maxOps is how many changes wait for HAProxy at most. If there are more, the maps are replaced as a whole.
	maxOps = 1000
)

// mapName names one of HAProxy's maps, and its file without the suffix.
type mapName string

const (
	companiesMap   mapName = "companies"
	credentialsMap mapName = "credentials"
)

// readyKey is the key of a line of companiesMap that tells HAProxy that it has lines.
const readyKey = "ready"

// op is a change of one line of a map.
type op struct {
	verb  string // of the runtime API: add, set or del
	in    mapName
	key   string
	value string // "" for del
}

// table is what the maps contain, and which changes HAProxy does not have yet.
type table struct {
	log     *slog.Logger
	now     func() time.Time
	cells   map[string]bool
	changed chan struct{} // has a value if something waits

	mu          sync.Mutex
	companies   map[id.Company]*company // in live mode
	watch       map[id.Company]*company // those of companies about which every cell is to be asked
	credentials map[string]credential
	refused     map[claim]int // claims that are not accepted, with the last reading of everything that had them
	pass        int
	ops         []op
	whole       bool             // HAProxy needs the whole maps
	stale       map[mapName]bool // the files that differ
}

func newTable(cells []string, log *slog.Logger) *table {
	t := &table{
		log: log, now: time.Now, cells: map[string]bool{}, changed: make(chan struct{}, 1), whole: true,
		companies: map[id.Company]*company{}, watch: map[id.Company]*company{}, credentials: map[string]credential{}, refused: map[claim]int{},
		stale: map[mapName]bool{companiesMap: true, credentialsMap: true},
	}
	for _, name := range cells {
		t.cells[name] = true
	}
	return t
}

// load adds the lines of the map files of an earlier process. Companies of a cell that is no longer configured
// are added when another cell has them.
func (t *table) load(companies, credentials map[string]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for text, cell := range companies {
		live, err := id.Parse[id.Company](text)
		if err == nil && !live.IsTest() && t.cells[cell] {
			t.companies[live] = &company{cell: cell, since: t.now()}
		}
	}
	for text, company := range credentials {
		t.credentials[text] = credential{company: company}
	}
}

// beginPass returns the number of a new reading of everything that a cell has.
func (t *table) beginPass() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pass++
	return t.pass
}

// answer records the states of companies in a cell, which was asked at a time. Asked companies without a state
// are not in the cell. pass is 0 unless the answer belongs to a reading of everything.
func (t *table) answer(cell string, states map[id.Company]state, questions []id.Company, asked time.Time, pass int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for live, s := range states {
		t.record(live, cell, s, asked)
		if c := t.companies[live]; c != nil && c.cell == cell && s != arriving {
			c.pass = max(c.pass, pass)
		}
	}
	for _, live := range questions {
		if _, found := states[live]; !found && t.companies[live] != nil {
			t.record(live, cell, left, asked)
		}
	}
	t.signal()
}

func (t *table) record(live id.Company, cell string, s state, asked time.Time) {
	defer t.look(live)
	c := t.companies[live]
	if c == nil {
		if s == open || s == leaving {
			t.companies[live] = &company{cell: cell, state: s, since: t.now()}
			t.put("add", live, cell)
		}
		return
	}
	from := c.cell
	switch c.answer(cell, s, asked, t.now()) {
	case moved:
		t.log.Info("a company has moved", "company", live.String(), "from", from, "to", c.cell)
		t.put("set", live, c.cell)
	case conflictBegan:
		t.log.Error("two cells have a company open; it stays in the first", "company", live.String(), "cell", c.cell, "other", c.rival)
	case conflictEnded:
		t.log.Info("only one cell has the company open again", "company", live.String(), "cell", c.cell)
	}
}

// look decides whether a company is watched.
func (t *table) look(live id.Company) {
	if c := t.companies[live]; c != nil && c.isWatched() {
		t.watch[live] = c
	} else {
		delete(t.watch, live)
	}
}

// put adds the operations on all lines of a company.
func (t *table) put(verb string, live id.Company, cell string) {
	for _, key := range spellings(live) {
		t.add(op{verb: verb, in: companiesMap, key: key, value: cell})
	}
}

func (t *table) add(o op) {
	t.stale[o.in] = true
	if t.whole {
		return
	}
	if t.ops = append(t.ops, o); len(t.ops) > maxOps {
		t.ops, t.whole = nil, true
	}
}

// endPass ends a reading of everything that a cell has: what the cell no longer has is removed. A company that
// came to the cell after the reading began is left alone.
func (t *table) endPass(cell string, pass int, began time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ours := map[string]bool{} // companies in live mode and in test mode
	for live, c := range t.companies {
		switch {
		case c.cell != cell || c.since.After(began):
		case c.pass >= pass:
			ours[live.String()], ours[live.Test().String()] = true, true
		default:
			t.record(live, cell, left, began)
			if c.state == left && t.now().Sub(c.since) > missingFor {
				delete(t.companies, live)
				t.look(live)
				t.put("del", live, "")
			}
		}
	}
	t.endCredentials(cell, pass, ours)
	t.signal()
}

// watched returns at most limit companies about which every cell is to be asked, and whether one of them has
// changed in the last minute.
func (t *table) watched(limit int) (companies []id.Company, lively bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for live, c := range t.watch {
		lively = lively || t.now().Sub(c.since) < time.Minute
		if len(companies) < limit {
			companies = append(companies, live)
		}
	}
	return companies, lively
}

// knowsNothing reports whether there are no companies, because the files are missing and no cell has been read.
func (t *table) knowsNothing() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.companies) == 0
}

// counts are the numbers of the metrics.
type counts struct{ companies, credentials, conflicts int }

func (t *table) counts() counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := counts{companies: len(t.companies), credentials: len(t.credentials), conflicts: len(t.refused)}
	for _, watched := range t.watch {
		if watched.conflict {
			c.conflicts++
		}
	}
	return c
}

// takeOps returns the changes that HAProxy does not have. whole reports that it needs the whole maps instead.
func (t *table) takeOps() (ops []op, whole bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ops, whole = t.ops, t.whole
	t.ops, t.whole = nil, false
	return ops, whole
}

// needWhole discards the changes that wait, because HAProxy needs the whole maps.
func (t *table) needWhole() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ops, t.whole = nil, true
}

// lines returns all lines of a map.
func (t *table) lines(m mapName) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.render(m)
}

// takeFile returns all lines of a map for its file. stale is false if the file has them already.
func (t *table) takeFile(m mapName) (lines []byte, stale bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.stale[m] {
		return nil, false
	}
	t.stale[m] = false
	return t.render(m), true
}

// setStale records that the file of a map differs from it.
func (t *table) setStale(m mapName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stale[m] = true
}

func (t *table) render(m mapName) (b []byte) {
	line := func(key, value string) {
		b = append(append(append(append(b, key...), ' '), value...), '\n')
	}
	if m == credentialsMap {
		for text, c := range t.credentials {
			line(text, c.company)
		}
		return b
	}
	line(readyKey, "yes")
	for live, c := range t.companies {
		for _, key := range spellings(live) {
			line(key, c.cell)
		}
	}
	return b
}

func (t *table) signal() {
	if !t.whole && len(t.ops) == 0 {
		return
	}
	select {
	case t.changed <- struct{}{}:
	default:
	}
}
