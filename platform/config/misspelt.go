package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
)

// Names returns the variables that the settings structs read.
func Names(dsts ...any) []string {
	var names []string
	for _, dst := range dsts {
		fields, _ := env.GetFieldParams(dst) // a struct that cannot be read fails in Read
		for _, f := range fields {
			names = append(names, f.Key)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Misspelt returns a sentence for each variable of e that no setting is named
// like, and that is nearly one of the known ones: WEBHOOK_TIMOUT.
func Misspelt(e Env, known []string) []string {
	var all []string
	for name, value := range e {
		base := strings.TrimSuffix(name, fileSuffix)
		if value == "" || slices.Contains(known, name) || slices.Contains(known, base) {
			continue
		}
		if near := nearest(base, known); near != "" {
			suffix := strings.TrimPrefix(name, base)
			all = append(all, fmt.Sprintf("%s is no setting; did you mean %s%s?", name, near, suffix))
		}
	}
	slices.Sort(all)
	return all
}

// nearest returns the known name that is one slip away from name, or two in a
// long one. They must begin alike: strangers' variables are not ours to judge.
func nearest(name string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if k[0] != name[0] {
			continue
		}
		most := 1
		if len(k) >= 12 {
			most = 2
		}
		if d := distance(name, k); d <= most && d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is how many letters have to be put in, taken out, replaced or swapped
// with their neighbour to make b of a.
func distance(a, b string) int {
	before, last, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(last[j+1]+1, next[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, last, next = last, next, before
	}
	return last[len(b)]
}
