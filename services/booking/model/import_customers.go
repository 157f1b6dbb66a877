package model

import (
	"reservation.dev/platform/id"
)

// CustomerNames maps the texts by which an import's lines name customers to identifiers. The
// identifier is zero if the text is a reference.
type CustomerNames map[string]id.Customer

// CustomerNamesOf returns the texts by which lines name customers.
func CustomerNamesOf(lines []*ImportedTransaction) CustomerNames {
	n := CustomerNames{}
	for _, t := range lines {
		n.add(t.Customer)
		for i := range t.Bookings {
			if forWhom := t.Bookings[i].BoughtFor; forWhom != "" {
				n.add(forWhom)
			}
		}
	}
	return n
}

// CustomerNamesIn returns the names of customers in texts.
func CustomerNamesIn(texts []string) CustomerNames {
	n := CustomerNames{}
	for _, text := range texts {
		n.add(text)
	}
	return n
}

func (n CustomerNames) add(text string) {
	if _, ok := n[text]; ok {
		return
	}
	c, err := id.Parse[id.Customer](text)
	if err != nil {
		c = id.Customer{}
	}
	n[text] = c
}

// Split separates identifiers from references.
func (n CustomerNames) Split() (ids []id.Customer, references []string) {
	for text, c := range n {
		if c.IsZero() {
			references = append(references, text)
		} else {
			ids = append(ids, c)
		}
	}
	return ids, references
}

// AddExisting copies the names of customers that exist and are not deleted to into.
func (n CustomerNames) AddExisting(r ResolvedCustomers, into map[string]id.Customer) {
	for text, c := range n {
		if c.IsZero() {
			c = r.ByReference[text]
		} else {
			c = r.ByID[c]
		}
		if !c.IsZero() {
			into[text] = c
		}
	}
}

// Missing returns the keys that are not in known.
func Missing[K comparable, V any](known map[K]V, keys []K) []K {
	var unknown []K
	for _, k := range keys {
		if _, ok := known[k]; !ok {
			unknown = append(unknown, k)
		}
	}
	return unknown
}
