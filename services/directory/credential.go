package directory

import (
	"maps"

	"reservation.dev/platform/id"
)

// credential is whose a credential is.
type credential struct {
	company string // in live mode or in test mode
	pass    int    // as of a company
}

// claim is what a cell says about a credential that belongs to a company of another cell.
type claim struct{ credential, cell string }

// belong records the companies that credentials have according to a cell. pass is as in answer. // invariant 6
func (t *table) belong(cell string, companies map[string]string, pass int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for text, company := range companies {
		old, found := t.credentials[text]
		switch {
		case found && old.company != company && !t.mayRelease(cell, old.company):
			t.refuse(claim{text, cell}, old.company, company, pass)
			continue
		case !t.mayHave(cell, company):
			continue // for example a company that has left, whose rows are still there
		case !found:
			t.add(op{verb: "add", in: credentialsMap, key: text, value: company})
		case old.company != company: // a credential never changes its company; the file was wrong
			t.add(op{verb: "set", in: credentialsMap, key: text, value: company})
		}
		t.credentials[text] = credential{company: company, pass: max(old.pass, pass)}
		t.forget(claim{text, cell})
	}
	t.signal()
}

// mayHave reports whether a cell can have credentials of a company: it has the company, or says that it has it open
// now, while the other cell has not said yet that it has left.
func (t *table) mayHave(cell, company string) bool {
	c := t.companyOf(company)
	return c != nil && (c.cell == cell || c.rival == cell)
}

// mayRelease reports whether a cell can say that a credential does not belong to a company: it has the company, or
// no cell has it.
func (t *table) mayRelease(cell, company string) bool {
	c := t.companyOf(company)
	return c == nil || c.cell == cell
}

// companyOf returns the company with an identifier in live mode or in test mode; nil if no cell has it.
func (t *table) companyOf(text string) *company {
	v, err := id.Parse[id.Company](text)
	if err != nil {
		return nil
	}
	return t.companies[v.Live()]
}

// refuse records a claim that is not accepted.
func (t *table) refuse(c claim, has, claimed string, pass int) {
	before, known := t.refused[c]
	t.refused[c] = max(before, pass)
	if !known {
		t.log.Error("a cell claims a credential of another cell's company; it stays with the company",
			"credential", c.credential, "cell", c.cell, "company", has, "claimed", claimed)
	}
}

// forget ends a claim.
func (t *table) forget(c claim) {
	if _, known := t.refused[c]; known {
		delete(t.refused, c)
		t.log.Info("a credential is no longer claimed by a cell that does not have it", "credential", c.credential, "cell", c.cell)
	}
}

// endCredentials ends a reading of everything that a cell has, whose companies are given: what the cell no longer
// has or claims is removed.
func (t *table) endCredentials(cell string, pass int, ours map[string]bool) {
	maps.DeleteFunc(t.credentials, func(text string, c credential) bool {
		gone := c.pass < pass && ours[c.company]
		if gone {
			t.add(op{verb: "del", in: credentialsMap, key: text})
		}
		return gone
	})
	for c, last := range t.refused {
		if c.cell == cell && last < pass {
			t.forget(c)
		}
	}
}
