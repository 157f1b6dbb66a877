package main

import (
	"regexp"
	"slices"
	"strings"
)

// allowedLicences are the licences (SPDX identifiers) of software that a release may contain. They
// ask for their text and for nothing about our source.
func allowedLicences() []string {
	return []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}
}

// licenceRule recognises a licence by phrases that all must be in its text.
type licenceRule struct {
	id      string
	phrases []string
	without string // a phrase that another licence has in addition
}

// licenceRules returns how to recognise the licences that modules commonly have.
func licenceRules() []licenceRule {
	const (
		redistribution = "redistributions of source code must retain"
		endorse        = "may be used to endorse or promote"
		granted        = "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted"
		kept           = "provided that the above copyright notice and this permission notice appear in all copies"
	)
	return []licenceRule{
		{id: "Apache-2.0", phrases: []string{"apache license", "version 2.0", "licensed under the apache license, version 2.0"}},
		{id: "Apache-2.0", phrases: []string{"apache license version 2.0, january 2004", "terms and conditions for use, reproduction, and distribution"}},
		{id: "MIT", phrases: []string{"permission is hereby granted, free of charge, to any person obtaining a copy", "shall be included in all copies or substantial portions"}},
		{id: "BSD-3-Clause", phrases: []string{redistribution, endorse}},
		{id: "BSD-2-Clause", phrases: []string{redistribution}, without: endorse},
		{id: "ISC", phrases: []string{granted, kept}},
		{id: "0BSD", phrases: []string{granted}, without: kept},
		{id: "MPL", phrases: []string{"mozilla public license"}},
		{id: "GPL", phrases: []string{"gnu general public license"}},
		{id: "LGPL", phrases: []string{"gnu lesser general public license"}},
		{id: "AGPL", phrases: []string{"gnu affero general public license"}},
		{id: "EPL", phrases: []string{"eclipse public license"}},
		{id: "CDDL", phrases: []string{"common development and distribution license"}},
		{id: "SSPL", phrases: []string{"server side public license"}},
		{id: "BUSL", phrases: []string{"business source license"}},
		{id: "Elastic", phrases: []string{"elastic license"}},
		{id: "CC", phrases: []string{"creative commons"}},
	}
}

// spaces matches white space and the marks of comments.
var spaces = regexp.MustCompile(`[\s*#]+`)

// normal returns a text without the differences of layout between copies of a licence.
func normal(text string) string {
	return strings.TrimSpace(spaces.ReplaceAllString(text, " "))
}

// licencesOf returns the licences whose texts are in a text, sorted.
func licencesOf(text string) []string {
	text = strings.ToLower(normal(text))
	var found []string
	for _, r := range licenceRules() {
		missing := slices.ContainsFunc(r.phrases, func(p string) bool { return !strings.Contains(text, p) })
		if !missing && (r.without == "" || !strings.Contains(text, r.without)) {
			found = append(found, r.id)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
