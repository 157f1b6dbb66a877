package config

import (
	"slices"
	"strings"
)

// Unknown returns a sentence for each variable of e that begins like one of the known
// settings, up to the last "_" of its name, and is not one: WEBHOOK_TIMOUT. Names that other
// programs use do not count.
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
	return !isShared(name) && slices.ContainsFunc(known, func(setting string) bool {
		end := strings.LastIndexByte(setting, '_')
		return end > 0 && !isShared(setting) && strings.HasPrefix(name, setting[:end+1])
	})
}

// isShared reports names of which other programs have their own: HTTP_ADDR is like
// HTTP_PROXY, a part may be given the address of every other part, and reservectl reads
// two of the others.
func isShared(name string) bool {
	return strings.HasSuffix(name, "_ADDR") || isLink(name) || name == "RESERVATION_CREDENTIALS" || name == "RESERVATION_TOKEN"
}

// isLink reports names that Kubernetes and Docker set for the addresses of services:
// WEBHOOK_SERVICE_HOST, WEBHOOK_SERVICE_PORT_GRPC, WEBHOOK_PORT_9000_TCP.
func isLink(name string) bool {
	return strings.HasSuffix(name, "_SERVICE_HOST") || strings.HasSuffix(name, "_PORT") || strings.Contains(name, "_PORT_")
}
