package slots

import "slices"

// Units returns a free unit for each requirement of the type, throughout a span that includes the
// buffers, or false if a requirement has none. It prefers the units in keep.
func (c *Calendar) Units(taken Span, keep []Unit) ([]Unit, bool) {
	p := c.plan(taken.seconds(), Query{Keep: keep})
	return p.units(taken.seconds())
}

// hasRooms reports whether each requirement has a free unit for an appointment.
func (p *plan) hasRooms(start int64) bool {
	for i := range p.calendar.Requirements {
		if _, ok := p.unit(i, p.buffered(start)); !ok {
			return false
		}
	}
	return true
}

// units chooses a unit for each requirement.
func (p *plan) units(taken span) ([]Unit, bool) {
	var chosen []Unit
	for i := range p.calendar.Requirements {
		unit, ok := p.unit(i, taken)
		if !ok {
			return nil, false
		}
		chosen = append(chosen, unit)
	}
	return chosen, true
}

// unit chooses a unit for a requirement: one to keep, or else the lowest of the first room that has one.
func (p *plan) unit(requirement int, taken span) (Unit, bool) {
	rooms := p.calendar.Requirements[requirement]
	for _, kept := range p.query.Keep {
		if slices.Contains(rooms, kept.Room) && p.isFree(kept, taken) {
			return kept, true
		}
	}
	for _, which := range rooms {
		r := p.rooms[which]
		if r == nil || r.off.overlaps(taken) {
			continue
		}
		for i := range r.units {
			if !r.units[i].overlaps(taken) {
				return Unit{Room: which, Unit: int32(i) + 1}, true
			}
		}
	}
	return Unit{}, false
}

// isFree reports whether a unit exists and is free throughout a span.
func (p *plan) isFree(unit Unit, taken span) bool {
	r := p.rooms[unit.Room]
	return r != nil && unit.Unit >= 1 && int(unit.Unit) <= len(r.units) &&
		!r.off.overlaps(taken) && !r.units[unit.Unit-1].overlaps(taken)
}
