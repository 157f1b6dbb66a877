package config

import (
	"slices"
	"strings"
)

// Unknown returns a sentence for each variable of e that begins like one of the known
// settings, up to the last "_" of its name, and is not one: WEBHOOK_TIMOUT. Addresses do
// not count: HTTP_ and BOOKING_ begin the variables of other programs too, and a part may
// be given the address of every other one.
func Unknown(e Env, known []string) []string {
	var sentences []string
	for name, value := range e {
		base := strings.TrimSuffix(name, fileSuffix)
		if value != "" && !slices.Contains(known, name) && !slices.Contains(known, base) && beginsLike(base, known) {
			sentences = append(sentences, name+" is not a setting")
		}
	}
	slices.Sort(sentences)
	return sentences
}

func beginsLike(name string, known []string) bool {
	return !isAddress(name) && slices.ContainsFunc(known, func(setting string) bool {
		end := strings.LastIndexByte(setting, '_')
		return end > 0 && !isAddress(setting) && strings.HasPrefix(name, setting[:end+1])
	})
}

func isAddress(name string) bool { return strings.HasSuffix(name, "_ADDR") }
