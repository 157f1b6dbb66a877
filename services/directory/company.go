package directory

import (
	"encoding/hex"
	"time"

	"reservation.dev/platform/id"
)

// state is the state of a company in a cell, as far as it is known.
type state int

const (
	// unread is the state of a company in the map files, until its cell has been read.
	unread state = iota
	open
	leaving
	// left also means that the cell does not have the company.
	left
	// arriving also stands for states of later releases.
	arriving
)

// company is where a company is.
type company struct {
	cell  string
	state state     // in the cell
	since time.Time // when the state, or the cell, changed
	// rival is another cell that has the company open, according to its last answer, since a time.
	rival      string
	rivalSince time.Time
	conflict   bool // both have it open
	pass       int  // the last reading of all companies of the cell that had it
}

// isWatched reports whether every cell is to be asked about the company each time.
func (c *company) isWatched() bool {
	return c.state == leaving || c.state == left || c.rival != ""
}

// change is what an answer of a cell changes.
type change int

const (
	nothing change = iota
	moved
	conflictBegan
	conflictEnded
)

// answer records the state of the company in a cell, which was asked at a time. The company's own cell contradicts
// a rival only with an answer that it gave later. // invariants 1, 2
func (c *company) answer(cell string, s state, asked, now time.Time) change {
	if c.cell != cell {
		return c.answerOfOther(cell, s, now)
	}
	if c.state != s {
		c.state, c.since = s, now
	}
	switch {
	case s == left && c.rival != "":
		c.moveTo(c.rival, now)
		return moved
	case s == open && c.rival != "" && asked.After(c.rivalSince) && !c.conflict:
		c.conflict = true
		return conflictBegan
	}
	return nothing
}

func (c *company) answerOfOther(cell string, s state, now time.Time) change {
	switch {
	case s == open && c.state == left:
		c.moveTo(cell, now)
		return moved
	case s == open && c.rival == "":
		c.rival, c.rivalSince = cell, now
	case s != open && c.rival == cell:
		c.rival = ""
		if c.conflict {
			c.conflict = false
			return conflictEnded
		}
	}
	return nothing
}

func (c *company) moveTo(cell string, now time.Time) {
	*c = company{cell: cell, state: open, since: now, pass: c.pass}
}

// spellings returns what requests have of a company in live mode: its identifier and that of its test company in
// tokens, and the bytes of both in links to media, in hexadecimal digits.
func spellings(live id.Company) [4]string {
	test := live.Test()
	return [4]string{live.String(), test.String(), hex.EncodeToString(live[:]), hex.EncodeToString(test[:])}
}
